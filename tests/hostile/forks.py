"""Forks inside of first long calls: `make forks`.

    python -m tests.hostile.forks --children 200

A handler of signals forks while a call compiles what its elements ask for and other threads have pieces of the result. Parent and child
go on with the call. Each compares its result with that of a second call, which one thread computes. The operators are formulas of
its own and the catalogue's, of both float types, and rows; the cache is empty, or has all kernels. Elements that nobody wrote, elements with other bits and children
that end otherwise are printed, and make the command fail.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]

CATALOGUE = [
    *(
        "tanh",
        "gelu",
        "mish",
        "softplus",
        "sigmoid",
        "swish",
        "erf",
        "selu",
        "elu",
        "celu",
        "softsign",
        "log",
        "sin",
        "cos",
    ),
    *("expm1", "sinh", "cosh", "log1p", "atan", "exp"),
]
KINDS = ("own", "catalogue", "float64", "rows")
UNWRITTEN = -77.0
SECONDS_OF_A_CHILD = 60

#: The outcomes that may not be: elements nobody wrote, elements with other bits, processes that end otherwise.
BAD = ("unwritten", "wrong", "broken")

CACHES = ("cold", "warm")

#: When the signal comes after the call has begun, in seconds: kernels are compiled then, or loaded from the cache.
DELAYS = (0.0003, 0.05)


def calls(kind: str, rng: np.random.Generator) -> list[tuple[Callable[..., np.ndarray], np.ndarray]]:
    """The operators of a kind, each with its input."""
    import ogive

    if kind == "rows":
        rows = rng.standard_normal((4096, 256), dtype=np.float32)
        own = [own_rows(0.75 + n / 8) for n in range(16)]
        return [(op, rows) for op in (ogive.softmax, ogive.log_softmax, *own)]
    x = rng.standard_normal(1 << 20, dtype=np.float32)
    if kind == "own":
        return [(own_elements(1.25 + n / 64), x) for n in range(20)]
    return [(getattr(ogive, name), x.astype(np.float64) if kind == "float64" else x) for name in CATALOGUE]


def own_elements(factor: float) -> Callable[..., np.ndarray]:
    import ogive

    return ogive.operator(lambda t: t * ogive.sigmoid(t * factor))


def own_rows(factor: float) -> Callable[..., np.ndarray]:
    import ogive

    return ogive.row_operator(lambda t: ogive.softmax(t * factor))


def inside(kind: str, seed: int) -> None:
    """Call each operator of a kind for the first time, and fork meanwhile. A line for each process: who, unwritten, wrong."""
    import ogive

    ogive.set_num_threads(2)
    rng, parent, is_calling = random.Random(seed), os.getpid(), False

    def handler(*_: object) -> None:
        if is_calling and os.fork() == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS_OF_A_CHILD)

    signal.signal(signal.SIGALRM, handler)
    for op, x in calls(kind, np.random.default_rng(seed)):
        with np.errstate(all="ignore"):
            op(x[:1])
            out = np.full_like(x, UNWRITTEN)
            is_calling = True
            signal.setitimer(signal.ITIMER_REAL, math.exp(rng.uniform(*map(math.log, DELAYS))))
            op(x, out=out)
            is_calling = False
            if os.getpid() == parent:
                signal.setitimer(signal.ITIMER_REAL, 0)
            ogive.set_num_threads(1)
            right = op(x)
            ogive.set_num_threads(2)
        unwritten = int((out == UNWRITTEN).sum())
        wrong = int((out.view(np.uint8) != right.view(np.uint8)).reshape(x.size, -1).any(1).sum())
        is_child = os.getpid() != parent
        os.write(1, f"{'children' if is_child else 'parents'} {unwritten} {wrong}\n".encode())
        if is_child:
            os._exit(0)
    while True:
        try:
            _, status = os.wait()
        except ChildProcessError:
            return
        if status:
            os.write(1, b"broken\n")


def run(children: int) -> int:
    """Processes of each kind until there are so many children."""
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for state in CACHES:
            for kind in KINDS:
                environment = os.environ | {"OGIVE_CACHE": folder if state == "warm" else "off"}
                command = [sys.executable, "-m", "tests.hostile.forks", "--inside", kind]
                if state == "warm":
                    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
                found, seed = Counter[str](), 0
                while found["children"] < children / (len(CACHES) * len(KINDS)) and seed < children:
                    seed += 1
                    done = subprocess.run(
                        [*command, "--seed", str(seed)],
                        cwd=ROOT,
                        env=environment,
                        check=False,
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                    found["broken"] += done.returncode != 0
                    for line in done.stdout.splitlines():
                        who, *counts = line.split()
                        found[who] += 1
                        found.update(dict(zip(("unwritten", "wrong"), map(int, counts), strict=False)))
                print(f"{kind}, {state} cache: {described(found)}", flush=True)
                tally.update(found)
    print(f"all: {described(tally)}")
    return int(tally["children"] < children or any(tally[what] for what in BAD))


def described(found: Counter[str]) -> str:
    return ", ".join(f"{found[what]} {what}" for what in ("children", "parents", *BAD))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.forks", description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=100)
    parser.add_argument("--inside", choices=KINDS, help="make the calls of this kind in this process")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    if chosen.inside is not None:
        inside(chosen.inside, chosen.seed)
        return 0
    return run(chosen.children)


if __name__ == "__main__":
    sys.exit(main())
