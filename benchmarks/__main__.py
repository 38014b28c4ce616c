"""``python -m benchmarks``: Ogive beside its peers, in one run.

Everybody computes on the same number of threads; medians of interleaved rounds are compared. The figures are
printed as tables and, with --json, written to a file, from which ``python -m benchmarks.report`` makes the
tables and the pictures of docs/tables/performance.md.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
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
from benchmarks import cliffs, startup, torch_calls, torch_networks
from benchmarks.cases import ARRAY_SECTIONS, Case, cases
from benchmarks.kernels import digest_of
from benchmarks.measure import COMPARED, Contestants, Outcome
from benchmarks.model_peers import MODEL_PEERS, exact_results, installed_for_models
from benchmarks.models import MODELS, ModelCase, model_cases
from benchmarks.peers import PEERS, installed, of_section
from benchmarks.tables import Table, tables, written

#: Those that measure by themselves.
BY_THEMSELVES = startup.SECTIONS | torch_calls.SECTIONS | torch_networks.SECTIONS
SECTIONS = (*ARRAY_SECTIONS, "models", *BY_THEMSELVES, "cliffs")

#: Rounds of a full run and of a quick one.
ROUNDS, QUICK_ROUNDS = 15, 5
QUICK_OPERATORS = ("celu", "gelu", "relu", "sigmoid", "tanh", "add", "exp", "chain", "softmax", "log_softmax", "prelu")
QUICK_MODELS = ("relu", "ten cheap operators", "gelu by erf", "layer norm", "mean and variance")


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
@click.option("--quick", is_flag=True, help="A few operators and rounds: a first look.")
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
    quick: bool,
    file: Path | None,
) -> None:
    if "cliffs" in sections and file is not None and (operators or families or quick):
        allowed = "allowed: without --operator, --family and --quick"
        raise click.UsageError(f"--json stores all cells of cliffs together; {allowed}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    (present, missing), (for_models, missing_there) = installed(PEERS), installed_for_models()
    if missing or missing_there:
        console.print(f"not installed, left out: {', '.join(dict.fromkeys((*missing, *missing_there)))}")
    present, for_models = (
        [p for p in some if not peers or p in ("ogive", "exact", *peers)] for some in (present, for_models)
    )
    rounds = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    if quick and not operators:
        operators = QUICK_OPERATORS
    if quick and not models:
        models = QUICK_MODELS
    if quick and not sizes:
        sizes = (16, 1 << 16, 1 << 20)
    found: dict[str, list[dict[str, Any]]] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for section in sections or SECTIONS:
            if section == "cliffs":
                functions = cliffs.functions(operators)
                task = progress.add_task(section, total=len(functions))
                advance = partial(progress.advance, task)
                found[section] = cliffs.measure(
                    functions, dtype, advance, families or (*cliffs.FAMILIES, *cliffs.OF_ROWS)
                )
            elif section in BY_THEMSELVES:
                function, steps = BY_THEMSELVES[section]
                ogive.set_num_threads(threads)
                task = progress.add_task(section, total=steps(rounds))
                found[section] = function(rounds, lambda task=task: progress.advance(task))  # type: ignore[misc]
            else:
                is_models = section == "models"
                todo: Sequence[Case | ModelCase]
                todo = model_cases(models, sizes, threads) if is_models else cases(section, operators, sizes, threads)
                rows = found[section] = []
                with Contestants(for_models if is_models else of_section(present, section)) as contestants:
                    for number, case in enumerate(progress.track(todo, description=section), start=1):
                        rows.append(_row(case, contestants.run(case, rounds)))
                        if file is not None and number % CASES_BETWEEN_SAVES == 0:
                            _write(file, found, [*present, *for_models], threads, rounds)
            shown = found[section]
            if section == "cliffs":
                shown = [*cliffs.summaries(shown), *cliffs.worst_first(shown)]
                found[section] = cliffs.stored(found[section])
            for table in tables(section, shown):
                console.print(_printed(table))
                console.print()
            if file is not None:
                _write(file, found, [*present, *for_models], threads, rounds)
    if any(row.get("beyond") for row in found.get("cliffs", ())):
        sys.exit(1)


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
        row["clock"] = _clock()
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
    from ogive.accuracy import error_in_ulp
    from ogive.dtypes import element_type

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


def _write(file: Path, found: dict[str, Any], peers: list[str], threads: int, rounds: int) -> None:
    """New measurements take the place of what the file holds of the same cases."""
    from importlib.metadata import PackageNotFoundError, version

    before = json.loads(file.read_text())["sections"] if file.exists() else {}
    versions = {}
    for peer in ("numpy", *dict.fromkeys(peer.split(".")[0] for peer in peers)):
        try:
            versions[peer] = version(peer)
        except PackageNotFoundError:
            continue
    machine = {"processor": _processor(), "python": platform.python_version(), "date": time.strftime("%Y-%m-%d")}
    if hasattr(os, "getloadavg"):
        machine["load"] = f"{os.getloadavg()[2]:.1f}"
    if "cliffs" in found:  # all cells of a type are measured together
        types = {row["dtype"] for row in found["cliffs"]}
        before["cliffs"] = [row for row in before.get("cliffs", []) if row["dtype"] not in types]
    sections = before | {name: _updated(before.get(name, []), rows) for name, rows in found.items()}
    data = {"machine": machine, "versions": versions, "threads": threads, "rounds": rounds, "sections": sections}
    file.write_text(written(data))


def _updated(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def identity(row: dict[str, Any]) -> str:
        return json.dumps(
            [row.get(key) for key in ("name", "operator", "family", "shapes", "dtype", "layout", "in_place")]
        )

    return list(({identity(row): row for row in before} | {identity(row): row for row in now}).values())


def _processor() -> str:
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def _clock() -> float:
    """Hertz, as Linux states it; NaN elsewhere."""
    return 1e6 * float(_cpuinfo("cpu MHz") or "nan")


def _cpuinfo(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(key))
    except (OSError, StopIteration):
        return ""


if __name__ == "__main__":
    main()
