"""The definition of a well-formed graph: conditions that hold for every node, and the rule of each kind of node.

Tests run it after every pass, so that a pass which breaks a graph is named at once. For programs it also says whether
a result depends on an estimate, whose bits differ from machine to machine, without a test that sees the estimate too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ogive.errors import OgiveError
from ogive.expression import Expression, walk
from ogive.operations import OPERATIONS
from ogive.program import Program

__all__ = ["MalformedGraph", "verify", "verify_program"]


class MalformedGraph(OgiveError, AssertionError):
    """A pass has produced a node that its stage does not allow."""


def verify(*roots: Expression, stage: Literal["formula", "primitive"]) -> None:
    """Raise MalformedGraph at the first node that the stage does not allow."""
    for current in walk(*roots):
        row = OPERATIONS.get(current.operation)
        rule = None if row is None else row.in_formulas if stage == "formula" else row.in_programs
        if row is None or rule is None:
            raise MalformedGraph(f"{stage} graph: there is no operation {current.operation!r} at this stage")
        if len(current.operands) != row.arity:
            raise MalformedGraph(f"{stage} graph: {current.operation} has {len(current.operands)} operands")
        if current.format.is_machine != (stage == "primitive"):
            raise MalformedGraph(f"{stage} graph: {current.operation} has format {current.format.value}")
        if not rule(current):
            raise MalformedGraph(
                f"{stage} graph: {current.operation} of {[operand.format.value for operand in current.operands]} "
                f"gives {current.format.value} with attribute {current.attribute!r}"
            )


def verify_program(program: Program) -> None:
    """The same of all graphs of a program; and of results that could differ between machines."""
    verify(*program.roots, stage="primitive")
    verify(*program.tests, stage="primitive")
    if program.paired is not None:
        verify_program(program.paired)
    _verify_estimates("results", program.results, program.undecided)
    if program.fast_path is not None:
        fast = program.fast_path
        verify(fast.magnitude, fast.limit, *fast.results, stage="primitive")
        _verify_estimates("results of the fast path", fast.results, fast.undecided)
    reduced = [reduction.value for stage in program.stages for reduction in stage.reductions]
    if program.undecided is None:  # what is reduced is part of any test of what follows
        _verify_estimates("numbers of a row", reduced, None)


def _verify_estimates(what: str, results: Sequence[Expression], test: Expression | None) -> None:
    seen = set() if test is None else set(walk(test))
    for current in walk(*results):
        if OPERATIONS[current.operation].is_estimate and current not in seen:
            raise MalformedGraph(f"{what} depend on {current.operation}, which no rounding test sees")
