"""The CUDA devices that are there: they hold arrays, and run functions, models and DirectML's devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda.bindings import driver as cu

from ogive.cuda.cuda_arrays import DeviceArray, is_array, placed_array
from ogive.cuda.cuda_driver import CudaDriver, CudaError, asked
from ogive.cuda.functions import function
from ogive.devices.device_plan import copied
from ogive.devices.functions import host_array
from ogive.devices.kernels import Placed
from ogive.errors import ArgumentError, message
from ogive.operators.operator import Operator

__all__ = ["Device", "devices"]


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
