"""docs/judge.md: its programs run, and its command prints what is shown."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ogive.cli import _status
from ogive.judge import load

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.matrix(share=16, pool="slow")
def test_programs_run_in_order():
    scope = {}
    for program in blocks("python"):
        exec(compile(program, "docs/judge.md", "exec"), scope)
    assert scope["golden"].expected.size == 1 << 16


@pytest.mark.matrix(share=16, pool="slow")
def test_the_c_function_is_found_out(tmp_path, monkeypatch, capsys):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler called cc")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    build, judge = blocks("sh")[0].splitlines()
    subprocess.run(build.split(), check=True)
    assert _status(judge.split()[1:]) == 1
    printed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("time:")]
    shown = [line for line in blocks("text")[0].splitlines() if not line.startswith("time:")]
    assert printed == shown
    assert "-4.50000048" in (tmp_path / "report.html").read_text()


def test_the_budgets_are_those_of_the_example():
    pytest.importorskip("yaml", reason="budgets are YAML")
    path = ROOT / "examples" / "budgets.yaml"
    assert blocks("yaml")[0] in path.read_text()
    assert load(path).of("gelu", "float16").max_ulp == 4


@pytest.mark.matrix(share=16, pool="slow")
def test_golden_data_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in blocks("sh")[1].splitlines():
        assert _status(command.split()[1:]) == 0
    assert (tmp_path / "golden" / "gelu-bfloat16.npz").is_file()
