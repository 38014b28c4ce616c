"""Sums and quotients of shared numbers, so vast that no bits decide: equal terms cancel before a number is computed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}

#: An operand that is a number of all types; exp of it has 88,639 bits before the point.
X = 61440.0

e, cosh, sinh, tanh = np.exp, np.cosh, np.sinh, np.tanh

CASES: dict[str, tuple[Any, float]] = {
    "one": (lambda x: (e(x) + 1) - e(x), 1),
    "minus one": (lambda x: e(x) - (e(x) + 1), -1),
    "magnitude": (lambda x: abs(e(x) - (e(x) + 1)), 1),
    "product": (lambda x: -2 * ((e(x) + 1) - e(x)), -2),
    "inverse": (lambda x: 1 / (e(x) - (e(x) + 1)), -1),
    "operand": (lambda x: (e(x) + x) - e(x), X),
    "multiples": (lambda x: 3 * e(x) - e(x) - e(x) * 2 + 1, 1),
    "vast multiple": (lambda x: e(x) - e(x) * 3, -np.inf),
    "products in other orders": (lambda x: x * e(x) - e(x) * x, 0),
    "an angle": (lambda x: (np.sin(x) * e(x) + 2) - np.sin(x) * e(x), 2),
    "multiplied out": (lambda x: (e(x) + 1) * (e(x) - 1) - e(x) * e(x), -1),
    "power": (lambda x: np.log((x**9999 + x) - x**9999) - np.log(x) + 1, 1),
    "base 2": (lambda x: (np.exp2(x) + 3) - np.exp2(x), 3),
    "base 10": (lambda x: (10**x + 3) - 10**x, 3),
    "cosh and sinh": (lambda x: (cosh(x) - sinh(x)) * e(x), 1),
    "below zero": (lambda x: sinh(x) - cosh(x), -0.0),
    "squares": (lambda x: cosh(x) ** 2 - sinh(x) ** 2, 1),
    "tanh": (lambda x: tanh(x) * cosh(x) - sinh(x) + 1, 1),
    "sigmoid": (lambda x: ogive.sigmoid(x) * e(x) - e(x), -1),
    "erf": (lambda x: ogive.erf(x) * e(x) - e(x), -0.0),
    "softplus": (lambda x: (ogive.softplus(x) - x) * e(x), 1),
    "mish": (lambda x: (ogive.mish(x) - x) * e(2 * x) / x, -2),
    "root": (lambda x: np.sqrt(e(2 * x) + e(x)) - e(x), 0.5),
    "hypot": (lambda x: (np.hypot(e(x), 1) - e(x)) * e(x), 0.5),
    "logarithm": (lambda x: (np.log(e(x) + 1) - x) * e(x), 1),
    "logarithm from below": (lambda x: np.log(e(x) - 1) - x, -0.0),
    "inverses": (lambda x: np.arctanh(tanh(x)) - x + 1, 1),
    "floor": (lambda x: np.floor((e(x) - 1) / (e(x) + 1)), 0),
    "floor of the negative": (lambda x: np.floor(-(e(x) - 1) / (e(x) + 1)), -1),
    "ceil": (lambda x: np.ceil((e(x) + 1) / (e(x) - 1)), 2),
    "trunc": (lambda x: np.trunc((1 - e(x)) / (e(x) + 1)), -0.0),
    "rint below": (lambda x: np.rint((3 * e(x) - 1) / (2 * e(x) + 1)), 1),
    "rint above": (lambda x: np.rint((5 * e(x) + 1) / (2 * e(x) - 1)), 3),
    "whole": (lambda x: np.floor(e(x) / (e(x) + 1) + 1 / (e(x) + 1)), 1),
    "remainder": (lambda x: np.remainder(e(x) + 1, e(x)), 1),
    "fmod": (lambda x: np.fmod(2 * e(x) + 3, e(x)), 3),
    "quotient": (lambda x: ((e(x) + x) - e(x)) / ((e(x) + 2) - e(x)), X / 2),
    "choice": (lambda x: np.where(e(x) + 1 > e(x), x, -x), X),
    "choice of equal numbers": (lambda x: np.where(2 * e(x) - e(x) > e(x), x, -x), -X),
    "choice by a quotient": (lambda x: np.where((e(x) - 1) / (e(x) + 1) < 1, x, -x), X),
    "maximum": (lambda x: np.maximum(e(x) + 1, e(x)) - e(x), 1),
    "above a tie": (lambda x: (e(x) * 257 + 256) / (256 * e(x)) - 257 / 256, 0),
    "beyond balls": (lambda x: e(e(x)) + 1 - e(e(x)), 1),
    "the larger one": (lambda x: e(e(x)) - e(e(x) - x), np.inf),
    "the larger one below": (lambda x: 1 / (e(e(x) - x) - e(e(x))), -0.0),
    "a logarithm beyond balls": (lambda x: np.log(e(e(x)) - e(x)) - e(x), -0.0),
    "nothing": (lambda x: -e(-e(x * x)), -0.0),
}


def assert_same(found: Any, wanted: Any) -> None:
    assert np.asarray(found, np.float64).tobytes() == np.asarray(wanted, np.float64).tobytes()


@pytest.mark.parametrize("name", CASES)
def test_enclosures(name: str) -> None:
    formula, wanted = CASES[name]
    (root,) = ogive.operator(formula).formula()
    for kind in TYPES:
        found, is_decided = right_result(root, [X], {}, ELEMENT_TYPES[kind])
        assert_same(found, wanted)
        assert is_decided


@pytest.mark.matrix(share=24)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str, kind: str) -> None:
    formula, wanted = CASES[name]
    assert_same(ogive.operator(formula)(np.full(3, X, TYPES[kind])), np.full(3, wanted))


#: Quotients of sums beside the tie of two numbers, which are 1 and the next one.
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_ties(kind: str, side: int) -> None:
    half = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}[kind]
    for formula, sign in (
        (lambda x: (e(x) + e(x) * half + side) / e(x), 1),
        (lambda x: (e(x) + e(x) * half + side) / -e(x), -1),
    ):
        (root,) = ogive.operator(formula).formula()
        found, is_decided = right_result(root, [X], {}, ELEMENT_TYPES[kind])
        assert (found, is_decided) == (sign * (1 + 2 * half * (side > 0)), True)


@pytest.mark.matrix(share=4)
@pytest.mark.parametrize("kind", TYPES)
def test_rows(kind: str) -> None:
    """Exponentials of a row cancel across its elements."""
    op = ogive.row_operator(lambda x: f.row_sum(e(x)) - e(x))
    assert op(np.array([[X, 0, -X], [1, X, X]], TYPES[kind])).tolist() == [[1, np.inf, np.inf], [np.inf] * 3]
