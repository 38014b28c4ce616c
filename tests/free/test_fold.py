from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import ogive
from ogive import formula as f
from ogive.expression import Format, constant, node
from ogive.passes.fold import fold

x = node("input", (), 0, Format.NUMBER)


def test_constants_are_computed_exactly():
    assert fold(x * (constant(1) / 3 + constant(1) / 6)) is x * constant(Fraction(1, 2))
    assert fold(f.absolute(constant(-3))) is constant(3)
    assert fold(f.floor(constant(-2.5))) is constant(-3)
    assert fold(f.round_even(constant(2.5))) is constant(2)
    assert fold(f.where(constant(1) < 2, x, 0)) is x


def test_square_roots_are_good_to_200_bits():
    root = fold(f.square_root(constant(2))).attribute
    assert abs(root * root - 2) < Fraction(1, 2**200)
    assert fold(f.square_root(constant(Fraction(9, 4)))) is constant(Fraction(3, 2))


@given(st.fractions(), st.fractions())
def test_arithmetic_of_fractions(a, b):
    assert fold(constant(a) + constant(b)) is constant(a + b)
    assert fold(constant(a) * constant(b)) is constant(a * b) or a * b == 0
    if b:
        assert fold(constant(a) / constant(b)) is constant(a / b)


def test_parameters_are_bound_by_name():
    bound = fold(ogive.shrink.formula()[0], {"bias": 0.5, "lambd": 1.0})
    assert bound is fold(f.where(x > 1, x - 0.5, f.where(x < constant(-1), x + 0.5, 0)))
    half = fold(ogive.shrink.formula()[0], {"bias": 0.5})
    assert half is not bound


def test_what_keeps_bits():
    assert fold(-f.absolute(x)) is -f.absolute(x)
    minus = -x
    assert fold(-minus) is x
    assert fold(f.where(x > 0, x, x)) is x


def test_what_would_change_bits_is_left_alone():
    # -0 + 0 is 0; 0 * x is NaN at infinity; x - x likewise; 1 / 0 has no value.
    for graph in (x + 0, x * 0, x - x, constant(1) / 0, -constant(0), constant(float("nan")) + 1):
        assert fold(graph) is graph
