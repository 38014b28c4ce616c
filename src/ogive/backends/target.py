"""The targets that code is generated for: one row per level of an instruction set.

Code depends on the level alone, not on the model of the processor, so what a cache holds is good for every
machine of that level, and what one machine computes can be tested on another.

A target's `Tuning` is what was measured to be fast on it, and decides no bit of a result. The rows were measured on the
processor of docs/tables/performance.md (x86-64-v4), or on the one that stands beside them; `python -m benchmarks` measures again. A
change of a number may make kernels faster or slower, and needs no other test than that.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

from ogive import _native
from ogive.common.records import record
from ogive.errors import CompileError, message


@record()
class Tuning:
    """The thresholds of one target."""

    scheduled_for: str
    """The processor whose latencies LLVM orders instructions for."""
    registers_at_a_time: int
    """Unrolling: how many blocks of 64 bytes the main loop takes at a time. The instructions of one block wait for each
    other; those of several fill the gaps."""
    elements_at_a_time: int
    """The same in elements, if that is more. 32 registers hold 64 numbers of float64."""
    long_program: int
    """Programs of more instructions take half as many: they compile faster, and are short of registers anyway."""
    long_program_of_doubles: int
    """The length of such a program where results are float64."""
    bytes_fetched_ahead: int
    """Software prefetch: how far ahead of their use inputs are prefetched."""
    bytes_from_afar: int
    """From how many bytes of all operands on they are. Fewer are in a cache already."""
    streamed_eighths: int
    """From how many bytes of all operands on results are written past the caches, in eighths of the last cache."""
    parallel_cost: int
    """From which cost of all elements (cost.py) on a second thread pays: several times what waking it takes."""
    smallest_cost: int
    """The least cost of an element: short programs wait for memory."""
    cost_of_pairs: int
    """Up to which hundredths of float64's cost a program in pairs of float32 pays."""
    longest_table: int
    """How many numbers of float32 a table has that one instruction looks into; programs with shorter tables go before others."""
    dearer: tuple[tuple[str, float], ...]
    """By how much operations cost more here than cost.py says: the names of kinds of operations there. Registers of a longer table are
    looked into one by one."""
    blocks_begun_ahead: int
    """Software pipelining (loops.py): how many blocks a turn takes that the turn before has begun, of programs with tables, which
    leave registers for so many. Stores are under a mask then. tanh, gelu and softplus take 8 % less time. 0: nothing is begun."""


SHARED = {
    "registers_at_a_time": 4,
    "long_program": 500,
    "long_program_of_doubles": 80,
    "bytes_fetched_ahead": 4096,
    "bytes_from_afar": 1 << 21,
    "streamed_eighths": 9,
    "parallel_cost": 1 << 19,
    "smallest_cost": 12,
    "cost_of_pairs": 100,
    "longest_table": 8,
    "blocks_begun_ahead": 0,
}

#: Fitted to the times of 39 operators in pairs and in float64, on a processor that has no AVX-512 (AMD EPYC, Zen 3). Powers of two take
#: one instruction with AVX-512 and a dozen here.
DEARER_WITH_AVX2 = (
    ("longer table", 9.5),
    ("short table", 2.7),
    ("scale_by_power_of_two", 18.0),
    ("select of float64", 3.0),
)

LONGER_TABLES = (("longer table", 6.0),)

#: By the target's name. By itself LLVM orders instructions of x86-64-v4 for the first processor that had it.
TUNINGS = {
    "x86-64": Tuning("x86-64", elements_at_a_time=0, dearer=LONGER_TABLES, **SHARED),
    "x86-64-v3": Tuning("x86-64-v3", elements_at_a_time=0, dearer=DEARER_WITH_AVX2, **{**SHARED, "cost_of_pairs": 95}),
    "x86-64-v4": Tuning(
        "znver4", elements_at_a_time=64, dearer=(), **{**SHARED, "longest_table": 32, "blocks_begun_ahead": 2}
    ),
    "aarch64": Tuning("generic", elements_at_a_time=0, dearer=LONGER_TABLES, **SHARED),
}


@record()
class Target:
    """A level of an instruction set, from the lowest up within an architecture."""

    name: str
    architecture: str
    processor: str
    features: str
    vector_bytes: int
    tables: tuple[str, ...] = ()
    """The tables of instructions over the common one (llvm.py): later ones go before earlier ones."""
    only_triple: str = ""
    """The triple of code for elsewhere; without it, code is for this system."""
    level: int = 1
    """The level of x86-64 that a processor must have (`_native.x86_level`)."""

    @property
    def tuning(self) -> Tuning:
        """The choices that were measured to be fast on it."""
        return TUNINGS[self.name]

    @property
    def has_tables(self) -> bool:
        """Whether it has tables in registers, and fused multiplications: programs in pairs of float32 are made for such targets."""
        return not {"avx2", "neon"}.isdisjoint(self.tables)

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
        Target("x86-64", "x86_64", "x86-64", "", 16, ("fma in software", "half in software", "rounding in software")),
        Target("x86-64-v3", "x86_64", "x86-64-v3", "", 32, ("avx2",), level=3),
        Target("x86-64-v4", "x86_64", "x86-64-v4", "", 64, ("avx2", "avx512"), level=4),
        # Register x18 belongs to the system on macOS and Windows.
        Target("aarch64", "aarch64", "generic", "+reserve-x18", 16, ("neon",)),
    )
}


def runnable_targets() -> dict[str, Target]:
    """The targets whose code this machine runs, from the lowest level up."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        level = _native.x86_level()
        return {row.name: row for row in TARGETS.values() if row.architecture == "x86_64" and row.level <= level}
    if machine in ("aarch64", "arm64"):
        return {row.name: row for row in TARGETS.values() if row.architecture == "aarch64"}
    raise CompileError(message("ogive", f"the processor is {machine}", "x86-64 and 64-bit Arm"))


@cache
def host_target() -> Target:
    """The highest level that this machine runs; OGIVE_TARGET names a lower one."""
    here = runnable_targets()
    wanted = os.environ.get("OGIVE_TARGET", "").strip()
    if wanted in ("", "native"):
        return list(here.values())[-1]
    if wanted not in here:
        what = f"it is {wanted!r}, whose code this machine does not run" if wanted in TARGETS else f"it is {wanted!r}"
        raise CompileError(message("OGIVE_TARGET", what, ", ".join(("native", *here))))
    return here[wanted]
