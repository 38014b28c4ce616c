"""The operators as editors and type checkers know them: the build's stubs are those of the sources, and find wrong calls."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ogive
from tools.stubs import directml, operators, write

PACKAGE = Path(ogive.__file__).parent
CALLS = Path(__file__).with_name("typed_calls.py")
WRONG = [i for i, line in enumerate(CALLS.read_text(encoding="utf-8").splitlines(), 1) if "# wrong: " in line]


@pytest.fixture(scope="module", autouse=True)
def stubs():
    """The build puts them into an installed package. In a checkout they are no part of the sources."""
    if "site-packages" not in PACKAGE.parts:
        write(PACKAGE)


@pytest.mark.parametrize(("folder", "made"), [("", operators), ("directml", directml)])
def test_stubs_are_those_of_the_sources(folder, made):
    assert (PACKAGE / folder / "__init__.pyi").read_text(encoding="utf-8") == made.text()


def test_every_operator_has_a_class_with_its_formula():
    text = operators.text()
    assert len(re.findall(r"^class _\w+\((?:Row)?Operator\):", text, re.MULTILINE)) > 80
    assert "``celu(x, *, alpha=1.0)``\n\nContinuously differentiable exponential linear unit: ``max(0, x) + " in text


@pytest.mark.matrix(share=16, pool="slow")
def test_front_ends_are_attributes():
    code = (
        "import sys, ogive; assert 'ogive.onnx' not in sys.modules; ogive.directml.Device; print('onnx' in dir(ogive))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"
    with pytest.raises(AttributeError, match="module 'ogive' has no attribute 'no_such_name'"):
        ogive.no_such_name  # noqa: B018


def lines_with_errors(command, parse, extra_path="MYPYPATH"):
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE.parts:
        environment[extra_path] = str(PACKAGE.parent)
    completed = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert completed.returncode in (0, 1), completed.stdout + completed.stderr
    return sorted(set(parse(completed.stdout)))


@pytest.mark.matrix(pool="slowest")
def test_mypy_finds_the_wrong_calls_and_no_others():
    pytest.importorskip("mypy", reason="mypy is in the extra `lint`")
    options = ["--config-file=", "--strict", "--follow-imports=silent", "--no-error-summary", "--hide-error-context"]
    command = ["mypy", *options, str(CALLS)]

    def parse(output):
        return [int(line.split(":")[1]) for line in output.splitlines() if ": error: " in line]

    assert len(WRONG) > 20
    assert lines_with_errors(command, parse) == WRONG


@pytest.mark.matrix(pool="slowest")
def test_pyright_finds_the_wrong_calls_and_no_others(tmp_path):
    """basedpyright is pyright with its own Node; pyright itself would fetch one when it starts."""
    pytest.importorskip("basedpyright", reason="basedpyright is in the extra `lint`")
    (tmp_path / CALLS.name).write_text(CALLS.read_text(encoding="utf-8"), encoding="utf-8")
    settings = {"include": [CALLS.name], "typeCheckingMode": "strict", "extraPaths": [str(PACKAGE.parent)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = ["basedpyright", "--outputjson", "--project", str(tmp_path), "--pythonpath", sys.executable]

    def parse(output):
        found = json.loads(output)
        assert found["summary"]["filesAnalyzed"] == 1
        return [d["range"]["start"]["line"] + 1 for d in found["generalDiagnostics"] if d["severity"] == "error"]

    assert lines_with_errors(command, parse) == WRONG
