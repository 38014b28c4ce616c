"""The examples of docs/gradients.md run, and print what the page says."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page():
    page = Path(__file__).resolve().parents[2] / "docs" / "gradients.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.failed == 0
    assert results.attempted > 20
