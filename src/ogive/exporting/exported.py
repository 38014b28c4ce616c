"""`export`: the files of a function for C."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ogive.backends import compiler
from ogive.errors import ParameterError, message
from ogive.exporting.c_source import source_text
from ogive.exporting.given import source_of
from ogive.exporting.interface import Interface
from ogive.exporting.module import module_text
from ogive.exporting.places import Place, place
from ogive.exporting.sources import ExportSource

__all__ = ["FORMS", "Exported", "export"]


_ELEMENTS = """\
 * Elements begin to end - 1 are computed, each from the operands' elements of its position. `_strided` takes beside each
 * operand the distance from an element to the next, in bytes: 0, or less than 0, is allowed for what is read."""

_ROWS = """\
 * Rows begin to end - 1 of `count` elements are computed; in the first function they follow each other without gaps.
 * `_strided` takes beside each operand the distances from a row to the next and from an element to the next, in bytes.
 * `scratch` points at as many bytes as `_scratch` says for the length of the rows, for this call alone; at any address."""


_ENVIRONMENT = """\
 * The caller's rounding mode, flush-to-zero and floating-point flags neither matter nor change."""

#: C cannot set the environment without a library.
_ENVIRONMENT_OF_C = """\
 * They are called with the default environment of C: round to nearest, subnormal numbers kept.
 * -O3 and an option for the processor (-march=native) make compilers vectorise them; -ffast-math is refused."""


def header_text(
    name: str, interfaces: Sequence[Interface], digests: Mapping[str, int], where: Place, *, is_c: bool = False
) -> str:
    """The header of these functions: of code for a place, or of a file in C."""
    guard = f"{name}_h".upper()
    levels = ", ".join(target.name for target in where.targets)
    made = f"{name}.c is ISO C11 for every machine." if is_c else f"Code for {where.triple} ({levels})."
    kinds = [text for text, wanted in ((_ELEMENTS, False), (_ROWS, True)) if _any(interfaces, wanted)]
    lines = [
        f"/* {name}: made by Ogive (ogive.export). {made}",
        " *",
        *kinds,
        " * An element's bits depend on its operands alone: not on the range, the distances or the processor. So threads may",
        " * compute ranges of their own. A result may be written over an operand of the same type and distances.",
        " * Pointers are aligned to their elements. float16 and bfloat16 are uint16_t: their bits. bool is uint8_t, 0 or 1.",
        _ENVIRONMENT_OF_C if is_c else _ENVIRONMENT,
        " * Nothing is allocated, and nothing else is called." + ("" if is_c else _level_note(where)),
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    for interface in interfaces:
        title = interface.title.replace("*/", "* /")
        lines.append(f"/* {title}\n * Digest of the results on the fixed set: {digests[interface.name]:016x}. */")
        lines += [*interface.prototypes(), ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _any(interfaces: Sequence[Interface], wanted: bool) -> bool:
    return any(interface.is_row_wise == wanted for interface in interfaces)


def _level_note(where: Place) -> str:
    if len(where.targets) == 1:
        return ""
    return " The processor's level is asked at the\n * first call, and kept in one static number: the same from every thread."


#: What the code can come as.
FORMS = ("object", "assembly", "llvm", "c", "static", "shared")


@dataclass(frozen=True)
class Exported:
    """What `export` has made: files by name, and what is in them."""

    name: str
    """The C name of the function; of several, of the first."""
    header: str
    """The text of the header."""
    files: Mapping[str, bytes]
    """All files, the header among them."""
    digests: Mapping[str, int]
    """For each function the digest of its results on the fixed set, which the self-test prints."""
    triple: str

    def write(self, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """Write the files into a folder, which is made where it is missing; their paths.

        >>> import ogive, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in ogive.export(ogive.relu, "float32", target="aarch64").write(folder))
        ['ogive_relu_float32.h', 'ogive_relu_float32.o']
        """
        to = Path(folder)
        to.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (to / name).write_bytes(data)
        return [to / name for name in self.files]


def export(
    what: Any,
    dtype: str | Sequence[str] | None = None,
    *,
    form: str = "object",
    target: str | None = None,
    triple: str | None = None,
    name: str | None = None,
    choices: Mapping[str, Any] | None = None,
    self_test: bool = False,
) -> Exported:
    """An operator, a formula of one's own or a fused ONNX model as a function that C calls.

    ``what`` is an operator; a bound one (``celu.bind(alpha=1.5)``), whose parameters become constants; a model of
    ``ogive.onnx.load`` that is one kernel; or a list of these, for one library. ``dtype`` is the element type of its
    tensors, float32 without one, or a list of the types of each input. ``form`` is object, assembly, llvm, static,
    shared, or c: one file of ISO C11 for any compiler, of element-wise functions. ``target`` is native, x86_64 (all
    levels, chosen at run time), a level (x86-64, x86-64-v3, x86-64-v4), aarch64, riscv64 or wasm32; ``triple`` names
    another system: x86_64-pc-windows-msvc, arm64-apple-macos. Form c has neither. ``choices`` are parameters that select a formula, ``name`` is the function's name in C.
    ``self_test`` adds a C program that compares the function with the digest in its header.

    The functions keep nothing, allocate nothing, and call nothing. They compute elements (or rows) ``begin`` to
    ``end``, so that threads can share an array out; the bits are those of the operator in Python, however it is cut.
    docs/export.md describes them.

    Raises ArgumentError, DTypeError or ParameterError for what cannot be exported, CompileError where LLVM or a
    linker is missing.

    >>> import ogive
    >>> exported = ogive.export(ogive.celu, "float32", target="aarch64")
    >>> [line for line in exported.header.splitlines() if "celu_float32(" in line]
    ['void ogive_celu_float32(const float *x, float *y, size_t begin, size_t end, double alpha);']
    >>> list(exported.files)
    ['ogive_celu_float32.h', 'ogive_celu_float32.o']
    """
    if form not in FORMS:
        raise ParameterError(message("ogive.export", f"form is {form!r}", ", ".join(FORMS)))
    if form == "c" and (target is not None or triple is not None):
        given = f"form is 'c' and {'target' if target is not None else 'triple'} is {target or triple!r}"
        way_out = "Say the target to the compiler of the file"
        raise ParameterError(message("ogive.export", given, "neither target nor triple with form c", way_out=way_out))
    where = place(target, triple)
    several = isinstance(what, list | tuple)
    if several and not what:
        raise ParameterError(message("ogive.export", "what is an empty list", "an operator, or a list of them"))
    sources = [source_of(one, dtype, choices, None if several else name) for one in (what if several else [what])]
    return export_sources(sources, where, form, name or sources[0].interface.name, self_test=self_test)


def export_sources(sources: Sequence[ExportSource], where: Place, form: str, name: str, *, self_test: bool) -> Exported:
    """The files of these functions."""
    interfaces = [source.interface for source in sources]
    _check_names(interfaces)
    digests = {source.interface.name: source.digest for source in sources}
    header = header_text(name, interfaces, digests, where, is_c=form == "c")
    code = (
        {f"{name}.c": source_text(name, interfaces).encode()}
        if form == "c"
        else _code(module_text(interfaces, where.targets, where.triple), where, form, name, interfaces)
    )
    files = {f"{name}.h": header.encode()} | code
    if self_test:
        from ogive.exporting.self_test import self_test_text

        files[f"{name}_test.c"] = self_test_text(name, sources, digests).encode()
    return Exported(interfaces[0].name, header, files, digests, where.triple)


def _check_names(interfaces: Sequence[Interface]) -> None:
    names = [name for interface in interfaces for name in interface.entries]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(message("ogive.export", f"two functions are called {name}", "different functions"))


def _code(text: str, where: Place, form: str, name: str, interfaces: Sequence[Interface]) -> dict[str, bytes]:
    target = where.targets[0]
    if form == "llvm":
        return {f"{name}.ll": text.encode()}
    if len(where.targets) > 1:
        compiler.need_assembler_of_x86()
    if form == "assembly":
        return {f"{name}.s": compiler.assembly(text, target).encode()}
    code = compiler.object_code(text, target)
    if form == "object":
        return {f"{name}{'.obj' if where.format == 'coff' else '.o'}": code}
    from ogive.exporting import libraries

    entries = [entry for interface in interfaces for entry in interface.entries]
    made = libraries.static if form == "static" else libraries.shared
    return made(name, code, entries, where)
