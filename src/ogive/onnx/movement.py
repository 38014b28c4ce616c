"""ONNX's names of what moves elements and changes none (ogive/movement)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ogive.engine.movement import copies, views

__all__ = ["COPIES", "KEEP_ORDER", "MOVED", "MOVEMENTS", "SHAPE_ONLY", "SHAPING"]

#: Operators that see the elements in another way: the rest of the inputs by the names that the schemas give them.
MOVEMENTS: dict[str, Callable[..., np.ndarray]] = {
    "ConstantOfShape": views.constant_of_shape,
    "Expand": views.expand,
    "Flatten": views.flatten,
    "Reshape": views.reshape,
    "Shape": views.shape_of,
    "Size": views.size_of,
    "Slice": views.slice_,
    "Squeeze": views.squeeze,
    "Transpose": views.transpose,
    "Unsqueeze": views.unsqueeze,
}

#: Operators whose result has the elements of the data in their order.
KEEP_ORDER = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})

#: Operators that look at nothing but the shape of their first input.
SHAPE_ONLY = frozenset({"Shape", "Size"})

#: Operators that copy elements: the inputs by place, attributes by name.
COPIES: dict[str, Callable[..., np.ndarray]] = {
    "Compress": copies.compress,
    "Concat": copies.concat,
    "DepthToSpace": copies.depth_to_space,
    "Gather": copies.gather,
    "GatherElements": copies.gather_elements,
    "GatherND": copies.gather_nd,
    "NonZero": copies.non_zero,
    "OneHot": copies.one_hot,
    "Pad": copies.pad,
    "Range": copies.range_,
    "ReverseSequence": copies.reverse_sequence,
    "Scatter": copies.scatter_elements,
    "ScatterElements": copies.scatter_elements,
    "ScatterND": copies.scatter_nd,
    "SpaceToDepth": copies.space_to_depth,
    "Tile": copies.tile,
    "Trilu": copies.trilu,
}

#: The inputs, by place, whose elements are all that the result has, but for zeros; None for all inputs.
MOVED: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(MOVEMENTS.keys() - SHAPE_ONLY - {"ConstantOfShape"}, (0,)),
    **dict.fromkeys(("Compress", "DepthToSpace", "Gather", "GatherElements", "GatherND", "ReverseSequence"), (0,)),
    **dict.fromkeys(("SpaceToDepth", "Tile", "Trilu"), (0,)),
    "Concat": None,
    "OneHot": (2,),
    "Pad": (0, 2),
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), (0, 2)),
}

#: The inputs, by place, whose values the shape of the result follows from.
SHAPING: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("ConstantOfShape", "NonZero"), (0,)),
    **dict.fromkeys(("Compress", "Expand", "OneHot", "Reshape", "Squeeze", "Unsqueeze"), (1,)),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Slice": (1, 2, 3, 4),
    "Tile": (1, 2),
}
