"""Rounding to integers, and numbers that are stored as integers."""

from __future__ import annotations

from typing import Any, Literal

from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.operators.operator import operator


@operator(onnx="Ceil", directml="ELEMENT_WISE_CEIL")
def ceil(x: Any) -> Any:
    """Smallest integer that is not smaller: ``ceil(x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; -0.5 -> -0.

    >>> ceil([-1.5, 1.2])
    array([-1.,  2.])

    Source: DirectML DML_ELEMENT_WISE_CEIL_OPERATOR_DESC (1_0); ONNX Ceil-1 to Ceil-13.
    """
    return f.ceiling(x)


@operator(onnx="Floor", directml="ELEMENT_WISE_FLOOR")
def floor(x: Any) -> Any:
    """Largest integer that is not larger: ``floor(x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; 0.5 -> 0.

    >>> floor([-1.5, 1.8])
    array([-2.,  1.])

    Source: DirectML DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC (1_0); ONNX Floor-1 to Floor-13.
    """
    return f.floor(x)


@operator(onnx="Round", directml="ELEMENT_WISE_ROUND")
def round(x: Any, *, mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even") -> Any:
    """Rounding to an integer: ``round(x)``.

    The default takes the nearest integer, of two equally near ones the even one. ``"truncate"`` cuts the
    fraction off; ``"nearest_away"`` takes of two equally near integers the one farther from zero. DirectML
    names these modes HALVES_TO_NEAREST_EVEN, TOWARD_ZERO and TOWARD_INFINITY.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; 0.5 -> 0; 1.5 -> 2; -0.5 -> -0.

    >>> round([0.5, 1.5, 2.6])
    array([0., 2., 3.])

    Source: DirectML DML_ELEMENT_WISE_ROUND_OPERATOR_DESC (2_1); ONNX Round-11, Round-22.
    """
    if mode == "nearest_even":
        return f.round_even(x)
    cut = f.truncate(x)
    if mode == "truncate":
        return cut
    # The fraction is exact, and so is its comparison with a half.
    return f.where(f.absolute(x - cut) >= 0.5, cut + f.copy_sign(1, x), cut)


def quantised(quotient: Any, zero_point: Any = 0) -> Any:
    """The integer for a quotient of a number and a scale, which doors and operators round first as their standards say."""
    return f.round_even(quotient) + zero_point


def scale_of_range(smallest: Any, largest: Any) -> Any:
    """The scale at which the 256 integers of 8 bits span a range."""
    return (largest - smallest) / 255


def _named(*names: str) -> tuple[ElementType, ...]:
    return tuple(ELEMENT_TYPES[name] for name in names)


@operator(
    signatures=[
        ((number, scale, zero), (scale,))
        for scale in _named("float32", "float16")
        for number in _named("int32", "int16", "int8", "uint32", "uint16", "uint8")
        for zero in (number,)
    ],
    directml="ELEMENT_WISE_DEQUANTIZE_LINEAR",
)
def dequantize_linear(x: Any, scale: Any, zero_point: Any) -> Any:
    """Integers as the numbers they stand for: ``(x - zero_point) * scale``, rounded once.

    >>> import numpy as np
    >>> dequantize_linear(np.uint8([0, 128, 255]), np.float32(0.5), np.uint8(128))
    array([-64. ,   0. ,  63.5], dtype=float32)

    Source: DirectML DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC (2_0).
    """
    return (x - zero_point) * scale


@operator(
    signatures=[
        ((number, scale, zero), (zero,))
        for number in _named("float32", "float16", "int32")
        for scale in _named("float32", "float16")
        for zero in _named("int8", "uint8")
    ],
    directml="ELEMENT_WISE_QUANTIZE_LINEAR",
)
def quantize_linear(x: Any, scale: Any, zero_point: Any) -> Any:
    """Numbers as integers: ``round(x / scale) + zero_point``, saturating; halves round to even, NaN to 0.

    The quotient is a number of float32 (of int32, of float64) before it is rounded to an integer, as in ONNX.

    >>> import numpy as np
    >>> quantize_linear(np.float32([-1e9, 0.25, 0.75]), np.float32(0.5), np.uint8(128))
    array([  0, 128, 130], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC (2_0).
    """
    return quantised(x / scale, zero_point)


@operator(
    signatures=[
        ((a, scale, a, b, scale, b, scale, result), (result,))
        for a in _named("int8", "uint8")
        for b in _named("int8", "uint8")
        for result in _named("int8", "uint8")
        for scale in _named("float32")
    ],
    directml="ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
)
def quantized_linear_add(
    a: Any,
    a_scale: Any,
    a_zero_point: Any,
    b: Any,
    b_scale: Any,
    b_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
) -> Any:
    """Sum of two quantised tensors, quantised: ``round((x + y) / output_scale) + output_zero_point``.

    x and y are the numbers that a and b stand for, ``(a - a_zero_point) * a_scale`` and so on: numbers of float32,
    infinite if they are too large for it. So is the quotient. Halves round to even; the result saturates.

    >>> import numpy as np
    >>> one, zero = np.float32(1), np.uint8(0)
    >>> quantized_linear_add(np.uint8([1, 200]), one, zero, np.uint8([4, 100]), one, zero, np.float32(2), zero)
    array([  2, 150], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC (4_0).
    """
    total = (a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale
    return quantised(total / output_scale, output_zero_point)
