"""Derivatives of activations under the fast contract: forms with one exponential and one division.

With E = exp(-abs(u)), which neither overflows nor loses digits:

    logistic(u) logistic(-u)                = E / (1 + E)**2
    1 / cosh(u)**2                          = F / (1/2 + F/2)**2,   F = exp(-2 abs(u))
    logistic(u) (1 + w logistic(-u))        = (E (1 + w) + (E**2 if u < 0 else 1)) / (1 + E)**2

The last one is the derivative of x logistic(u(x)) for w = x u'(x). It crosses zero where E (1 + w) cancels the rest: there
its absolute error is small, not its relative one.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ogive import operations as ops
from ogive.expression import Expression
from ogive.numerics.elementary import fast as rules
from ogive.numerics.elementary.fast import Argument
from ogive.numerics.machine import Machine

__all__ = ["bell", "cosh", "decay", "gate_slope", "is_power_of_two", "one_per_cosh_squared", "tail_on_both_sides"]


def decay(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``exp(-factor * abs(a))``; the factor is a power of two."""
    w = a.w if a.w is None else m.abs_(a.w)
    if w is not None and is_power_of_two(w):
        factor *= float(w.attribute)
        w = None
    return rules.exp(m, replace(a, x=m.abs_(a.x), w=w, sign=-1.0), factor)


def bell(m: Machine, e: Expression) -> Expression:
    """The derivative of the logistic function, ``e / (1 + e)**2``."""
    total = m.add_(m.number(1.0), e)
    return m.div_(e, m.mul_(total, total))


def one_per_cosh_squared(m: Machine, e: Expression) -> Expression:
    """``4 * e / (1 + e)**2`` for e = exp(-2 abs(u))."""
    half = m.fma_(e, m.number(0.5), m.number(0.5))
    return m.div_(e, m.mul_(half, half))


def gate_slope(m: Machine, e: Expression, w: Expression, is_negative: Expression) -> Expression:
    """``logistic(u) * (1 + w * logistic(-u))`` for e = exp(-abs(u))."""
    one = m.number(1.0)
    rest = m.select_(is_negative, m.mul_(e, e), one)
    total = m.add_(one, e)
    return m.div_(m.fma_(e, m.add_(one, w), rest), m.mul_(total, total))


def cosh(m: Machine, e: Expression) -> Expression:
    """``(e + 1 / e) / 2`` for e = exp(-abs(u))."""
    return m.fma_(e, m.number(0.5), m.div_(m.number(0.5), e))


def tail_on_both_sides(m: Machine, a: Expression, is_negative: Expression) -> Expression:
    """The tail of the normal distribution beyond a number, of whose magnitude ``a`` is."""
    tail = rules.normal_tail(m, a)
    return m.select_(is_negative, m.sub_(m.number(1.0), tail), tail)


def is_power_of_two(constant: Expression) -> bool:
    """Whether this is a constant by which multiplying is exact."""
    return constant.operation == ops.CONSTANT and abs(math.frexp(constant.attribute)[0]) == 0.5
