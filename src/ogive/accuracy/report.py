"""What was found by a measurement, as data: one small file of JSON per operator, parameters and element type."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BINS", "Report", "file_name", "load"]

#: Upper ends of the histogram's bins, in ULP.
BINS = (0.5, 0.501, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 4.0, 16.0, 256.0, np.inf)

#: What is beyond the rounding of the nearest number: the reference, in float64, has an error too.
MISROUNDED = 0.5 + 1e-7


@dataclass
class Report:
    """What a sweep or a sample found."""

    operator: str
    parameters: dict[str, Any]
    dtype: str
    by: str = "ogive"
    """Whose results they are: Ogive's, a peer's, with its version, or those of a function of this name."""
    inputs: str = ""
    """``every input``, ``every 128th input``, or ``samples``."""
    count: int = 0
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
        self.misrounded += int(np.count_nonzero(above > MISROUNDED))
        counts = np.bincount(np.searchsorted(BINS, above), minlength=len(BINS))
        self.histogram = [a + b for a, b in zip(self.histogram, counts.tolist(), strict=True)]
        index = int(np.argmax(errors))
        if errors[index] > self.worst:
            self.worst = float(errors[index])
            self.worst_input = tuple(float(x[index]) for x in operands)
            self.worst_result = float(result[index])

    def save(self, folder: Path) -> Path:
        """Write the file for this measurement into a folder, all of it or nothing."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(self.operator, self.parameters, self.dtype)
        lines = [f"{json.dumps(name)}: {json.dumps(_plain(value))}" for name, value in asdict(self).items()]
        draft = path.with_suffix(".tmp")
        draft.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        draft.replace(path)
        return path


def file_name(operator: str, parameters: Mapping[str, Any], dtype: str) -> str:
    """Where a measurement is kept: its name says what was measured.

    >>> file_name("celu", {"alpha": 1.5}, "float32")
    'celu.alpha=1.5.float32.json'
    """
    return ".".join([operator, *(f"{name}={value}" for name, value in parameters.items()), dtype, "json"])


def load(path: Path) -> Report:
    """Read what `Report.save` wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    known = {f.name for f in fields(Report)}
    if not isinstance(data, dict) or set(data) != known:
        raise ValueError(f"{path} is not a report; allowed: a file that `ogive accuracy --save` has written")
    for name in ("worst", "worst_result"):
        data[name] = float(data[name])
    for name in ("worst_input", "worst_by_binade"):
        data[name] = [float(value) for value in data[name]]
    return Report(**data | {"worst_input": tuple(data["worst_input"])})


def _plain(value: Any) -> Any:
    """JSON has no infinity and no NaN: they are written as texts."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
