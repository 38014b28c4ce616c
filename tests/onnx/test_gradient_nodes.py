"""Gradient nodes of training graphs: beside float64 formulas, beside Ogive's own derivatives, and refused."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ogive
import ogive.onnx
from benchmarks.cliffs import OF_ROWS, drawn_rows
from ogive.errors import ModelError, UnsupportedError
from ogive.onnx import gradient_nodes
from ogive.onnx.gradient_nodes import GRADIENTS
from ogive.runtime.decide import RowDecider

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
UPSTREAM = RNG.standard_normal((3, 4, 5)).astype(np.float32)
BIAS = RNG.standard_normal(5).astype(np.float32)


def model_of(operator, inputs, kind=TensorProto.FLOAT, **attributes):
    infos = [helper.make_tensor_value_info(name, kind, array.shape) for name, array in inputs.items()]
    result = helper.make_tensor_value_info("result", kind, None)
    node = helper.make_node(operator, list(inputs), ["result"], domain="com.microsoft", **attributes)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "backward", infos, [result])
    return ogive.onnx.load(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def softmax_grad(y, axes):
    u, y = UPSTREAM.astype(np.float64), y.astype(np.float64)
    return y * (u - (u * y).sum(axes, keepdims=True))


def log_softmax_grad(y, axes):
    u = UPSTREAM.astype(np.float64)
    return u - np.exp(y.astype(np.float64)) * u.sum(axes, keepdims=True)


SOFTMAX, LOG_SOFTMAX = ogive.softmax(X), ogive.log_softmax(X)
BY_MATRIX = ogive.softmax(X, axis=(1, 2))
#: operator: operands behind the gradient, attributes, what is right
CASES = {
    "GeluGrad": ([X], {}, lambda: ogive.vjp(ogive.gelu)(UPSTREAM, X)),
    "FastGeluGrad": ([X], {}, lambda: ogive.vjp(ogive.gelu)(UPSTREAM, X, approximate="tanh")),
    "BiasGeluGrad_dX": ([X, BIAS], {}, lambda: UPSTREAM * ogive.grad(ogive.gelu)(X.astype(float) + BIAS)),
    "BiasFastGeluGrad_dX": (
        [X, BIAS],
        {},
        lambda: UPSTREAM * ogive.grad(ogive.gelu)(X.astype(float) + BIAS, approximate="tanh"),
    ),
    "QuickGeluGrad": ([X], {}, lambda: ogive.vjp(ogive.swish)(UPSTREAM, X, alpha=1.702)),
    "QuickGeluGrad, alpha": ([X], {"alpha": 1.0}, lambda: ogive.vjp(ogive.swish)(UPSTREAM, X)),
    "SigmoidGrad": ([ogive.sigmoid(X)], {}, lambda: ogive.vjp(ogive.sigmoid)(UPSTREAM, X)),
    "TanhGrad": ([ogive.tanh(X)], {}, lambda: ogive.vjp(ogive.tanh)(UPSTREAM, X)),
    "ReluGrad": ([ogive.relu(X)], {}, lambda: ogive.vjp(ogive.relu)(UPSTREAM, X)),
    "LeakyReluGrad": ([ogive.leaky_relu(X)], {}, lambda: ogive.vjp(ogive.leaky_relu)(UPSTREAM, X)),
    "LeakyReluGrad, alpha": ([X], {"alpha": 0.25}, lambda: ogive.vjp(ogive.leaky_relu)(UPSTREAM, X, alpha=0.25)),
    "SoftmaxGrad_13": ([SOFTMAX], {}, lambda: softmax_grad(SOFTMAX, -1)),
    "SoftmaxGrad_13, axis": ([SOFTMAX], {"axis": 1}, lambda: softmax_grad(SOFTMAX, 1)),
    "SoftmaxGrad": ([BY_MATRIX], {}, lambda: softmax_grad(BY_MATRIX, (1, 2))),
    "LogSoftmaxGrad_13": ([LOG_SOFTMAX], {"axis": 2}, lambda: log_softmax_grad(LOG_SOFTMAX, 2)),
    "LogSoftmaxGrad": ([LOG_SOFTMAX], {"axis": 2}, lambda: log_softmax_grad(LOG_SOFTMAX, 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_nodes(case):
    operands, attributes, right = CASES[case]
    inputs = {"dy": UPSTREAM, **{f"x{i}": array for i, array in enumerate(operands)}}
    result = model_of(case.split(",")[0], inputs, **attributes)(**inputs)
    assert result.dtype == np.float32
    # A gradient that is written by the result knows it to its last digit only.
    assert np.allclose(result, right(), rtol=2e-6, atol=2e-7)


def test_every_gradient_node_is_tested():
    assert {case.split(",")[0] for case in CASES} == set(GRADIENTS)


@pytest.mark.matrix(share=16, pool="slow")
def test_half_precision():
    x, dy = X.astype(np.float16), UPSTREAM.astype(np.float16)
    result = model_of("GeluGrad", {"dy": dy, "x": x}, TensorProto.FLOAT16)(dy=dy, x=x)
    assert result.tobytes() == ogive.vjp(ogive.gelu)(dy, x).tobytes()


def test_a_backward_graph_is_one_kernel():
    """An element-wise part fuses with the nodes around it."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("dy", "x")]
    nodes = [
        helper.make_node("Mul", ["dy", "x"], ["g"]),
        helper.make_node("GeluGrad", ["g", "x"], ["dx"], domain="com.microsoft"),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    result = helper.make_tensor_value_info("dx", TensorProto.FLOAT, ["n"])
    graph = helper.make_graph(nodes, "backward", infos, [result])
    model = ogive.onnx.load(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    x, dy = X.ravel(), UPSTREAM.ravel()
    assert model(dy=dy, x=x).tobytes() == ogive.vjp(ogive.gelu)(dy * x, x).tobytes()


@pytest.mark.parametrize(
    ("operator", "inputs", "kind", "attributes", "error", "text"),
    [
        ("GeluGrad", {"dy": X}, TensorProto.FLOAT, {}, ModelError, "it has 1 inputs and 1 outputs; allowed: 2 and 1"),
        (
            "GeluGrad",
            {"dy": X, "x": X},
            TensorProto.FLOAT,
            {"alpha": 1.0},
            ModelError,
            "it has the attribute 'alpha'; allowed: no attributes",
        ),
        (
            "SoftmaxGrad_13",
            {"dy": X, "y": X},
            TensorProto.FLOAT,
            {"axis": float("nan")},
            ModelError,
            "the attribute 'axis' is nan; allowed: INTs",
        ),
        (
            "LeakyReluGrad",
            {"dy": X, "y": X},
            TensorProto.FLOAT,
            {"alpha": "a"},
            ModelError,
            "the attribute 'alpha' is of type STRING; allowed: FLOAT, INT",
        ),
        (
            "SoftmaxGrad_13",
            {"dy": X, "y": X},
            TensorProto.INT32,
            {},
            UnsupportedError,
            (
                "its inputs are tensor(int32); allowed: float16, float32, float64, bfloat16. Use ogive.onnx.load(model, "
                "partial=True), `ogive run --partial` or `ogive split` to leave such nodes to another runtime"
            ),
        ),
    ],
)
def test_refusals(operator, inputs, kind, attributes, error, text):
    with pytest.raises(error) as caught:
        model_of(operator, inputs, kind, **attributes)
    assert str(caught.value).endswith(text), caught.value


def test_other_operators_of_the_domain_are_refused():
    with pytest.raises(UnsupportedError, match="it is an operator of 'com.microsoft'"):
        model_of("LayerNormalizationGrad", {"dy": X})


def test_derivatives_and_choices_are_exported():
    """As functions of standard operators; the reference evaluator of onnx runs them."""
    from onnx.reference import ReferenceEvaluator

    function = ogive.onnx.export(ogive.vjp(ogive.gelu), approximate="tanh")
    names = [*function.input]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in names]
    node = helper.make_node(function.name, names, ["result"], domain=function.domain)
    result = helper.make_tensor_value_info("result", TensorProto.FLOAT, ["n"])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(function.domain, 1)]
    graph = helper.make_graph([node], "exported", infos, [result])
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(model)
    (computed,) = ReferenceEvaluator(model).run(None, dict(zip(names, [UPSTREAM.ravel(), X.ravel()], strict=True)))
    assert np.allclose(computed, ogive.vjp(ogive.gelu)(UPSTREAM.ravel(), X.ravel(), approximate="tanh"), atol=1e-5)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_confident_rows_leave_next_to_nothing_to_enclosures(name, monkeypatch):
    """Where one share is next to 1, its gradient is no difference of numbers that are nearly equal."""
    asked = []

    def call(self, inputs, outputs, mask, parameters):
        asked.append(mask.count(1))
        return tuple(outputs)

    monkeypatch.setattr(RowDecider, "__call__", call)
    gradient = {"softmax": gradient_nodes._softmax, "log_softmax": gradient_nodes._log_softmax}[name]()
    for family in OF_ROWS:
        if not family.startswith("wide"):  # most shares are zeros there, and so are gradients by an identity
            g, x = drawn_rows(f"vjp({name})", family, np.float32, (8, 256), 1)
            gradient(g, getattr(ogive, name)(x))
            assert sum(asked) <= 2, family
            asked.clear()
