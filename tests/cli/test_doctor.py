"""``ogive doctor`` and ``ogive devices`` answer whatever is broken: these are the pages that people paste into reports."""

import builtins
import sys

import pytest

from ogive.runtime import cache
from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)


@pytest.fixture
def without_home(monkeypatch):
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    for name in ("HOME", "XDG_CACHE_HOME", "OGIVE_CACHE", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", ["doctor", "devices"])
def test_a_user_without_a_home(ogive, without_home, monkeypatch, command):  # noqa: F811
    """pyopencl asks for a home when it is imported, and fails in its own way."""
    imported = builtins.__import__

    def fails(name, *args, **keywords):
        if name.partition(".")[0] == "pyopencl" or name == "ogive.opencl.open_devices":
            raise RuntimeError("could not determine the home directory")
        return imported(name, *args, **keywords)

    for name in [name for name in sys.modules if name.startswith(("ogive.opencl", "pyopencl"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("ogive.opencl", raising=False)
    monkeypatch.setattr(builtins, "__import__", fails)
    status, out, err = ogive(command)
    assert status == 0, err
    assert "RuntimeError: could not determine the home directory" in " ".join(out.split())


def test_the_page_says_why_nothing_is_kept(monkeypatch, tmp_path, without_home):
    assert cache.why_off() == "there is no home for it. Name a folder by OGIVE_CACHE"
    monkeypatch.setenv("OGIVE_CACHE", "off")
    assert cache.why_off() == "OGIVE_CACHE says so"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "file" / "folder"))
    assert cache.why_off().startswith("the folder cannot be made: ")
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "good"))
    assert cache.why_off() == ""
    assert cache.folder() is not None
