"""Fuse: several programs, one after the other on the same elements, become one.

Numbers that are rounded to an element type between two operators stay rounded, so fusing changes no bit; it saves
the trips through memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, node
from ogive.lowering.cost import usual_cost
from ogive.lowering.float_float_results import level_in_pairs
from ogive.lowering.numerics.truths import either
from ogive.lowering.program import MASK, Level, Number, Program, substituted

__all__ = ["fuse", "later_of_steps"]


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
    steps = tuple(steps)
    values, types, first, undecided = _substituted(inputs, steps)
    if len(steps) == 1 and [*steps[0][1], *outputs] == list(range(len(types))):
        return steps[0][0]
    made = Program(
        tuple(inputs),
        tuple(types[i] for i in outputs),
        tuple(values[i] for i in outputs),
        parameter_count=first,
        undecided=undecided,
        later=later_of_steps(
            steps,
            lambda found: fuse(inputs, found, outputs),
            None if undecided is None else lambda: _repair(inputs, steps, outputs),
        ),
        decide=lambda operands, parameters: _decide(steps, outputs, operands, parameters),
        is_fused=True,
    )
    forms: list[Program] = []
    for place in range(max((len(program.first_levels) for program, _ in steps), default=0)):
        levels = [(program, *program.first_levels)[: place + 2][-1] for program, _ in steps]
        form = _form(inputs, steps, outputs, levels, made, math.inf if forms else usual_cost(made))
        if form is None:
            break
        forms.append(form)
    return replace(made, first_levels=tuple(forms))


def _form(
    inputs: Sequence[ElementType],
    steps: Sequence[tuple[Program, Sequence[int]]],
    outputs: Sequence[int],
    levels: Sequence[Program],
    made: Program,
    price: float,
) -> Program | None:
    """The program of these levels of the steps, before the one that is made of the steps."""
    made_of = [(level, given) for level, (_, given) in zip(levels, steps, strict=True)]
    values, _, _, undecided = _substituted(inputs, made_of)
    assert undecided is not None
    return level_in_pairs(made, tuple(values[i] for i in outputs), undecided, price)


def _substituted(
    inputs: Sequence[ElementType], steps: Sequence[tuple[Program, Sequence[int]]]
) -> tuple[list[Expression], list[ElementType], int, Expression | None]:
    """The values and their types, the number of parameters, and where a value is undecided."""
    values = [node(ops.INPUT, (), i, STORAGE[t.name]) for i, t in enumerate(inputs)]
    types = list(inputs)
    tests: list[Expression] = []
    first = 0
    for program, operands in steps:
        given = tuple(types[i] for i in operands)
        if given != program.inputs:
            raise ValueError(f"fuse: a step for {program.inputs} gets {given}")
        if program.stages:
            raise ValueError("fuse: a step looks at whole rows")
        end = first + program.parameter_count
        given_values = [values[i] for i in operands]
        values.extend(substituted(program.results, given_values, first, end))
        types.extend(program.outputs)
        tests.extend(() if program.undecided is None else substituted((program.undecided,), given_values, first, end))
        first = end
    return values, types, first, either(*tests)


def later_of_steps(
    steps: Sequence[tuple[Program, Sequence[int]]],
    fused: Callable[[Sequence[tuple[Program, Sequence[int]]]], Program],
    repair: Callable[[], Program] | None,
) -> tuple[Level, ...]:
    """The later levels of fused programs: at each place the steps' own, or the last before the repair of a step that has fewer."""
    tested = [[level for level in program.later if not level.has_mask] for program, _ in steps]

    def at(place: int) -> Program:
        levels = [own[: place + 1] for own in tested]
        made = [own[-1].make() if own else program for own, (program, _) in zip(levels, steps, strict=True)]
        return fused([(program, given) for program, (_, given) in zip(made, steps, strict=True)])

    last = () if repair is None else (Level(repair, has_mask=True),)
    return (*(Level(partial(at, place)) for place in range(max(map(len, tested), default=0))), *last)


def _repair(
    inputs: Sequence[ElementType], steps: Sequence[tuple[Program, Sequence[int]]], outputs: Sequence[int]
) -> Program:
    """The repair of fused programs: one step after the other, those that decide all as they are."""
    values = [node(ops.INPUT, (), i, STORAGE[t.name]) for i, t in enumerate(inputs)]
    types = list(inputs)
    mask = node(ops.CONSTANT, (), 0, Format.U8)
    first = 0
    for program, operands in steps:
        end = first + program.parameter_count
        made = program.later[-1].make() if program.has_mask_at_end else program
        found = list(substituted(made.results, [values[i] for i in operands], first, end))
        if program.has_mask_at_end:
            mask = node(ops.OR, (mask, found.pop()), None, Format.U8)
        values.extend(found)
        types.extend(program.outputs)
        first = end
    results = (*(values[i] for i in outputs), mask)
    return Program(tuple(inputs), (*(types[i] for i in outputs), MASK), results, parameter_count=first)


def _decide(
    steps: Sequence[tuple[Program, Sequence[int]]],
    outputs: Sequence[int],
    operands: Sequence[Number],
    parameters: Sequence[float],
) -> tuple[Number, ...]:
    """The results for the operands of one element: each step's are rounded before the next step takes them."""
    values = list(operands)
    first = 0
    for program, numbers in steps:
        end = first + program.parameter_count
        assert program.decide is not None
        values.extend(program.decide([values[i] for i in numbers], parameters[first:end]))
        first = end
    return tuple(values[i] for i in outputs)
