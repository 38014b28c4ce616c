"""Polynomials in two words of float64: what float64's own kernels are made of.

A rounding in a term of a polynomial shows by the term's share of the result. So the first terms are sums of two numbers,
and what follows is a single one: the sum is good to 2**-60 and more, in a few instructions more than a single number takes.
The second level of shorter types takes more of all (double_double.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.graph.expression import Expression
from ogive.lowering.numerics.double_word import Arithmetic
from ogive.lowering.numerics.elementary.double_double import Pair

#: A coefficient in one word, or in two: the second one None where it is zero.
Coefficient = tuple[Expression] | tuple[Expression, Expression | None]

#: The coefficients, lowest power first: those in two words, then those in one.
Coefficients = Sequence[Coefficient]


def numbers(m: Arithmetic, table: Sequence[tuple[float, ...]]) -> Coefficients:
    """A table of derived_numbers.json as constants."""
    return [
        (m.number(parts[0]),) if len(parts) == 1 else (m.number(parts[0]), m.number(parts[1]) if parts[1] else None)
        for parts in table
    ]


def times(m: Arithmetic, a: tuple[Expression, Expression | None], b: Pair) -> Pair:
    """The product; the second word is not normalised."""
    high = m.mul_(a[0], b[0])
    low = m.fma_(a[0], b[1], m.fma_(a[0], b[0], m.neg_(high)))
    return high, low if a[1] is None else m.fma_(a[1], b[0], low)


def square(m: Arithmetic, a: Expression, low: Expression | None = None) -> Pair:
    """The square of a number of one word or of two."""
    high = m.mul_(a, a)
    rest = m.fma_(a, a, m.neg_(high))
    return high, rest if low is None else m.fma_(m.add_(a, a), low, rest)


def rising(table: Sequence[tuple[float, ...]], low: float, high: float) -> frozenset[int]:
    """The coefficients in two words that `plus_product` may not begin with, for operands of an interval."""
    found = set()
    for x in (low + (high - low) * i / 64 for i in range(65)):
        value = 0.0
        for k in reversed(range(len(table))):
            first, product = table[k][0], x * value
            if len(table[k]) == 2 and abs(product) > abs(first) / (1 if first * product > 0 else 2):
                found.add(k)
            value = first + product
    return frozenset(found)


def polynomial(
    m: Arithmetic,
    x: Expression,
    low: Expression | None,
    coefficients: Coefficients,
    rising: frozenset[int] = frozenset(),
) -> Pair:
    """A polynomial of a number of one word or of two. ``plus_product`` may begin with the coefficients in two words,
    but for those that are ``rising``.
    """
    short = sum(len(parts) == 2 for parts in coefficients)
    single = [parts[0] for parts in coefficients[short:]]
    value = single[-1]
    for c in reversed(single[:-1]):
        value = m.fma_(value, x, c)
    found: tuple[Expression, Expression | None] = value, None
    for k in reversed(range(short)):
        parts = coefficients[k]
        high, rest = plus_product(m, parts[0], (x, low), found, falls=k not in rising)
        second = parts[1] if len(parts) == 2 else None
        found = high, rest if second is None else m.add_(rest, second)
    assert found[1] is not None
    return found[0], found[1]


def plus_product(
    m: Arithmetic,
    a: Expression,
    x: tuple[Expression, Expression | None],
    y: tuple[Expression, Expression | None],
    *,
    falls: bool = True,
) -> Pair:
    """``a + x y``, where a is at least twice the product, or as large and of the same sign, or zero; if not ``falls``, of
    any numbers.

    The difference of the first word and a is a number, and so is, but for 2**-53 of it, what the product has beyond that.
    """
    if falls:
        high = m.fma_(x[0], y[0], a)
        rest = m.fma_(x[0], y[0], m.sub_(a, high))
    else:
        product = m.mul_(x[0], y[0])
        high, lost = m.two_sum(a, product)
        rest = m.add_(lost, m.fma_(x[0], y[0], m.neg_(product)))
    if y[1] is not None:
        rest = m.fma_(x[0], y[1], rest)
    return high, rest if x[1] is None else m.fma_(x[1], y[0], rest)


def odd(m: Arithmetic, x: Pair, of_square: Pair, table: Coefficients) -> Pair:
    """``x P(z)`` of a number and its square; a zero keeps its sign in the first word."""
    return times(m, x, polynomial(m, *of_square, table))


def sum_of_any(m: Arithmetic, a: Expression, b: Pair) -> Pair:
    """The sum of a number of one word and another."""
    high, lost = m.two_sum(a, b[0])
    return high, m.add_(lost, b[1])


def over(m: Arithmetic, a: Pair, b: Pair, reciprocal: Expression) -> Pair:
    """The quotient, given the reciprocal of b in one word, roughly."""
    high = m.mul_(a[0], reciprocal)
    rest = m.add_(m.fma_(m.neg_(high), b[0], a[0]), a[1])
    return high, m.mul_(m.fma_(m.neg_(high), b[1], rest), reciprocal)
