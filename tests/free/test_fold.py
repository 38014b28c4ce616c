from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ogive
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.graph.expression import Expression, Format, constant, depends_on_elements, node, walk
from ogive.lowering.fold import fewer_conversions, fold
from tests.verify import verify

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


# ---- a number is converted once, whatever forms of it are needed; nothing else changes


X = node("input", (), 0, Format.F32)
LIMIT = node("constant", (), 3.0, Format.F32)
ABSOLUTE = node("absolute", (X,), None, Format.F32)
CLAMPED = node("select", (node("less", (LIMIT, ABSOLUTE), None, Format.BIT), LIMIT, ABSOLUTE), None, Format.F32)


def long(value: Expression) -> Expression:
    return node("convert", (value,), None, Format.F64)


def product(*factors: Expression) -> Expression:
    return node("convert", (node("multiply", factors, None, Format.F64),), None, Format.F32)


def promoted(*roots: Expression) -> list[Expression]:
    return [n.operands[0] for n in walk(*roots) if n.operation == "convert" and n.format is Format.F64]


@pytest.mark.parametrize("form", [ABSOLUTE, CLAMPED, node("negate", (X,), None, Format.F32)])
def test_several_forms_of_a_number_are_one_conversion(form):
    before = product(long(X), long(form))
    after = fewer_conversions([before])
    verify(*after, stage="primitive")
    assert promoted(before) == [X, form]
    assert promoted(*after) == [X]


def test_a_clamp_stays_one_instruction():
    (after,) = fewer_conversions([product(long(X), long(CLAMPED))])
    clamp = next(n for n in walk(after) if n.operation == "select")
    assert clamp.format is Format.F64
    assert set(clamp.operands[0].operands) == set(clamp.operands[1:])


def test_a_single_form_is_converted_as_it_was():
    before = product(long(CLAMPED), long(CLAMPED))
    assert fewer_conversions([before]) == (before,)


def test_other_choices_are_not_taken_apart():
    other = node("input", (), 1, Format.F32)
    chosen = node("select", (node("less", (other, LIMIT), None, Format.BIT), LIMIT, X), None, Format.F32)
    before = product(long(X), long(chosen))
    assert fewer_conversions([before]) == (before,)


@pytest.mark.parametrize("name", ["acos", "mish", "selu", "swish", "tanh"])
def test_operators_convert_their_operand_once(name):
    signature = next(s for s in OPERATORS[name].signatures if s.inputs[0].name == "float32")
    forms = promoted(*OPERATORS[name].program(signature).results)
    assert len([form for form in forms if depends_on_elements(form)]) == 1
