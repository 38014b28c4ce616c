"""Operators that ONNX's schemas define by functions of others, computed by the words of the standard.

The functions that the onnx package carries are bodies for machines: they round after every step, and some of them cancel.
None of them is run for these operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ogive.onnx.implementation import Implementation
from ogive.onnx.losses import loss
from ogive.onnx.node import Node

__all__ = ["COMPOSED"]

#: What computes the outputs of each operator of this kind.
COMPOSED: dict[str, Callable[[Node, Sequence[str | None]], Sequence[Implementation | None]]] = {
    "NegativeLogLikelihoodLoss": loss,
    "SoftmaxCrossEntropyLoss": loss,
}
