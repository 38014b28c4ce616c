"""How many elements the code takes at a time."""

from __future__ import annotations

from collections import Counter

from ogive.backends.target import Target
from ogive.graph.expression import varying
from ogive.lowering.program import Program, Summation


def block_size(program: Program, target: Target) -> int:
    """How many elements the code takes at least; it computes multiples of that.

    For rows, as many as their reductions have lanes. Else as many as fill a register of 64 bytes with the widest format of
    which there is more than a little. Many operands make it smaller, because incomplete blocks are staged in a buffer
    of 32 KiB.

    A repair fills one register of the target. It computes few elements, and half of a wheel is code of repairs: they are a
    fifth to two fifths as long so, and compile as much faster. Each element takes 0.8 to 1.7 times as long.
    """
    if program.stages:
        return lanes_of_rows(program)
    formats = Counter(current.format.bits for current in varying(program.roots))
    widest = max((bits for bits, count in formats.items() if 4 * count > max(formats.values())), default=8)
    lanes = (target.vector_bytes if program.is_repair else 64) * 8 // max(widest, 8)
    bytes_per_element = sum(t.itemsize for t in (*program.inputs, *program.outputs))
    while lanes * bytes_per_element > 32768:
        lanes //= 2
    return lanes


def lanes_of_rows(program: Program) -> int:
    """How many elements of a row are taken at least."""
    return max(reduction.lanes for stage in program.stages for reduction in stage.reductions)


#: Elements that are added in pairs are taken in groups of at least so many blocks and elements. The pairs that there are
#: decides bits of sums: these numbers never change, whatever a target's tuning.
BLOCKS_OF_A_GROUP, ELEMENTS_OF_A_GROUP = 4, 64


def blocks_at_a_time(program: Program, target: Target) -> int:
    """How many blocks the first loop takes at a time; 1 if there is none."""
    tuning, block = target.tuning, block_size(program, target)
    registers = max(tuning.registers_at_a_time, tuning.elements_at_a_time // block)
    is_long = program.size > tuning.long_program
    if any(
        t.name == "float64" for t in program.outputs
    ):  # in two words, which take twice the registers, and a test more
        is_long = program.size > tuning.long_program_of_doubles or program.undecided is not None
    if is_long:
        registers //= 2
    found = 1 if program.is_repair else max(1, registers * target.vector_bytes // 64)
    # Groups of pairs are taken as a whole.
    return min(max(2, found), _elements_of_pairs(block) // block) if _adds_pairs(program) else found


def elements_of_a_group(program: Program, of_a_turn: int) -> int:
    """A divisor of the number of elements that the loop over several blocks takes, if a turn takes so many."""
    return _elements_of_pairs(lanes_of_rows(program)) if _adds_pairs(program) else of_a_turn


def _elements_of_pairs(block: int) -> int:
    return max(block * BLOCKS_OF_A_GROUP, ELEMENTS_OF_A_GROUP)


def _adds_pairs(program: Program) -> bool:
    return any(r.summation is Summation.IN_PAIRS for stage in program.stages for r in stage.reductions)
