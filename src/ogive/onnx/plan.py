"""The plan of a run: what to call in which order, and in which memory every value lies.

A plan is made once for the shapes of the inputs, from the record of the first run. Values of kernels lie in
buffers that are reused when nobody needs a value any more; a kernel writes over one of its inputs where that
is the last use of it. Results get arrays of their own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive._native import Plan, ShapesChanged
from ogive.onnx.tracing import FunctionCall, KernelCall, Record, Shape, called

__all__ = ["Plan", "ShapesChanged", "make_plan", "separate"]

#: Buffers begin at multiples of this: a line of the cache, and the widest register.
ALIGNMENT = 64


@dataclass(frozen=True)
class Fresh:
    """A result: an array of its own."""

    shape: Shape
    dtype: np.dtype


@dataclass(frozen=True)
class Buffered:
    """A view of a buffer, by its place in the workspace."""

    position: int


@dataclass(frozen=True)
class InPlace:
    """Over an input of the kernel, by its slot."""

    slot: int


Place = Fresh | Buffered | InPlace


def _native_place(place: Place | None) -> tuple[Any, ...]:
    """A place as the native plan reads it; None is an array that a function makes."""
    match place:
        case Fresh(shape, dtype):
            return ("fresh", shape, dtype)
        case Buffered(position):
            return ("buffer", position)
        case InPlace(slot):
            return ("over", slot)
    return ("own",)


@dataclass(frozen=True)
class _Function:
    """A call of a function of a node, which must give the shape of the recorded run."""

    source: FunctionCall

    def __call__(self, arrays: tuple[Any, ...], out: np.ndarray | None) -> np.ndarray:
        source = self.source
        if out is not None and arrays[0].shape != source.shape:
            raise ShapesChanged
        result = called(source.label, source.function, arrays, out)
        if result.shape != source.shape:
            raise ShapesChanged
        return result


@dataclass(frozen=True)
class _Workspace:
    """Makes the buffers of a run, and the views of them that its values are."""

    sizes: tuple[int, ...]
    """Of the buffers in bytes."""
    views: tuple[tuple[int, Shape, np.dtype], ...]
    """(buffer, shape, type)."""

    def __call__(self, shape: Shape | None) -> tuple[np.ndarray, ...]:
        """``shape``: what every view has in a plan for any shape."""
        kinds = [(buffer, old if shape is None else shape, dtype) for buffer, old, dtype in self.views]
        sizes = list(self.sizes)
        for buffer, new, dtype in kinds:
            sizes[buffer] = max(sizes[buffer] * (shape is None), math.prod(new) * dtype.itemsize)
        buffers = [_aligned_buffer(size) for size in sizes]
        return tuple(
            buffers[buffer][: math.prod(new) * dtype.itemsize].view(dtype).reshape(new) for buffer, new, dtype in kinds
        )


def _separated(value: Any, is_own: int) -> Any:
    return separate(value, is_own=bool(is_own))


def separate(value: Any, *, is_own: bool) -> Any:
    """The value in an array that nothing else uses, in C order; a list stays a list."""
    if isinstance(value, np.ndarray):
        whole = value.base is None or value.base.nbytes == value.nbytes
        is_good = is_own and whole and value.flags.c_contiguous and value.flags.writeable
        return value if is_good else np.array(value, order="C")
    if isinstance(value, list | tuple):
        return [separate(item, is_own=False) for item in value]
    return value


def _aligned_buffer(size: int) -> np.ndarray:
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def make_plan(
    record: Record,
    inputs: Sequence[str],
    results: Sequence[str],
    given: Sequence[Any],
    *,
    is_flexible: bool = False,
    memory_limit: int = sys.maxsize,
) -> Plan:
    """The plan of the runs that do the same as the recorded one.

    ``given`` are the inputs of that run. If the model ``is_flexible`` (it declares nothing that other shapes would
    contradict) and all values had one shape, the plan is for any shape of so many axes.
    """
    return _Planner(record, inputs, results).plan(given, is_flexible, memory_limit)


#: (what is called, whether it is a kernel, slots of the inputs, of the outputs, where these lie, slots that become free)
_Step = tuple[Any, bool, tuple[int, ...], tuple[int, ...], tuple[tuple[Any, ...], ...], tuple[int, ...]]


class _Planner:
    def __init__(self, record: Record, inputs: Sequence[str], results: Sequence[str]) -> None:
        self.record, self.inputs, self.results = record, inputs, results
        self.slots: dict[str, int] = {}
        self.roots: dict[str, str] = {}
        """For each value the one whose memory it may lie in."""
        self.last_use: dict[str, float] = {}
        """For each root the place of the last call that uses it; infinity for results."""
        self.buffers: list[int] = []
        self.views: dict[tuple[int, Shape, np.dtype], int] = {}
        self.free: dict[int, list[int]] = {}
        """Buffers that nobody needs, by size."""
        self.buffer_of: dict[str, int] = {}
        """The buffers of the roots that have one."""
        self.kinds: dict[str, tuple[Shape, np.dtype]] = {}
        """Shape and type of the values of kernels."""
        self.owned: set[str] = set()
        """Roots in memory that the run has made."""

    def plan(self, given: Sequence[Any], is_flexible: bool, memory_limit: int) -> Plan:
        for name in (*self.inputs, *self.record.fixed):
            self._slot(name)
        self._find_uses()
        steps = tuple(
            self._kernel(index, call) if isinstance(call, KernelCall) else self._call(index, call)
            for index, call in enumerate(self.record.calls)
        )
        start: list[Any] = [None] * len(self.slots)
        for name, array in self.record.fixed.items():
            start[self.slots[name]] = array
        roots = [self.roots[name] for name in self.results]
        shape = self._shape_of_all(given) if is_flexible else None
        per_element = sum(d.itemsize for _, d in self.kinds.values())
        return Plan(
            steps=steps,
            start=tuple(start),
            inputs=tuple(self.slots[name] for name in self.inputs),
            input_kinds=tuple((v.dtype, v.shape) if isinstance(v, np.ndarray) else None for v in given),
            results=tuple(self.slots[name] for name in self.results),
            is_own=tuple(root in self.owned and roots.count(root) == 1 for root in roots),
            separate=_separated,
            make_workspace=_Workspace(tuple(self.buffers), tuple(self.views)),
            workspace_bytes=sum(self.buffers),
            uniform=shape is not None,
            most_elements=memory_limit // max(per_element, 1),
        )

    def _shape_of_all(self, given: Sequence[Any]) -> Shape | None:
        """The one shape that all values of the run have, but for constants of one element; None if they differ."""
        shapes = {value.shape if isinstance(value, np.ndarray) else None for value in given}
        shape = shapes.pop() if len(shapes) == 1 else None
        if not shape or not math.prod(shape):
            return None
        constants = self.record.fixed
        for call in self.record.calls:
            if not isinstance(call, KernelCall) or call.over_rows or call.shapes[0] != shape:
                return None
            read = [constants[name] for name in call.inputs if name in constants]
            if any(array.size != 1 or array.ndim > len(shape) for array in read):
                return None
        return None if any(name in constants for name in self.results) else shape

    def _slot(self, name: str) -> int:
        return self.slots.setdefault(name, len(self.slots))

    def _find_uses(self) -> None:
        self.roots = {name: name for name in self.slots}
        for index, call in enumerate(self.record.calls):
            if isinstance(call, KernelCall):
                self.roots.update((name, name) for name in call.outputs)
            else:
                self.roots[call.output] = self.roots[call.inputs[0]] if call.is_view else call.output
            for name in call.inputs:
                self.last_use[self.roots[name]] = index
        for name in self.results:
            self.last_use[self.roots[name]] = math.inf

    def _released(self, index: int, inputs: Sequence[str]) -> tuple[int, ...]:
        """The slots whose arrays are not needed after a call; their buffers become free."""
        ended = [name for name in dict.fromkeys(inputs) if self.last_use[self.roots[name]] == index]
        for name in ended:
            buffer = self.buffer_of.pop(self.roots[name], None)
            if buffer is not None:
                self.free.setdefault(self.buffers[buffer], []).append(buffer)
        return tuple(self.slots[name] for name in ended if name not in self.record.fixed)

    def _kernel(self, index: int, call: KernelCall) -> _Step:
        inputs = tuple(self.slots[name] for name in call.inputs)
        places: list[Place] = []
        for name, dtype, shape in zip(call.outputs, call.dtypes, call.shapes, strict=True):
            over = None if self._is_result(name) else self._replaceable(index, call, dtype)
            if over is None:
                places.append(self._place(name, shape, dtype))
            else:
                self.owned.add(name)
                self.kinds[name] = (shape, dtype)
                self.buffer_of[name] = self.buffer_of.pop(over)
                places.append(InPlace(self.slots[over]))
        outputs = tuple(map(self._slot, call.outputs))
        return call.ufunc, True, inputs, outputs, tuple(map(_native_place, places)), self._released(index, call.inputs)

    def _is_result(self, name: str) -> bool:
        """Whether a root's memory is handed out."""
        return self.last_use.get(name) == math.inf

    def _place(self, name: str, shape: Shape, dtype: np.dtype) -> Fresh | Buffered:
        """Memory for a value that nobody needs: new for results, else a buffer of the size."""
        self.owned.add(name)
        self.kinds[name] = (shape, dtype)
        if self._is_result(name):
            return Fresh(shape, dtype)
        size = math.prod(shape) * dtype.itemsize
        spare = self.free.get(size)
        buffer = spare.pop() if spare else len(self.buffers)
        if buffer == len(self.buffers):
            self.buffers.append(size)
        self.buffer_of[name] = buffer
        view = (buffer, shape, dtype)
        return Buffered(self.views.setdefault(view, len(self.views)))

    def _replaceable(self, index: int, call: KernelCall, dtype: np.dtype) -> str | None:
        """An input in a buffer of its own whose last use this is, of the output's shape and type."""
        if call.over_rows:
            return None
        roots = [self.roots[name] for name in call.inputs]
        for name in call.inputs:
            if (
                self.last_use[self.roots[name]] == index
                and name in self.buffer_of
                and roots.count(name) == 1
                and self.kinds.get(name) == (call.shapes[0], dtype)
            ):
                return name
        return None

    def _call(self, index: int, call: FunctionCall) -> _Step:
        inputs = tuple(self.slots[name] for name in call.inputs)
        place = self._place(call.output, call.shape, call.dtype) if call.fills else None
        if not call.is_view:
            self.owned.add(call.output)
        output, released = self._slot(call.output), self._released(index, call.inputs)
        return _Function(call), False, inputs, (output,), (_native_place(place),), released
