"""The results that are judged: how far off they are, and which policies they break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ogive.common.array_shapes import broadcast_shapes
from ogive.common.dtypes import FLOAT_FORMATS, ElementType
from ogive.golden.inputs import ranks
from ogive.golden.specification import Expected, Specification, bits_of, python_value
from ogive.judge.judgement import Example
from ogive.laboratory.accuracy.ulp import error_in_ulp, units_in_one

#: The error of a wrong truth value, which no usual budget allows.
WRONG_TRUTH = 2.0**24


class Fault(NamedTuple):
    """An effect of a function on memory or to its process: a policy that it breaks, and a verb with what goes with it."""

    policy: str
    text: str


class Outcome(NamedTuple):
    """The outcome of a call."""

    result: np.ndarray
    written: np.ndarray | None = None
    """The results that the function has written; None: all."""
    faults: tuple[Fault, ...] = ()


class Died(Exception):
    """A call of which there are no results."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


def result_shape(spec: Specification, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The shape that results must have."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    if not spec.reduces:
        return shape
    return shape[:-1] if spec.drops_axis else (*shape[:-1], 1)


class Evidence(NamedTuple):
    """The results that causes are looked for in, in the order of the first operand."""

    arrays: tuple[np.ndarray, ...]
    result: np.ndarray
    expected: Expected
    errors: np.ndarray
    """In ULP; infinite where a policy is broken."""
    wrong: np.ndarray
    """The results that are not the nearest ones, policies included, but for signs of zeros."""


def steps_between(a: np.ndarray, b: np.ndarray, kind: ElementType) -> np.ndarray:
    """How many steps of the element type there are from one number to another; infinite where one is NaN."""
    if not kind.is_float:
        return np.abs(a.astype(np.float64) - b.astype(np.float64))
    with np.errstate(invalid="ignore"):
        steps = np.abs(ranks(a).astype(np.float64) - ranks(b).astype(np.float64))
        return np.where(np.isnan(a) != np.isnan(b), np.inf, np.where(np.isnan(a) & np.isnan(b), 0, steps))


def evidence_of(
    spec: Specification, arrays: tuple[np.ndarray, ...], result: np.ndarray, expected: Expected
) -> Evidence:
    """Results with their errors."""
    return Evidence(arrays, result, expected, _errors(spec, result, expected), _wrong(spec, result, expected.right))


def _errors(spec: Specification, result: np.ndarray, expected: Expected) -> np.ndarray:
    if spec.output.kind == "boolean":
        # There is no nearly right truth value.
        return np.where(result != expected.right, WRONG_TRUTH, 0.0)
    if not spec.output.is_float:
        return steps_between(result, expected.right, spec.output)
    flat, exact, right = result.reshape(-1), expected.exact.reshape(-1), expected.right.reshape(-1)
    errors = error_in_ulp(flat, exact, spec.output)
    with np.errstate(all="ignore"):
        errors[np.isnan(errors)] = np.inf
        # One is the largest number, the other the infinity beyond it: they are neighbours, as other numbers are.
        edge = np.flatnonzero((np.isinf(flat) != np.isinf(right)) & ~np.isnan(flat) & np.isfinite(exact))
        if edge.size:
            beyond = np.copysign(_infinity(spec.output, exact.dtype), flat[edge])
            long = np.where(np.isinf(flat[edge]), beyond, flat[edge].astype(exact.dtype))
            largest = np.full(edge.shape, FLOAT_FORMATS[spec.output.name][2], exact.dtype)
            off = np.abs(long - exact[edge]) * units_in_one(largest, spec.output)
            errors[edge] = np.where(off <= 1, off, errors[edge])
    return errors.reshape(result.shape)


def _infinity(kind: ElementType, long: np.dtype) -> Any:
    """The number that would stand where infinity does."""
    largest = long.type(FLOAT_FORMATS[kind.name][2])
    return largest + 1 / units_in_one(np.array([largest]), kind)[0]


def _wrong(spec: Specification, result: np.ndarray, right: np.ndarray) -> np.ndarray:
    if not spec.output.is_float:
        return np.asarray(result != right)
    with np.errstate(invalid="ignore"):
        same = (result == right) | (np.isnan(result) & np.isnan(right))
    return np.asarray(~same)


def broken_policies(spec: Specification, evidence: Evidence) -> dict[str, np.ndarray]:
    """The elements that break each policy. But for signs, a result breaks a policy only if it is off by more than 1 ULP."""
    if not spec.output.is_float:
        return {}
    result, right, off = evidence.result, evidence.expected.right, evidence.errors > 1
    _, smallest, _ = FLOAT_FORMATS[spec.output.name]
    with np.errstate(all="ignore"):
        nan, must_be_nan = np.isnan(result), np.isnan(right)
        infinite, must_be_infinite = np.isinf(result), np.isinf(right)
        zeros = (result == 0) & (right == 0)
        other_sign = np.signbit(result) != np.signbit(right)
        size = np.abs(right.astype(np.float64))
        flushed = (result == 0) & (size > 0) & (size < 2.0**smallest) & off
    broken = {
        "nan_lost": must_be_nan & ~nan,
        "nan_made": nan & ~must_be_nan,
        "infinity_lost": must_be_infinite & ~infinite & ~nan & off,
        "infinity_made": infinite & ~must_be_infinite & ~must_be_nan & off,
        "infinity_sign": infinite & must_be_infinite & other_sign,
        "zero_sign": zeros & other_sign,
        "result_flushed": flushed,
    }
    found_input = _flushed_inputs(spec, evidence.arrays, result, evidence.wrong & ~flushed & off)
    if found_input is not None:
        broken["input_flushed"] = found_input
    return broken


def _flushed_inputs(
    spec: Specification, arrays: Sequence[np.ndarray], result: np.ndarray, wrong: np.ndarray
) -> np.ndarray | None:
    """The elements whose result is wrong, and right for zeros in the place of subnormal inputs."""
    if spec.is_row_wise or not wrong.any():
        return None
    subnormal = np.zeros(result.shape, bool)
    zeroed = []
    for x, kind in zip(arrays, spec.inputs, strict=True):
        if not kind.is_float:
            zeroed.append(x)
            continue
        with np.errstate(invalid="ignore"):
            size = np.abs(x.astype(np.float64))
        is_small = (size > 0) & (size < 2.0 ** FLOAT_FORMATS[kind.name][1])
        subnormal = subnormal | is_small
        zeroed.append(np.where(is_small, np.copysign(np.zeros((), x.dtype), x), x))
    places = np.flatnonzero(subnormal & wrong)
    if not places.size:
        return None
    taken = places[:: max(1, places.size // 4096)]
    right = spec.expected([np.broadcast_to(x, result.shape).reshape(-1)[taken] for x in zeroed]).right
    with np.errstate(invalid="ignore"):
        same = right == result.reshape(-1)[taken]
    found = np.zeros(result.shape, bool)
    if same.mean() > 0.9:
        found.reshape(-1)[places] = True
    return found


def example_of(spec: Specification, evidence: Evidence, place: Any) -> Example:
    """One result of them."""
    arrays, result, (right, exact), errors, _ = evidence
    inputs = [np.broadcast_to(x, result.shape).reshape(-1)[place] for x in arrays]
    y, r = result.reshape(-1)[place : place + 1], right.reshape(-1)[place : place + 1]
    texts = tuple(
        f"{int(bits_of(np.array([v], v.dtype))[0]):#0{2 + 2 * v.dtype.itemsize}x}" for v in (*inputs, y[0], r[0])
    )
    return Example(
        tuple(python_value(v) for v in inputs),
        python_value(y[0]),
        python_value(r[0]),
        float(exact.reshape(-1)[place]),
        float(errors.reshape(-1)[place]),
        float(steps_between(y, r, spec.output)[0]),
        texts,
    )
