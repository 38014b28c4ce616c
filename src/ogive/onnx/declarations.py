"""The types and shapes that a model declares of its values, and those that ONNX infers from them."""

from __future__ import annotations

import re
from contextlib import suppress

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

from ogive.engine.movement import LARGEST_RANK
from ogive.errors import ModelError, UnsupportedError, message
from ogive.onnx.checked_graph import Shape, ValueInfo
from ogive.onnx.data_types import data_type_of, type_of_proto
from ogive.onnx.inner_graphs import nodes_in

#: Operators with which the inference of onnx 1.23 ends the process: it looks at the type of an input that has none.
CRASHING = frozenset({"EyeLike", "RegexFullMatch"})

#: Before this version of the format, initialisers are inputs as well, and constants.
SEPARATE_INITIALISERS = 4


def interface(model: ModelProto, subject: str) -> tuple[tuple[ValueInfo, ...], tuple[ValueInfo, ...]]:
    """The inputs and outputs of a model that has been checked, as it declares them."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    inputs = [
        ValueInfo(
            info.name,
            required_type(info, "input", subject),
            declared_shape(info.type, subject),
            required=info.name not in defaults,
        )
        for info in model.graph.input
        if info.name not in defaults or model.ir_version >= SEPARATE_INITIALISERS
    ]
    outputs = [
        ValueInfo(info.name, declared_type(info) or "", declared_shape(info.type, subject))
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
    if any(map(_never_ends, nodes_in(model.graph.node))):
        return {}
    with suppress(Exception):  # it fails on much that is valid, with errors of several kinds
        model = infer_shapes(model)
    infos = (*model.graph.value_info, *model.graph.output, *model.graph.input)
    return {info.name: info for info in infos if declared_type(info) is not None}


def infer_shapes(model: ModelProto, *, data_prop: bool = False) -> ModelProto:
    """The model with what ONNX infers; the model itself if it has an operator with which that crashes.

    The exceptions are ONNX's own.
    """
    functions = (node for function in model.functions for node in function.node)
    if any(node.op_type in CRASHING for node in nodes_in([*model.graph.node, *functions])):
        return model
    return onnx.shape_inference.infer_shapes(model, data_prop=data_prop)


def _never_ends(node: NodeProto) -> bool:
    """Whether ONNX's inference of shapes loops for ever: for two ellipses in a term of Einsum, which mean nothing."""
    equations = (a.s for a in node.attribute if node.op_type == "Einsum" and a.name == "equation")
    return any(term.count(b"...") > 1 for equation in equations for term in re.split(b",|->", equation))


def declared_type(info: ValueInfoProto) -> str | None:
    return type_of_proto(info.type) if info.HasField("type") else None


def required_type(info: ValueInfoProto, role: str, subject: str) -> str:
    kind = declared_type(info)
    if kind is None:
        raise ModelError(message(subject, f"the {role} {info.name!r} has no type, or an unknown one", "a type of ONNX"))
    if "map(" in kind or "sparse_" in kind:
        raise UnsupportedError(message(subject, f"the {role} {info.name!r} is {kind}", "tensors, sequences, optional"))
    return kind


def declared_shape(proto: TypeProto, subject: str) -> Shape | None:
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


def check_default(array: np.ndarray, kind: str, shape: Shape | None, subject: str) -> None:
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
