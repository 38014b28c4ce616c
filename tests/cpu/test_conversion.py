"""Numbers that float32 does not have are rounded once to bfloat16 and the small floats, through every door."""

import numpy as np
import pytest

import ogive
from ogive.common.conversion import converted

ml_dtypes = pytest.importorskip("ml_dtypes")

SMALL = [
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"),
    *("float8_e3m4", "float8_e4m3", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
]
TIE = 1 + 2.0**-8
ABOVE = TIE + 2.0**-40  # nearest: 1.0078125
UP = 1.0078125


@pytest.mark.parametrize("dtype", SMALL)
def test_beside_a_middle(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype))
    bits = np.arange(2 ** (8 * kind.itemsize), dtype=f"u{kind.itemsize}")
    with np.errstate(invalid="ignore"):
        values = bits.view(kind).astype(np.float64) if dtype.startswith(("bfloat", "float8")) else None
    if values is None:
        values = np.arange(2 ** int(dtype[5]), dtype=np.uint8).view(kind).astype(np.float64)
    numbers = np.unique(values[np.isfinite(values)])
    middles = (numbers[1:] + numbers[:-1]) / 2
    chosen = slice(None, None, 61 if dtype == "bfloat16" else 1)
    middles, low, high = middles[chosen], numbers[:-1][chosen], numbers[1:][chosen]
    moved = np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)
    usual = np.abs(middles) > 1e-300
    assert np.array_equal(converted(moved[0], kind).astype(np.float64)[usual], high[usual])
    assert np.array_equal(converted(moved[1], kind).astype(np.float64)[usual], low[usual])


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_integers(dtype):
    top = np.iinfo(dtype).max
    kind = np.dtype(ml_dtypes.bfloat16)
    for power in range(25, int(top).bit_length()):
        middle = 2**power + 2 ** (power - 8)
        given = [middle + 1, middle - 1] + ([-middle - 1, -middle + 1] if dtype.startswith("i") else [])
        found = converted(np.array(given, dtype), kind).astype(np.float64)
        up, down = 2.0**power + 2.0 ** (power - 7), 2.0**power
        assert found.tolist() == [up, down, -up, -down][: len(given)], power


def test_as_the_kernel_of_cast():
    onnx = pytest.importorskip("ogive.onnx.casting", reason="onnx is not installed")
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=5000), TIE + rng.normal(size=5000) * 2.0**-30, [np.inf, -np.inf, 1e300, -0.0]])
    by_kernel = np.empty(x.shape, ml_dtypes.bfloat16)
    source, result = onnx.element_type("float64"), onnx.element_type("bfloat16")
    onnx._cast_ufunc(source, result)(x, out=by_kernel)
    assert converted(x, ml_dtypes.bfloat16).tobytes() == by_kernel.tobytes()


def test_other_conversions_are_numpys():
    x = np.array([1.5, -2.5])
    assert converted(x, "float64") is x
    assert converted(x, "float16").tobytes() == x.astype(np.float16).tobytes()
    masked = converted(np.ma.array(x, mask=[0, 1]), "float32")
    assert masked.mask.tolist() == [False, True]
    rounded = converted(np.ma.array([ABOVE, np.nan], mask=[0, 1]), ml_dtypes.bfloat16)
    assert rounded.mask.tolist() == [False, True]
    assert float(rounded[0]) == UP


def doors():
    x, bf = np.array([ABOVE]), ml_dtypes.bfloat16
    zero = np.zeros(1, bf)
    yield "dtype", lambda: ogive.relu(x, dtype="bfloat16")
    yield "dtype as a type", lambda: ogive.relu(x, dtype=bf)
    yield "out", lambda: ogive.relu(x, out=np.zeros(1, bf), casting="unsafe")
    yield "out in a tuple", lambda: ogive.relu(x, out=(np.zeros(1, bf),), casting="unsafe")
    yield "a number", lambda: ogive.add(zero, ABOVE)
    yield "a number first", lambda: ogive.add(ABOVE, zero)
    yield "with where", lambda: ogive.relu(x, out=np.zeros(1, bf), casting="unsafe", where=np.array([True]))
    yield "a parameter beside it", lambda: ogive.leaky_relu(x, alpha=0.5, dtype="bfloat16")


@pytest.mark.parametrize("door", [pytest.param(call, id=name) for name, call in doors()])
def test_doors(door):
    result = door()
    assert result.dtype == ml_dtypes.bfloat16
    assert result.astype(float).tolist() == [UP]


def test_where_leaves_the_rest():
    out = np.full(2, 7, ml_dtypes.bfloat16)
    ogive.relu(np.array([ABOVE, ABOVE]), out=out, casting="unsafe", where=np.array([True, False]))
    assert out.astype(float).tolist() == [UP, 7]


def test_refusals_are_as_before():
    with pytest.raises(ogive.errors.OgiveError):
        ogive.relu(np.array([ABOVE]), out=np.zeros(1, np.int8))
