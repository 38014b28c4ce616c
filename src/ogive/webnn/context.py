"""MLContext: what graphs and tensors belong to, and what runs graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ogive.engine.movement import LARGEST_RANK
from ogive.errors import described, message
from ogive.webnn import shapes
from ogive.webnn.checking import buffer_of, descriptor_of
from ogive.webnn.compiled_graph import MLGraph
from ogive.webnn.exceptions import InvalidStateError, refuse
from ogive.webnn.operand import DATA_TYPES, data_type
from ogive.webnn.operator_table import OPERATORS, limits
from ogive.webnn.shapes import Shape


class MLTensor:
    """Memory of a context, of a type and a shape: what `MLContext.dispatch` reads and writes."""

    def __init__(self, context: MLContext, kind: str, shape: Shape, array: np.ndarray, **flags: bool) -> None:
        self._context = context
        self._type, self._shape = kind, shape
        self._array: np.ndarray | None = array
        self._flags = flags

    dataType = property(lambda self: self._type, doc="The MLOperandDataType.")
    shape = property(lambda self: self._shape, doc="The sizes of its axes.")
    readable = property(lambda self: self._flags.get("readable", False), doc="Whether `MLContext.readTensor` reads it.")
    writable = property(
        lambda self: self._flags.get("writable", False), doc="Whether `MLContext.writeTensor` writes it."
    )
    constant = property(lambda self: self._flags.get("constant", False), doc="Whether it is a constant of builders.")

    def destroy(self) -> None:
        """Release its memory. Graphs that were built with it keep their own copy."""
        self._array = None

    def __repr__(self) -> str:
        state = ", destroyed" if self._array is None else ""
        return f"<MLTensor {self._type} {list(self._shape)}{state}>"


class MLContext:
    """Runs graphs on the processor, and has their tensors.

    >>> from ogive.webnn import MLContext, MLGraphBuilder
    >>> context = MLContext()
    >>> builder = MLGraphBuilder(context)
    >>> x = builder.input("x", {"dataType": "int32", "shape": [2]})
    >>> graph = builder.build({"y": builder.mul(x, x)})
    >>> given = context.createTensor({"dataType": "int32", "shape": [2], "writable": True})
    >>> result = context.createTensor({"dataType": "int32", "shape": [2], "readable": True})
    >>> context.writeTensor(given, [3, -4])
    >>> context.dispatch(graph, {"x": given}, {"y": result})
    >>> context.readTensor(result)
    array([ 9, 16], dtype=int32)
    """

    def __init__(self) -> None:
        self._is_alive = True

    def __repr__(self) -> str:
        return "<MLContext>" if self._is_alive else "<MLContext, destroyed>"

    accelerated = property(lambda self: False, doc="Whether another device than the processor computes.")

    def destroy(self) -> None:
        """End the context: builders, graphs and tensors of it raise InvalidStateError from now on."""
        self._is_alive = False

    def _check_alive(self, subject: str) -> None:
        if not self._is_alive:
            raise InvalidStateError(message(subject, "the context is destroyed", "", "Make another MLContext"))

    # ---- tensors

    def createTensor(self, descriptor: Mapping[str, Any]) -> MLTensor:
        """A tensor of zeros. The descriptor says whether it is ``readable`` and ``writable``. Raises MLTypeError."""
        self._check_alive("createTensor")
        kind, shape = self._described("createTensor", descriptor)
        flags = {name: bool(descriptor.get(name, False)) for name in ("readable", "writable")}
        return MLTensor(self, kind, shape, np.zeros(shape, DATA_TYPES[kind].numpy), **flags)

    def createConstantTensor(self, descriptor: Mapping[str, Any], inputData: Any) -> MLTensor:
        """A tensor for `MLGraphBuilder.constant`, with a copy of the data. Raises MLTypeError."""
        self._check_alive("createConstantTensor")
        kind, shape = self._described("createConstantTensor", descriptor)
        return MLTensor(self, kind, shape, buffer_of("createConstantTensor", inputData, kind, shape), constant=True)

    def _described(self, subject: str, descriptor: Any) -> tuple[str, Shape]:
        kind, shape = descriptor_of(subject, descriptor)
        return data_type(subject, kind), shapes.checked_shape(subject, shape)

    def readTensor(self, tensor: MLTensor) -> np.ndarray:
        """A copy of a readable tensor's elements. Raises MLTypeError."""
        array = self._array_of("readTensor", "the tensor", tensor)
        if not tensor.readable:
            refuse("readTensor", "the tensor is not readable", "tensors made with 'readable': True")
        return array.copy()

    def writeTensor(self, tensor: MLTensor, inputData: Any) -> None:
        """Copy data to a writable tensor. Raises MLTypeError."""
        array = self._array_of("writeTensor", "the tensor", tensor)
        if not tensor.writable:
            refuse("writeTensor", "the tensor is not writable", "tensors made with 'writable': True")
        array[...] = buffer_of("writeTensor", inputData, tensor.dataType, tensor.shape)

    def _array_of(self, subject: str, what: str, tensor: Any) -> np.ndarray:
        self._check_alive(subject)
        if not isinstance(tensor, MLTensor):
            refuse(subject, f"{what} is {described(tensor)}", "an MLTensor")
        if tensor._context is not self:
            refuse(subject, f"{what} is of another context", "tensors of this one")
        if tensor._array is None:
            refuse(subject, f"{what} is destroyed", "a tensor that is not")
        return tensor._array

    # ---- running

    def dispatch(self, graph: MLGraph, inputs: Mapping[str, MLTensor], outputs: Mapping[str, MLTensor]) -> None:
        """Run a graph on tensors, all different. Raises MLTypeError."""
        subject = "dispatch"
        self._check_graph(subject, graph)
        given = self._tensors(subject, "input", inputs, graph._inputs)
        wanted = self._tensors(subject, "output", outputs, graph._outputs)
        tensors = [*inputs.values(), *outputs.values()]
        if len({id(tensor) for tensor in tensors}) != len(tensors):
            refuse(subject, "a tensor stands for two inputs or outputs", "a tensor for each")
        for name, value in graph._run(given).items():
            np.copyto(wanted[name], value)

    def _tensors(
        self, subject: str, what: str, given: Any, declared: Mapping[str, tuple[str, Shape]]
    ) -> dict[str, np.ndarray]:
        if not isinstance(given, Mapping):
            refuse(subject, f"the {what}s are {described(given)}", "a dictionary of tensors")
        found = {}
        for name, (kind, shape) in declared.items():
            if name not in given:
                refuse(subject, f"the {what} {name!r} is missing", ", ".join(declared))
            array = self._array_of(subject, f"the {what} {name!r}", given[name])
            if array.dtype != DATA_TYPES[kind].numpy or array.shape != shape:
                refuse(subject, f"the {what} {name!r} is {given[name]!r}", f"{kind} {list(shape)}")
            found[name] = array
        for name in given:
            if name not in declared:
                refuse(subject, f"there is no {what} {name!r}", ", ".join(declared) or "none")
        return found

    def compute(self, graph: MLGraph, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The outputs of a graph for arrays; ``graph(inputs)`` is the same.

        Raises MLTypeError for arrays of another type or shape than the inputs have.
        """
        self._check_graph("compute", graph)
        return graph(inputs)

    def _check_graph(self, subject: str, graph: Any) -> None:
        self._check_alive(subject)
        if not isinstance(graph, MLGraph):
            refuse(subject, f"graph is {described(graph)}", "an MLGraph")
        if graph._context is not self:
            refuse(subject, "the graph is of another context", "graphs of this one")

    # ---- what there is

    def opSupportLimits(self) -> dict[str, Any]:
        """The types and ranks of every operator's operands and results, as the specification's dictionaries have them.

        >>> from ogive.webnn import MLContext
        >>> limits = MLContext().opSupportLimits()
        >>> limits["gelu"]["input"]["dataTypes"], limits["triangular"]["input"]["rankRange"]
        (['float32', 'float16'], {'min': 2, 'max': 64})
        >>> list(limits["layerNormalization"]), limits["isNaN"]["output"]["dataTypes"]
        (['input', 'scale', 'bias', 'output'], ['uint8'])
        """
        every = list(DATA_TYPES)
        whole = {"dataTypes": every, "rankRange": {"min": 0, "max": LARGEST_RANK}}
        support: dict[str, Any] = {"preferredInputLayout": "nchw", "maxTensorByteLength": (2**31 - 1) * 8}
        support |= dict.fromkeys(("input", "constant", "output"), whole)
        return support | {name: limits(name, LARGEST_RANK) for name in OPERATORS}


def createContext() -> MLContext:
    """A context, as ``navigator.ml.createContext()`` gives one."""
    return MLContext()
