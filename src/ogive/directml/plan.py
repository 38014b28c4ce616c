"""Plans: what a compiled operator does, step by step, and where everything lies.

A graph of nodes becomes islands, an island a kernel. What goes from one island to another lies in the temporary
resource; its places are used again when what lies there is not wanted any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from ogive import _native
from ogive.directml.computation import Computation, Elementwise, Whole
from ogive.directml.enumerations import CONSTANTS
from ogive.directml.memory import Region
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, Layout, View
from ogive.dtypes import ElementType
from ogive.engine import graph as engine
from ogive.engine.fusion import Island
from ogive.engine.graph import Value
from ogive.engine.native_plan import Buffers
from ogive.engine.row_fusion import RowIsland, fused_rows
from ogive.engine.schedule import Allocator, Array, Schedule, Task, Temporary, Workspace, schedule

__all__ = ["Feed", "Node", "Plan", "make_plan", "native_plan"]

_ALIGNMENT = CONSTANTS["DML_TEMPORARY_BUFFER_ALIGNMENT"]


class Feed(NamedTuple):
    """Where an operand of a node comes from, and how the node sees it."""

    area: Literal["input", "constant", "node"]
    number: int
    desc: DML_BUFFER_TENSOR_DESC
    kind: ElementType

    @property
    def value(self) -> Value:
        return Value((self.area, self.number), self.kind, self.desc.Sizes, self.desc.layout)


class Node(NamedTuple):
    """One operator of a graph, in the order of computation."""

    computation: Computation
    feeds: tuple[Feed, ...]
    desc: DML_BUFFER_TENSOR_DESC
    """The output's"""
    kind: ElementType

    def translated(self, number: int) -> engine.Node:
        """The node as the engine sees it."""
        made = self.computation
        result = Value(("node", number), self.kind, self.desc.Sizes, self.desc.layout)
        operands = tuple(feed.value for feed in self.feeds)
        if isinstance(made, Whole):
            return engine.Node(made.name, result, operands, None)
        parameters = made.parameters if isinstance(made, Elementwise) else ()
        return engine.Node(made.name, result, operands, made.formulas, parameters)


class Place(NamedTuple):
    """An operand of a step: bytes of an area, seen as a tensor."""

    area: Literal["input", "output", "temporary", "persistent", "constant"]
    number: int
    offset: int
    view: View


class Step(NamedTuple):
    """One kernel, or one operator that is computed as a whole, and its operands."""

    name: str
    call: np.ufunc | Callable[..., Any]
    """A ufunc, or a function of the inputs that writes into ``out``."""
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]

    def run(self, inputs: Sequence[np.ndarray], outputs: tuple[np.ndarray, ...]) -> None:
        if isinstance(self.call, np.ufunc):
            self.call(*inputs, out=outputs)
            return
        self.call(*inputs, out=outputs[0])
        for other in outputs[1:]:
            np.copyto(other, outputs[0])


class Plan(NamedTuple):
    """The steps in order, and what they need besides inputs and outputs."""

    steps: tuple[Step, ...]
    temporary_size: int
    persistent: Mapping[int, tuple[int, int]]
    """Of each input that is bound at initialisation: its offset in the persistent resource, and its size"""
    persistent_size: int
    constants: tuple[np.ndarray, ...]

    def execute(
        self,
        inputs: Mapping[int, Region],
        outputs: Sequence[Region],
        temporary: Region | None,
        persistent: Region | None,
    ) -> None:
        """Run the steps on memory that has been found large enough, writable, and free of hazards."""

        def array(place: Place) -> np.ndarray:
            if place.area == "constant":
                return place.view.over(self.constants[place.number], 0)
            region: Any
            if place.area == "input":
                region = inputs[place.number]
            elif place.area == "output":
                region = outputs[place.number]
            else:
                region = temporary if place.area == "temporary" else persistent
            return place.view.over(region.memory, region.offset + place.offset)

        # Everything is bounds-checked before anything is written.
        operands = [(list(map(array, step.inputs)), tuple(map(array, step.outputs))) for step in self.steps]
        for step, (given, wanted) in zip(self.steps, operands, strict=True):
            step.run(given, wanted)


def make_plan(
    nodes: Sequence[Node],
    outputs: Sequence[int],
    owned: Mapping[int, int],
    constants: Sequence[np.ndarray] = (),
) -> Plan:
    """The plan for nodes in an order in which they can be computed.

    ``outputs``: for each output the node that it comes from. ``owned``: the sizes of the inputs that are bound
    at initialisation. Compiles the kernels.
    """
    owner = Allocator(_ALIGNMENT)
    persistent = {index: (owner.take(size), size) for index, size in owned.items()}
    translated = tuple(node.translated(number) for number, node in enumerate(nodes))
    # Several outputs may be one value. Where the caller has them lie, no step reads.
    stored = Counter[Hashable](("node", number) for number in outputs)
    islands = fused_rows(engine.Graph(translated, stored, can_read_stored=False))
    scheduled = _schedule(islands, nodes)
    maker = _StepMaker(nodes, outputs, persistent, scheduled.offsets)
    steps = tuple(map(maker.step, islands))
    return Plan(steps, scheduled.size, persistent, owner.end, tuple(constants))


def _number(value: Value) -> int:
    """The number of an array in its area."""
    _, number = cast(tuple[str, int], value.array)
    return number


def _schedule(islands: Sequence[Island], nodes: Sequence[Node]) -> Schedule:
    """Where the results lie that other islands read: in the temporary resource."""
    read = {value.array for island in islands for value in island.inputs}
    tasks = []
    for island in islands:
        members = (node.result for node in island.nodes)
        made = [value for value in members if value.array in read]
        sizes = [nodes[_number(value)].desc.TotalTensorSizeInBytes for value in made]
        arrays = tuple(Array(value.array, size, value.view) for value, size in zip(made, sizes, strict=True))
        reads = tuple((value.array, value.view) for value in island.inputs)
        is_element_wise = island.nodes[0].computation is not None and not isinstance(island, RowIsland)
        tasks.append(Task(reads, arrays, is_element_wise))
    return schedule(tasks, _ALIGNMENT)


# ---- steps


class _StepMaker:
    def __init__(
        self,
        nodes: Sequence[Node],
        outputs: Sequence[int],
        persistent: Mapping[int, tuple[int, int]],
        places: Mapping[Hashable, int],
    ) -> None:
        self.nodes = nodes
        self.outputs: dict[int, list[int]] = {}
        for number, index in enumerate(outputs):
            self.outputs.setdefault(index, []).append(number)
        self.persistent = persistent
        self.places = places

    def step(self, island: Island) -> Step:
        """The step that computes an island."""
        inputs = tuple(map(self._source, island.inputs))
        outputs = tuple(place for node in island.nodes for place in self._results(node.result))
        computation = self.nodes[_number(island.nodes[0].result)].computation
        if isinstance(computation, Whole):
            return Step(computation.name, computation.function, inputs, outputs)
        return Step(island.name, island.prepared(), inputs, outputs)

    def _source(self, value: Value) -> Place:
        area, number = cast(tuple[Literal["input", "constant", "node"], int], value.array)
        if area == "node":
            return Place("temporary", 0, self.places[value.array], _view(value))
        if area == "input" and number in self.persistent:
            return Place("persistent", 0, self.persistent[number][0], _view(value))
        return Place(area, number, 0, _view(value))

    def _results(self, value: Value) -> list[Place]:
        found = [Place("output", number, 0, _view(value)) for number in self.outputs.get(_number(value), ())]
        if value.array in self.places:
            found.append(Place("temporary", 0, self.places[value.array], _view(value)))
        return found


def _view(value: Value) -> View:
    _, sizes, strides = cast(Layout, value.view)
    return View(sizes, value.type.numpy, tuple(stride * value.type.itemsize for stride in strides))


# ---- plain calls


class _Called(NamedTuple):
    """An operator that is computed as a whole, as a native plan calls it."""

    function: Callable[..., Any]

    def __call__(self, arrays: tuple[np.ndarray, ...], out: np.ndarray) -> np.ndarray:
        self.function(*arrays, out=out)
        return out


def native_plan(plan: Plan, inputs: Sequence[View | None], outputs: Sequence[View | None]) -> _native.Plan | None:
    """The plan for calls with one packed array a tensor, in native code; None where it is not as simple as that.

    It is not if an input is absent or bound at initialisation, if an operand is seen with gaps or repeated, and if
    several steps see one place differently.
    """
    if plan.persistent or any(seen is None or not seen.is_packed for seen in (*inputs, *outputs)):
        return None
    slots: dict[Place, int] = {Place("input", n, 0, seen): n for n, seen in enumerate(inputs) if seen is not None}
    start: list[Any] = [None] * len(slots)
    buffers = Buffers()
    results: dict[int, int] = {}
    written: dict[tuple[str, int, int], Place] = {}
    steps = []
    for step in plan.steps:
        for place in step.inputs:
            if place.area == "constant" and place not in slots:
                slots[place] = len(start)
                start.append(place.view.over(plan.constants[place.number], 0))
            # What lies in memory that was written again since cannot be meant: that place has another key now.
            elif place.area == "temporary" and written.get(place[:3]) != place:
                return None
        if any(place not in slots for place in step.inputs):
            return None
        read = tuple(slots[place] for place in step.inputs)
        made: list[int] = []
        places: list[tuple[Any, ...]] = []
        for place in step.outputs:
            written[place[:3]] = place
            slots[place] = len(start)
            made.append(len(start))
            start.append(None)
            if place.area == "output":
                if place.view != outputs[place.number]:  # computed as other elements of the same size: as bits
                    return None
                results[place.number] = made[-1]
                places.append(("fresh", place.view.shape, place.view.dtype))
            else:
                places.append(buffers.place(Temporary(place.offset, *place.view)))
        is_kernel = isinstance(step.call, np.ufunc)
        if not is_kernel and len(made) > 1:
            return None
        call = step.call if is_kernel else _Called(step.call)
        steps.append((call, is_kernel, read, tuple(made), tuple(places), ()))
    return _native.Plan(
        steps=tuple(steps),
        start=tuple(start),
        inputs=tuple(range(len(inputs))),
        input_kinds=tuple((seen.dtype, seen.shape) for seen in inputs if seen is not None),
        results=tuple(results[number] for number in range(len(outputs))),
        is_own=(True,) * len(outputs),
        separate=lambda value, is_own: value,
        make_workspace=Workspace(plan.temporary_size, buffers.arrays),
        workspace_bytes=plan.temporary_size,
        uniform=False,
        most_elements=0,
    )
