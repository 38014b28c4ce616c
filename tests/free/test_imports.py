"""Arrows point one way; and importing the package is cheap."""

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ogive
from ogive.catalog import activations
from ogive.expression import OPERATIONS
from ogive.operator import Operator

ROOT = Path(ogive.__file__).parent

#: The parts that each part may import of the package, besides itself. `errors`, `dtypes`, `conversion`, `forking` and `contracts` are for all.
MAY_IMPORT = {
    "errors": set(),
    "records": set(),
    "dtypes": set(),
    "forking": {"_native"},
    "contracts": set(),
    "conversion": set(),
    "drafts": set(),
    "array_files": set(),
    "documents": set(),
    "formats": set(),
    "operations": {"formats"},
    "walking": set(),
    "error_functions": set(),
    "slopes": {"error_functions"},
    "show": {"formats", "operations", "walking"},
    "expression": {"show", "walking"},
    "elementary_functions": {"error_functions", "operations", "slopes"},
    "limits": {"expression"},
    "formula": {"expression", "limits"},
    "slope_forms": {"expression", "formula", "limits", "slopes"},
    "numpy_in_formulas": {"expression", "formula"},
    "trace": {"expression", "formula", "numpy_in_formulas"},
    "reference": {"error_functions", "expression", "passes", "slope_forms"},  # of passes only the forms
    "effects": set(),
    "enclosure": {"effects", "expression", "limits"},
    "row_enclosure": {"elementary_functions", "enclosure", "expression", "limits"},
    "differentiation": {"expression", "formula", "limits", "slopes"},
    "near_zero": {"differentiation", "enclosure", "expression"},
    "magnitudes": {"expression", "limits"},
    "program": {"expression", "numerics"},
    "numerics": {"effects", "expression"},
    "passes": {
        "differentiation",  # the forms of slopes, which have rules of their own
        "enclosure",
        "expression",
        "formula",
        "slope_forms",
        "limits",
        "magnitudes",
        "near_zero",
        "numerics",
        "program",
        "row_enclosure",
    },  # of enclosures the last level of results
    "backends": {"expression", "program", "_native"},
    "runtime": {"backends", "passes", "program", "_native"},  # of passes only the cost
    "engine": {
        "enclosure",
        "expression",
        "formula",
        "limits",
        "passes",
        "program",
        "row_enclosure",
        "runtime",
        "_native",
    },
    "signature": set(),
    "pickling": {"expression", "signature"},
    "containers": set(),
    "explain": {"containers", "signature"},
    "operator": {
        "containers",
        "explain",
        "expression",
        "limits",
        "engine",
        "pickling",
        "signature",
        "trace",
        "passes",
        "program",
        "_native",
    },
    "row_operator": {"containers", "expression", "operator", "signature", "_native"},
    "accuracy": {
        "enclosure",
        "expression",
        "slope_forms",
        "limits",
        "operator",
        "reference",
        "row_enclosure",
        "row_operator",
    },
    "peers": set(),
    "golden": {
        "limits",
        "accuracy",
        "catalog",
        "differentiation",
        "directml",
        "enclosure",
        "engine",
        "expression",
        "near_zero",
        "onnx",
        "operator",
        "reference",
        "row_enclosure",
        "row_operator",
        "signature",
        "webnn",
    },
    "judge": {
        "accuracy",
        "array_files",
        "catalog",
        "device_names",
        "documents",
        "error_functions",
        "golden",
        "near_zero",
        "peers",
        "reference",
    },
    "catalog": {"limits", "formula", "operator", "row_operator", "signature"},
    "gradients": {
        "catalog",
        "containers",
        "differentiation",
        "engine",
        "expression",
        "formula",
        "limits",
        "operator",
        "row_operator",
        "show",
        "signature",
        "operations",
    },
    "movement": set(),
    "fast": {"catalog", "operator"},
    "torch": {
        "catalog",
        "containers",
        "cuda",
        "exporting",  # C in what inductor writes
        "formula",
        "gradients",
        "onnx",  # what torch's exporter writes
        "operator",
        "row_operator",
        "signature",
        "_native",
    },
    "directml": {
        "catalog",
        "device_names",
        "devices",
        "engine",
        "operator",
        "pickling",
        "signature",
        "expression",
        "_native",
    },
    "onnx": {
        "catalog",
        "device_names",
        "devices",
        "engine",
        "gradients",
        "operator",
        "row_operator",
        "signature",
        "expression",
        "formula",
        "movement",
        "runtime",
        "_native",
        "operations",
        "slope_forms",
    },
    "webnn": {"catalog", "engine", "expression", "formula", "movement", "operations", "signature", "_native"},
    "dxdispatch": {"array_files", "directml", "documents", "drafts", "onnx", "runtime"},
    "check": {"catalog", "directml", "documents", "dxdispatch", "onnx"},
    "onnxruntime": {"_native", "catalog", "engine", "exporting", "onnx", "operator"},
    "curves": {"gradients", "operator"},
    "exporting": {"_native", "backends", "engine", "expression", "golden", "onnx", "operator", "program", "signature"},
    "devices": {"backends", "engine", "operator", "program", "runtime", "signature"},
    "opencl": {"backends", "catalog", "devices", "operator"},
    "cuda": {"backends", "catalog", "devices", "operator", "runtime"},
    "device_names": {"opencl", "cuda"},
    "jax": {"catalog", "gradients", "operator", "row_operator", "signature", "_native"},
    "cli": {
        "accuracy",
        "array_files",
        "curves",
        "enclosure",
        "expression",
        "exporting",
        "catalog",
        "check",
        "operator",
        "row_operator",
        "peers",
        "show",
        "signature",
        "backends",
        "cuda",
        "numerics",
        "onnx",
        "opencl",
        "passes",
        "directml",
        "drafts",
        "dxdispatch",
        "golden",
        "judge",
        "reference",
        "runtime",
    },
    "__main__": {"cli"},
    # Front ends only when they are asked for: test_importing_loads_no_compiler_and_no_front_end.
    "__init__": {
        "catalog",
        "exporting",
        "formula",
        "operator",
        "row_operator",
        "runtime",
        "check",
        "directml",
        "dxdispatch",
        "fast",
        "golden",
        "judge",
        "onnx",
        "webnn",
        "torch",
    },
}
COMMON = {"errors", "dtypes", "forking", "contracts", "records", "conversion"}


def part_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@cache
def imports_in(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The statements, wherever in the file. Reading the package takes seconds, so it is read once."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path):
    for statement in imports_in(path):
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.level == 0:
            package, *rest = statement.module.split(".")
            if package == "ogive":
                yield from [rest[0]] if rest else [alias.name for alias in statement.names]
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                package, *rest = alias.name.split(".")
                if package == "ogive" and rest:
                    yield rest[0]


MODULES = sorted(ROOT.rglob("*.py"))


def not_allowed(path: Path):
    part = part_of(path)
    if part not in MAY_IMPORT:
        yield f"{part} is not in the picture: add it to MAY_IMPORT and to docs/architecture.md"
        return
    allowed = MAY_IMPORT[part] | COMMON | {part}
    if part == "expression" or "expression" in allowed:
        allowed |= {"elementary_functions", "formats", "operations"}
    for imported in imports(path):  # or a name that ogive/__init__.py exports
        if imported not in allowed and (imported in MAY_IMPORT or imported == "_native"):
            yield f"{path.relative_to(ROOT)}: {part} must not import {imported}"


def test_arrows_point_one_way():
    wrong = [text for path in MODULES for text in not_allowed(path)]
    assert not wrong, "\n".join(wrong)


NAMES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}


def files_imported(path: Path) -> set[str]:
    """The files of the package that a file imports, wherever in it and for whatever purpose."""
    found = set()
    for statement in imports_in(path):
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.level == 0:
            names = [f"{statement.module}.{alias.name}" for alias in statement.names]
            found |= {name if name.removeprefix("ogive.") in NAMES else statement.module for name in names}
        elif isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
    return {name.removeprefix("ogive.") for name in found if name.startswith("ogive.")} & NAMES.keys()


def circles(arrows: dict[str, set[str]]) -> set[frozenset[str]]:
    """Groups in which each can be reached from each.

    >>> [sorted(circle) for circle in circles({"a": {"b"}, "b": {"c"}, "c": {"b"}})]
    [['b', 'c']]
    """
    reached = {name: set(others) for name, others in arrows.items()}
    for middle in arrows:
        for others in reached.values():
            if middle in others:
                others |= reached[middle]
    return {
        frozenset(other for other in reached[name] if name in reached.get(other, ()))
        for name in arrows
        if name in reached[name]
    }


def test_no_circle_among_files():
    """Imports inside functions and for types alone count as well."""
    assert len(NAMES) > 150
    assert circles({name: files_imported(path) - {name} for name, path in NAMES.items()}) == set()


def test_no_circle_among_parts():
    assert circles(MAY_IMPORT) == set()


def test_circles_are_found():
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"e"}, "e": {"f"}, "f": {"d", "a"}}
    assert circles(arrows) == {frozenset("bc"), frozenset("def")}
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()


def test_front_ends_reach_the_compiler_through_the_engine():
    """No file of a front end imports lowering, fusing, or what makes kernels."""
    inner = {"passes", "backends", "numerics"}
    for front_end in ("directml", "onnx", "webnn", "dxdispatch", "check"):
        files = [path for name, path in NAMES.items() if name.startswith(front_end)]
        assert len(files) > 2
        for path in files:
            assert not inner & set(imports(path)), path


def test_the_code_generator_names_no_operator():
    """It knows the vocabulary alone: a new operator needs no line there."""
    names = {op.name for op in vars(activations).values() if isinstance(op, Operator)} - set(OPERATIONS)
    assert len(names) > 20
    for path in (ROOT / "backends").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {c.value for c in ast.walk(tree) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
        assert not texts & names, path


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_loads_no_compiler_and_no_front_end():
    loaded = loaded_by("import ogive")
    assert "numpy" in loaded
    for heavy in (
        "llvmlite",
        "mpmath",
        "flint",
        "onnx",
        "click",
        "rich",
        "uniplot",
        "scipy",
        "platformdirs",
        "ogive.gradients",
        "torch",
        "ogive.torch",
        "ogive.onnx",
        "ogive.directml",
        "ogive.webnn",
        "ogive.dxdispatch",
    ):
        assert heavy not in loaded, heavy


def test_a_warm_start_loads_no_llvm(tmp_path):
    code = f"""
import os
os.environ["OGIVE_CACHE"] = {str(tmp_path)!r}
import numpy as np, ogive
ogive.celu(np.zeros(5, np.float32))
"""
    cold = loaded_by(code)
    assert "llvmlite.binding" in cold
    assert "flint" not in cold  # which decides the last level
    assert "llvmlite.binding" not in loaded_by(code)


def test_front_ends_are_loaded_when_they_are_wanted():
    code = """
import ogive
before = set(sys.modules)
names = dir(ogive)
assert {"onnx", "directml", "webnn", "dxdispatch", "check", "celu", "errors", "__version__"} <= set(names)
assert not set(sys.modules) - before, set(sys.modules) - before
ogive.directml.Device
assert "ogive.onnx" not in sys.modules
ogive.onnx.load
ogive.check.check, ogive.dxdispatch.load, ogive.webnn.MLContext
"""
    assert {"ogive.onnx", "ogive.directml", "ogive.dxdispatch", "ogive.check"} <= loaded_by(code)


def test_dir_lists_what_is_for_users():
    names = {name for name in dir(ogive) if not name.startswith("__")}
    functions = {"address", "device", "export", "exact", "ulp", "vectors"}
    parts = {
        "onnx",
        "directml",
        "dxdispatch",
        "check",
        "cuda",
        "fast",
        "golden",
        "jax",
        "judge",
        "onnxruntime",
        "opencl",
        "torch",
        "webnn",
    }
    assert names == {*ogive.__all__, *parts, *functions, "errors"}
    assert all(
        hasattr(ogive, name) for name in dir(ogive) if name not in ("cuda", "jax", "opencl", "torch")
    )  # which may be missing
    for inner in ("catalog", "dtypes", "runtime", "signature", "expression", "passes", "program"):
        assert inner not in dir(ogive)
    with pytest.raises(AttributeError, match="module 'ogive' has no attribute 'gelo'"):
        ogive.gelo  # noqa: B018


def test_a_front_end_whose_package_is_not_installed():
    code = """
sys.modules["onnx"] = None
import ogive
assert not hasattr(ogive, "onnx")
try:
    ogive.onnx
except ogive.errors.MissingNameError as error:
    assert str(error) == "ogive.onnx: the package onnx is not installed. Install it: pip install 'ogive[onnx]'", error
    assert isinstance(error, AttributeError)
else:
    raise AssertionError
"""
    assert "ogive.onnx.model" not in loaded_by(code)


@pytest.mark.parametrize("model", ['"model.onnx"', "model_of_json()"], ids=["a model", "a JSON model that has one"])
def test_a_check_without_the_package_onnx(model):
    code = f"""
import json, os, pathlib, tempfile
sys.modules["onnx"] = None
import ogive
os.chdir(tempfile.mkdtemp())
pathlib.Path("model.onnx").write_bytes(b"")
def model_of_json():
    member = {{"type": "onnx", "sourcePath": "model.onnx"}}
    path = pathlib.Path("model.json")
    path.write_text(json.dumps({{"resources": {{}}, "dispatchables": {{"m": member}}, "commands": []}}))
    return path
try:
    ogive.check.check({model})
except ogive.errors.MissingPackageError as error:
    assert str(error) == "ogive.onnx: the package onnx is not installed. Install it: pip install 'ogive[onnx]'", error
else:
    raise AssertionError
"""
    assert "ogive.check" in loaded_by(code)


def test_the_script_that_tests_wheels_imports_what_is_there():
    tree = ast.parse(Path(__file__).parents[2].joinpath(".ci", "digests").read_text(encoding="utf-8"))
    wanted = [
        (node.module, alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert len(wanted) > 4
    for module, name in wanted:
        assert hasattr(importlib.import_module(module), name), (module, name)
