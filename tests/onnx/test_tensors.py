"""Arrays from TensorProto: every type, every place for the data, and everything that can be wrong with it."""

import os

import numpy as np
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from ogive.errors import ModelError, UnsupportedError
from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.files import Home
from ogive.onnx.tensors import array_from
from tests.inputs import same_bits
from tests.onnx.recipes import elements

NUMERIC = [row for row in DATA_TYPES.values() if row.name != "STRING"]


@pytest.mark.parametrize("shape", [(), (5,), (3, 3), (0, 2)], ids=str)
@pytest.mark.parametrize("row", NUMERIC, ids=repr)
def test_raw_data(row, shape):
    array = (elements(row.type, (40,))[: int(np.prod(shape))]).reshape(shape)
    result = array_from(numpy_helper.from_array(array, "t"), None, "t")
    assert same_bits(result, array)
    assert not result.flags.writeable


@pytest.mark.parametrize("row", NUMERIC, ids=repr)
def test_data_in_the_field_of_its_type(row):
    array = elements(row.type, (3, 5))
    raw = numpy_helper.from_array(array, "t")
    made = helper.make_tensor("t", row.number, array.shape, raw.raw_data, raw=True)
    assert same_bits(array_from(made, None, "t"), array)
    if row.name.startswith("FLOAT6"):
        return  # helper.make_tensor packs these in a way of its own
    listed = helper.make_tensor("t", row.number, array.shape, array.astype(as_listed(row)).ravel().tolist())
    assert same_bits(array_from(listed, None, "t"), array) or is_nan_changed(array_from(listed, None, "t"), array)


def as_listed(row):
    if row.name.startswith("COMPLEX") or row.element is not None:
        return row.numpy
    return np.int64 if row.name.startswith(("INT", "UINT")) else np.float32


def is_nan_changed(a, b):
    """helper.make_tensor converts values, which may change the bits of NaN."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.array_equal(a, b, equal_nan=True)


def test_text():
    made = helper.make_tensor("t", TensorProto.STRING, [2], [b"one", b"zwei, drei"])
    assert array_from(made, None, "t").tolist() == ["one", "zwei, drei"]


def bad(**changes):
    made = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    for name, value in changes.items():
        if isinstance(value, list):
            del getattr(made, name)[:]
            getattr(made, name).extend(value)
        else:
            setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("tensor", "error", "text"),
    [
        (bad(data_type=0), ModelError, "data_type is 0; allowed: an element type"),
        (bad(data_type=99), ModelError, "data_type is 99"),
        (bad(dims=[-1]), ModelError, r"dims are \[-1\]; allowed: sizes from 0 on"),
        (bad(dims=[3]), ModelError, "float_data has 2 values; allowed: 3"),
        (bad(dims=[1 << 62, 4]), ModelError, r"product is below 2\*\*59"),
        (bad(dims=[1 << 40]), ModelError, "float_data has 2 values; allowed: 1099511627776"),
        (bad(dims=[1] * 65), UnsupportedError, "it has 65 axes; allowed: up to 64"),
        (bad(raw_data=bytes(8)), ModelError, "lies in float_data and in raw_data; allowed: one place"),
        (bad(float_data=[], raw_data=bytes(7)), ModelError, "raw_data has 7 bytes; allowed: 8, for 2 elements"),
        (bad(float_data=[], raw_data=b""), ModelError, "raw_data has 0 bytes; allowed: 8"),
        (bad(float_data=[]), ModelError, "float_data has 0 values; allowed: 2"),
        (bad(data_type=7), ModelError, "data_type is INT64 and its data lies in float_data; allowed: int64_data"),
        (bad(data_type=8, float_data=[], raw_data=bytes(8)), ModelError, "lies in raw_data; allowed: string_data"),
        (bad(data_type=8, float_data=[], string_data=[b"ok", b"\xff"]), ModelError, "string 1 is not UTF-8"),
        (bad(data_type=3, float_data=[], int32_data=[1, 300]), ModelError, "values beyond 8 bits"),
        (bad(data_type=12, float_data=[], uint64_data=[1, 1 << 40]), ModelError, "values beyond 32 bits"),
        (bad(data_location=TensorProto.EXTERNAL), ModelError, "float_data and in external_data"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(tensor, error, text):
    with pytest.raises(error, match=text) as caught:
        array_from(tensor, None, "initialiser 'w'")
    assert str(caught.value).startswith("initialiser 'w': ")


def test_segments_are_refused():
    made = bad()
    made.segment.begin = 0
    with pytest.raises(UnsupportedError, match="segment"):
        array_from(made, None, "t")


# ---- data in other files


def external(location, **entries):
    made = numpy_helper.from_array(np.float32([1, 2, 3]), "t")
    external_data_helper.set_external_data(made, location, **entries)
    made.ClearField("raw_data")
    return made


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "model"
    inside.mkdir()
    np.float32([0, 1, 2, 3]).tofile(inside / "data.bin")
    np.float32([6, 6, 6]).tofile(tmp_path / "outside.bin")
    (inside / "link.bin").symlink_to(tmp_path / "outside.bin")
    (inside / "hard.bin").hardlink_to(tmp_path / "outside.bin")
    (inside / "part").mkdir()
    np.float32([1, 2, 3]).tofile(inside / "part" / "more.bin")
    if hasattr(os, "mkfifo"):
        os.mkfifo(inside / "pipe")
    return inside


def home(folder):
    return Home.of(folder / "model.onnx")


@pytest.mark.parametrize(
    "tensor",
    [external("data.bin", offset=4, length=12), external("data.bin", offset=4), external("part/more.bin")],
    ids=["offset and length", "offset", "a folder inside"],
)
def test_external_data(folder, tensor):
    assert array_from(tensor, home(folder), "t").tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("location", "entries", "text"),
    [
        ("../outside.bin", {}, "a file in the model's folder"),
        ("part/../../outside.bin", {}, "a file in the model's folder"),
        ("/etc/passwd", {}, "a file in the model's folder"),
        (
            "link.bin",
            {},
            r"'link.bin', a link that leads to .*/outside.bin; allowed: files in .*/model. Copy the file there",
        ),
        (".", {}, "a file in the model's folder"),
        ("C:\\windows\\system.ini", {}, "a file in the model's folder"),
        ("a\0b", {}, "a file in the model's folder"),
        ("pipe", {}, "not a regular file|cannot be read"),
        ("part", {}, "not a regular file|cannot be read"),
        ("missing.bin", {}, "cannot be read: No such file"),
        ("hard.bin", {}, r"'hard.bin', which has 2 names \(hard links\); allowed: files with one name. Copy the file"),
        ("data.bin", {"offset": 8}, "ends at byte 20 of 'data.bin', which has 16 bytes"),
        ("data.bin", {"offset": 1 << 62}, "which has 16 bytes"),
        ("data.bin", {"length": 4}, "length 4; allowed: 12"),
    ],
)
def test_bad_external_data_is_named(folder, location, entries, text):
    with pytest.raises(ModelError, match=text):
        array_from(external(location, **entries), home(folder), "t")


@pytest.mark.parametrize("text", ["-1", "1e9", "", "9" * 30, "x"])
def test_bad_numbers_are_named(folder, text):
    made = external("data.bin", offset=4)
    made.external_data[1].value = text
    with pytest.raises(ModelError, match="external_data has offset .*; allowed: a whole number of bytes"):
        array_from(made, home(folder), "t")


def test_external_data_without_a_folder():
    with pytest.raises(ModelError, match=r"not loaded from a file. Give ogive.onnx.load the path"):
        array_from(external("data.bin"), None, "t")


def test_external_data_without_a_file_or_twice(folder):
    made = external("data.bin")
    made.external_data[0].value = ""
    with pytest.raises(ModelError, match="does not name a file"):
        array_from(made, home(folder), "t")
    made.external_data.add(key="location", value="data.bin")
    with pytest.raises(ModelError, match="names 'location' twice"):
        array_from(made, home(folder), "t")
