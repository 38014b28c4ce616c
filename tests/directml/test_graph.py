"""Compiled graphs: the rules for nodes and edges, and the bits of running node by node."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive
import ogive.directml as dml
from tests.directml.running import DEVICE, Arena, values
from tests.directml.standard import LEVELS, refusal_of, tensor
from tests.inputs import assert_same_bits

SIZES = (3, 8)
X = tensor("FLOAT32", SIZES)
OWNED = X.replace(Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)


def relu(x=X, y=None, device=DEVICE):
    return device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, y or x))


def add(a=X, b=X, y=X, device=DEVICE):
    return device.CreateOperator(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(a, b, y))


def node(operator, name=None):
    return dml.DML_OPERATOR_GRAPH_NODE_DESC(operator, name)


def graph(nodes, inputs=(), between=(), outputs=(), input_count=None, output_count=None):
    """A graph from tuples of numbers."""
    return dml.DML_GRAPH_DESC(
        InputCount=1 + max((i for i, *_ in inputs), default=-1) if input_count is None else input_count,
        OutputCount=1 + max((o for *_, o in outputs), default=-1) if output_count is None else output_count,
        Nodes=[n if isinstance(n, dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC) else node(n) for n in nodes],
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(*edge) for edge in inputs],
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(*edge) for edge in between],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(*edge) for edge in outputs],
    )


def data(seed=0, sizes=SIZES):
    return values("FLOAT32", int(np.prod(sizes)), seed).reshape(sizes)


def chain(n):
    """relu(x + x) and so on."""
    nodes = [add() if i % 2 else relu() for i in range(n)]
    between = [(i - 1, 0, i, 0) for i in range(1, n)]
    inputs = [(0, 0, 0)] + [(0, i, 1) for i in range(1, n) if i % 2]
    return graph(nodes, inputs, between, [(n - 1, 0, 0)])


# ---- running


def test_two_nodes():
    compiled = DEVICE.CompileGraph(graph([add(), relu()], [(0, 0, 0), (1, 0, 1)], [(0, 0, 1, 0)], [(1, 0, 0)]))
    a, b = data(1), data(2)
    assert_same_bits(compiled.dispatch([a, b])[0], ogive.relu(ogive.add(a, b)))
    assert repr(compiled) == "<IDMLCompiledOperator a graph of 2 nodes>"


def test_a_chain_of_200_runs_in_one_pass():
    compiled = DEVICE.CompileGraph(chain(200))
    assert len(compiled._plan.calls) == 1
    assert compiled.GetBindingProperties() == dml.DML_BINDING_PROPERTIES(2, 0, 0)
    x = data()
    y = ogive.relu(x)
    for i in range(1, 200):
        y = ogive.add(y, x) if i % 2 else ogive.relu(y)
    assert_same_bits(compiled.dispatch([x])[0], y)


def test_rounding_between_nodes_is_kept():
    half = tensor("FLOAT16", SIZES)
    nodes = [add(half, half, half), add(half, half, half)]
    compiled = DEVICE.CompileGraph(graph(nodes, [(0, 0, 0), (1, 0, 1), (2, 1, 1)], [(0, 0, 1, 0)], [(1, 0, 0)]))
    assert len(compiled._plan.calls) == 1
    a, b, c = (values("FLOAT16", 24, seed).reshape(SIZES) for seed in range(3))
    assert_same_bits(compiled.dispatch([a, b, c])[0], ogive.add(ogive.add(a, b), c))


def test_other_numbers_need_no_other_code():
    """Numbers of descs stay open in fused kernels: graphs that differ in them only share their code."""
    from ogive.engine.computation import _kept as kernels

    def celu(alpha):
        return DEVICE.CreateOperator(dml.DML_ACTIVATION_CELU_OPERATOR_DESC(X, X, Alpha=alpha))

    def build(a, b):
        return DEVICE.CompileGraph(graph([celu(a), celu(b)], [(0, 0, 0)], [(0, 0, 1, 0)], [(1, 0, 0)]))

    x = data()
    build(0.5, 2.0)
    before = kernels.cache_info().misses
    compiled = build(0.75, -1.5)
    assert kernels.cache_info().misses == before
    assert_same_bits(compiled.dispatch([x])[0], ogive.celu(ogive.celu(x, alpha=0.75), alpha=-1.5))


def test_compiling_leaves_nothing_to_compile(monkeypatch):
    from ogive.runtime import kernels

    x, nodes = data(), [relu(), add(), relu(), add(), add()]
    between = [(i, 0, i + 1, slot) for i in range(4) for slot in range(1 + (i % 2 == 0 or i == 3))]
    compiled = DEVICE.CompileGraph(graph(nodes, [(0, 0, 0)], between, [(4, 0, 0)]))

    def compiles():
        raise AssertionError("compiled again")

    monkeypatch.setattr(kernels, "host_target", compiles)
    assert_same_bits(compiled.dispatch([x])[0], ogive.relu(x) * 8)


def test_a_node_may_feed_several_nodes_and_outputs():
    nodes = [relu(), add(), relu()]
    between = [(0, 0, 1, 0), (0, 0, 1, 1), (1, 0, 2, 0)]
    compiled = DEVICE.CompileGraph(graph(nodes, [(0, 0, 0)], between, [(0, 0, 1), (0, 0, 2), (1, 0, 0), (2, 0, 3)]))
    assert len(compiled._plan.calls) == 1
    x = data()
    y = ogive.relu(x)
    results = compiled.dispatch([x])
    for result, wanted in zip(results, (ogive.add(y, y), y, y, ogive.relu(ogive.add(y, y))), strict=True):
        assert_same_bits(result, wanted)


FLIPPED = tensor("FLOAT32", (8, 3), Strides=(1, 8))
TURNED = tensor("FLOAT32", (8, 3))


def bit_not():
    return DEVICE.CreateOperator(dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(X, X))


def native_graphs():
    """Graphs of several kernels: (graph, arrays to initialise with, arrays of a call, the result)."""
    a, b = data(1), data(2)
    row = np.ascontiguousarray(b[0])
    repeated = tensor("FLOAT32", SIZES, Strides=(0, 1))
    turned, between = relu(FLIPPED, TURNED), [(0, 0, 1, 0)]
    ends = [(0, 0, 0), (1, 0, 1)], between, [(1, 0, 0)]
    yield graph([add(), turned], *ends), None, [a, b], ogive.relu(ogive.add(a, b)).T
    yield graph([add(X, repeated, X), turned], *ends), None, [a, row], ogive.relu(ogive.add(a, row)).T
    yield graph([add(X, OWNED, X), turned], *ends), [None, b], [a, None], ogive.relu(ogive.add(a, b)).T
    chained = [(0, 0, 1, 0), (1, 0, 2, 0)]
    of_bits = [relu(), bit_not(), relu()]
    wanted = ogive.relu((~ogive.relu(a).view(np.uint32)).view(np.float32))
    yield graph(of_bits, [(0, 0, 0)], chained, [(2, 0, 0)]), None, [a], wanted
    yield graph([bit_not()], [(0, 0, 0)], [], [(0, 0, 0)]), None, [a], (~a.view(np.uint32)).view(np.float32)
    softmax = DEVICE.CreateOperator(dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(X, X, 1, [0]))
    twice = graph([relu(), softmax], [(0, 0, 0)], between, [(1, 0, 0), (1, 0, 1)])
    yield twice, None, [a], ogive.softmax(ogive.relu(a), axis=0)


@pytest.mark.parametrize("number", range(6))
def test_a_call_of_arrays_runs_by_a_native_plan(number):
    """By order, by number, of arrays in another shape, and into given arrays: as the general way computes."""
    cases = list(native_graphs())
    assert len(cases) == 6
    made, owned, arrays, wanted = cases[number]
    compiled = DEVICE.CompileGraph(made)
    if owned is not None:
        assert compiled._native is None  # the owned inputs are not known yet
        compiled.initialize(owned)
    assert compiled._native is not None
    named = {n: array for n, array in enumerate(arrays) if array is not None}
    spread = [None if array is None else array.reshape(-1) for array in arrays]
    longer = [None if array is None else np.concatenate([array, array]) for array in spread]
    outs = [np.empty(wanted.shape, np.float32) for _ in compiled._outputs]
    runs = [compiled.dispatch(given) for given in (arrays, tuple(arrays), named, spread, longer)]
    runs.append(compiled.dispatch(arrays, outs))
    assert all(got is given for got, given in zip(runs[-1], outs, strict=True))
    in_bytes = [None if array is None else array.view(np.uint8) for array in arrays]
    runs.append(compiled.dispatch(in_bytes))  # checked, and run with bindings
    for results in runs:
        for got in results:
            assert got.dtype == np.float32
            assert_same_bits(got, np.ascontiguousarray(wanted))
    with pytest.raises(dml.DMLError, match=r"is not bound|inputs were given"):
        compiled.dispatch(arrays[:-1])
    with pytest.raises(dml.DMLError, match="bytes"):
        compiled.dispatch([None if array is None else array.reshape(-1)[:3] for array in arrays])
    with pytest.raises(dml.DMLError):
        compiled.dispatch([None if array is None else array.astype(np.float64) for array in arrays])
    if owned is not None:
        with pytest.raises(dml.DMLError, match="bound at initialisation"):
            compiled.dispatch([arrays[0], arrays[0]])
        with pytest.raises(dml.DMLError, match="were given"):
            compiled.dispatch([arrays[0]])


def test_a_native_call_of_a_loaded_graph_knows_what_it_owns():
    a, b = data(1), data(2)
    made = graph([add(X, OWNED, X), relu(FLIPPED, TURNED)], [(0, 0, 0), (1, 0, 1)], [(0, 0, 1, 0)], [(1, 0, 0)])
    compiled = DEVICE.CompileGraph(made)
    compiled.initialize([None, b])
    loaded = pickle.loads(pickle.dumps(compiled))
    assert loaded._native is not None
    assert_same_bits(loaded.dispatch([a, None])[0], compiled.dispatch([a, None])[0])
    b[:] = 0  # the operator has a copy
    assert_same_bits(loaded.dispatch([a, None])[0], compiled.dispatch([a, None])[0])


def test_a_view_of_the_same_bytes_is_given_by_another_desc():
    """The consumer sees the producer's 24 numbers transposed, as integers, or repeated."""
    x = data()
    transposed = tensor("FLOAT32", (8, 3), Strides=(1, 8))
    compiled = DEVICE.CompileGraph(
        graph([relu(), relu(transposed, tensor("FLOAT32", (8, 3)))], [(0, 0, 0)], [(0, 0, 1, 0)], [(1, 0, 0)])
    )
    assert compiled.GetBindingProperties().TemporaryResourceSize == 256
    assert_same_bits(compiled.dispatch([x])[0], np.ascontiguousarray(ogive.relu(x).T))
    integers = tensor("INT32", SIZES)
    compiled = DEVICE.CompileGraph(graph([relu(), relu(integers)], [(0, 0, 0)], [(0, 0, 1, 0)], [(1, 0, 0)]))
    assert_same_bits(compiled.dispatch([x])[0], ogive.relu(ogive.relu(x).view(np.int32)))
    row = tensor("FLOAT32", (1, 8))
    repeated = tensor("FLOAT32", (5, 8), Strides=(0, 1), TotalTensorSizeInBytes=32)
    wide = tensor("FLOAT32", (5, 8))
    compiled = DEVICE.CompileGraph(
        graph([relu(row), add(repeated, wide, wide)], [(0, 0, 0), (1, 1, 1)], [(0, 0, 1, 0)], [(1, 0, 0)])
    )
    a, b = data(1, (1, 8)), data(2, (5, 8))
    assert_same_bits(compiled.dispatch([a, b])[0], ogive.add(np.broadcast_to(ogive.relu(a), (5, 8)), b))


def test_constants():
    constant = data(3)
    given = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(constant.copy())
    made = graph([given, add()], [(0, 1, 0)], [(0, 0, 1, 1)], [(1, 0, 0)])
    compiled = DEVICE.CompileGraph(made)
    given.Data[:] = 0  # it was copied
    x = data()
    assert_same_bits(compiled.dispatch([x])[0], ogive.add(x, constant))
    assert compiled.GetBindingProperties() == dml.DML_BINDING_PROPERTIES(2, 0, 0)


def test_constants_alone():
    constant = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(data(3))
    compiled = DEVICE.CompileGraph(graph([constant, relu()], [], [(0, 0, 1, 0)], [(1, 0, 0)]))
    assert_same_bits(compiled.dispatch([])[0], ogive.relu(data(3)))


def test_owned_inputs():
    nodes = [add(X, OWNED), add(X, OWNED)]
    made = graph(nodes, [(0, 0, 0), (1, 0, 1), (1, 1, 1)], [(0, 0, 1, 0)], [(1, 0, 0)])
    compiled = DEVICE.CompileGraph(made)
    assert compiled.GetBindingProperties().PersistentResourceSize == 256
    x, weight = data(1), data(2)
    compiled.initialize([None, weight])
    assert_same_bits(compiled.dispatch([x, None])[0], ogive.add(ogive.add(x, weight), weight))


def test_unused_inputs_are_bound_as_none():
    compiled = DEVICE.CompileGraph(graph([relu()], [(2, 0, 0)], [], [(0, 0, 0)], input_count=4))
    x = data()
    assert_same_bits(compiled.dispatch([None, None, x, None])[0], ogive.relu(x))
    assert_same_bits(compiled.dispatch({"input 2": x})[0], ogive.relu(x))
    with pytest.raises(dml.DMLError, match="input 1 is bound, which the operator does not have; allowed: None"):
        compiled.dispatch([None, x, x, None])
    huge = DEVICE.CompileGraph(graph([relu()], [(2**32 - 2, 0, 0)], [], [(0, 0, 0)]))
    assert_same_bits(huge.dispatch({2**32 - 2: x})[0], ogive.relu(x))


def test_names_of_edges_name_the_inputs():
    edge = dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0, Name="x")
    out = dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0, Name="y")
    compiled = DEVICE.CompileGraph(dml.DML_GRAPH_DESC(1, 1, [node(relu())], [edge], [out]))
    x, y = data(), np.zeros(SIZES, np.float32)
    compiled.dispatch({"x": x}, {"y": y})
    assert_same_bits(y, ogive.relu(x))


def test_names_that_several_edges_have_name_none():
    edges = [dml.DML_INPUT_GRAPH_EDGE_DESC(i, 0, i, Name="x") for i in (0, 1)]
    compiled = DEVICE.CompileGraph(
        dml.DML_GRAPH_DESC(2, 1, [node(add())], edges, [dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)])
    )
    with pytest.raises(dml.DMLError, match="there is no input 'x'"):
        compiled.dispatch({"x": data()})
    a, b = data(1), data(2)
    assert_same_bits(compiled.dispatch({0: a, 1: b})[0], ogive.add(a, b))


@pytest.mark.matrix(share=16, pool="slow")
def test_long_chains_that_cannot_be_fused():
    """300 kernels, and two places suffice."""
    flat, turned = tensor("FLOAT32", (3, 8)), tensor("FLOAT32", (3, 8), Strides=(1, 3))
    nodes = [relu(flat, turned)] * 300
    compiled = DEVICE.CompileGraph(graph(nodes, [(0, 0, 0)], [(i - 1, 0, i, 0) for i in range(1, 300)], [(299, 0, 0)]))
    assert len(compiled._plan.calls) == 300
    assert compiled.GetBindingProperties().TemporaryResourceSize == 2 * 256
    x = data()
    expected = ogive.relu(x)
    for _ in range(299):
        expected = np.ascontiguousarray(expected.T).reshape(3, 8)
    assert_same_bits(np.ascontiguousarray(compiled.dispatch([x])[0]), expected)


def test_wrapped_descs():
    wrapped = dml.DML_GRAPH_DESC(
        1,
        1,
        [dml.DML_GRAPH_NODE_DESC(dml.DML_GRAPH_NODE_TYPE_OPERATOR, node(relu()))],
        [dml.DML_GRAPH_EDGE_DESC(dml.DML_GRAPH_EDGE_TYPE_INPUT, dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0))],
        [dml.DML_GRAPH_EDGE_DESC(dml.DML_GRAPH_EDGE_TYPE_OUTPUT, dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0))],
    )
    assert DEVICE.CompileGraph(wrapped).dispatch([data()])
    with pytest.raises(dml.DMLError, match="Type is DML_GRAPH_NODE_TYPE_CONSTANT for a DML_OPERATOR_GRAPH_NODE_DESC"):
        dml.DML_GRAPH_NODE_DESC(dml.DML_GRAPH_NODE_TYPE_CONSTANT, node(relu()))
    with pytest.raises(dml.DMLError, match="Type is DML_GRAPH_EDGE_TYPE_OUTPUT for a DML_INPUT_GRAPH_EDGE_DESC"):
        dml.DML_GRAPH_EDGE_DESC(dml.DML_GRAPH_EDGE_TYPE_OUTPUT, dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0))
    with pytest.raises(dml.DMLError, match=r"InputEdges\[0\] is .*; allowed: DML_INPUT_GRAPH_EDGE_DESC"):
        dml.DML_GRAPH_DESC(1, 1, [], [dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)])


def test_a_compiled_graph_keeps_no_operator():
    operator = relu()
    seen = weakref.ref(operator)
    compiled = DEVICE.CompileGraph(graph([operator], [(0, 0, 0)], [], [(0, 0, 0)]))
    del operator
    gc.collect()
    assert seen() is None
    assert compiled.dispatch([data()])


def test_the_long_way_with_a_temporary_resource():
    """The graph's scratch memory is the caller's, and nothing else is touched."""
    device = dml.Device("2_1")
    x = tensor("FLOAT32", (1, 1, 3, 8))
    turned = tensor("FLOAT32", (1, 1, 8, 3), Strides=(24, 24, 1, 8))
    operators = [relu(x, device=device), relu(turned, tensor("FLOAT32", (1, 1, 8, 3)), device=device)]
    compiled = device.CompileGraph(graph(operators, [(0, 0, 0)], [(0, 0, 1, 0)], [(1, 0, 0)]))
    arena = Arena()
    before = arena.memory.copy()
    source = arena.place(x)
    arena.view(x, source)[...] = data(sizes=(1, 1, 3, 8))
    target = arena.place(x)
    scratch = dml.DML_BUFFER_BINDING(arena.memory, 4096, 256)
    initializer = device.CreateOperatorInitializer([compiled])
    recorder, commands = device.CreateCommandRecorder(), dml.CommandList()
    table = device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(initializer))
    recorder.RecordDispatch(commands, initializer, table)
    table.Reset(dml.DML_BINDING_TABLE_DESC(compiled))
    table.BindInputs([source])
    table.BindOutputs([target])
    table.BindTemporaryResource(scratch)
    recorder.RecordDispatch(commands, compiled, table)
    commands.Execute()
    wanted = np.swapaxes(ogive.relu(data(sizes=(1, 1, 3, 8))), 2, 3)
    result = arena.view(tensor("FLOAT32", (1, 1, 8, 3)), target)
    assert_same_bits(result.copy(), np.ascontiguousarray(wanted))
    changed = np.flatnonzero(arena.memory != before)
    inside = [
        (place.Offset <= changed) & (changed < place.Offset + place.SizeInBytes) for place in (source, target, scratch)
    ]
    assert np.logical_or.reduce(inside).all()
    for wrong, text in (
        (None, "no temporary resource is bound; allowed: 256 bytes or more"),
        (dml.DML_BUFFER_BINDING(arena.memory, 4096 + 16, 256), "at Offset 4112; allowed: multiples of 256"),
        (dml.DML_BUFFER_BINDING(arena.memory, 4096, 128), "with SizeInBytes 128; allowed: 256 or more"),
        (dml.DML_BUFFER_BINDING(arena.memory, target.Offset // 256 * 256, 256), "resource and output 0 overlap"),
    ):
        fresh = dml.Device()
        operators = [relu(x, device=fresh), relu(turned, tensor("FLOAT32", (1, 1, 8, 3)), device=fresh)]
        compiled = fresh.CompileGraph(graph(operators, [(0, 0, 0)], [(0, 0, 1, 0)], [(1, 0, 0)]))
        table = fresh.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(compiled))
        table.BindInputs([source])
        table.BindOutputs([target])

        def misuse(fresh=fresh, compiled=compiled, table=table, wrong=wrong):
            table.BindTemporaryResource(wrong)
            fresh.CreateCommandRecorder().RecordDispatch(dml.CommandList(), compiled, table)

        with pytest.raises(dml.DMLError, match=text):
            misuse()
        assert fresh.GetDeviceRemovedReason() == dml.HRESULT.E_INVALIDARG


def test_graphs_do_not_run_in_place():
    compiled = DEVICE.CompileGraph(chain(3))
    x = data()
    with pytest.raises(
        dml.DMLError, match="output 0 and input 0 overlap in memory; allowed: no input and output at one"
    ):
        compiled.dispatch([x], [x])


def test_outputs_do_not_overlap():
    compiled = DEVICE.CompileGraph(graph([relu(), relu()], [(0, 0, 0), (0, 1, 0)], [], [(0, 0, 0), (1, 0, 1)]))
    buffer = np.full(64, 7, np.float32)
    for offset in (0, 16, 80):
        with pytest.raises(dml.DMLError, match="output 1 and output 0 overlap in memory; allowed: outputs that do not"):
            compiled.dispatch([data()], [dml.DML_BUFFER_BINDING(buffer, 0), dml.DML_BUFFER_BINDING(buffer, offset)])
    assert (buffer == 7).all()
    compiled.dispatch([data()], [dml.DML_BUFFER_BINDING(buffer, 0), dml.DML_BUFFER_BINDING(buffer, 96)])
    assert_same_bits(buffer[:24], buffer[24:48])
    assert (buffer[48:] == 7).all()


def turning(device=DEVICE):
    """A graph of two kernels, with 256 bytes between them."""
    turned = tensor("FLOAT32", (8, 3), Strides=(1, 8))
    nodes = [relu(device=device), relu(turned, tensor("FLOAT32", (8, 3)), device=device)]
    return device.CompileGraph(graph(nodes, [(0, 0, 0)], [(0, 0, 1, 0)], [(1, 0, 0)]))


def test_temporary_memory_of_the_short_way(monkeypatch):
    compiled = turning()
    scratch = np.full(512, 7, np.uint8)
    wanted = np.ascontiguousarray(ogive.relu(data()).T)
    assert_same_bits(compiled.dispatch([data()], temporary=scratch[:256])[0], wanted)
    assert (scratch[:96] != 7).any()
    assert (scratch[256:] == 7).all()
    for wrong, text in (
        (dml.DML_BUFFER_BINDING(None), "the temporary resource is not bound; allowed: 256 bytes or more"),
        (scratch[:128], "the temporary resource is bound with SizeInBytes 128; allowed: 256 or more"),
        (bytes(256), "the temporary resource is bound to read-only memory"),
    ):
        with pytest.raises(dml.DMLError, match=text):
            compiled.dispatch([data()], temporary=wrong)
    with pytest.raises(
        dml.DMLError, match="the temporary resource and input 0 overlap in memory; allowed: memory of its"
    ):
        compiled.dispatch([scratch[:256]], temporary=scratch[:256])

    def nothing_left(*arguments):
        raise MemoryError

    x = data()
    monkeypatch.setattr(np, "zeros", nothing_left)
    with pytest.raises(dml.DMLError, match="256 bytes are wanted, which are not there") as caught:
        compiled.dispatch([x], [bytearray(96)])
    assert caught.value.hresult == dml.HRESULT.E_OUTOFMEMORY


def test_intermediate_memory_is_used_again():
    """A long chain of nodes that cannot be fused needs two places, not one for each."""
    turned, flat = tensor("FLOAT32", (8, 3), Strides=(1, 8)), tensor("FLOAT32", (3, 8), Strides=(8, 1))
    other = tensor("FLOAT32", (3, 8), Strides=(1, 3))
    nodes = [relu(turned if i % 2 else flat, tensor("FLOAT32", (8, 3)) if i % 2 else other) for i in range(12)]
    between = [(i - 1, 0, i, 0) for i in range(1, 12)]
    compiled = DEVICE.CompileGraph(graph(nodes, [(0, 0, 0)], between, [(11, 0, 0)]))
    assert len(compiled._plan.calls) == 12
    assert compiled.GetBindingProperties().TemporaryResourceSize == 2 * 256
    assert compiled.dispatch([data()])


@pytest.mark.matrix(share=16, pool="slow")
def test_more_operands_than_a_kernel_has():
    """100 inputs, summed: more than a ufunc takes at once."""
    nodes = [add() for _ in range(99)]
    inputs = [(0, 0, 0)] + [(i + 1, i, 1) for i in range(99)]
    compiled = DEVICE.CompileGraph(graph(nodes, inputs, [(i - 1, 0, i, 0) for i in range(1, 99)], [(98, 0, 0)]))
    arrays = [data(seed) for seed in range(100)]
    total = arrays[0]
    for array in arrays[1:]:
        total = ogive.add(total, array)
    assert_same_bits(compiled.dispatch(arrays)[0], total)


# ---- any graph at all

UNARY = (
    (dml.DML_ACTIVATION_RELU_OPERATOR_DESC, {}, ogive.relu),
    (dml.DML_ACTIVATION_TANH_OPERATOR_DESC, {}, ogive.tanh),
    (dml.DML_ACTIVATION_CELU_OPERATOR_DESC, {"Alpha": 0.5}, lambda x: ogive.celu(x, alpha=0.5)),
    (
        dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC,
        {"Bias": 0.25, "Threshold": 1.0},
        lambda x: ogive.shrink(x, bias=0.25, lambd=1.0),
    ),
)
BINARY = (
    (dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, ogive.add),
    (dml.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC, ogive.mul),
    (dml.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, ogive.sub),
)
#: Layouts of 12 elements in 48 bytes: connected tensors may see them in any of these ways.
LAYOUTS = [
    tensor(kind, sizes, Strides=strides)
    for kind in ("FLOAT32",)
    for sizes, strides in (
        ((3, 4), None),
        ((3, 4), (1, 3)),
        ((4, 3), None),
        ((4, 3), (1, 4)),
        ((12,), None),
        ((2, 6), None),
    )
]


@st.composite
def random_graphs(draw):
    """A graph over 48-byte tensors, and what it computes."""
    inputs = draw(st.integers(1, 3))
    nodes, edges_in, between, values_of = [], [], [], []
    arrays = [values("FLOAT32", 12, draw(st.integers(0, 99))) for _ in range(inputs)]

    def seen(raw, desc):
        strides = desc.Strides or np.cumprod([1, *desc.Sizes[:0:-1]])[::-1]
        return np.lib.stride_tricks.as_strided(raw, desc.Sizes, [4 * int(s) for s in strides])

    def stored(array, desc):
        raw = np.zeros(12, np.float32)
        seen(raw, desc)[...] = array
        return raw

    for index in range(draw(st.integers(1, 12))):
        like = draw(st.sampled_from(LAYOUTS))
        same = [d for d in LAYOUTS if d.Sizes == like.Sizes]
        arity = draw(st.integers(1, 2))
        descs = [draw(st.sampled_from(same)) for _ in range(arity)]
        out = draw(st.sampled_from(same))
        operands = []
        for position, desc in enumerate(descs):
            source = draw(st.integers(-inputs, index - 1))
            if source < 0:
                edges_in.append((source + inputs, index, position))
                operands.append(seen(arrays[source + inputs], desc))
            else:
                between.append((source, 0, index, position))
                operands.append(seen(values_of[source], desc))
        if arity == 1:
            kind, numbers, function = draw(st.sampled_from(UNARY))
            nodes.append(DEVICE.CreateOperator(kind(descs[0], out, **numbers)))
        else:
            kind, function = draw(st.sampled_from(BINARY))
            nodes.append(DEVICE.CreateOperator(kind(*descs, out)))
        values_of.append(stored(function(*operands), out))
    used = {source for source, *_ in between}
    outs = [i for i in range(len(nodes)) if i not in used or draw(st.integers(0, 4)) == 0]
    order = draw(st.permutations(outs))
    made = graph(nodes, edges_in, between, [(o, 0, i) for i, o in enumerate(order)], input_count=inputs)
    read = {i for i, *_ in edges_in}
    return made, [a if i in read else None for i, a in enumerate(arrays)], [values_of[o] for o in order]


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None)
@given(random_graphs())
def test_any_graph_has_the_bits_of_running_node_by_node(case):
    made, arrays, wanted = case
    compiled = DEVICE.CompileGraph(made)
    guarded = [np.full(12 + 16, 7, np.float32) for _ in wanted]
    before = [None if a is None else a.copy() for a in arrays]
    compiled.dispatch(arrays, [dml.DML_BUFFER_BINDING(g, 32, 48) for g in guarded])
    for result, bits in zip(guarded, wanted, strict=True):
        assert_same_bits(result[8:20], bits)
        assert (result[:8] == 7).all()
        assert (result[20:] == 7).all()
    for a, b in zip(arrays, before, strict=True):
        if a is not None:
            assert_same_bits(a, b)


# ---- rules

ONE = {"nodes": [relu()], "inputs": [(0, 0, 0)], "outputs": [(0, 0, 0)]}
HALF = tensor("FLOAT16", SIZES)
CONSTANT = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(np.zeros(SIZES, np.float32), Name="weights")

RULES = {
    "no nodes": ({"nodes": [], "inputs": [], "outputs": []}, "there is no operator node; allowed: one operator node"),
    "constants only": (
        {"nodes": [CONSTANT], "inputs": [], "outputs": [(0, 0, 0)]},
        "there is no operator node",
    ),
    "no edge to an input": (
        ONE | {"inputs": []},
        r"no edge leads to InputTensor of Nodes\[0\]; allowed: an edge to every",
    ),
    "no outputs": (ONE | {"outputs": []}, "OutputCount is 0, and no edge leads to graph output 0"),
    "an output without an edge": (ONE | {"output_count": 2}, "OutputCount is 2, and no edge leads to graph output 1"),
    "a huge output count": (ONE | {"output_count": 2**32 - 1}, "OutputCount is 4294967295, and no edge leads to"),
    "two edges to an output": (
        ONE | {"outputs": [(0, 0, 0), (0, 0, 0)]},
        r"OutputEdges\[1\] is the second one for graph output 0; allowed: one edge",
    ),
    "two edges to an input": (
        ONE | {"inputs": [(0, 0, 0), (1, 0, 0)]},
        r"InputEdges\[1\] is the second one that leads to InputTensor of Nodes\[0\]; allowed: one edge",
    ),
    "an edge and an input": (
        {
            "nodes": [relu(), relu()],
            "inputs": [(0, 0, 0), (0, 1, 0)],
            "between": [(0, 0, 1, 0)],
            "outputs": [(1, 0, 0)],
        },
        r"IntermediateEdges\[0\] is the second one that leads to",
    ),
    "an input beyond": (ONE | {"input_count": 0}, r"InputEdges\[0\].GraphInputIndex is 0; allowed: no edges like this"),
    "an input far beyond": (
        ONE | {"inputs": [(9, 0, 0)], "input_count": 2},
        r"InputEdges\[0\].GraphInputIndex is 9; allowed: 0 to 1",
    ),
    "a node beyond": (ONE | {"inputs": [(0, 1, 0)]}, r"InputEdges\[0\].ToNodeIndex is 1; allowed: 0 to 0"),
    "a node input beyond": (ONE | {"inputs": [(0, 0, 1)]}, r"InputEdges\[0\].ToNodeInputIndex is 1; allowed: 0 to 0"),
    "a source beyond": (ONE | {"outputs": [(7, 0, 0)]}, r"OutputEdges\[0\].FromNodeIndex is 7; allowed: 0 to 0"),
    "a node output beyond": (
        ONE | {"outputs": [(0, 1, 0)]},
        r"OutputEdges\[0\].FromNodeOutputIndex is 1; allowed: 0 to 0",
    ),
    "a graph output beyond": (
        ONE | {"outputs": [(0, 0, 3)], "output_count": 1},
        r"OutputEdges\[0\].GraphOutputIndex is 3; allowed: 0 to 0",
    ),
    "a node that feeds nothing": (
        {"nodes": [relu(), relu()], "inputs": [(0, 0, 0), (0, 1, 0)], "outputs": [(0, 0, 0)]},
        r"no edge comes from Nodes\[1\]; allowed: an edge from every node",
    ),
    "a constant that feeds nothing": (
        ONE | {"nodes": [relu(), CONSTANT]},
        r"no edge comes from Nodes\[1\] 'weights'",
    ),
    "an edge to a constant": (
        ONE | {"nodes": [relu(), CONSTANT], "inputs": [(0, 0, 0), (0, 1, 0)]},
        r"InputEdges\[1\] leads to Nodes\[1\] 'weights', a constant; allowed: edges to operators",
    ),
    "an output from a constant": (
        ONE | {"nodes": [relu(), CONSTANT], "outputs": [(1, 0, 0)]},
        r"OutputEdges\[0\] comes from Nodes\[1\] 'weights', a constant; .* Put an IDENTITY between",
    ),
    "another size": (
        {"nodes": [relu(), relu(HALF)], "inputs": [(0, 0, 0)], "between": [(0, 0, 1, 0)], "outputs": [(1, 0, 0)]},
        r"IntermediateEdges\[0\] leads from 96 bytes to InputTensor of Nodes\[1\], of 48 bytes; allowed: equal Total",
    ),
    "a constant of another size": (
        {
            "nodes": [relu(), dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(bytes(92))],
            "inputs": [],
            "between": [(1, 0, 0, 0)],
            "outputs": [(0, 0, 0)],
        },
        r"leads from 92 bytes to InputTensor of Nodes\[0\], of 96 bytes",
    ),
    "owned by two minds": (
        {"nodes": [add(X, OWNED)], "inputs": [(0, 0, 0), (0, 0, 1)], "outputs": [(0, 0, 0)]},
        r"InputEdges\[1\] feeds BTensor of Nodes\[0\] with other Flags than an edge before",
    ),
    "owned from a node": (
        {
            "nodes": [relu(), add(X, OWNED)],
            "inputs": [(0, 0, 0), (0, 1, 0)],
            "between": [(0, 0, 1, 1)],
            "outputs": [(1, 0, 0)],
        },
        r"leads to BTensor of Nodes\[1\], which is owned by DirectML; allowed: input edges to such tensors",
    ),
    "owned from a constant": (
        {"nodes": [CONSTANT, add(X, OWNED)], "inputs": [(0, 1, 0)], "between": [(0, 0, 1, 1)], "outputs": [(1, 0, 0)]},
        "which is owned by DirectML",
    ),
    "a node that feeds itself": (
        {"nodes": [add()], "inputs": [(0, 0, 0)], "between": [(0, 0, 0, 1)], "outputs": [(0, 0, 0)]},
        r"the edges make a cycle: Nodes\[0\] -> Nodes\[0\]; allowed: graphs without cycles",
    ),
    "a cycle": (
        {
            "nodes": [add(), relu(), relu()],
            "inputs": [(0, 0, 0)],
            "between": [(0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 0, 1)],
            "outputs": [(2, 0, 0)],
        },
        r"the edges make a cycle: Nodes\[\d\] -> Nodes\[\d\] -> Nodes\[\d\] -> Nodes\[\d\]; allowed",
    ),
    "another device": (
        ONE | {"nodes": [relu(device=dml.Device())]},
        r"DML_GRAPH_DESC: Nodes\[0\]: .* belongs to another dev",
    ),
    "no operator": (
        ONE | {"nodes": [DEVICE.CompileOperator(relu())]},
        r"Nodes\[0\].Operator is a CompiledOperator; allowed: operators that a device has created",
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_rules(case):
    arguments, text = RULES[case]
    with pytest.raises(dml.DMLError, match=text) as caught:
        DEVICE.CompileGraph(graph(**arguments))
    assert caught.value.hresult == dml.HRESULT.E_INVALIDARG
    assert DEVICE.GetDeviceRemovedReason() == dml.HRESULT.S_OK


def test_levels():
    """Graphs from 2_1, constants from 6_2."""
    x = tensor("FLOAT32", (1, 1, 3, 8))
    zeros = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(bytes(96))
    for level in LEVELS:
        device = dml.Device(level)
        plain = graph([relu(x, device=device)], [(0, 0, 0)], [], [(0, 0, 0)])
        error = refusal_of(device.CompileGraph, plain)
        if LEVELS.index(level) < LEVELS.index("2_1"):
            assert f"needs DML_FEATURE_LEVEL_2_1 or later, and the device has DML_FEATURE_LEVEL_{level}" in str(error)
            continue
        assert error is None
        error = refusal_of(device.CompileGraph, graph([zeros, relu(x, device=device)], [], [(0, 0, 1, 0)], [(1, 0, 0)]))
        if LEVELS.index(level) < LEVELS.index("6_2"):
            text = (
                f"a constant, and the device has DML_FEATURE_LEVEL_{level}; allowed: constants at DML_FEATURE_LEVEL_6_2"
            )
            assert text in str(error)
        else:
            assert error is None


def test_inputs_of_several_sizes():
    """An input that feeds tensors of different sizes must be large enough for all."""
    short = tensor("FLOAT32", (2, 8))
    compiled = DEVICE.CompileGraph(graph([relu(), relu(short)], [(0, 0, 0), (0, 1, 0)], [], [(0, 0, 0), (1, 0, 1)]))
    x = data()
    long, first = compiled.dispatch([x])
    assert_same_bits(long, ogive.relu(x))
    assert_same_bits(first, ogive.relu(x[:2]))
    with pytest.raises(dml.DMLError, match="input 0 has 64 bytes; allowed: 96 or more"):
        compiled.dispatch([x[:2]])


def test_names_are_text():
    with pytest.raises(dml.DMLError, match="Name is 3; allowed: text"):
        node(relu(), 3)


def test_edges_to_what_a_desc_leaves_out_are_refused():
    """No operator with optional tensors is needed for that: a slot without a tensor is one."""
    from ogive.directml.binding import BindingSlot

    operator = relu()
    operator.inputs = (*operator.inputs, BindingSlot("Absent", ()))
    with pytest.raises(dml.DMLError, match=r"leads to Absent of Nodes\[0\], which its desc leaves out"):
        DEVICE.CompileGraph(graph([operator], [(0, 0, 0), (0, 0, 1)], [], [(0, 0, 0)]))


def test_data_sizes_of_constants():
    with pytest.raises(dml.DMLError, match="DataSize is 97; allowed: 96 at most, the size of Data"):
        dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(bytes(96), 97)
    part = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(bytes(200), 96)
    assert DEVICE.CompileGraph(graph([part, relu()], [], [(0, 0, 1, 0)], [(1, 0, 0)])).dispatch([])
    with pytest.raises(dml.DMLError, match="Data is None; allowed: NumPy arrays"):
        dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(None)


def test_arguments_of_compile_graph():
    with pytest.raises(dml.DMLError, match="CompileGraph: desc is a list; allowed: DML_GRAPH_DESC"):
        DEVICE.CompileGraph([])
    with pytest.raises(dml.DMLError, match="flags is 16"):
        DEVICE.CompileGraph(chain(1), 16)


# ---- malformed graphs

small = st.integers(0, 4)
numbers = st.one_of(small, small, small, st.just(2**32 - 1))
edges = st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=8)


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["relu", "add", "constant", "half"]), max_size=5), edges, edges, edges, numbers, numbers
)
def test_any_wiring_is_compiled_or_refused(kinds, inputs, between, outputs, input_count, output_count):
    """Every graph desc gives a DMLError or a graph that runs; nothing else."""
    make = {"relu": relu, "add": add, "constant": lambda: CONSTANT, "half": lambda: relu(HALF)}
    made = graph(
        [make[kind]() for kind in kinds],
        [edge[:3] for edge in inputs],
        between,
        [edge[:3] for edge in outputs],
        input_count,
        output_count,
    )
    error = refusal_of(DEVICE.CompileGraph, made)
    if error is None:
        compiled = DEVICE.CompileGraph(made)
        assert compiled.dispatch({i: np.ones(SIZES, np.uint32).view(np.uint8) for i in compiled._inputs})
    else:
        assert error.hresult == dml.HRESULT.E_INVALIDARG
        assert str(error).startswith("DML_GRAPH_DESC: ")
