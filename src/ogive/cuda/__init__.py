"""Every operator as a function on arrays of CUDA devices: ``ogive.cuda.gelu(x)`` (docs/arrays.md).

The kernels' text is compiled by NVRTC in tests, and runs there on the processor behind a stub of the driver. An NVIDIA H200 has run it
(`python -m tests.device_bits cuda:0`).
"""

from __future__ import annotations

from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.other_names import found_here
from ogive.errors import needed

with needed("ogive.cuda", "'ogive[cuda]'", "cuda-bindings", "cuda"):
    from ogive.cuda.open_cuda import Device, devices, function

__all__ = ["Device", "devices", "function", *OPERATORS]


def __getattr__(name: str) -> Any:
    return found_here(__name__, name, function)


def __dir__() -> list[str]:
    return sorted(__all__)
