"""A mistake in a model is found when it is loaded, and named."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, TypeProto, helper, numpy_helper

import ogive.onnx
from ogive.errors import ArgumentError, ModelError, ParameterError, UnsupportedError
from tests.onnx.models import node_model, text_model


def changed(change, text="t (float[N] x) => (float[N] y) { y = Relu(x) }", **options):
    model = text_model(text, **options)
    change(model)
    return model


def refused(model, text, error=ModelError):
    with pytest.raises(error, match=text):
        ogive.onnx.load(model)


# ---- what a model can be given as


def test_paths_bytes_and_protos(tmp_path):
    model = text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }")
    path = tmp_path / "relu.onnx"
    path.write_bytes(model.SerializeToString())
    for source in (model, model.SerializeToString(), bytearray(model.SerializeToString()), path, str(path)):
        assert ogive.onnx.load(source)(x=np.float32([-1, 1])).tolist() == [0, 1]
    assert repr(ogive.onnx.load(path)) == "<relu.onnx: (x: float32[N]) -> (y: float32[N])>"


def test_other_things_are_refused(tmp_path):
    refused(5, "the model is 5; allowed: a path, bytes, an onnx.ModelProto", ArgumentError)
    with pytest.raises(FileNotFoundError):
        ogive.onnx.load(tmp_path / "missing.onnx")
    with pytest.raises(IsADirectoryError):
        ogive.onnx.load(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_is_not_read():
    refused("/dev/zero", "/dev/zero: it is not a regular file")


@pytest.mark.parametrize("data", [b"", b"\x00", b"hello", bytes(1000), b"\xff" * 50, b"\x08\x08"], ids=repr)
def test_bytes_that_are_no_model(data):
    refused(data, "it is not an ONNX model, or damaged")


def test_limits_without_meaning():
    for limit in (0, -1, 1.5, "many"):
        with pytest.raises(ParameterError, match="memory_limit is .*; allowed: a whole number of bytes from 1 on"):
            ogive.onnx.load(text_model(CHAIN), memory_limit=limit)


# ---- the header


@pytest.mark.parametrize(
    ("change", "text", "error"),
    [
        (lambda m: m.ClearField("graph"), "there is no graph", ModelError),
        (lambda m: m.ClearField("ir_version"), "its ir_version is 0; allowed: 1 to", ModelError),
        (
            lambda m: setattr(m, "ir_version", 99),
            "its ir_version is 99; .*Install a newer onnx",
            UnsupportedError,
        ),
        (lambda m: setattr(m, "ir_version", -3), "its ir_version is -3", ModelError),
        (lambda m: setattr(m.opset_import[0], "version", 99), "imports opset 99; allowed: 1 to 29", UnsupportedError),
        (lambda m: setattr(m.opset_import[0], "version", 0), "imports opset 0; allowed: 1 to 29", ModelError),
        (lambda m: setattr(m.opset_import[0], "version", -1), "imports opset -1", ModelError),
        (
            lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 12)),
            "imports '' twice: 18 and 12",
            ModelError,
        ),
        (lambda m: m.ClearField("opset_import"), "imports no opset of ONNX's own operators", ModelError),
    ],
)
def test_header(change, text, error):
    refused(changed(change), text, error)


def test_models_older_than_opsets():
    model = changed(lambda m: m.ClearField("opset_import"))
    model.ir_version = 2
    assert ogive.onnx.load(model)(x=np.float32([-1, 1])).tolist() == [0, 1]


# ---- the graph


CHAIN = "t (float[N] x) => (float[N] y) { a = Relu(x)  y = Neg(a) }"


@pytest.mark.parametrize(
    ("change", "text", "error"),
    [
        (lambda m: m.graph.node[0].input.__setitem__(0, "y"), "Relu node .*its input 'y' is not computed", ModelError),
        (lambda m: m.graph.node[1].output.__setitem__(0, "a"), "Neg node .*its output 'a' is there already", ModelError),
        (lambda m: m.graph.node[1].output.__setitem__(0, "x"), "its output 'x' is there already", ModelError),
        (lambda m: m.graph.node[1].output.__setitem__(0, "z"), "no node computes the output 'y'", ModelError),
        (lambda m: m.graph.node[1].output.__setitem__(0, ""), "its output Y has no name", ModelError),
        (lambda m: m.graph.node[0].input.append("x"), "it has 2 inputs; allowed: at most 1", ModelError),
        (lambda m: m.graph.node[0].input.pop(), "its input X is missing", ModelError),
        (lambda m: m.graph.node[0].output.append("b"), "it has 2 outputs; allowed: 1$", ModelError),
        (lambda m: m.graph.node[0].output.pop(), "it has 0 outputs", ModelError),
        (lambda m: setattr(m.graph.node[0], "op_type", "Rleu"), "opset 18 has no operator 'Rleu'", ModelError),
        (lambda m: setattr(m.graph.node[0], "op_type", ""), "opset 18 has no operator ''", ModelError),
        (lambda m: setattr(m.graph.node[0], "op_type", "Conv"), "input W is missing", ModelError),
        (lambda m: setattr(m.graph.node[0], "op_type", "Celu2"), "opset 18 has no operator 'Celu2'", ModelError),
        (lambda m: setattr(m.graph.node[0], "domain", "com.example"), "an operator of 'com.example'", UnsupportedError),
        (lambda m: m.graph.input.append(m.graph.input[0]), "there are two inputs 'x'", ModelError),
        (lambda m: setattr(m.graph.input[0], "name", ""), "an input has no name", ModelError),
        (lambda m: m.graph.input[0].ClearField("type"), "the input 'x' has no type, or an unknown one", ModelError),
        (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77), "no type, or an unknown one", ModelError),
        (lambda m: m.graph.input[0].type.tensor_type.shape.dim.extend(
            [m.graph.input[0].type.tensor_type.shape.dim[0]] * 64), "it has 65 axes", UnsupportedError),
        (lambda m: m.graph.ClearField("output"), "the graph has no outputs", ModelError),
        (lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", 11), r"'y' is declared to be tensor\(double\); allowed: tensor\(float\)", ModelError),
        (lambda m: m.graph.value_info.append(helper.make_tensor_value_info("a", 7, ["N"])), r"'a' is declared to be tensor\(int64\)", ModelError),
        (lambda m: setattr(m.graph.input[0], "name", "x\0y"), "names without the character NUL", ModelError),
        (lambda m: m.graph.sparse_initializer.add(), "is sparse; allowed: dense", UnsupportedError),
    ],
)  # fmt: skip
def test_graph(change, text, error):
    refused(changed(change, CHAIN), text, error)


def test_operators_that_are_not_there_are_named_with_their_opset():
    model = node_model("Conv", 22, [("x", "tensor(float)"), ("w", "tensor(float)")])
    refused(
        model, r"Conv node that computes 'y' \(opset 22\): Ogive has no operator Conv \(opset 22\)", UnsupportedError
    )


def test_operators_that_an_opset_does_not_have_yet():
    refused(
        node_model("Celu", 11, [("x", "tensor(float)")]),
        "opset 11 has no operator 'Celu'. ONNX has it from opset 12 on",
    )


def test_operators_that_an_opset_has_no_more():
    refused(
        node_model("Upsample", 10, [("x", "tensor(float)"), ("s", "tensor(float)")]),
        "no operator 'Upsample'. ONNX has it up to opset 9",
    )


def test_nodes_are_named_by_their_name():
    model = changed(lambda m: setattr(m.graph.node[0], "name", "first"), CHAIN)
    model.graph.node[0].input[0] = "q"
    refused(model, r"Relu node 'first' \(opset 18\): its input 'q'")


def test_types_of_inputs():
    refused(
        node_model("Tanh", 13, [("x", "tensor(int32)")]), r"input input \('x'\) is tensor\(int32\); allowed: .*bfloat16"
    )
    refused(
        node_model("Add", 13, [("a", "tensor(float)"), ("b", "tensor(double)")]),
        r"input B \('b'\) is tensor\(double\), another is tensor\(float\); allowed: the same type",
    )
    refused(node_model("Relu", 13, [("x", "tensor(int8)")]), "is tensor.int8.; allowed")


def test_inputs_of_kinds_that_are_not_tensors():
    model = text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }")
    inner = TypeProto()
    inner.map_type.key_type = TensorProto.INT64
    inner.map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    model.graph.input[0].type.CopyFrom(inner)
    refused(model, "the input 'x' is map.*; allowed: tensors", UnsupportedError)


# ---- attributes


@pytest.mark.parametrize(
    ("attributes", "text", "error"),
    [
        ([helper.make_attribute("alhpa", 1.0)], "there is no attribute 'alhpa'; allowed: alpha", ModelError),
        ([helper.make_attribute("alpha", 1)], "the attribute 'alpha' is of type INT; allowed: FLOAT", ModelError),
        ([helper.make_attribute("alpha", 1.0)] * 2, "it has the attribute 'alpha' twice", ModelError),
        ([helper.make_attribute("alpha", 0.0)], "alpha is 0.0; allowed: any finite number but 0", ModelError),
        ([helper.make_attribute("alpha", float("nan"))], "alpha is nan; allowed: any finite number", ModelError),
        ([AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="a")], "outside of any", ModelError),
    ],
)
def test_attributes(attributes, text, error):
    model = node_model("Celu", 12, [("x", "tensor(float)")])
    model.graph.node[0].attribute.extend(attributes)
    refused(model, text, error)


def test_attributes_that_are_missing():
    refused(node_model("Cast", 13, [("x", "tensor(float)")]), "the attribute 'to' is missing")


@pytest.mark.parametrize("to", [0, 99, -1])
def test_casts_to_types_that_do_not_exist(to):
    refused(
        node_model("Cast", 13, [("x", "tensor(float)")], {"to": to}), f"the attribute 'to' is {to}; allowed: an elem"
    )


def test_text_that_is_no_text():
    model = node_model("Gelu", 20, [("x", "tensor(float)")], {"approximate": b"\xff"})
    refused(model, "the attribute 'approximate' is not UTF-8")


@pytest.mark.parametrize("attributes", [{}, {"value_int": 1, "value_float": 1.0}])
def test_constants_have_one_value(attributes):
    refused(node_model("Constant", 13, [], attributes), f"it has {len(attributes)} values; allowed: exactly one")


def test_sparse_constants_are_refused():
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("v", 1, [1], [1.0]), helper.make_tensor("i", 7, [1], [0]), [1 << 40]
    )
    refused(node_model("Constant", 13, [], {"sparse_value": sparse}), "is of type SPARSE_TENSOR", UnsupportedError)


# ---- initialisers


def with_initialiser(name, array, ir_version=8, text="t (float[N] x, float[2] w) => (float[N] y) { y = Add(x, w) }"):
    model = text_model(text, ir_version=ir_version)
    model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def test_an_initialiser_of_an_input_is_its_default():
    model = ogive.onnx.load(with_initialiser("w", np.float32([1, 2])))
    assert [(info.name, info.required) for info in model.inputs] == [("x", True), ("w", False)]
    x = np.float32([10, 20])
    assert model(x=x).tolist() == [11, 22]
    assert model(x=x, w=np.float32([3, 4])).tolist() == [13, 24]


def test_in_old_versions_it_is_a_constant():
    model = ogive.onnx.load(with_initialiser("w", np.float32([1, 2]), ir_version=3))
    assert model.input_names == ("x",)
    assert model(x=np.float32([10, 20])).tolist() == [11, 22]


def test_an_initialiser_contradicts_its_input():
    refused(
        with_initialiser("w", np.float64([1, 2])), r"initialiser 'w': it is tensor\(double\); allowed: tensor\(float\)"
    )
    refused(with_initialiser("w", np.float32([1, 2, 3])), r"initialiser 'w': its shape is \(3,\); allowed: \(2,\)")


def test_initialisers_without_and_with_the_same_name():
    refused(with_initialiser("", np.float32([1])), "an initialiser has no name")
    model = with_initialiser("w", np.float32([1, 2]))
    model.graph.initializer.append(model.graph.initializer[0])
    refused(model, "there are two initialisers 'w'")


def test_nodes_cannot_overwrite_initialisers():
    model = with_initialiser("y", np.float32([1]))
    refused(model, "its output 'y' is there already")


def test_outputs_that_are_inputs_or_initialisers():
    model = text_model("t (float[N] x) => (float[N] x, float[2] w, float[N] z) { z = Identity(x) }")
    model.graph.initializer.append(numpy_helper.from_array(np.float32([1, 2]), "w"))
    loaded = ogive.onnx.load(model)
    x = np.float32([5, 6])
    for _ in range(2):
        results = loaded(x=x)
        assert [result.tolist() for result in results] == [[5, 6], [1, 2], [5, 6]]
        for i, a in enumerate(results):
            assert a.flags.writeable
            assert not any(np.shares_memory(a, b) for b in (x, *results[:i]))
        results[1][:] = 0  # must not change the model


def test_what_outputs_do_not_need_is_checked_but_not_computed():
    model = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { a = Neg(x)  b = Tanh(a)  y = Relu(x) }"))
    model(x=np.float32([1]))
    assert len(next(iter(model._runners.values())).outline.steps) == 1
    refused(text_model("t (float[N] x) => (float[N] y) { a = Neg(q)  y = Relu(x) }"), "its input 'q' is not computed")


def test_loading_does_not_change_the_model():
    model = with_initialiser("w", np.float32([1, 2]))
    before = model.SerializeToString()
    loaded = ogive.onnx.load(model)
    assert model.SerializeToString() == before
    model.Clear()
    assert isinstance(model, ModelProto)
    assert loaded(x=np.float32([10, 20])).tolist() == [11, 22]


# ---- types that a version does not have


def test_types_that_only_later_versions_have():
    bfloat16, int8 = TensorProto.BFLOAT16, numpy_helper.from_array(np.int8([1]), "v")
    x = [("x", "tensor(float)")]
    refused(
        node_model("Cast", 9, x, {"to": bfloat16}), r"Cast node .*output output would be tensor\(bfloat16\); allowed: "
    )
    refused(
        node_model("Constant", 1, [], {"value": int8}), r"output would be tensor\(int8\); allowed: tensor\(double\)"
    )
    shape = [("s", "tensor(int64)")]
    value = numpy_helper.from_array(np.zeros(1, "complex64"), "v")
    refused(node_model("ConstantOfShape", 9, shape, {"value": value}), r"output would be tensor\(complex64\)")


# ---- files that are no files, and models of a size that nobody needs


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("code", ["ogive.onnx.load(path)", "ogive.check.check(path, '6_4')"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, code):
    os.mkfifo(tmp_path / "model.onnx")
    script = f"import sys, ogive.onnx, ogive.check; path = sys.argv[1]; {code}"
    command = [sys.executable, "-c", script, str(tmp_path / "model.onnx")]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "model.onnx: it is not a regular file" in completed.stderr.splitlines()[-1]


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["run", "check"])
def test_the_command_line_does_not_wait_for_a_pipe(tmp_path, name):
    os.mkfifo(tmp_path / "model.onnx")
    command = [sys.executable, "-m", "ogive", name, str(tmp_path / "model.onnx")]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode != 0
    assert "it is not a regular file" in completed.stderr + completed.stdout
    assert "Traceback" not in completed.stderr


def calls_of(work):
    """How many functions of Python it calls, generators that go on included."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.matrix(share=16, pool="slow")
def test_twice_the_outputs_take_twice_the_work():
    def model(count):
        nodes = [helper.make_node("Relu", ["x"], [f"y{i}"]) for i in range(count)]
        value = [helper.make_tensor_value_info(name, 1, ["N"]) for name in ("x", *(f"y{i}" for i in range(count)))]
        graph = helper.make_graph(nodes, "t", value[:1], value[1:])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)

    ogive.onnx.load(model(2))
    small, large = (calls_of(partial(ogive.onnx.load, model(count))) for count in (300, 600))
    assert large < 2.2 * small


def test_types_that_are_nested_without_end():
    model = text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }")
    kind = model.graph.input.add(name="s").type
    for _ in range(2000):
        kind = kind.sequence_type.elem_type
    kind.tensor_type.elem_type = 1
    refused(model, "more than 64 deep; allowed: 64")


# ---- newer opsets


def test_an_opset_that_onnx_lacks_is_known_by_its_operators():
    """GeGLU came with opset 29; what did not change is computed as before."""
    x = np.float16([[1.0, -2.0], [3.0, 0.5]])
    for attributes in ({}, {"approximate": "tanh"}):
        model = ogive.onnx.load(node_model("GeGLU", 29, [("a", x), ("b", x)], attributes))
        assert np.array_equal(model(a=x, b=x), ogive.geglu(x, x, **attributes))
    assert np.array_equal(ogive.onnx.load(node_model("Relu", 29, [("x", x)]))(x=x), ogive.relu(x))
    refused(node_model("GeGLU", 28, [("a", x), ("b", x)]), "opset 28 has no operator 'GeGLU'")
    refused(node_model("GeGLU", 29, [("a", x), ("b", x)], {"approximate": "fast"}), "approximate is 'fast'")


def test_a_newer_opset_is_refused_by_operator(monkeypatch):
    """Where onnx knows it, and Ogive does not follow it yet."""
    monkeypatch.setattr(ogive.onnx.schemas, "NEWEST_OPSET", 27)
    x = np.float32([1.0, -2.0])
    assert np.array_equal(ogive.onnx.load(node_model("Relu", 28, [("x", x)]))(x=x), ogive.relu(x))
    text = "Celu node .* it is Celu of opset 28; allowed: operators up to opset 27. Use ogive.onnx.load\\(model, partial=True\\)"
    refused(node_model("Celu", 28, [("x", x)]), text, UnsupportedError)
