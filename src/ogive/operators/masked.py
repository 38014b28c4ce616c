"""Calls with ``where=``: the elements that a scattered mask chooses are computed together.

NumPy calls a loop once for each run of true values. With a random mask a run has two elements, and calls take 20 to 30 ns an
element, whatever the operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ogive.common.conversion import rounded_once

#: Elements from which runs are counted, and elements of a run on average beyond which NumPy's way is as fast. For runs of 32 both
#: take about 5 ns an element (Zen 3).
LEAST, LONG_RUN = 1024, 32


def call_where(ufunc: np.ufunc, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> np.ndarray | None:
    """``out`` with the chosen elements' results, otherwise as it was; None, with nothing done, where the call is one for NumPy."""
    if keywords.keys() != {"out", "where"} or ufunc.nout != 1:
        return None
    mask, given = keywords["where"], keywords["out"]
    out: np.ndarray = given[0] if isinstance(given, tuple) and len(given) == 1 else given
    arrays = [one for one in tensors if np.ndim(one)]
    if not all(_lies_plainly(one, out) for one in (mask, out, *arrays)):
        return None
    if not (out.flags.writeable and _is_scattered(mask)):
        return None
    places = np.flatnonzero(mask)
    chosen = [one.reshape(-1)[places] if np.ndim(one) else one for one in tensors]
    results = np.empty(places.shape, out.dtype)
    try:
        rounded_once(ufunc, chosen, {"out": results})
    except TypeError:
        return None  # NumPy says what is wrong with the types
    out.reshape(-1)[places] = results
    return out


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
