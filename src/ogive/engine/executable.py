"""Executables: a graph of known shapes as a plan for native code, kernels and functions with the memory between them.

Spaces are shapes. A node without computation is a function of whole arrays. Kernels have constants of one element in
their code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive._native import Plan
from ogive.dtypes import element_type_of
from ogive.engine.computation import Element
from ogive.engine.fusion import Island, island_of
from ogive.engine.graph import Constants, Graph, Node, Value
from ogive.engine.native_plan import Buffers, Step, separated
from ogive.engine.row_fusion import RowIsland, fused_rows, packed_strides
from ogive.engine.rows import RowFormula
from ogive.engine.schedule import ALIGNMENT, Array, Task, Temporary, Workspace, schedule

__all__ = ["Described", "Function", "grouped", "make_plan"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """A function of whole arrays. A view may share memory with its first operand."""

    call: Callable[..., np.ndarray]
    is_view: bool = False


@dataclass
class Described:
    """What is to run, with the spaces of the nodes as shapes."""

    nodes: list[Node] = field(default_factory=list)
    """In an order in which they can be computed."""
    functions: dict[Hashable, Function] = field(default_factory=dict)
    """By the array that a function makes."""
    constants: dict[Hashable, np.ndarray] = field(default_factory=dict)
    """By their array's name."""


@dataclass(frozen=True)
class _Called:
    """A function of whole arrays, as the native plan calls it."""

    function: Function

    def __call__(self, arrays: tuple[np.ndarray, ...], out: np.ndarray | None) -> np.ndarray:
        return self.function.call(*arrays)


@dataclass(frozen=True)
class _Seen:
    """An array in another order of axes, of memory that does not lie as the plan takes it to."""

    see: Callable[[np.ndarray], np.ndarray]

    def __call__(self, arrays: tuple[np.ndarray, ...], out: None) -> np.ndarray:
        return self.see(arrays[0])


def make_plan(
    described: Described, inputs: Sequence[Value], results: Sequence[Value], *, fuse: bool = True
) -> tuple[Plan, int]:
    """The plan, and how many kernels it calls. Without ``fuse`` every node has a kernel of its own."""
    islands = grouped(described, results, fuse=fuse)
    planner = _Planner(described, [value.array for value in inputs], results)
    kinds = tuple((value.type.numpy, _shape(value)) for value in inputs)
    return planner.plan(islands, kinds), sum(island.nodes[0].computation is not None for island in islands)


def grouped(described: Described, results: Sequence[Value], *, fuse: bool = True) -> list[Island]:
    """What is computed by one kernel each, and the functions, in an order in which they can be called."""
    numbers = {name: _number(array) for name, array in described.constants.items() if array.size == 1}
    graph = Graph(tuple(described.nodes), {value.array: 1 for value in results}, Constants(numbers))
    if fuse:
        return fused_rows(graph)
    made = []
    for number, node in enumerate(graph.nodes):
        island = island_of(graph, [number])
        if isinstance(node.computation, RowFormula):
            island = RowIsland(island.nodes, island.inputs, island.outputs, island.constants)
        made.append(island)
    return made


def _number(array: np.ndarray) -> Element:
    kind = element_type_of(array.dtype)
    assert kind is not None
    return Element(array.reshape(()).item(), kind)


class _Planner:
    def __init__(self, described: Described, inputs: Sequence[Hashable], results: Sequence[Value]) -> None:
        self.described, self.inputs, self.results = described, inputs, results
        self.slots: dict[Hashable, int] = {name: number for number, name in enumerate(inputs)}
        self.start: list[Any] = [None] * len(inputs)
        self.roots: dict[Hashable, Hashable] = {}
        """For each value that a function makes of another's memory, whose memory that is."""
        for node in described.nodes:
            function = described.functions.get(node.result.array)
            if function is not None and function.is_view:
                self.roots[node.result.array] = self.root(node.operands[0].array)
        self.kept = {self.root(value.array) for value in results}
        self.buffers = Buffers()

    def root(self, array: Hashable) -> Hashable:
        return self.roots.get(array, array)

    def plan(self, islands: Sequence[Island], kinds: tuple[Any, ...]) -> Plan:
        scheduled = schedule([self._task(island) for island in islands], ALIGNMENT, self.kept)
        self.offsets = scheduled.offsets
        steps = tuple(step for island in islands for step in self._steps(island))
        results = tuple(self._slot(value) for value in self.results)
        roots = [self.root(value.array) for value in self.results]
        made = {node.result.array for node in self.described.nodes}
        is_own = tuple(root in made and roots.count(root) == 1 for root in roots)
        return Plan(
            steps=steps,
            start=tuple(self.start),
            inputs=tuple(range(len(self.inputs))),
            input_kinds=kinds,
            results=results,
            is_own=is_own,
            separate=separated,
            make_workspace=Workspace(scheduled.size, self.buffers.arrays),
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

    def _steps(self, island: Island) -> list[Step]:
        """The call of what computes an island, between views where a kernel sees arrays in another order of axes."""
        node = island.nodes[0]
        # A function gets every operand, also one number, and one that it has twice.
        read = tuple(map(self._slot, node.operands if node.computation is None else island.inputs))
        if node.computation is None:
            function = self.described.functions[node.result.array]
            return [(_Called(function), False, read, (self._new(node.result),), (("own",),), ())]
        ufunc = island.prepared()
        if isinstance(island, RowIsland) and island.order is not None:
            return self._turned(island, ufunc)
        made = tuple(map(self._new, island.outputs))
        return [(ufunc, True, read, made, tuple(map(self._place, island.outputs)), ())]

    def _turned(self, island: RowIsland, ufunc: np.ufunc) -> list[Step]:
        before, after, read, made, places = list[Step](), list[Step](), list[int](), list[int](), list[Any]()
        for value in island.inputs:
            slot = self._slot(value)
            read.append(self._hidden())
            call, seen = _Seen(island.seen), self._turned_place(island, value)
            is_buffer = seen[0] == "buffer"
            before.append((None if is_buffer else call, False, () if is_buffer else (slot,), (read[-1],), (seen,), ()))
        for value in island.outputs:
            made.append(self._hidden())
            place = self._place(value)
            if place[0] == "buffer":
                places.append(self._turned_place(island, value))
                after.append((None, False, (), (self._new(value),), (place,), ()))
                continue
            shape, strides = island.seen_shape(value), island.seen_strides(value)
            places.append(("fresh", shape, value.type.numpy, strides))
            back = ("view", _shape(value), packed_strides(value), 0, shape, strides)
            after.append((_Seen(island.seen_back), False, (made[-1],), (self._new(value),), (back,), ()))
        return [*before, (ufunc, True, tuple(read), tuple(made), tuple(places), ()), *after]

    def _turned_place(self, island: RowIsland, value: Value) -> tuple[Any, ...]:
        """Where a kernel sees a value that lies in C order."""
        shape, strides = island.seen_shape(value), island.seen_strides(value)
        offset = self.offsets.get(value.array)
        if offset is None:
            return "view", shape, strides, 0, _shape(value), packed_strides(value)
        return self.buffers.place(Temporary(offset, shape, value.type.numpy, strides))

    def _hidden(self) -> int:
        """A slot that no value has."""
        self.start.append(None)
        return len(self.start) - 1

    def _slot(self, value: Value) -> int:
        if value.array not in self.slots:
            self.slots[value.array] = len(self.start)
            self.start.append(self.described.constants[value.array])
        return self.slots[value.array]

    def _new(self, value: Value) -> int:
        self.slots[value.array] = len(self.start)
        self.start.append(None)
        return self.slots[value.array]

    def _place(self, value: Value) -> tuple[Any, ...]:
        offset = self.offsets.get(value.array)
        if offset is None:
            return "fresh", _shape(value), value.type.numpy
        return self.buffers.place(Temporary(offset, _shape(value), value.type.numpy))


def _shape(value: Value) -> Shape:
    shape: Any = value.space
    return tuple(shape)


def _form(value: Value) -> tuple[Any, ...]:
    return _shape(value), value.type.name
