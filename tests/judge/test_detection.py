"""Defects are caught, with their causes. ``python -m tests.judge.detection`` prints the whole table."""

import re
from pathlib import Path

import pytest

from ogive.judge import Budget
from tests.judge.defects import DEFECTS
from tests.judge.detection import cause_is_right, found_by_judge, is_caught, kernels

#: Defects whose cause is not among those that are named.
UNNAMED: set[str] = set()


def test_there_are_enough():
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) >= 40
    assert sum(bool(defect.real) for defect in DEFECTS) >= 15


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.name)
def test_the_defect_is_caught(defect):
    if isinstance(defect.function, str) and kernels() is None:
        pytest.skip("there is no C compiler called cc")
    found = found_by_judge(defect)
    assert is_caught(found), found.worst_ulp
    if defect.causes:
        assert cause_is_right(defect, found) == (defect.name not in UNNAMED), [cause.name for cause in found.causes]


def test_the_document_has_every_defect():
    text = (Path(__file__).resolve().parents[2] / "docs" / "tables" / "detection.md").read_text(encoding="utf-8")
    for defect in DEFECTS:
        caught = "yes" if defect.budget == Budget() else "nearest"
        assert re.search(
            rf"^\| {re.escape(defect.name)} \| {defect.dtype} \| [^|]* \| {caught} \|", text, re.MULTILINE
        ), defect.name
    assert f"Caught: {len(DEFECTS)} of {len(DEFECTS)}, " in text
