"""A linker of one object file of WebAssembly: it becomes a module with memory and a stack of its own.

LLVM writes object files whose references are right as they stand if nothing else is linked: data begin at address 0, and
functions have the numbers that they keep. What is left is what an object imports: its memory, and the pointer to its
stack. Both become the module's own, and the functions that are wanted are exported.

Memory holds the data, then the stack, then what the caller puts there: from ``__heap_base`` on, which is exported too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ogive.errors import CompileError

__all__ = ["linked"]

_MAGIC = b"\0asm\1\0\0\0"
_CUSTOM, _IMPORT, _MEMORY, _GLOBAL, _EXPORT, _DATA = 0, 2, 5, 6, 7, 11
#: In this order they stand in a module; 12, the count of data, before the code.
_ORDER = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11)
_STACK, _PAGE = 1 << 16, 1 << 16
_I32 = 0x7F


def linked(code: bytes, entries: Sequence[str]) -> bytes:
    """The module that exports these functions, ``memory`` and ``__heap_base``."""
    if code[:8] != _MAGIC:
        raise CompileError("link: the object file is not WebAssembly")
    sections = dict(_sections(code))
    functions, data_end = _Linking(code).read()
    imports = _Reader(sections.get(_IMPORT, b"\0")).imports()
    for module, name, kind in imports:
        if (module, name) not in _PROVIDED:
            raise CompileError(f"link: the code refers to {name!r} of {module!r}, kind {kind}, which it must not need")
    if len([name for _, name, kind in imports if kind == 3]) > 1:
        raise CompileError("link: the code refers to more globals than the pointer to its stack")
    stack = (data_end + 15) // 16 * 16 + _STACK
    sections.pop(_IMPORT, None)
    sections[_MEMORY] = b"\1\0" + _number(stack // _PAGE + 1)
    constant = bytes([_I32, 0, 0x41]) + _signed(stack) + b"\x0b"
    sections[_GLOBAL] = b"\2" + bytes([_I32, 1, 0x41]) + _signed(stack) + b"\x0b" + constant
    exports = [_named("memory") + b"\2\0", _named("__heap_base") + b"\3\1"]
    for entry in entries:
        if entry not in functions:
            raise CompileError(f"link: the object file has no function {entry!r}")
        exports.append(_named(entry) + b"\0" + _number(functions[entry]))
    sections[_EXPORT] = _number(len(exports)) + b"".join(exports)
    return _MAGIC + b"".join(bytes([i]) + _number(len(sections[i])) + sections[i] for i in _ORDER if i in sections)


#: What an object file may import, and the module then has itself.
_PROVIDED = {("env", "__linear_memory"), ("env", "__stack_pointer"), ("env", "__indirect_function_table")}


def _sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _Reader(code, len(_MAGIC))
    while reader.at < len(code):
        kind = reader.byte()
        size = reader.number()
        if kind != _CUSTOM:
            yield kind, code[reader.at : reader.at + size]
        reader.at += size


@dataclass
class _Reader:
    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """LEB128."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def text(self) -> str:
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def imports(self) -> list[tuple[str, str, int]]:
        """(module, name, kind)."""
        found = []
        for _ in range(self.number()):
            module, name, kind = self.text(), self.text(), self.byte()
            if kind == 0:
                self.number()
            elif kind == 3:
                self.at += 2
            else:  # a table has a type before its limits
                self.at += kind == 1
                has_most = self.byte() & 1
                self.number()
                if has_most:
                    self.number()
            found.append((module, name, kind))
        return found


class _Linking:
    """The section that names symbols: functions that are defined here, and where data end."""

    def __init__(self, code: bytes) -> None:
        self.code = code

    def read(self) -> tuple[dict[str, int], int]:
        functions: dict[str, int] = {}
        reader = _Reader(self.code, len(_MAGIC))
        while reader.at < len(self.code):
            kind, size = reader.byte(), reader.number()
            end = reader.at + size
            if kind == _CUSTOM and reader.text() == "linking":
                reader.number()  # the version
                while reader.at < end:
                    part, part_size = reader.byte(), reader.number()
                    part_end = reader.at + part_size
                    if part == 8:
                        functions = self._symbols(reader)
                    reader.at = part_end
            reader.at = end
        return functions, self._data_end()

    def _symbols(self, reader: _Reader) -> dict[str, int]:
        functions = {}
        undefined, explicit_name = 0x10, 0x40
        for _ in range(reader.number()):
            kind, flags = reader.byte(), reader.number()
            if kind in (0, 2, 4, 5):  # functions, globals, tags, tables
                index = reader.number()
                is_named = not flags & undefined or flags & explicit_name
                name = reader.text() if is_named else ""
                if kind == 0 and not flags & undefined:
                    functions[name] = index
            elif kind == 1:  # data
                reader.text()
                if not flags & undefined:
                    for _ in range(3):
                        reader.number()
            else:  # a section
                reader.number()
        return functions

    def _data_end(self) -> int:
        reader, end = _Reader(dict(_sections(self.code)).get(_DATA, b"\0")), 0
        for _ in range(reader.number()):
            if reader.number() != 0 or reader.byte() != 0x41:
                raise CompileError("link: data of WebAssembly lie elsewhere than in memory")
            place = reader.number()
            reader.byte()
            size = reader.number()
            reader.at += size
            end = max(end, place + size)
        return end


def _number(value: int) -> bytes:
    found = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        found.append(low | (0x80 if value else 0))
        if not value:
            return bytes(found)


def _signed(value: int) -> bytes:
    """LEB128 of a number that is not negative, with room for its sign."""
    found = bytearray()
    while value > 0x3F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _named(text: str) -> bytes:
    return _number(len(text)) + text.encode()
