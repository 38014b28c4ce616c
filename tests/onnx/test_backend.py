"""ONNX's interface for backends. Its results are tested by ONNX's own tests (tests/conformance)."""

import numpy as np
import pytest
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from ogive.errors import ArgumentError, DTypeError, UnsupportedError
from ogive.onnx import backend
from tests.onnx.models import node_model, text_model

MODEL = text_model("t (float[N] x, float[N] w) => (float[N] y, float[N] z) { y = Add(x, w)  z = Relu(y) }")
X, W = np.float32([-1, 2]), np.float32([-3, 4])


def test_it_is_a_backend():
    assert issubclass(backend.OgiveBackend, Backend)
    assert isinstance(backend.prepare(MODEL), BackendRep)


def test_run():
    prepared = backend.prepare(MODEL)
    for inputs in ([X, W], (X, W), {"x": X, "w": W}):
        outputs = prepared.run(inputs)
        assert [a.tolist() for a in outputs] == [[-4, 6], [0, 6]]
        assert outputs.y is outputs[0]
        assert outputs["z"] is outputs[1]
    one = backend.prepare(node_model("Relu", 14, [("x", X)]))
    assert one.run(X)[0].tolist() == [0, 2]
    assert backend.run_model(MODEL, [X, W])[1].tolist() == [0, 6]


def test_run_refuses():
    prepared = backend.prepare(MODEL)
    with pytest.raises(ArgumentError, match="3 inputs were given; allowed: 2: x, w"):
        prepared.run([X, W, X])
    with pytest.raises(ArgumentError, match="the input 'w' is missing"):
        prepared.run([X])
    with pytest.raises(ArgumentError, match="run got speed; allowed: the inputs alone"):
        prepared.run([X, W], speed=2)


def test_run_node():
    node = helper.make_node("Celu", ["x"], ["y"], alpha=2.0)
    assert backend.run_node(node, [X]).y.shape == (2,)
    node = helper.make_node("Clip", ["x", "", "high"], ["y"])
    if backend.is_compatible(node_model("Clip", 13, [("x", X), ("", None), ("high", "tensor(float)")])):
        assert backend.run_node(node, [X, np.array(1, np.float32)]).y.tolist() == [-1, 1]
    old = helper.make_node("Add", ["a", "b"], ["y"], broadcast=1)
    assert backend.run_node(old, {"a": X, "b": np.float32([1])}, opset_version=6).y.tolist() == [0, 3]
    with pytest.raises(DTypeError, match="Relu node: its input 'x' is <U1; allowed: types of ONNX"):
        backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [np.array("a")])


def test_devices():
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:0")
    for device in ("CUDA", "CUDA:1", "TPU", "", "CPU:x"):
        assert not backend.supports_device(device)
    with pytest.raises(UnsupportedError, match="the device is 'CUDA'; allowed: 'CPU'"):
        backend.prepare(MODEL, "CUDA")


def test_is_compatible():
    assert backend.is_compatible(MODEL)
    assert not backend.is_compatible(node_model("Conv", 22, [("x", "tensor(float)"), ("w", "tensor(float)")]))
    assert not backend.is_compatible(MODEL, "CUDA")
