"""BatchNormalization with the statistics of training: one formula for each element."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ogive import formula as f
from ogive import operations as ops
from ogive.engine.computation import Formula
from ogive.errors import ShapeError, UnsupportedError, message
from ogive.expression import Format, lift
from ogive.expression import node as expression
from ogive.onnx.data_types import element_types
from ogive.onnx.elementwise import wrong_types
from ogive.onnx.implementation import Elementwise, Implementation
from ogive.onnx.node import Node

__all__ = ["batch_normalization"]

Shape = tuple[int, ...]

_WAY_OUT = "Export the model for inference"


def batch_normalization(node: Node, types: Sequence[str | None]) -> Sequence[Implementation | None] | None:
    """``(X - mean) / sqrt(var + epsilon) * scale + B``, rounded once."""
    if node.attributes.get("training_mode"):
        raise UnsupportedError(message(node.label, "its training_mode is 1", "0: Ogive runs models", _WAY_OUT))
    if any(node.outputs[1:]):
        what = "it has outputs for the statistics of training"
        raise UnsupportedError(message(node.label, what, "the output Y", _WAY_OUT))
    assert types[0] is not None
    elements = element_types((*(t for t in node.input_types if t is not None), types[0]))
    if elements is None or not all(t.is_float for t in elements):
        raise wrong_types(node)
    x, scale, bias, mean, variance = (lift(expression(ops.INPUT, (), i, Format.NUMBER)) for i in range(5))
    epsilon = float(np.float32(node.attributes["epsilon"]))
    root = (x - mean) / f.sqrt(variance + epsilon) * scale + bias
    computation = Formula((lift(root),), elements[:-1], elements[-1:])
    rule = partial(_per_channel, spatial=bool(node.attributes.get("spatial", 1)))
    return (Elementwise(node.operands, elements[:-1], elements[-1], types[0], rule, computation),)


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
