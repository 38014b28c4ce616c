"""What a well-formed graph is, as tables: one of conditions that hold for every node, one per kind of node.

Tests run it after every pass, so that a pass which breaks a graph is named at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from ogive.errors import OgiveError
from ogive.expression import ELEMENTARY, ELEMENTARY_OF_TWO, OPERATIONS, Expression, Format, walk

__all__ = ["MalformedGraph", "verify"]


class MalformedGraph(OgiveError, AssertionError):
    """A pass has produced a node that its stage does not allow."""


Rule = Callable[[Expression], bool]


def _formats(n: Expression) -> tuple[Format, ...]:
    return tuple(operand.format for operand in n.operands)


def _alike(n: Expression) -> bool:
    return all(form is n.format for form in _formats(n))


def _is_number(n: Expression) -> bool:
    return n.format is Format.NUMBER and _alike(n)


def _is_truth(n: Expression) -> bool:
    return n.format is Format.TRUTH and _alike(n)


def _compares(n: Expression) -> bool:
    return len(set(_formats(n))) == 1


def _selects(n: Expression) -> bool:
    return n.operands[1].format is n.format and n.operands[2].format is n.format


def _is_real(n: Expression) -> bool:
    """Machine formats in which arithmetic happens: float16 and bfloat16 are only stored."""
    return n.format in (Format.F32, Format.F64) and _alike(n)


def _is_whole(n: Expression) -> bool:
    return n.format.is_integer and _alike(n)


def _converts(n: Expression) -> bool:
    source, result = _formats(n)[0], n.format
    stored = (Format.F16, Format.BF16)
    if source in stored or result in stored:
        return {source, result} - set(stored) == {Format.F32}
    return source is not result and result is not Format.BIT


FORMULA: dict[str, Rule] = {
    "input": lambda n: isinstance(n.attribute, int) and n.attribute >= 0,
    "parameter": lambda n: n.format is Format.NUMBER and isinstance(n.attribute, tuple) and len(n.attribute) == 2,
    "constant": lambda n: (
        n.attribute in (0, 1)
        if n.format is Format.TRUTH
        else isinstance(n.attribute, Fraction)
        or (isinstance(n.attribute, float) and (n.attribute == 0 or not math.isfinite(n.attribute)))
    ),
    "select": lambda n: n.operands[0].format is Format.TRUTH and _selects(n),
    **dict.fromkeys(("less", "less_equal", "equal"), lambda n: set(_formats(n)) == {Format.NUMBER}),
    **dict.fromkeys(("and", "or", "exclusive_or", "not"), lambda n: _is_truth(n) or _is_number(n)),
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "negate", "absolute", "copy_sign"), _is_number),
    **dict.fromkeys(("square_root", "floor", "ceiling", "truncate", "round_even"), _is_number),
    **dict.fromkeys(("bit_shift_left", "bit_shift_right", "bit_count"), _is_number),
    "row_first": _is_truth,
    **dict.fromkeys(("row_max", "row_min", "row_sum", "row_count"), _is_number),
    "row_index": lambda n: n.format is Format.NUMBER and _formats(n) == (Format.TRUTH,),
    **dict.fromkeys(("quotient", "remainder", "integer_power"), _is_number),
    **dict.fromkeys((*ELEMENTARY, *ELEMENTARY_OF_TWO), _is_number),
}

PRIMITIVE: dict[str, Rule] = {
    "input": lambda n: isinstance(n.attribute, int) and n.attribute >= 0,
    "parameter": lambda n: n.format is Format.F64,
    "constant": lambda n: isinstance(n.attribute, float if n.format.is_float else int),
    "row_value": lambda n: n.format is Format.F64 and isinstance(n.attribute, tuple),
    **dict.fromkeys(("row_position", "row_length"), lambda n: n.format is Format.F64),
    "row_input": lambda n: isinstance(n.attribute, int) and n.attribute >= 0,
    **dict.fromkeys(("select", "select_rare"), lambda n: n.operands[0].format is Format.BIT and _selects(n)),
    **dict.fromkeys(("less", "less_equal", "equal"), lambda n: n.format is Format.BIT and _compares(n)),
    **dict.fromkeys(("and", "or", "exclusive_or", "not"), lambda n: _alike(n) and not n.format.is_float),
    **dict.fromkeys(("add", "subtract", "multiply", "negate", "absolute"), lambda n: _is_real(n) or _is_whole(n)),
    **dict.fromkeys(("divide", "square_root", "copy_sign", "fma", "scale_by_power_of_two"), _is_real),
    **dict.fromkeys(("floor", "ceiling", "truncate", "round_even"), _is_real),
    "multiply_to_odd": lambda n: _is_real(n) and n.format is Format.F32,
    **dict.fromkeys(
        ("shift_left", "shift_right"),
        lambda n: _is_whole(n) and isinstance(n.attribute, int) and 0 <= n.attribute < n.format.bits,
    ),
    **dict.fromkeys(("quotient", "remainder", "bit_shift_left", "bit_shift_right", "bit_count"), _is_whole),
    "convert": _converts,
    "bitcast": lambda n: n.format.bits == _formats(n)[0].bits and n.format is not Format.BIT,
}


def verify(*roots: Expression, stage: Literal["formula", "primitive"]) -> None:
    """Raise MalformedGraph at the first node that the stage does not allow."""
    rules = FORMULA if stage == "formula" else PRIMITIVE
    for current in walk(*roots):
        row = OPERATIONS.get(current.operation)
        if row is None or current.operation not in rules or row.stages not in (stage, "both"):
            raise MalformedGraph(f"{stage} graph: there is no operation {current.operation!r} at this stage")
        if len(current.operands) != row.arity:
            raise MalformedGraph(f"{stage} graph: {current.operation} has {len(current.operands)} operands")
        if current.format.is_machine != (stage == "primitive"):
            raise MalformedGraph(f"{stage} graph: {current.operation} has format {current.format.value}")
        if not rules[current.operation](current):
            raise MalformedGraph(
                f"{stage} graph: {current.operation} of {[form.value for form in _formats(current)]} "
                f"gives {current.format.value} with attribute {current.attribute!r}"
            )
