"""The functions of a program for rows that are the columns of a matrix: a lane is a row.

Neighbouring elements in memory belong to neighbouring rows there. So a turn of the loop loads a line of 16 numbers, or a
few lines, of which each number goes to the accumulator of its row. Nothing is gathered, and lanes are never joined. A node that is
computed once a row stays in registers.

Elements are added in another order than along a row. That is for programs whose results do not depend on it
(`Program.in_any_order`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ogive.backends.accumulators import accumulators
from ogive.backends.nodes import Nodes
from ogive.backends.reductions import Accumulator
from ogive.backends.row_records import Work, mark_slot, work_of
from ogive.backends.writer import ROWS_AT_ONCE, TYPES, natural_alignment
from ogive.graph.expression import Expression, Format, varying, walk
from ogive.lowering.program import Program

#: So many elements of a row are added up before what was found is combined with more: bounds of sums are of more
#: (lowering/tested_rows.py). The same as in runtime/native/rows.c.
ELEMENTS_TOGETHER = 1024

#: Software prefetch: so many bytes ahead in a line of the matrix, which are other columns. The next elements of the same
#: ones are often pages away, and compete for the same few lines of the cache.
BYTES_AHEAD = 256

#: The end of the loop over groups, and of the function.
FOOT = (
    "  br label %next",
    "next:",
    f"  %next.row = add nuw i64 %row, {ROWS_AT_ONCE}",
    "  %more.rows = icmp ult i64 %next.row, %rows",
    "  br i1 %more.rows, label %group, label %end",
    "end:",
    "  ret void",
    "}",
)

#: The leaves of what a row has one of.
OF_ROWS = ("row_value", "row_input")


def takes_columns(program: Program) -> bool:
    """Whether a program has functions for columns."""
    repeats = any(stage.repeats for stage in program.stages)
    return bool(program.stages) and program.in_any_order and not repeats


@dataclass
class ColumnWriter(Nodes):
    """Writes one function, of the same parameters as one for rows (runtime/native/native.h).

    Rows are a multiple of 16, and are taken as groups of so many. The distances are those from element to element,
    behind them that from a group's records to the next one's, and then those from row to row: the size of an element, or 0 of
    an operand that all rows share, whose elements are there 16 times each. ``%given`` is twice the number of a row's element that is
    the first of this call, and one more where the records take what is found up to its end. The findings of the call before are taken up.
    """

    rows_of_block: ClassVar[int] = ROWS_AT_ONCE
    steps: dict[str, str] = field(default_factory=dict)
    """By the address of a row's element, how many bytes behind it the next one lies."""

    def function(self, name: str, stage: int) -> str:
        """The text of a stage, or of what computes the results."""
        work = work_of(self.program, stage)
        head = self._head(name, len(work.operand_types))
        met = self._compute_of_rows(work)
        is_last, aside = stage == len(self.program.stages), mark_slot(self.program) + 2
        before = self.emit_scalar(f"and i64 %first, {-1 if is_last else ELEMENTS_TOGETHER - 1}")
        continues = self.emit_scalar(f"icmp ne i64 {before}, 0")
        found = accumulators(self, work.reductions)
        for accumulator in found:
            accumulator.take_columns(aside, continues)
        turns = [*dict.fromkeys((self._elements_of_a_turn(), 1))] if work.roots else []
        known = {count: {n: self._repeated(n, count) for n in met} for count in turns}
        checks = [*(f"before{count}" for count in turns), "done"]
        entry, lines, begin, last = [*self.lines, f"  br label %{checks[0]}"], [], "0", ""
        for number, count in enumerate(turns):
            check, after, limit = checks[number], checks[number + 1], f"%limit{count}"
            lines.append(f"{check}:")
            if last:
                lines += [line for accumulator in found for line in accumulator.joints(check, checks[number - 1], last)]
            lines += [
                f"  {limit} = and i64 %count, {-count}",
                f"  %some{count} = icmp ult i64 {begin}, {limit}",
                f"  br i1 %some{count}, label %turn{count}, label %{after}",
                *self._turn(count, begin, after, work, known[count], found),
            ]
            begin, last = limit, self.label
        lines.append("done:")
        for accumulator in found:
            lines += accumulator.joints("done", checks[-2], last)
        self.lines, self.block, self.lanes = [], ROWS_AT_ONCE, ROWS_AT_ONCE
        for accumulator in found:
            accumulator.leave_columns(aside)
        self.lines += ["  br i1 %is_last, label %ended, label %next", "ended:"]
        for accumulator in found:
            accumulator.find_columns(work.slot)
        first_of_all = [*head, *self.invariant_lines, "  br label %group"]
        group = self._group(work.operand_types)
        return "\n".join([*first_of_all, *group, *entry, *lines, *self.lines, *FOOT])

    def _elements_of_a_turn(self) -> int:
        """As many blocks at a time as along rows: the instructions of one wait for each other."""
        return max(1, self.target.tuning.registers_at_a_time * self.target.vector_bytes // 64)

    def _head(self, name: str, operands: int) -> list[str]:
        """The beginning of the function, and where all groups lie."""
        parameters = "ptr %operands, i64 %count, ptr %values, i64 %rows, ptr %steps, i64 %given"
        lines = [f"define void @{name}({parameters}) #0 {{", "entry:"]
        lines += ["  %first = lshr i64 %given, 1", "  %is_last = trunc i64 %given to i1"]
        for k in range(operands):
            lines += [
                f"  %slot{k} = getelementptr ptr, ptr %operands, i64 {k}",
                f"  %base{k} = load ptr, ptr %slot{k}, align 8",
            ]
        for k in range(2 * operands + 1):
            lines += [
                f"  %place{k} = getelementptr i64, ptr %steps, i64 {k}",
                f"  %step{k} = load i64, ptr %place{k}, align 8",
            ]
        return lines

    def _group(self, operand_types: Sequence[Format]) -> list[str]:
        """The beginning of the loop over groups, and where one of them lies."""
        lines = [
            "group:",
            "  %row = phi i64 [ 0, %entry ], [ %next.row, %next ]",
            f"  %number = udiv exact i64 %row, {ROWS_AT_ONCE}",
            f"  %offset = mul i64 %number, %step{len(operand_types)}",
            "  %records = getelementptr i8, ptr %values, i64 %offset",
        ]
        for k in range(len(operand_types)):
            lines += [
                f"  %across{k} = mul i64 %row, %step{len(operand_types) + 1 + k}",
                f"  %operand{k} = getelementptr i8, ptr %base{k}, i64 %across{k}",
            ]
        return lines

    # ---- once a row

    def _compute_of_rows(self, work: Work) -> list[Expression]:
        """The numbers that all rows have in common, as scalars, and those that a row has one of, a lane a row; the latter's nodes."""
        roots = (*work.everything, *work.roots, *work.counted)
        of_rows = varying(roots, OF_ROWS) - work.differing
        for current in walk(*roots):
            if current not in work.differing and current not in of_rows:
                self.node(current)
        met = {operand: None for n in walk(*roots) if n in work.differing for operand in n.operands}
        wanted = [n for n in (met | dict.fromkeys(roots)) if n in of_rows]
        self.block = self.lanes = ROWS_AT_ONCE
        self.label, self.is_ahead = "group", True
        self.region(wanted, of_rows)
        for operand, result in work.of_rows:
            self.lines.append(self.store(self.value(result), f"%operand{operand}", work.operand_types[operand]))
        if work.marks_row:
            assert self.program.undecided is not None
            number = self.emit(
                f"uitofp {self.type(Format.BIT)} {self.value(self.program.undecided)} to {self.type(Format.F64)}"
            )
            self.lines.append(self.store(number, self.first_record(mark_slot(self.program)), Format.F64))
        return wanted

    def _repeated(self, current: Expression, count: int) -> str:
        """The numbers that a row has one of, for so many of its elements."""
        return self.put_together(current.format, [self.names[current]] * count, ROWS_AT_ONCE)

    # ---- elements

    def _turn(
        self,
        count: int,
        begin: str,
        after: str,
        work: Work,
        known: Mapping[Expression, str],
        found: Sequence[Accumulator],
    ) -> list[str]:
        """The loop over so many elements of all rows at a time."""
        label = f"turn{count}"
        self.block = self.lanes = count * ROWS_AT_ONCE
        self.lines, self.names, self.label, self.at, self.steps = [], dict(known), label, f"%at{count}", {}
        self._fetch_ahead(work)
        self.region(work.roots, work.differing)
        for operand, value in work.stored:
            self._store_elements(operand, self.value(value), work.operand_types[operand])
        for accumulator in found:
            accumulator.accumulate(label)
        return [
            f"{label}:",
            f"  {self.at} = phi i64 [ {begin}, %before{count} ], [ %next{count}, %{self.label} ]",
            *(line for accumulator in found for line in accumulator.phis(label, f"before{count}", self.label)),
            *self.lines,
            f"  %next{count} = add nuw i64 {self.at}, {count}",
            f"  %more{count} = icmp ult i64 %next{count}, %limit{count}",
            f"  br i1 %more{count}, label %{label}, label %{after}",
        ]

    def address(self, operand: int, form: Format) -> str:
        """The address of the first element that is being computed, of the first row."""
        offset = self.emit_scalar(f"mul i64 {self.at}, %step{operand}")
        address = self.emit_scalar(f"getelementptr i8, ptr %operand{operand}, i64 {offset}")
        self.steps[address] = f"%step{operand}"
        return address

    def _addresses(self, address: str) -> list[str]:
        """The addresses of all elements that are being computed, of the first row."""
        found = [address]
        while len(found) * ROWS_AT_ONCE < self.block:
            found.append(self.emit_scalar(f"getelementptr i8, ptr {found[-1]}, i64 {self.steps[address]}"))
        return found

    def load(self, address: str, form: Format) -> str:
        """The elements that are being computed, of all rows."""
        kind, alignment = f"<{ROWS_AT_ONCE} x {TYPES[form]}>", natural_alignment(form)
        parts = [self.emit(f"load {kind}, ptr {place}, align {alignment}") for place in self._addresses(address)]
        return self.put_together(form, parts, ROWS_AT_ONCE)

    def _store_elements(self, operand: int, value: str, form: Format) -> None:
        kind, alignment = f"<{ROWS_AT_ONCE} x {TYPES[form]}>", natural_alignment(form)
        places = self._addresses(self.address(operand, form))
        for part, place in zip(self.taken_apart(form, value, ROWS_AT_ONCE), places, strict=True):
            self.lines.append(f"  store {kind} {part}, ptr {place}, align {alignment}")

    def _fetch_ahead(self, work: Work) -> None:
        """Software prefetch of what later columns read. There need not be any memory."""
        self.declarations["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        read = {n.attribute: n.format for n in walk(*work.roots) if n.operation == "input"}
        for operand, form in sorted(read.items()):
            for place in self._addresses(self.address(operand, form)):
                for offset in range(0, ROWS_AT_ONCE * form.bits // 8, 64):
                    line = self.emit_scalar(f"getelementptr i8, ptr {place}, i64 {BYTES_AHEAD + offset}")
                    self.lines.append(f"  call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")
