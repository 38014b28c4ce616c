"""From an ONNX model to a checked graph. Everything wrong with a model is found here, before anything runs.

The order of the checks is that of the file: the model, the opsets, the functions, then the graph from its
inputs to its outputs. Functions are put in the place of the nodes that call them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from ogive.catalog.standards import row_of
from ogive.engine.computation import under
from ogive.engine.movement import LARGEST_RANK
from ogive.errors import ArgumentError, ModelError, UnsupportedError, described, message, suggestion
from ogive.onnx import schemas
from ogive.onnx.bodies import MICROSOFT, FunctionKey, body_of, bound_node, call_attributes, functions_of, key_of
from ogive.onnx.bodies import normal_domain as domain_of
from ogive.onnx.checked_graph import CheckedGraph, CheckedStep, Shape, ValueInfo
from ogive.onnx.composed import COMPOSED
from ogive.onnx.conditions import decided
from ogive.onnx.data_types import DATA_TYPES, data_type_of, type_of_proto
from ogive.onnx.dispatch import node_computations
from ogive.onnx.elementwise import VARIADIC, from_catalogue
from ogive.onnx.files import Home, opened
from ogive.onnx.gradient_nodes import GRADIENTS, gradient_node
from ogive.onnx.inference import infer_shapes
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ArrangedRows, Constant, ElementwiseNode, NodeComputation, SameValue
from ogive.onnx.node_order import in_order
from ogive.onnx.tensors import array_from, take_in

__all__ = ["graph_of", "grouped", "inferred_types", "read_model", "read_whole_model", "survey", "without_data"]

#: Functions may call functions; a small file could stand for more nodes than there are atoms. Each node costs about
#: 1 ms until it has run once.
MOST_EXPANDED_NODES = 10_000
DEEPEST_CALL = 64

#: The bodies of functions may have this many bytes in all calls together, besides those that the file itself has.
MOST_EXPANDED_BYTES = 1 << 26

#: Before this version of the format, initialisers are inputs as well, and constants.
SEPARATE_INITIALISERS = 4

#: From this version of operators on, shapes alone say how operands are broadcast.
BROADCASTS_BY_RULE = 7

#: A message shows of a name about this much.
MOST_SHOWN = 80

#: A kernel has at most 64 operands. Operators with any number of inputs are split from here on.
MOST_INPUTS = 32


#: The form that a file has to have, and where a value has to come from.
_WANTED = "what onnx.save writes"
_BRANCHES = "the attributes then_branch and else_branch, both graphs"
_COMPUTED = "inputs, initialisers and outputs of earlier nodes"


def read_model(source: str | os.PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, Home | None, str]:
    """The model, where its data may lie, and how messages call it. A negative size of an axis, or one named "?", is any size.

    Nodes that are not in order are sorted.
    """
    if isinstance(source, ModelProto):
        return in_order(_with_open_sizes(source)), None, "model"
    if isinstance(source, bytes | bytearray | memoryview):
        return in_order(_with_open_sizes(_parsed(bytes(source), "model"))), None, "model"
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            message("ogive.onnx.load", f"the model is {described(source)}", "a path, bytes, an onnx.ModelProto")
        )
    path = Path(source)
    found = opened(path)
    if found is None:
        raise ModelError(message(str(path), "it is not a regular file", "files on disk"))
    with found[0] as file:
        data = file.read()
    return in_order(_with_open_sizes(_parsed(data, path.name))), Home.of(path), path.name


def read_whole_model(source: str | os.PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, Home | None, str]:
    """The same, with the data that lies in other files in the model itself."""
    model, home, subject = read_model(source)
    for tensor in _tensors(model.graph):
        if tensor.data_location == TensorProto.EXTERNAL:
            take_in(tensor, home, f"initialiser {tensor.name!r}")
    return model, home, subject


def _tensors(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    """The tensors of a graph and of the graphs inside of it."""
    graphs = [graph]
    while graphs:
        graph = graphs.pop()
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                yield from (*((attribute.t,) if attribute.HasField("t") else ()), *attribute.tensors)
                graphs += [*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs]


def _with_open_sizes(model: ModelProto) -> ModelProto:
    """The model without negative sizes of axes, and sizes named "?", by which older exporters mean any size."""
    if not any(map(_is_open, _declared_axes(model.graph))):
        return model
    changed = ModelProto()
    changed.CopyFrom(model)
    for dim in _declared_axes(changed.graph):
        if _is_open(dim):
            dim.ClearField("value")
    return changed


def _is_open(dim: Any) -> bool:
    return bool(dim.dim_value < 0 or dim.dim_param == "?")


def _declared_axes(graph: onnx.GraphProto) -> Iterator[Any]:
    """The axes that a graph and the graphs inside of it declare."""
    graphs = [graph]
    while graphs:
        graph = graphs.pop()
        for info in (*graph.input, *graph.output, *graph.value_info):
            yield from _axes_of(info.type)
        for node in graph.node:
            for attribute in node.attribute:
                graphs += [*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs]


def _axes_of(kind: Any) -> Iterator[Any]:
    while True:
        field = kind.WhichOneof("value")
        if field in ("tensor_type", "sparse_tensor_type"):
            yield from getattr(kind, field).shape.dim
        if field not in ("sequence_type", "optional_type", "map_type"):
            return
        inner = getattr(kind, field)
        kind = inner.value_type if field == "map_type" else inner.elem_type


def _check_text(model: ModelProto, subject: str) -> None:
    """Refuse names that are not UTF-8, which protobuf hands over as bytes."""
    waiting: list[Any] = [model]
    while waiting:
        current = waiting.pop()
        for declared, value in current.ListFields():
            if declared.type == declared.TYPE_STRING:
                for text in (value,) if isinstance(value, str | bytes) else value:
                    if isinstance(text, bytes):
                        what = f"a {declared.name} in a {current.DESCRIPTOR.name} is not UTF-8: {text[:60]!r}"
                        raise ModelError(message(subject, what, "text in UTF-8"))
            elif declared.type == declared.TYPE_MESSAGE:
                waiting.extend((value,) if hasattr(value, "ListFields") else value)


@contextmanager
def memory_for_messages() -> Iterator[None]:
    """Raise MemoryError where protobuf has no memory, which it calls a damaged message, or nothing at all."""
    try:
        yield
    except (DecodeError, SystemError) as error:
        if isinstance(error, SystemError) or "alloc failed" in str(error):
            raise MemoryError("there is no memory for a message of protobuf") from error
        raise


def _parsed(data: bytes, subject: str) -> ModelProto:
    model = ModelProto()
    try:
        with memory_for_messages():
            model.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(message(subject, "it is not an ONNX model, or damaged", _WANTED)) from error
    return model


def graph_of(
    model: ModelProto,
    home: Home | None,
    subject: str,
    *,
    node_limit: int = MOST_EXPANDED_NODES,
    initialisers: dict[str, np.ndarray] | None = None,
    accuracy: str = "exact",
) -> CheckedGraph:
    """The model as a checked graph. ``node_limit`` is how many nodes functions may stand for. ``accuracy`` is the
    contract of element-wise nodes.

    ``initialisers`` are given if the model is without their data.
    """
    if not model.HasField("graph"):
        raise ModelError(message(subject, "it is not an ONNX model, or damaged: there is no graph", _WANTED))
    if not 1 <= model.ir_version <= onnx.IR_VERSION:
        what, allowed = f"its ir_version is {model.ir_version}", f"1 to {onnx.IR_VERSION}"
        if model.ir_version < 1:
            raise ModelError(message(subject, what, allowed))
        raise UnsupportedError(message(subject, what, allowed, "Install a newer onnx for newer versions"))
    _check_text(model, subject)
    opsets = _opsets(model, subject)
    builder = _Builder(home, functions_of(model.functions, subject), node_limit, accuracy)
    return builder.build(model, opsets, subject, initialisers)


def without_data(model: ModelProto) -> ModelProto:
    """A copy of the model whose initialisers have names and nothing else."""
    light = ModelProto()
    _copy_fields(model, light, "graph")
    _copy_fields(model.graph, light.graph, "initializer")
    for tensor in model.graph.initializer:
        light.graph.initializer.add(name=tensor.name)
    return light


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    for declared, value in source.ListFields():
        if declared.name == left_out:
            continue
        if hasattr(value, "MergeFrom"):  # a message, or a sequence
            getattr(target, declared.name).MergeFrom(value)
        else:
            setattr(target, declared.name, value)


def _opsets(model: ModelProto | FunctionProto, subject: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in model.opset_import:
        domain = domain_of(entry.domain)
        if found.setdefault(domain, entry.version) != entry.version:
            raise ModelError(
                message(
                    subject, f"it imports {domain!r} twice: {found[domain]} and {entry.version}", "one version of each"
                )
            )
    if not found and isinstance(model, ModelProto) and model.ir_version < 3:
        found[""] = 1  # the standard had no opsets yet
    if "" in found:
        schemas.check_opset(found[""], subject)
    return found


@dataclass
class _Scope:
    """Where names mean something: the main graph, or one call of a function."""

    opsets: dict[str, int]
    values: dict[str, str | None] = field(default_factory=dict)
    """Names here -> names in the graph that is being built; None for inputs that a call leaves out."""
    attributes: dict[str, AttributeProto | None] | None = None
    """The values that a call gives the function's attributes; None in the main graph."""
    calls: tuple[FunctionKey, ...] = ()


class _NotChecked(Exception):
    """A node depends on a refused one, and on the type that it would have."""


@dataclass(frozen=True)
class Survey:
    """The computation of the nodes of a model's main graph, all of them."""

    refusals: dict[int, UnsupportedError]
    """Why it does not take nodes, by their places; empty if it takes all of them."""
    types: dict[str, str]
    """The types of values, by their names, as far as they are known."""
    conditions: dict[str, bool]
    """Values that decide a branch, and are the same in every run."""
    kernels: frozenset[int]
    """The places of nodes that kernels compute, element by element or row by row."""


def survey(model: ModelProto, home: Home | None, subject: str) -> Survey:
    """Check all nodes of a model, those behind refused ones too. Raises ModelError for a damaged one."""
    builder = _Builder(home, functions_of(model.functions, subject), MOST_EXPANDED_NODES, "exact", collects=True)
    builder.build(model, _opsets(model, subject), subject, None)
    assert builder.outermost is not None
    values = builder.outermost.values.items()
    types = {name: builder.graph.types[value] for name, value in values if value and builder.graph.types[value]}
    return Survey(builder.refusals, types, builder.conditions, frozenset(builder.kernels))


def grouped(reasons: Iterable[str]) -> list[str]:
    """Reasons that differ by names alone as one, with the number of the others."""
    groups: dict[str, list[str]] = {}
    for reason in reasons:
        shown = reason.replace(f". {schemas.LEFT_TO_OTHERS}", "")
        groups.setdefault(re.sub(r"'[^']*'", "''", shown), []).append(shown)
    lines = []
    for first, *more in groups.values():
        like_it = f" ({len(more)} more {'nodes' if more[1:] else 'node'} like it)" if more else ""
        lines.append(first + like_it)
    return lines


def _all_of_them(
    refusals: Mapping[int, UnsupportedError], nodes: Sequence[NodeProto], subject: str
) -> UnsupportedError:
    """One error for all nodes that are refused: a line for each operator and reason."""
    if len(refusals) == 1:
        text = str(next(iter(refusals.values())))
        return UnsupportedError(text if schemas.LEFT_TO_OTHERS in text else f"{text}. {schemas.LEFT_TO_OTHERS}")
    counts = Counter(nodes[place].op_type for place in refusals)
    shown = ", ".join(f"{_short(name)} x {n}" if n > 1 else _short(name) for name, n in counts.most_common())
    lines = grouped(str(error) for error in refusals.values())
    listed = "".join(f"\n- {line}" for line in lines)
    what = f"{subject}: {len(refusals)} of {len(nodes)} nodes are refused: {shown}"
    return UnsupportedError(f"{what}. {schemas.LEFT_TO_OTHERS}:{listed}")


def interface(model: ModelProto, subject: str) -> tuple[tuple[ValueInfo, ...], tuple[ValueInfo, ...]]:
    """The inputs and outputs of a model that has been checked, as it declares them."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    inputs = [
        ValueInfo(
            info.name,
            _required_type(info, "input", subject),
            _declared_shape(info.type, subject),
            required=info.name not in defaults,
        )
        for info in model.graph.input
        if info.name not in defaults or model.ir_version >= SEPARATE_INITIALISERS
    ]
    outputs = [
        ValueInfo(info.name, _declared_type(info) or "", _declared_shape(info.type, subject))
        for info in model.graph.output
    ]
    return tuple(inputs), tuple(outputs)


def inferred_types(model: ModelProto) -> dict[str, ValueInfoProto]:
    """The types and shapes of a model's values, as far as the model declares them or ONNX infers them."""
    if model.functions:  # inference would expand them, to nodes without number
        bare = ModelProto()
        bare.CopyFrom(model)
        del bare.functions[:]
        model = bare
    if any(map(_never_ends, _nodes(model.graph))):
        return {}
    with suppress(Exception):  # it fails on much that is valid, with errors of several kinds
        model = infer_shapes(model)
    infos = (*model.graph.value_info, *model.graph.output, *model.graph.input)
    return {info.name: info for info in infos if _declared_type(info) is not None}


def _nodes(graph: onnx.GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph and of the graphs inside of it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
                yield from _nodes(inner)


def _never_ends(node: NodeProto) -> bool:
    """Whether ONNX's inference of shapes loops for ever: for two ellipses in a term of Einsum, which mean nothing."""
    equations = (a.s for a in node.attribute if node.op_type == "Einsum" and a.name == "equation")
    return any(term.count(b"...") > 1 for equation in equations for term in re.split(b",|->", equation))


class _Builder:
    def __init__(
        self,
        home: Home | None,
        functions: dict[FunctionKey, FunctionProto],
        node_limit: int,
        accuracy: str,
        *,
        collects: bool = False,
    ) -> None:
        self.accuracy = accuracy
        self.home = home
        self.functions = functions
        self.graph = CheckedGraph()
        self.node_limit = node_limit
        self.expanded_nodes = 0
        self.bytes_left = MOST_EXPANDED_BYTES + sum(function.ByteSize() for function in functions.values())
        self.fresh = count()
        self.collects = collects
        self.refusals: dict[int, UnsupportedError] = {}
        """The faults of the nodes that Ogive does not take, by their places."""
        self.kernels: set[int] = set()
        self.model: ModelProto | None = None
        self.outermost: _Scope | None = None
        self.inferred: dict[str, ValueInfoProto] | None = None
        self.conditions: dict[str, bool] = {}
        """Values of the main graph that decide a branch, and are the same in every run."""
        self.unknown: set[str] = set()
        """Values that refused nodes compute, of types that are not known."""

    # ---- the main graph

    def build(
        self, model: ModelProto, opsets: dict[str, int], subject: str, known: dict[str, np.ndarray] | None
    ) -> CheckedGraph:
        proto = model.graph
        scope = _Scope(opsets)
        self.model, self.outermost = model, scope
        initialisers = self._initialisers(proto, subject) if known is None else known
        self.graph.initialisers = initialisers
        self._inputs(proto.input, initialisers, scope, subject, are_constants=model.ir_version < SEPARATE_INITIALISERS)
        declared = [(info.name, _declared_type(info)) for info in (*proto.value_info, *proto.output)]
        for position, node in enumerate(proto.node):
            before = len(self.graph.steps)
            try:
                self.add(node, scope, position)
                steps = self.graph.steps[before:]
                if steps and all(isinstance(step.made, ElementwiseNode | ArrangedRows) for step in steps):
                    self.kernels.add(position)
            except UnsupportedError as error:
                self.refusals[position] = error
                self._go_on_after(node, scope)
            except _NotChecked:
                self._go_on_after(node, scope)
        if self.refusals and not self.collects:
            raise _all_of_them(self.refusals, proto.node, subject)
        for name, kind in declared:
            found = self.graph.types.get(scope.values.get(name) or "")
            if kind is not None and found is not None and kind != found:
                raise ModelError(message(subject, f"the value {name!r} is declared to be {kind}", f"{found}, its type"))
        self._outputs(proto.output, scope, subject)
        self.graph.names = {value: name for name, value in scope.values.items() if value}
        self._drop_unused()
        return self.graph

    def _go_on_after(self, node: NodeProto, scope: _Scope) -> None:
        """Take the outputs of a refused node for given, so that the nodes behind it are checked too."""
        inferred = self._inferred()
        for name in node.output:
            if name and name not in scope.values:
                unique = scope.values[name] = self._unique(name, scope)
                info = inferred.get(name)
                kind = None if info is None else _declared_type(info)
                if kind is None:
                    self.unknown.add(unique)
                self.graph.types[unique] = kind or ""

    def _initialisers(self, proto: onnx.GraphProto, subject: str) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for tensor in proto.initializer:
            if not tensor.name:
                raise ModelError(message(subject, "an initialiser has no name", "a name for each"))
            if tensor.name in found:
                raise ModelError(message(subject, f"there are two initialisers {tensor.name!r}", "each name once"))
            found[tensor.name] = array_from(tensor, self.home, f"initialiser {tensor.name!r}")
        if proto.sparse_initializer:
            name = proto.sparse_initializer[0].values.name
            raise UnsupportedError(message(subject, f"the initialiser {name!r} is sparse", "dense ones"))
        return found

    def _inputs(
        self,
        infos: Iterable[ValueInfoProto],
        initialisers: dict[str, np.ndarray],
        scope: _Scope,
        subject: str,
        *,
        are_constants: bool,
    ) -> None:
        """Inputs, and initialisers: those of the same name are defaults, and constants in old versions."""
        graph = self.graph
        for info in infos:
            name = info.name
            if not name or name in scope.values:
                what = f"there are two inputs {name!r}" if name else "an input has no name"
                raise ModelError(message(subject, what, "each name once"))
            kind = _required_type(info, "input", subject)
            default = initialisers.get(name)
            shape = _declared_shape(info.type, f"{subject}, input {name!r}")
            if default is not None:
                _check_default(default, kind, shape, f"initialiser {name!r}")
            scope.values[name] = self._unique(name, scope)
            graph.types[name] = kind
            if default is None or not are_constants:
                graph.inputs.append(ValueInfo(name, kind, shape, required=default is None))
            if default is not None and not are_constants:
                graph.defaults[name] = default
        for name, array in initialisers.items():
            if name not in graph.defaults:
                self._constant(scope, name, array)

    def _constant(self, scope: _Scope, name: str, array: np.ndarray) -> None:
        found = data_type_of(array.dtype)
        assert found is not None
        unique = scope.values[name] = self._unique(name, scope)
        self.graph.constants[unique] = array
        self.graph.types[unique] = found.type

    def _outputs(self, infos: Iterable[ValueInfoProto], scope: _Scope, subject: str) -> None:
        graph = self.graph
        for info in infos:
            name = info.name
            value = scope.values.get(name)
            if value is None:
                raise ModelError(message(subject, f"no node computes the output {name!r}", _COMPUTED))
            shape = _declared_shape(info.type, f"{subject}, output {name!r}") if info.HasField("type") else None
            graph.outputs.append(ValueInfo(name, graph.types[value], shape))
            graph.results.append(value)
        if not graph.outputs:
            raise ModelError(message(subject, "the graph has no outputs", "one or more"))

    def _drop_unused(self) -> None:
        """Keep what the outputs need."""
        graph = self.graph
        needed = set(graph.results)
        kept = []
        for step in reversed(graph.steps):
            if step.output in needed:
                needed.update(step.made.operands)
                kept.append(step)
        graph.steps = kept[::-1]
        graph.constants = {name: array for name, array in graph.constants.items() if name in needed}

    # ---- nodes

    def add(self, proto: NodeProto, scope: _Scope, position: int) -> None:
        """Check one node, and add what computes it."""
        domain, version = domain_of(proto.domain), scope.opsets.get(domain_of(proto.domain))
        label = _label(proto, position, version)
        if scope.calls:
            label += f", in the function {_short(scope.calls[-1][1])}"
        if scope.attributes is not None:
            bound_proto = bound_node(proto, scope.attributes, label)
            if bound_proto is not proto:
                self._take_bytes(bound_proto, label)
            proto = bound_proto
        proto = _trimmed(proto)
        inputs = [self._input(name, scope, label) for name in proto.input]
        function = self.functions.get(key_of(proto))
        if function is not None:
            self._call(function, proto, inputs, scope, label)
            return
        body = body_of(proto, domain) if domain == MICROSOFT else None
        if body is not None:
            self._call(body, proto, inputs, scope, label)
            return
        if domain == MICROSOFT and proto.op_type in GRADIENTS:
            self._add_gradient(proto, inputs, scope, label)
            return
        if domain != "":
            raise UnsupportedError(
                message(label, f"it is an operator of {domain!r}", "ONNX's own operators, and functions of the model")
            )
        if proto.op_type == "If" and version is not None:
            self._add_if(proto, inputs, scope, label)
            return
        if version is None:
            raise ModelError(
                message(label, "the model imports no opset of ONNX's own operators", "", "Add one to opset_import")
            )
        schema = schemas.schema_of(proto.op_type, version)
        if schema is None and self._add_experimental(proto, inputs, scope, label):
            return
        if schema is None:
            raise ModelError(
                message(
                    label, f"opset {version} has no operator {proto.op_type!r}", "", _nearest(proto.op_type, version)
                )
            )
        schemas.check_version(schema, label)
        node = self._checked(proto, schema, version, inputs, label)
        bound = schemas.input_types(schema, node.input_types, node.inputs, label)
        types = schemas.output_types(schema, proto.output, bound, label)
        if len(inputs) > MOST_INPUTS and proto.op_type in VARIADIC:
            self._split(proto, scope, position)
            return
        if self._is_square(node):  # with the same bits, and no test: rows have it inside
            node = replace(node, operator="Mul", inputs=node.inputs[:1] * 2, input_types=node.input_types[:1] * 2)
        made = node_computations(node, types)
        if made is None and proto.op_type in COMPOSED:
            made = COMPOSED[proto.op_type](node, types)
        if made is not None:
            for place, (name, one) in enumerate(zip(node.outputs, made, strict=False)):
                if one is not None and name:
                    schemas.check_output(schema, place, one.type, label)
                    self._append(node, name, one, scope)
            return
        body = body_of(proto, domain)
        what = f"Ogive has no operator {proto.op_type} (opset {version})"
        if body is None:
            raise UnsupportedError(message(label, what, way_out="See ogive.onnx.supported() for those it has"))
        try:
            self._call(body, proto, inputs, scope, label)
        except UnsupportedError as error:
            raise UnsupportedError(message(label, f"{what}, nor all that it is put together from: {error}")) from error

    def _is_square(self, node: OnnxNode) -> bool:
        """Whether it is the power of a floating-point number whose exponent is the number 2."""
        if node.operator != "Pow" or node.version < BROADCASTS_BY_RULE or node.inputs[1] is None:
            return False
        exponent = self.graph.constants.get(node.inputs[1])
        kinds = {kind.type for kind in DATA_TYPES.values() if kind.element is not None and kind.element.is_float}
        return exponent is not None and not exponent.ndim and exponent == 2 and node.input_types[0] in kinds

    def _inferred(self) -> dict[str, ValueInfoProto]:
        if self.inferred is None:
            self.inferred = {} if self.model is None else inferred_types(self.model)
        return self.inferred

    def _add_gradient(self, proto: NodeProto, inputs: list[str | None], scope: _Scope, label: str) -> None:
        """Add a gradient node of ONNX Runtime's training graphs. No schema of it is there."""
        attributes = schemas.plain_values(proto, label, "FLOAT", "INT")
        kinds = tuple(None if name is None else self.graph.types[name] for name in inputs)
        node = _without_schema(proto, inputs, ("",) * len(inputs), kinds, attributes, label)
        self._append(node, proto.output[0], gradient_node(node), scope)

    def _add_experimental(self, proto: NodeProto, inputs: list[str | None], scope: _Scope, label: str) -> bool:
        """Add an operator that ONNX has dropped, or that ONNX Runtime writes into ONNX's own domain, if it is one."""
        body = body_of(proto, "")
        if body is not None:
            self._call(body, proto, inputs, scope, label)
            return True
        row = row_of("onnx", proto.op_type)
        if row is None or not row.was_experimental:
            return False
        op = row.operator
        kinds = tuple(self.graph.types[name] for name in inputs if name is not None)
        if len(kinds) != len(op.tensors) or len(proto.output) != 1:
            what = f"it has {len(kinds)} inputs and {len(proto.output)} outputs"
            raise ModelError(message(label, what, f"{len(op.tensors)} and 1"))
        attributes = schemas.plain_values(proto, label, "FLOAT")
        node = _without_schema(proto, inputs, op.tensors, kinds, attributes, label)
        self._append(node, proto.output[0], from_catalogue(node, op, kinds[0]), scope)
        return True

    def _checked(
        self, proto: NodeProto, schema: onnx.defs.OpSchema, version: int, inputs: list[str | None], label: str
    ) -> OnnxNode:
        given = schemas.attribute_values(schema, proto, label, self.home)
        formal = [schemas.formal_parameter(schema.inputs, position) for position in range(len(inputs))]
        return OnnxNode(
            operator=proto.op_type,
            version=schema.since_version,
            label=label,
            inputs=tuple(inputs),
            outputs=tuple(proto.output),
            parameters=tuple("" if parameter is None else parameter.name for parameter in formal),
            input_types=tuple(None if name is None else self.graph.types[name] for name in inputs),
            attributes={**schemas.default_values(proto.op_type, version), **given},
            given=frozenset(given),
        )

    def _input(self, name: str, scope: _Scope, label: str) -> str | None:
        if not name:
            return None
        if name not in scope.values:
            raise ModelError(message(label, f"its input {name!r} is not computed before it", _COMPUTED))
        value = scope.values[name]
        if value in self.unknown:
            raise _NotChecked
        return value

    def _unique(self, name: str, scope: _Scope) -> str:
        """The graph's name for a value: its name, and in a call of a function a short one that has a number."""
        if "\0" in name:
            raise ModelError(message("model", f"a value is called {name[:60]!r}", "names without the character NUL"))
        if scope.calls:
            name = f"{_short(name)} #{next(self.fresh)}"
        while name in self.graph.types:
            name = f"{_short(name)} #{next(self.fresh)}"
        return name

    def _append(self, node: OnnxNode, name: str, made: NodeComputation, scope: _Scope) -> None:
        self._refuse_known(name, scope, node.label)
        if isinstance(made, SameValue):
            scope.values[name] = made.value
        elif isinstance(made, Constant):
            self._constant(scope, name, made.array)
        else:
            if isinstance(made, ElementwiseNode):
                made = replace(made, computation=under(made.computation, self.accuracy))
            unique = scope.values[name] = self._unique(name, scope)
            self.graph.types[unique] = made.type
            self.graph.steps.append(CheckedStep(node.label, unique, made))

    def _refuse_known(self, name: str, scope: _Scope, label: str) -> None:
        if name in scope.values:
            raise ModelError(
                message(label, f"its output {name!r} is there already", "a name of its own for each value")
            )

    # ---- conditions

    def _add_if(self, proto: NodeProto, inputs: list[str | None], scope: _Scope, label: str) -> None:
        """Put the nodes of a branch in the place of the node, where the condition is known."""
        branches = {a.name: a.g for a in proto.attribute if a.type == AttributeProto.GRAPH}
        if branches.keys() != {"then_branch", "else_branch"} or len(proto.attribute) != 2:
            raise ModelError(message(label, f"its branches are {', '.join(branches) or 'missing'}", _BRANCHES))
        if len(inputs) != 1 or inputs[0] is None or self.graph.types[inputs[0]] != "tensor(bool)":
            kinds = [None if name is None else self.graph.types[name] for name in inputs]
            raise ModelError(message(label, f"its inputs are {kinds}", "one condition, of tensor(bool)"))
        chosen = decided(self.graph, inputs[0], self._known_shape)
        if chosen is None:
            what = f"its condition {proto.input[0]!r} is known only when the model runs, and Ogive has no control flow"
            raise UnsupportedError(message(label, what, way_out=schemas.LEFT_TO_OTHERS))
        assert self.outermost is not None
        known = self.outermost.values.items()
        self.conditions.update((name, chosen) for name, value in known if value == inputs[0])
        branch = branches["then_branch" if chosen else "else_branch"]
        inner = replace(scope, values=dict(scope.values))
        for name, array in self._initialisers(branch, label).items():
            self._refuse_known(name, inner, label)
            self._constant(inner, name, array)
        for place, node in enumerate(branch.node):
            if scope.calls:
                self._count_node(label)
            self.add(node, inner, place)
        if len(branch.output) != len(proto.output):
            what = f"it has {len(proto.output)} outputs"
            raise ModelError(message(label, what, f"{len(branch.output)}, as the branch has"))
        for name, info in zip(proto.output, branch.output, strict=True):
            value = inner.values.get(info.name)
            if value is None:
                raise ModelError(message(label, f"nothing in the branch computes its output {info.name!r}", _COMPUTED))
            if name:
                self._refuse_known(name, scope, label)
                scope.values[name] = value

    def _known_shape(self, value: str) -> Shape | None:
        """The shape of a value of the main graph, as far as the model declares it or ONNX infers it."""
        assert self.outermost is not None
        for name, info in self._inferred().items():
            if self.outermost.values.get(name) == value:
                return _declared_shape(info.type, f"the value {name!r}")
        return None

    def _split(self, proto: NodeProto, scope: _Scope, position: int) -> None:
        """An operator of very many inputs as several of fewer."""
        names, operator = list(proto.input), proto.op_type
        inner = "Sum" if operator == "Mean" else operator
        total, shown, shown_name = len(names), _short(proto.output[0]), _short(proto.name)
        while len(names) > 1:
            is_last = len(names) <= MOST_INPUTS
            output = proto.output[0] if is_last and inner == operator else f"{shown}, part {next(self.fresh)}"
            part = NodeProto(op_type=inner, name=shown_name, input=names[:MOST_INPUTS], output=[output])
            self.add(part, scope, position)
            names = [output, *names[MOST_INPUTS:]]
        if inner != operator:
            kind = DATA_TYPES[self.graph.types[scope.values[names[0]] or ""]]
            divisor = f"{shown}, inputs"
            self._constant(scope, divisor, np.array(total, kind.numpy))
            self.add(
                NodeProto(op_type="Div", name=shown_name, input=[names[0], divisor], output=proto.output),
                scope,
                position,
            )

    # ---- functions

    def _call(
        self, function: FunctionProto, proto: NodeProto, inputs: list[str | None], scope: _Scope, label: str
    ) -> None:
        """Put the body of a function in the place of a node."""
        key = key_of(proto)
        if key in scope.calls:
            raise ModelError(message(label, f"the function {key[1]!r} calls itself", "functions without recursion"))
        if len(scope.calls) >= DEEPEST_CALL:
            raise UnsupportedError(
                message(label, f"functions call each other more than {DEEPEST_CALL} deep", f"{DEEPEST_CALL}")
            )
        for kind, given, formal in (("inputs", inputs, function.input), ("outputs", proto.output, function.output)):
            if len(given) > len(formal):
                raise ModelError(message(label, f"it has {len(given)} {kind}", f"{len(formal)}, as the function"))
        self._take_bytes(function, label)
        inner = _Scope(
            _opsets(function, label),
            attributes=call_attributes(function, proto, label),
            calls=(*scope.calls, key),
        )
        for position, name in enumerate(function.input):
            if name in inner.values:
                raise ModelError(message(label, f"the function has two inputs {name!r}", "each name once"))
            inner.values[name] = inputs[position] if position < len(inputs) else None
        for position, node in enumerate(function.node):
            self._count_node(label)
            self.add(node, inner, position)
        for name, result in zip(proto.output, function.output, strict=False):
            if not name:
                continue
            self._refuse_known(name, scope, label)
            value = inner.values.get(result)
            if value is None:
                raise ModelError(message(label, f"nothing in the function computes its output {result!r}", _COMPUTED))
            scope.values[name] = value

    def _count_node(self, label: str) -> None:
        self.expanded_nodes += 1
        if self.expanded_nodes > self.node_limit:
            what = f"functions stand for more than {self.node_limit} nodes"
            way_out = "Give ogive.onnx.load a larger node_limit"
            raise UnsupportedError(message(label, what, f"{self.node_limit} nodes", way_out))

    def _take_bytes(self, proto: FunctionProto | NodeProto, label: str) -> None:
        """Count what calls of functions copy; a small file could stand for more than there is memory."""
        self.bytes_left -= proto.ByteSize()
        if self.bytes_left < 0:
            what = f"the bodies of functions have more than {MOST_EXPANDED_BYTES} bytes in all calls together"
            raise UnsupportedError(message(label, what, f"{MOST_EXPANDED_BYTES} bytes"))


# ---- declarations


def _short(name: str) -> str:
    """A name for messages and for values of functions, which are kept as often as a function is called."""
    return name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}... ({len(name)} characters)"


def _trimmed(proto: NodeProto) -> NodeProto:
    """A node without the empty names at the end of its inputs: optional inputs that are left out."""
    count = len(proto.input)
    while count and not proto.input[count - 1]:
        count -= 1
    if count == len(proto.input):
        return proto
    trimmed = NodeProto()
    trimmed.CopyFrom(proto)
    del trimmed.input[count:]
    return trimmed


def _label(proto: NodeProto, position: int, version: int | None) -> str:
    """How messages call a node: by its operator, the opset, and its name, its output or its place."""
    known = f" (opset {version})" if version is not None else ""
    operator = _short(proto.op_type)
    if proto.name:
        return f"{operator} node {_short(proto.name)!r}{known}"
    if proto.output and proto.output[0]:
        return f"{operator} node that computes {_short(proto.output[0])!r}{known}"
    return f"{operator} node at place {position}{known}"


def _declared_type(info: ValueInfoProto) -> str | None:
    return type_of_proto(info.type) if info.HasField("type") else None


def _required_type(info: ValueInfoProto, role: str, subject: str) -> str:
    kind = _declared_type(info)
    if kind is None:
        raise ModelError(message(subject, f"the {role} {info.name!r} has no type, or an unknown one", "a type of ONNX"))
    if "map(" in kind or "sparse_" in kind:
        raise UnsupportedError(message(subject, f"the {role} {info.name!r} is {kind}", "tensors, sequences, optional"))
    return kind


def _nearest(operator: str, opset: int) -> str:
    """The likely meaning of an operator that an opset does not have: another opset has it, or another name is near."""
    versions = [
        schema for schema in onnx.defs.get_all_schemas_with_history() if schema.name == operator and not schema.domain
    ]
    if not versions:
        known = {schema.name for schema in onnx.defs.get_all_schemas()}
        return suggestion(operator, sorted(known), "Check its name, and its domain")
    first = min(schema.since_version for schema in versions)
    if first > opset:
        return f"ONNX has it from opset {first} on: raise the model's opset_import to it"
    last = max(schema.since_version for schema in versions if schema.deprecated) - 1
    return f"ONNX has it up to opset {last}: lower the model's opset_import, or write what newer opsets have"


def _declared_shape(proto: TypeProto, subject: str) -> Shape | None:
    """The sizes that a type declares: numbers, names, or None where it says nothing."""
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.HasField("shape"):
        return None
    sizes: list[int | str | None] = []
    for dim in proto.tensor_type.shape.dim:
        match dim.WhichOneof("value"):
            case "dim_value":
                sizes.append(dim.dim_value)
            case "dim_param":
                sizes.append(dim.dim_param or None)
            case _:
                sizes.append(None)
    if len(sizes) > LARGEST_RANK:
        raise UnsupportedError(message(subject, f"it has {len(sizes)} axes", f"up to {LARGEST_RANK}"))
    return tuple(sizes)


def _check_default(array: np.ndarray, kind: str, shape: Shape | None, subject: str) -> None:
    """An initialiser against the input of the same name."""
    found = data_type_of(array.dtype)
    assert found is not None
    if found.type != kind:
        raise ModelError(message(subject, f"it is {found.type}", f"{kind}, as the input of that name"))
    fits = shape is None or (
        len(shape) == array.ndim
        and all(not isinstance(want, int) or want == have for want, have in zip(shape, array.shape, strict=True))
    )
    if not fits:
        raise ModelError(message(subject, f"its shape is {array.shape}", f"{shape}, as the input of that name"))


def _without_schema(
    proto: NodeProto,
    inputs: Iterable[str | None],
    parameters: tuple[str, ...],
    input_types: tuple[str | None, ...],
    attributes: dict[str, Any],
    label: str,
) -> OnnxNode:
    """A node of an operator that ONNX does not describe."""
    return OnnxNode(
        operator=proto.op_type,
        version=1,
        label=label,
        inputs=tuple(inputs),
        outputs=tuple(proto.output),
        parameters=parameters,
        input_types=input_types,
        attributes=attributes,
        given=frozenset(attributes),
    )
