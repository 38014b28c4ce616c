"""CUDA's driver of kernels: NVRTC compiles them for the device's architecture, and the machine code is kept on disk."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from cuda.bindings import driver as cu
from cuda.bindings import nvrtc

from ogive.backends.dialects import CUDA
from ogive.devices.kernels import failure
from ogive.runtime import cache

#: Threads of a block.
BLOCK = 128

#: Bytes of a device's memory that the pool keeps for the next arrays. Memory that it has given back takes a millisecond to get.
KEPT = 1 << 29


class CudaError(Exception):
    """An error of the driver or of the compiler."""

    def __init__(self, text: str, *, is_of_memory: bool = False) -> None:
        super().__init__(text)
        self.is_of_memory = is_of_memory


def asked(function: Callable[..., Any], *arguments: Any) -> Any:
    """The results that a function of cuda.bindings gives behind its status."""
    try:
        status, *rest = function(*arguments)
    except RuntimeError as error:  # cuda.bindings does not find the library
        raise CudaError("NVIDIA's driver is not installed") from error
    if int(status):
        if isinstance(status, cu.CUresult):
            _, said = cu.cuGetErrorString(status)
            text = said.decode() if said else str(status)
            raise CudaError(text, is_of_memory=status == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY)
        raise CudaError(str(status))
    return rest[0] if rest else None


@lru_cache(maxsize=64)
def _context_of(number: int) -> tuple[Any, str]:
    """The primary context of a device, which other libraries share, and the architecture that NVRTC compiles for."""
    asked(cu.cuInit, 0)
    device = asked(cu.cuDeviceGet, number)
    kind = cu.CUdevice_attribute
    major, minor = (
        asked(cu.cuDeviceGetAttribute, attribute, device)
        for attribute in (
            kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return asked(cu.cuDevicePrimaryCtxRetain, device), f"sm_{major}{minor}"


@lru_cache(maxsize=64)
def _pool_of(number: int) -> Any:
    """A pool of a device's memory of our own: others' pools stay as they are."""
    wanted = cu.CUmemPoolProps()
    wanted.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.location.id = number
    pool = asked(cu.cuMemPoolCreate, wanted)
    attribute = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    asked(cu.cuMemPoolSetAttribute, pool, attribute, cu.cuuint64_t(KEPT))
    return pool


@contextlib.contextmanager
def current(number: int) -> Iterator[None]:
    """Have the context of a device be that of this thread."""
    asked(cu.cuCtxPushCurrent, _context_of(number)[0])
    try:
        yield
    finally:
        asked(cu.cuCtxPopCurrent)


class CudaMemory:
    """Memory of a device from ``pointer`` on, which ``owner`` keeps."""

    __slots__ = ("owner", "pointer")

    def __init__(self, pointer: int, owner: Any) -> None:
        self.pointer, self.owner = pointer, owner


class _Pooled:
    """Memory of the device's pool, given back in the order of the stream."""

    __slots__ = ("number", "owner", "pointer", "stream")

    def __init__(self, number: int, stream: int, owner: Any, size: int) -> None:
        self.number, self.stream, self.owner = number, stream, owner
        self.pointer = 0
        self.pointer = int(asked(cu.cuMemAllocFromPoolAsync, size, _pool_of(number), stream))

    def __del__(self) -> None:
        if self.pointer:
            with contextlib.suppress(CudaError), current(self.number):  # a lost context has lost its memory
                asked(cu.cuMemFreeAsync, self.pointer, self.stream)


class CudaDriver:
    """A stream of the device of this number. Memory comes from a pool, in the order of the stream.

    ``owner`` is the library's object of the stream: memory is given back in its order, so it lives as long as this.
    """

    dialect = CUDA

    def __init__(self, number: int, stream: int, owner: Any = None) -> None:
        self.number, self.stream, self.owner = number, stream, owner

    @property
    def key(self) -> Hashable:
        return "cuda", self.number

    def compiled(self, text: str, names: Sequence[str]) -> Sequence[Any]:
        module = asked(cu.cuModuleLoadData, _machine_code(text, _context_of(self.number)[1]))
        return [asked(cu.cuModuleGetFunction, module, name.encode()) for name in names]

    def allocate(self, size: int) -> CudaMemory:
        owner = _Pooled(self.number, self.stream, self.owner, max(size, 1))
        return CudaMemory(owner.pointer, owner)

    def write(self, memory: CudaMemory, array: np.ndarray) -> None:
        # From memory that is not pinned: the driver has copied it to a place of its own when this returns.
        asked(cu.cuMemcpyHtoDAsync, memory.pointer, array.ctypes.data, array.nbytes, self.stream)

    def read(self, memory: CudaMemory, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        asked(cu.cuMemcpyDtoHAsync, data.ctypes.data, memory.pointer, size, self.stream)
        asked(cu.cuStreamSynchronize, self.stream)
        return data

    def launch(self, function: Any, items: int, arguments: Sequence[Any]) -> None:
        values = [np.array(a.pointer if isinstance(a, CudaMemory) else a) for a in arguments]
        places = np.array([value.ctypes.data for value in values], np.uint64)
        blocks = -(-items // BLOCK)
        asked(cu.cuLaunchKernel, function, blocks, 1, 1, BLOCK, 1, 1, 0, self.stream, places.ctypes.data, 0)

    @contextlib.contextmanager
    def failures(self, subject: str, what: str) -> Iterator[None]:
        try:
            with current(self.number):
                yield
        except CudaError as error:
            raise failure(subject, f"cuda:{self.number}", str(error), what if error.is_of_memory else "") from error


def _machine_code(text: str, architecture: str) -> bytes:
    """A text compiled, from the disk or by NVRTC."""
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:  # the library is not found
        raise CudaError("NVRTC is not installed; pip install nvidia-cuda-nvrtc-cu12 brings it") from error
    name = cache.key("cubin", architecture, f"{major}.{minor}", text)
    known = cache.load_note(name)
    if known is not None:
        return base64.b64decode(known["code"])
    program = asked(nvrtc.nvrtcCreateProgram, text.encode(), b"ogive.cu", 0, [], [])
    options = [f"--gpu-architecture={architecture}".encode(), b"--fmad=false"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status):
        log = b" " * asked(nvrtc.nvrtcGetProgramLogSize, program)
        asked(nvrtc.nvrtcGetProgramLog, program, log)
        lines = log.decode(errors="replace").splitlines()
        raise CudaError(next((" ".join(line.split()) for line in lines if "error" in line), str(status)))
    code: bytes = b" " * asked(nvrtc.nvrtcGetCUBINSize, program)
    asked(nvrtc.nvrtcGetCUBIN, program, code)
    nvrtc.nvrtcDestroyProgram(program)
    cache.store_note(name, {"code": base64.b64encode(code).decode()})
    return code
