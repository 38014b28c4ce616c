"""The elementary functions where float32 computes results of 16 bits, with bounds.

They are the rules of the fast contract (fast.py), for numbers of every size: operands are moved to where a rule holds, as
far as the result has reached its limit there. Where it has not, the result is in doubt. In float16 all is at its limit
that lies beyond a rule; in bfloat16, whose numbers reach as far as those of float32, small results are in doubt.
"""

from __future__ import annotations

from ogive.lowering.numerics.elementary import fast
from ogive.lowering.numerics.elementary.argument import Made, SingleOperand
from ogive.lowering.numerics.elementary.fast import tail_on_both_sides
from ogive.lowering.numerics.interval import Interval

__all__ = ["tested_normal_tail_in_single"]


def tested_normal_tail_in_single(x: SingleOperand, is_result: bool) -> Made:
    m, lies = x.m, x.u.interval
    limit = fast.LIMIT_OF_TAIL
    doubt = x.is_above(limit) if m.is_wide else None
    static = 0.0 if lies.high <= limit or m.is_wide else 2.0**-123
    near = m.clamped(x.u, -limit, limit).high
    if lies.low >= 0:
        return fast.normal_tail_in_single(m, near), Interval(0.0, 0.5), static, doubt
    return tail_on_both_sides(m, m.abs_(near), m.less_(near, m.number(0.0))), Interval(0.0, 1.0), static, doubt
