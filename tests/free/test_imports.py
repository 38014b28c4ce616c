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
from ogive.graph.expression import OPERATIONS
from ogive.operators.operator import Operator

ROOT = Path(ogive.__file__).parent

#: The parts that each part may import of the package, besides itself. Those of COMMON are for all.
MAY_IMPORT = {
    **{package: set() for package in ("common", "graph", "laboratory", "enclosures", "operators")},
    "errors": set(),
    "common.records": set(),
    "common.keys": set(),
    "common.dtypes": set(),
    "common.array_shapes": set(),
    "common.forking": {"_native"},
    "common.contracts": set(),
    "common.conversion": set(),
    "common.drafts": set(),
    "common.array_files": set(),
    "common.documents": set(),
    "graph.formats": set(),
    "graph.operations": {"graph.formats"},
    "graph.walking": {"_native"},
    "graph.error_functions": set(),
    "graph.slopes": {"graph.error_functions"},
    "graph.plane_slopes": set(),
    "graph.show": {"graph.formats", "graph.operations", "graph.walking"},
    "graph.expression": {"graph.show", "graph.walking"},
    "graph.elementary_functions": {"graph.error_functions", "graph.operations", "graph.plane_slopes", "graph.slopes"},
    "graph.irrational_numbers": set(),
    "graph.limits": {"graph.expression"},
    "formula": {"graph.expression", "graph.irrational_numbers", "graph.limits"},
    "differentiation.slope_forms": {
        "graph.expression",
        "formula",
        "graph.limits",
        "graph.plane_slopes",
        "graph.slopes",
    },
    "operators.numpy_in_formulas": {"graph.expression", "formula"},
    "operators.trace": {"graph.expression", "formula", "operators.numpy_in_formulas"},
    "laboratory.reference": {
        "graph.error_functions",
        "graph.expression",
        "lowering",
        "differentiation.slope_forms",
    },  # of passes only the forms
    "common.effects": set(),
    "enclosures.combinations": {"graph.expression"},
    "enclosures.enclosure": {"common.effects", "enclosures.combinations", "graph.expression", "graph.limits"},
    "enclosures.row_enclosure": {
        "graph.elementary_functions",
        "enclosures.enclosure",
        "graph.expression",
        "graph.limits",
    },
    "differentiation": {"graph.expression", "formula", "graph.limits", "graph.plane_slopes", "graph.slopes"},
    "enclosures.near_zero": {"differentiation", "enclosures.enclosure", "graph.expression"},
    "enclosures.magnitudes": {"graph.expression", "graph.limits", "graph.plane_slopes"},
    "lowering.program": {"graph.expression", "lowering.numerics"},
    "lowering.numerics": {"common.effects", "graph.expression", "graph.irrational_numbers"},
    "lowering": {
        "differentiation",  # the forms of slopes, which have rules of their own
        "enclosures.enclosure",
        "graph.expression",
        "formula",
        "differentiation.slope_forms",
        "graph.limits",
        "enclosures.magnitudes",
        "enclosures.near_zero",
        "lowering.numerics",
        "lowering.program",
        "enclosures.row_enclosure",
    },  # of enclosures the last level of results
    "backends": {"graph.expression", "lowering.program", "_native"},
    "runtime": {"backends", "lowering", "lowering.program", "_native"},  # of passes only the cost
    "engine": {
        "enclosures.enclosure",
        "graph.expression",
        "formula",
        "graph.limits",
        "lowering",
        "lowering.program",
        "enclosures.row_enclosure",
        "runtime",
        "_native",
    },
    "operators.signature": set(),
    "operators.pickling": {"graph.expression", "operators.signature"},
    "operators.containers": set(),
    "operators.masked": set(),
    "operators.explain": {"operators.containers", "operators.signature"},
    "operators.operator": {
        "operators.containers",
        "operators.explain",
        "operators.masked",
        "graph.expression",
        "graph.limits",
        "engine",
        "operators.pickling",
        "operators.signature",
        "operators.trace",
        "lowering",
        "lowering.program",
        "_native",
    },
    "operators.running_functions": {"engine"},
    "operators.row_operator": {
        "operators.containers",
        "graph.expression",
        "operators.operator",
        "operators.signature",
        "_native",
    },
    "laboratory.accuracy": {
        "enclosures.enclosure",
        "graph.expression",
        "differentiation.slope_forms",
        "graph.limits",
        "operators.operator",
        "laboratory.reference",
        "enclosures.row_enclosure",
        "operators.row_operator",
    },
    "laboratory.peers": set(),
    "golden": {
        "graph.limits",
        "laboratory.accuracy",
        "catalog",
        "differentiation",
        "directml",
        "enclosures.enclosure",
        "engine",
        "graph.expression",
        "enclosures.near_zero",
        "onnx",
        "operators.operator",
        "laboratory.reference",
        "enclosures.row_enclosure",
        "operators.row_operator",
        "operators.signature",
        "webnn",
    },
    "judge": {
        "laboratory.accuracy",
        "common.array_files",
        "catalog",
        "device_names",
        "common.documents",
        "graph.error_functions",
        "golden",
        "enclosures.near_zero",
        "laboratory.peers",
        "laboratory.reference",
    },
    "catalog": {"graph.limits", "formula", "operators.operator", "operators.row_operator", "operators.signature"},
    "gradients": {
        "catalog",
        "operators.containers",
        "differentiation",
        "engine",
        "graph.expression",
        "formula",
        "graph.limits",
        "operators.operator",
        "operators.row_operator",
        "operators.running_functions",
        "graph.show",
        "operators.signature",
        "graph.operations",
    },
    "engine.movement": set(),
    "fast": {"catalog", "operators.operator"},
    "torch": {
        "catalog",
        "operators.containers",
        "cuda",
        "exporting",  # C in what inductor writes
        "formula",
        "gradients",
        "onnx",  # what torch's exporter writes
        "operators.operator",
        "operators.row_operator",
        "operators.running_functions",
        "operators.signature",
        "_native",
    },
    "directml": {
        "catalog",
        "device_names",
        "devices",
        "engine",
        "operators.operator",
        "operators.pickling",
        "operators.signature",
        "graph.expression",
        "_native",
    },
    "onnx": {
        "catalog",
        "device_names",
        "devices",
        "engine",
        "gradients",
        "operators.operator",
        "operators.row_operator",
        "operators.signature",
        "graph.expression",
        "formula",
        "engine.movement",
        "runtime",
        "_native",
        "graph.operations",
        "differentiation.slope_forms",
    },
    "webnn": {
        "catalog",
        "engine",
        "graph.expression",
        "formula",
        "engine.movement",
        "graph.operations",
        "operators.signature",
        "_native",
    },
    "dxdispatch": {"common.array_files", "directml", "common.documents", "common.drafts", "onnx", "runtime"},
    "check": {"catalog", "directml", "common.documents", "dxdispatch", "onnx"},
    "onnxruntime": {"_native", "catalog", "engine", "exporting", "onnx", "operators.operator"},
    "cli.curves": {"gradients", "operators.operator"},
    "exporting": {
        "_native",
        "backends",
        "engine",
        "graph.expression",
        "golden",
        "onnx",
        "operators.operator",
        "lowering.program",
        "operators.signature",
    },
    "devices": {"backends", "engine", "operators.operator", "lowering.program", "runtime", "operators.signature"},
    "opencl": {"backends", "catalog", "devices", "operators.operator"},
    "cuda": {"backends", "catalog", "devices", "operators.operator", "runtime"},
    "device_names": {"opencl", "cuda"},
    "jax": {
        "catalog",
        "gradients",
        "operators.operator",
        "operators.row_operator",
        "operators.running_functions",
        "operators.signature",
        "_native",
    },
    "cli": {
        "laboratory.accuracy",
        "common.array_files",
        "cli.curves",
        "enclosures.enclosure",
        "graph.expression",
        "exporting",
        "catalog",
        "check",
        "operators.operator",
        "operators.row_operator",
        "laboratory.peers",
        "graph.show",
        "operators.signature",
        "backends",
        "cuda",
        "lowering.numerics",
        "onnx",
        "opencl",
        "lowering",
        "directml",
        "common.drafts",
        "dxdispatch",
        "golden",
        "judge",
        "laboratory.reference",
        "runtime",
    },
    "__main__": {"cli"},
    # Front ends only when they are asked for: test_importing_loads_no_compiler_and_no_front_end.
    "__init__": {
        "catalog",
        "exporting",
        "formula",
        "operators.operator",
        "operators.row_operator",
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
COMMON = {
    "errors",
    *(f"common.{name}" for name in ("array_shapes", "contracts", "conversion", "dtypes", "forking", "keys", "records")),
}


def dotted(path: Path) -> str:
    """A module's name without the package's."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def part_of(name: str) -> str:
    """The part that a module is in: the longest beginning of its dotted name that has a row, else the whole name.

    >>> part_of("common.effects"), part_of("lowering.numerics.bound"), part_of("lowering.exact")
    ('common.effects', 'lowering.numerics', 'lowering')
    """
    words = name.split(".")
    beginnings = (".".join(words[:length]) for length in range(len(words), 0, -1))
    return next((beginning for beginning in beginnings if beginning in MAY_IMPORT), name)


@cache
def imports_in(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The statements, wherever in the file. Reading the package takes seconds, so it is read once."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path):
    """The parts that a file imports, and the names that it imports of ogive itself."""
    for statement in imports_in(path):
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.level == 0:
            names = [f"{statement.module}.{alias.name}" for alias in statement.names]
        elif isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        else:
            continue
        yield from (part_of(name.removeprefix("ogive.")) for name in names if name.startswith("ogive."))


MODULES = sorted(ROOT.rglob("*.py"))


def not_allowed(path: Path):
    part = part_of(dotted(path))
    if part not in MAY_IMPORT:
        yield f"{part} is not in the picture: add it to MAY_IMPORT and to docs/architecture.md"
        return
    allowed = MAY_IMPORT[part] | COMMON | {part}
    if part == "graph.expression" or "graph.expression" in allowed:
        allowed |= {"graph.elementary_functions", "graph.formats", "graph.operations"}
    for imported in imports(path):  # or a name that ogive/__init__.py exports
        if imported not in allowed and (imported in MAY_IMPORT or imported == "_native"):
            yield f"{path.relative_to(ROOT)}: {part} must not import {imported}"


def test_arrows_point_one_way():
    wrong = [text for path in MODULES for text in not_allowed(path)]
    assert not wrong, "\n".join(wrong)


NAMES = {dotted(path): path for path in MODULES}


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
    inner = {"backends", "lowering", "lowering.numerics"}
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


@pytest.mark.matrix(share=16, pool="slow")
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


@pytest.mark.matrix(share=16, pool="slow")
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
    warm = loaded_by(code)
    for heavy in ("llvmlite.binding", "ml_dtypes", "dataclasses"):
        assert heavy not in warm, heavy


@pytest.mark.matrix(share=16, pool="slow")
def test_types_of_ml_dtypes_are_known_from_its_import_on():
    code = """
import numpy as np, ogive
x = np.linspace(-3, 3, 8, dtype=np.float32)
singles = ogive.relu(x), ogive.relu(x, out=x.copy()), ogive.leaky_relu(x, alpha=0.5)
assert "ml_dtypes" not in sys.modules
import ml_dtypes
b = x.astype(ml_dtypes.bfloat16)
assert ogive.relu(b, out=np.empty_like(b)).dtype == b.dtype
assert ogive.relu(list(b)).dtype == ogive.leaky_relu(b, alpha=0.5).dtype == b.dtype
assert ogive.relu(x, dtype=b.dtype).dtype == ogive.relu.bind()(b).dtype == b.dtype
assert (ogive.relu(x) == singles[0]).all() and (ogive.leaky_relu(x, alpha=0.5) == singles[2]).all()
"""
    loaded_by(code)


@pytest.mark.matrix(share=16, pool="slow")
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
    for inner in ("catalog", "dtypes", "dtypes", "runtime", "graph", "lowering", "operators"):
        assert inner not in dir(ogive)
    with pytest.raises(AttributeError, match="module 'ogive' has no attribute 'gelo'"):
        ogive.gelo  # noqa: B018


@pytest.mark.matrix(share=16, pool="slow")
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


@pytest.mark.matrix(share=16, pool="slow")
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
