"""Graphs under construction: inputs, constants, and the way to a DML_GRAPH_DESC."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ogive.directml.builder.buffers import Buffer, as_array, checked_array
from ogive.directml.builder.compiled import CompiledGraph, InputSlot
from ogive.directml.builder.operator_functions import broadcast, call
from ogive.directml.builder.tensor_descs import TensorDesc, TensorPolicy, data_type_of, dtype_of
from ogive.directml.builder.tensor_expression import Expression, ExpressionNode, Maker
from ogive.directml.device import Device
from ogive.directml.enumerations import DML_EXECUTION_FLAGS, DML_TENSOR_FLAGS
from ogive.directml.graph_descs import (
    DML_GRAPH_DESC,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_INTERMEDIATE_GRAPH_EDGE_DESC,
    DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
)
from ogive.directml.life_cycle import Operator
from ogive.directml.results import refuse
from ogive.directml.structure import short
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC
from ogive.errors import ArgumentError, ParameterError, message


class Graph(Maker):
    """A graph under construction, on a device.

    Functions such as ``dml.activation_celu`` add operators to the graph of their operands; `compile` makes an
    operator of what the outputs need. ``tensor_policy`` decides the layout of what operators make. Building a
    graph is for one thread at a time.

    >>> import numpy as np, ogive.directml as dml
    >>> graph = dml.Graph(dml.Device())
    >>> x = graph.input([1, 1, 2, 2], np.float32, name="x")
    >>> weight = graph.constant(np.float32([1, 2]), sizes=[1, 1, 1, 2])
    >>> y = dml.activation_relu(x * dml.broadcast(weight, x.shape))
    >>> op = graph.compile([y])
    >>> op({"x": [[-1.0, 1.5], [2.0, -3.0]]})[0].tolist()
    [[[[0.0, 3.0], [2.0, 0.0]]]]
    """

    def __init__(self, device: Any, *, tensor_policy: Any = None) -> None:
        if not isinstance(device, Device):
            raise ArgumentError(message("Graph", f"device is {short(device)}", "a dml.Device"))
        if tensor_policy is not None and not isinstance(tensor_policy, TensorPolicy):
            allowed = "TensorPolicy.default, TensorPolicy.interleaved_channel or None"
            raise ArgumentError(message("Graph", f"tensor_policy is {short(tensor_policy)}", allowed))
        self.device: Device = device
        self.tensor_policy: TensorPolicy | None = tensor_policy
        self._count = 0
        self._inputs: list[tuple[ExpressionNode, str | None, TensorDesc]] = []
        self._constants: dict[ExpressionNode, Any] = {}
        self._literals: dict[tuple[str, bytes], tuple[ExpressionNode, np.ndarray]] = {}

    def __repr__(self) -> str:
        return f"<dml.Graph of {len(self._inputs)} inputs and {self._count - len(self._inputs)} operators>"

    def _node(self, operator: Operator | None = None, operands: tuple[Expression | None, ...] = ()) -> ExpressionNode:
        self._count += 1
        return ExpressionNode(self._count, operator, operands)

    def _add(self, operator: Operator, operands: tuple[Expression | None, ...], output: TensorDesc) -> Expression:
        return Expression(self, self._node(operator, operands), output)

    def _call(self, name: str, *tensors: Any, **keywords: Any) -> Expression:
        return call(name, *tensors, **keywords)

    # ---- what is given from outside

    def input(
        self,
        sizes: Sequence[int] | None = None,
        dtype: Any = None,
        *,
        owned: bool = False,
        strides: Sequence[int] | None = None,
        desc: TensorDesc | DML_BUFFER_TENSOR_DESC | None = None,
        name: str | None = None,
    ) -> Expression:
        """Add an input.

        ``dtype``: a NumPy dtype or a TensorDataType; float32 by default. ``owned``: it is given once, to
        ``op.initialize``, and copied. ``strides`` are in elements. ``desc`` takes the place of all these.
        ``name``: a key besides the expression, unlike any other one of the graph.

        Raises ArgumentError for arguments that do not go together, DMLError for an unknown tensor.
        """
        if desc is not None:
            if sizes is not None or dtype is not None or owned or strides is not None:
                raise ArgumentError(
                    message("input", "desc was given with sizes, dtype, owned or strides", "one of them")
                )
            if not isinstance(desc, TensorDesc | DML_BUFFER_TENSOR_DESC):
                raise ArgumentError(message("input", f"desc is {short(desc)}", "a TensorDesc"))
            return self._add_input(TensorDesc.of(desc) if isinstance(desc, DML_BUFFER_TENSOR_DESC) else desc, name)
        if sizes is None:
            raise ArgumentError(message("input", "sizes is missing", "the shape, or a desc"))
        flags = DML_TENSOR_FLAGS.OWNED_BY_DML if owned else DML_TENSOR_FLAGS.NONE
        made = TensorDesc(np.float32 if dtype is None else dtype, sizes, flags=flags, strides=strides)
        return self._add_input(made, name)

    def constant(
        self, array: Any, dtype: Any = None, *, sizes: Sequence[int] | None = None, name: str | None = None
    ) -> Expression:
        """Add an owned input whose data is known.

        The graph keeps the array until `compile`, which copies its data. ``dtype`` is by default the array's,
        ``sizes`` its shape.

        Raises DMLError for data that cannot be converted safely or does not fill the sizes, DTypeError for a type
        that tensors do not have.
        """
        if not isinstance(array, Buffer):
            array = as_array("constant", "array", array)
        wanted = data_type_of("constant", array.dtype if dtype is None else dtype)
        desc = TensorDesc(wanted, array.shape or (1,) if sizes is None else sizes, flags=DML_TENSOR_FLAGS.OWNED_BY_DML)
        if isinstance(array, Buffer):
            if array.dtype != dtype_of(wanted):
                way_out = "Buffers are not converted: make one with that dtype"
                refuse("constant", f"it is given a Buffer of {array.dtype}", str(desc.dtype), way_out)
        else:
            checked_array("constant", "array", array, desc.dtype)
        if array.size != int(np.prod(desc.sizes, dtype=object)):
            what = f"an array of {array.size} elements does not fill sizes {desc.sizes}"
            refuse("constant", what, f"{int(np.prod(desc.sizes, dtype=object))} elements")
        made = self._add_input(desc, name)
        self._constants[made._node] = array
        return made

    def _add_input(self, desc: TensorDesc, name: str | None) -> Expression:
        if name is not None and not isinstance(name, str):
            raise ArgumentError(message("input", f"name is {short(name)}", "text, or None"))
        if name is not None and any(other == name for _, other, _ in self._inputs):
            raise ParameterError(message("input", f"the graph already has an input named {name!r}", "another name"))
        made = Expression(self, self._node(), desc)
        self._inputs.append((made._node, name, desc))
        return made

    def _literal(self, subject: str, value: float, like: Expression) -> Expression:
        dtype = like.dtype
        array = np.asarray(value)
        if dtype.kind != "f":
            bounds = np.iinfo(dtype)
            if not float(value).is_integer() or not bounds.min <= value <= bounds.max:
                allowed = f"whole numbers from {bounds.min} to {bounds.max} with a tensor of {dtype}"
                way_out = "Use dml.cast(x, dtype=np.float32) for other numbers"
                raise ParameterError(message(subject, f"an operand is {value}", allowed, way_out))
            array = np.asarray(int(value))
        with np.errstate(over="ignore"):
            array = array.astype(dtype).reshape(1)
        key = (dtype.str, array.tobytes())
        if key not in self._literals:
            self._literals[key] = (self._node(), array)
        node, _ = self._literals[key]
        desc = TensorDesc(dtype, (1,) * len(like.shape), flags=DML_TENSOR_FLAGS.OWNED_BY_DML)
        return broadcast(Expression(self, node, desc), like.shape)

    # ---- compilation

    def compile(self, outputs: Sequence[Expression], *, flags: Any = DML_EXECUTION_FLAGS.NONE) -> CompiledGraph:
        """The operator that computes these outputs, in this order.

        Nodes that no output needs are left out. The constants go to the operator, which is initialised already
        if it owns nothing else.

        Raises ArgumentError for what is no list of expressions, DMLError for an output that no operator makes.
        """
        nodes = [self._output(position, x) for position, x in enumerate(self._listed(outputs))]
        needed = _needed(nodes)
        operators = [node for node in needed if node.operator is not None]
        number = {node: index for index, node in enumerate(operators)}
        slots = [InputSlot(i, name, node, desc, node in needed) for i, (node, name, desc) in enumerate(self._inputs)]
        used_literals = [(node, array) for node, array in self._literals.values() if node in needed]
        sources = {slot.node: slot.number for slot in slots}
        sources |= {node: len(slots) + i for i, (node, _) in enumerate(used_literals)}
        desc = DML_GRAPH_DESC(
            InputCount=len(slots) + len(used_literals),
            OutputCount=len(nodes),
            Nodes=[DML_OPERATOR_GRAPH_NODE_DESC(node.operator) for node in operators],
            InputEdges=[
                DML_INPUT_GRAPH_EDGE_DESC(sources[x._node], number[node], position)
                for node, position, x in _operands(operators)
                if x._node in sources
            ],
            OutputEdges=[DML_OUTPUT_GRAPH_EDGE_DESC(number[node], 0, i) for i, node in enumerate(nodes)],
            IntermediateEdges=[
                DML_INTERMEDIATE_GRAPH_EDGE_DESC(number[x._node], 0, number[node], position)
                for node, position, x in _operands(operators)
                if x._node in number
            ],
        )
        device = self.device
        constants, self._constants = self._constants, {}
        return CompiledGraph(
            device,
            partial(device.CompileGraph, desc, flags),
            slots,
            [x.desc for x in outputs],
            [int(x.desc.total_tensor_size_in_bytes) for x in outputs],
            constants,
            {sources[node]: array for node, array in used_literals},
        )

    def _listed(self, outputs: Any) -> Sequence[Expression]:
        if isinstance(outputs, Expression):
            raise ArgumentError(message("compile", "outputs is an expression", "a list of expressions", "Write [y]"))
        if not isinstance(outputs, Sequence) or not outputs:
            raise ArgumentError(message("compile", f"outputs is {short(outputs)}", "a list of one expression or more"))
        return outputs

    def _output(self, position: int, x: Any) -> ExpressionNode:
        if not isinstance(x, Expression):
            raise ArgumentError(message("compile", f"outputs[{position}] is {short(x)}", "an expression"))
        if x._graph is not self:
            raise ArgumentError(message("compile", f"outputs[{position}] belongs to another graph", "its own"))
        if x._node.operator is None:
            what = f"outputs[{position}] is an input or a constant"
            refuse("compile", what, "what an operator makes", "Use dml.identity(x)")
        return x._node


def _needed(outputs: Sequence[ExpressionNode]) -> dict[ExpressionNode, None]:
    """The nodes that the outputs depend on, each after its operands: in the order in which they were made."""
    found = set(outputs)
    waiting = list(found)
    while waiting:
        for x in waiting.pop().operands:
            if x is not None and x._node not in found:
                found.add(x._node)
                waiting.append(x._node)
    return dict.fromkeys(sorted(found, key=lambda node: node.number))


def _operands(nodes: Sequence[ExpressionNode]) -> list[tuple[ExpressionNode, int, Expression]]:
    return [(node, i, x) for node in nodes for i, x in enumerate(node.operands) if x is not None]
