"""Dispatchables that are DirectML operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ogive.common.documents.place import DocumentPlace
from ogive.directml import (
    DML_BINDING_TABLE_DESC,
    DML_BUFFER_ARRAY_BINDING,
    DML_BUFFER_BINDING,
    DML_BUFFER_TENSOR_DESC,
    DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE,
    DML_GRAPH_DESC,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
    CommandList,
    CompiledOperator,
    Device,
    Operator,
)
from ogive.directml.descs import OperatorDesc
from ogive.dxdispatch.model_descs import flags, operator_desc, placed
from ogive.dxdispatch.resources import Bindings, BindingSource, MemoryBudget, Resource, read_bindings, single_source

#: The keys beside the members of the desc.
MEMBERS = ("dmlCompileType", "executionFlags", "bindings")

#: The text that DxDispatch prints when it compiles, by whether that makes a graph.
_NOTES = {False: "Compile Op", True: "Compiling op using IDMLDevice1::CompileGraph"}


def is_graph(place: DocumentPlace) -> bool:
    """Whether the operator of a dispatchable is compiled as a graph of one node."""
    member = place.members().get("dmlCompileType")
    return member is not None and member.choice({"DmlCompileOp": False, "DmlCompileGraph": True})


class OperatorDispatchable:
    """A DirectML operator, created and compiled; with the resources that it owns, if it owns some."""

    def __init__(
        self, name: str, place: DocumentPlace, device: Device, resources: Mapping[str, Resource], budget: MemoryBudget
    ) -> None:
        desc, inner = operator_desc(place, beside=MEMBERS)
        members = place.members()
        chosen = members.get("executionFlags")
        execution_flags: Any = 0 if chosen is None else flags(chosen, "DML_EXECUTION_FLAGS")
        # Everything is bound before a dispatch is recorded, and so refused before it.
        execution_flags &= ~DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE
        is_one_node = is_graph(place)
        self.note = _NOTES[is_one_node]
        self.place = place
        self._device = device
        self._desc = desc
        self._owned: Bindings | None = None
        if "bindings" in members:
            self._owned = read_bindings(members["bindings"], resources)
        #: The tensors in the order in which they are bound; a graph has no place for one that is absent.
        self._inputs = [m.name for m in desc.FACTS.inputs if not is_one_node or getattr(desc, m.name) is not None]
        self._output = desc.FACTS.output.name
        with placed(inner):
            operator = device.CreateOperator(desc)
            operator.SetName(name)
            self._compiled = (
                self._graph(operator, name, execution_flags)
                if is_one_node
                else device.CompileOperator(operator, execution_flags)
            )
        self._compiled.SetName(name)
        properties = self._compiled.GetBindingProperties()
        scratch = properties.TemporaryResourceSize + properties.PersistentResourceSize
        budget.take(place, scratch, "temporary and persistent resources")
        self._temporary = _Scratch(properties.TemporaryResourceSize)
        self._persistent = _Scratch(properties.PersistentResourceSize)

    def _graph(self, operator: Operator, name: str, execution_flags: Any) -> CompiledOperator:
        """The operator as the only node of a graph."""
        numbers = {member.name: number for number, member in enumerate(operator.desc.FACTS.inputs)}
        edges = [
            DML_INPUT_GRAPH_EDGE_DESC(GraphInputIndex=index, ToNodeIndex=0, ToNodeInputIndex=numbers[tensor])
            for index, tensor in enumerate(self._inputs)
        ]
        desc = DML_GRAPH_DESC(
            InputCount=len(edges),
            OutputCount=1,
            Nodes=[DML_OPERATOR_GRAPH_NODE_DESC(operator, Name=name)],
            InputEdges=edges,
            IntermediateEdges=[],
            OutputEdges=[DML_OUTPUT_GRAPH_EDGE_DESC(FromNodeIndex=0, FromNodeOutputIndex=0, GraphOutputIndex=0)],
        )
        return self._device.CompileGraph(desc, execution_flags)

    # ---- running

    def initializer(self) -> Callable[[], None]:
        """The initialisation of the operator, checked now and run later."""
        initializer = self._device.CreateOperatorInitializer([self._compiled])
        table = self._device.CreateBindingTable(DML_BINDING_TABLE_DESC(initializer))
        owned = self._owned or Bindings(self.place, {})
        with placed(owned.place):
            buffers = self._buffers(owned, self._inputs)
            persistent = self._persistent.binding()
            table.BindInputs([DML_BUFFER_ARRAY_BINDING(buffers) if owned.sources or persistent else None])
            table.BindOutputs([persistent])
            commands = CommandList()
            self._device.CreateCommandRecorder().RecordDispatch(commands, initializer, table)

        def initialize() -> None:
            commands.Execute()
            _run_on_one_element(self._device, self._desc)

        return initialize

    def bound(self, bindings: Bindings) -> Callable[[], None]:
        """One dispatch with these bindings, checked now and run later."""
        table = self._device.CreateBindingTable(DML_BINDING_TABLE_DESC(self._compiled))
        with placed(bindings.place):
            buffers = self._buffers(bindings, [*self._inputs, self._output])
            table.BindInputs(buffers[:-1])
            table.BindOutputs(buffers[-1:])
            table.BindTemporaryResource(self._temporary.binding())
            table.BindPersistentResource(self._persistent.binding())
            commands = CommandList()
            self._device.CreateCommandRecorder().RecordDispatch(commands, self._compiled, table)
        return commands.Execute

    def _buffers(self, bindings: Bindings, tensors: Sequence[str]) -> list[Any]:
        """For each tensor what is bound to it, or None."""
        for name in bindings.sources:
            if name not in tensors:
                bindings.place.at(name).refuse("there is no such tensor to bind", ", ".join(tensors))
        found: list[Any] = [None] * len(tensors)
        for name, sources in bindings.sources.items():
            place = bindings.place.at(name)
            found[tensors.index(name)] = _binding(single_source(place, sources))
        return found


def _run_on_one_element(device: Device, desc: OperatorDesc) -> None:
    """Do what is only done once, loading and compiling: the kernel for one element is that for all sizes."""
    given = [(m.name, getattr(desc, m.name)) for m in desc.FACTS.tensors if getattr(desc, m.name) is not None]
    ones = {
        name: DML_BUFFER_TENSOR_DESC(DataType=tensor.DataType, Sizes=(1,) * tensor.DimensionCount)
        for name, tensor in given
    }
    inputs: dict[str | int, Any] = {name: np.ones(16, np.uint8) for name in ones if name != desc.FACTS.output.name}
    device.CompileOperator(device.CreateOperator(desc.replace(**ones))).dispatch(inputs)


def _binding(source: BindingSource) -> DML_BUFFER_BINDING:
    resource = source.resource
    if source.shape is not None:
        source.place.at("shape").refuse("a shape is for the tensors of an ONNX model", "no shape")
    if resource.is_deferred or resource.buffer is None:
        what = f"{resource.name!r} is deferred: an ONNX dispatchable makes it"
        source.place.refuse(what, "resources with initialValues")
    return DML_BUFFER_BINDING(resource.buffer, source.offset, resource.size - source.offset)


class _Scratch:
    """Memory of an operator's own, made when it is first bound."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._buffer: np.ndarray | None = None

    def binding(self) -> DML_BUFFER_BINDING | None:
        if not self._size:
            return None
        if self._buffer is None:
            self._buffer = np.zeros(self._size, np.uint8)
        return DML_BUFFER_BINDING(self._buffer, 0, self._size)
