"""Bounds are true: of every rule, of random formulas, and of operations near the ends of the format."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ogive.graph.expression import Format, constant, formula_node, walk
from ogive.graph.operations import OPERATIONS
from ogive.lowering.numerics.bound import UNKNOWN
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import Arithmetic
from ogive.lowering.numerics.elementary.own_errors import CORRECTED, IN_WORDS, PROMOTED
from ogive.lowering.numerics.precisions import SINGLE_FOR_FLOAT16
from tests.numerics.bounded_kernel import Kinds, Values, drawn, evaluated, exactly, operand

MODES = {"promoted": PROMOTED, "corrected": CORRECTED, "in words": IN_WORDS}
ONE = sorted(set(PROMOTED) - {"atan2", "power"})
TWO = ("atan2", "power")

#: Where a function is defined.
DOMAINS = {
    "acos": (-1.0, 1.0),
    "acosh": (1.0, math.inf),
    "asin": (-1.0, 1.0),
    "atanh": (-1.0, 1.0),
    "erfinv": (-1.0, 1.0),
    "log": (0.0, math.inf),
    "log10": (0.0, math.inf),
    "log2": (0.0, math.inf),
    "log1p": (-1.0, math.inf),
}


def points(name: str, dtype: Any, count: int = 220) -> np.ndarray:
    """Operands of every size, and where rules do worst: near 1, near 1/2, halfway between powers of two, multiples of pi/2."""
    rng = np.random.default_rng(19)
    most = 127 if dtype is np.float32 else 1000
    halves = (rng.integers(-150, 150, count) + 0.5) * math.log(2)
    parts = [
        2.0 ** rng.uniform(-140, most, count),
        2.0 ** rng.uniform(-20, 10, count),
        rng.uniform(-1, 1, count),
        rng.normal(0, 3, count),
        rng.uniform(0.3, 0.6, 2 * count),
        rng.uniform(-710, 710, count),
        rng.uniform(-40, 40, count),
        1 + 2.0 ** rng.uniform(-23, 0, count),
        1 - 2.0 ** rng.uniform(-23, 0, count),
        halves * (1 + rng.normal(0, 1e-6, count)),
        np.round(rng.uniform(-1e4, 1e4, count)) * math.pi / 2,
    ]
    x = np.concatenate([*parts, -parts[0], -parts[1], -parts[4]]).astype(dtype)
    low, high = DOMAINS.get(name, (-math.inf, math.inf))
    return np.unique(x[(x > low) & (x < high)])


def pairs(name: str, dtype: Any, count: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(19)
    x = np.concatenate([2.0 ** rng.uniform(-100, 100, count), rng.uniform(0.6, 1.6, count), rng.normal(0, 9, count)])
    y = np.concatenate([rng.uniform(-7, 7, count), rng.normal(0, 500, count), rng.normal(0, 9, count)])
    return (np.abs(x) if name == "power" else x).astype(dtype), y.astype(dtype)


def measured(name: str, mode: str) -> tuple[Values, list[Any], tuple[np.ndarray, ...]]:
    dtype = np.float32 if mode == "promoted" else np.float64
    operands = pairs(name, dtype) if name in TWO else (points(name, dtype),)
    root = formula_node(name, *map(operand, range(len(operands))))
    values = evaluated(root, operands, mode=mode)
    exact = [exactly(root, *map(float, numbers)) for numbers in zip(*operands, strict=True)]
    return values, exact, operands


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_a_rule_is_as_good_as_it_says_and_not_much_better(name: str, mode: str) -> None:
    values, exact, operands = measured(name, mode)
    wrong, worst, compared = values.judged(exact)
    assert not wrong, f"{name}({[float(o[wrong[0]]) for o in operands]}) is worse than its bound"
    assert compared > len(exact) / 2
    declared = MODES[mode][name]
    # The conditions for the worst error of a rule of two words seldom come together: hundreds of roundings, and the largest exponents.
    most = 512 if mode == "corrected" else 64
    assert worst <= declared <= most * worst, f"2**{math.log2(declared):.1f} for 2**{math.log2(worst):.1f}"


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["exp", "log", "erfc", "sin", "power"])
def test_a_false_bound_is_found(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values, exact, _ = measured(name, mode)
    _, worst, _ = values.judged(exact)
    monkeypatch.setitem(MODES[mode], name, worst / 2)
    # No kernel may be remembered: the bound is part of the graph.
    false, exact, _ = measured(name, mode)
    assert false.judged(exact)[0]


def test_every_rule_has_a_bound() -> None:
    rules = {name for name, operation in OPERATIONS.items() if operation.lowering is not None}
    assert rules - {"larger", "smaller", "remainder"} == set(PROMOTED) == set(CORRECTED)
    assert set(IN_WORDS) - set(PROMOTED) == {"exp_of_sums"}  # exp, where rows are summed
    assert set(PROMOTED) < set(IN_WORDS)


# ---- formulas

UNARY = (*ONE, "square_root", "negate", "absolute")
BINARY = ("add", "subtract", "multiply", "divide", "add", "subtract", "multiply", "atan2", "power", "larger", "smaller")
CONSTANTS = [constant(Fraction(c)) for c in ("1/2", "1", "2", "1/3", "3", "1e10", "-1", "1/10", "1e-20")]
KINDS = Kinds(UNARY, BINARY, CONSTANTS)


def elements() -> np.ndarray:
    rng = np.random.default_rng(19)
    sizes = 2.0 ** rng.uniform(-140, 120, 20)
    fixed = [0, 1, -1, 0.5, 1e-3]
    parts = [sizes, -sizes[:8], rng.normal(0, 3, 30), rng.uniform(-110, 110, 12), fixed]
    return np.concatenate(parts).astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "inner"),
    [("cbrt", "expm1"), ("cbrt", "exp"), ("log", "exp"), ("log1p", "expm1"), ("square_root", "expm1")],
)
def test_a_function_of_a_computed_number_is_within_its_bound(name: str, inner: str, mode: str) -> None:
    """The bounds of two words, and where an exponential has underflowed."""
    root, x = formula_node(name, formula_node(inner, operand())), elements()
    wrong, _, _ = evaluated(root, [x], mode=mode).judged([exactly(root, float(a)) for a in x])
    assert not wrong, f"{root} at {x[wrong[0]]}"


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(40))
def test_the_exact_value_of_a_random_formula_lies_within_its_bound(seed: int, mode: str) -> None:
    source = random.Random(seed)
    root, x = drawn(source.randint(1, 4), source, KINDS), elements()
    if not any(n.operation == "input" for n in walk(root)):
        root = formula_node("add", root, operand())
    values = evaluated(root, [x], mode=mode)
    exact = [exactly(root, float(a)) for a in x]
    wrong, _, _ = values.judged(exact)
    assert not wrong, f"{root} at {x[wrong[0]]}"
    for i, ball in enumerate(exact):
        assert ball is None or math.isfinite(values.high[i]) or values.doubt[i], f"{root} at {x[i]} is not a number"


TEXTBOOK = {
    "x - tanh(x)": lambda x: formula_node("subtract", x, formula_node("tanh", x)),
    "log(1 + exp(x))": lambda x: formula_node("log", formula_node("add", constant(1), formula_node("exp", x))),
    "1 + tanh(x)": lambda x: formula_node("add", constant(1), formula_node("tanh", x)),
    "exp(x) / 2": lambda x: formula_node("multiply", constant(Fraction(1, 2)), formula_node("exp", x)),
    "log(exp(x)) - x": lambda x: formula_node("subtract", formula_node("log", formula_node("exp", x)), x),
    "exp(x) exp(-x)": lambda x: formula_node(
        "multiply", formula_node("exp", x), formula_node("exp", formula_node("negate", x))
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TEXTBOOK)
def test_formulas_that_cancel_overflow_or_saturate(name: str, mode: str) -> None:
    root, x = TEXTBOOK[name](operand()), np.linspace(-2000, 2000, 999).astype(np.float32)
    values = evaluated(root, [x], mode=mode)
    wrong, _, compared = values.judged([exactly(root, float(a)) for a in x])
    assert not wrong, x[wrong[:5]]
    assert compared > 300


# ---- what kind of bound


@pytest.mark.parametrize(
    ("name", "kind"),
    [("x - tanh(x)", "running"), ("log(1 + exp(x))", "static"), ("exp(x) / 2", "static"), ("1 + tanh(x)", "running")],
)
def test_bounds_are_static_where_nothing_cancels(name: str, kind: str) -> None:
    values = evaluated(TEXTBOOK[name](operand()), [np.float32([1.0])], mode="promoted")
    assert values.bound.kind == kind


def test_products_of_float32_are_exact() -> None:
    root = formula_node("multiply", operand(), operand(1))
    x = np.float32([1.1, 3e38, 1e-45])
    assert evaluated(root, [x, x], mode="promoted").bound.kind == "exact"


def test_arithmetic_without_bounds_has_none() -> None:
    m = Arithmetic(Format.F64)
    assert m.add(m.wide(1.0), m.wide(2.0)).error is UNKNOWN


def test_bounds_are_of_float64() -> None:
    with pytest.raises(ValueError, match="bounds are known of float64, not of f32"):
        Bounded(SINGLE_FOR_FLOAT16)


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "erf", "logistic"])
def test_functions_of_computed_operands_stay_in_their_range(name: str) -> None:
    """In float64 the operand has two words, and both may be longer than a turn."""
    import ogive

    function = getattr(np, name, None) or getattr(ogive, {"logistic": "sigmoid"}.get(name, name))
    x = np.concatenate([10.0 ** np.linspace(-300, 307, 3001), -(10.0 ** np.linspace(-300, 307, 3001))])
    for formula in (lambda v: function(v * 1.1), lambda v: function(np.exp(v)), lambda v: function(v * v * v)):
        y = ogive.operator(formula)(x)
        y = y[~np.isnan(y)]
        assert y.size > 1000
        assert np.abs(y).max() <= 1
        assert name != "logistic" or y.min() >= 0


def test_cosines_of_huge_products_are_right() -> None:
    import mpmath

    import ogive

    x = np.float64([1e15, 1e16, 1e17, 1e18, 1e20, 1e22, 1e100, 1e300])
    found = ogive.operator(lambda v: np.cos(v * 1.1))(x)
    with mpmath.workprec(1500):
        exact = [float(mpmath.cos(mpmath.mpf(v) * mpmath.mpf(1.1))) for v in x]
    np.testing.assert_allclose(found, exact, rtol=1e-15)
