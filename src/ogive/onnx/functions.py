"""Functions: where the body of a function comes from, and a call's attributes inside of it.

A body is a list of nodes that stands for a node: one that the model brings along, or the one that ONNX's
own schema defines an operator by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from ogive.errors import ModelError, message

__all__ = ["FunctionKey", "bound_node", "call_attributes", "functions_of", "key_of", "schema_function"]

#: What tells functions apart: domain, name and overload.
FunctionKey = tuple[str, str, str]


def key_of(node: NodeProto) -> FunctionKey:
    """The function that a node would call."""
    return normal_domain(node.domain), node.op_type, getattr(node, "overload", "")


def normal_domain(domain: str) -> str:
    """ONNX's own operators are in a domain with two names."""
    return "" if domain == "ai.onnx" else domain


def functions_of(functions: Iterable[FunctionProto], subject: str) -> dict[FunctionKey, FunctionProto]:
    """The functions that a model brings along."""
    found: dict[FunctionKey, FunctionProto] = {}
    for function in functions:
        key = normal_domain(function.domain), function.name, getattr(function, "overload", "")
        if not function.name:
            raise ModelError(message(subject, "it has a function without a name"))
        if key in found:
            raise ModelError(message(subject, f"it has the function {function.name!r} of {function.domain!r} twice"))
        found[key] = function
    return found


def schema_function(
    schema: Any, node: NodeProto, opset: int, types: Sequence[TypeProto | None]
) -> FunctionProto | None:
    """The function that ONNX's schema defines the operator by, for a node in an opset; None if there is none."""
    data = b""
    if schema.has_function:
        data = schema.get_function_with_opset_version(_closest(schema.function_opset_versions, opset))
    elif schema.has_context_dependent_function:
        given = [(TypeProto() if t is None else t).SerializeToString() for t in types]
        data = schema.get_context_dependent_function_with_opset_version(
            _closest(schema.context_dependent_function_opset_versions, opset), node.SerializeToString(), given
        )
    if not data:
        return None
    function = FunctionProto()
    try:
        function.ParseFromString(data)
    except DecodeError:  # pragma: no cover - the installed onnx contradicts itself
        return None
    if not function.opset_import:
        function.opset_import.append(onnx.helper.make_opsetid("", opset))
    declared = {default.name for default in function.attribute_proto}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.type and name not in declared:
            function.attribute_proto.append(attribute.default_value)
    return function


def _closest(versions: Sequence[int], opset: int) -> int:
    """The newest body that an opset knows; the oldest where all are newer: a body imports the opset it needs."""
    return max((version for version in versions if version <= opset), default=min(versions))


def call_attributes(function: FunctionProto, node: NodeProto, label: str) -> dict[str, AttributeProto | None]:
    """What a call gives a function's attributes: its own values over the defaults; None for those without."""
    values: dict[str, AttributeProto | None] = dict.fromkeys(function.attribute)
    values.update((default.name, default) for default in function.attribute_proto)
    for attribute in node.attribute:
        if attribute.name not in values:
            known = ", ".join(sorted(values)) or "none"
            raise ModelError(message(label, f"the function has no attribute {attribute.name!r}", known))
        values[attribute.name] = attribute
    return values


def bound_node(node: NodeProto, values: dict[str, AttributeProto | None], label: str) -> NodeProto:
    """A node of a function's body with the call's values where its attributes refer to the function's.

    An attribute that refers to one without a value is left out, so that the operator's own default holds.
    """
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
            continue
        if attribute.ref_attr_name not in values:
            what = f"the attribute {attribute.name!r} refers to {attribute.ref_attr_name!r}"
            raise ModelError(message(label, what, f"an attribute of the function: {', '.join(values) or 'none'}"))
        value = values[attribute.ref_attr_name]
        if value is not None:
            if attribute.type and attribute.type != value.type:
                what = f"the attribute {attribute.name!r} refers to {value.name!r}, which is of another type"
                raise ModelError(message(label, what))
            bound.attribute.add().CopyFrom(value)
            bound.attribute[-1].name = attribute.name
    return bound
