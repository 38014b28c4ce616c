"""Derivatives of element-wise formulas by tangents: each node's derivative follows from those of its operands.

A branch that is not taken has no effect this way: the derivative of ``where(c, a, b)`` is ``where(c, a', b')``.

At the very point where a comparison changes, it is decided as it is just left of that point, and where both sides are
equal there, their slopes say which is larger. So a formula that writes a smooth function in two branches, or with
``abs(x)``, has the derivative of the function: 1/2 for ``where(x > 0, x, 0) + log1p(exp(-abs(x)))`` at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from ogive import formula as f
from ogive.differentiation.algebra import ONE, ZERO, add, negative, rational, scaled, select
from ogive.differentiation.partials import FLAT, PARTIALS
from ogive.errors import UnsupportedError
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, constant, node, walk

FALSE = constant(False)


#: The operands of a node that is the result of a whole operator, and the partial derivatives by them.
Recognised = Callable[[Expression], list[tuple[Expression, Term]] | None]


def tangents(
    roots: Sequence[Expression], seed: Expression, recognised: Recognised = lambda root: None
) -> tuple[Term, ...]:
    """The derivatives of formulas with respect to one of their leaves."""
    slopes: dict[Expression, Term] = {}
    truths: dict[Expression, Term] = {}  # as they are just left of the point
    for current in walk(*roots):
        if current.format is Format.TRUTH:
            truths[current] = _truth(cast(Term, current), slopes, truths)
        else:
            slopes[current] = ONE if current is seed else _slope(cast(Term, current), slopes, truths, recognised)
    # The derivative of a truth value that is a result, as 0 or 1: it is constant between its steps.
    return tuple(slopes.get(root, ZERO) for root in roots)


def _slope(n: Term, slopes: dict[Expression, Term], truths: dict[Expression, Term], recognised: Recognised) -> Term:
    operands = cast(tuple[Term, ...], n.operands)
    d = [slopes.get(operand, ZERO) for operand in operands]
    if n.operation in FLAT or all(slope is ZERO for slope in d):
        return ZERO
    whole = recognised(n)
    if whole is not None:
        return _sum((partial, slopes.get(operand, ZERO)) for operand, partial in whole)
    if n.operation == ops.SELECT:
        return select(truths[operands[0]], d[1], d[2])
    if n.operation == ops.ABSOLUTE:
        return select(_less(operands[0], ZERO, d[0], ZERO), negative(d[0]), d[0])
    if n.operation in ("larger", "smaller"):
        one, other = d if n.operation == "smaller" else d[::-1]
        return select(_less(*operands, *d), one, other)
    if n.operation == ops.DIVIDE and d[1] is ZERO:
        return scaled(1 / operands[1], d[0])
    partials = PARTIALS.get(n.operation)
    if partials is None:
        raise UnsupportedError(
            f"derivatives: there is no rule for {n.operation}. Add one to differentiation/partials.py"
        )
    return _sum(zip(partials(n, *operands), d, strict=True))


def _sum(parts: Iterable[tuple[Term, Term]]) -> Term:
    """The sum of partial derivatives, each times its slope."""
    total = ZERO
    for partial, slope in parts:
        total = add(total, scaled(partial, slope))
    return total


def _truth(n: Term, slopes: dict[Expression, Term], truths: dict[Expression, Term]) -> Term:
    operands = cast(tuple[Term, ...], n.operands)
    if n.operation in (ops.LESS, ops.LESS_EQUAL):
        a, b = operands
        return _less(a, b, slopes.get(a, ZERO), slopes.get(b, ZERO), strict=n.operation == ops.LESS)
    if n.operation == ops.EQUAL and operands[0].format is Format.NUMBER:
        return _equal(n, *(slopes.get(operand, ZERO) for operand in operands))
    if not operands:
        return n
    inner = tuple(truths.get(operand, operand) for operand in operands)
    return cast(Term, node(n.operation, inner, n.attribute, n.format))


def _less(a: Term, b: Term, da: Term, db: Term, *, strict: bool = True) -> Term:
    """``a < b``, or ``a <= b``, just left of the point: where they are equal, the one that rises faster is smaller."""
    x, y = rational(da), rational(db)
    if x is not None and y is not None:
        return a <= b if x > y or (x == y and not strict) else a < b
    return (a < b) | (f.equal(a, b) & (da > db if strict else da >= db))


def _equal(n: Term, da: Term, db: Term) -> Term:
    """``a == b`` just left of the point: what is equal at one point alone is not, and NaN never is. An infinity is no point."""
    if any(operand.operation == ops.CONSTANT and rational(operand) is None for operand in n.operands):
        return n
    if da is db or n.operands[0] is n.operands[1]:
        return n
    x, y = rational(da), rational(db)
    if x is not None and y is not None:
        return n if x == y else FALSE
    return n & f.equal(da, db)
