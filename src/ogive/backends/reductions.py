"""The findings of a stage of rows in LLVM IR: the numbers that a loop carries, and what becomes of them behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ogive.backends.reduction_plans import ReductionPlan, leaves
from ogive.backends.writer import ROWS_AT_ONCE, TYPES, Writer
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, walk

REGISTER_BITS = 512

#: Doubles of a row's record that hold a reduction's vector accumulators, two registers, until their lanes are joined
#: for all rows at once.
ASIDE = 3 * REGISTER_BITS // 64

#: Doubles of a row's record that hold an accumulator where a lane is a row.
PARTS_ASIDE = 4


class Accumulator:
    """One reduction of a stage: vectors that the loop carries, and the fixed tree that joins their lanes (reduction_plans.py).

    The last lanes are joined of all rows at once, and stored as two float64.

    In a sum from one on (Summation) the total of each lane is never less than what is added, so that what that loses is exact
    (Fast2Sum). Of float64 registers hold half as much.
    """

    def __init__(self, writer: Writer, index: int, plan: ReductionPlan) -> None:
        self.e, self.index, self.plan = writer, index, plan
        self.lanes, self.form, self.taken_form = plan.reduction.lanes, plan.form, plan.taken.format
        self.starts = (*plan.starts, *([0.0] if plan.is_extreme else []))  # NaN is kept beside extremes
        self.parts = len(self.starts)
        self.before: list[str] = []
        """The totals that the next loop begins with; none if there was no loop."""
        self.following: list[str] = []
        """Their values after a turn of the loop."""

    def _names(self, label: str) -> list[str]:
        return [f"%total{self.index}.{part}.{label}" for part in range(self.parts)]

    def _starts(self) -> list[str]:
        return [self.e.literal(self.form, start) for start in self.starts]

    def accumulate(self, loop: str) -> None:
        """The numbers that a turn of the loop adds: so many lanes after the other, in the order of the elements."""
        e = self.e
        width = e.block
        blocks = e.taken_apart(self.taken_form, self._taken(), self.lanes)
        e.block = e.lanes = self.lanes
        self.following = self._with_blocks(self._names(loop), blocks)
        e.block = e.lanes = width

    def _with_blocks(self, totals: list[str], blocks: list[str]) -> list[str]:
        """The totals with these elements, which are some blocks of them."""
        if self.plan.is_extreme:
            return self._with_extremes(totals, blocks)
        left = len(blocks) // min(self.plan.group, len(blocks))
        while left < len(blocks):
            blocks = [
                self._joined([a], [b], self.taken_form)[0] for a, b in zip(blocks[::2], blocks[1::2], strict=True)
            ]
        for block in blocks:
            before, (element,) = leaves(self.form, len(totals)), leaves(self.taken_form, 1, len(totals))
            totals = self._written(self.plan.with_element(before, element), [*before, element], [*totals, block])
        return totals

    def _written(self, roots: Sequence[Expression], known: Sequence[Expression], names: Sequence[str]) -> list[str]:
        """The names of what a step of the plan makes of numbers with these names."""
        e, found = self.e, dict(zip(known, names, strict=True))
        for n in walk(*roots, operands=lambda n: () if n in found else n.operands):
            if n.operation == ops.CONSTANT:
                found[n] = e.literal(n.format, n.attribute)
            elif n not in found:
                found[n] = e.rows[n.operation](e, n, *(found[operand] for operand in n.operands))
        return [found[root] for root in roots]

    def phis(self, loop: str, before: str, last: str) -> list[str]:
        """The totals at the beginning of a turn."""
        begin = self.before or self._starts()
        return self._phis(loop, zip(begin, self.following, strict=True), before, last)

    def joints(self, label: str, before: str, last: str) -> list[str]:
        """The totals behind a loop that may have been left out."""
        begin = self.before or self._starts()
        lines = self._phis(label, zip(begin, self.following, strict=True), before, last)
        self.before = self.following = self._names(label)
        return lines

    def _phis(self, label: str, values: Iterable[tuple[str, str]], before: str, last: str) -> list[str]:
        kept = f"<{self.lanes} x {TYPES[self.form]}>"
        return [
            f"  {name} = phi {kept} [ {a}, %{before} ], [ {b}, %{last} ]"
            for name, (a, b) in zip(self._names(label), values, strict=True)
        ]

    def _taken(self) -> str:
        """The elements that the loop takes, and neutral ones in lanes beyond the end of the row."""
        e, form = self.e, self.taken_form
        value = e.value(self.plan.taken)
        return e.choose(e.valid, form, value, e.literal(form, self.plan.neutral)) if e.valid else value

    def _with_extremes(self, totals: list[str], blocks: list[str]) -> list[str]:
        """The first of equal ones is kept, in whatever order they are compared. NaN is found two blocks at a time."""
        e, form, kind = self.e, self.form, self.e.type(self.form)
        unordered = [
            e.emit(f"fcmp uno {kind} {a}, {b}") for a, b in zip(blocks[::2], blocks[1::2] or blocks, strict=True)
        ]
        while len(blocks) > 1:
            blocks = [self._joined([a], [b], form)[0] for a, b in zip(blocks[::2], blocks[1::2], strict=True)]
        while len(unordered) > 1:
            unordered = [e.binary("or", Format.BIT, a, b) for a, b in zip(unordered[::2], unordered[1::2], strict=True)]
        nan = e.choose(unordered[0], form, e.literal(form, math.nan), totals[1])
        return [*self._joined(totals[:1], blocks, form), nan]

    def _joined(self, a: list[str], b: list[str], form: Format) -> list[str]:
        """Both together, by lane."""
        ours, others = leaves(form, len(a)), leaves(form, len(b), len(a))
        return self._written(self.plan.joined(ours, others), [*ours, *others], [*a, *b])

    # ---- behind the loops

    def put_aside(self, slot: int) -> list[str]:
        """The lines at the end of a row: its lanes wait until all rows are through."""
        e, form = self.e, self.form
        e.after_loop, e.lines = True, []
        values, width, block = list(self.following), self.lanes, e.block
        e.block = e.lanes = width
        if self.plan.is_extreme:
            nan = values.pop()
            lanes = e.emit(f"fcmp uno {e.type(form)} {nan}, {nan}")
            any_lane = e.any_lane(lanes)
            place = self._aside(slot, 1, "%row", "i8")
            e.lines.append(f"  store i8 {e.emit_scalar(f'zext i1 {any_lane} to i8')}, ptr {place}, align 1")
        while width * form.bits > REGISTER_BITS:
            half = width // 2
            lower, upper = ([e.slice(form, v, width, start, half) for v in values] for start in (0, half))
            e.block = e.lanes = width = half
            values = self._joined(lower, upper, form)
        for part, value in enumerate(values):
            kind = e.type(form)
            place = self._aside(slot, part, "%row", kind)
            e.lines.append(f"  store {kind} {value}, ptr {place}, align {form.bits // 8}")
        e.block = e.lanes = block
        return e.lines

    def _aside(self, slot: int, part: int, row: int | str, kind: str) -> str:
        """Where a row's lanes wait."""
        place = self.e.first_record(slot + ASIDE * self.index + ASIDE // 3 * part)
        return self.e.emit_scalar(f"getelementptr {kind}, ptr {place}, i64 {row}")

    def find(self, aside: int, slot: int) -> list[str]:
        """The lines behind the last row: what was found goes to its slot in the rows' records.

        All rows are joined together. The lower halves of two make one register, the upper halves another, and their
        joint holds both rows; so 16 registers of 16 lanes become one of 16 rows in 15 steps of three instructions, in
        place of four of each row that wait for each other.
        """
        e, form = self.e, self.form
        e.after_loop, e.lines, block = True, [], e.block
        width = min(self.lanes, REGISTER_BITS // form.bits)
        e.block = e.lanes = width
        parts = 1 if self.plan.is_extreme else self.parts
        rows = [[self._waiting(aside, part, row) for part in range(parts)] for row in range(ROWS_AT_ONCE)]
        if self.plan.begins_with_one:
            longer = Format.F64
            (lost,) = self._over_rows([[low] for _, low in rows], width, form)
            e.block = e.lanes = width
            (total,) = self._over_rows([[e.cast("fpext", high, form, longer)] for high, _ in rows], width, longer)
            total = e.binary("fsub", longer, total, e.literal(longer, width * self.starts[0]))
            values, form = [e.binary("fadd", longer, total, e.cast("fpext", lost, form, longer))], longer
        else:
            values = self._over_rows(rows, width, form)
        if self.plan.is_extreme:
            kind = f"<{ROWS_AT_ONCE} x i8>"
            any_lane = e.emit(f"load {kind}, ptr {self._aside(aside, 1, 0, kind)}, align 1")
            is_nan = e.emit(f"icmp ne {kind} {any_lane}, zeroinitializer")
            values = [e.choose(is_nan, form, e.literal(form, math.nan), values[0])]
        self._to_records(values, form, slot)
        e.block = e.lanes = block
        return e.lines

    def _to_records(self, values: list[str], form: Format, slot: int) -> None:
        """Store what was found, a lane a row."""
        e = self.e
        values = self._as_doubles(values, form)
        zero = e.literal(Format.F64, 0.0)
        for part, value in enumerate([*values, *[zero] * (len(values) % 2)]):
            place = e.first_record(slot + 2 * self.index + part)
            e.lines.append(f"  store {e.type(Format.F64)} {value}, ptr {place}, align 8")

    # ---- columns: a lane is a row all the way

    def take_columns(self, aside: int, continues: str) -> None:
        """Begin with what the elements before have left, where there are some."""
        e = self.e
        self.lanes, kind = ROWS_AT_ONCE, e.type(self.form)
        for part, start in enumerate(self._starts()):
            kept = e.emit_scalar(f"load {kind}, ptr {self._of_columns(aside, part)}, align {self.form.bits // 8}")
            self.before.append(e.emit_scalar(f"select i1 {continues}, {kind} {kept}, {kind} {start}"))

    def leave_columns(self, aside: int) -> None:
        """Leave what was found for the elements that follow."""
        e, form = self.e, self.form
        for part, value in enumerate(self.following):
            place = self._of_columns(aside, part)
            e.lines.append(f"  store {e.type(form)} {value}, ptr {place}, align {form.bits // 8}")

    def find_columns(self, slot: int) -> None:
        """Store in the rows' records what was found."""
        e, form, values = self.e, self.form, list(self.following)
        if self.plan.is_extreme:
            nan = values.pop()
            is_nan = e.emit(f"fcmp uno {e.type(form)} {nan}, {nan}")
            values = [e.choose(is_nan, form, e.literal(form, math.nan), values[0])]
        self._to_records(values, form, slot)

    def _of_columns(self, aside: int, part: int) -> str:
        return self.e.first_record(aside + PARTS_ASIDE * self.index + part)

    def _as_doubles(self, values: list[str], form: Format) -> list[str]:
        """The contents of the records."""
        parts = leaves(form, len(values))
        return self._written(self.plan.found(parts), parts, values)

    def _waiting(self, aside: int, part: int, row: int) -> str:
        kind = self.e.type(self.form)
        return self.e.emit(f"load {kind}, ptr {self._aside(aside, part, row, kind)}, align {self.form.bits // 8}")

    def _over_rows(self, rows: list[list[str]], width: int, form: Format) -> list[str]:
        """The parts of all rows' totals, a lane a row, of as many rows of so many lanes each."""
        e = self.e
        each = 1  # how many rows a register holds
        while len(rows) > 1:
            pairs = list(zip(rows[::2], rows[1::2], strict=True))
            held = each * width
            if width > 1:
                half = width // 2
                lower = [first + i for first in range(0, 2 * held, width) for i in range(half)]
                upper = [half + i for i in lower]
                rows = []
                for a, b in pairs:
                    halves = [self._merged(form, a, b, held, lanes) for lanes in (lower, upper)]
                    rows.append(self._joined(halves[0], halves[1], form))
                width = half
            else:
                rows = [self._merged(form, a, b, held, range(2 * held)) for a, b in pairs]
                e.block = e.lanes = 2 * held
            each *= 2
        return rows[0]

    def _merged(self, form: Format, a: list[str], b: list[str], held: int, lanes: Sequence[int]) -> list[str]:
        """These lanes of two registers, of every part."""
        return [self.e.shuffled(form, x, y, held, lanes) for x, y in zip(a, b, strict=True)]
