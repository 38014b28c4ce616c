"""Tensor descs and data types in Python's spelling."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.directml.enumerations import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS
from ogive.directml.structure import short
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, element_type, packed_strides
from ogive.errors import ArgumentError, DTypeError, message

_DATA_TYPES = {
    row.numpy: DML_TENSOR_DATA_TYPE[row.directml] for row in ELEMENT_TYPES.values() if row.directml is not None
}


def data_type_of(subject: str, dtype: Any) -> Any:
    """The DML_TENSOR_DATA_TYPE for a NumPy dtype, or for one of its own members."""
    if isinstance(dtype, DML_TENSOR_DATA_TYPE) and element_type(dtype) is not None:
        return dtype
    try:
        return _DATA_TYPES[np.dtype(dtype).newbyteorder("=")]
    except (KeyError, TypeError, ValueError):
        allowed = ", ".join(map(str, _DATA_TYPES))
        raise DTypeError(message(subject, f"dtype is {short(dtype)}", allowed)) from None


def dtype_of(data_type: Any) -> np.dtype:
    """The NumPy dtype of a DML_TENSOR_DATA_TYPE."""
    kind = element_type(data_type)
    assert kind is not None, "tensors of 4-bit types cannot be made here"
    return kind.numpy


class TensorPolicy(enum.Enum):
    """How a graph lays out the tensors that it makes: packed, or with the channels innermost (NHWC)."""

    default = "default"
    interleaved_channel = "interleaved_channel"

    def strides(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        """The strides for sizes; None is packed.

        >>> TensorPolicy.interleaved_channel.strides([1, 3, 8, 8])
        (192, 1, 24, 3)
        """
        if self is TensorPolicy.default or len(sizes) < 3:
            return None
        _, channels, *spatial = sizes
        inner = packed_strides([*spatial, channels])
        return (channels * int(np.prod(spatial, dtype=object)), 1, *inner[:-1])


class TensorDesc:
    """A DML_BUFFER_TENSOR_DESC, with NumPy's dtypes for data types and members in Python's spelling.

    By position, (data_type, flags, sizes) and (data_type, sizes, strides) are taken too. ``strides`` are in elements; a ``tensor_policy`` decides them itself. Missing members follow from the
    sizes, as in DML_BUFFER_TENSOR_DESC, whose errors this raises.

    >>> import numpy as np, ogive.directml as dml
    >>> desc = dml.TensorDesc(np.float16, [2, 3])
    >>> desc
    TensorDesc(float16, [2, 3])
    >>> desc.data_type, desc.total_tensor_size_in_bytes
    (DML_TENSOR_DATA_TYPE_FLOAT16, 12)
    """

    __slots__ = ("structure",)
    structure: Any
    """The DML_BUFFER_TENSOR_DESC"""

    def __init__(
        self,
        data_type: Any,
        sizes: Any,
        more: Any = None,
        *,
        flags: Any = DML_TENSOR_FLAGS.NONE,
        strides: Sequence[int] | None = None,
        total_tensor_size_in_bytes: int | None = None,
        guaranteed_base_offset_alignment: int = 0,
        tensor_policy: TensorPolicy | None = None,
    ) -> None:
        # Microsoft's binding takes (data_type, flags, sizes) and (data_type, sizes, strides or policy) by position.
        if isinstance(sizes, DML_TENSOR_FLAGS):
            flags, sizes = sizes, more
        elif isinstance(more, TensorPolicy):
            tensor_policy = more
        elif more is not None:
            strides = more
        if strides is not None and tensor_policy is not None:
            raise ArgumentError(message("TensorDesc", "strides and tensor_policy were given", "one of them"))
        if tensor_policy is not None:
            strides = tensor_policy.strides(sizes)
        self.structure = DML_BUFFER_TENSOR_DESC(
            DataType=data_type_of("TensorDesc", data_type),
            Sizes=_listed(sizes),
            Strides=None if strides is None else _listed(strides),
            Flags=flags,
            TotalTensorSizeInBytes=total_tensor_size_in_bytes,
            GuaranteedBaseOffsetAlignment=guaranteed_base_offset_alignment,
        )

    @classmethod
    def of(cls, structure: DML_BUFFER_TENSOR_DESC) -> TensorDesc:
        """The desc around a structure."""
        made = cls.__new__(cls)
        made.structure = structure
        return made

    data_type = property(lambda self: self.structure.DataType, doc="The DML_TENSOR_DATA_TYPE.")
    flags = property(lambda self: self.structure.Flags, doc="The DML_TENSOR_FLAGS.")
    sizes = property(lambda self: list(self.structure.Sizes), doc="The sizes, a list.")
    total_tensor_size_in_bytes = property(
        lambda self: self.structure.TotalTensorSizeInBytes, doc="The bytes that the tensor takes."
    )
    guaranteed_base_offset_alignment = property(
        lambda self: self.structure.GuaranteedBaseOffsetAlignment, doc="What every bound offset is a multiple of."
    )

    @property
    def strides(self) -> list[int] | None:
        """The strides in elements, or None if packed."""
        return None if self.structure.Strides is None else list(self.structure.Strides)

    @property
    def dtype(self) -> np.dtype:
        """The data type as NumPy has it."""
        return dtype_of(self.structure.DataType)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorDesc) and other.structure == self.structure

    def __hash__(self) -> int:
        return hash(self.structure)

    def __repr__(self) -> str:
        rest = "" if self.strides is None else f", strides={self.strides}"
        return f"TensorDesc({self.dtype}, {self.sizes}{rest})"


def _listed(values: Any) -> Any:
    """A list where NumPy's shapes, ranges and the like were given; what is no sequence is refused by the desc."""
    return tuple(values) if isinstance(values, range | np.ndarray) else values


class Described:
    """An object that has a tensor desc, and says it in NumPy's words."""

    __slots__ = ()
    desc: TensorDesc

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, as a tuple."""
        return tuple(self.desc.structure.Sizes)

    @property
    def strides(self) -> tuple[int, ...] | None:
        """The strides in elements, or None if packed."""
        strides = self.desc.structure.Strides
        return None if strides is None else tuple(strides)

    @property
    def dtype(self) -> np.dtype:
        """The element type."""
        return self.desc.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=object))

    def __repr__(self) -> str:
        return f"<dml.{type(self).__name__} {self.dtype} {list(self.shape)}>"
