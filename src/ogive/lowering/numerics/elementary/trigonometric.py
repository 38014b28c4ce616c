"""sin, cos and tan, for each level.

With n the integer nearest to x / (pi/2) and r = x - n pi/2, abs(r) <= pi/4:

    sin(x) = sin(r), cos(r), -sin(r), -cos(r)   for n = 0, 1, 2, 3 modulo 4
    cos(x) = sin(x + pi/2),   tan(x) = sin(x) / cos(x)
    sin(r) = r + r**3 S(r**2),   cos(r) = 1 - r**2 / 2 + r**4 C(r**2)

S and C are SIN and COS of the coefficients. pi/2 is subtracted in parts of the precision: the first leaves no
rounding error, because r is a multiple of its last bit (Cody and Waite). Huge angles: huge_angle.py. In pairs
of float32 tables have the sines of multiples of pi / 32 (`sine_in_pairs`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS, TABLES, TWO_OVER_PI, WORDS
from ogive.lowering.numerics.elementary.function_row import Function, InPairs, computed_by, more_than_result, within
from ogive.lowering.numerics.elementary.huge_angle import HUGE, WINDOWS, reduced_huge_angle
from ogive.lowering.numerics.float_float import (
    SLACK,
    SMALLEST,
    UNIT,
    Around,
    Conditions,
    FloatFloat,
    FloatFloatArithmetic,
    NoFloatFloat,
    U,
    bits_beyond,
    unsigned,
)
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG
from ogive.lowering.numerics.truths import both

#: A little more than pi / 4.
QUARTER = 0.7855

#: Up to here the second word of an angle is far below a turn.
NO_TURN = 2.0**48


def sin(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The sine."""
    n, r = _reduced(m, x)
    return _sine_of_quarters(m, n, r)


def cos(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The cosine."""
    n, r = _reduced(m, x)
    return _sine_of_quarters(m, node(ops.ADD, (n, m.whole(1)), None, m.integer), r)


def tan(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The tangent."""
    n, r = _reduced(m, x)
    is_odd = _is_odd(m, n)
    s, c = _sine(m, r), m.renormalised(_cosine(m, r))
    quotient = m.divide(m.select(is_odd, c, s), m.select(is_odd, s, c))
    return _with_sign_of_last_bit(m, quotient, n)


def _reduced(m: Arithmetic, x: DoubleWord) -> tuple[Expression, DoubleWord]:
    """(n, in the last bits of an integer; r)."""
    x = m.unscaled(x)
    n, r = _reduced_words(m, x)
    multiple = m.multiples.get(x.high)
    if multiple is None or multiple.is_whole or x.interval.within(-NO_TURN, NO_TURN):
        return n, r
    word, factor, _ = multiple
    power = factor.numerator.bit_length() - factor.denominator.bit_length() + 1
    is_far = m.less_(m.number(NO_TURN), m.abs_(x.high))
    scaled = m.mul_(word, m.number(2.0**power))
    turns, rest = reduced_huge_angle(m, scaled, is_far, factor / Fraction(2) ** power, WINDOWS[Format.F32])
    low = m.select_(is_far, m.low_part(rest), m.low_part(r))
    high = m.select_(is_far, rest.high, r.high)
    return m.select_(is_far, turns, n), replace(r, high=high, low=low, is_normal=False)


def _reduced_words(m: Arithmetic, x: DoubleWord) -> tuple[Expression, DoubleWord]:
    """The same of the number that two words are."""
    if x.low is None:
        return _reduced_word(m, x.high, x.interval)
    # The part that the argument lacks may be more than what is left of it, and more than a turn.
    x = m.renormalised(x)
    low = DoubleWord(m.low_part(x))
    n, r = _reduced_word(m, x.high, x.interval)
    if not x.interval.within(-NO_TURN, NO_TURN):
        turns, low = _reduced_word(m, low.high, Interval(x.interval.low * 2.0**-53, x.interval.high * 2.0**-53))
        n = node(ops.ADD, (n, turns), None, m.integer)
    r = m.renormalised(m.add(r, low))
    # The sum of two reduced angles lies within pi/2.
    shifted = m.fma_(r.high, m.number(m.rounded(TWO_OVER_PI)), m.number(m.magic))
    turn = m.sub_(shifted, m.number(m.magic))
    first, second = double_double.constant(m, -1 / TWO_OVER_PI)
    whole = DoubleWord(m.mul_(turn, first), m.mul_(turn, second), interval=Interval(-1.6, 1.6))
    r = m.renormalised(m.add(replace(r, interval=Interval(-1.6, 1.6)), whole))
    high = r.high
    if x.interval.smallest_magnitude == 0:  # -0 and a second word that is 0 have forgotten the sign
        high = m.select_(m.equal_(x.high, m.number(0.0)), x.high, high)
    return node(ops.ADD, (n, m.bits_(shifted)), None, m.integer), replace(r, high=high, interval=Interval(-0.8, 0.8))


def _reduced_word(m: Arithmetic, x: Expression, lies: Interval) -> tuple[Expression, DoubleWord]:
    """The same of a single number."""
    magic = m.number(m.magic)
    shifted = m.fma_(x, m.number(m.rounded(TWO_OVER_PI)), magic)
    n = m.sub_(shifted, magic)
    half_pi = 1 / TWO_OVER_PI
    parts = []
    for _ in range(3):
        part = m.rounded(half_pi)
        half_pi -= type(half_pi)(part)
        parts.append(m.number(-part))
    first, second, third = parts
    high, low = m.fma_(n, first, x), m.number(0.0)
    if m.extended:
        product = m.mul_(n, second)
        high, low = m.two_sum(high, product)
        low = m.add_(low, m.fma_(n, third, m.fma_(n, second, m.neg_(product))))
    else:
        high = m.fma_(n, second, high)
    turns = m.bits_(shifted)
    if not lies.within(-HUGE, HUGE):
        is_huge = both(m.less_(m.number(HUGE), m.abs_(x)), m.is_finite_(x))  # of an infinity the parts above make NaN
        exact_turns, exact = reduced_huge_angle(m, x, is_huge)
        turns = m.select_rare_(is_huge, exact_turns, turns)
        high = m.select_rare_(is_huge, exact.high, high)
        if exact.low is not None:
            low = m.select_rare_(is_huge, exact.low, low)
    if not m.extended:
        return turns, DoubleWord(high)
    return turns, DoubleWord(high, low, interval=Interval(-0.8, 0.8))


def _sine(m: Arithmetic, r: DoubleWord) -> DoubleWord:
    if r.low is None:
        square, one = m.mul_(r.high, r.high), m.number(1.0)
        series = m.polynomial_(square, POLYNOMIALS["SIN"][LONG])
        return DoubleWord(m.mul_(r.high, m.fma_(square, series, one)), interval=Interval(-0.71, 0.71))
    if m.is_long:
        pair = double_double.of_number(m, r)
        high, low = long_sine(m, pair, double_double.times(m, pair, pair), QUARTER)
        high = m.make(ops.COPY_SIGN, high, r.high)
        return DoubleWord(high, low, interval=Interval(-0.71, 0.71), is_normal=True)
    word = r.high, r.low
    high, low = two_words.odd(m, word, two_words.square(m, *word), two_words.numbers(m, WORDS["SIN"]))
    # 0 + -0 has forgotten the sign.
    return DoubleWord(m.make(ops.COPY_SIGN, high, r.high), low, interval=Interval(-0.71, 0.71))


def _cosine(m: Arithmetic, r: DoubleWord) -> DoubleWord:
    if r.low is None:
        square, one, minus_half = m.mul_(r.high, r.high), m.number(1.0), m.number(-0.5)
        series = m.polynomial_(square, POLYNOMIALS["COS"][LONG])
        return DoubleWord(m.fma_(square, m.fma_(square, series, minus_half), one), interval=Interval(0.7, 1.0))
    if m.is_long:
        pair = double_double.of_number(m, r)
        value = long_cosine(m, double_double.times(m, pair, pair), QUARTER)
        return DoubleWord(*value, interval=Interval(0.7, 1.0), is_normal=True)
    value = two_words.polynomial(m, *two_words.square(m, r.high, r.low), two_words.numbers(m, WORDS["COS"]))
    return DoubleWord(*value, interval=Interval(0.7, 1.0))


def of_sine(k: int) -> Fraction:
    """sin(r) / r in r**2."""
    return Fraction((-1) ** k, math.factorial(2 * k + 1))


def of_cosine(k: int) -> Fraction:
    """cos(r) in r**2."""
    return Fraction((-1) ** k, math.factorial(2 * k))


def long_sine(m: Arithmetic, r: double_double.Pair, square: double_double.Pair, reach: float) -> double_double.Pair:
    """The sine of a number within ``reach``; a zero keeps no sign."""
    return double_double.times(m, r, double_double.series(m, square, of_sine, reach * reach))


def long_cosine(m: Arithmetic, square: double_double.Pair, reach: float) -> double_double.Pair:
    """The cosine of a number within ``reach``."""
    return double_double.series(m, square, of_cosine, reach * reach)


def _sine_or_cosine(m: Arithmetic, is_cosine: Expression, r: DoubleWord) -> DoubleWord:
    """``r S(z)`` or ``C(z)`` of the square z: the coefficients are chosen, and one polynomial computed."""
    zero, one = m.number(0.0), m.number(1.0)
    tables = (two_words.numbers(m, table) for table in (WORDS["COS"], WORDS["SIN"]))
    chosen: list[two_words.Coefficient] = []
    for of_cosine, of_sine in zip(*tables, strict=True):
        first = m.select_(is_cosine, of_cosine[0], of_sine[0])
        seconds = [zero if len(c) < 2 or c[1] is None else c[1] for c in (of_cosine, of_sine)]
        second = None if seconds == [zero, zero] else m.select_(is_cosine, *seconds)
        chosen.append((first,) if len(of_cosine) == 1 else (first, second))
    square = two_words.square(m, r.high, m.low_part(r))
    word = m.select_(is_cosine, one, r.high), m.select_(is_cosine, zero, m.low_part(r))
    high, low = two_words.times(m, word, two_words.polynomial(m, *square, chosen))
    # 0 + -0 has forgotten the sign.
    return DoubleWord(m.make(ops.COPY_SIGN, high, word[0]), low, interval=Interval(-1.0, 1.0))


def _sine_of_quarters(m: Arithmetic, n: Expression, r: DoubleWord) -> DoubleWord:
    """``sin(n pi/2 + r)``."""
    is_odd = _is_odd(m, n)
    if m.extended and not m.is_long:
        value = m.renormalised(_sine_or_cosine(m, is_odd, r))
    else:
        value = m.renormalised(m.select(is_odd, _cosine(m, r), _sine(m, r)))
    # The bit of n that is worth two goes to the last place.
    value = _with_sign_of_last_bit(m, value, m.shift_right_(n, 1))
    return replace(value, interval=Interval(-1.0, 1.0))


def _is_odd(m: Arithmetic, n: Expression) -> Expression:
    last_bit = node(ops.AND, (n, m.whole(1)), None, m.integer)
    return m.not_(node(ops.EQUAL, (last_bit, m.whole(0)), None, Format.BIT))


def _with_sign_of_last_bit(m: Arithmetic, a: DoubleWord, n: Expression) -> DoubleWord:
    """The number, or its negative where the integer is odd."""
    sign = m.shift_left_(n, m.bits - 1)

    def flipped(part: Expression) -> Expression:
        return m.from_bits_(node(ops.EXCLUSIVE_OR, (m.bits_(part), sign), None, m.integer))

    low = None if a.low is None else flipped(a.low)
    return replace(a, high=flipped(a.high), low=low, interval=a.interval | -a.interval)


# ---- in pairs of float32


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


# ---- the rows


def _slope_of_tangent(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.fma_(f, f, m.number(1.0))


def _room_of_tangent(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.div_(m.number(1.0), more_than_result(m, u, f))


_OF_ANGLES = Function(limits=(2.0**160, math.inf), static=2.0**-72)

computed_by(
    functions.SIN,
    sin,
    replace(_OF_ANGLES, conditions=within(1.5, 1.0), has_sign_below=3.0),
    in_pairs=InPairs(partial(sine_in_pairs, 0)),
)
computed_by(
    functions.COS,
    cos,
    replace(_OF_ANGLES, conditions=within(1.0, 1.6)),
    in_pairs=InPairs(partial(sine_in_pairs, HALF_TURN // 2)),
)
computed_by(
    functions.TAN,
    tan,
    replace(
        _OF_ANGLES, conditions=within(0.78, 1.6), has_sign_below=1.5, slope=_slope_of_tangent, room=_room_of_tangent
    ),
)
