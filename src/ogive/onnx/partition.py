"""A model of which Ogive computes a part: cut into models for Ogive, and models for another runtime in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from ogive.errors import ArgumentError, MissingPackageError, described, message
from ogive.onnx import declarations, loading, reading
from ogive.onnx.arguments import check_order, checked_inputs, named
from ogive.onnx.data_types import proto_of_type
from ogive.onnx.files import Home, about_model
from ogive.onnx.inner_graphs import reads_of
from ogive.onnx.tensors import array_from

#: The function of another runtime that computes a model: arrays by name -> arrays by name.
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
        """The tensors that it needs: inputs of the whole model, and values that earlier parts compute."""
        return tuple(info.name for info in self.model.graph.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The tensors that later parts need, and outputs of the whole model."""
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
    return _split(*reading.read_whole_model(source))


def _split(model: ModelProto, home: Home | None, subject: str) -> tuple[Part, ...]:
    found = loading.survey(model, home, subject)
    types = {name: helper.make_value_info(name, proto_of_type(kind)) for name, kind in found.types.items()}
    types.update(declarations.inferred_types(model))  # these have shapes as well
    outputs = {info.name for info in model.graph.output}
    nodes = model.graph.node
    copied = {
        node.output[0]: node
        for place, node in enumerate(nodes)
        if node.op_type == "Constant" and place not in found.refusals and node.output[0] not in outputs
    }
    given = {info.name for info in (*model.graph.input, *model.graph.initializer)}
    for name, value in found.conditions.items():  # a part that has the branches needs to know it, too
        if name not in outputs and name not in given:
            copied[name] = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(value)))
    stages = _stages(nodes, _live(nodes, outputs, copied), set(found.refusals), types)
    return tuple(_part(model, places, copied, found.refusals, types, is_ogive=is_ogive) for is_ogive, places in stages)


def _live(nodes: Sequence[NodeProto], outputs: set[str], copied: Mapping[str, NodeProto]) -> list[int]:
    """The places of the nodes that some output needs, but for constants, which each part has for itself."""
    needed = set(outputs)
    found = []
    for place in reversed(range(len(nodes))):
        if not needed.isdisjoint(nodes[place].output):
            needed |= reads_of(nodes[place])
            if copied.keys().isdisjoint(nodes[place].output):
                found.append(place)
    return found[::-1]


def _stages(
    nodes: Sequence[NodeProto], live: Sequence[int], refused: set[int], types: Mapping[str, Any]
) -> list[tuple[bool, list[int]]]:
    """The places of these nodes, stage by stage, and whether Ogive computes the stage.

    A value without a known type cannot go to another part: its users stay with it, and so does all that is between.
    """
    others = set(refused)
    while True:
        kinds = dict[int, bool]()
        unknown: set[str] = set()
        for place in live:
            node = nodes[place]
            kinds[place] = place not in others and unknown.isdisjoint(reads_of(node))
            if not kinds[place]:
                unknown.update(name for name in node.output if name and name not in types)
        stage_of: dict[str, int] = {}
        stages: dict[int, list[int]] = {}
        torn: int | None = None
        for place, is_ogive in kinds.items():
            reads = reads_of(nodes[place])
            stage = wanted = 0 if is_ogive else 1
            for name in reads:
                before = stage_of.get(name, -1)
                if before >= 0:
                    stage = max(stage, before if before % 2 == wanted else before + 1)
            least = min((stage_of[name] for name in reads & unknown), default=stage)
            if least < stage:
                torn = place
                break
            stages.setdefault(stage, []).append(place)
            stage_of.update(dict.fromkeys(nodes[place].output, stage))
        if torn is None:
            return [(stage % 2 == 0, stages[stage]) for stage in sorted(stages)]
        others |= _between(nodes, stages, least, reads_of(nodes[torn]))


def _between(nodes: Sequence[NodeProto], stages: Mapping[int, Sequence[int]], stage: int, names: set[str]) -> set[int]:
    """The places in later stages that these values need."""
    found, needed = set[int](), set(names)
    for later in sorted((number for number in stages if number > stage), reverse=True):
        for place in reversed(stages[later]):
            if not needed.isdisjoint(nodes[place].output):
                found.add(place)
                needed |= reads_of(nodes[place])
    return found


def _part(
    model: ModelProto,
    places: Sequence[int],
    copied: Mapping[str, NodeProto],
    refusals: Mapping[int, Exception],
    types: Mapping[str, Any],
    *,
    is_ogive: bool,
) -> Part:
    graph = model.graph
    own = [graph.node[place] for place in places]
    chosen = set(places)
    constants = dict.fromkeys(name for node in own for name in reads_of(node) if name in copied)
    nodes = [*(copied[name] for name in sorted(constants)), *own]
    made = {name for node in nodes for name in node.output if name}
    needed = {name for node in nodes for name in reads_of(node)} - made
    initialisers = {tensor.name: tensor for tensor in graph.initializer}
    declared = {**types, **{info.name: info for info in (*graph.input, *graph.output)}}
    others = {name for place, node in enumerate(graph.node) if place not in chosen for name in reads_of(node)}
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
    return Part(part, is_ogive, reasons)


def _onnxruntime(model: ModelProto) -> Computes:
    """ONNX Runtime, on the CPU."""
    try:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        way_out = "Install it (pip install onnxruntime), or say what computes them: partial=function"
        what = "the package onnxruntime is not installed, which computes the parts that Ogive does not"
        raise MissingPackageError(f"ogive.onnx.load: {what}. {way_out}") from None
    options = onnxruntime.SessionOptions()
    # There may be many sessions, which take turns: threads of one that spin would take time from the others.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors; a part may have initialisers that only a branch of it uses
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, dict(inputs)), strict=True))


class PartialModel:
    """A model whose parts run one after the other, those that Ogive does not take in another runtime.

    It is called as a `Model` is: with arrays in the model's order, by name, or with one mapping; it returns an array, or a
    tuple of them if the model has several outputs. `run` returns them by name.

    Raises ArgumentError, DTypeError and ShapeError for inputs that the model does not take.

    >>> import numpy as np
    >>> from onnx import parser
    >>> model = parser.parse_model('''<ir_version: 8, opset_import: ["" : 18]>
    ...     agraph (float[2, 2] x) => (float[2, 2] y) { a = Relu (x) y = MatMul (a, a) }''')
    >>> def numpy_product(part):
    ...     return lambda inputs: {part.graph.output[0].name: inputs["a"] @ inputs["a"]}
    >>> partial = ogive.onnx.load(model, partial=numpy_product)
    >>> partial
    <PartialModel: 2 parts, 1 of them computed by Ogive>
    >>> partial(np.float32([[1, -2], [3, 4]])).tolist()
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
        model, home, self._name = reading.read_whole_model(source)
        self.parts = _split(model, home, self._name)
        """The parts, in the order in which they run."""
        self.about = about_model(model)
        """The facts that the model says of itself, as `Model.about`."""
        initialisers = {tensor.name: tensor for tensor in model.graph.initializer}
        self.inputs, self.outputs = declarations.interface(model, self._name)
        """The inputs and outputs of the model: name, type, shape, and whether it must be given."""
        outputs = {info.name for info in self.outputs}
        self._constants = {
            name: array_from(tensor, home, f"initialiser {name!r}")
            for name, tensor in initialisers.items()
            if name in outputs
        }
        self._dtypes = tuple(None if info.dtype == object else info.dtype for info in self.inputs)
        make = _onnxruntime if isinstance(rest, bool) else rest
        self._steps: list[Computes] = [load(part.model) if part.is_ogive else make(part.model) for part in self.parts]

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(info.name for info in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(info.name for info in self.outputs)

    def __repr__(self) -> str:
        ours = sum(part.is_ogive for part in self.parts)
        return (
            f"<PartialModel: {len(self.parts)} part{'s' if self.parts[1:] else ''}, {ours} of them computed by Ogive>"
        )

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = named(self._name, self.input_names, args, keywords)
        values = self._computed(given)
        results: list[Any] = []
        for name in self.output_names:
            again = name in self.output_names[: len(results)]
            results.append(values[name].copy() if again and isinstance(values[name], np.ndarray) else values[name])
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Any], outputs: Sequence[str] | None = None) -> dict[str, Any]:
        """Compute the outputs, by name; all of them, or those that are named."""
        check_order(f"{self._name}, run", inputs, outputs)
        names = self.output_names if outputs is None else tuple(outputs)
        for name in names:
            if name not in self.output_names:
                raise ArgumentError(message(self._name, f"there is no output {name!r}", ", ".join(self.output_names)))
        values = self._computed(inputs)
        return {name: values[name] for name in names}

    def _computed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        checked = checked_inputs(self._name, self.inputs, self._dtypes, None, given)
        inputs = {info.name: value for info, value in zip(self.inputs, checked, strict=True) if info.name in given}
        values: dict[str, Any] = {**self._constants, **inputs}
        for part, step in zip(self.parts, self._steps, strict=True):
            values.update(step({name: values[name] for name in part.inputs if name in values}))
        for name in set(self.output_names):
            if name in inputs or name in self._constants:  # results are new arrays
                values[name] = np.array(values[name])
            elif not isinstance(values[name], list | tuple | None):
                values[name] = np.asarray(values[name])
        return values
