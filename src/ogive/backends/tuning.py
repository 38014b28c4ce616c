"""What was measured to be fast: one row for each target, and nothing that decides a bit of a result.

The rows were measured on the processor of docs/performance.md (x86-64-v4); `python -m benchmarks` measures again. A
change of a number may make kernels faster or slower, and needs no other test than that.
"""

from __future__ import annotations

from ogive.records import record

__all__ = ["TUNINGS", "Tuning"]


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


SHARED = {
    "registers_at_a_time": 4,
    "long_program": 500,
    "bytes_fetched_ahead": 4096,
    "bytes_from_afar": 1 << 21,
    "streamed_eighths": 9,
    "parallel_cost": 1 << 19,
    "smallest_cost": 12,
}

#: By the target's name. By itself LLVM orders instructions of x86-64-v4 for the first processor that had it.
TUNINGS = {
    "x86-64": Tuning("x86-64", elements_at_a_time=0, **SHARED),
    "x86-64-v3": Tuning("x86-64-v3", elements_at_a_time=0, **SHARED),
    "x86-64-v4": Tuning("znver4", elements_at_a_time=64, **SHARED),
    "aarch64": Tuning("generic", elements_at_a_time=0, **SHARED),
    # Not measured.
    "riscv64": Tuning("generic-rv64", elements_at_a_time=0, **SHARED),
    "wasm32": Tuning("generic", elements_at_a_time=0, **SHARED),
}
