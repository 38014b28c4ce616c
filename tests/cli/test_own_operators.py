"""Anybody's own operator on the command line: ``module:name`` and ``file.py:name``."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)

MINE = Path(__file__).with_name("mine.py")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module in it whose name nothing else has."""
    (tmp_path / "my_operators.py").write_text(MINE.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "broken")):
            del sys.modules[name]


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("place", ["my_operators", "my_operators.py", "./my_operators.py"])
def test_a_module_or_a_file(ogive, folder, place):  # noqa: F811
    status, out, err = ogive("accuracy", f"{place}:shrinkage", "--json", "--dtype", "bfloat16")
    assert (status, err) == (0, "")
    assert [report["operator"] for report in json.loads(out)["reports"]] == ["shrinkage"]


@pytest.mark.matrix(share=16, pool="slow")
def test_cancellation_does_not_matter(ogive, folder):  # noqa: F811
    """x - tanh(x) loses all its digits where it is computed as it is written. Here it is correctly rounded."""
    status, out, err = ogive("accuracy", "my_operators:shrinkage", "--json", "--dtype", "float16")
    assert (status, err) == (0, "")
    (report,) = json.loads(out)["reports"]
    assert (report["operator"], report["dtype"]) == ("shrinkage", "float16")
    assert report["worst"] <= 0.5000001


@pytest.mark.matrix(share=16, pool="slow")
def test_the_table_says_what_is_exact(ogive, folder):  # noqa: F811
    status, out, _ = ogive("accuracy", "my_operators:shrinkage", "--dtype", "float16")
    assert status == 0
    assert out.splitlines()[1].split()[0] == "shrinkage"
    assert "the largest error is exact; where terms of a formula cancel, the counts are estimates" in out
    assert "estimates" not in ogive("accuracy", "tanh", "--dtype", "float16")[1]
    _, out, _ = ogive("accuracy", "my_operators:without_sum", "--samples", "1000")
    assert "rows are compared with long double" in out
    assert "exact" not in out


@pytest.mark.parametrize(
    ("name", "count", "parameters"), [("gated", 2000, {}), ("steep", 2000, {"slope": 3.0}), ("without_sum", 2000, {})]
)
def test_several_tensors_bound_ones_and_rows(ogive, folder, name, count, parameters):  # noqa: F811
    status, out, err = ogive("accuracy", f"my_operators:{name}", "--samples", str(count), "--json")
    assert (status, err) == (0, "")
    (report,) = json.loads(out)["reports"]
    assert (report["count"], report["parameters"], report["by"]) == (count, parameters, "ogive")


def test_beside_one_of_the_catalogue(ogive, folder):  # noqa: F811
    status, out, _ = ogive("accuracy", "my_operators:Inside.operator", "tanh", "--dtype", "bfloat16")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["operator", "shrinkage", "tanh"]


@pytest.mark.matrix(share=16, pool="slow")
def test_show(ogive, folder):  # noqa: F811
    status, out, _ = ogive("show", "my_operators:shrinkage")
    assert status == 0
    assert "x - tanh(x)" in out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("my_operators:plain", "my_operators:plain is the function plain, not an operator. Put @ogive.operator before"),
        ("my_operators:Inside", "my_operators:Inside is the class Inside, not an operator"),
        ("my_operators:np", "my_operators:np is a module, not an operator. Name an operator of the module"),
        ("my_operators:nope", "my_operators has no 'nope'; allowed: shrinkage, gated, without_sum, steep"),
        ("json:nope", "json has no 'nope'; allowed: a name of an operator, and it has none"),
        (
            "my_operators:",
            "the operator is 'my_operators:'; allowed: a name of `ogive list`, module:name, file.py:name",
        ),
        (":celu", "the operator is ':celu'; allowed: "),
        ("no_such_module:x", "there is no module 'no_such_module' in the current folder or among the installed"),
        ("no_such.module:x", "there is no module 'no_such.module'"),
        ("no_such.py:x", "there is no file 'no_such.py'; allowed: module:name, file.py:name"),
        ("not-a-module:x", "'not-a-module' is no name of a module; allowed: module:name, package.module:name"),
        ("folder/file.txt:x", "folder/file.txt is no Python file"),
        ("broken_division:x", "broken_division cannot be imported: ZeroDivisionError: division by zero"),
        ("broken_syntax.py:x", "broken_syntax.py cannot be imported: SyntaxError: "),
        ("broken_import:x", "broken_import cannot be imported: ModuleNotFoundError: No module named 'not_installed'"),
        ("broken_exit:x", "broken_exit cannot be imported: SystemExit: 3"),
        ("my_operators:gated --exhaustive", "gated in float32: there are too many inputs"),
        ("my_operators:gated --parameter slop=1", "gated has no parameter 'slop'; did you mean slope?"),
        ("my_two.py:both", "both: the formula returns 2 values; allowed: 1"),
    ],
)
def test_a_mistake_is_one_sentence(ogive, folder, text, sentence):  # noqa: F811
    (folder / "folder").mkdir()
    files = {
        "folder/file.txt": "",
        "broken_division.py": "1 / 0",
        "broken_syntax.py": "def f(:\n",
        "broken_import.py": "import not_installed",
        "broken_exit.py": "raise SystemExit(3)",
        "my_two.py": "import ogive\n@ogive.operator\ndef both(x):\n    '''x'''\n    return x, -x\n",
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    status, out, err = ogive("accuracy", *text.split())
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
