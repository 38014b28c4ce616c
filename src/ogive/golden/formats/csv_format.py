"""A table of the elements: each tensor and the result as a decimal number that reads back, and as bits."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ogive.golden.specification import bits_of, python_value
from ogive.golden.vectors import Vectors

__all__ = ["write"]


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write one file: the elements of the first case."""
    spec, case = vectors.specification, vectors.cases[0]
    rows = []
    case_arrays = [np.broadcast_to(x, np.broadcast_shapes(*(a.shape for a in case.inputs))) for x in case.inputs]
    columns = [*case_arrays, case.expected] if case.expected.shape == case_arrays[0].shape else case_arrays
    header = []
    for name in (*spec.tensors, "expected")[: len(columns)]:
        header += [name, f"{name}_bits"]
    flat = [np.ascontiguousarray(x).reshape(-1) for x in columns]
    bits = [bits_of(x) for x in flat]
    for i in range(flat[0].size):
        row: list[object] = []
        for x, b in zip(flat, bits, strict=True):
            row += [repr(python_value(x[i])), f"{int(b[i]):#0{2 + 2 * x.dtype.itemsize}x}"]
        reason = "" if vectors.chosen is None else vectors.chosen.labels[vectors.chosen.reasons[i]]
        rows.append([*row, reason])
    path = folder / f"{vectors.name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, "chosen_as"])
        writer.writerows(rows)
    return [path]
