"""Count the float32 results that are not correctly rounded, over all 2**32 inputs: writes accuracy/float32.json.

    python accuracy/count_float32.py [--sets] [--derivatives] [--digests] [--workers N] [NAME ...]

Every operator of one tensor with its default parameters; with --sets also with three other sets of parameters; with
--derivatives the derivatives of the activations, too. Names choose some. Rows that are in the file already, and whose kernel still gives the same
results (by its fingerprint), is not counted again. One takes one to three minutes on two threads. Then run accuracy/make_document.py.

--digests computes all results again of what is in the file, and compares their digests: 20 seconds each.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.errors import OgiveError
from ogive.laboratory.accuracy import count_misrounded, fingerprint
from ogive.laboratory.accuracy.misrounded import digest_of_results
from ogive.operators.operator import Operator

DATA = Path(__file__).resolve().parent / "float32.json"
FLOAT32 = element_type("float32")

#: Operators that people sweep first.
FIRST = (
    *("exp", "sigmoid", "tanh", "swish", "gelu", "softplus", "mish", "celu", "elu", "selu", "erf", "log", "hard_swish"),
    *("expm1", "log1p", "sqrt", "softsign", "relu"),
)

#: The tests compute every such input of the ten first kernels again.
MAIN, STRIDE = FIRST[:10], 4099

#: Values for parameters that an operator requires.
REQUIRED: dict[str, dict[str, float]] = {"threshold": {"min": 0.5}, "clamp_grad": {"min": -1.0, "max": 1.0}}

#: The other sets, as multiples of the default parameters and what is added; none of a power of two.
MULTIPLES = ((0.3, 0.0), (1.7, 0.1), (5.1, -0.3))

#: The activations whose derivatives people sweep.
DERIVATIVES = ("gelu", "swish", "mish", "tanh", "sigmoid", "softplus", "celu", "elu", "selu", "softsign", "erf", "exp")


def operators() -> list[Operator]:
    """Those of one tensor with a float32 result, the first ones first."""
    order = [*FIRST, *(name for name in OPERATORS if name not in FIRST)]
    chosen = [OPERATORS[name] for name in order]
    return [
        op
        for op in chosen
        if op.inputs == op.nout == 1
        and not op.is_row_wise
        and any({*s.inputs, *s.outputs} == {FLOAT32} for s in op.signatures)
    ]


def required(op: Operator) -> dict[str, float]:
    """Values of the parameters without a default."""
    names = [p.name for p in op.numeric_parameters if p.default is inspect.Parameter.empty]
    return {name: REQUIRED.get(op.name, {}).get(name, 1.0) for name in names}


def other_sets(op: Operator) -> Iterator[dict[str, Any]]:
    """Three sets of parameters, as far as the operator allows them."""
    numbers = {p.name: p.default for p in op.numeric_parameters} | required(op)
    for factor, more in MULTIPLES if numbers else ():
        values = {name: float(value) * factor + more for name, value in numbers.items()}
        try:
            op.checked_parameters(values)
        except OgiveError:
            continue
        yield values


def cases(sets: bool, derivatives: bool) -> Iterator[tuple[Operator, dict[str, Any]]]:
    """A row of the count: an operator and its parameters."""
    ops = operators()
    for op in ops:
        yield op, required(op)
        if op.name == "gelu":
            yield op, {"approximate": "tanh"}
    for name in DERIVATIVES if derivatives else ():
        yield ogive.grad(OPERATORS[name]), {}
    for op in ops if sets else ():
        for values in other_sets(op):
            yield op, values


def strided(op: Operator, values: dict[str, Any]) -> dict[str, str]:
    """The digest that the tests compare, of the main kernels."""
    return {"strided": digest_of_results(op, FLOAT32, values, STRIDE)} if op.name in MAIN and not values else {}


def compare(op: Operator, values: dict[str, Any], row: dict[str, Any]) -> None:
    """Compute all results again; the digest must be that of the count."""
    begin = time.monotonic()
    if digest_of_results(op, FLOAT32, values) != row["digest"]:
        raise SystemExit(f"{op.name} {values}: other results than those that were counted")
    print(f"{op.name} {values}: the digest of all results is that of the count, {time.monotonic() - begin:.0f} s")
    sys.stdout.flush()
    row |= strided(op, values)


def write(rows: Iterable[dict[str, Any]]) -> None:
    whole = DATA.with_suffix(".new")
    whole.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    whole.replace(DATA)  # at once: who is stopped here loses no row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sets", action="store_true")
    parser.add_argument("--derivatives", action="store_true")
    parser.add_argument("--digests", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    found = {(row["operator"], json.dumps(row["parameters"], sort_keys=True)): row for row in rows}
    for op, values in cases(chosen.sets, chosen.derivatives):
        key = op.name, json.dumps(values, sort_keys=True)
        if chosen.names and op.name not in chosen.names:
            continue
        if chosen.digests:
            if key in found:
                compare(op, values, found[key])
                write(found.values())
            continue
        print_of = fingerprint(op, FLOAT32, values)
        if key in found and found[key]["fingerprint"] == print_of:
            continue
        begin = time.monotonic()
        counted = count_misrounded(op, FLOAT32, values, workers=chosen.workers)
        print(f"{op.name} {values}: {counted.misrounded} of {counted.count:,} wrong, {time.monotonic() - begin:.0f} s")
        sys.stdout.flush()
        found[key] = {
            "operator": op.name,
            "parameters": values,
            "count": counted.count,
            "misrounded": counted.misrounded,
            "zero_signs": counted.zero_signs,
            "exactly": counted.exactly,
            "undecided": counted.undecided,
            "first": [str(value) for value in counted.first[0].inputs] if counted.first else [],
            "digest": counted.digest,
            "fingerprint": print_of,
            **strided(op, values),
        }
        write(found.values())


if __name__ == "__main__":
    main()
