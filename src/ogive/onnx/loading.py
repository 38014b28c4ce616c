"""From an ONNX model to a checked graph. Everything wrong with a model is found here, before anything runs.

The order of the checks is that of the file: the model, the opsets, the functions, then the graph from its
inputs to its outputs. Functions are put in the place of the nodes that call them (`function_calls.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, ValueInfoProto

from ogive.catalog.standards import row_of
from ogive.errors import ModelError, UnsupportedError, message
from ogive.onnx import schemas
from ogive.onnx.bodies import MICROSOFT, FunctionKey, body_of, bound_node, functions_of, key_of
from ogive.onnx.bodies import normal_domain as domain_of
from ogive.onnx.checked_graph import CheckedGraph, Shape, ValueInfo
from ogive.onnx.composed import COMPOSED
from ogive.onnx.conditions import decided
from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.declarations import (
    SEPARATE_INITIALISERS,
    check_default,
    declared_shape,
    declared_type,
    inferred_types,
    required_type,
)
from ogive.onnx.dispatch import node_computations
from ogive.onnx.draft import COMPUTED, GraphDraft, NotChecked, Scope
from ogive.onnx.elementwise import VARIADIC, from_catalogue
from ogive.onnx.files import Home
from ogive.onnx.function_calls import (
    MOST_EXPANDED_BYTES,
    MOST_EXPANDED_NODES,
    CallBudget,
    opsets_of,
    scope_of_call,
    take_results,
)
from ogive.onnx.gradient_nodes import GRADIENTS, gradient_node
from ogive.onnx.node import OnnxNode, label_of, short, trimmed, without_schema
from ogive.onnx.node_computation import ArrangedRows, ElementwiseNode
from ogive.onnx.reading import WANTED, check_text
from ogive.onnx.refusals import NoOperatorError, all_of_them

#: From this version of operators on, shapes alone say how operands are broadcast.
BROADCASTS_BY_RULE = 7

#: A kernel has at most 64 operands. Operators with any number of inputs are split from here on.
MOST_INPUTS = 32

_BRANCHES = "the attributes then_branch and else_branch, both graphs"


def graph_of(
    model: ModelProto,
    home: Home | None,
    subject: str,
    *,
    node_limit: int = MOST_EXPANDED_NODES,
    initialisers: dict[str, np.ndarray] | None = None,
    accuracy: str = "exact",
) -> CheckedGraph:
    """The model as a checked graph. ``node_limit`` is how many nodes functions may stand for. ``accuracy`` is the
    contract of element-wise nodes.

    ``initialisers`` are given if the model is without their data.
    """
    if not model.HasField("graph"):
        raise ModelError(message(subject, "it is not an ONNX model, or damaged: there is no graph", WANTED))
    if not 1 <= model.ir_version <= onnx.IR_VERSION:
        what, allowed = f"its ir_version is {model.ir_version}", f"1 to {onnx.IR_VERSION}"
        if model.ir_version < 1:
            raise ModelError(message(subject, what, allowed))
        raise UnsupportedError(message(subject, what, allowed, "Install a newer onnx for newer versions"))
    check_text(model, subject)
    opsets = opsets_of(model, subject)
    builder = _Builder(home, functions_of(model.functions, subject), node_limit, accuracy)
    return builder.build(model, opsets, subject, initialisers)


@dataclass(frozen=True)
class Survey:
    """The computation of the nodes of a model's main graph, all of them."""

    refusals: dict[int, UnsupportedError]
    """Why it does not take nodes, by their places; empty if it takes all of them."""
    types: dict[str, str]
    """The types of values, by their names, as far as they are known."""
    conditions: dict[str, bool]
    """Values that decide a branch, and are the same in every run."""
    kernels: frozenset[int]
    """The places of nodes that kernels compute, element by element or row by row."""


def survey(model: ModelProto, home: Home | None, subject: str) -> Survey:
    """Check all nodes of a model, those behind refused ones too. Raises ModelError for a damaged one."""
    builder = _Builder(home, functions_of(model.functions, subject), MOST_EXPANDED_NODES, "exact", collects=True)
    builder.build(model, opsets_of(model, subject), subject, None)
    assert builder.outermost is not None
    values = builder.outermost.values.items()
    types = {name: builder.graph.types[value] for name, value in values if value and builder.graph.types[value]}
    return Survey(builder.refusals, types, builder.conditions, frozenset(builder.kernels))


class _Builder:
    def __init__(
        self,
        home: Home | None,
        functions: dict[FunctionKey, FunctionProto],
        node_limit: int,
        accuracy: str,
        *,
        collects: bool = False,
    ) -> None:
        self.draft = GraphDraft(home, accuracy)
        self.graph = self.draft.graph
        self.functions = functions
        expanded = MOST_EXPANDED_BYTES + sum(function.ByteSize() for function in functions.values())
        self.expansion = CallBudget(node_limit, expanded)
        self.collects = collects
        self.refusals: dict[int, UnsupportedError] = {}
        """The faults of the nodes that Ogive does not take, by their places."""
        self.kernels: set[int] = set()
        self.model: ModelProto | None = None
        self.outermost: Scope | None = None
        self.inferred: dict[str, ValueInfoProto] | None = None
        self.conditions: dict[str, bool] = {}
        """Values of the main graph that decide a branch, and are the same in every run."""

    # ---- the main graph

    def build(
        self, model: ModelProto, opsets: dict[str, int], subject: str, known: dict[str, np.ndarray] | None
    ) -> CheckedGraph:
        proto = model.graph
        scope = Scope(opsets)
        self.model, self.outermost = model, scope
        initialisers = self.draft.initialisers(proto, subject) if known is None else known
        self.graph.initialisers = initialisers
        self._inputs(proto.input, initialisers, scope, subject, are_constants=model.ir_version < SEPARATE_INITIALISERS)
        declared = [(info.name, declared_type(info)) for info in (*proto.value_info, *proto.output)]
        for position, node in enumerate(proto.node):
            before = len(self.graph.steps)
            try:
                self.add(node, scope, position)
                steps = self.graph.steps[before:]
                if steps and all(isinstance(step.made, ElementwiseNode | ArrangedRows) for step in steps):
                    self.kernels.add(position)
            except UnsupportedError as error:
                self.refusals[position] = error
                self._go_on_after(node, scope)
            except NotChecked:
                self._go_on_after(node, scope)
        if self.refusals and not self.collects:
            raise all_of_them(self.refusals, proto.node, subject)
        for name, kind in declared:
            found = self.graph.types.get(scope.values.get(name) or "")
            if kind is not None and found is not None and kind != found:
                raise ModelError(message(subject, f"the value {name!r} is declared to be {kind}", f"{found}, its type"))
        self._outputs(proto.output, scope, subject)
        self.graph.names = {value: name for name, value in scope.values.items() if value}
        self.draft.drop_unused()
        return self.graph

    def _go_on_after(self, node: NodeProto, scope: Scope) -> None:
        """Take the outputs of a refused node for given, so that the nodes behind it are checked too."""
        inferred = self._inferred()
        for name in node.output:
            if name and name not in scope.values:
                unique = scope.values[name] = self.draft.unique(name, scope)
                info = inferred.get(name)
                kind = None if info is None else declared_type(info)
                if kind is None:
                    self.draft.unknown.add(unique)
                self.graph.types[unique] = kind or ""

    def _inputs(
        self,
        infos: Iterable[ValueInfoProto],
        initialisers: dict[str, np.ndarray],
        scope: Scope,
        subject: str,
        *,
        are_constants: bool,
    ) -> None:
        """Inputs, and initialisers: those of the same name are defaults, and constants in old versions."""
        graph = self.graph
        for info in infos:
            name = info.name
            if not name or name in scope.values:
                what = f"there are two inputs {name!r}" if name else "an input has no name"
                raise ModelError(message(subject, what, "each name once"))
            kind = required_type(info, "input", subject)
            default = initialisers.get(name)
            shape = declared_shape(info.type, f"{subject}, input {name!r}")
            if default is not None:
                check_default(default, kind, shape, f"initialiser {name!r}")
            scope.values[name] = self.draft.unique(name, scope)
            graph.types[name] = kind
            if default is None or not are_constants:
                graph.inputs.append(ValueInfo(name, kind, shape, required=default is None))
            if default is not None and not are_constants:
                graph.defaults[name] = default
        for name, array in initialisers.items():
            if name not in graph.defaults:
                self.draft.constant(scope, name, array)

    def _outputs(self, infos: Iterable[ValueInfoProto], scope: Scope, subject: str) -> None:
        graph = self.graph
        for info in infos:
            name = info.name
            value = scope.values.get(name)
            if value is None:
                raise ModelError(message(subject, f"no node computes the output {name!r}", COMPUTED))
            shape = declared_shape(info.type, f"{subject}, output {name!r}") if info.HasField("type") else None
            graph.outputs.append(ValueInfo(name, graph.types[value], shape))
            graph.results.append(value)
        if not graph.outputs:
            raise ModelError(message(subject, "the graph has no outputs", "one or more"))

    # ---- nodes

    def add(self, proto: NodeProto, scope: Scope, position: int) -> None:
        """Check one node, and add what computes it."""
        domain, version = domain_of(proto.domain), scope.opsets.get(domain_of(proto.domain))
        label = label_of(proto, position, version)
        if scope.calls:
            label += f", in the function {short(scope.calls[-1][1])}"
        if scope.attributes is not None:
            bound_proto = bound_node(proto, scope.attributes, label)
            if bound_proto is not proto:
                self.expansion.take_bytes(bound_proto, label)
            proto = bound_proto
        proto = trimmed(proto)
        inputs = [self.draft.value_of(name, scope, label) for name in proto.input]
        function = self.functions.get(key_of(proto))
        if function is not None:
            self._call(function, proto, inputs, scope, label)
            return
        body = body_of(proto, domain) if domain == MICROSOFT else None
        if body is not None:
            self._call(body, proto, inputs, scope, label)
            return
        if domain == MICROSOFT and proto.op_type in GRADIENTS:
            self._add_gradient(proto, inputs, scope, label)
            return
        if domain != "":
            raise UnsupportedError(
                message(label, f"it is an operator of {domain!r}", "ONNX's own operators, and functions of the model")
            )
        if proto.op_type == "If" and version is not None:
            self._add_if(proto, inputs, scope, label)
            return
        if version is None:
            raise ModelError(
                message(label, "the model imports no opset of ONNX's own operators", "", "Add one to opset_import")
            )
        schema = schemas.schema_of(proto.op_type, version)
        if schema is None and self._add_experimental(proto, inputs, scope, label):
            return
        if schema is None:
            raise ModelError(
                message(
                    label,
                    f"opset {version} has no operator {proto.op_type!r}",
                    "",
                    schemas.nearest(proto.op_type, version),
                )
            )
        schemas.check_version(schema, label)
        node = self._checked(proto, schema, version, inputs, label)
        bound = schemas.input_types(schema, node.input_types, node.inputs, label)
        types = schemas.output_types(schema, proto.output, bound, label)
        if len(inputs) > MOST_INPUTS and proto.op_type in VARIADIC:
            self._split(proto, scope, position)
            return
        if self._is_square(node):  # with the same bits, and no test: rows have it inside
            node = replace(node, operator="Mul", inputs=node.inputs[:1] * 2, input_types=node.input_types[:1] * 2)
        made = node_computations(node, types)
        if made is None and proto.op_type in COMPOSED:
            made = COMPOSED[proto.op_type](node, types)
        if made is not None:
            for place, (name, one) in enumerate(zip(node.outputs, made, strict=False)):
                if one is not None and name:
                    schemas.check_output(schema, place, one.type, label)
                    self.draft.append(node, name, one, scope)
            return
        body = body_of(proto, domain)
        what = f"Ogive has no operator {proto.op_type} (opset {version})"
        if body is None:
            raise NoOperatorError(message(label, what, way_out="See ogive.onnx.supported() for those it has"))
        try:
            self._call(body, proto, inputs, scope, label)
        except UnsupportedError as error:
            raise UnsupportedError(message(label, f"{what}, nor all that it is put together from: {error}")) from error

    def _is_square(self, node: OnnxNode) -> bool:
        """Whether it is the power of a floating-point number whose exponent is the number 2."""
        if node.operator != "Pow" or node.version < BROADCASTS_BY_RULE or node.inputs[1] is None:
            return False
        exponent = self.graph.constants.get(node.inputs[1])
        kinds = {kind.type for kind in DATA_TYPES.values() if kind.element is not None and kind.element.is_float}
        return exponent is not None and not exponent.ndim and exponent == 2 and node.input_types[0] in kinds

    def _inferred(self) -> dict[str, ValueInfoProto]:
        if self.inferred is None:
            self.inferred = {} if self.model is None else inferred_types(self.model)
        return self.inferred

    def _add_gradient(self, proto: NodeProto, inputs: list[str | None], scope: Scope, label: str) -> None:
        """Add a gradient node of ONNX Runtime's training graphs. No schema of it is there."""
        attributes = schemas.plain_values(proto, label, "FLOAT", "INT")
        kinds = tuple(None if name is None else self.graph.types[name] for name in inputs)
        node = without_schema(proto, inputs, ("",) * len(inputs), kinds, attributes, label)
        self.draft.append(node, proto.output[0], gradient_node(node), scope)

    def _add_experimental(self, proto: NodeProto, inputs: list[str | None], scope: Scope, label: str) -> bool:
        """Add an operator that ONNX has dropped, or that ONNX Runtime writes into ONNX's own domain, if it is one."""
        body = body_of(proto, "")
        if body is not None:
            self._call(body, proto, inputs, scope, label)
            return True
        row = row_of("onnx", proto.op_type)
        if row is None or not row.was_experimental:
            return False
        op = row.operator
        kinds = tuple(self.graph.types[name] for name in inputs if name is not None)
        if len(kinds) != len(op.tensors) or len(proto.output) != 1:
            what = f"it has {len(kinds)} inputs and {len(proto.output)} outputs"
            raise ModelError(message(label, what, f"{len(op.tensors)} and 1"))
        attributes = schemas.plain_values(proto, label, "FLOAT")
        node = without_schema(proto, inputs, op.tensors, kinds, attributes, label)
        self.draft.append(node, proto.output[0], from_catalogue(node, op, kinds[0]), scope)
        return True

    def _checked(
        self, proto: NodeProto, schema: onnx.defs.OpSchema, version: int, inputs: list[str | None], label: str
    ) -> OnnxNode:
        given = schemas.attribute_values(schema, proto, label, self.draft.home)
        formal = [schemas.formal_parameter(schema.inputs, position) for position in range(len(inputs))]
        return OnnxNode(
            operator=proto.op_type,
            version=schema.since_version,
            label=label,
            inputs=tuple(inputs),
            outputs=tuple(proto.output),
            parameters=tuple("" if parameter is None else parameter.name for parameter in formal),
            input_types=tuple(None if name is None else self.graph.types[name] for name in inputs),
            attributes={**schemas.default_values(proto.op_type, version), **given},
            given=frozenset(given),
        )

    # ---- conditions

    def _add_if(self, proto: NodeProto, inputs: list[str | None], scope: Scope, label: str) -> None:
        """Put the nodes of a branch in the place of the node, where the condition is known."""
        branches = {a.name: a.g for a in proto.attribute if a.type == AttributeProto.GRAPH}
        if branches.keys() != {"then_branch", "else_branch"} or len(proto.attribute) != 2:
            raise ModelError(message(label, f"its branches are {', '.join(branches) or 'missing'}", _BRANCHES))
        if len(inputs) != 1 or inputs[0] is None or self.graph.types[inputs[0]] != "tensor(bool)":
            kinds = [None if name is None else self.graph.types[name] for name in inputs]
            raise ModelError(message(label, f"its inputs are {kinds}", "one condition, of tensor(bool)"))
        chosen = decided(self.graph, inputs[0], self._known_shape)
        if chosen is None:
            what = f"its condition {proto.input[0]!r} is known only when the model runs, and Ogive has no control flow"
            raise UnsupportedError(message(label, what, way_out=schemas.LEFT_TO_OTHERS))
        assert self.outermost is not None
        known = self.outermost.values.items()
        self.conditions.update((name, chosen) for name, value in known if value == inputs[0])
        branch = branches["then_branch" if chosen else "else_branch"]
        inner = replace(scope, values=dict(scope.values))
        for name, array in self.draft.initialisers(branch, label).items():
            self.draft.refuse_known(name, inner, label)
            self.draft.constant(inner, name, array)
        for place, node in enumerate(branch.node):
            if scope.calls:
                self.expansion.count_node(label)
            self.add(node, inner, place)
        if len(branch.output) != len(proto.output):
            what = f"it has {len(proto.output)} outputs"
            raise ModelError(message(label, what, f"{len(branch.output)}, as the branch has"))
        for name, info in zip(proto.output, branch.output, strict=True):
            value = inner.values.get(info.name)
            if value is None:
                raise ModelError(message(label, f"nothing in the branch computes its output {info.name!r}", COMPUTED))
            if name:
                self.draft.refuse_known(name, scope, label)
                scope.values[name] = value

    def _known_shape(self, value: str) -> Shape | None:
        """The shape of a value of the main graph, as far as the model declares it or ONNX infers it."""
        assert self.outermost is not None
        for name, info in self._inferred().items():
            if self.outermost.values.get(name) == value:
                return declared_shape(info.type, f"the value {name!r}")
        return None

    def _split(self, proto: NodeProto, scope: Scope, position: int) -> None:
        """An operator of very many inputs as several of fewer."""
        names, operator = list(proto.input), proto.op_type
        inner = "Sum" if operator == "Mean" else operator
        total, shown, shown_name = len(names), short(proto.output[0]), short(proto.name)
        while len(names) > 1:
            is_last = len(names) <= MOST_INPUTS
            output = proto.output[0] if is_last and inner == operator else f"{shown}, part {next(self.draft.fresh)}"
            part = NodeProto(op_type=inner, name=shown_name, input=names[:MOST_INPUTS], output=[output])
            self.add(part, scope, position)
            names = [output, *names[MOST_INPUTS:]]
        if inner != operator:
            kind = DATA_TYPES[self.graph.types[scope.values[names[0]] or ""]]
            divisor = f"{shown}, inputs"
            self.draft.constant(scope, divisor, np.array(total, kind.numpy))
            self.add(
                NodeProto(op_type="Div", name=shown_name, input=[names[0], divisor], output=proto.output),
                scope,
                position,
            )

    # ---- functions

    def _call(
        self, function: FunctionProto, proto: NodeProto, inputs: list[str | None], scope: Scope, label: str
    ) -> None:
        """Put the body of a function in the place of a node."""
        self.expansion.take_bytes(function, label)
        inner = scope_of_call(function, proto, inputs, scope, label)
        for position, node in enumerate(function.node):
            self.expansion.count_node(label)
            self.add(node, inner, position)
        take_results(self.draft, proto, function.output, inner, scope, label)
