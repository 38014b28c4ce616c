"""Executables: the plan of a graph of known shapes.

Spaces are shapes. A node without computation is a function of whole arrays. Kernels have constants of one element in
their code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive.common.dtypes import element_type_of
from ogive.engine.computation import Element
from ogive.engine.fusion import FusionGroup, group_of
from ogive.engine.graph import ArrayValue, Constants, Graph, GraphNode
from ogive.engine.plan import Call, Output, Plan, ViewLayout, make_plan
from ogive.engine.row_fusion import RowFusionGroup, fused_rows, packed_strides
from ogive.engine.rows import RowFormula

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ArrayFunction:
    """A function of whole arrays. A view may share memory with its first operand."""

    call: Callable[..., np.ndarray]
    is_view: bool = False


@dataclass
class GraphDescription:
    """The plan to run, with the spaces of the nodes as shapes."""

    nodes: list[GraphNode] = field(default_factory=list)
    """In an order in which they can be computed."""
    functions: dict[Hashable, ArrayFunction] = field(default_factory=dict)
    """By the array that a function makes."""
    constants: dict[Hashable, np.ndarray] = field(default_factory=dict)
    """By their array's name."""


def plan_graph(
    graph: GraphDescription, inputs: Sequence[ArrayValue], results: Sequence[ArrayValue], *, fuse: bool = True
) -> tuple[Plan, int]:
    """The plan, and how many kernels it calls. Without ``fuse`` every node has a kernel of its own."""
    calls = [call for group in grouped(graph, results, fuse=fuse) for call in _calls(graph, group)]
    kinds = {value.array: (value.type.numpy, _shape(value)) for value in inputs}
    plan = make_plan(calls, graph.constants, kinds, [value.array for value in results])
    return plan, sum(call.is_kernel for call in calls)


def grouped(description: GraphDescription, results: Sequence[ArrayValue], *, fuse: bool = True) -> list[FusionGroup]:
    """The groups that one kernel each computes, and the functions, in an order in which they can be called."""
    numbers = {name: _number(array) for name, array in description.constants.items() if array.size == 1}
    graph = Graph(tuple(description.nodes), {value.array: 1 for value in results}, Constants(numbers))
    if fuse:
        return fused_rows(graph)
    groups = []
    for number, node in enumerate(graph.nodes):
        group = group_of(graph, [number])
        if isinstance(node.computation, RowFormula):
            group = RowFusionGroup(group.nodes, group.inputs, group.outputs, group.constants)
        groups.append(group)
    return groups


def _number(array: np.ndarray) -> Element:
    kind = element_type_of(array.dtype)
    assert kind is not None
    return Element(array.reshape(()).item(), kind)


def _calls(description: GraphDescription, group: FusionGroup) -> list[Call]:
    """The computation of a fusion group, between views where a kernel sees arrays in another order of axes."""
    node = group.nodes[0]
    if node.computation is None:
        # A function gets every operand, also one number, and one that it has twice.
        function = description.functions[node.result.array]
        operands = tuple(value.array for value in node.operands)
        return [Call("view" if function.is_view else "own", function.call, operands, (_output(node.result),))]
    ufunc = group.prepared()
    if not isinstance(group, RowFusionGroup) or group.order is None:
        operands = tuple(value.array for value in group.inputs)
        outputs = tuple(map(_output, group.outputs))
        return [Call("rows" if isinstance(group, RowFusionGroup) else "elements", ufunc, operands, outputs)]
    before, after = list[Call](), list[Call]()
    seen_inputs, seen_outputs = list[Hashable](), list[Output]()
    for value in group.inputs:
        seen, strides = _turned(group, value, node.result.array)
        layout = ViewLayout(0, strides, _shape(value), packed_strides(value))
        before.append(Call("view", group.seen, (value.array,), (seen,), layout))
        seen_inputs.append(seen.name)
    for value in group.outputs:
        seen, strides = _turned(group, value, "output")
        layout = ViewLayout(0, packed_strides(value), seen.shape, strides)
        after.append(Call("view", group.seen_back, (seen.name,), (_output(value),), layout))
        seen_outputs.append(seen)
    return [*before, Call("rows", ufunc, tuple(seen_inputs), tuple(seen_outputs)), *after]


def _turned(group: RowFusionGroup, value: ArrayValue, mark: Hashable) -> tuple[Output, Shape]:
    """A value as the kernel sees it, and its strides."""
    strides = group.seen_strides(value) or ()
    return Output((value.array, "turned", mark), group.seen_shape(value), value.type.numpy, strides), strides


def _output(value: ArrayValue) -> Output:
    return Output(value.array, _shape(value), value.type.numpy)


def _shape(value: ArrayValue) -> Shape:
    shape: Any = value.space
    return tuple(shape)
