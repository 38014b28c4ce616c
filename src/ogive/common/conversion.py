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

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ogive.common.dtypes import FLOAT_FORMATS, ElementType


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
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.MaskedArray(converted(array.data, wanted), mask=array.mask)
    with np.errstate(all="ignore"):
        return _rounded_to_odd(array).astype(wanted)


def saturated(values: np.ndarray, largest: float) -> np.ndarray:
    """The numbers with a type's largest one in the place of larger ones and infinities; NaN stays."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip(values, -largest, largest))


def stored(values: np.ndarray, kind: ElementType, *, saturate: bool = True) -> np.ndarray:
    """Results that are rounded already, as a type has them.

    Floats of 8 bits follow the tables of ONNX's Cast: with ``saturate`` they end at the largest number, else larger ones
    and infinities are infinities, or NaN in types without. Types that end in uz have no -0.

    >>> from ogive.common.dtypes import FLOATS_OF_8_BITS
    >>> kind, x = FLOATS_OF_8_BITS["float8_e4m3fnuz"], np.array([np.inf, -0.0])
    >>> [stored(x, kind, saturate=saturate).astype(float).tolist() for saturate in (True, False)]
    [[240.0, 0.0], [nan, 0.0]]
    """
    if saturate and kind.is_float and kind.bits == 8:
        values = saturated(values, FLOAT_FORMATS[kind.name].largest)
    return converted(values, kind.numpy)


def to_odd(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """``high + low`` as a float64 that rounds to every shorter type as the sum does: its last bit is set if it is inexact."""
    bits = high.view(np.int64)
    is_even_and_inexact = (low != 0) & (bits & 1 == 0) & np.isfinite(high)
    towards = np.where(low > 0, np.inf, -np.inf)
    return np.where(is_even_and_inexact, np.nextafter(high, towards), high)


def _rounded_to_odd(array: np.ndarray) -> np.ndarray:
    """float32 of numbers; where that is not exact, the neighbour whose last bit is 1."""
    values = array
    if array.dtype.kind in "iu":
        if array.dtype.itemsize == 8:  # 53 bits for float64, the last of which says what the lower ones were
            is_cut = (array & 2047) != 0
            low = array.dtype.type(2047)
            is_long = np.abs(array.astype(np.float64)) >= 2.0**53
            values = np.where(is_long, (array & ~low) | (is_cut * array.dtype.type(2048)), array)
        values = values.astype(np.float64)
    single = values.astype(np.float32)
    back = single.astype(values.dtype)
    is_inexact = np.isfinite(single) & (back != values)
    moved = single.view(np.int32) - (is_inexact & (np.abs(back) > np.abs(values)))
    odd: np.ndarray = (moved | is_inexact).astype(np.int32).view(np.float32)
    return odd


def rounded_once(ufunc: np.ufunc, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The call of a ufunc whose operands, and results for ``out``, are rounded once on their way to other types."""
    if any(hasattr(one, "__array_ufunc__") and not isinstance(one, np.ndarray | np.generic) for one in operands):
        return ufunc(*operands, **keywords)
    rest = dict(keywords)
    out = rest.get("out")
    outs: tuple[Any, ...] = out if isinstance(out, tuple) else (out,) * ufunc.nout
    if len(outs) != ufunc.nout or not all(one is None or isinstance(one, np.ndarray) for one in outs):
        return ufunc(*operands, **keywords)  # which takes other arrays, and says what is wrong
    try:
        own = [type(one) if type(one) in (int, float) else np.asarray(one).dtype for one in operands]
        asked = rest.get("signature")
        if rest.get("dtype") is not None:
            asked = (None,) * ufunc.nin + (np.dtype(rest["dtype"]),) * ufunc.nout
        casting = rest.get("casting", "same_kind")
        how: dict[str, Any] = {"casting": casting} if asked is None else {"casting": casting, "signature": asked}
        types = ufunc.resolve_dtypes((*own, *(None,) * ufunc.nout), **how)
        made = types[ufunc.nin :]
        arrays = [
            converted(np.asanyarray(one), t)
            if isinstance(t, np.dtype) and np.can_cast(np.asarray(one).dtype, t, casting)
            else one
            for one, t in zip(operands, types, strict=False)
        ]
    except (TypeError, ValueError, OverflowError):
        return ufunc(*operands, **keywords)  # as above
    later = [o is not None and rounds_twice(t, o.dtype) for o, t in zip(outs, made, strict=True)]
    if not any(later):
        return ufunc(*arrays, **rest)
    if not all(np.can_cast(t, o.dtype, casting) for o, t in zip(outs, made, strict=True) if o is not None):
        return ufunc(*operands, **keywords)
    between = tuple(np.empty(o.shape, t) if late else o for o, t, late in zip(outs, made, later, strict=True))
    rest["out"] = between
    ufunc(*arrays, **rest)
    for target, values, late in zip(outs, between, later, strict=True):
        if late:
            np.copyto(target, converted(values, target.dtype), where=rest.get("where", True))
    return outs if len(outs) > 1 else outs[0]
