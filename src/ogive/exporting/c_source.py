"""Exported functions as one file of ISO C that people read and any compiler takes.

An element-wise function is a loop over chunks. A chunk is computed into a buffer, so that a result may be written over an
operand; elements whose rounding test leaves them open are computed again, with more bits, by a function of single
elements. Compilers vectorise the loop.

A row-wise function is a function for each stage of its program (backends/c_rows.py), and a description of them, by which
the loops of backends/row_stages.h and row_loop.h go: the first is the one that the runtime compiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ogive import backends
from ogive.backends.c_like import Text, bare
from ogive.backends.c_rows import StageText, kernel_record, loop_text
from ogive.backends.dialects import ISO_C
from ogive.exporting.interface import C_TYPES, Interface, Operand
from ogive.expression import Expression, Format
from ogive.program import Program

__all__ = ["ROW_FIELDS", "source_text"]

#: So many elements are computed between two looks at the marks: 1 to 8 KiB of buffers an operand.
CHUNK = 256


#: The description of a row-wise function, in the fields that backends/row_stages.h reads.
ROW_FIELDS = """\
typedef struct ogive_row_kernel {
    int inputs, outputs, scratches, stages;
    ogive_stage *functions[OGIVE_MAX_STAGES];
    intptr_t itemsizes[OGIVE_MAX_OPERANDS];
    char of_row[OGIVE_MAX_OPERANDS];
    int reductions_of[OGIVE_MAX_STAGES];
    char repeats[OGIVE_MAX_STAGES];
    enum ogive_reduction reductions[OGIVE_MAX_REDUCTIONS];
    const struct ogive_row_kernel *repair; /* what computes a row again, with more bits; not NULL: some rows are undecided */
} ogive_row_kernel;
"""

STAGE = "typedef void ogive_stage(char *const *operands, intptr_t count, double *record, intptr_t first);\n\n"

ROW_WORDS = {
    "OGIVE_MEMORY": "",
    "OGIVE_RUN_STAGE(kernel, stage, operands, count, records, rows, steps, first)":
        "(kernel)->functions[stage](operands, count, &(records)[0][0], first)",
}  # fmt: skip


def source_text(name: str, interfaces: Sequence[Interface]) -> str:
    """The file of these functions, whose header is ``NAME.h``."""
    text = Text(ISO_C, lambda n: "")
    rows = [interface.program for interface in interfaces if interface.is_row_wise]
    loop = (
        [loop_text(text, rows, ROW_WORDS, STAGE + ROW_FIELDS), _header(Path(__file__).parent / "row_loop.h")]
        if rows
        else []
    )
    functions = [
        one
        for interface in interfaces
        for one in (_RowFunctions if interface.is_row_wise else _Functions)(interface, text.support).texts()
    ]
    environment = _header(Path(backends.__file__).parent / "floating_point.h")
    helpers = [text.support[each] for each in text.support]
    return "\n".join([f'#include "{name}.h"\n', ISO_C.before, environment, *helpers, *loop, *functions])


def _header(path: Path) -> str:
    """A file that is included once here, without what guards it."""
    lines = path.read_text("utf-8").splitlines()
    guard = f"OGIVE_{path.stem.upper()}_H"
    first = next((k for k, line in enumerate(lines) if line.endswith(f"#define {guard}")), None)
    return "\n".join([*(lines if first is None else [*lines[: first - 1], *lines[first + 1 : -1]]), ""])


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
        head = (
            f"static OGIVE_RARE {kind} {self.interface.name}_{name}({', '.join([*given, *results, *self.parameters])})"
        )
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
        head = f"static OGIVE_APART void {name}_chunk({', '.join([*pointers, 'size_t n', *self.parameters])})"
        return _function(f"At most {CHUNK} elements.", head, [*before, *loop, *after])

    def _unused(self, lines: Sequence[str]) -> list[str]:
        """The statement that an argument has no influence, such as the slope of unsigned numbers: compilers warn of it."""
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
        return _function(
            "", self._entry(strided=False), [*self._buffers(self.outputs), *_in_environment(_chunks(inside))]
        )

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
        return _function("", self._entry(strided=True), [*buffers, *_in_environment(_chunks(inside))])


class _RowFunctions(_Functions):
    """The functions of one interface that takes rows: one for each stage, and what describes them."""

    def texts(self) -> list[str]:
        interface = self.interface
        own = f"{interface.name}_program"
        later = interface.program.later if interface.repair is not None else ()
        names = [f"{interface.name}_again{number or ''}" for number in range(len(later))]
        again: list[str] = []
        next_one = "NULL"
        for name, program in reversed(list(zip(names, later, strict=True))):
            again += self._program(name, program, next_one)
            next_one = f"&{name}"
        repair = next_one
        size = _function(
            "", f"size_t {interface.name}_scratch(size_t count)", [f"return ogive_rows_scratch(&{own}, count);"]
        )
        entries = [self._rows(own, strided=strided) for strided in (False, True)]
        return [*again, *self._program(own, interface.program, repair), *entries, size]

    def _program(self, name: str, program: Program, repair: str) -> list[str]:
        text = Text(ISO_C, lambda n: "")
        text.support = self.support
        constants = {k: text.literal(Format.F64, value) for k, value in enumerate(self.interface.constants)}
        has_mask = len(program.outputs) > len(self.outputs)
        mask = len(self.interface.operands) if has_mask else -1
        names = [f"{name}_stage{k}" for k in range(len(program.stages) + 1)]
        begin = f"static {'' if program is self.interface.program else 'OGIVE_RARE '}void"
        found = []
        for k, function in enumerate(names):
            head = f"{begin} {function}(char *const *operands, intptr_t count, double *record, intptr_t first)"
            found.append(StageText(program, k, text, parameters=constants, mask=mask).function(head))
        described = kernel_record(program, f"{{{', '.join(names)}}}", repair)
        return [*found, f"static const ogive_row_kernel {name} = {described};\n"]

    def _rows(self, program: str, *, strided: bool) -> str:
        operands = self.interface.operands
        sizes = [f"(ptrdiff_t)sizeof *{o.name}" for o in operands]
        rows = [size if o.of_row else f"{size} * (ptrdiff_t)count" for o, size in zip(operands, sizes, strict=True)]
        if strided:
            rows = [f"{o.name}_row" for o in operands]
            sizes = [size if o.of_row else f"{o.name}_step" for o, size in zip(operands, sizes, strict=True)]
        values = self.interface.parameters
        lines = [
            f"char *const operands[] = {{{', '.join(f'(char *){o.name}' for o in operands)}}};",
            f"const ptrdiff_t rows[] = {{{', '.join(rows)}}}, steps[] = {{{', '.join(sizes)}}};",
            f"const double parameters[] = {{{', '.join(values or ['0.0'])}}};",
        ]
        count = self.interface.program.parameter_count
        given = f"operands, rows, steps, begin, end, count, parameters, {count}, scratch"
        call = [f"ogive_rows(&{program}, {given});"]
        return _function("", self._entry(strided=strided), [*lines, *_in_environment(call)])


def _in_environment(lines: Sequence[str]) -> list[str]:
    """In the default environment, after which the caller's comes back."""
    return ["const ogive_fp_state saved = ogive_fp_enter();", *lines, "ogive_fp_leave(saved);"]


def _each(lines: Sequence[str]) -> list[str]:
    return ["for (size_t i = 0; i < n; i++) {", *(f"    {line}" for line in lines), "}"]


def _chunks(lines: Sequence[str]) -> list[str]:
    head = ["for (size_t at = begin, n; at < end; at += n) {", f"    n = end - at < {CHUNK} ? end - at : {CHUNK};"]
    return [*head, *(f"    {line}" for line in lines), "}"]


def _function(comment: str, head: str, lines: Sequence[str]) -> str:
    above = [f"/* {comment} */"] if comment else []
    return "\n".join([*above, f"{head} {{", *(f"    {line}" for line in lines), "}", ""])
