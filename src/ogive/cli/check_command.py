"""``ogive check MODEL``: what a DirectML device of a feature level would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from ogive.check import Report, check
from ogive.cli.terminal import FEATURE_LEVEL, console, print_json

__all__ = ["command"]

#: The verdicts as a reader of the table wants them.
_WORDS = {
    "taken": "taken",
    "refused": "refused",
    "unknown": "not known",
    "nothing": "nothing to run",
    "outside": "not checked",
}


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--feature-level", default="6_4", show_default=True, type=FEATURE_LEVEL, help="The feature level of the device."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(model: Path, feature_level: str, as_json: bool) -> int:
    """Check what a DirectML device of a feature level would refuse of a model.

    MODEL is an .onnx file, or a .json file in the format of DxDispatch. Prints for every operator the DirectML
    operator that it maps to, the lowest feature level that takes its types and ranks, and what this level refuses
    and why. Exit status 1 when something is refused.
    """
    report = check(model, feature_level)
    if as_json:
        print_json(report.as_json())
    else:
        out = console()
        out.print(_table(report))
        for line in _lines(report):
            out.print(Text(line), soft_wrap=True)
    return 1 if report.refused else 0


def _table(report: Report) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("where", "operator", "DirectML", "lowest level", f"at {report.feature_level}"):
        table.add_column(title, overflow="fold")
    for finding in report.findings:
        lowest = "-" if finding.verdict in ("nothing", "outside") else finding.lowest_level or "none"
        cells = finding.place, finding.operator, finding.directml or "-", lowest, _WORDS[finding.verdict]
        table.add_row(*map(Text, cells))  # names of a model are no markup
    return table


def _lines(report: Report) -> Iterator[str]:
    """The reasons, and a summary."""
    for finding in report.findings:
        for reason in finding.reasons if finding.verdict != "nothing" else ():
            yield f"{finding.place}: {_WORDS[finding.verdict]}: {reason}"
    counts = {verdict: sum(f.verdict == verdict for f in report.findings) for verdict in _WORDS}
    parts = [f"{len(report.findings)} operators", f"{counts['refused']} refused at {report.feature_level}"]
    parts += [f"{counts[verdict]} {_WORDS[verdict]}" for verdict in ("unknown", "outside") if counts[verdict]]
    if report.checked:
        ends = f"{report.lowest_level or 'no feature level'} takes all that is checked"
    else:
        ends = "nothing is checked"
    yield f"{', '.join(parts)}; {ends}"
