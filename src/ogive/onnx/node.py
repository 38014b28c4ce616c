"""One node of a model, as loading hands it to what computes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onnx import NodeProto

#: A message shows of a name about this much.
MOST_SHOWN = 80


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """One node, checked against the schema that its opset selects."""

    operator: str
    version: int
    """The version of the operator: the opset that brought its schema."""
    label: str
    """How messages call the node."""
    inputs: tuple[str | None, ...]
    """None for an optional input that is left out."""
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    """The schema's name for each of the inputs."""
    input_types: tuple[str | None, ...]
    attributes: Mapping[str, Any]
    """With the schema's defaults; those without default and value are not there."""
    given: frozenset[str]
    """The attributes that the model itself sets."""

    @property
    def operands(self) -> tuple[str, ...]:
        """The inputs that are there."""
        return tuple(name for name in self.inputs if name is not None)

    @property
    def operand_parameters(self) -> tuple[str, ...]:
        """The schema's names for the inputs that are there."""
        return tuple(p for p, name in zip(self.parameters, self.inputs, strict=True) if name is not None)


def short(name: str) -> str:
    """A name for messages and for values of functions, which are kept as often as a function is called."""
    return name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}... ({len(name)} characters)"


def trimmed(proto: NodeProto) -> NodeProto:
    """A node without the empty names at the end of its inputs: optional inputs that are left out."""
    count = len(proto.input)
    while count and not proto.input[count - 1]:
        count -= 1
    if count == len(proto.input):
        return proto
    shorter = NodeProto()
    shorter.CopyFrom(proto)
    del shorter.input[count:]
    return shorter


def label_of(proto: NodeProto, position: int, version: int | None) -> str:
    """How messages call a node: by its operator, the opset, and its name, its output or its place."""
    known = f" (opset {version})" if version is not None else ""
    operator = short(proto.op_type)
    if proto.name:
        return f"{operator} node {short(proto.name)!r}{known}"
    if proto.output and proto.output[0]:
        return f"{operator} node that computes {short(proto.output[0])!r}{known}"
    return f"{operator} node at place {position}{known}"


def without_schema(
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
