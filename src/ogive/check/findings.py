"""What a check finds: one finding for each operator of a model."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ogive.directml.data import FEATURE_LEVELS

__all__ = ["Finding", "Report", "Verdict"]

Verdict = Literal["taken", "refused", "unknown", "nothing", "outside"]
"""What a device of the level does with an operator:

- ``taken`` or ``refused``;
- ``unknown``: the model does not say the type or the rank, and nothing that it says is refused;
- ``nothing``: there is nothing to run on the device, such as a constant, another view of the same bytes, or what
  only computes sizes;
- ``outside``: the operator is not one of those that Ogive checks.
"""


class Finding(NamedTuple):
    """One operator of a model."""

    place: str
    """Where it is: what messages call the node, or the path in the JSON file"""
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
        """What a device of this level refuses."""
        return tuple(finding for finding in self.findings if finding.verdict == "refused")

    @property
    def checked(self) -> tuple[Finding, ...]:
        """What was held against feature levels."""
        return tuple(finding for finding in self.findings if finding.verdict in ("taken", "refused", "unknown"))

    @property
    def open(self) -> tuple[Finding, ...]:
        """What was not checked, or not wholly."""
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
