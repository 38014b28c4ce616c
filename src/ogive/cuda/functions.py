"""Operators as functions on arrays of CUDA devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ogive.cuda.cuda_arrays import is_array, placed_array, stream_of, wrapped_array
from ogive.cuda.cuda_driver import CudaDriver, CudaError
from ogive.devices.functions import DeviceCall
from ogive.devices.kernels import Placed
from ogive.errors import ArgumentError, DeviceError, described, message
from ogive.operators.operator import Operator

__all__ = ["function"]


@lru_cache(maxsize=1024)
def function(operator: Operator) -> Callable[..., Any]:
    """An operator as a function on arrays of a CUDA device: CuPy's, PyTorch's tensors, what has ``__cuda_array_interface__``.

    ``function(op)(*tensors, stream=None, **parameters)``: tensors are arrays of one device, with any strides, and numbers,
    which NumPy's rules turn into elements; at least one is an array. They broadcast, and their element types become the
    operator's, as with NumPy's arrays. Results are new arrays of the first array's library, on its current stream unless
    ``stream`` says another: an object of CuPy's or PyTorch's, or the number of a stream that outlives them. They have the
    bits of the operator on NumPy's arrays.

    An operator over rows takes ``axis`` too, by default the last one.

    Raises ArgumentError for what is no operator; calls raise ArgumentError, DTypeError, ShapeError, ParameterError or
    DeviceError, and leave the arrays as they were.

    >>> import ogive
    >>> ogive.cuda.function(ogive.gelu).__name__  # doctest: +SKIP
    'gelu'
    """
    return _CudaCall.function(operator)


class _CudaCall(DeviceCall):
    MODULE, ARRAYS, WHERE = "ogive.cuda", "arrays of a CUDA device", "stream"
    WAY_IN = "cupy.asarray(x), or torch.from_numpy(x).cuda(), brings an array of NumPy to the device"
    WAY_OUT = "{0}.get()"

    driver: CudaDriver

    def is_array(self, tensor: Any) -> bool:
        return is_array(tensor)

    def driver_of(self, where: Any) -> CudaDriver:
        try:
            found = [placed_array(self.subject, "an array", array)[1] for array in self.arrays]
            if len(set(found)) > 1:
                listed = " and ".join(f"cuda:{number}" for number in sorted(set(found)))
                raise ArgumentError(message(self.subject, f"the arrays lie on {listed}", "one device"))
            owner = stream_of(self.arrays[0], found[0]) if where is None else where
            stream = self._stream(owner)
        except CudaError as error:
            raise DeviceError(
                message(self.subject, f"CUDA failed ({error})", "", "The arrays are as they were")
            ) from error
        return CudaDriver(found[0], stream, owner)

    def _stream(self, given: Any) -> int:
        for name in ("cuda_stream", "ptr"):
            given = getattr(given, name, given)
        if isinstance(given, bool) or not isinstance(given, int):
            raise ArgumentError(message(self.subject, f"stream is {described(given)}", "a stream, or its number"))
        return given

    def placed(self, name: str, array: Any) -> Placed:
        return placed_array(self.subject, name, array)[0]

    def wrapped(self, placed: Placed) -> Any:
        return wrapped_array(self.driver, placed, self.arrays[0])
