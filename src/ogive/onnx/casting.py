"""Cast and CastLike to and from types that kernels do not compute with.

Between types of kernels engine/computation.py has the rules. Integers of 2 and 4 bits are the lower bits of int8. Floats
of 8 bits follow the tables in the standard's text; smaller ones always saturate, and have no NaN to keep.

Cast and CastLike from and to text.

Numbers become the shortest plain decimals that are read back as the same number of their type, ``INF``, ``-INF`` and
``NaN``. Text is read exactly and rounded once.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import cache

import numpy as np

from ogive.common.conversion import converted, saturated
from ogive.common.dtypes import ElementType, element_type
from ogive.engine.computation import cast, make_ufunc
from ogive.onnx.data_types import DATA_TYPES, DataType


@cache
def _cast_ufunc(source: ElementType, result: ElementType) -> np.ufunc:
    return make_ufunc("Cast", cast(source, result))


def convert(array: np.ndarray, source: str, result: str, *, saturate: bool, round_mode: str) -> np.ndarray:
    """The elements in another type, where one of the types is not one that kernels compute with."""
    given, wanted = DATA_TYPES[source], DATA_TYPES[result]
    kind = computed_in(given)
    if given.element is None:
        array = converted(array, kind.numpy)
    if wanted.element is not None:
        out = np.empty(array.shape, wanted.element.numpy)
        if kind is wanted.element:
            out[...] = array
        else:
            _cast_ufunc(kind, wanted.element)(array, out=out)
        return out
    flat = array.reshape(-1)
    if wanted.is_integer:
        small = _small_integers(flat, kind, wanted)
    elif wanted.name == "FLOAT8E8M0":
        small = _powers_of_two(flat.astype(np.float64), wanted, saturate, round_mode)
    else:
        small = _small_floats(flat.astype(np.float64), wanted, saturate or not wanted.name.startswith("FLOAT8"))
    return small.reshape(array.shape)


def computed_in(kind: DataType) -> ElementType:
    """The type in which kernels compute with these numbers, and which has all of them."""
    if kind.element is not None:
        return kind.element
    return element_type(("uint8" if kind.name.startswith("UINT") else "int8") if kind.is_integer else "float32")


def with_bits_of(array: np.ndarray, wanted: DataType) -> np.ndarray:
    """The operand's bits as another type. An array has a byte for what has fewer bits, whose upper ones decide nothing."""
    if wanted.name == "BOOL":
        return np.asarray(array.view(np.uint8) != 0)
    bits = np.ascontiguousarray(array)
    if wanted.bits < 8:
        bits = bits.view(np.uint8) & np.uint8(2**wanted.bits - 1)
    return bits.view(wanted.numpy).reshape(array.shape)


def _small_integers(array: np.ndarray, kind: ElementType, wanted: DataType) -> np.ndarray:
    """Integers of fewer than 8 bits: the lower bits of an int8."""
    if kind.is_float:
        eight = np.empty(array.shape, np.int8)
        _cast_ufunc(kind, element_type("int8"))(array, out=eight)
        array = eight
    unused = 8 - wanted.bits
    shifted = array.astype(np.uint8) << unused
    kept = (shifted.view(np.int8) >> unused) if wanted.name.startswith("INT") else shifted >> unused
    return converted(kept, wanted.numpy)


def _small_floats(values: np.ndarray, wanted: DataType, saturate: bool) -> np.ndarray:
    """Floats of 8 bits and less, to nearest even."""
    import ml_dtypes

    with np.errstate(all="ignore"):
        if saturate:
            largest = float(ml_dtypes.finfo(wanted.numpy).max)  # type: ignore[no-untyped-call]
            values = saturated(values, largest)
    return converted(values, wanted.numpy)


def _powers_of_two(values: np.ndarray, wanted: DataType, saturate: bool, round_mode: str) -> np.ndarray:
    """The 8-bit type without sign and zero: 2**-127 to 2**127, in codes from 0 on, and NaN; signs are dropped."""
    magnitudes = np.abs(values)
    is_nan = np.isnan(magnitudes)
    fraction, exponent = np.frexp(np.where(is_nan | np.isinf(magnitudes), 1.0, magnitudes))
    # 0.5 <= fraction < 1: the power of two that is not larger than the number is 2**(exponent - 1).
    moves_up = {"up": fraction > 0.5, "nearest": fraction >= 0.75, "down": fraction < 0}[round_mode]
    code = exponent.astype(np.int64) - 1 + moves_up + 127
    below, above, nan = 0, 254, 255
    if not saturate:
        below = above = nan
    code = np.where((magnitudes < 2.0**-127) | (code < 0), below, code)
    code = np.where((code > 254) | np.isinf(magnitudes), above, code)
    return np.where(is_nan, nan, code).astype(np.uint8).view(wanted.numpy)


# ---- cast and CastLike from and to text


#: Plain and scientific numbers; int() and float() of Python also take underscores, and digits of other scripts.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

#: The values that the standard's text lists, in any case.
SPECIAL = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}

#: No element type of ONNX tells numbers apart by more digits.
MOST_DIGITS = 17

#: Below its negative as a power of ten every number is rounded to zero.
LARGEST_EXPONENT = 400


#: So many numbers become text together: Python's objects take many times the memory of an array.
PIECE = 1024


def to_text(array: np.ndarray, source: DataType) -> np.ndarray:
    """Numbers as text. Truth values are 1 and 0."""
    found = np.empty(array.shape, object)
    flat = found.reshape(-1)
    for begin in range(0, array.size, PIECE):
        flat[begin : begin + PIECE] = _words(array.flat[begin : begin + PIECE], source)
    return found


def _words(numbers: np.ndarray, source: DataType) -> np.ndarray:
    """The words of some numbers."""
    found = np.empty(numbers.shape, object)
    if source.name == "BOOL" or source.is_integer:
        found[:] = [str(int(number)) for number in numbers]
        return found
    open_places = []
    for place, number in enumerate(map(float, numbers)):
        if math.isfinite(number):
            open_places.append(place)
        else:
            found[place] = "NaN" if math.isnan(number) else "INF" if number > 0 else "-INF"
    for digits in range(MOST_DIGITS):
        if not open_places:
            break
        words = np.array([f"{float(numbers[place]):.{digits}e}" for place in open_places], object)
        back = from_text(words, source, saturate=True, round_mode="nearest")
        found[open_places] = words
        open_places = [place for place, number in zip(open_places, back, strict=True) if number != numbers[place]]
    found[:] = [_plain(text) if text[-1].isdigit() else text for text in map(str, found)]
    return found


def _plain(word: str) -> str:
    plain = f"{Decimal(word).normalize():f}"
    return plain if "." in plain else plain + ".0"


def from_text(array: np.ndarray, wanted: DataType, saturate: bool, round_mode: str) -> np.ndarray:
    """Text as numbers: what a cast from the exact number gives. Raises ValueError for what is no number."""
    numbers = (_read(text, array.shape, at) for at, text in enumerate(array.flat))
    if wanted.is_integer:
        low, high = (-128, 127) if wanted.bits < 8 else wanted.limits
        whole: np.ndarray = np.empty(array.size, np.int8 if wanted.bits < 8 else wanted.numpy)
        for at, number in enumerate(numbers):
            whole[at] = min(max(_cut_off(number), low), high)
        whole = whole.reshape(array.shape)
        if wanted.bits >= 8:
            return whole
        return convert(whole, "tensor(int8)", wanted.type, saturate=saturate, round_mode=round_mode)
    is_double = wanted.name == "DOUBLE"
    wide: np.ndarray = np.empty(array.size, np.float64)
    for at, number in enumerate(numbers):
        wide[at] = float(number) if is_double else _to_odd(number)
    wide = wide.reshape(array.shape)
    return wide if is_double else convert(wide, "tensor(double)", wanted.type, saturate=saturate, round_mode=round_mode)


def _read(text: object, shape: tuple[int, ...], at: int) -> Decimal | float:
    if isinstance(text, bytes):
        text = text.decode()
    special = SPECIAL.get(str(text).lower())
    if special is not None:
        return special
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        shown = repr(text) if len(repr(text)) <= 60 else f"{repr(text)[:60]}..."
        place = tuple(map(int, np.unravel_index(at, shape)))
        where = f" at {place}" if place else ""
        raise ValueError(
            f"the text{where} is {shown}; allowed: numbers such as '3.14', '1e-5', 'INF', '-INF' and 'NaN'"
        )
    return Decimal(text)


def _cut_off(number: Decimal | float) -> int:
    """The integer, without its fraction; large ones saturate in every type, and NaN is 0."""
    if not isinstance(number, Decimal):
        return 0 if math.isnan(number) else int(math.copysign(2**64, number))
    if number and number.adjusted() > 20:
        return -(2**64) if number < 0 else 2**64
    return int(number)


def _to_odd(number: Decimal | float) -> float:
    """The float64 that is the number, or the one beside it whose last bit is set: that rounds like the number."""
    found = float(number)
    if not isinstance(number, Decimal) or not number or math.isinf(found):
        return found
    if number.adjusted() < -LARGEST_EXPONENT:
        return math.copysign(math.ulp(0.0), number)
    exact = Decimal(found)
    if exact == number or np.float64(found).view(np.int64) & 1:
        return found
    return math.nextafter(found, math.inf if exact < number else -math.inf)
