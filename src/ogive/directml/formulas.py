"""What DirectML has beside the catalogue, and no function on arrays needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ogive.dtypes import NUMBERS
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["sequence"]


def _sequence(index: Any, start: Any, delta: Any) -> Any:
    """Element ``index`` of a sequence, rounded once; of integers modulo the size of the type."""
    return start + index * delta


def _indexed(tensors: tuple[str, ...]) -> Iterable[Signature]:
    index = next(t for t in NUMBERS if t.name == "uint32")
    return [Signature((index, t, t), (t,)) for t in NUMBERS]


sequence = Operator(_sequence, _indexed, {}, modular=True, directml="FILL_VALUE_SEQUENCE")
