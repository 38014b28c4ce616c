"""The first run of a graph on inputs of certain shapes: it computes the results, and records how.

Element-wise steps wait until a function needs one of their values, or the end is reached; by then the shapes
are known, and what waits together becomes groups. The engine makes a plan of the record.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ogive import _native
from ogive.engine.fusion import FusionGroup, fused
from ogive.engine.graph import Graph
from ogive.engine.plan import Call, Kind, Output, ViewLayout
from ogive.engine.row_fusion import RowFusionGroup, fused_rows
from ogive.errors import ModelError, ShapeError, UnsupportedError, message
from ogive.onnx.broadcasting import broadcast_shape
from ogive.onnx.checked_graph import CheckedStep
from ogive.onnx.delivery import Destinations
from ogive.onnx.node_computation import ArrangedRows, ElementwiseNode, NodeFunction, RowWiseNode
from ogive.onnx.outline import Outline, as_node

Shape = tuple[int, ...]

#: Values that follow from shapes and constants alone are kept up to this size, instead of computed again.
LARGEST_KEPT = 1 << 16


@dataclass
class Record:
    """The steps of a run, in order."""

    calls: list[Call] = field(default_factory=list)
    fixed: dict[Any, np.ndarray] = field(default_factory=dict)
    """Values that are the same in every run with inputs of these shapes."""
    reads_shapes: bool = False
    """Whether some of them follow from the shapes."""
    bytes: int = 0
    """The bytes of the arrays that are there at the end: those of the results."""


def trace(
    outline: Outline,
    inputs: dict[str, Any],
    memory_limit: int,
    destinations: Destinations | None = None,
    *,
    computes: bool = True,
) -> tuple[list[Any], Record]:
    """Run, and record: the results, which may share memory with each other and with the inputs, and the record.

    Without ``computes`` it records alone, what a device will compute: values that follow from inputs are zeros then, and what
    devices cannot do is refused.
    """
    return _Trace(outline, inputs, memory_limit, destinations, computes).run()


class Room(NamedTuple):
    """The memory that a function's arrays may take: of the limit so much is in use."""

    limit: int
    used: int


class _TooLarge(Exception):
    """An array beyond the room; its bytes."""


def within(label: str, room: Room, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function whose arrays fit the room. Raises ModelError before memory beyond it is taken."""
    try:
        return _native.call_within(room.limit - room.used, _TooLarge, function, *arguments)
    except _TooLarge as error:
        what = f"it needs an array of {error} bytes beside the {room.used} that the arrays of this run have"
        raise ModelError(message(label, what, f"{room.limit}, the memory limit")) from None


def _called(
    label: str,
    room: Room,
    function: Callable[..., np.ndarray | None],
    *arrays: Any,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Call a function of a node, which fills ``out`` if that is given; its errors say which node it was.

    Arrays beyond the room are refused before their memory is taken: results, and what a function needs beside them.
    """
    try:
        with np.errstate(all="ignore"):
            if out is None:
                return np.asarray(within(label, room, function, *arrays))
            within(label, room, partial(function, out=out), *arrays)
            return out
    except (ShapeError, UnsupportedError) as error:
        raise type(error)(_of_node(label, error)) from error
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        raise ModelError(_of_node(label, error)) from error


def _of_node(label: str, error: Exception) -> str:
    """The sentence of an error, with the node once: rules of shapes say it already."""
    text = str(error) or "there is no memory for it"  # Python's own MemoryError says nothing
    return text if text.startswith(f"{label}: ") else f"{label}: {text}"


class _Trace:
    def __init__(
        self,
        outline: Outline,
        inputs: dict[str, Any],
        memory_limit: int,
        destinations: Destinations | None,
        computes: bool,
    ) -> None:
        self.computes = computes
        self.outline = outline
        self.memory_limit = memory_limit
        self.destinations = destinations
        self.record = Record(fixed=dict(outline.arrays))
        self.values: dict[str, Any] = {**outline.arrays, **inputs}
        self.types = dict(outline.types)
        self.shapes = {name: value.shape for name, value in self.values.items() if isinstance(value, np.ndarray)}
        self.waiting: dict[str, CheckedStep] = {}
        self.deferred: dict[str, CheckedStep] = {}
        """Views of rows that nothing has needed yet."""
        self.orders: dict[str, tuple[int, ...]] = {}
        """For values whose array lies in another order in memory: its axes, as they follow from those of that."""
        self.uses = {value: len(users) for value, users in outline.consumers.items()}
        self.roots: dict[str, str] = {}
        """For each value that this run has made the one in whose memory it lies: its own, or that of another."""
        self.holders: Counter[str] = Counter()
        """How many values lie in a root's memory and are still needed."""
        self.sizes: dict[str, int] = {}
        """The bytes of the roots that are still needed."""
        self.bytes = 0

    def run(self) -> tuple[list[Any], Record]:
        for given in self.outline.steps:
            for step in self._placed(given):
                if isinstance(step.made, ElementwiseNode):
                    self._wait(step, step.made)
                elif isinstance(step.made, RowWiseNode):
                    self._wait_for_rows(step, step.made)
                elif step.output in self.deferred:
                    continue
                else:
                    self._call(step, step.made)
        self._compute(self.outline.results)
        self.record.bytes = self.bytes
        return [self.values[name] for name in self.outline.results], self.record

    # ---- steps that wait

    def _placed(self, step: CheckedStep) -> list[CheckedStep]:
        """The step; a function of rows as a row-wise step, between views if rows do not lie along the last axis."""
        made, fixed = step.made, self.record.fixed
        if not self.outline.fuse or not isinstance(made, ArrangedRows):
            return [step]
        own = made.row_wise.operands
        first, *beside = own
        others = made.operands[len(own) :]
        shape = self.shapes[first]
        if not math.prod(shape) or any(value not in fixed for value in others):
            return [step]
        try:
            arranged = made.arrange([self.shapes[value] for value in own], [fixed[value] for value in others])
        except ShapeError:  # the function says what is wrong
            arranged = None
        if arranged is None:
            return [step]
        turned, seen = arranged.turned(shape), arranged.as_rows(shape)
        *lead, row = seen
        longest = made.row_wise.computation.longest
        is_too_long = longest is not None and row > longest  # the function says so
        if is_too_long or (self.destinations is not None and seen != shape):
            return [step]
        reduces = made.row_wise.computation.reduces
        if arranged.row_axes == 1 and row > 1 and arranged.split is None:  # the engine has rows along any axis
            sides = ((value, sizes or (1,)) for value, sizes in zip(beside, arranged.beside, strict=True))
            aligned = [self._beside(step, value, sizes) for value, sizes in sides]
            along = replace(made.row_wise, operands=(first, *aligned), axis=arranged.axis)
            if along.shape(shape) == arranged.result:
                return [replace(step, made=along)]
            name = self._computed_name(step)
            self._seen_as(step, name, "", arranged.result, _reshaping(arranged.result))
            return [replace(step, output=name, made=along)]
        rows = first
        if not arranged.is_in_order:
            rows = self._seen_as(step, rows, "turned", turned, partial(np.transpose, axes=arranged.order))
        if seen != turned or arranged.split is not None:
            rows = self._seen_as(step, rows, "rows", seen, _reshaping(seen))
        aligned = [
            self._beside(step, value, sizes, partial(arranged.rows_beside, position, shape))
            for position, (value, sizes) in enumerate(zip(beside, arranged.beside, strict=True))
        ]
        computed = (*lead, 1) if reduces else seen
        is_turned_back = not (reduces or arranged.is_in_order)
        name = step.output if computed == arranged.result and not is_turned_back else self._computed_name(step)
        made_of_rows = replace(step, output=name, made=replace(made.row_wise, operands=(rows, *aligned)))
        if is_turned_back:
            name = self._seen_as(step, name, "apart", turned, _reshaping(turned))
            self._seen_as(step, name, "", arranged.result, partial(np.transpose, axes=arranged.back))
        elif name != step.output:
            self._seen_as(step, name, "", arranged.result, _reshaping(arranged.result))
        return [made_of_rows]

    def _computed_name(self, step: CheckedStep) -> str:
        """A name for what rows compute, where the step's output is a view of it."""
        name = f"{step.output}\0computed"
        self.uses[name] = 1
        self.types[name] = self.types[step.output]
        return name

    def _beside(
        self, step: CheckedStep, value: str, sizes: Shape, function: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> str:
        """A further operand of rows as they need it: in this shape, or what the function makes of it."""
        if function is None and self.shapes[value] == sizes:
            return value
        name = f"{value}\0{step.output}"  # loading refuses names with such a character
        if name in self.types:
            return name
        self._compute([value])
        self.types[name] = self.types[value]
        call = _reshaping(sizes) if function is None else function
        array = self._called(step.label, call, self.values[value])
        is_view = bool(np.may_share_memory(array, self.values[value]))
        made = NodeFunction((value,), call, "", is_view=is_view, keeps_order=function is None, moved=(value,))
        self._keep(step.label, made, name, array)
        return name

    def _seen_as(self, step: CheckedStep, value: str, what: str, shape: Shape, function: partial[np.ndarray]) -> str:
        """A view of a value, made when something needs it; without a name for ``what`` it is, the step's output."""
        name = f"{step.output}\0{what}" if what else step.output
        keeps_order = function.func is np.reshape
        made = NodeFunction((value,), function, "", is_view=True, keeps_order=keeps_order, moved=(value,))
        self.deferred[name] = replace(step, output=name, made=made)
        self.shapes[name] = shape
        if what:
            self.uses[name] = 1
            self.types[name] = self.types[value]
        return name

    def _wait_for_rows(self, step: CheckedStep, made: RowWiseNode) -> None:
        shape = made.shape(self.shapes[made.operands[0]])
        self._check_size(step.label, shape, made.result.itemsize, is_new=False)
        self.shapes[step.output] = shape
        self.waiting[step.output] = step

    def _wait(self, step: CheckedStep, made: ElementwiseNode) -> None:
        """Find the shape of the value; what needs it will have it computed."""
        shapes = [self.shapes[value] for value in made.operands]
        aligned = made.rule(step.label, shapes)
        shape = broadcast_shape(step.label, aligned)
        self._check_size(step.label, shape, made.result.itemsize, is_new=False)
        if tuple(aligned) != tuple(shapes):
            operands = tuple(map(partial(self._aligned, step), made.operands, aligned))
            step = replace(step, made=replace(made, operands=operands))
        self.shapes[step.output] = shape
        self.waiting[step.output] = step

    def _aligned(self, step: CheckedStep, value: str, shape: Shape) -> str:
        """The value itself, or a view of it with other axes of size 1."""
        if self.shapes[value] == shape:
            return value
        name = f"{value}\0{step.output}"  # loading refuses names with such a character
        self._compute([value])
        self.types[name] = self.types[value]
        self._view(step.label, value, name, _reshaping(shape), keeps_order=True)
        return name

    def _make_views(self, wanted: Collection[str]) -> None:
        """Have the deferred views made that these values need; what they see is computed together."""
        views, known, pending = list[CheckedStep](), set[str](), list(wanted)
        while pending:
            value = pending.pop()
            if value in known:
                continue
            known.add(value)
            if value in self.deferred:
                views.append(self.deferred[value])
            elif value in self.waiting:
                pending.extend(self.waiting[value].made.operands)
        if views:
            self._compute([operand for step in views for operand in step.made.operands])
            for step in views:
                if self.deferred.pop(step.output, None) is not None:
                    assert isinstance(step.made, NodeFunction)
                    self._call(step, step.made)

    def _compute(self, wanted: Collection[str]) -> None:
        """Have these values computed, by what waits and they need."""
        if self.deferred:
            self._make_views(wanted)
        needed: set[str] = set()
        pending = [value for value in wanted if value in self.waiting]
        while pending:
            value = pending.pop()
            if value not in needed:
                needed.add(value)
                pending.extend(operand for operand in self.waiting[value].made.operands if operand in self.waiting)
        constants = self.outline.constants
        # A constant step is in the code of the kernels that use it; it is computed for who wants the array.
        steps = {
            value: step
            for value, step in self.waiting.items()
            if value in needed and (value not in constants.nodes or value in wanted)
        }
        kept = {*wanted, *self.outline.results}
        users = self.outline.consumers
        graph = Graph(
            tuple(as_node(step, self.types, self.shapes) for step in steps.values()),
            {value: 1 for value in steps if value in kept or not users.get(value, frozenset()) <= steps.keys()},
            constants,
        )
        for group in fused_rows(graph) if self.outline.fuse else fused(graph, 0):
            self._run(group)

    def _run(self, group: FusionGroup) -> None:
        steps = [self.waiting.pop(str(node.result.array)) for node in group.nodes]
        label = steps[-1].label
        inputs, outputs = (tuple(str(value.array) for value in side) for side in (group.inputs, group.outputs))
        kinds = [value.type for value in group.outputs]
        over_rows = isinstance(group, RowFusionGroup)
        own, views, order = outputs, list[str](), None
        if isinstance(group, RowFusionGroup) and group.order is not None:
            order, given = group.order, inputs
            inputs = tuple(self._turned(label, value, order, own[0]) for value in given)
            views = [value for value in inputs if value not in given]
            outputs = tuple(f"{value}\0made" for value in own)
            self.orders.update((value, order) for value in outputs)
            self.shapes.update(
                (name, group.seen_shape(value)) for name, value in zip(outputs, group.outputs, strict=True)
            )
        made = [Output(value, self.shapes[value], kind.numpy) for value, kind in zip(outputs, kinds, strict=True)]
        sizes = [math.prod(output.shape) * output.dtype.itemsize for output in made]
        self._check_size(label, made[0].shape, kinds[0].itemsize, beside=sum(sizes[1:]))
        arrays = tuple(
            self._new_array(label, value, output.shape, output.dtype)
            for value, output in zip(outputs, made, strict=True)
        )
        ufunc = self.outline.kernel(group)
        operands = [self.values[value] for value in inputs]
        if not (self.computes or all(map(self._is_known, inputs))):
            pass
        elif self.destinations is not None:
            self.destinations.compute(ufunc, operands, arrays, over_rows=over_rows)
        else:
            ufunc(*operands, out=arrays)
        if order is not None:
            made = [output._replace(strides=array.strides) for output, array in zip(made, arrays, strict=True)]
        values = dict(zip(outputs, arrays, strict=True))
        self._add(Call("rows" if over_rows else "elements", ufunc, inputs, tuple(made), group=group), values)
        for value, array in values.items():
            self._hold(value, array, value)
        if order is not None:
            for name in views:
                self._forget(name)
            back = tuple(map(int, np.argsort(order)))
            for source, value in zip(outputs, own, strict=True):
                self._view(label, source, value, partial(np.transpose, axes=back))
                self._forget(source)
        for step in steps:
            self._release(step)

    def _turned(self, label: str, value: str, order: tuple[int, ...], result: str) -> str:
        """A value as the kernel of a result sees it, with axes in this order, those that it lacks before its own."""
        if math.prod(self.shapes[value]) == 1:
            return value
        name = f"{value}\0{result}"
        self._view(label, value, name, partial(_in_order, order))
        return name

    def _view(
        self, label: str, source: str, name: str, function: partial[np.ndarray], *, keeps_order: bool = False
    ) -> None:
        array = self._called(label, function, self.values[source])
        self._keep(
            label,
            NodeFunction((source,), function, "", is_view=True, keeps_order=keeps_order, moved=(source,)),
            name,
            array,
        )

    # ---- functions

    def _call(self, step: CheckedStep, made: NodeFunction) -> None:
        if made.shape_only:
            stand_in = np.broadcast_to(np.zeros((), bool), self.shapes[made.operands[0]])
            array = self._called(step.label, made.function, stand_in)
            self.record.fixed[step.output] = array
            self.record.reads_shapes = True
            self._hold(step.output, array, step.output)
            return
        self._compute(made.operands)
        if not self.computes:
            made = self._for_device(step.label, made)
        arrays = [self.values[value] for value in made.operands]
        out = self._new_array(step.label, step.output, arrays[0].shape, arrays[0].dtype) if made.fills else None
        array = self._called(step.label, made.function, *arrays, out=out)
        if out is None:
            self._check_size(step.label, array.shape, array.itemsize, is_new=not made.is_view)
        self._keep(step.label, made, step.output, array)
        self._release(step)

    def _called(
        self, label: str, function: Callable[..., np.ndarray | None], *arrays: Any, out: np.ndarray | None = None
    ) -> np.ndarray:
        return _called(label, Room(self.memory_limit, self.bytes), function, *arrays, out=out)

    def _is_known(self, value: str) -> bool:
        """Whether it is the same in every run; for a device an array without elements too."""
        return value in self.record.fixed or not (self.computes or math.prod(self.shapes[value]))

    def _for_device(self, label: str, made: NodeFunction) -> NodeFunction:
        """A function as a device has it computed: no view, if it looks at values. Refused where these decide the shape."""
        unknown = {value for value in made.operands if not self._is_known(value)}
        if unknown & set(made.shaping):
            integers = (v for v in made.shaping if v in self.outline.inputs and self.values[v].dtype.kind in "biu")
            steering = next((f"Give {value} as an array of NumPy, or load" for value in integers), "Load")
            what = "the shape of its result follows from values"
            raise UnsupportedError(message(label, what, "", f"{steering} the model without device="))
        return made if unknown <= set(made.moved) else replace(made, is_view=False, keeps_order=False)

    def _keep(self, label: str, made: NodeFunction, output: str, array: np.ndarray) -> None:
        """Record what a function made."""
        source = made.operands[0]
        layout = _layout(array, self.values[source]) if made.is_view else None
        kind: Kind = "filling" if made.fills else "view" if made.is_view else "own"
        if made.keeps_order and layout is None:
            kind = "copy"
        self._hold(output, array, self.roots.get(source) if made.is_view else output)
        outputs = (Output(output, array.shape, array.dtype),)
        function = partial(_called, label, Room(self.memory_limit, self.bytes), made.function)
        call = Call(kind, function, made.operands, outputs, layout, moved=made.moved, label=label)
        self._add(call, {output: array})

    # ---- values and the record

    def _new_array(self, label: str, value: str, shape: Shape, dtype: np.dtype) -> np.ndarray:
        self._check_size(label, shape, dtype.itemsize)
        if self.destinations is not None:
            given = self.destinations.array(value, shape, dtype)
            if given is not None:
                return given
        order = self.orders.get(value, tuple(range(len(shape))))
        try:
            make = np.empty if self.computes else np.zeros
            return make([shape[order.index(axis)] for axis in range(len(shape))], dtype).transpose(order)
        except (MemoryError, ValueError) as error:
            raise ModelError(message(label, f"there is no memory for its result, of shape {shape}")) from error

    def _add(self, call: Call, made: dict[str, np.ndarray]) -> None:
        fixed = self.record.fixed
        if (
            all(self._is_known(str(value)) for value in call.inputs)
            and sum(a.nbytes for a in made.values()) <= LARGEST_KEPT
        ):
            fixed.update(made)
        else:
            self.record.calls.append(call)

    def _hold(self, value: str, array: np.ndarray, root: str | None) -> None:
        """Keep a value. ``root`` is None for a view of an input or of a constant."""
        self.values[value] = array
        self.shapes[value] = array.shape
        if root is None:
            return
        self.roots[value] = root
        self.holders[root] += 1
        if root == value:
            self.sizes[value] = array.nbytes
            self.bytes += array.nbytes

    def _release(self, step: CheckedStep) -> None:
        """Drop arrays that no step will use any more."""
        for value in set(step.made.operands) & self.uses.keys():
            self.uses[value] -= 1
            if self.uses[value] or value in self.outline.results:
                continue
            self._forget(value)

    def _forget(self, value: str) -> None:
        """Drop the array of a value that nothing needs any more, if this run has made it."""
        if value not in self.roots:
            return
        del self.values[value]
        root = self.roots[value]
        self.holders[root] -= 1
        if not self.holders[root]:
            self.bytes -= self.sizes.pop(root)

    def _check_size(self, label: str, shape: Shape, itemsize: int, *, is_new: bool = True, beside: int = 0) -> None:
        """Refuse what would not fit the memory, before it is asked for, with so many bytes ``beside`` it."""
        total = math.prod(shape) * itemsize + beside + self.bytes * is_new
        if total > self.memory_limit:
            what = f"with its result, of shape {shape}, the arrays of this run would have {total} bytes"
            raise ModelError(message(label, what, f"{self.memory_limit}, the memory limit"))


def _reshaping(shape: Shape) -> partial[np.ndarray]:
    """The function that gives arrays this shape, and batches of other lengths the same for every item."""
    has_elements = math.prod(shape) > 0
    wanted = (-1, *shape[1:]) if shape and has_elements else shape
    return partial(np.reshape, shape=wanted)


def _in_order(order: tuple[int, ...], array: np.ndarray) -> np.ndarray:
    return array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)


def _layout(array: np.ndarray, source: np.ndarray) -> ViewLayout | None:
    """How a view lies in its source; None for a copy."""
    offset = array.ctypes.data - source.ctypes.data
    if array.dtype != source.dtype:
        return None
    if not array.size:
        offset = 0
    elif not np.may_share_memory(array, source):
        return None
    return ViewLayout(offset, array.strides, source.shape, source.strides)
