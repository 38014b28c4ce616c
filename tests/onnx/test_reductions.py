"""Sums, means, largest and smallest elements: exact, in a fixed order, of every layout."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import ogive.onnx
from ogive.common.dtypes import FLOATS, INTEGERS, element_type
from ogive.errors import ShapeError, UnsupportedError
from ogive.laboratory.accuracy import error_in_ulp
from tests.inputs import random_values, same_bits
from tests.onnx.models import node_model, text_model

TYPES = ["int32", "int64", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"]
OPERATORS = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin"]


def run(operator, data, axes=None, opset=18, **attributes):
    inputs = [("data", data)] + ([("axes", np.asarray(axes))] if axes is not None else [])
    return ogive.onnx.load(node_model(operator, opset, inputs, attributes))(dict(inputs))


def values(name, shape, seed=0):
    kind = element_type(name)
    array = random_values(kind, math.prod(shape), seed)
    if kind.is_float:
        with np.errstate(all="ignore"):
            wide = array.astype(np.float64)
            array = (np.where(np.isfinite(wide), wide, 1) % 64 - 32).astype(kind.numpy)
    return array.reshape(shape)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 100, 1001, 20_000])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean"])
@pytest.mark.parametrize("name", [name for name in TYPES if "float" in name])
def test_sums_are_exact_but_for_half_a_unit(name, operator, length):
    """And, of numbers shorter than float64 that cancel, n 2**-53 of their magnitudes: they are summed in float64."""
    kind = element_type(name)
    data = values(name, (3, length))
    result = run(operator, data, [1], keepdims=0)
    count = length if operator == "ReduceMean" else 1
    bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[name]
    for row, got in zip(data, result, strict=True):
        row = [Fraction(float(value)) for value in row]
        total = sum(row) / count
        lost = 0 if kind.bits == 64 else length * Fraction(sum(map(abs, row)) / count) / 2**53
        if abs(total) <= float(ml_dtypes.finfo(kind.numpy).max):
            assert abs(Fraction(float(got)) - total) <= abs(total) * Fraction(1.01) / 2**bits + lost
        else:
            assert np.isinf(got)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 100, 1001])
@pytest.mark.parametrize("name", [name for name in TYPES if "int" in name])
def test_sums_of_integers_wrap_around(name, length):
    kind = element_type(name)
    data = values(name, (3, length))
    for row, got in zip(data, run("ReduceSum", data, [1], keepdims=0), strict=True):
        total = sum(map(int, row))
        assert int(got) == (total - kind.minimum) % 2**kind.bits + kind.minimum


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("length", [1, 2, 7, 100, 20_000])
@pytest.mark.parametrize("name", [name for name in TYPES if "int" in name])
def test_products_of_integers_wrap_around(name, length):
    kind = element_type(name)
    data = values(name, (3, length)) | np.array(1, kind.numpy)  # of even ones nothing is left
    for row, got in zip(data, run("ReduceProd", data, [1], keepdims=0), strict=True):
        total = math.prod(map(int, row))
        assert int(got) == (total - kind.minimum) % 2**kind.bits + kind.minimum


@pytest.mark.parametrize("name", [name for name in TYPES if "int" in name])
def test_means_of_integers_are_exact(name):
    kind = element_type(name)
    data = random_values(kind, 5 * 97).reshape(5, 97)
    data[0] = kind.maximum
    data[1] = kind.minimum
    result = run("ReduceMean", data, [1], keepdims=0)
    assert result.tolist() == [math.trunc(Fraction(sum(map(int, row)), 97)) for row in data]


@pytest.mark.parametrize("fuse", [True, False])
def test_means_of_too_many_integers_are_refused(fuse):
    text = "t (int64[N] x) => (int64[M] y) { y = ReduceMean(x) }"
    model = ogive.onnx.load(text_model(text, 18), fuse=fuse)
    many = np.broadcast_to(np.int64(7), (1 << 30) + 1)
    with pytest.raises(
        ShapeError, match=r"reduces 1073741825 elements of int64 to one; allowed: at most 1073741824. Cast"
    ):
        model(x=many)
    assert model(x=many[:1000]) == 7


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", TYPES)
def test_the_layout_changes_no_bit(name, operator):
    data = values(name, (6, 5, 4))
    for axes in ([0], [1], [2], [0, 2], [-1, -3], [0, 1, 2]):
        expected = run(operator, data, axes)
        for view in (
            np.asfortranarray(data),
            data.transpose(2, 0, 1).copy().transpose(1, 2, 0),
            data[:, ::-1][:, ::-1],
        ):
            assert same_bits(run(operator, view, axes), expected)


@pytest.mark.parametrize("operator", OPERATORS)
def test_axes_and_what_becomes_of_them(operator):
    data = values("float32", (2, 3, 4))
    assert run(operator, data).shape == (1, 1, 1)
    assert run(operator, data, keepdims=0).shape == ()
    assert run(operator, data, [1]).shape == (2, 1, 4)
    assert run(operator, data, [-1, 0], keepdims=0).shape == (3,)
    assert run(operator, data, np.zeros(0, np.int64)).shape == (1, 1, 1)
    same = run(operator, data, np.zeros(0, np.int64), noop_with_empty_axes=1)
    assert same_bits(same, data)
    assert not np.shares_memory(same, data)
    assert run(operator, data, noop_with_empty_axes=1).shape == (2, 3, 4)
    assert run(operator, data, opset=11, axes=None).shape == (1, 1, 1)
    model = node_model(operator, 11, [("x", data)], {"axes": [0, 2], "keepdims": 0})
    assert ogive.onnx.load(model)(data).shape == (3,)


@pytest.mark.parametrize(
    ("axes", "text"), [([3], "allowed: -3 to 2"), ([-4], "allowed: -3 to 2"), ([0, -3], "each axis once")]
)
def test_axes_that_are_not_there(axes, text):
    with pytest.raises(ShapeError, match=f"ReduceSum node .*{text}"):
        run("ReduceSum", values("float32", (2, 3, 4)), axes)


@pytest.mark.parametrize("kind", [*FLOATS, *(t for t in INTEGERS if t.bits >= 32)], ids=repr)
def test_nothing_to_reduce(kind):
    empty = np.zeros((2, 0), kind.numpy)
    low, high = (-math.inf, math.inf) if kind.is_float else (kind.minimum, kind.maximum)
    assert run("ReduceSum", empty, [1], keepdims=0).tolist() == [0, 0]
    assert run("ReduceProd", empty, [1], keepdims=0).tolist() == [1, 1]
    assert run("ReduceMax", empty, [1], opset=20, keepdims=0).tolist() == [low, low]
    assert run("ReduceMin", empty, [1], opset=20, keepdims=0).tolist() == [high, high]
    mean = run("ReduceMean", empty, [1], keepdims=0)
    assert np.isnan(mean.astype(np.float64)).all() if kind.is_float else mean.tolist() == [0, 0]
    assert run("ReduceSum", np.zeros((0, 3), kind.numpy), [1]).shape == (0, 1)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_special_values(name):
    dtype = element_type(name).numpy
    rows = np.array([[1, np.nan], [np.nan, -np.inf], [0.0, -0.0], [-0.0, 0.0], [-np.inf, np.inf]]).astype(dtype)
    largest, smallest = (run(f"Reduce{which}", rows, [1], keepdims=0) for which in ("Max", "Min"))
    assert np.isnan(largest[:2].astype(float)).all()
    assert np.isnan(smallest[:2].astype(float)).all()
    assert np.signbit(largest[2:4]).tolist() == [False, False]
    assert np.signbit(smallest[2:4]).tolist() == [True, True]
    assert (largest[4], smallest[4]) == (np.inf, -np.inf)
    quiet = np.array(np.nan, dtype)
    for operator in OPERATORS:
        assert same_bits(run(operator, rows, [1], keepdims=0)[0], quiet[()])
    negative = -np.full((1, 3), np.nan, dtype)
    assert same_bits(run("ReduceSum", negative, [1], keepdims=0), quiet.reshape(1))


def test_sums_of_halves_do_not_overflow_on_the_way():
    data = np.array([[60000, 60000, -60000, -60000]], np.float16)
    assert run("ReduceSum", data, [1], keepdims=0).tolist() == [0]
    data = np.full((1, 4096), 1, ml_dtypes.bfloat16)
    assert run("ReduceSum", data, [1], keepdims=0).tolist() == [4096]
    assert run("ReduceMean", data, [1], keepdims=0).tolist() == [1]


def test_truth_values():
    data = np.array([[True, False], [False, False]])
    assert run("ReduceMax", data, [1], opset=20, keepdims=0).tolist() == [True, False]
    assert run("ReduceMin", data, [1], opset=20, keepdims=0).tolist() == [False, False]
    assert run("ReduceMin", np.zeros((1, 0), bool), [1], opset=20, keepdims=0).tolist() == [True]


COMPOSITE = {
    "ReduceL1": lambda x: np.abs(x).sum(),
    "ReduceL2": lambda x: np.sqrt((x * x).sum()),
    "ReduceLogSum": lambda x: np.log(x.sum()),
    "ReduceLogSumExp": lambda x: np.log(np.exp(x).sum()),
    "ReduceSumSquare": lambda x: (x * x).sum(),
}


@pytest.mark.parametrize("operator", COMPOSITE)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_composite_reductions(name, operator):
    kind = element_type(name)
    data = np.abs(values(name, (3, 5, 4))) / np.array(8, kind.numpy)
    for axes in ([2], [0], [0, 2], None):
        result = run(operator, data, axes, opset=28, keepdims=0)
        chosen = tuple(range(3)) if axes is None else tuple(axes)
        kept = [axis for axis in range(3) if axis not in chosen]
        rows = data.astype(np.longdouble).transpose(*kept, *chosen).reshape(*(data.shape[axis] for axis in kept), -1)
        exact = np.apply_along_axis(COMPOSITE[operator], -1, rows)
        assert error_in_ulp(np.atleast_1d(result), np.atleast_1d(exact), kind).max() <= 1


@pytest.mark.parametrize("operator", COMPOSITE)
def test_composite_reductions_of_an_empty_set_of_axes(operator):
    data = np.float32([[0.5, 2.0, 3.0]])
    result = run(operator, data, np.zeros(0, np.int64), opset=18, noop_with_empty_axes=1)
    exact = np.apply_along_axis(COMPOSITE[operator], -1, data[..., None].astype(np.float64))
    assert result.shape == data.shape
    assert error_in_ulp(result, exact, element_type("float32")).max() <= 1


def test_roots_and_logarithms_of_integers_are_cut_off():
    data = np.int32([[3, 3], [5, 5], [-3, 1]])
    assert run("ReduceL2", data, [1], keepdims=0).tolist() == [4, 7, 3]
    assert run("ReduceLogSum", data, [1], keepdims=0).tolist() == [1, 2, 0]  # of a negative number NaN, which is 0
    assert run("ReduceLogSumExp", data, [1], keepdims=0).tolist() == [3, 5, 1]
    assert run("ReduceL1", np.int32([[-(2**31), -1]]), [1], keepdims=0).tolist() == [-(2**31) + 1]
    assert run("ReduceSumSquare", np.int32([[1 << 16, 3]]), [1], keepdims=0).tolist() == [9]


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("name", TYPES)
def test_places_of_extremes(name, operator, fuse):
    data = values(name, (4, 5, 6))
    data[0, 1], data[2, :, 3] = data[0, 0], data[2, 0, 0]
    find = np.argmax if operator == "ArgMax" else np.argmin
    wide = data.astype(np.float64) if element_type(name).is_float else data
    for axis in (0, 1, -1):
        for last in (0, 1):
            attributes = {"axis": axis, "keepdims": 0, "select_last_index": last}
            result = ogive.onnx.load(node_model(operator, 13, [("data", data)], attributes), fuse=fuse)(data)
            turned = np.flip(wide, axis) if last else wide
            expected = find(turned, axis=axis)
            assert result.dtype == np.int64
            assert np.array_equal(result, data.shape[axis] - 1 - expected if last else expected)


def test_places_of_nan_and_of_nothing():
    rows = np.float32([[1, np.nan, 3, np.nan], [4, 4, 0, -0.0]])
    model = ogive.onnx.load(node_model("ArgMax", 13, [("data", rows)], {"axis": 1, "keepdims": 0}))
    assert model(rows).tolist() == [1, 0]
    with pytest.raises(ShapeError, match="ArgMax node .*allowed: elements along axis 1"):
        model(np.zeros((2, 0), np.float32))
    with pytest.raises(ShapeError, match="allowed: -1 to 0"):
        ogive.onnx.load(node_model("ArgMax", 13, [("data", rows[0])], {"axis": 1}))(rows[0])


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
def test_roots_and_logarithms_of_integers_are_those_of_exact_sums(kind):
    """Where float64 rounds the elements, or the value to a whole number, that is not what is cut off."""
    large = np.iinfo(kind).max
    root = math.isqrt(large)
    data = np.array([[root, root, 0], [root, 1, 0], [large // 3, 5, 1], [large - 1, 1, 0]], object).astype(kind)
    rows = [[int(x) for x in row] for row in data]
    expected = [min(math.isqrt(sum(x * x for x in row)), large) for row in rows]
    assert run("ReduceL2", data, [1], keepdims=0).tolist() == expected
    # exp(5) and more of 1 are too little to be seen beside the largest element.
    assert run("ReduceLogSumExp", data, [1], keepdims=0).tolist()[1:] == [max(row) for row in rows][1:]
    if kind is np.int64:
        assert run("ReduceLogSum", np.array([[2**62 + 3, -(2**62), 0]], kind), [1], keepdims=0).tolist() == [1]
        assert run("ReduceLogSumExp", np.array([[-5, -5000, -5000]], kind), [1], keepdims=0).tolist() == [-4]


@pytest.mark.matrix(share=16, pool="slow")
def test_norms_of_float64_neither_overflow_nor_underflow():
    x = np.array([[3e300, 4e300], [3e-310, 4e-310], [np.inf, 1.0], [0.0, -0.0], [3.0, 4.0], [1e-300, 1e300]])
    found = run("ReduceL2", x, axes=[1], keepdims=0)
    assert found.tolist() == [5e300, 5e-310, np.inf, 0.0, 5.0, 1e300]
    assert np.isnan(run("ReduceL2", np.array([[np.nan, 1.0]]), axes=[1])).all()


@pytest.mark.parametrize("name", [name for name in TYPES if "float" in name])
def test_a_small_element_beside_a_largest_one_of_zero_is_not_lost(name):
    kind = element_type(name).numpy
    found = run("ReduceLogSumExp", np.array([[0.0, -12.0]]).astype(kind), axes=[1], keepdims=0)
    exact = np.array([np.log1p(np.exp(np.longdouble(-12)))])
    assert error_in_ulp(found, exact.astype(np.longdouble), element_type(name)).max() <= 1.0


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_global_poolings_are_reductions_of_the_last_axes(name):
    data = values(name, (2, 3, 4, 5))
    for operator, attributes, reduced in (
        ("GlobalAveragePool", {}, "ReduceMean"),
        ("GlobalMaxPool", {}, "ReduceMax"),
        ("GlobalLpPool", {}, "ReduceL2"),
        ("GlobalLpPool", {"p": 1}, "ReduceL1"),
    ):
        found = run(operator, data, opset=22, **attributes)
        assert found.shape == (2, 3, 1, 1)
        assert same_bits(found, run(reduced, data, axes=[2, 3]))
        assert same_bits(run(operator, data[..., 0], opset=22, **attributes), run(reduced, data[..., 0], axes=[2]))
    with pytest.raises(ShapeError, match=r"the data have the shape \(2, 3\); allowed: three axes or more"):
        run("GlobalMaxPool", data[..., 0, 0], opset=22)
    with pytest.raises(UnsupportedError, match="GlobalLpPool node .* p is 3; allowed: 1, 2"):
        run("GlobalLpPool", data, opset=22, p=3)


def test_a_global_pooling_of_opset_1_has_a_norm_of_floats():
    data = values("float32", (1, 2, 7))
    assert same_bits(run("GlobalLpPool", data, opset=1, p=1.0), run("ReduceL1", data, axes=[2]))
