"""Ogive's kernels in ONNX Runtime: a library of custom operators, and models that use it."""

import shutil
from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from onnx import TensorProto, helper  # noqa: E402

import ogive  # noqa: E402
import ogive.onnx  # noqa: E402
import ogive.onnxruntime  # noqa: E402
from ogive.errors import ArgumentError, CompileError, ParameterError  # noqa: E402

if not shutil.which("cc") and find_spec("ziglang") is None:
    pytest.skip("no C compiler: a library cannot be built", allow_module_level=True)

TYPES = {
    "float32": (TensorProto.FLOAT, np.float32),
    "float64": (TensorProto.DOUBLE, np.float64),
    "float16": (TensorProto.FLOAT16, np.float16),
    "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
}


@ogive.operator
def gated(x, gate, *, slope=1.0):
    """x times the logistic function of the gate."""
    return x * ogive.sigmoid(slope * gate)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    ops = [ogive.celu, ogive.gelu, ogive.prelu, ogive.softmax, ogive.log_softmax, gated]
    return ogive.onnxruntime.library(tmp_path_factory.mktemp("library") / "library.so", ops)


def computed(library, name, dtype, *arrays, **attributes):
    """The result of a model of one node; its operands are handed over as bits, which NumPy has a type for in all cases."""
    number, _ = TYPES[dtype]
    names = [f"x{i}" for i in range(len(arrays))]
    node = helper.make_node(name, names, ["y"], domain="ai.ogive", **attributes)
    given = [helper.make_tensor_value_info(n, number, [None] * a.ndim) for n, a in zip(names, arrays, strict=True)]
    rank = max(a.ndim for a in arrays)
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", number, [None] * rank)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.ogive", 1), helper.make_opsetid("", 20)])
    model.ir_version = 8
    return run(session(model, library), names, arrays, dtype)


def session(model, library):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(made, names, arrays, dtype):
    number, numpy = TYPES[dtype]
    if dtype != "bfloat16":
        return made.run(None, dict(zip(names, arrays, strict=True)))[0]
    value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
    given = {n: value(a.copy().view(np.uint16), number) for n, a in zip(names, arrays, strict=True)}
    binding = made.io_binding()
    for name, one in given.items():
        binding.bind_ortvalue_input(name, one)
    binding.bind_output(made.get_outputs()[0].name)
    made.run_with_iobinding(binding)
    (result,) = binding.get_outputs()
    array = np.frombuffer(bytes(_memory(result)), numpy)
    return array.reshape(result.shape())


def _memory(value):
    import ctypes

    count = int(np.prod(value.shape()))
    return (ctypes.c_char * (2 * count)).from_address(value.data_ptr())


def numbers(dtype, *shape):
    return (np.random.default_rng(7).normal(size=shape) * 4).astype(TYPES[dtype][1])


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (1,), (5, 7), (70_001,), (0, 3)])
def test_the_bits_are_ogives(library, dtype, shape):
    x = numbers(dtype, *shape)
    x = np.asarray(x, TYPES[dtype][1])
    if dtype == "bfloat16" and not x.size:
        return
    assert same(computed(library, "Celu", dtype, x, alpha=1.5), ogive.celu(x, alpha=1.5))


@pytest.mark.matrix(share=16, pool="slow")
def test_a_library_of_the_fast_contract(tmp_path):
    path = ogive.onnxruntime.library(tmp_path / "fast.so", [ogive.gelu], ["float32"], accuracy="fast")
    x = numbers("float32", 10_000)
    assert same(computed(path, "Gelu", "float32", x), ogive.gelu.fast(x))
    assert not same(ogive.gelu.fast(x), ogive.gelu(x))
    with pytest.raises(ParameterError, match=r"^ogive\.onnxruntime\.library: accuracy is 'rough'; allowed: 'exact'"):
        ogive.onnxruntime.library(tmp_path / "x.so", [ogive.gelu], accuracy="rough")


@pytest.mark.parametrize("approximate", [None, "none", "tanh"])
def test_an_attribute_selects_a_formula(library, approximate):
    x = numbers("float32", 1000)
    given = {} if approximate is None else {"approximate": approximate}
    assert same(computed(library, "Gelu", "float32", x, **given), ogive.gelu(x, **given))


def test_an_attribute_that_the_operator_does_not_know(library):
    with pytest.raises(Exception, match="ogive: an attribute has a value that the operator does not know"):
        computed(library, "Gelu", "float32", numbers("float32", 3), approximate="roughly")


@pytest.mark.parametrize("slope", [(), (9,), (5, 1), (3, 1, 1), (3, 5, 9), (2, 1, 1, 1)])
def test_operands_are_broadcast(library, slope):
    x, s = numbers("float32", 3, 5, 9), np.asarray(numbers("float32", *slope), np.float32)
    assert same(computed(library, "PRelu", "float32", x, s), ogive.prelu(x, s))


def test_shapes_that_do_not_fit(library):
    with pytest.raises(Exception, match="ogive: the shapes of the operands do not fit together"):
        computed(library, "PRelu", "float32", numbers("float32", 3, 4), numbers("float32", 3))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_rows(library, dtype, axis):
    x = numbers(dtype, 6, 501, 3)
    given = {} if axis is None else {"axis": axis}
    assert same(computed(library, "Softmax", dtype, x, **given), ogive.softmax(x, **given))


def test_an_axis_that_is_none(library):
    with pytest.raises(Exception, match="ogive: axis is none of the tensor's axes"):
        computed(library, "Softmax", "float32", numbers("float32", 3), axis=1)


def test_a_formula_of_ones_own(library):
    x, gate = numbers("float32", 40_000), numbers("float32", 40_000)[::-1].copy()
    assert same(computed(library, "gated", "float32", x, gate, slope=0.5), gated(x, gate, slope=0.5))


def test_what_is_no_operator(tmp_path):
    with pytest.raises(
        ArgumentError, match=r"^ogive\.onnxruntime\.library: what has 'celu'; allowed: operators of Ogive, and"
    ):
        ogive.onnxruntime.library(tmp_path / "x.so", ["celu"])
    with pytest.raises(
        ArgumentError, match=r"^ogive\.onnxruntime\.library: no operator takes int4; allowed: operators, and types"
    ):
        ogive.onnxruntime.library(tmp_path / "x.so", [ogive.celu], ["int4"])


def test_without_a_compiler(tmp_path, monkeypatch):
    from ogive.exporting import building

    monkeypatch.setattr(building.shutil, "which", lambda _: None)
    monkeypatch.setattr(building, "find_spec", lambda _: None)
    expected = r"^ogive\.onnxruntime\.library: no C compiler for this machine was found\. Install a C compiler or the package ziglang"
    with pytest.raises(CompileError, match=expected):
        ogive.onnxruntime.library(tmp_path / "x.so", [ogive.relu], ["float32"])
