"""Exported functions as one file of ISO C that people read and any compiler takes.

An element-wise function is a loop over chunks. A chunk is computed into a buffer, so that a result may be written over an
operand; elements whose rounding test leaves them open are computed again, with more bits, by a function of single
elements. Compilers vectorise the loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ogive.backends.c_like import ISO_C, Text, bare
from ogive.errors import CompileError, message
from ogive.exporting.interface import C_TYPES, Interface, Operand
from ogive.expression import Expression
from ogive.program import Program

__all__ = ["source_text"]

#: So many elements are computed between two looks at the marks: 1 to 8 KiB of buffers an operand.
CHUNK = 256


def source_text(name: str, interfaces: Sequence[Interface]) -> str:
    """The file of these functions, whose header is ``NAME.h``."""
    support: dict[str, str] = {}
    functions: list[str] = []
    for interface in interfaces:
        if interface.is_row_wise:
            way_out = "Export it in another form: object, assembly, llvm, static or shared"
            what = f"{interface.name} is a function of rows, which form c does not have yet"
            raise CompileError(message("ogive.export", what, way_out=way_out))
        functions += _Functions(interface, support).texts()
    helpers = [support[each] for each in support]
    return "\n".join([f'#include "{name}.h"\n', ISO_C.before, *helpers, *functions])


class _Functions:
    """The functions of one interface."""

    def __init__(self, interface: Interface, support: dict[str, str]) -> None:
        self.interface, self.support = interface, support
        self.inputs = [o for o in interface.operands if o.is_input]
        self.outputs = [o for o in interface.operands if not o.is_input]
        self.parameters = [f"double {name}" for name in interface.parameters]

    def texts(self) -> list[str]:
        interface = self.interface
        again = [] if interface.retry is None else [self._again(interface.retry, is_retry=True)]
        again += [] if interface.repair is None else [self._again(interface.repair)]
        return [*again, self._chunk(), self._contiguous(), self._strided()]

    def _statements(self, roots: Sequence[Expression], read: Callable[[int], str]) -> tuple[list[str], list[str]]:
        names = dict(enumerate(self.interface.parameters))

        def leaf(n: Expression) -> str:
            if n.operation == "input":
                return read(n.attribute)
            position = n.attribute[0]
            return names.get(position) or text.literal(n.format, self.interface.constants[position])

        text = Text(ISO_C, leaf)
        text.support = self.support
        return text.statements(roots)

    def _again(self, program: Program, *, is_retry: bool = False) -> str:
        """The function of one element, with more bits. That of a retry says whether the element is open still."""
        results = [f"{C_TYPES[o.type.name]} *{o.name}" for o in self.outputs]
        given = [f"const {C_TYPES[o.type.name]} {o.name}" for o in self.inputs]
        roots = [*program.results[: len(self.outputs)], *program.tests[:1]]
        lines, values = self._statements(roots, lambda k: self.inputs[k].name)
        lines += [f"*{o.name} = {bare(value)};" for o, value in zip(self.outputs, values, strict=False)]
        name, title, kind = "again", "One element again, with more bits.", "void"
        if is_retry:
            lines.append(f"return {bare(values[-1]) if program.tests else 0};")
            name, title, kind = "retry", "One element again; whether it is open still.", "int"
        lines = [*self._unused(lines), *lines]
        head = f"static {kind} {self.interface.name}_{name}({', '.join([*given, *results, *self.parameters])})"
        return _function(title, head, lines)

    def _chunk(self) -> str:
        """The loop over a chunk."""
        program, name = self.interface.program, self.interface.name
        roots = [*program.results, *([] if program.undecided is None else [program.undecided])]
        lines, values = self._statements(roots, lambda k: f"{self.inputs[k].name}[i]")
        lines += [f"{o.name}[i] = {bare(value)};" for o, value in zip(self.outputs, values, strict=False)]
        after: list[str] = []
        before: list[str] = []
        if program.undecided is not None:
            before = [f"uint8_t is_open[{CHUNK}];", "int any = 0;"]
            lines += [f"is_open[i] = (uint8_t){values[-1]};", "any |= is_open[i];"]
            arguments = [f"{o.name}[i]" for o in self.inputs] + [f"&{o.name}[i]" for o in self.outputs]
            given = ", ".join([*arguments, *self.interface.parameters])
            call = f"{name}_again({given});"
            condition = "is_open[i]" if self.interface.retry is None else f"is_open[i] && {name}_retry({given})"
            after = [
                "for (size_t i = 0; any && i < n; i++) {",
                f"    if ({condition}) {{",
                f"        {call}",
                "    }",
                "}",
            ]
        before = [*self._unused([*lines, *after]), *before]
        loop = ["for (size_t i = 0; i < n; i++) {", *(f"    {line}" for line in lines), "}"]
        pointers = [f"{o.c_type}restrict {o.name}" for o in self.interface.operands]
        head = f"static void {name}_chunk({', '.join([*pointers, 'size_t n', *self.parameters])})"
        return _function(f"At most {CHUNK} elements.", head, [*before, *loop, *after])

    def _unused(self, lines: Sequence[str]) -> list[str]:
        """What says that an argument has no influence, such as the slope of unsigned numbers: compilers warn of it."""
        words = set(re.findall(r"\w+", " ".join(lines)))
        names = [*(o.name for o in self.inputs), *self.interface.parameters]
        return [f"(void){name};" for name in names if name not in words]

    def _entry(self, *, strided: bool) -> str:
        name = f"{self.interface.name}{'_strided' if strided else ''}"
        arguments = ", ".join(f"{kind}{argument}" for kind, argument in self.interface.arguments(strided=strided))
        return f"void {name}({arguments})"

    def _call(self, inputs: Sequence[str]) -> str:
        outputs = [f"{o.name}_chunk" for o in self.outputs]
        return f"{self.interface.name}_chunk({', '.join([*inputs, *outputs, 'n', *self.interface.parameters])});"

    def _buffers(self, operands: Sequence[Operand]) -> list[str]:
        return [f"{C_TYPES[o.type.name]} {o.name}_chunk[{CHUNK}];" for o in operands]

    def _contiguous(self) -> str:
        stores = [f"memcpy({o.name} + at, {o.name}_chunk, n * sizeof *{o.name});" for o in self.outputs]
        inside = [self._call([f"{o.name} + at" for o in self.inputs]), *stores]
        return _function("", self._entry(strided=False), [*self._buffers(self.outputs), *_chunks(inside)])

    def _strided(self) -> str:
        loads = [
            f"memcpy({o.name}_chunk + i, (const char *){o.name} + (ptrdiff_t)(at + i) * {o.name}_step, sizeof *{o.name});"
            for o in self.inputs
        ]
        stores = [
            f"memcpy((char *){o.name} + (ptrdiff_t)(at + i) * {o.name}_step, {o.name}_chunk + i, sizeof *{o.name});"
            for o in self.outputs
        ]
        inside = [*_each(loads), self._call([f"{o.name}_chunk" for o in self.inputs]), *_each(stores)]
        buffers = self._buffers([*self.inputs, *self.outputs])
        return _function("", self._entry(strided=True), [*buffers, *_chunks(inside)])


def _each(lines: Sequence[str]) -> list[str]:
    return ["for (size_t i = 0; i < n; i++) {", *(f"    {line}" for line in lines), "}"]


def _chunks(lines: Sequence[str]) -> list[str]:
    head = ["for (size_t at = begin, n; at < end; at += n) {", f"    n = end - at < {CHUNK} ? end - at : {CHUNK};"]
    return [*head, *(f"    {line}" for line in lines), "}"]


def _function(comment: str, head: str, lines: Sequence[str]) -> str:
    above = [f"/* {comment} */"] if comment else []
    return "\n".join([*above, f"{head} {{", *(f"    {line}" for line in lines), "}", ""])
