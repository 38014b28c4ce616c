"""The floating-point environment of exported code: entered and left by every call.

Round to nearest even, subnormal numbers kept, nothing trapped: as in runtime/native/floating_point.h. The caller's
rounding mode, flush-to-zero and sticky flags come back as they were. WebAssembly has no other environment.
"""

from __future__ import annotations

from ogive.backends.function_text import FunctionText

__all__ = ["declarations", "enter", "leave"]

#: What reads and sets a control register: (reads, sets, what to set).
_REGISTERS = {
    "aarch64": [
        ("llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr", True),
        ("llvm.aarch64.get.fpsr", "llvm.aarch64.set.fpsr", False),
    ],
    "riscv64": [("llvm.get.fpenv.i64", "llvm.set.fpenv.i64", True)],
}

#: MXCSR: all exceptions masked, no flag raised, nearest even, neither flush-to-zero nor denormals-are-zero.
MXCSR = 0x1F80


def declarations(architecture: str) -> list[str]:
    """The intrinsics that `enter` and `leave` call."""
    if architecture == "x86_64":
        return ["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"]
    registers = _REGISTERS.get(architecture, [])
    return [text for get, put, _ in registers for text in (f"declare i64 @{get}()", f"declare void @{put}(i64)")]


def enter(f: FunctionText, architecture: str) -> list[str]:
    """Set the default environment; what `leave` needs."""
    if architecture == "x86_64":
        saved, default = f.emit("alloca i32, align 4"), f.emit("alloca i32, align 4")
        f.line(f"call void @llvm.x86.sse.stmxcsr(ptr {saved})")
        f.store("i32", str(MXCSR), default, 4)
        f.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {default})")
        return [saved]
    found = []
    for get, put, is_set in _REGISTERS.get(architecture, []):
        found.append(f.emit(f"call i64 @{get}()"))
        if is_set:
            f.line(f"call void @{put}(i64 0)")
    return found


def leave(f: FunctionText, architecture: str, saved: list[str]) -> None:
    """Set the caller's environment again."""
    if architecture == "x86_64":
        f.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {saved[0]})")
        return
    for (_, put, _), value in zip(_REGISTERS.get(architecture, []), saved, strict=True):
        f.line(f"call void @{put}(i64 {value})")
