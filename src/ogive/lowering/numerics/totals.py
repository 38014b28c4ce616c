"""The parts of a bound, added up beside the number."""

from __future__ import annotations

import math

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.truths import both


class Totals(Arithmetic):
    """`Arithmetic` that adds up what numbers may be wrong by."""

    #: Whether bounds say where products, quotients and functions are exactly zero, and on which side of zero they are
    #: where they have underflowed. Sums of rows need to know.
    follows_zeros = False
    #: Whether bounds say where a sum, product or quotient of exact numbers leaves no rest, in one word: results of few operations are
    #: ties often.
    follows_rests = False
    #: Whether bounds say which numbers are far (beyond_range.py).
    follows_far = False
    #: Whether what is infinite is so by its formula, or in doubt: in the repair of float64.
    knows_infinities = False

    @property
    def always(self) -> Expression:
        """The doubt that is always there."""
        return node(ops.CONSTANT, (), True, Format.BIT)

    def of_one_word(self, *operands: DoubleWord) -> Expression | None:
        """The condition that a sum or product is exact, of exact numbers of one word each. None for nowhere.

        So results that are ties are known to be.
        """
        everywhere = self.are_exact(*operands)
        for operand in operands:
            if everywhere is not None and operand.low is not None:
                everywhere = both(everywhere, self.equal_(operand.low, self.number(0.0)))
        return everywhere

    def are_exact(self, *operands: DoubleWord) -> Expression | None:
        """The condition that all these numbers are exact; None for never."""
        everywhere = self.always
        for operand in operands:
            exactly = self.always if operand.error.is_exact else operand.error.exactly
            if exactly is None or not (self.extended or self.follows_rests):
                return None
            everywhere = both(everywhere, exactly)
        return everywhere

    def total(self, a: DoubleWord) -> Expression | None:
        """The whole bound of a number beside which there is no exponent, as one number; None for 0."""
        total = a.error.absolute
        if a.error.relative:
            total = self._plus(total, self._magnitude(a), a.error.relative)
        if a.error.static:
            total = self._sum_of(total, self.number(a.error.static))
        return total

    def _magnitude(self, a: DoubleWord) -> Expression:
        return self.abs_(a.high)

    def _sum_of(self, a: Expression | None, b: Expression | None) -> Expression | None:
        return b if a is None else a if b is None else self.add_(a, b)

    def _plus(
        self, total: Expression | None, size: Expression, share: Expression | float, factor: float = 1.0
    ) -> Expression | None:
        """``total + size share``, with a factor that is nearly one."""
        if isinstance(share, float):
            if not share:
                return total
            share = self.number(share)
        elif factor > 1 + 2.0**-30:
            share = self.mul_(share, self.number(factor))
        return self.mul_(size, share) if total is None else self.fma_(size, share, total)

    def is_zero(self, a: DoubleWord) -> Expression | None:
        """The condition that a number is exactly zero, as a relative error leaves it; None for never."""
        exactly = self.always if a.error.is_relative else a.error.exactly
        if exactly is None or a.interval.smallest_magnitude > 0:
            return None
        for part in (a.high, a.low):
            exactly = exactly if part is None else both(exactly, self.equal_(part, self.number(0.0)))
        return exactly

    def is_infinity(self, a: DoubleWord) -> Expression | None:
        """The condition that a number is infinite by its formula, where it is in no doubt; None for never, or not known."""
        if not self.knows_infinities or self.is_bounded(a.stored):
            return None
        return self.equal_(self.abs_(a.high), self.number(math.inf))
