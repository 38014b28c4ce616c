"""The cost of a program: an estimate of its time, to choose between two that compute the same bits.

The unit is the time of one fused multiply-add on a register of float32; the costs are throughputs of loops of one
instruction on 12 registers, measured on the processor of docs/tables/performance.md. No cost decides a bit of a result.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.graph import operations as ops
from ogive.graph.expression import OPERATIONS, Expression, Format, eager_operands, is_extreme, varying, walk
from ogive.lowering.program import Program

#: Instructions that take longer than a multiplication, or not as long. A conversion between float32 and float64 also
#: takes a register apart, or joins two.
COSTS = {operation: operation.cost for operation in OPERATIONS.values() if operation.in_programs is not None}


#: No table has more numbers.
LONGEST_TABLE = 32

#: The cost of taking the lower halves of integers: one instruction for two registers.
COST_OF_HALVES = 1.0


def cost(
    roots: Sequence[Expression], dearer: Sequence[tuple[str, float]] = (), longest_table: int = LONGEST_TABLE
) -> float:
    """The cost of an element that needs none of the rare values.

    ``dearer``: kinds of operations that cost more on a target, each by so much; ``_kind`` has their names. Tables of more
    numbers than ``longest_table`` are the longer ones.
    """
    among, more = varying(roots), dict(dearer)
    nodes = [current for current in walk(*roots, operands=eager_operands) if current in among]
    # A choice of the larger or the smaller is one instruction.
    extremes = set(filter(is_extreme, nodes))
    conditions = {n.operands[0] for n in extremes}
    usual = sum(_width(n) if n in extremes else _cost(n) for n in nodes if n not in conditions)
    return usual + (sum(more.get(_kind(n, longest_table), 0.0) for n in nodes) if more else 0.0)


def with_undecided(results: Sequence[Expression], undecided: Expression | None) -> tuple[Expression, ...]:
    """The computation of a level for an element: its results, and where they are undecided."""
    return (*results, *(() if undecided is None else (undecided,)))


def usual_cost(program: Program, dearer: Sequence[tuple[str, float]] = (), longest_table: int = LONGEST_TABLE) -> float:
    """The cost of a program for an element, in all stages of rows."""
    return cost(program.roots, dearer, longest_table)


def _kind(current: Expression, longest_table: int) -> str:
    if current.operation == ops.TABLE:
        return "longer table" if len(current.attribute) > longest_table else "short table"
    if current.operation == ops.SELECT and current.format is Format.F64:
        return "select of float64"
    return str(current.operation)


#: By so much a program of the fast contract costs less than what the exact one computes first. Then it is measured to be
#: 1.25 times as fast or more; of less the exact kernel is the fast one, too: results of bfloat16 are computed alike under both.
LEAST_GAIN = 1.09

#: The same beside two levels in float32. The first asks whether operands of 16 bits are moderate, 32 at a time: that takes
#: less than half of what it is said to cost.
LEAST_GAIN_BESIDE_TWO = 1.18


def is_worth_it(fast: Program, exact: Program) -> bool:
    """Whether the fast contract has a program of its own beside the exact one."""
    gain = LEAST_GAIN_BESIDE_TWO if len(exact.first.later) > 2 else LEAST_GAIN
    return gain * usual_cost(fast) < usual_cost(exact.first)


def _cost(current: Expression) -> float:
    if current.operation == ops.CONVERT and current.format.is_integer and current.operands[0].format.is_integer:
        return COST_OF_HALVES
    return COSTS[current.operation] * _width(current)


#: Twice the registers take less than twice the time: loops in float64 wait less.
WIDTH_OF_FLOAT64 = 1.72


def _width(current: Expression) -> float:
    """The cost of the width of the operands, relative to float32."""
    bits = [operand.format.bits for operand in current.operands]
    return WIDTH_OF_FLOAT64 if 64 in (current.format.bits, *bits) else 1.0
