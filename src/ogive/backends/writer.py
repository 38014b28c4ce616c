"""The writers of instructions: lines of LLVM IR, for as many lanes as are being computed at a time."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ogive.backends.target import Target
from ogive.graph.expression import Expression, Format
from ogive.lowering.program import Program

TYPES = {
    Format.F16: "half",
    Format.BF16: "i16",
    Format.F32: "float",
    Format.F64: "double",
    Format.BIT: "i1",
    **{f: f"i{f.bits}" for f in Format if f.is_integer},
}

#: Writes the instructions of a primitive: of the writer, the node and its operands makes the name of the value.
Row = Callable[..., str]

#: How many rows a stage takes at most. Number i of row r lies at ROWS_AT_ONCE * i + r of their records.
ROWS_AT_ONCE = 16


def natural_alignment(form: Format) -> int:
    """The bytes of an element, which divide its address."""
    return max(form.bits // 8, 1)


def first_finding(program: Program) -> int:
    """The slot of a row's record at which the stages' numbers begin: behind the parameters and the row's length."""
    return program.parameter_count + 1


@dataclass
class Writer:
    """The lines of one function so far, and the names of what they compute."""

    rows_of_block: ClassVar[int] = 1
    """How many rows the elements of a block belong to."""
    target: Target
    block: int
    program: Program
    rows: Mapping[str, Row]
    """The writer of each primitive on the target (llvm.py)."""
    lines: list[str] = field(default_factory=list)
    invariant_lines: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    """Tables and functions of the module's own that instructions use."""
    names: dict[Expression, str] = field(default_factory=dict)
    scalars: dict[Expression, str] = field(default_factory=dict)
    counter: int = 0
    lanes: int = 1
    """The number of lanes that are being emitted: 1 for invariant nodes."""
    after_loop: bool = False
    at: str = ""
    """The number of elements before those that are being emitted."""
    is_ahead: bool = False
    """Whether a lane is a row."""
    valid: str = ""
    """The lanes that lie before the end of the row, in code for a row's last, incomplete block."""
    undecided: str = ""
    """The lanes whose results are undecided, in code that flags them."""

    # ---- memory

    def store(self, value: str, address: str, form: Format, alignment: int = 0) -> str:
        """A store of results; with an alignment, past the caches."""
        kind = self.type(form)
        if alignment:
            return f"  store {kind} {value}, ptr {address}, align {alignment}, !nontemporal !1"
        if self.undecided:
            return self._store_decided(value, address, form)
        if not self.valid:
            return f"  store {kind} {value}, ptr {address}, align {natural_alignment(form)}"
        name = self._masked("store", form, f"declare void @{{}}({{}}, ptr, i32, <{self.block} x i1>)")
        mask = f"<{self.block} x i1> {self.valid}"
        return f"  call void @{name}({kind} {value}, ptr {address}, i32 {natural_alignment(form)}, {mask})"

    def _store_decided(self, value: str, address: str, form: Format) -> str:
        """A store of decided results. The place of other operands stays: that may be the operands which they are computed of again.

        A load under a mask and a store take less time than a store under a mask, which is what LLVM makes of them where it knows that
        both places are one.
        """
        kind, align = f"<{self.block} x i{form.bits}>", natural_alignment(form)
        mask, begin = f"<{self.block} x i1> {self.undecided}", len(self.lines)
        if self.type(form) != kind:
            value = self.emit(f"bitcast {self.type(form)} {value} to {kind}")
        place = self.emit_scalar(f"getelementptr i8, ptr {address}, i64 %nothing")
        kept = self.emit(f"load {kind}, ptr {place}, align {align}")
        value = self.emit(f"select {mask}, {kind} {kept}, {kind} {value}")
        stored = f"  store {kind} {value}, ptr {address}, align {align}"
        lines = [*self.lines[begin:], stored]
        del self.lines[begin:]
        return "\n".join(lines)

    def load(self, address: str, form: Format) -> str:
        """The elements that are being computed; zeros beyond the end of a row."""
        kind = self.type(form)
        if not self.valid:
            return self.emit(f"load {kind}, ptr {address}, align {natural_alignment(form)}")
        name = self._masked("load", form, f"declare {{1}} @{{0}}(ptr, i32, <{self.block} x i1>, {{1}})")
        mask = f"<{self.block} x i1> {self.valid}"
        return self.emit(
            f"call {kind} @{name}(ptr {address}, i32 {natural_alignment(form)}, {mask}, {kind} zeroinitializer)"
        )

    def _masked(self, what: str, form: Format, declaration: str) -> str:
        """The name of LLVM's masked load or store, declared."""
        suffix = f"v{self.block}" + {"half": "f16", "float": "f32", "double": "f64"}.get(TYPES[form], TYPES[form])
        name = f"llvm.masked.{what}.{suffix}.p0"
        self.declarations[name] = declaration.format(name, self.type(form))
        return name

    def address(self, operand: int, form: Format) -> str:
        """The addresses of the elements that are being computed."""
        return self.emit(f"getelementptr {TYPES[form]}, ptr %operand{operand}, i64 {self.at}")

    # ---- values

    def type(self, form: Format) -> str:
        return TYPES[form] if self.lanes == 1 else f"<{self.block} x {TYPES[form]}>"

    def literal(self, form: Format, value: float) -> str:
        """A constant of the format, for as many lanes as are being emitted."""
        if form is Format.BIT:
            text = "true" if value else "false"
        elif form in (Format.F32, Format.F64):
            text = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"
        else:
            text = str(int(value))
        return text if self.lanes == 1 else f"splat ({TYPES[form]} {text})"

    def value(self, current: Expression) -> str:
        """The name of a node's value, with as many lanes as are being emitted."""
        if current.operation == "constant":
            return self.literal(current.format, current.attribute)
        if self.lanes == 1:
            return self.scalars[current]
        if current in self.names:
            return self.names[current]
        # An invariant scalar that the loop uses: spread over the lanes before it.
        vector = f"<{self.block} x {TYPES[current.format]}>"
        one, spread = self.fresh(), self.fresh()
        self.invariant_lines.append(
            f"  {one} = insertelement {vector} poison, {TYPES[current.format]} {self.scalars[current]}, i64 0"
        )
        self.invariant_lines.append(
            f"  {spread} = shufflevector {vector} {one}, {vector} poison, <{self.block} x i32> zeroinitializer"
        )
        self.names[current] = spread
        return spread

    def fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def emit(self, text: str) -> str:
        """One instruction; the name of its result."""
        name = self.fresh()
        lines = self.invariant_lines if self.lanes == 1 and not self.after_loop else self.lines
        lines.append(f"  {name} = {text}")
        return name

    def binary(self, instruction: str, form: Format, a: str, b: str) -> str:
        return self.emit(f"{instruction} {self.type(form)} {a}, {b}")

    def cast(self, instruction: str, a: str, source: Format, result: Format) -> str:
        return self.emit(f"{instruction} {self.type(source)} {a} to {self.type(result)}")

    def less(self, form: Format, a: str, b: str) -> str:
        return self.emit(f"fcmp olt {self.type(form)} {a}, {b}")

    def choose(self, condition: str, form: Format, a: str, b: str) -> str:
        return self.emit(f"select {self.type(Format.BIT)} {condition}, {self.type(form)} {a}, {self.type(form)} {b}")

    def call(self, name: str, form: Format, *arguments: str) -> str:
        """A call of an LLVM intrinsic that is overloaded by the type of its operands."""
        return self.emit(self.calling(self.intrinsic(name, form, len(arguments)), form, *arguments))

    def intrinsic(self, name: str, form: Format, arguments: int) -> str:
        """The full name of such an intrinsic, which is declared."""
        suffix = f"{'f' if form.is_float else 'i'}{form.bits}"
        full = f"llvm.{name}.{suffix}" if self.lanes == 1 else f"llvm.{name}.v{self.block}{suffix}"
        kind = self.type(form)
        self.declarations[full] = f"declare {kind} @{full}({', '.join([kind] * arguments)})"
        return full

    def calling(self, function: str, form: Format, *arguments: str) -> str:
        """The instruction that calls a function of numbers of a format."""
        kind = self.type(form)
        return f"call {kind} @{function}({', '.join(f'{kind} {argument}' for argument in arguments)})"

    def emit_scalar(self, text: str) -> str:
        """One instruction on scalars behind what is being emitted."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def any_lane(self, condition: str, lanes: int | None = None) -> str:
        """Whether a condition holds in any lane."""
        lanes = lanes or self.block
        bits = self.emit(f"bitcast <{lanes} x {TYPES[Format.BIT]}> {condition} to i{lanes}")
        return self.emit(f"icmp ne i{lanes} {bits}, 0")

    # ---- parts of registers' length

    def shuffled(self, form: Format, a: str, b: str, width: int, lanes: Sequence[int]) -> str:
        """These lanes of two registers, which have so many each."""
        kind, mask = f"<{width} x {TYPES[form]}>", ", ".join(f"i32 {i}" for i in lanes)
        return self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{mask}>")

    def slice(self, form: Format, value: str, width: int, start: int, count: int) -> str:
        """So many lanes of a register from one on."""
        return self.shuffled(form, value, "poison", width, range(start, start + count))

    def taken_apart(self, form: Format, value: str, lanes: int) -> list[str]:
        """The lanes in parts of so many."""
        if self.block == lanes:
            return [value]
        return [self.slice(form, value, self.block, start, lanes) for start in range(0, self.block, lanes)]

    def put_together(self, form: Format, parts: Sequence[str], lanes: int) -> str:
        """The lanes of parts of so many."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.shuffled(form, a, b, lanes, range(2 * lanes)) for a, b in pairs]
            lanes *= 2
        return parts[0]

    # ---- rows

    def record(self, slot: int) -> str:
        """The address of a number of the rows' records: of the first row where all are computed at once."""
        if self.is_ahead:
            return self.first_record(slot)
        number = ROWS_AT_ONCE * slot if self.program.stages else slot
        return self.emit(f"getelementptr double, ptr %values, i64 {number}")

    def first_record(self, slot: int) -> str:
        """The address of a number of the first row's record; those of the other rows follow it."""
        return self.emit(f"getelementptr double, ptr %records, i64 {ROWS_AT_ONCE * slot}")

    def lane_numbers(self, kind: str) -> str:
        return f"<{', '.join(f'{kind} {i}' for i in range(self.block))}>"

    def valid_lanes(self) -> str:
        """The lanes that lie before the end of the row."""
        left = self.emit_scalar(f"sub i64 %count, {self.at}")
        short = self.emit_scalar(f"trunc i64 {left} to i32")
        vector = f"<{self.block} x i32>"
        return self.emit(f"icmp slt {vector} {self.lane_numbers('i32')}, {self.spread(vector, f'i32 {short}')}")

    def spread(self, vector: str, scalar: str) -> str:
        """A scalar in all lanes."""
        one = self.emit_scalar(f"insertelement {vector} poison, {scalar}, i64 0")
        return self.emit_scalar(f"shufflevector {vector} {one}, {vector} poison, <{self.block} x i32> zeroinitializer")

    def position(self) -> str:
        """The positions of the elements in their rows, in float64."""
        at = self.emit_scalar(f"add i64 {self.at}, %first")
        at = self.emit_scalar(f"sitofp i64 {at} to double")
        vector = f"<{self.block} x double>"
        lanes = f"<{', '.join(f'double {float(i // self.rows_of_block)}' for i in range(self.block))}>"
        return self.emit(f"fadd {vector} {self.spread(vector, f'double {at}')}, {lanes}")
