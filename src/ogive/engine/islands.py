"""Islands: which element-wise nodes of a graph are computed by one kernel, in one pass over memory.

Front ends describe their nodes as vertices. A kernel computes nodes element by element, so an edge inside an island must carry an element to the element
at the same place. An island must be convex: no way leads out of it and back in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["LARGEST_KERNEL", "MOST_OPERANDS", "Vertex", "islands", "narrow_enough"]

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


def islands(vertices: Sequence[Vertex], largest: int | None = None) -> list[list[int]]:
    """Groups of nodes in an order in which they can be computed. Nodes must come after those that feed them.

    >>> chain = [Vertex("a", (), (), 1), Vertex("a", ((0, True),), (), 1)]
    >>> islands([*chain, Vertex("b", ((1, False),), (), 1)])
    [[0, 1], [2]]
    """
    largest = LARGEST_KERNEL if largest is None else largest
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


def narrow_enough(group: list[int], operands: Callable[[Sequence[int]], int]) -> list[list[int]]:
    """An island, in parts where ``operands`` counts more of them than a kernel can have.

    >>> narrow_enough([0, 1, 2, 3], lambda part: 30 * len(part))
    [[0, 1], [2, 3]]
    """
    if len(group) == 1 or operands(group) <= MOST_OPERANDS:
        return [group]
    half = len(group) // 2
    return [part for piece in (group[:half], group[half:]) for part in narrow_enough(piece, operands)]


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
