"""What exported code asks of the processor and sets in it: the level of x86-64, and the floating-point environment.

The level is asked once, and kept in one number of the object's own: the same questions as in runtime/native/cpu.c.

Every call enters the default environment and leaves it: round to nearest even, subnormal numbers kept, nothing trapped, as
in runtime/native/floating_point.h. The caller's rounding mode, flush-to-zero and sticky flags come back as they were.
WebAssembly has no other environment.
"""

from __future__ import annotations

from ogive.backends.function_text import FunctionText

__all__ = ["LEVEL", "LEVEL_NUMBERS", "level_function"]

#: What `level_function` returns, by target.
LEVEL_NUMBERS = {"x86-64": 1, "x86-64-v3": 3, "x86-64-v4": 4}

_FOUR = "{ i32, i32, i32, i32 }"

#: (register, bits) of each leaf, eax to edx counted from 0.
#: SSE3 0, SSSE3 9, FMA 12, SSE4.1 19, SSE4.2 20, MOVBE 22, POPCNT 23, OSXSAVE 27, AVX 28, F16C 29.
_OF_LEAF_1 = sum(1 << bit for bit in (0, 9, 12, 19, 20, 22, 23, 27, 28, 29))
#: BMI1 3, AVX2 5, BMI2 8; of level 4 AVX512 F 16, DQ 17, CD 28, BW 30, VL 31.
_OF_LEAF_7 = sum(1 << bit for bit in (3, 5, 8))
_OF_LEVEL_4 = sum(1 << bit for bit in (16, 17, 28, 30, 31))
#: LZCNT 5 of leaf 0x80000001.
_OF_EXTENDED = 1 << 5
#: What the operating system saves: registers of SSE and AVX; of level 4 the masks and the long registers.
_AVX_STATE, _LONG_STATE = 0x6, 0xE6


#: The function that says it.
LEVEL = "ogive.level"


def level_function() -> list[str]:
    """The texts that define ``i32 @ogive.level()``: 1, 3 or 4."""
    return [f"@{LEVEL}.known = internal global i32 0", "declare i64 @llvm.x86.xgetbv(i32)", _known(), _asked()]


def _known() -> str:
    """Threads that ask at the same time all write the same number."""
    f = FunctionText(f"define internal i32 @{LEVEL}() nounwind")
    known = f.emit(f"load atomic i32, ptr @{LEVEL}.known monotonic, align 4")
    f.leave_if(f.do("icmp ne", known, "0", "i32"), f"i32 {known}")
    found = f.emit(f"call i32 @{LEVEL}.asked()")
    f.line(f"store atomic i32 {found}, ptr @{LEVEL}.known monotonic, align 4")
    f.end(f"ret i32 {found}")
    return f.text


def _asked() -> str:
    f = FunctionText(f'define internal i32 @{LEVEL}.asked() nounwind noinline "target-features"="+xsave"')

    def cpuid(leaf: int, register: int) -> str:
        asked = (
            f'call {_FOUR} asm sideeffect "cpuid", "={{ax}},={{bx}},={{cx}},={{dx}},{{ax}},{{cx}}"(i32 {leaf}, i32 0)'
        )
        return f.emit(f"extractvalue {_FOUR} {f.emit(asked)}, {register}")

    def lacks(found: str, bits: int, kind: str = "i32") -> str:
        both = f.do("and", found, str(bits), kind)
        return f.do("icmp ne", both, str(bits), kind)

    f.leave_if(f.do("icmp ult", cpuid(0, 0), "7", "i32"), "i32 1")
    f.leave_if(lacks(cpuid(1, 2), _OF_LEAF_1), "i32 1")
    seven = cpuid(7, 1)
    f.leave_if(lacks(seven, _OF_LEAF_7), "i32 1")
    f.leave_if(lacks(cpuid(-0x7FFFFFFF, 2), _OF_EXTENDED), "i32 1")
    state = f.emit("call i64 @llvm.x86.xgetbv(i32 0)")
    f.leave_if(lacks(state, _AVX_STATE, "i64"), "i32 1")
    f.leave_if(lacks(seven, _OF_LEVEL_4), "i32 3")
    f.leave_if(lacks(state, _LONG_STATE, "i64"), "i32 3")
    f.end("ret i32 4")
    return f.text


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
