"""DirectML's enumerations and constants, with their values.

A member has its full name and, where that is a name in Python, its short one:
``DML_TENSOR_DATA_TYPE.FLOAT32 is DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_FLOAT32``. The package exports
the full names too, as C++ has them.
"""

from __future__ import annotations

import enum
from typing import Any

from ogive.directml.data import DATA_TYPES, FEATURE_LEVELS, OPERATOR_TYPES


class _Enumeration(enum.IntEnum):
    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class _Flags(enum.IntFlag):
    def __repr__(self) -> str:
        return self.name if self.name is not None else repr(int(self))

    __str__ = __repr__


#: All of them, by name.
ENUMERATIONS: dict[str, type[enum.IntEnum] | type[enum.IntFlag]] = {}
_prefixes: dict[str, str] = {}


def _make(name: str, values: dict[str, int], prefix: str = "", base: Any = _Enumeration) -> Any:
    prefix = prefix or name + "_"
    # The full names come first and so are the members' names; the short ones are aliases.
    members = {prefix + short: value for short, value in values.items()}
    made = base(name, members | values, module="ogive.directml")
    made.__doc__ = f"DirectML's enumeration: {', '.join(f'{full} = {value:#x}' for full, value in members.items())}."
    ENUMERATIONS[name] = made
    _prefixes[name] = prefix
    return made


def _numbered(*names: str) -> dict[str, int]:
    return {name: value for value, name in enumerate(names)}


DML_TENSOR_DATA_TYPE = _make(
    "DML_TENSOR_DATA_TYPE", {"UNKNOWN": 0} | {name: row.value for name, row in DATA_TYPES.items()}
)
DML_FEATURE_LEVEL = _make("DML_FEATURE_LEVEL", FEATURE_LEVELS)
DML_OPERATOR_TYPE = _make("DML_OPERATOR_TYPE", {"INVALID": 0} | OPERATOR_TYPES, "DML_OPERATOR_")
DML_TENSOR_TYPE = _make("DML_TENSOR_TYPE", _numbered("INVALID", "BUFFER"))
DML_TENSOR_FLAGS = _make("DML_TENSOR_FLAGS", {"NONE": 0, "OWNED_BY_DML": 1}, "DML_TENSOR_FLAG_", _Flags)
DML_EXECUTION_FLAGS = _make(
    "DML_EXECUTION_FLAGS",
    {"NONE": 0, "ALLOW_HALF_PRECISION_COMPUTATION": 1, "DISABLE_META_COMMANDS": 2, "DESCRIPTORS_VOLATILE": 4},
    "DML_EXECUTION_FLAG_",
    _Flags,
)
DML_CREATE_DEVICE_FLAGS = _make("DML_CREATE_DEVICE_FLAGS", {"NONE": 0, "DEBUG": 1}, "DML_CREATE_DEVICE_FLAG_", _Flags)
DML_BINDING_TYPE = _make("DML_BINDING_TYPE", _numbered("NONE", "BUFFER", "BUFFER_ARRAY"))
DML_FEATURE = _make("DML_FEATURE", _numbered("TENSOR_DATA_TYPE_SUPPORT", "FEATURE_LEVELS"))
DML_GRAPH_NODE_TYPE = _make("DML_GRAPH_NODE_TYPE", _numbered("INVALID", "OPERATOR", "CONSTANT"))
DML_GRAPH_EDGE_TYPE = _make("DML_GRAPH_EDGE_TYPE", _numbered("INVALID", "INPUT", "OUTPUT", "INTERMEDIATE"))
DML_ROUNDING_MODE = _make("DML_ROUNDING_MODE", _numbered("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"))
DML_IS_INFINITY_MODE = _make("DML_IS_INFINITY_MODE", _numbered("EITHER", "POSITIVE", "NEGATIVE"))
DML_PADDING_MODE = _make("DML_PADDING_MODE", _numbered("CONSTANT", "EDGE", "REFLECTION", "SYMMETRIC", "WRAP"))

CONSTANTS = {
    "DML_TARGET_VERSION": 0x6400,
    "DML_TENSOR_DIMENSION_COUNT_MAX": 5,
    "DML_TENSOR_DIMENSION_COUNT_MAX1": 8,
    "DML_TEMPORARY_BUFFER_ALIGNMENT": 256,
    "DML_PERSISTENT_BUFFER_ALIGNMENT": 256,
    "DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT": 16,
}


def members(kind: type[enum.IntEnum] | type[enum.IntFlag]) -> dict[str, Any]:
    """The members of an enumeration by their full names, zero among flags too."""
    return {name: member for name, member in kind.__members__.items() if name.startswith(_prefixes[kind.__name__])}


def short_name(member: enum.IntEnum | enum.IntFlag) -> str:
    """A member's name without its prefix.

    >>> short_name(DML_OPERATOR_TYPE(90))
    'ACTIVATION_SHRINK'
    """
    return member.name.removeprefix(_prefixes[type(member).__name__]) if member.name else str(int(member))


def level_name(level: int) -> str:
    """The full name of a feature level.

    >>> level_name(0x5100)
    'DML_FEATURE_LEVEL_5_1'
    """
    return str(DML_FEATURE_LEVEL(level))
