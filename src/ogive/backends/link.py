"""A linker for a kernel's functions: an ELF object file becomes position-independent code without loose ends.

Code comes first, its constants behind it at fixed distances, so every reference is relative and is filled
in here; what a cache keeps can be copied to any page and run. Only what the emitter can produce is
understood; anything else is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ogive.common.records import record
from ogive.errors import CompileError

#: C functions that code may call: exactly rounded ones, where the processor lacks the instruction; and what has Windows make
#: room on the stack, where a frame is larger than a page.
IMPORTS = ("fma", "fmaf", "__chkstk")


@record()
class Image:
    """Machine code: copied to executable memory its functions can be called at ``entries``.

    ``imports`` are places of 8 bytes that must hold the address of a C function, by its index in IMPORTS.
    """

    code: bytes
    entries: tuple[int, ...]
    imports: tuple[tuple[int, int], ...] = ()


@record()
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


_ALLOCATED, _EXECUTABLE = 2, 4
_RELOCATIONS_WITH_ADDENDS, _NO_BITS = 4, 8


def link(elf: bytes, functions: Sequence[str]) -> Image:
    """The image whose entries are these functions of a relocatable ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise CompileError("link: the object file is not 64-bit little-endian ELF")
    machine = struct.unpack_from("<H", elf, 18)[0]
    sections = _read_sections(elf)
    # Lay out: code, then constants, each at its alignment.
    places: dict[int, int] = {}
    image = bytearray()
    kept = [
        i
        for i, s in enumerate(sections)
        if s.flags & _ALLOCATED and s.size and s.name != ".eh_frame" and s.kind != _NO_BITS
    ]
    for index in sorted(kept, key=lambda i: not sections[i].flags & _EXECUTABLE):
        section = sections[index]
        image.extend(b"\0" * (-len(image) % max(section.alignment, 1)))
        places[index] = len(image)
        image.extend(elf[section.offset : section.offset + section.size])

    symbols, names = _read_symbols(elf, sections)
    thunks: dict[str, int] = {}
    imports: list[tuple[int, int]] = []

    def address(index: int) -> int:
        name, home, value = symbols[index]
        if home in places:
            return places[home] + value
        if home == 0 and name in IMPORTS:
            if name not in thunks:
                thunks[name] = _append_thunk(image, machine, imports, name)
            return thunks[name]
        raise CompileError(f"link: the code refers to {name or 'a section'!r}, which a kernel must not need")

    for section in sections:
        if section.kind == _RELOCATIONS_WITH_ADDENDS and section.info in places:
            base = places[section.info]
            for at in range(section.offset, section.offset + section.size, 24):
                offset, info, addend = struct.unpack_from("<QQq", elf, at)
                target = address(info >> 32) + addend
                _relocate(image, machine, info & 0xFFFFFFFF, base + offset, target)
    return Image(bytes(image), tuple(address(names[function]) for function in functions), tuple(imports))


def _read_sections(elf: bytes) -> list[_Section]:
    table, size, count, names_index = struct.unpack_from("<Q10xHHH", elf, 40)
    raw = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    names_at = raw[names_index][4]
    return [_Section(_text(elf, names_at + r[0]), r[1], r[2], r[4], r[5], r[6], r[7], r[8]) for r in raw]


def _read_symbols(elf: bytes, sections: list[_Section]) -> tuple[list[tuple[str, int, int]], dict[str, int]]:
    """[(name, section, value)] and the index of each name."""
    table = next(s for s in sections if s.kind == 2)
    names_at = sections[table.link].offset
    symbols = []
    for at in range(table.offset, table.offset + table.size, 24):
        name, home, value = struct.unpack_from("<I2xHQ", elf, at)
        symbols.append((_text(elf, names_at + name), home, value))
    return symbols, {name: i for i, (name, _, _) in enumerate(symbols) if name}


def _text(elf: bytes, at: int) -> str:
    return elf[at : elf.index(b"\0", at)].decode("ascii", "replace")


def _append_thunk(image: bytearray, machine: int, imports: list[tuple[int, int]], name: str) -> int:
    """A jump through a place that the loader fills with the function's address."""
    if machine != 62:
        raise CompileError(f"link: {name} is called on an architecture that has the instruction")
    image.extend(b"\0" * (-len(image) % 16))
    at = len(image)
    image.extend(b"\xff\x25\x02\x00\x00\x00\x90\x90")  # jmp *[rip + 2]; the place follows
    imports.append((len(image), IMPORTS.index(name)))
    image.extend(b"\0" * 8)
    return at


def _relocate(image: bytearray, machine: int, kind: int, place: int, target: int) -> None:
    """Fill in one reference, by the rules of the processor's ABI supplement."""
    if machine == 62:  # x86-64
        if kind in (2, 4):  # PC32, PLT32
            struct.pack_into("<i", image, place, target - place)
            return
    elif machine == 183:  # AArch64; an image begins at a page
        word = struct.unpack_from("<I", image, place)[0]
        if kind == 275:  # ADR_PREL_PG_HI21
            pages = (target >> 12) - (place >> 12)
            word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        elif kind == 277:  # ADD_ABS_LO12_NC
            word |= (target & 0xFFF) << 10
        elif kind in (278, 284, 285, 286, 299):  # LDST8, 16, 32, 64, 128_ABS_LO12_NC
            word |= (target & 0xFFF) >> {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}[kind] << 10
        else:
            raise CompileError(f"link: relocation {kind} of machine {machine} is not known")
        struct.pack_into("<I", image, place, word)
        return
    raise CompileError(f"link: relocation {kind} of machine {machine} is not known")
