"""Every operator's desc in JSON, written in full and abbreviated, is DirectML's desc."""

import json

import pytest

import ogive.directml as dml
from ogive.common.documents.document import Document
from ogive.common.documents.place import DocumentPlace
from ogive.directml.enumerations import short_name
from ogive.dxdispatch.model_descs import flags, operator_desc
from ogive.errors import ModelError
from tests.directml.running import bare
from tests.directml.standard import OPERATORS, make


def place(value):
    return DocumentPlace.root(Document("model", json.dumps(value, indent=1)))


def in_full(value, kind):
    """A member of a desc as JSON, with everything that may be written."""
    if kind == "DML_TENSOR_DESC":
        inner = {
            "DataType": str(value.DataType),
            "Flags": [str(value.Flags)],
            "DimensionCount": len(value.Sizes),
            "Sizes": list(value.Sizes),
            "Strides": list(value.Strides or ()),
            "TotalTensorSizeInBytes": value.TotalTensorSizeInBytes,
            "GuaranteedBaseOffsetAlignment": value.GuaranteedBaseOffsetAlignment,
        }
        return {"Type": "DML_TENSOR_TYPE_BUFFER", "Desc": inner}
    if kind == "DML_OPERATOR_DESC":
        return {"Type": str(value.Type), "Desc": members(value, in_full)}
    return plain(value)


def abbreviated(value, kind):
    """A member of a desc as JSON, with what must be written."""
    if kind == "DML_TENSOR_DESC":
        strides = {} if value.Strides is None else {"Strides": list(value.Strides)}
        return {"DataType": short_name(value.DataType), "Sizes": list(value.Sizes)} | strides
    if kind == "DML_OPERATOR_DESC":
        return {"Type": short_name(value.Type)} | members(value, abbreviated)
    return short_name(value) if hasattr(value, "name") else plain(value)


def plain(value):
    if isinstance(value, dml.DML_SCALE_BIAS):
        return {"Scale": value.Scale, "Bias": value.Bias}
    if isinstance(value, dml.DML_SIZE_2D):
        return {"Width": value.Width, "Height": value.Height}
    return str(value) if hasattr(value, "name") else list(value) if isinstance(value, tuple) else value


def union(value, data_type, write):
    """A number of the type that another member of the desc has."""
    kind = short_name(data_type)
    if write is abbreviated:
        return value.value(data_type)
    member = "UInt16" if kind == "FLOAT16" else kind.replace("UINT", "UInt").replace("INT", "Int")
    return {member.replace("FLOAT", "Float"): getattr(value, member.replace("FLOAT", "Float"))}


def members(desc, write):
    """A desc as JSON, without the members that are None."""
    kinds = {member.name: member.type for member in desc.MEMBERS if getattr(desc, member.name) is not None}
    data_type = next((getattr(desc, name) for name, kind in kinds.items() if kind == "DML_TENSOR_DATA_TYPE"), None)
    return {
        name: union(getattr(desc, name), data_type, write)
        if kind == "DML_SCALAR_UNION"
        else write(getattr(desc, name), kind)
        for name, kind in kinds.items()
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_in_both_spellings(name):
    desc = make(name)
    short = name.removeprefix("DML_OPERATOR_")
    spellings = [
        {"type": name, "desc": members(desc, in_full)},
        {"Type": short, "Desc": members(desc, in_full)},
        {"type": short, "desc": members(desc, abbreviated)},
        {"type": short} | members(desc, abbreviated),
    ]
    for spelling in spellings:
        found, inner = operator_desc(place(spelling))
        assert found == desc
        assert type(found) is type(desc)
        assert inner.path in ("/", "/desc", "/Desc")


@pytest.mark.parametrize("name", OPERATORS)
def test_every_member_that_is_not_optional_must_be_there(name):
    desc = make(name)
    written = members(desc, abbreviated)
    for field in OPERATORS[name]["fields"]:
        if field["name"] in written:
            left = {key: value for key, value in written.items() if key != field["name"]}
            if field["optional"]:
                assert getattr(operator_desc(place({"type": name} | left))[0], field["name"]) is None
            else:
                with pytest.raises(ModelError, match=f"/desc: {field['name']} is missing"):
                    operator_desc(place({"type": name, "desc": left}))


FUSED = ["DML_OPERATOR_ACTIVATION_ELU", "DML_OPERATOR_ACTIVATION_RELU", "DML_OPERATOR_ACTIVATION_SHRINK"]


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("write", [in_full, abbreviated])
def test_fused_activations(name, write):
    desc = make("DML_OPERATOR_ELEMENT_WISE_ADD1").replace(FusedActivation=bare(name))
    found, _ = operator_desc(place({"type": "ELEMENT_WISE_ADD1"} | members(desc, write)))
    assert found == desc
    written = members(desc, abbreviated)
    written["FusedActivation"]["InputTensor"] = {"DataType": "FLOAT32", "Sizes": [1]}
    with pytest.raises(
        ModelError, match="/FusedActivation/InputTensor: it was given, but a fused activation has no tensors"
    ):
        operator_desc(place({"type": "ELEMENT_WISE_ADD1"} | written))
    written["FusedActivation"] = {"Type": "ELEMENT_WISE_ADD1", "FusedActivation": written["FusedActivation"]}
    with pytest.raises(ModelError, match="/FusedActivation/FusedActivation/InputTensor"):
        operator_desc(place({"type": "ELEMENT_WISE_ADD1"} | written))


@pytest.mark.parametrize("name", ["ELEMENT_WISE_CLIP1", "ELEMENT_WISE_CLIP_GRAD1"])
@pytest.mark.parametrize(
    ("kind", "written", "union"),
    [
        ("FLOAT32", 1.5, {"Float32": 1.5}),
        ("FLOAT32", {"Float32": "-inf"}, {"Float32": float("-inf")}),
        ("FLOAT16", 2, {"UInt16": 0x4000}),
        ("FLOAT16", {"UInt16": 0x4000}, {"UInt16": 0x4000}),
        ("FLOAT64", {"Float64": 1e300}, {"Float64": 1e300}),
        ("INT8", -128, {"Int8": -128}),
        ("INT64", {"Int64": -(1 << 63)}, {"Int64": -(1 << 63)}),
        ("UINT64", (1 << 64) - 1, {"UInt64": (1 << 64) - 1}),
        ("UINT16", {"UInt16": 7}, {"UInt16": 7}),
    ],
)
def test_unions_hold_what_the_type_beside_them_says(name, kind, written, union):
    value = {"type": name} | members(make(f"DML_OPERATOR_{name}"), abbreviated)
    value |= {"MinMaxDataType": kind, "Min": written, "Max": written}
    found, _ = operator_desc(place(value))
    assert found.Min == found.Max == dml.DML_SCALAR_UNION(**union)


@pytest.mark.parametrize(
    ("kind", "written", "text"),
    [
        ("FLOAT32", "inf", "/Min: it is neither"),
        ("FLOAT32", {"Int8": 1}, "/Min/Int8: there is no such member; allowed: Float32"),
        ("FLOAT16", {"Float16": 1}, "/Min/Float16: there is no such member; allowed: UInt16"),
        ("FLOAT16", 1e6, "/Min: it is 1000000.0; allowed: magnitudes that FLOAT16 can hold"),
        ("INT8", 128, "/Min: it is 128; allowed: whole numbers from -128 to 127"),
        ("INT8", {"Int8": 1, "UInt8": 1}, "/Min/UInt8: there is no such member"),
        ("UNKNOWN", 1, '/MinMaxDataType: it is "UNKNOWN"'),
    ],
)
def test_unions_refuse_what_their_type_cannot_hold(kind, written, text):
    value = {"type": "ELEMENT_WISE_CLIP1"} | members(make("DML_OPERATOR_ELEMENT_WISE_CLIP1"), abbreviated)
    with pytest.raises(ModelError, match=text):
        operator_desc(place(value | {"MinMaxDataType": kind, "Min": written}))


def test_flags():
    kind = "DML_EXECUTION_FLAGS"
    assert flags(place("NONE"), kind) == 0
    assert flags(place([]), kind) == 0
    assert flags(place(["DISABLE_META_COMMANDS", "DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE"]), kind) == 6
    with pytest.raises(ModelError, match='it is "none"; allowed: .*NONE'):
        flags(place("none"), kind)


# ---- null


def test_null_is_what_may_be_left_out():
    tensor = {"DataType": "FLOAT32", "Sizes": [3]}
    desc = {"Type": "ELEMENT_WISE_ADD1", "ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
    without, _ = operator_desc(place(desc))
    for change in (
        {"FusedActivation": None},
        {"ATensor": tensor | {"Strides": None}},
        {"ATensor": {"Type": "BUFFER", "Desc": tensor | {"Strides": None}}},
    ):
        assert operator_desc(place(desc | change))[0] == without


@pytest.mark.parametrize(
    "change",
    [{"ATensor": None}, {"OutputTensor": None}, {"ATensor": {"DataType": "FLOAT32", "Sizes": None}}],
)
def test_null_is_refused_where_something_must_be(change):
    tensor = {"DataType": "FLOAT32", "Sizes": [3]}
    desc = {"Type": "ELEMENT_WISE_ADD1", "ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
    with pytest.raises(ModelError, match="it is null; allowed: an (object|array)"):
        operator_desc(place(desc | change))
