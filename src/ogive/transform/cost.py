"""What a program costs: an estimate of its time, to choose between two that compute the same bits.

The unit is the time of one fused multiply-add on a register of float32; the costs are throughputs of loops of one
instruction on 12 registers, measured on the processor of docs/performance.md. No cost decides a bit of a result: which
arithmetic a formula gets is a rule of its own (policy.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ogive.expression import ELEMENTS, Expression, is_extreme, walk

__all__ = ["cost", "eager_operands", "varying"]

#: Instructions that take longer than a multiplication, or not as long. A conversion between float32 and float64 also
#: takes a register apart, or joins two.
COSTS = {
    "input": 0.0,
    "constant": 0.0,
    "negate": 0.5,
    "absolute": 0.5,
    "and": 0.5,
    "or": 0.5,
    "exclusive_or": 0.5,
    "not": 0.5,
    "copy_sign": 0.5,
    "select": 0.5,
    "select_rare": 4.0,
    "bitcast": 0.0,
    "less": 2.0,
    "less_equal": 2.0,
    "equal": 2.0,
    "scale_by_power_of_two": 2.0,
    "multiply_to_odd": 7.5,
    "divide": 6.0,
    "square_root": 10.0,
    "convert": 3.5,
}


def varying(roots: Sequence[Expression], leaves: Collection[str] = ELEMENTS) -> set[Expression]:
    """The nodes of primitive graphs that these leaves make differ."""
    found: set[Expression] = set()
    for current in walk(*roots):
        if current.operation in leaves or any(operand in found for operand in current.operands):
            found.add(current)
    return found


def eager_operands(current: Expression) -> Sequence[Expression]:
    """The operands that are needed whatever the values: of a rare select the condition and the common value."""
    return current.operands[::2] if current.operation == "select_rare" else current.operands


def cost(roots: Sequence[Expression]) -> float:
    """What an element costs that needs none of the rare values."""
    among = varying(roots)
    nodes = [current for current in walk(*roots, operands=eager_operands) if current in among]
    # A choice of the larger or the smaller is one instruction.
    extremes = set(filter(is_extreme, nodes))
    conditions = {n.operands[0] for n in extremes}
    return sum(_width(n) if n in extremes else _cost(n) for n in nodes if n not in conditions)


def _cost(current: Expression) -> float:
    return COSTS.get(current.operation, 1.0) * _width(current)


#: Twice the registers take less than twice the time: loops in float64 wait less.
WIDTH_OF_FLOAT64 = 1.72


def _width(current: Expression) -> float:
    """The cost of the width of the operands, relative to float32."""
    return WIDTH_OF_FLOAT64 if max(operand.format.bits for operand in (current, *current.operands)) == 64 else 1.0
