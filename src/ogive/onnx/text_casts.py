"""Cast and CastLike from and to text.

Numbers become the shortest plain decimals that are read back as the same number of their type, ``INF``, ``-INF`` and
``NaN``. Text is read exactly and rounded once.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np

from ogive.onnx.casting import convert, is_integer, limits
from ogive.onnx.data_types import DataType

__all__ = ["from_text", "to_text"]

#: Plain and scientific numbers; int() and float() of Python also take underscores, and digits of other scripts.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

#: What the standard's text lists, in any case.
SPECIAL = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}

#: No element type of ONNX tells numbers apart by more digits.
MOST_DIGITS = 17

#: Below its negative as a power of ten every number is rounded to zero.
LARGEST_EXPONENT = 400


def to_text(array: np.ndarray, source: DataType) -> np.ndarray:
    """Numbers as text. Truth values are 1 and 0."""
    found = np.empty(array.shape, object)
    if source.name == "BOOL" or is_integer(source):
        for place in np.ndindex(array.shape):
            found[place] = str(int(array[place]))
        return found
    open_places = []
    for place in np.ndindex(array.shape):
        number = float(array[place])
        if math.isfinite(number):
            open_places.append(place)
        else:
            found[place] = "NaN" if math.isnan(number) else "INF" if number > 0 else "-INF"
    for digits in range(MOST_DIGITS):
        if not open_places:
            break
        words = np.array([f"{float(array[place]):.{digits}e}" for place in open_places], object)
        back = from_text(words, source, saturate=True, round_mode="nearest")
        for place, word in zip(open_places, words, strict=True):
            found[place] = word
        open_places = [place for place, number in zip(open_places, back, strict=True) if number != array[place]]
    for place in np.ndindex(array.shape):
        text = str(found[place])
        found[place] = _plain(text) if text[-1].isdigit() else text
    return found


def _plain(word: str) -> str:
    plain = f"{Decimal(word).normalize():f}"
    return plain if "." in plain else plain + ".0"


def from_text(array: np.ndarray, wanted: DataType, saturate: bool, round_mode: str) -> np.ndarray:
    """Text as numbers: what a cast from the exact number gives. Raises ValueError for what is no number."""
    places = [(place, _read(array[place], place)) for place in np.ndindex(array.shape)]
    if is_integer(wanted):
        low, high = (-128, 127) if wanted.bits < 8 else limits(wanted)
        whole = np.empty(array.shape, np.int8 if wanted.bits < 8 else wanted.numpy)
        for place, number in places:
            whole[place] = min(max(_cut_off(number), low), high)
        if wanted.bits >= 8:
            return whole
        return convert(whole, "tensor(int8)", wanted.type, saturate=saturate, round_mode=round_mode)
    is_double = wanted.name == "DOUBLE"
    wide = np.empty(array.shape, np.float64)
    for place, number in places:
        wide[place] = float(number) if is_double else _to_odd(number)
    return wide if is_double else convert(wide, "tensor(double)", wanted.type, saturate=saturate, round_mode=round_mode)


def _read(text: object, place: tuple[int, ...]) -> Decimal | float:
    if isinstance(text, bytes):
        text = text.decode()
    special = SPECIAL.get(str(text).lower())
    if special is not None:
        return special
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        shown = repr(text) if len(repr(text)) <= 60 else f"{repr(text)[:60]}..."
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
