"""How many defects the judge finds, with which causes; and what ONNX's own tests and tolerances find beside.

``python -m tests.judge.detection`` prints the table; ``python -m tests.judge.detection docs/detection.md`` writes it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ogive.golden.specification import find_operator, of_operator
from ogive.judge import Judgement
from ogive.judge.measure import judge
from ogive.judge.subjects import of_callable
from tests.judge.defects import DEFECTS, Defect

#: The tolerances of ONNX's tests of nodes.
RTOL, ATOL = 1e-3, 1e-7


def found_by_judge(defect: Defect) -> Judgement:
    spec = of_operator(defect.operator, defect.dtype, defect.parameters)
    # Hundreds of calls of a reference take long, and can only add to what is beyond the budget.
    return judge(of_callable(defect.function), spec, budget=defect.budget, with_dependence="position" in defect.causes)


def is_caught(found: Judgement) -> bool:
    """Beyond the budget: the default one, or that of the defect."""
    return not found.within_budget


def cause_is_right(defect: Defect, found: Judgement) -> bool:
    return any(cause.name in defect.causes for cause in found.causes)


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
            with np.errstate(all="ignore"):
                result = np.asarray(defect.function(*arrays)).astype(np.float64)
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
    caught = named = by_onnx = 0
    for defect in DEFECTS:
        found = found_by_judge(defect)
        is_found, is_named, onnx = is_caught(found), cause_is_right(defect, found), found_by_onnx(defect)
        caught, named, by_onnx = caught + is_found, named + is_named, by_onnx + bool(onnx)
        first = found.causes[0].name if found.causes else "-"
        cause = f"{first}" if is_named else f"no ({first})"
        words = {True: "fail", False: "pass", None: "none"}[onnx]
        reported = defect.real.partition(",")[0]
        print(defect.name, is_found, is_named, [c.name for c in found.causes], onnx, file=sys.stderr, flush=True)
        lines.append(
            f"| {defect.name} | {defect.dtype} | {reported} | {'yes' if is_found else 'no'} | {cause} | "
            f"{found.worst_ulp:.4g} | {words} |"
        )
    total = len(DEFECTS)
    lines.append("")
    lines.append(f"Caught: {caught} of {total}. Right cause: {named}. ONNX's own tests and tolerances: {by_onnx}.")
    return "\n".join(lines) + "\n"


def document() -> str:
    return (
        "# Detection\n\nDefects that were reported, and ones that were made, judged with the defaults: 1 ULP, all policies "
        "but the sign of zero. A cause is right where it is among those that are named; the first one is shown. Beside: "
        "whether ONNX's own tests of the operator, with their inputs in the defect's type, exact expected results and "
        "ONNX's tolerances (rtol 1e-3, atol 1e-7), would fail (`none`: there is no such test). "
        "`python -m tests.judge.detection docs/detection.md` writes this page.\n\n" + table()
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(document(), encoding="utf-8")
    else:
        print(table())
