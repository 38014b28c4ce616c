"""Schedules: where the temporary arrays of a run lie, and how long each is needed.

All temporary arrays lie in one block of memory, the workspace. Places are used again, and a kernel writes over an
operand that nothing needs afterwards.

>>> a, b = Array("a", 100, "row"), Array("b", 100, "row")
>>> tasks = Task((), (a,)), Task((("a", "row"),), (b,)), Task((("b", "row"),), ())
>>> schedule(tasks, alignment=64)
Schedule(offsets={'a': 0, 'b': 0}, size=128, ended=(frozenset(), frozenset({'a'}), frozenset({'b'})))
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

#: A workspace begins at a multiple of this: a line of the cache, and the widest register.
ALIGNMENT = 64


class Array(NamedTuple):
    """A temporary array."""

    name: Hashable
    size: int
    form: Hashable
    """Its type, shape and strides, as the front end says it. Arrays of one form have their elements at the same places."""


class Task(NamedTuple):
    """A call of a kernel, or of a function of whole arrays."""

    reads: tuple[tuple[Hashable, Hashable], ...]
    """The arrays that it reads, temporary or not, and in which form it reads each."""
    makes: tuple[Array, ...]
    """The temporary arrays that it writes."""
    is_element_wise: bool = True
    """Whether an element of a result depends only on elements at the same place."""


@dataclass(frozen=True)
class Schedule:
    """The places of temporary arrays, and when arrays are not needed any more."""

    offsets: Mapping[Hashable, int]
    """The offset of each temporary array, in the workspace."""
    size: int
    """The size of the workspace."""
    ended: tuple[frozenset[Hashable], ...]
    """For each task the arrays that it reads and nothing afterwards needs."""


def schedule(tasks: Sequence[Task], alignment: int, kept: Collection[Hashable] = ()) -> Schedule:
    """The schedule of tasks in this order. Offsets are multiples of ``alignment``; what is ``kept`` never ends."""
    last_use: dict[Hashable, float] = {}
    for index, task in enumerate(tasks):
        last_use.update((array.name, index) for array in task.makes)
        last_use.update((name, index) for name, _ in task.reads)
    last_use.update((name, math.inf) for name in kept)
    allocator, offsets = Allocator(alignment), dict[Hashable, int]()
    placed: dict[Hashable, Array] = {}
    for index, task in enumerate(tasks):
        ending = [name for name in dict.fromkeys(name for name, _ in task.reads) if last_use[name] == index]
        for array in task.makes:
            heirs = (name for name in ending if name in placed and _may_replace(task, placed[name], array))
            over = next(heirs, None)
            if over is None:
                offsets[array.name] = allocator.take(array.size)
            else:
                offsets[array.name] = offsets[over]
                del placed[over]
            placed[array.name] = array
        unread = [array.name for array in task.makes if last_use[array.name] == index]
        for name in (*ending, *unread):
            if name in placed:
                allocator.give_back(offsets[name], placed.pop(name).size)
    ended = [frozenset(name for name, _ in task.reads if last_use[name] == index) for index, task in enumerate(tasks)]
    return Schedule(offsets, allocator.end, tuple(ended))


def _may_replace(task: Task, old: Array, new: Array) -> bool:
    """Whether a task may write one array over another, which nothing reads later."""
    are_alike = (old.size, old.form) == (new.size, new.form)
    return task.is_element_wise and are_alike and all(form == new.form for name, form in task.reads if name == old.name)


class Allocator:
    """Places in one block of memory, given back and used again: the first gap that is large enough.

    >>> allocator = Allocator(64)
    >>> allocator.take(100), allocator.take(10)
    (0, 128)
    >>> allocator.give_back(0, 100)
    >>> allocator.take(64), allocator.take(64), allocator.end
    (0, 64, 192)
    """

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.gaps: list[tuple[int, int]] = []
        self.end = 0

    def rounded_up(self, size: int) -> int:
        return -(-size // self.alignment) * self.alignment

    def take(self, size: int) -> int:
        size = self.rounded_up(size)
        for position, (offset, length) in enumerate(self.gaps):
            if length >= size:
                self.gaps[position : position + 1] = [(offset + size, length - size)] if length > size else []
                return offset
        if self.gaps and sum(self.gaps[-1]) == self.end:  # the last gap grows
            offset, _ = self.gaps.pop()
        else:
            offset = self.end
        self.end = offset + size
        return offset

    def give_back(self, offset: int, size: int) -> None:
        if not size:
            return
        self.gaps.append((offset, self.rounded_up(size)))
        self.gaps.sort()
        merged: list[tuple[int, int]] = []
        for start, length in self.gaps:
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((start, length))
        self.gaps = merged


class Temporary(NamedTuple):
    """A temporary array in a workspace."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...] | None = None
    """None: packed."""
    inside: int = 0
    """The place of its first element, from the offset on."""


@dataclass(frozen=True)
class BatchWorkspace:
    """The workspace of batches of any length: what one item needs, so many times."""

    size: int
    """The size of one item; like the offsets a multiple of the alignment."""
    arrays: tuple[Temporary, ...]
    """Their first axis is the batch; its length says nothing."""

    def __call__(self, shape: tuple[int], /) -> tuple[np.ndarray, ...]:
        (batch,) = shape
        memory = np.empty(self.size * batch + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        return tuple(
            np.ndarray((batch, *old[1:]), dtype, memory, start + offset * batch + inside, strides)
            for offset, old, dtype, strides, inside in self.arrays
        )


@dataclass(frozen=True)
class Workspace:
    """Makes the memory of a run's temporary arrays, and these arrays, as a native plan calls it."""

    size: int
    arrays: tuple[Temporary, ...]

    def __call__(self, shape: tuple[int, ...] | None, /) -> tuple[np.ndarray, ...]:
        """``shape``: what every array has in a plan for any shape; sizes and offsets are then those of one element."""
        scale = 1 if shape is None else -(-math.prod(shape) // ALIGNMENT) * ALIGNMENT
        memory = np.empty(self.size * scale + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        return tuple(
            np.ndarray(old if shape is None else shape, dtype, memory, start + offset * scale + inside, strides)
            for offset, old, dtype, strides, inside in self.arrays
        )
