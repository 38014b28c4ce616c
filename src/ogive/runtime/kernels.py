"""From a program to a kernel that NumPy can call, compiled or taken from the cache when first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache as remember
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive import _native
from ogive.backends import compiler
from ogive.backends import link as link_module
from ogive.backends.link import Image, link
from ogive.backends.target import Target, host_target
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.common.forking import no_fork
from ogive.common.records import record
from ogive.errors import MissingPackageError, message
from ogive.runtime import cache, wheel_kernels
from ogive.runtime.counting import note
from ogive.runtime.decide import Decider, Few, LastLevel, RowDecider, leave_open
from ogive.runtime.engine_files import engine_files

if TYPE_CHECKING:
    from ogive.lowering.program import Program

#: Whether a repair computes the first undecided elements, as many as a chunk has, so that no retry is compiled for them.
FEW_SKIP_RETRIES = True

#: How many elements enclosures decide before the repair of a fused program that costs so much is compiled for them. It was just
#: compiled itself: a process that finds it in the cache compiles the repair, which others find there then.
FEW_ELEMENTS, COSTLY = 128, 400.0

#: The facts that a kernel wants to know: its code, the elements it takes at a time, the reductions of each stage, the sizes
#: of rows kept between stages, from how many elements on threads pay, from how many eighths of the last cache on
#: results are written past it, the rest of the chain, whose kernels compute again what the one before leaves undecided, the
#: kernel for columns, and the repair that goes before a retry as long as elements are few.
Resolved = tuple[
    _native.Code,
    int,
    tuple[tuple[str, ...], ...],
    tuple[int, ...],
    int,
    int,
    tuple["_native.Kernel", ...],
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
    from ogive.lowering.cost import cost

    program = make_program()
    price = cost(program.roots)
    name, image = compiled(program, target, of_columns=of_columns, level=level)
    known = {
        "image": name,
        "block": block_size(program, target),
        "stages": [list(map(str, stage.names)) for stage in program.stages],
        "scratch": [f.bits // 8 for f in program.scratch],
        "threshold": int(target.tuning.parallel_cost / max(price, target.tuning.smallest_cost)),
        "later": len(program.later) if program.undecided is not None and not of_columns else 0,
        "has mask at end": program.has_mask_at_end,
        "columns": takes_columns(program) and not of_columns,
        "marks rows": program.marks_rows,
    }
    if note is not None:
        cache.store_note(note, known)
    return {**known, "price of steps": price if program.is_fused else 0.0}, image


def first_level(program: Program, target: Target) -> Program:
    """The program that a target runs first: a program in float32, where there is one. Pairs need tables, for which they must pay."""
    if not program.first_levels or (program.first.is_in_pairs and not target.has_tables):
        return program
    from ogive.lowering.cost import LONGEST_TABLE, usual_cost

    tuning = target.tuning
    form = program.first_levels[-1 if tuning.longest_table < LONGEST_TABLE else 0]
    there, usual = (usual_cost(p, tuning.dearer, tuning.longest_table) for p in (form, program))
    return form if 100 * there <= tuning.cost_of_pairs * usual else program


def identity_of_level(identity: str, place: int) -> str:
    """The identity of the kernel at a place of the chain whose first kernel, at place 0, has this identity."""
    return f"level {place} of\n{identity}"


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
    has_enclosures: bool = True,
    level: int = compiler.LEVEL,
) -> _native.Kernel:
    """The first kernel of a chain for operands of these types; its program is asked for when it is first called.

    ``row_operands`` are the operands of a row-wise kernel that have one number a row. Kernels without enclosures compute
    what exported C computes: the results of the last level stay where it decides nothing. ``level`` is that of LLVM's
    optimisation: code of level 0 has the same bits and is compiled in half the time.

    ``make_identity`` gives a text that says as much as the program, and is made faster: if the cache knows what
    was made of it, the program is not made again.
    """
    types = tuple(inputs), tuple(outputs)
    of_row = frozenset(row_operands)
    chain = _Chain(*types, make_program, target, row_wise, of_row, make_identity, has_enclosures, level)
    kernel = chain.kernel()
    note(kernel, inputs, outputs)
    return kernel


@record()
class _Chain:
    """The kernels of a formula, each of which is compiled when elements first ask for it."""

    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    make_program: Callable[[], Program]
    target: Target | None
    row_wise: bool
    row_operands: frozenset[int]
    make_identity: Callable[[], str] | None
    has_enclosures: bool
    level: int

    def kernel(
        self,
        place: int = 0,
        *,
        mask: bool = False,
        marks_rows: bool = False,
        of_columns: bool = False,
        level: int | None = None,
        later: tuple[_native.Kernel, ...] | None = None,
        few: int = 0,
    ) -> _native.Kernel:
        """The kernel at a place of the chain.

        The last one before enclosures has a ``mask``, which says where these have to decide; it may have one number a row.
        So many elements as ``few`` are decided by these before it is compiled.
        ``of_columns`` asks for the code of rows that are columns, which another kernel calls (runtime/native/rows.c).
        ``level`` goes before the chain's. ``later`` are the kernels behind this one, where they are there already.
        """

        def resolve() -> Resolved:
            with no_fork:  # all of it: a child cannot go on with what another thread had begun
                known, image = self._made(place, of_columns=of_columns, level=self.level if level is None else level)
                code = _native.Code(image.code, image.entries, image.imports)
                stages = (*map(tuple, known["stages"]), ())
                streamed = (self.target or host_target()).tuning.streamed_eighths
                behind = self._later(place, known) if later is None or not known["later"] else later
                columns = None
                if known["columns"]:
                    columns = self.kernel(place, mask=mask, marks_rows=marks_rows, of_columns=True)
                return (
                    code,
                    known["block"],
                    stages,
                    tuple(known["scratch"]),
                    known["threshold"],
                    streamed,
                    behind,
                    columns,
                    self._quick(place, known),
                )

        results = (*self.outputs, ELEMENT_TYPES["uint8"]) if mask else self.outputs
        sizes = tuple(t.itemsize for t in self.inputs), tuple(t.itemsize for t in results)
        of_row = {*self.row_operands, *([len(self.inputs) + len(self.outputs)] if marks_rows else [])}
        decide = self._enclosures() if mask and not of_columns else None
        without_code = Few(decide, few) if few and isinstance(decide, Decider) else None
        return _native.Kernel(*sizes, resolve, self.row_wise, tuple(sorted(of_row)), decide, without_code)

    def _enclosures(self) -> LastLevel:
        if not self.has_enclosures:
            return leave_open
        of_elements = Decider(self.inputs, self.outputs, lambda: self.make_program().decide)
        if self.row_wise:
            return RowDecider(self.inputs, self.outputs, lambda: self.make_program().decide_row, of_elements)
        return of_elements

    def _program(self, place: int, target: Target) -> Program:
        program = first_level(self.make_program(), target)
        return program.later[place - 1].make() if place else program

    def _made(self, place: int, *, of_columns: bool, level: int) -> wheel_kernels.Kernel:
        target = self.target or host_target()
        identity = None if self.make_identity is None else self.make_identity()
        if identity is not None:
            identity = identity_of_level(identity, place) if place else identity
            identity = identity_of_columns(identity) if of_columns else identity
            came = wheel_kernels.load(identity, target)
            if came is not None:
                return came
        return kept_or_made(identity, lambda: self._program(place, target), target, of_columns=of_columns, level=level)

    def _later(self, place: int, known: Mapping[str, Any]) -> tuple[_native.Kernel, ...]:
        """The kernels behind a place of the chain: each knows those behind it."""
        kernels: tuple[_native.Kernel, ...] = ()
        for at in range(place + known["later"], place, -1):
            is_last = known["has mask at end"] and not kernels
            kernels = (
                self.kernel(
                    at,
                    mask=is_last,
                    marks_rows=is_last and known["marks rows"],
                    later=kernels,
                    few=_few(known) if is_last else 0,
                ),
                *kernels,
            )
        return kernels

    def _quick(self, place: int, known: Mapping[str, Any]) -> _native.Kernel | None:
        """The last kernel once more, compiled in less time. Repairs of float64 decide the last bit, and take their time."""
        is_rounded = known["has mask at end"] and all(t.name != "float64" for t in self.outputs)
        if FEW_SKIP_RETRIES and is_rounded and known["later"] > 1 and not self.row_wise:
            return self.kernel(place + known["later"], mask=True, level=0, few=_few(known))
        return None


def _few(known: Mapping[str, Any]) -> int:
    """How many elements wait before a repair is compiled: some where that takes long, and the kernel before it was just made."""
    return FEW_ELEMENTS if known.get("price of steps", 0.0) > COSTLY else 0


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
