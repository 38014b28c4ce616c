"""The costs that are paid once: starting a process, importing, compiling a kernel, finding it in the cache. And the cost of a call
by itself, with each way to call a kernel."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from benchmarks.kernels import digest_of

__all__ = ["SECTIONS"]

_FIRST_CELU = "import numpy as np; import {0}; x = np.linspace(-4, 4, 1000, dtype=np.float32); {1}"

#: The purposes that a process is started for.
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

#: The name of a model's first run, among the kernels.
CHAIN = "first run of a chain of 20 nodes"

_COMPILE = """
import sys, time, ogive
from ogive.backends import compiler, llvm
from ogive.lowering import lower
op = ogive.catalog.OPERATORS[{0!r}]
signature = next(s for s in op.signatures if s.inputs[0].name == "float32")
kernel = op.kernel(signature)
if {1!r} == "compile":
    compiler._llvm()
begin = time.perf_counter()
kernel.prepare()
print(time.perf_counter() - begin)
"""

#: Loading the model is not counted, nor is LLVM's library where kernels of one operator are compiled; here it is.
_RUN_CHAIN = """
import time, numpy as np, ogive.onnx
from onnx import parser
operators = ["Celu", "Tanh", "Sigmoid", "Softplus", "Mish", "Elu", "Selu", "HardSwish", "Gelu", "Softsign"] * 2
nodes = " ".join(f"h{i + 1} = {operator}(h{i})" for i, operator in enumerate(operators))
text = '<ir_version: 10, opset_import: ["" : 22]> chain (float[N] h0) => (float[N] h20) { %s }' % nodes
model = ogive.onnx.load(parser.parse_model(text))
x = np.linspace(-4, 4, 1000, dtype=np.float32)
begin = time.perf_counter()
model(x)
print(time.perf_counter() - begin)
"""

#: The calls, with their statements: (preparation, statement). `x` and `y` have 16 elements.
CALLS = {
    "a function": ("", "ogive.relu(x, out=y)"),
    "a model of one node": (
        """
from onnx import parser
import ogive.onnx
text = '<ir_version: 10, opset_import: ["" : 22]> one (float[N] x) => (float[N] y) { y = Relu(x) }'
model = ogive.onnx.load(parser.parse_model(text))
""",
        "model(x, out=y)",
    ),
    "a compiled DirectML operator": (
        """
import ogive.directml as dml
device = dml.Device()
tensor = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, [1, 1, 1, 16])
operator = device.CompileOperator(device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(tensor, tensor)))
x, y = x.reshape(1, 1, 1, 16), y.reshape(1, 1, 1, 16)
""",
        "operator.dispatch([x], [y])",
    ),
    "a compiled DirectML graph": (
        """
import ogive.directml as dml
graph = dml.Graph(dml.Device())
operator = graph.compile([dml.activation_relu(graph.input([1, 16], name="x"))])
given = {"x": x.reshape(1, 16)}
""",
        "operator(given)",
    ),
}

_CALL = """
import timeit, numpy as np, ogive
x, y = np.linspace(-4, 4, 16, dtype=np.float32), np.empty(16, np.float32)
{0}
timer = timeit.Timer({1!r}, globals=globals())
timer.timeit(1000)
print(timer.timeit(20000) / 20000)
"""


@cache
def _byte_code() -> tempfile.TemporaryDirectory[str]:
    """Where Python keeps what it has compiled of the package; installers do that. It goes when this process ends."""
    return tempfile.TemporaryDirectory()


def _environment() -> dict[str, str]:
    others = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return others | {"PYTHONPYCACHEPREFIX": _byte_code().name}


def _python(code: str, kept: str) -> float:
    """Seconds that a process takes."""
    begin = time.perf_counter()
    environment = {k: v for k, v in _environment().items() if k != "OGIVE_CACHE"}
    environment |= {"XDG_CACHE_HOME": kept, "JAX_PLATFORMS": "cpu"}  # as users have it: the default folder
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    return time.perf_counter() - begin


def _missing(code: str) -> bool:
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
    """One kernel, compiled or loaded from the cache, without the import and without loading LLVM; and a model's."""
    scripts = {name: {kind: _COMPILE.format(name, kind) for kind in ("compile", "load")} for name in KERNELS}
    if find_spec("onnx") is not None:
        scripts[CHAIN] = dict.fromkeys(("compile", "load"), _RUN_CHAIN)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, by_kind in scripts.items():
            _printed(by_kind["load"], folder)  # the first loads files
            seconds: dict[str, list[float]] = {kind: [] for kind in by_kind}
            for _ in range(rounds):
                for kind, script in by_kind.items():
                    seconds[kind].append(_printed(script, "off" if kind == "compile" else folder))
            case = {"name": name, "kernels": _kernels(name)}
            rows.append(case | {kind: statistics.median(taken) for kind, taken in seconds.items()})
            advance()
    return rows


def _kernels(name: str) -> str:
    """The digest of the kernels that are compiled: of the operator, or of the model."""
    if name == CHAIN:  # twice these
        return digest_of({"section": "models", "operator": "ten activations"})
    return digest_of({"section": "softmax" if name == "softmax" else "float32", "operator": name, "dtype": "float32"})


def calls(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """A call on 16 elements by each way to call a kernel, in interleaved rounds."""
    scripts = {
        f"{name}: {statement}": _CALL.format(preparation, statement)
        for name, (preparation, statement) in CALLS.items()
        if "onnx" not in preparation or find_spec("onnx") is not None
    }
    taken: dict[str, list[float]] = {name: [] for name in scripts}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, script in scripts.items():
                taken[name].append(_printed(script, folder))
            advance()
    return [{"name": name, "seconds": statistics.median(seconds)} for name, seconds in taken.items()]


def _printed(script: str, kept: str) -> float:
    """The number that a process prints."""
    command = [sys.executable, "-c", script]
    environment = _environment() | {"OGIVE_CACHE": kept}
    return float(subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout)


#: Section -> (function, how many steps it advances for a number of rounds).
SECTIONS: dict[str, tuple[Callable[[int, Callable[[], None]], list[dict[str, object]]], Callable[[int], int]]] = {
    "start": (starts, lambda rounds: rounds),
    "compile": (kernels, lambda rounds: len(KERNELS) + 1),
    "calls": (calls, lambda rounds: rounds),
}
