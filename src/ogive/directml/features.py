"""What CheckFeatureSupport is asked and answers."""

from __future__ import annotations

from typing import Any

from ogive.directml.data import DATA_TYPES, FEATURE_LEVELS
from ogive.directml.enumerations import DML_FEATURE, DML_FEATURE_LEVEL, DML_TENSOR_DATA_TYPE, level_name, short_name
from ogive.directml.results import HRESULT, refuse
from ogive.directml.structure import CONVERTERS, Structure, StructureMember, short
from ogive.errors import described

__all__ = [
    "DML_FEATURE_DATA_FEATURE_LEVELS",
    "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT",
    "DML_FEATURE_QUERY_FEATURE_LEVELS",
    "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT",
    "answer",
]


class DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(Structure):
    """Can the device use a data type in tensors at all? Source: the structure of this name (DirectML 1.0)."""

    MEMBERS = (StructureMember("DataType", "DML_TENSOR_DATA_TYPE"),)
    __slots__ = ("DataType",)


class DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(Structure):
    """The answer for a data type. It says nothing about any one operator, whose tables do."""

    MEMBERS = (StructureMember("IsSupported", "BOOL"),)
    __slots__ = ("IsSupported",)


class DML_FEATURE_QUERY_FEATURE_LEVELS(Structure):
    """Which of these levels is the highest that the device has? Source: the structure of this name (DirectML 1.1)."""

    MEMBERS = (StructureMember("RequestedFeatureLevels", "UINT[]"),)
    __slots__ = ("RequestedFeatureLevels",)


class DML_FEATURE_DATA_FEATURE_LEVELS(Structure):
    """The answer for feature levels."""

    MEMBERS = (StructureMember("MaxSupportedFeatureLevel", "DML_FEATURE_LEVEL"),)
    __slots__ = ("MaxSupportedFeatureLevel",)


_QUERIES = {
    DML_FEATURE.TENSOR_DATA_TYPE_SUPPORT: DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE.FEATURE_LEVELS: DML_FEATURE_QUERY_FEATURE_LEVELS,
}


def answer(level: int, feature: Any, query: Any) -> Structure:
    """What a device of a feature level answers."""
    subject = "IDMLDevice::CheckFeatureSupport"
    known = ", ".join(str(member) for member in _QUERIES)
    if isinstance(feature, int) and feature not in list(DML_FEATURE):
        refuse(subject, f"feature is {feature}", known, member="feature", hresult=HRESULT.DXGI_ERROR_UNSUPPORTED)
    asked = CONVERTERS["DML_FEATURE"](subject, "feature", feature)
    if type(query) is not _QUERIES[asked]:
        what = f"the query for {asked} is {described(query)}"
        refuse(subject, what, _QUERIES[asked].__name__, member="query")
    if isinstance(query, DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT):
        return DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(_is_supported(level, query.DataType))
    supported = [value for value in query.RequestedFeatureLevels if value in FEATURE_LEVELS.values() and value <= level]
    if not supported:
        refuse(
            subject,
            f"RequestedFeatureLevels is {short(query.RequestedFeatureLevels)}",
            f"lists with a level up to {level_name(level)}",
            member="RequestedFeatureLevels",
            hresult=HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return DML_FEATURE_DATA_FEATURE_LEVELS(DML_FEATURE_LEVEL(max(supported)))


def _is_supported(level: int, data_type: Any) -> bool:
    if data_type == DML_TENSOR_DATA_TYPE.UNKNOWN:
        return False
    row = DATA_TYPES[short_name(data_type)]
    # The operators that 4-bit types belong to are not here.
    return row.bits >= 8 and FEATURE_LEVELS[row.level] <= level
