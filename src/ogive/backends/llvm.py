"""The only emitter: a primitive graph as LLVM IR.

A function for each stage: nodes that depend on parameters alone are computed once, as scalars, before the loops
(loops.py), in which nodes.py writes the others with the rows of the target. There is no fast-math flag, no
contraction and no call of a library function anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ogive.backends.accumulators import accumulators
from ogive.backends.arm import NEON
from ogive.backends.blocks import block_size
from ogive.backends.columns import ColumnWriter
from ogive.backends.instructions import ROWS
from ogive.backends.loops import CpuLoops, loops_of
from ogive.backends.row_records import MOST_AHEAD, finding_slot, mark_slot, work_of
from ogive.backends.software import FMA, HALF, ROUNDING
from ogive.backends.target import Target
from ogive.backends.writer import ROWS_AT_ONCE, TYPES, Row, natural_alignment
from ogive.backends.x86 import AVX2, AVX512
from ogive.graph.expression import Expression, Format, varying, walk
from ogive.lowering.program import Program

#: By the names that targets use (`Target.tables`).
TABLES: dict[str, dict[str, Row]] = {
    "avx2": AVX2,
    "avx512": AVX512,
    "neon": NEON,
    "fma in software": FMA,
    "half in software": HALF,
    "rounding in software": ROUNDING,
}


def rows_of(target: Target) -> Mapping[str, Row]:
    """The row of each primitive."""
    return _rows(target.tables)


@cache
def _rows(tables: tuple[str, ...]) -> Mapping[str, Row]:
    rows = dict(ROWS)
    for name in tables:
        rows |= TABLES[name]
    return rows


#: Some processors of the highest level are tuned for half its width; the full one is faster on all we measured.
ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'


def entries(program: Program) -> list[str]:
    """The names of the functions that `emit` defines: one per stage, and the one that computes the results."""
    return [f"stage{i}" for i in range(len(program.stages) + 1)]


#: The attributes that the functions' texts refer to by number.
METADATA = ('!0 = !{!"branch_weights", i32 1, i32 1000}', "!1 = !{i32 1}")


def emit(program: Program, target: Target, *, of_columns: bool = False) -> str:
    """The module whose functions (`entries`) compute a program: for a multiple of `block_size` elements, or for columns."""
    names, writer_class = entries(program), ColumnWriter if of_columns else _StageFunction
    writers = [writer_class(target, block_size(program, target), program, rows_of(target)) for _ in names]
    functions = [writer.function(name, i) for i, (writer, name) in enumerate(zip(writers, names, strict=True))]
    declarations = dict.fromkeys(
        text for writer in writers for text in (*writer.declarations.values(), *writer.definitions.values())
    )
    attributes = f'attributes #0 = {{ {ATTRIBUTES} "tune-cpu"="{target.tuning.scheduled_for}" }}'
    return "\n".join([f'target triple = "{target.triple}"', *declarations, *functions, attributes, *METADATA, ""])


@dataclass
class _StageFunction(CpuLoops):
    """Writes one function."""

    def function(self, name: str, stage: int) -> str:
        """The text of a stage, or of what computes the results."""
        program = self.program
        self.between = 0 < stage < len(program.stages)
        work = work_of(program, stage)
        roots, differing, operand_types = work.roots, work.differing, work.operand_types
        ahead = _ahead([*roots, *(value for _, value in work.of_rows)], differing)
        head = self.head(name, len(operand_types), self._ahead(ahead))
        for i, current in enumerate(ahead):
            kind = TYPES[current.format]
            address = self.first_record(finding_slot(program, len(program.stages)) + i)
            address = self.emit(f"getelementptr {kind}, ptr {address}, i64 %row")
            self.scalars[current] = self.emit(f"load {kind}, ptr {address}, align {natural_alignment(current.format)}")
        needed = (*work.everything, *work.counted)
        for current in walk(*needed, operands=lambda n: () if n in self.scalars else n.operands):
            if current not in differing and current not in self.scalars:
                self.node(current)
        for operand, result in work.of_rows:
            self.invariant_lines.append(self.store(self.value(result), f"%operand{operand}", operand_types[operand]))
        if work.marks_row:
            self._mark_row(program)
        found = accumulators(self, work.reductions)
        loops = loops_of(program, self.target) if roots else []
        lines, before, last = [], "", ""
        for loop in loops:
            lines.append(f"{loop.check}:")
            if before:
                lines += [line for accumulator in found for line in accumulator.joints(loop.check, before, last)]
            if loop.streams:
                lines.append(f"  %whole.{loop.name} = and i64 %count, {-loop.group}")
                lines.append(f"  {loop.limit} = select i1 %stream, i64 %whole.{loop.name}, i64 0")
            elif not loop.is_incomplete:
                lines.append(f"  {loop.limit} = and i64 %count, {-loop.group}")
            lines += [
                f"  %some.{loop.name} = icmp ult i64 {loop.begin}, {loop.limit}",
                f"  br i1 %some.{loop.name}, label %{loop.name}, label %{loop.after}",
                *self.loop(loop, roots, work.stored, operand_types, found),
            ]
            before, last = loop.check, self.label
        lines.append("done:")
        for accumulator in found:
            lines += accumulator.joints("done", before, last)
        aside = mark_slot(program) + 2
        lines += [line for accumulator in found for line in accumulator.put_aside(aside)]
        last_lines = [line for accumulator in found for line in accumulator.find(aside, work.slot)]
        start = [*self.invariant_lines, f"  br label %{loops[0].check if loops else 'done'}"]
        return "\n".join([*head, *start, *lines, *self.foot(last_lines)])

    def _mark_row(self, program: Program) -> None:
        assert program.undecided is not None
        number = self.emit(f"uitofp i1 {self.value(program.undecided)} to double")
        self.invariant_lines.append(f"  store double {number}, ptr {self.record(mark_slot(program))}, align 8")

    def _ahead(self, nodes: Sequence[Expression]) -> list[str]:
        """The numbers that differ from row to row only, for all rows at once, into their records."""
        if not nodes:
            return []
        block, self.block, self.label, self.is_ahead = self.block, ROWS_AT_ONCE, "entry", True
        differing = varying(nodes, ("row_value",))
        for current in walk(*nodes):
            if current not in differing:
                self.node(current)
        self.lanes = self.block
        self.region(nodes, differing)
        for i, current in enumerate(nodes):
            slot = finding_slot(self.program, len(self.program.stages)) + i
            self.lines.append(self.store(self.value(current), self.record(slot), current.format))
        lines = [*self.invariant_lines, *self.lines]
        self.block, self.lanes, self.is_ahead = block, 1, False
        self.lines, self.invariant_lines, self.names, self.scalars = [], [], {}, {}
        return lines


def _ahead(roots: Sequence[Expression], differing: frozenset[Expression]) -> list[Expression]:
    """The numbers that a stage computes for all its rows at once: what elements meet that depends on the row."""
    of_rows = varying(roots, ("row_value",)) - varying(roots, ("row_input",)) - differing
    met = {operand: None for current in walk(*roots) if current in differing for operand in current.operands}
    met |= dict.fromkeys(roots)
    return [n for n in met if n in of_rows and n.operands and n.format in (Format.F32, Format.F64)][:MOST_AHEAD]
