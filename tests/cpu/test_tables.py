"""Results that are looked up are those that would be computed, whatever the layout, and tables do not pile up."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import ogive
from ogive import _native
from ogive.codegen.target import host_target
from ogive.runtime import kernels
from ogive.transform.cost import cost
from tests.cpu.test_layout import required, strided
from tests.inputs import CASES, assert_same_bits, named

MOST_TABLES = 64
TABLE_BYTES = 2 * 65536
ENOUGH = 9  # calls with all 65,536 inputs


def looks_up(op, signature):
    program = op.program(signature, **required(op))
    return kernels._looks_up(program, cost(program.roots), host_target())


SHORT = [
    (op, s)
    for op, s in CASES
    if not op.is_row_wise and [t.itemsize for t in s.inputs] == [2] and [t.itemsize for t in s.outputs] == [2]
]
LONG = [case for case in SHORT if looks_up(*case)]


def test_there_is_something_to_look_up():
    assert {"gelu", "tanh", "exp", "softplus"} <= {op.name for op, _ in LONG}
    assert {"relu", "abs"} <= {op.name for op, _ in SHORT} - {op.name for op, _ in LONG}


def every(kind):
    return np.arange(65536, dtype=np.uint16).view(kind)


def with_table(ufunc, x):
    for _ in range(ENOUGH):
        ufunc(x)


@pytest.mark.parametrize(("op", "signature"), LONG, ids=named(LONG))
def test_the_bits_are_those_computed(op, signature):
    ufunc = kernels.make_ufunc(op.name, op.program(signature, **required(op)))
    x = every(signature.inputs[0].numpy)
    before = _native.table_count()
    expected = ufunc(x)
    assert _native.table_count() == before
    with_table(ufunc, x)
    assert _native.table_count() == before + 1
    assert_same_bits(ufunc(x), expected, x)
    for length in (4096, 4097, 4103, 4127, 65535):
        assert_same_bits(ufunc(x[:length]), expected[:length])
        assert_same_bits(ufunc(x[-length:]), expected[-length:])
    for step in (-3, -1, 2, 5):
        assert_same_bits(ufunc(strided(x, step)[1]), expected)
        memory, out = strided(np.zeros_like(expected), step, offset=3)
        guards = memory.copy()
        ufunc(x, out=out)
        assert_same_bits(out.copy(), expected)
        out[:] = 0
        assert_same_bits(memory, guards)
    y = x.copy()
    ufunc(y, out=y.view(expected.dtype))
    assert_same_bits(y.view(expected.dtype), expected)
    del ufunc
    gc.collect()
    assert _native.table_count() == before


@pytest.mark.parametrize("name", ["relu", "abs"])
def test_short_formulas_are_computed(name):
    op, signature = next(case for case in SHORT if case[0].name == name)
    ufunc = kernels.make_ufunc(name, op.program(signature))
    before = _native.table_count()
    with_table(ufunc, every(signature.inputs[0].numpy))
    assert _native.table_count() == before


@pytest.fixture
def forgotten():
    """The operator celu without what earlier calls have left."""

    def forget():
        ogive.celu._forget()
        ogive.celu._bound.clear()
        gc.collect()

    forget()
    yield ogive.celu
    forget()


def test_every_value_of_a_parameter_has_its_own_table(forgotten):
    x = every(np.float16)
    expected = {alpha: forgotten(x, alpha=alpha) for alpha in (0.5, 2.0, -0.75)}
    for _ in range(2 * ENOUGH):
        for alpha, result in expected.items():
            assert_same_bits(forgotten(x, alpha=alpha), result)


def test_operands_of_several_dimensions(forgotten, threads):
    x = every(np.float16)
    expected = forgotten(x).reshape(256, 256)
    before = _native.table_count()
    with_table(forgotten, x)
    assert _native.table_count() == before + 1
    x = x.reshape(256, 256)
    for count in (1, 2, 3):
        threads(count)
        assert_same_bits(forgotten(x.T), expected.T)
        assert_same_bits(forgotten(x[:, ::2]), expected[:, ::2])
        out = np.empty_like(x)
        assert_same_bits(forgotten(x.T, out=out), expected.T)
        assert_same_bits(forgotten(np.broadcast_to(x[:, :1], (256, 256))), np.repeat(expected[:, :1], 256, axis=1))


def test_results_larger_than_the_caches(forgotten):
    pieces = every(np.float16)
    expected = forgotten(pieces)
    x = np.tile(pieces, 513)[3:-2]
    with_table(forgotten, pieces)
    assert_same_bits(forgotten(x), np.tile(expected, 513)[3:-2])
    assert_same_bits(forgotten(x, out=np.empty(len(x) + 1, np.float16)[1:]), np.tile(expected, 513)[3:-2])


def test_there_are_never_more_than_a_few(forgotten):
    x = every(np.float16)
    alphas = np.linspace(0.5, 2, MOST_TABLES + 6)
    before = _native.table_count()
    for alpha in alphas:
        expected = forgotten(x, alpha=alpha)
        for _ in range(ENOUGH):
            forgotten(x, alpha=alpha)
        assert_same_bits(forgotten(x, alpha=alpha), expected)
    assert before < _native.table_count() <= MOST_TABLES
    forgotten._forget()
    forgotten._bound.clear()
    gc.collect()
    assert _native.table_count() <= before


def test_the_memory_of_tables_is_freed(forgotten):
    """Their number says nothing of their memory."""
    x = every(np.float16)
    out = np.empty_like(x)

    def use(count):
        for i in range(count):
            for _ in range(ENOUGH + 1):
                forgotten(x, alpha=0.5 + i / 64, out=out)
        made = _native.table_count()
        forgotten._forget()
        forgotten._bound.clear()
        gc.collect()
        return made

    use(1)  # compiled, and NumPy's own memory
    before = _native.table_count()
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        made = use(20) - before
        assert made == 20
        assert tracemalloc.get_traced_memory()[1] - start > made * TABLE_BYTES
        assert tracemalloc.get_traced_memory()[0] - start < 2 * TABLE_BYTES
    finally:
        tracemalloc.stop()
    assert _native.table_count() == before


def test_callers_at_the_same_time_make_one_table(forgotten):
    x = every(np.float16)
    expected = forgotten(x)
    before = _native.table_count()
    different = []

    def work():
        for _ in range(2 * ENOUGH):
            if not np.array_equal(forgotten(x).view(np.uint16), expected.view(np.uint16)):
                different.append(1)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not different
    assert _native.table_count() == before + 1
