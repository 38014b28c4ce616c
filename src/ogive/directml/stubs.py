"""What ``import ogive.directml`` offers, for editors and type checkers: the text of ``__init__.pyi``.

Run ``python -m ogive.directml.stubs`` to print it; a test compares the file with it.
"""

from __future__ import annotations

import enum

from ogive.directml.data import STRUCTS
from ogive.directml.descs import OperatorDesc, desc_class
from ogive.directml.enumerations import CONSTANTS, ENUMERATIONS, members, short_name
from ogive.directml.exports import EXPORTS
from ogive.directml.structure import REQUIRED, Entry

__all__ = ["text"]

#: What a member's type is in Python: what it may be given as, and what it is when it is read.
_TYPES = {
    "FLOAT": ("float", "float"),
    "UINT": ("int", "int"),
    "UINT[]": ("Sequence[int]", "tuple[int, ...]"),
    "DML_TENSOR_DESC": ("DML_BUFFER_TENSOR_DESC | DML_TENSOR_DESC", "DML_BUFFER_TENSOR_DESC"),
    "DML_SCALE_BIAS": ("DML_SCALE_BIAS", "DML_SCALE_BIAS"),
    "DML_SCALAR_UNION": ("DML_SCALAR_UNION", "DML_SCALAR_UNION"),
    "DML_OPERATOR_DESC": ("OperatorDesc | DML_OPERATOR_DESC", "OperatorDesc"),
    **{name: (name, name) for name in ENUMERATIONS},
}


def text() -> str:
    """The stub file."""
    lines = [
        '"""Made by `python -m ogive.directml.stubs`; do not edit."""',
        "",
        "from collections.abc import Sequence",
        "from enum import IntEnum, IntFlag",
        "from typing import Final",
        "",
    ]
    for module, names in sorted({**EXPORTS, "descs": (*EXPORTS["descs"], "OperatorDesc")}.items()):
        lines += [_import(module, name) for name in sorted(names, key=lambda name: (not name.isupper(), name))]
    lines.append("")
    for kind in ENUMERATIONS.values():
        lines += _enumeration(kind)
    lines += [f"{name}: Final = {value}" for name, value in CONSTANTS.items()]
    lines.append("")
    for struct in STRUCTS:
        lines += _desc(desc_class(struct))
    return "\n".join(lines)


def _import(module: str, name: str) -> str:
    return _within_the_line(f"from ogive.directml.{module} import ", f"{name} as {name}", ",")


def _within_the_line(start: str, rest: str, end: str = "") -> str:
    line = start + rest
    return line if len(line) <= 120 else f"{start}(\n    {rest}{end}\n)"


def _enumeration(kind: type[enum.IntEnum] | type[enum.IntFlag]) -> list[str]:
    base = "IntFlag" if issubclass(kind, enum.IntFlag) else "IntEnum"
    lines = [f"class {kind.__name__}({base}):"]
    lines += [f"    {name} = {int(member)}" for name, member in members(kind).items()]
    lines += [
        f"    {short} = {int(member)}"
        for member in members(kind).values()
        if (short := short_name(member)).isidentifier()
    ]
    lines.append("")
    lines += [_within_the_line(f"{name}: Final = ", f"{kind.__name__}.{name}") for name in members(kind)]
    return [*lines, ""]


def _desc(kind: type[OperatorDesc]) -> list[str]:
    lines = [f"class {kind.__name__}(OperatorDesc):"]
    lines += [f"    {member.name}: {_type(member, 1)}" for member in kind.MEMBERS]
    lines.append("    def __init__(")
    lines.append("        self,")
    # A member without a default may follow one with a default, which Python's signatures cannot say.
    optional_from = next((i for i, m in enumerate(kind.MEMBERS) if m.default is not REQUIRED), len(kind.MEMBERS))
    for position, member in enumerate(kind.MEMBERS):
        if position == optional_from and any(m.default is REQUIRED for m in kind.MEMBERS[position:]):
            lines.append("        *,")
        default = "" if member.default is REQUIRED else " = ..."
        lines.append(f"        {member.name}: {_type(member, 0)}{default},")
    return [*lines, "    ) -> None: ...", ""]


def _type(member: Entry, direction: int) -> str:
    return _TYPES[member.type][direction] + (" | None" if member.nullable else "")


if __name__ == "__main__":
    print(text(), end="")
