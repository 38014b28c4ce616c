"""The peers: how each computes an operator. One that is not installed is named and left out.

Every adapter gets the operator, its parameters and NumPy arrays; it returns a call that computes into the
peer's own output (or in place), with whatever preparation the peer allows done beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PEERS", "Case", "installed", "prepare"]

Call = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One thing to time: an operator with parameters on arrays of a shape and type."""

    operator: str
    parameters: tuple[tuple[str, float], ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    in_place: bool
    threads: int

    def arrays(self) -> list[np.ndarray]:
        """Ordinary activations: a normal distribution of width 3."""
        generator = np.random.default_rng(0)
        return [(generator.standard_normal(shape, dtype=np.float32) * 3).astype(self.dtype) for shape in self.shapes]


#: How PyTorch writes an operator: (function of tensors, function in place or None).
TORCH: dict[str, Callable[..., Any]] = {
    "celu": lambda torch, x, alpha: torch.celu(x, alpha),
    "relu": lambda torch, x: torch.relu(x),
    "tanh": lambda torch, x: torch.tanh(x),
    "shrink": lambda torch, x, bias, lambd: (
        torch.nn.functional.softshrink(x, lambd) if bias else torch.nn.functional.hardshrink(x, lambd)
    ),
    "prelu": lambda torch, x, slope: torch.nn.functional.prelu(x, slope),
    "scaled_tanh": lambda torch, x, alpha, beta: alpha * torch.tanh(beta * x),
}
TORCH_IN_PLACE: dict[str, Callable[..., Any]] = {
    "celu": lambda torch, x, alpha: torch.celu_(x, alpha),
    "relu": lambda torch, x: torch.relu_(x),
    "tanh": lambda torch, x: torch.tanh_(x),
}

#: How JAX writes it.
JAX: dict[str, Callable[..., Any]] = {
    "celu": lambda jax, x, alpha: jax.nn.celu(x, alpha),
    "relu": lambda jax, x: jax.nn.relu(x),
    "tanh": lambda jax, x: jax.numpy.tanh(x),
    "shrink": lambda jax, x, bias, lambd: jax.numpy.where(
        x > lambd, x - bias, jax.numpy.where(x < -lambd, x + bias, 0)
    ),
    "prelu": lambda jax, x, slope: jax.numpy.where(x >= 0, x, slope * x),
    "scaled_tanh": lambda jax, x, alpha, beta: alpha * jax.numpy.tanh(beta * x),
}

#: The ONNX operator, for ONNX Runtime and OpenVINO.
ONNX = {"celu": "Celu", "relu": "Relu", "tanh": "Tanh", "shrink": "Shrink", "prelu": "PRelu"}

#: The expression for numexpr.
NUMEXPR = {
    "celu": "where(x >= 0, x, alpha * expm1(x / alpha))",
    "relu": "where(x <= 0, 0, x)",
    "tanh": "tanh(x)",
    "shrink": "where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))",
    "prelu": "where(x >= 0, x, slope * x)",
    "scaled_tanh": "alpha * tanh(beta * x)",
}


def _ogive(
    name: str, parameters: dict[str, float], arrays: list[np.ndarray], in_place: bool, threads: int
) -> Call | None:
    import ogive

    ogive.set_num_threads(threads)
    function = getattr(ogive, name)
    out = arrays[0] if in_place else np.empty_like(arrays[0])
    return lambda: function(*arrays, out=out, **parameters)


def _torch(
    name: str, parameters: dict[str, float], arrays: list[np.ndarray], in_place: bool, threads: int
) -> Call | None:
    import torch

    torch.set_num_threads(threads)
    written = (TORCH_IN_PLACE if in_place else TORCH).get(name)
    if written is None:
        return None
    tensors = [torch.from_numpy(array) for array in arrays]
    function, values = written, list(parameters.values())
    torch.set_grad_enabled(False)
    return lambda: function(torch, *tensors, *values)


def _onnx_model(name: str, parameters: dict[str, float], arrays: list[np.ndarray]) -> bytes:
    from onnx import helper

    names = ["x", "y", "z"][: len(arrays)]
    kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    inputs = [helper.make_tensor_value_info(n, kind, list(a.shape)) for n, a in zip(names, arrays, strict=True)]
    output = helper.make_tensor_value_info("result", kind, list(arrays[0].shape))
    node = helper.make_node(ONNX[name], names, ["result"], **parameters)
    graph = helper.make_graph([node], "one", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    data: bytes = model.SerializeToString()
    return data


def _onnxruntime(
    name: str, parameters: dict[str, float], arrays: list[np.ndarray], in_place: bool, threads: int
) -> Call | None:
    if name not in ONNX:
        return None
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = ort.InferenceSession(_onnx_model(name, parameters, arrays), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = [ort.OrtValue.ortvalue_from_numpy(array) for array in arrays]
    for entry, value in zip(session.get_inputs(), values, strict=True):
        binding.bind_ortvalue_input(entry.name, value)
    result = values[0] if in_place else ort.OrtValue.ortvalue_from_numpy(np.empty_like(arrays[0]))
    binding.bind_ortvalue_output("result", result)
    return lambda: session.run_with_iobinding(binding)


def _openvino(
    name: str, parameters: dict[str, float], arrays: list[np.ndarray], in_place: bool, threads: int
) -> Call | None:
    if name not in ONNX:
        return None
    import openvino as ov

    core = ov.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(core.read_model(_onnx_model(name, parameters, arrays)), "CPU", settings)
    request = compiled.create_infer_request()
    out = arrays[0] if in_place else np.empty_like(arrays[0])
    tensors = [ov.Tensor(array, shared_memory=True) for array in arrays]
    result = tensors[0] if in_place else ov.Tensor(out, shared_memory=True)
    for i, tensor in enumerate(tensors):
        request.set_input_tensor(i, tensor)
    request.set_output_tensor(0, result)
    memory = (arrays, out, tensors, result)  # the request does not keep them alive

    def call() -> object:
        request.infer()
        return memory

    return call


def _jax(
    name: str, parameters: dict[str, float], arrays: list[np.ndarray], in_place: bool, threads: int
) -> Call | None:
    if in_place or name not in JAX:
        return None  # arrays are immutable
    import jax

    values = list(parameters.values())
    function = jax.jit(lambda *tensors: JAX[name](jax, *tensors, *values))
    tensors = [jax.numpy.asarray(array) for array in arrays]
    return lambda: function(*tensors).block_until_ready()


def _numexpr(
    name: str, parameters: dict[str, float], arrays: list[np.ndarray], in_place: bool, threads: int
) -> Call | None:
    if name not in NUMEXPR:
        return None
    import numexpr

    numexpr.set_num_threads(threads)
    names = dict(zip(("x", "slope"), arrays, strict=False)) | {k: np.float32(v) for k, v in parameters.items()}
    out = arrays[0] if in_place else np.empty_like(arrays[0])
    numexpr.evaluate(NUMEXPR[name], local_dict=names, out=out, casting="same_kind")
    return lambda: numexpr.re_evaluate(local_dict=names)


PEERS: dict[str, tuple[str, Callable[..., Call | None]]] = {
    "ogive": ("ogive", _ogive),
    "torch": ("torch", _torch),
    "onnxruntime": ("onnxruntime", _onnxruntime),
    "openvino": ("openvino", _openvino),
    "jax": ("jax", _jax),
    "numexpr": ("numexpr", _numexpr),
}


def installed() -> tuple[list[str], list[str]]:
    """The peers that can be imported, and those that cannot."""
    from importlib.util import find_spec

    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=2")
    present = [name for name, (module, _) in PEERS.items() if find_spec(module) is not None]
    return present, [name for name in PEERS if name not in present]


def prepare(peer: str, case: Case) -> Call | None:
    """The peer's call for a case; None if it has no such operator."""
    _, adapter = PEERS[peer]
    return adapter(case.operator, dict(case.parameters), case.arrays(), case.in_place, case.threads)
