"""Operators that ONNX's schemas define by functions of others, computed by the words of the standard.

The functions that the onnx package carries are bodies for machines: they round after every step, and some of them cancel.
None of them is run for these operators.

SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: labels, weights and axes for what engine/losses.py computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from ogive.catalog import OPERATORS
from ogive.catalog.normalisation import beside_neighbours
from ogive.catalog.rounding import scale_of_range
from ogive.catalog.rowwise import beyond_largest
from ogive.catalog.trigonometry import affine_position, point_of_window, rotation
from ogive.common.dtypes import ElementType, element_type, element_type_of
from ogive.common.keys import remembered
from ogive.engine.computation import Formula, formula_of, leaves, make_ufunc
from ogive.engine.losses import cross_entropy, negative_log_likelihood
from ogive.engine.movement import fits_an_array
from ogive.engine.movement.copies import center_crop_pad, gather
from ogive.errors import ModelError, ShapeError, UnsupportedError, message
from ogive.graph.expression import Term, lift
from ogive.onnx.data_types import DATA_TYPES, data_type
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import NodeComputation, NodeFunction

REDUCTIONS = ("none", "sum", "mean")

#: So many elements a window may have: each is an operand of a kernel.
WIDEST = 31


def loss(node: OnnxNode, types: Sequence[str | None]) -> Sequence[NodeComputation | None]:
    """The loss, and of SoftmaxCrossEntropyLoss the logarithms of the probabilities."""
    reduction = node.attributes["reduction"]
    if reduction not in REDUCTIONS:
        raise ModelError(message(node.label, f"reduction is {reduction!r}", ", ".join(map(repr, REDUCTIONS))))
    of_logits = node.operator == "SoftmaxCrossEntropyLoss"
    compute = partial(_loss, of_logits, reduction, node.attributes.get("ignore_index"))
    assert types[0] is not None
    made: list[NodeComputation | None] = [NodeFunction(node.operands, compute, types[0])]
    if len(types) > 1:
        made.append(NodeFunction(node.operands[:1], _log_probabilities, types[0]))
    return made


def _log_probabilities(scores: np.ndarray) -> np.ndarray:
    if scores.ndim < 2:
        raise ShapeError(f"its scores have the shape {scores.shape}; allowed: (N, C, ...)")
    return np.asarray(OPERATORS["log_softmax"](scores, axis=1))


def _loss(
    of_logits: bool,
    reduction: str,
    ignored: int | None,
    scores: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    shape = (*scores.shape[:1], *scores.shape[2:])
    if scores.ndim < 2 or labels.shape != shape:
        what = f"its scores have the shape {scores.shape} and its labels {labels.shape}"
        raise ShapeError(f"{what}; allowed: (N, C, ...) and (N, ...)")
    classes = scores.shape[1]
    if weights is not None and weights.shape != (classes,):
        raise ShapeError(f"its weights have the shape {weights.shape}; allowed: {(classes,)}, one for each class")
    kind = element_type_of(scores.dtype)
    assert kind is not None
    rows, places = np.moveaxis(scores, 1, -1).reshape(-1, classes), labels.reshape(-1)
    counted = np.ones(len(places), bool) if ignored is None else places != ignored
    wrong = places[counted & ((places < 0) | (places >= classes))]
    if wrong.size:
        but = "" if ignored is None else f", and {ignored}, which is ignored"
        raise ShapeError(f"a label is {wrong[0]}; allowed: 0 to {classes - 1}{but}")
    places = places[counted].astype(np.intp)
    of_rows = (np.ones(classes) if weights is None else weights.astype(np.float64))[places]
    if of_logits:
        losses = cross_entropy(rows[counted], places, of_rows, kind, _rest_of_row())
    else:
        losses = negative_log_likelihood(rows[counted], places, of_rows, kind)
    if reduction == "none":
        result = np.zeros(len(counted), scores.dtype)
        result[counted] = losses.each()
        return result.reshape(shape)
    if reduction == "sum":
        return losses.total(Fraction(1))
    if weights is not None and not np.isfinite(of_rows).all():
        return np.array(math.nan).astype(scores.dtype)  # as inf / inf is
    total_weight = Fraction(len(places)) if weights is None else sum(map(Fraction, of_rows.tolist()), Fraction(0))
    return losses.total(total_weight)


@cache
def _rest_of_row() -> Term:
    return lift(beyond_largest(*leaves(1)))


Types = Sequence[str | None]
Outputs = Sequence[NodeComputation | None]


# ---- windows and grids


def _window(node: OnnxNode, _: Types) -> Outputs:
    number = node.attributes["output_datatype"]
    found = data_type(number)
    if found is None or found.element is None:
        raise ModelError(message(node.label, f"output_datatype is {number}", "a type of numbers"))
    compute = partial(_windowed, node.operator, found.type, bool(node.attributes["periodic"]))
    return (NodeFunction(node.operands, compute, found.type, shaping=node.operands),)


#: Places in a window, and in an axis of a grid, are integers of 32 bits.
PLACE = element_type("int32")
MOST_POINTS = 2**30


def _windowed(name: str, kind: str, periodic: bool, size: np.ndarray) -> np.ndarray:
    if size.size != 1 or not 0 <= int(size.reshape(())) < MOST_POINTS:
        what = f"its size is {size.tolist()}"
        raise ShapeError(f"{what}; allowed: one number from 0 on, below 2**30")
    element = DATA_TYPES[kind].element
    assert element is not None
    return _points(name, int(size.reshape(())), element, periodic=periodic)


def _points(name: str, size: int, kind: ElementType, *, periodic: bool) -> np.ndarray:
    """So many points of a window; of integers without their fraction."""
    period = size if periodic else size - 1
    if size < 1 or not period:  # a symmetric window of one point, as NumPy has it
        return np.ones(max(size, 0), kind.numpy)
    # A window is the same from both ends; so its ends are exactly alike, and its middle is exactly 1.
    n = np.arange(size, dtype=np.int32)
    n = np.minimum(n, period - n)
    return np.asarray(_point(name, kind)(n, np.int32(period), out=np.empty(size, kind.numpy)))


@cache
def _point(name: str, kind: ElementType) -> np.ufunc:
    return make_ufunc(name, formula_of(partial(point_of_window, name), (PLACE, PLACE), kind))


def _affine_grid(node: OnnxNode, types: Types) -> Outputs:
    assert types[0] is not None
    compute = partial(_grid, bool(node.attributes["align_corners"]))
    return (NodeFunction(node.operands, compute, types[0], shaping=node.operands[1:]),)


def _grid(align_corners: bool, theta: np.ndarray, size: np.ndarray) -> np.ndarray:
    sizes = [int(n) for n in size.reshape(-1)]
    axes = len(sizes) - 2
    if size.ndim != 1 or axes not in (2, 3) or min(sizes) < 0 or max(sizes) >= MOST_POINTS or not fits_an_array(sizes):
        raise ShapeError(f"its size is {size.tolist()}; allowed: (N, C, H, W) or (N, C, D, H, W)")
    if theta.shape != (sizes[0], axes, axes + 1):
        what = f"its theta has the shape {theta.shape} for the size {sizes}"
        raise ShapeError(f"{what}; allowed: {(sizes[0], axes, axes + 1)}")
    return _positions(theta, sizes[2:], align_corners=align_corners)


def _positions(theta: np.ndarray, sizes: Sequence[int], *, align_corners: bool) -> np.ndarray:
    """For each place of a grid of these sizes (..., H, W) its position under each of the matrices (N, axes, axes + 1)."""
    axes = len(sizes)
    kind = element_type_of(theta.dtype)
    assert kind is not None
    operands: list[np.ndarray] = []
    for axis in reversed(range(axes)):  # x is the last axis
        size = sizes[axis]
        # From -1 to 1 between the centres of the corners, or between their outer edges; one element lies in the middle.
        last = max(size - 1, 1) if align_corners else size
        places = 2 * np.arange(size, dtype=np.int32) - np.int32(size - 1)
        operands += [places.reshape(-1, *(1,) * (axes - axis - 1)), np.asarray(last, np.int32)]
    result = np.empty((len(theta), *sizes, axes), theta.dtype)
    for row in range(axes):
        numbers = [theta[:, row, column].reshape(-1, *(1,) * axes) for column in range(axes + 1)]
        _position(axes, kind)(*numbers, *operands, out=result[..., row])
    return result


@cache
def _position(axes: int, kind: ElementType) -> np.ufunc:
    def position(*given: Any) -> Any:
        factors, shift, places = given[:axes], given[axes], given[axes + 1 :]
        return affine_position(factors, shift, places[::2], places[1::2])

    return make_ufunc("affine_grid", formula_of(position, (*(kind,) * (axes + 1), *(PLACE,) * (2 * axes)), kind))


def _center_crop_pad(node: OnnxNode, types: Types) -> Outputs:
    assert types[0] is not None
    compute, (data, shape) = partial(center_crop_pad, axes=node.attributes.get("axes")), node.operands
    return (NodeFunction(node.operands, compute, types[0], moved=(data,), shaping=(shape,)),)


# ---- rotary embeddings


def _rotary_embedding(node: OnnxNode, types: Types) -> Outputs:
    assert types[0] is not None
    attributes = node.attributes
    heads, part = attributes.get("num_heads", 0), attributes.get("rotary_embedding_dim", 0)
    compute = partial(_embedded, heads, part, bool(attributes.get("interleaved", 0)))
    return (NodeFunction(node.operands, compute, types[0]),)


def _embedded(
    heads: int,
    part: int,
    interleaved: bool,
    x: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    if x.ndim == 3:
        if heads < 1 or x.shape[2] % heads:
            what = f"num_heads is {heads} for X of shape {x.shape}"
            raise ShapeError(f"{what}; allowed: a number that divides the last axis of X")
        shaped = x.reshape(*x.shape[:2], heads, x.shape[2] // heads)
    elif x.ndim == 4:
        shaped = x.transpose(0, 2, 1, 3)
    else:
        raise ShapeError(f"X has the shape {x.shape}; allowed: three axes, or four")
    size = part or shaped.shape[3]
    if size % 2 or not 0 <= size <= shaped.shape[3]:
        what = f"{size} of {shaped.shape[3]} elements of a head are rotated"
        raise ShapeError(f"{what}; allowed: an even number of them")
    if positions is not None:
        if positions.shape != shaped.shape[:2] or cos.ndim != 2 or sin.ndim != 2:
            what = f"position_ids have the shape {positions.shape}, cos_cache {cos.shape} and sin_cache {sin.shape}"
            raise ShapeError(f"{what}; allowed: {shaped.shape[:2]}, and two axes for the caches")
        cos, sin = gather(cos, positions), gather(sin, positions)
    wanted = (*shaped.shape[:2], size // 2)
    if cos.shape != wanted or sin.shape != wanted:
        what = f"cos_cache and sin_cache have the shapes {cos.shape} and {sin.shape} for the positions"
        raise ShapeError(f"{what}; allowed: {wanted}")
    result = shaped.copy()
    first, second = (
        (slice(0, size, 2), slice(1, size, 2)) if interleaved else (slice(size // 2), slice(size // 2, size))
    )
    operands = (shaped[..., first], shaped[..., second], cos[:, :, None], sin[:, :, None])
    for half, turned in zip((first, second), _rotated(x.dtype), strict=True):
        result[..., half] = turned(*operands)
    return result.reshape(x.shape) if x.ndim == 3 else np.ascontiguousarray(result.transpose(0, 2, 1, 3))


@cache
def _rotated(dtype: np.dtype) -> tuple[np.ufunc, ...]:
    kind = element_type_of(dtype)
    assert kind is not None
    roots = rotation(*leaves(4))
    return tuple(make_ufunc("rotation", Formula((lift(root),), (kind,) * 4, (kind,))) for root in roots)


# ---- elements beside others of their window


def _local_response(node: OnnxNode, types: Types) -> Outputs:
    assert types[0] is not None
    size = node.attributes["size"]
    if not 1 <= size <= WIDEST:
        raise UnsupportedError(message(node.label, f"size is {size}", f"1 to {WIDEST}"))
    numbers = tuple(node.attributes[name] for name in ("alpha", "beta", "bias"))
    return (NodeFunction(node.operands, partial(_beside_neighbours, size, numbers), types[0]),)


def _beside_neighbours(size: int, numbers: tuple[float, float, float], x: np.ndarray) -> np.ndarray:
    """Each window is a tensor for each of its places; beyond the channels there are zeros."""
    if x.ndim < 2:
        raise ShapeError(f"its input has the shape {x.shape}; allowed: two axes or more, the second one of channels")
    kind = element_type_of(x.dtype)
    assert kind is not None
    before = (size - 1) // 2
    wide = np.zeros((len(x), x.shape[1] + size - 1, *x.shape[2:]), x.dtype)
    wide[:, before : before + x.shape[1]] = x
    window = [wide[:, place : place + x.shape[1]] for place in range(size)]
    return np.asarray(_response(size, numbers, kind)(*window))


@remembered(maxsize=64)
def _response(size: int, numbers: tuple[float, float, float], kind: ElementType) -> np.ufunc:
    def beside(*window: Any) -> Any:
        return beside_neighbours(window[(size - 1) // 2], window, *numbers)

    return make_ufunc("local_response", formula_of(beside, (kind,) * size, kind))


# ---- quantisation by the data's own range


def _dynamic_quantize(node: OnnxNode, types: Types) -> Outputs:
    kinds = ("tensor(uint8)", "tensor(float)", "tensor(uint8)")
    functions = (_dynamically_quantized, _dynamic_scale, _dynamic_zero_point)
    return [
        NodeFunction(node.operands, function, kind) for function, kind, _ in zip(functions, kinds, types, strict=False)
    ]


def _range(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest element, and zero; NaN wins."""
    zero = np.zeros((), np.float32)
    return np.minimum(x.min(initial=0.0), zero), np.maximum(x.max(initial=0.0), zero)


def _dynamic_scale(x: np.ndarray) -> np.ndarray:
    """``(largest - smallest) / 255``; 1 in place of 0, because scales are divided by."""
    low, high = _range(x)
    single = element_type("float32")
    scale = np.asarray(make_ufunc("scale", formula_of(scale_of_range, (single, single), single))(low, high))
    return np.asarray(np.where(scale == 0, np.float32(1), scale))


def _dynamic_zero_point(x: np.ndarray) -> np.ndarray:
    return np.asarray(OPERATORS["quantize_linear"](-_range(x)[0], _dynamic_scale(x), np.uint8(0)))


def _dynamically_quantized(x: np.ndarray) -> np.ndarray:
    return np.asarray(OPERATORS["quantize_linear"](x, _dynamic_scale(x), _dynamic_zero_point(x)))


#: The function that computes the outputs of each operator of this kind.
COMPOSED: dict[str, Callable[[OnnxNode, Types], Outputs]] = {
    "AffineGrid": _affine_grid,
    "BlackmanWindow": _window,
    "CenterCropPad": _center_crop_pad,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "HammingWindow": _window,
    "HannWindow": _window,
    "LRN": _local_response,
    "NegativeLogLikelihoodLoss": loss,
    "RotaryEmbedding": _rotary_embedding,
    "SoftmaxCrossEntropyLoss": loss,
}
