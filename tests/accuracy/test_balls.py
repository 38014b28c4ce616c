"""Enclosures in Python's integers, against python-flint's with three times the bits."""

import math
import random
from fractions import Fraction

import pytest

from ogive import balls

flint = pytest.importorskip("flint", reason="the other implementation is python-flint")

FUNCTIONS = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "erfinv",
    "sqrt",
]

#: Fractions of larger numbers would take long.
VAST = flint.arb(2) ** 100_000

#: Near kinks, overflow, poles and zeros; what the arithmetic changes its way at.
POINTS = [
    *(1.0, 0.5, 2.0, 4 / 3, 2 / 3, 1 + 2**-52, 1 - 2**-53, 1 + 2**-23, 1 - 2**-24, math.pi, math.pi / 2, 1e5, 1e18),
    *(11.3, 13.0, 26.5, 710.0, 745.0, 2.0**-35, 2.0**-70, 2.0**-300, 2.0**-1000, 2.0**120, 1e300),
]


@pytest.fixture(params=[64, 128, 600])
def bits(request):
    before = flint.ctx.prec, balls.ctx.prec
    balls.ctx.prec = request.param
    yield request.param
    flint.ctx.prec, balls.ctx.prec = before


def fraction(end):
    m, e = end.man_exp()
    return Fraction(int(m)) * Fraction(2) ** int(e)


def ends(ball, bits):
    flint.ctx.prec = 3 * bits + 300
    return fraction(ball.lower()), fraction(ball.upper())


def points():
    generator = random.Random(0)
    powers = [0, 0, 0, 1, 2, 3, 5, 8, 10, -1, -2, -5, -20, -100]
    found = [math.ldexp(generator.uniform(0.5, 1), generator.choice(powers)) for _ in range(25)]
    return [sign * x for x in (*POINTS, *found) for sign in (1, -1)]


@pytest.mark.matrix("name")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_at_a_point_is_in_its_ball_and_the_ball_is_small(name, bits):
    checked = 0
    for x in points():
        flint.ctx.prec = 3 * bits + 300
        exact = getattr(flint.arb(x), name)() if name != "erfinv" or abs(x) < 1 else flint.arb("nan")
        found = getattr(balls.arb(x), name)()
        if not exact.is_finite():
            assert not found.is_finite() or abs(x) > 1e200, x  # there python-flint gives up earlier
            continue
        if not (exact == 0 or VAST**-1 < abs(exact) < VAST):
            continue
        low, high = ends(exact, bits)
        assert found.is_finite(), x
        assert fraction(found.lower()) <= high, x
        assert low <= fraction(found.upper()), x
        # Near their zeros and poles, sine and its kin have the error of the angle.
        lost = 60 if name in ("sin", "cos", "tan") else 4
        assert found.rel_accuracy_bits() >= bits - lost or found.contains(0), x
        assert name == "tan" or found.rad() <= Fraction(1, 2 ** (bits - 4)) * max(abs(low), abs(high), 1), x
        checked += 1
    assert checked > 20


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("name", [*FUNCTIONS, "neg", "square", "reciprocal", "cube_root"])
def test_what_a_ball_becomes_has_what_its_numbers_become(name, bits):
    def apply(number):
        if name == "cube_root":
            return number.root(3)
        own = {"neg": lambda: -number, "square": lambda: number * number, "reciprocal": lambda: 1 / number}
        return own.get(name, getattr(number, name, None))()

    generator = random.Random(1)
    checked = 0
    for _ in range(40):
        middle = generator.uniform(-4, 4) * 4.0 ** generator.randint(-4, 3)
        if name == "erfinv":
            middle = math.tanh(middle)
        ball = balls.arb(middle, abs(middle) * 2.0 ** -generator.randint(2, 40))
        flint.ctx.prec = 3 * bits + 300
        found = apply(ball)
        if not found.is_finite():
            continue
        low, high = (fraction(end) for end in (ball.lower(), ball.upper()))
        for part in range(5):
            inside = low + (high - low) * part / 4
            exact = apply(flint.arb(flint.fmpq(inside.numerator, inside.denominator)))
            if name == "cube_root" and inside < 0:
                continue
            least, greatest = ends(exact, bits)
            assert fraction(found.lower()) <= greatest, (middle, part)
            assert least <= fraction(found.upper()), (middle, part)
            checked += 1
    assert checked > 40


def test_arithmetic_of_numbers_that_are_far_apart(bits):
    large, small = balls.arb(2) ** 100_000, balls.arb(2) ** -100_000
    for difference in (large - small, large + small):
        assert difference.contains(large)
        assert difference.rel_accuracy_bits() >= bits - 2
    assert large - small <= large + 1
    assert (large + small) - large >= 0
    assert (large - small) - large <= 0
    assert balls.arb(-(10**30)).exp() > 0
    assert balls.arb(-(10**30)).exp() < small
    assert not (balls.arb(2) ** 5000).exp().is_finite()
    tiny = (-(balls.arb(2) ** 5000)).exp()
    assert tiny >= 0
    assert tiny < small


def test_fractions_stay_fractions():
    q = balls.fmpq(3, 4)
    for found in (q + 1, 1 - q, q * q, 2 / q, -q, abs(q), q**-2):
        assert isinstance(found, balls.fmpq)
    assert (q.p, q.q, (q**-2).height_bits()) == (3, 4, 5)
    assert balls.arb(balls.fmpq(1, 3)).overlaps(1 / balls.arb(3))


@pytest.mark.parametrize("point", [(1.0, -2.0), (-1.0, -2.0), (1e-30, -1.0), (-3.0, 0.25), (2.0, 0.0)])
def test_the_angle_of_a_point(point, bits):
    flint.ctx.prec = 3 * bits
    low, high = ends(flint.arb.atan2(*map(flint.arb, point)), bits)
    found = balls.arb.atan2(*map(balls.arb, point))
    assert fraction(found.lower()) <= high
    assert low <= fraction(found.upper())
    assert found.rel_accuracy_bits() > bits - 4


def test_a_ball_across_the_negative_half_axis_has_no_angle():
    assert not balls.arb.atan2(balls.arb(0, 1), balls.arb(-1)).is_finite()


@pytest.mark.parametrize("other", [math.inf, -math.inf, 0.5, 2])
def test_an_infinity_compares_as_in_python_flint(other):
    """It is a leaf of formulas (guards ask for it); all that is computed of it has no ends."""
    for own in (math.inf, -math.inf, math.nan, -3.0, 0.5):
        for name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "overlaps"):
            for change in (lambda ball: ball, lambda ball: -ball, abs):
                results = [getattr(change(kind.arb(own)), name)(kind.arb(other)) for kind in (balls, flint)]
                assert bool(results[0]) == bool(results[1]) or (math.isnan(own) and name == "overlaps"), (own, name)
    assert not (balls.arb(math.inf) - balls.arb(math.inf)).is_finite()
    assert (balls.arb(1) == {True}) is (flint.arb(1) == {True}) is False
