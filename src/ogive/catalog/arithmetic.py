"""Arithmetic: sums, products, remainders, powers, the larger and the smaller of two.

Integer arithmetic wraps around, as in NumPy and in the standards' other implementations.
"""

from __future__ import annotations

import operator as python
from collections.abc import Sequence
from functools import reduce
from typing import Any, Literal

from ogive import formula as f
from ogive.common.dtypes import FLOATS, NUMBERS, SIGNED
from ogive.operators.operator import operator


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


@operator(types=NUMBERS, modular=True, identity=0, onnx="Add", directml="ELEMENT_WISE_ADD")
def add(a: Any, b: Any) -> Any:
    """Sum of two: ``a + b``.

    >>> import numpy as np
    >>> add(np.uint8([250, 1]), np.uint8([10, 1]))
    array([4, 2], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_ADD_OPERATOR_DESC (1_0); ONNX Add-1 to Add-14.
    """
    return a + b


@operator(types=NUMBERS, modular=True, directml="ELEMENT_WISE_DIFFERENCE_SQUARE")
def difference_square(a: Any, b: Any) -> Any:
    """Square of the difference: ``(a - b) * (a - b)``, rounded once.

    >>> difference_square([1.0, 5.0], [3.0, 2.0])
    array([4., 9.])

    Source: DirectML DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC (3_1).
    """
    return (a - b) * (a - b)


@operator(types=NUMBERS, modular=True, integers=f.quotient, onnx="Div", directml="ELEMENT_WISE_DIVIDE")
def div(a: Any, b: Any) -> Any:
    """Quotient: ``a / b``; of integers rounded towards zero, and 0 where ``b`` is 0.

    >>> import numpy as np
    >>> div(np.int32([7, -7, 1]), np.int32([2, 2, 0]))
    array([ 3, -3,  0], dtype=int32)

    Source: DirectML DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC (1_0); ONNX Div-1 to Div-14.
    """
    return a / b


def _zero(x: Any) -> Any:
    return f.where(f.equal(x, x), 0, x)


@operator(types=NUMBERS, integers=_zero, onnx="Erf", directml="ELEMENT_WISE_ERF")
def erf(x: Any) -> Any:
    """Error function: ``2 / sqrt(pi)`` times the integral of exp(-t**2) from 0 to x.

    It is between -1 and 1, so of integers, rounded towards zero, it is 0.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> erf([-1.0, 0.5])
    array([-0.84270079,  0.52049988])

    Source: DirectML DML_ELEMENT_WISE_ERF_OPERATOR_DESC (2_0); ONNX Erf-9, Erf-13.
    """
    return f.erf(x)


@operator(onnx="Exp", directml="ELEMENT_WISE_EXP")
def exp(x: Any) -> Any:
    """Exponential function: ``exp(x)``.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> 0.

    >>> exp([0.0, 1.0])
    array([1.        , 2.71828183])

    Source: DirectML DML_ELEMENT_WISE_EXP_OPERATOR_DESC (1_0); ONNX Exp-1 to Exp-13.
    """
    return f.exp(x)


@operator(onnx="Log", directml="ELEMENT_WISE_LOG")
def log(x: Any) -> Any:
    """Natural logarithm: ``log(x)``; -inf at both zeros, NaN below.

    Special cases: nan -> nan; 0 -> -inf; -0 -> -inf; inf -> inf; -inf -> nan; 1 -> 0; -1 -> nan.

    >>> log([1.0, 2.718281828459045])
    array([0., 1.])

    Source: DirectML DML_ELEMENT_WISE_LOG_OPERATOR_DESC (1_0); ONNX Log-1 to Log-13.
    """
    return f.log(x)


@operator(types=NUMBERS, reorderable=True, onnx="Max", directml="ELEMENT_WISE_MAX")
def max(a: Any, b: Any) -> Any:
    """Larger of two: ``max(a, b)``. NaN in either gives NaN; of two zeros the positive one is larger.

    Special cases (b = 0): nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0.

    >>> max([1.0, 5.0], 3.0)
    array([3., 5.])

    Source: DirectML DML_ELEMENT_WISE_MAX_OPERATOR_DESC (1_0); ONNX Max-1 to Max-13, for two tensors.
    """
    return f.larger(a, b)


@operator(types=NUMBERS, onnx="Mean", directml="ELEMENT_WISE_MEAN")
def mean(a: Any, b: Any) -> Any:
    """Mean of two: ``(a + b) / 2``, which does not overflow; of integers rounded towards zero.

    Special cases (b = 1): nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> inf; -inf -> -inf.

    >>> mean([1.0, 2.0], [2.0, 4.0])
    array([1.5, 3. ])

    Source: DirectML DML_ELEMENT_WISE_MEAN_OPERATOR_DESC (1_0); ONNX Mean-1 to Mean-13, for two tensors.
    """
    # Halves of subnormal numbers would be rounded.
    return f.where(f.absolute(a) + f.absolute(b) < 2.0**-100, (a + b) * 0.5, a * 0.5 + b * 0.5)


@operator(types=NUMBERS, reorderable=True, onnx="Min", directml="ELEMENT_WISE_MIN")
def min(a: Any, b: Any) -> Any:
    """Smaller of two: ``min(a, b)``. NaN in either gives NaN; of two zeros the negative one is smaller.

    Special cases (b = 0): nan -> nan; 0 -> 0; -0 -> -0; inf -> 0; -inf -> -inf.

    >>> min([1.0, 5.0], 3.0)
    array([1., 3.])

    Source: DirectML DML_ELEMENT_WISE_MIN_OPERATOR_DESC (1_0); ONNX Min-1 to Min-13, for two tensors.
    """
    return f.smaller(a, b)


def _floored(a: Any, b: Any) -> Any:
    rest = f.remainder(a, b)
    shifted = f.where((rest < 0) ^ (b < 0), rest + b, rest)
    return f.where(f.equal(rest, 0), f.copy_sign(rest, b), shifted)


def _floored_integers(a: Any, b: Any) -> Any:
    rest = f.remainder(a, b)
    return f.where(((rest < 0) ^ (b < 0)) & ~f.equal(rest, 0), rest + b, rest)


def _mod_of_integers(a: Any, b: Any, *, fmod: int) -> Any:
    return f.remainder(a, b) if fmod else _floored_integers(a, b)


@operator(types=NUMBERS, modular=True, integers=_mod_of_integers, onnx="Mod")
def mod(a: Any, b: Any, *, fmod: Literal[0, 1] = 0) -> Any:
    """Remainder of a division: ``a - b * floor(a / b)``; with ``fmod=1`` C's, ``a - b * trunc(a / b)``.

    `modulus_floor` and `modulus_truncate` are the two as operators of their own. ONNX wants fmod=1 for floating
    types; here both are there for all types.

    >>> mod([-7.0, 7.0, -6.0], [3.0, -3.0, 3.0]), mod([-7.0, 7.0, -6.0], [3.0, -3.0, 3.0], fmod=1)
    (array([ 2., -2.,  0.]), array([-1.,  1., -0.]))

    Source: ONNX Mod-10, Mod-13.
    """
    return f.remainder(a, b) if fmod else _floored(a, b)


@operator(types=NUMBERS, modular=True, integers=_floored_integers, directml="ELEMENT_WISE_MODULUS_FLOOR")
def modulus_floor(a: Any, b: Any) -> Any:
    """Remainder with the sign of the divisor: ``a - b * floor(a / b)``.

    In floating types it is the exact remainder of a truncated division, moved by b where its sign differs, and
    rounded once. Zero has the sign of b. An infinite divisor leaves a number of its own sign as it is; where
    the signs differ the result is the divisor, as in Python. NaN where b is 0 or a infinite; of integers 0
    where b is 0.

    Special cases (b = 3): nan -> nan; 0 -> 0; -0 -> 0; -1 -> 2; 7 -> 1; inf -> nan; -inf -> nan.

    >>> modulus_floor([-7.0, 7.0, -0.5], [3.0, -3.0, 0.2])
    array([ 2. , -2. ,  0.1])

    Source: DirectML DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC (2_1); ONNX Mod with fmod=0.
    """
    return _floored(a, b)


@operator(types=NUMBERS, modular=True, integers=f.remainder, directml="ELEMENT_WISE_MODULUS_TRUNCATE")
def modulus_truncate(a: Any, b: Any) -> Any:
    """Remainder with the sign of the dividend: ``a - b * trunc(a / b)``, exactly.

    It is exact for all finite numbers, however far they are apart. Zero has the sign of a. NaN where b is 0 or a
    infinite; of integers 0 where b is 0.

    Special cases (b = 3): nan -> nan; 0 -> 0; -0 -> -0; -1 -> -1; 7 -> 1; inf -> nan; -inf -> nan.

    >>> modulus_truncate([-7.0, 7.0, 1e22], [3.0, -3.0, 0.2])
    array([-1.        ,  1.        ,  0.08768742])

    Source: DirectML DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC (2_1); ONNX Mod with fmod=1.
    """
    return f.remainder(a, b)


@operator(types=NUMBERS, modular=True, identity=1, onnx="Mul", directml="ELEMENT_WISE_MULTIPLY")
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


@operator(types=NUMBERS, modular=True, integers=f.integer_power, onnx="Pow", directml="ELEMENT_WISE_POW")
def pow(x: Any, exponent: Any) -> Any:
    """Power: ``x ** exponent``.

    The special cases are those of IEEE 754: 1 where x is 1 or the exponent is 0, even if the other one is
    NaN; NaN for a negative base and an exponent that is not an integer. Powers of integers wrap around; with a
    negative exponent they are rounded towards zero, so 0 but for the bases 1 and -1.

    Special cases (exponent = 0.5): nan -> nan; 0 -> 0; -0 -> 0; 1 -> 1; -1 -> nan; inf -> inf; -inf -> inf.

    >>> pow([2.0, -2.0, 4.0], [10.0, 3.0, -0.5])
    array([ 1.024e+03, -8.000e+00,  5.000e-01])

    Source: DirectML DML_ELEMENT_WISE_POW_OPERATOR_DESC (1_0); ONNX Pow-1 to Pow-15.
    """
    return f.power(x, exponent)


@operator(onnx="Reciprocal", directml="ELEMENT_WISE_RECIP")
def reciprocal(x: Any) -> Any:
    """Reciprocal: ``1 / x``.

    Special cases: nan -> nan; 0 -> inf; -0 -> -inf; inf -> 0; -inf -> -0.

    >>> reciprocal([2.0, -4.0])
    array([ 0.5 , -0.25])

    Source: DirectML DML_ELEMENT_WISE_RECIP_OPERATOR_DESC (1_0); ONNX Reciprocal-1 to Reciprocal-13.
    """
    return 1 / x


@operator(types=NUMBERS, onnx="Sign", directml="ELEMENT_WISE_SIGN")
def sign(x: Any, *, nan: Literal["nan", "zero"] = "nan") -> Any:
    """Sign: ``-1`` where x < 0, 1 where x > 0, 0 elsewhere.

    NaN stays NaN; with ``nan="zero"`` it gives 0, which is DirectML's formula to the letter.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> 1; -inf -> -1.

    >>> sign([-3.0, 0.0, 5.0])
    array([-1.,  0.,  1.])

    Source: DirectML DML_ELEMENT_WISE_SIGN_OPERATOR_DESC (1_0); ONNX Sign-9, Sign-13.
    """
    neither = f.where(f.equal(x, x), 0, x) if nan == "nan" else 0
    return f.where(x > 0, 1, f.where(x < 0, -1, neither))


@operator(onnx="Sqrt", directml="ELEMENT_WISE_SQRT")
def sqrt(x: Any) -> Any:
    """Square root: ``sqrt(x)``; NaN below zero.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> nan; -1 -> nan.

    >>> sqrt([2.25, 4.0])
    array([1.5, 2. ])

    Source: DirectML DML_ELEMENT_WISE_SQRT_OPERATOR_DESC (1_0); ONNX Sqrt-1 to Sqrt-13.
    """
    return f.square_root(x)


@operator(types=NUMBERS, modular=True, onnx="Sub", directml="ELEMENT_WISE_SUBTRACT")
def sub(a: Any, b: Any) -> Any:
    """Difference: ``a - b``.

    >>> sub([2.0, 3.0], 0.5)
    array([1.5, 2.5])

    Source: DirectML DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC (1_0); ONNX Sub-1 to Sub-14.
    """
    return a - b


# ---- of any number of terms


def sum_of_terms(terms: Sequence[Any]) -> Any:
    """The sum of one term or more."""
    return reduce(python.add, terms)


def mean_of_terms(terms: Sequence[Any]) -> Any:
    """The mean of one term or more. Each quotient is in range, if the mean is."""
    return reduce(python.add, (term / len(terms) for term in terms))
