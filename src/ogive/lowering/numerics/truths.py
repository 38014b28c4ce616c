"""Truth values of programs, of which None is the one that is false everywhere."""

from __future__ import annotations

from typing import overload

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node

__all__ = ["both", "either", "except_where", "nowhere"]


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
        if truth is not None and truth is not result:
            result = truth if result is None else node(ops.OR, (result, truth), None, Format.BIT)
    return result


def both(a: Expression, b: Expression) -> Expression:
    """Whether both are true."""
    if a.operation is ops.CONSTANT:
        return b if a.attribute else a
    return a if a is b or (b.operation is ops.CONSTANT and b.attribute) else node(ops.AND, (a, b), None, Format.BIT)


@overload
def except_where(truth: Expression, exception: Expression | None) -> Expression: ...


@overload
def except_where(truth: Expression | None, exception: Expression | None) -> Expression | None: ...


def except_where(truth: Expression | None, exception: Expression | None) -> Expression | None:
    """Whether the first is true and the second is not."""
    if truth is None or exception is None:
        return truth
    return both(truth, node(ops.NOT, (exception,), None, Format.BIT))
