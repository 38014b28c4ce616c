"""Primitive graphs as text in C and its kin: one row per primitive, and a dialect for each language.

``ROWS`` says what an operation is in C, as instructions.py says what it is to LLVM. ``Dialect`` has what the languages
call differently: types, functions, constants and what must be said so that a compiler keeps IEEE 754's bits. A text is
made of statements, one value each; a value that is used once stands where it is used.

Every operation is one of IEEE 754 or of integers that wrap around. A compiler must neither fuse a product and a sum nor
reorder sums: each dialect says so in its text.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ogive import operations as ops
from ogive.backends.c_support import SUPPORT
from ogive.errors import CompileError, message
from ogive.expression import Expression, Format, node, walk

__all__ = ["CUDA", "ISO_C", "OPENCL", "ROWS", "Dialect", "Text", "bare"]

#: The width of an expression; the operands of a longer one have statements of their own.
WIDTH = 80

#: A call in an expression.
CALL = re.compile(r"\w\(")

#: Operations whose second and third operands are values to choose from.
CHOICES = ("select", "select_rare")

#: Formats without a sign.
UNSIGNED = (Format.U8, Format.U16, Format.U32, Format.U64)

#: What the names of values begin with: so a reader sees the type.
LETTERS = {Format.F32: "f", Format.F64: "d", Format.BIT: "is", Format.F16: "h", Format.BF16: "b"}


@dataclass(frozen=True)
class Dialect:
    """A language: its types, and the names of what IEEE 754 and machines have."""

    name: str
    types: Mapping[Format, str]
    before: str
    """What a text begins with: that sums and products stay apart, and the types."""
    function: str
    """What stands before the result of a function of the text's own."""
    names: Mapping[str, str]
    """Functions by the name that `ROWS` gives them, where the language has them. The others are of c_support.py."""
    table: str
    """What begins the definition of a table of constants."""
    arithmetic: Mapping[str, str]
    """Of floating-point numbers: ``{0} + {1}`` and its kin, by operation and letter of the type (``add f``)."""

    def type(self, form: Format) -> str:
        """The type of a value."""
        return self.types[form]


class Text:
    """The statements that compute values, and the functions that they call.

    ``leaf`` says how a program's inputs, parameters and what rows have found are read.
    """

    def __init__(self, dialect: Dialect, leaf: Callable[[Expression], str]) -> None:
        self.dialect, self.leaf = dialect, leaf
        self.support: dict[str, str] = {}
        """The functions of the text's own that were called, by name, each after those that it calls."""
        self._count = 0

    def named(self, roots: Sequence[Expression]) -> tuple[list[str], dict[Expression, str]]:
        """The statements that compute these values, and the name of each."""
        lines, values = self.statements(roots)
        found = dict(zip(roots, values, strict=True))
        for root, value in found.items():
            if not value.isidentifier() and root.operation != ops.CONSTANT:
                found[root] = self._new_name(root, value, lines)
        return lines, found

    def statements(
        self, roots: Sequence[Expression], known: Mapping[Expression, str] | None = None
    ) -> tuple[list[str], list[str]]:
        """The statements that compute these values, and the expression of each. ``known`` are values that have a name."""
        known = known or {}
        given, count = _settled([*roots, *known]), len(roots)
        roots = given[:count]
        uses: dict[Expression, int] = {}
        for current in walk(*roots):
            for operand in set(current.operands):
                uses[operand] = uses.get(operand, 0) + current.operands.count(operand)
        for root in roots:
            uses[root] = uses.get(root, 0) + 1
        self._lines: list[str] = []
        found: dict[Expression, str] = dict(zip(given[count:], known.values(), strict=True))
        for current in walk(*roots, operands=lambda n: () if n in found else n.operands):
            if current in found:
                continue
            # Compilers vectorise a choice between values, not one between computations; and they take & of two calls for &&.
            if current.operation in CHOICES or current.format is Format.BIT:
                for operand in current.operands[1:]:
                    if current.operation in CHOICES or CALL.search(found[operand]):
                        self._name(operand, found)
            text = self._expression(current, [found[operand] for operand in current.operands])
            while len(text) > WIDTH and (longest := _longest(current, found)) is not None:
                self._name(longest, found)
                text = self._expression(current, [found[operand] for operand in current.operands])
            found[current] = text
            if current.operands and uses[current] > 1:
                self._name(current, found)
        return self._lines, [found[root] for root in roots]

    def _name(self, n: Expression, found: dict[Expression, str]) -> None:
        """Have a value in a statement of its own, unless it is a name or a constant already."""
        if n.operands and not found[n].isidentifier():
            found[n] = self._new_name(n, found[n], self._lines)

    def _new_name(self, n: Expression, value: str, lines: list[str]) -> str:
        self._count += 1
        name = f"{LETTERS.get(n.format, 'i')}{self._count}"
        lines.append(f"const {self.dialect.type(n.format)} {name} = {bare(value)};")
        return name

    def _expression(self, n: Expression, operands: list[str]) -> str:
        if n.operation == "constant":
            return self.literal(n.format, n.attribute)
        if not n.operands:
            return self.leaf(n)
        row = ROWS.get(n.operation)
        if row is None:
            what = f"there is no text for the operation {n.operation}"
            raise CompileError(message(f"ogive.export to {self.dialect.name}", what, "primitive operations"))
        return row(self, n, *operands)

    # ---- pieces of expressions

    def call(self, name: str, *operands: str) -> str:
        """A call of a function, by the name that the dialect has for it, or of one that is written into the text."""
        known = self.dialect.names.get(name)
        if known is None:
            known = self.need(name)
        return f"{known}({', '.join(map(bare, operands))})"

    def need(self, name: str) -> str:
        """Have a function of c_support.py in the text; its name."""
        if name not in self.support:
            called, text = SUPPORT[name]
            for other in called:
                if other not in self.dialect.names:
                    self.need(other)
            self.support[name] = self._translated(text)
        return f"ogive_{name}"

    def table(self, numbers: Sequence[float]) -> str:
        """Have a table of constants in the text; its name."""
        texts = [bare(self.literal(Format.F32, x)) for x in numbers]
        rows = "".join(f"    {', '.join(texts[k : k + 4])},\n" for k in range(0, len(texts), 4))
        if (known := f"table of\n{rows}") not in self.support:
            name = f"ogive_table{sum(key.startswith('table of') for key in self.support)}"
            head = f"{self.dialect.table} {self.dialect.type(Format.F32)} {name}[{len(texts)}]"
            self.support[known] = f"{head} = {{\n{rows}}};\n"
        return self.support[known].partition("[")[0].rpartition(" ")[2]

    def written(self, text: str) -> str:
        """A text in the words of c_support.py, in this language; what it calls of these functions stands before it."""
        for name in SUPPORT:
            if f"ogive_{name}(" in text and name not in self.dialect.names:
                self.need(name)
        return self._translated(text)

    def _translated(self, text: str) -> str:
        for name, known in self.dialect.names.items():
            text = text.replace(f"ogive_{name}(", f"{known}(")
        for form in (Format.U64, Format.U32, Format.U16, Format.I64, Format.I32):  # the longer names first
            text = text.replace(_STDINT[form], self.dialect.types[form])
        return text.replace("FUNCTION", self.dialect.function)

    def integer(self, form: Format, text: str) -> str:
        """Integer arithmetic is done without a sign, 32 or 64 bits wide, where C says that it wraps around."""
        return f"({self.dialect.type(form)})({text})"

    def wide(self, form: Format, operand: str) -> str:
        """An operand of such arithmetic."""
        unsigned = self.dialect.type(Format.U64 if form.bits == 64 else Format.U32)
        return f"({unsigned}){operand}"

    def literal(self, form: Format, value: float) -> str:
        """A constant. Floating-point ones are written in hexadecimal: they are exact."""
        if form is Format.BIT:
            return "1" if value else "0"
        if form in (Format.F32, Format.F64):
            return self._real(form, float(value))
        if form is Format.F16:
            return f"0x{struct.unpack('<H', struct.pack('<e', value))[0]:04x}"
        if form is Format.BF16:
            return f"0x{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04x}"
        return _integer_literal(form, int(value), self.dialect.type(form))

    def _real(self, form: Format, value: float) -> str:
        single = form is Format.F32
        if not math.isfinite(value):
            bits = struct.unpack("<I", struct.pack("<f", value))[0] if single else _bits(value)
            cast = self.call("float_of_bits" if single else "double_of_bits", f"0x{bits:x}{'u' if single else 'ull'}")
            return cast.replace("ull", "ul") if self.dialect.name == "OpenCL C" else cast
        text = _decimal(value) or _hexadecimal(value)
        text = text + "f" if single else text
        return f"({text})" if value < 0 or math.copysign(1, value) < 0 else text


def _settled(roots: Sequence[Expression]) -> Sequence[Expression]:
    """The graphs without comparisons that a type decides: no unsigned number is less than zero, each integer equals itself.

    Compilers warn of such comparisons, and of values that only such a choice uses.
    """
    if not any(_decided(current) is not None for current in walk(*roots)):
        return roots
    found: dict[Expression, Expression] = {}
    for current in walk(*roots):
        operands = tuple(found[operand] for operand in current.operands)
        found[current] = _folded(node(current.operation, operands, current.attribute, current.format))
    return [found[root] for root in roots]


def _decided(n: Expression) -> bool | None:
    """Whether a comparison is always true or always false, if its operands' type says so."""
    if n.operation not in (ops.LESS, ops.LESS_EQUAL, ops.EQUAL):
        return None
    a, b = n.operands
    if a is b and a.format.is_integer:  # a floating-point number that is not equal to itself is NaN
        return n.operation != ops.LESS
    if n.operation == ops.LESS and _is(b, 0) and b.format in UNSIGNED:
        return False
    if n.operation == ops.LESS_EQUAL and _is(a, 0) and a.format in UNSIGNED:
        return True
    return None


def _is(n: Expression, value: int) -> bool:
    return n.operation == ops.CONSTANT and bool(n.attribute == value)


def _folded(n: Expression) -> Expression:
    """A node, or what it is where one of its conditions is decided."""
    decided = _decided(n)
    if decided is not None:
        return node(ops.CONSTANT, (), int(decided), Format.BIT)
    if n.operation in CHOICES and n.operands[0].operation == ops.CONSTANT:
        return n.operands[1] if n.operands[0].attribute else n.operands[2]
    if n.format is not Format.BIT:
        return n
    if n.operation == ops.NOT and n.operands[0].operation == ops.CONSTANT:
        return node(ops.CONSTANT, (), int(not n.operands[0].attribute), Format.BIT)
    if n.operation in (ops.AND, ops.OR, ops.EXCLUSIVE_OR):
        a, b = n.operands
        for known, other in ((a, b), (b, a)):
            if _is(known, 0):
                return known if n.operation == ops.AND else other
            if _is(known, 1):
                return {ops.AND: other, ops.OR: known}.get(n.operation) or _folded(
                    node(ops.NOT, (other,), None, Format.BIT)
                )
    return n


def _longest(n: Expression, found: Mapping[Expression, str]) -> Expression | None:
    """The operand whose text is the longest, if it is one that can have a name."""
    some = [operand for operand in n.operands if operand.operands and not found[operand].isidentifier()]
    return max(some, key=lambda operand: len(found[operand]), default=None)


def _bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def _decimal(value: float) -> str:
    """A short number as people write it: 0.5, -3.0."""
    text = repr(value)
    return text if len(text) <= 6 and "e" not in text else ""


def _hexadecimal(value: float) -> str:
    mantissa, _, exponent = value.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}" if "." in mantissa else f"{mantissa}p{exponent}"


def _integer_literal(form: Format, value: int, kind: str) -> str:
    if form.bits == 64:
        suffix = "LL" if form.is_signed else "ULL"
        if kind in ("long", "ulong"):  # long has 64 bits in OpenCL C
            suffix = suffix.replace("LL", "L")
        return f"(-9223372036854775807{suffix} - 1)" if value == -(2**63) else f"({value}{suffix})"
    if form is Format.I32 and value == -(2**31):
        return "(-2147483647 - 1)"
    suffix = "u" if form is Format.U32 else ""
    return f"{value}{suffix}" if value >= 0 else f"({value})"


def bare(text: str) -> str:
    """Without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


# ---- rows

Row = Callable[..., str]


def _arithmetic(symbol: str, operation: ops.Operation) -> Row:
    def row(t: Text, n: Expression, a: str, b: str) -> str:
        form = n.format
        if form.is_float:
            pattern = t.dialect.arithmetic.get(f"{operation} {LETTERS[form]}")
            return pattern.format(bare(a), bare(b)) if pattern else f"({a} {symbol} {b})"
        return t.integer(form, f"{t.wide(form, a)} {symbol} {t.wide(form, b)}")

    return row


def _quotient(symbol: str) -> Row:
    def row(t: Text, n: Expression, a: str, b: str) -> str:
        return t.integer(n.format, f"{a} {symbol} {b}")

    return row


def _bitwise(symbol: str) -> Row:
    def row(t: Text, n: Expression, a: str, b: str) -> str:
        return f"({a} {symbol} {b})" if n.format in WIDE_ENOUGH else t.integer(n.format, f"{a} {symbol} {b}")

    return row


#: C computes shorter integers as int.
WIDE_ENOUGH = (Format.BIT, Format.I32, Format.U32, Format.I64, Format.U64)


def _not(t: Text, n: Expression, a: str) -> str:
    return f"(!{a})" if n.format is Format.BIT else t.integer(n.format, f"~{a}")


def _negate(t: Text, n: Expression, a: str) -> str:
    return f"(-{a})" if n.format.is_float else t.integer(n.format, f"0 - {t.wide(n.format, a)}")


def _absolute(t: Text, n: Expression, a: str) -> str:
    form = n.format
    if form.is_float:
        return t.call(f"fabs_{LETTERS[form]}", a)
    if not form.is_signed:
        return a
    return t.integer(form, f"{a} < 0 ? 0 - {t.wide(form, a)} : {t.wide(form, a)}")


def _function(name: str) -> Row:
    def row(t: Text, n: Expression, *operands: str) -> str:
        return t.call(f"{name}_{LETTERS[n.format]}", *operands)

    return row


def _copy_sign(t: Text, n: Expression, magnitude: str, sign: str) -> str:
    return t.call(f"copysign_{LETTERS[n.format]}", magnitude, sign)


def _compare(symbol: str) -> Row:
    def row(t: Text, n: Expression, a: str, b: str) -> str:
        return f"({a} {symbol} {b})"

    return row


def _select(t: Text, n: Expression, condition: str, a: str, b: str) -> str:
    return f"({condition} ? {a} : {b})"


def _shift_left(t: Text, n: Expression, a: str) -> str:
    return t.integer(n.format, f"{t.wide(n.format, a)} << {n.attribute}")


def _shift_right(t: Text, n: Expression, a: str) -> str:
    return t.integer(n.format, f"{a} >> {n.attribute}")


def _shift_by(symbol: str) -> Row:
    # The result for counts as long as the number is chosen by the program; C may not shift so far.
    def row(t: Text, n: Expression, a: str, b: str) -> str:
        form = n.format
        value = t.wide(form, a) if symbol == "<<" else f"({_unsigned(t, form)}){a}"
        return t.integer(form, f"{value} {symbol} ({b} & {form.bits - 1})")

    return row


def _unsigned(t: Text, form: Format) -> str:
    return t.dialect.type(Format(f"u{form.bits}"))


def _bit_count(t: Text, n: Expression, a: str) -> str:
    return t.integer(n.format, t.call("bit_count", f"({_unsigned(t, n.format)}){a}"))


def _convert(t: Text, n: Expression, a: str) -> str:
    source, result = n.operands[0].format, n.format
    if source is Format.BF16:
        return t.call("float_of_bfloat16", a)
    if source is Format.F16:
        return t.call("float_of_float16", a)
    if result is Format.BF16:
        return t.call("bfloat16_of_float", a)
    if result is Format.F16:
        return t.call("float16_of_float", a)
    return f"(({t.dialect.type(result)}){a})"


def _bitcast(t: Text, n: Expression, a: str) -> str:
    source, result = n.operands[0].format, n.format
    if source in (Format.F32, Format.F64):
        bits = t.call(f"bits_of_{'float' if source is Format.F32 else 'double'}", a)
        return bits if bits.startswith("ogive") and not result.is_signed else f"({t.dialect.type(result)}){bits}"
    if result in (Format.F32, Format.F64):
        return t.call(f"{'float' if result is Format.F32 else 'double'}_of_bits", f"({_unsigned(t, source)}){a}")
    return a if t.dialect.type(source) == t.dialect.type(result) else f"({t.dialect.type(result)}){a}"


def _multiply_to_odd(t: Text, n: Expression, a: str, b: str) -> str:
    return t.call("multiply_to_odd", a, b)


def _table(t: Text, n: Expression, index: str) -> str:
    return f"{t.table(n.attribute)}[{index} & {len(n.attribute) - 1}]"


def _reciprocal_estimate(t: Text, n: Expression, a: str) -> str:
    return _divide(t, n, t.literal(n.format, 1.0), a)


_divide = _arithmetic("/", ops.DIVIDE)

ROWS: dict[str, Row] = {
    "add": _arithmetic("+", ops.ADD),
    "subtract": _arithmetic("-", ops.SUBTRACT),
    "multiply": _arithmetic("*", ops.MULTIPLY),
    "divide": _divide,
    "quotient": _quotient("/"),
    "remainder": _quotient("%"),
    "negate": _negate,
    "absolute": _absolute,
    "square_root": _function("sqrt"),
    "floor": _function("floor"),
    "ceiling": _function("ceil"),
    "truncate": _function("trunc"),
    "round_even": _function("rint"),
    "copy_sign": _copy_sign,
    "fma": _function("fma"),
    "less": _compare("<"),
    "less_equal": _compare("<="),
    "equal": _compare("=="),
    "and": _bitwise("&"),
    "or": _bitwise("|"),
    "exclusive_or": _bitwise("^"),
    "not": _not,
    "select": _select,
    "select_rare": _select,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "bit_shift_left": _shift_by("<<"),
    "bit_shift_right": _shift_by(">>"),
    "bit_count": _bit_count,
    "convert": _convert,
    "bitcast": _bitcast,
    "scale_by_power_of_two": _function("scale"),
    "multiply_to_odd": _multiply_to_odd,
    "table": _table,
    "reciprocal_estimate": _reciprocal_estimate,
}


# ---- dialects

_STDINT = {
    Format.F32: "float",
    Format.F64: "double",
    Format.F16: "uint16_t",
    Format.BF16: "uint16_t",
    Format.BIT: "int",
    **{
        Format(f"{sign}{bits}"): f"{'u' if sign == 'u' else ''}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)
    },
}

_OF_OPENCL = {8: "char", 16: "short", 32: "int", 64: "long"}

_OPENCL_TYPES = _STDINT | {
    Format.F16: "ushort",
    Format.BF16: "ushort",
    **{Format(f"i{bits}"): name for bits, name in _OF_OPENCL.items()},
    **{Format(f"u{bits}"): f"u{name}" for bits, name in _OF_OPENCL.items()},
}

_CUDA_TYPES = _STDINT | {
    Format.F16: "unsigned short",
    Format.BF16: "unsigned short",
    **{
        Format(f"{sign}{bits}"): f"{'unsigned' if sign == 'u' else 'signed'} {name}"
        for sign in "iu"
        for bits, name in {8: "char", 16: "short", 32: "int", 64: "long long"}.items()
    },
}


def _both(name: str, single: str, double: str) -> dict[str, str]:
    return {f"{name}_f": single, f"{name}_d": double}


#: C11 (and C++): gcc, clang and MSVC. What the language has no operator for is a function of the text's own, so that
#: neither a library nor its version can reach the bits.
ISO_C = Dialect(
    "ISO C",
    _STDINT,
    """\
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bits are those of IEEE 754: each operation is rounded once, and none is fused or reordered. */
#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "compile without -ffast-math, for a target that computes float in float and double in double"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__SANITIZE_THREAD__) /* which sees nothing behind this: give it -ffp-contract=off */
#pragma GCC optimize("fp-contract=off", "no-trapping-math", "no-tree-pre")
#elif defined(_MSC_VER)
#include <math.h>
#pragma fp_contract(off)
#pragma float_control(precise, on)
#endif
/* Some functions are for processors without fused multiply-add, and are not called on others. */
#if defined(__GNUC__)
#define OGIVE_INLINE static inline __attribute__((unused))
#define OGIVE_APART __attribute__((noinline))
#define OGIVE_RARE __attribute__((cold))
#else
#define OGIVE_INLINE static inline
#define OGIVE_APART
#define OGIVE_RARE
#endif
""",
    "OGIVE_INLINE",
    {},
    "static const",
    {},
)

OPENCL = Dialect(
    "OpenCL C",
    _OPENCL_TYPES,
    """\
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
""",
    "static inline",
    {
        name: known
        for rows in (
            _both("fabs", "fabs", "fabs"),
            _both("sqrt", "sqrt", "sqrt"),
            _both("floor", "floor", "floor"),
            _both("ceil", "ceil", "ceil"),
            _both("trunc", "trunc", "trunc"),
            _both("rint", "rint", "rint"),
            _both("copysign", "copysign", "copysign"),
            _both("fma", "fma", "fma"),
            {
                "float_of_bits": "as_float",
                "bits_of_float": "as_uint",
                "double_of_bits": "as_double",
                "bits_of_double": "as_ulong",
                "bit_count": "popcount",
            },
        )
        for name, known in rows.items()
    },
    "__constant",
    {},
)

#: By intrinsic functions, which no option of the compiler fuses. The functions of c_support.py are written with operators, and
#: add no product, so there is nothing to fuse in them (tools/compile_cuda.py counts).
CUDA = Dialect(
    "CUDA C++",
    _CUDA_TYPES,
    "typedef long long intptr_t; /* NVIDIA's compiler as a library has no headers */\n",
    "static __device__ inline",
    {
        name: known
        for rows in (
            _both("fabs", "fabsf", "fabs"),
            _both("sqrt", "__fsqrt_rn", "__dsqrt_rn"),
            _both("floor", "floorf", "floor"),
            _both("ceil", "ceilf", "ceil"),
            _both("trunc", "truncf", "trunc"),
            _both("rint", "rintf", "rint"),
            _both("copysign", "copysignf", "copysign"),
            _both("fma", "__fmaf_rn", "__fma_rn"),
            {
                "float_of_bits": "__uint_as_float",
                "bits_of_float": "__float_as_uint",
                "double_of_bits": "__longlong_as_double",
                "bits_of_double": "__double_as_longlong",
                "bit_count": "__popcll",
            },
        )
        for name, known in rows.items()
    },
    "static __device__ const",
    {
        f"{operation} {letter}": f"__{prefix}{word}_rn({{0}}, {{1}})"
        for operation, word in {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"}.items()
        for letter, prefix in {"f": "f", "d": "d"}.items()
    },
)
