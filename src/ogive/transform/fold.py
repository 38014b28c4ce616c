"""Fold: put values in the place of parameters, and compute what then depends on constants only.

Constants are exact (fractions), so folding loses nothing: ``x / 6`` and ``x * (1 / 6)`` mean the same to
lowering. Functions of constants are computed to 60 digits. The rewrites keep every bit of every result,
which tests/free/test_fold.py shows on all 65,536 halves.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from ogive.expression import Expression, Format, constant, node, walk

__all__ = ["fold"]

#: What Python's operators do: to fractions, and to arrays.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": python.add,
    "subtract": python.sub,
    "multiply": python.mul,
    "divide": python.truediv,
    "negate": python.neg,
    "absolute": abs,
    "less": python.lt,
    "less_equal": python.le,
    "equal": python.eq,
    "and": python.and_,
    "or": python.or_,
    "exclusive_or": python.xor,
}

_EXACT: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    "floor": math.floor,
    "ceiling": math.ceil,
    "truncate": math.trunc,
    "round_even": round,
}


def fold(root: Expression, parameters: Mapping[str, float] | None = None) -> Expression:
    """The graph with these parameters bound and its constants computed."""
    done: dict[Expression, Expression] = {}
    for current in walk(root):
        operands = tuple(done[operand] for operand in current.operands)
        if current.operation == "parameter" and parameters is not None and current.attribute[1] in parameters:
            done[current] = constant(parameters[current.attribute[1]])
        else:
            same = all(a is b for a, b in zip(operands, current.operands, strict=True))
            fresh = current if same else node(current.operation, operands, current.attribute, current.format)
            done[current] = _computed(fresh)
    return done[root]


def _computed(current: Expression) -> Expression:
    operation, operands = current.operation, current.operands
    if operation == "select" and operands[0].operation == "constant":
        return operands[1] if operands[0].attribute else operands[2]
    if operation == "select" and operands[1] is operands[2]:
        return operands[1]
    if operation == "negate" and operands[0].operation == "negate":
        return operands[0].operands[0]
    if not operands or any(operand.operation != "constant" for operand in operands):
        return current
    values = [operand.attribute for operand in operands]
    if any(isinstance(value, float) for value in values):  # NaN, an infinity or -0.0
        return current
    if operation == "not":
        return constant(not values[0])
    if operation in _EXACT:
        if operation == "divide" and values[1] == 0:
            return current
        result = _EXACT[operation](*values)
        if operation in ("negate", "multiply") and result == 0:
            return current  # its sign may be that of -0.0
        return constant(bool(result) if current.format is Format.TRUTH else Fraction(result))
    if operation == "square_root" and values[0] >= 0:
        return constant(_square_root(values[0]))
    return current


def _square_root(value: Fraction) -> Fraction:
    """Exact where it is rational, else to 240 bits."""
    scale = 1 << 480
    root = math.isqrt(value.numerator * value.denominator * scale)
    return Fraction(root, value.denominator << 240)
