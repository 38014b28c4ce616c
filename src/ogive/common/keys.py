"""Numbers as keys of tables: 0.0 and -0.0 are equal, and another parameter.

Kernels and caches that tell parameters apart by ``==`` would compute with the sign of the first that came.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

__all__ = ["bits_of", "numbers_of"]


def bits_of(numbers: Sequence[float]) -> bytes:
    """The bits of numbers as float64.

    >>> (0.0,) == (-0.0,), bits_of([0.0]) == bits_of([-0.0])
    (True, False)
    """
    return struct.pack(f"={len(numbers)}d", *numbers)


def numbers_of(bits: bytes) -> tuple[float, ...]:
    """The numbers of such bits.

    >>> numbers_of(bits_of([1, -0.0]))
    (1.0, -0.0)
    """
    return struct.unpack(f"={len(bits) // 8}d", bits)
