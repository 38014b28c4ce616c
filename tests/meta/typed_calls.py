"""Right and wrong calls for type checkers: test_types.py compares the lines that are marked with what they find."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import ogive


def act(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return ogive.celu(x)


def every_kind(x: NDArray[np.float32], y: NDArray[np.float32], counts: NDArray[np.int8]) -> None:
    same: NDArray[np.float32] = ogive.celu(x, alpha=1.5)
    same = ogive.celu(x, alpha=np.float32(1.5), where=x > 0)
    same = ogive.add(x, y)
    same = ogive.add(x, 1.0)
    same = ogive.add(1.0, x)
    same = ogive.prelu(x, 0.25)
    same = ogive.celu([1.0, 2.0], out=same)
    same = ogive.celu(x, out=(same,))
    same = ogive.where(x > 0, x, 0)
    same = ogive.softmax(x, axis=(0, 1))
    same = ogive.softmax(x, axis=None)
    integers: NDArray[np.int8] = ogive.relu(counts)
    truth: NDArray[np.bool] = ogive.isnan(x)
    truth = ogive.greater(x, y)
    bits: NDArray[np.uint8] = ogive.bit_count(counts)
    number: float = ogive.celu(1.0, alpha=2)
    single: np.float32 = ogive.celu(np.float32(1))
    other: NDArray[np.float64] = ogive.celu(x, dtype="float64")
    print(same, integers, truth, bits, number, single, other)


def clipped(x: NDArray[np.float32], low: NDArray[np.float32]) -> NDArray[np.float32]:
    ogive.clip(x, min=0, max=6)
    ogive.clip(x, 0)
    ogive.clip(x, None, 6)
    ogive.clip(x, low, 6, wins="min")
    ogive.clamp(x, 0, 6)
    ogive.clamp(x, min=0)
    ogive.clamp(x, None, 6)
    return ogive.clip(x, min=low)


def as_ufuncs(x: NDArray[np.float32], approximate: Literal["none", "tanh"]) -> None:
    ufunc: np.ufunc = ogive.celu.bind(alpha=1.5)
    ogive.gelu(x, approximate=approximate)
    operators: list[ogive.Operator] = [ogive.celu, ogive.softmax, ogive.add]
    print(ufunc, operators, ogive.celu.name, ogive.celu.parameters, ogive.celu.formula(), ogive.softmax.onnx)


@ogive.operator
def gated(x: Any, gate: Any) -> Any:
    return x * ogive.sigmoid(gate)


def mistakes(x: NDArray[np.float32], counts: NDArray[np.int8]) -> None:
    ogive.celu(x, alfa=2)  # wrong: the parameter is alpha
    ogive.celu()  # wrong: no tensor
    ogive.celu(alpha=2)  # wrong: no tensor
    ogive.celu(x, 1.5)  # wrong: parameters are keywords
    ogive.celu(x, alpha="1.5")  # wrong: a text
    ogive.celu(x=x)  # wrong: tensors are positional
    ogive.celu(x, out=x, dtyp="float32")  # wrong: the keyword is dtype
    ogive.celu(x, casting="samekind")  # wrong: no such rule
    ogive.gelu(x, approximate="Tanh")  # wrong: no such choice
    ogive.mod(x, x, fmod=2)  # wrong: no such choice
    ogive.add(x)  # wrong: a tensor is missing
    ogive.prelu(x, slope=x)  # wrong: tensors are positional
    ogive.parametric_softplus(x, alpha=1)  # wrong: beta has no default
    ogive.softmax(x, dim=0)  # wrong: the keyword is axis
    ogive.standardize(x, where=x > 0)  # wrong: rows are whole
    ogive.softmax(x, axis=0.5)  # wrong: an axis is a whole number
    ogive.clip(x, mim=0)  # wrong: the bounds are min and max
    ogive.clip(x, 0, 6, 7)  # wrong: one too many
    ogive.clamp(x, "0")  # wrong: a text
    ogive.clip.bind(min=0)  # wrong: a tensor cannot be bound
    ogive.celu.bind(alfa=2)  # wrong: the parameter is alpha
    ogive.parametric_softplus.bind()  # wrong: there are no defaults
    ogive.cleu(x)  # wrong: no such operator
    same: NDArray[np.float32] = ogive.isnan(x)  # wrong: the result is bool
    print(same)
