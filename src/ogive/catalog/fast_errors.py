"""The measured errors of the fast contract: the largest errors of results, in units in the last place.

Those of the exact contract need no table: its results are correctly rounded.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

#: Operators whose float32 results of the fast contract differ from the exact ones, by an error that is in no row.
UNMEASURED = frozenset(
    [
        "average",
        "binary_cross_entropy_with_logits",
        "clamped_swiglu",
        "clipped_gelu",
        "cross_entropy",
        "dyt",
        "expm1",
        "fast_gelu",
        "gelu_tanh",
        "layer_normalization",
        "log_sigmoid",
        "log_softmax",
        "logsumexp",
        "lp_normalization",
        "mean_variance_normalization",
        "quick_gelu",
        "rms_normalization",
        "softcap",
        "sum",
        "softmax",
        "softmin",
        "standardize",
        "tanhshrink",
        "xielu",
    ]
)


class Errors(NamedTuple):
    """The largest errors that accuracy/measure_fast.py found."""

    parameters: dict[str, Any]
    fast: float
    """The largest error of results that are normal numbers."""
    fast_subnormal: float


@cache
def measured() -> tuple[dict[str, Any], ...]:
    """All rows of the measurement."""
    text = Path(__file__).with_name("fast_errors.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


def errors(name: str, dtype: str = "float32") -> tuple[Errors, ...]:
    """The errors of an operator of the catalogue, those of its defaults first; none where both contracts are the same, and for UNMEASURED.

    >>> [each.parameters for each in errors("swish")]
    [{}, {'alpha': 1.703125}]
    >>> errors("relu")
    ()
    """
    rows = [row for row in measured() if (row["operator"], row["dtype"]) == (name, dtype)]
    return tuple(Errors(row["parameters"], row["normal"], row["subnormal"]) for row in rows)
