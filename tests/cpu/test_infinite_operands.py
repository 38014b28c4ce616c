"""Quotients, products and differences of two functions at infinities and zeros: what the formula says, in every type.

Enclosures evaluate the formula as it is written, with limits where operators state them: 0/0 and 0 * inf are NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import element_type
from ogive.enclosures.enclosure import right_result

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": f.exp,
    "exp of -x": lambda x: f.exp(-x),
    "exp of 2x": lambda x: f.exp(2 * x),
    "sigmoid": ogive.sigmoid,
    "slope of sigmoid": ogive.grad(ogive.sigmoid),
    "silu": ogive.silu,
    "gelu": ogive.gelu,
    "slope of gelu": ogive.grad(ogive.gelu),
    "mish": ogive.mish,
    "softplus": ogive.softplus,
    "erfc": f.erfc,
    "1 / cosh": lambda x: 1 / f.cosh(x),
    "1 - tanh": lambda x: 1 - f.tanh(x),
    "expm1": f.expm1,
    "x": lambda x: x,
    "1 / x": lambda x: 1 / x,
    "x**2": lambda x: x * x,
    "Gaussian": lambda x: f.exp(-x * x),
    "log": lambda x: f.log(f.absolute(x)),
}

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "/": lambda a, b: a / b,
    "*": lambda a, b: a * b,
    "-": lambda a, b: a - b,
}

KINDS: dict[str, Any] = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}


def differing(op: Any, kind: str, *arrays: Any) -> list[str]:
    """The operands whose result is another one than that of the formula, and both results."""
    root = op.formula(for_doubles=kind == "float64")[0]
    operands = [np.asarray(array).astype(KINDS[kind]) for array in arrays]
    with np.errstate(all="ignore"):
        found = np.asarray(op(*operands)).astype(np.float64).tolist()
    listed = []
    for *numbers, result in zip(*(x.astype(np.float64).tolist() for x in operands), found, strict=True):
        right, _ = right_result(root, numbers, {}, element_type(kind))
        same = result == right and math.copysign(1, result) == math.copysign(1, right)
        if not (same or (math.isnan(result) and math.isnan(right))):
            listed.append(f"{numbers}: {result}, not {right}")
    return listed


#: Infinities, zeros, what functions are next to their limits of, and ordinary numbers.
ENDS = (-math.inf, math.inf, 0.0, -0.0, 1.5, -2000.0)
PAIRS = tuple(zip(*itertools.product(ENDS, ENDS), strict=True))

CASES = [(kind, operation, a, b) for kind in KINDS for operation in OPERATIONS for a in FUNCTIONS for b in FUNCTIONS]


@pytest.mark.matrix(share=96)
@pytest.mark.parametrize(("kind", "operation", "a", "b"), CASES)
def test_two_functions(kind: str, operation: str, a: str, b: str) -> None:
    first, second, combined = FUNCTIONS[a], FUNCTIONS[b], OPERATIONS[operation]
    op = ogive.operator(lambda x: combined(first(x), second(x)))
    assert differing(op, kind, [-math.inf, math.inf, 0.0, -0.0]) == []


@pytest.mark.matrix(share=256)
@pytest.mark.parametrize(("kind", "operation", "a", "b"), CASES)
def test_two_functions_of_two_operands(kind: str, operation: str, a: str, b: str) -> None:
    first, second, combined = FUNCTIONS[a], FUNCTIONS[b], OPERATIONS[operation]
    assert differing(ogive.operator(lambda x, y: combined(first(x), second(y))), kind, *PAIRS) == []


#: Formulas that had another number, another sign of zero, or a number in place of NaN, beside infinities, zeros and large numbers.
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "a second word beside a quotient by an infinity": lambda x, y: (1 / x - 1 / y) - ogive.sigmoid(x),
    "zero by what may be zero": lambda x, y: (f.cos(x) - 1) / f.expm1(y),
    "zero times infinity as a divisor": lambda x, y: 1 / (x * f.exp(y)),
    "zero by a square next to nothing": lambda x, y: f.maximum(x, 0) / ((x / f.exp2(y)) * (x / f.exp2(y))),
    "a zero of cancelled numbers": lambda x, y: (f.erfc(x) - f.exp(y)) * x,
    "a zero of what has cancelled": lambda x, y: (1 / f.cosh(x) - ogive.grad(ogive.mish)(y)) * ogive.celu(x),
    "a zero of what has underflowed": lambda x, y: ogive.grad(ogive.silu)(x) - ogive.silu(y),
    "next to one, and less": lambda x, y: ogive.softsign(x) - ogive.silu(y),
    "a product that overflows beside a function of 0 x": lambda x, y: ogive.silu(x, alpha=0) + x * x - 0 * y,
    "zero less what has underflowed": lambda x, y: f.minimum(x, 0) - f.exp(f.absolute(y) * -0.5),
    "minus zero times what is positive": lambda x, y: (
        ogive.parametric_softplus(x, alpha=-0.0, beta=0.001) + -0.0 * f.absolute(y)
    ),
    "half of a sum of opposite numbers": lambda x, y: ogive.squareplus(x, b=-0.0) + -0.0 * f.absolute(y),
    "the logarithm of what vanishes": lambda x, y: f.log(ogive.sigmoid(x)) - f.log2(f.exp(-f.absolute(y))),
    "the larger one of two zeros": lambda x, y: 3 * ogive.fmax(f.tanh(x), f.sin(y)),
    "the smaller one of two zeros": lambda x, y: 1 / ogive.fmin(ogive.leaky_relu(x), f.tanh(y)),
    "the larger one of a zero and an operand": lambda x, y: f.exp(1 / ogive.fmax(ogive.leaky_relu(x), y)),
    "the larger one of zero and what has underflowed": lambda x, y: f.maximum(1 / (1 - x * x), 0 * y),
}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_of_two_operands(kind: str, name: str) -> None:
    large, tiny = {"float16": (6e4, 6e-8), "float64": (2.5e268, 1e-200)}.get(kind, (3e38, 1e-30))
    ends = (*ENDS, large, -large, tiny, 1e4)
    pairs = list(zip(*itertools.product(ends, ends), strict=True))
    assert differing(ogive.operator(FORMULAS[name]), kind, *pairs) == []


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_of_two_exponentials(kind: str) -> None:
    """``-0 - 0`` is -0, and log(2 / 2) is 0."""
    op = ogive.operator(lambda x, y: f.log((1 + f.exp(x)) / (1 + f.exp(y))))
    x, y = (np.array(values).astype(KINDS[kind]) for values in ([-0.0, 0.0, 3, -math.inf], [0.0, -0.0, 3, -math.inf]))
    found = np.asarray(op(x, y)).astype(np.float64)
    assert not found.any()
    assert not np.signbit(found).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_vast_angle_beside_an_infinity(kind: str) -> None:
    """The sign of the sine is all that is left, and only the repair knows it."""
    angles = [3.254051234036674e-30, 1e-25, 7e-20, 3e-12, 1.5e-5] if kind != "float16" else [1e-4, 3e-5, 7e-6]
    y = [sign * angle for angle in angles for sign in (1, -1)]
    for of_angle in (f.sin, f.cos, f.tan):
        op = ogive.operator(lambda y, z: (y / z) * of_angle(1 / y) + 1)  # noqa: B023
        assert differing(op, kind, y, [0.0] * len(y)) == []
