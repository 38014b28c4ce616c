"""Operands of moderate size: a level before the one that takes all operands.

If |x| is below a limit, clamps against overflow, questions for infinities and the fix-up of NaN results change nothing.
A shorter graph without them gives the same bits. Elements with other operands, or with NaN, are undecided there, and the
next level computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from ogive.common.dtypes import ElementType
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import COMPARISONS, Expression, Format, constant, depends_on_elements, in_format, node, walk
from ogive.lowering.cost import cost, with_undecided
from ogive.lowering.numerics.bounded import UNSEEN, Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from ogive.lowering.numerics.truths import both, either, opposite
from ogive.lowering.program import Program, stored_operand
from ogive.lowering.single_results import SingleReals
from ogive.lowering.tested import TestedReals
from ogive.lowering.tested_doubles import TestedDoubles

SINGLE, DOUBLE = Machine(Format.F32), Machine(Format.F64)


class Limits(NamedTuple):
    """The operands that are moderate."""

    largest: float
    """The magnitudes of operands and of their products with parameters are smaller."""
    least: float = 0.0
    """The smallest magnitude of operands. Above zero, zeros are left out, too."""


#: The limits that are tried for float32. Below the first nothing overflows that float64 computes for it. Below the second exp()
#: is a normal number of float32. Below the others formulas decide which of their own branches to take: gelu and softplus have
#: a shorter form by it alone. All results but zeros are normal numbers of float32, and their test is short.
LIMITS = tuple(Limits(largest, 2.0**-40) for largest in (256.0, 87.25, 60.0, 36.0))

#: The same for 16 bits, whose rules in float32 hold up to smaller operands.
SHORT_LIMITS = (Limits(80.0), Limits(12.75))

#: The same for float64: by the first products do not overflow, by the second exponentials, by the last quotients by operands.
LONG_LIMITS = (Limits(2.0**59), Limits(340.0), Limits(2.0**59, 2.0**-59))

#: The largest moderate parameter in float64. No parameter of float32 is too large for float64.
PARAMETER = 2.0**59

#: The saving that the level must make, in the unit of costs, and as a share of the cost in float64.
WORTHWHILE, WORTHWHILE_SHARE = 1.4, 0.05

#: Arrays have many zeros: in float64 a level that leaves these out has to cost so much less.
OF_ZEROS = 1.4


def moderate_results(
    made: Program, roots: Sequence[Expression], arithmetic: Bounded
) -> tuple[tuple[Expression, ...], Expression] | None:
    """The shorter form of a program's results, and where these are undecided, if it is worth a level."""
    is_short, is_long = isinstance(arithmetic, SingleBounded), arithmetic.of_doubles
    types = {t.name for t in (*made.inputs, *(() if is_long else made.outputs))}
    if not made.inputs or (len(made.inputs) != 1 if is_short else types != {"float64" if is_long else "float32"}):
        return None
    price = cost(with_undecided(made.results, made.undecided))
    best, least = None, price - (price * WORTHWHILE_SHARE if is_long else WORTHWHILE)
    for limits in SHORT_LIMITS if is_short else LONG_LIMITS if is_long else LIMITS:
        reals = _reals(arithmetic, made.inputs, limits)
        try:
            results, undecided = (
                reals.tested(roots, made.outputs) if is_short else reals.tested_shortly(roots, made.outputs)
            )
        except NoSingle:
            continue
        left_out = reals.left_out(roots)
        test = left_out if undecided is None else either(undecided, left_out)
        price = cost((*results, test))
        if price * (OF_ZEROS if is_long and limits.least else 1.0) < least:
            best, least = (results, test), price
    return best


def _reals(arithmetic: Bounded, inputs: tuple[ElementType, ...], limits: Limits) -> ModerateReals:
    if isinstance(arithmetic, SingleBounded):
        m = arithmetic  # without its doubts
        arithmetic = SingleBounded(m.goal, are_moderate=m.are_moderate, follows_rests=m.follows_rests)
        return ModerateSingles(arithmetic, inputs, limits)
    return (ModerateDoubles if arithmetic.of_doubles else ModerateReals)(arithmetic, inputs, limits)


class ModerateReals(TestedReals):
    """The nodes that are needed only where the operands are moderate numbers."""

    def __init__(self, arithmetic: Bounded, inputs: tuple[ElementType, ...], limits: Limits) -> None:
        super().__init__(arithmetic, inputs, Format.F64 if arithmetic.of_doubles else Format.F32)
        self.limits = limits
        most = limits.largest * (1 + 2.0**-10)  # products are rounded
        self.lies = Interval(-most, most)
        self.scales: dict[Expression, Expression] = {}
        """The factors of products with the operand, where they are known to be small."""
        self.are_numbers: dict[Expression, bool] = {}

    # ---- where elements are left out

    def left_out(self, roots: Sequence[Expression]) -> Expression:
        """Where operands are not moderate: by their bits, which are integers."""
        limit, least, goal = self._limit(SINGLE), self.limits.least, self.m.goal
        magnitudes, most = [_magnitude(operand) for operand in self._stored_operands()], _bits(limit, goal)
        if least:  # as unsigned integers, numbers below the least are larger than all others
            bottom = SINGLE.number(least)
            limit = SINGLE.select_(SINGLE.less_(limit, bottom), bottom, limit)
            *magnitudes, most = (
                node(ops.SUBTRACT, (bits, _bits(bottom)), None, Format.U32) for bits in (*magnitudes, _bits(limit))
            )
        return node(ops.LESS_EQUAL, (most, reduce(_larger, magnitudes)), None, Format.BIT)

    def _stored_operands(self) -> list[Expression]:
        return [stored_operand(node(ops.INPUT, (), i, Format.NUMBER), self.inputs) for i in range(len(self.inputs))]

    def _limit(self, machine: Machine) -> Expression:
        """The magnitude that operands are below, so that their products with parameters are small, too."""
        m, limit = self.m, machine.number(self.limits.largest)
        for scale in self.scales.values():
            quotient = m.div_(m.number(self.limits.largest), m.abs_(self.number(scale).high))
            other = in_format(quotient, machine.format)
            limit = machine.select_(machine.less_(other, limit), other, limit)
        return limit

    # ---- numbers

    def _input(self, root: Expression) -> DoubleWord:
        value = super()._input(root)
        largest = min(value.error.largest, self.lies.largest_magnitude)
        least = max(value.error.least, self.limits.least)
        # A level that leaves out zeros pays where arrays have none: of float64 alone it may be chosen for the gap.
        lies = replace(self.lies, gap=self.limits.least if self.m.of_doubles else 0.0)
        return replace(value, interval=lies, error=replace(value.error, largest=largest, least=least))

    def _number(self, root: Expression) -> DoubleWord:
        value, scale = super()._number(root), _scale(root)
        if scale is None:
            return value
        self.scales[root] = scale
        return replace(value, interval=self.lies)

    def _truth(self, root: Expression) -> Expression:
        known = self._known(root)
        return super()._truth(root) if known is None else node(ops.CONSTANT, (), known, Format.BIT)

    def _decided(self, root: Expression) -> Expression | None:
        known = self._known(root.operands[0])
        return None if known is None else root.operands[1 if known else 2]

    def _known(self, condition: Expression) -> bool | None:
        """The truth of a comparison that intervals decide."""
        if condition.operation not in COMPARISONS or not self._is_number(condition):
            return None
        if condition.operands[0].format is not Format.NUMBER:
            return None
        if self.asks_for_limits(condition) and not self.m.of_doubles:
            return None
        left, right = (self.number(operand).interval for operand in condition.operands)
        if left.is_below(right):
            return condition.operation is not ops.EQUAL
        return False if right.is_below(left) else None

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


class ModerateSingles(ModerateReals, SingleReals):
    """The same of results of 16 bits in float32."""

    def _number(self, root: Expression) -> DoubleWord:
        value = super()._number(root)
        if root not in self.scales:
            return value
        # The product is as small as its interval says, and so it does not overflow.
        doubt = either(*(self.numbers[operand].error.doubt for operand in root.operands))
        most = self.lies.largest_magnitude
        return replace(value, error=replace(value.error, doubt=doubt, largest=min(value.error.largest, most)))


class ModerateDoubles(ModerateReals, TestedDoubles):
    """The same of float64, and of moderate parameters."""

    def left_out(self, roots: Sequence[Expression]) -> Expression:
        limit, conditions = self._limit(DOUBLE), []
        for operand in self._stored_operands():
            size = DOUBLE.abs_(operand)
            conditions.append(DOUBLE.less_(size, limit))
            if self.limits.least:
                conditions.append(DOUBLE.less_equal_(DOUBLE.number(self.limits.least), size))
        for n in walk(*roots):
            if n.operation is ops.PARAMETER:
                size = DOUBLE.abs_(super()._parameter(n).high)
                conditions.append(DOUBLE.less_equal_(size, DOUBLE.number(PARAMETER)))
        return opposite(reduce(both, conditions))

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        return self._unscaled(super()._function(root, operands))

    def _with_bound(self, root: Expression) -> DoubleWord:
        return self._unscaled(super()._with_bound(root))

    def _unscaled(self, number: DoubleWord) -> DoubleWord:
        """A number that is not tiny needs no power of two beside it."""
        is_normal = number.error.least > UNSEEN and number.error.largest < 1 / UNSEEN
        return self.m.unscaled(number) if is_normal else number

    def _parameter(self, root: Expression) -> DoubleWord:
        found = super()._parameter(root)
        return replace(found, interval=Interval(-PARAMETER, PARAMETER), error=replace(found.error, largest=PARAMETER))


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


def _larger(a: Expression, b: Expression) -> Expression:
    return node(ops.SELECT, (node(ops.LESS, (a, b), None, Format.BIT), b, a), None, Format.U32)


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
