"""The loop of exported element-wise code: the counterpart of runtime/native/elements.c, in LLVM's language.

``@NAME.run.LEVEL(operands, steps, begin, end, values)`` computes elements [begin, end): pointers to the operands, the
distances from element to element in bytes, the parameters. It has two parts:

- Where all operands are contiguous, whole blocks are computed where they lie.
- Everything else goes through buffers on the stack, some blocks at a time: what lies apart, and the last, incomplete
  block, which is filled up with zeros.

Both compute by `_blocks`, and nothing else calls a kernel.

A program with a rounding test marks elements that it could not decide. All its elements go through the buffers, because
a result may overwrite its operand: there the operands are left for the repair, which computes marked elements once more,
with more bits, one at a time (one in some thousand). What the repair cannot decide either (about one in 2**40) keeps the
repair's result, which is one of the two neighbours of the exact number: enclosures need Python.
"""

from __future__ import annotations

from ogive.backends.blocks import block_size
from ogive.backends.function_text import FunctionText
from ogive.backends.target import Target
from ogive.exporting.interface import Interface
from ogive.program import Program

__all__ = ["REPAIR", "copied", "run_function"]

#: What the names of the repair's functions begin with, behind those of the function itself.
REPAIR = "repair."

#: Bytes of all buffers together, so far as single blocks do not need more: stacks of 4 KiB a frame need no probes.
BUFFERS = 3072


def run_function(interface: Interface, target: Target, prefix: str) -> str:
    """The text of the loop, for the kernel whose entries begin with ``prefix``."""
    return _Run(interface, target, prefix).text()


def copied(f: FunctionText, size: int, to: tuple[str, str], source: tuple[str, str], count: str) -> None:
    """Copy items of so many bytes: (address, distance from item to item) of each side."""
    kind = f"i{8 * size}"
    with f.loop("0", count, "1") as i:
        item = f.load(kind, f.at(source[0], f.do("mul", i, source[1])), size)
        f.store(kind, item, f.at(to[0], f.do("mul", i, to[1])), size)


class _Run:
    def __init__(self, interface: Interface, target: Target, prefix: str) -> None:
        self.target, self.prefix = target, prefix
        self.operands = interface.operands
        self.sizes = [operand.type.itemsize for operand in self.operands]
        self.block = block_size(interface.program)
        self.chunk = max(1, BUFFERS // sum(self.sizes) // self.block) * self.block
        self.repair = interface.repair
        head = "(ptr %operands, ptr %steps, i64 %begin, i64 %end, ptr %values)"
        self.f = FunctionText(f"define internal void @{prefix}run{head} nounwind noinline")

    def text(self) -> str:
        f, pointer = self.f, self.target.pointer_bytes
        count = range(len(self.operands))
        self.pointers = f.emit(f"alloca [{len(self.operands)} x ptr], align {pointer}")
        self.buffers = [f.emit(f"alloca [{self.chunk * size} x i8], align 64") for size in self.sizes]
        if self.repair is not None:
            self.flags = f.emit(f"alloca [{self.chunk // 8} x i8], align 64")
            of_one = [*self.sizes, 1]  # the mask of what the repair cannot decide comes last
            self.again = [f.emit(f"alloca [{block_size(self.repair) * size} x i8], align 64") for size in of_one]
            self.again_pointers = f.emit(f"alloca [{len(of_one)} x ptr], align {pointer}")
            for k, buffer in enumerate(self.again):
                f.store("ptr", buffer, f.item("ptr", self.again_pointers, k), pointer)
                f.store(f"<{block_size(self.repair) * of_one[k]} x i8>", "zeroinitializer", buffer, 64)
        self.bases = [f.load("ptr", f.item("ptr", "%operands", k), pointer) for k in count]
        self.steps = [f.load("i64", f.item("i64", "%steps", k), 8) for k in count]
        apart = "false" if self.repair is None else "true"
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
        return f.text

    def _blocks(self, places: list[str], count: str) -> None:
        """Compute whole blocks of contiguous elements."""
        f = self.f
        for k, place in enumerate(places):
            f.store("ptr", place, f.item("ptr", self.pointers, k), self.target.pointer_bytes)
        flags = "null" if self.repair is None else self.flags
        f.line(f"call void @{self.prefix}stage0(ptr {self.pointers}, i64 {count}, ptr %values, i64 0, ptr {flags})")
        if self.repair is not None:
            with f.loop("0", f.do("lshr", count, "3"), "1") as byte:
                marks = f.load("i8", f.at(self.flags, byte), 1)
                with f.when(f.do("icmp ne", marks, "0", "i8")):
                    self._repaired(places, f.do("shl", byte, "3"), f.cast("zext", marks, "i8", "i64"), self.repair)

    def _repaired(self, places: list[str], first: str, marks: str, repair: Program) -> None:
        """Compute those of eight elements again that are marked."""
        f = self.f
        rows = list(zip(self.operands, self.sizes, places, self.again, strict=False))
        with f.loop("0", "8", "1") as i:
            mark = f.do("and", f.do("lshr", marks, i), "1")
            with f.when(f.do("icmp ne", mark, "0")):
                at = f.do("add", first, i)
                for operand, size, place, one in rows:
                    if operand.is_input:
                        kind = f"i{8 * size}"
                        f.store(kind, f.load(kind, f.at(place, f.do("mul", at, str(size))), size), one, size)
                given = f"ptr {self.again_pointers}, i64 {block_size(repair)}, ptr %values, i64 0, ptr null"
                f.line(f"call void @{self.prefix}{REPAIR}stage0({given})")
                for operand, size, place, one in rows:
                    if not operand.is_input:
                        kind = f"i{8 * size}"
                        f.store(kind, f.load(kind, one, size), f.at(place, f.do("mul", at, str(size))), size)

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
