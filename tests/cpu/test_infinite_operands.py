"""Quotients, products and differences of two functions at infinities and zeros: what the formula says, in every type.

Enclosures evaluate the formula as it is written, with limits where operators state them: 0/0 and 0 * inf are NaN.
"""

from __future__ import annotations

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

#: Vanishing functions by one another, and by an infinite operand: levels of float64 clamp exponents, so that at an infinity the
#: number is next to nothing and not zero.
VANISHING = {"exp", "exp of -x", "sigmoid", "slope of sigmoid"}
NOT_YET = {("float64", "/", a, b) for a in VANISHING for b in VANISHING}
NOT_YET |= {
    ("float64", "*", *pair)
    for gate in ("gelu", "slope of gelu")
    for other in ("x", "x**2", "log")
    for pair in ((gate, other), (other, gate))
}


def wrong(kind: str, operation: str, a: str, b: str) -> list[str]:
    """The operands whose result is another one, and both results."""
    first, second = FUNCTIONS[a], FUNCTIONS[b]
    op = ogive.operator(lambda x: OPERATIONS[operation](first(x), second(x)))
    root = op.formula(for_doubles=kind == "float64")[0]
    x = np.array([-math.inf, math.inf, 0.0, -0.0]).astype(KINDS[kind])
    with np.errstate(all="ignore"):
        found = np.asarray(op(x)).astype(np.float64).tolist()
    listed = []
    for operand, result in zip(x.astype(np.float64).tolist(), found, strict=True):
        right, _ = right_result(root, [operand], {}, element_type(kind))
        same = result == right and math.copysign(1, result) == math.copysign(1, right)
        if not (same or (math.isnan(result) and math.isnan(right))):
            listed.append(f"{operand}: {result}, not {right}")
    return listed


CASES = [(kind, operation, a, b) for kind in KINDS for operation in OPERATIONS for a in FUNCTIONS for b in FUNCTIONS]


@pytest.mark.matrix(share=96)
@pytest.mark.parametrize(("kind", "operation", "a", "b"), [case for case in CASES if case not in NOT_YET])
def test_two_functions(kind: str, operation: str, a: str, b: str) -> None:
    assert wrong(kind, operation, a, b) == []


def test_vanishing_functions_of_float64() -> None:
    """NaN by the formula: 1 of equal functions, and an infinity, are known to be wrong. This test says when they are no more."""
    assert wrong("float64", "/", "exp", "exp") == ["-inf: 1.0, not nan"]
    assert wrong("float64", "*", "gelu", "x") == ["-inf: inf, not nan"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_of_two_exponentials(kind: str) -> None:
    """``-0 - 0`` is -0, and log(2 / 2) is 0."""
    op = ogive.operator(lambda x, y: f.log((1 + f.exp(x)) / (1 + f.exp(y))))
    x, y = (np.array(values).astype(KINDS[kind]) for values in ([-0.0, 0.0, 3, -math.inf], [0.0, -0.0, 3, -math.inf]))
    found = np.asarray(op(x, y)).astype(np.float64)
    assert not found.any()
    assert not np.signbit(found).any()
