"""The elementary functions: what is known of each in one row, but for its arithmetic.

How machines compute a function is in a file of ogive.lowering.numerics.elementary, which puts its rules on the row: so formulas
and the cache of kernels know the functions without loading them. A function that needs no such thrift has its row and
its arithmetic in one file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from ogive.graph import operations as ops
from ogive.graph import plane_slopes
from ogive.graph.operations import elementary

EXP = elementary(
    "exp",
    doc="The exponential function.",
    numpy=("exp",),
    never_makes_nan=True,
    evaluate=np.exp,
    evaluate_exactly=lambda mp, x: mp.exp(x),
    at_zero=1,
    at_infinities=(0.0, math.inf),
    ball=lambda x: x.exp(),
    near_zero=lambda u, sign: (1 + u, 1),
)

EXP2 = elementary(
    "exp2",
    doc="``2 ** x``; exact where x is an integer.",
    numpy=("exp2",),
    never_makes_nan=True,
    evaluate=np.exp2,
    evaluate_exactly=lambda mp, x: _power_exactly(mp, mp.mpf(2), x),
    enclosure=lambda e, x: e.power(e.number(2), x),
    at_zero=1,
    at_infinities=(0.0, math.inf),
    near_zero=lambda u, sign: (1, sign),
)

EXPM1 = elementary(
    "expm1",
    doc="``exp(x) - 1`` without cancellation near zero.",
    numpy=("expm1",),
    never_makes_nan=True,
    is_linear_at_zero=True,
    loses_subnormals=True,  # it computes at half the size
    evaluate=np.expm1,
    evaluate_exactly=lambda mp, x: mp.expm1(x),
    at_zero=0.0,
    at_infinities=(-1, math.inf),
    ball=lambda x: x.expm1(),
    apart=lambda size: (-size).exp(),
    near_zero=lambda u, sign: (u, 1),
)


def _logistic_on_arrays(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _logistic_of_ball(ball: Any) -> Any:
    if ball < 0:  # where exp(-x) is so large that only a bound is known of it
        e = ball.exp()
        return e / (1 + e)
    return 1 / (1 + (-ball).exp())


LOGISTIC = elementary(
    "logistic",
    doc="``1 / (1 + exp(-x))``, without overflow; 0 and 1 at the infinities.",
    never_makes_nan=True,
    evaluate=_logistic_on_arrays,
    evaluate_exactly=lambda mp, x: 1 / (1 + mp.exp(-x)),
    at_zero=Fraction(1, 2),
    at_infinities=(0.0, 1),
    ball=_logistic_of_ball,
    apart=lambda size: _logistic_of_ball(-size),
    near_zero=lambda u, sign: (type(u)(1, 2), sign),
)

LOG = elementary(
    "log",
    doc="The natural logarithm; -inf at zero, NaN below.",
    numpy=("log",),
    evaluate=np.log,
    evaluate_exactly=lambda mp, x: mp.nan if x < 0 else -mp.inf if x == 0 else mp.log(x),
    enclosure=lambda e, x: e.log(x),
    domain=(0.0, math.inf),
    at_zero=-math.inf,
    at_infinities=(math.nan, math.inf),
)

LOG1P = elementary(
    "log1p",
    doc="``log(1 + x)`` without cancellation near zero.",
    numpy=("log1p",),
    is_linear_at_zero=True,
    evaluate=np.log1p,
    evaluate_exactly=lambda mp, x: mp.nan if x < -1 else -mp.inf if x == -1 else mp.log1p(x),
    enclosure=lambda e, x: e.log1p(x),
    domain=(-1.0, math.inf),
    at_zero=0.0,
    at_infinities=(math.nan, math.inf),
    near_zero=lambda u, sign: (u, -1),
)


LOG2 = elementary(
    "log2",
    doc="The logarithm to base 2; -inf at zero, NaN below.",
    numpy=("log2",),
    evaluate=np.log2,
    evaluate_exactly=lambda mp, x: mp.nan if x < 0 else -mp.inf if x == 0 else _logarithm(mp, x, 2),
    enclosure=lambda e, x: e.log_to_base(2, x),
    domain=(0.0, math.inf),
    at_zero=-math.inf,
    at_infinities=(math.nan, math.inf),
)

LOG10 = elementary(
    "log10",
    doc="The logarithm to base 10; -inf at zero, NaN below.",
    numpy=("log10",),
    evaluate=np.log10,
    evaluate_exactly=lambda mp, x: mp.nan if x < 0 else -mp.inf if x == 0 else _logarithm(mp, x, 10),
    enclosure=lambda e, x: e.log_to_base(10, x),
    domain=(0.0, math.inf),
    at_zero=-math.inf,
    at_infinities=(math.nan, math.inf),
)


def _logarithm(mp: Any, x: Any, base: int) -> Any:
    """The logarithm of a positive number; of a power of the base exactly."""
    if not mp.isfinite(x):
        return x
    found = mp.log(x) / mp.log(base)
    whole = mp.nint(found)
    return whole if mp.mpf(base) ** int(whole) == x else found


def _cube_root(mp: Any, x: Any) -> Any:
    return x if x == 0 or not mp.isfinite(x) else mp.sign(x) * mp.cbrt(abs(x))


CBRT = elementary(
    "cbrt",
    doc="The cube root, of negative numbers too.",
    numpy=("cbrt",),
    never_makes_nan=True,
    instructions=50,
    evaluate=np.cbrt,
    evaluate_exactly=_cube_root,
    enclosure=lambda e, x: e.cube_root(x),
    at_zero=0.0,
    at_infinities=(-math.inf, math.inf),
)


def _power_exactly(mp: Any, a: Any, b: Any) -> Any:
    if b == 0 or a == 1:
        return mp.mpf(1)
    if mp.isnan(a) or mp.isnan(b):
        return mp.nan
    size = abs(a)
    if mp.isinf(b):
        return mp.mpf(1) if size == 1 else mp.inf if (size > 1) == (b > 0) else mp.mpf(0)
    is_integral = b == mp.floor(b)
    if a < 0 and not is_integral and mp.isfinite(a):
        return mp.nan
    sign = -1 if a < 0 and is_integral and int(b) % 2 else 1
    if size == 0 or mp.isinf(size):
        return sign * mp.inf if (size == 0) == (b < 0) else mp.mpf(0)
    logarithm = b * mp.log(size)
    # Beyond every format, and mpmath would not come to an end.
    return sign * (mp.exp(logarithm) if abs(logarithm) < 1e6 else mp.inf if logarithm > 0 else mp.mpf(0))


POWER = elementary(
    "power",
    2,
    doc="``a`` to the power of ``b``, with the special cases of IEEE 754.",
    numpy=("power", "float_power"),
    instructions=80,
    evaluate=np.power,
    evaluate_exactly=_power_exactly,
    enclosure=lambda e, a, b: e.power(a, b),
)

SIN = elementary(
    "sin",
    doc="The sine, of angles of any size; NaN at infinity.",
    numpy=("sin",),
    instructions=160,
    is_linear_at_zero=True,
    evaluate=np.sin,
    evaluate_exactly=lambda mp, x: mp.sin(x),
    at_zero=0.0,
    at_infinities=(math.nan, math.nan),
    ball=lambda x: x.sin(),
    near_zero=lambda u, sign: (u, -sign),
)

COS = elementary(
    "cos",
    doc="The cosine, of angles of any size; NaN at infinity.",
    numpy=("cos",),
    instructions=160,
    evaluate=np.cos,
    evaluate_exactly=lambda mp, x: mp.cos(x),
    at_zero=1,
    at_infinities=(math.nan, math.nan),
    ball=lambda x: x.cos(),
    near_zero=lambda u, sign: (1, -1),
)

TAN = elementary(
    "tan",
    doc="The tangent, of angles of any size; NaN at infinity.",
    numpy=("tan",),
    instructions=160,
    is_linear_at_zero=True,
    evaluate=np.tan,
    evaluate_exactly=lambda mp, x: mp.tan(x),
    at_zero=0.0,
    at_infinities=(math.nan, math.nan),
    ball=lambda x: x.tan(),
    near_zero=lambda u, sign: (u, sign),
)

ASIN = elementary(
    "asin",
    doc="The inverse sine, from -pi/2 to pi/2; NaN outside [-1, 1].",
    numpy=("arcsin",),
    is_linear_at_zero=True,
    evaluate=np.arcsin,
    evaluate_exactly=lambda mp, x: mp.asin(x) if abs(x) <= 1 else mp.nan,
    enclosure=lambda e, x: e.inside(e.arb.asin, {}, x),
    domain=(-1.0, 1.0),
    at_zero=0.0,
    at_infinities=(math.nan, math.nan),
    near_zero=lambda u, sign: (u, sign),
)

ACOS = elementary(
    "acos",
    doc="The inverse cosine, from 0 to pi; NaN outside [-1, 1].",
    numpy=("arccos",),
    evaluate=np.arccos,
    evaluate_exactly=lambda mp, x: mp.acos(x) if abs(x) <= 1 else mp.nan,
    enclosure=lambda e, x: e.inside(e.arb.acos, {1: e.zero[1]}, x),
    domain=(-1.0, 1.0),
    at_zero=math.pi / 2,
    at_infinities=(math.nan, math.nan),
)

ATAN = elementary(
    "atan",
    doc="The inverse tangent, from -pi/2 to pi/2.",
    numpy=("arctan",),
    never_makes_nan=True,
    is_linear_at_zero=True,
    evaluate=np.arctan,
    evaluate_exactly=lambda mp, x: mp.atan(x),
    at_zero=0.0,
    at_infinities=(-math.pi / 2, math.pi / 2),
    ball=lambda x: x.atan(),
    enclosure=lambda e, x: (
        e.signed(x.sign, e.arb.pi() / 2) if x.kind == "infinity" else e.by_ball(ops.OPERATIONS["atan"], x)
    ),
    near_zero=lambda u, sign: (u, -sign),
)

ATAN2 = elementary(
    "atan2",
    2,
    doc="The angle of the point (x, y), from -pi to pi; signed zeros and infinities as in IEEE 754.",
    numpy=("arctan2",),
    never_makes_nan=True,
    evaluate=np.arctan2,
    evaluate_exactly=lambda mp, y, x: mp.atan2(y, x),
    enclosure=lambda e, y, x: e.atan2(y, x),
)

SINH = elementary(
    "sinh",
    doc="The hyperbolic sine.",
    numpy=("sinh",),
    never_makes_nan=True,
    is_linear_at_zero=True,
    evaluate=np.sinh,
    evaluate_exactly=lambda mp, x: mp.sinh(x),
    at_zero=0.0,
    at_infinities=(-math.inf, math.inf),
    ball=lambda x: x.sinh(),
    near_zero=lambda u, sign: (u, sign),
)

COSH = elementary(
    "cosh",
    doc="The hyperbolic cosine.",
    numpy=("cosh",),
    never_makes_nan=True,
    evaluate=np.cosh,
    evaluate_exactly=lambda mp, x: mp.cosh(x),
    at_zero=1,
    at_infinities=(math.inf, math.inf),
    ball=lambda x: x.cosh(),
    near_zero=lambda u, sign: (1, 1),
)

TANH = elementary(
    "tanh",
    doc="The hyperbolic tangent.",
    numpy=("tanh",),
    never_makes_nan=True,
    is_linear_at_zero=True,
    evaluate=np.tanh,
    evaluate_exactly=lambda mp, x: mp.tanh(x),
    at_zero=0.0,
    at_infinities=(-1, 1),
    ball=lambda x: x.tanh(),
    apart=lambda size: 2 * _logistic_of_ball(-2 * size),
    near_zero=lambda u, sign: (u, -sign),
)

ASINH = elementary(
    "asinh",
    doc="The inverse hyperbolic sine.",
    numpy=("arcsinh",),
    never_makes_nan=True,
    is_linear_at_zero=True,
    evaluate=np.arcsinh,
    evaluate_exactly=lambda mp, x: mp.asinh(x),
    at_zero=0.0,
    at_infinities=(-math.inf, math.inf),
    ball=lambda x: x.asinh(),
    near_zero=lambda u, sign: (u, -sign),
)

ACOSH = elementary(
    "acosh",
    doc="The inverse hyperbolic cosine; NaN below 1.",
    numpy=("arccosh",),
    evaluate=np.arccosh,
    evaluate_exactly=lambda mp, x: mp.acosh(x) if x >= 1 else mp.nan,
    enclosure=lambda e, x: e.acosh(x),
    domain=(1.0, math.inf),
    at_zero=math.nan,
    at_infinities=(math.nan, math.inf),
)

ATANH = elementary(
    "atanh",
    doc="The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.",
    numpy=("arctanh",),
    is_linear_at_zero=True,
    evaluate=np.arctanh,
    evaluate_exactly=lambda mp, x: mp.atanh(x) if abs(x) <= 1 else mp.nan,
    enclosure=lambda e, x: e.inside(e.arb.atanh, e.infinity, x),
    domain=(-1.0, 1.0),
    at_zero=0.0,
    at_infinities=(math.nan, math.nan),
    near_zero=lambda u, sign: (u, sign),
)


def _error_functions() -> ModuleType:
    """Loaded when they are wanted."""
    from ogive.graph import error_functions

    return error_functions


ERF = elementary(
    "erf",
    doc="The error function: ``2 / sqrt(pi)`` times the integral of exp(-t**2) from 0 to x.",
    never_makes_nan=True,
    evaluate=lambda x: _error_functions().on_array("erf", x),
    evaluate_exactly=lambda mp, x: _error_functions().exact("erf", x),
    at_zero=0.0,
    at_infinities=(-1, 1),
    ball=lambda x: x.erf(),
    apart=lambda size: _error_functions().erfc_of_ball(size),
)


ERFC = elementary(
    "erfc",
    doc="``1 - erf(x)``, accurate in both tails.",
    never_makes_nan=True,
    evaluate=lambda x: _error_functions().on_array("erfc", x),
    evaluate_exactly=lambda mp, x: _error_functions().exact("erfc", x),
    at_zero=1,
    at_infinities=(2, 0.0),
    ball=lambda x: _error_functions().erfc_of_ball(x),
    apart=lambda size: _error_functions().erfc_of_ball(size),
    near_zero=lambda u, sign: (1, -sign),
)


def _normal_tail_of_ball(ball: Any) -> Any:
    return _error_functions().erfc_of_ball(ball / type(ball)(2).sqrt()) / 2


NORMAL_TAIL = elementary(
    "normal_tail",
    doc="``erfc(x / sqrt(2)) / 2``, accurate in both tails: how probable a standard normal variable above x is.",
    never_makes_nan=True,
    evaluate=lambda x: _error_functions().normal_tail_on_array(x),
    evaluate_exactly=lambda mp, x: _error_functions().exact("erfc", x / mp.sqrt(2)) / 2,
    at_zero=Fraction(1, 2),
    at_infinities=(1, 0.0),
    ball=_normal_tail_of_ball,
    apart=_normal_tail_of_ball,
    near_zero=lambda u, sign: (type(u)(1, 2), -sign),
)


ERFINV = elementary(
    "erfinv",
    doc="The inverse of the error function; infinite at -1 and 1, NaN beyond.",
    instructions=150,
    loses_subnormals=True,
    evaluate=lambda x: _error_functions().erfinv_on_array(x),
    evaluate_exactly=lambda mp, x: mp.nan if not abs(x) <= 1 else _error_functions().exact_erfinv(x),
    enclosure=lambda e, x: e.inside(e.arb.erfinv, e.infinity, x),
    domain=(-1.0, 1.0),
    at_zero=0.0,
    at_infinities=(math.nan, math.nan),
)

LOG_NDTR = elementary(
    "log_ndtr",
    doc="``log(ndtr(x))``, accurate in both tails: the logarithm of the standard normal distribution function.",
    never_makes_nan=True,
    instructions=120,
    evaluate=lambda x: _error_functions().log_ndtr_on_array(x),
    evaluate_exactly=lambda mp, x: _error_functions().exact_log_ndtr(x),
    enclosure=lambda e, x: e.log_ndtr(_error_functions().erfc_of_ball, x),
    at_zero=-math.log(2),
    at_infinities=(-math.inf, -0.0),
)


# ---- slopes. They have no arithmetic of their own: forms.py says how machines compute them


def _slopes() -> ModuleType:
    """Loaded when they are wanted."""
    from ogive.graph import slopes

    return slopes


def _slope(name: str, doc: str, sides: ops.Sides | None = None, **facts: Any) -> ops.Operation:
    def evaluate_exactly(mp: Any, x: Any) -> Any:
        if mp.isnan(x) or mp.isinf(x):
            return x if mp.isnan(x) else mp.mpf(facts["at_infinities"][x > 0])
        return _slopes().exactly(name, mp, x)

    def ball(x: Any) -> Any:
        return _slopes().of_ball(name, type(x))(x)

    def enclosed(e: Any, x: Any) -> Any:
        return e.by_ball(ops.OPERATIONS[name], x, sides)

    return elementary(
        name,
        doc=doc,
        never_makes_nan=True,
        evaluate_exactly=evaluate_exactly,
        ball=ball,
        enclosure=enclosed if sides is not None else None,
        **facts,
    )


def _sides_of_gate(ball: Any) -> tuple[int, tuple[int, int] | None]:
    """The slope of a number times a gate: below zero far below, and above 1 far above."""
    if ball > 0:
        return 1, (1, 1) if ball > 1.5 else None
    return -1 if ball < -1.5 else 0, None


#: The slopes of gates, which come to 0 from below and to 1 from above.
_GATE: dict[str, Any] = {"sides": _sides_of_gate, "at_infinities": (-0.0, 1)}

#: Slopes that are positive and come to 0 on both sides.
_BELL: dict[str, Any] = {"at_infinities": (0.0, 0.0)}

LOGISTIC_SLOPE = _slope(
    "logistic_slope",
    "The derivative of the logistic function: ``exp(-x) / (1 + exp(-x))**2``.",
    **_BELL,
    at_zero=Fraction(1, 4),
    near_zero=lambda u, sign: (type(u)(1, 4), -1),
)

TANH_SLOPE = _slope(
    "tanh_slope",
    "The derivative of tanh: ``1 / cosh(x)**2``.",
    **_BELL,
    at_zero=1,
    near_zero=lambda u, sign: (1, -1),
)

BELL = _slope("bell", "``exp(-x**2)``.", **_BELL, at_zero=1, near_zero=lambda u, sign: (1, -1))

NORMAL_DENSITY = _slope(
    "normal_density", "The density of the standard normal distribution: ``exp(-x**2 / 2) / sqrt(2 pi)``.", **_BELL
)

GATE_SLOPE = _slope(
    "gate_slope",
    "The derivative of ``x * logistic(x)``.",
    **_GATE,
    instructions=60,
    at_zero=Fraction(1, 2),
    near_zero=lambda u, sign: (type(u)(1, 2), sign),
)

NORMAL_GATE_SLOPE = _slope(
    "normal_gate_slope",
    "The derivative of ``x * normal_tail(-x)``, which is gelu.",
    **_GATE,
    instructions=80,
    at_zero=Fraction(1, 2),
    near_zero=lambda u, sign: (type(u)(1, 2), sign),
)

TANH_GATE_SLOPE = _slope(
    "tanh_gate_slope",
    "The derivative of gelu's approximation by tanh.",
    **_GATE,
    instructions=80,
    at_zero=Fraction(1, 2),
    near_zero=lambda u, sign: (type(u)(1, 2), sign),
)

TANH_GATE_BEND = _slope(
    "tanh_gate_bend",
    "The derivative of tanh_gate_slope.",
    lambda ball: (-1 if abs(ball) > 2 else 1 if abs(ball) < 1 else 0, None),
    instructions=120,
    at_infinities=(-0.0, -0.0),
)

MISH_SLOPE = _slope(
    "mish_slope",
    "The derivative of ``x * tanh(log(1 + exp(x)))``.",
    **_GATE,
    instructions=60,
    at_zero=Fraction(3, 5),
    near_zero=lambda u, sign: (type(u)(3, 5), sign),
)

SERF_SLOPE = _slope("serf_slope", "The derivative of ``x * erf(log(1 + exp(x)))``.", **_GATE, instructions=200)

EXP_BEND = _slope(
    "exp_bend",
    "``exp(x) * (1 - x) - 1``, the derivative of ``a * expm1(x / a)`` by a where a is 1.",
    lambda ball: (-1, (-1, 1) if ball < 0 else None),
    at_zero=-0.0,
    at_infinities=(-1, -math.inf),
    near_zero=lambda u, sign: (0, -1),
)

NORMAL_HAZARD = _slope(
    "normal_hazard",
    "The derivative of log_ndtr: the normal distribution's density over its distribution function.",
    instructions=160,
    at_zero=math.sqrt(2 / math.pi),
    at_infinities=(math.inf, 0.0),
)

NORMAL_HAZARD_SLOPE = _slope(
    "normal_hazard_slope",
    "The derivative of normal_hazard, ``-h(x) * (x + h(x))``.",
    lambda ball: (-1, None),
    instructions=200,
    at_infinities=(-1, -0.0),
)


def _plane_slopes(function: str) -> dict[tuple[int, int], ops.Operation]:
    """The derivatives of a function of points, by how many times by each coordinate."""

    def of(i: int, j: int) -> ops.Operation:
        form = plane_slopes.of_order(function, i, j)
        return elementary(
            f"{function}_slope_{i}_{j}",
            2,
            doc=f"The derivative of the {function} of a point, {i} times by its first and {j} times by its second coordinate.",
            instructions=60,
            evaluate_exactly=partial(plane_slopes.exactly, form),
            enclosure=partial(plane_slopes.enclosure, form),
        )

    return {order: of(*order) for order in plane_slopes.ORDERS}


HYPOT_SLOPES, ANGLE_SLOPES = _plane_slopes("hypot"), _plane_slopes("angle")


NOTHING = elementary(
    "nothing",
    doc="0 for every number: the limit at an infinity of what falls there, with the signs that derivatives of this have.",
    never_makes_nan=True,
    instructions=0,
    evaluate_exactly=lambda mp, x: mp.mpf(0),
    at_infinities=(0.0, 0.0),
    enclosure=lambda e, x: e.zero[1],
)


def _extreme(function: Callable[..., Any], sign: Callable[..., Any], a: Any, b: Any) -> Any:
    """NumPy's, which returns any of two zeros."""
    is_zero = (a == 0) & (b == 0)
    return np.where(is_zero, np.where(sign(np.signbit(a), np.signbit(b)), -0.0, 0.0), function(a, b))


LARGER = elementary(
    "larger",
    2,
    doc="IEEE 754's maximum: NaN where one of them is, and 0 is larger than -0.",
    numpy=("maximum",),
    of_truths=ops.OR,
    is_choice=True,
    returns_operand=True,
    never_makes_nan=True,
    instructions=8,
    evaluate=partial(_extreme, np.maximum, np.bitwise_and),
    evaluate_exactly=lambda mp, a, b: mp.nan if mp.isnan(a) or mp.isnan(b) else max(a, b),
    enclosure=lambda e, a, b: e.extreme(1, a, b),
)

SMALLER = elementary(
    "smaller",
    2,
    doc="IEEE 754's minimum: NaN where one of them is, and -0 is smaller than 0.",
    numpy=("minimum",),
    of_truths=ops.AND,
    is_choice=True,
    returns_operand=True,
    never_makes_nan=True,
    instructions=8,
    evaluate=partial(_extreme, np.minimum, np.bitwise_or),
    evaluate_exactly=lambda mp, a, b: mp.nan if mp.isnan(a) or mp.isnan(b) else min(a, b),
    enclosure=lambda e, a, b: e.extreme(-1, a, b),
)
