"""MLGraph: a compiled graph, called with arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ogive.engine.executable import plan_graph
from ogive.engine.graph import ArrayValue
from ogive.errors import described, message
from ogive.webnn.exceptions import InvalidStateError, refuse
from ogive.webnn.lowering import lower
from ogive.webnn.operand import DATA_TYPES, MLOperand
from ogive.webnn.shapes import Shape


class MLGraph:
    """A graph that has been built. Calling it with arrays by name returns arrays by name, from any thread.

    >>> import numpy as np
    >>> from ogive.webnn import MLContext, MLGraphBuilder
    >>> builder = MLGraphBuilder(MLContext())
    >>> x = builder.input("x", {"dataType": "float16", "shape": [2, 2]})
    >>> graph = builder.build({"y": builder.softmax(x, 1)})
    >>> graph
    <MLGraph: x float16 [2, 2] -> y float16 [2, 2]; 1 kernel>
    >>> graph({"x": np.float16([[0, 0], [1, 3]])})["y"].tolist()
    [[0.5, 0.5], [0.11920166015625, 0.880859375]]

    Raises MLTypeError for inputs that are missing, unknown, or of another type or shape.
    """

    def __init__(self, context: Any, outputs: Mapping[str, MLOperand], *, fuse: bool = True) -> None:
        self._context = context
        lowered = lower(outputs)
        self._inputs: dict[str, tuple[str, Shape]] = {}
        for operand in _inputs_of(outputs):
            assert operand._name is not None
            self._inputs[operand._name] = operand.dataType, operand.shape
        self._outputs = {name: (operand.dataType, operand.shape) for name, operand in outputs.items()}
        self._is_alive = True
        inputs = [ArrayValue(("input", name), DATA_TYPES[kind], shape) for name, (kind, shape) in self._inputs.items()]
        made = plan_graph(lowered, inputs, [lowered.values[x._number] for x in outputs.values()], fuse=fuse)
        self._plan, self._kernels = made

    def __repr__(self) -> str:
        def listed(values: Mapping[str, tuple[str, Shape]]) -> str:
            return ", ".join(f"{name} {kind} {list(shape)}" for name, (kind, shape) in values.items()) or "nothing"

        count = f"{self._kernels} kernel{'' if self._kernels == 1 else 's'}"
        return f"<MLGraph: {listed(self._inputs)} -> {listed(self._outputs)}; {count}>"

    def destroy(self) -> None:
        """Release the graph: it cannot run any more."""
        self._is_alive = False

    def __call__(self, inputs: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        subject = "MLGraph"
        given = {} if inputs is None else inputs
        if not isinstance(given, Mapping):
            refuse(subject, f"the inputs are {described(given)}", "a dictionary", "Write {'name': array}")
        for name in given:
            if name not in self._inputs:
                refuse(subject, f"there is no input {name!r}", ", ".join(self._inputs) or "none")
        arrays = {}
        for name, (kind, shape) in self._inputs.items():
            if name not in given:
                refuse(subject, f"the input {name!r} is missing", ", ".join(self._inputs))
            arrays[name] = _checked(name, given[name], kind, shape)
        return self._run(arrays)

    def _run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if not self._is_alive:
            raise InvalidStateError(message("MLGraph", "the graph is destroyed", "", "Build it again"))
        self._context._check_alive("MLGraph")
        results = self._plan.run([arrays[name] for name in self._inputs])
        return dict(zip(self._outputs, results, strict=True))


def _inputs_of(outputs: Mapping[str, MLOperand]) -> list[MLOperand]:
    found: dict[int, MLOperand] = {}
    waiting, seen = list(outputs.values()), set[int]()
    while waiting:
        operand = waiting.pop()
        if operand._number in seen:
            continue
        seen.add(operand._number)
        if operand._operation is not None:
            waiting.extend(operand._operation.inputs)
        elif operand._name is not None:
            found[operand._number] = operand
    return [found[number] for number in sorted(found)]


def _checked(name: str, value: Any, kind: str, shape: Shape) -> np.ndarray:
    array, dtype = np.asarray(value), DATA_TYPES[kind].numpy
    if array.dtype != dtype and isinstance(value, list | tuple | int | float) and array.dtype.kind in "iuf":
        wanted = array.astype(dtype)
        array = wanted if DATA_TYPES[kind].is_float or np.array_equal(wanted, array) else array
    if array.dtype != dtype:
        way_out = f"Convert it first: array.astype({kind!r})"
        refuse("MLGraph", f"the input {name!r} is {array.dtype}", kind, way_out)
    if array.shape != shape:
        refuse("MLGraph", f"the input {name!r} has the shape {list(array.shape)}", f"{list(shape)}")
    return array
