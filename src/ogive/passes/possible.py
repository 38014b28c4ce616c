"""Which formulas have no meaning for which element types, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import Expression, Format, walk
from ogive.passes.integers import is_whole, only_chooses

__all__ = ["why_not"]

#: What makes bits of integers and truth values of truth values.
_LOGIC = frozenset({ops.AND, ops.OR, ops.EXCLUSIVE_OR, ops.NOT})


def why_not(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], *, modular: bool
) -> str | None:
    """Why a formula cannot be computed for operands of these types; None if it can."""
    types = (*inputs, *outputs)
    names = ", ".join(dict.fromkeys(t.name for t in types))
    is_of_integers = not any(t.is_float for t in types)
    if is_of_integers and modular:
        for current in walk(*roots):
            if not current.operation.wraps_around:
                return (
                    f"the formula uses {current.operation}, which has no meaning in arithmetic that wraps around "
                    f"(modular=True), and {names} is among the types. Leave modular=True out"
                )
            if (
                current.operation == ops.CONSTANT
                and current.format is Format.NUMBER
                and not is_whole(current.attribute)
            ):
                return (
                    f"the formula uses {float(current.attribute)}, which is no whole number, in arithmetic that wraps "
                    f"around (modular=True), and {names} is among the types. Leave modular=True out"
                )
        return None
    if is_of_integers and only_chooses(roots, types):
        return None
    for current in walk(*roots):
        is_of_bits = current.operation in _LOGIC and current.format is Format.NUMBER
        if current.operation.is_of_integers or is_of_bits:
            what = f"bit_{current.operation}".replace("exclusive_or", "xor") if is_of_bits else current.operation
            return (
                f"the formula uses {what}, which works on integers in arithmetic that wraps around, and {names} is "
                'among the types. Write @ogive.operator(types=["int32", ...], modular=True)'
            )
        if current.operation == ops.REMAINDER and any(t.is_integer and t.bits == 64 for t in inputs):
            return (
                f"the formula takes a remainder (%, //, divmod or remainder) in float64, which holds no whole numbers "
                f"beyond 2**53, and {names} is among the types. Leave 64-bit integers out of types="
            )
    return None
