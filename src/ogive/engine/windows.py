"""Windows, grids and rotations: formulas of places and tensors, each result rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ogive import formula as f
from ogive import operations as ops
from ogive.dtypes import ElementType, element_type, element_type_of
from ogive.engine.computation import Formula, make_ufunc
from ogive.expression import Format, lift, node

__all__ = ["WINDOWS", "affine_grid", "rotated", "window"]

#: By name, what a window is of ``v = 1 - cos(2 * pi * n / N)``. The coefficients are those of Harris' paper, as numbers.
WINDOWS: dict[str, Callable[[Any], Any]] = {
    "BlackmanWindow": lambda v: v * (18 + 16 * v) / 100,  # 0.42 - 0.5 cos(t) + 0.08 cos(2 t)
    "HammingWindow": lambda v: (4 + 21 * v) / 46,  # 25/46 - 21/46 cos(t)
    "HannWindow": lambda v: v / 2,  # 0.5 - 0.5 cos(t)
}

PLACE = element_type("int32")


def window(name: str, size: int, kind: ElementType, *, periodic: bool) -> np.ndarray:
    """So many points of a window; of integers without their fraction."""
    period = size if periodic else size - 1
    if size < 1 or not period:  # a symmetric window of one point, as NumPy has it
        return np.ones(max(size, 0), kind.numpy)
    # A window is the same from both ends; so its ends are exactly alike, and its middle is exactly 1.
    n = np.arange(size, dtype=np.int32)
    n = np.minimum(n, period - n)
    return np.asarray(_window(name, kind)(n, np.int32(period), out=np.empty(size, kind.numpy)))


@cache
def _window(name: str, kind: ElementType) -> np.ufunc:
    n, period = _inputs(2)
    wave = f.sin(f.pi * n / period)
    v = f.where(4 * n <= period, 2 * wave * wave, 1 + f.cos(f.pi * (period - 2 * n) / period))
    return make_ufunc(name, Formula((lift(WINDOWS[name](v)),), (PLACE, PLACE), (kind,)))


def affine_grid(theta: np.ndarray, sizes: Sequence[int], *, align_corners: bool) -> np.ndarray:
    """For each place of a grid of these sizes (..., H, W) its position under each of the matrices (N, axes, axes + 1)."""
    axes = len(sizes)
    kind = element_type_of(theta.dtype)
    assert kind is not None
    operands: list[np.ndarray] = []
    for axis in reversed(range(axes)):  # x is the last axis
        size = sizes[axis]
        # From -1 to 1 between the centres of the corners, or between their outer edges; one element lies in the middle.
        last = max(size - 1, 1) if align_corners else size
        places = 2 * np.arange(size, dtype=np.int32) - np.int32(size - 1)
        operands += [places.reshape(-1, *(1,) * (axes - axis - 1)), np.asarray(last, np.int32)]
    result = np.empty((len(theta), *sizes, axes), theta.dtype)
    for row in range(axes):
        numbers = [theta[:, row, column].reshape(-1, *(1,) * axes) for column in range(axes + 1)]
        _position(axes, kind)(*numbers, *operands, out=result[..., row])
    return result


@cache
def _position(axes: int, kind: ElementType) -> np.ufunc:
    *factors, shift = _inputs(axes + 1)
    places = _inputs(2 * axes, first=axes + 1)
    total: Any = shift
    for factor, place, last in zip(factors, places[::2], places[1::2], strict=True):
        total = total + factor * place / last
    types = (*(kind,) * (axes + 1), *(PLACE,) * (2 * axes))
    return make_ufunc("affine_grid", Formula((lift(total),), types, (kind,)))


def rotated(x: np.ndarray, y: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``(x * cos - y * sin, x * sin + y * cos)``."""
    kind = element_type_of(x.dtype)
    assert kind is not None
    real, imaginary = _rotation(kind)
    return np.asarray(real(x, y, cos, sin)), np.asarray(imaginary(x, y, cos, sin))


@cache
def _rotation(kind: ElementType) -> tuple[np.ufunc, np.ufunc]:
    x, y, cos, sin = _inputs(4)
    real, imaginary = (
        make_ufunc("rotation", Formula((lift(root),), (kind,) * 4, (kind,)))
        for root in (x * cos - y * sin, x * sin + y * cos)
    )
    return real, imaginary


def _inputs(count: int, first: int = 0) -> list[Any]:
    return [lift(node(ops.INPUT, (), first + i, Format.NUMBER)) for i in range(count)]
