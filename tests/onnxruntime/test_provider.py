"""Ogive as an execution provider: the bits of `ogive.onnx`, whatever stays ONNX Runtime's."""

import gc
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import ogive
from ogive.errors import ParameterError
from tests.inputs import assert_same_bits
from tests.onnx.models import text_model

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
if not hasattr(onnxruntime, "register_execution_provider_library"):
    pytest.skip("this onnxruntime has no plug-in providers", allow_module_level=True)

import ogive.onnx  # noqa: E402
import ogive.onnxruntime  # noqa: E402
from ogive.onnxruntime.provider import MOST_SHAPES, PROVIDER  # noqa: E402

MIXED = """t (float[N,256] x, float[256] b, float[256,8] w) => (float[N,8] z, float[N,256] s) {
    h = Celu <alpha = 1.5> (x) y = Mul(h, b) g = Sigmoid(y) m = MatMul(g, w) z = Gelu(m) s = Softmax(g) }"""


def session(model, accuracy=None, **more):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    ogive.onnxruntime.add_provider(options, accuracy=accuracy)
    return onnxruntime.InferenceSession(model.SerializeToString(), options, **more)


def profiled(model, tmp_path, feed):
    """How many nodes each provider ran."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    ogive.onnxruntime.add_provider(options)
    made = onnxruntime.InferenceSession(model.SerializeToString(), options)
    made.run(None, feed)
    events = json.loads(Path(made.end_profiling()).read_text(encoding="utf-8"))
    names = [event["args"]["provider"] for event in events if event.get("args", {}).get("provider")]
    return {name: names.count(name) for name in set(names)}


@pytest.mark.parametrize("accuracy", ["exact", "fast"])
def test_what_stands_around_a_product(accuracy):
    made = session(text_model(MIXED, 20), accuracy)
    assert made.get_providers()[0] == PROVIDER
    generator = np.random.default_rng(0)
    for rows in (3, 3, 70, 0):
        x = generator.standard_normal((rows, 256), np.float32)
        b, w = generator.standard_normal(256, np.float32), generator.standard_normal((256, 8), np.float32)
        z, s = made.run(None, {"x": x, "b": b, "w": w})
        gate = text_model(
            "t (float[N,256] x, float[256] b) => (float[N,256] s)"
            "{ h = Celu <alpha = 1.5> (x) y = Mul(h, b) g = Sigmoid(y) s = Softmax(g) }",
            20,
        )
        assert_same_bits(s, ogive.onnx.load(gate, accuracy=accuracy)(x=x, b=b))
        assert z.shape == (rows, 8)


def test_groups_become_one_node_each(tmp_path):
    feed = {"x": np.ones((2, 256), np.float32), "b": np.ones(256, np.float32), "w": np.ones((256, 8), np.float32)}
    assert profiled(text_model(MIXED, 20), tmp_path, feed) == {PROVIDER: 2, "CPUExecutionProvider": 1}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "double"])
@pytest.mark.parametrize("operator", ["Mish", "Softplus", "Selu", "HardSwish", "Erf"])
def test_types_that_onnx_runtime_has_no_kernels_for(kind, operator):
    """Most of them are refused without the provider."""
    cast = {"float16": 10, "bfloat16": 16, "double": 11}[kind]
    body = f"a = Cast <to = {cast}> (x) b = {operator}(a) y = Cast <to = 1> (b)"
    model = text_model(f"t (float[N] x) => (float[N] y) {{ {body} }}", 22)
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32) * 8
    (y,) = session(model).run(None, {"x": x})
    assert_same_bits(y, ogive.onnx.load(model)(x=x))


def test_attributes_constants_and_texts():
    text = """t (float[N,3,8] x) => (float[N,3] y, float[N,3,8] z)
        <int64[1] axes = {2}, float[8] scale = {1, 2, 3, 4, 5, 6, 7, 8}, float low = {-1}, float high = {1}> {
        a = Clip(x, low, high) b = Mul(a, scale) y = ReduceLogSumExp <keepdims = 0> (b, axes)
        c = Gelu <approximate = "tanh"> (b) z = LayerNormalization <axis = -1, epsilon = 0.001> (c, scale) }"""
    model = text_model(text, 20)
    x = np.random.default_rng(2).standard_normal((5, 3, 8)).astype(np.float32)
    y, z = session(model).run(None, {"x": x})
    expected = ogive.onnx.load(model)(x=x)
    assert_same_bits(y, expected[0])
    assert_same_bits(z, expected[1])


def test_large_constants_are_read_when_the_model_runs():
    """They are inputs of the fused node."""
    bias = np.random.default_rng(3).standard_normal(4096).astype(np.float32)
    model = text_model("t (float[N,4096] x, float[4096] b) => (float[N,4096] y) { a = Add(x, b) y = Mish(a) }", 18)
    model.graph.initializer.append(helper.make_tensor("b", 1, [4096], bias))
    del model.graph.input[1]
    x = np.random.default_rng(4).standard_normal((3, 4096)).astype(np.float32)
    (y,) = session(model).run(None, {"x": x})
    assert_same_bits(y, ogive.onnx.load(model)(x=x))


def test_bodies_stay_and_their_nodes_are_offered_apart():
    text = """t (bool c, float[N] x) => (float[N] y) {
        a = Tanh(x)
        b = If (c) <then_branch = g () => (float[N] u) { u = Softplus(a) },
                    else_branch = g () => (float[N] v) { v = Neg(a) }>
        y = Celu(b) }"""
    model = text_model(text, 18)
    x = np.random.default_rng(5).standard_normal(100).astype(np.float32)
    made = session(model)
    for flag in (True, False):
        (y,) = made.run(None, {"c": np.array(flag), "x": x})
        a = ogive.tanh(x)
        assert_same_bits(y, ogive.celu(ogive.softplus(a) if flag else -a))


@pytest.mark.parametrize("shape", ["float[2,3]", "float[N,3]"])
def test_a_value_of_unknown_shape_is_not_taken_for_a_number(shape):
    """Both branches declare no shape, and neither does ONNX Runtime's interface say that there is none."""
    text = f"""t (bool c, {shape} x) => (y, z) {{
        a = If(c) <then_branch = t () => (p) {{ p = ReduceMean <axes = [0], keepdims = 0> (x) }},
                   else_branch = e () => (q) {{ q = Identity(x) }}>
        y = Sigmoid(a) z = Mul(a, y) }}"""
    model = text_model(text, 17)
    x = np.float32([[1, -2, 3], [0, 5, -6]])
    for c in (np.array(True), np.array(False)):
        y, z = session(model).run(None, {"c": c, "x": x})
        a = x.mean(0) if c else x
        np.testing.assert_allclose(y, 1 / (1 + np.exp(-a)), rtol=1e-5)
        np.testing.assert_allclose(z, a * y, rtol=1e-5)


def test_a_graph_is_asked_about_once(monkeypatch):
    """Starting a session of n nodes loads each group twice: when it is claimed, and when it is compiled."""
    import ogive.onnxruntime.provider as provider

    asked, loads = [], []
    survey, load = provider.survey, ogive.onnx.load
    monkeypatch.setattr(
        provider, "survey", lambda model, *rest: asked.append(len(model.graph.node)) or survey(model, *rest)
    )
    monkeypatch.setattr(
        ogive.onnx, "load", lambda model, **more: loads.append(len(model.graph.node)) or load(model, **more)
    )
    pairs = 100
    nodes = "".join(f"m{i} = MatMul(s{i}, w) s{i + 1} = Sigmoid(m{i})" for i in range(pairs))
    model = text_model(f"t (float[2,2] s0, float[2,2] w) => (float[2,2] s{pairs}) {{ {nodes} }}", 17)
    session(model)
    assert asked == [2 * pairs]
    assert loads == [1] * 2 * pairs


def test_no_path_leads_out_of_a_group_and_back():
    """The sum cannot join the first group: one of its operands comes by way of a product."""
    text = """t (float[8,8] x) => (float[8,8] y) {
        a = Tanh(x) m = MatMul(a, a) s = Add(a, m) y = Sigmoid(s) }"""
    model = text_model(text, 18)
    x = np.random.default_rng(6).standard_normal((8, 8)).astype(np.float32)
    (y,) = session(model).run(None, {"x": x})
    assert y.shape == (8, 8)
    plain = text_model("t (float[8,8] a, float[8,8] m) => (float[8,8] y) { s = Add(a, m) y = Sigmoid(s) }", 18)
    a = ogive.tanh(x)
    product = onnxruntime.InferenceSession(
        text_model("t (float[8,8] a) => (float[8,8] m) { m = MatMul(a, a) }", 18).SerializeToString(),
        providers=["CPUExecutionProvider"],
    ).run(None, {"a": a})[0]
    assert_same_bits(y, ogive.onnx.load(plain)(a=a, m=product))


def test_shapes_that_depend_on_values():
    """A Reshape's result is not remembered by the shapes of what it reads."""
    text = "t (float[M] x, int64[K] s) => (float[A,B] y) { a = Mish(x) y = Reshape(a, s) }"
    made = session(text_model(text, 18))
    x = np.arange(6, dtype=np.float32)
    for shape in ([2, 3], [3, 2], [6, 1]):
        (y,) = made.run(None, {"x": x, "s": np.array(shape)})
        assert_same_bits(y, ogive.mish(x).reshape(shape))


def test_more_shapes_than_are_remembered():
    made = session(text_model("t (float[N] x) => (float[N] y) { y = Celu(x) }", 18))
    for length in range(MOST_SHAPES + 5):
        x = np.linspace(-3, 3, length, dtype=np.float32)
        for _ in range(2):
            assert_same_bits(made.run(None, {"x": x})[0], ogive.celu(x))


def test_many_threads_run_one_session():
    made = session(text_model("t (float[N] x) => (float[N] y) { a = Celu(x) y = Mish(a) }", 18))
    model = ogive.onnx.load(text_model("t (float[N] x) => (float[N] y) { a = Celu(x) y = Mish(a) }", 18))
    inputs = [np.random.default_rng(n).standard_normal(100 + n).astype(np.float32) for n in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: made.run(None, {"x": x})[0], inputs))
    for x, y in zip(inputs, found, strict=True):
        assert_same_bits(y, model(x=x))


def test_shapes_that_do_not_fit_are_an_error_of_the_run():
    made = session(text_model("t (float[N] x, float[M] y) => (float[K] z) { a = Add(x, y) z = Mish(a) }", 18))
    with pytest.raises(Exception, match=r"Add node that computes 'a' .*shapes \(3,\) and \(4,\); allowed: equal sizes"):
        made.run(None, {"x": np.ones(3, np.float32), "y": np.ones(4, np.float32)})
    (z,) = made.run(None, {"x": np.ones(3, np.float32), "y": np.ones(1, np.float32)})
    assert_same_bits(z, ogive.mish(np.full(3, 2, np.float32)))


def test_an_unknown_contract():
    with pytest.raises(ParameterError, match="add_provider: accuracy is 'rough'; allowed: 'exact', 'fast'"):
        ogive.onnxruntime.add_provider(accuracy="rough")


def test_sessions_of_both_contracts_live_side_by_side_and_end():
    model = text_model("t (float[N] x) => (float[N] y) { y = Gelu(x) }", 20)
    x = np.linspace(-8, 8, 10001, dtype=np.float32)
    made = {accuracy: session(model, accuracy) for accuracy in ("exact", "fast")}
    for accuracy, each in made.items():
        assert_same_bits(each.run(None, {"x": x})[0], getattr(ogive.gelu, accuracy)(x))
    del made, each
    gc.collect()
    assert_same_bits(session(model).run(None, {"x": x})[0], ogive.gelu(x))


def test_without_onnx_runtime():
    code = "import sys; sys.modules['onnxruntime'] = None\nimport ogive.onnxruntime\nogive.onnxruntime.add_provider()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "add_provider: the package onnxruntime is not installed. Install it: pip install onnxruntime" in done.stderr


@pytest.mark.parametrize("ending", ["", "del s", "import os; os._exit(0)"])
def test_a_process_ends_while_a_session_lives(ending):
    code = f"""
import numpy as np, onnxruntime, ogive.onnxruntime
from onnx import parser
m = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> t (float[N] x) => (float[N] y) {{ y = Celu(x) }}')
s = onnxruntime.InferenceSession(m.SerializeToString(), ogive.onnxruntime.add_provider())
assert (s.run(None, {{"x": np.ones(3, np.float32)}})[0] == 1).all()
{ending}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


#: Prefixes of ONNX's own tests of nodes.
ACTIVATIONS = (
    *("celu", "elu", "gelu", "hardsigmoid", "hardswish", "leakyrelu", "mish", "prelu", "relu", "selu", "shrink"),
    *("sigmoid", "softmax", "softplus", "softsign", "swish", "tanh", "thresholdedrelu", "erf", "hardmax", "logsoftmax"),
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ONNX computes its expected results, of infinities too
def test_onnx_tests_of_activations():
    from onnx.backend.test.loader import load_model_tests

    count = 0
    for case in load_model_tests(kind="node"):
        name = case.name.removeprefix("test_")
        if not name.startswith(ACTIVATIONS) or case.model is None or "bfloat16" in name:  # its binding takes none
            continue
        (given, expected), *_ = case.data_sets
        feed = {info.name: x for info, x in zip(case.model.graph.input, given, strict=True)}
        found = session(case.model).run(None, feed)
        results = ogive.onnx.load(case.model).run(feed)
        for y, wanted, info in zip(found, expected, case.model.graph.output, strict=True):
            assert_same_bits(y, results[info.name])
            np.testing.assert_allclose(y, wanted, rtol=case.rtol, atol=case.atol)
        count += 1
    assert count > 80
