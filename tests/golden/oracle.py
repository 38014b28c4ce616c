"""A second oracle: MPFR through gmpy2. The formulas are written from the standards' text, not from Ogive's.

ONNX's operator pages and DirectML's are what is transcribed here. A value is computed with a few hundred bits and
rounded once; where it is next to a tie with 400 bits, 4,000 are taken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr

from ogive.common.dtypes import element_type
from ogive.golden.inputs import choose
from ogive.golden.onnx_operators import of_onnx
from ogive.golden.specification import Specification, bits_of, find_operator, of_operator


def _relu(x: Any) -> Any:
    """y = max(0, x); NaN stays. ONNX's zero is that of the formula, +0."""
    return x if gmpy2.is_nan(x) or x > 0 else mpfr(0)


def _step(x: Any, low: Any, inside: Any, high: Any) -> Any:
    return inside if low < x < high else mpfr(0)


def _zero_like(x: Any) -> Any:
    return gmpy2.copy_sign(mpfr(0), x)


def _gelu(x: Any) -> Any:
    """y = x * Phi(x), Phi(x) = erfc(-x / sqrt(2)) / 2."""
    if gmpy2.is_infinite(x):
        return x if x > 0 else mpfr("-0")
    return x * gmpy2.erfc(-x / gmpy2.sqrt(mpfr(2))) / 2


def _logistic(x: Any) -> Any:
    return 1 / (1 + gmpy2.exp(-x))


def _swish(x: Any) -> Any:
    """y = x * sigmoid(x)."""
    if gmpy2.is_infinite(x):
        return x if x > 0 else mpfr("-0")
    return x * _logistic(x)


def _mish(x: Any) -> Any:
    """y = x * tanh(log(1 + exp(x)))."""
    if gmpy2.is_infinite(x):
        return x if x > 0 else mpfr("-0")
    return x * gmpy2.tanh(gmpy2.log1p(gmpy2.exp(x)))


def _hard_swish(x: Any) -> Any:
    """y = x * max(0, min(1, x / 6 + 0.5))."""
    if gmpy2.is_nan(x):
        return x
    if x <= -3:
        return _zero_like(x)
    return x if x >= 3 else x * (x / 6 + mpfr(0.5))


def _selu(x: Any) -> Any:
    alpha, gamma = mpfr(1.67326319217681884765625), mpfr(1.05070102214813232421875)
    if gmpy2.is_nan(x) or x == 0:
        return x
    return gamma * x if x > 0 else gamma * alpha * gmpy2.expm1(x)


def _softsign(x: Any) -> Any:
    if gmpy2.is_infinite(x):
        return gmpy2.copy_sign(mpfr(1), x)
    return x / (1 + abs(x))


def _piecewise(x: Any, positive: Callable[[Any], Any], negative: Callable[[Any], Any]) -> Any:
    if gmpy2.is_nan(x) or x == 0:
        return x
    return positive(x) if x > 0 else negative(x)


def _nearest_even(x: Any) -> Any:
    if gmpy2.is_nan(x) or gmpy2.is_infinite(x):
        return x
    found = gmpy2.rint_round(x) if abs(x - gmpy2.rint_trunc(x)) != mpfr(0.5) else 2 * gmpy2.rint_round(x / 2)
    return gmpy2.copy_sign(found, x)


def _single(value: float) -> Any:
    return mpfr(float(np.float32(value)))


def _snake(x: Any) -> Any:
    """y = x + sin(x)**2; x at the infinities."""
    return x if gmpy2.is_infinite(x) else x + gmpy2.sin(x) ** 2


def _squareplus(x: Any) -> Any:
    """y = (x + sqrt(x**2 + 4)) / 2, of negative numbers as 2 / (sqrt(x**2 + 4) - x)."""
    root = gmpy2.sqrt(x * x + 4)
    return (x + root) / 2 if x > 0 else 2 / (root - x)


def _xielu(x: Any) -> Any:
    """y = alpha_p * x**2 + beta * x for x > 0, alpha_n * (expm1(x) - x) + beta * x elsewhere."""
    alpha, beta = _single(0.8), mpfr(0.5)
    if gmpy2.is_infinite(x):
        return mpfr("inf")
    if x == 0:
        return mpfr(0)
    return alpha * x * x + beta * x if x > 0 else alpha * (gmpy2.expm1(x) - x) + beta * x


def _inverse_erf(x: Any) -> Any:
    """The y of which erf(y) is x: bisection to a few bits, then Newton's steps."""
    if gmpy2.is_nan(x) or abs(x) > 1:
        return mpfr("nan")
    if x == 0 or abs(x) == 1:
        return x if x == 0 else x * mpfr("inf")
    low, high, size = mpfr(0), mpfr(8), abs(x)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if gmpy2.erfc(middle) > 1 - size else (low, middle)
    y = (low + high) / 2 if size > mpfr(2) ** -30 else size * gmpy2.sqrt(gmpy2.const_pi()) / 2
    for _ in range(12):
        y += (size - gmpy2.erf(y)) * gmpy2.sqrt(gmpy2.const_pi()) / 2 * gmpy2.exp(y * y)
    return gmpy2.copy_sign(y, x)


def _log_ndtr(x: Any) -> Any:
    """y = log(erfc(-x / sqrt(2)) / 2), of positive numbers as log1p(-erfc(x / sqrt(2)) / 2)."""
    if gmpy2.is_infinite(x):
        return mpfr("-0") if x > 0 else x
    root = gmpy2.sqrt(mpfr(2))
    if x > 0:
        return gmpy2.log1p(-gmpy2.erfc(x / root) / 2)
    tail = gmpy2.erfc(-x / root) / 2
    if tail > 0:
        return gmpy2.log(tail)
    # Beyond MPFR's exponents: the first terms of the asymptotic series, far more than are needed there.
    return -x * x / 2 - gmpy2.log(-x * gmpy2.sqrt(2 * gmpy2.const_pi())) + gmpy2.log1p(-1 / (x * x))


def _closed(x: Any, gate: Callable[[Any], Any]) -> Any:
    """x times a gate from 0 to 1; where it is 0 a zero with the sign of x."""
    if gmpy2.is_nan(x):
        return x
    opened = gate(x)
    return _zero_like(x) if opened == 0 else x * opened


def _clamped(x: Any, low: float, high: float) -> Any:
    return x if gmpy2.is_nan(x) else max(mpfr(low), min(mpfr(high), x))


def _stretched_softplus(x: Any) -> Any:
    """y = alpha * log(1 + exp(beta * x)), alpha = beta = 3/4."""
    part = mpfr(0.75)
    if gmpy2.is_nan(x) or x == mpfr("inf"):
        return x
    if x < 1000:
        return part * gmpy2.log1p(gmpy2.exp(part * x))
    # The part beyond alpha * beta * x has no place in these bits, and decides ties.
    return gmpy2.next_above(part * part * x)


def _tanhshrink(x: Any) -> Any:
    """y = x - tanh(x); far out tanh(x) is just below 1."""
    if x == 0 or not gmpy2.is_finite(x):
        return x
    return x - gmpy2.tanh(x) if abs(x) < 100 else gmpy2.copy_sign(gmpy2.next_above(abs(x) - 1), x)


def _log1mexp(x: Any) -> Any:
    """y = log(1 - exp(-x)) where x is not negative."""
    if gmpy2.is_nan(x) or x < 0:
        return mpfr("nan")
    return gmpy2.log(-gmpy2.expm1(-x)) if x < 1 else gmpy2.log1p(-gmpy2.exp(-x))


def _log_logistic(x: Any) -> Any:
    return -gmpy2.log1p(gmpy2.exp(-x)) if x > 0 else x - gmpy2.log1p(gmpy2.exp(x))


#: Operator -> its formula, with the defaults of its parameters.
FORMULAS: dict[str, Callable[[Any], Any]] = {
    "relu": _relu,
    "gelu": _gelu,
    "swish": _swish,
    "mish": _mish,
    "hard_swish": _hard_swish,
    "selu": _selu,
    "softsign": _softsign,
    "sigmoid": _logistic,
    "softplus": lambda x: gmpy2.log1p(gmpy2.exp(x)) if not x > 10**4 else x + gmpy2.exp(-x),
    "celu": lambda x: _piecewise(x, lambda v: v, gmpy2.expm1),
    "elu": lambda x: _piecewise(x, lambda v: v, gmpy2.expm1),
    "leaky_relu": lambda x: _piecewise(x, lambda v: v, lambda v: _single(0.01) * v),
    "thresholded_relu": lambda x: x if x > 1 else mpfr(0),
    "hard_sigmoid": lambda x: x if gmpy2.is_nan(x) else max(mpfr(0), min(mpfr(1), _single(0.2) * x + mpfr(0.5))),
    "shrink": lambda x: x if abs(x) > mpfr(0.5) else mpfr(0),
    "tanh": gmpy2.tanh,
    "scaled_tanh": lambda x: gmpy2.tanh(x / 2),
    "abs": abs,
    "neg": lambda x: -x,
    "exp": gmpy2.exp,
    "log": lambda x: gmpy2.log(x) if not x < 0 else mpfr("nan"),
    "erf": gmpy2.erf,
    "sqrt": gmpy2.sqrt,
    "reciprocal": lambda x: 1 / x,
    "sign": lambda x: x if gmpy2.is_nan(x) else mpfr(gmpy2.sign(x)),
    "floor": gmpy2.rint_floor,
    "ceil": gmpy2.rint_ceil,
    "round": _nearest_even,
    "sin": gmpy2.sin,
    "cos": gmpy2.cos,
    "tan": gmpy2.tan,
    "asin": gmpy2.asin,
    "acos": gmpy2.acos,
    "atan": gmpy2.atan,
    "sinh": gmpy2.sinh,
    "cosh": gmpy2.cosh,
    "asinh": gmpy2.asinh,
    "acosh": gmpy2.acosh,
    "atanh": lambda x: gmpy2.atanh(x) if abs(x) <= 1 else mpfr("nan"),
    "identity": lambda x: x,
    "linear": lambda x: x + 0,
    "parametric_hard_swish": lambda x: _closed(x, lambda v: _clamped(_single(1 / 6) * v + mpfr(0.5), 0, 1)),
    "parametric_softplus": _stretched_softplus,
    "clipped_gelu": lambda x: x if gmpy2.is_nan(x) else max(mpfr(-10), min(mpfr(10), _gelu(x))),
    "hard_mish": lambda x: _closed(x, lambda v: _clamped(v + 2, 0, 2) / 2),
    "log_sigmoid": _log_logistic,
    "serf": lambda x: (
        _zero_like(x) if x == mpfr("-inf") else x * gmpy2.erf(gmpy2.log1p(gmpy2.exp(x))) if x < 10**4 else x
    ),
    "snake": _snake,
    "softcap": lambda x: mpfr(0.75) * gmpy2.tanh(x / mpfr(0.75)),
    "sparse_plus": lambda x: mpfr(0) if x <= -1 else (x + 1) ** 2 / 4 if x < 1 else x,
    "sparse_sigmoid": lambda x: _clamped((x + 1) / 2, 0, 1),
    "squared_relu": lambda x: x if gmpy2.is_nan(x) else max(mpfr(0), x) ** 2,
    "squareplus": _squareplus,
    "star_relu": lambda x: x if gmpy2.is_nan(x) else _single(0.8944) * max(mpfr(0), x) ** 2 + _single(-0.4472),
    "tanhshrink": _tanhshrink,
    "xielu": _xielu,
    "cbrt": gmpy2.cbrt,
    "erfc": gmpy2.erfc,
    "erfinv": _inverse_erf,
    "exp2": gmpy2.exp2,
    "expm1": gmpy2.expm1,
    "log1mexp": _log1mexp,
    "log1p": lambda x: gmpy2.log1p(x) if not x < -1 else mpfr("nan"),
    "log2": lambda x: gmpy2.log2(x) if not x < 0 else mpfr("nan"),
    "log10": lambda x: gmpy2.log10(x) if not x < 0 else mpfr("nan"),
    "log_ndtr": _log_ndtr,
    "logit": lambda x: gmpy2.log(x) - gmpy2.log1p(-x) if 0 <= x <= 1 else mpfr("nan"),
    "ndtr": lambda x: gmpy2.erfc(-x / gmpy2.sqrt(mpfr(2))) / 2,
    "rsqrt": lambda x: 1 / gmpy2.sqrt(x),
    "square": lambda x: x * x,
    "trunc": gmpy2.rint_trunc,
    "clamp": lambda x: x,
    "threshold": lambda x: x if gmpy2.is_nan(x) else max(x, mpfr(0.75)),
    "isinf": lambda x: mpfr(gmpy2.is_infinite(x)),
    "isnan": lambda x: mpfr(gmpy2.is_nan(x)),
    "isfinite": lambda x: mpfr(gmpy2.is_finite(x)),
}


def _nan(*x: Any) -> bool:
    return any(gmpy2.is_nan(v) for v in x)


def _larger(a: Any, b: Any) -> Any:
    """NaN in either gives NaN; +0 is larger than -0."""
    if _nan(a, b):
        return mpfr("nan")
    return (b if gmpy2.is_signed(a) else a) if a == b else max(a, b)


def _remainder(a: Any, b: Any) -> Any:
    return mpfr("nan") if b == 0 or gmpy2.is_infinite(a) or _nan(a, b) else gmpy2.fmod(a, b)


def _floored(a: Any, b: Any) -> Any:
    """The sign of the divisor, also of zeros."""
    rest = _remainder(a, b)
    if gmpy2.is_nan(rest):
        return rest
    if rest == 0:
        return gmpy2.copy_sign(mpfr(0), b)
    return rest if (rest < 0) == (b < 0) else b if gmpy2.is_infinite(b) else rest + b


def _logarithm_of_sum(a: Any, b: Any) -> Any:
    if _nan(a, b):
        return mpfr("nan")
    high, low = max(a, b), min(a, b)
    return high + 0 if gmpy2.is_infinite(high) or gmpy2.is_infinite(low) else high + gmpy2.log1p(gmpy2.exp(low - high))


def _binary_logarithm_of_sum(a: Any, b: Any) -> Any:
    """y = log2(2**a + 2**b), as the larger number and log2(1 + 2**-distance)."""
    if _nan(a, b):
        return mpfr("nan")
    high, low = max(a, b), min(a, b)
    if gmpy2.is_infinite(high) or gmpy2.is_infinite(low):
        return high + 0
    return high + gmpy2.log1p(gmpy2.exp2(low - high)) / gmpy2.const_log2()


def _clipped(x: Any, low: Any, high: Any) -> Any:
    """min(max(x, low), high): NaN stays; where the ends cross, the upper one wins. A bound that is NaN bounds nothing."""
    x = low if x < low else x
    return high if high < x else x


def _open(x: Any, gate: Callable[[Any], Any], far: float = 300.0) -> Any:
    """A gated number; far out the gate is just below 1, by less than these bits hold, which decides ties."""
    return x * (1 - mpfr(2) ** -300) if gmpy2.is_finite(x) and x > far else gate(x)


def _logarithm(x: Any) -> Any:
    return gmpy2.log(x) if not x < 0 else mpfr("nan")


def _binary_cross_entropy(x: Any, target: Any) -> Any:
    """y = -(target * log(sigmoid(x)) + (1 - target) * log(1 - sigmoid(x))); a part whose factor is 0 is 0."""
    if gmpy2.is_infinite(target):
        return -target * x
    if gmpy2.is_finite(x) and abs(x) > 10**4:
        # The logarithm has no place in these bits, and decides ties.
        return gmpy2.next_above((1 - target) * x if x > 0 else -target * x)
    of_one = mpfr(0) if target == 0 else -target * _log_logistic(x)
    return of_one if target == 1 else of_one - (1 - target) * _log_logistic(-x)


def _huber(x: Any, target: Any) -> Any:
    """y = d * d / 2 where abs(d) <= 1, abs(d) - 1 / 2 elsewhere."""
    size = abs(x - target)
    return size * size / 2 if size <= 1 else size - mpfr(0.5)


def _below_one(x: Any, function: Callable[[Any], Any], far: float) -> Any:
    """A function whose size is just below 1 far out, by less than these bits hold, which decides ties and zeros."""
    is_far = gmpy2.is_finite(x) and abs(x) > far
    return gmpy2.copy_sign(1 - mpfr(2) ** -300, x) if is_far else function(x)


def _clamped_swiglu(a: Any, b: Any) -> Any:
    """y = gate * sigmoid(1.702 * gate) * (linear + 1); gate = min(a, 7), linear = max(-7, min(b, 7))."""
    if _nan(a, b):
        return mpfr("nan")
    gate, linear = min(a, mpfr(7)), _clamped(b, -7, 7)
    opened = mpfr("-0") if gmpy2.is_infinite(gate) else gate * _logistic(_single(1.702) * gate)
    return opened * (linear + 1)


#: Operators of several tensors, with the defaults of their parameters.
OF_SEVERAL: dict[str, Callable[..., Any]] = {
    "swiglu": lambda a, b: _open(a, _swish) * b,
    "clamped_swiglu": _clamped_swiglu,
    "binary_cross_entropy_with_logits": _binary_cross_entropy,
    "huber_loss": _huber,
    "kl_div": lambda x, target: mpfr(0) if target == 0 else target * (_logarithm(target) - x),
    "dyt": lambda x, weight, bias: weight * _below_one(x / 2, gmpy2.tanh, 300.0) + bias,
    "derf": lambda x, weight, bias: weight * _below_one(x / 2 + 0, gmpy2.erf, 20.0) + bias,
    "geglu": lambda a, b: _open(a, _gelu, 40.0) * b,
    "glu": lambda a, b: a * (_logistic(b) if not b > 300 else 1 - mpfr(2) ** -300),
    "reglu": lambda a, b: (mpfr(0) if a <= 0 else a) * b,
    "mod": _floored,
    "equal": lambda a, b: mpfr(a == b),
    "not_equal": lambda a, b: mpfr(a != b),
    "less": lambda a, b: mpfr(a < b),
    "less_or_equal": lambda a, b: mpfr(a <= b),
    "greater": lambda a, b: mpfr(a > b),
    "greater_or_equal": lambda a, b: mpfr(a >= b),
    "clamp_grad": lambda x, gradient: mpfr(0) if x <= mpfr(0.75) or x >= mpfr(0.75) else gradient,
    "clip": _clipped,
    "clip_grad": lambda x, gradient, low, high: mpfr(0) if x <= low or x >= high else gradient,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mean": lambda a, b: (a + b) / 2,
    "max": _larger,
    "min": lambda a, b: -_larger(-a, -b),
    "difference_square": lambda a, b: (a - b) * (a - b),
    "hypot": gmpy2.hypot,
    "atan2": gmpy2.atan2,
    "copysign": lambda x, sign: -abs(x) if gmpy2.is_signed(sign) and not _nan(sign) else abs(x),
    "prelu": lambda x, slope: x if _nan(x) or x > 0 or x == 0 else slope * x,
    "relu_grad": lambda x, gradient: gradient if x > 0 else mpfr(0),
    "modulus_truncate": _remainder,
    "modulus_floor": _floored,
    "logaddexp": _logarithm_of_sum,
    "logaddexp2": _binary_logarithm_of_sum,
    "fmax": lambda a, b: b if _nan(a) else a if _nan(b) else _larger(a, b),
    "fmin": lambda a, b: b if _nan(a) else a if _nan(b) else -_larger(-a, -b),
    "heaviside": lambda x, at_zero: x if _nan(x) else at_zero if x == 0 else mpfr(x > 0),
    "pow": lambda x, y: x**y,
    "BatchNormalization": lambda x, scale, b, mean, variance: (
        (x - mean) / gmpy2.sqrt(variance + _single(1e-5)) * scale + b
    ),
}


def _shares(row: list[Any]) -> tuple[list[Any], Any]:
    """exp(x - max), and their sum."""
    parts = [gmpy2.exp(x - max(row)) for x in row]
    return parts, sum(parts, mpfr(0))


def _softmax(row: list[Any]) -> list[Any]:
    parts, total = _shares(row)
    return [part / total for part in parts]


def _log_softmax(row: list[Any]) -> list[Any]:
    total = gmpy2.log(_shares(row)[1])
    return [x - max(row) - total for x in row]


def _mean_of_exponentials(row: list[Any]) -> list[Any]:
    """y = log(mean(exp(x)))."""
    return [max(row) + gmpy2.log(_shares(row)[1] / len(row))]


def _standard(row: list[Any]) -> list[Any]:
    """y = (x - mean) / sqrt(variance + 1e-5)."""
    mean = sum(row, mpfr(0)) / len(row)
    variance = sum(((x - mean) ** 2 for x in row), mpfr(0)) / len(row)
    return [(x - mean) / gmpy2.sqrt(variance + _single(1e-5)) for x in row]


def _sparsemax(row: list[Any]) -> list[Any]:
    """y = max(x - t, 0): with the k largest numbers of which 1 + k x > their sum, t = (their sum - 1) / k."""
    ordered = sorted(row, reverse=True)
    sums = [sum(ordered[: k + 1], mpfr(0)) for k in range(len(row))]
    k = max(k for k in range(len(row)) if 1 + (k + 1) * ordered[k] > sums[k])
    threshold = (sums[k] - 1) / (k + 1)
    return [x - threshold if x > threshold else mpfr(0) for x in row]


def _entmax15(row: list[Any]) -> list[Any]:
    """y = max(x/2 - t, 0)**2: of the k largest halves that squares above the next one allow, t = mean - sqrt((1 - S) / k)."""
    halves = [x / 2 for x in row]
    ordered = sorted(halves, reverse=True)
    k = max(k for k in range(len(row)) if sum(((x - ordered[k]) ** 2 for x in ordered[:k]), mpfr(0)) < 1) + 1
    mean = sum(ordered[:k], mpfr(0)) / k
    threshold = mean - gmpy2.sqrt((1 - sum(((x - mean) ** 2 for x in ordered[:k]), mpfr(0))) / k)
    return [(x - threshold) ** 2 if x > threshold else mpfr(0) for x in halves]


def _product(row: list[Any]) -> Any:
    product = mpfr(1)
    for x in row:
        product *= x
    return product


#: Operators over rows of finite numbers.
OF_ROWS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "average": lambda row: [sum(row, mpfr(0)) / len(row)],
    "sum": lambda row: [sum(row, mpfr(0))],
    "softmax": _softmax,
    "softmin": lambda row: _softmax([-x for x in row]),
    "log_softmax": _log_softmax,
    "logsumexp": lambda row: [max(row) + gmpy2.log(_shares(row)[1])],
    "logmeanexp": _mean_of_exponentials,
    "standardize": _standard,
    "hardmax": lambda row: [mpfr(i == row.index(max(row))) for i in range(len(row))],
    "sparsemax": _sparsemax,
    "entmax15": _entmax15,
}

#: ONNX's reductions of rows.
REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "ReduceL1": lambda row: sum(map(abs, row), mpfr(0)),
    "ReduceL2": lambda row: gmpy2.sqrt(sum((x * x for x in row), mpfr(0))),
    "ReduceLogSum": lambda row: gmpy2.log(sum(row, mpfr(0))),
    "ReduceLogSumExp": lambda row: max(row) + gmpy2.log(_shares(row)[1]),
    "ReduceMax": lambda row: reduce(_larger, row),
    "ReduceMean": lambda row: sum(row, mpfr(0)) / len(row),
    "ReduceMin": lambda row: -reduce(_larger, [-x for x in row]),
    "ReduceProd": _product,
    "ReduceSum": lambda row: sum(row, mpfr(0)),
    "ReduceSumSquare": lambda row: sum((x * x for x in row), mpfr(0)),
}


def _normal(x: list[Any], epsilon: Any = 0) -> list[Any]:
    """y = (x - mean) / sqrt(variance + epsilon)."""
    mean = sum(x, mpfr(0)) / len(x)
    variance = sum(((v - mean) ** 2 for v in x), mpfr(0)) / len(x)
    if variance + epsilon == 0:
        return [mpfr(0)] * len(x)
    return [(v - mean) / gmpy2.sqrt(variance + epsilon) for v in x]


def _layer(x: list[Any], scale: list[Any], bias: list[Any]) -> list[Any]:
    return [v * s + b for v, s, b in zip(_normal(x, _single(1e-5)), scale, bias, strict=True)]


def _root_mean_square(x: list[Any], scale: list[Any]) -> list[Any]:
    root = gmpy2.sqrt(sum((v * v for v in x), mpfr(0)) / len(x) + _single(1e-5))
    return [v / root * s for v, s in zip(x, scale, strict=True)]


def _norm(x: list[Any]) -> list[Any]:
    norm = gmpy2.sqrt(sum((v * v for v in x), mpfr(0)))
    return [v / norm if norm else v for v in x]


def _cross_entropy(x: list[Any], target: list[Any]) -> list[Any]:
    return [-sum((t * y for t, y in zip(target, _log_softmax(x), strict=True)), mpfr(0))]


#: Normalisations of rows, and a loss, of several tensors: of these the kernels are compared.
NORMALISATIONS: dict[str, tuple[int, Callable[..., list[Any]]]] = {
    "cross_entropy": (2, _cross_entropy),
    "layer_normalization": (3, _layer),
    "lp_normalization": (1, _norm),
    "nll_loss": (2, lambda x, target: [-sum((t * v for t, v in zip(target, x, strict=True)), mpfr(0))]),
    "mean_variance_normalization": (1, _normal),
    "rms_normalization": (2, _root_mean_square),
}

#: Mean and deviation of their rows; None: the ends of the type's range.
PLACES: tuple[tuple[float, float] | None, ...] = ((0, 1), (1, 1), (100, 1), (1e4, 1), (1000, 0.1), None)

#: Operators whose results for infinite operands follow their documentation, and not the formula.
GATED = frozenset({"swiglu", "geglu", "glu"})

#: Precision, largest exponent and smallest exponent of a subnormal number, as MPFR counts them.
CONTEXTS = {"float16": (11, 16, -23), "bfloat16": (8, 128, -132), "float32": (24, 128, -148)}

#: The types of which every input of one tensor is compared.
SHORT = ("float16", "bfloat16")


def rounded(operator: str, dtype: str, *operands: np.ndarray) -> np.ndarray:
    """The results, correctly rounded by MPFR: once to 400 or 4,000 bits and odd, then to the type."""
    precision = CONTEXTS[dtype][0]
    formula = FORMULAS[operator] if len(operands) == 1 else OF_SEVERAL[operator]
    results = np.empty(operands[0].shape, np.float64)
    wide, wider, narrow = _contexts(dtype)
    for i, values in enumerate(zip(*(x.tolist() for x in operands), strict=True)):
        with gmpy2.context(wide):
            long = formula(*map(mpfr, values))
        ends = _to(long, narrow, precision, wide)
        if ends is None:
            with gmpy2.context(wider):
                long = formula(*map(mpfr, values))
            ends = _to(long, narrow, precision, None)
        results[i] = ends
    return results


def _contexts(dtype: str) -> tuple[Any, Any, Any]:
    """The contexts of 400 bits, of 4,000, and of the type."""
    precision, most, least = CONTEXTS[dtype]
    wide = gmpy2.context(precision=400, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min(), trap_divzero=False)
    wider = gmpy2.context(wide, precision=4000)
    narrow = gmpy2.context(precision=precision, emax=most, emin=least, subnormalize=True)
    return wide, wider, narrow


def _to(long: Any, narrow: Any, precision: int, wide: Any) -> float | None:
    """Rounded; None where the long value is so near a tie that its own error could decide."""
    if not gmpy2.is_finite(long) or long == 0:
        return float(long)
    if wide is not None:
        with gmpy2.context(wide):
            off = abs(long) * mpfr(2) ** -390
            low, high = long - off, long + off
        with gmpy2.context(narrow):
            a, b = mpfr(low), mpfr(high)
        return float(a) if a == b else None
    with gmpy2.context(narrow):
        return float(mpfr(long))


def disagreements(operator: str, dtype: str, step: int = 1, first: int = 0) -> tuple[int, int]:
    """How many inputs of one tensor were compared, and in how many the two oracles differ."""
    kind = element_type(dtype)
    return compared(operator, dtype, np.arange(first, 1 << 16, step, dtype=np.uint16).view(kind.numpy))


def of_hard_cases(operator: str, dtype: str, count: int, seed: int = 0) -> tuple[int, int]:
    """The same of so many hard cases of several tensors: special values with each other, and all magnitudes."""
    spec = specification(operator, dtype)
    chosen = choose(spec, seed=seed, samples=max(64, count)).arrays
    chosen = [np.asarray(x) for x in np.broadcast_arrays(*chosen)]
    if operator in GATED:
        with np.errstate(invalid="ignore"):
            keep = ~np.logical_or.reduce([np.isinf(x) for x in chosen])
        chosen = [x[keep] for x in chosen]
    order = np.random.default_rng(seed).permutation(chosen[0].size)[:count]
    return compared(operator, dtype, *(x[order] for x in chosen))


def required(operator: str) -> dict[str, float]:
    """The parameters that have no default."""
    return {p.name: 0.75 for p in find_operator(operator).parameters if p.is_required}


def specification(operator: str, dtype: str) -> Specification:
    """An operator of the catalogue, or one that ONNX alone has."""
    kind = f"tensor({'float' if dtype == 'float32' else dtype})"
    if operator in REDUCTIONS:
        return of_onnx(operator, 13, {"T": kind})
    if operator == "BatchNormalization":
        return of_onnx(operator, 15, dict.fromkeys(("T", "T1", "T2"), kind))
    return of_operator(operator, dtype, required(operator))


def _reduced(formula: Callable[[list[Any]], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda row: [formula(row)]


def of_rows(operator: str, dtype: str, count: int, seed: int = 0) -> tuple[int, int]:
    """So many elements of rows of up to 40 numbers: ordinary ones, far apart ones, equal ones, and a grid with ties."""
    spec, kind, found = specification(operator, dtype), element_type(dtype), [0, 0]
    formula = OF_ROWS[operator] if operator in OF_ROWS else _reduced(REDUCTIONS[operator])
    generator = np.random.default_rng(seed)
    wide, wider, narrow = _contexts(dtype)
    precision = CONTEXTS[dtype][0]
    while found[0] < count:
        length, width = int(generator.integers(1, 41)), float(generator.choice([0.01, 1.0, 8.0, 60.0]))
        row = generator.standard_normal((1, length)) * width
        row = (np.round(row) if generator.integers(3) == 0 else row).astype(kind.numpy)
        right = spec.right([row]).reshape(-1)
        with gmpy2.context(wide):
            values = formula(list(map(mpfr, row[0].astype(np.float64).tolist())))
        ends = [_to(value, narrow, precision, wide) for value in values]
        if None in ends:
            with gmpy2.context(wider):
                values = formula(list(map(mpfr, row[0].astype(np.float64).tolist())))
            ends = [_to(value, narrow, precision, None) for value in values]
        with np.errstate(all="ignore"):
            other = np.array(ends, np.float64).astype(right.dtype)
        found[0] += right.size
        found[1] += int(np.count_nonzero(bits_of(other, canonical=True) != bits_of(right, canonical=True)))
    return found[0], found[1]


def of_normal_rows(operator: str, dtype: str, count: int, seed: int = 0) -> tuple[int, int]:
    """So many elements of the kernel's results: rows of up to 40 numbers, near zero, far from it, at the ends of the range."""
    tensors, formula = NORMALISATIONS[operator]
    op, kind, found = find_operator(operator), element_type(dtype), [0, 0]
    generator = np.random.default_rng(seed)
    wide, wider, narrow = _contexts(dtype)
    precision, most, least = CONTEXTS[dtype]
    while found[0] < count:
        place = PLACES[int(generator.integers(len(PLACES)))]
        row = generator.standard_normal(int(generator.integers(1, 41)))
        if place is not None:
            row = row * place[1] + place[0]
        elif generator.integers(2):
            row = np.clip(row / 2, -1, 1) * 2.0 ** (most - 2)
        else:
            row = row * 2.0 ** (least + 6)
        given = [row, *(generator.standard_normal(row.size) for _ in range(tensors - 1))]
        rows = [x.astype(kind.numpy) for x in given]
        numbers = [x.astype(np.float64).tolist() for x in rows]
        found_here = np.asarray(op(*rows))
        for context, is_last in ((wide, False), (wider, True)):
            with gmpy2.context(context):
                values = formula(*(list(map(mpfr, x)) for x in numbers))
            ends = [_to(value, narrow, precision, None if is_last else wide) for value in values]
            if None not in ends:
                break
        with np.errstate(all="ignore"):
            other = np.array(ends, np.float64).astype(found_here.dtype)
        found[0] += other.size
        # Zeros have a sign where the formula gives one: MPFR's sums of nothing but zeros are +0 as well.
        found[1] += int(np.count_nonzero(bits_of(other + 0, canonical=True) != bits_of(found_here + 0, canonical=True)))
    return found[0], found[1]


def compared(operator: str, dtype: str, *operands: np.ndarray) -> tuple[int, int]:
    right = specification(operator, dtype).right(operands)
    with np.errstate(all="ignore"):
        other = rounded(operator, dtype, *(x.astype(np.float64) for x in operands)).astype(right.dtype)
    return right.size, int(np.count_nonzero(bits_of(other, canonical=True) != bits_of(right, canonical=True)))


#: Hard cases of each operator of several tensors in each type: a million of all of them.
HARD = -(-(10**6) // (len(OF_SEVERAL) * len(CONTEXTS)))


def main() -> None:
    """Compare all inputs of one tensor, and hard cases of several; ``FILE`` is the table, to which rows are added."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    lines = lines or ["operator,dtype,inputs,disagreements"]
    known = {tuple(line.split(",")[:2]) for line in lines}
    wanted = [(o, d) for d in SHORT for o in FORMULAS]
    wanted += [(o, d) for d in CONTEXTS for o in (*OF_SEVERAL, *OF_ROWS, *REDUCTIONS, *NORMALISATIONS)]
    for operator, dtype in wanted:
        if (operator, dtype) in known:
            continue
        if operator in FORMULAS:
            count, wrong = disagreements(operator, dtype)
        else:
            of_many = of_normal_rows if operator in NORMALISATIONS else of_rows
            compare = of_hard_cases if operator in OF_SEVERAL else of_many
            count, wrong = compare(operator, dtype, HARD)
        lines.append(f"{operator},{dtype},{count},{wrong}")
        print(lines[-1], flush=True)
        if path:
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
