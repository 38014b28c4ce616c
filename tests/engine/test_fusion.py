"""From graphs to groups: what a kernel reads and stores, what is in its code, and which numbers it takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive
from ogive.common.dtypes import element_type
from ogive.engine.computation import Element
from ogive.engine.fusion import fused
from ogive.engine.fusion_groups import LARGEST_KERNEL, Vertex, fusion_groups
from ogive.engine.graph import ArrayValue, Constants, Graph, GraphNode
from ogive.operators.signature import Signature

F32 = element_type("float32")
X = np.linspace(-3, 3, 100, dtype=np.float32)


def value(name, space=(100,), view=None):
    return ArrayValue(name, F32, space, view)


def node(name, operator, *operands, parameters=(), space=(100,), view=None):
    """A node of one of Ogive's operators; None: a function of whole arrays."""
    operands = tuple(value(o, space) if isinstance(o, str) else o for o in operands)
    made = operator and operator.computation(Signature((F32,) * len(operands), (F32,)))
    return GraphNode(name, value(name, space, view), operands, made, parameters)


def graph(*nodes, stored, **keywords):
    return Graph(nodes, stored if isinstance(stored, dict) else dict.fromkeys(stored, 1), **keywords)


def names(groups):
    """(what a fusion group computes, reads, stores)."""
    return [
        tuple("".join(str(v.array) for v in side) for side in ((n.result for n in i.nodes), i.inputs, i.outputs))
        for i in groups
    ]


CHAIN = node("a", ogive.tanh, "x"), node("b", ogive.exp, "a"), node("c", ogive.mul, "b", "a")


def test_what_nobody_needs_is_not_stored():
    (group,) = fused(graph(*CHAIN, stored="c"))
    assert names([group]) == [("abc", "x", "c")]
    assert np.array_equal(group.ufunc()(X), ogive.exp(ogive.tanh(X)) * ogive.tanh(X))


def test_alone_every_node_has_a_kernel():
    groups = fused(graph(*CHAIN, stored="c"), largest=0)
    assert names(groups) == [("a", "x", "a"), ("b", "a", "b"), ("c", "ba", "c")]
    assert [group.name for group in groups] == ["a", "b", "c"]


@pytest.mark.parametrize(("can_read_stored", "outputs"), [(True, "a"), (False, "aa")])
def test_what_is_wanted_outside_and_by_other_kernels(can_read_stored, outputs):
    nodes = node("a", ogive.tanh, "x"), node("b", None, "a")
    groups = fused(graph(*nodes, stored="ab", can_read_stored=can_read_stored))
    assert names(groups) == [("a", "x", outputs), ("b", "a", "b")]


def test_a_value_is_stored_as_often_as_it_is_wanted():
    (group,) = fused(graph(*CHAIN, stored={"a": 2, "c": 1}))
    assert names([group]) == [("abc", "x", "aac")]
    results = group.ufunc()(X)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], ogive.tanh(X))


def test_other_views_and_other_spaces_are_other_kernels():
    turned = node("b", ogive.exp, value("a", view="turned"))
    wider = node("b", ogive.exp, value("a"), space=(3, 100))
    for other in (turned, wider):
        assert names(fused(graph(CHAIN[0], other, stored="b"))) == [("a", "x", "a"), ("b", "a", "b")]


def test_one_value_seen_in_two_ways_is_two_operands():
    (group,) = fused(graph(node("a", ogive.mul, value("x"), value("x", view="turned")), stored="a"))
    assert [v.view for v in group.inputs] == [None, "turned"]


def test_constants_are_in_the_code():
    inner = node("d", ogive.neg, "two", space=None)
    constants = Constants({"two": Element(2.0, F32)}, {"d": inner})
    nodes = node("a", ogive.mul, "x", "d"), node("b", ogive.add, "a", value("two", ()))
    (group,) = fused(graph(*nodes, stored="b", constants=constants))
    assert names([group]) == [("ab", "x", "b")]
    assert np.array_equal(group.ufunc()(X), X * -2 + 2)


def test_a_kernel_of_constants_alone_reads_one():
    constants = Constants({"two": Element(2.0, F32)}, {"d": node("d", ogive.neg, "two", space=None)})
    (group,) = fused(graph(node("a", ogive.exp, "d", space=()), stored="a", constants=constants))
    assert names([group]) == [("a", "two", "a")]
    assert group.ufunc()(np.float32(1)) == ogive.exp(np.float32(-1))
    # A constant that is wanted itself.
    (group,) = fused(graph(node("d", ogive.neg, "two", space=()), stored="d", constants=constants))
    assert names([group]) == [("d", "two", "d")]
    assert group.ufunc()(np.float32(3)) == -3


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters_follow_the_nodes_and_those_of_constants():
    constants = Constants({"one": Element(-1.0, F32)}, {"d": node("d", ogive.elu, "one", parameters=(0.5,))})
    nodes = node("a", ogive.celu, "x", parameters=(1.5,)), node("b", ogive.mul, "a", "d")
    (group,) = fused(graph(*nodes, stored="b", constants=constants))
    assert group.parameters == (0.5, 1.5)
    expected = ogive.celu(X, alpha=1.5) * ogive.elu(np.float32(-1), alpha=0.5)
    assert np.array_equal(group.ufunc()(X), expected)


def test_more_operands_than_a_kernel_can_have():
    nodes = [node("s0", ogive.add, "x0", "x1")]
    nodes += [node(f"s{i}", ogive.add, f"s{i - 1}", f"x{i + 1}") for i in range(1, 99)]
    groups = fused(graph(*nodes, stored=["s98"]))
    assert len(groups) == 2
    assert all(len(group.inputs) + len(group.outputs) <= 64 for group in groups)


# ---- which nodes become one kernel: groups are convex, in order, and as large as they may be


def chain(n, **changes):
    base = {"space": 0, "reads": (), "instructions": 1} | changes
    return [Vertex(predecessors=((i - 1, True),) if i else (), **base) for i in range(n)]


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 24))
    vertices = []
    for i in range(n):
        sources = draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else []
        vertices.append(
            Vertex(
                space=draw(st.sampled_from(["a", "a", "a", "b", None])),
                predecessors=tuple((s, draw(st.integers(0, 3)) > 0) for s in sources),
                reads=tuple(draw(st.sets(st.sampled_from("xyz"), max_size=2))),
                instructions=draw(st.integers(1, 5)),
            )
        )
    # An edge between different spaces carries elements to other places.
    return [
        v._replace(
            predecessors=tuple(
                (p, f and v.space is not None and vertices[p].space == v.space) for p, f in v.predecessors
            )
        )
        for v in vertices
    ]


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(1, 40))
def test_groups_are_an_order_of_computation(vertices, largest):
    groups = fusion_groups(vertices, largest)
    assert sorted(index for group in groups for index in group) == list(range(len(vertices)))
    home = {index: position for position, group in enumerate(groups) for index in group}
    for group in groups:
        assert group == sorted(group)
        members = [vertices[i] for i in group]
        assert len({v.space for v in members}) == 1
        if len(group) > 1:
            assert members[0].space is not None
            assert sum(v.instructions for v in members) <= largest
        for i in group:
            for p, fusable in vertices[i].predecessors:
                # Convex: everything from outside is computed before; edges inside carry elements.
                assert home[p] < home[i] or (home[p] == home[i] and fusable)


@pytest.mark.matrix(share=16, pool="slow")
@settings(deadline=None)
@given(graphs())
def test_edges_that_may_be_fused_are(vertices):
    """Two groups that feed each other directly and only so are one."""
    groups = fusion_groups(vertices)
    home = {index: position for position, group in enumerate(groups) for index in group}
    feeds = {(home[p], home[i]) for i, v in enumerate(vertices) for p, _ in v.predecessors if home[p] != home[i]}

    def reaches(a, b):
        return any(x == a and (y == b or reaches(y, b)) for x, y in feeds)

    for i, v in enumerate(vertices):
        for p, fusable in v.predecessors:
            a, b = home[p], home[i]
            if not fusable or a == b:
                continue
            separated = any(
                not f and home[q] == a and home[j] == b for j, w in enumerate(vertices) for q, f in w.predecessors
            )
            around = any(x == a and y != b and reaches(y, b) for x, y in feeds)
            assert separated or around


def test_a_chain_is_one_group():
    assert fusion_groups(chain(200)) == [list(range(200))]


def test_large_groups_are_cut():
    groups = fusion_groups(chain(100, instructions=100))
    assert len(groups) == -(-100 * 100 // (LARGEST_KERNEL // 100 * 100))
    assert max(map(len, groups)) == LARGEST_KERNEL // 100


@pytest.mark.parametrize("fusable", [True, False])
def test_a_way_around(fusable):
    """0 -> 1 -> 2 and 0 -> 2: with 1 outside, 0 and 2 are apart."""
    vertices = [
        Vertex("a", (), (), 1),
        Vertex("a" if fusable else None, ((0, fusable),), (), 1),
        Vertex("a", ((0, True), (1, fusable)), (), 1),
    ]
    assert fusion_groups(vertices) == ([[0, 1, 2]] if fusable else [[0], [1], [2]])


def test_a_late_branch_is_fused_where_it_is_used():
    """1 feeds 3 by a fusable edge although 2 -> 3 ends a fusion group."""
    vertices = [
        Vertex("a", (), ("x",), 1),
        Vertex("a", (), ("y",), 1),
        Vertex("a", ((1, True),), (), 1),
        Vertex("a", ((2, False), (0, True)), (), 1),
    ]
    assert fusion_groups(vertices) == [[1, 2], [0, 3]]


def test_nodes_that_read_the_same_share_a_pass():
    read = Vertex("a", (), ("x",), 1)
    assert fusion_groups([read, read, read._replace(reads=("y",))]) == [[0, 1], [2]]
    assert fusion_groups([read, read._replace(space="b")]) == [[0], [1]]


def test_many_nodes():
    assert len(fusion_groups(chain(3000))) == -(-3000 // LARGEST_KERNEL)
