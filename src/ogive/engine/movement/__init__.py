"""Functions of whole arrays that move elements and change none, for every front end.

views   reshape, transpose, slice and the like: NumPy's views where there are such
copies  joining, repeating, choosing and ordering elements, and running sums

The largest size of an array stands there too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["LARGEST_RANK", "fits_an_array"]

#: NumPy's arrays have no more axes.
LARGEST_RANK = 64


def fits_an_array(shape: Sequence[int]) -> bool:
    """Whether NumPy can have an array of this shape, of elements up to 16 bytes: it counts axes of size 0 as 1.

    >>> fits_an_array([0, 1 << 40]), fits_an_array([0, 1 << 40, 1 << 40])
    (True, False)
    """
    return math.prod(max(size, 1) for size in shape) < 1 << 59
