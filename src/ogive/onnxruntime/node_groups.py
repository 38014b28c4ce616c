"""Fusion groups: the nodes of a model that one kernel of Ogive computes, each group as a custom operator of ONNX Runtime."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper

import ogive.onnx
from ogive.engine.fusion import FusionGroup
from ogive.engine.fusion_groups import Vertex, fusion_groups
from ogive.engine.rows import RowFused, rows_under
from ogive.errors import OgiveError
from ogive.exporting.one_kernel_models import source_of_model
from ogive.exporting.sources import ExportSource
from ogive.onnx.declarations import infer_shapes
from ogive.onnx.inner_graphs import reads_of
from ogive.onnx.loading import survey
from ogive.onnx.outline import outline
from ogive.onnx.reading import in_order
from ogive.onnx.tracing import trace
from ogive.onnxruntime.custom_operators import DOMAIN, CustomOperator

#: An initialiser of so few elements may say how something is computed: axes, a scale. Fusion groups have it inside.
MOST_INSIDE = 16

#: The size of an axis of which a model says none.
ANY_SIZE = 4

#: How many bytes the values of a group may have while it is looked at.
MEMORY = 1 << 33


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that one custom operator stands for."""

    places: tuple[int, ...]
    """The positions of its nodes, in the model."""
    operators: tuple[str, ...]
    """Their kinds."""
    custom: CustomOperator
    node: NodeProto
    """The node that takes their place."""
    part: ModelProto
    """The nodes as a model of their own."""

    @property
    def weight(self) -> int:
        """How many nodes of ONNX's own it stands for: an operator that ONNX Runtime has fused counts as two."""
        return sum(1 + (operator in FUSED) for operator in self.operators)


#: Operators that ONNX Runtime writes in the place of several.
FUSED = frozenset(
    {"BiasGelu", "BiasSoftmax", "FastGelu", "QuickGelu", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}
)


class ModelWiring:
    """The nodes that make and read the values of a model, and what is known of them."""

    def __init__(self, model: ModelProto) -> None:
        graph = model.graph
        self.model = model
        self.nodes = list(graph.node)
        self.results = {info.name for info in graph.output}
        self.initialisers = {tensor.name: tensor for tensor in graph.initializer}
        self.producer = {name: place for place, node in enumerate(self.nodes) for name in node.output if name}
        self.readers: dict[str, list[int]] = {}
        for place, node in enumerate(self.nodes):
            for name in reads_of(node):
                self.readers.setdefault(name, []).append(place)
        self.known = _types(model)

    def before(self, places: Collection[int]) -> Counter[str]:
        """The kinds of the nodes that these read."""
        made = {self.producer[n] for place in places for n in self.nodes[place].input if n in self.producer}
        return Counter(self.nodes[place].op_type for place in made - set(places))

    def behind(self, places: Collection[int]) -> Counter[str]:
        """The kinds of the nodes that read these."""
        users = {user for place in places for name in self.nodes[place].output for user in self.readers.get(name, ())}
        return Counter(self.nodes[place].op_type for place in users - set(places))

    def part(self, places: Sequence[int]) -> tuple[ModelProto, dict[str, str]]:
        """These nodes as a model whose values are called by their order alone, and what the wiring calls them."""
        nodes = [self.nodes[place] for place in places]
        chosen, made = set(places), {name for node in nodes for name in node.output}
        names: dict[str, str] = {}
        for node in nodes:
            for name in (*node.input, *node.output):
                if name:
                    names.setdefault(name, f"v{len(names)}")
        reads = [name for name in names if name not in made]
        inside = [self.initialisers[name] for name in reads if self._is_inside(name)]
        fixed = {tensor.name for tensor in inside}
        writes = [
            name
            for node in nodes
            for name in node.output
            if name and (name in self.results or not chosen.issuperset(self.readers.get(name, ())))
        ]
        between = made.difference(writes)
        graph = helper.make_graph(
            [_renamed(node, names) for node in nodes],
            "part",
            [_info(self.known[name], names) for name in reads if name not in fixed],
            [_info(self.known[name], names) for name in writes],
            [_tensor(tensor, names) for tensor in inside],
            value_info=[_info(self.known[name], names) for name in names if name in self.known and name in between],
        )
        model = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        return model, {short: name for name, short in names.items()}

    def _is_inside(self, name: str) -> bool:
        tensor = self.initialisers.get(name)
        if tensor is None:
            return False
        size = int(np.prod(tensor.dims))
        return size == 1 or (tensor.data_type == TensorProto.INT64 and size <= MOST_INSIDE)


def _renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    made = NodeProto()
    made.CopyFrom(node)
    made.ClearField("name")
    made.ClearField("doc_string")
    made.input[:] = [names.get(name, "") for name in node.input]
    made.output[:] = [names.get(name, "") for name in node.output]
    return made


def _info(info: Any, names: Mapping[str, str]) -> Any:
    made = onnx.ValueInfoProto()
    made.type.CopyFrom(info.type)
    made.name = names[info.name]
    return made


def _tensor(tensor: TensorProto, names: Mapping[str, str]) -> TensorProto:
    made = TensorProto()
    made.CopyFrom(tensor)
    made.name = names[tensor.name]
    return made


def _types(model: ModelProto) -> dict[str, Any]:
    """The known facts about each value: its declaration, or an initialiser's; those without a shape are left out."""
    try:
        inferred = infer_shapes(model)
    except Exception:  # it fails on much that is valid, with errors of several kinds
        inferred = model
    graph = inferred.graph
    found = {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}
    for tensor in graph.initializer:
        found[tensor.name] = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
    return {
        name: info
        for name, info in found.items()
        if info.type.tensor_type.elem_type and info.type.tensor_type.HasField("shape")
    }


# ---- finding

#: The places of nodes, what computes them, and the names of what they read and write.
_Kernel = tuple[tuple[int, ...], ExportSource, list[str], list[str]]


def find_groups(wiring: ModelWiring, accuracy: str) -> list[NodeGroup]:
    """All groups of a model. Every group of neighbours is loaded once, and so is every group; equal ones are loaded once."""
    known: dict[bytes, list[_Kernel]] = {}
    found = []
    for group in _connected(wiring):
        part, names = wiring.part(group)
        key = part.SerializeToString(deterministic=True)
        if key not in known:
            known[key] = list(_kernels(part, accuracy))
        for places, source, reads, writes in known[key]:
            own = [group[place] for place in places]
            found.append(_group(wiring, own, source, [names[n] for n in reads], [names[n] for n in writes]))
    return found


def _connected(wiring: ModelWiring) -> list[list[int]]:
    """Nodes that Ogive computes and that are connected; no path leads out of a group and back in."""
    taken = survey(wiring.model, None, "model").kernels
    vertices = []
    for place, node in enumerate(wiring.nodes):
        names = [name for name in (*node.input, *node.output) if name]
        is_candidate = place in taken and any(node.input) and all(name in wiring.known for name in names)
        before = {wiring.producer[name] for name in reads_of(node) if name in wiring.producer}
        vertices.append(Vertex("taken" if is_candidate else None, tuple((p, True) for p in sorted(before)), (), 1))
    groups = fusion_groups(vertices, len(vertices))
    return [group for group in groups if vertices[group[0]].space]


def _kernels(part: ModelProto, accuracy: str) -> Iterable[_Kernel]:
    """The kernels of a group."""
    wiring = ModelWiring(part)
    try:
        parts = [sorted(places) for places in _traced(wiring, accuracy)]
    except OgiveError:
        parts = [[place] for place in range(len(wiring.nodes))]
    for places in parts:
        small, names = wiring.part(places)
        source = _source(small, accuracy)
        if source is not None:
            reads, writes = ([names[info.name] for info in side] for side in (small.graph.input, small.graph.output))
            yield tuple(places), source, reads, writes


def _traced(wiring: ModelWiring, accuracy: str) -> Iterable[set[int]]:
    """The nodes of each kernel, as the engine fuses them."""
    model = ogive.onnx.load(wiring.model, accuracy=accuracy)
    graph = model._graph
    given = {info.name: np.ones(_sizes(info.shape or ()), info.dtype) for info in graph.inputs}
    _, record = trace(outline(graph, model.output_names, fuse=True), given, MEMORY)
    for call in record.calls:
        if call.group is not None:
            yield set(_between(wiring, call.group, graph.names))


def _sizes(shape: Iterable[Any]) -> list[int]:
    return [size if isinstance(size, int) else ANY_SIZE for size in shape]


def _between(wiring: ModelWiring, group: FusionGroup, names: Mapping[str, str]) -> Iterable[int]:
    """The places of the nodes from a kernel's inputs to its outputs."""

    def name_of(value: Any) -> str:
        plain = str(value.array).partition("\0")[0]
        return names.get(plain, plain)

    ends = {name_of(value) for value in group.inputs}
    pending, seen = [name_of(value) for value in group.outputs], set[int]()
    while pending:
        place = wiring.producer.get(pending.pop())
        if place is not None and place not in seen:
            seen.add(place)
            yield place
            pending += [name for name in wiring.nodes[place].input if name and name not in ends]


def _source(part: ModelProto, accuracy: str) -> ExportSource | None:
    """The function of a model; None where it is not one kernel that a custom operator can run."""
    if not part.graph.input or not part.graph.output:
        return None
    try:
        source = source_of_model(ogive.onnx.load(part, accuracy=accuracy), "ogive_group")
    except OgiveError:
        return None
    if isinstance(source.computation, RowFused):
        computation = rows_under(source.computation, accuracy)
        interface = with_changes(source.interface, program=computation.program)
        source = with_changes(source, computation=computation, interface=interface)
    operands = source.interface.operands
    inputs, outputs = list(part.graph.input), list(part.graph.output)
    if len(operands) != len(inputs) + len(outputs):
        return None
    shapes = [_shape(info) for info in (*inputs, *outputs)]
    of_elements = [shape for shape, operand in zip(shapes, operands, strict=True) if not operand.of_row]
    full = of_elements[-1] if not operands[-1].of_row else max(of_elements, key=len)  # outputs come last
    for shape, operand in zip(shapes, operands, strict=True):
        if operand.of_row and (not shape or shape[-1] != 1):
            return None
        if not operand.is_input and shape != ([*full[:-1], 1] if operand.of_row else full):
            return None
    if source.interface.is_row_wise and any(not shape or shape[-1] != full[-1] for shape in of_elements):
        return None
    return source


def _shape(info: Any) -> list[int | str]:
    return [_size(dimension) for dimension in info.type.tensor_type.shape.dim]


def _size(dimension: Any) -> int | str:
    return int(dimension.dim_value) if dimension.HasField("dim_value") else str(dimension.dim_param)


def _group(
    wiring: ModelWiring, places: Sequence[int], source: ExportSource, reads: Sequence[str], writes: Sequence[str]
) -> NodeGroup:
    interface = source.interface
    identity = f"{source.computation.identity}\n{interface.constants}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    operators = tuple(wiring.nodes[place].op_type for place in places)
    name = f"{'_'.join(operators[:4])}_{digest}"
    named = with_changes(source, interface=with_changes(interface, name=f"ogive_group_{digest}"))
    node = helper.make_node(name, list(reads), list(writes), domain=DOMAIN, name=f"ogive_{writes[0]}")
    return NodeGroup(tuple(places), operators, CustomOperator(name, (named,)), node, wiring.part(places)[0])


# ---- models with them


def without(model: ModelProto, groups: Sequence[NodeGroup]) -> ModelProto:
    """The model with custom operators in the place of the groups' nodes."""
    result = ModelProto()
    result.CopyFrom(model)
    if not groups:
        return result
    gone = {place for group in groups for place in group.places}
    left = [node for place, node in enumerate(model.graph.node) if place not in gone]
    del result.graph.node[:]
    result.graph.node.extend([*left, *(group.node for group in groups)])
    result.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    read = {name for node in result.graph.node for name in reads_of(node)}
    read |= {info.name for info in (*model.graph.input, *model.graph.output)}
    kept = [tensor for tensor in model.graph.initializer if tensor.name in read]  # others are in the kernels' code
    del result.graph.initializer[:]
    result.graph.initializer.extend(kept)
    return in_order(result)
