"""exp, for each level.

With n the integer nearest to x / log(2) and r = x - n log(2), abs(r) <= log(2) / 2:

    exp(x) = 2**n * (1 + r + r**2 P(r))

P is EXP of the polynomials. log(2) is subtracted in two parts, the first so short that its product with n is exact (Cody and
Waite).

Where float64 computes what is wanted in float32, one part is enough, and 1 + r + r**2 P(r) is taken in a form of shorter chains
(`of_ninth_degree`). The forms of shorter chains of instructions, which wait for each other, have fewer multiplications than Horner's
rule. Their loss of precision (5 or 6 bits) does not show where float64 computes results of float32.
The coefficients come from those of the same polynomial by powers, in accuracy/derive_coefficients.py. A rule that divides anyway
(expm1, the logistic function, tanh, tails) has half as many multiplications by a quotient, whose A is even and has four coefficients
(COTH) where the polynomial has ten:

    exp(r) = (A + r) / (A - r),   A = r coth(r / 2)

In float32 an argument may be a product: then its rounding error would be magnified by the argument, and r is computed of both
factors, by FMA. Horner's rule for all of exp's polynomial has a smaller error than 1 + (r + r**2 P(r)).

In pairs of float32 a table has the powers of two (powers_of_two.py). Where exp is the result n has one bit more, larger operands are
moved to where exp overflows, and a half of exp is computed and added to itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ogive.graph import elementary_functions as functions
from ogive.graph import irrational_numbers
from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS, WORDS, numbers_in_single
from ogive.lowering.numerics.elementary.exponential.powers_of_two import (
    INFINITE,
    POWERS,
    USUAL,
    WIDE,
    Window,
    inside_of_rule,
    not_beyond,
    reduced_in_pairs,
)
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    InSingle,
    anywhere,
    computed_by,
    of_result,
    unit,
)
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic, U
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG, Machine, is_power_of_two
from ogive.lowering.numerics.truths import either, except_where


def of_ninth_degree(m: Arithmetic, x: Expression, coefficients: tuple[float, ...]) -> Expression:
    """p(x), of degree 9, in six multiplications and five additions beside them.

    With y = x + shift it begins with slope y + start, and each step, of two numbers a and b, makes ``v (y**2 - a) + b`` of v.
    Source: J. Eve, The evaluation of polynomials, Numerische Mathematik 6 (1964); D. Knuth, The Art of Computer Programming,
    volume 2, 4.6.4, theorem E.
    """
    shift, slope, start, *steps = coefficients
    y = m.add_(x, m.number(shift))
    square = m.mul_(y, y)
    value = m.fma_(y, m.number(slope), m.number(start))
    for a, b in zip(steps[::2], steps[1::2], strict=True):
        value = m.fma_(value, m.add_(square, m.number(-a)), m.number(b))
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


#: The same where float64 computes what is wanted in float32: 2**n is a normal number for all of these.
EXP_RANGE_IN_FLOAT64 = (-700.0, 709.0)


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
        shifted, r = _reduced_in_float64(m, m.clamped(x, *EXP_RANGE_IN_FLOAT64).high)
        return DoubleWord(m.times_power_of_two_(series_in_float64(m, r), shifted), interval=interval)
    operand, x = x.high, in_range(m, x, *EXP_RANGE)
    # Past the clamps the result is 0 and infinity.
    mantissa = Interval(0.7, 1.42)
    if m.is_long:
        n, less_one = long_less_one(m, x)
        high, low = double_double.plus_smaller(m, double_double.single(m, m.number(1.0)), less_one)
        return with_infinities(m, operand, DoubleWord(high, low, n, interval, mantissa, is_normal=True), 0.0)
    n, r, lacking = reduced_exponent(m, x)
    return m.renormalised(DoubleWord(*exp_of_rest(m, r, lacking), n, interval, mantissa))


def exp_of_sums(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The same in float64's own kernels, with one coefficient more of which nothing is lost: for sums that all elements of a row
    depend on.
    """
    interval = x.interval.map(_exp)
    n, r, lacking = reduced_exponent(m, in_range(m, x, *EXP_RANGE))
    return m.renormalised(DoubleWord(*exp_of_rest(m, r, lacking, OF_SUMS), n, interval, Interval(0.7, 1.42)))


def exp_of_rest(
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


def long_less_one(m: Arithmetic, x: DoubleWord) -> tuple[Expression, double_double.Pair]:
    """(n, expm1(r))."""
    n, r = long_reduced(m, x)
    return n, exponential_less_one(m, r)


def _reduced_in_float64(m: Arithmetic, x: Expression, factor: float = 1.0) -> tuple[Expression, Expression]:
    """(n + magic, r / factor) of factor x, for powers of two and their negatives, which cost nothing so."""
    shifted, n = whole_part(m, x, factor)
    return shifted, m.fma_(n, m.number(-ROUNDED_LOG_2 / factor), x)


def series_in_float64(m: Arithmetic, r: Expression) -> Expression:
    """``exp(r)`` of a reduced operand."""
    return of_ninth_degree(m, r, POLYNOMIALS["EXP_ADAPTED"][LONG])


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


def _exp(bound: float) -> float:
    return 0.0 if bound <= -745 else math.inf if bound >= 709 else math.exp(bound)


def of_exponential(k: int) -> Fraction:
    """(exp(r) - 1) / r in r."""
    return Fraction(1, math.factorial(k + 1))


def exponential_less_one(m: Arithmetic, r: double_double.Pair) -> double_double.Pair:
    """``expm1(r)`` of a number within log(2) / 2; a zero keeps no sign."""
    return double_double.times(m, r, double_double.series(m, r, of_exponential, 0.3467))


# ---- in float32: without a test, and with one


#: log(2) in two parts, of which the first leaves 9 bits for n.
LOG_2_IN_SINGLE = float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")

#: The nearest number to log(2), which is good to 2**-29: for results of 16 bits one is enough.
NEAREST_LOG_2 = float.fromhex(EXACT_LOG_2[Format.F32][0])

#: Up to this magnitude of its argument exp is a normal number; and up to the second the slopes that are made of it.
FAR_IN_SINGLE, LIMIT_OF_SLOPES = 87.0, 79.0


def reduced_in_single(m: Machine, a: Argument, factor: float = 1.0) -> tuple[Expression, Expression]:
    """(n + magic, r / k) of the argument times ``factor``, a power of two; k is the factor and the sign."""
    k = factor * a.sign
    magic, log2_e = m.number(m.magic), m.number(k * float.fromhex(LOG2_E[Format.F32]))
    shifted = m.fma_(a.x, log2_e if a.w is None else m.mul_(a.w, log2_e), magic)
    n = m.sub_(shifted, magic)
    if a.is_short and a.w is None and a.low is None:
        return shifted, m.fma_(n, m.number(-NEAREST_LOG_2 / k), a.x)
    high, low = (m.number(-part / k) for part in LOG_2_IN_SINGLE)
    if a.w is None:
        r = m.fma_(n, high, a.x)
    else:  # n * high is exact
        r = m.exact_sum_(a.x, a.w, m.mul_(n, high))
    if a.low is None:
        return shifted, m.fma_(n, low, r)
    return shifted, m.add_(r, m.fma_(n, low, a.low))


def reduced_in_two_words(m: Machine, a: Argument, factor: float) -> tuple[Expression, Expression, Expression]:
    """The same of an argument with a low part, and what the sum that is r / k has lost."""
    shifted, r = reduced_in_single(m, a, factor)
    high, low = r.operands
    return shifted, r, m.add_(m.sub_(high, r), low)


def _series_in_single(m: Machine, a: Argument, factor: float) -> tuple[Expression, Expression]:
    """``exp(factor * a) / 2**n`` and n + magic."""
    shifted, r = reduced_in_single(m, a, factor)
    k = factor * a.sign
    series = (1.0, 1.0, *numbers_in_single("EXP", is_short=a.is_short))
    return m.polynomial_(r, tuple(c * k**i for i, c in enumerate(series))), shifted


def exp_in_single(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``exp(factor * a)`` where that is a normal number; the factor is a power of two."""
    return m.times_power_of_two_(*_series_in_single(m, a, factor))


def decay(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``exp(-factor * abs(a))``; the factor is a power of two."""
    a = a.magnitude(m).negative()
    if a.w is not None and is_power_of_two(a.w):
        factor *= float(a.w.attribute)
        a = replace(a, w=None)
    return exp_in_single(m, a, factor)


#: Beyond these exp rounds to zero and to infinity in bfloat16, also of an operand that is a little wrong.
ZERO_OF_BFLOAT16, INFINITE_BFLOAT16 = -93.0, 89.0

#: More than exp and logistic are where their operand is moved to -FAR_IN_SINGLE. Exactly they may be zero there, which makes NaN of infinity:
#: numbers up to a static bound are in doubt beside that.
AT_LIMIT = 2.0**-125


def tested_exp_in_single(x: SingleOperand, is_result: bool) -> Made:
    """Exp of any number."""
    m = x.m
    near = x.moved(-FAR_IN_SINGLE, FAR_IN_SINGLE)
    number, lies = exp_in_single(m, near.argument()), near.interval.map(math.exp)
    below, above = x.is_below(-FAR_IN_SINGLE), x.is_above(FAR_IN_SINGLE)
    if not m.is_wide:
        low, static = (lies.low, 0.0) if below is None else (0.0, AT_LIMIT)
        return number, Interval(low, lies.high), static, None if is_result else above
    if is_result and x.u.error.is_relative and x.u.error.relative <= m.useful:
        is_zero, is_infinite = x.is_below(ZERO_OF_BFLOAT16), x.is_above(INFINITE_BFLOAT16)
        below, above = except_where(below, is_zero), except_where(above, is_infinite)
        for is_there, limit in ((is_zero, 0.0), (is_infinite, math.inf)):
            if is_there is not None:
                number, lies = m.select_(is_there, m.number(limit), number), lies | Interval.point(limit)
    return number, lies, 0.0, either(below, above)


# ---- in float32 for all numbers, where a processor has neither float64 nor fused multiply-add


#: From the first number on exp is infinite; below the second it is zero after rounding.
OVERFLOW_IN_SINGLE, ZERO_IN_SINGLE = float.fromhex("0x1.62e43p+6"), -104.0

#: Powers of two that a subnormal result is multiplied by at last.
STEP_OF_SUBNORMALS = 64


def whole_exp_in_single(m: Machine, a: Argument) -> Expression:
    """Exp of an argument that may be anything."""
    y = a.value(m)
    if a.w is not None or a.low is not None:
        # Halves of a product's factors may be infinite where the product is out of range.
        is_inside, zero = m.less_(m.abs_(y), m.number(128.0)), m.number(0.0)
        low = None if a.low is None else m.select_(is_inside, a.low, zero)
        a = replace(a, x=m.select_(is_inside, a.x, zero), low=low)
    value, shifted = _series_in_single(m, a, 1.0)
    found = with_subnormals(m, value, shifted, y)
    if a.lies.low < ZERO_IN_SINGLE:
        found = m.select_(m.less_(y, m.number(ZERO_IN_SINGLE)), m.number(0.0), found)
    if a.lies.high > OVERFLOW_IN_SINGLE:
        found = m.select_(m.less_(m.number(OVERFLOW_IN_SINGLE), y), m.number(math.inf), found)
    return found


def with_subnormals(
    m: Machine, value: Expression, shifted: Expression, y: Expression, divisor: Expression | None = None
) -> Expression:
    """``value * 2**n`` for an exponential of y; subnormal numbers are rounded once, at last."""
    is_small = m.less_(y, m.number(-FAR_IN_SINGLE))
    n = m.add_(shifted, m.select_(is_small, m.number(float(STEP_OF_SUBNORMALS)), m.number(0.0)))
    scaled = m.times_power_of_two_(value, n)
    if divisor is not None:
        scaled = m.div_(scaled, divisor)
    found = m.mul_(scaled, m.select_(is_small, m.number(2.0**-STEP_OF_SUBNORMALS), m.number(1.0)))
    return m.select_(m.equal_(y, y), found, y)  # the exponent's sum may make a number of NaN


# ---- in pairs of float32


#: The leading part is T (1 + r).
SLACK_OF_POWER = 1 + 2.0**-6


def exp_in_pairs(
    m: FloatFloatArithmetic, u: FloatFloat, bias: float = 0.0, window: Window = USUAL, most: float | None = None
) -> FloatFloat:
    """Exp of the operands of a window. ``most``: where larger operands are moved that are in the window."""
    core = reduced_in_pairs(m, u, bias, window, most)
    high = m.fma_(core.power, core.r, core.power)
    lost = m.fma_(core.power, core.r, m.neg_(m.sub_(high, core.power)))
    return FloatFloat(
        high,
        low=m.fma_(core.power, core.q, lost),
        share=POWERS[m.octave].share,
        relative=core.relative * SLACK_OF_POWER,
        bias=bias / SLACK_OF_POWER,
        interval=inside_of_rule(u, most).map(math.exp),
        is_nonzero=True,
        where=core.where,
    )


def whole_exp_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """exp, and as a result up to where it overflows."""
    if not is_result:
        return exp_in_pairs(m, u)
    u = m.normalised(u)
    moved = not_beyond(m, u, INFINITE) if reaches_all else u
    window = USUAL if moved is u else WIDE
    plain = exp_in_pairs(m, moved, window=window)
    bias = (plain.relative + 4 * U * plain.share) * SLACK_OF_POWER**3
    found = exp_in_pairs(m, moved, bias=bias, window=window)
    return replace(found, is_half=window.halved)


# Condition numbers: of exp(u) it is abs(u), of those made of it no more than abs(u) + 1.
OF_POWERS = Function(anywhere(1500.0), of_result, unit, underflows=True, nothing_beyond=-FARTHEST, cuts_off=True)
OF_LIMITED_POWERS = replace(OF_POWERS, is_limited_above=True, saturates=True)

computed_by(
    functions.EXP,
    exp,
    replace(OF_LIMITED_POWERS, limits=(709.0, 1400.0), increasing=math.exp),
    in_pairs=InPairs(whole_exp_in_pairs, is_limited=True),
    in_single=InSingle(
        *(FAR_IN_SINGLE, exp_in_single, whole_exp_in_single),
        tested=tested_exp_in_single,
        of_product=2.0**-25,
        reach=FAR_IN_SINGLE,
        has_shorter_results=True,
    ),
)
