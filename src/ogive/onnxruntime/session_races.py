"""Sessions of ONNX Runtime that are timed against each other: they take turns, and medians count.

The changes that `optimize` has made, as data and as text.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from ogive.errors import needed

#: One timing repeats a run until it takes about this long.
SECONDS_A_TIMING = 2e-3

#: How often each of two sessions is timed, and how long that takes together, unless the least number takes longer.
MOST_ROUNDS, LEAST_ROUNDS, SECONDS_A_RACE = 41, 9, 2.0

#: The interval of 95 % of a median, in quartile distances over the root of the count: McGill, Tukey, Larsen 1978.
NOTCH = 1.57


def imported(subject: str) -> Any:
    """The package onnxruntime."""
    with needed(subject, "onnxruntime", "onnxruntime"):
        import onnxruntime
    return onnxruntime


@dataclass(frozen=True)
class Race:
    """How long two sessions take."""

    before: float
    """Seconds a run of the first one, the median."""
    after: float
    """Seconds a run of the second one, the median."""
    ratio: float
    """The second one's time to the first one's: the median of the rounds."""
    noise: float
    """How far the ratio may be off, with a probability of 95 %."""

    @property
    def is_won(self) -> bool:
        """Whether the second one is faster by more than the noise."""
        return self.ratio + self.noise < 1


@dataclass(frozen=True)
class Sessions:
    """How sessions are made, all with the same options."""

    threads: int | None
    """The number of threads of one operator; None is ONNX Runtime's default."""

    def options(self, library: Path | None = None) -> Any:
        """SessionOptions; they say nothing less than errors."""
        options = imported("ogive.onnxruntime.optimize").SessionOptions()
        options.log_severity_level = 3
        if self.threads is not None:
            options.intra_op_num_threads = self.threads
        if library is not None:
            options.register_custom_ops_library(str(library))
        return options

    def session(self, model: ModelProto, library: Path | None = None, options: Any = None) -> Any:
        """A session on the CPU."""
        runtime = imported("ogive.onnxruntime.optimize")
        options = self.options(library) if options is None else options
        return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def race(self, first: Any, second: Any, feeds: Mapping[str, np.ndarray], seconds: float = SECONDS_A_RACE) -> Race:
        """Time two sessions in turns. One thread is timed by what it computes, several by the clock on the wall."""
        clock = time.thread_time if self.threads == 1 else time.perf_counter
        runs = [partial(session.run, None, feeds) for session in (first, second)]
        for run in runs:
            run()
        once = max(_seconds(runs[0], 1, clock), 1e-7)
        repeats = max(1, int(SECONDS_A_TIMING / once))
        rounds = int(seconds / (2 * once * repeats))
        taken: list[list[float]] = [[], []]
        for turn in range(max(LEAST_ROUNDS, min(rounds, MOST_ROUNDS))):
            for place in (0, 1) if turn % 2 else (1, 0):  # who comes second finds what the first has left in the caches
                taken[place].append(_seconds(runs[place], repeats, clock))
        ratios = [after / max(before, 1e-9) for before, after in zip(*taken, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        noise = NOTCH * (high - low) / len(ratios) ** 0.5
        return Race(statistics.median(taken[0]), statistics.median(taken[1]), middle, noise)


def _seconds(run: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    begin = clock()
    for _ in range(repeats):
        run()
    return (clock() - begin) / repeats


# ---- what `optimize` has done, as data and as text


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
    """The model that came back, and why."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        times = "" if self.race is None else f" ({_times(self.race, 'model')})"
        yield f"{self.verdict}{times}"
        for group in sorted(self.groups, key=lambda group: not group.is_kept):
            yield f"  {group}"


def _times(race: Race, what: str) -> str:
    return f"{what}: {1e6 * race.before:.1f} -> {1e6 * race.after:.1f} us, ratio {race.ratio:.3f} +- {race.noise:.3f}"
