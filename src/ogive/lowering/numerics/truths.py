"""Truth values of programs, of which None is the one that is false everywhere."""

from __future__ import annotations

from typing import overload

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, node


def nowhere() -> Expression:
    """The truth value that is false everywhere, where a truth value has to be there."""
    return node(ops.CONSTANT, (), False, Format.BIT)


@overload
def either(first: Expression, /, *truths: Expression | None) -> Expression: ...


@overload
def either(*truths: Expression | None) -> Expression | None: ...


def either(*truths: Expression | None) -> Expression | None:
    """Whether one of these is true."""
    result = None
    for truth in truths:
        if truth is not None:
            result = truth if result is None else _joined(ops.OR, result, truth)
    return result


@overload
def both(a: Expression, b: Expression) -> Expression: ...


@overload
def both(a: Expression | None, b: Expression | None) -> Expression | None: ...


def both(a: Expression | None, b: Expression | None) -> Expression | None:
    """Whether both are true."""
    return None if a is None or b is None else _joined(ops.AND, a, b)


def chosen(condition: Expression, a: Expression | None, b: Expression | None) -> Expression | None:
    """Whether the one of two truths is true that a condition chooses."""
    return either(both(condition, a), both(opposite(condition), b))


def _joined(operation: Operation, a: Expression, b: Expression) -> Expression:
    """Two truth values joined by AND or OR. A known one decides the result, or changes nothing."""
    for known, other in ((a, b), (b, a)):
        if known.operation is ops.CONSTANT:
            return other if bool(known.attribute) is (operation is ops.AND) else known
    return a if a is b else node(operation, (a, b), None, Format.BIT)


def opposite(truth: Expression) -> Expression:
    """Whether it is false."""
    if truth.operation is ops.CONSTANT:
        return node(ops.CONSTANT, (), not truth.attribute, Format.BIT)
    return node(ops.NOT, (truth,), None, Format.BIT)


@overload
def except_where(truth: Expression, exception: Expression | None) -> Expression: ...


@overload
def except_where(truth: Expression | None, exception: Expression | None) -> Expression | None: ...


def except_where(truth: Expression | None, exception: Expression | None) -> Expression | None:
    """Whether the first is true and the second is not."""
    if truth is None or exception is None:
        return truth
    return both(truth, opposite(exception))
