"""The partial derivatives of every kind of node, one rule each: for tangents and for adjoints.

A rule gets the node and its operands, and gives one partial derivative an operand. Quotients ``1 / c`` stay quotients:
the factor that they meet becomes their numerator. A rule's form must not cancel, and its own derivative should not:
``1 / cosh(x) / cosh(x)`` in place of ``1 - tanh(x)**2``. Bounds on arguments keep 0 times infinity from forming.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from ogive import formula as f
from ogive.differentiation.algebra import ONE, ZERO, divide, multiply, negative, rational
from ogive.expression import Term
from ogive.formula import where

__all__ = [
    "FAR",
    "FLAT",
    "PARTIALS",
    "gate_slope",
    "gelu_slope",
    "is_infinite",
    "logistic_slope",
    "mish_slope",
    "tanh_slope",
    "within",
]

#: Constant between their steps, as rounding is: their derivative is 0, at the steps too.
FLAT = frozenset(
    {"floor", "ceiling", "truncate", "round_even", "quotient", "bit_count", "row_count", "row_index", "row_first"}
    | {"bit_shift_left", "bit_shift_right", "integer_power", "and", "or", "exclusive_or", "not"}
)

#: Beyond it, 1 + x * x is x * x in every format.
LARGE = 2.0**64

LARGEST = sys.float_info.max


def _power(n: Term, a: Term, b: Term) -> tuple[Term, Term]:
    """For a constant exponent of 0 the first one is 0, whatever the base; 0 to the power of b is 0 for all b near by.

    So are an infinite base to a negative power, and a power whose infinite exponent makes it 0.
    """
    exponent = rational(b)
    if exponent is not None:
        by_base = multiply(b, f.raised(a, b - 1 if exponent is None else exponent - 1)) if exponent else ZERO
        by_base = b if exponent == 1 else by_base
    else:
        by_base = where(f.equal(b, 0) | (is_infinite(b) & f.equal(n, 0)), 0, b * f.power(a, b - 1))
    return by_base, where((f.equal(a, 0) & (b >= 0)) | (is_infinite(a) & (b < 0)), 0, n * f.log(a))


def _atan2(n: Term, y: Term, x: Term) -> tuple[Term, Term]:
    """``x / (x * x + y * y)`` and ``-y / (x * x + y * y)`` without overflow on the way; 0 at the origin, and infinitely far."""
    radius = f.larger(f.absolute(x), f.absolute(y))
    scale = where(f.equal(radius, 0), 1, radius)
    p, q = x / scale, y / scale
    length = where(f.equal(radius, 0), 1, p * p + q * q)
    is_far = is_infinite(radius)
    return where(is_far, 0, p / length / scale), where(is_far, 0, negative(q / length / scale))


def _remainder(n: Term, a: Term, b: Term) -> tuple[Term, Term]:
    return ONE, negative(f.round_even((a - n) / b))


def _with_sign(n: Term, magnitude: Term, sign: Term) -> tuple[Term, Term]:
    return f.copy_sign(1, magnitude) * f.copy_sign(1, sign), ZERO


def is_infinite(x: Term) -> Term:
    """Whether a number is beyond the largest one of float64: unlike equality, that has a derivative of its own."""
    return f.absolute(x) > LARGEST


#: Beyond it exp(-u) is 0, times any number, in every format.
FAR = 2000


def within(x: Term, bound: float) -> Term:
    """The number, or the nearer bound."""
    return f.minimum(f.maximum(x, -bound), bound)


def tanh_slope(u: Term) -> Term:
    """The derivative of tanh."""
    c = f.cosh(within(u, 700))
    return 1 / c / c


def logistic_slope(u: Term) -> Term:
    """The derivative of the logistic function."""
    c = f.cosh(within(u, 1400) * 0.5)
    return 1 / c * 0.25 / c


def gate_slope(u: Term) -> Term:
    """The derivative of ``u * logistic(u)``; 0 and 1 at the infinities.

    The quotient is one. The exponential ``e = exp(-abs(u))`` is two where it is subnormal before the product is. Beyond 100
    next to nothing is between the result and 1, and not nothing: that decides products beside ties.
    """
    v = f.minimum(f.maximum(u, -FAR), 100)
    e, rest = f.exp(-f.absolute(f.maximum(v, -80))), f.exp(f.minimum(v + 80, 0))
    return where(v < 0, (1 + v + e) * e * rest, 1 + e * (1 + v)) / ((1 + e) * (1 + e))


def gelu_slope(x: Term, *, approximate: str) -> Term:
    """The derivative of gelu in one of its forms."""
    if approximate == "none":
        v = f.minimum(f.maximum(x, -40), 16)  # where it is 1 and next to nothing more
        slope = f.normal_tail(-v) + v * (f.exp(-(v * v) / 2) / f.square_root(2 * f.pi))
        return where(x < -2, -f.absolute(slope), slope)  # far below, no format holds more than the sign
    v = within(x, 40)
    scale = 2 * f.square_root(2 / f.pi)
    u = v * (scale * (1 + 0.044715 * (v * v)))
    slope = scale * (1 + 3 * 0.044715 * (v * v))
    return f.logistic(u) * (1 + v * slope * f.logistic(-u))


def mish_slope(x: Term) -> Term:
    """The derivative of mish."""
    v = within(x, FAR)
    e = f.exp(-f.absolute(v))
    below = e * (4 * (1 + v) + e * (6 + 4 * v + e * (4 + e)))
    root = where(v < 0, 2 + e * (2 + e), 1 + e * (2 + 2 * e))
    denominator = root * root
    above = denominator + e * e * (4 * v - 2 + e * (4 * (v - 1) - 4 * e))
    return where(v < 0, below, above) / denominator


def _of_normal_tail(n: Term, x: Term) -> tuple[Term]:
    v = within(x, 100)
    return (-(f.exp(v * v * -0.5) / f.square_root(2 * f.pi)),)


def _bell(x: Term) -> Term:
    v = within(x, 100)
    return f.exp(-(v * v)) * (2 / f.square_root(f.pi))


def _of_erfinv(n: Term, x: Term) -> tuple[Term]:
    return (f.exp(n * n) * (f.square_root(f.pi) / 2),)


def _of_log_ndtr(n: Term, x: Term) -> tuple[Term]:
    """The density over the distribution function, as one exponential: far below both are 0, and their quotient is -x."""
    v = within(x, 100)
    quotient = f.exp(v * v * -0.5 - f.log_ndtr(v)) / f.square_root(2 * f.pi)
    u = 1 / (x * x)
    series = -x / (1 - u * (1 - u * (3 - u * (15 - u * (105 - 945 * u)))))
    return (where(x < -1e100, -x, where(x < -30, series, quotient)),)


def _of_cbrt(n: Term, x: Term) -> tuple[Term]:
    m = within(n, 1e170)  # far beyond all cube roots but an infinite one
    return (1 / (3 * m * m),)


#: By kind: the node and its operands to the partial derivatives. `select`, `absolute`, `larger` and `smaller` have
#: branches, and the modes decide them.
PARTIALS: dict[str, Callable[..., tuple[Term, ...]]] = {
    "add": lambda n, a, b: (ONE, ONE),
    "subtract": lambda n, a, b: (ONE, negative(ONE)),
    "multiply": lambda n, a, b: (b, a),
    "divide": lambda n, a, b: (divide(ONE, b), negative(divide(n, b))),
    "negate": lambda n, x: (negative(ONE),),
    "square_root": lambda n, x: (1 / (2 * n),),
    "copy_sign": _with_sign,
    "remainder": _remainder,
    "power": _power,
    "atan2": _atan2,
    "exp": lambda n, x: (n,),
    "exp2": lambda n, x: (n * f.log_2,),
    "expm1": lambda n, x: (f.exp(x),),
    "log": lambda n, x: (1 / x,),
    "log2": lambda n, x: (1 / x / f.log_2,),
    "log10": lambda n, x: (1 / x / f.log_10,),
    "cbrt": _of_cbrt,
    "erfinv": _of_erfinv,
    "log_ndtr": _of_log_ndtr,
    "log1p": lambda n, x: (1 / (1 + x),),
    "logistic": lambda n, x: (logistic_slope(x),),
    "normal_tail": _of_normal_tail,
    "erf": lambda n, x: (_bell(x),),
    "erfc": lambda n, x: (-_bell(x),),
    "sin": lambda n, x: (f.cos(x),),
    "cos": lambda n, x: (-f.sin(x),),
    "tan": lambda n, x: (1 + n * n,),
    "asin": lambda n, x: (1 / f.square_root(1 - x * x),),
    "acos": lambda n, x: (-(1 / f.square_root(1 - x * x)),),
    "atan": lambda n, x: (where(f.absolute(x) > LARGE, 1 / x / x, 1 / (1 + x * x)),),
    "sinh": lambda n, x: (f.cosh(x),),
    "cosh": lambda n, x: (f.sinh(x),),
    "tanh": lambda n, x: (tanh_slope(x),),
    "asinh": lambda n, x: (1 / where(f.absolute(x) > LARGE, f.absolute(x), f.square_root(1 + x * x)),),
    "acosh": lambda n, x: (where(x > LARGE, 1 / x, 1 / (f.square_root(x - 1) * f.square_root(x + 1))),),
    "atanh": lambda n, x: (1 / (1 - x * x),),
    "row_sum": lambda n, x: (ONE,),
}
