"""How many defects the judge finds, with which causes; and what ONNX's own tests and tolerances find beside.

``python -m tests.judge.detection`` prints the table; ``python -m tests.judge.detection docs/tables/detection.md`` writes it.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ogive.golden.specification import Specification, find_operator, of_operator
from ogive.judge import Budget, Judgement
from ogive.judge.evidence import Died
from ogive.judge.judging import judge
from ogive.judge.subjects import Subject, of_callable, subject
from tests.judge.defects import DEFECTS, Defect

#: The tolerances of ONNX's tests of nodes.
RTOL, ATOL = 1e-3, 1e-7


@cache
def kernels() -> Path | None:
    """The shared library of kernels.c; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="ogive-detection-")
    atexit.register(folder.cleanup)
    made = Path(folder.name) / "libkernels.so"
    source = Path(__file__).with_name("kernels.c")
    subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", "-o", made, source, "-lm"], check=True)
    return made


def _subject(defect: Defect, spec: Specification) -> Subject:
    if isinstance(defect.function, str):
        return subject(f"{kernels()}:{defect.function}", spec, time_limit=1)
    return of_callable(defect.function)


def found_by_judge(defect: Defect) -> Judgement:
    spec = of_operator(defect.operator, defect.dtype, defect.parameters)
    # Hundreds of calls of a reference take long, and can only add to what is beyond the budget.
    needs_calls = "position" in defect.causes or isinstance(defect.function, str)
    return judge(_subject(defect, spec), spec, budget=defect.budget, with_dependence=needs_calls)


def is_caught(found: Judgement) -> bool:
    """Beyond the budget: the default one, or that of the defect."""
    return not found.within_budget


def named(found: Judgement) -> list[str]:
    """The causes, and the policies of memory and process that are broken."""
    return [cause.name for cause in found.causes] + [name for name, policy in found.policies.items() if policy.text]


def cause_is_right(defect: Defect, found: Judgement) -> bool:
    return any(name in defect.causes for name in named(found))


def found_by_onnx(defect: Defect) -> bool | None:
    """Whether ONNX's own tests of this operator fail; None if there is none for the type and the parameters.

    The tests' inputs are taken from the package onnx, whatever type and parameters they are for, as far as those fit.
    """
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        name = find_operator(defect.operator).onnx
        if name is None:
            return None
        cases = _cases(collect_testcases)
    spec = of_operator(defect.operator, defect.dtype, defect.parameters)
    ran = False
    for case in cases:
        node = case.model.graph.node
        if len(node) != 1 or node[0].op_type != name or not case.data_sets:
            continue
        for inputs, _ in case.data_sets:
            arrays = [np.asarray(x) for x in inputs[: len(spec.inputs)]]
            if len(arrays) != len(spec.inputs) or any(a.dtype.kind not in "fi" or not a.size for a in arrays):
                continue
            ran = True
            arrays = [np.ascontiguousarray(a).astype(t.numpy) for a, t in zip(arrays, spec.inputs, strict=True)]
            arrays = [a.reshape(-1) for a in np.broadcast_arrays(*arrays)]
            expected = spec.right(arrays).astype(np.float64)
            try:
                result = _subject(defect, spec)(spec, arrays).astype(np.float64)
            except Died:
                return True
            if not np.allclose(result, expected, rtol=RTOL, atol=ATOL, equal_nan=True):
                return True
    return False if ran else None


_kept: list[Any] = []


def _cases(collect: Any) -> list[Any]:
    if not _kept:
        _kept.extend(collect(""))
    return _kept


def table() -> str:
    lines = [
        "| defect | type | reported | caught | cause named | largest error, ULP | ONNX's tests |",
        "|---|---|---|---|---|---|---|",
    ]
    caught = right = by_onnx = nearest = 0
    for defect in DEFECTS:
        found = found_by_judge(defect)
        is_found, is_named, onnx = is_caught(found), cause_is_right(defect, found), found_by_onnx(defect)
        caught, right, by_onnx = caught + is_found, right + is_named, by_onnx + bool(onnx)
        is_near = defect.budget != Budget()
        nearest += is_near
        first = next(iter(named(found)), "-")
        cause = f"{first}" if is_named else f"no ({first})"
        words = {True: "fail", False: "pass", None: "none"}[onnx]
        reported = defect.real.partition(",")[0]
        print(defect.name, is_found, is_named, named(found), onnx, file=sys.stderr, flush=True)
        lines.append(
            f"| {defect.name} | {defect.dtype} | {reported} | {('nearest' if is_near else 'yes') if is_found else 'no'} | {cause} | "
            f"{found.worst_ulp:.4g} | {words} |"
        )
    total = len(DEFECTS)
    lines.append("")
    lines.append(
        f"Caught: {caught} of {total}, of them {caught - nearest} with the defaults and {nearest} where the nearest results are "
        f"asked for. Right cause: {right}. ONNX's own tests and tolerances: {by_onnx}."
    )
    return "\n".join(lines) + "\n"


def document() -> str:
    return (
        "# Detection\n\nDefects that were reported, and ones that were made, judged with the defaults: 1 ULP, all policies "
        "but the sign of zero. Caught is what is beyond that budget, and nothing else. `nearest`: the results are within 1 ULP, "
        "and are caught with `--max-not-nearest 0`. A cause is right where it is among those that are named, or is a policy of "
        "memory and process that is broken; the first one is shown. The last column says whether ONNX's own tests of the operator, with their inputs in the defect's type, exact expected results and "
        "ONNX's tolerances (rtol 1e-3, atol 1e-7), would fail (`none`: there is no such test). "
        "`python -m tests.judge.detection docs/tables/detection.md` writes this page.\n\n" + table()
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(document(), encoding="utf-8")
    else:
        print(table())
