"""The graphs inside of nodes, such as the branches of If, and what nodes read with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, GraphProto, NodeProto


def graphs_at(attribute: AttributeProto) -> Iterator[GraphProto]:
    """The graphs of one attribute."""
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs of a node's attributes."""
    for attribute in node.attribute:
        yield from graphs_at(attribute)


def nodes_in(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, and those of all graphs inside of them."""
    for node in nodes:
        yield node
        for graph in graphs_of(node):
            yield from nodes_in(graph.node)


def graphs_in(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph, and all graphs inside of its nodes."""
    yield graph
    for node in nodes_in(graph.node):
        yield from graphs_of(node)


def reads_of(node: NodeProto) -> set[str]:
    """The values that a node reads, and that the graphs inside of it read from outside."""
    names = set(node.input) - {""}
    for graph in graphs_of(node):
        made = {name for inner in graph.node for name in inner.output}
        made |= {given.name for given in (*graph.initializer, *graph.input)}
        names |= {name for inner in graph.node for name in reads_of(inner)} - made
        names |= {info.name for info in graph.output} - made
    return names
