import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ogive
from ogive.common import forking

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

#: In a child that hangs, the alarm ends it, with status 14.
PROLOGUE = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")  # Python 3.12 warns about fork in a process with threads, which is what is tested
import numpy as np, ogive
from ogive.common import forking

def fork(work, seconds=20):
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        os._exit(0 if work() else 1)
    return pid

def statuses(children):
    return [os.waitpid(pid, 0)[1] for pid in children]
"""


def run(code):
    completed = subprocess.run(
        [sys.executable, "-c", PROLOGUE + code],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"OGIVE_CACHE": "off"},
        check=False,
    )
    return completed.returncode, completed.stdout.strip(), completed.stderr.strip()


@pytest.mark.matrix(share=16, pool="slow")
def test_children_compile_though_another_thread_was_compiling():
    code = """
x = np.linspace(-4, 4, 64, dtype=np.float32)

def compile_one(number):
    def formula(x):
        return ogive.formula.tanh(x) * (1 + number / 4096)
    return np.isfinite(ogive.operator(formula)(x)).all()

is_over = False
def work():
    number = 0
    while not is_over:
        number += 1
        compile_one(number)

thread = threading.Thread(target=work)
thread.start()
children = []
for number in range(12):  # without the wait for the compiler nearly all of them hang
    time.sleep(0.02)
    children.append(fork(lambda: compile_one(2000 + number)))
found = statuses(children)
is_over = True
thread.join()
print(found)
"""
    assert run(code) == (0, str([0] * 12), "")


@pytest.mark.matrix(share=16, pool="slow")
def test_the_first_compilation_of_all():
    """Then modules are being loaded, which a child of a fork in the middle could never load."""
    code = """
x = np.linspace(-4, 4, 64, dtype=np.float32)
children = []
thread = threading.Thread(target=lambda: ogive.celu(x))
thread.start()
while thread.is_alive() and len(children) < 8:
    time.sleep(0.01)
    children.append(fork(lambda: np.isfinite(ogive.elu(x)).all()))
thread.join()
print(set(statuses(children)) <= {0}, len(children) > 0)
"""
    assert run(code) == (0, "True True", "")


def test_locks_of_objects_are_free_in_the_child():
    code = """
lock = forking.lock()
held, over = threading.Event(), threading.Event()
def hold():
    with lock:
        held.set()
        over.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = fork(lambda: lock.acquire(timeout=5), 10)
print(statuses([child]), lock.acquire(timeout=0))
over.set()
thread.join()
print(lock.acquire(timeout=0))
"""
    assert run(code) == (0, "[0] False\nTrue", "")


def test_a_lock_of_the_thread_that_forks_stays_its_own():
    """A signal handler forks in the middle of a formula that is traced, and both processes go on with it."""
    code = """
lock = forking.lock()
def is_held_by_this_thread_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=0)))
    thread.start()
    thread.join()
    lock.release()
    return found == [False]
with lock, lock:
    child = fork(lambda: is_held_by_this_thread_alone() and is_held_by_this_thread_alone(), 10)
    print(statuses([child]))
"""
    assert run(code) == (0, "[0]", "")


def test_a_thread_may_fork_while_it_holds_the_compiler_itself():
    """As a signal handler in the main thread does."""
    code = """
with forking.no_fork:
    print(statuses([fork(lambda: forking.no_fork.acquire(timeout=5), 10)]))
"""
    assert run(code) == (0, "[0]", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_forks_wait_for_the_lock_of_llvmlite():
    code = """
ogive.celu(np.ones(4, "f4"))
from llvmlite.binding import ffi
held, over = threading.Event(), threading.Event()
def hold():
    with ffi.lib._lock:
        held.set()
        over.wait(1)
thread = threading.Thread(target=hold)
thread.start()
held.wait()
print(statuses([fork(lambda: np.isfinite(ogive.elu(np.ones(4, "f4"))).all(), 10)]))
thread.join()
"""
    assert run(code) == (0, "[0]", "")


def test_all_locks_of_the_package_are_made_here():
    """Others would stay locked in children. functools.cached_property has a lock in Python 3.11."""
    root = Path(ogive.__file__).parent
    lock = re.compile(r"\b(?:Lock|RLock|Condition|Semaphore|Event|Barrier)\(|functools import .*cached_property")
    files = sorted(root.rglob("*.py"))
    assert len(files) > 100
    found = {str(f.relative_to(root)) for f in files if lock.search(f.read_text(encoding="utf-8"))}
    assert found == {"common/forking.py"}


def test_a_cached_property_is_computed_once():
    class Thing:
        calls = 0

        @forking.cached_property
        def value(self):
            "A value."
            self.calls += 1
            return 7

    thing = Thing()
    assert (thing.value, thing.value, thing.calls) == (7, 7, 1)
    assert isinstance(Thing.value, forking.cached_property)
    assert Thing.value.__doc__ == "A value."
    assert isinstance(forking.lock(), type(threading.RLock()))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "working"])
def test_the_child_has_a_pool_of_its_own(busy):
    """The parent's workers are not in the child, and neither is the caller that owned the pool when it forked."""
    code = """
x = np.ones(1 << 22, "f4")
ogive.set_num_threads(3)
expected = ogive.tanh(x)

def computes():
    before = len(os.listdir("/proc/self/task"))
    right = all(np.array_equal(ogive.tanh(x), expected) for _ in range(3))
    return right and before == 1 and len(os.listdir("/proc/self/task")) == 3

is_over = False
def work():
    out = np.empty_like(x)
    while not is_over:
        ogive.tanh(x, out=out)

thread = threading.Thread(target=work)
if BUSY:
    thread.start()
children = []
for _ in range(6):
    time.sleep(0.003)
    children.append(fork(computes))
found = statuses(children)
is_over = True
if BUSY:
    thread.join()
print(found)
"""
    assert run(code.replace("BUSY", str(busy))) == (0, str([0] * 6), "")


@pytest.mark.matrix(share=16, pool="slow")
def test_children_load_a_module_that_another_thread_was_loading(tmp_path):
    """Python's own lock of the module would be held in the child for ever."""
    (tmp_path / "slowly_loaded.py").write_text("import time\ntime.sleep(0.5)\nvalue = 7\n")
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})

def load():
    import slowly_loaded
    return slowly_loaded.value == 7

thread = threading.Thread(target=load)
thread.start()
time.sleep(0.2)
child = fork(load, seconds=5)
thread.join()
print(statuses([child]))
"""
    assert run(code) == (0, "[0]", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_children_load_and_run_models_though_another_thread_did():
    pytest.importorskip("onnx", reason="the models are ONNX's")
    code = """
import ogive.directml as dml, ogive.onnx
from onnx import parser
x = np.linspace(-4, 4, 64, dtype=np.float32)

def models(number):
    alpha = 1 + number / 4096
    model = ogive.onnx.load(parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> t (float[N] x) => (float[N] y) '
        f'{{ a = Celu <alpha = {alpha}> (x)  b = Mul(a, x)  y = Tanh(b) }}'))
    graph = dml.Graph(dml.Device())
    given = graph.input([64], np.float32, name="x")
    compiled = graph.compile([dml.activation_elu(given, alpha=alpha) * dml.activation_tanh(given)])
    return np.isfinite(model(x=x)).all() and np.isfinite(compiled({"x": x})[0]).all()

is_over = False
def work():
    number = 0
    while not is_over:
        number += 1
        models(number)

thread = threading.Thread(target=work)
thread.start()
children = []
for number in range(15):
    time.sleep(0.02)
    children.append(fork(lambda: models(2000 + number)))
found = statuses(children)
is_over = True
thread.join()
print(found)
"""
    assert run(code) == (0, str([0] * 15), "")


#: A handler that ends the program's work as Ctrl-C does, and what says whether another thread gets both locks.
CTRL_C = """
import _imp, random

def ctrl_c(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ctrl_c)

def locks_are_free():
    found = []
    def probe():
        found.append(forking.no_fork.acquire(timeout=5))
        forking.no_fork.release()
        _imp.acquire_lock()
        _imp.release_lock()
        found.append(True)
    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    thread.join(8)
    return found == [True, True] and not _imp.lock_held()
"""


@pytest.mark.matrix(share=16, pool="slow")
def test_ctrl_c_during_a_fork_is_neither_lost_nor_leaves_a_lock():
    """A signal that comes while the system forks is handled by the first Python instruction after it."""
    code = """
random.seed(1)
sent = caught = 0
end = time.monotonic() + 60
while caught <= 100 and time.monotonic() < end:
    try:
        pid = None
        sent += 1
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 2e-3))
        while True:
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
    except KeyboardInterrupt:
        caught += 1
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
print(sent == caught > 100, locks_are_free())
signal.signal(signal.SIGALRM, signal.SIG_DFL)
print(statuses([fork(lambda: ogive.operator(lambda x: x + 17.5)(np.ones(8, "f4"))[0] == 18.5, 10)]))
"""
    assert run(CTRL_C + code) == (0, "True True\n[0]", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_ctrl_c_while_a_fork_waits_for_a_compiler():
    """The fork waits, the child can compile, and the interrupt is raised after it."""
    code = """
held, caught = threading.Event(), []
def hold():
    with forking.no_fork:
        held.set()
        time.sleep(0.6)
thread = threading.Thread(target=hold)
thread.start()
held.wait()
signal.setitimer(signal.ITIMER_REAL, 0.2)
parent, begin = os.getpid(), time.monotonic()
try:
    os.fork()
except KeyboardInterrupt:
    caught.append(os.getpid() == parent and time.monotonic() - begin > 0.3)
if os.getpid() != parent:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(10)
    os._exit(0 if not caught and ogive.operator(lambda x: x + 17.5)(np.ones(8, "f4"))[0] == 18.5 else 1)
print(caught, os.wait()[1], locks_are_free())
thread.join()
"""
    assert run(CTRL_C + code) == (0, "[True] 0 True", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_fork_inside_a_module_that_another_threads_formula_loads(tmp_path):
    """Each would wait for the other for ever: the fork for the compiler, and the formula for the module."""
    (tmp_path / "forks.py").write_text(
        "import time, __main__\ntime.sleep(0.3)\npid = __main__.fork(__main__.computes)\n"
    )
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})
kept = forking._hooks(0.5)  # seconds
computes = lambda: ogive.operator(lambda x: x + 17.5)(np.ones(8, "f4"))[0] == 18.5
def load_while_compiling():
    with forking.no_fork:
        time.sleep(0.15)
        import forks
thread = threading.Thread(target=load_while_compiling)
thread.start()
import forks
thread.join()
print(statuses([forks.pid]))
"""
    assert run(code) == (0, "[0]", "")


def test_a_lock_that_is_gone_is_forgotten():
    before = len(forking._locks)
    made = forking.lock()
    assert len(forking._locks) == before + 1
    del made
    assert len(forking._locks) == before


#: Two threads share out arrays with elements that only `decide` decides, and forks happen there: in the caller, or in the worker.
FORK_INSIDE_A_CALL = """
from dataclasses import replace
from ogive.runtime.kernels import make_ufunc
from tests.cpu.test_retry import chain

ogive.set_num_threads(2)
parent, caller, children, may_fork = os.getpid(), threading.get_ident(), [], [True]

def may_fork_here(*, in_worker=False):
    found = os.getpid() == parent and (threading.get_ident() != caller) == in_worker and may_fork[0]
    may_fork[0] &= not found
    return found

def calls(decide, repetitions=1):
    f = make_ufunc("f", replace(chain(retried=False), decide=decide))
    may_fork[0] = False
    f(np.full(64, 11, "f4"))  # the repair has code, so that the worker leaves nothing to the caller
    for repetition in range(repetitions):
        x = 12 + 64 * repetition + (np.arange(1 << 21, dtype="f4") // 32768)  # so Python is asked 64 times, by both threads
        x[:4096] = 1  # the first ones are computed before the rest is shared out
        right = np.where(x > 1, 7 * x, 2 * x)
        may_fork[0] = True
        f(x, out=x)  # results lie over operands: no piece can be computed twice
        is_right = (x == right).all()
        if os.getpid() != parent:
            os._exit(not is_right)
        assert is_right
    return statuses(children)
"""


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("holds_lock", [False, True], ids=["", "with a lock that the worker needs"])
def test_a_fork_inside_a_call(holds_lock):
    """The child has no workers: their pieces are finished before the fork, and it does all others."""
    code = """
lock = forking.lock()
def decide(operands, _):
    with lock:
        if may_fork_here():
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
            else:
                children.append(pid)
    return (7 * operands[0],)
print(calls(decide, 4))
"""
    code = code if holds_lock else code.replace("with lock", "if True")
    assert run(FORK_INSIDE_A_CALL + code) == (0, "[0, 0, 0, 0]", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_call_inside_the_call_that_a_child_continues():
    """It must not take the shares of the job that is under way."""
    code = """
y = np.linspace(-4, 4, 1 << 20, dtype="f4")
expected = ogive.tanh(y)
def decide(operands, _):
    if may_fork_here():
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            assert np.array_equal(ogive.tanh(y), expected)
        else:
            children.append(pid)
    return (7 * operands[0],)
print(calls(decide, 3))
"""
    assert run(FORK_INSIDE_A_CALL + code) == (0, "[0, 0, 0]", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_fork_that_nobody_announces_is_an_error_in_the_child():
    """C code that forks runs no hook of Python, so nobody waits for the worker."""
    code = """
import ctypes
decided, forked = threading.Event(), threading.Event()
fork_in_c = ctypes.PyDLL(None).fork
def decide(operands, _):
    if threading.get_ident() != caller:
        decided.set()
        forked.wait(10)
    elif may_fork_here() and decided.wait(10):
        pid = fork_in_c()
        if pid == 0:
            signal.alarm(20)
        else:
            children.append(pid)
            forked.set()
    return (7 * operands[0],)
try:
    print(calls(decide))
except RuntimeError as error:
    os._exit("forked inside this call" not in str(error))
"""
    assert run(FORK_INSIDE_A_CALL + code) == (0, "[0]", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_fork_in_a_worker_leaves_a_child_that_ends():
    """Its only thread has no call to return to."""
    code = """
def decide(operands, _):
    if may_fork_here(in_worker=True):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
        else:
            children.append(pid)
    elif threading.get_ident() == caller:
        time.sleep(0.001)  # so that the worker decides some
    return (7 * operands[0],)
print(calls(decide))
"""
    assert run(FORK_INSIDE_A_CALL + code) == (0, "[0]", "")


#: Takes down which thread compiles which kernel of a chain: True for the caller's.
NOTED = """
from ogive.runtime import kernels
ogive.set_num_threads(2)
caller, compiled = threading.get_ident(), []
kept_or_made = kernels.kept_or_made
def noted(*arguments, **keywords):
    compiled.append(threading.get_ident() == caller)
    return kept_or_made(*arguments, **keywords)
kernels.kept_or_made = noted
f = ogive.operator(lambda x: x * ogive.sigmoid(x * 1.375))
f(np.zeros(16, "f4"))
"""


@pytest.mark.matrix(share=16, pool="slow")
def test_a_shared_call_compiles_what_its_elements_ask_for():
    code = f"""
{NOTED}
f(np.zeros(1 << 20, "f4"))  # no element is undecided
first = len(compiled)
f(np.random.default_rng(0).standard_normal(1 << 20, dtype="f4"))
(row,) = ogive.runtime.statistics()
print(first, len(compiled) > first, all(compiled), row.retried + row.repaired > 0)
"""
    assert run(code) == (0, "1 True True True", "")


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("in_place", [False, True], ids=["", "in place"])
@pytest.mark.parametrize("number", ["87.5", "0.7", "-3e-39"])
def test_workers_leave_undecided_elements_to_the_caller_until_there_is_code(number, in_place):
    """Only the worker's share has any, few or many, and its end, which no block fills; a handler of the caller forks meanwhile.

    The first kernel of x86-64-v3 decides all products of 87.5, that of x86-64-v4 does not.
    """
    code = f"""
{NOTED}
parent, children = os.getpid(), []
def fork_here(*_):
    if os.getpid() == parent:
        pid = os.fork()
        children.append(pid)
        if pid == 0:
            signal.alarm(20)
signal.signal(signal.SIGALRM, fork_here)
x = np.zeros((1 << 21) + 5, "f4")
x[1 << 20 :] = np.linspace(1, 1.25, (1 << 20) + 5, dtype="f4") * np.float32({number})
signal.setitimer(signal.ITIMER_REAL, 0.02)
y = f(x, out=x.copy() if {in_place} else None)
signal.setitimer(signal.ITIMER_REAL, 0)
ogive.set_num_threads(1)
right = (y == f(x)).all()
if os.getpid() != parent:
    os._exit(not right)
(row,) = ogive.runtime.statistics()
is_undecided = row.retried + row.repaired > 0
asks = len(compiled) > 1 if is_undecided else len(compiled) == 1 and {number} == 87.5
print(right, all(compiled), asks, set(statuses(children)) <= {{0}})
"""
    code = code.replace("x.copy() if True else None", "x.copy()").replace("x.copy() if False else None", "None")
    if in_place:
        code = code.replace("y = f(x, out=x.copy())", "y = x.copy(); f(y, out=y)")
    assert run(code) == (0, "True True True True", "")
