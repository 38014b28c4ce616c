"""Results that signs and magnitudes decide, of whole arrays: NaN, infinities, what overflows and what underflows.

Enclosures take 0.1 ms an element, and all of an array may be huge. A number here is a sign and an interval of ``log2(abs(x))``,
which has room for ``exp(1e300)``. Beside these stands an exact number to which it is near, so that ``x + log(1 + exp(-x))``
is known to round to x. Operands that are infinite or zero follow IEEE 754's arithmetic step by step, as in enclosures.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ogive.common.conversion import converted
from ogive.common.dtypes import FLOAT_FORMATS, FLOATS, ElementType
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph import plane_slopes
from ogive.graph.expression import Expression, Format, walk
from ogive.graph.limits import with_limits

#: An array of NumPy, whose operators have no precise types.
Array = Any

LOG2_E, LOG_2 = math.log2(math.e), math.log(2)

#: The largest logarithm of a finite number. A larger one is rounded down to it.
MOST = 1.7e308

#: The most that rounding takes from a logarithm: relative to it, and absolutely.
RELATIVE, ABSOLUTE = 2.0**-44, 2.0**-40

#: The logarithm of how far a rounded number is from the one that is meant, relative to it, at most.
ROUNDED = -52.0

#: The precision of an element type, and the logarithms beyond which its numbers are infinite, or zero.
FORMATS = {
    t.name: (form.precision, form.largest_exponent + 1.0, float(form.smallest_exponent - form.precision))
    for t in FLOATS
    for form in (FLOAT_FORMATS[t.name],)
}


class Rough(NamedTuple):
    """Numbers by their signs and magnitudes.

    An exact zero has ``high`` -inf, an exact infinity ``low`` inf, and NaN ``low`` NaN. A sign of 0 is unknown; then ``high``
    may be inf, and nothing is known.
    """

    sign: Array
    low: Array
    high: Array
    near: Array
    """An exact number beside which the number lies; NaN where none is known."""
    apart: Array
    """``log2`` of how far apart both are at most, relative to that number; -inf where they are equal."""
    may_be_zero: Array
    """The condition that a number with a known sign may be zero, with that sign."""

    @property
    def is_nan(self) -> Array:
        return np.isnan(self.low)

    @property
    def is_zero(self) -> Array:
        return np.isneginf(self.high)

    @property
    def is_infinite(self) -> Array:
        return np.isposinf(self.low)

    @property
    def is_unknown(self) -> Array:
        """The condition that it may even be NaN or infinite."""
        return (self.sign == 0) & np.isposinf(self.high)

    @property
    def is_number(self) -> Array:
        """The condition that it is finite, not zero, and has a known sign."""
        return (self.sign != 0) & ~(self.may_be_zero | self.is_nan | self.is_zero | self.is_infinite)


Truth = Array
"""1 for true, 0 for false, -1 where that is unknown."""


def exactly(x: Array) -> Rough:
    """Exact numbers of float64."""
    size = np.abs(x)
    logarithm = np.log2(size)
    slack = np.where(np.isfinite(logarithm), np.abs(logarithm) * RELATIVE + ABSOLUTE, 0.0)
    apart = np.where(np.isfinite(x) & (x != 0), -math.inf, math.inf)
    return Rough(
        np.where(np.signbit(x), -1, 1), logarithm - slack, logarithm + slack, x, apart, np.zeros(x.shape, bool)
    )


def _constant(value: float, like: Rough) -> Rough:
    return exactly(np.full(like.low.shape, value))


def _limit(value: ops.Fact, like: Rough) -> Rough:
    """A value of a function at zero or at an infinity."""
    made = _constant(float(value), like)
    is_exact = ops.is_exact(value) and float(value) == value
    return made if is_exact or not math.isfinite(value) else made._replace(apart=np.full(like.low.shape, ROUNDED))


def _finite(sign: Array, low: Array, high: Array, near: Array | None = None, apart: Array | None = None) -> Rough:
    """Finite numbers that are not zero, their logarithms rounded outwards."""
    low = np.minimum(np.where(np.isinf(low), low, low - np.abs(low) * RELATIVE - ABSOLUTE), MOST)
    high = np.maximum(np.where(np.isinf(high), high, high + np.abs(high) * RELATIVE + ABSOLUTE), -MOST)
    low = np.where(np.isnan(low), -math.inf, low)
    high = np.where(np.isnan(high), math.inf, high)
    near = np.full(low.shape, math.nan) if near is None else near
    apart = np.full(low.shape, math.inf) if apart is None else apart
    return Rough(sign + np.zeros(low.shape, int), low, high, near, apart, np.zeros(low.shape, bool))


def _unknown(like: Rough) -> Rough:
    shape = like.low.shape
    nan, infinity = np.full(shape, math.nan), np.full(shape, math.inf)
    return Rough(np.zeros(shape, int), -infinity, infinity, nan, infinity, np.ones(shape, bool))


def _choose(where: Array, a: Rough, b: Rough) -> Rough:
    return Rough(*(np.where(where, x, y) for x, y in zip(a, b, strict=True)))


def _first(*cases: tuple[Array, Rough], otherwise: Rough) -> Rough:
    """The first case that holds."""
    found = otherwise
    for where, value in reversed(cases):
        if where.any():
            found = _choose(where, value, found)
    return found


def _signed(sign: Array, a: Rough) -> Rough:
    """The number with another sign."""
    turns = np.where(sign * a.sign < 0, -1.0, 1.0)
    return a._replace(sign=sign + 0 * a.sign, near=a.near * turns)


# ---- arithmetic


def _negate(a: Rough) -> Rough:
    return a._replace(sign=-a.sign, near=-a.near)


def _absolute(a: Rough) -> Rough:
    is_known = ~a.is_unknown
    found = a._replace(sign=np.ones_like(a.sign), near=np.abs(a.near), may_be_zero=a.may_be_zero | (a.sign == 0))
    return _choose(is_known, found, _unknown(a))


def _add(a: Rough, b: Rough) -> Rough:
    nan, same = _constant(math.nan, a), a.sign * b.sign > 0
    # One of two finite numbers may dominate, by so much at least.
    cases = []
    for one, other in ((a, b), (b, a)):
        by = one.low - other.high
        share = np.exp2(-np.maximum(by, 0.0))
        low = np.where(same, np.logaddexp2(one.low, other.low), one.low - 2 * share)
        high = np.where(same, np.logaddexp2(one.high, other.high), one.high + 1.5 * share)
        apart = np.logaddexp2(one.apart, -by + 1)
        found = _finite(one.sign, low, high, one.near, np.where(np.isnan(apart), math.inf, apart))
        cases.append((one.is_number & ~other.is_unknown & (by > 1), found))
    both = np.logaddexp2(a.low, b.low), np.logaddexp2(a.high, b.high)
    is_sum = same & a.is_number & b.is_number
    zeros = exactly(np.where(a.sign + b.sign == -2, -0.0, 0.0))
    bounded = ~(a.is_unknown | b.is_unknown | a.is_infinite | b.is_infinite)
    cancelled = _finite(np.zeros_like(a.sign), np.full(a.low.shape, -math.inf), np.maximum(a.high, b.high) + 1)
    found = _first(
        (a.is_nan | b.is_nan, nan),
        (a.is_infinite & b.is_infinite, _choose(same, a, nan)),
        (a.is_infinite & ~b.is_unknown, a),
        (b.is_infinite & ~a.is_unknown, b),
        (a.is_zero & b.is_zero & (a.sign * b.sign != 0), zeros),
        (a.is_zero & b.is_number, b),
        (b.is_zero & a.is_number, a),
        *cases,
        (is_sum, _finite(a.sign, *both)),
        (bounded, cancelled),
        otherwise=_unknown(a),
    )
    # The sum of numbers next to two exact ones lies next to the exact sum.
    total = a.near + b.near
    part = total - a.near
    is_exact = ((a.near - (total - part)) + (b.near - part) == 0) & np.isfinite(total) & (total != 0)
    apart = np.maximum(a.apart + np.log2(np.abs(a.near)), b.apart + np.log2(np.abs(b.near)))
    apart = np.where(np.isneginf(apart), apart, apart - np.log2(np.abs(total)) + 1)
    is_nearer = is_exact & (apart < -2) & (apart < found.apart)
    found = _choose(is_nearer, _beside_exact(total, apart), found)
    are_opposite = np.isneginf(a.apart) & np.isneginf(b.apart) & (total == 0)
    return _choose(are_opposite, exactly(np.zeros(total.shape)), found)


def _beside_exact(value: Array, apart: Array) -> Rough:
    """Numbers next to exact ones, by so much at most; that is less than a quarter."""
    exact = exactly(value)
    reach = 2 * np.exp2(apart)
    return exact._replace(low=exact.low - reach, high=exact.high + reach, apart=apart)


def _is_power(x: Array) -> Array:
    return np.frexp(np.abs(x))[0] == 0.5


def _near_of(a: Rough, b: Rough, value: Array, factor: Array) -> tuple[Array, Array]:
    """The number that a product or quotient with a power of two is near to, and how near."""
    is_exact = _is_power(factor) & np.isfinite(value) & (np.abs(value) > 2.0**-1000)
    apart = np.where(is_exact, np.logaddexp2(a.apart, b.apart) + 1, math.inf)
    return np.where(is_exact, value, math.nan), np.where(np.isnan(apart), math.inf, apart)


def _multiply(a: Rough, b: Rough) -> Rough:
    nan, sign = _constant(math.nan, a), a.sign * b.sign
    infinity, zero = exactly(np.where(sign < 0, -math.inf, math.inf)), exactly(np.where(sign < 0, -0.0, 0.0))
    some_unknown = a.is_unknown | b.is_unknown
    factor = np.where(_is_power(a.near), a.near, b.near)
    near = _near_of(a, b, a.near * b.near, factor)
    product = _finite(sign, a.low + b.low, a.high + b.high, *near)._replace(may_be_zero=a.may_be_zero | b.may_be_zero)
    return _first(
        (a.is_nan | b.is_nan, nan),
        ((a.is_zero & b.is_infinite) | (a.is_infinite & b.is_zero), nan),
        ((a.is_zero | b.is_zero) & (sign != 0), zero),
        ((a.is_infinite | b.is_infinite) & (sign != 0) & ~(a.may_be_zero | b.may_be_zero), infinity),
        (~(some_unknown | a.is_infinite | b.is_infinite), product),
        otherwise=_unknown(a),
    )


def _divide(a: Rough, b: Rough) -> Rough:
    nan, sign = _constant(math.nan, a), a.sign * b.sign
    infinity, zero = exactly(np.where(sign < 0, -math.inf, math.inf)), exactly(np.where(sign < 0, -0.0, 0.0))
    near = _near_of(a, b, a.near / b.near, b.near)
    quotient = _finite(sign, a.low - b.high, a.high - b.low, *near)._replace(may_be_zero=a.may_be_zero)
    return _first(
        (a.is_nan | b.is_nan, nan),
        ((a.is_zero & b.is_zero) | (a.is_infinite & b.is_infinite), nan),
        (b.is_zero & (sign != 0) & ~a.may_be_zero, infinity),
        (b.is_infinite & (sign != 0), zero),
        (a.is_infinite & (sign != 0) & ~b.is_infinite & ~b.may_be_zero, infinity),
        (a.is_zero & b.is_number & (sign != 0), zero),
        (~a.is_unknown & ~a.is_infinite & b.is_number, quotient),
        otherwise=_unknown(a),
    )


def _square_root(a: Rough) -> Rough:
    nan = _constant(math.nan, a)
    return _first(
        (a.is_nan | a.is_zero, a),
        (a.sign < 0, nan),
        (a.is_infinite, a),
        ((a.near == 1) & (a.apart < -2), _beside_exact(np.ones(a.low.shape), a.apart)),
        (a.is_number, _finite(a.sign, a.low / 2, a.high / 2)),
        otherwise=_unknown(a),
    )


def _copy_sign(a: Rough, b: Rough) -> Rough:
    found = _signed(b.sign, _absolute(a))
    return _choose((b.sign != 0) & ~a.is_unknown & ~b.is_nan, found, _unknown(a))


# ---- comparisons and choices


def _less(a: Rough, b: Rough) -> Truth:
    known = ~(a.is_unknown | b.is_unknown) & (a.sign != 0) & (b.sign != 0)
    both_zero = a.is_zero & b.is_zero
    smaller, larger = a.high < b.low, b.high < a.low
    same_infinity = a.is_infinite & b.is_infinite
    is_exact = np.isneginf(a.apart) & np.isneginf(b.apart)
    found = np.full(a.low.shape, -1)
    found = np.where(known & (a.sign < b.sign), np.where(both_zero, 0, 1), found)
    found = np.where(known & (a.sign > b.sign), 0, found)
    same = known & (a.sign == b.sign)
    found = np.where(same & smaller, np.where(a.sign > 0, 1, 0), found)
    found = np.where(same & larger, np.where(a.sign > 0, 0, 1), found)
    found = np.where(same & (both_zero | same_infinity), 0, found)
    found = np.where(is_exact, a.near < b.near, found)
    return np.where(a.is_nan | b.is_nan, 0, found)


def _equal(a: Rough, b: Rough) -> Truth:
    known = ~(a.is_unknown | b.is_unknown) & (a.sign != 0) & (b.sign != 0)
    both_zero = a.is_zero & b.is_zero
    differ = (a.high < b.low) | (b.high < a.low) | ((a.sign != b.sign) & ~both_zero)
    found = np.where(known & differ, 0, -1)
    same = both_zero | (a.is_infinite & b.is_infinite & (a.sign == b.sign))
    found = np.where(known & same, 1, found)
    found = np.where(np.isneginf(a.apart) & np.isneginf(b.apart), a.near == b.near, found)
    return np.where(a.is_nan | b.is_nan, 0, found)


def _not(a: Truth) -> Truth:
    return np.where(a < 0, -1, 1 - a)


def _and(a: Truth, b: Truth) -> Truth:
    return np.where((a == 0) | (b == 0), 0, np.where((a < 0) | (b < 0), -1, 1))


def _or(a: Truth, b: Truth) -> Truth:
    return _not(_and(_not(a), _not(b)))


def _less_equal(a: Rough, b: Rough) -> Truth:
    return np.where(a.is_nan | b.is_nan, 0, _not(_less(b, a)))


def _select(condition: Truth, a: Rough, b: Rough) -> Rough:
    return _first((condition == 1, a), (condition == 0, b), otherwise=_unknown(a))


def _extreme(is_larger: bool) -> Callable[[Rough, Rough], Rough]:
    def extreme(a: Rough, b: Rough) -> Rough:
        first = _less(b, a) if is_larger else _less(a, b)
        both_zero = a.is_zero & b.is_zero & (a.sign != 0) & (b.sign != 0)
        sign = np.maximum(a.sign, b.sign) if is_larger else np.minimum(a.sign, b.sign)
        return _first(
            (a.is_nan | b.is_nan, _constant(math.nan, a)),
            (both_zero, exactly(np.where(sign < 0, -0.0, 0.0))),
            (first == 1, a),
            (first == 0, b),
            otherwise=_unknown(a),
        )

    return extreme


# ---- functions of one number


def _values(low: Array, high: Array, like: Rough) -> Rough:
    """Finite numbers between two values."""
    is_positive, is_negative = low > 0, high < 0
    sizes = np.log2(np.abs(low)), np.log2(np.abs(high))
    straddles = _finite(np.zeros_like(like.sign), np.full(low.shape, -math.inf), np.maximum(*sizes))
    found = _choose(is_negative, _finite(np.full(low.shape, -1), sizes[1], sizes[0]), straddles)
    return _choose(is_positive, _finite(np.full(low.shape, 1), *sizes), found)


Rule = Callable[[Rough], Rough]


def _function(name: str, positive: Rule, negative: Rule) -> Rule:
    """A function of one number, by what it is of positive and of negative finite numbers; its row says what it is of others."""
    operation = ops.OPERATIONS[name]
    at_zero, ends = operation.at_zero, operation.at_infinities
    assert ends is not None
    has_sign_at_zero = at_zero == 0 or at_zero == -math.inf

    def function(u: Rough) -> Rough:
        below, above = (_limit(end, u) for end in ends)
        is_zero = u.is_zero & ((u.sign != 0) | (not has_sign_at_zero)) & (at_zero is not None)
        is_number = u.is_number
        return _first(
            (u.is_nan, _constant(math.nan, u)),
            (u.is_infinite, _choose(u.sign > 0, above, below)),
            (is_zero, u if at_zero == 0 else _limit(at_zero or 0, u)),
            (is_number & (u.sign > 0), positive(u)),
            (is_number & (u.sign < 0), negative(u)),
            otherwise=_unknown(u),
        )

    return function


def _of_both_signs(make: Callable[[int], Rule]) -> tuple[Rule, Rule]:
    """One rule for positive and negative numbers, given the sign of the result."""
    return make(1), make(-1)


def _nan(u: Rough) -> Rough:
    return _constant(math.nan, u)


def _rising(function: Callable[[Array], Array], sign: int = 1) -> Rule:
    """A function whose logarithm rises with that of its operand's magnitude."""
    return lambda u: _finite(np.full(u.low.shape, sign), function(u.low), function(u.high))


def _falling(function: Callable[[Array], Array], sign: int = 1) -> Rule:
    return lambda u: _finite(np.full(u.low.shape, sign), function(u.high), function(u.low))


def _around(
    below: Callable[[Array], Array], above: Callable[[Array], Array], sign: int = 1, *, falls: bool = False
) -> Any:
    """A function between two bounds of its logarithm."""

    def function(u: Rough) -> Rough:
        first, last = (u.high, u.low) if falls else (u.low, u.high)
        return _finite(np.full(u.low.shape, sign), below(first), above(last))

    return function


def _beside(value: float, apart: Callable[[Array], Array], otherwise: Rule) -> Rule:
    """A function that comes near to a number where its operand is large (or small): by so much at most."""

    def function(u: Rough) -> Rough:
        distance = np.maximum(np.maximum(apart(u.low), apart(u.high)), -MOST)  # -inf would be exactly the number
        found = otherwise(u)
        return found._replace(
            near=np.where(distance < -2, value, math.nan), apart=np.where(distance < -2, distance, math.inf)
        )

    return function


def _small_or(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The logarithm itself of tiny numbers, of which a function is next to its operand; that of the function elsewhere."""
    return lambda e: np.where(e < -60, e, np.log2(function(np.exp2(np.clip(e, -61, 1020)))))


def _of_value(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda e: function(np.exp2(e))


def _inside(
    lower: Callable[[Array], Array],
    upper: Callable[[Array], Array],
    sign: int,
    at_one: float = math.nan,
    most: float | None = None,
) -> Rule:
    """A function of numbers of magnitudes below 1, which is NaN for certain of larger ones, and perhaps infinite at 1.

    ``most`` is the largest logarithm of what it is of numbers of float64 below 1, if ``lower`` holds for them.
    """

    def function(u: Rough) -> Rough:
        sides = np.full(u.low.shape, sign)
        small = _finite(sides, lower(u.low), upper(u.high))
        is_exact = np.isneginf(u.apart)
        is_one = is_exact & (np.abs(u.near) == 1) & (not math.isnan(at_one))
        is_less = is_exact & (np.abs(u.near) < 1) & (most is not None)
        return _first(
            (u.low > 0, _nan(u)),
            (is_one, _constant(sign * at_one, u)),
            (u.high < -1, small),
            (is_less, _finite(sides, lower(u.low), np.full(u.low.shape, most or 0.0))),
            otherwise=_unknown(u),
        )

    return function


def _logarithm(factor: float) -> Rule:
    def function(u: Rough) -> Rough:
        return _values(u.low * factor, u.high * factor, u)

    return function


def _one_and(u: Rough) -> Rough:
    """``log1p`` of a negative number."""
    small = _finite(
        np.full(u.low.shape, -1), *(_small_or(lambda v: -np.log1p(-np.minimum(v, 0.9)))(e) for e in (u.low, u.high))
    )
    return _first((u.low > 0, _nan(u)), (u.high < -1, small), otherwise=_unknown(u))


def _bounded(high: float) -> Rule:
    """A function of no known sign."""
    return lambda u: _finite(np.zeros_like(u.sign), np.full(u.low.shape, -math.inf), np.full(u.low.shape, high))


def _near_zero(function: Rule, sign: int) -> Rule:
    """Next to zero the operand; elsewhere another function."""
    return lambda u: _choose(u.high < -4, _finite(np.full(u.low.shape, sign), u.low - 0.1, u.high + 0.1), function(u))


def _cosine(u: Rough) -> Rough:
    small = _finite(np.full(u.low.shape, 1), np.full(u.low.shape, -1.0), np.full(u.low.shape, 0.0))
    return _choose(u.high < 0, small, _bounded(0.0)(u))


def _exponential(factor: float) -> tuple[Rule, Rule]:
    def scaled(e: Array) -> Array:
        return np.exp2(e) * factor

    def near_one(e: Array) -> Array:
        return e + 2

    return (
        _beside(1.0, near_one, _rising(scaled)),
        _beside(1.0, near_one, _falling(lambda e: -scaled(e))),
    )


def _by_square(e: Array, factor: float = 1.0) -> Array:
    """``log2(exp(-factor * v**2))``."""
    return -np.exp2(2 * e) * (factor * LOG2_E)


def _tail(factor: float, most: float) -> tuple[Rule, Rule]:
    """``erfc`` and the normal tail: next to ``exp(-factor * v**2)`` above zero, and between 0.5 and 1 of the limit below."""
    return (
        _around(
            lambda e: _by_square(e, factor) - np.logaddexp2(e, 0.0) - 3,
            lambda e: _by_square(e, factor) + most,
            falls=True,
        ),
        _beside(
            2.0**most * 2 if most < 0 else 2.0,
            lambda e: _by_square(e, factor),
            _around(
                lambda e: np.full(e.shape, most if most < 0 else 0.0),
                lambda e: np.full(e.shape, 0.0 if most < 0 else 1.0),
            ),
        ),
    )


def _log_ndtr_below(u: Rough) -> Rough:
    def below(e: Array) -> Array:
        return np.maximum(2 * e - 1, -0.6)

    def above(e: Array) -> Array:
        return np.logaddexp2(np.logaddexp2(2 * e - 1, 2.0), np.log2(np.logaddexp2(e, 0.0) + 1))

    return _finite(np.full(u.low.shape, -1), below(u.low), above(u.high))


def _whole(of_small: Callable[[int], float]) -> Rule:
    """A number rounded to an integer: below one half known by its sign, beyond 32 nearly itself, and from 2**53 on itself, if it
    is exact.
    """

    def function(u: Rough) -> Rough:
        small = _choose(u.sign > 0, _constant(of_small(1), u), _constant(of_small(-1), u))
        is_itself = np.isneginf(u.apart) & (u.low >= 53)
        large = _finite(u.sign, u.low - 0.1, u.high + 0.1)
        return _first(
            (u.is_nan | u.is_infinite | u.is_zero | is_itself, u),
            (u.is_number & (u.high < -1), small),
            (u.is_number & (u.low > 5), large),
            otherwise=_unknown(u),
        )

    return function


def _power(a: Rough, b: Rough) -> Rough:
    """Powers of positive numbers by their logarithms; of others by IEEE 754's special cases, and by exact exponents."""
    is_exact = np.isneginf(b.apart) | b.is_zero | b.is_infinite
    exponent = np.where(b.is_zero, 0.0, b.near)
    is_whole = is_exact & (np.floor(exponent) == exponent)
    is_odd = is_whole & (np.abs(exponent) < 2.0**53) & (np.mod(exponent, 2) == 1)
    sign = np.where(a.sign < 0, np.where(is_odd, -1, 1), 1)
    sides = [b.sign * np.exp2(end) for end in (b.low, b.high)]
    products = np.stack([side * end for side in sides for end in (a.low, a.high)])
    products = np.where(np.isnan(products), 0.0, products)
    power = _finite(sign, products.min(axis=0), products.max(axis=0))
    special_base = a.is_zero | a.is_infinite
    # The sign of the exponent is enough for positive bases.
    to_zero = a.is_zero == (b.sign > 0)
    of_positive = exactly(np.where(to_zero, 0.0, math.inf))
    base = np.where(a.is_zero, 0.0, math.inf) * np.where(a.sign < 0, -1.0, 1.0)
    special = exactly(np.power(base, exponent))
    one = (is_exact & (exponent == 0)) | (np.isneginf(a.apart) & (a.near == 1))
    # NaN has a power with an exponent that may be zero, and 1 has powers of NaN.
    is_not_one = a.is_nan | (a.sign < 0) | a.is_zero | (a.low > 0) | (a.high < 0)
    is_nan = (a.is_nan & (b.is_nan | b.is_infinite | b.is_number)) | (b.is_nan & is_not_one)
    return _first(
        (one, _constant(1.0, a)),
        (is_nan, _nan(a)),
        (a.is_nan | b.is_nan, _unknown(a)),
        (special_base & is_exact & (a.sign != 0), special),
        (special_base & (a.sign > 0) & b.is_number, of_positive),
        (a.is_number & (a.sign < 0) & is_exact & ~is_whole & ~b.is_infinite, _nan(a)),
        (a.is_number & b.is_number & ((a.sign > 0) | is_whole), power),
        otherwise=_unknown(a),
    )


def _atan2(y: Rough, x: Rough) -> Rough:
    """The angle of a point: next to zero on the right where it is the quotient."""
    is_right = x.sign > 0
    quotient = _finite(y.sign, y.low - x.high - 0.1, y.high - x.low + 0.1)
    is_small = is_right & y.is_number & x.is_number & (y.high - x.low < -4)
    return _first(
        (y.is_nan | x.is_nan, _nan(y)),
        (y.is_zero & is_right & (y.sign != 0), y),
        (x.is_infinite & is_right & y.is_number, exactly(np.where(y.sign < 0, -0.0, 0.0))),
        (is_small, quotient),
        otherwise=_unknown(y),
    )


def _remainder(a: Rough, b: Rough) -> Rough:
    invalid = a.is_nan | b.is_nan | a.is_infinite | b.is_zero
    return _choose(invalid & ~(a.is_unknown | b.is_unknown), _nan(a), _unknown(a))


def _of_point(form: plane_slopes.Form) -> Callable[[Rough, Rough], Rough]:
    """The derivative of a length or an angle at a point of exact numbers."""

    def numerator(p: Array, q: Array) -> Array:
        return form.over(p, q, float, operator.mul, operator.add)

    def rule(a: Rough, b: Rough) -> Rough:
        x, y = _exact_numbers(a), _exact_numbers(b)
        is_far = np.isinf(x) | np.isinf(y)
        exponent = np.frexp(np.maximum(abs(x), abs(y)))[1]
        p, q = (
            np.where(is_far, np.copysign(np.where(np.isinf(v), 1.0, 0.0), v), np.ldexp(v, -exponent)) for v in (x, y)
        )
        value, least = numerator(p, q), np.maximum(2.0**-40 * form.size(p, q), 2.0**-1000)
        logarithm = np.log2(np.abs(value)) - form.e / 2 * np.log2(p * p + q * q) - form.falls * exponent
        finite = _finite(np.where(value < 0, -1, 1), logarithm - 0.01, logarithm + 0.01)
        zeros = exactly(np.copysign(0.0, value))
        is_zero = (p == 0) | (q == 0)
        return _first(
            (a.is_nan | b.is_nan | (a.is_infinite & b.is_infinite), _constant(math.nan, a)),
            (a.is_zero & b.is_zero, exactly(np.zeros(x.shape))),
            (is_far, zeros if form.falls else exactly(value)),
            ((a.is_zero | b.is_zero) & (value == 0), zeros),
            ((np.abs(value) > least) & ~(is_zero & ~(a.is_zero | b.is_zero)), finite),
            otherwise=_unknown(a),
        )

    return rule


def _exact_numbers(a: Rough) -> Array:
    """The numbers that are known exactly; NaN elsewhere."""
    signs = np.where(a.sign < 0, -1.0, np.where(a.sign > 0, 1.0, math.nan))
    special = np.where(a.is_zero, 0.0 * signs, np.where(a.is_infinite, math.inf * signs, math.nan))
    return np.where(np.isneginf(a.apart), a.near, special)


def _bell_shaped(function: Callable[[Array], Array]) -> tuple[Rule, Rule]:
    """A positive function that falls on both sides of zero."""
    return _falling(function), _falling(function)


def _slope_of_gate(density: Callable[[Array], Array], more: float = 0.0) -> tuple[Rule, Rule]:
    """The slope of x times a gate: below -2 ``-abs(x)`` times a density and an eighth of that at least, and 1 and so much above 2.

    ``more`` bits are the density's factor.
    """
    far_below = _around(lambda e: density(e) + e - 3, lambda e: density(e) + e + more, -1, falls=True)
    above = _around(lambda e: np.full(e.shape, -1.0), lambda e: np.full(e.shape, 0.3))
    far_above = _beside(1.0, lambda e: density(e) + e + 1, above)
    return (
        lambda u: _choose(u.low > 1, far_above(u), above(u)),
        lambda u: _choose(u.low > 1, far_below(u), _bounded(0.0)(u)),
    )


def _exponential_density(e: Array) -> Array:
    return -np.exp2(e) * LOG2_E


def _normal_density(e: Array) -> Array:
    return _by_square(e, 0.5) - math.log2(2 * math.pi) / 2


#: The rules of functions of one number, for positive and for negative finite ones.
OF_ONE: Mapping[str, tuple[Rule, Rule]] = {
    "bell": _bell_shaped(_by_square),
    "normal_density": _bell_shaped(_normal_density),
    "logistic_slope": _bell_shaped(_of_value(lambda v: -(v + 2 * np.log1p(np.exp(-v))) * LOG2_E)),
    "tanh_slope": _bell_shaped(_of_value(lambda v: 2 - 2 * (v + np.log1p(np.exp(-2 * v))) * LOG2_E)),
    "gate_slope": _slope_of_gate(_exponential_density),
    "normal_gate_slope": _slope_of_gate(_normal_density),
    "normal_hazard": (
        _around(_normal_density, lambda e: _normal_density(e) + 1.0, falls=True),
        # One to two densities above zero, and between ``abs(x)`` and that and 0.8 below.
        _around(lambda e: np.maximum(e, -0.5), lambda e: np.logaddexp2(e, -0.3)),
    ),
    "mish_slope": _slope_of_gate(_exponential_density),
    "serf_slope": _slope_of_gate(_exponential_density, 0.25),
    "exp": _exponential(LOG2_E),
    "exp2": _exponential(1.0),
    "expm1": (
        _rising(lambda e: np.where(e < 6, _small_or(np.expm1)(np.minimum(e, 6)), np.exp2(e) * LOG2_E)),
        _beside(-1.0, lambda e: -np.exp2(e) * LOG2_E, _rising(_small_or(lambda v: -np.expm1(-v)), -1)),
    ),
    "log": (_logarithm(LOG_2), _nan),
    "log2": (_logarithm(1.0), _nan),
    "log10": (_logarithm(math.log10(2)), _nan),
    "log1p": (
        _rising(lambda e: np.where(e > 60, np.log2(np.maximum(e, 1) * LOG_2), _small_or(np.log1p)(np.minimum(e, 60)))),
        _one_and,
    ),
    "logistic": (
        _beside(1.0, lambda e: -np.exp2(e) * LOG2_E, _rising(_of_value(lambda v: -np.log1p(np.exp(-v)) * LOG2_E))),
        _falling(_of_value(lambda v: -(v + np.log1p(np.exp(-v))) * LOG2_E)),
    ),
    "tanh": (
        _beside(1.0, lambda e: 1 - np.exp2(e) * (2 * LOG2_E), _rising(_small_or(np.tanh))),
        _beside(-1.0, lambda e: 1 - np.exp2(e) * (2 * LOG2_E), _rising(_small_or(np.tanh), -1)),
    ),
    "sinh": (
        _rising(lambda e: np.where(e < 6, _small_or(np.sinh)(np.minimum(e, 6)), np.exp2(e) * LOG2_E - 1)),
        _rising(lambda e: np.where(e < 6, _small_or(np.sinh)(np.minimum(e, 6)), np.exp2(e) * LOG2_E - 1), -1),
    ),
    "cosh": _of_both_signs(
        lambda _: _rising(
            lambda e: np.where(e < 6, np.log2(np.cosh(np.exp2(np.minimum(e, 6)))), np.exp2(e) * LOG2_E - 1)
        )
    ),
    "cbrt": (_rising(lambda e: e / 3), _rising(lambda e: e / 3, -1)),
    "erf": (
        _beside(1.0, _by_square, _around(lambda e: np.minimum(e, 0.0) - 0.5, lambda e: np.minimum(e + 0.2, 0.0))),
        _beside(-1.0, _by_square, _around(lambda e: np.minimum(e, 0.0) - 0.5, lambda e: np.minimum(e + 0.2, 0.0), -1)),
    ),
    "erfc": _tail(1.0, 0.0),
    "normal_tail": _tail(0.5, -1.0),
    "log_ndtr": (
        _around(
            lambda e: _by_square(e, 0.5) - np.logaddexp2(e, 0.0) - 3, lambda e: _by_square(e, 0.5) + 0.0, -1, falls=True
        ),
        _log_ndtr_below,
    ),
    "sin": (_near_zero(_bounded(0.0), 1), _near_zero(_bounded(0.0), -1)),
    "cos": (_cosine, _cosine),
    "tan": (_near_zero(_unknown, 1), _near_zero(_unknown, -1)),
    "asin": _of_both_signs(lambda sign: _inside(lambda e: e, lambda e: e + 0.7, sign, most=0.7)),
    "acos": (
        _inside(lambda e: np.zeros(e.shape), lambda e: np.ones(e.shape), 1),
        _inside(lambda e: np.zeros(e.shape), lambda e: np.full(e.shape, 1.7), 1),
    ),
    "atan": _of_both_signs(lambda sign: _around(lambda e: np.minimum(e, 0.0) - 1, lambda e: np.minimum(e, 0.7), sign)),
    "asinh": _of_both_signs(
        lambda sign: _rising(
            lambda e: np.where(e > 60, np.log2(np.maximum(e + 1, 1) * LOG_2), _small_or(np.arcsinh)(np.minimum(e, 60))),
            sign,
        )
    ),
    "acosh": (
        lambda u: _first(
            (u.high < 0, _nan(u)),
            (u.low > 1, _around(lambda e: np.log2(np.maximum(e, 1) * LOG_2), lambda e: np.log2((e + 1) * LOG_2))(u)),
            otherwise=_unknown(u),
        ),
        _nan,
    ),
    "atanh": _of_both_signs(lambda sign: _inside(lambda e: e, lambda e: e + 1, sign, math.inf, most=4.3)),
    "erfinv": _of_both_signs(lambda sign: _inside(lambda e: e - 0.3, lambda e: e + 0.2, sign, math.inf, most=2.6)),
}

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "nothing": lambda u: _constant(0.0, u),
    "add": _add,
    "subtract": lambda a, b: _add(a, _negate(b)),
    "multiply": _multiply,
    "divide": _divide,
    "negate": _negate,
    "absolute": _absolute,
    "square_root": _square_root,
    "copy_sign": _copy_sign,
    "less": _less,
    "less_equal": _less_equal,
    "equal": _equal,
    "and": _and,
    "or": _or,
    "not": _not,
    "exclusive_or": lambda a, b: np.where((a < 0) | (b < 0), -1, a ^ b),
    "select": _select,
    "larger": _extreme(True),
    "smaller": _extreme(False),
    "remainder": _remainder,
    "power": _power,
    "atan2": _atan2,
    "floor": _whole(lambda sign: 0.0 if sign > 0 else -1.0),
    "ceiling": _whole(lambda sign: 1.0 if sign > 0 else -0.0),
    "truncate": _whole(lambda sign: math.copysign(0.0, sign)),
    "round_even": _whole(lambda sign: math.copysign(0.0, sign)),
    **{name: _function(name, *rules) for name, rules in OF_ONE.items()},
    **{
        operation.name: _of_point(plane_slopes.of_order(name, *order))
        for name, slopes in (("hypot", functions.HYPOT_SLOPES), ("angle", functions.ANGLE_SLOPES))
        for order, operation in slopes.items()
    },
}


def by_magnitude(
    root: Expression, operands: Mapping[int, Array], parameters: Mapping[str, float], kind: ElementType
) -> tuple[Array, Array] | None:
    """The results of a formula at these operands, and where signs and magnitudes decide them; None for other types."""
    if kind.name not in FORMATS or not operands:
        return None
    found: dict[Expression, Any] = {}
    (root,) = with_limits([root], kind)
    with np.errstate(all="ignore"):
        like = exactly(next(iter(operands.values())))
        for current in walk(root):
            found[current] = _node(current, [found[n] for n in current.operands], operands, parameters, like)
        return _rounded(found[root], kind) if root.format is Format.NUMBER else None


def _node(
    n: Expression, given: Sequence[Any], operands: Mapping[int, Array], parameters: Mapping[str, float], like: Rough
) -> Any:
    is_truth = n.format is Format.TRUTH
    if n.operation is ops.INPUT and not is_truth:
        return exactly(operands[n.attribute])
    if n.operation in (ops.CONSTANT, ops.PARAMETER):
        value = n.attribute if n.operation is ops.CONSTANT else parameters[n.attribute[1]]
        if is_truth:
            return np.full(like.low.shape, int(bool(value)))
        return _of_constant(value, like)
    rule = FUNCTIONS.get(n.operation.name)
    if rule is None:
        return np.full(like.low.shape, -1) if is_truth else _unknown(like)
    return rule(*given)


def _of_constant(value: Any, like: Rough) -> Rough:
    """A constant or a parameter: float64 may have no such number, or none of its size."""
    if (
        isinstance(value, Fraction)
        and value
        and not -1000 < value.numerator.bit_length() - value.denominator.bit_length() < 1000
    ):
        logarithm = np.full(like.low.shape, math.log2(abs(value.numerator)) - math.log2(value.denominator))
        return _finite(np.full(like.low.shape, 1 if value > 0 else -1), logarithm, logarithm)
    made = _constant(float(value), like)
    return made if float(value) == value else made._replace(apart=np.full(like.low.shape, ROUNDED))


def _rounded(number: Rough, kind: ElementType) -> tuple[Array, Array]:
    precision, infinite_from, zero_below = FORMATS[kind.name]
    sign = np.where(number.sign < 0, -1.0, 1.0)
    is_number = number.is_number
    overflows = number.is_infinite | (is_number & (number.low >= infinite_from))
    vanishes = (number.sign != 0) & (number.high < zero_below)
    values = np.where(overflows, sign * math.inf, sign * 0.0)
    is_exact = np.isneginf(number.apart) & is_number
    beside, *ends = (
        converted(number.near * share, kind.numpy).astype(np.float64)
        for share in (1.0, 1 - 4 * 2.0**ROUNDED, 1 + 4 * 2.0**ROUNDED)
    )
    is_beside = (number.apart < -precision - 3) & (beside == number.near)
    is_beside |= (number.apart <= ROUNDED) & (ends[0] == ends[1])
    is_beside = is_exact | (is_number & is_beside)
    values = np.where(is_beside & ~overflows & ~vanishes, number.near, values)
    values = np.where(number.is_nan, math.nan, values)
    is_decided = number.is_nan | ((number.sign != 0) & (overflows | vanishes | is_beside))
    return converted(values, kind.numpy), is_decided
