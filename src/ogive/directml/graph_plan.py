"""Plans: the calls that a compiled operator makes, and where everything lies.

A graph of nodes becomes groups, a fusion group the call of a kernel. A tensor that goes from one group to another lies in the
temporary resource, whose places are used again when nothing needs what lies there any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from ogive.common.dtypes import ElementType
from ogive.devices.device_plan import DevicePlan
from ogive.devices.kernels import Driver
from ogive.directml.binding import Region, Regions
from ogive.directml.desc_computation import Computation, ElementwiseDesc, Whole
from ogive.directml.enumerations import CONSTANTS
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, Layout, View
from ogive.engine import graph as engine
from ogive.engine import plan as calls
from ogive.engine.fusion import FusionGroup
from ogive.engine.graph import ArrayValue
from ogive.engine.plan import Call, Output, ViewLayout
from ogive.engine.row_fusion import RowFusionGroup, fused_rows
from ogive.engine.schedule import Allocator, Array, Schedule, Task, schedule

_ALIGNMENT = CONSTANTS["DML_TEMPORARY_BUFFER_ALIGNMENT"]


class NodeOperand(NamedTuple):
    """The source of an operand of a node, and how the node sees it."""

    area: Literal["input", "constant", "node"]
    number: int
    desc: DML_BUFFER_TENSOR_DESC
    kind: ElementType

    @property
    def value(self) -> ArrayValue:
        return ArrayValue((self.area, self.number), self.kind, self.desc.Sizes, self.desc.layout)


class KernelNode(NamedTuple):
    """One operator of a graph, in the order of computation."""

    computation: Computation
    operands: tuple[NodeOperand, ...]
    desc: DML_BUFFER_TENSOR_DESC
    """The output's"""
    kind: ElementType

    def translated(self, number: int) -> engine.GraphNode:
        """The node as the engine sees it."""
        computation = self.computation
        result = ArrayValue(("node", number), self.kind, self.desc.Sizes, self.desc.layout)
        operands = tuple(operand.value for operand in self.operands)
        if isinstance(computation, Whole):
            return engine.GraphNode(computation.name, result, operands, None)
        parameters = computation.parameters if isinstance(computation, ElementwiseDesc) else ()
        return engine.GraphNode(computation.name, result, operands, computation.formulas, parameters)


class Location(NamedTuple):
    """The array of a call: memory of an area, seen as a tensor. Its number is that of the input, node and so on."""

    area: Literal["input", "output", "node", "constant"]
    number: int
    view: View


class Plan(NamedTuple):
    """The calls in order, with locations as names, and what they need besides inputs and outputs."""

    calls: tuple[Call, ...]
    places: Mapping[int, int]
    """The offset of a node's result in the temporary resource"""
    temporary_size: int
    persistent: Mapping[int, tuple[int, int]]
    """For each input that is bound at initialisation: its offset in the persistent resource, and its size"""
    persistent_size: int
    constants: tuple[np.ndarray, ...]

    def execute(self, regions: Regions) -> None:
        """Run the calls on memory that has been found large enough, writable, and free of hazards."""
        inputs, outputs, temporary, persistent = regions

        def array(name: Hashable) -> np.ndarray:
            area, number, view = cast(Location, name)
            if area == "constant":
                return view.over(self.constants[number], 0)
            region, offset = persistent, 0
            if area == "output":
                region = outputs[number]
            elif area == "node":
                region, offset = temporary, self.places[number]
            elif number in self.persistent:
                offset, _ = self.persistent[number]
            else:
                region = inputs[number]
            assert region is not None
            return view.over(region.memory, region.offset + offset)

        # Everything is bounds-checked before anything is written.
        operands = [
            (list(map(array, call.inputs)), tuple(array(output.name) for output in call.outputs)) for call in self.calls
        ]
        for call, (sources, targets) in zip(self.calls, operands, strict=True):
            call.function(*sources, out=targets if call.is_kernel else targets[0])


def make_plan(
    nodes: Sequence[KernelNode],
    outputs: Sequence[int],
    owned: Mapping[int, int],
    constants: Sequence[np.ndarray] = (),
    *,
    compiles: bool = True,
) -> Plan:
    """The plan for nodes in an order in which they can be computed.

    ``outputs``: for each output the node that it comes from. ``owned``: the sizes of the inputs that are bound
    at initialisation. Compiles the processor's kernels, if ``compiles``.
    """
    owner = Allocator(_ALIGNMENT)
    persistent = {index: (owner.take(size), size) for index, size in owned.items()}
    translated = tuple(node.translated(number) for number, node in enumerate(nodes))
    # Several outputs may be one value. Where the caller has them lie, no call reads.
    stored = Counter[Hashable](("node", number) for number in outputs)
    groups = fused_rows(engine.Graph(translated, stored, can_read_stored=False))
    scheduled = _schedule(groups, nodes)
    places = {_number(name): offset for name, offset in scheduled.offsets.items()}
    made = tuple(call for group in groups for call in _calls(group, nodes, outputs, places, compiles))
    return Plan(made, places, scheduled.size, persistent, owner.end, tuple(constants))


def _number(array: Hashable) -> int:
    """The number of an array in its area."""
    _, number = cast(tuple[str, int], array)
    return number


def _schedule(groups: Sequence[FusionGroup], nodes: Sequence[KernelNode]) -> Schedule:
    """The offsets of results that other groups read, in the temporary resource."""
    read = {value.array for group in groups for value in group.inputs}
    tasks = []
    for group in groups:
        results = [node.result for node in group.nodes if node.result.array in read]
        sizes = [nodes[_number(value.array)].desc.TotalTensorSizeInBytes for value in results]
        arrays = tuple(Array(value.array, size, value.view) for value, size in zip(results, sizes, strict=True))
        reads = tuple((value.array, value.view) for value in group.inputs)
        is_element_wise = group.nodes[0].computation is not None and not isinstance(group, RowFusionGroup)
        tasks.append(Task(reads, arrays, is_element_wise))
    return schedule(tasks, _ALIGNMENT)


def _calls(
    group: FusionGroup,
    nodes: Sequence[KernelNode],
    outputs: Sequence[int],
    places: Mapping[int, int],
    compiles: bool,
) -> list[Call]:
    """The computation of a fusion group: a kernel with all of its results, or a function, whose result is copied to others."""
    targets = [_output(place) for node in group.nodes for place in _targets(node.result, outputs, places)]
    inputs = tuple(map(_source, group.inputs))
    computation = nodes[_number(group.nodes[0].result.array)].computation
    if not isinstance(computation, Whole):
        kind: calls.Kind = "rows" if isinstance(group, RowFusionGroup) else "elements"
        ufunc = group.prepared() if compiles else group.ufunc()
        return [Call(kind, ufunc, inputs, tuple(targets), group=group)]
    first, *others = targets
    copies = (Call("filling", _copied, (first.name,), (other,), moved=(first.name,)) for other in others)
    return [Call("filling", computation, inputs, (first,), along=computation.along, label=computation.name), *copies]


def _source(value: ArrayValue) -> Location:
    area, number = cast(tuple[Literal["input", "node", "constant"], int], value.array)
    return Location(area, number, _view(value))


def _targets(value: ArrayValue, outputs: Sequence[int], places: Mapping[int, int]) -> list[Location]:
    """The places of a node's result: outputs, and the temporary resource if other groups read it."""
    number, view = _number(value.array), _view(value)
    found = [Location("output", index, view) for index, node in enumerate(outputs) if node == number]
    return [*found, Location("node", number, view)] if number in places else found


def _output(location: Location) -> Output:
    view = location.view
    return Output(location, view.shape, view.dtype, None if view.is_packed else view.strides)


def _view(value: ArrayValue) -> View:
    _, sizes, strides = cast(Layout, value.view)
    return View(sizes, value.type.numpy, tuple(stride * value.type.itemsize for stride in strides))


def _copied(source: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, source)


# ---- calls with one array a tensor


def native_plan(
    plan: Plan, inputs: Mapping[int, View], outputs: Sequence[View | None], persistent: Region | None = None
) -> calls.Plan | None:
    """The plan for calls with an array for each of these inputs, in native code; None where it is not as simple as that.

    ``inputs`` says how the arrays lie: as their tensors, but along one axis if a tensor has gaps or repeats elements
    (`flat`). Outputs with gaps have no such plan. Inputs that are bound at initialisation are read from the ``persistent``
    resource.
    """
    if any(view is None or not view.is_packed for view in outputs):
        return None
    made = _named_calls(plan, inputs, cast(Sequence[View], outputs), persistent)
    return None if made is None else calls.make_plan(*made)


def device_plan(
    subject: str,
    driver: Driver,
    plan: Plan,
    inputs: Mapping[int, View],
    outputs: Sequence[View],
    persistent: Region | None = None,
) -> DevicePlan | None:
    """The plan for a device; None before inputs that are bound at initialisation are. Inputs go by ``input_name``."""
    made = _named_calls(plan, inputs, outputs, persistent)
    return None if made is None else DevicePlan(subject, driver, *made)


def input_name(number: int, view: View) -> Location:
    """By what name a plan of calls knows an input that lies so."""
    return Location("input", number, view)


#: Calls, fixed arrays, inputs and results, as engine.plan takes them.
_NamedCalls = tuple[
    Sequence[Call], Mapping[Any, np.ndarray], Mapping[Any, tuple[np.dtype, tuple[int, ...]]], Sequence[Hashable]
]


def _named_calls(
    plan: Plan, inputs: Mapping[int, View], views: Sequence[View], persistent: Region | None
) -> _NamedCalls | None:
    """The calls of a plan over named arrays; None before inputs that are bound at initialisation are."""
    if plan.persistent and persistent is None:
        return None
    known = {("input", number): input_name(number, view) for number, view in inputs.items()}
    """The contents of the memory of a call, as it was written."""
    kinds = {location: (location.view.dtype, location.view.shape) for location in known.values()}
    fixed: dict[Location, np.ndarray] = {}
    found = dict[Hashable, Call]()
    for call in plan.calls:
        for name in call.inputs:
            area, number, view = location = cast(Location, name)
            source = known.get((area, number))
            if source is not None:
                if location != source and location not in found:
                    found[location] = _view_call(source, location)
            elif area == "constant":
                fixed[location] = view.over(plan.constants[number], 0)
            else:
                assert persistent is not None
                offset, _ = plan.persistent[number]
                fixed[location] = view.over(persistent.memory, persistent.offset + offset)
        written = [cast(Location, output.name) for output in call.outputs]
        known.update(((location.area, location.number), location) for location in written)
        found[call.outputs[0].name] = call
    results = [Location("output", number, view) for number, view in enumerate(views)]
    for result in results:  # what an operator computes as bits is an array of the output's type
        source = known[result.area, result.number]
        if result != source:
            found[result] = _view_call(source, result)
    return tuple(found.values()), fixed, kinds, results


def flat(view: View) -> View:
    """How an array for such a tensor lies: as it is, or along one axis if the tensor has gaps or repeats elements."""
    size = view.dtype.itemsize
    last = sum((count - 1) * stride for count, stride in zip(view.shape, view.strides, strict=True))
    return view if view.is_packed else View((1 + last // size,), view.dtype, (size,))


def _view_call(source: Location, location: Location) -> Call:
    """A view of memory as another tensor than it was written as."""
    view = location.view
    dtype = None if view.dtype == source.view.dtype else view.dtype
    layout = ViewLayout(0, view.strides, source.view.shape, source.view.strides, dtype)
    return Call("view", partial(_seen, view), (source,), (_output(location),), layout)


def _seen(view: View, array: np.ndarray) -> np.ndarray:
    return view.over(np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0)
