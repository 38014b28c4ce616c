"""The arguments of an exported function, as C sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ogive.common.dtypes import ElementType
from ogive.common.forking import cached_property
from ogive.lowering.program import Program

#: float16 and bfloat16 are handed over as their bits: C has no name for them that all compilers know.
C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class Operand:
    """A tensor that the function reads or writes."""

    name: str
    type: ElementType
    is_input: bool
    of_row: bool = False
    """Whether it has one number a row."""

    @property
    def c_type(self) -> str:
        """A pointer to its elements."""
        return f"{'const ' if self.is_input else ''}{C_TYPES[self.type.name]} *"


@dataclass(frozen=True)
class Interface:
    """A function: its name, its operands in order, its parameters, and the program that it computes."""

    name: str
    title: str
    """One line for people."""
    operands: tuple[Operand, ...]
    parameters: tuple[str, ...]
    program: Program
    constants: tuple[float, ...] = ()
    """The values of the program's parameters, where callers do not say it."""
    real: str = "double"
    """The type of parameters in C: of functions in float alone float."""

    @property
    def is_row_wise(self) -> bool:
        """Whether it takes rows, with room for what it keeps between its passes."""
        return bool(self.program.stages)

    @cached_property
    def later(self) -> tuple[Program, ...]:
        """The programs that compute elements again, each those that the one before cannot decide."""
        return self.program.chain[1:]

    @property
    def entries(self) -> tuple[str, ...]:
        """The names that the object file defines."""
        more = (f"{self.name}_scratch",) if self.is_row_wise else ()
        return (self.name, f"{self.name}_strided", *more)

    def arguments(self, *, strided: bool) -> list[tuple[str, str]]:
        """(type, name) of all arguments; the types are C's."""
        found = []
        for operand in self.operands:
            found.append((operand.c_type, operand.name))
            if strided and self.is_row_wise:
                found.append(("ptrdiff_t ", f"{operand.name}_row"))
            if strided and not operand.of_row:
                found.append(("ptrdiff_t ", f"{operand.name}_step"))
        found += [("size_t ", "begin"), ("size_t ", "end")]
        if self.is_row_wise:
            found.append(("size_t ", "count"))
        found += [(f"{self.real} ", parameter) for parameter in self.parameters]
        if self.is_row_wise:
            found.append(("void *", "scratch"))
        return found

    def prototypes(self) -> list[str]:
        """The declarations of all entries in C."""
        found = []
        for name, strided in ((self.name, False), (f"{self.name}_strided", True)):
            listed = ", ".join(f"{kind}{argument}" for kind, argument in self.arguments(strided=strided))
            found.append(f"void {name}({listed});")
        if self.is_row_wise:
            found.append(f"size_t {self.name}_scratch(size_t count);")
        return found


#: The words that C and C++ keep for themselves, and the names of the other arguments.
RESERVED = frozenset([
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "and",
    "bool", "catch", "class", "new", "not", "operator", "or", "private", "public", "this", "throw", "true", "false",
    "try", "using", "virtual", "xor", "begin", "end", "count", "scratch"
])  # fmt: skip


def identifiers(names: Sequence[str]) -> list[str]:
    """The names as C takes them, each once.

    >>> identifiers(["x", "signed", "a b", "x"])
    ['x', 'signed_', 'a_b', 'x_']
    """
    found: list[str] = []
    for name in names:
        text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "_"
        text = f"_{text}" if text[0].isdigit() else text
        while text in RESERVED or text in found:
            text += "_"
        found.append(text)
    return found
