"""No cliff: what an element costs by the data. Every operator, its first and second derivatives and textbook formulas, on families of data.

Gradients of rows have families of their own: rows as those of a classifier, more and less confident, times kinds of gradients.

A cell is the time of an element of one function on one family of data, on one thread, in CPU time, which other processes
lengthen less. Data are fresh in every call, so that remembered results hide nothing. A cell is beyond the limit if it is
slower than 20 times the function's ordinary time and than 50 ns an element (200 ns in float64), or than 2 us in any case:
there are functions for which ordinary data are the slow ones.

A busy machine makes times longer, and the number of elements that were left to enclosures not: a cell has both.
"""

from __future__ import annotations

import contextlib
import gc
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
from ogive.common.conversion import converted
from ogive.errors import OgiveError
from ogive.gradients.registered import ROW_RULES
from ogive.runtime import statistics

__all__ = [
    "DTYPES",
    "OF_ROWS",
    "ROW_FUNCTIONS",
    "drawn_rows",
    "functions",
    "is_beyond",
    "limit_of",
    "measure",
    "stored",
    "summaries",
    "worst_first",
]

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

#: The functions that have families of rows: the gradients that are written by hand.
ROW_FUNCTIONS = {f"vjp({name})": name for name in ROW_RULES}

Rows = np.ndarray


def _ahead(gap: float, places: Sequence[int] = (7,)) -> Callable[[Rows], Rows]:
    """Rows in which some elements are ahead by so much, and equal where they are several."""

    def made(x: Rows) -> Rows:
        x[:, places] = (x[:, 7] + gap)[:, None]
        return x

    return made


def _one_hot(g: Rows, y: Rows, x: Rows, place: int) -> Rows:
    g = np.zeros_like(g)
    g[:, place] = 1
    return g


#: By name: rows, made of normal ones.
_KINDS_OF_ROWS: dict[str, Callable[[Rows], Rows]] = {
    "ordinary": lambda x: x,
    **{f"one ahead by {gap}": _ahead(gap) for gap in (15, 30, 40, 60, 80, 700)},
    "three equal ones ahead by 60": _ahead(60, (3, 7, 9)),
    "wide": lambda x: x * 1000,
}

#: By name: gradients, made of normal ones, the function's results and its rows.
_KINDS_OF_GRADIENTS: dict[str, Callable[[Rows, Rows, Rows], Rows]] = {
    "random": lambda g, y, x: g,
    "constant": lambda g, y, x: np.full_like(g, 0.1),
    "one-hot": lambda g, y, x: _one_hot(g, y, x, 7),
    "one-hot elsewhere": lambda g, y, x: _one_hot(g, y, x, 11),
    "two that cancel": lambda g, y, x: _one_hot(g, y, x, 11) - _one_hot(g, y, x, 7),
    "its own output": lambda g, y, x: y,
    "softmax": lambda g, y, x: ogive.softmax(x),
}

#: By name: the families of rows and gradients, each of one and of the other.
OF_ROWS = {
    f"{rows}; gradient {gradient}": (rows, gradient) for rows in _KINDS_OF_ROWS for gradient in _KINDS_OF_GRADIENTS
}


def drawn_rows(function: str, family: str, dtype: Any, shape: tuple[int, int], seed: int) -> list[np.ndarray]:
    """The operands of such a function: a gradient, rows, and weights, which are ones every other time, or targets."""
    rows, gradient = OF_ROWS[family]
    generator = np.random.default_rng(seed)
    op = ogive.catalog.OPERATORS[ROW_FUNCTIONS[function]]
    x = converted(_KINDS_OF_ROWS[rows](generator.standard_normal(shape)), dtype)
    beside = [converted(generator.standard_normal(shape), dtype) for _ in op.signatures[0].inputs[1:]]
    if seed % 2:
        beside = [np.ones_like(weights) for weights in beside]
    if op.name == "cross_entropy":
        beside = [ogive.softmax(x) if seed % 2 else _one_hot(x, x, x, 7)]
    y = op(x, *beside)
    g = converted(generator.standard_normal(shape), dtype)
    if y.shape != x.shape:
        y = np.broadcast_to(y.reshape(-1, 1), shape)
        return [_KINDS_OF_GRADIENTS[gradient](g, y, x)[:, 7], x, *beside]
    return [_KINDS_OF_GRADIENTS[gradient](g, y, x), x, *beside]


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
            made[f"grad(grad({name}))"] = lambda op=op: _derived(ogive.grad, _derived(ogive.grad, op))  # type: ignore[misc]
        made[f"vjp({name})"] = lambda op=op: _derived(ogive.vjp, op)  # type: ignore[misc]
        named |= {f"grad({name})": name, f"grad(grad({name}))": name, f"vjp({name})": name}
    for name, textbook in TEXTBOOKS.items():
        key = name if name not in made else f"{name}, formula"
        made[key] = lambda textbook=textbook: _of_formula(textbook)  # type: ignore[misc]
        named[key] = name
    return {key: make for key, make in made.items() if not operators or {key, named.get(key, key)} & set(operators)}


def _derived(derive: Callable[[Any], Any], op: Any) -> Any:
    """A derivative; None where there is none, and of None."""
    try:
        return None if op is None else derive(op)
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

    # An exception in a callback of the garbage collector, as JAX has one, is printed and lost.
    collects, before = gc.isenabled(), signal.signal(signal.SIGPROF, stop)
    gc.disable()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if collects:
            gc.enable()


class _Timed:
    """A function for one type, which times itself on fresh data."""

    def __init__(self, op: Any, signature: Any, name: str = "") -> None:
        self.name, self.op, self.signature = name, op, signature
        self.numbers = numbers_of(op)
        self.seeds = itertools.count()
        self.enclosed = 0
        """How many elements of the last call were left to enclosures."""

    def seconds(self, family: str, count: int, time_out: float = TIME_OUT) -> float:
        """CPU time of one call on fresh data; the limit where that ran out."""
        if family in OF_ROWS:
            shape = max(count // ROW, 1), min(count, ROW)
            arrays = drawn_rows(self.name, family, self.signature.outputs[0].numpy, shape, next(self.seeds))
        else:
            arrays = drawn(family, self.signature, count, next(self.seeds))
        if self.op.is_row_wise and family not in OF_ROWS:
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
    families: Sequence[str] = (*FAMILIES, *OF_ROWS),
) -> list[Row]:
    """The cells of all functions, for one element type; those of rows for the functions that have them."""
    rows = []
    with ogive.threads(1):
        for name, make in names.items():
            op = make()
            signature = None if op is None else signature_of(op, dtype)
            if signature is not None:
                timed = _Timed(op, signature, name)
                ordinary = timed.ordinary()
                limit = limit_of(ordinary, dtype)
                for family in (f for f in families if f not in OF_ROWS or name in ROW_FUNCTIONS):
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
