"""Derivatives at the infinities and at the largest numbers are the limits, where these exist."""

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS

INF = np.inf

#: Operator, arguments of the derivatives, operands, limit. Worked out by hand: each line is an elementary limit.
LIMITS = [
    ("squareplus", ("x",), (INF,), 1),
    ("squareplus", ("x",), (-INF,), 0),
    ("squareplus", ("x", "x"), (INF,), 0),
    ("squareplus", ("x", "x"), (-INF,), 0),
    ("squareplus", ("b",), (INF,), 0),
    ("squareplus", ("b", "x"), (INF,), 0),
    ("squareplus", ("b", "x"), (-INF,), 0),
    ("hypot", ("a",), (INF, 1), 1),
    ("hypot", ("a",), (-INF, 1), -1),
    ("hypot", ("b",), (INF, 1), 0),
    ("hypot", ("a",), (1, INF), 0),
    ("hypot", ("b",), (1, -INF), -1),
    ("hypot", ("a", "a"), (INF, 1), 0),
    ("hypot", ("a", "b"), (INF, 1), 0),
    ("hypot", ("b", "b"), (1, INF), 0),
    ("atan2", ("y",), (1, INF), 0),
    ("atan2", ("x",), (1, INF), 0),
    ("atan2", ("y",), (-INF, 1), 0),
    ("atan2", ("x",), (INF, 1), 0),
    ("atan2", ("x", "x"), (1, -INF), 0),
    ("atan2", ("y", "x"), (INF, 1), 0),
    ("atan2", ("y", "y"), (INF, 1), 0),
    ("pow", ("exponent",), (INF, -1), 0),
    ("pow", ("exponent",), (INF, 2), INF),
    ("pow", ("x",), (0.75, INF), 0),
    ("pow", ("x",), (2, -INF), 0),
    ("pow", ("x", "exponent"), (INF, 0.75), 0),
    ("pow", ("exponent", "exponent"), (INF, -1.5), 0),
    ("cbrt", ("x",), (INF,), 0),
    ("cbrt", ("x", "x"), (INF,), 0),
    ("cbrt", ("x", "x"), (-INF,), 0),
    ("log_ndtr", ("x",), (-INF,), INF),
    ("log_ndtr", ("x",), (INF,), 0),
    ("log_ndtr", ("x", "x"), (-INF,), -1),
    ("log_ndtr", ("x", "x"), (INF,), 0),
    ("acosh", ("x",), (INF,), 0),
    ("acosh", ("x", "x"), (INF,), 0),
    ("celu", ("x", "alpha"), (-INF,), 0),
    ("log1mexp", ("x",), (INF,), 0),
    ("log1mexp", ("x", "x"), (INF,), 0),
    ("log1mexp", ("x", "x"), (1000.0,), 0),
    ("scaled_tanh", ("beta",), (INF,), 0),
    ("scaled_tanh", ("beta", "x"), (INF,), 0),
    ("scaled_tanh", ("beta", "beta"), (-INF,), 0),
    ("glu", ("b", "b"), (INF, 0.75), -INF),
    ("modulus_floor", ("b",), (-1.5, INF), 1),
    ("modulus_floor", ("b",), (1.5, INF), 0),
    ("mod", ("b",), (1.5, -INF), 1),
    *(
        (name, (wrt,), (end,), limit)
        for name, wrt, ends in (
            ("gelu", "x", (0, 1)),
            ("swish", "x", (0, 1)),
            ("mish", "x", (0, 1)),
            ("softplus", "x", (0, 1)),
            ("sigmoid", "x", (0, 0)),
            ("tanh", "x", (0, 0)),
            ("softsign", "x", (0, 0)),
            ("atan", "x", (0, 0)),
            ("asinh", "x", (0, 0)),
            ("erf", "x", (0, 0)),
            ("ndtr", "x", (0, 0)),
            ("log_sigmoid", "x", (1, 0)),
        )
        for end, limit in zip((-INF, INF), ends, strict=True)
    ),
    *(
        (name, ("x", "x"), (end,), 0)
        for name in (
            "gelu",
            "swish",
            "mish",
            "softplus",
            "sigmoid",
            "tanh",
            "softsign",
            "atan",
            "asinh",
            "erf",
            "ndtr",
            "log_sigmoid",
        )
        for end in (-INF, INF)
    ),
]


@pytest.mark.matrix(share=2)
@pytest.mark.parametrize(("name", "wrt", "operands", "limit"), LIMITS)
def test_limits(name, wrt, operands, limit):
    derivative = OPERATORS[name]
    for one in wrt:
        derivative = ogive.grad(derivative, one)
    for dtype in (np.float32, np.float64):
        assert derivative(*map(dtype, operands)) == limit, dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers(dtype):
    largest = np.finfo(dtype).max
    assert ogive.grad(ogive.hypot)(largest, largest) == dtype(np.sqrt(0.5))
    assert ogive.grad(ogive.hypot)(dtype(1), largest) == dtype(1 / np.float64(largest))
    assert ogive.grad(ogive.squareplus)(largest) == 1
    assert ogive.grad(ogive.squareplus)(-largest) == 0
    assert ogive.grad(ogive.grad(ogive.log_ndtr))(-largest) == -1
    assert 0 <= ogive.grad(ogive.snake)(largest) <= 2
