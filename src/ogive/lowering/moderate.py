"""float64 elements of moderate size: a program without what only large operands need, before the one that has it.

A program of float64 asks of many numbers on the way whether they are infinite, and what to do then. Where operands and
parameters lie between limits, intervals tell most answers beforehand. `moderate` takes these questions away, which
changes no bit of such elements' results and of their test. Elements with other operands, or with NaN, are undecided
there, and the program as it was is the next level, which computes them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import reduce

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, node, rewritten, walk
from ogive.lowering.cost import cost, with_undecided
from ogive.lowering.numerics.bounded import MODERATE
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.truths import both, either, nowhere
from ogive.lowering.program import Program

__all__ = ["moderate"]

#: The limits that are tried: the largest magnitude of operands, of parameters, and the smallest of operands. By the first
#: products do not overflow, by the second exponentials, by the last quotients by operands.
LIMITS = ((2.0**59, 2.0**59, 0.0), (340.0, 2.0, 0.0), (2.0**59, 2.0**59, 2.0**-59))

#: The share of the cost that may be left.
WORTHWHILE = 0.95

#: The numbers that questions compare with. Where fewer nodes than one in so many ask them, nothing is tried: that takes time.
ASKED = frozenset({math.inf, MODERATE, 1 / MODERATE})
FEWEST = 200

DOUBLE = Machine(Format.F64)

#: Numbers below may be subnormal: what is known of their magnitudes relative to others is not.
NORMAL = 2.0**-1020

#: Powers of two that float64 has.
LARGEST_EXPONENT = 1020.0

#: The distance by which an end of an interval is moved for rounding, relative to it and absolutely.
ROUNDING, TINY = 2.0**-50, 2.0**-1070

#: The ends of a float64 number's interval, and its smallest magnitude. It is finite, unless it is a constant. None: anywhere.
Lies = tuple[float, float, float] | None


def moderate(made: Program) -> Program:
    """A program of float64, or a shorter one of moderate operands before it."""
    if made.undecided is None or any(t.name != "float64" for t in made.inputs):
        return made
    nodes = list(walk(*made.results, made.undecided))
    if sum(map(_asks, nodes)) * FEWEST < len(nodes):
        return made
    best, least_price = made, WORTHWHILE * cost(with_undecided(made.results, made.undecided))
    leaves = [n for n in nodes if n.operation in (ops.INPUT, ops.PARAMETER)]
    if not leaves:
        return made
    for largest, of_parameters, smallest in LIMITS:
        known = _Moderate((-largest, largest, smallest), (-of_parameters, of_parameters, 0.0))
        *results, undecided = known.simplified((*made.results, made.undecided))
        conditions = []
        for leaf in leaves:
            size, is_operand = DOUBLE.abs_(leaf), leaf.operation is ops.INPUT
            conditions.append(DOUBLE.less_equal_(size, DOUBLE.number(largest if is_operand else of_parameters)))
            if smallest and is_operand:
                conditions.append(DOUBLE.less_equal_(DOUBLE.number(smallest), size))
        beyond = DOUBLE.not_(reduce(both, conditions))
        test = either(None if undecided is nowhere() else undecided, beyond)
        price = cost(with_undecided(results, test))
        if price < least_price:
            least_price = price
            best = made.level_before(results=tuple(results), undecided=test)
    return best


def _asks(n: Expression) -> bool:
    """Whether this asks if a number is infinite, or very large or small."""
    is_comparison = n.operation in (ops.LESS, ops.LESS_EQUAL)
    return is_comparison and any(o.operation is ops.CONSTANT and o.attribute in ASKED for o in n.operands)


class _Moderate:
    """The known facts about programs whose operands and parameters lie there."""

    def __init__(self, operand: Lies, parameter: Lies) -> None:
        self.leaves = {ops.INPUT: operand, ops.PARAMETER: parameter}
        self.lies: dict[Expression, Lies] = {}

    def simplified(self, roots: Sequence[Expression]) -> list[Expression]:
        """The graphs without the questions whose answers are known."""

        def simplified(_: Expression, new: Expression) -> Expression:
            found = self._answered(new)
            if found not in self.lies:
                self.lies[found] = self._lies(found) if found.format is Format.F64 else None
            return found

        return list(rewritten(roots, simplified))

    def _answered(self, current: Expression) -> Expression:
        """The node, or what is known of it."""
        truth: bool | None = None
        operands = current.operands
        match current.operation:
            case ops.LESS | ops.LESS_EQUAL | ops.EQUAL if operands[0].format is Format.F64:
                truth = self._compared(current.operation, *operands)
            case ops.SELECT | ops.SELECT_RARE if operands[0].operation is ops.CONSTANT:
                return operands[1] if operands[0].attribute else operands[2]
            case ops.NOT if operands[0].operation is ops.CONSTANT:
                truth = not operands[0].attribute
            case ops.AND | ops.OR if current.format is Format.BIT:
                for operand, other in (operands, operands[::-1]):
                    if operand.operation is ops.CONSTANT:
                        is_neutral = bool(operand.attribute) is (current.operation is ops.AND)
                        return other if is_neutral else operand
        if truth is not None:
            return node(ops.CONSTANT, (), truth, Format.BIT)
        return current

    def _compared(self, operation: Operation, a: Expression, b: Expression) -> bool | None:
        """The result of a comparison; None where that depends."""
        first, second = self.lies[a], self.lies[b]
        if first is None or second is None:
            return None
        if operation is ops.EQUAL and a is b:
            return True
        if first[1] < second[0]:
            return operation is not ops.EQUAL
        return False if second[1] < first[0] else None

    def _lies(self, n: Expression) -> Lies:
        if n.operation is ops.CONSTANT:
            value = n.attribute
            return None if math.isnan(value) else (value, value, abs(value))
        if not n.operands:
            return self.leaves.get(n.operation)
        given = [self.lies[operand] for operand in n.operands if operand.format is not Format.BIT]
        if not given:  # a truth value as a number
            return 0.0, 1.0, 0.0
        if any(lies is None or math.inf in (lies[1], -lies[0]) for lies in given):
            return None
        low, high, least = _computed(n.operation, [lies for lies in given if lies is not None])
        low, high = low - abs(low) * ROUNDING - TINY, high + abs(high) * ROUNDING + TINY
        if not (-sys.float_info.max < low and high < sys.float_info.max):
            return None
        least = max(least * (1 - ROUNDING), low, -high)
        return low, high, least if least > NORMAL else 0.0


def _computed(operation: Operation, given: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Where the result of an operation lies but for rounding, and its smallest magnitude, of operands that lie there."""
    low, high, least = given[0]
    largest = max(-low, high)
    match operation:
        case ops.NEGATE:
            return -high, -low, least
        case ops.ABSOLUTE:
            return least, largest, least
        case ops.COPY_SIGN:
            return -largest, largest, least
        case ops.SQUARE_ROOT if low >= 0:
            return math.sqrt(low), math.sqrt(high), math.sqrt(least)
        case ops.FLOOR | ops.CEILING | ops.TRUNCATE | ops.ROUND_EVEN:
            return low - 1, high + 1, 0.0
    if len(given) == 1:
        return -math.inf, math.inf, 0.0
    low_2, high_2, least_2 = given[1]
    match operation:
        case ops.ADD:
            return low + low_2, high + high_2, 0.0
        case ops.SUBTRACT:
            return low - high_2, high - low_2, 0.0
        case ops.SELECT | ops.SELECT_RARE:
            return min(low, low_2), max(high, high_2), min(least, least_2)
        case ops.SCALE_BY_POWER_OF_TWO if high_2 < LARGEST_EXPONENT:
            power = 2.0 ** max(math.floor(low_2), -LARGEST_EXPONENT)
            low_2, high_2, least_2 = 0.0, 2.0 ** math.ceil(high_2), power if low_2 > -LARGEST_EXPONENT else 0.0
        case ops.DIVIDE if least_2 > NORMAL and (low_2 > 0 or high_2 < 0):
            low_2, high_2, least_2 = 1 / high_2, 1 / low_2, 1 / max(-low_2, high_2)
        case ops.DIVIDE if least_2 > NORMAL:
            low_2, high_2, least_2 = -1 / least_2, 1 / least_2, 1 / max(-low_2, high_2)
        case ops.MULTIPLY | ops.FMA:
            pass
        case _:
            return -math.inf, math.inf, 0.0
    ends = low * low_2, low * high_2, high * low_2, high * high_2
    low, high = min(ends), max(ends)
    # A product's rounding shows in the sum too: there it may be the larger part.
    if operation is ops.FMA:
        margin = max(-low, high) * ROUNDING
        return low + given[2][0] - margin, high + given[2][1] + margin, 0.0
    return low, high, least * least_2
