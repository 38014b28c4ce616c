"""What is in an array: counted in pieces of bounded size, without a copy of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Change", "Summary", "change", "histogram", "summary"]

#: Elements of one piece.
PIECE = 1 << 18

#: A picture is of at most about so many elements, evenly taken: counting all would take longer than computing them.
PICTURED = 1 << 22

Told = Callable[[int], object]
"""Is told how many bytes are done."""


@dataclass(frozen=True)
class Summary:
    """An array in numbers. The range is that of its finite elements; None where there is none."""

    shape: tuple[int, ...]
    dtype: str
    count: int
    smallest: float | int | None
    largest: float | int | None
    zeros: int | None
    """How many elements are 0, -0 or false. This and the next are None for text, which has none of them."""
    nan: int | None
    positive_infinities: int | None
    negative_infinities: int | None


@dataclass(frozen=True)
class Change:
    """An array beside another of the same shape, element by element."""

    became_zero: int
    """Not 0 before, and 0 now."""
    changed_signs: int
    """Above 0 before and below 0 now, or the other way round."""


def has_numbers(array: np.ndarray) -> bool:
    """Whether an array's elements are numbers or truth values, not text."""
    return not (array.dtype.hasobject or array.dtype.kind in "SUmM" or array.dtype.names)


def summary(array: np.ndarray, told: Told = lambda _: None) -> Summary:
    """Count what is in an array."""
    shape, dtype = array.shape, "string" if array.dtype.hasobject else array.dtype.name
    if not has_numbers(array):
        return Summary(shape, dtype, array.size, None, None, None, None, None, None)
    zeros = nan = positive = negative = 0
    low: Any = None
    high: Any = None
    for (piece,) in _pieces(array):
        told(piece.size * array.itemsize)
        zeros += piece.size - int(np.count_nonzero(piece))
        if piece.dtype.kind == "f":
            finite = np.isfinite(piece)
            if not finite.all():
                nan += int(np.count_nonzero(np.isnan(piece)))
                positive += int(np.count_nonzero(piece == np.inf))
                negative += int(np.count_nonzero(piece == -np.inf))
                piece = piece[finite]
        if piece.size and piece.dtype.kind != "b":
            least, most = piece.min().item(), piece.max().item()
            low, high = (least, most) if low is None else (min(low, least), max(high, most))
    return Summary(shape, dtype, array.size, low, high, zeros, nan, positive, negative)


def change(before: np.ndarray, after: np.ndarray) -> Change:
    """Compare two arrays of numbers of one shape."""
    became_zero = changed_signs = 0
    for old, new in _pieces(before, after):
        became_zero += int(np.count_nonzero((new == 0) & (old != 0)))
        changed_signs += int(np.count_nonzero(((old > 0) & (new < 0)) | ((old < 0) & (new > 0))))
    return Change(became_zero, changed_signs)


def histogram(array: np.ndarray, low: float, high: float, bins: int) -> list[int]:
    """How many finite elements are in each of so many equal parts of a range; of large arrays for an even sample."""
    counts = np.zeros(bins, np.int64)
    step = max(1, array.size // PICTURED)
    for (piece,) in _pieces(array):
        taken = piece[::step].astype(np.float64)
        taken = taken[np.isfinite(taken)]
        with np.errstate(all="ignore"):
            # Halves: the difference of two numbers may be larger than any number.
            place = (taken / 2 - low / 2) / (high / 2 - low / 2) * bins if high > low else np.zeros(taken.size)
        counts += np.bincount(np.clip(np.nan_to_num(place), 0, bins - 1).astype(np.intp), minlength=bins)
    return counts.tolist()


def _pieces(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Elements at the same places of arrays of one shape; of types that NumPy computes with slowly, as float32."""
    flags: Any = ["external_loop", "buffered", "zerosize_ok"]
    operands: Any = [["readonly"]] * len(arrays)
    with np.nditer(arrays, flags, operands, buffersize=PIECE) as pieces:
        for found in pieces:
            parts = found if isinstance(found, tuple) else (found,)
            if parts[0].size:
                yield tuple(part if _is_native(part) else part.astype(np.float32) for part in parts)


def _is_native(array: np.ndarray) -> bool:
    return array.dtype.kind in "iub" or array.dtype in (np.float32, np.float64)
