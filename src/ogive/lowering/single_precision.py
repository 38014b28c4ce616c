"""Element-wise formulas in float32 alone, for processors that have neither float64 nor fused multiply-add.

The rules are those of the fast contract (lowering/numerics/elementary), without its exact half: each holds here for all numbers.
An argument is clamped to where a function's result is 0, 1 or infinite, and a power of two is multiplied in two steps where a
result is subnormal. Products whose error would be magnified are computed in halves (`Unfused`). So the bits are the same on every
machine with or without fused multiply-add, and other ones than those of the fast contract.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ogive.common.dtypes import ElementType
from ogive.errors import UnsupportedError, message
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format
from ogive.lowering.fast_contract import TYPES, UncorrectedReals, Unknown
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.argument import Argument
from ogive.lowering.numerics.elementary.function_row import InSingle
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.uncorrected import Unfused
from ogive.lowering.program import Program

MACHINE = Unfused()

#: The functions that have rules.
KNOWN = (
    "exp",
    "expm1",
    "tanh",
    "logistic (sigmoid, silu)",
    "normal_tail (gelu)",
    "log1p of exp (softplus, mish)",
    "sqrt",
)


def in_single_precision(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], parameter_count: int
) -> Program:
    """The program of element-wise formulas; UnsupportedError where there is none."""
    others = [t.name for t in (*inputs, *outputs) if t.name not in TYPES]
    if others:
        what = f"there is no code in float alone for {others[0]}"
        raise UnsupportedError(message("accuracy fast", what, ", ".join(sorted(TYPES)), "Take accuracy='exact'"))
    try:
        lowering = UnfusedReals(roots, tuple(inputs))
        values = [lowering.number(root).high for root in roots]
    except Unknown as unknown:
        what = f"there is no rule in float alone for {unknown}"
        raise UnsupportedError(message("accuracy fast", what, ", ".join(KNOWN), "Take accuracy='exact'")) from None
    results = (_stored(value, kind) for value, kind in zip(values, outputs, strict=True))
    return Program(tuple(inputs), tuple(outputs), tuple(results), parameter_count=parameter_count)


def _stored(value: Expression, kind: ElementType) -> Expression:
    """A result in its type, NaN as the one canonical NaN. Choices stay outermost: C makes branches of these."""
    if value.operation == ops.SELECT:
        condition, a, b = value.operands
        return MACHINE.select_(condition, _stored(a, kind), _stored(b, kind))
    if value.operation != ops.CONSTANT:
        value = MACHINE.canonical_(value)
    if kind.name == "float32":
        return value
    form = {"float16": Format.F16, "bfloat16": Format.BF16}[kind.name]
    return in_format(value, form)


class UnfusedReals(UncorrectedReals):
    """Formulas for all operands."""

    m: Unfused
    operands_lie = EVERYTHING

    def __init__(
        self,
        roots: Sequence[Expression],
        inputs: tuple[ElementType, ...],
        ranges: Mapping[Expression, Interval] | None = None,
    ) -> None:
        super().__init__(Unfused(), roots, inputs, {})
        self.ranges = ranges or {}
        """Where operands lie, on one side of a choice."""

    def require(self, root: Expression, limit: float) -> None:
        """Nothing: rules hold for all numbers."""

    def _input(self, root: Expression) -> DoubleWord:
        return replace(super()._input(root), interval=self.ranges.get(root, EVERYTHING))

    def _below(self, current: Expression) -> Sequence[Expression]:
        return current.operands[0].operands if self._sides(current) else super()._below(current)

    def _sides(self, root: Expression) -> tuple[Expression, Interval, Interval] | None:
        """The operand that a choice compares with a constant, and where it lies on each side."""
        if root.operation != ops.SELECT or root.format is not Format.NUMBER:
            return None
        condition = root.operands[0]
        if condition.operation not in (ops.LESS, ops.LESS_EQUAL):
            return None
        low, high = condition.operands
        if low.operation == ops.INPUT and high.operation == ops.CONSTANT:
            limit = float(high.attribute)
            return low, Interval(-math.inf, limit), Interval(limit, math.inf)
        if high.operation == ops.INPUT and low.operation == ops.CONSTANT:
            limit = float(low.attribute)
            return high, Interval(limit, math.inf), Interval(-math.inf, limit)
        return None

    def _number(self, root: Expression) -> DoubleWord:
        sides = self._sides(root)
        if sides is None:
            return super()._number(root)
        x, *ranges = sides
        values = []
        for side, part in zip(root.operands[1:], ranges, strict=True):
            known = self.ranges.get(x, EVERYTHING)
            inside = Interval(max(part.low, known.low), min(part.high, known.high))
            if inside.low > inside.high:
                inside = known
            values.append(UnfusedReals([side], self.inputs, {**self.ranges, x: inside}).number(side))
        return self.m.select(self.truth(root.operands[0]), *values)

    def _rule(self, form: InSingle) -> Callable[[Machine, Argument], Expression] | None:
        return form.whole

    def _within(self, root: Expression, most: float) -> Expression:
        m, x = self.m, self.number(root).high
        for limit, is_beyond in ((m.number(most), m.less_), (m.number(-most), lambda a, b: m.less_(b, a))):
            x = m.select_(is_beyond(limit, x), limit, x)
        return x
