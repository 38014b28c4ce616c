"""The reference evaluator: what "right" means. Small, slow, and independent of how kernels compute.

It walks a formula's graph, not a lowered one, in a number system of the caller's choice: `exact` in mpmath
(any number of digits), `Float64` and `LongDouble` in NumPy's own functions for sweeps over many elements.
"""

from __future__ import annotations

import ctypes
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from ogive.dtypes import ElementType
from ogive.errors import UnsupportedError
from ogive.expression import Expression, Format, walk

__all__ = [
    "compiled_error_function",
    "correctly_rounded",
    "evaluate",
    "evaluate_exactly",
    "to_element",
    "to_long_double",
]


# ---- sweeps: NumPy's functions in float64 or long double


def _numpy_functions() -> dict[str, Callable[..., Any]]:
    return {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.divide,
        "negate": np.negative,
        "absolute": np.absolute,
        "square_root": np.sqrt,
        "floor": np.floor,
        "ceiling": np.ceil,
        "truncate": np.trunc,
        "round_even": np.rint,
        "copy_sign": np.copysign,
        "less": np.less,
        "less_equal": np.less_equal,
        "equal": np.equal,
        "and": np.logical_and,
        "or": np.logical_or,
        "exclusive_or": np.logical_xor,
        "not": np.logical_not,
        "select": np.where,
        "remainder": np.fmod,
        "power": np.power,
        "acos": np.arccos,
        "acosh": np.arccosh,
        "asin": np.arcsin,
        "asinh": np.arcsinh,
        "atan": np.arctan,
        "atan2": np.arctan2,
        "atanh": np.arctanh,
        "cos": np.cos,
        "cosh": np.cosh,
        "larger": partial(_extreme, np.maximum, np.bitwise_and),
        "smaller": partial(_extreme, np.minimum, np.bitwise_or),
        "erf": _error_function("erf"),
        "erfc": _error_function("erfc"),
        "exp": np.exp,
        "expm1": np.expm1,
        "log": np.log,
        "log1p": np.log1p,
        "logistic": _logistic,
        "normal_tail": _normal_tail,
        "sin": np.sin,
        "sinh": np.sinh,
        "tan": np.tan,
        "tanh": np.tanh,
        # Rows lie along the last axis.
        "row_max": lambda x: np.max(x, axis=-1, keepdims=True),
        "row_min": lambda x: np.min(x, axis=-1, keepdims=True),
        "row_sum": lambda x: np.sum(x, axis=-1, keepdims=True),
        "row_first": lambda x: x & (np.cumsum(x, axis=-1) == 1),
        "row_count": lambda x: np.full((*x.shape[:-1], 1), x.shape[-1], x.dtype),
        "row_index": lambda x: np.where(x.any(axis=-1, keepdims=True), x.argmax(axis=-1)[..., np.newaxis], np.inf),
    }


#: Where the error functions are as good as constant: what is left is below 2**-(10**9), and mpmath overflows.
FAR = 30_000


def _exact_error_function(name: str, x: Any) -> Any:
    mp = _mp()
    if abs(x) > FAR:
        return mp.sign(x) if name == "erf" else 1 - mp.sign(x)
    return getattr(mp, name)(x)


def _logistic(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _normal_tail(x: Any) -> Any:
    """In the tail erfc magnifies what its argument lacks after rounding; its derivative makes up for that."""
    # sqrt(1/2) in two parts: the product with the first, of 11 bits, is exact.
    high, low = x * 0.70703125, x * np.asarray(x).dtype.type("7.553118654752440084436210484903928e-5")
    argument = high + low
    missing = (high - argument) + low
    missing = np.where(np.isfinite(argument), missing, 0)
    return _error_function("erfc")(argument) / 2 - np.exp(-argument * argument) * missing / np.sqrt(np.pi)


def _extreme(function: Callable[..., Any], sign: Callable[..., Any], a: Any, b: Any) -> Any:
    """NumPy's, which returns any of two zeros."""
    is_zero = (a == 0) & (b == 0)
    return np.where(is_zero, np.where(sign(np.signbit(a), np.signbit(b)), -0.0, 0.0), function(a, b))


def _error_function(name: str) -> Callable[[Any], Any]:
    """NumPy has no error function: SciPy's where it is installed (float64 only), else that of the C library."""

    def function(x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype == np.longdouble:
            compiled = compiled_error_function(name, np.longdouble)
            if compiled is not None:
                return compiled(x)
            exact = [_exact_error_function(name, _mp().mpf(str(v))) for v in x.ravel()]
            return np.array(list(map(to_long_double, exact))).reshape(x.shape)
        try:
            from scipy import special
        except ImportError:
            return np.vectorize(getattr(math, name), otypes=[np.float64])(x)
        return getattr(special, name)(x)

    return function


#: A loop over an array, which calls the C library.
_LOOP = """
declare TYPE @NAME(TYPE)
define void @apply(ptr %x, ptr %y, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr TYPE, ptr %x, i64 %i
  %to = getelementptr TYPE, ptr %y, i64 %i
  %value = load TYPE, ptr %from, align ALIGN
  %result = call TYPE @NAME(TYPE %value)
  store TYPE %result, ptr %to, align ALIGN
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@cache
def compiled_error_function(name: str, dtype: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """The C library's function on arrays of float64 or long double, a thousand times as fast as mpmath.

    None where it is not. Python reaches it with float64 only, one number at a time. Only glibc's is known to be good
    enough, and long double only in the format of x87.
    """
    if platform.libc_ver()[0] != "glibc" or platform.machine() != "x86_64":
        return None
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    is_long = dtype is np.longdouble
    text = _LOOP.replace("TYPE", "x86_fp80" if is_long else "double").replace("ALIGN", "16" if is_long else "8")
    module = llvm.parse_assembly(text.replace("NAME", f"{name}l" if is_long else name))
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    apply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        engine.get_function_address("apply")
    )

    def compute(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x)
        result = np.zeros_like(x)
        if x.size:
            apply(x.ctypes.data, result.ctypes.data, x.size)
        assert engine is not None  # it owns the code
        return result

    return compute


def evaluate(
    root: Expression,
    inputs: Sequence[Any],
    parameters: Mapping[str, float] | None = None,
    dtype: Any = np.float64,
) -> Any:
    """The formula on arrays, in float64 or long double, with NumPy's functions; not rounded further.

    Good for float16, bfloat16 and float32 kernels (float64) and for float64 kernels where long double has
    64 bits or more. The error of NumPy's functions is that of the C library.
    """
    functions = _numpy_functions()

    def leaf(current: Expression) -> Any:
        if current.operation == "input":
            array = np.asarray(inputs[current.attribute])
            return array.astype(bool if current.format is Format.TRUTH else dtype)
        if current.operation == "parameter":
            return dtype((parameters or {})[current.attribute[1]])
        if current.format is Format.TRUTH:
            return bool(current.attribute)
        value = current.attribute
        if isinstance(value, Fraction):
            return dtype(value.numerator) / dtype(value.denominator) if dtype is not np.float64 else dtype(float(value))
        return dtype(value)

    with np.errstate(all="ignore"):
        return _interpret(root, functions, leaf)


def _interpret(root: Expression, functions: Mapping[str, Callable[..., Any]], leaf: Callable[[Expression], Any]) -> Any:
    values: dict[Expression, Any] = {}
    for current in walk(root):
        if not current.operands:
            values[current] = leaf(current)
        elif current.operation in functions:
            values[current] = functions[current.operation](*(values[operand] for operand in current.operands))
        else:
            raise UnsupportedError(f"reference: there is no rule for {current.operation}")
    return values[root]


# ---- exactness: mpmath


@cache
def _mp() -> Any:
    import mpmath

    context = mpmath.MPContext()
    context.prec = 300
    return context


def _exact_functions(bits: int) -> dict[str, Callable[..., Any]]:
    mp = _mp()

    def divide(a: Any, b: Any) -> Any:
        if b == 0:
            return mp.nan if a == 0 or mp.isnan(a) else a * mp.inf
        return a / b

    def whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: function(x) if mp.isfinite(x) else x

    def inside(low: float, high: float, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: function(x) if low <= x <= high else mp.nan

    return {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": divide,
        "bit_count": lambda a: mp.mpf((int(a) % (1 << bits)).bit_count()),
        "bit_shift_left": lambda a, b: a * 2 ** int(b) if b < bits else mp.mpf(0),
        "bit_shift_right": lambda a, b: mp.mpf(int(a) >> int(b)) if b < bits else mp.mpf(0),
        "quotient": lambda a, b: mp.mpf(0) if b == 0 else mp.mpf(_truncated_quotient(int(a), int(b))),
        "negate": lambda a: -a,
        "absolute": abs,
        "square_root": lambda a: mp.nan if a < 0 else mp.sqrt(a),
        "floor": whole(mp.floor),
        "ceiling": whole(mp.ceil),
        "truncate": whole(lambda x: mp.floor(x) if x >= 0 else mp.ceil(x)),
        "round_even": whole(mp.nint),
        "copy_sign": lambda a, b: abs(a) if b >= 0 else -abs(a),
        "less": lambda a, b: a < b,
        "less_equal": lambda a, b: a <= b,
        "equal": lambda a, b: a == b,
        "and": _bits_or_truth(lambda a, b: a & b),
        "or": _bits_or_truth(lambda a, b: a | b),
        "exclusive_or": _bits_or_truth(lambda a, b: a ^ b),
        "not": lambda a: not a if isinstance(a, bool) else mp.mpf(~int(a)),
        "select": lambda condition, a, b: a if condition else b,
        "remainder": _exact_remainder,
        "power": _exact_power,
        # Modulo a multiple of what every integer type has.
        "integer_power": lambda a, b: mp.mpf(_integer_power(int(a), int(b), 2**64)),
        "acos": inside(-1, 1, mp.acos),
        "acosh": inside(1, math.inf, mp.acosh),
        "asin": inside(-1, 1, mp.asin),
        "asinh": mp.asinh,
        "atan": mp.atan,
        "atan2": mp.atan2,
        "atanh": inside(-1, 1, mp.atanh),
        "cos": mp.cos,
        "cosh": mp.cosh,
        "larger": lambda a, b: mp.nan if mp.isnan(a) or mp.isnan(b) else max(a, b),
        "smaller": lambda a, b: mp.nan if mp.isnan(a) or mp.isnan(b) else min(a, b),
        "erf": partial(_exact_error_function, "erf"),
        "erfc": partial(_exact_error_function, "erfc"),
        "exp": mp.exp,
        "expm1": mp.expm1,
        "log": lambda a: mp.nan if a < 0 else -mp.inf if a == 0 else mp.log(a),
        "log1p": lambda a: mp.nan if a < -1 else -mp.inf if a == -1 else mp.log1p(a),
        "logistic": lambda a: 1 / (1 + mp.exp(-a)),
        "normal_tail": lambda a: _exact_error_function("erfc", a / mp.sqrt(2)) / 2,
        "sin": mp.sin,
        "sinh": mp.sinh,
        "tan": mp.tan,
        "tanh": mp.tanh,
    }


def _bits_or_truth(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Of two truth values a truth value, of two integers (as mpmath has them) an integer."""
    mp = _mp()
    return lambda a, b: function(a, b) if isinstance(a, bool) else mp.mpf(function(int(a), int(b)))


def _exact_remainder(a: Any, b: Any) -> Any:
    mp = _mp()
    if not mp.isfinite(a) or b == 0 or mp.isnan(b):
        return mp.nan
    if mp.isinf(b):
        return a
    # As integers: multiples of a number that is far smaller than any of the two.
    rest = int(mp.ldexp(abs(a), 1500)) % int(mp.ldexp(abs(b), 1500))
    return mp.sign(a) * mp.ldexp(mp.mpf(rest), -1500)


def _exact_power(a: Any, b: Any) -> Any:
    mp = _mp()
    if b == 0 or a == 1:
        return mp.mpf(1)
    if mp.isnan(a) or mp.isnan(b):
        return mp.nan
    size = abs(a)
    if mp.isinf(b):
        return mp.mpf(1) if size == 1 else mp.inf if (size > 1) == (b > 0) else mp.mpf(0)
    is_integral = b == mp.floor(b)
    if a < 0 and not is_integral and mp.isfinite(a):
        return mp.nan
    sign = -1 if a < 0 and is_integral and int(b) % 2 else 1
    if size == 0 or mp.isinf(size):
        return sign * mp.inf if (size == 0) == (b < 0) else mp.mpf(0)
    logarithm = b * mp.log(size)
    # Beyond every format, and mpmath would not come to an end.
    return sign * (mp.exp(logarithm) if abs(logarithm) < 1e6 else mp.inf if logarithm > 0 else mp.mpf(0))


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

    ``bits`` is the width of integer operands, for the formulas that look at their bits.
    """
    mp = _mp()

    def leaf(current: Expression) -> Any:
        if current.operation == "input":
            value = inputs[current.attribute]
            return bool(value) if current.format is Format.TRUTH else mp.mpf(value)
        if current.operation == "parameter":
            return mp.mpf((parameters or {})[current.attribute[1]])
        if current.format is Format.TRUTH:
            return bool(current.attribute)
        value = current.attribute
        return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mp.mpf(value)

    return _interpret(root, _exact_functions(bits), leaf)


def to_long_double(value: Any) -> np.longdouble:
    """A number of mpmath in NumPy's longest format, to its last bit or two."""
    mp = _mp()
    if not mp.isfinite(value) or value == 0:
        return np.longdouble(float(value))
    mantissa, exponent = mp.frexp(value)
    high = float(mantissa)
    low = float(mantissa - high)
    with np.errstate(over="ignore", under="ignore"):  # beyond the format
        result: np.longdouble = np.ldexp(
            np.longdouble(high) + np.longdouble(low), max(min(int(exponent), 1 << 15), -1 << 15)
        )
    return result


def correctly_rounded(value: Any, kind: ElementType, *, modular: bool = False) -> float | int:
    """A number of mpmath in an element type.

    The nearest float; or an integer, rounded towards zero and saturating, or modulo 2**bits.
    """
    mp = _mp()
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
    precision, largest_exponent = _FLOATS[kind.name]
    exponent = max(int(mp.floor(mp.log(abs(value), 2))), 1 - largest_exponent)
    if abs(value) < mp.mpf(2) ** exponent:
        exponent -= 1
    unit = mp.mpf(2) ** (max(exponent, 1 - largest_exponent) - precision + 1)
    rounded = mp.nint(value / unit) * unit
    if abs(rounded) >= mp.mpf(2) ** (largest_exponent + 1):
        return math.inf if value > 0 else -math.inf
    return float(rounded)


#: Significant bits and the largest exponent of each floating-point element type.
_FLOATS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127), "float64": (53, 1023)}


def to_element(values: Sequence[Any], kind: ElementType, *, modular: bool = False) -> np.ndarray:
    """Exact numbers as an array of the element type, each as `correctly_rounded` has it."""
    rounded = [correctly_rounded(value, kind, modular=modular) for value in values]
    return np.array(rounded, dtype=object).astype(kind.numpy)
