"""Bindings: which resource, from which byte on, stands for which tensor of a dispatchable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ogive.common.documents.place import DocumentPlace
from ogive.dxdispatch.element_types import NUMPY
from ogive.dxdispatch.resources import Resource
from ogive.errors import UnsupportedError

__all__ = ["BindingSource", "Bindings", "read_bindings", "resource_named", "single_source"]

_MEMBERS = (
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
    members = place.members(_MEMBERS, ("name",))
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
