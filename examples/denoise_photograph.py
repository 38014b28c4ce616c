"""Denoise a photograph: soft thresholding of wavelet coefficients is `ogive.shrink` with bias = lambd.

    pip install ".[all]" --group examples
    python examples/denoise_photograph.py

The photograph comes with PyWavelets (CC0, by Lav Varshney). Gaussian noise is added, the picture is taken apart
into wavelets of several scales, what is small in each is shrunk away, and the picture is put together again. The
threshold of each part is that of BayesShrink: the variance of the noise over the deviation of the signal.
Writes docs/denoised.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pywt
import pywt.data

import ogive

NOISE = 25.0
WAVELET = "sym8"
PICTURE = Path(__file__).resolve().parent.parent / "docs" / "denoised.png"


def peak_signal_to_noise(image: np.ndarray, clean: np.ndarray) -> float:
    """In decibel."""
    return float(20 * np.log10(255 / np.sqrt(np.mean((image - clean) ** 2))))


def threshold(band: np.ndarray, noise: float) -> float:
    """How much of a band to shrink away, from the noise and what is left of the band without it."""
    signal = np.sqrt(max(float(np.mean(band**2)) - noise**2, 0.0))
    return noise**2 / signal if signal > 0 else float(np.abs(band).max())


def denoised(image: np.ndarray) -> np.ndarray:
    """The image with the noise of its wavelet coefficients shrunk away."""
    smooth, *details = pywt.wavedec2(image, WAVELET, level=5)
    # The finest diagonal band is nearly all noise: its median tells how much there is.
    noise = float(np.median(np.abs(details[-1][-1]))) / 0.6745
    shrunk = [tuple(_shrunk(band, noise) for band in level) for level in details]
    return pywt.waverec2([smooth, *shrunk], WAVELET)


def _shrunk(band: np.ndarray, noise: float) -> np.ndarray:
    limit = threshold(band, noise)
    return ogive.shrink(band, bias=limit, lambd=limit)


def main() -> None:
    """Write the picture and print how much noise is left."""
    clean = pywt.data.camera().astype(np.float32)
    noisy = clean + np.random.default_rng(1).normal(0, NOISE, clean.shape).astype(np.float32)
    result = denoised(noisy)

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.9), layout="constrained")
    part = np.s_[60:316, 90:346]
    for axis, image, title in zip(
        axes, (clean, noisy, result), ("photograph", "with noise", "ogive.shrink"), strict=True
    ):
        quality = "" if image is clean else f", {peak_signal_to_noise(image, clean):.1f} dB"
        axis.imshow(image[part], cmap="gray", vmin=0, vmax=255)
        axis.set_title(title + quality, fontsize=11)
        axis.axis("off")
        print(f"{title}{quality}")
    figure.savefig(PICTURE, dpi=90)
    print(f"wrote {PICTURE.relative_to(PICTURE.parent.parent)}")


if __name__ == "__main__":
    main()
