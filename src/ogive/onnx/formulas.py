"""The formulas of ONNX's element-wise operators: the catalogue's, and what is put together from them.

Most operators are in the catalogue under ONNX's name, with ONNX's parameters. Here is what is not: those with any
number of inputs, and what ONNX has decided where the catalogue leaves a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

from ogive.catalog import OPERATORS
from ogive.expression import Expression
from ogive.operator import Operator

__all__ = ["CHOICES", "VARIADIC", "catalogue_operator"]


#: Choices of the catalogue's operators that ONNX makes.
CHOICES: dict[str, dict[str, Any]] = {"Shrink": {"first": "negative"}}


@cache
def catalogue_operator(name: str) -> Operator | None:
    """The operator that ONNX calls by this name, or None."""
    return next((op for op in OPERATORS.values() if op.onnx == name), None)


# ---- operators with any number of inputs: the formula of two, repeated. Rounded once, at the end.


def _folded(name: str) -> Callable[[Sequence[Expression]], Any]:
    def formula(operands: Sequence[Expression]) -> Any:
        op = catalogue_operator(name)
        return None if op is None else reduce(op, operands)

    return formula


def _mean(operands: Sequence[Expression]) -> Any:
    total = _folded("Add")(operands)
    return None if total is None else total / len(operands)


#: Formulas of the operators that take any number of inputs; they give None while the catalogue lacks a part.
VARIADIC: dict[str, Callable[[Sequence[Expression]], Any]] = {
    "Max": _folded("Max"),
    "Min": _folded("Min"),
    "Sum": _folded("Add"),
    "Mean": _mean,
}
