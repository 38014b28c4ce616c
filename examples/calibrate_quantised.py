"""Calibrate an activation in 8 bits: find the range of its output that the 256 integers should stand for.

    python examples/calibrate_quantised.py

A quantised activation is a table: dequantise the 8-bit input, compute swish, quantise the result. The range of the output
decides the scale. The full range wastes integers on rare large values; a narrow one cuts them off. The script tries
ranges and prints the signal-to-noise ratio of each, for activations that are distributed as in a network.
"""

from __future__ import annotations

import numpy as np

import ogive

#: The numbers that the integers of the input stand for: -8 to 8.
INPUT_SCALE = np.float32(16 / 255)
ZERO = np.int8(0)

#: How much of the output's range is kept.
KEPT = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)


def sampled(count: int = 200_000) -> np.ndarray:
    """Inputs of an activation: nearly normal, and a few large ones."""
    return np.random.default_rng(1).standard_t(df=5, size=count).astype(np.float32)


def quantised_swish(x: np.ndarray, scale: np.float32, zero_point: np.int8) -> np.ndarray:
    """Swish from int8 to int8."""
    exact = ogive.swish(ogive.dequantize_linear(x, INPUT_SCALE, ZERO))
    return ogive.quantize_linear(exact, scale, zero_point)


def range_of_output(kept: float, values: np.ndarray) -> tuple[np.float32, np.int8]:
    """The scale and the zero point for this part of the range above zero."""
    low, high = float(values.min()), float(values.max()) * kept
    scale = np.float32((high - low) / 255)
    return scale, np.int8(np.clip(np.rint(-128 - low / scale), -128, 127))


def signal_to_noise(exact: np.ndarray, approximate: np.ndarray) -> float:
    """In decibel."""
    noise = np.mean((exact.astype(np.float64) - approximate) ** 2)
    return float(10 * np.log10(np.mean(exact.astype(np.float64) ** 2) / noise))


def calibrated() -> dict[float, float]:
    """For each part of the range the signal-to-noise ratio of the whole chain."""
    x = sampled()
    exact = ogive.swish(x)
    integers = ogive.quantize_linear(x, INPUT_SCALE, ZERO)
    found = {}
    for kept in KEPT:
        scale, zero_point = range_of_output(kept, exact)
        y = quantised_swish(integers, scale, zero_point)
        found[kept] = signal_to_noise(exact, ogive.dequantize_linear(y, scale, zero_point))
    return found


def main() -> None:
    """Print the ratios and the best range."""
    ratios = calibrated()
    best = max(ratios, key=lambda kept: ratios[kept])
    for kept, ratio in ratios.items():
        print(f"{kept:4.0%} of the range: {ratio:6.2f} dB{'  <- best' if kept == best else ''}")


if __name__ == "__main__":
    main()
