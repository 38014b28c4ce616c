"""Exported functions as one file of ISO C that people read and any compiler takes.

An element-wise function is a loop over chunks. A chunk is computed into a buffer, so that a result may be written over an
operand; elements whose rounding test leaves them open are computed again, with more bits, by a function of single
elements. Where a chain has more levels, they compute chunks of which many elements are open. Compilers vectorise loops.

A row-wise function is a function for each stage of its program (backends/c_rows.py), and a description of them, by which
the loops of backends/row_stages.h and row_loop.h go: the first is the one that the runtime compiles.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ogive import backends
from ogive.backends.c_like import Text, bare, joined
from ogive.backends.c_rows import StageText, kernel_record, loop_text, row_sizes
from ogive.backends.c_support import SUPPORT
from ogive.backends.dialects import ISO_C
from ogive.exporting.interface import C_TYPES, Interface
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, walk
from ogive.lowering.program import Program

#: So many elements are computed between two looks at the marks: 0.5 to 4 KiB of buffers an operand.
CHUNK = 512

#: A level of moderate operands tries so many elements of a chunk first. Where it leaves more open than one of so many, the next
#: level computes the chunk.
TRIED, FEW = 64, 128

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
        again = [self._again(program) for program in interface.later[-1:]]
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

    def _again(self, program: Program) -> str:
        """The function of one element, with more bits."""
        results = [f"{C_TYPES[o.type.name]} *{o.name}" for o in self.outputs]
        given = [f"const {C_TYPES[o.type.name]} {o.name}" for o in self.inputs]
        text = self._text(lambda k: self.inputs[k].name)
        text.rolls = True
        lines, values = text.statements(program.results[: len(self.outputs)])
        lines += [f"*{o.name} = {bare(value)};" for o, value in zip(self.outputs, values, strict=True)]
        lines = [*self._unused(lines), *joined(lines)]
        head = f"static OGIVE_RARE void {self.interface.name}_again({', '.join([*given, *results, *self.parameters])})"
        return _function("One element again, with more bits.", head, lines)

    def _chunk(self) -> str:
        """The loop over a chunk."""
        name, (program, *later) = self.interface.name, _worthwhile((self.interface.program, *self.interface.later))
        text = self._text(lambda k: f"{self.inputs[k].name}[i]")
        loop = _each(self._computed(text, program))
        before, after = list[str](), list[str]()
        if later:
            before = [f"uint8_t is_open[{CHUNK}];", "int any = 0;"]
            arguments = [f"{o.name}[i]" for o in self.inputs] + [f"&{o.name}[i]" for o in self.outputs]
            after = [
                "for (size_t i = 0; any && i < n; i++) {",
                "    if (is_open[i]) {",
                f"        {name}_again({', '.join([*arguments, *self.interface.parameters])});",
                "    }",
                "}",
            ]
        if later[1:]:
            retry, _ = later
            before.append("size_t open = 0, done = 0;")
            loop = [
                f"for (size_t end = n < {TRIED} ? n : {TRIED}; done < n && open <= end / {FEW}; done = end, end = n) {{",
                *_indented(["for (size_t i = done; i < end; i++) {", *_indented(self._computed(text, program)), "}"]),
                *_indented(["for (size_t i = done; any && i < end; i++) {", "    open += is_open[i];", "}"]),
                "}",
                f"if (done < n || open > n / {FEW}) {{ /* the same for operands of any size */",
                "    any = 0;",
                *_indented(_each(self._computed(text, retry))),
                "}",
            ]
        before = [*self._unused([*loop, *after]), *before]
        loop = ["OGIVE_EACH_APART", *loop] if self._is_direct else loop
        restrict = "" if self._is_direct else "restrict "
        pointers = [f"{o.c_type}{restrict}{o.name}" for o in self.interface.operands]
        head = f"static OGIVE_APART void {name}_chunk({', '.join([*pointers, 'size_t n', *self.parameters])})"
        return _function(f"At most {CHUNK} elements.", head, [*before, *loop, *after])

    def _computed(self, text: Text, program: Program) -> list[str]:
        """The results of an element, and behind them the test, if there is one."""
        lines, values = text.statements(program.roots)
        lines += [f"{o.name}[i] = {bare(value)};" for o, value in zip(self.outputs, values, strict=False)]
        if program.undecided is not None:
            lines += [f"is_open[i] = (uint8_t){values[-1]};", "any |= is_open[i];"]
        return joined(lines)

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
        return program.undecided is None and len(self.outputs) == 1

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
        for number, program in reversed(list(enumerate(interface.later))):
            name = f"{interface.name}_again{number or ''}"
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


def _worthwhile(levels: Sequence[Program]) -> Sequence[Program]:
    """The levels that are worth a loop: not the first of float32 if it has fewer operations than the next by less than a tenth."""
    if len(levels) < 3 or levels[0].outputs[0].bits == 64:
        return levels
    first, second, *_ = (sum(1 for n in walk(*level.roots) if n.operands) for level in levels)
    return levels[1:] if first > 0.9 * second else levels


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _each(lines: Sequence[str]) -> list[str]:
    return ["for (size_t i = 0; i < n; i++) {", *_indented(lines), "}"]


def _function(comment: str, head: str, lines: Sequence[str]) -> str:
    above = [f"/* {comment} */"] if comment else []
    return "\n".join([*above, f"{head} {{", *(f"    {line}" for line in lines), "}", ""])


# ---- functions in float alone: of one element, with branches, and loops that call it
#
# Small processors compute one element after the other, without double, and without fused multiply-add. So a choice between
# computations is a branch here, where other files compute both sides and keep the loop for vectors.

#: A choice is a branch if a side has more operations than these.
MOST_OF_A_SIDE = 3


def float_functions(interface: Interface, support: dict[str, str]) -> list[str]:
    """The functions of an interface; those that they call come into ``support``."""
    own = _Functions(interface, support)
    inputs, (output,) = own.inputs, own.outputs
    text = own._text(lambda k: inputs[k].name)
    (result,) = interface.program.results
    body = _branches(text, result, {})
    kinds = [f"const {C_TYPES[o.type.name]} {o.name}" for o in inputs]
    given = ", ".join([*kinds, *(f"const float {name}" for name in interface.parameters)])
    joint = "\n".join(body)
    unused = [f"(void){name};" for name in [*(o.name for o in inputs), *interface.parameters] if name not in joint]
    element = f"{interface.name}_element"
    functions = [_function("", f"OGIVE_INLINE {C_TYPES[output.type.name]} {element}({given})", [*unused, *body])]
    for strided in (True, False):
        arguments = ", ".join(f"{kind}{argument}" for kind, argument in interface.arguments(strided=strided))

        def place(name: str, kind: str, apart: bool = strided) -> str:
            at = f"({kind} *)((uintptr_t){name} + (uintptr_t)((ptrdiff_t)i * {name}_step))"
            return f"*{at}" if apart else f"{name}[i]"

        read = [place(o.name, f"const {C_TYPES[o.type.name]}") for o in inputs]
        call = f"{element}({', '.join([*read, *interface.parameters])})"
        loop = [
            "for (size_t i = begin; i < end; i++) {",
            f"    {place(output.name, C_TYPES[output.type.name])} = {call};",
            "}",
        ]
        functions.append(_function("", f"void {interface.name}{'_strided' if strided else ''}({arguments})", loop))
    return functions


def _branches(text: Text, root: Expression, known: Mapping[Expression, str]) -> list[str]:
    """The statements that return a value. Each side of a choice computes only what it needs."""
    if root.operation == ops.SELECT and _is_branch(root, known):
        condition, a, b = root.operands
        before, after = _computed([condition], known), _computed([a, b], known)
        shared = [n for n in before if n in after]
        inner = {operand for n in shared for operand in walk(*n.operands)}
        first = [n for n in shared if n not in inner and n is not condition]
        lines, names = text.named([*first, condition], known)
        later = {**known, **names}
        return [
            *joined(lines),
            f"if ({bare(names[condition])}) {{",
            *(f"    {line}" for line in _branches(text, a, later)),
            "}",
            *_branches(text, b, later),
        ]
    lines, (value,) = text.statements([root], known)
    return [*joined(lines), f"return {bare(value)};"]


def _computed(roots: Sequence[Expression], known: Mapping[Expression, str]) -> dict[Expression, None]:
    """The operations of these graphs, operands first."""
    walked = walk(*roots, operands=lambda n: () if n in known else n.operands)
    return {n: None for n in walked if n.operands and n not in known}


def _is_branch(root: Expression, known: Mapping[Expression, str]) -> bool:
    condition, a, b = root.operands
    of_condition, sides = _computed([condition], known), [_computed([side], known) for side in (a, b)]
    alone = [sum(n not in of_condition and n not in other for n in one) for one, other in (sides, sides[::-1])]
    return max(alone) > MOST_OF_A_SIDE
