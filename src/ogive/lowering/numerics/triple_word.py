"""Numbers as sums of three float64, with a bound of their error beside them.

Two words cancel to nothing in ``y - x * row_sum(x * y) / row_sum(x * x)`` where y is x but for its rounding; of three, one is left.
Sums and products are exact but for parts of the third word, which the bound counts. Roots and quotients are bounded by what
they leave over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.truths import both

#: The share of the terms' magnitudes that a sum of up to seven numbers may lose, and that one rounding may.
LOST, ROUNDED = 2.0**-50, 2.0**-52

#: More than products and quotients lose of what underflows.
UNDERFLOW = 2.0**-1060

#: The share of a divisor that is taken for its smallest magnitude: the bounds of others are infinite.
SHARE_OF_DIVISOR = 0.75

#: More than the operations on bounds round off.
SLACK = 1 + 2.0**-20


class TripleWord(NamedTuple):
    """The sum of one to three float64, each far smaller than the one before, and a bound of its error; None for an exact number."""

    words: tuple[Expression, ...]
    error: Expression | None = None


class TripleArithmetic(Machine):
    """The arithmetic of such numbers."""

    def __init__(self) -> None:
        super().__init__(Format.F64)

    def constant(self, value: Fraction | float) -> TripleWord:
        """A constant, as three words where one does not hold it."""
        if not isinstance(value, Fraction):
            return TripleWord((self.number(value),))
        rest, words = value, list[float]()
        while rest and len(words) < 3:
            words.append(float(rest))
            rest -= Fraction(words[-1])
        error = self.number(math.nextafter(float(abs(rest)), math.inf)) if rest else None
        return TripleWord(tuple(map(self.number, words or [0.0])), error)

    # ---- operations

    def negate(self, a: TripleWord) -> TripleWord:
        return TripleWord(tuple(map(self.neg_, a.words)), a.error)

    def absolute(self, a: TripleWord) -> TripleWord:
        """The magnitude: the first word has the sign of the sum."""
        if len(a.words) == 1:
            return TripleWord((self.abs_(a.words[0]),), a.error)
        is_negative = self.less_(a.words[0], self.number(0.0))
        return self.select(is_negative, self.negate(a), a)

    def select(self, condition: Expression, a: TripleWord, b: TripleWord) -> TripleWord:
        """One number or the other."""
        count, zero = max(len(a.words), len(b.words)), self.number(0.0)
        first, second = ([*n.words, *[zero] * (count - len(n.words))] for n in (a, b))
        words = tuple(self.select_(condition, x, y) for x, y in zip(first, second, strict=True))
        if a.error is None and b.error is None:
            return TripleWord(words)
        errors = [zero if n.error is None else n.error for n in (a, b)]
        return TripleWord(words, self.select_(condition, *errors))

    def add(self, a: TripleWord, b: TripleWord) -> TripleWord:
        """The sum: of the first two words exactly, of the third ones rounded."""
        high, rest = self.two_sum(a.words[0], b.words[0])
        middle, left = self._exactly([rest, *a.words[1:2], *b.words[1:2]])
        low, lost = self._rounded([*left, *a.words[2:], *b.words[2:]])
        return self._normal(high, middle, low, self.sum_of(a.error, b.error, lost))

    def subtract(self, a: TripleWord, b: TripleWord) -> TripleWord:
        return self.add(a, self.negate(b))

    def multiply(self, a: TripleWord, b: TripleWord) -> TripleWord:
        """The product: its first two words exactly."""
        products = {(i, j): self.mul_(x, y) for i, x in enumerate(a.words) for j, y in enumerate(b.words)}
        parts = list[list[Expression]]([[], [], [], [], []])
        for (i, j), product in products.items():
            parts[i + j].append(product)
            if i + j < 2:
                parts[i + j + 1].append(self.lost_of_product_(a.words[i], b.words[j], product))
        middle, left = self._exactly(parts[1])
        low, lost = self._rounded([*left, *parts[2]])
        dropped = [self.abs_(p) for p in (*parts[3], *parts[4])]
        rounded = [self.mul_(self.abs_(p), self.number(ROUNDED)) for (i, j), p in products.items() if i + j == 2]
        by_errors = [self.mul_(self.size(x), y.error) for x, y in ((a, b), (b, a)) if y.error is not None]
        both_errors = [] if a.error is None or b.error is None else [self.mul_(a.error, b.error)]
        error = self.sum_of(lost, *dropped, *rounded, *by_errors, *both_errors, self.number(UNDERFLOW))
        return self._normal(parts[0][0], middle, low, error)

    def divide(self, a: TripleWord, b: TripleWord) -> TripleWord:
        """The quotient by long division; what that leaves over says how far it is off."""
        words, rest = list[Expression](), a
        for _ in range(3):
            words.append(self.div_(rest.words[0], b.words[0]))
            rest = self.subtract(rest, self.multiply(TripleWord((words[-1],)), b))
        divisor = self.abs_(b.words[0]) if b.error is None else self.sub_(self.abs_(b.words[0]), b.error)
        return self._by_rest(words, rest, self.mul_(divisor, self.number(SHARE_OF_DIVISOR)))

    def square_root(self, a: TripleWord) -> TripleWord:
        """The square root by Newton's steps; what its square leaves over says how far it is off."""
        root = self.sqrt_(a.words[0])
        words, twice = [root], self.add_(root, root)
        rest = self._less_square(a, words)
        for _ in range(2):
            words.append(self.div_(rest.words[0], twice))
            rest = self._less_square(a, words)
        return self._by_rest(words, rest, self.mul_(root, self.number(SHARE_OF_DIVISOR)))

    def _less_square(self, a: TripleWord, words: Sequence[Expression]) -> TripleWord:
        root = TripleWord(tuple(words))
        return self.subtract(a, self.multiply(root, root))

    def _by_rest(self, words: Sequence[Expression], rest: TripleWord, divisor: Expression) -> TripleWord:
        """A number whose error is what is left over, divided by no more than this divisor."""
        size = self.size(rest) if rest.error is None else self.add_(self.size(rest), rest.error)
        is_positive = self.less_(self.number(0.0), divisor)
        error = self.select_(is_positive, self.div_(size, divisor), self.number(math.inf))
        middle, low = self.two_sum(words[1], words[2])
        return self._normal(words[0], middle, low, self.add_(error, self.number(UNDERFLOW)))

    # ---- results

    def size(self, a: TripleWord) -> Expression:
        """No less than the magnitude of the words' sum, but for a rounding."""
        return reduce(self.add_, map(self.abs_, a.words))

    def total(self, numbers: Sequence[TripleWord]) -> TripleWord:
        """The sum of numbers, the larger ones first."""
        return reduce(self.add, numbers)

    def to_nearest(self, a: TripleWord) -> tuple[Expression, Expression]:
        """The number rounded to float64, and whether that is decided: both ends of the interval round alike, and not to zero, whose sign
        is not known.
        """
        high, zero = a.words[0], self.number(0.0)
        low = reduce(self.add_, a.words[1:]) if a.words[1:] else zero
        error = self.mul_(self.abs_(low), self.number(2 * ROUNDED))
        if a.error is not None:
            error = self.fma_(a.error, self.number(SLACK), error)
        least, most = (self.add_(high, self.add_(low, end)) for end in (self.neg_(error), error))
        is_number = both(self.less_(zero, self.abs_(least)), self.is_finite_(least))
        return least, both(self.equal_(least, most), is_number)

    # ---- parts

    def sum_of(self, *terms: Expression | None) -> Expression | None:
        """The sum of bounds, of which None is nothing."""
        known = [term for term in terms if term is not None]
        return reduce(self.add_, known) if known else None

    def _exactly(self, terms: Sequence[Expression]) -> tuple[Expression, list[Expression]]:
        """The rounded sum of terms, and all that the roundings lost."""
        total, left = terms[0], list[Expression]()
        for term in terms[1:]:
            total, lost = self.two_sum(total, term)
            left.append(lost)
        return total, left

    def _rounded(self, terms: Sequence[Expression]) -> tuple[Expression, Expression | None]:
        """The rounded sum of terms, and a bound of what is lost; None where that is nothing."""
        if len(terms) < 2:
            return (terms[0] if terms else self.number(0.0)), None
        sizes = reduce(self.add_, map(self.abs_, terms))
        return reduce(self.add_, terms), self.mul_(sizes, self.number(LOST))

    def _normal(self, high: Expression, middle: Expression, low: Expression, error: Expression | None) -> TripleWord:
        """Words of which each holds as much of the sum as it can."""
        middle, low = self.two_sum(middle, low)
        high, middle = self.two_sum(high, middle)
        middle, low = self.two_sum(middle, low)
        return TripleWord((*self.two_sum(high, middle), low), error)
