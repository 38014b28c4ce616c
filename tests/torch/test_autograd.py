"""Gradients of operators on tensors: of first and second order, in forward mode, batched, of learned parameters."""

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import DTypeError

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")

#: Operators whose parameters have no default.
REQUIRED = {
    "parametric_softplus": {"alpha": 1.3, "beta": 0.7},
    "threshold": {"min": 0.25},
    "softcap": {"cap": 2.0},
    "clamp_grad": {"min": -0.8, "max": 0.8},
}


def has_gradients(operator):
    try:
        ogive.vjp(operator)
    except DTypeError:
        return False
    return True


SMOOTH = {name: op for name, op in OPERATORS.items() if has_gradients(op) and "quantize" not in name}


def operands(operator, shape=(2, 3)):
    """Operands where the operator is defined, smooth and not steep; truth values where it takes these."""
    rng = np.random.default_rng(len(operator.name))
    low, high = (1.2, 1.9) if operator.name in ("acosh", "log", "sqrt", "pow", "mod", "div") else (0.1, 0.7)
    tensors = []
    for i, name in enumerate(operator.tensors):
        x = torch.tensor(rng.uniform(low, high, shape) + 0.01 * i)
        tensors.append(x > x.mean() if name in operator.truth_inputs else x.requires_grad_())
    return tuple(tensors)


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_first_and_second_order(name):
    operator, parameters = OPERATORS[name], REQUIRED.get(name, {})
    function = getattr(ogive_torch, name)
    given = operands(operator)

    def call(*tensors):
        return function(*tensors, **parameters)

    assert torch.autograd.gradcheck(call, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, given)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", SMOOTH)
def test_opcheck(name):
    operator, parameters = OPERATORS[name], REQUIRED.get(name, {})
    values = tuple(operator.checked_parameters(parameters).values())
    entry = getattr(torch.ops.ogive, name).default
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(entry, (*operands(operator), *values), test_utils=tests)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["celu", "prelu", "softmax", "where"])
def test_opcheck_under_compilation(name):
    operator = OPERATORS[name]
    values = tuple(operator.checked_parameters({}).values())
    torch.library.opcheck(getattr(torch.ops.ogive, name).default, (*operands(operator), *values))


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(("name", "parameter"), [("celu", "alpha"), ("swish", "alpha"), ("softplus", "steepness")])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1)])
def test_a_parameter_may_be_a_tensor(name, parameter, shape):
    x = torch.tensor([[-1.0, 0.5, 2.0], [-0.1, -3.0, 0.2]], dtype=torch.float64, requires_grad=True)
    value = torch.full(shape, 1.3, dtype=torch.float64).requires_grad_()

    def call(x, value):
        return getattr(ogive_torch, name)(x, **{parameter: value})

    assert torch.equal(call(x, value), getattr(ogive_torch, name)(x, **{parameter: 1.3}))
    assert torch.autograd.gradcheck(call, (x, value), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, (x, value))


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients_of_broadcast_operands():
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    slope = torch.rand(3, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ogive_torch.prelu, (x, slope), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(ogive_torch.prelu, (x, slope))


@pytest.mark.parametrize("dim", [0, -2, (0, 2), None])
def test_rows_along_any_axes(dim):
    x = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    expected = ogive.softmax(x.detach().numpy(), axis=dim)
    np.testing.assert_array_equal(ogive_torch.softmax(x, dim=dim).detach().numpy(), expected)
    assert torch.autograd.gradcheck(lambda x: ogive_torch.softmax(x, dim=dim), (x,))


def test_only_wanted_gradients_are_computed():
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    slope = torch.rand(3, dtype=torch.float64)
    (of_x,) = torch.autograd.grad(ogive_torch.prelu(x, slope).sum(), x)
    assert torch.equal(of_x, torch.where(x >= 0, 1.0, slope))


def test_the_graph_is_freed_and_versions_are_checked():
    x = torch.randn(3, requires_grad=True)
    inner = x * 1
    y = ogive_torch.mish(inner)
    inner.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["mish", "softmax"])
def test_checkpoints(name):
    """A checkpoint stops its second run from within, by an error in a hook of saved tensors."""
    results = []
    for run in (lambda f, x: f(x), lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)):
        x = torch.linspace(-3, 3, 7, requires_grad=True)
        run(lambda x: getattr(ogive_torch, name)(ogive_torch.gelu(x)), x).square().sum().backward()
        results.append(x.grad)
    assert torch.equal(*results)


def test_an_error_in_a_hook_is_raised():
    hooked = []

    def refuse(tensor):
        hooked.append(tensor)
        raise KeyError("refused")

    with torch.autograd.graph.saved_tensors_hooks(refuse, lambda kept: kept), pytest.raises(KeyError, match="refused"):
        ogive_torch.gelu(torch.ones(3, requires_grad=True))
    assert len(hooked) == 1


# ---- torch.func


def of_sum(function):
    return lambda x: function(x).sum()


def tangent(function, factor=2):
    return lambda x: torch.func.jvp(function, (x,), (x * factor,))[1]


TRANSFORMS = {
    "grad of vmap": lambda f: torch.func.vmap(torch.func.grad(f)),
    "grad of grad": lambda f: torch.func.vmap(torch.func.grad(torch.func.grad(f))),
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](x)[0],
    "jacrev": torch.func.jacrev,
    "jacfwd": torch.func.jacfwd,
    "hessian": lambda f: torch.func.hessian(of_sum(f)),
    "jvp": tangent,
    "jvp of jvp": lambda f: tangent(tangent(f), 3),
    "vmap of jvp": lambda f: torch.func.vmap(tangent(f)),
}


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_transformations_compose(transform, is_compiled):
    x = torch.randn(5, dtype=torch.float64)
    torch._dynamo.reset()
    theirs, ours = transform(torch.nn.functional.mish), transform(ogive_torch.mish)
    if is_compiled:
        ours = torch.compile(ours, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-12, atol=1e-14)


def test_the_registry_knows_tangents_as_well():
    """An operator in a graph is called by torch alone, in forward mode too."""
    x, tangent = torch.randn(5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        found = torch.autograd.forward_ad.unpack_dual(torch.ops.ogive.mish.default(dual)).tangent
    assert torch.equal(found, torch.func.jvp(ogive_torch.mish, (x,), (tangent,))[1])


def test_gradients_switched_off_inside_of_a_transformation():
    def function(x):
        with torch.no_grad():
            fixed = torch.ops.ogive.mish.default(x)
        return ogive_torch.mish(x) * fixed

    x = torch.randn(5, dtype=torch.float64)
    expected = torch.func.vmap(torch.func.grad(ogive_torch.mish))(x) * ogive_torch.mish(x)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(function))(x), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (1, 0), (0, 1)])
def test_vmap_over_operands_of_different_ranks(in_dims):
    x = torch.randn(3, 3, 3, dtype=torch.float64)
    slope = torch.rand(3, 3, dtype=torch.float64)
    if in_dims[0] is None:
        x = x[0]

    def gradients(x, slope):
        return torch.func.grad(lambda x, slope: ogive_torch.prelu(x, slope).square().sum(), (0, 1))(x, slope)

    def expected(x, slope):
        return torch.func.grad(lambda x, slope: torch.where(x >= 0, x, x * slope).square().sum(), (0, 1))(x, slope)

    for ours, theirs in zip(
        torch.func.vmap(gradients, in_dims)(x, slope), torch.func.vmap(expected, in_dims)(x, slope), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.matrix(share=16, pool="slow")
def test_vmap_of_rows():
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    assert torch.equal(torch.func.vmap(ogive_torch.softmax, 1, 1)(x), ogive_torch.softmax(x))
    hessians = torch.func.vmap(torch.func.hessian(lambda x: ogive_torch.log_softmax(x)[0]))(x[0])
    theirs = torch.func.vmap(torch.func.hessian(lambda x: torch.log_softmax(x, -1)[0]))(x[0])
    torch.testing.assert_close(hessians, theirs, rtol=1e-12, atol=1e-14)


# ---- batches of the older kind


BATCHED = {
    "element-wise": lambda t: ogive_torch.gelu(t),
    "two operands": lambda t: ogive_torch.mul(t, t.cos()),
    "broadcast": lambda t: ogive_torch.prelu(t, t[:1]),
    "a learned parameter": lambda t: ogive_torch.celu(t, alpha=t[0].exp()),
    "rows": lambda t: ogive_torch.softmax(t),
    "rows along another axis": lambda t: ogive_torch.softmax(torch.outer(t, t), dim=0),
    "reduced rows": lambda t: ogive_torch.logsumexp(t),
    "a module": ogive_torch.nn.GELU(),
    "a gradient by hand": ogive_torch.nn.Hardtanh(),
}


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("label", BATCHED)
def test_batched_gradients(label):
    """`jacobian(vectorize=True)` and `is_grads_batched` use a kind of batch that torch.func does not know."""
    function, x = BATCHED[label], torch.linspace(-1.4, 1.3, 3, dtype=torch.float64)
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    wanted = jacobian(function, x)
    for strategy in ("reverse-mode", "forward-mode"):
        assert torch.allclose(jacobian(function, x, vectorize=True, strategy=strategy), wanted)

    def total(t):
        return function(t).sum()

    wanted = hessian(total, x)
    for strategy in ("reverse-mode", "forward-mode"):
        found = hessian(total, x, vectorize=True, outer_jacobian_strategy=strategy)
        assert torch.allclose(found, wanted)
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    upstream = torch.randn(2, *y.shape, dtype=y.dtype)
    (both,) = torch.autograd.grad(y, leaf, upstream, is_grads_batched=True)
    for one, found in zip(upstream, both, strict=True):
        assert torch.allclose(torch.autograd.grad(function(leaf), leaf, one)[0], found)
    assert torch.autograd.gradcheck(
        function, leaf, check_batched_grad=True, check_forward_ad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(function, leaf, check_batched_grad=True)


def test_batched_gradients_of_the_fast_contract():
    x = torch.linspace(-2, 2, 5)
    for function in (ogive_torch.fast.gelu, ogive_torch.fast.softmax, ogive_torch.nn.fast.SiLU()):
        found = torch.autograd.functional.jacobian(function, x, vectorize=True)
        assert torch.equal(found, torch.autograd.functional.jacobian(function, x))


def test_nodes_have_the_names_of_operators():
    x = torch.ones(2, requires_grad=True)
    names = [
        ogive_torch.gelu(x).grad_fn.name(),  # by C
        ogive_torch.hard_swish(x[None]).grad_fn.name(),
        ogive_torch.softmax(x).grad_fn.name(),
        ogive_torch.celu(x, alpha=x.detach()).grad_fn.name(),  # the general way
        torch.ops.ogive.gelu(x, "none").grad_fn.name(),  # the registry's
    ]
    assert names == ["GeluBackward", "HardSwishBackward", "SoftmaxBackward", "CeluOfAlphaBackward", "GeluBackward"]


def test_profiles_show_calls():
    x = torch.ones(2)
    with torch.autograd.profiler.profile() as profile:
        ogive_torch.gelu(x)
        ogive_torch.silu(x.requires_grad_()).sum().backward()
    names = {event.name for event in profile.function_events}
    assert {"ogive::gelu", "ogive::swish", "SwishBackward"} <= names
