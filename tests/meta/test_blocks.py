"""Every code block of every document is run, or says what else it is."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import ogive

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

#: Blocks with a test elsewhere: commands with what they print (test_console.py), differences (test_documents.py), budgets
#: (tests/judge/test_document.py).
ELSEWHERE = {"console", "diff", "yaml"}
LANGUAGES = {"python", "pycon", "sh", "text", "c", "js"} | ELSEWHERE

#: Packages that a page's programs need.
NEEDED = (
    "onnx",
    "torch",
    "scipy",
    "jax",
    "pyopencl",
    "dask",
    "distributed",
    "xarray",
    "pandas",
    "awkward",
    "cffi",
    "zarr",
)

#: Commands that are not run here, and why.
NOT_RUN = {
    r"python3 -m venv .*": "installs; CI runs the README's",
    r"\. \.venv/bin/activate": "is about the shell of the reader",
    r"python -m pytest .*": "is these tests; CI runs the README's",
    r"pip install .*": "installs; a test compares the extras with pyproject.toml",
    r"python -m benchmarks.report\b.*": "writes the document",
    r"python -m benchmarks\.by_data\b.*": "takes minutes, and says what this machine takes",
    r"python -m tools.golden_release .*": "takes minutes; tests/golden/test_release.py builds a smaller one",
    r"python -m tools.build_wheel_kernels add .*": "needs a wheel of cibuildwheel; tests/cpu/test_wheel_kernels.py has smaller ones",
    r"cc .*program.c .*": "needs the caller's object file; tests/exporting compiles it",
    r"cat model.onnx \| .*": "is two programs; tests/cli/test_narrow.py reads a model from one",
    r"ogive export .* --build wasm32-wasi .*": "needs the package ziglang; tests/exporting has it where it is installed",
    r"python examples/activate_zarr.py .*": "makes 2 GiB; tests/cpu/test_lazy.py runs it smaller",
}

#: Commands that take minutes: only their options are read.
SLOW = r"python -m benchmarks\b.*|ogive accuracy .*--exhaustive|ogive accuracy --save .*"

#: Options that make a command shorter; the last one counts.
SHORTER = {
    r"ogive accuracy mine.*": ["--samples", "2000"],
    r"ogive accuracy gelu --accuracy fast": ["--dtype", "float16"],
}

#: Commands that exit with another status than 0, because they find something.
FINDS = r"ogive judge .*|ogive split network.onnx .*"


#: Pages whose programs need files, and the tests that run them.
RUN_ELSEWHERE = {"golden.md": "tests/golden/test_release.py"}


#: The names that a page takes as given.
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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_says_what_it_is(path):
    for language, content in blocks(path.read_text(encoding="utf-8")):
        assert language in LANGUAGES, content


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_session_is_in_a_block(path):
    # Markdown takes >>> for a quotation in a quotation in a quotation.
    text = re.sub(r"^( *)```.*?^\1```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^ *>>> .*", text, re.MULTILINE)


def pages_with(language):
    return [path for path in PAGES if any(name == language for name, _ in blocks(path.read_text(encoding="utf-8")))]


def need(program):
    """Skip the test if a package that the program imports is not installed."""
    for package in NEEDED:
        if re.search(rf"^(>>> |\.\.\. )? *(import|from) ([\w ]+, )*{package}\b", program, re.MULTILINE):
            pytest.importorskip(package, reason=f"{package}, which the page uses, is not installed")


@pytest.mark.matrix(share=14)
@pytest.mark.parametrize(
    "path",
    [path for path in pages_with("python") if path.name not in RUN_ELSEWHERE],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_programs_of_a_page_run_in_order(path, tmp_path):
    program = "\n".join(
        content for language, content in blocks(path.read_text(encoding="utf-8")) if language == "python"
    )
    program = GIVEN.get(path.name, "") + program
    need(program)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "page.py").write_text(program, encoding="utf-8")
    # In a process of its own: operators that it makes must not stay.
    done = subprocess.run([sys.executable, "page.py"], text=True, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("path", pages_with("pycon"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_sessions_of_a_page_print_what_it_says(path):
    text = "\n".join(content for language, content in blocks(path.read_text(encoding="utf-8")) if language == "pycon")
    need(text)
    test = doctest.DocTestParser().get_doctest(text, {"ogive": ogive}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


# ---- commands


def commands(path):
    """The commands of a page: lines of sh blocks, and those of text blocks that begin with ``ogive``."""
    found = []
    for language, content in blocks(path.read_text(encoding="utf-8")):
        lines = content.replace("\\\n", " ").splitlines() if language in ("sh", "text") else []
        for line in (line for line in lines if not line.startswith("#")):
            # Text behind two spaces or # is an explanation.
            for command in re.split(r" && ", re.split(r"\s{2,}|\s#", line)[0].strip()):
                command = re.sub(r"^\.venv/bin/", "", command)
                if language == "sh" or re.match(r"ogive [a-z]", command):
                    found.append(command)
    return [command for command in found if command]


COMMANDS = [(path, command) for path in PAGES for command in commands(path)]
RUN = [(path, command) for path, command in COMMANDS if not any(re.fullmatch(p, command) for p in NOT_RUN)]


def sources(path, name):
    """The function of this name that a session of a page defines."""
    lines = "".join(content for language, content in blocks(path.read_text(encoding="utf-8")) if language == "pycon")
    text = re.findall(rf"^>>> @ogive.*\n\.\.\. def {name}\b.*\n(?:\.\.\. .*\n)+", lines, re.MULTILINE)[0]
    return "import numpy as np\nimport ogive\n\n\n" + re.sub(r"^(>>>|\.\.\.) ", "", text, flags=re.MULTILINE)


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A folder with the files that commands of documents name."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "snake.py").write_text(sources(ROOT / "docs" / "own-operators.md", "snake"))
    (tmp_path / "mine.py").write_text((ROOT / "tests" / "cli" / "mine.py").read_text())
    np.save(tmp_path / "x.npy", np.ones((3, 3), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.matrix(share=20)
@pytest.mark.parametrize(("path", "command"), RUN, ids=[f"{path.name}: {command}" for path, command in RUN])
def test_a_command_of_a_page(path, command, given):
    program, *arguments = shlex.split(command)
    if "model.onnx" in command or "network.onnx" in command or "onnx" in arguments:
        pytest.importorskip("onnx", reason="onnx, which reads models, is not installed")
        exec(GIVEN["onnx.md"], {})
    if "--plot" in command:
        pytest.importorskip("matplotlib", reason="matplotlib, which draws the pictures, is not installed")
    if ".so" in command:
        if shutil.which("cc") is None:
            pytest.skip("there is no C compiler called cc")
        for name in ("libk.so", "libgelu.so"):
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", name, "examples/gelu_tail.c", "-lm"], check=True)
    if re.fullmatch(SLOW, command):
        read_options(arguments)
        return
    for pattern, options in SHORTER.items():
        arguments += options if re.fullmatch(pattern, command) else []
    assert program in ("ogive", "cc"), f"say in NOT_RUN why this is not run: {command}"
    line = [sys.executable, "-m", "ogive", *arguments] if program == "ogive" else [program, *arguments]
    path_of_modules = os.pathsep.join([*filter(None, sys.path), str(given)])
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path_of_modules}
    )
    assert done.returncode == (1 if re.fullmatch(FINDS, command) else 0), done.stdout + done.stderr
    for flag, option in pairwise(arguments):
        if flag in ("--output", "--plot", "--html", "-o") and option != "-":
            assert Path(option).exists(), f"{option} was not written"


def read_options(arguments):
    """The parameters that click makes of the options, without what the command would do."""
    if arguments[:2] == ["-m", "benchmarks"]:
        from benchmarks.__main__ import main

        main.make_context("benchmarks", arguments[2:])
    else:
        from ogive.cli import ogive as group

        group.get_command(None, arguments[0]).make_context(arguments[0], arguments[1:])


def test_what_is_installed_is_an_extra():
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    named = []
    for path in PAGES:
        named += re.findall(r"(?:ogive|'\.|\"\.)\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert {extra for names in named for extra in names.split(",")} <= extras


def test_every_command_that_is_not_run_is_in_a_page():
    for pattern in NOT_RUN:
        assert any(re.fullmatch(pattern, command) for _, command in COMMANDS), pattern
    assert len(RUN) > 25


@pytest.mark.matrix(share=16, pool="slow")
def test_the_declarations_of_a_page_are_in_the_header(tmp_path):
    written = [
        content for path in PAGES for language, content in blocks(path.read_text(encoding="utf-8")) if language == "c"
    ]
    ogive.export([ogive.celu, ogive.softmax], name="activations").write(tmp_path)
    header = " ".join((tmp_path / "activations.h").read_text().split())
    for declaration in written[0].split(";")[:-1]:
        assert " ".join(declaration.split()) in header


def test_there_are_programs_and_sessions():
    assert len(pages_with("python")) > 10
    assert len(pages_with("pycon")) > 3
