"""Exponentials in float64 that are too large for their rules, and cancel: quotients, logarithms and products of such.

Powers of two are kept apart from numbers up to 2**20, and clamped beyond. A clamped power is no number to go on with: where the
result depends on it, enclosures decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ogive

INF = np.inf

FAR: dict[str, tuple[Any, list[float], list[float]]] = {
    "smaller by larger": (lambda x: np.exp(x) / np.exp(2 * x), [1e7, 1e300, 1e5], [0, 0, 0]),
    "larger by smaller": (lambda x: -np.exp(2 * x) / np.exp(x), [1e7, 1e300], [-INF, -INF]),
    "tiny by tinier": (lambda x: np.exp(-x * x) / np.exp(-2 * x * x), [2000, 1e150], [INF, INF]),
    "logarithm": (lambda x: np.log(np.exp(x)), [1e7, -1e7, 1e300, -1e300], [1e7, -1e7, 1e300, -1e300]),
    "binary logarithm": (lambda x: np.log2(np.exp2(x)), [1e7, -1e12], [1e7, -1e12]),
    "logarithm of sigmoid": (lambda x: np.log(ogive.sigmoid(-x)) * 2, [1e7, 1e15], [-2e7, -2e15]),
    "magnitude of a quotient": (lambda x: abs(np.sinh(-x) / np.exp(2 * x)), [1e7, 1e15], [0, 0]),
    "product": (lambda x: np.exp(x) * np.exp(-2 * x), [1e7, 1e15], [0, 0]),
    "product of inverses": (lambda x: np.exp(x) * np.exp(-x) * x, [1e7, 1e15], [1e7, 1e15]),
    "root": (lambda x: np.sqrt(np.exp(-x)) / np.exp(-x), [1e7, 1e15], [INF, INF]),
    "quotient by a sum": (lambda x: np.exp(x) / (1 + np.exp(2 * x)), [1e7, 1e15], [0, 0]),
    "expm1": (lambda x: np.expm1(2 * x) / np.expm1(x), [1e7], [INF]),
    "cosh by sinh": (lambda x: np.cosh(x) / np.sinh(-x), [1e7, 1e15], [-1, -1]),
    "powers": (lambda x: np.power(3.0, x) / np.power(3.0, 2 * x), [1e9, -1e9], [0, INF]),
    "powers of a power": (lambda x: np.power(np.power(3.0, x), 2.0) * np.power(3.0, -x), [1e9, -1e9], [INF, 0]),
    "exponential twice": (lambda x: np.exp(np.exp(x)) / np.exp(2 * np.exp(x)), [20, 700], [0, 0]),
    "difference": (lambda x: np.exp(x * x) - np.exp(2 * x * x), [2000, 1e5], [-INF, -INF]),
    "choice": (lambda x: np.where(np.exp(x) < np.exp(2 * x), x, -x), [1e7, -1e7], [1e7, 1e7]),
    "gated": (lambda x: -ogive.gelu(-x) * np.exp(x), [1e7, 1e150, 1e300], [0, 0, 0]),
    "tail by tail": (lambda x: ogive.erfc(x) / ogive.erfc(x * 1.5), [1e4, 1e7], [INF, INF]),
    "tail times exponential": (lambda x: ogive.erfc(x) * np.exp(2 * x * x), [1e4, 1e7], [INF, INF]),
    "tail by exponential": (
        lambda x: ogive.erfc(x) / np.exp(-x * x),
        [1e4, 1e7],
        [5.641895807268084e-05, 5.6418958354775346e-08],
    ),
}


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", FAR)
def test_far_powers(name: str) -> None:
    formula, operands, results = FAR[name]
    with np.errstate(all="ignore"):
        assert ogive.operator(formula)(np.float64(operands)).tolist() == results


SLOPES = [ogive.grad(op) for op in (ogive.gelu, ogive.mish, ogive.serf)]


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("op", [ogive.swish, ogive.gelu, ogive.softplus, *SLOPES], ids=lambda op: op.name)
def test_far_activations_need_no_enclosures(op: Any, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Magnitudes decide them. How few elements are worth that is not asked here: threads leave a few each."""
    monkeypatch.setattr("ogive.runtime.decide.SEVERAL", 1)
    random = np.random.default_rng(0)
    op(random.choice([-1.0, 1.0], 2000) * 10.0 ** random.uniform(3, 100, 2000))
    assert not asked


#: Powers of what has a power of two beside it, of what is next to 1, and by what is less than all numbers, or an infinity.
POWERS: dict[str, tuple[Any, float, float, float]] = {
    "of a product": (lambda x, y: np.power(x * x, y), 1e-160, 0.1, 9.99999999999996e-33),
    "of a subnormal": (lambda x, y: np.power(x * 1.5, y - 1), 3e-310, 1.5, 2.1213203435596393e-155),
    "of next to 1": (lambda x, y: np.power(x - 1, y + 1), 5e-324, 1.7e308, -0.9999999999999991),
    "quotient": (lambda x, y: np.power(x, y) / np.power(y, x), 5e-324, -INF, np.nan),
    "of an infinity": (lambda x, y: np.power(x, np.exp(y)), INF, -1e16, INF),
    "of zero": (lambda x, y: np.power(x, np.exp(y)), 0.0, -1e16, 0.0),
    "of NaN": (lambda x, y: np.power(x, np.exp(y)), np.nan, -1e16, np.nan),
}


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", POWERS)
def test_powers_of_what_is_far_from_one(name: str) -> None:
    formula, x, y, result = POWERS[name]
    found = ogive.operator(formula)(np.full(8, x), np.full(8, y))
    np.testing.assert_array_equal(found, np.full(8, result))


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(
    ("x", "y"),
    [(-1.0, 3.0), (-1e30, -2.0), (1e300, 0.7), (1e-312, 1.3), (0.0, 0.3), (1.0, 1e5), (1.0, 1e160), (np.inf, 2.0)],
)
def test_slopes_of_powers_need_no_enclosures(x: float, y: float, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a computed exponent is whole, is in doubt where it is not exact; signs of powers of positive numbers are known."""
    monkeypatch.setattr("ogive.runtime.decide.SEVERAL", 1)
    random = np.random.default_rng(0)
    bases, gradients = x * random.uniform(0.5, 2, 1000), random.normal(size=1000)
    ogive.vjp(ogive.pow, "x")(gradients, bases, np.full(1000, y))
    assert not asked
