"""How many elements each level has decided is counted, whoever computes, and costs nothing that is not asked for."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ogive
import ogive.runtime
from ogive.runtime.counting import Statistics, _noted, table

FLOATS = "float32 -> float32"
ORDINARY = (np.random.default_rng(0).standard_normal(20_000) * 3).astype(np.float32)


def total(types):
    rows = [row[2:] for row in ogive.runtime.statistics() if row.types == types]
    return [sum(column) for column in zip(*rows, strict=True)] or [0] * 5


def rise(call, types=FLOATS):
    """Rows of all operators of these types: a kernel has the name of the first one that had its formula, in any test."""
    held = list(_noted)  # else what others leave goes meanwhile, and is counted no more
    before = total(types)
    call()
    found = Statistics("any", types, *(b - a for a, b in zip(before, total(types), strict=True)))
    del held
    return found


def test_elements_are_counted_once():
    x = ORDINARY.astype(np.float16)
    found = rise(lambda: ogive.gelu(x), "float16 -> float16")
    assert found.elements == ORDINARY.size
    assert 0 < found.retried + found.repaired < ORDINARY.size // 50  # the first few go to the repair
    assert found.enclosed <= found.repaired


@pytest.mark.parametrize("layout", ["strided", "in place", "broadcast", "short", "empty"])
def test_layouts_are_counted(layout):
    x = ORDINARY.copy()
    arrays = {
        "strided": (x[::3], None),
        "in place": (x, x),
        "broadcast": (np.broadcast_to(x[:100], (7, 100)), None),
        "short": (x[:5], None),
        "empty": (x[:0], None),
    }
    array, out = arrays[layout]
    assert rise(lambda: ogive.mish(array, out=out)).elements == array.size


def test_threads_are_counted(threads):
    x = np.resize(ORDINARY, 400_000)
    ogive.set_num_threads(4)
    assert rise(lambda: ogive.softplus(x)).elements == x.size


def test_many_python_threads_are_counted():
    """More than have a number of their own."""

    def calls():
        for _ in range(50):
            ogive.sigmoid(ORDINARY[:100])

    def run():
        workers = [threading.Thread(target=calls) for _ in range(40)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    assert rise(run).elements == 40 * 50 * 100


@pytest.mark.parametrize("shape", [(20, 1000), (2000, 10), (1, 20_000)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_rows_are_counted_whole(shape, axis):
    found = rise(lambda: ogive.log_softmax(ORDINARY.reshape(shape), axis=axis))
    assert found.elements == ORDINARY.size
    assert found.repaired % shape[axis] == 0


def test_enclosures_are_counted_with_their_time():
    @ogive.operator
    def vanishing_difference(x):
        return np.exp(x) - np.exp(x + np.expm1(x * 0))  # zero, which no number of bits shows

    x = ORDINARY[:8].copy()
    found = rise(lambda: vanishing_difference(x))
    assert found.elements == found.repaired == found.enclosed == 8
    assert 0 < found.seconds < 60


def test_what_has_one_level_has_no_row():
    assert rise(lambda: ogive.relu(ORDINARY)).elements == 0


def test_types_are_told_apart():
    x = ORDINARY.astype(np.float16)
    types = "float16 -> float16"
    assert rise(lambda: ogive.gelu(x), types).elements == x.size


def test_nothing_is_kept_alive():
    made = ogive.operator(lambda x: np.exp(x) * np.tanh(x + 1))
    made(ORDINARY)
    before = len(_noted)
    del made
    gc.collect()
    assert len(_noted) < before


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(("value", "is_printed"), [("1", True), ("0", False), ("", False)])
def test_the_table_is_printed_when_the_process_ends(value, is_printed):
    program = "import numpy as np, ogive; ogive.gelu(np.linspace(-3, 3, 1000, dtype=np.float32))"
    environment = os.environ | {"OGIVE_STATISTICS": value}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    if not is_printed:
        assert done.stderr == ""
        return
    head, titles, row = done.stderr.splitlines()
    assert head == "ogive: elements that each level decided"
    assert titles.split() == ["operator", "types", "elements", "retried", "repaired", "enclosed", "seconds"]
    assert row.startswith("gelu      float32 -> float32      1000")


def test_the_table_says_when_there_is_nothing():
    environment = os.environ | {"OGIVE_STATISTICS": "1"}
    command = [sys.executable, "-c", "import ogive"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[1] == "no kernel with a repair has run"


def test_the_table():
    text = table([Statistics("f", "float32 -> float32", 200, 40, 20, 1, 0.5)])
    assert text.splitlines()[1].split() == [
        "f",
        "float32",
        "->",
        "float32",
        "200",
        "40",
        "(20.00%)",
        "20",
        "(10.00%)",
        "1",
        "(0.50%)",
        "0.500",
    ]
