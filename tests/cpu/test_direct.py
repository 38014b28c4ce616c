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


AXES = {
    "reversed": lambda x: x[..., ::-1],
    "reversed rows": lambda x: x[::-1],
    "every third": lambda x: np.repeat(x, 3, axis=-1)[..., ::3],
    "turned": lambda x: np.ascontiguousarray(x.T).T,
    "last axis first": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1),
    "gaps between rows": lambda x: np.repeat(x, 2, axis=0)[::2],
    "one for all rows": lambda x: np.broadcast_to(x[:1], x.shape),
    "one for all columns": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "one for all": lambda x: np.broadcast_to(x.flat[0], x.shape),
}
SHAPES = [(7, 5), (3, 4, 5), (70, 65), (130, 2049), (3, 64, 9, 11), (300, 37), (2, 3, 2, 3, 2, 3), (513, 515)]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("make", AXES.values(), ids=AXES)
@pytest.mark.parametrize("kind", ["float32", "float64", "int8"])
def test_layouts_of_several_dimensions(make, shape, kind, threads):
    x, slope = base(kind, shape), base(kind, shape[-1:])
    laid_out = make(x)
    for second in (slope, base(kind, (*shape[:-1], 1)), make(base(kind, shape) + np.dtype(kind).type(1))):
        bound = ogive.prelu.bind()
        threads(1)
        expected = bound(np.ascontiguousarray(laid_out), np.ascontiguousarray(np.broadcast_to(second, shape)))
        for count in (1, 3):
            threads(count)
            result, by_numpy = ogive.prelu(laid_out, second), bound(laid_out, second)
            assert result.strides == by_numpy.strides
            assert_same_bits(np.ascontiguousarray(result), expected)
            for out in (np.empty(shape, kind), np.empty(shape[::-1], kind).T, np.empty(shape, kind)[::-1, ..., ::-1]):
                assert ogive.prelu(laid_out, second, out=out) is out
                assert_same_bits(np.ascontiguousarray(out), expected)


@pytest.mark.parametrize("make", AXES.values(), ids=AXES)
def test_results_of_one_tensor_lie_as_numpys(make):
    x = make(base(shape=(6, 4, 9)))
    result, by_numpy = ogive.tanh(x), ogive.tanh.bind()(x)
    assert result.strides == by_numpy.strides
    assert_same_bits(np.ascontiguousarray(result), np.ascontiguousarray(by_numpy))


@pytest.mark.parametrize("shape", [(40, 50), (600, 700)])
def test_overlap_in_several_dimensions(shape):
    for view_in, view_out in (
        (np.s_[1:, :], np.s_[:-1, :]),
        (np.s_[:-1, :], np.s_[1:, :]),
        (np.s_[:, 1:], np.s_[:, :-1]),
        (np.s_[:, ::-1], np.s_[:, :]),
        (np.s_[::2, ::2], np.s_[::2, ::2]),
        (np.s_[::2, :], np.s_[1::2, :]),
    ):
        memory = base(shape=shape)
        expected = ogive.celu(memory[view_in].copy())
        ogive.celu(memory[view_in], out=memory[view_out])
        assert_same_bits(memory[view_out].copy(), expected)
    square = base(shape=(300, 300))
    expected = ogive.celu(square.T.copy())
    ogive.celu(square.T, out=square)
    assert_same_bits(square, expected)


def test_results_that_overlap_each_other_are_numpys_business():
    memory = np.zeros(8, np.float32)
    out = np.lib.stride_tricks.as_strided(memory, (4, 5), (4, 4))
    x = np.ones((4, 5), np.float32)
    try:
        ogive.relu.bind()(x, out=out)
    except ValueError:
        with pytest.raises(OgiveError):
            ogive.relu(x, out=out)
    else:
        assert ogive.relu(x, out=out) is out


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rows", [17, 33])
def test_a_repeated_operand_is_whole_for_threads_that_begin_in_the_middle(rows, count, threads):
    """A tile with fewer rows than the next one may be the first that a thread copies the operand for."""
    threads(count)
    generator = np.random.default_rng(11)
    x = generator.standard_normal((2001, 2 * rows, 100), dtype=np.float32)[:, :rows]
    row = generator.standard_normal((1, 1, 100), dtype=np.float32)
    for _ in range(3):
        assert_same_bits(ogive.add(x, row, out=np.full(x.shape, np.nan, np.float32)), x + row)
        assert_same_bits(ogive.add(row, x), row + x)
