"""From operations to nodes of the engine: element by element, over rows, or as functions of whole arrays.

A node that is computed element by element or over rows is fused by the engine; one that only moves elements is a view where NumPy
has one, and a function of ogive/movement elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ogive import formula as f
from ogive.catalog import OPERATORS as CATALOGUE
from ogive.catalog import normalisation
from ogive.catalog.rounding import quantised
from ogive.catalog.standards import row_of
from ogive.common.dtypes import BOOLEAN, ElementType
from ogive.common.keys import remembered
from ogive.engine.computation import Computation, Fused, cast, formula_of, leaves
from ogive.engine.executable import ArrayFunction, GraphDescription
from ogive.engine.graph import ArrayValue, GraphNode
from ogive.engine.movement import copies
from ogive.engine.row_formulas import reduction
from ogive.engine.rows import RowFormula
from ogive.engine.running import running_sum
from ogive.graph.expression import lift
from ogive.operators.signature import Signature
from ogive.webnn.operand import BuiltOperation, MLOperand
from ogive.webnn.operator_table import OPERATORS
from ogive.webnn.shapes import Shape


def reshaped(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return x.reshape(shape)


def turned(x: np.ndarray, *, order: tuple[int, ...]) -> np.ndarray:
    return x.transpose(order)


def expanded(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return np.broadcast_to(x, shape)


def flipped(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.flip(x, axes) if axes else x


def cut(x: np.ndarray, *, parts: tuple[slice, ...]) -> np.ndarray:
    index: Any = (*parts, ...)  # with the dots a scalar stays an array
    return np.asarray(x[index])


def padded(x: np.ndarray, *, pads: tuple[int, ...], mode: str, value: float) -> np.ndarray:
    if mode == "reflect":
        pads_of = [(pads[i], pads[x.ndim + i]) for i in range(x.ndim)]
        return np.pad(x, pads_of, mode="reflect")
    return copies.pad(x, np.array(pads, np.int64), np.array(value, x.dtype), mode=mode)


def tiled(x: np.ndarray, *, repetitions: tuple[int, ...]) -> np.ndarray:
    return copies.tile(x, np.array(repetitions, np.int64))


def triangular(x: np.ndarray, *, diagonal: int, upper: bool) -> np.ndarray:
    return copies.trilu(x, diagonal, upper=int(upper))


def repeated(x: np.ndarray, *, times: tuple[int, ...]) -> np.ndarray:
    """Every element so many times along each axis."""
    for axis, count in enumerate(times):
        if count > 1:
            x = np.repeat(x, count, axis)
    return x


@dataclass
class Lowered(GraphDescription):
    """A graph as the engine has it."""

    values: dict[int, ArrayValue] = field(default_factory=dict)
    """By the number of the operand."""

    # ---- adding nodes

    def _fresh(self, kind: ElementType, shape: Shape) -> ArrayValue:
        return ArrayValue(len(self.nodes), kind, shape)

    def computed(
        self,
        label: str,
        kind: ElementType,
        shape: Shape,
        operands: tuple[ArrayValue, ...],
        computation: Computation | RowFormula,
        parameters: tuple[float, ...] = (),
    ) -> ArrayValue:
        """The result of a computation."""
        made = self._fresh(kind, shape)
        self.nodes.append(GraphNode(label, made, operands, computation, parameters))
        return made

    def function(
        self,
        label: str,
        shape: Shape,
        operands: tuple[ArrayValue, ...],
        call: Callable[..., np.ndarray],
        *,
        kind: ElementType | None = None,
        is_view: bool = False,
    ) -> ArrayValue:
        """The result of a function of whole arrays. For constants it is a constant."""
        kind = operands[0].type if kind is None else kind
        if is_view and len(operands) == 1 and operands[0].array in self.constants:
            return self.constant(call(self.constants[operands[0].array]), kind)
        made = self._fresh(kind, shape)
        self.functions[made.array] = ArrayFunction(call, is_view)
        self.nodes.append(GraphNode(label, made, operands, None))
        return made

    def constant(self, array: np.ndarray, kind: ElementType) -> ArrayValue:
        """An array that is known."""
        name = ("constant", len(self.constants))
        self.constants[name] = array
        return ArrayValue(name, kind, array.shape)

    def over_rows(self, label: str, kind: ElementType, rows: ArrayValue, row: RowFormula) -> ArrayValue:
        """The results of a formula for rows: elements, or one number a row."""
        shape = _shape(rows)
        result = (*shape[:-1], 1) if row.reduces else shape
        return self.computed(label, kind, result, (rows,), row)

    def seen(self, value: ArrayValue, shape: Shape) -> ArrayValue:
        """The operand's elements in another shape."""
        if value.space == shape:
            return value
        return self.function("reshape", shape, (value,), partial(reshaped, shape=shape), is_view=True)

    def turned(self, value: ArrayValue, order: tuple[int, ...]) -> ArrayValue:
        """The operand's elements with their axes in another order."""
        if order == tuple(range(len(order))):
            return value
        shape = tuple(_shape(value)[axis] for axis in order)
        return self.function("transpose", shape, (value,), partial(turned, order=order), is_view=True)

    def as_rows(self, value: ArrayValue, axes: tuple[int, ...]) -> tuple[ArrayValue, tuple[int, ...]]:
        """The axes as one, which is the last, and the order in which all axes lie then."""
        shape = _shape(value)
        kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
        order = (*kept, *axes)
        length = math.prod(shape[axis] for axis in axes)
        rows = self.seen(self.turned(value, order), (*(shape[axis] for axis in kept), length))
        return rows, order


def _shape(value: ArrayValue) -> Shape:
    shape: Any = value.space
    return tuple(shape)


class _OperandStep(NamedTuple):
    """An operation of the builder's with the engine's values."""

    graph: Lowered
    operation: BuiltOperation
    inputs: tuple[ArrayValue, ...]
    kind: ElementType
    shape: Shape

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self.operation.attributes

    def computed(
        self, computation: Computation, *operands: ArrayValue, parameters: tuple[float, ...] = ()
    ) -> ArrayValue:
        """The result of a computation, of the inputs or of other operands."""
        given = operands or self.inputs
        return self.graph.computed(self.operation.subject, self.kind, self.shape, given, computation, parameters)


def lower(outputs: Mapping[str, MLOperand]) -> Lowered:
    """The nodes that the outputs need, in an order in which they can be computed."""
    made = Lowered()
    for operand in _needed(outputs):
        if operand._array is not None:
            value = made.constant(operand._array, operand._kind)
        elif operand._operation is None:
            value = ArrayValue(("input", operand._name), operand._kind, operand.shape)
        else:
            inputs = tuple(made.values[x._number] for x in operand._operation.inputs)
            value = _lowered(_OperandStep(made, operand._operation, inputs, operand._kind, operand.shape))
        made.values[operand._number] = value
    return made


def _needed(outputs: Mapping[str, MLOperand]) -> list[MLOperand]:
    found = {operand._number: operand for operand in outputs.values()}
    waiting = list(found.values())
    while waiting:
        operation = waiting.pop()._operation
        for operand in operation.inputs if operation else ():
            if operand._number not in found:
                found[operand._number] = operand
                waiting.append(operand)
    return [found[number] for number in sorted(found)]


def _lowered(step: _OperandStep) -> ArrayValue:
    name = step.operation.name
    row = OPERATORS[name]
    if row.kind == "own":
        return _OWN[name](step)
    if row.kind == "reduction":
        return _reduced(step, row.reduction)
    computation = _element_wise(name, tuple(value.type for value in step.inputs), step.kind)
    return step.computed(computation, parameters=step.attributes["parameters"])


# ---- element by element


@lru_cache(maxsize=512)
def _element_wise(name: str, kinds: tuple[ElementType, ...], kind: ElementType) -> Computation:
    """The formula of an operator. Truth values are uint8 here, 0 and others."""
    row = row_of("webnn", name)
    assert row is not None
    op, count = row.operator, len(kinds)
    steps: list[tuple[Computation, tuple[int, ...]]] = []
    places, inner = list(range(count)), list(kinds)
    for place, tensor in enumerate(op.tensors):
        if tensor in op.truth_inputs:
            places[place], inner[place] = count + len(steps), BOOLEAN
            steps.append((cast(kinds[place], BOOLEAN), (place,)))
    result = BOOLEAN if row.gives_truth else kind
    computation = op.computation(Signature(tuple(inner), (result,)), **row.choices)
    if not steps and result is not BOOLEAN:
        return computation
    steps.append((computation, tuple(places)))
    if result is BOOLEAN:
        steps.append((cast(BOOLEAN, kind), (count + len(steps) - 1,)))
    return Fused(kinds, tuple(steps), (count + len(steps) - 1,))


@remembered(maxsize=64)
def _clip(kind: ElementType, low: float | None, high: float | None) -> Computation:
    """The larger of two zeros is +0 here; ONNX's Clip and `ogive.clip` leave the sign as it is."""
    return formula_of(lambda x: f.clip(x, low, high), (kind,), kind)


@lru_cache(maxsize=64)
def _quantise(kind: ElementType, zero: ElementType) -> Computation:
    """The quotient is rounded to the type of the numbers first."""
    quotient = CATALOGUE["div"].computation(Signature((kind, kind), (kind,)))
    rest = formula_of(quantised, (kind, zero), zero)
    return Fused((kind, kind, zero), ((quotient, (0, 1)), (rest, (3, 2))), (4,))


@remembered(maxsize=64)
def _batch(kind: ElementType, epsilon: float, more: tuple[str, ...]) -> Computation:
    def scaled(x: Any, mean: Any, variance: Any, *rest: Any) -> Any:
        return normalisation.beside_given(x, mean, variance, epsilon, **dict(zip(more, rest, strict=True)))

    return formula_of(scaled, (kind,) * (3 + len(more)), kind)


@remembered(maxsize=64)
def _normal_row(kind: ElementType, epsilon: float, more: tuple[str, ...]) -> RowFormula:
    x, *rest = leaves(1 + len(more))
    root = normalisation.normalised(x, epsilon, **dict(zip(more, rest, strict=True)))
    return RowFormula((lift(root),), (kind,) * (1 + len(more)), (kind,))


# ---- operators of their own

_Maker = Callable[[_OperandStep], ArrayValue]


def _cast(step: _OperandStep) -> ArrayValue:
    given, kind = step.inputs[0].type, step.kind
    return step.computed(_element_wise("identity", (kind,), kind) if given is kind else cast(given, kind))


def _clamped(step: _OperandStep) -> ArrayValue:
    return step.computed(_clip(step.kind, step.attributes["minValue"], step.attributes["maxValue"]))


def _softmax(step: _OperandStep) -> ArrayValue:
    formula = CATALOGUE["softmax"].computation(Signature((step.kind,), (step.kind,)))
    rows, order = step.graph.as_rows(step.inputs[0], step.attributes["axes"])
    row = RowFormula(formula.roots, (step.kind,), (step.kind,))
    return step.graph.turned(step.graph.over_rows(step.operation.subject, step.kind, rows, row), _back(order))


def _back(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(axis) for axis in range(len(order)))


def _reduced(step: _OperandStep, computes: str) -> ArrayValue:
    rows, _ = step.graph.as_rows(step.inputs[0], step.attributes["axes"])
    row = reduction(computes, step.inputs[0].type, step.kind)
    return step.graph.seen(step.graph.over_rows(step.operation.subject, step.kind, rows, row), step.shape)


def _quantised(step: _OperandStep) -> ArrayValue:
    x, *others = step.inputs
    blocks = [_spread(step, value) for value in others]
    if step.operation.name == "quantizeLinear":
        computation = _quantise(x.type, step.kind)
    else:
        computation = _element_wise(step.operation.name, (x.type, step.kind, x.type), step.kind)
    return step.computed(computation, x, *blocks)


def _spread(step: _OperandStep, value: ArrayValue) -> ArrayValue:
    """A number for each block of elements as one that broadcasts."""
    old = _shape(value)
    times = tuple(1 if have == 1 else want // have for have, want in zip(old, step.shape, strict=True))
    if set(times) <= {1}:
        return value
    new = tuple(have * n for have, n in zip(old, times, strict=True))
    return step.graph.function("expand", new, (value,), partial(repeated, times=times), kind=value.type)


def _batch_normalised(step: _OperandStep) -> ArrayValue:
    x, *others = step.inputs
    axis = step.attributes["axis"]
    wanted = (step.shape[axis], *(1,) * (len(step.shape) - axis - 1))
    computation = _batch(step.kind, step.attributes["epsilon"], step.attributes["more"])
    return step.computed(computation, x, *(step.graph.seen(value, wanted) for value in others))


def _normalised(step: _OperandStep) -> ArrayValue:
    x, *others = step.inputs
    graph, attributes, axes = step.graph, step.attributes, step.attributes["axes"]
    rows, order = graph.as_rows(x, axes)
    if set(attributes["described_by"]) == set(axes):  # one for each element of a row
        wanted = _shape(rows)[-1:]
    else:  # the channels are the last of the axes that are kept
        wanted = (*_shape(rows)[-2:-1], 1)
    row = _normal_row(step.kind, attributes["epsilon"], attributes["more"])
    operands = (rows, *(graph.seen(value, wanted) for value in others))
    result = graph.computed(step.operation.subject, step.kind, _shape(rows), operands, row)
    return graph.turned(graph.seen(result, tuple(step.shape[axis] for axis in order)), _back(order))


# ---- where elements lie


def _moved(call: Callable[..., np.ndarray], *, is_view: bool = False) -> _Maker:
    def maker(step: _OperandStep) -> ArrayValue:
        function = partial(call, **step.attributes)
        return step.graph.function(
            step.operation.subject, step.shape, step.inputs, function, kind=step.kind, is_view=is_view
        )

    return maker


_view = partial(_moved, is_view=True)

_OWN: dict[str, _Maker] = {
    "argMax": partial(_reduced, computes="arg_max"),
    "argMin": partial(_reduced, computes="arg_min"),
    "batchNormalization": _batch_normalised,
    "cast": _cast,
    "clamp": _clamped,
    "concat": _moved(copies.concat),
    "cumulativeSum": _moved(running_sum),
    "dequantizeLinear": _quantised,
    "expand": _view(expanded),
    "gather": _moved(copies.gather),
    "gatherElements": _moved(copies.gather_elements),
    "gatherND": _moved(copies.gather_nd),
    "instanceNormalization": _normalised,
    "layerNormalization": _normalised,
    "pad": _moved(padded),
    "quantizeLinear": _quantised,
    "reshape": _view(reshaped),
    "reverse": _view(flipped),
    "scatterElements": _moved(copies.scatter_elements),
    "scatterND": _moved(copies.scatter_nd),
    "slice": _view(cut),
    "softmax": _softmax,
    "tile": _moved(tiled),
    "transpose": _view(turned),
    "triangular": _moved(triangular),
}
