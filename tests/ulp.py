"""The measure of errors: a number for every pair of values, by a written policy.

The unit is the distance of neighbouring numbers at the exact value's magnitude, never smaller than the
smallest subnormal number; 0.5 is as good as rounding can be. Where the exact value is NaN or rounds to
infinity, the error is 0 if the result is the same and infinite if not.
"""

import ml_dtypes
import numpy as np

from ogive.dtypes import ElementType

#: (precision, smallest exponent of a normal number)
FORMATS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022)}


def unit_in_the_last_place(exact: np.ndarray, kind: ElementType) -> np.ndarray:
    precision, smallest_exponent = FORMATS[kind.name]
    _, exponent = np.frexp(np.abs(exact))
    exponent = np.where(exact == 0, smallest_exponent, np.maximum(exponent - 1, smallest_exponent))
    return np.ldexp(np.ones_like(exact), exponent - precision + 1)


def error(result: np.ndarray, exact: np.ndarray, kind: ElementType) -> np.ndarray:
    """The error of results in units in the last place; ``exact`` in a longer format."""
    with np.errstate(all="ignore"):
        largest = float(ml_dtypes.finfo(kind.numpy).max)
        long = result.astype(exact.dtype)
        unit = unit_in_the_last_place(np.where(np.isfinite(exact), exact, 1), kind)
        # Half a unit beyond the largest number rounding goes to infinity.
        overflows = np.abs(exact) >= largest + unit_in_the_last_place(exact.dtype.type(largest), kind) / 2
        distance = np.abs(long - exact) / unit
        special = np.isnan(exact) | overflows
        agrees = np.where(np.isnan(exact), np.isnan(long), np.isinf(long) & (np.signbit(long) == np.signbit(exact)))
        distance = np.where(np.isfinite(long), distance, np.inf)
        return np.where(special, np.where(agrees, 0, np.inf), distance)
