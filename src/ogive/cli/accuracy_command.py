"""``ogive accuracy``: measure the error of operators, over every input where that comes to an end."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ogive.accuracy import BINS, Report, fingerprint, sample, sweep
from ogive.accuracy.measure import ROUNDS, STEP, changed_parameters
from ogive.accuracy.report import file_name, load
from ogive.dtypes import FLOATS, ElementType, element_type
from ogive.operator import Operator, RowOperator

__all__ = ["command"]


@click.command()
@click.argument("operators", nargs=-1, metavar="[OPERATOR]...")
@click.option("--dtype", default="float32", show_default=True, type=click.Choice([t.name for t in FLOATS]))
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Other than the default.")
@click.option("--exhaustive", is_flag=True, help="Every input, not every 128th: minutes for float32.")
@click.option("--samples", default=10_000_000, show_default=True, help="How many, where not every input is taken.")
@click.option("--save", type=click.Path(file_okay=False, path_type=Path), help="Keep the results in this folder.")
@click.option("--workers", default=2, show_default=True, help="Threads.")
@click.option("--digest", is_flag=True, help="Print a digest of all results: it is the same on every machine.")
@click.option("--histogram", is_flag=True, help="Print how many results have which error.")
def command(
    operators: tuple[str, ...],
    dtype: str,
    parameters: tuple[str, ...],
    exhaustive: bool,
    samples: int,
    save: Path | None,
    workers: int,
    digest: bool,
    histogram: bool,
) -> int:
    """Measure the error of operators, in units in the last place, and print where it is largest.

    float16 and bfloat16 are always measured over all 65,536 inputs. float64 and operators of several tensors are
    measured on samples, and then round those with the largest errors.

    With --save each result is written to a file of its own as soon as it is there, and is not measured again
    while the operator computes the same and no more inputs are asked for: what was interrupted goes on.
    """
    from ogive.catalog import OPERATORS
    from ogive.cli.show_command import find

    kind = element_type(dtype)
    values = dict(_read_parameter(text) for text in parameters)
    chosen = [find(name) for name in operators]
    chosen = chosen or [op for op in OPERATORS.values() if op.inputs == 1 and not _obstacle(op, dtype, values)]
    for op in chosen:
        if obstacle := _obstacle(op, dtype, values):
            raise click.UsageError(f"{op.name} cannot be measured in {dtype}: {obstacle}")
    stride = 1 if exhaustive or kind.bits < 32 else 128
    reports = []
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for op in chosen:
            is_sampled = op.inputs > 1 or kind.bits > 32
            total = samples + ROUNDS * STEP if is_sampled else (1 << kind.bits) // stride
            present = fingerprint(op, kind, values)
            report = _kept(op, kind, values, save) if save else None
            if report is None or report.count < total or report.fingerprint != present:
                advance = partial(progress.advance, progress.add_task(op.name, total=total))
                if is_sampled:
                    report = sample(op, kind, values, count=samples, progress=advance, workers=workers)
                else:
                    report = sweep(op, kind, values, stride=stride, progress=advance, workers=workers)
                report.fingerprint = present
                if save:
                    report.save(save)
            reports.append(report)
    console = Console(highlight=False)
    console.print(_table(reports, digest))
    if histogram:
        for report in reports:
            console.print(_histogram(report))
    return 0


def _kept(op: Operator, kind: ElementType, values: dict[str, Any], folder: Path) -> Report | None:
    path = folder / file_name(op.name, changed_parameters(op, values), kind.name)
    return load(path) if path.exists() else None


def _obstacle(op: Operator, dtype: str, values: dict[str, Any]) -> str:
    """Why an operator cannot be measured; empty if it can."""
    if isinstance(op, RowOperator):
        return "an element's error depends on its whole row"
    if not any({t.name for t in (*s.inputs, *s.outputs)} == {dtype} for s in op.signatures):
        return "it has no such type"
    missing = [p.name for p in op.parameters if p.is_required and p.name not in values]
    return f"give {', '.join(f'--parameter {name}=VALUE' for name in missing)}" if missing else ""


def _read_parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--parameter is {text!r}; allowed: NAME=VALUE")
    try:
        return name, float(value)
    except ValueError:
        return name, value  # one of several formulas; the operator refuses what is none


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
