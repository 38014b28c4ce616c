"""Every operator of the catalogue a second time, in plain NumPy: what random calls are compared with.

Nothing here is taken from Ogive's formulas, lowering or reference. Numbers are computed in a longer format than the
element type: float64 for up to 32 bits, long double for float64. Integers are computed one by one with Python's whole
numbers and fractions, exactly.
"""

# ruff: noqa: A006  # parameters have the names that the standards give them

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

from ogive.common.dtypes import ElementType
from ogive.laboratory.accuracy.ulp import error_in_ulp

#: Whether there is a longer format than float64. On some platforms long double is none: float64 is not compared there.
HAS_LONGER_DOUBLE = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant

Array = Any


# ---- floating-point numbers


def special(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function of SciPy's, which has none for long double."""
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


def where(condition: Array, a: Any, b: Any) -> Array:
    return np.where(condition, a, b)


def zero_like(x: Array) -> Array:
    return np.copysign(np.zeros_like(x), x)


def celu(x, alpha):
    return where(x >= 0, x, alpha * np.expm1(x / alpha))


def elu(x, alpha):
    return where(x >= 0, x, alpha * np.expm1(x))


def gelu(x, approximate):
    if approximate == "none":
        value = 0.5 * x * special(scipy.special.erfc)(-x / np.sqrt(x.dtype.type(2)))
    else:
        pi = 4 * np.arctan(x.dtype.type(1))
        value = x / (1 + np.exp(-2 * np.sqrt(2 / pi) * (x + 0.044715 * x**3)))
    return where(x < -200, -0.0, value)


def hard_sigmoid(x, alpha, beta):
    return np.maximum(np.minimum(alpha * x + beta, 1), 0)


def hard_swish(x):
    return where(x >= 3, x, where(x <= -3, zero_like(x), x * (x + 3) / 6))


def mish(x):
    return np.maximum(x, -2000) * np.tanh(np.log1p(np.exp(x)))


def parametric_hard_swish(x, alpha, beta):
    gate = hard_sigmoid(x, alpha, beta)
    return where(gate == 0, zero_like(x), x * gate)


def selu(x, alpha, gamma):
    return where(x > 0, gamma * x, gamma * alpha * np.expm1(x))


def shrink(x, bias, lambd, first):
    below, above = (x < -lambd, x + bias), (x > lambd, x - bias)
    one, other = (above, below) if first == "positive" else (below, above)
    return where(one[0], one[1], where(other[0], other[1], 0))


def softsign(x):
    return where(np.isinf(x), np.copysign(1, x), x / (1 + np.abs(x)))


def swish(x, alpha):
    u = alpha * x
    return where(u < -2000, zero_like(x), x / (1 + np.exp(-u)))


def round_to_integer(x, mode):
    if mode == "nearest_away":
        return np.copysign(np.floor(np.abs(x) + 0.5), x)
    return np.rint(x) if mode == "nearest_even" else np.trunc(x)


def clip(x, low, high, wins="max"):
    """NaN as a bound is no bound."""
    if wins == "min":
        x = where(x > high, high, x)
        return where(x < low, low, x)
    x = where(x < low, low, x)
    return where(x > high, high, x)


def isinf(x, detect_negative, detect_positive):
    return np.isneginf(x) & bool(detect_negative) | np.isposinf(x) & bool(detect_positive)


def quantize_linear(x, scale, zero_point, of_int32):
    quotient = x / scale
    return np.rint(quotient if of_int32 else quotient.astype(np.float32)) + zero_point


def quantized_linear_add(*operands):
    """Exactly, up to the quotient in float32: a tie can be broken by a tiny summand."""

    def one(a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
        x, y = Fraction(int(a - a_zero)) * Fraction(a_scale), Fraction(int(b - b_zero)) * Fraction(b_scale)
        return float(np.rint(np.float32((x + y) / Fraction(scale)))) + zero

    return np.asarray(np.frompyfunc(one, 8, 1)(*operands), np.float64)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sparsemax(x):
    """The threshold by sorting: of the k largest elements the one that makes their sum 1, for the largest such number."""
    x = x - x.max(axis=-1, keepdims=True)  # beside large numbers the 1 would be lost
    ordered = -np.sort(-x, axis=-1)
    thresholds = (np.cumsum(ordered, axis=-1) - 1) / np.arange(1, x.shape[-1] + 1)
    return np.maximum(x - thresholds.max(axis=-1, keepdims=True), 0)


def entmax15(x):
    """The threshold by sorting: of the k largest elements the one for which their squares add up to 1."""
    x = (x - x.max(axis=-1, keepdims=True)) / 2
    ordered = -np.sort(-x, axis=-1)
    count = np.arange(1, x.shape[-1] + 1)
    mean = np.cumsum(ordered, axis=-1) / count
    away = np.cumsum(ordered**2, axis=-1) - count * mean**2
    thresholds = mean - np.sqrt(np.maximum((1 - away) / count, 0))
    threshold = np.where(thresholds <= ordered, thresholds, -2).max(axis=-1, keepdims=True)
    return np.maximum(x - threshold, 0) ** 2


def log_softmax(x):
    """The largest element is left out of the sum, so that a logarithm near zero keeps its digits."""
    at = x.argmax(axis=-1)[..., None]
    distance = x - np.take_along_axis(x, at, axis=-1)
    others = np.exp(distance)
    np.put_along_axis(others, at, np.take_along_axis(distance, at, axis=-1), axis=-1)  # 0, or NaN at an infinity
    return distance - np.log1p(others.sum(axis=-1, keepdims=True))


def logsumexp(x):
    """The largest element is left out of the sum, as above."""
    largest = x.max(axis=-1, keepdims=True)
    others = np.exp(x - largest)
    np.put_along_axis(others, x.argmax(axis=-1)[..., None], 0, axis=-1)
    found = largest[..., 0] + np.log1p(others.sum(axis=-1))
    return np.where(np.isinf(largest[..., 0]), largest[..., 0], found)


def logmeanexp(x):
    """By expm1, so that small elements keep their digits."""
    largest = x.max(axis=-1)
    with np.errstate(invalid="ignore"):
        below = np.expm1(x - largest[..., None]).mean(axis=-1)
    return np.where(np.isinf(largest), largest, largest + np.log1p(below))


def cross_entropy(x, target):
    logarithms = log_softmax(x)
    with np.errstate(invalid="ignore"):
        return -np.where((target == 0) & np.isinf(logarithms), 0, target * logarithms).sum(axis=-1)


def standardize(x, epsilon):
    distance = x - x.mean(axis=-1, keepdims=True)
    return distance / np.sqrt((distance**2).mean(axis=-1, keepdims=True) + epsilon)


def lp_normalization(x, p):
    norm = np.abs(x).sum(axis=-1, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis=-1, keepdims=True))
    with np.errstate(invalid="ignore"):
        return np.where((x == 0).all(axis=-1, keepdims=True), x, x / norm)


def mean_variance_normalization(x):
    is_flat = (x == x[..., :1]).all(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(is_flat, x - x, standardize(x, 0))


def rms_normalization(x, scale, epsilon):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon) * scale


def hardmax(x):
    return (np.arange(x.shape[-1]) == x.argmax(axis=-1)[..., None]).astype(x.dtype)


def hard_mish(x):
    return where(x >= 0, x, where(x <= -2, zero_like(x), x / 2 * (x + 2)))


def snake(x, alpha):
    return where(np.isinf(x), x, x + np.sin(alpha * x) ** 2 / alpha)


def series(x, term):
    """The sum of a power series near zero, the smallest terms first."""
    return sum(term(x, k) for k in range(24, 0, -1))


def tanhshrink(x):
    """(x cosh(x) - sinh(x)) / cosh(x): the terms of the numerator's series have one sign."""
    near = np.clip(x, -1, 1)
    numerator = series(near, lambda x, k: x ** (2 * k + 1) * (2 * k / x.dtype.type(math.factorial(2 * k + 1))))
    return where(np.abs(x) < 1, where(x == 0, x, numerator / np.cosh(near)), x - np.tanh(x))


def squareplus(x, b):
    root = np.sqrt(x * x + b)
    return where(x < 0, b / 2 / (root - x), (x + root) / 2)


def xielu(x, alpha_p, alpha_n, beta):
    near = np.clip(x, -1, 1)
    lacking = series(near, lambda x, k: x ** (k + 1) / x.dtype.type(math.factorial(k + 1)))
    lacking = where(np.abs(x) < 1, lacking, np.expm1(x) - x)
    return where(x > 0, x * (alpha_p * x + beta), alpha_n * lacking + beta * x)


def binary_cross_entropy(x, target):
    share = where(x > 0, 1 - target, -target)
    return where(share == 0, 0, share * x) + np.log1p(np.exp(-np.abs(x)))


def logit(x):
    return where(np.abs(x - 0.5) < 0.25, 2 * np.arctanh(2 * x - 1), np.log(x) - np.log1p(-x))


def ndtr(x):
    return 0.5 * special(scipy.special.erfc)(-x / np.sqrt(x.dtype.type(2)))


#: Functions of operands in the longer format, and the parameters by name.
NUMBERS: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "add": np.add,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "average": lambda x: x.mean(axis=-1),
    "binary_cross_entropy_with_logits": binary_cross_entropy,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "celu": celu,
    "clamp": lambda x, min, max: clip(x, min, max),
    "clamped_swiglu": lambda a, b, alpha, limit, bias: (
        swish(clip(a, -np.inf, limit), alpha) * (clip(b, -limit, limit) + bias)
    ),
    "clamp_grad": lambda x, gradient, min, max: where((x <= min) | (x >= max), 0, gradient),
    "clip": clip,
    "clipped_gelu": lambda x, min, max: clip(gelu(x, "none"), min, max),
    "clip_grad": lambda x, gradient, min, max: where((x <= min) | (x >= max), 0, gradient),
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "cross_entropy": cross_entropy,
    "derf": lambda x, weight, bias, alpha, shift: weight * special(scipy.special.erf)(alpha * x + shift) + bias,
    "dequantize_linear": lambda x, scale, zero_point: (x - zero_point) * scale,
    "difference_square": lambda a, b: (a - b) ** 2,
    "div": np.divide,
    "dyt": lambda x, weight, bias, alpha: weight * np.tanh(alpha * x) + bias,
    "elu": elu,
    "equal": np.equal,
    "erf": special(scipy.special.erf),
    "erfc": special(scipy.special.erfc),
    "erfinv": special(scipy.special.erfinv),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "geglu": lambda a, b, approximate: gelu(a, approximate) * b,
    "gelu": gelu,
    "glu": lambda a, b: where(b < -20_000, 0 * a, a / (1 + np.exp(-b))),
    "greater": np.greater,
    "greater_or_equal": np.greater_equal,
    "hard_mish": hard_mish,
    "hard_sigmoid": hard_sigmoid,
    "hard_swish": hard_swish,
    "hardmax": hardmax,
    "heaviside": np.heaviside,
    "huber_loss": lambda x, target, delta: where(
        np.abs(x - target) <= delta, (x - target) ** 2 / 2, delta * (np.abs(x - target) - delta / 2)
    ),
    "hypot": np.hypot,
    "identity": np.positive,
    "isfinite": np.isfinite,
    "isinf": isinf,
    "isnan": np.isnan,
    "batch_normalization": lambda x, scale, bias, mean, variance, epsilon: (
        (x - mean) / np.sqrt(variance + epsilon) * scale + bias
    ),
    "kl_div": lambda x, target: where(target == 0, 0, target * (np.log(target) - x)),
    "layer_normalization": lambda x, scale, bias, epsilon: standardize(x, epsilon) * scale + bias,
    "leaky_relu": lambda x, alpha: where(x >= 0, x, alpha * x),
    "less": np.less,
    "less_or_equal": np.less_equal,
    "linear": lambda x, alpha, beta: alpha * x + beta,
    "log": np.log,
    "log10": np.log10,
    "log1mexp": lambda x: where(x < 0.6875, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x))),
    "log1p": np.log1p,
    "log2": np.log2,
    "log_ndtr": special(scipy.special.log_ndtr),
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
    "log_softmax": log_softmax,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "logmeanexp": logmeanexp,
    "logsumexp": logsumexp,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logit": logit,
    "max": np.maximum,
    "mean": lambda a, b: a / 2 + b / 2,
    "min": np.minimum,
    "lp_normalization": lp_normalization,
    "mean_variance_normalization": mean_variance_normalization,
    "mish": mish,
    "mod": lambda a, b, fmod: np.fmod(a, b) if fmod else np.mod(a, b),
    "modulus_floor": np.mod,
    "modulus_truncate": np.fmod,
    "mul": np.multiply,
    "ndtr": ndtr,
    "neg": np.negative,
    "nll_loss": lambda x, target: -(target * where((target == 0) & np.isinf(x), 0, x)).sum(axis=-1),
    "not_equal": np.not_equal,
    "parametric_hard_swish": parametric_hard_swish,
    "parametric_softplus": lambda x, alpha, beta: alpha * np.logaddexp(0, beta * x),
    "pow": np.power,
    "prelu": lambda x, slope: where(x >= 0, x, slope * x),
    "quantize_linear": quantize_linear,
    "quantized_linear_add": quantized_linear_add,
    "reciprocal": lambda x: 1 / x,
    "reglu": lambda a, b: where(a <= 0, 0, a) * b,
    "relu": lambda x: where(x <= 0, 0, x),
    "relu_grad": lambda x, gradient: where(x > 0, gradient, 0),
    "rms_normalization": rms_normalization,
    "round": round_to_integer,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "scaled_tanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "selu": selu,
    "serf": lambda x: np.maximum(x, -20_000) * special(scipy.special.erf)(np.logaddexp(0, x)),
    "shrink": shrink,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": lambda x, nan: where(np.isnan(x) & (nan == "zero"), 0, np.sign(x)),
    "sin": np.sin,
    "sinh": np.sinh,
    "snake": snake,
    "softcap": lambda x, cap: cap * np.tanh(x / cap),
    "softmax": softmax,
    "softmin": lambda x: softmax(-x),
    "softplus": lambda x, steepness: np.logaddexp(0, steepness * x) / steepness,
    "softsign": softsign,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "sparse_plus": lambda x: where(x >= 1, x, where(x <= -1, 0, ((x + 1) / 2) ** 2)),
    "sparse_sigmoid": lambda x: np.maximum(np.minimum((x + 1) / 2, 1), 0),
    "sqrt": np.sqrt,
    "square": np.square,
    "squared_relu": lambda x: where(x <= 0, 0, x) ** 2,
    "squareplus": squareplus,
    "standardize": standardize,
    "star_relu": lambda x, scale, bias: scale * where(x <= 0, 0, x) ** 2 + bias,
    "sub": np.subtract,
    "sum": lambda x: x.sum(axis=-1),
    "swiglu": lambda a, b, alpha: swish(a, alpha) * b,
    "swish": swish,
    "tan": np.tan,
    "tanh": np.tanh,
    "tanhshrink": tanhshrink,
    "threshold": lambda x, min: clip(x, min, np.inf),
    "thresholded_relu": lambda x, alpha: where(x > alpha, x, 0),
    "trunc": np.trunc,
    "where": where,
    "xielu": xielu,
}


# ---- integers


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else int(Fraction(a, b))


def remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * quotient(a, b)


def floored(a: int, b: int) -> int:
    return 0 if b == 0 else a % b


def power(x: int, exponent: int) -> int:
    if exponent >= 0:
        return pow(x, exponent, 1 << 64)  # the lower bits are those of the power
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(x, 0)


def between(x, low, high, wins="max"):
    return min(max(x, low), high) if wins == "max" else max(min(x, high), low)


def shrink_one(x, bias, lambd, first):
    below = x + Fraction(bias) if x < -lambd else None
    above = x - Fraction(bias) if x > lambd else None
    one, other = (above, below) if first == "positive" else (below, above)
    return one if one is not None else other if other is not None else 0


#: Functions of Python's whole numbers; what comes out is rounded towards zero, and saturates or wraps around.
WHOLE_NUMBERS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "add": lambda a, b: a + b,
    "bit_count": lambda x, bits: (x % (1 << bits)).bit_count(),
    "bit_shift_left": lambda a, b, bits: a << b if b < bits else 0,
    "bit_shift_right": lambda a, b, bits: a >> b if b < bits else 0,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_not": lambda x: ~x,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "clamp": lambda x, min, max: between(x, min, max),
    "clamp_grad": lambda x, gradient, min, max: 0 if x <= min or x >= max else gradient,
    "clip": between,
    "clip_grad": lambda x, gradient, min, max: 0 if x <= min or x >= max else gradient,
    "difference_square": lambda a, b: (a - b) ** 2,
    "div": quotient,
    "equal": lambda a, b: a == b,
    "erf": lambda x: 0,
    "fmax": max,
    "fmin": min,
    "greater": lambda a, b: a > b,
    "greater_or_equal": lambda a, b: a >= b,
    "identity": lambda x: x,
    "less": lambda a, b: a < b,
    "less_or_equal": lambda a, b: a <= b,
    "max": max,
    "mean": lambda a, b: Fraction(a + b, 2),
    "min": min,
    "mod": lambda a, b, fmod: remainder(a, b) if fmod else floored(a, b),
    "modulus_floor": floored,
    "modulus_truncate": remainder,
    "mul": lambda a, b: a * b,
    "neg": lambda x: -x,
    "not_equal": lambda a, b: a != b,
    "pow": power,
    "prelu": lambda x, slope: x if x >= 0 else slope * x,
    "relu": lambda x: max(x, 0),
    "relu_grad": lambda x, gradient: gradient if x > 0 else 0,
    "shrink": shrink_one,
    "sign": lambda x, nan: (x > 0) - (x < 0),
    "square": lambda x: x * x,
    "sub": lambda a, b: a - b,
    "threshold": lambda x, min: max(x, min),
    "where": lambda condition, a, b: a if condition else b,
}

#: The operators whose integers wrap around; all others saturate.
WRAPPING = {
    *("abs", "add", "bit_count", "bit_shift_left", "bit_shift_right", "bitwise_and", "bitwise_not", "bitwise_or"),
    *(
        "bitwise_xor",
        "difference_square",
        "div",
        "mod",
        "modulus_floor",
        "modulus_truncate",
        "mul",
        "neg",
        "pow",
        "square",
        "sub",
    ),
}

#: The element types that parameters of float64 reach; with others they are rounded to float32.
IN_FLOAT64 = {"float64", "int32", "int64", "uint32", "uint64"}

#: These need the number of bits of their operands.
OF_BITS = {"bit_count", "bit_shift_left", "bit_shift_right"}

#: Largest error in ULP. docs/accuracy.md has what was measured: half a unit for 16 bits, below 1.3 but for rows.
LIMITS = {"float16": 0.51, "bfloat16": 0.51, "float32": 1.0, "float64": 1.5}
OF_ROWS = {"softmax": 3.0, "softmin": 3.0, "log_softmax": 3.0}

#: SciPy has these in float64 alone, so that float64 is compared with what is itself only so accurate: erfc(x) loses
#: x**2 units to the rounding of its argument, and more where the tail is subnormal. log_ndtr of 20,000 random numbers
#: differs by up to 992 units, where 40 digits agree with the operator.
SCIPY_IN_FLOAT64 = {
    "erf": 4.0,
    "erfc": 20_000.0,
    "erfinv": 4.0,
    "clipped_gelu": 20_000.0,
    "derf": 20_000.0,
    "geglu": 20_000.0,
    "gelu": 20_000.0,
    "log_ndtr": 2_000.0,
    "ndtr": 20_000.0,
    "serf": 4.0,
}

#: Sums that cancel after a product which long double does not hold exactly: the error in float64 of |alpha x|.
CANCELS: dict[str, Callable[..., Array]] = {
    "hard_sigmoid": lambda x, alpha, beta: np.abs(alpha * x),
    "linear": lambda x, alpha, beta: np.abs(alpha * x),
    "parametric_hard_swish": lambda x, alpha, beta: np.abs(x * (alpha * x)),
    "star_relu": lambda x, scale, bias: np.abs(scale * x * x),
    "xielu": lambda x, alpha_p, alpha_n, beta: (abs(alpha_p) + abs(alpha_n)) * x * x + abs(alpha_n * x) + abs(beta * x),
}


def supports(name: str) -> bool:
    """Whether every operator is here; a test asks."""
    return name in NUMBERS or name in WHOLE_NUMBERS


def evaluate(
    name: str,
    operands: Sequence[np.ndarray],
    parameters: dict[str, Any],
    kinds: Sequence[ElementType],
    result: ElementType,
) -> np.ndarray:
    """The exact results, or nearly: in the longer format for floating types, else in the result's type."""
    if not supports(name):
        raise LookupError(f"{name} has no formula in NumPy's words: add it to NUMBERS in tests/cpu/plain_numpy.py")
    if not any(kind.name in IN_FLOAT64 for kind in kinds):  # parameters are rounded to what kernels compute in
        parameters = {key: float(np.float32(v)) if type(v) is float else v for key, v in parameters.items()}
    if name in WHOLE_NUMBERS and any(kind.is_integer for kind in kinds):
        return whole_numbers(name, operands, parameters, kinds, result)
    longer = np.longdouble if "float64" in (kind.name for kind in kinds) else np.float64
    if name == "quantize_linear":
        parameters = {"of_int32": kinds[0].name == "int32"}
    numbers = {key: longer(value) if type(value) is float else value for key, value in parameters.items()}
    with np.errstate(all="ignore"):
        wide = [
            array.astype(bool if kind.name == "bool" else longer) for array, kind in zip(operands, kinds, strict=True)
        ]
        value = np.asarray(NUMBERS[name](*wide, **numbers))
    if result.is_float:
        return value.astype(longer)
    if result.is_integer:  # of quantisation: saturate, and NaN is 0
        value = np.clip(np.where(np.isnan(value), 0, value), result.minimum, result.maximum)
    return value.astype(result.numpy)


def whole_numbers(name, operands, parameters, kinds, result):
    compute = WHOLE_NUMBERS[name]
    keywords = dict(parameters) | ({"bits": kinds[0].bits} if name in OF_BITS else {})

    def one(*values):
        value = compute(*values, **keywords)
        if name in WRAPPING:
            return (int(value) - result.minimum) % (1 << result.bits) + result.minimum
        if value >= result.maximum or value <= result.minimum:
            return result.maximum if value >= result.maximum else result.minimum
        return int(value)

    objects = [array.astype(object) for array in operands]
    found = np.frompyfunc(one, len(objects), 1)(*objects)
    return np.asarray(found, dtype=object).astype(result.numpy)


def difference(
    name: str,
    actual: np.ndarray,
    exact: np.ndarray,
    operands: Sequence[np.ndarray],
    parameters: dict[str, Any],
    result: ElementType,
) -> str:
    """The fault of results: nothing, if the text is empty."""
    if not result.is_float:
        same = actual == exact
        if name == "shrink" and result.is_integer:  # a small fraction may cost the last unit, as documented
            same |= np.abs(actual.astype(object) - exact.astype(object)) <= (parameters["bias"] % 0.25 != 0)
    elif result.name == "float64" and not HAS_LONGER_DOUBLE:
        return ""
    else:
        limit = OF_ROWS.get(name, LIMITS[result.name])
        if result.name == "float64":
            limit = SCIPY_IN_FLOAT64.get(name, limit)
        errors = error_in_ulp(np.atleast_1d(actual), np.atleast_1d(exact), result).reshape(actual.shape)
        same = errors <= limit
        if name in CANCELS and result.name == "float64":
            with np.errstate(all="ignore"):
                slack = CANCELS[name](*(x.astype(np.longdouble) for x in operands), **parameters) * 2.0**-60
                same |= np.abs(actual - exact) <= slack
    if np.all(same):
        return ""
    at = tuple(np.argwhere(~np.asarray(same))[0]) if np.ndim(same) else ()
    given = [np.broadcast_to(x, actual.shape)[at].item() if x.size else x for x in operands]
    return f"{name}{given} {parameters}: {actual[at]!r}, but plain NumPy has {exact[at]!r}"
