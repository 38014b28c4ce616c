"""Compiled kernels of a device: they run over arrays, and the host computes what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl

from ogive.backends.c_like import OPENCL
from ogive.backends.device_text import ELEMENTS, PUT, ROWS, kernel_text
from ogive.dtypes import ElementType
from ogive.forking import lock
from ogive.opencl.hardware import build
from ogive.operator import Operator
from ogive.program import Program
from ogive.signature import Signature

__all__ = ["Kernel", "Operand", "RowKernel", "kernel"]

#: Elements of one launch: places in the list are numbers of 32 bits, and the list is read after each launch.
AT_ONCE = 1 << 26

#: So many open elements have room in the list. Where there are more, the launch is done again with as much room as it takes.
ROOM = 1024

#: Work items of a group. (Without it some drivers choose 1 for a number of elements that is prime.)
GROUP = 64

#: (memory, place of the first element, distances along each dimension): counted in elements.
Operand = tuple[Any, int, tuple[int, ...]]

#: Computes elements on the host: arrays of the operands in, arrays of the results out.
OnHost = Callable[..., Any]


class Kernel:
    """The two kernels of one program on one device, and their memory for the list of open elements."""

    def __init__(self, context: cl.Context, device: cl.Device, program: Program, given: Sequence[ElementType]) -> None:
        built = build(context, device, kernel_text(program, OPENCL, given))
        self.context, self.program = context, program
        self.elements, self.put = cl.Kernel(built, ELEMENTS), cl.Kernel(built, PUT)
        self.lists = program.undecided is not None and program.repair is not None
        self.group = min(GROUP, self.elements.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device))
        self.lock = lock()  # arguments belong to the kernel's object
        if self.lists:
            self._make_room(ROOM)
            self.count = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)

    def _make_room(self, room: int) -> None:
        self.room = room
        sizes = [4, *(t.itemsize for t in self.program.inputs)]
        self.list = [cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size * room) for size in sizes]

    def run(
        self,
        queue: cl.CommandQueue,
        shape: tuple[int, ...],
        operands: Sequence[Operand],
        results: Sequence[Any],
        parameters: Sequence[float],
        on_host: OnHost,
        wait_for: Sequence[cl.Event],
    ) -> cl.Event:
        """Compute the results, whose memory is contiguous; the event after which they are there."""
        dims, steps = _merged(shape, [operand[2] for operand in operands])
        layout = [len(dims), *dims]
        for (_, start, _), distances in zip(operands, steps, strict=True):
            layout += [start, *distances]
        memory = self._copied(np.array(layout, np.int64))
        given = [operand[0] for operand in operands]
        size, first, event = int(np.prod(shape, dtype=np.int64)), 0, None
        with self.lock:
            while first < size:
                n = min(size - first, AT_ONCE)
                arguments = [memory, *given, *results, *map(np.float64, parameters)]
                event = self._launch(queue, n, first, arguments, results, parameters, on_host, wait_for)
                first += n
        return event

    def _copied(self, array: np.ndarray) -> cl.Buffer:
        flags = cl.mem_flags
        return cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=array)

    def _launch(
        self,
        queue: cl.CommandQueue,
        n: int,
        first: int,
        arguments: list[Any],
        results: Sequence[Any],
        parameters: Sequence[float],
        on_host: OnHost,
        wait_for: Sequence[cl.Event],
    ) -> cl.Event:
        items, group = (-(-n // self.group) * self.group,), (self.group,)
        head = (np.int64(n), np.int64(first))
        if not self.lists:
            return self.elements(queue, items, group, *head, *arguments, wait_for=wait_for)
        zero, found = np.zeros(1, np.uint32), np.empty(1, np.uint32)
        while True:
            cl.enqueue_copy(queue, self.count, zero, is_blocking=True)
            rest = [np.uint32(self.room), self.count, *self.list]
            event = self.elements(queue, items, group, *head, *arguments, *rest, wait_for=wait_for)
            cl.enqueue_copy(queue, found, self.count, is_blocking=True, wait_for=[event])
            if found[0] <= self.room:
                break
            self._make_room(int(found[0]))
        count = int(found[0])
        return event if not count else self._decided(queue, count, first, results, on_host)

    def _decided(
        self, queue: cl.CommandQueue, count: int, first: int, results: Sequence[Any], on_host: OnHost
    ) -> cl.Event:
        """Have the host compute the elements of the list, and put them into place."""
        operands = [np.empty(count, t.numpy) for t in self.program.inputs]
        for array, buffer in zip(operands, self.list[1:], strict=True):
            cl.enqueue_copy(queue, array.view(np.uint8), buffer, is_blocking=True)
        found = on_host(*operands)
        values = [self._copied(np.ascontiguousarray(one).view(np.uint8)) for one in found]
        pairs = [memory for pair in zip(values, results, strict=True) for memory in pair]
        items, group = (-(-count // self.group) * self.group,), (self.group,)
        return self.put(queue, items, group, np.int64(count), np.int64(first), self.list[0], *pairs)


#: Memory of all work items of a launch together.
ROW_MEMORY = 1 << 26


class RowKernel:
    """The kernel of a row-wise program on one device."""

    def __init__(self, context: cl.Context, device: cl.Device, program: Program, given: Sequence[ElementType]) -> None:
        built = build(context, device, kernel_text(program, OPENCL, given))
        self.context, self.program, self.rows = context, program, cl.Kernel(built, ROWS)
        self.group = min(GROUP, self.rows.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device))
        self.lock = lock()  # arguments belong to the kernel's object
        every = (program, *program.later)
        own = max(sum(form.bits // 8 + 16 for form in one.scratch) for one in every)
        self.bytes_of_element = own + sum(t.itemsize for t in program.inputs)

    def run(
        self,
        queue: cl.CommandQueue,
        shape: tuple[int, ...],
        operands: Sequence[Operand],
        results: Sequence[Any],
        parameters: Sequence[float],
        wait_for: Sequence[cl.Event],
    ) -> list[int]:
        """Compute rows, which lie along the last dimension; the numbers of those that the host has to compute."""
        count, size = shape[-1], int(np.prod(shape[:-1], dtype=np.int64))
        dims, steps = _merged(shape[:-1], [operand[2][:-1] for operand in operands])
        layout = [len(dims), *dims]
        for (_, start, _), distances in zip(operands, steps, strict=True):
            layout += [start, *distances]
        flags, one = cl.mem_flags, 64 * (1 + len(operands)) + count * self.bytes_of_element
        at_once = max(1, min(size, ROW_MEMORY // one))
        place = cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.array(layout, np.int64))
        memory, listed = (
            cl.Buffer(self.context, flags.READ_WRITE, at_once * one),
            cl.Buffer(self.context, flags.READ_WRITE, 4),
        )
        places = cl.Buffer(self.context, flags.READ_WRITE, 4 * at_once)
        given = [word for memory_, _, distances in operands for word in (memory_, np.int64(distances[-1]))]
        numbers, zero, found = list[int](), np.zeros(1, np.uint32), np.empty(1, np.uint32)
        with self.lock:
            for first in range(0, size, at_once):
                n = min(size - first, at_once)
                cl.enqueue_copy(queue, listed, zero, is_blocking=True)
                head = (np.int64(n), np.int64(first), np.int64(count), place)
                tail = (memory, np.int64(one), np.uint32(at_once), listed, places)
                arguments = (*head, *given, *results, *map(np.float64, parameters), *tail)
                items = (-(-n // self.group) * self.group,)
                event = self.rows(queue, items, (self.group,), *arguments, wait_for=wait_for)
                cl.enqueue_copy(queue, found, listed, is_blocking=True, wait_for=[event])
                if found[0]:
                    open_ones = np.empty(int(found[0]), np.uint32)
                    cl.enqueue_copy(queue, open_ones, places, is_blocking=True)
                    numbers += [first + int(item) for item in open_ones]
        return numbers


def _merged(shape: tuple[int, ...], steps: Sequence[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """The same elements in fewer dimensions: two become one where every operand goes on after a row as within it."""
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


@lru_cache(maxsize=1024)
def kernel(
    context: cl.Context,
    device: cl.Device,
    operator: Operator,
    signature: Signature,
    choices: tuple[tuple[str, Any], ...],
    given: tuple[ElementType, ...],
) -> Kernel | RowKernel:
    """The kernel of an operator for these element types and choices, compiled when it is first wanted."""
    program = operator.program(signature, **dict(choices))
    return (RowKernel if program.stages else Kernel)(context, device, program, given)
