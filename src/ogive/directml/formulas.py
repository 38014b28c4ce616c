"""What DirectML has beside the catalogue: conversions between types, which no function on arrays needs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from ogive.dtypes import NUMBERS
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["cast", "sequence"]


def _cast(x: Any) -> Any:
    """The number as it is; the types do the rest."""
    return x


def _pairs(tensors: tuple[str, ...]) -> Iterable[Signature]:
    return [Signature((source,), (result,)) for source, result in product(NUMBERS, repeat=2)]


#: To integers: from floats towards zero, saturating, NaN to 0; from integers modulo the size of the type.
cast = Operator(_cast, _pairs, {}, modular=True, directml="CAST")


def _sequence(index: Any, start: Any, delta: Any) -> Any:
    """Element ``index`` of a sequence, rounded once; of integers modulo the size of the type."""
    return start + index * delta


def _indexed(tensors: tuple[str, ...]) -> Iterable[Signature]:
    index = next(t for t in NUMBERS if t.name == "uint32")
    return [Signature((index, t, t), (t,)) for t in NUMBERS]


sequence = Operator(_sequence, _indexed, {}, modular=True, directml="FILL_VALUE_SEQUENCE")
