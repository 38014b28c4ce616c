"""The findings of a check: one finding for each operator of a model.

The limits that each feature level sets for an operator: the types and the numbers of dimensions of its tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ogive.directml.data import FEATURE_LEVELS, TensorSupport, facts

Verdict = Literal["taken", "refused", "unknown", "nothing", "outside"]
"""The treatment of an operator by a device of the level:

- ``taken`` or ``refused``;
- ``unknown``: the model does not say the type or the rank, and nothing that it says is refused;
- ``nothing``: there is nothing to run on the device, such as a constant, another view of the same bytes, or what
  only computes sizes;
- ``outside``: the operator is not one of those that Ogive checks.
"""


class Finding(NamedTuple):
    """One operator of a model."""

    place: str
    """Its place: what messages call the node, or the path in the JSON file"""
    operator: str
    """As the model calls it"""
    directml: str | None
    """The DirectML operator that it maps to, without ``DML_OPERATOR_``; None if there is none"""
    verdict: Verdict
    lowest_level: str | None
    """The lowest feature level that takes it; None if no level does, or if it is not checked"""
    reasons: tuple[str, ...]
    """Why it is refused, or what is not known"""


class Report(NamedTuple):
    """The findings of a check."""

    model: str
    feature_level: str
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> tuple[Finding, ...]:
        """The part that a device of this level refuses."""
        return tuple(finding for finding in self.findings if finding.verdict == "refused")

    @property
    def checked(self) -> tuple[Finding, ...]:
        """The part that was held against feature levels."""
        return tuple(finding for finding in self.findings if finding.verdict in ("taken", "refused", "unknown"))

    @property
    def open(self) -> tuple[Finding, ...]:
        """The part that was not checked, or not wholly."""
        return tuple(finding for finding in self.findings if finding.verdict in ("outside", "unknown"))

    @property
    def lowest_level(self) -> str | None:
        """The lowest feature level that takes everything that is checked; None if no level does, or nothing is."""
        levels = [finding.lowest_level for finding in self.checked]
        if None in levels:
            return None
        return max((level for level in levels if level is not None), key=list(FEATURE_LEVELS).index, default=None)

    def as_json(self) -> dict[str, Any]:
        """The report as data for `json.dumps`."""
        return {
            "model": self.model,
            "feature_level": self.feature_level,
            "lowest_feature_level": self.lowest_level,
            "refused": len(self.refused),
            "not_known": sum(finding.verdict == "unknown" for finding in self.findings),
            "not_checked": sum(finding.verdict == "outside" for finding in self.findings),
            "operators": [
                {
                    "place": finding.place,
                    "operator": finding.operator,
                    "directml": finding.directml,
                    "verdict": finding.verdict,
                    "lowest_feature_level": finding.lowest_level,
                    "reasons": list(finding.reasons),
                }
                for finding in self.findings
            ],
        }


# ---- what each feature level takes of an operator: the types and the numbers of dimensions of its tensors


class KnownTensor(NamedTuple):
    """The known facts about a tensor: its data type by DirectML's short name, and its dimensions; None is not known."""

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
