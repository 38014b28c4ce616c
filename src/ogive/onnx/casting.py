"""Cast and CastLike to and from types that kernels do not compute with.

Between types of kernels engine/computation.py has the rules. Integers of 2 and 4 bits are the lower bits of int8. Floats
of 8 bits follow the tables in the standard's text; smaller ones always saturate, and have no NaN to keep.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ogive.conversion import converted
from ogive.dtypes import ElementType, element_type
from ogive.engine.computation import cast, make_ufunc
from ogive.onnx.data_types import DATA_TYPES, DataType

__all__ = ["computed_in", "convert", "is_integer", "limits", "with_bits_of"]


@cache
def _cast_ufunc(source: ElementType, result: ElementType) -> np.ufunc:
    return make_ufunc("Cast", cast(source, result))


def convert(array: np.ndarray, source: str, result: str, *, saturate: bool, round_mode: str) -> np.ndarray:
    """The elements in another type, where one of the types is not one that kernels compute with."""
    given, wanted = DATA_TYPES[source], DATA_TYPES[result]
    kind = computed_in(given)
    if given.element is None:
        array = converted(array, kind.numpy)
    if wanted.element is not None:
        out = np.empty(array.shape, wanted.element.numpy)
        if kind is wanted.element:
            out[...] = array
        else:
            _cast_ufunc(kind, wanted.element)(array, out=out)
        return out
    flat = array.reshape(-1)
    if is_integer(wanted):
        small = _small_integers(flat, kind, wanted)
    elif wanted.name == "FLOAT8E8M0":
        small = _powers_of_two(flat.astype(np.float64), wanted, saturate, round_mode)
    else:
        small = _small_floats(flat.astype(np.float64), wanted, saturate or not wanted.name.startswith("FLOAT8"))
    return small.reshape(array.shape)


def is_integer(kind: DataType) -> bool:
    return kind.name.startswith(("INT", "UINT"))


def limits(kind: DataType) -> tuple[int, int]:
    """The smallest and the largest integer of a type of integers."""
    is_unsigned = kind.name.startswith("UINT")
    return (0, 2**kind.bits - 1) if is_unsigned else (-(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1)


def computed_in(kind: DataType) -> ElementType:
    """The type in which kernels compute with these numbers, and which has all of them."""
    if kind.element is not None:
        return kind.element
    return element_type(("uint8" if kind.name.startswith("UINT") else "int8") if is_integer(kind) else "float32")


def with_bits_of(array: np.ndarray, wanted: DataType) -> np.ndarray:
    """The same bits as another type. An array has a byte for what has fewer bits, whose upper ones decide nothing."""
    if wanted.name == "BOOL":
        return np.asarray(array.view(np.uint8) != 0)
    bits = np.ascontiguousarray(array)
    if wanted.bits < 8:
        bits = bits.view(np.uint8) & np.uint8(2**wanted.bits - 1)
    return bits.view(wanted.numpy).reshape(array.shape)


def _small_integers(array: np.ndarray, kind: ElementType, wanted: DataType) -> np.ndarray:
    """Integers of fewer than 8 bits: the lower bits of an int8."""
    if kind.is_float:
        eight = np.empty(array.shape, np.int8)
        _cast_ufunc(kind, element_type("int8"))(array, out=eight)
        array = eight
    unused = 8 - wanted.bits
    shifted = array.astype(np.uint8) << unused
    kept = (shifted.view(np.int8) >> unused) if wanted.name.startswith("INT") else shifted >> unused
    return converted(kept, wanted.numpy)


def _small_floats(values: np.ndarray, wanted: DataType, saturate: bool) -> np.ndarray:
    """Floats of 8 bits and less, to nearest even."""
    import ml_dtypes

    with np.errstate(all="ignore"):
        if saturate:
            largest = float(ml_dtypes.finfo(wanted.numpy).max)  # type: ignore[no-untyped-call]
            values = np.clip(values, -largest, largest)
    return converted(values, wanted.numpy)


def _powers_of_two(values: np.ndarray, wanted: DataType, saturate: bool, round_mode: str) -> np.ndarray:
    """The 8-bit type without sign and zero: 2**-127 to 2**127, in codes from 0 on, and NaN; signs are dropped."""
    magnitudes = np.abs(values)
    is_nan = np.isnan(magnitudes)
    fraction, exponent = np.frexp(np.where(is_nan | np.isinf(magnitudes), 1.0, magnitudes))
    # 0.5 <= fraction < 1: the power of two that is not larger than the number is 2**(exponent - 1).
    moves_up = {"up": fraction > 0.5, "nearest": fraction >= 0.75, "down": fraction < 0}[round_mode]
    code = exponent.astype(np.int64) - 1 + moves_up + 127
    below, above, nan = 0, 254, 255
    if not saturate:
        below = above = nan
    code = np.where((magnitudes < 2.0**-127) | (code < 0), below, code)
    code = np.where((code > 254) | np.isinf(magnitudes), above, code)
    return np.where(is_nan, nan, code).astype(np.uint8).view(wanted.numpy)
