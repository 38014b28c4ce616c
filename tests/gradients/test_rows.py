"""Gradients of operators over rows: beside differences of the formula in float64, and exact sums."""

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.row_enclosure import right_rows
from ogive.graph import operations as ops
from ogive.graph.expression import Format, node
from ogive.runtime.decide import RowDecider

rng = np.random.default_rng(5)
X = rng.normal(size=(6, 17))
G = rng.normal(size=X.shape)


def layer_norm(x):
    distance = x - f.row_sum(x) / 17
    return distance / np.sqrt(f.row_sum(distance * distance) / 17 + 1e-5)


FORMULAS = {
    "share": lambda x: x * x / f.row_sum(x * x),
    "layer norm": layer_norm,
    "largest": lambda x: x * f.row_max(x),
    "smallest": lambda x: x - f.row_min(x) * x,
    "absolute": lambda x: x / f.row_sum(abs(x)),
    "branches": lambda x: f.where(x > 0, np.sqrt(x), x) / f.row_sum(x * x),
    "larger": lambda x: f.larger(x, 0.25) * f.row_sum(f.smaller(x, 0.5)),
    "log of sum": lambda x: x - np.log(f.row_sum(np.exp(x - f.row_max(x)))) - f.row_max(x),
    "count": lambda x: x / f.row_sum(f.where(x > 0, 1, 0)),
    "floor": lambda x: x * f.row_sum(np.floor(x)),
}
OPERATORS = {name: ogive.row_operator(formula) for name, formula in FORMULAS.items()}
OPERATORS |= {"softmax": ogive.softmax, "log_softmax": ogive.log_softmax}


def numerical(op, gradient, x):
    """The gradient by central differences."""
    result = np.empty_like(x)
    h = 1e-6
    for j in range(x.shape[1]):
        step = np.zeros(x.shape[1])
        step[j] = h
        result[:, j] = (gradient * (op(x + step) - op(x - step))).sum(1) / (2 * h)
    return result


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", OPERATORS)
def test_gradients_of_rows(name):
    op = OPERATORS[name]
    found = ogive.vjp(op)(G, X)
    assert np.allclose(found, numerical(op, G, X), rtol=1e-6, atol=1e-7)
    short = ogive.vjp(op)(G.astype(np.float32), X.astype(np.float32))
    assert short.dtype == np.float32
    exact = ogive.vjp(op)(G.astype(np.float32).astype(float), X.astype(np.float32).astype(float))
    assert np.allclose(short, exact, rtol=2e-6, atol=2e-7)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer norm"])
def test_gradients_of_gradients_of_rows(name):
    first = ogive.vjp(OPERATORS[name])
    upstream = rng.normal(size=X.shape)
    of_gradient, of_x = ogive.vjp(first)(upstream, G, X)
    assert np.allclose(of_x, numerical(lambda x: first(G, x), upstream, X), rtol=1e-5, atol=1e-6)
    assert np.allclose(of_gradient, numerical(lambda g: first(g, X), upstream, G), rtol=1e-5, atol=1e-6)


@pytest.mark.matrix(share=16, pool="slow")
def test_other_axes():
    of_columns = ogive.vjp(ogive.softmax)(G, X, axis=0)
    assert np.array_equal(of_columns, ogive.vjp(ogive.softmax)(G.T.copy(), X.T.copy()).T)


def test_of_equally_large_elements_the_first_has_the_gradient():
    op = ogive.row_operator(lambda x: f.row_max(x))
    assert ogive.vjp(op)(np.ones(3), np.array([1.0, 2.0, 2.0])).tolist() == [0, 3, 0]


@pytest.mark.matrix(share=16, pool="slow")
def test_branches_that_are_not_taken():
    op = ogive.row_operator(lambda x: f.where(x > 0, np.log(x), 0) / f.row_sum(x * x))
    assert np.isfinite(ogive.vjp(op)(np.ones(3), np.array([0.0, -1.0, 2.0]))).all()


def test_an_element_that_is_masked_has_no_gradient():
    x = np.array([1.0, -np.inf, 2.0])
    assert ogive.vjp(ogive.softmax)(np.array([1.0, 5.0, 2.0]), x)[1] == 0


def test_softmax_beside_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for op, peer in ((ogive.softmax, torch.softmax), (ogive.log_softmax, torch.log_softmax)):
        x = torch.tensor(X, requires_grad=True)
        peer(x, -1).backward(torch.tensor(G))
        assert np.allclose(ogive.vjp(op)(G, X), x.grad.numpy(), rtol=1e-12, atol=1e-15)


def test_step_functions_of_rows_have_no_gradient():
    assert ogive.vjp(ogive.hardmax)(G, X).tolist() == np.zeros_like(X).tolist()


@pytest.fixture
def sent(monkeypatch):
    """How many elements of each row were left to enclosures."""
    counts = []
    plain = RowDecider.__call__

    def call(self, inputs, outputs, mask, parameters):
        counts.append(sum(mask))
        return plain(self, inputs, outputs, mask, parameters)

    monkeypatch.setattr(RowDecider, "__call__", call)
    return counts


def families(kind):
    """Upstream gradients and logits: constant, nearly constant, one-hot, padded, tied, saturated, and far too large."""
    x, g = (rng.normal(size=(3, 33)).astype(kind.numpy).astype(np.float32) for _ in range(2))
    is_third = np.arange(33) == 3
    ones = np.ones_like(g)
    yield "ordinary", g, x
    yield "constant", ones, x
    yield "nearly constant", 1 + g * 2.0**-22, x
    yield "one-hot", is_third * ones, x
    yield "padded", g, np.where(np.arange(33) > 20, -np.inf, x)
    yield "constant logits", g, ones
    yield "ties", g, np.round(x)
    for lead in (20, 50, 100, 1000):
        yield f"ahead by {lead}", g, x + lead * is_third
        yield f"constant, ahead by {lead}", ones, x + lead * is_third
    if kind.name != "float16":
        yield "large", 2.0**127 * np.where(is_third, 1, 0.25) * ones, x


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_the_gradient_of_softmax_is_decided_in_the_kernel(name, sent):
    """The results are those of the formula without the gradient of the largest element."""
    kind = ELEMENT_TYPES[name]
    gradient, x = (node(ops.INPUT, (), i, Format.NUMBER) for i in range(2))
    e = f.exp(x - f.row_max(x))
    y = e / f.row_sum(e)
    plain = y * (gradient - f.row_sum(gradient * y))
    found, left = 0, {}
    for family, gradients, logits in families(kind):
        arrays = [a.astype(kind.numpy) for a in (gradients, logits)]
        with np.errstate(all="ignore"):
            results = ogive.vjp(ogive.softmax)(*arrays).astype(float)
        # Rows with infinities keep the repair's results, at no price.
        if family not in ("large", "padded"):
            left[family] = sum(sent)
        sent.clear()
        for *row, result in zip(*(a.astype(float)[:1] for a in arrays), results, strict=False):
            expected = np.array(right_rows(plain, row, {}, kind))
            assert np.array_equal(result, expected), family
            assert np.array_equal(np.signbit(result), np.signbit(expected)), family
            found += 1
    assert found >= 15
    if kind.name != "float32":  # where exponentials underflow in float64, the sign of zero is not known
        del left["ahead by 1000"]
    assert not any(left.values()), left


def test_gradients_that_are_no_numbers_reach_all_of_the_row():
    x = np.array([1.0, -2.0, 3.0], np.float32)
    for value in (np.nan, np.inf, -np.inf):
        for place in range(3):
            g = np.ones(3, np.float32)
            g[place] = value
            with np.errstate(all="ignore"):
                found = ogive.vjp(ogive.softmax)(g, x)
            expected = np.full(3, -value)
            expected[place] = np.nan
            assert np.array_equal(found, expected, equal_nan=True)
