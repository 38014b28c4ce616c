"""Formulas of real numbers in one arithmetic: what the number and the truth value of each node are.

How numbers become results says who derives from this: rounded without a test (untested_elements.py), or with one
(tested.py), and over rows (row_lowering.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format, is_computed, is_extreme, node, walk
from ogive.lowering.integers import is_nonzero
from ogive.lowering.numerics.bounded import exact_operand, exact_parameter
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.propagation import rule_of
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.program import stored_operand


class RealLowering:
    """The primitive graphs of formulas, in one arithmetic and for operands of these types."""

    #: The interval of floating-point operands.
    operands_lie = EVERYTHING

    def __init__(
        self, arithmetic: Arithmetic, inputs: tuple[ElementType, ...], parameters: Format | None = None
    ) -> None:
        self.m = arithmetic
        self.inputs = inputs
        self.parameters = parameters or arithmetic.goal
        """The format that parameters are rounded to."""
        self.numbers: dict[Expression, DoubleWord] = {}
        self.truths: dict[Expression, Expression] = {}

    # ---- truth values

    def truth(self, root: Expression) -> Expression:
        if root not in self.truths:
            for current in walk(root, operands=self._unknown_truths):  # without recursion
                if current not in self.truths:
                    self.truths[current] = self._truth(current)
        return self.truths[root]

    def _unknown_truths(self, current: Expression) -> Sequence[Expression]:
        """The operands that `_truth` asks for, which are truth values too."""
        is_of_truths = all(operand.format is Format.TRUTH for operand in current.operands)
        return self._below(current) if is_of_truths and current not in self.truths else ()

    def _below(self, current: Expression) -> Sequence[Expression]:
        """The nodes that have to be known before a node."""
        return current.operands

    def _truth(self, root: Expression) -> Expression:
        match root.operation:
            case ops.LESS | ops.LESS_EQUAL | ops.EQUAL if self.asks_for_limits(root):
                return self._limits(root)
            case ops.LESS | ops.LESS_EQUAL | ops.EQUAL:
                return self.m.compare(root.operation, *self._compared(root))
            case ops.CONSTANT:
                return node(ops.CONSTANT, (), root.attribute, Format.BIT)
            case ops.INPUT:
                return is_nonzero(stored_operand(root, self.inputs))
        operands = tuple(map(self.truth, root.operands))
        return node(root.operation, operands, None, Format.BIT)

    def _compared(self, root: Expression) -> Sequence[DoubleWord]:
        """Two numbers as they are compared."""
        return [self.number(operand) for operand in root.operands]

    def asks_for_limits(self, root: Expression) -> bool:
        """Whether a comparison asks if a computed number is infinite or NaN.

        For double-word numbers that is known once they are one number: before, a correction may be NaN.
        """
        a, b = root.operands
        if a is not b and not any(n.operation == ops.CONSTANT and n.attribute in (math.inf, -math.inf) for n in (a, b)):
            return False
        return any(map(is_computed, (a, b)))

    def _limits(self, root: Expression) -> Expression:
        """The truth of such a comparison."""
        m = self.m
        numbers = [m.renormalised(m.unscaled(self.number(operand))) for operand in root.operands]
        truth = node(root.operation, tuple(number.high for number in numbers), None, Format.BIT)
        m.doubt_limits(truth, *numbers)
        return truth

    # ---- numbers

    def number(self, root: Expression) -> DoubleWord:
        if root not in self.numbers:
            for current in walk(root, operands=self._unknown_operands):
                if current.format is Format.NUMBER and current not in self.numbers:
                    self.numbers[current] = self._number(current)
        return self.numbers[root]

    def _unknown_operands(self, current: Expression) -> Sequence[Expression]:
        """The operands of what is not known yet: what lies below a known number is known too."""
        return () if current in self.numbers else self._below(current)

    def _number(self, root: Expression) -> DoubleWord:
        m, operation = self.m, root.operation
        match operation:
            case ops.INPUT:
                return self._input(root)
            case ops.PARAMETER:
                return self._parameter(root)
            case ops.CONSTANT:
                return m.wide(root.attribute)
            case ops.APPROXIMATION:
                return m.approximation(self.numbers[root.operands[0]], root.attribute)
            case ops.SELECT:
                decided = self._decided(root)
                if decided is not None:
                    return self.numbers[decided]
                condition, a, b = root.operands
                choice = m.select(self.truth(condition), self.numbers[a], self.numbers[b])
                if not is_extreme(root):
                    return choice
                error, interval = (
                    m.error_of_choice(choice, self.numbers[a], self.numbers[b]),
                    self._interval_of_extreme(root),
                )
                if m.follows_exactness:
                    largest = min(error.largest, interval.largest_magnitude * (1 + 2.0**-20))
                    error = replace(error, largest=largest)
                return replace(choice, interval=interval, error=error)
            case ops.COPY_SIGN:
                magnitude, sign = (self.numbers[operand] for operand in root.operands)
                magnitude = m.doubted_by_sign(magnitude, sign)
                value = m.signed(sign)
                if root.operands[1].operands:  # a NaN that was computed has any sign: taken as positive
                    value = m.select_(m.equal_(value, value), value, m.abs_(value))
                return m.copy_sign(magnitude, value)
        operands = [self.numbers[operand] for operand in root.operands]
        if operation.lowering is not None:
            return self._function(root, operands)
        if operation in (ops.FLOOR, ops.CEILING, ops.TRUNCATE, ops.ROUND_EVEN):
            return m.integral(operation, operands[0])
        result: DoubleWord = getattr(m, operation)(*operands)
        return result

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        """An elementary function."""
        result: DoubleWord = rule_of(self.m, root.operation)(self.m, *operands)
        return result

    def _interval_of_extreme(self, root: Expression) -> Interval:
        """For the larger of two numbers both bounds are the larger ones. But beside NaN the second one is chosen."""
        condition, a, b = root.operands
        extreme = min if condition.operands[0] is a else max
        first, second = self.numbers[a].interval, self.numbers[b].interval
        found = Interval(extreme(first.low, second.low), extreme(first.high, second.high))
        return found if a.operation == ops.CONSTANT else found | second

    def _parameter(self, root: Expression) -> DoubleWord:
        value, m = node(ops.PARAMETER, (), root.attribute, Format.F64), self.m
        if self.parameters is Format.F32:
            value = in_format(value, Format.F32)
        value = in_format(value, m.format)
        most = Machine(self.parameters).largest
        return DoubleWord(value, interval=Interval(-most, most), error=exact_parameter(self.parameters))

    def _input(self, root: Expression) -> DoubleWord:
        m, kind = self.m, self.inputs[root.attribute]
        leaf = stored_operand(root, self.inputs)
        if kind.is_float:
            if leaf.format in (Format.F16, Format.BF16):
                leaf = in_format(leaf, Format.F32)
            value = in_format(leaf, m.format)
            return DoubleWord(value, interval=self.operands_lie, error=exact_operand(kind))
        interval, error = Interval(float(kind.minimum), float(kind.maximum)), exact_operand(kind)
        if kind.bits < 64:
            return DoubleWord(in_format(leaf, m.format), interval=interval, error=error)
        # 64 bits do not fit: the upper and the lower 32 do, each.
        lower = node(ops.AND, (leaf, node(ops.CONSTANT, (), 0xFFFFFFFF, leaf.format)), None, leaf.format)
        upper = node(ops.SUBTRACT, (leaf, lower), None, leaf.format)
        high, low = (in_format(part, Format.F64) for part in (upper, lower))
        return m.renormalised(DoubleWord(high, low, interval=interval, error=error))

    def _from_double(self, value: Expression) -> Expression:
        return value if self.m.format is Format.F64 else in_format(value, self.m.format)

    # ---- choices and results

    def _decided(self, root: Expression) -> Expression | None:
        """The result of a choice, whatever the operands; None where that depends."""
        return None

    def _select(self, root: Expression, condition: Expression, a: Expression, b: Expression) -> Expression:
        """The result of a choice."""
        return self.m.select_(condition, a, b)

    def _chosen_among(self, current: Expression) -> Sequence[Expression]:
        """The values of a choice, or the one to which it comes."""
        if current.operation != ops.SELECT:
            return ()
        decided = self._decided(current)
        return current.operands[1:] if decided is None else (decided,)

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        """The value with the canonical NaN."""
        return self.m.canonical_(value)
