"""Measurements: an operator's results, or those of another function in its place, against the reference.

Inputs are taken in steps that fit into the cache of one core, and each step is counted in a `ErrorReport`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from ogive.common.dtypes import FLOAT_FORMATS, ElementType
from ogive.enclosures.row_enclosure import right_rows
from ogive.laboratory.accuracy.report import BINS, ErrorReport, Findings
from ogive.laboratory.accuracy.ulp import error_in_ulp, float_type
from ogive.laboratory.reference import evaluate, evaluate_exactly, to_long_double
from ogive.operators.operator import Operator
from ogive.operators.row_operator import RowOperator

F = TypeVar("F", bound=Findings)

#: Inputs of one step.
STEP = 1 << 16


def sweep(
    operator: Operator,
    kind: ElementType | str,
    parameters: Mapping[str, Any] | None = None,
    *,
    stride: int = 1,
    function: Callable[..., np.ndarray] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    workers: int = 2,
    careful: bool = False,
) -> ErrorReport:
    """Measure an operator of one tensor over every ``stride``-th bit pattern of an element type of up to 32 bits.

    ``function`` computes in the place of the operator's kernel: a peer can be measured with the same ruler.
    ``progress`` is told how many inputs are done. ``careful`` takes a longer reference, for formulas in which terms
    cancel: the largest errors of each step are computed again with 300 bits.
    """
    kind = float_type(kind)
    measured = _Measured(operator, kind, parameters or {}, function, np.longdouble if careful else np.float64)
    report = begun(ErrorReport, operator, kind, measured.values, function, stride)
    digest = hashlib.sha256()
    by_binade = np.zeros(1 << (kind.bits - FLOAT_FORMATS[kind.name][0] + 1))
    with ThreadPoolExecutor(workers) as pool:
        # NumPy and kernels release the interpreter's lock, so threads do. Results are taken in order.
        for step in in_order(pool, measured, patterns(kind, stride), workers + 2):
            report.add(*step)
            digest.update(np.ascontiguousarray(step[1]).tobytes())
            _count_by_binade(by_binade, step[0][0], step[2], kind)
            progress(step[1].size)
    report.digest = digest.hexdigest()
    report.worst_by_binade = [float(f"{error:.4g}") for error in by_binade]
    if 0 < report.worst < np.inf:  # the reference has an error of its own
        report.worst = measured.exactly(report.worst_input, report.worst_result)
    return report


def begun(
    findings: type[F],
    operator: Operator,
    kind: ElementType,
    parameters: Mapping[str, Any],
    function: Callable[..., np.ndarray] | None,
    stride: int | None = None,
) -> F:
    """Empty findings, which say whose results they will be of: of every ``stride``-th input, or of samples."""
    inputs = "samples" if stride is None else "every input" if stride == 1 else f"every {stride}th input"
    by = "ogive" if function is None else str(getattr(function, "__name__", None) or repr(function))
    return findings(operator.name, changed_parameters(operator, parameters), kind.name, by=by, inputs=inputs)


def _count_by_binade(by_binade: np.ndarray, x: np.ndarray, errors: np.ndarray, kind: ElementType) -> None:
    """Take the errors of a step, whose inputs are in the order of their bits, into the largest of each exponent."""
    place = x.view(f"u{kind.itemsize}") >> (FLOAT_FORMATS[kind.name][0] - 1)
    first, last = int(place[0]), int(place[-1])
    starts = np.searchsorted(place, np.arange(first, last + 1)) if last > first else np.zeros(1, np.intp)
    found = by_binade[first : last + 1]
    np.maximum(found, np.maximum.reduceat(errors, starts), out=found)


#: How far from 1, in powers of two, samples are taken, in turn: any number; ordinary ones; those round 1.
SPREADS = (None, 40, 5, 0)

#: How many of the worst operands a sample is refined round, and how often.
KEPT, ROUNDS = 64, 48


def sample(
    operator: Operator,
    kind: ElementType | str,
    parameters: Mapping[str, Any] | None = None,
    *,
    count: int = 10_000_000,
    seed: int = 0,
    function: Callable[..., np.ndarray] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    workers: int = 2,
    careful: bool = False,
) -> ErrorReport:
    """Measure an operator where a sweep would not end: in float64, and of several tensors.

    ``count`` operands in all. Those of all magnitudes first, then, up to half of them, those whose bits are near the
    worst ones. The largest error that is found is a lower bound of the largest error that there is. ``careful`` is
    that of `sweep`; float64 always has it.
    """
    kind = float_type(kind)
    is_longer = careful or kind.bits == 64
    measured = _Measured(operator, kind, parameters or {}, function, np.longdouble if is_longer else np.float64)
    report = begun(ErrorReport, operator, kind, measured.values, function)
    generator = np.random.default_rng(seed)
    refined = min(ROUNDS * STEP, count // 2)
    steps = -(-(count - refined) // STEP)
    worst: Step = [np.zeros(0, kind.numpy) for _ in range(operator.inputs)], np.zeros(0, kind.numpy), np.zeros(0)
    with ThreadPoolExecutor(workers) as pool:
        inputs = (
            [drawn(generator, kind, SPREADS[i % len(SPREADS)])[: count - refined - i * STEP] for _ in worst[0]]
            for i in range(steps)
        )
        for step in in_order(pool, measured, inputs, workers + 2):
            report.add(*step)
            worst = _worst_of(worst, step)
            progress(step[1].size)
        for i in range(ROUNDS):
            # As evenly as whole numbers can be.
            size = refined * (i + 1) // ROUNDS - refined * i // ROUNDS
            if size:
                step = measured([_moved(generator, np.resize(x, size)) for x in worst[0]])
                report.add(*step)
                worst = _worst_of(worst, step)
                progress(size)
    if 0 < report.worst < np.inf:
        report.worst = 0.0
        for *operands, result in zip(*worst[0], worst[1], strict=True):
            given = tuple(map(float, operands))
            error = measured.exactly(given, float(result))
            if error > report.worst:
                report.worst, report.worst_input, report.worst_result = error, given, float(result)
    return report


#: Long double does not tell whether an error of more than this is one of half a unit.
NEARLY_HALF = 0.5 - 2.0**-8


def _judged_by_enclosures(
    measured: _Measured, kind: ElementType, operands: Sequence[np.ndarray], results: np.ndarray, errors: np.ndarray
) -> np.ndarray:
    """The errors of results of rows: enclosures judge those of half a unit and more, which long double may have lost itself."""
    errors = errors.copy()
    for i in np.flatnonzero((errors > NEARLY_HALF).reshape(len(errors), -1).any(axis=1)):
        row, own = errors[i : i + 1].reshape(-1), results[i : i + 1].reshape(-1)
        wanted = np.flatnonzero(row > NEARLY_HALF).tolist()
        right = np.array(right_rows(measured.root, [x[i].tolist() for x in operands], measured.numbers, kind, wanted))
        is_nearest = right.astype(kind.numpy) == own[wanted]
        row[wanted] = np.where(is_nearest, np.minimum(row[wanted], 0.5), np.maximum(row[wanted], np.nextafter(0.5, 1)))
    return errors


#: Lengths of rows, and widths of the normal distributions that they are drawn from.
ROW_LENGTHS = (1, 2, 3, 7, 32, 100, 1000, 4096, 32768)
ROW_WIDTHS = (0.1, 1.0, 4.0, 30.0)


def sample_rows(
    operator: RowOperator,
    kind: ElementType | str,
    parameters: Mapping[str, Any] | None = None,
    *,
    count: int = 10_000_000,
    seed: int = 0,
    function: Callable[..., np.ndarray] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    careful: bool = False,
) -> ErrorReport:
    """Measure a row-wise operator, of which an element's error depends on its row: rows of several lengths.

    ``careful`` takes long double for the reference; float64 always has it.
    """
    kind = float_type(kind)
    dtype = np.longdouble if careful or kind.bits == 64 else np.float64
    measured = _Measured(operator, kind, parameters or {}, function, dtype)
    report = begun(ErrorReport, operator, kind, measured.values, function)
    generator = np.random.default_rng(seed)
    rows = itertools.cycle(itertools.product(ROW_LENGTHS, ROW_WIDTHS))
    # A small number is spread over the lengths, too.
    step = min(STEP, max(1, count // (len(ROW_LENGTHS) * len(ROW_WIDTHS))))
    left = count  # elements; a row may have one result
    while left:
        length, width = next(rows)
        length = min(length, left)
        number = max(1, min(step, left) // length)
        shape = number, length
        operands = [(generator.standard_normal(shape) * width).astype(kind.numpy) for _ in range(operator.inputs)]
        exact = evaluate(measured.root, operands, measured.numbers, dtype)
        result = measured.compute(*operands)
        rows_of = operands
        if operator.reduces:  # the first element stands for its row
            operands, exact = [x[:, 0] for x in operands], np.broadcast_to(exact, shape)[:, 0]
        errors = error_in_ulp(result, exact, kind)
        if kind.bits == 64:
            errors = _judged_by_enclosures(measured, kind, rows_of, result, errors)
        report.add([x.ravel() for x in operands], result.ravel(), errors.ravel())
        left -= number * length
        progress(number * length)
    return report


def changed_parameters(operator: Operator, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that are not the defaults."""
    values = operator.checked_parameters(parameters)
    return {p.name: values[p.name] for p in operator.parameters if p.is_required or values[p.name] != p.default}


#: Inputs that a fingerprint is taken of, and how many of them are a row.
FINGERPRINT, ROW = 1 << 17, 100


def fingerprint(operator: Operator, kind: ElementType, parameters: Mapping[str, Any] | None = None) -> str:
    """SHA-256 of an operator's results for inputs that are the same on every machine: of any bits, and ordinary ones."""
    operands = []
    for position in range(operator.inputs):
        # Multiples of an irrational number, modulo 1, are spread evenly; so are those of its odd multiples.
        spread = np.arange(1, FINGERPRINT + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15 * (2 * position + 1) % 2**64
        )
        bits = (spread >> np.uint64(64 - kind.bits)).astype(f"u{kind.itemsize}").view(kind.numpy)
        ordinary = ((spread >> np.uint64(32)).astype(np.float64) * 2.0**-28 - 8).astype(kind.numpy)
        if operator.is_row_wise:  # a row of any bits is a row of NaN
            operands.append(ordinary[: FINGERPRINT // ROW * ROW].reshape(-1, ROW))
        else:
            operands.append(np.where(np.arange(FINGERPRINT) % 2 == 0, bits, ordinary))
    return hashlib.sha256(operator(*operands, **(parameters or {})).tobytes()).hexdigest()


#: How many of the largest errors of a step are computed exactly, and how far off they may be found.
CHECKED, TOLERANCE = 16, 0.02


Step = tuple[Sequence[np.ndarray], np.ndarray, np.ndarray]
"""Operands, results, errors."""


def drawn(generator: np.random.Generator, kind: ElementType, spread: int | None) -> np.ndarray:
    """Numbers of one element type: of any bits, or with magnitudes from 2**-spread to 2**spread."""
    bits = generator.integers(0, 256, (STEP, kind.itemsize), dtype=np.uint8).view(kind.numpy)[:, 0]
    if spread is None:
        return bits
    with np.errstate(all="ignore"):
        magnitude = np.exp2(generator.uniform(-spread, spread, STEP)) if spread else np.ones(STEP)
        if not spread:  # at all distances from 1
            magnitude += np.exp2(generator.uniform(-FLOAT_FORMATS[kind.name][0], -1, STEP)) * generator.choice(
                [-1, 1], STEP
            )
        found: np.ndarray = np.copysign(magnitude, bits.astype(np.float64)).astype(kind.numpy)
    return found


def _moved(generator: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Numbers whose bits, as integers, are at all distances from those of x."""
    integer = np.dtype(f"i{x.dtype.itemsize}")
    distance = np.exp2(generator.uniform(0, FLOAT_FORMATS[x.dtype.name][0], x.size)) * generator.choice(
        [-1, 0, 1], x.size
    )
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
        # glibc's allocator learns from what is given back: from now on it keeps the memory of steps for the next
        # ones. Else the system would clear the same pages again and again.
        np.empty(31 << 20, np.uint8)

    def __call__(self, operands: Sequence[np.ndarray]) -> Step:
        with np.errstate(all="ignore"):
            result = self.compute(*operands)
            exact = evaluate(self.root, operands, self.numbers, self.dtype)
        errors = error_in_ulp(result, exact, self.kind)
        if self.dtype is np.longdouble:
            self._correct(operands, result, errors)
        return operands, result, errors

    def _correct(self, operands: Sequence[np.ndarray], result: np.ndarray, errors: np.ndarray) -> None:
        """Replace errors that are the reference's own: eleven bits more than the result's are few where it cancels.

        The largest are looked at exactly, and if one of them was wrong, many more.
        """
        large = np.flatnonzero(errors > BINS[0])
        large = large[np.argsort(-errors[large], kind="stable")]
        for places in (large[:CHECKED], large[CHECKED : 32 * CHECKED]):
            is_wrong = False
            for place in places:
                error = self.exactly([float(x[place]) for x in operands], float(result[place]))
                is_wrong |= not abs(error - errors[place]) < TOLERANCE
                errors[place] = error
            if not is_wrong:
                break

    def exactly(self, operands: Sequence[float], result: float) -> float:
        """The error of one result, against 300 bits."""
        truth = evaluate_exactly(self.root, operands, self.numbers)
        return float(error_in_ulp(np.array([result]), np.array([to_long_double(truth)]), self.kind)[0])


def patterns(kind: ElementType, stride: int, size: int = STEP) -> Iterator[list[np.ndarray]]:
    """Every ``stride``-th bit pattern of an element type, ``size`` at a time."""
    for begin in range(0, 1 << kind.bits, size * stride):
        end = min(begin + size * stride, 1 << kind.bits)
        yield [np.arange(begin, end, stride, dtype=np.uint64).astype(f"u{kind.itemsize}").view(kind.numpy)]


def in_order(pool: ThreadPoolExecutor, function: Callable[..., Any], items: Iterator[Any], ahead: int) -> Iterator[Any]:
    """The function's results, in the order of the items, of which some are begun before they are wanted."""
    waiting = []
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()
