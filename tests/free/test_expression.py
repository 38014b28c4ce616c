import math
import pickle
import pkgutil
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.errors import FormulaError
from ogive.graph.expression import OPERATIONS, Expression, Format, Term, constant, node, walk

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
        "equal": x == y,
        "power": x**y,
        "round_even": round(x),
        "floor": math.floor(x),
        "ceiling": math.ceil(x),
        "truncate": math.trunc(x),
    }
    assert {name: made[name].operation for name in made} == {name: name for name in made}
    assert all(a is b for a, b in zip((x >= y).operands, (y, x), strict=True))
    assert +x is x
    assert (x != y) is ~(x == y)
    assert (1 == x) is f.equal(x, 1)  # noqa: SIM300  # the reflected operator
    assert x**2 is x * x
    assert (x**0.5).operands[2] is f.square_root(x + 0)  # 0 of -0, as IEEE 754's power; that of -inf is chosen before
    assert x % y is f.mod(x, y)
    assert x // y is f.floor_divide(x, y)
    assert [a is b for a, b in zip(divmod(x, y), f.divmod(x, y), strict=True)] == [True, True]


def test_truth_values_among_numbers_are_1_and_0():
    one = f.where(x > 0, 1, 0)
    assert (x > 0) * 2.0 is one * 2
    assert x + (x > 0) is x + one
    assert x + True is x + 1
    assert (x > 0) + (y > 0) is (x > 0) | (y > 0)
    assert (x > 0) * (y > 0) is (x > 0) & (y > 0)
    assert ((x > 0) == (y > 0)) is ~((x > 0) ^ (y > 0))


def test_no_lookup_asks_for_equality(monkeypatch):
    """`==` makes nodes, so that tables of nodes must find them by identity, whatever their hashes are."""
    from ogive.graph import expression

    graph = f.where(x > 0, f.exp(x * y), y)
    assert all(not isinstance(part, Expression) for key in expression._table for part in (*key, *key[1]))
    monkeypatch.setattr(expression.Term, "__eq__", lambda a, b: pytest.fail("== was asked for"))
    assert len(set(walk(graph))) == 7
    assert len(dict.fromkeys(walk(graph), 1)) == 7
    assert f.where(x > 0, f.exp(x * y), y) is graph
    assert pickle.loads(pickle.dumps(graph)) is graph


def test_hashes_are_identities():
    """No two nodes have one hash: it is their address."""
    nodes = [constant(n) for n in range(2000)]
    assert len({hash(current) for current in nodes}) == len(nodes)
    assert all(hash(current) == object.__hash__(current) for current in nodes)


def test_nodes_of_machine_formats_are_compared_by_identity():
    """Programs are keys of caches; what they hold is compared in tuples."""
    a, b = (node("input", (), n, Format.F32) for n in range(2))
    assert (a == b) is False
    assert (a, b) != (b, a)
    programs = [ogive.relu.program(signature) for signature in ogive.relu.signatures[:3]]
    assert len({*programs, *programs}) == 3
    assert programs[0] != programs[1]
    for signature in ogive.relu.signatures:
        for root in ogive.relu.program(signature).roots:
            assert type(root) is Expression


def test_nodes_of_formulas_are_terms():
    for op in (ogive.relu, ogive.softmax, ogive.equal):
        assert {type(current) for current in walk(*op.formula())} == {Term}


def test_a_dead_nodes_place_in_the_table_is_free():
    """Keys hold the identities of operands, which others may get once the operands are gone."""
    for n in range(3000):
        value = f.sin(constant(Fraction(n, 7919)) + x)
        assert value.operands[0].operands[0].attribute == Fraction(n, 7919)
        del value


def visits(formula, kind, rows, monkeypatch):
    """How many nodes are visited to lower a formula."""
    from ogive import lowering
    from ogive.graph import expression

    modules = [import_module(f"ogive.lowering.{found.name}") for found in pkgutil.iter_modules(lowering.__path__)]
    walkers = [module for module in modules if hasattr(module, "walk")]
    assert len(walkers) > 10
    count = 0
    original = expression.walk

    def counting(*roots, **keywords):
        nonlocal count
        for current in original(*roots, **keywords):
            count += 1
            yield current

    for module in walkers:
        monkeypatch.setattr(module, "walk", counting)
    make = ogive.row_operator if rows else ogive.operator
    op = make(types=[kind])(formula)
    op.program(op.signatures[0])
    monkeypatch.undo()
    return count


def chain(step, length):
    def formula(x):
        value = x
        for n in range(length):
            value = step(value, x, n)
        return value

    return formula


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "step",
    [
        lambda value, x, n: value + 1.5,
        lambda value, x, n: value * value + f.exp(value),
        lambda value, x, n: f.where(value > n, value * 0.5, value + 1),
        lambda value, x, n: f.where((x > n) | (x < -n), value, -value),
        lambda value, x, n: f.where(x > n, value, f.where(x < -n, value, 1)),
        lambda value, x, n: f.where((value > n) | (x > n), 1, x),
    ],
)
def test_lowering_visits_nodes_in_proportion_to_their_number(step, kind, monkeypatch):
    short, long = (visits(chain(step, length), kind, False, monkeypatch) for length in (40, 80))
    assert 0 < short < long < 2.6 * short


@pytest.mark.parametrize(
    "step", [lambda value, x, n: value + f.row_sum(x), lambda value, x, n: value * 0.5 + f.row_max(x)]
)
def test_rows_are_lowered_in_proportion_too(step, monkeypatch):
    short, long = (visits(chain(step, length), "float32", True, monkeypatch) for length in (40, 80))
    assert 0 < short < long < 2.6 * short


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_long_formulas_need_no_stack(kind):
    """Choices of choices, and conditions of conditions, 1,000 deep."""
    for step in (
        lambda value, x, n: f.where(x > n, value, -value),
        lambda value, x, n: f.where(x > n, value, n),
        lambda value, x, n: value | (x > n) if n else x < 0,
    ):
        op = ogive.operator(types=[kind])(chain(step, 1000))
        # A level of moderate operands, where there is one, knows that all are smaller than 999.
        assert max(level.size for level in op.program(op.signatures[0]).chain) > 1000


def test_numpy_functions_inside_formulas():
    assert np.exp(x) is f.exp(x)
    assert np.where(x > 0, x, 0) is f.where(x > 0, x, 0)
    assert np.float32(2) * x is x.__rmul__(2.0)
    assert np.add(x, 1) is x + 1


@pytest.mark.parametrize(
    "name", [name for name, row in OPERATIONS.items() if row.is_elementary and row.arity == 1 and hasattr(np, name)]
)
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
        (lambda: np.gcd(x, y), "numpy.gcd; allowed: functions of one element"),
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
        leaves = (
            "input",
            "parameter",
            "given",
            "constant",
            "overflow",
            "row_value",
            "row_position",
            "row_length",
            "row_input",
        )
        assert (row.arity == 0) == (name in leaves)
