"""Formulas and operators that were wrong before results were correctly rounded, with their right results.

float16, bfloat16, float32 and integers are right; float64 is a sum of two numbers, rounded once, and what overflowed on
the way there is listed here too.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.formula import cosh, erf, exp, log, sinh, square_root, tanh
from ogive.laboratory.accuracy import count_misrounded
from ogive.operators.operator import operator

SHORT = ("float16", "bfloat16", "float32")


@operator
def half_exp(x):
    return 0.5 * exp(x)


@operator
def tiny_exp(x):
    return 1e-30 * exp(x)


@operator
def half_sinh(x, *, s=0.5):
    return s * sinh(x)


@operator
def half_cosh(x, *, s=0.5):
    return s * cosh(x)


@operator
def sigmoid_by_quotient(x):
    return exp(x) / (1 + exp(x))


@operator
def swish_by_quotient(x):
    return x * exp(x) / (1 + exp(x))


@operator
def quotient_of_exponentials(x):
    return exp(x) / exp(x - 1)


@operator
def product_of_exponentials(x):
    return exp(x) * exp(-x)


@operator
def difference_of_exponentials(x):
    return exp(x) - exp(x - 1)


@operator
def log_of_exp(x):
    return log(exp(x))


@operator
def one_and_tanh(x):
    return 1 + tanh(x)


@operator
def textbook_gelu(x):
    return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


@operator
def erf_by_line(x):
    return erf(x) / (x * 1e-3)


@operator
def root_of_square(x):
    return square_root(x * x)


@operator
def third(x, *, a=1.5):
    return x / 3 * a


@operator
def two_thirds(x, *, a=1.5):
    return x * Fraction(1, 3) * a


@operator
def half_by_thirds(x):
    return x * Fraction(1, 3) * 1.5


FORMULAS = [
    *(half_exp, tiny_exp, half_sinh, half_cosh, sigmoid_by_quotient, swish_by_quotient, quotient_of_exponentials),
    *(product_of_exponentials, difference_of_exponentials, log_of_exp, one_and_tanh, textbook_gelu, erf_by_line),
    *(root_of_square, third, two_thirds, half_by_thirds),
]


@pytest.mark.matrix(share=10)
@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("op", FORMULAS, ids=lambda op: op.name)
def test_formulas_that_overflow_cancel_or_tie(op, dtype):
    assert count_misrounded(op, dtype, samples=1 << 14).misrounded == 0


@pytest.mark.parametrize("op", [third, half_by_thirds], ids=lambda op: op.name)
def test_ties_of_thirds(op):
    assert count_misrounded(op, "float16").misrounded == 0


#: Operators with the parameters that made bfloat16 overflow or underflow on the way.
EXTREMES: list[tuple[str, dict[str, float]]] = [
    *(("celu", {"alpha": alpha}) for alpha in (-0.5, -0.001, 1e30, 1e10, 3.4e38)),
    ("scaled_tanh", {"alpha": 1e30, "beta": 1e-30}),
    ("scaled_tanh", {"alpha": -3.4e38, "beta": 2.0**-126}),
    ("parametric_softplus", {"alpha": 3.4e38, "beta": 1.0}),
    ("parametric_softplus", {"alpha": 1.5, "beta": 0.5}),
    ("linear", {"alpha": 3.4e38, "beta": -3.4e38}),
    ("selu", {"alpha": 3.4e38, "gamma": 3.4e38}),
    ("swish", {"alpha": 2.0**-126}),
    ("swish", {"alpha": 1.702}),
    ("elu", {"alpha": -2.5}),
]


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(("name", "parameters"), EXTREMES, ids=str)
def test_extreme_parameters(name, parameters):
    for dtype in ("float16", "bfloat16"):
        assert count_misrounded(OPERATORS[name], dtype, parameters).misrounded == 0
    assert count_misrounded(OPERATORS[name], "float32", parameters, samples=1 << 14).misrounded == 0


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("name", ["mean", "swiglu", "pow", "atan2", "prelu"])
def test_operators_of_two(name, dtype):
    assert count_misrounded(OPERATORS[name], dtype, samples=1 << 14).misrounded == 0


def test_integers_are_cut_off_once():
    def shrunk(values: list[int], dtype: Any, bias: float) -> list[int]:
        found: list[int] = ogive.shrink(np.array(values, dtype), bias=bias, lambd=0.0).tolist()
        return found

    assert shrunk([30000, 20000, 10000, 3], np.int16, 5e-4) == [29999, 19999, 9999, 2]
    assert shrunk([100, 1], np.int8, 1e-6) == [99, 0]
    assert shrunk([2_000_000_000, 3], np.int32, 5e-8) == [1_999_999_999, 2]


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", [name for name, kind in ELEMENT_TYPES.items() if kind.is_integer and kind.bits >= 8])
@pytest.mark.parametrize("name", ["prelu", "mean"])
def test_integers_of_two_tensors(name, dtype):
    op = OPERATORS[name]
    if not any({t.name for t in (*s.inputs, *s.outputs)} == {dtype} for s in op.signatures):
        pytest.skip("the operator has no such type")
    assert count_misrounded(op, dtype, samples=1 << 13).misrounded == 0


# ---- float64


def of(op: Any, *values: float) -> list[float]:
    found: list[float] = op(np.float64(values)).tolist()
    return found


def test_infinity_times_a_small_number_is_infinite():
    assert of(half_exp, 720, math.inf) == [math.inf, math.inf]
    assert of(half_sinh, 712, math.inf, -math.inf) == [math.inf, math.inf, -math.inf]
    assert of(half_cosh, 712, -math.inf) == [math.inf, math.inf]
    assert of(quotient_of_exponentials, 800.0) == [math.e]
    assert of(product_of_exponentials, 800.0) == [1.0]


def test_celu_of_negative_alpha():
    assert ogive.celu(np.float64([-400, -math.inf]), alpha=-0.5).tolist() == [-math.inf, -math.inf]
    assert ogive.celu(np.float64([-1.014]), alpha=-0.001).tolist() == [-math.inf]
    # expm1(714) is infinite, and this is not.
    (found,) = ogive.celu(np.float64([-0.714]), alpha=-0.001).tolist()
    assert found == pytest.approx(-0.001 * math.expm1(704) * math.exp(10), rel=1e-12)


def test_one_and_tanh_goes_to_zero():
    assert of(one_and_tanh, -400, -1e10, -1e300, -math.inf) == [0, 0, 0, 0]
    assert of(one_and_tanh, -100) == pytest.approx([2 * math.exp(-200)], rel=1e-13)
    found = of(textbook_gelu, -100, -1e10, -1e30, -1e300)
    assert found == [0, 0, 0, 0]
    assert np.signbit(found).all()


def test_swiglu_does_not_overflow_on_the_way():
    largest = np.finfo(np.float64).max
    for alpha in (0.0, 1e-30):
        assert ogive.swiglu(1.5, largest, alpha=alpha) == 0.75 * largest


def test_mean_of_large_numbers():
    largest = np.finfo(np.float64).max
    assert ogive.mean(largest, largest) == largest
    assert ogive.mean(np.float64(5e-324), np.float64(5e-324)) == 5e-324
    assert ogive.mean(np.float32(1e-45), np.float32(1e-45)) == np.float32(1e-45)
