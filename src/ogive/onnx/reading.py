"""From a file, bytes or a ModelProto to a model whose nodes are in order, and whose text is text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto, NodeProto, TensorProto

from ogive.errors import ArgumentError, ModelError, described, message
from ogive.onnx.files import Home, opened
from ogive.onnx.inner_graphs import graphs_in, graphs_of, reads_of
from ogive.onnx.tensors import take_in

#: The form that a file has to have.
WANTED = "what onnx.save writes"


def read_model(source: str | os.PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, Home | None, str]:
    """The model, where its data may lie, and how messages call it. A negative size of an axis, or one named "?", is any size.

    Nodes that are not in order are sorted.
    """
    if isinstance(source, ModelProto):
        return in_order(_with_open_sizes(source)), None, "model"
    if isinstance(source, bytes | bytearray | memoryview):
        return in_order(_with_open_sizes(_parsed(bytes(source), "model"))), None, "model"
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            message("ogive.onnx.load", f"the model is {described(source)}", "a path, bytes, an onnx.ModelProto")
        )
    path = Path(source)
    found = opened(path)
    if found is None:
        raise ModelError(message(str(path), "it is not a regular file", "files on disk"))
    with found[0] as file:
        data = file.read()
    return in_order(_with_open_sizes(_parsed(data, path.name))), Home.of(path), path.name


def read_whole_model(source: str | os.PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, Home | None, str]:
    """The model as `read_model` returns it, with the data that lies in other files in the model itself."""
    model, home, subject = read_model(source)
    for tensor in _tensors(model.graph):
        if tensor.data_location == TensorProto.EXTERNAL:
            take_in(tensor, home, f"initialiser {tensor.name!r}")
    return model, home, subject


def _tensors(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    """The tensors of a graph and of the graphs inside of it."""
    for each in graphs_in(graph):
        yield from each.initializer
        for attribute in (attribute for node in each.node for attribute in node.attribute):
            yield from (*((attribute.t,) if attribute.HasField("t") else ()), *attribute.tensors)


def _with_open_sizes(model: ModelProto) -> ModelProto:
    """The model without negative sizes of axes, and sizes named "?", by which older exporters mean any size."""
    if not any(map(_is_open, _declared_axes(model.graph))):
        return model
    changed = ModelProto()
    changed.CopyFrom(model)
    for dim in _declared_axes(changed.graph):
        if _is_open(dim):
            dim.ClearField("value")
    return changed


def _is_open(dim: Any) -> bool:
    return bool(dim.dim_value < 0 or dim.dim_param == "?")


def _declared_axes(graph: onnx.GraphProto) -> Iterator[Any]:
    """The axes that a graph and the graphs inside of it declare."""
    for each in graphs_in(graph):
        for info in (*each.input, *each.output, *each.value_info):
            yield from _axes_of(info.type)


def _axes_of(kind: Any) -> Iterator[Any]:
    while True:
        field = kind.WhichOneof("value")
        if field in ("tensor_type", "sparse_tensor_type"):
            yield from getattr(kind, field).shape.dim
        if field not in ("sequence_type", "optional_type", "map_type"):
            return
        inner = getattr(kind, field)
        kind = inner.value_type if field == "map_type" else inner.elem_type


def check_text(model: ModelProto, subject: str) -> None:
    """Refuse names that are not UTF-8, which protobuf hands over as bytes."""
    waiting: list[Any] = [model]
    while waiting:
        current = waiting.pop()
        for declared, value in current.ListFields():
            if declared.type == declared.TYPE_STRING:
                for text in (value,) if isinstance(value, str | bytes) else value:
                    if isinstance(text, bytes):
                        what = f"a {declared.name} in a {current.DESCRIPTOR.name} is not UTF-8: {text[:60]!r}"
                        raise ModelError(message(subject, what, "text in UTF-8"))
            elif declared.type == declared.TYPE_MESSAGE:
                waiting.extend((value,) if hasattr(value, "ListFields") else value)


@contextmanager
def memory_for_messages() -> Iterator[None]:
    """Raise MemoryError where protobuf has no memory, which it calls a damaged message, or nothing at all."""
    try:
        yield
    except (DecodeError, SystemError) as error:
        if isinstance(error, SystemError) or "alloc failed" in str(error):
            raise MemoryError("there is no memory for a message of protobuf") from error
        raise


def _parsed(data: bytes, subject: str) -> ModelProto:
    model = ModelProto()
    try:
        with memory_for_messages():
            model.ParseFromString(data)
    except DecodeError as error:
        raise ModelError(message(subject, "it is not an ONNX model, or damaged", WANTED)) from error
    return model


def without_data(model: ModelProto) -> ModelProto:
    """A copy of the model whose initialisers have names and nothing else."""
    light = ModelProto()
    _copy_fields(model, light, "graph")
    _copy_fields(model.graph, light.graph, "initializer")
    for tensor in model.graph.initializer:
        light.graph.initializer.add(name=tensor.name)
    return light


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    for declared, value in source.ListFields():
        if declared.name == left_out:
            continue
        if hasattr(value, "MergeFrom"):  # a message, or a sequence
            getattr(target, declared.name).MergeFrom(value)
        else:
            setattr(target, declared.name, value)


# ---- the order of nodes: exporters may write a node before the ones that compute its inputs, and other runtimes sort


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
        found += [graph.node for node in nodes for graph in graphs_of(node)]
    yield from reversed(found)


def _order(nodes: Sequence[NodeProto]) -> list[int] | None:
    """The places of the nodes in a good order; None if theirs is one."""
    maker: dict[str, int] = {}
    for place, node in enumerate(nodes):
        for name in node.output:
            maker.setdefault(name, place)
    needed = [{maker[name] for name in reads_of(node) if name in maker} - {place} for place, node in enumerate(nodes)]
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
