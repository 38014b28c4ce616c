"""Results of 16 bits computed in float32, with a rounding test by integers.

Among the numbers between two of bfloat16 a tie has the first of the 16 bits that bfloat16 lacks set, and no other. So the
test is an addition and a comparison, and what it adds rounds the number, too: where it is decided, halves do not matter.
Float16 has subnormal results that lack more bits: there both ends of the interval are rounded, and compared.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, in_format, is_extreme, is_negative_zero, walk
from ogive.lowering.cost import cost, with_undecided
from ogive.lowering.identities import with_positive_parameters, without_sums
from ogive.lowering.numerics.bound import Bound
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.propagation import single_rule
from ogive.lowering.numerics.rounded_results import are_same, have_same_halves, is_near_tie, moved_by_half, upper_half
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from ogive.lowering.numerics.truths import either, except_where
from ogive.lowering.tested import SUMS, TestedReals, has_rule, is_exact_often

#: The sign of a result is that of all its operands.
PRODUCTS = frozenset({ops.NEGATE, ops.MULTIPLY, ops.DIVIDE, ops.COPY_SIGN})

#: Undecided results are repaired; the largest share that is worth it.
LARGEST_SHARE = 0.02

#: The bits that a format lacks of a float32.
LACKING = {Format.BF16: 16, Format.F16: 13}

#: Below this is no tie of float16.
FIRST_TIE_OF_HALF = 2.0**-25

#: The own errors of the end of an interval and of a bound computed in float32.
ROUNDED = 2.0**-23
WIDENED = 1 + 2.0**-16

#: No number of float32 is near to one that is wrong by this.
UNREACHABLE = 2.0**127

#: The most that underflow may lose of an interval's end.
SMALLEST = 2.0**-149


def single_results(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    long: Sequence[Expression],
    follows_rests: bool = False,
) -> tuple[SingleBounded, list[Expression], tuple[Expression, ...], Expression | None] | None:
    """The arithmetic, what it computes, the results and where they are undecided; None where float64 costs less, or has to compute them.

    ``long`` is what float64 computes.
    """
    names = {t.name for t in outputs}
    if len(names) != 1 or not names <= {"float16", "bfloat16"} or not {t.name for t in inputs} <= names:
        return None
    storage, products = STORAGE[outputs[0].name], without_sums(roots)
    best, least = None, cost(long)
    for computed, are_moderate in ((products, False), (with_positive_parameters(products), True)):
        if are_moderate and all(current.operation is not ops.PARAMETER for current in walk(*roots)):
            continue
        m = SingleBounded(storage, are_moderate=are_moderate, follows_rests=follows_rests)
        try:
            results, undecided = SingleReals(m, tuple(inputs), Format.F32).tested(computed, outputs)
        except NoSingle:
            continue
        price = cost(with_undecided(results, undecided))
        if price < least and undecided is not m.always:
            best, least = (m, computed, results, undecided), price
    return best


class SingleReals(TestedReals):
    """Reals in float32, whose results of 16 bits come with a rounding test."""

    m: SingleBounded
    factors: Container[Expression]

    def tested(
        self, roots: Sequence[Expression], outputs: Sequence[ElementType]
    ) -> tuple[tuple[Expression, ...], Expression | None]:
        # A number that is only a term of sums, like a bias, is negative as often as positive.
        self.factors = frozenset(
            n for current in walk(*roots) if current.operation not in SUMS for n in current.operands
        )
        results, undecided = super().tested(roots, outputs)
        return results, either(undecided, self.m.immoderate)

    def _parameter(self, root: Expression) -> DoubleWord:
        found = super()._parameter(root)
        return self.m.moderate(found, is_positive=root in self.factors) if self.m.are_moderate else found

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        if root.operation.returns_operand:
            return super()._function(root, operands)
        if len(operands) != 1:
            raise NoSingle(f"{root.operation.name} has no rule in float32")
        return single_rule(self.m, root.operation, operands[0], is_result=False)

    def result(self, root: Expression) -> DoubleWord:
        """The number of a root: beyond float32 it is beyond 16 bits, too."""
        operation = root.operation
        if has_rule(operation):
            return single_rule(self.m, operation, self.number(root.operands[0]), is_result=True)
        return self.number(root)

    def _tested(self, root: Expression, output: ElementType) -> tuple[Expression, Expression | None]:
        """A result: what a choice chooses is chosen before it is rounded, so that there is one test."""
        if root.format is Format.TRUTH or output.is_integer:
            raise NoSingle("a result that is no number")
        m, storage = self.m, STORAGE[output.name]
        number = self.result(root)
        error = number.error
        if not error.is_known:
            raise NoSingle("a number without a bound")
        value = self._canonical(root, number.high)
        if error.is_exact or self._is_sum_of_exact(root, storage):
            return in_format(value, storage), error.doubt
        is_tie_often = m.follows_rests and error.exactly is not None and is_exact_often(root)
        among = walk(root, operands=self._chosen_among)
        if not is_tie_often and any(self._is_sum_of_exact(chosen, storage) for chosen in among):
            raise NoSingle("a choice of sums, of which every other one may be a tie")
        if 2 * error.relative * 2.0**24 > LARGEST_SHARE * (1 << LACKING[storage]):
            raise NoSingle("too many results would be undecided")
        undecided: Expression | None
        if storage is Format.F16 and error.absolute is None:
            result, undecided = self._half_of_both_ends(root, value, error)
        elif error.absolute is not None:
            undecided = self._is_between_ties(number, error, storage)
            is_wide = storage is Format.BF16  # which is no tie where it is decided, but perhaps zero
            result = upper_half(moved_by_half(value, 0)) if is_wide else in_format(value, storage)
            if not m.follows_rests:
                undecided = except_where(undecided, error.exactly)
        else:
            result, undecided = self._between_halves(root, value, error)
        if is_tie_often:  # which may be a tie
            result, undecided = in_format(value, storage), m.unless(undecided, error.exactly)
        return result, either(undecided, error.doubt)

    def _between_halves(self, root: Expression, value: Expression, error: Bound) -> tuple[Expression, Expression]:
        """A number with a relative bound as bfloat16, and whether it is near to a tie."""
        reach = math.ceil(error.relative * 2.0**24 + error.static / SMALLEST) - 1
        if 2 * reach > LARGEST_SHARE * (1 << LACKING[Format.BF16]):
            raise NoSingle("what underflow loses is more than the smallest numbers")
        if error.static and not self._keeps_signs(root):
            raise NoSingle("the sign of a number near zero is not known")
        moved = moved_by_half(value, reach)
        return upper_half(moved), is_near_tie(moved, reach)

    def _half_of_both_ends(self, root: Expression, value: Expression, error: Bound) -> tuple[Expression, Expression]:
        """A number with a relative bound as float16, of the upper end of its interval, and whether the lower end is another.

        Ends are products, which are rounded, too. A static bound counts beside the first tie. Smaller numbers are zeros, and
        have their sign.
        """
        beside_a_tie = error.relative + error.static / FIRST_TIE_OF_HALF + 2.0**-24
        reach = math.ceil(beside_a_tie * WIDENED * 2.0**23) * 2.0**-23  # 1 - reach and 1 + reach are numbers of float32
        if reach > LARGEST_SHARE * 2.0**-12:
            raise NoSingle("what underflow loses is more than the smallest numbers")
        if error.static and not self._keeps_signs(root):
            raise NoSingle("the sign of a number near zero is not known")
        m = self.m
        ends = (m.mul_(value, m.number(end)) for end in (1 - reach, 1 + reach))
        lower, upper = (in_format(end, Format.F16) for end in ends)
        return upper, m.not_(are_same(lower, upper))

    def _keeps_signs(self, root: Expression) -> bool:
        """Whether all that a choice may come to has the sign of the exact number."""
        m = self.m
        for current in walk(root, operands=self._chosen_among):
            number = self.result(current)
            if _is_beside_zero(current):
                return False  # of 0 and of what is nearly that the wrong one may be chosen: which has another sign?
            if current.operation == ops.SELECT or not number.error.static:
                continue
            if m.keeps_sign(number) is not m.always:
                return False
            is_sum = current.operation in SUMS and not _has_negative_zero(current.operands[0])
            if is_sum and number.interval.high <= 0:
                return False  # 0 - 0 is 0: what is next to nothing here may be nothing of an infinite operand
        factors = walk(root, operands=lambda n: n.operands if n.operation in PRODUCTS else self._chosen_among(n))
        return not any(_is_beside_zero(n) and any(self.number(a).error.static for a in n.operands[1:]) for n in factors)

    def _is_between_ties(self, number: DoubleWord, error: Bound, storage: Format) -> Expression:
        """Whether the ends of the interval that a number lies in do not round alike: of one whose bound runs beside it."""
        m = self.m
        assert error.absolute is not None
        reach = m.fma_(error.absolute, m.number(WIDENED), m.number(error.static * WIDENED + 2 * SMALLEST))
        reach = m.fma_(m.abs_(number.high), m.number(error.relative * WIDENED + ROUNDED), reach)
        # Next to an infinite operand the bound is infinite or NaN, and an infinite result is the right one.
        reach = m.select_(m.less_(reach, m.number(UNREACHABLE)), reach, m.number(UNREACHABLE))
        ends = (m.sub_(number.high, reach), m.add_(number.high, reach))
        if storage is Format.BF16:
            return m.not_(have_same_halves(*(moved_by_half(end, 0) for end in ends)))
        return m.not_(are_same(*(in_format(end, storage) for end in ends)))


def _is_beside_zero(root: Expression) -> bool:
    """Whether this is the larger or smaller one of a number and what may be zero."""
    constants = [n.attribute for n in root.operands[1:] if n.operation is ops.CONSTANT]
    return is_extreme(root) and (not constants or 0 in constants)


def _has_negative_zero(root: Expression) -> bool:
    """Whether a number is -0, or the smaller one of that and another: -0 - 0 is -0."""
    return any(map(is_negative_zero, (root, *root.operands)))
