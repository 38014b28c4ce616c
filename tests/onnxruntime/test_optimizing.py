"""Models in which Ogive's operators take the place of nodes: which nodes, with which bits, and what the report says."""

import shutil
from dataclasses import replace
from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import ogive  # noqa: E402
import ogive.onnx  # noqa: E402
import ogive.onnxruntime  # noqa: E402
from benchmarks.networks import RECIPES, feeds_of  # noqa: E402
from ogive.errors import ArgumentError, ParameterError  # noqa: E402
from ogive.onnxruntime import node_groups, optimize, session_races  # noqa: E402
from ogive.onnxruntime.session_races import Race  # noqa: E402
from tests.inputs import assert_same_bits  # noqa: E402
from tests.onnx.models import text_model  # noqa: E402
from tests.onnxruntime.test_library import numbers, run  # noqa: E402

if not shutil.which("cc") and find_spec("ziglang") is None:
    pytest.skip("no C compiler: a library cannot be built", allow_module_level=True)


def kept(made):
    """The operators of the groups that were kept, and how many there are of each."""
    return {group.operators: group.count for group in made.report.groups if group.is_kept}


def left(made):
    """Why groups were left, by their operators."""
    return {group.operators: group.reason for group in made.report.groups if not group.is_kept}


@pytest.fixture
def races(monkeypatch):
    """Races that end as they are told: a ratio for each, the last one for all that follow."""
    ratios = []

    def race(self, first, second, feeds, seconds=0.0):
        for session in (first, second):
            session.run(None, feeds)
        ratio = ratios.pop(0) if len(ratios) > 1 else ratios[0]
        return Race(1e-3, ratio * 1e-3, ratio, 0.01)

    monkeypatch.setattr(session_races.Sessions, "race", race)
    return ratios


# ---- what becomes an operator, and its bits


@pytest.mark.matrix(share=16, pool="slow")
def test_a_group_becomes_one_operator(tmp_path):
    model = text_model(
        """m (float[N,256] x, float[256] b) => (float[N,256] z, float[N,256] h) {
        h = Celu(x)  y = Mul(h, b)  z = Sigmoid(y) }""",
        20,
    )
    made = optimize(model, library=tmp_path / "model.so")
    assert (made.report.nodes, made.report.operators, len(made.model.graph.node)) == (3, 1, 1)
    assert made.library == tmp_path / "model.so"
    x, b = numbers("float32", 50, 256), numbers("float32", 256)
    expected = ogive.onnx.load(model)(x=x, b=b)
    for found, right in zip(made.session().run(None, {"x": x, "b": b}), expected, strict=True):
        assert_same_bits(found, right)


@pytest.mark.matrix(share=16, pool="slow")
def test_what_lies_between_stays_onnx_runtimes_and_the_order_holds():
    """The matrix product lies between two groups; it reads the first, and the second reads it."""
    model = text_model(
        """m (float[4,4] x) => (float[4,4] z) {
        a = Mish(x)  h = Neg(a)  p = MatMul(h, x)  s = Softplus(h)  q = Add(p, s)  r = Abs(q)  z = Tanh(r) }""",
        20,
    )
    made = optimize(model, round_between=True)
    assert "MatMul" in [node.op_type for node in made.model.graph.node]
    assert made.report.nodes == 6
    x = numbers("float32", 4, 4)
    h = -ogive.mish(x)
    product = onnxruntime.InferenceSession(
        text_model("m (float[4,4] h, float[4,4] x) => (float[4,4] p) { p = MatMul(h, x) }", 20).SerializeToString(),
        providers=["CPUExecutionProvider"],
    ).run(None, {"h": h, "x": x})[0]
    assert_same_bits(made.session().run(None, {"x": x})[0], ogive.tanh(abs(ogive.add(product, ogive.softplus(h)))))


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_with_what_is_beside_them_are_one_operator():
    """Scores that are scaled, a mask that is broadcast over heads, and what makes zeros of rows without any element."""
    model = text_model(
        """m (float[B,3,S,40] x, float[B,1,S,40] mask) => (float[B,3,S,40] y, float[B,3,S,40] other) {
        scale = Constant<value_float=0.125>()  h = Mul(x, scale)  masked = Add(h, mask)  s = Softmax(masked)
        zero = Constant<value_float=0.0>()  bad = IsNaN(s)  y = Where(bad, zero, s)
        a = Neg(x)  other = Softmax<axis=1>(a) }""",
        20,
    )
    made = optimize(model)
    assert kept(made) == {("Mul", "Add", "Softmax", "IsNaN", "Where"): 1}  # rows along other axes are ONNX Runtime's
    x, mask = numbers("float32", 2, 3, 50, 40), np.where(numbers("float32", 2, 1, 50, 40) > 0, 0, -np.inf)
    mask[0, 0, 3] = -np.inf
    given = {"x": x, "mask": mask.astype(np.float32)}
    assert_same_bits(made.session().run(["y"], given)[0], ogive.onnx.load(model)(**given)[0])


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("shape", [(3000, 96), (5, 40_000), (1, 1), (0, 8)])
def test_operands_of_rows_are_broadcast_over_them(normalisation, shape):
    """A residual that is a row, scale and shift of a row's length: cut among threads in the middle of a batch."""
    made, model = normalisation
    x, r = numbers("float32", 2, *shape), numbers("float32", *shape)
    scale, shift = numbers("float32", shape[-1]), numbers("float32", shape[-1])
    given = {"x": x, "r": r, "scale": scale, "shift": shift}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 4
    for found, right in zip(made.session(options).run(None, given), ogive.onnx.load(model)(**given), strict=True):
        assert_same_bits(found, right)


@pytest.fixture(scope="module")
def normalisation():
    model = text_model(
        """m (float[B,N,M] x, float[N,M] r, float[M] scale, float[M] shift) => (float[B,N,M] y, float[B,N,M] total) {
        total = Add(x, r)  y = LayerNormalization(total, scale, shift) }""",
        20,
    )
    return optimize(model, round_between=True), model


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_of_another_length_than_the_model_says(normalisation):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    given = {"x": numbers("float32", 2, 3, 8), "r": numbers("float32", 3, 8)}
    given |= {"scale": numbers("float32", 1), "shift": numbers("float32", 8)}
    with pytest.raises(Exception, match="ogive: the operands of an operator of rows differ in shape"):
        normalisation[0].session(options).run(None, given)


@pytest.mark.matrix(share=16, pool="slow")
def test_a_number_of_each_row_as_operand_and_as_result():
    model = text_model(
        """m (float[N,M] x, float[N,1] limit) => (float[N,1] most, float[N,M] y) <int64[1] axes = {1}> {
        a = Min(x, limit)  most = ReduceMax(a, axes)  y = Sub(a, most) }""",
        20,
    )
    made = optimize(model, round_between=True)
    assert made.report.operators == 1
    given = {"x": numbers("float32", 40, 1000), "limit": numbers("float32", 40, 1)}
    for found, right in zip(made.session().run(None, given), ogive.onnx.load(model)(**given), strict=True):
        assert_same_bits(found, right)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("shapes", [[(2, 3, 4, 5), (3, 1, 1)], [(6, 1, 7), (5, 1)], [(1, 4, 4), (2, 1, 1, 1)]])
def test_operands_of_elements_are_broadcast(shapes):
    x, b = (numbers("float32", *shape) for shape in shapes)
    rank = max(x.ndim, b.ndim)
    axes = [",".join("ABCDEFGH"[i * 4 : i * 4 + len(s)]) for i, s in enumerate(shapes)]
    result = ",".join("IJKL"[:rank])
    model = text_model(f"m (float[{axes[0]}] x, float[{axes[1]}] b) => (float[{result}] y) {{ h = Add(x, b) y = Sigmoid(h) }}", 20)  # fmt: skip
    for index, info in enumerate((*model.graph.input, *model.graph.output)):
        info.type.tensor_type.ClearField("shape")
        for size in shapes[index] if index < 2 else np.broadcast_shapes(*shapes):
            info.type.tensor_type.shape.dim.add().dim_value = size
    made = optimize(model)
    assert made.report.operators == 1
    assert_same_bits(made.session().run(None, {"x": x, "b": b})[0], ogive.onnx.load(model)(x=x, b=b))


@pytest.mark.matrix(share=16, pool="slow")
def test_a_type_that_onnx_runtime_has_no_kernels_for():
    """Nothing is timed then, and single nodes are taken."""
    model = text_model("m (bfloat16[N] x) => (bfloat16[N] y) { h = Mish(x) y = Mul(h, x) }", 22)
    made = optimize(model, {"x": np.ones(4, ml_dtypes.bfloat16)})
    assert made.report.verdict == "not timed: ONNX Runtime has no kernels for the model"
    x = numbers("bfloat16", 1000)
    assert_same_bits(run(made.session(), ["x"], [x], "bfloat16"), ogive.mul(ogive.mish(x), x))


@pytest.mark.matrix(share=16, pool="slow")
def test_the_fast_contract():
    model = text_model("m (float[N,64] x) => (float[N,64] y) { a = Neg(x) y = Softmax(a) }", 20)
    exact, fast = (optimize(model, accuracy=accuracy) for accuracy in ("exact", "fast"))
    x = numbers("float32", 50, 64)
    bits = [made.session().run(None, {"x": x})[0] for made in (exact, fast)]
    assert_same_bits(bits[0], ogive.onnx.load(model)(x=x))
    assert_same_bits(bits[1], ogive.softmax.fast(-x))
    assert bits[0].tobytes() != bits[1].tobytes()
    with pytest.raises(ParameterError, match=r"^ogive\.onnxruntime\.optimize: accuracy is 'rough'; allowed: 'exact'"):
        optimize(model, accuracy="rough")


@pytest.mark.matrix(share=16, pool="slow")
def test_float16_is_computed_as_onnx_runtime_does_unless_nodes_shall_round():
    model = text_model("m (float16[N] x) => (float16[N] y) { a = Mul(x, x) b = Mul(a, x) y = Sub(b, x) }", 20)
    x = (np.random.default_rng(3).standard_normal(5000) * 3).astype(np.float16)
    rounded = optimize(model, round_between=True).session().run(None, {"x": x})[0]
    assert_same_bits(rounded, ogive.onnx.load(model)(x=x))
    plain = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0].astype(float)
    found = optimize(model).session().run(None, {"x": x})[0].astype(float)
    exact = x.astype(float) ** 3 - x
    assert np.abs(found - exact).max() <= np.abs(plain - exact).max()


# ---- which groups are worth it


def test_rules_without_feeds():
    model = text_model(
        """m (float[1,8,6,6] x, float[8,8] w, float[8,8,1,1] k) => (float[1,8,6,6] z, float[1,8,6,8] v) {
        a = Conv(x, k)  b = Relu(a)  c = Add(b, x)  d = Softplus(c)  e = Conv(d, k)  z = Tanh(e)
        t = Transpose<perm=[0,2,3,1]>(e)  p = MatMul(t, w)  v = Gelu(p) }""",
        20,
    )
    made = optimize(model)
    assert made.model is not None
    assert (made.library, made.report.operators) == (None, 0)
    assert made.report.verdict == "nothing to gain: the model is as it was"
    reasons = left(made)
    assert reasons["Gelu",] == "ONNX Runtime has a kernel for the one node"
    assert set(reasons.values()) == {
        "ONNX Runtime has a kernel for the one node",
        "it is beside a convolution, whose layout it would end",
    }


@pytest.mark.matrix(share=16, pool="slow")
def test_a_swish_in_pieces_between_convolutions_is_worth_it():
    made = optimize(RECIPES["mobilenet, swish in pieces"].model(small=True))
    assert kept(made) == {("Add", "Clip", "Mul", "Div"): 7}


QUANTISED = """m (uint8[N] x, float s, uint8 z) => ({kind}[N] y) {{
    a = DequantizeLinear(x, s, z) {nodes} }}"""


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("nodes", "kind", "count"),
    [
        ("b = Sigmoid(a) c = Mul(a, b) y = QuantizeLinear(c, s, z)", "uint8", 1),
        ("b = Sigmoid(a) y = Mul(a, b)", "float", 0),  # what is read is quantised
        ("b = Sigmoid(a) c = Mul(a, b) d = Neg(c) e = CumSum(d, n) f = Exp(e) y = QuantizeLinear(f, s, z)", "uint8", 0),
    ],
)
def test_a_quantised_pattern_is_taken_whole_or_not_at_all(nodes, kind, count):
    model = text_model(QUANTISED.format(nodes=f"n = Constant<value_int=0>() {nodes}", kind=kind), 20)
    assert optimize(model, round_between=True).report.operators == count


GATE = "m (float[N,64] x) => (float[N,64] y) { a = Softplus(x) b = Tanh(a) y = Mul(x, b) }"


@pytest.mark.matrix(share=16, pool="slow")
def test_a_group_is_kept_if_it_is_faster(races):
    feeds = {"x": numbers("float32", 30, 64)}
    races[:] = [0.5, 0.9]
    made = optimize(text_model(GATE, 20), feeds, threads=1)
    assert kept(made) == {("Softplus", "Tanh", "Mul"): 1}
    assert str(made.report) == (
        "faster (model: 1000.0 -> 900.0 us, ratio 0.900 +- 0.010)\n"
        "  1 x Softplus + Tanh + Mul: kept, faster (each: 1000.0 -> 500.0 us, ratio 0.500 +- 0.010)"
    )
    assert (made.report.race.ratio, made.report.race.noise) == (0.9, 0.01)
    assert made.threads == 1


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("ratios", "reason", "verdict"),
    [
        ([0.995], "not faster", "not faster: the model is as it was"),  # within the noise
        ([0.5, 1.0], "the whole model is not faster", "not faster: the model is as it was"),
    ],
)
def test_the_plain_model_comes_back_where_it_is_not_slower(races, ratios, reason, verdict):
    races[:] = ratios
    model = text_model(GATE, 20)
    made = optimize(model, {"x": numbers("float32", 30, 64)})
    assert (made.model, made.library, made.report.verdict) == (model, None, verdict)
    assert left(made) == {("Softplus", "Tanh", "Mul"): reason}
    assert made.session().run(None, {"x": numbers("float32", 3, 64)})[0].shape == (3, 64)


@pytest.mark.matrix(share=16, pool="slow")
def test_single_nodes_are_timed_if_they_compute_something(races):
    races[:] = [0.5]
    model = text_model("m (float[4,4] x) => (float[4,4] y) { a = Gelu(x) m = MatMul(a, x) y = Relu(m) }", 20)
    made = optimize(model, {"x": numbers("float32", 4, 4)})
    assert kept(made) == {("Gelu",): 1}
    assert left(made)["Relu",] == "ONNX Runtime has a kernel for the one node"


@pytest.mark.matrix(share=16, pool="slow")
def test_groups_beside_convolutions_are_timed_in_the_model(races):
    """Those that lose are left, and the others are measured with those that were kept."""
    races[:] = [0.9, 1.1, 0.8]
    model = RECIPES["mobilenet, swish in pieces"].model(small=True)
    made = optimize(model, feeds_of(model))
    assert {group.is_of_model for group in made.report.groups if group.race is not None} >= {True}
    assert sum(kept(made).values())
    assert "not faster" in left(made).values()


@pytest.mark.matrix(share=16, pool="slow")
def test_sessions_are_timed():
    """Real ones: what comes back computes the same, and the report has what was measured."""
    feeds = {"x": numbers("float32", 8, 64)}
    made = optimize(text_model(GATE, 20), feeds, threads=1)
    (group,) = made.report.groups
    assert min(group.race.before, group.race.after) > 0 <= group.race.noise
    np.testing.assert_allclose(made.session().run(None, feeds)[0], ogive.mish(feeds["x"]), rtol=1e-5)


def test_feeds_that_are_no_inputs():
    expected = r"^ogive\.onnxruntime\.optimize: feeds has 'w'; allowed: the model's inputs: x$"
    with pytest.raises(ArgumentError, match=expected):
        optimize(text_model(GATE, 20), {"w": numbers("float32", 2)})


# ---- networks


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", RECIPES)
def test_networks_have_the_results_of_onnx_runtime(name):
    model = RECIPES[name].model(small=True)
    feeds = feeds_of(model)
    made = optimize(model, accuracy="fast")
    plain = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, right in zip(made.session().run(None, feeds), plain.run(None, feeds), strict=True):
        is_short = "float16" in name or "int8" in name
        np.testing.assert_allclose(found, right, rtol=0, atol=(2e-2 if is_short else 1e-5) * np.abs(right).max())


def test_each_group_is_loaded_once_however_many_nodes_there_are(monkeypatch):
    """400 nodes: the graph is asked about once, and equal groups are looked at once."""
    asked, loads = [], []
    survey, load = node_groups.survey, ogive.onnx.load
    monkeypatch.setattr(node_groups, "survey", lambda model, *rest: asked.append(len(model.graph.node)) or survey(model, *rest))  # fmt: skip
    monkeypatch.setattr(ogive.onnx, "load", lambda model, **more: loads.append(len(model.graph.node)) or load(model, **more))  # fmt: skip
    pairs = 200
    nodes = "".join(f"m{i} = MatMul(s{i}, w) s{i + 1} = Sigmoid(m{i})" for i in range(pairs))
    model = text_model(f"t (float[2,2] s0, float[2,2] w) => (float[2,2] s{pairs}) {{ {nodes} }}", 17)
    wiring = node_groups.ModelWiring(model)
    assert len(node_groups.find_groups(wiring, "fast")) == pairs
    assert asked == [2 * pairs]
    assert loads == [1, 1]


def test_a_race_is_won_beyond_the_noise():
    race = Race(1.0, 0.98, 0.98, 0.01)
    assert race.is_won
    assert not replace(race, noise=0.02).is_won
