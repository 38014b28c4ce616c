"""The state that threads share while they call the same operators and models. In a free-threaded Python they do it at once."""

import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ogive
from tests.inputs import assert_same_bits

THREADS = 8
X = np.linspace(-4, 4, 37, dtype=np.float32)

#: More than an operator remembers.
ALPHAS = [0.25 * k for k in range(1, 12)]


def at_once(work):
    """Runs work(number) in some threads, which begin together."""
    barrier = threading.Barrier(THREADS)

    def begin(number):
        barrier.wait(60)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a lock")
def test_the_lock_stays_off():
    code = "import sys, ogive; print(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_more_parameters_than_are_remembered():
    expected = {alpha: ogive.celu(X, alpha=alpha) for alpha in ALPHAS}
    plain = ogive.celu(X)

    def work(number):
        for turn in range(400):
            alpha = ALPHAS[(turn * (number + 1)) % len(ALPHAS)]
            assert_same_bits(ogive.celu(X, alpha=alpha), expected[alpha])
            assert_same_bits(ogive.celu(X), plain)

    at_once(work)


def test_while_a_thread_forgets():
    expected = {alpha: ogive.elu(X, alpha=alpha) for alpha in ALPHAS}

    def work(number):
        for turn in range(400):
            if number == 0:
                ogive.elu._forget()
            alpha = ALPHAS[(turn + number) % 3]
            assert_same_bits(ogive.elu(X, alpha=alpha), expected[alpha])

    at_once(work)


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.5])
def test_operators_that_are_new_to_all(factor):
    @ogive.operator
    def fresh(x, *, slope=1.0):
        return ogive.formula.tanh(x * slope) * factor

    results = at_once(lambda _: [fresh(X, slope=0.5), fresh(X.astype(np.float64)), fresh(X[:3])])
    for result in results:
        for made, first in zip(result, results[0], strict=True):
            assert_same_bits(made, first)


def test_rows_and_layouts():
    rows = np.arange(600, dtype=np.float32).reshape(20, 30) / 100
    expected = ogive.softmax(rows), ogive.softmax(rows, axis=0), ogive.add(rows, rows[:1]), ogive.mul(rows.T, rows.T)

    def work(_):
        for _ in range(60):
            for made, wanted in zip(
                (
                    ogive.softmax(rows),
                    ogive.softmax(rows, axis=0),
                    ogive.add(rows, rows[:1]),
                    ogive.mul(rows.T, rows.T),
                ),
                expected,
                strict=True,
            ):
                assert_same_bits(made, wanted)

    at_once(work)


@pytest.mark.matrix(share=16, pool="slow")
def test_models_of_many_shapes():
    """More shapes than a model remembers plans, and workspaces that threads take and give back."""
    parser = pytest.importorskip("onnx.parser")
    model = ogive.onnx.load(
        parser.parse_model("""<ir_version: 8, opset_import: ["" : 20]>
            m (float[A,B] x, float[B] b) => (float[A,B] y) {
                h = Celu(x) s = Softmax <axis = 0> (h) t = Add(s, b) y = Softmax <axis = 1> (t) }""")
    )
    inputs = [
        (np.linspace(-3, 3, rows * length, dtype=np.float32).reshape(rows, length), np.arange(length, dtype=np.float32))
        for rows, length in [(2, 3), (5, 4), (7, 8), (16, 2), (3, 11), (9, 9)]
    ]
    expected = [model(x, b) for x, b in inputs]

    def work(number):
        for turn in range(60):
            k = (turn + number) % len(inputs)
            assert_same_bits(model(*inputs[k]), expected[k])

    at_once(work)


#: In a thread with so many KiB of stack nothing is compiled yet.
SMALL = """
import threading
import numpy as np, ogive
x = np.linspace(-2, 2, 3000, dtype=np.float32)
large = np.linspace(-7, 7, 64 * 1030, dtype=np.float32).reshape(64, 1030)

def long(x):
    for _ in range(12):
        x = np.where(x > 0.5, x * x, x + 1)
    return x

def work():
    try:
        found = [f(x) for f in (ogive.operator(long), ogive.softmax, ogive.gelu, ogive.logsumexp)]
        found.append(ogive.swiglu(large, large[0]))  # by tiles
        print(not any(np.isnan(y).any() for y in found))
    except ogive.errors.OgiveError as error:
        print(error)

threading.stack_size({kib} << 10)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def in_a_small_thread(kib, **environment):
    done = subprocess.run(
        [sys.executable, "-c", SMALL.format(kib=kib)], capture_output=True, text=True, check=False,
        env=os.environ | {"OGIVE_CACHE": "off", "OGIVE_PACKS": "off"} | environment,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.matrix(share=3)
@pytest.mark.skipif(not sys.platform.startswith(("linux", "darwin")), reason="stacks of POSIX threads")
@pytest.mark.parametrize("kib", [128, 256])
def test_a_thread_with_a_small_stack_compiles(kib):
    """On another stack: LLVM takes more than that. docs/performance.md says what computing takes, 256 KiB."""
    assert in_a_small_thread(kib) == (0, "True\n", "")


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith(("linux", "darwin")), reason="stacks of POSIX threads")
def test_an_error_of_the_compiler_comes_back_from_the_other_stack():
    status, text, errors = in_a_small_thread(256, OGIVE_TARGET="pentium")
    assert (status, errors) == (0, "")
    assert text.startswith("OGIVE_TARGET: it is 'pentium'; allowed: native, ")
