"""The activation operators: a formula each, with what both standards call it."""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.dtypes import NUMBERS
from ogive.formula import where
from ogive.operator import NONZERO, operator

__all__ = ["celu", "prelu", "relu", "scaled_tanh", "shrink", "tanh"]


@operator(types=NUMBERS, onnx="Shrink", directml="ACTIVATION_SHRINK")
def shrink(x: Any, *, bias: Any = 0.0, lambd: Any = 0.5) -> Any:
    return where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))


@operator(types=NUMBERS, onnx="PRelu", directml="ACTIVATION_PARAMETERIZED_RELU")
def prelu(x: Any, slope: Any) -> Any:
    return where(x >= 0, x, slope * x)


@operator(directml="ACTIVATION_SCALED_TANH")
def scaled_tanh(x: Any, *, alpha: Any = 1.0, beta: Any = 0.5) -> Any:
    return alpha * f.tanh(beta * x)


@operator(constraints={"alpha": NONZERO}, onnx="Celu", directml="ACTIVATION_CELU")
def celu(x: Any, *, alpha: Any = 1.0) -> Any:
    return where(x >= 0, x, alpha * f.expm1(x / alpha))


@operator(types=NUMBERS, onnx="Relu", directml="ACTIVATION_RELU")
def relu(x: Any) -> Any:
    return where(x <= 0, 0, x)


@operator(onnx="Tanh", directml="ACTIVATION_TANH")
def tanh(x: Any) -> Any:
    return f.tanh(x)
