"""The special cases that docstrings state, on every floating-point type of the operator."""

import re

import numpy as np
import pytest

from ogive.catalog import OPERATORS
from ogive.formula import __all__ as formula_names
from tests.inputs import assert_same_bits

STATEMENT = re.compile(r"Special cases(?: \((?P<given>[^)]*)\))?: (?P<cases>[^.]+(?:\.[^.\s][^.]*)*)\.")
NUMBER = re.compile(r"^-?(?:inf|nan|[0-9.e+-]+)$")

STATED = [op for op in OPERATORS.values() if "Special cases" in op.__doc__]


def statements(op):
    """[(fixed operands by name, input, result)]"""
    found = STATEMENT.search(" ".join(op.__doc__.split()))
    assert found, f"{op.name}: its special cases are not written as `a -> b; c -> d.`"
    fixed = dict(part.split(" = ") for part in (found["given"] or "").split(", ") if part)
    for case in found["cases"].split("; "):
        value, result = case.split(" -> ")
        assert NUMBER.match(value), case
        assert NUMBER.match(result), case
        yield {name: float(number) for name, number in fixed.items()}, float(value), float(result)


@pytest.mark.parametrize("op", STATED, ids=lambda op: op.name)
def test_stated_cases_hold(op):
    for fixed, value, expected in statements(op):
        for signature in op.signatures:
            if not all(t.is_float for t in (*signature.inputs, *signature.outputs)):
                continue
            dtype = signature.inputs[0].numpy
            tensors = [value] + [fixed[name] for name in op.tensors[1:]]
            parameters = {p.name: fixed[p.name] for p in op.parameters if p.name in fixed}
            result = op(*(np.array([number], dtype=dtype) for number in tensors), **parameters)
            assert_same_bits(result, np.array([expected], dtype=dtype), np.array([value], dtype=dtype))


def test_every_activation_states_the_five():
    """NaN, both zeros and both infinities: nobody has to guess them."""
    from ogive.catalog import activations

    assert STATED
    for name in activations.__all__:
        values = {repr(value) for _, value, _ in statements(OPERATORS[name])}
        assert {"nan", "0.0", "-0.0", "inf", "-inf"} <= values, name


def test_nan_is_canonical():
    payloads = np.array([0x7F800001, 0x7FC12345, 0xFFC00000, 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    for op in OPERATORS.values():
        for signature in op.signatures:
            if signature.outputs[0].name == "float32" and signature.inputs[0].name == "float32":
                required = {p.name: 1.0 for p in op.parameters if p.is_required}
                result = op(*[payloads] * op.inputs, **required)
                bits = result.view(np.uint32)[np.isnan(result)]
                assert (bits == 0x7FC00000).all(), op.name


def test_formulas_have_the_vocabulary():
    assert len(formula_names) > 10
