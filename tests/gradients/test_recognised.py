"""Operators inside of formulas of one's own have their registered derivatives there."""

import numpy as np
import pytest

import ogive
from ogive.gradients.operators import NAMES

POINTS = np.array([-np.inf, -1e30, -3.0, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0, 1e30, np.inf], np.float32)
PARAMETERS = {
    "parametric_softplus": {"alpha": 2.0, "beta": 0.5},
    "parametric_hard_swish": {"alpha": 0.25},
    "hard_sigmoid": {"alpha": 0.25},
}


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_inside_of_a_formula(name):
    op = getattr(ogive, name)
    parameters = PARAMETERS.get(name, {})
    others = [2.0] * (op.nin - 1)
    own = ogive.operator(lambda x: 0.5 * op(2 * x, *others, **parameters))
    assert np.array_equal(ogive.grad(own)(POINTS / 2), ogive.grad(op)(POINTS, *others, **parameters))


def test_choices_inside_of_a_formula():
    own = ogive.operator(lambda x: ogive.gelu(x, approximate="tanh"))
    assert np.array_equal(ogive.grad(own)(POINTS), ogive.grad(ogive.gelu)(POINTS, approximate="tanh"))


def test_parameters_inside_of_a_formula():
    own = ogive.operator(lambda x, alpha: ogive.celu(x, alpha=alpha))
    x = np.float32([-1e-5, -1.0, -30.0])
    assert np.array_equal(ogive.grad(own, "alpha")(x, np.float32(1.5)), ogive.grad(ogive.celu, "alpha")(x, alpha=1.5))


def test_something_like_an_operator_is_none():
    f = ogive.formula
    own = ogive.operator(lambda x, y: f.where(f.absolute(x) > 2**60, f.copy_sign(1, x), x / (1 + f.absolute(y))))
    assert ogive.grad(own)(1.0, 3.0) == 0.25
