"""The delivery of results: into memory that the caller gives, computed in pieces that the caller can count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]

#: How many bytes of results a kernel computes between two reports of progress.
PIECE = 1 << 26


@dataclass(frozen=True)
class Delivery:
    """The requests of a caller to a run beside its results."""

    memory: Callable[[str, Shape, np.dtype], np.ndarray]
    """Gives the array for an output that is computed by filling one: its name, shape and type. It may be a mapped file.

    Other outputs (an input as it is, a view, what a function returns) come as they are, and may share memory.
    """
    progress: Callable[[int], object] = lambda _: None
    """Is told how many more bytes have been computed."""


@dataclass
class Destinations:
    """A `Delivery` for one run, and which values are outputs."""

    delivery: Delivery
    names: dict[str, str]
    """Value -> the first output that it is."""

    def array(self, value: str, shape: Shape, dtype: np.dtype) -> np.ndarray | None:
        """The caller's array for a value that is an output; None for others."""
        name = self.names.get(value)
        return None if name is None else self.delivery.memory(name, shape, dtype)

    def compute(
        self, ufunc: np.ufunc, operands: Sequence[Any], targets: Sequence[np.ndarray], *, over_rows: bool = False
    ) -> None:
        """Call a kernel, in pieces along the first axis that has several elements; a row is computed as a whole."""
        shape = targets[0].shape
        size = sum(target.nbytes for target in targets)
        axis = next((axis for axis, length in enumerate(shape[: len(shape) - over_rows]) if length > 1), None)
        if axis is None or size <= PIECE:
            ufunc(*operands, out=tuple(targets))
            self.delivery.progress(size)
            return
        step = max(1, PIECE * shape[axis] // size)
        for begin in range(0, shape[axis], step):
            part = slice(begin, begin + step)
            outputs = tuple(_cut(target, axis, part, len(shape)) for target in targets)
            ufunc(*(_cut(operand, axis, part, len(shape)) for operand in operands), out=outputs)
            self.delivery.progress(sum(output.nbytes for output in outputs))


def _cut(array: Any, axis: int, part: slice, rank: int) -> Any:
    """The part of an operand along an axis of the result; all of it where it is repeated along that axis."""
    place = axis - (rank - np.ndim(array))
    if place < 0 or array.shape[place] == 1:
        return array
    return array[(slice(None),) * place + (part,)]
