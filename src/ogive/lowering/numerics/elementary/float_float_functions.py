"""exp, expm1 and the logistic function in pairs of float32.

With n the integer nearest to ``32 u / log(2)``, r = u - n L and T = 2**(n / 32), where L is log(2) / 32 rounded to float32:

    exp(u) = T + T r + T q,   q = r**2 (1/2 + r/6 + r**2/24) + rest (1 + r)

``u - n L`` is exact: u, n L and r are multiples of 2**-30 where n is not zero, and r is smaller than 2**-6.5. The rest is what
L lacks of log(2) / 32, n times, and what the table's T lacks of the power, relative to it. n stands in the last bits of
``u 32 / log(2) 2**-22 + 2``: the lowest five are the table's index, and shifted they are added to T's exponent. Its other bits
are zero as long as n lies between -2048 and 2047. So one test finds all other operands, NaN among them.
Where exp is the result n has one bit more, larger operands are moved to where exp overflows, and a half of exp is computed and
added to itself.

For targets whose registers hold eight numbers there are eight powers in place of 32: then r is smaller than 2**-4.5, a multiple
of 2**-28, and q has one term more (`Powers`).

Functions of a positive number in pairs of float32: a polynomial in each of 32 intervals (derived_numbers.json).

With u = w - X, which is exact:

    f(w) = c0 + u (c1 + u c2 + u**2 q)

The two outer sums are leading parts, or three where u is larger, and what these lose goes to low words. The coefficients stand
in tables, of which the interval's number takes each; so does the bound. Intervals become shorter towards a pole: -1 for tanh, atan and
asinh, 1 for asin, acos, atanh and acosh.

sinh is ``exp(x) / 2 - exp(-x) / 2``, and near zero its series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format, node
from ogive.lowering.numerics.elementary.derived_numbers import PIECEWISE, TABLES, TWO_OVER_PI
from ogive.lowering.numerics.elementary.exponential.exp import exp_in_pairs
from ogive.lowering.numerics.elementary.exponential.logistic import logistic_slope
from ogive.lowering.numerics.elementary.exponential.powers_of_two import (
    HALVED,
    MOST,
    SIXTH,
    UNIT,
    bits_beyond,
)
from ogive.lowering.numerics.elementary.own_errors import PAIRED
from ogive.lowering.numerics.float_float import (
    LARGEST,
    SLACK,
    SMALLEST,
    Around,
    Conditions,
    FloatFloat,
    FloatFloatArithmetic,
    NoFloatFloat,
    U,
    low_of,
    unsigned,
)
from ogive.lowering.numerics.interval import Interval

__all__ = [
    "ACOS",
    "ACOSH",
    "ASIN",
    "ASINH",
    "ATAN",
    "ATANH",
    "ERF",
    "LEAST_OF_ACOSH",
    "NORMAL_TAIL",
    "OF_ASIN",
    "OF_ATANH",
    "TANH",
    "Piecewise",
    "acos_in_pairs",
    "acosh_in_pairs",
    "cosh_in_pairs",
    "erfc_in_pairs",
    "evaluated",
    "less",
    "log1p_in_pairs",
    "log_in_pairs",
    "log_of_base_in_pairs",
    "normal_tail_in_pairs",
    "odd_in_pairs",
    "sine_in_pairs",
    "sinh_in_pairs",
    "tanh_slope",
]


@dataclass(frozen=True)
class Piecewise:
    """A function, by intervals that lie around the multiples of ``1 / scale``, or are parts of binades of the distance from a pole."""

    scale: float | None
    most: float
    """The largest operand; larger ones are moved there."""
    is_signed: bool
    """Whether the function crosses zero: then bounds, errors and shares are absolute."""
    leading: int
    """How many sums are leading parts."""
    pole: float
    parts: int
    """How many intervals a binade has."""
    slope_errors: tuple[float, ...]
    """How wrong the slopes of the rule are, times the operand, relative to the function."""
    nodes: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    """The coefficients of all intervals, by powers of u."""
    bounds: tuple[float, ...]
    """Relative to the function."""
    shares: tuple[float, ...]
    """How large low words are at most, relative to the function."""
    lacks: tuple[float, ...] = ()
    """The parts that the slopes c1 lack; nothing if empty."""


#: erf(w).
ERF = Piecewise(**PIECEWISE["ERF"])

#: erfc(w / sqrt(2)) / 2.
NORMAL_TAIL = Piecewise(**PIECEWISE["NORMAL_TAIL"])


#: tanh(w).
TANH = Piecewise(**PIECEWISE["TANH"])

#: The inverse functions of cos, sin and tan.
ACOS, ASIN, ATAN = (Piecewise(**PIECEWISE[name]) for name in ("ACOS", "ASIN", "ATAN"))

#: The inverse functions of cosh, sinh and tanh.
ACOSH, ASINH, ATANH = (Piecewise(**PIECEWISE[name]) for name in ("ACOSH", "ASINH", "ATANH"))


def evaluated(m: FloatFloatArithmetic, table: Piecewise, argument: FloatFloat, steepness: float = 1.0) -> FloatFloat:
    """The function of a positive number, and its bound. Numbers beyond the last interval are moved into it.

    ``steepness``: the operand times the slope, relative to the function, is no more than this times the largest operand.
    """
    where, is_sure = argument.where, argument.is_single or argument.is_quotient
    argument = m.normalised(argument)
    if not (is_sure or argument.interval.largest_magnitude <= LARGEST):
        # The low word of a computed infinity is NaN: `inf * exp(-29)`.
        is_finite = m.less_equal_(m.abs_(argument.high), m.number(LARGEST))
        where = replace(where, holds=(*where.holds, is_finite))
    most = m.number(table.most)
    w = m.smaller_(most, argument.high)
    if table.scale is None:
        # A pole of 1 is moved by a last place, so that the distance of 0 is in the binade below 1.
        is_above = table.most > table.pole
        distance = m.add_(w, m.number(-table.pole)) if is_above else m.sub_(m.number(table.pole - U), w)
        index = m.shift_right_(m.bits_(distance), 24 - table.parts.bit_length())
    else:
        index = m.bits_(m.fma_(w, m.number(table.scale), m.number(m.magic)))

    def looked_up(numbers: tuple[float, ...]) -> Expression:
        return node(ops.TABLE, (index,), numbers, Format.F32)

    u = m.sub_(w, looked_up(table.nodes))
    coefficients = [looked_up(numbers) for numbers in table.coefficients]
    *tail, q = coefficients[table.leading + 1 :]
    for c in reversed(tail):
        q = m.fma_(q, u, c)
    square = m.mul_(u, u)
    high, low = coefficients[table.leading], None
    for k in reversed(range(table.leading)):
        c, inner = coefficients[k], high
        if k == 0 and table.is_signed:
            product = m.mul_(u, inner)
            high, lost = m.two_sum(c, product)
            lost = m.add_(lost, m.fma_(u, inner, m.neg_(product)))
        else:
            high = m.fma_(u, inner, c)
            lost = m.fma_(u, inner, m.neg_(m.sub_(high, c)))
        if k == 1 and table.lacks:
            lost = m.add_(lost, looked_up(table.lacks))
        low = m.fma_(square, q, lost) if low is None else m.fma_(u, low, lost)
    assert low is not None
    reach = table.most * steepness
    relative = argument.relative * reach + (argument.share * reach) ** 2
    times = m.roundings + (0 if argument.low is None else 1)
    pieces = zip(table.bounds, table.shares, table.slope_errors, strict=True)
    bound = looked_up(
        tuple(
            m.upwards(bound + times * U * share + relative + argument.share * slope) for bound, share, slope in pieces
        )
    )
    if argument.low is not None:
        # The function rises by its slope times the low word: c1 + 2 c2 u + 3 u**2 q, of all that is behind c2.
        _, c1, c2, c3, *_ = coefficients
        q = q if table.leading == 2 else m.fma_(u, q, c3)
        more = m.select_(m.less_(argument.high, most), argument.low, m.number(0.0))
        slope = m.fma_(u, m.fma_(m.mul_(u, m.number(3.0)), q, c2), m.fma_(u, c2, c1))
        low = m.fma_(more, slope, low)
    return FloatFloat(
        high,
        low=low,
        around=Around(m.number(1.0) if table.is_signed else high, bound, m.number(0.0)),
        covered=m.roundings,
        where=where,
    )


#: The root of 2.
ROOT_OF_TWO = Fraction(math.isqrt(2 << 200), 1 << 100)


def cosh_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    e = exp_in_pairs(m, m.absolute(u))
    return m.multiply(m.add(e, m.reciprocal(e)), m.constant(0.5))


#: Below this sinh is its series. Beyond it ``exp(-x) / 2`` is subtracted from ``exp(x) / 2``, which is larger.
LEAST_OF_SINH = 2.0**-5

#: 1/120.
HUNDRED_TWENTIETH = float.fromhex("0x1.111112p-7")


def sinh_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    u = m.normalised(u)
    size = m.absolute(u)
    e = exp_in_pairs(m, size, window=HALVED)
    inverse = m.reciprocal(replace(e, interval=Interval(0.5, e.interval.high)))
    assert inverse.scale is not None
    quarter = m.mul_(inverse.high, m.number(0.25))
    high = m.sub_(e.high, quarter)
    low = m.add_(m.fma_(m.neg_(quarter), inverse.scale, low_of(e)), m.sub_(m.sub_(e.high, high), quarter))
    w = size.high
    square = m.mul_(w, w)
    series = m.mul_(m.mul_(square, w), m.fma_(square, m.number(HUNDRED_TWENTIETH), m.number(SIXTH)))
    if size.low is not None:
        series = m.add_(series, size.low)
    is_near = m.less_(w, m.number(LEAST_OF_SINH))
    # Errors are relative to exp(x) / 2, which is larger than the result, and near zero to x.
    share = max(e.share + inverse.share + U, LEAST_OF_SINH**2 / 6 + size.share) * SLACK
    far = e.relative + inverse.relative + (2 + m.roundings) * U * share
    near = PAIRED["sinh near zero"] + u.relative + (m.roundings + 1) * U * share
    found = FloatFloat(
        m.select_(is_near, w, high),
        low=m.select_(is_near, series, low),
        around=Around(m.select_(is_near, w, e.high), m.bound(max(far, near) * SLACK), m.number(0.0)),
        covered=m.roundings,
        interval=Interval(0.0, math.exp(MOST)),
        is_nonzero=u.is_nonzero,
        may_be_zero=u.may_be_zero,
        lost=1.25 * u.lost + 4 * SMALLEST,
        where=e.where,
    )
    return with_sign(m, found, u, is_result=is_result)


def with_sign(m: FloatFloatArithmetic, size: FloatFloat, u: FloatFloat, *, is_result: bool) -> FloatFloat:
    """The number with the sign of u."""
    if u.interval.low >= 0:
        return size
    found = replace(size, turn=u.high)
    if is_result:
        return found
    lies = Interval(-size.interval.high, size.interval.high if u.interval.high > 0 else 0.0)
    return replace(m.settled(found), interval=lies)


def less(m: FloatFloatArithmetic, a: Expression, b: FloatFloat) -> tuple[Expression, Expression]:
    """``a - b`` in two words, of a number that is larger than b."""
    high = m.sub_(a, b.high)
    return high, m.sub_(m.sub_(m.sub_(a, high), b.high), low_of(b))


#: The beginning of the last interval of the normal tail, whose bound says nothing; and its slope, relative to it, up to there.
MOST_OF_TAIL = 30.5 / 31.45 * NORMAL_TAIL.most * (1 - 2.0**-10)
STEEPNESS = 6.5


def normal_tail_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """Q(u), and below zero ``1 - Q(abs(u))``, which is a half at least."""
    u = m.normalised(u)
    tail = m.with_roundings(evaluated(m, NORMAL_TAIL, m.absolute(u), STEEPNESS), 1)
    assert tail.around is not None
    zero = m.number(0.0)
    is_above = m.less_(zero, u.high)
    below = less(m, m.number(1.0), tail)
    high, low = (m.select_(is_above, *words) for words in zip((tail.high, low_of(tail)), below, strict=True))
    # The loss of 1 - Q is rounded some times.
    around = replace(tail.around, plus=m.select_(is_above, zero, m.number(2.0**-46)))
    is_inside = m.less_equal_(u.high, m.bound(MOST_OF_TAIL))
    where = replace(tail.where, holds=(*tail.where.holds, is_inside))
    lies = Interval(2.0**-33, 1.0)
    return replace(tail, high=high, low=low, around=around, interval=lies, is_nonzero=True, where=where)


def erfc_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    u = m.multiply(u, m.constant(ROOT_OF_TWO))
    return m.multiply(normal_tail_in_pairs(m, u, is_result=False, reaches_all=False), m.constant(2.0))


def tanh_slope(m: FloatFloatArithmetic, u: FloatFloat) -> FloatFloat:
    """``1 / cosh(u)**2``."""
    return m.multiply(logistic_slope(m, m.multiply(u, m.constant(2.0))), m.constant(4.0))


def odd_in_pairs(
    table: Piecewise,
    largest: float,
    m: FloatFloatArithmetic,
    u: FloatFloat,
    steepness: float = 1.0,
    *,
    is_result: bool,
    reaches_all: bool,
) -> FloatFloat:
    """A function that is zero at zero and no larger than that."""
    u = m.as_words(u)
    found = evaluated(m, table, m.absolute(u), steepness)
    lies = Interval(0.0, largest)
    found = replace(
        found,
        interval=lies,
        is_nonzero=u.is_nonzero,
        may_be_zero=u.may_be_zero,
        lost=1.25 * u.lost + 4 * SMALLEST,
    )
    return with_sign(m, found, u, is_result=is_result)


#: The slope times 1, relative to the function, up to the last interval: it begins 0.0049 below 1.
OF_ASIN, OF_ACOS = 20.0, 104.0

#: The slope times 1, relative to the function, up to the last interval: it begins 0.0049 below 1.
OF_ATANH = 60.0


def acos_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """acos(abs(u)), and pi less that for a negative number."""
    u = m.normalised(u)
    found = m.with_roundings(evaluated(m, ACOS, m.absolute(u), OF_ACOS), 1)
    assert found.around is not None
    pi = m.constant(2 / TWO_OVER_PI)
    high, low = less(m, pi.high, found)
    is_below = m.less_(u.high, m.number(0.0))
    high = m.select_(is_below, high, found.high)
    low = m.select_(is_below, m.add_(low, low_of(pi)), low_of(found))
    around = replace(found.around, plus=m.number(2.0**-45))
    return replace(found, high=high, low=low, around=around, interval=Interval(2.0**-4, 3.15), is_nonzero=True)


#: The beginning of the intervals of acosh.
LEAST_OF_ACOSH = 1.0625


def acosh_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    u = m.normalised(u)
    found = evaluated(m, ACOSH, u)
    where = replace(found.where, holds=(*found.where.holds, m.less_equal_(m.number(LEAST_OF_ACOSH), u.high)))
    return replace(found, interval=Interval(0.25, 4.0), is_nonzero=True, where=where)


#: Numbers m between this and twice it have no power of two beside them in logarithms.
LEAST_OF_LOG = 0.6875


def _log_of_sum(m: FloatFloatArithmetic, x: Expression, rest: Expression | None) -> FloatFloat:
    """log(x + rest), where the rest is no more than rounding x + rest loses.

    With m = x / 2**k, a factor c near 1 / m from a table, and r = c m - 1, which is exact:

        log(x) = k log(2) - log(c) + r + t (r P(r) - 1/2),   t = r**2

    ``k log(2) - log(c)`` is an exact number and a low word. Where it is zero nothing cancels: c is 1.
    """
    one = m.number(1.0)
    bits = m.bits_(x)
    moved = node(ops.SUBTRACT, (bits, m.whole(int(np.float32(LEAST_OF_LOG).view(np.int32)))), None, m.integer)
    index = m.shift_right_(moved, 18)
    power = m.shift_right_(moved, 23)
    shifted = m.shift_left_(power, 23)
    k = in_format(power, Format.F32)

    def looked_up(name: str) -> Expression:
        return node(ops.TABLE, (index,), TABLES[name], Format.F32)

    factor, (high_of_two, low_of_two) = looked_up("LOG_FACTORS"), TABLES["LOG_OF_TWO"]
    r = m.fma_(m.from_bits_(node(ops.SUBTRACT, (bits, shifted), None, m.integer)), factor, m.neg_(one))
    low = m.fma_(k, m.number(low_of_two), looked_up("LOG_LOWS"))
    lost_of_r = None
    if rest is not None:
        scale = m.from_bits_(node(ops.SUBTRACT, (m.bits_(one), shifted), None, m.integer))
        r, lost_of_r = m.fast_two_sum(r, m.mul_(m.mul_(rest, scale), factor))
    begin = m.fma_(k, m.number(high_of_two), looked_up("LOG_HIGHS"))
    high, lost = m.fast_two_sum(begin, r)
    square = m.mul_(r, r)
    c0, *others = map(m.number, TABLES["LOG_POLYNOMIAL"])
    p = others[-1]
    for c in (*reversed(others[:-1]), c0):
        p = m.fma_(p, r, c)
    low = m.add_(lost, low)
    if lost_of_r is not None:
        low = m.add_(low, m.fma_(m.neg_(lost_of_r), r, lost_of_r))
    low = m.fma_(square, m.fma_(p, r, m.number(-0.5)), low)
    of_square, of_result, largest, share = TABLES["LOG_ERRORS"]
    plus = m.mul_(square, m.bound(of_square + m.roundings * U * largest))
    around = Around(m.abs_(high), m.bound(of_result + m.roundings * U * share), plus)
    is_inside = m.less_equal_(m.number(2.0**-126), x), m.less_(x, m.number(math.inf))
    where = Conditions(holds=is_inside)
    lies = Interval(-88.0, 89.0)
    return FloatFloat(high, low=low, around=around, covered=m.roundings, interval=lies, may_be_zero=high, where=where)


def log_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    u = m.normalised(u)
    found = _log_of_sum(m, u.high, u.low)
    relative = u.relative + u.lost * 2.0**126
    if relative > U * U * 16:
        raise NoFloatFloat("a logarithm of a number with an error")
    if relative:
        assert found.around is not None
        plus = m.add_(found.around.plus, m.bound(relative))
        found = replace(found, around=replace(found.around, plus=plus))
    return replace(found, where=Conditions(u.where.doubts, (*u.where.holds, *found.where.holds)))


def log_of_base_in_pairs(
    base: Fraction, m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool
) -> FloatFloat:
    return m.multiply(log_in_pairs(m, u, is_result=False, reaches_all=False), m.constant(1 / base))


def log1p_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    u = m.as_words(u)
    if not u.is_single:
        raise NoFloatFloat("log1p of a computed number")
    one = m.number(1.0)
    found = _log_of_sum(m, *m.two_sum(one, u.high))
    found = replace(found, may_be_zero=u.may_be_zero)
    return replace(found, sign=u.high) if is_result else replace(found, high=m.make(ops.COPY_SIGN, found.high, u.high))


#: Angles are reduced by n multiples of pi / 32, where n is smaller. So many make a half turn, and this bit of n says how many.
LARGEST_TURN = 1 << 13
HALF_TURN, BIT_OF_HALVES = 32, 5

#: Angles have no larger error, relative to them.
LARGEST_ERROR_OF_ANGLE = 2.0**-35


def sine_in_pairs(
    ahead: int, m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool
) -> FloatFloat:
    """The sine of an angle that lies so many multiples of pi / 32 further.

    With n the integer nearest to ``32 u / pi`` and L, which is pi / 32 rounded to float32, ``r = u - n L`` is exact: n L is a
    multiple of 2**-28 where n is not zero, and r is smaller than 2**-4. The rest is what L lacks, n times, and how far the node X
    is from its multiple of pi / 32. Its sine S and its cosine C are float32 numbers:

        sin(X + w) = S + C r + C rest + z (S P(z) + C w Q(z)),   w = r + rest,   z = w**2

    Of operands near zero S and the rest are zero: then errors are a share of z alone.
    """
    u = m.normalised(u)
    if u.relative > LARGEST_ERROR_OF_ANGLE:
        raise NoFloatFloat("a sine of a number with an error")
    is_last = is_result and u.is_single
    first, second = TABLES["STEP_OF_ANGLES"]
    middle = m.number(2.0 + (LARGEST_TURN + HALF_TURN // 2 + ahead) * UNIT)
    shifted = m.fma_(u.high, m.number(m.rounded(Fraction(UNIT) / Fraction(first))), middle)
    n = m.sub_(shifted, middle)
    bits = m.bits_(shifted)

    def looked_up(name: str) -> Expression:
        return node(ops.TABLE, (bits,), TABLES[name], Format.F32)

    sine, cosine, zero = looked_up("SINES"), looked_up("COSINES"), m.number(0.0)
    r = m.fma_(n, m.number(-first / UNIT), u.high)
    back = m.fma_(n, m.number(second / UNIT), looked_up("LOWER_OFFSETS" if is_last else "OFFSETS"))
    is_near_zero = None if ahead else m.equal_(n, zero)
    if is_near_zero is not None:
        back = m.select_(is_near_zero, zero, back)
    if u.low is not None:
        back = m.sub_(back, u.low)
    w = m.sub_(r, back)
    high = m.fma_(cosine, r, sine)
    lost = m.fma_(cosine, r, m.neg_(m.sub_(high, sine)))
    rest = m.fma_(m.neg_(back), cosine, lost)
    z = m.mul_(w, w)
    p0, p1, q0, q1 = map(m.number, TABLES["SINE_SERIES"])
    of_square, beside, share, low_beside = TABLES["SINE_ERRORS"]
    less, above = TABLES["SINE_ENDS"]
    p = m.fma_(z, p1, p0)
    p = m.fma_(sine, p, m.number(-less)) if is_last else m.mul_(sine, p)
    low = m.fma_(z, m.fma_(m.mul_(cosine, w), m.fma_(z, q1, q0), p), rest)
    is_inside = node(ops.EQUAL, (bits_beyond(shifted, 2 * LARGEST_TURN), unsigned(0)), None, Format.BIT)
    turn = m.from_bits_(m.shift_left_(bits, 31 - BIT_OF_HALVES))
    found = FloatFloat(
        high,
        low=low,
        interval=Interval(-1.0, 1.0),
        is_nonzero=u.is_nonzero or bool(ahead),  # where it is zero all the same the bound is not
        may_be_zero=u.may_be_zero,
        lost=u.lost + 4 * SMALLEST,
        where=Conditions(u.where.doubts, (*u.where.holds, is_inside)),
    )

    def unless_near_zero(value: Expression, otherwise: Expression) -> Expression:
        return value if is_near_zero is None else m.select_(is_near_zero, otherwise, value)

    if is_last:
        upper = m.fma_(z, m.number(above), unless_near_zero(m.add_(low, looked_up("UPPER_ENDS")), low))
        return replace(found, other_end=upper, turn=turn)
    plus = unless_near_zero(m.bound(beside + m.roundings * U * low_beside), zero)
    if u.low is not None:
        plus = m.fma_(m.abs_(u.high), m.bound((u.relative + (m.roundings + 4) * U * U) * SLACK), plus)
    return replace(
        found,
        high=m.signed(high, turn),
        low=m.signed(low, turn),
        around=Around(m.bound(of_square + m.roundings * U * share), z, plus),
        covered=m.roundings,
    )
