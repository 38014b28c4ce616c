"""The examples of docs/jax.md run, and print what the page says."""

import doctest
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")


def test_the_examples_of_the_page():
    page = Path(__file__).resolve().parents[2] / "docs" / "jax.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 25
    assert not results.failed
