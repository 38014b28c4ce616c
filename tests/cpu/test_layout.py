"""The same bits for every position, length, stride, alignment, number of threads, in and out of place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ogive
from tests.inputs import CASE_IDS, CASES, LOOP_IDS, LOOPS, assert_same_bits, named, operands

LENGTHS = [*range(1, 40), 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 2047, 2048, 2049, 4099]


def required(op):
    return {p.name: 1.5 for p in op.parameters if p.is_required}


def strided(array, step, offset=0, guard=None):
    """The same values in memory with gaps, which hold a guard."""
    kind = array.dtype
    memory = np.empty(len(array) * abs(step) + 8 + offset, dtype=kind)
    memory[:] = np.zeros(1, kind)[0] if guard is None else guard
    view = memory[offset : offset + len(array) * abs(step) : abs(step)]
    view = view[::-1] if step < 0 else view
    view[:] = array
    return memory, view


@pytest.mark.matrix("op.name", share=3)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_layout_never_changes_bits(op, signature):
    arrays = operands(signature, 4200)
    parameters = required(op)
    whole = op(*arrays, **parameters)
    for length in LENGTHS:
        assert_same_bits(op(*(a[:length] for a in arrays), **parameters), whole[:length], *(a[:length] for a in arrays))
    for offset in range(1, 9):
        assert_same_bits(op(*(a[offset:] for a in arrays), **parameters), whole[offset:])
    for step in (-3, -2, -1, 2, 3, 5):
        views = [strided(a, step)[1] for a in arrays]
        assert_same_bits(op(*views, **parameters), whole)
        out_kind = signature.outputs[0].numpy
        memory, out = strided(np.zeros(len(whole), out_kind), -step, offset=3)
        before = memory.copy()
        op(*arrays, out=out, **parameters)
        assert_same_bits(out.copy(), whole)
        out[:] = 0
        assert_same_bits(memory, before)  # nothing was written between the elements


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("op", "signature"), LOOPS, ids=LOOP_IDS)
def test_every_element_alone(op, signature):
    arrays = operands(signature, 50)
    parameters = required(op)
    whole = op(*arrays, **parameters)
    for i in range(0, len(whole), 3):
        alone = op(*(a[i : i + 1] for a in arrays), **parameters)
        assert_same_bits(alone, whole[i : i + 1])


IN_PLACE = [(op, s) for op, s in LOOPS if s.inputs[0] == s.outputs[0]]


@pytest.mark.parametrize(("op", "signature"), IN_PLACE, ids=named(IN_PLACE))
def test_in_place(op, signature):
    arrays = operands(signature, 3000)
    parameters = required(op)
    expected = op(*arrays, **parameters)
    for step in (1, 2, -1):
        first = strided(arrays[0], step)[1]
        result = op(first, *arrays[1:], out=first, **parameters)
        assert result is first
        assert_same_bits(first.copy(), expected)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("op", "signature"), LOOPS, ids=LOOP_IDS)
def test_threads_never_change_bits(op, signature, threads):
    arrays = [np.resize(a, 400_003) for a in operands(signature, 3000)]
    parameters = required(op)
    threads(1)
    expected = op(*arrays, **parameters)
    for count in (2, 3, 7):
        threads(count)
        assert_same_bits(op(*arrays, **parameters), expected)
        reversed_views = [a[::-1] for a in arrays]
        assert_same_bits(op(*reversed_views, **parameters)[::-1], expected)


def test_broadcasting_keeps_bits():
    x = operands(next(s for op, s in CASES if op is ogive.prelu and s.inputs[0].name == "float32"), 600)[0][:600]
    x = x.reshape(2, 3, 100)
    slope = np.float32([0.25, -1.0, 3.0]).reshape(3, 1)
    full = np.broadcast_to(slope, x.shape).copy()
    assert_same_bits(ogive.prelu(x, slope), ogive.prelu(x, full))
    assert_same_bits(ogive.prelu(x, np.float32(0.25)), ogive.prelu(x, np.full_like(x, 0.25)))
    transposed = x.transpose(2, 0, 1)
    assert_same_bits(ogive.prelu(transposed, slope.ravel()), ogive.prelu(x, full).transpose(2, 0, 1))


@pytest.mark.matrix(share=16, pool="slow")
@given(
    st.lists(st.integers(1, 5), min_size=0, max_size=5),
    st.data(),
)
def test_any_shape_and_any_view(shape, data):
    count = int(np.prod(shape, dtype=int))
    x = np.linspace(-5, 5, max(count, 1), dtype=np.float32)[:count].reshape(shape)
    order = data.draw(st.permutations(range(len(shape))))
    slices = tuple(
        data.draw(st.sampled_from([slice(None), slice(None, None, -1), slice(None, None, 2)])) for _ in shape
    )
    view = x.transpose(order)[slices]
    expected = ogive.celu(np.ascontiguousarray(view), alpha=1.5)
    assert_same_bits(np.asarray(ogive.celu(view, alpha=1.5)), np.asarray(expected))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4, 2), ()])
def test_empty_and_zero_dimensional(shape):
    x = np.ones(shape, np.float32)
    result = np.asarray(ogive.celu(x))
    assert result.shape == shape
    assert result.dtype == np.float32
    out = np.empty(shape, np.float32)
    assert ogive.celu(x, out=out) is out


def test_unaligned_and_byte_swapped_memory():
    raw = np.zeros(41, np.uint8)
    x = raw[1:].view(np.float32)
    x[:] = np.linspace(-2, 2, 10)
    assert not x.flags.aligned
    assert_same_bits(ogive.celu(x), ogive.celu(x.copy()))
    swapped = x.astype(">f4")
    assert np.array_equal(ogive.celu(swapped), ogive.celu(x.copy()))


def test_partial_overlap_is_computed_as_if_copied():
    memory = np.linspace(-3, 3, 5000, dtype=np.float32)
    for source, target in (
        (slice(0, 4000), slice(1, 4001)),
        (slice(7, 4007), slice(0, 4000)),
        (slice(0, 4000, 2), slice(0, 2000)),
    ):
        buffer = memory.copy()
        expected = ogive.celu(buffer[source].copy())
        ogive.celu(buffer[source], out=buffer[target])
        assert_same_bits(buffer[target], expected)


def test_where_leaves_the_rest_alone():
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    out = np.full_like(x, 7)
    mask = np.arange(1000) % 3 == 0
    ogive.celu(x, out=out, where=mask)
    assert_same_bits(out, np.where(mask, ogive.celu(x), np.float32(7)))


def test_reduce_and_accumulate_are_sequential():
    f = ogive.add.bind()
    x = np.arange(100, dtype=np.int32)
    assert f.reduce(x) == x.sum()
    assert np.array_equal(f.accumulate(x), np.cumsum(x))
    assert np.array_equal(f.outer(x[:5], x[:7]), np.add.outer(x[:5], x[:7]))
    matrix = np.arange(12, dtype=np.float64).reshape(3, 4)
    assert np.array_equal(f.reduce(matrix, axis=0), matrix.sum(axis=0))
    totals = np.zeros(3)
    f.at(totals, [0, 1, 1, 2], np.array([1.0, 2.0, 3.0, 4.0]))
    assert totals.tolist() == [1, 5, 4]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("offset", [0, 1, 5, 15, 16])
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_results_larger_than_the_caches_have_the_same_bits(kind, offset, threads):
    """They are written past the caches, from the first aligned element on; then threads share them."""
    count = (1 << 28) // (2 * np.dtype(kind).itemsize) // 4 + 77  # 64 MiB with the result
    pattern = np.arange(-100, 101).astype(kind)
    x = np.resize(pattern, count)
    expected = np.resize(ogive.shrink(pattern, bias=1.0, lambd=7.0), count)
    for thread_count in (1, 3):
        threads(thread_count)
        memory = np.full(count + 40, 99, kind)
        ogive.shrink(x, bias=1.0, lambd=7.0, out=memory[offset : offset + count])
        assert_same_bits(memory[offset : offset + count], expected)
        assert (memory[:offset] == 99).all()
        assert (memory[offset + count :] == 99).all()


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("offset", [0, 1, 16, 21])
@pytest.mark.parametrize("width", [1040, 1088, 1104, 4096, 4100])
def test_broadcast_results_larger_than_the_caches_have_the_same_bits(width, offset, threads):
    """The middle of every row is written past the caches, if it begins at the same column in all."""
    rows = (1 << 24) // (3 * width)
    pattern = np.linspace(-9, 9, 2003, dtype=np.float32)
    x = np.resize(pattern, rows * width).reshape(rows, width)
    operands = {
        "row": np.resize(pattern, width),
        "column": np.resize(pattern, (rows, 1)),
        "planes": np.resize(pattern, (2, rows // 2, 1)),
        "number": np.float32(0.3),
        "array of one": np.float32([0.3]),
    }
    memory = np.empty(x.size + 64, np.float32)
    aligned = (-memory.ctypes.data % 64) // 4 + offset
    for name, other in operands.items():
        a = x[: rows // 2 * 2].reshape(2, rows // 2, width) if name == "planes" else x
        expected = np.add(a, other)
        for count in (1, 2):
            threads(count)
            memory[:] = 99
            out = memory[aligned : aligned + a.size].reshape(a.shape)
            ogive.add(a, other, out=out)
            assert_same_bits(out, expected)
            assert (memory[:aligned] == 99).all()
            assert (memory[aligned + a.size :] == 99).all()
            assert_same_bits(ogive.add(out, other, out=out), np.add(expected, other))  # in place


def test_a_number_that_lies_in_the_results_is_read_first(threads):
    """Whatever is written past the caches: NumPy's answer is that of operands which do not overlap."""
    threads(2)
    memory = np.linspace(-4, 4, (1 << 24) // 3, dtype=np.float32)
    number = memory[1000:1001]
    expected = np.add(memory, number.copy())
    assert_same_bits(ogive.add(memory, number, out=memory), expected)
    x = memory.copy()
    expected = np.add(x, memory[77:78].copy())
    assert_same_bits(ogive.add(x, memory[77:78], out=memory), expected)
