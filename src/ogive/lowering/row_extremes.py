"""The sign of a zero that is the largest or smallest element of a row: +0 is larger than -0, as in `maximum` and `minimum`.

Kernels find the extreme by comparisons, which see no sign of a zero. Where it can be seen in a result, a second extreme finds it, of
the elements' signs:

    row_max(x) = copy_sign(0, row_max(copy_sign(1, x)))  where  row_max(x) = 0

In ``exp(x - row_max(x))``, and so in softmax and its like, it can not be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import is_
from typing import cast

from ogive import formula as f
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import COSH, EXP, EXP2, EXPM1, LARGER, LOG, LOG1P, SMALLER
from ogive.graph.expression import COMPARISONS, EXTREMES, Expression, Term, formula_node, node, walk
from ogive.lowering.row_numbers import below_largest, beside_largest, row_exponential

#: Operations whose results have no sign.
WITHOUT_SIGN = frozenset({ops.ABSOLUTE, EXP, EXP2, COSH})

#: Operations that make the same of both zeros.
BLIND = WITHOUT_SIGN | {
    *COMPARISONS,
    *(ops.ROW_THRESHOLD, ops.ROW_SQUARE_THRESHOLD, ops.ROW_NEAR_THRESHOLD),
}

#: Operations that show a zero's sign only as the sign of a zero.
PASSING = frozenset(
    {
        *(ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATE, ops.SELECT, LARGER, SMALLER, EXPM1, LOG1P, ops.ROW_SUM),
        *EXTREMES,
    }
)


def with_signs_of_extremes(roots: Sequence[Expression]) -> tuple[Expression, ...]:
    """The formulas, with the sign of a largest or smallest element that is zero where a result may show it.

    >>> import numpy as np, ogive
    >>> from ogive.formula import row_max
    >>> ogive.row_operator(lambda x: 1 / row_max(x), reduces=True)([-0.0, 0.0])
    np.float64(inf)
    """
    order = list(walk(*roots))
    if not any(n.operation in EXTREMES for n in order):
        return tuple(roots)
    # Each node twice: where the sign of a zero may be seen, and where it may not.
    made = dict[tuple[Expression, bool], Expression]()
    for current in order:
        for is_seen in (False, True):
            operands = tuple(
                made[operand, _is_seen(current, place, is_seen)] for place, operand in enumerate(current.operands)
            )
            is_same = all(map(is_, operands, current.operands))
            new = current if is_same else node(current.operation, operands, current.attribute, current.format)
            needs_sign = is_seen and current.operation in EXTREMES and operands[0].operation not in WITHOUT_SIGN
            made[current, is_seen] = _with_sign(cast(Term, new)) if needs_sign else new
    return tuple(made[root, True] for root in roots)


def _with_sign(extreme: Term) -> Term:
    (x,) = extreme.operands
    sign = formula_node(extreme.operation, f.copy_sign(1, cast(Term, x)))
    return f.where(f.equal(extreme, 0), f.copy_sign(0, sign), extreme)


def _is_seen(current: Expression, place: int, is_seen: bool) -> bool:
    """Whether the sign of a zero may be seen that is an operand."""
    if current.operation in BLIND or _is_chosen_beside_zero(current, place):
        return False
    if current.operation in (ops.MULTIPLY, ops.SUBTRACT) and current.operands[0] is current.operands[1]:
        return False
    if current.operation == ops.ROW_SUM and _is_beside_largest(current.operands[0]):  # one of the terms is +0
        return False
    if current.operation in (ops.ADD, ops.SUBTRACT) and _hides(current.operands[1 - place]):
        return False
    return is_seen or not (current.operation in PASSING or (current.operation == ops.DIVIDE and place == 0))


def _is_chosen_beside_zero(current: Expression, place: int) -> bool:
    """Whether an operand is chosen only where it is infinite, or is a difference of two numbers that differ."""
    if current.operation != ops.SELECT or place != 1:
        return False
    truth, chosen, _ = current.operands
    if truth.operation == ops.LESS:
        return chosen.operation == ops.SUBTRACT and set(chosen.operands) == set(truth.operands)
    if truth.operation != ops.EQUAL:
        return False
    size, end = truth.operands
    is_infinite = end.operation == ops.CONSTANT and end.attribute == math.inf
    return is_infinite and size.operation == ops.ABSOLUTE and size.operands[0] is chosen


def _is_beside_largest(a: Expression) -> bool:
    """Whether this is ``x - row_max(x)``, or ``expm1`` of it."""
    return below_largest(a.operands[0] if a.operation == EXPM1 else a) is not None


def _hides(other: Expression) -> bool:
    """Whether no sum with another number, and no difference from it, shows the sign of a zero."""
    return other.attribute != 0 if other.operation == ops.CONSTANT else _is_of_exponentials(other)


def _is_of_exponentials(a: Expression) -> bool:
    """Whether this is the logarithm of the sum of a row's exponentials beside the largest element.

    That is zero only in rows of one element beside infinities. There the largest element is that one, sign and all.
    """
    if a.operation == ops.ADD and a.operands[1].operation == ops.SUBTRACT and len(set(a.operands[1].operands)) == 1:
        a = a.operands[0]  # beside zero or NaN
    if a.operation == LOG:
        return a.operands[0].operation == ops.ROW_SUM and row_exponential(a.operands[0].operands[0]) is not None
    return a.operation == LOG1P and beside_largest(a.operands[0]) is not None
