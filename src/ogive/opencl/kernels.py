"""Compiled kernels of a device: they run over arrays, and the host computes what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl

from ogive.backends.c_like import OPENCL
from ogive.backends.device_text import ELEMENTS, PUT, kernel_text
from ogive.dtypes import ElementType
from ogive.forking import lock
from ogive.opencl.hardware import build
from ogive.operator import Operator
from ogive.program import Program
from ogive.signature import Signature

__all__ = ["Kernel", "Operand", "kernel"]

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
) -> Kernel:
    """The kernel of an operator for these element types and choices, compiled when it is first wanted."""
    return Kernel(context, device, operator.program(signature, **dict(choices)), given)
