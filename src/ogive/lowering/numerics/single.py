"""Arithmetic of float32 with bounds, for results of 16 bits: twice as many numbers in a register as of float64.

A bound is the same as in float64, in units of float32. Float32 has no room below and above the numbers of bfloat16, so
underflow and overflow are left to the doubts, which are repaired. Nodes without a rule here are computed in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, depends_on_elements, node
from ogive.lowering.numerics.bound import Bound
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.float_float import FARTHEST
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.precisions import SINGLE_FOR_BFLOAT16, SINGLE_FOR_FLOAT16
from ogive.lowering.numerics.truths import both, either, except_where


class NoSingle(Exception):
    """Float32 has no rule for this, or its bound is too large."""


#: Usual parameters are smaller.
USUAL_PARAMETER = 4.0

#: So far below what overflows are products with what all elements share.
MARGIN = 16.0

#: A product and a term as large as this have no sum, but zero, that underflows: if they nearly cancel, both are multiples of
#: 2**-48 of the term.
LEAST_TERM = 2.0**-78


@dataclass(frozen=True)
class Factors:
    """``x (w + rest)``, where w is the same for all elements."""

    x: Expression
    w: Expression
    rest: Expression | None = None


class SingleBounded(Bounded):
    """`Bounded` of float32, with the results of float16 or bfloat16 as its goal."""

    computes_in = Format.F32

    def __init__(self, goal: Format, *, are_moderate: bool = False, follows_rests: bool = False) -> None:
        """``are_moderate``: whether parameters are neither tiny nor vast, and factors positive. Where one is not, all is undecided."""
        precision = SINGLE_FOR_FLOAT16 if goal is Format.F16 else SINGLE_FOR_BFLOAT16
        super().__init__(replace(precision, follows_rests=follows_rests))
        self.are_moderate = are_moderate
        self.immoderate: Expression | None = None
        """The condition that a parameter is not moderate."""
        self.doubts_usual_parameters = False
        """Whether results might overflow by parameters of usual size, which are in doubt then for all elements."""
        self.factors: dict[Expression, Factors] = {}
        """The rounded products of exact numbers, and their quotients by what is the same for all elements."""

    @property
    def is_wide(self) -> bool:
        """Whether the goal's numbers reach as far as those of float32."""
        return self.goal is Format.BF16

    def number(self, value: float | Fraction) -> Expression:
        """A constant; a bound that is tiny or no number of float32 is rounded upwards."""
        if isinstance(value, float) and 0 < value < self.working.least_bound:
            value = self.working.least_bound
        if isinstance(value, float) and not self.holds(value):
            with np.errstate(all="ignore"):  # the caller's modes are for the caller's numbers
                nearest = np.float32(value) if value < self.largest else np.float32(math.inf)
                above = np.nextafter(nearest, np.float32(math.inf))
            value = float(nearest if float(nearest) >= value else above)
        return super().number(value)

    def wide(self, value: Fraction | float) -> DoubleWord:
        size = abs(float(value))
        if 0 < size < math.inf and not self.smallest_normal <= size < self.safe:
            raise NoSingle(f"{float(value)} is no normal number of float32")
        result = super().wide(value)
        if 0 < size < self.working.least_bound:  # a number, which `number` takes for a bound
            return replace(result, high=node(ops.CONSTANT, (), self.rounded(Fraction(value)), self.format))
        return result

    def moderate(self, a: DoubleWord, *, is_positive: bool = True) -> DoubleWord:
        """A parameter as a number, or a positive number, that is neither tiny nor vast."""
        size = a.high if is_positive else self.abs_(a.high)
        ends = (self.number(1 / FARTHEST), size), (size, self.number(FARTHEST))
        self.immoderate = either(self.immoderate, *(self.not_(self.less_(*pair)) for pair in ends))
        error = replace(a.error, least=1 / FARTHEST, largest=FARTHEST)
        return replace(a, interval=Interval(1 / FARTHEST if is_positive else -FARTHEST, FARTHEST), error=error)

    def widened(self, margin: Expression) -> Expression:
        return self.fma_(margin, self.number(1 + 2.0**-16), self.number(2 * self.lost))

    def _plus(
        self, total: Expression | None, size: Expression, share: Expression | float, factor: float = 1.0
    ) -> Expression | None:
        """The same, and what underflow may have lost of the bound."""
        if isinstance(share, float) and not share:
            return total
        return super()._plus(self.number(self.lost) if total is None else total, size, share, factor)

    def add(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        """A sum; one of an exact number and the product of two is rounded once, so it has no part of the product's bound."""
        for product, other in ((a, b), (b, a)):
            found = self.factors.get(product.high)
            if found is not None and found.rest is None and other.error.is_exact:
                other = self._moderate_beside(other, product, 1.0)
                largest = product.error.largest + other.error.largest
                doubt = either(product.error.doubt, other.error.doubt)
                high = self.fma_(found.x, found.w, other.high)
                lost = 0.0 if other.error.least >= LEAST_TERM else self.lost
                exactly = self._exactly_added(product, other) if self.follows_rests else None
                error = Bound(self.unit, lost, None, doubt, None, 0.0, largest, keeps_sign=self.always, exactly=exactly)
                return self._made(DoubleWord(high, interval=a.interval + b.interval), error)
        return super().add(a, b)

    def multiply(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        a, b = (self._moderate_beside(x, y, max(y.error.largest, 1.0)) for x, y in ((a, b), (b, a)))
        a, b = map(self._as_large_as_it_lies, (a, b))
        result = super().multiply(a, b)
        if not self.follows_rests:
            result = replace(result, error=replace(result.error, exactly=either(*map(self.are_exact, (a, b)))))
        if a.error.is_exact and b.error.is_exact and not result.error.is_exact:
            if not depends_on_elements(b.high):
                self.factors[result.high] = Factors(a.high, b.high)
            elif not depends_on_elements(a.high):
                self.factors[result.high] = Factors(b.high, a.high)
        return result

    def _as_large_as_it_lies(self, a: DoubleWord) -> DoubleWord:
        largest = min(a.error.largest, a.interval.largest_magnitude)
        return replace(a, error=replace(a.error, largest=largest))

    def _moderate_beside(self, a: DoubleWord, b: DoubleWord, times: float) -> DoubleWord:
        """A number that all elements share, in doubt where results might overflow by it: no result is looked at for that."""
        if depends_on_elements(a.high) or not depends_on_elements(b.high) or not b.error.largest < self.safe:
            return a
        most = self.safe / MARGIN / times
        if a.error.largest <= most:
            return a
        self.doubts_usual_parameters |= most < USUAL_PARAMETER
        is_large = self.less_(self.number(most), self.abs_(a.high))
        return replace(a, error=replace(a.error, largest=most, doubt=either(a.error.doubt, is_large)))

    def divide(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        result = super().divide(a, b)
        if a.error.is_exact and b.error.is_exact and not depends_on_elements(b.high):
            reciprocal = self.div_(self.number(1.0), b.high)
            rest = self.div_(self.fma_(self.neg_(reciprocal), b.high, self.number(1.0)), b.high)
            self.factors[result.high] = Factors(a.high, reciprocal, rest)
        return self._with_what_is_lost(result)

    def of_one_word(self, *operands: DoubleWord) -> Expression | None:
        """The condition that a sum is zero, as the exact one is: that of zeros. Sparse data have many."""
        return self.are_exact(*operands)  # which have one word

    def are_exact(self, *operands: DoubleWord) -> Expression | None:
        """The condition that all are zero, as the exact numbers are. That bounds include what underflow loses would hide it."""
        if self.follows_rests:
            return super().are_exact(*operands)
        everywhere = self.always
        for operand in operands:
            is_zero = operand.error.exactly
            if operand.error.is_relative:
                is_zero = self.equal_(operand.high, self.number(0.0))
            if is_zero is None:
                return None
            everywhere = both(everywhere, is_zero)
        return everywhere

    def _closeness(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        doubt = either(a.error.doubt, b.error.doubt)
        close = super()._closeness(a, b)
        return either(doubt, close if self.follows_rests else except_where(close, self.are_exact(a, b)))

    def negate(self, a: DoubleWord) -> DoubleWord:
        result = super().negate(a)
        if (found := self.factors.get(a.high)) is not None:
            self.factors[result.high] = replace(found, x=self.neg_(found.x))
        return result

    def absolute(self, a: DoubleWord) -> DoubleWord:
        result = super().absolute(a)
        if (found := self.factors.get(a.high)) is not None:
            rest = found.rest
            if rest is not None:
                rest = self.mul_(rest, self.make(ops.COPY_SIGN, self.number(1.0), found.w))
            self.factors[result.high] = Factors(self.abs_(found.x), self.abs_(found.w), rest)
        return result

    def square_root(self, a: DoubleWord) -> DoubleWord:
        return self._with_what_is_lost(super().square_root(a))

    def _with_what_is_lost(self, result: DoubleWord) -> DoubleWord:
        """The number, whose running bound was divided."""
        absolute = result.error.absolute
        if absolute is None:
            return result
        return replace(result, error=replace(result.error, absolute=self.add_(absolute, self.number(self.lost))))
