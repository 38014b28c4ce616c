"""ONNX's operators of rows and whole arrays as WebNN's: the name, the arguments and the tensors of a case of golden data.

A case that WebNN cannot have gives None: steps below 0, indices of batches, scales that are not above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ogive.golden.onnx_operators import of_onnx
from ogive.golden.specification import Specification, python_value
from ogive.golden.vectors import Case
from ogive.onnx.node_support import supported
from ogive.webnn.operator_table import OPERATORS as TABLE


class Node(NamedTuple):
    """One operator of WebNN with its tensors."""

    name: str
    arguments: list[Any]
    """In order: the name of a tensor, a list of such names, or a dictionary of what is no tensor."""
    inputs: dict[str, np.ndarray]
    results: dict[str, np.ndarray]


#: The tensors by ONNX's names and the attributes of a case: the operator, if WebNN has it.
Translation = Callable[[Mapping[str, np.ndarray], Mapping[str, Any], Case], Node | None]


def _node(name: str, arguments: list[Any], x: Mapping[str, np.ndarray], case: Case, keep: tuple[str, ...] = ()) -> Node:
    """The operator with the tensors that its arguments name, and the case's first results; ``keep`` are those of options."""
    used = {*keep, *(one for one in arguments if isinstance(one, str))}
    used.update(*(one for one in arguments if isinstance(one, list)))
    return Node(name, arguments, {t: x[t] for t in x if t in used}, {"output": case.expected})


def _integers(x: np.ndarray) -> list[int]:
    return [int(v) for v in np.ravel(x)]


def _reduction(name: str) -> Translation:
    def made(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
        rank = x["data"].ndim
        return _node(name, ["data", {"options": {"axes": [rank - 1], "keepDimensions": True}}], x, case)

    return made


def _place(name: str) -> Translation:
    def made(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
        options = {"keepDimensions": True, "outputDataType": "int64"}
        return _node(name, ["data", {"axis": x["data"].ndim - 1}, {"options": options}], x, case)

    return made


def _cumulative_sum(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    options = {"exclusive": bool(given["exclusive"]), "reversed": bool(given["reverse"])}
    return _node("cumulativeSum", ["x", {"axis": int(x["axis"])}, {"options": options}], x, case)


def _concat(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    return _node("concat", [list(x), {"axis": given["axis"]}], x, case)


def _expand(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    return _node("expand", ["input", {"newShape": list(case.expected.shape)}], x, case)


def _indexed(name: str, *tensors: str) -> Translation:
    def made(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
        options = [{"options": {"axis": given["axis"]}}] if "axis" in given else []
        return _node(name, [*tensors, *options], x, case)

    return made


def _pad(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node | None:
    padding = _integers(x["pads"])
    rank = x["data"].ndim
    if given["mode"] != "constant" or len(padding) != 2 * rank or min(padding) < 0:
        return None
    ends = [{"beginningPadding": padding[:rank]}, {"endingPadding": padding[rank:]}]
    value = python_value(x["constant_value"][()])
    return _node("pad", ["data", *ends, {"options": {"mode": "constant", "value": value}}], x, case)


def _reshape(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    return _node("reshape", ["data", {"newShape": list(case.expected.shape)}], x, case)


def _slice(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node | None:
    """Steps above 0 are a slice; steps of -1 over all of some axes are a reversal."""
    rank, steps, axes = x["data"].ndim, _integers(x["steps"]), _integers(x["axes"])
    if all(step == -1 for step in steps) and case.expected.shape == x["data"].shape:
        return _node("reverse", ["data", {"options": {"axes": axes}}], x, case)
    if min(steps) < 1:
        return None
    starts, sizes, strides = [0] * rank, list(x["data"].shape), [1] * rank
    for axis, start, end, step in zip(axes, _integers(x["starts"]), _integers(x["ends"]), steps, strict=True):
        starts[axis], sizes[axis], strides[axis] = start, end - start, step
    return _node("slice", ["data", {"starts": starts}, {"sizes": sizes}, {"options": {"strides": strides}}], x, case)


def _split(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    axis = given["axis"]
    parts = (case.expected, *case.others)
    arguments = ["input", {"splits": [part.shape[axis] for part in parts]}, {"options": {"axis": axis}}]
    results = {f"output{i}": part for i, part in enumerate(parts)}
    return _node("split", arguments, x, case)._replace(results=results)


def _tile(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    return _node("tile", ["input", {"repetitions": _integers(x["repeats"])}], x, case)


def _transpose(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    return _node("transpose", ["data", {"options": {"permutation": list(given["perm"])}}], x, case)


def _triangular(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    options = {"upper": bool(given["upper"]), "diagonal": int(x["k"])}
    return _node("triangular", ["input", {"options": options}], x, case)


def _quantised(name: str, *tensors: str) -> Translation:
    """Scales are above 0 in WebNN, and have the input's shape, or divide it."""

    def made(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node | None:
        first, scale, zero = (x[t] for t in tensors)
        if not first.shape == scale.shape == zero.shape == case.expected.shape:
            return None
        kept = (scale > 0) & (scale < np.inf)
        chosen = {t: x[t][kept] for t in tensors}
        return Node(name, list(tensors), chosen, {"output": case.expected[kept]})

    return made


def _batch_normalization(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node | None:
    if x["X"].ndim != 1 or any(x[t].shape != x["X"].shape for t in x):
        return None  # a tensor of one axis, each element of which is a channel
    options = {"scale": "scale", "bias": "B", "axis": 0, "epsilon": given.get("epsilon", 1e-5)}
    tensors = ("X", "input_mean", "input_var")
    return _node("batchNormalization", [*tensors, {"options": options}], x, case, ("scale", "B"))


def _instance_normalization(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    options = {"scale": "scale", "bias": "B", "epsilon": given.get("epsilon", 1e-5), "layout": "nchw"}
    return _node("instanceNormalization", ["input", {"options": options}], x, case, ("scale", "B"))


def _layer_normalization(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    options = {"scale": "Scale", "bias": "B", "axes": [x["X"].ndim - 1], "epsilon": given.get("epsilon", 1e-5)}
    return _node("layerNormalization", ["X", {"options": options}], x, case, ("Scale", "B"))


def _cast(x: Mapping[str, np.ndarray], given: Mapping[str, Any], case: Case) -> Node:
    return _node("cast", ["input", {"type": case.expected.dtype.name}], x, case)


#: ONNX's operator -> how a case of it becomes WebNN's.
FROM_ONNX: dict[str, Translation] = {
    **{row.onnx: _reduction(name) for name, row in TABLE.items() if row.kind == "reduction"},
    "ArgMax": _place("argMax"),
    "ArgMin": _place("argMin"),
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "Concat": _concat,
    "CumSum": _cumulative_sum,
    "DequantizeLinear": _quantised("dequantizeLinear", "x", "x_scale", "x_zero_point"),
    "Expand": _expand,
    "Gather": _indexed("gather", "data", "indices"),
    "GatherElements": _indexed("gatherElements", "data", "indices"),
    "GatherND": _indexed("gatherND", "data", "indices"),
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
    "Pad": _pad,
    "QuantizeLinear": _quantised("quantizeLinear", "x", "y_scale", "y_zero_point"),
    "Reshape": _reshape,
    "ScatterElements": _indexed("scatterElements", "data", "indices", "updates"),
    "ScatterND": _indexed("scatterND", "data", "indices", "updates"),
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangular,
}

#: The type parameters of the schema whose types are not float32, indices of int64, or bytes.
_TYPES = {"DequantizeLinear": {"T1": "tensor(uint8)", "T2": "tensor(float)", "T3": "tensor(float)"}}
_ATTRIBUTES: dict[str, dict[str, Any]] = {"GatherND": {"batch_dims": 0}}


def specifications() -> Iterator[Specification]:
    """The newest version of each operator here, for float32, and casts to each type that WebNN has too."""
    rows = {row.operator: row for row in sorted(supported(), key=lambda row: row.version) if row.operator in FROM_ONNX}
    for operator, row in sorted(rows.items()):
        wanted = ("tensor(float)", "tensor(int64)", "tensor(uint8)")
        types = {name: next((t for t in wanted if t in kinds), kinds[0]) for name, kinds in row.types.items() if kinds}
        types |= _TYPES.get(operator, {})
        targets: list[dict[str, str]] = [{}]
        if operator == "Cast":
            names = ("float16", "int8", "int32", "int64", "uint8", "uint32", "uint64")
            targets = [{"T2": f"tensor({name})"} for name in names]
        if operator == "QuantizeLinear":
            targets = [{"T3": "tensor(uint8)"}, {"T3": "tensor(int8)"}]
        for target in targets:
            yield of_onnx(operator, row.version, {**types, **target}, _ATTRIBUTES.get(operator))
