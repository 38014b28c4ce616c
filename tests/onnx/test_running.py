"""Running: groups, broadcasting between them, plans, and the same bits in every way to run a graph."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, TypeProto, helper, numpy_helper

import ogive.onnx
from ogive.engine import fusion_groups
from ogive.errors import ArgumentError, ModelError, OutputError, ShapeError
from ogive.onnx import delivery
from ogive.onnx.delivery import Delivery
from tests.inputs import assert_same_bits, random_values, special_values
from tests.onnx.models import text_model


def plan_of(model):
    """The plan of the last run, of a model that always computes the same outputs."""
    (runner,) = model._runners.values()
    return list(runner._plans.values())[-1]


def places_of(model):
    """Where the outputs of the plan's kernels lie."""
    return [kind for _, is_kernel, _, _, places, _ in plan_of(model).steps if is_kernel for kind, *_ in places]


def kernels_of(model):
    """The plan's kernels, with the slots of their inputs and outputs."""
    return [
        SimpleNamespace(inputs=inputs, outputs=outputs)
        for _, is_kernel, inputs, outputs, _, _ in plan_of(model).steps
        if is_kernel
    ]


def buffers_of(model):
    """Where in the workspace its arrays begin."""
    return {array.offset for array in plan_of(model).make_workspace.arrays}


def check(text, inputs, opset=18, constants=None):
    """Run fused and node by node, twice each: the same bits. The fused model."""
    proto = text_model(text, opset)
    proto.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in (constants or {}).items())
    fused, plain = ogive.onnx.load(proto), ogive.onnx.load(proto, fuse=False)
    before = {name: array.copy() for name, array in inputs.items()}
    expected = plain.run(inputs)
    for results in (plain.run(inputs), fused.run(inputs), fused.run(inputs), fused.run(inputs)):
        for name, array in expected.items():
            assert_same_bits(results[name], array)
            assert results[name].flags.c_contiguous
            assert results[name].flags.writeable
    for name, array in before.items():
        assert_same_bits(inputs[name], array)
    return fused


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 3


# ---- groups


def test_a_chain_is_one_kernel():
    model = check(
        "t (float[N] x) => (float[N] y) { a = Neg(x) b = Relu(a) c = Tanh(b) y = Add(c, x) }", {"x": floats(100)}
    )
    assert len(kernels_of(model)) == 1


def test_a_fusion_group_has_several_inputs_and_outputs():
    text = (
        "t (float[N] x, float[N] w) => (float[N] y, float[N] a, float[N] z) { a = Mul(x, w) y = Relu(a) z = Sub(a, w) }"
    )
    model = check(text, {"x": floats(50), "w": floats(50, seed=1)})
    (kernel,) = kernels_of(model)
    assert (len(kernel.inputs), len(kernel.outputs)) == (2, 3)


def test_outputs_keep_the_shapes_of_their_nodes():
    """A fusion group that computed all at the full shape would give `a` the wrong one."""
    text = "t (float[N] x, float[M, N] w) => (float[N] a, float[M, N] y) { a = Neg(x) b = Tanh(w) y = Add(a, b) }"
    model = check(text, {"x": floats(5), "w": floats(4, 5)})
    assert [len(kernel.outputs) for kernel in kernels_of(model)] == [1, 1]
    same = check(text, {"x": floats(5), "w": floats(1, 5)})
    assert model({"x": floats(5), "w": floats(4, 5)})[0].shape == (5,)
    assert same({"x": floats(5), "w": floats(1, 5)})[1].shape == (1, 5)


def test_what_is_broadcast_is_not_computed_again_and_again():
    text = "t (float[1, N] x, float[M, N] w) => (float[M, N] y) { a = Tanh(x) b = Neg(a) y = Mul(b, w) }"
    model = check(text, {"x": floats(1, 5), "w": floats(4, 5)})
    assert len(kernels_of(model)) == 2
    model = check(text, {"x": floats(1, 5), "w": floats(1, 5)})
    assert len(kernels_of(model)) == 1


def test_parts_that_have_nothing_to_do_with_each_other_are_apart():
    text = "t (float[N] x, float[M] w) => (float[N] y, float[M] z) { y = Neg(x) z = Relu(w) }"
    for m in (7, 3, 1):
        check(text, {"x": floats(7), "w": floats(m)})


def test_only_what_is_needed_is_computed_before_a_function():
    """Reshape needs `a`; the branch beside it stays one group."""
    text = """t (float[N] x) => (float[1, N] s, float[N] y) {
        a = Neg(x)  b = Tanh(x)  shape = Constant <value_ints = [1, -1]> ()  s = Reshape(a, shape)  c = Relu(b)  y = Neg(c) }"""
    model = check(text, {"x": floats(6)})
    assert [len(kernel.outputs) for kernel in kernels_of(model)] == [1, 1]


@pytest.mark.matrix(share=16, pool="slow")
def test_large_groups_are_cut(monkeypatch):

    lines = ["a0 = Neg(x)"] + [f"a{i + 1} = Add(a{i}, x{i % 70})" for i in range(80)]
    names = ", ".join(f"float[N] x{i}" for i in range(70))
    text = f"t (float[N] x, {names}) => (float[N] a80) {{ {' '.join(lines)} }}"
    inputs = {"x": floats(9)} | {f"x{i}": floats(9, seed=i) for i in range(70)}
    model = check(text, inputs)
    assert len(kernels_of(model)) == 2
    assert all(len(k.inputs) + len(k.outputs) <= 64 for k in kernels_of(model))
    monkeypatch.setattr(fusion_groups, "LARGEST_KERNEL", 20)
    assert len(kernels_of(check(text, inputs))) > 2


def test_rounding_between_nodes_is_kept():
    """float16: 2048 + 1 is 2048, twice; in one go it would be 2050."""
    text = "t (float16[N] x, float16[N] one) => (float16[N] y) { a = Add(x, one) y = Add(a, one) }"
    x = np.array([2048], np.float16)
    model = check(text, {"x": x, "one": np.array([1], np.float16)})
    assert model(x=x, one=np.array([1], np.float16)).tolist() == [2048]
    assert len(kernels_of(model)) == 1


# ---- constants


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("value", [0.1, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3.4e38])
def test_single_elements_are_in_the_code(value, shape):
    x = np.concatenate([special_values(ogive.common.dtypes.element_type("float32")), floats(50)])
    model = check("t (float[N] x) => (float[?] y) { a = Mul(x, c) b = Sub(a, c) y = Relu(b) }", {"x": x}, constants={"c": np.full(shape, value, np.float32)})  # fmt: skip
    (kernel,) = kernels_of(model)
    assert len(kernel.inputs) == 1


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "double", "int8", "uint64", "int64"])
def test_single_elements_of_every_type(kind):
    dtype = {"double": "float64"}.get(kind, kind)
    element = ogive.common.dtypes.element_type(dtype)
    x = random_values(element, 100)
    check(f"t ({kind}[N] x) => ({kind}[N] y) {{ a = Mul(x, c) y = Add(a, c) }}", {"x": x}, constants={"c": random_values(element, 1)[0:1]})  # fmt: skip


def test_what_follows_from_constants_is_in_the_code_too():
    text = """t (float[N] x) => (float[N] y) {
        c = Constant <value_float = 2.5> ()  d = Neg(c)  e = Mul(d, c)  y = Add(x, e) }"""
    model = check(text, {"x": floats(5)})
    (kernel,) = kernels_of(model)
    assert len(kernel.inputs) == 1
    assert model(x=np.float32([1])).tolist() == [-5.25]


def test_outputs_that_are_constants_all_the_way():
    text = """t (float[N] x) => (float y, float[1] z, float[N] w) {
        c = Constant <value_float = 2.5> ()  y = Neg(c)  d = Constant <value_floats = [1.0]> ()  z = Mul(y, d)  w = Add(x, z) }"""
    assert [a.tolist() for a in check(text, {"x": floats(1)})(x=np.float32([1]))] == [-2.5, [-2.5], [-1.5]]


def test_very_many_steps_of_constants():
    lines = ["a0 = Constant <value_float = 1.0> ()"] + [f"a{i + 1} = Neg(a{i})" for i in range(100)]
    model = check(f"t (float[N] x) => (float[N] y) {{ {' '.join(lines)} y = Mul(x, a100) }}", {"x": floats(3)})
    assert model(x=np.float32([1, 2])).tolist() == [1, 2]


def test_constants_make_an_axis():
    model = check("t (float[N] x) => (float[1, 1, N] y) { a = Neg(x) y = Mul(a, c) }", {"x": floats(4)}, constants={"c": np.ones((1, 1, 1), np.float32)})  # fmt: skip
    assert model(x=floats(4)).shape == (1, 1, 4)


# ---- plans


def test_buffers_are_reused_and_written_over():
    steps = """a = Tanh(x)  t = Transpose(a)  b = Neg(t)  u = Transpose(b)  c = Relu(u)  v = Transpose(c)
        d = Tanh(v)  w = Transpose(d)  y = Add(w, x)"""
    model = check(f"t (float[N, N] x) => (float[N, N] y) {{ {steps} }}", {"x": floats(8, 8)})
    assert len(buffers_of(model)) == 2
    assert places_of(model) == ["buffer"] * 4 + ["fresh"]


def test_kernels_write_over_their_last_input():
    # Two groups of one shape, because a function is between them.
    text = """t (float[N] x) => (float[N] y) {
        a = Tanh(x)  r = ReduceMax <keepdims = 0> (a)  b = Sub(a, r)  s = ReduceMax <keepdims = 0> (b)  c = Mul(b, s)  q = ReduceMax <keepdims = 0> (c)  y = Mul(c, q) }"""
    model = check(text, {"x": floats(100)}, opset=13)
    assert places_of(model) == ["buffer"] * 6 + ["fresh"]
    assert len(buffers_of(model)) == 2  # of the elements, and of their largest one


def test_a_value_is_not_written_over_while_a_view_of_it_is_needed():
    text = """t (float[N, N] x) => (float[N, N] y) {
        a = Tanh(x)  t = Transpose(a)  r = ReduceMax <keepdims = 0> (a)  b = Sub(a, r)  s = ReduceMax <keepdims = 0> (b)  c = Mul(b, s)  y = Add(c, t) }"""
    check(text, {"x": floats(5, 5)}, opset=13)


def test_results_that_are_views():
    text = """t (float[N, N] x) => (float[N, N] y, float[?] z, float[N, N] a, float[N] b) {
        a = Tanh(x)  y = Transpose(a)  flat = Constant <value_ints = [-1]> ()  z = Reshape(a, flat)
        one = Constant <value_ints = [1]> ()  zero = Constant <value_ints = [0]> ()  c = Slice(y, zero, one)  b = Squeeze(c, zero) }"""
    model = check(text, {"x": floats(4, 4)})
    results = model(x=floats(4, 4))
    for i, a in enumerate(results):
        assert not any(np.shares_memory(a, b) for b in results[:i])
        assert a.base is None or a.base.nbytes == a.nbytes
    kept = [a.copy() for a in results]
    model(x=floats(4, 4, seed=5))
    assert [a.tolist() for a in results] == [a.tolist() for a in kept]


def test_every_shape_has_a_plan_and_old_ones_are_dropped(monkeypatch):
    monkeypatch.setattr("ogive.onnx.runner.MOST_STEPS", 0)
    model = check(
        "t (float[N] x) => (float[N] y) { a = Neg(x) s = ReduceMax(a) y = Sub(a, s) }", {"x": floats(3)}, opset=13
    )
    for size in range(1, 40):
        x = floats(size)
        assert model(x=x).tolist() == (-x - (-x).max()).tolist()
    (runner,) = model._runners.values()
    assert len(runner._plans) == 16


def test_plans_beyond_sixteen_keep_no_memory_and_go_by_their_steps(monkeypatch):
    text = "t (float[N] x) => (float[N] y) { a = Tanh(x) s = ReduceMax <keepdims = 0> (a) y = Sub(a, s) }"
    model = ogive.onnx.load(text_model(text, 13))
    for _ in range(2):
        for size in range(1, 31):
            assert model(floats(size)).tolist() == model(x=floats(size)).tolist()
    (runner,) = model._runners.values()
    plans = [*runner._plans.values()]
    assert len(plans) == 30
    assert [len(plan.idle) for plan in plans[:14]] == [0] * 14
    assert any(plan.idle for plan in plans[14:])
    monkeypatch.setattr("ogive.onnx.runner.MOST_STEPS", 20 * len(plans[0].steps))
    model(floats(31))
    assert [*runner._plans.values()][:-1] == plans[11:]


@pytest.mark.matrix(share=16, pool="slow")
def test_only_the_last_plan_keeps_large_buffers():
    text = "t (float[N] x) => (float[N] y) { a = Tanh(x) s = ReduceMax <keepdims = 0> (a) y = Sub(a, s) }"
    model = ogive.onnx.load(text_model(text, 13))
    small, large = floats(10), floats((1 << 24) + 16)  # buffers of 64 MiB
    for x in (small, small, large, large):
        model(x)
    first, second = next(iter(model._runners.values()))._plans.values()
    assert (len(first.idle), len(second.idle)) == (1, 1)
    model(small)
    assert (len(first.idle), len(second.idle)) == (1, 0)
    model(large)
    assert (len(first.idle), len(second.idle)) == (1, 1)


def test_one_plan_serves_all_sizes_of_an_element_wise_graph():
    model = ogive.onnx.load(text_model("t (float[N, M] x) => (float[N, M] y) { a = Tanh(x) y = Mul(a, x) }"))
    for shape in ((3, 4), (5, 6), (1, 1), (1, 7), (0, 2), (100, 100)):
        x = floats(*shape)
        assert_same_bits(model(x), ogive.mul(ogive.tanh(x), x))
    (runner,) = model._runners.values()
    assert len(runner._plans) == 1


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("t (float[N, N] x) => (float[N, N] y) { y = Tanh(x) }", [(2, 2), (2, 3)]),
        ("t (float[3] x) => (float[3] y) { y = Tanh(x) }", [(3,), (4,)]),
        ("t (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }", [(3,), (4,), (3, 4)]),
    ],
)
def test_declared_sizes_are_checked_for_every_shape(text, shapes):
    model = ogive.onnx.load(text_model(text))
    count = len(model.inputs)
    for shape in shapes[:1] * 3:
        model(*[floats(*shape)] * count)
    with pytest.raises(ShapeError):
        model(*[floats(*shapes[-1])] * count)


def test_inputs_of_different_shapes_broadcast_after_equal_ones():
    model = ogive.onnx.load(text_model("t (float[?, ?] x, float[?, ?] z) => (float[?, ?] y) { y = Add(x, z) }"))
    for a, b in (((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (1, 4)), ((2, 2), (2, 2))):
        assert_same_bits(model(floats(*a), floats(*b)), floats(*a) + floats(*b))


def test_the_memory_limit_holds_for_every_shape():
    model = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { y = Tanh(x) }"), memory_limit=4000)
    model(floats(10))
    model(floats(20))
    with pytest.raises(ModelError, match="memory limit"):
        model(floats(10_000))


# ---- arrays for the results

TWO = "t (float[N] x) => (float[N] y, float[N] z) { y = Tanh(x) z = Neg(y) }"


def test_results_are_written_to_given_arrays():
    model, x = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { y = Tanh(x) }")), floats(100)
    for _ in range(3):
        out = np.empty_like(x)
        assert model(x, out=out) is out
        assert_same_bits(out, ogive.tanh(x))
    strided = np.zeros(200, np.float32)
    assert_same_bits(model(x, out=strided[::2]), ogive.tanh(x))
    assert model(x, out=x) is x  # over its own input


def test_given_arrays_by_name():
    model, x = ogive.onnx.load(text_model(TWO)), floats(10)
    for _ in range(3):
        z = np.empty_like(x)
        results = model.run({"x": x}, out={"z": z})
        assert results["z"] is z
        assert_same_bits(z, -ogive.tanh(x))
        y, z = model(x, out=(np.empty_like(x), np.empty_like(x)))
        assert_same_bits(y, ogive.tanh(x))
        assert_same_bits(z, -y)


def test_a_run_with_all_arrays_given_computes_into_them(monkeypatch):
    """By a plan of the native call path: nothing is copied."""
    model, x = ogive.onnx.load(text_model(TWO)), floats(10)
    model(x)
    monkeypatch.setattr(type(model), "_written", None)
    given = {"z": np.empty_like(x), "y": np.empty_like(x)}
    results = model.run({"x": x}, out=given)
    assert list(results) == ["y", "z"]
    assert all(results[name] is given[name] for name in given)
    assert_same_bits(given["z"], -ogive.tanh(x))
    with pytest.raises(TypeError):  # computed apart, and then copied
        model.run({"x": x}, out={"z": given["z"]})


def test_one_array_for_two_results_and_the_inputs_memory():
    """Operands that overlap are computed apart; the last write stays."""
    model, x = ogive.onnx.load(text_model(TWO)), floats(10)
    for _ in range(2):
        given, expected = x.copy(), ogive.tanh(x)
        y, z = model(given, out=(np.empty_like(x), given))
        assert_same_bits(y, expected)
        assert_same_bits(z, -expected)


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (np.empty(11, np.float32), ShapeError, r"out\['y'\] has shape \(11,\); allowed: \(10,\), as the result has"),
        (np.empty(10), OutputError, r"out\['y'\] has dtype float64; allowed: float32"),
        ([1.0], OutputError, r"out\['y'\] is a list; allowed: a NumPy array"),
        ((np.empty(10), np.empty(10)), ArgumentError, "out has 2 arrays; allowed: 1"),
        ({"q": np.empty(10)}, ArgumentError, "out names 'q', which is not computed; allowed: y"),
        (np.broadcast_to(np.float32(1), 10), OutputError, "read-only array; allowed: writable arrays"),
    ],
)
def test_arrays_that_cannot_take_a_result(out, error, text):
    model = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { y = Tanh(x) }"))
    for _ in range(2):
        with pytest.raises(error, match=text):
            model(floats(10), out=out)


def test_an_input_may_be_called_out():
    model = ogive.onnx.load(text_model("t (float[N] out) => (float[N] y) { y = Tanh(out) }"))
    for _ in range(2):
        assert_same_bits(model(out=floats(10)), ogive.tanh(floats(10)))


def test_many_values():
    """More values than the native call path keeps on its stack."""
    steps = " ".join(f"a{i} = Transpose({f'b{i - 1}' if i else 'x'}) b{i} = Neg(a{i})" for i in range(120))
    model = ogive.onnx.load(text_model(f"t (float[?, ?] x) => (float[?, ?] y) {{ {steps} y = Neg(b119) }}"))
    x = floats(3, 4)
    for _ in range(3):
        assert_same_bits(model(x), -x)


def test_a_plan_called_from_many_threads():
    text = "t (float[N] x) => (float[N] y) { a = Tanh(x) s = ReduceMax(a) y = Sub(a, s) }"
    model = ogive.onnx.load(text_model(text, 13))
    inputs = [floats(size, seed=size) for size in (10, 20_000, 20_001, 300_000)]
    expected = [model(x) for x in inputs]

    def work(number):
        for turn in range(30):
            which = (turn + number) % len(inputs)
            assert np.array_equal(model(inputs[which]), expected[which])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_empty_arrays_and_single_elements():
    text = "t (float[?, ?] x, float[?] w) => (float[?, ?] y, float[?, ?] z) { a = Neg(x) y = Add(a, w) z = Relu(a) }"
    for shape, other in (((0, 3), (3,)), ((2, 0), (1,)), ((2, 1), (0,)), ((1, 1), (1,))):
        check(text, {"x": floats(*shape), "w": floats(*other)})
    check("t (float x) => (float y) { a = Neg(x) y = Relu(a) }", {"x": np.array(1.5, np.float32)})


def test_layouts_of_inputs():
    text = "t (float[?, ?] x) => (float[?, ?] y, float[?] z) { a = Neg(x) y = Relu(a) f = Constant <value_ints = [-1]> () z = Reshape(x, f) }"
    x = floats(6, 8)
    for view in (x, x.T, x[::2], x[:, ::-2], np.broadcast_to(x[0], (3, 8))):
        check(text, {"x": view})
    model = ogive.onnx.load(text_model(text))
    assert model(x=x[::2].copy())[1].tolist() == x[::2].ravel().tolist()
    assert model(x=x[::2])[1].tolist() == x[::2].ravel().tolist()  # the plan of the contiguous array
    read_only = x.copy()
    read_only.flags.writeable = False
    check(text, {"x": read_only})


# ---- shapes that follow from values


RESHAPED = "t (float[?] x, int64[?] s) => (float[?, ?] y) { a = Neg(x) b = Reshape(a, s) c = Relu(b) y = Add(c, b) }"


def test_shapes_that_follow_from_values():
    model = ogive.onnx.load(text_model(RESHAPED))
    x = floats(12)
    for shape in ([3, 4], [3, 4], [4, 3], [12, 1], [-1, 2], [3, 4]):
        b = (-x).reshape(shape)
        assert model(x=x, s=np.array(shape)).tolist() == (np.maximum(b, 0) + b).tolist()


def test_shapes_that_do_not_fit_name_the_node():
    model = ogive.onnx.load(text_model(RESHAPED))
    for _ in range(2):
        with pytest.raises(
            ShapeError,
            match=r"Reshape node that computes 'b' .*shape is \(5, 2\); allowed: shapes of 12 elements, as data of shape \(12,\)",
        ):
            model(x=floats(12), s=np.array([5, 2]))
        model(x=floats(12), s=np.array([4, 3]))


def test_shapes_of_what_is_not_computed():
    """The shape of a value is known without the value."""
    text = "t (float[?, ?] x) => (int64[?] y, int64 z) { a = Tanh(x) y = Shape(a) z = Size(a) }"
    model = check(text, {"x": floats(3, 4)})
    assert not plan_of(model).steps
    assert [a.tolist() for a in model(x=floats(5, 6))] == [[5, 6], 30]


def test_the_usual_way_to_flatten():
    """Shapes computed by nodes belong to the plan."""
    text = """t (float[?, ?, ?] x) => (float[?, ?] y) {
        s = Shape(x)  zero = Constant <value_ints = [0]> ()  one = Constant <value_ints = [1]> ()
        n = Slice(s, zero, one)  m = Mul(n, one)  t = Expand(m, one)  a = Tanh(x)  u = Shape <start = 1> (x)
        k = ReduceSum <keepdims = 1> (u)  v = Unsqueeze(k, zero)  w = Squeeze(v, zero)  q = Sub(w, k)  r = Add(q, t)
        y = ReduceMax <keepdims = 0> (a, r) }"""
    model = check(text, {"x": floats(1, 3, 4)})
    assert len(plan_of(model).steps) == 2


# ---- memory


def test_what_would_not_fit_the_memory_is_refused_before_it_is_asked_for():
    text = "t (int64[?] s) => (float[?] y) { a = ConstantOfShape(s) y = Neg(a) }"
    model = ogive.onnx.load(text_model(text), memory_limit=1 << 20)
    assert model(s=np.array([1000])).shape == (1000,)
    for sizes in ([1 << 30], [1 << 20, 1 << 20, 1 << 20, 1 << 3], [1 << 40, 0], [1000]):
        if 0 in sizes or sizes == [1000]:
            assert model(s=np.array(sizes)).size in (0, 1000)
            continue
        with pytest.raises((ModelError, ShapeError), match="ConstantOfShape node .*(the memory limit|below 2)"):
            model(s=np.array(sizes))


def test_products_of_shapes_that_would_not_fit():
    text = "t (float[N, 1] x, float[1, N] w) => (float[N, N] y) { y = Add(x, w) }"
    model = ogive.onnx.load(text_model(text), memory_limit=1 << 20)
    with pytest.raises(ModelError, match=r"Add node .*of shape \(1000, 1000\), .*4000000 bytes; allowed: 1048576"):
        model(x=floats(1000, 1), w=floats(1, 1000))


def test_the_limit_is_about_what_is_alive():
    lines = [f"a{i + 1} = Add(t{i}, x)  t{i + 1} = Transpose(a{i + 1})" for i in range(20)]
    text = f"t (float[N, N] x) => (float[N, N] y) {{ t0 = Transpose(x) {' '.join(lines)} y = Neg(t20) }}"
    x = floats(100, 100)
    assert ogive.onnx.load(text_model(text), memory_limit=2 * x.nbytes)(x=x).shape == x.shape
    with pytest.raises(ModelError, match="the memory limit"):
        ogive.onnx.load(text_model(text), memory_limit=x.nbytes * 3 // 2)(x=x)


def test_an_output_inside_of_a_fusion_group_that_is_computed_early():
    text = "t (float[N, 2] x) => (float[M] z, float[N, 2] a) { a = Neg(x) b = Abs(a) z = Transpose(b) }"
    model = ogive.onnx.load(text_model(text))
    z, a = model(x=floats(3, 2))
    assert np.array_equal(a, -floats(3, 2))
    assert np.array_equal(z, np.abs(a).T)


# ---- random graphs


@st.composite
def graphs(draw):
    """A graph of element-wise steps that broadcast, with functions in between, and its inputs."""
    kind = draw(st.sampled_from(["float", "float16", "bfloat16", "double", "int32", "uint8"]))
    number, dtype = {
        "float": (TensorProto.FLOAT, "float32"), "float16": (TensorProto.FLOAT16, "float16"),
        "bfloat16": (TensorProto.BFLOAT16, "bfloat16"), "double": (TensorProto.DOUBLE, "float64"),
        "int32": (TensorProto.INT32, "int32"), "uint8": (TensorProto.UINT8, "uint8"),
    }[kind]  # fmt: skip
    element = ogive.common.dtypes.element_type(dtype)
    sizes = st.sampled_from([1, 1, 3, 4])
    shape = draw(st.tuples(sizes, sizes, sizes))
    inputs, constants, nodes, values = {}, {}, [], []
    for i in range(draw(st.integers(1, 3))):
        mine = [draw(st.sampled_from([size, 1])) for size in shape][draw(st.integers(0, 3)) :]
        inputs[f"x{i}"] = random_values(element, int(np.prod(mine)), seed=i).reshape(mine)
        values.append(f"x{i}")
    constants["c"] = random_values(element, 1, seed=9).reshape((1,) * draw(st.integers(0, 3)))
    values.append("c")
    unary = ["Abs"] if kind == "uint8" else ["Abs", "Relu", "Neg"]
    for i in range(draw(st.integers(1, 12))):
        operator = draw(st.sampled_from([*unary, "Add", "Mul", "Sub", "Add", "Mul", "Sub", "Transpose", "Unsqueeze"]))
        count = 2 if operator in ("Add", "Mul", "Sub") else 1
        operands = [draw(st.sampled_from(values)) for _ in range(count)]
        if operator == "Unsqueeze":
            operands.append("front")
            constants["front"] = np.array([0])
        nodes.append(helper.make_node(operator, operands, [f"v{i}"]))
        values.append(f"v{i}")
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info(name, number, array.shape) for name, array in inputs.items()],
        [helper.make_value_info(name, TypeProto()) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), inputs


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None)
@given(graphs())
def test_fused_and_plain_runs_have_the_same_bits(case):
    proto, inputs = case
    fused, plain = ogive.onnx.load(proto), ogive.onnx.load(proto, fuse=False)
    expected = outcome(plain, inputs)
    for results in (outcome(plain, inputs), outcome(fused, inputs), outcome(fused, inputs)):
        if isinstance(expected, str):
            assert results == expected
            continue
        for name, array in expected.items():
            assert_same_bits(results[name], array)


def outcome(model, inputs):
    """The results, or the message that there are none."""
    try:
        return model.run(inputs)
    except ShapeError as error:
        return str(error)


def test_equal_groups_share_a_kernel_and_others_do_not():
    """Two nodes of one operator are one kernel, called twice; with -0.0 in place of 0.0 they are two."""
    text = """t (float[N, N] x) => (float[N, N] y) {
        a = LeakyRelu <alpha = 0.0> (x)  b = Transpose(a)  y = LeakyRelu <alpha = ALPHA> (b) }"""
    for alpha, count in (("0.0", 1), ("-0.0", 2)):
        model = check(text.replace("ALPHA", alpha), {"x": floats(7, 7)})
        kernels = [call for call, is_kernel, *_ in plan_of(model).steps if is_kernel]
        assert (len(kernels), len(set(map(id, kernels)))) == (2, count)


# ---- results in memory that the caller gives, and the pieces that are told


TEXT = """t (float[A, B, C] x, float[C] w) => (float[A, B, C] y, float[A, B, C] z, float[A, B, C] s, float[A, B, C] i)
{ m = Mul(x, w) y = Tanh(m) z = Exp(m) s = Softmax(y) i = Identity(y) }"""


@pytest.mark.parametrize("shape", [(7, 3, 5), (1, 9, 4), (1, 1, 1), (0, 2, 3), (1, 1, 50)])
@pytest.mark.parametrize("piece", [1 << 26, 24, 1])
def test_results_are_the_same_in_given_memory_and_in_pieces(monkeypatch, shape, piece):
    monkeypatch.setattr(delivery, "PIECE", piece)
    model = ogive.onnx.load(text_model(TEXT))
    x = np.linspace(-3, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    w = np.linspace(1, 2, shape[-1], dtype=np.float32)
    expected = ogive.onnx.load(text_model(TEXT)).run({"x": x, "w": w})
    for _ in range(2):  # step by step, and by the plan
        given, told = {}, []

        def memory(name, shape, dtype, given=given):
            assert name not in given
            given[name] = np.empty(shape, dtype)
            return given[name]

        results = model.run({"x": x, "w": w}, delivery=Delivery(memory, told.append))
        assert list(results) == ["y", "z", "s", "i"]
        for name, result in results.items():
            assert_same_bits(result, expected[name])
        assert all(results[name] is given[name] for name in "yz")
        assert results["i"] is results["y"]
        assert sum(told) >= results["y"].nbytes + results["z"].nbytes
        assert piece > 1 or x.size == shape[-1] or len(told) > 1  # a row is computed as a whole


def test_the_memory_limit_counts_all_outputs_of_a_kernel():
    text = text_model("t (float[N] x) => (float[N] y, float[N] z) { y = Tanh(x) z = Exp(x) }")
    x = np.zeros(100, np.float32)
    with pytest.raises(ModelError, match=r"would have 800 bytes; allowed: 799, the memory limit"):
        ogive.onnx.load(text, memory_limit=799)(x)
    assert len(ogive.onnx.load(text, memory_limit=800)(x)) == 2


def test_what_ran():
    """Everything waits until the end. A node that needs a repair is not fused with the rows of Softmax, which have none."""
    model = ogive.onnx.load(text_model(TEXT))
    assert model.ran() is None
    model.run({"x": np.zeros((2, 2, 2), np.float32), "w": np.zeros(2, np.float32)})
    ran = model.ran()
    assert (ran.kernels, ran.kernel_calls, ran.function_calls, ran.types) == (4, 4, 0, ("float32",))
    assert model.ran(["z"]) is None
    assert model.about.operators == {"Mul": 1, "Tanh": 1, "Exp": 1, "Softmax": 1, "Identity": 1}
    assert list(model.about.opsets) == ["ai.onnx"]
