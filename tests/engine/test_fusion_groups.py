"""Which nodes become one kernel: groups are convex, in order, and as large as they may be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.engine.fusion_groups import LARGEST_KERNEL, Vertex, fusion_groups


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
