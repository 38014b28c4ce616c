"""Activations of torch.nn that the catalogue does not have, and the derivatives that torch defines at their kinks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.formula import where
from ogive.gradients.registered import register
from ogive.operators.operator import operator


@operator
def softplus(x: Any, *, beta: Any = 1.0, threshold: Any = 20.0) -> Any:
    """Smooth rectifier: ``log(1 + exp(beta * x)) / beta`` where beta * x <= threshold, x elsewhere."""
    return where(beta * x > threshold, x, OPERATORS["softplus"](x, steepness=beta))


@operator
def hardtanh(x: Any, *, min: Any = -1.0, max: Any = 1.0) -> Any:  # noqa: A002
    """Clipping whose derivative is 0 at the bounds: ``min(max(x, min), max)``."""
    return where(x <= min, min, where(x >= max, max, x))


@operator
def hardsigmoid(x: Any) -> Any:
    """Piecewise linear sigmoid: ``min(max(x + 3, 0), 6) / 6``."""
    return where(x <= -3, 0, where(x >= 3, 1, (x + 3) / 6))


@operator
def hardshrink(x: Any, *, lambd: Any = 0.5) -> Any:
    """Hard shrinking: 0 where -lambd <= x <= lambd, x elsewhere."""
    return where((x >= -lambd) & (x <= lambd), 0, x)


@operator
def softshrink(x: Any, *, lambd: Any = 0.5) -> Any:
    """Soft thresholding: ``x - lambd`` where x > lambd, ``x + lambd`` where x < -lambd, 0 elsewhere, NaN for NaN."""
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, where(f.equal(x, x), 0, x)))


@operator
def smooth_l1(x: Any, target: Any, *, beta: Any = 1.0) -> Any:
    """Huber's loss divided by beta: ``d**2 / (2 * beta)`` where abs(d) < beta, ``abs(d) - beta / 2`` elsewhere."""
    difference = x - target
    size = f.absolute(difference)
    return where(size < beta, difference * difference / (2 * beta), size - beta / 2)


@operator
def threshold(x: Any, *, threshold: Any, value: Any) -> Any:
    """Threshold: x where x > threshold, ``value`` elsewhere."""
    return where(x <= threshold, value, x)


def _outside(x: Any, *, lambd: Any) -> Any:
    return where((x > lambd) | (x < -lambd), 1, 0)


# Derivatives that the rules would give another value at a kink.
register(hardtanh, x=lambda x, *, min, max: where((x > min) & (x < max), 1, 0))  # noqa: A006
register(hardsigmoid, x=lambda x: where((x > -3) & (x < 3), Fraction(1, 6), 0))
register(hardshrink, x=_outside)
register(softshrink, x=_outside)
