"""Models that Ogive computes a part of: the parts, how they run, and one message for all refusals."""

import json

import numpy as np
import onnx
import pytest

import ogive.onnx
from ogive.cli import _status
from ogive.errors import ArgumentError, DTypeError, MissingPackageError, ShapeError, UnsupportedError
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
    np.testing.assert_array_equal(run(x), ogive.tanh(np.maximum(x, 0) @ np.maximum(x, 0)))


def test_another_runtime_computes_the_rest():
    run = ogive.onnx.load(text_model(MIXED), partial=by_numpy)
    assert repr(run) == "<PartialModel: 3 parts, 2 of them computed by Ogive>"
    assert (run.input_names, run.output_names) == (("x",), ("y",))
    assert list(map(str, (*run.inputs, *run.outputs))) == ["x: float32[2, 4]", "y: float32[2, 2]"]
    for result in (run(x=X), run({"x": X}), run.run({"x": X})["y"], run.run({"x": X}, ["y"])["y"]):
        np.testing.assert_array_equal(result, expected(X))
    np.testing.assert_array_equal(run(X), expected(X))


def test_onnx_runtime_computes_the_rest():
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    np.testing.assert_array_equal(ogive.onnx.load(text_model(MIXED), partial=True)(X), expected(X))


def test_without_onnx_runtime_there_is_a_way_out(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(MissingPackageError, match=r"onnxruntime is not installed.*partial=function"):
        ogive.onnx.load(text_model(MIXED), partial=True)


def test_threads_of_sessions_sleep_and_arrays_are_handed_over(monkeypatch):
    """The next part gets what one part returns, whoever computes them."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    made = []
    session = runtime.InferenceSession
    monkeypatch.setattr(
        runtime,
        "InferenceSession",
        lambda model, options, **more: made.append(options) or session(model, options, **more),
    )
    run = ogive.onnx.load(text_model(MIXED), partial=True)
    assert {options.get_session_config_entry("session.intra_op.allow_spinning") for options in made} == {"0"}
    returned, handed_over = {}, 0

    def watched(step):
        def call(inputs):
            nonlocal handed_over
            for name in inputs.keys() & returned.keys():
                assert inputs[name] is returned[name]
                handed_over += 1
            returned.update(results := step(inputs))
            return results

        return call

    run._steps = [watched(step) for step in run._steps]
    np.testing.assert_array_equal(run(X), expected(X))
    assert handed_over >= len(run.parts) - 1


def test_wrong_inputs_of_a_partial_model():
    """They are refused in the words of a whole model."""
    run = ogive.onnx.load(text_model(MIXED), partial=by_numpy)
    for call, kind, text in (
        (lambda: run(), ArgumentError, r"model: the input 'x' is missing. Give x: float32\[2, 4\]"),
        (lambda: run(X, z=X), ArgumentError, "model: there is no input 'z'; allowed: x"),
        (lambda: run(X, X), ArgumentError, "model: 2 inputs were given; allowed: at most 1: x"),
        (lambda: run(X, x=X), ArgumentError, "model: the input 'x' was given twice"),
        (lambda: run(X.astype(float)), DTypeError, "model, input 'x': its dtype is float64; allowed: float32"),
        (lambda: run(X[0]), ShapeError, r"model, input 'x': its shape is \(4,\)"),
        (lambda: run.run({"x": X}, ["z"]), ArgumentError, "model: there is no output 'z'; allowed: y"),
        (lambda: run.run(["y"], {"x": X}), ArgumentError, "The inputs come first"),
    ):
        with pytest.raises(kind, match=text):
            call()
    with pytest.raises(ArgumentError, match=r"ogive.onnx.load: partial is .*; allowed: True, or a function"):
        ogive.onnx.load(text_model(MIXED), partial="onnxruntime")


def test_all_refusals_in_one_message():
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y) {
        a = MatMul (x, x)
        b = Relu (a)
        c = Det (b)
        d = MatMul (b, b)
        y = MatMul (d, b)
    }""")
    with pytest.raises(UnsupportedError) as raised:
        ogive.onnx.load(model)
    first, *lines = str(raised.value).splitlines()
    assert first.startswith(
        "model: 4 of 5 nodes are refused: MatMul x 3, Det. Use ogive.onnx.load(model, partial=True)"
    )
    reason = "Ogive has no operator {0} (opset 18). See ogive.onnx.supported() for those it has"
    assert lines == [
        f"- MatMul node that computes 'a' (opset 18): {reason.format('MatMul')} (2 more nodes like it)",
        f"- Det node that computes 'c' (opset 18): {reason.format('Det')}",
    ]


def test_many_refusals_are_one_short_line_for_each_operator():
    nodes = "".join(f"a{i + 1} = MatMul (a{i}, w) s{i} = Relu (a{i})" for i in range(60))
    model = text_model(f"agraph (float[2, 2] a0, float[2, 2] w) => (float[2, 2] a60) {{ {nodes} }}")
    with pytest.raises(UnsupportedError, match="model: 60 of 120 nodes are refused: MatMul x 60") as raised:
        ogive.onnx.load(model)
    assert len(str(raised.value)) < 500


def test_one_refusal_is_said_as_it_is():
    sentence = (
        r"^MatMul node that computes 'y' \(opset 18\): Ogive has no operator.*ogive.onnx.load\(model, partial=True\)"
    )
    with pytest.raises(UnsupportedError, match=sentence):
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


def test_the_command_groups_its_reasons(tmp_path, capsys):
    nodes = "".join(f"a{i + 1} = MatMul (a{i}, w) " for i in range(9))
    onnx.save(
        text_model(f"agraph (float[2, 2] a0, float[2, 2] w) => (float[2, 2] a9) {{ {nodes} }}"), tmp_path / "m.onnx"
    )
    assert _status(["split", str(tmp_path / "m.onnx")]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("refused")]
    assert line.startswith("refused: MatMul node that computes 'a1'")
    assert line.endswith("(8 more nodes like it)")


def test_a_value_of_unknown_type_stays_in_its_part():
    """Nothing infers the type of what an operator of another domain makes: all between it and its user goes along."""
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y) {
        a = com.example.Unknown (x)
        b = MatMul (x, x)
        c = Relu (b)
        d = MatMul (c, c)
        e = com.example.Other (a, d)
        y = Tanh (e)
    }""")
    model.opset_import.add(domain="com.example", version=1)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("e", 1, [2, 2]))
    parts = ogive.onnx.split(model)
    kinds = [(part.is_ogive, [node.op_type for node in part.model.graph.node]) for part in parts]
    assert kinds == [(False, ["Unknown", "MatMul", "Relu", "MatMul", "Other"]), (True, ["Tanh"])]
    assert [part.inputs for part in parts] == [("x",), ("e",)]


def test_a_body_reads_its_own_inputs_and_the_graph_around_it():
    model = text_model("""agraph (float[2] x, int64 n, bool c) => (float[2] y) {
        a = Relu (x)
        b = Loop (n, c, x) <body = step (int64 i, bool go, float[2] v) => (bool more, float[2] w) {
            more = Identity (go)
            w = Add (v, a)
        }>
        y = Neg (b)
    }""")
    parts = ogive.onnx.split(model)
    assert [part.inputs for part in parts] == [("x",), ("a", "c", "n", "x"), ("b",)]
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    run = ogive.onnx.load(model, partial=True)
    result = run(np.float32([1, -2]), np.array(3), np.array(True))
    np.testing.assert_array_equal(result, -np.float32([4, -2]))


def test_outputs_that_no_part_computes():
    """An input and an initialiser may be outputs; they come back as new arrays."""
    model = text_model("""agraph (float[2, 2] x) => (float[2, 2] y, float[2, 2] x, float[2] w)
        <float[2] w = {1, 2}> { y = MatMul (x, x) }""")
    run = ogive.onnx.load(model, partial=lambda part: lambda inputs: {"y": inputs["x"] @ inputs["x"]})
    x = np.float32([[1, 2], [3, 4]])
    product, same, weights = run(x)
    np.testing.assert_array_equal(product, x @ x)
    np.testing.assert_array_equal(same, x)
    assert not np.may_share_memory(same, x)
    assert weights.tolist() == [1, 2]
