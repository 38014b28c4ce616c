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


def header_text(name: str, interfaces: Sequence[Interface], digests: Mapping[str, int], where: Place) -> str:
    """The header of these functions."""
    guard = f"{name}_h".upper()
    levels = ", ".join(target.name for target in where.targets)
    kinds = [text for text, wanted in ((_ELEMENTS, False), (_ROWS, True)) if _any(interfaces, wanted)]
    lines = [
        f"/* {name}: made by Ogive (ogive.export). Code for {where.triple} ({levels}).",
        " *",
        *kinds,
        " * An element's bits depend on its operands alone: not on the range, the distances or the processor. So threads may",
        " * compute ranges of their own. A result may be written over an operand of the same type and distances.",
        " * Pointers are aligned to their elements. float16 and bfloat16 are uint16_t: their bits. bool is uint8_t, 0 or 1.",
        " * The caller's rounding mode, flush-to-zero and floating-point flags neither matter nor change.",
        " * Nothing is allocated, and nothing else is called." + _level_note(where),
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
