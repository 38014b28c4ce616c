"""The facts of functions next to zero, of which ties are decided, hold: their values there, and the sides on which they lie."""

from decimal import Decimal, localcontext

import pytest

from ogive.enclosures.enclosure import exact_value
from ogive.graph.expression import Format, node
from ogive.graph.operations import OPERATIONS
from ogive.lowering.numerics.elementary.propagation import FUNCTIONS
from ogive.lowering.numerics.ties import at_zero

KNOWN = [name for name in FUNCTIONS if at_zero(name) is not None]


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
