"""Plans: calls of kernels and functions in an order, and in which memory every array lies, for native code.

A front end describes a run as calls over named arrays. Some know the calls beforehand (executable.py, directml/graph_plan.py),
others from a first run (onnx/tracing.py). The schedule places arrays that only calls need. Results get arrays of their own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from ogive._native import Plan, ShapesChanged
from ogive.engine.fusion import FusionGroup
from ogive.engine.rows import RowFormula
from ogive.engine.schedule import ALIGNMENT, Array, BatchWorkspace, Task, Temporary, Workspace, schedule

__all__ = [
    "Call",
    "Kind",
    "Length",
    "Output",
    "Plan",
    "RowsAlong",
    "ShapesChanged",
    "ViewLayout",
    "make_plan",
    "separate",
]

Shape = tuple[int, ...]


class Output(NamedTuple):
    """An array that a call makes."""

    name: Hashable
    shape: Shape
    dtype: np.dtype
    strides: tuple[int, ...] | None = None
    """None: C order."""


class ViewLayout(NamedTuple):
    """How a view lies in the memory of its source, for sources of one layout."""

    offset: int
    strides: tuple[int, ...]
    source_shape: Shape
    source_strides: tuple[int, ...]
    dtype: np.dtype | None = None
    """The type of the view, of the size of the source's. None: it is the source's."""


#: ``elements`` and ``rows`` are kernels. Others are functions of whole arrays: one that fills an array it gets as ``out``,
#: a copy of the first operand's elements in their order, a view that may share memory with the first operand, and one
#: that returns an array of its own.
Kind = Literal["elements", "rows", "filling", "copy", "view", "own"]


@dataclass(frozen=True)
class RowsAlong:
    """A function over rows along some axes, as devices compute it: with these axes last, as one."""

    computation: RowFormula
    function: Callable[..., Any]
    """The same of arrays whose rows lie along the last axis."""
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A function that makes arrays of other arrays."""

    kind: Kind
    function: Callable[..., Any]
    """The ufunc of a kernel, or a function of arrays."""
    inputs: tuple[Hashable, ...]
    outputs: tuple[Output, ...]
    layout: ViewLayout | None = None
    """The layout of a view. None: it is not known, or the function made a copy."""
    group: FusionGroup | None = None
    """The nodes that a kernel computes."""
    moved: tuple[Hashable, ...] = ()
    """The operands whose elements a function moves, changing none; it may put zeros beside them."""
    along: RowsAlong | None = None
    """The axis of a function over rows."""
    label: str = ""
    """The node, as sentences name it."""

    @property
    def is_kernel(self) -> bool:
        return self.kind in ("elements", "rows")

    @property
    def output(self) -> Output:
        """The array that a function makes."""
        return self.outputs[0]


class Length(Protocol):
    """First axes of one length, which may be any."""

    length: int
    most: int

    def holds(self, name: Any) -> bool:
        """Whether the first axis of an array is one."""


def make_plan(
    calls: Sequence[Call],
    fixed: Mapping[Any, np.ndarray],
    inputs: Mapping[Any, tuple[np.dtype, Shape] | None],
    results: Sequence[Hashable],
    *,
    uniform: Shape | None = None,
    batch: Length | None = None,
    memory_limit: int = sys.maxsize,
) -> Plan:
    """The plan of these calls, with ``fixed`` arrays, for inputs of these types and shapes (None: no array).

    The plan serves any shape of so many axes if every array has the shape ``uniform``, and any length of a ``batch``.
    """
    return _Planner(calls, fixed, inputs, results, uniform, batch).plan(memory_limit)


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


# ---- what native plans are made of

#: (what is called, whether it is a kernel, slots of the inputs, of the outputs, where these lie, slots that become free)
_Step = tuple[Any, bool, tuple[int, ...], tuple[int, ...], tuple[tuple[Any, ...], ...], tuple[int, ...]]


def _separated(value: Any, is_own: int) -> Any:
    return separate(value, is_own=bool(is_own))


_ViewCalls = tuple[tuple[Call, tuple[np.ndarray, ...]], ...]
"""Views of views, the first one first, each with its other operands."""


@dataclass(frozen=True)
class _Views:
    """Views one after the other, by their functions: for a source of another layout than the known one."""

    calls: _ViewCalls

    def __call__(self, arrays: tuple[Any, ...], out: None) -> np.ndarray:
        array: np.ndarray = arrays[0]
        for call, others in self.calls:
            array = call.function(array, *others)
            if array.shape[1:] != call.output.shape[1:]:  # a batch may have another length
                raise ShapesChanged
        return array


@dataclass(frozen=True)
class _PlanFunction:
    """A function, which must give the known shape."""

    function: Callable[..., Any]
    shape: Shape

    def __call__(self, arrays: tuple[Any, ...], out: np.ndarray | None) -> np.ndarray:
        if out is None:
            result: np.ndarray = self.function(*arrays)
        elif arrays and arrays[0].shape != self.shape:
            raise ShapesChanged
        else:
            self.function(*arrays, out=out)
            result = out
        if result.shape != self.shape:
            raise ShapesChanged
        return result


class _ViewOfRoot(NamedTuple):
    """How a value lies in the memory of ``root``, which is no view."""

    root: Hashable
    layout: ViewLayout
    calls: _ViewCalls


class _Planner:
    def __init__(
        self,
        calls: Sequence[Call],
        fixed: Mapping[Any, np.ndarray],
        inputs: Mapping[Any, tuple[np.dtype, Shape] | None],
        results: Sequence[Hashable],
        uniform: Shape | None,
        batch: Length | None,
    ) -> None:
        self.calls, self.fixed, self.inputs, self.results = calls, fixed, inputs, results
        self.uniform, self.batch = uniform, batch
        self.slots: dict[Hashable, int] = {name: number for number, name in enumerate(inputs)}
        self.start: list[Any] = [None] * len(inputs)
        self.roots: dict[Hashable, Hashable] = {}
        """For each view the value whose memory it may lie in."""
        self.placed: dict[Hashable, Output] = {}
        """The arrays that lie in memory of the plan."""
        self.views: dict[Hashable, _ViewOfRoot] = {}
        """The views that the native plan makes without their functions."""
        self.buffers: dict[Temporary, int] = {}
        """The arrays of the workspace with their numbers, each once."""
        for call in calls:
            if call.kind == "view":
                self.roots[call.output.name] = self._root(call.inputs[0])
                self._add_view(call)
            elif call.kind != "own":
                self.placed.update((output.name, output) for output in call.outputs)

    def plan(self, memory_limit: int) -> Plan:
        roots = [self._root(name) for name in self.results]
        # In a plan for any shape, sizes are those of one element; in one for batches, of one item.
        tasks = [self._task(call, frozenset(roots)) for call in self.calls]
        self.scheduled = schedule(tasks, ALIGNMENT if self.uniform is None else 1, roots)
        read = {*self.results, *(name for call in self.calls if not self._is_view(call) for name in call.inputs)}
        steps = tuple(
            self._step(call, ended)
            for call, ended in zip(self.calls, self.scheduled.ended, strict=True)
            if not self._is_view(call) or call.output.name in read  # of a view of a view only the last is made
        )
        counted_arrays = [*self.placed.values(), *self._copied(roots)]
        lasting = sum(self._size(output) for output in counted_arrays if self._is_of_one_size(output.name))
        growing = sum(map(self._size, counted_arrays)) - lasting
        most = max(memory_limit - lasting, 0) // max(growing, 1)
        make_workspace = Workspace if self.batch is None else BatchWorkspace
        counted = (self.batch.length,) if self.batch else self.uniform or ()
        owned = {output.name for call in self.calls if call.kind != "view" for output in call.outputs}
        return Plan(
            steps=steps,
            results=tuple(map(self._slot, self.results)),
            start=tuple(self.start),
            inputs=tuple(range(len(self.inputs))),
            input_kinds=tuple(kind and (kind[0], self._sizes(name, kind[1])) for name, kind in self.inputs.items()),
            is_own=tuple(root in owned and roots.count(root) == 1 for root in roots),
            separate=_separated,
            make_workspace=make_workspace(self.scheduled.size, tuple(self.buffers)),
            workspace_bytes=self.scheduled.size * math.prod(counted),
            uniform=self.uniform is not None,
            most_elements=min(most, self.batch.most) if self.batch else most,
        )

    def _copied(self, roots: Sequence[Hashable]) -> list[Output]:
        """The results that are copies: of inputs, of views, and of values that are several results."""
        made = {output.name: output for call in self.calls for output in call.outputs}
        made.update((name, Output(name, kind[1], kind[0])) for name, kind in self.inputs.items() if kind is not None)
        return [
            made[name]
            for name, root in zip(self.results, roots, strict=True)
            if name in made and (name not in self.placed or roots.count(root) > 1)
        ]

    def _root(self, name: Hashable) -> Hashable:
        return self.roots.get(name, name)

    def _is_view(self, call: Call) -> bool:
        return call.output.name in self.views

    def _add_view(self, call: Call) -> None:
        source, *others = call.inputs
        layout = call.layout
        if layout is None or any(name not in self.fixed for name in others):
            return
        before = self.views.get(source)
        earlier: _ViewCalls = ()
        if before is not None:  # the layout of its source is that of the view before
            source, earlier = before.root, before.calls
            offset, dtype = before.layout.offset + layout.offset, layout.dtype or before.layout.dtype
            layout = before.layout._replace(offset=offset, strides=layout.strides, dtype=dtype)
        views = (*earlier, (call, tuple(self.fixed[name] for name in others)))
        self.views[call.output.name] = _ViewOfRoot(source, layout, views)

    def _task(self, call: Call, results: frozenset[Hashable]) -> Task:
        """A call as the scheduler sees it. A value that is read through a view has no form that a kernel could write."""
        reads = tuple((self._root(name), self._form(name)) for name in call.inputs)
        temporary = (
            output
            for output in call.outputs
            if output.name in self.placed and output.name not in results and not self._is_of_one_size(output.name)
        )
        arrays = tuple(Array(output.name, self._size(output), self._form(output.name)) for output in temporary)
        return Task(reads, arrays, call.kind == "elements")

    def _form(self, name: Hashable) -> Hashable:
        output = self.placed.get(name)
        return None if output is None else output[1:]

    def _size(self, output: Output) -> int:
        """The bytes of an array: of one element in a plan for any shape, of one item of a batch."""
        itemsize = output.dtype.itemsize
        if self.uniform is not None:
            return itemsize
        if self.batch is not None and self.batch.holds(output.name):
            return itemsize * math.prod(output.shape[1:])
        if output.strides is None or 0 in output.shape:
            return itemsize * math.prod(output.shape)
        # Elements may lie apart.
        return itemsize + sum((n - 1) * stride for n, stride in zip(output.shape, output.strides, strict=True))

    def _is_of_one_size(self, name: Hashable) -> bool:
        """Whether a value has the same size for all batches; the workspace grows with them and does not hold it."""
        return self.batch is not None and not self.batch.holds(name)

    def _step(self, call: Call, ended: frozenset[Hashable]) -> _Step:
        is_view = self._is_view(call)
        inputs = () if is_view else tuple(map(self._slot, call.inputs))
        outputs = tuple(self._slot(output.name) for output in call.outputs)
        released = tuple(
            self.slots[name]
            for name in dict.fromkeys(call.inputs)
            if self._root(name) in ended and name in self.slots and name not in self.fixed
        )
        if is_view:
            return self._view(call, self.views[call.output.name], outputs, released)
        places = tuple(map(self._place, call.outputs))
        if call.kind == "copy":
            return None, False, inputs[:1], outputs, places, released
        what = call.function if call.is_kernel else _PlanFunction(call.function, call.output.shape)
        return what, call.is_kernel, inputs, outputs, places, released

    def _view(self, call: Call, view: _ViewOfRoot, outputs: tuple[int, ...], released: tuple[int, ...]) -> _Step:
        """A view: of the workspace it is an array of that, of other memory it is made when it is needed."""
        name, shape, dtype, _ = call.output
        layout = view.layout
        offset = self.scheduled.offsets.get(view.root)
        if offset is not None:
            place = self._buffer(Temporary(offset, shape, dtype, layout.strides, layout.offset))
            return None, False, (), outputs, (place,), released
        source_shape = self._sizes(view.root, layout.source_shape)
        sizes = self._sizes(name, shape)
        lies = ("view", sizes, layout.strides, layout.offset, source_shape, layout.source_strides)
        place = lies if layout.dtype is None else (*lies, layout.dtype)
        return _Views(view.calls), False, (self._slot(view.root),), outputs, (place,), released

    def _place(self, output: Output) -> tuple[Any, ...]:
        """The place of an array, as the native plan reads it: the workspace, a new array, or a function's result."""
        name, shape, dtype, strides = output
        if name not in self.placed:
            return ("own",)
        offset = self.scheduled.offsets.get(name)
        if offset is not None:
            return self._buffer(Temporary(offset, shape, dtype, strides))
        fresh = ("fresh", self._sizes(name, shape), dtype)
        return fresh if strides is None else (*fresh, strides)

    def _buffer(self, array: Temporary) -> tuple[Any, ...]:
        return "buffer", self.buffers.setdefault(array, len(self.buffers))

    def _sizes(self, name: Hashable, shape: Shape) -> tuple[int | None, ...]:
        """The shape of a value, as the native plan reads it: None for the length of the batch."""
        return shape if self.batch is None or not self.batch.holds(name) else (None, *shape[1:])

    def _slot(self, name: Hashable) -> int:
        if name not in self.slots:
            self.slots[name] = len(self.start)
            self.start.append(self.fixed.get(name))
        return self.slots[name]
