"""The exported functions that are tested: some of every kind. With OGIVE_EXPORT_ALL=1 every combination of element types
of every operator (`make export`).
"""

import os
from functools import cache

from ogive.catalog import OPERATORS
from ogive.exporting.sources import source_of_operator

ALL = os.environ.get("OGIVE_EXPORT_ALL", "0") not in ("", "0")

#: Short and long ones; fused multiplications in float32 and float64; several operands, of several types; integers; rows.
SAMPLE = {
    "celu": ("float16", "bfloat16", "float32", "float64"),
    "gelu": ("float32",),
    "tanh": ("float16", "float64"),
    "shrink": ("int8", "float32"),
    "mod": ("int32", "float32"),
    "floor": ("float64",),
    "where": ("int16",),
    "pow": ("float32",),
    "quantize_linear": ("float32",),
    "softmax": ("float16", "float32", "float64"),
    "hardmax": ("float32",),
    "softmin": ("float32",),
    "sparsemax": ("float32", "float64"),
    "entmax15": ("float32",),
    "log_softmax": ("bfloat16",),
    "logsumexp": ("float16", "float32"),
}


def _wanted(op, signature):
    return ALL or any(kind in (signature.inputs[0].name, signature.inputs[-1].name) for kind in SAMPLE.get(op.name, ()))


@cache
def sample():
    """The functions, and how many there are at least."""
    found = [
        source_of_operator(op, [t.name for t in (*s.inputs, *s.outputs)], {}, {}, None)
        for op in OPERATORS.values()
        for s in op.signatures
        if _wanted(op, s)
    ]
    assert len(found) > (600 if ALL else 15)
    return found
