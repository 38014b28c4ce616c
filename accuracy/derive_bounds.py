"""Derive what every rule of ogive.lowering.numerics.elementary may be wrong by: run it and compare, or --write the table.

    python accuracy/derive_bounds.py [--write]

A rule's relative error has three parts, of which this adds up the largest of each:

* what its polynomials leave, with the coefficients as they are: enclosed by balls of Arb, over the whole interval that
  reduced operands lie in, in pieces (Taylor's series of the difference on each, with its remainder);
* what rounding adds. U is 2**-53. Polynomials by Horner's rule: a running bound over pieces of the interval. In a sum of what is
  added to a larger number as a correction, its share of the result counts the roundings before the last addition;
* what the reduction of the operand leaves: log(2) and pi/2 are constants of so many bits.

Five tables: `PROMOTED`, uncompensated float64 for results of fewer bits; `CORRECTED`, sums of two float64; `IN_WORDS`,
such sums in float64's own kernels, which are good to as many bits as show; and `SHORT`, float32 for results of 16 bits, where U
is 2**-24. `PAIRED` is of pairs of float32. Terms of higher
order are covered by the last step, which rounds up by 1 %.
tests/numerics/test_bounds.py compares each number with measured errors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import flint
from derived_tables import write_or_compare
from flint import arb, arb_series

from ogive.graph.expression import Format
from ogive.lowering.numerics import float_float
from ogive.lowering.numerics.elementary import double_double
from ogive.lowering.numerics.elementary.derived_numbers import FAST, POLYNOMIALS, QUOTIENTS, TABLES, TWO_OVER_PI, WORDS
from ogive.lowering.numerics.elementary.error_function import ERFC_SHORT, LIMIT_OF_TAIL, erfc_numbers, of_error_function
from ogive.lowering.numerics.elementary.exponential.exp import LOG_2_IN_SINGLE, NEAREST_LOG_2, of_exponential
from ogive.lowering.numerics.elementary.exponential.exp_of_rows import LARGEST_OF_ROW, SIXTIETH, THIRD, TWELFTH
from ogive.lowering.numerics.elementary.exponential.expm1 import COVERED
from ogive.lowering.numerics.elementary.exponential.powers_of_two import (
    OF_SHORT_ROWS,
    POWERS,
    SIXTH,
    STEP,
    STEP_LACKS,
    STEPS,
    USUAL,
    WIDE,
    Window,
    of_powers,
)
from ogive.lowering.numerics.elementary.hyperbolic import HUNDRED_TWENTIETH, LEAST_OF_SINH, SATURATED_IN_SINGLE
from ogive.lowering.numerics.elementary.trigonometric import of_cosine, of_sine
from ogive.lowering.numerics.machine import LONG

BITS = 400
U = 2.0**-53
TERMS = 16
PIECES = 128

#: Half of log(2), and how much further a reduced operand may lie: n is rounded with an error.
R = math.log(2) / 2 * (1 + 2.0**-20)
#: The error of log(2), rounded to float64.
LOG_2_ERROR = 2.3191e-17
#: The largest number of powers of two in an exponential of float64 that is a normal number.
MOST_POWERS = 1023

Function = Callable[[Any], Any]


def pieces(low: float, high: float, count: int = PIECES) -> list[tuple[float, float]]:
    step = (high - low) / count
    return [(low + i * step, low + (i + 1) * step) for i in range(count)]


def largest(difference: Function, low: float, high: float, count: int = PIECES) -> float:
    """An upper bound of a function of a power series, over an interval: Taylor's, with the remainder in a ball."""
    worst = 0.0
    for start, end in pieces(low, high, count):
        middle, half = arb((start + end) / 2), arb((end - start) / 2) * arb(1 + 2.0**-30)
        known = difference(arb_series([middle, 1], prec=TERMS + 1)).coeffs()
        whole = arb((start + end) / 2, float(half))
        rest = difference(arb_series([whole, 1], prec=TERMS + 1)).coeffs()
        total = sum((abs(c) * half**k for k, c in enumerate(known[:TERMS])), arb(0))
        if len(rest) > TERMS:
            total += abs(rest[TERMS]) * half**TERMS
        worst = max(worst, float(total.upper()))
    return worst


def at(numbers: Sequence[float], x: Any) -> Any:
    """A polynomial, lowest power first."""
    value = 0 * x + arb(numbers[-1])
    for c in reversed(numbers[:-1]):
        value = value * x + arb(c)
    return value


def series(numbers: Callable[[int], Fraction], x: Any, ratio: float, count: int = 160) -> Any:
    """A power series around zero whose terms grow no faster than powers of `ratio`, which is their end's margin."""
    value = 0 * x
    for k in reversed(range(count)):
        c = numbers(k)
        value = value * x + arb(c.numerator) / arb(c.denominator)
    return value + arb(0, ratio**count * 64)


def horner(numbers: Sequence[float], low: float, high: float, unit: float = U) -> float:
    """The largest relative error that rounding makes of a polynomial by Horner's rule with fused multiplications."""
    worst = 0.0
    for start, end in pieces(low, high):
        x, size = arb((start + end) / 2, (end - start) / 2), max(abs(start), abs(end))
        value, error = arb(numbers[-1]), 0.0
        for c in reversed(numbers[:-1]):
            value = value * x + arb(c)
            error = error * size + unit * float(abs(value).upper())
        worst = max(worst, error / float(abs(value).abs_lower()))
    return worst


def factorial(k: int) -> Fraction:
    return Fraction(1, math.factorial(k))


def _odd_sine(k: int, sign: int) -> Fraction:
    return Fraction(sign) ** k * factorial(2 * k + 1)


def _even_cosine(k: int, sign: int) -> Fraction:
    return Fraction(sign) ** k * factorial(2 * k)


def _arcsine(k: int) -> Fraction:
    return Fraction(math.comb(2 * k, k), 4**k * (2 * k + 1))


def _error_function(k: int) -> Fraction:
    return Fraction((-1) ** k, math.factorial(k) * (2 * k + 1))


def after(first: int, numbers: Callable[[int], Fraction]) -> Callable[[int], Fraction]:
    """The coefficients of what a series has beyond its first terms."""
    return lambda k: numbers(k + first)


def of_rest(
    name: str, form: Any, numbers: Callable[[int], Fraction], first: int, high: float, ratio: float, scale: Any = 1
) -> float:
    """The rest that a polynomial in the square leaves of a function that has `first` terms before it, relative to the function."""
    coefficients = POLYNOMIALS[name][form]

    def difference(z: Any) -> Any:
        rest = at(coefficients, z) - scale * series(after(first, numbers), z, ratio)
        return rest * z**first / (scale * series(numbers, z, ratio))

    return largest(difference, 0.0, high)


# ---- what polynomials leave


def exp_polynomial(coefficients: Sequence[float], reach: float, relative_to: str) -> float:
    """The bound of exp or expm1, for a polynomial that is (expm1(r) - r) / r**2, and reduced operands up to a magnitude."""

    def difference(r: Any) -> Any:
        rest = at(coefficients, r) - series(after(2, factorial), r, 0.3)
        divisor = series(after(1, factorial), r, 0.3) if relative_to == "expm1" else series(factorial, r, 0.3)
        return rest * r / divisor if relative_to == "expm1" else rest * r * r / divisor

    return largest(difference, -reach, reach)


@cache
def coth_approximation() -> float:
    """The coefficients of ``s coth(s)`` in s**2."""
    numbers = POLYNOMIALS["COTH"][LONG]

    def difference(z: Any) -> Any:
        return (
            at(numbers, z) * series(lambda k: _odd_sine(k, 1), z, 0.1) / series(lambda k: _even_cosine(k, 1), z, 0.1)
            - 1
        )

    return largest(difference, 0.0, R * R / 4)


@cache
def log_approximation(form: Any) -> float:
    low, high = math.sqrt(0.5) - 1 - 2.0**-20, math.sqrt(2) - 1 + 2.0**-20

    def log1p_over(k: int) -> Fraction:
        return Fraction((-1) ** k, k + 1)

    def difference(f: Any) -> Any:
        if form is LONG:
            above, below = QUOTIENTS["LOG1P_QUOTIENT"][LONG]
            return at(above, f) / at(below, f) / series(log1p_over, f, 0.4145) - 1
        rest = at(POLYNOMIALS["LOG1P"][form], f) - series(after(2, log1p_over), f, 0.4145)
        return rest * f * f / series(log1p_over, f, 0.4145)

    return largest(difference, low, high)


@cache
def to_one_approximation() -> float:
    above, below = QUOTIENTS["LOG1P_TO_ONE"][LONG]
    near = largest(
        lambda x: at(above, x) / at(below, x) / series(lambda k: Fraction((-1) ** k, k + 1), x, 0.26) - 1, 0.0, 0.25
    )
    far = largest(lambda x: at(above, x) / at(below, x) * x / (1 + x).log() - 1, 0.25, 1 + 2.0**-10)
    return max(near, far)


@cache
def atan_approximation() -> float:
    above, below = QUOTIENTS["ATAN_QUOTIENT"][LONG]

    def near(z: Any) -> Any:
        return at(above, z) / at(below, z) / series(lambda k: Fraction((-1) ** k, 2 * k + 1), z, 0.26) - 1

    def far(z: Any) -> Any:
        root = z.sqrt()
        return at(above, z) / at(below, z) * root / root.atan() - 1

    return max(largest(near, 0.0, 0.25), largest(far, 0.25, 1 + 2.0**-20))


def scaled_tail(a: Any) -> Any:
    """exp(a**2 / 2) erfc(a / sqrt(2)) / 2 as a power series: its derivative is ``a f - 1 / sqrt(2 pi)``, and it falls."""

    def exactly(x: Any) -> Any:
        return (x * x / 2).exp() * (x / arb(2).sqrt()).erfc() / 2

    first = a[0]
    numbers = [exactly(first.lower()).union(exactly(first.upper()))]
    for k in range(TERMS):
        next_one = first * numbers[k] + (numbers[k - 1] if k else -1 / (2 * arb.pi()).sqrt())
        numbers.append(next_one / (k + 1))
    return arb_series(numbers, prec=TERMS + 1)


@cache
def tail_approximation() -> float:
    above, below = QUOTIENTS["NORMAL_TAIL"][LONG]

    return max(
        largest(lambda a: at(above, a) / at(below, a) / scaled_tail(a) - 1, low, high)
        for low, high in ((0.0, 4.0), (4.0, 12.0), (12.0, 37.01))
    )


def composed(function: Function, inner: Any) -> Any:
    """A function of a power series, from its series around the first term."""
    outer = function(arb_series([inner[0], 1], prec=TERMS + 1))
    step = arb_series([0, *inner.coeffs()[1:]], prec=TERMS + 1)
    value = 0 * inner
    for k in reversed(range(TERMS + 1)):
        value = value * step + outer[k]
    return value


def sine(form: Any) -> float:
    return of_rest("SIN", form, lambda k: _odd_sine(k, -1), 1, 0.6170, 0.3)


def cosine(form: Any) -> float:
    return of_rest("COS", form, lambda k: _even_cosine(k, -1), 2, 0.6170, 0.3)


def quotient_rounding(name: str, low: float, high: float) -> float:
    """Both polynomials, the product with a factor and the division."""
    above, below = QUOTIENTS[name][LONG]
    return horner(above, low, high) + horner(below, low, high) + 2 * U


# ---- the rules: relative errors


def adapted_exp(r: Any) -> Any:
    """The polynomial that `of_ninth_degree` is."""
    shift, slope, start, *steps = map(arb, POLYNOMIALS["EXP_ADAPTED"][LONG])
    y = r + shift
    value = slope * y + start
    for a, b in zip(steps[::2], steps[1::2], strict=True):
        value = value * (y * y - a) + b
    return value


def adapted_exp_rounding() -> float:
    """The largest relative error that rounding makes of it; with another factor coefficients are rounded once more."""
    shift, slope, start, *steps = POLYNOMIALS["EXP_ADAPTED"][LONG]
    worst = 0.0
    for low, high in pieces(-R, R):
        y = arb((low + high) / 2, (high - low) / 2) + arb(shift)
        value = arb(slope) * y + arb(start)
        of_y = U * upper(y)
        of_square = (2 * of_y + U * upper(y)) * upper(y)
        error = abs(slope) * (of_y + U * upper(y)) + U * abs(start) + U * upper(value)
        for a, b in zip(steps[::2], steps[1::2], strict=True):
            factor = y * y - arb(a)
            error = error * upper(factor) + upper(value) * (of_square + U * upper(factor)) + U * abs(b)
            value = value * factor + arb(b)
            error += U * upper(value)
        worst = max(worst, error / float(abs(value).abs_lower()))
    return worst


def upper(value: Any) -> float:
    """No less than the magnitude."""
    return float(abs(value).upper())


def exp_series_promoted() -> float:
    return largest(lambda r: adapted_exp(r) / r.exp() - 1, -R, R) + adapted_exp_rounding()


def exp_promoted() -> float:
    """Polynomial, log(2) in one part, and the rounding of r."""
    return exp_series_promoted() + MOST_POWERS * LOG_2_ERROR + R * U


def coth_promoted() -> float:
    """Polynomial, its rounding, and that of the square, whose share of the slope is 0.02 at most."""
    return coth_approximation() + horner(POLYNOMIALS["COTH"][LONG], 0.0, R * R / 4) + 0.02 * U


def half(r: float) -> float:
    """``r coth(r / 2)``."""
    return r / math.tanh(r / 2) if r else 2.0


#: Where bounds of quotients are taken. They grow from the middle of the interval to its ends, and at zero is a limit.
SAMPLES = [R * i / 64 for i in range(-64, 65)]


def exp_quotient_promoted() -> float:
    """``(A + r) / (A - r)``: an error of A counts ``2 A r / (A**2 - r**2)`` times. Two sums, log(2) in one part."""
    share = max(2 * half(r) * abs(r) / (half(r) ** 2 - r * r) for r in SAMPLES)
    return share * coth_promoted() + 2 * U + MOST_POWERS * LOG_2_ERROR + R * U


def dividend_promoted(n: int, r: float) -> tuple[float, float]:
    """``(2**n - 1) A + (2**n + 1) r``, and what rounding makes of it, relative to it, beside an error of A."""
    power = 2.0**n
    a, product = half(r), (power + 1) * r
    value = (power - 1) * a + product
    # Powers of two beyond the precision lose 1. For n = 0 the first product is zero and the second one exact.
    lost = 0.0 if n == 0 else (U if abs(n) > 52 else 0.0) * (abs((power - 1) * a) + abs(product)) + U * abs(product)
    return value, lost / abs(value) + U


def expm1_promoted(n: int) -> float:
    """An error of A counts ``2**(n+1) A r / (dividend (A - r))`` times; a sum, a quotient, and the reduction."""
    worst = 0.0
    for r in filter(None, SAMPLES):
        value, rounding = dividend_promoted(n, r)
        a, power = half(r), 2.0**n
        share = 2 * power * a * abs(r) / (abs(value) * (a - r))
        reduction = (abs(n) * LOG_2_ERROR + U * R) * power * math.exp(r) / abs(power * math.exp(r) - 1) if n else 0.0
        worst = max(worst, share * coth_promoted() + rounding + 2 * U + reduction)
    return worst


def tanh_promoted() -> float:
    """An error of A counts ``4 2**n A r / (dividend divisor)`` times; the divisor is rounded twice, and the quotient."""
    worst = 0.0
    for n in range(-60, 61):
        for r in filter(None, SAMPLES):
            value, rounding = dividend_promoted(n, r)
            a, power = half(r), 2.0**n
            divisor = (power + 1) * a + (power - 1) * r
            share = 4 * power * a * abs(r) / abs(value * divisor)
            e = power * math.exp(r)
            reduction = (abs(n) * LOG_2_ERROR + U * R) * 2 * e / abs(e * e - 1) if n else 0.0
            of_divisor = U * (power + 1) * a / divisor + U + (2 * U if abs(n) > 52 else 0.0)
            worst = max(worst, share * coth_promoted() + rounding + of_divisor + reduction + U)
    return worst


def log_promoted() -> float:
    """The smaller of k log(2) and the rest, in magnitude, is as large as the sum: both errors are of that."""
    of_rest_ = log_approximation(LONG) + quotient_rounding("LOG1P_QUOTIENT", -0.2929, 0.4143)
    return of_rest_ + max(k * LOG_2_ERROR / (k * math.log(2) - R) for k in (1, 1075)) + U


def log1p_promoted() -> float:
    """The parts of 1 + f are rounded once, and the last bit of 1 / 2**k - 1 lost where k is large: 3 U at most of the sum."""
    to_one = to_one_approximation() + quotient_rounding("LOG1P_TO_ONE", 0.0, 1 + 2.0**-10)
    return max(log_promoted() + 3 * U, to_one)


def atan_promoted() -> float:
    """The quotient t, the square, the polynomials; pi/2 and the sum. Nothing cancels to less than a half."""
    return atan_approximation() + quotient_rounding("ATAN_QUOTIENT", 0.0, 1.0) + 4 * U


def asin_polynomial(form: Any) -> float:
    return of_rest("ASIN", form, _arcsine, 1, 0.25 * (1 + 2.0**-20), 0.2501)


def asin_promoted() -> float:
    """pi/2 - 2 asin(s) is as large as asin(s) at least, where 2 asin(s) is twice that: its error counts twice."""
    return 2 * (asin_polynomial(LONG) + 4 * U) + 2 * U


def acos_promoted() -> float:
    """2 asin(s), or a difference from pi/2 of half its size, or from pi."""
    return asin_polynomial(LONG) + 7 * U


def least_reduced_angle() -> float:
    """The nearest that a number of float32 below 2**36 comes to a multiple of pi/2: by continued fractions."""
    half_pi = 1 / TWO_OVER_PI
    nearest = Fraction(1)
    for exponent in range(-24, 13):
        unit = Fraction(2) ** exponent
        # m unit - n pi/2 with m below 2**24: convergents and what lies between them.
        value = half_pi / unit
        p0, q0, p1, q1, rest = 1, 0, int(value), 1, value - int(value)
        while p1 < 2**24 and rest:
            nearest = min(nearest, abs(p1 * unit - q1 * half_pi)) if q1 else nearest
            rest = 1 / rest
            a, rest = int(rest), rest - int(rest)
            p0, q0, p1, q1 = p1, q1, a * p1 + p0, a * q1 + q0
    return float(nearest)


def reduction_promoted() -> float:
    """The part of pi/2 that two words lack, n times, beside the smallest angle that is left; two roundings."""
    lacking = 1 / TWO_OVER_PI
    for _ in range(2):
        lacking -= Fraction(float(lacking))
    return float(abs(lacking)) * 2.0**36 / (math.pi / 2) / least_reduced_angle() + 2 * U


def sin_promoted() -> float:
    """The larger of the sine's and the cosine's error: the operand's is not magnified within pi/4."""
    of_sine = sine(LONG) + horner((1.0, *POLYNOMIALS["SIN"][LONG]), 0.0, 0.617) + U
    of_cosine = cosine(LONG) + horner((1.0, -0.5, *POLYNOMIALS["COS"][LONG]), 0.0, 0.617) + U
    return max(of_sine, of_cosine) + reduction_promoted() + 2 * U


def tan_promoted() -> float:
    return sine(LONG) + cosine(LONG) + 12 * U + 1.58 * reduction_promoted()


def sinh_promoted() -> float:
    """``(1 - w) cosh(r) + (1 + w) sinh(r)`` for each n; w is 1 for n = 0, and 1/4 where most cancels."""
    s = of_rest("SINH", LONG, lambda k: _odd_sine(k, 1), 1, R * R, 0.1) + 3 * U
    c = of_rest("COSH", LONG, lambda k: _even_cosine(k, 1), 2, R * R, 0.1) + 3 * U
    worst = 0.0
    for n in range(40):
        w = 4.0**-n
        for r in (-R, 0.0, R):
            parts = (1 - w) * math.cosh(r), (1 + w) * math.sinh(r)
            if sum(parts):
                worst = max(worst, (parts[0] * c + abs(parts[1]) * s + 3 * U * sum(map(abs, parts))) / abs(sum(parts)))
    return worst + R * U + 2 * U


def cosh_promoted() -> float:
    s = of_rest("SINH", LONG, lambda k: _odd_sine(k, 1), 1, R * R, 0.1)
    c = of_rest("COSH", LONG, lambda k: _even_cosine(k, 1), 2, R * R, 0.1)
    return 1.5 * (c + s) + 8 * U


def atanh_promoted() -> float:
    """The quotient s is rounded three times; its series; k log(2) / 2, beside which the rest is no larger than the sum."""
    rest = of_rest("ATANH_SHORT", LONG, lambda k: Fraction(1, 2 * k + 1), 1, 0.2006**2, 0.05)
    return rest + 3.1 * U + 3 * U + max(k * LOG_2_ERROR / 2 / (k * math.log(2) / 2 - 0.2) for k in (1, 52)) + 2 * U


def normal_tail_promoted() -> float:
    """The square of an operand of float64 is rounded, and the exponential magnifies that: by 37**2 / 2."""
    of_tail = tail_approximation() + quotient_rounding("NORMAL_TAIL", 0.0, 37.01) + 2 * U
    return exp_quotient_promoted() + of_tail + (37**2 / 2 + 4) * U


def erf_promoted() -> float:
    """By its series below 1/2; beyond 1 - erfc(a), where that is 0.48 at most, and little is magnified."""
    near = of_rest("ERF", LONG, _error_function, 1, 0.25, 0.2501, 2 / arb.pi().sqrt()) + 5 * U
    far = exp_quotient_promoted() + tail_approximation() + quotient_rounding("NORMAL_TAIL", 0.0, 8.5) + 42 * U
    return max(near, far * 0.4796 / 0.5204 + 2 * U)


def power_promoted() -> float:
    """The logarithm's error, 6 U and its polynomial's, is magnified by y log(x): by 709.8 at most."""
    rest = of_rest("ATANH", LONG, lambda k: Fraction(1, 2 * k + 1), 3, (3 - math.sqrt(8)) ** 2 * 1.001, 0.04)
    return 709.8 * (rest + 6 * U + U) + exp_promoted()


def exp2_promoted() -> float:
    """The reduction is exact; log(2) and its product with what is left are rounded."""
    return exp_series_promoted() + 2 * R * U


def log_to_base_promoted() -> float:
    """The rest as in log, with a factor; the constant of the power of two is rounded, and at most twice the sum."""
    rest = log_approximation(LONG) + quotient_rounding("LOG1P_QUOTIENT", -0.2929, 0.4143)
    return rest + 2 * U + 2 * U + U


def cbrt_promoted() -> float:
    """One sum is rounded; what the step leaves is below 2**-80."""
    return U + 2.0**-80


def erfinv_promoted() -> float:
    """The error of erf or erfc, as a share of y: erfc(y) / (y erf'(y)) is 1.3 where it begins. One rounding of y."""
    return 1.3 * max(normal_tail_promoted(), erf_promoted()) + 4 * U


def log_ndtr_promoted() -> float:
    """log1p(-Q) magnifies the error of Q by 2.9 at most, for Q = 0.84; the tail divides that of R. Its series: 2**-48."""
    return 3 * normal_tail_promoted() + log1p_promoted() + 2.0**-48 + 2 * U


def promoted() -> dict[str, float]:
    expm1 = max(expm1_promoted(n) for n in range(-60, 1011))
    log1p = log1p_promoted()
    return {
        "acos": acos_promoted(),
        "acosh": log1p + 6 * U,
        "asin": asin_promoted(),
        "asinh": log1p + 8 * U,
        "atan": atan_promoted(),
        "atan2": atan_promoted(),
        "atanh": atanh_promoted(),
        "cbrt": cbrt_promoted(),
        "cos": sin_promoted(),
        "cosh": cosh_promoted(),
        "erf": erf_promoted(),
        "erfc": normal_tail_promoted(),
        "erfinv": erfinv_promoted(),
        "exp": exp_promoted(),
        "exp2": exp2_promoted(),
        "expm1": expm1,
        "log": log_promoted(),
        "log10": log_to_base_promoted(),
        "log1p": log1p,
        "log2": log_to_base_promoted(),
        "log_ndtr": log_ndtr_promoted(),
        "logistic": exp_quotient_promoted() + 2 * U,
        "normal_tail": normal_tail_promoted(),
        "power": power_promoted(),
        "sin": sin_promoted(),
        "sinh": sinh_promoted(),
        "tan": tan_promoted(),
        "tanh": tanh_promoted(),
    }


# ---- two right words (double_double.py): each operation errs by a few units of U**2

#: The errors of operations on pairs, relative to their results. The literature has 5, 3 and 10 units for like algorithms
#: (Joldes, Muller and Popescu, 2017). A sum of two numbers of one sign, or of a number and one of at most 3/4 of it.
UNIT = U * U
TIMES, PLUS, PLUS_SMALLER, OVER = 6 * UNIT, 4 * UNIT, 12 * UNIT, 12 * UNIT
#: The lower parts of `Arithmetic`'s sums, products and quotients are rounded three times, and no larger than 2 U.
NUMBER = 8 * UNIT


def in_pairs(numbers: Sequence[Fraction], short: int, low: float, high: float, rounded: float = U) -> float:
    """The largest relative error that rounding makes of `double_double.polynomial`.

    The part in float64: Horner's rule, coefficients that were ``rounded``, and the second word of the operand, which it
    lacks.
    """
    worst = 0.0
    plain = [float(c) for c in numbers[short:]]
    for start, end in pieces(low, high):
        x, size = arb((start + end) / 2, (end - start) / 2), max(abs(start), abs(end))
        value, slope, error = arb(plain[-1]), arb(0), rounded * abs(plain[-1])
        for c in reversed(plain[:-1]):
            slope = slope * x + value
            value = value * x + arb(c)
            error = error * size + U * float(abs(value).upper()) + rounded * abs(c)
        error += float(abs(slope).upper()) * size * U
        for number in reversed(numbers[:short]):
            product = float(abs(value * x).upper())
            value = value * x + arb(number.numerator) / arb(number.denominator)
            error = error * size + 4 * UNIT * (product + float(abs(value).upper()) + abs(float(number)))
        worst = max(worst, error / float(abs(value).abs_lower()))
    return worst


def in_pairs_of_series(numbers: Callable[[int], Fraction], reach: float, low: float | None = None) -> float:
    """The same of `double_double.series`, and the terms that it leaves out: each less than half of the one before."""
    short, end = double_double.lengths(numbers, reach)
    kept = [numbers(k) for k in range(end)]
    return in_pairs(kept, short, 0.0 if low is None else low, reach) + 2 * 2.0**-double_double.END


def less_one_long() -> float:
    """expm1(r), relative: the series and a product."""
    return in_pairs_of_series(of_exponential, R, -R) + TIMES


#: The absolute error of an exponential's reduced operand: a sum of numbers below 1/2, and products that are smaller.
REDUCED = 3 * UNIT


def exp_long() -> float:
    """1 + expm1(r): what is added is 0.42 of the sum at most."""
    return 0.4143 * less_one_long() + REDUCED + PLUS_SMALLER / 4


def expm1_long() -> float:
    """``2**n expm1(r) + (2**n - 1)``: the shares of both parts are largest for n = 1 and the smallest r."""
    share = 2 * abs(math.expm1(-R)) / abs(2 * math.exp(-R) - 1)
    return share * less_one_long() + REDUCED * 2 * math.exp(-R) / abs(2 * math.exp(-R) - 1) + PLUS


def log_long() -> float:
    """Y + log1p(z): z is as good as the numbers that cancel in it are large, and what its two terms leave is below 2**-150.
    A multiple of log(2) is no smaller than 1.4 times the rest.
    """
    f = 0.4143
    of_z = (less_one_long() + 2 * PLUS + TIMES) * f / math.log1p(f) + 2 * UNIT
    return of_z + PLUS_SMALLER + 4 * UNIT + PLUS_SMALLER


def sine_long(reach: float) -> float:
    """The series of the square, which is a product, and a product."""
    of_square = TIMES * reach**2 / 3
    return in_pairs_of_series(of_sine, reach**2) + of_square + TIMES


def cosine_long(reach: float) -> float:
    return in_pairs_of_series(of_cosine, reach**2) + TIMES * reach**2 / 2 / math.cos(reach)


def sin_long() -> float:
    """The larger of both; the reduced angle is a sum of which some cancels, beside the third part of pi/2."""
    return max(sine_long(0.7855), cosine_long(0.7855)) + 2 * PLUS + 2.0**-104


def tan_long() -> float:
    return sine_long(0.7855) + cosine_long(0.7855) + 2 * PLUS + 2.0**-103 + NUMBER


def atan_part_long() -> float:
    """Y and the angle that it lacks: both of its parts are as large as t where they cancel."""
    t = 0.4141
    of_missing = (sine_long(0.4) + cosine_long(0.4) + TIMES + PLUS) * t / math.atan(t)
    return of_missing + PLUS_SMALLER / 4 + NUMBER * t / math.atan(t) / (1 + t * t)


def atan_long() -> float:
    """T is a quotient; pi/2 or pi/4 is added, and at least atan(tan(pi/8)) is left."""
    return 2 * atan_part_long() + NUMBER + PLUS_SMALLER


def asin_part_long() -> float:
    t = math.sqrt(0.5) * (1 + 2.0**-20)
    return (sine_long(0.53) + PLUS) * 0.5 / math.asin(0.5) + UNIT * t + PLUS_SMALLER / 4


def asin_long() -> float:
    """pi/2 less twice the part is as large as the part; its operand is a root, of which the half counts."""
    return 2 * (asin_part_long() + 1.2 * NUMBER) + PLUS_SMALLER


def sinh_long() -> float:
    """``(1 - w) cosh(r) + (1 + w) sinh(r)``: for n = 1 and the smallest r both are several times the sum."""
    s = in_pairs_of_series(lambda k: abs(of_sine(k)), 0.3467**2) + TIMES + TIMES * 0.04
    c = in_pairs_of_series(lambda k: abs(of_cosine(k)), 0.3467**2) + TIMES * 0.06
    return sinh_of_parts(s, c) + REDUCED / R


def sinh_of_parts(s: float, c: float) -> float:
    """The error of the sum by those of sinh(r) and cosh(r)."""
    worst = 0.0
    for n in range(40):
        w = 4.0**-n
        for r in (-R, R):
            parts = (1 - w) * math.cosh(r), (1 + w) * math.sinh(r)
            size = abs(parts[0]) + abs(parts[1])
            worst = max(
                worst, (parts[0] * (c + NUMBER) + abs(parts[1]) * (s + NUMBER) + NUMBER * size) / abs(sum(parts))
            )
    return worst


def erfc_polynomial_long() -> float:
    """The rest that the polynomial leaves."""
    numbers = erfc_numbers()

    def difference(t: Any) -> Any:
        a = 4 * (1 + t) / (1 - t)
        root = arb(2).sqrt()
        exact = (1 + a * 9 / 8) * 2 * composed(scaled_tail, a * root)
        value = 0 * t
        for c in reversed(numbers):
            value = value * t + arb(c.numerator) / arb(c.denominator)
        return value / exact - 1

    return largest(difference, -1.0, 23.5 / 31.5 + 2.0**-20, 4096)


@cache
def scaled_tail_long() -> float:
    """E(a), a quotient of a polynomial in t, whose slope is at most 3/4 of it."""
    numbers = erfc_numbers()
    of_t = (OVER + 2 * PLUS) * 0.75
    polynomial = in_pairs(numbers, ERFC_SHORT, -1.0, 23.5 / 31.5) + erfc_polynomial_long()
    return polynomial + of_t + OVER + TIMES + PLUS


def erfc_long() -> float:
    """E(a) times exp(-a**2), whose operand is a product of up to 756."""
    return exp_long() + 756 * NUMBER + scaled_tail_long() + NUMBER


def erf_long() -> float:
    """By its series below 1/2; beyond 1 - erfc(a), where that is 0.48 at most, and a**2 times it no more than 0.16."""
    near = in_pairs_of_series(of_error_function, 0.2501) + 3 * TIMES
    far = (exp_long() + scaled_tail_long() + NUMBER) * 0.4796 / 0.5204 + 0.25 * NUMBER
    return max(near, far + NUMBER)


def power_long() -> float:
    """The error of the logarithm and of its product with y, of which y log(x) makes 1500 times as much."""
    return exp_long() + 1500 * (log_long() + NUMBER)


def log_ndtr_long() -> float:
    """log1p(-Q) magnifies the error of Q by 2.9 at most. The series has 14 terms from 38.5 on."""
    return 3 * erfc_long() + 1.01 * log_long() + 2.0**-98


def corrected() -> dict[str, float]:
    expm1, log, erfc, sin = expm1_long(), log_long(), erfc_long(), sin_long()
    # f lies a little beyond where it does for log, and is a sum.
    log1p = log * 1.01 + PLUS
    return {
        "acos": asin_long(),
        "acosh": log1p + 8 * NUMBER,
        "asin": asin_long(),
        "asinh": log1p + 8 * NUMBER,
        "atan": atan_long(),
        "atan2": atan_long() + 2 * NUMBER,
        "atanh": log1p + 4 * NUMBER,
        # The lower part is 2**-50 of the upper one, and as exact as z**2 and its own roundings.
        "cbrt": 2.0**-97,
        "cos": sin,
        "cosh": sinh_long(),
        "erf": erf_long(),
        "erfc": erfc,
        # The error of erf or erfc, as a share of y.
        "erfinv": 1.3 * (erf_long() + 37 * NUMBER) + NUMBER,
        "exp": exp_long(),
        "exp2": exp_long() + R * TIMES,
        "expm1": expm1,
        "log": log,
        "log10": log + TIMES,
        "log1p": log1p,
        "log2": log + TIMES,
        "log_ndtr": log_ndtr_long(),
        "logistic": exp_long() + 2 * NUMBER,
        "normal_tail": erfc + 756 * NUMBER,
        "power": power_long(),
        "sin": sin,
        "sinh": sinh_long(),
        "tan": tan_long(),
        # Beyond 38 it is 1, which is wrong by 2**-108.
        "tanh": expm1 + 3 * NUMBER + 2.0**-108,
    }


# ---- float32 for results of 16 bits (single.py): the rules of the fast contract

SINGLE_UNIT = 2.0**-24

#: How far a reduced operand may lie there.
SHORT_R = math.log(2) / 2 * (1 + 2.0**-10)

#: The largest number of powers of two in an exponential of float32 that is a normal number; results of float16 are infinite or
#: zero beyond fewer.
MOST_SHORT_POWERS, MOST_POWERS_OF_HALF = 127, 26

#: The error of log(2) as one number, and in two parts.
LOG_2_IN_ONE_PART, LOG_2_IN_TWO_PARTS = (
    float(abs(arb(2).log() - sum(map(arb, parts), arb(0))).upper()) for parts in ((NEAREST_LOG_2,), LOG_2_IN_SINGLE)
)


def reduction_short(n: int, of_log_2: float = LOG_2_IN_ONE_PART) -> float:
    """The absolute error of a reduced operand: log(2), and one rounding.

    Of two parts the first has 15 bits, so that n times it is exact. So is the difference, a multiple of 2**-25 below 1/2: the
    operand is a float32 number beyond 0.34, where n is not zero.
    """
    return abs(n) * of_log_2 + SINGLE_UNIT * SHORT_R if n else 0.0


def exp_short(name: str, powers: int, of_log_2: float) -> float:
    """The polynomial, Horner's rule for all of it, and the reduction."""
    polynomial = exp_polynomial(FAST[name], SHORT_R, "exp")
    rounding = horner((1.0, 1.0, *FAST[name]), -SHORT_R, SHORT_R, SINGLE_UNIT)
    return polynomial + rounding + reduction_short(powers, of_log_2)


@cache
def less_one_short() -> float:
    """expm1(r) as ``r + r**2 P(r)``: the square, the polynomial and the sum are rounded."""
    numbers = FAST["EXPM1_SHORT"]
    rounding = 0.0
    for low, high in pieces(-SHORT_R, SHORT_R):
        size = max(abs(low), abs(high))
        of_tail = horner(numbers, low, high, SINGLE_UNIT) + SINGLE_UNIT
        tail = size * size * upper(at(numbers, arb((low + high) / 2, (high - low) / 2)))
        rounding = max(rounding, of_tail * tail / abs(math.expm1(-size)) if size else 0.0)
    return exp_polynomial(numbers, SHORT_R, "expm1") + rounding + SINGLE_UNIT


def expm1_short(n: int) -> float:
    """``2**n expm1(r) + (2**n - 1)``; the latter is exact for numbers of 24 bits."""
    worst = 0.0
    for i in range(-64, 65):
        r, power = SHORT_R * i / 64, 2.0**n
        size = abs(power * math.exp(r) - 1)
        if size == 0:
            continue
        error = power * abs(math.expm1(r)) * less_one_short() + power * math.exp(r) * reduction_short(n)
        error += SINGLE_UNIT * abs(power - 1) if abs(n) > 24 else 0.0
        worst = max(worst, error / size + SINGLE_UNIT)
    return worst


def tanh_short() -> float:
    """``e / (e + 1)``: an error of e counts ``1 / (e + 1)`` times; from `SATURATED` on it is 1."""
    of_e = max(expm1_short(n) for n in range(28))
    return of_e + 2 * SINGLE_UNIT + 2 / (math.exp(2 * SATURATED_IN_SINGLE) + 1)


def log1p_short() -> float:
    """The polynomial, its rounding, and a product."""
    numbers = FAST["LOG1P_SHORT"]

    def near(x: Any) -> Any:
        return at(numbers, x) / series(lambda k: Fraction((-1) ** k, k + 1), x, 0.26) - 1

    def far(x: Any) -> Any:
        return at(numbers, x) * x / (1 + x).log() - 1

    polynomial = max(largest(near, 0.0, 0.25), largest(far, 0.25, 1 + 2.0**-10))
    return polynomial + horner(numbers, 0.0, 1 + 2.0**-10, SINGLE_UNIT) + SINGLE_UNIT


def squares_short(numbers: Sequence[float], high: float) -> float:
    """The rounding errors of a polynomial by powers of the square of linear functions."""
    pairs_ = [tuple(numbers[i : i + 2]) for i in range(0, len(numbers), 2)]
    worst = 0.0
    for low, end in pieces(0.0, high, 1024):
        x = arb((low + end) / 2, (end - low) / 2)
        value, error = arb(0), 0.0
        for pair in reversed(pairs_):
            linear = at(pair, x)
            error = error * end * end + SINGLE_UNIT * (upper(value) * end * end + upper(linear))
            value = value * x * x + linear
            error += SINGLE_UNIT * upper(value)
        worst = max(worst, error / float(abs(value).abs_lower()))
    return worst


def normal_tail_short() -> float:
    """The quotient R(a), and exp(-a**2 / 2) as ``1 + expm1(s)`` with expm1(s) of 0.42 at most, beside 0.7 of the whole."""
    limit = LIMIT_OF_TAIL
    above, below = FAST["NORMAL_TAIL"]
    quotient = max(
        largest(lambda a: at(above, a) / at(below, a) / scaled_tail(a) - 1, low, high)
        for low, high in ((0.0, 4.0), (4.0, limit))
    )
    polynomial = exp_polynomial(FAST["EXP_SHORT"], SHORT_R, "exp")
    of_less = horner((1.0, *FAST["EXP_SHORT"]), -SHORT_R, SHORT_R, SINGLE_UNIT) + SINGLE_UNIT
    rounding = of_less * math.expm1(SHORT_R) / math.exp(-SHORT_R) + SINGLE_UNIT * 2.0**-8
    reduction = MOST_SHORT_POWERS * LOG_2_IN_TWO_PARTS
    of_polynomials = squares_short(above, limit) + squares_short(below, limit)
    # For numbers of either sign 1 less a tail of at most 1/2 is rounded once more.
    return quotient + polynomial + rounding + reduction + of_polynomials + 3 * SINGLE_UNIT


def short() -> dict[str, float]:
    exp = {
        "{}": exp_short("EXP", MOST_SHORT_POWERS, LOG_2_IN_TWO_PARTS),
        "{} as bfloat16": exp_short("EXP_SHORT", MOST_SHORT_POWERS, LOG_2_IN_ONE_PART),
        "{} as float16": exp_short("EXP_SHORT", MOST_POWERS_OF_HALF, LOG_2_IN_ONE_PART),
    }
    return {
        **{name.format("exp"): bound for name, bound in exp.items()},
        "expm1": max(expm1_short(n) for n in range(-44, 127)),
        "log1p": log1p_short(),
        **{name.format("logistic"): bound + 2 * SINGLE_UNIT for name, bound in exp.items()},
        "normal_tail": normal_tail_short(),
        "tanh": tanh_short(),
    }


# ---- two words of which the second is right as far as it shows (two_words.py)


def of_words(name: str) -> list[Fraction]:
    """The coefficients of a table, as they are stored."""
    return [sum(map(Fraction, parts), Fraction(0)) for parts in WORDS[name]]


def words_at(numbers: Sequence[Fraction], x: Any) -> Any:
    value = 0 * x
    for c in reversed(numbers):
        value = value * x + arb(c.numerator) / arb(c.denominator)
    return value


def words_rounding(name: str, low: float, high: float, first: int = 0, more: int = 0) -> float:
    """The rounding errors of `words.polynomial`, whose coefficients are exact, from the first of these coefficients on."""
    short = sum(len(parts) == 2 for parts in WORDS[name]) + more
    return in_pairs(of_words(name)[first:], short - first, low, high, rounded=0.0)


def words_of_series(name: str, numbers: Callable[[int], Fraction], reach: float, ratio: float, scale: Any = 1) -> float:
    """The relative error of a polynomial that is a power series for positive operands: what it leaves, and rounding."""
    table = of_words(name)
    left = largest(lambda z: words_at(table, z) / (scale * series(numbers, z, ratio)) - 1, 0.0, reach)
    return left + words_rounding(name, 0.0, reach)


#: The reduction of an exponential's operand leaves an error: 2**-53 of what log(2) lacks, 1,100 times.
REDUCED_WORDS = 2.0**-85


def exp_words(more: int = 0) -> float:
    """``more``: how many more coefficients have products that keep what they lose."""
    table = of_words("EXP")
    left = largest(lambda r: words_at(table, r) / series(factorial, r, 0.3) - 1, -R, R)
    return left + words_rounding("EXP", -R, R, more=more) + REDUCED_WORDS + 2 * NUMBER


def expm1_words() -> float:
    """``2**n expm1(r) + (2**n - 1)``: the shares of both parts are largest for n = 1 and the smallest r."""
    table = of_words("EXP")[1:]
    left = largest(lambda r: words_at(table, r) / series(after(1, factorial), r, 0.3) - 1, -R, R)
    share = 2 * abs(math.expm1(-R)) / abs(2 * math.exp(-R) - 1)
    return share * (left + words_rounding("EXP", -R, R, 1) + REDUCED_WORDS + 3 * NUMBER) + 4 * NUMBER


def log_words() -> float:
    """The quotient s, its square and a product; a multiple of log(2), in 95 bits, is no smaller than 1.4 times the rest."""
    reach = 4 * (3 - math.sqrt(8)) ** 2 * (1 + 2.0**-10)
    part = words_of_series("LOG", lambda k: Fraction(1, (2 * k + 1) * 4**k), reach, 0.04)
    return part + 6 * NUMBER + 2.0**-90


def sine_words() -> float:
    return words_of_series("SIN", lambda k: _odd_sine(k, -1), 0.6170, 0.3) + 2 * TIMES


def cosine_words() -> float:
    return words_of_series("COS", lambda k: _even_cosine(k, -1), 0.6170, 0.3) + 2 * TIMES


def sinh_words() -> float:
    """As `sinh_long`."""
    s = words_of_series("SINH", lambda k: _odd_sine(k, 1), R * R, 0.1) + 2 * TIMES
    c = words_of_series("COSH", lambda k: _even_cosine(k, 1), R * R, 0.1) + 2 * TIMES
    return sinh_of_parts(s, c) + REDUCED_WORDS / R


def asin_words() -> float:
    """pi/2 less twice the part is as large as the part; its operand is a root."""
    part = words_of_series("ASIN", _arcsine, 0.25 * (1 + 2.0**-20), 0.2501)
    return 2 * (part + 4 * NUMBER) + 2 * PLUS_SMALLER


def atan_words() -> float:
    part = words_of_series("ATAN", lambda k: Fraction((-1) ** k, 2 * k + 1), 0.4141**2, 0.18)
    return part + 6 * NUMBER + 2 * PLUS_SMALLER


@cache
def scaled_tail_words() -> float:
    """E(a), a quotient of a polynomial in t, whose slope is at most 3/4 of it."""
    table = of_words("ERFC")

    def difference(t: Any) -> Any:
        a = (3 * t + arb(11) / 4) / (1 - t)
        exact = (1 + a * 3 / 4) * 2 * composed(scaled_tail, a * arb(2).sqrt())
        return words_at(table, t) / exact - 1

    low, high = -11 / 12, 24.75 / 30.5 + 2.0**-20
    return largest(difference, low, high, 512) + words_rounding("ERFC", low, high) + 6 * NUMBER


def erfc_words() -> float:
    """E(a) times exp(-a**2), whose operand is a product of up to 756."""
    return exp_words() + 756 * NUMBER + scaled_tail_words() + NUMBER


def erf_words() -> float:
    """By its series below 1/2; beyond 1 - erfc(a), where that is 0.48 at most."""
    near = words_of_series("ERF", _error_function, 0.25, 0.2501, 2 / arb.pi().sqrt()) + 3 * TIMES
    far = (exp_words() + scaled_tail_words() + NUMBER) * 0.4796 / 0.5204 + NUMBER
    return max(near, far + NUMBER)


def precise_log_words() -> float:
    """`logarithm.precise_log`: what follows the fifth power is a single number, of which three roundings show."""
    reach = (3 - math.sqrt(8)) ** 2 * 1.001
    rest = of_rest("ATANH", Format.F64, lambda k: Fraction(1, 2 * k + 1), 3, reach, 0.04)
    shown = reach**3 / 7 * 1.1
    return rest + shown * (horner(POLYNOMIALS["ATANH"][Format.F64], 0.0, reach) + 4 * U) + 16 * NUMBER + 2.0**-90


def power_words() -> float:
    """The error of the logarithm and of its product with y, of which y log(x) makes 746 times as much."""
    return exp_words() + 746 * (precise_log_words() + NUMBER)


def in_words() -> dict[str, float]:
    exp, expm1, log, erfc, sinh = exp_words(), expm1_words(), log_words(), erfc_words(), sinh_words()
    sin = max(sine_words(), cosine_words()) + 2 * PLUS + 2.0**-98
    # Beyond 2**60 asinh and acosh leave out the part 1 / x.
    log1p, of_large = log + 2 * PLUS, 2.0**-65
    return {
        "acos": asin_words(),
        "acosh": log1p + 8 * NUMBER + of_large,
        "asin": asin_words(),
        "asinh": log1p + 8 * NUMBER + of_large,
        "atan": atan_words(),
        "atan2": atan_words() + 2 * NUMBER,
        "atanh": log1p + 4 * NUMBER,
        "cbrt": 2.0**-97,
        "cos": sin,
        "cosh": sinh,
        "erf": erf_words(),
        "erfc": erfc,
        # The error of erf or erfc, as a share of y; the step's is below 2**-68.
        "erfinv": 1.3 * max(erf_words(), erfc) + 2.0**-68,
        "exp": exp,
        "exp_of_sums": exp_words(1),
        "exp2": exp + TIMES,
        "expm1": expm1,
        "log": log,
        "log10": log + 2 * NUMBER,
        "log1p": log1p,
        "log2": log + 2 * NUMBER,
        # As `log_ndtr_long`; of the tail beyond 38.5 the series is below 2**-20.
        "log_ndtr": 3 * erfc + 1.01 * log + 2.0**-70,
        "logistic": exp + 2 * NUMBER,
        "normal_tail": erfc + 756 * NUMBER,
        "power": power_words(),
        "sin": sin,
        "sinh": sinh,
        "tan": sine_words() + cosine_words() + 2 * PLUS + 2.0**-97,
        # Beyond 38 it is 1, which is wrong by 2**-108.
        "tanh": expm1 + 3 * NUMBER + 2.0**-108,
    }


# ---- pairs of float32 (exponential/powers_of_two.py): relative to the power that the table has


def largest_rest(of_two_words: bool, window: Window) -> float:
    """The parts that a step, n times, and a power lack, and the low word of the operand: two units at most."""
    among = POWERS[window.octave]
    most = window.largest * abs(among.step_lacks) + max(map(abs, among.of_table("POWERS_LACK"))) + 2.0**-34
    return most + 2 * SINGLE_UNIT * window.largest * among.step if of_two_words else most


def float_float_reduced(window: Window) -> float:
    """How far reduced operands lie: the reciprocal of a step is rounded, and so is n."""
    return (0.5 + window.largest * SINGLE_UNIT + 2.0**-20) * POWERS[window.octave].step


def half_unit(value: float) -> float:
    return float_float.half_unit(value * (1 + 2.0**-20))


def float_float_series(octave: int, reach: float, per_operand: bool = False) -> float:
    """The rest that the polynomial leaves of ``exp(r) - 1 - r``; relative to r if it is to be."""

    def difference(r: Any) -> Any:
        rest = at(POWERS[octave].coefficients, r) - series(after(2, factorial), r, 0.3)
        return rest * r if per_operand else rest * r * r

    return largest(difference, -reach, reach)


def float_float_polynomial(octave: int, reach: float) -> float:
    """The rounding errors of the polynomial."""
    *others, inner = POWERS[octave].coefficients
    error = 0.0
    for coefficient in reversed(others):
        inner = coefficient + inner * reach
        error = error * reach + half_unit(inner)
    return error


def rest_rounded(of_two_words: bool, window: Window) -> float:
    """Constants in one word, n times; a table in one word; one FMA, and a sum."""
    among = POWERS[window.octave]
    lacking = float(abs(arb(2).log() / among.count - arb(among.step) - arb(among.step_lacks)).upper())
    rest = largest_rest(of_two_words, window)
    return window.largest * lacking + 2 * half_unit(2.0**-24) + half_unit(rest) * (2 if of_two_words else 1)


def exp_float_float(of_two_words: bool, window: Window) -> float:
    """``T (1 + r + q)``. The error of a rest of one word counts ``1 + r`` times, and what the series in it lacks is small."""
    rest, r = largest_rest(of_two_words, window), float_float_reduced(window)
    error = rest_rounded(of_two_words, window) * (1 + r) + rest**2
    q = r * r * 0.51 + rest * (1 + r)
    if of_two_words:
        whole = r + rest
        error += half_unit(whole) * whole * 1.02 + half_unit(whole**2) * 0.51
        error += (
            float_float_series(window.octave, whole)
            + float_float_polynomial(window.octave, whole) * whole**2
            + half_unit(q)
        )
    else:
        error += (
            rest * r * r * 0.51
            + float_float_series(window.octave, r)
            + float_float_polynomial(window.octave, r) * r * r
        )
        error += half_unit(r * 0.51 + rest) * r + half_unit(q)
    underflow: float = 8 * float_float.SMALLEST * 2.0 ** (window.before / window.octave + window.halved)
    # The low word is no smaller a part of T, and what the FMA of the leading part lost has one rounding.
    return error + SINGLE_UNIT * (q + SINGLE_UNIT) + SINGLE_UNIT**2 + underflow


def exp_of_row() -> float:
    """`exponential_of_row`: ``T (1 + w + q) + high rest``, where w is ``r + r**2 / 2`` rounded, and q has what that loses."""
    steps = LARGEST_OF_ROW * STEPS + 1
    r = (0.5 + steps * SINGLE_UNIT + 2.0**-20) * STEP
    rest = steps * abs(STEP_LACKS) + max(map(abs, TABLES["POWERS_LACK"])) + 2.0**-34
    lacking = float(abs(arb(2).log() / 32 - arb(STEP) - arb(STEP_LACKS)).upper())
    error = steps * lacking + 2 * half_unit(2.0**-24) + half_unit(rest)  # of the rest
    numbers = (THIRD, TWELFTH, SIXTIETH)
    error += largest(lambda z: (at(numbers, z) / 2 - series(after(3, factorial), z, 0.3)) * z * z * z, -r, r)
    inner = TWELFTH + r * SIXTIETH
    polynomial = THIRD + r * inner
    error += (half_unit(inner) * r + half_unit(polynomial) + 2 * SINGLE_UNIT * polynomial) * r**3 / 2
    lost = half_unit(r * (1 + r))
    q = polynomial * r**3 / 2 * (1 + 2.0**-20) + lost
    error += half_unit(lost) + half_unit(q)
    # The low word: what the FMA of the leading part lost, which is exact, and two roundings. Products of small terms are left out.
    low = q + SINGLE_UNIT * (1 + 2 * r)
    error += SINGLE_UNIT * low + SINGLE_UNIT * (low + rest * (1 + 2 * r))
    return (error + rest * (q + SINGLE_UNIT) + rest**2 * 0.51) * (1 + 4 * r)


def expm1_float_float_near_zero(octave: int) -> float:
    """Where n is zero: relative to r. A low word of the operand is all of the rest; low words are rounded some times more."""
    window = POWERS[octave].window(USUAL)
    r, lowest = float_float_reduced(window) * (1 + 2.0**-20), 2 * SINGLE_UNIT
    of_polynomial = float_float_series(octave, r, per_operand=True) + float_float_polynomial(octave, r) * r
    low = 0.51 * r + lowest
    of_one = SINGLE_UNIT * 0.51 * r
    of_two = SINGLE_UNIT * (r * 1.02 + 0.51 * r) + SINGLE_UNIT * lowest
    return of_polynomial + max(of_one, of_two) + SINGLE_UNIT * low * (1 + COVERED)


def expm1_float_float(octave: int) -> float:
    """Where n is not zero T is no more than so many times as large as the leading part of the result."""
    among = POWERS[octave]
    smallest = (0.5 - among.window(USUAL).largest * SINGLE_UNIT - 2.0**-20) * among.step
    for n in (-1, 1):
        power = 2.0 ** (n / among.count)
        size = abs(math.expm1(n * smallest)) - power * among.share
        assert power / size <= among.multiple_of_expm1
    return expm1_float_float_near_zero(octave)


def sinh_float_float_near_zero() -> float:
    """``w + w**3 (1/6 + w**2 / 120)``, relative to w: the rest of the series, and roundings of the polynomial and three products."""
    most, numbers = (
        LEAST_OF_SINH**2,
        (SIXTH, HUNDRED_TWENTIETH),
    )
    rest = largest(lambda z: (at(numbers, z) - series(lambda k: factorial(2 * k + 3), z, 0.01)) * z, 0.0, most)
    size = numbers[0] + most * numbers[1]
    return rest + most * (half_unit(size) + 3 * SINGLE_UNIT * size)


def in_single_pairs() -> dict[str, float]:
    windows = {"": USUAL, "wide ": WIDE}
    words = {"exp": False, "exp of two words": True}
    found = {}
    for octave, among in POWERS.items():
        for wide, name in ((wide, name) for wide in windows for name in words):
            window, two = windows[wide], words[name]
            found[wide + name + of_powers(octave)] = exp_float_float(two, among.window(window))
        found["expm1 near zero" + of_powers(octave)] = expm1_float_float(octave)
    found |= {
        "exp of rows": exp_of_row(),
        "exp of rows of 16 bits": exp_float_float(False, OF_SHORT_ROWS),
    }
    return {**found, "sinh near zero": sinh_float_float_near_zero()}


HEADER = '''"""The bound of each rule's own error, relative to its result, of operands without an error.

Written by accuracy/derive_bounds.py, which says how these are derived; change that, not this.
"""

from __future__ import annotations

__all__ = ["CORRECTED", "IN_WORDS", "PAIRED", "PROMOTED", "SHORT"]
'''

WHAT = {
    "PROMOTED": "Uncompensated float64 with the long polynomials, for results of fewer bits.",
    "CORRECTED": "Two right words of float64.",
    "IN_WORDS": "Two words of float64 of which the second is right as far as it shows: float64's own kernels.",
    "SHORT": "Float32 with the rules of the fast contract, for results of 16 bits.",
    "PAIRED": "Pairs of float32: relative to the power of the table, or near zero to the result.",
}


def text() -> str:
    flint.ctx.prec = BITS
    parts = [HEADER]
    tables = {"PROMOTED": promoted(), "CORRECTED": corrected(), "SHORT": short(), "IN_WORDS": in_words()}
    tables["PAIRED"] = in_single_pairs()
    for name, numbers in tables.items():
        lines = ""
        for function, value in numbers.items():
            # Two digits of the logarithm, upwards: so that one more piece of an interval changes nothing.
            power = math.ceil(math.log2(value * 1.01) * 10) / 10
            if name in (
                "SHORT",
                "PAIRED",
            ):  # each unit of the last place counts, and whole ones are tested in fewer instructions
                power = math.ceil(math.log2(value * 1.01) * 100) / 100
                lines += f'    "{function}": {2.0**power!r},  # 2**{power:.2f}\n'
                continue
            lines += f'    "{function}": {math.nextafter(2.0**power, 1)!r},  # 2**{power:.1f}\n'
        parts.append(f"#: {WHAT[name]}\n{name}: dict[str, float] = {{\n{lines}}}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(write_or_compare(__doc__, "own_errors.py", text))
