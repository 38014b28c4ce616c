"""Conversion of arrays to other element types, rounded once.

NumPy converts to the types of ml_dtypes (bfloat16, floats of 8 bits and less) by way of float32. So float64, and integers
of 32 and 64 bits, are rounded twice, and the second rounding may see a tie that was none. Here the number in between is
rounded to odd: where it is not exact its last bit is 1, so the second rounding never sees a false tie.

>>> import ml_dtypes, numpy as np
>>> x = np.array([1 + 2**-8 + 2**-40])
>>> float(x.astype(ml_dtypes.bfloat16)[0]), float(converted(x, ml_dtypes.bfloat16)[0])
(1.0, 1.0078125)
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["converted", "is_of_ml_dtypes", "rounds_twice"]


def is_of_ml_dtypes(dtype: np.dtype) -> bool:
    """Whether NumPy knows the type only through ml_dtypes."""
    return dtype.type.__module__.partition(".")[0] == "ml_dtypes"


def rounds_twice(source: np.dtype, wanted: np.dtype) -> bool:
    """Whether NumPy would round twice: numbers that float32 has not, to a float of ml_dtypes."""
    return (
        is_of_ml_dtypes(wanted) and source.kind in "fiu" and (source.itemsize > 4 or source.name in ("int32", "uint32"))
    )


def converted(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The elements in another type, each rounded once, to nearest even; the array itself where it has the type.

    Everything else is as in ``array.astype``: what becomes infinite, what integers become, masks of masked arrays.
    """
    wanted = np.dtype(dtype)
    if array.dtype == wanted:
        return array
    if not rounds_twice(array.dtype, wanted):
        return array.astype(wanted)
    with np.errstate(all="ignore"):
        return _rounded_to_odd(array).astype(wanted)


def _rounded_to_odd(array: np.ndarray) -> np.ndarray:
    """float32 of numbers; where that is not exact, the neighbour whose last bit is 1."""
    values = array
    if array.dtype.kind in "iu":
        if array.dtype.itemsize == 8:  # 53 bits for float64, the last of which says what the lower ones were
            is_cut = (array & 2047) != 0
            values = np.where(np.abs(array.astype(np.float64)) >= 2.0**53, (array & ~2047) | (is_cut * 2048), array)
        values = values.astype(np.float64)
    single = values.astype(np.float32)
    back = single.astype(values.dtype)
    is_inexact = np.isfinite(single) & (back != values)
    moved = single.view(np.int32) - (is_inexact & (np.abs(back) > np.abs(values)))
    odd: np.ndarray = (moved | is_inexact).astype(np.int32).view(np.float32)
    return odd
