"""The computation of a primitive where the processor has no instruction for it."""

from __future__ import annotations

from ogive.backends import instructions as common
from ogive.backends.writer import Row, Writer
from ogive.graph.expression import Expression, Format


def _rounding(name: str) -> Row:
    def row(e: Writer, n: Expression, a: str) -> str:
        return _rounded_by_addition(e, n, name, a)

    return row


def _rounded_by_addition(e: Writer, n: Expression, name: str, a: str) -> str:
    """Adding 2**23 (2**52) leaves an integer."""
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


def _convert(e: Writer, n: Expression, a: str) -> str:
    if n.operands[0].format is Format.F16:
        return _half_to_single(e, a)
    if n.format is Format.F16:
        return _single_to_half(e, a)
    return common.ROWS["convert"](e, n, a)


def _half_to_single(e: Writer, a: str) -> str:
    """Software for processors that cannot: shift into place and let a multiplication fix the exponent, subnormals too."""
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
    """Software for processors that cannot. Normal results: integer rounding; subnormal ones: a float addition rounds."""
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


#: Between float16 and float32.
HALF: dict[str, Row] = {"convert": _convert}

#: To integers of the same format.
ROUNDING: dict[str, Row] = {
    "floor": _rounding("floor"),
    "ceiling": _rounding("ceil"),
    "truncate": _rounding("trunc"),
    "round_even": _rounding("roundeven"),
}


def _fma(e: Writer, n: Expression, *operands: str) -> str:
    """A function of the module has the lanes one after the other. LLVM calls C's for each, and every call empties the registers:
    written out at each place, the calls are most of the code.
    """
    if e.lanes == 1:
        return e.call("fma", n.format, *operands)
    kind, name = e.type(n.format), f"fma.{e.block}.{n.format.bits}"
    of_llvm = e.calling(e.intrinsic("fma", n.format, 3), n.format, "%a", "%b", "%c")
    e.definitions[name] = (
        f"define internal {kind} @{name}({kind} %a, {kind} %b, {kind} %c) #0 {{\n  %r = {of_llvm}\n  ret {kind} %r\n}}"
    )
    return e.emit(e.calling(name, n.format, *operands))


#: C's function, which is exactly rounded.
FMA: dict[str, Row] = {"fma": _fma}
