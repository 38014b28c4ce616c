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
        env=os.environ | {"LD_PRELOAD": shim},
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


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
        ogive.forking.no_fork.acquire()
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
