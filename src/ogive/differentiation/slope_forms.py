"""The forms in which machines compute functions that have no arithmetic of their own: formulas of the other functions.

Nothing cancels in a form but beside the function's zero, and nothing overflows. What a form leaves out is smaller than
the bound that its numbers have: so numerics stands here, and enclosures evaluate the function itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import factorial, inf, isfinite
from typing import cast

from ogive import formula as f
from ogive.formula import where
from ogive.graph import elementary_functions as functions
from ogive.graph import plane_slopes
from ogive.graph.expression import Expression, Operation, Term, constant, rewritten, tracing, walk
from ogive.graph.limits import at_infinities, is_infinite
from ogive.graph.slopes import CUBIC

#: Beyond it no arithmetic tells exponentials of a negative number apart, and times any number they are zero.
FARTHEST = 2.0**24

#: Above it next to nothing is between the slope of a gate and 1, less than 2**-130 and not nothing: that decides products
#: beside ties.
MUCH, MUCH_OF_NORMAL = 100, 16

#: Above it exp(-x * x / 2) is that of -FARTHEST, and less.
NOTHING = 10_000

#: Below it the series of Mills' ratio is good to 2**-110.
FAR_TAIL, TERMS = -50, 14


def _logistic_slope(u: Term) -> Term:
    e = f.exp(-f.absolute(u))
    share = 1 / (1 + e)
    return e * (share * share)


def _tanh_slope(u: Term) -> Term:
    e = f.exp(-2 * f.absolute(u))
    return 4 * e / ((1 + e) * (1 + e))


def _bell(x: Term) -> Term:
    return f.exp(-(x * x))


def _normal_density(x: Term) -> Term:
    return f.exp(-(x * x) / 2) / f.square_root(2 * f.pi)


def _within(x: Term, low: float, high: float) -> Term:
    return f.minimum(f.maximum(x, low), high)


def _gate_slope(u: Term) -> Term:
    """One quotient. The exponential ``e = exp(-abs(u))`` is two where it is subnormal before the product is."""
    v = _within(u, -FARTHEST, MUCH)
    e, rest = f.exp(-f.absolute(f.maximum(v, -80))), f.exp(f.minimum(v + 80, 0))
    return where(v < 0, (1 + v + e) * e * rest, 1 + e * (1 + v)) / ((1 + e) * (1 + e))


def _normal_gate_slope(x: Term) -> Term:
    v = _within(x, -FARTHEST, MUCH_OF_NORMAL)
    slope = f.normal_tail(-v) + v * (f.exp(-(v * v) / 2) / f.square_root(2 * f.pi))
    return where(x < -2, -f.absolute(slope), slope)  # far below, no format holds more than the sign


def _tanh_gate_slope(x: Term) -> Term:
    v = _within(x, -1000, MUCH)  # of which the exponential is that of FARTHEST and more
    scale = 2 * f.square_root(2 / f.pi)
    u = v * (scale * (1 + CUBIC * (v * v)))
    slope = scale * (1 + 3 * CUBIC * (v * v))
    return f.logistic(u) * (1 + v * slope * f.logistic(-u))


def _tanh_gate_bend(x: Term) -> Term:
    v = _within(x, -1000, 1000)
    scale, square = 2 * f.square_root(2 / f.pi), v * v
    u, rise = v * (scale * (1 + CUBIC * square)), scale * (1 + 3 * CUBIC * square)
    factor = 2 * rise + 6 * CUBIC * scale * square - f.absolute(v) * (rise * rise) * f.tanh(f.absolute(u) / 2)
    return _logistic_slope(u) * factor


def _mish_slope(x: Term) -> Term:
    v = _within(x, -FARTHEST, FARTHEST)
    e = f.exp(-f.absolute(v))
    below = e * (4 * (1 + v) + e * (6 + 4 * v + e * (4 + e)))
    root = where(v < 0, 2 + e * (2 + e), 1 + e * (2 + 2 * e))
    denominator = root * root
    above = denominator + e * e * (4 * v - 2 + e * (4 * (v - 1) - 4 * e))
    return where(v < 0, below, above) / denominator


def _serf_slope(x: Term) -> Term:
    v = _within(x, -FARTHEST, FARTHEST)
    rises = f.maximum(v, 0) + f.log1p(f.exp(-f.absolute(v)))
    slope = f.erf(rises) + v * f.logistic(v) * (_bell(rises) * (2 / f.square_root(f.pi)))
    return where(v < -2, -f.absolute(slope), slope)


def _normal_hazard(x: Term) -> Term:
    """One exponential, and far below, where the difference of its exponents cancels, the series of Mills' ratio."""
    far = f.minimum(x, FAR_TAIL)
    return where(x < FAR_TAIL, -far / (1 - _mills(far)), _near_hazard(f.maximum(x, FAR_TAIL)))


def _near_hazard(v: Term) -> Term:
    return f.exp(v * v * -0.5 - f.log_ndtr(v)) / f.square_root(2 * f.pi)


def _normal_hazard_slope(x: Term) -> Term:
    v, far = _within(x, FAR_TAIL, NOTHING), f.minimum(x, FAR_TAIL)
    hazard, rest = _near_hazard(v), 1 - _mills(far)
    # Above 40 the hazard is nothing beside v, and of a sum less is known.
    near = where(v > 40, hazard * v, hazard * (v + hazard))
    return where(x < FAR_TAIL, -(_series(_inverse_square(far)) / (rest * rest)), -near)


def _inverse_square(x: Term) -> Term:
    return 1 / (x * x)


def _mills(x: Term) -> Term:
    """The difference between 1 and Mills' ratio times -x, of a number far below zero."""
    u = _inverse_square(x)
    return u * _series(u)


def _series(u: Term) -> Term:
    """The series ``1 - 3 u + 15 u**2 - 105 u**3 + ...``."""
    total: Term | Fraction = _odd(TERMS)
    for n in range(TERMS - 1, 0, -1):
        total = _odd(n) - u * total
    return cast(Term, total)


def _odd(n: int) -> Fraction:
    """``1 * 3 * 5 * ... * (2 n - 1)``."""
    return Fraction(factorial(2 * n), 2**n * factorial(n))


#: Below this magnitude ``exp(u) * (1 - u) - 1`` is its power series, of which terms up to this power are more than 2**-109.
NEAR, POWER = 0.25, 23


def _exp_bend(u: Term) -> Term:
    v = f.maximum(u, -FARTHEST)
    series: Term | Fraction = _of_bend(POWER)
    for k in range(POWER - 1, 1, -1):
        series = v * series + _of_bend(k)
    return where(f.absolute(v) < NEAR, -(v * v * series), f.exp(v) * (1 - v) - 1)


def _of_bend(k: int) -> Fraction:
    return Fraction(k - 1, factorial(k))


def _of_point(form: plane_slopes.Form) -> Callable[[Term, Term], Term]:
    """The derivative of a length or an angle, of coordinates divided by the larger one: nothing overflows on the way."""

    def function(a: Term, b: Term) -> Term:
        radius = f.larger(f.absolute(a), f.absolute(b))
        is_origin = f.equal(radius, 0)
        scale = where(is_origin, 1, radius)
        p, q = (_share(x, y, scale) for x, y in ((a, b), (b, a)))
        square = where(is_origin, 1, p * p + q * q)
        under: Term | int = f.square_root(square) if form.e % 2 else 1
        for _ in range(form.e // 2):
            under = under * square
        found = form.over(p, q, constant, operator.mul, operator.add) / under
        for _ in range(form.falls):
            found = found / scale
        return where(is_origin, 0, found)

    return function


def _share(x: Term, other: Term, scale: Term) -> Term:
    """A coordinate as a share of the larger one."""
    return where(is_infinite(x) & ~is_infinite(other), f.copy_sign(1, x), x / scale)


#: By function.
FORMS: Mapping[Operation, Callable[..., Term]] = {
    **{
        operation: _of_point(plane_slopes.of_order(name, *order))
        for name, slopes in (("hypot", functions.HYPOT_SLOPES), ("angle", functions.ANGLE_SLOPES))
        for order, operation in slopes.items()
    },
    functions.BELL: _bell,
    functions.EXP_BEND: _exp_bend,
    functions.GATE_SLOPE: _gate_slope,
    functions.LOGISTIC_SLOPE: _logistic_slope,
    functions.MISH_SLOPE: _mish_slope,
    functions.NORMAL_DENSITY: _normal_density,
    functions.NORMAL_GATE_SLOPE: _normal_gate_slope,
    functions.NORMAL_HAZARD: _normal_hazard,
    functions.NORMAL_HAZARD_SLOPE: _normal_hazard_slope,
    functions.NOTHING: lambda x: constant(0),
    functions.SERF_SLOPE: _serf_slope,
    functions.TANH_GATE_BEND: _tanh_gate_bend,
    functions.TANH_GATE_SLOPE: _tanh_gate_slope,
    functions.TANH_SLOPE: _tanh_slope,
}


def with_slopes(
    roots: Sequence[Expression], keep: Collection[str] = (), *, states_limits: bool = False
) -> list[Expression]:
    """The formulas with the forms of these functions in their place, but for those that are kept.

    ``states_limits``: the forms are the limits themselves at infinities, and not next to them, which decides ties.
    """
    if not any(current.operation in FORMS and current.operation not in keep for current in walk(*roots)):
        return list(roots)

    def formed(old: Expression, new: Expression) -> Expression:
        form = FORMS.get(old.operation) if old.operation not in keep else None
        if form is None:
            return new
        found = form(*new.operands)
        is_limited = states_limits and len(new.operands) == 1
        return _with_limits(old.operation, found, cast(Term, new.operands[0])) if is_limited else found

    tracing.depth += 1
    try:
        return list(rewritten(roots, formed))
    finally:
        tracing.depth -= 1


def _with_limits(operation: Operation, form: Term, x: Term) -> Term:
    """A form, and its limits at the infinities: those that a form only comes near to."""
    below, above = (limit if isfinite(limit) else None for limit in operation.at_infinities or (inf, inf))
    return at_infinities(form, x, below=below, above=above)
