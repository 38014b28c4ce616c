"""Rows of float64 in sums of three words: the level before enclosures, for formulas of sums, products, quotients and roots.

A row is added up in two passes. The first finds the largest magnitude; by it the second parts each first word into a multiple of a
small number, whose sum is exact in two words, and a rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import COMPARISONS, EXTREMES, Expression, Format, node, walk
from ogive.lowering.numerics.triple_word import ROUNDED, TripleArithmetic, TripleWord
from ogive.lowering.numerics.truths import either
from ogive.lowering.program import Program, Reduction, Stage, Summation
from ogive.lowering.row_lowering import has_room, portions
from ogive.lowering.row_numbers import LENGTH, reductions_by_stage, within_row

#: The formulas whose numbers are operands, constants and choices of these have a value of one word.
CHOSEN = frozenset(
    {ops.INPUT, ops.PARAMETER, ops.CONSTANT, ops.NEGATE, ops.ABSOLUTE, ops.SELECT, *EXTREMES, *COMPARISONS}
    | {ops.AND, ops.OR, ops.NOT, ops.EXCLUSIVE_OR}
)

#: All operations of this level.
KNOWN = CHOSEN | {ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.SQUARE_ROOT, ops.ROW_SUM, ops.ROW_COUNT}


def in_three_words(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], parameter_count: int
) -> Callable[[], Program | None] | None:
    """The function that makes the program of elements of rows in this level, or None if a kernel has no room for it; None for formulas of
    other operations.
    """
    nodes = list(walk(*roots))
    asked = [a for n in nodes if n.operation in COMPARISONS or n.operation in EXTREMES for a in n.operands]
    is_known = (
        all(t.name == "float64" for t in (*inputs, *outputs))
        and all(n.operation in KNOWN for n in nodes)
        and any(n.operation is ops.ROW_SUM for n in nodes)
        and all(n.operation in CHOSEN for n in walk(*asked))
        and all(root.format is Format.NUMBER for root in roots)
    )
    return (lambda: _TripleRows().program(roots, inputs, outputs, parameter_count)) if is_known else None


class _TripleRows:
    """The numbers and truth values of formulas."""

    def __init__(self) -> None:
        self.m = TripleArithmetic()
        self.numbers: dict[Expression, TripleWord] = {}
        self.truths: dict[Expression, Expression] = {}
        self.made: list[Reduction] = []

    def program(
        self,
        roots: Sequence[Expression],
        inputs: Sequence[ElementType],
        outputs: Sequence[ElementType],
        parameter_count: int,
    ) -> Program | None:
        stages = list[Stage]()
        for found in reductions_by_stage(roots):
            sums = [add_up for n in found if (add_up := self._reduction(n)) is not None]
            stages += self._stages(stages)
            for add_up in sums:
                add_up()
            stages += self._stages(stages)
        if not has_room(stages):
            return None
        rounded = [self.m.to_nearest(self._number(root)) for root in roots]
        results = tuple(self.m.canonical_(result) for result, _ in rounded)
        undecided = either(*(self.m.not_(is_decided) for _, is_decided in rounded))
        return Program(
            tuple(inputs), tuple(outputs), results, tuple(stages), parameter_count, undecided=undecided, is_tested=True
        )

    # ---- reductions

    def _stages(self, before: Sequence[Stage]) -> list[Stage]:
        """The stages of the reductions that none has yet."""
        first = sum(len(stage.reductions) for stage in before)
        return [Stage(tuple(some)) for some in portions(self.made[first:])] if self.made[first:] else []

    def _new(self, kind: str, value: Expression, summation: Summation = Summation.IN_FLOAT64) -> Expression:
        self.made.append(Reduction(kind, value, summation))
        return self._found()

    def _found(self, part: int = 0) -> Expression:
        """A part of the last reduction's record."""
        return node(ops.ROW_VALUE, (), (len(self.made) - 1, part), Format.F64)

    def _reduction(self, root: Expression) -> Callable[[], None] | None:
        """Reduce a row; of a sum only the largest magnitude is found now, and this is the function that adds up."""
        value = self._number(root.operands[0])
        if root.operation is not ops.ROW_SUM:
            self.numbers[root] = TripleWord((self._new(root.operation, value.words[0]),))
            return None
        largest = self._new("row_max", self.m.abs_(value.words[0]))

        def add_up() -> None:
            self.numbers[root] = self._sum(value, largest)

        return add_up

    def _sum(self, value: TripleWord, largest: Expression) -> TripleWord:
        m = self.m
        first, *others = value.words
        beside = m.mul_(largest, m.number(4.0))
        coarse = m.sub_(m.add_(beside, first), beside)
        rest, left = m.sub_(first, coarse), list[Expression]()
        for word in others[:1]:
            rest, lost = m.two_sum(rest, word)
            left.append(lost)
        error = value.error
        for word in others[1:]:
            sizes = m.add_(m.abs_(left[0]), m.abs_(word))
            left = [m.add_(left[0], word)]
            error = m.sum_of(error, m.mul_(sizes, m.number(ROUNDED)))
        sums = [self._exact_sum(part) for part in (coarse, rest, *left)]
        if error is not None:
            total = self._new("row_sum", error, Summation.UNCOMPENSATED)
            sums[-1] = sums[-1]._replace(error=m.sum_of(sums[-1].error, total))
        return m.total(sums)

    def _exact_sum(self, part: Expression) -> TripleWord:
        """The sum of one word of a row, as two, and the magnitudes of what was lost."""
        m = self.m
        self._new("row_sum", part)
        words = m.two_sum(self._found(), self._found(1))
        return TripleWord(words, self._new("row_lost", part))

    # ---- elements

    def _number(self, root: Expression) -> TripleWord:
        for current in walk(root, operands=lambda n: () if n in self.numbers else within_row(n)):
            if current.format is Format.TRUTH:
                self.truths.setdefault(current, self._truth(current))
            elif current not in self.numbers:
                self.numbers[current] = self._computed(current)
        return self.numbers[root]

    def _truth(self, root: Expression) -> Expression:
        """A truth value: numbers are compared that have one word."""
        if root.operation is ops.CONSTANT:
            return node(ops.CONSTANT, (), root.attribute, Format.BIT)
        if root.operation in COMPARISONS:
            operands = tuple(self.numbers[a].words[0] for a in root.operands)
        else:
            operands = tuple(self.truths[a] for a in root.operands)
        return node(root.operation, operands, None, Format.BIT)

    def _computed(self, root: Expression) -> TripleWord:
        m, operation = self.m, root.operation
        if operation in (ops.INPUT, ops.PARAMETER):
            return TripleWord((node(operation, (), root.attribute, Format.F64),))
        if operation is ops.CONSTANT:
            return m.constant(root.attribute)
        if operation is ops.ROW_COUNT:
            return TripleWord((LENGTH,))
        if operation is ops.SELECT:
            condition, a, b = root.operands
            return m.select(self.truths[condition], self.numbers[a], self.numbers[b])
        found: TripleWord = getattr(m, operation)(*(self.numbers[a] for a in root.operands))
        return found
