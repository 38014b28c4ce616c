"""From a program to a kernel that NumPy can call, compiled or taken from the cache when first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache as remember
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ogive import _native
from ogive.codegen import compiler
from ogive.codegen import link as link_module
from ogive.codegen.link import Image, link
from ogive.codegen.target import Target, host_target
from ogive.dtypes import ElementType
from ogive.forking import no_fork
from ogive.runtime import cache

if TYPE_CHECKING:
    from ogive.transform.program import Program

__all__ = ["compiled", "make_kernel", "make_ufunc"]

#: What a kernel wants to know: its code, the elements it takes at a time, the reductions of each stage, the sizes
#: of rows kept between stages, from how many elements on threads pay, and from how many eighths of the last cache on
#: results are written past it.
Resolved = tuple[_native.Code, int, tuple[tuple[str, ...], ...], tuple[int, ...], int, int]

#: The parts of the package that no machine code follows from. What they ask for is in the formula's text.
NO_ENGINE = frozenset({"accuracy", "catalog", "check", "cli", "directml", "dxdispatch", "onnx", "peers"})


def compiled(program: Program, target: Target) -> tuple[str, Image]:
    """The program's machine code for a target, from the cache or compiled and put there; and its name there."""
    from ogive.codegen.llvm import emit, entries  # a warm start needs nothing of it

    source = emit(program, target)
    name = cache.key(source, *_compiled_for(target))
    image = cache.load(name)
    if image is None:
        image = link(compiler.object_code(source, target), entries(program))
        cache.store(name, image)
    return name, image


def _compiled_for(target: Target) -> tuple[str, ...]:
    return target.name, target.processor, target.features, compiler.version(), _back_end()


@remember
def _back_end() -> str:
    """Tells apart the states of what makes machine code of LLVM's language."""
    files = Path(compiler.__file__), Path(link_module.__file__)
    try:
        return cache.key(*(file.read_text(encoding="utf-8") for file in files))
    except OSError:  # the package does not lie in files
        from ogive import __version__

        return __version__


def _engine_files() -> list[str]:
    """The files that machine code follows from, besides the formula: all but those of front ends and of formulas."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  (pathlib would take 1 ms)
    files = []
    for folder, inner, names in os.walk(package):
        inner[:] = [name for name in inner if name not in NO_ENGINE and name != "__pycache__"]
        files += [os.path.join(folder, name) for name in names if name.endswith(".py")]  # noqa: PTH118
    return sorted(files)


@remember
def _engine() -> str:
    """Tells apart the states of what makes code of formulas: the files, and when each was written here."""
    states = [(file, os.stat(file)) for file in _engine_files()]  # noqa: PTH116
    return repr([(file, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for file, s in states])


def _note_name(identity: str, target: Target) -> str | None:
    try:
        return cache.key("note", identity, _engine(), *_compiled_for(target))
    except OSError:  # the package does not lie in files
        return None


def make_kernel(
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    make_program: Callable[[], Program],
    target: Target | None = None,
    *,
    row_wise: bool = False,
    row_operands: Iterable[int] = (),
    make_identity: Callable[[], str] | None = None,
) -> _native.Kernel:
    """A kernel for operands of these types; its program is asked for when it is first called.

    ``row_operands`` are the operands of a row-wise kernel that have one number a row.

    ``make_identity`` gives a text that says as much as the program, and is made faster: if the cache knows what
    was made of it, the program is not made again.
    """

    def resolve() -> Resolved:
        with no_fork:  # all of it: a child cannot go on with what another thread had begun
            return found()

    def found() -> Resolved:
        chosen = target or host_target()
        note = None if make_identity is None else _note_name(make_identity(), chosen)
        known = None if note is None else cache.load_note(note)
        image = None if known is None else cache.load(known["image"])
        if known is None or image is None:
            from ogive.codegen.blocks import block_size
            from ogive.transform.cost import cost

            program = make_program()
            price = cost(program.roots)
            name, image = compiled(program, chosen)
            known = {
                "image": name,
                "block": block_size(program),
                "stages": [[reduction.kind for reduction in stage.reductions] for stage in program.stages],
                "scratch": [f.bits // 8 for f in program.scratch],
                "threshold": int(chosen.tuning.parallel_cost / max(price, chosen.tuning.smallest_cost)),
            }
            if note is not None:
                cache.store_note(note, known)
        code = _native.Code(image.code, image.entries, image.imports)
        stages = (*map(tuple, known["stages"]), ())
        return code, known["block"], stages, tuple(known["scratch"]), known["threshold"], chosen.tuning.streamed_eighths

    sizes = tuple(t.itemsize for t in inputs), tuple(t.itemsize for t in outputs)
    return _native.Kernel(*sizes, resolve, row_wise, tuple(sorted(row_operands)))


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
