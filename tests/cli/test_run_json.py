"""``ogive run`` with models in the JSON format of DxDispatch."""

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
    ]
    assert np.load(tmp_path / "y.npy").tolist() == [-0.625, -0.375, 0, 0, 0, 1.5, 2.5]


def test_iterations_and_level(ogive, tmp_path):  # noqa: F811
    path = str(written(tmp_path, MODEL, "MODEL.JSON"))
    status, out, _ = ogive("run", path, "--iterations", "3", "--feature-level", "3_0")
    assert status == 0
    assert "Running on 'Ogive (DML_FEATURE_LEVEL_3_0)'" in out
    assert "Dispatch 'clip': 3 iterations, " in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--input", "x=x.npy"), "--input is not for JSON models"),
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


@pytest.mark.parametrize("option", [("--feature-level", "3_0"), ("--iterations", "2")])
def test_options_for_json_alone(ogive, option):  # noqa: F811
    status, _, err = ogive("run", str(EXAMPLES / "threshold.onnx"), *option)
    assert status == 2
    assert f"{option[0]} is not for ONNX models" in err


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
