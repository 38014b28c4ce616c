"""The logistic function and its derivative, for each level.

    logistic(x) = 1 / (1 + exp(-x))

Where float64 computes what is wanted in float32, with the A of exp.py:

    logistic(x) = (A + r) / (A + r + 2**-n (A - r))

The derivative, with E = exp(-abs(u)), which neither overflows nor loses digits, is a form with one exponential and one division:

    logistic(u) logistic(-u) = E / (1 + E)**2
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.elementary.exponential.exp import (
    AT_LIMIT,
    FAR_IN_SINGLE,
    LIMIT_OF_SLOPES,
    OF_POWERS,
    decay,
    exp,
    exp_as_quotient,
    exp_in_pairs,
    exp_in_single,
    whole_exp_in_single,
)
from ogive.lowering.numerics.elementary.exponential.powers_of_two import FAR, MOST, NOTHING, inside_of_rule, not_beyond
from ogive.lowering.numerics.elementary.function_row import Function, InPairs, InSingle, alike, computed_by
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine

LOGISTIC_RANGE_IN_FLOAT64 = (-700.0, 700.0)


def logistic(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``1 / (1 + exp(-x))``; where that would be inaccurate, through exp(-abs(x)), which is at most 1."""
    one, interval = m.wide(Fraction(1)), Interval(0.0, 1.0)
    if not m.extended:
        dividend, other = exp_as_quotient(m, m.clamped(x, *LOGISTIC_RANGE_IN_FLOAT64).high, -1.0)[::-1]
        return DoubleWord(m.div_(dividend, m.add_(dividend, other)), interval=interval)
    e = exp(m, m.negate(m.absolute(x)))
    is_positive = m.compare(ops.LESS_EQUAL, m.wide(Fraction(0)), x)
    return replace(m.divide(m.select(is_positive, one, e), m.add(one, e)), interval=interval)


# ---- in float32: without a test, and with one


def logistic_in_single(m: Machine, a: Argument) -> Expression:
    """``1 / (1 + exp(-a))``."""
    e = exp_in_single(m, a.negative())
    return m.div_(m.number(1.0), m.add_(m.number(1.0), e))


def whole_logistic_in_single(m: Machine, a: Argument) -> Expression:
    """``1 / (1 + e)`` or ``e / (1 + e)``, e = exp(-abs(a)), for all numbers."""
    e = whole_exp_in_single(m, a.magnitude(m).negative())
    one = m.number(1.0)
    return m.div_(m.select_(m.less_(a.value(m), m.number(0.0)), e, one), m.add_(one, e))


def slope_in_single(m: Machine, a: Argument) -> Expression:
    """The derivative of the logistic function, ``e / (1 + e)**2``, e = exp(-abs(a))."""
    e = decay(m, a)
    total = m.add_(m.number(1.0), e)
    return m.div_(e, m.mul_(total, total))


def tested_logistic_in_single(x: SingleOperand, is_result: bool) -> Made:
    """``1 / (1 + exp(-x))`` of any number."""
    m = x.m
    near = x.moved(-FAR_IN_SINGLE, FAR_IN_SINGLE)
    doubt = x.is_below(-FAR_IN_SINGLE) if m.is_wide else None
    static = AT_LIMIT if not m.is_wide and x.u.interval.low < -FAR_IN_SINGLE else 0.0
    lies = near.interval.map(lambda u: 1 / (1 + math.exp(-u)))
    return logistic_in_single(m, near.argument()), Interval(0.0 if static else lies.low, 1.0), static, doubt


# ---- in pairs of float32


def logistic_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    if reaches_all:
        u = not_beyond(m, u, FAR)
    found = m.reciprocal(m.add(m.constant(1.0), exp_in_pairs(m, m.negate(u))))
    lies = inside_of_rule(u).map(lambda x: 1 / (1 + math.exp(-x)))
    return replace(found, relative=found.relative + NOTHING, interval=lies)


def logistic_slope(m: FloatFloatArithmetic, u: FloatFloat) -> FloatFloat:
    """``e / (1 + e)**2`` with ``e = exp(-abs(u))``."""
    e = exp_in_pairs(m, m.negate(m.absolute(u)))
    d = m.add(m.constant(1.0), e)
    return replace(m.multiply(e, m.reciprocal(m.multiply(d, d))), interval=Interval(math.exp(-MOST) / 4, 0.25))


computed_by(
    functions.LOGISTIC,
    logistic,
    replace(OF_POWERS, increasing=lambda u: 1 / (1 + math.exp(-u))),
    in_pairs=InPairs(logistic_in_pairs, is_limited=True),
    in_single=InSingle(
        *(FAR_IN_SINGLE, logistic_in_single, whole_logistic_in_single),
        tested=tested_logistic_in_single,
        of_product=2.0**-25,
        reach=FAR_IN_SINGLE,
        has_shorter_results=True,
    ),
)
computed_by(
    functions.LOGISTIC_SLOPE,
    None,
    Function(),
    in_pairs=InPairs(alike(logistic_slope), is_limited=True),
    in_single=InSingle(LIMIT_OF_SLOPES, slope_in_single),
)
