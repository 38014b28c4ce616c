"""Kernels on a device, by the five functions of its driver; the host computes what they leave open.

A kernel's text is made of a computation once, and kept on disk by the computation's identity: a second process lowers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ogive.backends.c_rows import headers
from ogive.backends.device_text import ELEMENTS, MOVE, PUT, ROWS, TAKE, kernel_text, lists_open_elements, movement_text
from ogive.backends.dialects import Dialect
from ogive.common.dtypes import ElementType, element_type
from ogive.common.records import record
from ogive.engine.computation import Compilable
from ogive.errors import DeviceError, message
from ogive.lowering.program import Program
from ogive.runtime import cache
from ogive.runtime.kernels import engine_state

#: Elements of one launch: places in the list are numbers of 32 bits, and the list is read after each launch.
AT_ONCE = 1 << 26

#: So many open elements have room in the list. Where there are more, the launch is done again with as much room as it takes.
ROOM = 1024

#: Memory of all work items of a launch over rows together.
ROW_MEMORY = 1 << 26


class Driver(Protocol):
    """A queue of a device: what it is told is done in order. Numbers of launches are NumPy's; all else is memory."""

    dialect: Dialect

    @property
    def key(self) -> Hashable:
        """The device, and in which context: what is compiled for one is not compiled again for it."""

    def compiled(self, text: str, names: Sequence[str]) -> Sequence[Any]:
        """The kernels of these names."""

    def allocate(self, size: int) -> Any:
        """Memory of so many bytes, one at least."""

    def write(self, memory: Any, array: np.ndarray) -> None:
        """Copy a contiguous array to the beginning of memory; it may change afterwards."""

    def read(self, memory: Any, size: int) -> np.ndarray:
        """Wait, and copy so many bytes from the beginning of memory."""

    def launch(self, function: Any, items: int, arguments: Sequence[Any]) -> None:
        """Have so many work items, or a few more, run a kernel."""

    def failures(self, subject: str, what: str) -> AbstractContextManager[None]:
        """Turns the driver's errors into a DeviceError of one sentence; ``what`` has no room in its memory."""


class Placed(NamedTuple):
    """An array on a device: its memory, and how its elements lie there, in bytes."""

    memory: Any
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0

    def broadcast(self, shape: tuple[int, ...]) -> Placed:
        """The operand as a kernel over this shape reads it."""
        missing = len(shape) - len(self.shape)
        own = (0 if n == 1 else stride for n, stride in zip(self.shape, self.strides, strict=True))
        return self._replace(shape=shape, strides=(*(0,) * missing, *own))

    @property
    def size(self) -> int:
        """The bytes of memory up to its last element."""
        reach = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True) if stride > 0)
        return self.start + reach + self.dtype.itemsize if math.prod(self.shape) else 0

    def on_host(self, driver: Driver) -> np.ndarray:
        """A copy for the host, as it lies."""
        memory = driver.read(self.memory, self.size) if self.size else np.empty(0, np.uint8)
        return np.ndarray(self.shape, self.dtype, memory, self.start, self.strides)


class KernelText(NamedTuple):
    """A kernel's text, and what it takes."""

    text: str
    inputs: tuple[str, ...]
    """The element types that the program takes."""
    over_rows: bool
    lists: bool
    """Whether elements may stay open."""
    bytes_of_element: int
    """Memory of a row's own for each of its elements."""


#: Computes on the host: arrays of the operands in, arrays of the results out.
OnHost = Callable[..., Sequence[np.ndarray]]


class Computing(NamedTuple):
    """A call of a kernel. The memory of results is contiguous, and none of the operands'."""

    driver: Driver
    shape: tuple[int, ...]
    operands: Sequence[Placed]
    results: Sequence[Any]
    parameters: Sequence[float]
    on_host: OnHost
    ahead: list[Any] | None = None
    """If given, it gets the counters of open elements, and nothing is read; they are left as they are."""

    @property
    def numbers(self) -> list[Any]:
        """The parameters as kernels take them."""
        return [*map(np.float64, self.parameters)]

    def listed(self, function: Any, items: int, arguments: Sequence[Any], lists: Sequence[Any]) -> int:
        """Launch a kernel that lists what it leaves open, behind a counter; how much the host is to look at."""
        counter = uploaded(self.driver, np.zeros(1, np.uint32))
        self.driver.launch(function, items, [*arguments, counter, *lists])
        if self.ahead is None:
            return counted(self.driver, counter)
        self.ahead.append(counter)
        return 0


class Kernel:
    """The kernels of a computation on one device."""

    NAMES: ClassVar[tuple[str, ...]] = (ELEMENTS, PUT)

    def __init__(self, driver: Driver, made: KernelText) -> None:
        self.made, self.room = made, ROOM
        self.functions = driver.compiled(made.text, self.NAMES)

    def run(self, call: Computing) -> None:
        """Compute the results of elements."""
        arguments = [
            _layout(call.driver, call.shape, call.operands),
            *(operand.memory for operand in call.operands),
            *call.results,
            *call.numbers,
        ]
        size = math.prod(call.shape)
        for first in range(0, size, AT_ONCE):
            head = (np.int64(min(size - first, AT_ONCE)), np.int64(first))
            if self.made.lists:
                self._decided(call, head, arguments)
            else:
                call.driver.launch(self.functions[0], int(head[0]), [*head, *arguments])

    def _decided(self, call: Computing, head: tuple[np.int64, np.int64], arguments: list[Any]) -> None:
        """Launch until all open elements are listed; the host computes them."""
        types = [np.dtype(np.uint32), *(element_type(name).numpy for name in self.made.inputs)]
        while True:
            room = self.room
            lists = [call.driver.allocate(t.itemsize * room) for t in types]
            count = call.listed(self.functions[0], int(head[0]), [*head, *arguments, np.uint32(room)], lists)
            if count <= room:
                break
            self.room = count
        if count:
            self._put(call, count, head[1], lists)

    def _put(self, call: Computing, count: int, first: np.int64, lists: list[Any]) -> None:
        driver, types = call.driver, (element_type(name).numpy for name in self.made.inputs)
        given = (driver.read(m, t.itemsize * count).view(t) for m, t in zip(lists[1:], types, strict=True))
        values = [uploaded(driver, np.ascontiguousarray(one)) for one in call.on_host(*given)]
        pairs = [memory for pair in zip(values, call.results, strict=True) for memory in pair]
        driver.launch(self.functions[1], count, [np.int64(count), first, lists[0], *pairs])


class RowKernel(Kernel):
    """The kernel of a computation over rows on one device."""

    NAMES = (ROWS,)

    def run(self, call: Computing) -> None:
        """Compute rows, which lie along the last dimension: operands have all the dimensions before it."""
        driver, operands, (*lead, count) = call.driver, call.operands, call.shape
        # Rounded up, so that the next row's float64 lie at multiples of 8: GPUs refuse others.
        size, one = math.prod(lead), -(-(64 * (1 + len(operands)) + count * self.made.bytes_of_element) // 64) * 64
        at_once = max(1, min(size, ROW_MEMORY // one))
        rows = [o._replace(shape=tuple(lead), strides=o.strides[:-1]) for o in operands]
        memory, places = driver.allocate(at_once * one), driver.allocate(4 * at_once)
        given = [word for o in operands for word in (o.memory, np.int64(o.strides[-1] // o.dtype.itemsize))]
        middle = [_layout(driver, tuple(lead), rows), *given, *call.results, *call.numbers, memory]
        tail, open_rows = (np.int64(one), np.uint32(at_once)), list[int]()
        for first in range(0, size, at_once):
            n = min(size - first, at_once)
            head = (np.int64(n), np.int64(first), np.int64(count))
            found = call.listed(self.functions[0], n, [*head, *middle, *tail], [places])
            if found:
                open_rows += (first + driver.read(places, 4 * found).view(np.uint32).astype(np.int64)).tolist()
        if open_rows:
            self._decide(call, open_rows)

    def _decide(self, call: Computing, rows: list[int]) -> None:
        """Have the host compute rows that the device leaves open, and put them into place."""
        driver = call.driver
        arrays = (operand.on_host(driver) for operand in call.operands)
        found = call.on_host(*(np.ascontiguousarray(a.reshape(-1, a.shape[-1])[rows]) for a in arrays))
        for memory, one in zip(call.results, found, strict=True):
            values, width = np.ascontiguousarray(one), math.prod(one.shape[1:])
            places = (np.asarray(rows, np.int64)[:, None] * width + np.arange(width)).ravel()
            given, by = uploaded(driver, values), uploaded(driver, places)
            movement(driver).take(driver, given, memory, by, places.size, values.dtype, puts=True)


class Movement:
    """The kernels that move elements of any type on one device."""

    def __init__(self, driver: Driver) -> None:
        names = [f"{kind}_{size}" for kind in (MOVE, TAKE) for size in (1, 2, 4, 8)]
        self.functions = dict(zip(names, driver.compiled(movement_text(driver.dialect), names), strict=True))

    def move(self, driver: Driver, source: Placed, target: Placed) -> None:
        """Copy elements to where others of the same type and shape lie."""
        size, both = math.prod(target.shape), [source, target]
        if size:
            arguments = [np.int64(size), _layout(driver, target.shape, both), source.memory, target.memory]
            driver.launch(self.functions[f"{MOVE}_{source.dtype.itemsize}"], size, arguments)

    def take(
        self, driver: Driver, source: Any, target: Any, places: Any, count: int, dtype: np.dtype, *, puts: bool = False
    ) -> None:
        """Elements of the source from these places, or to them, in this order; ``places`` are memory."""
        if count:
            arguments = [np.int64(count), np.int32(puts), places, source, target]
            driver.launch(self.functions[f"{TAKE}_{dtype.itemsize}"], count, arguments)


def failure(subject: str, device: str, said: str, short_of: str = "") -> DeviceError:
    """An error of a driver as one sentence; ``short_of`` is what has no room in the device's memory."""
    if short_of:
        way_out = "Compute parts of the arrays one after the other"
        return DeviceError(message(subject, f"the device {device} has too little memory for {short_of}", "", way_out))
    return DeviceError(message(subject, f"the device {device} failed ({said})", "", "The arrays are as they were"))


def counted(driver: Driver, counter: Any) -> int:
    """How many elements or rows are open."""
    return int(driver.read(counter, 4).view(np.uint32)[0])


def uploaded(driver: Driver, array: np.ndarray) -> Any:
    """Memory with a contiguous array."""
    memory = driver.allocate(array.nbytes)
    if array.nbytes:
        driver.write(memory, array)
    return memory


def _layout(driver: Driver, shape: tuple[int, ...], operands: Sequence[Placed]) -> Any:
    """Memory with the layout of operands, as the kernels read it: counted in elements."""
    dims, steps = _merged(shape, [[s // o.dtype.itemsize for s in o.strides] for o in operands])
    layout = [len(dims), *dims]
    for operand, distances in zip(operands, steps, strict=True):
        layout += [operand.start // operand.dtype.itemsize, *distances]
    return uploaded(driver, np.array(layout, np.int64))


def _merged(shape: tuple[int, ...], steps: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The operands in fewer dimensions: two become one where every operand goes on after a row as within it."""
    dims: list[int] = []
    found: list[list[int]] = [[] for _ in steps]
    for d, size in enumerate(shape):
        if size == 1:
            continue
        if dims and all(one[-1] == step[d] * size for one, step in zip(found, steps, strict=True)):
            dims[-1] *= size
            for one, step in zip(found, steps, strict=True):
                one[-1] = step[d]
        else:
            dims.append(size)
            for one, step in zip(found, steps, strict=True):
                one.append(step[d])
    return dims, found


# ---- compiled once


@record(eq=False)
class _Wanted:
    """The key of compiled kernels: a device, and a key."""

    driver: Driver
    key: Hashable
    make: Callable[[], Any]
    """It keeps what the key is made of."""

    def __hash__(self) -> int:
        return hash((self.driver.key, self.key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wanted) and (self.driver.key, self.key) == (other.driver.key, other.key)


@lru_cache(maxsize=1024)
def _found(wanted: _Wanted) -> Any:
    return wanted.make()


def kernel(driver: Driver, computation: Compilable, given: Sequence[ElementType] | None = None) -> Kernel:
    """The kernel of a computation; ``given`` are the element types of the operands, where they are others than its own."""
    types = tuple(computation.inputs if given is None else given)
    found: Kernel = _found(_Wanted(driver, (computation.key, types), partial(_made, driver, computation, types)))
    return found


def movement(driver: Driver) -> Movement:
    """The kernels that move elements on a device."""
    found: Movement = _found(_Wanted(driver, "movement", partial(Movement, driver)))
    return found


def _made(driver: Driver, computation: Compilable, given: tuple[ElementType, ...]) -> Kernel:
    made = _text(computation, driver.dialect, given)
    return (RowKernel if made.over_rows else Kernel)(driver, made)


def _text(computation: Compilable, dialect: Dialect, given: tuple[ElementType, ...]) -> KernelText:
    """The text, from the disk or made and put there."""
    types = " ".join(kind.name for kind in given)
    try:
        name = cache.key("device", dialect.name, types, computation.identity, engine_state(), *headers())
    except OSError:  # the package does not lie in files
        name = ""
    known = cache.load_note(name) if name else None
    if known is not None:
        return KernelText(**{**known, "inputs": tuple(known["inputs"])})
    made = kernel_text_of(computation.program, dialect, given)
    if name:
        cache.store_note(name, made._asdict())
    return made


def kernel_text_of(program: Program, dialect: Dialect, given: Sequence[ElementType]) -> KernelText:
    """The text of a program's kernel for operands of these element types."""
    own = max(sum(form.bits // 8 + 16 for form in one.scratch) for one in program.chain)
    return KernelText(
        kernel_text(program, dialect, given),
        tuple(t.name for t in program.inputs),
        bool(program.stages),
        lists_open_elements(program),
        own + sum(t.itemsize for t in program.inputs),
    )
