"""The names that ``import ogive.directml`` offers, for editors and type checkers: the text of ``__init__.pyi``."""

from __future__ import annotations

import enum
import inspect
from importlib import import_module

from ogive.directml.builder.activation import FusedActivation, factories
from ogive.directml.builder.vocabulary import ApiArgument, ApiFunction, Variant, aliases, functions
from ogive.directml.data import STRUCTS
from ogive.directml.descs import OperatorDesc, desc_class
from ogive.directml.enumerations import CONSTANTS, ENUMERATIONS, members, short_name
from ogive.directml.structure import REQUIRED, StructureMember

__all__ = ["text"]

#: The package's own table, which its stub does not name.
EXPORTS: dict[str, tuple[str, ...]] = vars(import_module("ogive.directml"))["EXPORTS"]

#: A member's type in Python: what it may be given as, and what it is when it is read.
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
        '"""Made by tools/stubs; do not edit."""',
        "",
        "# ruff: noqa: A001, A002  (the functions and arguments have DirectML's names)",
        "",
        "from collections.abc import Sequence",
        "from enum import IntEnum, IntFlag",
        "from typing import Final",
        "",
        "from numpy.typing import DTypeLike",
        "",
    ]
    imported = {**EXPORTS, "descs": (*EXPORTS["descs"], "OperatorDesc")}
    del imported["builder.activation"]  # whose class is made from data
    for module, names in sorted(imported.items()):
        lines += [_import(module, name) for name in sorted(names, key=lambda name: (not name.isupper(), name))]
    lines.append("")
    for kind in ENUMERATIONS.values():
        lines += _enumeration(kind)
    lines += [f"{name}: Final = {value}" for name, value in CONSTANTS.items()]
    lines.append("")
    for struct in STRUCTS:
        lines += _desc(desc_class(struct))
    lines += [f"{name} = {kind.__name__}" for name, kind in aliases().items() if kind.__name__ != name]
    lines.append("")
    for name, kind in aliases().items():
        if kind.__name__ == name:
            lines += [f"class {name}(IntEnum):", *(f"    {member.name} = {member.value}" for member in kind), ""]
    lines += [*_fused_activation(), ""]
    for function in functions().values():
        lines += _function(function)
    return "\n".join([*lines, ""])


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


def _type(member: StructureMember, direction: int) -> str:
    return _TYPES[member.type][direction] + (" | None" if member.nullable else "")


def _fused_activation() -> list[str]:
    lines = ["class FusedActivation:"]
    lines.append(
        "    def __init__(self, activation: int, param_1: float | None = ..., param_2: float | None = ...) -> None: ..."
    )
    for name in factories():
        parameters = inspect.signature(getattr(FusedActivation, name)).parameters.values()
        listed = ", ".join(f"{p.name}: float" + ("" if p.default is p.empty else " = ...") for p in parameters)
        lines += ["    @staticmethod", f"    def {name}({listed}) -> FusedActivation: ..."]
    return lines


#: The Python type of a function's argument.
_ARGUMENTS = {
    "tensor": "Expression",
    "number": "float",
    "scalar": "float | DML_SCALAR_UNION",
    "scale_bias": "tuple[float, float] | DML_SCALE_BIAS | None",
    "fused_activation": "FusedActivation | None",
    "axes": "Sequence[int]",
    "sizes": "Sequence[int]",
    "data_type": "DTypeLike | DML_TENSOR_DATA_TYPE",
}


def _function(function: ApiFunction) -> list[str]:
    kinds: dict[str, list[str]] = {"graph": ["Graph"]}
    for variant in function.variants:
        for argument in variant.arguments:
            kinds.setdefault(argument.name, []).append(_argument(variant, argument))
    parts = []
    for parameter in function.signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = " | ".join(dict.fromkeys(kinds[parameter.name]))
        is_optional = parameter.default is None and not kind.endswith("None")
        default = "" if parameter.default is parameter.empty else " = ..."
        parts.append(f"{parameter.name}: {kind}{' | None' if is_optional else ''}{default}")
    line = f"def {function.name}({', '.join(parts)}) -> Expression: ..."
    if len(line) <= 120:
        return [line]
    return [f"def {function.name}(", *(f"    {part}," for part in parts), ") -> Expression: ..."]


def _argument(variant: Variant, argument: ApiArgument) -> str:
    if argument.kind == "choice":
        return next(member.type for member in variant.facts.members if member.name == argument.member)
    return _ARGUMENTS[argument.kind]
