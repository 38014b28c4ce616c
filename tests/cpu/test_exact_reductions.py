"""Methods of ufuncs that reduce: of floats rounded once, beside fractions, and what has no order beside NumPy's; with all keywords."""

import itertools
from fractions import Fraction
from math import prod

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.catalog.other_names import advice
from ogive.enclosures.enclosure import nearest
from ogive.engine import exact_reductions, prefixes
from tests.inputs import assert_same_bits

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
FOLDS = {"add": sum, "mul": prod}
NUMPY = {"add": np.add, "mul": np.multiply}


def drawn(dtype, shape=(3, 7, 5)):
    generator = np.random.default_rng(3)
    return np.where(generator.random(shape) < 0.5, 0.01, generator.uniform(0.5, 2, shape)).astype(dtype)


def exactly(name, values, dtype):
    """The fold of numbers, as fractions, rounded once."""
    found = Fraction(FOLDS[name](Fraction(float(v)) for v in values))
    return nearest(found.numerator, found.denominator, np.dtype(dtype).name) if found else 0.0


def expected(name, x, axes, dtype, where=None, initial=None):
    """The results of ``reduce``, with all axes kept."""
    where = np.ones(x.shape, bool) if where is None else np.broadcast_to(where, x.shape)
    kept = [1 if i in axes else size for i, size in enumerate(x.shape)]
    result = np.empty(kept, dtype)
    for place in itertools.product(*map(range, kept)):
        part = tuple(slice(None) if i in axes else at for i, at in enumerate(place))
        values = x[part][where[part]].ravel().tolist()
        result[place] = exactly(name, values + ([] if initial is None else [initial]), dtype)
    return result


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_are_rounded_once(name, dtype):
    x = drawn(dtype)
    op, mask = getattr(ogive, name), np.random.default_rng(0).random((7, 1)) < 0.6
    for axis in (0, 1, -1, (0, 2), (2, 1), None, ()):
        axes = range(3) if axis is None else [i % 3 for i in np.atleast_1d(np.array(axis, int))]
        full = expected(name, x, axes, dtype)
        apart = full.reshape([n for i, n in enumerate(full.shape) if i not in axes])[()]
        assert_same_bits(op.reduce(x, axis=axis), apart)
        assert_same_bits(op.bind().reduce(x, axis, keepdims=True), full)
        assert_same_bits(op.reduce(x.T, axis=axis if axis is None else tuple(2 - i for i in axes)), apart.T)
        found = op.reduce(x, axis, where=mask, initial=1.5, keepdims=True)
        assert_same_bits(found, expected(name, x, axes, dtype, mask, 1.5))
        out = np.empty(full.shape, dtype)
        assert op.reduce(x, axis, keepdims=True, out=out) is out
        assert_same_bits(out, full)


@pytest.mark.parametrize("name", FOLDS)
def test_reductions_in_other_types(name):
    op, x = getattr(ogive, name), drawn(np.float16)
    assert_same_bits(
        op.reduce(x, axis=None, dtype=np.float32), expected(name, x, range(3), np.float32).item() * np.float32(1)
    )
    assert_same_bits(op.reduce(x, 1, np.float64), expected(name, x, [1], np.float64)[:, 0])
    whole = np.arange(1, 9, dtype=np.int16)
    assert op.reduce(whole, dtype=np.float32) == FOLDS[name](range(1, 9))
    assert_same_bits(op.reduce(whole), NUMPY[name].reduce(whole))
    assert_same_bits(op.reduce(whole, dtype=np.int16), NUMPY[name].reduce(whole, dtype=np.int16))
    out = np.empty((), np.float32)
    assert op.reduce(x, axis=None, out=out) is out
    assert_same_bits(out, expected(name, x, range(3), np.float32).reshape(()))


@pytest.mark.parametrize(("name", "row_name"), [("logaddexp", "log_sum_exp"), ("hypot", "l2")])
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_logarithms_and_lengths(monkeypatch, name, row_name, dtype):
    """Each place beside the reduction of what is up to it, which other tests compare with enclosures."""
    op, x = getattr(ogive, name), drawn(dtype, (3, 33))
    x[0, 4:6] = np.nan, np.inf
    x[1, 7], x[2, :3] = np.inf, -np.inf
    wanted = np.stack([op.reduce(x[:, : i + 1], axis=1) for i in range(33)], axis=1)
    assert_same_bits(op.accumulate(x, axis=1), wanted)
    monkeypatch.setattr(prefixes, "GATHERED", 100)  # one row, and few places, at a time
    assert_same_bits(op.accumulate(x.T).T, wanted)
    assert exact_reductions.OF_NAMES[name] == row_name
    assert "Write ogive.logcumsumexp(x, axis=...)" in advice("cumlogsumexp")
    assert op.accumulate(x[:0], axis=1).shape == (0, 33)
    assert op.accumulate(x[:, :0], axis=1).shape == (3, 0)
    out = np.empty_like(x)
    assert op.accumulate(x, axis=-1, out=out) is out
    assert_same_bits(out, wanted)


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_and_segments(name, dtype):
    op, x = getattr(ogive, name), drawn(dtype, (2, 40))
    for row, found in zip(x, op.accumulate(x, axis=1), strict=True):
        assert found.tolist() == [exactly(name, row[: i + 1].tolist(), dtype) for i in range(40)]
    places = [0, 7, 3, 3, 39, 10]
    ends = [7, 8, 4, 39, 40, 40]  # an index that is not below the next one has its own element
    for row, found in zip(x, op.reduceat(x, places, axis=-1), strict=True):
        assert found.tolist() == [exactly(name, row[a:b].tolist(), dtype) for a, b in zip(places, ends, strict=True)]
    assert_same_bits(op.reduceat(x.T, places), op.reduceat(x, places, axis=1).T)


def test_long_sums_of_short_types():
    h = np.full(100_000, 0.01, np.float16)
    assert ogive.add.reduce(h) == 1000
    assert ogive.add.accumulate(h)[-1] == 1000
    assert ogive.add.reduceat(h, [0, 50_000]).tolist() == [500, 500]
    assert ogive.add.reduce(np.ones(10_000, np.float16)) == 10_000
    assert ogive.logaddexp.reduce(h) == np.float16(float(h[0]) + np.log(100_000))
    assert ogive.hypot.reduce(h) == np.float16(float(h[0]) * 100_000**0.5)
    assert ogive.max.reduce(h) == ogive.min.reduce(h) == h[0]


@pytest.mark.parametrize("name", ["add", "mul", "logaddexp", "hypot", "max", "fmin"])
def test_nothing_numbers_and_refusals_are_those_of_numpy(name):
    op, numpy = getattr(ogive, name), {**NUMPY, "max": np.maximum}.get(name) or getattr(np, name)
    assert op.bind().identity == numpy.identity
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    calls = [
        lambda u: u.reduce(x[:0]),
        lambda u: u.reduce(x[:, :0], axis=1),
        lambda u: u.reduce(x[:, :0], axis=1, initial=2.0),
        lambda u: u.reduce(x, where=False),
        lambda u: u.reduce(x, where=False, initial=3.0),
        lambda u: u.reduce(np.float32(5)),
        lambda u: u.reduce([1.0, 2.0], axis=-1),
        lambda u: u.reduce(x, axis=2),
        lambda u: u.reduce(x, axis=(0, 0)),
        lambda u: u.reduce(x, out=np.empty(2, np.float32)),
        lambda u: u.reduce(x, initial=None),
        lambda u: u.reduce(x[:0], initial=None),
        lambda u: u.reduce(x, nothing=1),
        lambda u: u.accumulate(x, axis=None),
        lambda u: u.accumulate(x[:0]),
        lambda u: u.reduceat(x, [2]),
        lambda u: u.reduceat(x, [-1]),
        lambda u: u.reduceat(x, []),
        lambda u: u.reduceat(x, [0.5]),
    ]
    for number, call in enumerate(calls):
        try:
            wanted = call(numpy)
        except Exception as refusal:
            with pytest.raises(type(refusal)):
                call(op.bind())
        else:
            got = call(op.bind())
            assert type(got) is type(wanted), number
            assert np.array_equal(got, np.asarray(wanted)) or np.allclose(got, wanted, rtol=1e-6), number


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("kind", "bhilqBHILQ")
def test_short_integers_are_widened_as_by_numpy(name, kind):
    """The products were those of the elements' own type: 100 * 100 of int8 was 16."""
    x = np.array([[100, 100, 3], [7, 90, 2]], kind)
    mask, op, numpy = np.array([[True, True, False], [True, True, True]]), getattr(ogive, name), NUMPY[name]
    calls = [
        lambda u: u.reduce(x),
        lambda u: u.reduce(x, 1),
        lambda u: u.reduce(x, axis=None, keepdims=True),
        lambda u: u.reduce(x, axis=1, where=mask, initial=2),
        lambda u: u.reduce(x, axis=1, dtype=kind),
        lambda u: u.reduce(x, 1, kind),
        lambda u: u.reduce(x, axis=1, out=np.zeros(2, kind)),
        lambda u: u.reduce(x[:0], axis=0),
        lambda u: u.reduce(np.ma.array(x).view(np.recarray), axis=1),
        lambda u: u.accumulate(x, axis=1),
        lambda u: u.reduceat(x[0], [0, 2]),
    ]
    for call in calls:
        assert_same_bits(np.asarray(call(op.bind())), np.asarray(call(numpy)))


def test_other_containers():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    h = torch.full((2, 50_000), 0.01, dtype=torch.float16)
    found = ogive.add.reduce(h, axis=1)
    assert found.dtype == torch.float16
    assert found.tolist() == [500, 500]
    assert ogive.add.reduce(h.bfloat16(), axis=None) == torch.tensor(1000.0)
    assert ogive.mul.reduce(h[0, :3].float()) == float(np.float32(float(h[0, 0]) ** 3))
    assert ogive.add.accumulate(h, axis=1)[0, -1] == 500
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    assert np.asarray(ogive.add.bind().reduce(np.asarray(xarray.DataArray(h.numpy())), axis=1)).tolist() == [500, 500]


def test_sums_of_ones_own_and_others():
    @ogive.operator(identity=0.0)
    def plus(a, b):
        return a + b

    @ogive.operator
    def weighted(a, b, *, weight=1.0):
        return a + weight * b

    h = np.full(10_000, 0.01, np.float16)
    assert plus.reduce(h) == 100
    assert plus.reduce(h.reshape(100, 100), axis=None) == 100
    assert weighted.reduce(h) == 32  # one after the other, as its formula says


def test_a_function_without_a_module_is_an_operator():
    """Code that is executed without a name for its module makes such functions."""
    names: dict = {"ogive": ogive}
    exec("f = lambda x, y: x + y", names)
    names["f"].__module__ = None
    op = ogive.operator(names["f"])
    assert op(1.0, 2.0) == 3.0
    assert op.reduce(np.float16([0.01] * 1000)) == np.float16(1000 * float(np.float16(0.01)))


def any_order(name):
    """The types that are tested of an operator whose results depend on no order."""
    kinds, _ = exact_reductions.IN_ANY_ORDER[name]
    return [np.dtype(t) for t in ("?", "i1", "u4", "i8", "e", ml_dtypes.bfloat16, "f", "d") if _kind(t) in kinds]


def _kind(dtype):
    return "f" if np.dtype(dtype).kind == "V" else np.dtype(dtype).kind


ANY_ORDER = [(name, dtype) for name in exact_reductions.IN_ANY_ORDER for dtype in any_order(name)]


@pytest.mark.parametrize(("name", "dtype"), ANY_ORDER, ids=str)
def test_in_any_order_the_bits_are_those_of_one_after_the_other(monkeypatch, name, dtype):
    """Whole rows at once, parts and few elements, beside NumPy's methods, which combine one element after the other."""
    op, generator = getattr(ogive, name), np.random.default_rng(11)
    x = generator.integers(-3, 3, (2, 37, 3)).astype(dtype)
    if _kind(dtype) == "f":
        x[generator.random(x.shape) < 0.02] = np.nan
        x[generator.random(x.shape) < 0.2] *= -0.0
    kept = x.copy()
    ufunc = NUMPY.get(name, op.bind())  # NumPy widens the short integers of its own sums and products
    for at_a_time in (1 << 16, 1):
        monkeypatch.setattr(exact_reductions, "AT_A_TIME", at_a_time)
        for given in (x, x.T, x[:, ::-2], x[:, :1]):
            mask = generator.random(given.shape) < 0.5
            for axis in (0, 1, -1, (0, 2), None, ()):
                for keywords in ({}, {"keepdims": True}, {"initial": 1, "where": mask}):
                    right = np.ufunc.reduce(ufunc, given, axis=axis, **keywords)
                    assert_same_bits(op.reduce(given, axis=axis, **keywords), right)
            for axis in (0, -1):
                assert_same_bits(op.accumulate(given, axis=axis), np.ufunc.accumulate(ufunc, given, axis=axis))
        assert_same_bits(op.reduceat(x, [0, 5, 4, 36], axis=1), np.ufunc.reduceat(ufunc, x, [0, 5, 4, 36], axis=1))
    assert_same_bits(x, kept)


def test_what_has_no_order_refuses_as_numpy_does():
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    for error, call in (
        (ValueError, lambda f: f.reduce(x, where=x > 1)),
        (ValueError, lambda f: f.reduce(x[:, :0], axis=1)),
        (OverflowError, lambda f: f.reduce(x, initial=300)),
        (ValueError, lambda f: f.reduce(x, axis=7)),
        (ValueError, lambda f: f.accumulate(x, axis=(0, 1))),
    ):
        for function in (np.maximum, ogive.max):
            with pytest.raises(error):
                call(function)
    for keywords in ({"initial": 2.0}, {"dtype": np.int8}, {"out": np.empty(3, bool)}):
        assert_same_bits(ogive.max.reduce(x * 1.5, **keywords), np.maximum.reduce(x * 1.5, **keywords))
    assert ogive.add.reduce(x).dtype == np.add.reduce(x).dtype
    assert ogive.add.reduce(x[:, :0], axis=1).tolist() == [0, 0]
