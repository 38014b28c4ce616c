"""The plan of a run: what to call in which order, and in which memory every value lies.

A plan is made once for the shapes of the inputs, from the record of the first run. Values of kernels lie in
buffers that are reused when nobody needs a value any more; a kernel writes over one of its inputs where that
is the last use of it. Results get arrays of their own.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive.onnx.delivery import Destinations
from ogive.onnx.tracing import FunctionCall, KernelCall, Record, Shape, called

__all__ = ["Plan", "ShapesChanged", "make_plan", "separate"]

#: How many sets of buffers are kept for the next calls. More threads at once make more, and drop them.
IDLE_WORKSPACES = 4

#: Buffers begin at multiples of this: a line of the cache, and the widest register.
ALIGNMENT = 64


class ShapesChanged(Exception):
    """A function returned another shape than in the run that the plan was made from: another plan is due."""


@dataclass(frozen=True)
class Fresh:
    """A result: an array of its own."""

    value: str
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


@dataclass(frozen=True)
class Kernel:
    """A call of a ufunc: the slots of its inputs, those of its outputs, and where the outputs lie."""

    ufunc: np.ufunc
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    places: tuple[Place, ...]
    released: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A call of a function, which makes its own array or a view."""

    source: FunctionCall
    inputs: tuple[int, ...]
    output: int
    place: Place | None
    """What the function fills; None if it makes its own array, or a view."""
    released: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """A run, with every decision made."""

    calls: tuple[Kernel | Call, ...]
    start: tuple[Any, ...]
    """What is in each slot before a run: the constants, and nothing."""
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    is_own: tuple[bool, ...]
    """Whether a result is an array that nothing else uses."""
    buffers: tuple[int, ...]
    """The sizes of the buffers in bytes."""
    views: tuple[tuple[int, Shape, np.dtype], ...]
    """Of the buffers: (buffer, shape, type)."""
    idle: deque[list[np.ndarray]] = field(default_factory=lambda: deque(maxlen=IDLE_WORKSPACES))

    def run(self, inputs: Sequence[Any], destinations: Destinations | None = None) -> list[Any]:
        """The results for inputs of the plan's shapes, each in an array that nothing else uses.

        With destinations the results are handed over as they are: who gave these makes them separate.
        """
        values = list(self.start)
        for slot, value in zip(self.inputs, inputs, strict=True):
            values[slot] = value
        try:
            workspace = self.idle.pop()
        except IndexError:
            workspace = self._workspace()
        for call in self.calls:
            if isinstance(call, Kernel):
                self._run_kernel(call, values, workspace, destinations)
            else:
                self._run_function(call, values, workspace, destinations)
            for slot in call.released:
                values[slot] = None
        if destinations is not None:
            results = [values[slot] for slot in self.results]
        else:
            results = [
                separate(values[slot], is_own=is_own) for slot, is_own in zip(self.results, self.is_own, strict=True)
            ]
        self.idle.append(workspace)
        return results

    def _run_kernel(
        self, call: Kernel, values: list[Any], workspace: list[np.ndarray], destinations: Destinations | None
    ) -> None:
        targets = [_target(place, values, workspace, destinations) for place in call.places]
        if destinations is not None:
            destinations.compute(call.ufunc, [values[slot] for slot in call.inputs], targets)
        else:
            call.ufunc(*[values[slot] for slot in call.inputs], out=tuple(targets))
        for slot, target in zip(call.outputs, targets, strict=True):
            values[slot] = target

    def _run_function(
        self, call: Call, values: list[Any], workspace: list[np.ndarray], destinations: Destinations | None
    ) -> None:
        source, arrays = call.source, [values[slot] for slot in call.inputs]
        if call.place is not None and arrays[0].shape != source.shape:
            raise ShapesChanged
        out = None if call.place is None else _target(call.place, values, workspace, destinations)
        result = called(source.label, source.function, arrays, out)
        if result.shape != source.shape:
            raise ShapesChanged
        values[call.output] = result

    def _workspace(self) -> list[np.ndarray]:
        buffers = [_aligned_buffer(size) for size in self.buffers]
        return [
            buffers[buffer][: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
            for buffer, shape, dtype in self.views
        ]


def _target(
    place: Place, values: list[Any], workspace: list[np.ndarray], destinations: Destinations | None
) -> np.ndarray:
    """The array that a place stands for."""
    if isinstance(place, Buffered):
        return workspace[place.position]
    if isinstance(place, InPlace):
        target: np.ndarray = values[place.slot]
        return target
    given = None if destinations is None else destinations.array(place.value, place.shape, place.dtype)
    return np.empty(place.shape, place.dtype) if given is None else given


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


def make_plan(record: Record, inputs: Sequence[str], results: Sequence[str]) -> Plan:
    """The plan of the runs that do the same as the recorded one."""
    return _Planner(record, inputs, results).plan()


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

    def plan(self) -> Plan:
        for name in (*self.inputs, *self.record.fixed):
            self._slot(name)
        self._find_uses()
        calls = tuple(
            self._kernel(index, call) if isinstance(call, KernelCall) else self._call(index, call)
            for index, call in enumerate(self.record.calls)
        )
        start: list[Any] = [None] * len(self.slots)
        for name, array in self.record.fixed.items():
            start[self.slots[name]] = array
        roots = [self.roots[name] for name in self.results]
        return Plan(
            calls,
            tuple(start),
            tuple(self.slots[name] for name in self.inputs),
            tuple(self.slots[name] for name in self.results),
            tuple(root in self.owned and roots.count(root) == 1 for root in roots),
            tuple(self.buffers),
            tuple(self.views),
        )

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

    def _kernel(self, index: int, call: KernelCall) -> Kernel:
        inputs = tuple(self.slots[name] for name in call.inputs)
        places: list[Place] = []
        for name, dtype in zip(call.outputs, call.dtypes, strict=True):
            over = None if self._is_result(name) else self._replaceable(index, call, dtype)
            if over is None:
                places.append(self._place(name, call.shape, dtype))
            else:
                self.owned.add(name)
                self.kinds[name] = (call.shape, dtype)
                self.buffer_of[name] = self.buffer_of.pop(over)
                places.append(InPlace(self.slots[over]))
        outputs = tuple(map(self._slot, call.outputs))
        return Kernel(call.ufunc, inputs, outputs, tuple(places), self._released(index, call.inputs))

    def _is_result(self, name: str) -> bool:
        """Whether a root's memory is handed out."""
        return self.last_use.get(name) == math.inf

    def _place(self, name: str, shape: Shape, dtype: np.dtype) -> Fresh | Buffered:
        """Memory for a value that nobody needs: new for results, else a buffer of the size."""
        self.owned.add(name)
        self.kinds[name] = (shape, dtype)
        if self._is_result(name):
            return Fresh(name, shape, dtype)
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
        roots = [self.roots[name] for name in call.inputs]
        for name in call.inputs:
            if (
                self.last_use[self.roots[name]] == index
                and name in self.buffer_of
                and roots.count(name) == 1
                and self.kinds.get(name) == (call.shape, dtype)
            ):
                return name
        return None

    def _call(self, index: int, call: FunctionCall) -> Call:
        inputs = tuple(self.slots[name] for name in call.inputs)
        place = self._place(call.output, call.shape, call.dtype) if call.fills else None
        if not call.is_view:
            self.owned.add(call.output)
        return Call(call, inputs, self._slot(call.output), place, self._released(index, call.inputs))
