"""The plan of a run: what to call in which order, and in which memory every value lies.

A plan is made once for the shapes of the inputs, from the record of the first run. The engine says where values lie
that only kernels need. Results get arrays of their own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive._native import Plan, ShapesChanged
from ogive.engine.schedule import ALIGNMENT, Array, Task, Temporary, Workspace, schedule
from ogive.onnx.tracing import FunctionCall, KernelCall, Record, Shape, called

__all__ = ["Plan", "ShapesChanged", "make_plan", "separate"]


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
        self.kinds: dict[str, tuple[Shape, np.dtype]] = {}
        """Shape and type of the roots in memory that the plan gives them."""
        self.owned: set[str] = set()
        """Roots in memory that the run has made."""
        self.arrays: dict[Temporary, int] = {}
        """Temporary arrays, and which of the workspace each is."""

    def plan(self, given: Sequence[Any], is_flexible: bool, memory_limit: int) -> Plan:
        for name in (*self.inputs, *self.record.fixed):
            self._slot(name)
        self._find_roots()
        roots = [self.roots[name] for name in self.results]
        shape = self._shape_of_all(given) if is_flexible else None
        # In a plan for any shape, sizes are those of one element.
        tasks = [self._task(call, frozenset(roots), is_uniform=shape is not None) for call in self.record.calls]
        self.scheduled = schedule(tasks, 1 if shape else ALIGNMENT, roots)
        steps = tuple(map(self._step, self.record.calls, self.scheduled.ended))
        start: list[Any] = [None] * len(self.slots)
        for name, array in self.record.fixed.items():
            start[self.slots[name]] = array
        per_element = sum(d.itemsize for _, d in self.kinds.values())
        return Plan(
            steps=steps,
            start=tuple(start),
            inputs=tuple(self.slots[name] for name in self.inputs),
            input_kinds=tuple((v.dtype, v.shape) if isinstance(v, np.ndarray) else None for v in given),
            results=tuple(self.slots[name] for name in self.results),
            is_own=tuple(root in self.owned and roots.count(root) == 1 for root in roots),
            separate=_separated,
            make_workspace=Workspace(self.scheduled.size, tuple(self.arrays)),
            workspace_bytes=self.scheduled.size * math.prod(shape or ()),
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

    def _find_roots(self) -> None:
        self.roots = {name: name for name in self.slots}
        for call in self.record.calls:
            if isinstance(call, KernelCall):
                self.roots.update((name, name) for name in call.outputs)
                self.kinds.update(
                    (name, (shape, dtype))
                    for name, dtype, shape in zip(call.outputs, call.dtypes, call.shapes, strict=True)
                )
            else:
                self.roots[call.output] = self.roots[call.inputs[0]] if call.is_view else call.output
                if call.fills:
                    self.kinds[call.output] = (call.shape, call.dtype)

    def _task(self, call: KernelCall | FunctionCall, results: frozenset[str], *, is_uniform: bool) -> Task:
        """A call as the scheduler sees it. A value that is seen as another one has no form that a kernel could make."""
        reads = tuple((self.roots[name], self.kinds.get(name)) for name in call.inputs)
        made = []
        for name in _outputs(call):
            if name in self.kinds and name not in results:
                shape, dtype = self.kinds[name]
                count = 1 if is_uniform else math.prod(shape)
                made.append(Array(name, count * dtype.itemsize, self.kinds[name]))
        return Task(reads, tuple(made), isinstance(call, KernelCall) and not call.over_rows)

    def _step(self, call: KernelCall | FunctionCall, ended: frozenset[Hashable]) -> _Step:
        outputs = _outputs(call)
        self.owned.update(name for name in outputs if self.roots[name] == name)
        inputs = tuple(self.slots[name] for name in call.inputs)
        made = tuple(map(self._slot, outputs))
        released = tuple(
            self.slots[name]
            for name in dict.fromkeys(call.inputs)
            if self.roots[name] in ended and name not in self.record.fixed
        )
        is_kernel = isinstance(call, KernelCall)
        what = call.ufunc if isinstance(call, KernelCall) else _Function(call)
        return what, is_kernel, inputs, made, tuple(map(self._place, outputs)), released

    def _place(self, name: str) -> tuple[Any, ...]:
        """Where a value lies, as the native plan reads it: in the workspace, in a new array, or where a function put it."""
        if name not in self.kinds:
            return ("own",)
        shape, dtype = self.kinds[name]
        offset = self.scheduled.offsets.get(name)
        if offset is None:
            return ("fresh", shape, dtype)
        return ("buffer", self.arrays.setdefault(Temporary(offset, shape, dtype), len(self.arrays)))


def _outputs(call: KernelCall | FunctionCall) -> tuple[str, ...]:
    return call.outputs if isinstance(call, KernelCall) else (call.output,)
