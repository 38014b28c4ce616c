"""The only emitter: a primitive graph as LLVM IR, one row per primitive.

The kernel is a loop over blocks of elements, after one that takes several blocks at a time: the instructions of one
block wait for each other, those of several fill the gaps. Nodes that depend on parameters alone are computed once,
as scalars, before it. There is no fast-math flag, no contraction and no call of a library function anywhere.
"""

from __future__ import annotations

import math
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ogive.codegen.target import Target
from ogive.expression import Expression, Format, walk
from ogive.transform.cost import eager_operands, varying
from ogive.transform.lower import STORAGE, Program, Reduction
from ogive.transform.rowwise import EXTREMES

__all__ = ["block_size", "emit", "entries"]

TYPES = {
    Format.F16: "half",
    Format.BF16: "i16",
    Format.F32: "float",
    Format.F64: "double",
    Format.BIT: "i1",
    **{f: f"i{f.bits}" for f in Format if f.is_integer},
}


#: Some processors of the highest level are tuned for half its width; the full one is faster on all we measured.
ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'


def block_size(program: Program) -> int:
    """How many elements the code takes at least; it computes multiples of that.

    As many as fill a register of 64 bytes with the widest format of which there is more than a little. Many operands
    make it smaller, because incomplete blocks are staged in a buffer of 32 KiB.
    """
    formats = Counter(current.format.bits for current in varying(program.roots))
    widest = max((bits for bits, count in formats.items() if 4 * count > max(formats.values())), default=8)
    lanes = 64 * 8 // max(widest, 8)
    bytes_per_element = sum(t.itemsize for t in (*program.inputs, *program.outputs))
    while lanes * bytes_per_element > 32768:
        lanes //= 2
    return lanes


#: What has to divide the addresses of outputs that are written past the caches.
STREAM_ALIGNMENT = 64

#: Registers that a value fills in the loop over several blocks; and of the longest ones, of which there are 32, as many
#: as hold these elements: with 64 numbers of float64 at a time instead of 32, mish takes 16 % less time, gelu, tan and
#: acosh 8 to 14 %, most others 2 to 7 %; softplus takes 10 % more. Where more values than that are needed at one time,
#: too many would be put aside in memory: atanh, with 8, and swiglu, with 6.5, would take 25 % more.
REGISTERS_AT_A_TIME, ELEMENTS_AT_A_TIME, MOST_VALUES = 4, 64, 6

#: How far ahead of their use operands are asked for, where all of them together have so many bytes or results go past
#: the caches. Closer ones are there anyway: asking takes sums of 2**16 float32 a sixth more time.
BYTES_FETCHED_AHEAD, BYTES_FROM_AFAR = 4096, 1 << 21

#: Fused programs of more instructions take half as many: 200 nodes one after the other compile in 160 ms so, in place of
#: 210, and run in 1.8 ms for 65,536 elements, in place of 0.9; one register would be 100 and 3.4.
LONG_PROGRAM = 500


def _blocks_at_a_time(program: Program, target: Target) -> int:
    """How many blocks the first loop takes at a time; 1 if there is none."""
    registers = REGISTERS_AT_A_TIME
    wanted = ELEMENTS_AT_A_TIME // block_size(program)
    if wanted > registers and target.vector_bytes == 64 and _values_at_one_time(program) <= MOST_VALUES:
        registers = wanted
    if program.size > LONG_PROGRAM:
        registers //= 2
    return max(2 if _adds_pairs(program) else 1, registers * target.vector_bytes // 64)


def _adds_pairs(program: Program) -> bool:
    return any(reduction.in_pairs for stage in program.stages for reduction in stage.reductions)


def _values_at_one_time(program: Program) -> float:
    """How many values of the widest format are needed later at most, if nodes are computed in the order of the graph."""
    among = varying(program.roots)
    order = [n for n in walk(*program.roots, operands=eager_operands) if n in among]
    last_use = {operand: n for n in order for operand in eager_operands(n)} | dict.fromkeys(program.roots)
    ended: dict[Expression | None, float] = defaultdict(float)
    lanes = block_size(program)
    current = most = 0.0
    for n in order:
        size = 0.0 if n.operation == "bitcast" or n.format is Format.BIT else n.format.bits * lanes / 512
        ended[last_use[n]] += size
        current += size
        most = max(most, current)
        current -= ended[n]
    return most


def entries(program: Program) -> list[str]:
    """The names of the functions that `emit` defines: one per stage, and the one that computes the results."""
    return [f"stage{i}" for i in range(len(program.stages) + 1)]


#: How many rows a stage takes at most. Number i of row r lies at ROWS_AT_ONCE * i + r of their records.
ROWS_AT_ONCE = 16

#: How many numbers a stage may compute for all its rows at once; they follow the findings of all stages.
MOST_AHEAD = 16


def _slot(program: Program, stage: int) -> int:
    """Where in a row's record the findings of a stage begin: behind the parameters and those before it."""
    return program.parameter_count + 2 * sum(len(s.reductions) for s in program.stages[:stage])


def _alignment(form: Format) -> int:
    return max(form.bits // 8, 1)


@dataclass(frozen=True)
class _Loop:
    """One of the loops of a function, which take up the elements one after the other."""

    name: str
    width: int
    """Elements of a turn."""
    begin: str
    """Where it begins: the limit of the loop before it."""
    after: str
    """The block after it."""
    group: int = 1
    """What has to divide the number of elements of all turns."""
    is_incomplete: bool = False
    """Whether a turn reaches beyond the last element."""

    @property
    def check(self) -> str:
        """The block before it, which finds whether there is anything for it to do."""
        return f"before.{self.name}"

    @property
    def limit(self) -> str:
        return "%count" if self.is_incomplete else f"%limit.{self.name}"


def _loops(program: Program, target: Target) -> list[_Loop]:
    """Over several blocks at a time, over single ones, and over the incomplete last one, where there may be one."""
    block, at_a_time, has_rest = block_size(program), _blocks_at_a_time(program, target), bool(program.stages)
    rest = [_Loop("rest", block, "%limit.block", "done", is_incomplete=True)] if has_rest else []
    # What is added in pairs must not depend on how many blocks a target takes at a time.
    group = max(block * REGISTERS_AT_A_TIME, ELEMENTS_AT_A_TIME) if _adds_pairs(program) else block * at_a_time
    several = [_Loop("blocks", block * at_a_time, "0", "before.block", group)] if at_a_time > 1 else []
    single = _Loop("block", block, "%limit.blocks" if several else "0", "before.rest" if rest else "done", block)
    return [*several, single, *rest]


def emit(program: Program, target: Target) -> str:
    """The module whose functions (`entries`) compute a program for a multiple of `block_size` elements."""
    emitters = [_Emitter(target, block_size(program), program) for _ in entries(program)]
    functions = [
        emitter.function(name, i) for i, (emitter, name) in enumerate(zip(emitters, entries(program), strict=True))
    ]
    declarations = {text: None for emitter in emitters for text in emitter.declarations.values()}
    header = [f'target triple = "{target.triple}"', *declarations]
    footer = [f"attributes #0 = {{ {ATTRIBUTES} }}", '!0 = !{!"branch_weights", i32 1, i32 1000}', "!1 = !{i32 1}"]
    return "\n".join([*header, *functions, *footer, ""])


@dataclass
class _Emitter:
    """Writes one function."""

    target: Target
    block: int
    program: Program
    lines: list[str] = field(default_factory=list)
    invariant_lines: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    names: dict[Expression, str] = field(default_factory=dict)
    scalars: dict[Expression, str] = field(default_factory=dict)
    counter: int = 0
    lanes: int = 1
    """Of what is being emitted: 1 for invariant nodes."""
    after_loop: bool = False
    label: str = "entry"
    """Of the basic block that is being emitted."""
    at: str = ""
    """The number of elements before those that are being emitted."""
    is_ahead: bool = False
    """Whether a lane is a row."""
    between: bool = False
    """Whether this is a stage of rows neither first nor last."""
    valid: str = ""
    """Which lanes lie before the end of the row, in code for a row's last, incomplete block."""

    # ---- the function

    def function(self, name: str, stage: int) -> str:
        """The text of a stage, or of what computes the results."""
        program = self.program
        self.between = 0 < stage < len(program.stages)
        if stage < len(program.stages):
            reductions, stored = program.stages[stage].reductions, program.stages[stage].kept
        else:
            reductions, stored = (), tuple(enumerate(program.results, start=len(program.inputs)))
        roots = [*(reduction.value for reduction in reductions), *(value for _, value in stored)]
        operand_types = [*(STORAGE[t.name] for t in (*program.inputs, *program.outputs)), *program.scratch]
        differing = varying(roots)
        ahead = _ahead(roots, differing)
        head = self._head(name, len(operand_types), self._ahead(ahead))
        for i, current in enumerate(ahead):
            kind = TYPES[current.format]
            first = ROWS_AT_ONCE * (_slot(program, len(program.stages)) + i)
            address = self.emit(f"getelementptr double, ptr %records, i64 {first}")
            address = self.emit(f"getelementptr {kind}, ptr {address}, i64 %row")
            self.scalars[current] = self.emit(f"load {kind}, ptr {address}, align {_alignment(current.format)}")
        for current in walk(*roots, operands=lambda n: () if n in self.scalars else n.operands):
            if current not in differing and current not in self.scalars:
                self._node(current)
        found = [_Accumulator(self, i, reduction) for i, reduction in enumerate(reductions)]
        loops = _loops(program, self.target)
        lines, before, last = [], "", ""
        for loop in loops:
            lines.append(f"{loop.check}:")
            if before:
                lines += [line for accumulator in found for line in accumulator.joints(loop.check, before, last)]
            if not loop.is_incomplete:
                lines.append(f"  {loop.limit} = and i64 %count, {-loop.group}")
            lines += [
                f"  %some.{loop.name} = icmp ult i64 {loop.begin}, {loop.limit}",
                f"  br i1 %some.{loop.name}, label %{loop.name}, label %{loop.after}",
                *self._loop(loop, roots, stored, operand_types, found),
            ]
            before, last = loop.check, self.label
        lines.append("done:")
        for accumulator in found:
            lines += accumulator.joints("done", before, last)
        for accumulator in found:
            lines += accumulator.finish(_slot(program, stage))
        start = [*self.invariant_lines, f"  br label %{loops[0].check}"]
        return "\n".join([*head, *start, *lines, *self._foot()])

    def _ahead(self, nodes: Sequence[Expression]) -> list[str]:
        """What differs from row to row only, for all rows at once, into their records."""
        if not nodes:
            return []
        block, self.block, self.label, self.is_ahead = self.block, ROWS_AT_ONCE, "entry", True
        differing = varying(nodes, ("row_value",))
        for current in walk(*nodes):
            if current not in differing:
                self._node(current)
        self.lanes = self.block
        self._region(nodes, differing)
        for i, current in enumerate(nodes):
            slot = _slot(self.program, len(self.program.stages)) + i
            self.lines.append(self._store(self.value(current), self.record(slot), current.format))
        lines = [*self.invariant_lines, *self.lines]
        self.block, self.lanes, self.is_ahead = block, 1, False
        self.lines, self.invariant_lines, self.names, self.scalars = [], [], {}, {}
        return lines

    def _loop(
        self,
        loop: _Loop,
        roots: Sequence[Expression],
        stored: Sequence[tuple[int, Expression]],
        operand_types: Sequence[Format],
        found: Sequence[_Accumulator],
    ) -> list[str]:
        """One of the loops over the elements."""
        block = self.block
        self.block = self.lanes = loop.width
        self.lines, self.names, self.label, self.at = [], {}, loop.name, f"%at.{loop.name}"
        self.valid = self.valid_lanes() if loop.is_incomplete else ""
        if loop.width > block:
            self._fetch_ahead(operand_types)
        self._region(roots, varying(roots))
        places = [(self.value(result), self.address(i, operand_types[i]), operand_types[i]) for i, result in stored]
        if loop.width > block and not self.program.stages:
            streamed = [self._store(*place, STREAM_ALIGNMENT) for place in places]
            self.lines += [
                "  br i1 %stream, label %streamed, label %cached",
                *("streamed:", *streamed, "  br label %stored"),
                *("cached:", *(self._store(*place) for place in places), "  br label %stored"),
                "stored:",
            ]
            self.label = "stored"
        else:
            self.lines += [self._store(*place) for place in places]
        for accumulator in found:
            accumulator.accumulate(loop.name, block)
        self.block, self.valid = block, ""
        return [
            f"{loop.name}:",
            f"  {self.at} = phi i64 [ {loop.begin}, %{loop.check} ], [ %next.{loop.name}, %{self.label} ]",
            *(line for accumulator in found for line in accumulator.phis(loop.name, loop.check, self.label)),
            *self.lines,
            f"  %next.{loop.name} = add nuw i64 {self.at}, {loop.width}",
            f"  %more.{loop.name} = icmp ult i64 %next.{loop.name}, {loop.limit}",
            f"  br i1 %more.{loop.name}, label %{loop.name}, label %{loop.after}",
        ]

    def _fetch_ahead(self, operand_types: Sequence[Format]) -> None:
        """Have memory work while this computes.

        Operands that come from afar are asked for some turns before: 2**24 elements of short formulas take 5 to 20 %
        less time so, a chain of four operands 18 %. Between the first stage of rows and the last, which
        have little to compute, those of the next rows and the results are: 1,024 rows of 1,024 take 6 to 10 % less, 32
        of 128,256 15 to 25 %.
        """
        inputs = len(self.program.inputs)
        if not self.program.stages:
            self.lines += ["  br i1 %from_afar, label %fetch, label %fetched", "fetch:"]
            for operand, form in enumerate(operand_types[:inputs]):
                self._fetch(operand, form, str(BYTES_FETCHED_AHEAD))
            self.lines += ["  br label %fetched", "fetched:"]
            self.label = "fetched"
        elif self.between:
            for operand, form in enumerate(operand_types[: inputs + len(self.program.outputs)]):
                is_result = operand >= inputs
                distance = "0" if is_result else self.emit_scalar(f"mul i64 %rows, %step{operand}")
                self._fetch(operand, form, distance, is_result=is_result)

    def _fetch(self, operand: int, form: Format, distance: str, *, is_result: bool = False) -> None:
        """Ask for the lines of the cache so many bytes behind the elements. There need not be any memory."""
        self.declarations["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        begin = self.emit_scalar(f"getelementptr i8, ptr {self.address(operand, form)}, i64 {distance}")
        for offset in range(0, self.block * form.bits // 8, 64):
            line = self.emit_scalar(f"getelementptr i8, ptr {begin}, i64 {offset}")
            self.lines.append(f"  call void @llvm.prefetch.p0(ptr {line}, i32 {int(is_result)}, i32 3, i32 1)")

    def _head(self, name: str, operands: int, ahead: Sequence[str]) -> list[str]:
        """The beginning of the function. One that is a stage of rows has a loop over them."""
        slots = [f"  %slot{k} = getelementptr ptr, ptr %operands, i64 {k}" for k in range(operands)]
        if not self.program.stages:
            loads = [f"  %operand{k} = load ptr, ptr %slot{k}, align 8" for k in range(operands)]
            parameters = "ptr %operands, i64 %count, ptr %values, i1 zeroext %stream"
            bits = sum(STORAGE[t.name].bits for t in (*self.program.inputs, *self.program.outputs))
            return [
                *(f"define void @{name}({parameters}) #0 {{", "begin:", *slots, *loads),
                f"  %many = icmp ugt i64 %count, {BYTES_FROM_AFAR * 8 // bits}",
                "  %from_afar = or i1 %many, %stream",
            ]
        parameters = "ptr %operands, i64 %count, ptr %records, i64 %rows, ptr %steps, i64 %first"
        lines = [f"define void @{name}({parameters}) #0 {{", "entry:", *slots]
        for k in range(operands):
            lines += [
                f"  %base{k} = load ptr, ptr %slot{k}, align 8",
                f"  %place{k} = getelementptr i64, ptr %steps, i64 {k}",
                f"  %step{k} = load i64, ptr %place{k}, align 8",
            ]
        lines += [
            *ahead,
            "  br label %begin",
            "begin:",
            f"  %row = phi i64 [ 0, %{self.label} ], [ %next.row, %done ]",
            "  %values = getelementptr double, ptr %records, i64 %row",
        ]
        for k in range(operands):
            lines += [
                f"  %offset{k} = mul i64 %row, %step{k}",
                f"  %operand{k} = getelementptr i8, ptr %base{k}, i64 %offset{k}",
            ]
        return lines

    def _foot(self) -> list[str]:
        if not self.program.stages:
            return ["  ret void", "}"]
        return [
            "  %next.row = add nuw i64 %row, 1",
            "  %more.rows = icmp ult i64 %next.row, %rows",
            "  br i1 %more.rows, label %begin, label %end",
            "end:",
            "  ret void",
            "}",
        ]

    def _store(self, value: str, address: str, form: Format, alignment: int = 0) -> str:
        """A store of results; with an alignment, past the caches."""
        kind = self.type(form)
        if alignment:
            return f"  store {kind} {value}, ptr {address}, align {alignment}, !nontemporal !1"
        if not self.valid:
            return f"  store {kind} {value}, ptr {address}, align {_alignment(form)}"
        name = self._masked("store", form, f"declare void @{{}}({{}}, ptr, i32, <{self.block} x i1>)")
        mask = f"<{self.block} x i1> {self.valid}"
        return f"  call void @{name}({kind} {value}, ptr {address}, i32 {_alignment(form)}, {mask})"

    def load(self, address: str, form: Format) -> str:
        """The elements that are being computed; zeros beyond the end of a row."""
        kind = self.type(form)
        if not self.valid:
            return self.emit(f"load {kind}, ptr {address}, align {_alignment(form)}")
        name = self._masked("load", form, f"declare {{1}} @{{0}}(ptr, i32, <{self.block} x i1>, {{1}})")
        mask = f"<{self.block} x i1> {self.valid}"
        return self.emit(f"call {kind} @{name}(ptr {address}, i32 {_alignment(form)}, {mask}, {kind} zeroinitializer)")

    def _masked(self, what: str, form: Format, declaration: str) -> str:
        """The name of LLVM's masked load or store, declared."""
        suffix = f"v{self.block}" + {"half": "f16", "float": "f32", "double": "f64"}.get(TYPES[form], TYPES[form])
        name = f"llvm.masked.{what}.{suffix}.p0"
        self.declarations[name] = declaration.format(name, self.type(form))
        return name

    def address(self, operand: int, form: Format) -> str:
        """Of the elements that are being computed."""
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
        suffix = f"{'f' if form.is_float else 'i'}{form.bits}"
        full = f"llvm.{name}.{suffix}" if self.lanes == 1 else f"llvm.{name}.v{self.block}{suffix}"
        kind = self.type(form)
        self.declarations[full] = f"declare {kind} @{full}({', '.join([kind] * len(arguments))})"
        return self.emit(f"call {kind} @{full}({', '.join(f'{kind} {a}' for a in arguments)})")

    def emit_scalar(self, text: str) -> str:
        """One instruction on scalars behind what is being emitted."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    # ---- rows

    def record(self, slot: int) -> str:
        """The address of a number of the rows' records: of the first row where all are computed at once."""
        if not self.program.stages:
            return self.emit(f"getelementptr double, ptr %values, i64 {slot}")
        base = "%records" if self.is_ahead else "%values"
        return self.emit(f"getelementptr double, ptr {base}, i64 {ROWS_AT_ONCE * slot}")

    def lane_numbers(self, kind: str) -> str:
        return f"<{', '.join(f'{kind} {i}' for i in range(self.block))}>"

    def valid_lanes(self) -> str:
        """Which lanes lie before the end of the row."""
        left = self.emit_scalar(f"sub i64 %count, {self.at}")
        short = self.emit_scalar(f"trunc i64 {left} to i32")
        vector = f"<{self.block} x i32>"
        return self.emit(f"icmp slt {vector} {self.lane_numbers('i32')}, {self.spread(vector, f'i32 {short}')}")

    def spread(self, vector: str, scalar: str) -> str:
        """A scalar in all lanes."""
        one = self.emit_scalar(f"insertelement {vector} poison, {scalar}, i64 0")
        return self.emit_scalar(f"shufflevector {vector} {one}, {vector} poison, <{self.block} x i32> zeroinitializer")

    def position(self) -> str:
        """The positions of the elements in the row, in float64."""
        at = self.emit_scalar(f"add i64 {self.at}, %first")
        at = self.emit_scalar(f"sitofp i64 {at} to double")
        vector = f"<{self.block} x double>"
        lanes = f"<{', '.join(f'double {float(i)}' for i in range(self.block))}>"
        return self.emit(f"fadd {vector} {self.spread(vector, f'double {at}')}, {lanes}")

    # ---- nodes

    def _region(self, roots: Sequence[Expression], differing: set[Expression]) -> None:
        """What the roots need: in the current block, but for what only rare values need."""
        eager = set(walk(*roots, operands=eager_operands))
        groups = _rare_groups(roots, eager & differing)

        def together(current: Expression) -> list[Expression]:
            return [operand for member in groups.get(current, (current,)) for operand in member.operands]

        for current in walk(*roots, operands=together):
            if current in eager and current in differing and current not in self.names:
                if current in groups:
                    self._rare(groups[current], differing)
                else:
                    self._node(current)

    def _rare(self, group: tuple[Expression, ...], differing: set[Expression]) -> None:
        """Selects with one condition: their rare values in a block that is entered if any lane needs them."""
        condition = self.value(group[0].operands[0])
        lanes = self.emit(f"bitcast {self.type(Format.BIT)} {condition} to i{self.block}")
        any_lane = self.emit(f"icmp ne i{self.block} {lanes}, 0")
        before, rare, after = self.label, self.fresh()[1:], self.fresh()[1:]
        self.lines += [f"  br i1 {any_lane}, label %{rare}, label %{after}, !prof !0", f"{rare}:"]
        self.label = rare
        known = dict(self.names)
        self._region([member.operands[1] for member in group], differing)
        chosen = [_select(self, member, *map(self.value, member.operands)) for member in group]
        self.lines += [f"  br label %{after}", f"{after}:"]
        # What the rare block computed is known only there.
        self.names = {n: name for n, name in self.names.items() if n in known or n not in differing}
        last, self.label = self.label, after
        for member, name in zip(group, chosen, strict=True):
            common = self.value(member.operands[2])
            self.names[member] = self.emit(
                f"phi {self.type(member.format)} [ {name}, %{last} ], [ {common}, %{before} ]"
            )

    def _node(self, current: Expression) -> None:
        if current.operation == "constant":
            return
        operands = [self.value(operand) for operand in current.operands]
        name = ROWS[current.operation](self, current, *operands)
        (self.scalars if self.lanes == 1 else self.names)[current] = name


def _ahead(roots: Sequence[Expression], differing: set[Expression]) -> list[Expression]:
    """The numbers that a stage computes for all its rows at once: what elements meet that depends on the row."""
    of_rows = varying(roots, ("row_value",)) - differing
    met = {operand: None for current in walk(*roots) if current in differing for operand in current.operands}
    met |= dict.fromkeys(roots)
    return [n for n in met if n in of_rows and n.operands and n.format in (Format.F32, Format.F64)][:MOST_AHEAD]


def _rare_groups(roots: Sequence[Expression], among: set[Expression]) -> dict[Expression, tuple[Expression, ...]]:
    """For each rare select, those that share its block: of the same condition, and none depends on another."""
    depth: dict[Expression, int] = {}
    shared: dict[tuple[Expression, int], list[Expression]] = {}
    for current in walk(*roots):
        is_rare = current.operation == "select_rare"
        depth[current] = max((depth[operand] for operand in current.operands), default=0) + is_rare
        if is_rare and current in among:
            # Equal depth: no member is below another, and no two groups can each be below the other.
            shared.setdefault((current.operands[0], depth[current]), []).append(current)
    return {member: tuple(members) for members in shared.values() for member in members}


class _Accumulator:
    """One reduction of a stage: vectors that the loop carries, and the fixed tree that joins their lanes.

    Lane i takes elements i, i + block, i + 2 block, ... in order, or sums of two neighbours of them; then the upper half
    of the lanes is joined with the lower half until one is left. What is left is stored as two float64.
    """

    def __init__(self, emitter: _Emitter, index: int, reduction: Reduction) -> None:
        kind, value = reduction.kind, reduction.value
        self.e, self.index, self.kind, self.value = emitter, index, kind, value
        self.is_extreme = kind in EXTREMES
        self.is_count = kind == "row_sum" and _counts(value)
        self.in_pairs = reduction.in_pairs and not self.is_count
        # A segment has few enough elements to count them in float32.
        self.form = value.format if self.is_extreme or self.is_count else Format.F64
        # What the loop adds: truth values of a count, positions of a first one.
        self.taken_form = Format.BIT if self.is_count else self.form if kind == "row_first" else value.format
        # Of a sum in float64 what rounding lost is summed beside it; beside extremes, NaN is kept.
        is_compensated = kind == "row_sum" and value.format is Format.F64 and not self.is_count
        self.parts = 2 if self.is_extreme or is_compensated else 1
        self.neutral = {"row_max": -math.inf, "row_sum": 0.0}.get(kind, math.inf)
        self.before: list[str] = []
        """The totals that the next loop begins with; none if there was no loop."""
        self.following: list[str] = []
        """What they are after a turn of the loop."""

    def _names(self, label: str) -> list[str]:
        return [f"%total{self.index}.{part}.{label}" for part in range(self.parts)]

    def _starts(self) -> list[str]:
        return [self.e.literal(self.form, self.neutral), self.e.literal(self.form, 0.0)][: self.parts]

    def accumulate(self, loop: str, block: int) -> None:
        """What a turn of the loop adds: a block after the other, in the order of the elements."""
        e = self.e
        width, taken, form = e.block, self._taken(), self.taken_form
        blocks = [
            taken if width == block else self._slice(form, taken, width, start, block)
            for start in range(0, width, block)
        ]
        e.block = e.lanes = block
        if self.in_pairs and len(blocks) > 1:
            blocks = [e.binary("fadd", form, a, b) for a, b in zip(blocks[::2], blocks[1::2], strict=True)]
        totals = self._names(loop)
        if self.is_extreme:
            totals = self._with_extremes(totals, blocks)
        else:
            add = self._counted if self.is_count else self._joined_value
            for part in blocks:
                totals = add(totals, part)
        e.block = e.lanes = width
        self.following = totals

    def _slice(self, form: Format, value: str, width: int, start: int, count: int) -> str:
        whole, mask = f"<{width} x {TYPES[form]}>", ", ".join(f"i32 {i}" for i in range(start, start + count))
        return self.e.emit(f"shufflevector {whole} {value}, {whole} poison, <{count} x i32> <{mask}>")

    def phis(self, loop: str, before: str, last: str) -> list[str]:
        """The totals at the beginning of a turn."""
        begin = self.before or self._starts()
        return self._phis(loop, zip(begin, self.following, strict=True), before, last)

    def joints(self, label: str, before: str, last: str) -> list[str]:
        """The totals behind a loop that may have been left out."""
        begin = self.before or self._starts()
        lines = self._phis(label, zip(begin, self.following, strict=True), before, last)
        self.before = self.following = self._names(label)
        return lines

    def _phis(self, label: str, values: Iterable[tuple[str, str]], before: str, last: str) -> list[str]:
        kept = self.e.type(self.form)
        return [
            f"  {name} = phi {kept} [ {a}, %{before} ], [ {b}, %{last} ]"
            for name, (a, b) in zip(self._names(label), values, strict=True)
        ]

    def _taken(self) -> str:
        """What the loop adds, and the neutral value in lanes beyond the end of the row; of a count, what is counted."""
        e = self.e
        if self.is_count:
            value = e.value(self.value.operands[0])
            return e.binary("and", Format.BIT, value, e.valid) if e.valid else value
        value = e.value(self.value)
        if self.kind == "row_first":
            condition_ = e.binary("and", Format.BIT, value, e.valid) if e.valid else value
            return e.choose(condition_, Format.F64, e.position(), e.literal(Format.F64, self.neutral))
        if e.valid:
            value = e.choose(e.valid, self.value.format, value, e.literal(self.value.format, self.neutral))
        return value

    def _joined_value(self, totals: list[str], value: str) -> list[str]:
        e, form = self.e, self.form
        if self.taken_form is not form:
            value = e.cast("fpext", value, self.taken_form, form)
        return self._joined(totals, [value, e.literal(form, 0.0)][: self.parts])

    def _counted(self, totals: list[str], what_counts: str) -> list[str]:
        e, form = self.e, self.form
        return [e.choose(what_counts, form, e.binary("fadd", form, totals[0], e.literal(form, 1.0)), totals[0])]

    def _with_extremes(self, totals: list[str], blocks: list[str]) -> list[str]:
        """Of equal ones the first is kept, in whatever order they are compared. NaN is found two blocks at a time."""
        e, form, kind = self.e, self.form, self.e.type(self.form)
        unordered = [
            e.emit(f"fcmp uno {kind} {a}, {b}") for a, b in zip(blocks[::2], blocks[1::2] or blocks, strict=True)
        ]
        while len(blocks) > 1:
            blocks = [self._extreme(a, b) for a, b in zip(blocks[::2], blocks[1::2], strict=True)]
        while len(unordered) > 1:
            unordered = [e.binary("or", Format.BIT, a, b) for a, b in zip(unordered[::2], unordered[1::2], strict=True)]
        nan = e.choose(unordered[0], form, e.literal(form, math.nan), totals[1])
        return [self._extreme(totals[0], blocks[0]), nan]

    def _extreme(self, a: str, b: str) -> str:
        e, kind = self.e, self.e.type(self.form)
        is_beyond = e.emit(f"fcmp {'ogt' if self.kind == 'row_max' else 'olt'} {kind} {b}, {a}")
        return e.choose(is_beyond, self.form, b, a)

    def _joined(self, a: list[str], b: list[str]) -> list[str]:
        """Both together, by lane."""
        e, form = self.e, self.form
        if self.kind == "row_first":
            is_before = e.emit(f"fcmp olt {e.type(form)} {b[0]}, {a[0]}")
            return [e.choose(is_before, form, b[0], a[0])]
        if self.is_extreme:
            return [self._extreme(a[0], b[0])]
        total = e.binary("fadd", form, a[0], b[0])
        if self.parts == 1:
            return [total]
        # TwoSum, with the corrections summed beside it.
        t = e.binary("fsub", form, total, a[0])
        lost_a = e.binary("fsub", form, a[0], e.binary("fsub", form, total, t))
        lost = e.binary("fadd", form, lost_a, e.binary("fsub", form, b[0], t))
        lost = e.binary("fadd", form, lost, b[1])
        return [total, e.binary("fadd", form, a[1], lost)]

    def finish(self, slot: int) -> list[str]:
        """The lines after the loops: what was found goes to its slot in the row's record."""
        e, form = self.e, self.form
        e.after_loop = True
        e.lines, values, width, block = [], list(self.following), e.block, e.block
        any_nan = ""
        if self.is_extreme:
            nan = values.pop()
            lanes = e.emit(f"fcmp uno {e.type(form)} {nan}, {nan}")
            any_nan = e.emit_scalar(f"icmp ne i{width} {e.emit(f'bitcast <{width} x i1> {lanes} to i{width}')}, 0")
        while width > 1:
            half = width // 2
            halves = [[self._slice(form, v, width, start, half) for v in values] for start in (0, half)]
            e.block = e.lanes = width = half
            if half == 1:
                halves = [[e.emit_scalar(f"extractelement <1 x {TYPES[form]}> {v}, i64 0") for v in h] for h in halves]
            values = self._joined(*halves)
        if self.is_count and not self.value.operands[1].attribute:  # all the others were counted
            all_of_them = e.emit_scalar(f"uitofp i64 %count to {TYPES[form]}")
            values = [e.emit_scalar(f"fsub {TYPES[form]} {all_of_them}, {values[0]}")]
        if any_nan:
            kind = TYPES[form]
            values = [e.emit_scalar(f"select i1 {any_nan}, {kind} {e.literal(form, math.nan)}, {kind} {values[0]}")]
        for part in range(2):
            value = values[part] if part < len(values) else "0x0000000000000000"
            if part < len(values) and form is Format.F32:
                value = e.emit_scalar(f"fpext float {value} to double")
            number = slot + 2 * self.index + part
            place = e.emit_scalar(f"getelementptr double, ptr %values, i64 {ROWS_AT_ONCE * number}")
            e.lines.append(f"  store double {value}, ptr {place}, align 8")
        e.block = e.lanes = block
        return e.lines


def _counts(value: Expression) -> bool:
    """Whether this is 1 where a condition holds, or where it does not, and 0 elsewhere."""
    return (
        value.operation == "select"
        and all(o.operation == "constant" for o in value.operands[1:])
        and ({o.attribute for o in value.operands[1:]} == {0.0, 1.0})
    )


# ---- one row per primitive

Row = Callable[..., str]


def _input(e: _Emitter, n: Expression) -> str:
    return e.load(e.address(n.attribute, n.format), n.format)


def _parameter(e: _Emitter, n: Expression) -> str:
    return e.emit(f"load double, ptr {e.record(n.attribute[0])}, align 8")


def _row_value(e: _Emitter, n: Expression) -> str:
    index, part = n.attribute
    address = e.record(e.program.parameter_count + 2 * index + part)
    return e.emit(f"load {e.type(n.format)}, ptr {address}, align 8")


def _row_position(e: _Emitter, n: Expression) -> str:
    return e.position()


def _arithmetic(floating: str, integer: str) -> Row:
    def row(e: _Emitter, n: Expression, a: str, b: str) -> str:
        return e.binary(floating if n.format.is_float else integer, n.format, a, b)

    return row


def _divide(e: _Emitter, n: Expression, a: str, b: str) -> str:
    return e.binary("fdiv", n.format, a, b)


def _integer(signed: str, unsigned: str) -> Row:
    def row(e: _Emitter, n: Expression, a: str, b: str) -> str:
        return e.binary(signed if n.format.is_signed else unsigned, n.format, a, b)

    return row


def _negate(e: _Emitter, n: Expression, a: str) -> str:
    if n.format.is_float:
        return e.emit(f"fneg {e.type(n.format)} {a}")
    return e.binary("sub", n.format, e.literal(n.format, 0), a)


def _absolute(e: _Emitter, n: Expression, a: str) -> str:
    if n.format.is_float:
        return e.call("fabs", n.format, a)
    if not n.format.is_signed:
        return a
    negative = e.emit(f"icmp slt {e.type(n.format)} {a}, {e.literal(n.format, 0)}")
    return e.choose(negative, n.format, e.binary("sub", n.format, e.literal(n.format, 0), a), a)


def _intrinsic(name: str) -> Row:
    def row(e: _Emitter, n: Expression, *operands: str) -> str:
        return e.call(name, n.format, *operands)

    return row


def _copy_sign(e: _Emitter, n: Expression, magnitude: str, sign: str) -> str:
    form = n.format
    zero = n.operands[0]
    if zero.operation != "constant" or zero.attribute:
        return e.call("copysign", form, magnitude, sign)
    integer = Format.I32 if form is Format.F32 else Format.I64
    bits = e.cast("bitcast", sign, form, integer)  # two instructions less than LLVM has for it
    return e.cast("bitcast", e.binary("and", integer, bits, e.literal(integer, -(1 << (form.bits - 1)))), integer, form)


def _compare(floating: str, signed: str, unsigned: str) -> Row:
    def row(e: _Emitter, n: Expression, a: str, b: str) -> str:
        form = n.operands[0].format
        predicate = f"fcmp {floating}" if form.is_float else f"icmp {signed if form.is_signed else unsigned}"
        return e.emit(f"{predicate} {e.type(form)} {a}, {b}")

    return row


def _bitwise(instruction: str) -> Row:
    def row(e: _Emitter, n: Expression, a: str, b: str) -> str:
        return e.binary(instruction, n.format, a, b)

    return row


def _not(e: _Emitter, n: Expression, a: str) -> str:
    return e.binary("xor", n.format, a, e.literal(n.format, 1 if n.format is Format.BIT else -1))


def _select(e: _Emitter, n: Expression, condition: str, a: str, b: str) -> str:
    return e.choose(condition, n.format, a, b)


def _shift_left(e: _Emitter, n: Expression, a: str) -> str:
    return e.binary("shl", n.format, a, e.literal(n.format, n.attribute))


def _shift_right(e: _Emitter, n: Expression, a: str) -> str:
    return e.binary("ashr" if n.format.is_signed else "lshr", n.format, a, e.literal(n.format, n.attribute))


def _bitcast(e: _Emitter, n: Expression, a: str) -> str:
    source = n.operands[0].format
    return a if TYPES[source] == TYPES[n.format] else e.cast("bitcast", a, source, n.format)


def _rounding(name: str) -> Row:
    def row(e: _Emitter, n: Expression, a: str) -> str:
        return e.call(name, n.format, a) if e.target.has_rounding else _rounded_by_addition(e, n, name, a)

    return row


def _rounded_by_addition(e: _Emitter, n: Expression, name: str, a: str) -> str:
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


def _scale(e: _Emitter, n: Expression, a: str, exponent: str) -> str:
    form = n.format
    if e.target.has_scale and e.lanes * form.bits >= 128:
        return _scale_by_instruction(e, form, a, exponent, e.block)
    if e.target.has_scale and e.lanes == 1:  # on the first lane of a short register
        lanes = 128 // form.bits
        vector = f"<{lanes} x {TYPES[form]}>"
        a, exponent = (
            e.emit(f"insertelement {vector} zeroinitializer, {TYPES[form]} {v}, i64 0") for v in (a, exponent)
        )
        scaled = _scale_by_instruction(e, form, a, exponent, lanes)
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


def _scale_by_instruction(e: _Emitter, form: Format, a: str, exponent: str, block: int) -> str:
    """AVX-512 scales with one rounding, on registers of up to 64 bytes; longer blocks are taken apart."""
    width = min(512, block * form.bits)
    lanes = width // form.bits
    kind = f"<{lanes} x {TYPES[form]}>"
    name = f"llvm.x86.avx512.mask.scalef.{'ps' if form is Format.F32 else 'pd'}.{width}"
    # A mask of all lanes; and on the longest registers 4, the rounding mode of the environment.
    mask_type, ending = f"i{max(lanes, 8)}", ", i32 4" if width == 512 else ""
    parameters = f"{kind}, {kind}, {kind}, {mask_type}{', i32' if ending else ''}"
    e.declarations[name] = f"declare {kind} @{name}({parameters})"
    whole = f"<{block} x {TYPES[form]}>"
    parts: list[str] = []
    for start in range(0, block, lanes):
        x, y = a, exponent
        if block > lanes:
            mask = ", ".join(f"i32 {i}" for i in range(start, start + lanes))
            x, y = (
                e.emit(f"shufflevector {whole} {v}, {whole} poison, <{lanes} x i32> <{mask}>") for v in (a, exponent)
            )
        operands = f"{kind} {x}, {kind} {y}, {kind} zeroinitializer, {mask_type} -1{ending}"
        parts.append(e.emit(f"call {kind} @{name}({operands})"))
    while len(parts) > 1:
        mask = ", ".join(f"i32 {i}" for i in range(2 * lanes))
        joined = []
        for x, y in zip(parts[::2], parts[1::2], strict=True):
            joined.append(
                e.emit(
                    f"shufflevector <{lanes} x {TYPES[form]}> {x}, <{lanes} x {TYPES[form]}> {y}, <{2 * lanes} x i32> <{mask}>"
                )
            )
        parts, lanes = joined, 2 * lanes
    return parts[0]


def _convert(e: _Emitter, n: Expression, a: str) -> str:
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


def _single_to_bfloat(e: _Emitter, a: str) -> str:
    """To nearest even in integers. NaN is canonical when it comes here, and stays NaN."""
    bits = e.cast("bitcast", a, Format.F32, Format.U32)
    last = e.binary(
        "and", Format.U32, e.binary("lshr", Format.U32, bits, e.literal(Format.U32, 16)), e.literal(Format.U32, 1)
    )
    rounded = e.binary("add", Format.U32, e.binary("add", Format.U32, bits, e.literal(Format.U32, 0x7FFF)), last)
    return e.cast("trunc", e.binary("lshr", Format.U32, rounded, e.literal(Format.U32, 16)), Format.U32, Format.U16)


def _half_to_single(e: _Emitter, a: str) -> str:
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


def _single_to_half(e: _Emitter, a: str) -> str:
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
}
