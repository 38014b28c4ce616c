"""Gradients of formulas over rows by adjoints: from the gradient of the result back to those of the operands.

What a row has in common is taken as one number for each element, so the adjoint of a sum is the sum of its adjoints.
Where a row has one result, its gradient is one number, and so are those of all numbers of the row that follow from it.
Of elements that are equally large the first one has the gradient of the maximum. ``abs(x)`` has the derivative 0 at 0;
of two equal operands of ``larger`` and ``smaller`` each has half of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ogive import formula as f
from ogive import operations as ops
from ogive.differentiation.algebra import ZERO, add, multiply, negative, scaled, select
from ogive.differentiation.partials import FLAT, PARTIALS
from ogive.expression import Expression, Format, Term, constant, of_rows, walk

__all__ = ["adjoints"]

HALF = constant(0.5)


def adjoints(
    gradients: Mapping[Expression, Term], leaves: Sequence[Expression], *, reduces: bool = False
) -> tuple[Term, ...]:
    """The gradients of leaves, given those of results; ``reduces``: each result is one number of a row."""
    known: dict[Expression, Term] = {} if reduces else dict(gradients)
    totals: dict[Expression, Term] = dict(gradients) if reduces else {}
    """Gradients that are the row's, not an element's share of it."""
    common = of_rows(*totals)
    for current in reversed([*walk(*gradients)]):
        if not current.operands or current.format is Format.TRUTH or current.operation in FLAT:
            continue
        for table, summed in ((known, f.row_sum), (totals, _as_it_is)):
            given = table.get(current, ZERO)
            if given is not ZERO:
                parts = _parts(cast(Term, current), given, summed)
                for operand, part in zip(current.operands, parts, strict=True):
                    of_row = totals if table is totals and operand in common else known
                    of_row[operand] = add(of_row.get(operand, ZERO), part)
    return tuple(known.get(leaf, ZERO) for leaf in leaves)


def _as_it_is(total: Term) -> Term:
    return total


def _parts(n: Term, given: Term, summed: Callable[[Term], Term]) -> tuple[Term, ...]:
    """The gradients of the operands of a node, given its own; ``summed`` adds up what elements have of a row's."""
    operands = cast(tuple[Term, ...], n.operands)
    if n.operation == ops.SELECT:
        return ZERO, select(operands[0], given, ZERO), select(operands[0], ZERO, given)
    if n.operation == ops.ROW_SUM:
        return (summed(given),)
    if n.operation == ops.ROW_THRESHOLD:
        is_above = n < operands[0]
        return (select(is_above, summed(given) / f.row_sum(f.where(is_above, 1, 0)), ZERO),)
    if n.operation in (ops.ROW_MAX, ops.ROW_MIN):
        return (select(f.row_first(f.equal(operands[0], n)), summed(given), ZERO),)
    if n.operation == ops.ABSOLUTE:
        (x,) = operands
        return (select(x > 0, given, select(x < 0, negative(given), ZERO)),)
    if n.operation in ("larger", "smaller"):
        a, b = operands
        first, other = (a > b, b > a) if n.operation == "larger" else (a < b, b < a)
        share = select(f.equal(a, b), multiply(HALF, given), ZERO)
        return select(first, given, share), select(other, given, share)
    return tuple(scaled(partial, given) for partial in PARTIALS[n.operation](n, *operands))
