"""Defects are caught, with their causes. ``python -m tests.judge.detection`` prints the whole table."""

import pytest

pytest.importorskip("flint", reason="the judge needs python-flint")

from tests.judge.defects import DEFECTS
from tests.judge.detection import cause_is_right, found_by_judge, is_caught

#: Defects whose cause is not among those that are named.
UNNAMED: set[str] = set()


def test_there_are_enough():
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) >= 40
    assert sum(bool(defect.real) for defect in DEFECTS) >= 15


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.name)
def test_the_defect_is_caught(defect):
    found = found_by_judge(defect)
    assert is_caught(found), found.worst_ulp
    if defect.causes:
        assert cause_is_right(defect, found) == (defect.name not in UNNAMED), [cause.name for cause in found.causes]
