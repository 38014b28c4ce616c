"""One row per primitive: the instructions that compute it, which IEEE 754 defines bit by bit.

These are common to all targets. llvm.py lays the rows of a target over them: what an instruction set has better
(x86.py), and what it has no instruction for (software.py).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ogive.backends.writer import TYPES, Row, Writer, first_finding, natural_alignment
from ogive.graph.expression import Expression, Format


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
    return e.choose(condition, n.format, a, b)


def _shift_left(e: Writer, n: Expression, a: str) -> str:
    return e.binary("shl", n.format, a, e.literal(n.format, n.attribute))


def _shift_right(e: Writer, n: Expression, a: str) -> str:
    return e.binary("ashr" if n.format.is_signed else "lshr", n.format, a, e.literal(n.format, n.attribute))


def _bitcast(e: Writer, n: Expression, a: str) -> str:
    source = n.operands[0].format
    return a if TYPES[source] == TYPES[n.format] else e.cast("bitcast", a, source, n.format)


def _scale(e: Writer, n: Expression, a: str, exponent: str) -> str:
    form = n.format
    # 2**n as the product of three powers, each in the range of exponents; what is beyond is 0 or infinite.
    # The last takes as much as it can: then what the others leave is rounded once, or is zero anyway.
    integer = Format.I32 if form is Format.F32 else Format.I64
    shift, bias = form.precision - 1, form.bias
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


def _multiply_to_odd(e: Writer, n: Expression, a: str, b: str) -> str:
    """The product cut off, and its last bit set where that is not the product itself."""
    form, integer = Format.F32, Format.I32
    product = e.binary("fmul", form, a, b)
    lost = product_lost(e, n, a, b, product)
    bits = e.cast("bitcast", product, form, integer)
    # It is a unit too large where its sign is not that of what rounding lost.
    signs = e.binary("xor", integer, bits, e.cast("bitcast", lost, form, integer))
    cut = e.binary("add", integer, bits, e.binary("ashr", integer, signs, e.literal(integer, 31)))
    return made_odd(e, lost, cut, bits)


def product_lost(e: Writer, n: Expression, a: str, b: str, product: str) -> str:
    """The part that rounding or cutting off lost of a product of float32."""
    return e.rows["fma"](e, n, a, b, e.emit(f"fneg {e.type(Format.F32)} {product}"))


def made_odd(e: Writer, lost: str, cut: str, bits: str) -> str:
    """A result cut off, its last bit set if anything was lost; without that, `bits`."""
    form, integer = Format.F32, Format.I32
    is_inexact = e.emit(f"fcmp one {e.type(form)} {lost}, {e.literal(form, 0.0)}")
    odd = e.binary("or", integer, cut, e.literal(integer, 1))
    return e.cast("bitcast", e.choose(is_inexact, integer, odd, bits), integer, form)


def _table(e: Writer, n: Expression, index: str) -> str:
    """A load for each lane, from an array of the module's own."""
    numbers = n.attribute
    name = f"@table.{struct.pack(f'>{len(numbers)}f', *numbers).hex()}"
    kind = f"[{len(numbers)} x {TYPES[Format.F32]}]"
    e.definitions[name] = f"{name} = private unnamed_addr constant {kind} [{singles(numbers)}]"
    place = e.binary("and", Format.I32, index, e.literal(Format.I32, len(numbers) - 1))
    address = e.emit(f"getelementptr {TYPES[Format.F32]}, ptr {name}, {e.type(Format.I32)} {place}")
    form = e.type(Format.F32)
    if e.lanes == 1:
        return e.emit(f"load {form}, ptr {address}, align 4")
    gather, mask = f"llvm.masked.gather.v{e.block}f32.v{e.block}p0", f"<{e.block} x i1>"
    addresses = f"<{e.block} x ptr>"
    e.declarations[gather] = f"declare {form} @{gather}({addresses}, i32, {mask}, {form})"
    return e.emit(
        f"call {form} @{gather}({addresses} {address}, i32 4, {mask} splat (i1 true), {form} zeroinitializer)"
    )


def singles(numbers: Sequence[float]) -> str:
    """The elements of a constant array or vector of float32."""
    doubles = (struct.unpack("<Q", struct.pack("<d", x))[0] for x in numbers)
    return ", ".join(f"{TYPES[Format.F32]} 0x{bits:016x}" for bits in doubles)


def _reciprocal_estimate(e: Writer, n: Expression, a: str) -> str:
    """A quotient: where it is one instruction, an estimate of 12 bits and a step of Newton's are no faster beside others."""
    return e.binary("fdiv", n.format, e.literal(n.format, 1.0), a)


def _convert(e: Writer, n: Expression, a: str) -> str:
    source, result = n.operands[0].format, n.format
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
    "floor": _intrinsic("floor"),
    "ceiling": _intrinsic("ceil"),
    "truncate": _intrinsic("trunc"),
    "round_even": _intrinsic("roundeven"),
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
    "table": _table,
    "reciprocal_estimate": _reciprocal_estimate,
}
