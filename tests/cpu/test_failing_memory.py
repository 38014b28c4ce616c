"""Calls whose memory cannot be had: they raise MemoryError, and the next ones are right (`make failures` tries many more)."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.hostile.failures import compiled_shim

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux")
    or shutil.which("gcc") is None
    or not os.path.exists("/lib64/ld-linux-x86-64.so.2"),  # noqa: PTH110
    reason="the C library's allocations are made to fail by glibc's own names, with a compiler",
)

PROLOGUE = """
import ctypes, os, sys, threading, time
import numpy as np, ogive
shim = ctypes.CDLL(None)
x, y = np.linspace(-3, 3, 300, dtype=np.float32), np.empty(300, np.float32)

def in_children(count, work):
    found = []
    for n in range(count):
        pid = os.fork()
        if pid == 0:
            os._exit(work(n))
        found.append(os.waitpid(pid, 0)[1])
    return found
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return compiled_shim(str(tmp_path_factory.mktemp("shim")))


def run(shim, code):
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + code],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"LD_PRELOAD": shim, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.matrix(share=16, pool="slow")
def test_the_first_call_of_a_thread(shim):
    """glibc ends the process where it cannot allocate a thread's variables; they lie in room that is there already."""
    code = """
right = ogive.gelu(x)
def work(n):
    found = []
    def call():
        shim.shim_arm(ctypes.c_long(n), ctypes.c_long(1))
        try:
            ogive.gelu(x, out=y)
        except MemoryError:
            pass
        shim.shim_disarm()
        found.append(np.array_equal(ogive.gelu(x), right))
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return found != [True]
print(set(in_children(12, work)))
"""
    assert run(shim, code) == (0, "{0}", "")


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("call", ["ogive.softmax(m, axis=0)", "ogive.softmax(m)", "ogive.gelu(m[::2, ::-1])"])
def test_there_is_no_other_error_than_memory_error(shim, call):
    code = f"""
m = np.linspace(-3, 3, 40 * 17, dtype=np.float32).reshape(40, 17)
right = {call}
def work(n):
    shim.shim_arm(ctypes.c_long(n), ctypes.c_long(1))
    try:
        {call}
    except MemoryError:
        pass
    shim.shim_disarm()
    return not np.array_equal({call}, right)
print(set(in_children(12, work)))
"""
    assert run(shim, code) == (0, "{0}", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_fork_gives_locks_back(shim):
    pytest.importorskip("_testcapi", reason="it makes Python's allocations fail")
    code = """
import _testcapi
ogive.gelu(x)
def work(n):
    _testcapi.set_nomemory(n, n + 1)
    try:
        pid = os.fork()
    except BaseException:
        pid = None
    _testcapi.remove_mem_hooks()
    if pid == 0:
        os._exit(0)
    if pid:
        os.waitpid(pid, 0)
    found = []
    def compile_and_import():
        ogive.common.forking.no_fork.acquire()
        import colorsys
        found.append(True)
    thread = threading.Thread(target=compile_and_import, daemon=True)
    thread.start()
    thread.join(8)
    return not found
print(set(in_children(24, work)))
"""
    status, found, _ = run(shim, code)  # Python's own hooks say what they could not do
    assert (status, found) == (0, "{0}")


@pytest.mark.matrix(share=16, pool="slow")
def test_workers_that_cannot_be_started(shim):
    """The caller computes alone; when threads can be had again, there are workers."""
    code = """
ogive.set_num_threads(3)
long, square = np.linspace(-9, 9, 1 << 18, dtype=np.float32), np.linspace(-9, 9, 1 << 18, dtype=np.float32).reshape(512, 512)
with ogive.threads(1):
    right = ogive.gelu(long), ogive.softmax(square)
def found():
    is_right = np.array_equal(ogive.gelu(long), right[0]) and np.array_equal(ogive.softmax(square), right[1])
    return is_right, len(os.listdir("/proc/self/task"))
shim.shim_refuse_threads(1)
print(found(), found())
shim.shim_refuse_threads(0)
print(found())
"""
    assert run(shim, code) == (0, "(True, 1) (True, 1)\n(True, 3)", "")


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("share", ["slice(1 << 17)", "slice(1 << 17, None)"], ids=["caller", "worker"])
def test_undecided_elements_without_memory_to_gather_them(shim, share):
    """Heaps of gathered elements, lists of those that wait for code, tables of equal ones. A formula is new in each child."""
    code = f"""
ogive.set_num_threads(2)
x = np.zeros(1 << 18, np.float32)
x[{share}] = np.linspace(87, 88, 1 << 17, dtype=np.float32)
def work(n):
    f = ogive.operator(lambda t: t * ogive.sigmoid(t * (1.375 + n / 64)))
    f(x[:1])
    found = None
    shim.shim_arm(ctypes.c_long(n), ctypes.c_long(1))
    try:
        found = f(x)
    except MemoryError:
        pass
    shim.shim_disarm()
    with ogive.threads(1):
        right = f(x)
    return not (np.array_equal(f(x), right) and (found is None or np.array_equal(found, right)))
print(set(in_children(12, work)))
"""
    assert run(shim, code) == (0, "{0}", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_exit_while_a_worker_asks_for_the_interpreter(shim):
    """Python 3.14 lets a thread hang that asks for the interpreter when it is gone; older ones end it. Nobody waits for it."""
    code = """
from dataclasses import replace
from ogive.runtime.kernels import make_ufunc
from tests.cpu.test_retry import chain
ogive.set_num_threads(2)
inside = threading.Barrier(3)
def decide(operands, _):
    if threading.current_thread() is not threading.main_thread():
        inside.wait()
        time.sleep(1)
    return (operands[0] * 7,)
f = make_ufunc("f", replace(chain(retried=False), decide=decide))
f(np.full(64, 11, "f4"))
x = np.full(1 << 20, 12, "f4")
x[:4096] = 1  # the first ones are computed before the rest is shared out
threading.Thread(target=f, args=(x,), daemon=True).start()
inside.wait(60)
print("leaving", flush=True)
shim.shim_hang_at_end(1)
"""
    assert run(shim, code)[:2] == (0, "leaving")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_row_that_is_too_long_says_what_it_takes():
    """No element is computed: the operand is zeros that nothing has touched."""
    code = """
import resource, numpy as np, ogive
ogive.softmax(np.zeros((1, 8), np.float16))
resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
try:
    ogive.softmax(np.zeros((1, 1 << 29), np.float16))
except MemoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout.startswith(
        "there is no memory for rows of 536870912 elements: each takes 4294967359 bytes beside operands and results"
    )
