"""Models that the standard allows and few exporters write: all of them load, or are refused by an error of Ogive."""

import mmap
import pickle
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases

import ogive.onnx
import ogive.onnx.backend
from ogive.cli import _status
from ogive.errors import ModelError, OgiveError, UnsupportedError
from tests.onnx.models import text_model

X = np.float32([-1, 2, -3])


# ---- every node model of the standard


@pytest.mark.matrix(share=16, pool="slow")
def test_every_node_model_of_onnx_loads_or_raises_an_error_of_ogive():
    with warnings.catch_warnings():  # making its cases overflows on purpose
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    loaded = 0
    for case in cases:
        try:
            ogive.onnx.load(case.model)
        except OgiveError:
            continue
        loaded += 1
    assert len(cases) > 1000
    assert loaded > 500


@pytest.mark.parametrize("inputs", [[], [""], ["", ""], ["", "", ""]])
def test_a_node_with_nothing_but_empty_names(inputs):
    """It is checked as one without inputs; Ogive has no optional values."""
    node = helper.make_node("OptionalHasElement", inputs, ["y"])
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.BOOL, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises(OgiveError, match="OptionalHasElement node that computes 'y'"):
        ogive.onnx.load(model)


@pytest.mark.parametrize(
    ("node", "alike"),
    [
        ("Clip (x, '', '')", "Identity (x)"),
        ("Clip (x, low, '')", "Clip (x, low)"),
        ("ReduceSum <keepdims = 0> (x, '')", "ReduceSum <keepdims = 0> (x)"),
        ("Dropout (x, '', '')", "Identity (x)"),
    ],
)
def test_empty_names_at_the_end_are_inputs_that_are_left_out(node, alike):
    def run(call):
        words = [word.strip(" '") for word in call[call.index("(") + 1 : -1].split(",")]
        head = call[: call.index("(")].strip()
        attributes = {"keepdims": 0} if "keepdims" in head else {}
        made = helper.make_node(head.split()[0], words, ["y"], **attributes)
        inputs = [helper.make_tensor_value_info("x", 1, ["N"]), helper.make_tensor_value_info("low", 1, [])]
        graph = helper.make_graph([made], "g", inputs, [helper.make_value_info("y", onnx.TypeProto())])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        return ogive.onnx.load(model)(X, np.float32(-2))

    np.testing.assert_array_equal(run(node), run(alike))


# ---- the same output several times


@pytest.fixture
def twice():
    model = text_model("g (float[N] x) => (float[N] y, float[N] z) { y = Relu (x) z = Neg (x) }")
    model.graph.output.append(model.graph.output[0])
    return model


@pytest.mark.parametrize("keywords", [{}, {"fuse": False}, {"partial": True}])
def test_calls_return_an_output_as_often_as_the_model_lists_it(twice, keywords):
    if "partial" in keywords:
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = ogive.onnx.load(twice, **keywords)
    for _ in range(3):  # the first run, and those by a plan
        first, other, again = model(X)
        np.testing.assert_array_equal(first, np.maximum(X, 0))
        np.testing.assert_array_equal(other, -X)
        np.testing.assert_array_equal(again, first)
        assert not np.may_share_memory(first, again)
        assert list(model.run({"x": X})) == ["y", "z"]
        assert list(model.run({"x": X}, ["y"])) == ["y"]


def test_arrays_for_an_output_that_is_there_twice(twice):
    for model in (ogive.onnx.load(twice), pickle.loads(pickle.dumps(ogive.onnx.load(twice)))):
        for _ in range(3):
            out = tuple(np.empty(3, np.float32) for _ in range(3))
            for result, array in zip(model(X, out=out), out, strict=True):
                assert result is array
            np.testing.assert_array_equal(out[0], out[2])
            by_name = {"y": np.empty(3, np.float32), "z": np.empty(3, np.float32)}
            assert model.run({"x": X}, out=by_name)["y"] is by_name["y"]
            np.testing.assert_array_equal(by_name["y"], out[0])


def test_the_other_doors_take_an_output_that_is_there_twice(twice, tmp_path):
    results = ogive.onnx.backend.run_model(twice, [X])
    assert len(results) == 3
    np.testing.assert_array_equal(results[0], results[2])
    onnx.save(twice, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", X)
    arguments = ["--input", f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "out")]
    assert _status(["run", str(tmp_path / "m.onnx"), *arguments]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["y.npy", "z.npy"]
    assert len(ogive.onnx.split(twice)) == 1


def test_an_output_that_is_declared_twice_in_different_types(twice):
    twice.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    with pytest.raises(ModelError, match=r"'y' is declared to be tensor\(double\); allowed: tensor\(float\)"):
        ogive.onnx.load(twice)


# ---- negative sizes


@pytest.mark.parametrize("size", [-1, -2, -(1 << 63), "?"])
def test_a_negative_size_is_any_size(size):
    model = text_model("g (float[N, 3] x) => (float[N, 3] y) <float[N, 3] a> { a = Relu (x) y = Neg (a) }")
    for info in (model.graph.input[0], model.graph.output[0], model.graph.value_info[0]):
        info.type.tensor_type.shape.dim[0].Clear()
        setattr(info.type.tensor_type.shape.dim[0], "dim_param" if size == "?" else "dim_value", size)
    before = model.SerializeToString()
    for source in (model, before):
        loaded = ogive.onnx.load(source)
        assert str(loaded.inputs[0]) == "x: float32[?, 3]"
        for length in (1, 2, 5):
            x = np.ones((length, 3), np.float32)
            np.testing.assert_array_equal(loaded(x), -x)
    assert model.SerializeToString() == before  # the caller's model stays as it is
    assert len(ogive.onnx.split(model)) == 1


def test_a_negative_size_in_sequences_and_branches():
    branch = "{g} () => (float[M] {y}) {{ {y} = {op} (x) }}"
    branches = ", ".join(
        f"{name} = " + branch.format(g=name[0], y=name[0], op=op)
        for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))
    )
    model = text_model(f"g (float[N] x, seq(float[N]) s, bool c) => (float[N] y) {{ y = If (c) <{branches}> }}")
    inner = model.graph.node[0].attribute[0].g.output[0].type.tensor_type.shape.dim[0]
    nested = model.graph.input[1].type.sequence_type.elem_type.tensor_type.shape.dim[0]
    for dim in (inner, nested):
        dim.Clear()
        dim.dim_value = -1
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    run = ogive.onnx.load(model, partial=True)
    np.testing.assert_array_equal(run(X, [X], np.array(True)), np.maximum(X, 0))


def test_sizes_named_by_a_question_mark_may_differ():
    model = text_model("g (float[N, M] x) => (float[N, M] y) { y = Relu (x) }")
    for info in (model.graph.input[0], model.graph.output[0]):
        for dim in info.type.tensor_type.shape.dim:
            dim.dim_param = "?"
    loaded = ogive.onnx.load(model)
    for shape in ((2, 3), (4, 1), (2, 3)):
        np.testing.assert_array_equal(loaded(-np.ones(shape, np.float32)), np.zeros(shape))


# ---- memory that NumPy does not own


def foreign(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(X.tobytes())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    yield np.frombuffer(X.tobytes(), np.float32)
    yield np.frombuffer(bytearray(X.tobytes()), np.float32)
    yield np.frombuffer(memoryview(X.tobytes()), np.float32)
    yield np.frombuffer(mapped, np.float32)
    yield np.memmap(path, np.float32, "r")
    yield np.from_dlpack(X.copy())


@pytest.mark.parametrize("node", ["Identity (x)", "Flatten (x)", "Relu (x)", "Reshape (x, shape)", "Neg (x)"])
def test_memory_that_numpy_does_not_own(node, tmp_path):
    model = text_model(f"g (float[N] x) => (float[M] y) <int64[1] shape = {{-1}}> {{ y = {node} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    loaded = ogive.onnx.load(model)
    wanted = loaded(X.copy())
    for array in foreign(tmp_path):
        for _ in range(2):
            result = loaded(array)
            np.testing.assert_array_equal(result, wanted)
            assert result.flags.writeable
            assert not np.may_share_memory(result, array)


# ---- data in other files, behind links


@pytest.fixture
def store(tmp_path):
    """A store of a download cache, and a folder with links into it."""
    store, view = tmp_path / "blobs", tmp_path / "snapshot"
    store.mkdir()
    view.mkdir()
    model = text_model("g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Mul (x, w) }")
    tensor = model.graph.initializer[0]
    weights = np.float32([1, 2, 3])
    weights.tofile(store / "digest-of-data")
    for field in ("float_data", "raw_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="m.onnx_data")
    (store / "digest-of-model").write_bytes(model.SerializeToString())
    (view / "m.onnx").symlink_to(store / "digest-of-model")
    (view / "m.onnx_data").symlink_to(store / "digest-of-data")
    return view


def test_model_and_data_are_links_into_one_store(store, tmp_path, monkeypatch):
    wanted = X * np.float32([1, 2, 3])
    np.testing.assert_array_equal(ogive.onnx.load(store / "m.onnx")(X), wanted)
    (part,) = ogive.onnx.split(store / "m.onnx")
    assert len(part.model.graph.initializer[0].raw_data) == 12
    monkeypatch.chdir(store)
    np.testing.assert_array_equal(ogive.onnx.load("m.onnx")(X), wanted)
    (tmp_path / "short").symlink_to(store)  # a folder that is a link
    np.testing.assert_array_equal(ogive.onnx.load(tmp_path / "short" / "m.onnx")(X), wanted)
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(store / "m.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], wanted)


def test_the_model_alone_is_a_link_and_its_data_lies_beside_the_file(store):
    (store / "m.onnx_data").rename(store.parent / "blobs" / "m.onnx_data")
    np.testing.assert_array_equal(ogive.onnx.load(store / "m.onnx")(X), X * np.float32([1, 2, 3]))


def test_a_link_that_leads_out_is_named_with_its_end(store, tmp_path):
    """The data's link may lead to the folder of the model's file, and to no other."""
    outside = tmp_path / "secrets"
    outside.mkdir()
    (outside / "data").write_bytes(bytes(12))
    link = store / "m.onnx_data"
    link.unlink()
    link.symlink_to(outside / "data")
    sentence = r"'m.onnx_data', a link that leads to .*/secrets/data; allowed: files in .*/snapshot or .*/blobs. Copy"
    for call in (ogive.onnx.load, ogive.onnx.split):
        with pytest.raises(ModelError, match=sentence):
            call(store / "m.onnx")
    (store / "m.onnx").unlink()  # the model is no link: then its data must be beside it
    (store / "m.onnx").write_bytes((tmp_path / "blobs" / "digest-of-model").read_bytes())
    link.unlink()
    link.symlink_to(tmp_path / "blobs" / "digest-of-data")
    with pytest.raises(
        ModelError, match=r"a link that leads to .*/blobs/digest-of-data; allowed: files in .*/snapshot\."
    ):
        ogive.onnx.load(store / "m.onnx")


@pytest.mark.parametrize("location", ["../secret", "../blobs/../secret", "/etc/hostname", "a/../../secret"])
def test_no_path_leads_out_of_both_folders(store, tmp_path, location):
    (tmp_path / "secret").write_bytes(bytes(12))
    model = onnx.load(store / "m.onnx", load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    (tmp_path / "blobs" / "digest-of-model").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"allowed: a file in the model's folder, by its relative path"):
        ogive.onnx.load(store / "m.onnx")


# ---- control flow


def branches(condition, given="", then="Relu", otherwise="Neg"):
    return text_model(f"""g (float[N, 1, 3] x, float[N, K] z, bool b) => (float[N, 1, 3] y) <int64 one = {{1}}> {{
        {given}
        y = If ({condition}) <
            then_branch = t () => (p) {{ q = {then} (x) p = Neg (q) }},
            else_branch = e () => (p) {{ p = {otherwise} (x) }}>
    }}""")


TAKEN = {
    "a constant": ("c", "c = Constant <value = bool {1}> ()"),
    "a cast constant": ("c", "c = Cast <to = 9> (one)"),
    "a size that is known": (
        "c",
        "s = Shape (x) i = Constant <value_int = 1> () d = Gather (s, i) c = Equal (d, one)",
    ),
    "a part of the shape": ("c", "s = Shape <start = 1, end = 2> (x) d = Squeeze (s) c = Equal (d, one)"),
    "the number of axes": (
        "c",
        "s = Shape (x) r = Size (s) i = Constant <value_int = 3> () c = Equal (r, i)",
    ),
    "sizes behind each other": (
        "c",
        """s = Shape (x) a = Constant <value_ints = [1]> () e = Constant <value_ints = [2]> () t = Slice (s, a, e)
        u = Concat <axis = 0> (s, t) i = Constant <value_int = 3> () d = Gather (u, i) c = Equal (d, one)""",
    ),
    "a negation": ("c", "f = Constant <value = bool {0}> () c = Not (f)"),
}


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("case", TAKEN)
def test_a_branch_is_taken_where_its_condition_is_known(case, fuse):
    x, z = np.float32([[X], [2 * X]]), np.ones((2, 4), np.float32)
    loaded = ogive.onnx.load(branches(*TAKEN[case]), fuse=fuse)
    for _ in range(2):
        np.testing.assert_array_equal(loaded(x, z, np.array(True)), -np.maximum(x, 0))


def test_the_other_branch():
    loaded = ogive.onnx.load(branches("c", "c = Constant <value = bool {0}> ()"))
    x = np.float32([[X]])
    np.testing.assert_array_equal(loaded(x, np.ones((1, 4), np.float32), np.array(True)), -x)


OPEN = {
    "an input": ("b", ""),
    "a size that is not declared": (
        "c",
        "s = Shape (z) i = Constant <value_int = 1> () d = Gather (s, i) c = Equal (d, one)",
    ),
    "the number of elements": ("c", "n = Size (z) c = Equal (n, one)"),
    "a place that follows from a size": ("c", "s = Shape (z) t = Shape (x) d = Gather (t, s) c = Equal (d, one)"),
    "a sum of sizes": (
        "c",
        """s = Shape (z) i = Constant <value_int = 1> () d = Gather (s, i) e = Add (d, one) c = Equal (e, one)""",
    ),
}


@pytest.mark.parametrize("case", OPEN)
def test_an_open_condition_is_refused_and_runs_partially(case):
    model = branches(*OPEN[case])
    sentence = r"If node that computes 'y' \(opset 18\): its condition '\w' is known only when the model runs, and Ogive has no control flow.*partial=True"
    with pytest.raises(UnsupportedError, match=sentence):
        ogive.onnx.load(model)
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    if case == "a place that follows from a size":
        return
    x, z = np.float32([[X]]), np.ones((1, 1), np.float32)
    is_sum = case == "a sum of sizes"
    result = ogive.onnx.load(model, partial=True)(x, z, np.array(True))
    np.testing.assert_array_equal(result, -x if is_sum else -np.maximum(x, 0))


def test_a_default_is_no_constant():
    """A call may give another value for it."""
    model = branches("b")
    model.graph.initializer.append(helper.make_tensor("b", TensorProto.BOOL, [], [True]))
    with pytest.raises(UnsupportedError, match="is known only when the model runs"):
        ogive.onnx.load(model)


def test_a_known_branch_behind_a_node_of_another_runtime():
    """The condition is known from the whole model, and so in the part that has the branches."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    given = """m = MatMul (x, w) s = Shape (m) i = Constant <value_int = 1> () d = Gather (s, i) c = Equal (d, one)"""
    model = branches("c", given)
    for attribute in model.graph.node[-1].attribute:
        attribute.g.node[0].input[0] = "m"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.eye(3, dtype=np.float32), "w"))
    run = ogive.onnx.load(model, partial=True)
    assert [part.is_ogive for part in run.parts] == [False, True]
    x, z = np.float32([[X], [2 * X]]), np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(run(x, z, np.array(False)), -np.maximum(x, 0))


def test_branches_in_branches_and_in_functions():
    """The inner condition is one of the graph around; the function has its condition as an input."""
    model = text_model("""g (float[N, 3] x) => (float[N, 3] y) {
        m = MatMul (x, x)
        s = Shape (m) i = Constant <value_int = 1> () d = Gather (s, i) three = Constant <value_int = 3> ()
        c = Equal (d, three) n = Not (c)
        a = If (c) <
            then_branch = t () => (p) { p = If (n) <
                then_branch = tt () => (q) { q = Neg (m) },
                else_branch = te () => (r) { r = Relu (m) }> },
            else_branch = e () => (o) { o = Neg (m) }>
        y = local.choose (a, n)
    }""")
    function = onnx.parser.parse_function("""<domain: "local", opset_import: ["" : 18]> choose (v, c) => (w) {
        w = If (c) <then_branch = t () => (p) { p = Neg (v) }, else_branch = e () => (p) { u = Abs (v) p = Sqrt (u) }>
    }""")
    model.functions.append(function)
    model.opset_import.add(domain="local", version=1)
    model.graph.value_info.append(helper.make_tensor_value_info("m", TensorProto.FLOAT, ["N", 3]))
    run = ogive.onnx.load(model, partial=lambda part: lambda inputs: {"m": inputs["x"] @ inputs["x"]})
    assert [part.is_ogive for part in run.parts] == [False, True]
    x = np.float32([[1, -2, 3], [0, 1, -1], [2, 2, 2]])
    np.testing.assert_array_equal(run(x), np.sqrt(np.maximum(x @ x, 0)))


def test_names_of_a_branch_are_its_own():
    """Both branches and the graph behind them may use one name; initialisers of a branch are constants."""
    model = text_model("""g (float[N] x) => (float[N] z) {
        c = Constant <value = bool {1}> ()
        y = If (c) <
            then_branch = t () => (float[N] p) <float[1] k = {2}> { p = Mul (x, k) },
            else_branch = e () => (float[N] p) { p = Neg (x) }>
        p = Relu (y)
        z = Add (p, y)
    }""")
    np.testing.assert_array_equal(ogive.onnx.load(model)(X), np.maximum(2 * X, 0) + 2 * X)


@pytest.mark.parametrize("operator", ["Loop", "Scan"])
def test_bodies_are_refused_with_a_way_out(operator):
    if operator == "Loop":
        text = """g (float[2] x, int64 n, bool c) => (float[2] y) { y = Loop (n, c, x) <
            body = s (int64 i, bool go, float[2] v) => (bool more, float[2] w) { more = Identity (go) w = Add (v, v) }> }"""
    else:
        text = """g (float[2] x, float[3, 2] s) => (float[2] y, float[3, 2] z) { y, z = Scan <num_scan_inputs = 1,
            body = b (float[2] v, float[2] e) => (float[2] w, float[2] o) { w = Add (v, e) o = Identity (w) }> (x, s) }"""
    with pytest.raises(
        UnsupportedError, match=f"^{operator} node .*nodes of its own.*'body'.*no control flow.*partial=True"
    ):
        ogive.onnx.load(text_model(text))


def test_wrong_branches():
    model = branches("c", TAKEN["a constant"][1])
    for change, text in (
        (lambda n: n.attribute.pop(), "its branches are then_branch; allowed: the attributes"),
        (lambda n: n.ClearField("input"), r"its inputs are \[\]; allowed: one condition"),
        (lambda n: n.input.__setitem__(0, "x"), r"its inputs are \['tensor\(float\)'\]; allowed: one condition"),
        (lambda n: n.output.append("more"), "it has 2 outputs; allowed: 1, as the branch has"),
        (lambda n: n.attribute[0].g.output[0].__setattr__("name", "nothing"), "nothing in the branch computes"),
    ):
        wrong = onnx.ModelProto()
        wrong.CopyFrom(model)
        change(wrong.graph.node[-1])
        with pytest.raises(ModelError, match=text):
            ogive.onnx.load(wrong)
