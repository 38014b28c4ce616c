"""`address`: an exported function in this process, for callers that are no Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ogive import _native, forking
from ogive.backends import compiler
from ogive.backends.link import link
from ogive.backends.target import host_target
from ogive.exporting.given import source_of
from ogive.exporting.module import module_text
from ogive.exporting.places import without_library

__all__ = ["address"]

#: The functions that were asked for; they stay as long as the process, because nobody says when C is done with them.
_kept: dict[str, _native.Code] = {}
_lock = forking.lock()


def address(
    what: Any,
    dtype: str | Sequence[str] | None = None,
    *,
    strided: bool = False,
    choices: Mapping[str, Any] | None = None,
) -> int:
    """The address of an operator as a C function, in this process and until it ends.

    ``what``, ``dtype`` and ``choices`` are those of `export`, whose header declares the function; ``strided`` asks for
    the function with distances. ctypes, cffi and compilers call it; it needs no interpreter and no lock of
    it. docs/export.md has examples.

    Raises ArgumentError, DTypeError or ParameterError for what has no such function, CompileError without LLVM.

    >>> import ctypes, numpy as np, ogive
    >>> size, pointer = ctypes.c_size_t, ctypes.c_void_p
    >>> declared = ctypes.CFUNCTYPE(None, pointer, pointer, size, size, ctypes.c_double)
    >>> celu = declared(ogive.address(ogive.celu, "float32"))
    >>> x = np.float32([-1.0, 2.0])
    >>> y = np.empty_like(x)
    >>> celu(x.ctypes.data, y.ctypes.data, 0, 2, 1.5)
    >>> y
    array([-0.7298743,  2.       ], dtype=float32)
    """
    interface = source_of(what, dtype, choices, None).interface
    here = host_target()
    target = without_library(here, here.triple)  # in the format that the linker reads
    text = module_text([interface], [target], target.triple)
    with _lock:
        code = _kept.get(text)
        if code is None:
            image = link(compiler.object_code(text, target), interface.entries)
            code = _kept[text] = _native.Code(image.code, image.entries, image.imports)
    return code.addresses()[int(strided)]
