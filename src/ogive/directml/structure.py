"""Structures: what a C struct is in Python. Typed members in a fixed order, values that cannot change.

A class lists its members; construction by position or keyword, conversion, ``repr``, equality, hashing and
pickling follow from that list. Every value is converted and range-checked when the structure is made, so a
structure that exists holds what the C one could hold.
"""

from __future__ import annotations

import enum
import inspect
import numbers
import operator
import struct as binary
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np

from ogive.directml.enumerations import ENUMERATIONS, members
from ogive.directml.results import refuse
from ogive.errors import described, suggestion

REQUIRED: Any = inspect.Parameter.empty

_S = TypeVar("_S", bound="Structure")


class StructureMember(NamedTuple):
    """One member of a structure: its name, its type in DirectML.h, and its default."""

    name: str
    type: str
    default: Any = REQUIRED
    nullable: bool = False
    """Whether it may be None: a null pointer."""


class Structure:
    """The base of all structures."""

    MEMBERS: ClassVar[tuple[StructureMember, ...]] = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    __slots__ = ()

    if TYPE_CHECKING:  # the members of classes that are made from data

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "MEMBERS" in cls.__dict__:
            cls.__match_args__ = tuple(member.name for member in cls.MEMBERS)  # type: ignore[misc]

    def __init__(self, *values: Any, **named: Any) -> None:
        members = self.MEMBERS
        if len(values) > len(members):
            self._refuse_call(f"{len(values)} values were given")
        given = {member.name: value for member, value in zip(members, values, strict=False)}
        for name, value in named.items():
            if name in given:
                self._refuse_call(f"{name} was given twice", name)
            given[name] = value
        known = [member.name for member in members]
        for name in given:
            if name not in known:
                self._refuse_call(f"there is no member {name}", name, suggestion(name, known))
        for member in members:
            value = given.get(member.name, member.default)
            if value is REQUIRED:
                self._refuse_call(f"{member.name} is missing", member.name)
            if value is not None or not member.nullable:
                value = CONVERTERS[member.type](type(self).__name__, member.name, value)
            object.__setattr__(self, member.name, value)
        self._check()

    def _check(self) -> None:
        """The conditions between members. Subclasses refuse here."""

    def _refuse_call(self, what: str, member: str = "", way_out: str = "") -> NoReturn:
        allowed = "; ".join(
            f"{m.type} {m.name}" + ("" if m.default is REQUIRED else f" = {m.default!r}") for m in self.MEMBERS
        )
        refuse(type(self).__name__, what, allowed, way_out, member=member)

    def replace(self: _S, **changes: Any) -> _S:
        """A copy with other values for some members.

        >>> import ogive.directml as dml
        >>> dml.DML_SCALE_BIAS(Scale=2.0, Bias=1.0).replace(Bias=0.0)
        DML_SCALE_BIAS(Scale=2.0, Bias=0.0)
        """
        return type(self)(**(dict(zip(self.__match_args__, self._values(), strict=True)) | changes))

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, member.name) for member in self.MEMBERS)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}: {name} cannot be set. Use replace({name}=...)")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}: {name} cannot be set. Use replace(...)")

    def __repr__(self) -> str:
        shown = [
            f"{member.name}={_shown(member, value)}"
            for member, value in zip(self.MEMBERS, self._values(), strict=True)
            if value is not None or member.default is REQUIRED
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _identity(self) -> tuple[Any, ...]:
        # Buffers are equal when they are the same one, whatever is in them now.
        return tuple(
            id(value) if member.type in ("BUFFER", "OBJECT") else value
            for member, value in zip(self.MEMBERS, self._values(), strict=True)
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._identity()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


def _shown(member: StructureMember, value: Any) -> str:
    if member.type == "FLOAT":  # in as few digits as tell it apart from other float32 numbers
        return str(np.float32(value))
    return f"<{type(value).__name__}>" if member.type == "BUFFER" else repr(value)


# ---- types of members: (structure, member, value) -> the value as the structure holds it

Converter = Callable[[str, str, Any], Any]


def short(value: object) -> str:
    """A value for a message: what it is, or how long it is."""
    if isinstance(value, type | np.ndarray):
        return described(value)
    if hasattr(value, "__len__") and not isinstance(value, Structure):
        length = len(value)
        if length > 16:
            return f"{described(value)} with {length} entries"
    text = repr(value)
    return text if len(text) <= 200 else described(value)


def _float(owner: str, name: str, value: Any) -> float:
    """FLOAT: rounded to float32, as it is in C."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | np.floating):
        refuse(owner, f"{name} is {short(value)}", "a number", member=name)
    try:
        return float(binary.unpack("<f", binary.pack("<f", float(value)))[0])
    except OverflowError:
        refuse(owner, f"{name} is {short(value)}", "magnitudes that float32 can hold, up to 3.4e38", member=name)


def _unsigned(bits: int) -> Converter:
    def convert(owner: str, name: str, value: Any) -> int:
        return _whole(owner, name, value, 0, (1 << bits) - 1)

    return convert


def _whole(owner: str, name: str, value: Any, least: int, most: int) -> int:
    try:
        number = None if isinstance(value, bool | np.bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        refuse(owner, f"{name} is {short(value)}", f"whole numbers from {least} to {most}", member=name)
    return number


def items(owner: str, name: str, value: Any, what: str) -> Sequence[Any]:
    """A sequence that a caller gave, or a refusal. An iterable without a length is refused: it might have no end."""
    is_array = isinstance(value, np.ndarray) and value.ndim == 1
    if not is_array and (not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview)):
        refuse(owner, f"{name} is {short(value)}", f"a sequence of {what}", member=name)
    return value  # type: ignore[no-any-return]


def _unsigned_array(owner: str, name: str, value: Any) -> tuple[int, ...]:
    listed = items(owner, name, value, "whole numbers")
    return tuple(_whole(owner, f"{name}[{i}]", entry, 0, 0xFFFFFFFF) for i, entry in enumerate(listed))


def _boolean(owner: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool):
        refuse(owner, f"{name} is {short(value)}", "True or False", member=name)
    return bool(value)


def _text(owner: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        refuse(owner, f"{name} is {short(value)}", "text", member=name)
    return value


def _enumeration(type_name: str) -> Converter:
    kind = ENUMERATIONS[type_name]
    unknown_bits = ~sum(member.value for member in kind) if issubclass(kind, enum.IntFlag) else 0
    allowed = ", ".join(members(kind)) if len(kind) <= 20 else f"a member of {type_name}"

    def convert(owner: str, name: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if isinstance(value, enum.Enum | bool) or not isinstance(value, int | np.integer):
            refuse(owner, f"{name} is {short(value)}", allowed, member=name)
        if value & unknown_bits:
            refuse(owner, f"{name} is {value}", allowed, member=name)
        try:
            return kind(int(value))
        except ValueError:
            refuse(owner, f"{name} is {value}", allowed, member=name)

    return convert


def structures(*kinds: type[Structure], unwrap: Callable[[Any], Any] = lambda value: value) -> Converter:
    """A member that is another structure; ``unwrap`` takes it out of a wrapper that adds only its type."""

    def convert(owner: str, name: str, value: Any) -> Any:
        inner = unwrap(value)
        if not isinstance(inner, kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            refuse(owner, f"{name} is {short(value)}", allowed, member=name)
        return inner

    return convert


def arrays(convert_one: Converter, what: str) -> Converter:
    """A member that is an array of what another converter takes."""

    def convert(owner: str, name: str, value: Any) -> tuple[Any, ...]:
        listed = items(owner, name, value, what)
        return tuple(convert_one(owner, f"{name}[{i}]", entry) for i, entry in enumerate(listed))

    return convert


#: By the name of the type in DirectML.h; modules that define structures add theirs.
CONVERTERS: dict[str, Converter] = {
    "FLOAT": _float,
    "UINT": _unsigned(32),
    "UINT64": _unsigned(64),
    "SIZE_T": _unsigned(64),
    "UINT[]": _unsigned_array,
    "BOOL": _boolean,
    "TEXT": _text,
    "BUFFER": lambda owner, name, value: value,
    **{name: _enumeration(name) for name in ENUMERATIONS},
}
