"""Formulas around an operator have the right sign, in the code of every instruction set.

A kernel may keep the sign of a number apart from its words until the end. So more is computed of each operator here. Opposite
numbers, magnitudes and multiples by powers of two are exact: the operator's own results tell what is right. Other formulas have
the bits that code without pairs of float32 gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.backends.target import TARGETS, Target, runnable_targets
from ogive.operator import Operator
from ogive.runtime.kernels import make_ufunc
from tests.inputs import assert_same_bits

NAMES = (
    "atan",
    "erf",
    "gelu",
    "hard_mish",
    "hard_swish",
    "log1p",
    "mish",
    "sin",
    "sinh",
    "softplus",
    "softsign",
    "swish",
    "tanh",
)
OPERATORS = {name: getattr(ogive, name) for name in NAMES} | {"gelu tanh": partial(ogive.gelu, approximate="tanh")}

X = [-90, -40, -9.5, -3, -2, -0.75, -0.5, -(2.0**-20), -1e-30, -0.0, 0, 1e-30, 0.125, 0.5, 2, 2.75, 9.5, 40, 90]


def results(formulas: Sequence[Any], kind: str, target: Target, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The results of several formulas, by one kernel."""
    op: Operator = ogive.operator(signatures=[((kind,), (kind,) * len(formulas))])(
        lambda x: tuple(formula(x) for formula in formulas)
    )
    (signature,) = op.signatures
    found = make_ufunc("formula", op.program(signature), target)(x)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.matrix("name")
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_formulas_around_an_operator_have_the_right_sign(name: str, kind: str) -> None:
    op, x = OPERATORS[name], np.array(X, ogive.dtypes.element_type(kind).numpy)
    opposite = [lambda x: -op(x), lambda x: abs(op(x)), lambda x: -abs(op(x)), lambda x: abs(-op(x))]
    for target in runnable_targets().values():
        (y,) = results([op], kind, target, x)
        number = ~np.isnan(y)
        found = results(opposite, kind, target, x)
        for result, right in zip(found, (-y, abs(y), -abs(y), abs(y)), strict=True):
            assert_same_bits(result[number], right[number], x[number])
        with np.errstate(all="ignore"):
            size = abs(y.astype(np.float64))
        scales_exactly = ((size > 2.0**-11) & (size < 2.0**100)) | (y == 0)
        found = results([lambda x: -2 * op(x), lambda x: op(x) / -4], kind, target, x)
        for result, factor in zip(found, (-2, -0.25), strict=True):
            right = y * y.dtype.type(factor)
            assert_same_bits(result[scales_exactly], right[scales_exactly], x[scales_exactly])


COMPOSED = {
    "-op": lambda op, x: -op(x),
    "abs(op)": lambda op, x: abs(op(x)),
    "op * x": lambda op, x: op(x) * x,
    "op * -3": lambda op, x: op(x) * -3,
    "exp(op)": lambda op, x: f.exp(op(x)),
    "op + 3": lambda op, x: op(x) + 3,
    "where(x < 1, -op, x)": lambda op, x: f.where(x < 1, -op(x), x),
}


@pytest.mark.skipif("x86-64" not in runnable_targets(), reason="the code that others are compared with is for x86-64")
@pytest.mark.matrix("name")
@pytest.mark.parametrize("form", COMPOSED)
@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_computed_of_an_operator_have_its_sign(name: str, form: str) -> None:
    x = np.float32(X)
    right, *others = (
        results([partial(COMPOSED[form], OPERATORS[name])], "float32", target, x)
        for target in (TARGETS["x86-64"], *runnable_targets().values())
    )
    for found in others:
        assert_same_bits(found[0], right[0], x)
