"""Islands of a model: element-wise steps that become one kernel, and the kernel.

Steps belong together when their values have the same shape, known by then, and they are connected. So no
element is computed that its node alone would not compute, and every output has the shape that its node
gives it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.dtypes import ElementType
from ogive.engine.computation import Computation, Element, Fused, make_ufunc
from ogive.onnx.graph import Step
from ogive.onnx.implementation import Elementwise
from ogive.transform.islands import Vertex, islands, narrow_enough

__all__ = ["NO_CONSTANTS", "Constants", "Island", "island_of", "islands_of", "make_kernel"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Constants:
    """What kernels can have in their code: single elements, and steps that depend on nothing else."""

    elements: Mapping[str, np.ndarray]
    steps: Mapping[str, Step]
    """In an order in which they can be computed."""

    def __contains__(self, value: object) -> bool:
        return value in self.elements or value in self.steps

    def needed_for(self, values: Collection[str]) -> list[Step]:
        """The constant steps that these values follow from."""
        needed, waiting = set(), list(values)
        while waiting:
            value = waiting.pop()
            if value in self.steps and value not in needed:
                needed.add(value)
                waiting.extend(self.steps[value].made.operands)
        return [step for value, step in self.steps.items() if value in needed]


NO_CONSTANTS = Constants({}, {})


@dataclass(frozen=True)
class Island:
    """Steps for one kernel, in an order in which they can be computed."""

    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def key(self) -> tuple[tuple[str, ...], ...]:
        """What tells the kernels of a graph apart."""
        return tuple(step.output for step in self.steps), self.inputs, self.outputs


def islands_of(
    steps: Sequence[Step],
    shapes: Mapping[str, Shape],
    consumers: Mapping[str, Collection[str]],
    wanted: Collection[str],
    constants: Constants,
) -> Iterator[Island]:
    """Islands of the steps, in an order in which they can be computed.

    ``consumers`` names for each value the steps that use it; values that are ``wanted``, or used by steps
    elsewhere, become outputs.
    """

    def island(group: Sequence[int]) -> Island:
        return island_of([steps[number] for number in group], consumers, wanted, constants)

    def operands(group: Sequence[int]) -> int:
        made = island(group)
        return len(made.inputs) + len(made.outputs)

    for group in islands(_vertices(steps, shapes, constants)):
        yield from map(island, narrow_enough(group, operands))


def _vertices(steps: Sequence[Step], shapes: Mapping[str, Shape], constants: Constants) -> list[Vertex]:
    numbers = {step.output: number for number, step in enumerate(steps)}
    vertices = []
    for step in steps:
        shape, operands = shapes[step.output], dict.fromkeys(step.made.operands)
        vertices.append(
            Vertex(
                space=shape,
                predecessors=tuple((numbers[v], shapes[v] == shape) for v in operands if v in numbers),
                # A smaller operand, which is broadcast, connects nothing.
                reads=tuple(v for v in operands if v not in numbers and v not in constants and shapes[v] == shape),
                instructions=_elementwise(step).computation.size,
            )
        )
    return vertices


def _elementwise(step: Step) -> Elementwise:
    assert isinstance(step.made, Elementwise)
    return step.made


def island_of(
    steps: Sequence[Step], consumers: Mapping[str, Collection[str]], wanted: Collection[str], constants: Constants
) -> Island:
    """The island that is just these steps."""
    inside = {step.output for step in steps}
    used = dict.fromkeys(value for step in steps for value in step.made.operands)
    variable = tuple(value for value in used if value not in inside and value not in constants)
    if not variable:
        variable = (_any_element(used, constants),)
    outputs = tuple(
        step.output
        for step in steps
        if step.output in wanted or any(user not in inside for user in consumers.get(step.output, ()))
    )
    return Island(tuple(steps), variable, outputs)


def _any_element(used: Collection[str], constants: Constants) -> str:
    """A kernel has one input at least: where all are constants, one of them is given to it as an array."""
    values = [*used, *(value for step in constants.needed_for(used) for value in step.made.operands)]
    return next(value for value in values if value in constants.elements)


# ---- kernels


def make_kernel(island: Island, types: Mapping[str, ElementType], constants: Constants) -> np.ufunc:
    """The ufunc that computes the outputs of an island from its inputs."""
    numbers = {value: i for i, value in enumerate(island.inputs)}
    fused: list[tuple[Computation, tuple[int, ...]]] = []
    parameters: list[float] = []

    def add(value: str, computation: Computation, operands: Collection[str]) -> None:
        fused.append((computation, tuple(numbers[operand] for operand in operands)))
        numbers[value] = len(island.inputs) + len(fused) - 1

    used = {value for step in island.steps for value in step.made.operands} - numbers.keys()
    for step in (*constants.needed_for(used), *island.steps):
        node = _elementwise(step)
        for value in node.operands:
            if value not in numbers:
                add(value, Element(constants.elements[value].reshape(()).item(), types[value]), ())
        add(step.output, node.computation, node.operands)
        parameters += node.parameters
    inputs = tuple(types[value] for value in island.inputs)
    made = Fused(inputs, tuple(fused), tuple(numbers[value] for value in island.outputs))
    return make_ufunc(" ".join(step.label.split()[0] for step in island.steps[:4]), made, parameters)
