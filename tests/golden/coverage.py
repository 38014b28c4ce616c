"""Every ONNX operator, version and type, and every DirectML operator, feature level and type, has a golden set.

``python -m tests.golden.coverage`` makes a set of each, runs Ogive's own kernels against it, and prints what differs.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ogive.errors import ModelError, UnsupportedError
from ogive.golden.directml_operators import all_of_directml, of_directml
from ogive.golden.normal_rules import TRAINING_RULES
from ogive.golden.onnx_operators import all_of_onnx, of_onnx
from ogive.golden.specification import Specification, WholeSpecification, bits_of
from ogive.golden.vectors import Case, arrays_in, make
from ogive.golden.whole_arrays import NORMALISATIONS
from ogive.laboratory.accuracy.ulp import error_in_ulp

#: How far results of Ogive's own kernels may be from the exact values, in ULP. They are correctly rounded but in float64.
OWN_ULP, OWN_ULP_FLOAT64 = 0.5, 1.0

#: Ranges in float64: each step is rounded, so that the largest partial result counts.
STEPWISE = {"Range"}

#: Inputs of each set are few here: there are thousands of sets.
SAMPLES = 64


def specifications() -> Iterator[tuple[str, Specification | None, str]]:
    """Label, specification, and why there is none."""
    for one in all_of_onnx():
        try:
            yield one.label, of_onnx(*one), ""
        except (UnsupportedError, ModelError) as error:
            yield one.label, None, f"{one.operator}: {error}"
    for other in all_of_directml():
        try:
            yield other.label, of_directml(other.operator, other.level, dict(other.types)), ""
        except UnsupportedError as error:
            yield other.label, None, f"{other.operator}: {error}"


@cache
def _made(key: Any) -> tuple[float, int, int]:
    spec = _SPECS[key]
    golden = make(spec, samples=SAMPLES)
    worst, wrong, count = 0.0, 0, 0
    for case in golden.cases:
        with np.errstate(all="ignore"):
            results = _results(spec, case)
        for result, right in zip(results, _arrays(case), strict=True):
            assert (result.shape, result.dtype) == (right.shape, right.dtype), (case.name, result.shape, result.dtype)
            different = bits_of(result, canonical=True) != bits_of(right, canonical=True)
            count += result.size
            if not different.any():
                continue
            wrong += int(np.count_nonzero(different))
            worst = max(worst, _error(spec, case, result, right))
    return worst, wrong, count


def _arrays(case: Case) -> list[np.ndarray]:
    return [x for value in (case.expected, *case.others) for x in arrays_in(value)]


def _results(spec: Specification, case: Case) -> list[np.ndarray]:
    assert spec.bind is not None
    if not isinstance(case.expected, np.ndarray):  # a sequence, or no value
        result = spec.bind(*case.inputs)
        assert isinstance(result, list) if isinstance(case.expected, list) else result is None, case.name
        return arrays_in(result)
    found = spec.bind(*case.inputs) if case.inputs else _without_inputs(spec, case)
    several = found.values() if isinstance(found, dict) else found if isinstance(found, tuple | list) else [found]
    return [np.asarray(result) for result in several]


def _without_inputs(spec: Specification, case: Case) -> Any:
    assert spec.bind is not None
    return spec.bind(sizes=case.expected.shape) if spec.standard == "directml" else spec.bind()


def _error(spec: Specification, case: Case, result: np.ndarray, right: np.ndarray) -> float:
    if isinstance(spec, WholeSpecification):
        if right.dtype == np.float64 and spec.operator in STEPWISE:
            largest = np.abs(right).max()
            return float(np.abs(result - right).max() / np.spacing(largest) / right.size)
        if right.dtype == np.float64 and (spec.operator in NORMALISATIONS or spec.operator in TRAINING_RULES):
            return float((np.abs(result - right) / np.spacing(np.abs(right).max())).max())
        return float("inf")
    if spec.output.is_float:
        exact = np.broadcast_to(spec.expected(case.inputs).exact, result.shape).reshape(-1)
        return float(error_in_ulp(result.reshape(-1), exact, spec.output).max())
    return float("inf")


_SPECS: dict[Any, Specification] = {}


def difference(spec: Specification) -> tuple[float, int, int]:
    """The largest error of Ogive's kernel in a golden set, how many results differ, and of how many.

    Versions with one formula and types share a set.
    """
    if isinstance(spec, WholeSpecification):
        _SPECS.setdefault(spec, spec)
        return _made.__wrapped__(spec)
    key = (
        tuple((s.root, s.operands, tuple(sorted(s.numbers.items())), s.kind, s.modular) for s in spec.steps),
        spec.inputs,
        spec.reduces,
    )
    _SPECS.setdefault(key, spec)
    return _made(key)


def budget(spec: Specification) -> float:
    """How far a result of a kernel may be from the exact value."""
    return OWN_ULP_FLOAT64 if spec.output.name == "float64" else OWN_ULP


def main() -> None:
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    found: Counter[str] = Counter()
    for number, (label, spec, why) in enumerate(specifications()):
        if spec is None:
            found["without"] += 1
            print(f"{label}: no golden set: {why}")
            continue
        found["golden sets"] += 1
        if number % step:
            continue
        worst, wrong, count = difference(spec)
        found["run"] += 1
        found["results"] += count
        found["results that are not the right ones"] += wrong
        if worst > budget(spec):
            found["beyond"] += 1
            print(f"{label}: {worst:.4g} ULP, {wrong} of {count}")
    print(dict(found))


if __name__ == "__main__":
    main()
