"""A second oracle: MPFR through gmpy2. The formulas are written from the standards' text, not from Ogive's.

ONNX's operator pages and DirectML's are what is transcribed here. A value is computed with a few hundred bits and
rounded once; where it is next to a tie with 400 bits, 4,000 are taken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr

from ogive.dtypes import element_type
from ogive.golden.specification import bits_of, of_operator


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
}

#: Precision, largest exponent and smallest exponent of a subnormal number, as MPFR counts them.
CONTEXTS = {"float16": (11, 16, -23), "bfloat16": (8, 128, -132)}


def rounded(operator: str, dtype: str, values: np.ndarray) -> np.ndarray:
    """The results, correctly rounded by MPFR: once to 400 or 4,000 bits and odd, then to the type."""
    precision, most, least = CONTEXTS[dtype]
    formula = FORMULAS[operator]
    results = np.empty(values.shape, np.float64)
    wide = gmpy2.context(precision=400, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min(), trap_divzero=False)
    wider = gmpy2.context(wide, precision=4000)
    narrow = gmpy2.context(precision=precision, emax=most, emin=least, subnormalize=True)
    for i, value in enumerate(values.tolist()):
        with gmpy2.context(wide):
            long = formula(mpfr(value))
        ends = _to(long, narrow, precision, wide)
        if ends is None:
            with gmpy2.context(wider):
                long = formula(mpfr(value))
            ends = _to(long, narrow, precision, None)
        results[i] = ends
    return results


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
    """How many inputs were compared, and in how many the two oracles differ."""
    kind = element_type(dtype)
    x = np.arange(first, 1 << 16, step, dtype=np.uint16).view(kind.numpy)
    right = of_operator(operator, dtype).right([x])
    with np.errstate(all="ignore"):
        other = rounded(operator, dtype, x.astype(np.float64)).astype(kind.numpy)
    return x.size, int(np.count_nonzero(bits_of(other, canonical=True) != bits_of(right, canonical=True)))


def main() -> None:
    """Compare all inputs; ``FILE [DTYPE]`` writes the table."""
    lines = ["operator,dtype,inputs,disagreements"]
    for operator in FORMULAS:
        for dtype in sys.argv[2:] or CONTEXTS:
            count, wrong = disagreements(operator, dtype)
            lines.append(f"{operator},{dtype},{count},{wrong}")
            print(lines[-1], flush=True)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
