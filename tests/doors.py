"""Formulas drawn at random through every door, by equal bits: torch, JAX, OpenCL, exported C, and graphs of ONNX, DirectML and WebNN.

A formula of `tests.compositions` goes through the doors that take an operator of one's own, and has the operator's bits there. A
graph is a list of nodes that ONNX, DirectML and WebNN all have. It goes through these, and has the bits of its nodes computed one
after the other, each by an operator of one's own.

    python -m tests.doors --seeds 0 100

prints what differs, for every door and type.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ogive
from tests import compositions

__all__ = ["FORMULA_DOORS", "GRAPH_DOORS", "FormulaDoor", "Graph", "formula_differs", "graph_differs", "lacks"]

Arrays = Sequence[np.ndarray]


def operands_of(leaves: int, kind: str, count: int, seed: int) -> list[np.ndarray]:
    """Operands of `compositions`; every other element is a zero, a subnormal, one of the ends of the type, infinite or NaN."""
    import ml_dtypes

    generator = np.random.default_rng(seed)
    found = compositions.operands(leaves, kind, count, seed)
    for x in found:
        ends = ml_dtypes.finfo(x.dtype)
        sizes = [
            0,
            ends.smallest_subnormal,
            ends.tiny - ends.smallest_subnormal,
            ends.tiny,
            1,
            ends.max,
            np.inf,
            np.nan,
        ]
        taken = generator.random(count) < 0.5
        chosen = np.array(sizes, x.dtype)[generator.integers(len(sizes), size=count)]
        x[taken] = np.where(generator.random(count) < 0.5, chosen, -chosen)[taken]
    return found


# ---- formulas


def through_torch(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    import torch

    import ogive.torch

    given = [torch.from_numpy(x.view(np.int16) if kind == "bfloat16" else x) for x in operands]
    if kind != "bfloat16":
        return np.asarray(ogive.torch.wrap(op)(*given).numpy())
    found = ogive.torch.wrap(op)(*(x.view(torch.bfloat16) for x in given))
    return np.asarray(found.view(torch.int16).numpy()).view(operands[0].dtype)


def through_jax(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    import jax

    import ogive.jax

    with jax.enable_x64(kind == "float64"):
        return np.asarray(jax.jit(ogive.jax.function(op))(*map(jax.numpy.asarray, operands)))


def through_layouts(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    """Half of them backwards, half transposed, and into every other element, beside which nothing changes."""
    memory = np.full(2 * operands[0].size, 7, operands[0].dtype)
    results = memory[::2]
    half = operands[0].size // 2
    op(*(x[:half][::-1] for x in operands), out=results[:half][::-1])
    op(*(x[half:].reshape(2, -1).T for x in operands), out=results[half:].reshape(2, -1).T)
    assert (memory[1::2] == 7).all()
    return results


def through_overlaps(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    """Into the first operand's own memory, three elements behind where it is read."""
    memory = np.concatenate([operands[0], operands[0][:3]])
    return np.asarray(op(memory[:-3], *operands[1:], out=memory[3:]))


def through_masks(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    """`where=`, each half of the elements in a call of its own."""
    results = np.empty_like(operands[0])
    mask = np.arange(results.size) % 3 == 0
    op(*operands, out=results, where=mask)
    return np.asarray(op(*operands, out=results, where=~mask))


def through_dask(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    from dask import array

    return np.asarray(op(*(array.from_array(x, chunks=7) for x in operands)).compute(scheduler="synchronous"))


@cache
def _queue() -> Any:
    import pyopencl as cl

    able = [device for device in ogive.opencl.devices() if not device.why_not]
    return cl.CommandQueue(cl.Context([able[0].handle])) if able else None


def through_opencl(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    import pyopencl.array as cla

    return np.asarray(ogive.opencl.function(op)(*(cla.to_device(_queue(), x) for x in operands)).get())


def through_c(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    """The exported file, compiled by cc. Its self-test runs, too."""
    exported = ogive.export(op, kind, name="composed", self_test=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in exported.files.items():
            Path(folder, name).write_bytes(text)
        sources = [name for name in exported.files if name.endswith(".c")]
        subprocess.run(["cc", "-O1", "-o", "composed_test", *sources], cwd=folder, check=True)
        subprocess.run(["./composed_test"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        library = [name for name in sources if not name.endswith("_test.c")]
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", "composed.so", *library], cwd=folder, check=True)
        function = getattr(ctypes.CDLL(str(Path(folder, "composed.so"))), exported.entries[0])
    results = np.empty_like(operands[0])
    function(
        *(ctypes.c_void_p(x.ctypes.data) for x in (*operands, results)),
        ctypes.c_size_t(0),
        ctypes.c_size_t(results.size),
    )
    return results


def without_enclosures(op: Any, kind: str, operands: Arrays) -> np.ndarray:
    """The results of the levels that C has: it lacks the last one."""
    from ogive.engine.computation import make_ufunc

    signature = next(s for s in op.signatures if all(t.name == kind for t in s.inputs))
    return np.asarray(make_ufunc("composed", op.computation(signature), has_enclosures=False)(*operands))


class FormulaDoor(NamedTuple):
    """A way that an operator of one's own takes."""

    through: Callable[[Any, str, Arrays], np.ndarray]
    needs: str
    """A module, or a program."""
    wanted: Callable[[Any, str, Arrays], np.ndarray] = lambda op, kind, operands: np.asarray(op(*operands))


FORMULA_DOORS = {
    "torch": FormulaDoor(through_torch, "torch"),
    "jax": FormulaDoor(through_jax, "jax"),
    "opencl": FormulaDoor(through_opencl, "pyopencl"),
    "layouts": FormulaDoor(through_layouts, ""),
    "overlaps": FormulaDoor(through_overlaps, ""),
    "masks": FormulaDoor(through_masks, ""),
    "dask": FormulaDoor(through_dask, "dask"),
    "c": FormulaDoor(through_c, "cc", without_enclosures),
}


def lacks(door: str) -> str:
    """The module or program that a door needs and this machine lacks, or nothing."""
    needs = FORMULA_DOORS[door].needs if door in FORMULA_DOORS else GRAPH_DOORS[door].needs
    if needs and shutil.which(needs) is None and find_spec(needs) is None:
        return f"not installed: {needs}"
    if door == "opencl" and _queue() is None:
        return "no OpenCL device that can compute (Debian: pocl-opencl-icd)"
    return ""


def formula_differs(seed: int, door: str, kind: str, count: int = 64) -> str:
    """The difference of a formula's results behind a door, or nothing."""
    tree, leaves = compositions.drawn(seed)
    op = ogive.operator(compositions.formula_of(tree, leaves))
    operands = operands_of(leaves, kind, count, seed)
    with np.errstate(all="ignore"):
        wanted = FORMULA_DOORS[door].wanted(op, kind, operands)
        found = FORMULA_DOORS[door].through(op, kind, operands)
    return f"{compositions.text(tree)}: {difference}" if (difference := _difference(found, wanted)) else ""


def _difference(found: np.ndarray, wanted: np.ndarray) -> str:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    wide = [np.asarray(x, np.float64) for x in (found, wanted)]
    same = (wide[0] == wide[1]) & (np.signbit(wide[0]) == np.signbit(wide[1])) | np.isnan(wide[0]) & np.isnan(wide[1])
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{np.count_nonzero(~same)} of {same.size}, at {at} {wide[0][at]!r}, not {wide[1][at]!r}"


# ---- graphs of standards


class Kind(NamedTuple):
    """A kind of node: our formula, and the names in standards; an empty name is none."""

    ours: Callable[..., Any]
    onnx: str
    directml: str
    webnn: str
    operands: int = 1
    is_row_wise: bool = False


def _kinds() -> dict[str, Kind]:
    o = ogive
    return {
        "abs": Kind(abs, "Abs", "abs", "abs"),
        "neg": Kind(lambda x: -x, "Neg", "negate", "neg"),
        "relu": Kind(o.relu, "Relu", "activation_relu", "relu"),
        "elu": Kind(o.elu, "Elu", "activation_elu", "elu"),
        "celu": Kind(o.celu, "", "activation_celu", ""),
        "selu": Kind(o.selu, "Selu", "activation_scaled_elu", ""),
        "gelu": Kind(o.gelu, "Gelu", "activation_gelu", "gelu"),
        "sigmoid": Kind(o.sigmoid, "Sigmoid", "activation_sigmoid", "sigmoid"),
        "mish": Kind(o.mish, "Mish", "", ""),
        "softplus": Kind(o.softplus, "Softplus", "activation_softplus", "softplus"),
        "softsign": Kind(o.softsign, "Softsign", "activation_softsign", "softsign"),
        "hard_swish": Kind(o.hard_swish, "HardSwish", "", "hardSwish"),
        "tanh": Kind(o.tanh, "Tanh", "tanh", "tanh"),
        "erf": Kind(o.erf, "Erf", "erf", "erf"),
        "exp": Kind(o.exp, "Exp", "exp", "exp"),
        "log": Kind(o.log, "Log", "log", "log"),
        "sqrt": Kind(o.sqrt, "Sqrt", "sqrt", "sqrt"),
        "reciprocal": Kind(lambda x: 1 / x, "Reciprocal", "recip", "reciprocal"),
        "sin": Kind(o.sin, "Sin", "sin", "sin"),
        "cos": Kind(o.cos, "Cos", "cos", "cos"),
        "tan": Kind(o.tan, "Tan", "tan", "tan"),
        "asinh": Kind(o.asinh, "Asinh", "asinh", ""),
        "atan": Kind(o.atan, "Atan", "atan", ""),
        "sinh": Kind(o.sinh, "Sinh", "sinh", ""),
        "floor": Kind(np.floor, "Floor", "floor", "floor"),
        "ceil": Kind(np.ceil, "Ceil", "ceil", "ceil"),
        "round": Kind(np.rint, "Round", "round", "roundEven"),
        "add": Kind(lambda a, b: a + b, "Add", "add", "add", 2),
        "sub": Kind(lambda a, b: a - b, "Sub", "subtract", "sub", 2),
        "mul": Kind(lambda a, b: a * b, "Mul", "multiply", "mul", 2),
        "div": Kind(lambda a, b: a / b, "Div", "divide", "div", 2),
        "min": Kind(ogive.formula.smaller, "Min", "min", "min", 2),
        "max": Kind(ogive.formula.larger, "Max", "max", "max", 2),
        "softmax": Kind(o.softmax, "Softmax", "activation_softmax", "softmax", is_row_wise=True),
        "log_softmax": Kind(o.log_softmax, "LogSoftmax", "activation_log_softmax", "", is_row_wise=True),
    }


KINDS = _kinds()


@cache
def _own(name: str) -> Any:
    """A node's operator as one's own; rows are the catalogue's."""
    kind = KINDS[name]
    if kind.is_row_wise:
        return kind.ours
    ours = kind.ours
    return ogive.operator(lambda x: ours(x)) if kind.operands == 1 else ogive.operator(lambda a, b: ours(a, b))


class Graph(NamedTuple):
    """Nodes in order: a name, and the places of its operands. Places 0 to 3 are the inputs `INPUTS`; results follow."""

    nodes: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[int, ...]

    def __str__(self) -> str:
        steps = [
            f"v{i} = {name}({', '.join(f'v{k}' for k in at)})" for i, (name, at) in enumerate(self.nodes, len(INPUTS))
        ]
        return "; ".join([*steps, f"results {', '.join(f'v{k}' for k in self.outputs)}"])


#: The batch, a row that stands for each of the batch, one number for each of the batch, and a number without axes.
INPUTS = ("x", "row", "each", "number")


def drawn_graph(seed: int, door: str) -> Graph:
    """A graph of nodes that a door's standard has."""
    generator = np.random.default_rng(seed)
    names = [name for name, kind in KINDS.items() if getattr(kind, door)]
    nodes: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(int(generator.integers(2, 9))):
        name, count = names[generator.integers(len(names))], len(INPUTS) + len(nodes)
        # the first operand has the batch, so that results have; new values come before old ones
        wide = [0, *range(len(INPUTS), count)]
        first = wide[-1 - int(generator.integers(min(3, len(wide))))]
        at = (first, int(generator.integers(count)))[: KINDS[name].operands]
        nodes.append((name, at if generator.integers(2) or KINDS[name].is_row_wise else at[::-1]))
    last = len(INPUTS) + len(nodes) - 1
    outputs = {last, int(generator.integers(len(INPUTS), last + 1))}
    return Graph(tuple(nodes), tuple(sorted(outputs)))


def drawn_arrays(seed: int, kind: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    shapes = [shape, shape[-1:], (*shape[:1], *(1 for _ in shape[1:])), ()]
    return [operands_of(1, kind, math.prod(of), seed * 4 + i)[0].reshape(of) for i, of in enumerate(shapes)]


def by_hand(graph: Graph, arrays: Arrays) -> list[np.ndarray]:
    values = list(arrays)
    for name, at in graph.nodes:
        values.append(np.asarray(_own(name)(*(values[k] for k in at))))
    return [values[k] for k in graph.outputs]


def onnx_model(graph: Graph, arrays: Arrays) -> Any:
    """The graph as a model of any batch; the inputs are v0 to v3."""
    from onnx import helper

    type_ = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    nodes = [
        helper.make_node(
            KINDS[name].onnx, [f"v{k}" for k in at], [f"v{i}"], **({"axis": -1} if KINDS[name].is_row_wise else {})
        )
        for i, (name, at) in enumerate(graph.nodes, len(INPUTS))
    ]
    shapes = [("B", *arrays[0].shape[1:]), arrays[1].shape, ("B", *arrays[2].shape[1:]), ()]
    inputs = [helper.make_tensor_value_info(f"v{i}", type_, shape) for i, shape in enumerate(shapes)]
    outputs = [helper.make_tensor_value_info(f"v{k}", type_, None) for k in graph.outputs]
    made = helper.make_graph(nodes, "random", inputs, outputs)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def through_onnx(graph: Graph, kind: str, arrays: Sequence[Arrays]) -> Iterator[list[np.ndarray]]:
    """One model for all batches, fused; and node by node."""
    import ogive.onnx

    model = onnx_model(graph, arrays[0])
    models = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    for given in arrays:
        named = {f"v{i}": x for i, x in enumerate(given)}
        fused, plain = (_listed(one.run(named)) for one in models)
        for a, b in zip(fused, plain, strict=True):
            if _difference(a, b):
                yield fused
                break
        else:
            yield plain


def _listed(found: Any) -> list[np.ndarray]:
    if isinstance(found, dict):
        return list(found.values())
    return list(found) if isinstance(found, (tuple, list)) else [found]


def through_directml(graph: Graph, kind: str, arrays: Sequence[Arrays]) -> Iterator[list[np.ndarray]]:
    """Tensors have sizes of their own, so each batch has a graph. There are no tensors without axes, and none of nothing."""
    import ogive.directml as dml

    for given in arrays:
        full = given[0].shape
        builder = dml.Graph(dml.Device("6_4"))
        sources = [builder.input([1] * (len(full) - x.ndim) + list(x.shape), x.dtype) for x in given]
        values = [dml.broadcast(x, list(full)) for x in sources]
        for name, at in graph.nodes:
            more = {"axes": [len(full) - 1]} if KINDS[name].is_row_wise else {}
            values.append(getattr(dml, KINDS[name].directml)(*(values[k] for k in at), **more))
        compiled = builder.compile([values[k] for k in graph.outputs])
        yield _listed(compiled({source: x.reshape(source.shape) for source, x in zip(sources, given, strict=True)}))


def through_webnn(graph: Graph, kind: str, arrays: Sequence[Arrays]) -> Iterator[list[np.ndarray]]:
    """Operands have shapes of their own, so each batch has a graph. Sizes are at least 1."""
    from ogive.webnn import MLContext, MLGraphBuilder

    for given in arrays:
        builder = MLGraphBuilder(MLContext())
        named = {f"v{i}": x for i, x in enumerate(given)}
        values = [builder.input(name, {"dataType": kind, "shape": x.shape}) for name, x in named.items()]
        for name, at in graph.nodes:
            method, operands = getattr(builder, KINDS[name].webnn), [values[k] for k in at]
            values.append(
                method(operands[0], len(values[at[0]].shape) - 1) if KINDS[name].is_row_wise else method(*operands)
            )
        made = builder.build({f"v{k}": values[k] for k in graph.outputs})
        used = {f"v{k}" for k in _used(graph)}
        yield _listed(made({name: x for name, x in named.items() if name in used}))


def _used(graph: Graph) -> set[int]:
    """The inputs that results depend on."""
    wanted = set(graph.outputs)
    for i, (_, at) in reversed([*enumerate(graph.nodes, len(INPUTS))]):
        wanted |= {*at} if i in wanted else set()
    return {k for k in wanted if k < len(INPUTS)}


class GraphDoor(NamedTuple):
    """A standard whose graphs are computed."""

    through: Callable[[Graph, str, Sequence[Arrays]], Iterator[list[np.ndarray]]]
    needs: str
    types: tuple[str, ...]
    batches: tuple[int, ...]
    """The lengths of the first axis, one after the other; the second is 7 or 1."""


GRAPH_DOORS = {
    "onnx": GraphDoor(through_onnx, "onnx", ("float32", "float16", "bfloat16", "float64"), (3, 1, 0, 5, 3)),
    "directml": GraphDoor(through_directml, "", ("float32", "float16"), (3, 1)),
    "webnn": GraphDoor(through_webnn, "", ("float32", "float16"), (3, 1)),
}


def graph_differs(seed: int, door: str, kind: str) -> str:
    """The difference of a graph's results behind a door, or nothing."""
    graph = drawn_graph(seed, door)
    length = (7, 1, 40)[seed % 3]
    shapes = [(batch, length) if seed % 2 else (batch, 2, length) for batch in GRAPH_DOORS[door].batches]
    arrays = [drawn_arrays(seed + place, kind, shape) for place, shape in enumerate(shapes)]
    with np.errstate(all="ignore"):
        for shape, given, found in zip(shapes, arrays, GRAPH_DOORS[door].through(graph, kind, arrays), strict=True):
            for place, (result, wanted) in enumerate(zip(found, by_hand(graph, given), strict=True)):
                result = result.reshape(wanted.shape) if door == "directml" and result.size == wanted.size else result
                if difference := _difference(result, wanted):
                    return f"{graph} of {shape}: result {place}: {difference}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100), metavar=("FIRST", "END"))
    parser.add_argument("--doors", nargs="+", default=[*FORMULA_DOORS, *GRAPH_DOORS])
    parser.add_argument("--kinds", nargs="+", default=list(compositions.FORMATS))
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    doors = []
    for door in chosen.doors:
        if why := lacks(door):
            print(f"{door}: {why}")
        else:
            doors.append(door)
    for seed in range(*chosen.seeds):
        for door in doors:
            for kind in chosen.kinds:
                if door in GRAPH_DOORS and kind not in GRAPH_DOORS[door].types:
                    continue
                try:
                    found = (graph_differs if door in GRAPH_DOORS else formula_differs)(seed, door, kind)
                except Exception as failure:  # a failure is a finding: the run goes on
                    found = f"{type(failure).__name__}: {failure}"
                counts[f"{door} {kind}"] += 1
                if found:
                    counts["differ"] += 1
                    print(f"seed {seed}: {door} {kind}: {found}", flush=True)
        if seed % 20 == 19:
            print(f"... {seed}: {dict(counts)}", flush=True)
    print(f"{dict(counts)}; differ {counts['differ']}")


if __name__ == "__main__":
    main()
