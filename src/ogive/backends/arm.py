"""Operations for which 64-bit Arm has a few instructions, with the same bits as the common rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ogive.backends import instructions as common
from ogive.backends.writer import Row, Writer
from ogive.graph.expression import Expression, Format

#: The lanes of a register, and its types.
LANES, SINGLES, WHOLE, BYTES = 4, "<4 x float>", "<4 x i32>", "<16 x i8>"


def _table(e: Writer, n: Expression, index: str) -> str:
    if e.lanes < LANES:
        return common.ROWS["table"](e, n, index)
    parts = e.taken_apart(Format.I32, index, LANES)
    return e.put_together(Format.F32, [_register_of_bytes(e, n.attribute, part) for part in parts], LANES)


def _register_of_bytes(e: Writer, numbers: Sequence[float], index: str) -> str:
    """The tables are of bytes, 64 at most. In a table of two parts, tbx takes what lies in the second, and keeps what tbl found."""
    place = e.emit(f"and {WHOLE} {index}, splat (i32 {len(numbers) - 1})")
    first = e.emit(f"mul {WHOLE} {place}, splat (i32 {0x04040404})")
    each = e.emit(f"add {WHOLE} {first}, splat (i32 {0x03020100})")
    places = e.emit(f"bitcast {WHOLE} {each} to {BYTES}")
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    registers = [f"{BYTES} <{', '.join(f'i8 {byte}' for byte in data[k : k + 16])}>" for k in range(0, len(data), 16)]
    found = _call(e, f"tbl{min(len(registers), 4)}", *registers[:4], f"{BYTES} {places}")
    if len(registers) > 4:
        places = e.emit(f"sub {BYTES} {places}, splat (i8 64)")
        found = _call(e, "tbx4", f"{BYTES} {found}", *registers[4:], f"{BYTES} {places}")
    return e.emit(f"bitcast {BYTES} {found} to {SINGLES}")


def _call(e: Writer, instruction: str, *operands: str) -> str:
    name = f"llvm.aarch64.neon.{instruction}.v16i8"
    e.declarations[name] = f"declare {BYTES} @{name}({', '.join([BYTES] * len(operands))})"
    return e.emit(f"call {BYTES} @{name}({', '.join(operands)})")


def _reciprocal_estimate(e: Writer, n: Expression, a: str) -> str:
    if e.lanes < LANES:
        return common.ROWS["reciprocal_estimate"](e, n, a)
    parts = e.taken_apart(n.format, a, LANES)
    return e.put_together(n.format, [_reciprocal_register(e, part) for part in parts], LANES)


def _reciprocal_register(e: Writer, a: str) -> str:
    """By frecpe, of 8 bits. As frecps is 2 - a * b, a step of Newton's makes 16 of them."""
    names = "llvm.aarch64.neon.frecpe.v4f32", "llvm.aarch64.neon.frecps.v4f32"
    for name, operands in zip(names, (SINGLES, f"{SINGLES}, {SINGLES}"), strict=True):
        e.declarations[name] = f"declare {SINGLES} @{name}({operands})"
    found = e.emit(f"call {SINGLES} @{names[0]}({SINGLES} {a})")
    step = e.emit(f"call {SINGLES} @{names[1]}({SINGLES} {a}, {SINGLES} {found})")
    return e.emit(f"fmul {SINGLES} {found}, {step}")


NEON: dict[str, Row] = {"table": _table, "reciprocal_estimate": _reciprocal_estimate}
