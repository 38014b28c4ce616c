"""log, log2, log10 and log1p, for each level.

With k such that m = x / 2**k lies in [sqrt(1/2), sqrt(2)), and f = m - 1:

    log(x) = k log(2) + f - f**2 / 2 + f**3 Q(f)

Q is LOG1P of the coefficients. Where float64 computes what is wanted in float32, log(1 + f) is a quotient: of all f by
LOG1P_QUOTIENT, and where 1 + x is not to be reduced, because x lies between 0 and 1, by LOG1P_TO_ONE. For powers,
whose exponents magnify the error of the logarithm:

    log(x) = k log(2) + 2 atanh(s),   s = f / (2 + f),   atanh(s) = s + s**3 / 3 + s**5 / 5 + s**7 R(s**2)

R is ATANH of the coefficients. In float32 log1p of a number from 0 to 1 is x times a polynomial, and in pairs of float32 a table has
reciprocals and logarithms (`_log_of_sum`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from ogive.graph import elementary_functions as functions
from ogive.graph import irrational_numbers
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS, QUOTIENTS, TABLES, WORDS, numbers_in_single
from ogive.lowering.numerics.elementary.exponential.exp import FARTHEST, LOG_2, ROUNDED_LOG_2, exponential_less_one
from ogive.lowering.numerics.elementary.function_row import Function, InPairs, InSingle, computed_by, of_operand
from ogive.lowering.numerics.float_float import Around, Conditions, FloatFloat, FloatFloatArithmetic, NoFloatFloat, U
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG, Machine
from ogive.lowering.numerics.single import NoSingle
from ogive.lowering.numerics.truths import both, either

#: The logarithms of e and 2 to base 10, to 250 bits.
LOG10_E = Fraction(0x1BCB7B1526E50E32A6AB7555F5A67B8647DC68C048B934404747E5A89EF1D4A, 1 << 250)
LOG10_2 = irrational_numbers.LOG_2 * LOG10_E

#: The bits of an exponent and of a power of two that is kept apart, as far as FARTHEST / log(2).
BITS_OF_SCALED = 22

#: The bits of sqrt(1/2), rounded.
ROOT_HALF = 0x3FE6A09E667F3BCD


def log(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The natural logarithm."""
    if m.of_doubles and x.exponent is not None:
        return _of_scaled(m, x, lambda f, f_low, k: _assemble(m, f, f_low, k, BITS_OF_SCALED))
    x = m.renormalised(m.unscaled(x))
    return _with_special_cases(m, x, _assemble(m, *_reduced_beside_nan(m, x)))


def _of_scaled(
    m: Arithmetic, x: DoubleWord, of_parts: Callable[[Expression, Expression | None, Expression], DoubleWord]
) -> DoubleWord:
    """A logarithm of a number with a power of two beside it, which is added to its own; infinite where that is vast."""
    assert x.exponent is not None
    number = m.renormalised(m.mantissa(x))
    f, f_low, k = _reduced_beside_nan(m, number)
    found = _with_special_cases(m, number, of_parts(f, f_low, m.add_(k, x.exponent)))
    vast, infinity, zero = m.number(FARTHEST / 2), m.number(math.inf), m.number(0.0)
    # A mantissa that is NaN or negative has the logarithm that it has, whatever stands beside it. It is zero of an infinite
    # operand (`propagation._zero_at`), which its interval does not say.
    is_vast = both(m.less_(zero, number.high), m.less_(vast, x.exponent))
    is_tiny = both(m.less_equal_(zero, number.high), m.less_(x.exponent, m.neg_(vast)))
    high = m.select_(is_vast, infinity, m.select_(is_tiny, m.neg_(infinity), found.high))
    is_infinite = either(is_vast, is_tiny)
    low = None if found.low is None else m.select_(is_infinite, zero, found.low)
    return replace(found, high=high, low=low, interval=x.interval.map(_log))


def log2(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The logarithm to base 2: exact at powers of two, where f is zero."""
    return _to_base(m, x, 1 / irrational_numbers.LOG_2, Fraction(1))


def log10(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The logarithm to base 10."""
    return _to_base(m, x, LOG10_E, LOG10_2)


def _to_base(m: Arithmetic, x: DoubleWord, per_log: Fraction, per_power_of_two: Fraction) -> DoubleWord:
    """``k per_power_of_two + log(1 + f) per_log``."""
    if m.of_doubles and x.exponent is not None:
        return _of_scaled(
            m, x, lambda f, f_low, k: _parts_to_base(m, f, f_low, k, per_log, per_power_of_two, BITS_OF_SCALED)
        )
    x = m.renormalised(m.unscaled(x))
    f, f_low, k = _reduced_beside_nan(m, x)
    if not m.extended:
        of_rest = m.quotient_(f, QUOTIENTS["LOG1P_QUOTIENT"][m.polynomials], m.mul_(f, m.number(m.rounded(per_log))))
        result = DoubleWord(m.fma_(k, m.number(m.rounded(per_power_of_two)), of_rest))
        return _with_special_cases(m, x, result)
    return _with_special_cases(m, x, _parts_to_base(m, f, f_low, k, per_log, per_power_of_two))


def _parts_to_base(
    m: Arithmetic,
    f: Expression,
    f_low: Expression | None,
    k: Expression,
    per_log: Fraction,
    per_power_of_two: Fraction,
    bits: int = double_double.BITS_OF_EXPONENT,
) -> DoubleWord:
    natural = DoubleWord(*_of_rest(m, f, f_low), interval=Interval(-0.35, 0.35))
    if m.is_long:
        rest = double_double.times(m, double_double.of_number(m, natural), double_double.constant(m, per_log))
        whole = times_log_2(m, k, per_power_of_two / irrational_numbers.LOG_2, bits)
        return DoubleWord(*double_double.plus_smaller(m, whole, rest), is_normal=True)
    scaled = m.renormalised(m.multiply(natural, m.wide(per_log)))
    # The first part is so short that its product with k is exact; the product is zero or larger than the rest.
    first = _shortened(per_power_of_two, m.precision - 1 - bits)
    high, low = m.fast_two_sum(m.mul_(k, m.number(first)), scaled.high)
    low = m.add_(low, m.low_part(scaled))
    if first != per_power_of_two:
        low = m.fma_(k, m.number(m.rounded(per_power_of_two - first)), low)
    return m.renormalised(DoubleWord(high, low))


def _shortened(value: Fraction, bits: int) -> Fraction:
    """A number between 1/4 and 2, cut off."""
    return Fraction(int(value * 2**bits), 2**bits)


def precise_log(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The natural logarithm with an error of 2**-70 (2**-40 for float32); of zero and infinity garbage."""
    f, f_low, k = reduced(m, m.renormalised(m.unscaled(x)))
    if m.is_long:
        return _assemble(m, f, f_low, k)
    fraction = DoubleWord(f, f_low, interval=Interval(-0.3, 0.42))
    s = m.divide(fraction, m.add(m.wide(2.0), fraction))
    square = m.multiply(s, s)
    rest = DoubleWord(
        m.mul_(square.high, m.polynomial_(square.high, POLYNOMIALS["ATANH"][m.polynomials])),
        interval=Interval(0.0, 0.01),
    )
    series = m.add(m.wide(Fraction(1, 5)), rest)
    series = m.add(m.wide(Fraction(1, 3)), m.multiply(square, series))
    double = m.multiply(s, m.wide(2.0))
    logarithm = m.add(double, m.multiply(double, m.multiply(square, series)))
    log2_high, log2_low = (m.number(float.fromhex(part)) for part in LOG_2[m.format])
    if not m.extended:
        return DoubleWord(m.fma_(k, log2_high, m.fma_(k, log2_low, logarithm.high)))
    # k log(2) is zero or larger than the rest.
    high, low = m.fast_two_sum(m.mul_(k, log2_high), logarithm.high)
    low = m.fma_(k, log2_low, m.add_(low, m.low_part(logarithm)))
    return m.renormalised(DoubleWord(high, low))


def log1p(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``log(1 + x)``: with 1 + x only used to find k, ``f = x / 2**k + (1 / 2**k - 1)`` keeps all of x."""
    x = m.unscaled(x)
    if not m.extended and x.interval.within(0.0, 1 + 2.0**-10):
        return DoubleWord(
            m.quotient_(x.high, QUOTIENTS["LOG1P_TO_ONE"][LONG], x.high), interval=x.interval.map(math.log1p)
        )
    total = m.add(m.wide(Fraction(1)), x)
    one, zero = m.number(1.0), m.number(0.0)
    if total.interval.within(0.75, 2.75):  # there k is 0 or 1
        is_large = m.less_equal_(m.number(m.rounded(Fraction(math.sqrt(2)))), total.high)
        k, scale = m.select_(is_large, one, zero), m.select_(is_large, m.number(0.5), one)
    else:
        k_bits, k = _exponent(m, total.high)
        if total.interval.within(2.0**-60, 2.0**60):
            power = m.shift_left_(k_bits, m.precision - 1)
            scale = m.from_bits_(_subtract(m.whole(m.bias << (m.precision - 1)), power))
        else:
            # The inverse of the power of other numbers would underflow, which takes some processors a hundred cycles.
            scale = m.scale_(one, m.neg_(m.select_(is_ordinary(m, total), k, zero)))
    offset = m.sub_(scale, one)
    if m.is_long:
        scaled = m.mul_(x.high, scale), m.mul_(m.low_part(x), scale)
        f, f_low = double_double.plus(m, m.two_sum(scale, m.number(-1.0)), scaled)
        result = _assemble(m, f, f_low, k)
    elif m.extended:
        f, f_low = m.two_sum(offset, m.mul_(x.high, scale))
        if not total.interval.within(0.75, 2.75):
            # 1 / 2**k - 1 has lost its smaller part where k is large.
            f_low = m.add_(f_low, m.sub_(scale, m.add_(offset, one)))
        if x.low is not None:
            f_low = m.fma_(m.low_part(x), scale, f_low)
            if total.interval.low < 0.75:  # next to -1 the second word of x is no longer small beside 1 + x
                f, f_low = m.two_sum(f, f_low)
        result = _assemble(m, f, f_low, k)
    else:
        result = _assemble(m, m.fma_(x.high, scale, offset), None, k)
    result = _with_special_cases(m, total, result)
    if x.interval.low > 0:
        return result
    # 0 + -0 has forgotten the sign, which the square root of -0 has, too.
    return m.select(m.equal_(x.high, zero), DoubleWord(x.high, interval=Interval.point(0.0)), result)


def half_log_of_quotient(m: Arithmetic, a: Expression) -> Expression:
    """``log((1 + a) / (1 - a)) / 2`` where a lies between 0 and 1, good to float32, with one division.

    With k the integer nearest to the logarithm to base 2 of the quotient, as bits have it, (1 + s) / (1 - s) is the
    quotient less 2**k, and near 1; without it, s is a itself.
    """
    one = m.number(1.0)
    bits = _subtract(m.bits_(m.add_(one, a)), m.bits_(m.sub_(one, a)))
    k_bits, k = _exponent_of_bits(m, node(ops.ADD, (bits, m.whole(1 << (m.precision - 2))), None, m.integer))
    shifted = m.shift_left_(k_bits, m.precision - 1)
    power = m.from_bits_(node(ops.ADD, (shifted, m.bits_(one)), None, m.integer))
    total, difference = m.add_(one, power), m.sub_(one, power)
    s = m.div_(m.fma_(a, total, difference), m.fma_(a, difference, total))
    square = m.mul_(s, s)
    series = m.fma_(m.mul_(square, m.polynomial_(square, POLYNOMIALS["ATANH_SHORT"][LONG])), s, s)
    return m.fma_(k, m.number(ROUNDED_LOG_2 / 2), series)


def reduced(m: Arithmetic, x: DoubleWord) -> tuple[Expression, Expression | None, Expression]:
    """(f, what f lacks, k) with ``x = 2**k (1 + f)``, sqrt(1/2) <= 1 + f <= sqrt(2), of a normal number."""
    high, low = x.high, None if x.low is None else m.low_part(x)
    offset = None
    if x.interval.low < m.smallest_normal:  # subnormal numbers are made normal first
        small = m.less_(high, m.number(m.smallest_normal))
        lift = m.number(2.0 ** (m.precision + 1))
        high = m.select_(small, m.mul_(high, lift), high)
        if low is not None:
            low = m.select_(small, m.mul_(low, lift), low)
        offset = m.select_(small, m.number(m.precision + 1.0), m.number(0.0))
    k_bits, k = _exponent(m, high)
    shift = m.precision - 1
    f = m.sub_(m.from_bits_(_subtract(m.bits_(high), m.shift_left_(k_bits, shift))), m.number(1.0))
    f_low = None
    if low is not None:
        # abs(f) >= abs(low / 2**k) unless f is zero: f is a difference of neighbours or more.
        f, f_low = m.fast_two_sum(f, m.scale_(low, m.neg_(k)))
    if offset is not None:
        k = m.sub_(k, offset)
    return f, f_low, k


def _reduced_beside_nan(m: Arithmetic, x: DoubleWord) -> tuple[Expression, Expression | None, Expression]:
    """The same, with NaN for NaN, whose bits are those of some number otherwise. `_with_special_cases` sees to the others."""
    f, f_low, k = reduced(m, x)
    return (m.fma_(x.high, m.number(0.0), f) if _is_never_special(m, x) else f), f_low, k


def _exponent(m: Arithmetic, x: Expression) -> tuple[Expression, Expression]:
    """k, as an integer and as a number: the exponent of x / sqrt(1/2)."""
    return _exponent_of_bits(m, _subtract(m.bits_(x), m.whole(ROOT_HALF)))


def is_ordinary(m: Arithmetic, x: DoubleWord) -> Expression:
    """Whether a number is positive and finite."""
    is_positive = m.less_(m.number(0.0), x.high)
    return is_positive if m.is_bounded(x.interval) else both(is_positive, m.less_(x.high, m.number(math.inf)))


def _exponent_of_bits(m: Arithmetic, bits: Expression) -> tuple[Expression, Expression]:
    """The exponent, as an integer and as a number, in the difference of two numbers' bits."""
    k = m.shift_right_(bits, m.precision - 1)
    # Few processors convert 64-bit integers; the last bits of a large number are an integer too.
    magic = m.number(m.magic)
    shifted = node(ops.ADD, (k, m.bits_(magic)), None, m.integer)
    return k, m.sub_(m.from_bits_(shifted), magic)


def _is_never_special(m: Arithmetic, x: DoubleWord) -> bool:
    """Whether this is a positive normal number, or NaN, which passes through."""
    return x.interval.within(m.smallest_normal, m.largest)


def _with_special_cases(m: Arithmetic, x: DoubleWord, result: DoubleWord) -> DoubleWord:
    """The logarithm of x, given what arithmetic made of it: right for positive finite numbers."""
    interval, zero = x.interval.map(_log), m.number(0.0)
    if _is_never_special(m, x):
        return replace(result, interval=interval)
    ordinary, special, infinity = is_ordinary(m, x), m.number(math.nan), m.number(math.inf)
    if not m.is_bounded(x.interval):
        special = m.select_(m.equal_(x.high, infinity), infinity, special)
    special = m.select_(m.equal_(x.high, zero), m.number(-math.inf), special)
    low = None if result.low is None else m.select_(ordinary, result.low, zero)
    high = m.select_(ordinary, result.high, special)
    return DoubleWord(high, low, interval=interval, is_normal=result.is_normal)


def _assemble(
    m: Arithmetic, f: Expression, f_low: Expression | None, k: Expression, bits: int = double_double.BITS_OF_EXPONENT
) -> DoubleWord:
    """``k log(2) + log1p(f + f_low)`` for k of so many bits."""
    if not m.extended:
        return DoubleWord(
            m.fma_(k, m.number(ROUNDED_LOG_2), m.quotient_(f, QUOTIENTS["LOG1P_QUOTIENT"][m.polynomials], f))
        )
    first, low = _of_rest(m, f, f_low)
    if m.is_long:
        return DoubleWord(*double_double.plus_smaller(m, times_log_2(m, k, bits=bits), (first, low)), is_normal=True)
    log2_high, log2_low = (m.number(float.fromhex(part)) for part in LOG_2[m.format])
    # k log(2) is zero or larger than the rest.
    if bits > double_double.BITS_OF_EXPONENT:
        whole, rest = times_log_2(m, k, bits=bits)
        high, lost = m.fast_two_sum(whole, first)
        return m.renormalised(DoubleWord(high, m.add_(m.add_(rest, low), lost)))
    high, lost = m.fast_two_sum(m.mul_(k, log2_high), first)
    low = m.add_(m.fma_(k, log2_low, low), lost)
    return m.renormalised(DoubleWord(high, low))


def times_log_2(
    m: Arithmetic, k: Expression, factor: Fraction = Fraction(1), bits: int = double_double.BITS_OF_EXPONENT
) -> double_double.Pair:
    """``k log(2) factor`` of a whole number of up to so many bits; the factor lies between 1/2 and 2."""
    first, rest = double_double.split(irrational_numbers.LOG_2 * factor, bits)
    whole = double_double.single(m, m.mul_(k, m.number(float(first))))
    return double_double.plus_smaller(m, whole, double_double.times_whole(m, k, rest))


def _of_rest(m: Arithmetic, f: Expression, f_low: Expression | None) -> tuple[Expression, Expression]:
    """``log1p(f + f_low)``."""
    if not m.is_long:
        return _words_of_rest(m, f, f_low)
    # One step of Newton's method: y + log1p(z), z = (1 + f) exp(-y) - 1, which is so small that two terms are enough.
    number = (f, m.number(0.0) if f_low is None else f_low)
    y = m.add_(*_plain_of_rest(m, f, f_low))
    power = exponential_less_one(m, double_double.single(m, m.neg_(y)))
    z = double_double.plus(m, double_double.plus(m, number, power), double_double.times(m, number, power))
    return double_double.plus_smaller(
        m, double_double.single(m, y), (z[0], m.fma_(m.mul_(z[0], m.number(-0.5)), z[0], z[1]))
    )


def _words_of_rest(m: Arithmetic, f: Expression, f_low: Expression | None) -> tuple[Expression, Expression]:
    """The rest of a logarithm to 2**-60: s times a series in s**2, s = f / (1 + f / 2)."""
    half = m.number(0.5)
    divisor, rest = m.fast_two_sum(m.number(1.0), m.mul_(f, half))
    dividend = f, m.number(0.0) if f_low is None else f_low
    rest = rest if f_low is None else m.fma_(f_low, half, rest)
    s = two_words.over(m, dividend, (divisor, rest), m.div_(m.number(1.0), divisor))
    return two_words.odd(m, s, two_words.square(m, *s), two_words.numbers(m, WORDS["LOG"]))


def _plain_of_rest(m: Arithmetic, f: Expression, f_low: Expression | None) -> tuple[Expression, Expression]:
    """The same with a second word that was rounded several times."""
    square = m.mul_(f, f)
    half = m.mul_(square, m.number(0.5))
    tail = m.mul_(m.mul_(f, square), m.polynomial_(f, POLYNOMIALS["LOG1P"][Format.F64]))
    first, lost = m.fast_two_sum(f, m.neg_(half))
    low = m.fma_(m.number(-0.5), m.fma_(f, f, m.neg_(square)), m.add_(lost, tail))
    if f_low is not None:
        low = m.add_(low, m.fma_(m.neg_(f), f_low, f_low))
    return first, low


def _subtract(a: Expression, b: Expression) -> Expression:
    return node(ops.SUBTRACT, (a, b), None, a.format)


def _log(bound: float) -> float:
    return -math.inf if bound <= 0 else math.inf if bound == math.inf else math.log(bound)


# ---- in float32: without a test, and with one


def log1p_to_one(m: Machine, a: Argument) -> Expression:
    """``log(1 + a)`` where a lies between 0 and 1."""
    x = a.value(m)
    return m.mul_(x, m.polynomial_(x, numbers_in_single("LOG1P", is_short=a.is_short)))


#: The largest operand of a logarithm that has a rule.
ONE_AND_MORE = 1 + 2.0**-10


def tested_log1p_in_single(x: SingleOperand, is_result: bool) -> Made:
    """``log(1 + x)`` where x lies between 0 and 1."""
    m = x.m
    if not x.u.interval.within(0.0, ONE_AND_MORE):
        raise NoSingle("log1p of other numbers than those from 0 to 1")
    static = m.lost if x.u.error.least < m.smallest_normal else 0.0
    return log1p_to_one(m, Argument(x.u.high, is_short=True)), x.u.interval.map(math.log1p), static, None


# ---- in pairs of float32


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


# ---- the rows


def _reciprocal(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.div_(m.number(1.0), m.abs_(u))


def _reciprocal_and_more(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    """``1.45 / abs(u)``: more than the derivative of the logarithm to base 2."""
    return m.div_(m.number(1.45), m.abs_(u))


def _reciprocal_of_next(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.div_(m.number(1.0), _next(m, u, f))


def _next(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.abs_(m.add_(u, m.number(1.0)))


_LOGARITHM = Function((), _reciprocal, of_operand, largest=800.0, is_logarithm=True, takes_exponents=True, exact_at=1.0)

computed_by(functions.LOG, log, _LOGARITHM, in_pairs=InPairs(log_in_pairs))
computed_by(
    functions.LOG2,
    log2,
    Function((), _reciprocal_and_more, of_operand, largest=1100.0, takes_exponents=True, exact_at=1.0),
    in_pairs=InPairs(partial(log_of_base_in_pairs, irrational_numbers.LOG_2)),
)
computed_by(
    functions.LOG10, log10, _LOGARITHM, in_pairs=InPairs(partial(log_of_base_in_pairs, irrational_numbers.LOG_10))
)
computed_by(
    functions.LOG1P,
    log1p,
    Function(((Interval(-0.5, math.inf), 1.45),), _reciprocal_of_next, _next, largest=800.0, grows_as_operand=True),
    in_pairs=InPairs(log1p_in_pairs),
    in_single=InSingle(
        plain=log1p_to_one, whole=log1p_to_one, domain=Interval(0.0, ONE_AND_MORE), tested=tested_log1p_in_single
    ),
)
