"""Count the float32 results of two operands that are not correctly rounded, over samples: writes accuracy/pairs.json.

    python accuracy/count_pairs.py [--rounds N] [--workers N] [NAME ...]

A round is a million samples of an operator: of any bits, of magnitudes up to 2**40 and up to 2**5, and at all distances
from 1. Its number is its seed, so every round takes other samples, and who starts this again goes on where it was
stopped. Rows whose kernel gives other results by now (by its fingerprint) begin again. Names choose some operators.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.laboratory.accuracy import count_misrounded, fingerprint
from ogive.operators.operator import Operator

DATA = Path(__file__).resolve().parent / "pairs.json"
FLOAT32 = element_type("float32")

#: Samples of a round.
SAMPLES = 1_000_000

#: Operators that people use first.
FIRST = ("pow", "div", "atan2", "hypot", "prelu", "logaddexp", "logaddexp2", "swiglu", "geglu")


def operators() -> list[Operator]:
    """Those of two tensors with a float32 result, the first ones first."""
    order = [*FIRST, *(name for name in OPERATORS if name not in FIRST)]
    return [
        op
        for op in (OPERATORS[name] for name in order)
        if op.inputs == 2
        and op.nout == 1
        and not op.is_row_wise
        and all(isinstance(p.default, (int, float)) for p in op.numeric_parameters)
        and any({*s.inputs, *s.outputs} == {FLOAT32} for s in op.signatures)
    ]


def save(found: dict[str, dict[str, Any]]) -> None:
    whole = DATA.with_suffix(".new")
    whole.write_text("[\n" + ",\n".join(map(json.dumps, found.values())) + "\n]\n", encoding="utf-8")
    whole.replace(DATA)  # at once: who is stopped here loses no round


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=1000, help="up to which number of rounds")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    found = {row["operator"]: row for row in rows}
    ops = [op for op in operators() if not chosen.names or op.name in chosen.names]
    prints = {op.name: fingerprint(op, FLOAT32) for op in ops}
    for number in range(chosen.rounds):
        for op in ops:
            row = found.get(op.name)
            if row is None or row["fingerprint"] != prints[op.name]:
                nothing = {"rounds": 0, "count": 0, "misrounded": 0, "exactly": 0, "undecided": 0, "first": []}
                row = {"operator": op.name, **nothing, "fingerprint": prints[op.name]}
            if row["rounds"] > number:
                continue
            begin = time.monotonic()
            counted = count_misrounded(op, FLOAT32, samples=SAMPLES, seed=number, workers=chosen.workers)
            row["rounds"] = number + 1
            for name in ("count", "misrounded", "exactly", "undecided"):
                row[name] += getattr(counted, name)
            row["first"] = row["first"] or [str(value) for each in counted.first[:1] for value in each.inputs]
            found[op.name] = row
            save(found)
            took = time.monotonic() - begin
            print(f"{op.name}: {row['misrounded']} of {row['count']:,} wrong, {took:.1f} s for the last million")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
