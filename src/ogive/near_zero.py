"""Formulas next to zero, where their results lie just beside those of a line: ties, of which enclosures decide each alone.

That takes 0.1 ms an element, and of half of all subnormal numbers GELU's result is such a tie.

Of ``f(0) = 0`` and a slope that is a number of few bits, ``f(x)`` is ``slope * x`` and a rest of ``f''/2 * x**2``, whose
sign is that of ``f''`` on the interval; or, of odd functions, one of ``f'''/6 * x**3``. So whole arrays are rounded at
once: GELU's results for subnormal numbers. Where the other operands are mere factors, as a gradient is, the same holds of
``g * h(x)``: it lies beside ``h(0) * g``, on the side that ``x * h(x)`` tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ogive import operations as ops
from ogive.differentiation.algebra import substituted
from ogive.dtypes import ElementType
from ogive.errors import UnsupportedError
from ogive.expression import Expression, Format, constant, node, walk
from ogive.over_intervals import rest_near_zero

__all__ = ["LIMIT", "Line", "line_beside_factors", "line_of"]

#: Up to which magnitude of the input; the shorter one for formulas that have a branch between them.
LIMIT, SHORTER_LIMIT = 2.0**-64, 2.0**-100

#: The smallest number of float32 and bfloat16.
LEAST = Fraction(1, 2**149)


class Line(NamedTuple):
    """A line through zero, and on which side of it the formula lies."""

    slope: float
    above: Mapping[bool, bool]
    """Whether the formula is larger, of negative inputs (True) and of others."""
    limit: float
    """Up to which magnitude of the input that is so."""
    operand: int = 0
    """The number of that input."""
    factors: tuple[int, ...] = ()
    """The numbers of other inputs whose product takes the place of x: of ``g * h(x)``, where the line is of ``x * h(x)``."""

    def values(self, x: np.ndarray, *factors: np.ndarray) -> np.ndarray:
        """Float64 numbers that round as the formula does at these inputs, which are not zero.

        They are the line's and, for the rest, the next number: no tie of a shorter type lies between them.
        """
        is_negative = np.signbit(x)
        rises = np.where(is_negative, self.above[True], self.above[False])
        on_line = x.astype(np.float64) * self.slope
        if self.factors:
            product = np.multiply.reduce([factor.astype(np.float64) for factor in factors])
            on_line = product * self.slope
            rises = rises ^ is_negative ^ np.signbit(product)
        return np.nextafter(on_line, np.where(rises, np.inf, -np.inf))


def line_of(root: Expression, parameters: Mapping[str, float], kinds: tuple[ElementType, ElementType]) -> Line | None:
    """The line of a formula of one input, for an input's and a result's type; None if there is none."""
    if not all(kind.name in ("float32", "bfloat16") for kind in kinds):
        return None
    named = tuple(sorted(parameters.items()))
    return _line(root, named, LIMIT) or _line(root, named, SHORTER_LIMIT)


def line_beside_factors(
    root: Expression,
    used: Collection[int],
    parameters: Mapping[str, float],
    inputs: Sequence[ElementType],
    output: ElementType,
) -> Line | None:
    """The line of a formula of one input and factors, for the types of inputs and result; None if there is none."""
    if not used or not all(inputs[i].name in ("float32", "bfloat16") for i in used):
        return None
    for operand in sorted(used):
        factors = tuple(sorted(set(used) - {operand}))
        if not all(_is_factor(root, factor) for factor in factors):
            continue
        x = _input(0)
        leaves: dict[Expression, Expression] = dict.fromkeys(map(_input, factors), constant(1))
        (rest,) = substituted([root], leaves | {_input(operand): x})
        if factors:
            rest = node(ops.MULTIPLY, (rest, x), None, Format.NUMBER)
        line = line_of(rest, parameters, (inputs[operand], output))
        # The products are exact in float64.
        if line is not None and abs(Fraction(line.slope)).numerator.bit_length() + 24 * max(len(factors), 1) <= 53:
            return line._replace(operand=operand, factors=factors)
    return None


def _input(index: int) -> Expression:
    return node(ops.INPUT, (), index, Format.NUMBER)


def _is_factor(root: Expression, index: int) -> bool:
    """Whether a formula is an input times what does not depend on it."""
    depends: dict[Expression, bool] = {}
    linear: dict[Expression, bool] = {}
    for current in walk(root):
        operands, operation = current.operands, current.operation
        depends[current] = any(depends[n] for n in operands) or (operation == ops.INPUT and current.attribute == index)
        if operation == ops.INPUT:
            linear[current] = depends[current]
        elif operation == ops.NEGATE:
            linear[current] = linear[operands[0]]
        elif operation == ops.MULTIPLY:
            linear[current] = any(linear[a] and not depends[b] for a, b in (operands, operands[::-1]))
        elif operation == ops.DIVIDE:
            linear[current] = linear[operands[0]] and not depends[operands[1]]
        elif operation in (ops.ADD, ops.SUBTRACT):
            linear[current] = all(linear[n] for n in operands)
        elif operation == ops.SELECT:
            condition, *others = operands
            linear[current] = not depends[condition] and all(
                linear[n] or (n.operation == ops.CONSTANT and n.attribute == 0) for n in others
            )
        else:
            linear[current] = False
    return linear[root]


@lru_cache(maxsize=256)
def _line(root: Expression, parameters: tuple[tuple[str, float], ...], limit: float) -> Line | None:
    above = {}
    slopes = set()
    for is_negative, sign in ((True, -1), (False, 1)):
        try:
            found = rest_near_zero(root, sign * LEAST, sign * Fraction(limit), dict(parameters))
        except UnsupportedError:
            return None
        if found is None:
            return None
        slope, order, (low, high) = found
        # Exact in float64 for 24 bits of x, and the rest is less than a unit in the last place there.
        is_short = slope.numerator.bit_length() <= 29 and slope.denominator & (slope.denominator - 1) == 0
        if not is_short or not slope or low <= 0 <= high:
            return None
        if max(abs(low), abs(high)) * Fraction(limit) ** (order - 1) >= abs(slope) / 2**53:
            return None
        # The rest has the sign of its derivative, but below zero the other one if that is the third.
        above[is_negative] = (low > 0) is not (is_negative and order == 3)
        slopes.add(slope)
    return Line(float(slopes.pop()), above, limit) if len(slopes) == 1 else None
