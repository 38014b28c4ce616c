"""Arrays on their way into a tensor: which conversions are safe, and buffers that keep what was converted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.directml.builder.tensor_descs import Described, TensorDesc, data_type_of, dtype_of
from ogive.directml.device import Device
from ogive.directml.results import refuse
from ogive.directml.structure import short
from ogive.directml.tensor import View, element_type, view
from ogive.errors import ArgumentError, message


def as_array(subject: str, what: object, value: Any) -> np.ndarray:
    """The value as an array."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        refuse(subject, f"{what} is {short(value)}", "an array, or what numpy.asarray makes one of", cause=error)


def checked_array(subject: str, what: object, value: Any, dtype: np.dtype) -> np.ndarray:
    """The value as an array that can be converted to ``dtype`` without a wrong number.

    Floats are rounded to a shorter type, and whatever NumPy calls safe is converted. Integers are converted to
    other ones of their kind if all of them fit. Everything else is refused: a float would lose its fraction, an
    integer its lower digits.
    """
    array = as_array(subject, what, value)
    if array.dtype == dtype or np.can_cast(array.dtype, dtype, "safe"):
        return array
    if array.dtype.kind != dtype.kind:
        allowed = f"{dtype}, and types that are converted to it safely"
        refuse(
            subject, f"{what} is an array of {array.dtype}", allowed, f"Convert it first: array.astype({dtype.name!r})"
        )
    if dtype.kind in "iu" and array.size:
        bounds = np.iinfo(dtype)
        least, most = int(array.min()), int(array.max())
        if least < bounds.min or most > bounds.max:
            given = f"{what} is an array of {array.dtype} with numbers from {least} to {most}"
            refuse(subject, given, f"{bounds.min} to {bounds.max}, which {dtype} holds", "Use another dtype")
    return array


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in the type of a tensor, contiguous. It is copied only if it must be."""
    with np.errstate(over="ignore"):  # beyond a shorter type is infinite
        return np.ascontiguousarray(array, dtype)


class Buffer(Described):
    """A tensor in memory: what was converted once, and is bound as it is wherever an array is taken.

    ``dispatch(readback=False)`` returns one for every output. Nothing else writes to it.

    >>> import numpy as np, ogive.directml as dml
    >>> buffer = dml.Buffer(dml.Device(), np.arange(6.0).reshape(2, 3), np.float16)
    >>> buffer, buffer.nbytes
    (<dml.Buffer float16 [2, 3]>, 12)
    >>> buffer.numpy().tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

    Raises DMLError for an array that cannot be converted safely, DTypeError for a type that tensors do not have.
    """

    __slots__ = ("_device", "_memory", "desc")

    def __init__(self, device: Device, array: Any, dtype: Any = None) -> None:
        if not isinstance(device, Device):
            raise ArgumentError(message("Buffer", f"device is {short(device)}", "a dml.Device"))
        given = as_array("Buffer", "array", array)
        wanted = dtype_of(data_type_of("Buffer", given.dtype if dtype is None else dtype))
        copy = np.array(converted(checked_array("Buffer", "array", given, wanted), wanted), ndmin=1)
        self.desc = TensorDesc(wanted, copy.shape)
        self._device = device
        self._memory = copy.reshape(-1).view(np.uint8)
        self._memory.flags.writeable = False

    @classmethod
    def _over(cls, device: Device, memory: np.ndarray, desc: TensorDesc) -> Buffer:
        """The buffer that has these bytes."""
        made = cls.__new__(cls)
        made._device, made.desc, made._memory = device, desc, memory
        memory.flags.writeable = False
        return made

    @property
    def device(self) -> Device:
        """The device that it was made for."""
        return self._device

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return int(self.desc.structure.used_bytes)

    def numpy(self) -> np.ndarray:
        """A copy, as an array of the tensor's shape and type."""
        return view_of(self.desc).over(self._memory, 0).copy()


def view_of(desc: TensorDesc) -> View:
    """How the bytes of a tensor are an array."""
    kind = element_type(desc.data_type)
    assert kind is not None, "tensors of 4-bit types cannot be made here"
    return view(desc.structure, kind)
