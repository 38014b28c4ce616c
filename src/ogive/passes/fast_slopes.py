"""What derivatives of activations look like in a formula: the fast contract has shorter forms of them.

A form is found by its shape, so it does not matter who wrote it: ogive.grad, a node of an ONNX model, or a user.
"""

from __future__ import annotations

from typing import NamedTuple

from ogive import operations as ops
from ogive.expression import Expression

__all__ = ["Bell", "GateSlope", "bell_of", "gate_slope_of"]


class GateSlope(NamedTuple):
    """``logistic(u) * (1 + w * logistic(-u))``."""

    u: Expression
    w: Expression


class Bell(NamedTuple):
    """``logistic(u) * logistic(-u)``, or ``1 / cosh(u)**2``; times a number that stands between them."""

    u: Expression
    is_of_cosh: bool
    factor: Expression | None = None


def gate_slope_of(root: Expression) -> GateSlope | None:
    """The parts of such a product; None where a node is none."""
    for gate, total in _both_orders(root, ops.MULTIPLY):
        if gate.operation != "logistic":
            continue
        for one, product in _both_orders(total, ops.ADD):
            if one.operation != ops.CONSTANT or one.attribute != 1:
                continue
            for w, other in _both_orders(product, ops.MULTIPLY):
                if other.operation == "logistic" and _are_opposite(gate.operands[0], other.operands[0]):
                    return GateSlope(gate.operands[0], w)
    return None


def bell_of(root: Expression) -> Bell | None:
    """The parts of such a product or quotient; None where a node is none."""
    for a, b in _both_orders(root, ops.MULTIPLY):
        if a.operation == b.operation == "logistic" and _are_opposite(a.operands[0], b.operands[0]):
            return Bell(a.operands[0], is_of_cosh=False)
    if root.operation != ops.DIVIDE or root.operands[1].operation != "cosh":
        return None
    inner, cosh = root.operands
    if _is_one_over(inner, cosh):
        return Bell(cosh.operands[0], is_of_cosh=True)
    for quotient, factor in _both_orders(inner, ops.MULTIPLY):
        if _is_one_over(quotient, cosh):
            return Bell(cosh.operands[0], is_of_cosh=True, factor=factor)
    return None


def _both_orders(root: Expression, operation: str) -> tuple[tuple[Expression, Expression], ...]:
    """The operands of this operation, in both orders; none of another one."""
    if root.operation != operation:
        return ()
    a, b = root.operands
    return (a, b), (b, a)


def _are_opposite(u: Expression, v: Expression) -> bool:
    return any(b.operation == ops.NEGATE and b.operands[0] is a for a, b in ((u, v), (v, u)))


def _is_one_over(quotient: Expression, divisor: Expression) -> bool:
    if quotient.operation != ops.DIVIDE or quotient.operands[1] is not divisor:
        return False
    one = quotient.operands[0]
    return one.operation == ops.CONSTANT and one.attribute == 1
