"""The places where a gated unit rounds, and the judge that names the one which a kernel follows."""

import pickle

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError, ParameterError
from ogive.golden import gated, of_operator, roundings_of
from ogive.judge import judge

KINDS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16)]


def numbers(kind):
    generator = np.random.default_rng(11)
    return [(generator.standard_normal(3000) * 3).astype(kind) for _ in range(2)]


def steps(kind, *functions):
    """Each function in float64, and its result rounded: of 16 bits nothing but a tie in 53 bits is wrong."""
    return [lambda *x, f=f: f(*(v.astype(np.float64) for v in x)).astype(kind) for f in functions]


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_each_step_is_rounded(kind):
    a, b = numbers(kind)
    swish, sigmoid, mul = steps(kind, lambda x: x / (1 + np.exp(-x)), lambda x: 1 / (1 + np.exp(-x)), np.multiply)
    assert np.array_equal(gated("swiglu", a, b, rounding="gate"), mul(swish(a), b))
    assert np.array_equal(gated("swiglu", a, b, rounding="body"), mul(mul(a, sigmoid(a)), b))
    assert np.array_equal(gated("glu", a, b, rounding="gate"), mul(a, sigmoid(b)))
    alpha = kind.type(1.702)
    inner = mul(np.full_like(a, alpha), a)
    assert np.array_equal(gated("swiglu", a, b, rounding="body", alpha=1.702), mul(mul(a, sigmoid(inner)), b))
    wide = ogive.gelu(a.astype(np.float32)) * b.astype(np.float32)
    assert np.array_equal(gated("geglu", a, b, rounding="body"), wide.astype(kind))
    for name in ("geglu", "glu", "reglu", "swiglu"):
        assert np.array_equal(gated(name, a, b), getattr(ogive, name)(a, b))
    assert not np.array_equal(gated("swiglu", a, b, rounding="gate"), gated("swiglu", a, b))


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("rounding", ["gate", "body"])
@pytest.mark.parametrize(("name", "parameters"), [("swiglu", {"alpha": 1.702}), ("geglu", {"approximate": "tanh"})])
def test_the_judge_names_the_place(name, parameters, rounding, dtype):
    found = judge(lambda a, b: gated(name, a, b, rounding=rounding, **parameters), name, dtype, **parameters)
    once = judge(getattr(ogive, name).bind(**parameters), name, dtype, **parameters)
    assert all(cause.name != "gate_rounding" for cause in once.causes)
    if name == "geglu" and rounding == "body" and dtype != "float32":
        return  # the last rounding is nearly the only one
    texts = [cause.text for cause in found.causes if cause.name == "gate_rounding"]
    assert len(texts) == 1
    same = name == "geglu" and dtype == "float32"  # both are the same there
    assert texts[0].endswith("rounding='gate'" if same else f"rounding={rounding!r}")


@pytest.mark.parametrize("name", ["clamped_swiglu", "geglu", "glu", "reglu", "swiglu"])
def test_operators_and_golden_data_round_there(name):
    """Kernels of several steps beside enclosures of each; halves, contracts and layouts come the same way."""
    operator = getattr(ogive, name)
    a, b = (x[:600].reshape(2, 300) for x in numbers(np.dtype(np.float16)))
    for rounding in operator.roundings:
        spec = of_operator(name, "float16", rounding=rounding)
        found = operator(a, b, rounding=rounding)
        assert np.array_equal(found, spec.expected([a, b], with_exact=False).right)
        assert np.array_equal(operator(np.stack([a, b]), axis=0, rounding=rounding)[0], found)
        assert np.array_equal(operator(a[:, ::-3], b[:, ::-3], rounding=rounding), found[:, ::-3])
        assert spec.rounding == rounding
    if name != "reglu":  # of which the gate is no rounded number
        assert not np.array_equal(operator(a, b, rounding="gate"), operator(a, b))


def test_a_function_that_rounds_there_is_pickled():
    bound = ogive.swiglu.bind(alpha=1.5, rounding="gate")
    assert pickle.loads(pickle.dumps(bound)) is bound


def test_golden_data_of_a_rounding_say_so():
    golden = ogive.vectors("geglu", "float8_e4m3fn", rounding="body")
    assert golden.manifest["rounding"] == "body"
    assert golden.name == "geglu-float8_e4m3fn-body_rounded"


@pytest.mark.matrix(share=16, pool="slow")
def test_the_judge_takes_a_rounding_for_the_right_one():
    a_gate, once = ogive.swiglu.bind(rounding="gate"), ogive.swiglu.bind()
    assert judge(a_gate, "swiglu", "bfloat16", rounding="gate").not_nearest == 0
    texts = [cause.text for cause in judge(once, "swiglu", "bfloat16", rounding="gate").causes]
    assert any("the unit is rounded once" in text for text in texts)


def test_wrong_calls():
    x = np.float16([1.0])
    assert roundings_of("glu") == ("once", "gate")
    with pytest.raises(
        ArgumentError, match="ogive.golden.gated: operator is 'mul'; allowed: clamped_swiglu, geglu, glu, reglu, swiglu"
    ):
        gated("mul", x, x)
    for call in (gated, lambda name, *x, **given: ogive.vectors(name, "float16", **given)):
        with pytest.raises(ParameterError, match="glu: rounding is 'body'; allowed: 'once', 'gate'"):
            call("glu", x, x, rounding="body")
    with pytest.raises(ParameterError, match="swiglu: rounding is 1; allowed: 'once', 'gate', 'body'"):
        ogive.swiglu(x, x, rounding=1)
    with pytest.raises(ParameterError, match="glu: rounding is 'gate' inside a formula, which is rounded once"):
        ogive.operator(lambda a, b: ogive.glu(a, b, rounding="gate"))
    with pytest.raises(
        ParameterError,
        match="ogive.export: swiglu is bound with rounding='gate'; allowed: 'once', which functions in C",
    ):
        ogive.export(ogive.swiglu.bind(rounding="gate"))
    with pytest.raises(DTypeError, match="a is an array of float16, and b of float32; allowed: two arrays of one"):
        gated("glu", x, np.float32([1.0]))
