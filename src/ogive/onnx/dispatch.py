"""The computation of a node: the one place that knows which operators there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ogive.catalog.standards import row_of
from ogive.engine.computation import cast
from ogive.engine.movement import copies, views
from ogive.engine.movement.copies import eye_like, split_sizes, topk
from ogive.engine.movement.views import normal_axes
from ogive.engine.running import running_product, running_sum
from ogive.errors import ModelError, ShapeError, UnsupportedError, message
from ogive.onnx import elementwise, quantisation
from ogive.onnx.broadcasting import rule_of
from ogive.onnx.casting import convert, from_text, to_text, with_bits_of
from ogive.onnx.data_types import DATA_TYPES, data_type, data_type_of, element_types
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import (
    ArrangedRows,
    Arrangement,
    Constant,
    ElementwiseNode,
    NodeComputation,
    NodeFunction,
    RowWiseNode,
    SameValue,
)
from ogive.onnx.normalisation_nodes import NORMALISATIONS
from ogive.onnx.reduction_nodes import (
    PLACES,
    REDUCTIONS,
    arrangement,
    pooled,
    pooled_axes,
    pooling,
    row_formula,
    row_wise,
)

# ---- what moves elements and changes none (engine/movement)

#: Operators that see the elements in another way: the rest of the inputs by the names that the schemas give them.
MOVEMENTS: dict[str, Callable[..., np.ndarray]] = {
    "ConstantOfShape": views.constant_of_shape,
    "Expand": views.expand,
    "Flatten": views.flatten,
    "Reshape": views.reshape,
    "Shape": views.shape_of,
    "Size": views.size_of,
    "Slice": views.slice_,
    "Squeeze": views.squeeze,
    "Transpose": views.transpose,
    "Unsqueeze": views.unsqueeze,
}

#: Operators whose result has the elements of the data in their order.
KEEP_ORDER = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})

#: Operators that look at nothing but the shape of their first input.
SHAPE_ONLY = frozenset({"Shape", "Size"})

#: Operators that copy elements: the inputs by place, attributes by name.
COPIES: dict[str, Callable[..., np.ndarray]] = {
    "Compress": copies.compress,
    "Concat": copies.concat,
    "DepthToSpace": copies.depth_to_space,
    "Gather": copies.gather,
    "GatherElements": copies.gather_elements,
    "GatherND": copies.gather_nd,
    "NonZero": copies.non_zero,
    "OneHot": copies.one_hot,
    "Pad": copies.pad,
    "Range": copies.range_,
    "ReverseSequence": copies.reverse_sequence,
    "Scatter": copies.scatter_elements,
    "ScatterElements": copies.scatter_elements,
    "ScatterND": copies.scatter_nd,
    "SpaceToDepth": copies.space_to_depth,
    "Tile": copies.tile,
    "Trilu": copies.trilu,
}

#: The inputs, by place, whose elements are all that the result has, but for zeros; None for all inputs.
MOVED: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(MOVEMENTS.keys() - SHAPE_ONLY - {"ConstantOfShape"}, (0,)),
    **dict.fromkeys(("Compress", "DepthToSpace", "Gather", "GatherElements", "GatherND", "ReverseSequence"), (0,)),
    **dict.fromkeys(("SpaceToDepth", "Tile", "Trilu"), (0,)),
    "Concat": None,
    "OneHot": (2,),
    "Pad": (0, 2),
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), (0, 2)),
}

#: The inputs, by place, whose values the shape of the result follows from.
SHAPING: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("ConstantOfShape", "NonZero"), (0,)),
    **dict.fromkeys(("Compress", "Expand", "OneHot", "Reshape", "Squeeze", "Unsqueeze"), (1,)),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Slice": (1, 2, 3, 4),
    "Tile": (1, 2),
}


def node_computations(node: OnnxNode, output_types: Sequence[str | None]) -> Sequence[NodeComputation | None] | None:
    """The computation of each output of the node; None where Ogive has no such operator, or does not have that output.

    Raises what `node_computation` raises.
    """
    several = SEVERAL.get(node.operator)
    if several is not None:
        return several(node, output_types)
    made = node_computation(node, output_types[0]) if len(output_types) == 1 else None
    return None if made is None else (made,)


def node_computation(node: OnnxNode, output_type: str | None) -> NodeComputation | None:
    """The computation of the node; None where Ogive has no such operator.

    ``output_type`` is what the schema says of the output, None where it leaves that to the attributes.
    Raises UnsupportedError where Ogive has the operator, but not for these types or attributes, and
    ModelError where the attributes make no sense.
    """
    make = _MAKERS.get(node.operator)
    if make is not None:
        return make(node, output_type)
    if node.operator in MOVEMENTS:
        return _movement(node, output_type)
    if node.operator in COPIES:
        return _copy(node, COPIES[node.operator], output_type)
    if node.operator in REDUCTIONS:
        return _reduction(node, output_type)
    row = row_of("onnx", node.operator, node.attributes)
    if row is None:
        return None
    assert output_type is not None
    op = row.operator
    return row_wise(node, op, output_type) if op.is_row_wise else elementwise.from_catalogue(node, op, output_type)


# ---- no computation


def _identity(node: OnnxNode, output_type: str | None) -> NodeComputation:
    assert node.inputs[0] is not None
    assert output_type is not None
    return SameValue(node.inputs[0], output_type)


def _constant(node: OnnxNode, output_type: str | None) -> NodeComputation:
    given = sorted(node.given)
    if len(given) != 1:
        raise ModelError(message(node.label, f"it has {len(given)} values", "exactly one attribute"))
    value: Any = node.attributes[given[0]]
    if given[0] != "value":
        kind = {"f": "float", "i": "int64", "s": "string"}[given[0].removeprefix("value_")[0]]
        value = np.array(value, DATA_TYPES[f"tensor({kind})"].numpy)
        value.flags.writeable = False
    found = data_type_of(value.dtype)
    assert found is not None
    return Constant(value, found.type)


# ---- functions on arrays


def _movement(node: OnnxNode, output_type: str | None) -> NodeComputation:
    others = node.operand_parameters[1:]
    attributes = {name: value for name, value in node.attributes.items() if name != "consumed_inputs"}
    if node.operator == "ConstantOfShape":
        value = attributes.get("value", np.zeros((), np.float32))
        if value.size != 1:
            raise ModelError(message(node.label, f"the attribute 'value' has {value.size} elements", "one"))
        found = data_type_of(value.dtype)
        assert found is not None
        output_type = found.type
    assert output_type is not None
    function = partial(_by_name, MOVEMENTS[node.operator], others, attributes)
    return NodeFunction(
        node.operands,
        function,
        output_type,
        is_view=node.operator not in SHAPE_ONLY,
        keeps_order=node.operator in KEEP_ORDER,
        shape_only=node.operator in SHAPE_ONLY,
        moved=_moved(node),
        shaping=_at(node, SHAPING.get(node.operator, ())),
    )


def _moved(node: OnnxNode) -> tuple[str, ...]:
    """The operands whose elements it moves."""
    places = MOVED.get(node.operator, ())
    if node.attributes.get("reduction", "none") != "none" or node.attributes.get("value"):
        return ()  # it computes, or has a number of its own
    return _at(node, range(len(node.inputs)) if places is None else places)


def _at(node: OnnxNode, places: Iterable[int]) -> tuple[str, ...]:
    """The inputs that are given at these places."""
    given = (node.inputs[k] for k in places if k < len(node.inputs))
    return tuple(value for value in given if value is not None)


def _copy(node: OnnxNode, function: Callable[..., np.ndarray], output_type: str | None) -> NodeFunction:
    """A function that gets the inputs by place, with None for those that are left out, and the attributes by name."""
    assert output_type is not None
    attributes = without_marks(node.attributes)
    compute = partial(_by_place, function, node.inputs, attributes)
    shaping = _at(node, SHAPING.get(node.operator, ()))
    return NodeFunction(node.operands, compute, output_type, moved=_moved(node), shaping=shaping)


#: Running sums and products.
_RUNNING = {"CumProd": running_product, "CumSum": running_sum}


def _running(node: OnnxNode, output_type: str | None) -> NodeFunction:
    assert output_type is not None
    exclusive, reverse = (bool(node.attributes[name]) for name in ("exclusive", "reverse"))
    function = partial(_along, _RUNNING[node.operator], exclusive, reverse)
    return NodeFunction(node.operands, function, output_type)


def _along(
    function: Callable[..., np.ndarray], exclusive: bool, reverse: bool, data: np.ndarray, axis: np.ndarray
) -> np.ndarray:
    if axis.size != 1:
        raise ShapeError(f"axis has shape {axis.shape}; allowed: one element")
    (along,) = normal_axes((int(axis.reshape(())),), data.ndim)
    return function(data, axis=along, exclusive=exclusive, reverse=reverse)


def _eye_like(node: OnnxNode, output_type: str | None) -> NodeFunction:
    """The type of the result is an attribute, or else the input's."""
    attributes = without_marks(node.attributes)
    asked = attributes.pop("dtype", None)
    found = data_type(asked) if asked else DATA_TYPES.get(node.input_types[0] or "")
    if found is None:
        raise ModelError(message(node.label, f"the attribute 'dtype' is {asked}", "an element type of ONNX"))
    return NodeFunction(node.operands, partial(eye_like, kind=found.numpy, **attributes), found.type)


def _by_place(
    function: Callable[..., np.ndarray],
    inputs: Sequence[str | None],
    attributes: Mapping[str, Any],
    *arrays: np.ndarray,
) -> np.ndarray:
    given = iter(arrays)
    return function(*(None if name is None else next(given) for name in inputs), **attributes)


def _reduction(node: OnnxNode, output_type: str | None) -> NodeComputation:
    assert output_type is not None
    names, attributes = node.operand_parameters[1:], node.attributes
    function = partial(_by_name, REDUCTIONS[node.operator], names, attributes)
    assert node.input_types[0] is not None
    kinds = element_types((node.input_types[0],))
    formula = None if kinds is None else row_formula(node.operator, kinds[0])
    if formula is None or attributes.get("select_last_index"):
        return NodeFunction(node.operands, function, output_type, shaping=node.operands[1:])

    def arrange(shapes: Sequence[tuple[int, ...]], others: Sequence[np.ndarray]) -> Arrangement | None:
        (shape,) = shapes
        if node.operator in PLACES:
            return arrangement(shape, axes=(attributes["axis"],), keepdims=attributes["keepdims"])
        return arrangement(shape, **{**attributes, **dict(zip(names, others, strict=True))})

    row_wise = RowWiseNode(node.operands[:1], formula.outputs[0], formula)
    shaping = node.operands[1:]
    return ArrangedRows(node.operands, function, output_type, shaping=shaping, row_wise=row_wise, arrange=arrange)


def _global_pooling(node: OnnxNode, output_type: str | None) -> NodeComputation:
    assert output_type is not None
    assert node.input_types[0] is not None
    kinds = element_types((node.input_types[0],))
    assert kinds is not None
    operator = pooling(node)
    formula = row_formula(operator, kinds[0])
    assert formula is not None

    def arrange(shapes: Sequence[tuple[int, ...]], others: Sequence[np.ndarray]) -> Arrangement | None:
        (shape,) = shapes
        return arrangement(shape, axes=pooled_axes(shape))

    row_wise = RowWiseNode(node.operands, formula.outputs[0], formula)
    return ArrangedRows(node.operands, partial(pooled, operator), output_type, row_wise=row_wise, arrange=arrange)


def _by_name(
    function: Callable[..., np.ndarray],
    names: tuple[str, ...],
    attributes: Mapping[str, Any],
    first: np.ndarray,
    *others: np.ndarray,
) -> np.ndarray:
    return function(first, **attributes, **dict(zip(names, others, strict=True)))


# ---- casts

TEXT = "tensor(string)"


def _cast(node: OnnxNode, output_type: str | None) -> NodeComputation:
    source = node.input_types[0]
    wanted = output_type if node.operator == "CastLike" else _cast_target(node)
    assert source is not None
    assert wanted is not None
    assert node.inputs[0] is not None
    if source == wanted:
        return SameValue(node.inputs[0], wanted)
    saturate, round_mode = bool(node.attributes.get("saturate", 1)), node.attributes.get("round_mode", "up")
    if round_mode not in ("up", "down", "nearest"):
        raise ModelError(message(node.label, f"round_mode is {round_mode!r}", "'up', 'down', 'nearest'"))
    if wanted == TEXT:
        return NodeFunction((node.inputs[0],), partial(to_text, source=DATA_TYPES[source]), wanted)
    if source == TEXT:
        read = partial(from_text, wanted=DATA_TYPES[wanted], saturate=saturate, round_mode=round_mode)
        return NodeFunction((node.inputs[0],), read, wanted)
    elements = element_types((source, wanted))
    if elements is not None:
        return ElementwiseNode((node.inputs[0],), elements[:1], elements[1], wanted, rule_of(node), cast(*elements))
    function = partial(convert, source=source, result=wanted, saturate=saturate, round_mode=round_mode)
    return NodeFunction((node.inputs[0],), function, wanted)


def _bit_cast(node: OnnxNode, output_type: str | None) -> NodeComputation:
    """The operand's bits as another type of as many; of truth values any bits but zeros are true."""
    assert node.inputs[0] is not None
    assert node.input_types[0] is not None
    given, wanted = DATA_TYPES[node.input_types[0]], DATA_TYPES[_cast_target(node)]
    if given.bits != wanted.bits:
        what = f"it makes {wanted.type}, of {wanted.bits} bits, of {given.type}, of {given.bits}"
        raise ModelError(message(node.label, what, "types of as many bits", "Use Cast to convert numbers"))
    if given is wanted:
        return SameValue(node.inputs[0], wanted.type)
    return NodeFunction((node.inputs[0],), partial(with_bits_of, wanted=wanted), wanted.type)


def _cast_target(node: OnnxNode) -> str:
    to = node.attributes["to"]
    if isinstance(to, str):  # Cast-1
        found = next((row for row in DATA_TYPES.values() if row.name == to.upper()), None)
    else:
        found = data_type(to)
    if found is None:
        raise ModelError(message(node.label, f"the attribute 'to' is {to!r}", "an element type of ONNX"))
    return found.type


_MAKERS: dict[str, Callable[[OnnxNode, str | None], NodeComputation]] = {
    "BitCast": _bit_cast,
    "BitShift": elementwise.bit_shift,
    "Cast": _cast,
    "CastLike": _cast,
    "Clip": elementwise.clip,
    **dict.fromkeys(_RUNNING, _running),
    "DequantizeLinear": quantisation.dequantize,
    "QuantizeLinear": quantisation.quantize,
    "Constant": _constant,
    "EyeLike": _eye_like,
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), _global_pooling),
    "Identity": _identity,
    **dict.fromkeys(elementwise.VARIADIC, elementwise.variadic),
}


# ---- nodes of several outputs: each is computed on its own, and only if something needs it

Outputs = Sequence[NodeComputation | None] | None


def without_marks(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes but for ``consumed_inputs``, with which old versions marked inputs that may be written over."""
    return {name: value for name, value in attributes.items() if name != "consumed_inputs"}


# ---- Split


def _split(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    count = len(node.outputs)
    asked = node.attributes.get("num_outputs")
    if asked is not None and asked != count:
        raise ModelError(message(node.label, f"num_outputs is {asked}", f"{count}, the number of its outputs"))
    if asked is not None and len(node.operands) > 1:
        raise ModelError(message(node.label, "it has num_outputs and an input split", "one of them"))
    axis, sizes = node.attributes.get("axis", 0), node.attributes.get("split")
    made: list[NodeComputation] = []
    for i, kind in enumerate(types):
        assert kind is not None
        part = partial(_part, i, count, axis, sizes, asked is not None)
        moved, shaping = node.operands[:1], node.operands[1:]
        made.append(NodeFunction(node.operands, part, kind, is_view=True, moved=moved, shaping=shaping))
    return made


def _part(
    i: int, count: int, axis: int, sizes: Any, by_number: bool, data: np.ndarray, split: np.ndarray | None = None
) -> np.ndarray:
    along = normal_axes((axis,), data.ndim)[0]
    parts = split_sizes(data.shape[along], count, sizes if split is None else split, by_number=by_number)
    first = sum(parts[:i])
    return data[(slice(None),) * along + (slice(first, first + parts[i]),)]


# ---- TopK


def _topk(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    attributes = dict(node.attributes)
    k = attributes.pop("k", None)
    made = []
    for wants_indices, kind in zip((False, True), types, strict=False):
        assert kind is not None
        function = partial(_top, k, attributes, wants_indices)
        made.append(NodeFunction(node.operands, function, kind, shaping=node.operands[1:]))
    return made


def _top(k: Any, attributes: dict[str, Any], wants_indices: bool, data: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    return topk(data, rest[0] if rest else k, wants_indices=wants_indices, **attributes)


# ---- what training would do


def _dropout(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    """The identity: what is dropped, is dropped in training only."""
    assert node.inputs[0] is not None
    assert types[0] is not None
    first: NodeComputation = SameValue(node.inputs[0], types[0])
    if "training_mode" in node.operand_parameters:
        first = NodeFunction(node.operands, partial(_kept, node.label, node.operand_parameters), types[0], is_view=True)
    # The mask is of truth values from version 10 on; before, of numbers of the data's type.
    return (first, *(_mask(node.inputs[0], kind or "tensor(bool)") for kind in types[1:]))


def _mask(data: str, kind: str) -> NodeFunction:
    return NodeFunction((data,), partial(_all_kept, DATA_TYPES[kind].numpy), kind)


def _kept(label: str, names: Sequence[str], *operands: np.ndarray) -> np.ndarray:
    given = dict(zip(names, operands, strict=True))
    if np.any(given["training_mode"]) and np.any(given.get("ratio", 0.5)):
        way_out = "Export the model for inference"
        raise UnsupportedError(
            message(label, "its training_mode is true", "false, or a ratio of 0: Ogive runs models", way_out)
        )
    return operands[0]


def _all_kept(kind: Any, data: np.ndarray) -> np.ndarray:
    return np.ones(data.shape, kind)


#: The function that computes the outputs of each operator of this kind.
SEVERAL: dict[str, Callable[[OnnxNode, Sequence[str | None]], Outputs]] = {
    "Dropout": _dropout,
    "Split": _split,
    "TopK": _topk,
    **NORMALISATIONS,
}
