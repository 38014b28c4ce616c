"""Arrays from ``TensorProto``: every count and length is checked before an array is made.

Data may lie in the field of its type, in ``raw_data``, or in a file beside the model. If the model is a link, the file
may also lie beside the model that it leads to, as ONNX Runtime reads it; never elsewhere. So a file that has several
names (hard links) is refused, as ``onnx.load`` does.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from onnx import TensorProto

from ogive.common.conversion import converted
from ogive.engine.movement import LARGEST_RANK, fits_an_array
from ogive.errors import ModelError, UnsupportedError, message
from ogive.onnx.data_types import DataType, data_type
from ogive.onnx.files import Home, opened

#: The field in which a type's elements lie, where they are not raw.
_FIELDS = {
    **dict.fromkeys(("FLOAT", "COMPLEX64"), "float_data"),
    **dict.fromkeys(("DOUBLE", "COMPLEX128"), "double_data"),
    **dict.fromkeys(("UINT32", "UINT64"), "uint64_data"),
    "INT64": "int64_data",
    "STRING": "string_data",
}
_OTHER_FIELD = "int32_data"
_ALL_FIELDS = ("float_data", "double_data", "uint64_data", "int64_data", "string_data", _OTHER_FIELD)


def array_from(tensor: TensorProto, home: Home | None, subject: str) -> np.ndarray:
    """The tensor as an array that cannot be written to.

    ``home`` is where files with external data lie; None if the model did not come from a file.
    ``subject`` says whose tensor it is, for messages.

    Raises ModelError or UnsupportedError.

    >>> from onnx.helper import make_tensor
    >>> array_from(make_tensor("t", 1, [2], [1.5, 2.5]), None, "t")
    array([1.5, 2.5], dtype=float32)
    """
    kind = data_type(tensor.data_type)
    if kind is None:
        raise ModelError(message(subject, f"its data_type is {tensor.data_type}", "an element type of ONNX"))
    shape = tuple(tensor.dims)
    for dim in shape:
        if dim < 0:
            raise ModelError(message(subject, f"its dims are {_shown(shape)}", "sizes from 0 on"))
    if len(shape) > LARGEST_RANK:
        raise UnsupportedError(message(subject, f"it has {len(shape)} axes", f"up to {LARGEST_RANK}"))
    if tensor.HasField("segment"):
        raise UnsupportedError(message(subject, "it is a segment of a larger tensor", "whole tensors"))
    count = math.prod(shape)
    if not fits_an_array(shape):
        raise ModelError(message(subject, f"its dims are {_shown(shape)}", "sizes whose product is below 2**59"))
    array = _elements(tensor, kind, count, home, subject).reshape(shape)
    array.flags.writeable = False
    return array


def _elements(tensor: TensorProto, kind: DataType, count: int, home: Home | None, subject: str) -> np.ndarray:
    is_external = tensor.data_location == TensorProto.EXTERNAL
    places = [name for name in _ALL_FIELDS if len(getattr(tensor, name))]
    if tensor.HasField("raw_data"):
        places.append("raw_data")
    if is_external:
        places = [name for name in places if name != "raw_data" or tensor.raw_data]
        places.append("external_data")
    if len(places) > 1:
        raise ModelError(message(subject, f"its data lies in {' and in '.join(places)}", "one place"))
    field = _FIELDS.get(kind.name, _OTHER_FIELD)
    if not places or places == [field]:
        return _from_field(getattr(tensor, field), kind, count, subject, field)
    if kind.name == "STRING" or places[0] not in ("raw_data", "external_data"):
        raise ModelError(message(subject, f"its data_type is {kind} and its data lies in {places[0]}", field))
    data = _external(tensor, kind, count, home, subject) if is_external else tensor.raw_data
    wanted = -(-count * kind.bits // 8)
    if len(data) != wanted:
        what = f"{places[0]} has {len(data)} bytes"
        raise ModelError(message(subject, what, f"{wanted}, for {count} elements of {kind.type}"))
    return _from_bytes(np.frombuffer(data, np.uint8), kind, count)


def _from_field(values: object, kind: DataType, count: int, subject: str, field: str) -> np.ndarray:
    per_element = 2 if kind.name.startswith("COMPLEX") else 1
    packed = 8 // kind.bits if 0 < kind.bits < 6 else 1
    wanted = -(-count * per_element // packed)
    found = len(values)  # type: ignore[arg-type]  # a container of protobuf, which has no types
    if found != wanted:
        what = f"{field} has {found} values"
        raise ModelError(message(subject, what, f"{wanted}, for {count} elements of {kind.type}"))
    if kind.name == "STRING":
        return _from_texts(list(values), subject)  # type: ignore[call-overload]
    if field != _OTHER_FIELD:
        source = {"float_data": np.float32, "double_data": np.float64, "int64_data": np.int64}.get(field, np.uint64)
        array = np.array(values, source)
        if kind.name == "UINT32" and (array >> np.uint64(32)).any():
            raise ModelError(message(subject, f"{field} has values beyond 32 bits", "those of uint32"))
        return array.view(kind.numpy) if per_element == 2 else converted(array, kind.numpy)
    whole = np.array(values, np.int64)
    if kind.name == "INT32":
        return whole.astype(np.int32)
    bits = min(kind.bits, 16) if packed == 1 else 8
    low, high = -(1 << (bits - 1)), (1 << bits) - 1
    if whole.size and (whole.min() < low or whole.max() > high):
        raise ModelError(message(subject, f"{field} has values beyond {bits} bits", f"{low} to {high}, for {kind}"))
    if bits == 16:
        half: np.ndarray = whole.astype(np.uint16).view(kind.numpy)
        return half
    return _from_bytes(whole.astype(np.uint8), kind, count, one_byte_each=packed == 1)


def _from_bytes(data: np.ndarray, kind: DataType, count: int, *, one_byte_each: bool = False) -> np.ndarray:
    """Elements from the bytes of a file: little endian, and several to a byte where they are small."""
    if kind.name == "BOOL":
        return data.astype(bool)
    if kind.bits >= 8:
        whole: np.ndarray = converted(data.view(kind.numpy.newbyteorder("<")), kind.numpy)
        return whole
    unused = 8 - kind.bits
    bits = (data if one_byte_each else _unpacked(data, kind.bits, count)) << unused
    # In memory each has a byte of its own; the unused bits of signed integers repeat the sign.
    kept = (bits.view(np.int8) if kind.name.startswith("INT") else bits) >> unused
    small: np.ndarray = kept.view(kind.numpy)
    return small


def _unpacked(data: np.ndarray, bits: int, count: int) -> np.ndarray:
    """One byte for every group of bits; the first lies in the lowest bits of the first byte."""
    each = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    return np.packbits(each, axis=1, bitorder="little").reshape(count)


def _from_texts(values: list[bytes], subject: str) -> np.ndarray:
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        try:
            array[i] = value.decode()
        except UnicodeDecodeError as error:
            raise ModelError(message(subject, f"string {i} is not UTF-8: {value[:20]!r}")) from error
    return array


# ---- data in other files


def _external(tensor: TensorProto, kind: DataType, count: int, home: Home | None, subject: str) -> bytes:
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in entries:
            raise ModelError(message(subject, f"external_data names {entry.key!r} twice"))
        entries[entry.key] = entry.value
    location = entries.get("location", "")
    if not location:
        raise ModelError(message(subject, "external_data does not name a file", "an entry `location`"))
    if home is None:
        raise ModelError(
            message(
                subject,
                f"its data lies in the file {location!r}, but the model was not loaded from a file",
                way_out="Give ogive.onnx.load the path of the model",
            )
        )
    wanted = -(-count * kind.bits // 8)
    offset = _whole(entries, "offset", 0, subject)
    length = _whole(entries, "length", wanted, subject)
    if length != wanted:
        what = f"external_data has length {length}"
        raise ModelError(message(subject, what, f"{wanted}, for {count} elements of {kind.type}"))
    return _read(_inside(home, location, subject), offset, length, subject)


def take_in(tensor: TensorProto, home: Home | None, subject: str) -> None:
    """Put the data of a tensor that lies in another file into the tensor itself. Raises what `array_from` raises."""
    array_from(tensor, home, subject)  # everything is checked there
    kind = data_type(tensor.data_type)
    assert kind is not None
    tensor.raw_data = _external(tensor, kind, math.prod(tensor.dims), home, subject)
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")


def _whole(entries: dict[str, str], key: str, default: int, subject: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise ModelError(message(subject, f"external_data has {key} {text[:40]!r}", "a whole number of bytes"))
    return int(text)


def _inside(home: Home, location: str, subject: str) -> Path:
    """The path of a file beside the model; refused where it, or what it links to, lies elsewhere."""
    shown = location[:200]
    error = ModelError(
        message(subject, f"its data lies in {shown!r}", "a file in the model's folder, by its relative path")
    )
    if "\0" in location or "\\" in location or Path(location).is_absolute():
        raise error
    try:
        found = home.find(location)
        if found is not None:
            return found
        end = home.end(location)
    except (OSError, RuntimeError) as cause:
        raise error from cause
    written = Path(os.path.normpath(home.folder / location))
    if not written.is_relative_to(home.folder) or written == home.folder:
        raise error
    folders = " or ".join(map(str, dict.fromkeys((home.folder, home.real))))
    what = f"its data lies in {shown!r}, a link that leads to {end}"
    raise ModelError(message(subject, what, f"files in {folders}", "Copy the file there"))


def _read(path: Path, offset: int, length: int, subject: str) -> bytes:
    try:
        found = opened(path)
        if found is None:
            raise ModelError(message(subject, f"its data lies in {path.name!r}, which is not a regular file"))
        file, status = found
        with file:
            if status.st_nlink > 1:  # a link to a file elsewhere would lead out of the model's folder
                what = f"its data lies in {path.name!r}, which has {status.st_nlink} names (hard links)"
                raise ModelError(message(subject, what, "files with one name", "Copy the file"))
            if offset + length > status.st_size:
                what = f"its data ends at byte {offset + length} of {path.name!r}, which has {status.st_size} bytes"
                raise ModelError(message(subject, what))
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(message(subject, f"its data in {path.name!r} cannot be read: {reason}")) from error


def _shown(shape: tuple[int, ...]) -> str:
    return str(list(shape[:8])) if len(shape) <= 8 else f"{list(shape[:8])} and {len(shape) - 8} more"
