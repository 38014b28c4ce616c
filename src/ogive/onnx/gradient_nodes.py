"""Gradient nodes of training graphs: ONNX Runtime's operators in ``com.microsoft``, by the formulas of ogive.gradients.

ONNX Runtime builds such graphs (orttraining, gradient_builder.cc): GeluGrad and its kin take the gradient of the result
and the operand, the others the gradient of the result and the result itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.errors import ModelError, UnsupportedError, message
from ogive.gradients import vjp
from ogive.gradients.registered import of_largest
from ogive.onnx.data_types import element_types
from ogive.onnx.elementwise import from_catalogue, wrong_types
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import NodeComputation, NodeFunction
from ogive.onnx.reduction_nodes import along_axis, from_axis_on
from ogive.operators.operator import Operator, operator
from ogive.operators.row_operator import row_operator


@dataclass(frozen=True)
class Gradient:
    """One operator."""

    make: Callable[[], Operator]
    attributes: Mapping[str, float] = field(default_factory=dict)
    """With their defaults; other attributes are not taken."""
    is_one_axis: bool = True
    """Whether a row is one axis; else it is all axes from the given one on."""


# ---- of the operand


def _gelu(approximate: Literal["none", "tanh"], *, has_bias: bool) -> Operator:
    of_gelu = vjp(OPERATORS["gelu"])

    def gelu_grad(gradient: Any, x: Any) -> Any:
        return of_gelu(gradient, x, approximate=approximate)

    def bias_gelu_grad(gradient: Any, x: Any, bias: Any) -> Any:
        return of_gelu(gradient, x + bias, approximate=approximate)

    return operator(bias_gelu_grad if has_bias else gelu_grad)


def _quick_gelu() -> Operator:
    return vjp(OPERATORS["swish"])


# ---- of the result


def _sigmoid() -> Operator:
    @operator
    def sigmoid_grad(gradient: Any, result: Any) -> Any:
        return gradient * (result * (1 - result))

    return sigmoid_grad


def _tanh() -> Operator:
    @operator
    def tanh_grad(gradient: Any, result: Any) -> Any:
        return gradient * ((1 - result) * (1 + result))

    return tanh_grad


def _relu() -> Operator:
    @operator
    def relu_grad(gradient: Any, result: Any) -> Any:
        return f.where(result > 0, gradient, 0)

    return relu_grad


def _leaky_relu() -> Operator:
    @operator
    def leaky_relu_grad(gradient: Any, result: Any, *, alpha: float = 0.01) -> Any:
        return f.where(result > 0, gradient, alpha * gradient)

    return leaky_relu_grad


def _beside_largest(gradient: Any, result: Any, largest: Any) -> tuple[Any, Any, Any, Any]:
    """The largest elements, how many there are, a gradient of theirs, and the gradients beside that."""
    is_largest = f.equal(result, largest)
    common = of_largest(gradient, result, largest)
    own = f.where(is_largest, gradient - common, gradient)
    return is_largest, f.row_sum(f.where(is_largest, 1, 0)), common, own


def _softmax() -> Operator:
    @row_operator
    def softmax_grad(gradient: Any, result: Any) -> Any:
        """``result * (gradient - sum(gradient * result))``; that of a largest share next to 1 without a cancellation."""
        largest = f.row_max(result)
        is_largest, count, common, own = _beside_largest(gradient, result, largest)
        beside = f.row_sum(own * result)
        rest = f.where(f.equal(count, 1), 1 - largest, 1 - count * largest)
        of_a_largest = own + (common * rest - beside)
        return result * f.where(is_largest, of_a_largest, gradient - (common * (count * largest) + beside))

    return softmax_grad


def _log_softmax() -> Operator:
    @row_operator
    def log_softmax_grad(gradient: Any, result: Any) -> Any:
        """``gradient - exp(result) * sum(gradient)``; that of a largest share next to 1 without a cancellation."""
        share, largest = np.exp(result), f.row_max(result)
        is_largest, count, common, own = _beside_largest(gradient, result, largest)
        rest = f.where(f.equal(count, 1), -np.expm1(largest), 1 - count * np.exp(largest))
        of_a_largest = own + (common * rest - share * f.row_sum(own))
        return f.where(is_largest, of_a_largest, gradient - share * f.row_sum(gradient))

    return log_softmax_grad


GRADIENTS: dict[str, Gradient] = {
    "BiasFastGeluGrad_dX": Gradient(partial(_gelu, "tanh", has_bias=True)),
    "BiasGeluGrad_dX": Gradient(partial(_gelu, "none", has_bias=True)),
    "FastGeluGrad": Gradient(partial(_gelu, "tanh", has_bias=False)),
    "GeluGrad": Gradient(partial(_gelu, "none", has_bias=False)),
    "LeakyReluGrad": Gradient(_leaky_relu, {"alpha": 0.01}),
    "LogSoftmaxGrad": Gradient(_log_softmax, {"axis": 1}, is_one_axis=False),
    "LogSoftmaxGrad_13": Gradient(_log_softmax, {"axis": -1}),
    "QuickGeluGrad": Gradient(_quick_gelu, {"alpha": 1.702}),
    "ReluGrad": Gradient(_relu),
    "SigmoidGrad": Gradient(_sigmoid),
    "SoftmaxGrad": Gradient(_softmax, {"axis": 1}, is_one_axis=False),
    "SoftmaxGrad_13": Gradient(_softmax, {"axis": -1}),
    "TanhGrad": Gradient(_tanh),
}


@cache
def _operator_of(name: str) -> Operator:
    return GRADIENTS[name].make()


def gradient_node(node: OnnxNode) -> NodeComputation:
    """The computation of a gradient node, whose attributes are those that the model gives."""
    gradient, op = GRADIENTS[node.operator], _operator_of(node.operator)
    unknown = ", ".join(sorted(map(repr, set(node.attributes) - set(gradient.attributes))))
    if unknown:
        allowed = ", ".join(gradient.attributes) or "no attributes"
        raise ModelError(message(node.label, f"it has the attribute {unknown}", allowed))
    for name, value in node.attributes.items():
        wanted = "INT" if isinstance(gradient.attributes[name], int) else "FLOAT"
        if isinstance(value, int) != (wanted == "INT"):
            raise ModelError(message(node.label, f"the attribute {name!r} is {value}", f"{wanted}s"))
    kinds = [kind for kind in node.input_types if kind is not None]
    if len(kinds) != len(op.tensors) or len(node.outputs) != 1:
        what = f"it has {len(kinds)} inputs and {len(node.outputs)} outputs"
        raise ModelError(message(node.label, what, f"{len(op.tensors)} and 1"))
    full = OnnxNode(
        operator=node.operator,
        version=node.version,
        label=node.label,
        inputs=node.inputs,
        outputs=node.outputs,
        parameters=op.tensors,
        input_types=node.input_types,
        attributes={**gradient.attributes, **node.attributes},
        given=node.given,
    )
    if len(set(kinds)) > 1:
        raise UnsupportedError(message(node.label, f"its inputs are {' and '.join(kinds)}", "inputs of one type"))
    if not op.is_row_wise:
        return from_catalogue(full, op, kinds[0])
    elements = element_types((kinds[0],))
    if elements is None or not elements[0].is_float:
        raise wrong_types(node, (t for signature in op.signatures for t in signature.inputs))
    compute = along_axis if gradient.is_one_axis else from_axis_on
    return NodeFunction(
        node.operands, partial(_of_rows, compute, op, int(full.attributes["axis"])), kinds[0], fills=True
    )


def _of_rows(
    compute: Callable[..., None], op: Operator, axis: int, gradient: np.ndarray, result: np.ndarray, out: np.ndarray
) -> None:
    compute(op, {}, axis, gradient, result, out=out)
