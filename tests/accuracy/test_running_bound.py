"""The quick bounds are true: of every rule, and of every operator's results, against enclosures."""

import itertools
import math
from fractions import Fraction
from functools import partial

import flint
import numpy as np
import pytest

from ogive import formula as f
from ogive.common.dtypes import FLOATS, element_type
from ogive.enclosures.enclosure import _of_fraction, ball_of, right_result
from ogive.enclosures.enclosure import _Rules as Exact
from ogive.graph.expression import OPERATIONS, Format, lift, node
from ogive.laboratory.accuracy.running_bound import BoundRules, Estimated, Truths, evaluate_with_bounds
from tests.inputs import CASE_IDS, CASES, operands, parameter_sets

x, y = (node("input", (), i, Format.NUMBER) for i in range(2))
single = element_type("float32")

FORMATS = [np.float64, np.longdouble]
ONE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "expm1", "log", "log1p"),
    *("logistic", "normal_tail", "sin", "sinh", "tan", "tanh", "square_root", "floor", "round_even", "absolute"),
)
TWO = ("add", "subtract", "multiply", "divide", "power", "atan2", "larger", "smaller", "remainder", "copy_sign")


def points(name, dtype, count):
    """Numbers of all magnitudes, near the ends of domains, near zeros, and where the result is small."""
    generator = np.random.default_rng(sum(map(ord, name)))
    sizes = np.exp2(generator.uniform(-60, 11, count // 2)) * generator.choice([-1, 1], count // 2)
    near = generator.choice([1.0, -1.0, math.pi, math.pi / 2, 30, -80, 0.5], count // 4)
    near = near + np.exp2(generator.uniform(-50, -2, near.size)) * generator.choice([-1, 1], near.size)
    tail = generator.uniform(-40, 40, count - sizes.size - near.size)
    return np.concatenate([sizes, near, tail]).astype(dtype) * dtype(1 + 2.0**-60 if dtype is np.longdouble else 1)


def exactly(name, *fractions):
    """An enclosure of 300 bits."""
    flint.ctx.prec = 300
    try:
        value = Exact(True, 64).rule(OPERATIONS[name])(
            *(_of_fraction(flint.fmpq(q.numerator, q.denominator)) for q in fractions)
        )
        return value.kind, value.sign, None if value.kind in ("nan", "infinity") else ball_of(value)
    finally:
        flint.ctx.prec = 53


def fraction(value):
    return Fraction(*value.as_integer_ratio())


def check(name, found, i, *inputs):
    """The exact value is within the bound."""
    value, bound, known = (np.broadcast_to(part, found.value.shape)[i] for part in found)
    kind, sign, ball = exactly(name, *inputs)
    if np.isnan(value):
        assert bound == np.inf or kind == "nan", inputs
        return 0
    assert kind != "nan", inputs
    if np.isinf(value):  # huge: beyond the format
        assert bound == np.inf
        assert sign == np.sign(value)
        assert kind == "infinity" or abs(ball) > flint.arb(2) ** 900, inputs
        return 1
    if not np.isfinite(bound):
        return 0
    wrong = ball - flint.fmpq(*map(int, value.as_integer_ratio()))
    limit = flint.arb(flint.fmpq(*map(int, (bound * (1 + 2.0**-20)).as_integer_ratio())))
    assert not abs(wrong) > limit, (inputs, value, bound, ball)
    if known and kind != "zero":
        assert sign == (-1 if np.signbit(value) else 1), inputs
    return 1


@pytest.mark.matrix("name")
@pytest.mark.parametrize("dtype", FORMATS, ids=["float64", "long double"])
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name, dtype):
    given = points(name, dtype, 240)
    rule = BoundRules(dtype, 10).table[name]
    with np.errstate(all="ignore"):
        found = rule(Estimated(given, 0.0, True))
        known = sum(check(name, found, i, fraction(value)) for i, value in enumerate(given))
        # Operands that are wrong by as much as their bound says, or by a part of it.
        for size, part in itertools.product((2.0**-45, 2.0**-20, 0.1), (-1, 0.37, 1)):
            bound = np.abs(given) * dtype(size)
            found = rule(Estimated(given, bound, True))
            for i in range(0, given.size, 3):
                check(name, found, i, fraction(given[i]) + Fraction(part) * fraction(bound[i]))
    assert known >= (60 if name in ("acos", "asin", "atanh", "acosh", "log", "square_root") else 150)


@pytest.mark.parametrize("dtype", FORMATS, ids=["float64", "long double"])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name, dtype):
    a = points(name, dtype, 150)
    b = np.random.default_rng(0).permutation(points(name + "2", dtype, 150))
    rule = BoundRules(dtype, 10).table[name]
    with np.errstate(all="ignore"):
        found = rule(Estimated(a, 0.0, True), Estimated(b, 0.0, True))
        found = Estimated(*(np.broadcast_to(part, a.shape) for part in found))
        known = sum(check(name, found, i, fraction(a[i]), fraction(b[i])) for i in range(a.size))
        for size, parts in itertools.product((2.0**-45, 2.0**-12), ((-1, 1), (0.37, -0.9), (1, 1))):
            bounds = [np.abs(value) * dtype(size) for value in (a, b)]
            found = rule(*(Estimated(*each, True) for each in zip((a, b), bounds, strict=True)))
            for i in range(0, a.size, 2):
                exact = [
                    fraction(value[i]) + Fraction(part) * fraction(bound[i])
                    for value, bound, part in zip((a, b), bounds, parts, strict=True)
                ]
                check(name, found, i, *exact)
    assert known > (40 if name == "power" else 140)


def test_a_false_bound_is_found():
    given = points("exp", np.float64, 240)
    rules = BoundRules(np.float64, 10)
    rules.function = 0.0
    found = rules.table["exp"](Estimated(given, 0.0, True))
    with pytest.raises(AssertionError):
        list(map(partial(check, "exp", found), range(given.size), map(fraction, given)))


@pytest.mark.matrix("op.name", share=3)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_results_that_are_known_are_right(op, signature):
    if len(signature.outputs) != 1:
        pytest.skip("operators with one result are looked at")
    kind = signature.outputs[0]
    for values in parameter_sets(op)[:2]:
        checked = op.checked_parameters(values)
        numbers = {p.name: float(np.float32(checked[p.name])) for p in op.numeric_parameters}
        choices = {p.name: checked[p.name] for p in op.parameters if p.choices}
        root = op.formula(for_integers=signature.inputs[0].is_integer, **choices)[0]
        given = [np.concatenate([each[:60], each[-60:]]) for each in operands(signature, 80)]
        found, known = evaluate_with_bounds(root, given, numbers, kind, modular=op.modular)
        for place in np.flatnonzero(known)[::5]:
            inputs = [
                float(each[place]) if t.is_float else int(each[place])
                for each, t in zip(given, signature.inputs, strict=True)
            ]
            expected, _ = right_result(root, inputs, numbers, kind, bits=signature.inputs[0].bits, modular=op.modular)
            same = np.array([expected]).astype(kind.numpy)[0]
            both_nan = kind.is_float and np.isnan(float(same)) and np.isnan(float(found[place]))
            assert both_nan or same.tobytes() == found[place].tobytes(), (inputs, same, found[place])


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_most_results_are_known(kind):
    if kind.bits == 64 and np.finfo(np.longdouble).nmant < 60:
        pytest.skip("long double is not longer than float64 here")
    drawn = (np.random.default_rng(0).standard_normal(20_000) * 4).astype(kind.numpy)
    for root in (
        f.logistic(x),
        x * f.normal_tail(x),
        f.tanh(x),
        f.log1p(f.exp(-f.absolute(x))),
        f.where(x > 0, x, f.expm1(x)),
    ):
        known = evaluate_with_bounds(root, [drawn], {}, kind)[1]
        assert known.mean() > (0.9 if kind.bits == 64 else 0.999), root
    # Where nothing is computed that could be inexact everything is known, ties too; far out, too.
    assert evaluate_with_bounds(0.25 * x + 0.5, [drawn], {}, kind)[1].all() or kind.bits == 64
    far = np.array([-1e4, -3e4, 2e4, 6e4]).astype(kind.numpy)
    for root in (
        f.exp(x),
        f.logistic(x),
        1 / (1 + f.exp(-x)),
        x * f.logistic(x),
        f.sinh(x),
        f.erfc(x),
        f.square_root(x),
    ):
        assert evaluate_with_bounds(root, [far], {}, kind)[1].all(), root


def test_what_is_not_known():
    drawn = np.float32([1e-9, 1.0, 20.0])
    cancels = x - f.tanh(x)
    assert evaluate_with_bounds(cancels, [drawn], {}, single)[1].tolist() == [False, True, True]
    assert not evaluate_with_bounds(f.where(f.log(f.exp(x)) <= x, 1, 2), [drawn], {}, single)[1].any()
    assert not evaluate_with_bounds(f.floor(f.log(f.exp(x))), [drawn[1:]], {}, single)[1].any()
    assert not evaluate_with_bounds(x + 1, [np.float32([0, np.inf, np.nan])], {}, single)[1].any()
    # The unknown branch is not the one that is taken.
    assert evaluate_with_bounds(f.where(x > 0, x, cancels), [drawn], {}, single)[1].all()


def test_truth_values():
    rules = BoundRules(np.float64, 10)
    yes, no, unknown = (Truths(np.array(v), np.array(u)) for v, u in ((True, False), (False, False), (True, True)))
    assert not rules.both(no, unknown).unknown
    assert rules.both(yes, unknown).unknown
    either = rules.table["or"]
    assert not either(yes, unknown).unknown
    assert either(no, unknown).unknown
    small = Estimated(np.array([0.0, 1.0]), np.array([1e-300, 0.5]), True)
    zero, two = (Estimated(np.float64(v), 0.0, True) for v in (0, 2))
    # A value whose sign is known may still be zero.
    assert rules.less(zero, small).unknown.tolist() == [True, False]
    assert rules.less(small, two).value.tolist() == [True, True]
    assert lift(True).format is Format.TRUTH
