"""The element-wise operators around the activations: arithmetic, comparison, selection.

Integer arithmetic wraps around, as in NumPy and in the standards' other implementations.
"""

from __future__ import annotations

from typing import Any, Literal

from ogive import formula as f
from ogive.dtypes import FLOATS, NUMBERS, SIGNED
from ogive.formula import where
from ogive.operator import operator

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "div",
    "mod",
    "modulus_floor",
    "modulus_truncate",
    "mul",
    "neg",
    "pow",
    "sin",
    "sinh",
    "sub",
    "tan",
]


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


@operator(onnx="Acos", directml="ELEMENT_WISE_ACOS")
def acos(x: Any) -> Any:
    """Inverse cosine, in radians: ``acos(x)``, from 0 to pi.

    NaN outside [-1, 1].

    Special cases: nan -> nan; 0 -> 1.5707963267948966; 1 -> 0; -1 -> 3.141592653589793; inf -> nan; -inf -> nan.

    >>> acos([-1.0, 0.5, 1.0])
    array([3.14159265, 1.04719755, 0.        ])

    Source: DirectML DML_ELEMENT_WISE_ACOS_OPERATOR_DESC (1_0); ONNX Acos-7, Acos-22.
    """
    return f.acos(x)


@operator(onnx="Acosh", directml="ELEMENT_WISE_ACOSH")
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine: ``log(x + sqrt(x**2 - 1))``, without cancellation and without overflow.

    NaN below 1.

    Special cases: nan -> nan; 0 -> nan; 1 -> 0; inf -> inf; -inf -> nan.

    >>> acosh([1.0, 2.0, 1e300])
    array([  0.        ,   1.3169579 , 691.46867508])

    Source: DirectML DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC (2_0); ONNX Acosh-9, Acosh-22.
    """
    return f.acosh(x)


@operator(types=NUMBERS, modular=True, onnx="Add", directml="ELEMENT_WISE_ADD")
def add(a: Any, b: Any) -> Any:
    """Sum: ``a + b``.

    >>> import numpy as np
    >>> add(np.uint8([250, 1]), np.uint8([10, 1]))
    array([4, 2], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_ADD_OPERATOR_DESC (1_0); ONNX Add-1 to Add-14.
    """
    return a + b


@operator(onnx="Asin", directml="ELEMENT_WISE_ASIN")
def asin(x: Any) -> Any:
    """Inverse sine, in radians: ``asin(x)``, from -pi/2 to pi/2.

    NaN outside [-1, 1].

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; 1 -> 1.5707963267948966; inf -> nan; -inf -> nan.

    >>> asin([-1.0, 0.5, 1.0])
    array([-1.57079633,  0.52359878,  1.57079633])

    Source: DirectML DML_ELEMENT_WISE_ASIN_OPERATOR_DESC (1_0); ONNX Asin-7, Asin-22.
    """
    return f.asin(x)


@operator(onnx="Asinh", directml="ELEMENT_WISE_ASINH")
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine: ``log(x + sqrt(x**2 + 1))``, without cancellation and without overflow.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf.

    >>> asinh([-1e-9, 1.0, 1e300])
    array([-1.00000000e-09,  8.81373587e-01,  6.91468675e+02])

    Source: DirectML DML_ELEMENT_WISE_ASINH_OPERATOR_DESC (2_0); ONNX Asinh-9, Asinh-22.
    """
    return f.asinh(x)


@operator(onnx="Atan", directml="ELEMENT_WISE_ATAN")
def atan(x: Any) -> Any:
    """Inverse tangent, in radians: ``atan(x)``, from -pi/2 to pi/2.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1.5707963267948966; -inf -> -1.5707963267948966.

    >>> atan([-1.0, 0.5, 1e300])
    array([-0.78539816,  0.46364761,  1.57079633])

    Source: DirectML DML_ELEMENT_WISE_ATAN_OPERATOR_DESC (1_0); ONNX Atan-7, Atan-22.
    """
    return f.atan(x)


@operator(directml="ELEMENT_WISE_ATAN_YX")
def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y) in radians: ``atan2(y, x)``, from -pi to pi.

    The signs of both operands choose the quadrant, those of zeros too, and infinities have the angles of
    their diagonals, as in IEEE 754: DirectML leaves the origin undefined.

    Special cases (x = -1): nan -> nan; 0 -> 3.141592653589793; -0 -> -3.141592653589793; inf -> 1.5707963267948966;
    -inf -> -1.5707963267948966.

    >>> atan2([1.0, -1.0, -0.0], [1.0, -1.0, -2.0])
    array([ 0.78539816, -2.35619449, -3.14159265])

    Source: DirectML DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC (3_1). ONNX has no such operator.
    """
    return f.atan2(y, x)


@operator(onnx="Atanh", directml="ELEMENT_WISE_ATANH")
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent: ``log((1 + x) / (1 - x)) / 2``, without cancellation.

    Infinite at -1 and 1, NaN beyond.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; 1 -> inf; -1 -> -inf; inf -> nan; -inf -> nan.

    >>> atanh([-1e-9, 0.5, 1.0])
    array([-1.00000000e-09,  5.49306144e-01,             inf])

    Source: DirectML DML_ELEMENT_WISE_ATANH_OPERATOR_DESC (2_0); ONNX Atanh-9, Atanh-22.
    """
    return f.atanh(x)


@operator(onnx="Cos", directml="ELEMENT_WISE_COS")
def cos(x: Any) -> Any:
    """Cosine of an angle in radians: ``cos(x)``, exactly reduced whatever the size of the angle.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; inf -> nan; -inf -> nan.

    >>> cos([0.0, 1.0, 1e22])
    array([1.        , 0.54030231, 0.52321479])

    Source: DirectML DML_ELEMENT_WISE_COS_OPERATOR_DESC (1_0); ONNX Cos-7, Cos-22.
    """
    return f.cos(x)


@operator(onnx="Cosh", directml="ELEMENT_WISE_COSH")
def cosh(x: Any) -> Any:
    """Hyperbolic cosine: ``(exp(x) + exp(-x)) / 2``, infinite only where the result is.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> inf.

    >>> cosh([0.0, 1.0, 710.0])
    array([1.00000000e+000, 1.54308063e+000, 1.11699738e+308])

    Source: DirectML DML_ELEMENT_WISE_COSH_OPERATOR_DESC (2_0); ONNX Cosh-9, Cosh-22.
    """
    return f.cosh(x)


@operator(types=NUMBERS, modular=True, integers=f.quotient, onnx="Div", directml="ELEMENT_WISE_DIVIDE")
def div(a: Any, b: Any) -> Any:
    """Quotient: ``a / b``; of integers rounded towards zero, and 0 where ``b`` is 0.

    >>> import numpy as np
    >>> div(np.int32([7, -7, 1]), np.int32([2, 2, 0]))
    array([ 3, -3,  0], dtype=int32)

    Source: DirectML DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC (1_0); ONNX Div-1 to Div-14.
    """
    return a / b


def _floored(a: Any, b: Any) -> Any:
    rest = f.remainder(a, b)
    shifted = where((rest < 0) ^ (b < 0), rest + b, rest)
    return where(f.equal(rest, 0), f.copy_sign(rest, b), shifted)


def _floored_integers(a: Any, b: Any) -> Any:
    rest = f.remainder(a, b)
    return where(((rest < 0) ^ (b < 0)) & ~f.equal(rest, 0), rest + b, rest)


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

    Of floating types that is the exact remainder of a truncated division, moved by b where its sign differs, and
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


@operator(onnx="Sin", directml="ELEMENT_WISE_SIN")
def sin(x: Any) -> Any:
    """Sine of an angle in radians: ``sin(x)``, exactly reduced whatever the size of the angle.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> nan; -inf -> nan.

    >>> sin([-1e-9, 1.0, 1e22])
    array([-1.00000000e-09,  8.41470985e-01, -8.52200850e-01])

    Source: DirectML DML_ELEMENT_WISE_SIN_OPERATOR_DESC (1_0); ONNX Sin-7, Sin-22.
    """
    return f.sin(x)


@operator(onnx="Sinh", directml="ELEMENT_WISE_SINH")
def sinh(x: Any) -> Any:
    """Hyperbolic sine: ``(exp(x) - exp(-x)) / 2``, without cancellation, infinite only where the result is.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf.

    >>> sinh([-1e-9, 1.0, 710.0])
    array([-1.00000000e-009,  1.17520119e+000,  1.11699738e+308])

    Source: DirectML DML_ELEMENT_WISE_SINH_OPERATOR_DESC (2_0); ONNX Sinh-9, Sinh-22.
    """
    return f.sinh(x)


@operator(types=NUMBERS, modular=True, onnx="Sub", directml="ELEMENT_WISE_SUBTRACT")
def sub(a: Any, b: Any) -> Any:
    """Difference: ``a - b``.

    >>> sub([2.0, 3.0], 0.5)
    array([1.5, 2.5])

    Source: DirectML DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC (1_0); ONNX Sub-1 to Sub-14.
    """
    return a - b


@operator(onnx="Tan", directml="ELEMENT_WISE_TAN")
def tan(x: Any) -> Any:
    """Tangent of an angle in radians: ``tan(x)``, exactly reduced whatever the size of the angle.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> nan; -inf -> nan.

    >>> tan([-1e-9, 1.0, 1e22])
    array([-1.00000000e-09,  1.55740772e+00, -1.62877823e+00])

    Source: DirectML DML_ELEMENT_WISE_TAN_OPERATOR_DESC (1_0); ONNX Tan-7, Tan-22.
    """
    return f.tan(x)
