"""The limits of each operator's tensors as the specification has them: its tables "Tensor limits for ...", its dictionaries' members.

The data are those of the Web Neural Network API of 27 June 2026. `opSupportLimits` says what is supported here. The *required* types and
ranks are those that every implementation must have.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ogive.webnn.operand import DATA_TYPES
from ogive.webnn.operator_table import OPERATORS

__all__ = ["limits", "required", "specified"]


@cache
def specified() -> dict[str, dict[str, dict[str, Any]]]:
    """By operator and member of its dictionary: types, ranks, required types and ranks; or the member that they are those of."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (Path(__file__).parent / "tensor_limits.json").read_bytes()
    )
    return found


def limits(operator: str, largest_rank: int) -> dict[str, dict[str, Any]]:
    """The MLTensorLimits of each member of an operator's dictionary, as they hold here.

    >>> limits("argMax", 8)["output"]
    {'dataTypes': ['int32', 'int64'], 'rankRange': {'min': 0, 'max': 8}}
    """
    own = {operand.name: operand for operand in OPERATORS[operator].operands}
    found: dict[str, dict[str, Any]] = {}
    for name, facts in specified()[operator].items():
        rule = own.get(name, own.get(name.removesuffix("s")))  # concat has many operands in one member
        types = facts["types"] if rule is None or isinstance(rule.types, str) else rule.types
        low_and_high = facts["ranks"] if rule is None else rule.ranks
        if isinstance(types, str):
            types = list(DATA_TYPES) if types == "any" else found[types]["dataTypes"]
        if isinstance(low_and_high, str):
            ranks = found[low_and_high]["rankRange"]
        else:
            low, high = low_and_high
            ranks = {"min": low, "max": largest_rank if high is None else high}
        found[name] = {"dataTypes": list(types), "rankRange": dict(ranks)}
    return found


def required(operator: str) -> dict[str, dict[str, Any]]:
    """The types and ranks that every implementation must have, by member.

    >>> required("gelu")["input"]
    {'dataTypes': ['float32', 'float16'], 'rankRange': {'min': 0, 'max': 5}}
    """
    return {
        name: {
            "dataTypes": facts["required"],
            "rankRange": dict(zip(("min", "max"), facts["requiredRanks"], strict=True)),
        }
        for name, facts in specified()[operator].items()
    }
