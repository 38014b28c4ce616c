"""The kernels that compute a case: a digest of their programs, so that figures can be told from those of other kernels.

``python -m benchmarks.kernels`` prints those of all models; each is traced in a process of its own, where no kernel has
been made before.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["current", "digest_of"]

#: How many elements a model is traced with: two rows, and enough for threads to count.
TRACED = 1 << 16

Row = Mapping[str, Any]


def digest_of(row: Row) -> str:
    """The digest of the kernels that compute a case today, given as the figures have it; "" where it has none."""
    if row.get("section") == "cliffs":
        return _of_function(row["name"], row["dtype"]) if "limit" in row else ""  # sums are of all functions that day
    if "operator" not in row:
        return ""
    if row["section"] == "models":
        return _of_models().get(row["operator"], "")
    contract = "fast" if row["section"] == "fast" else "exact"
    return _of_operator(row["operator"], row["dtype"], contract)


def current(rows: Iterable[Row]) -> list[Row]:
    """The figures that are of today's kernels, and those that no kernel decides."""
    return [row for row in rows if row.get("kernels", "") == digest_of(row)]


@cache
def _of_operator(name: str, dtype: str, contract: str) -> str:
    import ogive

    choices: dict[str, str] = {}
    if name == "chain":

        @ogive.operator
        def chain(x: Any, w: Any, b: Any, g: Any) -> Any:
            return ogive.celu(x * w + b, alpha=1.5) * ogive.sigmoid(g)

        op = chain
    else:
        name, choices = ("gelu", {"approximate": "tanh"}) if name == "gelu_tanh" else (name, {})
        op = ogive.catalog.OPERATORS[name]
    op = op.fast if contract == "fast" else op
    wanted = {dtype}
    signature = next(s for s in op.signatures if {kind.name for kind in s.inputs} == wanted)
    return str(op.program(signature, **choices).digest)


@cache
def _of_function(name: str, dtype: str) -> str:
    """The digest for a cell of the cliffs; "" where there is no such function any more."""
    from benchmarks.cliffs import functions
    from ogive.cli.deciding_levels import signature_of

    make = functions().get(name)
    op: Any = None if make is None else make()
    signature = None if op is None else signature_of(op, dtype)
    return "" if signature is None else str(op.program(signature).digest)


@cache
def _of_models() -> dict[str, str]:
    command = [sys.executable, "-m", "benchmarks.kernels"]
    root = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "OGIVE_ACCURACY": "exact"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def _of_model(name: str) -> str:
    """Trace a model and take down each kernel that is asked for. Only right where no kernel has been made before."""
    import ogive.onnx
    from benchmarks.models import ModelCase
    from ogive.engine import computation

    seen: dict[str, Any] = {}
    made = computation._kernel

    def noted(key: computation._ByKey) -> Any:
        seen[key.computation.identity] = key.computation
        return made(key)

    computation._kernel = noted
    case = ModelCase(name, TRACED)
    ogive.onnx.load(case.onnx()).run(dict(zip(case.names, case.arrays(), strict=True)))
    digests = sorted(each.program.digest for each in seen.values())
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()[:16]


def main() -> None:
    import ogive.onnx  # noqa: F401  # once, before the children
    from benchmarks.models import MODELS

    found = {}
    for name in MODELS:
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(theirs, _of_model(name).encode())
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            found[name] = pipe.read().decode()
        if os.waitpid(child, 0)[1] or not found[name]:
            raise SystemExit(f"{name}: its kernels cannot be told")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
