"""SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: labels, weights and axes for what engine/losses.py computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial

import numpy as np

from ogive import operations as ops
from ogive.catalog import OPERATORS
from ogive.catalog.rowwise import beyond_largest
from ogive.dtypes import element_type_of
from ogive.engine.losses import cross_entropy, negative_log_likelihood
from ogive.errors import ModelError, ShapeError, message
from ogive.expression import Format, Term, lift
from ogive.expression import node as expression
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import NodeComputation, NodeFunction

__all__ = ["loss"]

REDUCTIONS = ("none", "sum", "mean")


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
    return lift(beyond_largest(lift(expression(ops.INPUT, (), 0, Format.NUMBER))))
