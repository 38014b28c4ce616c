"""Judge an implementation: over all inputs of short types, over chosen and evenly spread ones of longer types."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ogive.common.array_shapes import broadcast_arrays
from ogive.common.dtypes import ElementType, stored_type_of
from ogive.enclosures.near_zero import leading_of
from ogive.golden.inputs import choose, every, from_ranks, ranks
from ogive.golden.specification import Expected, Specification, bits_of, find_operator, python_value
from ogive.golden.vectors import make
from ogive.judge.budget import Budget
from ogive.judge.calls import CallChecks, described
from ogive.judge.causes import causes
from ogive.judge.evidence import Evidence, broken_policies, evidence_of, example_of, steps_between
from ogive.judge.judgement import BINS, Cause, Example, Judgement
from ogive.judge.subjects import Died, Fault, Subject, aligned
from ogive.laboratory.accuracy.measure import in_order, patterns
from ogive.laboratory.accuracy.ulp import error_in_ulp

#: Evenly spread inputs of types with more than 16 bits.
SPREAD = 1 << 17

#: Inputs of one step of a sweep.
STEP = 1 << 16

#: Examples that are kept.
EXAMPLES = 8

#: Points of a picture.
PLACES = 1024

#: The part of the linear axis that pictures show.
LINEAR = 16.0


def judge(
    subject: Subject,
    specification: Specification,
    *,
    budget: Budget | None = None,
    exhaustive: bool = False,
    inputs: Sequence[np.ndarray] | None = None,
    seed: int = 0,
    workers: int = 2,
    with_causes: bool = True,
    with_dependence: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> Judgement:
    """Judge an implementation against exact results.

    All inputs of one operand of up to 16 bits are taken; of longer ones, and of several operands, those of the golden
    data and evenly spread ones; ``exhaustive``: all of one operand of 32 bits. ``inputs`` takes their place.
    The budget decides what is acceptable.

    Raises DTypeError and ShapeError where results have another type or shape than they must.
    """
    spec = specification
    found = Judgement(
        subject.name,
        subject.version,
        spec.operator,
        spec.standard,
        spec.version,
        spec.kind.name,
        dict(spec.parameters),
        spec.parameter_rule,
    )
    budget = budget or Budget()
    is_one = len(spec.inputs) == 1 and not spec.is_row_wise
    is_sweep = exhaustive and is_one and spec.kind.bits == 32
    evidence, has_result = _evidence(subject, spec, found, seed, inputs)
    counter = _Counter(spec, found)
    if is_sweep and has_result:
        found.inputs = "every input"
        counter.place(evidence)
        _sweep(subject, spec, counter, workers, progress)
    elif has_result:
        counter.add(evidence)
        progress(evidence.result.size)
    if is_one and spec.output.is_float and spec.kind.is_float and has_result:
        _check_order(evidence, found)
        _check_symmetry(evidence, found, spec)
    found.curve = counter.curve()
    if with_dependence and not (spec.is_row_wise or subject.has_results_alone):
        CallChecks(subject, spec, evidence, has_result, budget, found, not is_sweep).make()
    budget.decide(found)
    if with_causes and (found.not_nearest or found.beyond or any(p.count for p in found.policies.values())):
        found.causes = causes(spec, evidence, found)
        for cause in found.causes:
            if cause.name == "saturation" and not subject.has_results_alone:
                with contextlib.suppress(Died):
                    _refine(subject, spec, evidence, cause)
    return found


def _sweep(
    subject: Subject,
    spec: Specification,
    counter: _Counter,
    workers: int,
    progress: Callable[[int], None],
) -> None:
    """Judge every input; stop at a call that the subject does not survive."""
    step = partial(_sweep_step, subject, spec, _first_guess(spec))
    with ThreadPoolExecutor(workers) as pool:
        try:
            for x, agreeing, others, faults in in_order(pool, step, patterns(spec.kind, 1, STEP), workers + 2):
                _note(counter.found, faults, STEP)
                counter.add_right(x, agreeing)
                if others is not None:
                    counter.add(others)
                progress(x.size)
        except Died as died:
            _note(counter.found, [died.fault], STEP)
            counter.found.inputs = "every input up to the call that it did not survive"


def _note(found: Judgement, faults: Sequence[Fault], length: int) -> None:
    for fault in faults:
        found.note(fault.policy, fault.text, described(length))


def _refine(subject: Subject, spec: Specification, evidence: Evidence, cause: Cause) -> None:
    """Find the very number from which on a subject saturates, with a few more calls."""
    assert cause.region is not None
    x, kind = evidence.arrays[0], spec.kind
    with np.errstate(invalid="ignore"):  # signalling NaN
        order = np.unique(ranks(x[np.isfinite(x)]))
    low, high = (int(ranks(np.array([end]).astype(kind.numpy))[0]) for end in cause.region)
    is_upper = bool(high >= order[-1])
    edge = low if is_upper else high
    place = int(np.searchsorted(order, edge)) + (-1 if is_upper else 1)
    if not 0 <= place < order.size:
        return

    def results(places: np.ndarray) -> np.ndarray:
        return subject(spec, [from_ranks(places, kind)]).astype(np.float64)

    inside, outside = edge, int(order[place])
    value = results(np.array([inside]))[0]
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if results(np.array([middle]))[0] == value:
            inside = middle
        else:
            outside = middle
    exact_edge = float(from_ranks(np.array([inside]), kind).astype(np.float64)[0])
    before = cause.region[0 if is_upper else 1]
    cause.text = cause.text.replace(f"{before:.6g}", f"{exact_edge:.9g}", 1)
    cause.region = (exact_edge, cause.region[1]) if is_upper else (cause.region[0], exact_edge)


# ---- which inputs


class _Prepared(NamedTuple):
    arrays: tuple[np.ndarray, ...]
    expected: Expected
    how: str


@lru_cache(maxsize=8)
def _prepared(spec: Specification, seed: int) -> _Prepared:
    """Inputs in order, and what is expected of them; kept for the next subject."""
    if len(spec.inputs) == 1 and spec.kind.bits <= 16:
        x = every(spec.inputs[0])
        if spec.kind.is_float:
            x = x[np.argsort(ranks(x), kind="stable")]
        return _Prepared((aligned(x),), spec.expected([x]), "every input")
    chosen = choose(spec, seed=seed)
    arrays = list(chosen.arrays)
    how = f"{arrays[0].size:,} chosen inputs"
    if len(spec.inputs) == 1:
        kind = spec.kind
        stride = max(1, (1 << kind.bits) // SPREAD) if kind.bits <= 32 else 0
        if stride:
            evenly = np.concatenate([x for (x,) in patterns(kind, stride)])
        else:
            generator = np.random.default_rng(seed)
            evenly = generator.integers(0, 256, (SPREAD // 8, kind.itemsize), dtype=np.uint8).view(kind.numpy)[:, 0]
        arrays[0] = np.concatenate([arrays[0], evenly])
        if kind.is_float:
            # An even grid of the numbers near zero, where people look.
            near = np.linspace(-LINEAR, LINEAR, 1 << 14).astype(kind.numpy)
            arrays[0] = np.concatenate([arrays[0], near])
            arrays[0] = arrays[0][np.argsort(ranks(arrays[0]), kind="stable")]
        how = f"{arrays[0].size:,} inputs: chosen ones, evenly spread bits, a grid near zero"
    return _Prepared(tuple(map(aligned, arrays)), spec.expected(arrays), how)


def _evidence(
    subject: Subject, spec: Specification, found: Judgement, seed: int, inputs: Sequence[np.ndarray] | None
) -> tuple[Evidence, bool]:
    """The first call, and whether there are results of it. If not, the right ones stand in their place."""
    if inputs is not None:
        return _given(subject, spec, found, inputs), True
    if spec.is_row_wise:
        return _evidence_of_rows(subject, spec, found, seed)
    prepared = _prepared(spec, seed)
    found.inputs = prepared.how
    return _called(subject, spec, found, prepared.arrays, prepared.expected)


def _called(
    subject: Subject, spec: Specification, found: Judgement, arrays: tuple[np.ndarray, ...], expected: Expected
) -> tuple[Evidence, bool]:
    """A call and its errors. Results that the function has not written are left out."""
    try:
        outcome = subject.outcome(spec, arrays)
    except Died as died:
        _note(found, [died.fault], expected.right.size)
        return evidence_of(spec, arrays, expected.right, expected), False
    _note(found, outcome.faults, outcome.result.size)
    if outcome.written is None:
        return evidence_of(spec, arrays, outcome.result, expected), True
    kept = np.flatnonzero(outcome.written)
    if not kept.size:
        return evidence_of(spec, arrays, expected.right, expected), False
    arrays = tuple(np.broadcast_to(x, outcome.result.shape).reshape(-1)[kept] for x in arrays)
    rest = Expected(*(x.reshape(-1)[kept] for x in expected))
    return evidence_of(spec, arrays, outcome.result.reshape(-1)[kept], rest), True


def _given(subject: Subject, spec: Specification, found: Judgement, inputs: Sequence[np.ndarray]) -> Evidence:
    found.inputs = f"{inputs[0].size:,} given inputs"
    arrays = broadcast_arrays(*inputs)
    result, expected = subject.outcome(spec, arrays).result.reshape(-1), spec.expected(arrays)
    flat = [x.reshape(-1) for x in arrays]
    order = np.arange(result.size)
    if len(flat) == 1 and spec.kind.is_float:
        order = np.argsort(ranks(flat[0]), kind="stable")
    expected = Expected(expected.right.reshape(-1)[order], expected.exact.reshape(-1)[order])
    return evidence_of(spec, tuple(x[order] for x in flat), result[order], expected)


@lru_cache(maxsize=8)
def _rows_of(spec: Specification, seed: int) -> list[tuple[np.ndarray, Expected]]:
    return [(case.inputs[0], spec.expected([case.inputs[0]])) for case in make(spec, seed=seed).cases]


def _evidence_of_rows(subject: Subject, spec: Specification, found: Judgement, seed: int) -> tuple[Evidence, bool]:
    cases = _rows_of(spec, seed)
    found.inputs = f"{len(cases)} sets of rows"
    # The first element of a row with one result stands for it.
    flat = np.concatenate([(x[..., 0] if spec.reduces else x).reshape(-1) for x, _ in cases])
    right = np.concatenate([e.right.reshape(-1) for _, e in cases])
    exact = np.concatenate([e.exact.reshape(-1) for _, e in cases])
    results, written = [], []
    for x, _ in cases:
        try:
            outcome = subject.outcome(spec, [x])
        except Died as died:
            _note(found, [died.fault], x.size)
            return evidence_of(spec, (flat,), right, Expected(right, exact)), False
        _note(found, outcome.faults, x.size)
        results.append(outcome.result.reshape(-1))
        written.append(np.ones(outcome.result.size, bool) if outcome.written is None else outcome.written.reshape(-1))
    kept = np.concatenate(written)
    rest = Expected(right[kept], exact[kept])
    return evidence_of(spec, (flat[kept],), np.concatenate(results)[kept], rest), True


# ---- every input of 32 bits


class _Agreeing(NamedTuple):
    """Results of a step that agree with the first guess, and so are right."""

    x: np.ndarray
    result: np.ndarray
    value: np.ndarray
    errors: np.ndarray


#: Results that agree with the first guess are compared with enclosures all the same in each so-many-th step: so many.
CHECKED_STEPS, CHECKED = 16, 256

#: How much more than half a unit a result may be off the float64 value, and still be the nearest number.
CLOSE = 2.0**-20

#: Inputs of which half is subnormal: many halves are ties.
TIED = 2.0**-125

#: An operator's kernel, and values in float64 with which errors are measured; None for integers.
FirstGuess = tuple[Callable[..., Any] | None, Callable[..., Any] | None]


def _first_guess(spec: Specification) -> FirstGuess:
    """Ogive's kernels of the type and of float64: what agrees with both needs no enclosure."""
    if not spec.catalogue or spec.bind is None:
        return None, None
    if not spec.output.is_float:
        return spec.bind, None
    values = {**spec.parameters, **spec.steps[-1].numbers}
    return spec.bind, find_operator(spec.catalogue).bind(**values)


def _sweep_step(
    subject: Subject, spec: Specification, guess: FirstGuess, arrays: list[np.ndarray]
) -> tuple[np.ndarray, _Agreeing, Evidence | None, tuple[Fault, ...]]:
    """A part of all inputs: the results that agree with the first guess, and the others with what is expected of them.

    Last is what the subject did to memory.

    A result agrees if it has the bits of Ogive's kernel, and is at most half a unit from the value in float64. All
    others, and samples of those that agree, get their verdict from `Specification.expected`.
    """
    (x,) = arrays
    result, written, faults = subject.outcome(spec, [aligned(x)])
    if written is not None:
        x, result = x[written], result[written]
        if not x.size:
            return arrays[0], _Agreeing(x, result, np.zeros(0), np.zeros(0)), None, faults
    kernel, long = guess
    if float(np.abs(x).max()) <= TIED and leading_of(spec.root, spec.steps[-1].numbers, (spec.inputs[0], spec.output)):
        kernel = None  # it would decide ties one by one
    with np.errstate(all="ignore"):
        right = result if kernel is None else np.asarray(kernel(x))
        value = np.zeros(x.shape) if long is None else np.asarray(long(x.astype(np.float64)))
        errors = np.zeros(x.shape) if long is None else error_in_ulp(result, value, spec.output)
        agrees = bits_of(result) == bits_of(right)
        is_other_zero = (result == 0) & (right == 0) & ~agrees
    agrees &= (errors <= 0.5 + CLOSE) & (kernel is not None)
    number = int(bits_of(x[:1])[0]) // x.size
    if number % CHECKED_STEPS == 0:
        agrees[number // CHECKED_STEPS % CHECKED :: CHECKED] = False
    np.minimum(errors, 0.5, out=errors)
    if agrees.all():
        return x, _Agreeing(x, result, value, errors), None, faults
    found = _Agreeing(x[agrees], result[agrees], value[agrees], errors[agrees])
    rest = ~agrees
    decided = spec.expected([x[rest & ~is_other_zero]])
    right, value = np.array(right), np.array(value, decided.exact.dtype)
    right[rest & ~is_other_zero], value[rest & ~is_other_zero] = decided
    expected = Expected(right[rest], value[rest])
    return x, found, evidence_of(spec, (x[rest],), result[rest], expected), faults


# ---- counting


class _Counter:
    def __init__(self, spec: Specification, found: Judgement) -> None:
        self.spec, self.found = spec, found
        self.by_rank, self.by_value = np.full(PLACES, -1.0), np.full(PLACES, -1.0)
        self.absolute = np.full(PLACES, -1.0)
        self.at_zero: np.ndarray | None = None
        self.worst: list[Example] = []

    def add(self, evidence: Evidence) -> None:
        spec, found = self.spec, self.found
        arrays, result, (right, exact), errors, wrong = evidence
        if not result.size:
            return
        found.count += result.size
        found.not_nearest += int(np.count_nonzero(wrong))
        ordinary = np.isfinite(errors)
        for name, where in broken_policies(spec, evidence).items():
            if where.any():
                ordinary &= ~where
                policy = found.policies[name]
                policy.count += int(np.count_nonzero(where))
                if policy.example is None:
                    policy.example = example_of(spec, evidence, np.flatnonzero(where)[0])
        measured = np.where(ordinary, errors, 0)
        # Bins end with what they are named after.
        on_edge = np.searchsorted(np.array(BINS), measured[ordinary], side="left")
        counts = np.bincount(on_edge, minlength=len(BINS) + 1)
        found.histogram = [a + int(b) for a, b in zip(found.histogram, counts, strict=True)]
        place = int(np.argmax(measured))
        if measured.reshape(-1)[place] > found.worst_ulp or found.worst is None:
            found.worst_ulp = float(measured.reshape(-1)[place])
            found.worst = example_of(spec, evidence, place)
        finite_steps = np.where(ordinary, steps_between(result, right, spec.output), 0)
        found.worst_steps = max(found.worst_steps, float(finite_steps.max()))
        self._keep_examples(evidence, measured)
        if len(spec.inputs) == 1 and spec.kind.is_float:
            self._place(arrays[0], measured, result, exact, ordinary)

    def place(self, evidence: Evidence) -> None:
        """Put the evidence into the pictures, without counting it: most steps of a sweep add only their largest error."""
        ordinary = np.isfinite(evidence.errors)
        measured = np.where(ordinary, evidence.errors, 0)
        self._place(evidence.arrays[0], measured, evidence.result, evidence.expected.exact, ordinary)

    def add_right(self, x: np.ndarray, agreeing: _Agreeing) -> None:
        """Count those results of a step of neighbours that are right; ``x`` has all inputs of the step."""
        found, errors = self.found, agreeing.errors
        found.count += errors.size
        found.histogram[0] += errors.size
        if not errors.size:
            return
        largest = float(errors.max())
        if largest > found.worst_ulp or found.worst is None:
            place = int(np.argmax(errors))
            found.worst_ulp = largest
            right = Expected(agreeing.result, agreeing.value)
            evidence = Evidence((agreeing.x,), agreeing.result, right, errors, np.zeros(errors.shape, bool))
            found.worst = example_of(self.spec, evidence, place)
        if not self.spec.kind.is_float or not np.isfinite(x[[0, -1]]).all():
            return
        middle = int(ranks(x[x.size // 2 :][:1])[0])
        place = int((middle / 2.0 ** (self.spec.kind.bits - 1) + 1) / 2 * PLACES)
        self.by_rank[place] = max(self.by_rank[place], largest)
        ends = np.abs(x[[0, -1]].astype(np.float64))
        if ends.min() <= LINEAR:
            if ends.max() < LINEAR / PLACES:
                middle = PLACES // 2 - int(np.signbit(x[-1]))
                self.by_value[middle] = max(self.by_value[middle], largest)
            else:
                self._place_values(agreeing.x.astype(np.float64), errors, None)

    def _place_values(self, value: np.ndarray, errors: np.ndarray, off: np.ndarray | None) -> None:
        near = np.abs(value) <= LINEAR
        places = np.clip(((value[near] / LINEAR + 1) / 2 * PLACES).astype(np.int64), 0, PLACES - 1)
        np.maximum.at(self.by_value, places, errors[near])
        if off is not None:
            np.maximum.at(self.absolute, places, off[near])

    def _keep_examples(self, evidence: Evidence, measured: np.ndarray) -> None:
        """The worst ones, from different places: those next to a kept one say nothing new."""
        measured = measured.reshape(-1)
        if len(self.worst) == EXAMPLES and measured.max() <= self.worst[-1].ulp:
            return
        order = np.argsort(-measured, kind="stable")[: 16 * EXAMPLES]
        for place in order:
            if not evidence.wrong.reshape(-1)[place]:
                break
            example = example_of(self.spec, evidence, place)
            near = [e for e in self.worst if all(_is_near(a, b) for a, b in zip(e.inputs, example.inputs, strict=True))]
            if not near:
                self.worst.append(example)
            elif example.ulp > near[0].ulp:
                self.worst[self.worst.index(near[0])] = example
        self.worst.sort(key=lambda e: -e.ulp)
        del self.worst[EXAMPLES:]
        self.found.examples = self.worst

    # ---- pictures

    def _place(
        self, x: np.ndarray, errors: np.ndarray, result: np.ndarray, exact: np.ndarray, ordinary: np.ndarray
    ) -> None:
        with np.errstate(all="ignore"):
            finite = np.isfinite(x) & ordinary
            if not finite.any():
                return
            x, errors = x[finite], errors[finite]
            long = exact.dtype if exact.dtype.kind == "f" else np.dtype(np.float64)
            off = np.nan_to_num(np.abs(result[finite].astype(long) - exact[finite].astype(long)).astype(np.float64))
        count = float(2 ** (self.spec.kind.bits - 1))
        places = np.clip(((ranks(x) / count + 1) / 2 * PLACES).astype(np.int64), 0, PLACES - 1)
        np.maximum.at(self.by_rank, places, errors)
        self._place_values(x.astype(np.float64), errors, off)

    def curve(self) -> dict[str, Any]:
        """The data that pictures are drawn from."""
        kind = self.spec.kind
        if len(self.spec.inputs) != 1 or not kind.is_float or self.spec.is_row_wise:
            return {}
        count = float(2 ** (kind.bits - 1))
        middle = (np.arange(PLACES) + 0.5) / PLACES * 2 - 1
        # Places whose numbers are NaN have no error.
        with np.errstate(all="ignore"):
            axis = from_ranks((middle * count).astype(np.int64), kind).astype(np.float64)
        return {
            "by_value": {
                "x": (middle * LINEAR).tolist(),
                "ulp": _or_none(self.by_value),
                "absolute": _or_none(self.absolute),
            },
            "by_rank": {"x": [float(v) if np.isfinite(v) else None for v in axis], "ulp": _or_none(self.by_rank)},
        }


def _or_none(values: np.ndarray) -> list[float | None]:
    return [None if v < 0 else float(f"{v:.4g}") for v in values]


def _is_near(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 0.25 * max(abs(a), abs(b))


# ---- one operand: order and symmetry


def _check_order(evidence: Evidence, found: Judgement) -> None:
    """Neighbours whose results are in the other order than the right ones."""
    (x,) = evidence.arrays
    with np.errstate(invalid="ignore"):
        good = np.isfinite(x) & np.isfinite(evidence.result) & np.isfinite(evidence.expected.right)
    x, y, right = x[good], evidence.result[good], evidence.expected.right[good]
    falls = (right[1:] >= right[:-1]) & (y[1:] < y[:-1])
    rises = (right[1:] <= right[:-1]) & (y[1:] > y[:-1])
    places = np.flatnonzero(falls | rises)
    found.reversals = int(places.size)
    if places.size:
        place = places[np.argmax(steps_between(y[places], y[places + 1], _type(y)))]
        found.reversal = Example(
            (python_value(x[place]), python_value(x[place + 1])),
            python_value(y[place]),
            python_value(right[place]),
            python_value(right[place + 1]),
            float(evidence.errors[good][place]),
            float(steps_between(y[place : place + 1], y[place + 1 : place + 2], _type(y))[0]),
        )


def _no_type() -> ElementType:
    raise AssertionError("results of no element type")


def _type(x: np.ndarray) -> ElementType:
    return stored_type_of(x.dtype) or _no_type()


def _check_symmetry(evidence: Evidence, found: Judgement, spec: Specification) -> None:
    """Results at -x and x, where the exact ones are odd or even."""
    (x,) = evidence.arrays
    order = ranks(x)
    with np.errstate(invalid="ignore"):
        usual = np.isfinite(x) & (x != 0)
    _, first = np.unique(np.where(usual, order, 0), return_index=True)
    keep = first[usual[first]]
    known = order[keep]
    partner = np.searchsorted(known, -known)
    partner = np.minimum(partner, known.size - 1)
    both = known[partner] == -known
    here, there = keep[both], keep[partner[both]]
    if here.size < 16:
        return
    right, y = evidence.expected.right, evidence.result
    for name, flip in (("odd", -1.0), ("even", 1.0)):
        with np.errstate(invalid="ignore"):
            mirrored = (right[there].astype(np.float64) * flip).astype(right.dtype)
            if np.array_equal(right[here], mirrored, equal_nan=True):
                found.symmetry = name
                of_subject = (y[there].astype(np.float64) * flip).astype(y.dtype)
                same = (y[here] == of_subject) | (np.isnan(y[here]) & np.isnan(of_subject))
                found.asymmetric = int(np.count_nonzero(~same))
                return
