import pytest

import ogive
from ogive import formula as f
from ogive.graph.expression import Format, node, python
from ogive.graph.show import formula
from tests.inputs import CASE_IDS, CASES

x = node("input", (), 0, Format.NUMBER)


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        ((x + 1) * 2, "(x + 1) * 2"),
        (x - (x - 1), "x - (x - 1)"),
        (x - 1 - x, "x - 1 - x"),
        (x / (x * 2), "x / (x * 2)"),
        (-(x + 1), "-(x + 1)"),
        (-x * 2, "-x * 2"),
        (x > 0.5, "x > 0.5"),
        (x <= 0, "x <= 0"),
        ((x > 0) & ~(x > 1), "x > 0 & ~(x > 1)"),
        (f.where(x >= 0, x, f.exp(x)), "where(x >= 0, x, exp(x))"),
        (x * -2.5, "x * -2.5"),
        (abs(x), "absolute(x)"),
    ],
)
def test_formulas_read_as_one_writes_them(graph, text):
    assert formula(graph, ["x"]) == text


def test_shared_parts_get_a_name():
    long = f.exp(x + 1) / 2
    assert formula(long * long + long, ["x"]) == "a = exp(x + 1) / 2\na * a + a"


def test_a_deep_shared_graph_stays_short():
    graph = x
    for _ in range(60):
        graph = f.exp(graph + graph) * graph
    assert len(formula(graph, ["x"])) < 10_000


def test_repr_of_an_expression():
    assert repr(ogive.relu.formula()[0]) == "<number expression where(x0 <= 0, 0, x0)>"


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_python_rebuilds_the_very_same_nodes(op, signature):
    for roots in (op.formula(), op.program(signature).results):
        scope = {}
        exec(python(*roots), scope)
        assert scope["roots"] == tuple(roots)
