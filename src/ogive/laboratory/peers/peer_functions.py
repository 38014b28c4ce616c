"""A peer's operator as a function of NumPy arrays, to be measured as Ogive's is.

>>> version("abacus")
Traceback (most recent call last):
ogive.errors.ArgumentError: peer: is 'abacus'; allowed: torch, onnxruntime, openvino, jax, tensorflow
"""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ogive.errors import ArgumentError, MissingPackageError, UnsupportedError, message
from ogive.laboratory.peers.expressions import JAX, ONNX, TENSORFLOW, TORCH, expression

Function = Callable[..., np.ndarray]


def function(
    peer: str, operator: str, names: tuple[str, ...], parameters: Mapping[str, Any], changed: Mapping[str, Any]
) -> Function:
    """How a peer computes an operator of these tensors, with these parameters, of which some are not the defaults."""
    version(peer)
    name, numbers = operator, dict(parameters)
    approximate = numbers.pop("approximate", "none")
    if approximate != "none":
        name = f"{operator}_{approximate}"
    given = {parameter: value for parameter, value in changed.items() if parameter in numbers}
    return PEERS[peer](name, names, numbers, given)


def version(peer: str) -> str:
    """The peer's name and version; an error if it is not there."""
    if peer not in PEERS:
        raise ArgumentError(message("peer", f"is {peer!r}", ", ".join(PEERS)))
    # Set before it is imported: one thread, and no search for other devices.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        module = importlib.import_module(peer)
        if peer in ("onnxruntime", "openvino"):
            importlib.import_module("onnx")  # the models that they get are written with it
    except ImportError as error:
        raise MissingPackageError(
            message(peer, f"the package {error.name} is not installed", way_out=f"Install it: pip install {error.name}")
        ) from None
    return f"{peer} {str(module.__version__).split('-')[0]}"


def _written(
    table: dict[str, str], names: tuple[str, ...], operator: str, parameters: dict[str, Any], given: dict[str, Any]
) -> Callable[..., Any]:
    """The function that somebody would write who uses the peer; its module is the first argument."""
    text = expression(table, operator, parameters)
    used = {n.id for n in ast.walk(ast.parse(text or "0")) if isinstance(n, ast.Name)}
    if text is None or not set(given) <= used:
        raise UnsupportedError(message(operator, "the peer does not have it with these parameters"))
    module = next(iter(used & {"torch", "jax", "tensorflow"}), "_")
    written: Callable[..., Any] = eval(f"lambda {module}, {', '.join(names)}: {text}", dict(parameters))
    return written


def _torch(operator: str, names: tuple[str, ...], parameters: dict[str, Any], given: dict[str, Any]) -> Function:
    torch = importlib.import_module("torch")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    call = _written(TORCH, names, operator, parameters, given)

    def tensor(x: np.ndarray) -> Any:
        if x.dtype.name == "bfloat16":  # which PyTorch does not know from NumPy
            return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(x)

    def compute(*arrays: np.ndarray) -> np.ndarray:
        result = call(torch, *map(tensor, arrays))
        is_brain = result.dtype is torch.bfloat16
        array: np.ndarray = result.view(torch.int16).numpy().view(arrays[0].dtype) if is_brain else result.numpy()
        return array

    return compute


def _jax(operator: str, names: tuple[str, ...], parameters: dict[str, Any], given: dict[str, Any]) -> Function:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    call = _written(JAX, names, operator, parameters, given)
    compiled = jax.jit(lambda *arrays: call(jax, *arrays))
    return lambda *arrays: np.asarray(compiled(*arrays))


def _tensorflow(operator: str, names: tuple[str, ...], parameters: dict[str, Any], given: dict[str, Any]) -> Function:
    tensorflow = importlib.import_module("tensorflow")
    call = _written(TENSORFLOW, names, operator, parameters, given)
    return lambda *arrays: np.asarray(call(tensorflow, *map(tensorflow.constant, arrays)).numpy())


def one_node(
    operator: str, names: Sequence[str], given: Mapping[str, Any], array: np.ndarray, subject: str = ""
) -> bytes:
    """An ONNX model of one node, for arrays of this type and number of dimensions; ``subject`` is whom errors name.

    Raises UnsupportedError for what ONNX has no operator for.
    """
    helper = importlib.import_module("onnx").helper
    if operator not in ONNX:
        raise UnsupportedError(message(subject or operator, "ONNX does not have it"))
    name, attributes = ONNX[operator]
    element = helper.np_dtype_to_tensor_dtype(array.dtype)
    shape = list("nmkl"[: array.ndim])
    inputs = [helper.make_tensor_value_info(n, element, shape) for n in names]
    output = helper.make_tensor_value_info("result", element, shape)
    graph = helper.make_graph(
        [helper.make_node(name, list(names), ["result"], **attributes, **given)], "one", inputs, [output]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    data: bytes = model.SerializeToString()
    return data


def when_known(prepare: Callable[[np.ndarray], Function]) -> Function:
    """A function that is prepared when the type and number of dimensions of its arrays are known."""
    prepared: dict[tuple[Any, int], Function] = {}

    def compute(*arrays: np.ndarray) -> np.ndarray:
        known = arrays[0].dtype, arrays[0].ndim
        if known not in prepared:
            prepared[known] = prepare(arrays[0])
        return prepared[known](*arrays)

    return compute


def _onnxruntime(operator: str, names: tuple[str, ...], parameters: dict[str, Any], given: dict[str, Any]) -> Function:
    ort = importlib.import_module("onnxruntime")

    def prepare(array: np.ndarray) -> Function:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        model = one_node(operator, names, given, array)
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return lambda *arrays: np.asarray(session.run(None, dict(zip(names, arrays, strict=True)))[0])

    return when_known(prepare)


@cache
def openvino_core() -> Any:
    """The one core of this process.

    Each core gives the thread another stack for signals. Where one ends before a later one, OpenVINO 2026.4 leaves a stack that
    is freed, and the next signal ends the process.
    """
    return importlib.import_module("openvino").Core()


def _openvino(operator: str, names: tuple[str, ...], parameters: dict[str, Any], given: dict[str, Any]) -> Function:
    core = openvino_core()

    def prepare(array: np.ndarray) -> Function:
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
        compiled = core.compile_model(core.read_model(one_node(operator, names, given, array)), "CPU", settings)
        request = compiled.create_infer_request()
        return lambda *arrays: np.array(next(iter(request.infer(list(arrays)).values())))

    return when_known(prepare)


#: Name, which is that of the module -> how it computes an operator.
PEERS: dict[str, Callable[[str, tuple[str, ...], dict[str, Any], dict[str, Any]], Function]] = {
    "torch": _torch,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "jax": _jax,
    "tensorflow": _tensorflow,
}
