"""Arithmetic of pairs of float32, for results of float32: sixteen lanes where float64 has eight.

A `FloatFloat` number is a leading part and a low word beside it, which may be as large as 2**-10 of it. The leading part is a
float32 number, or the product of two that nothing has rounded: the last operation of a result is an FMA that adds the low
word to it, and the only one that rounds. It is done twice, at both ends of the interval that the bound allows. Where a rule
does not hold, some bits say so, and the float64 kernel computes the element.

Errors are relative to the leading part. U is 2**-24; an operation on low words adds U times their share of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from ogive.common.effects import Checked, Effects, Table
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, depends_on_elements, node
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.truths import either

#: The error of rounding to float32, relative to a number.
U = 2.0**-24

#: The relative error of an estimate of a reciprocal.
ESTIMATE = 2.0**-14

#: Parameters have a magnitude between this and its reciprocal, and so have constants. Others are left to float64.
FARTHEST = 2.0**40

#: Up to this nothing overflows that a result is made of.
LARGEST = 2.0**120

#: Roots of numbers from here on lose nothing by underflow.
LEAST_RADICAND, LEAST_ROOT = 2.0**-96, 2.0**-48

#: A number this large has its low word without underflow.
NOT_TINY = 2.0**-80

#: No larger share of results may be undecided: of numbers that lie anywhere, a bound leaves its double in units of 2**-24,
#: divided by log(2) / 2. With few powers in a table more are, and a table of 32 takes several instructions then.
LARGEST_SHARE = 0.02
LARGEST_SHARE_OF_FEW = 0.04

#: How many powers of two an octave has in tables: those of two registers of 64 bytes, and of one of 32.
MANY_POWERS, FEW_POWERS = 32, 8

#: A divisor whose low word may be a larger share of it is normalised first.
SHARE_OF_DIVISOR = 2.0**-11

#: No number is wrong by a larger share of it, of which results are made.
LARGEST_ERROR = 2.0**-29

#: Bounds are relative to the leading part, and low words a small share of it: this covers the difference, and the rounding
#: of the bounds themselves.
SLACK = 1 + 2.0**-7

#: How many roundings of low words bounds cover, the fewest that suffice.
ROUNDINGS = 1, 3, 8

#: The error by underflow, the most that a number may have lost by it, and what a result is taken to have lost. That is a normal
#: number: a subnormal addend of an FMA takes some processors 150 cycles. For a result that may be zero it is no more than a multiple
#: of what is zero then: it may have lost half as many of the smallest numbers.
SMALLEST, MOST_LOST, LOST = 2.0**-149, 2.0**-140, 2.0**-126
MULTIPLE = 64


class NoFloatFloat(Exception):
    """There is no rule in pairs for this, or its bound is too large."""


class TooManyRoundings(NoFloatFloat):
    """Low words are rounded more often than bounds cover."""


@dataclass(frozen=True)
class Conditions:
    """The condition of the rules; elsewhere nothing is known."""

    doubts: tuple[Expression, ...] = ()
    """Unsigned integers: all are zero."""
    holds: tuple[Expression, ...] = ()
    """Truth values: all are true."""


@dataclass(frozen=True)
class Around:
    """A bound that is computed beside a number: ``base * times + plus``, of positive numbers."""

    base: Expression
    times: Expression
    plus: Expression


@dataclass(frozen=True)
class FloatFloat:
    """``high * factor + low``, or ``high * factor * (1 + scale)``; a part that is None is 1, 0 and 0."""

    high: Expression
    factor: Expression | None = None
    low: Expression | None = None
    scale: Expression | None = None
    share: float = 0.0
    """No low word, and no scale, is a larger share of the leading part."""
    relative: float = 0.0
    """The error bound of the number, relative to its leading part."""
    around: Around | None = None
    """The same, computed beside it; then the share is zero."""
    covered: int = 0
    """How often low words may still be rounded: the bound beside the number covers that."""
    bias: float = 0.0
    """How much larger its low word was made, relative to the leading part: a number that is no smaller than the exact one
    needs no second end."""
    other_end: Expression | None = None
    """The low word at the other end of the interval that the number lies in; then ``low`` is that of one end."""
    interval: Interval = EVERYTHING
    """The interval of the number, before its turn."""
    is_nonzero: bool = False
    """Whether the exact number is not zero."""
    may_be_zero: Expression | None = None
    """A number that is zero where the number is, and nowhere else: itself, or a factor, which does not underflow."""
    turn: Expression | None = None
    """The number whose sign its words and its interval lack: where it is negative the number is opposite to them."""
    lost: float = 0.0
    """The most that underflow may have taken from the low word."""
    sign: Expression | None = None
    """The number whose sign this has where the leading part may be zero; None: that of the leading part."""
    is_power: bool = False
    """Whether this is a power of two."""
    is_quotient: bool = False
    """Whether this is a product or a quotient of two float32 numbers: infinite where it overflows."""
    where: Conditions = Conditions()
    """The conditions on which it is known."""
    is_half: bool = False
    """Whether this is a half of the result, which may overflow."""

    @property
    def is_exact(self) -> bool:
        return self.low is None and self.scale is None and self.relative == 0 and self.around is None

    @property
    def is_one(self) -> bool:
        return self.is_single and self.high.operation is ops.CONSTANT and self.high.attribute == 1

    @property
    def is_single(self) -> bool:
        """Whether this is one float32 number."""
        return self.is_exact and self.factor is None


#: The fields of results, and of their opposites and magnitudes, that no other number is computed of. `settled` puts signs into words.
OF_RESULTS = {
    "bias": "more is computed of a number that is an end of an interval",
    "other_end": "more is computed of a number that is an end of an interval",
    "turn": "more is computed of words without their sign",
    "sign": "more is computed of words without the sign of their zeros",
    "is_half": "more is computed of a half of a result",
}

COMPUTED = Effects(
    made="high factor low scale share relative around covered interval is_nonzero may_be_zero lost is_power is_quotient where",
    refused=OF_RESULTS,
)
EFFECTS: Table = {
    "negate": {
        FloatFloat: Effects(
            kept="factor scale share relative around covered bias is_nonzero may_be_zero lost is_quotient where is_half",
            made="high low other_end interval turn sign",
            dropped={"is_power": "powers of two are positive"},
        )
    },
    "absolute": {
        FloatFloat: Effects(
            kept="bias is_nonzero may_be_zero is_quotient where is_half around",
            made="high factor low scale other_end share relative covered interval turn sign lost is_power",
        )
    },
    **{
        name: {FloatFloat: COMPUTED}
        for name in (
            "add",
            "multiply",
            "divide",
            "reciprocal",
            "square_root",
            "select",
            "as_words",
            "normalised",
            "as_operand",
        )
    },
}


def half_unit(largest: float) -> float:
    """The largest error of rounding a number of no larger magnitude to float32."""
    return U * 2.0 ** (math.ceil(math.log2(largest)) - 1)


def joined(*sides: FloatFloat) -> Conditions:
    """The conditions on which all sides are known."""
    doubts = dict.fromkeys(doubt for side in sides for doubt in side.where.doubts)
    return Conditions(tuple(doubts), tuple(dict.fromkeys(truth for side in sides for truth in side.where.holds)))


class FloatFloatArithmetic(Machine, Checked):
    """The operations on pairs."""

    effects, refusal = EFFECTS, NoFloatFloat

    def ready(self, number: FloatFloat) -> FloatFloat:
        return self.settled(number)

    def __init__(self, roundings: int = ROUNDINGS[-1], octave: int = MANY_POWERS) -> None:
        super().__init__(Format.F32)
        self.roundings = roundings
        """How often low words are rounded that bounds of functions cover, behind their rules."""
        self.octave = octave
        """How many powers of two the tables of exponentials have."""

    @property
    def largest_share(self) -> float:
        """The largest share of results that may be undecided."""
        return LARGEST_SHARE if self.octave == MANY_POWERS else LARGEST_SHARE_OF_FEW

    # ---- leaves

    def exactly(self, value: Expression, interval: Interval = EVERYTHING) -> FloatFloat:
        return FloatFloat(value, interval=interval, is_nonzero=interval.smallest_magnitude > 0, may_be_zero=value)

    def constant(self, value: Fraction | float) -> FloatFloat:
        """A constant, in as many words as it takes up to two."""
        if not isinstance(value, Fraction) and not math.isfinite(value):
            raise NoFloatFloat("a constant that is infinite or NaN")
        high = self.rounded(Fraction(value)) or float(value)  # which may be -0
        if high and not 1 / FARTHEST <= abs(high) <= FARTHEST:
            raise NoFloatFloat("a constant far from 1")
        lies = Interval.around(float(value)) if value else Interval.point(0.0)
        rest = Fraction(value) - Fraction(high)
        low = self.rounded(rest)
        is_power = value > 0 and math.frexp(high)[0] == 0.5
        found = FloatFloat(self.number(high), interval=lies, is_nonzero=bool(value), is_power=is_power)
        if not low:
            return replace(found, relative=2.0**-60, is_power=False) if rest else found
        found = replace(found, is_power=False)
        return replace(found, low=self.number(low), share=U, relative=U * U if Fraction(low) != rest else 0.0)

    def parameter(self, value: Expression, *, is_power: bool = False) -> FloatFloat:
        """``is_power``: it has a rule where it is a power of two."""
        size = value if is_power else self.abs_(value)
        holds = [self.less_(self.number(1 / FARTHEST), size), self.less_(size, self.number(FARTHEST))]
        if is_power:
            bits = node(
                ops.AND, (node(ops.BITCAST, (value,), None, Format.U32), unsigned(0x7F800000)), None, Format.U32
            )
            holds.append(self.equal_(value, node(ops.BITCAST, (bits,), None, Format.F32)))
        lies = Interval(1 / FARTHEST if is_power else -FARTHEST, FARTHEST)
        return FloatFloat(
            value, interval=lies, is_nonzero=True, is_power=is_power, where=Conditions(holds=tuple(holds))
        )

    def upwards(self, value: float) -> float:
        single = np.float32(value)
        return float(single if single >= value else np.nextafter(single, np.float32(math.inf)))

    def bound(self, value: float) -> Expression:
        """A bound as a constant, rounded upwards."""
        return self.number(self.upwards(value))

    # ---- forms

    def larger_(self, a: Expression, b: Expression) -> Expression:
        """The larger of two numbers; NaN if the second is."""
        return self.select_(self.less_(b, a), a, b)

    def smaller_(self, a: Expression, b: Expression) -> Expression:
        return self.select_(self.less_(a, b), a, b)

    def as_words(self, a: FloatFloat) -> FloatFloat:
        """The number as ``high + low``, or high alone."""
        if a.factor is None and a.scale is None:
            return a
        if a.factor is None:
            assert a.scale is not None
            found = replace(a, scale=None, low=self.mul_(a.high, a.scale), relative=a.relative + U * a.share)
            return replace(found, lost=a.lost + SMALLEST)
        high = self.mul_(a.high, a.factor)
        rest = self.fma_(a.high, a.factor, self.neg_(high))
        share, relative = a.share + U, a.relative
        if a.scale is not None or a.low is not None:
            rest = self.fma_(high, a.scale, rest) if a.scale is not None else self.add_(rest, low_of(a))
            relative += U * (share + a.share)
        lost = a.lost + 2 * SMALLEST
        a = self.with_roundings(a, 1)
        return replace(a, high=high, factor=None, scale=None, low=rest, share=share, relative=relative, lost=lost)

    def settled(self, a: FloatFloat) -> FloatFloat:
        """The number with its sign in its words."""
        if a.turn is not None:
            low = None if a.low is None else self.signed(a.low, a.turn)
            lies = a.interval | -a.interval
            a = replace(a, high=self.signed(a.high, a.turn), low=low, interval=lies, turn=None)
        if a.sign is not None:
            if a.factor is not None:
                raise NoFloatFloat("a product whose sign is another number's")
            a = replace(a, high=self.make(ops.COPY_SIGN, a.high, a.sign), sign=None)
        return a

    def as_operand(self, a: FloatFloat) -> FloatFloat:
        """The number as the operand of a function."""
        return a

    def with_roundings(self, a: FloatFloat, count: int) -> FloatFloat:
        """The number after its low word is rounded some times."""
        if a.around is None:
            return a
        if a.covered < count:
            raise TooManyRoundings("more roundings of low words than a bound covers")
        return replace(a, covered=a.covered - count)

    def _without_around(self, a: FloatFloat) -> FloatFloat:
        a = self.as_words(a)
        if a.around is not None:
            raise NoFloatFloat("a divisor or an operand with an error beside it")
        return a

    def normalised(self, a: FloatFloat) -> FloatFloat:
        """The number with a low word that is no more than what rounding the whole to float32 loses."""
        a = self._without_around(a)
        if a.low is None or a.share <= 2 * U:
            return a
        high, low = self.fast_two_sum(a.high, a.low)
        return replace(a, high=high, low=low, share=U)

    def _firm(self, a: FloatFloat, factor: FloatFloat) -> FloatFloat:
        """The number where underflow does not show in its product: where it is not tiny, unless the factor is moderate."""
        if not a.lost or a.lost * factor.interval.largest_magnitude <= MOST_LOST / 4:
            return a
        found = replace(a, relative=a.relative + a.lost / NOT_TINY, lost=0.0)
        if a.interval.smallest_magnitude >= NOT_TINY * SLACK:
            return found
        found = self.as_words(found)
        is_large = self.less_equal_(self.number(NOT_TINY), self.abs_(found.high))
        where = replace(a.where, holds=(*a.where.holds, is_large))
        return replace(found, lost=0.0, is_nonzero=True, may_be_zero=None, where=where)

    def _sum_of_arounds(self, a: FloatFloat, b: FloatFloat) -> tuple[Around | None, int]:
        """The bounds beside two numbers, of their sum, and how many roundings these cover."""
        if a.around is None or b.around is None:
            one = b if a.around is None else a
            return one.around, one.covered
        plus = self.add_(a.around.plus, self.fma_(b.around.base, b.around.times, b.around.plus))
        return replace(a.around, plus=plus), min(a.covered, b.covered)

    # ---- operations

    def negate(self, a: FloatFloat) -> FloatFloat:
        sign = None if a.sign is None else self.neg_(a.sign)
        if a.turn is not None:
            return replace(a, turn=self.neg_(a.turn), sign=sign, is_power=False)
        low, other_end = (None if x is None else self.neg_(x) for x in (a.low, a.other_end))
        return replace(
            a,
            high=self.neg_(a.high),
            low=low,
            other_end=other_end,
            interval=-a.interval,
            sign=sign,
            is_power=False,
        )

    def absolute(self, a: FloatFloat) -> FloatFloat:
        if a.turn is not None:
            a = replace(a, turn=None, sign=None)
            if a.interval.low >= 0:
                return replace(a, sign=self.number(0.0))
        if a.interval.low > 0 or (a.interval.low == 0 and a.is_nonzero):  # 0 may be -0
            return a
        if a.interval.high < 0:
            return self.negate(a)
        a = self.as_words(a)
        low = None if a.low is None else self.signed(a.low, a.high)
        return replace(a, high=self.abs_(a.high), low=low, interval=abs(a.interval))

    def signed(self, value: Expression, by: Expression) -> Expression:
        """The number, with the other sign where ``by`` is negative."""
        bits, sign = (node(ops.BITCAST, (x,), None, Format.U32) for x in (value, by))
        sign = node(ops.AND, (sign, unsigned(0x80000000)), None, Format.U32)
        return node(ops.BITCAST, (node(ops.EXCLUSIVE_OR, (bits, sign), None, Format.U32),), None, self.format)

    def add(self, a: FloatFloat, b: FloatFloat) -> FloatFloat:
        a, b = self.as_words(a), self.as_words(b)
        for one, other in ((a, b), (b, a)):
            if one.is_single and one.high is self.number(0.0):  # which makes 0 of -0
                return replace(other, high=self.add_(other.high, one.high), where=joined(a, b))
        if min(a.interval.low, b.interval.low) < 0 < max(a.interval.high, b.interval.high):
            return self._sum_of_both_signs(a, b)
        sums = sum(n.low is not None for n in (a, b))
        a, b = (self.with_roundings(n, sums) for n in (a, b))
        high = self.add_(a.high, b.high)
        if a.interval.smallest_magnitude >= b.interval.largest_magnitude * SLACK:
            lost = self.sub_(b.high, self.sub_(high, a.high))
        elif b.interval.smallest_magnitude >= a.interval.largest_magnitude * SLACK:
            lost = self.sub_(a.high, self.sub_(high, b.high))
        else:
            sizes = (a, b) if a.interval.low >= 0 and b.interval.low >= 0 else (self.negate(a), self.negate(b))
            if sizes[0] is not a:
                return self.negate(self.add(*sizes))
            larger, smaller = self.larger_(a.high, b.high), self.smaller_(a.high, b.high)
            lost = self.sub_(smaller, self.sub_(high, larger))
        share, relative = max(a.share, b.share) + U, max(a.relative, b.relative)
        low = lost
        rest = [n.low for n in (a, b) if n.low is not None]
        for part in rest:
            low, relative = self.add_(low, part), relative + U * share
        around, covered = self._sum_of_arounds(a, b)
        return FloatFloat(
            high,
            low=low,
            share=share * SLACK,
            relative=relative * SLACK,
            around=around,
            covered=covered,
            interval=a.interval + b.interval,
            is_nonzero=a.is_nonzero or b.is_nonzero,
            lost=a.lost + b.lost,
            where=joined(a, b),
        )

    def _sum_of_both_signs(self, a: FloatFloat, b: FloatFloat) -> FloatFloat:
        """A sum that may cancel: its bound is relative to the operands."""
        high, low = self.two_sum(a.high, b.high)
        found = FloatFloat(
            high, low=low, share=U, interval=a.interval + b.interval, may_be_zero=high, where=joined(a, b)
        )
        if a.is_single and b.is_single:
            return found
        plus, sizes = self.number(0.0), []
        for n in (a, b):
            low = low if n.low is None else self.add_(low, n.low)
            # Two roundings here, and what products with a number that is wrong do to a low word that is large here.
            rate = n.relative + (self.roundings + 3) * U * (n.share + U) + LARGEST_ERROR * n.share
            sizes.append((self.abs_(n.high), self.bound(rate * SLACK)))
            if n.around is not None:
                around = self.with_roundings(n, 2).around or n.around
                plus = self.add_(plus, self.fma_(around.base, around.times, around.plus))
        is_large = self.less_equal_(self.number(NOT_TINY), self.abs_(high))
        return replace(
            found,
            low=low,
            share=0.0,
            relative=(a.lost + b.lost) / NOT_TINY,
            around=Around(*sizes[0], self.fma_(*sizes[1], plus)),
            covered=self.roundings,
            is_nonzero=True,
            may_be_zero=None,
            where=replace(found.where, holds=(*found.where.holds, is_large)),
        )

    def subtract(self, a: FloatFloat, b: FloatFloat) -> FloatFloat:
        return self.add(a, self.negate(b))

    def multiply(self, a: FloatFloat, b: FloatFloat) -> FloatFloat:
        for one, other in ((a, b), (b, a)):
            if one.is_one:
                return other
        for one, other in ((a, b), (b, a)):
            if one.is_power:
                return self._scaled(other, one)
        for one, other in ((a, b), (b, a)):
            if one.factor is not None:
                return self.multiply(self.as_words(one), other)
        if not (a.is_single or b.is_single):
            a, b = self.as_words(a), self.as_words(b)
        a, b = self._firm(a, b), self._firm(b, a)
        common = FloatFloat(
            a.high,
            b.high,
            relative=(a.relative + b.relative) * SLACK,
            interval=a.interval * b.interval,
            is_nonzero=a.is_nonzero and b.is_nonzero,
            may_be_zero=self._zero_of_product(a, b),
            lost=self._lost_of_product(a, b),
            is_quotient=a.is_single and b.is_single,
            where=joined(a, b),
        )
        for one, other in ((a, b), (b, a)):
            if other.is_single:
                return self._times_single(common, one, other)
        for one, other in ((a, b), (b, a)):
            if one.around is not None:
                covered = self.with_roundings(one, 3).covered
                common = replace(common, around=self._times(one.around, other), covered=covered)
        if a.low is None or b.low is None:
            low, share = self.mul_(a.high, low_of(b)) if a.low is None else self.mul_(a.low, b.high), a.share + b.share
            return replace(common, low=low, share=share, relative=common.relative + U * share)
        whole = self.add_(b.high, low_of(b))
        low = self.fma_(a.high, low_of(b), self.mul_(low_of(a), whole))
        share = (a.share + b.share + a.share * b.share) * SLACK
        return replace(common, low=low, share=share, relative=common.relative + 3 * U * share)

    def _zero_of_product(self, a: FloatFloat, b: FloatFloat) -> Expression | None:
        """A number that is zero where one of two factors is; the smaller of both where each may be."""
        if a.is_nonzero or b.is_nonzero:
            return b.may_be_zero if a.is_nonzero else a.may_be_zero
        if a.may_be_zero is None or b.may_be_zero is None:
            return None
        return self.smaller_(*(self.abs_(n) for n in (a.may_be_zero, b.may_be_zero)))

    def _scaled(self, a: FloatFloat, power: FloatFloat) -> FloatFloat:
        """The number times a power of two, which is exact but for underflow."""
        a, by = self.as_words(a), power.high
        low = None if a.low is None else self.mul_(a.low, by)
        around = a.around
        if around is not None:
            around = replace(around, base=self.mul_(around.base, by), plus=self.mul_(around.plus, by))
        lost = power.interval.largest_magnitude * a.lost + 2 * SMALLEST
        if lost > MOST_LOST:
            raise NoFloatFloat("underflow shows in a product")
        return replace(
            a,
            high=self.mul_(a.high, by),
            low=low,
            around=around,
            lost=lost,
            interval=a.interval * power.interval,
            may_be_zero=None if a.is_nonzero else a.may_be_zero,
            is_quotient=a.is_single,
            where=joined(a, power),
        )

    def _lost_of_product(self, a: FloatFloat, b: FloatFloat) -> float:
        of_both = [x.lost * y.interval.largest_magnitude for x, y in ((a, b), (b, a)) if x.lost]
        found = sum(of_both, 0.0 if a.scale is not None or b.scale is not None else 2 * SMALLEST) * SLACK
        if found > MOST_LOST:
            raise NoFloatFloat("underflow shows in a product")
        return found

    def _times_single(self, product: FloatFloat, a: FloatFloat, b: FloatFloat) -> FloatFloat:
        if a.low is None:
            found = replace(product, scale=a.scale, share=a.share)
        else:
            found = replace(
                product, low=self.mul_(a.low, b.high), share=a.share, relative=product.relative + U * a.share
            )
        if a.around is not None:
            found = replace(found, around=self._times(a.around, b), covered=self.with_roundings(a, 1).covered)
        return found

    def _times(self, around: Around, b: FloatFloat) -> Around:
        if b.around is not None:
            raise NoFloatFloat("a product of numbers with errors beside them")
        if depends_on_elements(b.high):
            sum_ = self.fma_(around.base, around.times, around.plus)
            times = self.abs_(b.high)
            return Around(
                sum_, times if b.share <= 2 * U else self.mul_(times, self.bound(1 + b.share)), self.number(0.0)
            )
        size = self.mul_(self.abs_(b.high), self.bound(1 + 8 * U))
        return replace(around, times=self.mul_(around.times, size), plus=self.mul_(around.plus, size))

    def divide(self, a: FloatFloat, b: FloatFloat, *, is_same_for_all: bool = False) -> FloatFloat:
        """``is_same_for_all``: whether b is a parameter."""
        if b.is_one:
            return a
        if is_same_for_all:
            return replace(self.multiply(a, self._inverse(b)), is_quotient=a.is_single)
        return self.multiply(a, self.reciprocal(b))

    def _inverse(self, b: FloatFloat) -> FloatFloat:
        """``1 / b`` of a parameter, by two divisions; where b is no moderate number, what is made of it is NaN."""
        if not b.is_single:
            raise NoFloatFloat("a quotient by a computed number that is the same for all elements")
        one = self.number(1.0)
        high = self.div_(one, b.high)
        if b.is_power:
            return replace(b, high=high)
        low = self.div_(self.fma_(self.neg_(high), b.high, one), b.high)
        lies = b.interval * Interval.point(SLACK)
        return replace(b, high=high, low=low, share=U, relative=2 * U * U, interval=lies)

    def reciprocal(self, b: FloatFloat) -> FloatFloat:
        """An estimate y and what it lacks: 1 - b y, and its square. Its own bits show nowhere."""
        b = self._without_around(b)
        if b.share > SHARE_OF_DIVISOR:
            b = self.normalised(b)
        least = 2.0**-12 if b.lost else LEAST_ROOT
        if b.interval.smallest_magnitude < least or b.interval.largest_magnitude > LARGEST:
            raise NoFloatFloat("a quotient by a number that may be small or large")
        estimate = self.make(ops.RECIPROCAL_ESTIMATE, b.high)
        rest = self.fma_(self.neg_(b.high), estimate, self.number(1.0))
        lacking, relative = ESTIMATE, b.relative + half_unit(ESTIMATE)
        if b.low is not None:
            rest = self.fma_(self.neg_(b.low), estimate, rest)
            lacking += b.share * SLACK
            relative += half_unit(lacking)
        scale = self.fma_(rest, rest, rest)
        share = lacking + lacking**2
        relative += half_unit(share) + lacking**3 * SLACK
        interval = Interval.point(1.0) / b.interval
        return FloatFloat(
            estimate,
            scale=scale,
            share=share,
            relative=relative * SLACK,
            interval=interval,
            is_nonzero=True,
            lost=b.lost * 2.0**14,
            where=b.where,
        )

    def square_root(self, a: FloatFloat) -> FloatFloat:
        """The rounded root, and what it lacks: half of the rest that its square leaves, divided by it, by an estimate."""
        a = self.normalised(a)
        if a.lost or (a.low is not None and a.interval.low < 0):
            raise NoFloatFloat("a root of a number that may be tiny")
        high = self.make(ops.SQUARE_ROOT, a.high)
        rest = self.fma_(self.neg_(high), high, a.high)
        if a.low is not None:
            rest = self.add_(rest, a.low)
        half = self.mul_(self.make(ops.RECIPROCAL_ESTIMATE, high), self.number(0.5))
        share = (U + a.share / 2) * SLACK
        holds = self.less_equal_(self.number(LEAST_RADICAND), a.high), self.less_(a.high, self.number(LARGEST))
        return FloatFloat(
            high,
            low=self.mul_(rest, half),
            share=share,
            relative=(a.relative / 2 + share * (ESTIMATE + 3 * U + share)) * SLACK,
            interval=Interval(LEAST_ROOT, 2.0**61),
            is_nonzero=True,
            where=replace(a.where, holds=(*a.where.holds, *holds)),
        )

    def select(self, condition: Expression, a: FloatFloat, b: FloatFloat) -> FloatFloat:
        """A choice; both are computed, and both must hold."""
        a, b = self.as_words(a), self.as_words(b)
        around, covered = None, 0
        if a.around is not None or b.around is not None:
            zero = self.number(0.0)
            bounds = [zero if x is None else self.fma_(x.base, x.times, x.plus) for x in (a.around, b.around)]
            around = Around(self.number(1.0), self.select_(condition, *bounds), zero)
            covered = min(n.covered for n in (a, b) if n.around is not None)
        low = None
        if a.low is not None or b.low is not None:
            low = self.select_(condition, *(self.number(0.0) if n.low is None else n.low for n in (a, b)))
        return FloatFloat(
            self.select_(condition, a.high, b.high),
            low=low,
            share=max(a.share, b.share),
            relative=max(a.relative, b.relative),
            around=around,
            covered=covered,
            interval=a.interval | b.interval,
            is_nonzero=a.is_nonzero and b.is_nonzero,
            lost=max(a.lost, b.lost),
            where=joined(a, b),
        )

    # ---- results

    def result(self, a: FloatFloat) -> tuple[Expression, Expression | None]:
        """The number rounded to float32, and where that is undecided; None: nowhere."""
        doubts, undecided = list(a.where.doubts), None
        if a.is_exact:
            value = self.leading(a)
        else:
            below, value = self._ends(a)
            may_overflow = a.interval.largest_magnitude > LARGEST
            if a.where.doubts and not may_overflow:  # they are not zero where an operand is NaN
                bits = (node(ops.BITCAST, (end,), None, Format.U32) for end in (value, below))
                doubts.append(node(ops.EXCLUSIVE_OR, tuple(bits), None, Format.U32))
            else:
                undecided = self.not_(self.equal_(value, below))
            if a.is_half:
                value = self.add_(value, value)
            if a.turn is None and not a.is_nonzero and a.other_end is None:
                value = self.make(ops.COPY_SIGN, value, a.sign or self.leading(a))
        if a.turn is not None:
            is_magnitude = a.interval.low >= 0
            value = self.make(ops.COPY_SIGN, value, a.turn) if is_magnitude else self.signed(value, a.turn)
        if doubts:
            any_bit = reduce(lambda x, y: node(ops.OR, (x, y), None, Format.U32), doubts)
            undecided = either(undecided, self.not_(node(ops.EQUAL, (any_bit, unsigned(0)), None, Format.BIT)))
        return value, either(undecided, *map(self.not_, a.where.holds))

    def _ends(self, a: FloatFloat) -> tuple[Expression, Expression]:
        """The smallest and the largest number that the exact one may be, each rounded once."""
        if a.other_end is not None:
            if a.factor is None:
                return self.add_(a.high, a.other_end), self.add_(a.high, low_of(a))
            return self.fma_(a.high, a.factor, a.other_end), self.fma_(a.high, a.factor, low_of(a))
        relative = (a.relative + 3 * U * a.share) * SLACK
        beside = a.around.times if a.around is not None else None
        if beside is not None and beside.operation is ops.CONSTANT:
            beside = beside.attribute
        if (relative + (beside if isinstance(beside, float) else 0.0)) / U / math.log(2) > self.largest_share:
            raise NoFloatFloat("too many results would be undecided")
        if a.bias:
            low = low_of(a)
            lower = self.fma_(a.high, self.bound(-(a.bias + relative) * SLACK), low)
            return self.add_(a.high, lower), self.add_(a.high, low)
        reach, lost = self.bound(relative), self._lost(a)
        if a.scale is not None:
            scales = self.sub_(a.scale, reach), self.add_(a.scale, reach)
            if a.factor is None and a.interval.smallest_magnitude > 1 / LARGEST:
                below, above = (self.fma_(a.high, scale, a.high) for scale in scales)
                return below, above
            leading = self.leading(a)
            lows = [self.fma_(leading, scale, x) for scale, x in zip(scales, (self.neg_(lost), lost), strict=True)]
        else:
            around = lost
            if a.around is not None:
                self.with_roundings(a, 1)
                around = self.fma_(a.around.base, a.around.times, self._sum_of_bounds(a.around.plus, lost))
            if relative:
                leading = self.leading(a)
                if a.interval.high <= 0:
                    reach = self.neg_(reach)
                elif a.interval.low < 0:
                    leading = self.abs_(leading)
                around = self.fma_(leading, reach, around)
            low = low_of(a)
            if a.factor is not None and not a.is_nonzero:
                low = self.add_(low, self.number(0.0))  # 0 for -0: beside it both ends are the same zero
            lows = [self.sub_(low, around), self.add_(low, around)]
        if a.factor is None:
            below, above = (self.add_(a.high, low) for low in lows)
        else:
            below, above = (self.fma_(a.high, a.factor, low) for low in lows)
        return below, above

    def _sum_of_bounds(self, a: Expression, b: Expression) -> Expression:
        if a is self.number(0.0):
            return b
        if a.operation is ops.MULTIPLY:
            x, y = a.operands
            return self.fma_(x, y, b)
        return self.add_(a, b)

    def _lost(self, a: FloatFloat) -> Expression:
        """The most that underflow has taken from the low word; zero beside a zero."""
        lost = self.number(LOST)
        if a.is_nonzero:
            return lost
        if a.may_be_zero is None or a.lost * 2 > MULTIPLE * SMALLEST:
            raise NoFloatFloat("underflow shows beside a result that may be zero")
        size, most = self.bits_(self.abs_(a.may_be_zero)), round(LOST / SMALLEST)
        # A product with a scale alone is rounded once: by half of the smallest number, which no number is smaller than.
        power = 0 if a.scale is not None and not a.lost else MULTIPLE.bit_length() - 1
        size = _smaller(size, self.whole(most >> power))
        return self.from_bits_(self.shift_left_(size, power) if power else size)  # subnormal numbers are their bits

    def lost_beside(self, a: Expression) -> Expression:
        """The smaller of LOST and a number, as unsigned integers: zero beside 0, and LOST beside negative numbers."""
        bits, most = (node(ops.BITCAST, (n,), None, Format.U32) for n in (a, self.number(LOST)))
        return self.from_bits_(_smaller(bits, most))

    def leading(self, a: FloatFloat) -> Expression:
        """The leading part, rounded."""
        return a.high if a.factor is None else self.mul_(a.high, a.factor)


def low_of(a: FloatFloat) -> Expression:
    if a.low is None:  # a choice among products and operands is neither exact nor of two words
        raise NoFloatFloat("a rule needs the second word of a number that has one")
    return a.low


def _smaller(a: Expression, b: Expression) -> Expression:
    """The smaller of two integers."""
    return node(ops.SELECT, (node(ops.LESS, (a, b), None, Format.BIT), a, b), None, a.format)


def unsigned(value: int) -> Expression:
    return node(ops.CONSTANT, (), value, Format.U32)


#: The last place of a number from 2 on.
UNIT = 2.0**-22


def bits_beyond(shifted: Expression, count: int) -> Expression:
    """The bits that no number from 2 to so many units more has: 0 of such a number alone. The count is a power of two."""
    zeros = unsigned(0xBFFFFFFF - (count - 1))
    return node(ops.AND, (node(ops.BITCAST, (shifted,), None, Format.U32), zeros), None, Format.U32)
