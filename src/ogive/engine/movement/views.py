"""Data movement: operators that change no element, with NumPy's views where there are such.

Every function takes the first input as an array and the rest by the names that the schemas give them,
whether a version has them as inputs or as attributes. Wrong arguments raise ShapeError; the caller adds which
node it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ogive.engine.movement import LARGEST_RANK, fits_an_array
from ogive.errors import ShapeError, UnsupportedError


def reshape(data: np.ndarray, *, shape: Any = (), allowzero: int = 0) -> np.ndarray:
    wanted = _integers("shape", shape)
    if allowzero and 0 in wanted and -1 in wanted:
        raise ShapeError(f"shape is {wanted} with allowzero; allowed: 0 or -1, not both")
    sizes = list(wanted)
    for axis, size in enumerate(sizes):
        if size == 0 and not allowzero:
            if axis >= data.ndim:
                raise ShapeError(
                    f"shape is {wanted}, whose size {axis} would be copied from data of shape {data.shape}"
                )
            sizes[axis] = data.shape[axis]
        elif size < -1:
            raise ShapeError(f"shape is {wanted}; allowed: sizes from 0 on, and one -1")
    if sizes.count(-1) > 1:
        raise ShapeError(f"shape is {wanted}; allowed: one -1")
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        if rest == 0 or data.size % rest:
            raise ShapeError(
                f"shape is {wanted}; allowed: shapes of {data.size} elements, as data of shape {data.shape} has"
            )
        sizes[sizes.index(-1)] = data.size // rest
    if math.prod(sizes) != data.size:
        raise ShapeError(
            f"shape is {wanted}; allowed: shapes of {data.size} elements, as data of shape {data.shape} has"
        )
    return data.reshape(_checked_rank(sizes))


def flatten(data: np.ndarray, *, axis: int = 1) -> np.ndarray:
    if not -data.ndim <= axis <= data.ndim:
        raise ShapeError(f"axis is {axis}; allowed: {-data.ndim} to {data.ndim} for data of shape {data.shape}")
    split = axis + data.ndim if axis < 0 else axis
    return data.reshape(math.prod(data.shape[:split]), math.prod(data.shape[split:]))


def transpose(data: np.ndarray, *, perm: Sequence[int] | None = None) -> np.ndarray:
    if perm is not None and sorted(perm) != list(range(data.ndim)):
        raise ShapeError(f"perm is {list(perm)}; allowed: the axes of data of shape {data.shape}, each once")
    return data.transpose(perm)


def squeeze(data: np.ndarray, *, axes: Any = None) -> np.ndarray:
    if axes is None:
        chosen = {axis for axis, size in enumerate(data.shape) if size == 1}
    else:
        chosen = set(normal_axes(_integers("axes", axes), data.ndim))
        for axis in chosen:
            if data.shape[axis] != 1:
                raise ShapeError(f"axes name axis {axis} of data of shape {data.shape}; allowed: axes of size 1")
    return data.reshape([size for axis, size in enumerate(data.shape) if axis not in chosen])


def unsqueeze(data: np.ndarray, *, axes: Any) -> np.ndarray:
    added = _integers("axes", axes)
    rank = data.ndim + len(added)
    chosen = normal_axes(added, rank)
    sizes = iter(data.shape)
    return data.reshape(_checked_rank([1 if axis in chosen else next(sizes) for axis in range(rank)]))


def expand(data: np.ndarray, *, shape: Any) -> np.ndarray:
    wanted = _integers("shape", shape)
    if any(size < 0 for size in wanted):
        raise ShapeError(f"shape is {wanted}; allowed: sizes from 0 on")
    rank = max(data.ndim, len(wanted))
    pairs = zip((1,) * (rank - data.ndim) + data.shape, (1,) * (rank - len(wanted)) + wanted, strict=True)
    sizes = []
    for have, want in pairs:
        if have != want and 1 not in (have, want):
            raise ShapeError(f"shape is {wanted}, with which data of shape {data.shape} does not broadcast")
        sizes.append(want if have == 1 else have)
    return np.broadcast_to(data, _checked_rank(sizes))


def slice_(data: np.ndarray, *, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> np.ndarray:
    first, last = _integers("starts", starts), _integers("ends", ends)
    along = tuple(range(len(first))) if axes is None else _integers("axes", axes)
    by = (1,) * len(first) if steps is None else _integers("steps", steps)
    if not len(first) == len(last) == len(along) == len(by):
        raise ShapeError(
            f"starts, ends, axes and steps have {len(first)}, {len(last)}, {len(along)} and {len(by)} values; "
            "allowed: equal numbers"
        )
    if 0 in by:
        raise ShapeError("steps have a 0; allowed: any other number")
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(normal_axes(along, data.ndim), first, last, by, strict=True):
        index[axis] = slice(*_bounds(start, end, step, data.shape[axis]))
    return data[tuple(index)]


def _bounds(start: int, end: int, step: int, size: int) -> tuple[int, int | None, int]:
    """The bounds of a slice as the standard clamps them."""
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        return min(max(start, 0), size), min(max(end, 0), size), step
    end = min(max(end, -1), size - 1)
    return min(max(start, 0), max(size - 1, 0)), None if end < 0 else end, step


def shape_of(data: np.ndarray, *, start: int = 0, end: int | None = None) -> np.ndarray:
    first, last = (bound + data.ndim if bound < 0 else bound for bound in (start, data.ndim if end is None else end))
    return np.array(data.shape[max(first, 0) : max(last, 0)], np.int64)


def size_of(data: np.ndarray) -> np.ndarray:
    return np.array(data.size, np.int64)


def constant_of_shape(input: np.ndarray, *, value: np.ndarray | None = None) -> np.ndarray:  # noqa: A002  # ONNX's name
    sizes = _integers("input", input)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"input is {sizes}; allowed: sizes from 0 on")
    element = np.zeros((), np.float32) if value is None else value.reshape(())
    return np.broadcast_to(element, _checked_rank(sizes))


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, each once."""
    for axis in axes:
        if not -rank <= axis < rank:
            raise ShapeError(f"axes are {tuple(axes)}; allowed: {-rank} to {rank - 1}")
    normal = tuple(axis % rank for axis in axes)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"axes are {tuple(axes)}; allowed: each axis once")
    return normal


def _integers(name: str, values: Any) -> tuple[int, ...]:
    """An attribute or an input that is a list of integers."""
    if isinstance(values, np.ndarray):
        if values.ndim == 0 and name == "axes":  # one axis, as ONNX Runtime takes it
            return (int(values),)
        if values.ndim != 1:
            raise ShapeError(f"{name} has shape {values.shape}; allowed: one axis")
        return tuple(values.tolist())
    return tuple(values)


def _checked_rank(sizes: Sequence[int]) -> Sequence[int]:
    if len(sizes) > LARGEST_RANK:
        raise UnsupportedError(f"the result has {len(sizes)} axes; allowed: up to {LARGEST_RANK}")
    if not fits_an_array(sizes):
        raise ShapeError(f"the result has the shape {tuple(sizes)}; allowed: sizes whose product is below 2**59")
    return sizes
