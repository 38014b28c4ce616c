"""The elementary functions where float32 computes results of 16 bits, with bounds.

They are the rules of the fast contract (fast.py), for numbers of every size: operands are moved to where a rule holds, as
far as the result has reached its limit there. Where it has not, the result is in doubt. In float16 all is at its limit
that lies beyond a rule; in bfloat16, whose numbers reach as far as those of float32, small results are in doubt.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ogive.graph import operations as ops
from ogive.graph.expression import node
from ogive.lowering.numerics.elementary import fast
from ogive.lowering.numerics.elementary.argument import Made, SingleOperand
from ogive.lowering.numerics.elementary.fast import tail_on_both_sides
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.single import NoSingle
from ogive.lowering.numerics.truths import either, except_where

__all__ = [
    "FAR_IN_SINGLE",
    "tested_exp_in_single",
    "tested_expm1_in_single",
    "tested_log1p_in_single",
    "tested_logistic_in_single",
    "tested_normal_tail_in_single",
    "tested_tanh_in_single",
]

#: Up to this magnitude of its operand exp is a normal number of float32.
FAR_IN_SINGLE = 87.0

#: Beyond these exp rounds to zero and to infinity in bfloat16, also of an operand that is a little wrong.
ZERO_OF_BFLOAT16, INFINITE_BFLOAT16 = -93.0, 89.0

#: More than exp and logistic are where their operand is moved to -FAR_IN_SINGLE. Exactly they may be zero there, which makes NaN of infinity:
#: numbers up to a static bound are in doubt beside that.
AT_LIMIT = 2.0**-125

#: Below this expm1 is -1 to more than float32 holds.
FAR_BELOW_ZERO_IN_SINGLE = -30.0


#: The largest operand of a logarithm that has a rule.
ONE_AND_MORE = 1 + 2.0**-10


def tested_exp_in_single(x: SingleOperand, is_result: bool) -> Made:
    m = x.m
    near = x.moved(-FAR_IN_SINGLE, FAR_IN_SINGLE)
    number, lies = fast.exp_in_single(m, near.argument()), near.interval.map(math.exp)
    below, above = x.is_below(-FAR_IN_SINGLE), x.is_above(FAR_IN_SINGLE)
    if not m.is_wide:
        low, static = (lies.low, 0.0) if below is None else (0.0, AT_LIMIT)
        return number, Interval(low, lies.high), static, None if is_result else above
    if is_result and x.u.error.is_relative and x.u.error.relative <= m.useful:
        is_zero, is_infinite = x.is_below(ZERO_OF_BFLOAT16), x.is_above(INFINITE_BFLOAT16)
        below, above = except_where(below, is_zero), except_where(above, is_infinite)
        for is_there, limit in ((is_zero, 0.0), (is_infinite, math.inf)):
            if is_there is not None:
                number, lies = m.select_(is_there, m.number(limit), number), lies | Interval.point(limit)
    return number, lies, 0.0, either(below, above)


def tested_expm1_in_single(x: SingleOperand, is_result: bool) -> Made:
    m = x.m
    near = x.moved(FAR_BELOW_ZERO_IN_SINGLE, FAR_IN_SINGLE)
    doubt = None if is_result and not m.is_wide else x.is_above(FAR_IN_SINGLE)
    return fast.expm1_in_single(m, near.argument()), near.interval.map(math.expm1), 0.0, doubt


def tested_logistic_in_single(x: SingleOperand, is_result: bool) -> Made:
    m = x.m
    near = x.moved(-FAR_IN_SINGLE, FAR_IN_SINGLE)
    doubt = x.is_below(-FAR_IN_SINGLE) if m.is_wide else None
    static = AT_LIMIT if not m.is_wide and x.u.interval.low < -FAR_IN_SINGLE else 0.0
    lies = near.interval.map(lambda u: 1 / (1 + math.exp(-u)))
    return fast.logistic_in_single(m, near.argument()), Interval(0.0 if static else lies.low, 1.0), static, doubt


def tested_tanh_in_single(x: SingleOperand, is_result: bool) -> Made:
    m, lies = x.m, x.u.interval.map(math.tanh)
    near = x.moved(-fast.SATURATED_IN_SINGLE, fast.SATURATED_IN_SINGLE).argument()
    low = near.low
    if low is not None:  # of the magnitude
        low = m.from_bits_(
            node(
                ops.EXCLUSIVE_OR,
                (m.bits_(low), m.bits_(m.make(ops.COPY_SIGN, m.number(0.0), x.u.high))),
                None,
                m.integer,
            )
        )
    size = replace(near, x=m.abs_(near.x), w=None if near.w is None else m.abs_(near.w), low=low)
    number = m.make(ops.COPY_SIGN, fast.tanh_below_saturation(m, size), x.u.high)
    return number, Interval(max(lies.low, -1.0), min(lies.high, 1.0)), 0.0, None


def tested_log1p_in_single(x: SingleOperand, is_result: bool) -> Made:
    m = x.m
    if not x.u.interval.within(0.0, ONE_AND_MORE):
        raise NoSingle("log1p of other numbers than those from 0 to 1")
    static = m.lost if x.u.error.least < m.smallest_normal else 0.0
    return fast.log1p_to_one(m, x.u.high), x.u.interval.map(math.log1p), static, None


def tested_normal_tail_in_single(x: SingleOperand, is_result: bool) -> Made:
    m, lies = x.m, x.u.interval
    limit = fast.LIMIT_OF_TAIL
    doubt = x.is_above(limit) if m.is_wide else None
    static = 0.0 if lies.high <= limit or m.is_wide else 2.0**-123
    near = m.clamped(x.u, -limit, limit).high
    if lies.low >= 0:
        return fast.normal_tail_in_single(m, near), Interval(0.0, 0.5), static, doubt
    return tail_on_both_sides(m, m.abs_(near), m.less_(near, m.number(0.0))), Interval(0.0, 1.0), static, doubt
