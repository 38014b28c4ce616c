"""The page about torch: its examples run."""

import doctest
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch.md"


def test_examples():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20
    assert not found.failed
