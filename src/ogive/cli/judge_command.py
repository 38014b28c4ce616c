"""``ogive judge``: how many ULP anybody's implementation is off, and where that comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.progress import MofNCompleteColumn, TimeRemainingColumn

from ogive.catalog.rounded_steps import ONCE
from ogive.cli.accuracy_command import read_parameter
from ogive.cli.operator_argument import ROUNDING, ROUNDINGS, OperatorName, find_with_name
from ogive.cli.terminal import Column, print_json, print_table, progress, say
from ogive.common.dtypes import FLOATS_OF_8_BITS, NUMBERS
from ogive.errors import DTypeError, UnsupportedError
from ogive.golden import Specification, of_operator
from ogive.judge import (
    ALLOWABLE,
    POLICIES,
    Budget,
    Budgets,
    Judgement,
    Subject,
    load,
    write_html,
    write_json,
    write_junit,
)
from ogive.judge.judging import judge
from ogive.judge.reports import as_json, of_results
from ogive.judge.subjects import of_program, subject
from ogive.laboratory.peers.peer_functions import PEERS
from ogive.operators.operator import Operator

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("subject_text", metavar="[SUBJECT]", required=False)
@click.option(
    "--operator", "operators", multiple=True, type=OperatorName(), help="An operator; several are judged in turn."
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    type=click.Choice([*(t.name for t in NUMBERS), *FLOATS_OF_8_BITS]),
    help="Default: float32.",
)
@click.option(
    "--saturate/--no-saturate",
    default=True,
    help="Whether results of 8-bit floats have to end at the largest number. Default: they have to.",
)
@click.option("--rounding", default=ONCE, show_default=True, type=click.Choice(ROUNDINGS), help=ROUNDING)
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter and its value.")
@click.option(
    "--signature", metavar="TEXT", help="A C function's declaration. Default: void f(const T *x, T *y, size_t n)."
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="How long a call of a C function or program may take. Default for C: 10, and 20 microseconds an element.",
)
@click.option("--exec", "program", metavar="COMMAND", help="A program that reads and writes raw bytes, as the subject.")
@click.option("--results", type=_FOLDER, help="Results that were made elsewhere, as the subject.")
@click.option("--vectors", "vectors_folder", type=_FOLDER, help="The golden data that --results belongs to.")
@click.option("--max-ulp", type=click.FloatRange(0), help="The largest error that is accepted. Default: 1.")
@click.option("--max-not-nearest", type=click.IntRange(0), help="How many results may be other than the nearest.")
@click.option(
    "--allow", multiple=True, type=click.Choice(list(ALLOWABLE)), help="A policy that may be broken; zero_sign is."
)
@click.option("--max-dependence", type=click.FloatRange(0), help="How far results may depend on length and place.")
@click.option(
    "--budget",
    "budget_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file of budgets by operator and type.",
)
@click.option("--exhaustive", is_flag=True, help="Every input of float32. Takes minutes.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 1024), help="Number of threads.")
@click.option("--json", "json_file", type=_FILE, help="Write a report in JSON; - prints it.")
@click.option("--html", "html_file", type=_FILE, help="Write a report as a page.")
@click.option("--junit", "junit_file", type=_FILE, help="Write a report in JUnit's XML.")
def command(
    subject_text: str | None,
    operators: tuple[str, ...],
    dtypes: tuple[str, ...],
    saturate: bool,
    rounding: str,
    parameters: tuple[str, ...],
    signature: str | None,
    time_limit: float | None,
    program: str | None,
    results: Path | None,
    vectors_folder: Path | None,
    allow: tuple[str, ...],
    budget_file: Path | None,
    exhaustive: bool,
    workers: int,
    json_file: Path | None,
    html_file: Path | None,
    junit_file: Path | None,
    **limits: float | None,
) -> int:
    """Judge an implementation of an operator against exact results.

    SUBJECT is opencl:NUMBER, onnxruntime[:Provider], openvino[:DEVICE], torch[:device][:compile], jax, tensorflow or ogive. It may also
    be a Python function of arrays (module:function or file.py:function), or a function of a shared library
    (./libk.so:my_gelu). --exec and --results take its place.

    Every input of 8 and 16 bits is judged; of longer types chosen and evenly spread ones, or with --exhaustive all of
    float32. A function or program needs --operator. Without it, all operators of one tensor that a library has are judged.

    A C function is called in a process of its own, which it may crash.

    The exit status is 0 within the budget, 1 beyond it, 2 for a wrong call.
    """
    given = [name for name, value in (("SUBJECT", subject_text), ("--exec", program), ("--results", results)) if value]
    if len(given) != 1:
        what = "nothing to judge" if not given else f"{' and '.join(given)} were given"
        raise click.UsageError(f"{what}; allowed: one of SUBJECT, --exec, --results")
    if (results is None) != (vectors_folder is None):
        raise click.UsageError("--results and --vectors belong together; allowed: both or neither")
    if program and not operators:
        raise click.UsageError(
            "--exec was given without --operator; allowed: with the operator that the program computes"
        )
    if subject_text and not operators and set(":.") & set(subject_text) and not _is_of_library(subject_text):
        # A C function of another operator would be given buffers of other types.
        what = f"{subject_text} was given without --operator"
        raise click.UsageError(f"{what}; allowed: with the operator that the function computes")
    values = dict(read_parameter(text) for text in parameters)
    if values and len(operators) != 1:
        raise click.UsageError("--parameter says what one operator has; allowed: with one --operator")
    budgets = load(budget_file) if budget_file else Budgets(())
    changes: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    if allow:
        changes["allow"] = frozenset((*allow, "zero_sign"))

    def budget_of(spec: Specification) -> Budget:
        return replace(budgets.of(spec.operator, spec.kind.name), **changes)

    found: list[Judgement] = []
    missing = 0
    with progress(MofNCompleteColumn(), TimeRemainingColumn()) as display:
        if results and vectors_folder:
            for spec, chosen, inputs in of_results(results, vectors_folder):
                found.append(judge(chosen, spec, budget=budget_of(spec), inputs=inputs))
        else:
            for spec in _specifications(
                operators, dtypes or ("float32",), values, saturate=saturate, rounding=rounding
            ):
                total = 1 << spec.kind.bits if exhaustive and spec.kind.bits == 32 else None
                task = display.add_task(spec.title, total=total)
                try:
                    chosen = _subject(subject_text, program, spec, signature, time_limit)
                    judged = judge(
                        chosen,
                        spec,
                        budget=budget_of(spec),
                        exhaustive=exhaustive,
                        workers=workers,
                        progress=partial(display.advance, task),
                    )
                except (UnsupportedError, DTypeError):
                    if operators:
                        raise
                    missing += 1
                except Exception as error:  # a library may raise anything for a type that it does not have
                    if operators and not _is_of_library(subject_text):
                        raise
                    if operators:
                        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
                        raise UnsupportedError(f"{subject_text}: {spec.title}: {first}") from error
                    missing += 1
                else:
                    found.append(judged)
                display.remove_task(task)
    if not found:
        raise click.UsageError(f"{subject_text} has none of the operators; allowed: one that it has")
    for path, write in ((html_file, write_html), (junit_file, write_junit)):
        if path:
            write(found, path)
    if json_file and str(json_file) == "-":
        print_json(as_json(found))
    else:
        if json_file:
            write_json(found, json_file)
        _print(found, missing)
    return 0 if all(j.within_budget for j in found) else 1


def _is_of_library(text: str | None) -> bool:
    return bool(text) and str(text).partition(":")[0] in PEERS


def _specifications(
    operators: tuple[str, ...], dtypes: tuple[str, ...], values: dict[str, object], *, saturate: bool, rounding: str
) -> Iterator[Specification]:
    from ogive.catalog import OPERATORS

    chosen: list[tuple[Operator, str]] = [find_with_name(name) for name in operators]
    if not operators:
        chosen = [(op, op.name) for op in OPERATORS.values() if op.inputs == 1 and not op.is_row_wise]
    for op, shown in chosen:
        known = {p.name for p in op.parameters}
        for name in values:
            if name not in known:
                allowed = ", ".join(sorted(known)) or "it has none"
                raise click.UsageError(f"{op.name} has no parameter {name!r}; allowed: {allowed}")
        if not operators and any(p.is_required for p in op.parameters):
            continue
        for dtype in dtypes:
            try:
                yield of_operator(op, dtype, values, saturate=saturate, rounding=rounding, name=shown)
            except DTypeError:
                if operators:
                    raise


def _subject(
    text: str | None, program: str | None, spec: Specification, signature: str | None, time_limit: float | None
) -> Subject:
    if program:
        return of_program(program, spec, time_limit)
    assert text is not None
    return subject(text, spec, signature=signature, time_limit=time_limit)


# ---- what is printed


def _print(found: list[Judgement], missing: int) -> None:
    if len(found) == 1:
        _print_one(found[0])
        return
    numbers = "largest error", "not nearest", "of"
    print_table(
        [Column(title, title in numbers) for title in ("operator", *numbers, "verdict")]
        + [Column("cause", is_list=True)],
        map(_row, found),
    )
    beyond = sum(not j.within_budget for j in found)
    absent = f"; it does not have {missing} more" if missing else ""
    say(f"{found[0].subject}: {len(found)} judged, {beyond} beyond the budget{absent}")


def _row(j: Judgement) -> tuple[str, ...]:
    verdict = "within" if j.within_budget else "beyond"
    cause = j.causes[0].text if j.causes and not j.within_budget else ""
    return j.title, f"{j.worst_ulp:,.4g} ULP", f"{j.not_nearest:,}", f"{j.count:,}", verdict, cause


def _print_one(j: Judgement) -> None:
    say(f"{j.subject} {j.subject_version}: {j.title}, {j.inputs}".replace(" :", ":"))
    if j.worst is not None:
        at = ", ".join(f"{v:.9g}" for v in j.worst.inputs)
        say(f"largest error: {j.worst_ulp:,.6g} ULP at {at}: {j.worst.result:.9g}, right is {j.worst.right:.9g}")
    say(f"largest distance: {j.worst_steps:,.0f} numbers of the type")
    say(f"not nearest: {j.not_nearest:,} of {j.count:,}")
    for name, policy in j.policies.items():
        if policy.count:
            say(f"{name}: {policy.count:,} ({POLICIES[name]})")
    if j.reversals:
        say(f"order: {j.reversals:,} pairs of neighbours have results in the wrong order")
    if j.symmetry and j.asymmetric:
        say(f"symmetry: {j.asymmetric:,} results are not {j.symmetry}")
    for text in j.dependence.found:
        say(text)
    if j.nanoseconds:
        say(f"time: {np.format_float_positional(j.nanoseconds, trim='-')} ns an element")
    for cause in j.causes:
        say(f"cause: {cause.text}")
    for text in j.beyond:
        say(f"beyond the budget: {text}")
    say("within the budget" if j.within_budget else "beyond the budget")
