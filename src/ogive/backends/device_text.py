"""Programs as kernels of a device, in OpenCL C or CUDA C++: one work item an element, or a row.

The text has two kernels. ``ogive_elements`` computes elements. Where the program's rounding test leaves one open, the
retry and the repair compute it again, in the same work item; where these leave it open too, its place and its operands go into a list.
The host computes those few, and ``ogive_put`` puts their results into place.

Operands may lie anyhow: ``layout`` has the number of dimensions, the shape, and for each operand the place of its first
element and the distances from element to element along each dimension, counted in elements. Results are contiguous. Operands
of other types than the program's are converted where they are read.

In row-wise programs, ``ogive_rows`` computes rows by the loop of row_stages.h, and lists those that stay open. A work item has
memory for rows of its own, into which it copies operands whose elements lie apart or have another type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ogive.backends.c_like import Text, bare
from ogive.backends.c_rows import StageText, kernel_record, loop_text
from ogive.backends.dialects import Dialect, KernelWords
from ogive.common.dtypes import BOOLEAN, ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, in_format, node
from ogive.lowering.program import Program

#: The names of the kernels; those that move elements have the bytes of one behind it.
ELEMENTS, PUT, ROWS, MOVE, TAKE = "ogive_elements", "ogive_put", "ogive_rows", "ogive_move", "ogive_take"


def kernel_text(program: Program, dialect: Dialect, given: Sequence[ElementType] | None = None) -> str:
    """The text of both kernels. ``given`` are the element types of the operands, where they are others than the program's.

    ``ogive_elements`` takes: how many elements; the first one; the layout; the inputs; the results; the parameters as
    float64; and, of programs with a repair, the room of the list, its counter, its places, and an array for each input.
    ``ogive_put`` takes how many; the first element; the places; for each result its values and the result.

    ``ogive_rows``, of row-wise programs, takes: how many rows; the first one; the elements of a row; the layout of the rows;
    the inputs, and the distance from element to element of each; the results; the parameters; the memory of all work items, and the
    bytes of one; the room of the list, its counter, and its places.
    """
    made = _RowKernels if program.stages else _Kernels
    return made(program, dialect, program.inputs if given is None else given).text()


def movement_text(dialect: Dialect) -> str:
    """The text of the kernels that move elements of 1, 2, 4 and 8 bytes: ``ogive_move_4`` and ``ogive_take_4``, and so on.

    ``ogive_move`` takes: how many elements; the layout of both; the source; the target. ``ogive_take`` takes: how many;
    whether places are the target's, not the source's; the places; the source; the target.
    """
    words, long, int_ = _words(dialect), dialect.type(Format.I64), dialect.type(Format.I32)
    p, functions = words.pointer, [dialect.before]
    begin = [f"const {long} item = ({long})({words.number});", "if (item >= n) {", "    return;", "}"]
    for form in (Format.U8, Format.U16, Format.U32, Format.U64):
        size = form.bits // 8
        both = f"{p}const {dialect.type(form)} *a, {p}{dialect.type(form)} *b"
        lines = [*begin, f"const {long} first = 0;", *_places(long, (0, 1)), "b[at1] = a[at0];"]
        head = f"{words.head} {MOVE}_{size}(const {long} n, {p}const {long} *layout, {both})"
        functions.append(_function(head, lines))
        lines = [*begin, "b[puts ? places[item] : item] = a[puts ? item : places[item]];"]
        head = f"{words.head} {TAKE}_{size}(const {long} n, const {int_} puts, {p}const {long} *places, {both})"
        functions.append(_function(head, lines))
    return "\n".join(functions)


def _words(dialect: Dialect) -> KernelWords:
    assert dialect.kernel is not None, "a language of devices"
    return dialect.kernel


def _places(long: str, read: Sequence[int]) -> list[str]:
    """The places of the operands' elements that are read."""
    if not read:
        return []
    starts = ", ".join(f"at{k} = layout[1 + dims + (dims + 1) * {k}]" for k in read)
    steps = [f"at{k} += index * layout[2 + dims + (dims + 1) * {k} + d];" for k in read]
    return [
        f"const {long} dims = layout[0];",
        f"{long} rest = first + item, {starts};",
        f"for ({long} d = dims - 1; d >= 0; d--) {{",
        f"    const {long} size = layout[1 + d], index = d > 0 ? rest % size : rest;",
        "    rest = d > 0 ? rest / size : 0;",
        *(f"    {step}" for step in steps),
        "}",
    ]


def _converted(source: ElementType, wanted: ElementType) -> Expression:
    """An operand of one type as a number of another, which has room for all its numbers, but for 64 bits in float64."""
    value = node(ops.INPUT, (), 0, STORAGE[source.name])
    if source is BOOLEAN:
        is_zero = node(ops.EQUAL, (value, node(ops.CONSTANT, (), 0, value.format)), None, Format.BIT)
        value = node(ops.NOT, (is_zero,), None, Format.BIT)
    return in_format(value, STORAGE[wanted.name])


#: LLVM 14 and 15, by which Debian's pocl compiles, end the process over some functions that they vectorise for AVX-512.
PLAIN = """\
#if defined(__AVX512F__)
#define OGIVE_PLAIN __attribute__((noinline, optnone))
#else
#define OGIVE_PLAIN
#endif

"""


def lists_open_elements(program: Program) -> bool:
    """Whether the host computes what a kernel of elements leaves open."""
    return program.undecided is not None and program.has_mask_at_end


class _Kernels:
    def __init__(self, program: Program, dialect: Dialect, given: Sequence[ElementType]) -> None:
        self.given = tuple(given)
        self.program, self.dialect, self.words = program, dialect, _words(dialect)
        self.support: dict[str, str] = {}
        self.later = program.chain[1:]
        self.inputs, self.outputs = range(len(program.inputs)), range(len(program.outputs))
        self.parameters = [f"const double p{k}" for k in range(program.parameter_count)]

    def text(self) -> str:
        again = [self._again(number, program) for number, program in enumerate(self.later)]
        functions = [*again, self._elements(), self._put()]
        plain = [PLAIN] if again else []
        return "\n".join([self.dialect.before, *plain, *self.support.values(), *functions])

    def _type(self, kind: ElementType) -> str:
        return self.dialect.type(STORAGE[kind.name])

    def _pointer(self, kind: ElementType, *, is_read: bool) -> str:
        return f"{self.words.pointer}{'const ' if is_read else ''}{self._type(kind)} *"

    def _statements(self, roots: Sequence[Expression]) -> tuple[list[str], list[str]]:
        def leaf(n: Expression) -> str:
            return f"x{n.attribute}" if n.operation == "input" else f"p{n.attribute[0]}"

        text = Text(self.dialect, leaf)
        text.support = self.support
        return text.statements(roots)

    def _again(self, number: int, program: Program) -> str:
        """The function of a later program; whether it leaves the element open."""
        given = [f"const {self._type(t)} x{k}" for k, t in enumerate(self.program.inputs)]
        given += [f"{self._type(t)} *y{k}" for k, t in enumerate(self.program.outputs)]
        test = node(ops.CONSTANT, (), 0, Format.BIT) if program.undecided is None else program.undecided
        lines, values = self._statements([*program.results, test][: len(self.outputs) + 1])
        lines += [f"*y{k} = {bare(values[k])};" for k in self.outputs]
        head = f"{self.dialect.static}OGIVE_PLAIN int ogive_again{number or ''}"
        return _function(f"{head}({', '.join([*given, *self.parameters])})", [*lines, f"return {bare(values[-1])};"])

    def _elements(self) -> str:
        program, p = self.program, self.words.pointer
        long, uint = self.dialect.type(Format.I64), self.dialect.type(Format.U32)
        arguments = [f"const {long} n", f"const {long} first", f"{p}const {long} *layout"]
        arguments += [f"{self._pointer(t, is_read=True)}a{k}" for k, t in enumerate(self.given)]
        arguments += [f"{self._pointer(t, is_read=False)}r{k}" for k, t in enumerate(program.outputs)]
        arguments += self.parameters
        tests = [] if program.undecided is None else [program.undecided]
        statements, values = self._statements([*program.results, *tests])
        words = set(re.findall(r"\w+", " ".join([*statements, *values])))
        given = [f"x{k}" for k in self.inputs] + [f"&y{k}" for k in self.outputs]
        given += [f"p{k}" for k in range(program.parameter_count)]
        later = range(len(self.later) if tests else 0)
        again = [f"ogive_again{number or ''}({', '.join(given)})" for number in later]
        read = [k for k in self.inputs if again or f"x{k}" in words]
        lines = [f"const {long} item = ({long})({self.words.number});", "if (item >= n) {", "    return;", "}"]
        lines += _places(long, read)
        lines += [line for k in read for line in self._read(k)]
        lines += statements
        lines += [f"{self._type(t)} y{k} = {bare(values[k])};" for k, t in enumerate(program.outputs)]
        if lists_open_elements(program):
            arguments += [f"const {uint} room", f"{p}{uint} *count", f"{p}{uint} *places"]
            arguments += [f"{self._pointer(t, is_read=False)}open{k}" for k, t in enumerate(program.inputs)]
            lines += [
                f"if ({' && '.join([values[-1], *again])}) {{",
                f"    const {uint} slot = {self.words.append.format('count')};",
                "    if (slot < room) {",
                f"        places[slot] = ({uint})item;",
                *(f"        open{k}[slot] = x{k};" for k in self.inputs),
                "    }",
                "}",
            ]
        elif again:
            lines.append(f"(void)({' && '.join([values[-1], *again])});")
        lines += [f"r{k}[first + item] = y{k};" for k in self.outputs]
        return _function(f"{self.words.head} {ELEMENTS}({', '.join(arguments)})", lines)

    def _read(self, k: int) -> list[str]:
        """The statements that read an operand, as a number of the program's type."""
        source, wanted = self.given[k], self.program.inputs[k]
        if source is wanted:
            return [f"const {self._type(wanted)} x{k} = a{k}[at{k}];"]
        text = Text(self.dialect, lambda _: f"given{k}")
        text.support = self.support
        _, (value,) = text.statements([_converted(source, wanted)])
        return [
            f"const {self._type(source)} given{k} = a{k}[at{k}];",
            f"const {self._type(wanted)} x{k} = {bare(value)};",
        ]

    def _put(self) -> str:
        p, long, uint = self.words.pointer, self.dialect.type(Format.I64), self.dialect.type(Format.U32)
        arguments = [f"const {long} n", f"const {long} first", f"{p}const {uint} *places"]
        for k, t in enumerate(self.program.outputs):
            arguments += [f"{self._pointer(t, is_read=True)}v{k}", f"{self._pointer(t, is_read=False)}r{k}"]
        lines = [f"const {long} item = ({long})({self.words.number});", "if (item < n) {"]
        lines += [*(f"    r{k}[first + places[item]] = v{k}[item];" for k in self.outputs), "}"]
        return _function(f"{self.words.head} {PUT}({', '.join(arguments)})", lines)


#: The description of a program, in the fields that row_stages.h reads.
ROW_KERNEL = """\
typedef struct {
    int inputs, outputs, scratches, stages;
    int number;
    intptr_t itemsizes[OGIVE_MAX_OPERANDS];
    char of_row[OGIVE_MAX_OPERANDS];
    int reductions_of[OGIVE_MAX_STAGES];
    char repeats[OGIVE_MAX_STAGES];
    enum ogive_reduction reductions[OGIVE_MAX_REDUCTIONS];
    int next; /* whether another program follows */
} ogive_row_kernel;

"""

#: A device has no pointers to functions: a stage is found by numbers.
RUN_STAGE = "OGIVE_RUN_STAGE(kernel, stage, operands, count, records, rows, steps, first)"


class _RowKernels(_Kernels):
    """The kernel of a row-wise program."""

    def text(self) -> str:
        programs = (self.program, *self.later)
        text = Text(self.dialect, lambda n: "")
        text.support = self.support
        p, static = self.words.pointer, self.dialect.static
        arguments = f"{p}char *const *operands, intptr_t count, double *record, intptr_t first"
        chosen = f"{static}void ogive_stage(int number, int stage, {arguments})"
        words = {
            "OGIVE_MEMORY": p.strip(),
            RUN_STAGE: "ogive_stage((kernel)->number, stage, operands, count, &(records)[0][0], first)",
        }
        loop = loop_text(text, [self.program], words, f"{PLAIN}{ROW_KERNEL}{chosen};\n")
        stages, calls = list[str](), list[str]()
        for number, program in enumerate(programs):
            mask = len(self.program.inputs) + len(self.program.outputs)
            mask = mask if len(program.outputs) > len(self.program.outputs) else -1
            for k in range(len(program.stages) + 1):
                name = f"ogive_program{number}_stage{k}"
                made = StageText(program, k, text, memory=p, restrict=self.dialect.restrict, mask=mask)
                stages.append(made.function(f"{static}OGIVE_PLAIN void {name}({arguments})"))
                calls.append(f"if (number == {number} && stage == {k}) {{")
                calls += [f"    {name}(operands, count, record, first);", "    return;", "}"]
        rows = self._rows(programs)  # the conversions of operands need support
        helpers = [self.support[each] for each in self.support]
        return "\n".join([self.dialect.before, *helpers, loop, *stages, _function(chosen, calls), rows])

    def _rows(self, programs: Sequence[Program]) -> str:
        program, p = self.program, self.words.pointer
        long, uint = self.dialect.type(Format.I64), self.dialect.type(Format.U32)
        arguments = [f"const {long} n", f"const {long} first", f"const {long} count", f"{p}const {long} *layout"]
        for k, t in enumerate(self.given):
            arguments += [f"{self._pointer(t, is_read=True)}a{k}", f"const {long} step{k}"]
        arguments += [f"{self._pointer(t, is_read=False)}r{k}" for k, t in enumerate(program.outputs)]
        arguments += [*self.parameters, f"{p}char *memory", f"const {long} bytes"]
        arguments += [f"const {uint} room", f"{p}{uint} *listed", f"{p}{uint} *places"]
        lines = [f"const {long} item = ({long})({self.words.number});", "if (item >= n) {", "    return;", "}"]
        lines += _places(long, self.inputs)
        lines += [f"{p}char *operands[OGIVE_MAX_OPERANDS], *here = memory + item * bytes;"]
        for k in self.inputs:
            lines += self._row_input(k, long)
        for k in range(len(program.inputs), len(program.inputs) + len(program.outputs)):
            row = "1" if k in program.row_operands else "count"
            lines.append(f"operands[{k}] = ({p}char *)(r{k - len(program.inputs)} + (first + item) * {row});")
        records = [
            kernel_record(one, str(number), str(int(number + 1 < len(programs)))) for number, one in enumerate(programs)
        ]
        count = len(program.inputs) + len(program.outputs)
        lines += [
            f"const ogive_row_kernel programs[{len(programs)}] = {{{', '.join(records)}}};",
            "int is_open = 1;",
            f"for (int number = 0; is_open && number < {len(programs)}; number++) {{",
            "    double records[OGIVE_RECORDS][OGIVE_ROWS_AT_ONCE];",
            "    ogive_row_group group;",
            "    group.program = &programs[number];",
            "    group.count = count;",
            f"    group.parameter_count = {program.parameter_count};",
            "    group.records = records;",
            "    group.caller = 0;",
            "    for (int i = 0; i < OGIVE_RECORDS; i++) {",
            "        records[i][0] = 0.0;",
            "    }",
            *(f"    records[{k}][0] = p{k};" for k in range(program.parameter_count)),
            f"    records[{program.parameter_count}][0] = (double)count;",
            f"    {p}char *own = here;",
            "    const int given = group.program->inputs + group.program->outputs;",
            "    for (int k = 0; k < given + group.program->scratches; k++) {",
            "        group.steps[k] = 0;",
            f"        group.operands[k] = k < {count} ? operands[k] : own;",
            "        if (k >= given) {",
            "            own += (count * group.program->itemsizes[k] + 15) / 16 * 16;",
            "        }",
            "    }",
            "    ogive_run_stages(&group, 1);",
            "    is_open = records[ogive_mark_slot(&group)][0] != 0.0;",
            "}",
            "if (is_open) {",
            f"    const {uint} slot = {self.words.append.format('listed')};",
            "    if (slot < room) {",
            f"        places[slot] = ({uint})item;",
            "    }",
            "}",
        ]
        return _function(f"{self.words.head} {ROWS}({', '.join(arguments)})", lines)

    def _row_input(self, k: int, long: str) -> list[str]:
        """An operand as it lies, or a copy of the row's own."""
        source, wanted, p = self.given[k], self.program.inputs[k], self.words.pointer
        count = "1" if k in self.program.row_operands else "count"
        text = Text(self.dialect, lambda _: f"a{k}[at{k} + i * step{k}]")
        text.support = self.support
        _, (value,) = text.statements([_converted(source, wanted)])
        if source is wanted:
            value = f"a{k}[at{k} + i * step{k}]"
        as_it_lies = f"step{k} == 1 || {count} == 1 ? ({p}char *)(a{k} + at{k}) : here"
        return [
            f"operands[{k}] = {as_it_lies if source is wanted else 'here'};",
            f"if (operands[{k}] == here) {{",
            f"    {p}{self._type(wanted)} *to = ({p}{self._type(wanted)} *)here;",
            f"    for ({long} i = 0; i < {count}; i++) {{",
            f"        to[i] = {bare(value)};",
            "    }",
            f"    here += ({count} * sizeof *to + 15) / 16 * 16;",
            "}",
        ]


def _function(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{head} {{", *(f"    {line}" for line in lines), "}", ""])
