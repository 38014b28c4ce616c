"""The descs of the operators: a class for each, made from the data.

The docstring of a class is the operator's reference: formula, members, support tables, decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from ogive.directml import data
from ogive.directml import scalars as _scalars  # noqa: F401  # it and the next one add converters of members
from ogive.directml import tensor as _tensor  # noqa: F401
from ogive.directml.data import OperatorFacts, facts
from ogive.directml.enumerations import DML_OPERATOR_TYPE, ENUMERATIONS, level_name
from ogive.directml.results import refuse
from ogive.directml.structure import CONVERTERS, REQUIRED, Structure, StructureMember, structures
from ogive.errors import described


class OperatorDesc(Structure):
    """The base of the descs of all operators."""

    FACTS: ClassVar[OperatorFacts]
    __slots__ = ()

    def _check(self) -> None:
        for name in self.__match_args__:
            if name in DERIVED and getattr(self, name) is None:
                object.__setattr__(self, name, DERIVED[name](self))

    @property
    def Type(self) -> Any:
        """The operator's DML_OPERATOR_TYPE."""
        return DML_OPERATOR_TYPE(self.FACTS.value)

    @property
    def scalar_type(self) -> Any:
        """The data type that says which members of the desc's unions count."""
        return next(getattr(self, member.name) for member in self.MEMBERS if member.type == "DML_TENSOR_DATA_TYPE")

    @property
    def output(self) -> Any:
        """The desc of the output tensor."""
        return getattr(self, self.FACTS.output.name)


#: Members that may be left out because they follow from others.
DERIVED: dict[str, Callable[[OperatorDesc], Any]] = {
    "AxisCount": lambda desc: len(desc.Axes),
    **dict.fromkeys(
        ("MinMaxDataType", "ValueDataType"), lambda desc: None if desc.output is None else desc.output.DataType
    ),
}


def _entry(member: data.Member) -> StructureMember:
    if member.optional or member.name in DERIVED:
        return StructureMember(member.name, member.type, None, nullable=True)
    if member.is_tensor:  # a null pointer has a meaning in a FusedActivation
        return StructureMember(member.name, member.type, nullable=True)
    if isinstance(member.default, str):
        return StructureMember(member.name, member.type, ENUMERATIONS[member.type][member.default])
    return StructureMember(member.name, member.type, REQUIRED if member.default is None else member.default)


@cache
def desc_class(struct: str) -> type[OperatorDesc]:
    """The class of that name.

    >>> desc_class("DML_ACTIVATION_RELU_OPERATOR_DESC").__match_args__
    ('InputTensor', 'OutputTensor')
    """
    operator = facts(data.STRUCTS[struct])
    members = tuple(map(_entry, operator.members))
    namespace = {
        "__doc__": _documentation(operator, members),
        "MEMBERS": members,
        "FACTS": operator,
        "__slots__": tuple(member.name for member in members),
        "__module__": "ogive.directml",
    }
    return type(struct, (OperatorDesc,), namespace)


def _documentation(operator: OperatorFacts, members: tuple[StructureMember, ...]) -> str:
    """The reference of one operator, from the data."""
    lines = [f"{operator.type_name}: ``{operator.formula}``.", ""]
    for member, entry in zip(operator.members, members, strict=True):
        default = "" if entry.default is REQUIRED else f"; default {entry.default!r}"
        lines.append(f"{member.name} ({member.kind}): {member.type}{default}.")
    lines += ["", f"Introduced in {level_name(data.FEATURE_LEVELS[operator.introduced])}."]
    for _, level, row in reversed(operator.support):
        for tensor, support in row.items():
            dimensions = f"{support.minimum_dimensions} to {support.maximum_dimensions} dimensions"
            lines.append(f"From {level} on, {tensor}: {dimensions}; {', '.join(support.types)}.")
    lines.append("")
    lines += [f"{sentence}." for sentence in operator.constraints]
    lines.append(f"In place: {in_place_rule(operator)}.")
    lines += [
        f"Decided here: {decision.question} {decision.holds}" for decision in data.DECISIONS.get(operator.name, ())
    ]
    lines += ["", f"Source: {operator.source}."]
    return "\n".join(lines)


def in_place_rule(operator: OperatorFacts) -> str:
    """The inputs that the output may alias, in words."""
    if not operator.in_place:
        return "no"
    if len(operator.in_place) == 1:
        return f"the output may alias {operator.in_place[0]}"
    joined = " and ".join(operator.in_place)
    return f"the output may alias {joined}" + (", both too" if operator.in_place_at_once else ", one of them")


class DML_OPERATOR_DESC(Structure):
    """A desc with the type of its operator. Wherever this is wanted, the inner desc alone does as well.

    Source: DML_OPERATOR_DESC (DirectML 1.0).
    """

    MEMBERS = (StructureMember("Type", "DML_OPERATOR_TYPE"), StructureMember("Desc", "operator desc"))
    __slots__ = ("Desc", "Type")

    def _check(self) -> None:
        if self.Desc.Type != self.Type:
            what = f"Type is {self.Type} for {described(self.Desc)}"
            refuse("DML_OPERATOR_DESC", what, str(self.Desc.Type), member="Type")


def _unwrapped(value: Any) -> Any:
    return value.Desc if isinstance(value, DML_OPERATOR_DESC) else value


CONVERTERS["operator desc"] = structures(OperatorDesc)
CONVERTERS["DML_OPERATOR_DESC"] = structures(OperatorDesc, unwrap=_unwrapped)
