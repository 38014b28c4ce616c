"""Primitive graphs as text in C and its kin: one row per primitive; ``dialects.py`` has what the languages call differently.

``ROWS`` says what an operation is in C, as instructions.py says what it is to LLVM. A text is made of statements, one value
each; a value that is used once stands where it is used.

Every operation is one of IEEE 754 or of integers that wrap around. A compiler must neither fuse a product and a sum nor
reorder sums: each dialect says so in its text.
"""

from __future__ import annotations

import math
import re
import struct
import textwrap
from collections.abc import Callable, Mapping, Sequence

from ogive.backends.c_graphs import CHOICES, LOST, LoopOfTurns, loops, settled
from ogive.backends.c_support import SUPPORT
from ogive.backends.dialects import STDINT, Dialect
from ogive.errors import CompileError, message
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, walk

#: The width of an expression; the operands of a longer one have statements of their own.
WIDTH = 96

#: The width of a line of several values.
LINE = 108

#: A call in an expression.
CALL = re.compile(r"\w\(")

#: How a statement of a value begins.
VALUE = re.compile(r" *const \w+ (?=\w+ = )")

#: The beginnings of the names of values: so a reader sees the type.
LETTERS = {Format.F32: "f", Format.F64: "d", Format.BIT: "is", Format.F16: "h", Format.BF16: "b"}


class Text:
    """The statements that compute values, and the functions that they call.

    ``leaf`` says how a program's inputs, parameters and what rows have found are read.
    """

    def __init__(self, dialect: Dialect, leaf: Callable[[Expression], str]) -> None:
        self.dialect, self.leaf = dialect, leaf
        self.support: dict[str, str] = {}
        """The functions of the text's own that were called, by name, each after those that it calls."""
        self.rolls = False
        """Whether loops of the graphs are written as loops: for what is computed rarely, and one element at a time."""
        self._count = 0

    def named(
        self, roots: Sequence[Expression], known: Mapping[Expression, str] | None = None
    ) -> tuple[list[str], dict[Expression, str]]:
        """The statements that compute these values, and the name of each. ``known`` are values that have a name."""
        lines, values = self.statements(roots, known)
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
        given, count = settled([*roots, *known]), len(roots)
        roots = given[:count]
        self._lines: list[str] = []
        found: dict[Expression, str] = dict(zip(given[count:], known.values(), strict=True))
        rolled = loops([*roots, *found]) if self.rolls else {}
        rolled = {n: loop for n, loop in rolled.items() if found.keys().isdisjoint(loop.end)}

        def operands_of(n: Expression) -> Sequence[Expression]:
            return () if n in found else rolled[n].needs if n in rolled else n.operands

        uses: dict[Expression, int] = {}
        for current in walk(*roots, operands=operands_of):
            operands = operands_of(current)
            for operand in set(operands):
                uses[operand] = uses.get(operand, 0) + operands.count(operand)
        for root in roots:
            uses[root] = uses.get(root, 0) + 1
        for current in walk(*roots, operands=operands_of):
            if current in found:
                continue
            if current in rolled:
                self._roll(rolled[current], found)
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

    def _roll(self, loop: LoopOfTurns, found: dict[Expression, str]) -> None:
        """Write a loop. Its values have names, and those at its end keep them."""
        lines, known = self._lines, {}
        for n in loop.needs:
            if n.operands and n not in loop.begin:
                self._name(n, found)
            known[n] = found[n]
        for n, numbers in loop.tables.items():
            self._count += 1
            known[n] = f"c{self._count}[k]"
            lines += self._table(f"c{self._count}", n.format, numbers)
        for n, begin, end in zip(loop.carried, loop.begin, loop.end, strict=True):
            name = self._new_name(end, found[begin], lines, is_fixed=False)
            known[n] = found[end] = name
        inside, values = self.statements(loop.step, known)
        names = [found[end] for end in loop.end]
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            if not value.isidentifier() and any(re.search(rf"\b{name}\b", later) for later in values[k + 1 :]):
                inside.append(f"const {self.dialect.type(loop.end[k].format)} next_{name} = {bare(value)};")
                values[k] = f"next_{name}"
        inside += [f"{name} = {bare(value)};" for name, value in zip(names, values, strict=True)]
        lines += [f"for (int k = 0; k < {loop.turns}; k++) {{", *(f"    {line}" for line in inside), "}"]
        self._lines = lines

    def _table(self, name: str, form: Format, numbers: Sequence[float]) -> list[str]:
        texts = ", ".join(bare(self.literal(form, x)) for x in numbers)
        lines = textwrap.wrap(texts, LINE, break_on_hyphens=False)
        return [
            f"static const {self.dialect.type(form)} {name}[{len(numbers)}] = {{",
            *(f"    {x}" for x in lines),
            "};",
        ]

    def _name(self, n: Expression, found: dict[Expression, str]) -> None:
        """Have a value in a statement of its own, unless it is a name or a constant already."""
        if n.operands and not found[n].isidentifier():
            found[n] = self._new_name(n, found[n], self._lines)

    def _new_name(self, n: Expression, value: str, lines: list[str], *, is_fixed: bool = True) -> str:
        self._count += 1
        name = f"{LETTERS.get(n.format, 'i')}{self._count}"
        lines.append(f"{'const ' if is_fixed else ''}{self.dialect.type(n.format)} {name} = {bare(value)};")
        return name

    def _expression(self, n: Expression, operands: list[str]) -> str:
        if n.operation == "constant":
            return self.literal(n.format, n.attribute)
        if not n.operands:
            return self.leaf(n)
        row = ROWS.get(n.operation) if n.operation != LOST else _lost_of_a_sum
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
            text = text.replace(STDINT[form], self.dialect.types[form])
        return text.replace("FUNCTION", self.dialect.function)

    def integer(self, form: Format, text: str) -> str:
        """Integer arithmetic is done without a sign, 32 or 64 bits wide, where C says that it wraps around."""
        return f"({self.dialect.type(form)})({text})"

    def wide(self, form: Format, operand: str) -> str:
        """An operand of such arithmetic."""
        unsigned = self.dialect.type(Format.U64 if form.bits == 64 else Format.U32)
        bits = operand.removeprefix(f"({self.dialect.type(form)})")
        return bits if form.bits >= 32 and bits.startswith("ogive_bits_of_") else f"({unsigned}){operand}"

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
        return _integer_literal(form, int(value), self.dialect.long.upper())

    def _real(self, form: Format, value: float) -> str:
        single = form is Format.F32
        if not math.isfinite(value):
            bits = struct.unpack("<I", struct.pack("<f", value))[0] if single else _bits(value)
            suffix = "u" if single else f"u{self.dialect.long}"
            return self.call("float_of_bits" if single else "double_of_bits", f"0x{bits:x}{suffix}")
        text = _decimal(value) or _hexadecimal(value)
        text = text + "f" if single else text
        return f"({text})" if value < 0 or math.copysign(1, value) < 0 else text


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


def _integer_literal(form: Format, value: int, long: str) -> str:
    if form.bits == 64:
        suffix = long if form.is_signed else f"U{long}"
        text = f"-9223372036854775807{suffix} - 1" if value == -(2**63) else f"{value}{suffix}"
        return text if value >= 0 else f"({text})"
    if form is Format.I32 and value == -(2**31):
        return "(-2147483647 - 1)"
    suffix = "u" if form is Format.U32 else ""
    return f"{value}{suffix}" if value >= 0 else f"({value})"


def joined(lines: Sequence[str]) -> list[str]:
    """The statements with values of one type on one line, as many as fit."""
    found: list[str] = []
    for line in lines:
        kind = VALUE.match(line)
        if kind and found and found[-1].startswith(kind[0]) and len(found[-1]) + len(line) - len(kind[0]) < LINE:
            found[-1] = f"{found[-1][:-1]}, {line[len(kind[0]) :]}"
        else:
            found.append(line)
    return found


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
        if form in (Format.U32, Format.U64):
            return f"({a} {symbol} {b})"
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
    if n.format in (Format.U32, Format.U64):
        return f"({a} << {n.attribute})"
    return t.integer(n.format, f"{t.wide(n.format, a)} << {n.attribute}")


def _shift_right(t: Text, n: Expression, a: str) -> str:
    if n.format in (Format.U32, Format.U64):
        return f"({a} >> {n.attribute})"
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
        plain = "" if t.dialect.kernel is None else "plain_"
        bits = t.call(f"{plain}bits_of_{'float' if source is Format.F32 else 'double'}", a)
        return bits if bits.startswith("ogive") and not result.is_signed else f"({t.dialect.type(result)}){bits}"
    if result in (Format.F32, Format.F64):
        return t.call(f"{'float' if result is Format.F32 else 'double'}_of_bits", f"({_unsigned(t, source)}){a}")
    return a if t.dialect.type(source) == t.dialect.type(result) else f"({t.dialect.type(result)}){a}"


def _lost_of_a_sum(t: Text, n: Expression, a: str, b: str, total: str) -> str:
    return t.call(LOST, a, b, total)


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
