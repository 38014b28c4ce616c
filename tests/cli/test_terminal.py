"""The parts that the commands share: progress, sizes, levels, completion, errors that nobody thought of."""

import io
import os
import subprocess
import sys
import time

import click
import pytest
from rich.console import Console

from ogive.cli import terminal
from ogive.cli.operator_argument import OperatorName
from ogive.cli.terminal import FEATURE_LEVEL, MEMORY, picture, progress
from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)


def shown(monkeypatch, *, is_terminal, delay, work):
    stream = io.StringIO()
    monkeypatch.setattr(terminal, "DELAY", delay)
    monkeypatch.setattr(
        terminal, "Console", lambda **_: Console(file=stream, force_terminal=is_terminal, width=200, color_system=None)
    )
    with progress() as display:
        task = display.add_task("computing [x]", total=4_000_000)
        display.advance(task, 2_000_000)
        if work:
            deadline = time.monotonic() + 20
            while "computing" not in stream.getvalue() and time.monotonic() < deadline:
                time.sleep(0.01)
    return stream.getvalue()


def test_long_work_shows_bytes(monkeypatch):
    text = shown(monkeypatch, is_terminal=True, delay=0.01, work=True)
    assert "computing [x]" in text
    assert "2.0/4.0 MB" in text


def test_short_work_shows_nothing(monkeypatch):
    assert shown(monkeypatch, is_terminal=True, delay=60, work=False) == ""


def test_a_pipe_is_shown_nothing(monkeypatch):
    assert shown(monkeypatch, is_terminal=False, delay=0, work=False) == ""


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("500MB", 500_000_000), ("4GiB", 4 << 30), ("1.5k", 1500), ("2 tib", 2 << 40), ("7b", 7)],
)
def test_sizes(text, size):
    assert MEMORY.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "1e9", "4iB", "nan", "1.2.3", "9" * 99, "0", "0.1"])
def test_sizes_that_are_none(text):
    with pytest.raises(click.BadParameter, match=r"allowed: (bytes, such as 1000000, 500MB or 4GiB|1 byte or more)"):
        MEMORY.convert(text, None, None)


@pytest.mark.parametrize("text", ["3_0", "3.0", " 3.0 ", "DML_FEATURE_LEVEL_3_0", "dml_feature_level_3.0"])
def test_levels(text):
    assert FEATURE_LEVEL.convert(text, None, None) == "3_0"


@pytest.mark.matrix(share=16, pool="slow")
def test_a_shell_completes_operators():
    script = "import sys; sys.argv[0] = 'ogive'; from ogive.cli import main; main()"
    for words, expected in (
        ("ogive show cel", "plain,celu"),
        ("ogive accuracy tanh scaled_t", "plain,scaled_tanh"),
        ("ogive acc", "plain,accuracy"),
    ):
        environment = {"_OGIVE_COMPLETE": "bash_complete", "COMP_WORDS": words}
        count = {"COMP_CWORD": str(len(words.split()) - 1)}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **environment, **count},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines() == [expected]
    found = OperatorName().shell_complete(None, None, "")
    from ogive.catalog import OPERATORS
    from ogive.catalog.aliases import ALIASES

    assert [item.value for item in found] == sorted({*OPERATORS, *ALIASES})


def test_an_unforeseen_error_is_one_line(ogive, monkeypatch):  # noqa: F811
    import ogive.cli.list_command as list_command

    def fail(*_):
        raise KeyError("surprise")

    monkeypatch.setattr(list_command, "short_types", fail)
    monkeypatch.delenv("OGIVE_DEBUG", raising=False)
    status, out, err = ogive("list")
    assert (status, out) == (70, "")
    assert err == (
        "ogive: an error that Ogive did not expect, KeyError: 'surprise'; ogive --debug shows where. Please report it\n"
    )
    status, _, err = ogive("--debug", "list")
    assert status == 70
    assert err.startswith("Traceback")
    assert "in fail" in err
    assert err.splitlines()[-1] == "ogive: an error that Ogive did not expect, KeyError: 'surprise'"
    monkeypatch.setenv("OGIVE_DEBUG", "1")
    assert ogive("list")[2].startswith("Traceback")


def test_debug_shows_where_a_refusal_comes_from(ogive, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "m.onnx").write_bytes(b"\xff" * 50)
    monkeypatch.delenv("OGIVE_DEBUG", raising=False)
    status, _, err = ogive("--debug", "run", str(tmp_path / "m.onnx"))
    assert status == 2
    assert err.startswith("Traceback")
    status, _, err = ogive("run", str(tmp_path / "m.onnx"))
    assert err.count("\n") == 1


def test_pictures():
    assert picture([0, 0], 0, 1, "utf-8")[:3] == ["", "", ""]
    assert picture([5], 1, 1, "utf-8") == ["█", "█", "█", "1  1"]
    assert all(line.isascii() for line in picture([3, 1], 0, 1, None))


def test_the_curve_ends_where_its_numbers_say(ogive):  # noqa: F811
    _, out, _ = ogive("show", "tanh")
    *_, bottom, axis = out.splitlines()
    assert axis.split() == ["-4", "-2", "0", "2", "4"]
    frame = bottom.index("┘")
    assert axis.rindex("4") == frame - 1
    assert out.splitlines()[-4].index("│", 1) == axis.index("0")
