"""The formulas of ONNX's element-wise operators: the catalogue's, by ONNX's name, and sums of any number of terms."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

from ogive.catalog import OPERATORS
from ogive.expression import Expression, lift
from ogive.operator import Operator

__all__ = ["CHOICES", "REPEATED", "SUMS", "catalogue_operator", "experimental_operator"]

#: Choices of the catalogue's operators that ONNX makes.
CHOICES: dict[str, dict[str, Any]] = {"Shrink": {"first": "negative"}}

#: Operators of any number of inputs that are the catalogue's operator of two, one after the other.
REPEATED = frozenset({"Max", "Min"})

#: Operators of any number of inputs that are one formula, rounded once.
SUMS: dict[str, Callable[[Sequence[Expression]], Expression]] = {
    "Mean": lambda terms: reduce(
        python.add, (lift(term) / len(terms) for term in terms)
    ),  # each is in range, if the mean is
    "Sum": lambda terms: reduce(python.add, map(lift, terms)),
}


@cache
def catalogue_operator(name: str) -> Operator | None:
    """The operator that ONNX calls by this name, or None."""
    return next((op for op in OPERATORS.values() if op.onnx == name), None)


#: Operators that ONNX has dropped (they were experimental in opset 1), by the catalogue's names.
EXPERIMENTAL = {
    "Affine": "linear",
    "ParametricSoftplus": "parametric_softplus",
    "ScaledTanh": "scaled_tanh",
    "ThresholdedRelu": "thresholded_relu",
}


def experimental_operator(name: str) -> Operator | None:
    """The catalogue's operator for one that ONNX has dropped, or None."""
    return OPERATORS[EXPERIMENTAL[name]] if name in EXPERIMENTAL else None
