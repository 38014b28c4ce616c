"""Fusion groups: which element-wise nodes of a graph are computed by one kernel, in one pass over memory.

Front ends describe their nodes as vertices. A kernel computes nodes element by element, so an edge inside a fusion group must
carry an element to the element
at the same place. A fusion group must be convex: no way leads out of it and back in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

#: Instructions of one kernel: enough for 200 nodes of the plain kind in one pass over memory. A kernel of this size
#: computes for so long that another pass does not matter, and compiling takes about 25 us for each of them.
LARGEST_KERNEL = 2048

#: A kernel has at most 64 operands, and a repair has one more result: its mask.
MOST_OPERANDS = 63


class Vertex(NamedTuple):
    """A node as clustering sees it."""

    space: Hashable
    """The iteration space. Only nodes with equal spaces may be fused; None forbids it"""
    predecessors: tuple[tuple[int, bool], ...]
    """Nodes that feed it, and whether an edge carries elements to the same places"""
    reads: tuple[Hashable, ...]
    """The values that it reads from outside: nodes that read the same may share a pass"""
    instructions: int


@dataclass(eq=False)
class _Group:
    space: Hashable
    members: list[int]
    mask: int
    """The members, as bits"""
    before: int = 0
    """Everything that must be computed earlier, as bits"""
    direct: set[int] = field(default_factory=set)
    """The nodes outside that feed it"""
    separated: int = 0
    """Nodes that feed it by edges that end a fusion group, as bits"""
    reads: set[Hashable] = field(default_factory=set)
    instructions: int = 0


def fusion_groups(vertices: Sequence[Vertex], largest: int | None = None) -> list[list[int]]:
    """Groups of nodes in an order in which they can be computed. Nodes must come after those that feed them.

    >>> chain = [Vertex("a", (), (), 1), Vertex("a", ((0, True),), (), 1)]
    >>> fusion_groups([*chain, Vertex("b", ((1, False),), (), 1)])
    [[0, 1], [2]]
    """
    largest = LARGEST_KERNEL if largest is None else largest
    home: list[_Group] = []
    found: list[_Group] = []
    readers: dict[Hashable, dict[_Group, None]] = {}
    for index, vertex in enumerate(vertices):
        group = _single(index, vertex, home)
        home.append(group)
        found.append(group)
        if vertex.space is None:
            continue
        fed_by = [home[p] for p, fusable in vertex.predecessors if fusable]
        beside = [other for key in vertex.reads for other in readers.get(key, ())]
        for other in dict.fromkeys(fed_by + beside):
            if other is not group and _can_merge(group, other, home, largest):
                group = _merge(other, group, home, found, readers)
        for key in vertex.reads:
            readers.setdefault(key, {})[group] = None
    # A group that comes before another has fewer nodes before itself.
    return [sorted(group.members) for group in sorted(found, key=lambda group: group.before.bit_count())]


def narrow_enough(group: list[int], operands: Callable[[Sequence[int]], int]) -> list[list[int]]:
    """A fusion group, in parts where ``operands`` counts more of them than a kernel can have.

    >>> narrow_enough([0, 1, 2, 3], lambda part: 30 * len(part))
    [[0, 1], [2, 3]]
    """
    if len(group) == 1 or operands(group) <= MOST_OPERANDS:
        return [group]
    half = len(group) // 2
    return [part for piece in (group[:half], group[half:]) for part in narrow_enough(piece, operands)]


def _single(index: int, vertex: Vertex, home: Sequence[_Group]) -> _Group:
    group = _Group(vertex.space, [index], 1 << index, reads=set(vertex.reads), instructions=vertex.instructions)
    for predecessor, fusable in vertex.predecessors:
        group.before |= home[predecessor].before | home[predecessor].mask
        group.direct.add(predecessor)
        if not fusable:
            group.separated |= 1 << predecessor
    return group


def _can_merge(group: _Group, other: _Group, home: Sequence[_Group], largest: int) -> bool:
    if group.space != other.space or group.instructions + other.instructions > largest:
        return False
    if group.separated & other.mask or other.before & group.mask:
        return False
    # No way from `other` to `group` through a third group.
    return not any(
        home[predecessor].before & other.mask
        for predecessor in group.direct
        if home[predecessor] is not other and home[predecessor] is not group
    )


def _merge(
    into: _Group,
    group: _Group,
    home: list[_Group],
    found: list[_Group],
    readers: dict[Hashable, dict[_Group, None]],
) -> _Group:
    into.members += group.members
    into.mask |= group.mask
    into.before = (into.before | group.before) & ~into.mask
    into.direct = {node for node in into.direct | group.direct if not into.mask >> node & 1}
    into.separated |= group.separated
    for key in group.reads:
        if group in readers.get(key, {}):
            del readers[key][group]
            readers[key][into] = None
    into.reads |= group.reads
    into.instructions += group.instructions
    for member in group.members:
        home[member] = into
    found.remove(group)
    for other in found:
        if other.before & into.mask:
            other.before |= into.mask | into.before
    return into
