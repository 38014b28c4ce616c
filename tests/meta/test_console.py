"""The commands in the documents print what the documents show, times and folders apart."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from ogive.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("directml.md",)


def blocks(name, language):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


COMMANDS = [(name, *block.split("\n", 1)) for name in DOCUMENTS for block in blocks(name, "console")]


@pytest.fixture
def examples(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def comparable(text):
    text = re.sub(r"\d+\.\d{4} ms", "T ms", text)
    text = re.sub(r"'/\S*/outputs/", "'outputs/", text)
    return [line.rstrip() for line in text.splitlines()]


def test_there_are_commands():
    assert len(COMMANDS) > 1


@pytest.mark.parametrize(("name", "command", "shown"), COMMANDS, ids=[command for _, command, _ in COMMANDS])
def test_commands_print_what_is_shown(examples, capsys, name, command, shown):
    prompt, program, *arguments = shlex.split(command)
    assert (prompt, program) == ("$", "ogive")
    with pytest.raises(SystemExit):
        main(arguments)
    captured = capsys.readouterr()
    assert comparable(captured.out + captured.err) == comparable(shown)
