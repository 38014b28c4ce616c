import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

import ogive
from ogive import _native
from ogive.errors import OgiveError, ParameterError
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


def others_ran_during(call, seconds=0):
    """Whether a thread that waits for nothing but the interpreter's lock got it during the call. On a busy machine's
    processors it may get none for a while, so the call is repeated until it did, or for so many seconds.
    """
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
        deadline = time.monotonic() + seconds
        call()
        while not began and time.monotonic() < deadline:
            call()
        return bool(began)
    finally:
        sys.setswitchinterval(interval)
        other.join()


@pytest.mark.parametrize("operands", [(X, X), (X[:, None], X[:3])], ids=["alike", "broadcast"])
def test_a_long_call_lets_other_threads_run(threads, operands):
    threads(1)
    out = np.empty(np.broadcast_shapes(*(x.shape for x in operands)), np.float32)

    ogive.pow(*operands, out=out)  # compiled
    assert others_ran_during(lambda: ogive.pow(*operands, out=out), seconds=20)
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not others_ran_during(lambda: None)


@pytest.mark.matrix(share=5)
@pytest.mark.skipif(not hasattr(signal, "sigwait"), reason="this system has no masks of signals")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGUSR1", "SIGALRM", "SIGCHLD"])
def test_workers_leave_signals_to_the_program(number):
    """A daemon blocks signals in its own threads and waits for them. A worker that took one would end the process."""
    code = f"""
import os, signal, time
import numpy as np, ogive
ogive.set_num_threads(4)
x = np.ones(1 << 22, np.float32)
for _ in range(5):
    ogive.exp(x)
of_faults = sum(1 << (s - 1) for s in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL))
def masks():
    found = []
    for thread in os.listdir("/proc/self/task"):
        fields = dict(line.split(":", 1) for line in open(f"/proc/self/task/{{thread}}/status"))
        found.append(int(fields["SigBlk"], 16))
    return [mask for mask in found if mask]
if os.path.isdir("/proc/self/task"):
    end = time.monotonic() + 20
    while any(mask & of_faults for mask in masks()) and time.monotonic() < end:
        time.sleep(0.01)  # a thread that has not run yet has all signals blocked, by the C library
    workers = masks()
    assert len(workers) == 3 and not any(mask & of_faults for mask in workers), workers
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.{number}])
os.kill(os.getpid(), signal.{number})
print(signal.sigwait([signal.{number}]).name)
"""
    assert run(code, OPENBLAS_NUM_THREADS="1") == (0, number, [])


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


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_while_another_thread_owns_the_pool():
    """The child has no workers and nobody's locks: it computes right, and starts workers of its own."""
    code = """
import os, threading, time, warnings
warnings.simplefilter("ignore")  # Python 3.12 warns about fork in a process with threads, which is what is tested
import numpy as np, ogive
ogive.set_num_threads(2)
x = np.linspace(-8, 8, 1 << 20, dtype=np.float32)
large = np.linspace(-8, 8, 1 << 24, dtype=np.float32)
out, result = np.empty_like(large), np.empty_like(x)
expected = ogive.tanh(x)
ogive.tanh(large, out=out)
begins, goes_on = threading.Event(), True
def own():  # nearly all the time inside one call of all threads
    while goes_on:
        begins.set()
        ogive.tanh(large, out=out)
owner = threading.Thread(target=own)
owner.start()
begins.wait()
children = []
for i in range(12):
    time.sleep(0.001 * i)
    pid = os.fork()
    if pid == 0:
        ok = all(np.array_equal(ogive.tanh(x, out=result), expected) for _ in range(3))
        tasks = "/proc/self/task"  # of Linux
        os._exit(0 if ok and (not os.path.isdir(tasks) or len(os.listdir(tasks)) == 2) else 1)
    children.append(pid)
goes_on = False
owner.join()
assert np.array_equal(ogive.tanh(x), expected)
print({os.waitpid(pid, 0)[1] for pid in children})
"""
    assert run(code) == (0, "{0}", [])


@pytest.mark.matrix(share=16, pool="slow")
def test_exit_while_daemon_threads_compute():
    code = """
import threading, numpy as np, ogive
ogive.set_num_threads(2)
x = np.linspace(-8, 8, 4_000_000, dtype=np.float32)
ogive.celu(x)
for _ in range(3):
    threading.Thread(target=lambda: [ogive.celu(x) for _ in range(1000)], daemon=True).start()
print("leaving")
"""
    for _ in range(3):
        assert run(code)[:2] == (0, "leaving")


# ---- the pool and the processors

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux is told where threads may run")

PLACES = """
import os, time, numpy, ogive
def places():  # of all threads but the main one, which masks begin with
    tasks = sorted(map(int, os.listdir("/proc/self/task")))
    return {task: frozenset(os.sched_getaffinity(task)) for task in tasks if task != os.getpid()}
x = numpy.ones(1 << 20, "f4")
def compute():  # in a row, and after pauses in which workers fall asleep
    for _ in range(30):
        time.sleep(0.003)
        [ogive.exp(x) for _ in range(3)]
mask = frozenset(os.sched_getaffinity(0))
before = places()  # threads that other libraries have started
ogive.set_num_threads(THREADS)
compute()
workers = {task: place for task, place in places().items() if task not in before}
"""


@pytest.mark.matrix(share=16, pool="slow")
@LINUX
def test_workers_for_all_processors_have_one_each_from_their_start_on():
    code = PLACES.replace("THREADS", "max(2, len(mask))") + (
        "assert len(set(workers.values())) == len(workers) >= 1, workers\n"
        "assert all(len(place) == 1 and place <= mask for place in workers.values()), workers\n"
        "print(os.sched_getaffinity(0) == mask)"
    )
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("this process may use one processor")
    assert run(code) == (0, "True", [])


@pytest.mark.matrix(share=16, pool="slow")
@LINUX
def test_a_mask_from_outside_stays():
    """Set on workers that sleep, that compute and that are about to wake."""
    code = PLACES.replace("THREADS", "max(2, len(mask))") + (
        "for task in workers: os.sched_setaffinity(task, mask)\n"
        "compute()\n"
        "print(len(workers) >= 1, {places()[task] for task in workers} == {mask}, os.sched_getaffinity(0) == mask)"
    )
    assert run(code) == (0, "True True True", [])


@pytest.mark.matrix(share=16, pool="slow")
@LINUX
@pytest.mark.parametrize("fewer", [True, False])
def test_the_scheduler_places_workers_that_are_not_one_for_each_processor(fewer):
    """Where other processes may have the rest, or where there are more threads than processors."""
    allowed = len(os.sched_getaffinity(0))
    if fewer and allowed < 3:
        pytest.skip("two threads are not fewer than the processors that this process may use")
    code = PLACES.replace("THREADS", "2" if fewer else "len(mask) + 3") + (
        "anywhere = [place for place in workers.values() if place == mask]\nprint(len(workers), len(anywhere))"
    )
    workers = 1 if fewer else allowed + 2
    free = 1 if fewer else (workers if allowed == 1 else workers - (allowed - 1))
    assert run(code) == (0, f"{workers} {free}", [])


# ---- how many


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({"OGIVE_NUM_THREADS": "3"}, 3),
        ({"OGIVE_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, 3),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": " 4, 2"}, 4),
        ({"OGIVE_NUM_THREADS": "", "OMP_NUM_THREADS": "7"}, 7),
        # A value that OpenMP does not allow is passed over.
        ({"OMP_NUM_THREADS": "many"}, None),
        ({"OMP_NUM_THREADS": "0"}, None),
        ({"OMP_NUM_THREADS": "-1"}, None),
        ({"OMP_NUM_THREADS": ""}, None),
        ({"OMP_NUM_THREADS": "1000000"}, None),
        ({"OMP_NUM_THREADS": "\N{SUPERSCRIPT TWO}"}, None),
        ({}, None),
    ],
    ids=repr,
)
def test_number_from_the_environment(variables, number, monkeypatch):
    monkeypatch.setattr(module, "available_processors", lambda: 11)
    assert module._from_environment(variables) == (number or 11)


def test_more_processors_than_the_pool_has_threads(monkeypatch):
    monkeypatch.setattr(module, "available_processors", lambda: 5000)
    assert module._from_environment({}) == 1024


@pytest.mark.matrix(share=16, pool="slow")
def test_the_first_import_reads_the_environment():
    code = "import ogive; print(ogive.get_num_threads())"
    assert run(code, OGIVE_NUM_THREADS="3", OMP_NUM_THREADS="2") == (0, "3", [])
    assert run(code, OMP_NUM_THREADS="1") == (0, "1", [])
    for wrong in ("many", "0", "1025", "2,1", "\N{SUPERSCRIPT TWO}"):
        with pytest.raises(OgiveError) as caught:
            module._from_environment({"OGIVE_NUM_THREADS": wrong})
        sentence = f"OGIVE_NUM_THREADS: it is {wrong!r}; allowed: a whole number from 1 to 1024"
        assert str(caught.value) == sentence
    status, _, last = run(code, OGIVE_NUM_THREADS="1025")
    assert status == 1
    assert "OGIVE_NUM_THREADS: it is '1025'; allowed: a whole number from 1 to 1024" in last[0]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", None, True, 1025, 10**6, 10**30])
def test_wrong_numbers_are_refused(wrong):
    before = ogive.get_num_threads()
    with pytest.raises(
        ParameterError, match=r"^set_num_threads: threads is .*; allowed: a whole number from 1 to 1024"
    ):
        ogive.set_num_threads(wrong)
    with pytest.raises(ParameterError, match=r"^threads: threads is .*; allowed: a whole number from 1 to 1024"):
        ogive.threads(wrong)  # before the block begins
    assert ogive.get_num_threads() == before


def test_whole_numbers_of_other_types(threads):
    threads(np.int64(3))
    assert ogive.get_num_threads() == 3
    with ogive.threads(np.uint8(2)):
        assert ogive.get_num_threads() == 2
    with pytest.raises(ValueError, match="1025 threads; from 1 to 1024 are allowed"):
        _native.set_pool_size(1025)
    with pytest.raises(ValueError, match="-1 threads; from 0 to 1024 are allowed"):
        _native.set_own_pool_size(-1)


# ---- of one thread


def test_threads_in_a_block(threads):
    threads(3)
    with ogive.threads(1):
        assert ogive.get_num_threads() == 1
        with ogive.threads(5):  # more than the process has
            assert ogive.get_num_threads() == 5
        assert ogive.get_num_threads() == 1
        threads(4)  # of the process: this thread has a number of its own
        assert ogive.get_num_threads() == 1
    assert ogive.get_num_threads() == 4
    with pytest.raises(RuntimeError), ogive.threads(1):
        raise RuntimeError
    assert ogive.get_num_threads() == 4

    @ogive.threads(2)
    def decorated(n):
        return [ogive.get_num_threads()] + (decorated(n - 1) if n else [])

    assert decorated(1) == [2, 2]
    assert ogive.get_num_threads() == 4


def test_every_thread_has_a_number_of_its_own(threads):
    """Four threads, each in a block of its own at the same time; results are those of one thread."""
    threads(3)
    expected, found = ogive.celu(X), {}
    barrier = threading.Barrier(5)

    def work(number):
        with ogive.threads(number):
            barrier.wait()
            equal = all(np.array_equal(ogive.celu(X), expected) for _ in range(5))
            found[number] = equal, ogive.get_num_threads()
            barrier.wait()
        found[-number] = ogive.get_num_threads()

    workers = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 4, 5)]
    for worker in workers:
        worker.start()
    barrier.wait()
    assert ogive.get_num_threads() == 3
    barrier.wait()
    for worker in workers:
        worker.join()
    assert found == {n: (True, n) for n in (1, 2, 4, 5)} | {-n: 3 for n in (1, 2, 4, 5)}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted as Linux lists them")
def test_a_block_of_one_thread_starts_no_others():
    code = (
        "import os, numpy, ogive; ogive.set_num_threads(3); x = numpy.ones(1 << 20, 'f4'); out = numpy.empty_like(x)\n"
        "def count(): return len(os.listdir('/proc/self/task'))\n"
        "before = count()\n"
        "with ogive.threads(1): [ogive.exp(x, out=out) for _ in range(10)]\n"
        "inside = count(); [ogive.exp(x, out=out) for _ in range(10)]; print(inside - before, count() - before)"
    )
    assert run(code) == (0, "0 2", [])


# ---- other libraries' ways to say it


def test_threadpoolctl_limits_the_calling_thread(threads):
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    ogive.register_threadpoolctl()
    ogive.register_threadpoolctl()  # once more does nothing
    threads(3)
    (info,) = [known for known in threadpoolctl.threadpool_info() if known["user_api"] == "ogive"]
    assert info["num_threads"] == 3
    elsewhere = []
    with threadpoolctl.threadpool_limits(1):
        assert ogive.get_num_threads() == 1
        other = threading.Thread(target=lambda: elsewhere.append(ogive.get_num_threads()))
        other.start()
        other.join()
    assert elsewhere == [3]
    assert ogive.get_num_threads() == 3
    assert _native.own_pool_size() == 0  # the process's number counts again
    with threadpoolctl.threadpool_limits({"ogive": 2}):
        assert ogive.get_num_threads() == 2
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert ogive.get_num_threads() == 3
    with ogive.threads(2):
        with threadpoolctl.threadpool_limits(1):
            assert ogive.get_num_threads() == 1
        assert ogive.get_num_threads() == 2
    assert ogive.get_num_threads() == 3


@pytest.mark.matrix(share=16, pool="slow")
def test_threadpoolctl_in_either_order_of_imports():
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    limited = "; ogive.set_num_threads(2); c = threadpoolctl.threadpool_limits(1); print(ogive.get_num_threads())"
    assert run("import threadpoolctl, ogive" + limited) == (0, "1", [])
    assert run("import ogive, threadpoolctl; ogive.register_threadpoolctl()" + limited) == (0, "1", [])
    assert run("import sys, ogive; print('threadpoolctl' in sys.modules)") == (0, "False", [])


@pytest.mark.matrix(share=16, pool="slow")
def test_joblib_limits_its_workers():
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        found = joblib.Parallel()(joblib.delayed(_number_of_a_worker)() for _ in range(4))
    assert found == [1, 1, 1, 1]


def _number_of_a_worker():
    import ogive

    return ogive.get_num_threads()


@pytest.mark.parametrize(
    ("content", "quota"),
    [
        ("max 100000", None),
        ("150000 100000", 2),
        ("50000 100000", 1),
        ("400000 100000", 4),
        ("nonsense", None),
        ("1 0", None),
    ],
)
def test_quota_of_the_control_group(tmp_path, monkeypatch, content, quota):
    (tmp_path / "cpu.max").write_text(content)
    monkeypatch.setattr(module, "_CGROUPS", tmp_path)
    monkeypatch.setattr(module, "_OWN_CGROUPS", tmp_path / "missing")
    assert module._quota() == quota
    assert 1 <= module.available_processors() <= (quota or os.cpu_count())


def test_the_smallest_quota_of_all_groups_above(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CGROUPS", tmp_path)
    monkeypatch.setattr(module, "_OWN_CGROUPS", tmp_path / "own")
    (tmp_path / "own").write_text("0::/batch/job:7/step\n")
    (tmp_path / "batch/job:7/step").mkdir(parents=True)
    (tmp_path / "batch/job:7/step/cpu.max").write_text("max 100000\n")
    assert module._quota() is None
    (tmp_path / "batch/job:7/cpu.max").write_text("300000 100000\n")
    assert module._quota() == 3
    (tmp_path / "batch/cpu.max").write_text("200000 100000\n")
    assert module._quota() == 2


def test_quota_of_the_first_version(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CGROUPS", tmp_path)
    monkeypatch.setattr(module, "_OWN_CGROUPS", tmp_path / "own")
    assert module._quota() is None
    (tmp_path / "own").write_text("5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/\n")
    (tmp_path / "cpu/job").mkdir(parents=True)
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert module._quota() is None
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("250000\n")
    assert module._quota() == 3
    (tmp_path / "cpu/job/cpu.cfs_quota_us").write_text("150000\n")
    (tmp_path / "cpu/job/cpu.cfs_period_us").write_text("100000\n")
    assert module._quota() == 2
