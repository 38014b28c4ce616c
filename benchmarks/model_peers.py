"""How a model is prepared for each peer: inputs and outputs are bound where the peer can do that."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np

from benchmarks.models import ModelCase
from benchmarks.peers import Arrays, Peers, Prepared, by_onnxruntime, by_openvino, flat, installed

__all__ = ["MODEL_PEERS", "exact_results", "installed_for_models"]


def _outs(case: ModelCase) -> dict[str, np.ndarray]:
    return {name: np.empty(shape, case.dtype) for name, shape in case.outputs.items()}


def _ogive(case: ModelCase, arrays: Arrays) -> Prepared:
    import ogive
    import ogive.onnx

    ogive.set_num_threads(case.threads)
    outs = list(_outs(case).values())
    names = dict(zip(case.names, arrays, strict=True))
    names |= {"model": ogive.onnx.load(case.onnx()), "out": outs[0] if len(outs) == 1 else tuple(outs)}
    return Prepared(f"model({', '.join(case.names)}, out=out)", names, lambda: flat(outs))


def _onnxruntime(case: ModelCase, arrays: Arrays) -> Prepared:
    return by_onnxruntime(case.onnx(), case, arrays, _outs(case))


def _openvino(case: ModelCase, arrays: Arrays) -> Prepared:
    return by_openvino(case.onnx(), case, arrays, list(_outs(case).values()))


def _torch_function(case: ModelCase, *, exact: bool = False) -> Any:
    import torch

    text, constants = case.torch_function(exact=exact)
    return eval(text, {"torch": torch, "F": torch.nn.functional} | constants)


def _torch(case: ModelCase, arrays: Arrays, *, compiled: bool = False) -> Prepared:
    """PyTorch returns new tensors, from an allocator that keeps the memory of the last ones."""
    import torch

    torch.set_num_threads(case.threads)
    torch.set_grad_enabled(False)
    function = _torch_function(case)
    if compiled:
        from torch._inductor import config

        config.compile_threads = 1  # a pool of processes would stay
        torch._dynamo.reset()
        function = torch.compile(function, dynamic=False, fullgraph=True)
    tensors = [torch.from_numpy(array) for array in arrays]
    names = dict(zip(case.names, tensors, strict=True)) | {"function": function}

    def result() -> np.ndarray:
        made = function(*tensors)
        return flat([tensor.numpy() for tensor in (made if isinstance(made, tuple) else (made,))])

    return Prepared(f"function({', '.join(case.names)})", names, result)


def _torch_compile(case: ModelCase, arrays: Arrays) -> Prepared:
    return _torch(case, arrays, compiled=True)


MODEL_PEERS: Peers[ModelCase] = {
    "ogive": (("ogive", "onnx"), _ogive),
    "torch.compile": (("torch",), _torch_compile),
    "torch": (("torch",), _torch),
    "onnxruntime": (("onnxruntime", "onnx"), _onnxruntime),
    "openvino": (("openvino", "onnx"), _openvino),
}


def installed_for_models() -> tuple[list[str], list[str]]:
    """The peers that can take part, and those that cannot: torch is compiled where there is a C++ compiler."""
    present, missing = installed(MODEL_PEERS)
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "c++")), None)
    unused = "torch" if compiler else "torch.compile"
    return [name for name in present if name != unused], [name for name in missing if name != unused]


def exact_results(case: ModelCase) -> np.ndarray:
    """The results in float64, by PyTorch; ModuleNotFoundError where it is not installed."""
    import torch

    with torch.no_grad():
        made = _torch_function(case, exact=True)(*(torch.from_numpy(array).double() for array in case.arrays()))
    return flat([tensor.numpy() for tensor in (made if isinstance(made, tuple) else (made,))])
