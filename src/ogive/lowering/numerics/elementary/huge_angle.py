"""The reduction of huge angles: what x / (pi / 2) leaves beyond an integer, exactly (Payne and Hanek).

An angle is an integer of 53 bits times a power of two, so of 2 / pi only a window of bits matters: those
before it give whole turns, those behind it nothing that counts. The window is chosen by halves, and the
product is computed as one does by hand, in digits of 32 bits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, in_format, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.derived_numbers import TWO_OVER_PI
from ogive.lowering.numerics.interval import Interval

#: From here on an angle is huge.
HUGE_EXPONENT = 36
HUGE = 2.0**HUGE_EXPONENT

#: Digits of the result: two bits for the quarter turn, the others behind the point. The nearest that a
#: number comes to a multiple of pi / 2 is 2**-30 (float32) or 2**-62 (float64).
DIGITS = {Format.F32: 3, Format.F64: 4}

#: How many windows there are, a digit apart: enough for the largest exponent, and a power of two.
WINDOWS = {Format.F32: 4, Format.F64: 32}

Digits = list[Expression]


def reduced_huge_angle(
    m: Arithmetic, x: Expression, is_huge: Expression, factor: Fraction = Fraction(1), windows: int = 0
) -> tuple[Expression, DoubleWord]:
    """(n, r): ``factor x = n pi/2 + r`` where the condition holds, n modulo 4 and abs(r) <= pi / 4; r is NaN at infinity.

    The factor lies between 0 and 1. ``windows`` are those of the operand, where that is a shorter number.
    """
    magnitude = m.abs_(x)
    is_infinite = m.equal_(magnitude, m.number(math.inf))
    magnitude = m.select_(is_infinite, m.number(HUGE), m.select_(is_huge, magnitude, m.number(HUGE)))
    window, integer = _aligned(m, magnitude)
    chosen = _window(m, window, TWO_OVER_PI * factor, windows or WINDOWS[m.goal])
    digits = _product(chosen, integer, DIGITS[m.goal])
    quarters, fraction = _split(m, digits)
    r = m.multiply(fraction, m.wide(1 / TWO_OVER_PI))
    r = replace(r, high=m.select_(is_infinite, m.number(math.nan), r.high))
    is_negative = m.less_(x, m.number(0.0))
    n = node(ops.BITCAST, (quarters,), None, m.integer)
    n = m.select_(is_negative, node(ops.NEGATE, (n,), None, m.integer), n)
    return n, m.select(is_negative, m.negate(r), r)


def _aligned(m: Arithmetic, x: Expression) -> tuple[Expression, Digits]:
    """(q, digits of an integer): ``x = 2**(32 q - 16) * integer``, with an integer from 2**52 to 2**84."""
    bits = node(ops.BITCAST, (x,), None, Format.U64)
    window = _shift_right(_subtract(bits, _whole(m.bias + HUGE_EXPONENT << 52)), 57)
    aligned = _add(_subtract(bits, _shift_left(window, 57)), _whole(16 << 52))
    rest = node(ops.BITCAST, (aligned,), None, m.format)
    digits = []
    for exponent in (64, 32):
        digit = m.make(ops.FLOOR, m.mul_(rest, m.number(2.0**-exponent)))
        rest = m.fma_(digit, m.number(-(2.0**exponent)), rest)
        digits.append(_to_integer(m, digit))
    return window, [_to_integer(m, rest), *reversed(digits)]


def _window(m: Arithmetic, window: Expression, turns: Fraction, windows: int) -> Digits:
    """The digits of 2 / pi, or of a part of it, that matter for this window, the lowest first."""
    wanted = DIGITS[m.goal] + 3
    count = windows - 1 + wanted
    # The first window begins 18 bits before the point: 16 for the integer, 2 for the quarter turn.
    bits = int(turns * 2 ** (32 * count - 18))
    digits = [_whole(bits >> 32 * i & 0xFFFFFFFF) for i in reversed(range(count))]
    step = windows // 2
    while step:
        is_later = m.less_(_whole(0), _and(window, _whole(step)))
        digits = [m.select_(is_later, digits[i + step], digits[i]) for i in range(step - 1 + wanted)]
        step //= 2
    return digits[::-1]


def _product(a: Digits, b: Digits, wanted: int) -> Digits:
    """The highest digits of a product, modulo as many digits as ``a`` has; lowest first."""
    first = len(a) - wanted - 1  # one more, for its carry
    places: list[list[Expression]] = [[] for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if first <= i + j < len(a):
                product = _make(ops.MULTIPLY, x, y)
                places[i + j].append(_and(product, _whole(0xFFFFFFFF)))
                places[i + j + 1].append(_shift_right(product, 32))
    digits: Digits = []
    for place in range(first, len(a)):
        terms = places[place] + ([_shift_right(digits[-1], 32)] if digits else [])
        total = terms[0]
        for term in terms[1:]:
            total = _add(total, term)
        digits.append(total)
    return [_and(digit, _whole(0xFFFFFFFF)) for digit in digits[1:]]


def _split(m: Arithmetic, digits: Digits) -> tuple[Expression, DoubleWord]:
    """A number with two bits before the point: the integer nearest to it, and the difference."""
    *lower, top = digits
    nearest = _shift_right(_add(top, _whole(1 << 29)), 30)
    signed = node(ops.BITCAST, (_subtract(top, _shift_left(nearest, 30)),), None, m.integer)
    high = m.mul_(in_format(signed, m.format), m.number(2.0**-30))
    low = m.number(0.0)
    for place, digit in enumerate(reversed(lower), start=1):
        term = m.mul_(_to_number(m, digit), m.number(2.0 ** (-30 - 32 * place)))
        # A rest that is not zero is a multiple of the last digit's unit, so it is larger than the next.
        high, lost = m.fast_two_sum(high, term)
        low = m.add_(low, lost)
    if not m.extended:
        return nearest, DoubleWord(m.add_(high, low), interval=Interval(-0.51, 0.51))
    return nearest, DoubleWord(high, low, interval=Interval(-0.51, 0.51))


# ---- 64-bit integers without a sign


def _whole(value: int) -> Expression:
    return node(ops.CONSTANT, (), value, Format.U64)


def _make(operation: Operation, a: Expression, b: Expression) -> Expression:
    return node(operation, (a, b), None, Format.U64)


def _add(a: Expression, b: Expression) -> Expression:
    return _make(ops.ADD, a, b)


def _subtract(a: Expression, b: Expression) -> Expression:
    return _make(ops.SUBTRACT, a, b)


def _and(a: Expression, b: Expression) -> Expression:
    return _make(ops.AND, a, b)


def _shift_left(a: Expression, count: int) -> Expression:
    return node(ops.SHIFT_LEFT, (a,), count, Format.U64)


def _shift_right(a: Expression, count: int) -> Expression:
    return node(ops.SHIFT_RIGHT, (a,), count, Format.U64)


def _to_integer(m: Arithmetic, a: Expression) -> Expression:
    return node(ops.BITCAST, (in_format(a, m.integer),), None, Format.U64)


def _to_number(m: Arithmetic, a: Expression) -> Expression:
    return in_format(node(ops.BITCAST, (a,), None, m.integer), m.format)
