"""Rows that are fused with what stands around them: the same bits as node by node, in few kernels."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import ogive
import ogive.onnx
from ogive.engine.rows import MOST_REDUCTIONS
from ogive.errors import ShapeError
from tests.inputs import assert_same_bits, same_bits
from tests.onnx.models import node_model, text_model

TYPES = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
}

LAYER_NORM = """t ({kind}[R, N] x, {kind}[N] s, {kind}[N] b) => ({kind}[R, N] y)
<int64[1] ax = {{-1}}, float e0 = {{1e-5}}> {{
  e = CastLike(e0, x)
  m = ReduceMean(x, ax)  d = Sub(x, m)  q = Mul(d, d)  v = ReduceMean(q, ax)  w = Add(v, e)  r = Sqrt(w)
  n = Div(d, r)  k = Mul(n, s)  y = Add(k, b) }}"""

RMS_NORM = """t ({kind}[R, N] x, {kind}[N] s) => ({kind}[R, N] y) <int64[1] ax = {{-1}}, float e0 = {{1e-5}}> {{
  e = CastLike(e0, x)
  q = Mul(x, x)  v = ReduceMean(q, ax)  w = Add(v, e)  r = Sqrt(w)  n = Div(x, r)  y = Mul(n, s) }}"""

MASKED_SOFTMAX = """t ({kind}[B, R, N] x, {kind}[R, N] mask) => ({kind}[B, R, N] y) <float c0 = {{0.125}}> {{
  c = CastLike(c0, x)
  a = Mul(x, c)  b = Add(a, mask)  y = Softmax(b) }}"""

SOFTMAX_BY_HAND = """t ({kind}[R, N] x) => ({kind}[R, N] y) <int64[1] ax = {{-1}}> {{
  m = ReduceMax(x, ax)  d = Sub(x, m)  e = Exp(d)  s = ReduceSum(e, ax)  y = Div(e, s) }}"""

MOMENTS = """t ({kind}[R, N] x) => ({kind}[R, 1] m, {kind}[R, 1] v) <int64[1] ax = {{-1}}> {{
  m = ReduceMean(x, ax)  q = Mul(x, x)  p = ReduceMean(q, ax)  z = Mul(m, m)  v = Sub(p, z) }}"""


def load(text, kind):
    model = text_model(text.format(kind=kind), 18)
    return ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)


def operands(model, rows, length, kind, seed=0):
    generator = np.random.default_rng(seed)
    sizes = {"R": rows, "N": length, "B": 3}
    arrays = {}
    for info in model.inputs:
        shape = [sizes[size] for size in info.shape]
        arrays[info.name] = generator.standard_normal(shape).astype(TYPES[kind])
    return arrays


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("text", [LAYER_NORM, RMS_NORM, MASKED_SOFTMAX, SOFTMAX_BY_HAND, MOMENTS])
def test_one_kernel_with_the_same_bits(text, kind, threads):
    fused, plain = load(text, kind)
    for rows, length in ((1, 16), (5, 17), (40, 1000), (2, 20_000), (3, 2)):
        arrays = operands(fused, rows, length, kind)
        threads(1)
        expected = as_tuple(plain(arrays))
        for count in (1, 2, 3):
            threads(count)
            for _ in range(2):  # step by step, and by the plan
                for got, wanted in zip(as_tuple(fused(arrays)), expected, strict=True):
                    assert_same_bits(got, wanted)
        # Rows do not repair elements, so the exponential, which is rounded correctly, is a kernel of its own.
        kernels = 3 if text is SOFTMAX_BY_HAND else 1
        if rows * 3 > 1:
            assert fused.ran().kernel_calls == kernels
            assert fused.ran().function_calls == 0


@pytest.mark.parametrize("text", [LAYER_NORM, RMS_NORM, MASKED_SOFTMAX, SOFTMAX_BY_HAND, MOMENTS])
def test_what_has_no_rows_or_rows_of_one(text):
    fused, plain = load(text, "float")
    for rows, length in ((4, 1), (0, 5), (4, 0), (0, 0)):
        arrays = operands(fused, rows, length, "float")
        for got, wanted in zip(as_tuple(fused(arrays)), as_tuple(plain(arrays)), strict=True):
            assert_same_bits(got, wanted)


def test_the_layout_of_operands_changes_no_bit():
    fused, _ = load(LAYER_NORM, "float")
    arrays = operands(fused, 30, 100, "float")
    expected = fused(arrays)
    assert_same_bits(fused({**arrays, "x": np.asfortranarray(arrays["x"])}), expected)
    assert_same_bits(fused({**arrays, "s": np.repeat(arrays["s"], 2)[::2]}), expected)
    assert_same_bits(fused({**arrays, "x": arrays["x"][::-1].copy()[::-1]}), expected)
    out = np.empty_like(expected)
    assert fused(**arrays, out=out) is out
    assert_same_bits(out, expected)
    in_place = arrays["x"].copy()
    fused(**{**arrays, "x": in_place}, out=in_place)
    assert_same_bits(in_place, expected)


def test_more_reductions_than_a_kernel_has_room_for():
    steps, last = [], "x"
    for i in range(MOST_REDUCTIONS + 3):
        steps.append(f"m{i} = ReduceMean({last}, ax)  d{i} = Sub({last}, m{i})")
        last = f"d{i}"
    text = (
        "t ({kind}[R, N] x) => ({kind}[R, N] y) <int64[1] ax = {{-1}}> {{ " + " ".join(steps) + f" y = Neg({last}) }}}}"
    )
    fused, plain = load(text, "float")
    arrays = operands(fused, 4, 50, "float")
    assert_same_bits(fused(arrays), plain(arrays))
    assert fused.ran().kernel_calls > 1


ALONG_ANOTHER_AXIS = {
    "softmax": """t (float{x} x, float{s} s, float{x} b) => (float{x} y) <float k = {{0.125}}> {{
        a = Mul(x, k) c = Add(a, s) d = Softmax <axis = {axis}> (c) e = Mul(d, k) y = Add(e, b) }}""",
    "layer normalisation": """t (float{x} x, float{s} s, float{s} b) => (float{x} y) <int64[1] ax = {{{axis}}}> {{
        m = ReduceMean(x, ax) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, ax) r = Sqrt(v) n = Div(d, r)
        k = Mul(n, s) y = Add(k, b) }}""",
    "mean and variance": """t (float{x} x) => (float{n} m, float{n} v) <int64[1] ax = {{{axis}}}> {{
        m = ReduceMean(x, ax) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, ax) }}""",
}


@pytest.mark.parametrize("text", ALONG_ANOTHER_AXIS.values(), ids=ALONG_ANOTHER_AXIS)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((64, 100), 0), ((5, 16), 0), ((1500, 17), -2), ((3, 40, 7, 5), 1), ((3, 2, 300, 33), 2), ((2, 1, 3), -2)],
)
def test_rows_along_another_axis_are_fused(text, shape, axis):
    """With an operand that all rows share, of one number for each of their elements."""
    place = axis % len(shape)
    one = tuple(1 if at != place else size for at, size in enumerate(shape))[place:]
    numbers = tuple(1 if at == place else size for at, size in enumerate(shape))
    model = text_model(text.format(x=list(shape), s=list(one), n=list(numbers), axis=axis), 18)
    fused, plain = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    generator = np.random.default_rng(0)
    arrays = {info.name: generator.standard_normal(info.shape).astype(np.float32) for info in fused.inputs}
    expected = as_tuple(plain(arrays))
    for _ in range(2):
        for got, wanted in zip(as_tuple(fused(arrays)), expected, strict=True):
            assert_same_bits(got, wanted)
        turned = {name: np.asfortranarray(array) for name, array in arrays.items()}
        for got, wanted in zip(as_tuple(fused(turned)), expected, strict=True):
            assert_same_bits(got, wanted)
    if shape[place] > 1:
        assert (fused.ran().kernel_calls, fused.ran().function_calls) == (1, 0)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "Softmax"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_of_one_element_run_in_native_code(operator, axis):
    shape = [3, 4, 5]
    shape[axis] = 1
    is_softmax = operator == "Softmax"
    result = shape if is_softmax else [size for place, size in enumerate(shape) if place != axis]
    call = f"{operator} <axis = {axis}> (a)" if is_softmax else f"{operator} <keepdims = 0> (a, ax)"
    model = text_model(
        f"t (float{shape} x) => (float{result} y) <int64[1] ax = {{{axis}}}> {{ a = Neg(x) b = {call} y = Abs(b) }}", 18
    )
    fused, plain = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = plain(x=x)
    assert expected.shape == tuple(result)
    for _ in range(2):
        assert_same_bits(fused(x=x), expected)
    assert fused.ran().function_calls == 0


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("shape", ["[1]", "[1, 1]"])
def test_rows_of_one_constant(operator, shape):
    """The kernel reads the constant that its operand follows from."""
    model = text_model(
        f"t (float[N] x) => (float[N] y) <int64[1] ax = {{-1}}, float{shape} c = {{0.75}}> "
        f"{{ a = Exp(c) b = {operator} <keepdims = 0> (a, ax) d = Sub(x, b) y = Abs(d) }}",
        18,
    )
    fused, plain = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    x = np.random.default_rng(0).standard_normal(5).astype(np.float32)
    for _ in range(2):
        assert_same_bits(fused(x=x), plain(x=x))


# ---- random graphs

ELEMENT_WISE = ["Add", "Sub", "Mul", "Div", "Max"]
OF_ONE = ["Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Sqrt"]
OF_ROWS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "Softmax", "LogSoftmax", "Hardmax"]


@st.composite
def graphs(draw):
    """A model of some nodes, each on values that are there: elements, numbers of rows, and a bias."""
    kind = draw(st.sampled_from([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16]))
    values, nodes = ["x", "b", "r", "c"], []
    axis = helper.make_tensor("ax", TensorProto.INT64, [1], [draw(st.sampled_from([-1, -1, -1, 0]))])
    constant = helper.make_tensor("c", kind, [1], [0.75])
    for i in range(draw(st.integers(2, 14))):
        operator = draw(st.sampled_from(ELEMENT_WISE + OF_ONE + OF_ROWS + ["ReduceMean", "ReduceSum", "ReduceMax"]))
        first = draw(
            st.sampled_from(["x", *values[-4:]] if operator not in OF_ROWS else [v for v in values if v != "c"])
        )
        operands = [first]
        if operator in ELEMENT_WISE:
            operands.append(draw(st.sampled_from(values)))
        attributes = {}
        if operator.startswith("Reduce"):
            operands.append("ax")
            attributes = {"keepdims": 1}
        nodes.append(helper.make_node(operator, operands, [f"v{i}"], **attributes))
        values.append(f"v{i}")
    outputs = draw(st.lists(st.sampled_from(values[4:]), min_size=1, max_size=3, unique=True))
    last = values[-1]
    outputs = list(dict.fromkeys([*outputs, last]))
    inputs = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, shape in (("x", ["R", "N"]), ("b", ["N"]), ("r", ["R", 1]))
    ]
    graph = helper.make_graph(
        nodes, "random", inputs, [helper.make_tensor_value_info(v, kind, None) for v in outputs], [axis, constant]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return model, draw(st.integers(0, 4)), draw(st.sampled_from([1, 2, 5, 16, 33, 100])), draw(st.integers(0, 99))


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_random_graphs(case):
    model, rows, length, seed = case
    fused, plain = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    generator = np.random.default_rng(seed)
    shapes = {"x": (rows, length), "b": (length,), "r": (rows, 1)}
    arrays = {info.name: generator.standard_normal(shapes[info.name]).astype(info.dtype) for info in fused.inputs}
    expected = as_tuple(plain(arrays))
    for _ in range(2):
        for got, wanted in zip(as_tuple(fused(arrays)), expected, strict=True):
            assert_same_bits(got, wanted)


# ---- softmax, LogSoftmax and Hardmax: the axis of each version, and their place in a graph


OPERATORS = {"Softmax": ogive.softmax, "LogSoftmax": ogive.log_softmax, "Hardmax": ogive.hardmax}
X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def run(operator, opset, data=X, **attributes):
    model = ogive.onnx.load(node_model(operator, opset, [("x", data)], attributes))
    first, second = model(data), model(data)
    assert same_bits(first, second)
    return first


@pytest.mark.parametrize("operator", OPERATORS)
def test_from_13_on_a_row_is_one_axis(operator):
    function = OPERATORS[operator]
    assert same_bits(run(operator, 13), function(X, axis=-1))
    for axis in (-3, -2, -1, 0, 1, 2):
        assert same_bits(run(operator, 13, axis=axis), function(X, axis=axis))


@pytest.mark.parametrize("opset", [1, 11])
@pytest.mark.parametrize("operator", OPERATORS)
def test_before_13_a_row_is_all_axes_from_one_on(operator, opset):
    function = OPERATORS[operator]
    assert same_bits(run(operator, opset), function(X.reshape(2, 12)).reshape(X.shape))
    for axis, rows in ((0, 1), (1, 2), (2, 6), (-1, 6), (-2, 2), (-3, 1)):
        assert same_bits(run(operator, opset, axis=axis), function(X.reshape(rows, -1)).reshape(X.shape))


@pytest.mark.parametrize(("opset", "axis"), [(13, 3), (13, -4), (11, 3), (1, -4), (13, 1 << 40)])
def test_axes_that_are_not_there(opset, axis):
    with pytest.raises(
        ShapeError, match=rf"Softmax node .*axis is {axis} for an input of shape \(2, 3, 4\); allowed: -3 to 2"
    ):
        run("Softmax", opset, axis=axis)


def test_scalars_have_no_rows():
    with pytest.raises(ShapeError, match="allowed: inputs of one axis and more"):
        run("Softmax", 13, np.array(1, np.float32))
    with pytest.raises(ShapeError, match=r"axis is 1 for an input of shape \(4,\); allowed: -1 to 0"):
        run("Softmax", 11, np.ones(4, np.float32))


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (1, 1)])
def test_empty_rows_and_no_rows(opset, shape):
    assert run("Softmax", opset, np.ones(shape, np.float32)).shape == shape


def test_layouts():
    for opset in (11, 13):
        for view in (X.T, X[:, ::-1], X[..., ::2], np.broadcast_to(X[0], (5, 3, 4))):
            assert same_bits(run("Softmax", opset, view, axis=1), run("Softmax", opset, view.copy(), axis=1))


@pytest.mark.matrix(share=16, pool="slow")
def test_results_lie_in_planned_memory():
    """Between kernels in a buffer, as a result in an array of its own."""
    text = "t (float[M, N] x) => (float[M, N] y, float[M, N] z) { a = Neg(x) b = Softmax <axis = 0> (a) c = Tanh(b) y = Softmax <axis = 0> (c) z = Add(c, y) }"
    model, plain = ogive.onnx.load(text_model(text)), ogive.onnx.load(text_model(text), fuse=False)
    x = X.reshape(6, 4)
    for _ in range(3):
        assert all(map(same_bits, model(x), plain(x)))
    (runner,) = model._runners.values()
    (plan,) = runner._plans.values()
    places = [[place[0] for place in places] for _, is_kernel, _, _, places, _ in plan.steps if is_kernel]
    assert places == [["buffer"], ["buffer"], ["fresh", "fresh"]]
    assert len({array.offset for array in plan.make_workspace.arrays}) == 2
    kept = model(x)
    copies = [array.copy() for array in kept]
    model(x + 1)
    assert all(map(same_bits, kept, copies))
