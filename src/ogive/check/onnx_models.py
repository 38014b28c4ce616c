"""Checks ONNX models, node by node."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ogive.onnx  # noqa: F401  # isort: skip  before onnx: it says what to install where that package is missing

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto

from ogive.check.findings import Finding, KnownTensor, level_named, lowest_level, reasons
from ogive.check.mapping import NO_OPERATOR, Counterpart, candidates, outside
from ogive.directml.data import DATA_TYPES, facts
from ogive.onnx.declarations import infer_shapes
from ogive.onnx.inner_graphs import graphs_at, graphs_in, graphs_of
from ogive.onnx.reading import read_model

_MOST_ELEMENTS = (1 << 32) - 1

#: DirectML's data types by ONNX's numbers; truth values are UINT8.
_DATA_TYPES = {
    number: {"FLOAT": "FLOAT32", "DOUBLE": "FLOAT64", "BOOL": "UINT8"}.get(name, name)
    for name, number in onnx.TensorProto.DataType.items()
    if name in DATA_TYPES or name in ("FLOAT", "DOUBLE", "BOOL")
}


class _ModelValue(NamedTuple):
    """The known facts about a value: ONNX's number of its element type, and its shape."""

    element_type: int
    shape: tuple[int | None, ...] | None


_UNKNOWN = _ModelValue(0, None)


def check_onnx(path: str | os.PathLike[str], level: int) -> list[Finding]:
    """A finding for every node of a model. Raises ModelError for what is no model, OSError for what is no file."""
    model, _, _ = read_model(path)
    inferred = _inferred(model)
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    return list(_graph_findings(inferred.graph, {}, level, opset, ""))


def _inferred(model: ModelProto) -> ModelProto:
    """The model with what shape inference finds out; as it is where that finds a mistake."""
    try:
        return infer_shapes(model, data_prop=True)
    except Exception:  # errors of many kinds come out of it; what is declared is still there
        return model


def _graph_findings(
    graph: GraphProto, outer: Mapping[str, _ModelValue], level: int, opset: int, prefix: str
) -> Iterator[Finding]:
    values = dict(outer)
    for info in (*graph.input, *graph.output, *graph.value_info):
        values[info.name] = _value_of(info.type)
    for tensor in graph.initializer:
        values[tensor.name] = _ModelValue(tensor.data_type, tuple(tensor.dims))
    sizes = _only_sizes(graph)
    for number, node in enumerate(graph.node):
        name = node.name or (node.output[0] if node.output else "") or str(number)
        place = f"{prefix}{name}"
        if number in sizes:
            yield Finding(place, _operator(node), None, "nothing", None, ("it only computes sizes",))
        else:
            yield _finding(node, place, values, level, opset)
        for attribute in node.attribute:
            for inner in graphs_at(attribute):
                # The depth is bounded by protobuf, which reads no more than 100 messages in each other.
                yield from _graph_findings(inner, values, level, opset, f"{place}/{attribute.name}/")


#: The inputs that say sizes, places or axes, by operator: runtimes read them before anything runs on the device.
_OF_SIZES: dict[str, frozenset[int]] = {
    **dict.fromkeys(("Expand", "OneHot", "Reshape", "Split", "Squeeze", "Tile", "TopK", "Unsqueeze", "Upsample"), frozenset({1})),
    **dict.fromkeys(("ConstantOfShape",), frozenset({0})),
    **dict.fromkeys(("Range",), frozenset({0, 1, 2})),
    **dict.fromkeys(("Slice",), frozenset({1, 2, 3, 4})),
    **dict.fromkeys(("Resize",), frozenset({1, 2, 3})),
    **dict.fromkeys(("Pad",), frozenset({1, 3})),
    **dict.fromkeys(
        (f"Reduce{what}" for what in
         ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")), frozenset({1})),
}  # fmt: skip

#: Operators that look at the sizes of their operands alone.
_OF_SHAPES = frozenset({"Shape", "Size"})


def _only_sizes(graph: GraphProto) -> set[int]:
    """The places of the nodes whose results nothing but sizes follow from: runtimes compute them on the processor."""
    data = {info.name for info in graph.output}
    used: set[str] = set()
    found: set[int] = set()
    for number in reversed(range(len(graph.node))):
        node = graph.node[number]
        names = [name for name in node.output if name]
        inside = [each for graph in graphs_of(node) for each in graphs_in(graph)]
        inner = {name for each in inside for one in each.node for name in one.input}
        inner |= {info.name for each in inside for info in each.output}
        if not inner and any(name in used for name in names) and not any(name in data for name in names):
            found.add(number)
            used.update(node.input)
            continue
        sizes = _OF_SIZES.get(node.op_type, frozenset()) if node.domain in ("", "ai.onnx") else frozenset()
        used.update((*node.input, *inner))
        data.update(inner)
        if node.op_type not in _OF_SHAPES:
            data.update(name for place, name in enumerate(node.input) if place not in sizes)
    return found


def _value_of(kind: TypeProto) -> _ModelValue:
    if kind.WhichOneof("value") != "tensor_type":
        return _UNKNOWN
    tensor = kind.tensor_type
    if not tensor.HasField("shape"):
        return _ModelValue(tensor.elem_type, None)
    sizes = (dim.dim_value if dim.WhichOneof("value") == "dim_value" else None for dim in tensor.shape.dim)
    return _ModelValue(tensor.elem_type, tuple(sizes))


def _finding(node: NodeProto, place: str, values: Mapping[str, _ModelValue], level: int, opset: int) -> Finding:
    operator = _operator(node)
    if operator != node.op_type:
        return Finding(place, operator, None, "outside", None, ("not an operator of ONNX itself",))
    if operator in NO_OPERATOR:
        return Finding(place, operator, None, "nothing", None, (NO_OPERATOR[operator],))
    attributes = _attributes(node)
    inputs = [values.get(name, _UNKNOWN) if name else None for name in node.input]
    outputs = [values.get(name, _UNKNOWN) for name in node.output[:1]]
    found = candidates(operator, attributes, is_two_dimensional=_is_two_dimensional(attributes, inputs, opset))
    if not found:
        known = outside(operator)
        unmapped = () if known else ("no DirectML operator that Ogive knows of stands for it",)
        return Finding(place, operator, known, "outside", None, unmapped)
    present = [value for value in (*inputs, *outputs) if value is not None]
    hopeless = tuple(dict.fromkeys(problem for value in present for problem in _problems(value)))
    if hopeless:
        return Finding(place, operator, found[0].directml, "refused", None, hopeless)
    return _judged(place, operator, [(c, _tensors(c, inputs, outputs)) for c in found], level)


def _operator(node: NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def _judged(
    place: str, operator: str, found: Sequence[tuple[Counterpart, Mapping[str, KnownTensor]]], level: int
) -> Finding:
    """The finding for the first candidate that the level takes, else for the one that the lowest level takes."""
    lowest = {c.directml: lowest_level(c.directml, tensors) for c, tensors in found}
    levels = [value for value in lowest.values() if value is not None]
    name = level_named(min(levels)) if levels else None
    for candidate, tensors in found:
        if not reasons(candidate.directml, tensors, level):
            unknown = _not_known(tensors)
            return Finding(place, operator, candidate.directml, "unknown" if unknown else "taken", name, unknown)
    candidate, tensors = min(found, key=lambda pair: lowest[pair[0].directml] or math.inf)
    return Finding(
        place, operator, candidate.directml, "refused", name, tuple(reasons(candidate.directml, tensors, level))
    )


def _not_known(tensors: Mapping[str, KnownTensor]) -> tuple[str, ...]:
    texts = []
    for what, names in (
        ("type", [name for name, tensor in tensors.items() if tensor.data_type is None]),
        ("rank", [name for name, tensor in tensors.items() if tensor.dimensions is None]),
    ):
        if names:
            texts.append(f"the model does not say the {what} of {', '.join(names)}")
    return tuple(texts)


def _tensors(
    candidate: Counterpart, inputs: Sequence[_ModelValue | None], outputs: Sequence[_ModelValue]
) -> dict[str, KnownTensor]:
    """The tensors of a DirectML operator. All have the output's rank: nothing is broadcast by itself."""
    described = facts(candidate.directml)
    members = described.inputs
    given = list(inputs[: candidate.inputs])
    if candidate.is_repeated:
        given = (given * 2)[: len(members)]
    shapes = [value.shape for value in (*outputs, *given) if value is not None]
    rank: int | None
    if candidate.dimensions is not None:
        rank = candidate.dimensions
    elif outputs and outputs[0].shape is not None:
        rank = len(outputs[0].shape)
    else:
        rank = None if None in shapes else max((len(shape) for shape in shapes if shape is not None), default=None)
    rank = None if rank is None else max(rank, 1)
    paired = [*zip(members, given, strict=False), *((described.output, value) for value in outputs)]
    return {
        member.name: KnownTensor(_DATA_TYPES.get(value.element_type), rank)
        for member, value in paired
        if value is not None
    }


def _problems(value: _ModelValue) -> Iterator[str]:
    """The findings that hold at every feature level."""
    if value.element_type and value.element_type not in _DATA_TYPES:
        known = value.element_type in onnx.TensorProto.DataType.values()
        name = onnx.TensorProto.DataType.Name(value.element_type) if known else value.element_type
        yield f"DirectML has no data type for {name}"
    sizes = [size for size in value.shape or () if size is not None]
    if any(size < 1 for size in sizes):
        yield f"a size is {min(sizes)}; allowed: sizes from 1 on"
    elif math.prod(sizes) > _MOST_ELEMENTS:
        yield f"a tensor has {math.prod(sizes)} elements; allowed: {_MOST_ELEMENTS} at most"


def _is_two_dimensional(attributes: Mapping[str, Any], inputs: Sequence[_ModelValue | None], opset: int) -> bool:
    """Whether a row-wise node reduces the last axes: before opset 13 it takes all from `axis` on."""
    if opset < 13:
        return True
    axis, shape = attributes.get("axis", -1), inputs[0].shape if inputs and inputs[0] is not None else None
    return axis == -1 or (shape is not None and axis == len(shape) - 1)


def _attributes(node: NodeProto) -> dict[str, Any]:
    """The attributes that are one number or text."""
    read = {
        AttributeProto.INT: lambda a: a.i,
        AttributeProto.FLOAT: lambda a: a.f,
        AttributeProto.STRING: lambda a: a.s.decode("utf-8", "replace"),
    }
    return {a.name: read[a.type](a) for a in node.attribute if a.type in read}
