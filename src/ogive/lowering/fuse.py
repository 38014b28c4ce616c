"""Fuse: several programs, one after the other on the same elements or rows, become one.

Numbers that are rounded to an element type between two steps stay rounded, and a sum keeps its order (`Reduction.lanes`): fusing
changes no bit. It saves the trips through memory. A reduction comes in the stage after those that it depends on, whichever step it
is from; so two reductions of the same elements share a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, node, rewritten, walk
from ogive.lowering.cost import cost, usual_cost
from ogive.lowering.float_float_results import level_in_pairs
from ogive.lowering.numerics.truths import either
from ogive.lowering.program import MASK, DecideRow, Level, Number, Program, Reduction, Stage
from ogive.lowering.row_numbers import MOST_OF_SINGLE

#: A node that costs more than this is kept between stages, in a row of the kernel's own, and not computed again.
LARGEST_COMPUTED_AGAIN = 24.0

#: Rows of the kernel's own that keep what steps have computed.
MOST_KEPT = 4

#: Kept rows are operands from this number on until all are known.
FIRST_KEPT = 1 << 16

#: Programs with the numbers of their operands.
Steps = Sequence[tuple[Program, Sequence[int]]]


def fuse(inputs: Sequence[ElementType], steps: Steps, outputs: Sequence[int]) -> Program:
    """One program for a sequence of programs of elements.

    Values are numbered: the ``inputs`` first, then the results of each step in turn. A step is a program
    and the numbers of its operands; ``outputs`` are the numbers of the values that are wanted. Parameters
    that steps leave open stay open: those of a step follow those of the steps before it.
    """
    steps = tuple(steps)
    if any(program.stages for program, _ in steps):
        raise ValueError("fuse: a step looks at whole rows")
    joint = _Joint(inputs, None, steps)
    if len(steps) == 1 and [*steps[0][1], *outputs] == list(range(len(joint.types))):
        return steps[0][0]
    made = joint.program(outputs)
    later = _later(
        steps,
        lambda found: fuse(inputs, found, outputs),
        None if made.undecided is None else lambda: _repair(inputs, None, steps, outputs),
    )
    made = replace(made, later=later, decide=partial(_decide, steps, outputs), is_fused=True)
    forms: list[Program] = []
    for place in range(max((len(program.first_levels) for program, _ in steps), default=0)):
        levels = [((program, *program.first_levels)[: place + 2][-1], given) for program, given in steps]
        form = _Joint(inputs, None, levels).program(outputs)
        assert form.undecided is not None
        level = level_in_pairs(made, form.results, form.undecided, math.inf if forms else usual_cost(made))
        if level is None:
            break
        forms.append(level)
    return replace(made, first_levels=tuple(forms))


def fuse_rows(
    inputs: Sequence[ElementType],
    row_inputs: Collection[int],
    steps: Steps,
    outputs: Sequence[int],
) -> Program:
    """The same for programs of which some are over rows. ``row_inputs`` are the inputs that have one number a row."""
    steps = tuple(steps)
    made = _Joint(inputs, row_inputs, steps).program(outputs)
    if made.undecided is not None:
        made = replace(
            made,
            later=_later(
                steps,
                lambda found: fuse_rows(inputs, row_inputs, found, outputs),
                lambda: _repair(inputs, row_inputs, steps, outputs, of_row=made.marks_rows),
            ),
        )
    decide = partial(_decide_rows, steps, outputs)
    deciders = [program.decide_row for program, _ in steps if program.decide_row is not None]
    if len(steps) == len(deciders) == 1:
        factors = frozenset(steps[0][1][place] for place in deciders[0].factors)
        return replace(made, decide_row=replace(deciders[0], decide=decide, factors=factors))
    # A step may make numbers of any size of moderate operands.
    reach = min((decider.reach for decider in deciders), default=0)
    makes_others = any(decider.factors for decider in deciders) or any(t.name == "float64" for t in inputs)
    reach = 0 if makes_others or reach < MOST_OF_SINGLE else reach
    return replace(made, decide_row=DecideRow(decide, reach))


def _later(
    steps: Steps,
    fused: Callable[[Steps], Program],
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
    inputs: Sequence[ElementType],
    row_inputs: Collection[int] | None,
    steps: Steps,
    outputs: Sequence[int],
    *,
    of_row: bool = False,
) -> Program:
    """The repair of fused programs: one step after the other, those that decide all as they are."""
    joint = _Joint(inputs, row_inputs)
    places = list(range(len(joint.values)))
    masks: list[Expression] = []
    for program, operands in steps:
        made = program.later[-1].make() if program.has_mask_at_end else program
        first = len(joint.values)
        joint.add(made, [places[i] for i in operands])
        places += range(first, first + len(program.outputs))
        masks += joint.values[first + len(program.outputs) :]
    joint.values.append(reduce(lambda a, b: node(ops.OR, (a, b), None, Format.U8), masks))
    joint.types.append(MASK)
    joint.of_row.append(of_row)
    return replace(joint.program([*(places[i] for i in outputs), len(joint.values) - 1]), undecided=None)


def _decide(
    steps: Steps,
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


def _decide_rows(
    steps: Steps,
    outputs: Sequence[int],
    rows: Sequence[Sequence[Number]],
    parameters: Sequence[float],
    wanted: Sequence[int] | None = None,
) -> tuple[Sequence[Number], ...]:
    """The results for a row of each operand: each step's are rounded before the next step takes them.

    Steps are computed of whole rows, because a later one may reduce them.
    """
    values: list[Sequence[Number]] = list(rows)
    first = 0
    for program, numbers in steps:
        end = first + program.parameter_count
        given, own = [values[i] for i in numbers], parameters[first:end]
        if program.stages:
            assert program.decide_row is not None
            values.extend(program.decide_row(given, own))
        else:
            values.extend(_of_elements(program, given, own))
        first = end
    results = (values[i] for i in outputs)
    return tuple(row if wanted is None or len(row) == 1 else [row[place] for place in wanted] for row in results)


def _of_elements(
    program: Program, rows: Sequence[Sequence[Number]], parameters: Sequence[float]
) -> list[Sequence[Number]]:
    decide = program.decide
    assert decide is not None
    length = max(map(len, rows), default=1)
    known: dict[tuple[Number, ...], tuple[Number, ...]] = {}
    found = []
    for i in range(length):
        operands = tuple(row[i if len(row) > 1 else 0] for row in rows)
        if operands not in known or 0 in operands:  # zeros of both signs are the same key
            known[operands] = decide(operands, parameters)
        found.append(known[operands])
    return [list(results) for results in zip(*found, strict=True)]


class _Joint:
    def __init__(self, inputs: Sequence[ElementType], row_inputs: Collection[int] | None, steps: Steps = ()) -> None:
        self.inputs = tuple(inputs)
        self.types = list(inputs)
        self.has_rows = row_inputs is not None
        self.row_inputs = frozenset(row_inputs or ())
        self.values = [
            node(ops.ROW_INPUT if i in self.row_inputs else ops.INPUT, (), i, STORAGE[t.name])
            for i, t in enumerate(inputs)
        ]
        self.of_row = [i in self.row_inputs for i in range(len(inputs))]
        self.parameter_count = 0
        self.reductions: dict[Reduction, int] = {}
        """Each with its number, in the order in which they are found."""
        self.kept: dict[Expression, Expression] = {}
        """The kept node, and the operand that it is read from."""
        self.tests: list[Expression] = []
        """The condition that a step's result is undecided."""
        self.is_tested = True
        """Whether results of all steps over rows are the same in whatever order these are added up."""
        self.levels: dict[Expression, int] = {}
        """In which stage a node can be computed first."""
        for program, operands in steps:
            self.add(program, operands)

    def add(self, program: Program, operands: Sequence[int]) -> None:
        """Take over what a program computes."""
        given = tuple(self.types[i] for i in operands)
        if given != program.inputs:
            raise ValueError(f"fuse: a step for {program.inputs} gets {given}")
        if program.stages and self.of_row[operands[0]]:
            raise ValueError("fuse: the rows of a step over rows have one number")
        self.is_tested &= program.in_any_order
        leaves: dict[Expression, Expression] = {}
        for i, t in enumerate(program.inputs):
            leaves[node(ops.INPUT, (), i, STORAGE[t.name])] = self.values[operands[i]]
        first, count = self.parameter_count, 0
        self.parameter_count += program.parameter_count

        def taken(root: Expression) -> Expression:
            return _substituted(root, leaves, first)

        for stage in program.stages:
            found = [replace(reduction, value=taken(reduction.value)) for reduction in stage.reductions]
            kept = [(operand, value.format, taken(value)) for operand, value in stage.kept]
            for reduction in found:
                number = self.reductions.setdefault(reduction, len(self.reductions))
                for part in (0, 1):
                    leaves[node(ops.ROW_VALUE, (), (count, part), Format.F64)] = _row_value(number, part)
                count += 1
            for operand, form, value in kept:
                leaves[node(ops.INPUT, (), operand, form)] = self._keep(value)
        self.values += [taken(root) for root in program.results]
        if program.undecided is not None:
            self.tests.append(taken(program.undecided))
        self.types += program.outputs
        # A constant has no operands.
        is_common = self.has_rows and not program.stages and all(self.of_row[i] for i in operands)
        is_of_row = bool(program.row_operands) or is_common
        self.of_row += [is_of_row] * len(program.outputs)

    def _keep(self, value: Expression) -> Expression:
        """The operand from which a value is read again."""
        return self.kept.setdefault(value, node(ops.INPUT, (), FIRST_KEPT + len(self.kept), value.format))

    # ---- stages

    def _level(self, root: Expression) -> int:
        """The stage in which a node can be computed first, from 0 on."""
        numbers = list(self.reductions)
        stored = {operand: value for value, operand in self.kept.items()}
        waiting = [root]
        while waiting:
            current = waiting[-1]
            if current in self.levels:
                waiting.pop()
                continue
            if current.operation == ops.ROW_VALUE:
                needs: Sequence[Expression] = (numbers[current.attribute[0]].value,)
            elif current in stored:
                needs = (stored[current],)
            else:
                needs = current.operands
            unknown = [operand for operand in needs if operand not in self.levels]
            waiting += unknown
            if not unknown:
                is_later = current.operation == ops.ROW_VALUE or current in stored
                self.levels[current] = max((self.levels[n] for n in needs), default=0) + is_later
                waiting.pop()
        return self.levels[root]

    def _too_long(self, results: Sequence[Expression]) -> dict[Expression, tuple[int, list[Reduction | Expression]]]:
        """For each value that is kept because computing it again would take long, in which stage, and what reads it."""
        changed: dict[Expression, tuple[int, list[Reduction | Expression]]] = {}
        for value, of_row in reversed(list(zip(self.values, self.of_row, strict=True))) if self.reductions else ():
            if of_row or len(changed) == MOST_KEPT or value in self.kept or not value.operands:
                continue
            if cost([value]) <= LARGEST_COMPUTED_AGAIN:
                continue
            users = {r: self._level(r.value) for r in self.reductions if _uses(r.value, value)}
            if not users:
                continue
            first = min(users.values())
            later: list[Reduction | Expression] = [r for r, level in users.items() if level > first]
            later += [root for root in results if _uses(root, value)]
            if later:
                changed[value] = first, later
        return changed

    def program(self, outputs: Sequence[int]) -> Program:
        results = [self.values[i] for i in outputs]
        levels = {reduction: self._level(reduction.value) for reduction in self.reductions}
        count = 1 + max(levels.values(), default=-1)
        ordered = sorted(self.reductions, key=lambda reduction: (levels[reduction], self.reductions[reduction]))
        long = self._too_long(results)
        kept = {**self.kept, **{value: self._keep(value) for value in long}}
        operands = {operand: i for i, operand in enumerate(kept.values(), start=len(self.inputs) + len(outputs))}
        renamed: dict[Expression, Expression] = {}
        for new, reduction in enumerate(ordered):
            for part in (0, 1):
                renamed[_row_value(self.reductions[reduction], part)] = _row_value(new, part)
        for operand, i in operands.items():
            renamed[operand] = node(ops.INPUT, (), i, operand.format)

        def final(root: Expression, user: Reduction | Expression | None) -> Expression:
            read = {value: operand for value, operand in kept.items() if value in long and user in long[value][1]}
            if root in read:
                return renamed[read[root]]
            return _substituted(root, renamed | {v: renamed[o] for v, o in read.items()}, 0)

        stages = []
        for level in range(count):
            found = tuple(replace(r, value=final(r.value, r)) for r in ordered if levels[r] == level)
            stored = [
                (operands[o], final(v, None))
                for v, o in kept.items()
                if (long[v][0] if v in long else self._level(v)) == level
            ]
            stages.append(Stage(found, tuple(stored)))
        first = len(self.inputs)
        of_row = self.row_inputs | {first + i for i, number in enumerate(outputs) if self.of_row[number]}
        return Program(
            self.inputs,
            tuple(self.types[i] for i in outputs),
            tuple(final(root, root) for root in results),
            tuple(stages),
            self.parameter_count,
            frozenset(of_row),
            undecided=either(*(final(test, test) for test in self.tests)),
            is_tested=self.is_tested,
        )


def _row_value(number: int, part: int) -> Expression:
    return node(ops.ROW_VALUE, (), (number, part), Format.F64)


def _uses(root: Expression, value: Expression) -> bool:
    return any(current is value for current in walk(root))


def _substituted(root: Expression, leaves: Mapping[Expression, Expression], first: int) -> Expression:
    """The graph with other nodes in the place of some; its parameters numbered from ``first`` on."""

    def substituted(old: Expression, new: Expression) -> Expression:
        if old in leaves or old.operation != ops.PARAMETER:
            return leaves.get(old, new)
        position, name = old.attribute
        return node(ops.PARAMETER, (), (first + position, name), old.format)

    return rewritten([root], substituted)[0]
