"""Measure the errors of the fast contract over float32 inputs, and write them to src/ogive/catalog/fast_errors.json.

    python accuracy/measure_fast.py [--stride 61] [OPERATOR]...

Every ``stride``-th of the 2**32 inputs is taken, and all 65,536 of the 16-bit types. The reference is the exact contract in
float64, whose error is 2**-29 units of a float32 number. ``ogive accuracy OPERATOR --accuracy fast`` measures one operator
against 300 bits.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.operators.operator import Operator

TARGET = Path(__file__).resolve().parent.parent / "src/ogive/catalog/fast_errors.json"

#: Operators with rules of their own, and parameters; the first row of each is of its defaults.
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("celu", {}),
    ("celu", {"alpha": 1.5}),
    ("cosh", {}),
    ("elu", {}),
    ("elu", {"alpha": 1.3125}),
    ("exp", {}),
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
    ("hard_mish", {}),
    ("hard_swish", {}),
    ("mish", {}),
    ("ndtr", {}),
    ("parametric_softplus", {"alpha": 1.3125, "beta": 0.703125}),
    ("scaled_tanh", {}),
    ("scaled_tanh", {"alpha": 1.71875, "beta": 0.6640625}),
    ("selu", {}),
    ("sigmoid", {}),
    ("softplus", {}),
    ("softplus", {"steepness": 1.75}),
    ("sparse_plus", {}),
    ("swiglu", {}),
    ("swish", {}),
    ("swish", {"alpha": 1.703125}),
    ("tanh", {}),
]
STEP = 1 << 20

#: Bits of the significand, and the exponent of the smallest normal number.
FORMATS = {"float32": (24, -126), "float16": (11, -14), "bfloat16": (8, -126)}


def inputs(op: Operator, dtype: str, stride: int) -> Iterator[tuple[np.ndarray, ...]]:
    kind = element_type(dtype)
    generator = np.random.default_rng(19)
    unsigned = np.dtype(f"u{kind.itemsize}")
    for first in range(0, 1 << kind.bits, STEP * stride):
        bits = np.arange(first, min(first + STEP * stride, 1 << kind.bits), stride, dtype=np.uint64)
        x = bits.astype(unsigned).view(kind.numpy)
        others = (generator.integers(0, 1 << kind.bits, x.size, dtype=np.uint64) for _ in range(op.inputs - 1))
        yield x, *(other.astype(unsigned).view(kind.numpy) for other in others)


def measured(op: Operator, parameters: Mapping[str, Any], dtype: str, stride: int) -> dict[str, Any]:
    """The largest errors of normal and of subnormal results, in ULP."""
    precision, least = FORMATS[dtype]
    largest = float(np.finfo(dtype).max) if dtype != "bfloat16" else (2 - 2.0**-7) * 2.0**127
    worst = {"normal": 0.0, "subnormal": 0.0}
    place: list[float] = []
    for given in inputs(op, dtype, stride):
        # Signalling NaN make NumPy's conversions set a flag.
        tensors = tuple(np.where(np.isnan(x), x.dtype.type(np.nan), x) for x in given)
        got = op.fast(*tensors, **parameters).astype(np.float64)
        wanted = op.exact(*(x.astype(np.float64) for x in tensors), **parameters)
        magnitude = np.abs(wanted)
        assert (np.isnan(got) == np.isnan(wanted)).all()
        exponent = np.maximum(np.frexp(magnitude)[1] - 1, least)
        is_finite = magnitude <= largest
        units = np.exp2(precision - 1.0 - exponent)
        error = np.abs(np.where(is_finite, got - wanted, 0)) * units
        is_normal = magnitude >= 2.0**least
        for name, among in (("normal", is_normal), ("subnormal", ~is_normal)):
            found = np.where(among, error, 0.0)
            at = int(np.argmax(found))
            if found[at] > worst[name]:
                worst[name] = float(found[at])
                if name == "normal":
                    place = [float(x[at]) for x in tensors]
    return {**{name: round(value, 4) for name, value in worst.items()}, "at": place}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", help="measure these only, and print; default: all, and write")
    parser.add_argument("--stride", type=int, default=61)
    arguments = parser.parse_args()
    rows = []
    for name, parameters in ROWS:
        if arguments.operators and name not in arguments.operators:
            continue
        for dtype in FORMATS:
            stride = arguments.stride if dtype == "float32" else 1
            found = measured(OPERATORS[name], parameters, dtype, stride)
            rows.append({"operator": name, "parameters": parameters, "dtype": dtype, "stride": stride, **found})
            print(json.dumps(rows[-1]), flush=True)
    if not arguments.operators:
        TARGET.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
