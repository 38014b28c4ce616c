"""The fixed set of elements that an exported function is checked on, and the digest of its results.

The set is made with 64-bit integers alone, so that C makes the same one (self_test.py). Every second element has any
bits, every other is of ordinary size. The digest is FNV-1a of 64 bits over the bytes of all results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ogive.dtypes import ElementType

__all__ = ["ELEMENTS", "ROWS", "elements", "fnv"]

#: Elements of an element-wise function: not a multiple of any block.
ELEMENTS = 4099

#: (rows, elements of each): short ones, more than are taken at a time; one that is cut into segments.
ROWS = ((19, 331), (2, 20011))

MASK = (1 << 64) - 1


def mixed(numbers: np.ndarray) -> np.ndarray:
    """SplitMix64 of whole numbers."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


#: (bits of the exponent's bias, bits of the mantissa) of each format.
FORMATS = {"float16": (15, 10), "bfloat16": (127, 7), "float32": (127, 23), "float64": (1023, 52)}


def elements(kind: ElementType, operand: int, count: int) -> np.ndarray:
    """So many elements of an operand."""
    numbers = np.arange(count, dtype=np.uint64)
    bits = mixed(numbers + (np.uint64(operand + 1) << np.uint64(32)))
    if kind.name == "bool":
        return (bits & np.uint64(1)).astype(bool)
    small = bits % np.uint64(17)
    if kind.is_float:
        bias, mantissa = FORMATS[kind.name]
        exponent = np.uint64(bias - 8) + (bits & np.uint64(15))
        fraction = (bits >> np.uint64(4)) & np.uint64((1 << mantissa) - 1)
        small = (bits >> np.uint64(63)) << np.uint64(kind.bits - 1) | exponent << np.uint64(mantissa) | fraction
    elif kind.kind == "signed":
        with np.errstate(over="ignore"):
            small = small - np.uint64(8)
    chosen = np.where(numbers % np.uint64(2) == 0, bits, small)
    return chosen.astype(f"u{kind.itemsize}").view(kind.numpy)


def fnv(arrays: Sequence[np.ndarray]) -> int:
    """The digest of the arrays' bytes, one after the other."""
    found = 0xCBF29CE484222325
    for array in arrays:
        for byte in array.tobytes():
            found = (found ^ byte) * 0x100000001B3 & MASK
    return found
