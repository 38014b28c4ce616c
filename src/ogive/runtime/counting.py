"""How many elements of this process each level of the kernels has decided.

A kernel leaves some results undecided. Its repair computes those again with more bits. The results that the repair leaves are decided by
enclosures, which cost microseconds to milliseconds an element. The kernels count in native code (runtime/native/repair.c).
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ogive import _native
from ogive.common.dtypes import ElementType
from ogive.errors import variable


class Statistics(NamedTuple):
    """The numbers of results that the levels of one operator have decided, for one combination of types. A row of :func:`statistics`."""

    operator: str
    """The name of the operator, or of a fused step of a model."""
    types: str
    """The types of operands and results, as ``float32 -> float32``."""
    elements: int
    """How many elements were computed."""
    retried: int
    """How many of them a first, shorter kernel left to a second one; 0 where there is one kernel. The first few thousand go to
    the repair at once. Of row operators all elements of a row count if one is undecided, here and below."""
    repaired: int
    """How many of them these kernels left undecided."""
    enclosed: int
    """How many of those the repair left undecided, so that enclosures were asked."""
    seconds: float
    """How long enclosures took."""


#: The kernels that somebody holds, with the types of operands and of results.
_noted: WeakKeyDictionary[_native.Kernel, tuple[tuple[ElementType, ...], tuple[ElementType, ...]]] = WeakKeyDictionary()


def note(kernel: _native.Kernel, inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> None:
    """Count a kernel among those of the process."""
    _noted[kernel] = tuple(inputs), tuple(outputs)


def statistics() -> list[Statistics]:
    """How many elements each level has decided since the process began, the operator first that took enclosures longest.

    ``elements - repaired`` elements were decided by kernels, ``repaired - enclosed`` by its repair, and ``enclosed`` by
    enclosures, which took ``seconds`` in all threads together. Enclosures remember results, so that equal elements are computed once.

    The list has a row for every operator and combination of types whose kernels have a repair and have run. Kernels
    without a repair, as those of ``relu``, have one level and no row. Operators that share a kernel, as they have one formula,
    share the row of the first. Operators that nothing refers to any more are left out. A program that wants the numbers of a
    part of it subtracts two calls.

    ``OGIVE_STATISTICS=1`` in the environment prints the table to stderr when the process ends.

    >>> import numpy as np, ogive, ogive.runtime
    >>> y = ogive.gelu(np.linspace(-3, 3, 1000, dtype=np.float32))
    >>> rows = [row for row in ogive.runtime.statistics() if row.types == "float32 -> float32"]
    >>> any(row.elements >= 1000 for row in rows)
    True
    """
    sums: dict[tuple[str, str], list[int]] = {}
    for reference in _noted.keyrefs():
        kernel = reference()
        types = None if kernel is None else _noted.get(kernel)
        if kernel is None or types is None or not kernel.counts[0]:
            continue
        names = " -> ".join(", ".join(kind.name for kind in side) for side in types)
        total = sums.setdefault((kernel.name or "?", names), [0] * len(kernel.counts))
        for i, count in enumerate(kernel.counts):
            total[i] += count
    rows = [
        Statistics._make((name, types, *elements, nanoseconds / 1e9))
        for (name, types), (*elements, nanoseconds) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row.seconds, -row.enclosed, -row.repaired, row.operator, row.types))


def table(rows: Sequence[Statistics]) -> str:
    """The rows as text."""
    lines = [("operator", "types", "elements", "retried", "repaired", "enclosed", "seconds")]
    for row in rows:
        shares = (f"{n} ({n / row.elements:.2%})" for n in (row.retried, row.repaired, row.enclosed))
        lines.append((row.operator, row.types, str(row.elements), *shares, f"{row.seconds:.3f}"))  # type: ignore[arg-type]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(
            text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def _print_at_exit() -> None:
    rows = statistics()
    text = table(rows) if rows else "no kernel with a repair has run"
    print(f"ogive: elements that each level decided\n{text}", file=sys.stderr)


if variable("OGIVE_STATISTICS", ("0", "1")) == "1":
    atexit.register(_print_at_exit)
