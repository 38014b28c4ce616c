"""``ogive run`` with models in the JSON format of DxDispatch."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)
from tests.dxdispatch.models import MODEL, changed, written

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_example(ogive, tmp_path):  # noqa: F811
    status, out, err = ogive("run", str(EXAMPLES / "shrink.json"), "--output", str(tmp_path))
    assert (status, err) == (0, "")
    assert re.sub(r"\d+\.\d{4} ms", "T ms", out).splitlines() == [
        "Running on 'Ogive (DML_FEATURE_LEVEL_6_4)'",
        "Compile Op",
        "Compile Op",
        "Dispatch 'shrink': 1 iterations, T ms median (CPU)",
        "Dispatch 'prelu': 1 iterations, T ms median (CPU)",
        "Resource 'shrunk': -2.5, -1.5, 0, 0, 0, 1.5, 2.5",
        "Resource 'y':",
        "[0] -0.625 (0xBF200000)",
        "[1] -0.375 (0xBEC00000)",
        "[2] 0 (0x       0)",
        "[3] 0 (0x       0)",
        "[4] 0 (0x       0)",
        "[5] 1.5 (0x3FC00000)",
        "[6] 2.5 (0x40200000)",
        "",
        f"Resource 'y' written to '{tmp_path / 'y.npy'}'",
        "",
        "name    shape  dtype    smallest  largest  zeros  NaN  inf  -inf",
        "x       7      float32        -3        3      1    0    0     0",
        "slope   1      float32      0.25     0.25      0    0    0     0",
        "shrunk  7      float32      -2.5      2.5      3    0    0     0",
        "y       7      float32    -0.625      2.5      3    0    0     0",
    ]
    assert np.load(tmp_path / "y.npy").tolist() == [-0.625, -0.375, 0, 0, 0, 1.5, 2.5]


def test_iterations_and_level(ogive, tmp_path):  # noqa: F811
    path = str(written(tmp_path, MODEL, "MODEL.JSON"))
    status, out, _ = ogive("run", path, "--iterations", "3", "--feature-level", "3.0")
    assert status == 0
    assert "Running on 'Ogive (DML_FEATURE_LEVEL_3_0)'" in out
    assert "Dispatch 'clip': 3 iterations, " in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--input", "x=x.npy"), "--input was given, for a JSON model. Name the inputs in its resources"),
        (("--iterations", "0"), "Invalid value for '--iterations'"),
        (("--feature-level", "9_9"), "Device: feature_level is '9_9'; allowed: 1_0"),
        (("--feature-level", "1_0"), "model.json, line 25, /dispatchables/clip/desc/InputTensor"),
    ],
)
def test_wrong_calls(ogive, tmp_path, arguments, text):  # noqa: F811
    status, out, err = ogive("run", str(written(tmp_path, MODEL)), *arguments)
    assert (status, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1


def test_an_option_for_json_alone(ogive):  # noqa: F811
    status, _, err = ogive("run", str(EXAMPLES / "threshold.onnx"), "--feature-level", "3_0")
    assert status == 2
    assert "--feature-level was given, for an ONNX model. Use `ogive check" in err


def test_one_json_object(ogive, tmp_path):  # noqa: F811
    status, out, err = ogive("run", str(EXAMPLES / "shrink.json"), "--json", "--output", str(tmp_path))
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert (report["format"], report["feature_level"]) == ("dxdispatch", "DML_FEATURE_LEVEL_6_4")
    assert report["printed"][-1] == f"Resource 'y' written to '{tmp_path / 'y.npy'}'"
    assert [resource["name"] for resource in report["resources"]] == ["x", "slope", "shrunk", "y"]
    assert report["resources"][2] == {
        "name": "shrunk",
        "shape": [7],
        "dtype": "float32",
        "count": 7,
        "smallest": -2.5,
        "largest": 2.5,
        "zeros": 3,
        "nan": 0,
        "positive_infinities": 0,
        "negative_infinities": 0,
        "file": None,
    }


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(ogive, tmp_path):  # noqa: F811
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "out"
    status, out, err = ogive("run", str(EXAMPLES / "shrink.json"), "--output", str(folder))
    assert (status, out) == (2, "")
    assert f"--output is {str(folder)!r}, where nothing can be written: Not a directory" in err


def test_memory_limit(ogive):  # noqa: F811
    status, out, err = ogive("run", str(EXAMPLES / "shrink.json"), "--memory-limit", "10")
    assert (status, out) == (2, "")
    assert "memory limit of 10 bytes" in err


def test_help_says_what_a_model_has(ogive):  # noqa: F811
    status, out, _ = ogive("run", str(EXAMPLES / "shrink.json"), "-h")
    assert status == 0
    assert "This model, shrink.json:" in out
    assert "resource shrunk" in out
    assert "FLOAT32, 28 bytes" in out


def test_a_mistake_in_a_model_is_one_line_with_its_place(ogive, tmp_path):  # noqa: F811
    model = changed((("dispatchables", "clip", "desc", "InputTensor", "Sizes"), [3, -1]))
    path = written(tmp_path, model)
    status, out, err = ogive("run", str(path))
    assert (status, out) == (2, "")
    assert err == (
        f"ogive: {path}, line 29, /dispatchables/clip/desc/InputTensor/Sizes[1]: "
        "it is -1; allowed: whole numbers from 0 to 4294967295\n"
    )
    assert path.read_text().splitlines()[28].strip() == "-1"
