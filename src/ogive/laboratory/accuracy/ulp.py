"""The unit of accuracy: one unit in the last place (ULP).

It is the distance of neighbouring numbers of the element type at the exact value's magnitude, never smaller than
the smallest subnormal number. 0.5 is as good as rounding can be. Where the exact value is NaN, or rounds to
infinity, the error is 0 if the result is the same and infinite if not: every pair of numbers has an error.
"""

from __future__ import annotations

import numpy as np

from ogive.common.dtypes import FLOAT_FORMATS, ElementType, stored_type
from ogive.errors import DTypeError, message


def float_type(kind: ElementType | np.dtype | type | str) -> ElementType:
    """The floating-point type of that name, or of that NumPy dtype.

    Raises DTypeError for others.

    >>> float_type("float32").bits, float_type(np.float16).bits
    (32, 16)
    """
    if not isinstance(kind, ElementType):
        try:
            name = kind if isinstance(kind, str) else np.dtype(kind).name
        except TypeError:
            name = repr(kind)
    else:
        name = kind.name
    found = stored_type(name)
    if found is None or not found.is_float:
        raise DTypeError(message("error in ULP", f"the element type is {name!r}", ", ".join(FLOAT_FORMATS)))
    return found


def error_in_ulp(result: np.ndarray, exact: np.ndarray, kind: ElementType | np.dtype | type | str) -> np.ndarray:
    """The error of results, with the exact values in a longer format.

    ``kind`` is the element type of the results: its name, or NumPy's dtype. Raises DTypeError if it is none of
    float16, bfloat16, float32, float64 and the floats of 8 bits.

    >>> error_in_ulp(np.float32([1.0, np.inf]), np.float64([1 + 2**-24, 1e39]), "float32").tolist()
    [0.5, 0.0]
    """
    kind = float_type(kind)
    with np.errstate(all="ignore"):
        long = result.astype(exact.dtype)
        errors: np.ndarray = np.abs(np.asarray(long - exact))
        errors *= units_in_one(exact, kind)
        # Infinities and NaN are among what does not look right, and that is little.
        places = ~(errors < 0.5)
        if places.any():
            errors[places] = _with_special_values(long[places], exact[places], errors[places], kind)
        return errors


def units_in_one(exact: np.ndarray, kind: ElementType) -> np.ndarray:
    """The reciprocal of the distance of neighbouring numbers of the element type at these values, if finite."""
    precision, smallest_exponent, _ = FLOAT_FORMATS[kind.name]
    if exact.dtype == np.float64 and kind.bits < 64:
        # The exponent's bits are taken from the number, and set in the result.
        exponent = exact.view(np.int64) >> 52
        exponent &= 0x7FF
        np.maximum(exponent, smallest_exponent + 1023, out=exponent)
        np.subtract(2 * 1023 + precision - 1, exponent, out=exponent)
        exponent <<= 52
        return exponent.view(np.float64)
    _, exponent = np.frexp(exact)
    exponent = np.where(exact == 0, smallest_exponent, np.maximum(exponent - 1, smallest_exponent))
    units: np.ndarray = np.ldexp(exact.dtype.type(1), precision - 1 - exponent)
    return units


def _with_special_values(long: np.ndarray, exact: np.ndarray, errors: np.ndarray, kind: ElementType) -> np.ndarray:
    largest = exact.dtype.type(FLOAT_FORMATS[kind.name][2])
    # From half a unit beyond the largest number on, rounding goes to infinity.
    limit = largest + 1 / units_in_one(np.array([largest]), kind)[0] / 2
    errors = np.where(np.isfinite(long), errors, np.inf)
    same_infinity = np.isinf(long) & (np.signbit(long) == np.signbit(exact))
    agrees = np.where(np.isnan(exact), np.isnan(long), same_infinity)
    return np.where(~(np.abs(exact) < limit), np.where(agrees, 0, np.inf), errors)
