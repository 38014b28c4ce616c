"""A model of which Ogive computes a part: cut into models for Ogive, and models for another runtime in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

from ogive.errors import ArgumentError, MissingPackageError, described, message
from ogive.onnx import loading

__all__ = ["Part", "PartialModel", "split"]

#: What computes a model of another runtime: arrays by name -> arrays by name.
Computes = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Part:
    """Some of a model's nodes, as a model of their own."""

    model: ModelProto
    is_ogive: bool
    """Whether Ogive computes it."""
    reasons: tuple[str, ...]
    """Why Ogive does not, for each of the nodes that it refuses."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it needs: inputs of the whole model, and values that earlier parts compute."""
        return tuple(info.name for info in self.model.graph.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What later parts need, and outputs of the whole model."""
        return tuple(info.name for info in self.model.graph.output)


def split(source: Any) -> tuple[Part, ...]:
    """Cut a model into what Ogive computes and what it does not, in an order in which the parts can run.

    ``source`` is what `ogive.onnx.load` takes. There are as few parts as the order of the nodes allows: all nodes of
    one kind whose operands are there belong to one part. Every part is a valid ONNX model. Constants are in each part that
    reads them, and what no output needs is in none. A value that goes from one
    part to another must have a type that the model declares or ONNX infers.

    >>> from onnx import parser
    >>> model = parser.parse_model('''<ir_version: 8, opset_import: ["" : 18]>
    ...     agraph (float[2, 2] x) => (float[2, 2] y) { a = Relu (x) b = MatMul (a, a) y = Tanh (b) }''')
    >>> [(part.is_ogive, [node.op_type for node in part.model.graph.node]) for part in split(model)]
    [(True, ['Relu']), (False, ['MatMul']), (True, ['Tanh'])]

    Raises ModelError for a model that is damaged or contradicts itself.
    """
    return _split(*loading.read_model(source))


def _split(model: ModelProto, folder: Path | None, subject: str) -> tuple[Part, ...]:
    if folder is not None:
        onnx.load_external_data_for_model(model, str(folder))
    refusals = loading.refusals_of(model, folder, subject)
    types = loading.inferred_types(model)
    outputs = {info.name for info in model.graph.output}
    nodes = model.graph.node
    copied = {
        node.output[0]: node
        for place, node in enumerate(nodes)
        if node.op_type == "Constant" and place not in refusals and node.output[0] not in outputs
    }
    stages = _stages(nodes, _live(nodes, outputs, copied), set(refusals), types)
    return tuple(_part(model, places, copied, refusals, types) for places in stages)


def _live(nodes: Sequence[NodeProto], outputs: set[str], copied: Mapping[str, NodeProto]) -> list[int]:
    """The places of the nodes that some output needs, but for constants, which each part has for itself."""
    needed = set(outputs)
    found = []
    for place in reversed(range(len(nodes))):
        if not needed.isdisjoint(nodes[place].output):
            needed |= _reads(nodes[place])
            if copied.keys().isdisjoint(nodes[place].output):
                found.append(place)
    return found[::-1]


def _stages(
    nodes: Sequence[NodeProto], live: Sequence[int], refused: set[int], types: Mapping[str, Any]
) -> list[list[int]]:
    """The places of these nodes, stage by stage; Ogive's stages have even numbers."""
    stage_of: dict[str, int] = {}
    stages: dict[int, list[int]] = {}
    # What a node leaves without a known type cannot go to another part: its users stay with it.
    kinds = dict[int, bool]()
    unknown: set[str] = set()
    for place in live:
        node = nodes[place]
        is_ogive = place not in refused and not any(name in unknown for name in node.input)
        kinds[place] = is_ogive
        if not is_ogive:
            unknown.update(name for name in node.output if name and name not in types)
    for place, is_ogive in kinds.items():
        node = nodes[place]
        wanted = 0 if is_ogive else 1
        stage = wanted
        for name in _reads(node):
            before = stage_of.get(name, -1)
            if before >= 0:
                stage = max(stage, before if before % 2 == wanted else before + 1)
        stages.setdefault(stage, []).append(place)
        stage_of.update(dict.fromkeys(node.output, stage))
    return [stages[stage] for stage in sorted(stages)]


def _reads(node: NodeProto) -> set[str]:
    """What a node needs, and the graphs inside of it."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs) if attribute.g.node or attribute.graphs else ():
            made = {name for inner in graph.node for name in inner.output} | {i.name for i in graph.initializer}
            for inner in graph.node:
                names |= _reads(inner) - made
            names |= {info.name for info in graph.output} - made
    return names


def _part(
    model: ModelProto,
    places: Sequence[int],
    copied: Mapping[str, NodeProto],
    refusals: Mapping[int, Exception],
    types: Mapping[str, Any],
) -> Part:
    graph = model.graph
    own = [graph.node[place] for place in places]
    chosen = set(places)
    constants = dict.fromkeys(name for node in own for name in _reads(node) if name in copied)
    nodes = [*(copied[name] for name in sorted(constants)), *own]
    made = {name for node in nodes for name in node.output if name}
    needed = {name for node in nodes for name in _reads(node)} - made
    initialisers = {tensor.name: tensor for tensor in graph.initializer}
    declared = {**types, **{info.name: info for info in (*graph.input, *graph.output)}}
    others = {name for place, node in enumerate(graph.node) if place not in chosen for name in _reads(node)}
    wanted = others | {info.name for info in graph.output}
    inputs = [declared.get(name, ValueInfoProto(name=name)) for name in sorted(needed - initialisers.keys())]
    inputs += [declared[name] for name in sorted(needed & initialisers.keys() & {i.name for i in graph.input})]
    shown = [name for node in own for name in node.output if name in wanted]
    outputs = [declared.get(name, ValueInfoProto(name=name)) for name in shown]
    kept = [initialisers[name] for name in sorted(needed & initialisers.keys())]
    small = helper.make_graph(nodes, graph.name or "part", inputs, outputs, kept)
    part = helper.make_model(small, opset_imports=model.opset_import, functions=model.functions)
    part.ir_version = model.ir_version
    reasons = tuple(str(refusals[place]) for place in places if place in refusals)
    return Part(part, places[0] not in refusals and not reasons, reasons)


def _onnxruntime(model: ModelProto) -> Computes:
    """ONNX Runtime, on the CPU."""
    try:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        way_out = "Install it (pip install onnxruntime), or say what computes them: partial=function"
        what = "the package onnxruntime is not installed, which computes the parts that Ogive does not"
        raise MissingPackageError(f"ogive.onnx.load: {what}. {way_out}") from None
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, dict(inputs)), strict=True))


class PartialModel:
    """A model whose parts run one after the other, those that Ogive does not take in another runtime.

    Called with arrays by name it returns arrays by name.

    >>> import numpy as np
    >>> from onnx import parser
    >>> model = parser.parse_model('''<ir_version: 8, opset_import: ["" : 18]>
    ...     agraph (float[2, 2] x) => (float[2, 2] y) { a = Relu (x) y = MatMul (a, a) }''')
    >>> def numpy_product(part):
    ...     return lambda inputs: {part.graph.output[0].name: inputs["a"] @ inputs["a"]}
    >>> run = ogive.onnx.load(model, partial=numpy_product)
    >>> run
    <PartialModel: 2 parts, 1 of them computed by Ogive>
    >>> run({"x": np.float32([[1, -2], [3, 4]])})["y"].tolist()
    [[1.0, 0.0], [15.0, 16.0]]
    """

    def __init__(
        self,
        source: Any,
        load: Callable[[ModelProto], Callable[..., Any]],
        rest: Callable[[ModelProto], Computes] | bool,
    ) -> None:
        if rest is not True and not callable(rest):
            what = f"partial is {described(rest)}"
            raise ArgumentError(
                message("ogive.onnx.load", what, "True, or a function from a model to what computes it")
            )
        model, folder, subject = loading.read_model(source)
        self.parts = _split(model, folder, subject)
        """The parts, in the order in which they run."""
        defaults = {tensor.name for tensor in model.graph.initializer}
        self.inputs = tuple(info.name for info in model.graph.input if info.name not in defaults)
        self.outputs = tuple(info.name for info in model.graph.output)
        make = _onnxruntime if isinstance(rest, bool) else rest
        self._steps: list[Computes] = [load(part.model) if part.is_ogive else make(part.model) for part in self.parts]

    def __repr__(self) -> str:
        ours = sum(part.is_ogive for part in self.parts)
        return f"<PartialModel: {len(self.parts)} parts, {ours} of them computed by Ogive>"

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        missing = [name for name in self.inputs if name not in inputs]
        unknown = [name for name in inputs if name not in self.inputs]
        if missing or unknown:
            what = f"{'missing' if missing else 'unknown'} inputs: {', '.join(missing or unknown)}"
            raise ArgumentError(message("partial model", what, ", ".join(self.inputs)))
        values: dict[str, Any] = dict(inputs)
        for part, step in zip(self.parts, self._steps, strict=True):
            values.update(step({name: values[name] for name in part.inputs if name in values}))
        return {name: np.asarray(values[name]) for name in self.outputs}
