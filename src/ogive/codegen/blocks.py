"""How many elements the code takes at a time."""

from __future__ import annotations

from collections import Counter

from ogive.codegen.target import Target
from ogive.transform.cost import varying
from ogive.transform.program import Program, Summation

__all__ = ["block_size", "blocks_at_a_time", "elements_of_a_group"]


def block_size(program: Program) -> int:
    """How many elements the code takes at least; it computes multiples of that.

    Of rows, as many as their reductions have lanes. Else as many as fill a register of 64 bytes with the widest format of
    which there is more than a little. Many operands make it smaller, because incomplete blocks are staged in a buffer
    of 32 KiB.
    """
    if program.stages:
        return max(reduction.lanes for stage in program.stages for reduction in stage.reductions)
    formats = Counter(current.format.bits for current in varying(program.roots))
    widest = max((bits for bits, count in formats.items() if 4 * count > max(formats.values())), default=8)
    lanes = 64 * 8 // max(widest, 8)
    bytes_per_element = sum(t.itemsize for t in (*program.inputs, *program.outputs))
    while lanes * bytes_per_element > 32768:
        lanes //= 2
    return lanes


#: Registers that a value fills in the loop over several blocks; and of the longest ones, of which there are 32, as many
#: as hold these elements: with 64 numbers of float64 at a time instead of 32, mish takes 16 % less time, tan and
#: acosh 8 to 14 %, swiglu, sinh, cosh and gelu 4 to 6 %, most others 2 to 7 %.
REGISTERS_AT_A_TIME, ELEMENTS_AT_A_TIME = 4, 64

#: Fused programs of more instructions take half as many: 200 nodes one after the other compile in 160 ms so, in place of
#: 210, and run in 1.8 ms for 65,536 elements, in place of 0.9; one register would be 100 and 3.4.
LONG_PROGRAM = 500


def blocks_at_a_time(program: Program, target: Target) -> int:
    """How many blocks the first loop takes at a time; 1 if there is none."""
    registers = REGISTERS_AT_A_TIME
    wanted = ELEMENTS_AT_A_TIME // block_size(program)
    if target.vector_bytes == 64:
        registers = max(registers, wanted)
    if program.size > LONG_PROGRAM:
        registers //= 2
    return max(2 if _adds_pairs(program) else 1, registers * target.vector_bytes // 64)


def elements_of_a_group(program: Program, of_a_turn: int) -> int:
    """What divides the number of elements that the loop over several blocks takes, if a turn takes so many."""
    # What is added in pairs must not depend on how many blocks a target takes at a time.
    if _adds_pairs(program):
        return max(block_size(program) * REGISTERS_AT_A_TIME, ELEMENTS_AT_A_TIME)
    return of_a_turn


def _adds_pairs(program: Program) -> bool:
    return any(reduction.summation is Summation.IN_PAIRS for stage in program.stages for reduction in stage.reductions)
