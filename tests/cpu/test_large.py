"""Arrays of more than 2**31 elements: counts and offsets do not fit 32 bits."""

from pathlib import Path

import numpy as np
import pytest

import ogive

ELEMENTS = 2**31 + 1000


def available_memory():
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(available_memory() < 6 * 2**30, reason="needs 6 GiB of free memory")
def test_more_than_two_to_the_31_elements():
    x = np.zeros(ELEMENTS, np.int8)
    marks = [0, 1, 2**30, 2**31 - 1, 2**31, 2**31 + 1, ELEMENTS - 1]
    x[marks] = -5
    x[[3, 2**31 + 5]] = 7
    ogive.shrink(x, bias=1.0, lambd=1.0, out=x)
    assert x[marks].tolist() == [-4] * len(marks)
    assert x[[3, 2**31 + 5]].tolist() == [6, 6]
    assert np.count_nonzero(x) == len(marks) + 2
    view = x[::-2]
    ogive.relu(view, out=view)
    assert x[ELEMENTS - 1] == 0
    assert x[0] == (0 if (ELEMENTS - 1) % 2 == 0 else -4)
