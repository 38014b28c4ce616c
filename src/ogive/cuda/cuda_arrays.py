"""Arrays on CUDA devices: whatever has ``__cuda_array_interface__``, PyTorch's tensors, and DLPack through either library."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from cuda.bindings import driver as cu

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.cuda.cuda_driver import CudaDriver, CudaMemory, asked, current
from ogive.devices.kernels import Placed
from ogive.errors import ArgumentError, DTypeError, described, message


class DeviceArray:
    """An array on a CUDA device; CuPy, PyTorch and Numba take it without a copy. ``get()`` copies it to the host."""

    def __init__(self, driver: CudaDriver, placed: Placed) -> None:
        self.driver, self.placed = driver, placed
        self.shape, self.dtype = placed.shape, placed.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        placed = self.placed
        return {
            "shape": placed.shape,
            "strides": placed.strides,
            "typestr": placed.dtype.str,
            "data": (placed.memory.pointer + placed.start, False),
            "version": 3,
            "stream": self.driver.stream or 1,
        }

    def get(self) -> np.ndarray:
        """A copy for the host."""
        with self.driver.failures("get", "nothing"):
            return np.array(self.placed.on_host(self.driver), order="C")

    def __repr__(self) -> str:
        return f"<array of cuda:{self.driver.number}: {self.dtype}, shape {self.shape}>"


def is_array(value: Any) -> bool:
    """Whether it lies on a CUDA device."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return on_cuda(value)
    if hasattr(value, "__cuda_array_interface__"):
        return True
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and int(device()[0]) == 2  # kDLCUDA


def on_cuda(tensor: Any) -> bool:
    """Whether a tensor of PyTorch lies on a CUDA device."""
    return bool(tensor.is_cuda)


def placed_array(subject: str, name: str, array: Any) -> tuple[Placed, int]:
    """The address of an array, and its device. Work that its library has on another stream is waited for."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _of_torch(subject, name, array)
    if not hasattr(array, "__cuda_array_interface__"):
        library = sys.modules.get("cupy") or torch
        if library is None:
            way_out = "Import cupy or torch first, which read DLPack's capsules"
            raise ArgumentError(message(subject, f"{name} is {described(array)}", "", way_out))
        return placed_array(subject, name, library.from_dlpack(array))
    given = array.__cuda_array_interface__
    if given.get("mask") is not None:
        raise ArgumentError(message(subject, f"{name} has a mask", "arrays without one"))
    dtype, shape, strides = np.dtype(given["typestr"]), tuple(given["shape"]), given.get("strides")
    if given.get("stream"):
        with current(0):
            asked(cu.cuStreamSynchronize, given["stream"])
    if isinstance(array, DeviceArray):  # it knows its bfloat16, for which the interface has no name
        return array.placed, array.driver.number
    return _placed(array, int(given["data"][0]), dtype, shape, strides)


def _of_torch(subject: str, name: str, tensor: Any) -> tuple[Placed, int]:
    kind = ELEMENT_TYPES.get(str(tensor.dtype).removeprefix("torch."))
    if kind is None:
        way_out = f"Convert it first: {name}.to(...)"
        raise DTypeError(message(subject, f"{name} has dtype {tensor.dtype}", "", way_out))
    tensor = tensor.detach().resolve_conj().resolve_neg()
    strides = tuple(step * kind.itemsize for step in tensor.stride())
    return _placed(tensor, tensor.data_ptr(), kind.numpy, tuple(tensor.shape), strides)


def _placed(
    owner: Any, pointer: int, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...] | None
) -> tuple[Placed, int]:
    if strides is None:
        strides = tuple(int(np.prod(shape[d + 1 :], dtype=np.int64)) * dtype.itemsize for d in range(len(shape)))
    number = 0
    if pointer:  # an array without elements may have none
        kind = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        with current(0):  # of any device
            number = int(asked(cu.cuPointerGetAttribute, kind, pointer))
    before = sum((n - 1) * -step for n, step in zip(shape, strides, strict=True) if step < 0 and n)
    return Placed(CudaMemory(pointer - before, owner), dtype, shape, tuple(strides), before), number


def stream_of(like: Any, number: int) -> Any:
    """The object of the stream on which an array's library works now; 0 of a library without streams."""
    module = type(like).__module__.partition(".")[0]
    if module == "torch":
        return sys.modules["torch"].cuda.current_stream(number)
    if module == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream()
    return 0


def wrapped_array(driver: CudaDriver, placed: Placed, like: Any) -> Any:
    """An array of the library that another one is of."""
    made = DeviceArray(driver, placed)
    module = type(like).__module__.partition(".")[0]
    if module == "cupy":
        return sys.modules["cupy"].asarray(made)
    if module != "torch":
        return made
    torch = sys.modules["torch"]
    kind = getattr(torch, placed.dtype.name)
    # By the bits, since the interface has no bfloat16.
    bits = np.dtype(f"i{placed.dtype.itemsize}")
    tensor = torch.as_tensor(DeviceArray(driver, placed._replace(dtype=bits)), device=like.device)
    return tensor.view(kind)
