"""Damaged input for every reader, led by what of the readers' code has run: `make fuzz`, or one target by its name.

    python -m tests.hostile.fuzz onnx --seconds 60

Whatever is given must run, or be refused by an error of Ogive's with a sentence. All else is printed, kept under the folder of
``--output``, and makes the command fail: other exceptions, results of two runs that differ, inputs that take more than seconds.
A crash ends the process with libFuzzer's own report, which keeps the input too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: The targets, and the parts of the package whose branches lead the way.
TARGETS = {
    "onnx": ("ogive.onnx", "ogive.engine", "ogive.engine.movement"),
    "dxdispatch": ("ogive.dxdispatch", "ogive.directml"),
    "webnn": ("ogive.webnn",),
    "results": ("ogive.judge.reports", "ogive.golden", "ogive.common.array_files"),
    "cache": ("ogive.runtime.cache",),
    "packs": ("ogive.runtime.wheel_kernels",),
    "pickles": ("ogive.operators.pickling",),
}

#: Further seeds, which reach more code than the targets' own: `python -m tests.hostile.corpus` chooses them.
CORPUS = Path(__file__).parent / "corpus"

#: An input that takes longer at the processor is reported; libFuzzer reports one that waits for 120 seconds.
SECONDS_OF_AN_INPUT = 20

_BYTES_OF_THE_PROCESS = 8 << 30


@dataclass
class Target:
    """How a reader is fed."""

    seeds: Sequence[bytes]
    survives: Callable[[bytes], bool]
    """Reads; whether it was accepted. Raises what the reader raises."""
    change: Callable[[bytes, random.Random], bytes] | None = None
    """Changes the structure of what the bytes say. Without it bytes are changed."""
    is_refusal: Callable[[BaseException], bool] = lambda error: False
    """Whether an exception that is no error of Ogive's is one that the reader may raise."""


@dataclass
class Tally:
    """The outcomes of the inputs."""

    inputs: int = 0
    accepted: int = 0
    unclear: dict[str, bytes] = field(default_factory=dict)

    def note(self, kind: str, data: bytes, folder: Path) -> None:
        if kind not in self.unclear:
            self.unclear[kind] = data
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{len(self.unclear)}-{os.getpid()}").write_bytes(data)
            print(f"unclear: {kind}", flush=True)


def one(target: Target, tally: Tally, folder: Path, data: bytes) -> None:
    """Give an input to the reader, and note what may not be."""
    from ogive.errors import OgiveError

    tally.inputs += 1
    begin = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tally.accepted += target.survives(data)
    except OgiveError as error:
        if len(str(error)) <= 10:
            tally.note(f"no sentence: {error!r}", data, folder)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if not target.is_refusal(error):
            tally.note(f"{type(error).__name__} {_place(error)} {str(error)[:120]}".split(" '")[0], data, folder)
    if time.process_time() - begin > SECONDS_OF_AN_INPUT:
        tally.note(f"it takes {time.process_time() - begin:.0f} s", data, folder)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = [frame for frame in frames if f"{os.sep}ogive{os.sep}" in frame.filename] or frames
    return f"{Path(last[-1].filename).name}:{last[-1].lineno}"


def changed_bytes(target: Target, data: bytes, most: int, seed: int) -> bytes:
    import atheris

    rng = random.Random(seed)
    if target.change is None or rng.random() < 0.1:
        return bytes(atheris.Mutate(data, most))
    changed = target.change(data, rng)
    return changed if len(changed) <= most else data


def corpus_of(name: str) -> list[bytes]:
    """The further seeds of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="stop after so many inputs, if that is earlier")
    parser.add_argument("--output", type=Path, default=Path("build/fuzz"), help="where inputs that fail are kept")
    parser.add_argument("--found", type=Path, help="a folder for all inputs that reach more code")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    chosen = parser.parse_args(arguments)
    import atheris  # it has wheels for few versions of Python, and what reads this file's dataclasses needs none

    resource.setrlimit(resource.RLIMIT_AS, (_BYTES_OF_THE_PROCESS, _BYTES_OF_THE_PROCESS))
    with atheris.instrument_imports(include=list(TARGETS[chosen.target])):
        for module in TARGETS[chosen.target]:
            importlib.import_module(module)
    target: Target = importlib.import_module(f"tests.hostile.{chosen.target}_target").TARGET
    scratch = tempfile.TemporaryDirectory(prefix="ogive-fuzz-")
    folder, tally, begin = chosen.output / chosen.target, Tally(), time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)

    def test_one(data: bytes) -> None:
        one(target, tally, folder, data)
        if time.monotonic() - begin > chosen.seconds or tally.inputs >= chosen.inputs:
            print(
                f"{chosen.target}: {tally.inputs} inputs in {time.monotonic() - begin:.0f} s, {tally.accepted} accepted, "
                f"{len(tally.unclear)} kinds unclear",
                flush=True,
            )
            scratch.cleanup()
            os._exit(bool(tally.unclear))  # libFuzzer has no other way out that says nothing

    with scratch:
        corpus = chosen.found or Path(scratch.name)
        corpus.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate([*target.seeds, *corpus_of(chosen.target)]):
            (corpus / str(number)).write_bytes(data)
        options = ["-max_len=30000", "-timeout=120", "-rss_limit_mb=0", "-verbosity=0", f"-seed={chosen.seed}"]
        options += [f"-artifact_prefix={folder}{os.sep}crash-", str(corpus)]
        atheris.Setup([sys.argv[0], *options], test_one, custom_mutator=lambda *a: changed_bytes(target, *a))
        with contextlib.suppress(KeyboardInterrupt):
            atheris.Fuzz()


if __name__ == "__main__":
    main()
