"""Operators on JAX's arrays: the same bits under jit and vmap, derivatives of first and second order, and refusals."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import (
    ArgumentError,
    DTypeError,
    FormulaError,
    OgiveError,
    ParameterError,
    ShapeError,
    UnsupportedError,
)

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import ogive.jax  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
X = np.linspace(-4, 4, 143, dtype=np.float32)
REQUIRED = {"min": -1.0, "max": 1.0, "exponent": 2.0}


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def required(op):
    return {p.name: p.choices[0] if p.choices else 0.75 for p in op.parameters if p.is_required}


def operands_of(signature, shape=(3, 5)):
    rng = np.random.default_rng(0)
    return [(3 * rng.normal(size=shape)).astype(t.numpy) for t in signature.inputs]


def same(a, b):
    a = np.asarray(a)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("name", OPERATORS)
def test_bits_of_every_operator(name, x64):
    """Every operator for every kind of combination: one of float64, one of float32, one of integers."""
    op = OPERATORS[name]
    kinds = {}
    for signature in op.signatures:
        kinds.setdefault((signature.inputs[0].kind, signature.inputs[0].itemsize >= 8), signature)
    function = jax.jit(lambda *tensors: getattr(ogive.jax, name)(*tensors, **required(op)))
    for signature in kinds.values():
        tensors = operands_of(signature)
        assert same(function(*map(jnp.asarray, tensors)), op(*tensors, **required(op))), signature


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["gelu", "celu", "softmax"])
def test_types(dtype, name, x64):
    x = X.astype(jnp.dtype(dtype))
    assert same(jax.jit(getattr(ogive.jax, name))(jnp.asarray(x)), OPERATORS[name](x))


@pytest.mark.matrix(share=16, pool="slow")
def test_large_arrays_are_shared_among_threads(threads):
    threads(2)
    x = np.random.default_rng(0).normal(size=(1025, 1023)).astype(np.float32)
    assert same(ogive.jax.celu(jnp.asarray(x)), ogive.celu(x))
    assert same(ogive.jax.gelu(jnp.asarray(x)), ogive.gelu(x))
    assert same(ogive.jax.softmax(jnp.asarray(x)), ogive.softmax(x))
    assert same(ogive.jax.softmax(jnp.asarray(x), axis=0), ogive.softmax(x, axis=0))


@pytest.mark.parametrize(
    "shapes",
    [
        [(), ()],
        [(0, 3), (3,)],
        [(1,), (7,)],
        [(2, 1, 3, 1), (5, 1, 7)],
        [(3, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1)],
    ],
)
def test_shapes_broadcast(shapes):
    a, b = (np.random.default_rng(1).normal(size=shape).astype(np.float32) for shape in shapes)
    assert same(ogive.jax.prelu(jnp.asarray(a), jnp.asarray(b)), np.asarray(ogive.prelu(a, b)))


def test_operators_of_many_operands_broadcast():
    op = OPERATORS["quantized_linear_add"]
    signature = next(s for s in op.signatures if s.inputs[0].name == "uint8")
    tensors = operands_of(signature, (2, 3, 4))
    tensors = [np.abs(t[:, :1] if i % 3 else t).astype(t.dtype) + t.dtype.type(1) for i, t in enumerate(tensors)]
    assert same(ogive.jax.quantized_linear_add(*map(jnp.asarray, tensors)), op(*tensors))


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (2, 1), None])
def test_rows(axis):
    x = X.reshape(11, 13, 1) * np.float32([1, 2, 3])
    assert same(jax.jit(lambda v: ogive.jax.softmax(v, axis=axis))(x), ogive.softmax(x, axis=axis))
    assert same(ogive.jax.softmax(np.zeros((3, 0), np.float32)), np.zeros((3, 0), np.float32))


# ---- types of JAX


@pytest.mark.matrix(share=16, pool="slow")
def test_promotion_is_that_of_jax():
    assert ogive.jax.gelu(jnp.int32([1, 2])).dtype == jnp.float32
    assert ogive.jax.relu(jnp.int8([-1, 2])).dtype == jnp.int8
    assert ogive.jax.add(jnp.bfloat16(1), 2.0).dtype == jnp.bfloat16
    assert ogive.jax.add(jnp.bfloat16(1), jnp.float16(1)).dtype == jnp.float32
    assert ogive.jax.add(jnp.int8([1]), 2.5).dtype == jnp.float32
    assert ogive.jax.where(jnp.array([True, False]), 1.0, jnp.float32([2, 3])).tolist() == [1, 3]
    assert ogive.jax.logical_and([True, False], True).tolist() == [True, False]


# ---- parameters


@pytest.mark.matrix(share=16, pool="slow")
def test_numbers_and_arrays_as_parameters():
    static = jax.jit(lambda v: ogive.jax.celu(v, alpha=1.5))(X)
    traced = jax.jit(lambda v, alpha: ogive.jax.celu(v, alpha=alpha))(X, 1.5)
    assert same(static, ogive.celu(X, alpha=1.5))
    assert np.abs(np.asarray(traced) - ogive.celu(X, alpha=1.5)).max() <= 2**-23
    many = ogive.jax.celu(X[:, None], alpha=jnp.float32([1.5, 2.5]))
    assert np.allclose(many[:, 1], ogive.celu(X, alpha=2.5), rtol=1e-6)
    half = ogive.jax.celu(X.astype(np.float16), alpha=jnp.float32(0.1))
    assert same(half, ogive.celu(X.astype(np.float16), alpha=0.1))
    assert ogive.jax.leaky_relu(jnp.int32([-2]), alpha=jnp.float32(0.5)).tolist() == [-1.0]


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients_of_parameters():
    mine = jax.grad(lambda alpha: ogive.jax.celu(X, alpha=alpha).sum())(1.5)
    theirs = jax.grad(lambda alpha: jax.nn.celu(X, alpha).sum())(1.5)
    assert np.isclose(mine, theirs, rtol=1e-5)
    second = jax.hessian(lambda alpha: ogive.jax.celu(X, alpha=alpha).sum())(1.5)
    assert np.isfinite(second)
    batched = jax.vmap(lambda v, alpha: ogive.jax.celu(v, alpha=alpha))(X.reshape(11, 13), jnp.arange(1.0, 12))
    assert same(batched[1], ogive.celu(X.reshape(11, 13)[1], alpha=2.0))


# ---- vmap


@pytest.mark.matrix(share=16, pool="slow")
def test_vmap_has_the_same_bits():
    x = X.reshape(11, 13)
    assert same(jax.vmap(ogive.jax.gelu)(x), ogive.gelu(x))
    assert same(jax.vmap(ogive.jax.softmax)(x), ogive.softmax(x))
    assert same(jax.vmap(ogive.jax.prelu, (0, None))(x, X[:13]), ogive.prelu(x, X[:13]))
    assert same(jax.vmap(ogive.jax.prelu, (1, None))(x, X[:11]), ogive.prelu(x.T, X[:11]))
    assert same(jax.vmap(jax.vmap(ogive.jax.prelu, (0, None)), (None, 0))(x, X), ogive.prelu(x[None], X[:, None, None]))


# ---- derivatives

SMOOTH = {
    "celu": [0.7], "elu": [0.7], "gelu": [0.7], "mish": [0.7], "swish": [0.7], "tanh": [0.7], "sigmoid": [0.7],
    "softplus": [0.7], "softsign": [0.7], "selu": [0.7], "erf": [0.7], "hard_swish": [0.7],
    "swiglu": [0.7, 0.3], "prelu": [-0.7, 0.3], "mul": [0.7, 0.3], "atan2": [0.7, 0.3],
}  # fmt: skip


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_to_order_two(name, x64):
    points = [jnp.asarray(np.array([-1.0, 0.5, 1.0]) + p, jnp.float64) for p in SMOOTH[name]]
    check_grads(getattr(ogive.jax, name), points, order=2, modes=("fwd", "rev"))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_derivatives_of_rows_to_order_two(name, x64):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 5)))
    check_grads(lambda v: getattr(ogive.jax, name)(v, axis=0), (x,), order=2, modes=("fwd", "rev"))
    check_grads(jax.vmap(getattr(ogive.jax, name)), (x,), order=2, modes=("fwd", "rev"))


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_of_one_number(x64):
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    for axis in (-1, 0, (0, 2), None):
        for keepdims in (False, True):
            found = ogive.jax.logsumexp(jnp.asarray(x), axis=axis, keepdims=keepdims)
            expected = ogive.logsumexp(x, axis=axis, keepdims=keepdims)
            assert found.shape == expected.shape
            assert same(found, expected)
        check_grads(lambda v, axis=axis: ogive.jax.logsumexp(v, axis=axis), (x,), order=2, modes=("fwd", "rev"))
    check_grads(jax.jit(jax.vmap(ogive.jax.logsumexp)), (x,), order=1, modes=("fwd", "rev"))
    assert ogive.jax.logsumexp(jnp.zeros((2, 0))).tolist() == [-np.inf] * 2

    @ogive.row_operator(reduces=True)
    def norm(x, *, power=2.0):
        from ogive.formula import row_sum

        return row_sum(abs(x) ** power) ** (1 / power)

    function = ogive.jax.function(norm)
    check_grads(lambda v, power: function(v, power=power), (x, jnp.asarray(2.5)), order=1, modes=("fwd", "rev"))
    with pytest.raises(ShapeError, match="rows have no elements, and power is an array"):
        function(jnp.zeros((2, 0)), power=jnp.asarray(2.0))


@pytest.mark.matrix(share=16, pool="slow")
def test_own_rows_have_derivatives(x64):
    from ogive.formula import row_sum

    @ogive.row_operator
    def weighted(x, weight, *, power=1.0):
        return x * weight**power / row_sum(weight**power)

    function = ogive.jax.function(weighted)
    x, weight = jnp.asarray([[1.0, 2.0, 4.0]]), jnp.asarray([0.5, 1.0, 0.25])
    check_grads(function, (x, weight), order=2, modes=("fwd", "rev"))
    check_grads(lambda power: function(x, weight, power=power), (jnp.asarray(1.5),), order=1, modes=("fwd", "rev"))


@pytest.mark.matrix(share=16, pool="slow")
def test_derivatives_are_those_of_ogive():
    slope = jax.vmap(jax.grad(ogive.jax.gelu))(X)
    assert same(slope, ogive.grad(ogive.gelu)(X))
    row = X[:7]
    upstream = np.float32([1, 0, 0, 2, 0, 0, -1])
    (pulled,) = jax.vjp(ogive.jax.softmax, row)[1](upstream)
    assert same(pulled, ogive.vjp(ogive.softmax)(upstream, row))


@pytest.mark.matrix(share=16, pool="slow")
def test_no_nan_where_frameworks_have_it():
    x = jnp.float32([2e19, -2e19])
    assert jax.vmap(jax.grad(lambda v: ogive.jax.gelu(v, approximate="tanh")))(x).tolist() == [1.0, 0.0]

    @ogive.operator
    def root(x):
        return ogive.formula.where(x > 0, np.sqrt(x), x)

    assert jax.grad(ogive.jax.function(root))(-1.0) == 1.0


def test_what_is_no_floating_point_number_has_no_tangent():
    assert jax.grad(lambda v: ogive.jax.where(ogive.jax.less(v, 3.0), v, 0.0))(2.0) == 1.0
    assert jax.jvp(lambda v: ogive.jax.isnan(v), (jnp.float32(1),), (jnp.float32(1),))[1].dtype == jax.dtypes.float0


def test_operators_under_the_fast_contract():
    function = ogive.jax.function(ogive.gelu.fast)
    assert same(function(X), ogive.gelu.fast(X))
    assert np.isfinite(jax.grad(function)(1.0))


# ---- refusals


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ogive.jax.gelu(), ArgumentError, "ogive.jax.gelu: it was given 0 tensors; allowed: one tensor (x)"),
        (
            lambda: ogive.jax.gelu(1.0, out=2),
            ArgumentError,
            (
                "ogive.jax.gelu: out was given; allowed: approximate. JAX's arrays are never written to, and have one type: "
                "use ogive.gelu for out"
            ),
        ),
        (
            lambda: ogive.jax.gelu(np.complex64(1)),
            DTypeError,
            "ogive.jax.gelu: x has complex64; allowed: float16, float32, float64, bfloat16",
        ),
        (
            lambda: ogive.jax.gelu("1"),
            DTypeError,
            "ogive.jax.gelu: x is '1'; allowed: arrays of JAX or NumPy, and numbers",
        ),
        (
            lambda: ogive.jax.add(np.ones(3), np.ones(4)),
            ShapeError,
            "ogive.jax.add: the shapes do not broadcast together: a (3,) and b (4,); allowed: equal sizes, or 1, from the last axis on",
        ),
        (
            lambda: ogive.jax.threshold(np.ones(3), 0.1, 20),
            ArgumentError,
            (
                "ogive.jax.threshold: it was given 3 tensors; allowed: one tensor (x). threshold(x, min=...) is max(x, min). "
                "PyTorch's threshold(x, threshold, value) is another function: ogive.torch.nn.Threshold(threshold, value)"
            ),
        ),
        (lambda: ogive.jax.celu(1.0, alpha=0), ParameterError, "celu: alpha is 0.0; allowed: any finite number but 0"),
        (
            lambda: ogive.jax.function(len),
            ArgumentError,
            (
                "ogive.jax.function: operator is the function len; allowed: an operator. "
                "Make an operator of a formula with @ogive.operator"
            ),
        ),
        (
            lambda: ogive.jax.softmax(1.0),
            ParameterError,
            "softmax: x is a single number; allowed: arrays of one dimension or more",
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(OgiveError) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == text


def test_there_is_no_other_name():
    with pytest.raises(AttributeError, match=r"no operator 'nothing'; .*operators of your own: ogive\.jax\.function"):
        ogive.jax.nothing  # noqa: B018
    assert set(OPERATORS) < set(dir(ogive.jax))


@pytest.mark.matrix(share=16, pool="slow")
def test_programs_of_other_processes_are_refused_until_they_are_traced(tmp_path):
    """jax.export: the number of a kernel means the same in every process, but the process must know it."""
    make = f"""
import jax, jax.export, numpy as np, pathlib, ogive.jax
exported = jax.export.export(jax.jit(ogive.jax.mish), disabled_checks=[
    jax.export.DisabledSafetyCheck.custom_call("ogive_kernel")])(np.zeros(5, np.float32))
pathlib.Path({str(tmp_path / "program")!r}).write_bytes(exported.serialize())
"""
    use = f"""
import jax, jax.export, numpy as np, pathlib, ogive, ogive.jax
program = jax.export.deserialize(pathlib.Path({str(tmp_path / "program")!r}).read_bytes())
x = np.float32([-2, -1, 0, 1, 2])
try:
    program.call(x)
except Exception as error:
    assert "this process does not know kernel" in str(error), error
else:
    raise AssertionError
ogive.jax.mish(x)
assert np.asarray(program.call(x)).tobytes() == ogive.mish(x).tobytes()
"""
    for code in (make, use):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_derivatives_are_products_that_are_rounded_once(dtype):
    rng = np.random.default_rng(3)
    x, g = (rng.normal(size=(4, 50)).astype(dtype) for _ in range(2))
    for operator in (ogive.gelu, ogive.silu.fast):
        function, expected = ogive.jax.function(operator), ogive.vjp(operator)(g, x)
        assert np.array_equal(jax.vjp(function, x)[1](g)[0], expected)
        assert np.array_equal(jax.jit(lambda x, g: jax.jvp(function, (x,), (g,))[1])(x, g), expected)  # noqa: B023
    for axes in ((0, None), (None, 0)):
        given = [one if axis is None else np.stack([one, one]) for one, axis in zip((g, x), axes, strict=True)]
        found = jax.vmap(lambda g, x: jax.vjp(ogive.jax.gelu, x)[1](g)[0], axes)(*given)
        assert np.array_equal(found[1], ogive.vjp(ogive.gelu)(g, x))
    of_x, of_y = jax.vjp(ogive.jax.mul, x, x[:1])[1](g)
    assert np.array_equal(of_x, g * x[:1])
    assert np.allclose(of_y, (g * x).sum(0, keepdims=True), atol=0.02)


@pytest.mark.matrix(share=16, pool="slow")
def test_masked_rows():
    x, mask = np.float32([[1, 2, 3], [4, 5, 6]]), np.array([[True, False, True], [False] * 3])
    expected = ogive.softmax(np.where(mask, x, np.float32(-np.inf)))
    assert np.array_equal(ogive.jax.softmax(x, where=mask), np.where(mask, expected, 0))
    assert np.isneginf(ogive.jax.log_softmax(x, where=mask)).tolist() == (~mask).tolist()
    gradient = jax.grad(lambda v: (ogive.jax.softmax(v, where=mask) * x).sum())(x)
    assert gradient[0, 0] == -gradient[0, 2] != 0
    assert (np.asarray(gradient)[~mask] == 0).all()


@pytest.mark.matrix(share=16, pool="slow")
def test_arrays_that_are_cut_over_devices_stay_cut():
    """Another process: the number of devices is fixed where JAX starts."""
    code = """
import jax, jax.numpy as jnp, numpy as np, ogive.jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
x, slope = np.linspace(-3, 3, 128, dtype=np.float32).reshape(8, 16), np.linspace(0, 1, 16, dtype=np.float32)
def check(function, spec, expected, *, gathers=False):
    cut = jax.device_put(x, NamedSharding(mesh, spec))
    compiled = jax.jit(function).lower(cut).compile()
    result = compiled(cut)
    assert result.sharding.spec == expected, (result.sharding.spec, expected)
    assert ("all-gather" in compiled.as_text()) == gathers
    assert np.array_equal(result, function(x))
check(ogive.jax.gelu, P("a", "b"), P("a", "b"))
check(jax.vmap(ogive.jax.gelu), P(None, "b"), P(None, "b"))
check(lambda v: ogive.jax.prelu(v, slope), P("a", "b"), P("a", "b"))
check(lambda v: ogive.jax.prelu(v, slope[:8, None]), P("a", "b"), P("a", "b"))
check(jax.grad(lambda v: ogive.jax.gelu(v).sum()), P("a", "b"), P("a", "b"))
check(ogive.jax.softmax, P("a", None), P("a", None))
check(jax.grad(lambda v: (ogive.jax.softmax(v) * v).sum()), P("a", None), P("a", None))
check(lambda v: ogive.jax.softmax(v, axis=0), P(None, "b"), P(None, "b"))
check(ogive.jax.softmax, P("a", "b"), P("a", "b"), gathers=True)
"""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env=environment)


@pytest.mark.matrix(share=16, pool="slow")
def test_importing_ogive_loads_no_jax():
    code = "import sys, ogive; assert not {'jax', 'ogive.jax', 'dask'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    missing = "import sys; sys.modules['jax'] = None\nimport ogive.jax"
    done = subprocess.run([sys.executable, "-c", missing], capture_output=True, text=True, check=False)
    assert (
        "MissingPackageError: ogive.jax: the package jax is not installed. Install it: pip install 'ogive[jax]'"
        in done.stderr
    )


# ---- shard_map


SHARDED = {
    "elements": (ogive.jax.gelu, 1),
    "a slope of all": (ogive.jax.prelu, 2),
    "a parameter of all": (lambda v, alpha: ogive.jax.celu(v, alpha=alpha), 2),
    "fast": (ogive.jax.function(ogive.gelu.fast), 1),
    "rows": (ogive.jax.softmax, 1),
    "rows with a parameter of all": (lambda v, w: ogive.jax.standardize(v, epsilon=w[0]), 2),
    "reduced rows": (lambda v: ogive.jax.logsumexp(v, keepdims=True), 1),
    "rows of all": (lambda v, w: v * ogive.jax.softmax(w), 2),
}


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("label", SHARDED)
def test_derivatives_within_shard_map(label):
    """JAX checks there over which axes of the mesh results vary; a mesh of one device is enough for that."""
    function, count = SHARDED[label]
    spec = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
    operands = (jnp.linspace(-2, 2, 12).reshape(3, 4), jnp.linspace(0.1, 1, 4))[:count]
    part = jax.shard_map(function, mesh=mesh, in_specs=(spec("d"), spec())[:count], out_specs=spec("d"))
    every, changes = tuple(range(count)), tuple(map(jnp.cos, operands))

    def loss(of):
        return lambda *given: (of(*given) * jnp.sin(jnp.arange(3.0)[:, None])).sum()

    wanted = jax.grad(loss(function), every)
    gradient = jax.grad(loss(part), every)
    for found in (gradient(*operands), jax.jit(gradient)(*operands)):
        for one, other in zip(found, wanted(*operands), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    for of, same in ((part, function), (gradient, wanted)):  # forward mode, and forward over reverse
        ours, others = (jax.tree.leaves(jax.jvp(f, operands, changes)[1]) for f in (of, same))
        for one, other in zip(ours, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_jaxs_functions_in_a_formula():
    with pytest.raises(
        FormulaError, match=r"calls jax.numpy.exp, which takes arrays, with an expression. Write np.exp or"
    ):
        ogive.operator(lambda x: jnp.exp(x))


@pytest.mark.matrix(share=16, pool="slow")
def test_running_logarithms():
    x = jnp.asarray(np.random.default_rng(2).standard_normal((3, 9)).astype(np.float32))
    found = jax.jit(ogive.jax.logcumsumexp)(x)
    assert np.array_equal(found, ogive.logcumsumexp(np.asarray(x)))
    assert np.array_equal(jax.vmap(ogive.jax.logcumsumexp)(x), found)
    with pytest.raises(
        UnsupportedError, match="a derivative of its gradient is asked for; .* Use jax.lax.cumlogsumexp"
    ):
        jax.grad(lambda u: jax.grad(lambda v: ogive.jax.logcumsumexp(v).sum())(u).sum())(x)
    slopes = jax.jit(jax.grad(lambda v: (ogive.jax.logcumsumexp(v, axis=0)).sum()))(x)
    wanted = ogive.vjp(ogive.logcumsumexp)(np.ones_like(x), np.asarray(x), axis=0)
    assert np.array_equal(slopes, wanted)
