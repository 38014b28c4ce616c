"""The data types of resources: DirectML's, by its names, as NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.common.documents.place import DocumentPlace
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.directml.data import DATA_TYPES

__all__ = ["NUMPY", "UNKNOWN", "data_type", "name_of", "numbers", "scalar"]

UNKNOWN = "UNKNOWN"
_PREFIX = "DML_TENSOR_DATA_TYPE_"

#: By DirectML's short name. The format has none of the 4-bit types.
NUMPY: dict[str, np.dtype] = {row.directml: row.numpy for row in ELEMENT_TYPES.values() if row.directml in DATA_TYPES}

_CHOICES = {prefix + name: name for name in (UNKNOWN, *NUMPY) for prefix in ("", _PREFIX)}
_NAMES = {dtype: name for name, dtype in NUMPY.items()} | {np.dtype(bool): "UINT8"}


def data_type(place: DocumentPlace) -> str:
    """The short name of a data type: of all but the 4-bit ones, or UNKNOWN."""
    return place.choice(_CHOICES)


def name_of(dtype: np.dtype) -> str | None:
    """The short name for a NumPy dtype; truth values are UINT8. None where DirectML has no such type.

    >>> name_of(np.dtype("float32")), name_of(np.dtype("complex64"))
    ('FLOAT32', None)
    """
    return _NAMES.get(dtype)


def scalar(place: DocumentPlace, kind: str) -> Any:
    """A number as a NumPy scalar of a data type."""
    dtype = NUMPY[kind]
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return dtype.type(place.whole(int(limits.min), int(limits.max)))
    number = place.number()
    rounded = _rounded(np.float64(number), kind)
    if np.isinf(rounded) and not np.isinf(number):
        place.refuse(f"it is {number!r}", f"magnitudes that {kind} can hold, up to {float(np.finfo(dtype).max):.5g}")
    return rounded


def numbers(place: DocumentPlace, kind: str) -> np.ndarray:
    """An array of numbers as a NumPy array of a data type."""
    dtype, values = NUMPY[kind], place.value
    # Many plain numbers at once; whatever is not plain is looked at one by one.
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        if all(type(value) is int for value in values) and limits.min <= min(values) <= max(values) <= limits.max:
            return np.array(values, dtype)
    elif all(type(value) in (int, float) for value in values):
        try:
            rounded = _rounded(np.array(values, np.float64), kind)
        except OverflowError:
            rounded = np.array(np.inf)
        if np.isfinite(rounded).all():
            return rounded  # type: ignore[no-any-return]
    return np.array([scalar(entry, kind) for entry in place.entries()], dtype)


def _rounded(value: Any, kind: str) -> Any:
    """In a floating-point type; by way of float32 where that is float16, as the tool does it."""
    with np.errstate(over="ignore"):
        return (value.astype(np.float32) if kind == "FLOAT16" else value).astype(NUMPY[kind])
