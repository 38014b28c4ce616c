"""Fold: put values in the place of parameters, and compute what then depends on constants only.

Constants are exact (fractions), so folding loses nothing: ``x / 6`` and ``x * (1 / 6)`` mean the same to
lowering. Functions of constants are computed to 60 digits. The rewrites keep every bit of every result,
which tests/free/test_fold.py shows on all 65,536 halves.

Fewer conversions: where float64 computes results of float32, a number is converted once.

A conversion takes as long as three to five multiplications, because it takes registers apart or joins them. Signs,
clamps and choices do not round, so that it makes no difference on which side of a conversion they are; before it they
take half the instructions. But where several forms of one number are converted (x and its magnitude, say), the number
itself is, and the forms are made of that: swish takes 13 % less time so, acos, mish, selu and sinh 5 to 7 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, constant, in_format, is_extreme, node, rewritten, walk


def fold(root: Expression, parameters: Mapping[str, float] | None = None) -> Expression:
    """The graph with these parameters bound and its constants computed."""
    bound = parameters or {}

    def folded(old: Expression, new: Expression) -> Expression:
        is_bound = old.operation == ops.PARAMETER and old.attribute[1] in bound
        return constant(bound[old.attribute[1]]) if is_bound else _computed(new)

    return rewritten([root], folded)[0]


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


# ---- fewer conversions: where float64 computes results of float32, a number is converted once


def fewer_conversions(roots: Sequence[Expression]) -> tuple[Expression, ...]:
    """The same primitive graphs: every bit of every result is what it was."""
    roots = _in_singles(roots)
    order = list(walk(*roots))
    lengthening = [current for current in order if _is_lengthening(current)]
    if len(lengthening) < 2:
        return tuple(roots)
    number_of: dict[Expression, Expression] = {}
    for current in order:
        number_of[current] = _number_of(current, number_of)
    forms: dict[Expression, set[Expression]] = {}
    for current in lengthening:
        forms.setdefault(number_of[current.operands[0]], set()).add(current.operands[0])
    numbers = {number for number, found in forms.items() if len(found) > 1}
    if not numbers:
        return tuple(roots)
    done: dict[Expression, Expression] = {}
    promoted: dict[Expression, Expression] = {}
    for current in order:
        if _is_lengthening(current) and number_of[current.operands[0]] in numbers:
            for form in walk(current.operands[0], operands=lambda form: _forms_in(form, number_of, promoted)):
                if form not in promoted:
                    promoted[form] = _promoted(form, number_of, done, promoted)
            done[current] = promoted[current.operands[0]]
        else:
            operands = tuple(done[operand] for operand in current.operands)
            done[current] = node(current.operation, operands, current.attribute, current.format)
    return tuple(done[root] for root in roots)


def _in_singles(roots: Sequence[Expression]) -> Sequence[Expression]:
    """The same with sums of two float32 in float32, where float64's is only rounded to it: that is as good as rounding once."""
    order = list(walk(*roots))
    uses = Counter(operand for current in order for operand in current.operands)
    done: dict[Expression, Expression] = {}
    for current in order:
        whole = current
        if current.operation == ops.CONVERT and current.format is Format.F32 and uses[current.operands[0]] == 1:
            (wide,) = current.operands
            if wide.operation in (ops.ADD, ops.SUBTRACT) and all(map(_is_lengthening, wide.operands)):
                singles = tuple(operand.operands[0] for operand in wide.operands)
                whole = node(wide.operation, singles, None, Format.F32)
        operands = tuple(done[operand] for operand in whole.operands)
        done[current] = node(whole.operation, operands, whole.attribute, whole.format)
    return [done[root] for root in roots]


def _is_lengthening(current: Expression) -> bool:
    return (
        current.operation == ops.CONVERT
        and current.format is Format.F64
        and current.operands[0].format is Format.F32
        and current.operands[0].operation != ops.CONSTANT
    )


def _number_of(form: Expression, known: dict[Expression, Expression]) -> Expression:
    """The float32 number that signs and clamps have made this of; that of its operands is known."""
    if form.operation in (ops.NEGATE, ops.ABSOLUTE):
        return known[form.operands[0]]
    if form.operation == ops.COPY_SIGN and form.operands[0].operation == ops.CONSTANT:
        return known[form.operands[1]]
    if _is_clamp(form):
        return known[next(value for value in form.operands[1:] if value.operation != ops.CONSTANT)]
    if form.operation == ops.SELECT:
        numbers = {known[value] for value in form.operands[1:]}
        return numbers.pop() if len(numbers) == 1 else form
    return form


def _is_clamp(form: Expression) -> bool:
    """Whether this is the larger or the smaller of a number and a constant, which is one instruction."""
    return is_extreme(form) and [value.operation for value in form.operands[1:]].count(ops.CONSTANT) == 1


def _forms_in(
    form: Expression, number_of: dict[Expression, Expression], known: dict[Expression, Expression]
) -> Sequence[Expression]:
    """The parts of a form in float64 that are forms too."""
    if form in known or form.operation == ops.CONSTANT or number_of[form] is form:
        return ()
    return form.operands[1:] if form.operation == ops.SELECT else form.operands


def _promoted(
    form: Expression,
    number_of: dict[Expression, Expression],
    done: dict[Expression, Expression],
    known: dict[Expression, Expression],
) -> Expression:
    """A form of a number, made of the number in float64; the forms that it is made of are known."""
    if form.operation == ops.CONSTANT:
        return node(ops.CONSTANT, (), form.attribute, Format.F64)
    if number_of[form] is form:
        return in_format(done[form], Format.F64)
    if _is_clamp(form):
        condition, *values = form.operands
        pair = values if condition.operands[0] is values[0] else values[::-1]
        a, b, *compared = (known[value] for value in (*values, *pair))
        return node(ops.SELECT, (node(condition.operation, tuple(compared), None, Format.BIT), a, b), None, Format.F64)
    if form.operation == ops.SELECT:
        condition, *values = form.operands
        return node(ops.SELECT, (done[condition], *(known[value] for value in values)), None, Format.F64)
    return node(form.operation, tuple(known[operand] for operand in form.operands), None, Format.F64)
