"""What `optimize` has done, as data and as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ogive.onnxruntime.session_races import Race

__all__ = ["GroupReport", "OptimizationReport"]


@dataclass(frozen=True)
class GroupReport:
    """Fusion groups of one kind: the same operators with the same neighbours."""

    operators: tuple[str, ...]
    """The operators of one of them."""
    count: int
    """How many there are."""
    is_kept: bool
    """Whether custom operators of Ogive take their place."""
    reason: str
    """Why, or why not."""
    race: Race | None = None
    """How long ONNX Runtime and Ogive take: for one of them, or for the whole model with and without these groups."""
    is_of_model: bool = False
    """Whether the whole model was timed, because groups beside a convolution change how it is computed."""

    def __str__(self) -> str:
        times = f"{self.count} x {' + '.join(self.operators)}: {'kept' if self.is_kept else 'left'}, {self.reason}"
        return times if self.race is None else f"{times} ({_times(self.race, 'model' if self.is_of_model else 'each')})"


@dataclass(frozen=True)
class OptimizationReport:
    """The findings, choices and times of `optimize`."""

    groups: tuple[GroupReport, ...]
    """All that Ogive could compute, kind by kind."""
    nodes: int
    """How many nodes of ONNX Runtime's graph the custom operators stand for."""
    operators: int
    """How many custom operators there are in the model."""
    race: Race | None
    """The model that came in and the one that came out, where they were timed."""
    verdict: str
    """Which model came back, and why."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        times = "" if self.race is None else f" ({_times(self.race, 'model')})"
        yield f"{self.verdict}{times}"
        for group in sorted(self.groups, key=lambda group: not group.is_kept):
            yield f"  {group}"


def _times(race: Race, what: str) -> str:
    return f"{what}: {1e6 * race.before:.1f} -> {1e6 * race.after:.1f} us, ratio {race.ratio:.3f} +- {race.noise:.3f}"
