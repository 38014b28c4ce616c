"""Fuse: several programs, one after the other on the same elements, become one.

What is rounded to an element type between two operators stays rounded, so fusing changes no bit; it saves
the trips through memory. The fast paths of the programs become one (usual.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.dtypes import ElementType
from ogive.expression import node
from ogive.transform.program import STORAGE, Program, substituted
from ogive.transform.usual import usual_of_steps

__all__ = ["fuse"]


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
        return program
    return Program(
        tuple(inputs),
        tuple(types[i] for i in outputs),
        tuple(values[i] for i in outputs),
        parameter_count=first,
        usual=usual_of_steps(inputs, steps, outputs, values),
    )
