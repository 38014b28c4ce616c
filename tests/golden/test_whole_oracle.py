"""The second oracle agrees with the first about integers, truth values and quantised numbers."""

import csv
from pathlib import Path

import pytest

pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
pytest.importorskip("flint", reason="the first oracle is Arb")

from tests.golden.whole_oracle import ALL, cases, compared, left_out

#: The result of ``python -m tests.golden.whole_oracle tests/golden/whole_oracle.csv``.
COMMITTED = Path(__file__).parent / "whole_oracle.csv"

CASES = list(cases())


def test_every_operator_of_integers_has_a_formula():
    assert left_out() == set()
    assert {operator for operator, _, _ in CASES} == set(ALL)


@pytest.mark.matrix("operator")
@pytest.mark.parametrize(("operator", "dtype", "spec"), CASES, ids=[f"{o}-{d}" for o, d, _ in CASES])
def test_the_oracles_agree(operator, dtype, spec):
    count, wrong = compared(operator, spec, 200)
    assert (count >= (2 if dtype == "bool" else 200), wrong) == (True, 0)


def test_they_agreed():
    """On every input of one tensor of 8 and 16 bits, and on a million cases altogether."""
    rows = list(csv.DictReader(COMMITTED.read_text().splitlines()))
    assert [(row["operator"], row["dtype"]) for row in rows] == [(o, d) for o, d, _ in CASES]
    assert all(row["disagreements"] == "0" for row in rows)
    counts = {(row["operator"], row["dtype"]): int(row["inputs"]) for row in rows}
    for operator, dtype, spec in CASES:
        if len(spec.inputs) == 1 and dtype in ("int8", "uint8", "int16", "uint16"):
            assert counts[operator, dtype] == 1 << spec.inputs[0].bits
    assert sum(counts.values()) >= 10**6
