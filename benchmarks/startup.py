"""What is paid once: starting a process, importing, compiling a kernel, finding it in the cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["SECTIONS"]

_FIRST_CELU = "import numpy as np; import {0}; x = np.linspace(-4, 4, 1000, dtype=np.float32); {1}"

#: What a process is started for.
STARTS = {
    "python -c 'import numpy'": "import numpy",
    "import ogive": "import ogive",
    "first CELU of 1,000 floats, cache warm": _FIRST_CELU.format("ogive", "ogive.celu(x, alpha=1.5)"),
    "first CELU of 1,000 floats, cache cold": _FIRST_CELU.format("ogive", "ogive.celu(x, alpha=1.5)"),
    "first CELU of 1,000 floats, torch": _FIRST_CELU.format("torch", "torch.celu(torch.from_numpy(x), 1.5)"),
    "first CELU of 1,000 floats, jax": _FIRST_CELU.format("jax", "jax.jit(jax.nn.celu)(x, 1.5).block_until_ready()"),
}

#: Kernels that are compiled: from a short one to a long one.
KERNELS = ("relu", "celu", "tanh", "gelu", "softplus", "softmax")

_COMPILE = """
import sys, time, ogive
from ogive.codegen import compiler, llvm
from ogive.transform import lower
op = ogive.catalog.OPERATORS[{0!r}]
signature = next(s for s in op.signatures if s.inputs[0].name == "float32")
kernel = op.kernel(signature)
if {1!r} == "compile":
    compiler._llvm()
begin = time.perf_counter()
kernel.prepare()
print(time.perf_counter() - begin)
"""


def _python(code: str, cache: str) -> float:
    """Seconds that a process takes."""
    begin = time.perf_counter()
    environment = {k: v for k, v in os.environ.items() if k != "OGIVE_CACHE"}
    environment |= {"XDG_CACHE_HOME": cache, "JAX_PLATFORMS": "cpu"}  # as users have it: the default folder
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    return time.perf_counter() - begin


def _missing(code: str) -> bool:
    from importlib.util import find_spec

    return any(f"import {name}" in code and find_spec(name) is None for name in ("torch", "jax"))


def starts(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """From the start of a process to its end, in interleaved rounds."""
    with tempfile.TemporaryDirectory() as folder:
        taken: dict[str, list[float]] = {name: [] for name, code in STARTS.items() if not _missing(code)}
        for name in taken:  # files into memory, kernels into the cache
            _python(STARTS[name], folder)
        for round_number in range(rounds):
            for name, seconds in taken.items():
                cold = Path(folder) / f"cold{round_number}"
                seconds.append(_python(STARTS[name], str(cold) if name.endswith("cold") else folder))
            advance()
    return [
        {"name": name, "seconds": statistics.median(seconds), "smallest": min(seconds)}
        for name, seconds in taken.items()
    ]


def kernels(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """One kernel, compiled or loaded from the cache, without the import and without loading LLVM."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in KERNELS:
            seconds: dict[str, list[float]] = {"compile": [], "load": []}
            for _ in range(rounds):
                for kind, taken in seconds.items():
                    environment = os.environ | {"OGIVE_CACHE": "off" if kind == "compile" else folder}
                    command = [sys.executable, "-c", _COMPILE.format(name, kind)]
                    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
                    taken.append(float(done.stdout))
            rows.append({"name": name} | {kind: statistics.median(taken) for kind, taken in seconds.items()})
            advance()
    return rows  # type: ignore[return-value]


#: Section -> (function, how many steps it advances for a number of rounds).
SECTIONS: dict[str, tuple[Callable[[int, Callable[[], None]], list[dict[str, object]]], Callable[[int], int]]] = {
    "start": (starts, lambda rounds: rounds),
    "compile": (kernels, lambda rounds: len(KERNELS)),
}
