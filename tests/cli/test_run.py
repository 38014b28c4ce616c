"""``ogive run``: models on arrays from files."""

from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)
from tests.inputs import assert_same_bits
from tests.onnx.models import text_model

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    text = (
        "t (float[N] x, float[N] w) => (float[N] y, float[N] z, bool[N] b) { y = Mul(x, w) z = Relu(y) b = Less(x, w) }"
    )
    save(text_model(text), path)
    np.save(tmp_path / "x.npy", np.float32([-2, 0.5, np.nan]))
    np.save(tmp_path / "w.npy", np.float32([1, 3, 1]))
    return path


def inputs(model):
    return [part for name in "xw" for part in ("--input", f"{name}={model.parent / name}.npy")]


def test_outputs_are_described_and_written(ogive, model, tmp_path):  # noqa: F811
    status, out, err = ogive("run", str(model), *inputs(model), "--output", str(tmp_path / "new" / "out"))
    assert (status, err) == (0, "")
    rows = {line.split()[0]: line.split() for line in out.splitlines()}
    assert rows["output"] == ["output", "shape", "dtype", "smallest", "largest", "time"]
    assert rows["y"][1:5] == ["3", "float32", "-2", "1.5"]
    assert rows["z"][1:5] == ["3", "float32", "0", "1.5"]
    assert rows["b"][1:5] == ["3", "bool", "-", "-"]
    assert rows["y"][-1] == "ms"
    x, w = np.load(tmp_path / "x.npy"), np.load(tmp_path / "w.npy")
    assert_same_bits(np.load(tmp_path / "new" / "out" / "y.npy"), x * w)
    assert np.load(tmp_path / "new" / "out" / "b.npy").tolist() == [True, True, False]


def test_the_example(ogive, tmp_path):  # noqa: F811
    coefficients = EXAMPLES / "coefficients.npy"
    status, out, _ = ogive(
        "run", str(EXAMPLES / "threshold.onnx"), "--input", f"coefficients={coefficients}", "--output", str(tmp_path)
    )
    assert status == 0
    assert "256 x 256" in out
    x, y = np.load(coefficients), np.load(tmp_path / "thresholded.npy")
    assert np.count_nonzero(y) < np.count_nonzero(x) / 2
    assert np.array_equal(y != 0, np.abs(x / 25) > 3)
    assert np.allclose(y[y != 0], x[y != 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--input", "x"], "--input is 'x'; allowed: NAME=FILE.npy"),
        (["--input", "=a.npy"], "allowed: NAME=FILE.npy"),
        (["--input", "x=missing.npy"], "missing.npy"),
        (["--input", "x={model}"], "it is not a .npy file with one array of numbers"),
        ([], "the inputs 'x' and 'w' are missing. It takes x: float32[N], w: float32[N]"),
        (["--input", "q={folder}/x.npy"], "there is no input 'q'; allowed: x, w"),
        (["--input", "x={folder}/x.npy", "--input", "w={folder}/two.npy"], "where N is 2; allowed: N = 3"),
        (["--input", "x={folder}/x.npy", "--input", "w={folder}/double.npy"], "its dtype is float64; allowed: float32"),
        (["--input", "x={folder}/x.npy", "--input", "x={folder}/x.npy"], "--input x is given twice"),
    ],
)
def test_wrong_calls(ogive, model, arguments, text, tmp_path):  # noqa: F811
    np.save(tmp_path / "two.npy", np.zeros(2, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    given = [a.format(model=model, folder=tmp_path) for a in arguments]
    status, out, err = ogive("run", str(model), *given, "--output", str(tmp_path / "out"))
    assert status == 2
    assert text in err
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_models(ogive, tmp_path):  # noqa: F811
    for name, content in {"a.onnx": b"", "b.onnx": b"\x08\x08garbage", "c.onnx": b"\xff" * 100}.items():
        (tmp_path / name).write_bytes(content)
        status, _, err = ogive("run", str(tmp_path / name))
        assert status == 2
        assert name in err
    status, _, err = ogive("run", str(tmp_path / "none.onnx"))
    assert (status, "none.onnx" in err) == (2, True)


def test_truncated_models(ogive, model, tmp_path):  # noqa: F811
    whole = model.read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "short.onnx").write_bytes(whole[:length])
        status, _, err = ogive("run", str(tmp_path / "short.onnx"), *inputs(model))
        assert status == 2, length
        assert "short.onnx" in err


def test_names_of_outputs_stay_in_the_folder(ogive, tmp_path):  # noqa: F811
    text = "t (float[1] x) => (float[1] y) { y = Relu(x) }"
    proto = text_model(text)
    proto.graph.output[0].name = proto.graph.node[0].output[0] = "../../evil"
    save(proto, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(1, np.float32))
    out = tmp_path / "a" / "b"
    status, _, _ = ogive("run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", "--output", str(out))
    assert status == 0
    assert [p.parent for p in tmp_path.rglob("*evil*")] == [out]
