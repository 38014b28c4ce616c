"""Results over rows are correctly rounded, whatever the length: against exact sums, and against Arb."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES, element_type_of
from ogive.enclosures.row_enclosure import right_rows
from ogive.engine.computation import make_ufunc
from ogive.engine.row_formulas import reduction
from ogive.graph import operations as ops
from ogive.graph.expression import Format, node
from ogive.lowering.exact_rows import rows_with_test
from ogive.operators.row_operator import row_operator
from ogive.runtime.kernels import make_ufunc as ufunc_of
from tests.inputs import assert_same_bits

TYPES = ("float32", "float16", "bfloat16")

RATIONAL = ("sum", "mean", "l1", "sum_square")
OTHERS = ("l2", "log_sum", "log_sum_exp")


def computed(name, rows):
    kind = element_type_of(rows.dtype)
    return make_ufunc(name, reduction(name, kind, kind))(rows)[:, 0]


def right(name, row):
    """The correctly rounded reduction, by Arb and fractions."""
    kind = element_type_of(row.dtype)
    made = reduction(name, kind, kind)
    (value, *_) = right_rows(made.roots[0], [[float(x) for x in row]], {}, kind)
    return np.array(value).astype(kind.numpy)


def same(a, b):
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    return (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))


def hard_rows(kind, rng):
    """Rows that cancel, that underflow, whose sums lie on ties, and usual ones."""
    tiny = 2.0 ** {"float32": -149, "float16": -24, "bfloat16": -133}[kind]
    large = 2.0 ** {"float32": 100, "float16": 12, "bfloat16": 100}[kind]
    for length in (1, 2, 3, 7, 16, 33, 500):
        usual = rng.standard_normal(length)
        half = usual[: (length + 1) // 2]
        yield usual
        yield np.concatenate([half, -half])[:length]  # cancels, but for one
        yield np.concatenate([half * large, -half * large, half])  # the large ones cancel
        yield rng.integers(-9, 9, length) * tiny  # subnormal
        yield rng.integers(0, 9, length)
        yield rng.integers(0, 2**11, length) * 0.5  # sums and means on ties
        yield np.exp(rng.uniform(-20, 8, length))
    yield np.array([1, tiny, -1])
    yield np.zeros(5)
    yield -np.zeros(5)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", RATIONAL + OTHERS)
def test_hard_rows(name, kind):
    rng = np.random.default_rng(0)
    numpy_type = ELEMENT_TYPES[kind].numpy
    wrong = []
    for values in hard_rows(kind, rng):
        row = np.asarray(values).astype(numpy_type)
        if name == "log_sum":
            row = np.abs(row)
        if not np.isfinite(row.astype(np.float64)).all():
            continue
        with np.errstate(all="ignore"):
            found, expected = computed(name, row[np.newaxis])[0], right(name, row)
        if not same(found, expected):
            wrong.append((row, found, expected))
    assert not wrong


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", TYPES)
def test_sums_and_means_of_many_rows(kind):
    """Sums of 4,000 rows, against `math.fsum` and fractions."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((4000, 61)).astype(ELEMENT_TYPES[kind].numpy)
    rows[::3] = np.round(rows[::3].astype(np.float64) * 8) / 8  # ties
    exact = [sum(map(Fraction, map(float, row))) for row in rows]
    for name, values in (("sum", exact), ("mean", [total / 61 for total in exact])):
        expected = [_rounded(value, kind) for value in values]
        assert same(computed(name, rows), expected).all()


def _rounded(value, kind):
    """A fraction rounded to the nearest number of a type, of two the even one."""
    bits, smallest = {"float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133)}[kind]
    if not value:
        return 0.0
    exponent = max(math.frexp(float(value))[1] - bits, smallest)
    return float(round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("length", [16_384, 16_385, 50_000])
def test_long_rows_that_cancel(length):
    rng = np.random.default_rng(length)
    row = (rng.standard_normal(length) * np.exp(rng.uniform(-30, 30, length))).astype(np.float32)
    row[length // 2 :] = -row[: length - length // 2]
    rng.shuffle(row)
    for extra in (0.0, 1e-30, 3.0):
        row[0] += np.float32(extra)
        expected = np.float32(math.fsum(row.astype(np.float64)))
        assert computed("sum", row[np.newaxis])[0] == expected
        assert computed("sum", np.stack([row, row]))[1] == expected


def test_long_rows_on_a_grid():
    """The sums of a picture lie on ties, and are exact on the way."""
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 256, (3, 1_000_000)).astype(np.float32)
    expected = [np.float32(int(total)) for total in pixels.astype(np.int64).sum(axis=1)]
    assert list(computed("sum", pixels)) == expected
    halves = rng.integers(0, 2, (200, 2)).astype(np.float32) + np.float32(2**23) + rng.integers(0, 9, (200, 2))
    rows = halves.astype(np.float32)
    exact = [sum(map(Fraction, map(float, row))) / 2 for row in rows]
    assert same(computed("mean", rows), [_rounded(value, "float32") for value in exact]).all()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, kind):
    rng = np.random.default_rng(3)
    numpy_type = ELEMENT_TYPES[kind].numpy
    op = getattr(ogive, name)
    for length in (1, 2, 3, 17, 100):
        for width in (0.01, 1.0, 20.0, 200.0):
            rows = (rng.standard_normal((6, length)) * width).astype(numpy_type)
            rows[0] = rows[0, 0]
            rows[1, 0] = 90 * width if width < 100 else 1000.0
            found = op(rows)
            for row, got in zip(rows, found, strict=True):
                expected = right_rows(_root(op), [[float(x) for x in row]], {}, ELEMENT_TYPES[kind])
                assert same(got, expected).all(), (row, got, expected)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("op", [ogive.sparsemax, ogive.entmax15], ids=lambda op: op.name)
def test_of_thresholds(op, kind):
    """Also of numbers on a grid, which lie on the threshold and whose results are ties."""
    rng = np.random.default_rng(8)
    numpy_type = ELEMENT_TYPES[kind].numpy
    for length in (1, 2, 3, 17, 100):
        for width in (1e-20, 0.01, 1.0, 200.0):
            rows = (rng.standard_normal((6, length)) * width).astype(numpy_type)
            rows[0] = rows[0, 0]
            rows[1:3] = np.round(rows[1:3].astype(float) * 4) / 4
            rows[3, 0] = -math.inf
            for row, got in zip(rows, op(rows), strict=True):
                expected = right_rows(_root(op), [[float(x) for x in row]], {}, ELEMENT_TYPES[kind])
                assert same(got, expected).all(), (row, got, expected)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["logmeanexp", "standardize"])
def test_means(name, kind):
    """Also of equal elements, of elements that lie at their mean, and of results near zero."""
    rng = np.random.default_rng(11)
    op, numpy_type = getattr(ogive, name), ELEMENT_TYPES[kind].numpy
    parameters = {p.name: float(np.float32(p.default)) for p in op.numeric_parameters}
    for length in (1, 2, 3, 17, 100):
        for width in (1e-20, 0.01, 1.0, 200.0):
            rows = (rng.standard_normal((6, length)) * width).astype(numpy_type)
            rows[0] = rows[0, 0]
            rows[1:3] = np.round(rows[1:3].astype(float) * 4) / 4
            rows[3, 1::2] = -rows[3, : 2 * (length // 2) : 2]
            for row, got in zip(rows, op(rows), strict=True):
                expected = right_rows(_root(op), [[float(x) for x in row]], parameters, ELEMENT_TYPES[kind])
                assert same(got, expected[0] if op.reduces else expected).all(), (row, got, expected)
    inf, nan = math.inf, math.nan
    special = np.array([[1, nan], [inf, 1], [inf, -inf], [-inf, 2], [-inf, -inf]], numpy_type)
    found = op(special)
    if name == "standardize":
        assert np.isnan(found).all()
    else:
        assert same(found, np.array([nan, inf, inf, 2 - math.log(2), -inf]).astype(numpy_type)).all()
    assert same(ogive.logmeanexp(np.zeros((2, 0), numpy_type)), [nan, nan]).all()


def test_sparsemax_of_many_turns():
    """Each turn drops few elements here: the k largest make a threshold that is hardly below the next element."""
    row = np.float64([-sum(0.9 / 2**j for j in range(k)) / 2 for k in range(40)])
    expected = right_rows(_root(ogive.sparsemax), [list(row)], {}, ELEMENT_TYPES["float64"])
    assert np.array_equal(ogive.sparsemax(row), expected)


def test_sparsemax_of_a_long_row_is_that_of_its_largest_elements():
    rng = np.random.default_rng(9)
    row = rng.standard_normal(200_000)
    for kind in ("float32", "float64"):
        x = row.astype(kind)
        top = np.sort(x)[-100:]
        expected = np.where(x >= top[0], 0, 0).astype(kind)
        expected[np.argsort(x)[-100:]] = ogive.sparsemax(top)
        assert np.array_equal(ogive.sparsemax(x), expected)
        assert abs(ogive.sparsemax(x).astype(float).sum() - 1) < 1e-6


def test_sparsemax_of_neighbours_is_that_of_each_row():
    """Rows are computed together, and run until the last one has its threshold."""
    rng = np.random.default_rng(10)
    rows = rng.standard_normal((40, 300)).astype(np.float32) * rng.choice([0.001, 1, 100], (40, 1)).astype(np.float32)
    assert np.array_equal(ogive.sparsemax(rows), np.stack([ogive.sparsemax(row) for row in rows]))
    assert np.array_equal(ogive.sparsemax(rows, axis=0), ogive.sparsemax(rows.T.copy()).T)


def _root(op):
    made = op.formula()
    return made[0] if isinstance(made, tuple | list) else made


def test_log_softmax_of_sums_of_subnormals():
    row = np.full(1001, -104.5, np.float32)
    row[0] = 0
    found = ogive.log_softmax(row)
    exact = -math.log1p(1000 * math.exp(-104.5))
    assert found[0] == np.float32(exact) != 0
    row = np.full(3001, -103, np.float32)
    row[0] = 0
    assert ogive.log_softmax(row)[0] == np.float32(-3000 * math.exp(-103))


def test_softmax_of_a_long_row():
    """The sum of 3,000,000 equal exponentials."""
    count = 3_000_000
    row = np.full(count, -16, np.float32)
    row[7] = 0
    total = Fraction(count - 1) * Fraction(math.exp(-16)) + 1
    found = ogive.softmax(row)
    assert found[7] == np.float32(float(1 / total))
    assert (np.delete(found, 7) == np.float32(float(Fraction(math.exp(-16)) / total))).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "sparsemax", "entmax15", "standardize"])
def test_any_layout_in_place_and_threads(name):
    op = getattr(ogive, name)
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((300, 5000)).astype(np.float32)
    expected = op(rows)
    turned = np.asfortranarray(rows)
    assert np.array_equal(op(turned), expected)
    copied = rows.copy()
    op(copied, out=copied)
    assert np.array_equal(copied, expected)
    long = rows.reshape(1, -1)
    first = op(long)
    again = long.copy()
    op(again, out=again)
    assert np.array_equal(first, again)


@pytest.mark.matrix(share=16, pool="slow")
def test_special_rows():
    inf, nan = math.inf, math.nan
    for kind in (np.float32, np.float16):
        rows = np.array([[1, nan], [inf, 1], [inf, -inf], [-inf, 2], [-inf, -inf]], kind)
        assert same(computed("sum", rows), [nan, inf, nan, -inf, -inf]).all()
        assert same(computed("mean", rows), [nan, inf, nan, -inf, -inf]).all()
        assert same(computed("l2", rows), [nan, inf, inf, inf, inf]).all()
        assert same(computed("log_sum_exp", rows), [nan, inf, inf, 2, -inf]).all()
        empty = np.zeros((2, 0), kind)
        assert same(computed("sum", empty), [0, 0]).all()
        assert same(computed("mean", empty), [nan, nan]).all()
        assert same(ogive.entmax15(rows), [[nan] * 2, [nan] * 2, [nan] * 2, [0, 1], [nan] * 2]).all()
        assert same(ogive.sparsemax(rows), [[nan] * 2, [nan] * 2, [nan] * 2, [0, 1], [nan] * 2]).all()
        assert same(ogive.softmax(rows), [[nan] * 2, [nan] * 2, [nan] * 2, [0, 1], [nan] * 2]).all()
        assert same(ogive.log_softmax(rows)[3], [-inf, 0]).all()


@row_operator(types=("float32",))
def _centred_share(x):
    return (x - f.row_sum(x) / f.row_sum(f.where(f.equal(x, x), 1, 0))) / f.square_root(f.row_sum(x * x) + 1)


@row_operator(types=("float32",))
def _shifted_tanh(x):
    return f.tanh(x - f.row_sum(f.sin(x)))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("op", [_centred_share, _shifted_tanh])
def test_formulas_of_ones_own(op):
    rng = np.random.default_rng(5)
    for length in (1, 4, 37):
        rows = rng.standard_normal((20, length)).astype(np.float32)
        for row, got in zip(rows, op(rows), strict=True):
            expected = right_rows(_root(op), [[float(x) for x in row]], {}, ELEMENT_TYPES["float32"])
            assert same(got, expected).all()


@pytest.mark.matrix(share=16, pool="slow")
def test_repair_alone_is_right():
    """The second level of softmax, computed of every row."""
    kind = ELEMENT_TYPES["float32"]
    program = rows_with_test([_root(ogive.softmax)], [kind], [kind], 0, reduces=False)
    assert program is not None
    assert program.has_mask_at_end
    repair = program.later[-1].make()
    rows = np.random.default_rng(6).standard_normal((50, 333)).astype(np.float32)
    found, mask = ufunc_of("repair", repair)(rows)
    assert not mask.any()
    assert np.array_equal(found, ogive.softmax(rows))


def undecided(op, rows):
    """The rows that the first level of a row operator leaves to its repair."""
    kind = ELEMENT_TYPES["float32"]
    program = rows_with_test([_root(op)], [kind], [kind], 0, reduces=False)
    assert program is not None
    assert program.undecided is not None
    one, zero = (node(ops.CONSTANT, (), value, Format.F32) for value in (1.0, 0.0))
    program = program.first
    mask = node(ops.SELECT, (program.undecided, one, zero), None, Format.F32)
    shown = replace(program, results=(mask,), undecided=None, later=(), decide_row=None)
    return ufunc_of("undecided", shown)(rows).any(axis=-1)


@pytest.mark.parametrize("op", [ogive.softmax, ogive.log_softmax], ids=lambda op: op.name)
@pytest.mark.parametrize("masked", [0, 1, 100, 300])
def test_masked_rows_need_no_repair(op, masked):
    """Attention masks elements by an infinity: their results are exact, and do not make a row a hard one."""
    rows = np.random.default_rng(7).standard_normal((400, 333)).astype(np.float32)
    rows[:, 333 - masked :] = -np.inf
    assert undecided(op, rows).mean() < 0.05
    assert (
        np.isneginf(op(rows)[:, 333 - masked :]) if op is ogive.log_softmax else op(rows)[:, 333 - masked :] == 0
    ).all()


@pytest.mark.parametrize("offset", [10, -100, 1e5])
def test_rows_far_from_zero_need_no_repair(offset):
    """An error of the mean moves the sum of squares around it by its square alone. It moves elements as it is."""
    op, kind = ogive.mean_variance_normalization, ELEMENT_TYPES["float32"]
    for length in (3, 8, 64, 768):
        rows = (np.random.default_rng(8).standard_normal((200, length)) + offset).astype(np.float32)
        assert offset > 1e4 or undecided(op, rows).mean() < 0.05
        for row, got in zip(rows[:2], op(rows), strict=False):
            assert same(got, right_rows(_root(op), [[float(x) for x in row]], {}, kind)).all()


@pytest.mark.parametrize("length", [1, 15, 70, 1024])
def test_rows_of_nothing_have_no_results(length):
    """Behind rows that have some, so that all are computed by the first level."""
    rows = np.zeros((9, length), np.float32)
    rows[5] = -np.inf
    for op in (ogive.softmax, ogive.log_softmax):
        assert (np.isnan(op(rows)) == (np.arange(9) == 5)[:, None]).all()
    assert (np.isneginf(ogive.logsumexp(rows)) == (np.arange(9) == 5)).all()


def test_what_is_near_a_tie_is_left_to_the_repair():
    """The rows that `undecided` finds: equal elements, whose share 1/3 is no tie, and shares that are."""
    assert undecided(_half, np.ones((3, 2), np.float32)).all()


@row_operator(types=("float32",))
def _half(x):
    """Results that lie on ties of float32, which the first level cannot tell from numbers beside them."""
    return x / f.row_sum(f.exp(x - x)) + 2.0**-25


@pytest.mark.parametrize("kind", TYPES)
def test_masked_rows_have_the_results_of_what_is_not_masked(kind):
    """Also where the others' exponentials are too small for a number, and yet decide ties and the sign of a zero."""
    dtype, rng = np.dtype(ELEMENT_TYPES[kind].numpy), np.random.default_rng(5)
    largest = 4.0 if kind == "float16" else 5.0
    for _ in range(100):
        row = rng.standard_normal(int(rng.integers(2, 30))) * 10.0 ** rng.uniform(-3, largest, 1)
        row = np.clip(row, -6e4, 6e4).astype(dtype) if kind == "float16" else row.astype(dtype)
        masked = np.insert(row, len(row) // 2, dtype.type(-np.inf))
        expected = ogive.log_softmax(row)
        found = np.delete(ogive.log_softmax(masked), len(row) // 2)
        assert found.tobytes() == expected.tobytes()


def test_rows_that_are_zero_take_few_bits(monkeypatch):
    """The sign of what is next to nothing is not looked for with all bits; what is decided is not rounded again."""
    from ogive.enclosures import row_enclosure

    used = []
    plain = row_enclosure.rounded

    def rounded(*arguments):
        used.append(flint.ctx.prec)
        return plain(*arguments)

    monkeypatch.setattr(row_enclosure, "rounded", rounded)
    x = node(ops.INPUT, (), 0, Format.NUMBER)
    e = f.exp(x - f.row_max(x))
    rest = f.row_sum(f.sin(x) ** 2 + f.cos(x) ** 2) - 4  # zero, which no algebra of sums tells
    found = right_rows(f.where(x > 0, e * rest, x), [[0.5, -1.0, 3.0, -2.0]], {}, ELEMENT_TYPES["float32"])
    assert found == [0.0, -1.0, 0.0, -2.0]
    assert [math.copysign(1, value) for value in found] == [1, -1, 1, -1]
    assert max(used) <= 650, used
    assert len(used) == 4 + 3 * 2, used


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_rows_whose_elements_have_nothing_in_common(kind):
    """Results that kernels leave open are decided as those of elements."""

    def product(x, y):
        return y * np.exp(x) * np.exp(-x) * np.exp(x)

    x = np.array([np.inf, 800.0, -0.0, 2.5, -np.inf, np.nan, 1e4], kind)
    of_rows, of_elements = ogive.row_operator(product), ogive.operator(product)
    for factor in (0.0, -0.0, 0.5, np.inf):
        y = np.full(x.shape, factor, kind)
        assert_same_bits(of_rows(x, y), of_elements(x, y), x, y)
