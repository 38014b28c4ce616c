"""Nodes that are written before those that compute their inputs are sorted; a circle is an error."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ogive.onnx
from ogive.errors import ModelError
from ogive.onnx.reading import in_order
from tests.inputs import same_bits
from tests.onnx.models import text_model

X = np.float32([[-1, 0.5], [2, 3]])
ORDERED = "t (float[N, M] x) => (float[N, M] y, float[N, M] z) { a = Relu(x) b = Exp(a) c = Mul(a, b) y = Neg(c) z = Tanh(b) }"


def shuffled(model, seed):
    nodes = list(model.graph.node)
    np.random.default_rng(seed).shuffle(nodes)
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    found.graph.node.extend(nodes)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_any_order_has_the_same_results(seed):
    model = text_model(ORDERED, 18)
    given = shuffled(model, seed)
    before = given.SerializeToString()
    for right, got in zip(ogive.onnx.load(model)(X), ogive.onnx.load(given)(X), strict=True):
        assert same_bits(got, right)
    assert given.SerializeToString() == before


def test_models_in_order_stay_as_they_are():
    model = text_model(ORDERED, 18)
    assert in_order(model) is model
    two = text_model("t (float[N] x) => (float[N] y) { y = Add(b, c) c = Exp(x) b = Neg(x) }", 18)
    assert [node.output[0] for node in in_order(two).graph.node] == ["c", "b", "y"]


@pytest.mark.parametrize("nodes", ["y = Neg(u) u = Exp(y)", "y = Neg(y)", "a = Relu(x) y = Add(a, u) u = Neg(y)"])
def test_a_circle_is_an_error(nodes):
    with pytest.raises(ModelError, match="is not computed before it.*in any order, but in no circle"):
        ogive.onnx.load(text_model(f"t (float[N] x) => (float[N] y) {{ {nodes} }}", 18))


def test_branches_read_values_of_the_graph_around_them():
    def branch(operator):
        nodes = [helper.make_node(operator, ["b"], ["r"]), helper.make_node("Neg", ["a"], ["b"])]
        return helper.make_graph(nodes, operator, [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)])

    nodes = [
        helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Tanh")),
        helper.make_node("Exp", ["x"], ["a"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])
    constant = onnx.numpy_helper.from_array(np.array(False), "c")
    graph = helper.make_graph(nodes, "g", [x], [y], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert same_bits(ogive.onnx.load(model)(X), ogive.tanh(-np.asarray(ogive.exp(X))))


def test_one_axis_without_brackets():
    model = ogive.onnx.load(text_model("t (float[N, M] x, int64 a) => (float[?, ?, ?] y) { y = Unsqueeze(x, a) }", 18))
    assert model(X, np.int64(-1)).shape == (2, 2, 1)


@pytest.mark.parametrize("equation", ["...i...,...->...", "i...->......"])
def test_inference_that_never_ends_is_not_asked(equation):
    node = helper.make_node("Einsum", ["x", "x"], ["y"], equation=equation)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    graph = helper.make_graph([node], "g", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    with pytest.raises(ogive.errors.UnsupportedError, match="no operator Einsum"):
        ogive.onnx.load(model)
