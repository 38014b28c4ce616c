"""Reductions of rows against exact sums."""

import math
from fractions import Fraction
from functools import reduce

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.common.dtypes import FLOATS, INTEGERS, element_type
from ogive.enclosures.row_enclosure import right_rows
from ogive.engine.computation import make_ufunc
from ogive.engine.row_formulas import REDUCTIONS, reduction
from ogive.laboratory.accuracy import error_in_ulp
from tests.inputs import assert_same_bits

LENGTHS = (1, 2, 7, 16, 100, 1001, 16385)


def compute(name, x, result=None):
    kind = next(kind for kind in FLOATS if kind.numpy == x.dtype)
    out = kind if result is None else element_type(result)
    return make_ufunc(name, reduction(name, kind, out))(x)


def exact(name, row):
    """As a fraction; the root of one to float64."""
    row = [Fraction(float(value)) for value in row]
    sums = {
        "sum": lambda: sum(row),
        "mean": lambda: sum(row) / len(row),
        "l1": lambda: sum(map(abs, row)),
        "sum_square": lambda: sum(value * value for value in row),
        "l2": lambda: Fraction(math.sqrt(sum(value * value for value in row))),
        "max": lambda: max(row),
        "min": lambda: min(row),
    }
    return sums[name]()


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("name", ["sum", "mean", "l1", "sum_square", "l2", "max", "min"])
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
@pytest.mark.parametrize("length", LENGTHS)
def test_against_exact_sums(name, kind, length):
    """Half a unit of the result and, of a sum of numbers that cancel, n 2**-53 of their magnitudes."""
    generator = np.random.default_rng(length)
    x = (generator.standard_normal((3, length)) * 0.5).astype(kind.numpy)
    result = compute(name, x)
    for row, got in zip(x, result[:, 0], strict=True):
        wanted = exact(name, row)
        magnitude = exact("l1", row) / (length if name == "mean" else 1)
        lost = 0.0 if kind.bits == 64 else length * 2.0**-53 * magnitude
        half_a_unit = abs(wanted) * 2.0 ** -{"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[kind.name]
        squares = 2.0**-52 * abs(wanted) if name in ("sum_square", "l2") else 0.0
        assert abs(Fraction(float(got)) - wanted) <= half_a_unit * 1.01 + lost + squares


@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_log_sum_exp(kind):
    x = np.random.default_rng(1).standard_normal((5, 300)).astype(kind.numpy)
    wide = x.astype(np.longdouble)
    wanted = np.log(np.exp(wide).sum(axis=1, keepdims=True))
    assert error_in_ulp(compute("log_sum_exp", x), wanted, kind).max() <= 1
    assert error_in_ulp(compute("log_sum", np.abs(x)), np.log(np.abs(wide).sum(axis=1, keepdims=True)), kind).max() <= 1


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_infinities_and_nan(kind):
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, -inf], [inf, 1], [nan, 1], [-inf, 0]], kind.numpy)
    result = compute("log_sum_exp", x)[:, 0].astype(float)
    assert result[[0, 1, 3]].tolist() == [-inf, inf, 0.0]
    assert np.isnan(result[2])
    assert compute("sum", x)[:, 0].astype(float)[[0, 1, 3]].tolist() == [-inf, inf, -inf]


def test_the_sign_of_a_zero():
    for length in (2, 16, 17, 100, 40_000):
        for place in (0, length // 2, length - 1):
            x = np.full((1, length), -0.0, np.float32)
            assert np.signbit(compute("max", x)).all()
            assert np.signbit(compute("min", x)).all()
            x[0, place] = 0.0
            assert not np.signbit(compute("max", x)).any()
            assert np.signbit(compute("min", x)).all()
            assert np.signbit(compute("min", -x)).all()


def test_the_first_of_the_largest():
    x = np.zeros((4, 40_000), np.float32)
    x[0, 30_000] = x[0, 35_000] = 1
    x[1, 20_000] = x[1, 100] = np.nan
    x[2, 5] = -1
    assert compute("arg_max", x, "int64")[:, 0].tolist() == [30_000, 100, 0, 0]
    assert compute("arg_min", x, "int64")[:, 0].tolist() == [0, 100, 5, 0]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_every_reduction_computes_every_type(name, kind):
    result = "int64" if name.startswith("arg") else None
    x = np.array([[1.0, 2.0], [3.0, 1.0]], kind.numpy)
    found = compute(name, x, result)
    assert found.dtype == (np.int64 if result else kind.numpy)
    assert found.shape == (2, 1)
    turned = compute(name, x[:, ::-1], result)
    assert_same_bits(1 - turned if result else turned, found)


def factors(kind, which, length):
    """Rows whose products, or what is multiplied first, overflow or underflow; or of small integers, which lie on ties."""
    generator = np.random.default_rng(length)
    rows = 8 if length < 1000 else 2
    if which == "ties":
        return generator.integers(1, 4, (rows, length)).astype(kind.numpy)
    if which == "subnormal":
        return (
            generator.integers(1, 9, (rows, length)) * float(ml_dtypes.finfo(kind.numpy).smallest_subnormal)
        ).astype(kind.numpy)
    width = math.log(float(ml_dtypes.finfo(kind.numpy).max)) * 0.8
    x = np.exp(generator.uniform(-1, 1, (rows, length)) * width).astype(kind.numpy)
    half = length // 2
    x[:, half : 2 * half] = (1 / x[:, :half].astype(np.longdouble)).astype(kind.numpy)
    return np.where(generator.random(x.shape) < 0.5, -x, x)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("which", ["balanced", "ties", "subnormal"])
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
@pytest.mark.parametrize("length", LENGTHS)
def test_products_are_rounded_once(kind, length, which):
    """float64: half a unit, and more where the result is subnormal."""
    x = factors(kind, which, length)
    root = reduction("product", kind, kind).roots[0]
    for row, got in zip(x, compute("product", x)[:, 0], strict=True):
        wanted = np.array(right_rows(root, [list(map(float, row))], {}, kind)[0], kind.numpy)[()]
        if kind.bits < 64:
            assert_same_bits(got, wanted)
        else:
            assert got == wanted or abs(got - wanted) <= np.spacing(abs(wanted))


@pytest.mark.parametrize("length", [2, 20_000])
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_products_of_zeros_infinities_and_nan(kind, length):
    x = np.ones((6, length), kind.numpy)
    x[:, -2:] = [[0, np.inf], [np.nan, 0], [-0.0, 3], [np.inf, -2], [-1, np.nan], [-0.0, -3]]
    result = compute("product", x)[:, 0].astype(float)
    assert np.isnan(result[[0, 1, 4]]).all()
    assert result[[2, 3, 5]].tolist() == [0, -np.inf, 0]
    assert np.signbit(result[[2, 3, 5]]).tolist() == [True, True, False]


#: Columns and their lengths: parts of the tiles that are turned, of the columns taken at once, several segments.
MATRICES = ((2, 3), (17, 100), (100, 17), (70, 1001), (65, 5000), (3, 40_000))


OF_COLUMNS = [(name, kind) for name in REDUCTIONS for kind in FLOATS]
OF_COLUMNS += [(name, element_type(kind)) for name in ("sum", "product", "max", "mean") for kind in ("int32", "uint64")]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("name", "kind"), OF_COLUMNS, ids=str)
def test_columns_have_the_bits_of_rows(name, kind):
    """Sums of the first column are odd integers and their halves, which lie on ties of short types."""
    generator = np.random.default_rng(4)
    ufunc = make_ufunc(name, reduction(name, kind, element_type("int64") if name.startswith("arg") else kind))
    for columns, length in MATRICES:
        x = (
            generator.uniform(0.5, 1.8, (length, columns))
            if kind.is_float
            else generator.integers(1, 99, (length, columns))
        )
        x[:, 0] = generator.integers(0, 800, length) / 2 if length < 1000 else x[:, 0]
        x = x.astype(kind.numpy)
        wider = np.concatenate([x, x], axis=1)
        for view in (x.T, x[:, ::-1].T, x[::-1].T, wider[:, ::2].T):
            rows = ufunc(np.ascontiguousarray(view))
            assert_same_bits(ufunc(view), rows)
            with ogive.threads(1):
                assert_same_bits(ufunc(view), rows)


def wrapped(value, kind):
    return (value - kind.minimum) % 2**kind.bits + kind.minimum


WHOLE = {
    "sum": lambda row, kind: wrapped(sum(row), kind),
    "product": lambda row, kind: wrapped(reduce(lambda a, b: a * b % 2**kind.bits, row, 1), kind),
    "l1": lambda row, kind: wrapped(sum(map(abs, row)), kind),
    "sum_square": lambda row, kind: wrapped(sum(value * value for value in row), kind),
    "max": lambda row, kind: max(row, default=kind.minimum),
    "min": lambda row, kind: min(row, default=kind.maximum),
    "mean": lambda row, kind: math.trunc(Fraction(sum(row), len(row) or 1)),
    "arg_max": lambda row, kind: row.index(max(row)) if row else 0,
    "arg_min": lambda row, kind: row.index(min(row)) if row else 0,
}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kind", INTEGERS, ids=lambda k: k.name)
def test_integers_are_exact_and_wrap_around(name, kind):
    """Lengths of parts of a block, of several blocks and of several segments; and rows of the ends of the type."""
    generator = np.random.default_rng(5)
    result = element_type("int64") if name.startswith("arg") else kind
    ufunc = make_ufunc(name, reduction(name, kind, result))
    for length in (0, 1, 2, 7, 100, 1001, 17_000):
        x = generator.integers(kind.minimum, kind.maximum, (4, length), kind.numpy, endpoint=True)
        x[0], x[1] = kind.minimum, kind.maximum
        x[2] |= 1  # of the product something is left
        found = ufunc(x)
        assert found.dtype == result.numpy
        assert found[:, 0].tolist() == [WHOLE[name](row, kind) for row in x.tolist()]
        if length < 1000:  # rows that lie apart
            assert_same_bits(ufunc(np.asfortranarray(x)), found)


def test_there_are_reductions():
    assert len(REDUCTIONS) > 10
