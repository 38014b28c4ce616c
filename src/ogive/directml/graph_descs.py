"""Graphs: the descs of nodes and edges, what makes a graph valid, and the plan for one that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ogive.directml.binding import BindingSlot, Hazards, bytes_of
from ogive.directml.data import FEATURE_LEVELS
from ogive.directml.descs import OperatorDesc
from ogive.directml.enumerations import DML_GRAPH_EDGE_TYPE, DML_GRAPH_NODE_TYPE, level_name
from ogive.directml.graph_plan import make_plan
from ogive.directml.life_cycle import CompiledOperator, Operator, accepted_operator, single_node
from ogive.directml.objects import Parent
from ogive.directml.results import refuse
from ogive.directml.structure import CONVERTERS, Structure, StructureMember, arrays, structures
from ogive.errors import described

_FIRST_LEVEL = FEATURE_LEVELS["2_1"]
_FIRST_LEVEL_WITH_CONSTANTS = FEATURE_LEVELS["6_2"]


class _Named(Structure):
    """Objects that may have a name, which messages then use."""

    __slots__ = ()


#: The last member of every desc.
_NAME = StructureMember("Name", "TEXT", None, nullable=True)


def _indices(*names: str) -> tuple[StructureMember, ...]:
    """The members of an edge: its indices and its name."""
    return (*(StructureMember(name, "UINT") for name in names), _NAME)


class DML_OPERATOR_GRAPH_NODE_DESC(_Named):
    """A node that is an operator. Source: DML_OPERATOR_GRAPH_NODE_DESC (feature level 2_1)."""

    MEMBERS = (StructureMember("Operator", "OBJECT"), _NAME)
    __slots__ = ("Name", "Operator")


class DML_CONSTANT_DATA_GRAPH_NODE_DESC(_Named):
    """A node that is data, which is copied when the graph is compiled.

    ``DataSize`` is by default the size of Data in bytes. It must be the TotalTensorSizeInBytes of every tensor
    that the node feeds. Source: DML_CONSTANT_DATA_GRAPH_NODE_DESC in DirectML.h (feature level 6_2).
    """

    MEMBERS = (
        StructureMember("Data", "BUFFER"),
        StructureMember("DataSize", "SIZE_T", None, nullable=True),
        _NAME,
    )
    __slots__ = ("Data", "DataSize", "Name", "memory")

    def _check(self) -> None:
        memory = bytes_of(type(self).__name__, "Data", self.Data)
        object.__setattr__(self, "memory", memory)
        if self.DataSize is None:
            object.__setattr__(self, "DataSize", memory.nbytes)
        elif self.DataSize > memory.nbytes:
            what = f"DataSize is {self.DataSize}"
            refuse(type(self).__name__, what, f"{memory.nbytes} at most, the size of Data", member="DataSize")


class DML_INPUT_GRAPH_EDGE_DESC(_Named):
    """An edge from an input of the graph to an input of a node."""

    MEMBERS = _indices("GraphInputIndex", "ToNodeIndex", "ToNodeInputIndex")
    __slots__ = ("GraphInputIndex", "Name", "ToNodeIndex", "ToNodeInputIndex")


class DML_OUTPUT_GRAPH_EDGE_DESC(_Named):
    """An edge from an output of a node to an output of the graph."""

    MEMBERS = _indices("FromNodeIndex", "FromNodeOutputIndex", "GraphOutputIndex")
    __slots__ = ("FromNodeIndex", "FromNodeOutputIndex", "GraphOutputIndex", "Name")


class DML_INTERMEDIATE_GRAPH_EDGE_DESC(_Named):
    """An edge from an output of a node to an input of a node."""

    MEMBERS = _indices("FromNodeIndex", "FromNodeOutputIndex", "ToNodeIndex", "ToNodeInputIndex")
    __slots__ = ("FromNodeIndex", "FromNodeOutputIndex", "Name", "ToNodeIndex", "ToNodeInputIndex")


_NODE_TYPES = {
    DML_OPERATOR_GRAPH_NODE_DESC: DML_GRAPH_NODE_TYPE.OPERATOR,
    DML_CONSTANT_DATA_GRAPH_NODE_DESC: DML_GRAPH_NODE_TYPE.CONSTANT,
}
_EDGE_TYPES = {
    DML_INPUT_GRAPH_EDGE_DESC: DML_GRAPH_EDGE_TYPE.INPUT,
    DML_OUTPUT_GRAPH_EDGE_DESC: DML_GRAPH_EDGE_TYPE.OUTPUT,
    DML_INTERMEDIATE_GRAPH_EDGE_DESC: DML_GRAPH_EDGE_TYPE.INTERMEDIATE,
}
CONVERTERS["graph node"] = structures(*_NODE_TYPES)
CONVERTERS["graph edge"] = structures(*_EDGE_TYPES)


class DML_GRAPH_NODE_DESC(Structure):
    """A node with its type. Wherever this is wanted, the inner desc alone does as well."""

    MEMBERS = (StructureMember("Type", "DML_GRAPH_NODE_TYPE"), StructureMember("Desc", "graph node"))
    __slots__ = ("Desc", "Type")

    def _check(self) -> None:
        _check_type(self, _NODE_TYPES)


class DML_GRAPH_EDGE_DESC(Structure):
    """An edge with its type. Wherever this is wanted, the inner desc alone does as well."""

    MEMBERS = (StructureMember("Type", "DML_GRAPH_EDGE_TYPE"), StructureMember("Desc", "graph edge"))
    __slots__ = ("Desc", "Type")

    def _check(self) -> None:
        _check_type(self, _EDGE_TYPES)


def _check_type(desc: Structure, types: Mapping[Any, Any]) -> None:
    wanted = types[type(desc.Desc)]
    if desc.Type != wanted:
        what = f"Type is {desc.Type} for {described(desc.Desc)}"
        refuse(type(desc).__name__, what, str(wanted), member="Type")


def _inner(value: Any) -> Any:
    return value.Desc if isinstance(value, DML_GRAPH_NODE_DESC | DML_GRAPH_EDGE_DESC) else value


CONVERTERS["graph node[]"] = arrays(structures(*_NODE_TYPES, unwrap=_inner), "graph nodes")
for _kind in _EDGE_TYPES:
    CONVERTERS[f"{_kind.__name__}[]"] = arrays(structures(_kind, unwrap=_inner), "graph edges")


class DML_GRAPH_DESC(Structure):
    """A graph of operators and constants.

    Inputs and outputs of the graph are numbered, so are the nodes, by their places in ``Nodes``. The counts of
    nodes and edges are the lengths of their sequences. Source: DML_GRAPH_DESC (feature level 2_1).
    """

    MEMBERS = (
        StructureMember("InputCount", "UINT"),
        StructureMember("OutputCount", "UINT"),
        StructureMember("Nodes", "graph node[]"),
        StructureMember("InputEdges", "DML_INPUT_GRAPH_EDGE_DESC[]", ()),
        StructureMember("OutputEdges", "DML_OUTPUT_GRAPH_EDGE_DESC[]", ()),
        StructureMember("IntermediateEdges", "DML_INTERMEDIATE_GRAPH_EDGE_DESC[]", ()),
    )
    __slots__ = ("InputCount", "InputEdges", "IntermediateEdges", "Nodes", "OutputCount", "OutputEdges")


def compile_graph(device: Parent, level: int, graph: DML_GRAPH_DESC, flags: Any) -> CompiledOperator:
    """The compiled operator of a graph. It keeps nothing of the nodes' operators."""
    wiring = _Wiring(device, level, graph)
    order = wiring.order()
    number = {index: position for position, index in enumerate(order)}
    nodes = []
    for index in order:
        sources = {}
        for slot, source in wiring.sources[index].items():
            sources[slot] = (source.area, number[source.number] if source.area == "node" else source.number)
        nodes.append(single_node(wiring.operators[index], sources))
    inputs = wiring.inputs()
    owned = {index: slot.size for index, slot in inputs.items() if slot.is_owned}
    outputs = [number[index] for index in wiring.outputs]
    plan = make_plan(nodes, outputs, owned, wiring.constants, compiles=device.adapter is None)
    output_slots = [
        BindingSlot(name, wiring.operators[index].outputs[0].views)
        for index, name in zip(wiring.outputs, wiring.output_names, strict=True)
    ]
    title = f"a graph of {len(graph.Nodes)} nodes"
    made_by = _compile_parts, (device, level, wiring.parts(), graph.replace(Nodes=()), flags)
    return CompiledOperator(device, title, plan, inputs, graph.InputCount, output_slots, Hazards(), flags, made_by)


#: An operator's desc or a constant's data, and the name of the node.
_Part = tuple[OperatorDesc | np.ndarray, str | None]


def _compile_parts(
    device: Parent, level: int, parts: list[_Part], wires: DML_GRAPH_DESC, flags: Any
) -> CompiledOperator:
    """The compiled operator of a graph that has been accepted: of its nodes' parts and its edges."""
    nodes = [
        DML_OPERATOR_GRAPH_NODE_DESC(accepted_operator(device, part), Name=name)
        if isinstance(part, OperatorDesc)
        else DML_CONSTANT_DATA_GRAPH_NODE_DESC(part, Name=name)
        for part, name in parts
    ]
    return compile_graph(device, level, wires.replace(Nodes=nodes), flags)


class _EdgeSource(NamedTuple):
    area: str
    number: int


class _Wiring:
    """The edges of a graph. Making one checks everything but cycles, which `order` finds."""

    def __init__(self, device: Parent, level: int, graph: DML_GRAPH_DESC) -> None:
        if level < _FIRST_LEVEL:
            what = f"it needs {level_name(_FIRST_LEVEL)} or later, and the device has {level_name(level)}"
            refuse("IDMLDevice1::CompileGraph", what, "", 'Make a device with Device("2_1")')
        self.device = device
        self.level = level
        self.graph = graph
        self.operators: dict[int, Operator] = {}
        self.constants: list[np.ndarray] = []
        self._constant_of: dict[int, int] = {}
        for index, node in enumerate(graph.Nodes):
            self._add_node(index, node)
        if not self.operators:
            self._refuse("there is no operator node", "one operator node or more", "Nodes")
        self.sources: dict[int, dict[int, _EdgeSource]] = {index: {} for index in self.operators}
        self.used: set[int] = set()
        self._input_names: dict[int, str] = {}
        self._input_views: dict[int, list[Any]] = {}
        self._add_input_edges()
        self._add_intermediate_edges()
        self.outputs, self.output_names = self._output_sources()
        self._check_complete()

    def _refuse(self, what: str, allowed: str, member: str, way_out: str = "") -> NoReturn:
        refuse("DML_GRAPH_DESC", what, allowed, way_out, member=member)

    def _named(self, kind: str, index: int, desc: Structure) -> str:
        return f"{kind}[{index}]" + (f" {desc.Name!r}" if desc.Name else "")

    def _node(self, index: int) -> str:
        return self._named("Nodes", index, self.graph.Nodes[index])

    # ---- nodes

    def _add_node(self, index: int, node: Structure) -> None:
        name = self._node(index)
        if isinstance(node, DML_CONSTANT_DATA_GRAPH_NODE_DESC):
            if self.level < _FIRST_LEVEL_WITH_CONSTANTS:
                what = f"{name} is a constant, and the device has {level_name(self.level)}"
                self._refuse(what, f"constants at {level_name(_FIRST_LEVEL_WITH_CONSTANTS)} and later", name)
            self._constant_of[index] = len(self.constants)
            self.constants.append(node.memory[: node.DataSize].copy())
            return
        if not isinstance(node.Operator, Operator):
            what = f"{name}.Operator is {described(node.Operator)}"
            self._refuse(what, "operators that a device has created", name)
        self.device._require_own(f"DML_GRAPH_DESC: {name}", node.Operator)
        self.operators[index] = node.Operator

    # ---- edges

    def _check_index(self, edge: str, member: str, index: int, count: int) -> None:
        if index >= count:
            allowed = f"0 to {count - 1}" if count else "no edges like this"
            self._refuse(f"{edge}.{member} is {index}", allowed, f"{edge}.{member}")

    def _target(self, edge: str, desc: Structure) -> BindingSlot:
        """The input that an edge leads to, which nothing may feed yet."""
        self._check_index(edge, "ToNodeIndex", desc.ToNodeIndex, len(self.graph.Nodes))
        node = self._node(desc.ToNodeIndex)
        if desc.ToNodeIndex not in self.operators:
            self._refuse(f"{edge} leads to {node}, a constant", "edges to operators", f"{edge}.ToNodeIndex")
        slots = self.operators[desc.ToNodeIndex].inputs
        self._check_index(edge, "ToNodeInputIndex", desc.ToNodeInputIndex, len(slots))
        slot: BindingSlot = slots[desc.ToNodeInputIndex]
        if slot.is_absent:
            what = f"{edge} leads to {slot.name} of {node}, which its desc leaves out"
            self._refuse(what, "edges to tensors that are there", f"{edge}.ToNodeInputIndex")
        if desc.ToNodeInputIndex in self.sources[desc.ToNodeIndex]:
            what = f"{edge} is the second one that leads to {slot.name} of {node}"
            self._refuse(what, "one edge", f"{edge}.ToNodeInputIndex")
        return slot

    def _add_input_edges(self) -> None:
        for i, desc in enumerate(self.graph.InputEdges):
            edge = self._named("InputEdges", i, desc)
            self._check_index(edge, "GraphInputIndex", desc.GraphInputIndex, self.graph.InputCount)
            slot = self._target(edge, desc)
            views = self._input_views.setdefault(desc.GraphInputIndex, [])
            if views and views[0].is_owned != slot.is_owned:
                what = (
                    f"{edge} feeds {slot.name} of {self._node(desc.ToNodeIndex)} with other Flags than an edge before"
                )
                allowed = "DML_TENSOR_FLAG_OWNED_BY_DML on all tensors that an input feeds, or on none"
                self._refuse(what, allowed, f"{edge}.GraphInputIndex")
            views.append(slot.views[0])
            self._input_names.setdefault(desc.GraphInputIndex, desc.Name or f"input {desc.GraphInputIndex}")
            self.sources[desc.ToNodeIndex][desc.ToNodeInputIndex] = _EdgeSource("input", desc.GraphInputIndex)

    def _add_intermediate_edges(self) -> None:
        for i, desc in enumerate(self.graph.IntermediateEdges):
            edge = self._named("IntermediateEdges", i, desc)
            size, source = self._origin(edge, desc)
            slot = self._target(edge, desc)
            node = self._node(desc.ToNodeIndex)
            if slot.is_owned:
                what = f"{edge} leads to {slot.name} of {node}, which is owned by DirectML"
                self._refuse(what, "input edges to such tensors", f"{edge}.ToNodeInputIndex")
            if size != slot.size:
                what = f"{edge} leads from {size} bytes to {slot.name} of {node}, of {slot.size} bytes"
                self._refuse(what, "equal TotalTensorSizeInBytes at both ends", edge)
            self.sources[desc.ToNodeIndex][desc.ToNodeInputIndex] = source

    def _origin(self, edge: str, desc: Structure) -> tuple[int, _EdgeSource]:
        """The size and the source of the tensor that an edge comes from."""
        index = desc.FromNodeIndex
        self._check_index(edge, "FromNodeIndex", index, len(self.graph.Nodes))
        self._check_index(edge, "FromNodeOutputIndex", desc.FromNodeOutputIndex, 1)
        self.used.add(index)
        if index in self._constant_of:
            number = self._constant_of[index]
            return self.constants[number].nbytes, _EdgeSource("constant", number)
        return self.operators[index].outputs[0].size, _EdgeSource("node", index)

    def _output_sources(self) -> tuple[list[int], list[str]]:
        """For each output of the graph the node that it comes from, and its name."""
        found: dict[int, tuple[int, str]] = {}
        for i, desc in enumerate(self.graph.OutputEdges):
            edge = self._named("OutputEdges", i, desc)
            self._check_index(edge, "GraphOutputIndex", desc.GraphOutputIndex, self.graph.OutputCount)
            _, source = self._origin(edge, desc)
            if source.area != "node":
                what = f"{edge} comes from {self._node(desc.FromNodeIndex)}, a constant"
                self._refuse(what, "outputs of operators", f"{edge}.FromNodeIndex", "Put an IDENTITY between")
            if desc.GraphOutputIndex in found:
                what = f"{edge} is the second one for graph output {desc.GraphOutputIndex}"
                self._refuse(what, "one edge", f"{edge}.GraphOutputIndex")
            found[desc.GraphOutputIndex] = (source.number, desc.Name or f"output {desc.GraphOutputIndex}")
        if len(found) != self.graph.OutputCount or not found:
            missing = next((i for i in range(len(found) + 1) if i not in found), 0)
            what = f"OutputCount is {self.graph.OutputCount}, and no edge leads to graph output {missing}"
            self._refuse(what, "one edge or more, to every output", "OutputCount")
        ordered = [found[i] for i in range(len(found))]
        return [node for node, _ in ordered], [name for _, name in ordered]

    def _check_complete(self) -> None:
        for index, operator in self.operators.items():
            for position, slot in enumerate(operator.inputs):
                if not slot.is_absent and position not in self.sources[index]:
                    what = f"no edge leads to {slot.name} of {self._node(index)}"
                    self._refuse(what, "an edge to every tensor that is there", "InputEdges")
        for index in range(len(self.graph.Nodes)):
            if index not in self.used:
                what = f"no edge comes from {self._node(index)}"
                self._refuse(what, "an edge from every node", "IntermediateEdges")

    # ---- results

    def parts(self) -> list[_Part]:
        """The parts of the nodes: descs of operators, and the copies of constants."""
        return [
            (self.operators[i].desc if i in self.operators else self.constants[self._constant_of[i]], node.Name)
            for i, node in enumerate(self.graph.Nodes)
        ]

    def inputs(self) -> dict[int, BindingSlot]:
        """The inputs that feed something."""
        return {
            index: BindingSlot(self._input_names[index], tuple(views))
            for index, views in sorted(self._input_views.items())
        }

    def order(self) -> Sequence[int]:
        """The operator nodes, each after those that feed it."""
        sorter = TopologicalSorter[int](dict.fromkeys(self.sources, ()))
        for index, sources in self.sources.items():
            sorter.add(index, *(source.number for source in sources.values() if source.area == "node"))
        try:
            ordered = list(sorter.static_order())
        except CycleError as error:
            cycle = error.args[1]
            shown = " -> ".join(map(self._node, cycle[:8])) + (" -> ..." if len(cycle) > 8 else "")
            self._refuse(f"the edges make a cycle: {shown}", "graphs without cycles", "IntermediateEdges")
        return ordered
