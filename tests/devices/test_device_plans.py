"""ONNX models and DirectML's operators on a device: the processor's bits, and what is refused there."""

from __future__ import annotations

import os
import pickle
import re
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, note, settings
from onnx import parser, printer

import ogive
import ogive.directml as dml
import ogive.onnx
from ogive.common.dtypes import element_type
from ogive.devices import device_plan, kernels
from ogive.engine.fusion import fused
from ogive.engine.graph import ArrayValue, Graph, GraphNode
from ogive.engine.plan import Call, Output
from ogive.errors import ArgumentError, DeviceError, DTypeError, OgiveError, OutputError, ShapeError, UnsupportedError
from ogive.operators.signature import Signature
from tests.directml.standard import make
from tests.directml.test_graph import random_graphs
from tests.directml.test_run import NAMES, RUNNABLE, arrays_for, present
from tests.inputs import assert_same_bits
from tests.onnx.test_random_graphs import graphs

cl = pytest.importorskip("pyopencl", reason="not installed: pyopencl (pip install 'ogive[opencl]')")


#: Models and graphs that are drawn: compiling their kernels for a device takes seconds.
ALL = "OGIVE_OPENCL_ALL" in os.environ
EXAMPLES = 40 if ALL else 3

FLOATS = (np.float16, np.float32, np.float64)


@pytest.fixture(scope="module")
def device() -> Any:
    able = [one for one in ogive.opencl.devices() if not one.why_not]
    if not able:
        pytest.skip("no OpenCL device that can compute (Debian: pocl-opencl-icd)")
    return able[0]


def listed(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def numbers(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(0, 2, shape).astype(np.float32) for shape in shapes]


# ---- what the device object does


def test_a_device_holds_arrays_and_runs_functions(device):
    x = np.linspace(-4, 4, 99, dtype=np.float32).reshape(9, 11)
    on = device.array(x.T)
    assert_same_bits(device.function(ogive.gelu)(on).get(), ogive.gelu(x.T))
    assert ogive.device(device.name) is device is pickle.loads(pickle.dumps(device))
    assert device.holds(on)
    assert not device.holds(x)
    assert repr(device) == f"<{device.name}: {device.model}>"


def test_arrays_of_every_layout_and_type(device):
    made = (
        np.array([True, False]),
        np.zeros((0, 3), np.float32),
        np.float32(2),
        np.arange(6).reshape(2, 3).astype(element_type("bfloat16").numpy),
        np.arange(12).reshape(3, 4)[:, ::-2],
    )
    for array in made:
        found = device.array(array).get()
        assert (found.dtype, found.shape) == (array.dtype, np.shape(array))
        assert found.tobytes() == array.tobytes()
    with pytest.raises(
        DTypeError, match=rf"^{device.name}: the array has dtype object; allowed: numbers and truth values$"
    ):
        device.array(np.array([None]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("opencl:99", r"ogive\.device: the device is 'opencl:99'; allowed: opencl:0"),
        ("gpu", r"ogive\.device: the device is 'gpu'; allowed: names as ogive devices shows them: opencl:0, cuda:0"),
        (7, r"ogive\.device: the device is 7; allowed: names as"),
    ],
)
def test_names_of_devices(name, text, device):
    with pytest.raises(ArgumentError, match=text):
        ogive.device(name)


def test_a_device_that_cannot_compute(device, monkeypatch):
    monkeypatch.setattr("ogive.opencl.open_devices.why_not", lambda handle: "has no double precision")
    small = ogive.opencl.Device(device.number, device.handle)
    with pytest.raises(
        DeviceError, match=rf"^{small.name}: the device .* has no double precision\. ogive devices lists"
    ):
        small.array(np.ones(3))


# ---- ONNX

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g '

MODELS = {
    "a chain": ("(float[N] x) => (y) { a = Celu<alpha=1.5>(x) y = Mish(a) }", [(1000,)]),
    "rows": ("(float[N,M] x) => (y) { a = Softmax<axis=1>(x) b = Tanh(a) y = Mul(b, x) }", [(10, 33)]),
    "columns": ("(float[N,M,K] x) => (y) { y = Softmax<axis=1>(x) }", [(4, 10, 33)]),
    "views of columns": (
        """(float[N,M,K] x) => (y) {
            a = Transpose<perm=[2,0,1]>(x) b = Relu(a) c = Softmax<axis=0>(b) y = Transpose<perm=[1,0,2]>(c) }""",
        [(4, 10, 33)],
    ),
    "joined": ("(float[N,M] x, float[N,K] z) => (y) { a = Concat<axis=1>(x, z) y = Tanh(a) }", [(4, 10), (4, 3)]),
    "split": (
        "(float[N,M] x) => (y, z, w) { a, b = Split<axis=1, num_outputs=2>(x) y = Tanh(a) z = Exp(b) w = Identity(x) }",
        [(4, 10)],
    ),
    "reshaped": (
        """(float[N,M] x) => (y) { s = Constant<value_ints=[-1]>()
            a = Reshape(x, s) b = Transpose(x) c = Reshape(b, s) y = Add(a, c) }""",
        [(4, 10)],
    ),
    "padded and gathered": (
        """(float[N,M] x) => (y) { p = Constant<value_ints=[1,0,0,2]>() v = Constant<value_float=3.5>() a = Pad(x, p, v)
            i = Constant<value_ints=[3,1,1,0]>() b = Gather<axis=1>(a, i) c = Trilu(b) y = Sigmoid(c) }""",
        [(4, 10)],
    ),
    "reductions": (
        "(float[N,M] x) => (y, z) { a = Constant<value_ints=[0]>() y = ReduceMean(x, a) z = ReduceSum(x) }",
        [(40, 10)],
    ),
    "normalised": (
        "(float[N,M] x, float[M] s, float[M] b) => (y) { y = LayerNormalization<axis=1>(x, s, b) }",
        [(4, 10), (10,), (10,)],
    ),
    "its shape": ("(float[N,M] x) => (y, z) { y = Shape(x) z = Relu(x) }", [(4, 10)]),
    "nothing": ("(float[N,M] x) => (y, z) { y = Tanh(x) z = Softmax<axis=1>(x) }", [(0, 10)]),
}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(("text", "shapes"), MODELS.values(), ids=MODELS)
def test_models(text, shapes, device):
    model, arrays = parser.parse_model(HEAD + text), numbers(1, *shapes)
    expected = listed(ogive.onnx.load(model)(*arrays))
    on = ogive.onnx.load(model, device=device)
    assert str(on).endswith(f" on {device.name}>")
    for found in (on(*arrays), on(*arrays), tuple(one.get() for one in listed(on(*map(device.array, arrays))))):
        for one, right in zip(listed(found), expected, strict=True):
            assert (one.dtype, one.shape) == (right.dtype, right.shape)
            assert_same_bits(one, right)
    again = pickle.loads(pickle.dumps(on))
    assert_same_bits(listed(again(*arrays))[0], expected[0])


@pytest.mark.matrix(share=16, pool="slow")
@settings(
    max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(graphs())
def test_random_models(device, case):
    """A model of elements, rows, reductions and views, in four types and under both contracts."""
    model, shapes, _, seed = case
    note(printer.to_text(model))
    accuracy = ("exact", "fast")[seed % 2]
    host = ogive.onnx.load(model, accuracy=accuracy)
    on = ogive.onnx.load(model, accuracy=accuracy, device=device)
    generator = np.random.default_rng(seed)
    arrays = {info.name: generator.standard_normal(shapes[info.name]).astype(info.dtype) for info in host.inputs}
    try:
        expected = listed(host(**arrays))
    except OgiveError as error:
        with pytest.raises(type(error)):
            on(**arrays)
        return
    for one, right in zip(listed(on(**arrays)), expected, strict=True):
        assert (one.dtype, one.shape) == (right.dtype, right.shape)
        numbers_of_both = [np.where(np.isnan(side), np.ones((), side.dtype), side) for side in (one, right)]
        assert_same_bits(*numbers_of_both)


@pytest.mark.matrix(share=16, pool="slow")
def test_arrays_stay_on_the_device_between_kernels(device, monkeypatch):
    """The host reads how many elements are open, and no array."""
    model = parser.parse_model(
        HEAD
        + "(float[N,M] x) => (y) { a = Softmax<axis=1>(x) b = Gelu(a) y = Softmax<axis=0>(b) }".replace("Gelu", "Mish")
    )
    on, (x,) = ogive.onnx.load(model, device=device), numbers(2, (64, 64))
    given_there = device.array(x)
    on(given_there)
    read, own = list[int](), cl.enqueue_copy

    def watched(queue: Any, target: Any, source: Any, **rest: Any) -> Any:
        if isinstance(target, np.ndarray):
            read.append(target.nbytes)
        return own(queue, target, source, **rest)

    monkeypatch.setattr(cl, "enqueue_copy", watched)
    monkeypatch.setattr(kernels, "kernel_text", None)  # and nothing is compiled
    active = device.driver().allocator.active_blocks
    result = on(given_there)
    assert set(read) <= {4}
    assert device.driver().allocator.active_blocks == active + 1  # the result: temporary arrays went back to the pool
    monkeypatch.undo()
    assert_same_bits(result.get(), ogive.onnx.load(model)(x))


@ogive.operator(types=["float32"])
def nothing(x):
    """Zero, which no number of bits decides."""
    return np.sqrt(x) ** 2 - x


@pytest.mark.matrix(share=16, pool="slow")
def test_what_a_kernel_leaves_open(device, monkeypatch):
    """The host computes it before the next kernel reads it; plans of which this is true go step by step from then on."""
    kind, x = element_type("float32"), np.linspace(0.5, 2, 300, dtype=np.float32)
    a, b, c = (ArrayValue(name, kind, x.shape) for name in "abc")
    made = {op: op.computation(Signature((kind,), (kind,))) for op in (nothing, ogive.cosh)}
    nodes = GraphNode("nothing", b, (a,), made[nothing]), GraphNode("cosh", c, (b,), made[ogive.cosh])
    groups = fused(Graph(nodes, stored={"c": 1}), 0)
    calls = [
        Call("elements", g.ufunc(), (g.inputs[0].array,), (Output(g.outputs[0].array, x.shape, x.dtype),), group=g)
        for g in groups
    ]
    assert len(calls) == 2
    driver, there = device.driver(), device.array(x)
    plan = device_plan.DevicePlan("two", driver, calls, {}, {"a": (x.dtype, x.shape)}, ["c"])
    launched, own = list[bool](), device_plan.DevicePlan._run

    def watched(self: Any, driver: Any, given: Any, ahead: Any) -> Any:
        launched.append(ahead is not None)
        return own(self, driver, given, ahead)

    monkeypatch.setattr(device_plan.DevicePlan, "_run", watched)
    for _ in range(3):
        (found,) = plan.run(driver, {"a": device.placed("two", "a", there)})
        assert_same_bits(found.on_host(driver), ogive.cosh(nothing(x)))
    assert launched == [True, False, True, False, False]


@pytest.mark.matrix(share=16, pool="slow")
def test_texts_of_kernels_are_kept_on_disk(device, monkeypatch):
    """A kernel that another process has made is not lowered."""

    @ogive.operator(types=["float32"])
    def kept(x):
        """A kernel of its own."""
        return 3 * x + ogive.formula.exp(x)

    x = device.array(np.linspace(-1, 1, 50, dtype=np.float32))
    first = device.function(kept)(x).get()
    kernels._found.cache_clear()
    monkeypatch.setattr(kernels, "kernel_text_of", None)
    assert_same_bits(device.function(kept)(x).get(), first)


def test_integers_of_the_host_say_where_elements_go(device):
    """An input that is an array of NumPy, as an operator's axes or indices; there is a plan for each of its values."""
    text = (
        "(float[N,M] x, int64[K] i) => (y, z) { a = Gather<axis=1>(x, i) y = Tanh(a) z = ReduceSum<keepdims=0>(x, i) }"
    )
    model, (x,) = parser.parse_model(HEAD + text), numbers(3, (4, 5))
    host, on, there = ogive.onnx.load(model), ogive.onnx.load(model, device=device), device.array(x)
    for i in (np.array([1, 0]), np.array([0, 1]), np.array([1, 0])):
        for found, right in zip(on(there, i), host(x, i), strict=True):
            assert_same_bits(found.get(), right)
    with pytest.raises(
        UnsupportedError, match=r"the shape of its result .*\. Give i as an array of NumPy, or load the"
    ):
        on(there, device.array(i))


#: Models with nodes that have no kernel, and which these are.
HOSTED = {
    "the largest": ("(float[N,M] x) => (y, i) { k = Constant<value_ints=[2]>() a = Neg(x) y, i = TopK(a, k) }", "TopK"),
    "running sums": ("(float[N,M] x) => (y) { a = Constant<value_int=1>() b = CumSum(x, a) y = Neg(b) }", "CumSum"),
    "a loss": (
        """(float[N,M] x) => (y) { a = Neg(x) i = ArgMax<axis=1, keepdims=0>(x)
            b = SoftmaxCrossEntropyLoss(a, i) y = Neg(b) }""",
        "SoftmaxCrossEntropyLoss",
    ),
    "gathered": ("(float[N,M] x) => (y) { i = ArgMax(x) y = GatherElements(x, i) }", "GatherElements"),
    "of constants": (
        """(float[N,M] x) => (y) { w = Constant<value_floats=[1.0, 0.5, 3.5, -2.0, 7.0]>()
            i = ArgMax<axis=1>(x) y = Gather(w, i) }""",
        "Gather",
    ),
    "scattered": (
        """(float[N,M] x) => (y, z) { b = Greater(x, x) i = Cast<to=7>(b) a = Neg(x) y = ScatterElements(x, i, a)
            z = ScatterElements<reduction="add">(x, i, a) }""",
        "ScatterElements",
    ),
}


@pytest.mark.parametrize(("text", "operator"), HOSTED.values(), ids=HOSTED)
def test_nodes_without_a_kernel(text, operator, device):
    """The host computes them between two copies, and the model says so."""
    model, (x,) = parser.parse_model(HEAD + text), numbers(5, (4, 5))
    expected, on = listed(ogive.onnx.load(model)(x)), ogive.onnx.load(model, device=device)
    assert on.ran() is None
    for found, right in zip(listed(on(device.array(x))), expected, strict=True):
        assert_same_bits(found.get(), right)
    assert {node.split()[0] for node in on.ran().on_host} == {operator}


@pytest.mark.skipif(not ALL, reason="a thousand models: make opencl runs them")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:onnx")  # as the package makes its data
@pytest.mark.parametrize("part", range(4))
def test_nodes_of_onnx(part, device):
    """The models of the onnx package's own tests of nodes, as far as Ogive has them, with floats that lie on the device."""
    from onnx.backend.test.loader import load_model_tests

    count, refused = 0, list[str]()
    for case in load_model_tests(kind="node")[part::4]:
        try:
            host = ogive.onnx.load(case.model)
            arrays = dict(zip(host.input_names, case.data_sets[0][0], strict=False))
            expected = listed(host(**arrays))
        except OgiveError:
            continue
        there = {n: device.array(a) if getattr(a, "dtype", None) in FLOATS else a for n, a in arrays.items()}
        try:
            found = listed(ogive.onnx.load(case.model, device=device)(**there))
        except UnsupportedError as error:
            refused.append(str(error))
            continue
        count += 1
        for one, right in zip(found, expected, strict=True):
            array = one.get() if device.holds(one) else one
            assert (array.dtype, array.shape) == (right.dtype, right.shape), case.name
            sides = [np.where(side == side, side, np.zeros((), side.dtype)) for side in (array, right)]
            assert sides[0].tobytes() == sides[1].tobytes(), case.name
    assert count > 200
    for sentence in refused:
        assert re.match(r"(OneHot|Range) node .* follows from values|.* is a list, or has text", sentence)


def test_what_models_on_a_device_ran(device):
    text = "(float[N,M] x) => (y) { a = Softmax<axis=1>(x) b = Transpose(a) y = Softmax<axis=1>(b) }"
    model, (x,) = parser.parse_model(HEAD + text), numbers(6, (4, 5))
    host, on = ogive.onnx.load(model), ogive.onnx.load(model, device=device)
    assert_same_bits(on(x), host(x))
    assert on.ran() == host.ran()


def test_places_that_the_host_gives_need_no_plan_of_their_own(device):
    """Rows of a table, as a language model begins: the table stays on the host, and a plan takes all tokens."""
    text = "(int64[N] i) => (y) { w = Constant<value_floats=[1.0, 0.5, 3.5]>() a = Gather(w, i) y = Neg(a) }"
    on = ogive.onnx.load(parser.parse_model(HEAD + text), device=device)
    for i in ([0, 1], [2, 2], [1, -1]):
        assert on(np.array(i)).tolist() == (-np.float32([1.0, 0.5, 3.5]))[i].tolist()
    assert len(on._on_device._plans) == 1
    with pytest.raises(ShapeError, match=r"^Gather node that computes 'a' .*: indices .* 7"):
        on(np.array([0, 7]))


@pytest.mark.parametrize(
    ("text", "node"),
    [("y = NonZero(x)", "NonZero"), ("s = Cast<to=7>(x) a = Constant<value_float=2.0>() y = Expand(a, s)", "Expand")],
)
def test_shapes_that_follow_from_values(text, node, device):
    on = ogive.onnx.load(parser.parse_model(f"{HEAD}(float[N] x) => (y) {{ {text} }}"), device=device)
    x = device.array(np.ones(3, np.float32))
    with pytest.raises(UnsupportedError) as raised:
        on(x)
    assert str(raised.value) == (
        f"{node} node that computes 'y' (opset 18): the shape of its result follows from values. "
        "Load the model without device="
    )
    assert x.get().tolist() == [1, 1, 1]


def test_what_models_on_a_device_refuse(device):
    model = parser.parse_model(HEAD + "(float[N] x) => (float[N] y) { y = Relu(x) }")
    on = ogive.onnx.load(model, device=device.name)
    with pytest.raises(OutputError, match=rf"out was given, and {device.name} gives new arrays\. Leave out= away"):
        on(np.ones(3, np.float32), out=np.ones(3, np.float32))
    queue = cl.CommandQueue(cl.Context([device.handle]))
    elsewhere = cl.array.to_device(queue, np.ones(3, np.float32))
    with pytest.raises(
        ArgumentError, match=r"x lies in another context than .*\. Copy it: device\.array\(x\.get\(\)\)"
    ):
        on(elsewhere)
    with pytest.raises(ArgumentError, match=r"ogive\.onnx\.load: device and partial were given; allowed: one of them"):
        ogive.onnx.load(model, device=device, partial=True)
    with pytest.raises(ArgumentError, match=r"ogive\.onnx\.load: the device is 'opencl:99'; allowed"):
        ogive.onnx.load(model, device="opencl:99")
    text = onnx.helper.make_tensor_value_info("s", onnx.TensorProto.STRING, [2])
    node = onnx.helper.make_node("Identity", ["s"], ["y"])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.STRING, [2])
    of_text = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [text], [out]))
    with pytest.raises(UnsupportedError, match=r"the input 's' is a list, or has text; allowed: arrays of numbers on"):
        ogive.onnx.load(of_text, device=device)(np.array(["a", "b"], object))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "MemoryError",
            r"^model: the device .* has too little memory for the arrays of a run\. Compute parts of the arrays",
        ),
        ("RuntimeError", r"^model: the device .* failed \(the context is lost\)\. The arrays are as they were"),
    ],
)
def test_a_device_that_fails(error, sentence, device, monkeypatch):
    on = ogive.onnx.load(parser.parse_model(HEAD + "(float[N] x) => (y) { a = Tanh(x) y = Softmax(a) }"), device=device)
    x = device.array(np.ones(3, np.float32))
    on(x)

    def failing(*given: Any, **rest: Any) -> Any:
        raise getattr(cl, error)("the context is lost")

    monkeypatch.setattr("ogive.opencl.opencl_driver.OpenCLDriver.launch", failing)
    with pytest.raises(DeviceError, match=sentence):
        on(x)
    monkeypatch.undo()
    assert x.get().tolist() == [1, 1, 1]
    assert on(x).shape == (3,)


# ---- DirectML

#: Every operator, and others of their types, under both contracts.
DISPATCHES = [
    (name, types, accuracy)
    for name, types in [*NAMES.items(), *(one for one in RUNNABLE[::20] if one not in NAMES.items())]
    for accuracy in ("exact", "fast")
]


def test_there_are_two_hundred_dispatches():
    assert len(DISPATCHES) > 200


@pytest.mark.matrix(share=25)
@pytest.mark.parametrize(
    ("name", "types", "accuracy"), DISPATCHES, ids=[f"{name[13:]}-{k}" for k, (name, *_) in enumerate(DISPATCHES)]
)
def test_dispatches(name, types, accuracy, device):
    desc = make(name, types=dict(types), sizes=(7, 31))
    host, on = dml.Device("6_4", accuracy=accuracy), dml.Device("6_4", accuracy=accuracy, adapter=device)
    given = dict(zip(present(desc), arrays_for(desc, 1), strict=True))
    (right,) = host.CompileOperator(host.CreateOperator(desc)).dispatch(given)
    compiled = on.CompileOperator(on.CreateOperator(desc))
    (found,) = compiled.dispatch(given)
    assert_same_bits(*(np.where(side == side, side, np.zeros((), side.dtype)) for side in (found, right)))
    if given:
        (there,) = compiled.dispatch({name: device.array(array) for name, array in given.items()})
        assert_same_bits(there.get(), found)


@pytest.mark.matrix(share=16, pool="slow")
@settings(
    max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(random_graphs())
def test_graphs_of_directml(device, case):
    """Over tensors of other strides, into parts of buffers."""
    made, arrays, wanted = case
    on = dml.Device("6_4", adapter=device)
    nodes = [
        on.CreateOperator(one.Desc.Operator.desc if hasattr(one, "Desc") else one.Operator.desc) for one in made.Nodes
    ]
    again = made.replace(Nodes=[dml.DML_OPERATOR_GRAPH_NODE_DESC(node) for node in nodes])
    guarded = [np.full(12 + 16, 7, np.float32) for _ in wanted]
    on.CompileGraph(again).dispatch(arrays, [dml.DML_BUFFER_BINDING(g, 32, 48) for g in guarded])
    for result, bits in zip(guarded, wanted, strict=True):
        assert_same_bits(result[8:20], bits)
        assert (result[:8] == 7).all()
        assert (result[20:] == 7).all()


def test_owned_inputs_and_the_long_way(device):
    on = dml.Device("6_4", adapter=device)
    x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[4])
    owned = x.replace(Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    add = on.CreateOperator(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=owned, BTensor=x, OutputTensor=x))
    compiled = on.CompileOperator(add)
    compiled.initialize([np.float32([1, 2, 3, 4]), None])
    assert compiled.dispatch([None, np.float32([1, 1, 1, 1])])[0].tolist() == [2, 3, 4, 5]
    assert pickle.loads(pickle.dumps(compiled)).dispatch([None, np.float32([2] * 4)])[0].tolist() == [3, 4, 5, 6]
    there = compiled.dispatch([None, device.array(np.float32([3] * 4))])[0]
    assert there.get().tolist() == [4, 5, 6, 7]
    with pytest.raises(dml.DMLError, match=r"outputs was given with arrays of .*; allowed: None: the outputs are new"):
        compiled.dispatch([None, there], [np.zeros(4, np.float32)])
    with pytest.raises(
        dml.DMLError, match=r"BTensor is an array of 3 elements of float32; allowed: 4 elements of float32"
    ):
        compiled.dispatch([None, there[:3]])


@pytest.mark.parametrize(
    ("error", "hresult", "sentence"),
    [
        ("MemoryError", 0x8007000E, r"has too little memory for the tensors\. Compute parts of the arrays"),
        ("RuntimeError", 0x887A0005, r"failed \(the context is lost\)\. The arrays are as they were"),
    ],
)
def test_a_device_of_directml_that_fails(error, hresult, sentence, device, monkeypatch):
    on = dml.Device("6_4", adapter=device)
    x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[4])
    compiled = on.CompileOperator(
        on.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=x, OutputTensor=x))
    )
    y = np.full(4, 7, np.float32)

    def failing(*given: Any, **rest: Any) -> Any:
        raise getattr(cl, error)("the context is lost")

    monkeypatch.setattr("ogive.opencl.opencl_driver.OpenCLDriver.launch", failing)
    with pytest.raises(dml.DMLError, match=sentence) as raised:
        compiled.dispatch([np.ones(4, np.float32)], [y])
    assert raised.value.hresult == hresult
    assert y.tolist() == [7, 7, 7, 7]
    monkeypatch.undo()
    assert compiled.dispatch([np.ones(4, np.float32)], [y])[0].tolist() == [1, 1, 1, 1]


def test_there_is_no_such_adapter():
    with pytest.raises(ArgumentError, match=r"^Device: the device is 'opencl:99'; allowed: "):
        dml.Device(adapter="opencl:99")


def test_packed():
    assert device_plan.packed((2, 3), np.dtype(np.float32)) == (12, 4)
