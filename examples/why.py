"""Results of Ogive, PyTorch and NumPy beside the exact ones, with the time they take: python examples/why.py.

200-bit arithmetic of python-flint decides which results are right. PyTorch is left out where it is not installed.
Times are of this processor, which is named: others have other ratios. The last lines say where another library is faster.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import ogive
from ogive.backends.target import host_target

try:
    import flint
except ImportError:
    raise SystemExit("python-flint, which decides, is not installed: pip install python-flint") from None
try:
    import torch
except ImportError:
    torch = None

#: The beginning of the SHA-256 of `results()`: the same on every machine.
DIGEST = "abee6b6bad9e4940"

X = np.random.default_rng(0).normal(0, 4, 65536).astype(np.float32)


@ogive.operator
def softplus_as_written(x: Any) -> Any:
    """``log(1 + exp(x))``."""
    return np.log(1 + np.exp(x))


@ogive.operator
def rest(x: Any) -> Any:
    """``x - tanh(x)``."""
    return x - np.tanh(x)


#: Name -> Ogive's operator, the exact function, what to write in NumPy or PyTorch, and whether the derivative is meant.
CASES: dict[str, tuple[Any, Callable[[Any], Any], str, bool]] = {
    "gelu": (ogive.gelu, lambda v: v / 2 * (-v / flint.arb(2).sqrt()).erfc(), "nn.functional.gelu(x)", False),
    "gelu.fast": (ogive.gelu.fast, lambda v: v / 2 * (-v / flint.arb(2).sqrt()).erfc(), "nn.functional.gelu(x)", False),
    "log(1 + exp(x))": (softplus_as_written, lambda v: (1 + v.exp()).log(), "log(1 + exp(x))", False),
    "  its derivative": (ogive.grad(softplus_as_written), lambda v: v.exp() / (1 + v.exp()), "log(1 + exp(x))", True),
    "x - tanh(x)": (rest, lambda v: v - v.tanh(), "x - tanh(x)", False),
    "  its derivative ": (ogive.grad(rest), lambda v: v.tanh() ** 2, "x - tanh(x)", True),
}


def of_torch(text: str, is_derivative: bool) -> Callable[[np.ndarray], np.ndarray]:
    """PyTorch's function, on arrays."""
    function = eval(f"lambda x: {text}", vars(torch).copy())

    def computed(x: np.ndarray) -> np.ndarray:
        given = torch.from_numpy(x).requires_grad_(is_derivative)
        y = function(given)
        return (torch.autograd.grad(y.sum(), given)[0] if is_derivative else y).numpy()

    return computed


def errors(found: np.ndarray, function: Callable[[Any], Any], x: np.ndarray) -> list[float]:
    """In units in the last place of the exact results."""
    flint.ctx.prec = 200
    far = []
    for result, operand in zip(found.tolist(), x.tolist(), strict=True):
        mantissa, exponent = function(flint.arb(operand)).mid().man_exp()
        right = int(mantissa) * Fraction(2) ** int(exponent)
        far.append(float(abs(Fraction(result) - right) / Fraction(float(np.spacing(np.float32(abs(right)))))))
    return far


def times(calls: list[Callable[[np.ndarray], Any]]) -> list[float]:
    """The shortest time of each call, in nanoseconds an element. The calls take turns."""
    shortest = [float("inf")] * len(calls)
    for _ in range(60):
        for i, call in enumerate(calls):
            start = time.perf_counter_ns()
            call(X)
            shortest[i] = min(shortest[i], (time.perf_counter_ns() - start) / X.size)
    return shortest


def rows() -> list[tuple[str, str, int, float, float]]:
    """The function, its maker, how many results are wrong, the largest error, and the time."""
    lines, y, some = [], np.empty_like(X), X[::16].copy()
    for name, (ours, exact, text, is_derivative) in CASES.items():
        calls = {"Ogive": lambda v, f=ours: f(v, out=y[: v.size])}
        if text[0] != "n" and not is_derivative:
            calls["NumPy"] = eval(f"lambda x: {text}", vars(np).copy())
        if torch is not None:
            calls["PyTorch"] = of_torch(text, is_derivative)
        far = [errors(call(some), exact, some) for call in calls.values()]
        for by, error, spent in zip(calls, far, times([*calls.values()]), strict=True):
            lines.append((name, by, sum(e > 0.5 for e in error), max(error), spent))
    return lines


def slower(lines: list[tuple[str, str, int, float, float]]) -> list[str]:
    """A sentence for each function that another library computes faster than Ogive."""
    found = []
    for name in CASES:
        spent = {by: time for each, by, _, _, time in lines if each == name}
        ours, (best, by) = spent.pop("Ogive"), min(((time, by) for by, time in spent.items()), default=(0.0, ""))
        if by and best < ours:
            found.append(f"{name.strip()}: {by} takes {best / ours:.2f} of Ogive's time")
    return found


def results() -> bytes:
    """Those of eight operators, for a million bit patterns."""
    x = (np.arange(1 << 20, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32).view(np.float32)
    names = ("gelu", "mish", "softplus", "tanh", "sigmoid", "celu", "erf", "exp")
    return b"".join(getattr(ogive, name)(x).tobytes() for name in names)


def digest(target: str = "") -> str:
    """The beginning of the SHA-256 of the results, with the instructions of a target."""
    if not target:
        return hashlib.sha256(results()).hexdigest()[:16]
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", "import why; print(why.digest())"],
        env=os.environ | {"OGIVE_TARGET": target, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "not on this machine"


def processor() -> str:
    """Its name, as far as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    ogive.set_num_threads(1)
    ends = np.float32([-6, -np.inf])
    print("gelu(-6), gelu(-inf):  Ogive {:.7g}, {:.7g}".format(*ogive.gelu(ends)))
    if torch is not None:
        torch.set_num_threads(1)
        theirs = torch.nn.functional.gelu(torch.from_numpy(np.resize(ends, 32)))
        print("{:>32} {:.7g}, {:.7g}".format(f"PyTorch {torch.__version__}", *theirs[:2].tolist()))
    else:
        print("not installed, left out: PyTorch")
    busy = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"\n{processor()}, {host_target().name}, one thread, {X.size:,} elements{busy}")
    print(f"{'float32':18}{'':10}{'wrong of 4,096':>14}{'largest error':>16}{'ns an element':>16}")
    lines = rows()
    for name, by, wrong, largest, spent in lines:
        print(f"{name:18}{by:10}{wrong:14,}{largest:12.3g} ULP{spent:16.2f}")
    print("\nfaster here:", *(slower(lines) or ["no other library"]), sep="\n  ")
    print("\nSHA-256 of 8,388,608 results, expected on every machine:", DIGEST)
    for target in ("", "x86-64-v3", "x86-64"):
        print(f"{target or 'this processor':>56}: {digest(target)}")


if __name__ == "__main__":
    main()
