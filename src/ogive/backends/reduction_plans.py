"""The plan of a reduction, of which every back end writes its text: so the order of a sum is one fact.

Lane i takes elements i, i + lanes, i + 2 lanes, ... in order, or what groups of neighbours of these make. Then the upper half of
the lanes is joined with the lower half until one is left; row_reductions.h joins the segments of a row. The steps are
expressions of the numbers that go in. Only products are joined by functions of the back ends, which know their exponents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

from ogive.graph import operations as ops
from ogive.graph.expression import EXTREMES, Expression, Format, in_format, node
from ogive.lowering.program import Reduction, Summation

#: The operations that join integers; extremes compare them.
WHOLE = {"whole_sum": ops.ADD, "whole_product": ops.MULTIPLY}


#: More elements than a turn of a loop has in a lane.
MANY = 64


def leaves(form: Format, count: int, first: int = 0) -> list[Expression]:
    """Stand for numbers that go into a step."""
    return [node(ops.INPUT, (), first + k, form) for k in range(count)]


@dataclass(frozen=True)
class ReductionPlan:
    """The numbers that each lane of a reduction carries, its parts, and what becomes of them."""

    reduction: Reduction
    after: str
    """The kind of the next reduction, which may be found with this one."""

    @property
    def kind(self) -> str:
        return self.reduction.kind

    @property
    def is_extreme(self) -> bool:
        """Whether it is of numbers among which NaN is looked for: of those that may be one, which positions are not."""
        is_position = any(n.operation == ops.ROW_POSITION for n in self.reduction.value.operands)
        return self.kind in EXTREMES and not is_position

    @property
    def begins_with_one(self) -> bool:
        return self.reduction.summation is Summation.FROM_ONE and not self.reduction.is_count

    @property
    def taken(self) -> Expression:
        """The number that is taken of an element, or the truth value that is counted."""
        value = self.reduction.value
        return value.operands[0] if self.reduction.is_count else value

    @property
    def form(self) -> Format:
        """The format of the parts. A segment has few enough elements to count them in float32."""
        value, summation = self.reduction.value, self.reduction.summation
        is_wide = self.kind == "row_sum" and summation not in (Summation.UNCOMPENSATED, Summation.FROM_ONE)
        is_wide = is_wide and not self.reduction.is_count
        return Format.F64 if is_wide or self.kind == "row_product" else value.format

    @property
    def neutral(self) -> float:
        """The element that changes nothing."""
        if self.reduction.is_count:
            return float(self.reduction.value.operands[2].attribute)
        end = 1 << self.form.bits - 1
        ends = {"row_max": -math.inf, "row_min": math.inf, "whole_max": -end, "whole_min": end - 1}
        return ends.get(self.kind, 1 if self.kind.endswith("product") else 0)

    @property
    def starts(self) -> tuple[float, ...]:
        """The parts before the first element: of a sum also what rounding lost, and the magnitudes of what that lost."""
        if self.kind == "row_product":
            return (1.0, 0.0, 0.0, 0.0) if self.after == "row_rest" else (1.0, 0.0)
        if self.kind != "row_sum" or self.reduction.is_count:
            return (0.0 if self.reduction.is_count else self.neutral,)
        if self.begins_with_one:
            return 1.0, 0.0
        exact = (Summation.IN_FLOAT64, Summation.IN_GROUPS)
        is_compensated = self.reduction.value.format is Format.F64 and self.reduction.summation in exact
        return (0.0,) * (1 + is_compensated * (1 + (self.after == "row_lost")))

    @property
    def group(self) -> int:
        """How many elements of a lane are joined before they are taken in, or fewer if a turn of the loop has no more."""
        value, summation = self.reduction.value, self.reduction.summation
        if self.kind != "row_sum" or self.reduction.is_count:
            return MANY if value.format.is_integer else 1
        if summation is Summation.IN_GROUPS and value.format is Format.F32:
            return 4
        return MANY if summation in (Summation.IN_GROUPS, Summation.UNCOMPENSATED) else 1 + self.in_pairs

    @property
    def in_pairs(self) -> bool:
        """Whether two elements are joined on every target."""
        return self.reduction.summation is Summation.IN_PAIRS and not self.reduction.is_count

    # ---- steps

    def with_element(self, parts: Sequence[Expression], element: Expression) -> list[Expression]:
        """The parts with what is taken of an element, or of a group."""
        total = parts[0]
        if self.reduction.is_count:
            one_more = _made(ops.ADD, total, node(ops.CONSTANT, (), 1.0, total.format))
            choices = (total, one_more) if self.neutral else (one_more, total)
            return [node(ops.SELECT, (element, *choices), None, total.format)]
        if self.begins_with_one:  # no total is less than what is added
            following = _made(ops.ADD, total, element)
            lost = _made(ops.SUBTRACT, element, _made(ops.SUBTRACT, following, total))
            return [following, _made(ops.ADD, parts[1], lost)]
        return self.joined(parts, [in_format(element, self.form)])

    def joined(self, a: Sequence[Expression], b: Sequence[Expression]) -> list[Expression]:
        """The parts of both; where b is a group of elements, it has one."""
        if self.kind in WHOLE:
            return [_made(WHOLE[self.kind], a[0], b[0])]
        if self.kind != "row_sum":
            pair = (a[0], b[0]) if self.kind.endswith("max") else (b[0], a[0])
            return [node(ops.SELECT, (node(ops.LESS, pair, None, Format.BIT), b[0], a[0]), None, a[0].format)]
        if len(a) == 1:
            return [_made(ops.ADD, a[0], b[0])]
        total, lost = _two_sum(a[0], b[0])
        sizes = list(a[2:])
        for more in b[1:2]:
            lost, rest = _two_sum(lost, more)
            sizes.append(_made(ops.ABSOLUTE, rest))
        low, rest = _two_sum(a[1], lost)
        sizes += [_made(ops.ABSOLUTE, rest), *b[2:]]
        return [total, low, *([reduce(partial(_made, ops.ADD), sizes)] if a[2:] else [])]

    def found(self, parts: Sequence[Expression]) -> list[Expression]:
        """The numbers of a row's record, in float64; those of a loss follow the two of its sum. Integers are there as their bits."""
        if self.reduction.value.format.is_integer:
            return [node(ops.BITCAST, (in_format(parts[0], Format.I64),), None, Format.F64)]
        return [in_format(part, Format.F64) for part in parts]


def _made(operation: ops.Operation, *operands: Expression) -> Expression:
    return node(operation, operands, None, operands[0].format)


def _two_sum(a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """The rounded sum, and what rounding lost of it."""
    total = _made(ops.ADD, a, b)
    t = _made(ops.SUBTRACT, total, a)
    lost = _made(ops.ADD, _made(ops.SUBTRACT, a, _made(ops.SUBTRACT, total, t)), _made(ops.SUBTRACT, b, t))
    return total, lost


def plans_of(reductions: Sequence[Reduction]) -> list[tuple[int, ReductionPlan]]:
    """The plans of a stage's reductions, with their places. What goes with another reduction is a part of that one's."""
    following = [*(reduction.kind for reduction in reductions), ""][1:]
    plans = [ReductionPlan(reduction, after) for reduction, after in zip(reductions, following, strict=True)]
    return [(place, plan) for place, plan in enumerate(plans) if not plan.reduction.goes_with_another]
