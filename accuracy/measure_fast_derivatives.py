"""Measure the errors of float32 derivatives under the fast contract, and write them into docs/tables/derivatives.md.

    python accuracy/measure_fast_derivatives.py [--stride 61]

Every ``stride``-th of the 2**32 inputs is taken; the reference is Ogive's derivative in float64. Next to a zero of the
derivative terms cancel, and the absolute error is measured: within a quarter of it, in units of 2**-24. Elsewhere errors are
in units in the last place of float32 at the exact derivative. PyTorch's are measured in the same way. The figures are kept
in accuracy/fast_derivatives.json; ``--table`` writes the table of them alone.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measure_derivatives import PAGE, PEERS, ROOT, inputs, of_torch

import ogive
from ogive.laboratory.accuracy.ulp import error_in_ulp

RESULTS = ROOT / "accuracy/fast_derivatives.json"
BEGIN, END = "<!-- fast derivatives: begin -->\n", "<!-- fast derivatives: end -->\n"

#: Where derivatives cross zero.
ZEROS = {"gelu": -0.7517916, "gelu, tanh": -0.7524614, "mish": -1.1924, "swish": -1.2784645}
NEAR = 0.25
UNIT = 2.0**-24
NAMES = ("celu", "gelu", "gelu, tanh", "log_sigmoid", "mish", "sigmoid", "softplus", "swish", "tanh")


def measure(name: str, stride: int) -> dict[str, dict[str, float]]:
    """By library: the largest error away from zeros, its place, and the largest absolute error beside them."""
    slope = ogive.grad(getattr(ogive, name.split(",")[0]))
    parameters = PEERS[name][0]
    fast, exact = slope.fast.bind(**parameters), slope.exact.bind(**parameters)
    libraries: dict[str, Callable[[np.ndarray], Any]] = {"Ogive, fast": fast, "PyTorch": of_torch(name)}
    found = {library: {"largest": 0.0, "at": 0.0, "near": 0.0} for library in libraries}
    for x in inputs(stride):
        reference = np.asarray(exact(x.astype(np.float64)))
        is_near = np.abs(x - ZEROS.get(name, math.inf)) < NEAR
        for library, derivative in libraries.items():
            with np.errstate(all="ignore"):
                result = np.asarray(derivative(x))
                errors = np.where(is_near, 0.0, error_in_ulp(result, reference, "float32"))
                beside = np.abs(result - reference)[is_near] / UNIT
            row, place = found[library], int(np.argmax(errors))
            if errors[place] > row["largest"]:
                row["largest"], row["at"] = float(errors[place]), float(x[place])
            row["near"] = max(row["near"], float(beside.max(initial=0.0)))
    return found


def table(results: dict[str, Any]) -> str:
    lines = [
        "| derivative of | fast, ULP | beside its zero, 2^-24 | PyTorch, ULP | beside its zero, 2^-24 |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, rows in results["operators"].items():
        cells = [cell for row in rows.values() for cell in (_shown(row), f"{row['near']:.2f}" if name in ZEROS else "")]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(row: dict[str, Any]) -> str:
    if math.isinf(row["largest"]):
        return f"infinite at {row['at']:.9g}"
    error = f"{math.ceil(row['largest'] * 100) / 100:.2f}" if row["largest"] < 1000 else f"{row['largest']:.2g}"
    return f"{error} at {row['at']:.9g}"


def write(results: dict[str, Any]) -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + table(results) + END + rest.split(END)[1], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stride", type=int, default=61)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    else:
        import torch

        results = {"stride": given.stride, "torch": torch.__version__, "operators": {}}
        for name in NAMES:
            results["operators"][name] = measure(name, given.stride)
            print(name, results["operators"][name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    write(results)


if __name__ == "__main__":
    main()
