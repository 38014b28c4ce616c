"""Results with a rounding test: what is nearer to a rounding boundary than the bound of its error is undecided.

A number that is known to lie between two others is decided if these two round alike. That is the whole test; so it holds
for subnormal results, for numbers beside zero, for infinities and for integers as for all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import ATAN2, LARGER, SMALLER
from ogive.graph.expression import (
    COMPARISONS,
    STORAGE,
    Expression,
    Format,
    Operation,
    depends_on_elements,
    in_format,
    is_extreme,
    node,
    walk,
)
from ogive.lowering.fold import fewer_conversions
from ogive.lowering.numerics.bound import Beyond, Bound
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.propagation import bounded
from ogive.lowering.numerics.precisions import NEXT_TO_NOTHING
from ogive.lowering.numerics.rounded_results import (
    in_storage,
    moved_by_half,
    normal_single_to_odd,
    single_to_16_bits,
    single_to_odd,
    to_integer,
    to_odd,
    with_zeros_below,
)
from ogive.lowering.numerics.truths import both, chosen, either, except_where, nowhere, opposite
from ogive.lowering.real_lowering import RealLowering

#: Numbers of float64 are rounded to float32 before they become 16 bits: the relative error of that, and more, and the
#: absolute one where float32 is subnormal.
SINGLE_ROUNDING = 2.0**-22
SMALLEST_SINGLE = 2.0**-149

#: The own error of the ends of an interval, relative to the number: one word, and two.
ROUNDED, ROUNDED_TWICE = 2.0**-50, 2.0**-102

#: Between these magnitudes numbers of float32 have all their bits, before and after rounding.
NORMAL = 2.0**-125, 2.0**127

#: The bound that no finite number of a result's format is near to: with such a bound its two ends are infinite.
UNREACHABLE = 2.0**1000

#: The factor that covers the rounding of a bound that runs beside a number.
SLACK_OF_RUNNING = 1 + 2.0**-28

#: Up to this error ties are told by bits.
LARGEST_NEAR_TIE = 2.0**-30


#: Numbers of up to 64 bits with such an error are nearer to the right integer than to others.
FINER_THAN_INTEGERS = 2.0**-70

#: Operations whose zeros have signs by those of their operands. A sum of a zero and another number has the sign of that.
SIGNED_ZEROS = frozenset(
    {ops.MULTIPLY, ops.DIVIDE, ops.NEGATE, ops.SQUARE_ROOT, ops.TRUNCATE, ops.ROUND_EVEN, LARGER, SMALLER}
)

SUMS = frozenset({ops.ADD, ops.SUBTRACT})

WHOLE = frozenset({ops.FLOOR, ops.CEILING, ops.TRUNCATE, ops.ROUND_EVEN})

#: Operations that make zero of zeros, beside functions that are zero there.
ZEROS_OF_ZEROS = frozenset({ops.ADD, ops.SUBTRACT, ops.NEGATE, ops.ABSOLUTE, ATAN2})

#: Operations that make integers of integers.
WHOLE_OF_WHOLE = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATE, ops.ABSOLUTE, ops.SELECT})


def _numbers_of(current: Expression) -> Sequence[Expression]:
    return [operand for operand in current.operands if operand.format is Format.NUMBER]


def _of_signed_zero(current: Expression) -> Sequence[Expression]:
    """The operands that a zero's sign may depend on."""
    if current.operation is ops.SELECT:
        return current.operands[1:]
    has_sign = current.operation in SIGNED_ZEROS or current.operation.is_linear_at_zero
    return current.operands if has_sign else ()


def has_rule(operation: Operation) -> bool:
    """Whether an operation is a function that an arithmetic computes, and none that may return its operand."""
    return operation.is_elementary and operation.lowering is not None and not operation.returns_operand


def is_exact_often(root: Expression) -> bool:
    """Whether one of the numbers that this may be is a sum, perhaps times what all elements share; or has a whole number as
    a factor, which is zero often.
    """
    return any(
        current.operation in SUMS or any(operand.operation in WHOLE for operand in current.operands)
        for current in walk(root, operands=_scaled_or_chosen)
    )


def _scaled_or_chosen(current: Expression) -> Sequence[Expression]:
    if current.operation is ops.SELECT:
        return current.operands[1:]
    if current.operation in (ops.MULTIPLY, ops.DIVIDE):
        varying = [operand for operand in current.operands if depends_on_elements(operand)]
        return varying if len(varying) == 1 else ()
    return current.operands if current.operation in (ops.NEGATE, ops.ABSOLUTE) else ()


class TestedReals(RealLowering):
    """Reals in float64, plain or with corrections, whose results come with a rounding test."""

    __test__ = False  # to pytest this is no test
    m: Bounded
    #: Whether zeros whose sign nobody knows are undecided. Rows do not look at them.
    follows_signs = True
    #: Whether a result that is zero is taken as it comes.
    takes_zeros = False
    #: Second words that are next to nothing, and numbers next to zero: in no element type is that another number than zero.
    little = beside_zero = NEXT_TO_NOTHING

    def __init__(
        self,
        arithmetic: Bounded,
        inputs: tuple[ElementType, ...],
        parameters: Format | None = None,
        *,
        is_sharp: bool = False,
    ) -> None:
        super().__init__(arithmetic, inputs, parameters)
        self.is_sharp = is_sharp
        """Whether results of 16 bits are rounded from float64, not from float32: so fewer are undecided."""
        self.in_16_bits: dict[Expression, Expression] = {}
        """Numbers of float32 that have been rounded to 16 bits already."""
        self.of_zeros: frozenset[Expression] = frozenset()
        """The nodes whose zeros have signs that results have."""

    def tested(
        self, roots: Sequence[Expression], outputs: Sequence[ElementType]
    ) -> tuple[tuple[Expression, ...], Expression | None]:
        """The results in the storage formats of their element types, and where they are undecided; None: nowhere."""
        if self.follows_signs:
            with_zeros = [root for root, output in zip(roots, outputs, strict=True) if output.is_float]
            self.of_zeros = frozenset(walk(*with_zeros, operands=_of_signed_zero))
        both = [self._tested(root, output) for root, output in zip(roots, outputs, strict=True)]
        return tuple(result for result, _ in both), either(*(undecided for _, undecided in both))

    def tested_shortly(
        self, roots: Sequence[Expression], outputs: Sequence[ElementType]
    ) -> tuple[tuple[Expression, ...], Expression | None]:
        """The same, with as few conversions as possible."""
        results, undecided = self.tested(roots, outputs)
        if undecided is None:
            return fewer_conversions(results), None
        *some, undecided = fewer_conversions([*results, undecided])
        return tuple(some), undecided

    def _tested(self, root: Expression, output: ElementType) -> tuple[Expression, Expression | None]:
        storage = STORAGE[output.name]
        if root.format is Format.TRUTH:
            truth = self.truth(root)
            return in_format(truth, storage), self.m.doubt_of(truth)
        if output.is_integer:
            return self._tested_integer(root, output)
        values: dict[Expression, tuple[Expression, Expression | None]] = {}
        for current in walk(root, operands=self._chosen_among):
            if current.operation != ops.SELECT:
                values[current] = self._tested_float(current, storage)
                continue
            among = self._chosen_among(current)
            if len(among) == 1:
                values[current] = values[among[0]]
                continue
            (a, in_a), (b, in_b) = (values[operand] for operand in among)
            condition = self._condition(current)
            doubt = self._doubt_of_choice(current, condition)
            undecided = either(doubt, chosen(condition, in_a, in_b))
            values[current] = self._select(current, condition, a, b), undecided
        value, undecided = values[root]
        return self._stored(root, value, storage), undecided

    def _stored(self, root: Expression, value: Expression, storage: Format) -> Expression:
        """The result in the format of its element type."""
        if value in self.in_16_bits:
            return self.in_16_bits[value]
        return in_storage(self._canonical(root, value), storage, self.in_16_bits)

    def _condition(self, root: Expression) -> Expression:
        """The truth value that a choice between results depends on."""
        return self.truth(root.operands[0])

    def _doubt_of_choice(self, root: Expression, condition: Expression) -> Expression | None:
        """The condition that the wrong result may be chosen."""
        return self.m.doubt_of(condition)

    # ---- floating-point results

    def _tested_float(self, root: Expression, storage: Format) -> tuple[Expression, Expression | None]:
        """A number rounded to float32, for 16 bits in such a way that rounding it again is as good as rounding once."""
        m = self.m
        number = self._result(root)
        error = self._with_zeros(root, number)
        single = m.single_of(number.high) if number.low is None else None
        if single is not None and error.is_exact:
            return single, error.doubt
        if m.extended:
            number = m.renormalised(number)
        if not error.is_known or error.is_exact:
            return self._rounded(number, storage), self._open(error, None) if error.is_known else m.always
        if self._is_sum_of_exact(root, storage):
            return in_format(number.high, Format.F32), error.doubt
        if m.extended:
            low, high = (self._rounded(end, storage) for end in self._ends(number, error))
            if storage is not Format.F32:
                low, high = (in_format(end, storage) for end in (low, high))
            differing = differ(low, high)
            differing = except_where(differing, error.exactly)
            return self._rounded(self.beyond(number, error), storage), self._open(error, differing)
        exactly = error.exactly if is_exact_often(root) else None  # other results are seldom ties
        value = in_format(number.high, Format.F32)
        if storage is Format.F32 and _is_normal(number):
            is_near = self._is_near_tie(number.high, error.relative + ROUNDED)
            return value, either(m.unless(is_near, exactly), error.doubt)
        if storage is Format.F32:
            ends = self._ends(number, error)
            low, high = (in_format(n.high, Format.F32) for n in ends)
            differing = differ(low, high)
            if error.absolute is not None and number.interval.low < 0:  # -0 + 0 is 0, but -0 - 0 is -0
                differing = both(differing, m.not_(m.equal_(*(n.high for n in ends))))
            return low if exactly is None else value, either(m.unless(differing, exactly), error.doubt)
        return self._tested_16_bits(root, number, replace(error, exactly=exactly), storage)

    def _with_zeros(self, root: Expression, number: DoubleWord) -> Bound:
        """The bound of a result that knows its sign where it is zero because operands are."""
        m, error = self.m, number.error
        if m.extended or self.takes_zeros or not error.static or error.absolute is None:
            return error
        known = self._zero_by_operands(root)
        if known is None:
            return error
        asked = [n for n in walk(known) if n.operation in COMPARISONS and depends_on_elements(n)]
        if not self.follows_signs and len(asked) > 1:  # few results are zero
            known = node(ops.SELECT_RARE, (m.equal_(number.high, m.number(0.0)), known, nowhere()), None, Format.BIT)
        return replace(error, keeps_sign=either(error.keeps_sign, known))

    def _open(self, error: Bound, differing: Expression | None) -> Expression | None:
        """Where a result is undecided whose ends differ there: vast numbers are infinite, and NaN is decided."""
        return except_where(either(except_where(differing, error.vast), error.doubt), error.nan)

    def _is_sum_of_exact(self, root: Expression, storage: Format) -> bool:
        """Whether this is a sum of numbers with so few bits that rounding it twice is as good as once (Figueroa, 1995).

        So are the sums of float32 in float64, and those of 16 bits in float32 after that: `mean`, whose results are ties
        every other time.
        """
        most = {Format.F32: 24, Format.F16: 11, Format.BF16: 8}[storage]
        if self.m.extended or root.operation not in SUMS:
            return False
        numbers = [self.number(operand) for operand in root.operands]
        return all(
            n.low is None and n.exponent is None and n.error.is_exact and (n.error.bits or 99) <= most for n in numbers
        )

    def _result(self, root: Expression) -> DoubleWord:
        """The number of a root. A number that float64 cannot hold is no doubt here: it is infinite in the result's format too."""
        m, operation = self.m, root.operation
        number = self.number(root)
        if has_rule(operation):
            number = bounded(operation, is_result=True)(m, *map(self.number, root.operands))
        number = m.unscaled_result(self._perhaps_vast(number))
        if number.low is None or number.error.largest < m.safe or not number.error.is_known:
            return number
        # Two words of which one is infinite are no number: in their place comes one that is as infinite in the result.
        most, size = m.number(m.safe), m.abs_(number.high)
        high = m.select_(m.less_(most, size), m.copy_sign(DoubleWord(most), number.high).high, number.high)
        low = m.select_(m.less_(size, most), number.low, m.number(0.0))
        return replace(number, high=high, low=low, is_normal=False)

    def _perhaps_vast(self, number: DoubleWord) -> DoubleWord:
        """A number that may be vast with its exponent multiplied in, whose bound then says less than that."""
        m, error = self.m, number.error
        if number.exponent is None or not (m.follows_vast and error.is_known):
            return number
        total, size = m.total(number), m.abs_(number.high)
        is_vast = m.less_equal_(m.number(m.safe), m.scale_(size, number.exponent))
        if total is not None:
            is_vast = both(is_vast, m.less_(m.mul_(total, m.number(4.0)), size))
        return replace(number, error=replace(error, vast=either(error.vast, is_vast)))

    def _is_near_tie(self, value: Expression, relative: float) -> Expression:
        """Whether a number whose float32 is normal is nearer to a tie than its error: by the bits that float32 lacks.

        Among the numbers between two of float32 a tie has the first of these bits set, and no other. All are in the lower
        half of the bits, so the test takes half as many registers as there are of float64.
        """
        reach = 2.0 ** math.ceil(math.log2(relative * 2.0**Format.F64.precision + 1))  # in units of the last place
        lost = Format.F64.precision - Format.F32.precision
        bits = in_format(node(ops.BITCAST, (value,), None, Format.U64), Format.U32)
        from_tie = node(ops.ADD, (bits, _unsigned((1 << (lost - 1)) + int(reach))), None, Format.U32)
        upper = node(ops.AND, (from_tie, _unsigned((1 << lost) - 2 * int(reach))), None, Format.U32)
        return node(ops.EQUAL, (upper, _unsigned(0)), None, Format.BIT)

    def _tested_16_bits(
        self, root: Expression, number: DoubleWord, error: Bound, storage: Format
    ) -> tuple[Expression, Expression | None]:
        """The number is rounded to float32 first: where that is no tie of 16 bits, it lies where the number does.

        Where the bound runs beside the number, its ends are rounded so, too, with that as a part of the error.
        """
        m = self.m
        if self.is_sharp or error.exactly is not None:
            low, high = (in_format(self._rounded(end, storage), storage) for end in self._ends(number, error))
            undecided = m.unless(differ(low, high), error.exactly)
            return self._rounded(self.beyond(number, error), storage), either(undecided, error.doubt)
        sign_is_known = error.absolute is None and error.static <= NEXT_TO_NOTHING
        if sign_is_known and error.relative < LARGEST_NEAR_TIE:
            return self._short_of_single(root, number.high, error, storage)
        static = error.static + (SMALLEST_SINGLE if storage is Format.BF16 else 0.0)
        error = replace(error, relative=error.relative + SINGLE_ROUNDING, static=static)
        ends = []
        for end in self._ends(number, error):
            bits = in_format(in_format(end.high, Format.F32), storage)
            bits = node(ops.BITCAST, (bits,), None, Format.U16)
            ends.append(node(ops.SHIFT_LEFT, (bits,), 1, Format.U16) if sign_is_known else bits)
        undecided = m.not_(node(ops.EQUAL, tuple(ends), None, Format.BIT))
        return in_format(number.high, Format.F32), either(undecided, error.doubt)

    def _short_of_single(
        self, root: Expression, value: Expression, error: Bound, storage: Format
    ) -> tuple[Expression, Expression | None]:
        """A float32 that becomes the result, and whether the number may be a tie, or lie on the other side of one."""
        single = self._canonical(root, in_format(value, Format.F32))
        rounded, undecided = single_to_16_bits(single, storage)
        if storage is Format.BF16:
            single = node(ops.BITCAST, (with_zeros_below(moved_by_half(single, 0)),), None, Format.F32)
        self.in_16_bits[single] = rounded
        return single, either(undecided, error.doubt)

    def _rounded(self, number: DoubleWord, storage: Format) -> Expression:
        """The number as float32, to odd for 16 bits. One of two words may be rounded to odd to one first."""
        m = self.m
        value = number.high if number.low is None else to_odd(m, number.high, m.low_part(number))
        if storage is Format.F32:
            return in_format(value, Format.F32)
        return normal_single_to_odd(value) if storage is Format.F16 else single_to_odd(m, value)

    def _reach(self, number: DoubleWord, error: Bound) -> Expression:
        """How far the exact number may be from the number, but for the rounding of this bound."""
        m, reach = self.m, error.absolute
        # Next to a subnormal number of float32, what underflow in float64 has lost is a relative 2**-50 at most.
        static = 0.0 if error.static <= NEXT_TO_NOTHING else error.static
        if static:
            reach = m.number(static) if reach is None else m.add_(reach, m.number(static))
        magnitude = m.abs_(number.high)
        kept = self._keeps_sign(number, error)
        may_cancel = number.interval.low < 0 < number.interval.high and kept is not m.always
        if reach is not None and error.absolute is not None and may_cancel and not static and error.static:
            # But where terms nearly cancel it may be more than the number, and decides the sign of its zero.
            # Where it has the sign of the exact number it loses no more than all of it: -40 exp(-3000) is -0.
            lost = m.number(error.static)
            if self.takes_zeros:
                lost = m.select_(m.equal_(magnitude, m.number(0.0)), m.number(0.0), lost)
            if kept is not None:
                lost = m.select_(kept, m.number(0.0), lost)
            reach = m.add_(reach, lost)
        relative = m.number(error.relative + (ROUNDED_TWICE if m.extended else ROUNDED))
        return m.mul_(magnitude, relative) if reach is None else m.fma_(magnitude, relative, reach)

    def _zero_by_operands(self, root: Expression) -> Expression | None:
        """Where a number is exactly zero because operands are, so that it has the sign that IEEE 754 gives it; None for nowhere.

        Arrays have many zeros, and enclosures take long.
        """
        found: dict[Expression, Expression | None] = {}
        for current in walk(root, operands=_numbers_of):
            found[current] = self._zero_by_numbers(current, [found[n] for n in _numbers_of(current)])
        return found[root]

    def _zero_by_numbers(self, root: Expression, are_zero: Sequence[Expression | None]) -> Expression | None:
        """The same of a node, given where its operands are such zeros."""
        m, operation = self.m, root.operation
        if operation in (ops.INPUT, ops.PARAMETER, ops.CONSTANT):
            number = self.number(root)
            return m.equal_(number.high, m.number(0.0)) if number.interval.smallest_magnitude == 0 else None
        if operation is ops.SELECT:
            return chosen(self.truth(root.operands[0]), *are_zero)
        if operation is ops.MULTIPLY or operation is ops.DIVIDE:
            (a, b), (of_a, of_b) = root.operands, are_zero
            found = self._zero_beside(of_a, b, of_b)
            return found if operation is ops.DIVIDE else either(found, self._zero_beside(of_b, a, of_a))
        has_zero = operation.at_zero == 0 or operation in ZEROS_OF_ZEROS
        if not has_zero or not are_zero or None in are_zero:
            return None
        return reduce(both, (z for z in are_zero if z is not None))

    def _zero_beside(
        self, is_zero: Expression | None, other: Expression, other_is_zero: Expression | None
    ) -> Expression | None:
        """Where a factor is such a zero, and the other one has a known sign. Where signs are followed, the product is in doubt else."""
        if is_zero is None or self.follows_signs:
            return is_zero
        return both(is_zero, either(self._has_sign(other), other_is_zero))

    def _has_sign(self, root: Expression) -> Expression | None:
        """Where a number has the sign of the exact one; None for nowhere."""
        return self.m.keeps_sign(self.number(root))

    def _keeps_sign(self, number: DoubleWord, error: Bound) -> Expression | None:
        return self.m.keeps_sign(number) if self.m.follows_exactness else error.keeps_sign

    def _ends(self, number: DoubleWord, error: Bound) -> list[DoubleWord]:
        """The smallest and the largest number that the exact one may be."""
        m = self.m
        if not m.extended and error.absolute is None and error.static <= NEXT_TO_NOTHING:
            relative = error.relative + ROUNDED
            return [DoubleWord(m.mul_(number.high, m.number(1 + side * relative))) for side in (-1, 1)]
        reach, kept = self._reach(number, error), self._keeps_sign(number, error)
        if error.absolute is not None:
            reach = m.mul_(reach, m.number(SLACK_OF_RUNNING))
        if error.absolute is not None or (m.extended and not m.is_bounded(number.interval)):
            # Next to an infinite operand, or behind a division by zero, the bound is infinite or NaN, and an infinite result
            # is the right one.
            reach = m.select_(m.less_(reach, m.number(UNREACHABLE)), reach, m.number(UNREACHABLE))
        if not m.extended:
            return [DoubleWord(m.sub_(number.high, reach)), DoubleWord(m.add_(number.high, reach))]
        parts = (m.sub_(m.low_part(number), reach), m.add_(m.low_part(number), reach))
        ends = [m.two_sum(number.high, part) for part in parts]
        if error.beyond is not None:
            ends = [self._moved(end, error.beyond, side) for end, side in zip(ends, (1, -1), strict=True)]
            if m.follows_zeros:  # a zero that nothing is added to may have the wrong sign, of both
                ends = [self._moved(end, error.beyond, side) for end, side in zip(ends, (-1, 1), strict=True)]
        if kept is not None:  # no end lies beyond zero, and a zero has the sign of the number
            sign, zero = (m.make(ops.COPY_SIGN, m.number(size), number.high) for size in (1.0, 0.0))
            for side, (end, low) in enumerate(ends):
                crosses = both(kept, m.less_equal_(m.mul_(end, sign), m.number(0.0)))
                ends[side] = m.select_(crosses, zero, end), m.select_(crosses, zero, low)
        return [DoubleWord(*end, interval=number.interval, is_normal=True) for end in ends]

    def beyond(self, number: DoubleWord, error: Bound) -> DoubleWord:
        """The number, clamped to the side of ``beyond.value`` on which the true result is known to lie."""
        if error.beyond is None or not self.m.extended:
            return number
        m = self.m
        pair = number.high, m.number(0.0) if number.low is None else m.low_part(number)
        for side in (1, -1):
            pair = self._moved(pair, error.beyond, side)
        return replace(number, high=pair[0], low=pair[1], is_normal=True)

    def _moved(self, pair: tuple[Expression, Expression], beyond: Beyond, side: int) -> tuple[Expression, Expression]:
        """The number, moved above (side 1) or below (-1) an exact one if it lies on the other side.

        Next to it lies what has a second word that is next to nothing.
        """
        m = self.m
        zero, little = m.number(0.0), m.number(math.copysign(self.little, side))
        beside_zero = m.number(math.copysign(self.beside_zero, side))
        if beyond.high is zero and beyond.low is zero:
            nearest = beside_zero, zero
        else:
            is_zero, has_low = m.equal_(beyond.high, zero), m.not_(m.equal_(beyond.low, zero))
            first, second = self._next_to(beyond.high, beyond.low, side)
            high = m.select_(is_zero, beside_zero, first)
            nearest = high, m.select_(has_low, second, m.select_(is_zero, zero, little))
        lower, upper = (pair, nearest) if side > 0 else (nearest, pair)
        is_lower = (m.less_ if self.beside_zero else m.less_equal_)(
            lower[1], upper[1]
        )  # a zero may have the other sign
        tied = both(m.equal_(lower[0], upper[0]), is_lower)
        is_wrong = either(m.less_(lower[0], upper[0]), tied)
        is_beyond = beyond.is_above if side > 0 else beyond.is_below
        if beyond.high.operation is not ops.CONSTANT:  # nothing lies beside an infinity, whose bits plus one are NaN's
            is_beyond = both(m.is_finite_(beyond.high), is_beyond)
        moves = both(is_beyond, is_wrong)
        return m.select_(moves, nearest[0], pair[0]), m.select_(moves, nearest[1], pair[1])

    def _next_to(self, high: Expression, low: Expression, side: int) -> tuple[Expression, Expression]:
        """A number next to one of two words: that one, where it is no tie."""
        return high, low

    # ---- integers

    def _tested_integer(self, root: Expression, output: ElementType) -> tuple[Expression, Expression | None]:
        m = self.m
        number = m.renormalised(m.unscaled(self.number(root)))
        number = m.doubted(number, number.error.vast)
        if self._is_whole(root) and number.error.is_relative and number.error.relative < FINER_THAN_INTEGERS:
            # For numbers within the range of integers the error is less than a half, so the nearest integer is the value.
            low = None if number.low is None else m.make(ops.ROUND_EVEN, number.low)
            high = m.make(ops.ROUND_EVEN, number.high)
            number = replace(number, high=high, low=low, error=Bound(doubt=number.error.doubt))
        result = self._cut(self.beyond(number, number.error), output)
        if not number.error.is_known or number.error.is_exact:
            return result, self._open(number.error, None) if number.error.is_known else m.always
        low, high = (self._cut(end, output) for end in self._ends(number, number.error))
        return result, self._open(number.error, differ(low, high))

    def _is_whole(self, root: Expression) -> bool:
        """Whether this is an integer by its formula."""
        for current in walk(root, operands=_numbers_of):
            if current.operation == ops.INPUT:
                if self.inputs[current.attribute].is_float:
                    return False
            elif current.operation == ops.CONSTANT:
                if not isinstance(current.attribute, Fraction) or current.attribute.denominator != 1:
                    return False
            elif current.operation not in WHOLE_OF_WHOLE:
                return False
        return True

    def _cut(self, number: DoubleWord, output: ElementType) -> Expression:
        """A number as an integer, cut off from both words."""
        m = self.m
        if number.low is None or output.bits == 64:
            return to_integer(m, number, output)
        # Rounded to odd, what is no integer does not become one: of 53 bits at least 20 lie behind the point.
        odd = to_odd(m, number.high, m.low_part(number))
        return to_integer(m, DoubleWord(odd, interval=number.interval), output)

    # ---- numbers

    def _number(self, root: Expression) -> DoubleWord:
        is_ratio = root.operation in (ops.MULTIPLY, ops.DIVIDE)
        number = super()._number(root)
        number = self._perhaps_exact(root, number) if self.m.is_long and is_ratio else number
        return self._with_sign_of_zero(root, number)

    def _with_sign_of_zero(self, root: Expression, number: DoubleWord) -> DoubleWord:
        """The number, in doubt where it is a zero whose sign nobody knows, and a result may have that."""
        has_two = root.operation in (ops.MULTIPLY, ops.DIVIDE, LARGER, SMALLER) or is_extreme(root)
        if root not in self.of_zeros or not has_two:
            return number
        operands = (self.numbers[operand] for operand in root.operands[-2:])
        return self.m.doubted(number, self.m.zero_of_unknown_sign(root.operation, number, *operands))

    def _perhaps_exact(self, root: Expression, number: DoubleWord) -> DoubleWord:
        """A product or quotient; if it is ``n x / d``, with whole numbers of few bits, as such a quotient.

        The dividend may be a multiple of d, and then the result may be a tie: one of RReLU in seventy, whose slope is
        11/48.
        """
        ratio = _ratio(root)
        if ratio is None:
            return number
        other, (numerator, denominator) = ratio
        product = self.m.multiply(self.number(other), self.m.wide(Fraction(numerator)))
        if number.exponent is None:
            product = self.m.unscaled(product)
        return (
            self.m.as_quotient(number, product, float(denominator)) if number.exponent is product.exponent else number
        )


def _ratio(root: Expression) -> tuple[Expression, tuple[int, int]] | None:
    """The factor of a fraction of few bits that no number of two words is, and that fraction."""
    first, second = root.operands
    for other, constant in ((first, second), (second, first)):
        if constant.operation is ops.CONSTANT and isinstance(constant.attribute, Fraction) and constant.attribute:
            value = 1 / constant.attribute if root.operation is ops.DIVIDE else constant.attribute
            numerator, denominator = value.as_integer_ratio()
            is_short = max(numerator.bit_length(), denominator.bit_length()) <= 24
            return (other, (numerator, denominator)) if is_short and denominator & (denominator - 1) else None
        if root.operation is ops.DIVIDE:
            break
    return None


def _is_normal(number: DoubleWord) -> bool:
    """Whether a number, known but for a relative error, is zero or such that its float32 is normal and finite."""
    error = number.error
    return (
        error.absolute is None
        and error.static <= NEXT_TO_NOTHING
        and error.relative < LARGEST_NEAR_TIE
        and NORMAL[0] <= error.least
        and number.interval.within(-NORMAL[1], NORMAL[1])
    )


def _unsigned(value: int) -> Expression:
    return node(ops.CONSTANT, (), value, Format.U32)


def agree(a: Expression, b: Expression) -> Expression:
    """Whether two results have the same bits."""
    if a.format.is_float:
        form = {64: Format.I64, 32: Format.I32, 16: Format.I16}[a.format.bits]
        a, b = (node(ops.BITCAST, (n,), None, form) for n in (a, b))
    return node(ops.EQUAL, (a, b), None, Format.BIT)


def differ(a: Expression, b: Expression) -> Expression:
    """Whether two results have different bits. There is one NaN, whose bits both ends have."""
    return opposite(agree(a, b))
