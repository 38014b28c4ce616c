"""The element-wise operators around the activations: arithmetic, comparison, selection.

Integer arithmetic wraps around, as in NumPy and in the standards' other implementations.
"""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.dtypes import FLOATS, NUMBERS, SIGNED
from ogive.operator import operator

__all__ = ["abs", "add", "div", "mul", "neg", "sub"]


@operator(types=NUMBERS, modular=True, onnx="Abs", directml="ELEMENT_WISE_ABS")
def abs(x: Any) -> Any:
    """Magnitude: ``abs(x)``. The smallest signed integer has no counterpart and stays what it is.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> inf.

    >>> import numpy as np
    >>> abs(np.int8([-128, -1]))
    array([-128,    1], dtype=int8)

    Source: DirectML DML_ELEMENT_WISE_ABS_OPERATOR_DESC (1_0); ONNX Abs-1 to Abs-13.
    """
    return f.absolute(x)


@operator(types=NUMBERS, modular=True, onnx="Add", directml="ELEMENT_WISE_ADD")
def add(a: Any, b: Any) -> Any:
    """Sum: ``a + b``.

    >>> import numpy as np
    >>> add(np.uint8([250, 1]), np.uint8([10, 1]))
    array([4, 2], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_ADD_OPERATOR_DESC (1_0); ONNX Add-1 to Add-14.
    """
    return a + b


@operator(types=NUMBERS, modular=True, integers=f.quotient, onnx="Div", directml="ELEMENT_WISE_DIVIDE")
def div(a: Any, b: Any) -> Any:
    """Quotient: ``a / b``; of integers rounded towards zero, and 0 where ``b`` is 0.

    >>> import numpy as np
    >>> div(np.int32([7, -7, 1]), np.int32([2, 2, 0]))
    array([ 3, -3,  0], dtype=int32)

    Source: DirectML DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC (1_0); ONNX Div-1 to Div-14.
    """
    return a / b


@operator(types=NUMBERS, modular=True, onnx="Mul", directml="ELEMENT_WISE_MULTIPLY")
def mul(a: Any, b: Any) -> Any:
    """Product: ``a * b``.

    >>> mul([2.0, 3.0], 0.5)
    array([1. , 1.5])

    Source: DirectML DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC (1_0); ONNX Mul-1 to Mul-14.
    """
    return a * b


@operator(types=FLOATS + SIGNED, modular=True, onnx="Neg", directml="ELEMENT_WISE_NEGATE")
def neg(x: Any) -> Any:
    """Negative: ``-x``. The smallest integer has no counterpart and stays what it is.

    Special cases: nan -> nan; 0 -> -0; -0 -> 0; inf -> -inf; -inf -> inf.

    >>> neg([1.0, -2.0])
    array([-1.,  2.])

    Source: DirectML DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC (5_0); ONNX Neg-1 to Neg-13.
    """
    return -x


@operator(types=NUMBERS, modular=True, onnx="Sub", directml="ELEMENT_WISE_SUBTRACT")
def sub(a: Any, b: Any) -> Any:
    """Difference: ``a - b``.

    >>> sub([2.0, 3.0], 0.5)
    array([1.5, 2.5])

    Source: DirectML DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC (1_0); ONNX Sub-1 to Sub-14.
    """
    return a - b
