"""``ogive accuracy --count``: how many results are not correctly rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from rich.progress import MofNCompleteColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ogive.accuracy import Misrounded, count_misrounded
from ogive.cli.terminal import console, print_json, progress
from ogive.dtypes import ElementType
from ogive.operator import Operator

__all__ = ["DEFAULT_SAMPLES", "print_counts"]

#: How many inputs are taken where there are too many.
DEFAULT_SAMPLES = 1_000_000


def print_counts(
    operators: Mapping[str, tuple[Operator, Mapping[str, Any]]],
    kind: ElementType,
    stride: int,
    samples: int,
    workers: int,
    *,
    as_json: bool,
) -> None:
    """Count, and print a table or one JSON object."""
    found = []
    with progress(MofNCompleteColumn(), TimeRemainingColumn()) as display:
        for name, (op, parameters) in operators.items():
            taken = samples if op.inputs > 1 or kind.bits > 32 else None
            total = taken or -(-(1 << kind.bits) // stride)
            advance = partial(display.advance, display.add_task(name, total=total))
            found.append(
                count_misrounded(op, kind, parameters, stride=stride, samples=taken, progress=advance, workers=workers)
            )
    if as_json:
        print_json({"counts": [asdict(each) for each in found]})
        return
    out = console()
    out.print(_table(found))
    first = found[0]
    note = f"{first.dtype}, {first.count:,} inputs each"
    if any(each.undecided for each in found):
        note += f"; {sum(each.undecided for each in found):,} undecided values were taken as exact"
    out.print(Text(note), soft_wrap=True)
    if len(found) == 1:
        for example in first.first:
            given = ", ".join(_shown(value, kind.name) for value in example.inputs)
            line = f"  {given} -> {_shown(example.result, kind.name)}, right is {_shown(example.right, kind.name)}"
            out.print(Text(line), soft_wrap=True)


def _table(found: list[Misrounded]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("operator", "not correctly rounded", "wrong sign of zero", "farthest", "at"):
        table.add_column(title, justify="left" if title in ("operator", "at") else "right", no_wrap=True)
    for each in found:
        worst = each.worst
        place = ", ".join(_shown(value, each.dtype) for value in worst.inputs) if worst else ""
        steps = f"{worst.steps:,.0f} step{'s' if worst.steps != 1 else ''}" if worst else ""
        table.add_row(each.operator, f"{each.misrounded:,}", f"{each.zero_signs:,}" if worst else "", steps, place)
    return table


def _shown(value: float, dtype: str) -> str:
    """With as many digits as tell the type's numbers apart."""
    digits = 17 if dtype == "float64" else 9
    return f"{value}" if isinstance(value, int) else f"{value:.{digits}g}"
