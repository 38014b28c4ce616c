"""Which nodes of a model can be taken out together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onnx import NodeProto

__all__ = ["MOVES", "neighbours"]

#: Nodes that only move elements: alone they are ONNX Runtime's business.
MOVES = frozenset(
    {"Identity", "Cast", "Constant", "Reshape", "Shape", "Transpose", "Concat", "Split", "Slice", "Gather"}
)


def neighbours(nodes: Iterable[NodeProto], is_candidate: Callable[[NodeProto], bool]) -> list[list[int]]:
    """The places of neighbouring candidates, in groups; nodes come in an order in which they can be computed.

    A node joins a group where it reads one of its values, and all else that it reads comes from before the group's first
    node: then no path leads out of the group and back.

    >>> from onnx import helper
    >>> make = helper.make_node
    >>> nodes = make("Exp", ["x"], ["a"]), make("MatMul", ["a", "w"], ["b"]), make("Neg", ["b"], ["c"])
    >>> neighbours([*nodes, make("Abs", ["c"], ["d"])], lambda node: node.op_type != "MatMul")
    [[0], [2, 3]]
    """
    producer: dict[str, int] = {}
    groups: list[list[int]] = []
    group_of: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        reads = [name for name in node.input if name]
        if is_candidate(node):
            from_groups = {
                id(group_of[producer[n]]): group_of[producer[n]] for n in reads if producer.get(n) in group_of
            }
            for group in from_groups.values():
                outside = [producer[n] for n in reads if n in producer and producer[n] not in group]
                if all(other < group[0] for other in outside):
                    group.append(place)
                    group_of[place] = group
                    break
            else:
                groups.append([place])
                group_of[place] = groups[-1]
        for name in node.output:
            producer[name] = place
    return groups
