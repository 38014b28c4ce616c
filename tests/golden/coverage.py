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

from ogive.accuracy.ulp import error_in_ulp
from ogive.errors import ModelError, UnsupportedError
from ogive.golden.directml_operators import all_of_directml, of_directml
from ogive.golden.onnx_operators import all_of_onnx, of_onnx
from ogive.golden.specification import Specification, bits_of
from ogive.golden.vectors import make

#: Operators that move or fill data, or compare and convert what no kernel takes: they compute nothing.
MOVING_ONNX = {
    "Cast", "CastLike", "Constant", "ConstantOfShape", "Equal", "Expand", "Flatten", "Identity", "IsInf", "IsNaN",
    "Reshape", "Shape", "Size", "Slice", "Squeeze", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip

MOVING_ONNX |= {
    "ArgMax", "ArgMin", "Compress", "Concat", "DepthToSpace", "Dropout", "EyeLike", "Gather", "GatherElements",
    "GatherND", "NonZero", "OneHot", "Pad", "Range", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND",
    "SpaceToDepth", "Split", "Tile", "TopK", "Trilu",
}  # fmt: skip

#: Operators that compute, of some types at least, with functions of whole arrays: they have no golden set there yet.
OF_INTEGERS = {
    "BatchNormalization", "BitShift", "CumProd", "CumSum", "DequantizeLinear", "QuantizeLinear", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
}  # fmt: skip

#: Ogive's own kernels until all are correctly rounded: how far a result may be from the exact value, in ULP.
#: With correctly rounded kernels it is 0.5.
OWN_ULP = {"element": 1.0, "row": 4.0}

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
            result = np.asarray(spec.bind(*case.inputs))  # type: ignore[misc]
        assert result.shape == case.expected.shape, (case.name, result.shape)
        different = bits_of(result, canonical=True) != bits_of(case.expected, canonical=True)
        count += result.size
        if not different.any():
            continue
        wrong += int(np.count_nonzero(different))
        if spec.output.is_float:
            exact = np.broadcast_to(spec.expected(case.inputs).exact, result.shape).reshape(-1)
            worst = max(worst, float(error_in_ulp(result.reshape(-1), exact, spec.output).max()))
        else:
            worst = max(worst, float(np.abs(result.astype(float) - case.expected.astype(float)).max()))
    return worst, wrong, count


_SPECS: dict[Any, Specification] = {}


def difference(spec: Specification) -> tuple[float, int, int]:
    """The largest error of Ogive's kernel in a golden set, how many results differ, and of how many.

    Versions with one formula and types share a set.
    """
    key = (
        tuple((s.root, s.operands, tuple(sorted(s.numbers.items())), s.kind, s.modular) for s in spec.steps),
        spec.inputs,
        spec.reduces,
    )
    _SPECS.setdefault(key, spec)
    return _made(key)


def main() -> None:
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    found: Counter[str] = Counter()
    for number, (label, spec, _) in enumerate(specifications()):
        if spec is None:
            found["compute nothing"] += 1
            continue
        found["golden sets"] += 1
        if number % step:
            continue
        if any(s.modular for s in spec.steps) and any(t.is_float for t in spec.inputs):
            found["integers to a fractional power, not decided"] += 1
            continue
        worst, wrong, count = difference(spec)
        found["run"] += 1
        found["results"] += count
        found["results that are not the right ones"] += wrong
        if worst > OWN_ULP["row" if spec.is_row_wise else "element"]:
            found["beyond"] += 1
            print(f"{label}: {worst:.4g} ULP, {wrong} of {count}")
    print(dict(found))


if __name__ == "__main__":
    main()
