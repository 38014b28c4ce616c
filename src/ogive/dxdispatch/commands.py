"""Commands: dispatch, print, writeFile. Reading one checks it; running one writes what DxDispatch prints.

Numbers are printed as C++ streams write them: six digits, no decimal point where there is no fraction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from ogive.common.documents.place import DocumentPlace
from ogive.common.drafts import Draft
from ogive.dxdispatch.resources import NUMPY, Bindings, Resource, opened, read_bindings, refuse_image, resource_named

Write = Callable[[str], object]
"""Takes pieces of text, line ends included."""

_IMAGES = (".png", ".jpg", ".jpeg")


class ModelDispatchable(Protocol):
    """The object that a dispatch command runs."""

    @property
    def place(self) -> DocumentPlace:
        """The place of its definition."""

    @property
    def note(self) -> str:
        """The text that DxDispatch prints when it initialises it; empty where it prints nothing."""

    def initializer(self) -> Callable[[], None]:
        """Check the initialisation; what it returns does it."""

    def bound(self, bindings: Bindings) -> Callable[[], None]:
        """Check one dispatch; what it returns runs it, once."""


class Command(Protocol):
    """One entry of "commands"."""

    def check(self) -> None:
        """Refuse what would fail when it runs, once the resources are there."""

    def run(self, write: Write, iterations: int) -> None:
        """Run it, and write what DxDispatch prints."""


class Dispatch:
    """Binds resources to a dispatchable, runs it, and says how long that took."""

    def __init__(
        self,
        members: Mapping[str, DocumentPlace],
        dispatchables: Mapping[str, ModelDispatchable],
        resources: Mapping[str, Resource],
    ) -> None:
        chosen = members["dispatchable"]
        self._dispatchable = chosen.choice(dispatchables, what="dispatchable")
        self._name = chosen.text()
        self._bindings = read_bindings(members["bindings"], resources)
        if "threadGroupCount" in members:  # for HLSL; the tool reads it and does not use it here
            counts = [entry.whole(0, (1 << 32) - 1) for entry in members["threadGroupCount"].entries()]
            if len(counts) != 3:
                members["threadGroupCount"].refuse(f"it has {len(counts)} entries", "3")

    def check(self) -> None:
        self._dispatchable.bound(self._bindings)

    def run(self, write: Write, iterations: int) -> None:
        milliseconds = []
        for _ in range(iterations):
            execute = self._dispatchable.bound(self._bindings)
            begin = time.perf_counter()
            execute()
            milliseconds.append((time.perf_counter() - begin) * 1e3)
        # The first of several runs is a warm-up.
        counted = sorted(milliseconds[1:] or milliseconds)
        median = counted[len(counted) // 2]
        write(f"Dispatch '{self._name}': {iterations} iterations, {median:.4f} ms median (CPU)\n")


class Print:
    """Prints what is in a resource."""

    def __init__(self, members: Mapping[str, DocumentPlace], resources: Mapping[str, Resource]) -> None:
        self._place = members["resource"]
        self._resource = resource_named(self._place, resources)
        self._is_verbose = "verbose" in members and members["verbose"].boolean()

    def check(self) -> None:
        resource = self._resource
        if not resource.is_deferred and resource.kind not in NUMPY:
            self._place.refuse("its values are of several types", "resources with an initialValuesDataType")

    def run(self, write: Write, iterations: int) -> None:
        resource = _made(self._place, self._resource)
        write(f"Resource '{resource.name}':" + ("\n" if self._is_verbose else " "))
        for piece in (verbose_elements if self._is_verbose else elements)(resource.values):
            write(piece)
        write("\n")


class WriteFile:
    """Writes a resource to a file: .npy, or its bytes."""

    def __init__(self, members: Mapping[str, DocumentPlace], resources: Mapping[str, Resource], folder: Path) -> None:
        self._place = members["resource"]
        self._resource = resource_named(self._place, resources)
        self._target_place = members["targetPath"]
        self._target = _target(self._target_place, folder)
        self._dimensions: tuple[int, ...] | None = None
        self._dimensions_place = members.get("dimensions", self._place)
        if "dimensions" in members:
            entries = members["dimensions"].entries()
            self._dimensions = tuple(entry.whole(0, (1 << 32) - 1) for entry in entries) or None

    @property
    def _is_numpy(self) -> bool:
        return self._target.suffix.lower() == ".npy"

    def check(self) -> None:
        resource = self._resource
        if resource.is_deferred or not self._is_numpy:
            return
        if resource.kind not in NUMPY:
            self._place.refuse("its values are of several types", "resources with an initialValuesDataType for .npy")
        if self._dimensions is not None:
            needed = math.prod(self._dimensions) * NUMPY[resource.kind].itemsize
            if len(self._dimensions) > 32 or needed > resource.size:
                what = f"dimensions of {needed} bytes for {resource.name!r}, which has {resource.size}"
                self._dimensions_place.refuse(what, f"{resource.size} bytes at most, in 32 dimensions at most")

    def run(self, write: Write, iterations: int) -> None:
        resource = _made(self._place, self._resource)
        assert resource.buffer is not None
        with opened(self._target_place):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            with Draft(self._target.parent) as draft:
                with draft.path.open("wb") as file:
                    if self._is_numpy:
                        np.save(file, self._array(resource.buffer), allow_pickle=False)
                    else:
                        file.write(resource.buffer.data)
                draft.finish(self._target)
        write(f"Resource '{resource.name}' written to '{self._target}'\n")

    def _array(self, buffer: np.ndarray) -> np.ndarray:
        if self._resource.is_deferred:
            return buffer
        dtype = NUMPY[self._resource.kind]
        # Without dimensions all of the buffer, what fills it up to 4 bytes included: so the tool does it.
        dimensions = self._dimensions or (buffer.nbytes // dtype.itemsize,)
        return buffer[: math.prod(dimensions) * dtype.itemsize].view(dtype).reshape(dimensions)


def _made(place: DocumentPlace, resource: Resource) -> Resource:
    if resource.buffer is None:
        place.refuse(f"{resource.name!r} is deferred and nothing has made it", "a dispatch that does, before this")
    return resource


def _target(place: DocumentPlace, folder: Path) -> Path:
    """The path of a file inside the folder for outputs."""
    with opened(place):
        target = (folder / place.text()).resolve()
    if not target.is_relative_to(folder) or target == folder:
        place.refuse(f"it leads to {target}", f"paths inside the folder for outputs, {folder}")
    if target.suffix.lower() in _IMAGES:
        refuse_image(place)
    return target


def read_command(
    place: DocumentPlace,
    dispatchables: Mapping[str, ModelDispatchable],
    resources: Mapping[str, Resource],
    output_folder: Path,
) -> Command:
    """A command from its definition."""
    name = place.type_place(", ".join(_MEMBERS)).choice({name: name for name in _MEMBERS}, ignore_case=True)
    allowed, required = _MEMBERS[name]
    members = place.members(("type", *allowed, *required), required)
    if name == "dispatch":
        return Dispatch(members, dispatchables, resources)
    if name == "print":
        return Print(members, resources)
    return WriteFile(members, resources, output_folder)


#: The commands: the members that each may have, and those that it must have.
_MEMBERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "dispatch": (("threadGroupCount",), ("dispatchable", "bindings")),
    "print": (("verbose",), ("resource",)),
    "writeFile": (("dimensions",), ("resource", "targetPath")),
}


#: How many elements become text at a time.
_CHUNK = 1 << 16


def elements(values: np.ndarray) -> Iterator[str]:
    """The elements with commas between them, in pieces.

    >>> "".join(elements(np.float32([1, 0.1, -2.5e7, np.inf, np.nan])))
    '1, 0.1, -2.5e+07, inf, nan'
    """
    for begin in range(0, values.size, _CHUNK):
        yield (", " if begin else "") + ", ".join(_written(values[begin : begin + _CHUNK]))


def verbose_elements(values: np.ndarray) -> Iterator[str]:
    """A line for each element: its number, its value, its bits.

    >>> print("".join(verbose_elements(np.float32([0, 1]))), end="")
    [0] 0 (0x       0)
    [1] 1 (0x3F800000)
    """
    # The width is that of the count, not of the largest number: so the tool does it.
    width, digits = len(str(values.size)), 2 * values.itemsize
    bits = values.view(f"u{values.itemsize}")
    for begin in range(0, values.size, _CHUNK):
        texts = _written(values[begin : begin + _CHUNK])
        patterns = bits[begin : begin + _CHUNK].tolist()
        for offset, (text, pattern) in enumerate(zip(texts, patterns, strict=True)):
            yield f"[{begin + offset:{width}}] {text} (0x{pattern:{digits}X})\n"


def _written(values: np.ndarray) -> list[str]:
    if values.dtype.kind == "f":
        return [f"{value:g}" for value in values.tolist()]
    return [str(value) for value in values.tolist()]
