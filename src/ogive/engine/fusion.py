"""Fusion: from a graph of nodes to groups, which are computed by one kernel each.

Element-wise nodes belong together when they fill one space and are connected. So no element is computed that its node
alone would not compute. Constants go into the code.

>>> import numpy as np, ogive
>>> from ogive.common.dtypes import element_type
>>> from ogive.operators.signature import Signature
>>> kind = element_type("float32")
>>> x, y, z = (ArrayValue(name, kind, (3,)) for name in "xyz")
>>> formula = {name: getattr(ogive, name).computation(Signature((kind,), (kind,))) for name in ("celu", "tanh")}
>>> nodes = GraphNode("celu", y, (x,), formula["celu"], (1.5,)), GraphNode("tanh", z, (y,), formula["tanh"])
>>> [group] = fused(Graph(nodes, stored={"z": 1}))
>>> group.inputs == (x,), group.outputs == (z,)
(True, True)
>>> group.ufunc()(np.float32([-1, 0, 1]))
array([-0.62298846,  0.        ,  0.7615942 ], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.common.forking import cached_property
from ogive.engine.computation import Computation, Fused, kernel_of, make_ufunc
from ogive.engine.fusion_groups import Vertex, fusion_groups, narrow_enough
from ogive.engine.graph import ArrayValue, Constants, Graph, GraphNode
from ogive.engine.rows import RowFormula

#: A computation, and the numbers of its operands.
Step = tuple[Computation | RowFormula, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class FusionGroup:
    """Nodes for one kernel, in an order in which they can be computed; or one function of whole arrays."""

    nodes: tuple[GraphNode, ...]
    inputs: tuple[ArrayValue, ...]
    outputs: tuple[ArrayValue, ...]
    """In the order of the nodes. A value that is stored in several arrays stands here as often."""
    constants: Constants

    @property
    def name(self) -> str:
        return self.nodes[0].label if len(self.nodes) == 1 else f"{len(self.nodes)} operators"

    @cached_property
    def computation(self) -> Fused:
        """The function that computes the outputs from the inputs."""
        steps, results = self.wired()
        return Fused(
            tuple(value.type for value in self.inputs),
            tuple(steps),
            results,
        )

    def wired(self) -> tuple[list[Step], tuple[int, ...]]:
        """The computations with the numbers of their operands, and the numbers of the outputs, as in `Fused`."""

        def key(value: ArrayValue) -> Hashable:
            """Constants go by their array: nodes of constants fill no space."""
            return value.array if value.array in self.constants else value

        numbers = {key(value): number for number, value in enumerate(self.inputs)}
        steps: list[Step] = []

        def add(
            value: ArrayValue, computation: Computation | RowFormula, operands: Collection[ArrayValue] = ()
        ) -> None:
            steps.append((computation, tuple(numbers[key(operand)] for operand in operands)))
            numbers[key(value)] = len(self.inputs) + len(steps) - 1

        for node in self._computed:
            assert node.computation is not None
            for operand in node.operands:
                if key(operand) not in numbers:
                    add(operand, self.constants.numbers[operand.array])
            add(node.result, node.computation, node.operands)
        return steps, tuple(numbers[key(value)] for value in self.outputs)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The values of the numbers that the computation leaves open."""
        return tuple(value for node in self._computed for value in node.parameters)

    @property
    def _computed(self) -> list[GraphNode]:
        """The nodes, after the constant ones that they need."""
        made = {node.result.array for node in self.nodes} | {value.array for value in self.inputs}
        used = {operand.array for node in self.nodes for operand in node.operands} - made
        return [*self.constants.needed_for(used), *self.nodes]

    def ufunc(self) -> np.ufunc:
        """The kernel, with the parameters' values."""
        return make_ufunc(self.name, self.computation, self.parameters)

    def prepared(self) -> np.ufunc:
        """The same, compiled."""
        made = self.ufunc()  # holds the kernel, which is shared for as long as something does
        kernel_of(self.computation).prepare()
        return made


def fused(graph: Graph, largest: int | None = None) -> list[FusionGroup]:
    """The groups of a graph, in an order in which they can be computed.

    A kernel has no more than ``largest`` instructions, 2,048 if that is not given; with 0 each node stays alone.
    """

    def operands(group: Sequence[int]) -> int:
        made = group_of(graph, group)
        return len(made.inputs) + len(made.outputs)

    groups = fusion_groups(_vertices(graph), largest)
    return [group_of(graph, part) for group in groups for part in narrow_enough(group, operands)]


def group_of(graph: Graph, group: Sequence[int]) -> FusionGroup:
    """The group of the nodes of these numbers."""
    members = frozenset(group)
    outputs: list[ArrayValue] = []
    for number in group:
        result = graph.nodes[number].result
        count = graph.stored.get(result.array, 0)
        if not (count and graph.can_read_stored):
            count += not graph.readers.get(result.array, set()) <= members
        outputs += [result] * count
    nodes = tuple(graph.nodes[number] for number in group)
    return FusionGroup(nodes, _inputs(nodes, graph.constants), tuple(outputs), graph.constants)


def _vertices(graph: Graph) -> list[Vertex]:
    numbers = {node.result.array: number for number, node in enumerate(graph.nodes)}
    vertices = []
    for node in graph.nodes:
        predecessors, reads = list[tuple[int, bool]](), list[Hashable]()
        for operand in dict.fromkeys(node.operands):
            number = numbers.get(operand.array)
            if number is not None:
                predecessors.append((number, _is_direct(graph.nodes[number], operand, node)))
            # A smaller operand, which is broadcast, connects nothing.
            elif operand.array not in graph.constants and operand.space == node.result.space:
                reads.append(operand)
        computation = node.computation
        space, size = (None, 0) if computation is None else (node.result.space, computation.size)
        vertices.append(Vertex(space, tuple(predecessors), tuple(reads), size))
    return vertices


def _is_direct(source: GraphNode, operand: ArrayValue, node: GraphNode) -> bool:
    """Whether every element goes to the element at the same place."""
    both = source.computation is not None and node.computation is not None
    return both and operand == source.result and operand.space == node.result.space


def _inputs(nodes: Sequence[GraphNode], constants: Constants) -> tuple[ArrayValue, ...]:
    """The values that nodes read from outside, everything once."""
    inside = {node.result.array for node in nodes}
    used = dict.fromkeys(operand for node in nodes for operand in node.operands if operand.array not in inside)
    read = tuple(value for value in used if value.array not in constants)
    if read or not used:
        return read
    return (_any_number(used, constants),)


def _any_number(used: Collection[ArrayValue], constants: Constants) -> ArrayValue:
    """A kernel has one input at least: where all are constants, one of them is given to it as an array."""
    needed = constants.needed_for({value.array for value in used})
    values = [*used, *(operand for node in needed for operand in node.operands)]
    return next(value for value in values if value.array in constants.numbers)
