"""The contents of buffers before anything runs, and how it is printed."""

import json
import math
import os

import numpy as np
import pytest

from ogive.dxdispatch.resources import NUMPY
from ogive.errors import ModelError, UnsupportedError
from tests.dxdispatch.models import printed, run


def of(kind, values, **more):
    return {"initialValuesDataType": kind, "initialValues": values, **more}


@pytest.mark.parametrize("prefix", ["", "DML_TENSOR_DATA_TYPE_"])
@pytest.mark.parametrize("kind", NUMPY)
def test_every_type_with_every_initialiser(tmp_path, prefix, kind):
    list_, constant = of(prefix + kind, [1, 2, 3]), of(prefix + kind, {"value": 5, "valueCount": 2})
    sequence = of(prefix + kind, {"valueStart": 1, "valueDelta": 2, "valueCount": 4})
    assert printed(tmp_path, list_) == ["Resource 'r': 1, 2, 3"]
    assert printed(tmp_path, constant) == ["Resource 'r': 5, 5"]
    assert printed(tmp_path, sequence) == ["Resource 'r': 1, 3, 5, 7"]


def test_there_are_eleven_types():
    assert len(NUMPY) == 11


@pytest.mark.parametrize("kind", [kind for kind in NUMPY if not kind.startswith("FLOAT")])
def test_the_limits_of_integers(tmp_path, kind):
    limits = np.iinfo(NUMPY[kind])
    least, most = int(limits.min), int(limits.max)
    assert printed(tmp_path, of(kind, [least, most])) == [f"Resource 'r': {least}, {most}"]
    for wrong in (least - 1, most + 1, 1.0, "1", "inf", True, None, [1]):
        with pytest.raises(ModelError, match=rf"initialValues\[1\]: it is .*whole numbers from {least} to {most}"):
            printed(tmp_path, of(kind, [0, wrong]))


def test_floats_are_printed_as_streams_of_c_plus_plus_print_them(tmp_path):
    values = [0, -0.0, 1, 2.5, 1e6, 123456789, 1e-5, 0.1, 1 / 3, 1e300, "nan", "INF", "-inf"]
    line = "0, -0, 1, 2.5, 1e+06, 1.23457e+08, 1e-05, 0.1, 0.333333, 1e+300, nan, inf, -inf"
    assert printed(tmp_path, of("FLOAT64", values)) == [f"Resource 'r': {line}"]


def test_floats_are_rounded_to_their_type(tmp_path):
    assert printed(tmp_path, of("FLOAT16", [65504, 2049, "-inf", 1e-8])) == ["Resource 'r': 65504, 2048, -inf, 0"]
    with pytest.raises(
        ModelError, match=r"initialValues\[0\]: it is 65520.0; allowed: .*FLOAT16 can hold, up to 65504"
    ):
        printed(tmp_path, of("FLOAT16", [65520]))


def test_verbose_printing_shows_the_bits(tmp_path):
    assert printed(tmp_path, of("FLOAT32", [1, -2.5]), verbose=True) == [
        "Resource 'r':",
        "[0] 1 (0x3F800000)",
        "[1] -2.5 (0xC0200000)",
        "",
    ]
    lines = printed(tmp_path, of("INT16", {"valueStart": -1, "valueDelta": 1, "valueCount": 10}), verbose=True)
    assert lines[1:4] == ["[ 0] -1 (0xFFFF)", "[ 1] 0 (0x   0)", "[ 2] 1 (0x   1)"]


def test_sequences_add_again_and_again_in_their_type(tmp_path):
    sequence = of("FLOAT32", {"valueStart": 0.1, "valueDelta": 0.1, "valueCount": 1000})
    sequence["sizeInBytes"] = 4000
    total = np.float32(0.1)
    for _ in range(999):
        total += np.float32(0.1)
    last = printed(tmp_path, sequence)[0].split(", ")[-1]
    assert last == f"{float(total):g}" != f"{float(np.float32(100)):g}"
    wrapping = of("UINT8", {"valueStart": 250, "valueDelta": 3, "valueCount": 4})
    assert printed(tmp_path, wrapping) == ["Resource 'r': 250, 253, 0, 3"]
    half = of("FLOAT16", {"valueStart": 2046, "valueDelta": 1, "valueCount": 5})
    assert printed(tmp_path, half) == ["Resource 'r': 2046, 2047, 2048, 2048, 2048"]


def write_commands(*names):
    return [{"type": "writeFile", "resource": "r", "targetPath": name} for name in names]


def test_several_types_in_one_resource(tmp_path):
    values = [
        {"name": "count", "type": "UINT32", "value": 6},
        {"type": "DML_TENSOR_DATA_TYPE_FLOAT64", "value": 0.5},
        {"type": "INT8", "value": -1},
    ]
    model = {"resources": {"r": of("UNKNOWN", values, sizeInBytes=256)}, "dispatchables": {}}
    run(tmp_path, model | {"commands": write_commands("r.bin")})
    data = (tmp_path / "r.bin").read_bytes()
    assert data == np.uint32(6).tobytes() + np.float64(0.5).tobytes() + b"\xff" + bytes(243)
    for command in ({"type": "print", "resource": "r"}, *write_commands("r.npy")):
        with pytest.raises(ModelError, match=r"/commands\[0\]/resource: its values are of several types"):
            run(tmp_path, model | {"commands": [command]})
    for wrong in ("FLOAT16", "UNKNOWN"):
        with pytest.raises(ModelError, match=rf"initialValues\[0\]/type: it is {wrong}"):
            printed(tmp_path, of("UNKNOWN", [{"type": wrong, "value": 1}]))


def test_sizes(tmp_path):
    model = {"dispatchables": {}, "commands": write_commands("r.bin")}
    for more, expected in (
        ({}, bytes([1, 2, 3, 0])),
        ({"sizeInBytes": 3}, bytes([1, 2, 3])),
        ({"sizeInBytes": 6}, bytes([1, 2, 3, 0, 0, 0])),
        ({"sizeInBytes": 6, "initialValuesOffsetInBytes": 2}, bytes([0, 0, 1, 2, 3, 0])),
        ({"initialValuesOffsetInBytes": 2}, bytes([0, 0, 1, 2, 3, 0, 0, 0])),
    ):
        resource = of("UINT8", [1, 2, 3], **more)
        run(tmp_path, model | {"resources": {"r": resource}})
        assert (tmp_path / "r.bin").read_bytes() == expected
        assert printed(tmp_path, resource) == ["Resource 'r': 1, 2, 3"]


def test_many_values_are_printed_whole(tmp_path):
    resource = of("INT32", {"valueStart": 0, "valueDelta": 1, "valueCount": 150_000})
    assert printed(tmp_path, resource) == ["Resource 'r': " + ", ".join(map(str, range(150_000)))]


# ---- files


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("order", ["<", ">"])
def test_numpy_files(tmp_path, kind, order):
    array = np.arange(6).astype(NUMPY[kind].newbyteorder(order)).reshape(2, 3).T
    np.save(tmp_path / "x.npy", array)
    resource = {"initialValues": {"sourcePath": "x.npy"}}
    assert printed(tmp_path, resource) == ["Resource 'r': 0, 3, 1, 4, 2, 5"]
    assert printed(tmp_path, resource | {"initialValuesDataType": kind})
    other = "INT8" if kind == "UINT8" else "UINT8"
    with pytest.raises(ModelError, match=f"has {kind} where initialValuesDataType is {other}"):
        printed(tmp_path, resource | {"initialValuesDataType": other})


def test_truth_values_are_bytes(tmp_path):
    np.save(tmp_path / "x.npy", np.array([True, False]))
    assert printed(tmp_path, of("UINT8", {"sourcePath": "x.npy"})) == ["Resource 'r': 1, 0"]


def test_raw_files(tmp_path):
    np.arange(5, dtype=np.int16).tofile(tmp_path / "x.dat")
    assert printed(tmp_path, of("INT16", {"sourcePath": "x.dat"})) == ["Resource 'r': 0, 1, 2, 3, 4"]
    with pytest.raises(ModelError, match="the resource has no initialValuesDataType"):
        printed(tmp_path, {"initialValues": {"sourcePath": "x.dat"}})
    (tmp_path / "empty.bin").touch()
    with pytest.raises(ModelError, match=r"empty.bin is empty; allowed: one byte or more"):
        printed(tmp_path, of("INT16", {"sourcePath": "empty.bin"}))


def test_files_are_beside_the_model_or_in_the_current_folder(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(there)
    np.int32([1]).tofile(there / "x.bin")
    resource = of("INT32", {"sourcePath": "x.bin"})
    assert printed(here, resource) == ["Resource 'r': 1"]
    np.int32([2]).tofile(here / "x.bin")
    assert printed(here, resource) == ["Resource 'r': 2"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:5],
        lambda data: data[:60],
        lambda data: data[:-1],
        lambda data: data.replace(b"(3,)", b"(-3,)"),
        lambda data: data.replace(b"(3,)", b"(9999999999999999999,)"),
        lambda data: data.replace(b"<f4", b"|O8"),
        lambda data: data.replace(b"<f4", b"<c8"),
        lambda data: data.replace(b"{", b"[" * 50 + b"{"),
        lambda data: data.replace(b"(3,)", b"(0,)"),
    ],
)
def test_damaged_numpy_files_are_refused(tmp_path, damage):
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(damage(data))
    with pytest.raises(
        ModelError, match=r"/resources/r/initialValues/sourcePath: .*x.npy (is not a .npy file|has \d+ el)"
    ):
        printed(tmp_path, {"initialValues": {"sourcePath": "x.npy"}})


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.bin")
    with pytest.raises(ModelError, match="x.bin is not a regular file"):
        printed(tmp_path, of("UINT8", {"sourcePath": "x.bin"}))


def test_a_large_file_counts_before_it_is_read(tmp_path):
    with (tmp_path / "x.bin").open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no room
    model = {"resources": {"r": of("UINT8", {"sourcePath": "x.bin"})}, "dispatchables": {}, "commands": []}
    with pytest.raises(ModelError, match="/resources/r: the buffer and its initial values: 2199023255552 bytes"):
        run(tmp_path, model, memory_limit=1 << 30)


def test_images_are_refused_by_name(tmp_path):
    (tmp_path / "x.png").touch()
    with pytest.raises(UnsupportedError, match="/resources/r/initialValues/sourcePath: images are not read or written"):
        printed(tmp_path, of("FLOAT32", {"sourcePath": "x.png"}))


def test_values_may_have_any_precision(tmp_path):
    """A decimal number goes through float64, as in the tool, and is then rounded to its type."""
    text = '{"resources": {"r": {"initialValuesDataType": "FLOAT32", "initialValues": [16777217.0000001]}},'
    lines = run(
        tmp_path, text + ' "dispatchables": {}, "commands": [{"type": "print", "resource": "r", "verbose": true}]}'
    )
    assert lines[2] == "[0] 1.67772e+07 (0x4B800001)"
    assert math.isclose(np.uint32(0x4B800001).view(np.float32), 16777218)
    assert json.loads("16777217.0000001") > 16777217
