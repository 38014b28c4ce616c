"""Closed intervals that contain a real number, used to leave out work that cannot matter.

Bounds are floats; each operation widens its result by a few units in the last place, so an interval never
promises more than is true. NaN is not part of any interval: every rule that uses one holds for NaN too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

#: The smallest number of float64: what underflows lies between zero and it.
LEAST = math.ulp(0.0)

#: A smaller gap around zero is none: products of such numbers may underflow.
LEAST_GAP = 2.0**-1000


@dataclass(frozen=True)
class Interval:
    low: float
    high: float
    #: The magnitude that no number is below, though some are negative and some positive.
    gap: float = 0.0

    def __post_init__(self) -> None:
        # inf - inf and 0 * inf say nothing about that bound.
        object.__setattr__(self, "low", -math.inf if math.isnan(self.low) else self.low)
        object.__setattr__(self, "high", math.inf if math.isnan(self.high) else self.high)
        if not (self.low <= 0 <= self.high and self.gap > LEAST_GAP):
            object.__setattr__(self, "gap", 0.0)

    @classmethod
    def around(cls, *values: float) -> Interval:
        """The interval that holds the values, a little wider."""
        low = -math.inf if any(map(math.isnan, values)) else min(values)
        high = math.inf if any(map(math.isnan, values)) else max(values)
        return cls(_below(low), _above(high))

    @classmethod
    def point(cls, value: float) -> Interval:
        return cls(value, value)

    @property
    def smallest_magnitude(self) -> float:
        return self.gap if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))

    @property
    def largest_magnitude(self) -> float:
        return max(abs(self.low), abs(self.high))

    def __add__(self, other: Interval) -> Interval:
        return Interval.around(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.gap)

    def __mul__(self, other: Interval) -> Interval:
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        products = [a * b for a, b in ends]
        underflowed = [math.copysign(LEAST, p) for (a, b), p in zip(ends, products, strict=True) if p == 0 != a and b]
        around = Interval.around(*products, *underflowed)
        return replace(around, gap=_below(self.smallest_magnitude * other.smallest_magnitude))

    def __truediv__(self, other: Interval) -> Interval:
        if other.smallest_magnitude == 0:
            return EVERYTHING
        if other.gap:
            most = _above(1 / other.gap)
            return self * Interval(-most, most, _below(1 / other.largest_magnitude))
        return self * Interval.around(1 / other.low, 1 / other.high)

    def __abs__(self) -> Interval:
        return Interval(self.smallest_magnitude, self.largest_magnitude)

    def __or__(self, other: Interval) -> Interval:
        """The interval that holds both."""
        gap = min(self.smallest_magnitude, other.smallest_magnitude)
        return Interval(min(self.low, other.low), max(self.high, other.high), gap)

    def map(self, increasing: Callable[[float], float]) -> Interval:
        """The image under an increasing function."""
        low, high = increasing(self.low), increasing(self.high)
        underflows = high == 0 and self.high not in (0, -math.inf)
        return Interval.around(low, LEAST if underflows else high)

    def within(self, low: float, high: float) -> bool:
        return low <= self.low and self.high <= high

    def is_below(self, other: Interval) -> bool:
        """Whether its numbers are less than those of the other one as far as they are accurate, too."""
        largest = min(max(abs(self.high), abs(other.low)), 2.0**1000)
        return self.high + 2.0**-20 * largest < other.low


EVERYTHING = Interval(-math.inf, math.inf)


def _below(value: float) -> float:
    return math.nextafter(value - abs(value) * 2.0**-50, -math.inf) if value else value


def _above(value: float) -> float:
    return math.nextafter(value + abs(value) * 2.0**-50, math.inf) if value else value
