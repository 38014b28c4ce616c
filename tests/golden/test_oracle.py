"""Two independent oracles agree: Arb's enclosures of Ogive's formulas, and MPFR with formulas from the standards."""

import csv
from pathlib import Path

import pytest

pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
pytest.importorskip("flint", reason="the first oracle is Arb")

from tests.golden.oracle import CONTEXTS, FORMULAS, disagreements

#: The result of ``python -m tests.golden.oracle tests/golden/oracle.csv``: every input of both 16-bit types.
COMMITTED = Path(__file__).parent / "oracle.csv"


@pytest.mark.parametrize("dtype", CONTEXTS)
@pytest.mark.parametrize("operator", FORMULAS)
def test_the_oracles_agree_on_samples(operator, dtype):
    count, wrong = disagreements(operator, dtype, step=499, first=7)
    assert (count > 100, wrong) == (True, 0)


def test_they_agreed_on_every_input():
    rows = list(csv.DictReader(COMMITTED.read_text().splitlines()))
    assert {(row["operator"], row["dtype"]) for row in rows} == {(o, d) for o in FORMULAS for d in CONTEXTS}
    assert all(row["inputs"] == "65536" and row["disagreements"] == "0" for row in rows)
