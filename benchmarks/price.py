"""``python -m benchmarks.price --old PATH``: the catalogue's float32 kernels beside those of another commit, on one thread.

PATH is a checkout of that commit with its native module built. Each of the two has a process of its own, which the other
waits for; they take turns. A turn is many short timings of calls in a row, and its result their median, so that a turn on
a busy machine is still a good one. The ratio is that of the medians of all turns.

With ``--dtype float64`` it is the elements of the catalogue and their derivatives, ``grad(gelu, 0)`` by the first operand, and
how many of them take more than 1.5 times as long.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks import figures
from benchmarks.cases import Case, cases
from benchmarks.kernels import digest_of
from benchmarks.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BUILT", "Checkout", "compared", "doubles"]

HERE = Path(__file__).resolve().parent.parent

#: How long one timing and all timings of a turn take, in seconds.
OF_A_TIMING, OF_A_TURN = 4e-4, 3e-2

#: How many times as long float64 may take, and how many of the slowest are printed.
ALLOWED, SLOWEST = 1.5, 10


def _is_built(root: Path) -> bool:
    return any(path.suffix != ".pyi" for path in (root / "src" / "ogive").glob("_native*"))


#: This checkout if its native module is built; None: the package that is installed.
BUILT = HERE if _is_built(HERE) else None


#: A child with a checkout finds the package by PYTHONPATH: an editable installation would be found before any path.
_START = """
import sys
if "--old" in sys.argv:
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
from benchmarks.price import main
main()
"""


class Checkout:
    """A process that computes with the package of one checkout, or of None with the installed one."""

    def __init__(self, root: Path | None, accuracy: str = "exact") -> None:
        paths = os.pathsep.join(str(path) for path in ((HERE,) if root is None else (root / "src", HERE)))
        environment = {**os.environ, "PYTHONPATH": paths, "OGIVE_NUM_THREADS": "1", "OGIVE_ACCURACY": accuracy}
        environment |= {"OGIVE_CACHE": str((root or HERE) / "build" / "cache"), "OGIVE_PACKS": "off"}
        command = [sys.executable, "-c", _START, "--serve", *(() if root is None else ("--old", str(root)))]
        self.process = subprocess.Popen(
            command, env=environment, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *request: object) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def _serve(root: Path | None) -> None:
    """Prepare a case, then time it whenever asked to; answer with seconds a call, or None where there is no such case."""
    import ogive

    if root is not None and not Path(ogive.__file__).is_relative_to(root.resolve()):
        raise ImportError(f"--old: {ogive.__file__} does not lie in {root}")

    call: Callable[[], object] | None = None
    repeats = 1
    for line in sys.stdin:
        request = json.loads(line)
        if request:
            call, repeats = _prepared(ogive, *request), 1
            if call is not None:
                repeats = max(1, round(OF_A_TIMING / _timed(call, 3)))
        print(json.dumps(None if call is None else _turn(call, repeats)), flush=True)


def _double(ogive: Any, name: str, size: int) -> Callable[[], object] | None:
    """An operator of the catalogue, or its derivative by an operand, in float64."""
    base, _, number = name.removeprefix("grad(").rstrip(")").partition(", ")
    op = ogive.catalog.OPERATORS.get(base)
    if op is None:
        return None
    given = {p.name: -1.0 if p.name == "min" else 0.75 for p in op.parameters if p.is_required}
    arrays = Case("float64", base, ("x",) * op.inputs, ((size,),) * op.inputs, dtype="float64").arrays()
    op = ogive.grad(op, int(number)) if number else op
    function = op.bind(**given) if given else op
    with np.errstate(all="ignore"):
        out = np.empty_like(function(*arrays))

    def call() -> None:
        with np.errstate(all="ignore"):
            function(*arrays, out=out)

    return call


def doubles() -> list[str]:
    """The elements of the catalogue in float64, and their derivatives."""
    import ogive
    from ogive.errors import OgiveError

    found: list[str] = []
    for name, op in ogive.catalog.OPERATORS.items():
        types = [{kind.name for kind in (*s.inputs, *s.outputs)} for s in op.signatures if len(s.outputs) == 1]
        if op.is_row_wise or {"float64"} not in types:
            continue
        found.append(name)
        for number in range(op.inputs):
            try:
                ogive.grad(op, number)
            except OgiveError:
                continue
            found.append(f"grad({name}, {number})")
    return found


def _prepared(ogive: Any, name: str, size: int, dtype: str = "float32") -> Callable[[], object] | None:
    if dtype == "float64":
        return _double(ogive, name, size)
    function = getattr(ogive, "gelu" if name == "gelu_tanh" else name, None)
    case = _case(name, size)
    if function is None or case is None:
        return None
    if name == "gelu_tanh":
        function = function.bind(approximate="tanh")
    parameters = dict(case.parameters)
    if parameters:
        function = function.bind(**parameters)
    arrays = case.arrays()
    out = np.empty(case.result_shape, np.float32)
    if len(arrays) == 1:
        only = arrays[0]
        return lambda: function(only, out=out)
    return lambda: function(*arrays, out=out)


def _case(name: str, size: int) -> Case | None:
    found = [case for case in cases("float32", (name,), (size,), 1) if not case.in_place]
    found = found or [case for case in cases("fast", (name,), (size,), 1) if not case.in_place]
    return found[0] if found else None


def _timed(call: Callable[[], object], repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def _turn(call: Callable[[], object], repeats: int) -> float:
    found: list[float] = []
    end = time.perf_counter() + OF_A_TURN
    while not found or time.perf_counter() < end:
        found.append(_timed(call, repeats))
    return statistics.median(found)


def compared(
    new: Checkout, old: Checkout, names: Sequence[str], size: int, rounds: int, dtype: str = "float32"
) -> dict[str, tuple[float, float]]:
    """Seconds a call, old and new, of the operators that both have."""
    found = {}
    for name in names:
        if any(checkout.ask(name, size, dtype) is None for checkout in (old, new)):
            continue
        turns = [(old.ask(), new.ask()) for _ in range(rounds)]
        found[name] = (statistics.median(a for a, _ in turns), statistics.median(b for _, b in turns))
    return found


@click.command(help=__doc__)
@click.option("--old", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The other checkout.")
@click.option("--accuracy", type=click.Choice(["exact", "fast"]), default="exact", show_default=True)
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", show_default=True)
@click.option("--operator", "operators", multiple=True, help="Only these operators.")
@click.option("--size", default=1 << 16, show_default=True, help="Elements.")
@click.option("--rounds", default=9, show_default=True, help="Turns to take the median of.")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Add the figures to this file.")
@click.option("--serve", is_flag=True, hidden=True)
def main(
    old: Path | None,
    accuracy: str,
    dtype: str,
    operators: tuple[str, ...],
    size: int,
    rounds: int,
    file: Path | None,
    *,
    serve: bool,
) -> None:
    if serve:
        _serve(old)
        return
    if old is None:
        raise click.UsageError("--old: which checkout to compare with")
    section = "float32" if accuracy == "exact" else "fast"
    every = doubles() if dtype == "float64" else [case.operator for case in cases(section, (), (), 1)]
    names = operators or tuple(dict.fromkeys(every))
    if not _is_built(old):
        raise click.UsageError(f"--old: {old} has no native module in src/ogive; build it there")
    contestants = Checkout(BUILT, accuracy), Checkout(old.resolve())
    try:
        found = compared(*contestants, names, size, rounds, dtype)
    finally:
        for contestant in contestants:
            contestant.close()
    if dtype == "float64":
        _print_doubles(found, size)
        return
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=old, capture_output=True, text=True, check=False
    )
    rows = [_row(name, size, commit.stdout.strip() or "old", *seconds, section) for name, seconds in found.items()]
    for table in tables("price", rows):
        for line in (table.columns, *table.rows, [table.summary]):
            print("  ".join(f"{cell:<12}" for cell in line))
    if file is not None:
        from ogive.backends.target import host_target

        now = {"machine": figures.machine(host_target().name), "versions": figures.versions(["ogive"]), "threads": 1}
        figures.write(file, figures.stored(figures.read(file), now | {"rounds": rounds, "sections": {"price": rows}}))


def _print_doubles(found: dict[str, tuple[float, float]], size: int) -> None:
    ratios = sorted(((after / before, name) for name, (before, after) in found.items()), reverse=True)
    many = sum(ratio > ALLOWED for ratio, _ in ratios)
    median = statistics.median(ratio for ratio, _ in ratios)
    print(f"{len(ratios)} functions: median ratio {median:.2f}, {many} above {ALLOWED}")
    for ratio, name in ratios[:SLOWEST]:
        before, after = (1e9 * seconds / size for seconds in found[name])
        print(f"{name:<28}{ratio:6.2f}{before:8.2f} -> {after:.2f} ns an element")


def _row(name: str, size: int, commit: str, before: float, after: float, section: str) -> dict[str, Any]:
    case = {"section": section, "operator": name, "dtype": "float32"}
    return {
        **case,
        "elements": size,
        "old": commit,
        "seconds": {"old": before, "ogive": after},
        "kernels": digest_of(case),
    }


if __name__ == "__main__":
    main()
