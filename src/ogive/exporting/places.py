"""Where exported code runs: names of targets, and what a triple says of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ogive.backends import compiler
from ogive.backends.target import EXPORT_ONLY, TARGETS, Target, host_target
from ogive.errors import CompileError, ParameterError, message

__all__ = ["NAMES", "Place", "host_triple", "place", "without_library"]

#: All levels of x86-64 in one object, chosen when it runs.
ALL_LEVELS = "x86_64"

#: What may be asked for.
NAMES = ("native", ALL_LEVELS, *TARGETS, *EXPORT_ONLY)

#: The triple of a target where none is given.
_TRIPLES = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
    "riscv64": "riscv64-unknown-linux-gnu",
    "wasm32": "wasm32-unknown-unknown",
}

#: How triples call an architecture.
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True)
class Place:
    """The targets that code is made for, levels of one architecture from the lowest up; and the system."""

    name: str
    targets: tuple[Target, ...]
    triple: str

    @property
    def architecture(self) -> str:
        """The first part of the triple."""
        return self.targets[0].architecture

    @property
    def format(self) -> str:
        """Of the object file: elf, coff, macho or wasm."""
        if self.architecture == "wasm32":
            return "wasm"
        if any(word in self.triple for word in ("windows", "mingw", "cygwin")):
            return "elf" if self.triple.endswith("-elf") else "coff"
        return "macho" if any(word in self.triple for word in ("apple", "darwin", "macos", "ios")) else "elf"


def place(target: str | None, triple: str | None) -> Place:
    """The place of these names. Without a target, the triple says it, and without both this machine."""
    if target is not None and target not in NAMES:
        raise ParameterError(message("ogive.export", f"target is {target!r}", ", ".join(NAMES)))
    if target is None:
        target = "native" if triple is None else _target_of(triple)
    if target == "native":
        targets: tuple[Target, ...] = (host_target(),)
    elif target == ALL_LEVELS:
        targets = tuple(row for row in TARGETS.values() if row.architecture == ALL_LEVELS)
    else:
        targets = ((TARGETS | EXPORT_ONLY)[target],)
    architecture = targets[0].architecture
    if triple is None:
        triple = _TRIPLES[architecture]
        if target == "native":
            triple = host_triple()
    elif _architecture(triple) != architecture:
        what = f"target is {target!r} and triple is {triple!r}"
        raise ParameterError(message("ogive.export", what, f"triples of {architecture}, or a triple alone"))
    return Place(target, tuple(without_library(row, triple) for row in targets), triple)


def host_triple() -> str:
    """The triple of this system, in its own format of object files."""
    return compiler.default_triple()


def _architecture(triple: str) -> str:
    first = triple.partition("-")[0]
    return _ARCHITECTURES.get(first, first)


def _target_of(triple: str) -> str:
    architecture = _architecture(triple)
    names = {row.architecture: row.name for row in (*reversed(TARGETS.values()), *reversed(EXPORT_ONLY.values()))}
    if architecture not in names:
        what = f"triple is {triple!r}"
        raise CompileError(message("ogive.export", what, f"triples of {', '.join(_TRIPLES)}"))
    return names[architecture]


def without_library(target: Target, triple: str) -> Target:
    """The target, for code that calls nothing: the lowest level of x86-64 calls the C library for a fused multiply-add."""
    needs_fused = target.name == "x86-64"
    tables = (*target.tables, "fma in software") if needs_fused else target.tables
    return replace(target, tables=tables, only_triple=triple)
