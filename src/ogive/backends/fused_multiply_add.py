"""``a * b + c`` rounded once, for processors that have no instruction for it.

float32 computes in float64: the product is exact there, and the sum is rounded to odd, so that rounding it again to
float32 is as good as rounding once.

float64 adds three numbers with one rounding (Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved
algorithms using rounding to odd, IEEE Transactions on Computers 57, 2008): the product as an exact sum of two, and c. Where
something on the way might overflow or be too small, and for infinities and NaN, a function of single numbers takes them:
it does the same with the numbers between 1 and 2, and puts the exponent back, with one rounding too where the result is
subnormal.
"""

from __future__ import annotations

import struct
from functools import cache

from ogive.backends.function_text import FunctionText
from ogive.expression import Format

__all__ = ["functions", "name_of"]

#: Splits a float64 into two halves of 26 bits.
SPLITTER = 134217729.0

#: Between these, nothing on the way overflows, and the product's second half is exact.
LARGEST, SMALLEST = 2.0**990, 2.0**-900


def name_of(form: Format, lanes: int) -> str:
    """The function for so many numbers."""
    return f"ogive.fma.{'' if lanes == 1 else f'v{lanes}'}f{form.bits}"


@cache
def functions(form: Format, lanes: int) -> dict[str, str]:
    """The texts of the function and of those that it calls, by name."""
    name = name_of(form, lanes)
    if form is Format.F32:
        return {name: _single(lanes)}
    kind, suffix = _kinds("double", lanes)[0], "f64" if lanes == 1 else f"v{lanes}f64"
    return {
        "fabs": "declare double @llvm.fabs.f64(double)",
        f"fabs {suffix}": f"declare {kind} @llvm.fabs.{suffix}({kind})",
        "slow": _slow_double(),
        name: _double(lanes),
    }


def _kinds(form: str, lanes: int) -> list[str]:
    names = (form, "i64", "i1")
    return [name if lanes == 1 else f"<{lanes} x {name}>" for name in names]


def _same(lanes: int, kind: str, value: str) -> str:
    """A constant in all lanes."""
    return value if lanes == 1 else f"splat ({kind} {value})"


def _number(value: float, lanes: int = 1) -> str:
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return _same(lanes, "double", f"0x{bits:016x}")


def _head(form: Format, lanes: int) -> str:
    kind = {Format.F32: "float", Format.F64: "double"}[form]
    kind = kind if lanes == 1 else f"<{lanes} x {kind}>"
    return f"define internal {kind} @{name_of(form, lanes)}({kind} %a, {kind} %b, {kind} %c) nounwind noinline"


def _odd(f: FunctionText, lanes: int, total: str, lost: str) -> str:
    """The total, or its neighbour with an odd last bit on the side of what is lost, if anything is."""
    kind, integer, bit = _kinds("double", lanes)
    bits = f.cast("bitcast", total, kind, integer)
    one = _same(lanes, "i64", "1")
    is_even = f.do("icmp eq", f.do("and", bits, one, integer), _same(lanes, "i64", "0"), integer)
    moves = f.do("and", f.do("fcmp one", lost, _number(0.0, lanes), kind), is_even, bit)
    signs = f.do("xor", bits, f.cast("bitcast", lost, kind, integer), integer)
    towards = f.do("or", f.do("ashr", signs, _same(lanes, "i64", "63"), integer), one, integer)
    moved = f.choose(moves, f.do("add", bits, towards, integer), bits, integer, bit)
    return f.cast("bitcast", moved, integer, kind)


def _single(lanes: int) -> str:
    kind = _kinds("double", lanes)[0]
    short = _kinds("float", lanes)[0]
    f = FunctionText(_head(Format.F32, lanes), kind)
    a, b, c = (f.cast("fpext", x, short, kind) for x in ("%a", "%b", "%c"))
    total, lost = f.two_sum(f.multiply(a, b), c)
    f.end(f"ret {short} {f.cast('fptrunc', _odd(f, lanes, total, lost), kind, short)}")
    return f.text


def _halves(f: FunctionText, x: str, lanes: int) -> tuple[str, str]:
    scaled = f.multiply(x, _number(SPLITTER, lanes))
    high = f.subtract(scaled, f.subtract(scaled, x))
    return high, f.subtract(x, high)


def _product(f: FunctionText, a: str, b: str, lanes: int) -> tuple[str, str]:
    """The product as a sum of two, by Dekker."""
    (a1, a2), (b1, b2) = _halves(f, a, lanes), _halves(f, b, lanes)
    high = f.multiply(a, b)
    rest = f.subtract(high, f.multiply(a1, b1))
    rest = f.subtract(f.subtract(rest, f.multiply(a2, b1)), f.multiply(a1, b2))
    return high, f.subtract(f.multiply(a2, b2), rest)


def _three(f: FunctionText, high: str, low: str, c: str, lanes: int) -> tuple[str, str]:
    """Two numbers whose sum, rounded, is that of all three, rounded."""
    t, t_lost = f.two_sum(c, low)
    v, v_lost = f.two_sum(high, t)
    return v, _odd(f, lanes, *f.two_sum(t_lost, v_lost))


def _double(lanes: int) -> str:
    kind, _, bit = _kinds("double", lanes)
    f = FunctionText(_head(Format.F64, lanes), kind)
    high, low = _product(f, "%a", "%b", lanes)
    found = f.add(*_three(f, high, low, "%c", lanes))
    # Zero has the sign that IEEE 754 gives to it.
    zero = _number(0.0, lanes)
    is_zero = f.do("fcmp oeq", found, zero)
    found = f.choose(is_zero, f.add(high, "%c"), found, bit=bit)
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"

    def less(x: str, bound: float) -> str:
        size = f.emit(f"call {kind} @llvm.fabs.{suffix}({kind} {x})")
        return f.do("fcmp olt", size, _number(bound, lanes))

    usual = less("%a", LARGEST)
    for x in ("%b", "%c", high):
        usual = f.do("and", usual, less(x, LARGEST), bit)
    no_product = f.do("or", f.do("fcmp oeq", "%a", zero), f.do("fcmp oeq", "%b", zero), bit)
    is_small = less(high, SMALLEST)
    is_small = f.do("and", is_small, f.do("xor", no_product, _same(lanes, "i1", "true"), bit), bit)
    unusual = f.do("or", f.do("xor", usual, _same(lanes, "i1", "true"), bit), is_small, bit)
    if lanes > 1:
        packed = f.emit(f"bitcast {bit} {unusual} to i{lanes}")
        unusual = f.do("icmp ne", packed, "0", f"i{lanes}")
    after = f.fresh()
    slow = f.fresh()
    f.line(f"br i1 {unusual}, label %{slow}, label %{after}")
    f.line(f"\n{after}:\n  ret {kind} {found}\n\n{slow}:")
    if lanes == 1:
        f.end(f"ret double {f.emit('call double @ogive.fma.slow(double %a, double %b, double %c)')}")
    else:
        slowly = "poison"
        for i in range(lanes):
            a, b, c = (f.emit(f"extractelement {kind} {x}, i64 {i}") for x in ("%a", "%b", "%c"))
            one = f.emit(f"call double @ogive.fma.slow(double {a}, double {b}, double {c})")
            slowly = f.emit(f"insertelement {kind} {slowly}, double {one}, i64 {i}")
        f.end(f"ret {kind} {slowly}")
    return f.text


def _slow_double() -> str:
    """The function for single numbers of any size."""
    head = "define internal double @ogive.fma.slow(double %a, double %b, double %c) nounwind noinline"
    f = FunctionText(head, "double")
    # Infinities, NaN and factors of zero need no care, but for c where the product would overflow.
    infinite = _number(float("inf"))

    def size(x: str) -> str:
        return f.emit(f"call double @llvm.fabs.f64(double {x})")

    finite = [f.do("fcmp olt", size(x), infinite) for x in ("%a", "%b", "%c")]
    factors = f.do("and", finite[0], finite[1], "i1")
    f.leave_if(f.do("and", factors, f.do("xor", finite[2], "true", "i1"), "i1"), "double %c")
    zeros = [f.do("fcmp oeq", x, _number(0.0)) for x in ("%a", "%b")]
    is_zero = f.do("or", zeros[0], zeros[1], "i1")
    simple = f.do("or", is_zero, f.do("xor", factors, "true", "i1"), "i1")
    plain = f.add(f.multiply("%a", "%b"), "%c")
    f.leave_if(simple, f"double {plain}")

    def normal(x: str) -> tuple[str, str]:
        """The number between 1 and 2, and its exponent."""
        is_subnormal = f.do("fcmp olt", size(x), _number(2.0**-1022))
        x = f.choose(is_subnormal, f.multiply(x, _number(2.0**64)), x)
        bits = f.cast("bitcast", x, "double", "i64")
        field = f.do("and", f.do("lshr", bits, "52", "i64"), "2047", "i64")
        exponent = f.do("sub", field, f.choose(is_subnormal, str(1023 + 64), "1023", "i64"), "i64")
        bits = f.do("or", f.do("and", bits, str(~(0x7FF << 52)), "i64"), str(1023 << 52), "i64")
        return f.cast("bitcast", bits, "i64", "double"), exponent

    def power(exponent: str) -> str:
        bits = f.do("shl", f.do("add", exponent, "1023", "i64"), "52", "i64")
        return f.cast("bitcast", bits, "i64", "double")

    (a, a_exponent), (b, b_exponent), (c, c_exponent) = (normal(x) for x in ("%a", "%b", "%c"))
    of_product = f.do("add", a_exponent, b_exponent, "i64")
    distance = f.do("sub", c_exponent, of_product, "i64")
    # Beyond these, all that matters of the smaller one is that it is not zero.
    is_above = f.do("icmp sgt", distance, "110", "i64")
    is_below = f.do("icmp slt", distance, "-120", "i64")
    distance = f.choose(is_below, "-120", f.choose(is_above, "110", distance, "i64"), "i64")
    c_is_zero = f.do("fcmp oeq", "%c", _number(0.0))
    distance = f.choose(c_is_zero, "0", distance, "i64")
    above = f.do("and", is_above, f.do("xor", c_is_zero, "true", "i1"), "i1")
    exponent = f.choose(above, f.do("sub", c_exponent, "110", "i64"), of_product, "i64")
    c = f.choose(c_is_zero, "%c", f.multiply(c, power(distance)))

    high, low = _product(f, a, b, 1)
    v, z = _three(f, high, low, c, 1)
    found = f.add(v, z)
    f.leave_if(f.do("fcmp oeq", found, _number(0.0)), f"double {_number(0.0)}")  # it cancels
    bits = f.cast("bitcast", found, "double", "i64")
    field = f.do("and", f.do("lshr", bits, "52", "i64"), "2047", "i64")
    scaled = f.do("add", f.do("sub", field, "1023", "i64"), exponent, "i64")

    # A normal result, or one that overflows: two steps, because one power of two may be out of range.
    half = f.do("ashr", exponent, "1", "i64")
    is_huge = f.do("icmp sgt", scaled, "1023", "i64")
    sign = f.do("and", bits, str(-(1 << 63)), "i64")
    overflown = f.cast("bitcast", f.do("or", sign, str(0x7FF << 52), "i64"), "i64", "double")
    f.leave_if(is_huge, f"double {overflown}")
    is_normal = f.do("icmp sge", scaled, "-1022", "i64")
    first = f.multiply(found, power(half))
    first = f.multiply(first, power(f.do("sub", exponent, half, "i64")))
    f.leave_if(is_normal, f"double {first}")

    # A subnormal one: rounded at its last bit by adding the number whose last bit that is.
    nothing = f.cast("bitcast", sign, "i64", "double")
    f.leave_if(f.do("icmp slt", scaled, "-1080", "i64"), f"double {nothing}")
    is_negative = f.do("icmp slt", bits, "0", "i64")
    v, z = (f.choose(is_negative, f.emit(f"fneg double {x}"), x) for x in (v, z))
    near, rest = f.two_sum(v, z)
    magic = power(f.do("sub", str(-1074 + 52), exponent, "i64"))
    total, lost = f.two_sum(magic, near)
    total = f.add(total, _odd(f, 1, *f.two_sum(lost, rest)))
    ends = [f.cast("bitcast", x, "double", "i64") for x in (total, magic)]
    last = f.do("sub", ends[0], ends[1], "i64")
    f.end(f"ret double {f.cast('bitcast', f.do('or', last, sign, 'i64'), 'i64', 'double')}")
    return f.text
