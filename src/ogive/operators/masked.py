"""Calls with ``where=``: the elements that a scattered mask chooses are computed together.

NumPy calls a loop once for each run of true values. With a random mask a run has two elements, and calls take 20 to 30 ns an
element, whatever the operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ogive.common.conversion import rounded_once

__all__ = ["call_where"]

#: Elements from which runs are counted, and elements of a run on average beyond which NumPy's way is as fast. For runs of 32 both
#: take about 5 ns an element (Zen 3).
LEAST, LONG_RUN = 1024, 32


def call_where(ufunc: np.ufunc, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether the call could be done so, and was: ``out`` has the chosen elements' results, and is otherwise as it was."""
    if keywords.keys() != {"out", "where"} or ufunc.nout != 1:
        return False
    mask, out = keywords["where"], keywords["out"]
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    arrays = [one for one in tensors if np.ndim(one)]
    if not all(_lies_plainly(one, out) for one in (mask, out, *arrays)) or not _is_scattered(mask):
        return False
    if not out.flags.writeable:
        return False
    places = np.flatnonzero(mask)
    chosen = [one.reshape(-1)[places] if np.ndim(one) else one for one in tensors]
    results = np.empty(places.shape, out.dtype)
    try:
        rounded_once(ufunc, chosen, {"out": results})
    except TypeError:
        return False  # NumPy says what is wrong with the types
    out.reshape(-1)[places] = results
    return True


def _lies_plainly(array: Any, like: Any) -> bool:
    return (
        type(array) is np.ndarray
        and array.flags.c_contiguous
        and type(like) is np.ndarray
        and array.shape == like.shape
    )


def _is_scattered(mask: np.ndarray) -> bool:
    if mask.dtype != bool or mask.size < LEAST:
        return False
    flat = mask.reshape(-1)
    return int(np.count_nonzero(flat[1:] != flat[:-1])) * LONG_RUN > 2 * mask.size
