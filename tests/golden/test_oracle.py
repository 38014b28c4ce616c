"""Two independent oracles agree: Arb's enclosures of Ogive's formulas, and MPFR with formulas from the standards."""

import csv
from pathlib import Path

import pytest

pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
from ogive.catalog import OPERATORS
from tests.golden.oracle import (
    CONTEXTS,
    FORMULAS,
    NORMALISATIONS,
    OF_ROWS,
    OF_SEVERAL,
    REDUCTIONS,
    SHORT,
    disagreements,
    of_hard_cases,
    of_normal_rows,
    of_rows,
)
from tests.golden.whole_oracle import ALL, cases, compared, left_out

#: The result of ``python -m tests.golden.oracle tests/golden/oracle.csv``, which adds the rows that it lacks.
COMMITTED = Path(__file__).parent / "oracle.csv"


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("operator", FORMULAS)
def test_the_oracles_agree_on_samples(operator, dtype):
    count, wrong = disagreements(operator, dtype, step=499, first=7)
    assert (count > 100, wrong) == (True, 0)


@pytest.mark.matrix("operator")
@pytest.mark.parametrize("dtype", CONTEXTS)
@pytest.mark.parametrize("operator", OF_SEVERAL)
def test_the_oracles_agree_on_hard_cases_of_several_tensors(operator, dtype):
    assert of_hard_cases(operator, dtype, 150, seed=1) == (150, 0)


@pytest.mark.matrix("operator")
@pytest.mark.parametrize("dtype", CONTEXTS)
@pytest.mark.parametrize("operator", NORMALISATIONS)
def test_normalisations(operator, dtype):
    assert len(NORMALISATIONS) == 6
    count, wrong = of_normal_rows(operator, dtype, 600)
    assert count >= 600
    assert wrong == 0


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("dtype", CONTEXTS)
@pytest.mark.parametrize("operator", [*OF_ROWS, *REDUCTIONS])
def test_the_oracles_agree_on_rows(operator, dtype):
    count, wrong = of_rows(operator, dtype, 200, seed=1)
    assert (count >= 200, wrong) == (True, 0)


def test_every_operator_has_a_formula():
    of_floats = {o.name: o for o in OPERATORS.values() if any(t.is_float for s in o.signatures for t in s.inputs)}
    unary = {name for name, o in of_floats.items() if o.inputs == 1 and not o.is_row_wise}
    assert unary <= set(FORMULAS)


def test_they_agreed():
    """On every 16-bit input of one tensor, and on a million hard cases of several."""
    rows = list(csv.DictReader(COMMITTED.read_text().splitlines()))
    counts = {(row["operator"], row["dtype"]): int(row["inputs"]) for row in rows}
    assert all(row["disagreements"] == "0" for row in rows)
    alone = {key: count for key, count in counts.items() if key[0] in FORMULAS}
    assert set(alone.values()) == {65536}
    assert set(alone) == {(o, d) for o in FORMULAS for d in SHORT}
    hard = {key: count for key, count in counts.items() if key[0] not in FORMULAS}
    assert set(hard) == {(o, d) for o in (*OF_SEVERAL, *OF_ROWS, *REDUCTIONS, *NORMALISATIONS) for d in CONTEXTS}
    assert sum(hard.values()) >= 10**6


# ---- the second oracle agrees with the first about integers, truth values and quantised numbers

#: The result of ``python -m tests.golden.whole_oracle tests/golden/whole_oracle.csv``.
COMMITTED_OF_WHOLE = Path(__file__).parent / "whole_oracle.csv"

CASES_OF_WHOLE = list(cases())


def test_every_operator_of_integers_has_a_formula():
    assert left_out() == set()
    assert {operator for operator, _, _ in CASES_OF_WHOLE} == set(ALL)


@pytest.mark.matrix("operator")
@pytest.mark.parametrize(("operator", "dtype", "spec"), CASES_OF_WHOLE, ids=[f"{o}-{d}" for o, d, _ in CASES_OF_WHOLE])
def test_the_oracles_agree_about_integers(operator, dtype, spec):
    count, wrong = compared(operator, spec, 200)
    assert (count >= (2 if dtype == "bool" else 200), wrong) == (True, 0)


def test_they_agreed_about_integers():
    """On every input of one tensor of 8 and 16 bits, and on a million cases altogether."""
    rows = list(csv.DictReader(COMMITTED_OF_WHOLE.read_text().splitlines()))
    assert [(row["operator"], row["dtype"]) for row in rows] == [(o, d) for o, d, _ in CASES_OF_WHOLE]
    assert all(row["disagreements"] == "0" for row in rows)
    counts = {(row["operator"], row["dtype"]): int(row["inputs"]) for row in rows}
    for operator, dtype, spec in CASES_OF_WHOLE:
        if len(spec.inputs) == 1 and dtype in ("int8", "uint8", "int16", "uint16"):
            assert counts[operator, dtype] == 1 << spec.inputs[0].bits
    assert sum(counts.values()) >= 10**6
