"""What native plans are made of, for everything that makes them: steps, temporary arrays, results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.engine.schedule import Temporary

__all__ = ["Buffers", "Step", "separate", "separated"]

#: (what is called, whether it is a kernel, slots of the inputs, of the outputs, where these lie, slots that become free)
Step = tuple[Any, bool, tuple[int, ...], tuple[int, ...], tuple[tuple[Any, ...], ...], tuple[int, ...]]


class Buffers:
    """The temporary arrays of a plan, each once.

    >>> buffers, array = Buffers(), Temporary(0, (3,), np.dtype(np.float32))
    >>> buffers.place(array), buffers.place(array._replace(offset=64)), buffers.place(array)
    (('buffer', 0), ('buffer', 1), ('buffer', 0))
    """

    def __init__(self) -> None:
        self._numbers: dict[Temporary, int] = {}

    def place(self, array: Temporary) -> tuple[str, int]:
        """Where a value lies, as a native plan reads it."""
        return "buffer", self._numbers.setdefault(array, len(self._numbers))

    @property
    def arrays(self) -> tuple[Temporary, ...]:
        """In the order of their numbers."""
        return tuple(self._numbers)


def separate(value: Any, *, is_own: bool) -> Any:
    """The value in an array that nothing else uses, in C order; a list stays a list."""
    if isinstance(value, np.ndarray):
        base = value.base
        # The base may be anything that has memory: bytes, a mapped file, another library's capsule.
        whole = base is None or (isinstance(base, np.ndarray) and base.nbytes == value.nbytes)
        is_good = is_own and whole and value.flags.c_contiguous and value.flags.writeable
        return value if is_good else np.array(value, order="C")
    if isinstance(value, list | tuple):
        return [separate(item, is_own=False) for item in value]
    return value


def separated(value: Any, is_own: int) -> Any:
    """The same, as a native plan calls it."""
    return separate(value, is_own=bool(is_own))
