"""The whole module of exported functions as LLVM IR: kernels, their loops, and the entries that C calls."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ogive.backends.function_text import FunctionText
from ogive.backends.llvm import METADATA, parts
from ogive.backends.target import Target
from ogive.exporting import driver, processor, row_driver
from ogive.exporting.interface import Interface

__all__ = ["module_text"]

#: LLVM's types of C's, but for size_t and ptrdiff_t.
_KINDS = {"double ": "double", "void *": "ptr"}


def module_text(interfaces: Sequence[Interface], targets: Sequence[Target], triple: str) -> str:
    """The module of functions for one target, or for several levels of one architecture from the lowest up.

    Of several levels the entries take the highest that the processor has.
    """
    lowest = targets[0]
    header: dict[str, None] = dict.fromkeys(processor.declarations(lowest.architecture))
    functions, attributes = list[str](), list[str]()
    for interface in interfaces:
        for level, target in enumerate(targets):
            prefix = _prefix(interface, target)
            made = parts(interface.program, target, prefix, "internal", level)
            header |= dict.fromkeys(made.declarations)
            functions += made.functions
            for name, later in ((driver.RETRY, interface.retry), (driver.REPAIR, interface.repair)):
                if later is not None:
                    again = parts(later, target, f"{prefix}{name}", "internal", level)
                    header |= dict.fromkeys(again.declarations)
                    functions += again.functions
            if len(attributes) == level:
                attributes.append(_for_level(made.attributes, target) if len(targets) > 1 else made.attributes)
            loops = row_driver if interface.is_row_wise else driver
            functions.append(loops.run_function(interface, target, prefix))
        functions += [_Entry(interface, targets, strided=strided).text() for strided in (False, True)]
        if interface.is_row_wise:
            functions.append(_scratch(interface, lowest))
    if len(targets) > 1:
        functions += processor.level_function()
    flags = []
    if lowest.abi:
        flags = ["!llvm.module.flags = !{!2}", f'!2 = !{{i32 1, !"target-abi", !"{lowest.abi}"}}']
    return "\n".join([f'target triple = "{triple}"', *header, *functions, *attributes, *METADATA, *flags, ""])


def _prefix(interface: Interface, target: Target) -> str:
    return f"{interface.name}.{target.name}."


def _constant(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"


def _for_level(attributes: str, target: Target) -> str:
    return attributes.replace(" }", f' "target-cpu"="{target.processor}" }}')


def _scratch(interface: Interface, target: Target) -> str:
    size = f"i{8 * target.pointer_bytes}"
    f = FunctionText(f"define {size} @{interface.name}_scratch({size} %given) nounwind")
    count = "%given" if size == "i64" else f.cast("zext", "%given", size, "i64")
    found = row_driver.scratch_bytes(f, interface, count)
    f.end(f"ret {size} {found if size == 'i64' else f.cast('trunc', found, 'i64', size)}")
    return f.text


class _Entry:
    """A function that C calls: it lays its arguments out as the loops read them."""

    def __init__(self, interface: Interface, targets: Sequence[Target], *, strided: bool) -> None:
        self.interface, self.targets, self.strided = interface, targets, strided
        self.size = f"i{8 * targets[0].pointer_bytes}"

    def text(self) -> str:
        interface, target = self.interface, self.targets[0]
        arguments = interface.arguments(strided=self.strided)
        kinds = [_KINDS.get(kind, "ptr" if "*" in kind else self.size) for kind, _ in arguments]
        listed = ", ".join(f"{kind} %{name}" for kind, (_, name) in zip(kinds, arguments, strict=True))
        name = f"{interface.name}_strided" if self.strided else interface.name
        f = self.f = FunctionText(f"define void @{name}({listed}) nounwind")
        count = len(interface.operands)
        operands = f.emit(f"alloca [{count} x ptr], align {target.pointer_bytes}")
        steps, rows = (f.emit(f"alloca [{count} x i64], align 8") for _ in range(2))
        values = f.emit(f"alloca [{max(interface.program.parameter_count, 1)} x double], align 8")
        length = self._number("count", "zext") if interface.is_row_wise else ""
        for k, operand in enumerate(interface.operands):
            f.store("ptr", f"%{operand.name}", f.item("ptr", operands, k), target.pointer_bytes)
            step, row = str(operand.type.itemsize), str(operand.type.itemsize)
            if self.strided:
                step = step if operand.of_row else self._number(f"{operand.name}_step", "sext")
                row = self._number(f"{operand.name}_row", "sext") if interface.is_row_wise else row
            elif interface.is_row_wise and not operand.of_row:
                row = f.do("mul", length, step)
            f.store("i64", step, f.item("i64", steps, k), 8)
            f.store("i64", row, f.item("i64", rows, k), 8)
        for k, value in enumerate(
            [*(f"%{name}" for name in interface.parameters), *map(_constant, interface.constants)]
        ):
            f.store("double", value, f.item("double", values, k), 8)
        begin, end = self._number("begin", "zext"), self._number("end", "zext")
        given = f"ptr {operands}, ptr {steps}, i64 {begin}, i64 {end}, ptr {values}"
        if interface.is_row_wise:
            given = (
                f"ptr {operands}, ptr {rows}, ptr {steps}, i64 {begin}, i64 {end}, i64 {length}, "
                f"ptr {values}, ptr %scratch"
            )
        saved = processor.enter(f, target.architecture)
        self._run(given)
        processor.leave(f, target.architecture, saved)
        f.end("ret void")
        return f.text

    def _number(self, name: str, extended: str) -> str:
        return f"%{name}" if self.size == "i64" else self.f.cast(extended, f"%{name}", self.size, "i64")

    def _run(self, given: str) -> None:
        f, by_level = self.f, {processor.LEVEL_NUMBERS.get(t.name, 0): t for t in self.targets}
        if len(by_level) == 1:
            f.line(f"call void @{_prefix(self.interface, self.targets[0])}run({given})")
            return
        level = f.emit(f"call i32 @{processor.LEVEL}()")
        for case in f.switch(level, list(by_level)):
            f.line(f"call void @{_prefix(self.interface, by_level[case])}run({given})")
