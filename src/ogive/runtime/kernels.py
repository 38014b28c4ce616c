"""From a program to a kernel that NumPy can call, compiled or taken from the cache when first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from ogive import _native
from ogive.codegen import compiler
from ogive.codegen.link import Image, link
from ogive.codegen.llvm import block_size, emit, entries
from ogive.codegen.target import Target, host_target
from ogive.dtypes import ElementType
from ogive.runtime import cache
from ogive.transform.lower import Program

__all__ = ["compiled", "make_kernel", "make_ufunc"]

#: A second thread pays from about this many instructions on: 30 us of work, several times what waking costs.
PARALLEL_INSTRUCTIONS = 1 << 21

#: A short program moves memory, which costs about as much as this many instructions an element.
SHORTEST_PROGRAM = 12

#: What a kernel wants to know: its code, the elements it takes at a time, the reductions of each stage, the sizes
#: of rows kept between stages, and from how many elements on threads pay.
Resolved = tuple[_native.Code, int, tuple[tuple[str, ...], ...], tuple[int, ...], int]

_compiler_lock = threading.Lock()


def compiled(program: Program, target: Target) -> Image:
    """The program's machine code for a target: from the cache, or compiled and put there."""
    source = emit(program, target)
    name = cache.key(source, target.name, target.processor, target.features, compiler.version())
    image = cache.load(name)
    if image is None:
        with _compiler_lock:  # LLVM's global state is not safe under concurrent use
            image = link(compiler.object_code(source, target), entries(program))
        cache.store(name, image)
    return image


def make_kernel(
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    make_program: Callable[[], Program],
    target: Target | None = None,
    *,
    row_wise: bool = False,
) -> _native.Kernel:
    """A kernel for operands of these types; its program is asked for when it is first called."""

    def resolve() -> Resolved:
        program, chosen = make_program(), target or host_target()
        image = compiled(program, chosen)
        threshold = PARALLEL_INSTRUCTIONS // max(program.size, SHORTEST_PROGRAM)
        code = _native.Code(image.code, image.entries, image.imports)
        stages = (*(tuple(name for name, _ in stage.reductions) for stage in program.stages), ())
        return code, block_size(program), stages, tuple(f.bits // 8 for f in program.scratch), threshold

    sizes = tuple(t.itemsize for t in inputs), tuple(t.itemsize for t in outputs)
    return _native.Kernel(*sizes, resolve, row_wise)


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
        kernel = make_kernel(program.inputs, program.outputs, lambda: program, target, row_wise=row_wise)
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
