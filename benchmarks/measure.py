"""Timing that can be compared: every contestant has a process of its own, they take turns, medians count.

Machines are noisy and drift; a ratio of medians from interleaved rounds is what holds. Processes of their own
because thread pools go on spinning after a call and would slow down whoever comes next.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from timeit import Timer

import numpy as np

from benchmarks.cases import Case
from benchmarks.model_peers import MODEL_PEERS
from benchmarks.models import ModelCase
from benchmarks.peers import PEERS, Prepared, prepare

__all__ = ["Contestants", "Outcome"]

#: One timing repeats the call until it takes about this long.
SECONDS_A_TIMING = 3e-3

#: Every turn begins with so many seconds that are not timed: woken threads may need some milliseconds to get a
#: processor, and what is compared is how fast calls in a row are.
WARM_UP = 8e-3

#: How long a contestant looks at its own processor time after a turn, again and again, until it hardly grows: thread
#: pools go on spinning after a call, ONNX Runtime's for 26 ms, and would take a processor from whoever comes next. The
#: kernel counts what other threads use at its ticks, 4 or 10 ms apart: within 3 ms a thread that spins looks idle.
LOOK = 12e-3
IDLE_SHARE = 0.1
#: A peer that still spins then is not waited for.
LONGEST_PAUSE = 0.3

#: Calls in place between which nothing is restored.
CALLS_IN_PLACE = 16

#: The time of no call is the clock's own.
NOTHING = Timer("pass")

#: How many elements of a result are compared with exact ones.
COMPARED = 1 << 16


def _repeats(timer: Timer) -> int:
    """How many calls make one timing; also warms the call up."""
    timer.timeit(3)
    once = min(timer.repeat(3, 1))
    return max(1, min(20_000, int(SECONDS_A_TIMING / max(once, 1e-8))))


def _begin_on(processor: int) -> None:
    """Go to a processor, which may be left again: who shares the machine may slow down one processor for seconds, and
    in one round all contestants begin on the same.
    """
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[processor % len(allowed)]})
        os.sched_setaffinity(0, allowed)


def _turn(prepared: Prepared, repeats: int) -> float:
    """Seconds a call, in a row of calls."""
    warm = time.perf_counter() + WARM_UP
    while time.perf_counter() < warm:
        _some_calls(prepared, min(repeats, CALLS_IN_PLACE))
    return _some_calls(prepared, repeats)


def _some_calls(prepared: Prepared, repeats: int) -> float:
    """Seconds a call. The effect of calls in place is undone every few calls: or all would end at zero, infinity
    or subnormal numbers, at which some are slow. The clock's own time, which is 3 ns a call then, is not
    counted.
    """
    if prepared.restore is None:
        return prepared.timer.timeit(repeats) / repeats
    seconds, left = 0.0, repeats
    while left > 0:
        calls = min(left, CALLS_IN_PLACE)
        prepared.restore()
        prepared.timer.timeit(1)
        seconds += prepared.timer.timeit(calls) - NOTHING.timeit(0)
        left -= calls
    return seconds / repeats


def _settle() -> None:
    """Wait until the threads of this process have stopped spinning."""
    give_up = time.perf_counter() + LONGEST_PAUSE
    while time.perf_counter() < give_up:
        used, since = time.process_time(), time.perf_counter()
        time.sleep(LOOK)
        if time.process_time() - used < IDLE_SHARE * (time.perf_counter() - since):
            return


def _serve(pipe: Connection, peer: str) -> None:
    """A contestant: prepare the case it is sent, then time it whenever it is asked, by the number of a round."""
    prepared: Prepared | None = None
    repeats = 1
    while True:
        request = pipe.recv()
        try:
            if request is None:
                return
            if isinstance(request, int):
                assert prepared is not None
                _begin_on(request)
                seconds = _turn(prepared, repeats)
                _settle()
                pipe.send(seconds)
            else:
                prepared = None  # its memory first
                _, adapter = (MODEL_PEERS if isinstance(request, ModelCase) else PEERS)[peer]
                prepared = prepare(adapter, request)
                if prepared is None:
                    pipe.send(None)
                    continue
                prepared.timer.timeit(1)
                result = np.asarray(prepared.result()).reshape(-1)[:COMPARED].copy()
                repeats = _repeats(prepared.timer)
                _settle()
                pipe.send(result)
        except Exception as error:  # a peer that refuses a case is a fact to report, not a reason to stop
            prepared = None
            pipe.send(f"{type(error).__name__}: {error}"[:200])


class Outcome:
    """The outcome of a case: seconds per call, results to compare, and why others did not take part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.results: dict[str, np.ndarray] = {}
        self.refused: dict[str, str] = {}


class Contestants:
    """The processes. Use as a context manager."""

    def __init__(self, peers: Sequence[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes: dict[str, Connection] = {}
        self.processes = []
        for peer in peers:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, peer), daemon=True)
            process.start()
            theirs.close()
            self.pipes[peer] = ours
            self.processes.append(process)

    def __enter__(self) -> Contestants:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self.pipes.values():
            try:
                pipe.send(None)
            except OSError:
                continue
        for process in self.processes:
            process.join(10)
            if process.is_alive():
                process.kill()

    def run(self, case: Case | ModelCase, rounds: int, of_turns: Callable[[list[float]], float]) -> Outcome:
        """Time a case: a turn for each, round after round; and make one number of a contestant's turns."""
        outcome = Outcome()
        for peer in list(self.pipes):
            answer = self._ask(peer, case)
            if isinstance(answer, str):
                outcome.refused[peer] = answer
            elif answer is not None:
                outcome.results[peer] = answer
        timings: dict[str, list[float]] = {peer: [] for peer in outcome.results}
        for turn in range(rounds):
            for peer, taken in timings.items():
                answer = self._ask(peer, turn)
                if isinstance(answer, float):
                    taken.append(answer)
        outcome.seconds = {peer: of_turns(taken) for peer, taken in timings.items() if taken}
        return outcome

    def _ask(self, peer: str, request: object) -> object:
        try:
            self.pipes[peer].send(request)
            return self.pipes[peer].recv()
        except (EOFError, OSError):  # it crashed: it takes part no more
            self.pipes.pop(peer, None)
            return "its process ended"
