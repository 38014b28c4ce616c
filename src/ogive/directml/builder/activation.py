"""Activations that another operator applies to its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ogive.directml.builder.vocabulary import default, snake_case
from ogive.directml.data import FUSABLE, STRUCTS, Member, OperatorFacts, facts
from ogive.directml.descs import OperatorDesc, desc_class
from ogive.directml.enumerations import DML_OPERATOR_TYPE, short_name
from ogive.directml.structure import CONVERTERS, REQUIRED, short
from ogive.errors import ArgumentError, message


class FusedActivation:
    """An activation for ``fused_activation=``: its operator's type and its numbers, in the order of the desc.

    There is a function for each: ``FusedActivation.relu()``, ``FusedActivation.leaky_relu(alpha=0.1)``, ...;
    ``FusedActivation.none()`` is no activation.

    >>> import ogive.directml as dml
    >>> dml.FusedActivation.hard_sigmoid(beta=0.25)
    FusedActivation(ACTIVATION_HARD_SIGMOID, 0.2, 0.25)

    Raises DMLError for an unknown type of operator. The operator that it is given to checks whether it can be fused.
    """

    def __init__(self, activation: Any, param_1: float | None = None, param_2: float | None = None) -> None:
        self.activation = CONVERTERS["DML_OPERATOR_TYPE"]("FusedActivation", "activation", activation)
        if self.activation == DML_OPERATOR_TYPE.INVALID:
            self.params: tuple[float, ...] = ()
            return
        numbers = _numbers(facts(short_name(self.activation)))
        given = (param_1, param_2)
        if len(numbers) > len(given):
            what = f"{short_name(self.activation)} has {len(numbers)} numbers"
            raise ArgumentError(message("FusedActivation", what, "activations that have two at most"))
        values = []
        for (member, usual), value in zip(numbers, given, strict=False):
            if value is None and usual is REQUIRED:
                what = f"{snake_case(member.name)} of {short_name(self.activation)} is missing; it has no default"
                raise ArgumentError(message("FusedActivation", what))
            values.append(usual if value is None else value)
        self.params = tuple(values)

    def desc(self) -> OperatorDesc | None:
        """The desc for a member FusedActivation; None for no activation."""
        if self.activation == DML_OPERATOR_TYPE.INVALID:
            return None
        operator = facts(short_name(self.activation))
        members: dict[str, Any] = dict.fromkeys(member.name for member in operator.tensors)
        members |= {member.name: value for (member, _), value in zip(_numbers(operator), self.params, strict=True)}
        return desc_class(operator.struct)(**members)

    def __repr__(self) -> str:
        return f"FusedActivation({', '.join([short_name(self.activation), *map(str, self.params)])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FusedActivation) and (other.activation, other.params) == (self.activation, self.params)

    def __hash__(self) -> int:
        return hash((self.activation, self.params))


def _numbers(operator: OperatorFacts) -> list[tuple[Member, Any]]:
    """The numbers of an activation, with their defaults."""
    return [(member, default(operator, member)) for member in operator.members if member.type == "FLOAT"]


def _factory(name: str, operator_name: str) -> Callable[..., FusedActivation]:
    numbers = [] if operator_name == "INVALID" else _numbers(facts(operator_name))
    signature = inspect.Signature(
        [
            inspect.Parameter(snake_case(member.name), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=usual)
            for member, usual in numbers
        ]
    )

    def make(*values: Any, **named: Any) -> FusedActivation:
        try:
            bound = signature.bind(*values, **named)
        except TypeError as error:
            raise ArgumentError(message(f"FusedActivation.{name}", str(error), f"{name}{signature}")) from None
        bound.apply_defaults()
        return FusedActivation(DML_OPERATOR_TYPE[operator_name], *bound.arguments.values())

    make.__name__, make.__qualname__ = name, f"FusedActivation.{name}"
    make.__signature__ = signature  # type: ignore[attr-defined]
    make.__doc__ = f"{operator_name}, after another operator." if numbers or name != "none" else "No activation."
    return make


def factories() -> dict[str, str]:
    """The functions of FusedActivation, with the operators that they make: what any host can fuse."""
    fusable = [name for name, row in FUSABLE.items() if row.hosts is None and name in STRUCTS.values()]
    return {"none": "INVALID"} | {name.removeprefix("ACTIVATION_").lower(): name for name in fusable}


for _name, _operator_name in factories().items():
    setattr(FusedActivation, _name, staticmethod(_factory(_name, _operator_name)))


def desc_of(subject: str, value: Any) -> OperatorDesc | None:
    """The desc for what was given as ``fused_activation``."""
    if value is None or isinstance(value, OperatorDesc):
        return value
    if not isinstance(value, FusedActivation):
        allowed = "a FusedActivation, such as FusedActivation.relu(), or None"
        raise ArgumentError(message(subject, f"fused_activation is {short(value)}", allowed))
    return value.desc()
