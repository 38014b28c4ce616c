"""Element-wise nodes as programs: the catalogue's operators, by ONNX's name, and what is put together from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ogive.catalog import OPERATORS
from ogive.catalog.standards import OF_TERMS, TABLE, row_of, rows
from ogive.common.dtypes import BOOLEAN, NUMBERS, ElementType
from ogive.engine.computation import Computation, Formula, Fused, leaves
from ogive.errors import ModelError, ParameterError, UnsupportedError, message
from ogive.graph.expression import lift
from ogive.onnx.broadcasting import rule_of
from ogive.onnx.data_types import DATA_TYPES, element_types
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ElementwiseNode, NodeComputation, NodeFunction, SameValue
from ogive.operators.operator import Operator
from ogive.operators.row_operator import RowOperator
from ogive.operators.signature import Signature

#: Attributes that say how operands lie: broadcasting.py has them, and reduction_nodes.py.
_OF_PLACES = frozenset({"axis", "broadcast"})


def from_catalogue(node: OnnxNode, op: Operator, output_type: str) -> NodeComputation:
    """A node that is an operator of the catalogue."""
    elements = element_types((*(t for t in node.input_types if t is not None), output_type))
    signature = None if elements is None else Signature(elements[:-1], elements[-1:])
    if signature is None or not _is_computable(op, signature):
        function = _with_numpy(node, output_type)
        if function is None:
            raise wrong_types(node, (t for listed in op.signatures for t in listed.inputs))
        return function
    parameters = parameters_of(node, op)
    choices = {parameter.name: parameters[parameter.name] for parameter in op.parameters if parameter.choices}
    return ElementwiseNode(
        node.operands,
        signature.inputs,
        signature.outputs[0],
        output_type,
        rule_of(node),
        op.computation(signature, **choices),
        tuple(parameters[parameter.name] for parameter in op.numeric_parameters),
    )


def _is_computable(op: Operator, signature: Signature) -> bool:
    """Whether the operator's formula is about operands of these kinds.

    A formula about numbers holds for numbers of all types, also for those that the operator is not listed for
    (Erf-9 takes integers, Pow-12 mixes types).
    """
    listed = op.signatures[0]
    return signature in op.signatures or (
        len(signature.inputs) == len(op.tensors)
        and all(
            (name in op.truth_inputs) == (t is BOOLEAN) for name, t in zip(op.tensors, signature.inputs, strict=True)
        )
        and (signature.outputs[0] is BOOLEAN) == (listed.outputs[0] is BOOLEAN)
    )


def parameters_of(node: OnnxNode, op: Operator) -> dict[str, Any]:
    """The node's attributes as the parameters of the catalogue's operator."""
    known = {parameter.name: parameter for parameter in op.parameters}
    given = {name: value for name, value in node.attributes.items() if name != "consumed_inputs"}
    if "broadcast" in given or isinstance(op, RowOperator):
        given = {name: value for name, value in given.items() if name not in _OF_PLACES}
    unknown = ", ".join(sorted(map(repr, set(given) - known.keys())))
    if unknown:
        raise UnsupportedError(message(node.label, f"the attribute {unknown} has no counterpart in {op.name}"))
    for name, value in given.items():  # a choice between truth values is a choice between 0 and 1 in ONNX
        given[name] = next((choice for choice in known[name].choices if choice == value), value)
    try:
        row = row_of("onnx", node.operator, node.attributes)
        return op.checked_parameters({**({} if row is None else row.choices), **given})
    except ParameterError as error:
        raise ModelError(f"{node.label}: {str(error).removeprefix(op.name + ': ')}") from error


def wrong_types(node: OnnxNode, taken: Iterable[ElementType] = NUMBERS) -> UnsupportedError:
    """The error for operands of types that an operator does not take."""
    given = " and ".join(dict.fromkeys(t for t in node.input_types if t is not None))
    allowed = ", ".join(dict.fromkeys(t.name for t in taken))
    return UnsupportedError(message(node.label, f"its inputs are {given}", allowed))


#: Comparing and choosing need no arithmetic: NumPy does it for what kernels have no type for.
_ANY_TYPE: dict[str, Callable[..., Any]] = {"Equal": np.equal, "IsNaN": np.isnan, "Where": np.where}


def _is_infinite(x: np.ndarray, *, detect_negative: int, detect_positive: int) -> Any:
    infinite = np.isinf(x)
    is_detected = np.where(np.signbit(x), bool(detect_negative), bool(detect_positive))
    return np.logical_and(infinite, is_detected)


def _with_numpy(node: OnnxNode, output_type: str) -> NodeFunction | None:
    function = _ANY_TYPE.get(node.operator)
    if node.operator == "IsInf":
        function = partial(_is_infinite, **node.attributes)
    if function is None:
        return None
    rule, label, dtype = rule_of(node), node.label, DATA_TYPES[output_type].numpy

    def compute(*arrays: np.ndarray) -> np.ndarray:
        shapes = rule(label, [array.shape for array in arrays])
        aligned = [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
        return np.asarray(function(*aligned)).astype(dtype, copy=False)

    return NodeFunction(node.operands, compute, output_type)


def _formula(root: Any, kind: ElementType, count: int) -> Formula:
    return Formula((lift(root),), (kind,) * count, (kind,))


#: Operators of any number of inputs.
VARIADIC = frozenset(OF_TERMS) | {name for name, found in TABLE["onnx"].items() if found[0].is_repeated}


def variadic(node: OnnxNode, output_type: str | None) -> NodeComputation:
    """A node with any number of operands."""
    assert output_type is not None
    count = len(node.operands)
    if count == 1:
        return SameValue(node.operands[0], output_type)
    elements = element_types((output_type,))
    if elements is None:
        raise wrong_types(node)
    kind = elements[0]
    if node.operator in OF_TERMS:
        root = OF_TERMS[node.operator](leaves(count))
        return _elementwise(node, _formula(root, kind, count), kind, output_type)
    row = row_of("onnx", node.operator)
    assert row is not None
    return _elementwise(node, _repeated(row.operator, kind, count), kind, output_type)


def _repeated(op: Operator, kind: ElementType, count: int) -> Fused:
    """An operator of two on the first two operands, then on that result and the next, and so on."""
    once = op.computation(Signature((kind, kind), (kind,)))
    steps = tuple((once, (0 if i == 1 else count + i - 2, i)) for i in range(1, count))
    return Fused((kind,) * count, steps, (2 * count - 2,))


def _elementwise(node: OnnxNode, computation: Computation, kind: ElementType, output_type: str) -> ElementwiseNode:
    """A computation for operands that all have the type of the output."""
    return ElementwiseNode(node.operands, computation.inputs, kind, output_type, rule_of(node), computation)


def clip(node: OnnxNode, output_type: str | None) -> NodeComputation:
    """Bounds are inputs or attributes; one that is left out is at the end of the type's range."""
    assert output_type is not None
    elements = element_types((output_type,))
    if elements is None:
        raise wrong_types(node)
    kind = elements[0]
    x, *given = leaves(len(node.operands))
    ends = {"min": -math.inf, "max": math.inf} if kind.is_float else {"min": kind.minimum, "max": kind.maximum}
    bounds = {**ends, **node.attributes, **dict(zip(node.operand_parameters[1:], given, strict=True))}
    root = OPERATORS["clip"](x, bounds["min"], bounds["max"])
    return _elementwise(node, _formula(root, kind, len(node.operands)), kind, output_type)


def bit_shift(node: OnnxNode, output_type: str | None) -> NodeComputation:
    """One of two operators of the catalogue, by the attribute ``direction``; NumPy's shifts of signed integers."""
    assert output_type is not None
    direction = node.attributes["direction"]
    row = row_of("onnx", node.operator, node.attributes)
    if row is None:
        allowed = ", ".join(repr(row.when["direction"]) for row in rows("onnx", node.operator))
        raise ModelError(message(node.label, f"direction is {direction!r}", allowed))
    elements = element_types((output_type,))
    if elements is None:
        raise wrong_types(node)
    if elements[0].kind == "signed":
        return NodeFunction(node.operands, partial(_signed_shift, rule_of(node), node.label, direction), output_type)
    computation = row.operator.computation(Signature((elements[0],) * 2, elements))
    return _elementwise(node, computation, elements[0], output_type)


def _signed_shift(rule: Any, label: str, direction: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Arithmetic shifts: a negative amount is as one of all bits, which leaves copies of the sign (0 to the left)."""
    rule(label, [x.shape, y.shape])
    bits = x.dtype.itemsize * 8
    amount = np.where((y < 0) | (y >= bits), bits - 1, y).astype(x.dtype)
    if direction == "RIGHT":
        return np.asarray(np.right_shift(x, amount))
    return np.asarray(np.where((y < 0) | (y >= bits), np.zeros((), x.dtype), np.left_shift(x, amount)))
