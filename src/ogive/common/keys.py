"""Numbers as keys of tables: 0.0 and -0.0 are equal, and another parameter.

Kernels and caches that tell parameters apart by ``==`` would compute with the sign of the first that came.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def bits_of(numbers: Sequence[float]) -> bytes:
    """The bits of numbers as float64.

    >>> (0.0,) == (-0.0,), bits_of([0.0]) == bits_of([-0.0])
    (True, False)
    """
    return struct.pack(f"={len(numbers)}d", *numbers)


def signs_of(value: Any) -> Any:
    """The sign of a number, by which it differs from an equal one; those of a tuple; None of all else.

    >>> signs_of(-0.0), signs_of(("epsilon", 0.0))
    (-1.0, (None, 1.0))
    """
    if isinstance(value, float):
        return math.copysign(1, value)
    return tuple(map(signs_of, value)) if type(value) is tuple else None


def remembered(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The decorator ``functools.lru_cache`` for functions of numbers, alone or in tuples: it tells both zeros apart.

    >>> @remembered(maxsize=8)
    ... def shown(x):
    ...     return str(x)
    >>> shown(0.0), shown(-0.0)
    ('0.0', '-0.0')
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @lru_cache(maxsize=maxsize)
        def by_signs(_: Any, *arguments: Any) -> R:
            return cast(Callable[..., R], function)(*arguments)

        @wraps(function)
        def call(*arguments: Any) -> R:
            return by_signs(signs_of(arguments), *arguments)

        return cast(Callable[P, R], call)

    return decorate
