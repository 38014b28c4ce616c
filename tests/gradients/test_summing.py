"""Gradients of operands that were broadcast, and of parameters: exact sums, rounded once."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, ShapeError
from ogive.formula import row_sum

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 3, 5, 6)).astype(np.float32)
G = rng.normal(size=X.shape).astype(np.float32)


def exact_sum(products):
    return float(sum(map(Fraction, products), Fraction(0)))


def test_a_slope_for_each_channel():
    slope = np.float32([0.1, 0.2, 0.3]).reshape(3, 1, 1)
    of_x, of_slope = ogive.vjp(ogive.prelu)(G, X, slope)
    assert np.array_equal(of_x, np.where(X > 0, G, slope * G))
    assert of_slope.shape == slope.shape
    products = np.where(X > 0, 0, X.astype(float) * G)
    expected = [exact_sum(products[:, channel].ravel().tolist()) for channel in range(3)]
    assert of_slope.ravel().tolist() == np.float32(expected).tolist()


@pytest.mark.parametrize("shape", [(), (1,), (6,), (5, 1), (3, 1, 6), (4, 1, 1, 6), (1, 1, 1, 1)])
def test_any_shape_that_broadcasts(shape):
    b = rng.normal(size=shape).astype(np.float32)
    of_x, of_b = ogive.vjp(ogive.mul)(G, X, b)
    assert of_x.shape == X.shape
    assert of_b.shape == shape
    padded = (1,) * (4 - len(shape)) + shape
    axes = tuple(i for i in range(4) if padded[i] == 1)
    expected = (G.astype(float) * X).sum(axes).reshape(shape)
    assert np.allclose(of_b, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_are_longer_than_their_type(dtype):
    a = np.full(5000, 1 + 2**-8, dtype)
    _, of_one = ogive.vjp(ogive.mul)(np.ones(5000, dtype), a, np.ones((), dtype))
    assert of_one == np.dtype(dtype).type(5000 * (1 + 2**-8))
    assert of_one.dtype == dtype


def test_the_gradient_that_was_broadcast():
    of_a, of_b = ogive.vjp(ogive.mul)(1.0, np.float16([1, 2, 3]), np.float16(2))
    assert (of_a.tolist(), of_b) == ([2.0, 2.0, 2.0], 6.0)
    assert of_a.dtype == of_b.dtype == np.float16


def test_a_gradient_shape_is_that_of_the_operand_beside_larger_ones():
    of_a, of_b = ogive.vjp(ogive.add)(np.ones((2, 3)), np.ones((2, 1)), np.ones((1, 3)))
    assert of_a.tolist() == [[3.0], [3.0]]
    assert of_b.tolist() == [[2.0, 2.0, 2.0]]


def test_nothing_to_sum_is_zero():
    _, of_b = ogive.vjp(ogive.mul)(np.ones((0, 3)), np.ones((0, 3)), np.ones(3))
    assert of_b.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters():
    both = ogive.vjp(ogive.celu, ["x", "alpha"])
    assert repr(both) == "<operator celu_vjp_x_alpha(gradient, x, *, alpha=1.0)>"
    of_x, of_alpha = both(G, X, alpha=1.5)
    assert of_x.tolist() == ogive.vjp(ogive.celu)(G, X, alpha=1.5).tolist()
    x = X.astype(float)
    slopes = np.where(x > 0, 0, np.expm1(x / 1.5) - x / 1.5 * np.exp(x / 1.5))
    assert of_alpha == pytest.approx(math.fsum((G * slopes).ravel()), rel=1e-6)
    assert ogive.vjp(ogive.elu, "alpha")(2.0, -1.0) == 2 * np.expm1(-1.0)


def test_choices():
    of_x, of_max = ogive.vjp(ogive.clip, ["x", "max"])(np.ones(3), [0.0, 1.0, 2.0], -9.0, 1.0, wins="min")
    assert of_x.tolist() == [1.0, 1.0, 0.0]
    assert of_max == 1.0


@pytest.mark.matrix(share=16, pool="slow")
def test_rows():
    @ogive.row_operator
    def scaled(x, weight):
        return x / row_sum(x) * weight

    x = np.array([[1.0, 3.0], [2.0, 2.0]])
    of_x, of_weight = ogive.vjp(scaled)(np.ones((2, 2)), x, np.array([1.0, 2.0]))
    assert of_weight.tolist() == [0.75, 1.25]
    assert of_x.shape == x.shape


def test_pickles():
    both = ogive.vjp(ogive.celu, ["x", "alpha"])
    assert pickle.loads(pickle.dumps(both)) is both
    own = ogive.vjp(ogive.operator(lambda x, b: x * b))
    again = pickle.loads(pickle.dumps(own))
    assert again(np.ones(3), np.ones(3), 2.0)[1] == 3.0


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ogive.vjp(ogive.mul)(G, X, 2.0, out=X),
            ArgumentError,
            (
                "mul_vjp: out was given, and operands of different shapes; allowed: out where all shapes are equal. "
                "Sums over the axes that were broadcast are new arrays of the operands' types"
            ),
        ),
        (
            lambda: ogive.vjp(ogive.mul)(G, X, np.ones(4)),
            ShapeError,
            "mul_vjp: the shapes do not broadcast together: gradient (4, 3, 5, 6) and a (4, 3, 5, 6) and b (4,); allowed: equal sizes, or 1, from the last axis on",
        ),
        (
            lambda: ogive.vjp(ogive.celu, ["y"]),
            ArgumentError,
            "ogive.vjp: wrt has 'y', for celu; allowed: 'x', 'alpha'",
        ),
        (
            lambda: ogive.vjp(ogive.celu, ["x", "x"]),
            ArgumentError,
            "ogive.vjp: wrt names an argument twice: x, x; allowed: one or more of 'x', 'alpha', each once",
        ),
    ],
    ids=["out", "shapes", "no argument", "twice"],
)
def test_refusals(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
