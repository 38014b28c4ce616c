"""erf, erfc and the tail of the normal distribution, for each level.

With a = abs(x), E(a) = exp(a**2) erfc(a), which is smooth and slow, and t = (a - K) / (a + K):

    erfc(a) = exp(-a**2) E(a),   (1 + 9/8 a) E(a) = polynomial in t

(9/8 is near 2 / sqrt(pi), which makes the product flat at zero, so that the error of t matters little), so the tail
keeps its relative accuracy down to the smallest number; a**2 is held as a sum of two, because the exponential magnifies
its error. erfc(x) = 2 - erfc(-x) for negative x. erf(x) is 1 - erfc(x), and near zero, where that cancels, a polynomial
in x**2. The polynomials are ERFC and ERF of the derived numbers.

Where float64 computes what is wanted in float32, all of them are made of the normal distribution's upper tail, which
has no constant factors (NORMAL_TAIL of the quotients):

    Q(a) = erfc(a / sqrt(2)) / 2 = exp(-a**2 / 2) R(a),   R(a) = quotient of polynomials in a

So it is in float32. In pairs of float32 erf and Q are piecewise polynomials (piecewise.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from math import factorial, isqrt

from ogive.graph import elementary_functions as functions
from ogive.graph.expression import Expression
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.elementary.derived_numbers import (
    FAST,
    PIECEWISE,
    POLYNOMIALS,
    QUOTIENTS,
    SECOND_LEVEL,
    WORDS,
    numbers_in_single,
)
from ogive.lowering.numerics.elementary.exponential.exp import (
    FARTHEST,
    exp,
    exp_as_quotient,
    reduced_in_two_words,
    with_subnormals,
)
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    InSingle,
    anywhere,
    computed_by,
)
from ogive.lowering.numerics.elementary.piecewise import Piecewise, evaluated, less, odd_in_pairs
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic, low_of
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG, Machine

#: K, and where erfc is so small that its product with any number that comes with it is zero after rounding.
MIDDLE = 4.0
ZERO = 27.5

#: Beyond this erfc is nothing for the second level of float64: less than 2**-700,000.
FAR_TAIL = 700.0

#: The odd double factorials (2 k - 1)!!, of an asymptotic series that loses less than 2**-105 beyond ZERO; and how many of them
#: are taken in two words.
FAR_SERIES = tuple(Fraction(factorial(2 * k), 2**k * factorial(k)) for k in range(16))
FAR_SHORT = 9

#: How many coefficients of the second level's polynomial are in two words.
ERFC_SHORT = sum(len(parts) == 2 for parts in SECOND_LEVEL["ERFC"])

#: The number of coefficients of float64's own polynomial, for operands up to 27.5.
RISING = two_words.rising(WORDS["ERFC"], -11 / 12, 24.75 / 30.5)

#: 2 / sqrt(pi), to 200 bits.
TWO_OVER_ROOT_PI = Fraction(0x120DD750429B6D11AE3A914FED7FD8688281341D7587CEA2E73, 1 << 200)

#: 1 / sqrt(2), to 200 bits.
ROOT_HALF = Fraction(isqrt(1 << 399), 1 << 200)

#: The operand at which Q is zero in float32 even if the largest number comes with it, and exp(-a**2 / 2) still a normal number of
#: float64. (Its product with a is zero from 15.5 on, where NORMAL_TAIL ends.)
ZERO_IN_FLOAT64 = 37


def _erfc_of_magnitude(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """Erfc of a number that is not negative, with the power of two kept apart."""
    if not m.extended:
        # Not by the square of a number that was rounded: the exponential magnifies that.
        bounded = m.clamped(a, 0.0, m.rounded(ZERO_IN_FLOAT64 * ROOT_HALF)).high
        larger = m.mul_(bounded, m.number(m.rounded(1 / ROOT_HALF)))
        return DoubleWord(_tail(m, larger, m.mul_(bounded, bounded), -1.0, 2.0), interval=Interval(0.0, 1.01))
    if not m.of_doubles:
        a = m.clamped(a, 0.0, ZERO)
        return m.multiply(exp(m, m.negate(m.multiply(a, a))), _scaled(m, a))
    # Beyond ZERO it is less than all numbers, and nothing unless it is multiplied: that the second level computes.
    end = FAR_TAIL if m.is_long else ZERO
    magnitude, near, a = a.high, m.clamped(a, 0.0, ZERO), m.clamped(a, 0.0, end)
    scaled = _scaled(m, near)
    if m.is_long:
        scaled = m.select(m.less_(m.number(ZERO), magnitude), _far_scaled(m, a), scaled)
    found = m.multiply(exp(m, m.negate(m.multiply(a, a))), scaled)
    exponent = m.number(0.0) if found.exponent is None else found.exponent
    is_nothing = m.less_(m.number(end), magnitude)
    return replace(found, exponent=m.select_(is_nothing, m.number(-FARTHEST), exponent))


def _far_scaled(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """E(a) beyond ZERO, by the asymptotic series of ``a sqrt(pi) exp(a**2) erfc(a)`` in ``1 / (2 a**2)``: the first term that
    is left out is more than what is lost.
    """
    number = double_double.of_number(m, m.clamped(a, ZERO, FAR_TAIL))
    z = double_double.over(m, double_double.single(m, m.number(-0.5)), double_double.times(m, number, number))
    value = double_double.polynomial(m, z, FAR_SERIES, FAR_SHORT)
    value = double_double.times(m, value, double_double.constant(m, TWO_OVER_ROOT_PI / 2))
    return DoubleWord(*double_double.over(m, value, number), interval=Interval(0.0, 0.03), is_normal=True)


def _scaled(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """E(a)."""
    if m.is_long:
        return _long_scaled(m, a)
    one, number = m.number(1.0), (a.high, m.low_part(a))
    # One division serves (a - 11/4) / (a + 3) and 1 / (1 + 3/4 a).
    slope = m.mul_(a.high, m.number(0.75))
    product = slope, m.fma_(a.high, m.number(0.75), m.neg_(slope))
    product = product[0], m.fma_(number[1], m.number(0.75), product[1])
    denominator = two_words.sum_of_any(m, one, product)
    shifted, difference = (two_words.sum_of_any(m, m.number(middle), number) for middle in (3.0, -2.75))
    reciprocal = m.div_(one, m.mul_(shifted[0], denominator[0]))
    t = two_words.over(m, difference, shifted, m.mul_(denominator[0], reciprocal))
    value = two_words.polynomial(m, *t, two_words.numbers(m, WORDS["ERFC"]), RISING)
    quotient = two_words.over(m, value, denominator, m.mul_(shifted[0], reciprocal))
    return DoubleWord(*quotient, interval=Interval(0.02, 1.01))


@cache
def erfc_numbers() -> tuple[Fraction, ...]:
    """The coefficients of the polynomial in t, as they are stored."""
    return tuple(sum(map(Fraction, parts), Fraction(0)) for parts in SECOND_LEVEL["ERFC"])


def _long_scaled(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """E(a) in two right words."""
    number, middle = double_double.of_number(m, a), double_double.single(m, m.number(MIDDLE))
    t = double_double.over(
        m,
        double_double.plus(m, number, double_double.negative(m, middle)),
        double_double.plus_smaller(m, middle, number),
    )
    value = double_double.polynomial(m, t, erfc_numbers(), ERFC_SHORT, falls=False)
    slope = double_double.times(m, number, double_double.single(m, m.number(9 / 8)))
    high, low = double_double.over(m, value, double_double.plus(m, double_double.single(m, m.number(1.0)), slope))
    return DoubleWord(high, low, interval=Interval(0.02, 1.01), is_normal=True)


def _normal_tail_of_magnitude(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """Q of a number that is not negative."""
    if m.extended:
        return m.multiply(_erfc_of_magnitude(m, m.multiply(a, m.wide(ROOT_HALF))), m.wide(Fraction(1, 2)))
    bounded = m.clamped(a, 0.0, float(ZERO_IN_FLOAT64)).high
    return DoubleWord(_tail(m, bounded, m.mul_(bounded, bounded), -0.5), interval=Interval(0.0, 0.51))


def _tail(m: Arithmetic, a: Expression, exponent: Expression, factor: float, times: float = 1.0) -> Expression:
    """``times exp(factor exponent) R(a)``."""
    above, below = QUOTIENTS["NORMAL_TAIL"][LONG]
    dividend, divisor = exp_as_quotient(m, exponent, factor)
    scaled = tuple(c * times for c in above)
    return m.div_(m.mul_(dividend, m.polynomial_(a, scaled)), m.mul_(divisor, m.polynomial_(a, below)))


def scaled_normal_tail(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """R of a number that is not negative: below 39, or 15.5 for float32."""
    if m.extended:
        return m.multiply(_scaled(m, m.multiply(a, m.wide(ROOT_HALF))), m.wide(Fraction(1, 2)))
    return DoubleWord(m.quotient_(a.high, QUOTIENTS["NORMAL_TAIL"][LONG], m.number(1.0)), interval=Interval(0.02, 0.51))


def _of_either_sign(
    m: Arithmetic, x: DoubleWord, of_magnitude: Callable[[Arithmetic, DoubleWord], DoubleWord], whole: int
) -> DoubleWord:
    """A tail that is known of magnitudes: that of a negative number is what this leaves of the whole."""
    x = m.unscaled(x)
    if x.interval.low >= 0:
        return of_magnitude(m, x)
    tail = of_magnitude(m, m.absolute(x))
    other = m.subtract(m.wide(Fraction(whole)), tail)
    return replace(m.select(m.less_(x.high, m.number(0.0)), other, tail), interval=Interval(0.0, whole))


def normal_tail(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``erfc(x / sqrt(2)) / 2``, accurate in both tails."""
    return _of_either_sign(m, x, _normal_tail_of_magnitude, 1)


def erfc(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``1 - erf(x)``, accurate in both tails."""
    return _of_either_sign(m, x, _erfc_of_magnitude, 2)


def erf(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The error function."""
    x = m.unscaled(x)
    a = m.absolute(x)
    far = m.subtract(m.wide(Fraction(1)), _erfc_of_magnitude(m, a))
    is_near = m.less_(a.high, m.number(0.5))
    magnitude = m.select(is_near, erf_near_zero(m, a), far)
    return m.copy_sign(replace(magnitude, interval=Interval(0.0, 1.0)), x.high)


def erf_near_zero(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """The error function from 0 to 1/2."""
    if m.is_long:
        number = double_double.of_number(m, a)
        of_square = double_double.series(m, double_double.times(m, number, number), of_error_function, 0.2501)
        factor = double_double.times(m, of_square, double_double.constant(m, TWO_OVER_ROOT_PI))
        return DoubleWord(*double_double.times(m, number, factor), interval=Interval(0.0, 0.53), is_normal=True)
    if m.extended:
        word = a.high, m.low_part(a)
        of_word = two_words.polynomial(m, *two_words.square(m, *word), two_words.numbers(m, WORDS["ERF"]))
        return DoubleWord(*two_words.times(m, word, of_word), interval=Interval(0.0, 0.53))
    square = m.mul_(a.high, a.high)
    series = m.mul_(square, m.polynomial_(square, POLYNOMIALS["ERF"][LONG]))
    return m.multiply(a, m.add(m.wide(TWO_OVER_ROOT_PI), DoubleWord(series, interval=Interval(-0.1, 0.0))))


def of_error_function(k: int) -> Fraction:
    """erf(a) sqrt(pi) / (2 a) in a**2."""
    return Fraction((-1) ** k, factorial(k) * (2 * k + 1))


# ---- in float32: without a test, and with one


#: Up to this magnitude of a the product a Q(a) is a normal number.
LIMIT_OF_TAIL = 12.875


def tail_of_magnitude(m: Machine, a: Expression, *, is_short: bool) -> Expression:
    """``erfc(a / sqrt(2)) / 2`` of a number that is not negative."""
    less, above, below, shifted, _ = parts_of_tail(m, a, is_short=is_short)
    return m.div_(m.times_power_of_two_(m.fma_(less, above, above), shifted), below)


def parts_of_tail(
    m: Machine, a: Expression, *, is_short: bool
) -> tuple[Expression, Expression, Expression, Expression, Expression]:
    """``less``, ``above``, ``below``, n + magic and ``a**2``: the tail is ``2**n (less * above + above) / below``."""
    square = m.mul_(a, a)
    above, below = (_in_squares(m, a, square, part) for part in FAST["NORMAL_TAIL"])
    # exp(-a**2 / 2) times ``above``, but the exponential's last sum is never rounded.
    half = Argument(square, None, m.lost_of_product_(a, a, square), -1.0)
    shifted, r, rest = reduced_in_two_words(m, half, 0.5)
    series = (1.0, *numbers_in_single("EXP", is_short=is_short))
    less = m.fma_(
        m.polynomial_(r, tuple(c * -0.5 * (-0.5) ** i for i, c in enumerate(series))), r, m.mul_(rest, m.number(-0.5))
    )
    return less, above, below, shifted, square


def _in_squares(m: Machine, x: Expression, square: Expression, coefficients: tuple[float, ...]) -> Expression:
    """A polynomial of large numbers, by powers of the square of linear functions: half as many steps, and so about half
    the error of Horner's rule, where every step multiplies the error of the one before.
    """
    pairs = [coefficients[i : i + 2] for i in range(0, len(coefficients), 2)]
    value: Expression | None = None
    for low, *high in reversed(pairs):
        linear = m.fma_(x, m.number(high[0]), m.number(low)) if high and high[0] != 1 else m.number(low)
        if high and high[0] == 1:
            linear = m.add_(x, m.number(low))
        value = linear if value is None else m.fma_(value, square, linear)
    assert value is not None
    return value


def normal_tail_in_single(m: Machine, a: Argument) -> Expression:
    """The tail of the normal distribution beyond a number."""
    return _on_both_sides(m, a, tail_of_magnitude(m, a.magnitude(m).value(m), is_short=a.is_short))


def _on_both_sides(m: Machine, a: Argument, tail: Expression) -> Expression:
    """The tail of a number, of that of its magnitude."""
    if a.lies.low >= 0:
        return tail
    x, zero = replace(a, sign=1.0).value(m), m.number(0.0)
    is_negative = m.less_(*((x, zero) if a.sign > 0 else (zero, x)))
    return m.select_(is_negative, m.sub_(m.number(1.0), tail), tail)


def tested_normal_tail_in_single(x: SingleOperand, is_result: bool) -> Made:
    """The tail of any number."""
    m, lies = x.m, x.u.interval
    limit = LIMIT_OF_TAIL
    doubt = x.is_above(limit) if m.is_wide else None
    static = 0.0 if lies.high <= limit or m.is_wide else 2.0**-123
    near = m.clamped(x.u, -limit, limit).high
    tail = normal_tail_in_single(m, Argument(near, lies=lies, is_short=True))
    return tail, Interval(0.0, 0.5 if lies.low >= 0 else 1.0), static, doubt


# ---- in float32 for all numbers, where a processor has neither float64 nor fused multiply-add


#: Beyond this magnitude the tail of the normal distribution is zero in float32.
END_OF_TAIL = 14.5


def whole_normal_tail_in_single(m: Machine, a: Argument) -> Expression:
    """The tail of any number."""
    size, most = a.magnitude(m).value(m), m.number(END_OF_TAIL)
    size = m.select_(m.less_(most, size), most, size)
    less, above, below, shifted, square = parts_of_tail(m, size, is_short=False)
    tail = with_subnormals(m, m.fma_(less, above, above), shifted, m.mul_(square, m.number(-0.5)), below)
    return _on_both_sides(m, a, tail)


# ---- in pairs of float32


#: erf(w).
ERF = Piecewise(**PIECEWISE["ERF"])

#: erfc(w / sqrt(2)) / 2.
NORMAL_TAIL = Piecewise(**PIECEWISE["NORMAL_TAIL"])

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
    """``1 - erf(u)``, which is twice the tail of ``u sqrt(2)``."""
    u = m.multiply(u, m.constant(1 / ROOT_HALF))
    return m.multiply(normal_tail_in_pairs(m, u, is_result=False, reaches_all=False), m.constant(2.0))


# ---- the rows


def _slope_of_tail(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    """``2 abs(u) + 1.2`` times the value: more than the derivative of erfc, of the normal tail and of log_ndtr."""
    return m.mul_(m.abs_(f), m.fma_(m.abs_(u), m.number(2.0), m.number(1.2)))


def _room_of_tail(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.div_(m.number(1.0), m.fma_(m.abs_(u), m.number(2.0), m.number(1.2)))


OF_TAILS = Function(
    anywhere(1490.0),
    _slope_of_tail,
    _room_of_tail,
    underflows=True,
    is_of_square=True,
    nothing_beyond=700.0,
    cuts_off=True,
)

computed_by(
    functions.ERF,
    erf,
    Function(anywhere(1.0), lambda m, u, f: m.number(1.13), grows_as_operand=True),
    in_pairs=InPairs(partial(odd_in_pairs, ERF, 1.0)),
)
computed_by(functions.ERFC, erfc, OF_TAILS, in_pairs=InPairs(erfc_in_pairs))
computed_by(
    functions.NORMAL_TAIL,
    normal_tail,
    OF_TAILS,
    in_pairs=InPairs(normal_tail_in_pairs),
    in_single=InSingle(
        *(LIMIT_OF_TAIL, normal_tail_in_single, whole_normal_tail_in_single),
        tested=tested_normal_tail_in_single,
        reach=LIMIT_OF_TAIL,
    ),
)
