"""Exported C, compiled: by a compiler that is there, for this machine or for another one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ogive.errors import CompileError, ParameterError, message

#: The forms of compiled code, and the options of a compiler for each.
FORMS = {"object": ("-c",), "assembly": ("-S",), "static": ("-c",), "shared": ("-shared",)}

#: This machine.
HERE = "native"

#: They vectorise the loops, and leave every operation where it stands.
OPTIONS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno")

#: The same for the fewest bytes.
SMALL = ("-std=c11", "-Os", "-ffp-contract=off", "-fno-math-errno")

#: A module of WebAssembly that imports nothing; `__heap_base` is where memory is the caller's.
OF_WEBASSEMBLY = ("-msimd128", "-mexec-model=reactor", "-Wl,--export=__heap_base")

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


def built(
    name: str, files: Mapping[str, bytes], entries: Sequence[str], form: str, triple: str, processor: str | None
) -> dict[str, bytes]:
    """The file of this form, of ``NAME.c`` and ``NAME.h``."""
    architecture, system = _parts(triple)
    ending = {"object": "obj" if system == "windows" else "o", "static": "o", "assembly": "s"}.get(form, "")
    shared = {"windows": f"{name}.dll", "macos": f"lib{name}.dylib", "wasi": f"{name}.wasm"}
    file = f"{name}.{ending}" if ending else shared.get(system, f"lib{name}.so")
    options = [*OPTIONS, *FORMS[form], "-o", file, f"{name}.c"]
    if system not in ("windows", "wasi"):
        options.append("-fPIC")
    if architecture == "wasm32":
        options = [option for option in options if option != "-shared"]
        linked = [*OF_WEBASSEMBLY[1:], *(f"-Wl,--export={entry}" for entry in entries)] if form == "shared" else []
        options += [OF_WEBASSEMBLY[0], *linked]
    elif processor or triple == HERE:
        options.append(f"-march={processor or 'native'}")
    with tempfile.TemporaryDirectory() as folder:
        for each, data in files.items():
            (Path(folder) / each).write_bytes(data)
        command = compiled("ogive.export", compilers("ogive.export", triple), options, Path(folder))
        if form == "static":
            file = _archive(command, name, Path(folder))
        return {file: (Path(folder) / file).read_bytes()}


class Sizes(NamedTuple):
    """The bytes of compiled functions."""

    code: int
    data: int
    """Constants and tables."""
    stack: int
    """At most, of one call."""


def measured(name: str, files: Mapping[str, bytes], triple: str, processor: str | None) -> Sizes | None:
    """The bytes of ``NAME.c``, compiled for the fewest; None where no compiler or no ``size`` is there, or it is not GNU's.

    The stack is that of all functions of the file together, which is more than a chain of calls takes.
    """
    options = [*SMALL, "-c", "-fstack-usage", "-o", "sized.o", f"{name}.c"]
    if processor:
        options.append(f"-march={processor}")
    size = shutil.which("size" if triple == HERE else f"{triple}-size") or shutil.which("size")
    if size is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for each, text in files.items():
            (Path(folder) / each).write_bytes(text)
        try:
            compiled("ogive.export", compilers("ogive.export", triple), options, Path(folder))
        except CompileError:
            return None
        run = subprocess.run([size, "-A", "sized.o"], cwd=folder, capture_output=True, text=True, check=False)
        usage = [path.read_text("utf-8") for path in Path(folder).glob("*.su")]
        sections = re.findall(r"^(\.\S+)\s+(\d+)\s+\d+$", run.stdout, re.MULTILINE)
        if run.returncode or not sections or not usage:
            return None
    code = sum(int(n) for section, n in sections if section.startswith(".text"))
    data = sum(int(n) for section, n in sections if section.startswith((".rodata", ".data", ".bss", ".sdata")))
    return Sizes(code, data, sum(int(line.split("\t")[1]) for each in usage for line in each.splitlines()))


def _parts(triple: str) -> tuple[str, str]:
    """The architecture and the system, in few words; of this machine none that matters."""
    words = triple.lower().split("-")
    architecture = _ARCHITECTURES.get(words[0], words[0])
    for system, names in {"windows": ("windows", "mingw"), "macos": ("macos", "darwin", "apple")}.items():
        if any(name in word for word in words for name in names) or (
            triple == HERE and sys.platform in (system, "win32")
        ):
            return architecture, system
    return architecture, "wasi" if architecture == "wasm32" else "linux"


def compilers(subject: str, triple: str) -> list[list[str]]:
    """The commands that may compile for the system."""
    architecture, system = _parts(triple)
    names = ["cc", "gcc", "clang"] if triple == HERE else [f"{triple}-gcc", f"{triple.replace('-unknown-', '-')}-gcc"]
    if triple != HERE and system in ("linux", "windows"):
        names.append(f"{architecture}-{'linux-gnu' if system == 'linux' else 'w64-mingw32'}-gcc")
    found = [[path] for path in map(shutil.which, dict.fromkeys(names)) if path]
    if find_spec("ziglang") is not None:
        suffix = {"linux": "linux-gnu", "windows": "windows-gnu"}.get(system, system)
        target = [] if triple == HERE else ["-target", f"{architecture}-{suffix}"]
        found.append([sys.executable, "-m", "ziglang", "cc", *target])
    if not found:
        if "-" not in triple and triple != HERE:
            raise ParameterError(message(subject, f"triple is {triple!r}", "native, or a triple: aarch64-linux-gnu"))
        what = f"no C compiler for {'this machine' if triple == HERE else triple} was found"
        missing = "a C compiler" if triple == HERE else names[0]
        raise CompileError(message(subject, what, way_out=f"Install {missing} or the package ziglang"))
    return found


def compiled(subject: str, commands: Sequence[Sequence[str]], options: Sequence[str], folder: Path) -> Sequence[str]:
    """Compile by the first of these commands that can: it is returned."""
    tried = []
    for command in commands:
        run = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return command
        wrong = [line for line in run.stderr.splitlines() if "error" in line] or ["it failed"]
        tried.append(f"{Path(command[0]).name}: {wrong[0]}")
    raise CompileError(message(subject, f"no C compiler compiles it ({'; '.join(tried)})"))


def _archive(command: Sequence[str], name: str, folder: Path) -> str:
    """The object file as a static library, by the archiver that comes with the compiler."""
    prefix = command[0].removesuffix("gcc") if command[0].endswith("-gcc") else ""
    archiver = [*command[:3], "ar"] if "ziglang" in command else [shutil.which(f"{prefix}ar") or "ar"]
    compiled("ogive.export", [archiver], ["rcs", f"lib{name}.a", f"{name}.o"], folder)
    return f"lib{name}.a"
