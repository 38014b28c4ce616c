"""Whole numbers, comparisons and remainders of computed numbers that are whole, or next to nothing beside a whole number.

Where all bits do not tell a number from a whole one it counts as that, exactly: `ceil(exp(log(10)))` is 10. Where it is known on
which side of a whole number another one lies, however near, that decides: tanh(10000) is less than 1, so its floor is 0.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import exact_value, right_result
from ogive.laboratory.accuracy import error_in_ulp

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}


def same(x: Any) -> Any:
    """The operand, in a way that bits do not prove: every positive number is the exponential of its logarithm."""
    return np.exp(np.log(x))


def one(x: Any) -> Any:
    return np.sin(x) ** 2 + np.cos(x) ** 2


def of(rounds: Any, function: Any) -> Any:
    return lambda x: rounds(function(x))


WHOLES = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}

#: A number that is whole, or half of a whole number, or next to nothing beside one; operands; and what floor, ceil, trunc
#: and rint make of it.
BESIDE: dict[str, tuple[Any, list[float], list[list[float]]]] = {
    "same": (same, [10, 3, 96], [[10, 3, 96]] * 4),
    "a half": (same, [0.5, 2.5, 3.5], [[0, 2, 3], [1, 3, 4], [0, 2, 3], [0, 2, 4]]),
    "negative": (lambda x: -(np.sqrt(x) ** 2), [2, 3, 5], [[-2, -3, -5]] * 4),
    "negative half": (lambda x: -same(x), [0.5, 2.5], [[-1, -3], [-0.0, -2], [-0.0, -2], [-0.0, -2]]),
    "one": (one, [2, 3, 5], [[1, 1, 1]] * 4),
    "tanh": (np.tanh, [1e4, -1e4], [[0, -1], [1, -0.0], [0, -0.0], [1, -1]]),
    "sigmoid": (ogive.sigmoid, [5000.0], [[0], [1], [0], [1]]),
    "swish": (ogive.swish, [1024, 4096], [[1023, 4095], [1024, 4096], [1023, 4095], [1024, 4096]]),
    "ndtr": (ogive.ndtr, [100, 200], [[0, 0], [1, 1], [0, 0], [1, 1]]),
    "exponential": (lambda x: 1 - np.exp(-x), [1e4, 2e4], [[0, 0], [1, 1], [0, 0], [1, 1]]),
    "above": (lambda x: 2 + np.exp(-x), [5000, 6000], [[2, 2], [3, 3], [2, 2], [2, 2]]),
    "above a half": (lambda x: 2.5 + np.exp(-x), [5000, 6000], [[2, 2], [3, 3], [2, 2], [3, 3]]),
    "below a half": (lambda x: np.exp(-x) * -1 - 2.5, [5000, 6000], [[-3, -3], [-2, -2], [-2, -2], [-3, -3]]),
    "above zero": (lambda x: np.exp(-x), [5000, 6000], [[0, 0], [1, 1], [0, 0], [0, 0]]),
}

#: Comparisons and choices of such numbers.
CHOSEN: dict[str, tuple[Any, list[float], list[float]]] = {
    "tanh is less than 1": (lambda x: np.where(np.tanh(x) < 1, x, -x), [1e4, 2e4], [1e4, 2e4]),
    "1 is more than tanh": (lambda x: np.where(np.tanh(x) < 1, -x, x) * -1, [1e4, 2e4], [1e4, 2e4]),
    "tanh is not 1": (lambda x: np.where(np.equal(np.tanh(x), 1), -x, x), [1e4, 2e4], [1e4, 2e4]),
    "sigmoid is not 1": (lambda x: np.where(ogive.sigmoid(x) >= 1, -x, x), [5000, 6000], [5000, 6000]),
    "more than 2": (lambda x: np.where(2 + np.exp(-x) > 2, x, -x), [5000, 6000], [5000, 6000]),
    "the same": (lambda x: np.where(np.equal(same(x), x), x, -x), [3, 10], [3, 10]),
    "not less": (lambda x: np.where(same(x) < x, -x, x), [3, 10], [3, 10]),
    "not more": (lambda x: np.where(same(x) <= x, x, -x), [3, 10], [3, 10]),
    "not more than one": (lambda x: np.where(one(x) > 1, -x, x), [3, 10], [3, 10]),
    "a magnitude": (lambda x: abs(np.floor(-np.tanh(x))), [1e4, 2e4], [1, 1]),
    "a product": (lambda x: np.floor(np.tanh(x)) * -x, [1e4, 2e4], [-0.0, -0.0]),
    "a gate": (lambda x: ogive.relu(np.ceil(np.tanh(x)) - 1), [1e4, 2e4], [0, 0]),
}

#: Remainders by a number that divides the other one, or next to nothing less.
RESTS: dict[str, tuple[Any, list[float], list[float]]] = {
    "%": (lambda x: x % same(abs(x) / 2), [6, -6, 10], [0, 0, 0]),
    "fmod": (lambda x: np.fmod(x, same(abs(x) / 2)), [6, -6, 10], [0, -0.0, 0]),
    "//": (lambda x: x // same(abs(x) / 2), [6, -6, 10], [2, -2, 2]),
    "% of less": (lambda x: 3 % (2 + np.tanh(x * 1000)), [10, 11], [0, 0]),
    "// by less": (lambda x: 3 // (2 + np.tanh(x * 1000)), [10, 11], [1, 1]),
    "// by more": (lambda x: 3 // (4 - np.tanh(x * 1000)), [10, 11], [0, 0]),
}

CASES = {
    **{
        f"{way} of {name}": (of(WHOLES[way], function), x, results[i])
        for name, (function, x, results) in BESIDE.items()
        for i, way in enumerate(WHOLES)
    },
    **CHOSEN,
    **RESTS,
}


@pytest.mark.parametrize("name", CASES)
def test_enclosures(name: str) -> None:
    formula, operands, results = CASES[name]
    (root,) = ogive.operator(formula).formula()
    for kind in TYPES:
        for x, wanted in zip(operands, results, strict=True):
            found, _ = right_result(root, [x], {}, ELEMENT_TYPES[kind])
            assert_same(found, TYPES[kind](wanted))


@pytest.mark.matrix(share=24)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str, kind: str) -> None:
    formula, operands, results = CASES[name]
    x = np.array(operands, TYPES[kind])
    with np.errstate(all="ignore"):
        wanted = np.array(results).astype(x.dtype)
    assert_same(ogive.operator(formula)(x), wanted)


def assert_same(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.tolist() == wanted.tolist()
    assert np.signbit(found).tolist() == np.signbit(wanted).tolist()


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("function", [of(np.floor, np.tanh), lambda x: f.where(ogive.sigmoid(x) < 1, x, 0)])
def test_a_known_side_decides_without_enclosures(function: Any, kind: str, asked: Any) -> None:
    op, x = ogive.operator(function), np.linspace(5000, 9000, 4000, dtype=kind)
    op(x)
    assert not asked


#: Remainders of and by computed numbers.
OF_COMPUTED = {
    "% of exp": lambda x, y: x % np.exp(y),
    "fmod of exp": lambda x, y: np.fmod(x, np.exp(y)),
    "product %": lambda x, y: (x * 1.1) % y,
    "% of product": lambda x, y: x % (y * 1.1),
    "fmod of products": lambda x, y: np.fmod(x * 1.1, y * 1.1),
    "// of exp": lambda x, y: x // np.exp(y),
    "product //": lambda x, y: (x * 1.1) // y,
    "negated and multiplied": lambda x, y: -(x % np.exp(y)) * x,
    "magnitude": lambda x, y: abs(np.fmod(x, np.sin(y))),
    "chosen": lambda x, y: np.where(x % np.exp(y) > y, x, -np.fmod(x * 1.1, y)),
    "inside": lambda x, y: np.tanh((x * 1.1) % y),
}


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", OF_COMPUTED)
def test_remainders_of_computed_numbers(name: str, kind: str) -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(0, 100, 300).astype(kind), random.uniform(0.5, 3, 300).astype(kind)
    op = ogive.operator(OF_COMPUTED[name])
    (root,) = op.formula()
    exact = [str(exact_value(root, pair, {})) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    errors = error_in_ulp(op(x, y), np.array(exact, np.longdouble), kind)
    # The exact numbers are rounded to long double, which has eleven bits more than float64.
    assert errors.max() <= (0.5 + 2.0**-11 if kind == "float64" else 0.5)


@pytest.mark.matrix(share=16, pool="slow")
def test_infinite_divisors_and_quotients_beyond_all_bits() -> None:
    op = ogive.operator(lambda x, y: np.fmod(np.exp(x), np.exp(y)))
    with np.errstate(all="ignore"):
        for kind in TYPES.values():
            x = np.array([0, 1, -np.inf]).astype(kind)
            assert_same(op(x, np.full(3, np.inf).astype(kind)), np.exp([0, 1, -np.inf]).astype(kind))
            assert np.isnan(
                op(np.array([np.inf, 1]).astype(kind), np.array([1, -np.inf]).astype(kind)).astype(float)
            ).all()
        rest = op(np.float64([300, 400, 500]), np.float64([1, 2, -3]))
    assert ((rest >= 0) & (rest < np.exp([1, 2, -3]))).all()


#: Formulas of whole numbers that are large, and some of which are not.
LARGE: dict[str, Any] = {
    "floor": lambda x: np.floor(np.exp(x)),
    "ceil, opposed": lambda x: -np.ceil(np.exp(x)),
    "trunc of a product": lambda x: np.trunc(x * x * x * -1.1) * x,
    "rint, its magnitude": lambda x: abs(np.rint(-np.sinh(x))),
    "logarithm": lambda x: np.log(np.ceil(np.exp(x))),
    "choice": lambda x: np.where(np.floor(np.exp(x)) > 1e10, np.floor(np.exp(x)), -x),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", LARGE)
def test_large_whole_numbers_need_no_enclosures(name: str, dtype: str, asked: Any) -> None:
    """A number beyond 2**40 is nearly the whole one that is next to it, also where its words do not tell which."""
    x = np.random.default_rng(7).uniform(2, 88, 300).astype(TYPES[dtype])
    op = ogive.operator(types=[dtype])(LARGE[name])
    with np.errstate(all="ignore"):
        found = op(x)
    assert not asked
    (root,) = op.formula(for_doubles=dtype == "float64")
    right = [right_result(root, [float(v)], {}, ELEMENT_TYPES[dtype])[0] for v in x[:12]]
    assert found[:12].astype(float).tolist() == right


@pytest.mark.matrix(share=16, pool="slow")
def test_remainders_of_long_quotients_need_no_enclosures(asked: Any) -> None:
    """Two words have the last integer of a quotient up to 2**75."""
    x = np.random.default_rng(8).uniform(20, 40, 200).astype(np.float32)
    for formula in (lambda x: np.fmod(np.exp(x), x), lambda x: -(np.exp(x) % x)):
        op = ogive.operator(types=["float32"])(formula)
        found = op(x)
        (root,) = op.formula()
        assert found[:8].tolist() == [right_result(root, [float(v)], {}, ELEMENT_TYPES["float32"])[0] for v in x[:8]]
    assert not asked


#: Functions that lie between -1 and 0, next to -1 far to the left.
NEXT_TO_MINUS_ONE = [np.tanh, ogive.erf, np.expm1, ogive.scaled_tanh, ogive.elu, lambda x: -ogive.sigmoid(-x)]


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("rounded", [np.ceil, np.trunc])
def test_what_lies_next_to_minus_one_becomes_minus_zero(rounded, dtype):
    """The whole number of the second word is 1, and a sum of -1 and 1 is 0 without a sign."""
    x = -np.array([3, 5.5, 8, 10, 15, 18, 19, 20, 25, 30, 40, 60, 100, 300], dtype)
    for function in NEXT_TO_MINUS_ONE:
        for around in (function, of(np.negative, function)):
            results = ogive.operator(of(rounded, around))(x)
            assert (results == (0 if around is function or rounded is np.trunc else 1)).all()
            assert (np.signbit(results) == (around is function)).all()
