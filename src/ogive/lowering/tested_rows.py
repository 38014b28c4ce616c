"""Formulas over rows with a rounding test: what rows are reduced to carries bounds as elements do.

Elements are computed uncompensated, or in double-word numbers by the repair; what is computed once a row, always in
double-word numbers. A sum keeps what rounding loses of it. Its own error follows from the sum of what
was lost (``row_lost``): nothing where all partial sums were exact, as of data on a grid, whose sums may lie on ties. In
inexact numbers of one sign it is next to nothing beside the sum. Errors of the elements are summed as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import cast

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import EXP
from ogive.graph.expression import (
    EXTREMES,
    REDUCTIONS,
    ROW_NUMBERS,
    Expression,
    Format,
    Term,
    depends_on_elements,
    formula_node,
    in_format,
    lift,
    node,
    walk,
)
from ogive.lowering.numerics import ties
from ogive.lowering.numerics.bound import EXACT, Beyond, Bound
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.precisions import CORRECTED, NEXT_TO_NOTHING
from ogive.lowering.numerics.rounded_results import upper_half
from ogive.lowering.numerics.truths import both, either, except_where, nowhere
from ogive.lowering.program import Reduction, Stage, Summation, stored_operand
from ogive.lowering.row_lowering import RowLowering
from ogive.lowering.row_numbers import (
    LENGTH,
    MOST_OF_SINGLE,
    OPEN_TRUTH,
    SUM_OF_EXPONENTIALS,
    exponential,
    factors_of_vanishing,
    first_position,
    makes_infinities,
    multiple,
    multiple_beside_extreme,
    product_of_row,
    reduced_operands,
    row_exponential,
    square_around_mean,
    threshold_of_row,
    weighted_exponential,
    within_row,
)
from ogive.lowering.tested import ROUNDED, SLACK_OF_RUNNING, TestedReals

#: The sum of the losses of a lane's partial sums: its own sum is wrong by 2**-53 of itself for each of 2**11 elements of
#: the lane in a segment, and for the joints of lanes and segments.
SUM_OF_LOST = 2.0**-40

#: The error of an uncompensated sum, relative to that of the magnitudes: as many additions of 2**-53, and more for
#: segments that are combined in two words, of which one is taken.
UNCOMPENSATED_SUM = 2.0**-41

#: The error of a sum of numbers of one sign, of up to 2**40 of them.
SUM_OF_ONE_SIGN = 2.0**-66

#: The same of shorter rows: each element, and each of some joints, loses 2**-53, and the sum of what is lost is wrong by
#: `SUM_OF_LOST`.
SUM_OF_ONE_SIGN_EACH, JOINTS = 2.0**-53 * SUM_OF_LOST, 64.0

#: The error of the sum of sums of higher and of lower words.
SUM_OF_WORDS = 2.0**-98

#: The same of groups of up to 2**6 blocks, whose sums lose 2**-53 in each of six steps.
SUM_OF_GROUPS = 2.0**-50

#: The error of one multiplication of a product, and more: in float64, and in double-word numbers.
PRODUCT_OF_ONE_WORD, PRODUCT_OF_TWO_WORDS = 2.0**-52, 2.0**-99

#: As large a share of the weights is added to the magnitudes of weighted exponentials: next to nothing.
SHARE_OF_WEIGHTS = 2.0**-700

#: Below all exponents of exponentials.
BELOW_ALL = 2.0**800

#: The exponent of the largest product that is used further, in float64.
LARGEST_OF_PRODUCTS = 900.0

#: `exponential` of an exact element and the largest: the argument is reduced with an error of 2**-52, and the polynomial
#: and its evaluation have one of 2**-51.
EXPONENTIAL = 2.0**-49

#: The loss of the smallest exponentials, of subnormal float64.
UNDERFLOW = 2.0**-1070

#: The smallest number of float64.
SMALLEST = 2.0**-1074

#: Thresholds are computed of numbers down to this.
LONGEST_STEP = 2.0**20

#: The threshold of squares is no less: of elements that are all alike it is the root of their number's reciprocal.
LEAST_THRESHOLD = 2.0**-32

#: The number of operands of which it is asked whether the largest elements have the same ones.
MOST_COMPARED = 2

#: The longest row.
MOST_ELEMENTS = 2.0**62

#: The error of numbers of a row that are not negative, as a share of themselves. In rows of 1,024 elements it leaves one
#: in ten thousand undecided.
SMALL_SHARE = 2.0**-48

#: The rest of a division of smaller numbers may underflow.
SMALLEST_DIVIDEND = 2.0**-900

#: Elements are divided by no smaller number.
SMALLEST_DIVISOR = 2.0**-300

#: The part that sums of bounds lack by their own rounding.
ROOM = 1 + 2.0**-20

#: The same where they are added up in float32: 2**-24 for each of 2**10 elements of a lane, and for the joints of lanes.
ROOM_OF_ROUGH = 1 + 2.0**-12


class UnboundedError(Exception):
    """A number that a formula reduces rows to has no bound."""


class TestedRows(RowLowering, TestedReals):
    """Reals over rows in float64, plain or with corrections, whose results come with a rounding test."""

    follows_signs = False
    #: Whether enclosures are asked in rows that have an infinity, too.
    decides_infinities = False
    #: Numbers with larger exponents are infinite or zero in the results' types, of products that are results.
    beyond_range = 300.0
    #: Whether such products keep their powers of two apart.
    keeps_powers = False

    def __init__(
        self, arithmetic: Bounded, inputs: tuple[ElementType, ...], parameters: Format, *, reduces: bool = False
    ) -> None:
        super().__init__(arithmetic, inputs, parameters)
        self.is_sharp = True  # rows are repaired as a whole
        is_alone = arithmetic.extended or reduces
        self.rows = self if is_alone else TestedRows(Bounded(CORRECTED), inputs, parameters)
        """The stages that compute the numbers that a row has one of."""
        if self.rows is not self:
            arithmetic.doubts = self.rows.m.doubts
        self.sums: dict[Expression, DoubleWord] = {}
        """The numbers that rows are reduced to, in the arithmetic of `rows`."""
        self.rows.sums = self.sums
        self.used: set[Expression] = set()
        """The nodes that are an operand of something."""
        self.equals: dict[Expression, Expression] = {}
        """The largest or smallest number of a row -> which elements are known to equal it."""
        self.sizes: dict[Expression, Expression] = {}
        """The summed node -> about the sum of its magnitudes."""
        self.sums_of_bounds: dict[Expression, Expression] = {}
        """The summed term of a bound -> its sum."""
        self.differences: int | None = None
        """The reduction that counts NaN among a row's operands, and is NaN beside an infinity of which enclosures are not asked."""
        self.reduced: frozenset[int] = frozenset()
        """The operands that reductions are of."""
        self.factors: frozenset[int] = frozenset()
        """Those whose infinities may be multiplied by what vanishes: then results that are NaN are undecided."""
        self.own: frozenset[int] = frozenset()
        """The other operands: NaN of one is of its element alone."""

    @property
    def of_rows(self) -> TestedRows:
        return self.rows

    # ---- stages

    def reduce(self, roots: Sequence[Expression], first_scratch: int) -> tuple[Stage, ...]:
        self.used = {operand for current in walk(*roots) for operand in current.operands}
        self.decides_infinities = self.decides_infinities or makes_infinities(roots, MOST_OF_SINGLE)
        self.reduced = reduced_operands(roots)
        if any(row_exponential(n) is not None for n in walk(*roots)):
            self.factors = factors_of_vanishing(roots, MOST_OF_SINGLE)
        leaves = (n for n in walk(*roots, operands=within_row) if n.operation is ops.INPUT)
        self.own = frozenset(n.attribute for n in leaves) - self.reduced
        return super().reduce(roots, first_scratch)

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        """Only what would take long to compute again."""
        summed = root.operands[0]
        value = self.numbers[summed]
        is_long = row_exponential(summed) is not None and value.low is None and value.error.absolute is None
        if self.m.extended or not is_long:
            return ()
        self.numbers[summed] = replace(value, high=node(ops.INPUT, (), place, value.high.format))
        return (value.high,)

    def _new(self, kind: str, value: Expression, summation: Summation = Summation.IN_FLOAT64) -> int:
        self.made.append(Reduction(kind, value, summation))
        return len(self.made) - 1

    def _found(self, number: int, part: int = 0) -> Expression:
        return node(ops.ROW_VALUE, (), (number, part), Format.F64)

    def _reduce_to(self, root: Expression, *, is_kept: bool) -> None:
        """The reductions that make a number of a row, and its bound."""
        if self.m.follows_zeros and self.differences is None:
            self._look_at_operands()
        self.rows.row_values[root] = self.row_values[root] = len(self.made)
        operand = root.operands[0]
        parts = multiple(operand) if root.operation in EXTREMES else None
        if parts is not None:
            self._extreme_of_multiples(root, *parts)
            return
        if (
            root.operation in EXTREMES
            and operand.operation == ops.COPY_SIGN
            and self._extreme_of_signs(root, *operand.operands)
        ):
            return
        if root.operation in (ops.ROW_FIRST, ops.ROW_INDEX):
            truth = self.truth(operand)
            self.made.append(first_position(truth))
            found = self._found(len(self.made) - 1)
            error = Bound(doubt=self._any(self.m.doubt_of(truth)), bits=53, least=1.0, largest=MOST_ELEMENTS)
            self.sums[root] = DoubleWord(found, error=error)
            return
        value = self._reduced(self.number(operand))
        if not value.error.is_known:
            raise UnboundedError
        if root.operation == ops.ROW_PRODUCT:
            self.sums[root] = self._product(value, is_used=root in self.used)
        elif root.operation in EXTREMES:
            self._extreme(root, value)
        elif not self.m.extended and (parts_of_square := square_around_mean(operand)) is not None:
            self.sums[root] = self._sum_around_mean(operand, *parts_of_square)
        else:
            self._add_up(root, operand, value)

    def _add_up(self, root: Expression, operand: Expression, value: DoubleWord) -> None:
        """The sum of a row."""
        self.sums[root] = self._sum(operand, value)
        self._look_at_weights(root, value)

    def _reduced(self, number: DoubleWord) -> DoubleWord:
        """A number of elements as it is reduced, with its power of two multiplied in."""
        return self.m.unscaled(number)

    def _extreme_of_multiples(self, root: Expression, x: Expression, made: Callable[[Expression], Expression]) -> None:
        """The multiple of the largest or smallest number that elements are multiples of."""
        extreme = node(root.operation, (x,), None, Format.NUMBER)
        if extreme not in self.row_values:
            self._reduce_to(extreme, is_kept=False)

        def finish() -> None:
            self.sums[root] = self.rows.number(made(extreme))

        if extreme in self.sums:
            finish()
        else:
            self.later.append(finish)

    def _extreme_of_signs(self, root: Expression, size: Expression, signed: Expression) -> bool:
        """Make the largest or smallest of 1 and -1, with the signs of exact numbers, if it is one: by their bits, as integers."""
        value = self.number(signed)
        if size is not lift(1) or value.low is not None or not value.error.is_exact:
            return False
        rows, single = self.rows.m, self.m.single_of(value.high)
        word = value.high if single is None else single
        bits = node(ops.BITCAST, (word,), None, Format.I32 if word.format is Format.F32 else Format.I64)
        kind = "whole_max" if root.operation == ops.ROW_MAX else "whole_min"
        found = node(ops.BITCAST, (self._found(self._new(kind, bits)),), None, Format.I64)
        is_negative = rows.less_(in_format(found, Format.F64), rows.number(0.0))
        sign = rows.select_(is_negative, rows.number(-1.0), rows.number(1.0))
        self.sums[root] = DoubleWord(
            sign, interval=Interval(-1.0, 1.0), error=replace(EXACT, bits=1, least=1.0, largest=1.0)
        )
        return True

    def _look_at_operands(self) -> None:
        """Add up 1 of NaN, and of the other operands that rows are reduced of what the infinite ones tell: NaN of factors, and of others
        an infinity where there are factors.
        """
        terms = [self._summed_difference(leaf) for leaf in self._floats(self.reduced - self.factors)]
        terms += [self._summed_difference(leaf, is_factor=True) for leaf in self._floats(self.reduced & self.factors)]
        if terms:
            longest = max((term.format for term in terms), key=lambda form: form.bits)
            terms = [in_format(t, longest) for t in terms]
            total = reduce(lambda a, b: node(ops.ADD, (a, b), None, longest), terms)
            self.differences = self._new("row_sum", total, Summation.UNCOMPENSATED)

    def _floats(self, among: frozenset[int]) -> Iterator[Expression]:
        """Those operands that are of floating-point types, as float32 or float64."""
        for number, kind in enumerate(self.inputs):
            if kind.is_float and number in among:
                leaf = stored_operand(node(ops.INPUT, (), number, Format.NUMBER), self.inputs)
                yield leaf if leaf.format.bits >= 32 else in_format(leaf, Format.F32)

    def _summed_difference(self, operand: Expression, *, is_factor: bool = False) -> Expression:
        form, (zero, one) = operand.format, (node(ops.CONSTANT, (), c, operand.format) for c in (0.0, 1.0))
        difference = zero if self.decides_infinities else node(ops.SUBTRACT, (operand, operand), None, form)
        if self.factors and not is_factor and not self.decides_infinities:
            size, infinity = node(ops.ABSOLUTE, (operand,), None, form), node(ops.CONSTANT, (), math.inf, form)
            is_finite = node(ops.LESS, (size, infinity), None, Format.BIT)
            difference = node(ops.SELECT, (is_finite, zero, infinity), None, form)
        is_number = node(ops.EQUAL, (operand, operand), None, Format.BIT)
        return node(ops.SELECT, (is_number, difference, one), None, form)

    def asked(self, undecided: Expression | None, results: Sequence[Expression]) -> Expression | None:
        """Where enclosures are asked: beside NaN of results that are numbers, and in rows with an infinity if formulas make others."""
        floats = [r if r.format.bits >= 32 else in_format(r, Format.F32) for r in results if r.format.is_float]
        are_numbers = [node(ops.EQUAL, (r, r), None, Format.BIT) for r in floats]
        rows, any_nan = self.rows.m, None
        if self.factors and floats:
            any_nan = rows.not_(reduce(both, are_numbers[1:], are_numbers[0]))
        undecided = either(undecided, any_nan)
        if undecided is None or self.differences is None:
            return undecided
        found = self._found(self.differences)
        own = [node(ops.EQUAL, (x, x), None, Format.BIT) for x in self._floats(self.own)]
        is_number, of_factor = rows.equal_(found, found), None
        if self.factors:
            is_number, of_factor = rows.is_finite_(found), except_where(any_nan, is_number)
        has_none = reduce(both, own, either(rows.equal_(found, rows.number(0.0)), of_factor))
        beside_nan = reduce(both, are_numbers, is_number) if floats else None
        return both(undecided, either(has_none, beside_nan))

    def _extreme(self, root: Expression, value: DoubleWord) -> None:
        """The largest or smallest of numbers. A function that is 1-Lipschitz is wrong by no more than what is chosen among."""
        error = value.error
        if value.low is None and error.is_relative:
            single = self.m.single_of(value.high)
            found = self._found(self._new(root.operation, value.high if single is None else single))
            error = replace(error, relative=error.relative * ROOM, doubt=self._any(error.doubt))
            self.sums[root] = DoubleWord(found, interval=value.interval, error=error)
        elif self.m.extended:
            self._extreme_of_two_words(root, value)
        else:
            self.sums[root] = self._mirrored(root, self._largest_of_one_word(self._mirrored(root, value)))

    def _mirrored(self, root: Expression, value: DoubleWord) -> DoubleWord:
        """The smallest number is the negative of the largest of the negatives."""
        return value if root.operation == ops.ROW_MAX else self.m.negate(value)

    def _largest_of_one_word(self, value: DoubleWord) -> DoubleWord:
        """For bounds that run beside the numbers the ends are compared: beyond both lies no element."""
        m, error, rows = self.m, value.error, self.rows.m
        found, absolute = self._largest(value.high), None
        if error.absolute is not None:
            is_number = m.is_finite_(value.high)
            reach = m.mul_(error.absolute, m.number(2.0))
            above, below = (
                self._largest(m.select_(is_number, end, value.high))
                for end in (m.add_(value.high, reach), m.sub_(value.high, reach))
            )
            higher, lower = rows.sub_(above, found), rows.sub_(found, below)
            wider = rows.select_(rows.less_(higher, lower), lower, higher)
            absolute = rows.fma_(rows.abs_(found), rows.number(2.0**-50), rows.mul_(wider, rows.number(ROOM)))
        return DoubleWord(found, interval=value.interval, error=_of_extreme(error, absolute, self._any(error.doubt)))

    def _summed(self, value: Expression, how: Summation = Summation.IN_FLOAT64) -> Expression:
        return self._found(self._new("row_sum", value, how))

    def _largest(self, value: Expression) -> Expression:
        return self._found(self._new("row_max", value))

    def _extreme_of_two_words(self, root: Expression, given: DoubleWord) -> None:
        """The largest higher word is found first. One stage later come the largest lower word beside it, and the bound.

        An element may be the largest one by the exact numbers if no other one is clearly larger. If all such elements
        are of the same operands, they equal the largest one, and differences from it are zero.
        """
        m, rows = self.m, self.rows.m
        value = m.renormalised(self._mirrored(root, given))
        error, high = value.error, value.high
        most = self._largest(high)
        total = m.total(value)
        is_number = m.is_finite_(high)
        size = m.mul_(m.abs_(high), m.number(2.0**-50))
        size = size if total is None else m.fma_(total, m.number(2.0), size)
        sure = self._largest(m.select_(is_number, m.sub_(high, size), high))
        doubt = self._any(error.doubt)

        def later() -> None:
            low = m.select_(m.equal_(high, most), m.low_part(value), m.number(-math.inf))
            rest = self._largest(low)
            rest = rows.select_(rows.is_finite_(rest), rest, rows.number(0.0))
            may_be = both(is_number, m.not_(m.less_(m.add_(high, size), sure)))
            absolute = None
            if error.absolute is not None:
                among = self._largest(m.select_(may_be, error.absolute, m.number(0.0)))
                absolute = rows.mul_(among, rows.number(ROOM))
            bound = _of_extreme(error, absolute, doubt)
            found = DoubleWord(most, rest, interval=value.interval, is_normal=True, error=bound)
            self.sums[root] = self._mirrored(root, found)
            alike = self._are_alike(root.operands[0], may_be)
            if alike is not None:
                self.equals[root] = both(may_be, both(alike, rows.equal_(most, most)))  # none is NaN

        self.later.append(later)

    def _are_alike(self, root: Expression, chosen: Expression) -> Expression | None:
        """Whether the chosen elements have the same operands; None where that is not asked."""
        leaves = list(walk(root, operands=within_row))
        inputs = [leaf for leaf in leaves if leaf.operation == ops.INPUT]
        if len(inputs) > MOST_COMPARED or any(leaf.operation == ops.ROW_FIRST for leaf in leaves):
            return None
        m, rows, alike = self.m, self.rows.m, None
        for leaf in inputs:
            if leaf.format is not Format.NUMBER or self.number(leaf).low is not None:
                return None
            operand = self.number(leaf).high
            of_zero = m.copy_sign(DoubleWord(m.number(SMALLEST)), operand).high  # zeros of both signs are not the same
            operand = m.select_(m.equal_(operand, m.number(0.0)), of_zero, operand)
            ends = (self._largest(m.select_(chosen, end, m.number(-math.inf))) for end in (operand, m.neg_(operand)))
            first, last = ends
            same = rows.equal_(first, rows.neg_(last))
            alike = same if alike is None else both(alike, same)
        return alike

    def _product(self, value: DoubleWord, *, is_used: bool) -> DoubleWord:
        """Each multiplication rounds, but of exact numbers nothing is lost if the higher word of the product is exact.

        A result that is too large or too small for its type may be any other such number. A product that is used further
        is in doubt there. The relative errors of factors add up, and so do their lower words as parts of the higher ones.
        """
        m, error = self.rows.m, value.error
        value = self.m.renormalised(value)
        single = self.m.single_of(value.high)
        factor = value.high if single is None else single
        number = self._new("row_product", factor)
        if self.m.extended:
            self._new("row_rest", factor)
        most = LARGEST_OF_PRODUCTS if is_used else self.beyond_range
        found = product_of_row(m, number, most=most, has_rest=self.m.extended)
        assert found.exponent is not None
        high, low = found.high, None
        if found.low is not None:
            high, low = m.two_sum(high, m.select_(m.is_finite_(high), found.low, m.number(0.0)))
        each = PRODUCT_OF_TWO_WORDS if self.m.extended else PRODUCT_OF_ONE_WORD
        absolute = m.mul_(m.abs_(high), m.mul_(LENGTH, m.number(each)))
        if self.m.extended:
            is_exact = m.equal_(self._found(number + 1, 1), m.number(0.0))
            absolute = m.select_(is_exact, m.number(0.0), absolute)
        doubt = either(self._any(error.doubt), m.not_(m.is_finite_(high)))
        if is_used:
            in_range = m.less_(m.abs_(found.exponent), m.number(most))
            is_zero = m.equal_(found.high, m.number(0.0))
            doubt = either(doubt, m.not_(either(in_range, is_zero)))
        product = DoubleWord(high, low, low_is_number=False, error=Bound(0.0, 0.0, absolute, doubt, None, 0.0, 4.0))
        if value.low is not None:
            product = self._with_parts(product, value.high, self.m.low_part(value), are_words=True)
        errors = self.m.total(value)
        if errors is not None:
            product = self._with_parts(product, value.high, errors, are_words=False)
        if product.high is not found.high:  # a zero that something is added to would lose its sign
            is_zero = m.equal_(found.high, m.number(0.0))
            product = replace(product, high=m.select_(is_zero, found.high, product.high))
        return self._times_power(product, found.exponent, most, is_used=is_used)

    def _times_power(self, product: DoubleWord, exponent: Expression, most: float, *, is_used: bool) -> DoubleWord:
        """A product with its power of two: results of float64 keep that apart until they are rounded."""
        m = self.rows.m
        largest = 2.0 ** min(most + 1, 1000.0)
        error = replace(product.error, largest=largest)
        found = replace(product, exponent=exponent, mantissa=Interval(-4.0, 4.0), error=error)
        if not is_used and self.keeps_powers:
            return found
        absolute = None if error.absolute is None else m.scale_(error.absolute, exponent)
        low = None if product.low is None else m.scale_(product.low, exponent)
        return replace(product, high=m.scale_(product.high, exponent), low=low, error=replace(error, absolute=absolute))

    def _with_parts(self, product: DoubleWord, high: Expression, part: Expression, *, are_words: bool) -> DoubleWord:
        """The product of factors that have lower words, or may be wrong by so much.

        With d = part / high the product of all 1 + d is 1 + sum(d), but for sum(abs(d))**2 where that is small.
        """
        m, rows = self.m, self.rows.m
        share = m.select_(m.equal_(part, m.number(0.0)), part, m.div_(part, high))
        share = m.select_(m.is_finite_(high), share, m.number(0.0))  # the product is infinite, or NaN, whatever that is
        size = m.add_(m.abs_(share), m.select_(m.equal_(part, m.number(0.0)), part, m.number(UNDERFLOW)))
        sizes = rows.mul_(self._total(m.abs_(size))[0], rows.number(ROOM))
        squared = rows.mul_(sizes, sizes)
        error = product.error
        if are_words:
            lost = rows.fma_(sizes, rows.number(2.0**-50), squared)
            shares = DoubleWord(*self._total(share), low_is_number=False)
            moved = Arithmetic.multiply(rows, replace(product, error=EXACT), replace(shares, error=EXACT))
            total = Arithmetic.add(rows, replace(product, error=EXACT), moved)
            stays = either(rows.equal_(sizes, rows.number(0.0)), rows.not_(rows.is_finite_(product.high)))
            assert stays is not None
            words = zip((product.high, rows.low_part(product)), (total.high, rows.low_part(total)), strict=True)
            high, low = (rows.select_(stays, a, b) for a, b in words)
            product = DoubleWord(high, low, low_is_number=False)
        else:
            lost = rows.add_(sizes, squared)
        doubt = either(error.doubt, rows.not_(rows.less_(sizes, rows.number(2.0**-8))))
        reach = rows.mul_(rows.mul_(rows.abs_(product.high), lost), rows.number(1 + 2.0**-4))
        absolute = rows.fma_(self._known(error.absolute), rows.number(1 + 2.0**-4), reach)
        return replace(product, error=replace(error, absolute=absolute, doubt=doubt))

    def _known(self, absolute: Expression | None) -> Expression:
        return self.rows.m.number(0.0) if absolute is None else absolute

    def _reduce_to_threshold(self, root: Expression) -> None:
        """The threshold with its bound, which is zero where sums and the quotient are exact, as ties are.

        The elements above are decided by the same comparison in the last turn and in the results.
        """
        m, rows, operand = self.m, self.rows.m, root.operands[0]
        value = m.unscaled(self.number(operand))
        error = value.error
        if not value.interval.within(-LONGEST_STEP, 0.0):
            raise UnboundedError
        first, zero = len(self.made), m.number(0.0)
        count = self._count(OPEN_TRUTH)
        one_less, absolute = self._sum_less_one(m.select_(OPEN_TRUTH, value.high, zero), error.relative)
        if value.low is not None:
            low = m.select_(OPEN_TRUTH, m.low_part(value), zero)
            lower = self._total(low)[0]
            sizes = self._total(m.abs_(low))[0]
            words = rows.two_sum(one_less[0], rows.add_(one_less[1], lower))
            lost = rows.fma_(rows.abs_(words[1]), rows.number(2.0**-50), rows.mul_(sizes, rows.number(2.0**-40)))
            is_exact = rows.equal_(sizes, rows.number(0.0))
            high, rest = (rows.select_(is_exact, a, b) for a, b in zip(one_less, words, strict=True))
            one_less = (high, rest)
            absolute = rows.add_(absolute, rows.select_(is_exact, rows.number(0.0), lost))
        # Numbers that all move by as much move the threshold by no more.
        moved = m.total(replace(value, error=replace(error, relative=0.0)))
        if moved is not None:
            most = rows.mul_(self._largest(moved), rows.number(ROOM))
            absolute = rows.fma_(count.high, most, absolute)
        if value.low is not None and m.of_doubles:  # what rounding loses of tiny words may be all of the quotient's
            is_tiny = self._any(self._is_tiny(m.low_part(value)))
            assert is_tiny is not None
            absolute = rows.fma_(count.high, rows.select_(is_tiny, rows.number(UNDERFLOW), rows.number(0.0)), absolute)
        bound = Bound(0.0, 0.0, absolute, self._any(error.doubt), None, 1.0, MOST_ELEMENTS)
        negative = Interval(-math.inf, -1.0)
        numerator = DoubleWord(*one_less, interval=negative, low_is_number=False, error=bound)
        has_some = rows.less_(rows.number(0.0), count.high)
        self.sums[root] = rows.select(has_some, self.rows._quotient(numerator, count), rows.wide(Fraction(-1)))
        threshold = self.number(root)
        truth = Arithmetic.compare(m, ops.LESS, threshold, value)
        margin = m.total(threshold)
        own = m.total(value)
        margin = own if margin is None else margin if own is None else m.add_(margin, own)
        if margin is not None:
            apart = m.less_(m.mul_(margin, m.number(1 + 2.0**-30)), self._distance(threshold, value))
            is_exact = m.equal_(margin, zero)
            m.doubts[truth] = m.not_(either(apart, is_exact))
        self.truths[threshold_of_row(root)[0]] = truth
        self._close(first, truth)

    def _reduce_to_near_threshold(self, root: Expression) -> None:
        """A number of float64, which is exact."""
        super()._reduce_to_near_threshold(root)
        self.rows.row_values[root] = self.row_values[root]
        found, error = self._found(self.row_values[root]), Bound(bits=53, least=LEAST_THRESHOLD, largest=1.0)
        self.sums[root] = DoubleWord(found, interval=Interval(-1.0, -LEAST_THRESHOLD), error=error)

    def _distance(self, a: DoubleWord, b: DoubleWord) -> Expression:
        difference = Arithmetic.add(self.m, a, self.m.negate(b))
        return self.m.abs_(difference.high)

    def _sum_less_one(self, chosen: Expression, relative: float) -> tuple[tuple[Expression, Expression], Expression]:
        """The sum of numbers that are not positive, less one, as two words; and what it may be wrong by."""
        m = self.rows.m
        if not self.m.extended:
            total = self._summed(chosen, Summation.UNCOMPENSATED)
            share = (relative + UNCOMPENSATED_SUM) * ROOM
            return m.two_sum(total, m.number(-1.0)), m.mul_(m.abs_(total), m.number(share))
        high, low = self._total(chosen, needs_lost=True)
        absolute = m.mul_(self._found(len(self.made) - 1), m.number(ROOM))
        absolute = m.fma_(m.abs_(high), m.number(relative * ROOM), absolute) if relative else absolute
        less, rest = m.two_sum(high, m.number(-1.0))
        low_is_zero = m.equal_(low, m.number(0.0))
        rest = m.add_(rest, low)
        lost = m.mul_(m.abs_(rest), m.number(2.0**-52))
        return m.two_sum(less, rest), m.add_(absolute, m.select_(low_is_zero, m.number(0.0), lost))

    def _any(self, doubt: Expression | None) -> Expression | None:
        """Whether something is in doubt in any element."""
        m = self.rows.m
        return None if doubt is None else m.less_(m.number(0.0), self._count(doubt).high)

    def _count(self, truth: Expression, *values: float) -> DoubleWord:
        """How often something is true, or, with the values 0 and 1, false."""
        ones = (node(ops.CONSTANT, (), float(value), Format.F32) for value in values or (1.0, 0.0))
        found = self._summed(node(ops.SELECT, (truth, *ones), None, Format.F32))
        error = Bound(bits=53, least=1.0, largest=MOST_ELEMENTS)
        return DoubleWord(found, interval=Interval(0.0, MOST_ELEMENTS), error=error)

    def _counted(self, root: Expression) -> DoubleWord | None:
        """How often a condition holds; None for another sum."""
        if root.operation != ops.SELECT or {n.attribute for n in root.operands[1:] if n.operation == ops.CONSTANT} != {
            0,
            1,
        }:
            return None
        truth = self.truth(root.operands[0])
        doubt = self._any(self.m.doubt_of(truth))
        found = self._count(truth, *(n.attribute for n in root.operands[1:]))
        return replace(found, error=replace(found.error, doubt=doubt))

    def _sum(self, operand: Expression, value: DoubleWord) -> DoubleWord:
        counted = self._counted(operand)
        if counted is not None:
            return counted
        m, error, interval = self.rows.m, value.error, value.interval
        has_one_sign = interval.low >= 0 or interval.high <= 0
        if not m.extended:
            return self._short_sum(operand, value, has_one_sign=has_one_sign)
        relative, absolute = 0.0, None
        exactly = self.m.are_exact(value) if self.m.follows_zeros else None
        needs_lost = self.m.is_long and (exactly is not None or error.is_exact or not has_one_sign)
        parts = self._total(value.high, needs_lost=needs_lost, in_groups=not self.m.extended)
        if needs_lost:
            lost = self._found(len(self.made) - 1)
            absolute = m.mul_(lost, m.number(ROOM))
            if exactly is not None:
                exactly = except_where(m.equal_(lost, m.number(0.0)), self._any(self._not(exactly)))
        elif has_one_sign and (self.m.follows_zeros or self.m.is_own):
            absolute = m.mul_(m.abs_(parts[0]), self._share_of_one_sign())
        elif has_one_sign:
            relative = SUM_OF_ONE_SIGN if self.m.extended else SUM_OF_GROUPS
        elif self.m.is_own:
            sizes = m.mul_(self._sizes(operand, value.high), m.number(ROOM_OF_ROUGH))
            absolute = m.mul_(sizes, self._share_of_one_sign())
        else:  # the repair tells what is exact
            absolute = m.mul_(self._sizes(operand, value.high), m.number(SUM_OF_GROUPS * ROOM_OF_ROUGH))
        lies = sums_of(operand, interval)
        total = DoubleWord(*parts, interval=lies, low_is_number=False)
        if value.low is not None:  # of at most 2**-46 of the higher part
            low = DoubleWord(*self._total(self.m.low_part(value), needs_lost=exactly is not None), low_is_number=False)
            bare = Arithmetic.add(m, total, low)
            if exactly is not None:
                lost = self._found(len(self.made) - 1)
                exactly = both(exactly, both(m.equal_(lost, m.number(0.0)), self._is_added_exactly(total, low)))
            total = replace(m.renormalised(bare), interval=total.interval)
            relative += SUM_OF_WORDS if self.m.follows_zeros else SUM_OF_ONE_SIGN
        if (value.low is not None and not has_one_sign) or (error.relative and not has_one_sign):
            sizes = self._total(self.m.abs_(value.high))[0] if self.m.extended else self._sizes(operand, value.high)
            share = error.relative * ROOM + (SUM_OF_ONE_SIGN * 2.0**-40 if value.low is not None else 0.0)
            absolute = self._plus(absolute, m.mul_(sizes, m.number(share * ROOM_OF_ROUGH)))
        elif error.relative:
            relative += error.relative * ROOM
        added_up = (lambda bound: self._total(bound)[0]) if self.m.extended else self._sum_of_bound
        unseen = 0.0 if self.m.of_doubles else NEXT_TO_NOTHING  # rows of tiny numbers: not as if all rows were of 2**62
        absolute, static = self._with_losses(absolute, error, unseen, added_up)
        doubt, largest = self._in_range(total.high, error, self._any(error.doubt), infinite := self._infinite(value))
        if infinite is not None:
            exactly = either(exactly, infinite)
            absolute = None if absolute is None else m.select_(infinite, m.number(0.0), absolute)
        least = max(error.least, lies.smallest_magnitude)
        beyond = self._beyond_zero(value)
        return replace(
            total, error=Bound(relative, static, absolute, doubt, None, least, largest, None, exactly, beyond)
        )

    def _sum_around_mean(self, operand: Expression, x: Expression, mean: Expression) -> DoubleWord:
        """The sum of squares around the mean, by that around a number c next to the mean m.

        ``sum((x - m)**2)`` is ``sum((x - c)**2) - n * (m - c)**2``. So what the mean is wrong by counts squared, and not beside
        each element: rows far from zero stay decided.
        """
        center = self.number(mean)
        assert center.low is None
        exact = replace(center, error=replace(center.error, relative=0.0, static=0.0, absolute=None))
        away = self.m.subtract(self.number(x), exact)
        found = self._sum(operand, self.m.unscaled(self.m.multiply(away, away)))
        distance = self.m.total(center)
        if distance is None:
            return found
        m = self.rows.m
        lost = m.mul_(m.mul_(distance, distance), m.mul_(LENGTH, m.number(ROOM)))
        return replace(found, error=replace(found.error, absolute=self._plus(found.error.absolute, lost)))

    def _share_of_one_sign(self) -> Expression:
        """The error of a sum of numbers of one sign, which grows with the row, as a share of it."""
        m = self.rows.m
        share = m.mul_(m.add_(LENGTH, m.number(JOINTS)), m.number(SUM_OF_ONE_SIGN_EACH))
        most = m.number(SUM_OF_ONE_SIGN)
        return m.select_(m.less_(share, most), share, most)

    def _is_added_exactly(self, a: DoubleWord, b: DoubleWord) -> Expression:
        """Whether the sum of two numbers of two words is one, because no more than one of three lower words is there."""
        m = self.rows.m
        rest = m.two_sum(a.high, b.high)[1]
        first, second, third = (m.equal_(word, m.number(0.0)) for word in (rest, m.low_part(a), m.low_part(b)))
        return either(both(first, second), both(first, third), both(second, third))

    def _look_at_weights(self, root: Expression, total: DoubleWord) -> None:
        """A sum of weighted exponentials that have underflowed is in doubt; in the repair it has the sign of a scaled sum.

        That is the sum of the same weights times exponentials beside the largest one whose weight is not zero.
        """
        parts = weighted_exponential(root.operands[0])
        if parts is None or total.interval.low >= 0 or total.interval.high <= 0:
            return
        weight, exponent = cast(tuple[Term, Term], parts)
        found, zero = self.sums[root], self.rows.m.number(0.0)
        if not self.m.extended and root.operands[0] in self.sizes:
            m = self.rows.m
            has_weights = m.less_(zero, self.sizes[root.operands[0]])
            self.sums[root] = m.doubted(found, both(m.equal_(found.high, zero), has_weights))
        if not self.m.follows_zeros:
            return
        is_zero = formula_node(ops.EQUAL, weight, lift(0))
        most = formula_node(ops.ROW_MAX, formula_node(ops.SELECT, is_zero, lift(-BELOW_ALL), exponent))
        power = formula_node(EXP, formula_node(ops.SUBTRACT, exponent, most))
        scaled = formula_node(ops.SELECT, is_zero, lift(0), formula_node(ops.MULTIPLY, weight, power))
        total_scaled = formula_node(ops.ROW_SUM, scaled)
        self._reduce_to(most, is_kept=False)

        def later() -> None:
            self._reduce_to(total_scaled, is_kept=False)
            sides = ties.signs(self.rows.m, self.sums[total_scaled])
            sure = None if (doubt := self.sums[total_scaled].error.doubt) is None else self.rows.m.not_(doubt)
            above, below = (side if sure is None else both(side, sure) for side in sides)
            self.sums[root] = replace(found, error=replace(found.error, beyond=Beyond(zero, zero, above, below)))

        self.later.append(later)

    def _not(self, truth: Expression) -> Expression | None:
        """Where something is false; None for nowhere."""
        return None if truth.operation is ops.CONSTANT and truth.attribute else self.m.not_(truth)

    def _beyond_zero(self, value: DoubleWord) -> Beyond | None:
        """The sum of numbers of one sign lies beyond zero where one of them does, however much they have underflowed."""
        low, high = value.interval.low, value.interval.high
        if not self.m.follows_zeros or value.error.is_exact or not (low >= 0 or high <= 0):
            return None
        zero = self.rows.m.number(0.0)
        if low >= 0:
            return Beyond(zero, zero, self._some(ties.signs(self.m, value)[0]), nowhere())
        return Beyond(zero, zero, nowhere(), self._some(ties.signs(self.m, value)[1]))

    def _some(self, truth: Expression) -> Expression:
        """Whether something is true of any element."""
        found = self._any(truth)
        assert found is not None
        return found

    def _short_sum(self, operand: Expression, value: DoubleWord, *, has_one_sign: bool) -> DoubleWord:
        """A sum for one test a row: uncompensated. The repair computes few rows again."""
        m, error = self.m, value.error
        single = m.single_of(value.high)  # of which float64 loses little
        how = Summation.UNCOMPENSATED if single is None else Summation.IN_FLOAT64
        total = self._summed(value.high if single is None else single, how)
        relative, absolute = error.relative * ROOM + UNCOMPENSATED_SUM, None
        if not has_one_sign:
            found = self._sizes(operand, value.high)
            relative, absolute = 0.0, m.mul_(found, m.number(relative * ROOM_OF_ROUGH))
        absolute, static = self._with_losses(absolute, error, NEXT_TO_NOTHING, self._sum_of_bound)
        doubt, largest = self._in_range(total, error, self._any(error.doubt))
        return DoubleWord(
            total,
            interval=sums_of(operand, value.interval),
            error=Bound(relative, static, absolute, doubt, None, error.least, largest),
        )

    def _with_losses(
        self, absolute: Expression | None, error: Bound, unseen: float, added_up: Callable[[Expression], Expression]
    ) -> tuple[Expression | None, float]:
        """The running and the static part of a sum's bound, with what its elements' bounds add to the running one.

        A static part of no more than ``unseen`` stays static. ``added_up`` makes the sum of a running bound.
        """
        m, static = self.rows.m, error.static * MOST_ELEMENTS
        if static > unseen:
            absolute, static = self._plus(absolute, m.mul_(LENGTH, m.number(error.static * ROOM))), 0.0
        if error.absolute is not None:
            absolute = self._plus(absolute, m.mul_(added_up(error.absolute), m.number(ROOM_OF_ROUGH)))
        return absolute, static

    def _in_range(
        self, total: Expression, error: Bound, doubt: Expression | None, infinite: Expression | None = None
    ) -> tuple[Expression | None, float]:
        """The doubt of a sum, which may overflow, and its largest magnitude. ``infinite``: where an element is infinite."""
        m, largest = self.rows.m, error.largest * MOST_ELEMENTS
        if not largest < m.safe:
            doubt = either(doubt, except_where(m.not_(m.less_(m.abs_(total), m.number(m.safe))), infinite))
        return doubt, largest

    def _infinite(self, value: DoubleWord) -> Expression | None:
        """Whether an element of a sum is infinite by its formula; None for never, or where that is not known."""
        truth = self.m.is_infinity(value)
        return None if truth is None else self._any(truth)

    def _sum_of_bound(self, bound: Expression) -> Expression:
        """The sum of a bound of elements: of its terms without the factors that are the same all along the row, where that
        takes no more than one reduction.
        """
        m = self.rows.m
        terms = _terms(m, bound)
        new = {n for n, _ in terms if n is not None and n not in self.sums_of_bounds}
        if len(new) > 1:
            terms, new = [(bound, None)], {bound}
        for n in new:
            single = self.m.single_of(n)
            summed = n if single is None else single
            self.sums_of_bounds[n] = self._summed(summed, Summation.UNCOMPENSATED)
        sums = [(LENGTH if n is None else self.sums_of_bounds[n], factor) for n, factor in terms]
        return reduce(m.add_, (total if factor is None else m.mul_(factor, total) for total, factor in sums))

    def _sizes(self, operand: Expression, value: Expression) -> Expression:
        """About the sum of the magnitudes of one word of the elements.

        For weighted exponentials it is zero only if all weights are, and not where the exponentials have underflowed.
        """
        if operand not in self.sizes:
            single, weight = self.m.single_of(value), self._weight(operand)
            summed = value if single is None else single
            sizes = node(ops.ABSOLUTE, (summed,), None, summed.format)
            if weight is not None and single is None:
                sizes = self.m.fma_(self.m.abs_(self.number(weight).high), self.m.number(SHARE_OF_WEIGHTS), sizes)
            self.sizes[operand] = self._summed(sizes, Summation.UNCOMPENSATED)
        return self.sizes[operand]

    def _weight(self, operand: Expression) -> Expression | None:
        """The exact factor of a product that may underflow, or the weight of an exponential."""
        weighted = weighted_exponential(operand)
        if weighted is not None:
            return weighted[0]
        if self.m.extended or operand.operation is not ops.MULTIPLY or not self.number(operand).error.static:
            return None
        exact = [n for n in operand.operands if self.number(n).error.is_exact]
        return exact[0] if len(exact) == 1 else None

    def _plus(self, a: Expression | None, b: Expression) -> Expression:
        return b if a is None else self.rows.m.add_(a, b)

    def _total(
        self, value: Expression, *, needs_lost: bool = False, in_groups: bool = False
    ) -> tuple[Expression, Expression]:
        """The sum of one word of the elements, as two."""
        m = self.rows.m
        number = self._new("row_sum", value, Summation.IN_GROUPS if in_groups else Summation.IN_FLOAT64)
        if needs_lost:
            self._new("row_lost", value)
        high, low = self._found(number), self._found(number, 1)
        return m.two_sum(high, m.select_(m.is_finite_(high), low, m.number(0.0)))

    # ---- numbers

    def _number(self, root: Expression) -> DoubleWord:
        if root in self.sums and self.rows is self:
            return self.sums[root]
        if self.rows is not self and (root in self.sums or self._is_of_row(root)):
            return self._of_a_row(self.rows.number(root))
        if not self.m.extended and row_exponential(root) is not None:
            element, largest = map(self.number, root.operands[0].operands)
            if element.is_exact and element.error.is_exact:
                value = exponential(self.m, element.high, largest.high)
                error = Bound(EXPONENTIAL, UNDERFLOW, None, element.error.doubt, None, 0.0, 2.0)
                return DoubleWord(value, interval=Interval(0.0, 2.0), error=error)
        if root.operation == EXP and root.operands[0].operation == ops.SUBTRACT:
            return self._of_masked(root.operands[0], super()._number(root))
        if root.operation == ops.SUBTRACT and root.operands[0] is root.operands[1] and self.m.follows_zeros:
            of_both = self.m.unscaled(self.number(root.operands[0]))
            zero = self.m.sub_(of_both.high, of_both.high)  # or NaN, as IEEE arithmetic has it
            return DoubleWord(zero, error=Bound(doubt=of_both.error.doubt, bits=1, least=1.0))
        same = multiple_beside_extreme(root)
        if same is not None and root.operation == ops.SUBTRACT:
            distance = self.number(same)
            is_largest = root.operands[1].operation == ops.ROW_MAX
            return replace(distance, interval=Interval(-math.inf, 0.0)) if is_largest else distance
        equal = self._equal_to_extreme(root)
        if equal is not None and root.operation == ops.SUBTRACT:
            return self._exact_where(equal, super()._number(root))
        is_moderate = not self.m.extended or (self.m.is_own and not self._is_of_row(root))
        if is_moderate and root.operation == ops.DIVIDE and self._is_of_row(root.operands[1]):
            return self.m.divide(self.number(root.operands[0]), self._not_tiny(self.number(root.operands[1])))
        if self.m.extended and root.operation == ops.DIVIDE and self._is_of_row(root):
            return self._quotient(*(self.number(operand) for operand in root.operands))
        if self.m.extended and root.operation == ops.SUBTRACT and root.operands[1].operation == ops.ROW_THRESHOLD:
            return self._above_threshold(*(self.number(operand) for operand in root.operands))
        return super()._number(root)

    def _unknown_operands(self, current: Expression) -> Sequence[Expression]:
        if self.rows is not self and (
            current in self.sums or (current not in self.numbers and self._is_of_row(current))
        ):
            return ()
        return super()._unknown_operands(current)

    def _truth(self, root: Expression) -> Expression:
        if self.rows is not self and self._is_of_row(root):
            return self.rows.truth(root)
        same = multiple_beside_extreme(root)
        if same is not None:
            return self.truth(same)
        truth, m = super()._truth(root), self.m
        of_first = self.sums[root].error.doubt if root.operation == ops.ROW_FIRST else None
        if of_first is not None:
            m.doubts[truth] = of_first
        doubt, equal = m.doubts.get(truth), self._equal_to_extreme(root)
        if doubt is not None and equal is not None:
            m.doubts[truth] = both(doubt, m.not_(equal))
        return truth

    def _equal_to_extreme(self, root: Expression) -> Expression | None:
        """For an element beside the largest or smallest one of its row: where both are known to be equal."""
        if len(root.operands) != 2:
            return None
        for element, found in (root.operands, root.operands[::-1]):
            if found in self.equals and found.operands[0] is element:
                return self.equals[found]
        return None

    def _exact_where(self, is_zero: Expression, value: DoubleWord) -> DoubleWord:
        """A difference that is zero at some elements."""
        m, zero = self.m, self.m.number(0.0)
        high, low = (m.select_(is_zero, zero, part) for part in (value.high, m.low_part(value)))
        total = m.total(value)
        absolute = None if total is None else m.select_(is_zero, zero, total)
        exactly = either(is_zero, value.error.exactly)
        error = replace(
            value.error, relative=0.0, static=0.0, absolute=absolute, bits=None, exactly=exactly, beyond=None
        )
        return replace(value, high=high, low=low, low_is_number=True, error=error)

    def _of_masked(self, exponent: Expression, value: DoubleWord) -> DoubleWord:
        """An exponential which is exactly zero where the exponent is -inf, as of elements that are masked."""
        m, absolute = self.m, value.error.absolute
        if absolute is None:
            return value
        is_masked = m.equal_(self.number(exponent).high, m.number(-math.inf))
        return replace(value, error=replace(value.error, absolute=m.select_(is_masked, m.number(0.0), absolute)))

    def _of_element(self, root: Expression) -> None:
        return None

    def _shortened(self, a: DoubleWord) -> DoubleWord:
        return a if self.rows is self else self._of_a_row(a)

    def _of_a_row(self, value: DoubleWord) -> DoubleWord:
        """A number of a row as one number of float64."""
        m, error = self.rows.m, value.error
        if value.low is None and value.exponent is None:
            return value
        value = m.renormalised(m.unscaled(value))
        error = value.error
        if not error.is_known:
            return value
        error = replace(error, relative=error.relative + 2.0**-52, bits=None)
        high = m.single(value)
        if value.interval.low >= 0 and error.absolute is not None and not error.static:
            # Elements need no bound beside them where this is a small share of the number.
            is_large = m.not_(m.less_(error.absolute, m.mul_(high, m.number(SMALL_SHARE))))
            doubt = either(error.doubt, is_large)
            error = replace(error, relative=error.relative + SMALL_SHARE * ROOM, absolute=None, doubt=doubt)
        return DoubleWord(high, interval=value.interval, error=error)

    def _not_tiny(self, value: DoubleWord) -> DoubleWord:
        """A divisor of all elements, in doubt where it is so small that a quotient may overflow: none is looked at for that."""
        error, m = value.error, self.rows.m
        if not error.is_known or value.interval.low < 0 or error.least >= SMALLEST_DIVISOR:
            return value
        doubt = either(error.doubt, m.less_(value.high, m.number(SMALLEST_DIVISOR)))
        error = replace(error, doubt=doubt, least=SMALLEST_DIVISOR)
        return replace(value, interval=Interval(SMALLEST_DIVISOR, value.interval.high), error=error)

    def _quotient(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        """A quotient whose second word says what it may be wrong by: nothing where the division is exact, as of ties."""
        m = self.m
        found = m.divide(a, b)
        x, y = a.error, b.error
        if a.exponent is not None or b.exponent is not None or not (x.is_known and y.is_known):
            return found
        exactly = m.where_exact_quotient(a, b)
        known = y.is_exact and b.low is None
        if not known or x.relative or x.static or b.interval.low < 0:
            exactly = either(exactly, found.error.exactly)
            return replace(found, error=replace(found.error, exactly=exactly))
        zero, doubt = m.number(0.0), either(x.doubt, y.doubt)
        if x.least < SMALLEST_DIVIDEND:  # what is left of smaller ones may underflow
            doubt = either(doubt, self._is_tiny(a.high))
        high = m.div_(a.high, b.high)
        rest, lost = m.two_sum(m.fma_(m.neg_(high), b.high, a.high), m.low_part(a))
        low = m.div_(rest, b.high)
        absolute = m.mul_(m.abs_(low), m.number(2.0**-51))
        is_exact = m.are_exact(a)
        if is_exact is not None and m.follows_zeros:
            left = m.fma_(m.neg_(low), b.high, rest)
            exactly = either(exactly, both(is_exact, both(m.equal_(lost, zero), m.equal_(left, zero))))
        if x.absolute is not None:
            absolute = m.fma_(m.div_(x.absolute, b.high), m.number(ROOM), absolute)
        high, low = m.two_sum(high, m.select_(m.is_finite_(high), low, m.number(0.0)))
        error = Bound(0.0, 0.0, absolute, doubt, None, 0.0, x.largest, exactly=exactly, beyond=found.error.beyond)
        return DoubleWord(high, low, interval=a.interval, low_is_number=False, error=error)

    def _is_tiny(self, word: Expression) -> Expression:
        """Whether a word is not zero, and what is left of its quotient may underflow."""
        return self.m.is_tiny_(self.m.abs_(word), SMALLEST_DIVIDEND)

    def _above_threshold(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        """A difference that is exact where the words have room for it, as of ties."""
        m = self.m
        found = m.subtract(a, b)
        if not a.error.is_exact or b.error.relative or b.error.static or a.exponent is not None:
            return found
        zero = m.number(0.0)
        high, rest = m.two_sum(a.high, m.neg_(b.high))
        words = m.sub_(m.low_part(a), m.low_part(b))
        low = m.add_(rest, words)
        has_room = both(m.equal_(m.low_part(a), zero), either(m.equal_(rest, zero), m.equal_(words, zero)))
        lost = m.mul_(m.add_(m.abs_(low), m.abs_(words)), m.number(2.0**-51))
        absolute = m.select_(has_room, zero, lost)
        absolute = absolute if b.error.absolute is None else m.add_(absolute, b.error.absolute)
        error = Bound(0.0, 0.0, absolute, either(a.error.doubt, b.error.doubt), None, 0.0, a.error.largest + 2.0)
        return DoubleWord(*m.two_sum(high, low), interval=found.interval, low_is_number=False, error=error)

    # ---- results

    def _zero_by_numbers(self, root: Expression, are_zero: Sequence[Expression | None]) -> Expression | None:
        if root.operation is ops.COPY_SIGN:
            return are_zero[0]
        if root.operation in (ops.CONSTANT, ops.ROW_SUM, *EXTREMES):
            return self._all_zero(root)
        if root.operation == EXP:
            return self.m.equal_(self.number(root.operands[0]).high, self.m.number(-math.inf))
        return super()._zero_by_numbers(root, are_zero)

    def _all_zero(self, root: Expression) -> Expression | None:
        """Where all of a row's numbers are zero because operands are, and have not underflowed; None for never.

        The sums of magnitudes tell, so it takes no time.
        """
        m, operation = self.rows.m, root.operation
        if operation is ops.CONSTANT:
            return None if root.attribute else m.always
        if operation in EXTREMES:
            found = self.rows.number(root)
            return m.equal_(found.high, m.number(0.0)) if found.error.is_exact else None
        if root in self.sizes and self._shows_zeros(root):
            return m.equal_(self.sizes[root], m.number(0.0))
        if operation is ops.MULTIPLY:
            return either(*map(self._all_zero, root.operands))
        if operation in (ops.DIVIDE, ops.NEGATE, ops.ABSOLUTE, ops.COPY_SIGN, ops.ROW_SUM):
            return self._all_zero(root.operands[0])
        if operation in (ops.ADD, ops.SUBTRACT, ops.SELECT):
            return both(*map(self._all_zero, root.operands[-2:]))
        return None

    def _shows_zeros(self, operand: Expression) -> bool:
        """Whether magnitudes add up to zero of numbers alone that are zero, or whose weights are (`_sizes`)."""
        of_singles = not self.m.extended and operand.operation is ops.MULTIPLY
        if of_singles and all(self.number(n).error.is_exact for n in operand.operands):
            return True
        weight = None if self.m.extended else self._weight(operand)
        if weight is not None and self.m.single_of(self.number(operand).high) is None:
            operand = weight
        error = self.number(operand).error
        return error.is_known and not error.static and error.absolute is None

    def _has_sign(self, root: Expression) -> Expression | None:
        m, number = (self.rows.m, self.rows.number(root)) if self._is_of_row(root) else (self.m, self.number(root))
        if number.interval.high <= 0 and not m.extended:  # the logarithm of what is rounded to 1 is 0, not -0
            return m.is_negative_(number.high)
        found, total = m.keeps_sign(number), m.total(number)
        if found is not None or total is None or m.extended or number.exponent is not None:
            return found
        return m.less_(m.mul_(total, m.number(SLACK_OF_RUNNING)), m.abs_(number.high))

    def _ends(self, number: DoubleWord, error: Bound) -> list[DoubleWord]:
        """Where the bound runs beside the number and is zero, the number is exact, and so are both ends."""
        ends = super()._ends(number, error)
        if error.absolute is None or error.relative or error.static or not self.m.extended:
            return ends
        is_exact = self.m.equal_(error.absolute, self.m.number(0.0))
        exact = (number.high, self.m.low_part(number))
        return [
            replace(
                end, high=self.m.select_(is_exact, exact[0], end.high), low=self.m.select_(is_exact, exact[1], end.low)
            )
            for end in ends
            if end.low is not None
        ]

    def _tested_16_bits(
        self, root: Expression, number: DoubleWord, error: Bound, storage: Format
    ) -> tuple[Expression, Expression | None]:
        if not self.m.extended and error.absolute is None and error.static <= NEXT_TO_NOTHING:
            return self._rounded_to_16_bits(root, number.high, error, storage)
        return super()._tested_16_bits(root, number, error, storage)

    def _rounded_to_16_bits(
        self, root: Expression, value: Expression, error: Bound, storage: Format
    ) -> tuple[Expression, Expression | None]:
        """A number with a relative bound, rounded by an addition to its bits, which tells ties, too.

        Subnormal numbers are moved to where float64 has as many bits too many as beside normal ones.
        """
        m = self.m
        lacking = Format.F64.precision - storage.precision
        reach = math.ceil((error.relative + ROUNDED) * 2.0**Format.F64.precision) + 1
        least, size = m.number(SMALLEST_NORMAL[storage]), m.abs_(value)
        is_small = m.less_(size, least)
        size = m.select_(is_small, m.add_(size, least), size)
        bits = node(ops.BITCAST, (size,), None, Format.U64)
        moved = node(ops.ADD, (bits, _long((1 << (lacking - 1)) + reach)), None, Format.U64)
        rest = node(ops.AND, (moved, _long((1 << lacking) - 1)), None, Format.U64)
        upper = node(ops.AND, (moved, _long((1 << 64) - (1 << lacking))), None, Format.U64)
        rounded = node(ops.BITCAST, (upper,), None, Format.F64)
        rounded = m.select_(is_small, m.sub_(rounded, least), rounded)
        rounded = m.make(ops.COPY_SIGN, rounded, value)
        undecided = node(ops.LESS, (rest, _long(2 * reach + 1)), None, Format.BIT)
        found = in_format(rounded, Format.F32)
        if storage is Format.BF16:
            bits = node(ops.BITCAST, (self._canonical(root, found),), None, Format.U32)
            self.in_16_bits[found] = upper_half(bits)
        return found, either(undecided, error.doubt)


def _of_extreme(error: Bound, absolute: Expression | None, doubt: Expression | None) -> Bound:
    """The bound of the largest of numbers with a bound, beside its running part."""
    relative, static = error.relative * ROOM, error.static * ROOM
    return Bound(relative, static, absolute, doubt, None, error.least, error.largest)


def _terms(m: Arithmetic, bound: Expression) -> list[tuple[Expression | None, Expression | None]]:
    """(what differs from element to element, the factor of the row) of each term of a bound; None for 1."""
    if not depends_on_elements(bound):
        return [(None, bound)]
    if bound.operation is ops.ADD:
        return [term for n in bound.operands for term in _terms(m, n)]
    if bound.operation in (ops.MULTIPLY, ops.FMA):
        for factor, other in (bound.operands[:2], bound.operands[1::-1]):
            if not depends_on_elements(factor):
                terms = [(n, factor if f is None else m.mul_(factor, f)) for n, f in _terms(m, other)]
                return [*terms, *(term for n in bound.operands[2:] for term in _terms(m, n))]
    return [(bound, None)]


def _long(value: int) -> Expression:
    return node(ops.CONSTANT, (), value, Format.U64)


#: The smallest normal numbers of 16 bits.
SMALLEST_NORMAL = {Format.F16: 2.0**-14, Format.BF16: 2.0**-126}


def sums_of(summed: Expression, lies: Interval) -> Interval:
    """Where the sums of numbers of an interval lie."""
    if row_exponential(summed):
        return SUM_OF_EXPONENTIALS
    return Interval(0.0 if lies.low >= 0 else -math.inf, 0.0 if lies.high <= 0 else math.inf)


assert frozenset(ROW_NUMBERS) >= frozenset(REDUCTIONS)
