"""Arithmetic of formulas that leaves out what changes no real number: 0 * a, 1 * a, a + 0, a - a.

Derivatives are full of these. An infinity or a NaN that only met a factor 0 leaves no trace then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from ogive import formula as f
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, constant, rewritten, walk

ZERO, ONE = constant(0), constant(1)


def is_power_of_two(value: Fraction) -> bool:
    """Whether this or its negative is a power of two, however small or large."""
    return abs(value.numerator).bit_count() == value.denominator.bit_count() == 1


def rational(a: Expression) -> Fraction | None:
    """The value of a finite constant."""
    is_number = a.operation == ops.CONSTANT and a.format is Format.NUMBER
    return a.attribute if is_number and isinstance(a.attribute, Fraction) else None


def _is(a: Expression, value: int) -> bool:
    return a.operation == ops.CONSTANT and a.format is Format.NUMBER and a.attribute == value


def negative(a: Term) -> Term:
    """``-a``."""
    value = rational(a)
    if value is not None:
        return constant(-value)
    return cast(Term, a.operands[0]) if a.operation == ops.NEGATE else -a


def add(a: Term, b: Term) -> Term:
    """``a + b``."""
    if _is(a, 0) or _is(b, 0):
        return b if _is(a, 0) else a
    x, y = rational(a), rational(b)
    if x is not None and y is not None:
        return constant(x + y)
    if a is b:
        return multiply(constant(2), a)
    if b.operation == ops.NEGATE:
        return subtract(a, cast(Term, b.operands[0]))
    return subtract(b, cast(Term, a.operands[0])) if a.operation == ops.NEGATE else a + b


def subtract(a: Term, b: Term) -> Term:
    """``a - b``; of two constants that are subtracted the sum, so that an exponent stays next to its variable."""
    if a is b:
        return ZERO
    if _is(b, 0) or _is(a, 0):
        return a if _is(b, 0) else negative(b)
    x, y = rational(a), rational(b)
    if x is not None and y is not None:
        return constant(x - y)
    if y is not None and a.operation == ops.SUBTRACT and (less := rational(a.operands[1])) is not None:
        return cast(Term, a.operands[0]) - constant(less + y)
    return a - b


def multiply(a: Term, b: Term) -> Term:
    """``a * b``; a quotient ``1 / c`` takes the other factor as its numerator."""
    if _is(a, 0) or _is(b, 0):
        return ZERO
    x, y = rational(a), rational(b)
    if x is not None and y is not None:
        return constant(x * y)
    for one, other in ((a, b), (b, a)):
        if _is(one, 1):
            return other
        if _is(one, -1):
            return negative(other)
    for one, other in ((a, b), (b, a)):
        if one.operation == ops.NEGATE:
            return negative(multiply(cast(Term, one.operands[0]), other))
    for one, other in ((a, b), (b, a)):
        if one.operation == ops.DIVIDE and _is(one.operands[0], 1):
            return other / cast(Term, one.operands[1])
    return a * b


def divide(a: Term, b: Term) -> Term:
    """``a / b``."""
    if _is(a, 0):
        return ZERO
    if _is(b, 1):
        return a
    return negative(cast(Term, a.operands[0]) / b) if a.operation == ops.NEGATE else a / b


def select(condition: Term, a: Term, b: Term) -> Term:
    """``where(condition, a, b)``."""
    if a is b:
        return a
    if condition.operation == ops.CONSTANT:
        return a if condition.attribute else b
    return f.where(condition, a, b)


#: How many branches a factor goes into: chains of them would double their number at each step.
MOST_BRANCHES = 16


def scaled(factor: Term, a: Term) -> Term:
    """``factor * a``; where branches of ``a`` are 0 or 1, the factor goes into them, and infinity is not times 0."""
    if len(list(walk(a, operands=_branches))) > MOST_BRANCHES:
        return multiply(factor, a)
    done: dict[Expression, Term] = {}
    simple: dict[Expression, bool] = {}  # whether a tree of branches ends in a constant somewhere
    for current in walk(a, operands=_branches):
        is_select = current.operation == ops.SELECT
        simple[current] = any(map(simple.get, current.operands[1:])) if is_select else current.operation == ops.CONSTANT
        if is_select and simple[current]:
            condition, one, other = cast(tuple[Term, Term, Term], current.operands)
            done[current] = select(condition, done[one], done[other])
        else:
            done[current] = multiply(factor, current)
    return done[a]


def _branches(current: Term) -> Sequence[Term]:
    return cast(tuple[Term, ...], current.operands[1:]) if current.operation == ops.SELECT else ()


def substituted(roots: Sequence[Expression], leaves: Mapping[Expression, Expression]) -> tuple[Expression, ...]:
    """The graphs with other nodes in the places of some leaves."""
    return rewritten(roots, leaves.get)


def matched(pattern: Expression, root: Expression) -> dict[Expression, Expression] | None:
    """The expressions in the places of the pattern's leaves."""
    bound: dict[Expression, Expression] = {}
    computed: list[tuple[Expression, Fraction]] = []
    pairs = [(pattern, root)]
    seen = set()
    while pairs:
        pair = pairs.pop()
        wanted, given = pair
        if pair in seen or (wanted is given and not wanted.operands and wanted.operation == ops.CONSTANT):
            continue
        seen.add(pair)
        value = rational(given)
        if wanted.operation in (ops.INPUT, ops.PARAMETER):
            if bound.setdefault(wanted, given) is not given or wanted.format is not given.format:
                return None
        elif wanted.operation in _COMPUTED and value is not None:
            computed.append((wanted, value))
        elif not wanted.operands or (wanted.operation, wanted.attribute) != (given.operation, given.attribute):
            return None
        else:
            pairs += zip(wanted.operands, given.operands, strict=True)
    return bound if all(_value(wanted, bound) == value for wanted, value in computed) else None


#: The functions that Python computes where a formula is called with numbers for its parameters.
_COMPUTED: dict[str, Callable[..., Term]] = {
    "negate": negative,
    "multiply": multiply,
    "subtract": subtract,
}


def _value(wanted: Expression, bound: dict[Expression, Expression]) -> Fraction | None:
    """The value of a product of parameters; None where it has none."""
    values: dict[Expression, Any] = {}
    for current in walk(wanted):
        if current.operation in _COMPUTED:
            values[current] = _COMPUTED[current.operation](*(values[operand] for operand in current.operands))
        else:
            values[current] = bound.get(current, current)
    return rational(values[wanted])
