"""Islands: which nodes of a graph can be computed by one kernel, in one pass over memory.

A kernel computes nodes element by element, so an edge inside an island must carry an element to the element
at the same place. An island must be convex: no way leads out of it and back in.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["LARGEST_KERNEL", "Vertex", "islands"]

#: Instructions of one kernel. Compiling takes about 25 us each; a kernel of this size computes for so long
#: that another pass over memory does not matter.
LARGEST_KERNEL = 2048


class Vertex(NamedTuple):
    """A node as clustering sees it."""

    space: Hashable
    """What nodes of one island have in common; None: the node stays alone"""
    predecessors: tuple[tuple[int, bool], ...]
    """Nodes that feed it, and whether an edge carries elements to the same places"""
    reads: tuple[Hashable, ...]
    """What it reads from outside: nodes that read the same may share a pass"""
    instructions: int


@dataclass(eq=False)
class _Island:
    space: Hashable
    members: list[int]
    mask: int
    """The members, as bits"""
    before: int = 0
    """Everything that must be computed earlier, as bits"""
    direct: set[int] = field(default_factory=set)
    """The nodes outside that feed it"""
    separated: int = 0
    """Nodes that feed it by edges that end an island, as bits"""
    reads: set[Hashable] = field(default_factory=set)
    instructions: int = 0


def islands(vertices: Sequence[Vertex], largest: int = LARGEST_KERNEL) -> list[list[int]]:
    """Groups of nodes in an order in which they can be computed. Nodes must come after those that feed them.

    >>> chain = [Vertex("a", (), (), 1), Vertex("a", ((0, True),), (), 1)]
    >>> islands([*chain, Vertex("b", ((1, False),), (), 1)])
    [[0, 1], [2]]
    """
    home: list[_Island] = []
    found: list[_Island] = []
    readers: dict[Hashable, dict[_Island, None]] = {}
    for index, vertex in enumerate(vertices):
        island = _single(index, vertex, home)
        home.append(island)
        found.append(island)
        if vertex.space is None:
            continue
        fed_by = [home[p] for p, fusable in vertex.predecessors if fusable]
        beside = [other for key in vertex.reads for other in readers.get(key, ())]
        for other in dict.fromkeys(fed_by + beside):
            if other is not island and _can_merge(island, other, home, largest):
                island = _merge(other, island, home, found, readers)
        for key in vertex.reads:
            readers.setdefault(key, {})[island] = None
    # What comes before another island has fewer nodes before itself.
    return [sorted(island.members) for island in sorted(found, key=lambda island: island.before.bit_count())]


def _single(index: int, vertex: Vertex, home: Sequence[_Island]) -> _Island:
    island = _Island(vertex.space, [index], 1 << index, reads=set(vertex.reads), instructions=vertex.instructions)
    for predecessor, fusable in vertex.predecessors:
        island.before |= home[predecessor].before | home[predecessor].mask
        island.direct.add(predecessor)
        if not fusable:
            island.separated |= 1 << predecessor
    return island


def _can_merge(island: _Island, other: _Island, home: Sequence[_Island], largest: int) -> bool:
    if island.space != other.space or island.instructions + other.instructions > largest:
        return False
    if island.separated & other.mask or other.before & island.mask:
        return False
    # No way from `other` to `island` through a third island.
    return not any(
        home[predecessor].before & other.mask
        for predecessor in island.direct
        if home[predecessor] is not other and home[predecessor] is not island
    )


def _merge(
    into: _Island,
    island: _Island,
    home: list[_Island],
    found: list[_Island],
    readers: dict[Hashable, dict[_Island, None]],
) -> _Island:
    into.members += island.members
    into.mask |= island.mask
    into.before = (into.before | island.before) & ~into.mask
    into.direct = {node for node in into.direct | island.direct if not into.mask >> node & 1}
    into.separated |= island.separated
    for key in island.reads:
        if island in readers.get(key, {}):
            del readers[key][island]
            readers[key][into] = None
    into.reads |= island.reads
    into.instructions += island.instructions
    for member in island.members:
        home[member] = into
    found.remove(island)
    for other in found:
        if other.before & into.mask:
            other.before |= into.mask | into.before
    return into
