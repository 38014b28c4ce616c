import pickle
from fractions import Fraction

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.errors import FormulaError
from ogive.expression import ELEMENTARY, OPERATIONS, Expression, Format, constant, node, walk

x = node("input", (), 0, Format.NUMBER)
y = node("input", (), 1, Format.NUMBER)


def test_equal_graphs_are_one_object():
    assert f.exp(x + 1) is f.exp(x + 1)
    assert x + y is not y + x
    assert (x > 1) is (x > 1)


def test_constants_are_told_apart_exactly():
    assert constant(1) is constant(1.0)
    assert constant(Fraction(1, 3)) is not constant(1 / 3)
    assert constant(0.0) is not constant(-0.0)
    assert constant(float("nan")) is constant(float("nan"))
    assert constant(True) is not constant(1)
    assert constant(True).format is Format.TRUTH


def test_nodes_are_immutable():
    with pytest.raises(AttributeError, match="operation cannot be set"):
        x.operation = "output"
    with pytest.raises(FormulaError, match="nodes are made by"):
        Expression()


def test_pickle_keeps_identity():
    graph = f.where(x > 0, x, f.expm1(y) * Fraction(1, 3))
    assert pickle.loads(pickle.dumps(graph)) is graph


def test_walk_yields_operands_first_and_every_node_once():
    root = (x + y) * (x + y) - x
    order = list(walk(root))
    assert len(order) == len(set(order)) == 5
    assert order[-1] is root
    positions = {current: position for position, current in enumerate(order)}
    for position, current in enumerate(order):
        assert all(positions[operand] < position for operand in current.operands)


def test_every_operator_of_python_makes_its_node():
    made = {
        "add": x + y,
        "subtract": 1 - x,
        "multiply": 2 * x,
        "divide": x / y,
        "negate": -x,
        "absolute": abs(x),
        "less": x < y,
        "less_equal": x >= y,
        "and": (x < y) & (y < x),
        "or": (x < y) | (y < x),
        "exclusive_or": (x < y) ^ (y < x),
        "not": ~(x < y),
    }
    assert {name: made[name].operation for name in made} == {name: name for name in made}
    assert (x >= y).operands == (y, x)
    assert +x is x


def test_numpy_functions_inside_formulas():
    assert np.exp(x) is f.exp(x)
    assert np.where(x > 0, x, 0) is f.where(x > 0, x, 0)
    assert np.float32(2) * x is x.__rmul__(2.0)
    assert np.add(x, 1) is x + 1


@pytest.mark.parametrize("name", [name for name in ELEMENTARY if hasattr(np, name)])
def test_every_elementary_function_of_numpy_is_understood(name):
    assert getattr(np, name)(x) is getattr(f, name)(x)


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: bool(x > 0), "Write where\\(condition, a, b\\) instead of if"),
        (lambda: float(x), "for the value of an expression"),
        (lambda: list(x), "cannot be iterated"),
        (lambda: x + "1", "combines an expression with the text '1'"),
        (lambda: x + np.ones(3), "an array of shape \\(3,\\)"),
        (lambda: np.gcd(x, y), "numpy.gcd, which has no meaning for an expression"),
        (lambda: np.sum(x), "numpy.sum.*row_sum"),
        (lambda: x & y, "`&`: an operand is a number; allowed: truth values"),
        (lambda: (x > 0) - (y > 0), "`-` has no meaning between two truth values. Write a \\^ b"),
        (lambda: f.where(x, 1, 2), "where: the condition is a number"),
    ],
)
def test_what_formulas_must_not_do(act, text):
    with pytest.raises(FormulaError, match=text):
        act()


def test_operators_compose():
    graph = ogive.celu(x * 2, alpha=1.5) + 1
    assert isinstance(graph, Expression)
    inner = ogive.celu.formula()[0]
    assert {n.operation for n in walk(inner)} - {"parameter"} <= {n.operation for n in walk(graph)}


def test_the_list_of_operations_is_consistent():
    assert len(OPERATIONS) > 30
    for name, row in OPERATIONS.items():
        assert row.name == name
        assert row.python.count("{") in (0, row.arity)
        leaves = ("input", "parameter", "constant", "row_value", "row_position")
        assert (row.arity == 0) == (name in leaves)
