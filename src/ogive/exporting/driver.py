"""The loop of exported element-wise code: the counterpart of runtime/native/elements.c, in LLVM's language.

``@NAME.run.LEVEL(operands, steps, begin, end, values)`` computes elements [begin, end): pointers to the operands, the
distances from element to element in bytes, the parameters. It has two parts:

- Where all operands are contiguous, whole blocks are computed where they lie.
- Everything else goes through buffers on the stack, some blocks at a time: what lies apart, and the last, incomplete
  block, which is filled up with zeros.

Both compute by `_blocks`, and nothing else calls a kernel.

A program with a rounding test marks elements that it could not decide: one in some hundred or thousand. The repair computes
them again, with more bits; before it a retry does, where there is one, which marks what is left to the repair. Marked elements
are gathered until they fill a block of the repair, or no more come. It needs their operands, so elements go through the buffers where a result overlaps an operand. What the repair cannot decide either (few but
ties, docs/export.md) keeps the repair's result, one of the two neighbours of the exact number: enclosures need Python.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from ogive.backends.blocks import block_size
from ogive.backends.function_text import FunctionText
from ogive.backends.target import Target
from ogive.exporting.interface import Interface

__all__ = ["REPAIR", "RETRY", "copied", "run_function"]

#: What the names of the repair's functions begin with, and of the retry's, behind those of the function itself.
REPAIR, RETRY = "repair.", "retry."

#: Bytes of all buffers together, so far as single blocks do not need more: stacks of 4 KiB a frame need no probes.
BUFFERS = 3072

#: So many elements are computed between two looks at the marks.
MARKED_AT_ONCE = 1024


def run_function(interface: Interface, target: Target, prefix: str) -> str:
    """The text of the loop, for the kernel whose entries begin with ``prefix``."""
    return _ElementsRun(interface, target, prefix).text()


def copied(f: FunctionText, size: int, to: tuple[str, str], source: tuple[str, str], count: str) -> None:
    """Copy items of so many bytes: (address, distance from item to item) of each side."""
    kind = f"i{8 * size}"
    with f.loop("0", count, "1") as i:
        item = f.load(kind, f.at(source[0], f.do("mul", i, source[1])), size)
        f.store(kind, item, f.at(to[0], f.do("mul", i, to[1])), size)


class _ElementsRun:
    def __init__(self, interface: Interface, target: Target, prefix: str) -> None:
        self.target, self.prefix = target, prefix
        self.operands = interface.operands
        self.sizes = [operand.type.itemsize for operand in self.operands]
        self.block = block_size(interface.program)
        self.repair, self.retry = interface.repair, interface.retry
        self.together = max((block_size(later) for later in (self.retry, self.repair) if later is not None), default=0)
        room = BUFFERS
        if self.repair is not None:
            room -= self.together * (sum(self.sizes) + 1 + 8) + MARKED_AT_ONCE // 8
        self.chunk = min(max(1, room // sum(self.sizes) // self.block) * self.block, MARKED_AT_ONCE)
        head = "(ptr %operands, ptr %steps, i64 %begin, i64 %end, ptr %values)"
        self.f = FunctionText(f"define internal void @{prefix}run{head} nounwind noinline")

    def text(self) -> str:
        f, pointer = self.f, self.target.pointer_bytes
        count = range(len(self.operands))
        self.pointers = f.emit(f"alloca [{len(self.operands)} x ptr], align {pointer}")
        self.buffers = [f.emit(f"alloca [{self.chunk * size} x i8], align 64") for size in self.sizes]
        if self.repair is not None:
            self.flags = f.emit(f"alloca [{MARKED_AT_ONCE // 8} x i8], align 64")
            self.gathered = f.emit("alloca i64, align 8")
            self.numbers = f.emit(f"alloca [{self.together} x i64], align 8")
            of_one = [*self.sizes, 1]  # the mask of what the repair cannot decide comes last
            self.again = [f.emit(f"alloca [{self.together * size} x i8], align 64") for size in of_one]
            self.again_pointers = f.emit(f"alloca [{len(of_one)} x ptr], align {pointer}")
            f.store("i64", "0", self.gathered, 8)
            for k, buffer in enumerate(self.again):
                f.store("ptr", buffer, f.item("ptr", self.again_pointers, k), pointer)
                f.store(f"<{self.together * of_one[k]} x i8>", "zeroinitializer", buffer, 64)
        self.bases = [f.load("ptr", f.item("ptr", "%operands", k), pointer) for k in count]
        self.steps = [f.load("i64", f.item("i64", "%steps", k), 8) for k in count]
        apart = "false" if self.repair is None else self._overlap()
        for step, size in zip(self.steps, self.sizes, strict=True):
            apart = f.do("or", apart, f.do("icmp ne", step, str(size)), "i1")
        whole = f.do("and", f.do("sub", "%end", "%begin"), str(-self.block))
        whole = f.choose(apart, "0", whole)
        with f.when(f.do("icmp sgt", whole, "0")):
            places = [
                f.at(base, f.do("mul", "%begin", str(size))) for base, size in zip(self.bases, self.sizes, strict=True)
            ]
            self._blocks(places, whole)
        self._staged(f.do("add", "%begin", whole))
        f.end("ret void")
        return f.text if self.repair is None else f"{f.text}\n\n{self._repair_function()}"

    def _overlap(self) -> str:
        """Whether the memory of a result, if it is contiguous, overlaps that of an operand."""
        f = self.f
        ranges = [
            [f.cast("ptrtoint", f.at(base, f.do("mul", end, str(size))), "ptr", "i64") for end in ("%begin", "%end")]
            for base, size in zip(self.bases, self.sizes, strict=True)
        ]
        found = "false"
        for (low, high), result in zip(ranges, self.operands, strict=True):
            for (other_low, other_high), operand in zip(ranges, self.operands, strict=True):
                if operand.is_input and not result.is_input:
                    below, above = f.do("icmp ult", low, other_high), f.do("icmp ult", other_low, high)
                    found = f.do("or", found, f.do("and", below, above, "i1"), "i1")
        return found

    def _blocks(self, places: list[str], count: str) -> None:
        """Compute whole blocks of contiguous elements."""
        f = self.f
        if self.repair is None:
            self._stage(places, count, "null")
            return
        with f.loop("0", count, str(MARKED_AT_ONCE)) as at:
            left = f.do("sub", count, at)
            some = f.choose(f.do("icmp slt", left, str(MARKED_AT_ONCE)), left, str(MARKED_AT_ONCE))
            words = f.do("lshr", f.do("add", some, "63"), "6")
            # The code writes no more marks than it computes elements.
            f.store("i64", "0", f.at(self.flags, f.do("shl", f.do("sub", words, "1"), "3")), 8)
            here = [f.at(place, f.do("mul", at, str(size))) for place, size in zip(places, self.sizes, strict=True)]
            self._stage(here, some, self.flags)
            with f.loop("0", words, "1") as word:
                marks = f.load("i64", f.at(self.flags, f.do("shl", word, "3")), 8)
                with f.when(f.do("icmp ne", marks, "0")):
                    self._gather(places, f.do("add", at, f.do("shl", word, "6")), marks)
        self._repair_gathered(places)

    def _stage(self, places: list[str], count: str, flags: str) -> None:
        """Compute so many elements."""
        for k, place in enumerate(places):
            self.f.store("ptr", place, self.f.item("ptr", self.pointers, k), self.target.pointer_bytes)
        given = f"ptr {self.pointers}, i64 {count}, ptr %values, i64 0, ptr {flags}"
        self.f.line(f"call void @{self.prefix}stage0({given})")

    def _gather(self, places: list[str], first: str, marks: str) -> None:
        """Note those of 64 elements that are marked, with their operands; repair them whenever a block is full."""
        f = self.f
        with f.loop("0", "64", "8") as byte:
            eight = f.do("and", f.do("lshr", marks, byte), "255")
            with f.when(f.do("icmp ne", eight, "0")), f.loop("0", "8", "1") as bit:
                mark = f.do("and", f.do("lshr", eight, bit), "1")
                with f.when(f.do("icmp ne", mark, "0")):
                    number = f.do("add", first, f.do("add", byte, bit))
                    gathered = f.load("i64", self.gathered, 8)
                    f.store("i64", number, f.item("i64", self.numbers, gathered), 8)
                    for operand, size, place, again in zip(self.operands, self.sizes, places, self.again, strict=False):
                        if operand.is_input:
                            item = f.load(f"i{8 * size}", f.at(place, f.do("mul", number, str(size))), size)
                            f.store(f"i{8 * size}", item, f.at(again, f.do("mul", gathered, str(size))), size)
                    more = f.do("add", gathered, "1")
                    f.store("i64", more, self.gathered, 8)
                    with f.when(f.do("icmp eq", more, str(self.together))):
                        self._repair_gathered(places)

    def _repair_gathered(self, places: list[str]) -> None:
        """Repair the noted elements, if there are any."""
        f = self.f
        gathered = f.load("i64", self.gathered, 8)
        with f.when(f.do("icmp ne", gathered, "0")):
            for k, place in enumerate(places):
                f.store("ptr", place, f.item("ptr", self.pointers, k), self.target.pointer_bytes)
            given = f"ptr {self.pointers}, ptr {self.again_pointers}, ptr {self.numbers}, i64 {gathered}, ptr %values"
            f.line(f"call void @{self.prefix}repaired({given})")
            f.store("i64", "0", self.gathered, 8)

    def _repair_function(self) -> str:
        """The function that computes a block of gathered elements again, and puts the results where they belong."""
        head = "(ptr %places, ptr %again, ptr %numbers, i64 %count, ptr %values)"
        f = FunctionText(f"define internal void @{self.prefix}repaired{head} nounwind noinline")
        given = f"ptr %again, i64 {self.together}, ptr %values, i64 0, ptr"
        if self.retry is None:
            f.line(f"call void @{self.prefix}{REPAIR}stage0({given} null)")
            self._put_back(f, "-1")
        else:
            flags = f.emit("alloca i64, align 8")
            f.store("i64", "0", flags, 8)
            f.line(f"call void @{self.prefix}{RETRY}stage0({given} {flags})")
            self._put_back(f, "-1")
            if self.retry.repair is not None:
                marks = f.load("i64", flags, 8)
                with f.when(f.do("icmp ne", marks, "0")):
                    f.line(f"call void @{self.prefix}{REPAIR}stage0({given} null)")
                    self._put_back(f, marks)
        f.end("ret void")
        return f.text

    def _put_back(self, f: FunctionText, marks: str) -> None:
        """Put the results of those gathered elements into place whose bits are set."""
        pointer = self.target.pointer_bytes
        for k, (operand, size) in enumerate(zip(self.operands, self.sizes, strict=True)):
            if not operand.is_input:
                place = f.load("ptr", f.item("ptr", "%places", k), pointer)
                again = f.load("ptr", f.item("ptr", "%again", k), pointer)
                with f.loop("0", "%count", "1") as i, self._where(f, marks, i):
                    number = f.load("i64", f.item("i64", "%numbers", i), 8)
                    item = f.load(f"i{8 * size}", f.at(again, f.do("mul", i, str(size))), size)
                    f.store(f"i{8 * size}", item, f.at(place, f.do("mul", number, str(size))), size)

    def _where(self, f: FunctionText, marks: str, number: str) -> AbstractContextManager[None]:
        """Lines for elements of this number whose bit is set; -1 has all bits."""
        if marks == "-1":
            return nullcontext()
        return f.when(f.do("icmp ne", f.do("and", f.do("lshr", marks, number), "1"), "0"))

    def _staged(self, begin: str) -> None:
        """Compute the elements from ``begin`` on through buffers."""
        f = self.f
        with f.loop(begin, "%end", str(self.chunk)) as at:
            left = f.do("sub", "%end", at)
            count = f.choose(f.do("icmp slt", left, str(self.chunk)), left, str(self.chunk))
            padded = f.do("and", f.do("add", count, str(self.block - 1)), str(-self.block))
            places = [f.at(base, f.do("mul", at, step)) for base, step in zip(self.bases, self.steps, strict=True)]
            rows = list(zip(self.operands, self.sizes, self.buffers, places, self.steps, strict=True))
            for operand, size, buffer, place, step in rows:
                if operand.is_input:
                    copied(f, size, (buffer, str(size)), (place, step), count)
                    with f.loop(count, padded, "1") as i:
                        f.store(f"i{8 * size}", "0", f.at(buffer, f.do("mul", i, str(size))), size)
            self._blocks(self.buffers, padded)
            for operand, size, buffer, place, step in rows:
                if not operand.is_input:
                    copied(f, size, (place, step), (buffer, str(size)), count)
