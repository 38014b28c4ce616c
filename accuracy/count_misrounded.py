"""Count the results that are not correctly rounded, for docs/accuracy.md: writes accuracy/misrounded.json.

    python accuracy/count_misrounded.py

All operators of one tensor with their default parameters in float16 and bfloat16, and some with other parameters or of
integers, over every input. Then run accuracy/make_document.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.laboratory.accuracy import count_misrounded, fingerprint

DATA = Path(__file__).resolve().parent / "misrounded.json"

DTYPES = ("float16", "bfloat16")

#: Besides the defaults: parameters that are required, and those with which more goes wrong.
CHANGED: dict[str, list[dict[str, Any]]] = {
    "celu": [{"alpha": 1e30}],
    "gelu": [{"approximate": "tanh"}],
    "parametric_softplus": [{"alpha": 1.5, "beta": 0.5}],
    "scaled_tanh": [{"alpha": 1e30, "beta": 1e-30}],
    "softcap": [{"cap": 1.5}],
    "swish": [{"alpha": 1.702}],
    "threshold": [{"min": 0.5}],
}

#: (operator, element type, parameters), of integers.
INTEGERS: list[tuple[str, str, dict[str, Any]]] = [
    ("shrink", "int8", {"bias": 1e-6, "lambd": 0.0}),
    ("shrink", "int16", {"bias": 5e-4, "lambd": 0.0}),
]


def cases() -> list[tuple[str, str, dict[str, Any]]]:
    """The rows of the count, in the catalogue's order."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for op in OPERATORS.values():
        if op.inputs > 1 or op.is_row_wise:
            continue
        for dtype in DTYPES:
            kind = element_type(dtype)
            if any({*s.inputs, *s.outputs} == {kind} for s in op.signatures):
                sets: list[dict[str, Any]] = [{}] if not any(p.is_required for p in op.parameters) else []
                found += [(op.name, dtype, values) for values in [*sets, *CHANGED.get(op.name, [])]]
    return found + INTEGERS


def main() -> None:
    lines = []
    for name, dtype, values in cases():
        op, kind = OPERATORS[name], element_type(dtype)
        counted = asdict(count_misrounded(op, kind, values))
        # One example is enough; as text: JSON has no infinity.
        first = [str(value) for value in (counted.pop("first") or [{"inputs": []}])[0]["inputs"]]
        del counted["worst"], counted["by"]
        counted |= {"first": first, "fingerprint": fingerprint(op, kind, values)}
        print(name, dtype, values, counted["misrounded"], flush=True)
        lines.append(json.dumps(counted))
    DATA.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    print(f"wrote {DATA}")


if __name__ == "__main__":
    main()
