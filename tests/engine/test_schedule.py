"""Schedules: temporary arrays never overlap while both are needed, and places are used again."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.engine.schedule import Allocator, Array, Task, Temporary, Workspace, schedule


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 2000), st.integers(0, 100)), max_size=60))
def test_places_never_overlap(actions):
    """Memory is taken and given back in any order."""
    allocator, taken = Allocator(256), []
    for takes, size, which in actions:
        if takes or not taken:
            taken.append((allocator.take(size), size))
        else:
            allocator.give_back(*taken.pop(which % len(taken)))
        spans = sorted((offset, offset + size) for offset, size in taken)
        assert all(offset % 256 == 0 for offset, _ in spans)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
        assert all(end <= allocator.end for _, end in spans)
    while taken:
        allocator.give_back(*taken.pop())
    assert allocator.gaps == ([(0, allocator.end)] if allocator.end else [])


def task(reads, makes, *, is_element_wise=True, form="f"):
    """A task on arrays of 64 bytes and one form, by their letters."""
    return Task(tuple((name, form) for name in reads), tuple(Array(name, 64, "f") for name in makes), is_element_wise)


def test_a_kernel_writes_over_its_last_operand():
    made = schedule([task("", "a"), task("a", "b"), task("b", "c"), task("c", "")], 64)
    assert made.offsets == {"a": 0, "b": 0, "c": 0}
    assert made.size == 64
    assert made.ended == (frozenset(), {"a"}, {"b"}, {"c"})


@pytest.mark.parametrize(
    "second",
    [
        task("a", "b", is_element_wise=False),
        task("a", "b", form="another"),
        Task((("a", "f"), ("a", "another")), (Array("b", 64, "f"),)),
        Task((("a", "f"),), (Array("b", 64, "another"),)),
        Task((("a", "f"),), (Array("b", 32, "f"),)),
    ],
)
def test_what_is_not_alike_is_not_written_over(second):
    made = schedule([task("", "a"), second, task("b", "")], 64)
    assert made.offsets == {"a": 0, "b": 64}


def test_what_is_needed_later_is_not_written_over():
    assert schedule([task("", "a"), task("a", "b"), task("ab", "")], 64).offsets == {"a": 0, "b": 64}
    kept = schedule([task("", "a"), task("a", "b"), task("b", "")], 64, kept="a")
    assert kept.offsets == {"a": 0, "b": 64}
    assert kept.ended == (frozenset(), frozenset(), {"b"})


def test_one_operand_is_written_over_once():
    assert schedule([task("", "a"), task("a", "bc"), task("bc", "")], 64).offsets == {"a": 0, "b": 0, "c": 64}


def test_what_nobody_reads_needs_its_place_for_one_task():
    assert schedule([task("", "a"), task("", "b"), task("", "c")], 64).size == 64


def test_arrays_that_are_not_temporary_end_too():
    """Inputs, and what functions make themselves."""
    made = schedule([task("x", "a"), task("xa", "")], 64)
    assert made.ended == (frozenset(), {"x", "a"})
    assert made.offsets == {"a": 0}


@pytest.mark.matrix(share=16, pool="slow")
@given(st.data())
def test_arrays_that_are_needed_at_once_never_overlap(data):
    tasks, made = [], []
    for index in range(data.draw(st.integers(1, 12))):
        reads = data.draw(st.lists(st.tuples(st.sampled_from(made), st.sampled_from("fg")), max_size=3)) if made else []
        arrays = [
            Array((index, k), data.draw(st.sampled_from([0, 64, 100, 300])), data.draw(st.sampled_from("fg")))
            for k in range(data.draw(st.integers(0, 2)))
        ]
        made += [array.name for array in arrays]
        tasks.append(Task(tuple(reads), tuple(arrays), data.draw(st.booleans())))
    found = schedule(tasks, 64)
    last = {name: i for i, t in enumerate(tasks) for name in (*(a.name for a in t.makes), *(n for n, _ in t.reads))}
    live: dict[object, Array] = {}
    for index, each in enumerate(tasks):
        for array in each.makes:
            live[array.name] = array
        for one, other in itertools.combinations([array for array in live.values() if array.size], 2):
            begin, end = found.offsets[one.name], found.offsets[one.name] + one.size
            if begin < found.offsets[other.name] + other.size and found.offsets[other.name] < end:
                # Only an operand and a result of this very task, element by element at the same places.
                assert each.is_element_wise
                assert other in each.makes
                assert one not in each.makes
                assert last[one.name] == index
                assert (one.size, one.form, begin) == (other.size, other.form, found.offsets[other.name])
                assert {form for name, form in each.reads if name == one.name} == {one.form}
        assert found.ended[index] == {name for name, _ in each.reads if last[name] == index}
        live = {name: array for name, array in live.items() if last[name] > index}
    assert all(found.offsets[a.name] + a.size <= found.size for t in tasks for a in t.makes)


def test_a_workspace():
    f4, i2 = np.dtype(np.float32), np.dtype(np.int16)
    a, b = Workspace(192, (Temporary(64, (2, 3), f4), Temporary(128, (2,), i2, (4,))))(None)
    a[...], b[...] = 1.5, 7
    assert (a.shape, a.dtype, a.ctypes.data % 64) == ((2, 3), f4, 0)
    assert (b.shape, b.dtype, b.strides, b.ctypes.data - a.ctypes.data) == ((2,), i2, (4,), 64)
    assert a.tolist() == [[1.5] * 3] * 2


@pytest.mark.parametrize("shape", [(0,), (1,), (63,), (64,), (7, 11)])
def test_a_workspace_for_any_shape(shape):
    """Offsets and sizes are those of one element."""
    f4, i2 = np.dtype(np.float32), np.dtype(np.int16)
    a, b = Workspace(6, (Temporary(0, (5,), i2), Temporary(2, (5,), f4)))(shape)
    a[...], b[...] = 7, 1.5
    assert a.shape == b.shape == shape
    assert (a == 7).all()
    assert (b == 1.5).all()
    assert b.ctypes.data % 64 == 0
