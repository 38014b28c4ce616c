"""Kernels neither suffer from the caller's floating-point environment nor change it."""

import ctypes
import ctypes.util
import platform
import sys

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from tests.inputs import CASES, assert_same_bits, operands

FLUSH_TO_ZERO, DENORMALS_ARE_ZERO, ROUND_UP = 0x8000, 0x0040, 0x4000
ALL_FLAGS = 0x3F

needs_mxcsr = pytest.mark.skipif(
    platform.machine() != "x86_64" or not sys.platform.startswith("linux"),
    reason="presets the control register through glibc's fenv_t for x86-64",
)


class Mxcsr:
    """The control and status register of SSE, through the C library's environment (at byte 28)."""

    def __init__(self):
        self.libm = ctypes.CDLL(ctypes.util.find_library("m"))
        self.environment = (ctypes.c_uint32 * 8)()

    def get(self):
        assert self.libm.fegetenv(self.environment) == 0
        return self.environment[7]

    def set(self, value):
        assert self.libm.fegetenv(self.environment) == 0
        self.environment[7] = value
        assert self.libm.fesetenv(self.environment) == 0


@pytest.fixture
def mxcsr():
    register = Mxcsr()
    before = register.get()
    yield register
    register.set(before)


CASES_32 = [(op, s) for op, s in CASES if s.outputs[0].name in ("float32", "float16", "int64")]


@needs_mxcsr
@pytest.mark.parametrize("mode", [FLUSH_TO_ZERO | DENORMALS_ARE_ZERO, ROUND_UP], ids=["flush", "round-up"])
def test_the_callers_mode_is_not_used_and_comes_back(mxcsr, mode, threads):
    assert CASES_32
    for op, signature in CASES_32:
        required = {p.name: 1.5 for p in op.parameters if p.is_required}
        arrays = [np.resize(a, 300_000) for a in operands(signature, 2000)]
        for count in (1, 2):
            threads(count)
            expected = op(*arrays, **required)
            before = mxcsr.get()
            mxcsr.set(before | mode)
            result = op(*arrays, **required)
            after = mxcsr.get()
            mxcsr.set(before)
            assert after & ~ALL_FLAGS == (before | mode) & ~ALL_FLAGS, op.name
            assert_same_bits(result, expected, *arrays)


def test_no_warning_leaks_from_lanes_that_a_select_throws_away():
    for op, signature in CASES:
        required = {p.name: 1.5 for p in op.parameters if p.is_required}
        arrays = operands(signature, 500)
        with np.errstate(all="raise"):
            op(*arrays, **required)
            op(*(a[:3] for a in arrays), **required)


def test_compiling_raises_no_flag():
    @ogive.operator
    def fresh(x):
        return ogive.formula.exp(x * 1.0009765625)

    with np.errstate(all="raise"):
        fresh(np.float32([1.0, 2.0]))


def test_there_are_operators():
    assert OPERATORS
