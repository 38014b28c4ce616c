"""Dask arrays: gradients, ONNX models by chunks, a Zarr array larger than the memory for it."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ogive
import ogive.onnx
from ogive.errors import ArgumentError, ShapeError

da = pytest.importorskip("dask.array", reason="Dask is not installed")

ROOT = Path(__file__).resolve().parents[2]
X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
LAZY = da.from_array(X, chunks=(2, 3))


def model(text):
    parser = pytest.importorskip("onnx", reason="onnx is not installed").parser
    return ogive.onnx.load(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 20]> m {text}'))


def same(lazy, right):
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == lazy._meta.dtype == right.dtype
    assert lazy.shape == right.shape
    return lazy.compute().tobytes() == right.tobytes()


# ---- gradients


def test_gradients_are_lazy():
    assert same(ogive.grad(ogive.gelu)(LAZY), ogive.grad(ogive.gelu)(X))
    assert same(ogive.vjp(ogive.gelu)(LAZY, LAZY), ogive.vjp(ogive.gelu)(X, X))
    rows = LAZY.rechunk({1: -1})
    assert same(ogive.vjp(ogive.softmax)(rows, rows), ogive.vjp(ogive.softmax)(X, X))


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients_of_broadcast_operands_and_parameters_are_lazy():
    slope = np.float32([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    of_x, of_slope = ogive.vjp(ogive.prelu)(LAZY, LAZY, da.from_array(slope, chunks=2))
    right_x, right_slope = ogive.vjp(ogive.prelu)(X, X, slope)
    assert same(of_x, right_x)
    assert of_slope.dtype == np.float32
    assert np.allclose(of_slope.compute(), right_slope, rtol=1e-6)
    of_alpha = ogive.vjp(ogive.celu, "alpha")(LAZY, LAZY, alpha=1.5)
    assert np.isclose(of_alpha.compute(), ogive.vjp(ogive.celu, "alpha")(X, X, alpha=1.5), rtol=1e-6)


def test_refused_gradients():
    with pytest.raises(ArgumentError) as caught:
        ogive.vjp(ogive.prelu)(LAZY, LAZY, da.ones(6), out=(None, None))
    assert str(caught.value) == (
        "prelu_vjp: out was given, and Dask arrays; allowed: out where NumPy arrays. "
        "Sums over the axes that were broadcast are new arrays of the operands' types"
    )
    with pytest.raises(ShapeError, match=r"prelu_vjp: the shapes do not broadcast together: gradient \(4, 6\) and x"):
        ogive.vjp(ogive.prelu)(LAZY, LAZY, da.ones(5))
    with pytest.raises(ArgumentError) as caught:
        ogive.value_and_grad(ogive.gelu)(LAZY)
    assert str(caught.value) == (
        "gelu_value_and_grad_x: x is a Dask array, and there are 2 results; allowed: Dask arrays where there is one "
        "result. Use dask.array.apply_gufunc(gelu_value_and_grad_x, '()->(),()', ..., output_dtypes=...)"
    )
    both = da.apply_gufunc(ogive.value_and_grad(ogive.gelu), "()->(),()", LAZY, output_dtypes=[np.float32] * 2)
    for lazy, right in zip(both, ogive.value_and_grad(ogive.gelu)(X), strict=True):
        assert same(lazy, right)


# ---- ONNX models


def test_models_by_chunks():
    elements = model("(float[N, M] x) => (float[N, M] y, bool[N, M] z) { h = Celu(x) y = Mul(h, x) z = IsNaN(y) }")
    for lazy, right in zip(elements.map_blocks(LAZY), elements(X), strict=True):
        assert same(lazy, right)
    two = model("(float[N, M] x, float[M] b) => (float[N, M] y) { h = Add(x, b) y = Softmax <axis = 0> (h) }")
    bias = X[0]
    assert same(two.map_blocks(x=LAZY.rechunk({0: -1}), b=da.from_array(bias, chunks=2)), two(X, bias))


CONSTANT = "(float[N, M] x) => (float[N, M] y) <float[6] c = {1, 2, 3, 4, 5, 6}> { y = Add(x, c) }"
TURNED = "(float[N, M] x) => (float[M, N] y) { y = Transpose <perm = [1, 0]> (x) }"


@pytest.mark.parametrize(
    ("text", "array", "error", "says"),
    [
        (
            CONSTANT,
            LAZY,
            ShapeError,
            (
                "input 'x' is cut into chunks along axis 1, and a constant of Add node that computes 'y' (opset 20) needs it "
                "whole. Rechunk it: x.rechunk({1: -1})"
            ),
        ),
        (
            TURNED,
            LAZY.rechunk({1: -1}),
            ShapeError,
            (
                "input 'x' is cut into chunks along axis 0, and Transpose node that computes 'y' (opset 20) needs it whole. "
                "Rechunk it: x.rechunk({0: -1})"
            ),
        ),
        (
            "(float[4, M] x) => (float[4, M] y) { y = Celu(x) }",
            LAZY,
            ShapeError,
            "input 'x' has chunks of 2 elements along axis 0; allowed: 4, which the model declares",
        ),
        (
            "(float[N, M] x) => (float[N, M] y) { y = Celu(x) }",
            X,
            ArgumentError,
            "the input 'x' is an array of shape (4, 6); allowed: Dask arrays. Give dask.array.from_array(x, chunks=...)",
        ),
        (
            "(float[N, M] x) => (float[N, M] y) { y = Celu(x) }",
            LAZY.astype("float64"),
            ArgumentError,
            "the input 'x' has dtype float64; allowed: float32. Convert it: x.astype('float32')",
        ),
    ],
    ids=["constant", "transpose", "declared", "numpy", "dtype"],
)
def test_what_chunks_must_not_cut(text, array, error, says):
    with pytest.raises(error) as caught:
        model(text).map_blocks(array)
    assert str(caught.value) == f"model.map_blocks: {says}"


def test_a_constant_may_lie_along_a_whole_axis():
    assert same(model(CONSTANT).map_blocks(LAZY.rechunk({1: -1})), model(CONSTANT)(X))


# ---- larger than memory


PROGRAM = ROOT / "examples" / "activate_zarr.py"


def activate_zarr(*arguments):
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def refusal(monkeypatch, capsys, *arguments):
    """The program's output, in this process, as it ends with the status 2."""
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(PROGRAM))["main"]()
    assert caught.value.code == 2
    return capsys.readouterr().err


def sizes_and_peak(done):
    assert done.returncode == 0, done.stderr
    assert "100% Completed" in done.stdout
    last = r"gelu of (.*) MiB, with at most (.*) MiB of memory for arrays\n$"
    return tuple(map(float, re.search(last, done.stdout).groups()))


@pytest.mark.matrix(share=16, pool="slow")
def test_an_array_larger_than_the_memory_for_it(tmp_path):
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed")
    source, target = tmp_path / "source.zarr", tmp_path / "target.zarr"
    size, peak = sizes_and_peak(activate_zarr(source, target, "--memory", "12"))
    assert size == 96
    assert peak <= 12
    x, y = zarr.open_array(source, mode="r"), zarr.open_array(target, mode="r")
    part = slice(10_000_000, 10_001_000)
    assert y[part].tobytes() == ogive.gelu(x[part]).tobytes()


@pytest.mark.matrix(share=16, pool="slow")
def test_large_chunks_that_are_stored_as_they_are(tmp_path, monkeypatch, capsys):
    """Two of these 10 chunks at once would take more than the memory; less memory is refused."""
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed")
    source, target = tmp_path / "source.zarr", tmp_path / "target.zarr"
    x = np.random.default_rng(0).standard_normal((10, 1 << 19), np.float32)
    zarr.create_array(source, data=x, chunks=(1, 1 << 19), compressors=None)
    assert refusal(monkeypatch, capsys, source, target, "--memory", "16").endswith(
        "error: --memory is 16, and the source has 10 chunks of 2 MiB; allowed: 19 and more. "
        "Or store the source with smaller chunks\n"
    )
    assert not target.exists()
    size, peak = sizes_and_peak(activate_zarr(source, target, "--memory", "19"))
    assert size == 20
    assert peak <= 19
    y = zarr.open_array(target, mode="r")
    assert y.chunks == (1, 1 << 19)
    assert y[:].tobytes() == ogive.gelu(x).tobytes()


def test_a_memory_that_is_none(tmp_path, monkeypatch, capsys):
    pytest.importorskip("zarr", reason="Zarr is not installed")
    said = refusal(monkeypatch, capsys, tmp_path / "source.zarr", tmp_path / "target.zarr", "--memory", "nan")
    assert said.endswith("error: --memory is nan; allowed: 8 and more\n")
    assert not list(tmp_path.iterdir())
