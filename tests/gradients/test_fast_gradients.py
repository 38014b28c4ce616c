"""Derivatives under the fast contract: their errors, special values, bits; and the forms that have rules."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ogive
from ogive import formula as f

#: By operator and parameters: where the derivative crosses zero, and the bound in units in the last place elsewhere.
BOUNDS = [
    ("celu", {}, None, 1.0),
    ("gelu", {}, -0.7517916, 8.0),
    ("gelu", {"approximate": "tanh"}, -0.7524614, 8.0),
    ("log_sigmoid", {}, None, 2.5),
    ("mish", {}, -1.1924, 5.5),
    ("sigmoid", {}, None, 4.5),
    ("softplus", {}, None, 2.5),
    ("swish", {}, -1.2784645, 5.0),
    ("tanh", {}, None, 4.5),
]
IDS = [f"{name}{list(parameters.values()) or ''}" for name, parameters, *_ in BOUNDS]

#: Exact derivatives in pairs of float32 that leave the fast contract nothing to gain (lowering/cost.py): they are its own.
AS_FAST = ("gelu",)

#: How far from a zero of a derivative results have a small absolute error only: 1.5 units of 2**-24.
NEAR = 0.25


#: Between the bits that are tested. Far from zero a derivative that vanishes takes 0.1 ms an element.
STEP = 20_011 if os.environ.get("OGIVE_GRADIENTS_ALL") else 200_003


def samples():
    """All magnitudes, the ordinary ones densely, and both sides of the limits between rules and exact results."""
    bits = np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32)
    generator = np.random.default_rng(20)
    limits = np.float32([87.0, 79.0, 43.5, 39.5, 12.875, 9.86, 2.0**60])
    near = (limits.view(np.uint32)[:, None] + np.arange(-500, 500, dtype=np.int64)).astype(np.uint32).view(np.float32)
    ordinary = (generator.standard_normal(100_000) * np.exp2(generator.integers(-6, 6, 100_000))).astype(np.float32)
    x = np.concatenate([np.float32([0.0, -0.0]), bits.view(np.float32), near.ravel(), -near.ravel(), ordinary])
    return x[~np.isnan(x)]


def units(wanted):
    return np.exp2(np.maximum(np.floor(np.log2(np.abs(wanted) + 1e-300)), -126) - 23)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("name", "parameters", "zero", "bound"), BOUNDS, ids=IDS)
def test_errors_keep_to_the_bound(name, parameters, zero, bound):
    slope, x = ogive.grad(getattr(ogive, name)), samples()
    got, wanted = slope.fast(x, **parameters), slope.exact(x.astype(np.float64), **parameters)
    is_near = np.zeros(x.shape, bool) if zero is None else np.abs(x - zero) < NEAR
    assert (np.abs(got - wanted) / units(wanted))[~is_near].max() <= bound
    assert np.abs(got - wanted)[is_near].max(initial=0) <= 1.5 * 2.0**-24
    exact = slope.exact(x, **parameters)
    assert (np.signbit(got) == np.signbit(exact))[~is_near].all()
    assert (got != exact).any() == (name not in AS_FAST)  # whether it is the exact kernel


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("name", "parameters", "zero", "bound"), BOUNDS, ids=IDS)
def test_gradients_are_derivatives_times_what_they_are_given(name, parameters, zero, bound):
    operator, x = getattr(ogive, name), samples()
    upstream = np.random.default_rng(21).standard_normal(x.size).astype(np.float32)
    got = ogive.vjp(operator).fast(upstream, x, **parameters)
    wanted = ogive.vjp(operator).exact(*(v.astype(np.float64) for v in (upstream, x)), **parameters)
    is_near = np.zeros(x.shape, bool) if zero is None else np.abs(x - zero) < NEAR
    is_usual = ~is_near & (np.abs(wanted) >= 2.0**-126)
    assert (np.abs(got - wanted) / units(wanted))[is_usual].max() <= bound + 1  # the product is rounded, too
    assert (np.abs(got - wanted)[is_near] <= 1.5 * 2.0**-24 * (1 + np.abs(upstream[is_near]))).all()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(("name", "parameters", "zero", "bound"), BOUNDS, ids=IDS)
def test_special_values_are_those_of_the_exact_contract(name, parameters, zero, bound):
    slope = ogive.grad(getattr(ogive, name))
    x = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.4028235e38, -3.4028235e38, 1e-45, -1e-45, -110.0, 1e30])
    got, wanted = slope.fast(x, **parameters), slope.exact(x, **parameters)
    assert got.tobytes() == wanted.tobytes()


def test_bits_do_not_depend_on_the_layout():
    for name, parameters, *_ in BOUNDS:
        slope, x = ogive.grad(getattr(ogive, name)).fast.bind(**parameters), samples()[: 3 * 4096].copy()
        wanted = slope(x)
        singly = np.array([slope(x[i : i + 1])[0] for i in range(0, x.size, 37)])
        assert singly.tobytes() == wanted[::37].tobytes()
        assert slope(x.reshape(3, -1).T).T.tobytes() == wanted.tobytes()


DIGEST = """
import hashlib, sys
sys.path.insert(0, {path!r})
from test_fast_gradients import BOUNDS, ogive, samples
x = samples()
for name, parameters, *_ in BOUNDS:
    slope = ogive.grad(getattr(ogive, name)).fast
    print(name, hashlib.sha256(slope(x, **parameters).tobytes()).hexdigest())
"""


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_bits_are_the_same_on_every_target(target):
    from ogive.backends.target import TARGETS, host_target

    names = list(TARGETS)
    if host_target().name not in names[names.index(target) :] or host_target().name == "aarch64":
        pytest.skip(f"this processor is {host_target().name}")
    script = DIGEST.format(path=os.path.dirname(__file__))  # noqa: PTH120
    printed = [
        subprocess.run([sys.executable, "-c", script], env=each, capture_output=True, text=True, check=True).stdout
        for each in (os.environ, {**os.environ, "OGIVE_TARGET": target})
    ]
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == len(BOUNDS)


FORMS = {
    "a bell": lambda x: f.logistic(3 * x) * f.logistic(-(3 * x)),
    "a bell in the other order": lambda x: f.logistic(-x) * f.logistic(x),
    "a bell of cosh": lambda x: 1 / f.cosh(x) / f.cosh(x),
    "a bell with a factor": lambda x: x * (1 / f.cosh(x)) / f.cosh(x),
    "a quarter of a bell": lambda x: 1 / f.cosh(0.5 * x) * 0.25 / f.cosh(0.5 * x),
    "a gate's slope": lambda x: f.logistic(x) * (1 + x * f.logistic(-x)),
    "a gate's slope, turned round": lambda x: (f.logistic(-x) * x + 1) * f.logistic(x),
    "cosh": lambda x: f.cosh(x),
    "a tail on both sides": lambda x: f.normal_tail(x),
    "a tail of the negative number": lambda x: f.normal_tail(-x),
    "a density": lambda x: f.exp(-(x * x) / 2),
    "a density, multiplied": lambda x: f.exp(-0.5 * (x * x)),
}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_are_found_in_formulas_of_ones_own(form):
    """All are within 8 units but where they cross zero: in no form does the exponential magnify an error."""
    operator, x = ogive.operator(lambda x: form(x)), samples()
    x = x[np.abs(x) < 89]
    got, wanted = operator.fast(x), operator.exact(x.astype(np.float64))
    is_usual = (np.abs(wanted) >= 2.0**-126) & (np.abs(wanted) < 3e38) & ~((np.abs(wanted) < 0.1) & (np.abs(x) < 2))
    assert (np.abs(got - wanted) / units(wanted))[is_usual].max() <= 8
    assert (got != operator.exact(x)).any()


@pytest.mark.matrix(share=16, pool="slow")
def test_what_only_looks_like_a_form_is_computed_as_it_stands():
    x = samples()
    x = x[np.abs(x) < 1]
    for formula in (
        lambda x: f.logistic(x) * f.logistic(-(x + 1)),
        lambda x: f.logistic(x) * (2 + x * f.logistic(-x)),
        lambda x: 2 / f.cosh(x) / f.cosh(x),
        lambda x: 1 / f.cosh(x) / f.cosh(x + 1),
    ):
        operator = ogive.operator(formula)
        got, wanted = operator.fast(x), operator.exact(x.astype(np.float64))
        assert np.abs(got / wanted - 1).max() < 2.0**-20


@pytest.mark.matrix(share=16, pool="slow")
def test_derivatives_have_the_contract_of_the_operator():
    x = np.random.default_rng(3).normal(size=3000).astype(np.float32)
    one = np.ones_like(x)
    for operator in (ogive.gelu, ogive.tanh, ogive.softmax):
        fast = ogive.vjp(operator.fast)
        assert fast is ogive.vjp(operator).fast
        assert pickle.loads(pickle.dumps(fast)) is fast
        assert fast(one, x).tobytes() == ogive.vjp(operator).fast(one, x).tobytes()
        assert ogive.vjp(operator.exact) is ogive.vjp(operator).exact
        assert ogive.vjp(operator).accuracy == operator.accuracy
    assert ogive.grad(ogive.gelu.fast) is ogive.grad(ogive.gelu).fast
    assert ogive.grad(ogive.grad(ogive.gelu.fast)).accuracy == "fast"
    value, slope = ogive.value_and_grad(ogive.mish.fast)(x)
    assert value.tobytes() == ogive.mish.fast(x).tobytes()
    assert slope.tobytes() == ogive.grad(ogive.mish).fast(x).tobytes()
    own = ogive.operator(lambda x, *, k=2.0: f.tanh(k * x))
    assert ogive.vjp(own.fast, ["x", "k"])(one, x)[0].tobytes() == ogive.vjp(own, ["x", "k"]).fast(one, x)[0].tobytes()


@pytest.mark.matrix(share=16, pool="slow")
def test_sums_over_rows_keep_their_contract():
    """Shapes that were seen before are summed without looking again."""
    rng = np.random.default_rng(5)
    gradient, x = rng.normal(size=(2, 50, 64)).astype(np.float32)
    scale, bias = rng.normal(size=(2, 64)).astype(np.float32)
    exact, fast = (ogive.vjp(op) for op in (ogive.layer_normalization, ogive.layer_normalization.fast))
    for epsilon in (1e-5, 0.0, -0.0):
        for made in (exact, fast, exact, fast):
            found = made(gradient, x, scale, bias, epsilon=epsilon)
            whole = made.bind(epsilon=epsilon)(gradient, x, *(np.broadcast_to(one, x.shape) for one in (scale, bias)))
            assert np.array_equal(found[0], whole[0])
            assert [one.shape for one in found] == [x.shape, (64,), (64,)]
            assert np.array_equal(found[2], gradient.sum(axis=0, dtype=np.float64).astype(np.float32))
    scaled = ogive.row_operator(lambda x, scale: f.exp(x - f.row_max(x)) / f.row_sum(f.exp(x - f.row_max(x))) * scale)
    first, other, again = (ogive.vjp(op)(gradient, x, scale)[1] for op in (scaled, scaled.fast, scaled))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients_of_jax_have_the_contract_of_the_operator():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    import ogive.jax

    x = np.random.default_rng(4).normal(size=3000).astype(np.float32)
    for operator in (ogive.mish, ogive.tanh):
        for model in (operator, operator.fast):
            of_one = jax.grad(ogive.jax.function(model))
            slopes = jax.vmap(of_one)(x)
            assert np.asarray(slopes).tobytes() == ogive.grad(model)(x).tobytes()
        assert (ogive.grad(operator)(x) != ogive.grad(operator.fast)(x)).any()
