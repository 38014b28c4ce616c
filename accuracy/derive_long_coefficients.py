"""Derive the polynomial of erfc in the second level: run it and compare, or --write the table.

    python accuracy/derive_long_coefficients.py [--write]

With t = (a - 4) / (a + 4) it is (1 + 9/8 a) exp(a**2) erfc(a), for a from 0 to 27.5. The polynomial interpolates at
Chebyshev's nodes, which is within a few bits of the best one. All other functions of the second level are series.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction

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


def derived() -> Sections:
    with mp.workprec(900):
        numbers = [exactly(number) for number in interpolated(scaled, LOW, HIGH, COUNT)]
    what = "(1 + 9/8 a) exp(a**2) erfc(a) in t = (a - 4) / (a + 4), a <= 27.5"
    words = [in_words(number, k < SHORT) for k, number in enumerate(numbers)]
    return {"second level": {"ERFC": {"what": what, "F64": words}}}


if __name__ == "__main__":
    sys.exit(write_or_compare_tables(__doc__, derived))
