"""Trained models that other packages bring along: they load, whole or partially, and have ONNX Runtime's results.

The packages are no dependencies of the tests. They need nothing but to lie on the path of Python:

    pip install --no-deps --target models rapidocr-onnxruntime magika silero-vad
    PYTHONPATH=models python -m pytest -s tests/onnxruntime/test_models_of_wheels.py

The wheels have 15, 16 and 11 MB. With ``-s`` each model's parts and largest difference are printed.
"""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import ogive.onnx
import ogive.onnxruntime
from ogive.cli import _status
from ogive.errors import UnsupportedError

#: The packages, and the sizes of axes that their models leave open, by the names of files and inputs.
PACKAGES = ("rapidocr_onnxruntime", "magika", "silero_vad")
SHAPES = {
    ("det", "x"): (1, 3, 96, 160),
    ("rec", "x"): (2, 3, 48, 160),
    ("cls", "x"): (2, 3, 48, 192),
    ("model", "bytes"): (2, 2048),
    ("sequence", "input"): (3, 576),
    ("vad", "input"): (1, 576),
    ("vad", "state"): (2, 1, 128),
}

#: The largest difference, relative to the largest magnitude of an output: what float32 sums in another order may differ
#: by in so many layers.
TOLERANCE = 1e-4


def _files():
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        for folder in () if found is None else found.submodule_search_locations or ():
            yield from sorted(Path(folder).rglob("*.onnx"))


FILES = tuple(_files())
MISSING = [name for name in PACKAGES if not any(name in path.parts for path in FILES)]
REASON = f"not installed: {', '.join(MISSING)} (pip install --no-deps)"
each_file = pytest.mark.parametrize(
    "path", FILES or (pytest.param(Path(), marks=pytest.mark.skip(reason=REASON)),), ids=lambda path: path.stem
)


@pytest.fixture(scope="module")
def runtime():
    return pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def _session(runtime, path, options=None):
    options = runtime.SessionOptions() if options is None else options
    options.log_severity_level = 3  # the files have initialisers that nothing uses
    return runtime.InferenceSession(str(path), options)


def _inputs(session, path):
    random = np.random.default_rng(8)
    found = {}
    for info in session.get_inputs():
        shapes = (shape for (part, name), shape in SHAPES.items() if part in path.stem and name == info.name)
        shape = next(shapes, info.shape)
        if info.type == "tensor(float)":
            found[info.name] = random.standard_normal(shape).astype(np.float32)
        elif info.name == "sr":
            found[info.name] = np.array(16000, np.int64)
        else:
            found[info.name] = random.integers(0, 256, shape).astype(np.int32)
    return found


def _difference(results, wanted):
    """The largest difference of outputs, relative to the largest magnitude in each of them."""
    for result, right in zip(results, wanted, strict=True):
        assert (result.shape, result.dtype) == (right.shape, right.dtype)
        assert np.isfinite(right).all()
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1)) for a, b in zip(results, wanted, strict=True))


@pytest.mark.skipif(bool(MISSING), reason=REASON)
def test_the_packages_have_the_models():
    assert len(FILES) >= 5


@pytest.mark.matrix(share=9)
@each_file
def test_a_model_has_the_results_of_onnx_runtime(runtime, path):
    session = _session(runtime, path)
    inputs = _inputs(session, path)
    wanted = session.run(None, inputs)
    try:
        model = ogive.onnx.load(path)
    except UnsupportedError:
        model = ogive.onnx.load(path, partial=True)
    for _ in range(2):  # the first run, and one by plans
        results = list(model.run(inputs).values())
        difference = _difference(results, wanted)
        assert difference <= TOLERANCE
    print(f"\n{path.name}: {model!r}: {difference:.1e}")


@pytest.mark.matrix(share=12)
@each_file
def test_an_optimised_model_has_the_results_of_onnx_runtime(runtime, path):
    inputs = _inputs(session := _session(runtime, path), path)
    made = ogive.onnxruntime.optimize(path, accuracy="fast")
    difference = _difference(made.session().run(None, inputs), session.run(None, inputs))
    assert difference <= TOLERANCE
    print(f"\n{path.name}, {made.report.operators} operators of Ogive: {difference:.1e}")


@each_file
def test_the_command_line_takes_the_models(path, capsys, tmp_path):
    assert _status(["split", str(path), "--output", str(tmp_path / "parts")]) == 1
    assert "refused: " in capsys.readouterr().out
    assert len(list((tmp_path / "parts").iterdir())) >= 2
    assert _status(["check", str(path)]) == 1
    assert re.match(r"\d+ of \d+ operators checked, .* not checked; ", capsys.readouterr().out.splitlines()[-1])
