"""Plans: kernels and functions in order, and the memory between them, for the native plan to run."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive._native import Plan
from ogive.engine.computation import Element, kernel_of
from ogive.engine.fusion import Island, island_of
from ogive.engine.graph import Constants, Graph, Value
from ogive.engine.row_fusion import RowIsland, fused_rows
from ogive.engine.rows import RowFormula
from ogive.engine.schedule import ALIGNMENT, Array, Task, Temporary, Workspace, schedule
from ogive.webnn.data_types import DATA_TYPES
from ogive.webnn.lowering import Function, Lowered
from ogive.webnn.shapes import Shape

__all__ = ["make_plan"]


@dataclass(frozen=True)
class _Called:
    """A function of whole arrays, as the native plan calls it."""

    function: Function

    def __call__(self, arrays: tuple[np.ndarray, ...], out: np.ndarray | None) -> np.ndarray:
        return self.function.call(*arrays)


def _separate(value: Any, is_own: int) -> Any:
    """A result in an array that nothing else uses, in C order."""
    is_good = is_own and value.base is None and value.flags.c_contiguous and value.flags.writeable
    return value if is_good else np.array(value, order="C")


def make_plan(
    lowered: Lowered, inputs: Sequence[tuple[str, tuple[str, Shape]]], results: Sequence[Value], fuse: bool
) -> tuple[Plan, int]:
    """The plan, and how many kernels it calls. Without ``fuse`` every node has a kernel of its own."""
    islands = _islands(lowered, results, fuse)
    planner = _Planner(lowered, [("input", name) for name, _ in inputs], results)
    kinds = tuple((DATA_TYPES[kind].numpy, shape) for _, (kind, shape) in inputs)
    return planner.plan(islands, kinds), sum(island.nodes[0].computation is not None for island in islands)


def _islands(lowered: Lowered, results: Sequence[Value], fuse: bool) -> list[Island]:
    numbers = {
        name: Element(array.reshape(()).item(), _kind_of(array))
        for name, array in lowered.constants.items()
        if array.size == 1
    }
    stored = {value.array: 1 for value in results}
    graph = Graph(tuple(lowered.nodes), stored, Constants(numbers))
    if fuse:
        return fused_rows(graph)
    made = []
    for number, node in enumerate(graph.nodes):
        island = island_of(graph, [number])
        if isinstance(node.computation, RowFormula):
            island = RowIsland(island.nodes, island.inputs, island.outputs, island.constants)
        made.append(island)
    return made


def _kind_of(array: np.ndarray) -> Any:
    return DATA_TYPES[array.dtype.name]


class _Planner:
    def __init__(self, lowered: Lowered, inputs: Sequence[Hashable], results: Sequence[Value]) -> None:
        self.lowered, self.inputs, self.results = lowered, inputs, results
        self.slots: dict[Hashable, int] = {name: number for number, name in enumerate(inputs)}
        self.start: list[Any] = [None] * len(inputs)
        self.roots: dict[Hashable, Hashable] = {}
        """For each value that a function makes of another's memory, whose memory that is."""
        for node in lowered.nodes:
            function = lowered.functions.get(node.result.array)
            if function is not None and function.is_view:
                self.roots[node.result.array] = self.root(node.operands[0].array)
        self.kept = {self.root(value.array) for value in results}
        self.buffers: list[Temporary] = []

    def root(self, array: Hashable) -> Hashable:
        return self.roots.get(array, array)

    def plan(self, islands: Sequence[Island], kinds: tuple[Any, ...]) -> Plan:
        scheduled = schedule([self._task(island) for island in islands], ALIGNMENT, self.kept)
        self.offsets = scheduled.offsets
        steps = tuple(map(self._step, islands))
        results = tuple(self._slot(value) for value in self.results)
        roots = [self.root(value.array) for value in self.results]
        made = {node.result.array for node in self.lowered.nodes}
        is_own = tuple(root in made and roots.count(root) == 1 for root in roots)
        return Plan(
            steps=steps,
            start=tuple(self.start),
            inputs=tuple(range(len(self.inputs))),
            input_kinds=kinds,
            results=results,
            is_own=is_own,
            separate=_separate,
            make_workspace=Workspace(scheduled.size, tuple(self.buffers)),
            workspace_bytes=scheduled.size,
            uniform=False,
            most_elements=0,
        )

    def _task(self, island: Island) -> Task:
        reads = tuple((self.root(value.array), _form(value)) for value in island.inputs)
        is_kernel = island.nodes[0].computation is not None
        arrays = tuple(
            Array(value.array, math.prod(_shape(value)) * value.type.itemsize, _form(value))
            for value in island.outputs
            if is_kernel and value.array not in self.kept
        )
        # What a view is read through lies elsewhere than its form says.
        reads = tuple(
            (name, ("view", form) if value.array in self.roots else form)
            for (name, form), value in zip(reads, island.inputs, strict=True)
        )
        return Task(reads, arrays, is_kernel and not isinstance(island, RowIsland))

    def _step(self, island: Island) -> tuple[Any, ...]:
        node = island.nodes[0]
        # A function gets every operand, also one number, and one that it has twice.
        read = tuple(map(self._slot, node.operands if node.computation is None else island.inputs))
        made = tuple(map(self._new, island.outputs))
        if node.computation is None:
            return _Called(self.lowered.functions[node.result.array]), False, read, made, (("own",),), ()
        ufunc = island.ufunc()
        kernel_of(island.computation).prepare()
        return ufunc, True, read, made, tuple(map(self._place, island.outputs)), ()

    def _slot(self, value: Value) -> int:
        if value.array not in self.slots:
            self.slots[value.array] = len(self.start)
            self.start.append(self.lowered.constants[value.array])
        return self.slots[value.array]

    def _new(self, value: Value) -> int:
        self.slots[value.array] = len(self.start)
        self.start.append(None)
        return self.slots[value.array]

    def _place(self, value: Value) -> tuple[Any, ...]:
        offset = self.offsets.get(value.array)
        if offset is None:
            return "fresh", _shape(value), value.type.numpy
        self.buffers.append(Temporary(offset, _shape(value), value.type.numpy))
        return "buffer", len(self.buffers) - 1


def _shape(value: Value) -> Shape:
    shape: Any = value.space
    return tuple(shape)


def _form(value: Value) -> tuple[Any, ...]:
    return _shape(value), value.type.name
