"""How accurate an operator is, over every input: sweeps against the reference evaluator.

The unit is one unit in the last place (ULP): the distance of neighbouring numbers of the element type at the
exact value's magnitude, never smaller than the smallest subnormal number. 0.5 is as good as rounding can be.
Where the exact value is NaN, or rounds to infinity, the error is 0 if the result is the same and infinite if
not: every pair of numbers has an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive.dtypes import ElementType
from ogive.operator import Operator
from ogive.reference import evaluate, evaluate_exactly, to_long_double

__all__ = ["BINS", "Report", "error_in_ulp", "sweep"]

#: (significant bits, smallest exponent of a normal number, largest finite number)
FORMATS = {
    "float16": (11, -14, 65504.0),
    "bfloat16": (8, -126, float.fromhex("0x1.fep127")),
    "float32": (24, -126, float.fromhex("0x1.fffffep127")),
    "float64": (53, -1022, float.fromhex("0x1.fffffffffffffp1023")),
}

#: Upper ends of the histogram's bins, in ULP.
BINS = (0.5, 0.501, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 4.0, 16.0, 256.0, np.inf)

#: Numbers of one step of a sweep: a few MiB, in the cache of one core.
STEP = 1 << 18


def unit_in_the_last_place(exact: np.ndarray, kind: ElementType) -> np.ndarray:
    """The distance of neighbouring numbers of the element type at these finite values."""
    precision, smallest_exponent, _ = FORMATS[kind.name]
    _, exponent = np.frexp(exact)
    exponent = np.where(exact == 0, smallest_exponent, np.maximum(exponent - 1, smallest_exponent))
    unit: np.ndarray = np.ldexp(exact.dtype.type(1), exponent - precision + 1)
    return unit


def error_in_ulp(result: np.ndarray, exact: np.ndarray, kind: ElementType) -> np.ndarray:
    """The error of results, with the exact values in a longer format.

    >>> from ogive.dtypes import element_type
    >>> error_in_ulp(np.float32([1.0, np.inf]), np.float64([1 + 2**-24, 1e39]), element_type("float32")).tolist()
    [0.5, 0.0]
    """
    with np.errstate(all="ignore"):
        largest = exact.dtype.type(FORMATS[kind.name][2])
        long = result.astype(exact.dtype)
        is_finite = np.isfinite(exact)
        distance = np.abs(long - exact) / unit_in_the_last_place(np.where(is_finite, exact, 1), kind)
        distance = np.where(np.isfinite(long), distance, np.inf)
        # From half a unit beyond the largest number on, rounding goes to infinity.
        overflows = np.abs(exact) >= largest + unit_in_the_last_place(np.array(largest), kind) / 2
        special = overflows | ~is_finite
        if special.any():
            same_infinity = np.isinf(long) & (np.signbit(long) == np.signbit(exact))
            agrees = np.where(np.isnan(exact), np.isnan(long), same_infinity)
            distance = np.where(special, np.where(agrees, 0, np.inf), distance)
        return distance


@dataclass
class Report:
    """What a sweep found."""

    operator: str
    parameters: dict[str, Any]
    dtype: str
    count: int = 0
    worst: float = -1.0
    worst_input: float = np.nan
    worst_result: float = np.nan
    misrounded: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * len(BINS))
    digest: str = ""
    """SHA-256 of the results in the order of the inputs' bit patterns: equal on every machine."""

    def add(self, x: np.ndarray, result: np.ndarray, errors: np.ndarray) -> None:
        """Count one step."""
        self.count += x.size
        self.misrounded += int(np.count_nonzero(errors > 0.5 + 1e-7))  # the reference is not exact either
        places = np.searchsorted(BINS, np.nan_to_num(errors, nan=np.inf))
        for place, count in zip(*np.unique(places, return_counts=True), strict=True):
            self.histogram[int(place)] += int(count)
        index = int(np.argmax(errors))
        if errors[index] > self.worst:
            self.worst = float(errors[index])
            self.worst_input, self.worst_result = float(x[index]), float(result[index])


def sweep(
    operator: Operator,
    kind: ElementType,
    parameters: Mapping[str, Any] | None = None,
    *,
    stride: int = 1,
    function: Callable[[np.ndarray], np.ndarray] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    workers: int = 2,
) -> Report:
    """Measure an operator of one tensor over every ``stride``-th bit pattern of an element type of up to 32 bits.

    ``function`` computes in the place of the operator's kernel: a peer can be measured with the same ruler.
    ``progress`` is told how many inputs are done.
    """
    values = operator.checked_parameters(parameters or {})
    numeric = {p.name: values[p.name] for p in operator.numeric_parameters}
    choices = {p.name: values[p.name] for p in operator.parameters if p.choices}
    rounded = {name: float(np.float32(value)) for name, value in numeric.items()}
    root = operator.formula(**choices)[0]
    compute = function or operator.bind(**values)

    def measure(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = bits.view(kind.numpy)
        with np.errstate(all="ignore"):
            result = compute(x)
            exact = evaluate(root, [x], rounded)
        return x, result, error_in_ulp(result, exact, kind)

    report = Report(operator.name, values, kind.name)
    digest = hashlib.sha256()
    with ThreadPoolExecutor(workers) as pool:
        # NumPy and kernels release the interpreter's lock, so threads do. Results are taken in order.
        for x, result, errors in _in_order(pool, measure, _patterns(kind, stride), workers + 2):
            report.add(x, result, errors)
            digest.update(np.ascontiguousarray(result).tobytes())
            progress(x.size)
    report.digest = digest.hexdigest()
    _look_again(report, root, rounded, kind)
    return report


def _patterns(kind: ElementType, stride: int) -> Iterator[np.ndarray]:
    for begin in range(0, 1 << kind.bits, STEP * stride):
        end = min(begin + STEP * stride, 1 << kind.bits)
        yield np.arange(begin, end, stride, dtype=np.uint64).astype(f"u{kind.itemsize}")


def _in_order(
    pool: ThreadPoolExecutor, function: Callable[..., Any], items: Iterator[Any], ahead: int
) -> Iterator[Any]:
    waiting = []
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _look_again(report: Report, root: Any, parameters: Mapping[str, float], kind: ElementType) -> None:
    """The worst case once more, against 300 bits: the sweep's reference has an error of its own."""
    if not np.isfinite(report.worst) or report.worst < 0:
        return
    truth = evaluate_exactly(root, [report.worst_input], parameters)
    exact = np.array([to_long_double(truth)])
    report.worst = float(error_in_ulp(np.array([report.worst_result], np.float64), exact, kind)[0])
