"""Softmax, LogSoftmax and Hardmax: the axis of each version, and their place in a graph."""

import numpy as np
import pytest

import ogive
import ogive.onnx
from ogive.errors import ShapeError
from tests.inputs import same_bits
from tests.onnx.models import node_model, text_model

OPERATORS = {"Softmax": ogive.softmax, "LogSoftmax": ogive.log_softmax, "Hardmax": ogive.hardmax}
X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def run(operator, opset, data=X, **attributes):
    model = ogive.onnx.load(node_model(operator, opset, [("x", data)], attributes))
    first, second = model(data), model(data)
    assert same_bits(first, second)
    return first


@pytest.mark.parametrize("operator", OPERATORS)
def test_from_13_on_a_row_is_one_axis(operator):
    function = OPERATORS[operator]
    assert same_bits(run(operator, 13), function(X, axis=-1))
    for axis in (-3, -2, -1, 0, 1, 2):
        assert same_bits(run(operator, 13, axis=axis), function(X, axis=axis))


@pytest.mark.parametrize("opset", [1, 11])
@pytest.mark.parametrize("operator", OPERATORS)
def test_before_13_a_row_is_all_axes_from_one_on(operator, opset):
    function = OPERATORS[operator]
    assert same_bits(run(operator, opset), function(X.reshape(2, 12)).reshape(X.shape))
    for axis, rows in ((0, 1), (1, 2), (2, 6), (-1, 6), (-2, 2), (-3, 1)):
        assert same_bits(run(operator, opset, axis=axis), function(X.reshape(rows, -1)).reshape(X.shape))


@pytest.mark.parametrize(("opset", "axis"), [(13, 3), (13, -4), (11, 3), (1, -4), (13, 1 << 40)])
def test_axes_that_are_not_there(opset, axis):
    with pytest.raises(
        ShapeError, match=rf"Softmax node .*axis is {axis} for an input of shape \(2, 3, 4\); allowed: -3 to 2"
    ):
        run("Softmax", opset, axis=axis)


def test_scalars_have_no_rows():
    with pytest.raises(ShapeError, match="allowed: inputs of one axis and more"):
        run("Softmax", 13, np.array(1, np.float32))
    with pytest.raises(ShapeError, match=r"axis is 1 for an input of shape \(4,\); allowed: -1 to 0"):
        run("Softmax", 11, np.ones(4, np.float32))


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (1, 1)])
def test_empty_rows_and_no_rows(opset, shape):
    assert run("Softmax", opset, np.ones(shape, np.float32)).shape == shape


def test_layouts():
    for opset in (11, 13):
        for view in (X.T, X[:, ::-1], X[..., ::2], np.broadcast_to(X[0], (5, 3, 4))):
            assert same_bits(run("Softmax", opset, view, axis=1), run("Softmax", opset, view.copy(), axis=1))


def test_results_lie_in_planned_memory():
    """Between kernels in a buffer, as a result in an array of its own."""
    text = "t (float[M, N] x) => (float[M, N] y, float[M, N] z) { a = Neg(x) b = Softmax <axis = 0> (a) c = Tanh(b) y = Softmax <axis = 0> (c) z = Add(c, y) }"
    model, plain = ogive.onnx.load(text_model(text)), ogive.onnx.load(text_model(text), fuse=False)
    x = X.reshape(6, 4)
    for _ in range(3):
        assert all(map(same_bits, model(x), plain(x)))
    (runner,) = model._runners.values()
    (plan,) = runner._plans.values()
    places = [[place[0] for place in places] for _, is_kernel, _, _, places, _ in plan.steps if is_kernel]
    assert places == [["buffer"], ["buffer"], ["fresh", "fresh"]]
    assert len({array.offset for array in plan.make_workspace.arrays}) == 2
    kept = model(x)
    copies = [array.copy() for array in kept]
    model(x + 1)
    assert all(map(same_bits, kept, copies))
