"""The definition of a well-formed graph: conditions that hold for every node, and the rule of each kind of node.

Tests run it after every pass, so that a pass which breaks a graph is named at once. For programs it also says whether
a result depends on an estimate, whose bits differ from machine to machine, without a test that sees the estimate too; and
whether a product or a quotient has a subnormal constant, which takes some processors a hundred cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ogive.errors import OgiveError
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, walk
from ogive.graph.operations import OPERATIONS
from ogive.lowering.program import Program

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
    _verify_constants(program)
    for form in program.first_levels:
        verify_program(form)
    _verify_estimates("results", program.results, program.undecided)
    reduced = [reduction.value for stage in program.stages for reduction in stage.reductions]
    if program.undecided is None:  # what is reduced is part of any test of what follows
        _verify_estimates("numbers of a row", reduced, None)


def _verify_estimates(what: str, results: Sequence[Expression], test: Expression | None) -> None:
    seen = set() if test is None else set(walk(test))
    for current in walk(*results):
        if OPERATIONS[current.operation].is_estimate and current not in seen:
            raise MalformedGraph(f"{what} depend on {current.operation}, which no rounding test sees")


def _verify_constants(program: Program) -> None:
    """No subnormal constant is an operand where processors take microcode for it. Bounds of float64 results are as small."""
    smallest = {Format.F32: 2.0**-126, Format.F64: 2.0**-1022}
    for current in walk(*program.roots):
        least = smallest.get(current.format)
        if least is None or current.operation not in (ops.FMA, ops.MULTIPLY, ops.DIVIDE):
            continue
        if current.format is Format.F64 and any(output.name == "float64" for output in program.outputs):
            continue
        constants = [n.attribute for n in current.operands if n.operation is ops.CONSTANT]
        if len(constants) < len(current.operands) and any(0 < abs(value) < least for value in constants):
            raise MalformedGraph(f"{current.operation} has the subnormal constant {min(map(abs, constants))}")
