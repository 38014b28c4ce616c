"""``ogive check``: the table, the JSON, the exit status."""

import json
from pathlib import Path

import pytest
from onnx import save

from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)
from tests.onnx.models import text_model

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def model(tmp_path):
    text = "t (int32[2] x, float[2] w) => (int32[2] y, float[2] z) { y = Shrink(x) a = Relu(w) z = MatMul(a, a) }"
    save(text_model(text), tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


def test_the_table(ogive, model):  # noqa: F811
    status, out, err = ogive("check", model, "--feature-level", "3_0")
    assert (status, err) == (1, "")
    header, *rows = (" ".join(line.split()) for line in out.splitlines())
    assert header == "where operator DirectML lowest level at 3_0"
    assert rows == [
        "y Shrink ACTIVATION_SHRINK 5_1 refused",
        "a Relu ACTIVATION_RELU 1_0 taken",
        "z MatMul GEMM - not checked",
        "y: refused: InputTensor is INT32; allowed: FLOAT32, FLOAT16 at 3_0. 5_1 takes it",
        "y: refused: OutputTensor is INT32; allowed: FLOAT32, FLOAT16 at 3_0. 5_1 takes it",
        "3 operators, 1 refused at 3_0, 1 not checked; 5_1 takes all that is checked",
    ]


def test_nothing_refused_is_status_0(ogive, model):  # noqa: F811
    status, out, _ = ogive("check", model)
    assert status == 0
    assert "0 refused at 6_4" in out


def test_json(ogive, model):  # noqa: F811
    status, out, err = ogive("check", model, "--feature-level", "3_0", "--json")
    assert (status, err) == (1, "")
    report = json.loads(out)
    assert {key: report[key] for key in ("model", "feature_level", "lowest_feature_level", "refused")} == {
        "model": model,
        "feature_level": "3_0",
        "lowest_feature_level": "5_1",
        "refused": 1,
    }
    assert [row["verdict"] for row in report["operators"]] == ["refused", "taken", "outside"]
    assert set(report["operators"][0]) == {
        "place",
        "operator",
        "directml",
        "verdict",
        "lowest_feature_level",
        "reasons",
    }


def test_names_are_no_markup(ogive, tmp_path):  # noqa: F811
    model = text_model("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.node[0].name = "[bold]n[/bold]"
    save(model, tmp_path / "m.onnx")
    assert "[bold]n[/bold]" in ogive("check", str(tmp_path / "m.onnx"))[1]


def test_the_examples(ogive):  # noqa: F811
    assert ogive("check", str(EXAMPLES / "threshold.onnx"))[0] == 0
    status, out, _ = ogive("check", str(EXAMPLES / "shrink.json"), "--feature-level", "1_0")
    assert status == 1
    assert "/dispatchables/shrink" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("missing.onnx",), "ogive: Invalid value for 'MODEL': File 'missing.onnx' does not exist."),
        (
            (str(EXAMPLES / "shrink.json"), "--feature-level", "9_9"),
            "ogive: ogive.check: feature_level is '9_9'; allow",
        ),
        ((str(EXAMPLES / "coefficients.npy"),), "ogive: "),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(ogive, arguments, text):  # noqa: F811
    status, out, err = ogive("check", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(text)
    assert err.count("\n") == 1
