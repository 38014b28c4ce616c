"""Models that Ogive computes a part of: the parts, how they run, and one message for all refusals."""

import json

import numpy as np
import onnx
import pytest

import ogive.onnx
from ogive.cli import _status
from ogive.errors import ArgumentError, MissingPackageError, UnsupportedError
from tests.onnx.models import text_model

MIXED = """agraph (float[2, 4] x) => (float[2, 2] y) <float[4, 4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}> {
    a = Relu (x)
    b = MatMul (a, w)
    c, d = Split <axis = 1, num_outputs = 2> (b)
    s = Sigmoid (c)
    y = Mul (s, d)
}"""

X = np.float32([[1, -2, 3, 4], [0.5, 0, -1, 2]])


def by_numpy(part):
    """Products of matrices, the only operator that these models leave over."""
    weights = onnx.numpy_helper.to_array(part.graph.initializer[0])
    return lambda inputs: {part.graph.output[0].name: inputs[part.graph.input[0].name] @ weights}


def expected(x):
    a = np.maximum(x, 0)
    return ogive.sigmoid(a[:, :2]) * a[:, 2:]


def test_the_parts_in_order():
    parts = ogive.onnx.split(text_model(MIXED))
    assert [part.is_ogive for part in parts] == [True, False, True]
    assert [part.inputs for part in parts] == [("x",), ("a",), ("b",)]
    assert [part.outputs for part in parts] == [("a",), ("b",), ("y",)]
    assert [part.reasons for part in parts if part.is_ogive] == [(), ()]
    assert "Ogive has no operator MatMul" in parts[1].reasons[0]
    for part in parts:
        onnx.checker.check_model(part.model)


def test_a_model_of_one_kind_is_one_part():
    (part,) = ogive.onnx.split(text_model("agraph (float[3] x) => (float[3] y) { a = Relu (x) y = Tanh (a) }"))
    assert part.is_ogive
    assert not part.reasons


def test_as_few_parts_as_the_order_allows():
    """Two products that do not depend on each other are one part, whatever stands between them in the file."""
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y) {
        a = MatMul (x, x)
        b = Relu (a)
        c = MatMul (x, x)
        y = Add (b, c)
    }""")
    parts = ogive.onnx.split(model)
    kinds = [(part.is_ogive, [node.op_type for node in part.model.graph.node]) for part in parts]
    assert kinds == [(False, ["MatMul", "MatMul"]), (True, ["Relu", "Add"])]


def test_every_part_has_its_constants():
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y) {
        two = Constant <value = float[2] {2.0, 2.0}> ()
        a = Mul (x, two)
        b = MatMul (a, two)
        y = Add (b, two)
    }""")
    parts = ogive.onnx.split(model)
    assert [part.inputs for part in parts] == [("x",), ("a",), ("b",)]
    assert [part.outputs for part in parts] == [("a",), ("b",), ("y",)]
    assert [[node.op_type for node in part.model.graph.node] for part in parts] == [
        ["Constant", "Mul"],
        ["Constant", "MatMul"],
        ["Constant", "Add"],
    ]
    (part,) = ogive.onnx.split(
        text_model(
            "agraph (float[1] x) => (float[1] y, float[1] c) { c = Constant <value_floats = [1.0]> () y = Relu (x) }"
        )
    )
    assert part.outputs == ("c", "y")


def test_what_no_output_needs_is_in_no_part():
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y) {
        a = Relu (x)
        unused = MatMul (a, a)
        unused_too = Tanh (unused)
        b = MatMul (a, a)
        y = Tanh (b)
    }""")
    parts = ogive.onnx.split(model)
    assert [[node.op_type for node in part.model.graph.node] for part in parts] == [["Relu"], ["MatMul"], ["Tanh"]]
    run = ogive.onnx.load(model, partial=lambda part: lambda inputs: {"b": inputs["a"] @ inputs["a"]})
    x = np.float32([[1, -2], [3, 4]])
    np.testing.assert_array_equal(run({"x": x})["y"], ogive.tanh(np.maximum(x, 0) @ np.maximum(x, 0)))


def test_another_runtime_computes_the_rest():
    run = ogive.onnx.load(text_model(MIXED), partial=by_numpy)
    assert repr(run) == "<PartialModel: 3 parts, 2 of them computed by Ogive>"
    assert run.inputs == ("x",)
    assert run.outputs == ("y",)
    np.testing.assert_array_equal(run({"x": X})["y"], expected(X))


def test_onnx_runtime_computes_the_rest():
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    np.testing.assert_array_equal(ogive.onnx.load(text_model(MIXED), partial=True)({"x": X})["y"], expected(X))


def test_without_onnx_runtime_there_is_a_way_out(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(MissingPackageError, match=r"onnxruntime is not installed.*partial=function"):
        ogive.onnx.load(text_model(MIXED), partial=True)


def test_wrong_inputs_of_a_partial_model():
    run = ogive.onnx.load(text_model(MIXED), partial=by_numpy)
    with pytest.raises(ArgumentError, match="partial model: missing inputs: x; allowed: x"):
        run({})
    with pytest.raises(ArgumentError, match="partial model: unknown inputs: z; allowed: x"):
        run({"x": X, "z": X})
    with pytest.raises(ArgumentError, match=r"ogive.onnx.load: partial is .*; allowed: True, or a function"):
        ogive.onnx.load(text_model(MIXED), partial="onnxruntime")


def test_all_refusals_in_one_message():
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y) {
        a = MatMul (x, x)
        b = Relu (a)
        c = Det (b)
        y = MatMul (b, b)
    }""")
    with pytest.raises(UnsupportedError) as raised:
        ogive.onnx.load(model)
    text = str(raised.value)
    assert text.startswith("model: 3 of 4 nodes are refused. ogive.onnx.load(model, partial=True)")
    assert [line.split(" node")[0] for line in text.splitlines()[1:]] == ["- MatMul", "- Det", "- MatMul"]


def test_one_refusal_is_said_as_it_is():
    with pytest.raises(UnsupportedError, match=r"^MatMul node that computes 'y' \(opset 18\): Ogive has no operator"):
        ogive.onnx.load(text_model("agraph (float[2, 2] x) => (float[2, 2] y) { y = MatMul (x, x) }"))


def test_the_command(tmp_path, capsys):
    file = tmp_path / "mixed.onnx"
    onnx.save(text_model(MIXED), file)
    assert _status(["split", str(file), "--output", str(tmp_path / "parts"), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["parts"]
    assert [row["computed_by"] for row in rows] == ["ogive", "another runtime", "ogive"]
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "0-ogive.onnx",
        "1-rest.onnx",
        "2-ogive.onnx",
    ]
    onnx.checker.check_model(onnx.load(tmp_path / "parts" / "1-rest.onnx"))
    assert _status(["split", str(file)]) == 1
    assert "refused: MatMul node" in capsys.readouterr().out
