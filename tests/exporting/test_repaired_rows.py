"""Rows that the rounding test of exported code cannot decide: repaired, they have the bits of the operator."""

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest

import ogive
from ogive.exporting.c_source import source_text
from ogive.exporting.interface import Interface, Operand
from tests.cpu import test_retry as retry
from tests.exporting.test_programs import need
from tests.inputs import assert_same_bits

POINTER, SIZE, STEP = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_ssize_t

#: Operators, or nodes of models; the seed and the shape of elements among whose rows some are undecided, and wrong
#: without the repair: short rows, and rows of several segments.
CASES = [
    ("softmin", 3, (20000, 64)),
    ("softmin", 13, (10, 20011)),
    ("sparsemax", 0, (4000, 16)),
    ("softmax", 106, (10, 20011)),
    ("logsumexp", 4, (100000, 16)),
    ("ReduceSum", 3, (5000, 16)),
    ("ReduceMean", 7, (40, 40011)),
    ("ReduceL1", 3, (20000, 16)),
    ("ReduceLogSum", 3, (200000, 16)),
]
NUMBERS = {"logsumexp", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceLogSum"}


def model(text, operands, result):
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    import ogive.onnx

    header = f'<ir_version: 8, opset_import: ["" : 20]> m ({operands}) => (float[N,{result}] y) {{'
    return ogive.onnx.load(onnx.parser.parse_model(header + text + "}"))


def made(name):
    """The exported thing: an operator, or a model of one node that reduces rows."""
    if hasattr(ogive, name):
        return getattr(ogive, name)
    return model(f"axes = Constant<value_ints=[1]>() y = {name}(x, axes)", "float[N,M] x", 1)


def elements(name, seed, shape):
    x = (np.random.default_rng(seed).standard_normal(shape) * 3).astype(np.float32)
    return np.abs(x) if name == "ReduceLogSum" else x


def expected(what, *x):
    found = np.asarray(what(*x))
    return found.reshape(len(x[0]), -1)


def library(what, folder, name="rows"):
    """A shared library with the function, compiled by this machine's compiler."""
    need("cc")
    if sys.platform != "linux":
        pytest.skip("the library is linked for Linux")
    ogive.export(what, form="shared", name=name).write(folder)
    made = ctypes.CDLL(str(folder / f"lib{name}.so"))
    asks = getattr(made, f"{name}_scratch")
    asks.restype, asks.argtypes = SIZE, [SIZE]
    return made


def called(function, *operands, begin=0, end=None, scratch=None):
    """The rows from ``begin`` on of contiguous operands, the result last."""
    function.restype, function.argtypes = None, [*[POINTER] * len(operands), SIZE, SIZE, SIZE, POINTER]
    rows, count = operands[0].shape
    scratch = np.empty(1 << 24, np.uint8) if scratch is None else scratch
    places = [operand.ctypes.data for operand in operands]
    function(*places, begin, rows if end is None else end, count, scratch.ctypes.data)
    return operands[-1]


def result_of(name, x):
    return np.empty((len(x), 1) if name in NUMBERS else x.shape, np.float32)


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.parametrize(("name", "seed", "shape"), CASES)
def test_rows_have_the_operators_bits(name, seed, shape, tmp_path, monkeypatch):
    """Also over the operand, in parts."""
    what, x = made(name), elements(name, seed, shape)
    right = expected(what, x)
    rows = library(what, tmp_path).rows
    assert_same_bits(called(rows, x, result_of(name, x)), right)
    if name not in NUMBERS:
        place = x.copy()
        called(rows, place, place, end=len(x) // 3)
        assert_same_bits(called(rows, place, place, begin=len(x) // 3), right)
    # The same code without its repair is wrong somewhere: the comparison says something.
    monkeypatch.setattr(Interface, "later", ())
    without = library(what, tmp_path, "unrepaired").unrepaired
    assert (called(without, x, result_of(name, x)) != right).any()


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.parametrize("name", ["softmin", "logsumexp"])
def test_rows_that_lie_apart(name, tmp_path):
    """From the last row to the first, and elements from the last to the first."""
    seed, shape = next(case[1:] for case in CASES if case[0] == name)
    what, x = made(name), elements(name, seed, shape)
    right = expected(what, x)
    turned = np.ascontiguousarray(x[::-1, ::-1])
    rows, count = shape
    y = result_of(name, np.empty((rows, 2 * count), np.float32))
    one = [STEP] if name in NUMBERS else [STEP, STEP]
    function = library(what, tmp_path).rows_strided
    function.argtypes = [POINTER, STEP, STEP, POINTER, *one, SIZE, SIZE, SIZE, POINTER]
    steps = [y.strides[0], 8][: len(one)]
    scratch, last = np.empty(1 << 24, np.uint8), turned.ctypes.data + turned.nbytes - 4
    function(last, -4 * count, -4, y.ctypes.data, *steps, 0, rows, count, scratch.ctypes.data)
    assert_same_bits(np.ascontiguousarray(y[:, ::2]), right)


@pytest.mark.matrix(share=8, pool="exports")
def test_numbers_of_rows_in_place(tmp_path):
    """A result over an operand that has one number a row."""
    text = "axes = Constant<value_ints=[1]>() s = ReduceSum(x, axes) y = Mul(s, scale)"
    what = model(text, "float[N,M] x, float[N,1] scale", 1)
    x = elements("ReduceSum", 3, (5000, 16))
    scale = elements("scale", 4, (5000, 1))
    right = expected(what, x, scale)
    assert_same_bits(called(library(what, tmp_path).rows, x, scale, scale), right)


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.parametrize("name", ["softmin", "logsumexp"])
def test_scratch_memory_is_enough(name, tmp_path):
    """Beyond as many bytes as the function asks for, nothing is written."""
    seed, shape = next(case[1:] for case in CASES if case[0] == name)
    what, x = made(name), elements(name, seed, shape)
    rows = library(what, tmp_path)
    size = rows.rows_scratch(shape[1])
    for ahead in (0, 1, 63):
        memory = np.full(size + 256, 0xA5, np.uint8)
        place = (-memory.ctypes.data) % 64 + ahead
        found = called(rows.rows, x, result_of(name, x), scratch=memory[place:])
        assert_same_bits(found, expected(what, x))
        assert (memory[:place] == 0xA5).all()
        assert (memory[place + size :] == 0xA5).all()


# ---- exported code computes undecided elements by the retry, and what that leaves by the repair


def levels_of_exported(x: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The levels that computed elements: of a chunk with many open ones the next, and of what is open the repair, whose results stay."""
    least = np.minimum(np.sum([x > later for later in retry.LATER], axis=0), 2)
    levels = np.array([retry.FACTORS[:3].tolist().index(factor) for factor in np.rint(found / x)])
    np.testing.assert_array_equal(found, x * retry.FACTORS[levels])
    assert np.all((levels >= least) & (levels <= np.where(least == 0, 1, 2)))
    return levels


def called_chain(library, x: np.ndarray) -> np.ndarray:
    found = np.empty_like(x)
    ctypes.CDLL(str(library)).chain(
        *(ctypes.c_void_p(a.ctypes.data) for a in (x, found)), *map(ctypes.c_size_t, (0, x.size))
    )
    in_place = x.copy()
    pointer = ctypes.c_void_p(in_place.ctypes.data)
    ctypes.CDLL(str(library)).chain(pointer, pointer, *map(ctypes.c_size_t, (0, x.size)))
    np.testing.assert_array_equal(in_place, found)
    return found


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="not installed: gcc (Debian: gcc)")
@pytest.mark.parametrize("rare", [0.01, 0.3])
def test_exported_code(rare, tmp_path):
    operands = (Operand("x", retry.SINGLE, is_input=True), Operand("y", retry.SINGLE, is_input=False))
    interface = Interface("chain", "A chain of kernels.", operands, (), retry.chain())
    file = tmp_path / "chain.c"
    (tmp_path / "chain.h").write_text("#include <stddef.h>\n")
    file.write_text(source_text("chain", [interface], is_whole=True))
    library = tmp_path / "chain.so"
    command = ["gcc", "-std=c11", "-O1", "-Wall", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-o", library, file]
    subprocess.run(command, check=True)
    x = retry.data(5003, rare) + 1
    levels = levels_of_exported(x, called_chain(library, x))
    assert {*levels.tolist()} >= {1, 2}
