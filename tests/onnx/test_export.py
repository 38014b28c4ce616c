"""Formulas as ONNX functions: checked by the package onnx, run by ONNX Runtime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import ArgumentError, UnsupportedError

KINDS = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}
X = np.array([-30.0, -5.0, -1.25, -0.5, -1e-3, 0.25, 0.75, 1.5, 2.5, 40.0])
NUMBERS = {
    "alpha": 1.25,
    "beta": 0.75,
    "gamma": 1.125,
    "lambd": 0.5,
    "bias": 0.25,
    "min": -1.0,
    "max": 1.0,
    "cap": 2.0,
    "shift": 0.25,
}


def model_of(function, dtype, result=("n",), **attributes):
    inputs = [helper.make_tensor_value_info(name, KINDS[dtype], ["n"]) for name in function.input]
    outputs = [helper.make_tensor_value_info(name, KINDS[dtype], result) for name in function.output]
    node = helper.make_node(function.name, [*function.input], [*function.output], domain=function.domain, **attributes)
    graph = helper.make_graph([node], "exported", inputs, outputs)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.ogive", 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model, operands):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip((i.name for i in session.get_inputs()), operands, strict=True)))


#: Operators that make floating-point numbers of them, but for what only looks at bits or has no form in ONNX.
NAMES = [
    name
    for name, op in OPERATORS.items()
    if name not in ("atan2", "erfinv", "geglu", "hardmax", "log_ndtr", "where")
    and any(all(t.name == "float32" for side in s for t in side) for s in op.signatures)
]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", NAMES)
def test_operators_run_in_onnx_runtime(name):
    op = OPERATORS[name]
    attributes = {p.name: NUMBERS[p.name] for p in op.numeric_parameters if p.name in NUMBERS}
    operands = [np.float32(X + 0.5 * i) for i in range(op.nin)]
    shape = () if op.reduces else ("n",)
    (result,) = run(model_of(ogive.onnx.export(op), np.float32, shape, **attributes), operands)
    assert result.dtype == np.float32
    assert np.allclose(result, op(*operands, **attributes), rtol=2e-5, atol=3e-6, equal_nan=True)


def test_there_are_many():
    assert len(NAMES) > 60


@pytest.mark.parametrize("name", ["celu", "mish", "gelu", "softplus", "prelu"])
def test_derivatives_run_in_onnx_runtime(name):
    slope = ogive.grad(OPERATORS[name])
    operands = [np.float32(X)] * slope.nin
    (result,) = run(model_of(ogive.onnx.export(slope), np.float32), operands)
    assert np.allclose(result, slope(*operands), rtol=2e-5, atol=3e-6)


def test_float64():
    (result,) = run(model_of(ogive.onnx.export(ogive.elu), np.float64), [X])
    assert result.dtype == np.float64
    assert np.allclose(result, ogive.elu(X), rtol=1e-14)


def test_defaults_choices_and_names():
    function = ogive.onnx.export(ogive.gelu, approximate="tanh")
    assert (function.domain, function.name) == ("ai.ogive", "gelu_tanh")
    (result,) = run(model_of(function, np.float32), [np.float32(X)])
    assert np.allclose(result, ogive.gelu(np.float32(X), approximate="tanh"), rtol=2e-5, atol=1e-6)
    assert ogive.onnx.export(ogive.celu).attribute_proto[0].f == 1.0
    assert [*ogive.onnx.export(ogive.parametric_softplus).attribute] == ["alpha", "beta"]


def test_a_constant_has_the_shape_of_the_operand():
    (result,) = run(model_of(ogive.onnx.export(ogive.grad(ogive.identity)), np.float32), [np.float32(X)])
    assert result.tolist() == [1.0] * len(X)


def test_several_results():
    both = ogive.value_and_grad(ogive.tanh)
    results = run(model_of(ogive.onnx.export(both), np.float32), [np.float32(X)])
    for result, own in zip(results, both(np.float32(X)), strict=True):
        assert np.allclose(result, own, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: ogive.onnx.export(np.exp), ArgumentError, "ogive.onnx.export: operator is the function exp; allowed: an operator"),
        (lambda: ogive.onnx.export(ogive.celu, alpha=2.0), ArgumentError, "ogive.onnx.export: celu has no choice 'alpha'; allowed: no choices"),
        (
            lambda: ogive.onnx.export(ogive.hardmax),
            UnsupportedError,
            "ogive.onnx.export: hardmax: the formula uses row_first, for which standard operators of ONNX have no form",
        ),
    ],
    ids=["no operator", "a number", "no form"],
)  # fmt: skip
def test_refusals(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
