"""What a model says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from onnx import ModelProto

__all__ = ["About", "about_model"]


@dataclass(frozen=True)
class About:
    """What a model says of itself."""

    opsets: Mapping[str, int]
    """Domain -> version; ONNX's own domain is ``ai.onnx``."""
    operators: Mapping[str, int]
    """Operator -> how many nodes of the graph it has."""
    text: str
    """The documentation that the model or its graph has."""


def about_model(proto: ModelProto) -> About:
    """What the model says: its opsets, its operators, its documentation."""
    opsets = {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}
    operators = Counter(node.op_type for node in proto.graph.node)
    return About(opsets, dict(operators), proto.doc_string or proto.graph.doc_string)
