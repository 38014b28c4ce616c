"""The task of each function of a program, and where a row's numbers lie in its record.

In a record lie the parameters, the length, the findings of all stages, what a stage computes for all rows at once, and in
how many elements a result is undecided.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ogive.backends.blocks import lanes_of_rows
from ogive.backends.writer import first_finding
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, node, varying
from ogive.lowering.program import Program, Reduction

#: How many numbers a stage may compute for all its rows at once; they follow the findings of all stages.
MOST_AHEAD = 16


def finding_slot(program: Program, stage: int) -> int:
    """The slot of a row's record at which a stage's numbers begin: behind those of the stages before it."""
    return first_finding(program) + 2 * sum(len(s.reductions) for s in program.stages[:stage])


def mark_slot(program: Program) -> int:
    """The slot of a row's record with the number of undecided elements, which the last stage counts."""
    return finding_slot(program, len(program.stages)) + MOST_AHEAD


def _marks(program: Program, differing: AbstractSet[Expression]) -> Reduction | None:
    """The counter of undecided elements; None where a row is undecided as a whole."""
    undecided = program.undecided
    if undecided is None or undecided not in differing:
        return None
    form = Format.F64 if lanes_of_rows(program) < 16 else Format.F32
    one, zero = (node(ops.CONSTANT, (), number, form) for number in (1.0, 0.0))
    return Reduction("row_sum", node(ops.SELECT, (undecided, one, zero), None, form))


@dataclass(frozen=True)
class Work:
    """The task of one function: a stage, or behind the stages what computes the results."""

    reductions: tuple[Reduction, ...]
    """The numbers that a row is reduced to; behind the stages the number of undecided elements, if elements are."""
    slot: int
    """The slot of a row's record for these numbers."""
    stored: tuple[tuple[int, Expression], ...]
    """(operand, value) of elements."""
    of_rows: tuple[tuple[int, Expression], ...]
    """(operand, value) of what a row has one of."""
    roots: tuple[Expression, ...]
    """The results for elements."""
    marks_row: bool
    """Whether it says of a row as a whole that it is undecided."""
    everything: tuple[Expression, ...]
    """All roots, the test included."""
    differing: frozenset[Expression]
    """The nodes that differ from element to element."""
    operand_types: tuple[Format, ...]

    @property
    def counted(self) -> list[Expression]:
        """The conditions that are counted: they are added up themselves, although their choice may be made before."""
        return [r.value.operands[0] for r in self.reductions if r.value.operation == ops.SELECT]


def work_of(program: Program, stage: int) -> Work:
    """The task of the function of this number."""
    is_last = stage == len(program.stages)
    reductions = () if is_last else program.stages[stage].reductions
    stored = tuple(enumerate(program.results, start=len(program.inputs))) if is_last else program.stages[stage].kept
    of_rows = tuple(place for place in stored if place[0] in program.row_operands)
    stored = tuple(place for place in stored if place not in of_rows)
    tests = [program.undecided] if is_last and program.undecided is not None else []
    roots = [*(reduction.value for reduction in reductions), *(value for _, value in stored)]
    everything = (*roots, *(value for _, value in of_rows), *tests)
    differing = varying(everything)
    marks = _marks(program, differing) if program.stages and tests else None
    if marks is not None:
        reductions = (marks,)
        roots.append(marks.value)
        differing |= varying([marks.value])
    return Work(
        reductions,
        finding_slot(program, stage) if marks is None else mark_slot(program),
        stored,
        of_rows,
        tuple(roots),
        bool(program.stages and tests and marks is None),
        everything,
        frozenset(differing),
        (*(STORAGE[t.name] for t in (*program.inputs, *program.outputs)), *program.scratch),
    )
