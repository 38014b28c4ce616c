"""Polynomials in forms of shorter chains: the same numbers as by powers, in exact arithmetic."""

from fractions import Fraction
from math import factorial

import pytest

from ogive.expression import Format
from ogive.numerics.elementary.adapted import of_fourth_degree, of_ninth_degree, of_sixth_degree
from ogive.numerics.elementary.coefficients import EXP_ADAPTED, EXPM1, EXPM1_ADAPTED, NORMAL_TAIL
from ogive.numerics.elementary.own_errors import PROMOTED
from ogive.numerics.machine import LONG

#: What rounding the coefficients to float64 leaves.
LIMIT = Fraction(1, 2**46)

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


#: The forms, and how far from 1 + r + ... they are: EXPM1_ADAPTED is EXPM1 but for the rounding of coefficients.
FORMS = [
    pytest.param(EXPM1_ADAPTED, lambda r: by_powers(r, 1, *EXPM1[Format.F32]), LIMIT, id="expm1"),
    pytest.param(
        EXP_ADAPTED, lambda r: by_powers(r, *(Fraction(1, factorial(k)) for k in range(20))), 2.0**-28, id="exp"
    ),
]


@pytest.mark.parametrize(("coefficients", "expected", "limit"), FORMS)
@pytest.mark.parametrize("factor", [1.0, 2.0, 0.25, -1.0, -0.5])
@pytest.mark.parametrize("r", ARGUMENTS)
def test_of_sixth_degree(coefficients, expected, limit, factor, r):
    m = Exact()
    result = of_sixth_degree(m, r / Fraction(factor), coefficients[Format.F32], factor)
    assert abs(result / expected(r) - 1) < limit
    assert m.instructions == 7


@pytest.mark.parametrize(("factor", "times"), [(1.0, 1.0), (2.0, 0.7), (0.25, 1.0), (-1.0, 3.0), (-0.5, 1.0)])
@pytest.mark.parametrize("r", ARGUMENTS)
def test_of_ninth_degree(factor, times, r):
    """Within the bound of exp, rounded too."""
    exact = by_powers(r, *(Fraction(1, factorial(k)) for k in range(20))) * Fraction(times)
    for m in (Exact(), Rounded()):
        result = of_ninth_degree(m, r / Fraction(factor), EXP_ADAPTED[LONG], factor, times)
        assert abs(result / exact - 1) < PROMOTED["exp"]
    counting = Exact()
    of_ninth_degree(counting, r, EXP_ADAPTED[LONG])
    assert counting.instructions == 11


@pytest.mark.parametrize("factor", [1.0, -1.0, -0.5])
@pytest.mark.parametrize("r", [Fraction(i, 2**k) for k in (9, 10, 11, 12, 30) for i in (1, 3, 5)])
def test_exp_near_zero(r, factor):
    """Closer than a part of r**3, which decides where sigmoid in float16 is nearly a tie."""
    result = of_sixth_degree(Rounded(), r / Fraction(factor), EXP_ADAPTED[Format.F32], factor)
    assert abs(result - (1 + r + r**2 / 2 + r**3 / 6 + r**4 / 24)) < r**3 / 24 + Fraction(1, 2**46)


@pytest.mark.parametrize("factor", [1.0, -1.0, -0.5])
def test_exp_of_zero_is_exact(factor):
    assert of_sixth_degree(Rounded(), Fraction(0), EXP_ADAPTED[Format.F32], factor) == 1


@pytest.mark.parametrize("r", [Fraction(i, 2**k) for k in (26, 27, 30, 70) for i in (1, 3, 4, 5, 7)])
def test_the_rest_of_expm1_is_a_little_less_than_one_near_zero(r):
    m = Rounded()
    x = m.number(r)
    result = m.mul_(of_sixth_degree(m, x, EXPM1_ADAPTED[Format.F32]), x)
    exact = x + x**2 / 2 + x**3 / 6
    assert exact * (1 - Fraction(1, 2**46)) < result < exact


@pytest.mark.parametrize("x", [Fraction(i, 8) for i in range(125)])
def test_of_fourth_degree(x):
    """Where NORMAL_TAIL is used; exactly, and each operation rounded."""
    above, _ = NORMAL_TAIL[Format.F32]
    above = tuple(c / above[-1] for c in above)
    exact = Exact()
    for m in (exact, Rounded()):
        assert abs(of_fourth_degree(m, x, above) / by_powers(x, *above) - 1) < LIMIT
    assert exact.instructions == 5
