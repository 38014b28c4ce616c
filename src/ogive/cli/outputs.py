"""Arrays in .npy files: inputs are mapped; outputs are computed into mapped files and named when all are complete."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import click
import numpy as np

from ogive.drafts import Draft
from ogive.errors import ModelError, message

__all__ = ["KeptOutputs", "OutputFolder", "read_array"]


_ARCHIVE = b"PK"


def read_array(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped and read-only.

    Raises ModelError for what is not one, and OSError where a file cannot be read. A pipe or a device is refused
    before it is opened: opening could wait for ever.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ModelError(
            message(str(path), "it is not a regular file", "a .npy file", "Write the data to a file first")
        )
    with path.open("rb") as file:
        start = file.read(len(_ARCHIVE))
    if start == _ARCHIVE:
        way_out = "Save one of its arrays: numpy.save('x.npy', numpy.load('x.npz')['name'])"
        raise ModelError(message(str(path), "it is a .npz archive, or another .zip file", "a .npy file", way_out))
    try:
        with warnings.catch_warnings():  # of headers that Python itself finds odd
            warnings.simplefilter("ignore")
            return np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except OSError:
        raise
    except Exception as error:  # NumPy answers a damaged header with errors of many kinds
        what, way_out = "it is not a .npy file with one array of numbers", "Write one with numpy.save"
        raise ModelError(message(str(path), what, way_out=way_out)) from error


#: What file systems answer that cannot reserve room for a file.
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

    What is left of a run that fails is removed.
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
