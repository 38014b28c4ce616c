"""DirectML's descs from JSON, made generically from what the data says of each operator's members."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ogive.common.documents.place import DocumentPlace, shown
from ogive.directml import (
    DML_BUFFER_TENSOR_DESC,
    DML_SCALAR_UNION,
    DML_SCALE_BIAS,
    DML_SIZE_2D,
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_FLAGS,
    DMLError,
)
from ogive.directml.data import OPERATOR_TYPES, Member, facts
from ogive.directml.descs import OperatorDesc, desc_class
from ogive.directml.enumerations import ENUMERATIONS
from ogive.dxdispatch.resources import UNKNOWN, data_type, scalar
from ogive.errors import UnsupportedError

_UINT = (1 << 32) - 1
_OPERATOR = "DML_OPERATOR_"
_TYPE_NAMES = ("Type", "type")
_DESC_NAMES = ("Desc", "desc")


@contextmanager
def placed(place: DocumentPlace) -> Iterator[None]:
    """Give DirectML's refusals the place that they are about, as far as their member leads from this one."""
    try:
        yield
    except DMLError as error:
        place.follow(error.member).refuse(str(error), cause=error)


def operator_desc(
    place: DocumentPlace, *, beside: Collection[str] = (), is_fused: bool = False
) -> tuple[OperatorDesc, DocumentPlace]:
    """An operator's desc, and the place where its members are: under "Desc", or beside the type.

    ``beside`` are the names of other members that may be there. A fused activation has no tensors.
    """
    members = place.members()
    type_name = _one_of(place, members, _TYPE_NAMES)
    if type_name is None:
        place.refuse("Type is missing", "the name of an operator")
    operator = facts(_operator_name(members[type_name]))
    names = [member.name for member in operator.members]
    wrapper = _one_of(place, members, _DESC_NAMES)
    if wrapper is None:
        inner = place
        given = place.members([*names, type_name, *beside])
    else:
        place.members([type_name, wrapper, *beside])
        inner = members[wrapper]
        given = inner.members(names)
    values = {}
    for member in operator.members:
        is_without = is_fused and member.is_tensor
        if member.name not in given and not member.optional and not is_without:
            inner.refuse(f"{member.name} is missing", "", f'Add "{member.name}"')
        if member.name in given and is_without:
            given[member.name].refuse(
                "it was given, but a fused activation has no tensors of its own", "", "Leave it out"
            )
        values[member.name] = _value(member, given) if member.name in given else None
    with placed(inner):
        return desc_class(operator.struct)(**values), inner


def _one_of(place: DocumentPlace, members: Mapping[str, DocumentPlace], names: tuple[str, ...]) -> str | None:
    """The one of two spellings that is there, if one is."""
    present = [name for name in names if name in members]
    if len(present) > 1:
        place.refuse(f"it has {' and '.join(present)}", "one of them")
    return present[0] if present else None


def _operator_name(place: DocumentPlace) -> str:
    name = place.text().removeprefix(_OPERATOR)
    if name not in OPERATOR_TYPES:
        close = difflib.get_close_matches(name, list(OPERATOR_TYPES), n=1, cutoff=0.8)
        place.refuse(
            f"Ogive has no DirectML operator {shown(name)}",
            "DirectML's activation and element-wise operators",
            f"Did you mean {close[0]}?" if close else "",
            error=UnsupportedError,
        )
    return name


# ---- members


def _value(member: Member, given: Mapping[str, DocumentPlace]) -> Any:
    """The value of a member, by its type in DirectML.h. Null is no pointer: what may be left out may be null."""
    place = given[member.name]
    if member.optional and place.value is None:
        return None
    if member.type == "DML_SCALAR_UNION":
        return _scalar_union(place, given)
    if member.type in ENUMERATIONS:
        return _enumeration(place, member.type)
    return _READERS[member.type](place)


def _enumeration(place: DocumentPlace, kind: str) -> Any:
    values: dict[str, Any] = dict(ENUMERATIONS[kind].__members__)
    if kind == "DML_TENSOR_DATA_TYPE":
        values = {name: value for name, value in values.items() if value != DML_TENSOR_DATA_TYPE.UNKNOWN}
    return place.choice(values)


def flags(place: DocumentPlace, kind: str) -> Any:
    """Flags: one by its name, or an array of names."""
    entries = place.entries() if isinstance(place.value, list) else [place]
    combined: Any = ENUMERATIONS[kind](0)
    for entry in entries:
        value = _enumeration(entry, kind)
        assert isinstance(value, enum.IntFlag)
        combined |= value
    return combined


def _float(place: DocumentPlace) -> float:
    return float(scalar(place, "FLOAT32"))


def _tensor(place: DocumentPlace) -> DML_BUFFER_TENSOR_DESC:
    members = place.members()
    wrapper = _one_of(place, members, _DESC_NAMES[:1])
    if wrapper is None:
        inner, given = place, place.members(("Type", *_TENSOR_MEMBERS), ("DataType", "Sizes"))
    else:
        place.members(("Type", wrapper))
        inner = members[wrapper]
        given = inner.members(_TENSOR_MEMBERS, ("DataType", "Sizes"))
    if "Type" in members:
        members["Type"].choice({"BUFFER": None, "DML_TENSOR_TYPE_BUFFER": None})
    if "Strides" in given and given["Strides"].value is None:  # no pointer, as in the guide
        del given["Strides"]
    values = {name: read(given[name]) for name, read in _TENSOR_MEMBERS.items() if name in given}
    count = values.pop("DimensionCount", len(values["Sizes"]))
    if count != len(values["Sizes"]):
        given["DimensionCount"].refuse(f"it is {count}", f"{len(values['Sizes'])}, the length of Sizes")
    # An empty array is no array, and 0 is not known yet.
    values["Strides"] = values.get("Strides") or None
    values["TotalTensorSizeInBytes"] = values.get("TotalTensorSizeInBytes") or None
    with placed(inner):
        return DML_BUFFER_TENSOR_DESC(**values)


def _uint(place: DocumentPlace) -> int:
    return place.whole(0, _UINT)


def _uints(place: DocumentPlace) -> list[int]:
    return [_uint(entry) for entry in place.entries()]


def _pair(kind: Any, read: Callable[[DocumentPlace], Any]) -> Callable[[DocumentPlace], Any]:
    """A structure of two members."""
    names = kind.__match_args__

    def read_pair(place: DocumentPlace) -> Any:
        members = place.members(names, names)
        values = {name: read(members[name]) for name in names}
        with placed(place):
            return kind(**values)

    return read_pair


def _scalar_union(place: DocumentPlace, given: Mapping[str, DocumentPlace]) -> DML_SCALAR_UNION:
    """A number, or an object with the member that the data type beside it asks for."""
    beside = next((given[name] for name in given if name.endswith("DataType")), None)
    kind = UNKNOWN if beside is None else data_type(beside)
    if kind == UNKNOWN:
        place.refuse("there is no data type beside it")
    held = "UINT16" if kind == "FLOAT16" else kind
    member = held.replace("UINT", "UInt").replace("FLOAT", "Float").replace("INT", "Int")
    if isinstance(place.value, dict):
        number = scalar(place.members((member,), (member,))[member], held)
    elif type(place.value) in (int, float):
        number = scalar(place, kind)
        number = number.view("uint16") if kind == "FLOAT16" else number
    else:
        place.refuse("it is neither", f'a number, or an object such as {{"{member}": 1}}')
    return DML_SCALAR_UNION(**{member: number.item()})


def _fused(place: DocumentPlace) -> OperatorDesc:
    return operator_desc(place, is_fused=True)[0]


_TENSOR_MEMBERS: dict[str, Callable[[DocumentPlace], Any]] = {
    "DataType": lambda place: _enumeration(place, "DML_TENSOR_DATA_TYPE"),
    "Sizes": _uints,
    "DimensionCount": _uint,
    "Strides": _uints,
    "Flags": lambda place: flags(place, DML_TENSOR_FLAGS.__name__),
    "TotalTensorSizeInBytes": lambda place: place.whole(),
    "GuaranteedBaseOffsetAlignment": _uint,
}

#: By the type of a member in DirectML.h; enumerations and unions come on top.
_READERS: dict[str, Callable[[DocumentPlace], Any]] = {
    "BOOL": lambda place: place.boolean(),
    "DML_OPERATOR_DESC": _fused,
    "DML_SCALE_BIAS": _pair(DML_SCALE_BIAS, _float),
    "DML_SIZE_2D": _pair(DML_SIZE_2D, _uint),
    "DML_TENSOR_DESC": _tensor,
    "FLOAT": _float,
    "UINT": _uint,
    "UINT[]": _uints,
}
