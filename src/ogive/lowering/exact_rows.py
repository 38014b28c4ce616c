"""Programs over rows whose results are the correctly rounded values of their formulas, in the three levels of exact.py.

The test is of elements, or of what a row has one of; what is undecided is repaired by rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.common.forking import cached_property
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import LARGER, SMALLER
from ogive.graph.expression import EXTREMES, ROW_NUMBERS, Expression, Format, in_format, node, varying, walk
from ogive.lowering.cost import usual_cost
from ogive.lowering.double_rows import DoubleRows, without_factors
from ogive.lowering.exact import parameters_in
from ogive.lowering.float_float_results import float_float_rows
from ogive.lowering.identities import as_computed
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.precisions import (
    CORRECTED_ROWS,
    CORRECTED_ROWS_OF_DOUBLES,
    IN_WORDS,
    PROMOTED,
    PROMOTED_USUAL,
)
from ogive.lowering.numerics.truths import both, either, except_where, nowhere
from ogive.lowering.program import MASK, DecideRow, Level, Number, Program
from ogive.lowering.row_extremes import with_signs_of_extremes
from ogive.lowering.row_lowering import has_room
from ogive.lowering.row_numbers import (
    CHOICES,
    LARGEST_EXPONENT,
    LENGTH,
    factors_of_vanishing,
    reach_of_factors,
    reach_of_operands,
)
from ogive.lowering.tested import SLACK_OF_RUNNING, agree, differ
from ogive.lowering.tested_rows import TestedRows, UnboundedError
from ogive.lowering.triple_rows import in_three_words

#: Numbers of rows have a magnitude between this and its reciprocal, or are zero: so that products neither overflow nor underflow.
MOST_OF_ROWS = 2.0**160

#: The limit of the cost of a level before another one, as a share of that one's.
WORTHWHILE = 0.96

#: Numbers that are not computed, or one of these.
GIVEN = frozenset({ops.INPUT, ops.PARAMETER, ops.CONSTANT, *EXTREMES})

_SINGLE = Machine(Format.F32)


def rows_with_test(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    parameter_count: int,
    *,
    reduces: bool,
) -> Program | None:
    """The program of the first level for formulas over rows; None where none is needed or no bound is known."""
    if needs_no_bounds(roots):
        return None
    rows = _Levels(as_computed(with_signs_of_extremes(roots)), tuple(inputs), tuple(outputs), parameter_count, reduces)
    made = rows.first()
    if made is None or made.undecided is None:
        return made
    last = rows.last
    if last is None:
        return None
    first = replace(made, later=rows.later(last))
    if rows.are_doubles:
        return first
    shorter = float_float_rows(rows.roots, first, reduces=reduces) or _usual_rows(rows.roots, first, reduces=reduces)
    return first if shorter is None else replace(first, first_levels=(shorter,))


@dataclass(frozen=True)
class _Levels:
    """The levels of formulas over rows."""

    roots: Sequence[Expression]
    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    parameter_count: int
    reduces: bool

    @property
    def are_doubles(self) -> bool:
        return any(t.name == "float64" for t in (*self.inputs, *self.outputs))

    def first(self) -> Program | None:
        """The program of the first level; of float64 that of the last one, where it alone knows a bound."""
        if not self.are_doubles:
            return self._made(self.roots, self._rows(Bounded(PROMOTED)))
        roots, required = without_factors(self.roots)
        arithmetic = Bounded(IN_WORDS)
        rows = DoubleRows(arithmetic, self.inputs, required, reduces=self.reduces)
        return self._made(roots, rows) or self.last

    @cached_property
    def last(self) -> Program | None:
        """The program of the level before enclosures."""
        if self.are_doubles:
            rows = (
                DoubleRows(Bounded(CORRECTED_ROWS_OF_DOUBLES), self.inputs, reduces=self.reduces, scales_sums=scales)
                for scales in (True, False)  # scaled ones take a pass more, for which a kernel may have no room
            )
            return next(filter(None, (self._made(self.roots, one) for one in rows)), None)
        return self._made(self.roots, self._rows(Bounded(CORRECTED_ROWS)))

    def _rows(self, arithmetic: Bounded) -> TestedRows:
        return TestedRows(arithmetic, self.inputs, parameters_in(self.inputs, self.outputs), reduces=self.reduces)

    def later(self, last: Program) -> tuple[Level, ...]:
        """The levels behind the first one, of which the last has a mask: of elements of float64 one of three words, where that knows the
        formula.
        """
        make = None
        if last.undecided is not None and not self.reduces:
            make = in_three_words(self.roots, self.inputs, self.outputs, self.parameter_count)
        if make is None:
            return (Level(lambda: self._with_mask(last), has_mask=True),)
        end = Level(lambda: self._with_mask(make() or last), has_mask=True)
        return Level(lambda: replace(last, later=(end,))), end

    def _with_mask(self, found: Program) -> Program:
        """A level with a mask of what it leaves undecided."""
        undecided = found.undecided
        mask = node(ops.CONSTANT, (), 0, Format.U8) if undecided is None else in_format(undecided, Format.U8)
        of_row = {*found.row_operands, *({len(self.inputs) + len(self.outputs)} if self.reduces else ())}
        return replace(
            found,
            outputs=(*found.outputs, MASK),
            results=(*found.results, mask),
            undecided=None,
            row_operands=frozenset(of_row),
        )

    def _made(self, roots: Sequence[Expression], reals: TestedRows) -> Program | None:
        """The program of one level; None where no bound is known or a kernel has no room."""
        inputs, outputs = self.inputs, self.outputs
        first = len(inputs) + len(outputs)
        try:
            stages = reals.reduce(roots, first)
            if not has_room(stages):
                return None
            results, undecided = (reals.rows if self.reduces else reals).tested_shortly(roots, outputs)
        except UnboundedError:
            return None
        undecided = reals.asked(undecided, results)
        if undecided is not None and undecided.operation == ops.CONSTANT:
            return None
        of_row = frozenset(range(len(inputs), first) if self.reduces else ())
        return Program(
            inputs,
            outputs,
            results,
            stages,
            self.parameter_count,
            of_row,
            undecided=undecided,
            is_tested=True,
        )


def words_of_rows(root: Expression, inputs: Sequence[ElementType]) -> Program:
    """A number that a row has one of, before it is rounded: its two words in float64, and a bound of what they are wrong by.

    The bound is infinite where none is known.
    """
    rows = DoubleRows(Bounded(CORRECTED_ROWS_OF_DOUBLES), tuple(inputs), reduces=True)
    outputs = (ELEMENT_TYPES["float64"],) * 3
    roots, first = as_computed(with_signs_of_extremes([root])), len(inputs) + len(outputs)
    stages, m = rows.reduce(roots, first), rows.m
    number = m.renormalised(m.unscaled(rows.number(roots[0])))
    bound, doubt = m.total(number), number.error.doubt
    bound = m.number(0.0) if bound is None else m.mul_(bound, m.number(SLACK_OF_RUNNING))
    results = (number.high, m.low_part(number), m.select_(doubt or nowhere(), m.number(math.inf), bound))
    return Program(tuple(inputs), outputs, results, stages, row_operands=frozenset(range(len(inputs), first)))


class _UsualRows(TestedRows):
    """Float64 for results of float32 whose bounds run beside them, where no operand and no result is infinite or NaN.

    What underflows then is smaller than the bound of a number that is not zero.
    """

    def __init__(self, inputs: tuple[ElementType, ...]) -> None:
        super().__init__(Bounded(PROMOTED_USUAL), inputs, Format.F32)

    def _tested_float(self, root: Expression, storage: Format) -> tuple[Expression, Expression | None]:
        m, p, number = self.m, _SINGLE, self._result(root)
        v, error = number.high, number.error
        low, undecided = super()._tested_float(root, storage)
        if error.absolute is not None:
            reach = self._reach(number, self._with_zeros(root, number))
            # The upper end is the negative of the lower one of the negative number: so a zero keeps its sign.
            ends = (m.fma_(reach, m.number(-SLACK_OF_RUNNING), end) for end in (v, m.neg_(v)))
            low, negative = (in_format(end, Format.F32) for end in ends)
            undecided = either(differ(low, p.neg_(negative)), error.doubt)
        is_number = p.less_equal_(p.abs_(low), p.number(p.largest))
        return low, either(undecided, p.not_(is_number))

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        """Results that are NaN are undecided."""
        return value

    def _of_a_row(self, value: DoubleWord) -> DoubleWord:
        """A number of the row, which is NaN where it is in doubt: then so are the results."""
        found, m = super()._of_a_row(value), self.rows.m
        error, size, least, most = found.error, m.abs_(found.high), 1 / MOST_OF_ROWS, MOST_OF_ROWS
        if error.doubt is None and least <= error.least and error.largest <= most:
            return found
        is_moderate = both(m.less_(m.number(least), size), m.less_(size, m.number(most)))
        is_moderate = either(is_moderate, m.equal_(size, m.number(0.0)))
        is_known = except_where(is_moderate, error.doubt)
        high = m.select_(is_known, found.high, m.number(math.nan))
        return replace(found, high=high, error=replace(error, doubt=None, least=least, largest=most))


def _may_hide_nan(current: Expression) -> bool:
    """Whether something is chosen among computed numbers, of which one may be NaN where the result is none."""
    is_choice = current.operation in (ops.SELECT, LARGER, SMALLER)
    return is_choice and any(n.operation not in GIVEN for n in current.operands if n.format is Format.NUMBER)


def _usual_rows(roots: Sequence[Expression], made: Program, *, reduces: bool) -> Program | None:
    """The program that is tried before ``made``; None where none is worth it."""
    if (
        reduces
        or {t.name for t in (*made.inputs, *made.outputs)} != {"float32"}
        or any(map(_may_hide_nan, walk(*roots)))
    ):
        return None
    reals = _UsualRows(made.inputs)
    stages = reals.reduce(roots, len(made.inputs) + len(made.outputs))
    results, undecided = reals.tested_shortly(roots, made.outputs)
    found = made.level_before(results=results, stages=stages, undecided=undecided)
    return found if usual_cost(found) <= WORTHWHILE * usual_cost(made) else None


def needs_no_bounds(roots: Sequence[Expression]) -> bool:
    """Whether formulas are of no rows, or only choose among the elements of one."""
    kinds = {current.operation for current in walk(*roots)}
    return kinds.isdisjoint(ROW_NUMBERS) or kinds <= CHOICES


def decided_by_rows(made: Program, with_place: Callable[[], Program]) -> Program:
    """A program whose every row enclosures compute: right, and some microseconds an element.

    That is for formulas of more reductions with their bounds than a kernel has room for, and of those that no bound is known of:
    of what is reduced, or of a threshold of numbers that are not known to lie a few below the largest. No operator of the
    catalogue is one.

    ``with_place`` makes the same program with one more output, which has no result yet: the mask of the repair.
    """

    def always(program: Program) -> Expression:
        differing = varying(program.results)
        for result in program.results:
            if result in differing:  # elements are marked, by what is true of each
                return agree(result, result)
        return node(ops.LESS, (node(ops.CONSTANT, (), 0.0, Format.F64), LENGTH), None, Format.BIT)

    def repair() -> Program:
        program = with_place()
        mask = in_format(always(program), Format.U8)
        return replace(program, results=(*program.results, mask))

    return replace(made, undecided=always(made), later=(Level(repair, has_mask=True),), is_tested=True)


def row_decider(
    roots: Sequence[Expression],
    real: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    *,
    reduces: bool,
) -> DecideRow:
    """The last level of formulas. ``real`` are the same where numbers are not infinite until an element type has no room for them."""
    rounds = parameters_in(inputs, outputs) is Format.F32
    names = {n.attribute for n in walk(*real) if n.operation == ops.PARAMETER}

    def decide(
        rows: Sequence[Sequence[Number]], parameters: Sequence[float], wanted: Sequence[int] | None = None
    ) -> tuple[Sequence[Number], ...]:
        from ogive.enclosures.row_enclosure import right_rows

        with np.errstate(over="ignore"):
            named = {
                name: float(np.float32(parameters[position])) if rounds else parameters[position]
                for position, name in names
            }
        found = (right_rows(root, rows, named, output, wanted) for root, output in zip(real, outputs, strict=True))
        return tuple(row[:1] if reduces else row for row in found)

    factors = factors_of_vanishing(roots, LARGEST_EXPONENT)
    return DecideRow(decide, reach_of_operands(roots), factors, reach_of_factors(roots) if factors else 0)
