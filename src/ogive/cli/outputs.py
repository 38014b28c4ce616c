"""Outputs in .npy files: computed into mapped files, and named when all are complete.

The contents of an array: counted in pieces of bounded size, without a copy of the whole.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import click
import numpy as np

from ogive.common.drafts import Draft

#: The answers of file systems that cannot reserve room for a file.
_CANNOT_RESERVE = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


class KeptOutputs:
    """Outputs that are not written: each is an array, which a second run uses again."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def __enter__(self) -> KeptOutputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._arrays.clear()

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The array for an output."""
        known = self._arrays.get(name)
        if known is None or (known.shape, known.dtype) != (shape, dtype):
            known = self._arrays[name] = self._made(name, shape, dtype)
        return known

    def _made(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return np.empty(shape, dtype)

    def finish(self, name: str, array: np.ndarray) -> Path | None:
        """An output is complete: what its file is called."""
        self._arrays.pop(name, None)
        return None


class OutputFolder(KeptOutputs):
    """A folder for outputs. Entering makes it, and refuses one that nothing can be written to.

    The files of a run that fails are removed.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._made_folders: list[Path] = []
        self._drafts: dict[str, Draft] = {}
        self._files: set[str] = set()

    def __enter__(self) -> OutputFolder:
        try:
            missing = [folder for folder in (self._folder, *self._folder.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir(exist_ok=True)
                self._made_folders.append(folder)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except OSError as error:
            self._clean_up()
            what = f"--output is {str(self._folder)!r}, where nothing can be written: {error.strerror}"
            raise click.UsageError(f"{what}; allowed: a folder that you may write to") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._arrays.clear()
        for draft in self._drafts.values():
            draft.remove()
        if error is not None:
            self._clean_up()

    def _clean_up(self) -> None:
        for folder in reversed(self._made_folders):
            try:
                folder.rmdir()
            except OSError:  # something is in it
                return

    def _made(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A mapped file of which every byte is reserved: else a full disk would end the process with a signal."""
        if dtype.hasobject or 0 in shape or not hasattr(os, "posix_fallocate"):
            return np.empty(shape, dtype)
        draft = self._draft(name).path
        try:
            array: Any = np.lib.format.open_memmap(draft, mode="w+", dtype=dtype, shape=shape)
            with draft.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, draft.stat().st_size)
        except OSError as error:
            if error.errno in _CANNOT_RESERVE:
                return np.empty(shape, dtype)
            self._cannot_write(error)
        return np.asarray(array)

    def _cannot_write(self, error: OSError) -> NoReturn:
        """Say where, which NumPy does not."""
        what = error.strerror or "not all of an output could be written: the disk may be full"
        raise OSError(error.errno, what, str(self._folder)) from error

    def _draft(self, name: str) -> Draft:
        if name not in self._drafts:
            self._drafts[name] = Draft(self._folder, ".npy")
            self._drafts[name].make()
        return self._drafts[name]

    def finish(self, name: str, array: np.ndarray) -> Path:
        """Give the file of an output its name: from now on it is seen whole."""
        is_mapped = array is self._arrays.get(name) and name in self._drafts and not array.flags.owndata
        self._arrays.pop(name, None)
        draft = self._draft(name)
        if not is_mapped:
            # Text of any length becomes text of one length: .npy files have no other without pickles.
            plain = array.astype(str) if array.dtype.hasobject else array
            try:
                with draft.path.open("wb") as file:
                    np.save(file, plain, allow_pickle=False)
            except OSError as error:
                self._cannot_write(error)
        target = self._folder / self._file_name(name)
        draft.finish(target)
        del self._drafts[name]
        return target

    def _file_name(self, name: str) -> str:
        """Names of tensors may hold what names of files must not, and two of them must not become one file."""
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".")[:200] or "output"
        chosen, number = safe, 1
        while chosen.casefold() in self._files:
            number += 1
            chosen = f"{safe}-{number}"
        self._files.add(chosen.casefold())
        return f"{chosen}.npy"


# ---- what is in an array: counted in pieces of bounded size, without a copy of the whole


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
