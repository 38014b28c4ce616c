"""Results are the correctly rounded values of their formulas, whatever the layout of the operands and the threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.formula import exp, log, tanh, where
from ogive.laboratory.accuracy.misrounded import count_misrounded
from ogive.operators.operator import operator
from ogive.runtime.decide import Decider


@operator
def softplus_as_in_textbooks(x):
    """log(1 + exp(x))."""
    return log(1 + exp(x))


@operator
def tanh_shrink(x):
    """x - tanh(x)."""
    return x - tanh(x)


@operator
def tie_by_logarithm(x):
    """log(exp(x)) * (1 + 2**-24): at powers of two a tie, which no number of bits decides."""
    return log(exp(x)) * (1 + 2.0**-24)


@operator
def step(x):
    """A comparison that rounding decides."""
    return where(exp(x) - 1 - x > 1e-12, 1, -1)


FORMULAS = [softplus_as_in_textbooks, tanh_shrink, step]
NAMES = ["celu", "elu", "exp", "gelu", "mish", "selu", "sigmoid", "softplus", "swish", "tanh"]


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("op", [*(OPERATORS[name] for name in NAMES), *FORMULAS], ids=lambda op: op.name)
def test_samples_are_correctly_rounded(op, dtype):
    assert count_misrounded(op, dtype, samples=1 << 14).misrounded == 0


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "gelu"])
def test_every_float16_is_correctly_rounded(name):
    assert count_misrounded(OPERATORS[name], "float16").misrounded == 0


def hard(op, count: int = 200) -> np.ndarray:
    """Inputs near zero, where x - tanh(x) loses all digits of float64, among ordinary ones."""
    x = np.random.default_rng(5).normal(0, 2, 64 * count).astype(np.float32)
    x[::64] *= np.float32(2.0**-30)
    return x


@pytest.mark.parametrize("size", [1, 7, 64, 65, 4095, 4097, 12800])
def test_repaired_elements_are_the_same_in_every_layout(size):
    x = hard(tanh_shrink)[:size]
    right = tanh_shrink(x)
    one_by_one = np.array([tanh_shrink(value) for value in x[:200]])
    assert np.array_equal(right[:200], one_by_one)
    strided = np.repeat(x, 3)[::3]
    assert np.array_equal(tanh_shrink(strided), right)
    assert np.array_equal(tanh_shrink(x[::-1])[::-1], right)
    in_place = x.copy()
    tanh_shrink(in_place, out=in_place)
    assert np.array_equal(in_place, right)
    columns = np.stack([x, x], axis=1)
    assert np.array_equal(tanh_shrink(columns[:, 0]), right)


def test_threads_repair_as_one_does():
    x = np.tile(hard(tanh_shrink), 40)
    before = ogive.get_num_threads()
    try:
        ogive.set_num_threads(1)
        right = tanh_shrink(x)
        ogive.set_num_threads(2)
        assert np.array_equal(tanh_shrink(x), right)
        found: list[np.ndarray] = [x] * 4
        threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, tanh_shrink(x))) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(np.array_equal(result, right) for result in found)
    finally:
        ogive.set_num_threads(before)


def test_what_no_number_of_bits_decides_is_taken_as_exact():
    x = np.float32([1, 2, -4, 0.5])
    assert np.array_equal(tie_by_logarithm(x), x)


def test_each_combination_of_operands_is_decided_once():
    asked = []

    def decide(operands, parameters):
        asked.append(tuple(operands))
        return (sum(operands),)

    single = ELEMENT_TYPES["float32"]
    decider = Decider((single,), (single,), lambda: decide)
    x = np.float32([1, 2, 1, np.nan, 2, 5])
    results = np.float32([0, 0, 0, np.nan, 0, 0])
    (answer,) = decider((x.tobytes(),), (results.tobytes(),), bytes([1, 1, 1, 1, 1, 0]), ())
    assert np.array_equal(np.frombuffer(answer, np.float32), [1, 2, 1, np.nan, 2, 0], equal_nan=True)
    decider((x.tobytes(),), (x.tobytes(),), bytes([1] * 5 + [0]), ())
    assert sorted(asked) == [(1.0,), (2.0,)]
    (answer,) = decider((x.tobytes(),), (results.tobytes(),), bytes([1, 1, 0, 0, 0, 0]), ())
    assert np.array_equal(np.frombuffer(answer, np.float32), [1, 2, 0, np.nan, 0, 0], equal_nan=True)
    assert len(asked) == 2


def test_operands_that_a_formula_does_not_use_are_not_looked_at():
    single = ELEMENT_TYPES["float32"]

    class Second:
        used = frozenset({1})

        def __call__(self, operands, parameters):
            return (operands[1],)

    decider = Decider((single, single), (single,), Second)
    x, y = np.float32([np.nan, 3, 4]), np.float32([5, 5, np.nan])
    (answer,) = decider((x.tobytes(), y.tobytes()), (np.zeros(3, np.float32).tobytes(),), bytes([1] * 3), ())
    assert np.array_equal(np.frombuffer(answer, np.float32), [5, 5, np.nan], equal_nan=True)
    assert len(decider.known) == 2


def test_an_error_of_the_last_level_reaches_the_caller(monkeypatch):
    def failing(self, *_):
        raise RuntimeError("the last level failed")

    monkeypatch.setattr(Decider, "_decided", failing)

    with pytest.raises(RuntimeError, match="the last level failed"):
        tie_by_logarithm(np.float32([2**20]))  # a tie that nothing has asked for


def test_the_tail_of_gelu_needs_no_last_level(monkeypatch):
    """A number that underflows beside an exact zero has one sign: each such result once took 0.06 ms."""

    def failing(self, *_):
        raise AssertionError("the last level was asked")

    monkeypatch.setattr(Decider, "_decided", failing)
    x = -np.geomspace(39.123, 3.4e38, 5000).astype(np.float32)
    found = ogive.gelu(x)
    assert np.array_equal(found, np.zeros_like(x))
    assert np.signbit(found).all()


def test_a_zero_beside_what_underflows_has_the_right_sign():
    """0 - exp(-x) is below zero, and so is its zero, whatever float64 makes of 0 - 0."""
    below = ogive.operator(lambda x: ogive.formula.minimum(x, 0.0) - ogive.formula.exp(-abs(x)))
    above = ogive.operator(lambda x: ogive.formula.exp(-abs(x)) + ogive.formula.minimum(x, 0.0))
    x = np.float32([700, 800, 1e6, 3e38])
    assert np.signbit(below(x)).all()
    assert not np.signbit(above(x)).any()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_small_integers_in_place(dtype):
    """A chunk has as many elements as there is room for their flags, however small they are."""
    x = np.full(100_003, 5, dtype)
    ogive.shrink(x, bias=1.0, lambd=1.0, out=x)
    assert (x == 4).all()
