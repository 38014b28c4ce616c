"""The elementary functions of the fast contract: float32 lanes, nothing corrected but what exponentials magnify.

Every rule is made of IEEE operations (sums, products, FMA, quotients, shifts of bits), so that it gives the same bits on
every machine. It holds for numbers that are not large, and lowering/fast_contract.py computes the
others exactly.

With n the integer nearest to y / log(2) and r = y - n log(2):

    exp(y)   = 2**n * (1 + r + r**2 P(r))
    expm1(y) = 2**n * (r + r**2 P(r)) + (2**n - 1)
    tanh(a)  = e / (e + 1),   e = expm1(2 a) / 2
    Q(a)     = erfc(a / sqrt(2)) / 2 = exp(-a**2 / 2) R(a),   R(a) = quotient of polynomials in a

An argument y may be a product: then its rounding error would be magnified by y, and r is computed of both factors, by
FMA. Division is as fast as an estimate of the reciprocal and a step of Newton's, and the estimate is another one on other
processors. Horner's rule for all of exp's polynomial has a smaller error than 1 + (r + r**2 P(r)).

Derivatives of activations under the fast contract: forms with one exponential and one division.

With E = exp(-abs(u)), which neither overflows nor loses digits:

    logistic(u) logistic(-u)                = E / (1 + E)**2
    1 / cosh(u)**2                          = F / (1/2 + F/2)**2,   F = exp(-2 abs(u))
    logistic(u) (1 + w logistic(-u))        = (E (1 + w) + (E**2 if u < 0 else 1)) / (1 + E)**2

The last one is the derivative of x logistic(u(x)) for w = x u'(x). It crosses zero where E (1 + w) cancels the rest: there
its absolute error is small, not its relative one.
"""

from __future__ import annotations

from ogive.graph.expression import Expression
from ogive.lowering.numerics.elementary.argument import Argument
from ogive.lowering.numerics.elementary.derived_numbers import FAST, numbers_in_single
from ogive.lowering.numerics.elementary.exponential.exp import (
    exp_in_single,
    reduced_in_two_words,
)
from ogive.lowering.numerics.machine import Machine

__all__ = ["LIMIT_OF_TAIL", "gaussian", "normal_tail_in_single", "parts_of_tail", "tail_on_both_sides"]


#: Up to this magnitude of a the product a Q(a) is a normal number.
LIMIT_OF_TAIL = 12.875


def gaussian(m: Machine, a: Expression) -> Expression:
    """``exp(-a**2 / 2)``."""
    square = m.mul_(a, a)
    # The exponential magnifies the square's error.
    return exp_in_single(m, Argument(square, None, m.lost_of_product_(a, a, square), -1.0), 0.5)


def normal_tail_in_single(m: Machine, a: Expression) -> Expression:
    """``erfc(a / sqrt(2)) / 2`` of a number that is not negative."""
    less, above, below, shifted, _ = parts_of_tail(m, a)
    return m.div_(m.times_power_of_two_(m.fma_(less, above, above), shifted), below)


def parts_of_tail(m: Machine, a: Expression) -> tuple[Expression, Expression, Expression, Expression, Expression]:
    """``less``, ``above``, ``below``, n + magic and ``a**2``: the tail is ``2**n (less * above + above) / below``."""
    square = m.mul_(a, a)
    above, below = (_in_squares(m, a, square, part) for part in FAST["NORMAL_TAIL"])
    # exp(-a**2 / 2) times ``above``, but the exponential's last sum is never rounded.
    half = Argument(square, None, m.lost_of_product_(a, a, square), -1.0)
    shifted, r, rest = reduced_in_two_words(m, half, 0.5)
    series = (1.0, *numbers_in_single("EXP", is_short=not m.extended))
    less = m.fma_(
        m.polynomial_(r, tuple(c * -0.5 * (-0.5) ** i for i, c in enumerate(series))), r, m.mul_(rest, m.number(-0.5))
    )
    return less, above, below, shifted, square


def _in_squares(m: Machine, x: Expression, square: Expression, coefficients: tuple[float, ...]) -> Expression:
    """A polynomial of large numbers, by powers of the square of linear functions: half as many steps, and so about half
    the error of Horner's rule, where every step multiplies the error of the one before.
    """
    pairs = [coefficients[i : i + 2] for i in range(0, len(coefficients), 2)]
    value: Expression | None = None
    for low, *high in reversed(pairs):
        linear = m.fma_(x, m.number(high[0]), m.number(low)) if high and high[0] != 1 else m.number(low)
        if high and high[0] == 1:
            linear = m.add_(x, m.number(low))
        value = linear if value is None else m.fma_(value, square, linear)
    assert value is not None
    return value


# ---- derivatives of activations under the fast contract: forms with one exponential and one division


def tail_on_both_sides(m: Machine, a: Expression, is_negative: Expression) -> Expression:
    """The tail of the normal distribution beyond a number, of whose magnitude ``a`` is."""
    tail = normal_tail_in_single(m, a)
    return m.select_(is_negative, m.sub_(m.number(1.0), tail), tail)
