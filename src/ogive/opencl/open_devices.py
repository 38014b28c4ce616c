"""The OpenCL devices that are there: they hold arrays, and run functions, models and DirectML's devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyopencl as cl
from pyopencl.array import Array, to_device
from pyopencl.tools import ImmediateAllocator, MemoryPool

from ogive.common.forking import cached_property, lock
from ogive.devices.functions import DeviceCall, host_array
from ogive.devices.kernels import Placed
from ogive.errors import ArgumentError, DeviceError, described, message
from ogive.opencl.hardware import why_not
from ogive.opencl.opencl_driver import OpenCLDriver, placed_array, wrapped_array
from ogive.operators.operator import Operator


@lru_cache(maxsize=1024)
def function(operator: Operator) -> Callable[..., Any]:
    """An operator as a function on pyopencl's arrays, computed on their device.

    ``function(op)(*tensors, queue=None, **parameters)``: tensors are arrays of one context, with any strides, and numbers,
    which NumPy's rules turn into elements; at least one is an array. They broadcast, and their element types become the
    operator's, as with NumPy's arrays. Results are new, contiguous arrays on ``queue``, by default that of the first array,
    from the first array's allocator. They have the bits of the operator on NumPy's arrays.

    A call returns when the device has computed: the host looks at the list of what is still open, and computes that.

    An operator over rows takes ``axis`` too, by default the last one. Results along another axis are views whose rows are
    contiguous.

    Raises ArgumentError for what is no operator; calls raise ArgumentError, DTypeError, ShapeError, ParameterError or
    DeviceError, and leave the arrays as they were.

    >>> import ogive
    >>> on_device = ogive.opencl.function(ogive.gelu)
    >>> on_device.__name__
    'gelu'
    """
    return _OpenCLCall.function(operator)


class _OpenCLCall(DeviceCall):
    MODULE, ARRAYS, WHERE = "ogive.opencl", "arrays of pyopencl", "queue"
    WAY_IN = "pyopencl.array.to_device(queue, x) brings an array of NumPy to the device"
    WAY_OUT = "{0}.get()"

    driver: OpenCLDriver

    def is_array(self, tensor: Any) -> bool:
        return isinstance(tensor, Array)

    def driver_of(self, where: Any) -> OpenCLDriver:
        if where is not None and not isinstance(where, cl.CommandQueue):
            raise ArgumentError(message(self.subject, f"queue is {described(where)}", "a pyopencl.CommandQueue"))
        found = where or next((array.queue for array in self.arrays if array.queue is not None), None)
        if found is None:
            way_out = "Give queue=, or arrays that have one: x.with_queue(queue)"
            raise ArgumentError(message(self.subject, "no array has a queue", "", way_out))
        if any(array.context != found.context for array in self.arrays):
            way_out = "Copy it: pyopencl.array.to_device(queue, x.get())"
            raise ArgumentError(message(self.subject, "an array lies in another context than the queue", "", way_out))
        reason = why_not(found.device)
        if reason:
            way_out = "ogive devices lists what is there and what it can"
            raise DeviceError(message(self.subject, f"the device {found.device.name.strip()} {reason}", "", way_out))
        events = [event for array in self.arrays for event in array.events]
        return OpenCLDriver(found, self.arrays[0].allocator, events)

    def placed(self, name: str, array: Array) -> Placed:
        return placed_array(self.subject, name, array)

    def wrapped(self, placed: Placed) -> Array:
        return wrapped_array(self.driver, placed)


class Device:
    """A device: ``handle`` is pyopencl's object, ``number`` its place among all devices of this machine.

    It has a queue, and a pool of memory that is used again.

    >>> import numpy as np, ogive
    >>> for device in ogive.opencl.devices():
    ...     if not device.why_not:
    ...         x = device.array(np.float32([-1.0, 2.0]))
    ...         assert device.function(ogive.celu)(x, alpha=1.5).get().tolist() == ogive.celu(x.get(), alpha=1.5).tolist()

    Raises DeviceError where the device is used, if it cannot compute with Ogive's bits.
    """

    def __init__(self, number: int, handle: cl.Device) -> None:
        self.number, self.handle = number, handle

    def __repr__(self) -> str:
        return f"<{self.name}: {self.model}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_number, (self.number,)

    @property
    def name(self) -> str:
        """As ``ogive devices`` shows it."""
        return f"opencl:{self.number}"

    @property
    def model(self) -> str:
        """Its maker's name of it."""
        return str(self.handle.name).strip()

    @property
    def platform(self) -> str:
        """The driver and its version."""
        platform = self.handle.platform
        return f"{platform.name} {self.handle.driver_version}".strip()

    @property
    def memory(self) -> int:
        """Bytes of its memory."""
        return int(self.handle.global_mem_size)

    @property
    def why_not(self) -> str:
        """Why Ogive does not compute there, as a part of a sentence; empty where it does."""
        return why_not(self.handle)

    @property
    def queue(self) -> cl.CommandQueue:
        """The queue on which everything of this object runs, in order."""
        return self._opened[0]

    @cached_property
    def _opened(self) -> tuple[cl.CommandQueue, MemoryPool]:
        """The queue, and the pool of memory."""
        if self.why_not:
            what, way_out = (
                f"the device {self.model} {self.why_not}",
                "ogive devices lists what is there and what it can",
            )
            raise DeviceError(message(self.name, what, "", way_out))
        with _lock:  # two queues would be two contexts
            if "_opened" in self.__dict__:
                found: tuple[cl.CommandQueue, MemoryPool] = self.__dict__["_opened"]
                return found
            queue = cl.CommandQueue(cl.Context([self.handle]))
            self.__dict__["_opened"] = queue, MemoryPool(ImmediateAllocator(queue))
            return queue, self.__dict__["_opened"][1]

    def array(self, values: Any) -> Array:
        """A copy of an array of NumPy on the device."""
        array = host_array(self.name, values)
        with self.driver().failures(self.name, f"an array of shape {array.shape}"):
            return to_device(self.queue, array, allocator=self._opened[1])

    def function(self, operator: Operator) -> Callable[..., Any]:
        """An operator as a function of the device's arrays: ``ogive.opencl.function``."""
        return function(operator)

    # ---- what models and DirectML's devices ask

    def driver(self) -> OpenCLDriver:
        """Its queue as kernels take it."""
        return OpenCLDriver(*self._opened)

    def holds(self, value: Any) -> bool:
        """Whether this is an array of pyopencl."""
        return isinstance(value, Array)

    def placed(self, subject: str, name: str, array: Array) -> Placed:
        """The place of an array. Refuses one of another context."""
        if array.context != self.queue.context:
            way_out = f"Copy it: device.array({name}.get()), with ogive.device({self.name!r})"
            raise ArgumentError(message(subject, f"{name} lies in another context than {self.name}", "", way_out))
        if array.events:
            cl.enqueue_barrier(self.queue, wait_for=array.events)
        return placed_array(subject, name, array)

    def wrapped(self, placed: Placed) -> Array:
        """An array of pyopencl over memory of the device."""
        return wrapped_array(self.driver(), placed)


def devices() -> list[Device]:
    """The OpenCL devices of this machine, also those that Ogive does not compute on (`Device.why_not`).

    An empty list where there is no driver.

    >>> import ogive
    >>> for device in ogive.opencl.devices():
    ...     assert device.memory > 0
    """
    try:
        handles = [handle for platform in cl.get_platforms() for handle in platform.get_devices()]
    except cl.Error:  # there is no driver
        handles = []
    known = _known
    return [known.setdefault(handle, Device(number, handle)) for number, handle in enumerate(handles)]


_lock = lock()

#: One object a device, so that arrays of all who ask for it lie in one context.
_known: dict[cl.Device, Device] = {}


def _of_number(number: int) -> Device:
    return devices()[number]
