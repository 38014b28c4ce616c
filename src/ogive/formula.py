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
from typing import cast

from ogive.errors import FormulaError
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import (
    Expression,
    Format,
    Operation,
    Term,
    as_number,
    constant,
    formula_node,
    lift,
    node,
    vocabulary,
)
from ogive.graph.irrational_numbers import LOG_2, LOG_10, PI
from ogive.graph.limits import is_infinite

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
    "erfinv",
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
    "log_2",
    "log_10",
    "log_ndtr",
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
    "ndtr",
    "normal_tail",
    "of_one",
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
    "row_count",
    "row_first",
    "row_log_sum_exp",
    "row_max",
    "row_min",
    "row_product",
    "row_square_threshold",
    "row_sum",
    "row_threshold",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "smaller",
    "softplus",
    "sqrt",
    "square",
    "square_root",
    "tan",
    "tanh",
    "trunc",
    "truncate",
    "where",
]


#: The circle's constant, and the natural logarithms of 2 and 10.
pi, log_2, log_10 = constant(PI), constant(LOG_2), constant(LOG_10)


def where(condition: object, value: object, otherwise: object) -> Term:
    """``value`` where the condition holds, ``otherwise`` elsewhere; the branch not taken has no effect."""
    test, a, b = lift(condition), lift(value), lift(otherwise)
    if test.format is not Format.TRUTH:
        raise FormulaError("where: the condition is a number; allowed: a truth value, such as x > 0 or x != 0")
    return formula_node(ops.SELECT, test, a, b)


def equal(a: object, b: object) -> Term:
    """Whether two numbers are equal, as ``a == b``; NaN equals nothing."""
    return formula_node(ops.EQUAL, lift(a), lift(b))


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
    return formula_node(functions.LARGER, lift(a), lift(b))


def smaller(a: object, b: object) -> Term:
    """IEEE 754's minimum: NaN where one of them is, and -0 is smaller than 0."""
    return formula_node(functions.SMALLER, lift(a), lift(b))


def copy_sign(magnitude: object, sign: object) -> Term:
    """The magnitude of one number with the sign of another, which may be the sign of a zero."""
    return formula_node(ops.COPY_SIGN, lift(magnitude), lift(sign))


def quotient(a: object, b: object) -> Term:
    """The quotient of two integers, rounded towards zero; zero where ``b`` is zero."""
    return formula_node(ops.QUOTIENT, lift(a), lift(b))


def remainder(a: object, b: object) -> Term:
    """Rest of ``a`` beside the quotient rounded towards zero, exactly; NaN, or of integers zero, where ``b`` is zero."""
    return formula_node(ops.REMAINDER, lift(a), lift(b))


def power(a: object, b: object) -> Term:
    """``a`` to the power of ``b``, with the special cases of IEEE 754."""
    return formula_node(functions.POWER, lift(a), lift(b))


def integer_power(a: object, b: object) -> Term:
    """The power of two integers, wrapping around; with a negative exponent it is rounded towards zero."""
    return formula_node(ops.INTEGER_POWER, lift(a), lift(b))


def atan2(y: object, x: object) -> Term:
    """The angle of the point (x, y), from -pi to pi; signed zeros and infinities as in IEEE 754."""
    return formula_node(functions.ATAN2, lift(y), lift(x))


def row_first(condition: object) -> Term:
    """Whether an element is the first of its row for which the condition holds."""
    test = lift(condition)
    if test.format is not Format.TRUTH:
        raise FormulaError("row_first: the condition is a number; allowed: a truth value, such as x > 0")
    return formula_node(ops.ROW_FIRST, test)


def bit_and(a: object, b: object) -> Term:
    """The bits that two integers have in common."""
    return _bits(ops.AND, a, b)


def bit_or(a: object, b: object) -> Term:
    """The bits that one or both of two integers have."""
    return _bits(ops.OR, a, b)


def bit_xor(a: object, b: object) -> Term:
    """The bits that one of two integers has."""
    return _bits(ops.EXCLUSIVE_OR, a, b)


def bit_not(x: object) -> Term:
    """The bits that an integer does not have."""
    return _bits(ops.NOT, x)


def bit_shift_left(a: object, b: object) -> Term:
    """The bits of an integer, moved towards the higher ones; 0 if none is left."""
    return _bits(ops.BIT_SHIFT_LEFT, a, b)


def bit_shift_right(a: object, b: object) -> Term:
    """The bits of an integer, moved towards the lower ones; 0 if none is left."""
    return _bits(ops.BIT_SHIFT_RIGHT, a, b)


def bit_count(x: object) -> Term:
    """How many bits an integer has."""
    return _bits(ops.BIT_COUNT, x)


def _bits(operation: Operation, *operands: object) -> Term:
    lifted = tuple(map(lift, operands))
    if any(operand.format is not Format.NUMBER for operand in lifted):
        raise FormulaError(f"{operation}: an operand is a truth value; allowed: numbers. Truth values take & | ^ ~")
    return cast(Term, node(operation, lifted, None, Format.NUMBER))


def of_one(operation: Operation) -> Callable[[object], Term]:
    """The function that writes an operation of one operand in a formula.

    >>> from ogive.graph.elementary_functions import TANH
    >>> of_one(TANH)(0.5) is tanh(0.5)
    True
    """

    def function(x: object) -> Term:
        return formula_node(operation, lift(x))

    function.__name__ = function.__qualname__ = operation.name
    function.__doc__ = operation.doc
    return function


absolute, square_root = of_one(ops.ABSOLUTE), of_one(ops.SQUARE_ROOT)
floor, ceiling, truncate, round_even = map(of_one, (ops.FLOOR, ops.CEILING, ops.TRUNCATE, ops.ROUND_EVEN))
acos, asin, atan = of_one(functions.ACOS), of_one(functions.ASIN), of_one(functions.ATAN)
acosh, asinh, atanh = of_one(functions.ACOSH), of_one(functions.ASINH), of_one(functions.ATANH)
cos, sin, tan = of_one(functions.COS), of_one(functions.SIN), of_one(functions.TAN)
cosh, sinh, tanh = of_one(functions.COSH), of_one(functions.SINH), of_one(functions.TANH)
cbrt = of_one(functions.CBRT)
erf, erfc, normal_tail = of_one(functions.ERF), of_one(functions.ERFC), of_one(functions.NORMAL_TAIL)
erfinv, log_ndtr = of_one(functions.ERFINV), of_one(functions.LOG_NDTR)
exp, exp2 = of_one(functions.EXP), of_one(functions.EXP2)
expm1, logistic = of_one(functions.EXPM1), of_one(functions.LOGISTIC)
log, log1p = of_one(functions.LOG), of_one(functions.LOG1P)
log2, log10 = of_one(functions.LOG2), of_one(functions.LOG10)
row_max, row_min, row_sum = of_one(ops.ROW_MAX), of_one(ops.ROW_MIN), of_one(ops.ROW_SUM)
row_product, row_count = of_one(ops.ROW_PRODUCT), of_one(ops.ROW_COUNT)
row_threshold, row_square_threshold = of_one(ops.ROW_THRESHOLD), of_one(ops.ROW_SQUARE_THRESHOLD)


# ---- made of the others


def isnan(x: object) -> Term:
    """Whether this is NaN."""
    x = lift(x)
    return x != x  # NaN is what differs from itself


def isinf(x: object) -> Term:
    """Whether this is an infinity, as results are stored: exp(12) is one in float16."""
    return absolute(x) == math.inf


def isfinite(x: object) -> Term:
    """Whether this is a number other than the infinities and NaN, as results are stored."""
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
    """``x``, with other numbers in the place of NaN and of what is stored as an infinity, which must be said."""
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
    """``a ** b``: a root or products for the exponents -1, 0.5 and 1 to 8, the power for others."""
    if modulus is not None:
        raise FormulaError("pow: a third argument has no meaning for real numbers. Write (a ** b) % c")
    base, exponent = as_number(lift(a)), as_number(lift(b))
    if exponent.operation != ops.CONSTANT:
        return power(base, exponent)
    value = exponent.attribute
    if value == -1:
        return 1 / base
    if value == 0.5:
        return _to_one_half(base)
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


def _to_one_half(base: Term) -> Term:
    """The root, but for IEEE 754's power, which is 0 of -0, and inf of -inf."""
    if _is_positive(base):
        return square_root(base)
    root = square_root(base if _is_never_minus_zero(base) else base + 0)
    return where(equal(base, -math.inf), math.inf, root)


def _is_never_minus_zero(n: Expression) -> bool:
    """Whether a number is no zero with a sign by its formula: so are mean squares, and sums with a constant."""
    if n.operation == ops.ADD:
        is_moved = any(part.operation == ops.CONSTANT and part.attribute != 0 for part in n.operands)
        return is_moved or any(map(_is_positive, n.operands))
    return _is_positive(n)


def _is_positive(n: Expression) -> bool:
    """Whether a number is positive, or a zero without a sign, by its formula."""
    if n.operation == ops.CONSTANT:
        return bool(n.attribute > 0)
    if n.operation in (ops.ADD, ops.DIVIDE, ops.MULTIPLY, ops.ROW_SUM):
        is_square = n.operation == ops.MULTIPLY and n.operands[0] is n.operands[1]
        return is_square or all(map(_is_positive, n.operands))
    return n.operation in (ops.ABSOLUTE, ops.ROW_COUNT)


def mod(a: object, b: object) -> Term:
    """Rest of ``a`` beside the quotient rounded down, exactly: it has the sign of ``b``, as Python's ``%``."""
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
    return copy_sign(where(is_infinite(x), 0, x - whole), x), whole


def deg2rad(x: object) -> Term:
    """An angle in degrees, in radians."""
    return lift(x) * constant(pi.attribute / 180)


def rad2deg(x: object) -> Term:
    """An angle in radians, in degrees."""
    return lift(x) * constant(180 / pi.attribute)


def hypot(a: object, b: object) -> Term:
    """``sqrt(a * a + b * b)`` without overflow on the way; infinite where one of them is, beside NaN too."""
    x, y = absolute(a), absolute(b)
    long = larger(x, y)
    slope = smaller(x, y) / long
    length = where(long == 0, 0, long * square_root(1 + slope * slope))
    return where(is_infinite(x) | is_infinite(y), math.inf, length)


def logaddexp(a: object, b: object) -> Term:
    """``log(exp(a) + exp(b))`` without overflow on the way.

    In float64 relative accuracy is lost where the result is near zero.
    """
    a, b = as_number(lift(a)), as_number(lift(b))
    return where(a == b, a + log_2, larger(a, b) + log1p(exp(-absolute(a - b))))


def logaddexp2(a: object, b: object) -> Term:
    """``log2(2 ** a + 2 ** b)`` without overflow on the way.

    In float64 relative accuracy is lost where the result is near zero.
    """
    a, b = as_number(lift(a)), as_number(lift(b))
    return where(a == b, a + 1, larger(a, b) + log1p(exp2(-absolute(a - b))) / log_2)


def softplus(x: object) -> Term:
    """``log(1 + exp(x))`` without overflow on the way."""
    x = as_number(lift(x))
    return larger(x, 0) + log1p(exp(-absolute(x)))


def ndtr(x: object) -> Term:
    """``(1 + erf(x / sqrt(2))) / 2``, the standard normal distribution function, accurate in both tails."""
    return normal_tail(-lift(x))


def row_log_sum_exp(x: object) -> Term:
    """``max(x) + log(sum(exp(x - max(x))))`` of a row.

    The largest elements are counted and the others summed: so a small one beside a largest one of zero is not lost.
    """
    element = lift(x)
    largest = row_max(element)
    is_smaller = element < largest
    others = row_sum(where(is_smaller, exp(element - largest), 0)) + (row_sum(where(is_smaller, 0, 1)) - 1)
    return where(is_infinite(largest), largest, largest + log1p(others))


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


vocabulary |= {
    "mod": mod,
    "floor_divide": floor_divide,
    "divmod": divmod,
    "raised": raised,
    "round": round,
    "floor": floor,
    "ceiling": ceiling,
    "truncate": truncate,
}
