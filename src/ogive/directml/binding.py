"""Bindings: what of which buffer an operator reads and writes, and the rules for them.

`slots` are what an operator needs; a binding fills one of them with a `Region` of memory. Everything is
checked on unbounded integers before any memory is touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ogive.directml.enumerations import CONSTANTS, DML_BINDING_TYPE
from ogive.directml.results import refuse
from ogive.directml.structure import CONVERTERS, Structure, StructureMember, arrays
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, element_type, view
from ogive.errors import described


class Region:
    """A range of a buffer. ``size`` is what counts of it, which may be less than what was bound."""

    __slots__ = ("address", "memory", "offset", "size")

    def __init__(self, memory: np.ndarray, offset: int, size: int) -> None:
        self.memory = memory
        self.offset = offset
        self.size = size
        self.address: int = memory.__array_interface__["data"][0] + offset

    def overlaps(self, other: Region) -> bool:
        return self.address < other.address + other.size and other.address < self.address + self.size

    def is_same(self, other: Region) -> bool:
        return self.address == other.address and self.size == other.size


def bytes_of(subject: str, name: str, buffer: Any) -> np.ndarray:
    """The bytes of a buffer as a one-dimensional array that shares its memory, and its being read-only.

    Whoever holds the array keeps the memory: a bytearray cannot be resized nor an mmap closed meanwhile.
    """
    if isinstance(buffer, np.ndarray):
        array = np.asarray(buffer)
        if array.dtype.hasobject or array.dtype.itemsize == 0:
            refuse(subject, f"{name} is an array of dtype {array.dtype}", "arrays of numbers or bytes", member=name)
        contiguous = array.flags.c_contiguous
    else:
        try:
            exported = memoryview(buffer)
        except TypeError:
            allowed = "NumPy arrays, bytearray, memoryview, mmap and other objects with a buffer"
            refuse(subject, f"{name} is {described(buffer)}", allowed, member=name)
        if "O" in re.sub(":[^:]*:", "", exported.format):
            refuse(subject, f"{name} holds Python objects", "buffers of numbers or bytes", member=name)
        contiguous = exported.c_contiguous
    if not contiguous:
        refuse(
            subject,
            f"{name} is not contiguous in memory",
            "contiguous buffers",
            "Bind the whole buffer and give the desc Strides, or copy it with numpy.ascontiguousarray",
            member=name,
        )
    if isinstance(buffer, np.ndarray):
        return array.reshape(-1).view(np.uint8)
    return np.frombuffer(exported, np.uint8) if exported.nbytes else np.empty(0, np.uint8)


_LEAST_ALIGNMENT = CONSTANTS["DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT"]


class DML_BUFFER_BINDING(Structure):
    """A range of a buffer: any object with a contiguous buffer, such as a NumPy array, a bytearray or an mmap.

    ``Offset`` and ``SizeInBytes`` are in bytes; SizeInBytes is by default all that follows Offset. Buffer
    None binds nothing.

    >>> import ogive.directml as dml
    >>> dml.DML_BUFFER_BINDING(bytearray(64), Offset=16)
    DML_BUFFER_BINDING(Buffer=<bytearray, 64 bytes>, Offset=16, SizeInBytes=48)

    Source: DML_BUFFER_BINDING (DirectML 1.0).
    """

    MEMBERS = (
        StructureMember("Buffer", "BUFFER", nullable=True),
        StructureMember("Offset", "UINT64", 0),
        StructureMember("SizeInBytes", "UINT64", None, nullable=True),
    )
    __slots__ = ("Buffer", "Offset", "SizeInBytes", "memory")

    def _check(self) -> None:
        name = type(self).__name__
        if self.Buffer is None:
            if self.Offset or self.SizeInBytes:
                what = f"Buffer is None with Offset {self.Offset} and SizeInBytes {self.SizeInBytes}"
                refuse(name, what, "0 for both", member="Buffer")
            object.__setattr__(self, "SizeInBytes", 0)
            object.__setattr__(self, "memory", None)
            return
        memory = bytes_of(name, "Buffer", self.Buffer)
        object.__setattr__(self, "memory", memory)
        if self.SizeInBytes is None:
            object.__setattr__(self, "SizeInBytes", max(memory.nbytes - self.Offset, 0))

    def __repr__(self) -> str:
        kind = type(self.Buffer).__name__
        buffer = "None" if self.Buffer is None else f"<{kind}, {self.memory.nbytes} bytes>"
        return f"{type(self).__name__}(Buffer={buffer}, Offset={self.Offset}, SizeInBytes={self.SizeInBytes})"


class DML_BUFFER_ARRAY_BINDING(Structure):
    """Several buffer bindings that belong together: the inputs of one operator in an initialiser.

    Source: DML_BUFFER_ARRAY_BINDING (DirectML 1.0).
    """

    MEMBERS = (StructureMember("Bindings", "DML_BUFFER_BINDING[]", ()),)
    __slots__ = ("Bindings",)


class DML_BINDING_DESC(Structure):
    """A binding with its type. Wherever this is wanted, the inner structure alone does as well, None stands for
    DML_BINDING_TYPE_NONE, and a buffer for a DML_BUFFER_BINDING of all of it.

    Source: DML_BINDING_DESC (DirectML 1.0).
    """

    MEMBERS = (StructureMember("Type", "DML_BINDING_TYPE"), StructureMember("Desc", "binding", None, nullable=True))
    __slots__ = ("Desc", "Type")

    def _check(self) -> None:
        wanted = _BINDING_TYPES[type(self.Desc)]
        if self.Type != wanted:
            shown = "None" if self.Desc is None else described(self.Desc)
            refuse(type(self).__name__, f"Type is {self.Type} where Desc is {shown}", str(wanted), member="Type")


class DML_BINDING_PROPERTIES(Structure):
    """The needs of a dispatchable besides its inputs and outputs. Source: DML_BINDING_PROPERTIES (DirectML 1.0)."""

    MEMBERS = (
        StructureMember("RequiredDescriptorCount", "UINT"),
        StructureMember("TemporaryResourceSize", "UINT64"),
        StructureMember("PersistentResourceSize", "UINT64"),
    )
    __slots__ = ("PersistentResourceSize", "RequiredDescriptorCount", "TemporaryResourceSize")


class DML_BINDING_TABLE_DESC(Structure):
    """The purpose of a binding table. There are no descriptor heaps here: the handles are kept and not used.

    ``SizeInDescriptors`` is by default what the dispatchable requires.
    Source: DML_BINDING_TABLE_DESC (DirectML 1.0).
    """

    MEMBERS = (
        StructureMember("Dispatchable", "OBJECT"),
        StructureMember("CPUDescriptorHandle", "OBJECT", None, nullable=True),
        StructureMember("GPUDescriptorHandle", "OBJECT", None, nullable=True),
        StructureMember("SizeInDescriptors", "UINT", None, nullable=True),
    )
    __slots__ = ("CPUDescriptorHandle", "Dispatchable", "GPUDescriptorHandle", "SizeInDescriptors")


_BINDING_TYPES: dict[type, Any] = {
    type(None): DML_BINDING_TYPE.NONE,
    DML_BUFFER_BINDING: DML_BINDING_TYPE.BUFFER,
    DML_BUFFER_ARRAY_BINDING: DML_BINDING_TYPE.BUFFER_ARRAY,
}


def unwrapped(value: Any) -> DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None:
    """A binding without what only wraps it; None binds nothing."""
    if isinstance(value, DML_BINDING_DESC):
        value = value.Desc
    if isinstance(value, DML_BUFFER_ARRAY_BINDING):
        return value
    if value is not None and not isinstance(value, DML_BUFFER_BINDING):
        value = DML_BUFFER_BINDING(value)
    return None if value is None or value.Buffer is None else value


def _buffer_binding(owner: str, name: str, value: Any) -> DML_BUFFER_BINDING:
    if value is None:
        return DML_BUFFER_BINDING(None)
    return value if isinstance(value, DML_BUFFER_BINDING) else DML_BUFFER_BINDING(value)


def _binding(owner: str, name: str, value: Any) -> Any:
    if not isinstance(value, DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING):
        what = f"{name} is {described(value)}"
        refuse(owner, what, "DML_BUFFER_BINDING, DML_BUFFER_ARRAY_BINDING or None", member=name)
    return value


CONVERTERS["OBJECT"] = lambda owner, name, value: value
CONVERTERS["DML_BUFFER_BINDING[]"] = arrays(_buffer_binding, "DML_BUFFER_BINDING")
CONVERTERS["binding"] = _binding


# ---- slots


class BindingSlot:
    """One input or output of an operator. ``views`` are the tensors that it is seen as; an absent one has none."""

    def __init__(self, name: str, views: Sequence[DML_BUFFER_TENSOR_DESC]) -> None:
        self.name = name
        self.views = tuple(views)
        self.is_absent = not views
        self.is_owned = any(desc.is_owned for desc in views)
        #: The size that must be bound: the largest TotalTensorSizeInBytes.
        self.size = max((int(desc.TotalTensorSizeInBytes) for desc in views), default=0)
        #: The bytes up to the end of the last element.
        self.used = max((desc.used_bytes for desc in views), default=0)
        alignments = [int(desc.GuaranteedBaseOffsetAlignment) for desc in views]
        self.alignment = max([_LEAST_ALIGNMENT, *alignments])
        kinds = [kind for desc in views if (kind := element_type(desc.DataType)) is not None]
        #: The properties of a NumPy array that is bound as it is.
        self.dtypes = tuple(dict.fromkeys(kind.numpy for kind in kinds))
        self.view = view(self.views[0], kinds[0]) if kinds else None


def bound_region(
    subject: str, name: str, binding: DML_BUFFER_BINDING, size: int, alignment: int, *, is_written: bool
) -> Region:
    """The region of a binding that is `size` bytes long, by DirectML's rules."""
    memory, offset, given = binding.memory, binding.Offset, binding.SizeInBytes
    if memory.nbytes % 4:
        what = f"{name} is bound to a buffer of {memory.nbytes} bytes"
        refuse(subject, what, "buffers whose size is a multiple of 4", "Round its size up", member=name)
    if offset % alignment:
        refuse(subject, f"{name} is bound at Offset {offset}", f"multiples of {alignment}", member=name)
    if offset + given > memory.nbytes:
        what = f"{name} is bound from {offset} to {offset + given} of a buffer of {memory.nbytes} bytes"
        refuse(subject, what, "a range inside the buffer", member=name)
    if given < size:
        refuse(subject, f"{name} is bound with SizeInBytes {given}", f"{size} or more", member=name)
    if is_written and not memory.flags.writeable:
        refuse(subject, f"{name} is bound to read-only memory", "writable buffers", member=name)
    return Region(memory, offset, size)


def loose_region(subject: str, slot: BindingSlot, buffer: Any, *, is_written: bool) -> Region:
    """The region for a buffer that was given as it is, where a NumPy array need not be padded to 4 bytes."""
    if isinstance(buffer, DML_BUFFER_BINDING):
        return bound_region(subject, slot.name, buffer, slot.size, slot.alignment, is_written=is_written)
    memory = bytes_of(subject, slot.name, buffer)
    if isinstance(buffer, np.ndarray) and buffer.dtype not in slot.dtypes and buffer.dtype != np.uint8:
        allowed = f"{' or '.join(map(str, slot.dtypes))}, or uint8 for bytes as they are"
        refuse(subject, f"{slot.name} is an array of {buffer.dtype}", allowed, "Convert it first", member=slot.name)
    if memory.nbytes < slot.used:
        what = f"{slot.name} has {memory.nbytes} bytes"
        refuse(subject, what, f"{slot.used} or more, for {slot.views[0]!r}", member=slot.name)
    if is_written and not memory.flags.writeable:
        refuse(subject, f"{slot.name} is read-only", "writable buffers", member=slot.name)
    return Region(memory, 0, min(slot.size, memory.nbytes))


# ---- hazards


class Regions(NamedTuple):
    """The memory of one dispatch."""

    inputs: Mapping[int, Region]
    outputs: Sequence[Region]
    temporary: Region | None
    persistent: Region | None


class Hazards(NamedTuple):
    """The inputs that the output may lie over: their numbers, and whether several of them at once."""

    in_place: frozenset[int] = frozenset()
    at_once: bool = False


def check_hazards(
    subject: str,
    hazards: Hazards,
    input_slots: Mapping[int, BindingSlot],
    output_slots: Sequence[BindingSlot],
    regions: Regions,
) -> None:
    """Refuse regions that overlap where that is not allowed."""
    inputs, outputs, temporary, persistent = regions
    written = [(slot.name, region) for slot, region in zip(output_slots, outputs, strict=True)]
    for i, (name, region) in enumerate(written):
        for other, earlier in written[:i]:
            if region.overlaps(earlier):
                refuse(subject, f"{name} and {other} overlap in memory", "outputs that do not overlap", member=name)
    for slot, output in zip(output_slots, outputs, strict=True):
        _check_inputs(subject, hazards, input_slots, slot, inputs, output)
    read = [(input_slots[index].name, region) for index, region in inputs.items()]
    if persistent is not None:
        _check_apart(subject, "the persistent resource", persistent, written)
    if temporary is not None:
        kept = [] if persistent is None else [("the persistent resource", persistent)]
        _check_apart(subject, "the temporary resource", temporary, [*written, *read, *kept])


def _check_apart(subject: str, name: str, region: Region, others: Sequence[tuple[str, Region]]) -> None:
    for other, taken in others:
        if region.overlaps(taken):
            refuse(subject, f"{name} and {other} overlap in memory", "memory of its own", member=other)


def _check_inputs(
    subject: str,
    hazards: Hazards,
    input_slots: Mapping[int, BindingSlot],
    output_slot: BindingSlot,
    inputs: Mapping[int, Region],
    output: Region,
) -> None:
    aliased = []
    for index, region in inputs.items():
        if not region.overlaps(output):
            continue
        slot, name = input_slots[index], output_slot.name
        if index not in hazards.in_place:
            may = ", ".join(input_slots[i].name for i in sorted(hazards.in_place) if i in input_slots)
            allowed = f"an output that may lie over {may} only" if may else "no input and output at one place"
            refuse(subject, f"{name} and {slot.name} overlap in memory", allowed, member=name)
        if not region.is_same(output):
            what = f"{name} and {slot.name} overlap in part"
            refuse(subject, what, "the same range for both (in place), or ranges apart", member=name)
        if slot.views[0].layout != output_slot.views[0].layout:
            what = f"{name} lies over {slot.name}, which has another layout"
            refuse(subject, what, "equal data types, sizes and strides in place", member=name)
        aliased.append(slot.name)
    if len(aliased) > 1 and not hazards.at_once:
        what = f"{output_slot.name} lies over {' and '.join(aliased)}"
        refuse(subject, what, "one of them", member=output_slot.name)
