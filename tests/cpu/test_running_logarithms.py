"""Running logarithms of sums of exponentials: the bits of logsumexp of each prefix, and gradients beside sums in 600 bits."""

import pickle

import mpmath
import numpy as np
import pytest

import ogive
from ogive.common.dtypes import element_type
from ogive.errors import DTypeError, ParameterError, ShapeError
from tests.gradients.test_confident_rows import rounded

SHORT, TYPES = ("float16", "bfloat16", "float32"), ("float16", "bfloat16", "float32", "float64")


def rows_of(kind, seed):
    """Rows of several widths, on a grid, with a largest element of 0 in front, and of elements far apart."""
    rng = np.random.default_rng(seed)
    for width in (1e-3, 1.0, 30.0, 400.0):
        yield rng.standard_normal(25) * width
    yield np.round(rng.standard_normal(25) * 2) / 2
    yield np.append(0.0, -np.abs(rng.standard_normal(24)) * 40)
    yield np.append(rng.standard_normal(12) - 900, rng.standard_normal(13))


def same(a, b):
    return np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True)


@pytest.mark.parametrize("kind", TYPES)
def test_each_is_logsumexp_of_its_prefix(kind):
    numpy_type, inf, nan = element_type(kind).numpy, np.inf, np.nan
    special = [[-inf, -inf, 1, inf, 2], [-0.0, -inf, -inf, 0, 1], [1, nan, inf, 2, 3], [inf, -inf, nan, 1, 2]]
    for row in (*rows_of(kind, 3), *special):
        x = np.asarray(row).astype(numpy_type)
        wanted = [ogive.logsumexp(x[: end + 1]) for end in range(x.size)]
        assert same(ogive.logcumsumexp(x), wanted), x
        assert same(ogive.logaddexp.accumulate(x), wanted), x
    grid = np.asarray(list(rows_of(kind, 4))).astype(numpy_type)
    assert same(ogive.logcumsumexp(grid.T, axis=0), ogive.logcumsumexp(grid).T)


@pytest.mark.parametrize("kind", TYPES)
def test_gradients_are_the_nearest_numbers(kind):
    numpy_type = element_type(kind).numpy
    backward = ogive.vjp(ogive.logcumsumexp)
    for seed, row in enumerate(rows_of(kind, 5)):
        x = row.astype(numpy_type)
        given = (np.random.default_rng(seed).standard_normal(x.size) * 8).astype(numpy_type)
        given = np.round(given.astype(float)).astype(numpy_type) if seed % 2 else given
        with mpmath.workprec(1600):
            terms = [mpmath.exp(mpmath.mpf(float(v))) for v in x]
            sums = [mpmath.fsum(terms[: end + 1]) for end in range(x.size)]
            parts = [mpmath.mpf(float(g)) / total for g, total in zip(given, sums, strict=True)]
            exact = [term * mpmath.fsum(parts[i:]) for i, term in enumerate(terms)]
        wanted = np.array([rounded(value, kind) for value in exact]).astype(numpy_type)
        assert same(backward(given, x), wanted), x


def test_gradients_of_special_rows():
    backward, inf, nan = ogive.vjp(ogive.logcumsumexp), np.inf, np.nan
    for kind in ("float32", "float64"):
        ones = np.ones(3, kind)
        assert same(backward(ones, np.array([-inf, 0, -inf], kind)), [nan, 2, 0])
        assert same(backward(ones, np.full(3, -inf, kind)), [nan] * 3)
        assert same(backward(ones, np.array([1, inf, 2], kind)), [nan] * 3)
        assert same(backward(ones, np.array([1, nan, 2], kind)), [nan] * 3)
    assert backward(np.ones((0, 3)), np.ones((0, 3))).shape == (0, 3)
    assert float(backward(2.0, 5.0)) == 2.0


def test_long_rows_are_those_of_their_parts():
    x = np.random.default_rng(1).standard_normal((2, 20_000)).astype(np.float32)
    found = ogive.logcumsumexp(x)
    for end in (0, 1, 777, 16_384, 19_999):
        assert same(found[:, end], ogive.logsumexp(x[:, : end + 1]))


def test_wrong_calls_and_pickles():
    assert pickle.loads(pickle.dumps(ogive.logcumsumexp)) is ogive.logcumsumexp
    assert ogive.logcumsumexp(np.arange(2)).dtype == np.float64
    with pytest.raises(
        ParameterError, match="axis is 2 for an array of 1 dimensions; allowed: whole numbers from -1 to 0"
    ):
        ogive.logcumsumexp([1.0], axis=2)
    with pytest.raises(DTypeError, match="logcumsumexp: x is 'a'; allowed: float16, bfloat16, float32, float64"):
        ogive.logcumsumexp("a")
    with pytest.raises(ShapeError, match=r"the gradient has shape \(1,\), and x \(2,\); allowed: the shape of x"):
        ogive.vjp(ogive.logcumsumexp)([1.0], [1.0, 2.0])
