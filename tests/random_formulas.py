"""Formulas drawn at random, and ways in which people write well-known ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ogive import formula as f
from ogive.graph.expression import Expression, Format, constant, lift, node

__all__ = ["ALPHA", "WRITTEN", "X", "Y", "grown", "grown_of_rows"]

X, Y = (node("input", (), i, Format.NUMBER) for i in range(2))
ALPHA = node("parameter", (), (0, "alpha"), Format.NUMBER)
CONSTANTS = (2, -40, 0.25, 100, Fraction(1, 3), 1, -1, 1e-30, 3e38, 0.5, 0)

UNARY: tuple[Callable[[Any], Any], ...] = (
    *(f.exp, f.expm1, f.log, f.log1p, f.logistic, f.normal_tail, f.erf, f.erfc, f.square_root, f.absolute),
    *(f.sin, f.cos, f.tan, f.asin, f.acos, f.atan, f.sinh, f.cosh, f.tanh, f.asinh, f.acosh, f.atanh),
    *(f.floor, f.ceiling, f.trunc, lambda a: -a, lambda a: a * a, lambda a: 1 / a),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    *(lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b),
    *(f.minimum, f.maximum, f.atan2, f.power, lambda a, b: f.where(a < b, a, 2 * b), f.copy_sign),
)


def grown(generator: np.random.Generator, size: int) -> Expression:
    """A formula of about so many operations."""
    if size <= 0:
        leaf = generator.integers(10)
        return X if leaf < 5 else Y if leaf < 7 else ALPHA if leaf < 8 else constant(generator.choice(CONSTANTS))
    if generator.integers(2):
        return lift(UNARY[generator.integers(len(UNARY))](grown(generator, size - 1)))
    left = int(generator.integers(size))
    function = BINARY[generator.integers(len(BINARY))]
    return lift(function(grown(generator, left), grown(generator, size - 1 - left)))


OF_ROWS: tuple[Callable[[Any], Any], ...] = (
    *(f.row_sum, f.row_max, f.row_min, f.row_product, f.row_log_sum_exp),
    lambda a: f.row_sum(a) / f.row_count(a),
    lambda a: f.exp(a) / f.row_sum(f.exp(a)),
    lambda a: (a - f.row_sum(a) / f.row_count(a)) * (a - f.row_sum(a) / f.row_count(a)),
)


def grown_of_rows(generator: np.random.Generator, size: int) -> Expression:
    """A formula over rows: a reduction of about so many operations, and a few more around it."""
    reduced = OF_ROWS[generator.integers(len(OF_ROWS))](grown(generator, size))
    function = BINARY[generator.integers(len(BINARY))]
    return lift(reduced if generator.integers(2) else function(grown(generator, size // 2), reduced))


WRITTEN: dict[str, Any] = {
    "gelu": 0.5 * X * (1 + f.erf(X / f.square_root(constant(2)))),
    "gelu by tanh": 0.5 * X * (1 + f.tanh(f.square_root(constant(2 / np.pi)) * (X + 0.044715 * X * X * X))),
    "softplus": f.log(1 + f.exp(X)),
    "mish": X * f.tanh(f.log(1 + f.exp(X))),
    "log-sigmoid": f.log(1 / (1 + f.exp(-X))),
    "silu": X / (1 + f.exp(-X)),
    "sigmoid": 1 / (1 + f.exp(-X)),
    "sigmoid by quotient": f.exp(X) / (1 + f.exp(X)),
    "tanh-shrink": X - f.tanh(X),
    "tanh by exponentials": (f.exp(X) - f.exp(-X)) / (f.exp(X) + f.exp(-X)),
    "elu": f.where(X > 0, X, f.exp(X) - 1),
    "gompertz": f.exp(-f.exp(-X)),
    "exponential twice": f.exp(f.exp(X)),
    "(1 - cos x) / x**2": (1 - f.cos(X)) / (X * X),
    "hypotenuse": f.square_root(X * X + Y * Y),
    "difference of roots": f.square_root(X + 1) - f.square_root(X),
    "logaddexp": f.log(f.exp(X) + f.exp(Y)),
    "half of an exponential": 0.5 * f.exp(X),
    "exponentials": f.exp(X) * f.exp(-X),
    "x*x / x": X * X / X,
    "a third and a half": X / 3 * 1.5,
    "power of a sum": f.power(Y, X + X),  # whose lower word is NaN beside an infinity
}
