"""The part of ONNX's operators that Ogive has: found by asking what loading asks, for every type of every version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx.defs import OpSchema

from ogive.errors import ModelError, UnsupportedError
from ogive.onnx import schemas
from ogive.onnx.data_types import DATA_TYPES, DataType
from ogive.onnx.dispatch import node_computations
from ogive.onnx.node import OnnxNode


@dataclass(frozen=True)
class Support:
    """One version of one operator."""

    operator: str
    version: int
    """The opset that brought this version; it holds until the next one."""
    types: Mapping[str, tuple[str, ...]]
    """For each type parameter of the schema (``T``) the types that Ogive takes."""
    refused: Mapping[str, tuple[str, ...]]
    """For each type parameter the types that the schema allows and Ogive does not take."""

    @property
    def is_complete(self) -> bool:
        """Whether every type of the schema is there."""
        return not any(self.refused.values())


@cache
def supported() -> tuple[Support, ...]:
    """Every version of every operator that Ogive has, with its types, in the order of names and versions.

    Operators that ONNX defines by functions of others are not listed; docs/tables/onnx.md names those that load.

    >>> [row.version for row in ogive.onnx.supported() if row.operator == "Relu"]
    [1, 6, 13, 14]
    """
    rows = [_support(schema) for schema in sorted(schemas.followed(), key=lambda s: (s.name, s.since_version))]
    return tuple(row for row in rows if row is not None)


def _support(schema: OpSchema) -> Support | None:
    """The support of a version; None if there is nothing."""
    taken: dict[str, tuple[str, ...]] = {}
    refused: dict[str, tuple[str, ...]] = {}
    for parameter in schema.type_constraints:
        allowed = sorted(parameter.allowed_type_strs, key=_rank)
        found = [kind for kind in allowed if _is_taken(schema, parameter.type_param_str, kind)]
        taken[parameter.type_param_str] = tuple(found)
        refused[parameter.type_param_str] = tuple(kind for kind in allowed if kind not in found)
    if not any(taken.values()):
        return None
    return Support(schema.name, schema.since_version, taken, refused)


def _rank(kind: str) -> int:
    """Tensors in the order of the table of types, then the rest."""
    order = list(DATA_TYPES)
    return order.index(kind) if kind in DATA_TYPES else len(order)


def _is_taken(schema: OpSchema, parameter: str, kind: str) -> bool:
    """Whether any choice of the other type parameters makes a node with this one that loads."""
    return any(_loads(schema, types) for types in _choices(schema, parameter, kind))


def _choices(schema: OpSchema, parameter: str, kind: str) -> Iterator[dict[str, str]]:
    """The type parameters, with the others at a few types each, and at the same one."""
    others = {c.type_param_str: sorted(c.allowed_type_strs, key=_rank) for c in schema.type_constraints}
    for position in range(2):
        choice = {name: types[min(position, len(types) - 1)] for name, types in others.items()}
        yield {**choice, parameter: kind}
    yield {name: kind if kind in types else types[0] for name, types in others.items()}


def _loads(schema: OpSchema, types: Mapping[str, str]) -> bool:
    """Whether loading takes a node of this version with these types, and with two of what may be many."""
    formal = list(schema.inputs) * (2 if schema.max_input > len(schema.inputs) else 1)
    names = tuple(parameter.name for parameter in formal)
    outputs = [output for output in schema.outputs if output.option != OpSchema.FormalParameterOption.Optional]
    results = [types.get(output.type_str, output.type_str) for output in outputs]
    if not results:
        return False
    result = results[0]
    given = _needed_attributes(schema, DATA_TYPES.get(result))
    if given is None:
        return False
    node = OnnxNode(
        operator=schema.name,
        version=schema.since_version,
        label=schema.name,
        inputs=names,
        outputs=tuple(output.name for output in outputs),
        parameters=names,
        input_types=tuple(types.get(parameter.type_str, parameter.type_str) for parameter in formal),
        attributes={**schemas.default_values(schema.name, schema.since_version), **given},
        given=frozenset(given),
    )
    try:
        return node_computations(node, results) is not None
    except (ModelError, UnsupportedError):
        return False


def _needed_attributes(schema: OpSchema, result: DataType | None) -> dict[str, Any] | None:
    """Values for the attributes that decide on the type of the output, or that a node cannot be without."""
    if schema.name in ("BitCast", "Cast"):
        return None if result is None else {"to": result.name if schema.since_version == 1 else result.number}
    if schema.name in ("Constant", "ConstantOfShape"):
        return None if result is None else {"value": np.zeros((), result.numpy)}
    return {name: _SOME.get(name, ()) for name, row in schema.attributes.items() if row.required}


#: Attributes whose value is looked at when a model loads.
_SOME = {"direction": "LEFT"}
