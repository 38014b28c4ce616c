"""Normalisations: how ONNX's arrays are seen as rows, for the formulas of the catalogue.

The standard's text defines them. ONNX also has a body for some, which takes the variance as E[x*x] - E[x]*E[x]: that cancels.
``stash_type`` decides the types of the outputs Mean and InvStdDev; accuracy is that of the exact contract with each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ogive.catalog import OPERATORS
from ogive.catalog.normalisation import (
    beside_given,
    inverse_deviation,
    mean_of_row,
    normalised,
    running_mean,
    running_variance,
    variance_of_row,
)
from ogive.common.dtypes import ElementType
from ogive.common.keys import remembered
from ogive.engine.computation import formula_of, leaves, make_ufunc
from ogive.engine.movement.views import normal_axes
from ogive.engine.row_formulas import reduction
from ogive.engine.rows import RowFormula
from ogive.errors import ModelError, ParameterError, ShapeError, UnsupportedError, message
from ogive.graph import operations as ops
from ogive.graph.expression import Format, lift
from ogive.graph.expression import node as expression
from ogive.onnx.data_types import DATA_TYPES, element_types
from ogive.onnx.elementwise import wrong_types
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ArrangedRows, Arrangement, ElementwiseNode, NodeComputation, RowWiseNode
from ogive.operators.signature import FINITE

Shape = tuple[int, ...]
Outputs = Sequence[NodeComputation | None] | None
Arrange = Callable[[Sequence[Shape], Sequence[np.ndarray]], Arrangement]


# ---- formulas, by name


def _layer_formula(x: Any, *rest: Any, is_long: bool) -> Any:
    *beside, epsilon = rest
    return normalised(x, epsilon, *beside, is_long=is_long)


def _of_catalogue(name: str, *parameters: str, **choices: Any) -> Callable[..., Any]:
    """The formula of an operator; its parameters come after its tensors."""
    op = OPERATORS[name]

    def formula(*given: Any, is_long: bool) -> Any:
        tensors, rest = given[: len(op.tensors)], given[len(op.tensors) :]
        named = dict(zip(parameters, rest, strict=True))
        return (op.double_function if is_long else op.function)(*tensors, **named, **choices)

    return formula


#: The operator that takes the elements of a row, the numbers beside them (scale, bias, a running statistic), and the parameter if there is one.
_FORMULAS: dict[str, Callable[..., Any]] = {
    "inverse deviation": inverse_deviation,
    "l1": _of_catalogue("lp_normalization", p=1),
    "l2": _of_catalogue("lp_normalization", p=2),
    "layer": _layer_formula,
    "mean": lambda x, *, is_long: mean_of_row(x),
    "mean and variance": _of_catalogue("mean_variance_normalization"),
    "root mean square": _of_catalogue("rms_normalization", "epsilon"),
    "running mean": lambda x, old, momentum, *, is_long: running_mean(x, old, momentum),
    "running variance": running_variance,
    "variance": variance_of_row,
}


@lru_cache(maxsize=256)
def _row_formula(
    name: str,
    inputs: tuple[ElementType, ...],
    result: ElementType,
    *,
    has_parameter: bool = True,
    reduces: bool = False,
) -> RowFormula:
    operands = leaves(len(inputs))
    if has_parameter:
        operands.append(expression(ops.PARAMETER, (), (0, "parameter"), Format.NUMBER))
    is_long = any(kind.name == "float64" for kind in (*inputs, result))
    root = lift(_FORMULAS[name](*operands, is_long=is_long))
    return RowFormula((root,), inputs, (result,), reduces=reduces, parameter_count=int(has_parameter))


def _rows(
    node: OnnxNode,
    formula: RowFormula,
    output_type: str,
    arrange: Arrange,
    parameters: tuple[float, ...],
    operands: tuple[str, ...] = (),
) -> ArrangedRows:
    operands = operands or node.operands[: len(formula.inputs)]
    function = partial(_computed, formula, parameters, arrange)
    row_wise = RowWiseNode(operands, formula.outputs[0], formula, parameters)
    return ArrangedRows(operands, function, output_type, row_wise=row_wise, arrange=arrange)


def _computed(formula: RowFormula, parameters: tuple[float, ...], arrange: Arrange, *arrays: np.ndarray) -> np.ndarray:
    """The result of whole arrays, where no kernel takes the rows together with others."""
    shape = arrays[0].shape
    arranged = arrange([array.shape for array in arrays], ())
    rows = arranged.rows(arrays[0])
    beside = [arranged.rows_beside(position, shape, array) for position, array in enumerate(arrays[1:])]
    result = _kernel(formula, parameters)(rows, *(np.broadcast_to(array, rows.shape) for array in beside))
    return arranged.restored(np.ascontiguousarray(result), shape)


@remembered(maxsize=128)
def _kernel(formula: RowFormula, parameters: tuple[float, ...]) -> np.ufunc:
    return make_ufunc("normalisation", formula, parameters)


# ---- how arrays are seen as rows; errors are named by who calls


def _from_axis_on(axis: int, reduces: bool, shapes: Sequence[Shape], _: object) -> Arrangement:
    """All axes from one on are a row; scale and bias broadcast to the array."""
    shape, *others = shapes
    rank = len(shape)
    if not -rank <= axis < rank:
        allowed = f"{-rank} to {rank - 1}" if rank else "inputs of one axis and more"
        raise ShapeError(f"axis is {axis} for an input of shape {shape}; allowed: {allowed}")
    first = axis % rank
    for other in others:
        sizes = zip(reversed(other), reversed(shape), strict=False)
        if len(other) > rank or any(size not in (1, of_data) for size, of_data in sizes):
            what = f"scale or bias has the shape {other} for an input of shape {shape}"
            raise ShapeError(f"{what}; allowed: shapes that broadcast to that of the input")
    result = (*shape[:first], *(1,) * (rank - first)) if reduces else shape
    return Arrangement(tuple(range(rank)), rank - first, result, beside=tuple(others))


def _channels(shapes: Sequence[Shape], wanted: int | None = None) -> tuple[Shape, int]:
    """The shape of the data and the size of its second axis; scale and bias have one number for each index, or as wanted."""
    shape, *others = shapes
    if len(shape) < 2:
        raise ShapeError(f"the input has the shape {shape}; allowed: two axes and more, of samples and of channels")
    size = shape[1] if wanted is None else wanted
    if any(other != (size,) for other in others):
        given = ", ".join(map(str, others))
        raise ShapeError(f"scale and bias have the shapes {given} for an input of shape {shape}; allowed: ({size},)")
    return shape, shape[1]


def _of_channel(shapes: Sequence[Shape], _: object) -> Arrangement:
    """Every channel of every sample is a row."""
    shape, channels = _channels(shapes)
    beside = (channels, *(1,) * (len(shape) - 2))
    return Arrangement(tuple(range(len(shape))), len(shape) - 2, shape, beside=(beside,) * (len(shapes) - 1))


def _of_group(groups: int, of_group: bool, shapes: Sequence[Shape], _: object) -> Arrangement:
    """Groups of channels are rows; scale and bias have a number for each channel, or in old versions for each group."""
    shape, channels = _channels(shapes, groups if of_group else None)
    if groups < 1 or channels % groups:
        raise ShapeError(f"num_groups is {groups} for {channels} channels; allowed: divisors of their number")
    ones = (1,) * (len(shape) - 2)
    split = (shape[0], groups, channels // groups, *shape[2:])
    beside = (groups, 1, *ones) if of_group else (groups, channels // groups, *ones)
    order = tuple(range(len(split)))
    return Arrangement(order, len(split) - 2, shape, split, (beside,) * (len(shapes) - 1))


def _along(axes: tuple[int, ...], shapes: Sequence[Shape], _: object) -> Arrangement:
    """Some axes are a row."""
    (shape,) = shapes
    rank = len(shape)
    if any(not -rank <= axis < rank for axis in axes):
        allowed = f"{-rank} to {rank - 1}" if rank else "inputs of one axis and more"
        given = axes[0] if len(axes) == 1 else axes
        raise ShapeError(f"axis is {given} for an input of shape {shape}; allowed: {allowed}")
    chosen = sorted(normal_axes(axes, rank)) or range(rank)
    kept = (axis for axis in range(rank) if axis not in chosen)
    return Arrangement((*kept, *chosen), len(chosen), shape)


# ---- operators


def _floats(node: OnnxNode, types: Sequence[str | None]) -> tuple[ElementType, ...]:
    elements = element_types(tuple(kind for kind in (*node.input_types, *types) if kind is not None))
    if elements is None or not all(kind.is_float for kind in elements):
        raise wrong_types(
            node, [kind.element for kind in DATA_TYPES.values() if kind.element and kind.element.is_float]
        )
    return elements


def _epsilon(node: OnnxNode) -> tuple[float, ...]:
    try:
        checked = OPERATORS["standardize"].checked_parameters({"epsilon": node.attributes["epsilon"]})
    except ParameterError as error:
        raise ModelError(f"{node.label}: {str(error).removeprefix('standardize: ')}") from error
    return (checked["epsilon"],)


#: FLOAT, FLOAT16, DOUBLE, BFLOAT16
_STASH_TYPES = (1, 10, 11, 16)


def _check_stash_type(node: OnnxNode) -> str:
    """The type that ``stash_type`` names, if the standard knows it for such data."""
    given = node.attributes.get("stash_type", 1)
    known = {row.number: row for row in DATA_TYPES.values()}
    taken = list(_STASH_TYPES)
    if node.operator == "LayerNormalization":  # Mean has this type; the schema lists these two, and doubles have DOUBLE
        taken = [1, 11, 16] if node.input_types[0] == "tensor(double)" else [1, 16]
    if given not in taken:
        name = f" ({known[given].name})" if given in known else ""
        allowed = ", ".join(f"{number} ({known[number].name})" for number in taken)
        raise UnsupportedError(message(node.label, f"the attribute stash_type is {given}{name}", allowed))
    return known[given].type


def _layer(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    assert types[0] is not None
    stash = _check_stash_type(node)
    *inputs, result = _floats(node, types[:1])
    axis, epsilon = node.attributes["axis"], _epsilon(node)
    formula = _row_formula("layer", tuple(inputs), result)
    made: list[NodeComputation] = [_rows(node, formula, types[0], partial(_from_axis_on, axis, False), epsilon)]
    stashed = DATA_TYPES[stash].element
    assert stashed is not None
    of_row = partial(_from_axis_on, axis, True)
    kind = inputs[0]
    inverse = _row_formula("inverse deviation", (kind,), stashed, reduces=True)
    made.append(_rows(node, reduction("mean", kind, stashed), stash, of_row, ()))
    made.append(_rows(node, inverse, stash, of_row, epsilon))
    return made[: len(types)]


def _root_mean_square(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    assert types[0] is not None
    _check_stash_type(node)
    *inputs, result = _floats(node, types)
    formula = _row_formula("root mean square", tuple(inputs), result)
    return (_rows(node, formula, types[0], partial(_from_axis_on, node.attributes["axis"], False), _epsilon(node)),)


def _instance(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    return _scaled_rows(node, types, _of_channel)


def _group(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    _check_stash_type(node)
    return _scaled_rows(node, types, partial(_of_group, node.attributes["num_groups"], node.version < 21))


def _scaled_rows(node: OnnxNode, types: Sequence[str | None], arrange: Arrange) -> Outputs:
    assert types[0] is not None
    *inputs, result = _floats(node, types)
    formula = _row_formula("layer", tuple(inputs), result)
    return (_rows(node, formula, types[0], arrange, _epsilon(node)),)


def _mean_and_variance(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    return _without_scale(node, types, "mean and variance", tuple(node.attributes.get("axes", (0, 2, 3))))


def _norm(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    p = node.attributes["p"]
    if p not in (1, 2):
        raise ModelError(message(node.label, f"the attribute p is {p}", "1, 2"))
    return _without_scale(node, types, f"l{p}", (node.attributes["axis"],))


def _without_scale(node: OnnxNode, types: Sequence[str | None], name: str, axes: tuple[int, ...]) -> Outputs:
    assert types[0] is not None
    *inputs, result = _floats(node, types)
    formula = _row_formula(name, tuple(inputs), result, has_parameter=False)
    return (_rows(node, formula, types[0], partial(_along, axes), ()),)


# ---- batch normalization: by given statistics, or by those of the batch


#: In these versions the number of outputs says whether a model is trained.
_BEFORE_TRAINING_MODE = 14


def _batch(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    """``(X - mean) / sqrt(var + epsilon) * scale + B``, rounded once."""
    is_old = node.version < _BEFORE_TRAINING_MODE
    extra = any(node.outputs[1:])
    if extra and is_old and node.attributes.get("is_test"):
        raise UnsupportedError(message(node.label, "it has outputs of training, and is_test is 1", "the output Y"))
    if extra and not is_old and not node.attributes["training_mode"]:
        what = "it has outputs of training, and training_mode is 0"
        raise UnsupportedError(message(node.label, what, "the output Y, or a training_mode of 1"))
    if extra or node.attributes.get("training_mode"):
        return _batch_in_training(node, types)
    assert types[0] is not None
    elements = _floats(node, types[:1])
    epsilon = float(np.float32(node.attributes["epsilon"]))

    def scaled(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        return beside_given(x, mean, variance, epsilon, scale, bias)

    computation = formula_of(scaled, elements[:-1], elements[-1])
    rule = partial(_per_channel, spatial=bool(node.attributes.get("spatial", 1)))
    return (ElementwiseNode(node.operands, elements[:-1], elements[-1], types[0], rule, computation),)


def _batch_in_training(node: OnnxNode, types: Sequence[str | None]) -> Outputs:
    """By mean and variance of the batch, each output rounded once. Old versions have these two as outputs too."""
    data, scale, bias, mean, variance = _floats(node, ())
    x, *_, old_mean, old_variance = node.operands
    arrange = partial(_of_batch, bool(node.attributes.get("spatial", 1)))
    statistic = partial(arrange, reduces=True)
    momentum = (_finite(node, "momentum"),)

    def rows(
        name: str,
        inputs: tuple[ElementType, ...],
        operands: tuple[str, ...],
        position: int,
        parameters: tuple[float, ...],
    ) -> NodeComputation | None:
        kind = types[position]
        if kind is None:
            return None
        result = DATA_TYPES[kind].element
        assert result is not None
        reduces = position > 0
        formula = _row_formula(name, inputs, result, has_parameter=bool(parameters), reduces=reduces)
        return _rows(node, formula, kind, statistic if reduces else arrange, parameters, operands)

    made = [rows("layer", (data, scale, bias), node.operands[:3], 0, _epsilon(node))]
    if len(types) > 1:
        made.append(rows("running mean", (data, mean), (x, old_mean), 1, momentum))
    if len(types) > 2:
        made.append(rows("running variance", (data, variance), (x, old_variance), 2, momentum))
    if len(types) > 3:
        made.append(rows("mean", (data,), (x,), 3, ()))
    if len(types) > 4:
        made.append(rows("variance", (data,), (x,), 4, ()))
    return made


def _finite(node: OnnxNode, name: str) -> float:
    value = float(np.float32(node.attributes[name]))
    if not FINITE.holds(value):
        raise ModelError(message(node.label, f"the attribute {name} is {value}", FINITE.allowed))
    return value


def _of_batch(spatial: bool, shapes: Sequence[Shape], _: object, *, reduces: bool = False) -> Arrangement:
    """All elements of a channel are a row; in old versions, the elements of all samples at one place."""
    shape, *others = shapes
    rank = len(shape)
    if not rank:
        raise ShapeError(f"the input has the shape {shape}; allowed: one axis and more")
    kept = 1 if spatial else rank - 1
    sizes = shape[1 : 1 + kept]
    wanted = sizes or (1,)  # the standard takes an input of one axis as one channel
    if any(other != wanted for other in others):
        given = ", ".join(map(str, others))
        raise ShapeError(f"its other inputs have the shapes {given} for X of shape {shape}; allowed: {wanted}")
    order = (*range(1, 1 + len(sizes)), 0, *range(1 + len(sizes), rank))
    beside = (*sizes, *(1,) * (rank - 1 - len(sizes)))
    result = wanted if reduces else shape
    return Arrangement(order, rank - len(sizes), result, beside=(beside,) * len(others))


def _per_channel(label: str, shapes: Sequence[Shape], *, spatial: bool) -> Sequence[Shape]:
    """One number for each index of the second axis; in old versions, one for each element of a sample."""
    data, *others = shapes
    wanted = data[1:2] if spatial else data[1:]
    if len(data) < 2 and others[0] == (1,):  # the standard takes an input of one axis as one channel
        return data, *((),) * len(others)
    if any(shape != wanted for shape in others):
        what = f"its inputs have the shapes {', '.join(map(str, shapes))}"
        raise ShapeError(message(label, what, "one number for each index of the second axis of X"))
    return data, *((*wanted, *(1,) * (len(data) - 1 - len(wanted))),) * len(others)


#: The function that computes the outputs of each operator.
NORMALISATIONS: Mapping[str, Callable[[OnnxNode, Sequence[str | None]], Outputs]] = {
    "BatchNormalization": _batch,
    "GroupNormalization": _group,
    "InstanceNormalization": _instance,
    "LayerNormalization": _layer,
    "LpNormalization": _norm,
    "MeanVarianceNormalization": _mean_and_variance,
    "RMSNormalization": _root_mean_square,
}
