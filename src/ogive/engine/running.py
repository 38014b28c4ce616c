"""Running sums and products along an axis, each rounded once from the elements.

NumPy adds up in order, in float64. The loss of each step is an exact float64 (TwoSum), and so is what the sums of these
lose: sums of the losses are added up until nothing is lost. So a sum is exact as the sum of a few arrays, and is rounded
once. A product of mantissas has the relative loss of each step beside it; the few products that lie nearer to a rounding
boundary than its bound are computed in whole numbers.

Integers wrap around, as their type does. NaN, infinities and signs of zero are IEEE's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ogive.common.conversion import to_odd
from ogive.common.dtypes import ElementType, element_type, element_type_of
from ogive.engine.computation import cast, make_ufunc


def running_sum(data: np.ndarray, axis: int, *, exclusive: bool, reverse: bool) -> np.ndarray:
    """The sum of the elements up to each place: ``exclusive`` without its own, ``reverse`` from the end."""
    return _running(np.add, _sums, data, axis, exclusive, reverse)


def running_product(data: np.ndarray, axis: int, *, exclusive: bool, reverse: bool) -> np.ndarray:
    """The product of the elements up to each place."""
    return _running(np.multiply, _products, data, axis, exclusive, reverse)


def _running(
    step: np.ufunc,
    rounded_once: Callable[[np.ndarray, ElementType], np.ndarray],
    data: np.ndarray,
    axis: int,
    exclusive: bool,
    reverse: bool,
) -> np.ndarray:
    """NumPy's own steps for integers, which wrap around; for floats what is rounded once."""
    kind = element_type_of(data.dtype)
    assert kind is not None
    turned = np.moveaxis(data, axis, -1)
    if reverse:
        turned = turned[..., ::-1]
    result = np.empty(turned.shape, data.dtype)
    first = 0
    if exclusive:
        result[..., :1] = step.identity
        turned, first = turned[..., :-1], 1
    if turned.size:
        # A few rows at a time: their float64 numbers stay in the caches.
        rows, length = turned.shape[:-1], turned.shape[-1]
        flat = result.reshape(-1, result.shape[-1])
        given = turned.reshape(-1, length) if rows else turned[np.newaxis]
        count = max(ROWS // length, 1)
        with np.errstate(all="ignore"):
            for start in range(0, len(given), count):
                some = given[start : start + count]
                flat[start : start + count, first:] = (
                    rounded_once(some, kind) if kind.is_float else step.accumulate(some, axis=-1, dtype=data.dtype)
                )
    if reverse:
        result = result[..., ::-1]
    return np.ascontiguousarray(np.moveaxis(result, -1, axis))


#: So many elements are added up at a time, in whole rows.
ROWS = 1 << 15


# ---- sums


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum of finite numbers, and what rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _sums(data: np.ndarray, kind: ElementType) -> np.ndarray:
    """Along the last axis."""
    added = data.astype(np.float64)
    parts: list[np.ndarray] = []
    while True:
        total = np.add.accumulate(added, axis=-1)
        parts.append(total)
        # The first step adds to nothing, so it is not rounded.
        lost = np.zeros_like(total)
        lost[..., 1:] = two_sum(total[..., :-1], added[..., 1:])[1]
        if not lost.any() or (len(parts) == 1 and not np.isfinite(total).any()):
            break
        lost[~np.isfinite(parts[0])] = 0.0
        if not lost.any():
            break
        added = lost
    result = nearest_of_parts(parts, kind)
    if kind.name == "float64":
        _mend_overflow(data, parts[0], result)
    return result


def _mend_overflow(data: np.ndarray, total: np.ndarray, result: np.ndarray) -> None:
    """Sums of finite numbers of float64 that were infinite on the way, in fractions."""
    doubtful = ~np.isfinite(total).all(-1) & np.isfinite(data).all(-1)
    for place in np.argwhere(doubtful):
        exact = Fraction(0)
        for i, x in enumerate(data[tuple(place)].tolist()):
            exact += Fraction(x)
            result[(*place, i)] = _float(exact)


def _float(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def nearest_of_parts(parts: list[np.ndarray], kind: ElementType) -> np.ndarray:
    """The exact sum of arrays of float64, rounded once to a type; where the first is not finite, that."""
    first = parts[0]
    if len(parts) > 1:
        rest = [np.where(np.isfinite(first), part, 0.0) for part in parts[1:]]
        high, low = _distilled([np.where(np.isfinite(first), first, 0.0), *rest])
        first = np.where(np.isfinite(first), high, first)
        if kind.name != "float64":
            first = to_odd(first, low)
    return _cast(kind)(first)


def _distilled(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The float64 nearest to the exact sum, and a number of the sign of what is left."""
    while True:
        before = [part.copy() for part in parts]
        for i in range(len(parts) - 1, 0, -1):
            parts[i - 1], parts[i] = two_sum(parts[i - 1], parts[i])
        if all(np.array_equal(a, b) for a, b in zip(before, parts, strict=True)):
            break
    left = np.zeros_like(parts[0])
    for part in reversed(parts[1:]):
        left = np.where(part != 0, part, left)
    return parts[0], left


def rounded_to(kind: ElementType, array: np.ndarray) -> np.ndarray:
    """Numbers of float64, rounded once."""
    return _cast(kind)(array)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product of finite numbers, and what rounding lost of it."""
    product = a * b
    is_far = np.abs(product) < 2.0**-900
    lost = _product_error(a, b, product)
    return product, np.where(is_far | ~np.isfinite(lost), 0.0, lost)


@lru_cache(maxsize=8)
def _cast(kind: ElementType) -> Callable[[np.ndarray], np.ndarray]:
    if kind.name == "float64":
        return lambda array: array
    ufunc = make_ufunc("Cast", cast(element_type("float64"), kind))
    return lambda array: np.asarray(ufunc(array, out=np.empty(array.shape, kind.numpy)))


# ---- products

#: So many factors of at most 1 are multiplied before the product is brought back near 1.
BLOCK = 512

#: A relative loss is good to this, and the sum of n of them stands for a product of n factors: see _products.
UNIT = 2.0**-104


def _products(data: np.ndarray, kind: ElementType) -> np.ndarray:
    """Along the last axis."""
    wide = data.astype(np.float64)
    is_number = np.isfinite(wide) & (wide != 0)
    # Zeros, infinities, NaN and signs follow from numbers whose magnitude is 1.
    special = np.multiply.accumulate(np.where(is_number, np.copysign(1.0, wide), wide), axis=-1)
    mantissa, exponent = np.frexp(np.where(is_number, np.abs(wide), 1.0))
    count = wide.shape[-1]
    high, lost = np.empty_like(wide), np.empty_like(wide)
    powers = np.add.accumulate(exponent.astype(np.int64), axis=-1)
    carried = np.ones((*wide.shape[:-1], 1))
    moved = np.zeros((*wide.shape[:-1], 1), np.int64)
    loss = np.zeros((*wide.shape[:-1], 1))
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        factors = np.concatenate([carried, mantissa[..., start:stop]], axis=-1)
        found = np.multiply.accumulate(factors, axis=-1)
        step = _product_error(found[..., :-1], factors[..., 1:], found[..., 1:]) / found[..., 1:]
        losses = np.add.accumulate(np.concatenate([loss, step], axis=-1), axis=-1)
        high[..., start:stop], lost[..., start:stop] = found[..., 1:], losses[..., 1:]
        powers[..., start:stop] += moved
        carried, shift = np.frexp(found[..., -1:])
        moved, loss = moved + shift, losses[..., -1:]
    # The product is high * (1 + d1)(1 + d2)...; beside 1 + (d1 + d2 + ...) there are (n * 2**-53)**2 at most, and what
    # n sums and divisions of losses lose.
    n = np.arange(1, count + 1, dtype=np.float64)
    bound = np.where(np.logical_or.accumulate(lost != 0, axis=-1), (n * n + 8 * n) * UNIT, 0.0)
    result = _scaled(high, high * lost, powers, kind)
    low, upper = (_scaled(high, high * (lost + sign * bound), powers, kind) for sign in (-1, 1))
    is_open = low != upper
    if kind.name == "float64":  # below the normal numbers it was rounded twice
        is_open |= (result < 2.0**-1021) & (powers > -1200)
    for place in np.argwhere(is_open & (np.abs(special) == 1)):
        row, end = tuple(place[:-1]), int(place[-1]) + 1
        result[tuple(place)] = _exact_product(np.abs(wide[row][:end]), kind)
    return np.where(np.abs(special) == 1, np.copysign(result, special.astype(data.dtype)), special.astype(data.dtype))


def _product_error(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """``a * b - product``, which is a float64 (Dekker)."""
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error: np.ndarray = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return error


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shifted = a * 134217729.0
    high = shifted - (shifted - a)
    return high, a - high


def _scaled(high: np.ndarray, low: np.ndarray, powers: np.ndarray, kind: ElementType) -> np.ndarray:
    """``(high + low) * 2**powers``, rounded once to a shorter type."""
    total, rest = two_sum(high, low)
    if kind.name != "float64":
        total = to_odd(total, rest)
    return _cast(kind)(np.ldexp(total, np.clip(powers, -5000, 5000).astype(np.int32)))


def _exact_product(factors: np.ndarray, kind: ElementType) -> float:
    """In whole numbers, of which so many bits are kept; the last one is set if others were not zero."""
    product, power = 1, 0
    for factor in factors.tolist():
        n, d = factor.as_integer_ratio()
        product, power = product * n, power - d.bit_length() + 1
        excess = product.bit_length() - EXACT_BITS
        if excess > 0:
            is_lost = product & ((1 << excess) - 1) != 0
            product, power = product >> excess | is_lost, power + excess
    # As float64, its last bit is set if it is inexact; float64 itself is rounded by the division.
    excess = 0 if kind.name == "float64" else max(product.bit_length() - 53, 0)
    cut = product >> excess
    cut |= cut << excess != product
    power += excess
    if cut.bit_length() + power > 1100:
        return math.inf
    return float(_cast(kind)(np.array([_float(Fraction(cut) * Fraction(2) ** max(power, -9000))]))[0])


#: A product that is this long is no tie of any type, whatever it is multiplied by.
EXACT_BITS = 4096
