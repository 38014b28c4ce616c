"""One plan serves batches of any length, where nothing but the first axis of arrays follows from it."""

import numpy as np
import pytest

import ogive.onnx
from tests.inputs import same_bits
from tests.onnx.models import text_model

HEAD = "t (float[B, N] x, float[N] s) => (float[?, ?] y) <int64[1] last = {-1}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] many = {1000}, int64[2] square = {5, -1}, int64[2] flat = {0, -1}, int64[2] wide = {5, 6}> { "

SERVED = {
    "layer norm": "m = ReduceMean(x, last) c = Sub(x, m) q = Mul(c, c) v = ReduceMean(q, last) r = Sqrt(v) n = Div(c, r) y = Mul(n, s)",
    "haar": "e = Slice(x, zero, many, one, two) o = Slice(x, one, many, one, two) d = Sub(e, o) t = Tanh(d) y = Add(t, e)",
    "views of what lies in the workspace": "a = Tanh(x) e = Slice(a, zero, many, one, two) b = Relu(a) o = Slice(b, one, many, one, two) y = Add(e, o)",
    "no axis kept": "m = ReduceMax <keepdims = 0> (x, last) a = Neg(m) b = Unsqueeze(a, last) y = Mul(b, s)",
    "as many axes as before": "a = Tanh(x) y = Reshape(a, flat)",
    "several outputs of rows": "m = ReduceMean(x, last) c = Sub(x, m) q = Mul(c, c) v = ReduceMean(q, last) y = Add(m, v)",
}

NOT_SERVED = {
    "the batch is reduced": "m = ReduceSum(x, zero) y = Mul(x, m)",
    "a shape of five": "a = Tanh(x) y = Reshape(a, square)",
    "five of any": "e = Slice(x, zero, five, zero) y = Relu(e)",
    "turned": "a = Tanh(x) y = Transpose(a)",
    "joined": "a = Tanh(x) b = Reshape(a, last) c = Unsqueeze(b, zero) y = Relu(c)",
    "expanded": "m = ReduceMax(x, last) e = Expand(m, wide) y = Relu(e)",
    "without axes of one element": "a = Tanh(x) y = Squeeze(a)",
    "counted": "a = Shape(x) f = Cast <to = 1> (a) g = ReduceMax <keepdims = 0> (f) y = Mul(x, g)",
}

#: Nodes beside the batch, whose operands have no axes or axes of fixed lengths.
BESIDE = {
    "a number": "t = Exp(q) y = Mul(x, t)",
    "numbers alone": "t = Exp(q) u = Add(t, q) v = Mul(u, t) n = Neg(x) y = Mul(n, v)",
    "a number that is a result": "y = Mul(x, q) z = Exp(q)",
    "a number seen as a row": "a = Unsqueeze(q, zero) b = Tanh(a) y = Mul(x, b)",
    "a flag": "a = Greater(q, h) y = Where(a, x, o)",
    "a table": "a = Tanh(w) b = Softmax(a) c = ReduceMax(b, zero) y = Add(x, c)",
    "a sum": "a = ReduceSum <keepdims = 0> (w) b = Exp(a) y = Mul(x, b)",
    "a table turned and seen": "a = Exp(w) b = Transpose(a) c = Relu(b) d = ReduceMax(c, zero) y = Add(x, d)",
    "one element": "a = Exp(o) b = Mul(a, q) y = Mul(x, b)",
    "nothing": "a = Exp(e) b = ReduceSum <keepdims = 0> (a) y = Add(x, b)",
}


def loaded(nodes, **options):
    text = (HEAD + nodes + " }").replace("> {", ", int64[1] five = {5}> {", 1)
    return ogive.onnx.load(text_model(text, 18), **options)


def plans_of(model):
    (runner,) = model._runners.values()
    return list(runner._plans.values())


def check(model, plain, lengths, columns):
    generator = np.random.default_rng(columns)
    s = generator.standard_normal(columns).astype(np.float32)
    for length in lengths:
        x = generator.standard_normal((length, columns)).astype(np.float32)
        expected = plain(x, s)
        assert same_bits(model(x, s), expected), length
        strided = np.repeat(x, 2, axis=1)[:, ::2]
        assert same_bits(model(strided, s), expected), length
        out = np.empty_like(expected)
        assert model(x=x, s=s, out=out) is out
        assert same_bits(out, expected), length


@pytest.mark.parametrize("nodes", SERVED.values(), ids=SERVED)
def test_one_plan_serves_every_length(nodes):
    model, plain = loaded(nodes), loaded(nodes, fuse=False)
    check(model, plain, (5, 7, 2, 64, 3, 1, 900, 5), 6)
    (plan,) = plans_of(model)
    assert plan.flexible
    assert not plan.uniform
    other = loaded(nodes)
    check(
        other, plain, (1, 0, 1) if "Reshape" not in nodes else (1,), 6
    )  # of one item nothing tells what is repeated for each; none has no rows
    assert not any(plan.flexible for plan in plans_of(other))


@pytest.mark.parametrize("nodes", NOT_SERVED.values(), ids=NOT_SERVED)
def test_other_models_are_planned_for_each_length(nodes):
    model, plain = loaded(nodes), loaded(nodes, fuse=False)
    lengths = (
        (5, 1)
        if "Squeeze" in nodes
        else (5,)
        if "wide" in nodes
        else (5, 10, 2, 5)
        if "square" not in nodes
        else (5, 10, 5)
    )
    check(model, plain, lengths, 6)
    assert not any(plan.flexible for plan in plans_of(model))


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("nodes", BESIDE.values(), ids=BESIDE)
def test_values_beside_the_batch(nodes, fuse):
    """A value without axes is no batch, nor is one whose axes are all fixed: one plan serves every length."""
    results = ["y", "z"] if "z = " in nodes else ["y"]
    text = f"t (float[B, 6] x, float q, float[6, 6] w, float[1] o, float[0] e) => (float[?, ?] {', float '.join(results)}) "
    text += f"<float h = {{0.25}}, int64[1] zero = {{0}}> {{ {nodes} }}"
    model, one_by_one = (ogive.onnx.load(text_model(text, 18), fuse=fuse) for _ in range(2))
    generator = np.random.default_rng(1)
    for length in (5, 7, 2, 64, 1, 6, 0, 5):
        x, q, w, o, e = (
            generator.standard_normal(shape).astype(np.float32) for shape in ((length, 6), (), (6, 6), 1, 0)
        )
        got = model.run({"x": x, "q": q, "w": w, "o": o, "e": e})
        apart = [one_by_one.run({"x": row[None], "q": q, "w": w, "o": o, "e": e}) for row in x]
        assert same_bits(got["y"], np.concatenate([x[:0], *(items["y"] for items in apart)]))
        assert all(same_bits(got[name], items[name]) for name in results[1:] for items in apart)
    plans = plans_of(model)
    assert [plan.flexible for plan in plans].count(True) == 1
    assert len(plans) == 2  # the other one is of no items


def test_the_memory_limit_counts_what_lies_beside_a_batch_once():
    text = "t (float[B, 100] x, float[100] w) => (float[?, ?] y) { a = Exp(w) y = Mul(x, a) }"
    model = ogive.onnx.load(text_model(text, 18), memory_limit=4400, fuse=False)
    x = np.ones((10, 100), np.float32)
    assert model(x[:2], x[0]).shape == (2, 100)
    assert model(x, x[0]).shape == (10, 100)
    assert len(plans_of(model)) == 1
    with pytest.raises(ogive.errors.ModelError, match="memory limit"):
        model(np.ones((11, 100), np.float32), x[0])


def test_a_slice_that_ends_behind_the_batch():
    """It is the whole batch only up to that length, and plans are tried with much longer ones."""
    nodes = "e = Slice(x, zero, many, zero) y = Relu(e)"
    model = loaded(nodes)
    x, s = np.ones((5, 6), np.float32), np.ones(6, np.float32)
    assert model(x, s).shape == (5, 6)
    assert model(np.ones((2000, 6), np.float32), s).shape == (1000, 6)


def test_what_has_the_length_of_the_batch_by_chance():
    model, plain = (loaded(SERVED["layer norm"], fuse=fuse) for fuse in (True, False))
    check(model, plain, (6,), 6)  # s has as many elements as there are rows
    check(model, plain, (4, 2, 6), 6)


def test_names_that_stand_for_the_batch_elsewhere():
    text = "t (float[B, N] x, float[B] s) => (float[?, ?] y) { m = Softmax(x) y = Mul(m, s) }"
    model, plain = (ogive.onnx.load(text_model(text, 18), fuse=fuse) for fuse in (True, False))
    generator = np.random.default_rng(0)
    for length in (5, 2, 7):  # s is as long as the rows and as there are rows
        x, s = generator.standard_normal((length, length)), generator.standard_normal(length)
        assert same_bits(
            model(x.astype(np.float32), s.astype(np.float32)), plain(x.astype(np.float32), s.astype(np.float32))
        )
    assert not any(plan.flexible for plan in plans_of(model))


def test_the_memory_limit_holds_for_batches():
    model = ogive.onnx.load(
        text_model("t (float[B, N] x) => (float[?, ?] y) { y = Softmax(x) }", 18), memory_limit=4000
    )
    assert model(np.zeros((10, 100), np.float32)).shape == (10, 100)
    with pytest.raises(ogive.errors.ModelError, match="memory limit"):
        model(np.zeros((11, 100), np.float32))


def test_workspaces_of_a_batch_are_used_again():
    model = loaded(SERVED["views of what lies in the workspace"])
    s = np.ones(6, np.float32)
    for length in (5, 7):
        kept = [model(np.full((length, 6), value, np.float32), s) for value in (1, 2)]
        assert kept[0].max() < kept[1].min()
        (plan,) = plans_of(model)
        assert len(plan.idle) == 1


def test_keywords_that_are_not_interned():
    model = loaded(SERVED["layer norm"])
    x, s = np.arange(12, dtype=np.float32).reshape(2, 6), np.ones(6, np.float32)
    keys = ["".join(["x"]), "".join(["s"])]
    expected = model(x, s)
    assert same_bits(model(**dict(zip(keys, (x, s), strict=True))), expected)
    with pytest.raises(ogive.errors.ArgumentError, match="there is no input 'not an input'"):
        model(x, **{"".join(["not an ", "input"]): s})
