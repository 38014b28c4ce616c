"""From a program to a kernel that NumPy can call, compiled or taken from the cache when first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache as remember
from typing import TYPE_CHECKING

import numpy as np

from ogive import _native
from ogive.backends import compiler
from ogive.backends import link as link_module
from ogive.backends.link import Image, link
from ogive.backends.target import Target, host_target
from ogive.dtypes import ELEMENT_TYPES, ElementType
from ogive.errors import MissingPackageError, message
from ogive.forking import no_fork
from ogive.runtime import cache, wheel_kernels
from ogive.runtime.counting import note
from ogive.runtime.decide import Decider, LastLevel, RowDecider, leave_open
from ogive.runtime.engine_files import engine_files

if TYPE_CHECKING:
    from ogive.program import Program

__all__ = ["compiled", "make_kernel", "make_ufunc"]

#: Whether a repair computes the first undecided elements, as many as a chunk has, so that no retry is compiled for them.
FEW_SKIP_RETRIES = True

#: The facts that a kernel wants to know: its code, the elements it takes at a time, the reductions of each stage, the sizes
#: of rows kept between stages, from how many elements on threads pay, from how many eighths of the last cache on
#: results are written past it, the kernel that computes again what the code leaves undecided (a repair or a retry), the
#: one for columns, and the repair that goes before a retry as long as elements are few.
Resolved = tuple[
    _native.Code,
    int,
    tuple[tuple[str, ...], ...],
    tuple[int, ...],
    int,
    int,
    "_native.Kernel | None",
    "_native.Kernel | None",
    "_native.Kernel | None",
]


def compiled(
    program: Program, target: Target, *, of_columns: bool = False, level: int = compiler.LEVEL
) -> tuple[str, Image]:
    """The program's machine code for a target, from the cache or compiled and put there; and its name there."""
    from ogive.backends.llvm import emit, entries  # a warm start needs nothing of it

    source = emit(program, target, of_columns=of_columns)
    name = cache.key(source, str(level), *_compiled_for(target))
    image = cache.load(name)
    if image is None:
        image = link(compiler.object_code(source, target, level), entries(program))
        cache.store(name, image)
    return name, image


def _compiled_for(target: Target) -> tuple[str, ...]:
    return target.name, target.processor, target.features, _version_of_compiler(), _back_end()


def _version_of_compiler() -> str:
    try:
        return compiler.version()
    except MissingPackageError as error:
        if wheel_kernels.are_there():
            raise
        what = "this install has no compiled kernels, as it was built from sources"
        way_out = "Install the compiler of kernels: pip install 'ogive[compile]'"
        raise MissingPackageError(message("llvmlite", what, way_out=way_out)) from error


@remember
def _back_end() -> str:
    """Tells apart the states of what makes machine code of LLVM's language."""
    texts = []
    try:
        for module in (compiler, link_module):
            with open(str(module.__file__), encoding="utf-8") as file:  # noqa: PTH123
                texts.append(file.read())
        return cache.key(*texts)
    except OSError:  # the package does not lie in files
        from ogive import __version__

        return __version__


@remember
def engine_state() -> str:
    """Tells apart the states of what makes code of formulas: the files, and when each was written here."""
    states = [(file, os.stat(file)) for file in engine_files().values()]  # noqa: PTH116
    return repr([(file, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for file, s in states])


def _note_name(identity: str, target: Target, level: int) -> str | None:
    try:
        return cache.key("note", identity, engine_state(), str(level), *_compiled_for(target))
    except OSError:  # the package does not lie in files
        return None


def kept_or_made(
    identity: str | None,
    make_program: Callable[[], Program],
    target: Target,
    *,
    of_columns: bool = False,
    level: int = compiler.LEVEL,
) -> wheel_kernels.Kernel:
    """The facts that a kernel has to know, and its machine code: from the cache, or made and put there."""
    note = None if identity is None else _note_name(identity, target, level)
    known = None if note is None else cache.load_note(note)
    image = None if known is None else cache.load(known["image"])
    if known is not None and image is not None:
        return known, image
    from ogive.backends.blocks import block_size
    from ogive.backends.columns import takes_columns
    from ogive.passes.cost import cost

    program = first_level(make_program(), target)
    price = cost(program.roots)
    name, image = compiled(program, target, of_columns=of_columns, level=level)
    known = {
        "image": name,
        "block": block_size(program, target),
        "stages": [list(map(str, stage.names)) for stage in program.stages],
        "scratch": [f.bits // 8 for f in program.scratch],
        "threshold": int(target.tuning.parallel_cost / max(price, target.tuning.smallest_cost)),
        "repaired": program.undecided is not None and not of_columns,
        "retries": retries_of(program),
        "ends with repair": program.repair is not None,
        "columns": takes_columns(program) and not of_columns,
        "marks rows": program.marks_rows,
    }
    if note is not None:
        cache.store_note(note, known)
    return known, image


def retries_of(program: Program) -> int:
    """How many programs compute undecided elements before the repair."""
    count = 0
    while program.retry is not None:
        program, count = program.retry(), count + 1
    return count


def first_level(program: Program, target: Target) -> Program:
    """The program that a target runs first: a program in float32, where there is one. Pairs need tables, for which they must pay."""
    paired = program.paired
    if paired is None:
        return program
    from ogive.passes.cost import usual_cost

    if paired.is_in_pairs and not target.has_tables:
        return program
    tuning = target.tuning
    if paired.narrow is not None and tuning.longest_table < LONGEST_TABLE:
        paired = paired.narrow
    tables = sum(len(table) > tuning.longest_table for table in paired.tables)
    price = usual_cost(paired) + tables * tuning.cost_of_longer_tables
    return paired if 100 * price <= tuning.cost_of_pairs * usual_cost(program) else program


#: No table has more numbers.
LONGEST_TABLE = 32


def identity_of_repair(identity: str) -> str:
    """The identity of the kernel that computes again what another one leaves undecided."""
    return f"repair of\n{identity}"


def identity_of_retry(identity: str) -> str:
    """The identity of the kernel that computes such elements before the repair does."""
    return f"retry of\n{identity}"


def identity_of_columns(identity: str) -> str:
    """The identity of the kernel that computes the same where rows are the columns of a matrix."""
    return f"columns of\n{identity}"


def make_kernel(
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    make_program: Callable[[], Program],
    target: Target | None = None,
    *,
    row_wise: bool = False,
    row_operands: Iterable[int] = (),
    make_identity: Callable[[], str] | None = None,
    decide: LastLevel | None = None,
    of_columns: bool = False,
    is_first: bool = True,
    level: int = compiler.LEVEL,
    has_enclosures: bool = True,
) -> _native.Kernel:
    """A kernel for operands of these types; its program is asked for when it is first called.

    ``row_operands`` are the operands of a row-wise kernel that have one number a row. ``of_columns`` asks for the code of
    rows that are columns, which another kernel calls (runtime/native/rows.c). Kernels that are not ``is_first`` are called by
    those whose undecided elements they compute, which count for them.
    ``level`` is that of LLVM's optimisation. Kernels without enclosures compute what exported C computes: the repair's results
    stay where it decides nothing.

    ``make_identity`` gives a text that says as much as the program, and is made faster: if the cache knows what
    was made of it, the program is not made again.
    """
    of_row, operands = frozenset(row_operands), len(inputs) + len(outputs)

    def resolve() -> Resolved:
        with no_fork:  # all of it: a child cannot go on with what another thread had begun
            return found()

    def found() -> Resolved:
        chosen = target or host_target()
        identity = None if make_identity is None else make_identity()
        came = None if identity is None else wheel_kernels.load(identity, chosen)
        known, image = came or kept_or_made(identity, make_program, chosen, of_columns=of_columns, level=level)
        code = _native.Code(image.code, image.entries, image.imports)
        stages = (*map(tuple, known["stages"]), ())
        streamed = chosen.tuning.streamed_eighths
        again = last = None
        if known["retries"]:
            # A repair compiles sooner, and few elements come to it. Repairs of float64 decide the last bit, and take their time.
            is_rounded = known["ends with repair"] and all(t.name != "float64" for t in outputs)
            if FEW_SKIP_RETRIES and is_rounded and not row_wise:
                last = repair_of(target, known["marks rows"], known["retries"])
            again = retry_of(target)
        elif known["repaired"]:
            again = repair_of(target, known["marks rows"], 0)
        columns = columns_of(target) if known["columns"] else None
        return code, known["block"], stages, tuple(known["scratch"]), known["threshold"], streamed, again, columns, last

    def retry_of(target: Target | None) -> _native.Kernel:
        return make_kernel(
            inputs,
            outputs,
            lambda: _retry_of(first_level(make_program(), target or host_target())),
            target,
            row_wise=row_wise,
            row_operands=of_row,
            make_identity=None if make_identity is None else lambda: identity_of_retry(make_identity()),
            is_first=False,
            has_enclosures=has_enclosures,
        )

    def repair_of(target: Target | None, marks_rows: bool, retries: int) -> _native.Kernel:
        """The repair behind so many retries."""

        def identity() -> str:
            assert make_identity is not None
            found = make_identity()
            for _ in range(retries):
                found = identity_of_retry(found)
            return identity_of_repair(found)

        return make_kernel(
            inputs,
            (*outputs, ELEMENT_TYPES["uint8"]),
            lambda: _repair_of(make_program()),
            target,
            row_wise=row_wise,
            row_operands=(*of_row, *((operands,) if marks_rows else ())),
            make_identity=None if make_identity is None else identity,
            decide=last_level(),
            is_first=False,
            level=0 if retries else compiler.LEVEL,
        )

    def last_level() -> LastLevel:
        if not has_enclosures:
            return leave_open
        if row_wise:
            return RowDecider(inputs, outputs, lambda: make_program().decide_row)
        return Decider(inputs, outputs, lambda: make_program().decide)

    def columns_of(target: Target | None) -> _native.Kernel:
        return make_kernel(
            inputs,
            outputs,
            make_program,
            target,
            row_wise=True,
            row_operands=of_row,
            make_identity=None if make_identity is None else lambda: identity_of_columns(make_identity()),
            of_columns=True,
            is_first=False,
        )

    sizes = tuple(t.itemsize for t in inputs), tuple(t.itemsize for t in outputs)
    kernel = _native.Kernel(*sizes, resolve, row_wise, tuple(sorted(of_row)), decide)
    if is_first:
        note(kernel, inputs, outputs)
    return kernel


def _repair_of(program: Program) -> Program:
    assert program.repair is not None
    return program.repair()


def _retry_of(program: Program) -> Program:
    assert program.retry is not None
    return program.retry()


def make_ufunc(
    name: str,
    program: Program,
    target: Target | None = None,
    *,
    kernel: _native.Kernel | None = None,
    parameters: Sequence[float] = (),
) -> np.ufunc:
    """A ufunc that computes one program, for operands of exactly its element types.

    ``kernel`` is the program's, where it is there already; ``parameters`` are the values of those that the
    program leaves open. Other values need no other code.
    """
    row_wise = bool(program.stages)
    if kernel is None:
        of_row = program.row_operands
        kernel = make_kernel(
            program.inputs, program.outputs, lambda: program, target, row_wise=row_wise, row_operands=of_row
        )
    operands = (*program.inputs, *program.outputs)
    return _native.make_ufunc(
        name=name,
        doc="",
        inputs=len(program.inputs),
        outputs=len(program.outputs),
        loops=[(tuple(t.type_numbers[0] for t in operands), kernel)],
        parameters=tuple(parameters),
        row_wise=row_wise,
    )
