"""The vocabulary of formulas: what may be written inside an ``@operator`` function.

Arithmetic, comparisons, ``abs()``, ``round()`` and ``& | ^ ~`` work on expressions directly; the rest is here. NumPy's
functions work too, and mean what they mean for arrays of float64. Formulas are about real numbers: how they are
rounded is decided once, for all operators, when they are lowered.

>>> import ogive
>>> from ogive.formula import exp, where
>>> @ogive.operator
... def bent_exponential(x, *, scale=1.0):
...     return where(x > 0, x, scale * (exp(x) - 1))
>>> bent_exponential([-1.0, 2.0])
array([-0.63212056,  2.        ])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import cast

from ogive.errors import FormulaError
from ogive.expression import Format, Term, as_number, constant, formula_node, lift, node

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_and",
    "bit_count",
    "bit_not",
    "bit_or",
    "bit_shift_left",
    "bit_shift_right",
    "bit_xor",
    "cbrt",
    "ceil",
    "ceiling",
    "clip",
    "copy_sign",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divmod",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "integer_power",
    "isfinite",
    "isinf",
    "isnan",
    "larger",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logistic",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "nan_to_num",
    "normal_tail",
    "pi",
    "pow",
    "power",
    "quotient",
    "rad2deg",
    "radians",
    "raised",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "round_even",
    "row_first",
    "row_max",
    "row_min",
    "row_sum",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "smaller",
    "sqrt",
    "square",
    "square_root",
    "tan",
    "tanh",
    "trunc",
    "truncate",
    "where",
]


def _irrational(digits: int) -> Term:
    """A constant to 250 bits behind the point."""
    return constant(Fraction(digits, 1 << 250))


#: The circle's constant.
pi = _irrational(0xC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B2)
#: log(2), and the logarithms of e to base 2 and 10.
_LOG_2 = _irrational(0x2C5C85FDF473DE6AF278ECE600FCBDABD03CD0C99CA62D8B628345D6E2EABE9)
_LOG2_E = _irrational(0x5C551D94AE0BF85DDF43FF68348E9F4475ABBD546EB4AD2C45928B3668D0992)
_LOG10_E = _irrational(0x1BCB7B1526E50E32A6AB7555F5A67B8647DC68C048B934404747E5A89EF1D4A)


def where(condition: object, value: object, otherwise: object) -> Term:
    """``value`` where the condition holds, ``otherwise`` elsewhere; the branch not taken has no effect."""
    test, a, b = lift(condition), lift(value), lift(otherwise)
    if test.format is not Format.TRUTH:
        raise FormulaError("where: the condition is a number; allowed: a truth value, such as x > 0 or x != 0")
    return formula_node("select", test, a, b)


def equal(a: object, b: object) -> Term:
    """Whether two numbers are equal, as ``a == b``; NaN equals nothing."""
    return formula_node("equal", lift(a), lift(b))


def minimum(a: object, b: object) -> Term:
    """The smaller number; ``a`` where they are equal and where ``a`` is NaN."""
    a, b = lift(a), lift(b)
    return where(b < a, b, a)


def maximum(a: object, b: object) -> Term:
    """The larger number; ``a`` where they are equal and where ``a`` is NaN."""
    a, b = lift(a), lift(b)
    return where(b > a, b, a)


def larger(a: object, b: object) -> Term:
    """IEEE 754's maximum: NaN where one of them is, and 0 is larger than -0."""
    return formula_node("larger", lift(a), lift(b))


def smaller(a: object, b: object) -> Term:
    """IEEE 754's minimum: NaN where one of them is, and -0 is smaller than 0."""
    return formula_node("smaller", lift(a), lift(b))


def copy_sign(magnitude: object, sign: object) -> Term:
    """The magnitude of one number with the sign of another, which may be the sign of a zero."""
    return formula_node("copy_sign", lift(magnitude), lift(sign))


def quotient(a: object, b: object) -> Term:
    """The quotient of two integers, rounded towards zero; zero where ``b`` is zero."""
    return formula_node("quotient", lift(a), lift(b))


def remainder(a: object, b: object) -> Term:
    """What the quotient rounded towards zero leaves of ``a``, exactly; NaN, or of integers zero, where ``b`` is zero.

    Operands that are results of other operations are rounded first.
    """
    return formula_node("remainder", lift(a), lift(b))


def power(a: object, b: object) -> Term:
    """``a`` to the power of ``b``, with the special cases of IEEE 754."""
    return formula_node("power", lift(a), lift(b))


def integer_power(a: object, b: object) -> Term:
    """The power of two integers, wrapping around; with a negative exponent it is rounded towards zero."""
    return formula_node("integer_power", lift(a), lift(b))


def atan2(y: object, x: object) -> Term:
    """The angle of the point (x, y), from -pi to pi; signed zeros and infinities as in IEEE 754."""
    return formula_node("atan2", lift(y), lift(x))


def row_first(condition: object) -> Term:
    """Whether an element is the first of its row for which the condition holds."""
    test = lift(condition)
    if test.format is not Format.TRUTH:
        raise FormulaError("row_first: the condition is a number; allowed: a truth value, such as x > 0")
    return formula_node("row_first", test)


def bit_and(a: object, b: object) -> Term:
    """The bits that two integers have in common."""
    return _bits("and", a, b)


def bit_or(a: object, b: object) -> Term:
    """The bits that one or both of two integers have."""
    return _bits("or", a, b)


def bit_xor(a: object, b: object) -> Term:
    """The bits that one of two integers has."""
    return _bits("exclusive_or", a, b)


def bit_not(x: object) -> Term:
    """The bits that an integer does not have."""
    return _bits("not", x)


def bit_shift_left(a: object, b: object) -> Term:
    """The bits of an integer, moved towards the higher ones; 0 if none is left."""
    return _bits("bit_shift_left", a, b)


def bit_shift_right(a: object, b: object) -> Term:
    """The bits of an integer, moved towards the lower ones; 0 if none is left."""
    return _bits("bit_shift_right", a, b)


def bit_count(x: object) -> Term:
    """How many bits an integer has."""
    return _bits("bit_count", x)


def _bits(operation: str, *operands: object) -> Term:
    lifted = tuple(map(lift, operands))
    if any(operand.format is not Format.NUMBER for operand in lifted):
        raise FormulaError(f"{operation}: an operand is a truth value; allowed: numbers. Truth values take & | ^ ~")
    return cast(Term, node(operation, lifted, None, Format.NUMBER))


def _unary(operation: str, name: str, doc: str) -> Callable[[object], Term]:
    def function(x: object) -> Term:
        return formula_node(operation, lift(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


absolute = _unary("absolute", "absolute", "The magnitude of a number; clears the sign of a zero.")
square_root = _unary("square_root", "square_root", "The square root; NaN below zero, -0 at -0.")
floor = _unary("floor", "floor", "The largest integer that is not larger.")
ceiling = _unary("ceiling", "ceiling", "The smallest integer that is not smaller.")
truncate = _unary("truncate", "truncate", "The integer part: rounds towards zero.")
round_even = _unary("round_even", "round_even", "The nearest integer; of two equally near ones the even one.")
acos = _unary("acos", "acos", "The inverse cosine, from 0 to pi; NaN outside [-1, 1].")
acosh = _unary("acosh", "acosh", "The inverse hyperbolic cosine; NaN below 1.")
asin = _unary("asin", "asin", "The inverse sine, from -pi/2 to pi/2; NaN outside [-1, 1].")
asinh = _unary("asinh", "asinh", "The inverse hyperbolic sine.")
atan = _unary("atan", "atan", "The inverse tangent, from -pi/2 to pi/2.")
atanh = _unary("atanh", "atanh", "The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.")
cos = _unary("cos", "cos", "The cosine, of angles of any size; NaN at infinity.")
cosh = _unary("cosh", "cosh", "The hyperbolic cosine.")
erf = _unary("erf", "erf", "The error function: ``2 / sqrt(pi)`` times the integral of exp(-t**2) from 0 to x.")
erfc = _unary("erfc", "erfc", "``1 - erf(x)``, accurate in both tails.")
exp = _unary("exp", "exp", "The exponential function.")
expm1 = _unary("expm1", "expm1", "``exp(x) - 1`` without cancellation near zero.")
log = _unary("log", "log", "The natural logarithm; -inf at zero, NaN below.")
log1p = _unary("log1p", "log1p", "``log(1 + x)`` without cancellation near zero.")
logistic = _unary("logistic", "logistic", "``1 / (1 + exp(-x))``, without overflow; 0 and 1 at the infinities.")
normal_tail = _unary(
    "normal_tail",
    "normal_tail",
    "``erfc(x / sqrt(2)) / 2``, accurate in both tails: how probable a standard normal variable above x is.",
)
row_max = _unary("row_max", "row_max", "The largest element of the row; NaN if there is one.")
row_min = _unary("row_min", "row_min", "The smallest element of the row; NaN if there is one.")
row_sum = _unary(
    "row_sum", "row_sum", "The sum of the row, in one fixed order and with more precision than the row has."
)
sin = _unary("sin", "sin", "The sine, of angles of any size; NaN at infinity.")
sinh = _unary("sinh", "sinh", "The hyperbolic sine.")
tan = _unary("tan", "tan", "The tangent, of angles of any size; NaN at infinity.")
tanh = _unary("tanh", "tanh", "The hyperbolic tangent.")


# ---- made of the others


def isnan(x: object) -> Term:
    """Whether this is NaN."""
    x = lift(x)
    return x != x  # NaN is what differs from itself


def isinf(x: object) -> Term:
    """Whether this is an infinity."""
    return absolute(x) == math.inf


def isfinite(x: object) -> Term:
    """Whether this is a number other than the infinities and NaN."""
    return absolute(x) < math.inf


def signbit(x: object) -> Term:
    """Whether the sign is negative, of -0 too."""
    return copy_sign(1, x) < 0


def sign(x: object) -> Term:
    """-1, 0 or 1; NaN of NaN."""
    x = lift(x)
    return where(x > 0, 1, where(x < 0, -1, where(x == 0, 0, x)))


def as_truth(x: object) -> Term:
    """Whether a number is not 0, as NumPy takes numbers for truth values; NaN is true."""
    x = lift(x)
    return x if x.format is Format.TRUTH else x != 0


def logical_and(a: object, b: object) -> Term:
    """Whether both are true, or not 0."""
    return as_truth(a) & as_truth(b)


def logical_or(a: object, b: object) -> Term:
    """Whether one of them is true, or not 0."""
    return as_truth(a) | as_truth(b)


def logical_xor(a: object, b: object) -> Term:
    """Whether one of them is true, or not 0, and the other is not."""
    return as_truth(a) ^ as_truth(b)


def logical_not(x: object) -> Term:
    """Whether this is false, or 0."""
    return ~as_truth(x)


def fmin(a: object, b: object) -> Term:
    """The smaller number; the other one where one is NaN."""
    a, b = lift(a), lift(b)
    return where(isnan(a), b, where(isnan(b), a, smaller(a, b)))


def fmax(a: object, b: object) -> Term:
    """The larger number; the other one where one is NaN."""
    a, b = lift(a), lift(b)
    return where(isnan(a), b, where(isnan(b), a, larger(a, b)))


def clip(x: object, min: object = None, max: object = None) -> Term:  # noqa: A002  # NumPy's names
    """``x``, at least ``min`` and at most ``max``; NaN where one of them is. None: no bound."""
    bounded = lift(x)
    if min is not None:
        bounded = larger(bounded, min)
    return bounded if max is None else smaller(bounded, max)


def nan_to_num(x: object, nan: object = 0.0, posinf: object = None, neginf: object = None) -> Term:
    """``x``, with other numbers in the place of NaN and the infinities, which must be said."""
    x = lift(x)
    if posinf is None or neginf is None:
        raise FormulaError(
            "nan_to_num: posinf or neginf is missing, and the largest number depends on the element type. "
            "Say both: nan_to_num(x, nan=0.0, posinf=1e30, neginf=-1e30)"
        )
    return where(isnan(x), nan, where(x == math.inf, posinf, where(x == -math.inf, neginf, x)))


def heaviside(x: object, at_zero: object) -> Term:
    """0 below zero, 1 above, ``at_zero`` at zero; NaN of NaN."""
    x = lift(x)
    return where(x < 0, 0, where(x > 0, 1, where(x == 0, at_zero, x)))


def square(x: object) -> Term:
    """``x * x``."""
    return lift(x) * lift(x)


def reciprocal(x: object) -> Term:
    """``1 / x``."""
    return 1 / lift(x)


def raised(a: object, b: object, modulus: object = None) -> Term:
    """What ``a ** b`` means: a root or products for the exponents -1, 0.5 and 1 to 8, the power for others."""
    if modulus is not None:
        raise FormulaError("pow: a third argument has no meaning for real numbers. Write (a ** b) % c")
    base, exponent = as_number(lift(a)), as_number(lift(b))
    if exponent.operation != "constant":
        return power(base, exponent)
    value = exponent.attribute
    if value == -1:
        return 1 / base
    if value == 0.5:
        return square_root(base)
    if not (1 <= value <= 8 and value == int(value)):
        return power(base, exponent)
    product, squared, rest = None, base, int(value)
    while rest:
        if rest & 1:
            product = squared if product is None else product * squared
        rest >>= 1
        squared = squared * squared
    assert product is not None
    return product


def mod(a: object, b: object) -> Term:
    """What the quotient rounded down leaves of ``a``, exactly: it has the sign of ``b``, as Python's ``%``."""
    a, b = lift(a), lift(b)
    rest = remainder(a, b)
    shifted = where((rest < 0) ^ (b < 0), rest + b, rest)
    return where(rest == 0, copy_sign(0, b), shifted)


def divmod(a: object, b: object) -> tuple[Term, Term]:  # noqa: A001  # Python's name
    """The quotient rounded down, and what it leaves."""
    return floor_divide(a, b), mod(a, b)


def floor_divide(a: object, b: object) -> Term:
    """The quotient rounded down, as Python's ``//``; where ``b`` is zero, ``a / b``."""
    a, b = as_number(lift(a)), as_number(lift(b))
    rest = remainder(a, b)
    is_above = ((rest < 0) ^ (b < 0)) & (rest != 0)
    quotient = round_even((a - rest) / b) - is_above  # whole already, but for what rounding has left
    return where(b == 0, a / b, where(quotient == 0, copy_sign(0, a / b), quotient))


def round(x: object, decimals: object = 0) -> Term:  # noqa: A001  # Python's and NumPy's name
    """The nearest integer; of two equally near ones the even one."""
    if decimals not in (0, None):
        raise FormulaError(
            f"round: decimals is {decimals!r}; allowed: 0. Write round(x * 100) / 100 for two decimals; "
            "binary numbers hold most decimal fractions only nearly"
        )
    return round_even(x)


def modf(x: object) -> tuple[Term, Term]:
    """The fraction and the integer part, both with the sign of ``x``."""
    x = lift(x)
    whole = truncate(x)
    return copy_sign(where(isinf(x), 0, x - whole), x), whole


def deg2rad(x: object) -> Term:
    """An angle in degrees, in radians."""
    return lift(x) * constant(pi.attribute / 180)


def rad2deg(x: object) -> Term:
    """An angle in radians, in degrees."""
    return lift(x) * constant(180 / pi.attribute)


def cbrt(x: object) -> Term:
    """The cube root, of negative numbers too."""
    x = lift(x)
    return where((x == 0) | isinf(x), x, copy_sign(power(absolute(x), Fraction(1, 3)), x))


def exp2(x: object) -> Term:
    """``2 ** x``."""
    return power(2, x)


def log2(x: object) -> Term:
    """The logarithm to base 2; -inf at zero, NaN below."""
    return log(x) * _LOG2_E


def log10(x: object) -> Term:
    """The logarithm to base 10; -inf at zero, NaN below."""
    return log(x) * _LOG10_E


def hypot(a: object, b: object) -> Term:
    """``sqrt(a * a + b * b)`` without overflow on the way; infinite where one of them is, beside NaN too."""
    x, y = absolute(a), absolute(b)
    long = larger(x, y)
    slope = smaller(x, y) / long
    length = where(long == 0, 0, long * square_root(1 + slope * slope))
    return where((x == math.inf) | (y == math.inf), math.inf, length)


def logaddexp(a: object, b: object) -> Term:
    """``log(exp(a) + exp(b))`` without overflow on the way, where ``a`` or ``b`` is a constant that is not negative."""
    a, b = _without_cancellation("logaddexp", "log1p(exp(-abs(a - b)))", a, b)
    return where(a == b, a + _LOG_2, larger(a, b) + log1p(exp(-absolute(a - b))))


def logaddexp2(a: object, b: object) -> Term:
    """``log2(2 ** a + 2 ** b)`` without overflow on the way, where ``a`` or ``b`` is a constant that is not negative."""
    a, b = _without_cancellation("logaddexp2", "log2(1 + exp2(-abs(a - b)))", a, b)
    return where(a == b, a + 1, larger(a, b) + log1p(exp2(-absolute(a - b))) * _LOG2_E)


def _without_cancellation(name: str, rest: str, *operands: object) -> tuple[Term, Term]:
    """The operands of a sum of exponentials, where its logarithm, which is added to the larger one, is not negative."""
    a, b = (as_number(lift(operand)) for operand in operands)
    if not any(n.operation == "constant" and n.attribute >= 0 for n in (a, b)):
        raise FormulaError(
            f"{name}: neither operand is a constant from 0 on, so most digits of results near zero would be lost; "
            f"allowed: one constant from 0 on. Write larger(a, b) + {rest} where that does not matter"
        )
    return a, b


def sinc(x: object) -> Term:
    """``sin(pi * x) / (pi * x)``; 1 at zero, 0 at the other integers."""
    x = lift(x)
    whole = round_even(x)
    half = whole * 0.5
    is_even = truncate(half) == half
    wave = sin(pi * (x - whole))
    return where(x == 0, 1, where(is_even, wave, -wave) / (pi * x))


# ---- other names of the same functions: NumPy's, and what people look for

abs = fabs = absolute  # noqa: A001
arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh = acos, acosh, asin, asinh, atan, atan2, atanh
sqrt, ceil, trunc, rint, copysign, fmod = square_root, ceiling, truncate, round_even, copy_sign, remainder
sigmoid, pow = logistic, power  # noqa: A001
degrees, radians = rad2deg, deg2rad
