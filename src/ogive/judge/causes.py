"""The causes of errors: candidates that are computed and compared, and patterns of the errors.

A candidate is another computation: a row of `suspects.SUSPECTS`, the formula with other parameters or in a shorter
type, or another way of rounding. It explains a wrong result if it is at most a quarter as far from it as the right
result is; of results one number off it must give the same bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ogive.common.conversion import stored
from ogive.common.dtypes import ELEMENT_TYPES, FLOAT_FORMATS, FLOATS_OF_8_BITS
from ogive.errors import OgiveError
from ogive.golden.inputs import flips, from_ranks, ranks, truths
from ogive.golden.specification import Specification, bits_of, of_operator
from ogive.golden.values import gated, roundings_of
from ogive.judge.evidence import Evidence, steps_between
from ogive.judge.judgement import Cause, Judgement
from ogive.judge.suspects import SUSPECTS, computed
from ogive.laboratory.accuracy.ulp import units_in_one
from ogive.laboratory.reference import evaluate

#: A candidate must explain this part of the wrong results, and be near this part of all results.
SHARE, NEAR = 0.75, 0.9

#: And of what the candidate itself has wrong, the subject must have this part in the same way.
PRECISION = 0.6

#: At most so many causes are told, and so many results compared.
MOST, COMPARED = 4, 20_000


class _CauseCandidate(NamedTuple):
    cause: str
    text: str
    result: np.ndarray


class _Scene(NamedTuple):
    """The results that are looked at."""

    spec: Specification
    arrays: tuple[np.ndarray, ...]
    y: np.ndarray
    right: np.ndarray
    exact: np.ndarray
    errors: np.ndarray
    wrong: np.ndarray
    """The wrong results; where there are large errors, only these."""


def causes(spec: Specification, evidence: Evidence, judgement: Judgement) -> list[Cause]:
    """The causes that can be told, the most telling first."""
    with np.errstate(all="ignore"):
        return _causes(spec, evidence, judgement)


def _causes(spec: Specification, evidence: Evidence, judgement: Judgement) -> list[Cause]:
    scene = _scene(spec, evidence)
    found: list[Cause] = []
    of_calls = judgement.calls.text or next(iter(judgement.dependence.found), "")
    if of_calls:
        found.append(Cause("position", of_calls, "the same inputs in calls of other lengths and places", 1.0))
    of_gate = _gate_rounding(scene)
    if of_gate is not None:
        found.append(of_gate)
    elif scene.wrong.any() and not spec.is_row_wise:
        best = _best_candidate(scene)
        if best is not None:
            found.append(best)
        if spec.output.is_float and len(spec.inputs) == 1 and spec.kind.is_float:
            for detect in (_saturation, _kink, _isolated, _scale, _offset, _cancellation):
                cause = detect(scene)
                if cause is not None and all(cause.name != other.name for other in found):
                    found.append(cause)
    for cause in _of_policies(judgement):
        if all(cause.name != other.name for other in found):
            found.append(cause)
    # A candidate that was computed says more than a pattern, and a pattern than a policy.
    return found[:MOST]


def _scene(spec: Specification, evidence: Evidence) -> _Scene:
    shape = evidence.result.shape
    arrays = [np.broadcast_to(x, shape).reshape(-1) for x in evidence.arrays]
    y, right, exact = (v.reshape(-1) for v in (evidence.result, evidence.expected.right, evidence.expected.exact))
    errors, wrong = evidence.errors.reshape(-1), evidence.wrong.reshape(-1)
    if spec.output.is_float and wrong.any():
        large = wrong & (errors > 2)
        if np.count_nonzero(large) >= 0.01 * np.count_nonzero(wrong):
            wrong = large
    if y.size > COMPARED and len(arrays) == 1:
        # All wrong results if they are few, else some of them; and some of the others.
        bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
        taken = np.concatenate(
            [bad[:: max(1, bad.size // (COMPARED // 2))], good[:: max(1, good.size // COMPARED * 2)]]
        )
        taken.sort()
        arrays = [x[taken] for x in arrays]
        y, right, exact, errors, wrong = (v[taken] for v in (y, right, exact, errors, wrong))
    return _Scene(spec, tuple(arrays), y, right, exact, errors, wrong)


# ---- candidates


def _best_candidate(scene: _Scene) -> Cause | None:
    best: tuple[float, float, _CauseCandidate] | None = None
    kind = scene.spec.output
    off = steps_between(scene.y, scene.right, kind)
    bands = _bands(scene)
    least = 2 if off[scene.wrong].min() > 1 else 0
    for candidate in _candidates(scene):
        distance = steps_between(scene.y, candidate.result, kind)
        explained = np.isfinite(distance) & (distance <= off / 4)
        share = _fair(explained, scene.wrong, bands)
        near = float(np.mean((distance <= 8) | explained))
        if share < SHARE or near < NEAR:
            continue
        # Where the candidate is wrong, the subject must be wrong in the same way.
        own = steps_between(candidate.result, scene.right, kind) > least
        if own.any() and _fair(explained, own, bands) < PRECISION:
            continue
        same = float(np.mean(distance == 0))
        # Between two that explain as much, the one with more equal bits.
        rank = round(share, 2) + 0.5 * same
        if best is None or rank > best[0] + 1e-9:
            best = rank, share, candidate
    if best is None:
        return None
    _, share, candidate = best
    same = float(np.mean(bits_of(candidate.result, canonical=True) == bits_of(scene.y, canonical=True)))
    evidence = f"that computation explains {share:.0%} of the wrong results and has the same bits in {same:.1%} of all"
    return Cause(candidate.cause, candidate.text, evidence, share, _region(scene, scene.wrong))


def _bands(scene: _Scene) -> np.ndarray:
    """For each result the binade of its input, with the sign: each counts alike, however many results it has."""
    x = scene.arrays[0]
    if len(scene.arrays) > 1 or not scene.spec.kind.is_float:
        return np.zeros(scene.y.shape, np.int64)
    found: np.ndarray = bits_of(x).astype(np.int64) >> (FLOAT_FORMATS[scene.spec.kind.name][0] - 1)
    return found


def _fair(explained: np.ndarray, where: np.ndarray, bands: np.ndarray) -> float:
    """The part that is explained of some results, in the mean of their binades."""
    _, inverse, counts = np.unique(bands[where], return_inverse=True, return_counts=True)
    parts = np.bincount(inverse, weights=explained[where].astype(np.float64)) / counts
    return float(np.average(parts, weights=np.minimum(counts, 8)))


def _candidates(scene: _Scene) -> Iterator[_CauseCandidate]:
    spec = scene.spec
    if spec.catalogue and spec.standard == "ogive":
        yield from _of_table(scene)
        yield from _of_parameters(scene)
    if spec.output.is_float:
        yield from _of_rounding(scene)
        yield from _in_shorter_types(scene)
    yield from _through_float32(scene)
    yield from _of_operands(scene)


#: The types that formulas are computed in, by the operator's; those of 8 bits have four.
_WORK_TYPES = {
    "float16": ("float64", "float32", "float16"),
    "bfloat16": ("float64", "float32", "bfloat16", "float16"),
    "float32": ("float64", "float32", "float16", "bfloat16"),
    "float64": ("float64", "float32"),
}


def _work_types(spec: Specification) -> list[tuple[Any, str]]:
    names = _WORK_TYPES.get(spec.kind.name, ("float64", "float32", "float16", "bfloat16"))
    return [(ELEMENT_TYPES[name].numpy.type, name) for name in names]


def _of_table(scene: _Scene) -> Iterator[_CauseCandidate]:
    spec = scene.spec
    if len(scene.arrays) != 1 or not spec.kind.is_float:
        return
    for suspect in SUSPECTS.get(spec.catalogue, ()):
        if suspect.cause == "tanh_form" and spec.parameters.get("approximate") == "tanh":
            continue
        for work, name in _work_types(spec):
            result = computed(suspect.formula, scene.arrays[0], spec.parameters, work)
            yield _CauseCandidate(suspect.cause, f"{suspect.text}: {suspect.written}, computed in {name}", result)


#: Where a gated unit rounds, in words.
_ROUNDED_GATES = {
    "once": "the unit is rounded once, its gate not before",
    "gate": "the gate is rounded to {kind} first, and then the product",
    "body": "each step is rounded, as in the function of ONNX's schema",
}


def _gate_rounding(scene: _Scene) -> Cause | None:
    """A gated unit that rounds in steps: told within every budget, because no result needs to be far off."""
    spec = scene.spec
    is_known = spec.standard == "ogive" and spec.kind.is_float and spec.bind is not None
    others = [each for each in roundings_of(spec.catalogue) if each != spec.rounding] if is_known else []
    if len(scene.arrays) != 2 or not others:
        return None
    bits, right = bits_of(scene.y, canonical=True), bits_of(scene.right, canonical=True)
    differs = (bits != right) & np.isfinite(scene.y.astype(np.float64))
    if not differs.any():
        return None
    for rounding in others:
        result = gated(spec.catalogue, *scene.arrays, rounding=rounding, **spec.parameters)
        same = bits_of(result, canonical=True) == bits
        share = float(np.mean(same[differs]))
        if share >= NEAR and np.mean(same) >= NEAR:
            text = (
                f"{_ROUNDED_GATES[rounding].format(kind=spec.kind.name)}: ogive.golden.gated with rounding={rounding!r}"
            )
            evidence = f"that computation has the same bits in {np.mean(same):.1%} of all results"
            return Cause("gate_rounding", text, evidence, share)
    return None


def _of_parameters(scene: _Scene) -> Iterator[_CauseCandidate]:
    """The formula with other parameters."""
    spec = scene.spec
    numeric = {n: v for n, v in spec.parameters.items() if isinstance(v, float | int) and not isinstance(v, bool)}
    for names in itertools.combinations(numeric, 2):
        a, b = names
        if numeric[a] != numeric[b]:
            swapped = {**spec.parameters, a: numeric[b], b: numeric[a]}
            yield from _with(scene, "swapped_parameters", f"{a} and {b} are swapped", swapped)
    from ogive.golden.specification import find_operator

    op = find_operator(spec.catalogue)
    for parameter in op.parameters:
        value = spec.parameters[parameter.name]
        if not parameter.is_required and not parameter.choices and not parameter.is_default(value):
            given = {**spec.parameters, parameter.name: parameter.default}
            text = f"{parameter.name} is not used: the default, {parameter.default}, is"
            yield from _with(scene, "ignored_parameter", text, given)
        for choice in parameter.choices:
            if choice != value:
                given = {**spec.parameters, parameter.name: choice}
                yield from _with(scene, "other_form", f"it is the form with {parameter.name} = {choice!r}", given)
        if parameter.name in numeric and np.isfinite(numeric[parameter.name]) and numeric[parameter.name]:
            negated = {**spec.parameters, parameter.name: -numeric[parameter.name]}
            yield from _with(scene, "sign_of_parameter", f"{parameter.name} has the other sign", negated)
    if numeric:
        is_rounded = spec.kind.computes_in == "float32"
        text = "parameters are " + ("not rounded to float32" if is_rounded else "rounded to float32")
        yield from _with(scene, "parameter_rounding", text, dict(spec.parameters), round_parameters=not is_rounded)
        for short in ("float16", "bfloat16"):
            given = dict(spec.parameters)
            for name, value in numeric.items():
                given[name] = float(_rounded_to(value, short))
            if given != dict(spec.parameters):
                yield from _with(scene, "parameter_rounding", f"parameters are rounded to {short}", given)


def _rounded_to(value: Any, kind: str) -> Any:
    """A number or an array, rounded to a type."""
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(ELEMENT_TYPES[kind].numpy)


def _with(
    scene: _Scene, cause: str, text: str, parameters: dict[str, Any], round_parameters: bool | None = None
) -> Iterator[_CauseCandidate]:
    spec = scene.spec
    try:
        saturates = spec.steps[-1].saturates
        other = of_operator(
            spec.catalogue,
            spec.kind,
            parameters,
            round_parameters=round_parameters,
            saturate=saturates,
            rounding=spec.rounding,
        )
    except OgiveError:  # a value for which the operator has no meaning
        return
    yield _CauseCandidate(cause, text, other.expected(scene.arrays, with_exact=False).right)


def _of_rounding(scene: _Scene) -> Iterator[_CauseCandidate]:
    kind, exact = scene.spec.output, scene.exact
    with np.errstate(all="ignore"):
        if kind.bits == 16:
            twice = exact.astype(np.float32).astype(kind.numpy)
            yield _CauseCandidate("rounded_twice", "results are rounded twice: to float32, then to nearest", twice)
            through = "float16" if kind.name == "bfloat16" else "bfloat16"
            yield _CauseCandidate(
                f"{through}_intermediates",
                f"results go through {through}",
                _rounded_to(exact, through).astype(kind.numpy),
            )
        if kind.name in FLOATS_OF_8_BITS:
            for through in ("float32", "float16", "bfloat16"):
                short = _rounded_to(exact, through)
                text = f"results are rounded twice: to {through}, then to nearest"
                yield _CauseCandidate(
                    "rounded_twice", text, stored(short, kind, saturate=scene.spec.steps[-1].saturates)
                )
            ended = scene.spec.steps[-1]._replace(saturates=not scene.spec.steps[-1].saturates)
            text = f"results beyond the largest number {'are it' if ended.saturates else 'are infinities or NaN'}"
            right = replace(scene.spec, steps=(*scene.spec.steps[:-1], ended)).right(scene.arrays)
            yield _CauseCandidate("saturation", text, right)
        nearest = scene.right
        is_away = np.abs(nearest.astype(exact.dtype)) > np.abs(exact)
        toward = from_ranks(ranks(nearest) - np.sign(ranks(nearest)), kind)
        cut = np.where(is_away & np.isfinite(exact), toward, nearest)
        yield _CauseCandidate("truncation", "results are cut off, not rounded to nearest", cut)
        if kind.name == "bfloat16":
            bits = exact.astype(np.float32).view(np.uint32) >> 16
            dropped = bits.astype(np.uint16).view(kind.numpy)
            yield _CauseCandidate("truncation", "results are cut off: the lower half of a float32 is dropped", dropped)
        is_below = np.abs(nearest.astype(exact.dtype)) < np.abs(exact)
        outward = from_ranks(ranks(nearest) + np.sign(np.where(ranks(nearest) == 0, 1, ranks(nearest))), kind)
        away = np.where(is_below & np.isfinite(exact), outward, nearest)
        yield _CauseCandidate("rounding_away", "results are rounded away from zero, not to nearest", away)
        units = np.abs(exact) * units_in_one(exact, kind)
        is_tie = np.abs(units - np.floor(units) - 0.5) < 2.0**-20
        other = np.where(is_below, outward, toward)
        yield _CauseCandidate(
            "ties_away",
            "ties are rounded away from zero, not to even",
            np.where(is_tie & is_below & np.isfinite(exact), other, nearest),
        )
        flushed = np.where(np.abs(exact) < 2.0 ** FLOAT_FORMATS[kind.name][1], np.copysign(0, exact), nearest)
        yield _CauseCandidate("flush", "subnormal results are flushed to zero", flushed.astype(kind.numpy))


def _in_shorter_types(scene: _Scene) -> Iterator[_CauseCandidate]:
    """The formula with every operation rounded to a type; and with inputs that are rounded first."""
    spec = scene.spec
    if len(spec.steps) != 1 or any(not t.is_float for t in spec.inputs):
        return
    step = spec.steps[0]
    for work, name in _work_types(spec):
        is_shorter = np.finfo(np.float16).bits if name in ("float16", "bfloat16") else 32 if name == "float32" else 64
        if name == spec.kind.name and name in ("float32", "float64"):
            continue  # that is no mistake, and explains nothing
        if is_shorter < spec.kind.bits or (is_shorter == 16 and spec.kind.bits == 16):
            with np.errstate(all="ignore"):
                rounded = [x.astype(work).astype(x.dtype) for x in scene.arrays]
                if name != spec.kind.name:
                    result = spec.expected(rounded, with_exact=False).right
                    yield _CauseCandidate(f"{name}_inputs", f"inputs are rounded to {name}", result)
                    last = scene.right.astype(work).astype(spec.output.numpy)
                    yield _CauseCandidate(f"{name}_results", f"results are rounded to {name}", last)
            try:
                with np.errstate(all="ignore"):
                    result = np.asarray(evaluate(step.root, scene.arrays, step.numbers, work)).astype(work)
            except (TypeError, KeyError, OgiveError, ValueError):  # NumPy lacks a function for that type
                continue
            result = np.broadcast_to(result, scene.y.shape).astype(spec.output.numpy)
            yield _CauseCandidate(f"{name}_intermediates", f"intermediate results are {name}", result)


def _through_float32(scene: _Scene) -> Iterator[_CauseCandidate]:
    """Integers of 32 and 64 bits that are computed in float32."""
    spec = scene.spec
    if not spec.output.is_integer or spec.output.bits < 32 or len(spec.steps) != 1:
        return
    try:
        values = np.asarray(evaluate(spec.steps[0].root, scene.arrays, spec.steps[0].numbers, np.float32))
    except (TypeError, KeyError, OgiveError, ValueError):  # NumPy lacks a function for that type
        return
    limit = np.nextafter(np.float32(2.0 ** (spec.output.bits - (spec.output.kind == "signed"))), np.float32(0))
    whole = np.clip(np.trunc(values.astype(np.float32)), np.float32(spec.output.minimum), limit)
    result = np.broadcast_to(whole, scene.y.shape).astype(spec.output.numpy)
    yield _CauseCandidate("float32_intermediates", "integers are computed in float32, which has 24 bits", result)


def _of_operands(scene: _Scene) -> Iterator[_CauseCandidate]:
    """Two operands in the other order."""
    spec = scene.spec
    for i, j in itertools.combinations(range(len(scene.arrays)), 2):
        if spec.inputs[i] is spec.inputs[j]:
            order = list(scene.arrays)
            order[i], order[j] = order[j], order[i]
            text = f"{spec.tensors[i]} and {spec.tensors[j]} are swapped"
            yield _CauseCandidate("swapped_operands", text, spec.expected(order, with_exact=False).right)


# ---- patterns, of one operand. The arrays are in the order of the operand.


def _region(scene: _Scene, where: np.ndarray) -> tuple[float, float] | None:
    if len(scene.arrays) != 1:
        return None
    x = scene.arrays[0][where].astype(np.float64)
    x = x[np.isfinite(x)]
    return (float(x.min()), float(x.max())) if x.size else None


def _number(value: float) -> str:
    return f"{value:.6g}"


def _saturation(scene: _Scene) -> Cause | None:
    """A result that is the same from some input on, though the right one is not."""
    x = scene.arrays[0]
    with np.errstate(invalid="ignore"):
        finite = np.flatnonzero(np.isfinite(x))
    if finite.size < 16:
        return None
    best: Cause | None = None
    wrong_count = max(1, int(np.count_nonzero(scene.wrong)))
    for places, side in ((finite[::-1], "from {} on"), (finite, "up to {}")):
        y = bits_of(scene.y[places], canonical=True)
        # -0 and 0 are one limit.
        y = np.where(scene.y[places].astype(np.float64) == 0, 0, y)
        different = np.flatnonzero(y != y[0])
        run = places[: different[0] if different.size else places.size]
        inside = scene.wrong[run]
        if np.count_nonzero(inside) < 4 or run.size == places.size:
            continue
        begin = float(x[run[-1]])
        value = float(scene.y[run[0]])
        share = np.count_nonzero(inside) / wrong_count
        if share < 0.3 or not np.isfinite(value):
            continue
        bad = run[inside]
        farthest = bad[np.argmax(scene.errors[bad])]
        text = (
            f"it saturates: the result is {_number(value)} for all x {side.format(_number(begin))}, "
            f"where it must still change (at {_number(float(x[farthest]))} to {_number(float(scene.exact[farthest]))})"
        )
        other = float(x[run[0]])
        cause = Cause(
            "saturation", text, f"{run.size:,} equal results in order", share, (min(begin, other), max(begin, other))
        )
        if best is None or cause.share > best.share:
            best = cause
    return best


@lru_cache(maxsize=32)
def _kinks(spec: Specification) -> np.ndarray:
    found: np.ndarray = ranks(flips(truths(spec.steps[0]), spec.kind, 1))
    return found


def _kink(scene: _Scene) -> Cause | None:
    """Errors beside a place where the formula changes branches."""
    x = scene.arrays[0]
    with np.errstate(invalid="ignore"):
        bad = scene.wrong & np.isfinite(x)
    if not bad.any():
        return None
    kinks = _kinks(scene.spec)
    if not kinks.size:
        return None
    places = ranks(x)
    low, high = int(places[bad].min()), int(places[bad].max())
    inside = (places >= low) & (places <= high)
    filled = int(np.count_nonzero(bad)) / max(1, int(np.count_nonzero(inside)))
    each: np.ndarray = np.abs(places[bad][:, None] - kinks[None, :]).min(axis=1)
    if np.all(each <= 2):
        at = _number(float(from_ranks(np.array([kinks[np.argmin(np.abs(kinks - low))]]), scene.spec.kind)[0]))
        text = f"the wrong branch is taken at the kink, x = {at}"
        return Cause(
            "kink", text, f"all {np.count_nonzero(bad)} wrong results are beside kinks", 1.0, _region(scene, bad)
        )
    size = (high - low) / 2.0 ** (scene.spec.kind.bits - 1)
    beside = [int(k) for k in kinks if min(abs(k - low), abs(k - high)) <= max(2.0, (high - low) / 64)]
    if beside and filled > 0.5 and size < 0.2:
        region = _region(scene, bad)
        at = _number(float(from_ranks(np.array([beside[0]]), scene.spec.kind)[0]))
        text = f"another branch is taken beside the kink at x = {at}"
        if region:
            text += f": from {_number(region[0])} to {_number(region[1])}"
        return Cause("kink", text, f"{filled:.0%} of the results between are wrong", filled, region)
    return None


def _isolated(scene: _Scene) -> Cause | None:
    """A few wrong results among right ones, as of a table with a wrong entry."""
    bad = np.flatnonzero(scene.wrong)
    if not 1 <= bad.size <= 8 or scene.errors[bad].min() < 0.6:
        return None
    at = ", ".join(_number(float(v)) for v in scene.arrays[0][bad])
    text = f"single results are wrong, as of a table with a wrong entry: at {at}"
    return Cause("isolated", text, f"{bad.size} wrong results of {scene.y.size:,}", 1.0, _region(scene, scene.wrong))


def _ordinary(scene: _Scene) -> np.ndarray:
    with np.errstate(all="ignore"):
        usual = np.isfinite(scene.y) & np.isfinite(scene.right) & (scene.exact != 0)
        usual &= np.abs(scene.exact) > 2.0 ** (FLOAT_FORMATS[scene.spec.output.name][1] + 4)
    return np.asarray(usual)


def _scale(scene: _Scene) -> Cause | None:
    """Results that are all off by one factor."""
    usual = _ordinary(scene) & scene.wrong & (scene.y != 0)
    if np.count_nonzero(usual) < 32:
        return None
    ratio = scene.y[usual].astype(np.float64) / scene.exact[usual].astype(np.float64) - 1
    middle = float(np.median(ratio))
    unit = 2.0 ** (1 - FLOAT_FORMATS[scene.spec.output.name][0])
    fits = np.abs(ratio - middle) <= np.maximum(0.05 * abs(middle), unit)
    share = float(np.count_nonzero(fits)) / np.count_nonzero(scene.wrong)
    if abs(middle) < 2 * unit or share < 0.5:
        return None
    text = f"results are off by a factor of 1 {'+' if middle > 0 else '-'} {abs(middle):.4g}, as of a wrong constant"
    return Cause(
        "wrong_constant", text, f"{share:.0%} of the wrong results have this factor", share, _region(scene, usual)
    )


def _offset(scene: _Scene) -> Cause | None:
    """Results that are all off by one number."""
    usual = _ordinary(scene) & scene.wrong
    if np.count_nonzero(usual) < 32:
        return None
    exact = scene.exact[usual].astype(np.float64)
    off = scene.y[usual].astype(np.float64) - exact
    middle = float(np.median(off))
    unit = 1 / units_in_one(exact, scene.spec.output)
    fits = np.abs(off - middle) <= np.maximum(0.05 * abs(middle), 0.6 * unit)
    is_seen = abs(middle) > 2 * unit
    share = float(np.count_nonzero(fits & is_seen)) / np.count_nonzero(scene.wrong)
    if share < 0.5:
        return None
    text = f"results are off by {middle:.6g}, as of a wrong constant that is added"
    return Cause(
        "wrong_constant", text, f"{share:.0%} of the wrong results are off by it", share, _region(scene, usual)
    )


def _cancellation(scene: _Scene) -> Cause | None:
    """Absolute errors that stay while the results become small."""
    usual = _ordinary(scene) & scene.wrong & (scene.y != 0)
    if np.count_nonzero(usual) < 32:
        return None
    size = np.log2(np.abs(scene.exact[usual].astype(np.float64)))
    off = np.log2(np.abs(scene.y[usual].astype(np.float64) - scene.exact[usual].astype(np.float64)) + 1e-300)
    binades = np.floor(size).astype(int)
    levels = [
        (b, float(np.median(off[binades == b]))) for b in np.unique(binades) if np.count_nonzero(binades == b) >= 3
    ]
    if len(levels) < 3:
        return None
    b, level = np.array(levels, np.float64).T
    slope = float(np.polyfit(b, level, 1)[0])
    if slope > 0.4 or float(b.max() - b.min()) < 3:
        return None
    error = float(2 ** np.median(level))
    region = _region(scene, usual)
    assert region is not None
    text = (
        f"digits are lost by cancellation from {_number(region[0])} to {_number(region[1])}: the absolute error stays "
        f"near {error:.2g} while results fall to {2.0 ** float(b.min()):.2g}"
    )
    share = float(np.count_nonzero(usual)) / np.count_nonzero(scene.wrong)
    return Cause("cancellation", text, f"errors of {len(levels)} binades, slope {slope:.2f}", share, region)


# ---- policies


def _of_policies(judgement: Judgement) -> Iterator[Cause]:
    policies = judgement.policies

    def at(name: str) -> str:
        example = policies[name].example
        return "" if example is None else f", first at x = {', '.join(_number(v) for v in example.inputs)}"

    def cause(name: str, policy: str, text: str) -> Cause:
        count = policies[policy].count
        return Cause(name, text + at(policy), f"{count:,} results", min(1.0, count / max(1, judgement.not_nearest)))

    if policies["result_flushed"].count:
        yield cause("flush", "result_flushed", "subnormal results are flushed to zero")
    if policies["input_flushed"].count:
        yield cause("flush", "input_flushed", "subnormal inputs are taken for zero")
    if policies["nan_lost"].count:
        example = policies["nan_lost"].example
        value = "" if example is None else _number(example.result)
        yield cause("nan_lost", "nan_lost", f"NaN gives {value}, as of a comparison or a maximum that NaN loses")
    if policies["nan_made"].count:
        example = policies["nan_made"].example
        is_at_infinity = example is not None and any(np.isinf(v) for v in example.inputs)
        what = (
            "infinity times zero, or infinity less infinity" if is_at_infinity else "an intermediate result overflows"
        )
        yield cause("overflow", "nan_made", f"NaN is made of numbers: {what}")
    if policies["infinity_made"].count:
        yield cause("overflow", "infinity_made", "an intermediate result overflows")
    if policies["infinity_lost"].count:
        yield cause("infinity_lost", "infinity_lost", "infinite results are cut off")
    if policies["zero_sign"].count:
        yield cause("zero_sign", "zero_sign", "zeros have the other sign")
