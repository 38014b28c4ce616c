"""ONNX Runtime's C interface, through ctypes: the functions that an execution provider calls.

ONNX Runtime's wheels have no headers. Its table of functions only grows, so that a function keeps its place in every
version; the places here are those of version 1.23, in which plug-in providers came.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

import numpy as np
from onnx import helper

from ogive.forking import cached_property

__all__ = ["VERSION", "OrtInterface"]

#: Of the interface; what later versions have added is not used.
VERSION = 23

#: The functions that return a status, NULL for success: their places, and what they take.
FUNCTIONS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "GetTensorMutableData": (51, (c_void_p, POINTER(c_void_p))),
    "CastTypeInfoToTensorInfo": (55, (c_void_p, POINTER(c_void_p))),
    "GetTensorElementType": (60, (c_void_p, POINTER(c_int))),
    "GetDimensionsCount": (61, (c_void_p, POINTER(c_size_t))),
    "GetDimensions": (62, (c_void_p, POINTER(c_int64), c_size_t)),
    "GetSymbolicDimensions": (63, (c_void_p, POINTER(c_char_p), c_size_t)),
    "GetTensorTypeAndShape": (65, (c_void_p, POINTER(c_void_p))),
    "GetSessionConfigEntry": (238, (c_void_p, c_char_p, c_char_p, POINTER(c_size_t))),
    "ReadOpAttr": (272, (c_void_p, c_int, c_void_p, c_size_t, POINTER(c_size_t))),
    "GetValueInfoName": (289, (c_void_p, POINTER(c_char_p))),
    "GetValueInfoTypeInfo": (290, (c_void_p, POINTER(c_void_p))),
    "ValueInfo_GetInitializerValue": (326, (c_void_p, POINTER(c_void_p))),
    "ValueInfo_IsConstantInitializer": (331, (c_void_p, POINTER(c_bool))),
    "Graph_GetNumOperatorSets": (336, (c_void_p, POINTER(c_size_t))),
    "Graph_GetOperatorSets": (337, (c_void_p, POINTER(c_char_p), POINTER(c_int64), c_size_t)),
    "Graph_GetNumInputs": (338, (c_void_p, POINTER(c_size_t))),
    "Graph_GetInputs": (339, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Graph_GetNumOutputs": (340, (c_void_p, POINTER(c_size_t))),
    "Graph_GetOutputs": (341, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Graph_GetNumInitializers": (342, (c_void_p, POINTER(c_size_t))),
    "Graph_GetInitializers": (343, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Graph_GetNumNodes": (344, (c_void_p, POINTER(c_size_t))),
    "Graph_GetNodes": (345, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Node_GetOperatorType": (350, (c_void_p, POINTER(c_char_p))),
    "Node_GetDomain": (351, (c_void_p, POINTER(c_char_p))),
    "Node_GetNumInputs": (353, (c_void_p, POINTER(c_size_t))),
    "Node_GetInputs": (354, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Node_GetNumOutputs": (355, (c_void_p, POINTER(c_size_t))),
    "Node_GetOutputs": (356, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Node_GetNumImplicitInputs": (357, (c_void_p, POINTER(c_size_t))),
    "Node_GetImplicitInputs": (358, (c_void_p, POINTER(c_void_p), c_size_t)),
    "Node_GetNumAttributes": (359, (c_void_p, POINTER(c_size_t))),
    "Node_GetAttributes": (360, (c_void_p, POINTER(c_void_p), c_size_t)),
    "OpAttr_GetTensorAttributeAsOrtValue": (362, (c_void_p, POINTER(c_void_p))),
    "OpAttr_GetType": (363, (c_void_p, POINTER(c_int))),
    "OpAttr_GetName": (364, (c_void_p, POINTER(c_char_p))),
    "Node_GetNumSubgraphs": (365, (c_void_p, POINTER(c_size_t))),
}

#: The functions that release what another one has made.
RELEASE_STATUS, RELEASE_VALUE, RELEASE_SHAPE = 93, 96, 99

CREATE_STATUS, GET_MESSAGE, DEVICE_TYPE, GET_PROVIDER_TABLE = 0, 2, 307, 317

#: The table of functions for providers: `EpGraphSupportInfo_AddNodesToFuse` and `CreateEpDevice`.
CREATE_DEVICE, ADD_NODES = 0, 2

#: Its numbers of the kinds of attributes.
_INT, _INTS, _FLOAT, _FLOATS, _STRING, _STRINGS, _GRAPH, _TENSOR = range(1, 9)


class OrtInterface:
    """The table of functions of a running ONNX Runtime, from the address of its ``OrtApiBase``."""

    def __init__(self, base: int) -> None:
        get_api = CFUNCTYPE(c_void_p, c_uint32)(c_void_p.from_address(base).value or 0)
        #: The address of the table.
        self.address: int = get_api(VERSION)

    def _at(self, place: int, table: int | None = None) -> int:
        return c_void_p.from_address((table or self.address) + place * ctypes.sizeof(c_void_p)).value or 0

    @cached_property
    def _functions(self) -> dict[str, Callable[..., int | None]]:
        return {name: CFUNCTYPE(c_void_p, *takes)(self._at(place)) for name, (place, takes) in FUNCTIONS.items()}

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raises RuntimeError with its message if it fails."""
        status = self._functions[name](*arguments)
        if status:
            text = CFUNCTYPE(c_char_p, c_void_p)(self._at(GET_MESSAGE))(status)
            self._release(RELEASE_STATUS, status)
            raise RuntimeError(f"ONNX Runtime, {name}: {(text or b'').decode(errors='replace')}")

    def get(self, kind: Any, name: str, *arguments: Any) -> Any:
        """What a function gives by its last argument."""
        result = kind()
        self.call(name, *arguments, ctypes.byref(result))
        return result.value

    def listed(self, owner: int, count: str, items: str) -> list[int]:
        """The addresses that a function lists, with the function that counts them."""
        number = self.get(c_size_t, count, owner)
        found = (c_void_p * max(number, 1))()
        self.call(items, owner, found, number)
        return [address or 0 for address in found[:number]]

    def status(self, text: str) -> int:
        """A status that says what failed."""
        made: int = CFUNCTYPE(c_void_p, c_int, c_char_p)(self._at(CREATE_STATUS))(1, text.encode())
        return made

    def _release(self, place: int, address: int) -> None:
        CFUNCTYPE(None, c_void_p)(self._at(place))(address)

    # ---- for providers

    @cached_property
    def _provider_table(self) -> int:
        table: int = CFUNCTYPE(c_void_p)(self._at(GET_PROVIDER_TABLE))()
        return table

    def is_processor(self, device: int) -> bool:
        """Whether a device is the CPU."""
        return bool(CFUNCTYPE(c_int, c_void_p)(self._at(DEVICE_TYPE))(device) == 0)

    def create_device(self, factory: int, device: int) -> int:
        """An ``OrtEpDevice`` of the factory on a device."""
        made = c_void_p()
        create = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
        status = create(self._at(CREATE_DEVICE, self._provider_table))(factory, device, None, None, ctypes.byref(made))
        if status:
            self._release(RELEASE_STATUS, status)
            raise RuntimeError("ONNX Runtime, CreateEpDevice failed")
        return made.value or 0

    def fuse(self, support: int, nodes: Sequence[int]) -> None:
        """Claim nodes, which become one."""
        given = (c_void_p * len(nodes))(*nodes)
        add = CFUNCTYPE(c_void_p, c_void_p, POINTER(c_void_p), c_size_t, c_void_p)
        status = add(self._at(ADD_NODES, self._provider_table))(support, given, len(nodes), None)
        if status:
            self._release(RELEASE_STATUS, status)
            raise RuntimeError("ONNX Runtime, EpGraphSupportInfo_AddNodesToFuse failed")

    # ---- values and attributes

    def text(self, name: str, address: int) -> str:
        """A text that a function gives."""
        found: bytes | None = self.get(c_char_p, name, address)
        return (found or b"").decode()

    def tensor_type(self, value_info: int) -> tuple[int, list[int | str | None]] | None:
        """The element type's number in ONNX and the shape of a value; None for what is no tensor."""
        info = self.get(c_void_p, "GetValueInfoTypeInfo", value_info)  # the value's own
        tensor = self.get(c_void_p, "CastTypeInfoToTensorInfo", info) if info else None
        if not tensor:
            return None
        rank = self.get(c_size_t, "GetDimensionsCount", tensor)
        sizes, names = (c_int64 * max(rank, 1))(), (c_char_p * max(rank, 1))()
        self.call("GetDimensions", tensor, sizes, rank)
        self.call("GetSymbolicDimensions", tensor, names, rank)
        shape = [
            int(size) if size >= 0 else (name.decode() if name else None)
            for size, name in zip(sizes[:rank], names[:rank], strict=True)
        ]
        return self.get(c_int, "GetTensorElementType", tensor), shape

    def array(self, value: int) -> np.ndarray | None:
        """A copy of a tensor; None for texts."""
        shape = self.get(c_void_p, "GetTensorTypeAndShape", value)
        try:
            kind = self.get(c_int, "GetTensorElementType", shape)
            rank = self.get(c_size_t, "GetDimensionsCount", shape)
            sizes = (c_int64 * max(rank, 1))()
            self.call("GetDimensions", shape, sizes, rank)
        finally:
            self._release(RELEASE_SHAPE, shape)
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
        if dtype.hasobject or dtype.kind in "SU":
            return None
        array = np.empty(tuple(sizes[:rank]), dtype)
        if array.size:
            ctypes.memmove(array.ctypes.data, self.get(c_void_p, "GetTensorMutableData", value), array.nbytes)
        return array

    def attribute(self, address: int) -> tuple[str, Any]:
        """The name and the value of a node's attribute; an array for a tensor. Raises RuntimeError for a graph."""
        name, kind = self.text("OpAttr_GetName", address), self.get(c_int, "OpAttr_GetType", address)
        if kind == _TENSOR:
            value = self.get(c_void_p, "OpAttr_GetTensorAttributeAsOrtValue", address)
            try:
                return name, self.array(value)
            finally:
                self._release(RELEASE_VALUE, value)
        size = 1 << 16
        buffer, needed = ctypes.create_string_buffer(size), c_size_t()
        self.call("ReadOpAttr", address, kind, buffer, size, ctypes.byref(needed))
        if kind in (_STRING, _STRINGS):
            texts = [part.decode() for part in buffer.raw[: needed.value].split(b"\0")]
            return name, texts[0] if kind == _STRING else [text for text in texts if text]
        elements = np.frombuffer(buffer.raw, np.int64 if kind in (_INT, _INTS) else np.float32)
        numbers = elements[: needed.value // elements.itemsize].tolist()
        return name, numbers if kind in (_INTS, _FLOATS) else numbers[0]
