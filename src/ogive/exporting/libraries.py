"""Static and shared libraries of one object file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ogive.errors import CompileError, message
from ogive.exporting.places import Place, host_triple
from ogive.exporting.webassembly import linked

__all__ = ["shared", "static"]


def static(name: str, code: bytes, entries: Sequence[str], where: Place) -> dict[str, bytes]:
    """An archive with an index of its names, as `ar` writes it."""
    prefix = "_" if where.format == "macho" else ""
    member = f"{name}.o"
    make = _bsd if where.format == "macho" else _gnu
    file = f"{name}.lib" if where.format == "coff" and "msvc" in where.triple else f"lib{name}.a"
    return {file: make(member, code, [prefix + entry for entry in entries])}


_MAGIC = b"!<arch>\n"


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)


def _gnu(member: str, code: bytes, entries: Sequence[str]) -> bytes:
    """System V's: an index with the place of the member, a table of long names, the member."""
    names = b"".join(entry.encode() + b"\0" for entry in entries)
    long_names = _member("//", f"{member}/\n".encode())
    size = 4 + 4 * len(entries) + len(names)
    at = len(_MAGIC) + 60 + size + size % 2 + len(long_names)
    index = len(entries).to_bytes(4, "big") + at.to_bytes(4, "big") * len(entries) + names
    return _MAGIC + _member("/", index) + long_names + _member("/0", code)


def _bsd(member: str, code: bytes, entries: Sequence[str]) -> bytes:
    """Apple's: the same, with names in front of the members' data."""
    names, offsets = b"", []
    for entry in entries:
        offsets.append(len(names))
        names += entry.encode() + b"\0"
    names += b"\0" * (-len(names) % 8)

    def named(name: str, data: bytes) -> bytes:
        text = name.encode() + b"\0" * (8 - len(name) % 8)
        return _member(f"#1/{len(text)}", text + data)

    def index(at: int) -> bytes:
        pairs = b"".join(o.to_bytes(4, "little") + at.to_bytes(4, "little") for o in offsets)
        return len(pairs).to_bytes(4, "little") + pairs + len(names).to_bytes(4, "little") + names

    at = len(_MAGIC) + len(named("__.SYMDEF", index(0)))
    return _MAGIC + named("__.SYMDEF", index(at)) + named(member, code + b"\0" * (-len(code) % 8))


def shared(name: str, code: bytes, entries: Sequence[str], where: Place) -> dict[str, bytes]:
    """A library that is loaded when a program runs. WebAssembly's is linked here; others need a linker."""
    if where.format == "wasm":
        return {f"{name}.wasm": linked(code, entries)}
    file = {"coff": f"{name}.dll", "macho": f"lib{name}.dylib"}.get(where.format, f"lib{name}.so")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "code.o").write_bytes(code)
        tried = []
        for command in _linkers(where, entries):
            run = subprocess.run(
                [*command, "-o", file, "code.o"], cwd=folder, capture_output=True, text=True, check=False
            )
            if run.returncode == 0:
                return {file: (Path(folder) / file).read_bytes()}
            tried.append(f"{command[0]}: {run.stderr.strip().splitlines()[-1] if run.stderr.strip() else 'failed'}")
    what = f"no linker makes a shared library for {where.triple}" + (f" ({'; '.join(tried)})" if tried else "")
    way_out = "Install a C compiler for it, or ziglang from PyPI; or take form='static'"
    raise CompileError(message("ogive.export", what, way_out=way_out))


def _linkers(where: Place, entries: Sequence[str]) -> list[list[str]]:
    """Compilers that may link for the place, without their C library."""
    plain = ["-shared", "-nostdlib"]
    found = []
    if where.format == "elf":
        names = (f"{where.triple.replace('-unknown-', '-')}-gcc", "cc") if _is_here(where) else ()
        names = (*names, f"{where.architecture}-linux-gnu-gcc")
        found += [[path, *plain] for path in map(shutil.which, dict.fromkeys(names)) if path]
        found += [[path, "-shared"] for path in [shutil.which("ld.lld")] if path]
    elif where.format == "macho" and _is_here(where):
        found += [[path, "-dynamiclib"] for path in [shutil.which("cc")] if path]
    if find_spec("ziglang") is not None:
        exported = [f"-Wl,--export={entry}" for entry in entries] if where.format == "coff" else []
        found.append([sys.executable, "-m", "ziglang", "cc", "-target", _zig(where), *plain, *exported])
    return found


def _is_here(where: Place) -> bool:
    here = host_triple()
    return here.partition("-")[0] == where.triple.partition("-")[0] and ("linux" in here) == ("linux" in where.triple)


def _zig(where: Place) -> str:
    system = {"coff": "windows-gnu", "macho": "macos"}.get(where.format, "linux-gnu")
    return f"{where.architecture}-{system}"
