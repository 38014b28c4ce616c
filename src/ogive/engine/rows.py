"""Computations over rows: what a row's elements have in common, and what follows from it for each of them.

Rows lie along the last axis. A result is one of the rows' elements, or, of a reduction, one number a row, in an axis
of length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ogive.common.dtypes import ElementType
from ogive.common.forking import cached_property
from ogive.engine.computation import Computation, Formula, Fused, only_step, programs
from ogive.graph import operations as ops
from ogive.graph.expression import REDUCTIONS, REPEATED, Expression, python, walk

if TYPE_CHECKING:
    from ogive.lowering.program import Program

#: The room of a kernel (runtime/native/native.h): reductions, stages that reduce, open parameters, operands. Some
#: operands are left for rows that are kept between stages.
MOST_REDUCTIONS, MOST_STAGES, MOST_PARAMETERS, MOST_OPERANDS = 16, 7, 16, 32

#: So many reductions a sum takes at most, with what bounds its error.
REDUCTIONS_OF_A_SUM = 4

#: A product takes one for what it has beside its leading word.
REDUCTIONS_OF_A_PRODUCT = 2


@dataclass(frozen=True, eq=False)
class RowFormula:
    """A formula over rows; parameters that it leaves open stay open."""

    roots: tuple[Expression, ...]
    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    reduces: bool = False
    """Whether results are one number a row."""
    parameter_count: int = 0
    modular: bool = False
    """Whether integers are computed in integers, and wrap around: of formulas that reduce."""
    longest: int | None = None
    """How many elements a row may have, if there is a limit. Front ends refuse longer ones."""
    accuracy: str = "exact"
    """The contract."""
    is_row_wise: ClassVar[bool] = True
    needs_test: ClassVar[bool] = False

    @cached_property
    def reductions(self) -> int:
        """How many numbers a row is reduced to at most."""
        found = [current.operation for current in walk(*self.roots) if current.operation in REDUCTIONS]
        of_a_sum = 1 if any(t.name == "float64" for t in (*self.inputs, *self.outputs)) else REDUCTIONS_OF_A_SUM
        taken = {
            ops.ROW_SUM: of_a_sum,
            ops.ROW_PRODUCT: REDUCTIONS_OF_A_PRODUCT,
            ops.ROW_THRESHOLD: 2 * REDUCTIONS_OF_A_SUM,
            ops.ROW_SQUARE_THRESHOLD: 3 * REDUCTIONS_OF_A_SUM,
        }
        return sum(taken.get(operation, 1) for operation in found)

    @property
    def repeats(self) -> bool:
        """Whether a stage runs more than once; a kernel has nothing else then."""
        return any(current.operation in REPEATED for current in walk(*self.roots))

    @cached_property
    def stages(self) -> int:
        """How many of them wait for each other."""
        depth: dict[Expression, int] = {}
        for current in walk(*self.roots):
            below = max((depth[operand] for operand in current.operands), default=0)
            depth[current] = below + (current.operation in REDUCTIONS)
        return max(depth[root] for root in self.roots)

    row_operands = Formula.row_operands
    size = Formula.size

    @cached_property
    def identity(self) -> str:
        types = [[t.name for t in side] for side in (self.inputs, self.outputs)]
        more = (" modular" if self.modular else "") + ("" if self.accuracy == "exact" else f" {self.accuracy}")
        return f"rows {types} {self.reduces}{more} {self.parameter_count}\n{python(*self.roots)}"

    @property
    def key(self) -> str:
        return self.identity

    @cached_property
    def program(self) -> Program:
        from ogive.lowering.fold import fold
        from ogive.lowering.lower import lower

        roots = [fold(root) for root in self.roots]
        return lower(
            roots,
            self.inputs,
            self.outputs,
            modular=self.modular,
            parameter_count=self.parameter_count,
            reduces=self.reduces,
            accuracy=self.accuracy,
        )


@dataclass(frozen=True, eq=False)
class RowWords(RowFormula):
    """A number that a row has one of, before it is rounded: its two words in float64, and a bound of what they are wrong by."""

    reduces: bool = True

    @cached_property
    def identity(self) -> str:
        return f"words of {super().identity}"

    @cached_property
    def program(self) -> Program:
        from ogive.lowering.exact_rows import words_of_rows
        from ogive.lowering.fold import fold

        (root,) = self.roots
        return words_of_rows(fold(root), self.inputs)


@dataclass(frozen=True, eq=False)
class RowFused:
    """Computations over rows and over their elements, one after the other, in as few passes as they allow.

    Values are numbered as in :class:`ogive.engine.computation.Fused`. ``row_inputs`` are the inputs that have one number
    a row; ``row_results`` say of each result whether it has.
    """

    inputs: tuple[ElementType, ...]
    row_inputs: frozenset[int]
    steps: tuple[tuple[Computation | RowFormula, tuple[int, ...]], ...]
    results: tuple[int, ...]
    row_results: tuple[bool, ...]
    is_row_wise: ClassVar[bool] = True

    outputs = Fused.outputs

    @property
    def row_operands(self) -> frozenset[int]:
        first = len(self.inputs)
        return self.row_inputs | {first + i for i, is_of_row in enumerate(self.row_results) if is_of_row}

    @cached_property
    def only_step(self) -> RowFormula | None:
        step = None if self.row_inputs else only_step(self.inputs, self.steps, self.results)
        return step if isinstance(step, RowFormula) else None

    @cached_property
    def identity(self) -> str:
        if self.only_step is not None:
            return self.only_step.identity
        lines = [f"rows {[t.name for t in self.inputs]} {sorted(self.row_inputs)} -> {list(self.results)}"]
        lines += [f"{list(operands)}: {step.identity}" for step, operands in self.steps]
        return "\n".join(lines)

    @property
    def key(self) -> str:
        return self.identity

    @cached_property
    def program(self) -> Program:
        from ogive.lowering.fuse import fuse_rows

        if self.only_step is not None:  # computations of one identity have one program
            made = self.only_step.program
        else:
            made = fuse_rows(self.inputs, self.row_inputs, programs(self.steps), self.results)
        if made.row_operands != self.row_operands:
            raise ValueError("RowFused: a result has another shape than was said")
        return made


def rows_under(computation: RowFused, accuracy: str) -> RowFused:
    """The same computation, with what it has over rows under another accuracy contract."""
    steps = (
        (replace(step, accuracy=accuracy) if isinstance(step, RowFormula) else step, operands)
        for step, operands in computation.steps
    )
    return replace(computation, steps=tuple(steps))


def fits_a_kernel(steps: Sequence[tuple[Computation | RowFormula, tuple[int, ...]]], operands: int) -> bool:
    """Whether one kernel has room for these computations over so many operands."""
    reductions = sum(step.reductions for step, _ in steps if isinstance(step, RowFormula))
    parameters = sum(step.parameter_count for step, _ in steps)
    return (
        (len(steps) == 1 or not any(isinstance(step, RowFormula) and step.repeats for step, _ in steps))
        and reductions <= MOST_REDUCTIONS
        and sum(step.stages for step, _ in steps if isinstance(step, RowFormula)) <= MOST_STAGES
        and parameters <= MOST_PARAMETERS
        and operands <= MOST_OPERANDS
    )
