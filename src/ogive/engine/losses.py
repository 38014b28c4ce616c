"""Losses of labelled rows: cross entropy of logits, negative log likelihood, and their sums and means, rounded once.

The loss of a row is ``weight * ((a - b) + rest)``. Its first part is exact: of logits the largest one and that of the label.
The rest is ``log1p`` of the sum of the other exponentials, never negative: two words with a bound, from a kernel over rows. Sums
are sums of the exact parts and of the rests, with the sum of their bounds. A result that rounds differently within the bound is
looked at in fractions: there a rest too small for float64 decides a tie by its sign. Enclosures have the last word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from ogive.common.conversion import converted, to_odd
from ogive.common.dtypes import ElementType, element_type
from ogive.engine.computation import make_ufunc
from ogive.engine.rows import RowWords
from ogive.engine.running import rounded_to, two_product, two_sum
from ogive.graph.expression import Term

#: So many logits are looked at at a time: their float64 numbers stay in the caches.
BLOCK = 1 << 16

#: Smaller products, and those of larger factors, may have lost what rounding leaves.
SMALLEST_PRODUCT, LARGEST_FACTOR = 2.0**-900, 2.0**990

#: The error of a sum of parts in two words, as a share of their magnitudes.
SUM_OF_PARTS = 2.0**-98

#: Next to any sum of products of two float64 numbers this is nothing.
TINY = Fraction(1, 2**6000)


@dataclass(frozen=True, eq=False)
class Losses:
    """A loss for each row: ``weight * ((a - b) + rest)``."""

    kind: ElementType
    """The type of the result."""
    weights: np.ndarray
    a: np.ndarray
    b: np.ndarray
    rest: np.ndarray
    low: np.ndarray
    """The second word of the rest."""
    bound: np.ndarray
    """The rest is wrong by no more."""
    has_rest: np.ndarray
    """Whether the rest is more than zero, be it too small for float64."""
    rows: np.ndarray
    """The logits of each row, of which the rest is made."""
    rest_of_row: Term | None = None
    """How the rest is made of a row."""

    def each(self) -> np.ndarray:
        """The losses, rounded to the type."""
        with np.errstate(all="ignore"):
            plain = self.weights * ((self.a - self.b) + self.rest)
            parts = self._parts()
            high, low = parts[0], np.zeros_like(parts[0])
            for part in parts[1:]:
                high, lost = two_sum(high, part)
                low = low + lost
            size = np.sum([np.abs(part) for part in parts], axis=0)
            bound = self._bounds() + SUM_OF_PARTS * size
            ends = [self._rounded(high, low + sign * bound) for sign in (-1, 1)]
            is_open = (ends[0] != ends[1]) & self._are_finite()
            found = self._rounded(high, low)
            exact = rounded_to(self.kind, plain)
            found = np.where(np.isfinite(plain) & (plain != 0), found, exact)
        for i in np.flatnonzero(is_open):
            found[i] = self._decided(np.array([i]), Fraction(1))
        return found

    def _are_finite(self) -> np.ndarray:
        return np.asarray(
            np.isfinite(self.a) & np.isfinite(self.b) & np.isfinite(self.weights) & np.isfinite(self.rest)
        )

    def _rounded(self, high: np.ndarray, low: np.ndarray) -> np.ndarray:
        high, low = two_sum(high, low)
        return rounded_to(self.kind, high if self.kind.name == "float64" else to_odd(high, low))

    def total(self, divisor: Fraction) -> np.ndarray:
        """The sum of the losses, divided and rounded once."""
        with np.errstate(all="ignore"):
            plain = self.weights * ((self.a - self.b) + self.rest)
            is_finite = self._are_finite()
            if not is_finite.all():
                return self._number(_quotient(float(plain[~is_finite].sum()), divisor))
            if not divisor:
                return self._number(_quotient(float(plain.sum()), divisor))
            parts, bounds = self._parts(), self._bounds()
        try:
            every = [x for part in parts for x in part[part != 0].tolist()]
            total = math.fsum(every)
            low = math.fsum([*every, -total])
            bound = math.fsum(bounds.tolist()) + abs(low) * 2.0**-52
        except (OverflowError, ValueError):  # on the way, of float64
            total = low = bound = math.inf
        if math.isfinite(total) and math.isfinite(bound):
            exact = Fraction(total) + Fraction(low)
            ends = [self._nearest((exact + sign * Fraction(bound)) / divisor) for sign in (-1, 1)]
            if ends[0] == ends[1] != 0:
                return self._number(ends[0])
        return converted(np.array(self._decided(np.arange(len(self.a)), divisor)), self.kind.numpy)

    def _number(self, value: float) -> np.ndarray:
        return rounded_to(self.kind, np.array([value])).reshape(())

    def _parts(self) -> list[np.ndarray]:
        """Numbers whose exact sum is the loss, but for the bounds of the rests."""
        difference, lost = two_sum(self.a, -self.b)
        numbers = (difference, lost, self.rest, self.low)
        return [part for number in numbers for part in two_product(self.weights, number)]

    def _bounds(self) -> np.ndarray:
        """The bounds of the losses; infinite where products may have lost something."""
        bounds = np.abs(self.weights) * self.bound
        for number in (self.a - self.b, self.rest, self.low):
            is_inside = np.maximum(np.abs(self.weights), np.abs(number)) < LARGEST_FACTOR
            is_inside &= np.abs(self.weights * number) > SMALLEST_PRODUCT
            is_exact = (number == 0) | (self.weights == 0) | (np.abs(self.weights) == 1)
            bounds = np.where(is_inside | is_exact, bounds, np.inf)
        return np.asarray(bounds)

    def _nearest(self, exact: Fraction) -> float:
        from ogive.enclosures.enclosure import nearest

        return float(nearest(exact.numerator, exact.denominator, self.kind.name)) if exact else 0.0

    def _decided(self, places: np.ndarray, divisor: Fraction) -> float:
        """In fractions, and in enclosures where these are not enough."""
        exact = low = high = Fraction(0)
        is_known = True
        for i in places.tolist():
            weight = Fraction(float(self.weights[i]))
            exact += weight * (Fraction(float(self.a[i])) - Fraction(float(self.b[i])))
            if self.has_rest[i] and not math.isfinite(self.bound[i]):
                is_known = False
            elif self.has_rest[i]:
                rest, bound = (
                    Fraction(float(self.rest[i])) + Fraction(float(self.low[i])),
                    Fraction(float(self.bound[i])),
                )
                ends = sorted(weight * end for end in (max(rest - bound, TINY), rest + bound))
                low, high = low + ends[0], high + ends[1]
        found = [self._nearest((exact + end) / divisor) for end in (low, high)]
        if is_known and found[0] == found[1]:
            return found[0]
        from ogive.enclosures.row_enclosure import right_total

        assert self.rest_of_row is not None, "without a rest both ends are one"
        terms = [
            (float(self.weights[i]), float(self.a[i]), float(self.b[i]), self.rows[i].astype(np.float64).tolist())
            for i in places.tolist()
        ]
        return right_total(self.rest_of_row, terms, divisor, self.kind)


def _quotient(total: float, divisor: Fraction) -> float:
    """As IEEE's division has it."""
    if not divisor:
        return math.nan if not total or math.isnan(total) else math.copysign(math.inf, total)
    return total if divisor > 0 else -total


def cross_entropy(
    logits: np.ndarray, places: np.ndarray, weights: np.ndarray, kind: ElementType, rest_of_row: Term
) -> Losses:
    """The losses of rows of logits, ``-log(softmax(row)[place])``, times a weight each.

    ``rest_of_row`` is the catalogue's formula of what a row has beyond its largest element.
    """
    count = len(logits)
    found = *(np.empty(count) for _ in range(5)), np.empty(count, bool)
    step = max(BLOCK // max(logits.shape[1], 1), 1)
    for start in range(0, count, step):
        rows = slice(start, start + step)
        for array, part in zip(found, _of_logits(logits[rows], places[rows], rest_of_row), strict=True):
            array[rows] = part
    largest, picked, rest, low, bound, has_rest = found
    return Losses(kind, weights, largest, picked, rest, low, bound, has_rest, logits, rest_of_row)


def _of_logits(
    logits: np.ndarray, places: np.ndarray, rest_of_row: Term
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    wide = logits.astype(np.float64)
    with np.errstate(all="ignore"):
        largest = wide.max(axis=1)
        picked = np.take_along_axis(wide, places[:, None], 1)[:, 0]
        rest, low, bound = (np.asarray(found).reshape(-1) for found in _words(rest_of_row)(wide))
        has_rest = (np.isfinite(wide).sum(axis=1) > 1) & np.isfinite(largest)
        # NaN, and an infinite largest element, leave no number.
        rest = np.where(np.isfinite(largest), rest, np.nan)
        low, bound = (np.where(has_rest, part, 0.0) for part in (low, bound))
    return largest, picked, rest, low, bound, has_rest


def negative_log_likelihood(
    log_probabilities: np.ndarray, places: np.ndarray, weights: np.ndarray, kind: ElementType
) -> Losses:
    """The losses of rows of logarithms of probabilities, ``-row[place]``, times a weight each."""
    picked = np.take_along_axis(log_probabilities, places[:, None], 1)[:, 0].astype(np.float64)
    zeros = np.zeros(len(picked))
    return Losses(kind, weights, zeros, picked, zeros, zeros, zeros, np.zeros(len(picked), bool), log_probabilities)


@cache
def _words(rest_of_row: Term) -> np.ufunc:
    kind = element_type("float64")
    return make_ufunc("rest of rows", RowWords((rest_of_row,), (kind,), (kind,) * 3))
