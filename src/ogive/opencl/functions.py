"""Operators as functions on pyopencl's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyopencl as cl
from pyopencl.array import Array

from ogive.devices.functions import DeviceCall
from ogive.devices.kernels import Placed
from ogive.errors import ArgumentError, DeviceError, described, message
from ogive.opencl.hardware import why_not
from ogive.opencl.opencl_driver import OpenCLDriver, placed_array, wrapped_array
from ogive.operators.operator import Operator

__all__ = ["function"]


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
