"""The further seeds of `make fuzz`: inputs that reach code which the targets' own seeds do not.

    python -m tests.hostile.corpus onnx --seconds 600 --most 300000

A target is fuzzed for so long. Of all inputs that it found, and of those that are there, the smallest ones are kept that
add a step from one line to another. The corpus of all targets stays below a MiB.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from tests.hostile.fuzz import CORPUS, TARGETS, Target, corpus_of

#: A file, and the lines of a step.
Step = tuple[str, int, int]

_LONGEST = 12_000


class Steps:
    """The steps that inputs take through the modules of a target."""

    def __init__(self, target: Target, modules: Sequence[str]) -> None:
        self.target = target
        self.parts = tuple(f"/{name.replace('.', '/')}" for name in modules)
        self.taken: set[Step] = set()

    def of(self, data: bytes) -> set[Step]:
        self.taken = set()
        sys.settrace(self._enter)
        try:
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.target.survives(data)
        finally:
            sys.settrace(None)
        return self.taken

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not any(part in file for part in self.parts):
            return None
        last = frame.f_code.co_firstlineno

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            self.taken.add((file, last, frame.f_lineno))
            last = frame.f_lineno
            return step

        return step


def chosen(target: Target, modules: Sequence[str], found: Sequence[bytes], most: int) -> list[bytes]:
    """The inputs that add steps, the smallest ones first, of at most so many bytes."""
    steps, known, kept, size = Steps(target, modules), set[Step](), list[bytes](), 0
    for data in target.seeds:
        known |= steps.of(data)
    own = len(known)
    for data in sorted(set(found), key=lambda data: (len(data), data)):
        more = steps.of(data) - known
        if more and size + len(data) <= most and len(data) <= _LONGEST:
            known |= more
            kept.append(data)
            size += len(data)
    print(
        f"{len(kept)} of {len(found)} inputs, {size} bytes: {own} steps of the target's own seeds, {len(known)} with them"
    )
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--most", type=int, default=100_000, help="bytes of the corpus of this target")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ogive-fuzz-") as folder:
        command = [sys.executable, "-m", "tests.hostile.fuzz", options.target, "--seconds", str(options.seconds)]
        subprocess.run([*command, "--found", folder], check=True)
        found = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    target: Target = importlib.import_module(f"tests.hostile.{options.target}_target").TARGET
    kept = chosen(target, TARGETS[options.target], [*found, *corpus_of(options.target)], options.most)
    place = CORPUS / options.target
    place.mkdir(parents=True, exist_ok=True)
    for path in place.iterdir():
        path.unlink()
    for data in kept:
        (place / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
