"""The reference evaluator against itself: its fast forms against 300 bits."""

import numpy as np
import pytest

from ogive import formula as f
from ogive.expression import Format, node
from ogive.reference import compiled_error_function, evaluate, evaluate_exactly, to_long_double

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


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_compiled_error_functions_in_float64(name):
    compiled = compiled_error_function(name, np.float64)
    if compiled is None:
        pytest.skip("glibc's functions on x86-64 are the ones that are compiled")
    points = np.array(POINTS)
    for point, value in zip(POINTS, compiled(points), strict=True):
        exact = to_long_double(evaluate_exactly(getattr(f, name)(x), [point]))
        assert abs(value - exact) <= 4 * np.finfo(np.float64).eps * abs(exact) + 5e-324, point
