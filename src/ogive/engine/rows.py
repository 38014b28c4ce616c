"""Computations over rows: what a row's elements have in common, and what follows from it for each of them.

Rows lie along the last axis. A result is one of the rows' elements, or, of a reduction, one number a row, in an axis
of length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ogive import _native
from ogive.dtypes import ElementType
from ogive.engine.computation import INSTRUCTIONS, INSTRUCTIONS_OF_OTHERS, ByIdentity, Computation
from ogive.expression import REDUCTIONS, Expression, python, walk
from ogive.forking import cached_property, no_fork

if TYPE_CHECKING:
    from ogive.transform.program import Program

__all__ = ["RowComputation", "RowFormula", "RowFused", "fits_a_kernel", "make_row_ufunc"]

#: What a kernel has room for (runtime/native/native.h): reductions, stages that reduce, open parameters, operands. Of the
#: operands some are left for rows that are kept between stages.
MOST_REDUCTIONS, MOST_STAGES, MOST_PARAMETERS, MOST_OPERANDS = 8, 7, 16, 32


class RowComputation(Protocol):
    """What a kernel over rows computes: as in :class:`ogive.engine.computation.Computation`."""

    @property
    def inputs(self) -> tuple[ElementType, ...]: ...

    @property
    def outputs(self) -> tuple[ElementType, ...]: ...

    @property
    def row_operands(self) -> frozenset[int]:
        """The operands that have one number a row: inputs, then outputs, as they are counted."""

    @property
    def identity(self) -> str: ...

    @property
    def program(self) -> Program: ...


@dataclass(frozen=True, eq=False)
class RowFormula:
    """A formula over rows; parameters that it leaves open stay open."""

    roots: tuple[Expression, ...]
    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    reduces: bool = False
    """Whether results are one number a row."""
    parameter_count: int = 0

    @cached_property
    def reductions(self) -> int:
        """How many numbers a row is reduced to."""
        return sum(current.operation in REDUCTIONS for current in walk(*self.roots))

    @cached_property
    def stages(self) -> int:
        """How many of them wait for each other."""
        depth: dict[Expression, int] = {}
        for current in walk(*self.roots):
            below = max((depth[operand] for operand in current.operands), default=0)
            depth[current] = below + (current.operation in REDUCTIONS)
        return max(depth[root] for root in self.roots)

    @property
    def row_operands(self) -> frozenset[int]:
        count = len(self.inputs)
        return frozenset(range(count, count + len(self.outputs)) if self.reduces else ())

    @cached_property
    def identity(self) -> str:
        types = [[t.name for t in side] for side in (self.inputs, self.outputs)]
        return f"rows {types} {self.reduces} {self.parameter_count}\n{python(*self.roots)}"

    @property
    def key(self) -> str:
        return self.identity

    @cached_property
    def size(self) -> int:
        kinds = (current.operation for current in walk(*self.roots) if current.operands)
        return sum(INSTRUCTIONS.get(kind, INSTRUCTIONS_OF_OTHERS) for kind in kinds) + 1

    @cached_property
    def program(self) -> Program:
        from ogive.transform.fold import fold
        from ogive.transform.lower import lower

        roots = [fold(root) for root in self.roots]
        return lower(roots, self.inputs, self.outputs, parameter_count=self.parameter_count, reduces=self.reduces)


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

    @cached_property
    def outputs(self) -> tuple[ElementType, ...]:
        types = [*self.inputs, *(t for step, _ in self.steps for t in step.outputs)]
        return tuple(types[number] for number in self.results)

    @property
    def row_operands(self) -> frozenset[int]:
        first = len(self.inputs)
        return self.row_inputs | {first + i for i, is_of_row in enumerate(self.row_results) if is_of_row}

    @cached_property
    def identity(self) -> str:
        step, operands = self.steps[0]
        count = len(self.inputs)
        if len(self.steps) == 1 and isinstance(step, RowFormula) and (*operands, *self.results) == (*range(count + 1),):
            return step.identity
        lines = [f"rows {[t.name for t in self.inputs]} {sorted(self.row_inputs)} -> {list(self.results)}"]
        lines += [f"{list(operands)}: {step.identity}" for step, operands in self.steps]
        return "\n".join(lines)

    @property
    def key(self) -> str:
        return self.identity

    @cached_property
    def program(self) -> Program:
        from ogive.transform.fuse_rows import fuse_rows

        steps = [(step.program, operands) for step, operands in self.steps]
        made = fuse_rows(self.inputs, self.row_inputs, steps, self.results)
        if made.row_operands != self.row_operands:
            raise ValueError("RowFused: a result has another shape than was said")
        return made


def fits_a_kernel(steps: Sequence[tuple[Computation | RowFormula, tuple[int, ...]]], operands: int) -> bool:
    """Whether one kernel has room for these computations over so many operands."""
    reductions = sum(step.reductions for step, _ in steps if isinstance(step, RowFormula))
    parameters = sum(step.parameter_count for step, _ in steps)
    return (
        reductions <= MOST_REDUCTIONS
        and sum(step.stages for step, _ in steps if isinstance(step, RowFormula)) <= MOST_STAGES
        and parameters <= MOST_PARAMETERS
        and operands <= MOST_OPERANDS
    )


@lru_cache(maxsize=512)
def _kernel(key: ByIdentity[RowComputation]) -> _native.Kernel:
    made = key.computation
    with no_fork:  # a child could not load what was half loaded when it forked
        from ogive.runtime.kernels import make_kernel
    return make_kernel(
        made.inputs,
        made.outputs,
        lambda: made.program,
        row_wise=True,
        row_operands=made.row_operands,
        make_identity=lambda: made.identity,
    )


def make_row_ufunc(name: str, computation: RowComputation, parameters: Sequence[float] = ()) -> np.ufunc:
    """A gufunc that computes for operands of exactly the computation's element types.

    ``parameters`` are the values of the numbers that the computation leaves open.
    """
    operands = (*computation.inputs, *computation.outputs)
    return _native.make_ufunc(
        name=name,
        doc="",
        inputs=len(computation.inputs),
        outputs=len(computation.outputs),
        loops=[(tuple(t.type_numbers[0] for t in operands), _kernel(ByIdentity(computation)))],
        parameters=tuple(parameters),
        row_wise=True,
    )
