import dataclasses
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import platformdirs
import pytest

import ogive
from ogive import celu
from ogive.backends import compiler, link
from ogive.backends.link import Image
from ogive.backends.target import host_target
from ogive.engine import computation
from ogive.errors import CompileError, MissingPackageError
from ogive.runtime import cache, engine_files, kernels
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
    assert cache.decode(cache.encode(image)) == image


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
@pytest.mark.parametrize(("mode", "times"), [(0o700, 1), (0o777, 2)])
def test_of_a_folder_that_is_a_link_the_folder_behind_it_is_checked(folder, compilations, tmp_path, mode, times):
    (tmp_path / "behind").mkdir()
    (tmp_path / "behind").chmod(mode)
    folder.symlink_to(tmp_path / "behind")
    computes()
    computes()
    assert len(compilations) == times


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
    """Which is not asked: importing it would take longer than all that follows."""
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


IMAGE = Image(b"\x90" * 16, (0,))


def aged(file, days):
    """As if it was used so many days ago for the last time."""
    then = time.time() - days * 24 * 3600
    os.utime(file, (then, then))


def test_files_that_were_not_used_for_long_are_removed(folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST_FILES", 6)
    for i in range(6):
        cache.store(f"{i:064x}", IMAGE)
        aged(folder / f"{i:064x}", 10 - i)
    assert cache.load(f"{0:064x}") == IMAGE  # the one that was written first
    cache.store(f"{6:064x}", IMAGE)
    assert {int(file.name, 16) for file in folder.iterdir()} == {0, 5, 6}


def test_the_folder_is_bounded_in_bytes(folder, monkeypatch):
    size = len(cache.MAGIC) + 32 + len(cache.encode(IMAGE))
    monkeypatch.setattr(cache, "MOST_BYTES", 4 * size)
    monkeypatch.setattr(cache, "MOST_FILES", 63)  # few enough to look at every time
    for i in range(5):
        cache.store(f"{i:064x}", IMAGE)
        aged(folder / f"{i:064x}", 10 - i)
        assert sum(file.stat().st_size for file in folder.iterdir()) <= 4 * size
    assert {int(file.name, 16) for file in folder.iterdir()} == {3, 4}


def test_reading_writes_to_the_file_system_once_a_day(folder, monkeypatch):
    cache.store("f", IMAGE)
    touched = []
    monkeypatch.setattr(cache, "_touch", lambda *place: touched.append(place))
    assert cache.load("f") == IMAGE
    assert not touched
    aged(folder / "f", 2)
    assert cache.load("f") == IMAGE
    assert len(touched) == 1


@posix
def test_the_parents_of_the_folder_are_private_whatever_the_mask(tmp_path, monkeypatch):
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "a" / "b" / "kernels"))
    cache._folder.cache_clear()
    mask = os.umask(0)
    try:
        assert cache.folder() == tmp_path / "a" / "b" / "kernels"
    finally:
        os.umask(mask)
        cache._folder.cache_clear()
    for place in ("a", "a/b", "a/b/kernels"):
        assert stat.S_IMODE((tmp_path / place).stat().st_mode) == 0o700


# ---- a file belongs to its name


def test_files_that_changed_places_are_compiled_anew(folder, compilations):
    programs = {name: getattr(ogive, name).program(SIGNATURE) for name in ("exp", "tanh")}
    expected = {name: getattr(ogive, name)(X) for name in programs}
    for file in folder.glob("*"):
        file.unlink()
    for name, program in programs.items():
        make_ufunc(name, program)(X[:4])
    first, second = folder.iterdir()
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    compilations.clear()
    for name, program in programs.items():
        assert np.array_equal(make_ufunc(name, program)(X), expected[name])
    assert len(compilations) == 2
    assert (first.read_bytes(), second.read_bytes()) == contents


def test_notes_that_changed_places_are_made_anew(folder):
    cache.store_note("a", {"image": "1"})
    cache.store_note("b", {"image": "2"})
    (folder / "a").rename(folder / "b")
    assert cache.load_note("b") is None
    assert cache.load_note("a") is None


@pytest.mark.parametrize("module", [compiler, link])
def test_a_changed_linker_has_other_files(folder, compilations, monkeypatch, tmp_path, module):
    """What it makes follows from LLVM's text and from the linker itself."""
    computes()
    changed = tmp_path / "changed.py"
    changed.write_text(Path(module.__file__).read_text() + "# changed\n")
    monkeypatch.setattr(module, "__file__", str(changed))
    kernels._back_end.cache_clear()
    try:
        computes()
    finally:
        kernels._back_end.cache_clear()
    assert len(compilations) == 2


# ---- llvmlite


@pytest.mark.parametrize("error", [ImportError("No module named 'llvmlite'"), OSError("cannot allocate memory")])
@pytest.mark.parametrize("stage", ["llvmlite", "llvmlite.binding"])
def test_a_compiler_that_cannot_be_loaded(monkeypatch, error, stage):
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == stage:
                raise error

    for name in [name for name in sys.modules if name == stage or name.startswith(stage + ".")]:
        monkeypatch.delitem(sys.modules, name)
    if stage != "llvmlite":
        monkeypatch.delattr(sys.modules["llvmlite"], "binding", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    compiler._llvm.cache_clear()
    ask = compiler.version if stage == "llvmlite" else (lambda: compiler.object_code("", host_target()))
    expected = (
        (
            MissingPackageError,
            r"^llvmlite: kernels that did not come with Ogive .* Install it: pip install 'ogive\[compile\]'$",
        )
        if isinstance(error, ImportError)
        else (
            CompileError,
            r"^llvmlite: the compiler of kernels cannot be loaded: cannot allocate memory\. Install it again",
        )
    )
    with pytest.raises(expected[0], match=expected[1]):
        ask()
    monkeypatch.undo()
    compiler._llvm.cache_clear()


def test_a_warm_cache_without_llvmlite_says_what_is_missing(folder):
    """Its version is part of a kernel's name."""
    code = """
import sys
sys.modules["llvmlite"] = None
import numpy as np, ogive
try:
    ogive.celu(np.ones(3, "f4"))
except ogive.errors.MissingPackageError as error:
    print(error)
"""
    celu.bind(alpha=1.0)(X)
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert completed.stdout.startswith("llvmlite: kernels that did not come with Ogive"), completed.stderr


# ---- notes: what saves making a program to find its kernel


def fresh(programs):
    """An operator like celu, whose kernels are forgotten; ``programs`` counts how often its program is made."""

    class Counted(computation.Formula):
        @property
        def program(self):
            programs.append(1)
            return super().program

    computation._kernels.clear()
    made = ogive.operator(celu.function)
    original = made.computation

    def counted(*args, **choices):
        formula = original(*args, **choices)
        return Counted(**{field.name: getattr(formula, field.name) for field in dataclasses.fields(formula)})

    made.computation = counted
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


def test_the_engine_is_every_module_that_is_loaded_to_compile():
    """A module that is not in the list would leave the developer who changes it with the kernels of before."""
    code = """
import sys
import numpy as np, ogive
from ogive.runtime import kernels
for operator in (ogive.gelu, ogive.softmax, ogive.pow, ogive.sin, ogive.prelu):
    for dtype in ("f4", "f2", "f8", "i4"):
        try:
            operator(*[np.ones(3, dtype)] * operator.inputs)
        except TypeError:
            assert dtype == "i4"
listed = set(kernels.engine_files().values())
loaded = {m.__file__ for name, m in sys.modules.items() if name.startswith("ogive.") and m.__file__.endswith(".py")}
missing = {path for path in loaded - listed if "/catalog/" not in path.replace(chr(92), "/")}
print(len(loaded & listed) > 50, sorted(missing))
"""
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"OGIVE_CACHE": "off"},
        check=False,
    )
    assert (completed.stdout, completed.stderr) == ("True []\n", "")


@pytest.mark.parametrize(
    "part", ["numerics/elementary/exponential.py", "numerics/double_word.py", "backends/llvm.py", "new/part.py"]
)
def test_a_changed_file_of_any_part_is_another_engine(monkeypatch, tmp_path, part):
    for name in (
        "runtime/kernels.py",
        "numerics/elementary/exponential.py",
        "numerics/double_word.py",
        "backends/llvm.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(engine_files, "__file__", str(tmp_path / "runtime" / "engine_files.py"))
    before = kernels._engine.__wrapped__()
    assert kernels._engine.__wrapped__() == before
    (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / part).write_text("changed")
    assert kernels._engine.__wrapped__() != before


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
