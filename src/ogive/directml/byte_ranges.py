"""Memory: the bytes of what a caller binds, and whether ranges of them overlap."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ogive.directml.results import refuse
from ogive.errors import described

__all__ = ["Region", "bytes_of"]


class Region:
    """A range of a buffer. ``size`` is what counts of it, which may be less than what was bound."""

    __slots__ = ("address", "memory", "offset", "size")

    def __init__(self, memory: np.ndarray, offset: int, size: int) -> None:
        self.memory = memory
        self.offset = offset
        self.size = size
        self.address: int = memory.__array_interface__["data"][0] + offset

    def overlaps(self, other: Region) -> bool:
        return self.address < other.address + other.size and other.address < self.address + self.size

    def is_same(self, other: Region) -> bool:
        return self.address == other.address and self.size == other.size


def bytes_of(subject: str, name: str, buffer: Any) -> np.ndarray:
    """The bytes of a buffer as a one-dimensional array that shares its memory, and its being read-only.

    Whoever holds the array keeps the memory: a bytearray cannot be resized nor an mmap closed meanwhile.
    """
    if isinstance(buffer, np.ndarray):
        array = np.asarray(buffer)
        if array.dtype.hasobject or array.dtype.itemsize == 0:
            refuse(subject, f"{name} is an array of dtype {array.dtype}", "arrays of numbers or bytes", member=name)
        contiguous = array.flags.c_contiguous
    else:
        try:
            exported = memoryview(buffer)
        except TypeError:
            allowed = "NumPy arrays, bytearray, memoryview, mmap and other objects with a buffer"
            refuse(subject, f"{name} is {described(buffer)}", allowed, member=name)
        if "O" in re.sub(":[^:]*:", "", exported.format):
            refuse(subject, f"{name} holds Python objects", "buffers of numbers or bytes", member=name)
        contiguous = exported.c_contiguous
    if not contiguous:
        refuse(
            subject,
            f"{name} is not contiguous in memory",
            "contiguous buffers",
            "Bind the whole buffer and give the desc Strides, or copy it with numpy.ascontiguousarray",
            member=name,
        )
    if isinstance(buffer, np.ndarray):
        return array.reshape(-1).view(np.uint8)
    return np.frombuffer(exported, np.uint8) if exported.nbytes else np.empty(0, np.uint8)
