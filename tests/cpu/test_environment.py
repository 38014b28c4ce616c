"""Kernels neither suffer from the caller's floating-point environment nor change it."""

import ctypes
import ctypes.util
import importlib.util
import platform
import subprocess
import sys

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.runtime.kernels import make_ufunc
from tests.cpu.test_targets import RUNNABLE, program
from tests.inputs import CASE_IDS, CASES, LOOPS, OF_ROWS, assert_same_bits, named, operands

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


MODES = {"flush": FLUSH_TO_ZERO | DENORMALS_ARE_ZERO, "round-up": ROUND_UP}
#: The loops set the mode and set it back, not the code of an operator.
EVERY_LOOP = LOOPS + OF_ROWS


def arguments(op, signature, count):
    """Arrays and parameters of a call; rows of 300 elements for the row-wise operators."""
    required = {p.name: 1.5 for p in op.parameters if p.is_required}
    arrays = [np.resize(a, count) for a in operands(signature, 2000)]
    return [a.reshape(-1, 300) for a in arrays] if op.is_row_wise else arrays, required


def same_in_every_mode(mxcsr, function, arrays, expected):
    for name, mode in MODES.items():
        before = mxcsr.get()
        mxcsr.set(before | mode)
        result = function(*arrays)
        after = mxcsr.get()
        mxcsr.set(before)
        assert after & ~ALL_FLAGS == (before | mode) & ~ALL_FLAGS, name
        assert_same_bits(result, expected, *arrays)


@pytest.mark.matrix(share=12)
@needs_mxcsr
@pytest.mark.parametrize(("op", "signature"), EVERY_LOOP, ids=named(EVERY_LOOP))
def test_the_callers_mode_is_not_used_and_comes_back(op, signature, mxcsr, threads):
    arrays, required = arguments(op, signature, 150_000)
    expected = op(*arrays, **required)
    for count in (1, 2):
        threads(count)
        same_in_every_mode(mxcsr, lambda *given: op(*given, **required), arrays, expected)


@pytest.mark.matrix(share=16)
@needs_mxcsr
@pytest.mark.parametrize(("op", "signature"), EVERY_LOOP, ids=named(EVERY_LOOP))
def test_nor_by_the_code_of_the_smallest_instruction_set(op, signature, mxcsr):
    """Without FMA among the instructions a function of the C library is called, in the same environment."""
    arrays, required = arguments(op, signature, 3000)
    compiled, _ = program(op, signature)
    keeps = {"keepdims": True} if op.is_row_wise and op.reduces else {}  # a kernel keeps the axis
    expected = op(*arrays, **required, **keeps)
    same_in_every_mode(mxcsr, make_ufunc(op.name, compiled, RUNNABLE[0]), arrays, expected)


@pytest.mark.matrix("op.name", share=5)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_no_warning_leaks_from_lanes_that_a_select_throws_away(op, signature):
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
    assert {op.name for op, _ in OF_ROWS} == {op.name for op in OPERATORS.values() if op.is_row_wise} != set()
    assert len({tuple(t.itemsize for t in signature.inputs) for _, signature in LOOPS}) > 20
    assert any(op is ogive.celu for op, _ in LOOPS)


@pytest.mark.matrix(share=16, pool="slow")
def test_sub_interpreters_are_refused_by_a_sentence():
    """Kernels would wait for the main interpreter for ever there."""
    script = """
import _xxsubinterpreters as interpreters
try:
    interpreters.run_string(interpreters.create(isolated=False), "import ogive; ogive.relu(-1.0)")
except interpreters.RunFailedError as error:
    print(error)
"""
    if not importlib.util.find_spec("_xxsubinterpreters"):
        pytest.skip("this Python has no such module")
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert "it was imported in a sub-interpreter; allowed: the main interpreter of a process" in done.stdout, (
        done.stderr
    )
