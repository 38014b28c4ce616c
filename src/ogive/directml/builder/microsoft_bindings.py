"""The shape of Microsoft's own binding, PyDirectML (Python/ in its repository): graph builders, bindings, `Device.compute`.

    device = dml.Device(True, True)
    builder = dml.GraphBuilder(device)
    x = dml.input_tensor(builder, 0, dml.TensorDesc(dml.TensorDataType.FLOAT32, [1, 1, 2, 2]))
    y = dml.activation_relu(x)
    op = builder.build(dml.ExecutionFlags.NONE, [y])
    (result,) = device.compute(op, [dml.Binding(x, array)], [y])

It is a thin layer: a builder is a `Graph`, and a model a compiled graph with its outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.directml.builder.graph_builder import Graph
from ogive.directml.builder.operator_functions import call
from ogive.directml.builder.tensor_descs import TensorDesc
from ogive.directml.builder.tensor_expression import Expression
from ogive.directml.enumerations import DML_EXECUTION_FLAGS
from ogive.directml.structure import short
from ogive.errors import ArgumentError, ParameterError, message

if TYPE_CHECKING:
    from ogive.directml.builder.compiled import CompiledGraph


class Binding:
    """An input of a graph and its data: an array of numbers, converted to the tensor's type.

    >>> import numpy as np, ogive.directml as dml
    >>> builder = dml.GraphBuilder(dml.Device(True, True))
    >>> x = dml.input_tensor(builder, 0, dml.TensorDesc(dml.TensorDataType.FLOAT32, [1, 2]))
    >>> dml.Binding(x, np.zeros([1, 2])).data.dtype
    dtype('float32')
    """

    def __init__(self, expr: Expression, data: Any) -> None:
        if not isinstance(expr, Expression):
            raise ArgumentError(message("Binding", f"expr is {_shown(expr)}", "an expression of input_tensor"))
        self.expr = expr
        try:
            self.data = np.asarray(data).astype(expr.desc.dtype, copy=False)
        except (TypeError, ValueError):
            raise ArgumentError(message("Binding", f"data is {_shown(data)}", "an array of numbers")) from None


class Model:
    """A graph that a builder has compiled; `Device.compute` runs it."""

    def __init__(self, graph: CompiledGraph, outputs: Sequence[Expression]) -> None:
        self.graph = graph
        self.outputs = tuple(outputs)

    def computed(self, inputs: Sequence[Binding], outputs: Sequence[Expression]) -> list[Any]:
        """The outputs as arrays, in the order that is asked for. Tensors that DirectML owns are given each time.

        Raises ArgumentError for what is no binding and no output of the model, and what compiled graphs raise.
        """
        for place, binding in enumerate(inputs):
            if not isinstance(binding, Binding):
                raise ArgumentError(message("compute", f"inputs[{place}] is {_shown(binding)}", "a dml.Binding"))
        made = {id(x): place for place, x in enumerate(self.outputs)}
        for place, x in enumerate(outputs):
            if id(x) not in made:
                what = f"outputs[{place}] is {_shown(x)}"
                raise ArgumentError(message("compute", what, "the expressions that were given to build"))
        owned: dict[Expression | str, Any] = {
            binding.expr: binding.data for binding in inputs if binding.expr.desc.structure.is_owned
        }
        if owned:
            self.graph.initialize(owned)
        found = self.graph.dispatch({b.expr: b.data for b in inputs if not b.expr.desc.structure.is_owned})
        return [found[made[id(x)]] for x in outputs]


class GraphBuilder(Graph):
    """A `Graph` by the name that Microsoft's binding gives it, compiled by `build`."""

    def build(self, flags: Any, outputs: Sequence[Expression]) -> Model:
        """The operator that computes these outputs; ``flags`` are ExecutionFlags.

        Raises what `Graph.compile` raises.
        """
        if not isinstance(flags, DML_EXECUTION_FLAGS | int):
            what = f"flags is {_shown(flags)}"
            raise ArgumentError(message("build", what, "ExecutionFlags", "The flags come first: build(flags, [y])"))
        return Model(self.compile(outputs, flags=flags), outputs)


def input_tensor(scope: GraphBuilder, input_index: int, tensor_desc: TensorDesc) -> Expression:
    """Add an input to a builder, as Microsoft's binding does it. The inputs of a graph are numbered from 0 on, in this order.

    Raises ArgumentError for what is no builder and no desc, ParameterError for another number.
    """
    if not isinstance(scope, Graph):
        raise ArgumentError(message("input_tensor", f"scope is {_shown(scope)}", "a GraphBuilder"))
    if not isinstance(tensor_desc, TensorDesc):
        raise ArgumentError(message("input_tensor", f"tensor_desc is {_shown(tensor_desc)}", "a TensorDesc"))
    if input_index != len(scope._inputs):
        what = f"input_index is {input_index!r}"
        raise ParameterError(message("input_tensor", what, f"{len(scope._inputs)}, the number of the next input"))
    return scope.input(desc=tensor_desc)


def activation_soft_max(input: Expression) -> Expression:  # noqa: A002  # as every function calls its tensor
    """`activation_softmax` by the name that Microsoft's binding gives it: over the last axis."""
    return call("activation_softmax", input)


def _shown(value: Any) -> str:
    return "an expression" if isinstance(value, Expression) else short(value)
