"""Operators that make one number of a row: the catalogue's logsumexp, and operators of one's own."""

import copy
import math
import pickle

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.errors import ArgumentError, FormulaError, ParameterError, ShapeError
from ogive.operators.row_operator import RowReduction

RNG = np.random.default_rng(23)
X = RNG.standard_normal((3, 4, 5)) * 3
G = RNG.standard_normal((3, 4))

TYPES = ("float16", "bfloat16", "float32")

AXES = (-1, 0, 1, 2, -2, (0, 1), (2, 0), (-1, -2), None)


@ogive.row_operator(reduces=True)
def length(x):
    """Euclidean length."""
    return f.square_root(f.row_sum(x * x))


@ogive.row_operator(reduces=True)
def written_out(x):
    largest = f.row_max(x)
    return f.log(f.row_sum(f.exp(x - largest))) + largest


def in_numpy(x, axis=None, keepdims=False):
    largest = x.max(axis=axis, keepdims=True)
    found = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
    return found if keepdims else found.squeeze(axis)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
def test_axes_are_those_of_numpy(axis, keepdims):
    expected = in_numpy(X, axis=axis, keepdims=keepdims)
    found = ogive.logsumexp(X, axis=axis, keepdims=keepdims)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    out = np.empty(expected.shape)
    if out.ndim:
        assert ogive.logsumexp(X, axis=axis, keepdims=keepdims, out=out) is out
        assert np.array_equal(out, found)
    np.testing.assert_allclose(
        length(X, axis=axis, keepdims=keepdims), np.sqrt((X * X).sum(axis=axis, keepdims=keepdims)), rtol=1e-15
    )


def test_one_row_gives_a_number():
    found = ogive.logsumexp([0.0, 0.0])
    assert type(found) is np.float64
    assert found == np.log(2)
    assert type(length(np.float32([3, 4]))) is np.float32
    out = np.zeros(())
    assert ogive.logsumexp([1.0], out=out) is out
    assert out == 1.0


def test_the_ufunc_is_a_generalised_one():
    bound = ogive.logsumexp.bind()
    assert ogive.logsumexp.signature == bound.signature == "(n)->()"
    assert (bound.nin, bound.nout) == (1, 1)
    assert np.array_equal(bound(X, axis=1, keepdims=True), ogive.logsumexp(X, axis=1, keepdims=True))
    assert ogive.logsumexp.types == ["e->e", "f->f", "d->d"]


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", [*TYPES, "float64"])
def test_layouts_give_the_same_bits(dtype):
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    for length_of_row in (1, 2, 15, 64, 1000):
        x = RNG.standard_normal((40, length_of_row)).astype(kind)
        expected = ogive.logsumexp(x)
        for given in (x[::-1][::-1], np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            assert ogive.logsumexp(given).tobytes() == expected.tobytes()
        assert ogive.logsumexp(x.T, axis=0).tobytes() == expected.tobytes()
        assert ogive.logsumexp(x[3]) == expected[3]
        with ogive.threads(2):
            assert ogive.logsumexp(np.tile(x, (50, 1))).tobytes() == np.tile(expected, 50).tobytes()


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [0.01, 0.5, 4.0, 30.0])
def test_results_are_correctly_rounded(dtype, width):
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    for count in (1, 2, 3, 7, 33, 150):
        rows = RNG.standard_normal((4, count)) * width
        centred = rows - np.asarray(ogive.logsumexp(rows))[:, None]  # so that results cancel to almost zero
        for x in (rows.astype(kind), centred.astype(kind)):
            assert ogive.ulp(ogive.logsumexp(x), "logsumexp", x).max() <= 0.5
            assert ogive.ulp(length(x), length, x).max() <= 0.5


@pytest.mark.matrix(share=16, pool="slow")
def test_float64_is_right_to_a_unit_of_the_largest_element():
    for count in (2, 7, 100):
        x = RNG.standard_normal((50, count))
        x -= ogive.logsumexp(x, keepdims=True)  # results cancel
        exact = np.array([float(value) for value in ogive.exact("logsumexp", x)])
        assert np.max(np.abs(ogive.logsumexp(x) - exact)) < 3e-16 * max(1, np.abs(x).max())
    tail = np.stack([np.zeros(50), -RNG.uniform(0, 700, 50)], axis=1)  # nothing cancels beside a largest one of zero
    assert ogive.ulp(ogive.logsumexp(tail), "logsumexp", tail).max() < 1.5


SPECIAL = [
    ([], -np.inf),
    ([-np.inf], -np.inf),
    ([-np.inf] * 9, -np.inf),
    ([-np.inf, 1.0], 1.0),
    ([np.inf, 1.0], np.inf),
    ([np.inf, -np.inf], np.inf),
    ([np.inf, np.inf], np.inf),
    ([np.nan, 1.0], np.nan),
    ([np.nan, np.inf], np.nan),
    ([np.nan, -np.inf], np.nan),
    ([-0.0], 0.0),
    ([1e4, 1e4 - 9000.0], 1e4),
    ([-1e4] * 2, -1e4 + np.log(2)),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("row", "expected"), SPECIAL)
def test_special_values(row, expected, dtype):
    found = ogive.logsumexp(np.array(row, dtype))
    np.testing.assert_array_equal(found, np.array(expected, dtype))
    assert np.array_equal(ogive.logsumexp(np.array([row, row], dtype)), np.array([expected] * 2, dtype), equal_nan=True)


def test_rows_of_nothing():
    assert ogive.logsumexp(np.zeros((0, 3))).shape == (0,)
    assert ogive.logsumexp(np.zeros((2, 0))).tolist() == [-np.inf] * 2
    assert ogive.logsumexp(np.zeros((2, 0)), axis=None) == -np.inf
    assert length(np.zeros((2, 0), np.float32)).tolist() == [0.0, 0.0]


@pytest.mark.matrix(share=16, pool="slow")
def test_in_formulas_every_element_has_the_rows_number():
    op = ogive.row_operator(lambda x: x - ogive.logsumexp(x))
    np.testing.assert_allclose(op(X), ogive.log_softmax(X), rtol=1e-13, atol=1e-15)
    both = ogive.row_operator(reduces=True)(lambda x: ogive.logsumexp(x) - f.row_max(x))
    np.testing.assert_allclose(both(X), ogive.logsumexp(X) - X.max(-1), rtol=1e-13, atol=1e-15)


# ---- derivatives


@pytest.mark.parametrize("axis", AXES)
def test_gradients(axis):
    upstream = RNG.standard_normal(np.shape(ogive.logsumexp(X, axis=axis)))
    kept = upstream.reshape(ogive.logsumexp(X, axis=axis, keepdims=True).shape)
    expected = kept * ogive.softmax(X, axis=axis)
    for op in (ogive.logsumexp, written_out):
        backwards = ogive.vjp(op)
        np.testing.assert_allclose(backwards(upstream, X, axis=axis), expected, rtol=1e-13, atol=1e-16)
        assert np.array_equal(backwards(kept, X, axis=axis, keepdims=True), backwards(upstream, X, axis=axis))
    found = ogive.vjp(length)(upstream, X, axis=axis)
    np.testing.assert_allclose(found, kept * X / length(X, axis=axis, keepdims=True), rtol=1e-14)


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients_of_a_maximum_and_of_constants():
    largest = ogive.row_operator(reduces=True)(lambda x: 2 * f.row_max(x) + 1)
    assert ogive.vjp(largest)(3.0, [1.0, 5.0, 5.0]).tolist() == [0.0, 6.0, 0.0]
    scaled = ogive.row_operator(reduces=True)(lambda x: f.row_sum(x / f.row_max(x)))  # reductions of each other
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(ogive.vjp(scaled)(1.0, x), [0.25, 0.25, 0.25 - 7 / 16], rtol=1e-15)


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients_of_gradients():
    upstream, p = RNG.standard_normal(X.shape), ogive.softmax(X)
    of_gradient, of_x = ogive.vjp(ogive.vjp(ogive.logsumexp))(upstream, G, X)
    mean = (upstream * p).sum(-1)
    np.testing.assert_allclose(of_gradient, mean, rtol=1e-13)
    np.testing.assert_allclose(of_x, G[..., None] * p * (upstream - mean[..., None]), rtol=1e-12, atol=1e-15)


# ---- labels


@pytest.mark.matrix(share=16, pool="slow")
def test_labels_stand_for_distributions():
    """Integers of any type, along any axis, and lists of them; results have the type of the rows, and so have gradients."""
    x = (X - X[0, 0, 0]).astype(np.float32)
    for axis in (-1, 0, 1):
        labels = np.arange(math.prod(x.shape) // x.shape[axis]) % x.shape[axis]
        labels = labels.reshape(np.delete(x.shape, axis))
        distribution = np.moveaxis(np.eye(x.shape[axis], dtype=np.float32)[labels], -1, axis)
        expected = ogive.cross_entropy(x, distribution, axis=axis)
        for given in (labels, labels.astype(np.uint8), labels.tolist()):
            found = ogive.cross_entropy(x, given, axis=axis)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, expected)
    distribution = np.eye(x.shape[-1], dtype=np.float32)[labels := np.zeros(x.shape[:-1], int)]
    upstream = np.ones(x.shape[:-1], np.float32)
    of_x = ogive.vjp(ogive.cross_entropy, ["x"])
    np.testing.assert_array_equal(of_x(upstream, x, labels), of_x(upstream, x, distribution))
    np.testing.assert_array_equal(
        ogive.cross_entropy.fast(x, labels, keepdims=True), ogive.cross_entropy.fast(x, distribution, keepdims=True)
    )
    assert ogive.cross_entropy([1.0, 2.0], 1) == ogive.cross_entropy([1.0, 2.0], [0.0, 1.0])


@pytest.mark.parametrize(
    ("labels", "kind", "text"),
    [
        (
            [0, 3],
            ParameterError,
            "target has the label 3, and rows have 3 elements; allowed: labels from 0 on, below the",
        ),
        (
            [-1, 0],
            ParameterError,
            "target has the label -1, and rows have 3 elements; allowed: labels from 0 on, below",
        ),
        (
            [0, 1, 2],
            ShapeError,
            r"target has labels of shape \(3,\), and x the shape \(2, 3\); allowed: a label for each",
        ),
    ],
)
def test_labels_without_a_place(labels, kind, text):
    with pytest.raises(kind, match=f"^cross_entropy: {text}"):
        ogive.cross_entropy(np.eye(2, 3), labels)


# ---- elsewhere


def test_copies():
    for op in (ogive.logsumexp, length):
        assert copy.deepcopy(op) is op
        assert pickle.loads(pickle.dumps(op)) is op
        assert np.array_equal(pickle.loads(pickle.dumps(op.bind()))(X), op(X))
    local = ogive.row_operator(reduces=True)(lambda x: f.row_max(x) * 2)
    again = pickle.loads(pickle.dumps(local))
    assert type(again) is RowReduction
    assert np.array_equal(again(X), 2 * X.max(-1))
    assert np.array_equal(ogive.logsumexp.fast(X), ogive.logsumexp(X))


def test_masked_arrays():
    x = np.ma.MaskedArray(X[0], mask=X[0] > 1)
    x[1] = np.ma.masked
    found = ogive.logsumexp(x)
    assert found.mask.tolist() == [False, True, False, False]
    for row, value in zip(x, found, strict=True):
        assert value is np.ma.masked or value == ogive.logsumexp(row.compressed())
    assert ogive.logsumexp(x, axis=None) == ogive.logsumexp(x.compressed())
    assert ogive.logsumexp(x, axis=0, keepdims=True).shape == (1, 5)
    assert np.ma.allequal(ogive.logsumexp.bind()(x), found)


def test_awkward_arrays():
    ak = pytest.importorskip("awkward")
    array = ak.Array([[[1.0, 2.0], [3.0]], [], [[], [4.0, 5.0, 6.0]]])
    found = ogive.logsumexp(array)
    expected = [[[1.0, 2.0], [3.0]], [], [[], [4.0, 5.0, 6.0]]]
    assert found.to_list() == [[ogive.logsumexp(row) for row in rows] for rows in expected]
    assert ogive.logsumexp(ak.Array([1.0, 2.0])) == ogive.logsumexp([1.0, 2.0])
    assert np.array_equal(ak.to_numpy(ogive.logsumexp(ak.Array(X[0]))), ogive.logsumexp(X[0]))


def test_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[0], index=list("wxyz"), columns=list("abcde"))
    rows, columns = ogive.logsumexp(frame), ogive.logsumexp(frame, axis=0)
    assert list(rows.index) == list("wxyz")
    assert list(columns.index) == list("abcde")
    assert np.array_equal(rows.to_numpy(), ogive.logsumexp(X[0]))
    assert np.array_equal(columns.to_numpy(), ogive.logsumexp(X[0], axis=0))
    assert ogive.logsumexp(frame, axis=None) == ogive.logsumexp(X[0], axis=None)
    assert ogive.logsumexp(frame["a"]) == columns["a"]
    with pytest.raises(ArgumentError, match="keepdims is not taken for rows of a pandas object"):
        ogive.logsumexp(frame, keepdims=True)


def test_xarray_and_dask():
    xr = pytest.importorskip("xarray")
    da = pytest.importorskip("dask.array")
    array = xr.DataArray(X, dims=("a", "b", "c"))
    found = ogive.logsumexp(array, dim="b")
    assert found.dims == ("a", "c")
    assert np.array_equal(found.to_numpy(), ogive.logsumexp(X, axis=1))
    assert ogive.logsumexp(array, dim=("a", "b", "c")).item() == ogive.logsumexp(X, axis=None)
    lazy = da.from_array(X, chunks=(2, 4, 5))
    for axis in (-1, 1, (1, 2)):
        for keepdims in (False, True):
            found = ogive.logsumexp(lazy, axis=axis, keepdims=keepdims)
            expected = ogive.logsumexp(X, axis=axis, keepdims=keepdims)
            assert (type(found), found.shape, found.dtype) == (type(lazy), expected.shape, expected.dtype)
            assert np.array_equal(found.compute(), expected)


@pytest.mark.matrix(share=16, pool="slow")
def test_as_an_onnx_function():
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    import ogive.onnx

    function = ogive.onnx.export(ogive.logsumexp)
    node = onnx.helper.make_node("logsumexp", ["x"], ["y"], domain="ai.ogive")
    kinds = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("x", [3, 5]), ("y", [3]))]  # fmt: skip
    graph = onnx.helper.make_graph([node], "g", kinds[:1], kinds[1:])
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("ai.ogive", 1)]
    model = onnx.helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)
    x = X.reshape(-1, 5)[:3].astype(np.float32)
    np.testing.assert_allclose(ogive.onnx.load(model)(x), ogive.logsumexp(x), rtol=1e-6)


# ---- refusals

REFUSED = [
    (lambda: ogive.logsumexp(3.0), ParameterError, "x is a single number"),
    (lambda: ogive.logsumexp(X, axis=3), ParameterError, "axis is 3 for an array of 3 dimensions"),
    (lambda: ogive.logsumexp(X, keepdims=1), ParameterError, "keepdims is 1; allowed: True, False"),
    (lambda: ogive.logsumexp(X, out=np.zeros(5)), ShapeError, r"out has shape \(5,\); allowed: \(3, 4\)"),
    (lambda: ogive.logsumexp(X, axis=None, out=np.zeros(1)), ShapeError, r"out has shape \(1,\); allowed: \(\)"),
    (lambda: ogive.logsumexp(X, out=np.zeros((2, 3, 4))), ShapeError, r"out has shape \(2, 3, 4\); allowed: \(3, 4\)"),
    (
        lambda: ogive.logsumexp(X.tolist(), axis=2, out=np.zeros((2, 3, 4))),
        ShapeError,
        r"out has shape \(2, 3, 4\); allowed",
    ),
    (lambda: ogive.logsumexp(X, dim=1), ArgumentError, "dim was given"),
    (lambda: ogive.logsumexp.reduce(X), ArgumentError, "it looks at whole rows"),
    (lambda: ogive.softmax(X, keepdims=True), ArgumentError, "no parameter 'keepdims'"),
    (
        lambda: ogive.row_operator(reduces=True)(lambda x: x - f.row_max(x)),
        FormulaError,
        "a result for each element of a row, and reduces=True was given",
    ),
]

REFUSED.append(
    (
        lambda: ogive.row_operator(reduces=True)(lambda x: 2),
        FormulaError,
        "the formula reduces no row, and reduces=True",
    )
)


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()
