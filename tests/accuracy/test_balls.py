"""Balls of Arb, which decide the last level, hold what MPFR computes with twice the bits."""

import math
from fractions import Fraction

import flint
import pytest

gmpy2 = pytest.importorskip("gmpy2", reason="the other arithmetic is MPFR")

BITS = 128

FUNCTIONS = [
    *("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "erf", "erfc", "sqrt"),
]

#: Operands near kinks, overflow, poles and zeros.
POINTS = [
    *(1.0, 0.5, 2.0, 4 / 3, 2 / 3, 1 + 2**-52, 1 - 2**-53, 1 + 2**-23, 1 - 2**-24, math.pi, math.pi / 2, 1e5, 1e18),
    *(11.3, 13.0, 26.5, 710.0, 745.0, 2.0**-35, 2.0**-70, 2.0**-300, 2.0**-1000, 2.0**120, 1e300),
]


def fraction(end):
    m, e = end.man_exp()
    return Fraction(int(m)) * Fraction(2) ** int(e)


def holds(ball, number):
    """Whether a number of MPFR is in a ball, but for what MPFR has rounded."""
    exact = Fraction(*map(int, number.as_integer_ratio()))
    margin = abs(exact) * Fraction(2) ** -(2 * BITS)
    return fraction(ball.lower()) - margin <= exact <= fraction(ball.upper()) + margin


@pytest.mark.parametrize("name", FUNCTIONS)
def test_balls_hold_the_values(name):
    compared = 0
    with flint.ctx.workprec(BITS), gmpy2.context(precision=2 * BITS + 8, emax=2**20, emin=-(2**20)):
        for x in (*POINTS, *(-point for point in POINTS)):
            value, ball = getattr(gmpy2, name)(gmpy2.mpfr(x)), getattr(flint.arb(x), name)()
            if gmpy2.is_finite(value) and not gmpy2.is_zero(value):
                assert holds(ball, value), x
                assert ball.rel_accuracy_bits() > 70 or abs(x) == 1e300, x
                compared += 1
    assert compared >= 10


def test_balls_hold_inverses_of_erf():
    """MPFR has no erfinv: erf of it is the operand again."""
    with flint.ctx.workprec(BITS), gmpy2.context(precision=2 * BITS + 8):
        for x in (2.0**-300, 0.1, -0.5, 0.999, 1 - 2.0**-53):
            ball = flint.arb(x).erfinv()
            low, high = (gmpy2.erf(gmpy2.mpfr(gmpy2.mpq(fraction(end)))) for end in (ball.lower(), ball.upper()))
            assert low <= x <= high
            assert ball.rel_accuracy_bits() > 60


@pytest.mark.parametrize("point", [(1.0, 2.0), (-1.0, -3.0), (2.0**-200, -1.0), (1e300, 1e-300), (0.5, -0.25)])
def test_balls_hold_angles(point):
    with flint.ctx.workprec(BITS), gmpy2.context(precision=2 * BITS + 8):
        assert holds(flint.arb.atan2(*map(flint.arb, point)), gmpy2.atan2(*map(gmpy2.mpfr, point)))
