"""QuantizeLinear and DequantizeLinear: with one scale, one for each index of an axis, or one for each block.

All integers, with any scales, are kernels of the catalogue's operators: what kernels do not compute with is converted to a
type that has all its values. Floats of 8 bits and less, and another ``precision`` than float32, are NumPy's arithmetic in
the type that the standard names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

from ogive.catalog import OPERATORS
from ogive.catalog.rounding import quantised
from ogive.common.conversion import converted
from ogive.engine.computation import Computation, formula_of, make_ufunc
from ogive.errors import ModelError, ShapeError, UnsupportedError, message
from ogive.onnx.casting import computed_in, convert
from ogive.onnx.data_types import DATA_TYPES, DataType, data_type, data_type_of
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ElementwiseNode, NodeComputation, NodeFunction
from ogive.operators.signature import Signature

Shape = tuple[int, ...]


def quantize(node: OnnxNode, output_type: str | None) -> NodeComputation:
    """``saturate(round_even(x / scale) + zero_point)``."""
    kind = _output(node, output_type if len(node.operands) > 2 else None, "tensor(uint8)")
    return _made(node, "quantize_linear", kind)


def dequantize(node: OnnxNode, output_type: str | None) -> NodeComputation:
    """``(x - zero_point) * scale``."""
    scale = node.input_types[1] if node.version >= 19 else None
    kind = _output(node, None if scale == "tensor(float8e8m0)" else scale, "tensor(float)")
    return _made(node, "dequantize_linear", kind)


def _output(node: OnnxNode, from_inputs: str | None, default: str) -> str:
    number = node.attributes.get("output_dtype", 0)
    asked = data_type(number) if number else None
    if number and asked is None:
        raise ModelError(message(node.label, f"output_dtype is {number}", "an element type of ONNX"))
    if (
        asked is not None
        and from_inputs is not None
        and node.operator == "QuantizeLinear"
        and asked.type != from_inputs
    ):
        what = f"output_dtype is {asked.type} and its zero point {from_inputs}"
        raise ModelError(message(node.label, what, "the same type for both"))
    return asked.type if asked is not None else from_inputs or default


def _made(node: OnnxNode, name: str, result: str) -> NodeComputation:
    """A kernel of the catalogue's formula where kernels compute with all types, and else a function around one."""
    axis, block = node.attributes.get("axis", 1), node.attributes.get("block_size", 0)
    precision = data_type(node.attributes.get("precision", 0))
    kind = DATA_TYPES[result]
    if name == "dequantize_linear" and (kind.element is None or not kind.element.is_float):
        raise UnsupportedError(message(node.label, f"its output is {kind.type}", "floating-point types"))
    if name == "quantize_linear" and (not kind.is_integer or (precision is not None and precision.bits != 32)):
        function = partial(_quantized, kind, precision, bool(node.attributes.get("saturate", 1)))
        return NodeFunction(node.operands, partial(_with_spread, function, axis, block, node.label), result)
    given = [DATA_TYPES[t] for t in node.input_types if t is not None]
    signature = Signature(tuple(map(computed_in, given)), (computed_in(kind),))
    computation = _computation(name, signature)
    if not block and all(t.element is not None for t in (*given, kind)):
        rule = partial(_aligned, axis)
        return ElementwiseNode(node.operands, signature.inputs, signature.outputs[0], result, rule, computation)
    function = partial(_with_kernel, make_ufunc(name, computation), kind)
    return NodeFunction(node.operands, partial(_with_spread, function, axis, block, node.label), result)


def _computation(name: str, signature: Signature) -> Computation:
    """The operator of the catalogue; without a zero point it is 0."""
    op = OPERATORS[name]
    if len(signature.inputs) == 3:
        return op.computation(signature)
    return formula_of(lambda x, scale: op(x, scale, 0), signature.inputs, signature.outputs[0])


def _aligned(axis: int, label: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """One scale for all, or one for each index of an axis."""
    x, *others = shapes
    if all(math.prod(shape) == 1 and len(shape) <= 1 for shape in others):
        return x, *((),) * len(others)
    if any(shape != others[0] for shape in others):
        raise ShapeError(message(label, f"scale and zero point have the shapes {others}", "equal shapes"))
    scale = others[0]
    place = axis + len(x) if axis < 0 else axis
    if len(scale) != 1 or not 0 <= place < len(x) or scale[0] != x[place]:
        what = f"its scale has the shape {scale} for x of shape {x} and axis {axis}"
        raise ShapeError(message(label, what, "one element, or as many as the axis has"))
    return x, *((*scale, *(1,) * (len(x) - place - 1)),) * len(others)


def _spread(label: str, axis: int, block: int, x: np.ndarray, others: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Scale and zero point as arrays that broadcast with x."""
    if not block:
        shapes = _aligned(axis, label, [x.shape, *(other.shape for other in others)])[1:]
        return [other.reshape(shape) for other, shape in zip(others, shapes, strict=True)]
    place = axis + x.ndim if axis < 0 else axis
    if not 0 <= place < x.ndim or block < 0:
        raise ShapeError(message(label, f"axis is {axis} and block_size {block}", "an axis of x, and sizes from 1 on"))
    blocks = -(-x.shape[place] // block)
    wanted = (*x.shape[:place], blocks, *x.shape[place + 1 :])
    if any(other.shape != wanted for other in others):
        what = f"its scale has the shape {others[0].shape} for x of shape {x.shape} in blocks of {block}"
        raise ShapeError(message(label, what, f"{wanted}"))
    index = np.arange(x.shape[place]) // block
    return [np.take(other, index, axis=place) for other in others]


def _with_spread(
    compute: Callable[..., np.ndarray], axis: int, block: int, label: str, x: np.ndarray, *others: np.ndarray
) -> np.ndarray:
    return compute(x, *_spread(label, axis, block, x, others))


def _with_kernel(ufunc: np.ufunc, result: DataType, *operands: np.ndarray) -> np.ndarray:
    """The kernel's results; integers of 2 and 4 bits are computed in those of 8, which saturate later."""
    numbers = [_as_computed(operand) for operand in operands]
    found: np.ndarray = np.asarray(ufunc(*numbers))
    if result.element is None:
        found = converted(np.clip(found, *result.limits), result.numpy)
    return found


def _as_computed(array: np.ndarray) -> np.ndarray:
    kind = data_type_of(array.dtype)
    assert kind is not None
    return array if kind.element is not None else converted(array, computed_in(kind).numpy)


def _quantized(
    result: DataType,
    precision: DataType | None,
    saturate: bool,
    x: np.ndarray,
    scale: np.ndarray,
    *zero: np.ndarray,
) -> np.ndarray:
    """To floats of 8 bits and less, and to integers where the quotient is rounded to another type than float32."""
    kind: np.dtype = np.dtype(np.float32) if precision is None else precision.numpy
    quotient: np.ndarray
    with np.errstate(all="ignore"):
        if kind.itemsize < 4:  # computed in float32 and rounded to it
            quotient = (x.astype(np.float32) / scale.astype(np.float32)).astype(kind).astype(np.float32)
        else:
            quotient = x.astype(kind) / scale.astype(kind)
    if not result.is_integer:
        source = "tensor(float)"
        single = quotient.astype(np.float32)
        if zero:
            single = single + zero[0].astype(np.float32)
        return convert(single, source, result.type, saturate=saturate, round_mode="up")
    kinds = [data_type_of(quotient.dtype), *(data_type_of(array.dtype) for array in zero)]
    inputs = tuple(computed_in(kind) for kind in kinds if kind is not None)
    return _with_kernel(_from_quotient(Signature(inputs, (computed_in(result),))), result, quotient, *zero)


@cache
def _from_quotient(signature: Signature) -> np.ufunc:
    """Integers of quotients that are rounded already."""
    return make_ufunc("quantize_linear", formula_of(quantised, signature.inputs, signature.outputs[0]))
