"""NumPy's files, .npy and .npz, that other people wrote: read as arrays, or refused by a ModelError that says which file and why."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ogive.common.dtypes import ElementType
from ogive.errors import ModelError, message

_ARCHIVE = b"PK"

#: A file of bytes has at most so many, and an archive's arrays together: a file of a few kilobytes may say that it holds terabytes.
MOST_BYTES = 1 << 33

_WRITTEN_BY = "Write one with numpy.save"


@contextmanager
def _damage_refused(path: Path, what: str, way_out: str) -> Iterator[None]:
    """NumPy, zipfile and zlib answer damage with errors of many kinds, of the system too: damage has them look before a file."""
    try:
        with warnings.catch_warnings():  # of headers that Python itself finds odd
            warnings.simplefilter("ignore")
            yield
    except ModelError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        reason = f"{what}: {text}" if text else what
        raise ModelError(message(str(path), reason, way_out=way_out)) from error


def _check_regular(path: Path, allowed: str) -> None:
    """Refuse a pipe or a device before it is opened: opening could wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ModelError(message(str(path), "it is not a regular file", allowed, "Write the data to a file first"))


def read_npy(path: Path) -> np.ndarray:
    """The array of a .npy file, mapped and read-only.

    Raises ModelError for what is not one, and OSError where a file cannot be read.
    """
    _check_regular(path, "a .npy file")
    with path.open("rb") as file:
        start = file.read(len(_ARCHIVE))
    if start == _ARCHIVE:
        way_out = "Save one of its arrays: numpy.save('x.npy', numpy.load('x.npz')['name'])"
        raise ModelError(message(str(path), "it is a .npz archive, or another .zip file", "a .npy file", way_out))
    with _damage_refused(path, "it is not a .npy file with one array of numbers", _WRITTEN_BY):
        return np.asarray(np.lib.format.open_memmap(path, mode="r"))


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a .npz archive, by name.

    Raises ModelError for what is none, and OSError where a file cannot be read.
    """
    _check_regular(path, "a .npz archive")
    what = "it is not a .npz archive of arrays of numbers"
    with (
        path.open("rb") as file,
        _damage_refused(path, what, "Write one with numpy.savez"),
        zipfile.ZipFile(file) as archive,
    ):
        size = sum(member.file_size for member in archive.infolist())
        if size > MOST_BYTES:
            raise ModelError(message(str(path), f"its arrays have {size} bytes", f"up to {MOST_BYTES}"))
        return {member.filename.removesuffix(".npy"): _member(archive, member) for member in archive.infolist()}


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """An array of an archive. Its header must not ask for more memory than its bytes fill."""
    data = archive.read(member)
    start = io.BytesIO(data)
    version = np.lib.format.read_magic(start)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, kind = read(start)
    if kind.hasobject:
        raise ValueError(f"{member.filename} has objects of Python")
    found = np.frombuffer(data, kind, offset=start.tell())
    return found.reshape(shape, order="F" if in_columns else "C")


def read_raw(path: Path, kind: ElementType) -> np.ndarray:
    """The bytes of a file as elements of a type, the lowest byte first."""
    _check_regular(path, "a file of bytes")
    length, size = path.stat().st_size, kind.numpy.itemsize
    if length % size:
        raise ModelError(message(str(path), f"it has {length} bytes", f"multiples of {size}, for {kind.name}"))
    if length > MOST_BYTES:
        raise ModelError(message(str(path), f"it has {length} bytes", f"up to {MOST_BYTES}"))
    with _damage_refused(path, "it cannot be read", "Write the results anew"):
        return np.fromfile(path, np.uint8).view(kind.numpy)


def as_type(where: str, array: np.ndarray, kind: ElementType) -> np.ndarray:
    """An array as elements of a type, in the processor's order of bytes. Unsigned integers of the same size are taken for bits.

    Raises ModelError for another type.
    """
    found = array.astype(array.dtype.newbyteorder("="), copy=False)
    if found.dtype == kind.numpy:
        return found
    bits = np.dtype(f"u{kind.numpy.itemsize}")
    if found.dtype == bits and kind.is_float:
        return found.view(kind.numpy)
    allowed = f"{kind.name}, or {bits.name} for its bits" if kind.is_float else kind.name
    raise ModelError(message(where, f"its elements are of type {array.dtype}", allowed))
