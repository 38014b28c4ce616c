"""Everything public is documented: found by looking at the real objects."""

import importlib
import inspect
import pkgutil
import re
import types
from dataclasses import dataclass
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
        assert getattr(ogive, name, None) is op, f"import the module of {name} in ogive/__init__.py"
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


# ---- everything public


def public_modules():
    """``ogive`` and what it has one level below, without names that begin with an underscore."""
    names = ["ogive", *(f"ogive.{found.name}" for found in pkgutil.iter_modules(ogive.__path__)), "ogive.torch.nn"]
    modules = []
    for name in names:
        if not name.rpartition(".")[2].startswith("_"):
            try:
                modules.append(importlib.import_module(name))
            except (ImportError, ogive.errors.OgiveError):  # a package that is optional is not installed
                continue
    return modules


def documented_things(modules):
    """(path, docstring) of these modules, what they export, and the methods and properties of their classes."""
    for module in modules:
        yield module.__name__, module.__doc__
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name, None)
            path = f"{module.__name__}.{name}"
            if inspect.ismodule(thing) or not callable(thing):
                continue
            yield path, own_docstring(thing)
            if inspect.isclass(thing) and thing.__module__.startswith("ogive"):
                for member, value in vars(thing).items():
                    if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                        yield f"{path}.{member}", inspect.getdoc(getattr(thing, member))


def own_docstring(thing):
    """The docstring, unless ``dataclass`` or ``NamedTuple`` made it of the fields."""
    doc = inspect.getdoc(thing) or ""
    return "" if inspect.isclass(thing) and doc.startswith(f"{thing.__name__}(") else doc


def test_everything_public_has_a_docstring():
    found = dict(documented_things(public_modules()))
    assert len(found) > 1000
    assert [path for path, doc in found.items() if not doc] == []


def test_a_docstring_that_is_missing_is_found():
    class Bare:
        def method(self): ...

        @property
        def size(self): ...

    @dataclass
    class Point:
        x: int

    Bare.__module__ = Point.__module__ = "ogive.bare"
    module = types.ModuleType("ogive.bare")
    module.Bare, module.Point, module.function, module.__all__ = Bare, Point, lambda x: x, ["Bare", "Point", "function"]
    missing = {path for path, doc in documented_things([module]) if not doc}
    wanted = {"Bare", "Bare.method", "Bare.size", "Point", "function"}
    assert missing == {"ogive.bare", *(f"ogive.bare.{name}" for name in wanted)}
