"""The vocabulary of formulas: what may be written inside an ``@operator`` function.

Arithmetic, comparisons, ``abs()`` and ``& | ^ ~`` work on expressions directly; the rest is here. Formulas
are about real numbers: how they are rounded is decided once, for all operators, when they are lowered.

>>> import ogive
>>> from ogive.formula import exp, where
>>> @ogive.operator
... def bent_exponential(x, *, scale=1.0):
...     return where(x > 0, x, scale * (exp(x) - 1))
>>> bent_exponential([-1.0, 2.0])
array([-0.63212056,  2.        ])
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ogive.errors import FormulaError
from ogive.expression import Expression, Format, _formula, constant, lift, node

__all__ = [
    "absolute",
    "acos",
    "acosh",
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
    "ceiling",
    "copy_sign",
    "cos",
    "cosh",
    "equal",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "integer_power",
    "larger",
    "log",
    "log1p",
    "logistic",
    "maximum",
    "minimum",
    "normal_tail",
    "pi",
    "power",
    "quotient",
    "remainder",
    "round_even",
    "row_first",
    "row_max",
    "row_min",
    "row_sum",
    "sin",
    "sinh",
    "smaller",
    "square_root",
    "tan",
    "tanh",
    "truncate",
    "where",
]


#: The circle's constant, to 250 bits.
pi = constant(Fraction(0xC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B2, 1 << 250))


def where(condition: object, value: object, otherwise: object) -> Expression:
    """``value`` where the condition holds, ``otherwise`` elsewhere; the branch not taken has no effect."""
    test, a, b = lift(condition), lift(value), lift(otherwise)
    if test.format is not Format.TRUTH:
        raise FormulaError(f"where: the condition is a {test.format.value}; allowed: a comparison, such as x > 0")
    if a.format is not b.format:
        raise FormulaError(f"where: the values are a {a.format.value} and a {b.format.value}; allowed: two of a kind")
    return _formula("select", test, a, b)


def equal(a: object, b: object) -> Expression:
    """Whether two numbers are equal; ``==`` on expressions compares nodes."""
    return _formula("equal", lift(a), lift(b))


def minimum(a: object, b: object) -> Expression:
    """The smaller number; ``a`` where they are equal and where ``a`` is NaN."""
    a, b = lift(a), lift(b)
    return where(b < a, b, a)


def maximum(a: object, b: object) -> Expression:
    """The larger number; ``a`` where they are equal and where ``a`` is NaN."""
    a, b = lift(a), lift(b)
    return where(b > a, b, a)


def larger(a: object, b: object) -> Expression:
    """IEEE 754's maximum: NaN where one of them is, and 0 is larger than -0."""
    return _formula("larger", lift(a), lift(b))


def smaller(a: object, b: object) -> Expression:
    """IEEE 754's minimum: NaN where one of them is, and -0 is smaller than 0."""
    return _formula("smaller", lift(a), lift(b))


def copy_sign(magnitude: object, sign: object) -> Expression:
    """The magnitude of one number with the sign of another, which may be the sign of a zero."""
    return _formula("copy_sign", lift(magnitude), lift(sign))


def quotient(a: object, b: object) -> Expression:
    """The quotient of two integers, rounded towards zero; zero where ``b`` is zero."""
    return _formula("quotient", lift(a), lift(b))


def remainder(a: object, b: object) -> Expression:
    """What the quotient rounded towards zero leaves of ``a``, exactly; NaN, or of integers zero, where ``b`` is zero.

    Operands that are results of other operations are rounded first.
    """
    return _formula("remainder", lift(a), lift(b))


def power(a: object, b: object) -> Expression:
    """``a`` to the power of ``b``, with the special cases of IEEE 754."""
    return _formula("power", lift(a), lift(b))


def integer_power(a: object, b: object) -> Expression:
    """The power of two integers, wrapping around; with a negative exponent it is rounded towards zero."""
    return _formula("integer_power", lift(a), lift(b))


def atan2(y: object, x: object) -> Expression:
    """The angle of the point (x, y), from -pi to pi; signed zeros and infinities as in IEEE 754."""
    return _formula("atan2", lift(y), lift(x))


def row_first(condition: object) -> Expression:
    """Whether an element is the first of its row for which the condition holds."""
    test = lift(condition)
    if test.format is not Format.TRUTH:
        raise FormulaError(f"row_first: the condition is a {test.format.value}; allowed: a comparison, such as x > 0")
    return _formula("row_first", test)


def bit_and(a: object, b: object) -> Expression:
    """The bits that two integers have in common."""
    return _bits("and", a, b)


def bit_or(a: object, b: object) -> Expression:
    """The bits that one or both of two integers have."""
    return _bits("or", a, b)


def bit_xor(a: object, b: object) -> Expression:
    """The bits that one of two integers has."""
    return _bits("exclusive_or", a, b)


def bit_not(x: object) -> Expression:
    """The bits that an integer does not have."""
    return _bits("not", x)


def bit_shift_left(a: object, b: object) -> Expression:
    """The bits of an integer, moved towards the higher ones; 0 if none is left."""
    return _bits("bit_shift_left", a, b)


def bit_shift_right(a: object, b: object) -> Expression:
    """The bits of an integer, moved towards the lower ones; 0 if none is left."""
    return _bits("bit_shift_right", a, b)


def bit_count(x: object) -> Expression:
    """How many bits an integer has."""
    return _bits("bit_count", x)


def _bits(operation: str, *operands: object) -> Expression:
    lifted = tuple(map(lift, operands))
    if any(operand.format is not Format.NUMBER for operand in lifted):
        raise FormulaError(f"{operation}: an operand is a truth; allowed: numbers. Truth values take & | ^ ~")
    return node(operation, lifted, None, Format.NUMBER)


def _unary(operation: str, name: str, doc: str) -> Callable[[object], Expression]:
    def function(x: object) -> Expression:
        return _formula(operation, lift(x))

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

#: What NumPy's functions mean inside a formula.
NUMPY_NAMES: dict[str, Callable[..., Expression]] = {
    "where": where,
    "equal": equal,
    "absolute": absolute,
    "fabs": absolute,
    "copysign": copy_sign,
    "sqrt": square_root,
    "floor": floor,
    "ceil": ceiling,
    "trunc": truncate,
    "rint": round_even,
    "arccos": acos,
    "arccosh": acosh,
    "arcsin": asin,
    "arcsinh": asinh,
    "arctan": atan,
    "arctan2": atan2,
    "arctanh": atanh,
    "cos": cos,
    "cosh": cosh,
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "sin": sin,
    "sinh": sinh,
    "tan": tan,
    "tanh": tanh,
    "fmod": remainder,
    "maximum": larger,
    "minimum": smaller,
    "power": power,
    "add": lambda a, b: lift(a) + lift(b),
    "subtract": lambda a, b: lift(a) - lift(b),
    "multiply": lambda a, b: lift(a) * lift(b),
    "divide": lambda a, b: lift(a) / lift(b),
    "negative": lambda a: -lift(a),
    "less": lambda a, b: lift(a) < lift(b),
    "less_equal": lambda a, b: lift(a) <= lift(b),
    "greater": lambda a, b: lift(a) > lift(b),
    "greater_equal": lambda a, b: lift(a) >= lift(b),
}
