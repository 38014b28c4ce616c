"""Polynomials in forms of shorter chains: the same numbers as by powers, in exact arithmetic."""

from fractions import Fraction
from math import factorial

import pytest

from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS
from ogive.lowering.numerics.elementary.exponential.exp import of_ninth_degree
from ogive.lowering.numerics.elementary.own_errors import PROMOTED
from ogive.lowering.numerics.machine import LONG

ARGUMENTS = [Fraction(i, 64) for i in range(-22, 23)]


class Exact:
    """The arithmetic that the forms are written for, with fractions in the place of expressions."""

    def __init__(self):
        self.instructions = 0

    def number(self, value):
        return Fraction(value)

    def add_(self, a, b):
        self.instructions += 1
        return a + b

    def mul_(self, a, b):
        self.instructions += 1
        return a * b

    def fma_(self, a, b, c):
        self.instructions += 1
        return a * b + c


def by_powers(x, *coefficients):
    return sum(Fraction(c) * x**power for power, c in enumerate(coefficients))


class Rounded(Exact):
    """The same in float64, each operation rounded once."""

    def number(self, value):
        return Fraction(float(value))

    def add_(self, a, b):
        return Fraction(float(a + b))

    def mul_(self, a, b):
        return Fraction(float(a * b))

    def fma_(self, a, b, c):
        return Fraction(float(a * b + c))


@pytest.mark.parametrize("r", ARGUMENTS)
def test_of_ninth_degree(r):
    """Within the bound of exp, rounded too."""
    exact = by_powers(r, *(Fraction(1, factorial(k)) for k in range(20)))
    for m in (Exact(), Rounded()):
        result = of_ninth_degree(m, r, POLYNOMIALS["EXP_ADAPTED"][LONG])
        assert abs(result / exact - 1) < PROMOTED["exp"]
    counting = Exact()
    of_ninth_degree(counting, r, POLYNOMIALS["EXP_ADAPTED"][LONG])
    assert counting.instructions == 11
