"""Bounds are true where float32 computes results of 16 bits: of every rule, and of random formulas."""

from __future__ import annotations

import math
import random
from typing import Any

import flint
import ml_dtypes
import numpy as np
import pytest
from flint import arb

from ogive.graph.expression import Format, constant, formula_node, walk
from ogive.lowering.numerics.elementary.function_row import FUNCTIONS
from ogive.lowering.numerics.elementary.own_errors import SHORT
from ogive.lowering.numerics.elementary.propagation import condition_within
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from tests.numerics.bounded_kernel import BITS, Kinds, Values, drawn, evaluated_shortly, exactly, operand
from tests.numerics.bounded_kernel import FUNCTIONS as EXACT_FUNCTIONS

TESTED = {name: row.in_single for name, row in FUNCTIONS.items() if row.in_single and row.in_single.tested}
RULES = sorted(TESTED)
AS_RESULTS = {name for name, form in TESTED.items() if form.has_shorter_results}

TYPES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def every(dtype: Any, count: int, seed: int = 5) -> np.ndarray:
    """So many of the finite numbers of a type, and the usual ones."""
    rng = np.random.default_rng(seed)
    bits = rng.choice(np.arange(65536, dtype=np.uint16), count, replace=False)
    usual = rng.normal(0, 3, count).astype(dtype)
    x = np.concatenate([bits.view(dtype), usual])
    return x[np.isfinite(x.astype(np.float32))]


def operands_of(name: str, dtype: Any) -> np.ndarray:
    x = every(dtype, 1500)
    return np.abs(x[np.abs(x.astype(np.float32)) <= 1]) if name == "log1p" else x


def clamped_to_one(x: Any) -> Any:
    one, minus = constant(1), constant(-1)
    below = formula_node("select", formula_node("less", one, x), one, x)
    return formula_node("select", formula_node("less", below, minus), minus, below)


def beyond_the_type(values: Values, exact: list[Any], dtype: Any) -> list[Any]:
    """The exact values but for those that are infinite in float16, where the computed ones are so too."""
    most = 2.0**17 if dtype == np.float16 else math.inf
    return [
        None if ball is not None and abs(high) > most and abs(ball) > most else ball
        for high, ball in zip(values.high, exact, strict=True)
    ]


def test_every_rule_has_a_bound() -> None:
    as_results = {f"{name} as {kind}" for name in AS_RESULTS for kind in ("float16", "bfloat16")}
    assert {*RULES, *as_results} == set(SHORT) != set()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("is_result", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_as_good_as_it_says_and_not_much_better(name: str, is_result: bool, dtype: Any) -> None:
    x = operands_of(name, dtype)
    inner = operand() if name != "log1p" else formula_node("absolute", clamped_to_one(operand()))
    values = evaluated_shortly(formula_node(name, inner), [x], is_result=is_result)
    exact = [exactly(formula_node(name, operand()), float(a)) for a in x]
    wrong, _, compared = values.judged(beyond_the_type(values, exact, dtype))
    assert not wrong, f"{name}({float(x[wrong[0]])}) is worse than its bound"
    assert compared > len(x) / 3
    usual = np.flatnonzero((np.abs(values.high) > 2.0**-100) & ~values.doubt & np.isfinite(values.high))
    errors = [abs(arb(float(values.high[i])) / exact[i] - 1) for i in usual if abs(float(x[i])) < 40]
    worst = max(float(error.upper()) for error in errors)
    said = SHORT[f"{name} as {dtype}" if is_result and name in AS_RESULTS else name]
    assert worst <= said <= 64 * worst, f"2**{math.log2(said):.1f} for 2**{math.log2(worst):.1f}"


@pytest.mark.parametrize("name", ["exp", "tanh"])
def test_a_false_bound_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, name, 2.0**-26)
    x = every(TYPES[0], 800)
    values = evaluated_shortly(formula_node(name, operand()), [x], is_result=False)
    assert values.judged([exactly(formula_node(name, operand()), float(a)) for a in x])[0]


@pytest.mark.parametrize("limit", [0.4, 1.0, 5.0, 12.0, 26.0])
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) & set(EXACT_FUNCTIONS)))
def test_no_condition_number_is_larger_than_it_says(name: str, limit: float) -> None:
    """``u f'(u) / f(u)``, by a small step. Beyond the last limit erfc is zero."""
    flint.ctx.prec = BITS
    said = condition_within(FUNCTIONS[name], Interval(-limit, limit))
    function = EXACT_FUNCTIONS[name]
    for u in np.linspace(-limit, limit, 240):
        value, moved = function(arb(float(u))), function(arb(float(u)) * (1 + arb(2) ** -40))
        if not (value.is_finite() and moved.is_finite()) or value.contains(0):
            continue
        found = abs((moved / value - 1) * arb(2) ** 40)
        assert found < arb(said) + arb(2) ** -20, f"{name} at {u}: {found.str(5)}"


UNARY = (*RULES, "negate", "absolute", "square_root")
BINARY = ("add", "subtract", "multiply", "divide", "multiply")
CONSTANTS = [constant(c) for c in (1, 2, 3, -1, 10)]
KINDS = Kinds(UNARY, BINARY, CONSTANTS)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("seed", range(40))
def test_the_exact_value_of_a_random_formula_lies_within_its_bound(seed: int, dtype: Any) -> None:
    source = random.Random(seed)
    compared = 0
    x = every(dtype, 60, seed)
    while not compared:
        root = drawn(source.randint(1, 4), source, KINDS)
        if not any(n.operation == "input" for n in walk(root)):
            continue
        try:
            values = evaluated_shortly(root, [x], is_result=source.random() < 0.5)
        except NoSingle:
            continue
        wrong, _, compared = values.judged(beyond_the_type(values, [exactly(root, float(a)) for a in x], dtype))
        assert not wrong, f"{root} at {float(x[wrong[0]])}"


def test_a_bound_that_float32_lacks_is_rounded_upwards() -> None:
    m = SingleBounded(Format.BF16)
    assert m.number(1 + 2.0**-30).attribute == 1 + 2.0**-23
    assert m.number(0.5).attribute == 0.5


def test_bounds_are_no_subnormal_numbers_and_constants_of_a_formula_stay() -> None:
    for goal, least in ((Format.BF16, 2.0**-100), (Format.F16, 2.0**-60)):
        m = SingleBounded(goal)
        assert m.number(2.0**-160).attribute == m.number(2.0**-110).attribute == least
        assert m.wide(2.0**-110).high.attribute == 2.0**-110
        assert m.wide(-(2.0**-110)).high.attribute == -(2.0**-110)


def test_constants_are_normal_numbers() -> None:
    with pytest.raises(NoSingle, match="is no normal number of float32"):
        SingleBounded(Format.F16).wide(1e-40)
