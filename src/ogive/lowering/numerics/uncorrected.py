"""float32 without corrections: what the fast contract computes numbers in, where it has no test."""

from __future__ import annotations

from collections.abc import Sequence

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, depends_on_elements
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.machine import is_power_of_two


class Uncorrected(Arithmetic):
    """float32 in one word. Some sums and quotients are written so that they lose less."""

    def __init__(self) -> None:
        super().__init__(Format.F32)
        self.extended = False
        self.divisors: dict[Expression, None] = {}
        """Divisors that are the same for all elements, and no constant."""
        self.shared: set[Expression] = set()
        """Sums that formulas have more than once."""
        self.quotients: dict[Expression, tuple[Expression, ...]] = {}
        """Quotients that formulas have, not rules, and the terms of their divisors."""

    def _sum(self, a: Expression, b: Expression) -> Expression:
        """A sum; one with a product that is rounded is a single instruction. Constants are added last, to what is rounded less so."""
        for total, other in ((a, b), (b, a)):
            terms = None if total in self.shared or not depends_on_elements(other) else self._terms(total)
            if terms is not None and terms[0].operation is ops.CONSTANT:
                return self.add_(terms[0], self._sum(terms[1], other))
        (a, a_is_exact), (b, _) = map(self._scaled, (a, b))
        return super()._sum(b, a) if a_is_exact else super()._sum(a, b)

    def _scaled(self, a: Expression) -> tuple[Expression, bool]:
        """A number, as a product of two if it is one of three with a power of two; and whether it is a product that is exact."""
        for factor, inner in (a.operands, a.operands[::-1]) if a.operation is ops.MULTIPLY else ():
            if is_power_of_two(factor):
                if inner.operation is ops.MULTIPLY:
                    return self.mul_(self.mul_(inner.operands[0], factor), inner.operands[1]), False
                return a, True
        return a, False

    def _terms(self, total: Expression) -> tuple[Expression, Expression] | None:
        """A sum as its two terms, a constant first; so of a choice between sums."""
        if total.operation is ops.ADD:
            a, b = total.operands
            return (b, a) if b.operation is ops.CONSTANT else (a, b)
        if total.operation is ops.FMA:
            x, y, z = total.operands
            return z, self.mul_(x, y)
        if total.operation is ops.SELECT:
            condition, a, b = total.operands
            first, second = self._terms(a), self._terms(b)
            if first is not None and second is not None:
                c, d = (self.select_(condition, *pair) for pair in zip(first, second, strict=True))
                return c, d
        return None

    def _times(self, a: Expression, b: Expression) -> Expression:
        """A product; one with a quotient divides last, and one with a formula's quotient is corrected."""
        one = self.number(1.0)
        for factor, quotient in ((a, b), (b, a)):
            if quotient.operation is ops.DIVIDE and depends_on_elements(quotient.operands[1]):
                dividend, divisor = quotient.operands
                if depends_on_elements(factor) and quotient in self.quotients:
                    return self._product_with_quotient(factor, dividend, divisor, self.quotients[quotient])
                if dividend is not one:
                    return self.div_(self.mul_(factor, dividend), divisor)
                found = self.div_(factor, divisor)
                self.quotients[found] = (divisor,)
                return found
        for factor, total in ((a, b), (b, a)):
            if total.operation is ops.ADD and (terms := self._terms(total)) and is_power_of_two(terms[0]):
                return self.fma_(factor, terms[1], self.mul_(factor, terms[0]))
        return self.mul_(a, b)

    def _product_with_quotient(
        self, x: Expression, dividend: Expression, divisor: Expression, terms: Sequence[Expression]
    ) -> Expression:
        """``x * dividend / divisor``: what product, sum and quotient lose is made up for."""
        reciprocal = self.div_(self.number(1.0), divisor)
        product = self.mul_(x, dividend)
        quotient = self.mul_(product, reciprocal)
        rest, minus = product, self.neg_(quotient)
        for part in terms:
            rest = self.sub_(rest, quotient) if part is self.number(1.0) else self.fma_(minus, part, rest)
        rest = self.add_(rest, self.fma_(x, dividend, self.neg_(product)))
        # The sum loses the sign of a zero.
        return self.make(ops.COPY_SIGN, self.fma_(rest, reciprocal, quotient), quotient)

    def divide(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        if b.high.operation is not ops.CONSTANT and not depends_on_elements(b.high):
            self.divisors[b.high] = None
        found = super().divide(a, b)
        if depends_on_elements(b.high):
            self.quotients[found.high] = self._terms(b.high) or (b.high,)
        return found


class Unfused(Uncorrected):
    """The same for processors without fused multiply-add. Nothing is corrected: at infinities that would be NaN."""

    #: Splits a number of 24 bits into two of 12.
    SPLITTER = 4097.0

    def fma_(self, a: Expression, b: Expression, c: Expression) -> Expression:
        return self.add_(self.mul_(a, b), c)

    def exact_sum_(self, a: Expression, b: Expression, c: Expression) -> Expression:
        product = self.mul_(a, b)
        return self.add_(self.add_(product, c), self.lost_of_product_(a, b, product))

    def lost_of_product_(self, a: Expression, b: Expression, product: Expression) -> Expression:
        """By Dekker, of numbers far from infinite."""
        (a_high, a_low), (b_high, b_low) = self._halves(a), self._halves(b)
        rest = self.sub_(self.mul_(a_high, b_high), product)
        for x, y in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
            rest = self.add_(rest, self.mul_(x, y))
        return rest

    def _halves(self, a: Expression) -> tuple[Expression, Expression]:
        scaled = self.mul_(a, self.number(self.SPLITTER))
        high = self.sub_(scaled, self.sub_(scaled, a))
        return high, self.sub_(a, high)

    def _product_with_quotient(
        self, x: Expression, dividend: Expression, divisor: Expression, terms: Sequence[Expression]
    ) -> Expression:
        return self.div_(self.mul_(x, dividend), divisor)

    def divide(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        if b.high.operation is ops.CONSTANT:
            return super().divide(a, b)
        return DoubleWord(self.div_(a.high, b.high), interval=a.interval / b.interval)
