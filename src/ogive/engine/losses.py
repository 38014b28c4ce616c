"""Losses of labelled rows: cross entropy of logits, negative log likelihood, and their sums and means, rounded once.

The loss of a row is ``weight * ((a - b) + rest)``. Its first part is exact: of logits the largest one and that of the label.
The rest is ``log1p`` of the sum of the other exponentials, never negative, and a float64 with a bound. Sums are sums of the
exact parts and of the rests, with the sum of their bounds. A result that rounds differently within the bound is looked at in
fractions: there a rest too small for float64 decides a tie by its sign. Enclosures have the last word.

float64 is rounded from the same parts, without the test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from ogive import formula as f
from ogive import operations as ops
from ogive.conversion import converted
from ogive.dtypes import ElementType, element_type
from ogive.engine.computation import Formula, make_ufunc
from ogive.engine.running import rounded_to, to_odd, two_product, two_sum
from ogive.expression import Format, Term, lift, node

__all__ = ["Losses", "cross_entropy", "negative_log_likelihood"]

#: The relative error of a rest: exponentials, log1p and a tree of sums, of at most 2**40 elements.
REST = 2.0**-46

#: The part that a rest may miss: exponentials that underflow.
MISSED = 2.0**-1000

#: So many logits are looked at at a time: their float64 numbers stay in the caches.
BLOCK = 1 << 16

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
            bound = self._bounds() + 2.0**-98 * size
            ends = [self._rounded(high, low + sign * bound) for sign in (-1, 1)]
            is_open = (ends[0] != ends[1]) & np.isfinite(plain)
            is_open |= ~np.isfinite(high) & np.isfinite(self.a - self.b) & np.isfinite(self.weights)
            found = self._rounded(high, low)
            exact = rounded_to(self.kind, plain)
            found = np.where(np.isfinite(plain) & (plain != 0), found, exact)
        if self.kind.name != "float64":
            for i in np.flatnonzero(is_open):
                found[i] = self._decided(np.array([i]), Fraction(1))
        return found

    def _rounded(self, high: np.ndarray, low: np.ndarray) -> np.ndarray:
        high, low = two_sum(high, low)
        return rounded_to(self.kind, high if self.kind.name == "float64" else to_odd(high, low))

    def total(self, divisor: Fraction) -> np.ndarray:
        """The sum of the losses, divided and rounded once."""
        with np.errstate(all="ignore"):
            plain = self.weights * ((self.a - self.b) + self.rest)
            is_finite = np.isfinite(self.a) & np.isfinite(self.b) & np.isfinite(self.weights) & np.isfinite(self.rest)
            if not is_finite.all():
                return self._number(_quotient(float(plain[~is_finite].sum()), divisor))
            if not divisor:
                return self._number(_quotient(float(plain.sum()), divisor))
            parts, bounds = self._parts(), self._bounds()
        try:
            total = math.fsum(x for part in parts for x in part.tolist())
            bound = math.fsum(bounds.tolist()) + abs(total) * 2.0**-52
        except (OverflowError, ValueError):  # on the way, of float64
            total = bound = math.inf
        if math.isfinite(total) and math.isfinite(bound):
            if self.kind.name == "float64":
                return self._number(_float(Fraction(total) / divisor))
            ends = sorted(_float((Fraction(total) + sign * Fraction(bound)) / divisor) for sign in (-1, 1))
            low, high = (
                self._number(math.nextafter(ends[0], -math.inf)),
                self._number(math.nextafter(ends[1], math.inf)),
            )
            if low == high:
                return low if total < 0 else high
        return converted(np.array(self._decided(np.arange(len(self.a)), divisor)), self.kind.numpy)

    def _number(self, value: float) -> np.ndarray:
        return rounded_to(self.kind, np.array([value])).reshape(())

    def _parts(self) -> list[np.ndarray]:
        """Numbers whose exact sum is the loss, but for the bounds of the rests."""
        difference, lost = two_sum(self.a, -self.b)
        return [part for number in (difference, lost, self.rest) for part in two_product(self.weights, number)]

    def _bounds(self) -> np.ndarray:
        return np.asarray(np.abs(self.weights) * np.where(self.has_rest, self.rest * REST + MISSED, 0.0))

    def _decided(self, places: np.ndarray, divisor: Fraction) -> float:
        """In fractions, and in enclosures where these are not enough."""
        from ogive.enclosure import nearest

        exact = low = high = Fraction(0)
        for i in places.tolist():
            weight = Fraction(float(self.weights[i]))
            exact += weight * (Fraction(float(self.a[i])) - Fraction(float(self.b[i])))
            if self.has_rest[i]:
                rest = Fraction(float(self.rest[i]))
                ends = [max(rest * (1 - Fraction(REST)) - Fraction(MISSED), TINY), rest * (1 + Fraction(REST))]
                ends = sorted(weight * end for end in (ends[0], ends[1] + Fraction(MISSED)))
                low, high = low + ends[0], high + ends[1]
        found = []
        for end in (low, high):
            value = (exact + end) / divisor
            found.append(nearest(value.numerator, value.denominator, self.kind.name) if value else 0.0)
        if found[0] == found[1] or self.kind.name == "float64":
            return found[0]
        from ogive.row_enclosure import right_total

        assert self.rest_of_row is not None, "without a rest both ends are one"
        terms = [
            (float(self.weights[i]), float(self.a[i]), float(self.b[i]), self.rows[i].astype(np.float64).tolist())
            for i in places.tolist()
        ]
        return right_total(self.rest_of_row, terms, divisor, self.kind)


def _float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _quotient(total: float, divisor: Fraction) -> float:
    """As IEEE's division has it."""
    if not divisor:
        return math.nan if not total or math.isnan(total) else math.copysign(math.inf, total)
    return total if divisor > 0 else -total


def cross_entropy(
    logits: np.ndarray, places: np.ndarray, weights: np.ndarray, kind: ElementType, rest_of_row: Term
) -> Losses:
    """The losses of rows of logits, ``-log(softmax(row)[place])``, times a weight each.

    ``rest_of_row`` is the catalogue's formula of what a row has beyond its largest element; here it is in float64, with a bound.
    """
    count = len(logits)
    largest, picked, rest = (np.empty(count) for _ in range(3))
    has_rest = np.empty(count, bool)
    step = max(BLOCK // max(logits.shape[1], 1), 1)
    for start in range(0, count, step):
        rows = slice(start, start + step)
        largest[rows], picked[rows], rest[rows], has_rest[rows] = _of_logits(logits[rows], places[rows])
    return Losses(kind, weights, largest, picked, rest, has_rest, logits, rest_of_row)


def _of_logits(logits: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    wide = logits.astype(np.float64)
    with np.errstate(all="ignore"):
        largest = wide.max(axis=1)
        picked = np.take_along_axis(wide, places[:, None], 1)[:, 0]
        distance, lost = two_sum(wide, -largest[:, None])
        is_largest = distance == 0
        exponential = _kernel("exp")(np.where(is_largest, -np.inf, distance))
        if lost.any():
            exponential = np.where(np.isfinite(lost), exponential * (1 + lost), exponential)
        others = _tree(exponential) + (is_largest.sum(axis=1) - 1.0)
        rest = _kernel("log1p")(others)
        # NaN, and an infinite largest element, leave no number.
        rest = np.where(np.isfinite(largest), rest, np.nan)
    return largest, picked, rest, (np.isfinite(wide).sum(axis=1) > 1) & np.isfinite(largest)


def negative_log_likelihood(
    log_probabilities: np.ndarray, places: np.ndarray, weights: np.ndarray, kind: ElementType
) -> Losses:
    """The losses of rows of logarithms of probabilities, ``-row[place]``, times a weight each."""
    picked = np.take_along_axis(log_probabilities, places[:, None], 1)[:, 0].astype(np.float64)
    zeros = np.zeros(len(picked))
    return Losses(kind, weights, zeros, picked, zeros, np.zeros(len(picked), bool), log_probabilities)


def _tree(values: np.ndarray) -> np.ndarray:
    """The sum along the last axis, in one order."""
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        total = values[:, :half] + values[:, half : 2 * half]
        values = np.concatenate([total, values[:, 2 * half :]], axis=1)
    return values[:, 0] if values.shape[1] else np.zeros(len(values))


@cache
def _kernel(name: str) -> np.ufunc:
    kind = element_type("float64")
    x = lift(node(ops.INPUT, (), 0, Format.NUMBER))
    made = {"exp": f.exp, "log1p": f.log1p}[name](x)
    return make_ufunc(name, Formula((made,), (kind,), (kind,)))
