"""One row per primitive: the instructions that compute it, which IEEE 754 defines bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from ogive.codegen.writer import TYPES, Writer, first_finding, natural_alignment
from ogive.expression import Expression, Format

__all__ = ["ROWS"]

Row = Callable[..., str]


def _input(e: Writer, n: Expression) -> str:
    return e.load(e.address(n.attribute, n.format), n.format)


def _parameter(e: Writer, n: Expression) -> str:
    return e.emit(f"load double, ptr {e.record(n.attribute[0])}, align 8")


def _row_value(e: Writer, n: Expression) -> str:
    index, part = n.attribute
    address = e.record(first_finding(e.program) + 2 * index + part)
    return e.emit(f"load {e.type(n.format)}, ptr {address}, align 8")


def _row_length(e: Writer, n: Expression) -> str:
    return e.emit(f"load double, ptr {e.record(e.program.parameter_count)}, align 8")


def _row_input(e: Writer, n: Expression) -> str:
    return e.emit(f"load {e.type(n.format)}, ptr %operand{n.attribute}, align {natural_alignment(n.format)}")


def _row_position(e: Writer, n: Expression) -> str:
    return e.position()


def _arithmetic(floating: str, integer: str) -> Row:
    def row(e: Writer, n: Expression, a: str, b: str) -> str:
        return e.binary(floating if n.format.is_float else integer, n.format, a, b)

    return row


def _divide(e: Writer, n: Expression, a: str, b: str) -> str:
    return e.binary("fdiv", n.format, a, b)


def _integer(signed: str, unsigned: str) -> Row:
    def row(e: Writer, n: Expression, a: str, b: str) -> str:
        return e.binary(signed if n.format.is_signed else unsigned, n.format, a, b)

    return row


def _negate(e: Writer, n: Expression, a: str) -> str:
    if n.format.is_float:
        return e.emit(f"fneg {e.type(n.format)} {a}")
    return e.binary("sub", n.format, e.literal(n.format, 0), a)


def _absolute(e: Writer, n: Expression, a: str) -> str:
    if n.format.is_float:
        return e.call("fabs", n.format, a)
    if not n.format.is_signed:
        return a
    negative = e.emit(f"icmp slt {e.type(n.format)} {a}, {e.literal(n.format, 0)}")
    return e.choose(negative, n.format, e.binary("sub", n.format, e.literal(n.format, 0), a), a)


def _intrinsic(name: str) -> Row:
    def row(e: Writer, n: Expression, *operands: str) -> str:
        return e.call(name, n.format, *operands)

    return row


def _copy_sign(e: Writer, n: Expression, magnitude: str, sign: str) -> str:
    form = n.format
    zero = n.operands[0]
    if zero.operation != "constant" or zero.attribute:
        return e.call("copysign", form, magnitude, sign)
    integer = Format.I32 if form is Format.F32 else Format.I64
    bits = e.cast("bitcast", sign, form, integer)  # two instructions less than LLVM has for it
    return e.cast("bitcast", e.binary("and", integer, bits, e.literal(integer, -(1 << (form.bits - 1)))), integer, form)


def _compare(floating: str, signed: str, unsigned: str) -> Row:
    def row(e: Writer, n: Expression, a: str, b: str) -> str:
        form = n.operands[0].format
        predicate = f"fcmp {floating}" if form.is_float else f"icmp {signed if form.is_signed else unsigned}"
        return e.emit(f"{predicate} {e.type(form)} {a}, {b}")

    return row


def _bitwise(instruction: str) -> Row:
    def row(e: Writer, n: Expression, a: str, b: str) -> str:
        return e.binary(instruction, n.format, a, b)

    return row


def _not(e: Writer, n: Expression, a: str) -> str:
    return e.binary("xor", n.format, a, e.literal(n.format, 1 if n.format is Format.BIT else -1))


def _select(e: Writer, n: Expression, condition: str, a: str, b: str) -> str:
    if e.target.has_avx512 and _is_canonical(n) and e.lanes * n.format.bits >= LONGEST:
        return _on_registers(e, n.format, partial(_canonical_register, e, n.format), a)
    return e.choose(condition, n.format, a, b)


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

#: What vfixupimm is to do, 4 bits for each of 8 kinds of numbers, NaN first: 0 is to leave what is there, 1 to take it.
TAKE_ALL_BUT_NAN = 0x11111100


def _canonical_register(e: Writer, form: Format, kind: str, lanes: int, a: str) -> str:
    """One instruction of AVX-512 in the place of a comparison and a choice: relu of float16 takes 25 % less time."""
    name = f"llvm.x86.avx512.mask.fixupimm.{PACKED[form]}.{LONGEST}"
    tables, mask = f"<{lanes} x i{form.bits}>", f"i{lanes}"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {kind}, {tables}, i32, {mask}, i32)"
    nan, table = e.literal(form, math.nan), f"{tables} splat (i{form.bits} {TAKE_ALL_BUT_NAN})"
    return e.emit(f"call {kind} @{name}({kind} {nan}, {kind} {a}, {table}, i32 0, {mask} -1, i32 {AS_EVER})")


def _shift_left(e: Writer, n: Expression, a: str) -> str:
    return e.binary("shl", n.format, a, e.literal(n.format, n.attribute))


def _shift_right(e: Writer, n: Expression, a: str) -> str:
    return e.binary("ashr" if n.format.is_signed else "lshr", n.format, a, e.literal(n.format, n.attribute))


def _bitcast(e: Writer, n: Expression, a: str) -> str:
    source = n.operands[0].format
    return a if TYPES[source] == TYPES[n.format] else e.cast("bitcast", a, source, n.format)


def _rounding(name: str) -> Row:
    def row(e: Writer, n: Expression, a: str) -> str:
        return e.call(name, n.format, a) if e.target.has_rounding else _rounded_by_addition(e, n, name, a)

    return row


def _rounded_by_addition(e: Writer, n: Expression, name: str, a: str) -> str:
    """Rounding without an instruction for it: adding 2**23 (2**52) leaves an integer."""
    form = n.format
    magic = e.literal(form, 2.0 ** (form.precision - 1))
    one, zero = e.literal(form, 1.0), e.literal(form, 0.0)
    magnitude = e.call("fabs", form, a)
    nearest = e.binary("fsub", form, e.binary("fadd", form, magnitude, magic), magic)

    if name == "trunc":
        step = e.choose(e.less(form, magnitude, nearest), form, one, zero)
        nearest = e.binary("fsub", form, nearest, step)
    rounded = e.call("copysign", form, nearest, a)
    if name in ("floor", "ceil"):
        wrong = e.less(form, a, rounded) if name == "floor" else e.less(form, rounded, a)
        step = e.choose(wrong, form, one, zero)
        rounded = e.binary("fsub" if name == "floor" else "fadd", form, rounded, step)
        rounded = e.call("copysign", form, rounded, a)
    # Large numbers, infinities and NaN are what they are.
    return e.choose(e.less(form, magnitude, magic), form, rounded, a)


def _scale(e: Writer, n: Expression, a: str, exponent: str) -> str:
    form = n.format
    if e.target.has_avx512 and e.lanes * form.bits >= 128:
        return _on_registers(e, form, partial(_scale_register, e, form), a, exponent)
    if e.target.has_avx512 and e.lanes == 1:  # on the first lane of a short register
        lanes = 128 // form.bits
        vector = f"<{lanes} x {TYPES[form]}>"
        a, exponent = (
            e.emit(f"insertelement {vector} zeroinitializer, {TYPES[form]} {v}, i64 0") for v in (a, exponent)
        )
        scaled = _scale_register(e, form, vector, lanes, a, exponent)
        return e.emit(f"extractelement {vector} {scaled}, i64 0")
    # 2**n as the product of three powers, each in the range of exponents; what is beyond is 0 or infinite.
    # The last takes as much as it can: then what the others leave is rounded once, or is zero anyway.
    integer = Format.I32 if form is Format.F32 else Format.I64
    shift, bias = form.precision - 1, 127 if form is Format.F32 else 1023
    low, high = e.literal(form, 1.0 - bias), e.literal(form, float(bias))
    powers = []
    rest = exponent
    for _ in range(3):
        part = e.choose(e.less(form, rest, low), form, low, rest)
        part = e.choose(e.less(form, high, part), form, high, part)
        rest = e.binary("fsub", form, rest, part)
        # Adding it leaves part + bias in the last bits, where an exponent field has room above them.
        biased = e.binary("fadd", form, part, e.literal(form, 1.5 * 2.0**shift + bias))
        powers.append(e.binary("shl", integer, e.cast("bitcast", biased, form, integer), e.literal(integer, shift)))
    for power in reversed(powers):
        a = e.binary("fmul", form, a, e.cast("bitcast", power, integer, form))
    return a


def _scale_register(e: Writer, form: Format, kind: str, lanes: int, a: str, exponent: str) -> str:
    """AVX-512 scales with one rounding."""
    name = f"llvm.x86.avx512.mask.scalef.{PACKED[form]}.{lanes * form.bits}"
    # A mask of all lanes; and on the longest registers the rounding mode.
    mask_type, ending = f"i{max(lanes, 8)}", f", i32 {AS_EVER}" if lanes * form.bits == LONGEST else ""
    parameters = f"{kind}, {kind}, {kind}, {mask_type}{', i32' if ending else ''}"
    e.declarations[name] = f"declare {kind} @{name}({parameters})"
    return e.emit(f"call {kind} @{name}({kind} {a}, {kind} {exponent}, {kind} zeroinitializer, {mask_type} -1{ending})")


#: The bits of the longest registers, and the rounding modes that their instructions name: the environment's, and towards
#: zero without a flag.
LONGEST = 512
AS_EVER, TOWARDS_ZERO = 4, 11


def _on_registers(e: Writer, form: Format, instruction: Callable[..., str], *operands: str) -> str:
    """What an instruction makes of registers as long as it takes them; longer blocks are taken apart."""
    lanes = min(LONGEST // form.bits, e.block)
    kind = f"<{lanes} x {TYPES[form]}>"
    parts = zip(*(e.taken_apart(form, operand, lanes) for operand in operands), strict=True)
    return e.put_together(form, [instruction(kind, lanes, *part) for part in parts], lanes)


def _multiply_to_odd(e: Writer, n: Expression, a: str, b: str) -> str:
    """The product cut off, and its last bit set where that is not the product itself."""
    form, integer = Format.F32, Format.I32
    is_cut = e.target.has_avx512 and e.lanes * form.bits >= LONGEST
    cut_off = partial(_cut_off_register, e)
    product = _on_registers(e, form, cut_off, a, b) if is_cut else e.binary("fmul", form, a, b)
    lost = e.call("fma", form, a, b, e.emit(f"fneg {e.type(form)} {product}"))
    bits = cut = e.cast("bitcast", product, form, integer)
    if not is_cut:
        # It is a unit too large where its sign is not that of what rounding lost.
        signs = e.binary("xor", integer, bits, e.cast("bitcast", lost, form, integer))
        cut = e.binary("add", integer, bits, e.binary("ashr", integer, signs, e.literal(integer, 31)))
    is_inexact = e.emit(f"fcmp one {e.type(form)} {lost}, {e.literal(form, 0.0)}")
    odd = e.binary("or", integer, cut, e.literal(integer, 1))
    return e.cast("bitcast", e.choose(is_inexact, integer, odd, bits), integer, form)


def _cut_off_register(e: Writer, kind: str, lanes: int, a: str, b: str) -> str:
    """AVX-512 has the rounding in the instruction: leaky_relu of float16 takes 15 % less time than with a correction."""
    name = f"llvm.x86.avx512.mul.ps.{lanes * Format.F32.bits}"
    e.declarations[name] = f"declare {kind} @{name}({kind}, {kind}, i32)"
    return e.emit(f"call {kind} @{name}({kind} {a}, {kind} {b}, i32 {TOWARDS_ZERO})")


def _convert(e: Writer, n: Expression, a: str) -> str:
    source, result = n.operands[0].format, n.format
    if source is Format.F16 and not e.target.has_half_conversion:
        return _half_to_single(e, a)
    if result is Format.F16 and not e.target.has_half_conversion:
        return _single_to_half(e, a)
    if source is Format.BF16:
        wide = e.cast("zext", a, Format.U16, Format.U32)
        return e.cast("bitcast", e.binary("shl", Format.U32, wide, e.literal(Format.U32, 16)), Format.U32, Format.F32)
    if result is Format.BF16:
        return _single_to_bfloat(e, a)
    if source.is_float and result.is_float:
        return e.cast("fpext" if source.bits < result.bits else "fptrunc", a, source, result)
    if source.is_float:
        return e.cast("fptosi" if result.is_signed else "fptoui", a, source, result)
    if result.is_float:
        return e.cast("sitofp" if source.is_signed else "uitofp", a, source, result)
    if TYPES[source] == TYPES[result]:
        return a
    if source.bits > result.bits:
        return e.cast("trunc", a, source, result)
    return e.cast("sext" if source.is_signed else "zext", a, source, result)


def _single_to_bfloat(e: Writer, a: str) -> str:
    """To nearest even in integers. NaN is canonical when it comes here, and stays NaN."""
    bits = e.cast("bitcast", a, Format.F32, Format.U32)
    last = e.binary(
        "and", Format.U32, e.binary("lshr", Format.U32, bits, e.literal(Format.U32, 16)), e.literal(Format.U32, 1)
    )
    rounded = e.binary("add", Format.U32, e.binary("add", Format.U32, bits, e.literal(Format.U32, 0x7FFF)), last)
    return e.cast("trunc", e.binary("lshr", Format.U32, rounded, e.literal(Format.U32, 16)), Format.U32, Format.U16)


def _half_to_single(e: Writer, a: str) -> str:
    """Where the processor cannot: shift into place and let a multiplication fix the exponent, subnormals too."""
    u32, f32 = Format.U32, Format.F32
    bits = e.cast("zext", e.cast("bitcast", a, Format.F16, Format.U16), Format.U16, u32)
    magnitude = e.binary("and", u32, bits, e.literal(u32, 0x7FFF))
    sign = e.binary("shl", u32, e.binary("and", u32, bits, e.literal(u32, 0x8000)), e.literal(u32, 16))
    shifted = e.binary("shl", u32, magnitude, e.literal(u32, 13))
    scaled = e.cast(
        "bitcast", e.binary("fmul", f32, e.cast("bitcast", shifted, u32, f32), e.literal(f32, 2.0**112)), f32, u32
    )
    special = e.emit(f"icmp uge {e.type(u32)} {magnitude}, {e.literal(u32, 0x7C00)}")
    filled = e.binary("or", u32, shifted, e.literal(u32, 0x7F800000))
    return e.cast("bitcast", e.binary("or", u32, e.choose(special, u32, filled, scaled), sign), u32, f32)


def _single_to_half(e: Writer, a: str) -> str:
    """Where the processor cannot. Normal results: integer rounding; subnormal ones: a float addition rounds."""
    u32, f32 = Format.U32, Format.F32
    bits = e.cast("bitcast", a, f32, u32)
    sign = e.binary("lshr", u32, e.binary("and", u32, bits, e.literal(u32, 0x80000000)), e.literal(u32, 16))
    magnitude = e.binary("and", u32, bits, e.literal(u32, 0x7FFFFFFF))
    last = e.binary("and", u32, e.binary("lshr", u32, magnitude, e.literal(u32, 13)), e.literal(u32, 1))
    rebased = e.binary("sub", u32, magnitude, e.literal(u32, (112 << 23) - 0xFFF))
    normal = e.binary("lshr", u32, e.binary("add", u32, rebased, last), e.literal(u32, 13))
    # 0.5 has the weight at which the last bit of a subnormal half is the last bit of a float.
    added = e.binary("fadd", f32, e.cast("bitcast", magnitude, u32, f32), e.literal(f32, 0.5))
    subnormal = e.binary("sub", u32, e.cast("bitcast", added, f32, u32), e.literal(u32, 0x3F000000))
    tiny = e.emit(f"icmp ult {e.type(u32)} {magnitude}, {e.literal(u32, 113 << 23)}")
    result = e.choose(tiny, u32, subnormal, normal)
    large = e.emit(f"icmp uge {e.type(u32)} {magnitude}, {e.literal(u32, 0x477FF000)}")
    nan = e.emit(f"icmp ugt {e.type(u32)} {magnitude}, {e.literal(u32, 0x7F800000)}")
    result = e.choose(large, u32, e.choose(nan, u32, e.literal(u32, 0x7E00), e.literal(u32, 0x7C00)), result)
    half = e.cast("trunc", e.binary("or", u32, result, sign), u32, Format.U16)
    return e.cast("bitcast", half, Format.U16, Format.F16)


ROWS: dict[str, Row] = {
    "input": _input,
    "parameter": _parameter,
    "row_value": _row_value,
    "row_position": _row_position,
    "row_length": _row_length,
    "row_input": _row_input,
    "add": _arithmetic("fadd", "add"),
    "subtract": _arithmetic("fsub", "sub"),
    "multiply": _arithmetic("fmul", "mul"),
    "divide": _divide,
    "bit_shift_left": _bitwise("shl"),
    "bit_shift_right": _bitwise("lshr"),
    "bit_count": _intrinsic("ctpop"),
    "quotient": _integer("sdiv", "udiv"),
    "remainder": _integer("srem", "urem"),
    "negate": _negate,
    "absolute": _absolute,
    "square_root": _intrinsic("sqrt"),
    "floor": _rounding("floor"),
    "ceiling": _rounding("ceil"),
    "truncate": _rounding("trunc"),
    "round_even": _rounding("roundeven"),
    "copy_sign": _copy_sign,
    "less": _compare("olt", "slt", "ult"),
    "less_equal": _compare("ole", "sle", "ule"),
    "equal": _compare("oeq", "eq", "eq"),
    "and": _bitwise("and"),
    "or": _bitwise("or"),
    "exclusive_or": _bitwise("xor"),
    "not": _not,
    "select": _select,
    "select_rare": _select,
    "fma": _intrinsic("fma"),
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "convert": _convert,
    "bitcast": _bitcast,
    "scale_by_power_of_two": _scale,
    "multiply_to_odd": _multiply_to_odd,
}
