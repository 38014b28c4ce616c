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
from ogive.runtime.kernels import compiled, first_level, make_ufunc
from tests.kernels import forget_kernels

pytestmark = pytest.mark.usefixtures("own_kernels")

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX owners and modes")

SIGNATURE = next(s for s in celu.signatures if s.inputs[0].name == "float32")
PROGRAM = celu.program(SIGNATURE, alpha=1.25)
X = np.linspace(-4, 4, 1000, dtype=np.float32)

#: For these numbers celu(x) = x: the first kernel of every target decides them, so that none asks for its retry.
DECIDED = X[-4:]


@pytest.fixture
def named(tmp_path, monkeypatch):
    """The folder that the variable names."""
    place = tmp_path / "kernels"
    monkeypatch.setenv("OGIVE_CACHE", str(place))
    cache._folder.cache_clear()
    yield place
    cache._folder.cache_clear()


@pytest.fixture
def folder(named):
    """The one in it that the files lie in."""
    return named / cache.FOLDER


def kept(folder):
    """The files but the one that says what they are; none before the first is kept."""
    return [file for file in folder.glob("*") if file.name != "CACHEDIR.TAG"]


@pytest.fixture
def compilations(monkeypatch):
    """How often the compiler ran."""
    calls = []
    original = compiler.object_code
    monkeypatch.setattr(compiler, "object_code", lambda *a: calls.append(1) or original(*a))
    return calls


def computes():
    assert np.array_equal(make_ufunc("celu", PROGRAM)(DECIDED), DECIDED)


def test_a_second_time_nothing_is_compiled(folder, compilations):
    computes()
    computes()
    assert len(compilations) == 1
    assert len(kept(folder)) == 1


def test_the_key_is_the_content(folder):
    compiled(PROGRAM, host_target())
    compiled(celu.program(SIGNATURE, alpha=1.5), host_target())
    assert len(kept(folder)) == 2


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
    (file,) = kept(folder)
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
    (file,) = kept(folder)
    file.chmod(0o666)
    computes()
    assert len(compilations) == 2


@posix
@pytest.mark.parametrize(("mode", "times"), [(0o700, 1), (0o777, 2)])
@pytest.mark.parametrize("link", [".", cache.FOLDER])
def test_of_a_folder_that_is_a_link_the_folder_behind_it_is_checked(named, compilations, tmp_path, mode, times, link):
    (tmp_path / "behind").mkdir()
    (tmp_path / "behind").chmod(mode)
    (named / link).parent.mkdir(exist_ok=True, mode=0o700)
    (named / link).symlink_to(tmp_path / "behind")
    computes()
    computes()
    assert len(compilations) == times


@posix
def test_links_are_not_followed(folder, compilations, tmp_path):
    computes()
    (file,) = kept(folder)
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
    """The compiler is not asked: importing it would take longer than all that follows."""
    for name, value in {"XDG_CACHE_HOME": caches, "HOME": home}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert Path(cache._user_folder()) == Path(platformdirs.user_cache_dir("ogive", appauthor=False))


def test_the_default_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("OGIVE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache._folder.cache_clear()
    place = cache.folder()
    cache._folder.cache_clear()
    if sys.platform.startswith("linux"):
        assert place == tmp_path / "ogive" / cache.FOLDER
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
    assert {int(file.name, 16) for file in kept(folder)} == {0, 5, 6}


def test_the_folder_is_bounded_in_bytes(folder, monkeypatch):
    size = len(cache.MAGIC) + 32 + len(cache.encode(IMAGE))
    monkeypatch.setattr(cache, "MOST_BYTES", 4 * size)
    monkeypatch.setattr(cache, "MOST_FILES", 63)  # few enough to look at every time
    for i in range(5):
        cache.store(f"{i:064x}", IMAGE)
        aged(folder / f"{i:064x}", 10 - i)
        assert sum(file.stat().st_size for file in kept(folder)) <= 4 * size
    assert {int(file.name, 16) for file in kept(folder)} == {3, 4}


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
        assert cache.folder() == tmp_path / "a" / "b" / "kernels" / cache.FOLDER
    finally:
        os.umask(mask)
        cache._folder.cache_clear()
    for place in ("a", "a/b", "a/b/kernels", f"a/b/kernels/{cache.FOLDER}"):
        assert stat.S_IMODE((tmp_path / place).stat().st_mode) == 0o700


# ---- a folder with other things in it


def everything_in(folder):
    """Each path below a folder, without following links: its kind, and what is in it."""
    return {
        str(path.relative_to(folder)): (stat.S_IFMT(path.lstat().st_mode), path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


def fill(folder, tmp_path):
    """Files of the user's, old ones, some of which look like the cache's."""
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").write_bytes(cache.MAGIC)
    for name in (
        "notes.txt",
        ".hidden",
        "sub/thesis.bin",
        f"{5:064x}",
        f"{6:063x}",
        f"{7:064X}".replace("0", "A"),
        "x" * 64,
    ):
        (folder / name).write_bytes(b"precious")
        aged(folder / name, 2000)
    (folder / f"{8:065x}").write_bytes(cache.MAGIC)
    (folder / "kernel").write_bytes(cache.MAGIC)
    (folder / ".ogive-drafts").write_bytes(b"precious")
    (folder / f"{9:064x}").mkdir()
    (folder / f"{10:064x}").symlink_to(tmp_path / "elsewhere")


@posix
@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
@pytest.mark.parametrize("place", [".", cache.FOLDER])
def test_nothing_is_removed_that_is_not_the_caches(named, monkeypatch, tmp_path, place, limit):
    monkeypatch.setattr(cache, limit, 1)
    named.mkdir(mode=0o700)
    fill(named / place, tmp_path)
    (named / place).chmod(0o700)
    before = everything_in(tmp_path)
    for i in range(3):
        cache.store(f"{100 + i:064x}", IMAGE)
        cache.store_note(f"{200 + i:064x}", {"image": ""})
    cache._prune(named / cache.FOLDER)
    after = everything_in(tmp_path)
    assert {path: after.get(path) for path in before} == before
    assert len([path for path in after.keys() - before.keys() if cache._is_name(Path(path).name)]) <= 1


def test_the_files_of_a_users_folder_are_still_there_after_a_call(named, tmp_path):
    """One file beyond the limit was enough: the first call of a process removed it, being the oldest."""
    named.mkdir(mode=0o700)
    (named / "notes.txt").write_text("precious")
    with (named / "thesis.bin").open("wb") as file:
        file.truncate(300 << 20)
    for file in named.iterdir():
        aged(file, 2000)
    computes()
    assert {file.name for file in named.iterdir()} == {"notes.txt", "thesis.bin", cache.FOLDER}
    assert (named / cache.FOLDER / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_draft_that_was_left_goes_after_a_day(folder):
    assert cache.folder() == folder
    for name, days in ((f"{cache._DRAFT}old", 2), (f"{cache._DRAFT}new", 0)):
        (folder / name).write_bytes(b"half a kernel")
        aged(folder / name, days)
    cache._prune(folder)
    assert {file.name for file in kept(folder)} == {f"{cache._DRAFT}new"}


@posix
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only the administrator makes links of others")
@pytest.mark.parametrize("link", [".", cache.FOLDER])
def test_a_link_of_another_user_is_not_followed(named, compilations, tmp_path, link):
    """It would lead to a folder of this user's, whose files would be read, and removed."""
    (tmp_path / "behind").mkdir(mode=0o700)
    (named / link).parent.mkdir(exist_ok=True, mode=0o700)
    (named / link).symlink_to(tmp_path / "behind")
    os.lchown(named / link, 65534, 65534)
    computes()
    computes()
    assert len(compilations) == 2
    assert not list((tmp_path / "behind").iterdir())


@posix
@pytest.mark.parametrize(("owner", "user", "is_private"), [(7, 7, True), (0, 7, True), (7, 8, False), (8, 7, False)])
def test_the_effective_user_counts(monkeypatch, owner, user, is_private):
    """As in a program that an administrator has start and then become another user."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getuid", lambda: owner)
    status = os.stat_result((stat.S_IFREG | 0o600, 1, 1, 1, owner, owner, 1, 0, 0, 0))
    assert cache._is_private(status) is is_private


# ---- odd files under a kernel's name


@posix
def test_a_pipe_under_a_kernels_name_does_not_block(folder, compilations):
    computes()
    (file,) = kept(folder)
    file.unlink()
    os.mkfifo(file)
    computes()
    assert len(compilations) == 2
    assert file.is_file()


def test_a_folder_under_a_kernels_name(folder, compilations):
    computes()
    (file,) = kept(folder)
    file.unlink()
    file.mkdir()
    computes()
    assert len(compilations) == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files with holes")
def test_a_huge_file_is_not_read(folder, compilations, monkeypatch):
    computes()
    (file,) = kept(folder)
    with file.open("r+b") as opened:
        opened.truncate(60 << 30)
    import tracemalloc

    tracemalloc.start()
    assert cache._read(file.name, cache.MAGIC) is None
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    computes()
    assert len(compilations) == 2
    assert file.stat().st_size < 1 << 20


def test_reading_takes_the_memory_of_the_file_alone(folder):
    """Python takes memory for as much as a read asks for, before anything is read."""
    import tracemalloc

    computes()
    (file,) = kept(folder)
    tracemalloc.start()
    assert cache._read(file.name, cache.MAGIC) is not None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * file.stat().st_size + (1 << 18)


# ---- what the variable says


def test_a_relative_folder_is_that_of_the_first_use(tmp_path, monkeypatch, compilations):
    monkeypatch.setenv("OGIVE_CACHE", "kern")
    monkeypatch.chdir(tmp_path)
    cache._folder.cache_clear()
    computes()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    computes()
    assert len(compilations) == 1
    assert cache.folder() == tmp_path / "kern" / cache.FOLDER
    assert not list((tmp_path / "other").iterdir())
    cache._folder.cache_clear()


def test_the_users_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("OGIVE_CACHE", " ~/x\t")
    cache._folder.cache_clear()
    assert cache.folder() == tmp_path / "x" / cache.FOLDER
    cache._folder.cache_clear()


@pytest.mark.parametrize("setting", ["~nobody-of-this-name/x", "OFF ", "\toff", "Off"])
def test_no_folder(tmp_path, monkeypatch, setting):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OGIVE_CACHE", setting)
    cache._folder.cache_clear()
    assert cache.folder() is None
    cache._folder.cache_clear()
    assert not list(tmp_path.iterdir())


def test_blanks_are_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("OGIVE_CACHE", "  ")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    cache._folder.cache_clear()
    assert cache.folder() == Path(cache._user_folder(), cache.FOLDER)
    cache._folder.cache_clear()


# ---- a file belongs to its name


def test_files_that_changed_places_are_compiled_anew(folder, compilations):
    programs = {name: getattr(ogive, name).program(SIGNATURE) for name in ("exp", "tanh")}
    expected = {name: getattr(ogive, name)(X) for name in programs}
    for file in kept(folder):
        file.unlink()
    for name, program in programs.items():
        make_ufunc(name, program)(X)
    retries = sum(len(first_level(program, host_target()).later) > 1 for program in programs.values())
    files = kept(folder)
    assert len(files) == 2 + retries
    contents = [file.read_bytes() for file in files]
    for file, data in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(data)
    compilations.clear()
    for name, program in programs.items():
        assert np.array_equal(make_ufunc(name, program)(X), expected[name])
    assert len(compilations) == len(files)
    assert [file.read_bytes() for file in files] == contents


def test_notes_that_changed_places_are_made_anew(folder):
    cache.store_note("a", {"image": "1"})
    cache.store_note("b", {"image": "2"})
    (folder / "a").rename(folder / "b")
    assert cache.load_note("b") is None
    assert cache.load_note("a") is None


@pytest.mark.parametrize("module", [compiler, link])
def test_a_changed_linker_has_other_files(folder, compilations, monkeypatch, tmp_path, module):
    """The code that it makes follows from LLVM's text and from the linker itself."""
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
    assert completed.stdout.startswith("llvmlite: this install has no compiled kernels"), completed.stderr


# ---- notes: what saves making a program to find its kernel


def fresh(programs):
    """An operator like celu, whose kernels are forgotten; ``programs`` counts how often its program is made."""

    class Counted(computation.Formula):
        @property
        def program(self):
            programs.append(1)
            return super().program

    forget_kernels()
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
        assert np.array_equal(fresh(programs)(DECIDED, alpha=1.25), DECIDED)
    assert (len(programs), len(compilations)) == (1, 1)
    assert len(kept(folder)) == 2


def test_other_formulas_and_types_have_other_notes(folder):
    programs = []
    fresh(programs)(DECIDED)
    fresh(programs)(DECIDED.astype(np.float64))
    ogive.operator(ogive.relu.function)(DECIDED)
    assert len(programs) == 2
    assert len(kept(folder)) == 6


def test_a_changed_engine_has_other_notes(folder, monkeypatch):
    programs = []
    fresh(programs)(X)
    made = len(programs)
    monkeypatch.setattr(kernels, "engine_state", lambda: "another")
    fresh(programs)(X)
    assert len(programs) == 2 * made > 0


@pytest.mark.matrix(share=16, pool="slow")
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
    "part",
    [
        "lowering/numerics/elementary/exponential/exp.py",
        "lowering/numerics/double_word.py",
        "backends/llvm.py",
        "new/part.py",
    ],
)
def test_a_changed_file_of_any_part_is_another_engine(monkeypatch, tmp_path, part):
    for name in (
        "runtime/kernels.py",
        "lowering/numerics/elementary/exponential/exp.py",
        "lowering/numerics/double_word.py",
        "backends/llvm.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(engine_files, "__file__", str(tmp_path / "runtime" / "engine_files.py"))
    before = kernels.engine_state.__wrapped__()
    assert kernels.engine_state.__wrapped__() == before
    (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / part).write_text("changed")
    assert kernels.engine_state.__wrapped__() != before


@pytest.mark.parametrize("damage", ["note", "kernel", "bytes"])
def test_notes_without_their_kernel_and_damaged_ones(folder, damage):
    """Those of a retry too, where the target computes in pairs first."""
    programs = []
    fresh(programs)(X)
    made = len(programs)
    files = kept(folder)
    notes = [file for file in files if file.read_bytes().startswith(cache.NOTE_MAGIC)]
    assert len(notes) == made == len(files) / 2
    for file in set(files) - set(notes) if damage == "kernel" else notes:
        if damage == "bytes":
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        else:
            file.unlink()
    assert np.array_equal(fresh(programs)(X), np.where(X > 0, X, np.expm1(np.float64(X))).astype(np.float32))
    assert len(programs) == 2 * made > 0


@pytest.mark.parametrize("is_renamed", [False, True])
def test_an_interrupt_beside_the_renaming_is_not_lost(folder, monkeypatch, is_renamed):
    """Ctrl-C while a draft gets its name: behind it there is no draft to remove."""
    image, name, rename = Image(bytes(range(64)), (0,), ()), cache.key("interrupted"), os.replace

    def interrupted(*paths):
        if is_renamed:
            rename(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.store(name, image)
    assert cache.load(name) == (image if is_renamed else None)
    assert [file.name for file in kept(folder)] == [name] * is_renamed
