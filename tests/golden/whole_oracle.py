"""The second oracle for integers, truth values and quantised numbers: Python's integers, and MPFR where numbers are real.

Like oracle.py it is written from the standards' text and uses no formula of Ogive.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr

from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.errors import DTypeError
from ogive.golden.inputs import choose
from ogive.golden.specification import Specification, bits_of, of_operator
from tests.golden.oracle import CONTEXTS, FORMULAS, OF_SEVERAL, required

#: Enough for every sum and product of integers of 64 bits and numbers of float32.
EXACTLY = gmpy2.context(precision=1200, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min(), trap_divzero=False)


def _divided(a: int, b: int) -> int:
    """Rounded towards zero, and 0 where b is 0."""
    if b == 0:
        return 0
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _power(x: int, y: int) -> int:
    """A negative exponent is one of a fraction, cut off."""
    if y >= 0:
        return pow(x, y, 1 << 64)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def _floored(a: int, b: int) -> int:
    return a % b if b else 0


def _truncated(a: int, b: int) -> int:
    return a - b * _divided(a, b) if b else 0


#: Functions of integers, modulo a power of two: y = f(x) without bounds, wrapped around.
WRAPPED: dict[str, Callable[..., int]] = {
    "abs": abs,
    "add": lambda a, b: a + b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_not": lambda x: ~x,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bit_shift_left": lambda a, b: a << b if b < 64 else 0,
    "bit_shift_right": lambda a, b: a >> b,
    "difference_square": lambda a, b: (a - b) ** 2,
    "div": _divided,
    "mod": _floored,
    "modulus_floor": _floored,
    "modulus_truncate": _truncated,
    "mul": lambda a, b: a * b,
    "neg": lambda x: -x,
    "pow": _power,
    "square": lambda x: x * x,
    "sub": lambda a, b: a - b,
}

#: Functions of integers, as of real numbers, cut off and saturated; these have the formulas of oracle.py.
CUT_OFF = frozenset(
    [
        "clamp",
        "clamp_grad",
        "clip",
        "clip_grad",
        "equal",
        "fmax",
        "fmin",
        "greater",
        "greater_or_equal",
        "identity",
        "less",
        "less_or_equal",
        "max",
        "mean",
        "min",
        "not_equal",
        "prelu",
        "relu",
        "relu_grad",
        "shrink",
        "sign",
        "threshold",
    ]
)

#: The functions whose results are chosen or counted.
CHOSEN: dict[str, Callable[..., Any]] = {
    "bit_count": lambda x, bits: (x % (1 << bits)).bit_count(),
    "erf": lambda x, bits: 0,  # between -1 and 1, and cut off
    "logical_and": lambda a, b, bits: a and b,
    "logical_not": lambda a, bits: not a,
    "logical_or": lambda a, b, bits: a or b,
    "logical_xor": lambda a, b, bits: a != b,
    "where": lambda condition, a, b, bits: a if condition else b,
}


def _saturated(value: Any, kind: ElementType) -> int:
    whole = value if isinstance(value, int) else int(gmpy2.trunc(value))
    return max(kind.minimum, min(kind.maximum, whole))


def _float32(value: Any, kind: str = "float32") -> Any:
    """An exact number rounded once to a type."""
    precision, most, least = CONTEXTS[kind]
    with gmpy2.context(precision=precision, emax=most, emin=least, subnormalize=True):
        return mpfr(value)


def _quotient(a: Any, b: Any, kind: str = "float32") -> Any:
    """A quotient rounded once to a type."""
    if kind == "float64":
        with gmpy2.context(precision=53, emax=1024, emin=-1073, subnormalize=True):
            return a / b
    precision, most, least = CONTEXTS[kind]
    with gmpy2.context(precision=precision, emax=most, emin=least, subnormalize=True):
        return a / b


def _quantized(quotient: Any, zero_point: int, kind: ElementType) -> int:
    """Halves round to even; NaN is 0; the rest saturates."""
    if gmpy2.is_nan(quotient):
        return 0
    if gmpy2.is_infinite(quotient):
        return kind.maximum if quotient > 0 else kind.minimum
    return _saturated(int(gmpy2.rint(quotient)) + zero_point, kind)


def _quantize(spec: Specification, x: Any, scale: Any, zero_point: int) -> int:
    kind = "float64" if spec.inputs[0].name == "int32" else "float32"
    return _quantized(_quotient(mpfr(x), mpfr(scale), kind), zero_point, spec.output)


def _dequantize(spec: Specification, x: Any, scale: Any, zero_point: Any) -> float:
    return float(_float32(mpfr(x - zero_point) * mpfr(scale), spec.output.name))


def _quantized_add(spec: Specification, a: int, sa: Any, za: int, b: int, sb: Any, zb: int, so: Any, zo: int) -> int:
    x, y = _float32(mpfr(a - za) * mpfr(sa)), _float32(mpfr(b - zb) * mpfr(sb))
    return _quantized(_quotient(x + y, mpfr(so)), zo, spec.output)


#: y = clip(round(x / scale) + zero_point), and what belongs to it.
QUANTISED: dict[str, Callable[..., Any]] = {
    "dequantize_linear": _dequantize,
    "quantize_linear": _quantize,
    "quantized_linear_add": _quantized_add,
}

ALL = (*WRAPPED, *sorted(CUT_OFF), *CHOSEN, *QUANTISED)


def _result(operator: str, spec: Specification, values: list[Any]) -> Any:
    kind, bits = spec.output, spec.inputs[0].bits
    if operator in QUANTISED:
        return QUANTISED[operator](spec, *values)
    if operator in CHOSEN:
        return CHOSEN[operator](*values, bits)
    if operator in WRAPPED:
        value = WRAPPED[operator](*values) % (1 << kind.bits)
        return value - (1 << kind.bits) if value > kind.maximum else value
    formula = FORMULAS[operator] if len(values) == 1 else OF_SEVERAL[operator]
    value = formula(*map(mpfr, values))
    return bool(value) if kind.kind == "boolean" else _saturated(value, kind)


def cases() -> Iterator[tuple[str, str, Specification]]:
    """Operator, type and specification: all that have integers or truth values."""
    for operator in ALL:
        for kind in ELEMENT_TYPES:
            try:
                spec = of_operator(operator, kind, required(operator))
            except DTypeError:
                continue
            is_quantised = operator in QUANTISED
            if is_quantised or operator == "where" or not any(t.is_float for t in (*spec.inputs, spec.output)):
                yield operator, kind, spec


def compared(operator: str, spec: Specification, count: int, seed: int = 0) -> tuple[int, int]:
    """How many results were compared, and how many differ: of all inputs of one tensor of up to 16 bits."""
    first = spec.inputs[0]
    if len(spec.inputs) == 1 and first.is_integer and first.bits <= 16:
        arrays = [np.arange(1 << first.bits, dtype=np.uint16).astype(f"u{first.bits // 8}").view(first.numpy)][:1]
        arrays = [arrays[0][:: max(1, arrays[0].size // count)]] if count < arrays[0].size else arrays
    else:
        arrays = [np.asarray(x) for x in np.broadcast_arrays(*choose(spec, seed=seed, samples=max(64, count)).arrays)]
        order = np.random.default_rng(seed).permutation(arrays[0].size)[:count]
        arrays = [x.reshape(-1)[order] for x in arrays]
    right = spec.right(arrays)
    if operator == "where":
        other = np.where(*arrays)
    else:
        with gmpy2.context(EXACTLY), np.errstate(all="ignore"):  # signalling NaN
            rows = zip(
                *(x.astype(np.float64).tolist() if x.dtype.kind == "f" else x.tolist() for x in arrays), strict=True
            )
            other = np.array([_result(operator, spec, list(row)) for row in rows], object).astype(right.dtype)
    return right.size, int(np.count_nonzero(bits_of(other, canonical=True) != bits_of(right, canonical=True)))


def left_out() -> set[str]:
    """Operators of integers or truth values that are in no table here."""
    whole = {
        o.name
        for o in OPERATORS.values()
        if not o.is_row_wise and any(not t.is_float for s in o.signatures for t in s.inputs)
    }
    return whole - set(ALL)


#: Cases of each operator and type: a million of all of them.
COUNT = 3000


def main() -> None:
    """Compare all inputs of one tensor of 8 and 16 bits, and cases of all others; ``FILE`` gets the table."""
    lines = ["operator,dtype,inputs,disagreements"]
    for operator, kind, spec in cases():
        is_short = len(spec.inputs) == 1 and spec.inputs[0].bits <= 16
        count, wrong = compared(operator, spec, 1 << 16 if is_short else COUNT)
        lines.append(f"{operator},{kind},{count},{wrong}")
        print(lines[-1], flush=True)
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
