"""The elementary functions where float32 computes results of 16 bits, with bounds.

They are the rules of the fast contract (fast.py), for numbers of every size: operands are moved to where a rule holds, as
far as the result has reached its limit there. Where it has not, the result is in doubt. In float16 all is at its limit
that lies beyond a rule; in bfloat16, whose numbers reach as far as those of float32, small results are in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Operation, node
from ogive.lowering.numerics.bound import UNKNOWN, Bound
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary import fast
from ogive.lowering.numerics.elementary.condition_numbers import FUNCTIONS
from ogive.lowering.numerics.elementary.fast import tail_on_both_sides
from ogive.lowering.numerics.elementary.own_errors import SHORT
from ogive.lowering.numerics.elementary.propagation import of_one
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.single import Factors, NoSingle, SingleBounded
from ogive.lowering.numerics.truths import either, except_where

__all__ = ["single_rule"]

#: Up to this magnitude of its operand exp is a normal number of float32.
FAR = 87.0

#: Beyond these exp rounds to zero and to infinity in bfloat16, also of an operand that is a little wrong.
ZERO_OF_BFLOAT16, INFINITE_BFLOAT16 = -93.0, 89.0

#: More than exp and logistic are where their operand is moved to -FAR. Exactly they may be zero there, which makes NaN of infinity:
#: numbers up to a static bound are in doubt beside that.
AT_LIMIT = 2.0**-125

#: Below this expm1 is -1 to more than float32 holds.
FAR_BELOW_ZERO = -30.0

#: Factors are no larger, so that constants can be multiplied by them. Reciprocals are no smaller than one by this.
LARGEST_FACTOR = 2.0**100

#: The largest operand of a logarithm that has a rule.
ONE_AND_MORE = 1 + 2.0**-10


@dataclass(frozen=True)
class _SingleOperand:
    """The operand of a function: a number, or a product of two that was not rounded."""

    m: SingleBounded
    u: DoubleWord
    factors: Factors | None
    low: float = -math.inf
    high: float = math.inf
    """To where it is moved."""
    is_short: bool = True

    @property
    def interval(self) -> Interval:
        low, high = self.u.interval.low, self.u.interval.high
        return Interval(min(max(low, self.low), self.high), max(min(high, self.high), self.low))

    def moved(self, low: float, high: float) -> _SingleOperand:
        """The operand moved into an interval around zero; of a product that is done by one factor."""
        return replace(self, low=low, high=high)

    def argument(self) -> fast.Argument:
        m, lies = self.m, self.u.interval
        is_low, is_high = lies.low < self.low, lies.high > self.high
        if self.factors is None:
            return fast.Argument(m.clamped(self.u, self.low, self.high).high, is_short=self.is_short)
        x, w, rest = self.factors.x, self.factors.w, self.factors.rest
        limit = max(-self.low if is_low else 0.0, self.high if is_high else 0.0)
        if limit:
            most = m.div_(m.number(limit), m.abs_(w))
            x = m.select_(m.less_(most, x), most, x)
            x = m.select_(m.less_(x, m.neg_(most)), m.neg_(most), x)
        return fast.Argument(x, w, None if rest is None else m.mul_(x, rest), is_short=self.is_short)

    def is_below(self, limit: float) -> Expression | None:
        m = self.m
        return m.less_(self.u.high, m.number(limit)) if self.u.interval.low < limit else None

    def is_above(self, limit: float) -> Expression | None:
        m = self.m
        return m.less_(m.number(limit), self.u.high) if self.u.interval.high > limit else None


#: The number, where it lies, and what beside the relative error of the rule is static or in doubt.
_Made = tuple[Expression, Interval, float, Expression | None]


def _exp(x: _SingleOperand, is_result: bool) -> _Made:
    m = x.m
    near = x.moved(-FAR, FAR)
    number, lies = fast.exp(m, near.argument()), near.interval.map(math.exp)
    below, above = x.is_below(-FAR), x.is_above(FAR)
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


def _expm1(x: _SingleOperand, is_result: bool) -> _Made:
    m = x.m
    near = x.moved(FAR_BELOW_ZERO, FAR)
    doubt = None if is_result and not m.is_wide else x.is_above(FAR)
    return fast.expm1(m, near.argument()), near.interval.map(math.expm1), 0.0, doubt


def _logistic(x: _SingleOperand, is_result: bool) -> _Made:
    m = x.m
    near = x.moved(-FAR, FAR)
    doubt = x.is_below(-FAR) if m.is_wide else None
    static = AT_LIMIT if not m.is_wide and x.u.interval.low < -FAR else 0.0
    lies = near.interval.map(lambda u: 1 / (1 + math.exp(-u)))
    return fast.logistic(m, near.argument()), Interval(0.0 if static else lies.low, 1.0), static, doubt


def _tanh(x: _SingleOperand, is_result: bool) -> _Made:
    m, lies = x.m, x.u.interval.map(math.tanh)
    near = x.moved(-fast.SATURATED, fast.SATURATED).argument()
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


def _log1p(x: _SingleOperand, is_result: bool) -> _Made:
    m = x.m
    if not x.u.interval.within(0.0, ONE_AND_MORE):
        raise NoSingle("log1p of other numbers than those from 0 to 1")
    static = m.lost if x.u.error.least < m.smallest_normal else 0.0
    return fast.log1p_to_one(m, x.u.high), x.u.interval.map(math.log1p), static, None


def _normal_tail(x: _SingleOperand, is_result: bool) -> _Made:
    m, lies = x.m, x.u.interval
    limit = fast.LIMITS["gaussian"]
    doubt = x.is_above(limit) if m.is_wide else None
    static = 0.0 if lies.high <= limit or m.is_wide else 2.0**-123
    near = m.clamped(x.u, -limit, limit).high
    if lies.low >= 0:
        return fast.normal_tail(m, near), Interval(0.0, 0.5), static, doubt
    return tail_on_both_sides(m, m.abs_(near), m.less_(near, m.number(0.0))), Interval(0.0, 1.0), static, doubt


RULES: dict[str, Callable[[_SingleOperand, bool], _Made]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log1p": _log1p,
    "logistic": _logistic,
    "normal_tail": _normal_tail,
    "tanh": _tanh,
}

#: The second rounding of a reduced operand, 0.35 at most, where it is made of a product. For expm1 and tanh it counts as
#: much as exp(u) is larger than these: 2.5 times.
OF_PRODUCT = {"exp": 2.0**-25, "logistic": 2.0**-25, "expm1": 2.0**-24, "tanh": 2.0**-24}

#: Functions that have a shorter form for results, with bounds of its own.
AS_RESULTS = frozenset({"exp", "logistic"})

#: Where the condition of a function counts: beyond that it is in doubt, or at its limit.
REACH = {"exp": FAR, "expm1": FAR, "logistic": FAR, "normal_tail": fast.LIMITS["gaussian"]}


def single_rule(m: SingleBounded, operation: Operation, operand: DoubleWord, *, is_result: bool) -> DoubleWord:
    """The function of a number, with its bound. Raises NoSingle where there is no rule."""
    name = operation.name
    if name not in RULES:
        raise NoSingle(f"{name} has no rule in float32")
    if not operand.error.is_known:
        return replace(operand, error=UNKNOWN)
    factors = m.factors.get(operand.high) if name in OF_PRODUCT else None
    is_short = is_result or name not in AS_RESULTS
    x = _SingleOperand(m, operand, factors, is_short=is_short)
    number, lies, static, doubt = RULES[name](x, is_result)
    error, more = operand.error, 0.0
    if factors is not None:
        error = replace(error, relative=0.0)  # the rule multiplies
        more = OF_PRODUCT[name]
        size = m.abs_(factors.w)
        doubt = either(doubt, m.not_(m.less_(size, m.number(LARGEST_FACTOR))))
        if factors.rest is not None:
            doubt = either(doubt, m.less_(size, m.number(1 / LARGEST_FACTOR)))
    reach = REACH.get(name, math.inf)
    inside = Interval(max(operand.interval.low, -reach), min(operand.interval.high, reach))
    error = replace(error, largest=min(error.largest, reach))
    function = replace(FUNCTIONS[name], limits=(math.inf, math.inf), increasing=None)
    of_rule = f"{name} as {'bfloat16' if m.is_wide else 'float16'}" if is_result and name in AS_RESULTS else name
    own = Bound(SHORT[of_rule] + more, static=static, doubt=doubt)
    result = DoubleWord(number, interval=lies)
    made = of_one(m, function, own, result, replace(operand, interval=inside, error=error))
    return made if is_result else m.finished(made, made.error)
