"""Formulas over rows: the stages that reduce rows to numbers, and what is computed of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import REPEATED, ROW_NUMBERS, Expression, Format, node, walk
from ogive.lowering.numerics.bound import EXACT
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.program import Reduction, Stage
from ogive.lowering.real_lowering import RealLowering
from ogive.lowering.row_numbers import (
    LENGTH,
    below_largest,
    reductions_by_stage,
    replaced,
    row_exponential,
    threshold_of_row,
    turn_of_threshold,
    within_row,
)

#: The room of a kernel (runtime/native/native.h): stages, that of the results among them, reductions of one stage,
#: and of all.
MOST_STAGES, MOST_OF_A_STAGE, MOST_REDUCTIONS = 8, 16, 64


def portions(reductions: Sequence[Reduction]) -> list[Sequence[Reduction]]:
    """The reductions of a stage in as many as a kernel has room for at a time; what goes with the one before stays there."""
    found: list[Sequence[Reduction]] = []
    begin = 0
    for i in range(1, len(reductions)):
        is_alone = i + 1 == len(reductions) or not reductions[i + 1].goes_with_another
        if not reductions[i].goes_with_another and i + 1 - begin + (not is_alone) > MOST_OF_A_STAGE:
            found.append(reductions[begin:i])
            begin = i
    return [*found, reductions[begin:]]


def has_room(stages: Sequence[Stage]) -> bool:
    """Whether a kernel has room for what its rows are reduced to."""
    counts = [len(stage.reductions) for stage in stages]
    has_portions = max(counts, default=0) <= MOST_OF_A_STAGE
    return has_portions and sum(counts) <= MOST_REDUCTIONS and len(stages) < MOST_STAGES


def walk_after_reductions(roots: Sequence[Expression]) -> Iterator[Expression]:
    """The computation from rows' common numbers on: the nodes above the reductions."""
    seen: set[Expression] = set()
    stack = list(roots)
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            yield current
            if current.operation not in ROW_NUMBERS:
                stack.extend(current.operands)


def is_share(root: Expression) -> bool:
    """Whether this is an exponential of a row divided by their sum."""
    if root.operation != ops.DIVIDE or root.operands[1].operation != ops.ROW_SUM:
        return False
    return root.operands[1].operands[0] is root.operands[0] and row_exponential(root.operands[0]) is not None


class RowLowering(RealLowering):
    """Rows, whatever they are reduced with."""

    def __init__(
        self, arithmetic: Arithmetic, inputs: tuple[ElementType, ...], parameters: Format | None = None
    ) -> None:
        super().__init__(arithmetic, inputs, parameters)
        self.row_values: dict[Expression, int] = {}
        """The number of a reduction."""
        self.made: list[Reduction] = []
        """The reductions of all stages."""
        self.leaves_within_row: dict[Expression, tuple[bool, bool]] = {}
        """Whether an input, and whether a reduction is among what a node depends on."""
        self.later: list[Callable[[], None]] = []
        """The function that adds reductions that need those of the stage that is being made: they come one stage later."""

    # ---- what other classes say

    @property
    def of_rows(self) -> RowLowering:
        """The stages that compute the numbers that a row has one of."""
        raise NotImplementedError

    def _shortened(self, a: DoubleWord) -> DoubleWord:
        """A number of a row for what is computed of elements."""
        raise NotImplementedError

    def _reduce_to(self, root: Expression, *, is_kept: bool) -> None:
        """Add the reductions that make a number of a row."""
        raise NotImplementedError

    def _reduce_to_threshold(self, root: Expression) -> None:
        """The reductions of a stage that repeats: of what lies above the threshold that they have found before."""
        raise NotImplementedError

    def _reduce_to_near_threshold(self, root: Expression) -> None:
        """The reductions of a stage that repeats, of which the first is the number."""
        self.row_values[root] = len(self.made)
        value = self.m.renormalised(self.m.unscaled(self.number(root.operands[0])))
        self.made += turn_of_threshold(value.high, len(self.made))

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        """The stored parts of what is summed, as the operands from that place on."""
        raise NotImplementedError

    def _row_value(self, root: Expression) -> DoubleWord:
        """The numbers that a row is reduced to."""
        raise NotImplementedError

    # ---- stages

    def reduce(self, roots: Sequence[Expression], first_scratch: int) -> tuple[Stage, ...]:
        """The stages that find what the rows' elements have in common.

        A reduction comes one stage after the reductions that it needs. A value that is summed and needed again after
        is kept, rounded to the format of the arithmetic, and not computed twice.
        """
        needed_after = set(walk_after_reductions(roots))
        stages: list[Stage] = []
        place = first_scratch
        for found in reductions_by_stage(roots):
            before = len(self.made)
            kept: list[tuple[int, Expression]] = []
            for n in found:
                if n.operation == ops.ROW_THRESHOLD:
                    self._reduce_to_threshold(n)
                elif n.operation == ops.ROW_NEAR_THRESHOLD:
                    self._reduce_to_near_threshold(n)
                else:
                    self._reduce_to(n, is_kept=n.operands[0] in needed_after)
            # Behind all of them: what a stage stores is there from the next stage on.
            for n in found:
                if n.operation == ops.ROW_SUM and n.operands[0] in needed_after:
                    values = self._kept(n, place)
                    kept += enumerate(values, place)
                    place += len(values)
            repeats = any(n.operation in REPEATED for n in found)
            *first, last = [self.made[before:]] if repeats else portions(self.made[before:])
            stages += (Stage(tuple(some)) for some in first)
            stages.append(Stage(tuple(last), tuple(kept), repeats))
            while self.later:
                before, later = len(self.made), self.later
                self.later = []
                for reduce in later:
                    reduce()
                stages += (Stage(tuple(some)) for some in portions(self.made[before:]))
        counted = next((n for n in walk(*roots) if n.operation == ops.ROW_COUNT), None)
        if not stages and counted is not None:  # only kernels with a stage are told how long rows are
            self._reduce_to(node(ops.ROW_MAX, counted.operands, None, Format.NUMBER), is_kept=False)
            stages.append(Stage(tuple(self.made)))
        return tuple(stages)

    def _close(self, first: int, truth: Expression) -> None:
        """Put the open truth value into the reductions from a number on."""
        self.made[first:] = [replace(made, value=replaced(made.value, truth)) for made in self.made[first:]]

    def _is_of_row(self, root: Expression) -> bool:
        """Whether this depends on reductions, parameters and constants only, and on a reduction."""
        known = self.leaves_within_row
        for current in walk(root, operands=lambda n: () if n in known else within_row(n)):
            if current not in known:
                of_operands = [known[operand] for operand in within_row(current)]
                known[current] = (
                    current.operation == ops.INPUT or any(has_input for has_input, _ in of_operands),
                    current.operation in ROW_NUMBERS or any(has_reduction for _, has_reduction in of_operands),
                )
        has_input, has_reduction = known[root]
        return has_reduction and not has_input

    # ---- numbers and truth values

    def _below(self, current: Expression) -> Sequence[Expression]:
        """The operands within the row."""
        return within_row(current)

    def _truth(self, root: Expression) -> Expression:
        if root.operation != ops.ROW_FIRST:
            return super()._truth(root)
        value = node(ops.ROW_VALUE, (), (self.row_values[root], 0), Format.F64)
        return node(ops.EQUAL, (node(ops.ROW_POSITION, (), None, Format.F64), value), None, Format.BIT)

    def _number(self, root: Expression) -> DoubleWord:
        m = self.m
        match root.operation:
            case ops.ROW_MAX | ops.ROW_MIN | ops.ROW_SUM | ops.ROW_PRODUCT | ops.ROW_INDEX | ops.ROW_NEAR_THRESHOLD:
                return self._row_value(root)
            case ops.ROW_THRESHOLD:
                return self.number(threshold_of_row(root)[-1])
            case ops.THRESHOLD_STEP:
                return m.threshold_step(*map(self.number, root.operands))
            case ops.ROW_COUNT:
                interval = Interval(0.0, 2.0**63)
                length = self._from_double(LENGTH)
                return DoubleWord(length, interval=interval, error=replace(EXACT, least=1.0, largest=2.0**63))
        if is_share(root):
            return m.multiply(*self._share(root))
        result = super()._number(root)
        if below_largest(root) is not None:
            return replace(result, interval=Interval(-math.inf, 0.0))  # nothing is larger than the largest
        return result

    def _share(self, root: Expression) -> tuple[DoubleWord, DoubleWord]:
        """An exponential and the reciprocal of the sum of its row: one division a row."""
        rows = self.of_rows
        reciprocal = rows.m.divide(rows.m.wide(Fraction(1)), rows.number(root.operands[1]))
        return self.number(root.operands[0]), self._shortened(reciprocal)

    # ---- results

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        """The value with the canonical NaN: where a row's common number is finite, there is none to look for."""
        m = self.m
        common = self._common_to_nan(root)
        if common is None:
            return m.canonical_(value)
        return m.select_rare_(m.not_(m.is_finite_(common)), m.canonical_(value), value)

    def _common_to_nan(self, root: Expression) -> Expression | None:
        """A value of the whole row that is not finite exactly if a result of the row is NaN; None if there is none.

        With it, one test a row replaces one an element.
        """
        if is_share(root):
            return self._share(root)[1].high
        return None
