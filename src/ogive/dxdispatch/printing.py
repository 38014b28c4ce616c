"""Buffers as text, in the way C++ streams write numbers: six digits, no decimal point where there is no fraction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["elements", "verbose_elements"]

#: How many elements become text at a time.
_CHUNK = 1 << 16


def elements(values: np.ndarray) -> Iterator[str]:
    """The elements with commas between them, in pieces.

    >>> "".join(elements(np.float32([1, 0.1, -2.5e7, np.inf, np.nan])))
    '1, 0.1, -2.5e+07, inf, nan'
    """
    for begin in range(0, values.size, _CHUNK):
        yield (", " if begin else "") + ", ".join(_written(values[begin : begin + _CHUNK]))


def verbose_elements(values: np.ndarray) -> Iterator[str]:
    """A line for each element: its number, its value, its bits.

    >>> print("".join(verbose_elements(np.float32([0, 1]))), end="")
    [0] 0 (0x       0)
    [1] 1 (0x3F800000)
    """
    # The width is that of the count, not of the largest number: so the tool does it.
    width, digits = len(str(values.size)), 2 * values.itemsize
    bits = values.view(f"u{values.itemsize}")
    for begin in range(0, values.size, _CHUNK):
        texts = _written(values[begin : begin + _CHUNK])
        patterns = bits[begin : begin + _CHUNK].tolist()
        for offset, (text, pattern) in enumerate(zip(texts, patterns, strict=True)):
            yield f"[{begin + offset:{width}}] {text} (0x{pattern:{digits}X})\n"


def _written(values: np.ndarray) -> list[str]:
    if values.dtype.kind == "f":
        return [f"{value:g}" for value in values.tolist()]
    return [str(value) for value in values.tolist()]
