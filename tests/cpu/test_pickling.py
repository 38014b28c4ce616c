"""Pickles: by name where the name leads back, else by value; the same bits wherever they are loaded."""

import concurrent.futures
import copy
import copyreg
import gc
import inspect
import itertools
import multiprocessing
import pickle
import subprocess
import sys
import weakref
from typing import Literal

import numpy as np
import pytest

import ogive
import ogive.directml as dml
import ogive.formula as f
from ogive.common.dtypes import BOOLEAN, ELEMENT_TYPES, FLOATS
from ogive.errors import FormulaError, ParameterError, PickleError
from ogive.operators.operator import Operator, operator
from ogive.operators.pickling import _remade, content, is_importable, token
from ogive.operators.signature import NONZERO, Constraint
from tests.cpu.picklable import V, X, built, notebook, onnx_model, shrink

CATALOGUE = {name: op for name in ogive.__all__ if isinstance(op := getattr(ogive, name), Operator)}


def trip(thing, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(thing, protocol))


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def in_a_fresh_process(thing, *args):
    """The bytes of ``thing(*args)``, computed by a process that knows nothing but the pickle."""
    script = """
import pickle, sys
thing, args = pickle.load(sys.stdin.buffer)
result = thing(*args)
sys.stdout.buffer.write(pickle.dumps((repr(thing), result)))
"""
    given = pickle.dumps((thing, args))
    done = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


module_level = operator(lambda x: x + 1)
module_level.__qualname__ = "module_level"


# ---- by name


def test_numpys_own_reducer_is_left_alone():
    script = """
import copyreg, pickle
import numpy as np
before = dict(copyreg.dispatch_table)
import ogive
ogive.celu.bind(alpha=1.5)
assert copyreg.dispatch_table == before
assert pickle.loads(pickle.dumps(np.exp)) is np.exp
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    assert copyreg.dispatch_table[np.ufunc].__module__.startswith("numpy")


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_by_name(name):
    op = CATALOGUE[name]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        packed = pickle.dumps(op, protocol)
        assert pickle.loads(packed) is op
        assert len(packed) < 100
        if all(not p.is_required for p in op.parameters):
            assert trip(op.bind(), protocol) is op.bind()


def test_the_catalogue_is_there():
    assert len(CATALOGUE) > 80


def test_by_name_only_what_the_name_leads_to():
    assert is_importable(ogive.celu)
    assert not is_importable(notebook().leaky)
    assert not is_importable(notebook("nowhere").leaky)
    assert is_importable(module_level)
    assert trip(module_level) is module_level
    other = operator(lambda x: x + 2)
    other.__qualname__ = "module_level"  # something else has that name
    assert not is_importable(other)
    assert trip(other)(1.0) == 3


def test_modules_that_cloudpickle_takes_by_value():
    cloudpickle = pytest.importorskip("cloudpickle", reason="it has the registry of such modules")
    module = sys.modules[module_level.__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        assert not is_importable(module_level)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    assert is_importable(module_level)


# ---- by value


def rebuilt(op):
    """An operator that was pickled by value, though its name would do."""
    return _remade.__wrapped__(type(op), op.__module__, op.__qualname__, content(op))


#: Caches, and the Python functions in whose place the graph comes.
NOT_COMPARED = {
    "function",
    "integer_function",
    "double_function",
    "__wrapped__",
    "_bound",
    "_kernels",
    "_formulas",
    "_any_ufunc",
    "_derived",
    "_on_tensors",
    "_with_operands",
    "_contracts",
    "_default",
    "for_elements",
    "fast",
    "exact",
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_nothing_is_lost_by_value(name):
    """Every attribute is the same, and every graph: so the code and the bits are too."""
    op = CATALOGUE[name]
    new = rebuilt(op)
    assert type(new) is type(op)
    assert vars(new).keys() - NOT_COMPARED == vars(op).keys() - NOT_COMPARED
    for attribute in vars(op).keys() - NOT_COMPARED:
        assert getattr(new, attribute) == getattr(op, attribute), attribute
    assert repr(new) == repr(op)
    assert inspect.getdoc(new) == inspect.getdoc(op)
    assert content(new) == content(op)
    chosen = [p for p in op.parameters if p.choices]
    kinds = ({}, {"for_integers": True}, {"for_doubles": True})
    for kind, values in itertools.product(kinds, itertools.product(*(p.choices for p in chosen))):
        choices = {p.name: value for p, value in zip(chosen, values, strict=True)}
        assert new.formula(**kind, **choices) == op.formula(**kind, **choices)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_notebooks_operators(protocol):
    space = notebook()
    rows = np.float64([[1, 3], [2, 2]])
    for thing, args in (
        (space.leaky, (X,)),
        (space.leaky.bind(slope=0.3), (X,)),
        (space.double, (X,)),
        (space.either, (X,)),
        (space.either.bind(kind="curve", gain=3.0), (X,)),
        (space.share, (rows,)),
        (space.share.bind(), (rows,)),
    ):
        new = trip(thing, protocol)
        assert repr(new) == repr(thing)
        assert new.__doc__ == thing.__doc__
        assert same_bits(new(*args), thing(*args))
        assert trip(new, protocol) is new  # again, and known again


@pytest.mark.matrix(share=16, pool="slow")
def test_in_another_process():
    space = notebook()
    for thing in (space.leaky, space.leaky.bind(slope=0.3), space.double, space.either.bind(kind="curve")):
        shown, result = in_a_fresh_process(thing, X)
        assert shown == repr(thing)
        assert same_bits(result, thing(X))
    rows = np.random.default_rng(1).random((5, 7), np.float32)
    assert same_bits(in_a_fresh_process(space.share, rows)[1], space.share(rows))


def test_every_part_of_a_declaration():
    @operator(
        signatures=[
            ((FLOATS[2], BOOLEAN), (FLOATS[2],)),
            ((ELEMENT_TYPES["int32"], BOOLEAN), (ELEMENT_TYPES["int32"],)),
        ],
        constraints={"scale": NONZERO},
        truth_inputs=("keep",),
        integers=lambda x, keep, *, scale, mode: f.where(keep, x, 7),
        modular=True,
        onnx="Gate",
        directml="GATE",
    )
    def gate(x, keep, *, scale, mode: Literal[0, True, None, b"x", 1] = True):
        """Keep."""
        return f.where(keep, x / scale, {0: 0, 1: 1}.get(mode, 2))

    new = trip(gate)
    assert isinstance(new, Operator)
    assert repr(new) == repr(gate) == "<operator gate(x, keep, *, scale, mode=True)>"
    assert (new.onnx, new.directml, new.modular, new.truth_inputs) == ("Gate", "GATE", True, ("keep",))
    assert new.signatures == gate.signatures
    assert new.parameters == gate.parameters
    assert new.parameters[0].constraint is NONZERO
    x, keep = np.float32([1, 2, 3]), np.array([True, False, True])
    for mode in (0, True, None, b"x", 1):
        assert same_bits(new(x, keep, scale=2.0, mode=mode), gate(x, keep, scale=2.0, mode=mode))
    assert new(x.astype(np.int32), keep, scale=2.0).tolist() == [1, 7, 3]
    with pytest.raises(ParameterError, match="scale is 0.0; allowed: any finite number but 0"):
        new(x, keep, scale=0.0)


def test_inside_another_formula():
    leaky = trip(notebook().leaky)
    gate = trip(trip(operator(lambda x, keep: f.where(keep, x, 0), truth_inputs=("keep",))))

    @operator
    def both(x, *, slope=0.5):
        return leaky(x, slope=slope) + leaky(-x) + gate(x, x > 0)

    expected = operator(lambda x: f.where(x >= 0, x, 0.5 * x) + f.where(-x >= 0, -x, 0.1 * -x) + f.where(x > 0, x, 0))
    assert same_bits(both(X), expected(X))
    with pytest.raises(FormulaError, match="an operand is a number; allowed: a truth"):
        operator(lambda x: gate(x, x))(1.0)


def test_choices_that_a_formula_refuses():
    """The decorator tries the first 32 combinations of choices; the others are tried when they are asked for."""

    def picky(x, *, a=0, b=0):
        if a == 7 and b != 7:
            raise ValueError("a and b must agree")
        return x + a

    picky.__annotations__ = dict.fromkeys("ab", Literal[tuple(range(8))])
    new = trip(operator(picky))
    assert new(3.0, a=7, b=7) == 10
    with pytest.raises(FormulaError, match="picky: the formula refuses .*ValueError: a and b must agree"):
        new(3.0, a=7)


def test_too_many_choices(monkeypatch):
    def wide(x, *, a=0, b=0, c=0, d=0):
        return x

    wide.__annotations__ = dict.fromkeys("abcd", Literal[tuple(range(8))])
    op = operator(wide)
    with pytest.raises(PickleError, match="wide: its choices have 4096 combinations.*allowed: up to 1024"):
        pickle.dumps(op)
    with pytest.raises(PickleError, match="4096"):
        token(op)
    monkeypatch.setattr(sys.modules[__name__], "wide", op, raising=False)
    op.__qualname__ = "wide"
    assert trip(op) is op
    assert token(op) == (__name__, "wide")


def test_a_long_formula():
    """A graph is deeper than Python's stack."""

    def long(x):
        for i in range(3000):
            x = x * 0.5 + i
        return x

    op = operator(long)
    assert trip(op).formula() == op.formula()


class Above:
    """A condition that another process can import and call."""

    def __init__(self, least):
        self.least = least

    def __call__(self, value):
        return value > self.least


def test_constraints_of_ones_own(monkeypatch):
    @operator(constraints={"a": Constraint("more than 1", Above(1))})
    def own(x, *, a=2.0):
        return a * x

    new = trip(own)
    assert new(2.0, a=1.5) == 3
    with pytest.raises(ParameterError, match="a is 0.5; allowed: more than 1"):
        new(2.0, a=0.5)

    @operator(constraints={"a": Constraint("more than 1", lambda value: value > 1)})
    def unnamed(x, *, a=2.0):
        return a * x

    monkeypatch.delitem(sys.modules, "cloudpickle", raising=False)
    with pytest.raises(PickleError, match="unnamed: it cannot be pickled.*import cloudpickle first") as caught:
        pickle.dumps(unnamed)
    assert isinstance(caught.value, pickle.PicklingError)
    monkeypatch.undo()
    pytest.importorskip("cloudpickle", reason="it takes lambdas")
    new = trip(unnamed)
    assert new(2.0, a=1.5) == 3
    with pytest.raises(ParameterError, match="a is 0.5; allowed: more than 1"):
        new(2.0, a=0.5)


@pytest.mark.parametrize("known", ["FINITE", "NONZERO", "ANY"])
def test_constraints_that_have_names(known):
    from ogive.operators import signature

    assert trip(getattr(signature, known)) is getattr(signature, known)


def test_tasks_share_an_operator():
    """Tasks that bring the same pickle get the same operator, and so its kernels."""
    packed = pickle.dumps(notebook().leaky)
    assert pickle.loads(packed) is pickle.loads(packed)


# ---- copies, life, tokens


def test_copies():
    leaky = notebook().leaky
    for thing in (leaky, ogive.celu, ogive.softmax, leaky.bind(slope=0.5), ogive.celu.bind(alpha=1.5)):
        assert copy.copy(thing) is thing
        assert copy.deepcopy(thing) is thing


def test_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle", reason="what Dask and joblib send functions with")
    space = notebook()
    for thing in (space.leaky, space.double.bind(), ogive.celu, ogive.celu.bind(alpha=1.5)):
        assert same_bits(pickle.loads(cloudpickle.dumps(thing))(X), thing(X))
    by_closure = cloudpickle.dumps(lambda x: space.leaky(x) + 1)
    assert same_bits(pickle.loads(by_closure)(X), space.leaky(X) + 1)


@pytest.mark.matrix(share=16, pool="slow")
def test_a_bound_ufunc_outlives_its_operator():
    def make():
        return operator(lambda x, *, a=1.0: a * x).bind(a=3.0)

    bound = make()
    gc.collect()
    assert trip(bound)(2.0) == 6
    assert bound(2.0) == 6


@pytest.mark.matrix(share=16, pool="slow")
def test_operators_are_freed():
    def make():
        op = operator(lambda x, *, a=1.0: a * x)
        op(X), op(X, a=2.0), op.bind(a=3.0)(X), op.bind(a=4.0)  # one that has no code yet
        return weakref.ref(op)

    reference = make()
    gc.collect()
    assert reference() is None


def test_a_ufunc_of_a_graph_is_refused():
    from ogive import _native
    from ogive.operators.signature import Signature

    kernel = ogive.relu.kernel(Signature((FLOATS[2],), (FLOATS[2],)))
    number = FLOATS[2].numpy.num
    ufunc = _native.make_ufunc("part", "", 1, 1, [((number, number), kernel)], ())
    assert ufunc(X[:2]).tolist() == [0, 0]
    with pytest.raises(PickleError, match="part: it is a part of a compiled graph"):
        pickle.dumps(ufunc)


def tokens():
    """A token of each kind; and the same of what has been pickled."""
    from dask.base import tokenize

    space = notebook()
    device = dml.Device()
    things = [
        *(space.leaky, space.share, space.double, space.either),
        *(space.leaky.bind(slope=0.3), space.either.bind(kind="curve")),
        *(ogive.celu, ogive.celu.bind(alpha=1.5), ogive.softmax),
        *(device.CompileOperator(shrink(device)), built()[0], onnx_model()),
    ]
    return [[tokenize(thing, ensure_deterministic=True) for thing in row] for row in (things, map(trip, things))]


@pytest.mark.matrix(share=16, pool="slow")
def test_tokens():
    """The same contents have the same token in two processes, other contents another one."""
    pytest.importorskip("dask", reason="tokens are Dask's")
    here, after_a_trip = tokens()
    assert here == after_a_trip
    assert len(set(here)) == len(here)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there, _ = pool.submit(tokens).result(timeout=60)
    assert there == here


# ---- DirectML


SHRUNK = [-1.5, 0, 1.5]
WAYS = {"pickle": trip, "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def test_compiled_operators(way):
    device = dml.Device("5_0")
    compiled = device.CompileOperator(shrink(device), dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE)
    compiled.SetName("shrinking")
    new = way(compiled)
    assert new is not compiled
    assert repr(new) == repr(compiled)
    assert new.is_volatile
    assert new.GetDevice().feature_level == device.feature_level
    assert new.dispatch([V])[0].tolist() == SHRUNK
    assert way(new).dispatch([V])[0].tolist() == SHRUNK  # initialised by now


def test_operators_that_are_not_compiled(way):
    device = dml.Device()
    new = way(shrink(device))
    assert repr(new) == repr(shrink(device))
    assert new.GetDevice().CompileOperator(new).dispatch([V])[0].tolist() == SHRUNK


def test_what_a_compiled_operator_owns(way):
    device = dml.Device()
    compiled = device.CompileOperator(shrink(device, dml.DML_TENSOR_FLAG_OWNED_BY_DML))
    early = way(compiled)
    compiled.initialize([V])
    late = way(compiled)
    assert late.dispatch([None])[0].tolist() == SHRUNK
    with pytest.raises(dml.DMLError, match="Call initialize first"):
        early.dispatch([None])
    early.initialize([2 * V])
    assert early.dispatch([None])[0].tolist() == [-3.5, 0, 3.5]
    assert compiled.dispatch([None])[0].tolist() == late.dispatch([None])[0].tolist() == SHRUNK


def test_a_persistent_resource_of_the_callers(way):
    device = dml.Device()
    compiled = device.CompileOperator(shrink(device, dml.DML_TENSOR_FLAG_OWNED_BY_DML))
    compiled.initialize([V])
    compiled._persistent = None  # as after an initialiser that wrote into the caller's memory
    with pytest.raises(dml.DMLError, match="Call initialize first"):
        way(compiled).dispatch([None])


def test_compiled_graphs_with_constants(way):
    device = dml.Device()
    x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[3])
    add = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=x, BTensor=x, OutputTensor=x)
    data = np.float32([1, 2, 3])
    graph = dml.DML_GRAPH_DESC(
        InputCount=1,
        OutputCount=1,
        Nodes=[
            dml.DML_OPERATOR_GRAPH_NODE_DESC(device.CreateOperator(add), Name="sum"),
            dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(data),
        ],
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(1, 0, 0, 1)],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)],
    )
    compiled = device.CompileGraph(graph)
    data[:] = 0  # compiling has copied it
    new = way(way(compiled))
    assert new.dispatch([V])[0].tolist() == compiled.dispatch([V])[0].tolist() == [-1, 2.25, 5]


def test_graphs_of_the_builder(way):
    compiled, _ = built()
    early = way(compiled)
    compiled.initialize({"weight": np.float32([[1, 2, 3]])})
    late = way(compiled)
    assert not early.initialized
    assert late.initialized
    expected = compiled({"x": V[None]})[0]
    assert same_bits(late({"x": V[None]})[0], expected)
    early.initialize({"weight": np.float32([[2, 4, 6]])})
    assert same_bits(early({"x": V[None]})[0], 2 * expected)
    assert same_bits(compiled({"x": V[None]})[0], expected)


def test_expressions_that_travel_with_their_graph():
    compiled, x = built()
    compiled.initialize({"weight": np.float32([[1, 2, 3]])})
    new, key = trip((compiled, x))
    assert same_bits(new({key: V[None]})[0], compiled({x: V[None]})[0])


# ---- ONNX


@pytest.mark.matrix(share=16, pool="slow")
def test_models():
    model = onnx_model(fuse=False, memory_limit=1 << 20)
    new = trip(model)
    assert repr(new) == repr(model)
    assert (new._fuse, new._memory_limit) == (False, 1 << 20)
    assert all(map(same_bits, new(V), model(V)))
    assert all(map(same_bits, trip(new)(V), model(V)))
    assert copy.copy(model) is copy.deepcopy(model) is model
    shown, result = in_a_fresh_process(model, V)
    assert shown == repr(model)
    assert all(map(same_bits, result, model(V)))
    with pytest.raises(ValueError, match="read-only"):
        new._graph.constants["w"][0] = 1


def test_models_with_data_beside_them(tmp_path):
    model = onnx_model(tmp_path)
    packed = pickle.dumps(model)
    for path in tmp_path.iterdir():
        path.unlink()
    assert all(map(same_bits, pickle.loads(packed)(V), model(V)))


def test_a_models_data_is_not_kept_twice():
    pytest.importorskip("onnx", reason="the models are ONNX's")
    from onnx import numpy_helper, parser

    import ogive.onnx

    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 14]> m (float[N] x) => (float[N] y) { y = Add(x, w) }'
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(100_000, np.float32), "w"))
    before = proto.SerializeToString()
    model = ogive.onnx.load(proto)
    assert proto.SerializeToString() == before
    assert len(model._source[0]) < 1000
    assert model._graph.initialisers["w"] is model._graph.constants["w"]
    assert len(pickle.dumps(model)) < 401_000


# ---- processes


# Python warns of every fork of a process with threads, and Ogive's own are made for that (runtime/native/pool.c).
@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_multiprocessing(method):
    space = notebook()
    rows = np.float32([[1, 3], [2, 2]])
    compiled, _ = built()
    compiled.initialize({"weight": np.float32([[1, 2, 3]])})
    device = dml.Device()
    dml_operator = device.CompileOperator(shrink(device))
    calls = [
        (ogive.celu, X),
        (ogive.celu.bind(alpha=1.5), X),
        (space.leaky, X),
        (space.leaky.bind(slope=0.3), X),
        (space.double, X),
        (space.either.bind(kind="curve"), X),
        (ogive.softmax, rows),
        (space.share, rows),
        (compiled, {"x": V[None]}),
        (dml_operator.dispatch, [V]),
    ]
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        for thing, argument in calls:
            result = pool.submit(thing, argument).result(timeout=60)
            expected = thing(argument)
            assert same_bits(np.asarray(result), np.asarray(expected)), thing


@pytest.mark.matrix(share=16, pool="slow")
def test_joblib():
    joblib = pytest.importorskip("joblib", reason="its workers are separate programs")
    space = notebook()
    things = [ogive.celu.bind(alpha=1.5), space.leaky, space.leaky.bind(slope=0.3), space.double, space.either]
    results = joblib.Parallel(n_jobs=2, backend="loky", timeout=60)(joblib.delayed(thing)(X) for thing in things)
    for thing, result in zip(things, results, strict=True):
        assert same_bits(result, thing(X))
