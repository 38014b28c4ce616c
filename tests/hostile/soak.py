"""Everything at once, for as long as asked: `make soak`.

    python -m tests.hostile.soak --seconds 660

Ten threads, some with small stacks, call operators of all types, sizes and layouts. Meanwhile a handler of signals calls them too,
another thread changes rounding modes, processors and numbers of threads, and forks; handlers fork inside of long calls. Every result is
compared bit by bit with the first one. Whatever differs, raises or hangs is printed, and makes the command fail.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import ogive

NAMES = [
    "gelu",
    "celu",
    "softmax",
    "log_softmax",
    "tanh",
    "sigmoid",
    "softplus",
    "mish",
    "exp",
    "log",
    "erf",
    "elu",
    "selu",
    "swish",
    "hard_sigmoid",
    "softsign",
    "shrink",
    "relu",
    "sin",
    "expm1",
    "sinh",
    "prelu",
    "pow",
]
SIZES = (1, 7, 64, 65, 1000, 4096, 4097, 30_000, 1 << 17)
TYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
SMALL_STACK = 256 << 10
SECONDS_OF_A_CHILD = 120


class Case(NamedTuple):
    name: str
    call: Callable[..., np.ndarray]
    inputs: tuple[np.ndarray, ...]
    keywords: dict[str, Any]
    right: bytes

    def is_right(self) -> bool:
        return self.call(*self.inputs, **self.keywords).tobytes() == self.right


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    found = []

    def add(name: str, *inputs: np.ndarray, **keywords: Any) -> None:
        call = getattr(ogive, name)
        found.append(Case(name, call, inputs, keywords, call(*inputs, **keywords).tobytes()))

    for name in NAMES:
        count = 2 if name in ("prelu", "pow") else 1
        for size in SIZES:
            for kind in TYPES:
                add(name, *((np.abs(rng.normal(size=size)) * 4).astype(kind) for _ in range(count)))
        matrix = rng.normal(size=(300, 301)).astype(np.float32)
        if name in ("softmax", "log_softmax"):
            for shape, axis in (
                ((40, 17), 0),
                ((5, 64, 9), (0, 2)),
                ((300, 300), 0),
                ((1, 1 << 16), -1),
                ((70_000, 3), 1),
            ):
                add(name, rng.normal(size=shape).astype(np.float32), axis=axis)
        else:
            for view in (matrix.T, matrix[::2, ::-3], matrix[:, 5:7], np.broadcast_to(matrix[0], (50, 301))):
                add(name, *([np.abs(view)] * count))
    return found


class Soak:
    def __init__(self, seconds: float) -> None:
        self.cases = cases()
        self.end = time.monotonic() + seconds
        self.tally: Counter[str] = Counter()
        self.bad: list[str] = []
        self.main = os.getpid()

    def note(self, text: str) -> None:
        self.bad.append(text)
        print(f"bad: {text}", flush=True)

    def check(self, rng: random.Random, what: str) -> None:
        case = rng.choice(self.cases)
        try:
            if not case.is_right():
                self.note(
                    f"{what}: {case.name} {[x.shape for x in case.inputs]} {case.inputs[0].dtype} {case.keywords}"
                )
        except BaseException as error:
            self.note(f"{what}: {case.name}: {error!r}")
        self.tally[what] += 1

    def work(self, number: int) -> None:
        rng = random.Random(number)
        while time.monotonic() < self.end:
            if rng.random() < 0.2:
                ogive.set_num_threads(rng.randrange(1, 9))
            self.check(rng, "calls")

    def child(self, pid: int) -> None:
        """Wait for a child, which says by its status whether its calls were right."""
        begin, ended = time.monotonic(), (0, 0)
        while ended == (0, 0):
            try:
                ended = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # another handler has forked while this one waited, and this is its child
                return
            if time.monotonic() - begin > SECONDS_OF_A_CHILD:
                self.note("a child hangs")
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)
        self.tally["children"] += 1
        if ended[1]:
            self.note(f"a child ends with status {ended[1]}")

    def disturb(self) -> None:
        """Rounding modes, processors, and forks."""
        rng, library = random.Random(99), ctypes.CDLL(None)
        processors = sorted(os.sched_getaffinity(0))
        modes = [0, 0x400, 0x800, 0xC00] if os.uname().machine == "x86_64" else [0]
        while time.monotonic() < self.end:
            library.fesetround(rng.choice(modes))
            self.check(rng, "calls with a rounding mode")
            library.fesetround(0)
            os.sched_setaffinity(0, [rng.choice(processors)] if rng.random() < 0.5 else processors)
            if rng.random() < 0.02:
                chosen = rng.sample(self.cases, 20)
                pid = os.fork()
                if pid == 0:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    os._exit(0 if all(case.is_right() for case in chosen) else 7)
                self.child(pid)
            time.sleep(0.001)

    def handle(self, *_: object) -> None:
        """A handler that calls, and at times forks where it is: in the middle of a call of the main thread."""
        if os.getpid() != self.main:
            return
        rng = random.Random(time.monotonic_ns())
        self.check(rng, "calls of handlers")
        if rng.random() < 0.02:
            pid = os.fork()
            if pid:
                self.child(pid)
            else:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def run(self) -> int:
        print(f"{len(self.cases)} cases", flush=True)
        signal.signal(signal.SIGALRM, self.handle)
        threads = [threading.Thread(target=self.work, args=(number,)) for number in range(6)]
        threading.stack_size(SMALL_STACK)
        threads += [threading.Thread(target=self.work, args=(6 + number,)) for number in range(3)]
        for thread in threads[6:]:
            thread.start()
        threading.stack_size(0)
        threads.append(threading.Thread(target=self.disturb))
        for thread in (*threads[:6], threads[9]):
            thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        rng = random.Random(5)
        while time.monotonic() < self.end:
            case = rng.choice(self.cases)
            is_right = case.is_right()
            if os.getpid() != self.main:  # a handler forked inside of this call
                os._exit(0 if is_right and rng.choice(self.cases).is_right() else 7)
            self.tally["calls of the main thread"] += 1
            if not is_right:
                self.note(f"main thread: {case.name}")
        signal.setitimer(signal.ITIMER_REAL, 0)
        for thread in threads:
            thread.join()
        total = sum(count for what, count in self.tally.items() if what != "children")
        print(f"{total} calls, {dict(self.tally)}, {len(self.bad)} bad", flush=True)
        return int(bool(self.bad))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    return Soak(parser.parse_args(arguments).seconds).run()


if __name__ == "__main__":
    sys.exit(main())
