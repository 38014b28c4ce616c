"""Shapes, axes and lists of numbers as WebNN checks them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ogive.common.array_shapes import broadcast_shapes
from ogive.engine.movement import LARGEST_RANK
from ogive.errors import described
from ogive.webnn.exceptions import refuse

Shape = tuple[int, ...]

#: The largest size of an axis, and the largest number of elements.
LARGEST = 2**31 - 1
LARGEST_UNSIGNED = 2**32 - 1


def integer(subject: str, what: str, value: Any, low: int = 0, high: int = LARGEST_UNSIGNED) -> int:
    """A whole number of a range ([EnforceRange])."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not low <= value <= high:
        refuse(subject, f"{what} is {described(value)}", f"whole numbers from {low} to {high}")
    return int(value)


def integers(subject: str, what: str, values: Any, low: int = 0, high: int = LARGEST_UNSIGNED) -> tuple[int, ...]:
    """A list of whole numbers of a range."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        refuse(subject, f"{what} is {described(values)}", "a list of whole numbers")
    return tuple(integer(subject, f"{what}[{i}]", value, low, high) for i, value in enumerate(values))


def checked_shape(subject: str, shape: Any, what: str = "shape") -> Shape:
    """A shape with valid dimensions."""
    sizes = integers(subject, what, shape, 1, LARGEST)
    if len(sizes) > LARGEST_RANK:
        refuse(subject, f"{what} has {len(sizes)} axes", f"up to {LARGEST_RANK}")
    if math.prod(sizes) > LARGEST:
        refuse(subject, f"{what} is {list(sizes)}", f"shapes of up to {LARGEST} elements")
    return sizes


def axis(subject: str, value: Any, rank: int, what: str = "axis") -> int:
    """One axis, counted from the front."""
    number = integer(subject, what, value)
    if number >= rank:
        refuse(subject, f"{what} is {number}", f"0 to {rank - 1}, as the input has {rank} axes")
    return number


def axes(subject: str, values: Any, rank: int, what: str = "axes") -> tuple[int, ...]:
    """Axes, each once."""
    found = tuple(axis(subject, number, rank, what) for number in integers(subject, what, values))
    if len(set(found)) != len(found):
        refuse(subject, f"{what} is {list(found)}", "every axis once")
    return found


def broadcast(subject: str, shapes: Iterable[Shape]) -> Shape:
    """The shape to which all of them broadcast in both directions."""
    given = list(shapes)
    try:
        found = broadcast_shapes(*given)
    except ValueError:
        shown = " and ".join(str(list(shape)) for shape in given)
        refuse(subject, f"its operands have the shapes {shown}", "equal sizes, or 1, from the last axis on")
    return checked_shape(subject, found, "the shape of the result")


def reduced(shape: Shape, over: Sequence[int], keep: bool) -> Shape:
    """The shape after a reduction."""
    if keep:
        return tuple(1 if i in over else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in over)
