"""Exported functions as one file of ISO C that people read and any compiler takes.

An element-wise function is a loop over chunks. A chunk is computed into a buffer, so that a result may be written over an
operand; elements whose rounding test leaves them open are computed again, with more bits, by a function of single
elements. Compilers vectorise the loop.

A row-wise function is a function for each stage of its program (backends/c_rows.py), and a description of them, by which
the loops of backends/row_stages.h and row_loop.h go: the first is the one that the runtime compiles.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from ogive import backends
from ogive.backends.c_like import Text, bare, joined
from ogive.backends.c_rows import StageText, kernel_record, loop_text, row_sizes
from ogive.backends.c_support import SUPPORT
from ogive.backends.dialects import ISO_C
from ogive.exporting.float_source import float_functions
from ogive.exporting.interface import C_TYPES, Interface
from ogive.graph.expression import Expression, Format, walk
from ogive.lowering.program import FastPath, Program

__all__ = ["COMMON", "ROW_FIELDS", "common_files", "source_text"]

#: So many elements are computed between two looks at the marks: 0.5 to 4 KiB of buffers an operand.
CHUNK = 512


#: The width of a line.
WIDTH = 120

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
    const struct ogive_row_kernel *next; /* what computes a row again, with more bits; not NULL: some rows are undecided */
} ogive_row_kernel;
"""

STAGE = "typedef void ogive_stage(char *const *operands, intptr_t count, double *record, intptr_t first);\n\n"

ROW_WORDS = {
    "OGIVE_MEMORY": "",
    "OGIVE_RUN_STAGE(kernel, stage, operands, count, records, rows, steps, first)":
        "(kernel)->functions[stage](operands, count, &(records)[0][0], first)",
}  # fmt: skip


#: The files that all exported functions share, and those of rows.
COMMON, COMMON_ROWS = "ogive_ieee.h", "ogive_rows.h"

_TITLE = """\
/* A value's name begins with its type: f is float, d double, i an integer, is a condition. Numbers in hexadecimal are
 * exact. {common} declares all that is called here and not written. */
"""

_TITLE_OF_FLOAT = """\
/* A value's name begins with its type: f is float, i an integer, is a condition. Numbers in hexadecimal are exact. */
"""

_COMMON_TITLE = """\
/* What the C files that Ogive exports have in common, the same for all: IEEE 754 in ISO C11. */
"""


def common_files(interfaces: Sequence[Interface]) -> dict[str, str]:
    """The files by name that the file of these functions includes."""
    if not _needs_common(interfaces):
        return {}
    texts = {COMMON: _common()}
    if any(interface.is_row_wise for interface in interfaces):
        texts[COMMON_ROWS] = _common_rows()
    guards = {name: name.upper().replace(".", "_") for name in texts}
    return {name: f"#ifndef {guards[name]}\n#define {guards[name]}\n\n{text}\n#endif\n" for name, text in texts.items()}


def source_text(name: str, interfaces: Sequence[Interface], *, is_whole: bool = False) -> str:
    """The file of these functions, whose header is ``NAME.h``; ``is_whole`` is with what it has in common with others."""
    rows = [interface.program for interface in interfaces if interface.is_row_wise]
    text = Text(ISO_C, lambda n: "")
    functions = [one for interface in interfaces for one in _functions(interface, text.support)]
    tables = [each for key, each in text.support.items() if key not in SUPPORT]
    sizes = "".join(f"#define {word} {size}\n" for word, size in row_sizes(rows).items())
    common = [_common(), *([sizes, _common_rows()] if rows else [])]
    included = [f'#include "{COMMON}"\n', *([f'{sizes}#include "{COMMON_ROWS}"\n'] if rows else [])]
    title = _TITLE.format(common=COMMON)
    if not _needs_common(interfaces):
        before = ISO_C.before
        for words in (" and double in double", " and double"):
            before = before.replace(words, "")
        title, included = _TITLE_OF_FLOAT, [before, *text.support.values()]
        is_whole, tables = False, []
    lines = "\n".join([*tables, *functions]).split("\n")
    own = [each for line in lines for each in _wrapped(line)]
    return "\n".join([title, f'#include "{name}.h"', *(common if is_whole else included), *own])


def _needs_common(interfaces: Sequence[Interface]) -> bool:
    """Whether there is a function that is not in float alone."""
    return any(interface.real != "float" for interface in interfaces)


def _functions(interface: Interface, support: dict[str, str]) -> list[str]:
    if interface.real == "float":
        return float_functions(interface, support)
    return (_RowFunctions if interface.is_row_wise else _Functions)(interface, support).texts()


def _wrapped(line: str) -> list[str]:
    """A long line as several."""
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    indent += " " * 8
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@lru_cache
def _common() -> str:
    text = Text(ISO_C, lambda n: "")
    for name in SUPPORT:
        text.need(name)
    environment = _without_guard(Path(backends.__file__).parent / "floating_point.h")
    return "\n".join([_COMMON_TITLE, ISO_C.before, environment, *text.support.values()])


@lru_cache
def _common_rows() -> str:
    loop = loop_text(Text(ISO_C, lambda n: ""), (), ROW_WORDS, STAGE + ROW_FIELDS)
    return f"{loop}\n{(Path(__file__).parent / 'row_loop.h').read_text('utf-8')}"


def _without_guard(path: Path) -> str:
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
        again = [self._again(name, program) for name, program in zip(self._names, interface.later, strict=True)]
        return [*again, self._chunk(), self._strided(), self._contiguous()]

    def _text(self, read: Callable[[int], str]) -> Text:
        names = dict(enumerate(self.interface.parameters))

        def leaf(n: Expression) -> str:
            if n.operation == "input":
                return read(n.attribute)
            position = n.attribute[0]
            return names.get(position) or text.literal(n.format, self.interface.constants[position])

        text = Text(ISO_C, leaf)
        text.support = self.support
        return text

    @property
    def _names(self) -> list[str]:
        """The functions of later programs."""
        return [f"{self.interface.name}_again{number or ''}" for number in range(len(self.interface.later))]

    def _again(self, name: str, program: Program) -> str:
        """The function of one element, with more bits. All but the last say whether the element is open still."""
        results = [f"{C_TYPES[o.type.name]} *{o.name}" for o in self.outputs]
        given = [f"const {C_TYPES[o.type.name]} {o.name}" for o in self.inputs]
        roots = [*program.results[: len(self.outputs)], *program.tests[:1]]
        text = self._text(lambda k: self.inputs[k].name)
        text.rolls = True
        lines, values = text.statements(roots)
        lines += [f"*{o.name} = {bare(value)};" for o, value in zip(self.outputs, values, strict=False)]
        title, kind = "One element again, with more bits.", "void"
        if name != self._names[-1]:
            lines.append(f"return {bare(values[-1]) if program.tests else 0};")
            title, kind = "One element again; whether it is open still.", "int"
        lines = [*self._unused(lines), *joined(lines)]
        head = f"static OGIVE_RARE {kind} {name}({', '.join([*given, *results, *self.parameters])})"
        return _function(title, head, lines)

    def _chunk(self) -> str:
        """The loop over a chunk."""
        program, name = self.interface.program, self.interface.name
        text = self._text(lambda k: f"{self.inputs[k].name}[i]")
        loop = self._loop(text, [*program.results, *([] if program.undecided is None else [program.undecided])])
        fast = program.fast_path
        if fast is not None and _is_shorter(fast, program):
            short = self._loop(text, [*fast.results, *([] if fast.undecided is None else [fast.undecided])])
            (limit_lines, (limit,)), (lines, (size,)) = text.statements([fast.limit]), text.statements([fast.magnitude])
            kind = ISO_C.type(fast.magnitude.format)
            lines += [f"const {kind} size = {bare(size)};", "most = most < size ? size : most;"]
            before = [*limit_lines, f"{kind} most = 0;", *_each(lines), f"if (most < {bare(limit)}) {{"]
            loop = [
                *before,
                *_indented(short),
                "} else { /* the same for operands that are large or NaN */",
                *_indented(loop),
                "}",
            ]
        before, after = list[str](), list[str]()
        if program.undecided is not None:
            before = [f"uint8_t is_open[{CHUNK}];", "int any = 0;"]
            arguments = [f"{o.name}[i]" for o in self.inputs] + [f"&{o.name}[i]" for o in self.outputs]
            given = ", ".join([*arguments, *self.interface.parameters])
            *earlier, last = [f"{each}({given})" for each in self._names]
            after = [
                "for (size_t i = 0; any && i < n; i++) {",
                f"    if ({' && '.join(['is_open[i]', *earlier])}) {{",
                f"        {last};",
                "    }",
                "}",
            ]
        before = [*self._unused([*loop, *after]), *before]
        loop = ["OGIVE_EACH_APART", *loop] if self._is_direct else loop
        restrict = "" if self._is_direct else "restrict "
        pointers = [f"{o.c_type}{restrict}{o.name}" for o in self.interface.operands]
        head = f"static OGIVE_APART void {name}_chunk({', '.join([*pointers, 'size_t n', *self.parameters])})"
        return _function(f"At most {CHUNK} elements.", head, [*before, *loop, *after])

    def _loop(self, text: Text, roots: Sequence[Expression]) -> list[str]:
        """The loop that computes the results, and behind them the test, if there is one."""
        lines, values = text.statements(roots)
        lines += [f"{o.name}[i] = {bare(value)};" for o, value in zip(self.outputs, values, strict=False)]
        if len(values) > len(self.outputs):
            lines += [f"is_open[i] = (uint8_t){values[-1]};", "any |= is_open[i];"]
        return _each(joined(lines))

    def _unused(self, lines: Sequence[str]) -> list[str]:
        """The statement that an argument has no influence, such as the slope of unsigned numbers: compilers warn of it."""
        words = set(re.findall(r"\w+", " ".join(lines)))
        names = [*(o.name for o in self.inputs), *self.interface.parameters]
        return [f"(void){name};" for name in names if name not in words]

    def _entry(self, *, strided: bool) -> str:
        name = f"{self.interface.name}{'_strided' if strided else ''}"
        arguments = ", ".join(f"{kind}{argument}" for kind, argument in self.interface.arguments(strided=strided))
        return f"void {name}({arguments})"

    @property
    def _is_direct(self) -> bool:
        """Whether results are written where they belong: nobody needs the operands again, over which they may lie."""
        program = self.interface.program
        return program.undecided is None and program.fast_path is None and len(self.outputs) == 1

    def _strided(self) -> str:
        place = {o: f"(char *){o.name} + (ptrdiff_t)at * {o.name}_step, {o.name}_step" for o in self.interface.operands}
        inside = [
            f"{o.c_type}{o.name}_at = ({o.c_type.strip()})ogive_gathered({o.name}_chunk, {place[o]}, n, sizeof *{o.name});"
            for o in self.inputs
        ]
        stores = [
            f"ogive_copy({place[o]}, {o.name}_chunk, sizeof *{o.name}, n, sizeof *{o.name});" for o in self.outputs
        ]
        results = [f"{o.name}_chunk" for o in self.outputs]
        if self._is_direct:
            (o,), (chunk,) = self.outputs, results
            results = [f"{o.name}_at"]
            inside.append(
                f"{o.c_type}{o.name}_at = {o.name}_step == (ptrdiff_t)sizeof *{o.name} ? {o.name} + at : {chunk};"
            )
            stores = [f"if ({o.name}_at == {chunk}) {{", f"    {stores[0]}", "}"]
        names = [*(f"{o.name}_at" for o in self.inputs), *results, "n", *self.interface.parameters]
        lines = [
            *(f"{C_TYPES[o.type.name]} {o.name}_chunk[{CHUNK}];" for o in self.interface.operands),
            "const ogive_fp_state saved = ogive_fp_enter();",
            "for (size_t at = begin, n; at < end; at += n) {",
            f"    n = end - at < {CHUNK} ? end - at : {CHUNK};",
            *_indented([*inside, f"{self.interface.name}_chunk({', '.join(names)});", *stores]),
            "}",
            "ogive_fp_leave(saved);",
        ]
        return _function("", self._entry(strided=True), lines)

    def _contiguous(self) -> str:
        """The function without distances: the other one, with those of operands without gaps."""
        given = {f"{o.name}_step": f"sizeof *{o.name}" for o in self.interface.operands}
        given |= {f"{o.name}_row": f"sizeof *{o.name}{'' if o.of_row else ' * count'}" for o in self.interface.operands}
        arguments = [
            f"(ptrdiff_t)({given[name]})" if name in given else name
            for _, name in self.interface.arguments(strided=True)
        ]
        call = f"{self.interface.name}_strided({', '.join(arguments)});"
        return _function("", self._entry(strided=False), [call])


class _RowFunctions(_Functions):
    """The functions of one interface that takes rows: one for each stage, and what describes them."""

    def texts(self) -> list[str]:
        interface = self.interface
        own = f"{interface.name}_program"
        again: list[str] = []
        next_one = "NULL"
        for name, program in reversed(list(zip(self._names, interface.later, strict=True))):
            again += self._program(name, program, next_one)
            next_one = f"&{name}"
        size = _function(
            "", f"size_t {interface.name}_scratch(size_t count)", [f"return ogive_rows_scratch(&{own}, count);"]
        )
        return [*again, *self._program(own, interface.program, next_one), self._strided(), self._contiguous(), size]

    def _program(self, name: str, program: Program, following: str) -> list[str]:
        text = Text(ISO_C, lambda n: "")
        text.support, text.rolls = self.support, program is not self.interface.program
        constants = {k: text.literal(Format.F64, value) for k, value in enumerate(self.interface.constants)}
        has_mask = len(program.outputs) > len(self.outputs)
        mask = len(self.interface.operands) if has_mask else -1
        names = [f"{name}_stage{k}" for k in range(len(program.stages) + 1)]
        begin = f"static {'' if program is self.interface.program else 'OGIVE_RARE '}void"
        found = []
        for k, function in enumerate(names):
            head = f"{begin} {function}(char *const *operands, intptr_t count, double *record, intptr_t first)"
            made = StageText(program, k, text, parameters=constants, mask=mask).function(head)
            found.append("\n".join([*joined(made.splitlines()), ""]))
        described = kernel_record(program, f"{{{', '.join(names)}}}", following)
        return [*found, f"static const ogive_row_kernel {name} = {described};\n"]

    def _strided(self) -> str:
        operands, values = self.interface.operands, self.interface.parameters
        steps = [f"(ptrdiff_t)sizeof *{o.name}" if o.of_row else f"{o.name}_step" for o in operands]
        given = f"&{self.interface.name}_program, operands, rows, steps, begin, end, count, parameters"
        lines = [
            f"char *const operands[] = {{{', '.join(f'(char *){o.name}' for o in operands)}}};",
            f"const ptrdiff_t rows[] = {{{', '.join(f'{o.name}_row' for o in operands)}}}, steps[] = {{{', '.join(steps)}}};",
            f"const double parameters[] = {{{', '.join(values or ['0.0'])}}};",
            "const ogive_fp_state saved = ogive_fp_enter();",
            f"ogive_rows({given}, {self.interface.program.parameter_count}, scratch);",
            "ogive_fp_leave(saved);",
        ]
        return _function("", self._entry(strided=True), lines)


def _is_shorter(fast: FastPath, program: Program) -> bool:
    """Whether the fast path has fewer operations by a fifth: so it is worth a loop of its own."""
    counts = [
        sum(1 for n in walk(*results, *([] if test is None else [test])) if n.operands)
        for results, test in ((fast.results, fast.undecided), (program.results, program.undecided))
    ]
    return counts[0] <= 0.8 * counts[1]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _each(lines: Sequence[str]) -> list[str]:
    return ["for (size_t i = 0; i < n; i++) {", *_indented(lines), "}"]


def _function(comment: str, head: str, lines: Sequence[str]) -> str:
    above = [f"/* {comment} */"] if comment else []
    return "\n".join([*above, f"{head} {{", *(f"    {line}" for line in lines), "}", ""])
