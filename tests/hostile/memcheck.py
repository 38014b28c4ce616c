"""Valgrind's memcheck over calls of every kind and level: part of `make sanitize` (Linux).

    python -m tests.hostile.memcheck

The kernels come from a cache that a first run fills, so that LLVM stays outside. Python's and NumPy's own reports are left out:
errors count that have a frame of the native extension, or of compiled code, which no file has.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]

#: Valgrind 3.19 does not know AVX-512.
TARGET = "x86-64-v3"

OPTIONS = ["--num-callers=30", "--error-limit=no", "--xml=yes"]


def calls() -> int:
    """Make the calls; how many there were."""
    import ogive
    from tests.hostile.failures import calls as kinds

    ogive.set_num_threads(2)
    rng = np.random.default_rng(0)
    exponents = np.repeat(np.arange(-149, 128), 4)
    signs = np.tile([1.0, -1.0], exponents.size // 2)
    x = np.ldexp(signs * rng.uniform(1, 2, exponents.size), exponents).astype(np.float32)  # all magnitudes: every level
    rows = rng.normal(size=(40, 64)).astype(np.float32)
    levels = {
        **{f"levels of {name}": getattr(ogive, name) for name in ("gelu", "mish", "softplus", "tanh", "sin", "log")},
        "levels of an own operator": ogive.operator(lambda t: 1.5 * ogive.softplus(t)),
        "levels of a gradient": ogive.grad(ogive.swish),
    }
    rows_of = {
        "levels of rows": ogive.row_operator(lambda t: ogive.softmax(t / 3)),
        "levels of normalised rows": ogive.softmax,
    }
    done = 0
    with np.errstate(all="ignore"):
        for make in kinds().values():
            for _ in range(2):
                make()
                done += 1
        for op in levels.values():
            for kind in (np.float32, np.float64, np.float16):
                op(x.astype(kind))
                op(x.astype(kind)[::-3])
                done += 2
        for op in rows_of.values():
            for axis in (0, 1):
                op(rows, axis=axis)
                op(np.asfortranarray(rows)[::2], axis=axis)
                done += 2
    return done


def is_ours(error: ET.Element) -> bool:
    """Whether a frame of an error is of the native extension, or of code that no file has. Leaks are the leak sanitizer's business."""
    if (error.findtext("kind") or "").startswith("Leak"):
        return False
    objects = [frame.findtext("obj") for stack in error.iter("stack") for frame in stack.iter("frame")]
    return any(name is None or "/_native." in name for name in objects)


def described(error: ET.Element) -> str:
    what = error.findtext("what") or error.findtext("xwhat/text")
    frames = (
        f"{frame.findtext('fn') or frame.findtext('ip')} ({frame.findtext('file') or frame.findtext('obj')}:{frame.findtext('line')})"
        for frame in error.iter("frame")
    )
    return "\n    ".join([f"{error.findtext('kind')}: {what}", *frames])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.memcheck", description=__doc__.splitlines()[0])
    parser.add_argument("--inside", action="store_true", help="make the calls in this process")
    if parser.parse_args(arguments).inside:
        print(f"{calls()} calls")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        environment = os.environ | {"OGIVE_CACHE": folder, "OGIVE_TARGET": TARGET, "PYTHONMALLOC": "malloc"}
        environment |= {"OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.hostile.memcheck", "--inside"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(
            ["valgrind", *OPTIONS, f"--xml-file={report}", *command], cwd=ROOT, env=environment, check=False
        )
        errors = list(ET.parse(report).getroot().iter("error"))
    ours = [error for error in errors if is_ours(error)]
    for error in ours:
        print(described(error))
    print(f"valgrind: {len(ours)} errors with a frame of Ogive, {len(errors) - len(ours)} of others")
    return int(bool(ours) or done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
