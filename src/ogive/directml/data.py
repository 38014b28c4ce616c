"""The standard as data: what ``data/*.json`` says of every operator.

The files hold facts and their sources; nothing in this package names an operator that could be looked up there.
They are read once; what they say of an operator is put into order when it is first wanted. The names of the Python API
are known without loading what they are.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent / "data"
_OPERATOR = "DML_OPERATOR_"


class Member(NamedTuple):
    """One member of an operator's desc, in the order of the structure."""

    name: str
    kind: str
    """``input``, ``output`` or ``attribute``"""
    type: str
    optional: bool
    default: Any
    """The typical default that the operator's page gives, or None."""

    @property
    def is_tensor(self) -> bool:
        return self.kind != "attribute"


class TensorSupport(NamedTuple):
    """The types that one row of an operator's support table allows for one tensor."""

    types: tuple[str, ...]
    minimum_dimensions: int
    maximum_dimensions: int
    optional: bool


class OperatorFacts(NamedTuple):
    """Everything the data says of one operator."""

    name: str
    """Without the prefix ``DML_OPERATOR_``"""
    value: int
    struct: str
    introduced: str
    formula: str
    members: tuple[Member, ...]
    constraints: tuple[str, ...]
    support: tuple[tuple[int, str, dict[str, TensorSupport]], ...]
    """(value of the feature level, its name, row), lowest first"""
    in_place: tuple[str, ...]
    """The inputs that the output may alias."""
    in_place_at_once: bool
    """Whether it may alias several of them at the same time."""
    notes: tuple[str, ...]
    source: str

    @property
    def type_name(self) -> str:
        return _OPERATOR + self.name

    @property
    def tensors(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.is_tensor)

    @property
    def inputs(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.kind == "input")

    @property
    def output(self) -> Member:
        return next(member for member in self.members if member.kind == "output")

    def row(self, level: int) -> dict[str, TensorSupport] | None:
        """The support table of a feature level: that of the highest one that is not above it."""
        found = None
        for value, _, row in self.support:
            if value <= level:
                found = row
        return found


class DataTypeFacts(NamedTuple):
    """One tensor data type."""

    name: str
    value: int
    bits: int
    level: str


class Fusable(NamedTuple):
    """An operator that may be another one's FusedActivation."""

    hosts: tuple[str, ...] | None
    """None: all that have the member"""
    level: str


def _read(name: str) -> Any:
    return json.loads((_FOLDER / name).read_bytes())


_activations = _read("activations.json")
_elementwise = _read("elementwise.json")
_conversion = _read("conversion.json")

#: The feature levels by their short names ("6_4"), with their values, lowest first.
FEATURE_LEVELS: dict[str, int] = {
    row["feature_level"]: int(row["enum_value"], 16) for row in _activations["_feature_levels"]
}

#: The tensor data types by their short names ("FLOAT32"). UNKNOWN is not one.
DATA_TYPES: dict[str, DataTypeFacts] = {
    short: DataTypeFacts(short, row["value"], row["bits"], row["feature_level"])
    for row in _activations["_tensor_data_types"]
    if row["bits"] is not None
    for short in [row["name"].removeprefix("DML_TENSOR_DATA_TYPE_")]
}


def _tensor_support(row: dict[str, Any]) -> TensorSupport:
    return TensorSupport(tuple(row["types"]), row["min_dims"], row["max_dims"], row.get("optional", False))


_rows: dict[str, dict[str, Any]] = {
    type_name.removeprefix(_OPERATOR): row
    for table in (_activations, _elementwise, _conversion)
    for type_name, row in table.items()
    if type_name.startswith(_OPERATOR)
}

#: Every operator by its name without the prefix, with its value, in the order of the enumeration.
OPERATOR_TYPES: dict[str, int] = dict(
    sorted(
        (
            (name, row.get("enum_value") or _activations["_operator_type_values"][_OPERATOR + name])
            for name, row in _rows.items()
        ),
        key=lambda entry: int(entry[1]),
    )
)

#: The operators by the names of their descs.
STRUCTS: dict[str, str] = {_rows[name]["struct"]: name for name in OPERATOR_TYPES}


@cache
def facts(name: str) -> OperatorFacts:
    """The data of an operator.

    >>> facts("ACTIVATION_SHRINK").introduced
    '2_0'
    """
    row = _rows[name]
    members = tuple(Member(m["name"], m["kind"], m["type"], m["optional"], m["typical_default"]) for m in row["fields"])
    support = tuple(
        (
            FEATURE_LEVELS[table["feature_level"]],
            table["feature_level"],
            {tensor: _tensor_support(entry) for tensor, entry in table["tensors"].items()},
        )
        for table in reversed(row["support"])
    )
    # The pages of the activations name InputTensor wherever they allow aliasing at all.
    aliased = tuple(row.get("in_place_inputs", ("InputTensor",))) if row["in_place"] else ()
    return OperatorFacts(
        name=name,
        value=OPERATOR_TYPES[name],
        struct=row["struct"],
        introduced=row["introduced"],
        formula=row["formula"],
        members=members,
        constraints=tuple(row["constraints"]),
        support=support,
        in_place=aliased,
        in_place_at_once="one or more of" in row.get("in_place_rule", ""),
        notes=tuple(row.get("notes", ())),
        source=row["source"],
    )


#: The operators that may be a FusedActivation, by operator name.
FUSABLE: dict[str, Fusable] = {
    row["operator"].removeprefix(_OPERATOR): Fusable(
        None if row["hosts"] == "all" else tuple(host.removeprefix(_OPERATOR) for host in row["hosts"]),
        row["since"],
    )
    for row in _activations["_fused_activation"]["activations"]
}


class OpenQuestion(NamedTuple):
    """The points that the specification leaves open or says twice, and their answers here."""

    question: str
    holds: str


#: By operator; under "" those that concern more than one.
DECISIONS: dict[str, tuple[OpenQuestion, ...]] = {
    name: tuple(OpenQuestion(*row) for row in rows) for name, rows in _read("decisions.json").items()
}


@cache
def python_names() -> dict[str, Any]:
    """The names and defaults that differ in the Python API than DirectML.h."""
    return json.loads((Path(__file__).parent / "data" / "python.json").read_bytes())  # type: ignore[no-any-return]


def function_name(operator_name: str) -> str:
    """The function that makes an operator."""
    found: str | None = python_names()["names"].get(operator_name)
    return found or operator_name.removeprefix("ELEMENT_WISE_").lower()


@cache
def function_names() -> tuple[str, ...]:
    """The names of all functions that make an operator."""
    return tuple(dict.fromkeys(map(function_name, OPERATOR_TYPES)))


@cache
def alias_names() -> tuple[str, ...]:
    """The names of enumerations in Python; those of operators that are not here, too."""
    return *python_names()["aliases"], *python_names()["out_of_scope_enumerations"]


@cache
def out_of_scope() -> tuple[str, ...]:
    """The functions of operators that are neither activations nor element-wise."""
    return tuple(python_names()["out_of_scope"])
