"""Results that signs and magnitudes decide are those of enclosures."""

import numpy as np
import pytest

import ogive
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result
from ogive.enclosures.magnitudes import FUNCTIONS, by_magnitude
from ogive.graph.expression import Format, walk

#: Zeros, infinities, NaN, and numbers of all sizes.
SPECIAL = np.array(
    [
        "0",
        "-0",
        "inf",
        "-inf",
        "nan",
        "1",
        "-1",
        ".5",
        "-3.5",
        "40",
        "-40",
        "700",
        "-745.5",
        "9007199254740992",
        "1e16",
        "1e30",
        "-1e30",
        "1e-30",
        "-1e-30",
        "1e300",
        "-1e300",
        "1e-300",
        "5e-324",
        "-5e-324",
    ],
    float,
)

#: Formulas with the functions of this level, and the share of results at such operands that it decides at least.
FORMULAS = {
    "exp(x)": (lambda x, y: np.exp(x), 0.7),
    "a gaussian": (lambda x, y: np.exp(-x * x) * y, 0.7),
    "a quotient of exponentials": (lambda x, y: np.exp(x) / np.exp(2 * x), 0.5),
    "log": (lambda x, y: np.log(x) + y, 0.4),
    "log1p": (lambda x, y: np.log1p(x) * y, 0.4),
    "softplus": (lambda x, y: ogive.softplus(x), 0.5),
    "gelu": (lambda x, y: ogive.gelu(x) * y, 0.4),
    "mish": (lambda x, y: ogive.mish(x), 0.5),
    "a slope of mish": (lambda x, y: ogive.grad(ogive.mish)(x), 0.4),
    "a slope of serf": (lambda x, y: ogive.grad(ogive.serf)(x), 0.4),
    "negative swish": (lambda x, y: -ogive.swish(x), 0.5),
    "inverse functions": (lambda x, y: np.arcsin(x) + np.arctanh(y), 0.3),
    "hyperbolic": (lambda x, y: np.sinh(x) - np.cosh(y), 0.3),
    "tanh": (lambda x, y: y * np.tanh(x), 0.5),
    "choices": (lambda x, y: np.where(x < y, np.maximum(x, y), np.exp(y)), 0.5),
    "a root": (lambda x, y: np.sqrt(x) / y, 0.5),
    "a power": (lambda x, y: x**y, 0.5),
    "whole numbers": (lambda x, y: np.floor(x) + np.trunc(y), 0.3),
    "a tail": (lambda x, y: ogive.erfc(x) * y, 0.5),
    "log_ndtr": (lambda x, y: ogive.log_ndtr(x), 0.2),
    "a derivative": (ogive.grad(ogive.operator(lambda x, y: ogive.gelu(x) * y), "x"), 0.4),
    "a slope by exponentials": (ogive.grad(ogive.swish), 0.5),
    "a slope of gelu": (ogive.grad(ogive.gelu), 0.5),
    "a bell": (ogive.grad(ogive.erf), 0.4),
    "slopes and their logarithms": (
        ogive.grad(ogive.operator(lambda x, y: np.log(ogive.sigmoid(x)) * ogive.tanh(y)), "x"),
        0.1,
    ),
    "a second derivative": (ogive.grad(ogive.grad(ogive.gelu)), 0.4),
    "a slope of tanh": (ogive.grad(ogive.grad(ogive.tanh)), 0.4),
    "a hazard": (ogive.grad(ogive.operator(lambda x, y: ogive.log_ndtr(x) * y), "x"), 0.4),
    "exact sums": (lambda x, y: np.tanh(x) * y + 3, 0.4),
    "an angle": (lambda x, y: np.arctan2(y, x) * y, 0.1),
    "a slope of an angle": (ogive.grad(ogive.grad(ogive.grad(ogive.atan2), "x"), "x"), 0.5),
    "a slope of a length": (ogive.grad(ogive.grad(ogive.hypot)), 0.3),
    "an exponential of a remainder": (lambda x, y: np.exp(x % y), 0.2),
}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", FORMULAS)
def test_results_are_those_of_enclosures(name, dtype):
    formula, least = FORMULAS[name]
    kind = ELEMENT_TYPES[dtype]
    op = formula if isinstance(formula, ogive.Operator) else ogive.operator(formula)
    (root,) = op.formula(for_doubles=dtype == "float64")
    random = np.random.default_rng(len(name))
    with np.errstate(all="ignore"):
        x, y = (random.permutation(SPECIAL).astype(kind.numpy).astype(np.float64) for _ in range(2))
    numbers = {p.name: p.default for p in op.numeric_parameters}
    found, is_decided = by_magnitude(root, {0: x, 1: y}, numbers, kind)
    assert is_decided.mean() >= least
    for place in np.flatnonzero(is_decided):
        expected = np.float64(right_result(root, [float(x[place]), float(y[place])], numbers, kind, bits=64)[0])
        result = np.float64(found[place])
        assert np.array_equal(result, expected, equal_nan=True), (x[place], y[place])
        assert np.isnan(expected) or np.signbit(result) == np.signbit(expected), (x[place], y[place])


@pytest.mark.parametrize("function", [ogive.erfinv, np.arctanh, np.arcsin])
def test_an_infinite_gradient_of_a_function_inside_one(function):
    op = ogive.operator(lambda x, y: function(x) * y)
    (root,) = op.formula(for_doubles=True)
    x, y = np.array([0.9921875, -0.75, 1 - 2.0**-53, 0.25]), np.array([np.inf, np.inf, -np.inf, np.inf])
    found, is_decided = by_magnitude(root, {0: x, 1: y}, {}, ELEMENT_TYPES["float64"])
    assert is_decided.all()
    assert found.tolist() == [np.inf, -np.inf, -np.inf, np.inf]


def test_a_function_without_a_rule_decides_nothing(monkeypatch):
    op = ogive.operator(lambda x: np.exp(x))
    (root,) = op.formula(for_doubles=True)
    monkeypatch.delitem(FUNCTIONS, "exp")
    _, is_decided = by_magnitude(root, {0: SPECIAL}, {}, ELEMENT_TYPES["float64"])
    assert not is_decided.any()


def test_every_function_of_the_catalogue_has_a_rule():
    """A function without one would leave huge operands to enclosures."""
    missing = set()
    for op in ogive.catalog.OPERATORS.values():
        if not op.is_row_wise and any(t.name == "float64" for s in op.signatures for t in s.inputs):
            for root in op.formula(for_doubles=True):
                numbers = [n for n in walk(root) if n.operands and n.format in (Format.NUMBER, Format.TRUTH)]
                missing |= {n.operation.name for n in numbers} - set(FUNCTIONS)
    assert missing <= {"integer_power", "bit_count", "bit_shift_left", "bit_shift_right", "quotient"}


@pytest.mark.matrix(share=16, pool="slow")
def test_powers_of_what_may_be_one_are_not_known_to_be_no_number():
    """1 to the power of NaN is 1, and so is NaN to the power of 0."""
    x, formulas = np.array([0.6, 0.75]), []
    formulas.append((lambda x: np.power(np.cosh(np.floor(x)), np.sqrt(-x)), [1.0, 1.0]))
    formulas.append((lambda x: np.power(np.sqrt(-x), np.floor(x)), [1.0, 1.0]))
    for formula, expected in formulas:
        op = ogive.operator(formula)
        _, is_decided = by_magnitude(op.formula()[0], {0: x}, {}, ELEMENT_TYPES["float64"])
        assert not is_decided.any()
        assert op(np.repeat(x, 8)).tolist() == np.repeat(expected, 8).tolist()


@pytest.mark.matrix(share=16, pool="slow")
def test_what_is_beside_a_limit_is_not_the_limit():
    """tanh of what has no logarithm of its own is less than 1, however near: so one less has a sign."""
    x = np.array([800.0, 2551.0, 1e5])
    op = ogive.operator(lambda x: np.tanh(np.exp(x) * x) - 1)
    found, is_decided = by_magnitude(op.formula()[0], {0: x}, {}, ELEMENT_TYPES["float64"])
    assert (~is_decided | np.signbit(found)).all()
    found = op(np.tile(x, 8))
    assert not found.any()
    assert np.signbit(found).all()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_irrational_limits_are_not_the_numbers_next_to_them(dtype):
    """atan of an infinity less 1 is pi / 2 - 1, whose nearest number is another one than that of the rounded pi / 2 less 1."""
    kind = ELEMENT_TYPES[dtype]
    x = np.array([np.inf, -np.inf, 0.0, -0.0, 6e4, -6e4], kind.numpy)
    for formula in (
        lambda x: np.arctan(x) - 1,
        lambda x: np.arctan(x + np.exp(-x * x)) - ogive.sigmoid(x),
        lambda x: np.arccos(x * 0) - 1.5,
        lambda x: ogive.log_ndtr(x * 0) + 0.5,
    ):
        (root,) = ogive.operator(formula).formula(for_doubles=kind.bits == 64)
        found, is_decided = by_magnitude(root, {0: x.astype(float)}, {}, kind)
        right = np.array([right_result(root, [float(value)], {}, kind)[0] for value in x], kind.numpy)
        same = (found == right) | (np.isnan(found) & np.isnan(right))
        assert (same | ~is_decided).all()
        results = ogive.operator(formula)(np.tile(x, 8)).astype(float)
        np.testing.assert_array_equal(results, np.tile(right, 8).astype(float))
