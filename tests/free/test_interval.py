import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.lowering.numerics.interval import EVERYTHING, Interval

numbers = st.floats(allow_nan=False, width=64)


@st.composite
def intervals_with_member(draw):
    a, b = sorted((draw(numbers), draw(numbers)))
    member = draw(st.floats(min_value=a, max_value=b, allow_nan=False))
    return Interval(a, b, draw(st.floats(0.0, abs(member)))), member


@pytest.mark.matrix(share=16, pool="slow")
@given(intervals_with_member(), intervals_with_member())
def test_operations_hold_every_result(one, other):
    (i, a), (j, b) = one, other
    results = [(i + j, a + b), (i - j, a - b), (i * j, a * b), (-i, -a), (abs(i), abs(a)), (i | j, a)]
    if b:
        results.append((i / j, a / b))
    for interval, value in results:
        assert math.isnan(value) or interval.low <= value <= interval.high
        assert math.isnan(value) or interval.smallest_magnitude <= abs(value)


#: So that neither sums nor products and quotients leave the range, and zero.
EXACT = st.floats(1e-100, 1e100) | st.floats(-1e100, -1e-100) | st.just(0.0)


@pytest.mark.matrix(share=16, pool="slow")
@given(EXACT, EXACT)
def test_intervals_hold_the_exact_result(a, b):
    """The float nearest to it may be less or more."""
    i, j, x, y = Interval.point(a), Interval.point(b), Fraction(a), Fraction(b)
    results = [(i + j, x + y), (i - j, x - y), (i * j, x * y)]
    if b:
        results.append((i / j, x / y))
    for interval, exact in results:
        assert Fraction(interval.low) <= exact <= Fraction(interval.high)


@pytest.mark.matrix(share=16, pool="slow")
@given(intervals_with_member())
def test_magnitudes(pair):
    interval, value = pair
    assert interval.smallest_magnitude <= abs(value) <= interval.largest_magnitude


def test_numbers_on_both_sides_of_zero_may_be_divided_by():
    lies = Interval(-8.0, 8.0, 0.5)
    assert (Interval.point(1.0) / lies).within(-2.01, 2.01)
    assert 0.24 < (lies * -lies).smallest_magnitude < 0.25
    assert Interval.point(-3.0) | Interval.point(2.0) == Interval(-3.0, 2.0, 2.0)
    assert (lies | Interval.point(0.0)).smallest_magnitude == (lies + lies).smallest_magnitude == 0
    assert abs(lies) == Interval(0.5, 8.0)


def test_map_is_a_little_wider():
    image = Interval(0.0, 1.0).map(math.exp)
    assert image.low < 1 < image.high
    assert image.within(0.999, 2.719)


def test_zero_and_infinity_stay_exact():
    assert Interval.around(0.0, math.inf) == Interval(0.0, math.inf)
    assert Interval(-1.0, 1.0) / Interval(-1.0, 1.0) == EVERYTHING


def test_nan_says_nothing():
    assert Interval(math.nan, math.nan) == EVERYTHING
    assert EVERYTHING + EVERYTHING == EVERYTHING


@pytest.mark.parametrize(("low", "high", "inside"), [(0, 1, True), (0.5, 1, False), (0, 0.5, False)])
def test_within(low, high, inside):
    assert Interval(0.25, 0.75).within(low, high) is inside


def test_what_underflows_may_be_more_than_zero():
    assert Interval(1e-200, 1e-190) * Interval(-1e-200, -1e-190) == Interval(-1e-323, 0.0)
    assert Interval(-1e4, -1e3).map(math.exp) == Interval(0.0, 1e-323)
    assert Interval(0.0, 0.0) * Interval(1e-200, 1e200) == Interval(0.0, 0.0)
    assert Interval(0.0, 0.0).map(math.expm1) == Interval(0.0, 0.0)
