"""Models that ONNX Runtime computes with Ogive's kernels: groups of element-wise nodes, and of the softmax of their results, as one
custom operator each.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

import ogive.onnx
from ogive.catalog import OPERATORS
from ogive.contracts import checked
from ogive.errors import OgiveError
from ogive.exporting.one_kernel_models import source_of_model
from ogive.exporting.sources import ExportSource
from ogive.onnx.loading import read_whole_model
from ogive.onnxruntime.custom_operators import DOMAIN, CustomOperator, build
from ogive.onnxruntime.groups import MOVES, neighbours

__all__ = ["Replaced", "replace"]

#: Nodes over the rows of a tensor that leave its shape as it is, along one axis since version 13 of the operators.
_OVER_ROWS = frozenset(op.onnx for op in OPERATORS.values() if op.is_row_wise and op.onnx)
_ALONG_ONE_AXIS = 13

#: Before this version of the format, initialisers are inputs as well.
_INITIALISERS_ALONE = 4

#: Nodes whose results have an element for each of the operands'.
_OF_ELEMENTS = frozenset(op.onnx for op in OPERATORS.values() if not op.is_row_wise and op.onnx)


@dataclass(frozen=True)
class Replaced:
    """What `replace` has made."""

    model: ModelProto
    """The model with Ogive's operators."""
    library: Path | None
    """The library that it needs; None where nothing was replaced."""
    nodes: int
    """How many nodes were replaced."""
    groups: int
    """By how many."""

    def session(self, options: Any = None, **more: Any) -> Any:
        """A session of ONNX Runtime with the library; ``options`` are its SessionOptions, the rest goes to the session."""
        import onnxruntime

        options = options or onnxruntime.SessionOptions()
        if self.library is not None:
            options.register_custom_ops_library(str(self.library))
        more.setdefault("providers", ["CPUExecutionProvider"])
        return onnxruntime.InferenceSession(self.model.SerializeToString(), options, **more)


def replace(
    model: ModelProto | str | os.PathLike[str],
    library: str | os.PathLike[str],
    *,
    processor: str | None = None,
    accuracy: str | None = None,
    rows: bool = False,
) -> Replaced:
    """Put operators of Ogive in the place of the element-wise nodes of a model, and build the library that they need.

    Neighbouring nodes become one operator, where they are one kernel of Ogive. With ``rows`` so does Softmax, LogSoftmax or
    Hardmax along the last axis, with element-wise nodes beside it whose operands have its shape: correctly rounded, in about
    twice the time of ONNX Runtime's own. The results have the bits of
    ``ogive.onnx.load(model)`` in the nodes that were replaced; all others are ONNX Runtime's, unchanged.
    ``library`` is where the library is written; ``processor`` is what it may count on (x86-64-v3), ``accuracy`` is the contract:
    exact or fast. Element types that ONNX Runtime
    has no kernels for (bfloat16, and float64 of many operators) work where all their nodes are replaced.

    >>> made = ogive.onnxruntime.replace("model.onnx", "model.so")  # doctest: +SKIP
    >>> made.session().run(None, {"x": x})  # doctest: +SKIP
    """
    checked("ogive.onnxruntime.replace", accuracy)
    given = _without_constant_nodes(read_whole_model(model)[0])
    result = ModelProto()
    result.CopyFrom(given)
    known = _types(given)
    made: dict[str, CustomOperator] = {}
    operators: list[tuple[list[int], NodeProto]] = []
    for places in _groups(given, known):
        for part in _computable(given, places, known, accuracy, rows=rows):
            found = _operator(given, *part)
            made.setdefault(found[0].name, found[0])
            operators.append((part[0], found[1]))
    if not operators:
        return Replaced(result, None, 0, 0)
    gone = {place for places, _ in operators for place in places}
    nodes = [node for place, node in enumerate(given.graph.node) if place not in gone]
    nodes = _ordered([*nodes, *(node for _, node in operators)], given)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    path = build(Path(library), list(made.values()), processor)
    return Replaced(result, path, len(gone), len(operators))


def _without_constant_nodes(model: ModelProto) -> ModelProto:
    """The model with numbers that nodes have made as initialisers: groups may hold those."""
    result = ModelProto()
    result.CopyFrom(model)
    if model.ir_version < _INITIALISERS_ALONE:
        return result
    del result.graph.node[:]
    for node in model.graph.node:
        found = [_value(attribute) for attribute in node.attribute] if node.op_type == "Constant" else []
        if len(found) == 1 and found[0] is not None:
            found[0].name = node.output[0]
            result.graph.initializer.append(found[0])
        else:
            result.graph.node.append(node)
    return result


def _value(attribute: onnx.AttributeProto) -> onnx.TensorProto | None:
    """What a node Constant makes of an attribute; None of texts and what is sparse."""
    if attribute.name == "value":
        tensor = onnx.TensorProto()
        tensor.CopyFrom(attribute.t)
        return tensor
    kinds = {"float": np.float32, "floats": np.float32, "int": np.int64, "ints": np.int64}
    kind = kinds.get(attribute.name.removeprefix("value_"))
    return None if kind is None else numpy_helper.from_array(np.asarray(helper.get_attribute_value(attribute), kind))


def _types(model: ModelProto) -> dict[str, Any]:
    """What is known of each value: its declaration, or an initialiser's."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError:
        inferred = model
    graph = inferred.graph
    found = {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}
    for tensor in graph.initializer:
        found.setdefault(tensor.name, helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return {
        name: info
        for name, info in found.items()
        if info.type.tensor_type.elem_type and info.type.tensor_type.HasField("shape")
    }


def _groups(model: ModelProto, known: Mapping[str, Any]) -> list[list[int]]:
    """Groups of neighbouring nodes that Ogive may compute in one go."""
    rows = {row.operator for row in ogive.onnx.supported()}

    def is_candidate(node: NodeProto) -> bool:
        reads = [name for name in node.input if name]
        return (
            node.domain in ("", "ai.onnx")
            and node.op_type in rows
            and bool(reads)
            and not any(attribute.HasField("g") for attribute in node.attribute)
            and all(name in known for name in (*reads, *node.output))
        )

    return neighbours(model.graph.node, is_candidate)


Part = tuple[list[int], ExportSource, list[str], list[str]]


def _computable(
    model: ModelProto, places: Sequence[int], known: Mapping[str, Any], accuracy: str | None, *, rows: bool
) -> Iterable[Part]:
    """The longest beginning of a group that is one kernel, and the same of what is left."""
    rest = list(places)
    while rest:
        for count in range(len(rest), 0, -1):
            part = rest[:count]
            if all(model.graph.node[place].op_type in MOVES for place in part):
                continue
            found = _source(model, part, known, accuracy, rows=rows)
            if found is not None:
                yield part, *found
                rest = rest[count:]
                break
        else:
            rest = rest[1:]


def _source(
    model: ModelProto, places: Sequence[int], known: Mapping[str, Any], accuracy: str | None, *, rows: bool
) -> tuple[ExportSource, list[str], list[str]] | None:
    """The function of these nodes, and the names of what it reads and writes; None where they are not one kernel."""
    graph = model.graph
    nodes = [graph.node[place] for place in places]
    inside = {name for node in nodes for name in node.output if name}
    reads = list(dict.fromkeys(name for node in nodes for name in node.input if name and name not in inside))
    chosen = set(places)
    wanted = {name for place, node in enumerate(graph.node) if place not in chosen for name in node.input}
    wanted |= {info.name for info in graph.output}
    writes = [name for node in nodes for name in node.output if name in wanted]
    constants = [t for t in graph.initializer if t.name in reads and all(size == 1 for size in t.dims)]
    fixed = {tensor.name for tensor in constants}
    inputs = [known[name] for name in reads if name not in fixed]
    if not writes or not inputs:
        return None
    small = helper.make_graph(nodes, "group", inputs, [known[name] for name in writes], constants)
    part = helper.make_model(small, opset_imports=model.opset_import)
    part.ir_version = model.ir_version
    try:
        source = source_of_model(ogive.onnx.load(part, accuracy=accuracy), "ogive_group")
    except OgiveError:
        return None
    operands, is_row_wise = source.interface.operands, source.interface.is_row_wise
    if len(operands) != len(inputs) + len(writes):
        return None
    if is_row_wise and not (
        rows and _version(model) >= _ALONG_ONE_AXIS and all(_keeps_rows(node, known) for node in nodes)
    ):
        return None
    names = [info.name for info in inputs]
    shapes = [_shape(known[name]) for name in (*writes, *(names if is_row_wise else ()))]
    if any(shape != shapes[0] for shape in shapes):
        return None
    return source, names, writes


def _version(model: ModelProto) -> int:
    return max((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), default=1)


def _keeps_rows(node: NodeProto, known: Mapping[str, Any]) -> bool:
    """Whether a node is over elements, or over rows along the last axis."""
    if node.op_type not in _OVER_ROWS:
        return node.op_type in _OF_ELEMENTS
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), -1)
    return axis in (-1, len(_shape(known[node.input[0]])) - 1)


def _shape(info: Any) -> list[int | str]:
    return [_size(dimension) for dimension in info.type.tensor_type.shape.dim]


def _size(dimension: Any) -> int | str:
    return int(dimension.dim_value) if dimension.HasField("dim_value") else str(dimension.dim_param)


def _operator(
    model: ModelProto, places: Sequence[int], source: ExportSource, reads: Sequence[str], writes: Sequence[str]
) -> tuple[CustomOperator, NodeProto]:
    """The operator, whose name says what it computes, and the node."""
    interface = source.interface
    identity = f"{source.computation.identity}\n{interface.constants}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    words = "_".join(model.graph.node[place].op_type for place in places[:4])
    name = f"{words}_{digest}"
    named = with_changes(source, interface=with_changes(interface, name=f"ogive_group_{digest}"))
    node = helper.make_node(name, list(reads), list(writes), domain=DOMAIN, name=f"ogive_{writes[0]}")
    return CustomOperator(name, (named,)), node


def _ordered(nodes: Sequence[NodeProto], model: ModelProto) -> list[NodeProto]:
    """The nodes, each behind those whose results it reads."""
    made = {name for node in nodes for name in node.output if name}
    done: set[str] = set()
    left = list(nodes)
    ordered: list[NodeProto] = []
    while left:
        ready = [node for node in left if all(name in done or name not in made for name in _reads(node))]
        assert ready, model.graph.name
        ordered += ready
        done |= {name for node in ready for name in node.output}
        chosen = set(map(id, ready))
        left = [node for node in left if id(node) not in chosen]
    return ordered


def _reads(node: NodeProto) -> set[str]:
    """What a node reads, also what its bodies read."""
    names = set(node.input) - {""}
    for attribute in node.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            inner = {name for each in graph.node for name in each.output}
            names |= {name for each in graph.node for name in _reads(each)} - inner
    return names
