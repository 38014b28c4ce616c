"""Numbers as keys of tables: 0.0 and -0.0 are equal, and another parameter.

Kernels and caches that tell parameters apart by ``==`` would compute with the sign of the first that came.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["bits_of", "numbers_of", "remembered"]

P = ParamSpec("P")
R = TypeVar("R")


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
        def by_signs(_: tuple[Any, ...], *arguments: Any) -> R:
            return cast(Callable[..., R], function)(*arguments)

        @wraps(function)
        def call(*arguments: Any) -> R:
            return by_signs(tuple(map(_signs, arguments)), *arguments)

        return cast(Callable[P, R], call)

    return decorate


def _signs(argument: Any) -> Any:
    if isinstance(argument, float):
        return math.copysign(1, argument)
    return tuple(map(_signs, argument)) if type(argument) is tuple else None
