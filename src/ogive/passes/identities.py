"""Identities: forms of a formula in which nothing cancels or overflows, of the same value everywhere.

People write ``1 + erf(u)``, whose tail lies far below the last bit of 1, and ``log(1 + exp(u))``, which overflows. As
``erfc(-u)`` and ``max(u, 0) + log1p(exp(-abs(u)))`` the kernels compute them at the price of ordinary elements. Each rule
holds for every real number and for infinities, and keeps the sign of a zero; enclosures decide by the formula itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ogive import elementary_functions as functions
from ogive import operations as ops
from ogive.expression import Expression, Format, Operation, constant, is_extreme, node, walk
from ogive.passes.row_numbers import CHOICES, multiple, row_exponential

__all__ = ["without_cancellation", "without_sums"]


def without_cancellation(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with the better form of each part that has one."""
    return _rewritten(roots, _better)


def without_sums(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with products in the place of sums that cancel a little: their bounds need not run beside the values."""
    return _rewritten(roots, _as_gate)


def _rewritten(roots: Sequence[Expression], better: Callable[[Expression], Expression]) -> list[Expression]:
    done: dict[Expression, Expression] = {}
    for current in walk(*roots):
        operands = tuple(done[operand] for operand in current.operands)
        same = all(a is b for a, b in zip(operands, current.operands, strict=True))
        fresh = current if same else node(current.operation, operands, current.attribute, current.format)
        done[current] = better(fresh)
    return [done[root] for root in roots]


def _as_gate(a: Expression) -> Expression:
    """``max(x, -0) - s Q(s)`` with ``s = min(abs(x), c)`` as ``max(x, -c) Q(-x)``: gelu."""
    if a.operation != ops.SUBTRACT or a.operands[1].operation != ops.MULTIPLY or not is_extreme(a.operands[0]):
        return a
    size, tail = a.operands[1].operands
    if tail.operation != functions.NORMAL_TAIL or tail.operands[0] is not size or not is_extreme(size):
        return a
    (_, zero, x), (_, most, magnitude) = a.operands[0].operands, size.operands
    if not all(n.operation == ops.CONSTANT for n in (zero, most)) or magnitude is not _of(ops.ABSOLUTE, x):
        return a
    is_gelu = zero.attribute == 0 and a.operands[0] is _larger(x, zero) and size is _smaller(magnitude, most)
    return _product(_larger(x, _negative(most)), _of(functions.NORMAL_TAIL, _negative(x))) if is_gelu else a


def _larger(a: Expression, b: Expression) -> Expression:
    return node(ops.SELECT, (node(ops.LESS, (a, b), None, Format.TRUTH), b, a), None, a.format)


def _smaller(a: Expression, b: Expression) -> Expression:
    return node(ops.SELECT, (node(ops.LESS, (b, a), None, Format.TRUTH), b, a), None, a.format)


def _better(a: Expression) -> Expression:
    if a.format is not Format.NUMBER or len(a.operands) not in (1, 2):
        return a
    if a.operation == ops.ADD:
        for one, other in (a.operands, a.operands[::-1]):
            if _is_one(one):
                return _one_and(other, a)
        return _of_sum_beside_largest(a)
    if a.operation == ops.SUBTRACT and _is_one(a.operands[0]):
        return _one_less(a.operands[1], a)
    if a.operation == ops.SUBTRACT and _is_one(a.operands[1]) and a.operands[0].operation == functions.COSH:
        half = _of(functions.SINH, _times(Fraction(1, 2), a.operands[0].operands[0]))
        return _times(2, _product(half, half))
    if a.operation == functions.LOG:
        return _logarithm(a.operands[0], a)
    if a.operation == functions.EXP and a.operands[0].operation == ops.SUBTRACT:
        return _exponential_beside_smallest(a.operands[0], a)
    return a


def _exponential_beside_smallest(distance: Expression, a: Expression) -> Expression:
    """``exp(row_min(x) - x)`` as that of ``-x`` beside the largest."""
    least, x = distance.operands
    if least.operation != ops.ROW_MIN or least.operands[0] is not x:
        return a
    opposite = _negative(x)
    return _of(functions.EXP, _of(ops.SUBTRACT, opposite, _of(ops.ROW_MAX, opposite)))


def _one_and(u: Expression, a: Expression) -> Expression:
    """``1 + u``."""
    if u.operation == ops.NEGATE:
        return _one_less(u.operands[0], a)
    if u.operation == functions.ERF:
        return _of(functions.ERFC, _negative(u.operands[0]))
    if u.operation == functions.TANH:
        return _times(2, _of(functions.LOGISTIC, _times(2, u.operands[0])))
    return a


def _of_sum_beside_largest(a: Expression) -> Expression:
    """Of computed elements the exponentials beside the largest: their whole sum, less one.

    The formula sums those of smaller elements and counts the others. Which those are, rounding leaves open; the sum is the
    same either way.
    """
    summed, counted = a.operands
    if summed.operation != ops.ROW_SUM or summed.operands[0].operation != ops.SELECT:
        return a
    is_smaller, power, zero = summed.operands[0].operands
    parts = row_exponential(power)
    if parts is None or is_smaller.operation != ops.LESS or is_smaller.operands != parts or not _is_zero(zero):
        return a
    known = multiple(parts[0])
    if {n.operation for n in walk(parts[0] if known is None else known[0])} <= CHOICES:
        return a
    others = _of(ops.ROW_SUM, node(ops.SELECT, (is_smaller, constant(0), constant(1)), None, Format.NUMBER))
    is_count = counted.operation == ops.SUBTRACT and _is_one(counted.operands[1]) and counted.operands[0] is others
    return _of(ops.SUBTRACT, _of(ops.ROW_SUM, power), constant(1)) if is_count else a


def _one_less(u: Expression, a: Expression) -> Expression:
    """``1 - u``."""
    if u.operation == functions.ERF:
        return _of(functions.ERFC, u.operands[0])
    if u.operation == functions.TANH:
        return _times(2, _of(functions.LOGISTIC, _times(-2, u.operands[0])))
    if u.operation == functions.LOGISTIC:
        return _of(functions.LOGISTIC, _negative(u.operands[0]))
    if u.operation == functions.COS:
        half = _of(functions.SIN, _times(Fraction(1, 2), u.operands[0]))
        return _times(2, _product(half, half))
    squared = _squared(u)
    if squared is not None and squared.operation == functions.TANH:
        twice = _times(2, squared.operands[0])
        return _times(4, _product(_of(functions.LOGISTIC, twice), _of(functions.LOGISTIC, _negative(twice))))
    return a


def _logarithm(u: Expression, a: Expression) -> Expression:
    """``log(u)``."""
    if u.operation == functions.COSH:
        size = _of(ops.ABSOLUTE, u.operands[0])
        half = _of(functions.SINH, _times(Fraction(1, 2), size))
        near = _of(functions.LOG1P, _times(2, _product(half, half)))
        rest = _of(functions.LOG1P, _of(functions.EXP, _times(-2, size)))
        far = _of(ops.ADD, size, _of(ops.SUBTRACT, rest, _of(functions.LOG, constant(2))))
        is_near = node(ops.LESS, (size, constant(1)), None, Format.TRUTH)
        return node(ops.SELECT, (is_near, near, far), None, Format.NUMBER)
    if u.operation == ops.ADD:
        for one, other in (u.operands, u.operands[::-1]):
            if _is_one(one) and other.operation == functions.EXP:
                v = other.operands[0]
                rest = _of(functions.LOG1P, _of(functions.EXP, _negative(_of(ops.ABSOLUTE, v))))
                return _of(ops.ADD, _of(functions.LARGER, v, constant(0)), rest)
    return a


def _squared(u: Expression) -> Expression | None:
    """What u is the square of."""
    if u.operation == ops.MULTIPLY and u.operands[0] is u.operands[1]:
        return u.operands[0]
    if u.operation == functions.POWER and u.operands[1].operation == ops.CONSTANT and u.operands[1].attribute == 2:
        return u.operands[0]
    return None


def _times(factor: Fraction | int, u: Expression) -> Expression:
    return _product(constant(factor), u)


def _product(a: Expression, b: Expression) -> Expression:
    return _of(ops.MULTIPLY, a, b)


def _negative(u: Expression) -> Expression:
    return _of(ops.NEGATE, u)


def _of(operation: Operation, *operands: Expression) -> Expression:
    return node(operation, operands, None, Format.NUMBER)


def _is_zero(a: Expression) -> bool:
    return a.operation == ops.CONSTANT and a.attribute == 0


def _is_one(a: Expression) -> bool:
    return a.operation == ops.CONSTANT and a.format is Format.NUMBER and a.attribute == 1
