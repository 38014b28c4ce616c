"""A parameter means the same in a direct call, in a formula that calls the operator, and in the formula's derivatives.

It is rounded to float32 where numbers are computed in that, so in all types but float64 and integers of 32 bits or more.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from tests.inputs import assert_same_bits

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}

CALLS: dict[str, dict[str, float]] = {
    "swish": {"alpha": 1.702},
    "elu": {"alpha": 0.1},
    "leaky_relu": {},
    "hard_sigmoid": {},
    "softplus": {"steepness": 1.1},
    "xielu": {},
}

X = np.random.default_rng(0).normal(0, 3, 3000)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CALLS)
def test_direct_calls_formulas_and_derivatives(name: str, kind: str) -> None:
    op, given, x = getattr(ogive, name), CALLS[name], X.astype(TYPES[kind])
    own = ogive.operator(lambda x: op(x, **given))
    direct = op(x, **given)
    assert_same_bits(own(x), direct)
    assert_same_bits(ogive.operator(lambda x: -op(x, **given))(x), -direct)
    assert_same_bits(ogive.grad(own)(x), ogive.grad(op)(x, **given))


def test_literals_of_a_formula_are_not_rounded() -> None:
    x = X.astype(np.float32)
    found = ogive.operator(lambda x: x * 0.1)(x)
    assert_same_bits(found, (x * np.float64(0.1)).astype(np.float32))
    assert (found != x * np.float32(0.1)).any()


@pytest.mark.matrix(share=16, pool="slow")
def test_rows() -> None:
    x = X.reshape(30, 100).astype(np.float32)
    own: Any = ogive.row_operator(lambda x: ogive.standardize(x, epsilon=0.1))
    assert_same_bits(own(x), ogive.standardize(x, epsilon=0.1))


def test_through_onnx_and_torch() -> None:
    x = X.astype(np.float32)
    own, direct = ogive.operator(lambda x: ogive.elu(x, alpha=0.1)), ogive.elu(x, alpha=0.1)
    onnx = pytest.importorskip("onnx")
    tensors = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None]) for name in ("x", "y")]
    node = onnx.helper.make_node("Elu", ["x"], ["y"], alpha=0.1)
    graph = onnx.helper.make_graph([node], "elu", tensors[:1], tensors[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
    through_onnx = ogive.onnx.load(model)(x)
    assert_same_bits(through_onnx, direct)
    torch = pytest.importorskip("torch")
    through_torch = pytest.importorskip("ogive.torch").wrap(own)(torch.from_numpy(x))
    assert_same_bits(through_torch.numpy(), direct)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_zeros_of_both_signs_are_two_parameters(dtype: Any) -> None:
    """Elements that enclosures had decided were remembered by parameters, of which 0.0 and -0.0 are equal."""
    x = np.array([-40.0, np.inf, 1.0], dtype)
    for least in (-0.0, 0.0, -0.0):
        with np.errstate(all="ignore"):
            found = ogive.clipped_gelu(x, min=least).astype(np.float64)
        assert found[0] == 0
        assert np.signbit(found[0]) == np.signbit(least)


def test_zeros_of_both_signs_in_jax() -> None:
    pytest.importorskip("jax")
    functions: Any = pytest.importorskip("ogive.jax")
    shift: Any = ogive.operator(_shifted)
    shifted = functions.function(shift)
    x = np.array([-0.0], np.float32)
    for offset in (0.0, -0.0, 0.0):
        assert np.signbit(np.asarray(shifted(x, offset=offset))) == np.signbit(offset)


def _shifted(x: Any, *, offset: float = 0.0) -> Any:
    return x + offset


def test_zeros_of_both_signs_in_webnn_graphs() -> None:
    webnn: Any = pytest.importorskip("ogive.webnn")
    for least in (0.0, -0.0, 0.0):
        context = webnn.MLContext()
        builder = webnn.MLGraphBuilder(context)
        x = builder.input("x", {"dataType": "float32", "shape": [2]})
        graph = builder.build({"y": builder.clamp(x, minValue=least, maxValue=5.0)})
        tensors = {
            name: context.createTensor({"dataType": "float32", "shape": [2], "readable": True, "writable": True})
            for name in "xy"
        }
        context.writeTensor(tensors["x"], np.array([-1, -2], np.float32))
        context.dispatch(graph, {"x": tensors["x"]}, {"y": tensors["y"]})
        assert (np.signbit(context.readTensor(tensors["y"])) == np.signbit(least)).all()
