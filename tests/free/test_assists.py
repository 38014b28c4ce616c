"""No program computes with subnormal numbers on ordinary data: that takes processors of Intel a hundred cycles a time."""

from __future__ import annotations

import numpy as np
import pytest

from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph.expression import Format, walk
from ogive.laboratory.accuracy.running_bound import evaluate_with_bounds
from ogive.lowering.lower import lower
from ogive.lowering.numerics import float_float
from tests.assists import COUNT, ORDINARY, assists, assists_of, derivatives, drawn, programs, values_of
from tests.inputs import CASES, OF_ROWS, named
from tests.random_formulas import WRITTEN, X, grown
from tests.verify import verify_program

FLOATS = [(op, s) for op, s in (*CASES, *OF_ROWS) if any(t.is_float for t in s.inputs)]
FLOAT_IDS = named(FLOATS)

#: Where numbers of the formula itself are subnormal in float32.
OF_THE_FORMULA = {
    ("erfc", "float16"): "the tail beyond 9 is rounded to float32 on its way from float64 to float16",
    ("fast erfc", "float16"): "the same",
    ("vjp of erf", "float32"): "exp(-x*x) beyond 9.3",
    ("grad of x of erf", "float32"): "exp(-x*x) beyond 9.3",
    ("vjp of erfc", "float32"): "exp(-x*x) beyond 9.3",
    ("grad of x of erfc", "float32"): "exp(-x*x) beyond 9.3",
    ("gelu by tanh", "float32"): "exp(-2 * 43), of an operand of 10",
    ("vjp of geglu", "bfloat16"): "the slope of tanh at 43, of a gate of 10",
    ("fast vjp of geglu", "float32"): "the same",
    ("fast vjp of geglu", "bfloat16"): "the same",
    ("fast vjp of geglu", "float16"): "the same",
}

SINGLE, DTYPES = ELEMENT_TYPES["float32"], ("float32", "bfloat16", "float16")

#: Numbers of a formula between these and their negatives are ordinary. A zero may be what rounds to it.
ORDINARY_NUMBERS = 2.0**-40, 2.0**40


def found_in(op, signature, name):
    """The assists of an operator, less those with a reason."""
    if (name, signature.inputs[0].name) in OF_THE_FORMULA:
        return []
    found = []
    for chosen, program in programs(op, signature):
        for each in program.chain:
            verify_program(each)
        found += [(name, chosen, *each) for each in assists(program, values_of(op))]
    return found


@pytest.mark.matrix("op.name", share=5)
@pytest.mark.parametrize(("op", "signature"), FLOATS, ids=FLOAT_IDS)
def test_operators_take_none(op, signature):
    assert found_in(op, signature, op.name) == []


@pytest.mark.matrix("op.name", share=9)
@pytest.mark.parametrize(("op", "signature"), FLOATS, ids=FLOAT_IDS)
def test_fast_operators_take_none(op, signature):
    assert found_in(op.fast, signature, f"fast {op.name}") == []


@pytest.mark.matrix("op.name", share=12)
@pytest.mark.parametrize("contract", ["exact", "fast"])
@pytest.mark.parametrize(("op", "signature"), FLOATS, ids=FLOAT_IDS)
def test_derivatives_take_none(op, signature, contract):
    for name, derivative in derivatives(getattr(op, contract)):
        for each in derivative.signatures:
            if each.inputs[0] is signature.inputs[0]:
                shown = f"{name} of {op.name}"
                assert found_in(derivative, each, shown if contract == "exact" else f"fast {shown}") == []


def found_in_formula(root, kind):
    """The assists of a formula, of the ordinary data of which all of its numbers are ordinary."""
    found, values, (least, most) = [], {"alpha": 0.7}, ORDINARY_NUMBERS
    inputs = [kind] * (1 + max(n.attribute for n in walk(root) if n.operation == "input"))
    program = lower([root], inputs, (kind,), parameter_count=1)
    verify_program(program)
    for data in ORDINARY:
        arrays, are_ordinary = drawn(inputs, data, (COUNT,)), np.ones(COUNT, bool)
        with np.errstate(all="ignore"):
            for part in walk(root):
                if part.format is Format.NUMBER:
                    size = np.abs(evaluate_with_bounds(part, arrays, values, SINGLE)[0])
                    are_ordinary &= (least < size) & (size < most)
        if are_ordinary.any():
            arrays = [np.resize(array[are_ordinary], COUNT) for array in arrays]
            found += [(str(root), *each) for each in assists_of(program, values, arrays, data)]
    return found


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(40))
def test_random_formulas_take_none(seed, dtype):
    root = X + grown(np.random.default_rng(2000 + seed), 1 + seed % 7)
    assert found_in_formula(root, ELEMENT_TYPES[dtype]) == []


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRITTEN)
def test_written_formulas_take_none(name, dtype):
    if (name, dtype) not in OF_THE_FORMULA:
        assert found_in_formula(WRITTEN[name], ELEMENT_TYPES[dtype]) == []


def test_an_assist_is_found(monkeypatch):
    """A subnormal bound of what underflow loses was added in every result once."""
    program = lower(OPERATORS["gelu"].formula(), [SINGLE], (SINGLE,))
    assert list(assists(program, {})) == []
    monkeypatch.setattr(float_float, "LOST", 2.0**-140)
    program = lower(OPERATORS["gelu"].formula(), [SINGLE], (SINGLE,))
    assert {each.data for each in assists(program, {})} == set(ORDINARY)
