"""Trigonometric and hyperbolic functions and their inverses. Angles are in radians."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ogive import formula as f
from ogive.operators.operator import operator


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


@operator(onnx="Tan", directml="ELEMENT_WISE_TAN")
def tan(x: Any) -> Any:
    """Tangent of an angle in radians: ``tan(x)``, exactly reduced whatever the size of the angle.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> nan; -inf -> nan.

    >>> tan([-1e-9, 1.0, 1e22])
    array([-1.00000000e-09,  1.55740772e+00, -1.62877823e+00])

    Source: DirectML DML_ELEMENT_WISE_TAN_OPERATOR_DESC (1_0); ONNX Tan-7, Tan-22.
    """
    return f.tan(x)


# ---- windows, grids and rotations, which are no operators here: ONNX has them

#: By name, what a window is of ``v = 1 - cos(2 * pi * n / N)``. The coefficients are those of Harris' paper, as numbers.
WINDOWS: dict[str, Callable[[Any], Any]] = {
    "BlackmanWindow": lambda v: v * (18 + 16 * v) / 100,  # 0.42 - 0.5 cos(t) + 0.08 cos(2 t)
    "HammingWindow": lambda v: (4 + 21 * v) / 46,  # 25/46 - 21/46 cos(t)
    "HannWindow": lambda v: v / 2,  # 0.5 - 0.5 cos(t)
}


def point_of_window(name: str, n: Any, period: Any) -> Any:
    """Point n of a window, which has as many to its end as ``n <= period / 2`` from its beginning."""
    wave = f.sin(f.pi * n / period)
    v = f.where(4 * n <= period, 2 * wave * wave, 1 + f.cos(f.pi * (period - 2 * n) / period))
    return WINDOWS[name](v)


def affine_position(factors: Sequence[Any], shift: Any, places: Sequence[Any], lasts: Sequence[Any]) -> Any:
    """A row of an affine map at the place ``places / lasts``, rounded once."""
    return reduce(python.add, (a * place / last for a, place, last in zip(factors, places, lasts, strict=True)), shift)


def rotation(x: Any, y: Any, cosine: Any, sine: Any) -> tuple[Any, Any]:
    """A point, turned by an angle."""
    return x * cosine - y * sine, x * sine + y * cosine
