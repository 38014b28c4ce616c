"""exp, exp2, expm1 and the logistic function.

With n the integer nearest to x / log(2) and r = x - n log(2), abs(r) <= log(2) / 2:

    exp(x)   = 2**n * (1 + r + r**2 P(r))
    expm1(x) = 2**n * (r + r**2 P(r)) + (2**n - 1)

and exp2(x) is exp((x - n) log(2)) 2**n, with n the integer nearest to x, so that x - n is exact. P is EXP of the
polynomials. log(2) is subtracted in two parts, the first so short that its product with
n is exact (Cody and Waite). Where float64 computes what is wanted in float32, one part is enough, and 1 + r + r**2 P(r) is
taken in a form of shorter chains (`of_ninth_degree`). A rule that divides anyway has half as many multiplications by a quotient, whose
A is even and has four coefficients (COTH) where the polynomial has ten:

    exp(r) = (A + r) / (A - r),   A = r coth(r / 2)

    logistic(x) = (A + r) / (A + r + 2**-n (A - r))
    expm1(x)    = ((2**n - 1) A + (2**n + 1) r) / (A - r)
    tanh(x / 2) = ((2**n - 1) A + (2**n + 1) r) / ((2**n + 1) A + (2**n - 1) r)

The last two have no cancellation near zero, where n is zero. expm1 would not divide otherwise; but a division waits for
itself alone, beside the multiplications of other elements.

The forms of shorter chains of instructions, which wait for each other, have fewer multiplications than Horner's
rule. Their loss of precision (5 or 6 bits) does not show where float64 computes results of float32.
The coefficients come from those of the same polynomial by powers, in accuracy/derive_coefficients.py.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ogive.graph import elementary_functions as functions
from ogive.graph import irrational_numbers
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS, WORDS
from ogive.lowering.numerics.elementary.fast import exp_in_single, expm1_in_single, logistic_in_single
from ogive.lowering.numerics.elementary.float_float_functions import (
    exp2_in_pairs,
    expm1_in_pairs,
    logistic_in_pairs,
    logistic_slope,
    whole_exp_in_pairs,
)
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    InSingle,
    alike,
    anywhere,
    computed_by,
    more_than_result,
    of_result,
    unit,
)
from ogive.lowering.numerics.elementary.single_functions import (
    FAR_IN_SINGLE,
    tested_exp_in_single,
    tested_expm1_in_single,
    tested_logistic_in_single,
)
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG

__all__ = [
    "EXACT_LOG_2",
    "FARTHEST",
    "LOG2_E",
    "OF_SUMS",
    "ROUNDED_LOG_2",
    "difference_of_powers",
    "exp",
    "exp2",
    "exp_as_quotient",
    "exp_in_float64",
    "exp_of_sums",
    "expm1",
    "expm1_in_float64",
    "logistic",
    "minus_log_2",
    "of_ninth_degree",
    "reduced_exponent",
    "whole_part",
    "with_infinities",
]


def of_ninth_degree(
    m: Arithmetic, x: Expression, coefficients: tuple[float, ...], factor: float = 1.0, times: float = 1.0
) -> Expression:
    """p(factor x) times, of degree 9, in six multiplications and five additions beside them.

    The factor is a power of two or the negative of one; times is any positive number. With y = x + shift it begins with
    slope y + start, and each step, of two numbers a and b, makes ``v (y**2 - a) + b`` of v. Source: J. Eve, The evaluation
    of polynomials, Numerische Mathematik 6 (1964); D. Knuth, The Art of Computer Programming, volume 2, 4.6.4, theorem E.
    """
    shift, slope, start, *steps = coefficients
    square_of_factor = factor * factor
    scale = times * square_of_factor ** (len(steps) // 2)
    y = m.add_(x, m.number(shift / factor))
    square = m.mul_(y, y)
    value = m.fma_(y, m.number(slope * factor * scale), m.number(start * scale))
    for a, b in zip(steps[::2], steps[1::2], strict=True):
        scale /= square_of_factor
        value = m.fma_(value, m.add_(square, m.number(-a / square_of_factor)), m.number(b * scale))
    return value


#: log(2), rounded: enough where float64 computes what is wanted in float32.
ROUNDED_LOG_2 = float.fromhex("0x1.62e42fefa39efp-1")

LOG2_E = {Format.F32: "0x1.715476p+0", Format.F64: "0x1.71547652b82fep+0"}

#: log(2) in two parts. The first leaves 11 bits for n.
LOG_2 = {Format.F64: ("0x1.62e42fefa38p-1", "0x1.ef35793c7673p-45")}

#: The same for a fused multiplication, where the first part needs no room: x - n log(2) is a number of the format.
EXACT_LOG_2 = {
    Format.F32: ("0x1.62e430p-1", "-0x1.05c610p-29"),
    Format.F64: ("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56"),
}

#: The polynomial of exp with one coefficient more whose product keeps what it loses.
OF_SUMS = (*WORDS["EXP"][:4], (*WORDS["EXP"][4], 0.0), *WORDS["EXP"][5:])

#: The operands at which the product of exp with the largest number rounds to zero, and where that with the smallest normal number is
#: infinite: the power of two is kept apart, so that a formula may multiply exp(100) by a small number.
EXP_RANGE = (-1500.0, 1400.0)

#: The limits for powers of two.
EXP2_RANGE = (-2200.0, 2020.0)

#: Below the first number expm1 is -1 to far more than the precision; above the second it is infinite, in float64 even
#: if it is multiplied by the smallest normal number.
EXPM1_RANGE = (-80.0, 1400.0)

#: Beyond this expm1 is exp, to more than the precision of two numbers of float64.
MUCH_MORE_THAN_1 = 80.0

#: The same where float64 computes what is wanted in float32: 2**n is a normal number for all of these.
EXP_RANGE_IN_FLOAT64 = (-700.0, 709.0)
LOGISTIC_RANGE_IN_FLOAT64 = (-700.0, 700.0)
EXPM1_RANGE_IN_FLOAT64 = (-700.0, 700.0)
EXP2_RANGE_IN_FLOAT64 = (-1000.0, 1020.0)


#: The limit up to which powers of two are kept apart from float64 results.
FARTHEST = 2.0**20


def in_range(m: Arithmetic, x: DoubleWord, low: float, high: float) -> DoubleWord:
    """The operand moved to where a rule computes it."""
    return m.clamped(x, -FARTHEST if low < -1000 else low, FARTHEST) if m.of_doubles else m.clamped(x, low, high)


def with_infinities(m: Arithmetic, x: Expression, result: DoubleWord, below: float | None = None) -> DoubleWord:
    """The result where the operand is finite; infinity at infinity, and ``below`` at minus infinity: of infinite operands
    formulas are IEEE 754's arithmetic, step by step. The second level alone is asked for these.
    """
    if not (m.of_doubles and m.is_long):
        return result
    infinity, zero = m.number(math.inf), m.number(0.0)
    high, low = result.high, m.low_part(result)
    for end, limit in ((math.inf, math.inf), *(() if below is None else ((-math.inf, below),))):
        is_end = m.equal_(x, infinity if end > 0 else m.neg_(infinity))
        high, low = m.select_(is_end, m.number(limit), high), m.select_(is_end, zero, low)
    return replace(result, high=high, low=low, mantissa=result.mantissa | Interval(0.0, math.inf), is_normal=False)


def minus_log_2(m: Arithmetic, parts: dict[Format, tuple[str, str]]) -> tuple[Expression, Expression]:
    """The two parts of -log(2)."""
    high, low = parts[m.format]
    return m.number(-float.fromhex(high)), m.number(-float.fromhex(low))


def whole_part(m: Arithmetic, x: Expression, factor: float = 1.0) -> tuple[Expression, Expression]:
    """(n + magic, n), where n is the integer nearest to ``factor x / log(2)``."""
    magic = m.number(m.magic)
    shifted = m.fma_(x, m.number(factor * float.fromhex(LOG2_E[m.format])), magic)
    return shifted, m.sub_(shifted, magic)


def reduced_exponent(m: Arithmetic, x: DoubleWord) -> tuple[Expression, Expression, Expression]:
    """(n, r, what r lacks) of a number that was clamped."""
    _, n = whole_part(m, x.high)
    log2_high, log2_low = minus_log_2(m, LOG_2)
    rest = m.fma_(n, log2_high, x.high)
    r = m.fma_(n, log2_low, rest)
    lacking = m.fma_(n, log2_low, m.sub_(rest, r))
    return n, r, lacking if x.low is None else m.add_(lacking, m.low_part(x))


def exp(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The exponential function, with the power of two kept apart where it may underflow."""
    interval = x.interval.map(_exp)
    if not m.extended:
        return DoubleWord(exp_in_float64(m, m.clamped(x, *EXP_RANGE_IN_FLOAT64).high), interval=interval)
    operand, x = x.high, in_range(m, x, *EXP_RANGE)
    # Past the clamps the result is 0 and infinity.
    mantissa = Interval(0.7, 1.42)
    if m.is_long:
        n, less_one = _long_less_one(m, x)
        high, low = double_double.plus_smaller(m, double_double.single(m, m.number(1.0)), less_one)
        return with_infinities(m, operand, DoubleWord(high, low, n, interval, mantissa, is_normal=True), 0.0)
    n, r, lacking = reduced_exponent(m, x)
    return m.renormalised(DoubleWord(*_of_rest(m, r, lacking), n, interval, mantissa))


def exp_of_sums(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The same in float64's own kernels, with one coefficient more of which nothing is lost: for sums that all elements of a row
    depend on.
    """
    interval = x.interval.map(_exp)
    n, r, lacking = reduced_exponent(m, in_range(m, x, *EXP_RANGE))
    return m.renormalised(DoubleWord(*_of_rest(m, r, lacking, OF_SUMS), n, interval, Interval(0.7, 1.42)))


def _of_rest(
    m: Arithmetic, r: Expression, lacking: Expression, table: tuple[tuple[float, ...], ...] = WORDS["EXP"]
) -> tuple[Expression, Expression]:
    """``exp(r + lacking)``."""
    high, low = two_words.polynomial(m, r, None, two_words.numbers(m, table))
    return high, m.fma_(lacking, high, low)


def long_reduced(m: Arithmetic, x: DoubleWord) -> tuple[Expression, double_double.Pair]:
    """(n, r) of a number that was clamped, r in two right words."""
    _, n = whole_part(m, x.high)
    # The first part of n log(2) is subtracted without an error.
    first, second = double_double.split(irrational_numbers.LOG_2)
    rest = m.fma_(n, m.number(-float(first)), x.high)
    return n, double_double.plus(m, m.two_sum(rest, m.low_part(x)), double_double.times_whole(m, n, -second))


def _long_less_one(m: Arithmetic, x: DoubleWord) -> tuple[Expression, double_double.Pair]:
    """(n, expm1(r))."""
    n, r = long_reduced(m, x)
    return n, double_double.exponential_less_one(m, r)


def exp2(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``2 ** x``, with the power of two kept apart where it may underflow; exact where x is an integer."""
    interval = x.interval.map(_exp2)
    log2_high, log2_low = map(m.number, map(float.fromhex, EXACT_LOG_2[m.format]))
    if not m.extended:
        bounded = m.clamped(x, *EXP2_RANGE_IN_FLOAT64).high
        shifted = m.add_(bounded, m.number(m.magic))
        r = m.mul_(m.sub_(bounded, m.sub_(shifted, m.number(m.magic))), log2_high)
        return DoubleWord(m.times_power_of_two_(_series_in_float64(m, r), shifted), interval=interval)
    operand, x = x.high, in_range(m, x, *EXP2_RANGE)
    n = m.sub_(m.add_(x.high, m.number(m.magic)), m.number(m.magic))
    rest = m.sub_(x.high, n)
    if m.is_long:
        part = m.two_sum(rest, m.low_part(x))
        less_one = double_double.exponential_less_one(
            m, double_double.times(m, part, double_double.constant(m, irrational_numbers.LOG_2))
        )
        value = double_double.plus_smaller(m, double_double.single(m, m.number(1.0)), less_one)
        found = DoubleWord(*value, n, interval, Interval(0.7, 1.42), is_normal=True)
        return with_infinities(m, operand, found, 0.0)
    r = m.mul_(rest, log2_high)
    lacking = m.fma_(rest, log2_low, m.fma_(rest, log2_high, m.neg_(r)))
    if x.low is not None:
        lacking = m.fma_(m.low_part(x), log2_high, lacking)
    return m.renormalised(DoubleWord(*_of_rest(m, r, lacking), n, interval, Interval(0.7, 1.42)))


def _reduced_in_float64(m: Arithmetic, x: Expression, factor: float = 1.0) -> tuple[Expression, Expression]:
    """(n + magic, r / factor) of factor x, for powers of two and their negatives, which cost nothing so."""
    shifted, n = whole_part(m, x, factor)
    return shifted, m.fma_(n, m.number(-ROUNDED_LOG_2 / factor), x)


def exp_in_float64(m: Arithmetic, x: Expression, factor: float = 1.0, times: float = 1.0) -> Expression:
    """``exp(factor x) times`` where that is a normal number, for any positive number of times; the factor is a power of
    two or the negative of one.
    """
    shifted, r = _reduced_in_float64(m, x, factor)
    return m.times_power_of_two_(_series_in_float64(m, r, factor, times), shifted)


def _series_in_float64(m: Arithmetic, r: Expression, factor: float = 1.0, times: float = 1.0) -> Expression:
    """``exp(factor r) times`` of a reduced operand."""
    return of_ninth_degree(m, r, POLYNOMIALS["EXP_ADAPTED"][LONG], factor, times)


def _halves(m: Arithmetic, x: Expression, factor: float) -> tuple[Expression, Expression, Expression]:
    """(n + magic, A / k, r / k) of ``factor x``; k is the factor's magnitude."""
    shifted, r = _reduced_in_float64(m, x, factor)
    half = abs(factor) / 2
    numbers = tuple(c * half ** (2 * i - 1) for i, c in enumerate(POLYNOMIALS["COTH"][LONG]))
    return shifted, m.polynomial_(m.mul_(r, r), numbers), r if factor > 0 else m.neg_(r)


def exp_as_quotient(m: Arithmetic, x: Expression, factor: float = 1.0) -> tuple[Expression, Expression]:
    """Two numbers with the quotient ``exp(factor x)``, for powers of two and their negatives; with bounds alone."""
    shifted, a, r = _halves(m, x, factor)
    return m.times_power_of_two_(m.add_(a, r), shifted), m.sub_(a, r)


def difference_of_powers(
    m: Arithmetic, x: Expression, factor: float = 1.0
) -> tuple[Expression, Expression, Expression, Expression, Expression]:
    """``(2**n - 1) A + (2**n + 1) r, A, r, 2**n + 1, 1 - 2**n`` of ``factor x``, but for a factor of A and r."""
    shifted, a, r = _halves(m, x, factor)
    one = m.number(1.0)
    power = m.times_power_of_two_(one, shifted)
    # 1 - 2**n, not 2**n - 1: where it is zero, the sign of a zero r must survive the addition.
    more, less = m.add_(one, power), m.sub_(one, power)
    return m.fma_(m.neg_(less), a, m.mul_(more, r)), a, r, more, less


def expm1(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``exp(x) - 1``. Where it may reach 2**128 it is computed at half its size; in float64 it is exp where it is large,
    with the power of two kept apart.
    """
    if not m.extended:
        return expm1_in_float64(m, x)
    operand, x = x.high, in_range(m, x, *EXPM1_RANGE)
    interval = x.interval.map(_expm1)
    if m.is_long:
        return with_infinities(m, operand, _long_expm1(m, x, interval))
    n, r, lacking = reduced_exponent(m, x)
    may_be_large = m.format is Format.F64 and x.interval.high > MUCH_MORE_THAN_1
    halved = not may_be_large and not m.is_bounded(interval)
    one = m.number(0.5 if halved else 1.0)
    scale = m.scale_(one, n)
    exponent = m.number(1.0) if halved else None
    # 1 - 2**n, not 2**n - 1: where it is zero, the sign of a zero r must survive the addition. It loses its
    # smaller part from n = 24 on in both directions.
    minus = m.neg_(scale)
    if x.interval.high <= 0:
        whole, lost = m.fast_two_sum(one, minus)
    elif x.interval.low >= 0:
        whole, lost = m.fast_two_sum(minus, one)
    else:
        whole, lost = m.two_sum(one, minus)
    whole, lost = m.neg_(whole), m.neg_(lost)
    # exp(r) - 1 is r exp1(r), and no smaller than a third of 2**n exp(r) - 1.
    of_r = two_words.polynomial(m, r, None, two_words.numbers(m, WORDS["EXP"][1:]))
    part, rest = two_words.times(m, (r, None), of_r)
    rest = m.fma_(lacking, m.add_(one, part), rest)
    value, error = m.fast_two_sum(whole, m.mul_(scale, part))
    low = m.fma_(scale, rest, m.add_(error, lost))
    if may_be_large:
        is_large = m.less_(m.number(MUCH_MORE_THAN_1), x.high)
        of_rest = m.fast_two_sum(one, part)
        of_rest = of_rest[0], m.add_(of_rest[1], rest)
        value, low = (m.select_(is_large, a, b) for a, b in zip(of_rest, (value, low), strict=True))
        power = m.select_(is_large, n, m.number(0.0))
        mantissa = Interval(-1.0, math.exp(MUCH_MORE_THAN_1 + 1))
        return m.renormalised(DoubleWord(value, low, power, interval, mantissa))
    result = m.renormalised(DoubleWord(value, low))
    half = Interval(interval.low / 2, min(interval.high / 2, m.largest))
    return replace(result, exponent=exponent, interval=interval, mantissa=half)


def _long_expm1(m: Arithmetic, x: DoubleWord, interval: Interval) -> DoubleWord:
    """``2**n expm1(r) + (2**n - 1)``, and ``2**n (1 + expm1(r))`` where that is large."""
    n, less_one = _long_less_one(m, x)
    one, zero, most = m.number(1.0), m.number(0.0), m.number(MUCH_MORE_THAN_1)
    is_large = m.less_(most, x.high)
    # Where it is large the power of two is kept apart, and the other form is computed for n = 0.
    scale = m.scale_(one, m.select_(is_large, zero, n))
    whole = m.two_sum(scale, m.number(-1.0))
    sum_ = double_double.plus(m, whole, (m.mul_(scale, less_one[0]), m.mul_(scale, less_one[1])))
    power = double_double.plus_smaller(m, double_double.single(m, one), less_one)
    high, low = (m.select_(is_large, a, b) for a, b in zip(power, sum_, strict=True))
    high = m.select_(m.equal_(x.high, zero), x.high, high)  # 0 + -0 has forgotten the sign
    mantissa = Interval(-1.0, math.exp(MUCH_MORE_THAN_1 + 1))
    return DoubleWord(high, low, m.select_(is_large, n, zero), interval, mantissa, is_normal=True)


def expm1_in_float64(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``exp(x) - 1``."""
    bounded = m.clamped(x, *EXPM1_RANGE_IN_FLOAT64)
    interval = bounded.interval.map(_expm1)
    dividend, a, r, _, _ = difference_of_powers(m, bounded.high)
    return DoubleWord(m.div_(dividend, m.sub_(a, r)), interval=interval)


def logistic(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``1 / (1 + exp(-x))``; where that would be inaccurate, through exp(-abs(x)), which is at most 1."""
    one, interval = m.wide(Fraction(1)), Interval(0.0, 1.0)
    if not m.extended:
        dividend, other = exp_as_quotient(m, m.clamped(x, *LOGISTIC_RANGE_IN_FLOAT64).high, -1.0)[::-1]
        return DoubleWord(m.div_(dividend, m.add_(dividend, other)), interval=interval)
    e = exp(m, m.negate(m.absolute(x)))
    is_positive = m.compare(ops.LESS_EQUAL, m.wide(Fraction(0)), x)
    return replace(m.divide(m.select(is_positive, one, e), m.add(one, e)), interval=interval)


def _exp(bound: float) -> float:
    return 0.0 if bound <= -745 else math.inf if bound >= 709 else math.exp(bound)


def _exp2(bound: float) -> float:
    return 0.0 if bound <= -1074 else math.inf if bound >= 1024 else 2.0**bound


def _expm1(bound: float) -> float:
    return math.inf if bound >= 709 else math.expm1(bound)


_POWER = Function(anywhere(1500.0), of_result, unit, underflows=True, nothing_beyond=-FARTHEST)
_LIMITED = replace(_POWER, is_limited_above=True, saturates=True)

# Condition numbers: of exp(u) it is abs(u), of those made of it no more than abs(u) + 1.
computed_by(
    functions.EXP,
    exp,
    replace(_LIMITED, limits=(709.0, 1400.0), increasing=math.exp),
    in_pairs=InPairs(whole_exp_in_pairs, is_limited=True),
    in_single=InSingle(
        *(FAR_IN_SINGLE, exp_in_single, tested_exp_in_single),
        of_product=2.0**-25,
        reach=FAR_IN_SINGLE,
        has_shorter_results=True,
    ),
)
computed_by(functions.EXP2, exp2, replace(_LIMITED, limits=(1020.0, 2020.0)), in_pairs=InPairs(exp2_in_pairs))
computed_by(
    functions.LOGISTIC,
    logistic,
    replace(_POWER, increasing=lambda u: 1 / (1 + math.exp(-u))),
    in_pairs=InPairs(logistic_in_pairs, is_limited=True),
    in_single=InSingle(
        *(FAR_IN_SINGLE, logistic_in_single, tested_logistic_in_single),
        of_product=2.0**-25,
        reach=FAR_IN_SINGLE,
        has_shorter_results=True,
    ),
)
computed_by(functions.LOGISTIC_SLOPE, None, Function(), in_pairs=InPairs(alike(logistic_slope), is_limited=True))
computed_by(
    functions.EXPM1,
    expm1,
    Function(
        *(anywhere(1410.0), more_than_result, unit, (700.0, 1400.0)),
        is_limited_above=True,
        saturates=True,
        grows_as_operand=True,
    ),
    in_pairs=InPairs(expm1_in_pairs, is_limited=True),
    in_single=InSingle(
        FAR_IN_SINGLE, expm1_in_single, tested_expm1_in_single, of_product=2.0**-24, reach=FAR_IN_SINGLE
    ),
)
