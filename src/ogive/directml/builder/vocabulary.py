"""The names and arguments of the functions of the Python API: read from the data of the operators.

A function is one operator, or several of which the arguments choose one: ``pow`` of a tensor and of a number,
``add`` with and without an activation, ``activation_softmax`` with and without axes.
"""

from __future__ import annotations

import enum
import inspect
import re
from functools import cache
from typing import Any, Literal, NamedTuple

from ogive.directml.data import OPERATOR_TYPES, Member, OperatorFacts, facts, function_name, python_names
from ogive.directml.descs import DERIVED
from ogive.directml.enumerations import ENUMERATIONS
from ogive.directml.structure import REQUIRED
from ogive.directml.support import identical

Kind = Literal["tensor", "number", "scalar", "scale_bias", "fused_activation", "choice", "axes", "sizes", "data_type"]

_KINDS: dict[str, Kind] = {
    "DML_TENSOR_DESC": "tensor",
    "FLOAT": "number",
    "DML_SCALAR_UNION": "scalar",
    "DML_SCALE_BIAS": "scale_bias",
    "DML_OPERATOR_DESC": "fused_activation",
    "UINT[]": "axes",
}


class ApiArgument(NamedTuple):
    """An argument of a function, and the member of the desc that it becomes."""

    name: str
    member: str
    kind: Kind
    default: Any = REQUIRED


class Variant(NamedTuple):
    """One operator of a function."""

    facts: OperatorFacts
    tensors: tuple[ApiArgument, ...]
    keywords: tuple[ApiArgument, ...]
    typed_like: tuple[str, ...]
    """The tensors that have the data type of the output: it is that of the first one that is there"""

    @property
    def arguments(self) -> tuple[ApiArgument, ...]:
        return (*self.tensors, *self.keywords)


class ApiFunction(NamedTuple):
    """A function: a name and the operators that it may become, in the order in which they are tried."""

    name: str
    variants: tuple[Variant, ...]

    @property
    def is_source(self) -> bool:
        """Whether it has no tensors, and so must be told its graph."""
        return not self.variants[0].tensors

    @property
    def signature(self) -> inspect.Signature:
        """Tensors by position, everything else by keyword."""
        first = [inspect.Parameter("graph", inspect.Parameter.POSITIONAL_OR_KEYWORD)] if self.is_source else []
        positional = [
            inspect.Parameter(a.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=a.default)
            for a in self.variants[0].tensors
        ]
        named: dict[str, ApiArgument] = {}
        for argument in (a for variant in self.variants for a in variant.keywords):
            if argument.name not in {a.name for a in self.variants[0].tensors}:
                named.setdefault(argument.name, argument)
        keywords = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=a.default) for n, a in named.items()]
        return inspect.Signature([*first, *positional, *keywords])


def snake_case(name: str) -> str:
    """A member's name in Python's spelling, without what every tensor is called.

    >>> snake_case("ZeroPointTensor"), snake_case("AScaleTensor"), snake_case("RoundingMode")
    ('zero_point', 'a_scale', 'rounding_mode')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return words.removesuffix("_tensor")


@cache
def functions() -> dict[str, ApiFunction]:
    """The functions by name.

    >>> print(functions()["activation_shrink"].signature)
    (input, *, bias=0.0, threshold=0.5)
    """
    found: dict[str, list[Variant]] = {}
    for operator_name in OPERATOR_TYPES:
        found.setdefault(function_name(operator_name), []).append(_variant(facts(operator_name)))
    return {name: ApiFunction(name, tuple(variants)) for name, variants in found.items()}


def default(operator: OperatorFacts, member: Member) -> Any:
    """The value of a member that is left out: DirectMLX's default where it has another one than the operator's page."""
    if member.optional:
        return None
    value = python_names()["defaults"].get(operator.name, {}).get(member.name, member.default)
    if isinstance(value, str):
        return ENUMERATIONS[member.type][value]
    return REQUIRED if value is None else tuple(value) if isinstance(value, list) else value


def _variant(operator: OperatorFacts) -> Variant:
    # An argument that may be left out but is not at the end is given as None.
    last = max((i for i, m in enumerate(operator.inputs) if not m.optional), default=-1)
    tensors = tuple(
        ApiArgument(snake_case(m.name), m.name, "tensor", REQUIRED if i <= last else None)
        for i, m in enumerate(operator.inputs)
    )
    keywords = [
        ApiArgument(snake_case(m.name), m.name, _KINDS.get(m.type, "choice"), default(operator, m))
        for m in operator.members
        if not m.is_tensor and m.name not in DERIVED
    ]
    output = operator.output.name
    linked = next((group for group in identical(operator.name, "DataType") if output in group), (output,))
    typed_like = tuple(m.name for m in operator.inputs if m.name in linked)
    if not tensors:
        keywords.insert(0, ApiArgument("sizes", "", "sizes"))
    if not any(m.name in typed_like and not m.optional for m in operator.inputs):
        types = python_names()["output_types"]
        row = types.get(operator.name, types[""])
        type_default = REQUIRED if "default" not in row else None
        keywords.append(ApiArgument(row["keyword"], "", "data_type", type_default))
    return Variant(operator, tensors, tuple(keywords), typed_like)


def default_output_type(operator_name: str) -> str:
    """The data type of an output that follows from nothing."""
    types = python_names()["output_types"]
    return str(types.get(operator_name, types[""])["default"])


@cache
def aliases() -> dict[str, Any]:
    """Enumerations by their names in Python; those of operators that are not here, too."""
    found: dict[str, Any] = {name: ENUMERATIONS[full] for name, full in python_names()["aliases"].items()}
    for name, members in python_names()["out_of_scope_enumerations"].items():
        found[name] = enum.IntEnum(
            name, {member: value for value, member in enumerate(members)}, module="ogive.directml"
        )
        found[name].__doc__ = "An enumeration of operators that are not here, so that they can be refused by name."
    return found
