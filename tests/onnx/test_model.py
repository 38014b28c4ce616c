"""The loaded model: how it is called, what it refuses, and that threads do not disturb each other."""

import threading

import ml_dtypes
import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ArgumentError, DTypeError, ShapeError
from tests.inputs import same_bits
from tests.onnx.models import node_model, text_model

TWO = text_model("t (float[N] x, float[N] w) => (float[N] y, float[N] z) { y = Add(x, w)  z = Relu(y) }")
X, W = np.float32([-1, 2]), np.float32([-3, 4])


@pytest.fixture
def two():
    return ogive.onnx.load(TWO)


def test_ways_to_call(two):
    for results in (two(X, W), two(x=X, w=W), two(X, w=W), two({"x": X, "w": W})):
        assert isinstance(results, tuple)
        assert [a.tolist() for a in results] == [[-4, 6], [0, 6]]
    one = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }"))
    for result in (one(X), one(x=X), one({"x": X})):
        assert result.tolist() == [0, 2]


def test_run_returns_by_name(two):
    results = two.run({"x": X, "w": W})
    assert list(results) == ["y", "z"]
    assert list(two.run({"x": X, "w": W}, outputs=["z", "y"])) == ["z", "y"]
    assert two.run({"x": X, "w": W}, outputs=["y"])["y"].tolist() == [-4, 6]
    assert two.run({"x": X, "w": W}, outputs=[]) == {}
    with pytest.raises(ArgumentError, match="model: there is no output 'q'; allowed: y, z"):
        two.run({"x": X, "w": W}, outputs=["q"])


def test_what_a_model_says_of_itself(two):
    assert repr(two) == "<model: (x: float32[N], w: float32[N]) -> (y: float32[N], z: float32[N])>"
    assert two.input_names == ("x", "w")
    assert two.output_names == ("y", "z")
    info = two.inputs[0]
    assert (info.name, info.type, info.dtype, info.shape, info.required) == (
        "x",
        "tensor(float)",
        np.float32,
        ("N",),
        True,
    )
    text = "t (bfloat16[2, ?] x, seq(tensor(float)) s, float y) => (bfloat16[2, ?] x) { z = Neg(x) }"
    other = ogive.onnx.load(text_model(text.replace("seq(tensor(float)) s", "float s")))
    assert str(other.inputs[0]) == "x: bfloat16[2, ?]"
    assert other.inputs[0].dtype == ml_dtypes.bfloat16
    assert str(other.inputs[1]) == "s: float32[]"


def test_names_of_any_kind():
    model = node_model("Relu", 14, [("a b/c.1", X)], outputs=("0",))
    assert ogive.onnx.load(model)({"a b/c.1": X}).tolist() == [0, 2]
    assert ogive.onnx.load(model)(X).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: m(), ArgumentError, "the inputs 'x' and 'w' are missing. Give x: float32.N., w: float32.N."),
        (lambda m: m(X), ArgumentError, "the input 'w' is missing"),
        (lambda m: m(X, W, X), ArgumentError, "3 inputs were given; allowed: at most 2: x, w"),
        (lambda m: m(X, x=X), ArgumentError, "the input 'x' was given twice"),
        (lambda m: m(x=X, w=W, v=X), ArgumentError, "there is no input 'v'; allowed: x, w"),
        (lambda m: m(X.astype(float), W), DTypeError, "input 'x': its dtype is float64; allowed: float32. Convert it first"),
        (lambda m: m(X, W.astype(">f4")), DTypeError, "input 'w': its dtype is >f4; allowed: float32"),
        (lambda m: m([1.0, 2.0], W), DTypeError, "input 'x': its dtype is float64"),
        (lambda m: m("text", W), DTypeError, "input 'x': it is 'text'; allowed: an array of float32"),
        (lambda m: m(None, W), DTypeError, "input 'x': it is None; allowed: an array of float32"),
        (lambda m: m(X.reshape(1, 2), W), ShapeError, r"input 'x': its shape is \(1, 2\); allowed: shapes \(N\)"),
        (lambda m: m(X, W[:1]), ShapeError, r"input 'w': its shape is \(1,\), where N is 1; allowed: N = 2, as in the input 'x'"),
    ],
)  # fmt: skip
def test_what_a_call_refuses(two, call, error, text):
    with pytest.raises(error, match=text):
        call(two)


def test_fixed_sizes():
    model = ogive.onnx.load(text_model("t (float[3, N] x) => (float[3, N] y) { y = Relu(x) }"))
    with pytest.raises(ShapeError, match=r"its shape is \(2, 3\); allowed: shapes \(3, N\)"):
        model(np.zeros((2, 3), np.float32))


def test_array_likes_of_the_right_type(two):
    class Like:
        def __array__(self, dtype=None, copy=None):
            return X

    assert two(Like(), W)[0].tolist() == [-4, 6]
    assert two(memoryview(X), W)[0].tolist() == [-4, 6]


def test_c_types_of_the_same_size():
    model = ogive.onnx.load(node_model("Neg", 13, [("x", "tensor(int64)")]))
    for code in "lq":
        x = np.array([1, 2], code)
        if x.itemsize == 8:
            assert model(x).tolist() == [-1, -2]


def test_sequences_and_optional_values():
    model = ogive.onnx.load(node_model("Identity", 16, [("x", "optional(seq(tensor(float)))")]))
    assert model(None) is None
    items = [X, W]
    results = model(items)
    assert all(map(same_bits, results, items))
    assert not any(map(np.shares_memory, results, items))
    with pytest.raises(DTypeError, match="input 'x': it is an array of shape .*; allowed: a list, for seq"):
        model(X)
    with pytest.raises(DTypeError, match="input 'x', item 1: its dtype is float64; allowed: float32"):
        model([X, X.astype(float)])


def test_text():
    model = ogive.onnx.load(node_model("Transpose", 13, [("x", "tensor(string)")]))
    for array in (np.array([["a", "b"]]), np.array([["a", "b"]], object), [["a", "b"]]):
        result = model(array)
        assert result.dtype == object
        assert result.tolist() == [["a"], ["b"]]
    with pytest.raises(DTypeError, match="it contains [0-9]+; allowed: str"):
        model(np.array(["a", 1], object))


# ---- threads


def test_threads_do_not_disturb_each_other():
    text = """t (float[M, N] x) => (float[N, M] y, float[M, N] z) {
        a = Tanh(x)  t = Transpose(a)  b = Neg(t)  u = Transpose(b)  z = Add(u, x)  y = Mul(b, t) }"""
    model = ogive.onnx.load(text_model(text))
    plain = ogive.onnx.load(text_model(text), fuse=False)
    arrays = [np.random.default_rng(i).standard_normal((20 + i % 3, 30)).astype(np.float32) for i in range(8)]
    expected = [plain(x) for x in arrays]
    failures = []
    start = threading.Barrier(len(arrays))

    def work(x, wanted):
        start.wait()
        for _ in range(100):
            if not all(map(same_bits, model(x), wanted)):
                failures.append(x)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(arrays, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- the package


@pytest.mark.matrix(share=16, pool="slow")
def test_without_the_package_onnx():
    import subprocess
    import sys

    code = "import sys; sys.modules['onnx'] = None\nimport ogive\ntry:\n    import ogive.onnx\nexcept ImportError as e: print(type(e).__name__, e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "MissingPackageError ogive.onnx: the package onnx is not installed. Install it: pip install 'ogive[onnx]'"
    )


def test_the_package_of_the_same_name_is_another():
    import onnx

    assert onnx is not ogive.onnx
    assert onnx.ModelProto


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((["y"], {"x": np.ones(2, "f4")}), "the inputs are a list; allowed: a mapping of names to arrays. The inputs"),
        (
            (None, {"x": np.ones(2, "f4")}),
            "the inputs are None; allowed: .* The inputs come first, the names of",
        ),
        ((np.ones(2, "f4"),), "the inputs are an array of shape .*; allowed: a mapping of names to arrays"),
        (({"x": np.ones(2, "f4")}, "y"), r"outputs is the text 'y'; allowed: a list of names. Write \['y'\]"),
        (({"x": np.ones(2, "f4")}, [["y"]]), r"there is no output \['y'\]; allowed: y"),
        (({"x": np.ones(2, "f4")}, ["z"]), "there is no output 'z'; allowed: y"),
    ],
)
def test_run_says_what_comes_first(args, text):
    """ONNX Runtime has the names of outputs first, and returns a list."""
    model = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }"))
    with pytest.raises(ArgumentError, match=text):
        model.run(*args)
