"""Data movement that copies: joining, repeating, choosing and ordering elements.

Every function takes its inputs as arrays in the order of the node, and the node's attributes by name. Wrong arguments
raise ShapeError; the caller adds which node it was. Sizes of results are checked before anything is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ogive.common.conversion import converted
from ogive.engine.movement import LARGEST_RANK, fits_an_array
from ogive.engine.movement.views import normal_axes
from ogive.errors import ShapeError, UnsupportedError


def _axis(axis: int, rank: int) -> int:
    return normal_axes((axis,), rank)[0]


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) > LARGEST_RANK:
        raise UnsupportedError(f"the result has {len(shape)} axes; allowed: up to {LARGEST_RANK}")
    if not fits_an_array(shape):
        raise ShapeError(f"the result has the shape {tuple(shape)}; allowed: sizes whose product is below 2**59")
    return tuple(shape)


def _number(name: str, value: Any) -> int:
    """An input or an attribute that is one integer."""
    array = np.asarray(value)
    if array.size != 1:
        raise ShapeError(f"{name} has shape {array.shape}; allowed: one element")
    return int(array.reshape(()))


def _list(name: str, values: Any) -> tuple[int, ...]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ShapeError(f"{name} has shape {array.shape}; allowed: one axis")
    return tuple(int(value) for value in array)


# ---- joining and cutting


def concat(*inputs: np.ndarray, axis: int = 1) -> np.ndarray:
    first = inputs[0]
    if first.ndim == 0:
        raise ShapeError("its inputs have no axes; allowed: inputs of one axis and more")
    along = _axis(axis, first.ndim)
    for other in inputs[1:]:
        same = other.ndim == first.ndim and all(
            a == b for i, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if i != along
        )
        if not same:
            raise ShapeError(
                f"its inputs have the shapes {first.shape} and {other.shape}; allowed: equal sizes but for axis {along}"
            )
    return np.concatenate(inputs, axis=along)


def split_sizes(size: int, count: int, split: Any, *, by_number: bool) -> tuple[int, ...]:
    """How long each of the parts is that an axis is cut into."""
    if split is not None and len(sizes := _list("split", split)):
        if len(sizes) != count or sum(sizes) != size or min(sizes) < 0:
            raise ShapeError(f"split is {sizes}; allowed: {count} sizes from 0 on whose sum is {size}")
        return sizes
    if not by_number and size % count:
        raise ShapeError(f"an axis of size {size} is cut into {count} equal parts; allowed: sizes that {count} divides")
    part = -(-size // count)
    return tuple(max(0, min(part, size - i * part)) for i in range(count))


# ---- choosing


def _indices(indices: np.ndarray, size: int, what: str = "indices") -> np.ndarray:
    """Indices counted from the front; those below 0 count from the end."""
    if indices.size and (indices.min() < -size or indices.max() >= size):
        wrong = indices.min() if indices.min() < -size else indices.max()
        raise ShapeError(f"{what} have {wrong} for an axis of size {size}; allowed: {-size} to {size - 1}")
    return np.where(indices < 0, indices + size, indices).astype(np.intp)


def gather(data: np.ndarray, indices: np.ndarray, *, axis: int = 0) -> np.ndarray:
    along = _axis(axis, data.ndim)
    _checked((*data.shape[:along], *indices.shape, *data.shape[along + 1 :]))
    return np.take(data, _indices(indices, data.shape[along]), axis=along)


def gather_elements(data: np.ndarray, indices: np.ndarray, *, axis: int = 0) -> np.ndarray:
    along = _axis(axis, data.ndim)
    return np.asarray(data[_grid(data, indices, along)])


def _grid(data: np.ndarray, indices: np.ndarray, along: int) -> tuple[np.ndarray, ...]:
    """For each element of ``indices`` the place in ``data`` that it names along an axis."""
    fits = indices.ndim == data.ndim and all(
        have <= most for i, (have, most) in enumerate(zip(indices.shape, data.shape, strict=True)) if i != along
    )
    if not fits:
        raise ShapeError(
            f"indices have the shape {indices.shape} for data of shape {data.shape}; allowed: as many axes, "
            f"and sizes up to those of data but for axis {along}"
        )
    places = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    places[along] = _indices(indices, data.shape[along])
    return tuple(places)


def _tuples(data: np.ndarray, indices: np.ndarray, batch: int) -> tuple[np.ndarray, ...]:
    """For each tuple of indices the place in ``data`` that it names, behind axes that both have."""
    if indices.ndim < 1 or not 0 <= batch < min(data.ndim, indices.ndim) + (data.ndim == 0):
        raise ShapeError(
            f"indices have the shape {indices.shape}, with batch_dims {batch}; allowed: more axes than that"
        )
    count = indices.shape[-1]
    if count > data.ndim - batch or data.shape[:batch] != indices.shape[:batch]:
        raise ShapeError(
            f"indices have the shape {indices.shape} for data of shape {data.shape}; allowed: a last axis of up to "
            f"{data.ndim - batch}, and the same first {batch} axes"
        )
    rank = indices.ndim - 1
    places = [
        np.arange(size).reshape((1,) * axis + (size,) + (1,) * (rank - axis - 1))
        for axis, size in enumerate(indices.shape[:batch])
    ]
    chosen = (_indices(indices[..., i], data.shape[batch + i]) for i in range(count))
    return (*places, *chosen)


def gather_nd(data: np.ndarray, indices: np.ndarray, *, batch_dims: int = 0) -> np.ndarray:
    return np.asarray(data[_tuples(data, indices, batch_dims)])


_COMBINE: dict[str, Callable[..., Any]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def _scattered(data: np.ndarray, place: tuple[np.ndarray, ...], updates: np.ndarray, reduction: str) -> np.ndarray:
    if reduction != "none" and reduction not in _COMBINE:
        raise UnsupportedError(f"reduction is {reduction!r}; allowed: 'none', {', '.join(map(repr, _COMBINE))}")
    result = data.copy()
    if reduction == "none":
        result[place] = updates
    else:
        with np.errstate(all="ignore"):
            _COMBINE[reduction](result, place, updates)
    return result


def scatter_elements(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, axis: int = 0, reduction: str = "none"
) -> np.ndarray:
    if indices.shape != updates.shape:
        raise ShapeError(f"indices have the shape {indices.shape}, updates {updates.shape}; allowed: equal shapes")
    return _scattered(data, _grid(data, indices, _axis(axis, data.ndim)), updates, reduction)


def scatter_nd(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, reduction: str = "none") -> np.ndarray:
    place = _tuples(data, indices, 0)
    wanted = (*indices.shape[:-1], *data.shape[indices.shape[-1] :])
    if updates.shape != wanted:
        raise ShapeError(f"updates have the shape {updates.shape}; allowed: {wanted}")
    return _scattered(data, place, updates, reduction)


def compress(data: np.ndarray, condition: np.ndarray, *, axis: int | None = None) -> np.ndarray:
    along = None if axis is None else _axis(axis, data.ndim)
    size = data.size if along is None else data.shape[along]
    if condition.ndim != 1 or condition.size > size:
        raise ShapeError(f"condition has the shape {condition.shape}; allowed: one axis of up to {size} elements")
    return np.compress(condition, data, axis=along)


def non_zero(data: np.ndarray) -> np.ndarray:
    if data.ndim == 0:
        return np.zeros((1 if data.item() else 0, 1 if data.item() else 0), np.int64)
    return np.array(np.nonzero(data), np.int64)


def trilu(data: np.ndarray, k: Any = 0, *, upper: int = 1) -> np.ndarray:
    if data.ndim < 2:
        raise ShapeError(f"its input has the shape {data.shape}; allowed: two axes and more")
    rows, columns = data.shape[-2:]
    # A diagonal beyond the matrix is as good as the one just outside it.
    diagonal = min(max(_number("k", k), -rows - 1), columns + 1)
    row, column = np.ogrid[:rows, :columns]
    is_kept = column - row >= diagonal if upper else column - row <= diagonal
    return np.where(is_kept, data, np.zeros((), data.dtype))


# ---- making and repeating


def range_(start: np.ndarray, limit: np.ndarray, delta: np.ndarray, *, stash_type: int = 1) -> np.ndarray:
    """``start + i * delta``: of floats in float64, rounded once."""
    first, end, step = (value.reshape(()) for value in (start, limit, delta))
    if not step:
        raise ShapeError("delta is 0; allowed: any other number")
    kind = start.dtype
    if kind.kind in "iu":
        numbers = range(int(first), int(end), int(step))
        _checked((len(numbers),))
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=kind)
    low, high, by = (float(value) for value in (first, end, step))
    quotient = (high - low) / by
    if not math.isfinite(quotient):
        raise ShapeError(f"start, limit and delta are {low}, {high} and {by}; allowed: finite numbers")
    count = max(math.ceil(quotient), 0)
    _checked((count,))
    with np.errstate(all="ignore"):
        return converted(low + np.arange(count, dtype=np.float64) * by, kind)


def tile(data: np.ndarray, repeats: Any, axis: Any = None) -> np.ndarray:
    if axis is not None:  # Tile-1 repeats along one axis
        times = [1] * data.ndim
        times[_axis(_number("axis", axis), data.ndim)] = _number("tiles", repeats)
    else:
        times = list(_list("repeats", repeats))
    if len(times) != data.ndim or min(times, default=0) < 0:
        raise ShapeError(f"repeats are {tuple(times)}; allowed: {data.ndim} numbers from 0 on")
    _checked([size * count for size, count in zip(data.shape, times, strict=True)])
    return np.tile(data, times)


def pad(
    data: np.ndarray,
    pads: Any = None,
    constant_value: Any = None,
    axes: Any = None,
    *,
    mode: str = "constant",
    value: float = 0.0,
    paddings: Any = None,
) -> np.ndarray:
    given = _list("pads", paddings if pads is None else pads)
    along = range(data.ndim) if axes is None else normal_axes(_list("axes", axes), data.ndim)
    if len(given) != 2 * len(along):
        raise ShapeError(f"pads have {len(given)} values; allowed: {2 * len(along)}, two for each axis")
    widths = [(0, 0)] * data.ndim
    for i, axis in enumerate(along):
        widths[axis] = given[i], given[len(along) + i]
    index = []
    for size, (before, after) in zip(data.shape, widths, strict=True):
        if min(before, 0) + min(after, 0) < -size:
            raise ShapeError(
                f"pads {given} take more than data of shape {data.shape} has; allowed: up to all of an axis"
            )
        index.append(slice(max(-before, 0), size + min(after, 0)))
    kept = data[tuple(index)]
    widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    _checked([size + before + after for size, (before, after) in zip(kept.shape, widths, strict=True)])
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise ShapeError(f"mode is {mode!r}; allowed: 'constant', 'edge', 'reflect', 'wrap'")
    if mode == "constant":
        number = np.asarray(value if constant_value is None else constant_value)
        if number.size != 1:
            raise ShapeError(f"constant_value has the shape {number.shape}; allowed: one element")
        shape = [size + before + after for size, (before, after) in zip(kept.shape, widths, strict=True)]
        fill: Any = number.reshape(()).astype(data.dtype) if data.dtype != object else number.reshape(()).item()
        if data.dtype == object and constant_value is None:
            fill = ""
        result = np.full(shape, fill, data.dtype)
        inner = zip(kept.shape, widths, strict=True)
        result[tuple(slice(before, before + size) for size, (before, _) in inner)] = kept
        return result
    for size, (before, after) in zip(kept.shape, widths, strict=True):
        if (before or after) and size < 1 + (mode == "reflect" and max(before, after) > 0):
            raise ShapeError(f"an axis of size {size} is padded by {mode!r}; allowed: sizes from 1 on (reflect: 2)")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            kept = np.take(kept, _beyond(kept.shape[axis], before, after, mode), axis=axis)
    return kept


def center_crop_pad(data: np.ndarray, shape: np.ndarray, *, axes: Sequence[int] | None = None) -> np.ndarray:
    """Cut or pad with zeros at both ends; of an odd number of elements one more is cut or added behind."""
    along = tuple(range(data.ndim)) if axes is None else normal_axes(axes, data.ndim)
    wanted = _list("shape", shape)
    if len(wanted) != len(along) or min(wanted, default=0) < 0:
        raise ShapeError(f"shape is {wanted}; allowed: {len(along)} sizes from 0 on")
    result_shape = list(data.shape)
    source, target = [slice(None)] * data.ndim, [slice(None)] * data.ndim
    for axis, size in zip(along, wanted, strict=True):
        have = data.shape[axis]
        result_shape[axis] = size
        first = abs(have - size) // 2
        if have > size:
            source[axis] = slice(first, first + size)
        else:
            target[axis] = slice(first, first + have)
    result = np.full(_checked(result_shape), "" if data.dtype == object else np.zeros((), data.dtype), data.dtype)
    result[tuple(target)] = data[tuple(source)]
    return result


def _beyond(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """The indices of a padded axis."""
    index = np.arange(-before, size + after)
    if mode == "edge":
        return np.clip(index, 0, size - 1)
    if mode == "wrap":
        return index % size
    folded = index % (2 * size - 2)
    return np.minimum(folded, 2 * size - 2 - folded)


def eye_like(data: np.ndarray, *, kind: np.dtype, k: int = 0) -> np.ndarray:
    if data.ndim != 2:
        raise ShapeError(f"its input has the shape {data.shape}; allowed: two axes")
    row, column = np.ogrid[: data.shape[0], : data.shape[1]]
    return np.asarray((column - row == k).astype(kind))


def one_hot(indices: np.ndarray, depth: np.ndarray, values: np.ndarray, *, axis: int = -1) -> np.ndarray:
    count = _number("depth", depth)
    if count < 0 or values.shape != (2,):
        raise ShapeError(f"depth is {count} and values have the shape {values.shape}; allowed: from 0 on, and (2,)")
    at = _axis(axis, indices.ndim + 1)
    _checked((*indices.shape[:at], count, *indices.shape[at:]))
    shape = (*indices.shape[:at], count, *indices.shape[at:])
    places = np.atleast_1d(np.asarray(indices, np.float64) if indices.dtype.kind == "f" else indices)
    # Indices from -depth to -1 count from the end; others outside have no class.
    has_class = (places >= -count) & (places < count)
    if places.dtype.kind == "f":
        has_class &= places == np.floor(places)
    where = np.nonzero(has_class)
    classes = places[where].astype(np.int64)
    classes[classes < 0] += count
    result = np.full((*places.shape[:at], count, *places.shape[at:]), values[0], values.dtype)
    result[(*where[:at], classes, *where[at:])] = values[1]
    return result.reshape(shape)


def reverse_sequence(
    data: np.ndarray, sequence_lens: np.ndarray, *, batch_axis: int = 1, time_axis: int = 0
) -> np.ndarray:
    if data.ndim < 2 or {batch_axis, time_axis} != {0, 1}:
        raise ShapeError(f"batch_axis and time_axis are {batch_axis} and {time_axis}; allowed: 0 and 1, each once")
    lengths, size = sequence_lens, data.shape[time_axis]
    if lengths.shape != (data.shape[batch_axis],) or (lengths.size and not 0 <= lengths.min() <= lengths.max() <= size):
        raise ShapeError(f"sequence_lens are {lengths.tolist()}; allowed: {data.shape[batch_axis]} sizes up to {size}")
    moved = np.moveaxis(data, (batch_axis, time_axis), (0, 1))
    step = np.arange(size)[None, :]
    ends = lengths.astype(np.intp)[:, None]
    source = np.where(step < ends, ends - 1 - step, step)
    chosen = moved[np.arange(moved.shape[0])[:, None], source]
    return np.asarray(np.moveaxis(chosen, (0, 1), (batch_axis, time_axis)))


def depth_to_space(data: np.ndarray, *, blocksize: int, mode: str = "DCR") -> np.ndarray:
    if data.ndim != 4 or blocksize < 1 or data.shape[1] % (blocksize * blocksize):
        raise ShapeError(
            f"its input has the shape {data.shape}; allowed: four axes, the second divisible by {blocksize}**2"
        )
    n, _, h, w = data.shape
    b, rest = blocksize, data.shape[1] // (blocksize * blocksize)
    if mode not in ("DCR", "CRD"):
        raise ShapeError(f"mode is {mode!r}; allowed: 'DCR', 'CRD'")
    if mode == "DCR":
        turned = data.reshape(n, b, b, rest, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        turned = data.reshape(n, rest, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return turned.reshape(n, rest, h * b, w * b)


def space_to_depth(data: np.ndarray, *, blocksize: int, mode: str = "DCR") -> np.ndarray:
    if data.ndim != 4 or blocksize < 1 or data.shape[2] % blocksize or data.shape[3] % blocksize:
        raise ShapeError(
            f"its input has the shape {data.shape}; allowed: four axes, the last two divisible by {blocksize}"
        )
    n, c, h, w = data.shape
    b = blocksize
    turned = data.reshape(n, c, h // b, b, w // b, b)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return turned.transpose(order).reshape(n, c * b * b, h // b, w // b)


# ---- ordering


def topk(
    data: np.ndarray,
    k: Any = None,
    *,
    axis: int = -1,
    largest: int = 1,
    sorted: int = 1,  # noqa: A002
    wants_indices: bool,
) -> np.ndarray:
    """The largest or smallest elements along an axis, in order; of equal ones the first. NaN is the largest."""
    along = _axis(axis, data.ndim)
    count = _number("K", k)
    if not 0 <= count <= data.shape[along]:
        raise ShapeError(f"K is {count} for an axis of size {data.shape[along]}; allowed: 0 to {data.shape[along]}")
    keys = data if data.dtype.kind in "iuf" else data.astype(np.float64)
    if largest:  # from the back, so that of equal elements the first comes first
        order = np.flip(np.argsort(np.flip(keys, along), axis=along, kind="stable"), along)
        order = keys.shape[along] - 1 - order
    else:
        order = np.argsort(keys, axis=along, kind="stable")
    chosen = np.take(order, np.arange(count), axis=along)
    return chosen.astype(np.int64) if wants_indices else np.take_along_axis(data, chosen, along)
