"""Memory and disks that fail: `make failures`.

    python -m tests.hostile.failures --points 60

Each allocation of each call fails once, of malloc and of Python's own allocators. A call then gives the right bits or raises
MemoryError or an error of Ogive's, and gives the right bits afterwards. Files of the cache fail in eight ways, and the process is
killed while it writes them: results stay right. Whatever else happens is printed, and makes the command fail.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

SECONDS_OF_A_CHILD = 60

#: Calls that are made in a thread of their own. Memory fails there, once it runs: where Python has none to start a thread, it waits
#: for ever by itself.
IN_A_THREAD = ("in a thread",)


def plain_calls() -> dict[str, Callable[[], Sequence[np.ndarray]]]:
    """For calls that another library can end: the same of that library alone. What happens to these is not Ogive's."""
    import onnx

    model = onnx.parser.parse_model(MODEL)
    data = model.SerializeToString()

    def loaded() -> list[np.ndarray]:  # protobuf's C library ends the process where it has no memory
        onnx.checker.check_model(onnx.load_from_string(data))
        onnx.shape_inference.infer_shapes(model)
        return []

    return {"load": loaded}


#: The words of Python itself where it has no memory to open a file.
PYTHONS = "unclear: RuntimeError: can't allocate read lock"

MODEL = """<ir_version: 9, opset_import: ["" : 20]> t (float[N, 17] x) => (float[17, N] d, float s) {
    a = Mul(x, x)  b = Gelu(a)  c = Softmax(b)  d = Transpose(c)  s = ReduceSum <keepdims = 0> (d) }"""


def calls() -> dict[str, Callable[[], Sequence[np.ndarray]]]:
    """The calls by name; each gives arrays that are compared bit by bit."""
    import ml_dtypes
    import onnx

    import ogive
    import ogive.onnx

    rng = np.random.default_rng(1)
    x, rows = rng.normal(size=300).astype(np.float32), rng.normal(size=(40, 17)).astype(np.float32)
    long, square = rng.normal(size=1 << 18).astype(np.float32), rng.normal(size=(512, 512)).astype(np.float32)
    out, place = np.empty_like(x), (np.empty((17, 40), np.float32), np.empty((), np.float32))
    data = onnx.parser.parse_model(MODEL).SerializeToString()
    model = ogive.onnx.load(data)

    def overlapping() -> list[np.ndarray]:
        copy = x.copy()
        ogive.gelu(copy[:-1], out=copy[1:])
        return [copy]

    return {
        "elements": lambda: [ogive.gelu(x)],
        "in a thread": lambda: [ogive.gelu(x)],
        "parameters": lambda: [ogive.celu(x, alpha=1.5)],
        "strides": lambda: [ogive.gelu(rows[::2, ::-1])],
        "transposed": lambda: [ogive.gelu(rows.T)],
        "broadcast": lambda: [ogive.prelu(rows, rows[0])],
        "out": lambda: [ogive.gelu(x, out=out).copy()],
        "overlapping": overlapping,
        "rows": lambda: [ogive.softmax(rows)],
        "columns": lambda: [ogive.softmax(rows, axis=0)],
        "several axes": lambda: [ogive.softmax(rows.reshape(5, 8, 17), axis=(0, 2))],
        "reduced rows": lambda: [
            np.asarray(ogive.log_sum_exp(rows) if hasattr(ogive, "log_sum_exp") else ogive.log_softmax(rows))
        ],
        "threads": lambda: [ogive.gelu(long)],
        "threads, rows": lambda: [ogive.softmax(square)],
        "float64": lambda: [ogive.gelu(x.astype(np.float64))],
        "float16": lambda: [ogive.gelu(x.astype(np.float16))],
        "bfloat16": lambda: [ogive.gelu(x.astype(ml_dtypes.bfloat16)).view(np.uint16)],
        "pow": lambda: [ogive.pow(np.abs(x), np.full_like(x, 2.5))],
        "gradient": lambda: [ogive.grad(ogive.gelu)(x)],
        "model": lambda: list(model(rows)),
        "model into arrays": lambda: [array.copy() for array in model(rows, out=place)],
        "model, other shape": lambda: list(model(rows[:7].copy())),
        "load": lambda: list(ogive.onnx.load(data)(rows)),
        "own operator": lambda: [ogive.operator(lambda t: t * ogive.sigmoid(t) + 2.25)(x)],
    }


def same(found: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> bool:
    return len(found) == len(right) and all(a.tobytes() == b.tobytes() for a, b in zip(found, right, strict=True))


class Malloc:
    """The C library's allocations, by the shim."""

    def __init__(self) -> None:
        self.shim = ctypes.CDLL(None)

    def fail(self, n: int) -> None:
        self.shim.shim_arm(ctypes.c_long(n), ctypes.c_long(1))

    def stop(self) -> int:
        return int(self.shim.shim_disarm())


class Python:
    """The interpreter's allocations."""

    def fail(self, n: int) -> None:
        import _testcapi

        _testcapi.set_nomemory(n, n + 1)

    def stop(self) -> int:
        import _testcapi

        _testcapi.remove_mem_hooks()
        return 150


def outcome(
    call: Callable[[], Sequence[np.ndarray]], right: Sequence[np.ndarray], kind: Malloc | Python, n: int
) -> str:
    """The outcome of a call whose allocation number n fails: in a child."""
    from ogive.errors import OgiveError

    found, text = None, "right"
    try:
        kind.fail(n)
        try:
            found = call()
        finally:
            kind.stop()
    except MemoryError:
        text = "MemoryError"
    except OgiveError:
        text = "OgiveError"
    except BaseException as error:
        text = f"unclear: {type(error).__name__}: {error}"[:200]
    if found is not None and not same(found, right):
        text = "wrong"
    try:
        return text if same(call(), right) else f"{text}, wrong afterwards"
    except BaseException as error:
        return f"{text}, broken afterwards: {type(error).__name__}: {error}"[:200]


def in_a_thread(work: Callable[[], str]) -> str:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def in_a_child(work: Callable[[], str]) -> str:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    os.close(writer)
    begin = time.monotonic()
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() - begin > SECONDS_OF_A_CHILD:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reader)
            return "hang"
        time.sleep(0.001)
    with os.fdopen(reader, "rb") as file:
        return file.read().decode() or "crash"


GOOD = {"right", "MemoryError", "OgiveError"}


def allocations(points: int) -> Counter[str]:
    import ogive

    ogive.set_num_threads(2)
    tally: Counter[str] = Counter()
    plain = plain_calls()
    for name, call in calls().items():
        for _ in range(3):
            right = [np.array(array) for array in call()]
        for kind in (Malloc(), Python()):
            found = outcomes(name, call, right, kind, points)
            excused = found.keys() - GOOD
            if excused and name in plain:
                excused &= outcomes(name, plain[name], plain[name](), kind, points).keys()
            else:
                excused = set()
            excused |= found.keys() & {PYTHONS}
            for text in found.keys() - GOOD:
                why = " (the other library, or Python, does so alone)" if text in excused else ""
                print(f"{name}, {type(kind).__name__}: {found[text]} x {text}{why}", flush=True)
            tally["tries"] += found.total()
            for text, count in found.items():
                tally["excused" if text in excused else text] += count
    return tally


def outcomes(
    name: str, call: Callable[[], Sequence[np.ndarray]], right: Sequence[np.ndarray], kind: Malloc | Python, points: int
) -> Counter[str]:
    """The outcomes of a call where some of its allocations fail, each once."""
    kind.fail(-1) if isinstance(kind, Malloc) else None
    call()
    count = kind.stop()
    chosen = sorted({int(n) for n in np.linspace(0, max(count - 1, 0), min(points, max(count, 1)))})
    found: Counter[str] = Counter()
    for n in chosen:
        work = partial(outcome, call, right, kind, n)
        found[in_a_child(partial(in_a_thread, work) if name in IN_A_THREAD else work)] += 1
    return found


CODE = """
import sys, numpy as np, ogive
x = np.linspace(-3, 3, 101, dtype=np.float32)
print(ogive.operator(lambda t: t * ogive.sigmoid(t * 1.37) + 2.25)(x).tobytes().hex())
"""

#: The same, killed at a call of C inside of the writing of a file.
KILLED = (
    """
import os, sys
depth = count = 0
def profile(frame, event, argument):
    global depth, count
    is_writing = frame.f_code.co_name == "_write" and frame.f_code.co_filename.endswith("cache.py")
    if is_writing and event in ("call", "return"):
        depth += 1 if event == "call" else -1
    elif depth and event in ("c_call", "c_return"):
        if count == int(sys.argv[1]):
            os.kill(os.getpid(), 9)
        count += 1
sys.setprofile(profile)
"""
    + CODE
)


def disks(kills: int) -> Counter[str]:
    """Processes whose cache fails, and those after them."""
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"OGIVE_CACHE": folder}

        def run(code: str, *arguments: str, fails: str = "") -> tuple[int, str]:
            done = subprocess.run(
                [sys.executable, "-c", code, *arguments],
                env=environment | {"OGIVE_FAILS": fails},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr

        right = run(CODE)
        for fails in ("eio", "enospc", "edquot", "short", "rename", "close", "unlink", "fstat"):
            for _ in range(2):
                shutil.rmtree(Path(folder) / "kernels-1", ignore_errors=True)
                found = [run(CODE, fails=fails), run(CODE, fails=fails), run(CODE)]
                tally["tries"] += 3
                tally["right"] += sum(one == right for one in found)
                for one in found:
                    if one != right:
                        print(f"{fails}: {one}", flush=True)
        for number in range(kills):
            shutil.rmtree(Path(folder) / "kernels-1", ignore_errors=True)
            run(KILLED, str(7 * number))
            found = [run(CODE)]
            tally["tries"] += 1
            tally["right"] += found == [right]
            if found != [right]:
                print(f"killed at {7 * number}: {found}", flush=True)
    return tally


def compiled_shim(folder: str) -> str:
    library = str(Path(folder) / "shim.so")
    source = str(Path(__file__).parent / "shim.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-pthread"], check=True)
    return library


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.failures", description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50, help="how many allocations of each call fail, of each kind")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--only", choices=("allocations", "disks"))
    chosen = parser.parse_args(arguments)
    if "shim.so" not in os.environ.get("LD_PRELOAD", ""):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"LD_PRELOAD": compiled_shim(folder), "OPENBLAS_NUM_THREADS": "1"}
            command = [
                sys.executable,
                "-m",
                "tests.hostile.failures",
                *(sys.argv[1:] if arguments is None else arguments),
            ]
            return subprocess.run(command, env=environment, check=False).returncode
    tally: Counter[str] = Counter()
    if chosen.only != "disks":
        tally += allocations(chosen.points)
        print("allocations:", dict(tally), flush=True)
    if chosen.only != "allocations":
        of_disks = disks(chosen.kills)
        print("disks:", dict(of_disks), flush=True)
        tally += of_disks
    return int(tally["tries"] != sum(tally[text] for text in (*GOOD, "excused")))


if __name__ == "__main__":
    sys.exit(main())
