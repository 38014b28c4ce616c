"""Everything that computes reaches the workers of a real cluster of two processes."""

import importlib
import sys
from concurrent.futures import TimeoutError as Late

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from ogive.errors import ArgumentError

pytest.importorskip("dask", reason="the cluster is Dask's")
distributed = pytest.importorskip("distributed", reason="the cluster is Dask's")
pytest.importorskip("dask.array", reason="chunks are Dask's arrays")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
from dask.base import tokenize  # noqa: E402

from tests.cpu.picklable import V, X, built, notebook, onnx_model, shrink  # noqa: E402

SECONDS = 60

MODULE = """
import ogive

@ogive.operator
def tripled(x, *, more=0.0):
    return 3 * x + more
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two worker processes. They can import `own_module`, but nothing of what `notebook` defines."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "own_module.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": {"PYTHONPATH": str(folder)}}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            local_directory=str(folder),
        ) as cluster,
        distributed.Client(cluster, timeout=SECONDS) as client,
    ):
        client.wait_for_workers(2, timeout=SECONDS)
        yield client
    sys.path.remove(str(folder))
    sys.modules.pop("own_module", None)


def compiled_operator():
    device = dml.Device()
    return device.CompileOperator(shrink(device)).dispatch


def compiled_graph():
    compiled, _ = built()
    compiled.initialize({"weight": np.float32([[1, 2, 3]])})
    return compiled


ROWS = np.float32([[1, 3, -1], [2, 2, 5]])

#: Every kind: what makes it, and an argument for it.
KINDS = {
    "catalogue": (lambda: ogive.celu, X),
    "bound": (lambda: ogive.celu.bind(alpha=1.5), X),
    "gradient": (lambda: ogive.grad(ogive.gelu), X),
    "second gradient, of __main__": (lambda: ogive.grad(ogive.grad(notebook().leaky)), X),
    "row": (lambda: ogive.softmax, ROWS),
    "row, bound": (lambda: ogive.softmax.bind(), ROWS),
    "own, in a module": (lambda: importlib.import_module("own_module").tripled, X),
    "own, in a module, bound": (lambda: importlib.import_module("own_module").tripled.bind(more=1.0), X),
    "own, of __main__": (lambda: notebook().leaky, X),
    "own, of __main__, bound": (lambda: notebook().leaky.bind(slope=0.3), X),
    "own, row": (lambda: notebook().share, ROWS),
    "own, row, bound": (lambda: notebook().share.bind(), ROWS),
    "own, lambda": (lambda: notebook().double, X),
    "own, of a function, with choices": (lambda: notebook().either, X),
    "own, of a function, with choices, bound": (lambda: notebook().either.bind(kind="curve", gain=3.0), X),
    "DirectML operator": (compiled_operator, [V]),
    "DirectML graph": (compiled_graph, {"x": V[None]}),
    "ONNX model": (onnx_model, V),
}
ON_ARRAYS = {name: row for name, row in KINDS.items() if isinstance(row[1], np.ndarray) and name != "ONNX model"}


def same(a, b):
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_submit(client, kind):
    make, argument = KINDS[kind]
    thing = make()
    workers = list(client.nthreads())  # scheduler_info() is overwritten by a timer, which asks for no workers
    assert len(workers) == 2
    for worker in workers:
        future = client.submit(thing, argument, workers=[worker], pure=False)
        try:
            assert same(future.result(timeout=SECONDS), thing(argument))
        except Late:
            pytest.fail(f"no answer of {worker} in {SECONDS} seconds")


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("kind", ON_ARRAYS)
def test_chunks(client, kind):
    """The ways for arrays: the call itself, and as the function of map_blocks."""
    make, part = ON_ARRAYS[kind]
    thing = make()
    whole = np.concatenate([part] * 4)
    array = da.from_array(whole, chunks=(len(part), *part.shape[1:]))
    for lazy in (thing(array), da.map_blocks(thing, array, dtype=part.dtype)):
        assert isinstance(lazy, da.Array)
        assert same(client.compute(lazy).result(timeout=SECONDS), thing(whole))


def test_what_comes_back(client):
    """An operator that a worker makes of one, and its result again: there and back."""
    leaky = notebook().leaky
    bound = client.submit(lambda op: op.bind(slope=0.3), leaky).result(timeout=SECONDS)
    assert repr(bound) == "<ufunc 'leaky(slope=0.3)'>"
    assert same(bound(X), leaky(X, slope=0.3))
    token = client.submit(tokenize, leaky, pure=False).result(timeout=SECONDS)
    assert token == tokenize(leaky)


def test_equal_contents_are_one_task(client):
    first, second = client.submit(notebook().leaky, X), client.submit(notebook().leaky, X)
    assert first.key == second.key
    assert client.submit(notebook().double, X).key != first.key
    assert same(second.result(timeout=SECONDS), notebook().leaky(X))


def test_models_and_gradients_by_chunks(client):
    """ONNX models, and gradients of several operands, as lazy arrays."""
    parser = pytest.importorskip("onnx", reason="onnx is not installed").parser
    text = '<ir_version: 8, opset_import: ["" : 20]> m (float[N] x) => (float[N] y) { h = Celu(x) y = Mul(h, x) }'
    model = ogive.onnx.load(parser.parse_model(text))
    lazy = da.from_array(np.concatenate([V] * 4), chunks=3)
    assert same(client.compute(model.map_blocks(lazy)).result(timeout=SECONDS), model(np.concatenate([V] * 4)))
    x = np.concatenate([ROWS] * 4)
    array = da.from_array(x, chunks=(2, 3))
    ones, slope = np.ones_like(x), np.float32([0.1, 0.2, 0.3])
    of_x, of_slope = client.compute(list(ogive.vjp(ogive.prelu)(da.ones_like(array), array, slope)))
    right_x, right_slope = ogive.vjp(ogive.prelu)(ones, x, slope)
    assert same(of_x.result(timeout=SECONDS), right_x)
    assert np.allclose(of_slope.result(timeout=SECONDS), right_slope, rtol=1e-6)


def test_named_rows(client):
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    x = np.concatenate([ROWS] * 4)
    named = xr.DataArray(da.from_array(x, chunks=(2, 3)), dims=("time", "channel"))
    lazy = ogive.softmax(named, dim="channel")
    assert isinstance(lazy.data, da.Array)
    assert same(client.compute(lazy.data).result(timeout=SECONDS), ogive.softmax(x))
    with pytest.raises(ogive.errors.ShapeError, match=r"chunk"):
        ogive.softmax(named, dim="time")


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_methods_of_ufuncs_are_refused_by_name(method):
    with pytest.raises(ArgumentError) as caught:
        getattr(ogive.add, method)(da.ones((4, 3), chunks=2))
    assert str(caught.value) == (
        f"add: {method} was called with a dask.Array, whose library does not take this method; allowed: NumPy arrays, and what "
        "exchanges memory. Use its own reductions, such as x.sum(), or give a NumPy array"
    )
