"""Dispatchables that are ONNX models."""

import numpy as np
import pytest
from onnx import save

from ogive.errors import ModelError, OgiveError, UnsupportedError
from tests.dxdispatch.models import DELETE, changed, run
from tests.onnx.models import text_model

ADD = "t (float[N, 2] a, float[N, 2] b) => (float[N, 2] c, bool[N, 2] less) { c = Add(a, b) less = Less(a, b) }"


def values(*numbers):
    return {"initialValuesDataType": "FLOAT32", "initialValues": list(numbers)}


MODEL = {
    "resources": {
        "x": values(1, 2, 3, 4),
        "y": values(5, 6, 0, 0),
        "z": values(0, 0, 0, 0),
        "later": {"initialValues": "deferred"},
    },
    "dispatchables": {"add": {"type": "onnx", "sourcePath": "add.onnx"}},
    "commands": [
        {
            "type": "dispatch",
            "dispatchable": "add",
            "bindings": {
                "a": {"name": "x", "shape": [2, 2]},
                "b": {"name": "y", "shape": [2, 2]},
                "c": {"name": "z", "shape": [2, 2]},
                "less": "later",
            },
        },
        {"type": "print", "resource": "z"},
        {"type": "print", "resource": "later"},
        {"type": "writeFile", "resource": "later", "targetPath": "later.npy"},
        {"type": "writeFile", "resource": "later", "targetPath": "later.bin"},
    ],
}
BINDINGS = ("commands", 0, "bindings")


@pytest.fixture
def folder(tmp_path):
    save(text_model(ADD), tmp_path / "add.onnx")
    return tmp_path


def results(lines):
    return [line for line in lines if line.startswith("Resource") and "written" not in line]


def test_a_model(folder):
    lines = run(folder, MODEL)
    assert lines[1].startswith("Dispatch 'add': 1 iterations, ")
    assert results(lines) == ["Resource 'z': 6, 8, 3, 4", "Resource 'later': 1, 1, 0, 0"]
    assert np.load(folder / "later.npy").tolist() == [[1, 1], [0, 0]]
    assert np.fromfile(folder / "later.bin", np.uint8).tolist() == [1, 1, 0, 0]


def test_sizes_that_are_not_known_are_one(folder):
    shapes = [((*BINDINGS, name), resource) for name, resource in zip("ab", "xy", strict=True)]
    model = changed(*shapes, ((*BINDINGS, "c"), {"name": "z", "shape": [1, 2]}), model=MODEL)
    assert results(run(folder, model)) == ["Resource 'z': 6, 8, 0, 0", "Resource 'later': 1, 1"]


def test_sizes_by_name(folder):
    bound = [((*BINDINGS, name), resource) for name, resource in zip("abc", "xyz", strict=True)]
    override = (("dispatchables", "add", "freeDimensionNameOverrides"), {"N": 2})
    assert results(run(folder, changed(*bound, override, model=MODEL)))[0] == "Resource 'z': 6, 8, 3, 4"


def test_what_is_not_bound_is_zeros_or_dropped(folder):
    model = changed((BINDINGS, {"a": {"name": "x", "shape": [1, 2]}, "c": {"name": "z", "shape": [1, 2]}}), model=MODEL)
    model = changed((("commands",), model["commands"][:2]), model=model)
    assert results(run(folder, model)) == ["Resource 'z': 1, 2, 0, 0"]
    assert results(run(folder, changed((BINDINGS, {}), model=model))) == ["Resource 'z': 0, 0, 0, 0"]


def test_options_of_another_runtime_are_read_and_have_no_meaning(folder):
    options = {"sessionOptionsConfigEntries": {"a": "1"}, "graphOptimizationLevel": 99, "loggingLevel": 2}
    model = changed(*(((*("dispatchables", "add"), name), value) for name, value in options.items()), model=MODEL)
    assert results(run(folder, model))[0] == "Resource 'z': 6, 8, 3, 4"


ADD_PLACE = ("dispatchables", "add")


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [
        (((*ADD_PLACE, "sourcePath"), DELETE), "/dispatchables/add", "sourcePath is missing"),
        (((*ADD_PLACE, "sourcePath"), "no.onnx"), "/dispatchables/add/sourcePath", "there is no file no.onnx"),
        (((*ADD_PLACE, "sourcePath"), "model.json"), "/dispatchables/add/sourcePath", "model.json"),
        (((*ADD_PLACE, "path"), ""), "/dispatchables/add/path", "there is no such member"),
        (((*ADD_PLACE, "freeDimensionDenotationOverrides"), {"N": 1}), "/dispatchables/add/freeDim", "are not read"),
        (
            ((*ADD_PLACE, "freeDimensionNameOverrides"), {"N": -1}),
            "/dispatchables/add/freeDimensionNameOverrides/N",
            "-1",
        ),
        (((*BINDINGS, "d"), "x"), "/commands[0]/bindings/d", "no such input or output; allowed: a, b, c, less"),
        (((*BINDINGS, "a", "shape"), [3, 2]), "/commands[0]/bindings/a", "16 bytes for an input of shape (3, 2)"),
        (((*BINDINGS, "a", "shape"), [1 << 62, 1 << 62]), "/commands[0]/bindings/a", "16 bytes for an input"),
        (((*BINDINGS, "a", "shape"), [-1]), "/commands[0]/bindings/a/shape[0]", "it is -1"),
        (((*BINDINGS, "c", "shape"), [3, 2]), "/commands[0]/bindings/c", "16 bytes for an output of shape (3, 2)"),
        (((*BINDINGS, "c"), "z"), "/commands[0]/bindings/c", "not known before it is computed"),
        (((*BINDINGS, "a"), "later"), "/commands[0]/bindings/a", "'later' is deferred"),
        (((*BINDINGS, "a", "elementOffset"), 1), "/commands[0]/bindings/a", "does not begin at the resource's start"),
        # These turn out when it runs.
        (((*BINDINGS, "a", "shape"), [4]), "/commands[0]/bindings", "its shape is (4,)"),
        (((*BINDINGS, "a", "shape"), [1, 2]), "/commands[0]/bindings", "N = 1"),
        (((*BINDINGS, "c", "shape"), [4]), "/commands[0]/bindings/c", "the output has shape (2, 2); allowed: (4,)"),
    ],
)
def test_mistakes_are_refused_with_their_place(folder, change, path, text):
    with pytest.raises(OgiveError) as caught:
        run(folder, changed(change, model=MODEL))
    place, _, rest = str(caught.value).removeprefix(str(folder / "model.json")).partition(": ")
    assert path in place
    assert text in rest


def test_what_is_deferred_must_be_made_before_it_is_used(folder):
    model = changed((("commands",), MODEL["commands"][2:]), model=MODEL)
    with pytest.raises(ModelError, match=r"/commands\[0\]/resource: 'later' is deferred and nothing has made it"):
        run(folder, model)


def test_types_that_directml_does_not_have(tmp_path):
    save(text_model("t (bfloat16[2] a) => (bfloat16[2] b) { b = Relu(a) }"), tmp_path / "add.onnx")
    model = changed(
        (BINDINGS, {"a": "x"}), (("commands",), [MODEL["commands"][0] | {"bindings": {"a": "x"}}]), model=MODEL
    )
    with pytest.raises(UnsupportedError, match=r"'a' is tensor\(bfloat16\), which DirectML's tensors cannot be"):
        run(tmp_path, model)


def test_inputs_that_nothing_is_bound_to_count(tmp_path):
    save(text_model("t (float[1000000] a) => (float[1000000] b) { b = Relu(a) }"), tmp_path / "add.onnx")
    commands = [{"type": "dispatch", "dispatchable": "add", "bindings": {}}]
    model = changed((("commands",), commands), model=MODEL)
    assert len(run(tmp_path, model)) == 2
    assert len(run(tmp_path, model, iterations=3, memory_limit=1 << 24)) == 2
    with pytest.raises(ModelError, match="zeros for the input 'a': 4000000 bytes"):
        run(tmp_path, model, memory_limit=1 << 20)
