"""Guards, such as `isfinite` of a computed number, change no result, and are answered for the stored number.

    OGIVE_EXAMPLES=500 python -m pytest tests/cpu/test_guards.py

puts that many random formulas into each guard; without, each formula is put into one of them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.graph.expression import Expression, Format, lift, node
from ogive.graph.limits import overflow_of
from ogive.lowering.lower import lower
from ogive.runtime.kernels import make_ufunc
from tests.cpu.test_random_formulas import DTYPES, VALUES, operands
from tests.random_formulas import grown

EXAMPLES = int(os.environ.get("OGIVE_EXAMPLES", "12"))
NUMPY = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
INFINITY, NAN = math.inf, math.nan

#: Each leaves every result as it is: an infinity, a NaN and all other numbers.
GUARDS: dict[str, Callable[[Any], Any]] = {
    "isfinite": lambda y: f.where(f.isfinite(y), y, f.where(y != y, NAN, f.copy_sign(INFINITY, y))),
    "isinf": lambda y: f.where(f.isinf(y), f.where(y > 0, INFINITY, -INFINITY), y),
    "isnan": lambda y: f.where(f.isnan(y), NAN, y),
    "nan_to_num": lambda y: f.nan_to_num(y, nan=NAN, posinf=INFINITY, neginf=-INFINITY),
    "== inf": lambda y: f.where(y == INFINITY, INFINITY, f.where(f.equal(-INFINITY, y), -INFINITY, y)),
    "!= inf": lambda y: f.where((y != INFINITY) & (y != -INFINITY), y, y / 1),
    "< inf": lambda y: f.where(
        y < INFINITY, f.where(y > -INFINITY, y, -INFINITY), f.where(y >= INFINITY, INFINITY, NAN)
    ),
    "<= -inf": lambda y: f.where(y <= -INFINITY, -INFINITY, f.where(y <= INFINITY, y, NAN)),
}


def results(root: Expression, kind: ElementType, tensors: list[np.ndarray], alpha: float) -> np.ndarray:
    program = lower([root], (kind,) * len(tensors), (kind,), parameter_count=1)
    with np.errstate(all="ignore"):
        found: np.ndarray = make_ufunc("random", program, parameters=[alpha])(*tensors)
    return found.view(f"u{kind.itemsize}")


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_guards_change_no_result(seed: int) -> None:
    generator = np.random.default_rng(1000 + seed)
    root = grown(generator, 2 + seed % 7)
    guards = list(GUARDS) if "OGIVE_EXAMPLES" in os.environ else [list(GUARDS)[seed % len(GUARDS)]]
    for dtype in DTYPES:
        kind = ELEMENT_TYPES[dtype]
        tensors = operands(kind, generator, 400)
        expected = results(root, kind, tensors, VALUES[seed % len(VALUES)])
        for name in guards:
            found = results(lift(GUARDS[name](root)), kind, tensors, VALUES[seed % len(VALUES)])
            places = np.flatnonzero(found != expected)[:5]
            assert not places.size, f"{name} {kind} {root}: {[[x[i] for x in tensors] for i in places]}"


def third(x: Any) -> Any:
    """1/6 + x/24 + ...: most digits cancel."""
    return (np.exp(x) - 1 - x - x * x / 2) / (x * x * x)


def far(x: Any) -> Any:
    return (x - np.tanh(x)) / x**3


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("formula", [third, far])
def test_guards_keep_the_third_level(guard: str, formula: Callable[[Any], Any]) -> None:
    x = np.float32([1e-8, 1e-9, 1e-10, 1e-11, 3e-7, 0.5])
    guarded = ogive.operator(lambda x: GUARDS[guard](formula(x)))
    assert guarded(x).tolist() == ogive.operator(lambda x: formula(x))(x).tolist()
    assert guarded(x)[:4].tolist() == [np.float32(1 / 6 if formula is third else 1 / 3)] * 4


#: As users ask, of the stored number; NumPy gives the same answers of an array.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isnan": np.isnan,
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "==": lambda y: y == INFINITY,
    "== on the left": lambda y: np.equal(-INFINITY, y),
    "!=": lambda y: y != INFINITY,
    "<": lambda y: y < INFINITY,
    "<=": lambda y: y <= INFINITY,
    ">": lambda y: y > INFINITY,
    ">=": lambda y: y >= INFINITY,
    "< of the negative": lambda y: -y < -INFINITY,
    "<= of the negative": lambda y: -y <= -INFINITY,
    "> of the negative": lambda y: -y > -INFINITY,
    ">= of the negative": lambda y: -y >= -INFINITY,
}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", NUMPY)
def test_questions_are_answered_for_the_stored_number(dtype: str) -> None:
    kind = NUMPY[dtype]
    x = np.array([0, 11, 11.0898, 11.0899, 12, 88.7, 88.8, 89, 104, 709, 710, 1000, np.inf, -np.inf, np.nan], kind)
    exponential = ogive.exp(x)
    for name, question in QUESTIONS.items():
        asked = ogive.operator(lambda x: f.where(question(np.exp(x)), 1, 0), types=[dtype])  # noqa: B023
        assert asked(x).astype(bool).tolist() == question(exponential).tolist(), name


@pytest.mark.parametrize("dtype", DTYPES)
def test_questions_of_operands_are_of_these(dtype: str) -> None:
    """A truth value as result: then the type of the operands decides."""
    kind = ELEMENT_TYPES[dtype]
    limit = float(overflow_of(kind))
    x = node("input", (), 0, Format.NUMBER)
    inputs = np.array([np.log(limit) * (1 - 2.0**-5), np.log(limit) * (1 + 2.0**-5)], NUMPY[dtype])
    program = lower([lift(f.isinf(f.exp(x)))], (kind,), (ELEMENT_TYPES["bool"],))
    assert make_ufunc("asked", program)(inputs).tolist() == [False, True]


def test_ties_at_the_end_of_the_range() -> None:
    """65520 lies between the largest number and the first that has no room, and is rounded to infinity."""
    x = np.float16([65472.0, 65504.0])
    asked = ogive.operator(lambda x: f.where(f.isfinite(x + 16), 1, 0))
    assert asked(x).tolist() == [1, 0]
    below = ogive.operator(lambda x: f.where(f.isfinite(x + 15.999), 1, 0))
    assert below(x).tolist() == [1, 1]
