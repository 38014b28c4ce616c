"""Gates of activation functions, for each level: gelu and its tanh form, swish, mish, softplus' tail, ramps, softsign; and their slopes.

In pairs of float32 the product of a number and a gate is computed as a whole: a table has it below zero, and above it is the number
less that. So is its derivative.

In float32 the derivative of u logistic(u) is a form with one exponential and one division. With E = exp(-abs(u)), which neither
overflows nor loses digits:

    logistic(u) (1 + u logistic(-u)) = (E (1 + u) + (E**2 if u < 0 else 1)) / (1 + E)**2

It crosses zero where E (1 + u) cancels the rest: there its absolute error is small, not its relative one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from ogive.graph import elementary_functions as functions
from ogive.graph.expression import Expression
from ogive.lowering.numerics.elementary.argument import Argument
from ogive.lowering.numerics.elementary.derived_numbers import PIECEWISE
from ogive.lowering.numerics.elementary.exponential.exp import LIMIT_OF_SLOPES, decay, exp_in_pairs
from ogive.lowering.numerics.elementary.exponential.powers_of_two import FAR, MOST
from ogive.lowering.numerics.elementary.function_row import Function, InPairs, InSingle, alike, computed_by
from ogive.lowering.numerics.elementary.piecewise import Piecewise, evaluated, less
from ogive.lowering.numerics.float_float import SMALLEST, FloatFloat, FloatFloatArithmetic, NoFloatFloat, U, low_of
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine

#: Both forms of gelu of -w, negated.
NORMAL_GATE, TANH_GATE = (Piecewise(**PIECEWISE[name]) for name in ("NORMAL_GATE", "TANH_GATE"))

#: The derivatives of gelu, of its tanh form and of swish at -w.
NORMAL_SLOPE, TANH_GATE_SLOPE, LOGISTIC_GATE_SLOPE = (
    Piecewise(**PIECEWISE[name]) for name in ("NORMAL_SLOPE", "TANH_GATE_SLOPE", "LOGISTIC_GATE_SLOPE")
)


def gated(table: Piecewise, m: FloatFloatArithmetic, x: FloatFloat) -> FloatFloat:
    """``x`` times a gate: the larger of x and zero, less what the table has of the size of x."""
    if not x.is_single:
        raise NoFloatFloat("a gate of a computed number")
    size = m.with_roundings(evaluated(m, table, m.exactly(m.abs_(x.high))), 1)
    assert size.around is not None
    larger = m.larger_(m.number(0.0), x.high)
    high, low = less(m, larger, size)
    # The loss of the difference is rounded some times.
    around = replace(size.around, plus=m.mul_(larger, m.number(2.0**-46)))
    lies = Interval(-0.25, max(x.interval.high, 0.0))
    return replace(
        size, high=high, low=low, around=around, sign=x.high, may_be_zero=x.high, interval=lies, lost=SMALLEST
    )


def slope_of_gate(table: Piecewise, m: FloatFloatArithmetic, x: FloatFloat) -> FloatFloat:
    """The derivative of ``x`` times a gate: h(abs(x)) below zero, and elsewhere 1 less that."""
    x = m.normalised(x)
    below = m.with_roundings(evaluated(m, table, m.absolute(x)), 1)
    assert below.around is not None
    is_below = m.less_(x.high, m.number(0.0))
    above = less(m, m.number(1.0), below)
    high, low = (m.select_(is_below, *words) for words in zip((below.high, low_of(below)), above, strict=True))
    around = replace(below.around, plus=m.number(2.0**-46))
    return replace(below, high=high, low=low, around=around, interval=Interval(-0.25, 1.25), is_nonzero=True)


#: Ramps are taken on the grid that float32 has from here on. The share by which the low word is made smaller than it is: more than four
#: roundings, and less than half of that grid, which the ends of the ramp lie on all the same.
BESIDE_RAMP, ERROR_OF_RAMP = Fraction(8), 6 * Fraction(U)


class Ramp(NamedTuple):
    """``(x - least) / (most - least)``, and 0 below and 1 above."""

    least: int
    most: int


#: The constants of hard_swish and hard_mish.
HARD_SWISH_RAMP, HARD_MISH_RAMP = Ramp(-3, 3), Ramp(-2, 0)


def times_ramp(ramp: Ramp, m: FloatFloatArithmetic, x: FloatFloat) -> FloatFloat:
    """``x`` times a ramp.

    With ``w = most - least``, a the operand between both ends, and p the ramp on a coarse grid:

        x ramp = x p + a (a - least - w p) / w

    ``least + w p`` is exact, and a less that is rounded once. So the low word is wrong by a share of itself, and zero where the
    ramp lies on the grid. Beside zero it is positive, and what underflow takes is less than `lost_beside`.
    """
    if not x.is_single:
        raise NoFloatFloat("a ramp of a computed number")
    least, most = ramp
    width = Fraction(most - least)
    leading = m.larger_(m.number(float(least)), x.high)
    a = m.smaller_(m.number(float(most)), leading)
    share = m.mul_(a, m.number(m.rounded((1 - ERROR_OF_RAMP) / width)))
    on_grid = m.sub_(m.add_(share, m.number(float(BESIDE_RAMP - least / width))), m.number(float(BESIDE_RAMP)))
    rest = m.add_(a, m.fma_(m.number(-width), on_grid, m.number(float(-least))))
    low = m.mul_(share, rest)
    other = m.fma_(low, m.number(float(1 + 2 * ERROR_OF_RAMP)), m.lost_beside(rest))
    return FloatFloat(leading, on_grid, low=low, other_end=other, where=x.where)


#: From here on ``x / (1 + x)`` is 1, but for a share that is less than the inverse.
NEXT_TO_ONE = 2.0**60


def soft_sign(m: FloatFloatArithmetic, x: FloatFloat) -> FloatFloat:
    """``x / (1 + abs(x))``."""
    if not x.is_single:
        raise NoFloatFloat("the softsign of a computed number")
    w = m.exactly(m.smaller_(m.number(NEXT_TO_ONE), m.abs_(x.high)), Interval(0.0, NEXT_TO_ONE))
    w = replace(w, may_be_zero=x.high)
    found = m.multiply(w, m.reciprocal(m.add(m.constant(1.0), w)))
    relative = found.relative + 1 / NEXT_TO_ONE
    return replace(found, turn=x.high, relative=relative, interval=Interval(0.0, 1.0), where=x.where)


#: log(1 + exp(-w)).
SOFTPLUS_TAIL = Piecewise(**PIECEWISE["SOFTPLUS_TAIL"])


def softplus_tail(m: FloatFloatArithmetic, u: FloatFloat) -> FloatFloat:
    """``log(1 + exp(-abs(u)))``."""
    size = m.absolute(u)
    is_inside = m.less_equal_(m.as_words(size).high, m.number(FAR))
    found = evaluated(m, SOFTPLUS_TAIL, size)
    where = replace(found.where, holds=(*found.where.holds, is_inside))
    return replace(found, interval=Interval(0.0, 0.75), is_nonzero=True, where=where)


#: Beyond it mish's gate is 1 and next to nothing less.
FAR_OF_MISH = 20.0


def mish_gate(m: FloatFloatArithmetic, u: FloatFloat) -> FloatFloat:
    """``tanh(log(1 + exp(u)))`` as ``n / (n + 2)``, with ``n = e (e + 2)`` and ``e = exp(u)``: nothing cancels."""
    e = exp_in_pairs(m, u, most=FAR_OF_MISH)
    two = m.constant(2.0)
    n = m.multiply(e, m.add(e, two))
    found = m.multiply(n, m.reciprocal(m.add(n, two)))
    lies = Interval(math.exp(-MOST), 1.0)
    return replace(found, relative=found.relative + 2 * math.exp(-2 * FAR_OF_MISH), interval=lies)


def mish_slope(m: FloatFloatArithmetic, u: FloatFloat) -> FloatFloat:
    """The derivative of u times this gate: ``(n + 4 u e (e + 1) / d) / d`` with ``d = n + 2``."""
    e = exp_in_pairs(m, u, most=FAR_OF_MISH)
    u = replace(u, interval=Interval(-MOST, MOST))
    one = m.constant(1.0)
    next_ = m.add(e, one)
    n = m.multiply(e, m.add(next_, one))
    share = m.reciprocal(m.add(n, m.constant(2.0)))
    steep = m.multiply(m.multiply(m.multiply(e, next_), u), share)
    found = m.multiply(m.add(n, m.multiply(steep, m.constant(4.0))), share)
    return replace(found, relative=found.relative + 2.0**-48, interval=Interval(-0.25, 1.25))


def gate_slope_in_single(m: Machine, a: Argument) -> Expression:
    """``logistic(u) * (1 + u * logistic(-u))``."""
    e, u, one = decay(m, a), a.value(m), m.number(1.0)
    rest = m.select_(m.less_(u, m.number(0.0)), m.mul_(e, e), one)
    total = m.add_(one, e)
    return m.div_(m.fma_(e, m.add_(one, u), rest), m.mul_(total, total))


for _slope, _table in (
    (functions.GATE_SLOPE, LOGISTIC_GATE_SLOPE),
    (functions.NORMAL_GATE_SLOPE, NORMAL_SLOPE),
    (functions.TANH_GATE_SLOPE, TANH_GATE_SLOPE),
):
    _single = InSingle(LIMIT_OF_SLOPES, gate_slope_in_single) if _slope is functions.GATE_SLOPE else None
    computed_by(_slope, None, Function(), in_pairs=InPairs(alike(partial(slope_of_gate, _table))), in_single=_single)
computed_by(functions.MISH_SLOPE, None, Function(), in_pairs=InPairs(alike(mish_slope), is_limited=True))
