"""Exported code computes undecided elements by the retry, and what that leaves by the repair."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from ogive.exporting.c_source import source_text
from ogive.exporting.interface import Interface, Operand
from tests.cpu import test_retry as retry


def of_exported(x: np.ndarray) -> np.ndarray:
    """Nothing is enclosed there: the repair's results stay."""
    return retry.expected(np.minimum(x, retry.LATER[2])) / np.minimum(x, retry.LATER[2]) * x


def called(library, x: np.ndarray) -> np.ndarray:
    found = np.empty_like(x)
    ctypes.CDLL(str(library)).chain(
        *(ctypes.c_void_p(a.ctypes.data) for a in (x, found)), *map(ctypes.c_size_t, (0, x.size))
    )
    in_place = x.copy()
    pointer = ctypes.c_void_p(in_place.ctypes.data)
    ctypes.CDLL(str(library)).chain(pointer, pointer, *map(ctypes.c_size_t, (0, x.size)))
    np.testing.assert_array_equal(in_place, found)
    return found


@pytest.mark.skipif(shutil.which("gcc") is None, reason="not installed: gcc (Debian: gcc)")
@pytest.mark.parametrize("rare", [0.01, 0.3])
def test_exported_code(rare, tmp_path):
    operands = (Operand("x", retry.SINGLE, is_input=True), Operand("y", retry.SINGLE, is_input=False))
    interface = Interface("chain", "A chain of kernels.", operands, (), retry.chain())
    file = tmp_path / "chain.c"
    (tmp_path / "chain.h").write_text("#include <stddef.h>\n")
    file.write_text(source_text("chain", [interface]))
    library = tmp_path / "chain.so"
    command = ["gcc", "-std=c11", "-O1", "-Wall", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-o", library, file]
    subprocess.run(command, check=True)
    x = retry.data(5003, rare) + 1
    np.testing.assert_array_equal(called(library, x), of_exported(x))
