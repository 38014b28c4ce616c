"""How accurate an operator is: over every input, or where there are too many, on samples and round the worst.

The unit is one unit in the last place (ULP): the distance of neighbouring numbers of the element type at the
exact value's magnitude, never smaller than the smallest subnormal number. 0.5 is as good as rounding can be.
Where the exact value is NaN, or rounds to infinity, the error is 0 if the result is the same and infinite if
not: every pair of numbers has an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive.dtypes import ElementType
from ogive.operator import Operator
from ogive.reference import evaluate, evaluate_exactly, to_long_double

__all__ = ["BINS", "Report", "error_in_ulp", "sample", "sweep"]

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
    """What a sweep or a sample found."""

    operator: str
    parameters: dict[str, Any]
    dtype: str
    count: int = 0
    worst: float = -1.0
    worst_input: tuple[float, ...] = ()
    worst_result: float = np.nan
    misrounded: int = 0
    histogram: list[int] = field(default_factory=lambda: [0] * len(BINS))
    digest: str = ""
    """SHA-256 of the results of a sweep, in the order of the inputs' bit patterns: equal on every machine."""

    def add(self, operands: Sequence[np.ndarray], result: np.ndarray, errors: np.ndarray) -> None:
        """Count one step."""
        self.count += result.size
        self.misrounded += int(np.count_nonzero(errors > 0.5 + 1e-7))  # the reference is not exact either
        places = np.searchsorted(BINS, np.nan_to_num(errors, nan=np.inf))
        for place, count in zip(*np.unique(places, return_counts=True), strict=True):
            self.histogram[int(place)] += int(count)
        index = int(np.argmax(errors))
        if errors[index] > self.worst:
            self.worst = float(errors[index])
            self.worst_input = tuple(float(x[index]) for x in operands)
            self.worst_result = float(result[index])


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
    measured = _Measured(operator, kind, parameters or {}, function)
    report = Report(operator.name, measured.values, kind.name)
    digest = hashlib.sha256()
    with ThreadPoolExecutor(workers) as pool:
        # NumPy and kernels release the interpreter's lock, so threads do. Results are taken in order.
        for step in _in_order(pool, measured, _patterns(kind, stride), workers + 2):
            report.add(*step)
            digest.update(np.ascontiguousarray(step[1]).tobytes())
            progress(step[1].size)
    report.digest = digest.hexdigest()
    if 0 < report.worst < np.inf:  # the reference has an error of its own
        report.worst = measured.exactly(report.worst_input, report.worst_result)
    return report


#: How far from 1, in powers of two, samples are taken, in turn: any number; ordinary ones; those round 1.
SPREADS = (None, 40, 5, 0)

#: How many of the worst operands a sample is refined round, and how often.
KEPT, ROUNDS = 64, 24


def sample(
    operator: Operator,
    kind: ElementType,
    parameters: Mapping[str, Any] | None = None,
    *,
    count: int = 10_000_000,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
    workers: int = 2,
) -> Report:
    """Measure an operator where a sweep would not end: in float64, and of several tensors.

    Operands of all magnitudes first, then those whose bits are near the worst ones. The largest error that
    is found is a lower bound of the largest error that there is.
    """
    measured = _Measured(operator, kind, parameters or {}, dtype=np.longdouble if kind.bits == 64 else np.float64)
    report = Report(operator.name, measured.values, kind.name)
    generator = np.random.default_rng(seed)
    steps = -(-count // STEP)
    worst: Step = [np.zeros(0, kind.numpy) for _ in range(operator.inputs)], np.zeros(0, kind.numpy), np.zeros(0)
    with ThreadPoolExecutor(workers) as pool:
        drawn = ([_drawn(generator, kind, SPREADS[i % len(SPREADS)]) for _ in worst[0]] for i in range(steps))
        for step in _in_order(pool, measured, drawn, workers + 2):
            report.add(*step)
            worst = _worst_of(worst, step)
            progress(STEP)
        for _ in range(ROUNDS):
            step = measured([_moved(generator, np.resize(x, STEP)) for x in worst[0]])
            report.add(*step)
            worst = _worst_of(worst, step)
            progress(STEP)
    if 0 < report.worst < np.inf:
        report.worst = 0.0
        for *operands, result in zip(*worst[0], worst[1], strict=True):
            given = tuple(map(float, operands))
            error = measured.exactly(given, float(result))
            if error > report.worst:
                report.worst, report.worst_input, report.worst_result = error, given, float(result)
    return report


Step = tuple[Sequence[np.ndarray], np.ndarray, np.ndarray]
"""Operands, results, errors."""


def _drawn(generator: np.random.Generator, kind: ElementType, spread: int | None) -> np.ndarray:
    """Numbers of one element type: of any bits, or with magnitudes from 2**-spread to 2**spread."""
    bits = generator.integers(0, 256, (STEP, kind.itemsize), dtype=np.uint8).view(kind.numpy)[:, 0]
    if spread is None:
        return bits
    with np.errstate(all="ignore"):
        magnitude = np.exp2(generator.uniform(-spread, spread, STEP)) if spread else np.ones(STEP)
        if not spread:  # at all distances from 1
            magnitude += np.exp2(generator.uniform(-FORMATS[kind.name][0], -1, STEP)) * generator.choice([-1, 1], STEP)
        drawn: np.ndarray = np.copysign(magnitude, bits.astype(np.float64)).astype(kind.numpy)
    return drawn


def _moved(generator: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Numbers whose bits, as integers, are at all distances from those of x."""
    integer = np.dtype(f"i{x.dtype.itemsize}")
    distance = np.exp2(generator.uniform(0, FORMATS[x.dtype.name][0], x.size)) * generator.choice([-1, 0, 1], x.size)
    moved: np.ndarray = x.view(integer) + distance.astype(integer)
    return moved.view(x.dtype)


def _worst_of(kept: Step, step: Step) -> Step:
    """The results with the largest errors, of those kept and of a step, each once."""
    operands = [np.concatenate(pair) for pair in zip(kept[0], step[0], strict=True)]
    result, errors = (np.concatenate(pair) for pair in zip(kept[1:], step[1:], strict=True))
    order = np.argsort(-errors, kind="stable")[: 4 * KEPT]
    _, first = np.unique(np.stack([x[order].view(f"u{x.itemsize}") for x in operands]), axis=1, return_index=True)
    order = order[np.sort(first)][:KEPT]
    return [x[order] for x in operands], result[order], errors[order]


class _Measured:
    """An operator with its parameters, its reference, and the errors of the one against the other."""

    def __init__(
        self,
        operator: Operator,
        kind: ElementType,
        parameters: Mapping[str, Any],
        function: Callable[..., np.ndarray] | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self.values = operator.checked_parameters(parameters)
        numeric = {p.name: self.values[p.name] for p in operator.numeric_parameters}
        choices = {p.name: self.values[p.name] for p in operator.parameters if p.choices}
        in_single = kind.computes_in == "float32"
        self.numbers = {name: float(np.float32(value)) if in_single else value for name, value in numeric.items()}
        self.root = operator.formula(**choices)[0]
        self.compute = function or operator.bind(**self.values)
        self.kind, self.dtype = kind, dtype

    def __call__(self, operands: Sequence[np.ndarray]) -> Step:
        with np.errstate(all="ignore"):
            result = self.compute(*operands)
            exact = evaluate(self.root, operands, self.numbers, self.dtype)
        return operands, result, error_in_ulp(result, exact, self.kind)

    def exactly(self, operands: Sequence[float], result: float) -> float:
        """The error of one result, against 300 bits."""
        truth = evaluate_exactly(self.root, operands, self.numbers)
        return float(error_in_ulp(np.array([result]), np.array([to_long_double(truth)]), self.kind)[0])


def _patterns(kind: ElementType, stride: int) -> Iterator[list[np.ndarray]]:
    for begin in range(0, 1 << kind.bits, STEP * stride):
        end = min(begin + STEP * stride, 1 << kind.bits)
        yield [np.arange(begin, end, stride, dtype=np.uint64).astype(f"u{kind.itemsize}").view(kind.numpy)]


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
