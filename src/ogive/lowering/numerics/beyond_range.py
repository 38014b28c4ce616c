"""Numbers whose exact value the second level cannot hold and knows enough of: vast ones and NaN.

A **vast** number has the sign of the machine's, which is large too, and a magnitude of at least `LEAST`: what overflows.
So it is infinite in all element types that are shorter than float64, ``1 / (1 + exp(1e4))`` is next to nothing, and
comparisons with ordinary numbers are decided. Its bound does not hold. It is known that the exact number is NaN where an operand
lies outside of a function's domain, or is NaN.

Each rule says where a result is vast, given that one operand is, and what is in doubt instead.

The repair of float64 keeps powers of two beside numbers, and exponentials are moved to one of 2**20. A number that was moved is
**far**, which takes the place of vast: it has the sign of the machine's, and both have exponents of 2**17 at least, of one sign. So
``x / exp(x)`` is zero or infinite in the end. Of exponentials the first bits of the exponent are known, too: so
``exp(x) / exp(x)**2`` is far.
"""

from __future__ import annotations

import math

from ogive.graph import operations as ops
from ogive.graph.expression import Expression
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.totals import Totals
from ogive.lowering.numerics.truths import both, either, except_where

#: The exponents of vast numbers: of all at least, of what overflows, and of a saturated exponential.
LEAST, FRESH, SATURATED = 600, 890, 2000

#: A number that is added to vast numbers, or compared with them, has to be smaller.
ORDINARY = 2.0**500

#: Factors have such a magnitude at least: subnormal numbers of float32 do. Dividends lie so far below what divides them.
SMALLEST_FACTOR, BELOW_VAST = 150, 340

#: More than what is divided by a vast number.
NEXT_TO_NOTHING = 2.0**-330

#: Far numbers have such exponents beside them at least, and what these are multiplied by, or added to, at most. So the exact number
#: comes out of an operation nearer to 1 by a factor of 2**4096.
FAR_POWER, NEAR_POWER = 2.0**18, 2.0**12

#: Where a far number lies below this power of two, so does the exact one.
LAST_POWER = -(2.0**16)

#: How many bits of the exponent of a far number are right (`Bound.vast_exponent`), and how many a difference may take of them.
BITS_OF_FAR, BITS_LEFT = 40, 10

Found = tuple[Expression | None, int, Expression | None]
"""The condition that the result is vast, its least exponent, and its doubt."""


def of_nan(*operands: DoubleWord) -> Expression | None:
    """The condition that one of the operands is NaN."""
    return either(*(operand.error.nan for operand in operands))


def least_exponent(*operands: DoubleWord) -> int:
    """The least exponent of vast operands; 0 where there are none."""
    return min((operand.error.vast_exponent for operand in operands if operand.error.vast is not None), default=0)


def _only(a: DoubleWord, b: DoubleWord) -> Expression | None:
    """The condition that a is vast and b is not."""
    return except_where(a.error.vast, b.error.vast)


def _both_vast(a: DoubleWord, b: DoubleWord) -> Expression | None:
    return both(a.error.vast, b.error.vast)


def _same_sign(m: Totals, a: DoubleWord, b: DoubleWord) -> Expression:
    one = m.number(1.0)
    return m.equal_(*(m.make(ops.COPY_SIGN, one, n.high) for n in (a, b)))


def _found(vast: Expression | None, exponent: int, *sources: Expression | None) -> Found:
    """The truth value "is vast", and in doubt where an operand is and the result may not be."""
    return vast, exponent, except_where(either(*sources), vast)


def _is_ordinary(m: Totals, a: DoubleWord, most: float = ORDINARY) -> Expression:
    """Whether the exact number, which is not vast, is not much larger than that."""
    found = m.less_(m.abs_(a.high), m.number(most))
    if a.error.absolute is not None:
        found = both(found, m.less_(a.error.absolute, m.number(most)))
    return found


def of_sum(m: Totals, a: DoubleWord, b: DoubleWord) -> Found | None:
    """Vast and ordinary numbers, and vast ones of the same sign."""
    if a.error.vast is None and b.error.vast is None:
        return None
    same = _same_sign(m, a, b)
    vast = both(_both_vast(a, b), same)
    for one, other in ((a, b), (b, a)):
        smaller = _is_ordinary(m, other)
        if one.error.vast is not None and one.error.vast_exponent >= FRESH:
            # No number that is not vast is as large as what has become infinite.
            is_infinite = m.equal_(m.abs_(one.high), m.number(math.inf))
            smaller = either(smaller, both(is_infinite, _is_ordinary(m, other, 2.0**1000)))
        vast = either(vast, both(_only(one, other), smaller))
    return _found(vast, least_exponent(a, b), a.error.vast, b.error.vast)


def _magnitude(m: Totals, a: DoubleWord) -> Expression:
    return m.abs_(a.high if a.exponent is None else m.scale_(a.high, a.exponent))


def certain(m: Totals, a: DoubleWord, least: float = 0.0) -> Expression:
    """Whether the exact number has the machine's sign and half of its magnitude, which is at least that."""
    size = _magnitude(m, a)
    found = m.less_equal_(m.number(least), size)
    total = m.total(a)
    if total is not None and not (a.error.is_relative and a.error.relative < 0.25):
        scaled = total if a.exponent is None else m.scale_(total, a.exponent)
        found = both(found, m.less_(m.mul_(scaled, m.number(4.0)), size))
    return found


def of_product(m: Totals, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Found | None:
    """Products of vast numbers, and of vast ones and others that are not smaller than numbers of float32."""
    if a.error.vast is None and b.error.vast is None:
        return None
    if m.follows_far:
        return _of_far(m, result, a, b)
    if a is b:
        return _found(a.error.vast, 2 * a.error.vast_exponent - 1, a.error.vast)
    vast, exponent = _both_vast(a, b), 2 * least_exponent(a, b) - 1
    for one, other in ((a, b), (b, a)):
        if one.error.vast is not None:
            # A constant is no smaller than itself.
            smallest = max(0.0, other.error.least) if other.error.is_exact else 0.0
            power = min(SMALLEST_FACTOR, max(0, 1 - math.frexp(smallest)[1])) if smallest else SMALLEST_FACTOR
            if one.error.vast_exponent - power - 1 >= LEAST:
                exponent = min(exponent, one.error.vast_exponent - power - 1)
                vast = either(vast, both(_only(one, other), certain(m, other, 2.0**-power)))
    return _found(vast, exponent, a.error.vast, b.error.vast)


def of_quotient(m: Totals, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Found | None:
    """Quotients of vast numbers by others. Others by vast ones are next to nothing."""
    if a.error.vast is None and b.error.vast is None:
        return None
    if m.follows_far:
        return _of_far(m, result, a, b)
    vast, exponent = None, FRESH
    if a.error.vast is not None:
        exponent = a.error.vast_exponent - SMALLEST_FACTOR - 1
        is_small = m.less_(_magnitude(m, b), m.number(2.0**SMALLEST_FACTOR))
        if exponent >= LEAST:
            vast = both(_only(a, b), both(is_small, certain(m, b, 2.0**-900)))
        if a.error.vast_exponent >= FRESH and b.error.largest > 2.0**SMALLEST_FACTOR:
            # A number that has become infinite is no smaller than 2**1000.
            is_infinite = m.equal_(m.abs_(a.high), m.number(math.inf))
            is_less = both(is_infinite, m.less_(_magnitude(m, b), m.number(2.0 ** (1000 - LEAST))))
            vast = either(vast, both(_only(a, b), both(is_less, certain(m, b, 2.0**-900))))
            exponent = LEAST
    most = m.number(2.0 ** (min(b.error.vast_exponent, FRESH) - BELOW_VAST))
    is_small = m.less_(_magnitude(m, a), most)
    if a.error.absolute is not None:
        is_small = both(is_small, m.less_(a.error.absolute, most))
    nothing = both(_only(b, a), is_small)
    return vast, exponent, except_where(either(a.error.vast, b.error.vast), either(vast, nothing))


def _lies_near(m: Totals, a: DoubleWord, *, is_known: bool = True) -> Expression:
    """Whether a number beside a power of two is no far one, and known to a factor; or, if not, has a bound that is not far either."""
    zero, size, total = m.number(0.0), m.abs_(a.high), m.total(m.mantissa(a))
    found = both(m.less_(zero, size), m.less_(size, m.number(ORDINARY)))
    if total is not None:
        most = size if is_known else m.number(ORDINARY)
        found = both(found, m.less_(m.mul_(total, m.number(4.0)), most))
    if a.exponent is not None:
        found = both(found, m.less_(m.abs_(a.exponent), m.number(NEAR_POWER)))
    return except_where(found, a.error.vast)


def _of_far(m: Totals, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Found:
    """Products and quotients of far numbers and near ones, and of two whose exponents do not cancel."""
    assert result.exponent is not None
    bits, size = least_exponent(a, b), m.abs_(result.exponent)
    far, known = None, either(m.is_zero(a), m.is_infinity(a), m.is_zero(b), m.is_infinity(b))
    for one, other in ((a, b), (b, a)):
        if one.error.vast is not None:
            far = either(far, both(_only(one, other), _lies_near(m, other)))
    two = _both_vast(a, b)
    if two is not None and a.exponent is not None and b.exponent is not None:
        if bits > BITS_LEFT + 1:
            add_up, bits = m.less_(m.abs_(a.exponent), m.mul_(size, m.number(2.0**BITS_LEFT))), bits - BITS_LEFT
        else:  # an exponent without a right bit lies nearer to 0 than the exact one
            add_up = both(m.less_(m.abs_(a.exponent), size), m.less_(m.abs_(b.exponent), size))
        far = either(far, both(two, add_up))
    far = both(both(far, m.less_(m.number(FAR_POWER), size)), m.is_finite_(size))
    return far, max(bits - 1, 0), except_where(either(a.error.vast, b.error.vast), either(far, known))


def of_far_terms(m: Totals, a: DoubleWord, b: DoubleWord) -> Found | None:
    """Sums of far numbers and near ones or zeros, and of two far ones of one sign, or whose exponents differ."""
    if a.error.vast is None and b.error.vast is None:
        return None
    bits, zero, is_above = least_exponent(a, b), m.number(0.0), None
    far = both(_both_vast(a, b), _same_sign(m, a, b))
    for one, other in ((a, b), (b, a)):
        if one.error.vast is None or one.exponent is None:
            continue
        above = both(one.error.vast, m.less_(zero, one.exponent))
        is_above = either(is_above, above)
        far = either(far, both(above, _lies_near(m, other, is_known=False)))
        far = either(far, both(_only(one, other), m.is_zero(other)))
        if other.error.vast is not None and other.exponent is not None and bits > BITS_LEFT:
            distance = m.mul_(m.sub_(one.exponent, other.exponent), m.number(2.0**BITS_LEFT))
            differ = both(m.less_(m.abs_(one.exponent), distance), m.less_(m.abs_(other.exponent), distance))
            far = either(far, both(_both_vast(a, b), differ))
    return far, max(bits - 1, 0), except_where(is_above, either(far, m.is_infinity(a), m.is_infinity(b)))


def of_extreme(m: Totals, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Found | None:
    """The larger or smaller one: the vast one or an ordinary one."""
    if a.error.vast is None and b.error.vast is None:
        return None
    vast, known = _both_vast(a, b), _both_vast(a, b)
    for one, other in ((a, b), (b, a)):
        where = both(_only(one, other), _is_ordinary(m, other))
        known = either(known, where)
        vast = either(vast, both(where, m.equal_(result.high, one.high)))
    return vast, least_exponent(a, b), except_where(either(a.error.vast, b.error.vast), known)


def of_comparison(m: Totals, a: DoubleWord, b: DoubleWord) -> Expression | None:
    """The condition that a comparison is decided: of vast and ordinary numbers, or of vast ones with different signs."""
    different = None if _both_vast(a, b) is None else m.not_(_same_sign(m, a, b))
    known = both(_both_vast(a, b), different)
    for one, other in ((a, b), (b, a)):
        if one.error.vast is not None:
            known = either(known, both(_only(one, other), _is_ordinary(m, other)))
    return known


def of_nothing(m: Totals, result: DoubleWord, *operands: DoubleWord) -> Expression | None:
    """The condition that numbers have no sum, product or quotient: inf - inf, inf * 0, 0/0, of exact numbers of one word, zeros and
    infinities.
    """
    found: Expression | None = m.not_(m.equal_(result.high, result.high))
    for operand in operands:
        if not (operand.error.is_exact and operand.low is None):
            known = either(m.is_zero(operand), m.is_infinity(operand))
            found = both(found, known)
        found = except_where(found, either(operand.error.doubt, operand.error.vast))
    return found


def outside(m: Totals, u: DoubleWord, below: float = -math.inf, above: float = math.inf) -> Expression | None:
    """The condition that a number lies outside of a domain for sure: below the first number or above the second."""
    total = m.total(u)
    margin = None if u.low is None else m.mul_(m.abs_(u.high), m.number(2.0**-50))
    if total is not None:
        margin = total if margin is None else m.add_(total, margin)
        margin = m.mul_(margin, m.number(2.0))
    found: Expression | None = None
    for limit, is_above in ((below, False), (above, True)):
        if u.interval.high <= limit if is_above else u.interval.low >= limit:  # an infinite limit always
            continue
        end = m.number(limit)
        if margin is not None:
            end = m.add_(end, margin) if is_above else m.sub_(end, margin)
        found = either(found, m.less_(end, u.high) if is_above else m.less_(u.high, end))
    return except_where(found, u.error.doubt)
