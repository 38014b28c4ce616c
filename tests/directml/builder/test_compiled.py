"""Graphs, and what they are compiled to: inputs by key, conversions, initialisation, buffers, threads."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ogive
import ogive.directml as dml
from ogive.errors import ArgumentError, DTypeError, ParameterError
from tests.directml.running import DEVICE
from tests.inputs import assert_same_bits

ONES = np.ones((2, 2), np.float32)


def identity(sizes=(2, 2), dtype=np.float32, **given):
    graph = dml.Graph(DEVICE)
    x = graph.input(sizes, dtype, **given)
    return x, graph.compile([dml.identity(x)])


def sum_with_weight():
    graph = dml.Graph(DEVICE)
    x, weight = graph.input([2, 2], name="x"), graph.input([2, 2], owned=True, name="weight")
    return x, weight, graph.compile([dml.add(x, weight)])


# ---- conversions


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("float64", "float32"),
        ("float32", "float16"),
        ("float16", "float64"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int64", "int32"),
        ("uint64", "uint8"),
        ("int8", "int64"),
        ("uint16", "int32"),
        ("bool", "uint8"),
        (">f4", "float32"),
        ("uint8", "float16"),
    ],
)
def test_safe_conversions(given, wanted):
    x, op = identity(dtype=wanted)
    data = np.array([[0, 1], [1, 1]], given)
    (result,) = op({x: data})
    assert result.dtype == wanted
    assert result.tolist() == data.tolist()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("int32", "float32"),
        ("float32", "int32"),
        ("int64", "float32"),
        ("int8", "uint8"),
        ("uint32", "int32"),
        ("complex64", "float32"),
        ("U1", "float32"),
        ("O", "float32"),
    ],
)
def test_unsafe_conversions(given, wanted):
    x, op = identity(dtype=wanted)
    text = rf"input 0 \({wanted} \[2, 2\]\) is an array of .*; allowed: {wanted}, .* Convert it first: array.astype"
    with pytest.raises(dml.DMLError, match=text):
        op({x: np.zeros((2, 2)).astype(given)})
    with pytest.raises(ValueError, match="array.astype"):
        dml.Graph(DEVICE).constant(np.zeros((2, 2)).astype(given), wanted)
    with pytest.raises(ValueError, match="array.astype"):
        dml.Buffer(DEVICE, np.zeros((2, 2)).astype(given), wanted)


def test_integers_that_do_not_fit():
    x, op = identity(dtype=np.int8)
    assert op({x: [[127, -128], [0, 1]]})[0].tolist() == [[127, -128], [0, 1]]
    text = r"^dispatch: input 0 .* is an array of int64 with numbers from -5 to 128; allowed: -128 to 127, which int8"
    with pytest.raises(dml.DMLError, match=text):
        op({x: [[128, 1], [2, -5]]})


def test_floats_beyond_a_shorter_type_are_infinite():
    x, op = identity(dtype=np.float16)
    assert op({x: [[1e6, -1e6], [1, 0]]})[0].tolist() == [[np.inf, -np.inf], [1, 0]]


def test_what_is_no_array():
    x, op = identity()
    with pytest.raises(dml.DMLError, match="is .*; allowed: an array, or what numpy.asarray"):
        op({x: [[1.0], [2.0, 3.0]]})
    for make in (dml.Graph(DEVICE).constant, lambda array: dml.Buffer(DEVICE, array)):
        with pytest.raises(dml.DMLError, match="array is .*; allowed: an array, or what numpy.asarray"):
            make([[1.0], [2.0, 3.0]])


def test_layout_and_shape_of_what_is_given_do_not_matter():
    x, op = identity((2, 3))
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    for same in (
        data.ravel(),
        data.reshape(3, 2),
        np.asfortranarray(data),
        np.repeat(data, 2, 1)[:, ::2],
        data.tolist(),
    ):
        assert_same_bits(op({x: same})[0], data)
    for wrong in (data[:, :2], np.zeros(7, np.float32), np.float32(1), np.zeros((0,), np.float32)):
        with pytest.raises(dml.DMLError, match=r"data of \d elements does not fill input 0 .*; allowed: 6 elements"):
            op({x: wrong})
    y, half = identity((1, 3), np.float16)
    assert half({y: np.float16([1, 2, 3])})[0].tolist() == [[1, 2, 3]]  # 6 bytes, for a tensor of 8


def test_strided_inputs_cover_their_bytes():
    x, op = identity((3, 2), strides=(1, 3))
    data = np.arange(6, dtype=np.float32)
    assert_same_bits(op({x: data})[0], np.ascontiguousarray(data.reshape(2, 3).T))
    with pytest.raises(dml.DMLError, match="does not fill input 0 .*, with its strides .1, 3.; allowed: 6 elements or"):
        op({x: data[:5]})
    y, repeated = identity((3, 2), strides=(0, 1))
    assert repeated({y: data[:2]})[0].tolist() == [[0, 1]] * 3


# ---- keys


def test_keys():
    graph = dml.Graph(DEVICE)
    a, b = graph.input([2, 2], name="a"), graph.input([2, 2], name="b")
    op = graph.compile([a - b])
    assert op({"a": 3 * ONES, b: ONES})[0].tolist() == [[2, 2], [2, 2]]
    assert op.dispatch({a: 3 * ONES, "b": ONES})[0].tolist() == [[2, 2], [2, 2]]
    for inputs, text in (
        ({a: ONES}, r"^dispatch: it is missing input 1 'b' \(float32 \[2, 2\]\)"),
        ({}, r"missing input 0 'a' .*, input 1 'b'"),
        (None, "missing input 0 'a'"),
        ({"a": ONES, "b": ONES, a: ONES}, r"input 0 'a' .* is bound twice"),
        ({"c": ONES}, r"there is no input named 'c'; allowed: input 0 'a'"),
        ({a + b: ONES}, r"<dml.Expression float32 \[2, 2\]> is not an input of this graph"),
        ({dml.Graph(DEVICE).input([2, 2]): ONES}, "is not an input of this graph"),
    ):
        with pytest.raises(dml.DMLError, match=text):
            op(inputs)
    for inputs, text in (
        ({0: ONES}, "a key is 0; allowed: expr"),
        ([ONES], "^dispatch: the inputs are (.|\n)*Write {x: array}"),
    ):
        with pytest.raises(ArgumentError, match=text):
            op(inputs)


def test_inputs_that_no_output_needs():
    graph = dml.Graph(DEVICE)
    x, unused, owned = graph.input([2, 2]), graph.input([2, 2]), graph.input([2, 2], owned=True)
    dml.abs(unused)
    op = graph.compile([x + 1.0])
    assert op.initialized
    assert op({x: ONES})[0].tolist() == [[2, 2], [2, 2]]
    assert op({x: ONES, unused: ONES})[0].tolist() == [[2, 2], [2, 2]]
    op.initialize({owned: ONES})


def test_one_input_for_several_operands():
    graph = dml.Graph(DEVICE)
    x = graph.input([2, 2])
    assert graph.compile([x * x + x, x - x])({x: 3 * ONES})[0].tolist() == [[12, 12], [12, 12]]


# ---- initialisation


def test_owned_inputs_are_given_once():
    x, weight, op = sum_with_weight()
    assert not op.initialized
    with pytest.raises(dml.DMLError, match=r"^dispatch: .* Call initialize\(\) first; it owns input 1 'weight'"):
        op({x: ONES})
    with pytest.raises(dml.DMLError, match="^initialize: it is missing input 1 'weight'"):
        op.initialize()
    with pytest.raises(dml.DMLError, match="input 0 'x' .* is not owned by DirectML. Give it to dispatch instead"):
        op.initialize({weight: ONES, x: ONES})
    data = ONES.copy()
    op.initialize({"weight": data})
    data[:] = 7
    assert op.initialized
    assert op({x: ONES})[0].tolist() == [[2, 2], [2, 2]]
    with pytest.raises(dml.DMLError, match=r"input 1 'weight' .* is owned by DirectML. Give it to initialize\(\) inst"):
        op({x: ONES, weight: ONES})
    assert op.persistent_size >= 16
    assert op.temporary_size == 0
    assert op.descriptor_count >= 3
    assert repr(op).startswith("<dml.CompiledGraph of input 0 'x' (float32 [2, 2]), input 1 'weight'")


def test_initialising_again_replaces_everything():
    graph = dml.Graph(DEVICE)
    x, weight = graph.input([2, 2]), graph.input([2, 2], owned=True)
    bias = graph.constant(ONES)
    op = graph.compile([x + weight + bias])
    op.initialize({weight: ONES})  # the constant is known, the first time
    assert op({x: 0 * ONES})[0].tolist() == [[2, 2], [2, 2]]
    with pytest.raises(dml.DMLError, match="it is missing input 2"):
        op.initialize({weight: ONES})
    assert op({x: 0 * ONES})[0].tolist() == [[2, 2], [2, 2]]
    op.initialize({weight: 5 * ONES, bias: 6 * ONES})
    assert op({x: 0 * ONES})[0].tolist() == [[11, 11], [11, 11]]


def test_constants():
    graph = dml.Graph(DEVICE)
    x = graph.input([1, 1, 2, 2], np.float16)
    weight = graph.constant(np.arange(4.0), np.float16, sizes=[1, 1, 2, 2], name="weight")
    assert (weight.shape, weight.dtype) == ((1, 1, 2, 2), np.float16)
    op = graph.compile([x * weight])
    assert op.initialized
    assert op({x: np.full(4, 2.0)})[0].ravel().tolist() == [0, 2, 4, 6]
    assert graph.constant(np.int32([1, 2])).dtype == np.int32
    assert graph.constant(3.0).shape == (1,)
    with pytest.raises(
        dml.DMLError, match=r"^constant: an array of 4 elements does not fill sizes \[2, 3\]; allowed: 6"
    ):
        graph.constant(ONES, sizes=[2, 3])
    with pytest.raises(DTypeError, match="^constant: dtype is .*complex128"):
        graph.constant(1j)


def test_a_graph_lets_go_of_its_constants():
    graph = dml.Graph(DEVICE)
    array = np.zeros((2, 2), np.float32)
    reference = weakref.ref(array)
    op = graph.compile([dml.identity(graph.constant(array))])
    del array
    gc.collect()
    assert reference() is None
    assert op()[0].tolist() == [[0, 0], [0, 0]]


# ---- graphs


def test_graphs_that_cannot_be_made():
    graph = dml.Graph(DEVICE)
    x = graph.input([2, 2], name="x")
    for call, error, text in (
        (lambda: graph.input([2], name="x"), ParameterError, "already has an input named 'x'; allowed: another name"),
        (lambda: graph.input([2], name=7), ArgumentError, "name is 7; allowed: text"),
        (lambda: graph.input(), ArgumentError, "^input: sizes is missing; allowed: the shape, or a desc"),
        (lambda: graph.input([2], desc=x.desc), ArgumentError, "desc was given with sizes"),
        (lambda: graph.input(desc=[2]), ArgumentError, r"desc is \[2\]; allowed: a TensorDesc"),
        (lambda: graph.input([0, 2]), dml.DMLError, "Sizes is .0, 2.; allowed: sizes from 1 on"),
        (lambda: graph.input([2**20, 2**20]), dml.DMLError, "4294967295 elements at most"),
        (lambda: graph.input([2], "float8"), DTypeError, "dtype is 'float8'; allowed: "),
        (lambda: graph.input([2], dml.TensorDataType.INT4), DTypeError, "dtype is DML_TENSOR_DATA_TYPE_INT4"),
        (lambda: graph.compile(x + 1), ArgumentError, r"outputs is an expression; .* Write \[y\]"),
        (lambda: graph.compile([]), ArgumentError, r"outputs is \[\]; allowed: a list of one expression or more"),
        (lambda: graph.compile([x + 1, 3]), ArgumentError, r"outputs\[1\] is 3; allowed: an expression"),
        (lambda: graph.compile([x]), dml.DMLError, r"outputs\[0\] is an input or a constant; .* Use dml.identity"),
        (lambda: dml.Graph(DEVICE).compile([x + 1]), ArgumentError, r"outputs\[0\] belongs to another graph"),
        (lambda: dml.Graph("gpu"), ArgumentError, "^Graph: device is 'gpu'; allowed: a dml.Device"),
        (lambda: dml.Graph(DEVICE, tensor_policy="NHWC"), ArgumentError, "tensor_policy is 'NHWC'; allowed: TensorPol"),
        (lambda: graph.compile([x + 1], flags=64), dml.DMLError, "is 64; allowed: DML_EXECUTION_FLAG_NONE"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_a_desc_for_an_input():
    graph = dml.Graph(DEVICE)
    desc = dml.TensorDesc(np.float32, [2, 2], strides=[1, 2], guaranteed_base_offset_alignment=64)
    for form in (desc, desc.structure):
        x = graph.input(desc=form)
        assert x.desc == desc
        assert hash(x.desc) == hash(desc)
    with pytest.raises(ArgumentError, match="^TensorDesc: strides and tensor_policy were given; allowed: one of them"):
        dml.TensorDesc(np.float32, [2, 2], strides=[1, 2], tensor_policy=dml.TensorPolicy.default)
    assert dml.TensorDesc(np.float16, range(2, 4)).total_tensor_size_in_bytes == 12
    assert desc.flags == dml.TensorFlags.NONE
    assert desc.guaranteed_base_offset_alignment == 64


def test_policies_lay_out_what_operators_make():
    sizes = [2, 3, 4, 5]
    policy = dml.TensorPolicy.interleaved_channel
    assert dml.TensorDesc(np.float32, sizes, tensor_policy=policy).strides == [60, 1, 15, 3]
    assert dml.TensorDesc(np.float32, [7, 3], tensor_policy=policy).strides is None
    graph = dml.Graph(DEVICE, tensor_policy=policy)
    x = graph.input(sizes)
    y = x * 2.0 + x
    assert y.strides == (60, 1, 15, 3)
    data = np.random.default_rng(0).normal(size=sizes).astype(np.float32)
    (result,) = graph.compile([y])({x: data})
    assert result.strides == (240, 4, 60, 12)
    assert_same_bits(np.ascontiguousarray(result), data * 2 + data)


def test_a_graph_goes_on_after_compile():
    graph = dml.Graph(DEVICE)
    x = graph.input([2, 2])
    y = x + 1.0
    first = graph.compile([y])
    second = graph.compile([y * 2.0, y])
    assert first({x: ONES})[0].tolist() == [[2, 2], [2, 2]]
    assert second({x: ONES})[0].tolist() == [[4, 4], [4, 4]]
    assert repr(graph) == "<dml.Graph of 1 inputs and 2 operators>"


def test_devices_of_scripts_for_other_bindings():
    assert dml.Device(use_gpu=False, use_debug_layer=True).feature_level == dml.DML_FEATURE_LEVEL_6_4
    graph = dml.Graph(dml.Device("2_0"))
    y = dml.activation_relu(graph.input([1, 1, 2, 2]))
    with pytest.raises(dml.DMLError, match="needs DML_FEATURE_LEVEL_2_1 or later"):
        graph.compile([y])


# ---- buffers


def test_buffers():
    buffer = dml.Buffer(DEVICE, np.arange(6.0).reshape(2, 3), np.float32)
    assert (buffer.shape, buffer.dtype, buffer.nbytes, buffer.size) == ((2, 3), np.float32, 24, 6)
    assert buffer.device is DEVICE
    assert repr(buffer) == "<dml.Buffer float32 [2, 3]>"
    copy = buffer.numpy()
    copy[:] = 7
    assert buffer.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert dml.Buffer(DEVICE, 2.5).shape == (1,)
    with pytest.raises(ArgumentError, match="^Buffer: device is 'gpu'"):
        dml.Buffer("gpu", [1.0])
    source = np.ones(3, np.float32)
    kept = dml.Buffer(DEVICE, source)
    source[:] = 2
    assert kept.numpy().tolist() == [1, 1, 1]


def test_buffers_are_bound_as_they_are():
    x, weight, op = sum_with_weight()
    seven = dml.Buffer(DEVICE, 7 * ONES)
    op.initialize({weight: seven})
    assert op({x: seven})[0].tolist() == [[14, 14], [14, 14]]
    for wrong, text in (
        (dml.Buffer(DEVICE, np.ones((2, 2))), "is given a Buffer of float64; allowed: float32. Buffers are not conve"),
        (dml.Buffer(DEVICE, np.ones((2, 3), np.float32)), "data of 6 elements does not fill input 0 'x'"),
        (dml.Buffer(dml.Device(), ONES), "the Buffer for input 0 'x' .* is of a different device"),
    ):
        with pytest.raises(dml.DMLError, match=text):
            op({x: wrong})
    graph = dml.Graph(DEVICE)
    y = graph.input([2, 2])
    assert graph.compile([y + graph.constant(seven)])({y: ONES})[0].tolist() == [[8, 8], [8, 8]]
    with pytest.raises(dml.DMLError, match="^constant: it is given a Buffer of float32; allowed: float16"):
        graph.constant(seven, np.float16)


def test_outputs_as_buffers_feed_the_next_graph():
    x, op = identity()
    (buffer,) = op({x: 3 * ONES}, readback=False)
    assert isinstance(buffer, dml.Buffer)
    again = op({x: buffer}, readback=False)[0]
    del op
    assert again.numpy().tolist() == [[3, 3], [3, 3]]
    short, halves = identity((1, 3), np.float16)
    assert halves({short: [1.0, 2.0, 3.0]}, readback=False)[0].nbytes == 6
    graph = dml.Graph(DEVICE)
    y = graph.input([2, 2])
    turned = dml.reinterpret(y * 2.0, [2, 2], [1, 2])
    (strided,) = graph.compile([turned])({y: [[1.0, 2.0], [3.0, 4.0]]}, readback=False)
    assert strided.strides == (1, 2)
    assert strided.numpy().tolist() == [[2, 6], [4, 8]]


# ---- many nodes, many threads


def test_a_graph_of_200_nodes_is_one_kernel(capsys):
    """The figures are printed, not asserted: they depend on the machine."""
    graph = dml.Graph(DEVICE)
    x = graph.input([1, 1, 256, 256], name="x")
    start = time.perf_counter()
    y = x
    for i in range(25):
        y = 1.0 - y * 0.5
        y = dml.activation_shrink(y, bias=0.125, threshold=i / 32)
        y = dml.max(dml.clip(y, min=-2, max=2), x)
        y = dml.activation_leaky_relu(y, alpha=0.25) + x
        y = dml.abs(y)
    assert y._node.number >= 200
    built = time.perf_counter()
    op = graph.compile([y])
    compiled = time.perf_counter()
    (step,) = op._operator._plan.calls
    assert step.function.__name__ == "200 operators"
    assert op.temporary_size == 0
    data = np.random.default_rng(0).normal(size=(1, 1, 256, 256)).astype(np.float32)
    (result,) = op({"x": data})
    done = time.perf_counter()
    with capsys.disabled():
        times = f"built in {1e3 * (built - start):.0f} ms, compiled in {1e3 * (compiled - built):.0f} ms"
        print(f"\n200 nodes: {times}, dispatched in {1e3 * (done - compiled):.1f} ms, in one pass")
    wanted = data
    for i in range(25):
        wanted = np.float32(1) - wanted * np.float32(0.5)
        wanted = ogive.shrink(wanted, bias=0.125, lambd=i / 32)
        wanted = np.maximum(np.clip(wanted, -2, 2), data)
        wanted = np.abs(ogive.leaky_relu(wanted, alpha=0.25) + data)
    assert_same_bits(result, wanted)


@pytest.mark.matrix(share=16, pool="slow")
def test_long_graphs():
    """Nothing recurses: ten thousand nodes, one after the other."""
    graph = dml.Graph(DEVICE)
    x = y = graph.input([4])
    for _ in range(5000):
        y = dml.activation_relu(-y)
    (result,) = graph.compile([y])({x: [1.0, -1.0, 0.0, 2.0]})
    assert result.tolist() == [0, 0, 0, 0]


def test_calls_from_several_threads():
    graph = dml.Graph(DEVICE)
    x, weight = graph.input([64, 64]), graph.input([64, 64], owned=True)
    op = graph.compile([dml.activation_celu(x * weight, alpha=1.5)])
    op.initialize({weight: np.full((64, 64), 2.0)})
    data = [np.random.default_rng(i).normal(size=(64, 64)).astype(np.float32) for i in range(8)]
    wanted = [ogive.celu(2 * a, alpha=1.5) for a in data]
    failures = []

    def work(i):
        for _ in range(30):
            if not np.array_equal(op({x: data[i]})[0], wanted[i]):
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    op.initialize({weight: np.full((64, 64), 2.0)})  # others go on meanwhile
    for thread in threads:
        thread.join()
    assert not failures


# ---- any graph


@st.composite
def programs(draw):
    """Steps of (function, operands), where an operand is the number of a value before."""
    names = ["add", "subtract", "multiply", "max", "neg", "relu", "scale", "celu", "turn", "literal"]
    steps = []
    for count in range(1, draw(st.integers(2, 14))):
        steps.append((draw(st.sampled_from(names)), draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))))
    wanted = draw(st.lists(st.integers(1, len(steps)), min_size=1, max_size=3))
    return steps, wanted


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=60, deadline=None)
@example(([("subtract", 0, 0), ("multiply", 0, 1), ("scale", 2, 0)], [3]))
@given(programs())
def test_any_graph_has_the_bits_of_numpy_and_of_the_functions(program):
    steps, wanted = program
    graph = dml.Graph(DEVICE)
    x = graph.input([3, 3])
    data = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    build = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "max": dml.max,
        "neg": lambda a, b: -a,
        "relu": lambda a, b: dml.activation_relu(a),
        "scale": lambda a, b: a * 0.5,
        "celu": lambda a, b: dml.activation_celu(a, alpha=2.0),
        "turn": lambda a, b: dml.identity(dml.reinterpret(a, [3, 3], [1, 3])),
        "literal": lambda a, b: a % 2.0,
    }
    mirror = {
        **{name: lambda a, b, name=name: getattr(np, name)(a, b) for name in ("add", "subtract", "multiply")},
        "max": ogive.max,
        "neg": lambda a, b: -a,
        "relu": lambda a, b: ogive.relu(a),
        "scale": lambda a, b: a * np.float32(0.5) + np.float32(0),  # scale and bias; so -0 becomes 0
        "celu": lambda a, b: ogive.celu(a, alpha=2.0),
        "turn": lambda a, b: np.ascontiguousarray(a.T),
        "literal": lambda a, b: ogive.modulus_floor(a, np.float32(2.0)),
    }
    expressions, arrays = [x], [data]
    with np.errstate(all="ignore"):
        for name, i, j in steps:
            expressions.append(build[name](expressions[i], expressions[j]))
            arrays.append(mirror[name](arrays[i], arrays[j]))
    results = graph.compile([expressions[i] for i in wanted])({x: data})
    for i, result in zip(wanted, results, strict=True):
        expected = np.where(np.isnan(arrays[i]), np.float32("nan"), arrays[i])
        assert_same_bits(result, expected)
