"""Fold: put values in the place of parameters, and compute what then depends on constants only.

Constants are exact (fractions), so folding loses nothing: ``x / 6`` and ``x * (1 / 6)`` mean the same to
lowering. Functions of constants are computed to 60 digits. The rewrites keep every bit of every result,
which tests/free/test_fold.py shows on all 65,536 halves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from ogive import operations as ops
from ogive.expression import Expression, Format, constant, node, walk

__all__ = ["fold"]


def fold(root: Expression, parameters: Mapping[str, float] | None = None) -> Expression:
    """The graph with these parameters bound and its constants computed."""
    done: dict[Expression, Expression] = {}
    for current in walk(root):
        operands = tuple(done[operand] for operand in current.operands)
        if current.operation == ops.PARAMETER and parameters is not None and current.attribute[1] in parameters:
            done[current] = constant(parameters[current.attribute[1]])
        else:
            same = all(a is b for a, b in zip(operands, current.operands, strict=True))
            fresh = current if same else node(current.operation, operands, current.attribute, current.format)
            done[current] = _computed(fresh)
    return done[root]


def _computed(current: Expression) -> Expression:
    operation, operands = current.operation, current.operands
    if operation == ops.SELECT and operands[0].operation == ops.CONSTANT:
        return operands[1] if operands[0].attribute else operands[2]
    if operation == ops.SELECT and operands[1] is operands[2]:
        return operands[1]
    if operation == ops.NEGATE and operands[0].operation == ops.NEGATE:
        return operands[0].operands[0]
    if not operands or any(operand.operation != ops.CONSTANT for operand in operands):
        return current
    values = [operand.attribute for operand in operands]
    if any(isinstance(value, float) for value in values):  # NaN, an infinity or -0.0
        return current
    if operation == ops.NOT:
        return constant(not values[0])
    if operation.exactly is not None:
        if operation == ops.DIVIDE and values[1] == 0:
            return current
        result = operation.exactly(*values)
        if operation in (ops.NEGATE, ops.MULTIPLY) and result == 0:
            return current  # its sign may be that of -0.0
        return constant(bool(result) if current.format is Format.TRUTH else Fraction(result))
    if operation == ops.SQUARE_ROOT and values[0] >= 0:
        return constant(_square_root(values[0]))
    return current


def _square_root(value: Fraction) -> Fraction:
    """Exact where it is rational, else to 240 bits."""
    scale = 1 << 480
    root = math.isqrt(value.numerator * value.denominator * scale)
    return Fraction(root, value.denominator << 240)
