"""The helpers of `ogive.formula`, of numbers that lie beyond the element type, and that a result brings back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES

#: Where exp(x) is the largest number of float32 and above, of what is left of float64, and beyond.
PLACES = (11, 12, 88, 89, 100, 200, 720)


def exponential(x: float) -> Any:
    return flint.arb(x).exp()


#: A formula of x, and its value by balls.
HELPERS: dict[str, tuple[Callable[[Any], Any], Callable[[float], Any]]] = {
    "hypot": (lambda x: f.hypot(f.exp(x), 1) / f.exp(x), lambda x: (1 + exponential(-2 * x)).sqrt()),
    "hypot of two": (lambda x: f.hypot(f.exp(x), f.exp(x)) / f.exp(x), lambda x: flint.arb(2).sqrt()),
    "log of hypot": (lambda x: f.log(f.hypot(f.exp(x), 1.0)), lambda x: x + (1 + exponential(-2 * x)).log() / 2),
    "modf": (lambda x: f.modf(f.exp(x) + 0.25)[0], lambda x: exponential(x) + 0.25 - (exponential(x) + 0.25).floor()),
    "modf, whole": (lambda x: f.modf(f.exp(x))[1] / f.exp(x), lambda x: exponential(x).floor() / exponential(x)),
    "copy_sign": (lambda x: f.copysign(1, -f.exp(x)), lambda x: flint.arb(-1)),
    "sign": (lambda x: f.sign(f.exp(x)), lambda x: flint.arb(1)),
    "heaviside": (lambda x: f.heaviside(f.exp(x), 0.5), lambda x: flint.arb(1)),
    "fmax": (lambda x: f.fmax(f.exp(x), 1) / f.exp(x), lambda x: flint.arb(1)),
    "fmin": (lambda x: f.fmin(f.exp(x), 2.0), lambda x: flint.arb(2)),
    "clip": (lambda x: f.clip(f.exp(x), 0, 3.0), lambda x: flint.arb(3)),
    "larger": (lambda x: f.larger(f.exp(x), 1) * f.exp(-x), lambda x: flint.arb(1)),
    "logaddexp": (
        lambda x: f.logaddexp(f.exp(x), 0.0) / f.exp(x),
        lambda x: 1 + (1 + (-exponential(x)).exp()).log() / exponential(x),
    ),
    "logaddexp2": (lambda x: f.logaddexp2(f.exp(x), f.exp(x)) - f.exp(x), lambda x: flint.arb(1)),
    "reciprocal": (lambda x: f.reciprocal(f.exp(x)) * f.exp(x), lambda x: flint.arb(1)),
    "square": (lambda x: f.sqrt(f.square(f.exp(x))) / f.exp(x), lambda x: flint.arb(1)),
    "deg2rad": (lambda x: f.deg2rad(f.exp(x)) / f.exp(x), lambda x: flint.arb.pi() / 180),
    "rad2deg": (lambda x: f.rad2deg(f.exp(x)) / f.exp(x), lambda x: 180 / flint.arb.pi()),
    "power": (lambda x: f.power(f.exp(x), 2) * f.exp(-2 * x), lambda x: flint.arb(1)),
    "atan2": (lambda x: f.atan2(f.exp(x), 2 * f.exp(x)), lambda x: flint.arb(0.5).atan()),
    "cbrt": (lambda x: f.log(f.cbrt(f.exp(x))), lambda x: flint.arb(x) / 3),
    "mod": (lambda x: f.mod(f.exp(x) * 0 + 7.5, 2.0), lambda x: flint.arb(1.5)),
    "floor_divide": (
        lambda x: f.floor_divide(f.exp(x), 1.0) / f.exp(x),
        lambda x: exponential(x).floor() / exponential(x),
    ),
    "isnan": (lambda x: f.where(f.isnan(f.exp(x)), 2, 1), lambda x: flint.arb(1)),
    "squareplus": (
        lambda x: ogive.squareplus(f.exp(x)) / f.exp(x),
        lambda x: (1 + (1 + 4 * exponential(-2 * x)).sqrt()) / 2,
    ),
    "softsign": (lambda x: ogive.softsign(f.exp(x)), lambda x: 1 / (1 + exponential(-x))),
    "swish": (lambda x: ogive.swish(f.exp(x)) / f.exp(x), lambda x: 1 / (1 + (-exponential(x)).exp())),
    "gelu": (
        lambda x: ogive.gelu(f.exp(x)) / f.exp(x),
        lambda x: flint.arb(1) - ((exponential(x) / flint.arb(2).sqrt()).erfc() / 2),
    ),
}


@pytest.mark.matrix(share=10)
@pytest.mark.parametrize("name", HELPERS)
def test_helpers_of_numbers_beyond_the_type(name: str) -> None:
    formula, exact = HELPERS[name]
    op = ogive.operator(lambda x: formula(x))
    before = flint.ctx.prec
    try:
        flint.ctx.prec = 3000
        values = [exact(x) for x in PLACES]
    finally:
        flint.ctx.prec = before
    for dtype in ("float16", "bfloat16", "float32"):
        x = np.array(PLACES, ELEMENT_TYPES[dtype].numpy)
        assert [float(given) for given in x] == list(map(float, PLACES))
        for place, found, value in zip(PLACES, op(x), values, strict=True):
            distance = abs(flint.arb(float(found)) - value)
            unit = float(np.spacing(np.abs(np.float32(found)))) * {"float16": 2**13, "bfloat16": 2**16}.get(dtype, 1)
            assert distance <= unit / 2 * (1 + 2.0**-30), (dtype, place, float(found), str(value))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_infinite_operands_are_infinite(dtype: str) -> None:
    """An infinity by its formula: an operand, and 1/0."""
    x = np.array([np.inf, -np.inf, 0.0, np.nan], ELEMENT_TYPES[dtype].numpy)
    hypot = ogive.operator(lambda x: f.hypot(x * 2, 1))
    assert hypot(x).astype(float).tolist()[:3] == [np.inf, np.inf, 1.0]
    assert ogive.operator(lambda x: f.hypot(1 / x, float("nan")))(x).astype(float).tolist()[2] == np.inf
    fraction = ogive.operator(lambda x: f.modf(x * 2)[0])(x).astype(float)
    assert fraction.tolist()[:3] == [0.0, 0.0, 0.0]
    assert np.signbit(fraction).tolist()[:2] == [False, True]


def test_what_hypot_of_a_product_reaches() -> None:
    op = ogive.operator(lambda x: f.hypot(x * 1e30, x * 1e30) / 1e30)
    assert op(np.float32([1e15]))[0] == np.float32(1e15 * np.sqrt(2))
    op = ogive.operator(lambda y: f.log1p(f.expm1(f.hypot(y, 100))))
    assert op(np.float32([1528.74]))[0] == np.float32(np.hypot(np.float64(np.float32(1528.74)), 100))
