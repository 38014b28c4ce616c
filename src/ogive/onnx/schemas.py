"""Nodes against the schemas of ONNX: which version an opset selects, and what it says of inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import onnx.defs
from onnx import AttributeProto, NodeProto, helper
from onnx.defs import OpSchema

from ogive.errors import ModelError, UnsupportedError, message, suggestion
from ogive.onnx.files import Home
from ogive.onnx.tensors import array_from

#: The newest opset whose operators Ogive follows. That of 29 is not in onnx 1.23: what it has stands in ONNX's documents.
NEWEST_OPSET = 29

_Option = OpSchema.FormalParameterOption
_Type = AttributeProto.AttributeType

#: The treatment of a model that has nodes which Ogive does not compute.
LEFT_TO_OTHERS = "Use ogive.onnx.load(model, partial=True), `ogive run --partial` or `ogive split` to leave such nodes to another runtime"

#: The Python type of each type of an attribute.
_READERS: dict[int, Callable[[Any], Any]] = {
    AttributeProto.FLOAT: lambda a: a.f,
    AttributeProto.INT: lambda a: a.i,
    AttributeProto.STRING: lambda a: a.s.decode(),
    AttributeProto.FLOATS: lambda a: tuple(a.floats),
    AttributeProto.INTS: lambda a: tuple(a.ints),
    AttributeProto.STRINGS: lambda a: tuple(s.decode() for s in a.strings),
}


def check_opset(version: int, subject: str) -> None:
    """Refuse an opset that does not exist, or of which nobody here knows what it changes."""
    newest = max(NEWEST_OPSET, onnx.defs.onnx_opset_version())
    if version < 1:
        raise ModelError(message(subject, f"it imports opset {version}", f"1 to {newest}"))
    if version > newest:
        way_out = "The installed onnx is older: pip install --upgrade onnx"
        raise UnsupportedError(message(subject, f"it imports opset {version}", f"1 to {newest}", way_out))


def check_version(schema: OpSchema, label: str) -> None:
    """Refuse an operator that an opset newer than those which Ogive follows has changed or added."""
    if schema.since_version > NEWEST_OPSET:
        what = f"it is {schema.name} of opset {schema.since_version}"
        raise UnsupportedError(message(label, what, f"operators up to opset {NEWEST_OPSET}", LEFT_TO_OTHERS))


def _geglu() -> OpSchema:
    """GeGLU-29. Its text computes float16 and bfloat16 in float32; here all types are rounded once."""
    kinds = [f"tensor({name})" for name in ("bfloat16", "double", "float", "float16")]
    return OpSchema(
        "GeGLU",
        "",
        29,
        inputs=[OpSchema.FormalParameter("A", "T"), OpSchema.FormalParameter("B", "T")],
        outputs=[OpSchema.FormalParameter("Y", "T")],
        type_constraints=[("T", kinds, "")],
        attributes=[OpSchema.Attribute("approximate", helper.make_attribute("approximate", "none"))],
    )


#: Operators of opsets that the installed onnx may not have yet.
_LATER = {"GeGLU": _geglu}


def followed() -> list[OpSchema]:
    """All versions of all operators of ONNX's own domain up to the newest opset."""
    listed = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""]
    known = {schema.name for schema in listed}
    listed += [make() for name, make in _LATER.items() if name not in known]
    return [schema for schema in listed if schema.since_version <= NEWEST_OPSET and not schema.deprecated]


@cache
def schema_of(operator: str, opset: int) -> OpSchema | None:
    """The schema that an opset selects, or None where the opset has no such operator."""
    try:
        schema: Any = onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        later = _LATER[operator]() if operator in _LATER else None
        return later if later is not None and later.since_version <= opset else None
    is_defined = (
        schema.has_function or schema.has_context_dependent_function
    )  # GroupNormalization-18 is, and deprecated
    return None if schema.deprecated and not is_defined else schema


# ---- attributes


def attribute_values(schema: OpSchema, node: NodeProto, label: str, home: Home | None) -> dict[str, Any]:
    """The attributes that the model sets, as Python values of the types that the schema names."""
    values: dict[str, Any] = {}
    for attribute in _attributes(node, label):
        declared = schema.attributes.get(attribute.name)
        if declared is None:
            known = ", ".join(sorted(schema.attributes)) or "none"
            raise ModelError(message(label, f"there is no attribute {attribute.name!r}", known))
        _check_type(attribute, _type_name(declared.type), label=label)
        values[attribute.name] = _attribute_value(attribute, label, home)
    for name, declared in schema.attributes.items():
        if declared.required and name not in values:
            raise ModelError(
                message(label, f"the attribute {name!r} is missing", f"{_type_name(declared.type)}, without a default")
            )
    return values


def plain_values(node: NodeProto, label: str, *wanted: str) -> dict[str, Any]:
    """The attributes of a node without a schema, which are of these types."""
    values: dict[str, Any] = {}
    for attribute in _attributes(node, label):
        _check_type(attribute, *wanted, label=label)
        values[attribute.name] = _attribute_value(attribute, label, None)
    return values


def _attributes(node: NodeProto, label: str) -> Iterator[AttributeProto]:
    """The attributes, each once."""
    names: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name
        if name in names:
            raise ModelError(message(label, f"it has the attribute {name!r} twice", "each attribute once"))
        names.add(name)
        yield attribute


def _check_type(attribute: AttributeProto, *wanted: str, label: str) -> None:
    if attribute.ref_attr_name:
        what = f"the attribute {attribute.name!r} refers to one of a function, outside of any"
        raise ModelError(message(label, what, "values"))
    given = _type_name(attribute.type)
    if given not in wanted:
        raise ModelError(message(label, f"the attribute {attribute.name!r} is of type {given}", ", ".join(wanted)))


def _attribute_value(attribute: AttributeProto, label: str, home: Home | None) -> Any:
    if attribute.type == AttributeProto.TENSOR:
        return array_from(attribute.t, home, f"{label}, attribute {attribute.name!r}")
    reader = _READERS.get(attribute.type)
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        what = f"it has nodes of its own, in the attribute {attribute.name!r}, and Ogive has no control flow"
        raise UnsupportedError(message(label, what, way_out=LEFT_TO_OTHERS))
    if reader is None:
        what = f"the attribute {attribute.name!r} is of type {_type_name(attribute.type)}"
        raise UnsupportedError(message(label, what, "numbers, text, tensors"))
    try:
        return reader(attribute)
    except UnicodeDecodeError as error:
        raise ModelError(message(label, f"the attribute {attribute.name!r} is not UTF-8", "text in UTF-8")) from error


def _type_name(kind: Any) -> str:
    """The name of an attribute's type: a number in a file, an enumeration in a schema."""
    number = int(getattr(kind, "value", kind))
    return str(_Type.Name(number)) if number in _Type.values() else str(number)


@cache
def default_values(operator: str, opset: int) -> Mapping[str, Any]:
    """The defaults of the schema that an opset selects."""
    schema = schema_of(operator, opset)
    assert schema is not None
    return {
        name: _attribute_value(declared.default_value, operator, None)
        for name, declared in schema.attributes.items()
        if declared.default_value.type
    }


# ---- inputs and outputs


def formal_parameter(parameters: Sequence[OpSchema.FormalParameter], position: int) -> OpSchema.FormalParameter | None:
    """The declaration of an input or output; the last one stands for all that follow if it is variadic."""
    if position < len(parameters):
        return parameters[position]
    if parameters and parameters[-1].option == _Option.Variadic:
        return parameters[-1]
    return None


def input_types(
    schema: OpSchema, types: Sequence[str | None], names: Sequence[str | None], label: str
) -> dict[str, str]:
    """Check the types of a node's inputs; what each of the schema's type parameters stands for.

    None in the place of a type is an input that is left out.
    """
    if len(types) > schema.max_input:
        raise ModelError(message(label, f"it has {len(types)} inputs", f"at most {schema.max_input}"))
    bound: dict[str, str] = {}
    needed = max(len(types), schema.min_input)
    for position in range(needed):
        formal = formal_parameter(schema.inputs, position)
        assert formal is not None
        kind = types[position] if position < len(types) else None
        if kind is None:
            if formal.option != _Option.Optional:
                raise ModelError(
                    message(label, f"its input {formal.name} is missing", "leaving out optional inputs only")
                )
            continue
        if kind not in formal.types:
            what = f"its input {formal.name} ({names[position]!r}) is {kind}"
            raise ModelError(message(label, what, ", ".join(sorted(formal.types))))
        if formal.is_homogeneous and bound.setdefault(formal.type_str, kind) != kind:
            what = f"its input {formal.name} ({names[position]!r}) is {kind}, another is {bound[formal.type_str]}"
            raise ModelError(message(label, what, "the same type for both"))
    return bound


def output_types(schema: OpSchema, names: Sequence[str], bound: Mapping[str, str], label: str) -> list[str | None]:
    """The types of a node's outputs; None where they follow from something else than the inputs' types."""
    count = len(names)
    if not schema.min_output <= count <= schema.max_output:
        least, most = schema.min_output, schema.max_output
        allowed = f"{least}" if least == most else f"{least} to {most}"
        raise ModelError(message(label, f"it has {count} outputs", allowed))
    found: list[str | None] = []
    for position in range(count):
        formal = formal_parameter(schema.outputs, position)
        assert formal is not None
        if not names[position] and formal.option != _Option.Optional:
            raise ModelError(message(label, f"its output {formal.name} has no name"))
        only = next(iter(formal.types)) if len(formal.types) == 1 else None
        found.append(bound.get(formal.type_str, only))
    return found


def check_output(schema: OpSchema, position: int, kind: str, label: str) -> None:
    """Refuse a type that attributes ask for and the version of the operator does not have."""
    formal = formal_parameter(schema.outputs, position)
    assert formal is not None
    if kind not in formal.types and not (schema.name == "LayerNormalization" and position):  # it looks at stash_type
        what = f"its output {formal.name} would be {kind}"
        raise ModelError(message(label, what, ", ".join(sorted(formal.types))))


def nearest(operator: str, opset: int) -> str:
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
