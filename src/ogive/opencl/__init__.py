"""Every operator as a function on pyopencl's arrays: ``ogive.opencl.gelu(x)`` (docs/arrays.md).

``open_devices.py`` lists the devices and makes the functions, ``hardware.py`` says what a device can. ``opencl_driver.py`` is what
ogive.devices runs kernels by; ogive.backends.device_text has their text.
"""

from __future__ import annotations

from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.other_names import found_here
from ogive.errors import needed

with needed("ogive.opencl", "'ogive[opencl]'", "pyopencl", "pytools"):
    from ogive.opencl.open_devices import Device, devices, function

__all__ = ["Device", "devices", "function", *OPERATORS]


def __getattr__(name: str) -> Any:
    return found_here(__name__, name, function)


def __dir__() -> list[str]:
    return sorted(__all__)
