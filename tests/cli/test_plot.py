"""``--plot``: pictures of operators, errors and results."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.cli import _status as status
from ogive.cli.curves import drawing

MODEL = str(Path(__file__).resolve().parents[2] / "examples" / "threshold.onnx")
PNG = b"\x89PNG\r\n\x1a\n"


def need_matplotlib():
    pytest.importorskip("matplotlib", reason="matplotlib, which draws the pictures, is not installed")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_curve_its_derivative_and_types(tmp_path, capsys):
    need_matplotlib()
    path = tmp_path / "celu.svg"
    assert status(["show", "celu", "--plot", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path}\n"
    text = path.read_text()
    for part in ("derivative of celu", "alpha = 0.5", "types: floats"):
        assert part in text
    again = tmp_path / "again.svg"
    assert status(["show", "celu", "--plot", str(again)]) == 0
    assert again.read_text() == text


@pytest.mark.parametrize("arguments", [["--plot"], ["--plot", "-"]])
def test_a_curve_and_its_derivative_in_the_terminal(arguments, capsys):
    pytest.importorskip("uniplot", reason="uniplot, which draws with characters, is not installed (extra: cli)")
    assert status(["show", "prelu", *arguments]) == 0
    value, derivative = capsys.readouterr().out.split("its derivative with respect to x\n")
    assert value.startswith("prelu, slope = 0.25\n")
    assert value.splitlines()[-1].split() == derivative.splitlines()[-1].split() == ["-4", "-2", "0", "2", "4"]
    assert len(value.splitlines()) == len(derivative.splitlines()) + 1 == 19
    # The frame is 66 wide; the numbers of the vertical axis stand behind it.
    heights = [{line[66:].strip() for line in text.splitlines()} - {""} for text in (value, derivative)]
    assert heights == [{"0", "2"}, {"0", "1"}]
    assert "▀" * 30 in derivative  # 1 where x is positive


def test_what_has_no_derivative_has_one_picture_in_the_terminal(capsys):
    pytest.importorskip("uniplot", reason="uniplot, which draws with characters, is not installed (extra: cli)")
    assert status(["show", "bit_count", "--plot"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bit_count\n")
    assert "derivative" not in out


@pytest.mark.matrix(share=16, pool="slow")
def test_errors(tmp_path, capsys):
    need_matplotlib()
    path = tmp_path / "errors.svg"
    assert status(["accuracy", "tanh", "relu", "--dtype", "float16", "--plot", str(path)]) == 0
    assert f"wrote {path}" in capsys.readouterr().out
    assert "tanh, float16, ogive: at most 0.5 ULP" in path.read_text()


@pytest.mark.matrix(share=16, pool="slow")
def test_results(tmp_path, capsys):
    need_matplotlib()
    pytest.importorskip("onnx", reason="onnx, which reads models, is not installed")
    command = ["run", "examples/threshold.onnx", "--input", "coefficients=examples/coefficients.npy"]
    assert status([*command, "--plot", str(tmp_path / "pictures")]) == 0
    path = tmp_path / "pictures" / "thresholded.png"
    assert f"wrote {path}" in capsys.readouterr().out
    assert path.read_bytes().startswith(PNG)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(
    ("array", "what"),
    [
        (np.zeros((64, 64), np.float32), "image"),
        (np.zeros((1, 1, 64, 48), np.uint8), "image"),
        (np.ones((64, 48, 3)), "image"),
        (np.full((32, 32), np.nan, np.float16), "image"),
        (np.arange(1000.0), "histogram"),
        (np.array([np.inf, np.nan, 1]), "histogram"),
        (np.zeros(()), "histogram"),
        (np.zeros((0, 4)), "histogram"),
        (np.ones((3, 5), bool), "histogram"),
    ],
)
def test_what_is_drawn_of_an_array(tmp_path, array, what):
    need_matplotlib()
    from ogive.cli.plot import plot_tensor

    path = tmp_path / "array.png"
    assert plot_tensor("y", array, path) == what
    assert path.read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["show", "celu", "--plot", "celu.gif"], "'celu.gif' does not end in .svg, .png or .pdf"),
        (["show", "celu", "--plot", "no/such/celu.svg"], "the folder of 'no/such/celu.svg' does not exist"),
        (
            ["show", "celu", "--asm", "--plot", "c.svg"],
            "--plot draws a curve and --asm prints code; allowed: one of them",
        ),
        (["accuracy", "celu", "--count", "--plot", "c.svg"], "leave out --plot"),
        (
            ["run", MODEL, "--plot", "out/y.png"],
            "'out/y.png' is a file; allowed: a folder, for a NAME.png of each output. Write --plot out",
        ),
        (["run", MODEL, "--plot", "-"], "'-' is no folder; in a terminal the command draws a histogram without --plot"),
    ],
)
def test_what_cannot_be_drawn(arguments, text, capsys):
    assert status(arguments) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["show", "celu"], ["accuracy", "celu", "--dtype", "float16"]])
def test_without_matplotlib(arguments, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert status([*arguments, "--plot", str(tmp_path / "c.svg")]) == 2
    assert "matplotlib is not installed. Install it: pip install 'ogive[plot]'" in capsys.readouterr().err
    assert not (tmp_path / "c.svg").exists()


@pytest.mark.matrix(share=16)
@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_every_operator_has_a_curve(op):
    drawn = drawing(op)
    assert drawn.curves
    for curve in [*drawn.curves, *drawn.derivatives]:
        assert np.isfinite(curve.y).sum() > 0.6 * len(curve.x)
    low, high = drawn.heights(drawn.curves)
    assert low < high
    assert len(drawn.derivatives) in (0, len(drawn.curves))


def test_a_derivative_is_the_slope_of_its_curve():
    drawn = drawing(ogive.tanh)
    (curve,), (slope,) = drawn.curves, drawn.derivatives
    assert np.allclose(np.gradient(curve.y, curve.x)[1:-1], slope.y[1:-1], atol=1e-4)


def test_jumps_are_not_joined():
    (curve,) = drawing(ogive.floor).curves
    steps = np.abs(np.diff(curve.y))
    assert np.nanmax(steps) == 0


def test_a_value_of_its_own_is_a_point():
    """Between two level lines: a line would be nowhere, or join what is apart."""
    for name, place, value in (("equal", 1.5, 1), ("not_equal", 1.5, 0), ("heaviside", 0, 0.5), ("sign", 0, 0)):
        curve = drawing(getattr(ogive, name), with_derivative=False).curves[0]
        middle = int(np.argmin(np.abs(curve.x - place)))
        assert curve.y[middle] == value
        assert np.isnan(curve.y[[middle - 1, middle + 1]]).all()
    jump = drawing(ogive.floor, with_derivative=False).curves[0].y
    assert np.isfinite(jump[np.flatnonzero(np.isnan(jump))[1:-1] + 1]).all()
