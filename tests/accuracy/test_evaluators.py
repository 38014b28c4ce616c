"""Evaluators refuse what they have no rule for with an error of Ogive, and take deep formulas."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.near_zero import leading_of
from ogive.errors import OgiveError, UnsupportedError
from ogive.graph.expression import Format, node
from ogive.laboratory.reference import compiled_error_function, evaluate, evaluate_exactly, to_long_double

FLOAT32 = ELEMENT_TYPES["float32"]
X = node("input", (), 0, Format.NUMBER)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits_of_integers_on_arrays(name: str) -> None:
    root, given = OPERATORS[name].formula()[0], [np.array([6, -7, 1 << 40]), np.array([3, 12, 5])]
    expected = getattr(np, name)(*given)
    assert evaluate(root, given).tolist() == expected.tolist()
    assert [
        int(evaluate_exactly(root, pair)) for pair in zip(*(x.tolist() for x in given), strict=True)
    ] == expected.tolist()
    with pytest.raises(UnsupportedError, match="whole numbers up to 2\\*\\*53 have bits"):
        evaluate(root, [np.array([1.5]), np.array([3.0])])


def test_truth_values_on_arrays() -> None:
    root = OPERATORS["logical_and"].formula()[0]
    found = evaluate(root, [np.array([True, True, False]), np.array([True, False, False])])
    assert found.dtype == bool
    assert found.tolist() == [True, False, False]


def test_the_leading_term_of_a_deep_formula() -> None:
    y = f.tanh(X)
    for _ in range(3000):
        y = y + X * 0.5
    term = leading_of(y, {}, (FLOAT32, FLOAT32))
    assert term is not None
    assert term.coefficients == {False: 1501.0, True: -1501.0}


@pytest.mark.matrix(share=16, pool="slow")
def test_leading_terms_refuse_with_errors_of_ogive() -> None:
    """Also isinf, whose formula has a NaN, and isfinite, which is a truth value."""
    tried = 0
    for op in OPERATORS.values():
        numbers = {p.name: float(p.default) if isinstance(p.default, int | float) else 1.0 for p in op.parameters}
        for root in op.formula() if len(op.tensors) == 1 else ():
            tried += 1
            with contextlib.suppress(OgiveError):
                leading_of(root, numbers, (FLOAT32, FLOAT32))
    assert tried > 70


def test_a_branch_of_nan_that_is_not_taken_leaves_the_term() -> None:
    guarded = f.where(X != X, float("nan"), f.tanh(X))
    plain = leading_of(f.tanh(X), {}, (FLOAT32, FLOAT32))
    assert plain is not None
    assert leading_of(guarded, {}, (FLOAT32, FLOAT32)) == plain


# ---- the reference evaluator against itself: its fast forms against 300 bits


x = node("input", (), 0, Format.NUMBER)
POINTS = [-30.0, -5.5, -1.0, -1e-3, -1e-300, 0.25, 0.9, 1.0, 2.5, 5.9, 26.0]


@pytest.mark.parametrize("function", [f.erf, f.erfc, f.normal_tail], ids=["erf", "erfc", "normal_tail"])
def test_error_functions_in_long_double(function):
    points = np.array(POINTS)
    found = evaluate(function(x), [points], dtype=np.longdouble)
    assert found.dtype == np.longdouble
    for point, value in zip(POINTS, found, strict=True):
        exact = to_long_double(evaluate_exactly(function(x), [point]))
        assert abs(value - exact) <= 4 * np.finfo(np.longdouble).eps * abs(exact), point
    special = evaluate(f.erf(x), [np.array([np.inf, -np.inf, np.nan])], dtype=np.longdouble)
    assert special.tolist()[:2] == [1, -1]
    assert np.isnan(special[2])


#: Operators with parameters with which terms of their definitions cancel: each at tiny numbers, ordinary ones and far out.
CANCELLING: dict[str, tuple[dict[str, float], tuple[int, ...]]] = {
    "log1mexp": ({}, (1,)),
    "logit": ({}, (1,)),
    "squareplus": ({"b": 4.0}, (1, -1)),
    "tanhshrink": ({}, (1, -1)),
    "xielu": ({"alpha_p": 0.75, "alpha_n": 0.75, "beta": 0.75}, (1, -1)),
    "mish": ({}, (1, -1)),
    "log_sigmoid": ({}, (1, -1)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
@pytest.mark.parametrize("name", CANCELLING)
def test_the_reference_loses_nothing_to_cancellation(name, dtype):
    """Alone, opposed and inside a formula."""
    parameters, signs = CANCELLING[name]
    (root,) = OPERATORS[name].formula()
    most = 1 if name == "logit" else 1e16
    magnitudes = (1e-100, 9.2e-41, 1e-12, 1e-3, 0.25, 0.51, 0.9, 1.5, 40.0, 9e15)
    points = np.array([sign * size for size in magnitudes for sign in signs if size < most])
    for formula in (root, -root, f.cbrt(root)):
        found = evaluate(formula, [points], parameters, dtype)
        for point, value in zip(points.tolist(), found, strict=True):
            exact = to_long_double(evaluate_exactly(formula, [point], parameters))
            assert abs(value - exact) <= 16 * np.finfo(dtype).eps * abs(exact), (point, value, exact)


def test_the_exact_tail_is_never_nothing():
    """So gelu far below zero, times an infinity, is one."""
    for point in (30.0, 1e5, 3.5e31, 1.7e308):
        assert evaluate_exactly(f.erfc(x), [point]) > 0
        assert evaluate_exactly(OPERATORS["geglu"].formula()[0], [-point, float("-inf")]) == float("inf")


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_compiled_error_functions_in_float64(name):
    compiled = compiled_error_function(name, np.float64)
    if compiled is None:
        pytest.skip("glibc's functions on x86-64 are the ones that are compiled")
    points = np.array(POINTS)
    for point, value in zip(POINTS, compiled(points), strict=True):
        exact = to_long_double(evaluate_exactly(getattr(f, name)(x), [point]))
        assert abs(value - exact) <= 4 * np.finfo(np.float64).eps * abs(exact) + 5e-324, point
