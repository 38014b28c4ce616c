"""Running logarithms on tensors: bits of NumPy's, gradients, vmap and compile."""

import pytest

import ogive
from ogive.errors import ArgumentError, UnsupportedError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ogive.torch")


@pytest.mark.matrix(share=16, pool="slow")
def test_bits_gradients_and_transformations():
    x = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    for dim in (0, 1):
        assert torch.autograd.gradcheck(lambda v, dim=dim: ogive.torch.logcumsumexp(v, dim=dim), (x,))
    y = torch.randn(5, 4)
    found = ogive.torch.logcumsumexp(y, 1)
    assert (found.numpy() == ogive.logcumsumexp(y.numpy())).all()
    assert ogive.torch.logcumsumexp(y.bfloat16(), 0).dtype == torch.bfloat16
    assert torch.equal(torch.func.vmap(lambda v: ogive.torch.logcumsumexp(v, 0))(y), found)

    def total(v):
        return (ogive.torch.logcumsumexp(v, 0) ** 2).sum()

    slopes = torch.func.vmap(torch.func.grad(total))(y)
    assert torch.equal(slopes, torch.stack([torch.func.grad(total)(row) for row in y]))
    compiled = torch.compile(lambda v: ogive.torch.logcumsumexp(v, 1) * 2, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(y), found * 2)


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="logcumsumexp: x is a list; allowed: a tensor"):
        ogive.torch.logcumsumexp([1])
    x = torch.ones(2, requires_grad=True)
    (slope,) = torch.autograd.grad(ogive.torch.logcumsumexp(x).sum(), x, create_graph=True)
    with pytest.raises(UnsupportedError, match="its gradient has no gradient; allowed: first derivatives"):
        slope.sum().backward()
