"""Kernels that LLVM compiles for this machine, linked into a library of custom operators in the place of those in C.

A C compiler makes code of exported C that takes 1.5 to 18 times as long as LLVM's of the same program. So where LLVM is there
and the library is for this machine, the library has LLVM's kernels; the functions in C compute what these leave undecided.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ogive.backends import compiler
from ogive.backends.blocks import block_size
from ogive.backends.c_like import Text
from ogive.backends.c_rows import kernel_record, loop_text
from ogive.backends.dialects import ISO_C
from ogive.backends.row_records import mark_slot
from ogive.backends.target import host_target
from ogive.errors import CompileError
from ogive.exporting.c_source import COMMON, ROW_FIELDS
from ogive.exporting.interface import Interface
from ogive.exporting.sources import ExportSource

#: The lanes that a stage leaves in the record until all rows are through (runtime/native/native.h): numbers of a reduction,
#: and reductions of a stage.
LANES_ASIDE, MOST_OF_A_STAGE = 24, 16

STAGE = """\
typedef void ogive_stage(void *const *operands, intptr_t count, double *records, intptr_t rows, const intptr_t *steps,
                         intptr_t first);

"""


def linked_objects(sources: Sequence[ExportSource], processor: str | None) -> dict[str, bytes]:
    """Object files by name; none where the kernels are those in C."""
    if processor is not None or not sys.platform.startswith("linux"):
        return {}
    from ogive.backends.llvm import emit

    target = host_target()
    try:
        return {
            f"{name}.o": compiler.object_code(
                emit(source.interface.program, target).replace("@stage", f"@{name}_stage"), target
            )
            for source in sources
            for name in (source.interface.name,)
        }
    except CompileError:  # LLVM is not installed
        return {}


def linked_text(sources: Sequence[ExportSource]) -> str:
    """The loops over the kernels."""
    text = Text(ISO_C, lambda n: "")
    programs = [source.interface.program for source in sources if source.interface.is_row_wise]
    here = Path(__file__).parent
    rows = ["typedef struct ogive_row_kernel ogive_row_kernel;"]
    if programs:
        aside = LANES_ASIDE * MOST_OF_A_STAGE
        words = {
            "OGIVE_MEMORY": "",
            "OGIVE_ROWS_AT_ONCE": "16",
            "OGIVE_RECORDS": str(max(map(mark_slot, programs)) + 2 + aside),
            "OGIVE_RUN_STAGE(kernel, stage, operands, count, records, rows, steps, first)":
                "(kernel)->functions[stage]((void *const *)(operands), count, &(records)[0][0], rows, steps, first)",
        }  # fmt: skip
        rows = [loop_text(text, programs, words, STAGE + ROW_FIELDS)]
    loops = (here / "linked_kernels.c").read_text("utf-8")
    if not programs:
        loops = loops[: loops.index("static size_t bytes_of_row")]
    return "\n".join([f'#include "{COMMON}"\n', *rows, loops])


def linked_thunks(interface: Interface) -> str:
    """The function that calls one kernel with a task, after the function in C that takes distances."""
    program, name = interface.program, interface.name
    stages = [f"{name}_stage{k}" for k in range(len(program.stages) + 1)]
    constants = ", ".join(value.hex() for value in interface.constants)
    lines, rows, elements, scratch = [], "NULL", "NULL", "NULL"
    if interface.is_row_wise:
        kind = "(void *const *, intptr_t, double *, intptr_t, const intptr_t *, intptr_t)"
        lines += [f"void {stage}{kind};" for stage in stages]
        following = "NULL" if program.undecided is None else f"&rows_of_{name}"
        lines.append(f"static const ogive_row_kernel rows_of_{name} = {kernel_record(program, f'{{{chr(44).join(stages)}}}', following)};")  # fmt: skip
        rows, scratch = f"&rows_of_{name}", f"{name}_scratch"
    else:
        lines.append(f"void {stages[0]}(void *const *, intptr_t, const double *, intptr_t, unsigned char *);")
        elements = stages[0]
    if constants:
        lines.append(f"static const double constants_of_{name}[] = {{{constants}}};")
    sizes, of_row = (
        ", ".join(str(int(value)) for value in values)
        for values in ([o.type.itemsize for o in interface.operands], [o.of_row for o in interface.operands])
    )
    lines.append(f"static const int sizes_of_{name}[] = {{{sizes}}}, of_row_of_{name}[] = {{{of_row}}};")
    inputs = sum(operand.is_input for operand in interface.operands)
    fields = [
        f"{inputs}, {len(interface.operands)}, {block_size(program, host_target())}, {int(program.undecided is not None)}",
        f"{program.parameter_count}, sizes_of_{name}, of_row_of_{name}",
        f"constants_of_{name}" if constants else "NULL",
        f"{elements}, {rows}, run_{name}_in_c, {scratch}",
    ]
    lines.append(f"static const struct linked linked_{name} = {{{', '.join(fields)}}};")
    loop = "linked_rows" if interface.is_row_wise else "linked_elements"
    for which, is_strided in (("", 0), ("_strided", 1)):
        head = f"static void run_{name}{which}(const struct task *task, size_t begin, size_t end)"
        lines.append(f"{head} {{\n    {loop}(&linked_{name}, task, begin, end, {is_strided});\n}}")
    if interface.is_row_wise:
        lines.append(f"static size_t linked_scratch_{name}(size_t count) {{ return linked_scratch(&linked_{name}, count); }}")  # fmt: skip
    return "\n".join(lines)
