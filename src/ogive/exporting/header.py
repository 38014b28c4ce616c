"""The header of exported functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ogive.exporting.interface import Interface
from ogive.exporting.places import Place

__all__ = ["header_text"]

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
