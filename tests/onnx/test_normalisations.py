"""Normalisations against the standard's text, in fractions: far from zero, at the ends of the range, in all types."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

import ogive.onnx
from ogive.errors import ModelError, ShapeError, UnsupportedError
from ogive.golden.normal_rules import NORMAL_RULES
from ogive.golden.onnx_operators import all_of_onnx, of_onnx
from ogive.golden.vectors import make
from ogive.onnx import schemas
from tests.golden.coverage import difference

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}


def model_of(operator, opset, arrays, attributes=None, outputs=("y",), *, domain="", fuse=True):
    names = [f"i{k}" for k in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
        for name, x in zip(names, arrays, strict=True)
        if x is not None
    ]
    given = [name if x is not None else "" for name, x in zip(names, arrays, strict=True)]
    node = helper.make_node(operator, given, list(outputs), domain=domain, **(attributes or {}))
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs if name]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "test", inputs, results)
    return ogive.onnx.load(helper.make_model(graph, opset_imports=opsets, ir_version=10), fuse=fuse)


def run(operator, opset, arrays, attributes=None, outputs=("y",), **keywords):
    """The results; those of a second run, of the native plan, are the same, and those of single nodes."""
    found = []
    for fuse in (True, False):
        loaded = model_of(operator, opset, arrays, attributes, outputs, fuse=fuse, **keywords)
        for _ in range(2):
            results = loaded.run({f"i{k}": x for k, x in enumerate(arrays) if x is not None})
            found.append([results[name] for name in outputs if name])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64))
    return found[0]


#: Every version and type of each normalisation.
CASES = [one for one in all_of_onnx() if one.operator in NORMAL_RULES]


def test_every_normalisation_has_cases():
    assert {one.operator for one in CASES} == set(NORMAL_RULES)
    assert len(NORMAL_RULES) == 6
    assert len(CASES) >= 40


@pytest.mark.parametrize("size", [2.0**-500, 2.0**-1040, 2.0**500, 2.0**1020])
def test_results_of_a_shorter_type_than_the_rows_have(size):
    """Powers of two that the repair keeps beside numbers of float64 are in the results of float32."""
    x, scale = np.array([[1.0, -3.0, 0.5, 2.0]]) * size, np.float32([1.5, 2.5, -0.5, 1.0])
    with np.errstate(all="ignore"):
        expected = (x / size * np.float64(scale) / np.sqrt(np.mean((x / size) ** 2) + 1e-5 / size / size)).astype("f4")
    (found,) = run("RMSNormalization", 23, [x, scale], {"stash_type": 11})
    assert found.dtype == np.float32
    np.testing.assert_array_max_ulp(found, expected, 1)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("one", CASES, ids=lambda one: one.label)
def test_the_text_of_the_standard(one):
    """Mean and deviation 0 and 1, 100 and 1, 1,000 and 0.1, and the ends of the range."""
    spec = of_onnx(*one)
    assert [case.name for case in make(spec).cases]
    worst, wrong, count = difference(spec)
    assert count >= 60
    if "tensor(double)" in one.types.values():
        assert worst <= 2.0, one.label  # of the largest result
    else:
        assert wrong == 0, one.label


# ---- batch normalization in training

TRAINED = [one for one in all_of_onnx() if one.operator == "BatchNormalization" and one.version >= 14]


def test_training_has_cases():
    assert {one.version for one in TRAINED} == {14, 15}
    assert len(TRAINED) >= 15


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("one", TRAINED, ids=lambda one: one.label)
def test_batch_normalization_in_training(one):
    """Y and both running statistics, each rounded once, of rows near and far from zero and at the ends of the range."""
    spec = of_onnx(*one, {"training_mode": 1})
    assert spec.results == tuple(o.name for o in schemas.schema_of("BatchNormalization", one.version).outputs)
    worst, wrong, count = difference(spec)
    assert count >= 5 * (72 + 4 + 4)
    if "tensor(double)" in one.types.values():
        assert worst <= 2.0, one.label  # of the largest result
    else:
        assert wrong == 0, one.label


def in_training(x, scale, bias, mean, variance, axes, momentum=0.9):
    """By long doubles: for arrangements, not for the last bit."""
    wide = x.astype(np.longdouble)
    own, m = [wide.mean(axes), wide.var(axes)], np.longdouble(np.float32(momentum))
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    y = rows_by_text(x.astype(np.float64), axes, scale.reshape(shape), bias.reshape(shape))
    results = y, mean * m + own[0] * (1 - m), variance * m + own[1] * (1 - m), *own
    return [np.asarray(v).astype(np.float64).astype(x.dtype).reshape(np.shape(v) or (1,)) for v in results]


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 2, 2), (1, 3), (1, 1, 1), (7,)])
def test_shapes_of_training(shape):
    rng = np.random.default_rng(12)
    x = (rng.standard_normal(shape) * 3 + 7).astype(np.float32)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    rest = [np.abs(rng.standard_normal(shape[1] if x.ndim > 1 else 1)).astype(np.float32) for _ in range(4)]
    right = in_training(x, *rest, axes)
    found = run("BatchNormalization", 15, [x, *rest], {"training_mode": 1}, ("y", "m", "v"))
    for a, b in zip(found, right, strict=False):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(run("BatchNormalization", 15, [x, *rest], {"training_mode": 1})[0], right[0])
    (_, variance) = run("BatchNormalization", 15, [x, *rest], {"training_mode": 1}, ("y", "", "v"))
    np.testing.assert_array_equal(variance, right[2])


@pytest.mark.parametrize(
    ("opset", "attributes"), [(6, {}), (7, {}), (9, {}), (7, {"spatial": 0}), (1, {"consumed_inputs": [0, 0, 0, 1, 1]})]
)
def test_training_of_old_versions(opset, attributes):
    """All five outputs: the statistics of the batch too."""
    rng = np.random.default_rng(13)
    x = rng.standard_normal((4, 3, 2, 2)).astype(np.float32)
    of_place = "spatial" in attributes
    rest = [np.abs(rng.standard_normal((3, 2, 2) if of_place else 3)).astype(np.float32) for _ in range(4)]
    found = run("BatchNormalization", opset, [x, *rest], attributes, ("y", "m", "v", "sm", "sv"))
    right = in_training(x, *rest, (0,) if of_place else (0, 2, 3))
    for a, b in zip(found, right, strict=True):
        np.testing.assert_array_equal(a, b)


def test_training_beside_other_nodes():
    """The statistics are those of values that the same model computes."""
    rng = np.random.default_rng(14)
    x = rng.standard_normal((4, 3, 5)).astype(np.float32)
    rest = [np.abs(rng.standard_normal(3)).astype(np.float32) for _ in range(4)]
    names = ["s", "b", "m", "v"]
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node(
            "BatchNormalization", ["r", *names], ["y", "mean", "variance"], training_mode=1, momentum=0.25
        ),
        helper.make_node("Relu", ["y"], ["z"]),
        helper.make_node("Neg", ["mean"], ["negative"]),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, [None, 3, 5])]
    inputs += [helper.make_tensor_value_info(name, 1, [3]) for name in names]
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in ("z", "negative", "variance")]
    graph = helper.make_graph(nodes, "test", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=10)
    y, mean, variance, *_ = in_training(np.maximum(x, 0), *rest, (0, 2), momentum=0.25)
    for fuse in (True, False):
        found = ogive.onnx.load(model, fuse=fuse).run({"x": x, **dict(zip(names, rest, strict=True))})
        np.testing.assert_array_equal(found["z"], np.maximum(y, 0))
        np.testing.assert_array_equal(found["negative"], -mean)
        np.testing.assert_array_equal(found["variance"], variance)


@pytest.mark.matrix(share=16, pool="slow")
def test_training_of_no_samples_and_of_nan():
    row = np.ones(3, np.float32)
    attributes, outputs = {"training_mode": 1}, ("y", "m", "v")
    y, mean, variance = run("BatchNormalization", 15, [np.ones((0, 3, 2), np.float32), *[row] * 4], attributes, outputs)
    assert y.shape == (0, 3, 2)
    assert np.isnan(mean).all()
    assert np.isnan(variance).all()
    x = np.float32([[1, np.inf, np.nan], [3, 0, 0]])
    y, mean, variance = run("BatchNormalization", 15, [x, *[row] * 4], attributes, outputs)
    assert np.isnan(y[:, 1:]).all()
    assert np.isfinite(y[:, 0]).all()
    assert mean[1] == np.inf
    assert np.isnan(mean[2])
    assert np.isnan(variance[1:]).all()


@pytest.mark.parametrize(
    ("opset", "attributes", "outputs", "error", "sentence"),
    [
        (
            15,
            {},
            3,
            UnsupportedError,
            r"it has outputs of training, and training_mode is 0; allowed: the output Y, or a",
        ),
        (
            6,
            {"is_test": 1},
            5,
            UnsupportedError,
            r"it has outputs of training, and is_test is 1; allowed: the output Y",
        ),
        (15, {"training_mode": 1, "momentum": np.inf}, 3, ModelError, r"momentum is inf; allowed: any finite number"),
        (
            15,
            {"training_mode": 1, "epsilon": -1.0},
            3,
            ModelError,
            r"epsilon is -1.0; allowed: any finite number from 0",
        ),
    ],
)
def test_wrong_training(opset, attributes, outputs, error, sentence):
    row = np.ones(3, np.float32)
    with pytest.raises(error, match=rf"^BatchNormalization node .*{sentence}"):
        model_of("BatchNormalization", opset, [np.ones((2, 3), np.float32), *[row] * 4], attributes, "ymvab"[:outputs])


@pytest.mark.parametrize("fuse", [True, False])
def test_wrong_shapes_of_training(fuse):
    row = np.ones(4, np.float32)
    arrays = [np.ones((2, 3), np.float32), *[row] * 4]
    model = model_of("BatchNormalization", 15, arrays, {"training_mode": 1}, ("y", "m", "v"), fuse=fuse)
    with pytest.raises(
        ShapeError, match=r"^BatchNormalization node .*shapes \(4,\).* of shape \(2, 3\); allowed: \(3,\)"
    ):
        model(*arrays)


# ---- the reports' reproductions


def test_layer_normalization_far_from_zero():
    one, zero = np.ones(4, np.float32), np.zeros(4, np.float32)
    (y,) = run("LayerNormalization", 17, [np.float32([[40000, 40001, 40002, 40003]]), one, zero])
    np.testing.assert_allclose(y, [[-1.3416355, -0.4472118, 0.4472118, 1.3416355]], rtol=1e-7)
    (y,) = run("LayerNormalization", 17, [np.float32([[1000.1, 1000.2, 1000.3, 1000.4]]), one, zero])
    np.testing.assert_allclose(y, [[-1.3411591, -0.44687116, 0.44687116, 1.3411591]], rtol=1e-7)


@pytest.mark.parametrize("kind", TYPES)
def test_no_element_of_a_row_of_four_is_beyond_the_root_of_three(kind):
    x = (300 + 0.01 * np.random.default_rng(0).standard_normal((300, 4))).astype(TYPES[kind])
    one, zero = np.ones(4, x.dtype), np.zeros(4, x.dtype)
    (y,) = run("LayerNormalization", 17, [x, one, zero])
    assert np.abs(y.astype(np.float64)).max() <= 3**0.5


def test_instance_normalization_of_large_half_floats():
    one, zero = np.ones(1, np.float16), np.zeros(1, np.float16)
    (y,) = run("InstanceNormalization", 22, [np.float16([[[512, -512, 512, -512]]]), one, zero])
    assert y.tolist() == [[[1, -1, 1, -1]]]
    (y,) = run("InstanceNormalization", 6, [np.float16([[[60000, -60000, 30000, 0]]]), one, zero])
    np.testing.assert_allclose(y, [[[1.183, -1.521, 0.507, -0.169]]], rtol=1e-3)


def test_doubles_are_computed_in_doubles():
    x = np.random.default_rng(0).standard_normal((8, 768)) * 0.1 + 1000
    one, zero = np.ones(768), np.zeros(768)
    d = x.astype(np.longdouble) - x.astype(np.longdouble).mean(-1, keepdims=True)
    right = d / np.sqrt((d * d).mean(-1, keepdims=True) + np.longdouble(np.float32(1e-5)))
    for stash in (1, 11):
        (y,) = run("LayerNormalization", 17, [x, one, zero], {"stash_type": stash})
        assert np.abs(y - right).max() < 1e-15


# ---- stash_type


@pytest.mark.parametrize(
    ("kind", "stash", "of_mean"),
    [
        ("float32", 1, "float32"),
        ("float32", 16, "bfloat16"),
        ("float16", 1, "float32"),
        ("bfloat16", 16, "bfloat16"),
        ("float64", 1, "float32"),
        ("float64", 11, "float64"),
        ("float64", 16, "bfloat16"),
    ],
)
def test_stash_type_is_the_type_of_mean_and_inverse(kind, stash, of_mean):
    x = (np.random.default_rng(1).standard_normal((3, 7)) + 50).astype(TYPES[kind])
    one = np.ones(7, x.dtype)
    y, mean, inverse = run("LayerNormalization", 17, [x, one], {"stash_type": stash}, ("y", "m", "i"))
    assert y.dtype == x.dtype
    assert mean.dtype == inverse.dtype == TYPES[of_mean]
    assert mean.shape == inverse.shape == (3, 1)
    wide = x.astype(np.float64)
    tolerance = {"float32": 1e-7, "bfloat16": 2**-8, "float64": 1e-15}[of_mean]
    np.testing.assert_allclose(mean.astype(np.float64), wide.mean(1, keepdims=True), rtol=tolerance)
    expected = 1 / np.sqrt(wide.var(1, keepdims=True) + np.float32(1e-5).astype(np.float64))
    np.testing.assert_allclose(inverse.astype(np.float64), expected, rtol=max(tolerance, 1e-13))


@pytest.mark.parametrize(
    ("operator", "opset", "kind", "stash", "sentence"),
    [
        (
            "LayerNormalization",
            17,
            "float32",
            11,
            r"stash_type is 11 \(DOUBLE\); allowed: 1 \(FLOAT\), 16 \(BFLOAT16\)",
        ),
        ("LayerNormalization", 17, "float32", 10, r"stash_type is 10 \(FLOAT16\); allowed: 1 \(FLOAT\), 16"),
        ("LayerNormalization", 17, "float64", 7, r"stash_type is 7 \(INT64\); allowed: 1 \(FLOAT\), 11 \(DOUBLE\), 16"),
        ("RMSNormalization", 23, "float32", 3, r"stash_type is 3 \(INT8\); allowed: 1 \(FLOAT\), 10 \(FLOAT16\)"),
        ("RMSNormalization", 23, "float32", 99, r"stash_type is 99; allowed: 1 \(FLOAT\)"),
    ],
)
def test_other_stash_types_are_refused_by_name(operator, opset, kind, stash, sentence):
    x = np.ones((2, 3), TYPES[kind])
    with pytest.raises(UnsupportedError, match=rf"^{operator} node .*: the attribute {sentence}"):
        model_of(operator, opset, [x, x[0]], {"stash_type": stash})


@pytest.mark.parametrize("stash", [1, 10, 11, 16])
def test_stash_type_changes_no_result(stash):
    x = (np.random.default_rng(2).standard_normal((2, 4, 3)) * 100).astype(np.float32)
    one = np.ones(4, np.float32)
    plain = run("GroupNormalization", 21, [x, one, one], {"num_groups": 2})[0]
    (y,) = run("GroupNormalization", 21, [x, one, one], {"num_groups": 2, "stash_type": stash})
    np.testing.assert_array_equal(y, plain)
    plain = run("RMSNormalization", 23, [x, one[:3]])[0]
    (y,) = run("RMSNormalization", 23, [x, one[:3]], {"stash_type": stash})
    np.testing.assert_array_equal(y, plain)


# ---- how arrays are seen as rows


def rows_by_text(x, axes, scale=None, bias=None, epsilon=1e-5, rms=False):
    """By long doubles: for arrangements, not for the last bit."""
    wide = x.astype(np.longdouble)
    d = wide if rms else wide - wide.mean(axes, keepdims=True)
    y = d / np.sqrt((d * d).mean(axes, keepdims=True) + np.longdouble(np.float32(epsilon)))
    y = y if scale is None else y * scale.astype(np.longdouble)
    return (y if bias is None else y + bias.astype(np.longdouble)).astype(np.float64).astype(x.dtype)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_all_axes_and_ranks(rank, kind):
    rng = np.random.default_rng(rank)
    shape = (2, 3, 4, 2, 3)[:rank]
    x = (rng.standard_normal(shape) * 2 + 30).astype(TYPES[kind])
    for axis in range(-rank, rank):
        first = axis % rank
        scale, bias = (rng.standard_normal(shape[first:]).astype(x.dtype) for _ in range(2))
        over = tuple(range(first, rank))
        (y,) = run("LayerNormalization", 17, [x, scale, bias], {"axis": axis})
        np.testing.assert_array_equal(y, rows_by_text(x, over, scale, bias))
        (y,) = run("RMSNormalization", 23, [x, scale], {"axis": axis})
        np.testing.assert_array_equal(y, rows_by_text(x, over, scale, rms=True))


@pytest.mark.parametrize("shape", [(1,), (5,), (3, 1), (4, 1, 1), (2, 4, 3, 5), (2, 1, 1, 5), (1, 4, 3, 1)])
def test_scale_and_bias_broadcast(shape):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 4, 3, 5)).astype(np.float32)
    scale, bias = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    for axis in (1, 2, 3):
        over = tuple(range(axis, 4))
        (y,) = run("LayerNormalization", 17, [x, scale, bias], {"axis": axis})
        np.testing.assert_array_equal(y, rows_by_text(x, over, scale, bias))
        (y,) = run("LayerNormalization", 17, [x, scale], {"axis": axis})
        np.testing.assert_array_equal(y, rows_by_text(x, over, scale))


@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7)])
def test_scale_and_bias_of_no_axis(shape):
    x = np.random.default_rng(15).standard_normal(shape).astype(np.float32)
    scale, bias = np.float32([2.5, 0.75])
    (y,) = run("LayerNormalization", 17, [x, np.array(scale), np.array(bias)])
    np.testing.assert_array_equal(y, rows_by_text(x, -1, scale, bias))
    (y,) = run("RMSNormalization", 23, [x, np.array(scale)])
    np.testing.assert_array_equal(y, rows_by_text(x, -1, scale, rms=True))


@pytest.mark.parametrize("axes", [None, (0, 2, 3), (1,), (-1, 0), (0, 1, 2, 3), (2, -3)])
def test_axes_of_mean_variance_normalization(axes):
    x = np.random.default_rng(4).standard_normal((2, 3, 4, 5)).astype(np.float32)
    (y,) = run("MeanVarianceNormalization", 13, [x], {} if axes is None else {"axes": axes})
    np.testing.assert_array_equal(y, rows_by_text(x, axes or (0, 2, 3), epsilon=0))


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_groups(groups):
    rng = np.random.default_rng(5)
    for shape in ((2, 6), (2, 6, 3), (2, 6, 2, 2)):
        x = (rng.standard_normal(shape) * 3 + 7).astype(np.float32)
        rows = x.reshape(2, groups, -1)
        normal = rows_by_text(rows.astype(np.float64), (2,)).reshape(shape)
        ones = (1,) * (len(shape) - 2)
        for opset, count in ((21, 6), (18, groups)):
            scale, bias = (rng.standard_normal(count).astype(np.float32) for _ in range(2))
            each = [np.repeat(v.astype(np.float64), 6 // count).reshape(6, *ones) for v in (scale, bias)]
            (y,) = run("GroupNormalization", opset, [x, scale, bias], {"num_groups": groups})
            np.testing.assert_array_equal(y, (normal * each[0] + each[1]).astype(np.float32))


@pytest.mark.parametrize("kind", TYPES)
def test_rows_of_one_element_and_equal_elements(kind):
    x = np.array([[5], [-3]], TYPES[kind])
    scale, bias = np.array([2], x.dtype), np.array([0.5], x.dtype)
    assert run("LayerNormalization", 17, [x, scale, bias])[0].tolist() == [[0.5], [0.5]]
    assert run("InstanceNormalization", 22, [x, scale, bias])[0].tolist() == [[0.5], [0.5]]
    same = np.full((2, 6), 48.75, x.dtype)
    zero = np.zeros(6, x.dtype)
    assert not run("LayerNormalization", 17, [same, zero + 1, zero])[0].any()
    assert not run("MeanVarianceNormalization", 13, [same], {"axes": [1]})[0].any()


@pytest.mark.parametrize("kind", TYPES)
def test_empty_arrays(kind):
    dtype = TYPES[kind]
    x, row = np.ones((0, 3), dtype), np.ones(3, dtype)
    y, mean, inverse = run("LayerNormalization", 17, [x, row, row], {}, ("y", "m", "i"))
    assert (y.shape, mean.shape, inverse.shape) == ((0, 3), (0, 1), (0, 1))
    assert run("RMSNormalization", 23, [x, row])[0].shape == (0, 3)
    assert run("LpNormalization", 22, [x])[0].shape == (0, 3)
    assert run("MeanVarianceNormalization", 13, [x[:, :, None, None]])[0].shape == (0, 3, 1, 1)
    for operator, attributes in (("InstanceNormalization", {}), ("GroupNormalization", {"num_groups": 3})):
        assert run(operator, 22, [np.ones((0, 3, 2), dtype), row, row], attributes)[0].shape == (0, 3, 2)
        assert run(operator, 22, [np.ones((2, 3, 0), dtype), row, row], attributes)[0].shape == (2, 3, 0)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", TYPES)
def test_rows_with_infinities_and_nan(kind):
    x = np.array([[np.inf, 1], [1, np.nan], [-np.inf, np.inf], [1, 3]], TYPES[kind])
    one = np.ones(2, x.dtype)
    (y,) = run("LayerNormalization", 17, [x, one])
    assert np.isnan(y[:3].astype(np.float64)).all()
    assert np.isfinite(y[3].astype(np.float64)).all()
    (y,) = run("RMSNormalization", 23, [x, one])
    assert np.isnan(y[0, 0])
    assert y[0, 1] == 0
    assert np.isnan(y[1].astype(np.float64)).all()


def test_a_batch_of_another_size():
    rng = np.random.default_rng(6)
    scale, bias = (rng.standard_normal(4).astype(np.float32) for _ in range(2))
    for operator, attributes, over in (
        ("LayerNormalization", {"axis": 1}, (1, 2)),
        ("InstanceNormalization", {}, (2,)),
        ("GroupNormalization", {"num_groups": 4}, (2,)),
    ):
        given = [v.reshape(4, 1) if operator == "LayerNormalization" else v for v in (scale, bias)]
        model = model_of(operator, 22, [np.ones((1, 4, 3), np.float32), *given], attributes)
        for length in (2, 3, 5, 2, 7):
            x = rng.standard_normal((length, 4, 3)).astype(np.float32)
            found = model(x, *given)
            np.testing.assert_array_equal(found, rows_by_text(x, over, scale.reshape(4, 1), bias.reshape(4, 1)))


@pytest.mark.parametrize(
    ("operator", "opset", "shapes", "attributes", "sentence"),
    [
        ("LayerNormalization", 17, ((2, 3), (3,)), {"axis": 2}, r"axis is 2 for an input of shape \(2, 3\)"),
        ("LayerNormalization", 17, ((2, 3), (2,)), {}, r"scale or bias has the shape \(2,\) for an input of shape"),
        ("RMSNormalization", 23, ((2, 3), (1, 1, 3)), {}, r"scale or bias has the shape \(1, 1, 3\)"),
        ("LayerNormalization", 17, ((), ()), {}, r"axis is -1 for an input of shape \(\); allowed: inputs of one axis"),
        ("InstanceNormalization", 22, ((2, 3, 4), (4,), (4,)), {}, r"allowed: \(3,\)"),
        ("InstanceNormalization", 22, ((3,), (3,), (3,)), {}, r"two axes and more"),
        ("GroupNormalization", 21, ((2, 4, 3), (4,), (4,)), {"num_groups": 3}, r"num_groups is 3 for 4 channels"),
        ("GroupNormalization", 21, ((2, 4, 3), (4,), (4,)), {"num_groups": 0}, r"num_groups is 0 for 4 channels"),
        ("GroupNormalization", 18, ((2, 4, 3), (4,), (4,)), {"num_groups": 2}, r"allowed: \(2,\)"),
        ("MeanVarianceNormalization", 13, ((2, 3),), {}, r"axis is \(0, 2, 3\) for an input of shape \(2, 3\)"),
        ("LpNormalization", 22, ((2, 3),), {"axis": 2}, r"axis is 2 for an input of shape \(2, 3\)"),
    ],
)
@pytest.mark.parametrize("fuse", [True, False])
def test_wrong_shapes(operator, opset, shapes, attributes, sentence, fuse):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    with pytest.raises(ShapeError, match=rf"^{operator} node .*{sentence}"):
        model_of(operator, opset, arrays, attributes, fuse=fuse)(*arrays)


def test_wrong_attributes():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ModelError, match=r"the attribute p is 3; allowed: 1, 2"):
        model_of("LpNormalization", 22, [x], {"p": 3})
    with pytest.raises(ModelError, match=r"epsilon is -1.0; allowed: any finite number from 0 on"):
        model_of("LayerNormalization", 17, [x, x[0]], {"epsilon": -1.0})


# ---- the functions


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("mean", "deviation"), [(0, 1), (100, 1), (1000, 0.1)])
def test_functions_give_the_same(kind, mean, deviation):
    rng = np.random.default_rng(8)
    x = (rng.standard_normal((6, 9)) * deviation + mean).astype(TYPES[kind])
    scale, bias = (rng.standard_normal(9).astype(x.dtype) for _ in range(2))
    epsilon = float(np.float32(1e-5))
    for name, arrays, attributes, found in (
        ("LayerNormalization", [x, scale, bias], {}, ogive.layer_normalization(x, scale, bias)),
        ("RMSNormalization", [x, scale], {}, ogive.rms_normalization(x, scale, epsilon=epsilon)),
        ("LpNormalization", [x], {"p": 1}, ogive.lp_normalization(x, p=1)),
        ("LpNormalization", [x], {"axis": 0}, ogive.lp_normalization(x, axis=0)),
        ("MeanVarianceNormalization", [x], {"axes": [1]}, ogive.mean_variance_normalization(x)),
    ):
        np.testing.assert_array_equal(run(name, 23 if name[0] == "R" else 22, arrays, attributes)[0], found)


def test_a_result_is_rounded_once():
    """Scale and bias before the rounding: here the nearest number differs from that of three roundings."""
    rng = np.random.default_rng(9)
    x, scale, bias = (rng.standard_normal(16).astype(np.float32) for _ in range(3))
    found = ogive.layer_normalization(x, scale, bias)
    exact = [Fraction(float(v)) for v in x]
    mean = sum(exact) / 16
    variance = float(sum((v - mean) ** 2 for v in exact) / 16 + Fraction(float(np.float32(1e-5))))
    right = [float(v - mean) / variance**0.5 * float(s) + float(b) for v, s, b in zip(exact, scale, bias, strict=True)]
    np.testing.assert_array_equal(found, np.float32(right))
