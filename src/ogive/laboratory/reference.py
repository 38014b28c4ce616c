"""The reference evaluator: what "right" means. Small, slow, and independent of how kernels compute.

It walks a formula's graph, not a lowered one: `evaluate_exactly` in 300 bits of mpmath, for one element, and `evaluate` in
float64 or long double with NumPy's own functions, for sweeps over many elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ogive.common.dtypes import FLOAT_FORMATS, ElementType
from ogive.differentiation.slope_forms import with_slopes
from ogive.errors import UnsupportedError
from ogive.graph import operations as ops
from ogive.graph.error_functions import compiled_error_function, context, to_long_double
from ogive.graph.expression import Expression, Format, Operation, walk
from ogive.lowering.forms import cancels, with_forms

__all__ = [
    "compiled_error_function",
    "correctly_rounded",
    "evaluate",
    "evaluate_exactly",
    "to_long_double",
]


# ---- sweeps: NumPy's functions in float64 or long double


def _threshold(x: np.ndarray) -> np.ndarray:
    """For rows along the last axis, by sorting (Held, Wolfe and Crowder, 1974)."""
    ordered = -np.sort(-x, axis=-1)
    candidates = (np.cumsum(ordered, axis=-1) - 1) / np.arange(1, x.shape[-1] + 1)
    found: np.ndarray = np.max(np.where(ordered == -np.inf, -np.inf, candidates), axis=-1, keepdims=True)
    return found


def _square_threshold(x: np.ndarray) -> np.ndarray:
    """The same by sorting: of the k largest elements the number for which they alone make the sum, if it is not above them."""
    ordered = -np.sort(-x, axis=-1)
    count = np.arange(1, x.shape[-1] + 1)
    mean = np.cumsum(ordered, axis=-1) / count
    away = np.cumsum(ordered * ordered, axis=-1) - count * mean * mean
    candidates = mean - np.sqrt((1 - away) / count)
    found: np.ndarray = np.max(np.where(candidates <= ordered, candidates, -np.inf), axis=-1, keepdims=True)
    return found


#: Up to here whole numbers of float64 are exact.
_WHOLE = 2.0**53


def _bits_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """For truth values a truth value, for whole numbers the number with these bits."""

    def rule(*operands: Any) -> Any:
        numbers = [np.asarray(operand) for operand in operands]
        if all(x.dtype == bool for x in numbers):
            return function(*numbers)
        if not all((np.abs(x) <= _WHOLE).all() and (x == np.trunc(x)).all() for x in numbers):
            allowed = "whole numbers up to 2**53 have bits on arrays of floating-point numbers"
            raise UnsupportedError(f"reference: {allowed}. Use evaluate_exactly, which takes one element")
        return function(*(x.astype(np.int64) for x in numbers)).astype(numbers[0].dtype)

    return rule


#: The rules of the operations of ogive.graph.operations for arrays; elementary functions have such a rule of their own.
_ON_ARRAYS: dict[str, Callable[..., Any]] = {
    ops.ADD: np.add,
    ops.SUBTRACT: np.subtract,
    ops.MULTIPLY: np.multiply,
    ops.DIVIDE: np.divide,
    ops.NEGATE: np.negative,
    ops.ABSOLUTE: np.absolute,
    ops.APPROXIMATION: np.positive,
    ops.SQUARE_ROOT: np.sqrt,
    ops.FLOOR: np.floor,
    ops.CEILING: np.ceil,
    ops.TRUNCATE: np.trunc,
    ops.ROUND_EVEN: np.rint,
    ops.COPY_SIGN: np.copysign,
    ops.LESS: np.less,
    ops.LESS_EQUAL: np.less_equal,
    ops.EQUAL: np.equal,
    ops.AND: _bits_of(np.bitwise_and),
    ops.OR: _bits_of(np.bitwise_or),
    ops.EXCLUSIVE_OR: _bits_of(np.bitwise_xor),
    ops.NOT: _bits_of(np.bitwise_not),
    ops.SELECT: np.where,
    ops.REMAINDER: np.fmod,
    # Rows lie along the last axis.
    ops.ROW_MAX: lambda x: np.max(x, axis=-1, keepdims=True),
    ops.ROW_MIN: lambda x: np.min(x, axis=-1, keepdims=True),
    ops.ROW_SUM: lambda x: np.sum(x, axis=-1, keepdims=True),
    ops.ROW_PRODUCT: lambda x: np.prod(x, axis=-1, keepdims=True),
    ops.ROW_THRESHOLD: _threshold,
    ops.ROW_NEAR_THRESHOLD: _square_threshold,
    ops.THRESHOLD_STEP: lambda near, step, _: near + step,
    ops.ROW_FIRST: lambda x: x & (np.cumsum(x, axis=-1) == 1),
    ops.ROW_COUNT: lambda x: np.full((*x.shape[:-1], 1), x.shape[-1], x.dtype),
    ops.ROW_INDEX: lambda x: np.where(x.any(axis=-1, keepdims=True), x.argmax(axis=-1)[..., np.newaxis], np.inf),
}


def evaluate(
    root: Expression,
    inputs: Sequence[Any],
    parameters: Mapping[str, float] | None = None,
    dtype: Any = np.float64,
) -> Any:
    """The formula on arrays, in float64 or long double, with NumPy's functions; not rounded further.

    Good for float16, bfloat16 and float32 kernels (float64) and for float64 kernels where long double has
    64 bits or more. The error of NumPy's functions is that of the C library. Definitions in which terms cancel have the forms
    that are equal to them (ogive.lowering.forms).
    """

    def leaf(current: Expression) -> Any:
        if current.operation == ops.INPUT:
            array = np.asarray(inputs[current.attribute])
            return array.astype(bool if current.format is Format.TRUTH else dtype)
        if current.operation == ops.PARAMETER:
            return dtype((parameters or {})[current.attribute[1]])
        if current.format is Format.TRUTH:
            return bool(current.attribute)
        value = current.attribute
        if isinstance(value, Fraction):
            # Two float64: numerators and denominators are beyond the range of most types (pi has 4,352 bits).
            high = float(value)
            return dtype(high) + dtype(float(value - Fraction(high)))
        return dtype(value)

    (root,) = with_slopes(with_forms([root], of_results=False))
    with np.errstate(all="ignore"):
        return _interpret(root, lambda operation: _ON_ARRAYS.get(operation, operation.evaluate), leaf)


def _interpret(
    root: Expression, rule_of: Callable[[Operation], Callable[..., Any] | None], leaf: Callable[[Expression], Any]
) -> Any:
    values: dict[Expression, Any] = {}
    for current in walk(root):
        if not current.operands:
            values[current] = leaf(current)
            continue
        rule = rule_of(current.operation)
        if rule is None:
            raise UnsupportedError(f"reference: there is no rule for {current.operation}")
        values[current] = rule(*(values[operand] for operand in current.operands))
    return values[root]


# ---- exactness: mpmath


#: Enough bits for what definitions lose to cancellation: float64's largest number squared, beside its smallest.
_ENOUGH = 3300


def _exact_functions(mp: Any, bits: int) -> dict[str, Callable[..., Any]]:
    def divide(a: Any, b: Any) -> Any:
        if b == 0:
            return mp.nan if a == 0 or mp.isnan(a) else a * mp.inf
        return a / b

    def whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: function(x) if mp.isfinite(x) else x

    return {
        ops.ADD: lambda a, b: a + b,
        ops.SUBTRACT: lambda a, b: a - b,
        ops.MULTIPLY: lambda a, b: a * b,
        ops.DIVIDE: divide,
        ops.BIT_COUNT: lambda a: mp.mpf((int(a) % (1 << bits)).bit_count()),
        ops.BIT_SHIFT_LEFT: lambda a, b: a * 2 ** int(b) if b < bits else mp.mpf(0),
        ops.BIT_SHIFT_RIGHT: lambda a, b: mp.mpf(int(a) >> int(b)) if b < bits else mp.mpf(0),
        ops.QUOTIENT: lambda a, b: mp.mpf(0) if b == 0 else mp.mpf(_truncated_quotient(int(a), int(b))),
        ops.NEGATE: lambda a: -a,
        ops.ABSOLUTE: abs,
        ops.SQUARE_ROOT: lambda a: mp.nan if a < 0 else mp.sqrt(a),
        ops.FLOOR: whole(mp.floor),
        ops.CEILING: whole(mp.ceil),
        ops.TRUNCATE: whole(lambda x: mp.floor(x) if x >= 0 else mp.ceil(x)),
        ops.ROUND_EVEN: whole(mp.nint),
        ops.COPY_SIGN: lambda a, b: abs(a) if b >= 0 else -abs(a),
        ops.LESS: lambda a, b: a < b,
        ops.LESS_EQUAL: lambda a, b: a <= b,
        ops.EQUAL: lambda a, b: a == b,
        ops.AND: _bits_or_truth(mp, lambda a, b: a & b),
        ops.OR: _bits_or_truth(mp, lambda a, b: a | b),
        ops.EXCLUSIVE_OR: _bits_or_truth(mp, lambda a, b: a ^ b),
        ops.NOT: lambda a: not a if isinstance(a, bool) else mp.mpf(~int(a)),
        ops.SELECT: lambda condition, a, b: a if condition else b,
        ops.REMAINDER: partial(_exact_remainder, mp),
        # Modulo a multiple of what every integer type has.
        ops.INTEGER_POWER: lambda a, b: mp.mpf(_integer_power(int(a), int(b), 2**64)),
    }


def _bits_or_truth(mp: Any, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """For two truth values a truth value, for two integers (as mpmath has them) an integer."""
    return lambda a, b: function(a, b) if isinstance(a, bool) else mp.mpf(function(int(a), int(b)))


def _exact_remainder(mp: Any, a: Any, b: Any) -> Any:
    if not mp.isfinite(a) or b == 0 or mp.isnan(b):
        return mp.nan
    if mp.isinf(b):
        return a
    # As integers: multiples of a number that is far smaller than any of the two.
    rest = int(mp.ldexp(abs(a), 1500)) % int(mp.ldexp(abs(b), 1500))
    return mp.sign(a) * mp.ldexp(mp.mpf(rest), -1500)


def _integer_power(a: int, b: int, modulus: int) -> int:
    if b >= 0:
        return pow(a, b, modulus)
    return 1 if a == 1 or (a == -1 and b % 2 == 0) else -1 if a == -1 else 0


def _truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def evaluate_exactly(
    root: Expression, inputs: Sequence[Any], parameters: Mapping[str, float] | None = None, *, bits: int = 64
) -> Any:
    """The formula on one element, in 300 bits: an mpmath number. There is no negative zero in mpmath.

    A definition in which terms cancel has enough bits on the way.
    ``bits`` is the width of integer operands, for the formulas that look at their bits.
    """
    mp = context(_ENOUGH) if cancels(root) else context()

    def leaf(current: Expression) -> Any:
        if current.operation == ops.INPUT:
            value = inputs[current.attribute]
            return bool(value) if current.format is Format.TRUTH else mp.mpf(value)
        if current.operation == ops.PARAMETER:
            return mp.mpf((parameters or {})[current.attribute[1]])
        if current.format is Format.TRUTH:
            return bool(current.attribute)
        value = current.attribute
        return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mp.mpf(value)

    functions = _exact_functions(mp, bits)

    def rule_of(operation: Operation) -> Callable[..., Any] | None:
        exact = operation.evaluate_exactly
        return functions.get(operation) or (None if exact is None else partial(exact, mp))

    value = _interpret(root, rule_of, leaf)
    return value if isinstance(value, bool) else +context().mpf(value)


def correctly_rounded(value: Any, kind: ElementType, *, modular: bool = False) -> float | int:
    """A number of mpmath in an element type.

    The nearest float; or an integer, rounded towards zero and saturating, or modulo 2**bits.
    """
    mp = context()
    if isinstance(value, bool) or kind.name == "bool":
        return int(value != 0)
    if kind.is_integer and modular and mp.isfinite(value):
        wrapped: int = (int(value) - kind.minimum) % 2**kind.bits + kind.minimum
        return wrapped
    if kind.is_integer:
        if mp.isnan(value):
            return 0
        if mp.isinf(value):
            return kind.maximum if value > 0 else kind.minimum
        return min(max(int(value), kind.minimum), kind.maximum)
    if not mp.isfinite(value) or value == 0:
        return float(value)
    precision, smallest, largest = FLOAT_FORMATS[kind.name]
    exponent = max(int(mp.floor(mp.log(abs(value), 2))), smallest)
    if abs(value) < mp.mpf(2) ** exponent:
        exponent -= 1
    unit = mp.mpf(2) ** (max(exponent, smallest) - precision + 1)
    rounded = mp.nint(value / unit) * unit
    if abs(rounded) > largest:
        return math.inf if value > 0 else -math.inf
    return float(rounded)
