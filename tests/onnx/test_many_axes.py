"""Models whose arrays have more axes than most: NumPy has up to 64."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import ogive.onnx
from ogive.errors import OgiveError

INTS = {"k": lambda n: [n - 1], "ones": lambda n: [1] * (n - 1) + [2], "zero": lambda n: [0], "one": lambda n: [1]}
INTS["pads"] = lambda n: [0] * (2 * n - 1) + [1]

#: Node -> its inputs, its attributes for so many axes, and the result in NumPy's words.
NODES = {
    "Relu": (["x"], {}, lambda x, n: np.maximum(x, 0)),
    "Gelu": (["x"], {}, lambda x, n: ogive.gelu(x)),
    "Softmax": (["x"], {}, lambda x, n: ogive.softmax(x)),
    "Transpose": (["x"], {}, lambda x, n: x.T),
    "ReduceSum": (["x", "k"], {}, lambda x, n: x.sum(axis=-1, keepdims=True)),
    "ArgMax": (["x"], {"axis": -1}, lambda x, n: x.argmax(axis=-1)[..., None]),
    "CumSum": (["x", "k"], {}, lambda x, n: x.cumsum(axis=-1)),
    "Tile": (["x", "ones"], {}, lambda x, n: np.concatenate([x, x], axis=-1)),
    "Concat": (["x", "x"], {"axis": -1}, lambda x, n: np.concatenate([x, x], axis=-1)),
    "Pad": (["x", "pads"], {}, lambda x, n: np.concatenate([x, 0 * x[..., :1]], axis=-1)),
    "Gather": (["x", "zero"], {"axis": -1}, lambda x, n: x[..., :1]),
    "Slice": (["x", "zero", "one", "k"], {}, lambda x, n: x[..., :1]),
    "Add": (["x", "x"], {}, lambda x, n: x + x),
}


def model(name, axes):
    inputs, attributes, _ = NODES[name]
    constants = [
        helper.make_tensor(
            key, TensorProto.INT64, [] if (name, key) == ("CumSum", "k") else [len(make(axes))], make(axes)
        )
        for key, make in INTS.items()
        if key in inputs
    ]
    before = helper.make_node("Mul", ["x0", "x0"], ["x"])  # so that a kernel fills what the node takes
    node = helper.make_node(name, inputs, ["y"], **attributes)
    kind = TensorProto.INT64 if name == "ArgMax" else TensorProto.FLOAT
    given = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1] * (axes - 1) + [3])
    graph = helper.make_graph([before, node], "g", [given], [helper.make_tensor_value_info("y", kind, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize("axes", [32, 33, 64])
@pytest.mark.parametrize("name", NODES)
def test_up_to_64_axes(name, axes):
    x = np.float32([-1.0, 0.5, 2.0]).reshape([1] * (axes - 1) + [3])
    loaded = ogive.onnx.load(model(name, axes))
    for _ in range(2):  # recorded, and by the plan
        np.testing.assert_array_equal(loaded.run({"x0": x})["y"], NODES[name][2](x * x, axes))


def test_more_axes_are_refused():
    with pytest.raises(OgiveError, match="65"):
        ogive.onnx.load(model("Relu", 65))
    unsqueezed = helper.make_graph(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("s", TensorProto.INT64, [65], [1] * 64 + [3])],
    )
    loaded = ogive.onnx.load(helper.make_model(unsqueezed, opset_imports=[helper.make_opsetid("", 20)]))
    with pytest.raises(OgiveError, match="the result has 65 axes; allowed: up to 64"):
        loaded.run({"x": np.ones(3, np.float32)})
