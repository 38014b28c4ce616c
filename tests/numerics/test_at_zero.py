"""The facts of functions hold: their domains, their values at zero and at infinities, and the sides on which they lie next to zero."""

import math
from decimal import Decimal, localcontext

import pytest

from ogive.enclosures.enclosure import exact_value
from ogive.graph.expression import Format, node
from ogive.graph.operations import OPERATIONS
from ogive.lowering.numerics.elementary.function_row import FUNCTIONS
from ogive.lowering.numerics.ties import at_zero

ROWS = [operation for operation in OPERATIONS.values() if operation.at_infinities is not None]

KNOWN = [name for name in FUNCTIONS if OPERATIONS[name].lowering is not None and at_zero(name) is not None]


def test_functions_have_facts():
    assert {"exp", "logistic", "cos", "tanh", "atanh", "expm1"} <= set(KNOWN)
    assert at_zero("log") is at_zero("a function that does not exist") is None


@pytest.mark.parametrize("name", KNOWN)
def test_a_function_lies_on_its_side(name):
    facts, root = at_zero(name), node(OPERATIONS[name], (node("input", (), 0, Format.NUMBER),), None, Format.NUMBER)
    assert exact_value(root, [0.0], {}) == Decimal(facts.value)
    with localcontext() as context:
        context.prec = 120
        for x in (2.0**-21, 2.0**-60, -(2.0**-21), -(2.0**-60)):
            distance = exact_value(root, [x], {}, digits=100) - Decimal(x if facts.is_line else facts.value)
            assert distance.copy_sign(1) > 0
            assert (distance > 0) == ((facts.of_positive if x > 0 else facts.of_negative) > 0), x


def test_functions_of_one_number_have_facts():
    of_one = {operation for operation in OPERATIONS.values() if operation.is_elementary and operation.arity == 1}
    assert of_one == set(ROWS)


@pytest.mark.parametrize("operation", ROWS)
def test_values_are_those_of_another_library(operation):
    mp = pytest.importorskip("mpmath", reason="exact values need mpmath")
    assert operation.evaluate_exactly is not None
    at_zero = () if operation.at_zero is None else ((0, operation.at_zero),)
    for operand, fact in (*at_zero, *zip((-math.inf, math.inf), operation.at_infinities, strict=True)):
        value = float(operation.evaluate_exactly(mp.mp, mp.mpf(operand)))
        assert value == pytest.approx(float(fact), rel=1e-15, abs=0, nan_ok=True), operand
    for end, inwards in zip(operation.domain, (2.0**-20, -(2.0**-20)), strict=True):
        if math.isfinite(end):
            assert not mp.isnan(operation.evaluate_exactly(mp.mp, mp.mpf(end + inwards)))
            assert mp.isnan(operation.evaluate_exactly(mp.mp, mp.mpf(end - inwards)))
