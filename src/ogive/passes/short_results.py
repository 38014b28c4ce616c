"""Results of 16 bits computed in float32, with a rounding test by integers.

Of the numbers between two of bfloat16 a tie has the first of the 16 bits that bfloat16 lacks set, and no other. So the
test is an addition and a comparison, and what it adds rounds the number, too: where it is decided, halves do not matter.
Float16 lacks 13 bits, where its results are normal. Below, the number is moved to where float32 has as many too few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import STORAGE, Expression, Format, depends_on_elements, node, walk
from ogive.numerics.bound import Bound
from ogive.numerics.double_word import DoubleWord
from ogive.numerics.elementary.short_functions import short_rule
from ogive.numerics.short import Short, TooShort
from ogive.numerics.truths import either, except_where
from ogive.passes.cost import cost, with_undecided
from ogive.passes.identities import without_sums
from ogive.passes.tested import TestedReals

__all__ = ["short_results", "upper_half"]

#: What is undecided of results is repaired; the largest share that is worth it.
LARGEST_SHARE = 0.02

#: The bits that a format lacks of a float32, and the smallest number that has all of its own.
LACKING = {Format.BF16: 16, Format.F16: 13}
SMALLEST_NORMAL_HALF = 2.0**-14

#: How many more undecided results an instruction is worth. A test by a mask alone takes one less.
WORTH_AN_INSTRUCTION = 1.5

#: What the end of an interval and a bound computed in float32 are wrong by themselves.
ROUNDED = 2.0**-23
WIDENED = 1 + 2.0**-16

#: No number of float32 is near to one that is wrong by this.
UNREACHABLE = 2.0**127

#: What underflow may lose of an interval's end.
SMALLEST = 2.0**-149


def short_results(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    long: Sequence[Expression],
) -> tuple[Short, list[Expression], tuple[Expression, ...], Expression | None] | None:
    """The arithmetic, what it computes, the results and where they are undecided; None where float64 costs less, or has to compute them.

    ``long`` is what float64 computes.
    """
    if not any(n.operation.lowering is not None and depends_on_elements(n) for n in walk(*roots)):
        return None  # of sums and products float64 leaves next to nothing undecided, also beside ties
    names = {t.name for t in outputs}
    if len(names) != 1 or not names <= {"float16", "bfloat16"} or not {t.name for t in inputs} <= names:
        return None
    m = Short(STORAGE[outputs[0].name])
    try:
        products = without_sums(roots)
        results, undecided = ShortReals(m, tuple(inputs), Format.F32).tested(products, outputs)
    except TooShort:
        return None
    if cost(with_undecided(results, undecided)) >= cost(long):
        return None
    return m, products, results, undecided


class ShortReals(TestedReals):
    """Reals in float32, whose results of 16 bits come with a rounding test."""

    m: Short

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        if root.operation.returns_operand:
            return super()._function(root, operands)
        if len(operands) != 1:
            raise TooShort(f"{root.operation.name} has no rule in float32")
        return short_rule(self.m, root.operation, operands[0], is_result=False)

    def result(self, root: Expression) -> DoubleWord:
        """The number of a root: beyond float32 it is beyond 16 bits, too."""
        operation = root.operation
        if operation.is_elementary and operation.lowering is not None and not operation.returns_operand:
            return short_rule(self.m, operation, self.number(root.operands[0]), is_result=True)
        return self.number(root)

    def _tested(self, root: Expression, output: ElementType) -> tuple[Expression, Expression | None]:
        """A result: what a choice chooses is chosen before it is rounded, so that there is one test."""
        if root.format is Format.TRUTH or output.is_integer:
            raise TooShort("a result that is no number")
        storage = STORAGE[output.name]
        number = self.result(root)
        error = number.error
        if not error.is_known:
            raise TooShort("a number without a bound")
        value = self._canonical(root, number.high)
        if error.is_exact or self._is_sum_of_exact(root, storage):
            return node(ops.CONVERT, (value,), None, storage), error.doubt
        if 2 * error.relative * 2.0**24 > LARGEST_SHARE * (1 << LACKING[storage]):
            raise TooShort("too many results would be undecided")
        if error.absolute is not None:
            undecided = except_where(self._is_between_ties(number, error, storage), error.exactly)
            is_wide = storage is Format.BF16  # which is no tie where it is decided, but perhaps zero
            result = upper_half(_moved(value, storage, 0)) if is_wide else node(ops.CONVERT, (value,), None, storage)
            return result, either(undecided, error.doubt)
        reach = self._reach(error)
        if 2 * reach > LARGEST_SHARE * (1 << LACKING[storage]):
            raise TooShort("what underflow loses is more than the smallest numbers")
        if error.static and not self._keeps_signs(root):
            raise TooShort("the sign of a number near zero is not known")
        if storage is Format.BF16:
            moved = _moved(value, storage, reach)
            result, undecided = upper_half(moved), _is_near_tie(moved, storage, reach)
        else:
            result, undecided = node(ops.CONVERT, (value,), None, storage), self._is_near_tie_of_half(value, reach)
        return result, either(undecided, error.doubt)

    def _keeps_signs(self, root: Expression) -> bool:
        """Whether all that a choice may come to has the sign of the exact number."""
        m = self.m
        for current in walk(root, operands=self._chosen_among):
            number = self.result(current)
            if current.operation != ops.SELECT and number.error.static and m.keeps_sign(number) is not m.always:
                return False
        return True

    def _reach(self, error: Bound) -> int:
        """How far ties are that a number may lie beyond, in units of the last place of float32, its own or the smallest."""
        unit = SMALLEST if self.m.is_wide else SMALLEST_NORMAL_HALF * 2.0**-23
        return math.ceil(error.relative * 2.0**24 + error.static / unit) - 1

    def _is_near_tie_of_half(self, value: Expression, reach: int) -> Expression:
        """Whether a number is nearer than its bound to a tie of float16.

        Subnormal numbers of float16 are moved to where float32 has as many places too few. That rounds them by half a unit,
        and a unit is twice as large there, beside the number, as the bound assumes.
        """
        m = self.m
        least = m.number(SMALLEST_NORMAL_HALF)
        size = m.abs_(value)
        size = m.select_(m.less_(size, least), m.add_(size, least), size)
        return _is_near_tie(_moved(size, Format.F16, reach), Format.F16, reach)

    def _is_between_ties(self, number: DoubleWord, error: Bound, storage: Format) -> Expression:
        """Whether the ends of the interval that a number lies in do not round alike: of one whose bound runs beside it."""
        m = self.m
        assert error.absolute is not None
        reach = m.fma_(error.absolute, m.number(WIDENED), m.number(error.static * WIDENED + 2 * SMALLEST))
        reach = m.fma_(m.abs_(number.high), m.number(error.relative * WIDENED + ROUNDED), reach)
        # Beside an infinite operand the bound is infinite or NaN, and an infinite result is the right one.
        reach = m.select_(m.less_(reach, m.number(UNREACHABLE)), reach, m.number(UNREACHABLE))
        ends = (m.sub_(number.high, reach), m.add_(number.high, reach))
        if storage is Format.BF16:
            differing = _whole(ops.EXCLUSIVE_OR, *(_moved(end, storage, 0) for end in ends))
            upper = _whole(ops.AND, differing, _unsigned(0xFFFF0000))
            return m.not_(node(ops.EQUAL, (upper, _unsigned(0)), None, Format.BIT))
        rounded = (node(ops.BITCAST, (node(ops.CONVERT, (end,), None, storage),), None, Format.U16) for end in ends)
        return m.not_(node(ops.EQUAL, tuple(rounded), None, Format.BIT))


def _moved(value: Expression, storage: Format, reach: int) -> Expression:
    """The bits of a number, with half a unit of the last place of 16 bits added, and more."""
    return _whole(ops.ADD, _bits(value), _unsigned((1 << (LACKING[storage] - 1)) + reach))


def _is_near_tie(moved: Expression, storage: Format, reach: int) -> Expression:
    """Whether a number, moved so, is nearer than that to a tie."""
    lacking = LACKING[storage]
    most = 2 * reach
    mask = (1 << lacking) - (1 << most.bit_length())
    if most.bit_length() <= 2 or (1 << most.bit_length()) <= WORTH_AN_INSTRUCTION * (most + 1):
        return node(ops.EQUAL, (_whole(ops.AND, moved, _unsigned(mask)), _unsigned(0)), None, Format.BIT)
    rest = _whole(ops.AND, moved, _unsigned((1 << lacking) - 1))
    return node(ops.LESS, (rest, _unsigned(most + 1)), None, Format.BIT)


def upper_half(moved: Expression) -> Expression:
    """The bfloat16 number that it is rounded to."""
    upper = node(ops.CONVERT, (node(ops.SHIFT_RIGHT, (moved,), 16, Format.U32),), None, Format.U16)
    return node(ops.BITCAST, (upper,), None, Format.BF16)


def _whole(operation: ops.Operation, a: Expression, b: Expression) -> Expression:
    return node(operation, (a, b), None, Format.U32)


def _bits(value: Expression) -> Expression:
    return node(ops.BITCAST, (value,), None, Format.U32)


def _unsigned(value: int) -> Expression:
    return node(ops.CONSTANT, (), value, Format.U32)
