"""Digests of float64 are the same on all levels of this processor, in C here and for AArch64, and on OpenCL."""

import pytest

from tests.cpu.digests import compared, everywhere, functions

#: Elements with one and two operands, rows with a result for each element and with one.
SAMPLE = ("gelu", "pow", "softmax", "logsumexp")


@pytest.mark.matrix(pool="slowest")
@pytest.mark.parametrize("name", SAMPLE)
def test_everywhere(name):
    lines = everywhere(functions("float64", [name]), ["--dtype", "float64", "--only", name])
    assert len(lines) == 2
    assert not [line for line in lines if line.startswith("DIFFERENT")]


def test_differences_are_told():
    lines = compared({"here": {"f": "1", "g": "2"}, "there": {"f": "1", "g": "3"}, "nowhere": {}})
    assert lines == ["f: 1 here = there", "DIFFERENT g: 2 here; 3 there"]
