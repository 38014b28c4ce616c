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

from dataclasses import replace

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, depends_on_elements
from ogive.lowering.numerics.elementary.argument import Argument, is_power_of_two
from ogive.lowering.numerics.elementary.derived_numbers import FAST
from ogive.lowering.numerics.machine import Machine

__all__ = [
    "FAR_IN_SINGLE",
    "LIMIT_OF_TAIL",
    "SATURATED_IN_SINGLE",
    "bell",
    "cosh_in_single",
    "decay",
    "exp_in_single",
    "expm1_in_single",
    "gaussian",
    "log1p_to_one",
    "logistic_in_single",
    "normal_tail_in_single",
    "one_per_cosh_squared",
    "parts_of_tail",
    "reduced_in_single",
    "tail_on_both_sides",
    "tanh_below_saturation",
    "tanh_in_single",
]

LOG2_E = float.fromhex("0x1.715476p+0")

#: log(2) in two parts, of which the first leaves 9 bits for n.
LOG_2_IN_SINGLE = float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")

#: The nearest number to log(2), which is good to 2**-29: for results of 16 bits one is enough.
NEAREST_LOG_2 = float.fromhex("0x1.62e43p-1")

#: Up to this magnitude of its argument exp is a normal number.
FAR_IN_SINGLE = 87.0

#: Up to this magnitude of a the product a Q(a) is a normal number.
LIMIT_OF_TAIL = 12.875


#: From here on tanh is 1 after rounding.
SATURATED_IN_SINGLE = 9.125


def _numbers(name: str, *, is_short: bool) -> tuple[float, ...]:
    """The coefficients of a polynomial; fewer for results of 16 bits."""
    return tuple(FAST[f"{name}_SHORT" if is_short else name])


def reduced_in_single(m: Machine, a: Argument, factor: float = 1.0) -> tuple[Expression, Expression]:
    """(n + magic, r / k) of the argument times ``factor``, a power of two; k is the factor and the sign."""
    k = factor * a.sign
    magic, log2_e = m.number(m.magic), m.number(k * LOG2_E)
    shifted = m.fma_(a.x, log2_e if a.w is None else m.mul_(a.w, log2_e), magic)
    n = m.sub_(shifted, magic)
    if a.is_short and a.w is None and a.low is None:
        return shifted, m.fma_(n, m.number(-NEAREST_LOG_2 / k), a.x)
    high, low = (m.number(-part / k) for part in LOG_2_IN_SINGLE)
    if a.w is None:
        r = m.fma_(n, high, a.x)
    else:  # n * high is exact
        r = m.exact_sum_(a.x, a.w, m.mul_(n, high))
    if a.low is None:
        return shifted, m.fma_(n, low, r)
    return shifted, m.add_(r, m.fma_(n, low, a.low))


def reduced_in_two_words(m: Machine, a: Argument, factor: float) -> tuple[Expression, Expression, Expression]:
    """The same of an argument with a low part, and what the sum that is r / k has lost."""
    shifted, r = reduced_in_single(m, a, factor)
    high, low = r.operands
    return shifted, r, m.add_(m.sub_(high, r), low)


def exp_in_single(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``exp(factor * a)`` where that is a normal number; the factor is a power of two."""
    shifted, r = reduced_in_single(m, a, factor)
    k = factor * a.sign
    series = (1.0, 1.0, *_numbers("EXP", is_short=a.is_short))
    return m.times_power_of_two_(m.polynomial_(r, tuple(c * k**i for i, c in enumerate(series))), shifted)


def expm1_over_in_single(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``expm1(factor * a) / (factor * sign)``."""
    shifted, r = reduced_in_single(m, a, factor)
    k = factor * a.sign
    tail = m.polynomial_(r, tuple(c * k ** (i + 1) for i, c in enumerate(_numbers("EXPM1", is_short=a.is_short))))
    series = m.fma_(m.mul_(r, r), tail, r)
    power = m.times_power_of_two_(m.number(1.0), shifted)
    if k == 1:
        return m.fma_(power, series, m.sub_(power, m.number(1.0)))
    return m.fma_(power, series, m.fma_(power, m.number(1 / k), m.number(-1 / k)))


def expm1_in_single(m: Machine, a: Argument) -> Expression:
    """``exp(a) - 1``. The sum loses the sign of a zero."""
    value = expm1_over_in_single(m, a)
    return m.make(ops.COPY_SIGN, value, a.value(m))


def logistic_in_single(m: Machine, a: Argument) -> Expression:
    """``1 / (1 + exp(-a))``."""
    e = exp_in_single(m, replace(a, sign=-a.sign))
    return m.div_(m.number(1.0), m.add_(m.number(1.0), e))


def tanh_in_single(m: Machine, a: Argument) -> Expression:
    """The hyperbolic tangent, at most 1 in magnitude."""
    saturated, w = m.number(SATURATED_IN_SINGLE), None
    if a.w is not None:
        assert not depends_on_elements(a.w)
        w = m.abs_(a.w)
        saturated = m.div_(saturated, w)
    x = m.abs_(a.x)
    x = m.select_(m.less_(x, saturated), x, saturated)
    return m.make(ops.COPY_SIGN, tanh_below_saturation(m, Argument(x, w)), a.value(m))


def tanh_below_saturation(m: Machine, a: Argument) -> Expression:
    """The same of a number between 0 and `SATURATED_IN_SINGLE`."""
    e = expm1_over_in_single(m, a, 2.0)
    return m.div_(e, m.add_(e, m.number(1.0)))


def log1p_to_one(m: Machine, x: Expression) -> Expression:
    """``log(1 + x)`` where x lies between 0 and 1."""
    return m.mul_(x, m.polynomial_(x, _numbers("LOG1P", is_short=not m.extended)))


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
    series = (1.0, *_numbers("EXP", is_short=not m.extended))
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


def decay(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``exp(-factor * abs(a))``; the factor is a power of two."""
    w = a.w if a.w is None else m.abs_(a.w)
    if w is not None and is_power_of_two(w):
        factor *= float(w.attribute)
        w = None
    return exp_in_single(m, replace(a, x=m.abs_(a.x), w=w, sign=-1.0), factor)


def bell(m: Machine, e: Expression) -> Expression:
    """The derivative of the logistic function, ``e / (1 + e)**2``."""
    total = m.add_(m.number(1.0), e)
    return m.div_(e, m.mul_(total, total))


def one_per_cosh_squared(m: Machine, e: Expression) -> Expression:
    """``4 * e / (1 + e)**2`` for e = exp(-2 abs(u))."""
    half = m.fma_(e, m.number(0.5), m.number(0.5))
    return m.div_(e, m.mul_(half, half))


def cosh_in_single(m: Machine, e: Expression) -> Expression:
    """``(e + 1 / e) / 2`` for e = exp(-abs(u))."""
    return m.fma_(e, m.number(0.5), m.div_(m.number(0.5), e))


def tail_on_both_sides(m: Machine, a: Expression, is_negative: Expression) -> Expression:
    """The tail of the normal distribution beyond a number, of whose magnitude ``a`` is."""
    tail = normal_tail_in_single(m, a)
    return m.select_(is_negative, m.sub_(m.number(1.0), tail), tail)
