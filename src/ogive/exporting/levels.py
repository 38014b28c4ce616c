"""Which level of x86-64 the processor has: asked once, and kept in one number of the object's own.

The same questions as in runtime/native/cpu.c.
"""

from __future__ import annotations

from ogive.backends.function_text import FunctionText

__all__ = ["NAME", "NUMBERS", "function"]

#: What `function` returns, by target.
NUMBERS = {"x86-64": 1, "x86-64-v3": 3, "x86-64-v4": 4}

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
NAME = "ogive.level"


def function() -> list[str]:
    """The texts that define ``i32 @ogive.level()``: 1, 3 or 4."""
    return [f"@{NAME}.known = internal global i32 0", "declare i64 @llvm.x86.xgetbv(i32)", _known(), _asked()]


def _known() -> str:
    """Threads that ask at the same time all write the same number."""
    f = FunctionText(f"define internal i32 @{NAME}() nounwind")
    known = f.emit(f"load atomic i32, ptr @{NAME}.known monotonic, align 4")
    f.leave_if(f.do("icmp ne", known, "0", "i32"), f"i32 {known}")
    found = f.emit(f"call i32 @{NAME}.asked()")
    f.line(f"store atomic i32 {found}, ptr @{NAME}.known monotonic, align 4")
    f.end(f"ret i32 {found}")
    return f.text


def _asked() -> str:
    f = FunctionText(f'define internal i32 @{NAME}.asked() nounwind noinline "target-features"="+xsave"')

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
