import os
import stat
import sys
from pathlib import Path

import numpy as np
import platformdirs
import pytest

import ogive
from ogive import celu
from ogive.codegen import compiler
from ogive.codegen.link import Image
from ogive.codegen.target import host_target
from ogive.runtime import cache, kernels
from ogive.runtime.kernels import compiled, make_ufunc

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX owners and modes")

SIGNATURE = next(s for s in celu.signatures if s.inputs[0].name == "float32")
PROGRAM = celu.program(SIGNATURE, alpha=1.25)
X = np.linspace(-4, 4, 1000, dtype=np.float32)
EXPECTED = celu(X, alpha=1.25)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setenv("OGIVE_CACHE", str(place))
    cache._folder.cache_clear()
    yield place
    cache._folder.cache_clear()


@pytest.fixture
def compilations(monkeypatch):
    """How often the compiler ran."""
    calls = []
    original = compiler.object_code
    monkeypatch.setattr(compiler, "object_code", lambda *a: calls.append(1) or original(*a))
    return calls


def computes():
    assert np.array_equal(make_ufunc("celu", PROGRAM)(X), EXPECTED)


def test_a_second_time_nothing_is_compiled(folder, compilations):
    computes()
    computes()
    assert len(compilations) == 1
    assert len(list(folder.iterdir())) == 1


def test_the_key_is_the_content(folder):
    compiled(PROGRAM, host_target())
    compiled(celu.program(SIGNATURE, alpha=1.5), host_target())
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"X" + data[1:],
        lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
        lambda data: cache.MAGIC,
    ],
)
def test_a_damaged_file_is_compiled_anew(folder, compilations, damage):
    computes()
    (file,) = folder.iterdir()
    good = file.read_bytes()
    file.write_bytes(damage(good))
    computes()
    assert len(compilations) == 2
    assert file.read_bytes() == good


def test_a_file_whose_digest_fits_but_not_its_structure(folder):
    for payload in (b"", b"\0\0\0\0\xff\xff\xff\xff", b"\0\0\0\0\2\0\0\0" + b"\0" * 8):
        cache._write("file", cache.MAGIC, payload)
        assert cache._read("file", cache.MAGIC) == payload
        assert cache.load("file") is None


def test_round_trip_of_images():
    image = Image(b"\x90" * 100, (4, 20), ((80, 1),))
    assert cache._decode(cache._encode(image)) == image


@posix
def test_nothing_is_read_from_or_written_to_a_folder_that_others_can_write(folder, compilations):
    computes()
    folder.chmod(0o777)
    cache._folder.cache_clear()
    computes()
    computes()
    assert len(compilations) == 3
    folder.chmod(0o700)


@posix
def test_a_file_that_others_can_write_is_not_run(folder, compilations):
    computes()
    (file,) = folder.iterdir()
    file.chmod(0o666)
    computes()
    assert len(compilations) == 2


@posix
def test_links_are_not_followed(folder, compilations, tmp_path):
    computes()
    (file,) = folder.iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    computes()
    assert len(compilations) == 2


def test_off(monkeypatch, compilations):
    monkeypatch.setenv("OGIVE_CACHE", "off")
    assert cache.folder() is None
    computes()
    computes()
    assert len(compilations) == 2


@pytest.mark.parametrize("caches", [None, "", " ", "/a/b", "/a//b/", "relative", "~/b", "/a/../b"])
@pytest.mark.parametrize("home", [None, "/home/somebody", "/"])
def test_the_default_folder_is_that_of_platformdirs(monkeypatch, caches, home):
    """Which is not asked on Linux, where importing it would take longer than all that follows."""
    for name, value in {"XDG_CACHE_HOME": caches, "HOME": home}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache._user_folder() == Path(platformdirs.user_cache_dir("ogive", appauthor=False))


def test_the_default_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("OGIVE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache._folder.cache_clear()
    place = cache.folder()
    cache._folder.cache_clear()
    if sys.platform.startswith("linux"):
        assert place == tmp_path / "ogive" / "kernels"
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="the administrator may write anywhere")
def test_a_read_only_place_is_no_error(monkeypatch, tmp_path):
    tmp_path.chmod(0o500)
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "kernels"))
    cache._folder.cache_clear()
    assert cache.folder() is None
    computes()
    tmp_path.chmod(0o700)
    cache._folder.cache_clear()


def test_a_place_that_is_no_folder_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "file"))
    cache._folder.cache_clear()
    assert cache.folder() is None
    computes()
    cache._folder.cache_clear()


def test_old_files_are_removed(folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST_FILES", 6)
    for i in range(8):
        cache.store(f"{i:064x}", Image(b"\x90" * 16, (0,)))
    assert len(list(folder.iterdir())) < 8
    assert cache.load(f"{7:064x}") is not None


# ---- notes: what saves making a program to find its kernel


def fresh(programs):
    """An operator like celu that has no kernels yet; ``programs`` counts how often its program is made."""
    made = ogive.operator(celu.function)
    original = made.program
    made.program = lambda *args, **choices: programs.append(1) or original(*args, **choices)
    return made


def test_a_note_saves_making_the_program(folder, compilations):
    programs = []
    for _ in range(3):
        assert np.array_equal(fresh(programs)(X, alpha=1.25), EXPECTED)
    assert (len(programs), len(compilations)) == (1, 1)
    assert len(list(folder.iterdir())) == 2


def test_other_formulas_and_types_have_other_notes(folder):
    programs = []
    fresh(programs)(X)
    fresh(programs)(X.astype(np.float64))
    ogive.operator(ogive.elu.function)(X)
    assert len(programs) == 2
    assert len(list(folder.iterdir())) == 6


def test_a_changed_engine_has_other_notes(folder, monkeypatch):
    programs = []
    fresh(programs)(X)
    monkeypatch.setattr(kernels, "_engine", lambda: "another")
    fresh(programs)(X)
    assert len(programs) == 2


@pytest.mark.parametrize("damage", ["note", "kernel", "bytes"])
def test_notes_without_their_kernel_and_damaged_ones(folder, damage):
    programs = []
    fresh(programs)(X)
    note = min(folder.iterdir(), key=lambda path: path.stat().st_size)
    (kernel,) = set(folder.iterdir()) - {note}
    if damage == "bytes":
        note.write_bytes(note.read_bytes()[:-1] + b"?")
    else:
        (note if damage == "note" else kernel).unlink()
    assert np.array_equal(fresh(programs)(X, alpha=1.25), EXPECTED)
    assert len(programs) == 2
