"""Broadcast shapes and arrays of any number of axes: NumPy's own functions refuse more than 32, of the 64 that arrays may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import numpy as np


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which all of them broadcast: sizes from the last axis on are equal, or 1.

    Raises:
        ValueError: The sizes of an axis differ, and none of two is 1.

    Example:
        >>> broadcast_shapes((3, 1), (4,), ())
        (3, 4)
    """
    return tuple(_common_size(sizes) for sizes in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1))[
        ::-1
    ]


def broadcast_arrays(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Read-only views of the arrays in the shape to which all of them broadcast.

    Raises:
        ValueError: The arrays do not broadcast together.
    """
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return tuple(np.broadcast_to(array, shape) for array in arrays)


def _common_size(sizes: Iterable[int]) -> int:
    others = set(sizes) - {1}
    if len(others) > 1:
        raise ValueError(f"an axis has the sizes {' and '.join(map(str, sorted(others)))}")
    return others.pop() if others else 1
