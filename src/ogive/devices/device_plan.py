"""Plans on a device: the calls of a graph over named arrays (ogive.engine.plan), all in its memory.

Views are other places in the same memory. A step that only moves elements is done by finding on the host which
element goes where: the function moves numbers of elements, once, or in each run where that follows from values. Other functions
have no kernel: the host computes them, between two copies (`DevicePlan.on_host` names them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from ogive.common import forking
from ogive.common.array_shapes import broadcast_shapes
from ogive.devices.kernels import Computing, Driver, Kernel, Placed, counted, kernel, movement, uploaded
from ogive.engine.plan import Call, Output
from ogive.errors import UnsupportedError, message

Shape = tuple[int, ...]

#: After so many runs that left something open a plan runs step by step.
MOST_MISSES = 2


class Device(Protocol):
    """The object that holds arrays and runs kernels: ogive.device gives it."""

    @property
    def name(self) -> str:
        """As ``ogive devices`` shows it: opencl:0."""

    @property
    def memory(self) -> int:
        """Bytes of its memory."""

    def driver(self) -> Driver:
        """Its queue, with a pool of memory."""

    def holds(self, value: Any) -> bool:
        """Whether this is an array of the device's library."""

    def placed(self, subject: str, name: str, array: Any) -> Placed:
        """The place of an array. Refuses one that lies elsewhere."""

    def wrapped(self, placed: Placed) -> Any:
        """The memory there as an array of the device's library."""


def packed(shape: Shape, dtype: np.dtype) -> Shape:
    """The strides of an array in C order."""
    strides, step = list[int](), dtype.itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def copied(driver: Driver, array: np.ndarray) -> Placed:
    """An array of NumPy in new memory of a device, in C order."""
    return Placed(
        uploaded(driver, np.ascontiguousarray(array)), array.dtype, array.shape, packed(array.shape, array.dtype)
    )


def _is_packed(placed: Placed) -> bool:
    natural = packed(placed.shape, placed.dtype)
    sides = zip(placed.shape, placed.strides, natural, strict=True)
    return 0 in placed.shape or all(n == 1 or own == wanted for n, own, wanted in sides)


class _Step(NamedTuple):
    """One launch: the buffers that it reads, writes and frees."""

    run: Callable[[Driver, Mapping[Hashable, Placed], list[Any] | None], None]
    reads: tuple[Hashable, ...]
    makes: tuple[Hashable, ...]


#: Computes an array on the host of the roots of a run.
_OnHost = Callable[[Driver, Mapping[Hashable, Placed]], np.ndarray]


class DevicePlan:
    """Calls for arrays of known shapes; ``fixed`` arrays go to the device once. ``subject`` begins the sentence of a refusal."""

    def __init__(
        self,
        subject: str,
        driver: Driver,
        calls: Sequence[Call],
        fixed: Mapping[Any, np.ndarray],
        inputs: Mapping[Any, tuple[np.dtype, Shape] | None],
        results: Sequence[Hashable],
    ) -> None:
        self.subject, self.results = subject, tuple(results)
        self.seen: dict[Hashable, Placed] = {}
        """The root of each array, in whose memory it lies, in place of that memory, and how."""
        self.sizes: dict[Hashable, int] = {}
        """The bytes of the roots that steps make."""
        self.steps: list[_Step] = []
        self.kernels: list[Kernel] = []
        """The kernels that steps launch, in their order."""
        self.on_host: list[str] = []
        """The nodes of which the host computes values, as sentences name them."""
        self.fixed: dict[Hashable, np.ndarray] = {}
        for name, array in fixed.items():
            self._fix(name, array)
        self.inputs = {name: kind for name, kind in inputs.items() if kind is not None}
        for name, (dtype, shape) in self.inputs.items():
            self.seen[name] = Placed(name, dtype, shape, packed(shape, dtype))
        for call in calls:
            for output in call.outputs:
                if output.dtype.hasobject:
                    raise UnsupportedError(
                        message(self._node(call), "devices have no text", "", "Compute it on the processor")
                    )
            self._add(call, driver)
        self.delivered = tuple(self._delivered(number, name) for number, name in enumerate(self.results))
        read = {root for step in self.steps for root in step.reads}
        self.fixed = {name: array for name, array in self.fixed.items() if name in read}
        last = {root: number for number, step in enumerate(self.steps) for root in (*step.makes, *step.reads)}
        kept = {placed.memory for placed in self.delivered}
        self.ended = [
            [
                root
                for root in {*step.reads, *step.makes}
                if last[root] == number and root in self.sizes and root not in kept
            ]
            for number, step in enumerate(self.steps)
        ]
        self._there: dict[Hashable, Placed] | None = None
        self._misses = 0
        self._lock = forking.lock()

    # ---- made once

    def _add(self, call: Call, driver: Driver) -> None:
        if call.is_kernel:
            self._add_kernel(call, driver)
        elif call.kind == "view":
            self._add_view(call, driver)
        elif call.kind == "copy":
            source = self._whole(call.inputs[0], (call.output.name, "copied"))
            self._see(call.output, source._replace(strides=()))
        elif call.along is not None:
            self._add_rows(call, driver)
        elif call.kind == "filling" and call.moved:
            made = self._make(call.output.name, call.output.dtype, call.output.shape, call.output.strides)
            self._add_move(self.seen[call.moved[0]], made)
        else:
            self._add_function(call, driver)

    def _node(self, call: Call) -> str:
        """The beginning of a refusal."""
        return call.label or self.subject

    def _see(self, output: Output, source: Placed) -> None:
        """An array in the memory of another, in C order from its first element on."""
        self.seen[output.name] = Placed(
            source.memory, output.dtype, output.shape, packed(output.shape, output.dtype), source.start
        )

    def _fix(self, name: Hashable, array: np.ndarray) -> Placed:
        """An array that is the same in every run."""
        self.fixed[name] = np.ascontiguousarray(array).reshape(array.shape)
        self.seen[name] = made = Placed(name, array.dtype, array.shape, packed(array.shape, array.dtype))
        return made

    def _put_view(self, name: Hashable, view: Placed) -> None:
        """An array in the memory of another, which reaches as far as the view does."""
        self.seen[name] = view
        if view.memory in self.sizes:
            self.sizes[view.memory] = max(self.sizes[view.memory], view.size)

    def _make(self, name: Hashable, dtype: np.dtype, shape: Shape, strides: Shape | None = None) -> Placed:
        """A root."""
        made = Placed(name, dtype, shape, packed(shape, dtype) if strides is None else strides)
        self.seen[name], self.sizes[name] = made, max(made.size, 1)
        return made

    def _whole(self, name: Hashable, copied: Hashable, *, always: bool = False) -> Placed:
        """An array in C order: itself, or a copy under another name."""
        source = self.seen[name]
        if _is_packed(source) and not always:
            return source
        target = self._make(copied, source.dtype, source.shape)
        self._add_move(source, target)
        return target

    def _add_move(self, source: Placed, target: Placed) -> None:
        def run(driver: Driver, roots: Mapping[Hashable, Placed], ahead: list[Any] | None) -> None:
            movement(driver).move(driver, _found(source, roots), _found(target, roots))

        self.steps.append(_Step(run, (source.memory,), (target.memory,)))

    def _add_kernel(self, call: Call, driver: Driver) -> None:
        group = call.group
        assert group is not None
        operands = [self.seen[name] for name in call.inputs]
        for operand in operands:
            if any(place % operand.dtype.itemsize for place in (operand.start, *operand.strides)):
                what = "an operand lies at no multiple of its elements' bytes"
                raise UnsupportedError(message(self._node(call), what, "", "Compute it on the processor"))
        shape = broadcast_shapes(*(o.shape for o in operands), *(output.shape for output in call.outputs))
        over_rows = call.kind == "rows"
        if over_rows:  # a row's one number is one number
            operands = [o.broadcast((*shape[:-1], o.shape[-1])) for o in operands]
        else:
            operands = [o.broadcast(shape) for o in operands]
        outputs = [self._make(output.name, output.dtype, output.shape, output.strides) for output in call.outputs]
        self._compute(kernel(driver, group.computation), call.function, group.parameters, shape, operands, outputs)

    def _compute(
        self,
        compiled: Kernel,
        function: Callable[..., Any],
        parameters: Sequence[float],
        shape: Shape,
        operands: Sequence[Placed],
        outputs: Sequence[Placed],
    ) -> None:
        """A kernel's launch. It writes without gaps; what has some is moved to its place."""
        computed = [
            made if _is_packed(made) else self._make((made.memory, "packed"), made.dtype, made.shape)
            for made in outputs
        ]

        def on_host(*given: np.ndarray) -> Sequence[np.ndarray]:
            found = function(*given)
            return found if isinstance(found, tuple) else (found,)

        def run(driver: Driver, roots: Mapping[Hashable, Placed], ahead: list[Any] | None) -> None:
            results = [roots[one.memory].memory for one in computed]
            if math.prod(computed[0].shape):
                given = [_found(operand, roots) for operand in operands]
                compiled.run(Computing(driver, shape, given, results, parameters, on_host, ahead))

        self.kernels.append(compiled)
        self.steps.append(_Step(run, tuple(o.memory for o in operands), tuple(one.memory for one in computed)))
        for source, target in zip(computed, outputs, strict=True):
            if source is not target:
                self._add_move(source, target)

    def _add_rows(self, call: Call, driver: Driver) -> None:
        """Rows along some axes: they come last, as one axis."""
        along, (name, shape, dtype, strides) = call.along, call.output
        assert along is not None
        source = self.seen[call.inputs[0]]
        order = (*(d for d in range(len(shape)) if d not in along.axes), *along.axes)
        turned = source._replace(shape=_at(source.shape, order), strides=_at(source.strides, order))
        made = self._make(name, dtype, shape, strides)
        lead = turned.shape[: len(shape) - len(along.axes)]
        rows = (*lead, math.prod(turned.shape) // max(math.prod(lead), 1))
        if len(along.axes) > 1:
            whole = self._make((name, "rows"), source.dtype, turned.shape)
            self._add_move(turned, whole)
            turned = whole._replace(shape=rows, strides=packed(rows, whole.dtype))
        result = self._make((name, "computed"), dtype, rows)
        self._compute(kernel(driver, along.computation), along.function, (), rows, [turned], [result])
        natural = packed(_at(shape, order), dtype)
        back = tuple(int(d) for d in np.argsort(order))
        self._add_move(result._replace(shape=shape, strides=_at(natural, back)), made)

    def _add_view(self, call: Call, driver: Driver) -> None:
        source, (name, shape, dtype, _) = self.seen[call.inputs[0]], call.output
        layout = call.layout
        if layout is not None and _same(source, layout.source_shape, layout.source_strides):
            self._put_view(name, Placed(source.memory, dtype, shape, layout.strides, source.start + layout.offset))
            return
        is_known = all(other in self.fixed for other in call.inputs[1:])
        if not (is_known and (call.moved or layout is not None)):
            self._add_function(call, driver)
            return
        if self._seen_by(call, source):
            return
        whole = self._whole(call.inputs[0], (name, "whole"))
        if whole is source or not self._seen_by(call, whole):
            self._add_movement(replace(call, moved=call.inputs[:1]), driver)

    def _seen_by(self, call: Call, source: Placed) -> bool:
        """Whether the function of a call makes a view of what lies so; then it is known."""
        memory = np.empty(max(source.size - source.start, 1), np.uint8)
        array = np.ndarray(source.shape, source.dtype, memory, 0, source.strides)
        made = call.function(array, *(self.fixed[other] for other in call.inputs[1:]))
        is_view = not made.size or np.may_share_memory(made, memory)
        if is_view:
            start = source.start + (made.ctypes.data - memory.ctypes.data if made.size else 0)
            self._put_view(call.output.name, source._replace(shape=made.shape, strides=made.strides, start=start))
        return is_view

    def _add_function(self, call: Call, driver: Driver) -> None:
        """By numbers of elements, where it moves some that lie on the device."""
        if self.fixed.keys() >= set(call.moved):
            self._add_host(call, driver)
        else:
            self._add_movement(call, driver)

    def _add_movement(self, call: Call, driver: Driver) -> None:
        """Elements by their numbers: 0 is zero, which some functions fill up with; then those of each operand in turn."""
        output, first = call.output, 1
        names = list(dict.fromkeys(call.moved))
        given: dict[Hashable, np.ndarray] = {}
        every = self._make(
            (output.name, "every"), output.dtype, (1 + sum(math.prod(self.seen[n].shape) for n in names),)
        )
        self._add_move(self._fix((output.name, "zero"), np.zeros(1, output.dtype)), every._replace(shape=(1,)))
        for name in names:
            placed = self.seen[name]
            size = math.prod(placed.shape)
            given[name] = np.arange(first, first + size).reshape(placed.shape)
            strides = packed(placed.shape, placed.dtype)
            self._add_move(
                placed, every._replace(shape=placed.shape, strides=strides, start=first * placed.dtype.itemsize)
            )
            first += size
        key, made = (output.name, "places"), self._make(output.name, output.dtype, output.shape)
        reads, computed = self._computed_there(call, {**self.fixed, **given})
        if not reads:
            self._fix(key, computed(driver, {}))
        else:
            self._add_computed(call, reads, computed, self._make(key, np.dtype(np.int64), output.shape))

        def run(driver: Driver, roots: Mapping[Hashable, Placed], ahead: list[Any] | None) -> None:
            own, to, by = (roots[root].memory for root in (every.memory, made.memory, key))
            movement(driver).take(driver, own, to, by, math.prod(made.shape), made.dtype)

        self.steps.append(_Step(run, (every.memory, key), (made.memory,)))

    def _add_host(self, call: Call, driver: Driver) -> None:
        """A function without a kernel: operands are copied to the host, and the result back."""
        name, shape, dtype, strides = call.output
        key = name if strides is None else (name, "computed")
        reads, computed = self._computed_there(call, self.fixed)
        if not reads:
            source = self._fix(key, computed(driver, {}))
        else:
            source = self._make(key, dtype, shape)
            self._add_computed(call, reads, computed, source)
        if strides is not None:
            self._add_move(source, self._make(name, dtype, shape, strides))

    def _add_computed(self, call: Call, reads: tuple[Hashable, ...], computed: _OnHost, made: Placed) -> None:
        """An array that the host computes in each run, in C order."""
        self.on_host.append(self._node(call))

        def run(driver: Driver, roots: Mapping[Hashable, Placed], ahead: list[Any] | None) -> None:
            array = computed(driver, roots)
            if array.nbytes:
                driver.write(roots[made.memory].memory, array)

        self.steps.append(_Step(run, reads, (made.memory,)))

    def _computed_there(self, call: Call, known: Mapping[Hashable, np.ndarray]) -> tuple[tuple[Hashable, ...], _OnHost]:
        """The roots that a call reads on the host, and a function that computes it of them and of known arrays."""
        read = {name: self.seen[name] for name in call.inputs if name not in known}
        there = {name: known[name] for name in call.inputs if name in known}

        def computed(driver: Driver, roots: Mapping[Hashable, Placed]) -> np.ndarray:
            given = {name: _found(placed, roots).on_host(driver) for name, placed in read.items()}
            arrays = [{**there, **given}[name] for name in call.inputs]
            if call.kind == "filling":
                made = np.empty(call.output.shape, call.output.dtype)
                call.function(*arrays, out=made)
            else:
                made = np.asarray(call.function(*arrays))
            if made.shape != call.output.shape:
                what, way_out = "the shape of its result follows from values", "Compute it on the processor"
                raise UnsupportedError(message(self._node(call), what, "", way_out))
            return np.ascontiguousarray(made).reshape(made.shape)

        return tuple(placed.memory for placed in read.values()), computed

    def _delivered(self, number: int, name: Hashable) -> Placed:
        """A result in memory of its own."""
        placed = self.seen[name]
        others = {self.seen[other].memory for other in self.results[:number]}
        is_own = placed.memory in self.sizes and placed.memory not in others and _is_packed(placed) and not placed.start
        if is_own and self.sizes[placed.memory] <= max(placed.size, 1):
            return placed
        return self._whole(name, ("result", number), always=True)

    # ---- each run

    def run(self, driver: Driver, given: Mapping[Any, Placed]) -> list[Placed]:
        """The results, in new memory, of inputs that lie on the device.

        All kernels are launched before the host looks whether one has left something open. Then it runs once more, step by
        step; and so do later runs, if that happens often, and plans in which the host computes.
        """
        if self._misses < MOST_MISSES and not self.on_host:
            counters: list[Any] = []
            found = self._run(driver, given, counters)
            if not any(counted(driver, counter) for counter in counters):
                return found
            self._misses += 1
        return self._run(driver, given, None)

    def _run(self, driver: Driver, given: Mapping[Any, Placed], ahead: list[Any] | None) -> list[Placed]:
        roots = dict(self._on_device(driver))
        for name in self.inputs:
            placed = given[name]
            if not _is_packed(placed):
                copy = placed._replace(
                    memory=driver.allocate(max(math.prod(placed.shape), 1) * placed.dtype.itemsize), start=0
                )
                copy = copy._replace(strides=packed(placed.shape, placed.dtype))
                movement(driver).move(driver, placed, copy)
                placed = copy
            roots[name] = placed
        for step, ended in zip(self.steps, self.ended, strict=True):
            for root in step.makes:
                if root not in roots:
                    roots[root] = self.seen[root]._replace(memory=driver.allocate(self.sizes[root]))
            step.run(driver, roots, ahead)
            for root in ended:
                del roots[root]
        return [_found(placed, roots) for placed in self.delivered]

    def _on_device(self, driver: Driver) -> dict[Hashable, Placed]:
        """The fixed arrays."""
        with self._lock:
            if self._there is None:
                there = {name: copied(driver, array) for name, array in self.fixed.items()}
                self._there = there
            return self._there


def _at(sizes: Shape, order: Shape) -> Shape:
    return tuple(sizes[d] for d in order)


def _found(placed: Placed, roots: Mapping[Hashable, Placed]) -> Placed:
    """An array of a plan in the memory of a run."""
    root = roots[cast(Hashable, placed.memory)]
    return placed._replace(memory=root.memory, start=placed.start + root.start)


def _same(placed: Placed, shape: Shape, strides: Shape) -> bool:
    """Whether an array lies as a view of it was described."""
    sides = zip(shape, placed.strides, strides, strict=True)
    return placed.shape == shape and (0 in shape or all(n == 1 or own == other for n, own, other in sides))
