"""Each mutant of tools/mutants.py changes a place of the code that is there, and names tests that are there."""

from pathlib import Path

import pytest

from tools.mutants import MUTANTS, changed

TESTS = Path(__file__).parents[1]


def test_there_are_mutants():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) == 26


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_place_and_its_tests_are_there(mutant):
    assert mutant.new not in ("", mutant.old)
    assert changed(mutant)
    assert all((TESTS / name).exists() for name in mutant.tests.split())
