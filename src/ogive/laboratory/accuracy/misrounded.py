"""How many of an operator's results are not the correctly rounded values of its formula: a count, not an estimate.

Three ways decide what a result should be, and each takes what the one before it leaves:

* a witness: the same formula as a kernel of float64, where all numbers within `WITNESS` of its result round to the result
  that is counted. It only confirms: what differs is left to the next way. `WITNESS` is 8,192 times the error that float64
  kernels are tested for, so a wrong result is missed only where both kernels are wrong, and grossly. One result in `CHECKED`
  that it confirms is decided by the next way too, and must be the same;
* a running bound of the error, with NumPy (`running_bound`);
* enclosures with as many bits as it takes (`ogive.enclosures.enclosure`).

A witness takes some 20 nanoseconds an input, a running bound 500, an enclosure 50,000 and more.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ogive.common.dtypes import ElementType, element_type, element_type_of
from ogive.enclosures.enclosure import right_result
from ogive.errors import DTypeError, UnsupportedError, message
from ogive.laboratory.accuracy.measure import SPREADS, begun, drawn, in_order, patterns
from ogive.laboratory.accuracy.report import Findings
from ogive.laboratory.accuracy.running_bound import evaluate_with_bounds
from ogive.operators.operator import Operator

#: How many wrong results are kept as examples.
EXAMPLES = 8

#: Inputs of one step: what is computed of them fits into the cache of one core. A witness makes few arrays.
STEP, STEP_WITH_WITNESS = 1 << 14, 1 << 17

#: How far from a witness the right value may lie, relative to it.
WITNESS = 2.0**-40

#: One of so many results that a witness decides is decided by its running bound as well.
CHECKED = 1024


@dataclass(frozen=True)
class WrongResult:
    """One result that is wrong."""

    inputs: tuple[float, ...]
    result: float
    right: float
    steps: float
    """How many numbers of the element type lie between them, and one; infinite where one is NaN."""


@dataclass
class Misrounded(Findings):
    """The result of a count."""

    misrounded: int = 0
    """How many results are not the correctly rounded value. Any NaN is as good as any other."""
    zero_signs: int = 0
    """How many of these are zero, as they should be, but with the other sign."""
    exactly: int = 0
    """How many different inputs were decided by exact arithmetic."""
    undecided: int = 0
    """How many of these are right only if what `ogive.enclosures.enclosure.BITS` bits do not decide is taken as exact."""
    digest: str = ""
    """SHA-256 of the results in the order of the inputs, with one bit pattern for NaN: equal on every machine."""
    first: list[WrongResult] = field(default_factory=list)
    """The first wrong results, in the order of the inputs."""
    worst: WrongResult | None = None
    """The wrong result that is farthest from the right one."""


def count_misrounded(
    operator: Operator,
    kind: ElementType | str,
    parameters: Mapping[str, Any] | None = None,
    *,
    stride: int = 1,
    samples: int | None = None,
    seed: int = 0,
    function: Callable[..., np.ndarray] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    workers: int = 2,
) -> Misrounded:
    """Count the results that are not the correctly rounded values of the operator's formula, exactly.

    For one tensor of up to 32 bits every ``stride``-th bit pattern is taken; ``samples`` numbers of all magnitudes take
    their place, and are needed for longer types and several tensors. ``function`` computes in the place of the
    operator's kernel. ``progress`` is told how many inputs are done. ``workers`` is the number of threads.

    Right is, for floating-point types, the nearest number, of two equally near ones the even one; and for integers the
    number cut off towards zero, or modulo the number of values where the operator wraps around.
    A parameter is rounded to float32 where the element type computes in it, as in a call.

    All inputs of float32 take one to three minutes on two threads, of most operators.

    Raises DTypeError if the operator has no such type; UnsupportedError for rows, for operators of several
    results, and where ``samples`` is needed.

    >>> import ogive
    >>> count_misrounded(ogive.relu, "float16").misrounded  # doctest: +SKIP
    0
    """
    kind = element_type(kind) if isinstance(kind, str) else kind
    counted = _Counted(operator, kind, parameters or {}, function)
    if samples is None and (operator.inputs > 1 or kind.bits > 32):
        what = f"not every input can be taken of {operator.inputs} x {kind.bits} bits"
        raise UnsupportedError(message(operator.name, what, way_out="Say how many samples= are taken"))
    found = begun(Misrounded, operator, kind, counted.values, function, stride if samples is None else None)
    if samples is None:
        steps = patterns(kind, stride, STEP if counted.witness is None else STEP_WITH_WITNESS)
    else:
        steps = _samples(operator.inputs, kind, samples, np.random.default_rng(seed))
    digest = hashlib.sha256()
    with ThreadPoolExecutor(workers) as pool:
        # NumPy and kernels release the interpreter's lock, so threads do. Exact arithmetic is left to this one.
        for step in in_order(pool, counted.in_bulk, steps, workers + 2):
            counted.count(step, found)
            digest.update(_bits(step.result, canonical=True).tobytes())
            progress(step.result.size)
    found.digest = digest.hexdigest()
    return found


def digest_of_results(
    operator: Operator,
    kind: ElementType,
    parameters: Mapping[str, Any],
    stride: int = 1,
    *,
    function: Callable[..., np.ndarray] | None = None,
) -> str:
    """SHA-256 of the results for every ``stride``-th bit pattern: of all, the digest of a count.

    ``function`` computes in the place of the operator's kernel.
    """
    compute, found = function or operator.bind(**parameters), hashlib.sha256()
    with np.errstate(all="ignore"):
        for operands in patterns(kind, stride, 1 << 20):
            found.update(_bits(compute(*operands), canonical=True).tobytes())
    return found.hexdigest()


def _samples(
    tensors: int, kind: ElementType, samples: int, generator: np.random.Generator
) -> Iterator[list[np.ndarray]]:
    for i, begin in enumerate(range(0, samples, STEP)):
        size = min(STEP, samples - begin)
        if kind.is_float:
            yield [drawn(generator, kind, SPREADS[i % len(SPREADS)])[:size] for _ in range(tensors)]
        else:
            small = generator.integers(max(kind.minimum, -100), 100, (tensors, size)).astype(kind.numpy)
            random = generator.integers(0, 256, (tensors, size, kind.itemsize), dtype=np.uint8).view(kind.numpy)[..., 0]
            yield list(random if i % 2 == 0 else small)


class _Decided(NamedTuple):
    operands: Sequence[np.ndarray]
    result: np.ndarray
    right: np.ndarray
    known: np.ndarray


class _Counted:
    """An operator with its parameters, its results and the right ones."""

    def __init__(
        self,
        operator: Operator,
        kind: ElementType,
        parameters: Mapping[str, Any],
        function: Callable[..., np.ndarray] | None,
    ) -> None:
        if operator.is_row_wise:
            raise UnsupportedError(message(operator.name, "it computes rows", "element-wise operators"))
        if operator.nout != 1:
            raise UnsupportedError(message(operator.name, f"it has {operator.nout} results", "operators with one"))
        of_one_type = [s.inputs[0] for s in operator.signatures if len({*s.inputs, *s.outputs}) == 1]
        if kind not in of_one_type:
            allowed = ", ".join(t.name for t in of_one_type)
            raise DTypeError(message(operator.name, f"the element type is {kind.name!r}", allowed))
        self.values = operator.checked_parameters(parameters)
        choices = {p.name: self.values[p.name] for p in operator.parameters if p.choices}
        self.numbers = {
            p.name: float(np.float32(self.values[p.name])) if kind.computes_in == "float32" else self.values[p.name]
            for p in operator.numeric_parameters
        }
        self.root = operator.formula(for_integers=kind.is_integer, **choices)[0]
        self.modular = operator.modular and kind.is_integer
        self.compute = function or operator.bind(**self.values)
        self.kind = kind
        self.witness = _witness(operator, kind, self.values | self.numbers)
        # glibc's allocator learns from what is given back (see `measure._Measured`).
        np.empty(31 << 20, np.uint8)

    def in_bulk(self, operands: Sequence[np.ndarray]) -> _Decided:
        """The results, and the right ones as far as they are known without exact arithmetic."""
        with np.errstate(all="ignore"):
            result = np.asarray(self.compute(*operands))
        if result.dtype != self.kind.numpy:
            raise DTypeError(message("count_misrounded", f"the results are {result.dtype}", self.kind.name))
        right, known = self._witnessed(operands, result)
        unknown = np.flatnonzero(~known)
        for places in np.array_split(unknown, -(-unknown.size // STEP)) if unknown.size else ():
            some = [x[places] for x in operands]
            right[places], known[places] = evaluate_with_bounds(
                self.root, some, self.numbers, self.kind, modular=self.modular
            )
        return _Decided(operands, result, right, known)

    def _witnessed(self, operands: Sequence[np.ndarray], result: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The results, and where float64 confirms them."""
        if self.witness is None:
            return np.empty_like(result), np.zeros(result.shape, bool)
        with np.errstate(all="ignore"):
            value = self.witness(*(x.astype(np.float64) for x in operands))
            # Zeros and infinities of float64 are those of float32, and what is subnormal there is zero here.
            lower, upper = ((value * (1 + side * WITNESS)).astype(result.dtype) for side in (-1, 1))
        known = (_bits(lower) == _bits(result)) & (_bits(upper) == _bits(result)) | (np.isnan(value) & np.isnan(result))
        checked = np.flatnonzero(known)[::CHECKED]
        some, certain = evaluate_with_bounds(self.root, [x[checked] for x in operands], self.numbers, self.kind)
        differ = _bits(some, canonical=True) != _bits(result[checked], canonical=True)
        if (certain & differ).any():
            raise AssertionError(f"count_misrounded: float64 confirms a wrong result of {self.root}")
        return result.copy(), known

    def count(self, step: _Decided, found: Misrounded) -> None:
        """Take a step into the count, with exact arithmetic where it is needed."""
        right = step.right
        places = np.flatnonzero(~step.known)
        if places.size:
            # Each input once, and every NaN as one.
            bits = np.stack([_bits(x[places], canonical=True) for x in step.operands])
            _, index, inverse = np.unique(bits, axis=1, return_index=True, return_inverse=True)
            decided = [self.exactly([x[place] for x in step.operands]) for place in places[index]]
            right = right.copy()
            # One by one: an array of large integers would become one of float64.
            values = [np.array(value).astype(self.kind.numpy) for value, _ in decided]
            right[places] = np.array(values, self.kind.numpy)[inverse.ravel()]
            found.exactly += len(decided)
            found.undecided += sum(not is_decided for _, is_decided in decided)
        found.count += step.result.size
        wrong = _bits(step.result) != _bits(right)
        if self.kind.is_float and wrong.any():
            with np.errstate(invalid="ignore"):
                wrong &= ~(np.isnan(step.result) & np.isnan(right))
        wrong_places = np.flatnonzero(wrong)
        if not wrong_places.size:
            return
        found.misrounded += wrong_places.size
        result, right = step.result[wrong_places], right[wrong_places]
        if self.kind.is_float:
            found.zero_signs += int(np.count_nonzero((result == 0) & (right == 0)))
        steps = _distance(result, right, self.kind)

        def example(i: int) -> WrongResult:
            inputs = tuple(_python(x[wrong_places[i]]) for x in step.operands)
            return WrongResult(inputs, _python(result[i]), _python(right[i]), float(steps[i]))

        found.first += [example(i) for i in range(min(EXAMPLES - len(found.first), wrong_places.size))]
        farthest = int(np.argmax(steps))
        if found.worst is None or steps[farthest] > found.worst.steps:
            found.worst = example(farthest)

    def exactly(self, inputs: Sequence[Any]) -> tuple[float | int, bool]:
        width = element_type_of(inputs[0].dtype)
        assert width is not None
        given = [_python(value) for value in inputs]
        return right_result(self.root, given, self.numbers, self.kind, bits=width.bits, modular=self.modular)


def _witness(operator: Operator, kind: ElementType, parameters: Mapping[str, Any]) -> Callable[..., np.ndarray] | None:
    """The operator in float64, for results of float32; None where it has no such type."""
    has_double = any({*s.inputs, *s.outputs} == {element_type("float64")} for s in operator.signatures)
    return operator.bind(**parameters) if kind.name == "float32" and has_double else None


def _python(value: Any) -> Any:
    """An element as Python's number; of bfloat16 too."""
    return int(value) if np.dtype(value.dtype).kind in "iub" else float(value)


def _bits(x: np.ndarray, *, canonical: bool = False) -> np.ndarray:
    kind = element_type_of(x.dtype)
    assert kind is not None
    bits = np.ascontiguousarray(x).view(f"u{kind.itemsize}")
    if canonical and kind.is_float:
        nan = np.array(math.nan, x.dtype).view(bits.dtype)
        with np.errstate(invalid="ignore"):  # signalling NaN
            bits = np.where(np.isnan(x), nan, bits)
    return bits


def _distance(a: np.ndarray, b: np.ndarray, kind: ElementType) -> np.ndarray:
    """How many steps of the element type there are from one number to the other."""
    if not kind.is_float:
        return np.abs(a.astype(np.float64) - b.astype(np.float64))
    ranks = []
    for x in (a, b):
        bits = np.ascontiguousarray(x).view(f"i{kind.itemsize}").astype(np.int64)
        # Counted from zero, in both directions. As floats: the distance may be longer than an integer.
        ranks.append(np.where(bits < 0, np.int64(-(2 ** (kind.bits - 1))) - bits, bits).astype(np.float64))
    return np.where(np.isnan(a) != np.isnan(b), np.inf, np.abs(ranks[0] - ranks[1]))
