"""``ogive accuracy``: measure the error of operators, over every input where that comes to an end."""

from __future__ import annotations

from functools import partial

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ogive.accuracy import BINS, ROUNDS, STEP, Report, sample, sweep
from ogive.dtypes import FLOATS, element_type
from ogive.operator import Operator, RowOperator

__all__ = ["command"]


@click.command()
@click.argument("operators", nargs=-1, metavar="[OPERATOR]...")
@click.option("--dtype", default="float32", show_default=True, type=click.Choice([t.name for t in FLOATS]))
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Other than the default.")
@click.option("--exhaustive", is_flag=True, help="Every input, not every 128th: minutes for float32.")
@click.option("--samples", default=10_000_000, show_default=True, help="How many, where not every input is taken.")
@click.option("--digest", is_flag=True, help="Print a digest of all results: it is the same on every machine.")
@click.option("--histogram", is_flag=True, help="Print how many results have which error.")
def command(
    operators: tuple[str, ...],
    dtype: str,
    parameters: tuple[str, ...],
    exhaustive: bool,
    samples: int,
    digest: bool,
    histogram: bool,
) -> int:
    """Measure the error of operators, in units in the last place, and print where it is largest.

    float16 and bfloat16 are always measured over all 65,536 inputs. float64 and operators of several tensors are
    measured on samples, and then round those with the largest errors.
    """
    from ogive.catalog import OPERATORS
    from ogive.cli.show_command import find

    kind = element_type(dtype)
    chosen = [find(name) for name in operators]
    chosen = chosen or [op for op in OPERATORS.values() if op.inputs == 1 and _can_be_measured(op, dtype)]
    for op in chosen:
        if not _can_be_measured(op, dtype):
            raise click.UsageError(
                f"{op.name} cannot be measured in {dtype}: it has required parameters or no such type"
            )
    values = dict(_read_parameter(text) for text in parameters)
    stride = 1 if exhaustive or kind.bits < 32 else 128
    is_sampled = {op: op.inputs > 1 or kind.bits > 32 for op in chosen}
    reports = []
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for op in chosen:
            total = samples + ROUNDS * STEP if is_sampled[op] else (1 << kind.bits) // stride
            advance = partial(progress.advance, progress.add_task(op.name, total=total))
            if is_sampled[op]:
                reports.append(sample(op, kind, values, count=samples, progress=advance))
            else:
                reports.append(sweep(op, kind, values, stride=stride, progress=advance))
    console = Console(highlight=False)
    console.print(_table(reports, digest))
    if histogram:
        for report in reports:
            console.print(_histogram(report))
    return 0


def _can_be_measured(op: Operator, dtype: str) -> bool:
    # Row-wise operators are measured by tests: an element's error depends on its whole row.
    is_elementwise = isinstance(op, Operator) and not isinstance(op, RowOperator)
    has_type = any({t.name for t in (*s.inputs, *s.outputs)} == {dtype} for s in op.signatures)
    return is_elementwise and has_type and not any(p.is_required for p in op.parameters)


def _read_parameter(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise click.UsageError(f"--parameter is {text!r}; allowed: NAME=VALUE with a number") from None


def _table(reports: list[Report], digest: bool) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("operator", "largest error", "at", "not nearest", *(["digest"] if digest else [])):
        table.add_column(title, justify="right" if title == "not nearest" else "left", no_wrap=True)
    for r in reports:
        digits = 17 if r.dtype == "float64" else 9
        place = ", ".join(f"{value:.{digits}g}" for value in r.worst_input) if r.worst > 0 else ""
        table.add_row(
            r.operator, f"{r.worst:.4f} ULP", place, f"{r.misrounded:,}", *([r.digest[:16]] if digest else [])
        )
    table.caption = (
        f"{reports[0].dtype}, {reports[0].count:,} inputs each; not nearest: results that are not the nearest number"
    )
    table.caption_justify = "left"
    return table


def _histogram(report: Report) -> Table:
    table = Table(title=f"{report.operator}, {report.dtype}", title_justify="left", box=None, header_style="bold")
    table.add_column("error up to", justify="right")
    table.add_column("results", justify="right")
    for bound, count in zip(BINS, report.histogram, strict=True):
        if count:
            table.add_row(f"{bound:g} ULP", f"{count:,}")
    return table
