"""The loop of exported row-wise code: the counterpart of runtime/native/rows.c, in LLVM's language.

``@NAME.run.LEVEL(operands, rows, steps, begin, end, count, values, scratch)`` computes rows [begin, end) of ``count``
elements: the distances from row to row and from element to element in bytes. Up to 16 rows are taken at a time, stage by
stage (row_stages.py). Rows whose elements lie apart are gathered first.

A program with a rounding test says of which rows it could not decide all. The repair computes such a row again, all of it, with
more bits. It needs the operands, so rows are gathered where a result overlaps an operand. What the repair cannot decide
either keeps the repair's result, which is one of the two neighbours of the exact number: enclosures need Python.

All memory is the caller's: records of the rows, the kernel's own rows, those that are gathered, and the repair's.
"""

from __future__ import annotations

from ogive.backends.function_text import FunctionText
from ogive.backends.target import Target
from ogive.backends.writer import ROWS_AT_ONCE
from ogive.exporting.driver import REPAIR, copied
from ogive.exporting.interface import Interface, Operand
from ogive.exporting.row_stages import SEGMENT, Stages, bytes_of_records
from ogive.program import MASK, Program

__all__ = ["run_function", "scratch_bytes"]

#: A line of the cache, in bytes.
LINE = 64


def _row_bytes(f: FunctionText, count: str, size: int) -> str:
    """Of a gathered row: whole lines of the cache and one more, so that not all rows compete for the same lines."""
    lines = f.do("and", f.do("add", f.do("mul", count, str(size)), str(LINE - 1)), str(-LINE))
    return f.do("add", lines, str(LINE))


def _at_a_time(f: FunctionText, count: str) -> str:
    return f.choose(f.do("icmp sgt", count, str(SEGMENT)), "1", str(ROWS_AT_ONCE))


def _mask(interface: Interface, repair: Program) -> Operand:
    """The repair's last result."""
    number = len(interface.operands)
    return Operand("mask", MASK, is_input=False, of_row=number in repair.row_operands)


def _bytes_of_rows(f: FunctionText, interface: Interface, count: str) -> str:
    """Of all gathered rows, and the kernel's own."""
    gathered = [operand.type.itemsize for operand in interface.operands if not operand.of_row]
    rows = "0"
    for size in [*gathered, *(form.bits // 8 for form in interface.program.scratch)]:
        rows = f.do("add", rows, _row_bytes(f, count, size))
    return f.do("mul", rows, _at_a_time(f, count))


def scratch_bytes(f: FunctionText, interface: Interface, count: str) -> str:
    """How much scratch memory rows of so many elements need, at any address."""
    found = f.do("add", _bytes_of_rows(f, interface, count), str(LINE + LINE + bytes_of_records(interface.program)))
    repair = interface.repair
    if repair is not None:
        found = f.do("add", found, str(bytes_of_records(repair)))
        for size in (MASK.itemsize, *(form.bits // 8 for form in repair.scratch)):
            found = f.do("add", found, _row_bytes(f, count, size))
    return found


def run_function(interface: Interface, target: Target, prefix: str) -> str:
    """The text of the loop, for the kernel whose entries begin with ``prefix``."""
    text = _RowsRun(interface, target, prefix).text()
    return (
        text
        if interface.repair is None
        else f"{text}\n\n{_repair_function(interface, interface.repair, target, prefix)}"
    )


def _repair_function(interface: Interface, repair: Program, target: Target, prefix: str) -> str:
    """The function that computes a row again: its operands, their elements without gaps."""
    f = FunctionText(
        f"define internal void @{prefix}repaired(ptr %operands, i64 %count, ptr %values, ptr %memory) nounwind noinline"
    )
    operands = (*interface.operands, _mask(interface, repair))
    stages = Stages(f, repair, operands, target, f"{prefix}{REPAIR}", "%count")
    stages.clear("%memory", "%values")
    for k in range(len(interface.operands)):
        stages.point(k, f.load("ptr", f.item("ptr", "%operands", k), target.pointer_bytes), "0")
    memory = f.at("%memory", str(bytes_of_records(repair)))
    for k, size in enumerate(
        (MASK.itemsize, *(form.bits // 8 for form in repair.scratch)), start=len(interface.operands)
    ):
        stages.point(k, memory, "0")
        memory = f.at(memory, _row_bytes(f, "%count", size))
    stages.run("1")
    f.end("ret void")
    return f.text


class _RowsRun:
    def __init__(self, interface: Interface, target: Target, prefix: str) -> None:
        self.interface, self.target, self.prefix = interface, target, prefix
        self.program, self.operands, self.repair = interface.program, interface.operands, interface.repair
        head = "(ptr %operands, ptr %rows, ptr %steps, i64 %begin, i64 %end, i64 %count, ptr %values, ptr %scratch)"
        self.f = FunctionText(f"define internal void @{prefix}run{head} nounwind noinline")
        self.stages = Stages(self.f, self.program, self.operands, target, prefix, "%count")

    def text(self) -> str:
        f, pointer = self.f, self.target.pointer_bytes
        if self.repair is not None:
            self.one_row = f.emit(f"alloca [{len(self.operands)} x ptr], align {pointer}")
            self.kept = {
                k: f.emit(f"alloca [{ROWS_AT_ONCE * operand.type.itemsize} x i8], align {LINE}")
                for k, operand in enumerate(self.operands)
                if operand.is_input and operand.of_row
            }
        address = f.cast("ptrtoint", "%scratch", "ptr", "i64")
        records = f.at("%scratch", f.do("and", f.do("sub", "0", address), str(LINE - 1)))
        self.stages.clear(records, "%values")
        self.memory = f.at(records, str(bytes_of_records(self.program)))
        if self.repair is not None:
            self.memory_of_repair = f.at(self.memory, _bytes_of_rows(f, self.interface, "%count"))
        self.bases = [f.load("ptr", f.item("ptr", "%operands", k), pointer) for k in range(len(self.operands))]
        self.between = [f.load("i64", f.item("i64", "%rows", k), 8) for k in range(len(self.operands))]
        self.steps = [f.load("i64", f.item("i64", "%steps", k), 8) for k in range(len(self.operands))]
        apart = "false"
        for operand, step in zip(self.operands, self.steps, strict=True):
            if not operand.of_row:
                apart = f.do("or", apart, f.do("icmp ne", step, str(operand.type.itemsize)), "i1")
        apart = f.do("and", apart, f.do("icmp sgt", "%count", "1"), "i1")
        self.apart = apart if self.repair is None else f.do("or", apart, self._overlap(), "i1")
        at_a_time = _at_a_time(f, "%count")
        with f.loop("%begin", "%end", at_a_time) as at:
            left = f.do("sub", "%end", at)
            rows = f.choose(f.do("icmp slt", left, at_a_time), left, at_a_time)
            self._group(at, rows)
        f.end("ret void")
        return f.text

    def _overlap(self) -> str:
        """Whether the memory of a result, if its elements have no gaps, overlaps that of an operand."""
        f = self.f
        last = f.do("sub", "%end", "1")
        ranges = []
        for operand, base, between in zip(self.operands, self.bases, self.between, strict=True):
            size = str(operand.type.itemsize)
            ends = [f.cast("ptrtoint", f.at(base, f.do("mul", row, between)), "ptr", "i64") for row in ("%begin", last)]
            down = f.do("icmp slt", between, "0")
            low, high = f.choose(down, ends[1], ends[0]), f.choose(down, ends[0], ends[1])
            ranges.append((low, f.do("add", high, size if operand.of_row else f.do("mul", "%count", size))))
        found = "false"
        for (low, high), result in zip(ranges, self.operands, strict=True):
            for (other_low, other_high), operand in zip(ranges, self.operands, strict=True):
                if operand.is_input and not result.is_input:
                    below, above = f.do("icmp ult", low, other_high), f.do("icmp ult", other_low, high)
                    found = f.do("or", found, f.do("and", below, above, "i1"), "i1")
        return found

    def _group(self, at: str, rows: str) -> None:
        f = self.f
        memory, places, lies = self.memory, [], []
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
            if self.repair is not None and k in self.kept:
                size = operand.type.itemsize
                copied(f, size, (self.kept[k], str(size)), (places[k], self.between[k]), rows)
                lies.append((self.kept[k], str(size)))
            else:
                place = f.choose(self.apart, buffers[k][0], places[k], "ptr")
                lies.append((place, f.choose(self.apart, buffers[k][1], self.between[k])))
            self.stages.point(k, *lies[k])
            if operand.is_input and not operand.of_row:
                with f.when(self.apart):
                    self._copied(k, buffers[k], (places[k], self.between[k]), rows, is_gathered=True)
        for k, form in enumerate(self.program.scratch, start=len(self.operands)):
            row = _row_bytes(f, "%count", form.bits // 8)
            self.stages.point(k, memory, row)
            memory = f.at(memory, f.do("mul", rows, row))
        self.stages.run(rows)
        if self.repair is not None:
            with f.loop("0", rows, "1") as row, f.when(self.stages.is_undecided(row)):
                self._repair_row(row, lies)
        for k, operand in enumerate(self.operands):
            if not operand.is_input and not operand.of_row:
                with f.when(self.apart):
                    self._copied(k, buffers[k], (places[k], self.between[k]), rows, is_gathered=False)

    def _repair_row(self, row: str, lies: list[tuple[str, str]]) -> None:
        f = self.f
        for k, (place, step) in enumerate(lies):
            there = f.at(place, f.do("mul", row, step))
            f.store("ptr", there, f.item("ptr", self.one_row, k), self.target.pointer_bytes)
        given = f"ptr {self.one_row}, i64 %count, ptr %values, ptr {self.memory_of_repair}"
        f.line(f"call void @{self.prefix}repaired({given})")

    def _copied(self, k: int, buffer: tuple[str, str], place: tuple[str, str], rows: str, *, is_gathered: bool) -> None:
        f, size = self.f, self.operands[k].type.itemsize
        with f.loop("0", rows, "1") as row:
            together = f.at(buffer[0], f.do("mul", row, buffer[1])), str(size)
            apart = f.at(place[0], f.do("mul", row, place[1])), self.steps[k]
            copied(f, size, *((together, apart) if is_gathered else (apart, together)), "%count")
