"""Models that run: what they compute and what they print."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import ogive.directml as dml
from ogive.dxdispatch import load
from ogive.errors import ParameterError
from tests.directml.running import DEVICE, NAMES, values
from tests.directml.standard import NUMPY, make
from tests.dxdispatch.models import DELETE, MODEL, TENSOR, changed, run, written
from tests.dxdispatch.test_descs import abbreviated, members
from tests.inputs import assert_same_bits

TIME = r"\d+\.\d{4} ms median \(CPU\)"


def test_a_small_model(tmp_path):
    lines = run(tmp_path, MODEL)
    assert lines[:2] == ["Running on 'Ogive (DML_FEATURE_LEVEL_6_4)'", "Compile Op"]
    assert re.fullmatch(rf"Dispatch 'clip': 1 iterations, {TIME}", lines[2])
    assert lines[3:] == ["Resource 'y': 1, 2, -2"]


@pytest.mark.matrix("name", share=3)
@pytest.mark.parametrize("compile_type", ["DmlCompileOp", "DmlCompileGraph"])
@pytest.mark.parametrize("name", NAMES)
def test_every_operator_computes_what_its_directml_object_computes(tmp_path, name, compile_type):
    desc = make(name, types=dict(NAMES[name]))
    tensors = [member.name for member in desc.FACTS.inputs if getattr(desc, member.name) is not None]
    arrays, resources = [], {}
    for number, tensor in enumerate(tensors):
        given = getattr(desc, tensor)
        kind = given.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")
        array = values(kind, int(np.prod(given.Sizes)), number).reshape(given.Sizes)
        arrays.append(array)
        padded = np.zeros(given.TotalTensorSizeInBytes, np.uint8)
        padded[: array.nbytes] = array.reshape(-1).view(np.uint8)
        padded.tofile(tmp_path / f"{tensor}.bin")
        resources[tensor] = {"initialValuesDataType": kind, "initialValues": {"sourcePath": f"{tensor}.bin"}}
    output = desc.FACTS.output.name
    kind = desc.output.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")
    count = int(np.prod(desc.output.Sizes))
    resources[output] = {"initialValuesDataType": kind, "initialValues": {"value": 0, "valueCount": count}}
    model = {
        "resources": resources,
        "dispatchables": {"op": {"type": name, "desc": members(desc, abbreviated), "dmlCompileType": compile_type}},
        "commands": [
            {"type": "dispatch", "dispatchable": "op", "bindings": {tensor: tensor for tensor in [*tensors, output]}},
            {"type": "writeFile", "resource": output, "targetPath": "y.npy", "dimensions": list(desc.output.Sizes)},
        ],
    }
    lines = run(tmp_path, model)
    note = "Compile Op" if compile_type == "DmlCompileOp" else "Compiling op using IDMLDevice1::CompileGraph"
    assert lines[1] == note
    compiled = DEVICE.CompileOperator(DEVICE.CreateOperator(desc), dml.DML_EXECUTION_FLAG_NONE)
    (expected,) = compiled.dispatch(dict(zip(tensors, arrays, strict=True)))
    result = np.load(tmp_path / "y.npy")
    assert result.dtype == NUMPY[kind]
    assert_same_bits(result, expected)


def test_owned_tensors_are_bound_when_the_operator_is_initialised(tmp_path):
    """A later change of the resource changes nothing."""
    owned = TENSOR | {"Flags": "OWNED_BY_DML"}
    desc = {"ATensor": owned, "BTensor": TENSOR, "OutputTensor": TENSOR}
    bindings = {"BTensor": "x", "OutputTensor": "y"}
    model = changed(
        (("resources", "x", "initialValues"), [1, 2, 3]),
        (("dispatchables", "add"), {"type": "ELEMENT_WISE_ADD", "desc": desc, "bindings": {"ATensor": "y"}}),
        (("resources", "y", "initialValues"), {"valueStart": 10, "valueDelta": 10, "valueCount": 3}),
        (("commands", 2), {"type": "dispatch", "dispatchable": "add", "bindings": bindings}),
        (("commands", 3), {"type": "print", "resource": "y"}),
    )
    assert [line for line in run(tmp_path, model) if line.startswith("Resource")] == [
        "Resource 'y': 1, 2, 2",
        "Resource 'y': 11, 22, 33",
    ]
    with pytest.raises(ValueError, match="/dispatchables/add/desc/ATensor: .*ATensor is not bound"):
        run(tmp_path, changed((("dispatchables", "add", "bindings"), DELETE), model=model))
    bound_twice = changed((("commands", 2, "bindings", "ATensor"), "y"), model=model)
    with pytest.raises(ValueError, match=r"/commands\[2\]/bindings/ATensor: .*ATensor is bound at execution"):
        run(tmp_path, bound_twice)


def test_in_place(tmp_path):
    model = changed((("commands", 0, "bindings", "OutputTensor"), "x"), (("commands", 1, "resource"), "x"))
    assert run(tmp_path, model)[-1] == "Resource 'x': 1, 2, -2"


def test_offsets(tmp_path):
    values = {
        "initialValuesDataType": "FLOAT32",
        "initialValues": {"valueStart": -4, "valueDelta": 1, "valueCount": 12},
    }
    source = {"name": "x", "elementOffset": 4, "elementCount": 3, "format": "R32_FLOAT"}
    target = {"name": "x", "elementOffset": 2, "elementSizeInBytes": 16}
    model = changed(
        (("resources", "x"), values),
        (("commands", 0, "bindings"), {"InputTensor": [source], "OutputTensor": target}),
        (("commands", 1, "resource"), "x"),
    )
    assert run(tmp_path, model)[-1] == "Resource 'x': -4, -3, -2, -1, 0, 1, 2, 3, 0, 1, 2, 7"


def test_iterations(tmp_path):
    """In-place additions show that every iteration has run; initialisation happens once."""
    desc = {"ATensor": TENSOR, "BTensor": TENSOR | {"Flags": "OWNED_BY_DML"}, "OutputTensor": TENSOR}
    model = changed(
        (("resources", "x", "initialValues"), [0, 1, 2]),
        (("dispatchables", "clip"), {"type": "ELEMENT_WISE_ADD", "desc": desc, "bindings": {"BTensor": "x"}}),
        (("commands", 0, "bindings"), {"ATensor": "x", "OutputTensor": "x"}),
        (("commands", 1, "resource"), "x"),
    )
    lines = run(tmp_path, model, iterations=5)
    assert re.fullmatch(rf"Dispatch 'clip': 5 iterations, {TIME}", lines[2])
    assert lines[3] == "Resource 'x': 0, 6, 12"
    again = load(written(tmp_path, model))
    pieces = []
    again.run(pieces.append)
    again.run(pieces.append)
    assert [p for p in "".join(pieces).splitlines() if p.startswith("Res")] == [
        "Resource 'x': 0, 2, 4",
        "Resource 'x': 0, 3, 6",
    ]
    for wrong in (0, -1, 1.5):
        with pytest.raises(ParameterError, match="iterations is"):
            again.run(pieces.append, iterations=wrong)


def test_commands_are_known_in_any_case(tmp_path):
    model = changed((("commands", 0, "type"), "DISPATCH"), (("commands", 1, "type"), "Print"))
    model["commands"][0]["threadGroupCount"] = [1, 1, 1]
    assert run(tmp_path, model)[-1] == "Resource 'y': 1, 2, -2"


def test_files(tmp_path):
    def write(name, **more):
        return {"type": "writeFile", "resource": "y", "targetPath": name} | more

    commands = [
        MODEL["commands"][0],
        write("a.npy"),
        write("deep/b.NPY", dimensions=[1, 3, 1]),
        write("c.dat"),
        write("d.npy", dimensions=[]),
    ]
    lines = run(tmp_path, changed((("commands",), commands)))
    assert lines[3:] == [
        f"Resource 'y' written to '{tmp_path / name}'" for name in ("a.npy", "deep/b.NPY", "c.dat", "d.npy")
    ]
    # Without dimensions the whole buffer, which has 16 bytes.
    for name in ("a.npy", "d.npy"):
        assert np.load(tmp_path / name).tolist() == [1, 2, -2, 0]
    assert np.load(tmp_path / "deep" / "b.NPY").tolist() == [[[1], [2], [-2]]]
    assert np.fromfile(tmp_path / "c.dat", np.float32).tolist() == [1, 2, -2, 0]
    with pytest.raises(ValueError, match=r"/commands\[0\]/dimensions: dimensions of 20 bytes for 'y', which has 16"):
        run(tmp_path, changed((("commands",), [write("e.npy", dimensions=[5])])))
    assert not (tmp_path / "e.npy").exists()


def written_to(tmp_path, name):
    commands = [MODEL["commands"][0], {"type": "writeFile", "resource": "y", "targetPath": name}]
    return run(tmp_path, changed((("commands",), commands)))


@pytest.mark.parametrize("name", ["y.npy", "y.dat"])
def test_a_hard_link_does_not_lead_out_of_the_folder(tmp_path, name):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "out").mkdir()
    os.link(tmp_path / "precious", tmp_path / "out" / name)
    written_to(tmp_path / "out", name)
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert (tmp_path / "out" / name).stat().st_nlink == 1
    assert (tmp_path / "out" / name).stat().st_size > 8


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["y.npy", "y.dat"])
def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path, name):
    code = """
import resource, sys
from ogive.dxdispatch import load
model = load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
model.run(lambda text: None)
"""
    (tmp_path / name).write_bytes(b"the old file")
    commands = [MODEL["commands"][0], {"type": "writeFile", "resource": "y", "targetPath": name}]
    path = written(tmp_path, changed((("commands",), commands)))
    completed = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "OGIVE_CACHE": "off"},
    )  # fmt: skip
    assert completed.returncode == 1
    assert "File too large" in completed.stderr or "requested and" in completed.stderr, completed.stderr
    assert (tmp_path / name).read_bytes() == b"the old file"
    assert {file.name for file in tmp_path.iterdir()} == {name, path.name}


@pytest.mark.skipif(sys.platform == "win32", reason="masks of POSIX")
def test_a_file_has_the_permissions_of_any_new_file(tmp_path):
    written_to(tmp_path, "y.npy")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "y.npy").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_model_without_dispatches(tmp_path):
    assert run(tmp_path, {"resources": {}, "dispatchables": {}, "commands": []}) == [
        "Running on 'Ogive (DML_FEATURE_LEVEL_6_4)'"
    ]


def test_repr(tmp_path):
    model = load(written(tmp_path, MODEL), feature_level="3_0")
    assert repr(model) == f"<{tmp_path / 'model.json'}: 2 commands on DML_FEATURE_LEVEL_3_0>"


def test_volatile_descriptors_and_other_flags(tmp_path):
    flags = ["DESCRIPTORS_VOLATILE", "ALLOW_HALF_PRECISION_COMPUTATION"]
    model = changed((("dispatchables", "clip", "executionFlags"), flags))
    assert run(tmp_path, model)[-1] == "Resource 'y': 1, 2, -2"
    # A missing resource is found before anything runs here too.
    with pytest.raises(ValueError, match="InputTensor is not bound"):
        load(written(tmp_path, changed((("commands", 0, "bindings", "InputTensor"), DELETE), model=model)))


DISPATCHES = """
import sys
from ogive.dxdispatch import commands, load
from ogive.runtime import kernels

compiled = []
original = kernels.compiled
kernels.compiled = lambda *given, **more: compiled.append(given) or original(*given, **more)
run = commands.Dispatch.run

def watched(*given):
    modules, count = set(sys.modules), len(compiled)
    run(*given)
    print("new:", *(set(sys.modules) - modules), len(compiled) - count, "of", len(compiled))

commands.Dispatch.run = watched
load(sys.argv[1]).run(lambda text: None)
"""


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["ACTIVATION_SOFTMAX1", "ELEMENT_WISE_ERF"])
def test_dispatches_load_and_compile_nothing(tmp_path, name):
    """A step that is done once is done when the operator is initialised, so that times are of computing."""
    axes = {"AxisCount": 1, "Axes": [1]} if name.endswith("1") else {}
    tensor = {"DataType": "FLOAT32", "Sizes": [1, 3]}
    operator = {"type": name, "InputTensor": tensor, "OutputTensor": tensor} | axes
    path = written(tmp_path, changed((("dispatchables", "clip"), operator)))
    completed = subprocess.run(
        [sys.executable, "-c", DISPATCHES, str(path)],
        env={**os.environ, "OGIVE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout in ("new: 0 of 1\n", "new: 0 of 2\n")  # with a retry, where the target has one
