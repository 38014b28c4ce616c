"""What a well-formed graph is: conditions that hold for every node, and the rule of each kind of node.

Tests run it after every pass, so that a pass which breaks a graph is named at once.
"""

from __future__ import annotations

from typing import Literal

from ogive.errors import OgiveError
from ogive.expression import Expression, walk
from ogive.operations import OPERATIONS

__all__ = ["MalformedGraph", "verify"]


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
