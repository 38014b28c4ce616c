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
        "2 of 3 operators checked, 1 refused at 3_0, 1 not checked; 5_1 takes all that is checked",
    ]


def test_status_0_is_for_models_that_are_checked_and_taken(ogive, model, tmp_path):  # noqa: F811
    """A node that is not checked, or whose type or rank the model does not say, may be refused on a device."""
    status, out, _ = ogive("check", model)
    assert status == 1
    assert "2 of 3 operators checked, 0 refused at 6_4, 1 not checked; 5_1 takes all that is checked" in out
    for text, wanted, end in (
        (
            "t (float[2] x) => (float[2] y) { y = Relu(x) }",
            0,
            "1 of 1 operator checked, 0 refused at 6_4; 1_0 takes all",
        ),
        ("t (float[2] x) => (float[2] y) { y = com.example.Foo(x) }", 1, "0 of 1 operator checked"),
        (
            "t (float[2] x) => (float[N, M] y) { a = com.example.Foo(x) y = Relu(a) }",
            1,
            "0 of 2 operators checked, 0 refused at 6_4, 1 not known, 1 not checked",
        ),
    ):
        made = text_model(text)
        made.opset_import.add(domain="com.example", version=1)
        save(made, tmp_path / "m.onnx")
        status, out, _ = ogive("check", str(tmp_path / "m.onnx"))
        assert status == wanted
        assert out.splitlines()[-1].startswith(end)


def test_nodes_of_which_the_same_is_true_are_one_line(ogive, tmp_path):  # noqa: F811
    nodes = "".join(f"a{i + 1} = MatMul(a{i}, a{i}) b{i} = Shrink(i) " for i in range(40))
    made = text_model(f"t (float[2, 2] a0, int32[2] i) => (float[2, 2] a40) {{ {nodes} c = Relu(a0) }}")
    save(made, tmp_path / "m.onnx")
    _, out, _ = ogive("check", str(tmp_path / "m.onnx"), "--feature-level", "3_0")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[1:4] == [
        "a1 and 39 more MatMul GEMM - not checked",
        "b0 and 39 more Shrink ACTIVATION_SHRINK 5_1 refused",
        "c Relu ACTIVATION_RELU 1_0 taken",
    ]
    assert len(lines) == 7
    assert lines[-1] == "41 of 81 operators checked, 40 refused at 3_0, 40 not checked; 5_1 takes all that is checked"
    status, out, _ = ogive("check", str(tmp_path / "m.onnx"), "--feature-level", "3_0", "--refused-only")
    assert status == 1
    assert [line.split()[0] for line in out.splitlines()] == ["where", "b0", "b0", "b0", "41"]
    status, out, _ = ogive("check", str(tmp_path / "m.onnx"), "--refused-only")
    assert (status, len(out.splitlines())) == (1, 1)


def test_the_remedy_is_an_option(ogive):  # noqa: F811
    """The Python interface says Device("2_0")."""
    path = str(EXAMPLES / "shrink.json")
    for arguments in (("check", path), ("check", path, "--json"), ("run", path)):
        _, out, err = ogive(*arguments, "--feature-level", "1_0")
        assert "Give --feature-level 2_0" in out + err
        assert "Device(" not in out + err
        assert "line 16" in out + err


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
    assert (report["not_known"], report["not_checked"]) == (0, 1)
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
