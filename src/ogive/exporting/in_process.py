"""`address`: an operator as a C function in this process, for callers that are no Python.

The function lays its arguments out as the loops of a ufunc take them, and calls the runtime's loop.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ogive import _native
from ogive.backends import compiler
from ogive.backends.link import link
from ogive.backends.target import host_target
from ogive.common import forking
from ogive.engine.computation import kernel_of
from ogive.exporting.exported import source_of
from ogive.exporting.interface import Interface

#: The functions that were asked for; they stay as long as the process, because nobody says when C is done with them.
_kept: dict[str, tuple[_native.Code, _native.Kernel]] = {}
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
    the function with distances. ctypes, cffi and compilers call it, from any thread. Long ranges are shared among Ogive's
    threads, and a function of rows may be called without scratch memory. docs/export.md has examples.

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
    source = source_of(what, dtype, choices, None)
    kernel = kernel_of(source.computation)
    kernel.prepare()
    target = host_target()
    text = "\n".join(
        [f'target triple = "{target.triple}"', *(_function(source.interface, kernel, s) for s in (False, True))]
    )
    with _lock:
        if text not in _kept:
            image = link(compiler.object_code(text, target), ["f0", "f1"])
            code = _native.Code(image.code, image.entries, image.imports)
            _kept.setdefault(text, (code, kernel))  # a signal handler may have been here meanwhile
        return _kept[text][0].addresses()[int(strided)]


def _function(interface: Interface, kernel: _native.Kernel, strided: bool) -> str:
    """The function, in LLVM's language."""
    loop, itself = kernel.addresses
    arguments = interface.arguments(strided=strided)
    kinds = ["ptr" if "*" in kind else "double" if kind == "double " else "i64" for kind, _ in arguments]
    listed = ", ".join(f"{kind} %{name}" for kind, (_, name) in zip(kinds, arguments, strict=True))
    count, rows = len(interface.operands), interface.is_row_wise
    bits = (f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}" for value in interface.constants)
    values = [*(f"%{name}" for name in interface.parameters), *bits]
    lines = [
        f"define void @f{int(strided)}({listed}) nounwind {{",
        f"%operands. = alloca [{count} x ptr]",
        f"%steps. = alloca [{2 * count} x i64]",
        "%sizes. = alloca [3 x i64]",
        f"%values. = alloca [{max(len(values), 1)} x double]",
        "%data. = alloca { ptr, ptr, i32 }",
        "%some. = sub i64 %end, %begin",
    ]

    def put(kind: str, value: str, place: str, number: int) -> None:
        at = f"%{place}{number}"
        lines.extend([f"{at} = getelementptr {kind}, ptr %{place}, i64 {number}", f"store {kind} {value}, ptr {at}"])

    for k, operand in enumerate(interface.operands):
        name, size = operand.name, str(operand.type.itemsize)
        step = f"%{name}_step" if strided and not operand.of_row else size
        row = step
        if rows and strided:
            row = f"%{name}_row"
        elif rows and not operand.of_row:
            row = f"%row.{k}"
            lines.append(f"{row} = mul i64 %count, {size}")
        lines += [f"%off.{k} = mul i64 %begin, {row}", f"%at.{k} = getelementptr i8, ptr %{name}, i64 %off.{k}"]
        put("ptr", f"%at.{k}", "operands.", k)
        put("i64", row, "steps.", k)
        put("i64", step, "steps.", count + k)
    for k, value in enumerate(["%some.", *(["%count", "%count"] if rows else [])]):
        put("i64", value, "sizes.", k)
    for k, value in enumerate(values):
        put("double", value, "values.", k)
    for k, (kind, value) in enumerate(
        [("ptr", f"inttoptr (i64 {itself} to ptr)"), ("ptr", "%values."), ("i32", str(len(values)))]
    ):
        lines += [
            f"%data.{k} = getelementptr {{ ptr, ptr, i32 }}, ptr %data., i32 0, i32 {k}",
            f"store {kind} {value}, ptr %data.{k}",
        ]
    given = "ptr %operands., ptr %sizes., ptr %steps., ptr %data."
    return "\n".join([*lines, f"call void inttoptr (i64 {loop} to ptr)({given})", "ret void", "}"])
