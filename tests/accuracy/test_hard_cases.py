"""Operands of float64 whose results lie beside ties: those that accuracy/hard_cases.py found, and its search."""

import csv
import importlib.util
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result

pytest.importorskip("flint", reason="needs python-flint for exact results")

ROOT = Path(__file__).resolve().parents[2]


def stored():
    found = defaultdict(list)
    for name, x, result in csv.reader((ROOT / "tests/golden/hard_cases.csv").read_text().splitlines()):
        found[name].append((float.fromhex(x), float.fromhex(result)))
    return found


CASES = stored()


@pytest.mark.matrix("name", share=6)
@pytest.mark.parametrize("name", CASES)
def test_stored_cases(name):
    x, wanted = map(np.array, zip(*CASES[name], strict=True))
    op = OPERATORS[name]
    assert op(x).tobytes() == wanted.tobytes()
    right, is_decided = right_result(op.formula(for_doubles=True)[0], [x[0]], _numbers(op), ELEMENT_TYPES["float64"])
    assert (right, is_decided) == (wanted[0], True)


def _numbers(op):
    return {p.name: float(p.default) for p in op.numeric_parameters}


def test_the_search_finds_what_lies_beside_ties():
    spec = importlib.util.spec_from_file_location("hard_cases", ROOT / "accuracy/hard_cases.py")
    search = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(search)
    (subject,) = search.subjects(["tanh"])
    found = search.cases(subject, 2, np.random.default_rng(0))
    assert len(found) == 2
    assert found[0].distance <= found[1].distance < 2.0**-12
    assert not search.misrounded(subject, found)
