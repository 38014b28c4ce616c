"""The CUDA devices that are there: they hold arrays, and run functions, models and DirectML's devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cuda.bindings import driver as cu

from ogive.cuda.cuda_arrays import DeviceArray, is_array, placed_array, stream_of, wrapped_array
from ogive.cuda.cuda_driver import CudaDriver, CudaError, asked
from ogive.devices.device_plan import copied
from ogive.devices.functions import DeviceCall, host_array
from ogive.devices.kernels import Placed
from ogive.errors import ArgumentError, DeviceError, described, message
from ogive.operators.operator import Operator


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


class Device:
    """A CUDA device by its number. Its arrays have ``__cuda_array_interface__``; it works on the default stream."""

    why_not = ""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<{self.name}: {self.model}>"

    @property
    def name(self) -> str:
        """As ``ogive devices`` shows it."""
        return f"cuda:{self.number}"

    @property
    def model(self) -> str:
        """Its maker's name of it."""
        found: bytes = asked(cu.cuDeviceGetName, 256, asked(cu.cuDeviceGet, self.number))
        return found.partition(b"\0")[0].decode()

    @property
    def platform(self) -> str:
        """The driver's version."""
        return f"CUDA {asked(cu.cuDriverGetVersion) / 1000:.1f}"

    @property
    def memory(self) -> int:
        """Bytes of its memory."""
        return int(asked(cu.cuDeviceTotalMem, asked(cu.cuDeviceGet, self.number)))

    def array(self, values: Any) -> DeviceArray:
        """A copy of an array of NumPy on the device."""
        array, driver = host_array(self.name, values), self.driver()
        with driver.failures(self.name, f"an array of shape {array.shape}"):
            return DeviceArray(driver, copied(driver, array))

    def function(self, operator: Operator) -> Callable[..., Any]:
        """An operator as a function of the device's arrays: ``ogive.cuda.function``."""
        return function(operator)

    # ---- what models and DirectML's devices ask

    def driver(self) -> CudaDriver:
        """Its default stream as kernels take it."""
        return CudaDriver(self.number, 0)

    def holds(self, value: Any) -> bool:
        """Tell whether an array lies on a CUDA device."""
        return is_array(value)

    def placed(self, subject: str, name: str, array: Any) -> Placed:
        """The address of an array. Refuses one of another device."""
        placed, number = placed_array(subject, name, array)
        if number != self.number:
            raise ArgumentError(message(subject, f"{name} lies on cuda:{number}", f"arrays of {self.name}"))
        return placed

    def wrapped(self, placed: Placed) -> DeviceArray:
        """An array over memory of the device."""
        return DeviceArray(self.driver(), placed)


def devices() -> list[Device]:
    """The CUDA devices of this machine. An empty list where there is no driver."""
    try:
        asked(cu.cuInit, 0)
        return [Device(number) for number in range(asked(cu.cuDeviceGetCount))]
    except CudaError:
        return []
