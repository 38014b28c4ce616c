"""Graphs of ONNX Runtime as ONNX models: what an execution provider is shown."""

from __future__ import annotations

from ctypes import c_bool, c_char_p, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ogive.onnxruntime.ort_interface import OrtInterface

__all__ = ["Shown", "read_graph"]

#: Larger constants are read when the model runs: nothing of what is computed before depends on them.
MOST_BYTES_OF_A_CONSTANT = 4096

#: ONNX's numbers of the element types that both sides store alike: no texts, and none of less than a byte.
STORED_ALIKE = frozenset(
    {
        *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL),
        *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
        *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
    }
)

#: The domain of nodes with bodies, which no provider of ours takes.
OTHER = "ogive.other"


@dataclass(frozen=True)
class Shown:
    """A graph of ONNX Runtime."""

    model: ModelProto
    known: dict[str, ValueInfoProto]
    """What is known of each value that is a tensor of a type that both sides store alike."""
    addresses: tuple[int, ...]
    """Of the nodes."""


def read_graph(ort: OrtInterface, graph: int, *, is_offer: bool = False) -> Shown:
    """A model with the nodes, inputs, outputs and small constants of a graph at an address.

    ONNX Runtime has no axes for a single number and for a value whose shape is not known. In an offer, from which nodes
    are claimed, nothing is known of either, unless it is a constant.
    """
    known: dict[str, ValueInfoProto] = {}
    constants: dict[str, np.ndarray] = {}

    def name_of(value: int) -> str:
        if not value:
            return ""
        name = ort.text("GetValueInfoName", value)
        if name not in known:
            found = ort.tensor_type(value)
            if found is not None and found[0] not in STORED_ALIKE:
                found = None
            is_constant = found is not None and ort.get(c_bool, "ValueInfo_IsConstantInitializer", value)
            if is_offer and found is not None and not found[1] and not is_constant:
                found = None
            if found is not None:
                known[name] = helper.make_tensor_value_info(name, *found)
            if found is not None and is_constant:
                tensor = ort.get(c_void_p, "ValueInfo_GetInitializerValue", value)
                array = ort.array(tensor) if tensor and _is_small(found[1]) else None
                if array is not None:
                    constants[name] = array
        return name

    addresses = ort.listed(graph, "Graph_GetNumNodes", "Graph_GetNodes")
    nodes = [_node(ort, address, name_of) for address in addresses]
    inputs, outputs = (
        [name_of(value) for value in ort.listed(graph, f"Graph_GetNum{what}", f"Graph_Get{what}")]
        for what in ("Inputs", "Outputs")
    )
    for value in ort.listed(graph, "Graph_GetNumInitializers", "Graph_GetInitializers"):
        name_of(value)
    made = helper.make_graph(
        nodes,
        "graph",
        [known[name] for name in inputs if name in known and name not in constants],
        [known[name] for name in outputs if name in known],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return Shown(helper.make_model(made, opset_imports=_opsets(ort, graph), ir_version=10), known, tuple(addresses))


def _is_small(shape: list[int | str | None]) -> bool:
    size = 8
    for length in shape:
        size *= length if isinstance(length, int) else MOST_BYTES_OF_A_CONSTANT
    return size <= MOST_BYTES_OF_A_CONSTANT


def _node(ort: OrtInterface, address: int, name_of: Any) -> NodeProto:
    inputs, outputs = (
        [name_of(value) for value in ort.listed(address, f"Node_GetNum{what}", f"Node_Get{what}")]
        for what in ("Inputs", "Outputs")
    )
    operator, domain = ort.text("Node_GetOperatorType", address), ort.text("Node_GetDomain", address)
    if ort.get(c_size_t, "Node_GetNumSubgraphs", address):
        read = [name_of(value) for value in ort.listed(address, "Node_GetNumImplicitInputs", "Node_GetImplicitInputs")]
        return helper.make_node(operator, [*inputs, *read], outputs, domain=OTHER)
    node = helper.make_node(operator, inputs, outputs, domain=domain)
    for attribute in ort.listed(address, "Node_GetNumAttributes", "Node_GetAttributes"):
        try:
            name, value = ort.attribute(attribute)
        except RuntimeError:  # longer than what operators of ours have
            return helper.make_node(operator, inputs, outputs, domain=OTHER)
        if isinstance(value, np.ndarray):
            value = numpy_helper.from_array(value)
        if value is not None and not (isinstance(value, list) and not value):
            node.attribute.append(helper.make_attribute(name, value))
    return node


def _opsets(ort: OrtInterface, graph: int) -> list[Any]:
    count = ort.get(c_size_t, "Graph_GetNumOperatorSets", graph)
    domains, versions = (c_char_p * max(count, 1))(), (c_int64 * max(count, 1))()
    ort.call("Graph_GetOperatorSets", graph, domains, versions, count)
    found = {(name or b"").decode(): version for name, version in zip(domains[:count], versions[:count], strict=True)}
    return [helper.make_opsetid(name, version) for name, version in found.items() if name not in ("ai.onnx",)]
