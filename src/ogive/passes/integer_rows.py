"""Rows of integers: what they are reduced to is computed in integers too, and wraps around."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import STORAGE, Expression, Format, node, walk
from ogive.passes.integers import Integers
from ogive.passes.row_numbers import reductions_by_stage
from ogive.program import Program, Reduction, Stage

__all__ = ["format_of_rows", "whole_rows"]

KINDS = {
    ops.ROW_SUM: "whole_sum",
    ops.ROW_PRODUCT: "whole_product",
    ops.ROW_MAX: "whole_max",
    ops.ROW_MIN: "whole_min",
}

#: Reductions know integers with a sign alone, of these lengths.
SIGNED = {32: Format.I32, 64: Format.I64}


def format_of_rows(roots: Sequence[Expression], inputs: Sequence[ElementType]) -> Format:
    """The integer format that has all operands: of 64 bits where they have so many, or elements are counted."""
    is_long = any(t.bits == 64 for t in inputs) or any(n.operation == ops.ROW_COUNT for n in walk(*roots))
    bits = 64 if is_long else 32
    is_unsigned = any(t.kind == "unsigned" and t.bits == bits for t in inputs)
    return STORAGE[f"{'u' if is_unsigned else ''}int{bits}"]


def whole_rows(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    form: Format,
    parameter_count: int,
) -> Program:
    """The program of formulas whose results are one integer a row, computed in an integer format of 32 or 64 bits."""
    rows = _WholeRows(tuple(inputs), form)
    stages = rows.reduce(roots)
    results = tuple(rows.store(root, t) for root, t in zip(roots, outputs, strict=True))
    first, end = len(inputs), len(inputs) + len(outputs)
    return Program(
        tuple(inputs),
        tuple(outputs),
        results,
        stages,
        parameter_count=parameter_count,
        row_operands=frozenset(range(first, end)),
    )


class _WholeRows(Integers):
    def reduce(self, roots: Sequence[Expression]) -> tuple[Stage, ...]:
        for current in walk(*roots):
            if current.operation == ops.ROW_COUNT:
                length = node(ops.ROW_LENGTH, (), None, Format.F64)
                self.done[current] = node(ops.CONVERT, (length,), None, self.format)
        stages, number = [], 0
        for reduced in reductions_by_stage(roots):
            found = []
            for current in reduced:
                value = node(ops.ROW_VALUE, (), (number, 0), Format.F64)
                number += 1
                operand = self.value(current.operands[0])
                if current.operation == ops.ROW_INDEX:
                    found.append(Reduction("row_first", operand))
                    self.done[current] = _position(value)
                    continue
                is_extreme = current.operation in (ops.ROW_MAX, ops.ROW_MIN)
                signed = SIGNED[self.format.bits]
                found.append(Reduction(KINDS[current.operation], self._turned(self._as(operand, signed), is_extreme)))
                whole = node(ops.BITCAST, (value,), None, Format.I64)
                self.done[current] = self._as(self._turned(self._as(whole, signed), is_extreme), self.format)
            stages.append(Stage(tuple(found)))
        return tuple(stages)

    def _as(self, value: Expression, form: Format) -> Expression:
        return value if value.format is form else node(ops.CONVERT, (value,), None, form)

    def _turned(self, value: Expression, is_extreme: bool) -> Expression:
        """Numbers without a sign as such with one, in the same order; and the other way round."""
        if self.format.is_signed or not is_extreme:
            return value
        sign = node(ops.CONSTANT, (), -(1 << self.format.bits - 1), value.format)
        return node(ops.EXCLUSIVE_OR, (value, sign), None, value.format)


def _position(value: Expression) -> Expression:
    """The position of an element; 0 where there is none, which is infinity."""
    infinity, zero = (node(ops.CONSTANT, (), number, Format.F64) for number in (math.inf, 0.0))
    is_one = node(ops.LESS, (value, infinity), None, Format.BIT)
    return node(ops.CONVERT, (node(ops.SELECT, (is_one, value, zero), None, Format.F64),), None, Format.I64)
