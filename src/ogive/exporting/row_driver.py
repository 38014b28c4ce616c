"""The loop of exported row-wise code: the counterpart of runtime/native/rows.c, in LLVM's language.

``@NAME.run.LEVEL(operands, rows, steps, begin, end, count, values, scratch)`` computes rows [begin, end) of ``count``
elements: the distances from row to row and from element to element in bytes. Up to 16 rows are taken at a time, stage by
stage. A longer row is cut into segments, each reduced by the code, and the segments are combined one after the other:
the same segments, and the same sums, as in rows.c. Rows whose elements lie apart are gathered first.

All memory is the caller's: records of the rows, the kernel's own rows, and those that are gathered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ogive.backends.function_text import FunctionText
from ogive.backends.reductions import ASIDE
from ogive.backends.row_records import MOST_AHEAD
from ogive.backends.target import Target
from ogive.backends.writer import ROWS_AT_ONCE, first_finding
from ogive.exporting.driver import copied
from ogive.exporting.interface import Interface

__all__ = ["run_function", "scratch_bytes"]

#: Elements of a segment, as in rows.c: sums of longer rows follow from it.
SEGMENT = 16384

#: How often a stage runs at most that uses what it has found, as in rows.c.
MOST_TURNS = 2048

#: Bytes of a row of all records together.
RECORD = 8 * ROWS_AT_ONCE


def _record_size(interface: Interface) -> int:
    stages = interface.program.stages
    findings = sum(len(stage.reductions) for stage in stages)
    aside = max(len(stage.reductions) for stage in stages)
    return first_finding(interface.program) + 2 * findings + MOST_AHEAD + 2 + ASIDE * max(aside, 1)


def _row_bytes(f: FunctionText, count: str, size: int) -> str:
    """Of a gathered row: whole lines of the cache and one more, so that not all rows compete for the same lines."""
    lines = f.do("and", f.do("add", f.do("mul", count, str(size)), "63"), "-64")
    return f.do("add", lines, "64")


def _at_a_time(f: FunctionText, count: str) -> str:
    return f.choose(f.do("icmp sgt", count, str(SEGMENT)), "1", str(ROWS_AT_ONCE))


def _buffered(interface: Interface) -> list[int]:
    """The sizes of elements of the rows that lie in the scratch memory."""
    gathered = [operand.type.itemsize for operand in interface.operands if not operand.of_row]
    return [*gathered, *(form.bits // 8 for form in interface.program.scratch)]


def scratch_bytes(f: FunctionText, interface: Interface, count: str) -> str:
    """How much scratch memory rows of so many elements need, at any address."""
    rows = "0"
    for size in _buffered(interface):
        rows = f.do("add", rows, _row_bytes(f, count, size))
    rows = f.do("mul", rows, _at_a_time(f, count))
    return f.do("add", rows, str(64 + 64 + RECORD * _record_size(interface)))


def run_function(interface: Interface, target: Target, prefix: str) -> str:
    """The text of the loop, for the kernel whose entries begin with ``prefix``."""
    return _Run(interface, target, prefix).text()


class _Run:
    def __init__(self, interface: Interface, target: Target, prefix: str) -> None:
        self.interface, self.target, self.prefix = interface, target, prefix
        self.program, self.operands = interface.program, interface.operands
        self.all = len(self.operands) + len(self.program.scratch)
        head = "(ptr %operands, ptr %rows, ptr %steps, i64 %begin, i64 %end, i64 %count, ptr %values, ptr %scratch)"
        self.f = FunctionText(f"define internal void @{prefix}run{head} nounwind noinline")

    def text(self) -> str:
        f, pointer = self.f, self.target.pointer_bytes
        self.pointers = f.emit(f"alloca [{self.all} x ptr], align {pointer}")
        self.row_steps = f.emit(f"alloca [{self.all} x i64], align 8")
        reductions = max(len(stage.reductions) for stage in self.program.stages)
        self.totals = f.emit(f"alloca [{2 * reductions} x double], align 8")
        self.moved = f.emit(f"alloca [{self.all} x ptr], align {pointer}")
        self.unused = f.emit("alloca i64, align 8")
        if any(stage.repeats for stage in self.program.stages):
            self.goes_on = f.emit("alloca i64, align 8")
            self.before = f.emit(f"alloca [{2 * reductions * ROWS_AT_ONCE} x i64], align 8")
        self._records()
        self.bases = [f.load("ptr", f.item("ptr", "%operands", k), pointer) for k in range(len(self.operands))]
        self.between = [f.load("i64", f.item("i64", "%rows", k), 8) for k in range(len(self.operands))]
        self.steps = [f.load("i64", f.item("i64", "%steps", k), 8) for k in range(len(self.operands))]
        apart = "false"
        for operand, step in zip(self.operands, self.steps, strict=True):
            if not operand.of_row:
                apart = f.do("or", apart, f.do("icmp ne", step, str(operand.type.itemsize)), "i1")
        self.apart = f.do("and", apart, f.do("icmp sgt", "%count", "1"), "i1")
        self.is_long = f.do("icmp sgt", "%count", str(SEGMENT))
        at_a_time = _at_a_time(f, "%count")
        with f.loop("%begin", "%end", at_a_time) as at:
            left = f.do("sub", "%end", at)
            rows = f.choose(f.do("icmp slt", left, at_a_time), left, at_a_time)
            self._group(at, rows)
        f.end("ret void")
        return f.text

    def _records(self) -> None:
        """Clear the records, and put the parameters and the length of the rows into them."""
        f, size = self.f, _record_size(self.interface)
        address = f.cast("ptrtoint", "%scratch", "ptr", "i64")
        ahead = f.do("and", f.do("sub", "0", address), "63")
        self.records = f.at("%scratch", ahead)
        with f.loop("0", str(size * ROWS_AT_ONCE), "1") as i:
            f.store("double", "0.0", f.item("double", self.records, i), 8)
        count = f.cast("sitofp", "%count", "i64", "double")
        parameters = self.program.parameter_count
        with f.loop("0", str(ROWS_AT_ONCE), "1") as row:
            for slot in range(parameters):
                value = f.load("double", f.item("double", "%values", slot), 8)
                place = f.item("double", self.records, f.do("add", row, str(ROWS_AT_ONCE * slot)))
                f.store("double", value, place, 8)
            place = f.item("double", self.records, f.do("add", row, str(ROWS_AT_ONCE * parameters)))
            f.store("double", count, place, 8)
        self.rows_memory = f.at(self.records, str(RECORD * size))

    # ---- some rows

    def _group(self, at: str, rows: str) -> None:
        f = self.f
        memory, places, strides = self.rows_memory, [], []
        buffers: list[tuple[str, str]] = []
        for k, operand in enumerate(self.operands):
            place = f.at(self.bases[k], f.do("mul", at, self.between[k]))
            places.append(place)
            if operand.of_row:
                buffers.append((place, self.between[k]))
                continue
            row = _row_bytes(f, "%count", operand.type.itemsize)
            buffers.append((memory, row))
            memory = f.at(memory, f.do("mul", rows, row))
        for k, operand in enumerate(self.operands):
            lies = f.choose(self.apart, buffers[k][0], places[k], "ptr")
            strides.append(f.choose(self.apart, buffers[k][1], self.between[k]))
            self._point(k, lies, strides[-1])
            if operand.is_input and not operand.of_row:
                with f.when(self.apart):
                    self._copied(k, buffers[k], (places[k], self.between[k]), rows, is_gathered=True)
        for k, form in enumerate(self.program.scratch, start=len(self.operands)):
            row = _row_bytes(f, "%count", form.bits // 8)
            self._point(k, memory, row)
            memory = f.at(memory, f.do("mul", rows, row))
        with f.when(f.do("xor", self.is_long, "true", "i1")):
            for stage in range(len(self.program.stages) + 1):
                with self._turns(stage):
                    self._stage(stage, self.pointers, "%count", rows, "0")
        with f.when(self.is_long):
            self._long_row()
        for k, operand in enumerate(self.operands):
            if not operand.is_input and not operand.of_row:
                with f.when(self.apart):
                    self._copied(k, buffers[k], (places[k], self.between[k]), rows, is_gathered=False)

    def _point(self, k: int, place: str, step: str) -> None:
        self.f.store("ptr", place, self.f.item("ptr", self.pointers, k), self.target.pointer_bytes)
        self.f.store("i64", step, self.f.item("i64", self.row_steps, k), 8)

    def _copied(self, k: int, buffer: tuple[str, str], place: tuple[str, str], rows: str, *, is_gathered: bool) -> None:
        f, size = self.f, self.operands[k].type.itemsize
        with f.loop("0", rows, "1") as row:
            together = f.at(buffer[0], f.do("mul", row, buffer[1])), str(size)
            apart = f.at(place[0], f.do("mul", row, place[1])), self.steps[k]
            copied(f, size, *((together, apart) if is_gathered else (apart, together)), "%count")

    def _stage(self, stage: int, pointers: str, count: str, rows: str, first: str) -> None:
        self.f.line(
            f"call void @{self.prefix}stage{stage}(ptr {pointers}, i64 {count}, ptr {self.records}, "
            f"i64 {rows}, ptr {self.row_steps}, i64 {first})"
        )

    @contextmanager
    def _turns(self, stage: int) -> Iterator[None]:
        """A stage, once; or until it finds the same numbers twice, zeros before the first time."""
        f, stages = self.f, self.program.stages
        if stage == len(stages) or not stages[stage].repeats:
            yield
            return
        first = ROWS_AT_ONCE * (first_finding(self.program) + 2 * sum(len(s.reductions) for s in stages[:stage]))
        size = str(2 * len(stages[stage].reductions) * ROWS_AT_ONCE)
        with f.loop("0", size, "1") as i:
            f.store("i64", "0", f.item("i64", self.before, i), 8)
            f.store("i64", "0", f.item("i64", self.records, f.do("add", i, str(first))), 8)
        f.store("i64", "1", self.goes_on, 8)
        with f.loop("0", str(MOST_TURNS), "1"), f.when(f.do("icmp ne", f.load("i64", self.goes_on, 8), "0")):
            yield
            f.store("i64", "0", self.goes_on, 8)
            with f.loop("0", size, "1") as i:
                found = f.load("i64", f.item("i64", self.records, f.do("add", i, str(first))), 8)
                place = f.item("i64", self.before, i)
                with f.when(f.do("icmp ne", found, f.load("i64", place, 8))):
                    f.store("i64", "1", self.goes_on, 8)
                    f.store("i64", found, place, 8)

    # ---- one long row

    def _long_row(self) -> None:
        kinds = [[r.kind for r in stage.reductions] for stage in self.program.stages]
        ends_early = all(operand.of_row for operand in self.operands if not operand.is_input)
        slot = first_finding(self.program)
        for stage, reductions in enumerate([*kinds, []]):
            end = str(SEGMENT) if not reductions and ends_early else "%count"
            with self._turns(stage):
                self._segments(stage, reductions, slot, end)
            slot += 2 * len(reductions)

    def _segments(self, stage: int, reductions: list[str], slot: int, end: str) -> None:
        f = self.f
        repeats = stage < len(self.program.stages) and self.program.stages[stage].repeats
        numbers = range(2 * len(reductions) if repeats else 0)
        known = [f.load("double", self._found(slot + i), 8) for i in numbers]  # from the turn before
        with f.loop("0", end, str(SEGMENT)) as first:
            left = f.do("sub", "%count", first)
            count = f.choose(f.do("icmp slt", left, str(SEGMENT)), left, str(SEGMENT))
            self._move(first)
            for i, value in zip(numbers, known, strict=True):
                f.store("double", value, self._found(slot + i), 8)
            self._stage(stage, self.moved, count, "1", first)
            for number, kind in enumerate(reductions):
                if kind != "row_rest":
                    words = 4 if reductions[number + 1 : number + 2] == ["row_rest"] else 2
                    self._combine(kind, number, words, slot + 2 * number, f.do("icmp eq", first, "0"))
        for number in range(len(reductions)):
            for part in range(2):
                total = f.load("double", f.item("double", self.totals, 2 * number + part), 8)
                f.store("double", total, self._found(slot + 2 * number + part), 8)

    def _move(self, first: str) -> None:
        """Point at a segment. A number of the row is written with the first one: the others have the same."""
        f, pointer = self.f, self.target.pointer_bytes
        sizes = [*(o.type.itemsize for o in self.operands), *(form.bits // 8 for form in self.program.scratch)]
        for k, size in enumerate(sizes):
            place = f.load("ptr", f.item("ptr", self.pointers, k), pointer)
            if k >= len(self.operands) or not self.operands[k].of_row:
                place = f.at(place, f.do("mul", first, str(size)))
            elif not self.operands[k].is_input:
                place = f.choose(f.do("icmp eq", first, "0"), place, self.unused, "ptr")
            f.store("ptr", place, f.item("ptr", self.moved, k), pointer)

    def _found(self, slot: int) -> str:
        return self.f.item("double", self.records, ROWS_AT_ONCE * slot)

    def _combine(self, kind: str, number: int, words: int, slot: int, is_first: str) -> None:
        """The total of the segments before, and of this one: `combined` of rows.c."""
        f = self.f
        places = [f.item("double", self.totals, 2 * number + part) for part in range(words)]
        before = [f.load("double", place, 8) for place in places]
        found = [f.load("double", self._found(slot + part), 8) for part in range(words)]
        together = _together(f, kind, before, found)
        for place, total, one in zip(places, together, found, strict=True):
            f.store("double", f.choose(is_first, one, total, "double"), place, 8)


#: How integers are combined.
WHOLE = {"whole_sum": "add", "whole_product": "mul", "whole_max": "icmp sgt", "whole_min": "icmp slt"}

#: Splits a float64 into two halves of 26 bits.
SPLITTER = "0x41a0000002000000"


def _product(f: FunctionText, a: list[str], b: list[str]) -> list[str]:
    """Mantissas and exponents, and the low words and what was lost, if there are any: `combined_products` of rows.c."""

    def do(instruction: str, x: str, y: str) -> str:
        return f.do(instruction, x, y, "double")

    def halves(x: str) -> tuple[str, str]:
        shifted = do("fmul", x, SPLITTER)
        high = do("fsub", shifted, do("fsub", shifted, x))
        return high, do("fsub", x, high)

    product = do("fmul", a[0], b[0])
    bits = f.cast("bitcast", product, "double", "i64")
    field = f.do("and", f.do("lshr", bits, "52"), str(0x7FF))
    is_special = f.do("icmp ugt", f.do("sub", field, "1"), str(0x7FD))
    one = f.do("or", f.do("and", bits, str(~(0x7FF << 52))), str(1023 << 52))
    mantissa = f.choose(is_special, product, f.cast("bitcast", one, "i64", "double"), "double")
    power = f.choose(is_special, "0", f.do("sub", field, "1023"))
    exponent = do("fadd", do("fadd", a[1], b[1]), f.cast("sitofp", power, "i64", "double"))
    if len(a) == 2:
        return [mantissa, exponent]
    (x, rest_of_x), (y, rest_of_y) = halves(a[0]), halves(b[0])
    lost = do("fsub", do("fmul", x, y), product)
    lost = do("fadd", do("fadd", lost, do("fmul", x, rest_of_y)), do("fmul", rest_of_x, y))
    lost = do("fadd", lost, do("fmul", rest_of_x, rest_of_y))
    low = do("fadd", lost, do("fadd", do("fmul", a[2], b[0]), do("fmul", a[0], b[2])))
    factor = f.cast("bitcast", f.do("shl", f.do("sub", "1023", power), "52"), "i64", "double")
    magnitude = f.choose(f.do("fcmp olt", lost, "0.0", "double"), do("fsub", "0.0", lost), lost, "double")
    found = do("fmul", low, factor), do("fadd", do("fadd", a[3], b[3]), magnitude)
    return [mantissa, exponent, *(f.choose(is_special, "0.0", x, "double") for x in found)]


def _together(f: FunctionText, kind: str, a: list[str], b: list[str]) -> list[str]:
    if kind in WHOLE:
        x, y = (f.cast("bitcast", value[0], "double", "i64") for value in (a, b))
        instruction = WHOLE[kind]
        if instruction.startswith("icmp"):
            whole = f.choose(f.do(instruction, y, x), y, x)
        else:
            whole = f.do(instruction, x, y)
        return [f.cast("bitcast", whole, "i64", "double"), a[1]]
    if kind == "row_product":
        return _product(f, a, b)
    if kind not in ("row_sum", "row_lost"):
        one, other = (a, b) if kind == "row_max" else (b, a)
        takes = f.do("fcmp olt", one[0], other[0], "double")
        if kind != "row_first":
            takes = f.do("or", takes, f.do("fcmp uno", b[0], b[0], "double"), "i1")
        return [f.choose(takes, y, x, "double") for x, y in zip(a, b, strict=True)]

    def add(x: str, y: str) -> str:
        return f.do("fadd", x, y, "double")

    def less(x: str, y: str) -> str:
        return f.do("fsub", x, y, "double")

    total = add(a[0], b[0])
    t = less(total, a[0])
    lost = add(less(a[0], less(total, t)), less(b[0], t))
    low = add(lost, add(a[1], b[1]))
    high = add(total, low)
    # After an overflow the corrections are NaN: the sum alone is right then.
    finite = f.do("fcmp ord", less(high, high), "0.0", "double")
    return [
        f.choose(finite, high, total, "double"),
        f.choose(finite, less(low, less(high, total)), "0.0", "double"),
    ]
