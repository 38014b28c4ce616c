"""How an operator's operands come to one shape, by the rule of its version.

A rule takes the operands' shapes and returns the shapes that broadcast together as NumPy's do: the same, or
with axes of size 1 added. It raises ShapeError where the version does not allow the shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from ogive.common.array_shapes import broadcast_shapes
from ogive.errors import ShapeError, message
from ogive.onnx.node import OnnxNode

Shape = tuple[int, ...]

#: The label of a node and its operands' shapes -> shapes that broadcast.
Rule = Callable[[str, Sequence[Shape]], Sequence[Shape]]


def multidirectional(label: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """As NumPy broadcasts."""
    broadcast_shape(label, shapes)
    return shapes


def identical(label: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """No broadcasting."""
    if any(shape != shapes[0] for shape in shapes):
        raise ShapeError(message(label, f"its inputs have the shapes {_listed(shapes)}", "equal shapes"))
    return shapes


def unidirectional(label: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """The result has the first operand's shape."""
    if broadcast_shape(label, shapes) != shapes[0]:
        what = f"its inputs have the shapes {_listed(shapes)}"
        raise ShapeError(message(label, what, "shapes that broadcast to the first one"))
    return shapes


def per_channel(label: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """One element of the second operand for all, or one for each index of the first operand's second axis."""
    data, slope = shapes
    if math.prod(slope) == 1:
        return data, ()
    if len(slope) != 1 or len(data) < 2 or slope[0] != data[1]:
        what = f"its inputs have the shapes {_listed(shapes)}"
        raise ShapeError(message(label, what, "a slope of one element, or of as many as the second axis of X"))
    return data, (slope[0], *(1,) * (len(data) - 2))


def scalar_bounds(label: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """All operands but the first have one element."""
    if any(math.prod(shape) != 1 for shape in shapes[1:]):
        raise ShapeError(message(label, f"its bounds have the shapes {_listed(shapes[1:])}", "scalars"))
    return shapes[0], *((),) * (len(shapes) - 1)


def limited(label: str, shapes: Sequence[Shape], *, broadcast: bool, axis: int | None) -> Sequence[Shape]:
    """As before opset 7: the second operand is part of the first one's shape, ending at its end or from an axis on.

    The standard's text excludes axes of size 1 in it; its tests have them, and they broadcast here.
    """
    first, second = shapes
    if not broadcast:
        return identical(label, shapes)
    if len(second) > len(first):
        raise ShapeError(message(label, f"its inputs have the shapes {_listed(shapes)}", "at most as many axes for B"))
    if math.prod(second) == 1:
        return first, ()
    start = len(first) - len(second) if axis is None else axis + len(first) if axis < 0 else axis
    part = first[start : start + len(second)] if start >= 0 else ()
    if len(part) != len(second) or any(have not in (1, want) for have, want in zip(second, part, strict=True)):
        where = "at its end" if axis is None else f"from axis {axis} on"
        what = f"its inputs have the shapes {_listed(shapes)}"
        raise ShapeError(message(label, what, f"a second one that is part of the first, {where}"))
    return first, (*second, *(1,) * (len(first) - start - len(second)))


#: The rules of operators, from which version on. An operator that is not listed broadcasts as NumPy does.
_RULES: dict[str, tuple[tuple[int, Rule], ...]] = {
    "PRelu": ((1, per_channel), (7, unidirectional)),
    "GeGLU": ((1, identical),),
    "SwiGLU": ((1, identical),),
    "Clip": ((1, scalar_bounds),),
    **dict.fromkeys(("Max", "Min", "Sum", "Mean"), ((1, identical), (8, multidirectional))),
}


def rule_of(node: OnnxNode) -> Rule:
    """The rule of a node's version."""
    if "broadcast" in node.attributes:
        return partial(limited, broadcast=bool(node.attributes["broadcast"]), axis=node.attributes.get("axis"))
    listed = [rule for version, rule in _RULES.get(node.operator, ()) if version <= node.version]
    return listed[-1] if listed else multidirectional


def broadcast_shape(label: str, shapes: Sequence[Shape]) -> Shape:
    """The shape to which all of these broadcast."""
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        what = f"its inputs have the shapes {_listed(shapes)}"
        raise ShapeError(message(label, what, "equal sizes, or 1, from the last axis on")) from None


def _listed(shapes: Sequence[Shape]) -> str:
    return " and ".join(map(str, shapes))
