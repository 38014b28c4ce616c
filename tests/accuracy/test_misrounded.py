"""The count of results that are not correctly rounded: of fixed wrong results it is as many as there are."""

import math

import numpy as np
import pytest

import ogive
from ogive.common.dtypes import element_type
from ogive.errors import DTypeError, ParameterError, UnsupportedError
from ogive.laboratory.accuracy import count_misrounded, misrounded
from ogive.laboratory.accuracy.misrounded import EXAMPLES, WrongResult


def with_wrong(places, change=1):
    """The identity, with results that are off by some units in the last place."""

    def wrong(values):
        result = np.array(values)
        result.view(f"i{result.itemsize}")[np.isin(values.astype(np.float32), np.float32(places))] += change
        return result

    return wrong


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("places", [[], [1.5], [0.25, -3.0, 1024.0], list(range(1, 60))])
def test_as_many_as_there_are(dtype, places):
    found = count_misrounded(ogive.identity, dtype, function=with_wrong(places))
    assert (found.misrounded, found.count, found.inputs) == (len(places), 65536, "every input")
    assert found.by == "wrong"
    assert len(found.first) == min(len(places), EXAMPLES)
    assert {each.inputs[0] for each in found.first} <= set(places)
    assert (found.worst is None) == (not places)


def test_where_and_how_far():
    found = count_misrounded(ogive.identity, "float16", function=with_wrong([1.5, -2.0], 3))
    unit = 2.0**-10
    assert found.first[0] == WrongResult((1.5,), 1.5 + 3 * unit, 1.5, 3.0)
    assert found.first[1] == WrongResult((-2.0,), -2.0 - 6 * unit, -2.0, 3.0)
    assert found.worst == found.first[0]
    found = count_misrounded(ogive.identity, "float16", function=lambda x: np.where(x == 2, np.float16(np.nan), x))
    assert found.misrounded == 1
    assert found.worst.steps == math.inf


def test_signs_of_zero_and_nan():
    found = count_misrounded(ogive.identity, "float16", function=lambda x: np.where(x == 0, -x, x))
    assert (found.misrounded, found.zero_signs) == (2, 2)
    found = count_misrounded(ogive.identity, "float16", function=lambda x: np.where(np.isnan(x), -x, x))
    assert found.misrounded == 0
    found = count_misrounded(
        ogive.identity, "float16", function=lambda x: np.where(x == 0, 2.0**-24, x).astype(x.dtype)
    )
    assert (found.misrounded, found.zero_signs) == (2, 0)


def test_ties_are_counted_exactly():
    """Half of the odd subnormal numbers: of the ties x / 2 those that rounding up, not to even, has wrong."""

    @ogive.operator
    def halved(x):
        return x / 2

    def up(x):
        wide = x.astype(np.float64) / 2
        result = wide.astype(np.float16)
        is_tie = (np.abs(wide - result) == 2.0**-25) & np.isfinite(wide)
        return np.where(
            is_tie & (np.abs(result) < np.abs(wide)),
            np.nextafter(result, np.copysign(np.float16(np.inf), result)),
            result,
        )

    assert count_misrounded(halved, "float16").misrounded == 0
    found = count_misrounded(halved, "float16", function=up)
    # Odd numbers below 2 * 2**10 units: 2**10, with both signs; every second one is up where even is down.
    assert found.misrounded == 1024
    assert found.exactly < 10_000


def test_what_needs_exact_arithmetic():
    """A float32 that has nothing left: x - tanh(x) is about x**3 / 3."""

    @ogive.operator
    def shrinkage(x):
        return x - np.tanh(x)

    def series(x):
        wide = x.astype(np.longdouble)  # which NumPy rounds to float32 first, on its way to float16
        near = wide**3 / 3 - 2 * wide**5 / 15 + 17 * wide**7 / 315
        return np.where(np.abs(x) < 2.0**-7, near, wide - np.tanh(wide)).astype(np.float64).astype(x.dtype)

    if np.finfo(np.longdouble).nmant < 60:
        pytest.skip("long double is not longer than float64 here")
    found = count_misrounded(shrinkage, "float16", function=series)
    assert found.exactly > 1000
    # 2050 - tanh(2050) is above the tie 2049, by 2**-5913: long double has only the tie, and takes it to 2048.
    assert found.misrounded == 2 * 512
    assert found.first[0] == WrongResult((2050.0,), 2048.0, 2050.0, 1.0)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_integers(dtype):
    kind = element_type(dtype)
    found = count_misrounded(
        ogive.shrink, dtype, {"bias": 1.5, "lambd": 1.0}, function=lambda x: ogive.shrink(x, bias=1.5, lambd=1.0)
    )
    assert (found.misrounded, found.count) == (0, 1 << kind.bits)

    def nearest(x):  # not cut off
        return np.where((x > 1) | (x < -1), x, 0).astype(x.dtype)

    found = count_misrounded(ogive.shrink, dtype, {"bias": 0.25, "lambd": 1.0}, function=nearest)
    assert found.misrounded == (kind.maximum - 1) + (-kind.minimum - 1 if kind.minimum else 0)
    assert count_misrounded(ogive.neg, "int16").misrounded == 0  # wraps around


def test_a_stride_and_samples():
    wrong = with_wrong([1.0, 2.0])
    found = count_misrounded(ogive.identity, "float32", stride=1 << 20, function=wrong)
    assert (found.inputs, found.count, found.misrounded) == ("every 1048576th input", 4096, 2)
    told = []
    found = count_misrounded(ogive.mul, "float64", samples=20_000, progress=told.append)
    assert (found.inputs, found.count, found.misrounded, sum(told)) == ("samples", 20_000, 0, 20_000)
    found = count_misrounded(ogive.mul, "int32", samples=2_000)
    assert (found.count, found.misrounded) == (2_000, 0)
    found = count_misrounded(ogive.add, "float32", samples=1_000, function=lambda a, b: np.where(a > 0, a + b, a))
    assert found.misrounded > 100


@pytest.mark.parametrize(
    "op", [ogive.gelu, ogive.softplus, ogive.hard_swish, ogive.log, ogive.sin], ids=lambda op: op.name
)
def test_the_witness_changes_nothing(op, monkeypatch):
    """The count of every input, and of float32 results that are wrong: as many as without it."""

    def wrong(x):
        result = op(x).copy()
        result.view("u4")[x.view("u4") % (1 << 22) == 1 << 21] ^= 1
        return result

    sized = {"stride": 1 << 14, "function": wrong}
    quickly = count_misrounded(op, "float32", **sized)
    monkeypatch.setattr(misrounded, "_witness", lambda *_: None)
    slowly = count_misrounded(op, "float32", **sized)
    assert quickly.misrounded == slowly.misrounded > 400
    assert (quickly.first, quickly.digest) == (slowly.first, slowly.digest)


def test_a_wrong_witness_is_noticed(monkeypatch):
    """One that confirms wrong results; one that confirms none costs time alone."""

    def wrong(x):
        return np.exp(x.astype(np.float64) * (1 + 2.0**-12)).astype(x.dtype)

    sized = {"stride": 1 << 12, "function": wrong}
    monkeypatch.setattr(misrounded, "_witness", lambda *_: wrong)
    with pytest.raises(AssertionError, match="count_misrounded: float64 confirms a wrong result"):
        count_misrounded(ogive.exp, "float32", **sized)
    monkeypatch.setattr(misrounded, "_witness", lambda *_: lambda x: x)
    assert count_misrounded(ogive.exp, "float32", stride=1 << 18).misrounded == 0


def test_digests_tell_results_apart():
    found = [count_misrounded(ogive.identity, "float16", function=with_wrong(p)).digest for p in ([], [], [1.5])]
    assert found[0] == found[1] != found[2]


def test_parameters_are_those_of_a_call():
    """1/6 as float32, in which float32 kernels compute."""
    for alpha in (0.1, 1 / 6, 3):
        assert count_misrounded(ogive.leaky_relu, "float16", {"alpha": alpha}).misrounded == 0
    found = count_misrounded(ogive.leaky_relu, "float16", {"alpha": 0.1})
    assert found.parameters == {"alpha": 0.1}
    with pytest.raises(ParameterError, match="celu: alpha is 0"):
        count_misrounded(ogive.celu, "float16", {"alpha": 0})


def test_what_is_refused():
    with pytest.raises(UnsupportedError, match="softmax: it computes rows; allowed: element-wise operators"):
        count_misrounded(ogive.softmax, "float32")
    with pytest.raises(
        UnsupportedError, match="mul: not every input can be taken of 2 x 16 bits. Say how many samples"
    ):
        count_misrounded(ogive.mul, "float16")
    with pytest.raises(UnsupportedError, match="exp: not every input can be taken of 1 x 64 bits"):
        count_misrounded(ogive.exp, "float64")
    with pytest.raises(
        DTypeError, match="exp: the element type is 'int8'; allowed: float16, float32, float64, bfloat16"
    ):
        count_misrounded(ogive.exp, "int8")
    with pytest.raises(DTypeError, match="count_misrounded: the results are float64; allowed: float16"):
        count_misrounded(ogive.exp, "float16", function=lambda x: x.astype(np.float64))
