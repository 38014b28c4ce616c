"""The results of operators that ONNX's reference implementation rounds wrongly or refuses, from the standard's text.

Reductions of integers, running sums, ranges, casts and quantisation: one rule each, in Python's integers and fractions. A
rule yields calls: a name, the inputs, and the results. None of it calls a kernel.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from ogive.enclosures.enclosure import nearest
from ogive.golden.requests import Request, array_of, drawn, every_value
from ogive.golden.specification import Call
from ogive.onnx.data_types import DataType

# ---- numbers


def exact(value: Any) -> Any:
    """An element as an integer, a fraction, or a float that is no number."""
    if isinstance(value, np.bool_ | np.integer | bool | int) or np.dtype(value.dtype).name.startswith(("int", "uint")):
        return int(value)
    number = float(value)
    return Fraction(number) if math.isfinite(number) else number


def rounded_to(kind: DataType, value: Any, *, is_negative_zero: bool = False) -> Any:
    """The nearest number of a floating-point type, to even; the type's largest where it has no infinity."""
    if isinstance(value, float):
        return value
    if kind.bits > 8:
        if value == 0:
            return -0.0 if is_negative_zero else 0.0
        fraction = Fraction(value)
        name = kind.element.name if kind.element is not None else kind.dtype
        return nearest(fraction.numerator, fraction.denominator, name)
    numbers = _finite(kind)
    place = bisect_left(numbers, (value,))
    is_negative = value < 0 or is_negative_zero
    beside = numbers[max(place - 2, 0) : place + 2]  # zero may be there twice
    *_, code = min((abs(x - value), code & 1, _is_negative(kind, code) != is_negative, code) for x, code in beside)
    return every_value(kind)[code]


@cache
def _finite(kind: DataType) -> list[tuple[Fraction, int]]:
    """The finite numbers of a type of at most 8 bits, and their bits, in order."""
    with np.errstate(invalid="ignore"):
        numbers = every_value(kind).astype(np.float64)
    return sorted((Fraction(v), code) for code, v in enumerate(numbers.tolist()) if math.isfinite(v))


def _is_negative(kind: DataType, code: int) -> bool:
    return math.copysign(1, float(every_value(kind)[code])) < 0


# ---- reductions of integers


def _wrapped(kind: DataType, value: int) -> int:
    low, high = kind.limits
    return (value - low) % (high - low + 1) + low


def _saturated(kind: DataType, value: int) -> int:
    low, high = kind.limits
    return min(max(value, low), high)


_DIGITS = Context(prec=60, Emax=10**17, Emin=-(10**17))


def _log(value: int, kind: DataType) -> int:
    """The logarithm of a whole number, cut off; of 0 the least number, of others below 0, as of NaN, 0."""
    if value <= 0:
        return kind.limits[0] if value == 0 else 0
    return int(_DIGITS.ln(Decimal(value)))


def _log_sum_exp(row: Sequence[int], kind: DataType) -> int:
    """``m + log(n + rest)`` for the largest element m, which n elements are."""
    most = max(row)
    others = [v - most for v in row if v != most]
    n = len(row) - len(others)
    with_rest = _DIGITS.ln(Decimal(n) + sum((_DIGITS.exp(Decimal(d)) for d in others if d > -100), Decimal(0)))
    if n == 1 and others and with_rest < Decimal("1e-30"):  # just above m
        return most if most >= 0 else most + 1
    return _saturated(kind, math.trunc(_DIGITS.add(Decimal(most), with_rest)))


#: Reductions that the reference of onnx 1.23 gets wrong: it refuses logarithms of integers, takes roots and means in float64 or modulo
#: 2^32, and returns sums of squares of int32 as int64.
_REDUCED: dict[str, Callable[[Sequence[int], DataType], int]] = {
    "ReduceL2": lambda row, kind: _saturated(kind, math.isqrt(sum(v * v for v in row))),
    "ReduceLogSum": lambda row, kind: _log(sum(row), kind),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMean": lambda row, kind: math.trunc(Fraction(sum(row), len(row))),
    "ReduceSumSquare": lambda row, kind: _wrapped(kind, sum(v * v for v in row)),
}


_REDUCTIONS = (*_REDUCED, "ReduceL1", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")


def _reduce(o: Request) -> Iterator[Call]:
    own, (low, high) = _REDUCED.get(o.operator), o.first.limits
    small = np.clip(o.generator.integers(-40, 40, (4, 3, 6)), low, high).astype(o.first.numpy)
    positive = np.clip(o.generator.integers(0, 100, (4, 3, 6)), low, high).astype(o.first.numpy)
    # Sums of squares, and numbers whose roots and logarithms are next to whole ones.
    root = math.isqrt(high)
    hard = [[root, root, root, root, 0, 0], [root, 1, 1, 0, 0, 0], [3, 4, 0, 0, 0, 0], [high, high, high, high, 0, 0]]
    if low < 0:
        hard += [[-5, max(low, -5000), max(low, -5000), -100, -100, -100], [-1, -2, -30, -30, -30, -30]]
    rows = np.array(hard, object).astype(o.first.numpy).reshape(-1, 1, 6)
    for name, x in (("any bits", o.data(4, 3, 6)), ("small", small), ("from 0 on", positive), ("hard", rows)):
        inputs = (x, np.array([-1])) if o.has("axes") else (x,)
        if own is None:
            yield name, inputs, o.reference(*inputs)
            continue
        results = [own([int(v) for v in x[a, b]], o.first) for a, b in np.ndindex(*x.shape[:2])]
        yield name, inputs, (array_of(o.first, results, (*x.shape[:2], 1)),)


# ---- running sums and products


def _running(combine: Callable[[Any, Any], Any], neutral: int) -> Callable[[Request], Iterator[Call]]:
    """Each result is rounded once. The reference rounds every step."""

    def rule(o: Request) -> Iterator[Call]:
        kind, backwards = o.first, o.attributes["reverse"]
        x = np.abs(o.data(3, 8)) if kind.is_integer else o.data(3, 8)
        sets = {"any bits": x}
        if not kind.is_integer:
            with np.errstate(all="ignore"):
                x = np.where(np.isfinite(x) & (x != 0), x, np.ones((), kind.numpy)).astype(kind.numpy)
                spread = x.copy()
                spread[:, ::3] *= np.array(2.0**12, kind.numpy)
            sets = {"near 1": x, "magnitudes": spread}
        for name, data in sets.items():
            results: list[Any] = []
            for row in data:
                totals = [*accumulate((exact(v) for v in (row[::-1] if backwards else row)), combine, initial=neutral)]
                totals = totals[:-1] if o.attributes["exclusive"] else totals[1:]
                results += totals[::-1] if backwards else totals
            results = [_wrapped(kind, v) if kind.is_integer else rounded_to(kind, v) for v in results]
            yield name, (data, np.array(1, o.kind(1).numpy)), (array_of(kind, results, data.shape),)

    return rule


def _range(o: Request) -> Iterator[Call]:
    """Each number is rounded once. The reference multiplies the rounded distance of the first two."""
    kind = o.first
    given = (
        [(1, 12, 3), (10, -2, -3), (5, 5, 1)] if kind.is_integer else [(0.5, 3.0, 0.1), (2.0, -1.0, -0.75), (1, 0, 1)]
    )
    for values in given:
        arrays = tuple(np.array(v, kind.numpy) for v in values)
        start, limit, delta = (exact(a[()]) for a in arrays)
        count = max(math.ceil(Fraction(limit - start) / delta), 0)
        numbers = [start + i * delta for i in range(count)]
        results = numbers if kind.is_integer else [rounded_to(kind, v) for v in numbers]
        yield f"{values}", arrays, (array_of(kind, results, (count,)),)


# ---- casts
#
# The reference reads text by NumPy: it rounds to float32 twice, refuses "3.14" for integers, and refuses most small types. To
# FLOAT8E8M0 it makes infinity NaN where it should saturate, 2^-127 of zero where it should be NaN, and 2^-126 of 2^-127. It
# wraps floats of 8 bits around in integers that Ogive's kernels saturate in.


def _converted(value: Any, target: DataType, saturate: bool) -> Any:
    """One element in another type; None where the standard leaves it open."""
    if target.name == "BOOL":
        return bool(value != 0)
    number = exact(value)
    if target.is_integer:
        if isinstance(number, int):
            return _wrapped(target, number)
        if math.isfinite(number) and target.limits[0] <= math.trunc(number) <= target.limits[1]:
            return math.trunc(number)
        # Numbers beyond are left open; Ogive saturates in the types that kernels compute with, and NaN is 0.
        return None if target.element is None else 0 if math.isnan(number) else target.limits[number > 0]
    if target.name == "FLOAT8E8M0":
        return _power_of_two(number, target, saturate)
    is_negative_zero = number == 0 and not isinstance(number, int) and math.copysign(1, float(value)) < 0
    if target.bits > 8:
        return rounded_to(target, number, is_negative_zero=is_negative_zero)
    numbers = _finite(target)
    largest, code = numbers[-1]
    is_open = target.name.startswith("FLOAT8") and not saturate
    if isinstance(number, float) and math.isnan(number):
        return math.nan if len(numbers) < 1 << target.bits else None
    # Numbers round beyond the largest from half a unit above it on, and that itself does where the largest is odd.
    half = largest + (largest - numbers[-2][0]) / 2
    if is_open and (abs(number) > half or (abs(number) == half and code & 1)):
        return math.copysign(math.inf, number) if target.name == "FLOAT8E5M2" else math.nan
    if isinstance(number, float):
        return math.copysign(largest, number)
    return rounded_to(target, number, is_negative_zero=is_negative_zero)


def _power_of_two(number: Any, target: DataType, saturate: bool) -> Any:
    """The 8-bit type without sign and zero: the power of two that is not smaller (round_mode up)."""
    if isinstance(number, float):
        return math.nan if math.isnan(number) or not saturate else 2.0**127
    size = abs(Fraction(number))
    exponent = -127 if size == 0 else max(math.ceil(math.log2(size)) - 1, -127)
    while Fraction(2) ** exponent < size:
        exponent += 1
    if exponent > 127 or (size < Fraction(2) ** -127 and not saturate):
        return 2.0**127 if saturate and exponent > 127 else math.nan
    return 2.0**exponent


#: Text and what it says, for casts: plain, scientific, long, beside a tie of float32, too large, too small, special.
_TEXTS: dict[str, Any] = {
    "3.14": Fraction(314, 100),
    "-7": Fraction(-7),
    "1e-5": Fraction(1, 10**5),
    "1E2": Fraction(100),
    "+.5": Fraction(1, 2),
    "100.5": Fraction(1005, 10),
    "1.000000059604644775390625": 1 + Fraction(1, 2**24),
    "1.00000005960464477539062500001": 1 + Fraction(1, 2**24) + Fraction(1, 10**29),
    "1.00390625": 1 + Fraction(1, 2**8),
    "1e300": Fraction(10**300),
    "-1e-300": -Fraction(1, 10**300),
    "nan": math.nan,
    "INF": math.inf,
    "+inf": math.inf,
    "-Inf": -math.inf,
}


def _of_text(value: Any, target: DataType) -> Any:
    """The result of a cast of the number that a text says."""
    if target.name == "BOOL":
        return value != 0
    if target.is_integer:
        cut = 0 if value != value else 2**70 if value == math.inf else -(2**70) if value == -math.inf else int(value)
        if target.bits >= 8:
            return _saturated(target, cut)
        low = min(max(cut, -128), 127) & (2**target.bits - 1)  # the lower bits of an int8
        is_negative = target.name.startswith("INT") and low >= 2 ** (target.bits - 1)
        return low - 2**target.bits if is_negative else low
    return rounded_to(target, value, is_negative_zero=value < 0)


def _as_text(value: Any, kind: DataType) -> str:
    """A number of few digits as text."""
    if kind.name == "BOOL" or kind.is_integer:
        return str(int(value))
    number = float(value)
    return {math.inf: "INF", -math.inf: "-INF"}.get(number, "NaN" if number != number else repr(number))


def _cast_of_text(o: Request) -> Iterator[Call]:
    source, target = o.first, o.output
    target_type = () if o.operator == "Cast" else (drawn(o.kind(1), (1,), o.generator),)
    if source is target:
        x = o.data(4)
        yield "text", (x, *target_type), (x.copy(),)
    elif target.name == "STRING":
        x = every_value(source)[:16] if source.bits <= 8 and source.name != "BOOL" else o.data(12)
        if source.bits > 8 and not source.is_integer:
            x = np.array([0.0, -0.0, 0.5, -1.25, 3.0, 96.0, np.nan, np.inf, -np.inf]).astype(source.numpy)
        elif source.bits <= 8 and not source.is_integer:
            x = x[np.isin(x.astype(np.float64), [0, 0.5, 1, 1.5, 2, 3, 4, -1, -2])]
        yield "to text", (x, *target_type), (np.array([_as_text(v, source) for v in x], object),)
    else:
        if target.bits > 8 or target.is_integer or target.name == "BOOL":
            found = {text: _of_text(value, target) for text, value in _TEXTS.items()}
        else:  # texts of what floats of few bits have
            found = {repr(float(v)): v for v in every_value(target) if math.isfinite(float(v))}
        results = array_of(target, list(found.values()), (len(found),))
        yield "of text", (np.array(list(found), object), *target_type), (results,)


#: Special numbers, ties of integers, and the ends of the types of 8 and 16 bits.
_SPECIAL = np.array([0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -2.5, 240, 448, 464, 57344, 61440, 65504, 65520])


def _cast(o: Request) -> Iterator[Call]:
    source, target = o.first, o.output
    if "STRING" in (source.name, target.name):
        yield from _cast_of_text(o)
        return
    if source.bits <= 8 and source.name != "BOOL":
        x = every_value(source)
    elif source.name == "BOOL":
        x = np.array([False, True])
    elif source.is_integer:
        x = o.data(200)
    else:
        with np.errstate(all="ignore"):
            spread = np.ldexp(o.generator.uniform(-2, 2, 300), o.generator.integers(-20, 20, 300))
            x = np.concatenate([_SPECIAL, -_SPECIAL, spread]).astype(source.numpy)
    saturate = bool(o.attributes.get("saturate", 1))
    with np.errstate(invalid="ignore"):
        converted = [_converted(v, target, saturate) for v in x]
    keep = [i for i, v in enumerate(converted) if v is not None]
    result = array_of(target, [converted[i] for i in keep], (len(keep),))
    inputs = (x[keep],) if o.operator == "Cast" else (x[keep], drawn(o.kind(1), (1,), o.generator))
    yield "values", inputs, (result,)


# ---- quantisation


def _scales(kind: DataType, generator: np.random.Generator, *, any_number: bool) -> np.ndarray:
    """Three scales: powers of two, by which quotients are exact; of float32 any number."""
    if kind.is_integer:
        return np.array([1, 2, 4], kind.numpy)
    if any_number and kind.name == "FLOAT":
        return generator.uniform(0.01, 2, 3).astype(np.float32)
    return np.array([0.5, 2.0, 1.0]).astype(kind.numpy)


def _zero_points(kind: DataType) -> np.ndarray:
    """Three: whole numbers for types of few bits."""
    low, high = kind.limits if kind.is_integer else (0, 0)
    return array_of(kind, [min(high, 3), max(low, -2), 1] if kind.is_integer and kind.bits < 32 else [0] * 3, (3,))


def _per_column(o: Request, scale: np.ndarray, zero: np.ndarray) -> Iterator[tuple[str, Any, Any, Any]]:
    """The layouts: one scale, and one for each index of the second axis where the version has that."""
    yield "one scale", scale[:1].reshape(()), zero[:1].reshape(()), lambda p: 0
    if "axis" in o.attributes:
        yield "a scale a column", scale, zero, lambda p: p[1]


def _quantize(o: Request) -> Iterator[Call]:
    """By the reference: it divides as the standard does, and quotients by powers of two are exact in every type."""
    kind, target = o.first, o.output
    scale = _scales(o.kind(1), o.generator, any_number=kind.name == "FLOAT")
    if kind.is_integer:
        x = o.generator.integers(-1000, 1000, (20, 3)).astype(kind.numpy)
    else:
        x = (o.generator.standard_normal((20, 3)) * 60).astype(kind.numpy)
        x[0] = np.array([0.25, 0.75, 1.25]).astype(kind.numpy)  # ties
        x[1] = np.array([1e4, -1e4, 0.0]).astype(kind.numpy)
    for name, s, z, _ in _per_column(o, scale, _zero_points(target)):
        yield name, (x, s, z), o.reference(x, s, z)


def _dequantize(o: Request) -> Iterator[Call]:
    """Products are rounded once. The reference rounds to float32, and again to a shorter output_dtype."""
    kind, target = o.first, o.output
    scale = _scales(o.kind(1), o.generator, any_number=True)
    if o.kind(1).name == "FLOAT":
        scale[1] = np.float32(9_872_911)
    finite = every_value(kind) if kind.bits <= 8 else o.data(24)
    with np.errstate(invalid="ignore"):
        finite = finite[np.isfinite(finite.astype(np.float64))]
    x = np.resize(o.generator.permutation(finite), (24, 3))
    zero = _zero_points(kind)
    for name, s, z, column in _per_column(o, scale, zero):
        results = []
        for p in np.ndindex(*x.shape):
            c = column(p)
            value = (exact(x[p]) - exact(zero[c])) * exact(scale[c])
            is_negative = not kind.is_integer and math.copysign(1, float(x[p])) < 0
            results.append(rounded_to(target, value, is_negative_zero=is_negative and value == 0))
        yield name, (x, s, z), (array_of(target, results, x.shape),)


# ---- tables

#: Attributes that are set where a version has them.
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "CumProd": {"exclusive": 1, "reverse": 0},
    "CumSum": {"exclusive": 0, "reverse": 1},
    **{name: {"axes": (-1,), "keepdims": 1} for name in _REDUCTIONS},
}

#: Operator -> its calls.
RULES: dict[str, Callable[[Request], Iterator[Call]]] = {
    "Cast": _cast,
    "CastLike": _cast,
    "CumProd": _running(lambda a, b: a * b, 1),
    "CumSum": _running(lambda a, b: a + b, 0),
    "DequantizeLinear": _dequantize,
    "QuantizeLinear": _quantize,
    "Range": _range,
    **dict.fromkeys(_REDUCTIONS, _reduce),
}
