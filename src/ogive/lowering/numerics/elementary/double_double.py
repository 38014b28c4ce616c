"""Sums of two float64 whose second word is right too: the arithmetic of elementary functions in the second level.

An operation on a `Pair` errs by a few 2**-106 of its result. A power series is a polynomial by Horner's rule: in pairs as
long as a rounding in float64 would show, in float64 from there on (`series`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from ogive.graph.expression import Expression
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord

#: (high, low): low is at most half a unit of high, or a little more.
Pair = tuple[Expression, Expression]

#: Terms below 2**-SHORT of the first are computed in float64, and those below 2**-END left out.
SHORT, END = 48, 108


def constant(m: Arithmetic, value: Fraction) -> Pair:
    """A constant, to 106 bits."""
    high = m.rounded(value)
    return m.number(high), m.number(m.rounded(value - Fraction(high)))


def single(m: Arithmetic, value: Expression) -> Pair:
    """A float64."""
    return value, m.number(0.0)


def of_number(m: Arithmetic, a: DoubleWord) -> Pair:
    """A number without an exponent."""
    if a.low is None:
        return single(m, a.high)
    return (a.high, a.low) if a.is_normal else m.fast_two_sum(a.high, m.low_part(a))


def negative(m: Arithmetic, a: Pair) -> Pair:
    """The number with the other sign."""
    return m.neg_(a[0]), m.neg_(a[1])


def times(m: Arithmetic, a: Pair, b: Pair) -> Pair:
    """The product."""
    high = m.mul_(a[0], b[0])
    low = m.fma_(a[0], b[0], m.neg_(high))
    low = m.fma_(a[0], b[1], m.fma_(a[1], b[0], low))
    return m.fast_two_sum(high, low)


def plus(m: Arithmetic, a: Pair, b: Pair) -> Pair:
    """The sum; what cancels costs nothing."""
    high, lost = m.two_sum(a[0], b[0])
    low, rest = m.two_sum(a[1], b[1])
    high, lost = m.fast_two_sum(high, m.add_(lost, low))
    return m.fast_two_sum(high, m.add_(lost, rest))


def plus_smaller(m: Arithmetic, a: Pair, b: Pair) -> Pair:
    """The sum where b is smaller than a, or a zero, and a quarter of a is left."""
    high, lost = m.fast_two_sum(a[0], b[0])
    return m.fast_two_sum(high, m.add_(lost, m.add_(a[1], b[1])))


def over(m: Arithmetic, a: Pair, b: Pair) -> Pair:
    """The quotient of numbers far from the ends of the format."""
    high = m.div_(a[0], b[0])
    rest = m.add_(m.fma_(m.neg_(high), b[0], a[0]), a[1])
    rest = m.fma_(m.neg_(high), b[1], rest)
    return m.fast_two_sum(high, m.div_(rest, b[0]))


@cache
def lengths(numbers: Callable[[int], Fraction], reach: float) -> tuple[int, int]:
    """(terms in pairs, terms) of a power series for operands up to ``reach``."""
    sizes = [abs(float(numbers(k) / numbers(0))) * reach**k for k in range(100)]
    short = next(k for k, size in enumerate(sizes) if max(sizes[k:]) <= 2.0**-SHORT)
    end = next(k for k in range(100) if max(sizes[k:]) <= 2.0**-END)
    return short, end


def series(m: Arithmetic, x: Pair, numbers: Callable[[int], Fraction], reach: float) -> Pair:
    """A power series whose terms fall by half and more, for operands up to ``reach``."""
    short, end = lengths(numbers, reach)
    return polynomial(m, x, tuple(map(numbers, range(end))), short)


def polynomial(m: Arithmetic, x: Pair, numbers: tuple[Fraction, ...], short: int, *, falls: bool = True) -> Pair:
    """A polynomial, lowest power first; from number ``short`` on in float64.

    ``falls`` says that each coefficient is larger than all that is added to it.
    """
    rest = m.polynomial_(x[0], tuple(m.rounded(c) for c in numbers[short:]))
    value = single(m, rest)
    for c in reversed(numbers[:short]):
        first, second = constant(m, c)
        high = m.mul_(x[0], value[0])
        low = m.fma_(x[0], value[0], m.neg_(high))
        low = m.fma_(x[0], value[1], m.fma_(x[1], value[0], low))
        high, lost = m.fast_two_sum(first, high) if falls else m.two_sum(first, high)
        value = high, m.add_(lost, m.add_(low, second))
    return m.fast_two_sum(*value)


#: The bits of float64's exponents.
BITS_OF_EXPONENT = 11


def split(value: Fraction, bits: int = BITS_OF_EXPONENT) -> tuple[Fraction, Fraction]:
    """A first part whose product with a whole number of up to so many bits is exact, and the rest."""
    unit = 2 ** (52 - bits)
    first = Fraction(int(value * unit), unit)
    return first, value - first


def times_whole(m: Arithmetic, k: Expression, value: Fraction) -> Pair:
    """A multiple of a constant, which is a pair too."""
    first, second = constant(m, value)
    high = m.mul_(k, first)
    return high, m.fma_(k, second, m.fma_(k, first, m.neg_(high)))
