"""What computes each primitive on a target: the common rows, and over them the tables that the target names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ogive.backends.instructions import ROWS
from ogive.backends.software import FUSED, HALF, ROUNDING
from ogive.backends.target import Target
from ogive.backends.writer import Row
from ogive.backends.x86 import AVX512

__all__ = ["TABLES", "rows_of"]

#: By the names that targets use (`Target.tables`).
TABLES: dict[str, dict[str, Row]] = {
    "avx512": AVX512,
    "fma in software": FUSED,
    "half in software": HALF,
    "rounding in software": ROUNDING,
}


def rows_of(target: Target) -> Mapping[str, Row]:
    """The row of each primitive."""
    return _rows(target.tables)


@cache
def _rows(tables: tuple[str, ...]) -> Mapping[str, Row]:
    rows = dict(ROWS)
    for name in tables:
        rows |= TABLES[name]
    return rows
