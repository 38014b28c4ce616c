"""The findings of a measurement, as data: a row for operator, parameters and element type in a CSV file."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ogive.common.dtypes import FLOAT_FORMATS

#: Upper ends of the histogram's bins, in ULP.
BINS = (0.5, 0.501, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 4.0, 16.0, 256.0, np.inf)

#: The error beyond the rounding of the nearest number: the reference, in float64 or for that in long double, has an error too.
MISROUNDED, MISROUNDED_DOUBLE = 0.5 + 1e-7, 0.5 + 2.0**-9


@dataclass
class Findings:
    """The subject of a measurement or a count."""

    operator: str
    parameters: dict[str, Any]
    """The parameters that are not the defaults."""
    dtype: str
    by: str = "ogive"
    """The origin of the results: Ogive's, a peer's, with its version, or those of a function of this name."""
    inputs: str = ""
    """``every input``, ``every 128th input``, or ``samples``."""
    count: int = 0


@dataclass
class ErrorReport(Findings):
    """The findings of a sweep or a sample."""

    worst: float = -1.0
    worst_input: tuple[float, ...] = ()
    worst_result: float = math.nan
    misrounded: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * len(BINS))
    """How many results have an error up to each of `BINS` and beyond the one before."""
    worst_by_binade: list[float] = field(default_factory=list)
    """The largest error for each exponent of the input, in the order of the bit patterns; of a sweep only."""
    digest: str = ""
    """SHA-256 of the results of a sweep, in the order of the inputs' bit patterns: equal on every machine."""
    fingerprint: str = ""
    """SHA-256 of the results for some inputs: tells quickly whether the operator is still the one measured."""

    def add(self, operands: Sequence[np.ndarray], result: np.ndarray, errors: np.ndarray) -> None:
        """Count one step."""
        self.count += result.size
        above = errors[errors > BINS[0]]
        self.histogram[0] += errors.size - above.size
        least = MISROUNDED_DOUBLE if self.dtype == "float64" else MISROUNDED
        self.misrounded += int(np.count_nonzero(above > least))
        counts = np.bincount(np.searchsorted(BINS, above), minlength=len(BINS))
        self.histogram = [a + b for a, b in zip(self.histogram, counts.tolist(), strict=True)]
        index = int(np.argmax(errors))
        if errors[index] > self.worst:
            self.worst = float(errors[index])
            self.worst_input = tuple(float(x[index]) for x in operands)
            self.worst_result = float(result[index])

    @property
    def key(self) -> str:
        """The identity of a measured row."""
        return key(self.operator, self.parameters, self.dtype)

    @property
    def ordinary(self) -> float:
        """The largest error where the input's magnitude is in [2**-20, 8); of float16 and float32 alone."""
        if not self.worst_by_binade:
            return self.worst
        bias = FLOAT_FORMATS[self.dtype].largest_exponent
        by_binade = np.array(self.worst_by_binade).reshape(2, -1)
        return float(by_binade[:, max(bias - 20, 0) : bias + 3].max())

    def save(self, path: Path) -> None:
        """Write the row of this measurement into a file, in the place of an older one: all of it or nothing."""
        reports = {**load(path), self.key: self}
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for _, report in sorted(reports.items()):
                writer.writerow([_written(getattr(report, name)) for name in _COLUMNS])
        draft.replace(path)


_COLUMNS = tuple(f.name for f in fields(ErrorReport))


def key(operator: str, parameters: Mapping[str, Any], dtype: str) -> str:
    """The subject of a measurement, as text.

    >>> key("celu", {"alpha": 1.5}, "float32")
    'celu alpha=1.5 float32'
    """
    return " ".join([operator, *(f"{name}={value}" for name, value in parameters.items()), dtype])


def load(path: Path) -> dict[str, ErrorReport]:
    """The measurements of a file that `ErrorReport.save` has written, by their keys; none where there is no file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != _COLUMNS:
            what = "is not a file of measurements"
            raise ValueError(f"{path} {what}; allowed: a file that `ogive accuracy --save` has written")
        reports = [ErrorReport(**{name: _READ.get(name, str)(text) for name, text in row.items()}) for row in rows]
    return {report.key: report for report in reports}


def _written(value: Any) -> str:
    """A cell. In lists, numbers that follow each other and are the same are written once, as ``0.0*12``."""
    if isinstance(value, dict):
        return json.dumps(value) if value else ""
    if not isinstance(value, (list, tuple)):
        return str(value)
    runs = [(text, len(list(same))) for text, same in groupby(map(repr, value))]
    return " ".join(text if count == 1 else f"{text}*{count}" for text, count in runs)


def _listed(text: str, number: Callable[[str], Any]) -> list[Any]:
    runs = [run.partition("*") for run in text.split()]
    return [each for value, _, count in runs for each in [number(value)] * int(count or 1)]


_READ: Mapping[str, Callable[[str], Any]] = {
    "parameters": lambda text: json.loads(text) if text else {},
    "count": int,
    "worst": float,
    "worst_input": lambda text: tuple(_listed(text, float)),
    "worst_result": float,
    "misrounded": int,
    "histogram": lambda text: _listed(text, int),
    "worst_by_binade": lambda text: _listed(text, float),
}
