"""Resources: buffers, what they hold before anything runs, their data types, and what of them is bound.

Reading one checks it and says how large it is; `Resource.make` makes it, when all of a model is checked and its `MemoryBudget` of bytes allows it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ogive.common.array_files import read_npy
from ogive.common.documents.document import is_regular
from ogive.common.documents.place import DocumentPlace, shown
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.directml.data import DATA_TYPES
from ogive.errors import ModelError, ParameterError, UnsupportedError, message
from ogive.runtime.free_memory import available_memory

# ---- data types: DirectML's, by its names, as NumPy has them

UNKNOWN = "UNKNOWN"
_PREFIX = "DML_TENSOR_DATA_TYPE_"

#: By DirectML's short name. The format has none of the 4-bit types.
NUMPY: dict[str, np.dtype] = {row.directml: row.numpy for row in ELEMENT_TYPES.values() if row.directml in DATA_TYPES}

_CHOICES = {prefix + name: name for name in (UNKNOWN, *NUMPY) for prefix in ("", _PREFIX)}
_NAMES = {dtype: name for name, dtype in NUMPY.items()} | {np.dtype(bool): "UINT8"}


def data_type(place: DocumentPlace) -> str:
    """The short name of a data type: of all but the 4-bit ones, or UNKNOWN."""
    return place.choice(_CHOICES)


def name_of(dtype: np.dtype) -> str | None:
    """The short name for a NumPy dtype; truth values are UINT8. None where DirectML has no such type.

    >>> name_of(np.dtype("float32")), name_of(np.dtype("complex64"))
    ('FLOAT32', None)
    """
    return _NAMES.get(dtype)


def scalar(place: DocumentPlace, kind: str) -> Any:
    """A number as a NumPy scalar of a data type."""
    dtype = NUMPY[kind]
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return dtype.type(place.whole(int(limits.min), int(limits.max)))
    number = place.number()
    rounded = _rounded(np.float64(number), kind)
    if np.isinf(rounded) and not np.isinf(number):
        place.refuse(f"it is {number!r}", f"magnitudes that {kind} can hold, up to {float(np.finfo(dtype).max):.5g}")
    return rounded


def numbers(place: DocumentPlace, kind: str) -> np.ndarray:
    """An array of numbers as a NumPy array of a data type."""
    dtype, values = NUMPY[kind], place.value
    # Many plain numbers at once; whatever is not plain is looked at one by one.
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        if all(type(value) is int for value in values) and limits.min <= min(values) <= max(values) <= limits.max:
            return np.array(values, dtype)
    elif all(type(value) in (int, float) for value in values):
        try:
            rounded = _rounded(np.array(values, np.float64), kind)
        except OverflowError:
            rounded = np.array(np.inf)
        if np.isfinite(rounded).all():
            return rounded  # type: ignore[no-any-return]
    return np.array([scalar(entry, kind) for entry in place.entries()], dtype)


def _rounded(value: Any, kind: str) -> Any:
    """In a floating-point type; by way of float32 where that is float16, as the tool does it."""
    with np.errstate(over="ignore"):
        return (value.astype(np.float32) if kind == "FLOAT16" else value).astype(NUMPY[kind])


# ---- buffers


class MemoryBudget:
    """The bytes that are left for the buffers of a model; asked for before any of them is made."""

    def __init__(self, limit: int | None) -> None:
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            what = f"memory_limit is {limit!r}"
            raise ParameterError(message("ogive.dxdispatch.load", what, "a whole number of bytes from 1 on, or None"))
        self.limit = available_memory() if limit is None else limit
        self._left = self.limit

    def take(self, place: DocumentPlace, size: int, what: str) -> None:
        """Refuse, for what stands at that place, if so many bytes are not left. ``what`` wants them."""
        if size > self._left:
            allowed = f"{self._left}, which is left of the memory limit of {self.limit} bytes"
            place.refuse(f"{what}: {size} bytes", allowed, "Raise memory_limit if the machine has more")
        self._left -= size


_MEMBERS = (
    "initialValuesDataType",
    "initialValues",
    "sizeInBytes",
    "initialValuesOffsetInBytes",
    "resampleSize",
    "resampleMode",
)
_IMAGES = (".png", ".jpg", ".jpeg")
_MOST_VALUES = (1 << 32) - 1


class Values(NamedTuple):
    """The initial values: their type, how many bytes they are, and how to get them."""

    kind: str
    size: int
    make: Callable[[], np.ndarray]


class Resource:
    """A buffer by its name. A deferred one has no bytes until an ONNX dispatchable makes them."""

    def __init__(self, name: str, place: DocumentPlace, values: Values, offset: int = 0, size: int = 0) -> None:
        self.name = name
        self.place = place
        self.kind = values.kind
        self.values_offset = offset
        self.values_size = values.size
        self.size = size
        self.is_deferred = size == 0
        #: The memory; of a deferred resource, the array that was made last.
        self.buffer: np.ndarray | None = None
        self._make = values.make

    def make(self) -> None:
        """Make the buffer and put the initial values into it; once."""
        if self.buffer is None and not self.is_deferred:
            self.buffer = np.zeros(self.size, np.uint8)
            made = np.ascontiguousarray(self._make()).reshape(-1).view(np.uint8)
            self.buffer[self.values_offset : self.values_offset + self.values_size] = made

    @property
    def values(self) -> np.ndarray:
        """The present contents of the buffer, where the initial values were, in their type."""
        assert self.buffer is not None
        if self.is_deferred:
            return self.buffer.reshape(-1)
        dtype = NUMPY[self.kind]
        count = self.values_size // dtype.itemsize
        # The values may begin at any byte: they are copied to where their type may lie.
        taken = self.buffer[self.values_offset : self.values_offset + count * dtype.itemsize]
        return np.frombuffer(taken.tobytes(), dtype)


def read_resource(name: str, place: DocumentPlace, folder: Path, budget: MemoryBudget) -> Resource:
    """A resource from its definition. ``folder`` is where the files of the model are looked for first."""
    members = place.members(_MEMBERS, ("initialValues",))
    kind = data_type(members["initialValuesDataType"]) if "initialValuesDataType" in members else UNKNOWN
    initial = members["initialValues"]
    for image_member in ("resampleSize", "resampleMode"):
        if image_member in members:
            refuse_image(members[image_member])
    if isinstance(initial.value, str):
        if initial.value != "deferred":
            initial.refuse("it is text", 'an array, an object, or "deferred"')
        for member in ("sizeInBytes", "initialValuesOffsetInBytes"):
            if member in members:
                members[member].refuse("a deferred resource has no size yet")
        return Resource(name, place, Values(kind, 0, lambda: np.empty(0, np.uint8)))
    values = _values(initial, kind, folder)
    offset = members["initialValuesOffsetInBytes"].whole() if "initialValuesOffsetInBytes" in members else 0
    size = members["sizeInBytes"].whole() if "sizeInBytes" in members else (values.size + offset + 3) & ~3
    if values.size + offset > size:
        what = f"it is {size} for {values.size} bytes of values at offset {offset}"
        members["sizeInBytes"].refuse(what, f"{values.size + offset} or more")
    # The buffer, and its values until they are in it.
    budget.take(place, size + values.size, "the buffer and its initial values")
    return Resource(name, place, values, offset, size)


# ---- initial values


def _values(place: DocumentPlace, kind: str, folder: Path) -> Values:
    if isinstance(place.value, list):
        if not place.value:
            place.refuse("it is empty", "one value or more")
        if kind == UNKNOWN:
            return _ready(UNKNOWN, _mixed(place))
        return _ready(kind, numbers(place, kind))
    members = place.members()
    for member, read in _GENERATORS.items():
        if member in members:
            return read(place, kind, folder)
    return place.refuse("it says nothing of its values", f"an array, or an object with {', '.join(_GENERATORS)}")


def _ready(kind: str, array: np.ndarray) -> Values:
    return Values(kind, array.nbytes, lambda: array)


def _mixed(place: DocumentPlace) -> np.ndarray:
    """Values of several types, one after the other without gaps."""
    parts = []
    for entry in place.entries():
        if not isinstance(entry.value, dict):
            what = "it has no type, and the resource has no initialValuesDataType"
            entry.refuse(what, "objects with type and value, or an initialValuesDataType for all")
        members = entry.members(("name", "type", "value"), ("type", "value"))
        if "name" in members:
            members["name"].text()
        kind = data_type(members["type"])
        # The tool has no FLOAT16 here either.
        if kind in (UNKNOWN, "FLOAT16"):
            members["type"].refuse(f"it is {kind}", "the other types of 8 to 64 bits")
        parts.append(scalar(members["value"], kind).tobytes())
    return np.frombuffer(b"".join(parts), np.uint8)


def _count(place: DocumentPlace) -> int:
    return place.whole(1, _MOST_VALUES)


def _required_kind(place: DocumentPlace, kind: str) -> np.dtype:
    if kind == UNKNOWN:
        place.refuse("the resource has no initialValuesDataType", "a data type beside initialValues")
    return NUMPY[kind]


def _constant(place: DocumentPlace, kind: str, folder: Path) -> Values:
    members = place.members(("value", "valueCount"), ("value", "valueCount"))
    dtype, count = _required_kind(place, kind), _count(members["valueCount"])
    value = scalar(members["value"], kind)
    return Values(kind, count * dtype.itemsize, lambda: np.full(count, value, dtype))


def _sequence(place: DocumentPlace, kind: str, folder: Path) -> Values:
    names = ("valueStart", "valueDelta", "valueCount")
    members = place.members(names, names)
    dtype, count = _required_kind(place, kind), _count(members["valueCount"])
    start, delta = (scalar(members[name], kind) for name in names[:2])

    def make() -> np.ndarray:
        steps = np.full(count, delta, dtype)
        steps[0] = start
        # Repeated addition in the type itself, as the tool does it: integers wrap around.
        with np.errstate(all="ignore"):
            return np.add.accumulate(steps, dtype=dtype)

    return Values(kind, count * dtype.itemsize, make)


# ---- files


def _file(place: DocumentPlace, kind: str, folder: Path) -> Values:
    members = place.members(("sourcePath",), ("sourcePath",))
    source = members["sourcePath"]
    path = input_file(source, folder)
    if path.suffix.lower() in _IMAGES:
        refuse_image(source)
    if path.suffix.lower() == ".npy":
        return _numpy_file(source, path, kind)
    _required_kind(place, kind)
    with opened(source), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
    if not size:
        source.refuse(f"{path} is empty", "one byte or more")

    def make() -> np.ndarray:
        with opened(source), path.open("rb") as file:
            data = np.frombuffer(file.read(size), np.uint8)
        if data.size != size:
            source.refuse(f"{path} has become shorter while it was read")
        return data

    return Values(kind, size, make)


def _numpy_file(source: DocumentPlace, path: Path, kind: str) -> Values:
    try:
        with opened(source):
            array = read_npy(path)
    except ModelError as error:
        source.refuse(f"{path} is not a .npy file with one array of numbers", cause=error)
    found = name_of(array.dtype.newbyteorder("="))
    if found is None or not array.size:
        what = f"{path} has {array.size} elements of {array.dtype}"
        source.refuse(what, f"one element or more of {', '.join(NUMPY)}")
    if kind not in (UNKNOWN, found):
        source.refuse(f"{path} has {found} where initialValuesDataType is {kind}", f"{found}, or none")
    return Values(found, array.nbytes, lambda: np.array(array, array.dtype.newbyteorder("="), order="C"))


def input_file(place: DocumentPlace, folder: Path) -> Path:
    """A file that a model names: beside the model, else in the current folder."""
    path = Path(place.text())
    with opened(place):
        for candidate in (folder / path, path):
            if candidate.exists():
                if not is_regular(candidate):
                    place.refuse(f"{candidate} is not a regular file")
                return candidate
    return place.refuse(f"there is no file {path}", f"a path relative to {folder} or to the current folder")


@contextmanager
def opened(place: DocumentPlace) -> Iterator[None]:
    """Give what the file system refuses the place that names the file."""
    try:
        yield
    except OSError as error:
        place.refuse(f"{shown(place.value)} cannot be opened: {error.strerror}", cause=error)
    except RuntimeError as error:  # links that lead in a circle
        place.refuse(f"{shown(place.value)} cannot be opened: {error}", cause=error)


def refuse_image(place: DocumentPlace) -> None:
    """Refuse what is about images."""
    what = "images are not read or written"
    place.refuse(what, ".npy files and raw bytes", "Convert it to .npy first", error=UnsupportedError)


#: Initialisers that are objects, by the member that tells them.
_GENERATORS: dict[str, Callable[[DocumentPlace, str, Path], Values]] = {
    "value": _constant,
    "valueStart": _sequence,
    "sourcePath": _file,
}


# ---- bindings: which resource, from which byte on, stands for which tensor of a dispatchable

_BINDING_MEMBERS = (
    "name",
    "elementCount",
    "elementSizeInBytes",
    "elementOffset",
    "format",
    "counter",
    "counterOffsetBytes",
    "shape",
)


class BindingSource(NamedTuple):
    """A binding: a resource, from an offset in bytes on. ``shape`` is for ONNX tensors alone."""

    place: DocumentPlace
    resource: Resource
    offset: int
    shape: tuple[int, ...] | None


class Bindings(NamedTuple):
    """The sources by the names that they are bound to, and where they are written."""

    place: DocumentPlace
    sources: Mapping[str, tuple[BindingSource, ...]]


def read_bindings(place: DocumentPlace, resources: Mapping[str, Resource]) -> Bindings:
    """Bindings: for each name a resource's name, an object with more about it, or an array of these."""
    sources = {}
    for name, value in place.members().items():
        entries = value.entries() if isinstance(value.value, list) else [value]
        sources[name] = tuple(_source(entry, resources) for entry in entries)
    return Bindings(place, sources)


def resource_named(place: DocumentPlace, resources: Mapping[str, Resource]) -> Resource:
    """The resource of a name that stands somewhere in the model."""
    return place.choice(resources, what="resource")


def _source(place: DocumentPlace, resources: Mapping[str, Resource]) -> BindingSource:
    if isinstance(place.value, str):
        return BindingSource(place, resource_named(place, resources), 0, None)
    if isinstance(place.value, dict) and "elementStride" in place.value:
        place.at("elementStride").refuse("DxDispatch itself does not read it", "elementSizeInBytes")
    members = place.members(_BINDING_MEMBERS, ("name",))
    for member in ("counter", "counterOffsetBytes"):
        if member in members:
            members[member].refuse("counters are for HLSL, which is not run", error=UnsupportedError)
    if "format" in members:
        members["format"].text()  # a view's format is for HLSL; the tool reads it and does not use it here
    resource = resource_named(members["name"], resources)
    count, size, first = (
        members[name].whole() if name in members else 0
        for name in ("elementCount", "elementSizeInBytes", "elementOffset")
    )
    size = size or (NUMPY[resource.kind].itemsize if resource.kind in NUMPY else 0)
    if first and not size:
        members["elementOffset"].refuse("the size of an element is not known", "elementSizeInBytes beside it")
    offset, end = first * size, (first + count) * size
    if not resource.is_deferred and (offset >= resource.size or end > resource.size):
        what = f"it begins at byte {offset} and ends at byte {end or resource.size}"
        place.refuse(what, f"a part of {resource.name!r}, which has {resource.size} bytes")
    shape = None
    if "shape" in members:
        shape = tuple(entry.whole(0, (1 << 63) - 1) for entry in members["shape"].entries())
    return BindingSource(place, resource, offset, shape or None)


def single_source(place: DocumentPlace, sources: tuple[BindingSource, ...]) -> BindingSource:
    """The one source of a tensor."""
    if len(sources) != 1:
        place.refuse(f"{len(sources)} resources are bound", "one for each tensor")
    return sources[0]
