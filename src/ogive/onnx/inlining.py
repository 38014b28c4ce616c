"""Functions: where the body of a function comes from, and a call's attributes inside of it.

A body is a list of nodes that stands for a node: one that the model brings along, or one of Ogive's own (bodies.py). Those
that ONNX's schemas carry are run for no operator: they round after every step.
"""

from __future__ import annotations

from collections.abc import Iterable

from onnx import AttributeProto, FunctionProto, NodeProto

from ogive.errors import ModelError, message

__all__ = ["FunctionKey", "bound_node", "call_attributes", "functions_of", "key_of"]

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
