"""``ogive accuracy``: measure the error of operators, over every input of the shorter types."""

from __future__ import annotations

import difflib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.progress import MofNCompleteColumn, TimeRemainingColumn

from ogive.cli.operator_argument import OperatorName, find, own
from ogive.cli.plot import PLOT, check_matplotlib, plot_errors
from ogive.cli.terminal import Column, print_json, print_table, progress, say, singular
from ogive.common.contracts import CONTRACTS
from ogive.common.dtypes import FLOATS, NUMBERS, ElementType, element_type
from ogive.laboratory.accuracy import (
    BINS,
    ErrorReport,
    Misrounded,
    count_misrounded,
    fingerprint,
    sample,
    sample_rows,
    sweep,
)
from ogive.laboratory.accuracy.measure import changed_parameters
from ogive.laboratory.accuracy.report import key, load
from ogive.laboratory.peers.peer_functions import PEERS, function, version
from ogive.operators.operator import Operator
from ogive.operators.row_operator import RowOperator

#: How many inputs are sampled by default.
SAMPLES = 10_000_000

#: How long many operators will take is tried with so many of a kind, on so many inputs each.
TRIED, TRIED_INPUTS = 5, 1 << 18


@click.command()
@click.argument("operators", nargs=-1, metavar="[OPERATOR]...", type=OperatorName())
@click.option("--dtype", default="float32", show_default=True, type=click.Choice([t.name for t in NUMBERS]))
@click.option(
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter and its value.",
)
@click.option("--exhaustive", is_flag=True, help="Measure every input, not every 128th. Takes minutes for float32.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    help=f"Number of samples, for operators measured on samples. Default: {SAMPLES:,}.",
)
@click.option(
    "--accuracy",
    "contract",
    type=click.Choice(CONTRACTS),
    help="The contract that is measured. Default: OGIVE_ACCURACY, or exact.",
)
@click.option("--count", "is_count", is_flag=True, help="Count the results that are not correctly rounded, exactly.")
@click.option(
    "--save",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the results in this folder, in a CSV file for each library.",
)
@click.option("--peer", "peers", multiple=True, type=click.Choice(list(PEERS)), help="Measure this library too.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 1024), help="Number of threads.")
@click.option("--plot", "picture", type=PLOT, help="Draw a histogram of the errors: FILE.svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--digest", is_flag=True, help="Print a digest of all results, which is the same on every machine.")
@click.option(
    "--histogram/--no-histogram",
    default=None,
    help="Print a histogram of the errors. Default: for a single operator only.",
)
def command(
    operators: tuple[str, ...],
    dtype: str,
    parameters: tuple[str, ...],
    exhaustive: bool,
    samples: int | None,
    contract: str | None,
    is_count: bool,
    save: Path | None,
    peers: tuple[str, ...],
    workers: int,
    picture: Path | None,
    as_json: bool,
    digest: bool,
    histogram: bool | None,
) -> int:
    """Measure the error of operators in units in the last place (ULP): the largest error, its input, and a histogram.

    OPERATOR is a name that `ogive list` prints, or an operator of your own: file.py:name, or module:name for a module
    in the current folder or an installed one. Without OPERATOR, all operators of one tensor are measured. The reference
    for your own operators has more digits, because terms of their formulas may cancel.

    float16 and bfloat16 are measured over all 65,536 inputs. float64 and operators of several tensors are measured on
    samples, with a search near the largest errors. Row-wise operators are measured on rows of several lengths.

    --peer measures another library beside Ogive.

    --save writes each result as soon as it is measured, a row in ogive.csv. A result that is there is not measured again,
    unless the operator has changed or you ask for more inputs. So an interrupted measurement continues.

    --count measures no errors. It compares every result with the correctly rounded value of the formula and counts
    those that differ: the nearest number, of two equally near ones the even one; for integers, the number cut off
    towards zero. No comparison has a tolerance. All operators but the row-wise
    ones can be counted, in every numeric type.
    """
    kind = element_type(dtype)
    values = dict(read_parameter(text) for text in parameters)
    _refuse_options(
        kind,
        is_count,
        {"--save": save, "--peer": peers, "--plot": picture, "--digest": digest, "--histogram": histogram},
    )
    if picture is not None:
        check_matplotlib()
    if values and not operators:
        raise click.UsageError("--parameter says what one operator has; allowed: with the name of an operator")
    chosen = _chosen(operators, dtype, values, contract)
    stride = 1 if exhaustive or kind.bits < 32 else 128
    if is_count:
        counted = {
            name: (op, bound | values)
            for name, (op, bound) in chosen.items()
            if operators or not isinstance(op, RowOperator)
        }
        is_sampled = {name: op.inputs > 1 or kind.bits > 32 for name, (op, _) in counted.items()}
        _refuse_counts(is_sampled, dtype, samples, exhaustive)
        print_counts(counted, kind, stride, samples or DEFAULT_SAMPLES, workers, as_json=as_json)
        return 0
    measurements = _measurements(chosen, kind, values, peers)
    _refuse_counts({name: each[0].is_sampled for name, each in measurements.items()}, dtype, samples, exhaustive)
    samples = samples or SAMPLES
    if not operators:
        _announce([each for contestants in measurements.values() for each in contestants], stride, samples, workers)
    found = _measured(measurements, stride, samples, workers, save)
    reports = [report for each in found.values() for report in each.values()]
    if picture is not None:
        plot_errors(reports, picture)
    if as_json:
        print_json({"bins": list(BINS), "reports": [asdict(report) for report in reports]})
        return 0
    if peers:
        _print_side_by_side(found, ["ogive", *peers])
        say("the largest error in ULP; -: the peer does not have it")
    else:
        _print_errors(reports, digest)
        first = reports[0]
        say(
            f"{first.dtype}, {first.count:,} inputs per operator; misrounded: results that are not the nearest {first.dtype}"
        )
    _print_limits([contestants[0].op for contestants in measurements.values() if contestants[0].is_own])
    if histogram or (histogram is None and len(chosen) == 1):
        for report in reports:
            say(f"\n{report.operator}, {report.dtype}, {report.by}")
            _print_histogram(report)
    if picture is not None:
        say(f"\nwrote {picture}")
    return 0


Chosen = Mapping[str, tuple[Operator, dict[str, Any]]]


def _chosen(operators: Sequence[str], dtype: str, values: dict[str, Any], contract: str | None) -> Chosen:
    """The operators by the names that were given, with the parameters that these names bind; refuses what cannot be measured."""
    from ogive.catalog import OPERATORS

    chosen = {name: own(name) if ":" in name else (find(name), {}) for name in operators}
    everything = [op for op in OPERATORS.values() if op.inputs == 1 and not _obstacle(op, dtype, {})]
    chosen = chosen or {op.name: (op, {}) for op in everything}
    if contract is not None:
        chosen = {name: (getattr(op, contract), bound) for name, (op, bound) in chosen.items()}
    for name, (op, bound) in chosen.items():
        _refuse_parameters(op, values)
        if obstacle := _obstacle(op, dtype, bound | values):
            raise click.UsageError(f"{name} cannot be measured in {dtype}: {obstacle}")
    return chosen


def _measurements(
    chosen: Chosen, kind: ElementType, values: dict[str, Any], peers: Sequence[str]
) -> dict[str, list[Measurement]]:
    """The measurements of each operator: Ogive's, and the peers'."""
    from ogive.catalog import OPERATORS

    known = {id(each) for op in OPERATORS.values() for each in (op, op.fast, op.exact)}
    # Two names may be one operator, with other parameters.
    return {
        name if bound else op.name: [
            Measurement(op, kind, bound | values, by, is_own=id(op) not in known) for by in ("ogive", *peers)
        ]
        for name, (op, bound) in chosen.items()
    }


def _measured(
    measurements: Mapping[str, Sequence[Measurement]], stride: int, samples: int, workers: int, save: Path | None
) -> dict[str, dict[str, ErrorReport]]:
    """The reports by operator and library; those that are kept are not measured again."""
    found: dict[str, dict[str, ErrorReport]] = {}
    with progress(MofNCompleteColumn(), TimeRemainingColumn()) as display:
        for name, contestants in measurements.items():
            found[name] = {}
            for measurement in contestants:
                total = measurement.total(stride, samples)
                report = measurement.kept(save) if save else None
                if report is None or report.count < total:
                    advance = partial(display.advance, display.add_task(measurement.title, total=total))
                    report = measurement.run(stride, samples, workers, advance)
                    if report and save:
                        report.save(measurement.file(save))
                if report:
                    found[name][measurement.by] = report
    return found


def _print_limits(mine: Sequence[Operator]) -> None:
    """Say what the reference of operators of one's own cannot tell."""
    if any(isinstance(op, RowOperator) for op in mine):
        say("rows are compared with long double: where terms of a formula cancel, errors are estimates")
    if any(not isinstance(op, RowOperator) for op in mine):
        say("the largest error is exact; where terms of a formula cancel, the counts are estimates")


class Measurement:
    """One operator in one element type, as Ogive or a peer computes it."""

    def __init__(
        self, op: Operator, kind: ElementType, values: dict[str, Any], by: str, *, is_own: bool = False
    ) -> None:
        self.is_own = is_own
        self.op, self.kind, self.values, self.by = op, kind, values, by
        self.changed = changed_parameters(op, values)
        self.version = by if by == "ogive" else version(by)
        self.fingerprint = fingerprint(op, kind, values) if by == "ogive" else ""
        self.is_sampled = op.inputs > 1 or kind.bits > 32 or isinstance(op, RowOperator)

    @property
    def title(self) -> str:
        return self.op.name if self.by == "ogive" else f"{self.op.name}, {self.by}"

    def total(self, stride: int, samples: int) -> int:
        """How many inputs are measured."""
        return samples if self.is_sampled else (1 << self.kind.bits) // stride

    def file(self, save: Path) -> Path:
        """The file of a library's results, of Ogive or of a peer."""
        return save / f"{self.by}.csv"

    def kept(self, save: Path) -> ErrorReport | None:
        """The earlier measurements of what would be measured now."""
        report = load(self.file(save)).get(key(self.op.name, self.changed, self.kind.name))
        return report if report and (report.by, report.fingerprint) == (self.version, self.fingerprint) else None

    def run(self, stride: int, samples: int, workers: int, progress: Callable[[int], None]) -> ErrorReport | None:
        """Measure; None if the peer does not have the operator."""
        compute = None
        if self.by != "ogive":
            try:
                values = self.op.checked_parameters(self.values)
                compute = function(self.by, self.op.base.name, self.op.tensors, values, self.changed)
                compute(
                    *[np.zeros((2, 8) if isinstance(self.op, RowOperator) else 8, self.kind.numpy)] * self.op.inputs
                )
            except Exception:  # whatever a peer raises for what it does not have
                return None
        arguments = self.op, self.kind, self.values
        if isinstance(self.op, RowOperator):
            report = sample_rows(
                self.op, self.kind, self.values, count=samples, function=compute, progress=progress, careful=self.is_own
            )
        elif self.is_sampled:
            options: dict[str, Any] = {"progress": progress, "workers": workers, "careful": self.is_own}
            report = sample(*arguments, count=samples, function=compute, **options)
        else:
            options = {"progress": progress, "workers": workers, "careful": self.is_own}
            report = sweep(*arguments, stride=stride, function=compute, **options)
        report.by, report.fingerprint = self.version, self.fingerprint
        return report


def _announce(measurements: Sequence[Measurement], stride: int, samples: int, workers: int) -> None:
    """Say on standard error what will be measured, and about how long that takes."""
    totals, kind = [measurement.total(stride, samples) for measurement in measurements], measurements[0].kind
    seconds = 0.0
    for is_sampled in (False, True):
        alike = [i for i, measurement in enumerate(measurements) if measurement.is_sampled == is_sampled]
        tried = alike[:: max(1, len(alike) // TRIED)]
        rates = [_seconds_of_an_input(measurements[i], min(TRIED_INPUTS, totals[i]), workers) for i in tried]
        seconds += sum(totals[i] for i in alike) * (statistics.fmean(rates) if rates else 0)
    minutes = seconds / 60
    size = f"{min(totals):,}" if min(totals) == max(totals) else f"{min(totals):,} to {max(totals):,}"
    about = f"about {minutes:,.0f} minutes" if minutes >= 1.5 else "about a minute or less"
    click.echo(
        f"ogive: measuring {singular(len(measurements), 'operator')} in {kind.name}, on {size} inputs each: {about}. "
        "Name operators to measure these alone. --save FOLDER keeps what is done if you interrupt",
        err=True,
    )


def _seconds_of_an_input(measurement: Measurement, count: int, workers: int) -> float:
    for _ in range(2):  # the first time compiles
        begin = time.perf_counter()
        measurement.run(max(1, (1 << measurement.kind.bits) // count), count, workers, lambda _: None)
    return (time.perf_counter() - begin) / count


def _obstacle(op: Operator, dtype: str, values: dict[str, Any]) -> str:
    """Why an operator cannot be measured; empty if it can."""
    if not any({t.name for t in (*s.inputs, *s.outputs)} == {dtype} for s in op.signatures):
        return "it has no such type"
    missing = [p.name for p in op.parameters if p.is_required and p.name not in values]
    return f"give {', '.join(f'--parameter {name}=VALUE' for name in missing)}" if missing else ""


def _refuse_parameters(op: Operator, values: dict[str, Any]) -> None:
    names = [p.name for p in op.parameters]
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            allowed = (
                f"did you mean {near[0]}?" if near else f"allowed: {', '.join(names) or 'none, it has no parameters'}"
            )
            raise click.UsageError(f"{op.name} has no parameter {name!r}; {allowed}")


def _refuse_options(kind: ElementType, is_count: bool, others: dict[str, Any]) -> None:
    """The options that --count does not take, and those that only it takes."""
    for name, value in others.items():
        if is_count and value:
            raise click.UsageError(f"--count counts Ogive's own results and keeps nothing; leave out {name}")
    if not is_count and not kind.is_float:
        allowed = ", ".join(t.name for t in FLOATS)
        raise click.UsageError(f"errors of {kind.name} are not measured; allowed: {allowed}, or --count")


def _refuse_counts(sampled: dict[str, bool], dtype: str, samples: int | None, exhaustive: bool) -> None:
    """An option that would change nothing is refused. ``sampled``: of which operators not every input is taken."""
    is_sampled = sampled.values()
    names = ", ".join(sampled) if len(sampled) < 4 else "these operators"
    if samples is not None and not any(is_sampled):
        what = f"--samples is for float64, operators of several tensors, and rows; {names} in {dtype}"
        raise click.UsageError(f"{what}: every input, or every 128th, is measured. Use --exhaustive for every one")
    if exhaustive and all(is_sampled):
        what = f"--exhaustive is for float32 and shorter types, and one tensor; {names} in {dtype}"
        raise click.UsageError(f"{what}: there are too many inputs. Say with --samples how many to measure")


def read_parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--parameter is {text!r}; allowed: NAME=VALUE")
    try:
        return name, float(value)
    except ValueError:
        return name, value  # one of several formulas; the operator refuses what is none


def _print_errors(reports: list[ErrorReport], digest: bool) -> None:
    titles = "operator", "largest error", "at", "misrounded", *(("digest",) if digest else ())
    rows = []
    for r in reports:
        digits = 17 if r.dtype == "float64" else 9
        place = ", ".join(f"{value:.{digits}g}" for value in r.worst_input) if r.worst > 0 else ""
        rows.append(
            [r.operator, f"{r.worst:.4f} ULP", place, f"{r.misrounded:,}", *([r.digest[:16]] if digest else [])]
        )
    print_table([Column(title, title == "misrounded") for title in titles], rows)


def _print_side_by_side(found: dict[str, dict[str, ErrorReport]], names: list[str]) -> None:
    rows = (
        [operator, *(f"{reports[name].worst:.4g}" if name in reports else "-" for name in names)]
        for operator, reports in found.items()
    )
    print_table([Column("operator"), *(Column(name, is_number=True) for name in names)], rows)


def _print_histogram(report: ErrorReport) -> None:
    columns = [Column("error up to", is_number=True), Column("results", is_number=True)]
    bins = zip(BINS, report.histogram, strict=True)
    print_table(columns, ([f"{bound:g} ULP", f"{count:,}"] for bound, count in bins if count))


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
    texts, numbers = ("operator", "at"), ("not correctly rounded", "wrong sign of zero", "farthest")
    print_table(
        [Column(title, title in numbers) for title in (texts[0], *numbers, texts[1])], map(_row_of_counts, found)
    )
    first = found[0]
    note = f"{first.dtype}, {first.count:,} inputs each"
    if any(each.undecided for each in found):
        note += f"; {sum(each.undecided for each in found):,} undecided values were taken as exact"
    say(note)
    if len(found) == 1:
        for example in first.first:
            given = ", ".join(_shown(value, kind.name) for value in example.inputs)
            say(f"  {given} -> {_shown(example.result, kind.name)}, right is {_shown(example.right, kind.name)}")


def _row_of_counts(each: Misrounded) -> list[str]:
    worst = each.worst
    place = ", ".join(_shown(value, each.dtype) for value in worst.inputs) if worst else ""
    steps = f"{worst.steps:,.0f} step{'s' if worst.steps != 1 else ''}" if worst else ""
    return [each.operator, f"{each.misrounded:,}", f"{each.zero_signs:,}" if worst else "", steps, place]


def _shown(value: float, dtype: str) -> str:
    """With as many digits as tell the type's numbers apart."""
    digits = 17 if dtype == "float64" else 9
    return f"{value}" if isinstance(value, int) else f"{value:.{digits}g}"
