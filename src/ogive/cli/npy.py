"""Reading .npy files: mapped, so that an array of any size costs no copy."""

from __future__ import annotations

import stat
import warnings
from pathlib import Path

import numpy as np

from ogive.errors import ModelError, message

__all__ = ["read_array"]

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
