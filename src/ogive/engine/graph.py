"""Graphs as front ends describe them to the engine: values, the nodes that compute them, and constants.

A front end translates its standard's graph into nodes. It says of each value how its elements lie and of which type
they are; the engine then needs to know nothing of the standard.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ogive.common.dtypes import ElementType
from ogive.common.forking import cached_property
from ogive.engine.computation import Computation, Element
from ogive.engine.rows import RowFormula


class ArrayValue(NamedTuple):
    """Elements that a node reads or makes: an array, seen in one way.

    Equal values are the same elements at the same places.
    """

    array: Hashable
    """The array's name."""
    type: ElementType
    space: Hashable
    """The iteration space that the elements fill: a shape. Nodes of one kernel fill the same."""
    view: Hashable = None
    """How the array is seen, in a front end where it can be seen in several ways."""


@dataclass(frozen=True, eq=False)
class GraphNode:
    """One value, and what computes it."""

    label: str
    result: ArrayValue
    operands: tuple[ArrayValue, ...]
    computation: Computation | RowFormula | None
    """From the elements of the operands at the same place; None: a function of whole arrays."""
    parameters: tuple[float, ...] = ()
    """The values of the numbers that the computation leaves open."""
    axis: int = -1
    """For a computation over rows: the axis along which they lie, counted from the last one. It stays, also of one number a row."""


@dataclass(frozen=True, eq=False)
class Constants:
    """The constants that kernels can have in their code: single numbers, and nodes that depend on nothing else."""

    numbers: Mapping[Hashable, Element] = field(default_factory=dict)
    nodes: Mapping[Hashable, GraphNode] = field(default_factory=dict)
    """In an order in which they can be computed."""

    def __contains__(self, array: object) -> bool:
        return array in self.numbers or array in self.nodes

    def needed_for(self, arrays: Collection[Hashable]) -> list[GraphNode]:
        """The constant nodes that these arrays follow from."""
        needed, waiting = set[Hashable](), list(arrays)
        while waiting:
            array = waiting.pop()
            if array in self.nodes and array not in needed:
                needed.add(array)
                waiting.extend(operand.array for operand in self.nodes[array].operands)
        return [node for array, node in self.nodes.items() if array in needed]


NO_CONSTANTS = Constants()


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in an order in which they can be computed. The result of each is an array of its own."""

    nodes: tuple[GraphNode, ...]
    stored: Mapping[Hashable, int]
    """In how many arrays a node's result is wanted outside the graph, by its array; nothing stands for none."""
    constants: Constants = NO_CONSTANTS
    can_read_stored: bool = True
    """Whether other kernels read a result where it is stored for the outside; else it is stored for them once more."""

    @cached_property
    def readers(self) -> dict[Hashable, set[int]]:
        """By array, which nodes read it."""
        found: dict[Hashable, set[int]] = {}
        for number, node in enumerate(self.nodes):
            for operand in node.operands:
                found.setdefault(operand.array, set()).add(number)
        return found
