"""Measure the errors of float32 derivatives: Ogive's, PyTorch's and JAX's, and write them into docs/tables/derivatives.md.

    python accuracy/measure_derivatives.py [--stride 1021]

Every ``stride``-th of the 2**32 inputs is taken. The reference is Ogive's derivative in float64, rounded to it: it is wrong
by far less than a unit of float32, also next to zeros. Errors are in units in the last place of float32 at the exact
derivative; where one of both is not finite and the other is, or the other way round, the error is infinite. The figures are
kept in accuracy/derivatives.json; ``--table`` writes the table of them alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ogive
from ogive.laboratory.accuracy.ulp import error_in_ulp

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "accuracy/derivatives.json"
PAGE = ROOT / "docs/tables/derivatives.md"
BEGIN, END = "<!-- derivatives: begin -->\n", "<!-- derivatives: end -->\n"
STEP = 1 << 18
Derivative = Callable[[np.ndarray], np.ndarray]

#: By the operator and its parameters: PyTorch's function, and JAX's.
PEERS: dict[str, tuple[dict[str, Any], str, str]] = {
    "celu": ({}, "F.celu(x)", "nn.celu(x)"),
    "elu": ({}, "F.elu(x)", "nn.elu(x)"),
    "gelu": ({}, "F.gelu(x)", "nn.gelu(x, approximate=False)"),
    "gelu, tanh": ({"approximate": "tanh"}, "F.gelu(x, approximate='tanh')", "nn.gelu(x, approximate=True)"),
    "log_sigmoid": ({}, "F.logsigmoid(x)", "nn.log_sigmoid(x)"),
    "mish": ({}, "F.mish(x)", "nn.mish(x)"),
    "sigmoid": ({}, "torch.sigmoid(x)", "nn.sigmoid(x)"),
    "softplus": ({}, "F.softplus(x)", "nn.softplus(x)"),
    "softsign": ({}, "F.softsign(x)", "nn.soft_sign(x)"),
    "swish": ({}, "F.silu(x)", "nn.silu(x)"),
    "tanh": ({}, "torch.tanh(x)", "np.tanh(x)"),
}


def of_ogive(name: str) -> Derivative:
    derivative = ogive.grad(getattr(ogive, name.split(",")[0])).bind(**PEERS[name][0])
    return lambda x: np.asarray(derivative(x))


def of_torch(name: str) -> Derivative:
    import torch

    function = eval(f"lambda x: {PEERS[name][1]}", {"torch": torch, "F": torch.nn.functional})

    def derivative(x: np.ndarray) -> np.ndarray:
        leaf = torch.from_numpy(x).requires_grad_()
        found: np.ndarray = torch.autograd.grad(function(leaf), leaf, torch.ones(x.size))[0].numpy()
        return found

    return derivative


def of_jax(name: str) -> Derivative:
    import jax

    function = eval(f"lambda x: {PEERS[name][2]}", {"nn": jax.nn, "np": jax.numpy})
    derivative = jax.jit(lambda x: jax.vjp(function, x)[1](jax.numpy.ones_like(x))[0])
    return lambda x: np.asarray(derivative(x))


LIBRARIES = {"Ogive": of_ogive, "PyTorch": of_torch, "JAX": of_jax}


def inputs(stride: int) -> Iterator[np.ndarray]:
    """Every so many-th float32 but NaN."""
    for first in range(0, 1 << 32, STEP * stride):
        bits = np.arange(first, min(first + STEP * stride, 1 << 32), stride, dtype=np.uint64)
        x = bits.astype(np.uint32).view(np.float32)
        yield x[~np.isnan(x)]


def measure(name: str, stride: int) -> dict[str, dict[str, Any]]:
    exact = of_ogive(name)
    derivatives = {library: make(name) for library, make in LIBRARIES.items()}
    found = {library: {"largest": 0.0, "at": 0.0, "wrong": 0, "of": 0} for library in LIBRARIES}
    for x in inputs(stride):
        reference = exact(x.astype(np.float64))
        for library, derivative in derivatives.items():
            with np.errstate(all="ignore"):
                errors = error_in_ulp(derivative(x), reference, "float32")
            row, place = found[library], int(np.argmax(errors))
            if errors[place] > row["largest"]:
                row["largest"], row["at"] = float(errors[place]), float(x[place])
            row["wrong"] += int((errors > 1).sum())
            row["of"] += x.size
    return {library: _plain(row) for library, row in found.items()}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"largest": "infinite" if row["largest"] == float("inf") else row["largest"]}


def table(results: dict[str, Any]) -> str:
    lines = [
        f"| derivative of | {' | '.join(LIBRARIES)} |",
        f"| --- |{' ---: |' * len(LIBRARIES)}",
    ]
    for name, rows in results["operators"].items():
        lines.append(f"| `{name}` | {' | '.join(_cell(rows[library]) for library in LIBRARIES)} |")
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, Any]) -> str:
    largest, share = row["largest"], row["wrong"] / row["of"]
    error = largest if isinstance(largest, str) else f"{largest:.3f}" if largest < 10 else f"{largest:.2g}"
    return f"{error} at {row['at']:.9g}" + (f"; {100 * share:.2g}%" if share else "")


def write(results: dict[str, Any]) -> None:
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + table(results) + END + rest.split(END)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stride", type=int, default=1021)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        results = json.loads(RESULTS.read_text())
    else:
        import jax
        import torch

        results = {"stride": given.stride, "torch": torch.__version__, "jax": jax.__version__, "operators": {}}
        for name in PEERS:
            results["operators"][name] = measure(name, given.stride)
            print(name, results["operators"][name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    write(results)


if __name__ == "__main__":
    main()
