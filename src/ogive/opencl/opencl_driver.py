"""OpenCL's driver of kernels, and pyopencl's arrays as it takes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl.array import Array

from ogive.backends.dialects import OPENCL
from ogive.common.forking import lock
from ogive.devices.kernels import Placed, failure
from ogive.errors import ArgumentError, UnsupportedError, message
from ogive.opencl.hardware import build, first_line

#: Work items of a group. (Without it some drivers choose 1 for a number of elements that is prime.)
GROUP = 64


class _OpenCLKernel:
    """A compiled kernel: its arguments belong to its object, which one thread at a time may use."""

    def __init__(self, kernel: cl.Kernel, device: cl.Device) -> None:
        self.kernel, self.lock, self.is_busy = kernel, lock(), False
        self.group = min(GROUP, kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device))


class OpenCLDriver:
    """A command queue; memory comes from ``allocator``, where one is given. It begins after the events of ``wait_for``."""

    dialect = OPENCL

    def __init__(
        self, queue: cl.CommandQueue, allocator: Callable[[int], Any] | None = None, wait_for: Sequence[cl.Event] = ()
    ) -> None:
        self.queue, self.allocator = queue, allocator
        self.events = list(wait_for)
        """The event that the next command waits for: on queues without an order the one before."""

    @property
    def key(self) -> Hashable:
        return self.queue.context, self.queue.device

    def compiled(self, text: str, names: Sequence[str]) -> Sequence[_OpenCLKernel]:
        built = build(self.queue.context, self.queue.device, text)
        return [_OpenCLKernel(cl.Kernel(built, name), self.queue.device) for name in names]

    def allocate(self, size: int) -> Any:
        if self.allocator is not None:
            return self.allocator(max(size, 1))
        return cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, max(size, 1))

    def write(self, memory: Any, array: np.ndarray) -> None:
        data = array.reshape(-1).view(np.uint8)
        cl.enqueue_copy(self.queue, memory, data, is_blocking=True, wait_for=self.events)

    def read(self, memory: Any, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        cl.enqueue_copy(self.queue, data, memory, is_blocking=True, wait_for=self.events)
        return data

    def launch(self, function: _OpenCLKernel, items: int, arguments: Sequence[Any]) -> None:
        group = function.group
        with function.lock:
            if function.is_busy:  # this thread is a signal handler inside this very call
                raise UnsupportedError(
                    "OpenCL: a signal handler calls the kernel that it interrupts. Call it after the handler"
                )
            function.is_busy = True
            try:
                event = function.kernel(
                    self.queue, (-(-items // group) * group,), (group,), *arguments, wait_for=self.events
                )
            finally:
                function.is_busy = False
        self.events = [event]

    @contextlib.contextmanager
    def failures(self, subject: str, what: str) -> Iterator[None]:
        try:
            yield
        except cl.Error as error:
            is_too_large = getattr(error, "code", 0) == cl.status_code.INVALID_BUFFER_SIZE
            short_of = what if is_too_large or isinstance(error, cl.MemoryError) else ""
            raise failure(subject, self.queue.device.name.strip(), first_line(error), short_of) from error


def placed_array(subject: str, name: str, array: Array) -> Placed:
    """The place of an array. Refuses one whose elements lie at no multiples of their size."""
    size = array.dtype.itemsize
    if any(distance % size for distance in (array.offset, *array.strides)):
        what = f"the offset or the strides of {name} are no multiples of its elements' {size} bytes"
        raise ArgumentError(message(subject, what, "", f"Copy it first: {name}.copy()"))
    return Placed(array.base_data, array.dtype, array.shape, array.strides, array.offset)


def wrapped_array(driver: OpenCLDriver, placed: Placed) -> Array:
    """The memory there as an array, which has the driver's queue, and waits for its last event where that is needed."""
    array = Array(
        driver.queue,
        placed.shape,
        placed.dtype,
        strides=placed.strides,
        data=placed.memory,
        offset=placed.start,
        allocator=driver.allocator,
    )
    for event in driver.events:
        array.add_event(event)
    return array
