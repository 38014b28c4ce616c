"""On which side of an exact number a computed one lies, however near: so results beside a tie are decided.

GELU of a subnormal number is half of that and next to nothing more: every other one lies beside a tie. Its tail is
``1/2`` and more or less by the sign of x, and x times that is ``x/2`` and more. Rules find such statements (`Beyond`) for
sums, products and functions. All hold everywhere; of two the one is taken whose exact number is nearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, node
from ogive.lowering.numerics.bound import Beyond
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.totals import Totals
from ogive.lowering.numerics.truths import both, either, except_where, nowhere

#: Products of exact numbers are exact beyond this.
SMALLEST = 2.0**-800

#: Up to this magnitude the operand of a function is near to zero.
NEAR_ZERO = 2.0**-20


class AtZero(NamedTuple):
    """A function next to zero: its value there, and the sides on which it lies."""

    value: float
    is_line: bool
    """Whether the sides are those of the operand, and not of the value."""
    of_positive: int
    """1 above and -1 below, for positive operands."""
    of_negative: int


@cache
def at_zero(name: str) -> AtZero | None:
    """The facts of a function next to zero, from its row (`Operation.near_zero`); None if it has none."""
    operation = ops.OPERATIONS.get(name)
    near = None if operation is None else operation.near_zero
    if near is None:
        return None
    value, tiny = near(Fraction(0), 1)[0], Fraction(NEAR_ZERO)
    found = [(near(sign * tiny, sign), sign) for sign in (1, -1)]
    is_line = all(number == sign * tiny for (number, _), sign in found)
    # A function beside 1 + u lies on the side of 1 on which 1 + u is.
    sides = [side if is_line or number == value else 1 if number > value else -1 for (number, side), _ in found]
    return AtZero(float(value), is_line, *sides)


def signs(m: Totals, a: DoubleWord) -> tuple[Expression, Expression]:
    """The conditions that a number is known to be positive, and negative."""
    if a.exponent is not None and a.error.static:  # beside the higher word it lacks the exponent, too
        static = m.scale_(m.number(a.error.static), m.neg_(a.exponent))
        absolute = static if a.error.absolute is None else m.add_(a.error.absolute, static)
        a = replace(a, error=replace(a.error, static=0.0, absolute=absolute))
    zero, total = m.number(0.0), m.total(a)
    if a.error.is_relative and a.error.relative < 0.25:
        total = None
    found = m.less_(zero, a.high), m.less_(a.high, zero)
    if total is not None:
        known = m.less_(m.mul_(total, m.number(2.0)), m.abs_(a.high))
        known = either(known, a.error.vast) if m.follows_far else known
        found = both(found[0], known), both(found[1], known)
    near = a.error.beyond
    if near is None:
        return found
    at_zero = m.equal_(near.high, zero)
    above, below = (
        either(sign, both(at_zero, side)) for sign, side in zip(found, (near.is_above, near.is_below), strict=True)
    )
    return above, below


def exactness(a: DoubleWord) -> Expression | None:
    """The condition that a number is known to be the exact one, in doubt or not; None for never."""
    return node(ops.CONSTANT, (), True, Format.BIT) if a.error.is_exact else a.error.exactly


def near(m: Totals, a: DoubleWord) -> Beyond | None:
    """The number that a number lies beyond; for an exact one of two words that is its first word."""
    where, found = exactness(a) if m.follows_exactness or a.error.is_exact else None, a.error.beyond
    if where is None or a.low is None or a.exponent is not None or (a.error.is_exact and found is not None):
        return found
    a = m.renormalised(a)
    low, zero = m.low_part(a), m.number(0.0)
    first = Beyond(a.high, zero, m.less_(zero, low), m.less_(low, zero))
    return first if a.error.is_exact else chosen(m, both(where, m.not_(m.equal_(low, zero))), first, found)


def chosen(m: Totals, condition: Expression, a: Beyond | None, b: Beyond | None) -> Beyond | None:
    """The one where the condition is true, and the other one elsewhere."""
    if a is None or b is None:
        only = a or b
        if only is None:
            return None
        where = condition if b is None else m.not_(condition)
        return Beyond(only.high, only.low, both(where, only.is_above), both(where, only.is_below))
    high, low = m.select_(condition, a.high, b.high), m.select_(condition, a.low, b.low)
    sides = []
    for x, y in ((a.is_above, b.is_above), (a.is_below, b.is_below)):
        side = either(both(condition, x), both(m.not_(condition), y))
        sides.append(side)
    return Beyond(high, low, *sides)


def of_sum(m: Totals, a: DoubleWord, b: DoubleWord) -> Beyond | None:
    """Beyond the exact part of a sum, or the sum of what both parts lie beyond or are."""
    for exact, other in ((a, b), (b, a)):
        is_rounded = not other.error.is_exact or (exact.low is None and other.low is not None)
        if exact.error.is_exact and is_rounded:
            return _beside_exact(m, exact, other)
    if a.error.is_exact or b.error.is_exact:
        return None
    found = _of_inexact(m, a, b)
    for exact, other in ((a, b), (b, a)):
        where = m.of_one_word(exact) if m.follows_zeros else None
        if where is not None:  # it is exact at some elements
            sides = (both(where, side) for side in signs(m, other))
            found = either_of(m, Beyond(exact.high, m.number(0.0), *sides), found)
        if exact.error.exactly is not None and m.follows_exactness:
            found = chosen(m, exact.error.exactly, _beside_exact(m, exact, other), found)
    return found


def _beside_exact(m: Totals, exact: DoubleWord, other: DoubleWord) -> Beyond:
    """The number next to an exact part of a sum, or next to its sum with what the other part lies beyond, where two words hold that."""
    by_sign, found = _beside(m, exact, other), other.error.beyond
    if found is None:
        return by_sign
    zero = m.number(0.0)
    high, low = m.two_sum(exact.high, found.high)
    is_known = m.equal_(found.low, zero)
    if exact.low is not None:
        low, lost = m.two_sum(low, m.low_part(exact))
        high, low = m.two_sum(high, low)
        is_known = both(is_known, m.equal_(lost, zero))
    above, below = found.is_above, found.is_below
    if m.of_doubles:
        is_known = both(is_known, m.is_finite_(high))
    else:  # a tie has one word, and a number on the side of the second word lies beyond the first
        above, below = both(above, m.less_equal_(zero, low)), both(below, m.less_equal_(low, zero))
        low = zero
    sum_ = Beyond(high, low, above, below)
    return chosen(m, both(is_known, _says(sum_)), sum_, by_sign) or by_sign


def _says(found: Beyond) -> Expression:
    """Whether it says something: on which side."""
    return either(found.is_above, found.is_below)


def _of_inexact(m: Totals, a: DoubleWord, b: DoubleWord) -> Beyond | None:
    zero = m.number(0.0)
    for one, other in ((a, b), (b, a)):
        found = one.error.beyond
        if found is not None:
            positive, negative = signs(m, other)
            by_sign = Beyond(found.high, found.low, both(found.is_above, positive), both(found.is_below, negative))
            second = other.error.beyond
            if second is None or other is one:
                return by_sign
            is_single = both(m.equal_(found.low, zero), m.equal_(second.low, zero))
            is_single = both(both(is_single, m.not_(m.equal_(second.high, zero))), _says(second))
            sides = both(found.is_above, second.is_above), both(found.is_below, second.is_below)
            return chosen(m, is_single, Beyond(*m.two_sum(found.high, second.high), *sides), by_sign)
    return None


def _beside(m: Totals, exact: DoubleWord, other: DoubleWord) -> Beyond:
    """The number next to the exact part of a sum, by the sign of the other part."""
    low = m.number(0.0) if exact.low is None else m.low_part(exact)
    high, low = (exact.high, low) if exact.low is None else m.fast_two_sum(exact.high, low)
    return Beyond(high, low, *signs(m, other))


def of_product(m: Totals, a: DoubleWord, b: DoubleWord) -> Beyond | None:
    """The one-sided facts of a and b, propagated through their product; exact numbers have one word."""
    for factor, other in ((a, b), (b, a)):
        if factor.error.is_exact and factor.low is None:
            found = near(m, other)
            if found is not None:
                return of_multiple(m, found, factor.high)
    (first, second), by_signs = _sizes(m, a, b), _of_signs(m, a, b)
    if first is None or second is None:
        return by_signs
    high = m.mul_(first.high, second.high)
    low = m.fma_(first.high, second.high, m.neg_(high))
    grows, shrinks = first.with_(second.grows, second.stays, 1), first.with_(second.shrinks, second.stays, -1)
    return either_of(m, _of_size(m, high, low, grows, shrinks), by_signs)


@dataclass(frozen=True)
class _Size:
    """One word that is not zero, and where a number is of a larger or smaller magnitude, or is that."""

    high: Expression
    grows: Expression
    shrinks: Expression
    stays: Expression | None

    def with_(self, moves: Expression, stays: Expression | None, side: int) -> Expression:
        """The condition that this and another factor make the product larger, or smaller: none the other way, and one at least."""
        found = both(self.grows if side > 0 else self.shrinks, either(moves, stays))
        return found if self.stays is None else either(found, both(self.stays, moves))


def _sizes(m: Totals, a: DoubleWord, b: DoubleWord, *, divides: bool = False) -> tuple[_Size | None, _Size | None]:
    """The sizes of two numbers, of which one may lie beyond another; else there is nothing to say."""
    is_exact = divides and a.error.is_exact
    a, b = m.mantissa(a), m.mantissa(b)
    if _near(m, a) is None and _near(m, b) is None:
        return None, None
    return _size(m, a, is_exact=is_exact), _size(m, b)


def _near(m: Totals, a: DoubleWord) -> Beyond | None:
    return near(m, a) if m.follows_exactness else a.error.beyond


def _size(m: Totals, a: DoubleWord, *, is_exact: bool = False) -> _Size | None:
    """The size of a number without exponent that is exact, or lies beyond one of the same sign."""
    zero, found = m.number(0.0), _near(m, a)
    exact = exactness(a) if m.follows_exactness or is_exact else None
    if found is None and exact is None:
        return None
    stays = None
    if exact is not None:
        stays = both(exact, m.not_(m.equal_(a.high, zero)))
        if a.low is not None:
            stays = both(stays, m.equal_(m.low_part(a), zero))
    if found is None:
        return _Size(a.high, nowhere(), nowhere(), stays)
    is_single, known = m.equal_(found.low, zero), signs(m, a)
    positive = both(both(known[0], m.less_(zero, found.high)), is_single)
    negative = both(both(known[1], m.less_(found.high, zero)), is_single)
    moves = []
    for first, second in ((found.is_above, found.is_below), (found.is_below, found.is_above)):
        side = except_where(either(both(positive, first), both(negative, second)), stays)
        moves.append(side)
    grows, shrinks = moves
    return _Size(found.high if stays is None else m.select_(stays, a.high, found.high), grows, shrinks, stays)


def _of_size(m: Totals, high: Expression, low: Expression, grows: Expression, shrinks: Expression) -> Beyond:
    """The number that a number lies beyond whose magnitude is larger or smaller, where that is exact."""
    zero = m.number(0.0)
    known = both(m.less_(m.number(SMALLEST), m.abs_(high)), m.is_finite_(high))
    positive, negative = both(known, m.less_(zero, high)), both(known, m.less_(high, zero))
    above = either(both(positive, grows), both(negative, shrinks))
    below = either(both(positive, shrinks), both(negative, grows))
    return Beyond(high, low, above, below)


def of_ratio(m: Totals, a: DoubleWord, b: DoubleWord, *, is_sure: bool) -> Beyond | None:
    """The product of numbers of one word, and of such that lie beyond these. Else beyond zero, but for a quotient whose sign is sure."""
    (dividend, divisor), by_signs = _sizes(m, a, b, divides=True), None if is_sure else _of_signs(m, a, b)
    if dividend is None or divisor is None:
        return by_signs
    high = m.div_(dividend.high, divisor.high)
    is_whole = m.equal_(m.fma_(m.neg_(high), divisor.high, dividend.high), m.number(0.0))
    is_whole = both(is_whole, m.less_(m.number(SMALLEST), m.abs_(dividend.high)))
    grows = both(is_whole, dividend.with_(divisor.shrinks, divisor.stays, 1))
    shrinks = both(is_whole, dividend.with_(divisor.grows, divisor.stays, -1))
    return either_of(m, _of_size(m, high, m.number(0.0), grows, shrinks), by_signs)


def _of_signs(m: Totals, a: DoubleWord, b: DoubleWord) -> Beyond | None:
    """A product or quotient lies beyond zero by the signs of two numbers, of which one may have underflowed."""
    if not m.follows_zeros or (a.error.beyond is None and b.error.beyond is None):
        return None
    (above, below), (other_above, other_below) = signs(m, a), signs(m, b)
    zero = m.number(0.0)
    positive = either(both(above, other_above), both(below, other_below))
    negative = either(both(above, other_below), both(below, other_above))
    return Beyond(zero, zero, positive, negative)


def either_of(m: Totals, first: Beyond, second: Beyond | None) -> Beyond:
    """The first where that says something, and else the second."""
    if second is None:
        return first
    found = chosen(m, _says(first), first, second)
    assert found is not None
    return found


def of_multiple(m: Totals, near: Beyond, factor: Expression) -> Beyond:
    """The number that a multiple lies beyond, where that is a number of two words."""
    zero = m.number(0.0)
    product = m.mul_(near.high, factor)
    lost = m.fma_(near.high, factor, m.neg_(product))
    known = either(m.less_(m.number(SMALLEST), m.abs_(product)), m.equal_(near.high, zero))
    known = both(known, m.is_finite_(factor))
    if near.low is not zero:
        low = m.mul_(near.low, factor)
        rest = m.fma_(near.low, factor, m.neg_(low))
        lost, more = m.two_sum(lost, low)
        product, lost = m.fast_two_sum(product, lost)
        is_whole = both(m.equal_(rest, zero), m.equal_(more, zero))
        is_large = either(m.equal_(near.low, zero), m.less_(m.number(SMALLEST), m.abs_(low)))
        known = both(known, both(is_whole, is_large))
    if factor.operation is ops.CONSTANT and factor.attribute:
        sides = (near.is_above, near.is_below) if factor.attribute > 0 else (near.is_below, near.is_above)
        return Beyond(product, lost, both(known, sides[0]), both(known, sides[1]))
    positive, negative = both(known, m.less_(zero, factor)), both(known, m.less_(factor, zero))
    above, below = (
        either(both(positive, first), both(negative, second))
        for first, second in ((near.is_above, near.is_below), (near.is_below, near.is_above))
    )
    return Beyond(product, lost, above, below)


def of_magnitude(m: Totals, a: DoubleWord, near: Beyond) -> Beyond:
    """The number that a magnitude lies beyond, where the sign of the number is known."""
    positive, negative = signs(m, a)
    high, low = (m.select_(negative, m.neg_(word), word) for word in (near.high, near.low))
    above = either(both(positive, near.is_above), both(negative, near.is_below))
    below = either(both(positive, near.is_below), both(negative, near.is_above))
    return Beyond(high, low, above, below)


def scaled(m: Totals, near: Beyond | None, exponent: Expression) -> Beyond | None:
    """The number that another one lies beyond, times a power of two, where nothing of it underflows.

    For shorter types exponentials alone have powers of two beside them, and none where they lie beyond 1.
    """
    zero = m.number(0.0)
    if near is None or not m.knows_infinities or (near.high is zero and near.low is zero):
        return near
    high, low = (word if word is zero else m.scale_(word, exponent) for word in (near.high, near.low))
    known: Expression | None = None
    for word, moved in ((near.high, high), (near.low, low)):
        has_room = both(m.less_(m.number(SMALLEST), m.abs_(moved)), m.is_finite_(moved))
        keeps = either(has_room, m.equal_(word, zero))
        known = keeps if known is None else both(known, keeps)
    assert known is not None
    return Beyond(high, low, both(known, near.is_above), both(known, near.is_below))


def of_quotient(m: Totals, near: Beyond, divisor: float) -> Beyond:
    """The number that a quotient by a positive number lies beyond, where that is a number of one word."""
    by, zero = m.number(divisor), m.number(0.0)
    high = m.div_(near.high, by)
    is_whole = both(m.equal_(m.fma_(m.neg_(high), by, near.high), zero), m.equal_(near.low, zero))
    is_large = either(m.less_(m.number(SMALLEST), m.abs_(high)), m.equal_(near.high, zero))
    known = both(is_whole, is_large)
    return Beyond(high, zero, both(known, near.is_above), both(known, near.is_below))


def near_zero(m: Totals, name: str, u: DoubleWord, otherwise: Beyond | None) -> Beyond | None:
    """The number that a function of a number near to zero lies beyond; elsewhere what was found otherwise."""
    found = beside_value(m, name, u)
    if found is None:
        return otherwise
    is_near = m.less_(m.abs_(u.high), m.number(NEAR_ZERO))
    return chosen(m, is_near, found, otherwise)


def beside_value(m: Totals, name: str, u: DoubleWord) -> Beyond | None:
    """The value of a function at zero, or the operand, which the function lies beyond next to that; None if that is not known."""
    zero, sides = m.number(0.0), at_zero(name)
    where = exactness(u) if m.knows_infinities or u.error.is_exact else None
    if sides is None or (sides.is_line and where is None):
        return None
    high, low = m.number(sides.value), zero
    if sides.is_line:
        u = m.renormalised(u)
        high, low = u.high, zero if u.low is None else m.low_part(u)
    positive, negative = signs(m, u)
    parts: dict[int, Expression | None] = {1: None, -1: None}
    for side, sign in ((sides.of_positive, positive), (sides.of_negative, negative)):
        parts[side] = either(parts[side], both(where, sign) if sides.is_line else sign)
    above, below = (parts[side] or nowhere() for side in (1, -1))
    return Beyond(high, low, above, below)


def order(m: Totals, a: DoubleWord, b: DoubleWord) -> tuple[Expression | None, Expression | None]:
    """The conditions a > b and a < b that follow where one is exact and the other one lies beyond that, or farther out."""
    for one, exact, is_swapped in ((a, b, False), (b, a, True)):
        found = one.error.beyond
        if found is None or not exact.error.is_exact or exact.low is not None or exact.exponent is not None:
            continue
        zero, limit = m.number(0.0), exact.high
        is_same = m.equal_(found.high, limit)
        above, below = (
            both(side, either(m.less_(*ends), both(is_same, m.less_equal_(*lows))))
            for side, ends, lows in (
                (found.is_above, (limit, found.high), (zero, found.low)),
                (found.is_below, (found.high, limit), (found.low, zero)),
            )
        )
        return (below, above) if is_swapped else (above, below)
    return None, None


def moved_to_integers(m: Totals, operation: Operation, ends: Sequence[Expression], beyond: Beyond) -> list[Expression]:
    """The integers that the ends of a number are rounded to, where the number lies beyond another one of one word."""
    n, zero, one, half = beyond.high, *map(m.number, (0.0, 1.0, 0.5))
    is_single = both(m.equal_(beyond.low, zero), m.is_finite_(n))
    floor, ceiling = m.make(ops.FLOOR, n), m.make(ops.CEILING, n)
    match operation:
        case ops.FLOOR:
            next_above, next_below = floor, m.sub_(ceiling, one)
        case ops.CEILING:
            next_above, next_below = m.add_(floor, one), ceiling
        case ops.TRUNCATE:
            next_above = m.select_(m.less_(n, zero), m.add_(floor, one), floor)
            next_below = m.select_(m.less_(zero, n), m.sub_(ceiling, one), ceiling)
        case _:
            next_above, next_below = m.make(ops.FLOOR, m.add_(n, half)), m.make(ops.CEILING, m.sub_(n, half))
    # Zeros have the sign of what is rounded to them.
    size, is_zero = m.abs_(n), m.equal_(n, zero)
    next_above = m.make(ops.COPY_SIGN, next_above, m.select_(is_zero, size, n))
    next_below = m.make(ops.COPY_SIGN, next_below, m.select_(is_zero, m.neg_(size), n))
    low, high = ends
    # A zero beside -1 or 1 keeps its sign.
    rises = either(m.less_(low, next_above), both(is_zero, m.equal_(low, next_above)))
    falls = either(m.less_(next_below, high), both(is_zero, m.equal_(next_below, high)))
    return [
        m.select_(both(both(is_single, beyond.is_above), rises), next_above, low),
        m.select_(both(both(is_single, beyond.is_below), falls), next_below, high),
    ]
