"""Polynomials in forms of fewer multiplications: the same numbers as by powers, in exact arithmetic."""

from fractions import Fraction

import pytest

from ogive.elementary.adapted import by_quadratics, of_sixth_degree
from ogive.elementary.coefficients import EXP_BY_QUADRATICS, EXPM1, EXPM1_ADAPTED
from ogive.expression import Format

#: What rounding the coefficients to float64 leaves.
LIMIT = Fraction(1, 2**46)

ARGUMENTS = [Fraction(i, 64) for i in range(-23, 24)]


class Exact:
    """The arithmetic that the forms are written for, with fractions in the place of expressions."""

    def __init__(self):
        self.multiplications = 0

    def number(self, value):
        return Fraction(value)

    def add_(self, a, b):
        return a + b

    def sub_(self, a, b):
        return a - b

    def mul_(self, a, b):
        self.multiplications += 1
        return a * b

    def fma_(self, a, b, c):
        self.multiplications += 1
        return a * b + c


def by_powers(x, *coefficients):
    return sum(Fraction(c) * x**power for power, c in enumerate(coefficients))


@pytest.mark.parametrize("factor", [1.0, -1.0, -0.5, 4.0])
@pytest.mark.parametrize("times", [1.0, 2.0**200])
@pytest.mark.parametrize("r", ARGUMENTS)
def test_exp_by_quadratics(r, factor, times):
    m = Exact()
    result = by_quadratics(m, r / Fraction(factor), EXP_BY_QUADRATICS[Format.F32], factor, times)
    expected = by_powers(r, 1, 1, *EXPM1[Format.F32]) * Fraction(times)
    assert abs(result / expected - 1) < LIMIT
    assert m.multiplications == 5  # Horner's rule takes 7


class Rounded(Exact):
    """The same in float64, each operation rounded once."""

    def number(self, value):
        return Fraction(float(value))

    def add_(self, a, b):
        return Fraction(float(a + b))

    def sub_(self, a, b):
        return Fraction(float(a - b))

    def mul_(self, a, b):
        return Fraction(float(a * b))

    def fma_(self, a, b, c):
        return Fraction(float(a * b + c))


@pytest.mark.parametrize("factor", [1.0, -1.0, -0.5])
def test_exp_of_zero_is_exact(factor):
    assert by_quadratics(Rounded(), Fraction(0), EXP_BY_QUADRATICS[Format.F32], factor) == 1


@pytest.mark.parametrize("factor", [1.0, 2.0, 0.25])
@pytest.mark.parametrize("r", ARGUMENTS)
def test_expm1_of_sixth_degree(r, factor):
    m = Exact()
    first, *rest = EXPM1_ADAPTED[Format.F32]
    scaled = of_sixth_degree(m, r / Fraction(factor), tuple(rest), factor)
    result = scaled * Fraction(factor) ** 6 * Fraction(first)
    assert abs(result / by_powers(r, 1, *EXPM1[Format.F32]) - 1) < LIMIT
    assert m.multiplications == (3 if factor == 1 else 4)  # Horner's rule takes 6


@pytest.mark.parametrize("r", [Fraction(i, 2**k) for k in (26, 27, 30, 70) for i in (1, 3, 4, 5, 7)])
def test_the_rest_of_expm1_is_a_little_less_than_one_near_zero(r):
    m = Rounded()
    first, *rest = EXPM1_ADAPTED[Format.F32]
    x = m.number(r)
    result = m.mul_(of_sixth_degree(m, x, tuple(rest)), m.mul_(x, m.number(first)))
    exact = x + x**2 / 2 + x**3 / 6
    assert exact * (1 - Fraction(1, 2**47)) < result < exact
