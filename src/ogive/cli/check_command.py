"""``ogive check MODEL``: what a DirectML device of a feature level would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ogive.check import Finding, Report, check
from ogive.cli.terminal import FEATURE_LEVEL, Column, as_option, print_json, print_table, say, singular

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
@click.option("--refused-only", is_flag=True, help="Print what is refused, and the summary.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(model: Path, feature_level: str, refused_only: bool, as_json: bool) -> int:
    """Check what a DirectML device of a feature level would refuse of a model.

    MODEL is an .onnx file, or a .json file in the format of DxDispatch. Prints for every operator the DirectML
    operator that it maps to, the lowest feature level that takes its types and ranks, and what this level refuses
    and why. Nodes of which the same is true are one line. Exit status 0 when everything is checked and taken, 1 when
    something is refused or not checked.
    """
    report = check(model, feature_level)
    if as_json:
        data = report.as_json()
        for row in data["operators"]:
            row["reasons"] = [as_option(reason) for reason in row["reasons"]]
        print_json(data)
    else:
        groups = _groups(report, refused_only=refused_only)
        if groups:
            titles = "where", "operator", "DirectML", "lowest level", f"at {report.feature_level}"
            print_table([Column(title) for title in titles], map(_row, groups))
        for line in (*_reasons(groups), _summary(report)):
            say(line)
    return 1 if report.refused or report.open else 0


def _groups(report: Report, *, refused_only: bool) -> list[list[Finding]]:
    """The findings that say the same of nodes of one operator, in the order of the first ones."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in report.findings:
        if not refused_only or finding.verdict == "refused":
            groups.setdefault(finding[1:], []).append(finding)
    return list(groups.values())


def _where(group: list[Finding]) -> str:
    more = len(group) - 1
    return group[0].place + (f" and {more:,} more" if more else "")


def _row(group: list[Finding]) -> tuple[str, ...]:
    finding = group[0]
    lowest = "-" if finding.verdict in ("nothing", "outside") else finding.lowest_level or "none"
    return _where(group), finding.operator, finding.directml or "-", lowest, _WORDS[finding.verdict]


def _reasons(groups: list[list[Finding]]) -> Iterator[str]:
    for group in groups:
        verdict = group[0].verdict
        for reason in group[0].reasons if verdict != "nothing" else ():
            yield f"{_where(group)}: {_WORDS[verdict]}: {as_option(reason)}"


def _summary(report: Report) -> str:
    """How much was checked, and what came out."""
    counts = {verdict: sum(f.verdict == verdict for f in report.findings) for verdict in _WORDS}
    runs = len(report.findings) - counts["nothing"]
    checked = counts["taken"] + counts["refused"]
    parts = [
        f"{checked:,} of {singular(runs, 'operator')} checked",
        f"{counts['refused']:,} refused at {report.feature_level}",
    ]
    parts += [f"{counts[verdict]:,} {_WORDS[verdict]}" for verdict in ("unknown", "outside") if counts[verdict]]
    if report.checked:
        ends = f"{report.lowest_level or 'no feature level'} takes all that is checked"
    else:
        ends = "nothing is checked"
    return f"{', '.join(parts)}; {ends}"
