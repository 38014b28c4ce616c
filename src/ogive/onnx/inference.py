"""ONNX's inference of types and shapes, where it can be trusted with a model."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import ModelProto, NodeProto

__all__ = ["CRASHING", "infer_shapes"]

#: Operators with which the inference of onnx 1.23 ends the process: it looks at the type of an input that has none.
CRASHING = frozenset({"EyeLike", "RegexFullMatch"})


def infer_shapes(model: ModelProto, *, data_prop: bool = False) -> ModelProto:
    """The model with what ONNX infers; the model itself if it has an operator with which that crashes.

    The exceptions are ONNX's own.
    """
    functions = (node for function in model.functions for node in function.node)
    if any(node.op_type in CRASHING for node in _nodes([*model.graph.node, *functions])):
        return model
    return onnx.shape_inference.infer_shapes(model, data_prop=data_prop)


def _nodes(nodes: list[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, and those of the graphs inside of them."""
    while nodes:
        node = nodes.pop()
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                nodes += graph.node
