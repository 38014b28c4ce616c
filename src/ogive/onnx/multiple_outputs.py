"""Nodes of several outputs, and normalisations: each output is computed on its own, and only if something needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ogive.engine.movement.copies import split_sizes, topk
from ogive.engine.movement.views import normal_axes
from ogive.errors import ModelError, UnsupportedError, message
from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import NodeComputation, NodeFunction, SameValue
from ogive.onnx.normalisation_nodes import NORMALISATIONS

__all__ = ["SEVERAL", "without_marks"]

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
