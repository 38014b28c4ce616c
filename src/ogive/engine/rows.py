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
from ogive.engine.computation import INSTRUCTIONS, INSTRUCTIONS_OF_OTHERS
from ogive.expression import Expression, python, walk
from ogive.forking import cached_property, no_fork

if TYPE_CHECKING:
    from ogive.transform.program import Program

__all__ = ["RowComputation", "RowFormula", "make_row_ufunc"]


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

    @property
    def row_operands(self) -> frozenset[int]:
        count = len(self.inputs)
        return frozenset(range(count, count + len(self.outputs)) if self.reduces else ())

    @cached_property
    def identity(self) -> str:
        types = [[t.name for t in side] for side in (self.inputs, self.outputs)]
        return f"rows {types} {self.reduces} {self.parameter_count}\n{python(*self.roots)}"

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


class _ByIdentity:
    """A computation as a key: equal to every other one of its identity."""

    def __init__(self, computation: RowComputation) -> None:
        self.computation = computation

    def __hash__(self) -> int:
        return hash(self.computation.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.computation.identity == other.computation.identity


@lru_cache(maxsize=512)
def _kernel(key: _ByIdentity) -> _native.Kernel:
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
        loops=[(tuple(t.type_numbers[0] for t in operands), _kernel(_ByIdentity(computation)))],
        parameters=tuple(parameters),
        row_wise=True,
    )
