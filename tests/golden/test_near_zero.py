"""Results next to zero that are rounded beside a line are those that enclosures decide one by one."""

from fractions import Fraction

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result
from ogive.enclosures.near_zero import LIMITS, leading_of
from ogive.formula import where
from ogive.golden.specification import bits_of, of_operator

SINGLE = ELEMENT_TYPES["float32"]

#: Operators whose slope at zero is a half, or another number of few bits, and whether they lie above the line.
CURVED = {
    "gelu": (0.5, True),
    "swish": (0.5, True),
    "hard_swish": (0.5, True),
    "log1p": (1.0, False),
    "expm1": (1.0, True),
    "sin": (1.0, False),
    "tan": (1.0, True),
}
#: By their third derivatives: below zero they lie on the other side.
ODD = ("sin", "tan")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("operator", CURVED)
def test_the_line_rounds_as_enclosures_do(operator, dtype):
    spec = of_operator(operator, dtype)
    (step,), kind = spec.steps, spec.output
    term = leading_of(step.root, step.numbers, (kind, kind))
    slope, above = CURVED[operator]
    assert (term.power, term.coefficients, term.is_exact) == (1, {False: slope, True: -slope}, True)
    assert term.above == {False: above, True: above is not (operator in ODD)}
    top = int(bits_of(np.array([LIMITS[0]]).astype(kind.numpy))[0])
    random = np.random.default_rng(0).integers(1, top, 40)
    bits = np.concatenate([[1, 2, 3, 5, 7, top - 1, top], random])
    x = np.concatenate([bits, bits | 1 << (kind.bits - 1)]).astype(f"u{kind.itemsize}").view(kind.numpy)
    alone = [right_result(step.root, [float(v)], step.numbers, kind, bits=kind.bits, modular=False)[0] for v in x]
    assert np.array_equal(bits_of(spec.right([x])), bits_of(np.array(alone).astype(kind.numpy)))


@pytest.mark.parametrize(
    ("formula", "power", "coefficients"),
    [
        (lambda x: 1 / f.tanh(x) - 1 / x, 1, (Fraction(1, 3), Fraction(-1, 3))),  # infinities cancel
        (lambda x: (f.exp(x) - 1 - x - x * x / 2) / x**3, 0, (Fraction(1, 6), Fraction(1, 6))),
        (lambda x: 1 / f.square_root(1 - x * x) - 1, 2, (Fraction(1, 2), Fraction(1, 2))),
        (lambda x: where(x > 0, f.sin(x), 3 * f.expm1(x)), 1, (1, -3)),  # a kink
        (lambda x: x * f.tanh(f.log1p(f.exp(x))), 1, (Fraction(3, 5), Fraction(-3, 5))),
    ],
)
def test_terms_that_cancel_leave_the_next(formula, power, coefficients):
    op = ogive.operator(formula)
    (root,) = op.formula()
    found = leading_of(root, {}, (SINGLE, SINGLE))
    assert (found.power, tuple(found.coefficients.values())) == (power, tuple(map(float, coefficients)))
    bits = np.concatenate([[1, 2, 3], np.random.default_rng(1).integers(1, 63 << 23, 20)])
    x = np.concatenate([bits, bits | 1 << 31]).astype(np.uint32).view(np.float32)
    right = np.array([right_result(root, [float(v)], {}, SINGLE, bits=32)[0] for v in x], np.float32)
    rounded, is_decided = found.rounded(np.float32, x.astype(np.float64))
    assert is_decided.all()
    assert np.array_equal(bits_of(rounded), bits_of(right))


@pytest.mark.parametrize("factor", [1.5, 1.25, 0.625, 7.0])
@pytest.mark.parametrize("function", [f.sin, f.expm1, f.log1p])
def test_ties_of_float64_lie_where_the_next_term_does(function, factor):
    """A product with a number of a few bits is a tie for many numbers of 53 bits; the next term is 2**-110 of it, or less."""
    (root,) = ogive.operator(lambda x: factor * function(x)).formula(for_doubles=True)
    double = ELEMENT_TYPES["float64"]
    found = leading_of(root, {}, (double, double))
    random = np.random.default_rng(2)
    x = np.ldexp(random.integers(1 << 52, 1 << 53, 60).astype(np.float64), random.integers(-1000, -152, 60))
    x = np.concatenate([x, -x])
    rounded, is_decided = found.rounded(np.float64, x)
    assert is_decided.all()
    assert rounded.tolist() == [right_result(root, [v], {}, double)[0] for v in x.tolist()]


@pytest.mark.parametrize("operator", ["relu", "elu", "cbrt", "sqrt", "log", "reciprocal"])
def test_there_is_none_where_nothing_is_known_of_the_rest(operator):
    """A straight line, roots, what is infinite at zero."""
    spec = of_operator(operator, "float32")
    assert leading_of(spec.root, spec.steps[0].numbers, (spec.output, spec.output)) is None


@pytest.mark.matrix(share=16, pool="slow")
def test_a_fraction_of_too_many_bits_is_left_alone():
    """The distance of exp2(x) from 1 is apart from it; in a series of logit, from a fraction of 20,000 bits."""
    op = ogive.operator(lambda x: ogive.logit(abs(f.exp2(x))))
    assert op(np.array([0.0, -0.0, -1.0])).tolist() == [np.inf, np.inf, 0.0]


@pytest.mark.parametrize("function", [f.erfinv, f.expm1])
def test_there_is_none_of_coefficients_beyond_words(function):
    """The coefficient of a square is 10**600, which no float64 is; results of it are numbers."""
    op, double = ogive.operator(lambda x: (function(x) * 1e300) * (function(x) * 1e300)), ELEMENT_TYPES["float64"]
    (root,) = op.formula(for_doubles=True)
    assert leading_of(root, {}, (double, double)) is None
    x = np.array([1e-300, -3e-301, 1e-310, 5e-324])
    assert op(x).tolist() == [right_result(root, [v], {}, double)[0] for v in x.tolist()]
