"""LLVM: from text to an object file. The only module that imports llvmlite, when the first kernel is made.

Its version names kernels in the cache. So it is needed even where all kernels are there already.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ogive.backends.target import Target
from ogive.common.forking import hold_over_fork, no_fork
from ogive.errors import CompileError, MissingPackageError, message

#: LLVM's level of optimisation.
LEVEL = 2


@cache
def _llvm() -> Any:
    try:
        import llvmlite.binding as llvm
        from llvmlite.binding import ffi
    except (ImportError, OSError) as error:  # OSError: its shared library does not load
        raise _not_there(error) from error
    lock = getattr(getattr(ffi.lib, "_lock", None), "_lock", None)  # of llvmlite's lock the one of Python that is in it
    if lock is not None:
        hold_over_fork(lock)  # others in the process may use llvmlite too
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def _not_there(error: ImportError | OSError) -> CompileError | MissingPackageError:
    if isinstance(error, ImportError):
        what = "kernels that did not come with Ogive (formulas of your own, fused models) need this package"
        return MissingPackageError(message("llvmlite", what, way_out="Install it: pip install 'ogive[compile]'"))
    way_out = "Install it again: pip install --upgrade llvmlite"
    return CompileError(message("llvmlite", f"the compiler of kernels cannot be loaded: {error}", way_out=way_out))


def version() -> str:
    """The version of llvmlite, which decides that of LLVM. Does not load LLVM."""
    try:
        import llvmlite
    except (ImportError, OSError) as error:
        raise _not_there(error) from error
    return str(llvmlite.__version__)


def _machine(target: Target, level: int = LEVEL) -> Any:
    return (
        _llvm()
        .Target.from_triple(target.triple)
        .create_target_machine(
            cpu=target.processor,
            features=target.features,
            opt=level,
            reloc="pic",
            codemodel="small",
        )
    )


def _parsed(source: str) -> Any:
    llvm = _llvm()
    try:
        return llvm.parse_assembly(source)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the kernel: {error}") from error


@cache
def _on_constants() -> re.Pattern[str]:
    """An instruction on constants alone. A warm start compiles no pattern."""
    return re.compile(r"^ +%\S+ = (?!phi|alloca)[^%\n]*$", re.MULTILINE)


def _without_constants(module: Any, source: str, machine: Any) -> Any:
    """The module with what constants alone are computed to in its place: `cos(3e38) * x` has 80 such instructions.

    LLVM's instruction selection for AVX2 aborts the process on some of them, as "Illegal bit insertion".
    """
    if _on_constants().search(source) is not None:
        llvm = _llvm()
        passes = llvm.create_new_module_pass_manager()
        passes.add_sccp_pass()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
        passes.run(module, builder)
        builder.close()
        if type(passes)._dispose is llvm.ffi.ObjectRef._dispose:  # of llvmlite 0.50: it frees nothing
            llvm.newpassmanagers.NewPassManager._dispose(passes)
        else:
            passes.close()
    return module


def object_code(source: str, target: Target, level: int = LEVEL) -> bytes:
    """The object file of a module: instruction selection and scheduling; the graph is already simplified.

    ``level`` is LLVM's: at 0 code has the same bits, compiles in a quarter of the time, and takes longer.
    """
    with no_fork:  # LLVM's global state is not safe under concurrent use, and must not be copied half-done
        machine = _machine(target, level)
        return bytes(machine.emit_object(_without_constants(_parsed(source), source, machine)))


def assembly(source: str, target: Target) -> str:
    """The machine code as text for people."""
    with no_fork:
        machine = _machine(target)
        return str(machine.emit_assembly(_without_constants(_parsed(source), source, machine)))
