"""Make what the first command of the README runs: a small ONNX model and a real input for it.

    pip install ".[all]" --group examples
    python examples/make_model.py

The input holds the wavelet coefficients of a noisy photograph (from PyWavelets: CC0, by Lav Varshney). The model
divides them by the deviation of the noise, moves them three units towards zero (soft thresholding: smaller ones
become zero), and multiplies again: three nodes, which Ogive runs as one kernel.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
NOISE = 25.0
TEXT = "soft thresholding of wavelet coefficients; examples/denoise_photograph.py shows what it does to a photograph"


def main() -> None:
    """Write examples/threshold.onnx and examples/coefficients.npy."""
    np.save(FOLDER / "coefficients.npy", coefficients())
    onnx.save(model(), FOLDER / "threshold.onnx")


def coefficients() -> np.ndarray:
    """The wavelet coefficients of a part of the photograph, with noise."""
    import pywt
    import pywt.data

    clean = pywt.data.camera()[60:316, 90:346].astype(np.float32)
    noisy = clean + np.random.default_rng(1).normal(0, NOISE, clean.shape).astype(np.float32)
    found, _ = pywt.coeffs_to_array(pywt.wavedec2(noisy, "haar", level=4))
    return found.astype(np.float32)


def model() -> onnx.ModelProto:
    """The three nodes."""
    shape = ["height", "width"]
    graph = helper.make_graph(
        [
            helper.make_node("Div", ["coefficients", "noise"], ["relative"]),
            helper.make_node("Shrink", ["relative"], ["kept"], lambd=3.0, bias=3.0),
            helper.make_node("Mul", ["kept", "noise"], ["thresholded"]),
        ],
        "wavelet_threshold",
        [helper.make_tensor_value_info("coefficients", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("thresholded", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.float32(NOISE), "noise")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], producer_name="ogive", doc_string=TEXT)
    made.ir_version = 9
    onnx.checker.check_model(made)
    return made


if __name__ == "__main__":
    main()
