"""Derive the polynomials of float64's own kernels, and erfc's of the second level: run it and compare, or --write them.

    python accuracy/derive_word_coefficients.py [--write]

The first coefficients of each are sums of two float64, so that what they add up to is good to more bits than one float64
has; what the others add is so small that their rounding does not show. The polynomials interpolate at Chebyshev's nodes,
which is within a few bits of the best ones. Coefficients that are known fractions are kept: the others interpolate what
these leave.

The second level's is (1 + 9/8 a) exp(a**2) erfc(a) with t = (a - 4) / (a + 4), for a from 0 to 27.5. All its other functions are
series.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import mpmath as mp
from derived_tables import Sections, write_or_compare_tables

#: How many coefficients, and from which one on a float64 is enough: what they add is below 2**-43.
COUNT, SHORT = 45, 36

LOW, HIGH = mp.mpf(-1), mp.mpf("23.5") / mp.mpf("31.5")


def scaled(t: mp.mpf) -> mp.mpf:
    a = 4 * (1 + t) / (1 - t)
    return (1 + mp.mpf(9) / 8 * a) * mp.exp(a * a) * mp.erfc(a)


def interpolated(function: Callable[[mp.mpf], mp.mpf], low: mp.mpf, high: mp.mpf, count: int) -> list[mp.mpf]:
    """Newton's divided differences at Chebyshev's nodes, multiplied out."""
    middle, half = (high + low) / 2, (high - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    differences = list(map(function, nodes))
    for step in range(1, count):
        for k in reversed(range(step, count)):
            differences[k] = (differences[k] - differences[k - 1]) / (nodes[k] - nodes[k - step])
    numbers = [mp.mpf(0)] * count
    for difference, node in zip(reversed(differences), reversed(nodes), strict=True):
        numbers = [(numbers[k - 1] if k else 0) - node * numbers[k] for k in range(count)]
        numbers[0] += difference
    return numbers


def exactly(value: mp.mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)


def in_words(value: Fraction, in_two: bool) -> list[float]:
    high = float(value)
    return [high, float(value - Fraction(high))] if in_two else [high]


def of_second_level() -> Sections:
    with mp.workprec(900):
        numbers = [exactly(number) for number in interpolated(scaled, LOW, HIGH, COUNT)]
    what = "(1 + 9/8 a) exp(a**2) erfc(a) in t = (a - 4) / (a + 4), a <= 27.5"
    words = [in_words(number, k < SHORT) for k, number in enumerate(numbers)]
    return {"second level": {"ERFC": {"what": what, "F64": words}}}


class Table(NamedTuple):
    name: str
    what: str
    function: Callable[[mp.mpf], mp.mpf]
    low: mp.mpf
    high: mp.mpf
    kept: tuple[Fraction, ...]
    """The first coefficients, where they are known fractions."""
    others: int
    """How many others follow."""
    in_two: int
    """How many of all are sums of two float64."""


#: Below this a function of zero is taken for its limit: at a node that is zero.
TINY = mp.mpf(2) ** -100


def of_square(function: Callable[[mp.mpf], mp.mpf]) -> Callable[[mp.mpf], mp.mpf]:
    """``f(sqrt(z))``."""
    return lambda z: function(mp.sqrt(abs(z) if abs(z) > TINY else TINY))


def scaled_erfc(t: mp.mpf) -> mp.mpf:
    a = (3 * t + mp.mpf(11) / 4) / (1 - t)
    return (1 + mp.mpf(3) / 4 * a) * mp.exp(a * a) * mp.erfc(a)


def tables() -> list[Table]:
    one, half = Fraction(1), Fraction(1, 2)
    r = mp.log(2) / 2 * (1 + mp.mpf(2) ** -10)
    quarter = (mp.pi / 4 * (1 + mp.mpf(2) ** -10)) ** 2
    zero = mp.mpf(0)

    def away(x: mp.mpf) -> mp.mpf:
        return x if abs(x) > TINY else TINY

    def over(function: Callable[[mp.mpf], mp.mpf]) -> Callable[[mp.mpf], mp.mpf]:
        return of_square(lambda x: function(x) / x)

    return [
        Table(
            "EXP",
            "exp(r) in r, abs(r) <= log(2) / 2",
            mp.exp,
            -r,
            r,
            (one, one, half),
            11,
            4,
        ),
        Table(
            "LOG",
            "log1p(f) / s in s**2, s = f / (1 + f / 2), sqrt(1/2) <= 1 + f <= sqrt(2)",
            of_square(lambda x: 2 * mp.atanh(x / 2) / x),
            zero,
            (mp.mpf("0.3434")) ** 2,
            (one, Fraction(1, 12)),
            8,
            2,
        ),
        Table(
            "SIN",
            "sin(x) / x in x**2, abs(x) <= pi / 4",
            over(mp.sin),
            zero,
            quarter,
            (one, Fraction(-1, 6), Fraction(1, 120)),
            6,
            3,
        ),
        Table(
            "COS",
            "cos(x) in x**2, abs(x) <= pi / 4",
            of_square(mp.cos),
            zero,
            quarter,
            (one, -half, Fraction(1, 24)),
            6,
            3,
        ),
        Table(
            "SINH",
            "sinh(x) / x in x**2, abs(x) <= log(2) / 2",
            over(mp.sinh),
            zero,
            r * r,
            (one, Fraction(1, 6)),
            6,
            2,
        ),
        Table(
            "COSH",
            "cosh(x) in x**2, abs(x) <= log(2) / 2",
            of_square(mp.cosh),
            zero,
            r * r,
            (one, half),
            6,
            2,
        ),
        Table(
            "ASIN",
            "asin(x) / x in x**2, abs(x) <= 1/2",
            over(mp.asin),
            zero,
            mp.mpf("0.2501"),
            (one, Fraction(1, 6), Fraction(3, 40)),
            15,
            3,
        ),
        Table(
            "ATAN",
            "atan(x) / x in x**2, abs(x) <= tan(pi / 8)",
            over(mp.atan),
            zero,
            mp.mpf("0.1717"),
            (one, Fraction(-1, 3), Fraction(1, 5)),
            12,
            3,
        ),
        Table(
            "ERF",
            "erf(x) / x in x**2, abs(x) <= 1/2",
            of_square(lambda x: mp.erf(x) / x),
            zero,
            mp.mpf("0.2501"),
            (),
            12,
            3,
        ),
        Table(
            "ERFC",
            "(1 + 3/4 a) exp(a**2) erfc(a) in t = (a - 11/4) / (a + 3), a <= 27.5",
            scaled_erfc,
            mp.mpf(-11) / 12,
            mp.mpf("24.75") / mp.mpf("30.5"),
            (),
            27,
            7,
        ),
    ]


def numbers(table: Table) -> list[Fraction]:
    kept = table.kept

    def rest(x: mp.mpf) -> mp.mpf:
        point = x if abs(x) > TINY or not kept else TINY
        known = mp.fsum(mp.mpf(c.numerator) / c.denominator * point**k for k, c in enumerate(kept))
        return (table.function(point) - known) / point ** len(kept)

    return [*kept, *map(exactly, interpolated(rest, table.low, table.high, table.others))]


def derived() -> Sections:
    found = {}
    for table in tables():
        with mp.workprec(1600):
            fractions = numbers(table)
        words = [in_words(value, k < table.in_two) for k, value in enumerate(fractions)]
        found[table.name] = {"what": table.what, "F64": words}
    return {"words": found, **of_second_level()}


if __name__ == "__main__":
    with mp.workprec(1600):
        sys.exit(write_or_compare_tables(__doc__, derived))
