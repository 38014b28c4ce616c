"""Element-wise formulas in float32 alone, for processors that have neither float64 nor fused multiply-add.

The rules are those of the fast contract (lowering/numerics/elementary), without its exact half: each holds here for all numbers.
An argument is clamped to where a function's result is 0, 1 or infinite, and a power of two is multiplied in two steps where a
result is subnormal. Products whose error would be magnified are computed in halves (`Unfused`). So the bits are the same on every
machine with or without fused multiply-add, and other ones than those of the fast contract.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ogive.common.dtypes import ElementType
from ogive.errors import UnsupportedError, message
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format
from ogive.lowering.fast_contract import (
    IMAGES,
    TYPES,
    FastNumber,
    FastRules,
    Unknown,
    polynomial_of,
    without_clamp,
)
from ogive.lowering.numerics.elementary.argument import Argument, cubic, is_cubic, where_reached
from ogive.lowering.numerics.elementary.error_function import END_OF_TAIL, tail_with_subnormals
from ogive.lowering.numerics.elementary.exponential.exp import (
    FAR_IN_SINGLE,
    ZERO_IN_SINGLE,
    exp_with_subnormals,
    whole_exp_in_single,
)
from ogive.lowering.numerics.elementary.exponential.expm1 import whole_expm1_in_single
from ogive.lowering.numerics.elementary.hyperbolic import whole_tanh_in_single
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Unfused
from ogive.lowering.program import Program, stored_operand

__all__ = ["in_single_precision"]

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
        lowering = _Single(roots, tuple(inputs))
        values = [lowering.value(root).number for root in roots]
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


class _Single(FastRules):
    """The primitive graphs of formulas, for all operands."""

    def __init__(
        self,
        roots: Sequence[Expression],
        inputs: tuple[ElementType, ...],
        ranges: Mapping[Expression, Interval] | None = None,
    ) -> None:
        super().__init__(roots, inputs, {})
        self.m = MACHINE
        self.ranges = ranges or {}
        """Where operands lie, on one side of a choice."""

    def require(self, root: Expression, limit: float) -> None:
        """Nothing: rules hold for all numbers."""

    def _input(self, root: Expression) -> FastNumber:
        leaf = stored_operand(root, self.inputs)
        number = in_format(leaf, Format.F32)
        return FastNumber(number, self.ranges.get(root, EVERYTHING))

    def _open_operands(self, root: Expression) -> tuple[Expression, ...]:
        return () if root not in self.values and self._sides(root) else super()._open_operands(root)

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

    def _choice(self, root: Expression) -> FastNumber:
        sides = self._sides(root)
        if sides is None:
            return super()._choice(root)
        x, *ranges = sides
        values = []
        for side, part in zip(root.operands[1:], ranges, strict=True):
            known = self.ranges.get(x, EVERYTHING)
            inside = Interval(max(part.low, known.low), min(part.high, known.high))
            if inside.low > inside.high:
                inside = known
            values.append(_Single([side], self.inputs, {**self.ranges, x: inside}).value(side))
        first, second = values
        number = self.m.select_(self.truth(root.operands[0]), first.number, second.number)
        return FastNumber(number, first.interval | second.interval)

    def _slope(self, root: Expression) -> FastNumber | None:
        if root.operation in ("gate_slope", "logistic_slope", "tanh_slope"):
            raise Unknown("derivatives of gates")
        return None

    def _product_with_quotient(
        self, x: Expression, dividend: Expression, divisor: Expression, terms: Sequence[Expression]
    ) -> Expression:
        """``x * dividend / divisor``; a correction would be NaN at infinities."""
        m = self.m
        return m.div_(x if dividend is m.number(1.0) else m.mul_(x, dividend), divisor)

    def _quotient(self, a: Expression, b: Expression) -> Expression:
        m = self.m
        return m.mul_(a, m.div_(m.number(1.0), b)) if b.operation is ops.CONSTANT else m.div_(a, b)

    # ---- elementary functions

    def _function(self, root: Expression) -> FastNumber:
        m, operation, inner = self.m, root.operation, root.operands[0]
        interval = self.values[inner].interval
        if operation == "log1p":
            return self._log1p(inner)
        if operation == "normal_tail":
            return FastNumber(self._tail(inner, interval), IMAGES[operation])
        if operation == "exp":
            terms = polynomial_of(inner, lambda n: n)
            if terms is not None and terms[1] == {2: Fraction(-1, 2)}:
                x = self._clamped(m.abs_(self.values[terms[0]].number), END_OF_TAIL)
                square = m.mul_(x, x)
                argument = Argument(square, None, m.lost_of_product_(x, x, square), -1.0)
                return FastNumber(
                    exp_with_subnormals(m, argument, m.mul_(square, m.number(-0.5)), 0.5), Interval(0.0, 1.0)
                )
            high = 1.0 if interval.high <= 0 else math.inf
            return FastNumber(whole_exp_in_single(m, self._argument(inner), interval), Interval(0.0, high))
        if operation == "expm1":
            return FastNumber(whole_expm1_in_single(m, self._argument(inner), interval), Interval(-1.0, math.inf))
        if operation == "tanh":
            return FastNumber(whole_tanh_in_single(m, self._argument(inner)), IMAGES[operation])
        if operation == "logistic":
            return FastNumber(self._logistic(inner), IMAGES[operation])
        raise Unknown(operation)

    def _clamped(self, magnitude: Expression, most: float) -> Expression:
        """The smaller one; NaN stays."""
        m = self.m
        limit = m.number(most)
        return m.select_(m.less_(limit, magnitude), limit, magnitude)

    def _tail(self, root: Expression, interval: Interval) -> Expression:
        m, number = self.m, self.values[root].number
        if interval.low >= 0:
            return tail_with_subnormals(m, self._clamped(number, END_OF_TAIL))
        tail = tail_with_subnormals(m, self._clamped(m.abs_(number), END_OF_TAIL))
        return m.select_(m.less_(number, m.number(0.0)), m.sub_(m.number(1.0), tail), tail)

    def _logistic(self, root: Expression) -> Expression:
        """``1 / (1 + e)`` or ``e / (1 + e)``, e = exp(-abs(u))."""
        m = self.m
        cubic = self._cubic_of(root)
        if cubic is not None:
            argument, y = cubic
            e = exp_with_subnormals(m, replace(argument, sign=-1.0), m.neg_(y), 1.0)
            e = m.select_(m.less_(m.number(-ZERO_IN_SINGLE), m.abs_(self.values[root].number)), m.number(0.0), e)
        else:
            a = self._argument(root)
            e = whole_exp_in_single(
                m, replace(a, x=m.abs_(a.x), w=a.w if a.w is None else m.abs_(a.w), sign=-1.0), Interval(-math.inf, 0.0)
            )
        one = m.number(1.0)
        dividend = m.select_(m.less_(self.values[root].number, m.number(0.0)), e, one)
        return m.div_(dividend, m.add_(one, e))

    def _cubic_of(self, root: Expression) -> tuple[Argument, Expression] | None:
        """The magnitude of a x + b x**3 as an argument, and as a number: x is clamped to where e is zero."""
        terms = polynomial_of(root, without_clamp)
        if terms is None or set(terms[1]) != {1, 3} or min(terms[1].values()) <= 0:
            return None
        linear, third = terms[1][1], terms[1][3]
        if not is_cubic(linear, third, where_reached(linear, third, FAR_IN_SINGLE)):
            return None
        most = where_reached(
            linear, third, -ZERO_IN_SINGLE
        )  # where results are subnormal, the argument loses its last bits
        m = self.m
        x = self._clamped(m.abs_(self.values[terms[0]].number), most)
        argument = cubic(m, x, linear, third)
        assert argument.w is not None
        return argument, m.mul_(argument.x, argument.w)
