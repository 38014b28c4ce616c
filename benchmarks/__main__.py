"""``python -m benchmarks``: Ogive beside its peers, in one run.

Everybody computes on the same number of threads; medians of interleaved rounds are compared, or their least. The figures are
printed as tables and, with --json, written to a file, from which ``python -m benchmarks.report`` makes the
tables and the pictures of docs/tables/performance.md. With --quick ten activations, softmax and layer normalization are
measured in less than two minutes, at the processor's level and at x86-64-v3, and compared with that file.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Printed

import ogive
from benchmarks import cliffs, figures, startup, torch_calls, torch_networks
from benchmarks.cases import ARRAY_SECTIONS, Case, cases
from benchmarks.kernels import digest_of
from benchmarks.measure import COMPARED, Contestants, Outcome
from benchmarks.model_peers import MODEL_PEERS, exact_results, installed_for_models
from benchmarks.models import MODELS, ModelCase, model_cases
from benchmarks.peers import HELD_TO_AVX2, PEERS, installed, of_section
from benchmarks.tables import Row, Table, size_name, tables
from ogive.backends.target import host_target, runnable_targets

#: Those that measure by themselves.
BY_THEMSELVES = startup.SECTIONS | torch_calls.SECTIONS | torch_networks.SECTIONS
SECTIONS = (*ARRAY_SECTIONS, "models", *BY_THEMSELVES, "cliffs")

#: Rounds of a full run and of a quick one.
ROUNDS, QUICK_ROUNDS = 15, 5
#: Cases of a quick run, out of place.
QUICK_SECTIONS, QUICK_SIZES = ("float32", "softmax"), (1 << 16, 1 << 20)
QUICK_ACTIVATIONS = ("exp", "sigmoid", "swish", "elu", "celu", "mish", "softplus", "gelu", "tanh", "hard_swish")
QUICK_OPERATORS = (*QUICK_ACTIVATIONS, "softmax", "layer_normalization")
#: The level that most laptops and desktops have, which a quick run measures too.
COMMON_LEVEL = "x86-64-v3"

#: How many cases of a run that is cut short may be lost.
CASES_BETWEEN_SAVES = 20


@click.command(help=(__doc__ or "").replace("\n\n", "\n\n"))
@click.option("--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only these parts.")
@click.option("--operator", "operators", multiple=True, help="Only these operators.")
@click.option("--model", "models", multiple=True, type=click.Choice(list(MODELS)), help="Only these models.")
@click.option("--size", "sizes", multiple=True, type=int, help="Only these numbers of elements.")
@click.option(
    "--peer", "peers", multiple=True, type=click.Choice([*{**PEERS, **MODEL_PEERS}][1:]), help="Only these peers."
)
@click.option("--dtype", default="float32", show_default=True, type=click.Choice(cliffs.DTYPES), help="That of cliffs.")
@click.option(
    "--family",
    "families",
    multiple=True,
    type=click.Choice([*cliffs.FAMILIES, *cliffs.OF_ROWS]),
    help="Only these data of cliffs.",
)
@click.option("--threads", default=2, show_default=True, help="Threads for everybody.")
@click.option("--rounds", type=click.IntRange(1), help=f"Rounds to take the median of.  [default: {ROUNDS}]")
@click.option("--least", is_flag=True, help="Take the least of the rounds instead: for a machine that others use too.")
@click.option(
    "--level",
    "levels",
    multiple=True,
    help=f"The instructions of Ogive and of peers, such as {COMMON_LEVEL}.  [default: the processor's]",
)
@click.option(
    "--quick", is_flag=True, help="Ten activations and two kinds of rows, at two levels, beside the stored figures."
)
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Add the figures to this file.")
def main(
    sections: tuple[str, ...],
    operators: tuple[str, ...],
    models: tuple[str, ...],
    sizes: tuple[int, ...],
    peers: tuple[str, ...],
    dtype: str,
    families: tuple[str, ...],
    threads: int,
    rounds: int | None,
    least: bool,
    levels: tuple[str, ...],
    quick: bool,
    file: Path | None,
) -> None:
    if "cliffs" in sections and file is not None and (operators or families or quick):
        allowed = "allowed: without --operator, --family and --quick"
        raise click.UsageError(f"--json stores all cells of cliffs together; {allowed}")
    sections = sections or (QUICK_SECTIONS if quick else SECTIONS)
    here = list(runnable_targets())
    for level in levels:
        if level not in here:
            raise click.UsageError(f"--level: it is {level!r}; allowed on this machine: {', '.join(here)}")
        if level != host_target().name and not {*sections} <= ARRAY_SECTIONS.keys():
            raise click.UsageError(
                f"--level: other levels are measured of {', '.join(ARRAY_SECTIONS)} alone; name them with --section"
            )
    if quick:
        operators, sizes = operators or QUICK_OPERATORS, sizes or QUICK_SIZES
        if {*sections} <= ARRAY_SECTIONS.keys() and COMMON_LEVEL in here:
            levels = levels or tuple(dict.fromkeys((host_target().name, COMMON_LEVEL)))
    console = Console(width=None if sys.stdout.isatty() else 160)
    (present, missing), (for_models, missing_there) = installed(PEERS), installed_for_models()
    if missing or missing_there:
        console.print(f"not installed, left out: {', '.join(dict.fromkeys((*missing, *missing_there)))}")
    present, for_models = (
        [p for p in some if not peers or p in ("ogive", "exact", *peers)] for some in (present, for_models)
    )
    run = _Run(
        operators, models, sizes, dtype, families, threads, rounds or (QUICK_ROUNDS if quick else ROUNDS), least, quick
    )
    before = figures.read()
    for level in levels or (host_target().name,):
        taking_part = present if level == here[-1] else [peer for peer in present if peer in HELD_TO_AVX2]
        console.print(
            f"{figures.processor()}, {level}, {threads} threads, load average {figures.machine(level).get('load', '?')}"
        )
        if taking_part != present:
            console.print(
                f"not held to {level}, left out: {', '.join(peer for peer in present if peer not in taking_part)}"
            )
        now = {
            "machine": figures.machine(level),
            "versions": figures.versions([*taking_part, *(for_models if "models" in sections else ())]),
        }
        now |= {"threads": threads, "rounds": run.rounds, "least": least, "sections": {}}
        with _held_to(level, here):
            for section in sections:
                run.measure(section, taking_part, for_models, now, console, file)
        if quick:
            _compare(console, now, before)
        if any(row.get("beyond") for row in now["sections"].get("cliffs", ())):
            sys.exit(1)


@contextlib.contextmanager
def _held_to(level: str, here: Sequence[str]) -> Iterator[None]:
    """The variables by which contestants, which are processes, use the instructions of a level."""
    kept = dict(os.environ)
    os.environ["OGIVE_TARGET"] = level
    if level != here[-1]:
        for variables in HELD_TO_AVX2.values():
            os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def _compare(console: Console, now: figures.Figures, before: Sequence[figures.Figures]) -> None:
    """Say whether a row is worse than the table's of this processor and level."""
    table = figures.of_processor(before, now["machine"])
    compared, worse = figures.worse(now, table)
    cases = sum(map(len, now["sections"].values()))
    if not compared:
        console.print(f"{figures.title(now)}: docs/tables/performance.md has no figure of it to compare with.\n")
        return
    since = f"the table's of {table['machine']['date']}, of the {compared} of {cases} rows that it has"
    if not worse:
        console.print(f"{figures.title(now)}: no row is worse than {since}.\n")
        return
    console.print(f"{figures.title(now)}: {len(worse)} rows are worse than {since}:")
    for row, then, today in worse:
        console.print(
            f"  {row['operator']}, {size_name(row['elements'])} elements: {today:.2f} times as fast as the fastest peer, {then:.2f} in the table"
        )
    console.print()


@dataclass
class _Run:
    """The cases to be measured at every level, and how."""

    operators: tuple[str, ...]
    models: tuple[str, ...]
    sizes: tuple[int, ...]
    dtype: str
    families: tuple[str, ...]
    threads: int
    rounds: int
    least: bool
    quick: bool

    def measure(
        self,
        section: str,
        present: list[str],
        for_models: list[str],
        now: figures.Figures,
        console: Console,
        file: Path | None,
    ) -> None:
        """Measure a section, print its tables, and keep its figures."""
        rows: list[Row] = []
        now["sections"][section] = rows
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            if section == "cliffs":
                functions = cliffs.functions(self.operators)
                task = progress.add_task(section, total=len(functions))
                families = self.families or (*cliffs.FAMILIES, *cliffs.OF_ROWS)
                rows += cliffs.measure(functions, self.dtype, partial(progress.advance, task), families)
            elif section in BY_THEMSELVES:
                function, steps = BY_THEMSELVES[section]
                ogive.set_num_threads(self.threads)
                task = progress.add_task(section, total=steps(self.rounds))
                rows += function(self.rounds, partial(progress.advance, task))
            else:
                contestants = for_models if section == "models" else of_section(present, section)
                with Contestants([peer for peer in contestants if peer != "copyto" or not self.quick]) as contest:
                    for number, case in enumerate(progress.track(self._cases(section), description=section), start=1):
                        rows.append(
                            _row(case, contest.run(case, self.rounds, min if self.least else statistics.median))
                        )
                        if file is not None and number % CASES_BETWEEN_SAVES == 0:
                            figures.write(file, figures.stored(figures.read(file), now))
        shown = rows
        if section == "cliffs":
            shown = [*cliffs.summaries(rows), *cliffs.worst_first(rows)]
            now["sections"][section] = cliffs.stored(rows)
        for table in tables(section, shown):
            console.print(_printed(table))
            console.print()
        if file is not None:
            figures.write(file, figures.stored(figures.read(file), now))

    def _cases(self, section: str) -> Sequence[Case | ModelCase]:
        if section == "models":
            return model_cases(self.models, self.sizes, self.threads)
        made = cases(section, self.operators, self.sizes, self.threads)
        return [case for case in made if not self.quick or (not case.in_place and case.elements in self.sizes)]


def _row(case: Case | ModelCase, outcome: Outcome) -> dict[str, Any]:
    kernels = digest_of({"section": case.section, "operator": case.operator, "dtype": case.dtype})
    measured = {"seconds": outcome.seconds, "refused": outcome.refused, "kernels": kernels}
    if isinstance(case, ModelCase):
        errors = {} if find_spec("torch") is None else _differences(exact_results(case), case.dtype, outcome.results)
        return asdict(case) | {"shapes": case.shapes, "errors": errors} | measured
    row = asdict(case) | {"elements": case.elements} | measured
    itemsize = np.dtype(case.dtype).itemsize
    row["bytes"] = itemsize * (sum(int(np.prod(shape)) for shape in case.shapes) + case.elements)
    if case.section in ("fast", "float32", "float16", "bfloat16", "softmax", "xnnpack") and not case.in_place:
        row["errors"] = _errors(case, outcome.results)
    if case.section == "xnnpack":
        row["clock"] = 1e6 * float(figures.cpuinfo("cpu MHz") or "nan")  # as Linux states it; NaN elsewhere
    return row


def _errors(case: Case, results: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest error of each in units in the last place, beside the same in float64."""
    import ogive

    name, choices = (case.operator, {}) if case.operator != "gelu_tanh" else ("gelu", {"approximate": "tanh"})
    operator = ogive.catalog.OPERATORS[name]
    # Parameters are float32, also those that have a default such as 0.1.
    defaults = {p.name: float(np.float32(p.default)) for p in operator.numeric_parameters if not p.is_required}
    arrays = [array.astype(np.float64) for array in case.arrays()]
    exact = operator(*arrays, **defaults | dict(case.parameters) | choices)
    return _differences(exact, case.dtype, results)


def _differences(exact: np.ndarray, dtype: str, results: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest error of each in units in the last place."""
    from ogive.common.dtypes import element_type
    from ogive.laboratory.accuracy import error_in_ulp

    kind, exact = element_type(dtype), exact.reshape(-1)[:COMPARED]
    return {
        peer: float(np.max(error_in_ulp(result, exact, kind), initial=0.0))
        for peer, result in results.items()
        if peer != "copyto" and result.dtype == kind.numpy
    }


def _printed(table: Table) -> Printed:
    printed = Printed(title=table.title, caption=table.summary, box=None, header_style="bold", pad_edge=False)
    for i, column in enumerate(table.columns):
        printed.add_column(column, justify="right" if i else "left", no_wrap=True)
    for row in table.rows:
        printed.add_row(*map(escape, row))
    return printed


if __name__ == "__main__":
    main()
