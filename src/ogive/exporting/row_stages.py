"""The stages of some exported rows, in LLVM's language: what run_stages and run_long_row of runtime/native/rows.c do.

A stage goes over up to 16 rows and leaves what it finds in their records. A longer row is cut into segments, each reduced by
the code, and the segments are combined one after the other: the same segments, and the same sums, as in rows.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ogive.backends.function_text import FunctionText
from ogive.backends.reductions import ASIDE
from ogive.backends.row_records import MOST_AHEAD, mark_slot
from ogive.backends.target import Target
from ogive.backends.writer import ROWS_AT_ONCE, first_finding
from ogive.exporting.interface import Operand
from ogive.program import Program

__all__ = ["SEGMENT", "Stages", "bytes_of_records"]

#: Elements of a segment, as in rows.c: sums of longer rows follow from it.
SEGMENT = 16384

#: How often a stage runs at most that uses what it has found, as in rows.c.
MOST_TURNS = 2048


def _record_size(program: Program) -> int:
    findings = sum(len(stage.reductions) for stage in program.stages)
    aside = max(len(stage.reductions) for stage in program.stages)
    return first_finding(program) + 2 * findings + MOST_AHEAD + 2 + ASIDE * max(aside, 1)


def bytes_of_records(program: Program) -> int:
    """How much memory the records take: whole lines of the cache."""
    return 8 * ROWS_AT_ONCE * _record_size(program)


class Stages:
    """Rows of ``count`` elements, in a function that is being written; its kernel's entries begin with ``prefix``.

    The operands are those of the program, without the kernel's own rows. ``records`` is memory of `bytes_of_records`.
    """

    def __init__(
        self, f: FunctionText, program: Program, operands: Sequence[Operand], target: Target, prefix: str, count: str
    ) -> None:
        self.f, self.program, self.operands = f, program, operands
        self.target, self.prefix, self.count = target, prefix, count
        self.marks = program.undecided is not None
        every = len(operands) + len(program.scratch)
        pointer = target.pointer_bytes
        self.pointers = f.emit(f"alloca [{every} x ptr], align {pointer}")
        self.row_steps = f.emit(f"alloca [{every} x i64], align 8")
        reductions = max(len(stage.reductions) for stage in program.stages)
        self.totals = f.emit(f"alloca [{2 * reductions} x double], align 8")
        self.moved = f.emit(f"alloca [{every} x ptr], align {pointer}")
        self.unused = f.emit("alloca i64, align 8")
        if any(stage.repeats for stage in program.stages):
            self.goes_on = f.emit("alloca i64, align 8")
            self.before = f.emit(f"alloca [{2 * reductions * ROWS_AT_ONCE} x i64], align 8")
        if self.marks:
            self.marked = f.emit("alloca double, align 8")

    def clear(self, records: str, values: str) -> None:
        """Clear the records, and put the parameters and the length of the rows into them."""
        f = self.f
        self.records = records
        with f.loop("0", str(_record_size(self.program) * ROWS_AT_ONCE), "1") as i:
            f.store("double", "0.0", f.item("double", records, i), 8)
        length = f.cast("sitofp", self.count, "i64", "double")
        parameters = self.program.parameter_count
        with f.loop("0", str(ROWS_AT_ONCE), "1") as row:
            for slot in range(parameters):
                value = f.load("double", f.item("double", values, slot), 8)
                place = f.item("double", records, f.do("add", row, str(ROWS_AT_ONCE * slot)))
                f.store("double", value, place, 8)
            place = f.item("double", records, f.do("add", row, str(ROWS_AT_ONCE * parameters)))
            f.store("double", length, place, 8)

    def point(self, k: int, place: str, step: str) -> None:
        """Say where an operand's first row lies, and how far it is to the next."""
        self.f.store("ptr", place, self.f.item("ptr", self.pointers, k), self.target.pointer_bytes)
        self.f.store("i64", step, self.f.item("i64", self.row_steps, k), 8)

    def run(self, rows: str) -> None:
        """Compute so many rows; a row that has more elements than a segment, alone."""
        f = self.f
        is_long = f.do("icmp sgt", self.count, str(SEGMENT))
        with f.when(f.do("xor", is_long, "true", "i1")):
            for stage in range(len(self.program.stages) + 1):
                with self._turns(stage):
                    self._stage(stage, self.pointers, self.count, rows, "0")
        with f.when(is_long):
            self._long_row()

    def is_undecided(self, row: str) -> str:
        """Whether a row that was computed has a result that is undecided."""
        f = self.f
        place = f.item("double", self.records, f.do("add", row, str(ROWS_AT_ONCE * mark_slot(self.program))))
        return f.do("fcmp une", f.load("double", place, 8), "0.0", "double")

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
        # Where nothing is left to do for elements, not even a test of them, the last stage needs no more than one segment.
        ends_early = all(operand.of_row for operand in self.operands if not operand.is_input)
        ends_early &= not self.marks or self.program.marks_rows
        slot = first_finding(self.program)
        if self.marks:
            self.f.store("double", "0.0", self.marked, 8)
        for stage, reductions in enumerate([*kinds, []]):
            end = str(SEGMENT) if stage == len(kinds) and ends_early else self.count
            with self._turns(stage):
                self._segments(stage, reductions, slot, end)
            slot += 2 * len(reductions)
        if self.marks:
            marked = self.f.load("double", self.marked, 8)
            self.f.store("double", marked, self._found(mark_slot(self.program)), 8)

    def _segments(self, stage: int, reductions: list[str], slot: int, end: str) -> None:
        f = self.f
        repeats = stage < len(self.program.stages) and self.program.stages[stage].repeats
        numbers = range(2 * len(reductions) if repeats else 0)
        known = [f.load("double", self._found(slot + i), 8) for i in numbers]  # from the turn before
        with f.loop("0", end, str(SEGMENT)) as first:
            left = f.do("sub", self.count, first)
            count = f.choose(f.do("icmp slt", left, str(SEGMENT)), left, str(SEGMENT))
            self._move(first)
            for i, value in zip(numbers, known, strict=True):
                f.store("double", value, self._found(slot + i), 8)
            self._stage(stage, self.moved, count, "1", first)
            if self.marks and stage == len(self.program.stages):
                with f.when(self.is_undecided("0")):
                    f.store("double", "1.0", self.marked, 8)
            is_first, lost = f.do("icmp eq", first, "0"), ""
            for number, kind in enumerate(reductions):
                if kind != "row_rest":
                    words = 4 if reductions[number + 1 : number + 2] == ["row_rest"] else 2
                    lost = self._combine(kind, number, words, slot + 2 * number, is_first, lost)
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

    def _combine(self, kind: str, number: int, words: int, slot: int, is_first: str, lost: str) -> str:
        """The total of the segments before, and of this one: `combined` of rows.c. What may be lost of a sum is ``lost``
        of the sum before it; returned is what combining this one may lose.
        """
        f = self.f
        places = [f.item("double", self.totals, 2 * number + part) for part in range(words)]
        before = [f.load("double", place, 8) for place in places]
        found = [f.load("double", self._found(slot + part), 8) for part in range(words)]
        together = _together(f, kind, before, found)
        if kind == "row_lost":
            together[0] = f.do("fadd", together[0], lost, "double")
        for place, total, one in zip(places, together, found, strict=True):
            f.store("double", f.choose(is_first, one, total, "double"), place, 8)
        return _lost(f, before, found, together) if kind == "row_sum" else "0.0"


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
    found = do("fmul", low, factor), do("fadd", do("fadd", a[3], b[3]), _magnitude(f, lost))
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
    if kind == "row_lost":
        return [f.do("fadd", a[0], b[0], "double"), "0.0"]
    if kind != "row_sum":
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


def _lost(f: FunctionText, a: list[str], b: list[str], total: list[str]) -> str:
    """What may be lost when two sums are combined, and more: `lost_of` of rows.c."""
    sum_ = f.do("fadd", a[0], b[0], "double")
    t = f.do("fsub", sum_, a[0], "double")
    left = f.do("fsub", a[0], f.do("fsub", sum_, t, "double"), "double")
    found = _magnitude(f, f.do("fadd", left, f.do("fsub", b[0], t, "double"), "double"))
    for word in (a[1], b[1], total[1]):
        found = f.do("fadd", found, _magnitude(f, word), "double")
    return found


def _magnitude(f: FunctionText, x: str) -> str:
    bits = f.do("and", f.cast("bitcast", x, "double", "i64"), str((1 << 63) - 1))
    return f.cast("bitcast", bits, "i64", "double")
