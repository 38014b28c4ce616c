"""Islands over rows: reductions and softmax with the element-wise steps around them, as one kernel.

Steps belong together if their values have a row's elements or one number a row, of the same rows, and if they are
connected. The others become islands as everywhere (islands.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.dtypes import ElementType
from ogive.engine.computation import Computation, Element
from ogive.engine.rows import RowFormula, RowFused, fits_a_kernel, make_row_ufunc
from ogive.onnx.graph import Step
from ogive.onnx.implementation import Elementwise, RowWise
from ogive.onnx.islands import Constants, Island, island_of, islands_of
from ogive.transform.islands import Vertex, islands

__all__ = ["RowIsland", "make_row_kernel", "row_islands_of"]

Shape = tuple[int, ...]

#: The rows of a value: the axes before the last one, and the length of a row.
Space = tuple[Shape, int]


@dataclass(frozen=True)
class RowIsland(Island):
    """Steps over rows for one kernel."""

    row_inputs: frozenset[int] = frozenset()
    """The inputs that have one number a row."""
    row_results: tuple[bool, ...] = ()
    """Which outputs have."""

    @property
    def key(self) -> tuple[tuple[str, ...], ...]:
        flags = *(str(i) for i in sorted(self.row_inputs)), *(str(is_of_row) for is_of_row in self.row_results)
        return (*super().key, flags)


def row_islands_of(
    steps: Sequence[Step],
    shapes: Mapping[str, Shape],
    consumers: Mapping[str, Collection[str]],
    wanted: Collection[str],
    constants: Constants,
) -> Iterator[Island]:
    """Islands of the steps, in an order in which they can be computed; what the arguments are: `islands_of`."""
    if not any(isinstance(step.made, RowWise) for step in steps):
        yield from islands_of(steps, shapes, consumers, wanted, constants)
        return
    for group in islands(_vertices(steps, shapes, constants)):
        together = [steps[number] for number in group]
        found = _row_island(together, shapes, consumers, wanted, constants)
        if found is not None:
            yield found
            continue
        for part in islands(_apart(together, shapes)):
            members = [together[number] for number in part]
            alone = _row_island(members, shapes, consumers, wanted, constants)
            if alone is not None:
                yield alone
            else:
                yield from islands_of(members, shapes, consumers, wanted, constants)


def _row_island(
    steps: Sequence[Step],
    shapes: Mapping[str, Shape],
    consumers: Mapping[str, Collection[str]],
    wanted: Collection[str],
    constants: Constants,
) -> RowIsland | None:
    """One kernel for all of the steps; None without rows, or if they do not fit."""
    over_rows = [step for step in steps if isinstance(step.made, RowWise)]
    if not over_rows:
        return None
    found = island_of(steps, consumers, wanted, constants)
    lead, length = _rows_of(over_rows[0], shapes)
    for value in found.inputs:
        shape = shapes[value]
        if not shape or shape[-1] not in (1, length) or len(shape) > len(lead) + 1:
            return None
    row_inputs = frozenset(i for i, value in enumerate(found.inputs) if shapes[value][-1] == 1)
    row_results = tuple(shapes[value][-1] == 1 for value in found.outputs)
    made = RowIsland(found.steps, found.inputs, found.outputs, row_inputs, row_results)
    computations, _, _ = _numbered(made, {}, constants)
    is_single = len(steps) == 1
    return made if is_single or fits_a_kernel(computations, len(made.inputs) + len(made.outputs)) else None


def _rows_of(step: Step, shapes: Mapping[str, Shape]) -> Space:
    shape = shapes[step.made.operands[0]]
    return shape[:-1], shape[-1]


def _vertices(steps: Sequence[Step], shapes: Mapping[str, Shape], constants: Constants) -> list[Vertex]:
    numbers = {step.output: number for number, step in enumerate(steps)}
    known = {_rows_of(step, shapes) for step in steps if isinstance(step.made, RowWise)}
    spaces: list[Space | None] = []
    vertices = []
    for step in steps:
        operands = list(dict.fromkeys(step.made.operands))
        space = _space(step, shapes, known, [spaces[numbers[v]] for v in operands if v in numbers])
        spaces.append(space)
        shape = shapes[step.output]
        full = None if space is None else (*space[0], space[1])
        vertices.append(
            Vertex(
                space=shape if space is None else ("rows", space),
                predecessors=tuple(
                    (
                        numbers[v],
                        shapes[v] == shape if space is None else spaces[numbers[v]] == space,
                    )
                    for v in operands
                    if v in numbers
                ),
                reads=tuple(
                    v for v in operands if v not in numbers and v not in constants and shapes[v] in (shape, full)
                ),
                instructions=_computation(step).size,
            )
        )
    return vertices


def _space(step: Step, shapes: Mapping[str, Shape], known: set[Space], before: Sequence[Space | None]) -> Space | None:
    """The rows that a step's value is about; None for a value of no rows."""
    if isinstance(step.made, RowWise):
        return _rows_of(step, shapes)
    shape = shapes[step.output]
    if not shape:
        return None
    own = (shape[:-1], shape[-1])
    if own in known:
        return own
    return next((space for space in before if space is not None and (*space[0], 1) == shape), None)


def _apart(steps: Sequence[Step], shapes: Mapping[str, Shape]) -> list[Vertex]:
    """The same steps, those over rows alone."""
    numbers = {step.output: number for number, step in enumerate(steps)}
    return [
        Vertex(
            space=None if isinstance(step.made, RowWise) else shapes[step.output],
            predecessors=tuple(
                (
                    numbers[v],
                    shapes[v] == shapes[step.output]
                    and not isinstance(step.made, RowWise)
                    and not isinstance(steps[numbers[v]].made, RowWise),
                )
                for v in dict.fromkeys(step.made.operands)
                if v in numbers
            ),
            reads=(),
            instructions=_computation(step).size,
        )
        for step in steps
    ]


def _computation(step: Step) -> Computation | RowFormula:
    assert isinstance(step.made, Elementwise | RowWise)
    return step.made.computation


# ---- kernels

_Numbered = tuple[list[tuple[Computation | RowFormula, tuple[int, ...]]], dict[str, int], list[float]]


def _numbered(island: Island, types: Mapping[str, ElementType], constants: Constants) -> _Numbered:
    """The computations with the numbers of their operands, the numbers of all values, and the parameters.

    Without ``types`` elements are left out.
    """
    numbers = {value: i for i, value in enumerate(island.inputs)}
    found: list[tuple[Computation | RowFormula, tuple[int, ...]]] = []
    parameters: list[float] = []

    def add(value: str, computation: Computation | RowFormula, operands: Collection[str]) -> None:
        found.append((computation, tuple(numbers.get(operand, 0) for operand in operands)))
        numbers[value] = len(island.inputs) + len(found) - 1

    used = {value for step in island.steps for value in step.made.operands} - numbers.keys()
    for step in (*constants.needed_for(used), *island.steps):
        node = step.made
        assert isinstance(node, Elementwise | RowWise)
        for value in node.operands:
            if value not in numbers and types:
                add(value, Element(constants.elements[value].reshape(()).item(), types[value]), ())
        add(step.output, node.computation, node.operands)
        parameters += node.parameters
    return found, numbers, parameters


def make_row_kernel(island: RowIsland, types: Mapping[str, ElementType], constants: Constants) -> np.ufunc:
    """The ufunc that computes the outputs of an island from its inputs."""
    steps, numbers, parameters = _numbered(island, types, constants)
    inputs = tuple(types[value] for value in island.inputs)
    results = tuple(numbers[value] for value in island.outputs)
    made = RowFused(inputs, island.row_inputs, tuple(steps), results, island.row_results)
    return make_row_ufunc(" ".join(step.label.split()[0] for step in island.steps[:4]), made, parameters)
