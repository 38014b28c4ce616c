"""The programs, commands and excerpts in the documents are real."""

import re
import shlex
from importlib import metadata
from pathlib import Path

import pytest

import ogive

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def blocks(text, language):
    pairs = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [content for named, content in pairs if named == language]


def test_the_commands_of_the_readme_are_one_line_each():
    install, test = blocks(README, "sh")[:2]
    assert install.count("\n") == test.count("\n") == 1
    for path in re.findall(r"examples/\S+", install):
        assert (ROOT / path).exists(), path


def test_the_readme_counts_the_operators():
    from ogive.catalog import OPERATORS

    (count,) = re.findall(r"more than (\d+) operators", README)
    assert 0 < len(OPERATORS) - int(count) <= 20, "the count in README.md is far from the operators that there are"


def test_the_documents_stay_short():
    """Each page answers one question; tables that are looked up lie in a folder of their own."""
    pages = list((ROOT / "docs").glob("*.md"))
    words = [word for page in pages for word in page.read_text(encoding="utf-8").split() if re.search(r"\w", word)]
    assert 0 < len(pages) <= 26
    assert len(words) <= 23_500


def named_commands():
    lines = [line for block in blocks(COMMANDS_PAGE, "sh") for line in block.splitlines()]
    return {shlex.split(line)[1] for line in lines if line.startswith("ogive ")}


def test_the_page_of_commands_names_all_of_them():
    from ogive.cli import COMMANDS

    assert named_commands() == set(COMMANDS)


def test_type_checkers_find_the_types():
    assert (Path(ogive.__file__).parent / "py.typed").exists()


def test_the_commands_of_the_contributors_page_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make (\w+)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    ci = set(re.findall(r"^make (\w+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"develop", "lint", "types", "test", "sanitize"} <= named <= targets
    assert {"lint", "types", "warnings"} <= ci <= targets


def test_the_files_that_scripts_name_exist():
    scripts = [ROOT / "Makefile", *(ROOT / ".ci").iterdir(), *(ROOT / ".github" / "workflows").iterdir()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    named = set(re.findall(r"(?<![\w/])(?:accuracy|benchmarks|examples|tests|tools|website)/[\w/]+\.py", text))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_one_sentence_says_what_it_is():
    """The summary of the package, the help of the command, the package's docstring and the README begin with it."""
    from ogive.cli import ogive as command

    summary = re.search(r'^description = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[
        1
    ]
    assert ogive.__doc__.startswith(summary)
    assert " ".join(command.help.split()).startswith(summary)
    assert summary in " ".join(README.split()[:60])


def test_actions_are_pinned():
    """A tag can be moved; dependabot renews digests."""
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", used), f"{path.name}: {used}"


def test_the_version_stands_in_one_place():
    (version,) = re.findall(r"^  version: '(.+)',$", (ROOT / "meson.build").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in ("pyproject.toml", "src/ogive/__init__.py", "CITATION.cff"):
        assert version not in (ROOT / name).read_text(encoding="utf-8"), name
    try:
        installed = metadata.version("ogive")
    except metadata.PackageNotFoundError:
        pytest.skip("ogive runs from its folder here and is not installed")
    assert ogive.__version__ == installed == version


@pytest.mark.parametrize("name", ["architecture", "lowering", "glossary"])
def test_the_files_that_a_page_names_exist(name):
    """By their paths in the package, in the repository, or by their names alone."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "ogive"
    there = {path.name for path in source.rglob("*")}
    named = set(re.findall(r"(?<![\w/*])((?:[\w]+/)*\w+\.(?:py|c|h|txt))\b", text))
    assert named
    missing = [
        path
        for path in named
        if not (path in there if "/" not in path else (ROOT / path).exists() or list(source.rglob(path)))
    ]
    assert missing == []
    folders = set(re.findall(r"`(\w+(?:/\w+)*)/`", text))
    assert [folder for folder in folders if not (list(source.rglob(folder)) or (ROOT / folder).is_dir())] == []


def test_the_glossary_explains_few_words_of_the_source_code():
    """A word more is one more that a newcomer has to learn: leave out what the field says too."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert 30 < len(re.findall(r"^\| (?!word |term |---)", text, re.MULTILINE)) <= 40


@pytest.mark.matrix(share=16, pool="slow")
def test_the_names_of_code_in_the_glossary_exist():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "ogive").rglob("*.py"))
    names = set(re.findall(r"`(\w+(?:\.\w+)?)`", text)) - {"alpha"}
    assert len(names) > 8
    assert [name for name in names if not re.search(rf"\b{name.split('.')[-1]}\b", code)] == []
