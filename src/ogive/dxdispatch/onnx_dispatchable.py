"""Dispatchables that are ONNX models, which `ogive.onnx` runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ogive.common.documents.place import DocumentPlace
from ogive.dxdispatch.resources import Bindings, BindingSource, MemoryBudget, input_file, name_of, single_source
from ogive.errors import OgiveError, UnsupportedError

_DENOTATIONS = "freeDimensionDenotationOverrides"
_MEMBERS = (
    "type",
    "sourcePath",
    "freeDimensionNameOverrides",
    _DENOTATIONS,
    "sessionOptionsConfigEntries",
    "graphOptimizationLevel",
    "loggingLevel",
)
_MOST = (1 << 32) - 1


def onnx_file(place: DocumentPlace, folder: Path) -> Path:
    """The file of an ONNX dispatchable."""
    return input_file(place.members(_MEMBERS, ("sourcePath",))["sourcePath"], folder)


class OnnxDispatchable:
    """A loaded ONNX model. Inputs that are not bound are zeros, outputs that are not bound are dropped."""

    note = ""

    def __init__(self, name: str, place: DocumentPlace, folder: Path, budget: MemoryBudget) -> None:
        from ogive.onnx import load

        members = place.members(_MEMBERS, ("sourcePath",))
        if _DENOTATIONS in members and members[_DENOTATIONS].members():
            what = "denotations of axes are not read"
            members[_DENOTATIONS].refuse(what, "freeDimensionNameOverrides", error=UnsupportedError)
        self._sizes: dict[str, int] = {}
        if "freeDimensionNameOverrides" in members:
            overrides = members["freeDimensionNameOverrides"].members()
            self._sizes = {axis: entry.whole(0, _MOST) for axis, entry in overrides.items()}
        # A setting for ONNX Runtime has no meaning for another runtime.
        if "sessionOptionsConfigEntries" in members:
            for entry in members["sessionOptionsConfigEntries"].members().values():
                entry.text()
        for number in ("graphOptimizationLevel", "loggingLevel"):
            if number in members:
                members[number].whole(0, _MOST)
        self.place = place
        self._budget = budget
        #: Outputs that are not bound are made once.
        self._zeros: dict[tuple[str, tuple[int, ...]], np.ndarray] = {}
        path = input_file(members["sourcePath"], folder)
        try:
            self._model = load(path, memory_limit=budget.limit)
        except OgiveError as error:
            members["sourcePath"].refuse(str(error), error=type(error), cause=error)
        self._inputs = {info.name: info for info in self._model.inputs}
        self._outputs = {info.name: info for info in self._model.outputs}

    def initializer(self) -> Callable[[], None]:
        """Nothing is left to do: loading has done it."""
        return lambda: None

    def bound(self, bindings: Bindings) -> Callable[[], None]:
        """One run with these bindings, checked now and run later."""
        sources = {name: single_source(bindings.place.at(name), given) for name, given in bindings.sources.items()}
        for name, source in sources.items():
            if name not in self._inputs and name not in self._outputs:
                allowed = ", ".join([*self._inputs, *self._outputs])
                bindings.place.at(name).refuse("the model has no such input or output", allowed)
            if source.offset:
                source.place.refuse("it does not begin at the resource's start", "no elementOffset for ONNX models")
        given = {
            name: self._input(bindings.place, info, sources.get(name))
            for name, info in self._inputs.items()
            if name in sources or info.required
        }
        targets = {name: source for name, source in sources.items() if name in self._outputs}
        shapes = {name: self._target_shape(name, source) for name, source in targets.items()}

        def run() -> None:
            try:
                results = self._model.run(given)
            except OgiveError as error:
                bindings.place.refuse(str(error), error=type(error), cause=error)
            for name, source in targets.items():
                _put(results[name], source, shapes[name])

        return run

    def _shape(self, place: DocumentPlace, info: Any, source: BindingSource | None) -> tuple[int, ...] | None:
        """The shape of a tensor: the binding's, else the declared one. None where some size is not known."""
        if source is not None and source.shape is not None:
            return source.shape
        if info.shape is None:
            return None
        sizes = [self._sizes.get(size) if isinstance(size, str) else size for size in info.shape]
        return None if None in sizes else tuple(size for size in sizes if size is not None)

    def _input(self, place: DocumentPlace, info: Any, source: BindingSource | None) -> np.ndarray:
        where = place if source is None else source.place
        dtype = _dtype(where, info)
        shape = self._shape(where, info, source)
        if shape is None:
            if info.shape is None:
                where.refuse(f"the input {info.name!r} declares no shape", "a binding with a shape")
            # A size that nothing is known of is 1, as in the tool.
            sizes = [self._sizes.get(size, 1) if isinstance(size, str) else size for size in info.shape]
            shape = tuple(1 if size is None else size for size in sizes)
        size = math.prod(shape) * dtype.itemsize
        if source is None:
            if (info.name, shape) not in self._zeros:
                self._budget.take(where, size, f"zeros for the input {info.name!r}")
                self._zeros[info.name, shape] = np.zeros(shape, dtype)
            return self._zeros[info.name, shape]
        memory = _memory(source)
        if size > memory.nbytes:
            what = f"{source.resource.name!r} has {memory.nbytes} bytes for an input of shape {shape}"
            where.refuse(what, f"{size} bytes of {dtype} or more")
        return memory[:size].view(dtype).reshape(shape)

    def _target_shape(self, name: str, source: BindingSource) -> tuple[int, ...] | None:
        """The shape that an output must have to go where it is bound; None for a deferred one."""
        dtype = _dtype(source.place, self._outputs[name])
        if source.resource.is_deferred:
            return None
        shape = self._shape(source.place, self._outputs[name], source)
        if shape is None:
            what = f"the shape of the output {name!r} is not known before it is computed"
            source.place.refuse(what, 'a shape beside the name, or a resource that is "deferred"')
        size, memory = math.prod(shape) * dtype.itemsize, _memory(source)
        if size > memory.nbytes:
            what = f"{source.resource.name!r} has {memory.nbytes} bytes for an output of shape {shape}"
            source.place.refuse(what, f"{size} bytes of {dtype} or more")
        return shape


def _dtype(place: DocumentPlace, info: Any) -> np.dtype:
    dtype = info.dtype if info.type.startswith("tensor(") else None
    if dtype is None or name_of(dtype) is None:
        what = f"{info.name!r} is {info.type}, which DirectML's tensors cannot be"
        place.refuse(what, "tensors of DirectML's data types", error=UnsupportedError)
    return dtype  # type: ignore[no-any-return]


def _memory(source: BindingSource) -> np.ndarray:
    if source.resource.buffer is None or source.resource.is_deferred:
        source.place.refuse(f"{source.resource.name!r} is deferred", "resources with initialValues, for an input")
    return source.resource.buffer


def _put(result: np.ndarray, source: BindingSource, shape: tuple[int, ...] | None) -> None:
    if shape is None:
        source.resource.kind = name_of(result.dtype) or ""
        source.resource.buffer = result.view(np.uint8) if result.dtype == bool else result
        return
    if result.shape != shape:
        source.place.refuse(f"the output has shape {result.shape}", f"{shape}, as it is bound")
    assert source.resource.buffer is not None
    source.resource.buffer[: result.nbytes] = np.ascontiguousarray(result).reshape(-1).view(np.uint8)
