"""Every code block of every document is run, or says what else it is."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ogive

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

#: Blocks that are not run here: commands of a shell, what programs print, other languages, excerpts of sources.
#: Commands with what they print (console) and differences (diff) have tests of their own.
NOT_RUN = {"sh", "text", "console", "c", "cpp", "diff", "json", "toml", "yaml", "bat", "js", "html"}

#: Packages that a page's programs need.
NEEDED = ("onnx", "torch", "scipy", "jax", "dask", "numba", "xarray", "pandas", "awkward", "cffi", "zarr")


#: What a page takes as given.
GIVEN = {
    "onnx.md": """
import numpy as np
from onnx import TensorProto, helper, parser, save
given = '<ir_version: 8, opset_import: ["" : 20]> m (float[N, 3] x) => (float[N, 3] y) '
save(parser.parse_model(given + "{ y = Relu(x) }"), "model.onnx")
save(parser.parse_model(given + "{ a = Transpose(x) b = MatMul(x, a) y = MatMul(b, x) }"), "network.onnx")
proto = parser.parse_model(given + "{ y = Relu(x) }")
array, result = np.ones((3, 3), np.float32), np.empty((3, 3), np.float32)
""",
}


def blocks(text):
    """(language, content) of each fenced block; those inside of lists too."""
    found = re.findall(r"^( *)```([\w{}-]*)[^\n]*\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [(language, "".join(line.removeprefix(indent) for line in content.splitlines(keepends=True)))
            for indent, language, content in found]  # fmt: skip


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_block_says_what_it_is(path):
    for language, content in blocks(path.read_text(encoding="utf-8")):
        assert language in {"python", "pycon"} | NOT_RUN, content


def pages_with(language):
    return [path for path in PAGES if any(name == language for name, _ in blocks(path.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("path", pages_with("python"), ids=lambda path: path.name)
def test_the_programs_of_a_page_run_in_order(path, tmp_path):
    program = "\n".join(
        content for language, content in blocks(path.read_text(encoding="utf-8")) if language == "python"
    )
    program = GIVEN.get(path.name, "") + program
    for package in NEEDED:
        if re.search(rf"^ *(import|from) {package}\b", program, re.MULTILINE):
            pytest.importorskip(package, reason=f"{package}, which the page uses, is not installed")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "page.py").write_text(program, encoding="utf-8")
    # In a process of its own: operators that it makes must not stay.
    done = subprocess.run([sys.executable, "page.py"], text=True, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("path", pages_with("pycon"), ids=lambda path: path.name)
def test_the_sessions_of_a_page_print_what_it_says(path):
    text = "\n".join(content for language, content in blocks(path.read_text(encoding="utf-8")) if language == "pycon")
    test = doctest.DocTestParser().get_doctest(text, {"ogive": ogive}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


def test_there_are_programs_and_sessions():
    assert len(pages_with("python")) > 10
    assert len(pages_with("pycon")) > 3
