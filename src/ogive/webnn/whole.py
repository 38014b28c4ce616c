"""Functions of whole arrays: views and copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.movement import copies
from ogive.webnn.shapes import Shape

__all__ = [
    "cut",
    "expanded",
    "flipped",
    "padded",
    "repeated",
    "reshaped",
    "tiled",
    "triangular",
    "turned",
]


def reshaped(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return x.reshape(shape)


def turned(x: np.ndarray, *, order: tuple[int, ...]) -> np.ndarray:
    return x.transpose(order)


def expanded(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return np.broadcast_to(x, shape)


def flipped(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.flip(x, axes) if axes else x


def cut(x: np.ndarray, *, parts: tuple[slice, ...]) -> np.ndarray:
    index: Any = (*parts, ...)  # with the dots a scalar stays an array
    return np.asarray(x[index])


def padded(x: np.ndarray, *, pads: tuple[int, ...], mode: str, value: float) -> np.ndarray:
    if mode == "reflect":
        pads_of = [(pads[i], pads[x.ndim + i]) for i in range(x.ndim)]
        return np.pad(x, pads_of, mode="reflect")
    return copies.pad(x, np.array(pads, np.int64), np.array(value, x.dtype), mode=mode)


def tiled(x: np.ndarray, *, repetitions: tuple[int, ...]) -> np.ndarray:
    return copies.tile(x, np.array(repetitions, np.int64))


def triangular(x: np.ndarray, *, diagonal: int, upper: bool) -> np.ndarray:
    return copies.trilu(x, diagonal, upper=int(upper))


def repeated(x: np.ndarray, *, times: tuple[int, ...]) -> np.ndarray:
    """Every element so many times along each axis."""
    for axis, count in enumerate(times):
        if count > 1:
            x = np.repeat(x, count, axis)
    return x
