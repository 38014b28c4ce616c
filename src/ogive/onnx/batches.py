"""The plans that serve other shapes: those of one shape for all values, and those for batches of any length.

In a plan for batches nothing but the first axis of arrays follows from the length. Values without that axis, such as a
scalar input and what is computed of it, are the same for every length.

The axes of every value are followed through the record of a run, as numbers or as the batch: what a kernel makes of the
batch and a number other than 1 is refused, and so is what is no longer the first axis. Views are tried with a batch of
another length.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ogive.engine.plan import Call
from ogive.errors import OgiveError
from ogive.onnx.tracing import Record, Shape

#: Views are tried with this many bytes of memory that nothing touches; longer batches get other plans.
TRIED = 1 << 28

Declared = Sequence[int | str | None] | None

#: The axes of a value: None is the batch.
Axes = tuple[int | None, ...]


class Batch:
    """The tensors that have any number of items: the inputs by their numbers, values by their names, and the most items."""

    def __init__(self, length: int, inputs: frozenset[int]) -> None:
        self.length = length
        self.inputs = inputs
        self.axes: dict[Hashable, Axes] = {}
        self.tried: dict[Hashable, list[np.ndarray]] = {}
        """Dummy arrays of other batch sizes, to test that a view does not depend on the size."""
        self.most = 1 << 62

    def holds(self, name: Hashable) -> bool:
        """Whether the value is a batch."""
        axes = self.axes[name]
        return bool(axes) and axes[0] is None

    def try_root(self, name: Hashable, call: Call) -> bool:
        """Make batches of other lengths that lie as the value that a call views."""
        assert call.layout is not None
        shape, strides, dtype = call.layout.source_shape, call.layout.source_strides, call.output.dtype
        order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
        back = [order.index(axis) for axis in range(len(shape))]
        item = max(math.prod(shape[1:]) * dtype.itemsize, 1)
        longest = max(self.length + 1, TRIED // item)
        self.tried[name] = []
        for length in (self.length + 1, longest, 1):  # an axis of one element may be removed
            sizes = length, *shape[1:]
            self.tried[name].append(np.empty([sizes[axis] for axis in order], dtype).transpose(back))
        self.most = min(self.most, longest)
        return all(tried.strides == strides for tried in self.tried[name])


def find_batch(
    record: Record, names: Sequence[str], given: Sequence[Any], declared: Sequence[Declared]
) -> Batch | None:
    """The batch of a run with these inputs; None if its plan is for this length alone."""
    batch = _of_inputs(given, declared)
    if batch is None or record.reads_shapes:
        return None
    for number, (name, value) in enumerate(zip(names, given, strict=True)):
        batch.axes[name] = _axes(value.shape, is_batch=number in batch.inputs)
    batch.axes.update((name, array.shape) for name, array in record.fixed.items())
    for call in record.calls:
        if not any(map(batch.holds, call.inputs)):  # nothing that it makes follows from the length
            batch.axes.update((output.name, output.shape) for output in call.outputs)
        elif not (_of_kernel(batch, call) if call.is_kernel else _of_view(batch, record, call)):
            return None
    return batch


def _axes(shape: Shape, *, is_batch: bool) -> Axes:
    return (None, *shape[1:]) if is_batch else shape


def _of_inputs(given: Sequence[Any], declared: Sequence[Declared]) -> Batch | None:
    """The inputs whose first axes the model declares to be of one length, which may be any."""
    if not all(isinstance(value, np.ndarray) for value in given):
        return None
    free = {
        number
        for number, (value, shape) in enumerate(zip(given, declared, strict=True))
        if value.ndim and (shape is None or shape[0] is None or isinstance(shape[0], str))
    }
    if not free:
        return None

    def name(number: int) -> object:
        shape = declared[number]
        return None if shape is None else shape[0]

    first = min(free)
    length = given[first].shape[0]
    chosen = frozenset(n for n in free if name(n) == name(first) and given[n].shape[0] == length)
    elsewhere = [
        size
        for n, shape in enumerate(declared)
        for size in (shape or ())[1 if n in chosen else 0 :]
        if size is not None
    ]
    # With one item, nothing tells apart what is repeated for every item of a batch.
    return None if length < 2 or name(first) in elsewhere else Batch(length, chosen)


def _of_kernel(batch: Batch, call: Call) -> bool:
    """Whether a kernel of a batch makes batches, whatever the length."""
    operands = [batch.axes[name] for name in call.inputs]
    rank = max(len(axes) for axes in operands)
    joined: list[int | None] = []
    for from_end in range(rank, 0, -1):
        sizes = {axes[-from_end] for axes in operands if len(axes) >= from_end}
        if None in sizes and not sizes <= {None, 1}:
            return False
        joined.append(None if None in sizes else max(size for size in sizes if size is not None))
    if joined[0] is not None or None in joined[1:] or (call.kind == "rows" and rank == 1):
        return False
    batch.axes.update((output.name, _axes(output.shape, is_batch=True)) for output in call.outputs)
    return all(len(output.shape) == rank for output in call.outputs)


def _of_view(batch: Batch, record: Record, call: Call) -> bool:
    """Whether a view of a batch is the same of every item, whatever the length."""
    if call.layout is None:
        return False
    source, *others = call.inputs
    name, shape, *_ = call.output
    if not batch.holds(source) or any(other not in record.fixed for other in others):
        return False
    if not shape or shape[0] != batch.length or not math.prod(shape):
        return False
    if source not in batch.tried and not batch.try_root(source, call):
        return False
    views = [_alike(call, tried, [record.fixed[other] for other in others]) for tried in batch.tried[source]]
    if any(view is None for view in views):
        return False
    batch.tried[name] = [view for view in views if view is not None]
    batch.axes[name] = _axes(shape, is_batch=True)
    return True


def _alike(call: Call, tried: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray | None:
    """The view of a batch of another length, if its items are seen as those of the recorded one."""
    assert call.layout is not None
    try:
        view: np.ndarray = call.function(tried, *others)
    except OgiveError:
        return None
    is_alike = (
        np.may_share_memory(view, tried)
        and view.shape == (len(tried), *call.output.shape[1:])
        and view.strides[1:] == call.layout.strides[1:]
        and view.strides[0] == tried.strides[0] == call.layout.strides[0]
        and view.ctypes.data - tried.ctypes.data == call.layout.offset
    )
    return view if is_alike else None


def shape_of_all(record: Record, given: Sequence[Any], results: Sequence[str]) -> Shape | None:
    """The one shape that all values of the run have, but for constants of one element; None if they differ."""
    shapes = {value.shape if isinstance(value, np.ndarray) else None for value in given}
    shape = shapes.pop() if len(shapes) == 1 else None
    if not shape or not math.prod(shape):
        return None
    fixed = record.fixed
    for call in record.calls:
        if call.kind != "elements" or call.output.shape != shape:
            return None
        read = [fixed[name] for name in call.inputs if name in fixed]
        if any(array.size != 1 or array.ndim > len(shape) for array in read):
            return None
    return None if any(name in fixed for name in results) else shape
