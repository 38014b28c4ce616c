"""LLVM: from text to an object file. The only module that imports llvmlite, when the first kernel is made."""

from __future__ import annotations

from functools import cache
from typing import Any

from ogive.codegen.target import Target
from ogive.errors import CompileError

__all__ = ["assembly", "object_code", "version"]


@cache
def _llvm() -> Any:
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise CompileError(f"llvmlite, which compiles kernels, cannot be imported: {error}") from error
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def version() -> str:
    """The version of llvmlite, which decides that of LLVM. Does not load LLVM."""
    import llvmlite

    return str(llvmlite.__version__)


def _machine(target: Target) -> Any:
    return (
        _llvm()
        .Target.from_triple(target.triple)
        .create_target_machine(cpu=target.processor, features=target.features, opt=2, reloc="pic", codemodel="small")
    )


def _parsed(source: str) -> Any:
    llvm = _llvm()
    try:
        return llvm.parse_assembly(source)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the kernel: {error}") from error


def object_code(source: str, target: Target) -> bytes:
    """The object file of a module: instruction selection and scheduling; the graph is already simplified."""
    return bytes(_machine(target).emit_object(_parsed(source)))


def assembly(source: str, target: Target) -> str:
    """The same as text for people."""
    return str(_machine(target).emit_assembly(_parsed(source)))
