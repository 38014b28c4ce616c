"""Whatever a model says, it runs or is refused with its place; nothing crashes, hangs, or writes where it must not."""

import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ogive.dxdispatch import load
from ogive.errors import ModelError, OgiveError, UnsupportedError
from tests.dxdispatch.models import DELETE, MODEL, TENSOR, changed, run, written

INPUT = ("dispatchables", "clip", "desc", "InputTensor")
DESC = ("dispatchables", "clip", "desc")
BINDINGS = ("commands", 0, "bindings")
X, Y = ("resources", "x"), ("resources", "y")

REFUSED = [
    # (change, where, what)
    (((), []), "/", r"it is \[\]; allowed: an object"),
    ((("resources",), DELETE), "/", "resources is missing"),
    ((("commands",), {}), "/commands", "it is {}; allowed: an array"),
    ((("commands",), None), "/commands", "it is null; allowed: an array"),
    (
        (("dispatchables", "clip"), {"Type": "ELEMENT_WISE_CLIP"}),
        "/dispatchables/clip",
        "type is missing; .* place of Type",
    ),
    ((("commands", 0), {"Type": "dispatch"}), "/commands[0]", "type is missing; .*. Write type in place of Type"),
    ((("commands", 0, "type"), "writefle"), "/commands[0]/type", "print, writeFile. Did you mean writeFile?"),
    ((("commands", 0, "type"), "PRIN"), "/commands[0]/type", "dispatch, print, writeFile"),
    ((("resorces",), {}), "/resorces", "there is no such member; allowed: .*Did you mean resources?"),
    # resources
    ((X, 3), "/resources/x", "it is 3; allowed: an object"),
    (((*X, "initialValues"), DELETE), "/resources/x", "initialValues is missing"),
    (((*X, "initialValues"), []), "/resources/x/initialValues", "it is empty"),
    (((*X, "initialValues"), {}), "/resources/x/initialValues", "it says nothing of its values"),
    (((*X, "initialValues"), "defered"), "/resources/x/initialValues", 'it is text; allowed: .*"deferred"'),
    (((*X, "initialValues"), [1, None]), r"/resources/x/initialValues[1]", "it is null; allowed: a number"),
    (((*X, "initialValues"), [1, True]), r"/resources/x/initialValues[1]", "it is true; allowed: a number"),
    (((*X, "initialValues"), [1, "infinity"]), r"/resources/x/initialValues[1]", 'it is "infinity"'),
    (((*X, "initialValues"), [1, 1e39]), r"/resources/x/initialValues[1]", "it is 1e.39; allowed: .*FLOAT32 can hold"),
    (((*X, "initialValues"), [10**400]), r"/resources/x/initialValues[0]", "too large for any floating-point type"),
    (((*X, "initialValuesDataType"), "FLOAT"), "/resources/x/initialValuesDataType", "Did you mean FLOAT"),
    (((*X, "initialValuesDataType"), "UINT4"), "/resources/x/initialValuesDataType", 'it is "UINT4"'),
    (((*X, "initialValuesDataType"), "INT32"), r"/resources/x/initialValues[1]", "it is 2.5; allowed: whole numbers"),
    (((*X, "initialValuesDataType"), DELETE), r"/resources/x/initialValues[0]", "it has no type"),
    (((*X, "sizeInBytes"), 11), "/resources/x/sizeInBytes", "it is 11 for 12 bytes of values at offset 0"),
    (((*X, "sizeInBytes"), -1), "/resources/x/sizeInBytes", "it is -1; allowed: whole numbers"),
    (((*X, "sizeInBytes"), 1 << 63), "/resources/x", "values: 9223372036854775820 bytes; allowed: .* memory limit"),
    (((*X, "sizeInBytes"), 1 << 64), "/resources/x/sizeInBytes", "it is 18446744073709551616"),
    (((*X, "initialValuesOffsetInBytes"), 1 << 63), "/resources/x", "values: .* memory limit"),
    (((*Y, "initialValues", "valueCount"), 0), "/resources/y/initialValues/valueCount", "it is 0"),
    (((*Y, "initialValues", "valueCount"), 3.0), "/resources/y/initialValues/valueCount", "it is 3.0"),
    (((*Y, "initialValues", "valueCount"), 1 << 32), "/resources/y/initialValues/valueCount", "it is 4294967296"),
    (((*Y, "initialValues", "valueStart"), 0), "/resources/y/initialValues/valueStart", "there is no such member"),
    (((*Y, "initialValues"), {"sourcePath": "no.npy"}), "/resources/y/initialValues/sourcePath", "there is no file"),
    (((*Y, "initialValues"), {"sourcePath": "."}), "/resources/y/initialValues/sourcePath", "not a regular file"),
    (((*Y, "initialValues"), {"sourcePath": "a\0"}), "/resources/y/initialValues/sourcePath", "without NUL"),
    (((*Y, "initialValues"), {"sourcePath": "\ud800"}), "/resources/y/initialValues/sourcePath", "halves"),
    (((*Y, "resampleSize"), [1, 3, 2, 2]), "/resources/y/resampleSize", "images are not read or written"),
    # descs
    (((*INPUT, "Sizes"), [1, -3]), "/dispatchables/clip/desc/InputTensor/Sizes[1]", "it is -3; allowed: whole"),
    (((*INPUT, "Sizes"), [1 << 32]), "/dispatchables/clip/desc/InputTensor/Sizes[0]", "it is 4294967296"),
    (((*INPUT, "Sizes"), [65536, 65536]), "/dispatchables/clip/desc/InputTensor/Sizes", "4294967296 elements"),
    (((*INPUT, "Sizes"), [4294967295] * 8), "/dispatchables/clip/desc/InputTensor/Sizes", "elements at most"),
    (((*INPUT, "Sizes"), [0]), "/dispatchables/clip/desc/InputTensor/Sizes", "sizes from 1 on"),
    (((*INPUT, "Sizes"), [1] * 9), "/dispatchables/clip/desc/InputTensor/Sizes", "is 9; allowed: 1 to 8"),
    (((*INPUT, "Sizes"), [4]), "/dispatchables/clip/desc/OutputTensor/Sizes", r"is \(3,\); allowed: \(4,\)"),
    (((*INPUT, "Sizes"), DELETE), "/dispatchables/clip/desc/InputTensor", "Sizes is missing"),
    (((*INPUT, "DimensionCount"), 2), "/dispatchables/clip/desc/InputTensor/DimensionCount", "the length of Sizes"),
    (((*INPUT, "Strides"), [1, 1]), "/dispatchables/clip/desc/InputTensor/Strides", "one stride for each size"),
    (((*INPUT, "Strides"), [4294967295]), "/commands[0]/bindings/InputTensor", "SizeInBytes 12; allowed: 343597"),
    (((*INPUT, "Strides"), [2]), "/commands[0]/bindings/InputTensor", "SizeInBytes 12; allowed: 20 or more"),
    (((*INPUT, "TotalTensorSizeInBytes"), 8), "/dispatchables/clip/desc/InputTensor/TotalTensorSizeInBytes", "12 or"),
    (((*INPUT, "TotalTensorSizeInBytes"), 16), "/commands[0]/bindings/InputTensor", "allowed: 16 or more"),
    (((*INPUT, "GuaranteedBaseOffsetAlignment"), 3), "/dispatchables/clip/desc/InputTensor/Guaranteed", "power of two"),
    (((*INPUT, "Flags"), "OWNED"), "/dispatchables/clip/desc/InputTensor/Flags", 'it is "OWNED"'),
    (((*INPUT, "Flags"), ["NONE", 1]), "/dispatchables/clip/desc/InputTensor/Flags[1]", "it is 1; allowed: text"),
    (((*INPUT, "Type"), "TEXTURE"), "/dispatchables/clip/desc/InputTensor/Type", "BUFFER"),
    (((*INPUT, "DataType"), "UNKNOWN"), "/dispatchables/clip/desc/InputTensor/DataType", 'it is "UNKNOWN"'),
    (((*INPUT, "Strids"), [1]), "/dispatchables/clip/desc/InputTensor/Strids", "Did you mean Strides?"),
    ((INPUT, None), "/dispatchables/clip/desc/InputTensor", "it is null; allowed: an object"),
    ((INPUT, DELETE), "/dispatchables/clip/desc", "InputTensor is missing"),
    (((*DESC, "Min"), DELETE), "/dispatchables/clip/desc", "Min is missing"),
    (((*DESC, "Min"), "nan"), "/dispatchables/clip/desc/Min", "Min is NaN"),
    (((*DESC, "Min"), 1e39), "/dispatchables/clip/desc/Min", "FLOAT32 can hold"),
    (((*DESC, "Alpha"), 1), "/dispatchables/clip/desc/Alpha", "there is no such member"),
    (((*DESC, "ScaleBias"), {"Scale": 1}), "/dispatchables/clip/desc/ScaleBias", "Bias is missing"),
    (((*DESC, "ScaleBias"), {"Scale": "inf", "Bias": 0}), "/dispatchables/clip/desc/ScaleBias/Scale", "finite"),
    ((("dispatchables", "clip", "type"), DELETE), "/dispatchables/clip", "type is missing"),
    ((("dispatchables", "clip", "type"), "ELEMENT_WISE_CLIPP"), "/dispatchables/clip/type", "Did you mean ELEMENT_WI"),
    ((("dispatchables", "clip", "type"), "DML_OPERATOR_GEMM"), "/dispatchables/clip/type", "no DirectML operator"),
    ((("dispatchables", "clip", "type"), "HLSL"), "/dispatchables/clip/type", "type HLSL are not run"),
    ((("dispatchables", "clip", "type"), "dmlSerializedGraph"), "/dispatchables/clip/type", "are not run"),
    ((("dispatchables", "clip", "Type"), "CLIP"), "/dispatchables/clip", "it has Type and type; allowed: one of them"),
    ((("dispatchables", "clip", "dmlCompileType"), "Op"), "/dispatchables/clip/dmlCompileType", "DmlCompileGraph"),
    ((("dispatchables", "clip", "executionFlags"), ["X"]), "/dispatchables/clip/executionFlags[0]", 'it is "X"'),
    ((("dispatchables", "clip", "bindings"), {"InputTensor": "x"}), "/dispatchables/clip/bindings", "at initialisat"),
    # bindings
    ((BINDINGS, DELETE), "/commands[0]", "bindings is missing"),
    ((BINDINGS, {}), "/commands[0]/bindings", "InputTensor is not bound"),
    (((*BINDINGS, "InputTensor"), DELETE), "/commands[0]/bindings", "InputTensor is not bound"),
    (((*BINDINGS, "OutputTensor"), DELETE), "/commands[0]/bindings", "OutputTensor is not bound"),
    (((*BINDINGS, "InputTensor"), "z"), "/commands[0]/bindings/InputTensor", r'there is no resource "z"; allowed: x'),
    (((*BINDINGS, "InputTensor"), None), "/commands[0]/bindings/InputTensor", "it is null; allowed: an object"),
    (((*BINDINGS, "InputTensor"), ["x", "y"]), "/commands[0]/bindings/InputTensor", "2 resources are bound"),
    (((*BINDINGS, "InputTensor"), []), "/commands[0]/bindings/InputTensor", "0 resources are bound"),
    (((*BINDINGS, "InputTensors"), "x"), "/commands[0]/bindings/InputTensors", "there is no such tensor to bind"),
    (((*BINDINGS, "InputTensor"), {"name": "x", "elementOffset": 1}), "/commands[0]/bindings/InputTensor", "Offset 4"),
    (
        ((*BINDINGS, "InputTensor"), {"name": "x", "elementOffset": 1 << 63}),
        "/commands[0]/bindings/InputTe",
        "byte 368",
    ),
    (((*BINDINGS, "InputTensor"), {"name": "x", "elementCount": 4}), "/commands[0]/bindings/InputTensor", "byte 16"),
    (((*BINDINGS, "InputTensor"), {"name": "x", "counter": "y"}), "/commands[0]/bindings/InputTensor/counter", "HLSL"),
    (((*BINDINGS, "InputTensor"), {"name": "x", "shape": [3]}), "/commands[0]/bindings/InputTensor/shape", "ONNX"),
    (
        ((*BINDINGS, "InputTensor"), {"name": "x", "elementStride": 4}),
        "/commands[0]/bindings/InputTensor/el",
        "not read",
    ),
    (((*X, "sizeInBytes"), 13), "/commands[0]/bindings/InputTensor", "multiple of 4"),
    (((*X, "initialValues"), "deferred"), "/commands[0]/bindings/InputTensor", "'x' is deferred"),
    # commands
    ((("commands", 1), []), "/commands[1]", r"it is \[\]; allowed: an object"),
    ((("commands", 1, "type"), "prnt"), "/commands[1]/type", "Did you mean print?"),
    ((("commands", 1, "resource"), "z"), "/commands[1]/resource", r'there is no resource "z"'),
    ((("commands", 1, "verbose"), 1), "/commands[1]/verbose", "it is 1; allowed: true or false"),
    ((("commands", 0, "dispatchable"), "x"), "/commands[0]/dispatchable", r'there is no dispatchable "x"; allowed: cl'),
    ((("commands", 0, "threadGroupCount"), [1]), "/commands[0]/threadGroupCount", "it has 1 entries"),
]


@pytest.mark.parametrize(("change", "path", "text"), REFUSED, ids=[f"{row[1]} {row[2]}"[:70] for row in REFUSED])
def test_a_mistake_is_refused_with_its_place(tmp_path, change, path, text):
    file = written(tmp_path, changed(change))
    with pytest.raises((ModelError, UnsupportedError)) as caught:
        load(file)
    match = re.fullmatch(rf"{re.escape(str(file))}, line (\d+), (/[^ ]*): (.*)", str(caught.value), re.DOTALL)
    assert match is not None, str(caught.value)
    assert match[2].startswith(path), str(caught.value)
    assert re.search(text, match[3]), str(caught.value)
    # The line is the one where the last name of the path stands, if it ends in a name.
    name = match[2].rsplit("/", 1)[1]
    if name and "[" not in name:
        assert f'"{name}"' in file.read_text().splitlines()[int(match[1]) - 1]


def test_the_table_is_not_empty():
    assert len(REFUSED) > 80


def test_nothing_is_written_when_a_later_command_is_wrong(tmp_path):
    commands = [
        {"type": "writeFile", "resource": "x", "targetPath": "x.bin"},
        {"type": "print", "resource": "nothing"},
    ]
    with pytest.raises(ModelError, match=r"/commands\[1\]/resource"):
        run(tmp_path, changed((("commands",), commands)))
    assert not (tmp_path / "x.bin").exists()


@pytest.mark.parametrize("target", ["../x.bin", "/tmp/ogive-x.bin", "a/../../x.bin", ".", ""])
def test_files_are_written_in_their_folder_alone(tmp_path, target):
    folder = tmp_path / "out"
    folder.mkdir()
    command = {"type": "writeFile", "resource": "x", "targetPath": target}
    with pytest.raises(ModelError, match=r"/commands\[2\]/targetPath: it leads to .*allowed: paths inside the folder"):
        run(folder, changed((("commands", 2), command)))


def test_a_link_out_of_the_folder_is_followed_before_it_is_judged(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    command = {"type": "writeFile", "resource": "x", "targetPath": "link/x.bin"}
    with pytest.raises(ModelError, match="it leads to"):
        run(folder, changed((("commands", 2), command)))


@pytest.mark.parametrize("suffix", ["png", "JPG", "jpeg"])
def test_images_are_refused_by_name(tmp_path, suffix):
    command = {"type": "writeFile", "resource": "x", "targetPath": f"x.{suffix}"}
    with pytest.raises(UnsupportedError, match=r"/commands\[2\]/targetPath: images are not read or written"):
        run(tmp_path, changed((("commands", 2), command)))


def test_buffers_together_have_a_limit(tmp_path):
    large = {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": 400, "value": 1}}
    model = changed((("resources", "a"), large), (("resources", "b"), large))
    assert run(tmp_path, model, memory_limit=2000)
    with pytest.raises(
        ModelError,
        match=r"/resources/b: the buffer and its initial values: 800 bytes; allowed: .*memory limit of 1000 bytes",
    ):
        run(tmp_path, model, memory_limit=1000)
    # Nothing of this size is ever made.
    huge = {"initialValuesDataType": "FLOAT64", "initialValues": {"valueCount": 4294967295, "value": 1}}
    with pytest.raises(ModelError, match="/resources/a: the buffer and its initial values: 68719476720 bytes"):
        run(tmp_path, changed((("resources", "a"), huge)), memory_limit=1 << 30)


def test_a_memory_limit_is_a_number(tmp_path):
    with pytest.raises(OgiveError, match="memory_limit is 0; allowed: a whole number of bytes"):
        run(tmp_path, MODEL, memory_limit=0)


def test_a_feature_level_refuses_what_it_does_not_have(tmp_path):
    desc = {"InputTensor": TENSOR, "OutputTensor": TENSOR}
    model = changed((("dispatchables", "clip"), {"type": "ACTIVATION_GELU", "desc": desc}))
    assert run(tmp_path, model, feature_level="5_1")[3].startswith("Resource 'y': 0.841345")
    with pytest.raises(ModelError, match=r"/dispatchables/clip/desc: .*needs DML_FEATURE_LEVEL_5_1 or later"):
        run(tmp_path, model, feature_level="5_0")


def test_partial_overlap_is_refused(tmp_path):
    tensor = {"DataType": "FLOAT32", "Sizes": [8]}
    values = {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 12, "value": 1}}
    bindings = {"InputTensor": "x", "OutputTensor": {"name": "x", "elementOffset": 4}}
    model = changed(
        (X, values), (INPUT, tensor), ((*DESC, "OutputTensor"), tensor), (BINDINGS, bindings), (("commands", 1), DELETE)
    )
    with pytest.raises(ModelError, match=r"/commands\[0\]/bindings/OutputTensor: .*overlap in part"):
        run(tmp_path, model)


def test_the_file_itself(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.json")
    with pytest.raises(ModelError, match="it is not a regular file"):
        load(tmp_path)
    with pytest.raises(ModelError, match="it is not a regular file"):
        load("/dev/null")
    (tmp_path / "latin.json").write_bytes(b'{"\xe9": 1}')
    with pytest.raises(ModelError, match=r"latin.json: the byte at offset 2 is not UTF-8"):
        load(tmp_path / "latin.json")


@pytest.mark.parametrize("path", ["x" * 300, "model.json/x", "circle/x"])
def test_what_the_file_system_refuses_has_a_place(tmp_path, path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    write = {"type": "writeFile", "resource": "x", "targetPath": f"{path}.bin"}
    with pytest.raises(ModelError, match=r"/commands\[2\]/targetPath: .* cannot be opened: "):
        run(tmp_path, changed((("commands", 2), write)))
    with pytest.raises(
        ModelError, match="/resources/x/initialValues/sourcePath: (there is no file|.* cannot be opened)"
    ):
        run(tmp_path, changed(((*X, "initialValues"), {"sourcePath": path})))


# ---- whatever else


RICH = {
    "resources": {
        "x": {
            "initialValuesDataType": "FLOAT16",
            "initialValues": {"valueStart": -2, "valueDelta": 0.5, "valueCount": 9},
        },
        "y": {
            "initialValuesDataType": "FLOAT16",
            "initialValues": {"value": "inf", "valueCount": 8},
            "sizeInBytes": 32,
        },
        "list": {"initialValues": [{"type": "UINT32", "value": 1}, {"type": "INT8", "value": -1}]},
        "later": {"initialValues": "deferred"},
    },
    "dispatchables": {
        "clip": {
            "type": "ELEMENT_WISE_CLIP1",
            "InputTensor": {"DataType": "FLOAT16", "Sizes": [2, 2], "Strides": [1, 2]},
            "OutputTensor": {"Type": "BUFFER", "Desc": {"DataType": "FLOAT16", "Sizes": [2, 2]}},
            "ScaleBias": {"Scale": 2, "Bias": 1},
            "MinMaxDataType": "FLOAT16",
            "Min": -2,
            "Max": {"UInt16": 15360},
            "dmlCompileType": "DmlCompileGraph",
            "executionFlags": ["NONE"],
        },
        "print": {
            "type": "ELEMENT_WISE_ADD1",
            "desc": {
                "ATensor": {"DataType": "FLOAT16", "Sizes": [2, 2], "Flags": "OWNED_BY_DML"},
                "BTensor": {"DataType": "FLOAT16", "Sizes": [2, 2], "Strides": [0, 0]},
                "OutputTensor": {"DataType": "FLOAT16", "Sizes": [2, 2], "TotalTensorSizeInBytes": 8},
                "FusedActivation": {"Type": "ACTIVATION_ELU", "Alpha": 0.5},
            },
            "bindings": {"ATensor": "x"},
        },
    },
    "commands": [
        {
            "type": "dispatch",
            "dispatchable": "clip",
            "bindings": {"InputTensor": {"name": "x"}, "OutputTensor": {"name": "y", "elementOffset": 8}},
        },
        {"type": "dispatch", "dispatchable": "print", "bindings": {"BTensor": ["x"], "OutputTensor": "y"}},
        {"type": "print", "resource": "y", "verbose": True},
        {"type": "writeFile", "resource": "y", "targetPath": "y.npy", "dimensions": [2, 4]},
        {"type": "writeFile", "resource": "list", "targetPath": "list.bin"},
    ],
}


def test_the_rich_model_runs(tmp_path):
    lines = run(tmp_path, RICH)
    assert len(lines) == 17
    assert lines[6] == "[0] -0.490723 (0xB7DA)"
    assert lines[-1] == f"Resource 'list' written to '{tmp_path / 'list.bin'}'"


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.integers(-2, 9),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["x", "y", "clip", "inf", "nan", "FLOAT16", "INT32", "UINT8", "deferred", "OWNED_BY_DML", "print"]),
)
NAMES = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        [
            "resources",
            "dispatchables",
            "commands",
            "initialValues",
            "value",
            "valueCount",
            "valueStart",
            "valueDelta",
            "sizeInBytes",
            "type",
            "desc",
            "Type",
            "Desc",
            "InputTensor",
            "OutputTensor",
            "Sizes",
            "Strides",
            "Flags",
            "DataType",
            "ScaleBias",
            "Min",
            "Max",
            "bindings",
            "name",
            "elementOffset",
            "elementSizeInBytes",
            "elementCount",
            "shape",
            "verbose",
            "resource",
            "targetPath",
            "dimensions",
            "dispatchable",
        ]
    ),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)


def _paths(value, path=()):
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in entries:
        yield from _paths(inner, (*path, step))


PATHS = {id(model): list(_paths(model)) for model in (MODEL, RICH)}


@st.composite
def mutated(draw):
    model = draw(st.sampled_from([MODEL, RICH]))
    paths = PATHS[id(model)]
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths))
        kind = draw(st.sampled_from(["replace", "delete", "add"]))
        try:
            if kind == "replace":
                model = changed((path, draw(VALUES)), model=model)
            elif kind == "delete" and path:
                model = changed((path, DELETE), model=model)
            else:
                model = changed(((*path, draw(NAMES)), draw(VALUES)), model=model)
        except (KeyError, TypeError, IndexError):
            pass  # an earlier change has taken the place away
    return model


def outcome(folder, text):
    """The output of a model, or the text of its refusal."""
    try:
        return run(folder, text, memory_limit=1 << 20)[0]
    except OgiveError as error:
        return str(error)


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=mutated())
def test_any_model_runs_or_is_refused(tmp_path, model):
    assert outcome(tmp_path, json.dumps(model)).startswith((str(tmp_path / "model.json"), "Running on"))


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    position=st.integers(0, len(json.dumps(MODEL)) - 1),
    text=st.text(st.sampled_from('{}[],:"\\/*0eE.-n\n'), max_size=3),
)
def test_any_text_runs_or_is_refused(tmp_path, position, text):
    whole = json.dumps(MODEL)
    result = outcome(tmp_path, whole[:position] + text + whole[position + 1 :])
    assert result.startswith((str(tmp_path / "model.json"), "Running on"))


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    strides=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    count=st.integers(1, 40),
)
def test_strides_stay_inside_the_buffer(tmp_path, sizes, strides, count):
    """A model that runs has read the right elements; one that would leave the buffer is refused."""
    tensor = {"DataType": "FLOAT32", "Sizes": sizes}
    x = {"initialValuesDataType": "FLOAT32", "initialValues": {"valueStart": 1, "valueDelta": 1, "valueCount": count}}
    total = int(np.prod(sizes))
    y = {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 0, "valueCount": total}}
    desc = {"InputTensor": tensor | {"Strides": strides}, "OutputTensor": tensor}
    model = changed((X, x), (Y, y), (("dispatchables", "clip"), {"type": "ACTIVATION_IDENTITY", "desc": desc}))
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))
    if len(strides) == len(sizes) and last < count:
        indices = np.indices(sizes).reshape(len(sizes), -1)
        expected = 1 + np.tensordot(strides, indices, 1)
        assert run(tmp_path, model)[3] == "Resource 'y': " + ", ".join(f"{value:g}" for value in expected)
    else:
        with pytest.raises(ModelError, match="Strides|SizeInBytes"):
            run(tmp_path, model)
