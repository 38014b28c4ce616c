"""A checked graph while it is made: names of values, constants, and the steps that nodes become."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
import onnx
from onnx import AttributeProto

from ogive.engine.computation import under
from ogive.errors import ModelError, UnsupportedError, message
from ogive.onnx.bodies import FunctionKey
from ogive.onnx.checked_graph import CheckedGraph, CheckedStep
from ogive.onnx.data_types import data_type_of
from ogive.onnx.files import Home
from ogive.onnx.node import OnnxNode, short
from ogive.onnx.node_computation import Constant, ElementwiseNode, NodeComputation, SameValue
from ogive.onnx.tensors import array_from

#: Where a value has to come from.
COMPUTED = "inputs, initialisers and outputs of earlier nodes"


@dataclass
class Scope:
    """Where names mean something: the main graph, or one call of a function."""

    opsets: dict[str, int]
    values: dict[str, str | None] = field(default_factory=dict)
    """Names here -> names in the graph that is being built; None for inputs that a call leaves out."""
    attributes: dict[str, AttributeProto | None] | None = None
    """The values that a call gives the function's attributes; None in the main graph."""
    calls: tuple[FunctionKey, ...] = ()


class NotChecked(Exception):
    """A node depends on a refused one, and on the type that it would have."""


class GraphDraft:
    """The graph, and the names that it has given. ``accuracy`` is the contract of element-wise nodes."""

    def __init__(self, home: Home | None, accuracy: str) -> None:
        self.home, self.accuracy = home, accuracy
        self.graph = CheckedGraph()
        self.fresh = count()
        self.unknown: set[str] = set()
        """Values that refused nodes compute, of types that are not known."""

    def initialisers(self, proto: onnx.GraphProto, subject: str) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for tensor in proto.initializer:
            if not tensor.name:
                raise ModelError(message(subject, "an initialiser has no name", "a name for each"))
            if tensor.name in found:
                raise ModelError(message(subject, f"there are two initialisers {tensor.name!r}", "each name once"))
            found[tensor.name] = array_from(tensor, self.home, f"initialiser {tensor.name!r}")
        if proto.sparse_initializer:
            name = proto.sparse_initializer[0].values.name
            raise UnsupportedError(message(subject, f"the initialiser {name!r} is sparse", "dense ones"))
        return found

    def constant(self, scope: Scope, name: str, array: np.ndarray) -> None:
        found = data_type_of(array.dtype)
        assert found is not None
        unique = scope.values[name] = self.unique(name, scope)
        self.graph.constants[unique] = array
        self.graph.types[unique] = found.type

    def value_of(self, name: str, scope: Scope, label: str) -> str | None:
        if not name:
            return None
        if name not in scope.values:
            way_out = "Compute it by a node, or give it: nodes may come in any order, but in no circle"
            raise ModelError(message(label, f"its input {name!r} is not computed before it", COMPUTED, way_out))
        value = scope.values[name]
        if value in self.unknown:
            raise NotChecked
        return value

    def unique(self, name: str, scope: Scope) -> str:
        """The graph's name for a value: its name, and in a call of a function a short one that has a number."""
        if "\0" in name:
            raise ModelError(message("model", f"a value is called {name[:60]!r}", "names without the character NUL"))
        if scope.calls:
            name = f"{short(name)} #{next(self.fresh)}"
        while name in self.graph.types:
            name = f"{short(name)} #{next(self.fresh)}"
        return name

    def append(self, node: OnnxNode, name: str, made: NodeComputation, scope: Scope) -> None:
        self.refuse_known(name, scope, node.label)
        if isinstance(made, SameValue):
            scope.values[name] = made.value
        elif isinstance(made, Constant):
            self.constant(scope, name, made.array)
        else:
            if isinstance(made, ElementwiseNode):
                made = replace(made, computation=under(made.computation, self.accuracy))
            unique = scope.values[name] = self.unique(name, scope)
            self.graph.types[unique] = made.type
            self.graph.steps.append(CheckedStep(node.label, unique, made))

    def refuse_known(self, name: str, scope: Scope, label: str) -> None:
        if name in scope.values:
            raise ModelError(
                message(label, f"its output {name!r} is there already", "a name of its own for each value")
            )

    def drop_unused(self) -> None:
        """Keep what the outputs need."""
        graph = self.graph
        needed = set(graph.results)
        kept = []
        for step in reversed(graph.steps):
            if step.output in needed:
                needed.update(step.made.operands)
                kept.append(step)
        graph.steps = kept[::-1]
        graph.constants = {name: array for name, array in graph.constants.items() if name in needed}
