"""The opposite of an operator, its magnitude and a negative multiple have the same bits through every door."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from tests.inputs import assert_same_bits

#: Numbers of each sign and size, zeros and infinities: as many as several blocks of a kernel hold.
X = np.concatenate(
    [
        np.float32([0.0, -0.0, np.inf, -np.inf, 1e-30, -1e-30, 40, -40, 1500, -1500]),
        np.random.default_rng(3).normal(0, 3, 1014).astype(np.float32),
    ]
)


@ogive.operator(types=["float32"])
def opposite(x: Any) -> Any:
    """The opposite of gelu."""
    return -ogive.gelu(x)


@ogive.operator(types=["float32"])
def magnitude(x: Any) -> Any:
    """The magnitude of softsign."""
    return abs(ogive.softsign(x))


@ogive.operator(types=["float32"])
def multiple(x: Any) -> Any:
    """A negative multiple of softsign, which is zero at infinity of no factor."""
    return ogive.softsign(x) * -2


RIGHT: dict[str, tuple[ogive.operators.operator.Operator, np.ndarray]] = {
    "opposite": (opposite, -ogive.gelu(X)),
    "magnitude": (magnitude, abs(ogive.softsign(X))),
    "multiple": (multiple, ogive.softsign(X) * np.float32(-2)),
}


def of_exported_c(op: Any, tmp_path: Path) -> np.ndarray:
    if shutil.which("gcc") is None:
        pytest.skip("not installed: gcc")
    ogive.export([op], form="c", name="signs").write(tmp_path)
    command = ["gcc", "-std=c11", "-O2", "-shared", "-fPIC", "-o", "signs.so", "signs.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    y = np.empty_like(X)
    function = getattr(ctypes.CDLL(str(tmp_path / "signs.so")), f"ogive_{op.__name__}_float32")
    arrays = (ctypes.c_void_p(array.ctypes.data) for array in (X, y))
    function(*arrays, ctypes.c_size_t(0), ctypes.c_size_t(X.size))
    return y


def of_opencl(op: Any, tmp_path: Path) -> np.ndarray:
    cl = pytest.importorskip("pyopencl", reason="not installed: pyopencl (pip install 'ogive[opencl]')")
    from pyopencl import array

    able = [device for device in ogive.opencl.devices() if not device.why_not]
    if not able:
        pytest.skip("no OpenCL device that can compute (Debian: pocl-opencl-icd)")
    queue = cl.CommandQueue(cl.Context([able[0].handle]))
    found: np.ndarray = able[0].function(op)(array.to_device(queue, X)).get()
    return found


def of_torch(op: Any, tmp_path: Path) -> np.ndarray:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    found: np.ndarray = ogive.torch.wrap(op)(torch.from_numpy(X.copy())).numpy()
    return found


def of_jax(op: Any, tmp_path: Path) -> np.ndarray:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    import ogive.jax

    return np.asarray(jax.jit(ogive.jax.function(op))(jax.numpy.asarray(X)))


def of_onnx(op: Any, tmp_path: Path) -> np.ndarray:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    body = {
        "opposite": "g = Gelu(x) y = Neg(g)",
        "magnitude": "g = Softsign(x) y = Abs(g)",
        "multiple": "c = Constant <value = float {-2.0}> () g = Softsign(x) y = Mul(g, c)",
    }[op.__name__]
    text = f'<ir_version: 10, opset_import: ["" : 20]> m (float[{X.size}] x) => (float[{X.size}] y) {{ {body} }}'
    (y,) = ogive.onnx.load(onnx.parser.parse_model(text)).run({"x": X}).values()
    return np.asarray(y)


def of_directml(op: Any, tmp_path: Path) -> np.ndarray:
    graph = dml.Graph(dml.Device("6_4"))
    x = graph.input([X.size], "float32")
    y = {
        "opposite": lambda: -dml.activation_gelu(x),
        "magnitude": lambda: dml.abs(dml.activation_softsign(x)),
        # A factor would be one of an identity, which adds the bias 0 to it: that makes 0 of -0.
        "multiple": lambda: -(dml.activation_softsign(x) + dml.activation_softsign(x)),
    }[op.__name__]()
    (found,) = graph.compile([y])({x: X})
    return np.asarray(found)


def of_other_targets(op: Any, tmp_path: Path) -> np.ndarray:
    """A process whose target is plain x86-64."""
    if "x86-64" not in ogive.backends.target.runnable_targets():
        pytest.skip("this machine does not run code for x86-64")
    np.save(tmp_path / "x.npy", X)
    code = (
        "import sys, numpy as np\nfrom tests.cpu import test_signs_through_every_door as t\n"
        f"np.save(sys.argv[2], t.{op.__name__}(np.load(sys.argv[1])))"
    )
    files = [str(tmp_path / name) for name in ("x.npy", "y.npy")]
    environment = os.environ | {"OGIVE_TARGET": "x86-64"}
    subprocess.run([sys.executable, "-c", code, *files], check=True, env=environment, cwd=Path(__file__).parents[2])
    found: np.ndarray = np.load(files[1])
    return found


DOORS: list[Callable[[Any, Path], np.ndarray]] = [
    of_exported_c,
    of_opencl,
    of_torch,
    of_jax,
    of_onnx,
    of_directml,
    of_other_targets,
]


@pytest.mark.parametrize("name", RIGHT)
def test_a_formula_around_an_operator_is_right(name: str) -> None:
    op, right = RIGHT[name]
    assert_same_bits(op(X), right, X)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("door", DOORS, ids=lambda d: d.__name__)
def test_every_door_gives_the_same_bits(door: Callable[[Any, Path], np.ndarray], name: str, tmp_path: Path) -> None:
    op, right = RIGHT[name]
    assert_same_bits(door(op, tmp_path), right, X)
