"""Formulas around an operator, in MPFR's words: the second oracle of `oracle.py` with more around it.

An operator's value is what its definition there says, in hundreds of bits. Derivatives are differences of such values, so no rule of
differentiation has a part in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpfr

import ogive
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.operators.operator import Operator
from tests.golden import oracle

#: Bits of values, and how many more for each unit of the operand: those of ``1 - tanh(x)`` are 2.9 a unit.
BITS, MORE_BITS = 800, 3

#: Operands of differences are so far apart, relative to them, as an exponent of two; and how many bits they may be wrong by.
STEP, WRONG = 220, 60

#: Infinite operands of derivatives are taken as one so large.
FAR = mpfr(2) ** 1100

NUMBERS = [1e-30, 0.5, 40, 100, 1500, math.inf]
POINTS = [sign * x for x in NUMBERS for sign in (1, -1)]

#: Operators whose slope at infinity is no limit of slopes far out, or falls slowly.
STEPPED = frozenset(
    {"cbrt", "ceil", "clamp", "floor", "mod", "modulus_floor", "modulus_truncate", "pow", "round", "sqrt", "trunc"}
)

#: The operands of several tensors behind the first one.
OTHERS = 0.75, -2.5, 1.5

Value = Callable[[Any], Any]


class Form(NamedTuple):
    """A formula around an operator: as users write it, and in MPFR's words, of a definition and an operand."""

    written: Callable[[Any, Any], Any]
    exact: Callable[[Value, Any], Any]
    order: int = 0
    """The order of the derivative that is taken of it."""


FORMS: dict[str, Form] = {
    "op": Form(lambda y, x: y, lambda f, x: f(x)),
    "-op": Form(lambda y, x: -y, lambda f, x: -f(x)),
    "abs(op)": Form(lambda y, x: abs(y), lambda f, x: abs(f(x))),
    "-2 * op": Form(lambda y, x: -2 * y, lambda f, x: -2 * f(x)),
    "op * 0.7": Form(lambda y, x: y * 0.7, lambda f, x: f(x) * mpfr(0.7)),
    "op * -3": Form(lambda y, x: y * -3, lambda f, x: f(x) * -3),
    "where(x < 1, -op, x)": Form(lambda y, x: f.where(x < 1, -y, x), lambda f, x: -f(x) if x < 1 else x),
    "log(abs(op))": Form(lambda y, x: f.log(abs(y)), lambda f, x: gmpy2.log(abs(f(x)))),
    "ceil(op)": Form(lambda y, x: f.ceil(y), lambda f, x: gmpy2.rint_ceil(f(x))),
    "op * x": Form(lambda y, x: y * x, lambda f, x: f(x) * x),
    "op'": Form(lambda y, x: y, lambda f, x: f(x), 1),
    "op''": Form(lambda y, x: y, lambda f, x: f(x), 2),
}


def definition(name: str) -> Value:
    """An operator's formula, of its first operand."""
    if name in oracle.FORMULAS:
        return oracle.FORMULAS[name]
    op = OPERATORS[name]
    return lambda x: oracle.OF_SEVERAL[name](x, *map(mpfr, OTHERS[: op.inputs - 1]))


def operators() -> Iterator[str]:
    """The element-wise operators that have a definition: of floating-point numbers, with one result."""
    for name, op in OPERATORS.items():
        is_known = name in oracle.FORMULAS or name in oracle.OF_SEVERAL
        if is_known and any(all(t.is_float for t in (*s.inputs, *s.outputs)) for s in op.signatures):
            yield name


def parameter(value: float) -> float:
    """A parameter that means the same in all element types and in a formula: next to its default."""
    single = np.float32(value)
    return value if float(single) == value else float(np.float32(value).astype(element_type("bfloat16").numpy))


def given(op: Operator) -> dict[str, float]:
    """The parameters that are no such numbers by default, or have none."""
    of_operator = {p.name: parameter(p.default) for p in op.numeric_parameters if not p.is_required}
    return oracle.required(op.name) | {
        p.name: of_operator[p.name]
        for p in op.numeric_parameters
        if not p.is_required and of_operator[p.name] != p.default
    }


@contextmanager
def _parameters() -> Iterator[None]:
    """The oracle's definitions with these parameters."""
    single = oracle._single
    oracle._single = lambda value: mpfr(parameter(value))
    try:
        yield
    finally:
        oracle._single = single


def written(name: str, form: str, kind: str) -> Operator:
    """The formula as an operator of one element type."""
    op = OPERATORS[name]
    around = FORMS[form]
    made: Operator = ogive.operator(types=[kind])(
        lambda x: around.written(op(x, *OTHERS[: op.inputs - 1], **given(op)), x)
    )
    for _ in range(around.order):
        made = ogive.grad(made)
    return made


def points(kind: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array(POINTS).astype(element_type(kind).numpy)


class Right(NamedTuple):
    """A right result. None: MPFR does not tell."""

    value: Any
    has_sign: bool = True
    """Whether the sign of a zero is known."""


def exact(name: str, form: str, x: float) -> Right | None:
    """The value of a form around an operator; None where it has none, or MPFR does not tell."""
    return _exact(name, form, x.hex())  # -0 is another operand than 0


@cache
def _exact(name: str, form: str, number: str) -> Right | None:
    around, x = FORMS[form], float.fromhex(number)
    compute = partial(around.exact, definition(name))
    with gmpy2.context(context(x)) as current, _parameters():
        if around.order:
            return None if name in STEPPED and math.isinf(x) else difference(compute, mpfr(x), around.order)
        found = compute(mpfr(x))
        if (
            form == "ceil(op)"
        ):  # a value that these bits take for a whole number lies on one side of it, or on the other
            for mode in (gmpy2.RoundDown, gmpy2.RoundUp):
                current.round = mode
                if compute(mpfr(x)) != found:
                    return None
        # A value that they take for 1 has the logarithm 0, of either sign.
        return Right(found, has_sign=form != "log(abs(op))")


def difference(compute: Value, x: Any, order: int) -> Right | None:
    """The derivative as a difference; None at kinks, at zero, and where values are not finite or slopes fall slowly."""
    if gmpy2.is_infinite(x):
        if gmpy2.is_nan(compute(x)):
            return None
        x = gmpy2.copy_sign(FAR, x)
    if x == 0:
        return None
    step = abs(x) * mpfr(2) ** -STEP
    far_below, below, here, above, far_above = (compute(x + place * step) for place in (-2, -1, 0, 1, 2))
    values = far_below, below, here, above, far_above
    if not all(map(gmpy2.is_finite, values)):
        return None
    size = max(map(abs, values))
    sides = (here - below, above - here) if order == 1 else (far_below - 2 * below + here, here - 2 * above + far_above)
    left, right = (side / step**order for side in sides)
    noise = size / abs(x) ** order * mpfr(2) ** (order * STEP + WRONG - gmpy2.get_context().precision)
    if abs(left - right) > (abs(left) + abs(right)) * mpfr(2) ** (WRONG - STEP) + noise:
        return None
    found = (above - below) / (2 * step) if order == 1 else (below - 2 * here + above) / step**2
    return Right(mpfr(0) if abs(found) <= noise else found, has_sign=False)


def context(x: float) -> Any:
    bits = BITS + (MORE_BITS * math.ceil(abs(x)) if math.isfinite(x) else 0)
    return gmpy2.context(precision=bits, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min(), trap_divzero=False)


def is_right(found: float, right: Right, kind: str) -> bool | None:
    """Whether a result is the nearest number of its type; None next to a tie."""
    value = right.value
    if gmpy2.is_nan(value) or math.isnan(found):
        return bool(gmpy2.is_nan(value)) and math.isnan(found)
    precision, largest, least = oracle.CONTEXTS.get(kind, (53, 1024, -1073))
    narrow = gmpy2.context(precision=precision, emax=largest, emin=least, subnormalize=True)
    with gmpy2.context(context(0.0)) as wide:
        nearest = oracle._to(value, narrow, precision, wide)
    if nearest is None:  # next to 1 a value may be more than these bits hold
        return None
    if nearest == 0 and (right.has_sign or value != 0):
        return found == 0 and math.copysign(1, found) == math.copysign(1, nearest)
    return nearest == found
