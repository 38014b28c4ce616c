"""What is public is documented: found by looking at the real objects."""

import inspect
import re
from pathlib import Path

import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = [(name, getattr(ogive, name)) for name in ogive.__all__]


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_public_names_have_docstrings(name, thing):
    doc = inspect.getdoc(thing)
    assert doc, name
    assert doc.splitlines()[0].rstrip().endswith((".", ":", "``.")), doc.splitlines()[0]


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_operators_state_formula_example_and_source(op):
    doc = inspect.getdoc(op.function)
    assert ">>> " in doc, "an example that runs"
    assert re.search(r"^Source: .*(DirectML|ONNX|PyTorch|JAX|NumPy|SciPy|\(20\d\d\))", doc, re.MULTILINE), (
        "where it comes from"
    )
    assert "``" in doc.split("\n\n")[0], "the formula in the first sentence"


def test_every_operator_is_exported():
    for name, op in OPERATORS.items():
        assert getattr(ogive, name, None) is op, f"add {name} to ogive/__init__.py"
        assert name in ogive.__all__
    exported = {name for name, thing in PUBLIC if isinstance(thing, ogive.Operator)}
    assert exported == {*OPERATORS, *ALIASES}


def test_standards_names_are_unique():
    for standard in ("onnx", "directml"):
        names = [getattr(op, standard) for op in OPERATORS.values() if getattr(op, standard)]
        assert names
        assert len(names) == len(set(names))


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")], ids=lambda p: p.name)
def test_links_in_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
