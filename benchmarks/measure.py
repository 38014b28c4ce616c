"""Timing that can be compared: every contestant has a process of its own, they take turns, medians count.

Machines are noisy and drift; a ratio of medians from interleaved rounds is what holds. Processes of their own
because thread pools go on spinning after a call and would slow down whoever comes next.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.peers import prepare

__all__ = ["Contestants"]

#: One timing repeats the call until it takes about this long.
SECONDS_A_TIMING = 3e-3

#: Between two turns: longer than the thread pools that we know spin.
PAUSE = 4e-3


def _repeats(call: Callable[[], object]) -> int:
    """How many calls make one timing; also warms the call up."""
    for _ in range(3):
        call()
    begin = time.perf_counter()
    call()
    once = max(time.perf_counter() - begin, 1e-8)
    return max(1, min(20_000, int(SECONDS_A_TIMING / once)))


def _serve(pipe: Connection, peer: str) -> None:
    """A contestant: prepare the case it is sent, then time it whenever it is asked."""
    call: Callable[[], object] | None = None
    repeats = 1
    while True:
        request = pipe.recv()
        try:
            if request is None:
                return
            if request == "time":
                assert call is not None
                begin = time.perf_counter()
                for _ in range(repeats):
                    call()
                pipe.send((time.perf_counter() - begin) / repeats)
            else:
                call = prepare(peer, request)
                if call is not None:
                    repeats = _repeats(call)
                pipe.send(call is not None)
        except Exception as error:  # a peer that refuses a case is a fact to report, not a reason to stop
            call = None
            pipe.send(f"{type(error).__name__}: {error}")


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
            self.pipes[peer] = ours
            self.processes.append(process)

    def __enter__(self) -> Contestants:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self.pipes.values():
            pipe.send(None)
        for process in self.processes:
            process.join(10)

    def medians(self, case: Any, rounds: int) -> tuple[dict[str, float], dict[str, str]]:
        """Seconds per call of those that take part, and what the others said."""
        answers = {}
        for peer, pipe in self.pipes.items():
            pipe.send(case)
            answers[peer] = pipe.recv()
        running = [peer for peer, answer in answers.items() if answer is True]
        timings: dict[str, list[float]] = {peer: [] for peer in running}
        for _ in range(rounds):
            for peer in running:
                time.sleep(PAUSE)
                self.pipes[peer].send("time")
                timings[peer].append(self.pipes[peer].recv())
        refused = {peer: str(answer) for peer, answer in answers.items() if isinstance(answer, str)}
        return {peer: statistics.median(values) for peer, values in timings.items()}, refused
