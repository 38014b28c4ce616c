import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ogive
from ogive.errors import ParameterError
from ogive.runtime import threads as module
from tests.inputs import assert_same_bits

X = np.linspace(-8, 8, 1_000_003, dtype=np.float32)


def run(code, **environment):
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
        check=False,
    )
    return completed.returncode, completed.stdout.strip(), completed.stderr.strip().splitlines()[-1:]


def others_ran_during(call):
    """Whether a thread that waits for nothing but the interpreter's lock got it during the call."""
    may_begin, began = threading.Lock(), []

    def wait():
        with may_begin:
            began.append(True)

    may_begin.acquire()
    other = threading.Thread(target=wait)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(30)  # nobody is asked to give the lock away
    try:
        may_begin.release()
        call()
        return bool(began)
    finally:
        sys.setswitchinterval(interval)
        other.join()


@pytest.mark.parametrize("operands", [(X, X), (X[:, None], X[:3])], ids=["alike", "broadcast"])
def test_a_long_call_lets_other_threads_run(threads, operands):
    threads(1)
    out = np.empty(np.broadcast_shapes(*(x.shape for x in operands)), np.float32)

    def call():
        for _ in range(20):
            ogive.pow(*operands, out=out)

    ogive.pow(*operands, out=out)  # compiled
    assert others_ran_during(call)
    assert not others_ran_during(lambda: None)


def test_concurrent_callers(threads):
    threads(2)
    expected = {alpha: ogive.celu(X, alpha=alpha) for alpha in (0.5, 1.0, 2.0)}
    failures = []

    def work(alpha):
        for _ in range(20):
            if not np.array_equal(ogive.celu(X, alpha=alpha), expected[alpha]):
                failures.append(alpha)

    workers = [threading.Thread(target=work, args=(alpha,)) for alpha in expected for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_many_threads_compile_one_kernel_at_once():
    @ogive.operator
    def fresh(x):
        return ogive.formula.tanh(x) * 1.0625

    results = []
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        results.append(fresh(X[:1000]))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 8
    for result in results:
        assert_same_bits(result, results[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork():
    code = """
import os, warnings
warnings.simplefilter("ignore")  # Python 3.12 warns about fork in a process with threads, which is what is tested
import numpy as np, ogive
ogive.set_num_threads(2)
x = np.linspace(-8, 8, 1_000_003, dtype=np.float32)
expected = ogive.celu(x)
children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        ok = all(np.array_equal(ogive.celu(x), expected) for _ in range(3))
        os._exit(0 if ok else 1)
    children.append(pid)
    assert np.array_equal(ogive.celu(x), expected)
print([os.waitpid(pid, 0)[1] for pid in children])
"""
    assert run(code) == (0, "[0, 0, 0, 0]", [])


def test_exit_while_workers_wait_and_while_they_work():
    code = """
import threading, numpy as np, ogive
ogive.set_num_threads(2)
x = np.linspace(-8, 8, 4_000_000, dtype=np.float32)
ogive.celu(x)
threading.Thread(target=lambda: [ogive.celu(x) for _ in range(50)], daemon=True).start()
print("leaving")
"""
    assert run(code)[:2] == (0, "leaving")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is told where threads may run")
def test_woken_workers_may_use_every_processor_again():
    """They are kept off their caller's while they sleep; also where calls follow before they are awake."""
    code = (
        "import os, time, numpy, ogive; ogive.set_num_threads(4); x = numpy.ones(1 << 20, 'f4'); "
        "[(time.sleep(0.003), ogive.exp(x), ogive.exp(x), ogive.exp(x)) for _ in range(50)]; time.sleep(0.1); "
        "threads = [int(t) for t in os.listdir('/proc/self/task')]; "
        "print(len(threads) >= 4, {frozenset(os.sched_getaffinity(t)) for t in threads} == {frozenset(os.sched_getaffinity(0))})"
    )
    assert run(code) == (0, "True True", [])


def test_number_from_the_environment():
    code = "import ogive; print(ogive.get_num_threads())"
    assert run(code, OGIVE_NUM_THREADS="3") == (0, "3", [])
    status, _, last = run(code, OGIVE_NUM_THREADS="many")
    assert status == 1
    assert "OGIVE_NUM_THREADS: it is 'many'; allowed: a whole number from 1 on" in last[0]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", None])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ParameterError, match="set_num_threads: threads is .*; allowed: a whole number from 1 on"):
        ogive.set_num_threads(wrong)


@pytest.mark.parametrize(
    ("content", "quota"), [("max 100000", None), ("150000 100000", 2), ("50000 100000", 1), ("400000 100000", 4)]
)
def test_quota_of_the_control_group(tmp_path, monkeypatch, content, quota):
    (tmp_path / "cpu.max").write_text(content)
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    assert module._quota() == quota
    assert 1 <= module.available_processors() <= (quota or os.cpu_count())


def test_quota_of_the_first_version(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    assert module._quota() is None
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert module._quota() is None
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("250000\n")
    assert module._quota() == 3
