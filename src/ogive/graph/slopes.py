"""The slopes of gates and what they are made of, by their definitions: of a number of mpmath, or of a ball.

Both have operators of Python. The rest of their words is in `words`: exp, log1p, erf, erfc, roots and pi.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from ogive.graph.error_functions import erfc_of_ball, exact

#: The coefficient of gelu's approximation by tanh, as formulas have it; a multiple of it is exact.
CUBIC = Fraction(0.044715)


def _logistic_slope(k: Any, x: Any) -> Any:
    e = k.exp(-abs(x))
    return e / ((1 + e) * (1 + e))


def _tanh_slope(k: Any, x: Any) -> Any:
    return 4 * _logistic_slope(k, 2 * x)


def _bell(k: Any, x: Any) -> Any:
    return k.exp(-(x * x))


def _normal_density(k: Any, x: Any) -> Any:
    return k.exp(-(x * x) / 2) / k.root(2 * k.pi)


def _gate_slope(k: Any, x: Any) -> Any:
    """``s (1 + x (1 - s))`` for s = 1 / (1 + exp(-x))."""
    if x < 0:
        e = k.exp(x)
        return e * (1 + x + e) / ((1 + e) * (1 + e))
    e = k.exp(-x)
    return (1 + e * (1 + x)) / ((1 + e) * (1 + e))


def _normal_gate_slope(k: Any, x: Any) -> Any:
    return k.erfc(-x / k.root(2)) / 2 + x * _normal_density(k, x)


def _tanh_gate_slope(k: Any, x: Any) -> Any:
    cubic, scale = k.number(CUBIC), 2 * k.root(2 / k.pi)
    u, rise = scale * (x + cubic * x * x * x), scale * (1 + 3 * cubic * x * x)
    e = k.exp(-abs(u))
    if x < 0:
        return e / (1 + e) * (1 + x * rise / (1 + e))
    return 1 / (1 + e) * (1 + x * rise * e / (1 + e)) if x > 0 else _logistic(k, u) * (1 + x * rise * _logistic(k, -u))


def _tanh_gate_bend(k: Any, x: Any) -> Any:
    """``s (1 - s) (2 u' + x u'' - x u' u' tanh(u / 2))`` for the logistic function s of u."""
    cubic, scale = k.number(CUBIC), 2 * k.root(2 / k.pi)
    u, rise = scale * (x + cubic * x * x * x), scale * (1 + 3 * cubic * x * x)
    e = k.exp(-abs(u))
    share = (1 - e) / (1 + e)
    factor = 2 * rise + 6 * cubic * scale * x * x - (-x if x < 0 else x) * rise * rise * share
    return e / ((1 + e) * (1 + e)) * factor


def _logistic(k: Any, x: Any) -> Any:
    return 1 / (1 + k.exp(-x))


def _mish_slope(k: Any, x: Any) -> Any:
    """``g + x (1 - g g) / (1 + exp(-x))`` for g = tanh(log(1 + exp(x)))."""
    if x < 0:
        e = k.exp(x)
        root = 2 + e * (2 + e)
        return e * (4 * (1 + x) + e * (6 + 4 * x + e * (4 + e))) / (root * root)
    e = k.exp(-x)
    root = 1 + e * (2 + 2 * e)
    return 1 + e * e * (4 * x - 2 + e * (4 * (x - 1) - 4 * e)) / (root * root)


def _serf_slope(k: Any, x: Any) -> Any:
    """``erf(s) + x s' erf'(s)`` for s = log(1 + exp(x))."""
    rises = k.log1p(k.exp(x)) if x < 0 else x + k.log1p(k.exp(-x))
    rest = 2 / k.root(k.pi) * k.exp(-(rises * rises))
    share = k.exp(x) / (1 + k.exp(x)) if x < 0 else 1 / (1 + k.exp(-x))
    return (k.erf(rises) if x < 1 else 1 - k.erfc(rises)) + x * share * rest


def _normal_hazard(k: Any, x: Any) -> Any:
    """The density over the distribution function; far below by the series of Mills' ratio, cut between two terms."""
    if x < -1000:
        return -x / _mills(k, x)
    return _normal_density(k, x) / (k.erfc(-x / k.root(2)) / 2)


def _normal_hazard_slope(k: Any, x: Any) -> Any:
    """``-h (x + h)`` for the hazard h; far below, where x + h cancels, by the same series."""
    if x < -1000:
        ratio = _mills(k, x)
        return x * x * (ratio - 1) / (ratio * ratio)
    hazard = _normal_hazard(k, x)
    return -hazard * (x + hazard)


def _exp_bend(k: Any, x: Any) -> Any:
    return k.exp(x) * (1 - x) - 1


def _mills(k: Any, x: Any) -> Any:
    """``1 - u + 3 u**2 - 15 u**3 + ...`` for u = 1 / x**2."""
    u = 1 / (x * x)
    total, term = 0 * u, 0 * u + 1
    for n in range(1, 200):
        total, term = total + term, -term * (2 * n - 1) * u
    return total + k.part(term)


#: The definitions by name.
DEFINITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "logistic_slope": _logistic_slope,
    "tanh_slope": _tanh_slope,
    "bell": _bell,
    "normal_density": _normal_density,
    "gate_slope": _gate_slope,
    "normal_gate_slope": _normal_gate_slope,
    "tanh_gate_slope": _tanh_gate_slope,
    "tanh_gate_bend": _tanh_gate_bend,
    "mish_slope": _mish_slope,
    "serf_slope": _serf_slope,
    "exp_bend": _exp_bend,
    "normal_hazard": _normal_hazard,
    "normal_hazard_slope": _normal_hazard_slope,
}


def exactly(name: str, mp: Any, x: Any) -> Any:
    """The value at a finite number of mpmath."""
    words = SimpleNamespace(
        exp=mp.exp,
        log1p=mp.log1p,
        erf=lambda v: exact("erf", v),
        erfc=lambda v: exact("erfc", v),
        root=mp.sqrt,
        pi=mp.pi,
        number=lambda q: mp.mpf(q.numerator) / q.denominator,
        part=lambda term: term / 2,
    )
    return DEFINITIONS[name](words, x)


def of_ball(name: str, arb: Any) -> Callable[[Any], Any]:
    """The function that encloses all values of a ball, which has no infinity."""
    words = SimpleNamespace(
        exp=lambda v: v.exp(),
        log1p=lambda v: v.log1p(),
        erf=lambda v: v.erf(),
        erfc=erfc_of_ball,
        root=lambda v: arb(v).sqrt(),
        pi=arb.pi(),
        number=lambda q: arb(q.numerator) / q.denominator,
        part=lambda term: arb(0.5, 0.5) * term,
    )
    return lambda x: DEFINITIONS[name](words, x)
