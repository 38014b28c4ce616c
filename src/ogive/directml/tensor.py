"""Tensor descs: sizes, strides, and how many bytes that takes.

All arithmetic is on Python's integers, which do not overflow; DirectML's own helper wraps around at 2**32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.common.forking import cached_property
from ogive.directml.data import DATA_TYPES
from ogive.directml.enumerations import CONSTANTS, DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, DML_TENSOR_TYPE, short_name
from ogive.directml.results import refuse
from ogive.directml.structure import CONVERTERS, Structure, StructureMember, short, structures

_MOST_DIMENSIONS = CONSTANTS["DML_TENSOR_DIMENSION_COUNT_MAX1"]
_MOST_ELEMENTS = 2**32 - 1
_LARGEST_SIZE = 2**64 - 1

#: Ogive's element types by DirectML's names. The 4-bit types have none.
_ELEMENT_TYPES = {row.directml: row for row in ELEMENT_TYPES.values() if row.directml is not None}

Layout = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Data type, sizes and effective strides: tensors with equal layouts have their elements at equal places."""


def element_type(data_type: Any) -> ElementType | None:
    """Ogive's element type of a data type; None for the 4-bit types."""
    return _ELEMENT_TYPES.get(short_name(data_type))


def packed_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor without gaps, the last dimension innermost."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _size_in_bytes(bits: int, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """The bytes up to the end of the last element."""
    if strides is None:
        elements = math.prod(sizes)
    else:
        elements = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return (elements * bits + 7) // 8


def DMLCalcBufferTensorSize(dataType: Any, sizes: Sequence[int], strides: Sequence[int] | None = None) -> int:
    """The least TotalTensorSizeInBytes of a tensor: the bytes to its last element's end, rounded up to 4.

    >>> import ogive.directml as dml
    >>> dml.DMLCalcBufferTensorSize(dml.DML_TENSOR_DATA_TYPE_FLOAT16, [3])
    8
    >>> dml.DMLCalcBufferTensorSize(dml.DML_TENSOR_DATA_TYPE_FLOAT32, [2, 3], [16, 1])
    76

    Raises DMLError for what no tensor can have. DirectML's own helper returns 0, or a number that has
    wrapped around at 2**32.
    """
    desc = DML_BUFFER_TENSOR_DESC(DataType=dataType, Sizes=sizes, Strides=strides)
    return int(desc.TotalTensorSizeInBytes)


class DML_BUFFER_TENSOR_DESC(Structure):
    """A tensor in a buffer.

    ``DataType``: a DML_TENSOR_DATA_TYPE but UNKNOWN. ``Sizes``: 1 to 8 sizes from 1 on, 2**32 - 1 elements
    at most. ``Strides``: one for each size, in elements, from 0 on (0 repeats what is there: the one way to
    broadcast); None is packed, the last dimension innermost. ``Flags``: DML_TENSOR_FLAG_OWNED_BY_DML for an
    input that is bound when the operator is initialised. ``TotalTensorSizeInBytes``: at least
    `DMLCalcBufferTensorSize`, which is what None stands for. ``GuaranteedBaseOffsetAlignment``: 0, or a power
    of two from the size of an element on, of which every bound offset is a multiple.

    >>> import ogive.directml as dml
    >>> desc = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT16, Sizes=[1, 3])
    >>> desc
    DML_BUFFER_TENSOR_DESC(DataType=DML_TENSOR_DATA_TYPE_FLOAT16, Sizes=(1, 3))
    >>> desc.DimensionCount, desc.TotalTensorSizeInBytes
    (2, 8)

    Raises DMLError where a member breaks these rules; what a feature level allows is asked by
    `Device.CreateOperator`. Source: DML_BUFFER_TENSOR_DESC (DirectML 1.0; 8 dimensions from feature level 3_0).
    """

    MEMBERS = (
        StructureMember("DataType", "DML_TENSOR_DATA_TYPE"),
        StructureMember("Sizes", "UINT[]"),
        StructureMember("Strides", "UINT[]", None, nullable=True),
        StructureMember("Flags", "DML_TENSOR_FLAGS", DML_TENSOR_FLAGS.NONE),
        StructureMember("TotalTensorSizeInBytes", "UINT64", None, nullable=True),
        StructureMember("GuaranteedBaseOffsetAlignment", "UINT", 0),
    )
    # No slots: what is derived from the members is kept.

    def _check(self) -> None:
        subject = type(self).__name__
        if self.DataType == DML_TENSOR_DATA_TYPE.UNKNOWN:
            refuse(subject, f"DataType is {self.DataType}", "any other data type", member="DataType")
        if not 1 <= len(self.Sizes) <= _MOST_DIMENSIONS:
            what = f"DimensionCount (the length of Sizes) is {len(self.Sizes)}"
            refuse(subject, what, f"1 to {_MOST_DIMENSIONS}", member="Sizes")
        if 0 in self.Sizes:
            refuse(subject, f"Sizes is {self.Sizes}", "sizes from 1 on, in every dimension", member="Sizes")
        if math.prod(self.Sizes) > _MOST_ELEMENTS:
            what = f"Sizes is {self.Sizes}, which makes {math.prod(self.Sizes)} elements"
            refuse(subject, what, f"{_MOST_ELEMENTS} elements at most", member="Sizes")
        if self.Strides is not None and len(self.Strides) != len(self.Sizes):
            what = f"Strides is {short(self.Strides)} for Sizes {self.Sizes}"
            refuse(subject, what, "one stride for each size, or None", member="Strides")
        self._check_total()
        self._check_alignment()

    def _check_total(self) -> None:
        least = self.least_size_in_bytes
        if self.TotalTensorSizeInBytes is None:
            if least > _LARGEST_SIZE:
                what = f"Strides is {self.Strides}, with which the tensor takes {least} bytes"
                refuse(type(self).__name__, what, f"{_LARGEST_SIZE} bytes at most", member="Strides")
            object.__setattr__(self, "TotalTensorSizeInBytes", least)
        elif self.TotalTensorSizeInBytes < least:
            refuse(
                type(self).__name__,
                f"TotalTensorSizeInBytes is {self.TotalTensorSizeInBytes}",
                f"{least} or more for these sizes and strides",
                "None computes it",
                member="TotalTensorSizeInBytes",
            )

    def _check_alignment(self) -> None:
        alignment, least = self.GuaranteedBaseOffsetAlignment, (self.bits + 7) // 8
        if alignment and (alignment & (alignment - 1) or alignment < least):
            refuse(
                type(self).__name__,
                f"GuaranteedBaseOffsetAlignment is {alignment}",
                f"0, or a power of two from {least} on, which is the size of a {short_name(self.DataType)}",
                member="GuaranteedBaseOffsetAlignment",
            )

    @property
    def DimensionCount(self) -> int:
        """How many dimensions: the length of Sizes."""
        return len(self.Sizes)

    @property
    def is_owned(self) -> bool:
        """Whether the tensor is bound at initialisation."""
        return bool(self.Flags & DML_TENSOR_FLAGS.OWNED_BY_DML)

    @property
    def bits(self) -> int:
        """The bits of one element."""
        return DATA_TYPES[short_name(self.DataType)].bits

    @cached_property
    def used_bytes(self) -> int:
        """The bytes up to the end of the last element."""
        return _size_in_bytes(self.bits, self.Sizes, self.Strides)

    @property
    def least_size_in_bytes(self) -> int:
        """The size that `DMLCalcBufferTensorSize` gives for this tensor."""
        return (self.used_bytes + 3) & ~3

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements, also where Strides is None; 0 where a dimension has one element only."""
        strides = packed_strides(self.Sizes) if self.Strides is None else self.Strides
        return tuple(stride if size > 1 else 0 for size, stride in zip(self.Sizes, strides, strict=True))

    @property
    def layout(self) -> Layout:
        """The properties that two tensors must share to have their elements at the same places."""
        return int(self.DataType), self.Sizes, self.strides

    def __repr__(self) -> str:
        members = [f"DataType={self.DataType}", f"Sizes={self.Sizes}"]
        for member in self.MEMBERS[2:]:
            value = getattr(self, member.name)
            derived = member.name == "TotalTensorSizeInBytes" and value == self.least_size_in_bytes
            if value != member.default and not derived:
                members.append(f"{member.name}={value}")
        return f"{type(self).__name__}({', '.join(members)})"


class DML_TENSOR_DESC(Structure):
    """A tensor desc with its type, which is always DML_TENSOR_TYPE_BUFFER.

    Wherever this is wanted, the inner desc alone does as well. Source: DML_TENSOR_DESC (DirectML 1.0).
    """

    MEMBERS = (StructureMember("Type", "DML_TENSOR_TYPE"), StructureMember("Desc", "DML_BUFFER_TENSOR_DESC"))
    __slots__ = ("Desc", "Type")

    def _check(self) -> None:
        if self.Type != DML_TENSOR_TYPE.BUFFER:
            refuse("DML_TENSOR_DESC", f"Type is {self.Type}", "DML_TENSOR_TYPE_BUFFER", member="Type")


CONVERTERS["DML_BUFFER_TENSOR_DESC"] = structures(DML_BUFFER_TENSOR_DESC)
CONVERTERS["DML_TENSOR_DESC"] = structures(
    DML_BUFFER_TENSOR_DESC, unwrap=lambda value: value.Desc if isinstance(value, DML_TENSOR_DESC) else value
)


@lru_cache(maxsize=256)
def overlaps_itself(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether two elements of a tensor lie at one place.

    >>> overlaps_itself((2, 3), (3, 1)), overlaps_itself((2, 3), (2, 1)), overlaps_itself((2, 3), (3, 2))
    (False, True, False)

    That is so when some differences of indices, not all zero, make ``sum(difference * stride) == 0``. Strides
    that no sane layout has may need a long search; after 10,000 steps the answer is yes, to be safe.
    """
    axes = sorted((stride, size - 1) for size, stride in zip(sizes, strides, strict=True) if size > 1)
    if any(stride == 0 for stride, _ in axes):
        return True
    reach = [0]  # of the axes below each one
    for stride, most in axes:
        reach.append(reach[-1] + stride * most)
    if all(stride > reach[k] for k, (stride, _) in enumerate(axes)):
        return False
    steps = 0

    def finds(k: int, total: int, is_zero: bool) -> bool:
        nonlocal steps
        steps += 1
        if steps > 10_000:
            return True
        if k < 0:
            return total == 0 and not is_zero
        stride, most = axes[k]
        # The axes below must be able to make up for what is left.
        low = max(-most, -((total + reach[k]) // stride))
        high = min(most, (reach[k] - total) // stride)
        return any(
            finds(k - 1, total + difference * stride, is_zero and difference == 0)
            for difference in range(low, high + 1)
        )

    return finds(len(axes) - 1, 0, True)


class View(NamedTuple):
    """How the bytes of a tensor are an array."""

    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]

    @property
    def is_packed(self) -> bool:
        """Whether the elements lie one after the other, in order."""
        packed = self.dtype.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if stride != packed and size > 1:
                return False
            packed *= size
        return True

    def over(self, memory: np.ndarray, offset: int) -> np.ndarray:
        """The array over bytes from ``offset`` on. NumPy refuses what would leave the memory."""
        return np.ndarray(self.shape, self.dtype, memory, offset, self.strides)


def view(desc: DML_BUFFER_TENSOR_DESC, kind: ElementType) -> View:
    """The tensor with its elements seen as a type of their size."""
    return View(desc.Sizes, kind.numpy, tuple(stride * kind.itemsize for stride in desc.strides))
