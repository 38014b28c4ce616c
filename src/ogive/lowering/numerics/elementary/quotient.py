"""Quotients of two polynomials, where float64 computes what is wanted in float32.

They need fewer terms than one polynomial, and the two are computed side by side, by short chains of instructions; the
division runs in a unit of its own. In the place of polynomials of degree 10, gelu takes a sixth less time, softplus
15 %.
"""

from __future__ import annotations

from ogive.graph.expression import Expression
from ogive.lowering.numerics.double_word import Arithmetic

__all__ = ["Quotient", "quotient"]

#: The coefficients above and below the line, lowest power first; the last one below is 1.
Quotient = tuple[tuple[float, ...], tuple[float, ...]]


def quotient(m: Arithmetic, x: Expression, coefficients: Quotient, factor: Expression) -> Expression:
    """``factor p(x) / q(x)``."""
    above, below = coefficients
    return m.div_(m.mul_(factor, m.polynomial_(x, above)), m.polynomial_(x, below))
