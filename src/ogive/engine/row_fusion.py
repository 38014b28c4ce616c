"""Fusion over rows: reductions and softmax with the element-wise nodes around them, as one kernel.

Nodes belong together if their values have a row's elements or one number a row, of the same rows, and if they are
connected. The others become groups as everywhere (fusion.py). Spaces are shapes here. Kernels have rows along the last
axis: where a node has them along another one, its group is given arrays that are seen in another order of axes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from ogive.common.forking import cached_property
from ogive.engine.computation import make_ufunc
from ogive.engine.fusion import FusionGroup, fused, group_of
from ogive.engine.fusion_groups import Vertex, fusion_groups, narrow_enough
from ogive.engine.graph import ArrayValue, Graph, GraphNode
from ogive.engine.rows import RowFormula, RowFused, fits_a_kernel

Shape = tuple[int, ...]


class Space(NamedTuple):
    """The rows of a value: the shape of their elements, and the axis along which they lie, counted from the last one."""

    full: Shape
    axis: int

    @property
    def length(self) -> int:
        return self.full[self.axis]

    @property
    def of_numbers(self) -> Shape:
        """The shape of what a row has one of."""
        place = len(self.full) + self.axis
        return (*self.full[:place], 1, *self.full[place + 1 :])


@dataclass(frozen=True, eq=False)
class RowFusionGroup(FusionGroup):
    """Nodes over rows for one kernel."""

    @cached_property
    def space(self) -> Space:
        """Its rows."""
        return next(_rows_of(node) for node in self.nodes if _is_over_rows(node))

    @cached_property
    def order(self) -> Shape | None:
        """The order of axes in which the kernel sees arrays, that of rows last; None if it is the arrays' own.

        Arrays of fewer axes have others of size 1 before theirs then.
        """
        rank, axis = len(self.space.full), self.space.axis
        return None if axis == -1 else (*(a for a in range(rank) if a != rank + axis), rank + axis)

    def seen_shape(self, value: ArrayValue) -> Shape:
        """The shape of a value as the kernel sees it."""
        shape = _shape(value)
        if self.order is None:
            return shape
        padded = (1,) * (len(self.order) - len(shape)) + shape
        return tuple(padded[axis] for axis in self.order)

    def seen_strides(self, value: ArrayValue) -> Shape | None:
        """How far apart in memory lies what the kernel sees, of an array in C order; None if it sees that as it is."""
        if self.order is None:
            return None
        natural = packed_strides(value)
        padded = (0,) * (len(self.order) - len(natural)) + natural
        return tuple(padded[axis] for axis in self.order)

    @cached_property
    def computation(self) -> RowFused:  # type: ignore[override]
        steps, results = self.wired()
        inputs = tuple(value.type for value in self.inputs)
        step, _ = steps[-1]
        if isinstance(step, RowFormula) and _is_single(self.nodes[-1]):  # what it reads is the row's only element
            return RowFused(inputs, frozenset(), tuple(steps), results, (step.reduces,) * len(results))
        return RowFused(
            inputs,
            frozenset(number for number, value in enumerate(self.inputs) if self.seen_shape(value)[-1] == 1),
            tuple(steps),
            results,
            tuple(self.seen_shape(value)[-1] == 1 for value in self.outputs),
        )

    def seen(self, array: np.ndarray) -> np.ndarray:
        """An array as the kernel sees it."""
        if self.order is None:
            return array
        return array.reshape((1,) * (len(self.order) - array.ndim) + array.shape).transpose(self.order)

    def seen_back(self, array: np.ndarray) -> np.ndarray:
        """A result of the kernel, in its own order of axes."""
        return array if self.order is None else array.transpose(np.argsort(self.order))

    def ufunc(self) -> np.ufunc:
        return make_ufunc(self.name, self.computation, self.parameters)


def packed_strides(value: ArrayValue) -> Shape:
    """How far apart in memory the elements of an array in C order lie."""
    strides, step = list[int](), value.type.itemsize
    for size in reversed(_shape(value)):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def fused_rows(graph: Graph) -> list[FusionGroup]:
    """The groups of a graph, in an order in which they can be computed; spaces are shapes."""
    if not any(map(_is_over_rows, graph.nodes)):
        return fused(graph)

    def operands(group: Sequence[int]) -> int:
        made = group_of(graph, group)
        return len(made.inputs) + len(made.outputs)

    found: list[FusionGroup] = []
    for group in fusion_groups(_vertices(graph)):
        whole = _row_group(graph, group)
        if whole is not None:
            found.append(whole)
            continue
        for part in fusion_groups(_apart([graph.nodes[number] for number in group])):
            members = [group[number] for number in part]
            alone = _row_group(graph, members)
            found += [alone] if alone else [group_of(graph, p) for p in narrow_enough(members, operands)]
    return found


def _is_over_rows(node: GraphNode) -> bool:
    return isinstance(node.computation, RowFormula)


def _shape(value: ArrayValue) -> Shape:
    return cast(Shape, value.space)


def _rows_of(node: GraphNode) -> Space:
    return Space(_shape(node.operands[0]), node.axis)


def _is_single(node: GraphNode) -> bool:
    """Whether its rows have one element. Their shape is that of one number a row, so such a node is computed alone."""
    return _is_over_rows(node) and _rows_of(node).length == 1


def _row_group(graph: Graph, group: Sequence[int]) -> RowFusionGroup | None:
    """One kernel for all of the nodes; None without rows, or if they do not fit."""
    over_rows = [graph.nodes[number] for number in group if _is_over_rows(graph.nodes[number])]
    if not over_rows or (len(group) > 1 and any(map(_is_single, over_rows))):
        return None
    found = group_of(graph, group)
    made = RowFusionGroup(found.nodes, found.inputs, found.outputs, found.constants)
    full, length = made.space.full, made.space.length
    for value in found.inputs:
        if value.array in graph.constants:  # one number, which is given to a kernel that reads nothing else
            continue
        shape = _shape(value)
        if not shape or len(shape) > len(full) or made.seen_shape(value)[-1] not in (1, length):
            return None
    steps, _ = made.wired()
    return made if len(group) == 1 or fits_a_kernel(steps, len(made.inputs) + len(made.outputs)) else None


def _vertices(graph: Graph) -> list[Vertex]:
    numbers = {node.result.array: number for number, node in enumerate(graph.nodes)}
    known = dict.fromkeys(_rows_of(node) for node in graph.nodes if _is_over_rows(node) and not _is_single(node))
    spaces: list[Space | None] = []
    vertices = []
    for node in graph.nodes:
        operands = list(dict.fromkeys(node.operands))
        inside = [(numbers[v.array], v) for v in operands if v.array in numbers]
        space = _space(node, known, [spaces[number] for number, _ in inside])
        spaces.append(space)
        shape = _shape(node.result)
        full = None if space is None else space.full
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


def _is_direct(
    source: GraphNode, operand: ArrayValue, node: GraphNode, of_source: Space | None, of_node: Space | None
) -> bool:
    """Whether every element, or every row's number, goes to what is at the same place."""
    if source.computation is None or node.computation is None or operand != source.result:
        return False
    if _is_single(source) or _is_single(node):
        return False
    return operand.space == node.result.space if of_node is None else of_source == of_node


def _space(node: GraphNode, known: Collection[Space], before: Sequence[Space | None]) -> Space | None:
    """The rows that a node's value is about; None for a value of no rows."""
    if _is_over_rows(node):
        return None if _is_single(node) else _rows_of(node)
    shape = _shape(node.result)
    # Their test would be computed again behind the last reduction: measured, that takes longer than the way through memory.
    if not shape or node.computation is None or node.computation.needs_test:
        return None
    near = [space for space in before if space is not None]
    own = next((space for space in (*near, *known) if space.full == shape), None)
    return own or next((space for space in near if space.of_numbers == shape), None)


def _apart(nodes: Sequence[GraphNode]) -> list[Vertex]:
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


def _size(node: GraphNode) -> int:
    return 0 if node.computation is None else node.computation.size
