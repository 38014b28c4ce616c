"""The operands of functions in float32: a number, or a product whose error the function would magnify.

A rule without a test takes an `Argument`. It is made of IEEE operations (sums, products, FMA, quotients, shifts of bits), so that it
gives the same bits on every machine, and nothing is corrected but what exponentials magnify. Division is as fast as an estimate of the
reciprocal and a step of Newton's, and the estimate is another one on other processors. It holds for numbers that are not large
(`InSingle.limit`), and lowering/fast_contract.py computes the others exactly.

A rule with a test takes a `SingleOperand` of every size: it is moved to where the rule holds, as far as the result has reached its
limit there. Where it has not, the result is in doubt. In float16 all is at its limit that lies beyond a rule; in bfloat16, whose
numbers reach as far as those of float32, small results are in doubt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.single import Factors, SingleBounded


@dataclass(frozen=True)
class Argument:
    """``sign * (x * w + low)``."""

    x: Expression
    w: Expression | None = None
    """None for 1."""
    low: Expression | None = None
    """A small number, or None for 0."""
    sign: float = 1.0
    """Or this times a power of two."""
    is_short: bool = False
    """Whether 2**-21 is enough: for results of 16 bits."""
    lies: Interval = EVERYTHING
    """Where the number lies, if it has no test."""

    def value(self, m: Machine) -> Expression:
        value = self.x if self.w is None else m.mul_(self.x, self.w)
        if abs(self.sign) != 1:
            value = m.mul_(value, m.number(abs(self.sign)))
        return value if self.sign > 0 else m.neg_(value)

    def negative(self) -> Argument:
        return replace(self, sign=-self.sign, lies=-self.lies)

    def magnitude(self, m: Machine) -> Argument:
        """The number without its sign."""
        low, w = self.low, None if self.w is None else m.abs_(self.w)
        if low is not None:
            low = m.select_(m.less_(replace(self, sign=1.0).value(m), m.number(0.0)), m.neg_(low), low)
        is_positive = w is None and self.sign > 0 and self.lies.low >= 0
        x = self.x if is_positive else m.abs_(self.x)
        return replace(self, x=x, w=w, low=low, sign=abs(self.sign), lies=abs(self.lies))


def cubic(m: Machine, x: Expression, linear: Fraction, third: Fraction) -> Argument:
    """``linear * x + third * x**3`` of positive numbers, as an argument of exponentials.

    It is x t, t = linear + third x**2, and what t lacks is kept. The first part of ``linear`` has two bits less than a
    float32 number, so that t less it is exact where `is_cubic` holds.
    """
    single = Machine(Format.F32)
    unit = Fraction(2) ** (_exponent(linear) - 21)
    first = round(linear / unit) * unit
    a_high, a_low = float(first), single.rounded(linear - first)
    b_high = single.rounded(third)
    b_low = single.rounded(third - Fraction(b_high))
    square = m.mul_(x, x)
    square_low = m.lost_of_product_(x, x, square)
    high, slope = m.number(a_high), m.number(b_high)
    t = m.fma_(square, slope, high)
    lost = m.exact_sum_(square, slope, m.sub_(high, t))
    rest = m.fma_(square_low, slope, m.fma_(square, m.number(b_low), m.number(a_low)))
    return Argument(x, t, m.mul_(x, m.add_(lost, rest)))


def where_reached(linear: Fraction, third: Fraction, value: float) -> float:
    """About the largest float32 number of few bits at which ``linear * x + third * x**3`` is below the value."""
    low, high = 0.0, value / float(linear)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(linear) * middle + float(third) * middle**3 < value else (low, middle)
    return math.floor(low * 64) / 64


def is_cubic(linear: Fraction, third: Fraction, most: float) -> bool:
    """Whether `cubic` holds for these positive numbers, and for all x up to a number."""
    return third * Fraction(most) ** 2 < 8 * Fraction(2) ** _exponent(linear)


def _exponent(value: Fraction) -> int:
    """The largest e with ``2**e <= value``, of a positive number."""
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if Fraction(2) ** e <= value else e - 1


@dataclass(frozen=True)
class SingleOperand:
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

    def moved(self, low: float, high: float) -> SingleOperand:
        """The operand moved into an interval around zero; of a product that is done by one factor."""
        return replace(self, low=low, high=high)

    def argument(self) -> Argument:
        m, lies = self.m, self.u.interval
        is_low, is_high = lies.low < self.low, lies.high > self.high
        if self.factors is None:
            return Argument(m.clamped(self.u, self.low, self.high).high, is_short=self.is_short)
        x, w, rest = self.factors.x, self.factors.w, self.factors.rest
        limit = max(-self.low if is_low else 0.0, self.high if is_high else 0.0)
        if limit:
            most = m.div_(m.number(limit), m.abs_(w))
            x = m.select_(m.less_(most, x), most, x)
            x = m.select_(m.less_(x, m.neg_(most)), m.neg_(most), x)
        return Argument(x, w, None if rest is None else m.mul_(x, rest), is_short=self.is_short)

    def is_below(self, limit: float) -> Expression | None:
        m = self.m
        return m.less_(self.u.high, m.number(limit)) if self.u.interval.low < limit else None

    def is_above(self, limit: float) -> Expression | None:
        m = self.m
        return m.less_(m.number(limit), self.u.high) if self.u.interval.high > limit else None


#: The number, where it lies, and what beside the relative error of the rule is static or in doubt.
Made = tuple[Expression, Interval, float, Expression | None]
