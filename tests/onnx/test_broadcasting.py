"""The rules by which versions broadcast."""

import ml_dtypes
import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ShapeError
from ogive.onnx.broadcasting import broadcast_shape
from tests.onnx.models import node_model


def run(operator, opset, shapes, attributes=None, kind=np.float32):
    arrays = [np.random.default_rng(i).integers(-9, 9, shape).astype(kind) for i, shape in enumerate(shapes)]
    names = "abcdef"[: len(arrays)]
    model = ogive.onnx.load(node_model(operator, opset, list(zip(names, arrays, strict=True)), attributes))
    given = dict(zip(names, arrays, strict=True))
    first, second = model(given), model(given)
    assert first.tolist() == second.tolist()
    return arrays, first


@pytest.mark.parametrize(
    ("shapes", "axis", "aligned"),
    [
        (((2, 3, 4, 5), ()), None, ()),
        (((2, 3, 4, 5), (1, 1)), None, (1, 1)),
        (((2, 3, 4, 5), (5,)), None, (5,)),
        (((2, 3, 4, 5), (4, 5)), None, (4, 5)),
        (((2, 3, 4, 5), (3, 4)), 1, (3, 4, 1)),
        (((2, 3, 4, 5), (2,)), 0, (2, 1, 1, 1)),
        (((2, 3, 4, 5), (3, 4)), -3, (3, 4, 1)),
        (((2, 3), (2, 1)), 0, (2, 1)),
    ],
)
def test_limited_broadcasting(shapes, axis, aligned):
    """The examples of the standard's text, and one of its tests."""
    attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
    (a, b), result = run("Add", 6, shapes, attributes)
    assert result.tolist() == (a + b.reshape(aligned)).tolist()


@pytest.mark.parametrize(
    ("shapes", "attributes", "text"),
    [
        (((2, 3), (3,)), {}, "allowed: equal shapes"),
        (((2, 3), (2,)), {"broadcast": 1}, "part of the first, at its end"),
        (((2, 3), (3,)), {"broadcast": 1, "axis": 0}, "part of the first, from axis 0 on"),
        (((2, 3), (3,)), {"broadcast": 1, "axis": 2}, "part of the first, from axis 2 on"),
        (((2, 3), (3,)), {"broadcast": 1, "axis": -5}, "part of the first, from axis -5 on"),
        (((3,), (2, 3)), {"broadcast": 1}, "at most as many axes"),
    ],
)
def test_limited_broadcasting_refuses(shapes, attributes, text):
    with pytest.raises(ShapeError, match=rf"Mul node that computes 'y' \(opset 1\): .*{text}"):
        run("Mul", 1, shapes, attributes)


@pytest.mark.parametrize(
    ("opset", "shapes", "aligned"),
    [
        (1, ((2, 3, 4), (3,)), (3, 1)),
        (6, ((2, 3), (3,)), (3,)),
        (6, ((2, 3, 4, 5), (1,)), (1,)),
        (7, ((2, 3, 4), (3, 1)), (3, 1)),
        (16, ((2, 3, 4), (4,)), (4,)),
    ],
)
def test_prelu(opset, shapes, aligned):
    (x, slope), result = run("PRelu", opset, shapes)
    assert result.tolist() == np.where(x >= 0, x, slope.reshape(aligned) * x).tolist()


@pytest.mark.parametrize(
    ("opset", "shapes", "text"),
    [
        (1, ((2, 3, 4), (4,)), "as many as the second axis of X"),
        (6, ((2, 3, 4), (3, 1)), "as many as the second axis of X"),
        (6, ((3,), (3,)), "as many as the second axis of X"),
        (7, ((2, 3), (4, 2, 3)), "shapes that broadcast to the first one"),
        (16, ((2, 1), (3,)), "shapes that broadcast to the first one"),
    ],
)
def test_prelu_refuses(opset, shapes, text):
    with pytest.raises(ShapeError, match=f"PRelu node .*{text}"):
        run("PRelu", opset, shapes)


def test_sums_broadcast_from_8_on():
    (a, b, c), result = run("Sum", 8, ((2, 3), (3,), (2, 1)))
    assert result.tolist() == (a + b + c).tolist()
    with pytest.raises(ShapeError, match=r"Sum node .*\(opset 6\).*equal shapes"):
        run("Sum", 6, ((2, 3), (3,)))


def test_nothing_broadcasts_where_numpy_does_not():
    with pytest.raises(ShapeError, match=r"Add node .*shapes \(2, 3\) and \(2,\); allowed: equal sizes, or 1"):
        run("Add", 14, ((2, 3), (2,)))


@pytest.mark.parametrize(
    "shapes", [[()], [(3,), ()], [(2, 1), (3,)], [(0,), (1,)], [(4, 1, 1), (2, 1), (5,)], [(0, 1), (0, 3)]]
)
def test_shapes_broadcast_as_in_numpy(shapes):
    assert broadcast_shape("x", shapes) == np.broadcast_shapes(*shapes)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("count", [2, 3, 5, 7, 32])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_means_do_not_overflow(kind, count):
    dtype = ogive.common.dtypes.element_type(kind).numpy
    largest = np.array([ml_dtypes.finfo(dtype).max], dtype)
    names = [f"x{i}" for i in range(count)]
    inputs = dict.fromkeys(names, largest)
    assert ogive.onnx.load(node_model("Mean", 13, list(inputs.items())))(inputs).tolist() == largest.tolist()
