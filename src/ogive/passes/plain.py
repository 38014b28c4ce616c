"""Plain arithmetic: each operation rounded, and a bound of what all of them together are off by.

A result of 16 bits needs to be known better only where it is nearly a tie, as one of 1,000 to 8,000 is
(`is_nearly_tied` in rounding.py). The others take a third of the instructions so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from ogive import operations as ops
from ogive.expression import Expression, Format, walk

if TYPE_CHECKING:
    from ogive.passes.reals import Reals

__all__ = ["Plain", "plain"]

#: Between what magnitudes the numbers of an element type are that are neither zero nor infinite. Parameters are normal.
RANGES = {"float16": (2.0**-24, 2.0**16), "bfloat16": (2.0**-133, 2.0**128), "float32": (2.0**-149, 2.0**128)}
RANGE_OF_PARAMETERS = (2.0**-126, 2.0**128)

#: Between these, operations are off by rounding alone.
NORMAL = (2.0**-125, 2.0**127)

#: What numbers may be off by, in 2**-24 of themselves: from then on one of 500 would be nearly a tie.
MOST_OFF = 8.0


@dataclass(frozen=True)
class Plain:
    """A float32 number that is nearly another one, where that is neither tiny nor huge."""

    value: Expression
    least: float
    """How small it is at least where it is not zero."""
    most: float
    """How large it is at most where it is finite."""
    off: float = 0.0
    """What it is off by at most, in 2**-24 of itself."""
    units: float = 0.0
    """The same in units in its last place, where rounding is off by half of one."""
    is_ragged: bool = False
    """Whether its low-order bits are as good as random: quotients, roots, products with parameters. Only then are near
    ties rare enough that the branch for them pays. Sums and products of elements have few bits, and are ties often."""

    @property
    def is_usable(self) -> bool:
        """Whether what it is off by is only that, whatever the operands."""
        return not self.off or (NORMAL[0] <= self.least and self.most <= NORMAL[1])


def plain(reals: Reals, root: Expression) -> Plain | None:
    """The number in plain arithmetic; None where there is no bound."""
    found: dict[Expression, Plain | None] = {}
    for current in walk(root):
        if current.format is Format.NUMBER:
            operands = [found[operand] for operand in current.operands if operand.format is Format.NUMBER]
            known = [operand for operand in operands if operand is not None]
            found[current] = _operation(reals, current, known) if len(known) == len(operands) else None
    return found[root]


def _operation(reals: Reals, root: Expression, operands: list[Plain]) -> Plain | None:
    m = reals.m
    match root.operation:
        case ops.INPUT if reals.inputs[root.attribute].name in RANGES:
            return Plain(reals.number(root).high, *RANGES[reals.inputs[root.attribute].name])
        case ops.PARAMETER:
            return Plain(reals.number(root).high, *RANGE_OF_PARAMETERS, is_ragged=True)
        case ops.CONSTANT:
            return _constant(reals, root.attribute)
        case ops.NEGATE:
            return replace(operands[0], value=m.neg_(operands[0].value))
        case ops.ABSOLUTE:
            return replace(operands[0], value=m.abs_(operands[0].value))
        case ops.COPY_SIGN:
            magnitude, sign = operands
            return replace(magnitude, value=m.make(ops.COPY_SIGN, magnitude.value, sign.value))
        case ops.SELECT:
            return _choice(reals, root, *operands)
        case ops.ADD | ops.SUBTRACT:
            return _sum(reals, root, *operands)
        case ops.MULTIPLY:
            return _product(reals, *operands)
        case ops.DIVIDE:
            a, b = operands
            divisor = root.operands[1]
            if divisor.operation == ops.CONSTANT and divisor.attribute:
                reciprocal = _constant(reals, 1 / divisor.attribute)
                return reciprocal and _product(reals, a, reciprocal)
            quotient = _rounded(m.div_(a.value, b.value), operands, a.off + b.off, (a.least / b.most, a.most / b.least))
            return quotient and replace(quotient, is_ragged=True)
        case ops.SQUARE_ROOT:
            (a,) = operands
            root_ = _rounded(m.sqrt_(a.value), operands, a.off, (math.sqrt(a.least), math.sqrt(a.most)))
            return root_ and replace(root_, is_ragged=True)
    return None


def _constant(reals: Reals, exact: Fraction | float) -> Plain | None:
    if exact == 0:
        return Plain(reals.m.number(float(exact)), 1.0, 1.0)  # a zero lies between any magnitudes
    if isinstance(exact, float) or not NORMAL[0] <= abs(exact) <= NORMAL[1]:  # the only floats are infinity and NaN
        return None
    value = reals.m.rounded(exact)
    off = float(abs(Fraction(value) / exact - 1) * 2**24)
    return Plain(reals.m.number(value), abs(value), abs(value), off, off)


def _product(reals: Reals, a: Plain, b: Plain) -> Plain | None:
    value = reals.m.mul_(a.value, b.value)
    return _rounded(value, [a, b], a.off + b.off, (a.least * b.least, a.most * b.most))


def _rounded(value: Expression, operands: list[Plain], off: float, lies: tuple[float, float]) -> Plain | None:
    """What an operation makes of operands that are off by so much together, before it rounds."""
    is_known = off < MOST_OFF and all(operand.is_usable for operand in operands)
    is_ragged = any(operand.is_ragged for operand in operands)
    return Plain(value, *lies, off + 1, off + 0.5, is_ragged) if is_known else None


def _sum(reals: Reals, root: Expression, a: Plain, b: Plain) -> Plain | None:
    m, is_sum = reals.m, root.operation == ops.ADD
    value = m.add_(a.value, b.value) if is_sum else m.sub_(a.value, b.value)
    least, most = min(a.least, b.least), a.most + b.most
    if not a.off and not b.off:
        # What is left where they cancel is a multiple of the smaller one's last bit.
        return _rounded(value, [], 0.0, (least * 2.0**-23, most))
    first, second = (reals.number(operand).interval for operand in root.operands)
    both = first | (second if is_sum else -second)
    if both.low < 0 < both.high:
        return None
    return _rounded(value, [a, b], max(a.off, b.off), (least, most))


def _choice(reals: Reals, root: Expression, a: Plain, b: Plain) -> Plain | None:
    condition = root.operands[0]
    compared = [operand for operand in condition.operands if operand.format is Format.NUMBER]
    if not all(reals.number(operand).is_exact for operand in compared):
        return None
    value = reals.m.select_(reals.truth(condition), a.value, b.value)
    rounded = [n for n in (a, b) if n.off] or [a, b]  # the others are never nearly ties
    is_ragged = all(n.is_ragged for n in rounded)
    least, most = min(a.least, b.least), max(a.most, b.most)
    return Plain(value, least, most, max(a.off, b.off), max(a.units, b.units), is_ragged)
