"""The order of nodes: exporters may write a node before the ones that compute its inputs, and other runtimes sort."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from onnx import GraphProto, ModelProto, NodeProto

__all__ = ["in_order"]


def in_order(model: ModelProto) -> ModelProto:
    """The model with every node behind those that compute its inputs; itself if it is so. Nodes of a circle stay as they are.

    So are the nodes of functions, and of the graphs inside of nodes. Nodes keep their order where nothing asks for another.
    """
    if all(_order(nodes) is None for nodes in _lists(model)):
        return model
    changed = ModelProto()
    changed.CopyFrom(model)
    for nodes in _lists(changed):
        order = _order(nodes)
        if order is not None:
            ordered = [NodeProto.FromString(nodes[i].SerializeToString()) for i in order]
            del nodes[:]  # type: ignore[attr-defined]
            nodes.extend(ordered)  # type: ignore[attr-defined]
    return changed


def _lists(model: ModelProto) -> Iterator[Sequence[NodeProto]]:
    """The lists of nodes, those inside of others first."""
    found = [model.graph.node, *(function.node for function in model.functions)]
    for nodes in found:
        found += [graph.node for node in nodes for graph in _graphs_of(node)]
    yield from reversed(found)


def _graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _read(node: NodeProto) -> Iterator[str]:
    """The names that a node, and the graphs inside of it, read."""
    yield from node.input
    for graph in _graphs_of(node):
        yield from (output.name for output in graph.output)
        for inner in graph.node:
            yield from _read(inner)


def _order(nodes: Sequence[NodeProto]) -> list[int] | None:
    """The places of the nodes in a good order; None if theirs is one."""
    maker: dict[str, int] = {}
    for place, node in enumerate(nodes):
        for name in node.output:
            maker.setdefault(name, place)
    needed = [
        {maker[name] for name in _read(node) if name and name in maker} - {place} for place, node in enumerate(nodes)
    ]
    if all(before < place for place, many in enumerate(needed) for before in many):
        return None
    users: list[list[int]] = [[] for _ in nodes]
    for place, many in enumerate(needed):
        for before in many:
            users[before].append(place)
    missing = [len(many) for many in needed]
    ready = [place for place, count in enumerate(missing) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        place = heappop(ready)
        order.append(place)
        for user in users[place]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, user)
    return order + [place for place, count in enumerate(missing) if count]
