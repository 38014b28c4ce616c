"""Gradients of formulas over rows by adjoints: from the gradient of the result back to those of the operands.

What a row has in common is taken as one number for each element, so the adjoint of a sum is the sum of its adjoints.
Of elements that are equally large the first one has the gradient of the maximum. ``abs(x)`` has the derivative 0 at 0;
of two equal operands of ``larger`` and ``smaller`` each has half of the gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ogive import formula as f
from ogive import operations as ops
from ogive.expression import Expression, Format, Term, constant, walk
from ogive.gradients.algebra import ZERO, add, multiply, negative, scaled, select
from ogive.gradients.partials import FLAT, PARTIALS

__all__ = ["adjoints"]

HALF = constant(0.5)


def adjoints(gradients: Mapping[Expression, Term], leaves: Sequence[Expression]) -> tuple[Term, ...]:
    """The gradients of leaves, given those of results."""
    known: dict[Expression, Term] = dict(gradients)
    for current in reversed([*walk(*gradients)]):
        given = known.get(current, ZERO)
        if given is ZERO or not current.operands or current.format is Format.TRUTH or current.operation in FLAT:
            continue
        for operand, part in zip(current.operands, _parts(cast(Term, current), given), strict=True):
            known[operand] = add(known.get(operand, ZERO), part)
    return tuple(known.get(leaf, ZERO) for leaf in leaves)


def _parts(n: Term, given: Term) -> tuple[Term, ...]:
    """The gradients of the operands of a node, given its own."""
    operands = cast(tuple[Term, ...], n.operands)
    if n.operation == ops.SELECT:
        return ZERO, select(operands[0], given, ZERO), select(operands[0], ZERO, given)
    if n.operation == ops.ROW_SUM:
        return (f.row_sum(given),)
    if n.operation in (ops.ROW_MAX, ops.ROW_MIN):
        return (select(f.row_first(f.equal(operands[0], n)), f.row_sum(given), ZERO),)
    if n.operation == ops.ABSOLUTE:
        (x,) = operands
        return (select(x > 0, given, select(x < 0, negative(given), ZERO)),)
    if n.operation in ("larger", "smaller"):
        a, b = operands
        first, other = (a > b, b > a) if n.operation == "larger" else (a < b, b < a)
        share = select(f.equal(a, b), multiply(HALF, given), ZERO)
        return select(first, given, share), select(other, given, share)
    return tuple(scaled(partial, given) for partial in PARTIALS[n.operation](n, *operands))
