"""Where the results of a run go: into memory that the caller gives, computed in pieces that the caller can count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Delivery", "Destinations"]

Shape = tuple[int, ...]

#: How many bytes of results a kernel computes between two reports of progress.
PIECE = 1 << 26


@dataclass(frozen=True)
class Delivery:
    """What a caller wants of a run beside its results."""

    memory: Callable[[str, Shape, np.dtype], np.ndarray]
    """Gives the array for an output: its name, shape and type. It may be a mapped file."""
    progress: Callable[[int], object] = lambda _: None
    """Is told how many more bytes have been computed."""


@dataclass
class Destinations:
    """A `Delivery` for one run: which values are outputs, and the arrays that they have got."""

    delivery: Delivery
    names: dict[str, str]
    """Value -> the first output that it is."""
    given: dict[str, np.ndarray] = field(default_factory=dict)

    def array(self, value: str, shape: Shape, dtype: np.dtype) -> np.ndarray | None:
        """The caller's array for a value that is an output; None for others."""
        name = self.names.get(value)
        if name is None:
            return None
        self.given[value] = self.delivery.memory(name, shape, dtype)
        return self.given[value]

    def compute(self, ufunc: np.ufunc, operands: Sequence[Any], targets: Sequence[np.ndarray]) -> None:
        """Call an element-wise kernel, in pieces along the first axis that has several elements."""
        shape = targets[0].shape
        size = sum(target.nbytes for target in targets)
        axis = next((axis for axis, length in enumerate(shape) if length > 1), None)
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

    def handed_out(self, outputs: Sequence[str], values: Sequence[str], results: list[Any]) -> list[Any]:
        """The results in the caller's arrays; a list of arrays stays what it is."""
        used: set[str] = set()
        for place, (name, value) in enumerate(zip(outputs, values, strict=True)):
            result, target = results[place], self.given.get(value)
            if not isinstance(result, np.ndarray):
                continue
            if result is not target or value in used:
                target = self.delivery.memory(name, result.shape, result.dtype)
                np.copyto(target, result, casting="no")
                results[place] = target
            used.add(value)
        return results


def _cut(array: Any, axis: int, part: slice, rank: int) -> Any:
    """The part of an operand along an axis of the result; all of it where it is repeated along that axis."""
    place = axis - (rank - np.ndim(array))
    if place < 0 or array.shape[place] == 1:
        return array
    return array[(slice(None),) * place + (part,)]
