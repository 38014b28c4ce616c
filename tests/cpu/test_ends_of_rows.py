"""Rows of zeros of both signs, of the smallest and the largest numbers, and of infinities, beside enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import element_type
from ogive.enclosures.row_enclosure import right_rows

INF, MOST, TINY, LEAST = math.inf, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308


def differing(op: Any, kind: str, rows: Sequence[Sequence[float]]) -> list[str]:
    """The results that are no right ones, of a formula over a row of each operand."""
    element = element_type(kind)
    (root,) = op.computation(next(s for s in op.signatures if set(s.inputs) == {element})).roots
    arrays = [np.array(row).astype(element.numpy) for row in rows]
    with np.errstate(all="ignore"):
        found = np.atleast_1d(op(*arrays)).astype(np.float64).tolist()
    parameters = {p.name: float(np.float32(p.default)) for p in op.numeric_parameters}
    parameters |= {p.name: p.default for p in op.numeric_parameters if kind == "float64"}
    right = right_rows(root, [array.astype(np.float64).tolist() for array in arrays], parameters, element)
    listed = []
    for got, wanted in zip(found, map(float, right[: len(found)]), strict=True):
        same = got == wanted and math.copysign(1, got) == math.copysign(1, wanted)
        if not (same or (math.isnan(got) and math.isnan(wanted))):
            listed.append(f"{got}, not {wanted}")
    return listed


def own(formula: Callable[..., Any], *, reduces: bool = False) -> Any:
    return ogive.row_operator(formula, reduces=reduces)


def _below_largest(x: Any) -> Any:
    largest = f.row_max(x)
    return x - largest - f.log1p(f.row_sum(f.where(x < largest, f.exp(x - largest), 0)))


def _logarithms_times(x: Any, y: Any) -> Any:
    return f.row_sum(ogive.log_softmax(x) * y)


def _negative_root_mean_square(x: Any, scale: Any) -> Any:
    return -ogive.rms_normalization(x, scale)


#: Name -> an operator, and rows of its operands, of which some results were wrong.
OF_DOUBLES: dict[str, tuple[Any, list[list[list[float]]]]] = {
    "thresholds half of the smallest number apart": (
        ogive.sparsemax,
        [[[-TINY, -1.0]], [[1.0, 3 * TINY]], [[TINY, 1.0]], [[TINY, 1.0, TINY]], [[-TINY, TINY, 0.0, TINY, 1.0]]],
    ),
    "the same, negated": (own(lambda x: -ogive.sparsemax(x)), [[[TINY, TINY, -2.0, 1.0, -0.0]], [[TINY, 1.0, TINY]]]),
    "cubes that overflow beside an infinity": (
        own(lambda x: f.row_sum(x * x * x), reduces=True),
        [[[-INF, 2.5, 1e230, 1.0]], [[INF, -1e200]], [[-1e200, -INF, 1e200]]],
    ),
    "squares that overflow beside an infinity": (
        own(lambda x: x * x - f.row_max(x * x)),
        [[[-INF, 1e200, -1e200]], [[-1e200, -INF, 1.0, INF]]],
    ),
    "softmax of cubes": (own(lambda x: ogive.softmax(x * x * x)), [[[-INF, 2.5, 1e200]], [[-INF, 1.0, 1e200, 1e230]]]),
    "infinite targets": (
        ogive.cross_entropy,
        [[[MOST, -INF, -MOST, -INF], [-0.0, 0.0, 3.0, -2.0]], [[0.0, 1e-162, -1e-162], [1e154, MOST, -INF]]],
    ),
    "large targets of both signs": (
        ogive.cross_entropy,
        [[[7.4, -14.7, -45.6, -33.0, -22.9], [0.0, 0.0, 0.0, MOST, -MOST]], [[-0.0, -TINY, 0.0], [-INF, MOST, 0.0]]],
    ),
    "large weights of logarithms": (
        own(_logarithms_times, reduces=True),
        [[[-40.0, -30.0, -2.0], [1.7e308, -1.7e308, 0.0]], [[-40.0, -30.0, -2.0], [1.7e308, -INF, 0.0]]],
    ),
    "quotients of subnormal numbers by large scales": (
        own(_negative_root_mean_square),
        [[[-LEAST, -LEAST], [-MOST, -1.0]], [[TINY, -TINY], [1e308, -1.0]], [[TINY, -TINY], [-0.0, 1e-30]]],
    ),
    "thirds of them": (
        own(lambda x, scale: ogive.rms_normalization(x, scale) / 3),
        [[[0.0, LEAST], [MOST, MOST]], [[0.5, 3.0], [-INF, -MOST]]],
    ),
}


@pytest.mark.parametrize("name", OF_DOUBLES)
def test_rows_of_doubles(name: str) -> None:
    op, cases = OF_DOUBLES[name]
    assert [wrong for rows in cases for wrong in differing(op, "float64", rows)] == []


ROWS = (
    [-0.0, -1000.0],
    [0.0, -1000.0],
    [1000.0, -104.0, 5.0],
    [0.0, -0.0, -1000.0, -0.0],
    [-INF, -1000.0, 1000.0, 5.0],
)

#: A number less what has underflowed: zero, and the exact number is less.
WITH_UNDERFLOW = {
    "log_softmax": _below_largest,
    "half of it": lambda x: _below_largest(x) / 2,
    "its opposite": lambda x: -3 * _below_largest(x),
    "a sum": lambda x: x - f.row_max(x) - f.row_sum(f.where(x < f.row_max(x), f.exp(x - f.row_max(x)), 0)),
    "an exponential of the row": lambda x: (x - x) - f.exp(f.row_min(x)),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", WITH_UNDERFLOW)
def test_zeros_have_the_sign_of_what_has_underflowed(name: str, kind: str) -> None:
    op = own(WITH_UNDERFLOW[name])
    assert [wrong for row in ROWS for wrong in differing(op, kind, [row])] == []


def test_products_of_nine_floats_beside_an_infinity() -> None:
    op = own(lambda x: f.row_sum(x * x * x * x * x * x * x * x * x), reduces=True)
    assert differing(op, "float32", [[-INF, 3e38, 1.0]]) + differing(op, "float32", [[INF, -3e38, 1.0]]) == []


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_an_operand_that_is_only_counted_makes_no_infinities(kind: str) -> None:
    op = own(lambda x, y: f.row_sum(x * 0.1) / f.row_count(y) + y * 0)
    assert differing(op, kind, [[1.0, 2.0, 3.5], [0.0, -0.0, INF]]) == []


#: Conditions that ask of a number whether it is infinite as results are stored, or not.
OF_INFINITIES = {
    "finite": lambda x: x * x * x * x < INF,
    "infinite": lambda x: f.isinf(-x * x * x * x),
    "a magnitude": lambda x: f.absolute(x * x * x) < INF,
    "above -inf": lambda x: -(x * x) * x > -INF,
    "an exponential": lambda x: f.exp(x) < INF,
    "of the row": lambda x: f.row_sum(x * x * x * x) < INF,
}

LARGE_ROWS = {
    "float32": ([1e20, 2.0, -1e20, 0.5], [INF, 1e20, 100.0], [-INF, 1.0, -3e38], [math.nan, 1.0, 1e30]),
    "float64": ([1e100, 2.0, -1e200, 0.5], [INF, 1e100, 1000.0], [-INF, 1.0, -1e300], [math.nan, 1.0, 1e300]),
    "float16": ([1000.0, 2.0, -1000.0, 0.5], [INF, 100.0, 12.0], [-INF, 1.0, -6e4], [math.nan, 1.0, 1e4]),
    "bfloat16": ([1e20, 2.0, -1e20, 0.5], [INF, 1e20, 100.0], [-INF, 1.0, -3e38], [math.nan, 1.0, 1e30]),
}


@pytest.mark.parametrize("kind", LARGE_ROWS)
@pytest.mark.parametrize("name", OF_INFINITIES)
def test_numbers_are_infinite_where_their_type_has_no_room(name: str, kind: str) -> None:
    """In rows of float64 a number that float64 has no room for was finite, in results and in sums."""
    is_so = OF_INFINITIES[name]
    elements = own(lambda x: f.where(is_so(x), x - f.row_max(x), 3))
    summed = own(lambda x: f.row_sum(f.where(is_so(x), 1, 0)) * f.row_max(x))
    assert [
        wrong for op in (elements, summed) for row in LARGE_ROWS[kind] for wrong in differing(op, kind, [row])
    ] == []


#: Formulas of a scale, and in some of a bias, that no number of the row is made of.
SCALED: dict[str, Callable[..., Any]] = {
    "rms_normalization": lambda x, s: ogive.rms_normalization(x, s),
    "rms_normalization of another epsilon": lambda x, s: ogive.rms_normalization(x, s, epsilon=0.5),
    "layer_normalization": lambda x, s: ogive.layer_normalization(x, s, s),
    "mean_variance_normalization": lambda x, s: ogive.mean_variance_normalization(x) * s,
    "lp_normalization": lambda x, s: -ogive.lp_normalization(x) * s,
    "standardize": lambda x, s: f.absolute(ogive.standardize(x) * s),
    "chosen": lambda x, s: f.where(s == s, x / f.row_sum(x * x) * s, x - f.row_max(x)),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SCALED)
def test_elements_beside_a_scale_that_is_nan(name: str, kind: str) -> None:
    """NaN of one element kept the NaN of others, whose rows had overflowed on the way."""
    most, tiny = {"float64": (1.7e308, TINY), "float16": (6e4, 6e-8)}.get(kind, (3e38, 1e-40))
    op, numbers = own(SCALED[name]), [most, -3.0, tiny, -most, 100.0]
    rows = [numbers, numbers[:2], [1.0, most], [tiny, 0.5], [0.5, most, most]]
    scales = [[0.5, math.nan, most, -0.3, 1.0], [math.nan, -0.0, tiny, 1.0, INF], [math.nan, -3.0, 1.0, math.nan, 0.5]]
    assert [w for x in rows for s in scales for w in differing(op, kind, [x, s[: len(x)]])] == []


#: Formulas whose second operand multiplies what vanishes beside the largest elements.
WITH_FACTORS: dict[str, Callable[..., Any]] = {
    "cross_entropy": lambda x, y: ogive.cross_entropy(x, y),
    "its opposite": lambda x, y: -ogive.cross_entropy(x, y) * 3,
    "of the other sign": lambda x, y: f.absolute(ogive.cross_entropy(x, -y)),
    "chosen": lambda x, y: f.where(f.row_max(x) > 5, ogive.cross_entropy(x, y), 3),
    "a mean of shares": lambda x, y: f.row_sum(ogive.softmax(x) * y),
    "shares": lambda x, y: ogive.softmin(x) * y - 1,
    "a gradient": lambda x, y: ogive.vjp(ogive.softmax)(y, x),
    "a scale of what underflows": lambda x, y: ogive.rms_normalization(x, y),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", WITH_FACTORS)
def test_infinite_factors_of_what_vanishes(name: str, kind: str) -> None:
    """Numbers that have underflowed are above zero: times an infinity they are infinite, and were NaN."""
    of_elements = ("shares", "a gradient", "a scale of what underflows")
    op = own(WITH_FACTORS[name], reduces=name not in of_elements)
    large = {"float64": 1e300, "float16": 6e4}.get(kind, 1e30)
    rows = [[0.0, -1000.0, -2000.0], [large, -large, 3.0], [1 / large, large], [3.0, -INF, -1000.0], [2.0, -0.5, 40.0]]
    factors = [[INF, 0.0, 1.0], [-INF, 1.0, -INF], [-2.0, INF, 3.0], [0.0, math.nan, INF], [1.0, 2.0, INF]]
    assert [w for x in rows for y in factors for w in differing(op, kind, [x, y[: len(x)]])] == []
