"""Fuse: several programs, one after the other on the same elements, become one.

What is rounded to an element type between two operators stays rounded, so fusing changes no bit; it saves
the trips through memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.dtypes import ElementType
from ogive.expression import Expression, node, walk
from ogive.transform.lower import STORAGE, Program

__all__ = ["fuse"]


def fuse(
    inputs: Sequence[ElementType],
    steps: Sequence[tuple[Program, Sequence[int]]],
    outputs: Sequence[int],
) -> Program:
    """One program for a sequence of programs.

    Values are numbered: the ``inputs`` first, then the results of each step in turn. A step is a program
    and the numbers of its operands; ``outputs`` are the numbers of the values that are wanted.
    """
    values = [node("input", (), i, STORAGE[t.name]) for i, t in enumerate(inputs)]
    types = list(inputs)
    for program, operands in steps:
        given = tuple(types[i] for i in operands)
        if given != program.inputs:
            raise ValueError(f"fuse: a step for {program.inputs} gets {given}")
        values.extend(_substituted(program, [values[i] for i in operands]))
        types.extend(program.outputs)
    return Program(tuple(inputs), tuple(types[i] for i in outputs), tuple(values[i] for i in outputs))


def _substituted(program: Program, operands: Sequence[Expression]) -> list[Expression]:
    done: dict[Expression, Expression] = {}
    for current in walk(*program.results):
        if current.operation == "input":
            done[current] = operands[current.attribute]
        elif current.operation == "parameter":
            raise ValueError(f"fuse: parameter {current.attribute[1]} of a step is not bound")
        else:
            inner = tuple(done[operand] for operand in current.operands)
            done[current] = node(current.operation, inner, current.attribute, current.format)
    return [done[result] for result in program.results]
