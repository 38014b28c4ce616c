"""The estimate by which one of two programs is chosen."""

from __future__ import annotations

import pytest

from ogive.catalog import OPERATORS
from ogive.expression import Expression, Format, node, walk
from ogive.passes.cost import WIDTH_OF_FLOAT64, cost
from ogive.program import Program


def x(form: Format = Format.F32, position: int = 0) -> Expression:
    return node("input", (), position, form)


def number(value: float, form: Format = Format.F32) -> Expression:
    return node("constant", (), value, form)


def test_registers_of_float64_count_more():
    assert WIDTH_OF_FLOAT64 > 1
    for form, expected in ((Format.F32, 1.0), (Format.F64, WIDTH_OF_FLOAT64)):
        assert cost([node("multiply", (x(form), number(3.0, form)), None, form)]) == expected


def test_what_is_the_same_for_all_elements_is_free():
    parameter = node("parameter", (), (0, "alpha"), Format.F64)
    once = node("divide", (number(1.0, Format.F64), parameter), None, Format.F64)
    assert cost([once]) == 0
    assert cost([node("multiply", (x(Format.F64), once), None, Format.F64)]) == WIDTH_OF_FLOAT64


def test_what_only_rare_values_need_is_free():
    rare = node("divide", (x(), number(3.0)), None, Format.F32)
    condition = node("less", (x(), number(0.0)), None, Format.BIT)
    chosen = node("select_rare", (condition, rare, x()), None, Format.F32)
    assert cost([chosen]) < cost([chosen, rare])


def test_the_larger_of_two_is_one_instruction():
    condition = node("less", (x(), number(3.0)), None, Format.BIT)
    larger = node("select", (condition, number(3.0), x()), None, Format.F32)
    other = node("select", (condition, number(4.0), x()), None, Format.F32)
    assert cost([larger]) == 1
    assert cost([other]) > 1


def formats(name: str, dtype: str, **parameters: float) -> set[Format]:
    op = OPERATORS[name]
    signature = next(s for s in op.signatures if all(t.name == dtype for t in (*s.inputs, *s.outputs)))
    return {current.format for current in walk(*op.program(signature, **parameters).results) if current.operands}


def program(name: str, dtype: str, **parameters: float) -> Program:
    op = OPERATORS[name]
    signature = next(s for s in op.signatures if all(t.name == dtype for t in (*s.inputs, *s.outputs)))
    return op.program(signature, **parameters)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["exp", "mish", "swiglu", "swish", "tanh"])
def test_formulas_of_several_roundings_are_computed_in_float64_and_tested(name, dtype):
    assert Format.F64 in formats(name, dtype)
    assert program(name, dtype).undecided is not None


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["abs", "add", "clip", "floor", "leaky_relu", "mul", "relu", "sub"])
def test_what_one_operation_rounds_has_no_test(name, dtype):
    assert Format.F64 not in formats(name, dtype)
    assert program(name, dtype).undecided is None


@pytest.mark.parametrize("alpha", [1.0, 1.5, 0.3])
def test_bound_parameters_choose_as_open_ones(alpha):
    """Folding makes a formula shorter."""
    for name in ("celu", "leaky_relu", "swish"):
        assert (Format.F64 in formats(name, "float32", alpha=alpha)) == (name != "leaky_relu")


def test_a_bound_is_applied_after_rounding():
    """hard_sigmoid is one fused multiply-add, two comparisons and a NaN that becomes the canonical one."""
    assert formats("hard_sigmoid", "float32") == {Format.F32, Format.BIT}
