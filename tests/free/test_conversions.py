"""A number is converted once, whatever forms of it are needed; nothing else changes."""

from __future__ import annotations

import pytest

from ogive.catalog import OPERATORS
from ogive.expression import Expression, Format, depends_on_elements, node, walk
from ogive.passes.conversions import fewer_conversions
from tests.verify import verify

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
