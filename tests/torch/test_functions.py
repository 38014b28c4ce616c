"""Operators as functions on tensors: types, layouts, arguments, refusals, compilation."""

import re
import subprocess
import sys

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError, OutputError, ParameterError, ShapeError

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")


@ogive.operator
def bent(x, gate, *, slope=0.5):
    return ogive.formula.where(x >= 0, x, slope * x) * ogive.sigmoid(gate)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_element_types(dtype):
    x = torch.linspace(-3, 3, 100).to(dtype)
    y = ogive_torch.celu(x, alpha=1.5)
    assert y.dtype is dtype
    array = x.view(torch.int16).numpy().view("bfloat16") if dtype is torch.bfloat16 else x.numpy()
    bits = torch.int16 if dtype.itemsize == 2 else torch.int32 if dtype.itemsize == 4 else torch.int64
    expected = ogive.celu(array, alpha=1.5)
    np.testing.assert_array_equal(y.view(bits).numpy(), expected.view(f"i{dtype.itemsize}"))
    leaf = x.clone().requires_grad_()
    ogive_torch.celu(leaf, alpha=1.5).sum().backward()
    assert leaf.grad.dtype is dtype


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::2, 1::3],
        lambda x: x[0, 0],
        lambda x: x[:0],
        lambda x: x.expand(2, 6, 9),
        lambda x: torch.complex(x, x).conj().imag,
    ],
    ids=["transposed", "strided", "0-d", "empty", "expanded", "negative view"],
)
def test_layouts(view):
    x = torch.randn(6, 9, dtype=torch.float64)
    leaf = x.clone().requires_grad_()
    ours, theirs = ogive_torch.celu(view(leaf)), torch.celu(view(leaf))
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=0)
    for got, wanted in zip(torch.autograd.grad(ours.sum(), leaf), torch.autograd.grad(theirs.sum(), leaf), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-14, atol=0)


def test_channels_last_stays():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert ogive_torch.gelu(x).is_contiguous(memory_format=torch.channels_last)


def test_types_are_promoted_as_torch_does():
    x, double = torch.randn(3), torch.randn(3, dtype=torch.float64)
    assert ogive_torch.mul(x, double).dtype is torch.float64
    assert ogive_torch.mul(x, double[0]).dtype is torch.float32
    assert ogive_torch.mul(x, 2).dtype is torch.float32
    assert ogive_torch.mul(2, x).dtype is torch.float32
    assert ogive_torch.where(x > 0, x, double).dtype is torch.float64
    assert ogive_torch.mul(torch.arange(3), x).dtype is torch.float32
    assert ogive_torch.celu(x.bfloat16(), alpha=torch.tensor(1.5)).dtype is torch.bfloat16


def test_autocast():
    x, slope = torch.randn(3, 3, dtype=torch.bfloat16), torch.rand(3)
    with torch.autocast("cpu"):
        assert ogive_torch.prelu(x, slope).dtype is torch.bfloat16
        assert ogive_torch.gelu(x.float() @ x.float()).dtype is torch.bfloat16
    assert ogive_torch.prelu(x, slope).dtype is torch.float32


def test_out():
    x, out = torch.randn(3, 4), torch.empty(3, 4)
    assert ogive_torch.celu(x, out=out) is out
    assert torch.equal(out, ogive_torch.celu(x))
    half = torch.empty(4, 3, dtype=torch.float16).T
    assert torch.equal(ogive_torch.celu(x, out=half), ogive_torch.celu(x).half())
    ogive_torch.celu(x, out=x)
    assert torch.equal(x, out)
    inner = torch.randn(3, requires_grad=True) * 1
    y = inner.exp() + inner.square()
    with torch.no_grad():
        ogive_torch.relu(inner, out=inner)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [-1, 0, (0, 2), None])
def test_rows_of_one_number(dim, keepdim):
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    ours = ogive_torch.logsumexp(x, dim=dim, keepdim=keepdim)
    theirs = torch.logsumexp(x, (0, 1, 2) if dim is None else dim, keepdim=keepdim)
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=0)
    upstream = torch.randn_like(theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, x, upstream)[0], torch.autograd.grad(theirs, x, upstream)[0], rtol=1e-13, atol=1e-16
    )
    assert torch.equal(ours, ogive_torch.logsumexp(x, axis=dim, keepdims=keepdim))
    plain = x.detach()
    out = torch.empty_like(theirs)
    ogive_torch.logsumexp(plain, dim=dim, keepdim=keepdim, out=out)
    assert torch.equal(out, ours.detach())


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_of_one_number_under_transformations():
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    function = ogive_torch.logsumexp
    assert torch.autograd.gradcheck(lambda v: function(v, dim=0), x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, x)
    rows = x.detach()
    torch.testing.assert_close(torch.func.vmap(function)(rows), torch.logsumexp(rows, -1), rtol=1e-14, atol=0)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(function))(rows), torch.softmax(rows, -1))
    hessian = torch.func.hessian(lambda v: torch.logsumexp(v, -1))(rows[0])
    torch.testing.assert_close(torch.func.hessian(function)(rows[0]), hessian)
    compiled = torch.compile(lambda v: function(2 * v, dim=0), fullgraph=True, backend="aot_eager")
    compiled(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * torch.softmax(2 * rows, 0))
    assert function(torch.zeros(2, 0)).tolist() == [-np.inf] * 2
    with pytest.raises(ArgumentError, match="no parameter 'keepdim'; allowed: dim, dtype, where, out"):
        ogive_torch.softmax(x, keepdim=True)


def test_clipping_takes_every_usual_call():
    x = torch.tensor([-2.0, 0.5, 2.0])
    for given, keywords in (((0, 1), {}), ((), {"min": 0, "max": 1}), ((0,), {"max": 1})):
        assert ogive_torch.clamp(x, *given, **keywords).tolist() == [0, 0.5, 1]
        assert ogive_torch.clip(x, *given, **keywords).tolist() == [0, 0.5, 1]
    assert ogive_torch.clip(x, max=torch.tensor(1.0)).tolist() == [-2, 0.5, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: ogive_torch.celu(x.to(torch.complex64)),
            DTypeError,
            (
                "celu: x has dtype torch.complex64; allowed: torch.float16, torch.float32, torch.float64, torch.bfloat16. "
                "Convert it first: x.to(...)"
            ),
        ),
        (
            lambda x: ogive_torch.celu(x.to_sparse()),
            ArgumentError,
            "celu: x is a sparse tensor; allowed: dense tensors on the CPU. Give x.to_dense()",
        ),
        (
            lambda x: ogive_torch.celu([1.0]),
            ArgumentError,
            "celu: x is a list; allowed: a tensor of torch. Make one of it: torch.as_tensor(x)",
        ),
        (
            lambda x: ogive_torch.celu(x, x),
            ArgumentError,
            "celu: 2 arguments were given by position; allowed: 1 tensor (x). Give all else by name: alpha=",
        ),
        (
            lambda x: ogive_torch.celu(x, beta=1),
            ArgumentError,
            "celu: there is no parameter 'beta'; allowed: alpha, out",
        ),
        (
            lambda x: ogive_torch.celu(x, alpha=0),
            ParameterError,
            "celu: alpha is 0.0; allowed: any finite number but 0",
        ),
        (
            lambda x: ogive_torch.add(x, torch.ones(2)),
            ShapeError,
            "add: the shapes do not broadcast together: a (3,) and b (2,); allowed: equal sizes, or 1, from the last axis on",
        ),
        (
            lambda x: ogive_torch.softmax(x, dim=1),
            ParameterError,
            "softmax: dim is 1 for a tensor of 1 dimensions; allowed: whole numbers from -1 to 0, each once",
        ),
        (
            lambda x: torch.ops.ogive.softmax(x[0]),
            ShapeError,
            "softmax: x is a single number; allowed: tensors of one dimension or more",
        ),
        (
            lambda x: ogive_torch.softmax(x, dim=0, axis=0),
            ArgumentError,
            "softmax: dim and axis were both given; allowed: one of them: they mean the same",
        ),
        (
            lambda x: ogive_torch.celu(x, out=torch.empty(2)),
            OutputError,
            "celu: out has the shape (2,), the result (3,); allowed: equal shapes",
        ),
        (
            lambda x: ogive_torch.celu(x, out=torch.empty(3, dtype=torch.int32)),
            OutputError,
            "celu: out has dtype torch.int32, the result torch.float32; allowed: types that the result can be cast to",
        ),
        (
            lambda x: ogive_torch.celu(x.requires_grad_(), out=torch.empty(3)),
            OutputError,
            (
                "celu: out was given, and a tensor requires a gradient: such a call cannot be recorded. "
                "Use the result, or write within torch.no_grad()"
            ),
        ),
        (
            lambda x: ogive_torch.celu(x, out=np.empty(3)),
            OutputError,
            "celu: out is an array of shape (3,); allowed: 1 tensor",
        ),
        (
            lambda x: ogive_torch.wrap(torch.relu),
            ArgumentError,
            (
                "ogive.torch.wrap: operator is the function relu; allowed: an operator. "
                "Make an operator of a formula with @ogive.operator"
            ),
        ),
        (
            lambda x: ogive_torch.replace(x),
            ArgumentError,
            "ogive.torch.replace: model is an array of shape (3,); allowed: a torch.nn.Module",
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        call(torch.ones(3))


def test_tensors_of_other_devices():
    """Meta tensors stand for them: they have shapes, and no elements on the CPU."""
    y = ogive_torch.celu(torch.empty(2, 3, device="meta"))
    assert y.is_meta
    assert y.shape == (2, 3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_tensors_are_refused():
    text = "celu: x is on the device cuda:0; allowed: dense tensors on the CPU that need no gradient. Copy it first: x.cpu()"
    with pytest.raises(ArgumentError, match=re.escape(text)):
        ogive_torch.celu(torch.ones(3, device="cuda"))


def test_an_unknown_name():
    with pytest.raises(AttributeError, match=r"ogive.torch: there is no operator 'gelo'"):
        ogive_torch.gelo  # noqa: B018


# ---- own operators


@pytest.mark.matrix(share=16, pool="slow")
def test_own_operators():
    function = ogive_torch.wrap(bent)
    assert ogive_torch.wrap(bent) is function
    given = tuple(torch.randn(2, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda *tensors: function(*tensors, slope=0.25), given)
    assert function.__name__ == "bent"
    assert str(torch.ops.ogive.bent.default._schema) == "ogive::bent(Tensor x, Tensor gate, Scalar slope) -> Tensor"


def test_names_of_the_registry_are_unique():
    def named(formula):
        formula.__name__ = formula.__qualname__ = "celu"
        return ogive_torch.wrap(ogive.operator(formula))

    one, other = named(lambda x: x + 1), named(lambda x: x + 2)
    x = torch.zeros(2)
    compiled = torch.compile(lambda x: (one(x), other(x), ogive_torch.celu(x)), fullgraph=True, backend="aot_eager")
    assert [y.tolist() for y in compiled(x)] == [[1, 1], [2, 2], [0, 0]]


# ---- tracing


def chain(x, slope, alpha):
    y = ogive_torch.celu(x, alpha=alpha) + ogive_torch.softmax(x, dim=0)
    return ogive_torch.prelu(y, slope) * ogive_torch.clip(x, -1, 1) + ogive_torch.gelu(x, approximate="tanh")


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile_without_a_break(backend):
    torch._dynamo.reset()
    given = [torch.randn(4, 3), torch.rand(3), torch.tensor(1.5)]
    results = []
    for function in (chain, torch.compile(chain, fullgraph=True, backend=backend)):
        leaves = [t.clone().requires_grad_() for t in given]
        y = function(*leaves)
        results.append((y.detach(), *torch.autograd.grad(y.sum(), leaves)))
    for eager, compiled in zip(*results, strict=True):
        assert torch.equal(eager, compiled)


@pytest.mark.matrix(share=16, pool="slow")
def test_compile_with_symbolic_shapes():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: ogive_torch.celu(x) * 2, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (5, 6, 7):
        x = torch.randn(length, requires_grad=True)
        assert torch.equal(compiled(x), ogive_torch.celu(x) * 2)
        compiled(x).sum().backward()


@pytest.mark.matrix(share=16, pool="slow")
def test_compile_with_a_number_that_changes():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, a: ogive_torch.celu(x, alpha=a), fullgraph=True, backend="aot_eager")
    x = torch.randn(5, requires_grad=True)
    for alpha in (1.5, 1.75, 2.5):
        assert torch.equal(compiled(x, alpha), ogive_torch.celu(x, alpha=alpha))
        compiled(x, alpha).sum().backward()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("strict", [False, True])
def test_export(strict):
    class Module(torch.nn.Module):
        def forward(self, x):
            return chain(x, torch.full((3,), 0.5), 1.5)

    x = torch.randn(4, 3)
    exported = torch.export.export(Module(), (x,), strict=strict)
    assert torch.equal(exported.module()(x), Module()(x))
    called = {str(node.target) for node in exported.graph.nodes}
    assert {"ogive.celu.default", "ogive.softmax.default", "ogive.prelu.default"} <= called


@pytest.mark.matrix(share=16, pool="slow")
def test_an_exported_program_in_another_process(tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return ogive_torch.celu(x, alpha=1.5)

    torch.export.save(torch.export.export(Module(), (torch.randn(3),)), tmp_path / "celu.pt2")
    code = f"""
import torch, ogive.torch
program = torch.export.load({str(tmp_path / "celu.pt2")!r}).module()
x = torch.tensor([-1.0, 0.0, 2.0])
assert torch.equal(program(x), ogive.torch.celu(x, alpha=1.5))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.matrix(share=16, pool="slow")
def test_without_torch():
    code = """
import sys
sys.modules["torch"] = None
import ogive
assert not hasattr(ogive, "torch")
try:
    import ogive.torch
except ogive.errors.MissingPackageError as error:
    assert str(error) == "ogive.torch: the package torch is not installed. Install it: pip install torch", error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.matrix(share=16, pool="slow")
def test_masked_rows():
    x, mask = (
        torch.randn(3, 6, dtype=torch.float32, requires_grad=True),
        torch.tensor([[1, 1, 0, 1, 0, 1], [0] * 6, [1] * 6]) > 0,
    )
    y = ogive_torch.softmax(x, where=mask)
    wide = x.detach().double().masked_fill(~mask, -torch.inf)
    assert torch.equal(y, torch.softmax(wide, -1).masked_fill(~mask, 0).float())
    upstream = torch.randn(3, 6)
    (gradient,) = torch.autograd.grad(y, x, upstream)
    wide.requires_grad_()
    (exact,) = torch.autograd.grad(torch.softmax(wide, -1), wide, upstream.double())
    assert torch.equal(gradient, exact.masked_fill(~mask, 0).float())
    assert ogive_torch.logsumexp(x.detach(), where=mask)[1] == -torch.inf
    assert (ogive_torch.log_softmax(x, where=mask).isneginf() == ~mask).all()
    with pytest.raises(
        ArgumentError, match=r"softmax: where is a tensor of torch.float32; allowed: a tensor of truth values"
    ):
        ogive_torch.softmax(x, where=mask.float())
    assert torch.equal(ogive_torch.softmin(-x, where=mask), y)
    with pytest.raises(ArgumentError, match="standardize: there is no parameter 'where'"):
        ogive_torch.standardize(x, where=mask)


@pytest.mark.matrix(share=16, pool="slow")
def test_cross_entropy_is_that_of_float64_rounded_once():
    x, weights = torch.randn(5, 9, requires_grad=True), torch.rand(5, 9)
    labels = torch.tensor([0, 8, 3, 3, 1])
    for target in (weights, torch.nn.functional.one_hot(labels, 9).float()):
        y = ogive_torch.cross_entropy(x, target)
        wide = x.detach().double().requires_grad_()
        exact = torch.nn.functional.cross_entropy(wide, target.double(), reduction="none")
        assert torch.equal(y, exact.float())
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.autograd.grad(exact.sum(), wide)[0].float())
