"""Fuse: several programs, one after the other on the same elements, become one.

What is rounded to an element type between two operators stays rounded, so fusing changes no bit; it saves
the trips through memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.dtypes import ElementType
from ogive.expression import Expression, node, walk
from ogive.transform.program import STORAGE, Program

__all__ = ["fuse", "substituted"]


def fuse(
    inputs: Sequence[ElementType],
    steps: Sequence[tuple[Program, Sequence[int]]],
    outputs: Sequence[int],
) -> Program:
    """One program for a sequence of programs.

    Values are numbered: the ``inputs`` first, then the results of each step in turn. A step is a program
    and the numbers of its operands; ``outputs`` are the numbers of the values that are wanted. Parameters
    that steps leave open stay open: those of a step follow those of the steps before it.
    """
    values = [node("input", (), i, STORAGE[t.name]) for i, t in enumerate(inputs)]
    types = list(inputs)
    first = 0
    for program, operands in steps:
        given = tuple(types[i] for i in operands)
        if given != program.inputs:
            raise ValueError(f"fuse: a step for {program.inputs} gets {given}")
        if program.stages:
            raise ValueError("fuse: a step looks at whole rows")
        end = first + program.parameter_count
        values.extend(substituted(program.results, [values[i] for i in operands], first, end))
        types.extend(program.outputs)
        first = end
    if len(steps) == 1 and [*operands, *outputs] == list(range(len(types))):
        return program  # with what it has for usual operands
    return Program(
        tuple(inputs),
        tuple(types[i] for i in outputs),
        tuple(values[i] for i in outputs),
        parameter_count=first,
    )


def substituted(
    roots: Sequence[Expression], operands: Sequence[Expression], first: int, end: int
) -> tuple[Expression, ...]:
    """The graphs with ``operands`` in the place of their inputs, their parameters numbered ``first`` to ``end``."""
    done: dict[Expression, Expression] = {}
    for current in walk(*roots):
        if current.operation == "input":
            done[current] = operands[current.attribute]
        elif current.operation == "parameter":
            position, name = current.attribute
            if first + position >= end:
                raise ValueError(f"fuse: parameter {name} of a step is not bound")
            done[current] = node("parameter", (), (first + position, name), current.format)
        else:
            inner = tuple(done[operand] for operand in current.operands)
            done[current] = node(current.operation, inner, current.attribute, current.format)
    return tuple(done[root] for root in roots)
