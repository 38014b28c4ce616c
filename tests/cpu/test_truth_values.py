"""Truth values in formulas: comparisons are numbers to other operators, in every type, and are right of the smallest operands."""

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f

KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}

X = [-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, 3.0]

#: Formulas, and what they are in NumPy.
FORMULAS = {
    "a result": (lambda x: x < 1, lambda x: x < 1),
    "of a computed number": (lambda x: f.exp(x) < x + 3, lambda x: np.exp(x) < x + 3),
    "opposite": (lambda x: ~(f.exp(x) < 1), lambda x: ~(np.exp(x) < 1)),
    "both": (lambda x: (f.tanh(x) < 0.5) & (x > -1), lambda x: (np.tanh(x) < 0.5) & (x > -1)),
    "an operator's": (lambda x: ogive.isfinite(f.exp(x)), lambda x: np.isfinite(np.exp(x))),
    "of an operator": (lambda x: ogive.isinf(x < 2), lambda x: x > np.inf),
    "two of an operator": (lambda x: ogive.equal(x < 1, x < 2), lambda x: (x < 1) == (x < 2)),
    "a factor": (lambda x: x * (x > 0), lambda x: x * (x > 0)),
    "a term": (lambda x: x + (x > 0), lambda x: x + (x > 0)),
    "of a function": (lambda x: f.exp2(x < 1), lambda x: np.exp2((x < 1) * 1.0)),
    "of an activation": (lambda x: ogive.softsign(x <= 1), lambda x: (x <= 1) / 2),
    "of a derivative": (lambda x: ogive.grad(ogive.softsign)(x <= 1), lambda x: np.where(x <= 1, 0.25, 1)),
    "of a product": (lambda x: ogive.vjp(ogive.relu)(x > 1, x), lambda x: (x > 1) * 1.0),
    "beside a number": (lambda x: ogive.maximum(x, x < 1), lambda x: np.maximum(x, x < 1)),
    "a parameter": (lambda x: ogive.leaky_relu(x, alpha=x < -1), lambda x: np.where(x < -1, x, np.maximum(x, 0))),
    "chosen": (lambda x: f.where(x < 1, x < 0, x), lambda x: np.where(x < 1, x < 0, x)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMULAS)
def test_a_truth_value_is_a_number(name, kind):
    formula, right = FORMULAS[name]
    x = np.array(X, KINDS[kind])
    found = np.asarray(ogive.operator(formula)(x))
    np.testing.assert_array_equal(found.astype(np.float64), np.asarray(right(x.astype(np.float64)), np.float64))


#: Functions whose values are nearly the operand: 1 of those farther from zero, -1 of those nearer.
NEXT_TO = {
    **dict.fromkeys(["sin", "tanh", "atan", "asinh"], -1),
    **dict.fromkeys(["tan", "sinh", "asin", "atanh"], 1),
}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", [*NEXT_TO, "expm1", "log1p"])
def test_the_smallest_operands_compare(name, kind):
    """Relative errors of numbers below 2**-1012 underflow: equal words are no equal numbers."""
    function, least = getattr(f, name), {"float32": 2.0**-149, "float64": 2.0**-1074}[kind]
    sizes = np.array([least, 3 * least, least * 2**20, least * 2**60, least * 2**110])
    x = np.concatenate([sizes, -sizes, [0.0]]).astype(kind)
    farther = NEXT_TO.get(name)
    side = np.sign(x) * farther if farther else np.where(x == 0, 0, 1 if name == "expm1" else -1)
    for compare, right in (
        (lambda x: f.where(function(x) < x, 1, 0), side < 0),
        (lambda x: f.where(x < function(x), 1, 0), side > 0),
        (lambda x: f.where(function(x) <= x, 1, 0), side <= 0),
        (lambda x: f.where(function(x) == x, 1, 0), side == 0),
        (lambda x: -f.where(f.maximum(function(x), x) == x, 1, 0), -(side <= 0).astype(float)),
    ):
        np.testing.assert_array_equal(ogive.operator(compare)(x), right.astype(kind))
