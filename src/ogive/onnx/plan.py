"""The plan of a run: what to call in which order, and in which memory every value lies.

A plan is made once for the shapes of the inputs, from the record of the first run. The engine says where values lie
that only kernels need. Results get arrays of their own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ogive._native import Plan, ShapesChanged
from ogive.engine.native_plan import Buffers, Step, separated
from ogive.engine.schedule import ALIGNMENT, Array, BatchWorkspace, Task, Temporary, Workspace, schedule
from ogive.onnx.batches import Batch, Declared, find_batch
from ogive.onnx.tracing import FunctionCall, KernelCall, Record, Shape, called

__all__ = ["Plan", "ShapesChanged", "make_plan"]


@dataclass(frozen=True)
class _Views:
    """Functions that see one array in another way, one after the other: for sources of another layout than recorded."""

    calls: tuple[tuple[FunctionCall, tuple[np.ndarray, ...]], ...]
    """Each with its other operands."""

    def __call__(self, arrays: tuple[Any, ...], out: None) -> np.ndarray:
        array: np.ndarray = arrays[0]
        for call, others in self.calls:
            array = called(call.label, call.function, (array, *others))
            if array.shape[1:] != call.shape[1:]:  # a batch may have another length
                raise ShapesChanged
        return array


class _Seen(NamedTuple):
    """How a value lies in the memory of another: of `root`, which no view is of."""

    root: str
    offset: int
    strides: tuple[int, ...]
    source_shape: Shape
    source_strides: tuple[int, ...]
    calls: tuple[tuple[FunctionCall, tuple[np.ndarray, ...]], ...]


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


def make_plan(
    record: Record,
    inputs: Sequence[str],
    results: Sequence[str],
    given: Sequence[Any],
    *,
    is_flexible: bool = False,
    declared: Sequence[Declared] | None = None,
    memory_limit: int = sys.maxsize,
) -> Plan:
    """The plan of the runs that do the same as the recorded one.

    ``given`` are the inputs of that run. If the model ``is_flexible`` (it declares nothing that other shapes would
    contradict) and all values had one shape, the plan is for any shape of so many axes. If what the model declares
    allows batches of any length, and nothing but first axes follows from that, it is for these. ``declared`` are the
    shapes of the inputs; None: nothing is known of them.
    """
    return _Planner(record, inputs, results).plan(given, is_flexible, declared, memory_limit)


class _Planner:
    def __init__(self, record: Record, inputs: Sequence[str], results: Sequence[str]) -> None:
        self.record, self.inputs, self.results = record, inputs, results
        self.slots: dict[str, int] = {}
        self.roots: dict[str, str] = {}
        """For each value the one whose memory it may lie in."""
        self.kinds: dict[str, tuple[Shape, np.dtype, tuple[int, ...] | None]] = {}
        """Shape, type and strides (None: C order) of the roots in memory that the plan gives them."""
        self.owned: set[str] = set()
        """Roots in memory that the run has made."""
        self.seen: dict[str, _Seen] = {}
        """Values that are views of others, which the native plan makes by itself."""
        self.batch: Batch | None = None
        self.buffers = Buffers()

    def plan(
        self, given: Sequence[Any], is_flexible: bool, declared: Sequence[Declared] | None, memory_limit: int
    ) -> Plan:
        for name in (*self.inputs, *self.record.fixed):
            self._slot(name)
        self._find_roots()
        roots = [self.roots[name] for name in self.results]
        shape = self._shape_of_all(given) if is_flexible else None
        if shape is None and declared is not None:
            self.batch = find_batch(self.record, self.inputs, given, declared)
        # In a plan for any shape, sizes are those of one element; in one for batches, of one item.
        tasks = [self._task(call, frozenset(roots), is_uniform=shape is not None) for call in self.record.calls]
        self.scheduled = schedule(tasks, 1 if shape else ALIGNMENT, roots)
        calls = self.record.calls
        read = {*self.results, *(name for call in calls if not self._is_seen(call) for name in call.inputs)}
        steps = tuple(
            self._step(call, ended)
            for call, ended in zip(calls, self.scheduled.ended, strict=True)
            if not self._is_seen(call)
            or not read.isdisjoint(_outputs(call))  # of a view of a view only the last is made
        )
        start: list[Any] = [None] * len(self.slots)
        for name, array in self.record.fixed.items():
            start[self.slots[name]] = array
        if self.batch is None:
            per_element = sum(dtype.itemsize for _, dtype, _ in self.kinds.values())
        else:
            per_element = sum(math.prod(shape[1:]) * dtype.itemsize for shape, dtype, _ in self.kinds.values())
        most = memory_limit // max(per_element, 1)
        kind_of_workspace = Workspace if self.batch is None else BatchWorkspace
        return Plan(
            steps=steps,
            start=tuple(start),
            inputs=tuple(self.slots[name] for name in self.inputs),
            input_kinds=tuple(
                (value.dtype, self._sizes(name, value.shape)) if isinstance(value, np.ndarray) else None
                for name, value in zip(self.inputs, given, strict=True)
            ),
            results=tuple(self.slots[name] for name in self.results),
            is_own=tuple(root in self.owned and roots.count(root) == 1 for root in roots),
            separate=separated,
            make_workspace=kind_of_workspace(self.scheduled.size, self.buffers.arrays),
            workspace_bytes=self.scheduled.size * (math.prod(shape or ()) if self.batch is None else self.batch.length),
            uniform=shape is not None,
            most_elements=most if self.batch is None else min(most, self.batch.most),
        )

    def _sizes(self, name: str, shape: Shape) -> tuple[int | None, ...]:
        """The shape of a value, as the native plan reads it: None for the length of the batch."""
        return shape if self.batch is None or not self.batch.holds(name) else (None, *shape[1:])

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

    def _find_roots(self) -> None:
        self.roots = {name: name for name in self.slots}
        for call in self.record.calls:
            if isinstance(call, KernelCall):
                self.roots.update((name, name) for name in call.outputs)
                self.kinds.update(
                    (name, (shape, dtype, strides))
                    for name, dtype, shape, strides in zip(
                        call.outputs, call.dtypes, call.shapes, call.strides, strict=True
                    )
                )
            else:
                self.roots[call.output] = (
                    self.roots[call.inputs[0]] if call.is_view and not _copies(call) else call.output
                )
                if call.fills or _copies(call):
                    self.kinds[call.output] = (call.shape, call.dtype, None)
                elif call.is_view:
                    self._find_seen(call)

    def _find_seen(self, call: FunctionCall) -> None:
        """Where a view lies in the memory of a value that is none."""
        source, *others = call.inputs
        fixed, seen = self.record.fixed, call.seen
        if seen is None or any(name not in fixed for name in others):
            return
        this = (call, tuple(fixed[name] for name in others))
        before = self.seen.get(source)
        if before is not None:  # source shape and strides are those that the view before it has
            self.seen[call.output] = before._replace(
                offset=before.offset + seen.offset, strides=seen.strides, calls=(*before.calls, this)
            )
        else:
            self.seen[call.output] = _Seen(source, *seen, (this,))

    def _task(self, call: KernelCall | FunctionCall, results: frozenset[str], *, is_uniform: bool) -> Task:
        """A call as the scheduler sees it. A value that is seen as another one has no form that a kernel could make."""
        reads = tuple((self.roots[name], self.kinds.get(name)) for name in call.inputs)
        made = []
        for name in _outputs(call):
            if name in self.kinds and name not in results:
                shape, dtype, _ = self.kinds[name]
                count = 1 if is_uniform else math.prod(shape if self.batch is None else shape[1:])
                made.append(Array(name, count * dtype.itemsize, self.kinds[name]))
        return Task(reads, tuple(made), isinstance(call, KernelCall) and not call.over_rows)

    def _step(self, call: KernelCall | FunctionCall, ended: frozenset[Hashable]) -> Step:
        outputs = _outputs(call)
        self.owned.update(name for name in outputs if self.roots[name] == name)
        made = tuple(map(self._slot, outputs))
        released = tuple(
            self.slots[name]
            for name in dict.fromkeys(call.inputs)
            if self.roots[name] in ended and name not in self.record.fixed and name in self.slots
        )
        is_kernel = isinstance(call, KernelCall)
        if isinstance(call, FunctionCall):
            seen = self.seen.get(call.output)
            if seen is not None:
                return self._view(call, seen, made, released)
            if _copies(call):
                source = (self.slots[call.inputs[0]],)
                return None, False, source, made, tuple(map(self._place, outputs)), released
        inputs = tuple(self.slots[name] for name in call.inputs)
        what = call.ufunc if isinstance(call, KernelCall) else _Function(call)
        return what, is_kernel, inputs, made, tuple(map(self._place, outputs)), released

    def _is_seen(self, call: KernelCall | FunctionCall) -> bool:
        return _outputs(call)[0] in self.seen

    def _view(self, call: FunctionCall, seen: _Seen, made: tuple[int, ...], released: tuple[int, ...]) -> Step:
        """A view: of the workspace it is an array of that, of other memory it is made when it is needed."""
        offset = self.scheduled.offsets.get(seen.root)
        if offset is not None:
            temporary = Temporary(offset, call.shape, call.dtype, seen.strides, seen.offset)
            return None, False, (), made, (self.buffers.place(temporary),), released
        source_shape = self._sizes(seen.root, seen.source_shape)
        shape = self._sizes(call.output, call.shape)
        place = ("view", shape, seen.strides, seen.offset, source_shape, seen.source_strides)
        return _Views(seen.calls), False, (self.slots[seen.root],), made, (place,), released

    def _place(self, name: str) -> tuple[Any, ...]:
        """Where a value lies, as the native plan reads it: in the workspace, in a new array, or where a function put it."""
        if name not in self.kinds:
            return ("own",)
        shape, dtype, strides = self.kinds[name]
        offset = self.scheduled.offsets.get(name)
        if offset is None:
            sizes = self._sizes(name, shape)
            return ("fresh", sizes, dtype) if strides is None else ("fresh", sizes, dtype, strides)
        return self.buffers.place(Temporary(offset, shape, dtype, strides))


def _outputs(call: KernelCall | FunctionCall) -> tuple[str, ...]:
    return call.outputs if isinstance(call, KernelCall) else (call.output,)


def _copies(call: FunctionCall | KernelCall) -> bool:
    """Whether a call only moves the elements of its first operand to other memory, in their order."""
    return isinstance(call, FunctionCall) and call.keeps_order and call.seen is None
