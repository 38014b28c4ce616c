"""The partial derivatives of every kind of node, one rule each: for tangents and for adjoints.

A rule gets the node and its operands, and gives one partial derivative an operand. Quotients ``1 / c`` stay quotients:
the factor that they meet becomes their numerator. A rule says the derivative and nothing else, so that it has a derivative
itself; it must not cancel: ``tanh_slope(x)`` in place of ``1 - tanh(x)**2``. Slopes of gates are functions of their
own, with rules here; limits at the infinities are stated (`with_limit`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from ogive import formula as f
from ogive.differentiation.algebra import ONE, ZERO, divide, multiply, negative, rational, subtract
from ogive.formula import where
from ogive.graph import elementary_functions as functions
from ogive.graph import plane_slopes
from ogive.graph.expression import Operation, Term, constant, formula_node
from ogive.graph.limits import is_infinite
from ogive.graph.slopes import CUBIC

#: Constant between their steps, as rounding is: their derivative is 0, at the steps too.
FLAT = frozenset(
    {"floor", "ceiling", "truncate", "round_even", "quotient", "bit_count", "row_count", "row_index", "row_first"}
    | {"bit_shift_left", "bit_shift_right", "integer_power", "and", "or", "exclusive_or", "not"}
)


def _power(n: Term, a: Term, b: Term) -> tuple[Term, Term]:
    """For a constant exponent of 0 the first one is 0, whatever the base; 0 to the power of b is 0 for all b near by.

    So are an infinite base to a negative power, and a power whose infinite exponent makes it 0.
    """
    exponent = rational(b)
    if exponent is not None:
        by_base = multiply(b, f.raised(a, b - 1 if exponent is None else exponent - 1)) if exponent else ZERO
        by_base = b if exponent == 1 else by_base
    else:
        by_base = where(f.equal(b, 0) | (is_infinite(b) & f.equal(n, 0)), 0, b * f.power(a, subtract(b, ONE)))
    return by_base, where((f.equal(a, 0) & (b >= 0)) | (is_infinite(a) & (b < 0)), 0, n * f.log(a))


def hypot_slope(a: Term, b: Term, i: int, j: int) -> Term:
    """The derivative of ``hypot(a, b)``, i times by a and j times by b."""
    return _of_plane("hypot", functions.HYPOT_SLOPES, a, b, i, j)


def _angle_slope(y: Term, x: Term, i: int, j: int) -> Term:
    return _of_plane("angle", functions.ANGLE_SLOPES, y, x, i, j)


def _of_plane(name: str, slopes: Mapping[tuple[int, int], Operation], a: Term, b: Term, i: int, j: int) -> Term:
    """A function of its own up to the third order; later ones as a quotient by powers of the length, 0 at the origin and far away."""
    if (i, j) in slopes:
        return formula_node(slopes[i, j], a, b)
    form, length = plane_slopes.of_order(name, i, j), f.square_root(a * a + b * b)
    found = form.over(a / length, b / length, constant, operator.mul, operator.add)
    for _ in range(form.falls):
        found = found / length
    return where(f.equal(length, 0) | is_infinite(a) | is_infinite(b), 0, found)


def _plane_partials(
    slopes: Mapping[tuple[int, int], Operation], slope: Callable[[Term, Term, int, int], Term]
) -> dict[str, Callable[..., tuple[Term, ...]]]:
    """The rules of the derivatives of a function of points."""

    def rule(i: int, j: int) -> Callable[..., tuple[Term, ...]]:
        return lambda n, a, b: (slope(a, b, i + 1, j), slope(a, b, i, j + 1))

    return {operation.name: rule(i, j) for (i, j), operation in slopes.items()}


def _remainder(n: Term, a: Term, b: Term) -> tuple[Term, Term]:
    return ONE, negative(f.round_even((a - n) / b))


def _with_sign(n: Term, magnitude: Term, sign: Term) -> tuple[Term, Term]:
    return f.copy_sign(1, magnitude) * f.copy_sign(1, sign), ZERO


def with_limit(x: Term, limit: Term | float, formula: Term) -> Term:
    """A formula, and its limit where the operand is infinite: IEEE 754's arithmetic finds infinity times 0 there."""
    return where(is_infinite(x), limit, formula)


gate_slope, mish_slope = f.of_one(functions.GATE_SLOPE), f.of_one(functions.MISH_SLOPE)
normal_density, logistic_slope = f.of_one(functions.NORMAL_DENSITY), f.of_one(functions.LOGISTIC_SLOPE)
tanh_slope = f.of_one(functions.TANH_SLOPE)
bell, exp_bend, normal_hazard = map(f.of_one, (functions.BELL, functions.EXP_BEND, functions.NORMAL_HAZARD))
serf_slope, _normal_hazard_slope = f.of_one(functions.SERF_SLOPE), f.of_one(functions.NORMAL_HAZARD_SLOPE)
_tanh_gate_bend = f.of_one(functions.TANH_GATE_BEND)
_normal_gate_slope, _tanh_gate_slope = f.of_one(functions.NORMAL_GATE_SLOPE), f.of_one(functions.TANH_GATE_SLOPE)
#: The limit of what falls to nothing at the infinities: a zero whose derivatives there are zeros with the right signs.
nothing = f.of_one(functions.NOTHING)


def gelu_slope(x: Term, *, approximate: str) -> Term:
    """The derivative of gelu in one of its forms."""
    return _normal_gate_slope(x) if approximate == "none" else _tanh_gate_slope(x)


def _of_gate_slope(n: Term, x: Term) -> tuple[Term]:
    return (with_limit(x, -nothing(x), logistic_slope(x) * (2 - x * f.tanh(x / 2))),)


def _of_normal_gate_slope(n: Term, x: Term) -> tuple[Term]:
    return (with_limit(x, -nothing(x), normal_density(x) * (2 - x * x)),)


def _of_tanh_gate_bend(n: Term, x: Term) -> tuple[Term]:
    """The derivative of ``s' (2 u' + x u'' - x u' u' t)`` with s' the slope of the logistic function of u, and t = tanh(u / 2)."""
    scale, square = 2 * f.square_root(2 / f.pi), x * x
    u, rise = x * (scale * (1 + CUBIC * square)), scale * (1 + 3 * CUBIC * square)
    third = 6 * CUBIC * scale
    slope, t = logistic_slope(u), f.tanh(u / 2)
    more = 4 * third * x - rise * rise * t - 2 * third * square * rise * t - 2 * x * (rise * rise * rise) * slope
    return (with_limit(x, f.copy_sign(nothing(x), x), slope * more - t * rise * n),)


def _of_mish_slope(n: Term, x: Term) -> tuple[Term]:
    """A quotient of polynomials in ``e = exp(-abs(x))`` and x, which are two: of negative and of positive numbers."""
    is_negative, e = x < 0, f.exp(-f.absolute(x))
    below = e * (8 * (e + 1) * (2 + e * (2 + e)) + 4 * x * (2 + e * (2 - e * (3 + 2 * e))))
    above = e * e * (8 * (1 + e) * (1 + e * (2 + 2 * e)) - 4 * x * (2 + e * (3 - e * (2 + 2 * e))))
    root = where(is_negative, 2 + e * (2 + e), 1 + e * (2 + 2 * e))
    return (with_limit(x, -nothing(x), where(is_negative, below, above) / (root * root * root)),)


def _of_serf_slope(n: Term, x: Term) -> tuple[Term]:
    rises, share = f.log1p(f.exp(x)), f.logistic(x)
    factor = 2 + x * (f.logistic(-x) - 2 * (rises * share))
    return (with_limit(x, -nothing(x), 2 / f.square_root(f.pi) * (bell(rises) * (share * factor))),)


def _of_normal_hazard(n: Term, x: Term) -> tuple[Term]:
    return (_normal_hazard_slope(x),)


def _of_normal_hazard_slope(n: Term, x: Term) -> tuple[Term]:
    hazard = normal_hazard(x)
    return (with_limit(x, nothing(x), -(n * (x + 2 * hazard) + hazard)),)


def _falling(rule: Callable[[Term, Term], Term]) -> Callable[[Term, Term], tuple[Term]]:
    """The rule of what falls to nothing on both sides, with its limits."""
    return lambda n, x: (with_limit(x, -f.copy_sign(nothing(x), x), rule(n, x)),)


def _of_erfinv(n: Term, x: Term) -> tuple[Term]:
    return (f.exp(n * n) * (f.square_root(f.pi) / 2),)


def _of_cbrt(n: Term, x: Term) -> tuple[Term]:
    return (with_limit(x, nothing(x), 1 / (3 * n * n)),)


#: By kind: the node and its operands to the partial derivatives. `select`, `absolute`, `larger` and `smaller` have
#: branches, and the modes decide them.
PARTIALS: dict[str, Callable[..., tuple[Term, ...]]] = {
    "add": lambda n, a, b: (ONE, ONE),
    "subtract": lambda n, a, b: (ONE, negative(ONE)),
    "multiply": lambda n, a, b: (b, a),
    "divide": lambda n, a, b: (divide(ONE, b), negative(divide(n, b))),
    "negate": lambda n, x: (negative(ONE),),
    "square_root": lambda n, x: (1 / (2 * n),),
    "copy_sign": _with_sign,
    "remainder": _remainder,
    "power": _power,
    "atan2": lambda n, y, x: (_angle_slope(y, x, 1, 0), _angle_slope(y, x, 0, 1)),
    "exp": lambda n, x: (n,),
    "exp2": lambda n, x: (n * f.log_2,),
    "expm1": lambda n, x: (f.exp(x),),
    "log": lambda n, x: (1 / x,),
    "log2": lambda n, x: (1 / x / f.log_2,),
    "log10": lambda n, x: (1 / x / f.log_10,),
    "cbrt": _of_cbrt,
    "erfinv": _of_erfinv,
    "log_ndtr": lambda n, x: (normal_hazard(x),),
    "log1p": lambda n, x: (1 / (1 + x),),
    "logistic": lambda n, x: (logistic_slope(x),),
    "normal_tail": lambda n, x: (-normal_density(x),),
    "erf": lambda n, x: (bell(x) * (2 / f.square_root(f.pi)),),
    "erfc": lambda n, x: (-(bell(x) * (2 / f.square_root(f.pi))),),
    "sin": lambda n, x: (f.cos(x),),
    "cos": lambda n, x: (-f.sin(x),),
    "tan": lambda n, x: (1 + n * n,),
    "asin": lambda n, x: (1 / f.square_root(1 - x * x),),
    "acos": lambda n, x: (-(1 / f.square_root(1 - x * x)),),
    "atan": lambda n, x: (with_limit(x, nothing(x), 1 / (1 + x * x)),),
    "sinh": lambda n, x: (f.cosh(x),),
    "cosh": lambda n, x: (f.sinh(x),),
    "tanh": lambda n, x: (tanh_slope(x),),
    "asinh": lambda n, x: (with_limit(x, nothing(x), 1 / f.square_root(1 + x * x)),),
    "acosh": lambda n, x: (with_limit(x, nothing(x), 1 / (f.square_root(x - 1) * f.square_root(x + 1))),),
    "atanh": lambda n, x: (1 / (1 - x * x),),
    "row_sum": lambda n, x: (ONE,),
    "bell": _falling(lambda n, x: -(2 * x * n)),
    "normal_density": _falling(lambda n, x: -(x * n)),
    "tanh_slope": _falling(lambda n, x: -2 * (n * f.tanh(x))),
    "logistic_slope": _falling(lambda n, x: -(n * f.tanh(x / 2))),
    "nothing": lambda n, x: (-f.copy_sign(n, x),),
    "exp_bend": lambda n, x: (with_limit(x, where(x < 0, 0, -math.inf), -(x * f.exp(x))),),
    "gate_slope": _of_gate_slope,
    "normal_gate_slope": _of_normal_gate_slope,
    "tanh_gate_bend": _of_tanh_gate_bend,
    "tanh_gate_slope": lambda n, x: (_tanh_gate_bend(x),),
    "mish_slope": _of_mish_slope,
    "serf_slope": _of_serf_slope,
    "normal_hazard": _of_normal_hazard,
    "normal_hazard_slope": _of_normal_hazard_slope,
    **_plane_partials(functions.HYPOT_SLOPES, hypot_slope),
    **_plane_partials(functions.ANGLE_SLOPES, _angle_slope),
}
