"""Reductions of rows against exact sums."""

import math
from fractions import Fraction

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np
import pytest

from ogive.accuracy import error_in_ulp
from ogive.dtypes import FLOATS, element_type
from ogive.engine.computation import make_ufunc
from ogive.engine.reductions import REDUCTIONS, reduction
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


def test_there_are_reductions():
    assert len(REDUCTIONS) > 10
