"""Operators that move elements: every version's arguments, and those that make no sense."""

import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ModelError, ShapeError, UnsupportedError
from tests.onnx.models import node_model, tensor

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def run(operator, opset, attributes=None, data=X, **arguments):
    """One node; arguments are inputs."""
    inputs = {"data": data} | {name: np.asarray(value) for name, value in arguments.items() if value is not None}
    named = [(name if name in inputs else "", inputs.get(name)) for name in ("data", *arguments)]
    return ogive.onnx.load(node_model(operator, opset, named, attributes))(inputs)


@pytest.mark.parametrize(
    ("shape", "allowzero", "expected"),
    [
        ([6, 4], 0, (6, 4)),
        ([-1], 0, (24,)),
        ([0, -1], 0, (2, 12)),
        ([0, 0, 0], 0, (2, 3, 4)),
        ([4, -1, 3], 0, (4, 2, 3)),
        ([1, 2, 3, 4, 1], 0, (1, 2, 3, 4, 1)),
    ],
)
def test_reshape(shape, allowzero, expected):
    result = run("Reshape", 14, {"allowzero": allowzero}, shape=shape)
    assert result.shape == expected
    assert result.ravel().tolist() == X.ravel().tolist()
    assert run("Reshape", 5, shape=shape).shape == expected
    assert run("Reshape", 1, {"shape": shape}).shape == expected


def test_reshape_of_nothing():
    empty = np.zeros((0, 3), np.float32)
    assert run("Reshape", 14, {"allowzero": 1}, empty, shape=[3, 0]).shape == (3, 0)
    assert run("Reshape", 14, None, empty, shape=[0, 7]).shape == (0, 7)
    assert run("Reshape", 14, None, np.ones((1,), np.float32), shape=np.zeros(0, np.int64)).shape == ()


@pytest.mark.parametrize(
    ("shape", "allowzero", "text"),
    [
        ([5, 5], 0, r"shape is \(5, 5\); allowed: shapes of 24 elements, as data of shape \(2, 3, 4\) has"),
        ([-1, 5], 0, "allowed: shapes of 24 elements"),
        ([-1, -1], 0, "allowed: one -1"),
        ([-2, 12], 0, "sizes from 0 on, and one -1"),
        ([2, 3, 4, 0], 0, "whose size 3 would be copied from data"),
        ([0, -1], 1, "allowed: 0 or -1, not both"),
        ([0], 1, "allowed: shapes of 24 elements"),
        ([[2, 12]], 0, r"shape has shape \(1, 2\); allowed: one axis"),
        ([24] + [1] * 64, 0, "65 axes; allowed: up to 64"),
    ],
)
def test_reshape_refuses(shape, allowzero, text):
    with pytest.raises((ShapeError, UnsupportedError), match=f"^Reshape node that computes 'y' .opset 14.: .*{text}"):
        run("Reshape", 14, {"allowzero": allowzero}, shape=shape)


@pytest.mark.parametrize(("axis", "expected"), [(0, (1, 24)), (1, (2, 12)), (3, (24, 1)), (-1, (6, 4)), (-3, (1, 24))])
def test_flatten(axis, expected):
    assert run("Flatten", 13, {"axis": axis}).shape == expected


@pytest.mark.parametrize("axis", [4, -4, 1 << 40])
def test_flatten_refuses(axis):
    with pytest.raises(ShapeError, match=f"Flatten node .*axis is {axis}; allowed: -3 to 3"):
        run("Flatten", 13, {"axis": axis})


def test_flatten_of_a_scalar():
    assert run("Flatten", 13, {"axis": 0}, np.array(5, np.int8)).shape == (1, 1)


def test_transpose():
    assert run("Transpose", 13).tolist() == X.T.tolist()
    assert run("Transpose", 13, {"perm": [1, 2, 0]}).tolist() == X.transpose(1, 2, 0).tolist()


@pytest.mark.parametrize("perm", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, -1], []])
def test_transpose_refuses(perm):
    model = node_model("Transpose", 13, [("x", X)])
    attribute = model.graph.node[0].attribute.add(name="perm", type=7)
    attribute.ints.extend(perm)
    with pytest.raises(ShapeError, match="perm is .*; allowed: the axes of data of shape"):
        ogive.onnx.load(model)(x=X)


def test_squeeze_and_unsqueeze():
    data = X.reshape(1, 2, 1, 12)
    for opset, given in ((11, {"attributes": {"axes": [0, -2]}}), (13, {"axes": [0, -2]})):
        assert run("Squeeze", opset, data=data, **given).shape == (2, 12)
    assert run("Squeeze", 13, data=data).shape == (2, 12)
    assert run("Squeeze", 1, {"axes": [2]}, data).shape == (1, 2, 12)
    for opset, given in ((11, {"attributes": {"axes": [0, -1]}}), (13, {"axes": [0, -1]})):
        assert run("Unsqueeze", opset, **given).shape == (1, 2, 3, 4, 1)
    assert run("Unsqueeze", 13, axes=[4, 0, 2]).shape == (1, 2, 1, 3, 1, 4)


@pytest.mark.parametrize(
    ("operator", "axes", "text"),
    [
        ("Squeeze", [1], r"axes name axis 1 of data of shape \(2, 3, 4\); allowed: axes of size 1"),
        ("Squeeze", [3], "allowed: -3 to 2"),
        ("Squeeze", [0, 0], "each axis once"),
        ("Unsqueeze", [5], "allowed: -4 to 3"),
        ("Unsqueeze", [0, -5], "each axis once"),
        ("Unsqueeze", list(range(62)), "65 axes"),
    ],
)
def test_axes_that_are_not_there(operator, axes, text):
    with pytest.raises((ShapeError, UnsupportedError), match=f"{operator} node .*{text}"):
        run(operator, 13, axes=axes)


def test_expand():
    data = np.float32([[1], [2], [3]])
    assert run("Expand", 13, data=data, shape=[2, 3, 4]).shape == (2, 3, 4)
    assert run("Expand", 8, data=data, shape=[3, 4]).tolist() == np.broadcast_to(data, (3, 4)).tolist()
    assert run("Expand", 13, data=data, shape=[1]).shape == (3, 1)
    assert run("Expand", 13, data=data, shape=[2, 1, 1]).shape == (2, 3, 1)
    assert run("Expand", 13, data=data, shape=[0]).shape == (3, 0)


@pytest.mark.parametrize(
    ("shape", "text"), [([2], "does not broadcast"), ([2, 4], "does not broadcast"), ([-1], "from 0 on")]
)
def test_expand_refuses(shape, text):
    with pytest.raises(ShapeError, match=f"Expand node .*{text}"):
        run("Expand", 13, data=np.ones((3, 3), np.float32), shape=shape)


SLICES = [
    ({"starts": [0, 1], "ends": [1, 3]}, np.s_[0:1, 1:3]),
    ({"starts": [1], "ends": [1000], "axes": [2]}, np.s_[:, :, 1:]),
    ({"starts": [-2], "ends": [-1], "axes": [-1]}, np.s_[:, :, -2:-1]),
    ({"starts": [5], "ends": [9], "axes": [0]}, np.s_[5:9]),
    ({"starts": [-9], "ends": [2], "axes": [1]}, np.s_[:, :2]),
    ({"starts": [2], "ends": [1], "axes": [2]}, np.s_[:, :, 2:1]),
]
STEPS = [
    ({"starts": [0], "ends": [9], "axes": [2], "steps": [2]}, np.s_[:, :, ::2]),
    ({"starts": [-1], "ends": [-9], "axes": [2], "steps": [-1]}, np.s_[:, :, ::-1]),
    ({"starts": [9], "ends": [-(2**63)], "axes": [2], "steps": [-2]}, np.s_[:, :, ::-2]),
    ({"starts": [2], "ends": [0], "axes": [1], "steps": [-1]}, np.s_[:, 2:0:-1]),
    ({"starts": [0], "ends": [2**63 - 1], "axes": [1], "steps": [2**62]}, np.s_[:, :1]),
    ({"starts": [-9], "ends": [-9], "axes": [1], "steps": [-1]}, np.s_[:, 0:1]),
]


@pytest.mark.parametrize(("arguments", "index"), SLICES + STEPS, ids=str)
def test_slice(arguments, index):
    expected = X[index].tolist()
    named = {name: arguments.get(name) for name in ("starts", "ends", "axes", "steps")}
    assert run("Slice", 13, **named).tolist() == expected
    assert run("Slice", 10, **named).tolist() == expected
    if "steps" not in arguments:
        assert run("Slice", 1, arguments).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"starts": [0], "ends": [1], "axes": [0], "steps": [0]}, "steps have a 0"),
        ({"starts": [0, 0], "ends": [1], "axes": [0]}, "have 2, 1, 1 and 2 values; allowed: equal numbers"),
        ({"starts": [0], "ends": [1], "axes": [3]}, "allowed: -3 to 2"),
        ({"starts": [0, 0], "ends": [1, 1], "axes": [0, -3]}, "each axis once"),
        ({"starts": [0] * 4, "ends": [1] * 4}, "allowed: -3 to 2"),
        ({"starts": [[0]], "ends": [[1]]}, "allowed: one axis"),
    ],
)
def test_slice_refuses(arguments, text):
    with pytest.raises(ShapeError, match=f"Slice node .*{text}"):
        run("Slice", 13, **arguments)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [2, 3, 4]),
        ({"start": -1}, [4]),
        ({"end": -1}, [2, 3]),
        ({"start": 1, "end": 2}, [3]),
        ({"start": -9, "end": 9}, [2, 3, 4]),
        ({"start": 2, "end": 1}, []),
        ({"start": 9}, []),
        ({"end": -9}, []),
    ],
)
def test_shape(attributes, expected):
    result = run("Shape", 15, attributes)
    assert result.tolist() == expected
    assert result.dtype == np.int64


def test_size():
    assert run("Size", 13).tolist() == 24
    assert run("Size", 13).shape == ()


def test_constant_of_shape():
    assert run("ConstantOfShape", 9, data=np.array([2, 3])).tolist() == [[0.0] * 3] * 2
    filled = run("ConstantOfShape", 9, {"value": tensor("v", np.int8([7]))}, data=np.array([2]))
    assert filled.tolist() == [7, 7]
    assert filled.dtype == np.int8
    assert filled.flags.writeable
    assert run("ConstantOfShape", 9, data=np.zeros(0, np.int64)).shape == ()
    assert run("ConstantOfShape", 9, data=np.array([0, 4])).shape == (0, 4)


def test_constant_of_shape_refuses():
    with pytest.raises(ShapeError, match=r"input is \(-1,\); allowed: sizes from 0 on"):
        run("ConstantOfShape", 9, data=np.array([-1]))
    with pytest.raises(ModelError, match="the attribute 'value' has 2 elements; allowed: one"):
        run("ConstantOfShape", 9, {"value": tensor("v", np.int8([7, 8]))}, data=np.array([2]))


def test_constants_of_every_kind():
    for attributes, expected in (
        ({"value_float": 1.5}, np.array(1.5, np.float32)),
        ({"value_floats": [1.5, 2.5]}, np.float32([1.5, 2.5])),
        ({"value_int": 7}, np.array(7)),
        ({"value_ints": [7, 8]}, np.array([7, 8])),
        ({"value_string": "a"}, np.array("a", object)),
        ({"value_strings": ["a", "b"]}, np.array(["a", "b"], object)),
        ({"value": tensor("v", np.uint8([[1], [2]]))}, np.uint8([[1], [2]])),
    ):
        result = ogive.onnx.load(node_model("Constant", 13, [], attributes))()
        assert result.tolist() == expected.tolist()
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
