"""The known facts about a graph before the shapes are: who uses which value, and what kernels can have in their code."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from ogive.common import forking
from ogive.common.dtypes import ElementType
from ogive.engine.computation import Element
from ogive.engine.fusion import FusionGroup
from ogive.engine.graph import NO_CONSTANTS, ArrayValue, Constants, GraphNode
from ogive.onnx.checked_graph import CheckedGraph, CheckedStep
from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.node_computation import ElementwiseNode, NodeFunction, RowWiseNode

#: A step that depends on constants alone is put into every kernel that uses it, if it stands for few others.
MOST_CONSTANT_STEPS = 32


@dataclass(frozen=True)
class Outline:
    """A graph, or the part of it that some of the outputs need."""

    steps: tuple[CheckedStep, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    arrays: dict[str, np.ndarray]
    """The constants."""
    types: dict[str, ElementType]
    """The types of the values that kernels compute with."""
    consumers: dict[str, frozenset[str]]
    """For each value the steps, by their output, that need its elements."""
    constants: Constants
    fuse: bool
    kernels: dict[tuple[Hashable, ...], np.ufunc]
    lock: Lock

    @property
    def computed_types(self) -> tuple[str, ...]:
        """The element types of its values, as NumPy calls them."""
        used = {value for step in self.steps for value in (step.output, *step.made.operands)}
        return tuple(sorted({self.types[value].name for value in used if value in self.types}))

    def kernel(self, group: FusionGroup) -> np.ufunc:
        """The ufunc of a fusion group, compiled when it is first called. Equal groups share it."""
        # The outline keeps what the keys of computations are made of. 0.0 is not -0.0.
        key = group.computation.key, tuple(map(repr, group.parameters))
        with self.lock:
            kernel = self.kernels.get(key)
            if kernel is None:
                kernel = self.kernels[key] = group.ufunc()
            return kernel


def as_node(step: CheckedStep, types: Mapping[str, ElementType], shapes: Mapping[str, Hashable]) -> GraphNode:
    """A step for kernels as a node of the engine."""
    made = step.made
    assert isinstance(made, ElementwiseNode | RowWiseNode)
    result, *operands = (ArrayValue(value, types[value], shapes.get(value)) for value in (step.output, *made.operands))
    axis = made.axis if isinstance(made, RowWiseNode) else -1
    return GraphNode(step.label.split()[0], result, tuple(operands), made.computation, made.parameters, axis)


def outline(graph: CheckedGraph, outputs: Sequence[str], *, fuse: bool) -> Outline:
    """The known facts about the part of a graph that these outputs need."""
    wanted = set(outputs)
    results = tuple(value for info, value in zip(graph.outputs, graph.results, strict=True) if info.name in wanted)
    needed, steps = set(results), []
    for step in reversed(graph.steps):
        if step.output in needed:
            needed.update(step.made.operands)
            steps.append(step)
    steps.reverse()
    consumers: dict[str, set[str]] = {}
    for step in steps:
        if not (isinstance(step.made, NodeFunction) and step.made.shape_only):
            for value in step.made.operands:
                consumers.setdefault(value, set()).add(step.output)
    elements = {value: DATA_TYPES[kind].element for value, kind in graph.types.items() if kind in DATA_TYPES}
    types = {value: kind for value, kind in elements.items() if kind is not None}
    arrays = {value: array for value, array in graph.constants.items() if value in needed}
    return Outline(
        steps=tuple(steps),
        inputs=tuple(info.name for info in graph.inputs),
        results=results,
        arrays=arrays,
        types=types,
        consumers={value: frozenset(users) for value, users in consumers.items()},
        constants=_constants(arrays, types, steps) if fuse else NO_CONSTANTS,
        fuse=fuse,
        kernels={},
        lock=forking.lock(),
    )


def _constants(arrays: dict[str, np.ndarray], types: dict[str, ElementType], steps: Sequence[CheckedStep]) -> Constants:
    numbers: dict[Hashable, Element] = {
        value: Element(array.reshape(()).item(), types[value])
        for value, array in arrays.items()
        if array.size == 1 and value in types
    }
    nodes = dict[Hashable, GraphNode]()
    counts = dict.fromkeys(numbers, 0)
    for step in steps:
        if isinstance(step.made, ElementwiseNode) and all(value in counts for value in step.made.operands):
            count = 1 + sum(counts[value] for value in step.made.operands)
            if count <= MOST_CONSTANT_STEPS:
                counts[step.output] = count
                nodes[step.output] = as_node(step, types, {})
    return Constants(numbers, nodes)
