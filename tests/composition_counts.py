"""How many compositions were judged, over all runs: the rows of `accuracy/compositions.csv`.

A run judges some seeds in a type by the code of a target at a commit, and adds its counts (`python -m tests.compositions --record`).
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["FILE", "Row", "added", "commit", "read", "record", "totals"]

ROOT = Path(__file__).parents[1]
FILE = ROOT / "accuracy" / "compositions.csv"


class Row(NamedTuple):
    """The counts of a run in one type, by the code of one target."""

    commit: str
    type: str
    target: str
    seeds: str
    """The first seed and the one behind the last."""
    formulas: int
    results: int
    gradients: int
    results_of_gradients: int
    undecided: int
    """Cases of which the judge says nothing: kinks, divisions by zero, ties that no bits decide."""
    wrong: int
    failed: int
    """Formulas that raised an error."""


COUNTS = Row._fields.index("formulas")


@cache
def commit() -> str:
    """The commit of this checkout; with a plus sign where files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=8", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(*line[:COUNTS], *map(int, line[COUNTS:])) for line in list(csv.reader(file))[1:]]


def added(rows: Sequence[Row], new: Iterable[Row]) -> list[Row]:
    """The rows with new ones: one whose seeds follow those of a row of the same commit, type and target becomes part of it."""
    found = list(rows)
    for row in new:
        first, end = row.seeds.split("-")
        for i, old in enumerate(found):
            before, here = old.seeds.split("-") if old.seeds.count("-") == 1 else ("", "")
            if old[:3] == row[:3] and here == first:
                sums = (a + b for a, b in zip(old[COUNTS:], row[COUNTS:], strict=True))
                found[i] = Row(*old[:3], f"{before}-{end}", *sums)
                break
        else:
            found.append(row)
    return found


def record(path: Path, new: Iterable[Row]) -> None:
    """Add rows to a file; make it where it is not there."""
    rows = added(read(path) if path.exists() else [], new)
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(rows)
    beside.replace(path)


def totals(rows: Sequence[Row]) -> str:
    """A line for each type and target, and one for all."""
    found: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        for key in ((row.type, row.target), ("all", "")):
            sums = found.setdefault(key, [0] * (len(Row._fields) - COUNTS))
            sums[:] = (a + b for a, b in zip(sums, row[COUNTS:], strict=True))
    lines = [("type", "target", *(name.replace("_", " ") for name in Row._fields[COUNTS:]))]
    lines += [(*key, *(f"{n:,}" for n in found[key])) for key in sorted(found, key=lambda key: (key[0] == "all", key))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(w) if i > 1 else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
