"""Results of float32 and of 16 bits for operands of moderate size: a level before the one that takes all operands.

If |x| is below a limit, clamps against overflow and the fix-up of NaN results change nothing. A shorter graph without
them gives the same bits. Elements with other operands, or with NaN, are undecided there, and the next level computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ogive.common.dtypes import ElementType
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import COMPARISONS, Expression, Format, constant, depends_on_elements, in_format, node, walk
from ogive.lowering.cost import cost
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from ogive.lowering.numerics.truths import either
from ogive.lowering.program import stored_operand
from ogive.lowering.single_results import SingleReals
from ogive.lowering.tested import TestedReals

__all__ = ["moderate_results"]

#: The magnitudes that are tried as limits; the one that saves most is taken. Below the first nothing overflows that
#: float64 computes for float32. Below the second exp() is a normal number of float32. Below the third formulas decide
#: which of their own branches to take: gelu and softplus have a shorter form by it alone.
LIMITS = (256.0, 87.25, 60.0, 36.0)

#: The limits for results of 16 bits, whose rules in float32 hold up to smaller operands.
SHORT_LIMITS = (80.0, 12.75)

#: Smaller operands are undecided, zeros too: other results are normal numbers of float32, and their test is short.
LEAST = 2.0**-40

#: The saving that the level must make, in the unit of costs.
WORTHWHILE = 1.4

SINGLE = Machine(Format.F32)


def moderate_results(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    arithmetic: Bounded,
    results: Sequence[Expression],
) -> tuple[tuple[Expression, ...], Expression] | None:
    """The shorter form of the results, and where these are undecided, if it is worth a level; ``results`` are with their test."""
    is_short = isinstance(arithmetic, SingleBounded)
    if not inputs or (len(inputs) != 1 if is_short else not _is_of_singles(inputs, outputs)):
        return None
    operands = [stored_operand(node(ops.INPUT, (), i, Format.NUMBER), tuple(inputs)) for i in range(len(inputs))]
    best, least = None, cost(results) - WORTHWHILE
    for limit in SHORT_LIMITS if is_short else LIMITS:
        lie = [_around_zero(limit)] * len(inputs)
        if isinstance(arithmetic, SingleBounded):
            single = SingleBounded(arithmetic.goal, are_moderate=arithmetic.are_moderate)
            reals: _KnownReals = _KnownSingle(single, tuple(inputs), lie, limit)
            try:
                found, undecided = reals.tested(roots, outputs)
            except NoSingle:
                continue
        else:
            reals = _KnownReals(arithmetic, tuple(inputs), lie, limit, LEAST)
            found, undecided = reals.tested_shortly(roots, outputs)
        least_limit = SINGLE.number(limit)
        for other in reals.limits():
            least_limit = SINGLE.select_(SINGLE.less_(other, least_limit), other, least_limit)
        magnitudes, most = [_magnitude(operand) for operand in operands], _bits(least_limit, arithmetic.goal)
        if not is_short:  # as unsigned integers, numbers below the least are larger than all others
            bottom = SINGLE.number(LEAST)
            least_limit = SINGLE.select_(SINGLE.less_(least_limit, bottom), bottom, least_limit)
            *magnitudes, most = (
                node(ops.SUBTRACT, (bits, _bits(bottom)), None, Format.U32)
                for bits in (*magnitudes, _bits(least_limit))
            )
        beyond = node(ops.LESS_EQUAL, (most, _largest(magnitudes)), None, Format.BIT)
        test = beyond if undecided is None else either(undecided, beyond)
        price = cost((*found, test))
        if price < least:
            best, least = (found, test), price
    return best


def _is_of_singles(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> bool:
    return {t.name for t in (*inputs, *outputs)} == {"float32"}


def _bits(single: Expression, form: Format = Format.F32) -> Expression:
    """The bits of a float32, or of the number of 16 bits next to it: no smaller one of these is less than it."""
    if form is Format.F16:
        return node(ops.BITCAST, (in_format(single, form),), None, Format.U16)
    bits = node(ops.BITCAST, (single,), None, Format.U32)
    if form is Format.F32:
        return bits
    return in_format(node(ops.SHIFT_RIGHT, (bits,), 16, Format.U32), Format.U16)


def _magnitude(operand: Expression) -> Expression:
    if operand.format is Format.F32:
        return _bits(SINGLE.abs_(operand))
    without_sign = node(ops.CONSTANT, (), 0x7FFF, Format.U16)
    return node(ops.AND, (node(ops.BITCAST, (operand,), None, Format.U16), without_sign), None, Format.U16)


def _largest(magnitudes: Sequence[Expression]) -> Expression:
    largest, *others = magnitudes
    for other in others:
        is_larger = node(ops.LESS, (largest, other), None, Format.BIT)
        largest = node(ops.SELECT, (is_larger, other, largest), None, Format.U32)
    return largest


class _KnownReals(TestedReals):
    """The nodes that are needed only where the operands are numbers, in certain intervals around zero.

    ``limit``: products of the operand with parameters are smaller, or as `limits` says.
    ``least``: the smallest magnitude of the operands.
    """

    def __init__(
        self,
        arithmetic: Bounded,
        inputs: tuple[ElementType, ...],
        operands_lie: Sequence[Interval],
        limit: float,
        least: float = 0.0,
    ) -> None:
        super().__init__(arithmetic, inputs, Format.F32)
        self.lies, self.limit, self.least = operands_lie, limit, least
        self.products_lie = _around_zero(limit)
        self.scales: dict[Expression, Expression] = {}
        """The factors of products with the operand, where they are known to be small."""
        self.are_numbers: dict[Expression, bool] = {}

    def _input(self, root: Expression) -> DoubleWord:
        value, lies = super()._input(root), self.lies[root.attribute]
        largest, least = min(value.error.largest, lies.largest_magnitude), max(value.error.least, self.least)
        return replace(value, interval=lies, error=replace(value.error, largest=largest, least=least))

    def _number(self, root: Expression) -> DoubleWord:
        value, scale = super()._number(root), _scale(root)
        if scale is None:
            return value
        self.scales[root] = scale
        return replace(value, interval=self.products_lie)

    def limits(self) -> list[Expression]:
        """From which magnitudes of the operand on its products with parameters are too large."""
        m = self.m
        quotients = [m.div_(m.number(self.limit), m.abs_(self.number(scale).high)) for scale in self.scales.values()]
        return quotients if m.format is Format.F32 else [in_format(quotient, Format.F32) for quotient in quotients]

    def _decided(self, root: Expression) -> Expression | None:
        condition, a, b = root.operands
        if condition.operation not in COMPARISONS or not self._is_number(condition):
            return None
        if self.asks_for_limits(condition) or condition.operands[0].format is not Format.NUMBER:
            return None
        left, right = (self.number(operand).interval for operand in condition.operands)
        if condition.operation == ops.EQUAL:
            return b if _is_below(left, right) or _is_below(right, left) else None
        return a if _is_below(left, right) else b if _is_below(right, left) else None

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        return value if self._is_number(root) else super()._canonical(root, value)

    def _is_number(self, root: Expression) -> bool:
        """Whether this is never NaN, nor anything that it is made of."""
        for current in walk(root, operands=self._unknown_to_be_numbers):
            if current not in self.are_numbers:
                self.are_numbers[current] = current.format is not Format.NUMBER or self._is_of_numbers(current)
            if not self.are_numbers[current]:
                self.are_numbers[root] = False
                return False
        return True

    def _unknown_to_be_numbers(self, current: Expression) -> Sequence[Expression]:
        return () if current in self.are_numbers else current.operands

    def _is_of_numbers(self, current: Expression) -> bool:
        """Whether this is never NaN if its operands are not."""
        intervals = [self.number(operand).interval for operand in current.operands if operand.format is Format.NUMBER]
        are_finite = [interval.within(-self.m.largest, self.m.largest) for interval in intervals]
        match current.operation:
            case ops.CONSTANT:
                return bool(current.attribute == current.attribute)
            case ops.ADD | ops.SUBTRACT:
                return any(are_finite)
            case ops.MULTIPLY:
                return all(are_finite)
            case ops.DIVIDE:
                return all(are_finite) and (intervals[1].smallest_magnitude > 0 or current in self.scales)
            case functions.LOG1P | ops.SQUARE_ROOT:
                return intervals[0].low >= 0
        return current.operation.never_makes_nan


class _KnownSingle(_KnownReals, SingleReals):
    """The same of results of 16 bits in float32."""

    def _number(self, root: Expression) -> DoubleWord:
        value = super()._number(root)
        if root not in self.scales:
            return value
        # The product is as small as its interval says, and so it does not overflow.
        doubt = either(*(self.numbers[operand].error.doubt for operand in root.operands))
        most = self.products_lie.largest_magnitude
        return replace(value, error=replace(value.error, doubt=doubt, largest=min(value.error.largest, most)))


def _around_zero(limit: float) -> Interval:
    most = limit * (1 + 2.0**-10)  # products are rounded
    return Interval(-most, most)


def _scale(root: Expression) -> Expression | None:
    """The factor of the operand, if it is its product with parameters, or its quotient by them."""
    if root.operation not in (ops.MULTIPLY, ops.DIVIDE):
        return None
    x, w = root.operands
    if root.operation == ops.MULTIPLY and x.operation != ops.INPUT:
        x, w = w, x
    if x.operation != ops.INPUT or w.operation == ops.CONSTANT or depends_on_elements(w):
        return None
    return w if root.operation == ops.MULTIPLY else node(ops.DIVIDE, (constant(1), w), None, w.format)


def _is_below(a: Interval, b: Interval) -> bool:
    """Whether the numbers of one interval are less than those of another as far as they are accurate, too."""
    return a.high + 2.0**-20 * max(abs(a.high), abs(b.low)) < b.low
