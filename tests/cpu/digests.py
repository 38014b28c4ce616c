"""Print a digest of every kernel of the catalogue: of its results on the fixed set of exported functions.

`python -m tests.cpu.digests`. Two machines print the same (.ci/aarch64). ``--dtype float64`` has the functions of one type,
``--only NAME ...`` those of some operators.

``--everywhere`` compares them among the levels of this processor, C by this machine's compiler, C for AArch64 under
qemu-aarch64, and OpenCL on the first device that can compute. C has no enclosures, so digests are of results without
them. OpenCL leaves to the host what enclosures decide: its digests are beside those of results with them.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ogive.catalog import OPERATORS
from ogive.exporting.sources import ExportSource, fnv, source_of_operator
from ogive.operators.operator import Operator

__all__ = ["Function", "compared", "everywhere", "functions"]

#: By name: a compiler with its options, and what runs its programs.
IN_C: dict[str, tuple[list[str], list[str]]] = {
    "C": (["cc", "-O1"], []),
    "C, AArch64": (["aarch64-linux-gnu-gcc", "-O1", "-static"], ["qemu-aarch64"]),
}

#: The name of a digest of results with enclosures.
DECIDED = "{}, with enclosures"

Digests = dict[str, str]


class Function(NamedTuple):
    """An operator for one combination of element types."""

    op: Operator
    source: ExportSource

    @property
    def name(self) -> str:
        return self.source.interface.name

    @property
    def required(self) -> dict[str, Any]:
        return {p.name: 1.5 for p in self.op.numeric_parameters if p.is_required}


def functions(dtype: str | None = None, only: Sequence[str] = ()) -> list[Function]:
    """The functions of the catalogue; those whose operands are of one type."""
    return [
        Function(op, source_of_operator(op, [t.name for t in (*signature.inputs, *signature.outputs)], {}, {}, None))
        for op in OPERATORS.values()
        if not only or op.name in only
        for signature in op.signatures
        if dtype is None or {t.name for t in signature.inputs} == {dtype}
    ]


def of_level(level: str, asked: Sequence[str]) -> Digests:
    """The digests of another process, whose kernels are of a level of this processor."""
    command = [sys.executable, "-m", "tests.cpu.digests", "--decided", *asked]
    environment = os.environ | {"OGIVE_TARGET": level}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: digest for digest, name in (line.split(" ", 1) for line in done.stdout.splitlines())}


def in_c(name: str, every: Sequence[Function]) -> Digests:
    """The digests that the self-test of each function prints."""
    from ogive.exporting.exported import export_sources

    (compiler, emulator), found = IN_C[name], {}
    for function in every:
        with tempfile.TemporaryDirectory() as folder:
            for file, content in export_sources([function.source], "one", self_test=True).files.items():
                (Path(folder) / file).write_bytes(content)
            subprocess.run([*compiler, "-o", "test", "one.c", "one_test.c"], cwd=folder, check=True)
            done = subprocess.run([*emulator, "./test"], cwd=folder, capture_output=True, text=True, check=False)
        found |= {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}
    return found


def on_device(every: Sequence[Function]) -> Digests:
    """The digests of an OpenCL device; none where there is no device."""
    try:
        import pyopencl as cl
        import pyopencl.array as cla

        import ogive

        device = next(device for device in ogive.opencl.devices() if not device.why_not)
    except (ImportError, StopIteration):
        return {}
    queue, found = cl.CommandQueue(cl.Context([device.handle])), {}
    for function in every:
        results = []
        for inputs in function.source.inputs():
            arrays = [cla.to_device(queue, x) for x in inputs]
            made: Any = ogive.opencl.function(function.op)(*arrays, **function.required)
            results += [array.get() for array in (made if isinstance(made, tuple) else (made,))]
        found[DECIDED.format(function.name)] = f"{fnv(results):016x}"
    return found


def compared(levels: dict[str, Digests]) -> list[str]:
    """A line for each digest: where it is which."""
    lines = []
    for name in sorted({name for digests in levels.values() for name in digests}):
        where: dict[str, list[str]] = {}
        for place, digests in levels.items():
            if name in digests:
                where.setdefault(digests[name], []).append(place)
        said = "; ".join(f"{digest} {' = '.join(places)}" for digest, places in where.items())
        lines.append(f"{'' if len(where) == 1 else 'DIFFERENT '}{name}: {said}")
    return lines


def everywhere(every: Sequence[Function], asked: Sequence[str]) -> list[str]:
    """The digests compared; ``asked`` are the options that ask another process for the same functions."""
    from ogive.backends.target import runnable_targets

    found = {level: of_level(level, asked) for level in runnable_targets()}
    for name, (compiler, emulator) in IN_C.items():
        if all(map(shutil.which, [compiler[0], *emulator[:1]])):
            found[name] = in_c(name, every)
    found["OpenCL"] = on_device(every)
    return compared(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--dtype", help="the type of all operands")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these operators")
    parser.add_argument("--decided", action="store_true", help="print digests of results with enclosures, too")
    parser.add_argument("--everywhere", action="store_true", help="compare levels, C and OpenCL")
    chosen = parser.parse_args()
    every = functions(chosen.dtype, chosen.only)
    if chosen.everywhere:
        asked = [
            *(["--dtype", chosen.dtype] if chosen.dtype else []),
            *(["--only", *chosen.only] if chosen.only else []),
        ]
        lines = everywhere(every, asked)
        print("\n".join(lines))
        different = sum(line.startswith("DIFFERENT") for line in lines)
        print(f"{len(lines)} digests of {len(every)} functions on {platform.machine()}: {different} differ")
        sys.exit(1 if different else 0)
    for function in every:
        print(f"{function.source.digest:016x} {function.name}", flush=True)
        if chosen.decided:
            digest = fnv(function.source.results(has_enclosures=True))
            print(f"{digest:016x} {DECIDED.format(function.name)}", flush=True)


if __name__ == "__main__":
    main()
