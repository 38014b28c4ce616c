"""Calls of functions: their bodies in the place of the nodes that call them, within a budget of nodes and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnx import FunctionProto, ModelProto, NodeProto

from ogive.errors import ModelError, UnsupportedError, message
from ogive.onnx import schemas
from ogive.onnx.bodies import call_attributes, key_of
from ogive.onnx.bodies import normal_domain as domain_of
from ogive.onnx.draft import COMPUTED, GraphDraft, Scope

#: Functions may call functions; a small file could stand for more nodes than there are atoms. Each node costs about
#: 1 ms until it has run once.
MOST_EXPANDED_NODES = 10_000
DEEPEST_CALL = 64

#: The bodies of functions may have this many bytes in all calls together, besides those that the file itself has.
MOST_EXPANDED_BYTES = 1 << 26


@dataclass
class CallBudget:
    """The nodes and bytes that calls of functions may still stand for."""

    node_limit: int
    bytes_left: int
    nodes: int = 0

    def count_node(self, label: str) -> None:
        """Count a node of a function's body. Raises UnsupportedError beyond the limit."""
        self.nodes += 1
        if self.nodes > self.node_limit:
            what = f"functions stand for more than {self.node_limit} nodes"
            way_out = "Give ogive.onnx.load a larger node_limit"
            raise UnsupportedError(message(label, what, f"{self.node_limit} nodes", way_out))

    def take_bytes(self, proto: FunctionProto | NodeProto, label: str) -> None:
        """Count what calls of functions copy; a small file could stand for more than there is memory."""
        self.bytes_left -= proto.ByteSize()
        if self.bytes_left < 0:
            what = f"the bodies of functions have more than {MOST_EXPANDED_BYTES} bytes in all calls together"
            raise UnsupportedError(message(label, what, f"{MOST_EXPANDED_BYTES} bytes"))


def opsets_of(model: ModelProto | FunctionProto, subject: str) -> dict[str, int]:
    """The version of each domain that a model or a function imports."""
    found: dict[str, int] = {}
    for entry in model.opset_import:
        domain = domain_of(entry.domain)
        if found.setdefault(domain, entry.version) != entry.version:
            raise ModelError(
                message(
                    subject, f"it imports {domain!r} twice: {found[domain]} and {entry.version}", "one version of each"
                )
            )
    if not found and isinstance(model, ModelProto) and model.ir_version < 3:
        found[""] = 1  # the standard had no opsets yet
    if "" in found:
        schemas.check_opset(found[""], subject)
    return found


def scope_of_call(
    function: FunctionProto, proto: NodeProto, inputs: Sequence[str | None], scope: Scope, label: str
) -> Scope:
    """The scope in which the nodes of a function's body are checked. ``inputs`` are the values that the node gives it."""
    key = key_of(proto)
    if key in scope.calls:
        raise ModelError(message(label, f"the function {key[1]!r} calls itself", "functions without recursion"))
    if len(scope.calls) >= DEEPEST_CALL:
        raise UnsupportedError(
            message(label, f"functions call each other more than {DEEPEST_CALL} deep", f"{DEEPEST_CALL}")
        )
    for kind, given, formal in (("inputs", inputs, function.input), ("outputs", proto.output, function.output)):
        if len(given) > len(formal):
            raise ModelError(message(label, f"it has {len(given)} {kind}", f"{len(formal)}, as the function"))
    inner = Scope(
        opsets_of(function, label),
        attributes=call_attributes(function, proto, label),
        calls=(*scope.calls, key),
    )
    for position, name in enumerate(function.input):
        if name in inner.values:
            raise ModelError(message(label, f"the function has two inputs {name!r}", "each name once"))
        inner.values[name] = inputs[position] if position < len(inputs) else None
    return inner


def take_results(
    draft: GraphDraft, proto: NodeProto, results: Sequence[str], inner: Scope, scope: Scope, label: str
) -> None:
    """Name the results of a function's body, which are values of ``inner``, as the outputs of the node."""
    for name, result in zip(proto.output, results, strict=False):
        if not name:
            continue
        draft.refuse_known(name, scope, label)
        value = inner.values.get(result)
        if value is None:
            raise ModelError(message(label, f"nothing in the function computes its output {result!r}", COMPUTED))
        scope.values[name] = value
