"""What each feature level takes of an operator: the types and the numbers of dimensions of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ogive.directml.data import FEATURE_LEVELS, TensorSupport, facts

__all__ = ["KnownTensor", "level_named", "lowest_level", "reasons"]


class KnownTensor(NamedTuple):
    """What is known of a tensor: its data type by DirectML's short name, and its dimensions; None is not known."""

    data_type: str | None
    dimensions: int | None


def level_named(value: int) -> str:
    """The short name of a feature level.

    >>> level_named(0x5100)
    '5_1'
    """
    return next(name for name, number in FEATURE_LEVELS.items() if number == value)


def reasons(operator: str, tensors: Mapping[str, KnownTensor], level: int) -> list[str]:
    """Why a device of this level refuses the operator with these tensors, each by its member; empty if it takes it.

    >>> reasons("ACTIVATION_SHRINK", {"InputTensor": KnownTensor("INT32", 2)}, 0x3000)
    ['InputTensor is INT32; allowed: FLOAT32, FLOAT16 at 3_0. 5_1 takes it']
    """
    described = facts(operator)
    row = described.row(level)
    if row is None or level < FEATURE_LEVELS[described.introduced]:
        return [f"{operator} was introduced in {described.introduced}"]
    found = []
    for member, tensor in tensors.items():
        problem = _problem(tensor, row[member], level_named(level))
        if problem:
            since = next(
                (f". {name} takes it" for value, name, later in described.support
                 if value > level and not _problem(tensor, later[member], name)),
                "",
            )  # fmt: skip
            found.append(f"{member} {problem}{since}")
    return found


def _problem(tensor: KnownTensor, support: TensorSupport, level: str) -> str:
    if tensor.data_type is not None and tensor.data_type not in support.types:
        return f"is {tensor.data_type}; allowed: {', '.join(support.types)} at {level}"
    # Fewer dimensions are given more of size 1.
    if tensor.dimensions is not None and tensor.dimensions > support.maximum_dimensions:
        return f"has {tensor.dimensions} dimensions; allowed: up to {support.maximum_dimensions} at {level}"
    return ""


def lowest_level(operator: str, tensors: Mapping[str, KnownTensor]) -> int | None:
    """The lowest feature level that takes the operator with these tensors, or None.

    >>> lowest_level("ACTIVATION_SHRINK", {"InputTensor": KnownTensor("INT32", 2)}) == 0x5100
    True
    """
    return next((level for level in FEATURE_LEVELS.values() if not reasons(operator, tensors, level)), None)
