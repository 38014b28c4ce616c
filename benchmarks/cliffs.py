"""No cliff: what an element costs by the data. Every operator, its derivatives and textbook formulas, on families of data.

A cell is the time of an element of one function on one family of data, on one thread, in CPU time, which other processes
lengthen less. Data are fresh in every call, so that remembered results hide nothing. A cell is beyond the limit if it is
slower than 20 times the function's ordinary time and than 50 ns an element (200 ns in float64), or than 2 us in any case:
there are functions for which ordinary data are the slow ones.

A busy machine makes times longer, and the number of elements that were left to enclosures not: a cell has both.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

import ogive
from benchmarks.kernels import digest_of
from ogive.cli.deciding_levels import FAMILIES, drawn, numbers_of, signature_of
from ogive.errors import OgiveError
from ogive.runtime import statistics

__all__ = ["DTYPES", "functions", "is_beyond", "limit_of", "measure", "stored", "summaries", "worst_first"]

DTYPES = ("float32", "bfloat16", "float16", "float64")

#: Elements of a cell; of a slow one fewer; of the call before it, which compiles what it needs. The length of rows.
COUNT, FEW, FIRST, ROW = 4096, 256, 16, 512
#: Where so few elements take so long, more are not timed.
SLOW = 0.002
#: The CPU time after which a call is given up.
TIME_OUT = 0.5
#: How often a cell is timed at most: one that is beyond the limit is timed again.
CALLS = 4
#: How many times slower than ordinary; how many nanoseconds an element are allowed in any case; and how many in none.
TIMES, NANOSECONDS, OF_FLOAT64, MOST = 20, 50.0, 200.0, 2000.0
#: How many cells a file keeps.
WORST = 40

Row = dict[str, Any]


def functions(operators: Sequence[str] = ()) -> dict[str, Callable[[], Any]]:
    """By name: what makes a function that is timed.

    ``operators`` are names of the catalogue, whose derivatives are meant too, of formulas, or of what this returns.
    """
    from tests.textbooks import TEXTBOOKS

    made: dict[str, Callable[[], Any]] = {}
    named: dict[str, str] = {}
    for name, op in ogive.catalog.OPERATORS.items():
        made[name] = lambda op=op: op  # type: ignore[misc]
        if not op.is_row_wise:
            made[f"grad({name})"] = lambda op=op: _derived(ogive.grad, op)  # type: ignore[misc]
        made[f"vjp({name})"] = lambda op=op: _derived(ogive.vjp, op)  # type: ignore[misc]
        named |= {f"grad({name})": name, f"vjp({name})": name}
    for name, textbook in TEXTBOOKS.items():
        key = name if name not in made else f"{name}, formula"
        made[key] = lambda textbook=textbook: _of_formula(textbook)  # type: ignore[misc]
        named[key] = name
    return {key: make for key, make in made.items() if not operators or {key, named.get(key, key)} & set(operators)}


def _derived(derive: Callable[[Any], Any], op: Any) -> Any:
    """A derivative; None where there is none."""
    try:
        return derive(op)
    except OgiveError:
        return None


def _of_formula(textbook: Any) -> Any:
    from ogive import formula as f

    if len(textbook.domains) == 1:
        return ogive.operator(lambda x: textbook.formula(f, x))
    return ogive.operator(lambda x, y: textbook.formula(f, x, y))


@cache
def _is_limited() -> bool:
    """Whether this system can interrupt a call, which its thread of Python must be the main one for."""
    return hasattr(signal, "setitimer")


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so much CPU time."""
    if not _is_limited():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _Timed:
    """A function for one type, which times itself on fresh data."""

    def __init__(self, op: Any, signature: Any) -> None:
        self.op, self.signature = op, signature
        self.numbers = numbers_of(op)
        self.seeds = itertools.count()
        self.enclosed = 0
        """How many elements of the last call were left to enclosures."""

    def seconds(self, family: str, count: int, time_out: float = TIME_OUT) -> float:
        """CPU time of one call on fresh data; the limit where that ran out."""
        arrays = drawn(family, self.signature, count, next(self.seeds))
        if self.op.is_row_wise:
            arrays = [array.reshape(-1, min(count, ROW)) for array in arrays]
        before, begin = _enclosed(), time.thread_time()
        try:
            with np.errstate(all="ignore"), _limited(time_out):
                self.op(*arrays, **self.numbers)
            taken = time.thread_time() - begin
        except TimeoutError:
            taken = max(time_out, time.thread_time() - begin)
        self.enclosed = _enclosed() - before  # which takes as long as there are kernels
        return taken

    def ordinary(self) -> float:
        """Nanoseconds an element of ordinary data, of which few are repaired."""
        self.seconds("normal, width 1", COUNT, 60.0)  # the first call compiles kernel and repair
        return min(self.seconds("normal, width 1", COUNT) for _ in range(5)) / COUNT * 1e9

    def cell(self, family: str, limit: float) -> tuple[float, int]:
        """Nanoseconds an element, and of how many. The first call compiles; a cell beyond the limit is timed again."""
        self.seconds(family, FIRST, 60.0)
        taken = self._without_compiling(family, FEW)
        if taken >= SLOW:  # unless that was the first enclosure of all, or of a number that all of these data have
            taken = min(taken, self.seconds(family, FEW))
        if taken >= SLOW:
            return taken / FEW * 1e9, FEW
        taken = self._without_compiling(family, COUNT)
        for _ in range(CALLS - 1):
            if taken <= limit * 1e-9 * COUNT or taken >= TIME_OUT:
                break
            taken = min(taken, self.seconds(family, COUNT))
        return taken / COUNT * 1e9, COUNT

    def _without_compiling(self, family: str, count: int) -> float:
        """CPU time of a call. One that took long without enclosures compiled what nothing asked for before: the repair.

        A call that is given up compiles it in vain, so the next one may take as long as it needs.
        """
        taken = self.seconds(family, count)
        if taken < SLOW or self.enclosed:
            return taken
        self.seconds(family, count, 60.0)
        return self.seconds(family, count)


def _enclosed() -> int:
    return sum(row.enclosed for row in statistics())


def limit_of(ordinary: float, dtype: str) -> float:
    """The limit in nanoseconds an element."""
    return min(max(TIMES * ordinary, OF_FLOAT64 if dtype == "float64" else NANOSECONDS), MOST)


def is_beyond(row: Row) -> bool:
    """Whether a cell is beyond its limit."""
    return bool(row["nanoseconds"] > row["limit"])


def measure(
    names: dict[str, Callable[[], Any]],
    dtype: str,
    advance: Callable[[], None],
    families: Sequence[str] = tuple(FAMILIES),
) -> list[Row]:
    """The cells of all functions, for one element type."""
    rows = []
    with ogive.threads(1):
        for name, make in names.items():
            op = make()
            signature = None if op is None else signature_of(op, dtype)
            if signature is not None:
                timed = _Timed(op, signature)
                ordinary = timed.ordinary()
                limit = limit_of(ordinary, dtype)
                for family in families:
                    nanoseconds, elements = timed.cell(family, limit)
                    rows.append(
                        {
                            "name": name,
                            "family": family,
                            "dtype": dtype,
                            "elements": elements,
                            "enclosed": timed.enclosed,
                            "nanoseconds": round(nanoseconds, 2),
                            "ordinary": round(ordinary, 2),
                            "limit": round(limit, 2),
                        }
                    )
            advance()
    return rows


def worst_first(cells: Sequence[Row]) -> list[Row]:
    """The cells beyond the limit."""
    return sorted(filter(is_beyond, cells), key=lambda row: row["limit"] / row["nanoseconds"])


def summaries(cells: Sequence[Row]) -> list[Row]:
    """A row for each type and family: its cells, how many are beyond the limit, and the slowest."""
    rows = []
    for dtype, family in dict.fromkeys((row["dtype"], row["family"]) for row in cells):
        mine = [row for row in cells if (row["dtype"], row["family"]) == (dtype, family)]
        slowest = max(mine, key=lambda row: row["nanoseconds"])
        counts = {"cells": len(mine), "beyond": sum(map(is_beyond, mine))}
        of_slowest = {"slowest": slowest["name"], "nanoseconds": slowest["nanoseconds"]}
        rows.append({"section": "cliffs", "dtype": dtype, "family": family} | counts | of_slowest)
    return rows


def stored(cells: Sequence[Row]) -> list[Row]:
    """The parts that a file keeps: the summaries, and the worst cells."""
    worst = [{"section": "cliffs", **row} for row in worst_first(cells)[:WORST]]
    return summaries(cells) + [row | {"kernels": digest_of(row)} for row in worst]
