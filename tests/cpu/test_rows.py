"""Row-wise operators: accurate, the same bits for every layout and number of threads, right at the special rows."""

import pickle

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.backends.target import TARGETS
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.enclosures.row_enclosure import right_rows
from ogive.errors import ArgumentError, DTypeError, FormulaError, ParameterError, ShapeError
from ogive.golden.specification import of_operator
from ogive.graph.expression import Format, formula_node, node, walk
from ogive.laboratory.accuracy import error_in_ulp
from ogive.laboratory.reference import evaluate
from ogive.lowering.lower import lower
from ogive.operators.row_operator import RowOperator
from ogive.runtime.kernels import make_ufunc
from tests.cpu.test_agreement import as_compute_format
from tests.cpu.test_targets import RUNNABLE
from tests.inputs import ROW_CASE_IDS, ROW_CASES, assert_same_bits, of_one_array
from tests.verify import verify

#: The largest error in units in the last place.
LIMITS = {"float16": 0.51, "bfloat16": 0.51, "float32": 2.0, "float64": 2.0}

#: Across blocks, incomplete blocks, and segments.
LENGTHS = (1, 2, 7, 8, 15, 16, 17, 31, 64, 100, 1000, 4097, 16383, 16384, 16385, 40000)


def rows(shape, kind, width=4.0, seed=0):
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) * width).astype(kind.numpy)


def test_there_are_row_wise_operators():
    assert {op.name for op, _ in ROW_CASES} >= {"softmax", "log_softmax", "hardmax"}


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize("width", [0.1, 4.0, 30.0])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=ROW_CASE_IDS)
def test_accuracy(op, signature, length, width):
    kind = signature.inputs[0]
    x = rows((3, length), kind, width)
    given = [x] * op.inputs
    if kind.name == "float64":  # a bias could cancel what stands before it, which costs digits there
        given[2:] = [np.zeros_like(x)] * (op.inputs - 2)
    result = op(*given)
    assert result.dtype == kind.numpy
    parameters = as_compute_format({p.name: p.default for p in op.numeric_parameters}, kind)
    exact = evaluate(op.formula()[0], given, parameters, dtype=np.longdouble)
    errors = np.atleast_2d(error_in_ulp(result, exact, kind).T).T
    for row in np.flatnonzero((errors > LIMITS[kind.name]).any(axis=1)):
        # Next to the mean of the row the long double lacks the digits; what looks wrong is looked at exactly.
        right = right_rows(op.formula()[0], [[float(v) for v in g[row]] for g in given], parameters, kind)
        errors[row] = error_in_ulp(result[row], np.array(right, np.longdouble), kind)
    assert errors.max() <= LIMITS[kind.name]


@pytest.mark.parametrize("offset", [-1e30, -1e5, -300.0, -200.0, 200.0, 255.0, 257.0, 1e5, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [ogive.softmax, ogive.log_softmax], ids=lambda op: op.name)
def test_accuracy_wherever_the_row_lies(op, dtype, offset):
    """Large elements are reduced before they are subtracted, still larger ones after."""
    kind = element_type(dtype)
    offset *= {"float32": 1, "float64": 8}[dtype]
    x = (rows((20, 100), element_type("float64"), 20.0) + offset).astype(dtype)
    x[:, 5] = -np.inf
    x[:, 7] = -np.finfo(dtype).max
    exact = evaluate(op.formula()[0], [x], dtype=np.longdouble)
    assert error_in_ulp(op(x), exact, kind).max() <= LIMITS[dtype]


@pytest.mark.parametrize("op", [ogive.softmax, ogive.log_softmax], ids=lambda op: op.name)
def test_nan_and_infinity_are_found_wherever_they_lie(op):
    for length in (5, 16, 64, 100):
        for position in range(length):
            for special in (np.nan, np.inf):
                x = rows((3, length), element_type("float32"))
                x[1, position] = special
                assert np.isnan(op(x)).all(axis=1).tolist() == [False, True, False]
                assert not np.isnan(op(x)[::2]).any()


def test_the_largest_elements_are_counted():
    for count in (1, 2, 17, 300, 20_000):
        x = np.full((2, count + 3), -200.0, np.float32)
        x[:, :count] = 1.5
        log = ogive.log_softmax(x)
        assert np.all(log[:, :count] == np.float32(-np.log(count)))
        assert (log[0, 0] == 0) == (count == 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_logarithm_near_zero_keeps_its_digits(dtype):
    """In a row that one element dominates: what the others add up to is all that is left of the result."""
    for length in (2, 17, 1000, 40_000):
        for below in (20.0, 60.0, 80.0):
            x = np.full((2, length), 3.0 - below, dtype)
            x[:, length // 2] = 3.0
            others = np.log1p((length - 1) * np.exp(-np.float64(below)))
            result = ogive.log_softmax(x)[:, length // 2].astype(np.float64)
            assert np.abs(result + others).max() <= 4 * np.finfo(dtype).eps * others


@pytest.mark.parametrize("below", [1.2, 12.0, 16.0, 20.0])
@pytest.mark.parametrize("op", [ogive.softmax, ogive.log_softmax], ids=lambda op: op.name)
def test_many_alike_add_up(op, below):
    """Rounding errors of equal numbers do not make up for each other."""
    x = np.full((1, 1_000_003), 3.0 - below, np.float32)
    x[:, 5] = 3.0
    e = np.exp(x.astype(np.longdouble) - 3)
    e[:, 5] = 0
    exact = np.longdouble(x) - 3 - np.log1p(e.sum())
    if op is ogive.softmax:
        exact = np.exp(exact)
    assert error_in_ulp(op(x), exact, element_type("float32")).max() <= LIMITS["float32"]


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=ROW_CASE_IDS)
def test_layout_never_changes_bits(op, signature, threads):
    kind, op = signature.inputs[0], of_one_array(op)
    for shape in ((5, 37), (4, 1000), (3, 4, 50), (2, 33000)):
        x = rows(shape, kind)
        threads(1)
        expected = op(x)
        for count in (1, 2, 3):
            threads(count)
            assert_same_bits(op(x), expected)
            assert_same_bits(op(np.asfortranarray(x)), expected)
            assert_same_bits(op(x[::-1])[::-1], expected)
            for axis in range(x.ndim):
                moved = np.moveaxis(x, -1, axis)
                assert_same_bits(np.moveaxis(op(moved, axis=axis), axis, -1).copy(), expected)
                assert_same_bits(op(moved.copy(), axis=axis - x.ndim), np.moveaxis(expected, -1, axis).copy())
            gaps = np.zeros((*shape[:-1], 2 * shape[-1]), kind.numpy)
            gaps[..., ::2] = x
            out = np.zeros_like(gaps)
            op(gaps[..., ::2], out=out[..., 1::2])
            assert_same_bits(out[..., 1::2].copy(), expected)
            assert not out[..., ::2].astype(np.float32).any()
            in_place = x.copy()
            assert op(in_place, out=in_place) is in_place
            assert_same_bits(in_place, expected)


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=ROW_CASE_IDS)
def test_long_rows_are_shared_by_threads(op, signature, threads):
    x, op = rows((1, 700_001), signature.inputs[0]), of_one_array(op)
    threads(1)
    expected = op(x)
    gaps, out = np.repeat(x, 2, axis=-1)[..., ::2], np.zeros((1, 3 * 700_001), x.dtype)
    for count in (2, 5):
        threads(count)
        assert_same_bits(op(gaps, out=out[:, ::3]).copy(), expected)
        assert_same_bits(op(x), expected)
        assert_same_bits(op(x[0]), expected[0])


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=ROW_CASE_IDS)
def test_same_bits_on_every_instruction_set(op, signature, target):
    for shape in ((7, 100), (2, 20000)):
        x = rows(shape, signature.inputs[0])
        parameters = [p.default for p in op.numeric_parameters]
        made = make_ufunc(op.name, op.program(signature), target, parameters=parameters)
        assert_same_bits(made(*(x,) * op.inputs), of_one_array(op)(x))
    assert set(RUNNABLE) <= set(TARGETS.values())


def test_rows_do_not_touch_each_other():
    x = rows((50, 40), element_type("float32"))
    for op in (ogive.softmax, ogive.log_softmax, ogive.hardmax):
        whole = op(x)
        for i in range(50):
            assert_same_bits(op(x[i]), whole[i])


def test_nothing_is_written_beyond_a_row():
    for length in (1, 3, 16, 21, 64, 70, 1000):
        x = rows((2, length), element_type("float32"))
        memory = np.full((4, length + 64), 7, np.float32)
        for op in (ogive.softmax, ogive.log_softmax, ogive.hardmax):
            op(x, out=memory[1:3, 32 : 32 + length])
            assert (memory[[0, 3]] == 7).all()
            assert (memory[:, :32] == 7).all()
            assert (memory[:, 32 + length :] == 7).all()


def test_the_short_way_computes_the_same():
    """Plain arrays go past the ufunc; everything else gives the same bits by way of it."""
    x = rows((5, 37), element_type("float32"))
    for op in (ogive.softmax, ogive.log_softmax, ogive.hardmax):
        expected = op.bind()(x)
        out = np.empty_like(x)
        assert op(x, out=out) is out
        assert_same_bits(out, expected)
        overlapping = np.empty(x.size + 1, np.float32)
        overlapping[:-1] = x.ravel()
        assert_same_bits(op(overlapping[:-1].reshape(5, 37), out=overlapping[1:].reshape(5, 37)), expected)
        assert_same_bits(op(x.tolist()).astype(np.float32), op(x.astype(np.float64)).astype(np.float32))
        assert_same_bits(op(x, out=(np.empty_like(x),)), expected)
        assert type(op(x.view(np.memmap))) is type(op.bind()(x.view(np.memmap)))


@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7)])
def test_the_last_axis_by_any_name(shape):
    x = rows(shape, element_type("float32"))
    expected = ogive.softmax(x)
    last = len(shape) - 1
    for axis in (-1, last, (-1,), [last], np.int64(last), np.int64(-1)):
        assert_same_bits(ogive.softmax(x, axis=axis), expected)
        assert_same_bits(ogive.softmax(x.tolist(), axis=axis, dtype="float32"), expected)
        out = np.empty_like(x)
        assert ogive.softmax(x, axis=axis, out=out) is out
        assert_same_bits(out, expected)
        assert ogive.softmax(x.astype(">f4"), axis=axis).tolist() == expected.tolist()


def test_inside_a_formula_rows_lie_along_the_last_axis():
    @ogive.row_operator()
    def doubled(x):
        return 2 * ogive.softmax(x, axis=-1)

    x = rows((3, 7), element_type("float32"))
    assert_same_bits(doubled(x), 2 * ogive.softmax(x))

    def across(x):
        return ogive.softmax(x, axis=0)

    with pytest.raises(ParameterError, match="softmax: axis is 0 inside a formula; allowed: -1"):
        ogive.row_operator(across)


def test_several_axes_are_one_row():
    x = rows((2, 3, 4, 5), element_type("float64"))
    for axes in ((2, 3), (3, 2), (-1, 1), (0, 2), (0, 1, 2, 3)):
        kept = [a for a in range(4) if a not in [b % 4 for b in axes]]
        flat = np.moveaxis(x, kept, range(len(kept))).reshape(*(x.shape[a] for a in kept), -1)
        result = ogive.softmax(x, axis=axes)
        assert result.shape == x.shape
        expected = ogive.softmax(flat).reshape(
            [x.shape[a] for a in kept] + [x.shape[a % 4] for a in sorted(a % 4 for a in axes)]
        )
        assert_same_bits(np.moveaxis(result, kept, range(len(kept))).copy(), expected)
        out = np.empty_like(x)
        assert ogive.softmax(x, axis=axes, out=out) is out
        assert_same_bits(out, result.copy())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_special_rows(dtype):
    inf, nan = np.inf, np.nan
    x = np.array([[0, -inf, 0], [-inf] * 3, [inf, 0, 1], [nan, 0, 1], [3e4, -3e4, 3e4]], dtype=dtype)
    with np.errstate(all="raise"):
        soft, log, hard = ogive.softmax(x), ogive.log_softmax(x), ogive.hardmax(x)
    assert soft[0].tolist() == [0.5, 0, 0.5]
    assert log[0].tolist() == [log[0][0], -inf, log[0][0]]
    assert np.isnan(soft[1:4]).all()
    assert np.isnan(log[1:4]).all()
    assert soft[4].tolist() == [0.5, 0, 0.5]
    assert log[4][1] == pytest.approx(-6e4, rel=1e-3)
    assert hard.tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]]


@ogive.row_operator()
def total(x):
    return f.row_sum(x) + 0 * x


@pytest.mark.parametrize("length", [100, 16385, 40_000])
@pytest.mark.parametrize("count", [1, 2])
def test_sums_that_overflow_are_infinite(length, count, threads):
    """In a short row, in one segment of a long row, and where only the segments' sums are too large together."""
    threads(count)
    largest = np.finfo(np.float64).max
    for value in (1e308, -1e308, largest / length * 1.5, -largest / length * 1.5):
        assert np.all(total(np.full((2, length), value)) == np.copysign(np.inf, value))
    x = np.full((2, length), largest / length / 2)
    np.testing.assert_allclose(total(x), largest / 2, rtol=1e-12)
    x[1, -1] = np.inf
    assert np.isfinite(total(x)[0]).all()
    assert np.isnan(total(x)[1, -1])  # 0 * inf
    assert np.isinf(total(x)[1, :-1]).all()


def test_no_overflow_for_any_finite_input():
    for kind in map(element_type, ("float32", "float64")):
        largest = np.finfo(kind.numpy).max
        x = np.array([[largest, -largest, 0], [-largest, -largest, -largest], [largest, largest, 1]], dtype=kind.numpy)
        assert ogive.softmax(x).tolist() == [
            [1, 0, 0],
            [1 / 3] * 3 if kind.bits == 64 else [float(np.float32(1 / 3))] * 3,
            [0.5, 0.5, 0],
        ]
        assert not np.isnan(ogive.log_softmax(x)).any()


def test_hardmax_takes_the_first_and_counts_nan_as_largest():
    x = np.float32([[1, 3, 3, 2], [np.nan, 1, np.nan, 2], [1, np.nan, 5, np.nan], [-0.0, 0.0, -1, 0.0]])
    assert ogive.hardmax(x).argmax(axis=1).tolist() == [1, 0, 1, 0]
    assert (ogive.hardmax(x).sum(axis=1) == 1).all()
    long = np.zeros(100_000, np.float32)
    long[[70_001, 90_000]] = 1
    assert np.flatnonzero(ogive.hardmax(long)).tolist() == [70_001]


def test_axis_none_means_all_axes():
    """As in SciPy, and in NumPy's reductions."""
    x = np.random.default_rng(5).normal(size=(3, 4, 5)).astype(np.float32)
    expected = ogive.softmax(x.reshape(-1)).reshape(x.shape)
    assert_same_bits(ogive.softmax(x, axis=None), expected)
    assert_same_bits(ogive.softmax(x.T, axis=None, dtype="float32"), ogive.softmax(x.T, axis=(0, 1, 2)))
    out = np.empty_like(x)
    assert ogive.softmax(x, axis=None, out=out) is out
    assert_same_bits(out, expected)
    assert ogive.softmax(np.float32([1, 1]), axis=None).tolist() == [0.5, 0.5]
    assert ogive.softmax(np.float32(3), axis=None) == 1


@pytest.mark.parametrize("op", [ogive.softmax, ogive.log_softmax, ogive.hardmax], ids=lambda op: op.name)
def test_help_lists_no_where(op):
    assert "out, casting" in op.__doc__
    assert "where, casting" not in op.__doc__


@pytest.mark.parametrize("wrap", [np.asarray, np.ma.asarray])
@pytest.mark.parametrize(("shape", "axis"), [((1, 0, 6), (0, 2)), ((0, 5, 2), None), ((6, 0, 3), (2, 0)), ((0, 0), 0)])
def test_several_axes_of_empty_arrays(wrap, shape, axis):
    x = wrap(np.empty(shape, np.float32))
    result = ogive.softmax(x, axis=axis)
    assert type(result) is type(x)
    assert result.shape == shape
    assert ogive.softmax(x, axis=-1).shape == shape


def test_empty_arrays():
    assert ogive.softmax(np.ones((0, 5), np.float32)).shape == (0, 5)
    assert ogive.softmax(np.ones((5, 0), np.float32)).shape == (5, 0)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda x: ogive.softmax(x, axis=3),
            ParameterError,
            "softmax: axis is 3 for an array of 2 dimensions; allowed: whole numbers from -2 to 1, each once",
        ),
        (
            lambda x: ogive.softmax(x, axis=(0, -2)),
            ParameterError,
            r"softmax: axis is \(0, -2\), which names one twice",
        ),
        (lambda x: ogive.softmax(x, axis=0.5), ParameterError, "softmax: axis is 0.5"),
        (lambda x: ogive.softmax(x, axis=()), ParameterError, r"softmax: axis is \(\) for"),
        (lambda x: ogive.softmax(x[0, 0]), ParameterError, "arrays of one dimension or more"),
        (lambda x: ogive.softmax(x[0, 0, ...], axis=0), ParameterError, "arrays of one dimension or more"),
        (
            lambda x: ogive.softmax(axis=0),
            ArgumentError,
            r"softmax: no arguments were given by position; .* Give all else by name: axis=, where=, out=",
        ),
        (
            lambda x: ogive.softmax(x, alpha=1.0),
            ArgumentError,
            "softmax: there is no parameter 'alpha'; allowed: axis, where, out, casting",
        ),
        (
            lambda x: ogive.softmax(np.ma.array(x), where=x > 0),
            ArgumentError,
            r"softmax: where was given, and x is a numpy.MaskedArray; allowed: arrays of NumPy, pandas, .* Give its array: np.asarray\(x\)",
        ),
        (
            lambda x: ogive.softmax(x, dim=0),
            ArgumentError,
            "softmax: dim was given, but x is an array of shape .*, which has no named dimensions; .* Use axis=",
        ),
        (lambda x: ogive.softmax(x.astype(complex)), DTypeError, "softmax: x has dtype complex128; allowed: float16"),
        (lambda x: ogive.softmax(x, out=x[:2].copy()), ShapeError, "softmax: out has shape"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, kind, text):
    with pytest.raises(kind, match=text):
        call(np.ones((3, 4), np.float32))


@pytest.mark.parametrize("name", sorted({op.name for op, _ in ROW_CASES if op.nin == 1 and not op.reduces}))
@pytest.mark.parametrize(("shape", "axis"), [((2, 3), -1), ((2, 3), 0), ((2, 3), None), ((2, 2), (0,)), ((1, 2), -1)])
def test_a_row_is_not_written_into_a_larger_out(name, shape, axis):
    x, out = np.ones(2, np.float32), np.full(shape, 7, np.float32)
    with pytest.raises(ShapeError, match=rf"{name}: out has shape \({shape[0]}, {shape[1]}\); allowed: \(2,\)"):
        getattr(ogive, name)(x, axis=axis, out=out)
    assert np.all(out == 7)


SCALE = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("scale", "bias", "axis", "text"),
    [
        (1, 0, -1, r"scale has shape \(\), and .* Broadcast it first: numpy.broadcast_to\(scale, \(3, 4\)\)"),
        (SCALE, 0, -1, r"bias has shape \(\), and a row lies along axis -1"),
        (SCALE, SCALE, (1, 0), r"scale has shape \(4,\), and .* axis \(1, 0\); .* Broadcast it first"),
        (SCALE, SCALE, None, r"scale has shape \(4,\), and .* axis None"),
        (SCALE, SCALE, 1, r"scale has shape \(4,\), and .* axis 1; allowed: operands that have the axes of the row"),
        (SCALE, SCALE, 0, r"scale has shape \(4,\), and .* axis 0; allowed: rows of shape \(3,\), as x has"),
        (SCALE, SCALE, -2, r"scale has shape \(4,\), and .* axis -2"),
        (np.ones((3, 1)), SCALE, -1, r"scale has shape \(3, 1\), and .* rows of shape \(4,\), as x has\. Broadcast"),
        (np.ones((2, 3, 1)), SCALE, -1, r"scale has shape \(2, 3, 1\), and .* rows of shape \(4,\), as x has$"),
    ],
)
def test_operands_without_the_axes_of_the_row_are_refused(scale, bias, axis, text):
    with pytest.raises(ShapeError, match=f"layer_normalization: {text}"):
        ogive.layer_normalization(np.ones((3, 4), np.float32), scale, bias, axis=axis)


def test_a_negative_axis_counts_from_the_end_of_each_operand():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = ogive.layer_normalization(x, SCALE, SCALE)
    lists = ogive.layer_normalization(x, SCALE.tolist(), SCALE.tolist())  # which are float64
    assert_same_bits(lists.astype(np.float32), expected)
    assert_same_bits(ogive.layer_normalization(x, SCALE, SCALE, axis=(-1,)), expected)


def log_sum_exp(x):
    largest = f.row_max(x)
    return x * 0 + (largest + f.log(f.row_sum(f.exp(x - largest))))


def share_beside_one(x):
    """The exponentials are summed, and needed again beside something else than their sum."""
    e = f.exp(x - f.row_max(x))
    return e / (1 + f.row_sum(e))


def chosen_sums(x):
    """Sums with zeros on either side of a choice, and one with another number there."""
    largest = f.row_max(x)
    e = f.exp(x - largest)
    lower = f.row_sum(f.where(x < largest, e, 0)) + f.row_sum(f.where(x < 0, 0, e))
    return f.absolute(x) * lower + f.row_sum(f.where(x < largest - 1, e, 3))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("formula", [log_sum_exp, share_beside_one, chosen_sums])
def test_sums_of_exponentials_in_formulas_of_ones_own(formula, dtype):
    """Sums of exponentials that have a factor in common, and those that have not, mean the same."""
    op, kind = ogive.row_operator()(formula), element_type(dtype)
    for length in (3, 64, 100, 1000):
        for middle in (0.0, 100.0, 300.0):  # from 256 on the largest element is subtracted before
            x = (rows((5, length), element_type("float64"), 3.0) + middle).astype(dtype)
            exact = evaluate(op.formula()[0], [x], dtype=np.longdouble)
            assert error_in_ulp(op(x), exact, kind).max() <= 2 * LIMITS[dtype]


def test_a_formula_of_ones_own():
    @ogive.row_operator()
    def centred(x):
        return (x - f.row_min(x)) / (f.row_max(x) - f.row_min(x))

    x = rows((4, 1000), element_type("float32"))
    low, high = x.min(axis=1, keepdims=True).astype(np.float64), x.max(axis=1, keepdims=True).astype(np.float64)
    assert np.abs(centred(x) - (x - low) / (high - low)).max() < 1e-7

    @ogive.row_operator()
    def tempered(x, *, temperature: float = 2.0):
        e = f.exp(x * temperature - f.row_max(x * temperature))
        return e / f.row_sum(e)

    for temperature in (0.5, 3.0):
        exact = evaluate(tempered.formula()[0], [x], {"temperature": temperature}, dtype=np.longdouble)
        result = tempered(x, temperature=temperature)
        assert error_in_ulp(result, exact, element_type("float32")).max() <= LIMITS["float32"]

    @ogive.row_operator()
    def weighted(x, y):
        e = f.exp(x - f.row_max(x))
        return x - f.row_sum(e * y) / f.row_sum(e) + e

    y = rows((4, 1000), element_type("float32"), seed=1)
    exact = evaluate(weighted.formula()[0], [x, y], dtype=np.longdouble)
    assert np.abs(weighted(x, y) - exact).max() < 1e-6

    @ogive.row_operator()
    def without_reductions(x):
        return x * 2

    assert_same_bits(without_reductions(x), x * 2)
    assert_same_bits(without_reductions(x.T, axis=0), x.T * 2)

    with pytest.raises(FormulaError, match="row_first: the condition is a number"):
        f.row_first(1)


# ---- one number a row

X = node("input", (), 0, Format.NUMBER)
NUMBERS_OF_ROWS = {
    "sum": f.row_sum(X),
    "mean": f.row_sum(X) / formula_node("row_count", X),
    "largest": f.row_max(X),
    "sum of squares": f.row_sum(X * X),
    "log-sum-exp": f.log(f.row_sum(f.exp(X - f.row_max(X)))) + f.row_max(X),
    "place of the largest": node("row_index", (f.equal(X, f.row_max(X)),), None, Format.NUMBER),
}
KINDS = [element_type(name) for name in LIMITS]


def reducing(what, kind, target=None):
    root = NUMBERS_OF_ROWS[what]
    verify(root, stage="formula")
    program = lower([root], [kind], [kind], reduces=True)
    verify(*program.roots, stage="primitive")
    return make_ufunc(what, program, target)


@pytest.mark.matrix("what")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
@pytest.mark.parametrize("what", NUMBERS_OF_ROWS)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_number_of_each_row_is_right(what, kind, length):
    x = rows((3, length), kind, 0.5)
    result = reducing(what, kind)(x)
    assert result.shape == (3, 1)
    assert result.dtype == kind.numpy
    exact = evaluate(NUMBERS_OF_ROWS[what], [x], dtype=np.longdouble)
    magnitude = np.abs(x.astype(np.longdouble)).sum(axis=1, keepdims=True)  # sums of float32 are sums of float64
    error = np.abs(result.astype(np.longdouble) - exact)
    eps = 2.0 ** -{"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[kind.name]
    # A sum of exponentials of float32 has their errors, which the logarithm makes absolute ones.
    slack = 2 * eps if what == "log-sum-exp" else 2.0**-53 * magnitude * (kind.bits < 64)
    if what == "sum of squares":  # each square of float64 is rounded
        slack = 2.0**-53 * np.abs(exact)
    assert (error <= 1.02 * eps * np.abs(exact) + slack).all()


def test_sums_of_float64_are_corrected():
    """Elements that cancel leave the others as they are: 1e17 swallows a one in plain float64."""
    x = np.ones((2, 3000))
    x[:, 7], x[:, 2000] = 1e17, -1e17
    assert reducing("sum", element_type("float64"))(x).tolist() == [[2998.0], [2998.0]]


@pytest.mark.matrix("what")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
@pytest.mark.parametrize("what", NUMBERS_OF_ROWS)
def test_no_layout_and_no_thread_changes_a_number_of_a_row(what, kind, threads):
    compute = reducing(what, kind)
    for shape in ((5, 37), (40, 1000), (3, 4, 50), (2, 33000), (1, 300_001)):
        x = rows(shape, kind)
        threads(1)
        expected = compute(x)
        for count in (1, 2, 5):
            threads(count)
            assert_same_bits(compute(x), expected)
            assert_same_bits(compute(np.asfortranarray(x)).copy(), expected)
            assert_same_bits(compute(x[..., ::-1, :])[..., ::-1, :].copy(), expected)
            gaps = np.zeros((*shape[:-1], 2 * shape[-1]), kind.numpy)
            gaps[..., ::2] = x
            out = np.zeros((*shape[:-1], 3), kind.numpy)
            compute(gaps[..., ::2], out=out[..., 1:2])
            assert_same_bits(out[..., 1:2].copy(), expected)
            assert not out[..., ::2].astype(np.float32).any()
        for row in range(shape[0]):
            assert_same_bits(compute(x[row]), expected[row])


@pytest.mark.matrix("what")
@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
@pytest.mark.parametrize("what", NUMBERS_OF_ROWS)
def test_no_instruction_set_changes_a_number_of_a_row(what, kind, target):
    for shape in ((7, 100), (2, 20000)):
        x = rows(shape, kind)
        assert_same_bits(reducing(what, kind, target)(x), reducing(what, kind)(x))


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_rows_without_elements_have_numbers(kind):
    for shape in ((3, 0), (2, 2, 0), (0,)):
        empty = np.zeros(shape, kind.numpy)
        shape = (*shape[:-1], 1)
        assert reducing("sum", kind)(empty).tolist() == np.zeros(shape).tolist()
        assert reducing("largest", kind)(empty).tolist() == np.full(shape, -np.inf).tolist()
        assert np.isnan(reducing("mean", kind)(empty).astype(float)).all()
        assert reducing("mean", kind)(empty).shape == shape
    assert reducing("sum", kind)(np.zeros((0, 5), kind.numpy)).shape == (0, 1)


def test_nothing_is_written_beside_a_number_of_a_row():
    x = rows((20, 100), element_type("float32"))
    expected = reducing("sum", element_type("float32"))(x)
    memory = np.full(60, 7, np.float32)
    reducing("sum", element_type("float32"))(x, out=memory[20:40].reshape(20, 1))
    assert_same_bits(memory[20:40].reshape(20, 1), expected)
    assert (memory[:20] == 7).all()
    assert (memory[40:] == 7).all()


def test_a_result_that_lies_over_its_operand():
    x = rows((20, 100), element_type("float32"))
    expected = reducing("sum", element_type("float32"))(x)
    for place in (0, 50):
        y = x.copy()
        out = y.reshape(-1)[place : place + 20].reshape(20, 1)
        reducing("sum", element_type("float32"))(y, out=out)
        assert_same_bits(out.copy(), expected)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_a_stage_keeps_is_not_read_by_the_same_stage(dtype):
    @ogive.row_operator
    def weighted(x, weight):
        power = weight**1.5
        return power / (f.row_sum(power) + f.row_sum(power * x))

    x, weight = np.random.default_rng(1).uniform(0.5, 2, (2, 5, 300)).astype(dtype)
    power = np.longdouble(weight) ** np.longdouble(1.5)
    right = power / (power.sum(-1, keepdims=True) + (power * x).sum(-1, keepdims=True))
    assert np.allclose(weighted(x, weight), np.float64(right), rtol=1e-6 if dtype == "float32" else 1e-14, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_exponentials_that_a_stage_keeps_are_not_read_by_it(dtype):
    """Nor is anything, in the kernel and in its repair: what a row's memory holds before is any number."""

    @ogive.row_operator
    def shared(x, weight):
        e = f.exp(x - f.row_max(x))
        return e / (f.row_sum(e) + f.row_sum(e * weight))

    signature = next(s for s in shared.signatures if s.inputs[0].name == dtype)
    program = shared.program(signature)
    repairs = [level.make() for level in program.later]
    assert any(stage.kept for stage in program.stages)
    for stage in (stage for each in (program, *repairs) for stage in each.stages):
        read = {n.attribute for r in stage.reductions for n in walk(r.value) if n.operation == "input"}
        assert read.isdisjoint(place for place, _ in stage.kept)


@pytest.mark.parametrize("operator", [ogive.softmax, ogive.softmin])
def test_float64_exponentials_and_their_sum_have_two_words(operator):
    """Half a unit and a little, where one word gave up to 2.2; one unit where the lower word is subnormal."""
    kind = element_type("float64")
    generator = np.random.default_rng(5)
    for width in (0.01, 1.0, 8.0, 60.0, 300.0):
        x = generator.standard_normal((8, 23)) * width
        exact = of_operator(operator, "float64").expected([x]).exact
        error = error_in_ulp(operator(x).reshape(-1), exact.reshape(-1), kind)
        has_two_words = exact.reshape(-1) >= 1e-290
        assert has_two_words.sum() > 40
        assert error[has_two_words].max() <= 0.7
        assert error.max() <= 1.0
    sign = -1.0 if operator is ogive.softmin else 1.0
    special = sign * np.array([[1e308, -1e308, 3], [np.inf, 1, 2], [-np.inf] * 3, [-np.inf, 0, -740], [np.nan, 1, 2]])
    with np.errstate(all="ignore"):
        found = operator(special)
    assert found[0].tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(found[[1, 2, 4]]).all()
    assert found[3].tolist() == [0.0, 1.0, float(np.exp(np.longdouble(-740)))]


MASKED = [
    operator for operator in OPERATORS.values() if isinstance(operator, RowOperator) and operator.left_out is not None
]


@pytest.mark.parametrize("operator", MASKED, ids=lambda operator: operator.name)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_elements_that_take_no_part(operator, dtype):
    """The row without them has the same results, and they have their own."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 7)).astype(element_type(dtype).numpy)
    where = rng.random((4, 7)) < 0.6
    where[0] = True
    x[1][~where[1]] = np.nan
    kept = operator.left_out[1]
    found = operator(x, where=where)
    for row, mask, result in zip(x, where, found, strict=True):
        expected = operator(row[mask])
        assert np.array_equal(result if kept is None else result[mask], expected)
        assert kept is None or (result[~mask] == kept).all()
    assert np.array_equal(operator(x[2], where=where[2]), found[2])  # broadcast and alone
    assert np.array_equal(operator(x.T.copy(), axis=0, where=where.T), found if kept is None else found.T)
    out = np.full_like(found, 5)
    assert operator(x, where=where, out=out) is out
    assert np.array_equal(out, found)
    assert np.array_equal(operator(x, where=None), operator(x), equal_nan=True)
    nothing = operator(x, where=np.zeros(7, bool))
    assert (nothing == (operator.left_out[0] if kept is None else kept)).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_gradients_of_elements_that_take_no_part(name):
    operator, rng = OPERATORS[name], np.random.default_rng(6)
    x, where = rng.normal(size=(3, 5)).astype("f"), np.array([1, 0, 1, 1, 0], bool)
    gradient = np.full((3,) if operator.reduces else (3, 5), np.float32(1.5))
    gradient[..., 0] = -1
    found = ogive.vjp(operator)(gradient, x, where=where)
    alone = ogive.vjp(operator)(gradient if operator.reduces else gradient[:, where], x[:, where])
    assert np.array_equal(found[:, where], alone)
    assert (found[:, ~where] == 0).all()


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_of_ones_own_leave_elements_out():
    share = ogive.row_operator(_share, left_out=(0.0, -1.0))
    assert share([1.0, 5.0, 3.0], where=[True, False, True]).tolist() == [0.25, -1.0, 0.75]
    again = pickle.loads(pickle.dumps(share))
    assert again([1.0, 5.0, 3.0], where=[True, False, True]).tolist() == [0.25, -1.0, 0.75]


def _share(x):
    return x / f.row_sum(x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_formula_may_ask_for_the_length_of_a_row_alone(dtype):
    """Only kernels with a stage are told it: `x / row_count(x)` was infinite."""
    share = ogive.row_operator(lambda x: x / ogive.formula.row_count(x))
    x = np.array([[1, 2, 3, 4], [8, 0, -8, 4]], dtype)
    assert share(x).tolist() == (x / 4).tolist() == share(x.T, axis=0).T.tolist()
    slope = ogive.vjp(ogive.average)(np.array([3, 6], dtype), np.vstack([x[0]] * 2))
    assert slope.tolist() == [[0.75] * 4, [1.5] * 4]
