"""Tensors of other kinds: integers, rows of a single number, halves of one tensor, jagged and distributed ones, and symbols."""

import re

import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import ArgumentError, DTypeError, ParameterError, ShapeError, UnsupportedError

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")
functional = torch.nn.functional

X = torch.linspace(-2, 3, 24).reshape(4, 6)

# ---- types


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool])
@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "sigmoid",
        "tanh",
        "erf",
        "erfc",
        "log",
        "sqrt",
        "rsqrt",
        "sin",
        "atan",
        "reciprocal",
        "expm1",
        "log1p",
        "exp2",
        "erfinv",
        "logit",
        "isnan",
        "isinf",
        "isfinite",
    ],
)
def test_integers_become_the_default_type_where_torchs_do(name, dtype):
    x = torch.tensor([0, 1, 0, 1]).to(dtype)
    theirs, ours = getattr(torch, name)(x), getattr(ogive_torch, name)(x)
    assert ours.dtype == theirs.dtype
    torch.testing.assert_close(ours, theirs, equal_nan=True)
    assert torch.equal(getattr(ogive_torch, name)(x, out=torch.empty_like(theirs)).isnan(), theirs.isnan())


@pytest.mark.parametrize("name", ["relu", "abs", "neg", "sign", "square", "ceil", "floor", "round", "trunc"])
def test_integers_stay_where_torchs_do(name):
    x = torch.tensor([-3, 0, 2**53 + 1])
    theirs, ours = getattr(torch, name)(x), getattr(ogive_torch, name)(x)
    assert ours.dtype == theirs.dtype
    assert torch.equal(ours, theirs)
    assert ours.data_ptr() != x.data_ptr()


def test_promotion_of_several_operands():
    x = torch.tensor([7, -7, 1])
    assert torch.equal(ogive_torch.div(x, 2), torch.div(x, 2))
    assert torch.equal(ogive_torch.div(x, x), torch.div(x, x))
    torch.testing.assert_close(ogive_torch.atan2(x, x), torch.atan2(x, x))
    assert ogive_torch.add(x, 2).dtype == torch.int64
    assert ogive_torch.celu(x, alpha=torch.tensor(2)).dtype == torch.float32
    assert ogive_torch.logsumexp(x).dtype == torch.float32
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert ogive_torch.exp(x).dtype == torch.float64
        assert ogive_torch.fast.erf(x).dtype == torch.float64
    finally:
        torch.set_default_dtype(default)
    with pytest.raises(DTypeError, match="heaviside: x has dtype torch.int64; allowed: "):  # torch's gives integers
        ogive_torch.heaviside(x, x)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("dim", [0, -1])
def test_rows_are_converted_before(name, dim):
    half = (8 * X).half()
    for given in (half, torch.arange(6).reshape(2, 3)):
        ours = getattr(ogive_torch, name)(given, dim=dim, dtype=torch.float32)
        assert torch.equal(ours, getattr(ogive_torch, name)(given.float(), dim=dim))
        torch.testing.assert_close(ours, getattr(functional, name)(given, dim, dtype=torch.float32))
    leaf = half.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(getattr(ogive_torch, name)(leaf, dtype=torch.float64).square().sum(), leaf)
    assert gradient.dtype == torch.float16
    with pytest.raises(ArgumentError, match=f"^{name}: dtype is 'float32'; allowed: a type of torch"):
        getattr(ogive_torch, name)(half, dtype="float32")
    assert torch.equal(getattr(ogive_torch, name)(half, dtype=None), getattr(ogive_torch, name)(half))


# ---- shapes


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if operator.is_row_wise])
def test_a_single_number_is_a_row_of_one(name):
    function, x = getattr(ogive_torch, name), torch.tensor(2.0)
    others = [torch.tensor(0.5)] * (OPERATORS[name].inputs - 1)  # of layer_normalization: scale and bias
    wanted = function(torch.tensor([2.0]), *(one.reshape(1) for one in others)).reshape(())
    for dim in (0, -1, None):
        assert torch.equal(function(x, *others, dim=dim), wanted)
        leaf = x.clone().requires_grad_()
        assert torch.autograd.grad(function(leaf, *others, dim=dim), leaf)[0].shape == ()
    several = torch.func.vmap(lambda t: function(t, *others, dim=0))(torch.tensor([2.0, 2.0]))
    assert torch.equal(several, wanted.expand(2))
    with pytest.raises(ParameterError, match="dim is 1 for a tensor of"):
        function(x, *others, dim=1)


@pytest.mark.parametrize("name", ["glu", "geglu", "swiglu", "reglu"])
@pytest.mark.parametrize("module", [ogive_torch, ogive_torch.fast])
def test_halves_of_one_tensor(name, module):
    function = getattr(module, name)
    for dim in (0, 1, -1, -2):
        a, b = X.chunk(2, dim)
        assert torch.equal(function(X, dim=dim), function(a.contiguous(), b.contiguous()))
        assert torch.equal(function(X, axis=dim), function(X, dim=dim))
        (ours,) = torch.autograd.functional.vjp(lambda t, dim=dim: function(t, dim=dim), X, torch.cos(a))[1:]
        theirs = torch.autograd.functional.vjp(lambda t, dim=dim: function(*t.chunk(2, dim)), X, torch.cos(a))[1]
        assert torch.equal(ours, theirs)
    assert torch.equal(function(X), function(X, dim=-1))
    for call, error, text in [
        (lambda: function(X[:3], dim=0), ShapeError, "axis 0 has 3 elements, which have no halves"),
        (lambda: function(X, dim=2), ParameterError, "axis is 2 for an array of 2 dimensions"),
        (lambda: function(X, X, dim=1), ArgumentError, "dim was given with two tensors"),
    ]:
        with pytest.raises(error, match=re.escape(text)):
            call()
    if name == "glu" and module is ogive_torch:
        torch.testing.assert_close(function(X, dim=0), functional.glu(X, 0))


# ---- other libraries' kinds


@pytest.mark.matrix(share=16, pool="slow")
def test_jagged_tensors():
    parts = [torch.linspace(-2, 2, 6).reshape(2, 3), torch.linspace(-1, 3, 12).reshape(4, 3)]
    slopes = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    for function in (
        ogive_torch.gelu, ogive_torch.fast.silu, ogive_torch.nn.Mish(), lambda t: ogive_torch.mul(t, t),
        lambda t: ogive_torch.celu(t, alpha=1.5), lambda t: ogive_torch.where(t > 0, t, 2 * t),
        lambda t: ogive_torch.prelu(t, slopes), lambda t: ogive_torch.clamp(t, min=0, max=1),
    ):  # fmt: skip
        jagged = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
        result = function(jagged)
        assert result.is_nested
        values = jagged.values().detach().requires_grad_()
        assert torch.equal(result.values(), function(values))
        (ours,) = torch.autograd.grad(result.values().sum(), jagged)
        (theirs,) = torch.autograd.grad(function(values).sum(), values)
        assert torch.equal(ours.values(), theirs)


@pytest.fixture(scope="module")
def mesh():
    """A mesh of one process: placements are decided as for many, and no process has to be spawned."""
    distributed = pytest.importorskip("torch.distributed")
    pytest.importorskip("torch.distributed.tensor")
    if not distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


@pytest.mark.matrix(share=16, pool="slow")
def test_distributed_tensors(mesh):
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    first, second, every = Shard(0), Shard(1), Replicate()
    row, column = torch.linspace(0.1, 1, 6), torch.linspace(-1, 1, 4)[:, None]
    for function, given, places, result, gradients in [
        (ogive_torch.gelu, [X], [first], first, [first]),
        (ogive_torch.fast.gelu, [X], [second], second, [second]),
        (ogive_torch.nn.SiLU(), [X], [first], first, [first]),
        (ogive_torch.mul, [X, X + 1], [first, first], first, [first, first]),
        (ogive_torch.mul, [X, column], [first, first], first, [first, first]),
        (ogive_torch.mul, [X, column], [second, every], second, [second, Partial()]),
        (ogive_torch.prelu, [X, row], [first, every], first, [first, Partial()]),
        (ogive_torch.prelu, [X, row], [second, first], second, [second, first]),
        (lambda x, a: ogive_torch.celu(x, alpha=a), [X, row], [first, every], first, [first, Partial()]),
        (ogive_torch.softmax, [X], [first], first, [first]),
        (ogive_torch.softmax, [X], [second], every, [every]),
        (lambda x: ogive_torch.softmax(x, dim=0), [X], [second], second, [second]),
        (lambda x: ogive_torch.logsumexp(x, dim=1), [X], [first], first, [first]),
    ]:
        cut = [distribute_tensor(t.clone(), mesh, [p]).requires_grad_() for t, p in zip(given, places, strict=True)]
        plain = [t.clone().requires_grad_() for t in given]
        found, wanted = function(*cut), function(*plain)
        assert found.placements == (result,)
        assert torch.equal(found.full_tensor(), wanted)
        found.sum().backward()
        wanted.sum().backward()
        for ours, theirs, place in zip(cut, plain, gradients, strict=True):
            assert ours.grad.placements == (place,)
            torch.testing.assert_close(ours.grad.full_tensor(), theirs.grad)
    with torch.inference_mode():
        assert ogive_torch.isnan(distribute_tensor(X, mesh, [first])).placements == (first,)


def test_modes_of_functions_see_calls():
    from torch.overrides import TorchFunctionMode

    seen = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Log():
        result = ogive_torch.gelu(X)
        ogive_torch.softmax(X, dim=0)
    assert seen == [ogive_torch.gelu, ogive_torch.softmax]
    assert torch.equal(result, ogive_torch.gelu(X))


# ---- symbols


def _compiled_equals(function, *calls):
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
    for call in calls:
        assert torch.equal(compiled(*call), function(*call))
        leaf = call[0].clone().requires_grad_()
        ours, theirs = (torch.autograd.grad(f(leaf, *call[1:]).sum(), leaf)[0] for f in (compiled, function))
        assert torch.equal(ours, theirs)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("module", [ogive_torch, ogive_torch.fast])
def test_parameters_may_be_sizes(module):
    sizes = [(torch.linspace(-2, 2, length),) for length in (3, 5)]
    _compiled_equals(lambda x: module.celu(x, alpha=x.shape[0]), *sizes)
    _compiled_equals(lambda x: module.clamp(x, min=-0.1 * x.shape[0], max=x.shape[0] / 4), *sizes)


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters_may_be_arguments():
    x = torch.linspace(-2, 2, 5)
    _compiled_equals(lambda x, a: ogive_torch.celu(x, alpha=a), (x, 2), (x[1:], 4))
    _compiled_equals(lambda x, a: ogive_torch.hard_sigmoid(x, alpha=1 / x.shape[0], beta=a), (x, 0.25))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("alphas", [(2.0, 3.0), (2, 3)])
def test_parameters_may_be_items(alphas):
    x = torch.linspace(-2, 2, 5)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        calls = [(x, torch.tensor(alpha)) for alpha in alphas]
        _compiled_equals(lambda x, a: ogive_torch.celu(x, alpha=a.item()), *calls)


class WithSize(torch.nn.Module):
    def forward(self, x):
        return ogive_torch.celu(x, alpha=x.shape[0])


@pytest.mark.matrix(share=16, pool="slow")
def test_symbols_are_exported():
    x = torch.linspace(-2, 2, 5)
    shapes = {"x": {0: torch.export.Dim.DYNAMIC}}
    for strict in (True, False):
        program = torch.export.export(WithSize(), (x,), dynamic_shapes=shapes, strict=strict)
        assert torch.equal(program.module()(x[1:]), ogive_torch.celu(x[1:], alpha=4))


@pytest.mark.matrix(share=16, pool="slow")
def test_symbols_are_checked_when_they_are_numbers():
    compiled = torch.compile(
        lambda x, a: ogive_torch.celu(x, alpha=a), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for alpha in (0, 0.0):
        with pytest.raises(ParameterError, match="^celu: alpha is 0.0; allowed: any finite number but 0$"):
            compiled(X, alpha)


# ---- messages


@ogive.operator
def bump(x, *, width=1.0):
    """A bell: ``exp(-(x / width)**2)``."""
    return ogive.exp(-(x / width) * (x / width))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: ogive_torch.threshold(X, 0.1, 20),
            ArgumentError,
            (
                "threshold: 3 arguments were given by position; allowed: 1 tensor (x). threshold(x, min=...) is "
                "max(x, min). PyTorch's threshold(x, threshold, value) is another function: "
                "ogive.torch.nn.Threshold(threshold, value)"
            ),
        ),
        (
            lambda: ogive_torch.wrap(bump)(X, width=torch.ones(7)),
            ShapeError,
            "bump: the shapes do not broadcast together: x (4, 6) and width (7,); allowed: equal sizes, or 1, from the last axis on",
        ),
        (
            lambda: ogive_torch.clip(X, min=torch.ones(7)),
            ShapeError,
            "clip: the shapes do not broadcast together: x (4, 6) and min (7,) and max (4, 6); allowed: equal sizes, or 1, from the last axis on",
        ),
        (
            lambda: ogive_torch.nn.Threshold(0.1, 20)(X.to_sparse()),
            ArgumentError,
            "threshold: x is a sparse tensor; allowed: dense tensors on the CPU. Give x.to_dense()",
        ),
        (
            lambda: ogive_torch.nn.Hardtanh()(X.to_mkldnn()),
            ArgumentError,
            (
                "hardtanh: x has the layout of mkldnn, which hides its elements; allowed: dense tensors on the CPU. "
                "Give x.to_dense()"
            ),
        ),
        (
            lambda: torch.jit.script(torch.nn.Sequential(torch.nn.Linear(6, 6), ogive_torch.nn.fast.GELU())),
            UnsupportedError,
            (
                "torch.jit.script: GELU was given, which is no code of TorchScript; allowed: torch.nn.GELU. "
                "Use torch.jit.trace, torch.compile or torch.export"
            ),
        ),
    ],
)
def test_messages(call, error, text):
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        call()


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (lambda x: torch.exp(x), "calls torch.exp, which takes tensors, with an expression. Write np.exp or ogive.exp."),
        (lambda x: torch.where(x > 0, x, 0.0), "calls torch.where, which takes tensors, with an expression. Write np.where"),
        (lambda x: functional.gelu(x), "calls torch.gelu, which takes tensors, with an expression. Write ogive.gelu."),
        (lambda x: torch.cumsum(x, 0), "calls torch.cumsum, which takes tensors, with an expression. See help(ogive.formula)"),
    ],
)  # fmt: skip
def test_torchs_functions_in_a_formula(formula, text):
    with pytest.raises(ogive.errors.FormulaError, match=re.escape(text)):
        ogive.operator(formula)
