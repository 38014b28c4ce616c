"""Numbers that underflow, alone and where they are compared, chosen and rounded: what the formula says, in every type.

-1e-600 is less than 0, and rounded it is -0, which is not. Half of the smallest number and next to nothing is rounded up, and half
of it to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import element_type
from ogive.enclosures.enclosure import right_result
from ogive.lowering.lower import lower
from tests.inputs import assert_same_bits

KINDS: dict[str, Any] = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}

NUMBERS: dict[str, Callable[[Any], Any]] = {
    "x (1/2 + x)": lambda x: x * (0.5 + x),
    "x (x + 3) / 6": lambda x: x * (x + 3) / 6,
    "x / (2 - x)": lambda x: x / (2 - x),
    "0.3 x 1.7": lambda x: x * 0.3 * 1.7,
    "tan / 2": lambda x: f.tan(x) / 2,
    "log1p / 2": lambda x: f.log1p(x) / 2,
    "cube": lambda x: x * x * x,
    "-x**2": lambda x: -(x * x),
    "x**2 + x**3": lambda x: x * x + x * x * x,
    "x expm1(x**2)": lambda x: x * f.expm1(x * x),
    "sin(x**2) 1e300": lambda x: f.sin(x * x) * 1e300,
    "-exp": lambda x: -f.exp(x),
    "x exp": lambda x: x * f.exp(x),
    "x / 1e300": lambda x: x / 1e300,
    "1e10 exp": lambda x: f.exp(x) * 1e10,
    "silu": ogive.silu,
    "gelu": ogive.gelu,
    "hard_swish": ogive.hard_swish,
    "1 / (2 / x - 1)": lambda x: 1 / (2 / x - 1),
    "0.3 x - x**2": lambda x: 0.3 * x - x * x,
    "0.3 x + 1 - 1": lambda x: (0.3 * x + 1) - 1,
    "0.3 x + 0.4 x": lambda x: 0.3 * x + 0.4 * x,
}

AROUND: dict[str, Callable[[Any], Any]] = {
    "alone": lambda v: v,
    "negated": lambda v: -v,
    "magnitude": abs,
    "max of 0": lambda v: f.maximum(v, 0),
    "max of -0": lambda v: f.maximum(v, -0.0),
    "min of 0": lambda v: f.minimum(v, 0.0),
    "min of -0": lambda v: f.minimum(v, -0.0),
    "relu": ogive.relu,
    "where <": lambda v: f.where(v < 0, 0, v),
    "where <=": lambda v: f.where(v <= 0, 0, v),
    "where >": lambda v: f.where(v > 0, v, 0),
    "where ==": lambda v: f.where(f.equal(v, 0), 1, v),
    "sign": lambda v: f.copy_sign(1, v),
    "chosen": lambda v: f.where(v < 1, v, 2),
    "leaky_relu": ogive.leaky_relu,
    "larger of both": lambda v: f.maximum(v, -v),
    "larger": lambda v: f.larger(v, 0),
    "smaller": lambda v: f.smaller(v, -0.0),
    "larger multiple": lambda v: f.larger(v, 2 * v),
    "clipped": lambda v: f.clip(v, -1, 1),
    "clipped and multiplied": lambda v: 1e10 * f.clip(v, -1, 1),
    "function of the larger": lambda v: f.log1p(f.larger(v, 0)),
    "function and multiplied": lambda v: 1e10 * f.tanh(v),
    "erfinv": f.erfinv,
    "remainder": lambda v: f.remainder(v, 3),
    "magnified square": lambda v: v * v * 1e300 * 1e300,
    "ceiling": f.ceiling,
}

POINTS = (1e-300, 1e-200, 1e-30, 800.0, 746.0, 745.0, 38.5, 2000.0, 1.0, 0.0, np.inf)


def operands(kind: str) -> np.ndarray:
    dtype = np.dtype(KINDS[kind])
    smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    with np.errstate(over="ignore"):
        sizes = np.array([smallest, 2 * smallest, 3 * smallest, *POINTS]).astype(dtype)
    return np.concatenate([sizes, -sizes])


@pytest.mark.matrix("number", share=3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("number", NUMBERS)
def test_results_are_those_of_the_formula(number: str, around: str, kind: str) -> None:
    assert_are_right(ogive.operator(lambda x: AROUND[around](NUMBERS[number](x))), kind)


def assert_are_right(op: ogive.Operator, kind: str) -> None:
    (root,) = op.formula(for_doubles=kind == "float64")
    x = operands(kind)
    with np.errstate(all="ignore"):
        found = op(x).astype(np.float64)
    parameters = {p.name: p.default for p in op.numeric_parameters}
    expected = np.array([float(right_result(root, [float(v)], parameters, element_type(kind))[0]) for v in x])
    assert_same_bits(found, expected, x)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "floor": f.floor,
    "ceiling": f.ceiling,
    "truncate": f.truncate,
    "round_even": f.round_even,
    "negated": lambda v: -f.ceiling(v),
    "of the negative": lambda v: f.ceiling(-v),
    "sign": lambda v: f.copy_sign(1, f.truncate(v)),
}

#: Numbers that lie beside whole numbers, and beside zero by less than any number of their type.
BESIDE: dict[str, Callable[[Any], Any]] = {
    "0.3 x + 1 - 1": lambda x: (0.3 * x + 1) - 1,
    "0.3 x + 1/2": lambda x: 0.3 * x + 0.5,
    "x / 3 + 1": lambda x: x / 3 + 1,
    "1 - exp": lambda x: 1 - f.exp(x),
    "tanh + 1": lambda x: f.tanh(x) + 1,
    "logistic - 1": lambda x: f.logistic(x) - 1,
    "cos - 1": lambda x: f.cos(x) - 1,
    "x - tanh": lambda x: x - f.tanh(x),
    "cube": lambda x: x * x * x,
    "gelu": ogive.gelu,
}


@pytest.mark.matrix("number", share=3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whole", WHOLE)
@pytest.mark.parametrize("number", BESIDE)
def test_whole_numbers_have_the_sign_of_what_is_rounded(number: str, whole: str, kind: str) -> None:
    op = ogive.operator(lambda x: WHOLE[whole](BESIDE[number](x)))
    assert_are_right(op, kind)


@pytest.mark.parametrize(
    ("formula", "operands", "right"),
    [
        (lambda x: 1 / x / x * 1e15, (1e162,), 1e-309),
        (lambda x: 1 / (1 + abs(x)) / (1 + abs(x)) * 1000, (1e162,), 1e-321),
        (lambda x: x * x * x * x * x * x * x * x * x * 1e30, (2.0**-120,), float(np.ldexp(1e30, -1080))),
        (ogive.grad(ogive.operator(lambda x: 1000 * (1 / (1 + abs(x))))), (1e162,), -1e-321),
        (lambda x, y, z: x / z * 1000 * f.cos(y), (1e-24, 0.0, 1e300), 1e-321),
        (lambda x, y: f.larger(x, -y) * (f.larger(x, -y) + 3) / 6, (5e-324, 1.0), 5e-324),
        (lambda x, y: f.larger(x, -y) * (3 - f.larger(x, -y)) / 6, (5e-324, 1.0), 0.0),
        (lambda x: ogive.hard_swish(f.clip(x, -2, 2)), (5e-324,), 5e-324),
    ],
)
def test_products_that_underflow_on_the_way(formula: Any, operands: tuple[float, ...], right: float) -> None:
    op = formula if isinstance(formula, ogive.Operator) else ogive.operator(formula)
    assert op(*map(np.float64, operands)) == right


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formula", [lambda x: f.larger(ogive.silu(x), 0), lambda x: f.clip(x * (0.5 + x), -1, 1)])
def test_slopes(formula: Any, kind: str) -> None:
    op = ogive.vjp(ogive.operator(formula))
    (root,) = op.formula(for_doubles=kind == "float64")
    x, dtype = operands(kind), np.dtype(KINDS[kind])
    for upstream in (1.0, 3e-5, float(ml_dtypes.finfo(dtype).smallest_subnormal)):
        given = np.full_like(x, upstream)
        with np.errstate(all="ignore"):
            found = op(given, x).astype(np.float64)
        pairs = zip(given.astype(float), x.astype(float), strict=True)
        expected = np.array([float(right_result(root, list(pair), {}, element_type(kind))[0]) for pair in pairs])
        assert_same_bits(found, expected, x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("whole", [f.floor, f.round_even, lambda x: f.where(x < 1, 0, f.ceiling(x))])
def test_the_root_of_a_whole_number_that_is_zero(whole: Any, kind: str) -> None:
    """Its second word was 0/0, and with it that of the other term went: 65 % of the sums were misrounded."""
    op = ogive.operator(lambda x, y: f.square_root(whole(x)) + y * f.exp(y))
    (root,) = op.formula(for_doubles=kind == "float64")
    dtype = np.dtype(KINDS[kind])
    y = np.geomspace(1e-7, 1, 40).astype(dtype)
    for value in (0.25, 1.0, 9.0):
        x = np.full_like(y, value)
        expected = [float(right_result(root, [value, float(v)], {}, element_type(kind))[0]) for v in y]
        assert_same_bits(op(x, y).astype(np.float64), np.array(expected), x, y)


def test_a_zero_of_another_operand_decides_nothing() -> None:
    x, zero = np.array([5e-324]), np.array([-0.0])
    assert ogive.clamped_swiglu(x, zero, alpha=1e-8) == 5e-324


#: Sums and multiples that leave the range on the way, of which powers of two bring results back.
THERE_AND_BACK: dict[str, Callable[[Any, Any], Any]] = {
    "(x + x) / 2": lambda x, y: (x + x) * 0.5,
    "(x + y) / 4": lambda x, y: (x + y) * 0.25,
    "-(x - y) / 2": lambda x, y: -(x - y) * 0.5,
    "|x + x| / 2": lambda x, y: abs(x + x) * 0.5,
    "chosen": lambda x, y: f.where(x < y, x + x, y) * 0.5,
    "chosen halves": lambda x, y: f.where(x < y, (x + x) * 0.5, y),
    "of the larger": lambda x, y: f.maximum(x + x, y) * 0.5,
    "with a sign": lambda x, y: f.copy_sign(x + x, y) * 0.5,
    "half and twice": lambda x, y: x * 0.5 * 2,
    "twice and half": lambda x, y: x * 2 * 0.5,
    "a quarter and four times": lambda x, y: x * 0.25 * 4,
    "(x + y) / 3": lambda x, y: (x + y) / 3,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formula", THERE_AND_BACK)
def test_numbers_that_leave_the_range_on_the_way(formula: str, kind: str) -> None:
    """In float64 (x + x) / 2 of 1e308 was infinite, and x / 2 * 2 of 5e-324 was zero."""
    op = ogive.operator(lambda x, y: THERE_AND_BACK[formula](x, y))
    (root,) = op.formula(for_doubles=kind == "float64")
    limits = ml_dtypes.finfo(np.dtype(KINDS[kind]))
    largest, smallest = float(limits.max), float(limits.smallest_subnormal)
    ends = np.array([largest, 0.6 * largest, -0.9 * largest, np.inf, smallest, -3 * smallest, 3.0])
    x, y = (part.ravel().astype(KINDS[kind]) for part in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        found = op(x, y).astype(np.float64)
    pairs = zip(x.astype(float), y.astype(float), strict=True)
    expected = np.array([float(right_result(root, list(pair), {}, element_type(kind))[0]) for pair in pairs])
    assert_same_bits(found, expected, x, y)


def test_many_factors_and_shared_ones() -> None:
    """Whether a product is an exact zero is asked of each factor once."""

    def shared(x: Any) -> Any:
        a, b = x, x + 1
        for _ in range(60):
            a, b = b, a * b
        return b

    (root,) = ogive.operator(shared).formula(for_doubles=True)
    assert lower([root], [element_type("float64")], [element_type("float64")]).undecided is not None
