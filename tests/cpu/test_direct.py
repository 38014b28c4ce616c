"""Calls that go past NumPy's machinery give what the ufunc gives, and calls that need it still get it."""

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.errors import OgiveError
from tests.inputs import assert_same_bits


class Subclass(np.ndarray):
    pass


def base(kind="float32", shape=(4, 33)):
    return (np.random.default_rng(0).standard_normal(shape) * 3).astype(kind)


def unaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


ARRAYS = {
    "plain": lambda x: x,
    "one element": lambda x: x[:1, :1].copy(),
    "no elements": lambda x: x[:0],
    "no dimensions": lambda x: x[0, 0].reshape(()),
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1],
    "every second": lambda x: x[:, ::2],
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "unaligned": unaligned,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "subclass": lambda x: x.view(Subclass),
    "float16": lambda x: x.astype(np.float16),
    "bfloat16": lambda x: x.astype(ml_dtypes.bfloat16),
    "list": lambda x: x.tolist(),
}


def assert_same(result, expected):
    assert type(result) is type(expected)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert_same_bits(np.ascontiguousarray(result), np.ascontiguousarray(expected))


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_every_kind_of_array(make):
    x = make(base())
    bound = ogive.celu.bind(alpha=1.5)
    assert_same(ogive.celu(x, alpha=1.5), bound(x))
    assert_same(ogive.tanh(x), ogive.tanh.bind()(x))
    if isinstance(x, np.ndarray):
        out, expected = np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)
        assert ogive.celu(x, alpha=1.5, out=out) is out
        assert_same(out, bound(x, out=expected))


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_every_kind_of_second_operand(make):
    x, y = base(), make(base() + 1)
    bound = ogive.add.bind()
    try:
        expected = bound(x, y)
    except ValueError:
        with pytest.raises(OgiveError, match="shapes"):
            ogive.add(x, y)
    else:
        assert_same(ogive.add(x, y), expected)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_overlapping_output(shift):
    memory = base(shape=104)
    x, out = memory[2:102], memory[2 + shift : 102 + shift]
    expected = ogive.celu(x.copy())
    assert ogive.celu(x, out=out) is out
    assert_same_bits(out.copy(), expected)


@pytest.mark.parametrize("make", [v for k, v in ARRAYS.items() if k not in ("list", "read-only", "plain")])
def test_output_that_is_not_plain(make):
    x = base()
    out = make(np.zeros_like(x))
    try:
        ogive.celu.bind()(x, out=out.copy(order="K"), casting="same_kind")
    except (ValueError, TypeError):
        with pytest.raises(OgiveError):
            ogive.celu(x, out=out)
    else:
        assert ogive.celu(x, out=out) is out
        assert_same_bits(np.ascontiguousarray(out), ogive.celu(x).astype(out.dtype))


def test_output_that_must_not_be_written():
    x = base()
    out = ARRAYS["read-only"](np.zeros_like(x))
    with pytest.raises(OgiveError):
        ogive.celu(x, out=out)
    assert not out.any()


def test_output_of_another_type_than_the_result():
    x = base()
    out = np.zeros(x.shape, np.int8)
    with pytest.raises(OgiveError):
        ogive.celu(x, out=out)
    assert not out.any()
    same_memory = base()
    expected = ogive.less(same_memory, x)
    assert_same(ogive.less(same_memory, x, out=same_memory.view(np.bool_).reshape(4, -1)[:, :33]), expected)


def test_out_as_a_tuple_and_none():
    x, out = base(), np.empty_like(base())
    assert ogive.celu(x, out=(out,)) is out
    assert_same(ogive.celu(x, out=None), out)


def test_the_first_call_compiles_and_reports_what_fails(monkeypatch):
    op = ogive.operator(lambda x: x + 1.25)

    def fail(*_, **__):
        raise RuntimeError("no compiler today")

    monkeypatch.setattr("ogive.runtime.kernels.compiled", fail)
    with pytest.raises(Exception, match="no compiler today"):
        op(base())
    monkeypatch.undo()
    assert_same(op(base()), base() + np.float32(1.25))


def test_operators_that_forget_keep_what_runs():
    class Meddling(np.ndarray):
        def __array_finalize__(self, parent):
            ogive.relu._forget()

    x = base()
    for _ in range(3):
        assert_same(np.asarray(ogive.relu(x.view(Meddling))), ogive.relu(x))
