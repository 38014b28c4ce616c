"""What code is generated for: one row per level of an instruction set.

Code depends on the level alone, not on the model of the processor, so what a cache holds is good for every
machine of that level, and what one machine computes can be tested on another.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

from ogive import _native
from ogive.backends.tuning import TUNINGS, Tuning
from ogive.errors import CompileError, message
from ogive.records import record

__all__ = ["ELSEWHERE", "TARGETS", "Target", "host_target"]


@record()
class Target:
    """A level of an instruction set, from the lowest up within an architecture."""

    name: str
    architecture: str
    processor: str
    features: str
    vector_bytes: int
    tables: tuple[str, ...] = ()
    """The tables of instructions over the common one (renderers.py): later ones go before earlier ones."""
    pointer_bytes: int = 8
    abi: str = ""
    """The calling convention, where the triple leaves it open."""
    only_triple: str = ""
    """Of code for elsewhere; without it, code is for this system."""

    @property
    def tuning(self) -> Tuning:
        """What was measured to be fast on it."""
        return TUNINGS[self.name]

    @property
    def triple(self) -> str:
        """The calling convention of this system, in ELF whatever the system: the linker reads one format."""
        return self.only_triple or (
            f"{self.architecture}-pc-windows-msvc-elf"
            if sys.platform == "win32"
            else f"{self.architecture}-unknown-linux-gnu"
        )


TARGETS = {
    row.name: row
    for row in (
        #      name         architecture processor    features    bytes  tables
        Target("x86-64", "x86_64", "x86-64", "", 16, ("half in software", "rounding in software")),
        Target("x86-64-v3", "x86_64", "x86-64-v3", "", 32),
        Target("x86-64-v4", "x86_64", "x86-64-v4", "", 64, ("avx512",)),
        # Register x18 belongs to the system on macOS and Windows.
        Target("aarch64", "aarch64", "generic", "+reserve-x18", 16),
    )
}

#: Targets of exported code (exporting/) alone, which no process of this package runs itself.
ELSEWHERE = {
    row.name: row
    for row in (
        Target("riscv64", "riscv64", "generic-rv64", "+m,+a,+f,+d,+c", 16,
            ("half in software", "rounding in software"), abi="lp64d", only_triple="riscv64-unknown-linux-gnu"),
        Target("wasm32", "wasm32", "generic", "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals", 16,
            ("half in software", "fma in software"), pointer_bytes=4, only_triple="wasm32-unknown-unknown"),
    )
}  # fmt: skip


@cache
def host_target() -> Target:
    """The highest level that this machine runs; OGIVE_TARGET names another one."""
    wanted = os.environ.get("OGIVE_TARGET")
    if wanted and wanted != "native":
        if wanted not in TARGETS:
            raise CompileError(message("OGIVE_TARGET", f"it is {wanted!r}", f"native, {', '.join(TARGETS)}"))
        return TARGETS[wanted]
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return TARGETS[{4: "x86-64-v4", 3: "x86-64-v3"}.get(_native.x86_level(), "x86-64")]
    if machine in ("aarch64", "arm64"):
        return TARGETS["aarch64"]
    raise CompileError(message("ogive", f"the processor is {machine}", "x86-64 and 64-bit Arm"))
