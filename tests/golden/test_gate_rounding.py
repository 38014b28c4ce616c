"""The places where a gated unit rounds, and the judge that names the one which a kernel follows."""

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError
from ogive.golden import gated, roundings_of
from ogive.judge import judge

KINDS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16)]


def numbers(kind):
    generator = np.random.default_rng(11)
    return [(generator.standard_normal(3000) * 3).astype(kind) for _ in range(2)]


def steps(kind, *functions):
    """Each function in float64, and its result rounded: of 16 bits nothing but a tie in 53 bits is wrong."""
    return [lambda *x, f=f: f(*(v.astype(np.float64) for v in x)).astype(kind) for f in functions]


@pytest.mark.matrix(share=9, pool="slow")
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


def test_wrong_calls():
    x = np.float16([1.0])
    assert roundings_of("glu") == ("once", "gate")
    with pytest.raises(
        ArgumentError, match="ogive.golden.gated: operator is 'mul'; allowed: geglu, glu, reglu, swiglu"
    ):
        gated("mul", x, x)
    with pytest.raises(ArgumentError, match="rounding is 'body' for glu; allowed: 'once', 'gate'"):
        gated("glu", x, x, rounding="body")
    with pytest.raises(DTypeError, match="a is an array of float16, and b of float32; allowed: two arrays of one"):
        gated("glu", x, np.float32([1.0]))
