"""Fusion over rows: reductions and softmax with the element-wise nodes around them, as one kernel.

Nodes belong together if their values have a row's elements or one number a row, of the same rows, and if they are
connected. The others become islands as everywhere (fusion.py). Spaces are shapes here; rows lie along the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from ogive.engine.computation import make_ufunc
from ogive.engine.fusion import Island, fused, island_of
from ogive.engine.graph import Graph, Node, Value
from ogive.engine.islands import Vertex, islands, narrow_enough
from ogive.engine.rows import RowFormula, RowFused, fits_a_kernel
from ogive.forking import cached_property

__all__ = ["RowIsland", "fused_rows"]

Shape = tuple[int, ...]

#: The rows of a value: the axes before the last one, and the length of a row.
Space = tuple[Shape, int]


@dataclass(frozen=True, eq=False)
class RowIsland(Island):
    """Nodes over rows for one kernel."""

    @cached_property
    def computation(self) -> RowFused:  # type: ignore[override]
        steps, results = self.wired()
        inputs = tuple(value.type for value in self.inputs)
        step, _ = steps[-1]
        if isinstance(step, RowFormula) and _is_single(self.nodes[-1]):  # what it reads is the row's only element
            return RowFused(inputs, frozenset(), tuple(steps), results, (step.reduces,) * len(results))
        return RowFused(
            inputs,
            frozenset(number for number, value in enumerate(self.inputs) if _shape(value)[-1] == 1),
            tuple(steps),
            results,
            tuple(_shape(value)[-1] == 1 for value in self.outputs),
        )

    def ufunc(self) -> np.ufunc:
        return make_ufunc(self.name, self.computation, self.parameters)


def fused_rows(graph: Graph) -> list[Island]:
    """The islands of a graph, in an order in which they can be computed; spaces are shapes."""
    if not any(map(_is_over_rows, graph.nodes)):
        return fused(graph)

    def operands(group: Sequence[int]) -> int:
        made = island_of(graph, group)
        return len(made.inputs) + len(made.outputs)

    found: list[Island] = []
    for group in islands(_vertices(graph)):
        whole = _row_island(graph, group)
        if whole is not None:
            found.append(whole)
            continue
        for part in islands(_apart([graph.nodes[number] for number in group])):
            members = [group[number] for number in part]
            alone = _row_island(graph, members)
            found += [alone] if alone else [island_of(graph, p) for p in narrow_enough(members, operands)]
    return found


def _is_over_rows(node: Node) -> bool:
    return isinstance(node.computation, RowFormula)


def _shape(value: Value) -> Shape:
    return cast(Shape, value.space)


def _rows_of(node: Node) -> Space:
    shape = _shape(node.operands[0])
    return shape[:-1], shape[-1]


def _is_single(node: Node) -> bool:
    """Whether its rows have one element. Their shape is that of one number a row, so such a node is computed alone."""
    return _is_over_rows(node) and _rows_of(node)[1] == 1


def _row_island(graph: Graph, group: Sequence[int]) -> RowIsland | None:
    """One kernel for all of the nodes; None without rows, or if they do not fit."""
    over_rows = [graph.nodes[number] for number in group if _is_over_rows(graph.nodes[number])]
    if not over_rows or (len(group) > 1 and any(map(_is_single, over_rows))):
        return None
    found = island_of(graph, group)
    lead, length = _rows_of(over_rows[0])
    for value in found.inputs:
        if value.array in graph.constants:  # one number, which is given to a kernel that reads nothing else
            continue
        shape = _shape(value)
        if not shape or shape[-1] not in (1, length) or len(shape) > len(lead) + 1:
            return None
    made = RowIsland(found.nodes, found.inputs, found.outputs, found.constants)
    steps, _ = made.wired()
    return made if len(group) == 1 or fits_a_kernel(steps, len(made.inputs) + len(made.outputs)) else None


def _vertices(graph: Graph) -> list[Vertex]:
    numbers = {node.result.array: number for number, node in enumerate(graph.nodes)}
    known = {_rows_of(node) for node in graph.nodes if _is_over_rows(node) and not _is_single(node)}
    spaces: list[Space | None] = []
    vertices = []
    for node in graph.nodes:
        operands = list(dict.fromkeys(node.operands))
        inside = [(numbers[v.array], v) for v in operands if v.array in numbers]
        space = _space(node, known, [spaces[number] for number, _ in inside])
        spaces.append(space)
        shape = _shape(node.result)
        full = None if space is None else (*space[0], space[1])
        vertices.append(
            Vertex(
                space=None
                if node.computation is None or _is_single(node)
                else shape
                if space is None
                else ("rows", space),
                predecessors=tuple(
                    (number, _is_direct(graph.nodes[number], v, node, spaces[number], space)) for number, v in inside
                ),
                reads=tuple(
                    v
                    for v in operands
                    if v.array not in numbers and v.array not in graph.constants and v.space in (shape, full)
                ),
                instructions=_size(node),
            )
        )
    return vertices


def _is_direct(source: Node, operand: Value, node: Node, of_source: Space | None, of_node: Space | None) -> bool:
    """Whether every element, or every row's number, goes to what is at the same place."""
    if source.computation is None or node.computation is None or operand != source.result:
        return False
    if _is_single(source) or _is_single(node):
        return False
    return operand.space == node.result.space if of_node is None else of_source == of_node


def _space(node: Node, known: set[Space], before: Sequence[Space | None]) -> Space | None:
    """The rows that a node's value is about; None for a value of no rows."""
    if _is_over_rows(node):
        return None if _is_single(node) else _rows_of(node)
    shape = _shape(node.result)
    # Their test would be computed again behind the last reduction: measured, that takes longer than the way through memory.
    if not shape or node.computation is None or node.computation.needs_test:
        return None
    own = (shape[:-1], shape[-1])
    if own in known:
        return own
    return next((space for space in before if space is not None and (*space[0], 1) == shape), None)


def _apart(nodes: Sequence[Node]) -> list[Vertex]:
    """The same nodes, those over rows alone."""
    numbers = {node.result.array: number for number, node in enumerate(nodes)}
    return [
        Vertex(
            space=None if _is_over_rows(node) else node.result.space,
            predecessors=tuple(
                (
                    numbers[v.array],
                    v.space == node.result.space
                    and v == nodes[numbers[v.array]].result
                    and not _is_over_rows(node)
                    and not _is_over_rows(nodes[numbers[v.array]]),
                )
                for v in dict.fromkeys(node.operands)
                if v.array in numbers
            ),
            reads=(),
            instructions=_size(node),
        )
        for node in nodes
    ]


def _size(node: Node) -> int:
    return 0 if node.computation is None else node.computation.size
