"""The peers: how a case is prepared for each. One that is not installed is named and left out.

An adapter gets a case and its NumPy arrays and returns what is timed: the statement that a user would write, which
computes into the peer's own output, or over its first tensor in place, with whatever preparation the peer allows done
before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from timeit import Timer
from typing import Any, Protocol, TypeVar

import numpy as np

from benchmarks.cases import Case
from ogive.laboratory.peers.expressions import JAX, LITERT, NUMEXPR, ONNX, TORCH, TORCH_IN_PLACE, TORCH_INTO, expression
from ogive.laboratory.peers.peer_functions import openvino_core

__all__ = [
    "HELD_TO_AVX2",
    "PEERS",
    "Arrays",
    "Peers",
    "Prepared",
    "Timed",
    "by_onnxruntime",
    "by_openvino",
    "flat",
    "installed",
    "of_section",
    "prepare",
]

#: From this many elements on a peer that can is given memory to write to; below it asks its allocator, which
#: is faster then, and fresh pages cost nothing.
LARGE = 1 << 15


@dataclass
class Prepared:
    """A case that is ready to be timed: no function of ours stands between the clock and the call."""

    statement: str
    """As somebody would write it."""
    names: Mapping[str, Any]
    """The values of its names; this keeps alive what the call needs."""
    result: Callable[[], np.ndarray]
    restore: Callable[[], object] | None = None
    """Undoes what calls in place have done."""

    def __post_init__(self) -> None:
        self.timer = Timer(self.statement, globals=dict(self.names))


Arrays = list[np.ndarray]


class Timed(Protocol):
    """The facts that every case says of itself."""

    @property
    def threads(self) -> int: ...

    @property
    def in_place(self) -> bool: ...

    def arrays(self) -> Arrays: ...


AnyCase = TypeVar("AnyCase", bound=Timed)
#: Name -> (modules that it needs, adapter).
Peers = dict[str, tuple[tuple[str, ...], Callable[[AnyCase, Arrays], Prepared | None]]]


def flat(results: Arrays) -> np.ndarray:
    """All results, one after the other."""
    return results[0] if len(results) == 1 else np.concatenate([result.reshape(-1) for result in results])


def _output(case: Case, arrays: Arrays) -> np.ndarray:
    if case.in_place:
        return arrays[0]
    # A copy that keeps the order of the dimensions in memory; but a transposed view is to be turned.
    return np.empty_like(arrays[0]) if case.layout == "channels last" else np.empty(case.result_shape, case.dtype)


def _restorer(case: Timed, array: np.ndarray) -> Callable[[], object] | None:
    if not case.in_place:
        return None
    original = array.copy()
    return lambda: np.copyto(array, original)


def _written(text: str, **names: Any) -> Callable[..., Any]:
    """The function that somebody would write."""
    function: Callable[..., Any] = eval(text, names)
    return function


def _named(case: Case, tensors: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(case.names, tensors, strict=True)) | dict(case.parameters)


def _ogive(case: Case, arrays: Arrays) -> Prepared:
    import ogive

    ogive.set_num_threads(case.threads)
    parameters: dict[str, Any] = dict(case.parameters)
    names: dict[str, Any] = {"ogive": ogive}
    if case.operator == "chain":

        @ogive.operator
        def chain(x: Any, w: Any, b: Any, g: Any) -> Any:
            return ogive.celu(x * w + b, alpha=1.5) * ogive.sigmoid(g)

        function, names["chain"] = "chain", chain
    elif case.operator == "gelu_tanh":
        function, parameters = "ogive.gelu", {"approximate": "tanh"}
    else:
        function = f"ogive.{case.operator}"
    if case.section == "fast":
        function, names["fast"] = "fast", getattr(ogive, function.removeprefix("ogive.")).fast
    out = _output(case, arrays)
    keywords = "".join(f", {name}={value!r}" for name, value in parameters.items())
    names |= {"out": out} | _named(case, arrays)
    return Prepared(f"{function}({', '.join(case.names)}{keywords}, out=out)", names, lambda: out, _restorer(case, out))


def _exact(case: Case, arrays: Arrays) -> Prepared:
    """The exact contract, beside the fast one."""
    return _ogive(replace(case, section="float32"), arrays)


def _numpy(case: Case, arrays: Arrays) -> Prepared | None:
    """Copying alone: what moving the memory costs, on one thread."""
    if any(array.shape != case.result_shape for array in arrays):
        return None
    out = np.empty(case.result_shape, case.dtype) if case.in_place else _output(case, arrays)
    return Prepared("np.copyto(out, x)", {"np": np, "out": out, "x": arrays[0]}, lambda: out)


def _torch(case: Case, arrays: Arrays) -> Prepared | None:
    import torch

    torch.set_num_threads(case.threads)
    torch.set_grad_enabled(False)
    parameters = dict(case.parameters)
    plain, into, in_place = (
        expression(table, case.operator, parameters) for table in (TORCH, TORCH_INTO, TORCH_IN_PLACE)
    )
    tensors = [_tensor(array) for array in arrays]
    names = {"torch": torch} | _named(case, tensors)
    if case.in_place:
        text = in_place or into
        if text is None:
            return None
        return Prepared(text, names | {"out": tensors[0]}, lambda: arrays[0], _restorer(case, arrays[0]))
    if plain is None:
        return None
    if case.operator == "chain":
        function = _written(f"lambda {', '.join(case.names)}: {plain}", torch=torch)
        compiled = torch.compile(function, dynamic=False)
        names["compiled"] = compiled
        return Prepared(f"compiled({', '.join(case.names)})", names, lambda: compiled(*tensors).numpy())
    if case.elements >= LARGE and into is not None:
        out = _output(case, arrays)
        return Prepared(into, names | {"out": _tensor(out)}, lambda: out)
    return Prepared(plain, names, lambda: _array(eval(plain, dict(names)), case))


def _tensor(array: np.ndarray) -> Any:
    """The tensor over an array; torch takes none of bfloat16, whose bits it has."""
    import torch

    if array.dtype.name != "bfloat16":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def _array(tensor: Any, case: Case) -> np.ndarray:
    """The array of a tensor."""
    import torch

    found: np.ndarray
    if tensor.dtype is torch.bfloat16:
        found = tensor.contiguous().view(torch.int16).numpy().view(case.dtype)
    else:
        found = tensor.numpy()
    return found


def _onnx_model(case: Case, arrays: Arrays) -> bytes:
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    inputs = [helper.make_tensor_value_info(n, kind, a.shape) for n, a in zip(case.names, arrays, strict=True)]
    output = helper.make_tensor_value_info("result", kind, case.result_shape)
    names = list(case.names)
    if case.operator == "chain":
        nodes = [
            helper.make_node("Mul", ["x", "w"], ["xw"]),
            helper.make_node("Add", ["xw", "b"], ["sum"]),
            helper.make_node("Celu", ["sum"], ["left"], alpha=1.5),
            helper.make_node("Sigmoid", ["g"], ["gate"]),
            helper.make_node("Mul", ["left", "gate"], ["result"]),
        ]
    else:
        kind_of_node, attributes = ONNX[case.operator]
        nodes = [helper.make_node(kind_of_node, names, ["result"], **attributes, **dict(case.parameters))]
    graph = helper.make_graph(nodes, "one", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    data: bytes = model.SerializeToString()
    return data


def _takes(case: Case) -> bool:
    """ONNX's runtimes take dense arrays in the order of their dimensions, and know no parameters of linear etc."""
    return case.layout == "contiguous" and (case.operator in ONNX or case.operator == "chain")


def _onnxruntime(case: Case, arrays: Arrays) -> Prepared | None:
    if not _takes(case):
        return None
    out = None if case.in_place else _output(case, arrays)
    return by_onnxruntime(_onnx_model(case, arrays), case, arrays, {"result": out})


def by_onnxruntime(model: bytes, case: Timed, arrays: Arrays, outs: Mapping[str, np.ndarray | None]) -> Prepared:
    """A model with inputs and outputs bound; an output that is None is the first input, computed in place."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = case.threads
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = [ort.OrtValue.ortvalue_from_numpy(array) for array in arrays]
    for entry, value in zip(session.get_inputs(), values, strict=True):
        binding.bind_ortvalue_input(entry.name, value)
    results = [values[0] if out is None else ort.OrtValue.ortvalue_from_numpy(out) for out in outs.values()]
    for name, result in zip(outs, results, strict=True):
        binding.bind_ortvalue_output(name, result)
    restore = (lambda: values[0].update_inplace(arrays[0])) if case.in_place else None
    names = {"session": session, "binding": binding}
    return Prepared("session.run_with_iobinding(binding)", names, lambda: flat([r.numpy() for r in results]), restore)


def _openvino(case: Case, arrays: Arrays) -> Prepared | None:
    if not _takes(case):
        return None
    return by_openvino(_onnx_model(case, arrays), case, arrays, [_output(case, arrays)])


def by_openvino(model: bytes, case: Timed, arrays: Arrays, outs: Arrays) -> Prepared:
    """A model with inputs and outputs bound; the first output may be the first input, computed in place."""
    import openvino as ov

    core = openvino_core()
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": case.threads,
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = core.compile_model(core.read_model(model), "CPU", settings)
    request = compiled.create_infer_request()
    tensors = [ov.Tensor(array, shared_memory=True) for array in arrays]
    results = [tensors[0] if case.in_place else ov.Tensor(out, shared_memory=True) for out in outs]
    for i, tensor in enumerate(tensors):
        request.set_input_tensor(i, tensor)
    for i, result in enumerate(results):
        request.set_output_tensor(i, result)
    names = {"request": request, "memory": (compiled, arrays, tensors)}  # the request does not keep them alive
    return Prepared("request.infer()", names, lambda: flat(outs), _restorer(case, outs[0]))


def _litert(case: Case, arrays: Arrays) -> Prepared | None:
    """One operator of XNNPACK, in a model of LiteRT's format."""
    if case.operator not in LITERT or case.in_place:
        return None
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=_litert_model(case), num_threads=case.threads)
    interpreter.allocate_tensors()
    if not any(step["op_name"] == "DELEGATE" for step in interpreter._get_ops_details()):
        return None  # a kernel of LiteRT's own
    for index, array in enumerate(arrays):
        interpreter.set_tensor(index, array)
    names = {"interpreter": interpreter}
    return Prepared("interpreter.invoke()", names, lambda: interpreter.get_tensor(len(arrays)).copy())


def _litert_model(case: Case) -> bytes:
    """A model with one subgraph: the operands, the operator, the result."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    kind, attributes = LITERT[case.operator]
    count = len(case.names)
    graph = schema.SubGraphT()
    graph.tensors = [_litert_tensor(*named) for named in zip(case.names, case.shapes, strict=True)]
    graph.tensors.append(_litert_tensor("result", case.result_shape))
    graph.inputs, graph.outputs = list(range(count)), [count]
    graph.operators = [_litert_operator(kind, attributes, graph.inputs, graph.outputs)]
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, kind)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
    model = schema.ModelT()
    model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], [schema.BufferT()]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _litert_tensor(name: str, shape: Sequence[int]) -> Any:
    from ai_edge_litert import schema_py_generated as schema

    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type, tensor.buffer = name, list(shape), schema.TensorType.FLOAT32, 0
    return tensor


def _litert_operator(kind: str, attributes: Mapping[str, object], inputs: list[int], outputs: list[int]) -> Any:
    from ai_edge_litert import schema_py_generated as schema

    operator = schema.OperatorT()
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, inputs, outputs
    if attributes:
        options = f"{kind.title().replace('_', '')}Options"
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        operator.builtinOptions = getattr(schema, f"{options}T")()
        vars(operator.builtinOptions).update(attributes)
    return operator


def _jax(case: Case, arrays: Arrays) -> Prepared | None:
    if case.operator not in JAX:
        return None
    import jax

    dense = _written(f"lambda {', '.join(case.names)}: {JAX[case.operator]}", jax=jax, **dict(case.parameters))
    function = dense
    # Arrays are dense: a layout is the view of a dense array, taken in the compiled function.
    if case.layout == "every second column":
        function, arrays = lambda x: dense(x[..., ::2]), [np.repeat(arrays[0], 2, axis=-1)]
    elif case.layout == "transposed":
        function, arrays = lambda x: dense(x.T), [arrays[0].T]
    elif case.layout == "channels last":
        return None
    names = dict(zip(case.names, [jax.numpy.array(array) for array in arrays], strict=True))
    if case.in_place:  # arrays are immutable, but one may be given up for the result's memory
        held = [names.pop(case.names[0])]
        compiled = jax.jit(function, donate_argnums=0)
        arguments = ", ".join(["held[0]", *names])

        def restore() -> None:
            held[0] = jax.numpy.array(arrays[0])

        statement = f"held[0] = compiled({arguments}).block_until_ready()"
        return Prepared(statement, names | {"compiled": compiled, "held": held}, lambda: np.asarray(held[0]), restore)
    compiled = jax.jit(function)
    statement = f"compiled({', '.join(names)}).block_until_ready()"
    return Prepared(statement, names | {"compiled": compiled}, lambda: np.asarray(compiled(*names.values())))


def _numexpr(case: Case, arrays: Arrays) -> Prepared | None:
    if case.operator not in NUMEXPR or case.dtype != "float32":
        return None
    import numexpr

    numexpr.set_num_threads(case.threads)
    local = dict(zip(case.names, arrays, strict=True)) | {k: np.float32(v) for k, v in case.parameters}
    out = _output(case, arrays)
    numexpr.evaluate(NUMEXPR[case.operator], local_dict=local, out=out, casting="same_kind")
    names = {"numexpr": numexpr, "local": local}
    return Prepared("numexpr.re_evaluate(local_dict=local)", names, lambda: out, _restorer(case, out))


PEERS: Peers[Case] = {
    "ogive": (("ogive",), _ogive),
    "exact": (("ogive",), _exact),
    "torch": (("torch",), _torch),
    "onnxruntime": (("onnxruntime", "onnx"), _onnxruntime),  # the models that it gets are written with onnx
    "openvino": (("openvino", "onnx"), _openvino),
    "jax": (("jax",), _jax),
    "numexpr": (("numexpr",), _numexpr),
    "litert": (("ai_edge_litert", "flatbuffers"), _litert),
    "copyto": (("numpy",), _numpy),
}


#: The peers that take part in some sections. The others compute nothing in bfloat16.
TAKING_PART = {
    "fast": ("ogive", "exact", "torch", "onnxruntime"),
    "bfloat16": ("ogive", "torch", "jax", "copyto"),
    "xnnpack": ("ogive", "litert"),
}

#: Peers that take part where they are named only.
ELSEWHERE = ("exact", "litert")


#: Libraries that can be held to AVX2 on a processor that has more, and the variables for it, which they read when imported.
#: NumPy and numexpr, ONNX Runtime and OpenVINO choose by the processor alone.
HELD_TO_AVX2: dict[str, dict[str, str]] = {
    "ogive": {},
    "exact": {},
    "torch": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"},
    "jax": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
}


def of_section(peers: Sequence[str], section: str) -> list[str]:
    """Those that a section compares."""
    taking_part = TAKING_PART.get(section)
    return [peer for peer in peers if (peer not in ELSEWHERE if taking_part is None else peer in taking_part)]


def installed(peers: Mapping[str, tuple[tuple[str, ...], object]]) -> tuple[list[str], list[str]]:
    """The peers that can be imported, and those that cannot."""
    from importlib.util import find_spec

    present = [name for name, (modules, _) in peers.items() if all(map(find_spec, modules))]
    return present, [name for name in peers if name not in present]


def limit_threads(threads: int) -> None:
    """Variables that have to be set before a peer is imported."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["NUMEXPR_MAX_THREADS"] = os.environ["NUMEXPR_NUM_THREADS"] = str(threads)
    os.environ["JAX_PLATFORMS"] = "cpu"
    # The only way to tell XLA's pool for the processor: it has a thread per processor that the process may use.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def prepare(adapter: Callable[[Any, Arrays], Prepared | None], case: Timed) -> Prepared | None:
    """A peer's call for a case; None if it has no such operator."""
    limit_threads(case.threads)
    return adapter(case, case.arrays())
