"""Operations for which AVX2 and AVX-512 have one instruction, or a few, with the same bits as the common rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from ogive.backends import instructions as common
from ogive.backends.writer import TYPES, Row, Writer
from ogive.graph.expression import Expression, Format

#: The bits of the longest registers, and the rounding modes that their instructions name: the environment's, and towards
#: zero without a flag.
LONGEST = 512
AS_EVER, TOWARDS_ZERO = 4, 11


def _select(e: Writer, n: Expression, condition: str, a: str, b: str) -> str:
    if _is_canonical(n) and e.lanes * n.format.bits >= LONGEST:
        return _on_registers(e, n.format, partial(_canonical_register, e, n.format), a)
    return common.ROWS["select"](e, n, condition, a, b)


def _is_canonical(n: Expression) -> bool:
    """Whether this is a number, or the canonical NaN in the place of any."""
    condition, a, b = n.operands
    return (
        n.format in PACKED
        and (condition.operation == "equal" and condition.operands == (a, a))
        and (b.operation == "constant" and math.isnan(b.attribute))
    )


#: How instructions on registers of many numbers are called by what these are.
PACKED = {Format.F32: "ps", Format.F64: "pd"}

#: The task of vfixupimm, 4 bits for each of 8 kinds of numbers, NaN first: 0 is to leave what is there, 1 to take it.
TAKE_ALL_BUT_NAN = 0x11111100


def _canonical_register(e: Writer, form: Format, kind: str, lanes: int, a: str) -> str:
    """One instruction of AVX-512 in the place of a comparison and a choice: relu of float16 takes 25 % less time."""
    name = f"llvm.x86.avx512.mask.fixupimm.{PACKED[form]}.{LONGEST}"
    tables, mask = f"<{lanes} x i{form.bits}>", f"i{lanes}"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {kind}, {tables}, i32, {mask}, i32)"
    nan, table = e.literal(form, math.nan), f"{tables} splat (i{form.bits} {TAKE_ALL_BUT_NAN})"
    return e.emit(f"call {kind} @{name}({kind} {nan}, {kind} {a}, {table}, i32 0, {mask} -1, i32 {AS_EVER})")


def _scale(e: Writer, n: Expression, a: str, exponent: str) -> str:
    form = n.format
    if e.lanes * form.bits >= 128:
        return _on_registers(e, form, partial(_scale_register, e, form), a, exponent)
    if e.lanes == 1:  # on the first lane of a short register
        lanes = 128 // form.bits
        vector = f"<{lanes} x {TYPES[form]}>"
        a, exponent = (
            e.emit(f"insertelement {vector} zeroinitializer, {TYPES[form]} {v}, i64 0") for v in (a, exponent)
        )
        scaled = _scale_register(e, form, vector, lanes, a, exponent)
        return e.emit(f"extractelement {vector} {scaled}, i64 0")
    return common.ROWS["scale_by_power_of_two"](e, n, a, exponent)


def _scale_register(e: Writer, form: Format, kind: str, lanes: int, a: str, exponent: str) -> str:
    """AVX-512 scales with one rounding."""
    name = f"llvm.x86.avx512.mask.scalef.{PACKED[form]}.{lanes * form.bits}"
    # A mask of all lanes; and on the longest registers the rounding mode.
    mask_type, ending = f"i{max(lanes, 8)}", f", i32 {AS_EVER}" if lanes * form.bits == LONGEST else ""
    parameters = f"{kind}, {kind}, {kind}, {mask_type}{', i32' if ending else ''}"
    e.declarations[name] = f"declare {kind} @{name}({parameters})"
    return e.emit(f"call {kind} @{name}({kind} {a}, {kind} {exponent}, {kind} zeroinitializer, {mask_type} -1{ending})")


def _on_registers(e: Writer, form: Format, instruction: Callable[..., str], *operands: str) -> str:
    """The result of an instruction for registers as long as it takes them; longer blocks are taken apart."""
    lanes = min(LONGEST // form.bits, e.block)
    kind = f"<{lanes} x {TYPES[form]}>"
    parts = zip(*(e.taken_apart(form, operand, lanes) for operand in operands), strict=True)
    return e.put_together(form, [instruction(kind, lanes, *part) for part in parts], lanes)


def _multiply_to_odd(e: Writer, n: Expression, a: str, b: str) -> str:
    form, integer = Format.F32, Format.I32
    if e.lanes * form.bits < LONGEST:
        return common.ROWS["multiply_to_odd"](e, n, a, b)
    product = _on_registers(e, form, partial(_cut_off_register, e), a, b)
    lost = common.product_lost(e, n, a, b, product)
    bits = e.cast("bitcast", product, form, integer)
    return common.made_odd(e, lost, bits, bits)


def _cut_off_register(e: Writer, kind: str, lanes: int, a: str, b: str) -> str:
    """AVX-512 has the rounding in the instruction: leaky_relu of float16 takes 15 % less time than with a correction."""
    name = f"llvm.x86.avx512.mul.ps.{lanes * Format.F32.bits}"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {kind}, i32)"
    return e.emit(f"call {kind} @{name}({kind} {a}, {kind} {b}, i32 {TOWARDS_ZERO})")


# ---- tables, which registers hold


def _table_of_eights(e: Writer, n: Expression, index: str) -> str:
    """vpermps, which takes the lowest 3 bits of the index; of longer tables several, of which the other bits choose."""
    if e.lanes * Format.F32.bits < 256:
        return common.ROWS["table"](e, n, index)
    parts = e.taken_apart(Format.I32, index, 8)
    return e.put_together(Format.F32, [_register_of_eights(e, n.attribute, part) for part in parts], 8)


def _register_of_eights(e: Writer, numbers: Sequence[float], index: str) -> str:
    name, kind, whole = "llvm.x86.avx2.permps", "<8 x float>", "<8 x i32>"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {whole})"
    eights = [f"{kind} <{common.singles(numbers[k : k + 8])}>" for k in range(0, len(numbers), 8)]
    found = [e.emit(f"call {kind} @{name}({eight}, {whole} {index})") for eight in eights]
    bit = 3
    while len(found) > 1:  # by the index's bit in the place of the sign, as vblendvps takes it
        shifted = e.emit(f"shl {whole} {index}, splat (i32 {31 - bit})")
        upper = e.emit(f"icmp slt {whole} {shifted}, zeroinitializer")
        pairs = zip(found[1::2], found[::2], strict=True)
        found = [e.emit(f"select <8 x i1> {upper}, {kind} {a}, {kind} {b}") for a, b in pairs]
        bit += 1
    return found[0]


def _table(e: Writer, n: Expression, index: str) -> str:
    if e.lanes * Format.F32.bits < LONGEST:
        return _table_of_eights(e, n, index)
    parts = e.taken_apart(Format.I32, index, 16)
    return e.put_together(Format.F32, [_register_of_sixteens(e, n.attribute, part) for part in parts], 16)


def _register_of_sixteens(e: Writer, numbers: Sequence[float], index: str) -> str:
    """AVX-512 takes the lowest 4 or 5 bits of the index: a table of 8 is there twice."""
    kind, whole = "<16 x float>", "<16 x i32>"
    filled = [*numbers, *numbers] if len(numbers) < 16 else numbers
    first, *rest = (f"{kind} <{common.singles(filled[k : k + 16])}>" for k in range(0, len(filled), 16))
    if not rest:
        name = "llvm.x86.avx512.permvar.sf.512"
        e.declarations[name] = f"declare {kind} @{name}({kind}, {whole})"
        return e.emit(f"call {kind} @{name}({first}, {whole} {index})")
    name = "llvm.x86.avx512.vpermi2var.ps.512"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {whole}, {kind})"
    return e.emit(f"call {kind} @{name}({first}, {whole} {index}, {rest[0]})")


def _reciprocal_estimate(e: Writer, n: Expression, a: str) -> str:
    """An estimate of 14 bits at least."""
    if e.lanes * n.format.bits < 256:
        return common.ROWS["reciprocal_estimate"](e, n, a)
    return _on_registers(e, n.format, partial(_reciprocal_register, e), a)


def _reciprocal_register(e: Writer, kind: str, lanes: int, a: str) -> str:
    name, mask = f"llvm.x86.avx512.rcp14.ps.{32 * lanes}", f"i{lanes}"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {kind}, {mask})"
    return e.emit(f"call {kind} @{name}({kind} {a}, {kind} zeroinitializer, {mask} -1)")


AVX2: dict[str, Row] = {"table": _table_of_eights}

AVX512: dict[str, Row] = {
    "select": _select,
    "select_rare": _select,
    "scale_by_power_of_two": _scale,
    "multiply_to_odd": _multiply_to_odd,
    "table": _table,
    "reciprocal_estimate": _reciprocal_estimate,
}
