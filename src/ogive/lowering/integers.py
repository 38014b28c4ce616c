"""Graphs of integers: a node becomes the same node in an integer format, which is exact and fast.

Rows are reduced in integers too, and wrap around. `why_not` says which formulas have no meaning for which types.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from ogive.common.dtypes import ELEMENT_TYPES, ElementType, element_type
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import LARGER, SMALLER
from ogive.graph.expression import STORAGE, Expression, Format, Operation, in_format, node, walk
from ogive.lowering.numerics.truths import either, opposite
from ogive.lowering.program import Program, Reduction, Stage, stored_operand
from ogive.lowering.row_numbers import LENGTH, first_position, reductions_by_stage


def only_chooses(roots: Sequence[Expression], types: Sequence[ElementType]) -> bool:
    """Whether every result is one of the operands or a constant that all the types can hold."""
    low, high = max(t.minimum for t in types), min(t.maximum for t in types)
    return len(set(types) - {element_type("bool")}) <= 1 and all(
        current.operation.is_choice
        and (
            current.operation != ops.CONSTANT
            or current.format is Format.TRUTH
            or (is_whole(current.attribute) and low <= current.attribute <= high)
        )
        for current in walk(*roots)
    )


#: The types in which whole numbers are computed: the smallest of these that holds all of them.
FORMATS_OF_WHOLE_NUMBERS = [ELEMENT_TYPES[name] for name in ("int16", "int32", "int64", "uint64")]


def format_of_whole_numbers(roots: Sequence[Expression], types: Sequence[ElementType]) -> Format | None:
    """The smallest integer format that holds all that these graphs compute, whatever the operands; None where none does,
    or where there may be fractions.
    """
    found: dict[Expression, tuple[int, int]] = {}  # the smallest and the largest
    for current in walk(*roots):
        operands = [found[operand] for operand in current.operands if operand.format is Format.NUMBER]
        values: list[int]
        if current.format is Format.TRUTH and current.operation.is_choice:
            continue
        if current.operation == ops.INPUT:
            values = [types[current.attribute].minimum, types[current.attribute].maximum]
        elif current.operation == ops.CONSTANT and is_whole(current.attribute):
            values = [int(current.attribute)]
        elif current.operation in (ops.SELECT, ops.ABSOLUTE):
            values = [extreme for extremes in operands for extreme in extremes]
            if current.operation == ops.ABSOLUTE:
                values = [0, *map(abs, values)]
        elif current.operation.is_kept_whole and current.operation.exactly is not None:
            values = [current.operation.exactly(*extremes) for extremes in itertools.product(*operands)]
        else:
            return None
        found[current] = min(values), max(values)
    values = [extreme for extremes in found.values() for extreme in extremes]
    low, high, bits = min(values, default=0), max(values, default=0), max(t.bits for t in types)
    holding = (t for t in FORMATS_OF_WHOLE_NUMBERS if t.bits >= bits and t.minimum <= low and high <= t.maximum)
    return next((STORAGE[t.name] for t in holding), None)


def is_whole(exact: object) -> bool:
    return isinstance(exact, Fraction) and exact.denominator == 1


def is_nonzero(leaf: Expression) -> Expression:
    """The truth value of a boolean operand: any byte but zero is true."""
    is_zero = node(ops.EQUAL, (leaf, node(ops.CONSTANT, (), 0, leaf.format)), None, Format.BIT)
    return opposite(is_zero)


class Integers:
    """Graphs of integers: a node becomes the same node in the integer format.

    ``saturates``: the format holds all numbers on the way, and a result beyond its type is the type's last number. Else it wraps
    around.
    """

    def __init__(self, inputs: tuple[ElementType, ...], form: Format | None = None, *, saturates: bool = False) -> None:
        self.inputs = inputs
        self.format = form or _common_format(inputs)
        self.saturates = saturates
        self.done: dict[Expression, Expression] = {}

    def store(self, root: Expression, result: ElementType) -> Expression:
        value, storage = self.value(root), STORAGE[result.name]
        if self.saturates and root.format is not Format.TRUTH:
            held = next(t for t in FORMATS_OF_WHOLE_NUMBERS if STORAGE[t.name] is self.format)
            if result.minimum > held.minimum:
                value = self._extreme(LARGER, node(ops.CONSTANT, (), result.minimum, self.format), value)
            if result.maximum < held.maximum:
                value = self._extreme(SMALLER, node(ops.CONSTANT, (), result.maximum, self.format), value)
        return in_format(value, storage)

    def value(self, root: Expression) -> Expression:
        for current in walk(root):
            if current in self.done:
                continue
            form = Format.BIT if current.format is Format.TRUTH else self.format
            operands = tuple(self.done[operand] for operand in current.operands)
            if current.operation == ops.INPUT:
                leaf = stored_operand(current, self.inputs)
                if form is Format.BIT:
                    self.done[current] = is_nonzero(leaf)
                else:
                    self.done[current] = in_format(leaf, form)
            elif current.operation == ops.CONSTANT:
                self.done[current] = node(ops.CONSTANT, (), int(current.attribute), form)
            elif current.operation.is_nothing_to_integers:
                self.done[current] = operands[0]
            elif current.operation in (LARGER, SMALLER):
                self.done[current] = self._extreme(current.operation, *operands)
            elif current.operation in (ops.QUOTIENT, ops.REMAINDER):
                self.done[current] = self._divided(current.operation, *operands)
            elif current.operation in (ops.BIT_SHIFT_LEFT, ops.BIT_SHIFT_RIGHT):
                self.done[current] = self._shifted(current.operation, *operands)
            elif current.operation == ops.INTEGER_POWER:
                self.done[current] = self._power(*operands)
            else:
                self.done[current] = node(current.operation, operands, None, form)
        return self.done[root]

    def _extreme(self, operation: Operation, a: Expression, b: Expression) -> Expression:
        is_first = node(ops.LESS, (b, a) if operation == LARGER else (a, b), None, Format.BIT)
        return node(ops.SELECT, (is_first, a, b), None, self.format)

    def _shifted(self, operation: Operation, a: Expression, b: Expression) -> Expression:
        """The instruction is undefined for shifts as long as the number."""
        form = self.format
        zero = node(ops.CONSTANT, (), 0, form)
        is_short = node(ops.LESS, (b, node(ops.CONSTANT, (), form.bits, form)), None, Format.BIT)
        shifted = node(operation, (a, node(ops.SELECT, (is_short, b, zero), None, form)), None, form)
        return node(ops.SELECT, (is_short, shifted, zero), None, form)

    def _divided(self, operation: Operation, a: Expression, b: Expression) -> Expression:
        """The instruction is undefined for a zero divisor and for the smallest number divided by -1."""
        form = self.format
        zero, one = node(ops.CONSTANT, (), 0, form), node(ops.CONSTANT, (), 1, form)
        by_zero = node(ops.EQUAL, (b, zero), None, Format.BIT)
        undefined = by_zero
        if form.is_signed:
            overflows = node(ops.EQUAL, (b, node(ops.CONSTANT, (), -1, form)), None, Format.BIT)
            undefined = either(by_zero, overflows)
        result = node(operation, (a, node(ops.SELECT, (undefined, one, b), None, form)), None, form)
        if form.is_signed:
            # a / -1 is -a, also for the smallest number, where it wraps around; the remainder is 0, as by 1.
            negated = node(ops.SUBTRACT, (zero, a), None, form) if operation == ops.QUOTIENT else zero
            result = node(ops.SELECT, (overflows, negated, result), None, form)
        return node(ops.SELECT, (by_zero, zero, result), None, form)

    #: Bits of an exponent that are looked at in every element; larger exponents are rare.
    COMMON_EXPONENT = 6

    def _power(self, a: Expression, b: Expression) -> Expression:
        """By squaring, a bit of the exponent after the other."""
        form = self.format

        def number(value: int) -> Expression:
            return node(ops.CONSTANT, (), value, form)

        def is_set(bit: int) -> Expression:
            is_clear = node(ops.EQUAL, (node(ops.AND, (b, number(1 << bit)), None, form), number(0)), None, Format.BIT)
            return opposite(is_clear)

        power, result = a, number(1)
        common = result
        for bit in range(form.bits - form.is_signed):
            if bit == self.COMMON_EXPONENT:
                common = result
            if bit:
                power = node(ops.MULTIPLY, (power, power), None, form)
            product = node(ops.MULTIPLY, (result, power), None, form)
            result = node(ops.SELECT, (is_set(bit), product, result), None, form)
        is_large = node(ops.LESS, (number((1 << self.COMMON_EXPONENT) - 1), b), None, Format.BIT)
        result = node(ops.SELECT_RARE, (is_large, result, common), None, form)
        if not form.is_signed:
            return result
        # A fraction, rounded towards zero, but for 1 and -1.
        of_minus_one = node(ops.SELECT, (is_set(0), number(-1), number(1)), None, form)
        is_minus_one, is_one = (node(ops.EQUAL, (a, number(value)), None, Format.BIT) for value in (-1, 1))
        fraction = node(ops.SELECT, (is_minus_one, of_minus_one, number(0)), None, form)
        fraction = node(ops.SELECT, (is_one, number(1), fraction), None, form)
        is_negative = node(ops.LESS, (b, number(0)), None, Format.BIT)
        return node(ops.SELECT, (is_negative, fraction, result), None, form)


def _common_format(inputs: Sequence[ElementType]) -> Format:
    """The smallest integer format that has all numbers of these types; of 64 bits with and without sign, the signed."""
    numbers = [t for t in inputs if t.kind != "boolean"] or list(inputs)
    bits = max(t.bits for t in numbers)
    if not any(t.kind == "signed" for t in numbers):
        return STORAGE[max(numbers, key=lambda t: t.bits).name]
    if any(t.kind == "unsigned" and t.bits == bits for t in numbers):
        bits = min(2 * bits, 64)
    return STORAGE[f"int{bits}"]


# ---- which formulas have no meaning for which element types, and what to do about it


#: Operations that make bits of integers and truth values of truth values.
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


# ---- rows of integers: what they are reduced to is computed in integers too, and wraps around


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
    rows = Integers(tuple(inputs), form)
    stages = _stages(rows, roots)
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


def _stages(rows: Integers, roots: Sequence[Expression]) -> tuple[Stage, ...]:
    """The stages that reduce rows, and what they find as numbers that are known."""
    form, signed = rows.format, SIGNED[rows.format.bits]
    for current in walk(*roots):
        if current.operation == ops.ROW_COUNT:
            rows.done[current] = in_format(LENGTH, form)
    stages, number = [], 0
    for reduced in reductions_by_stage(roots):
        found = []
        for current in reduced:
            value = node(ops.ROW_VALUE, (), (number, 0), Format.F64)
            number += 1
            operand = rows.value(current.operands[0])
            if current.operation == ops.ROW_INDEX:
                found.append(first_position(operand))
                rows.done[current] = _position(value)
                continue
            # Extremes of numbers without a sign are those of numbers with one, in the same order.
            turns = not form.is_signed and current.operation in (ops.ROW_MAX, ops.ROW_MIN)
            operand = in_format(operand, signed)
            found.append(Reduction(KINDS[current.operation], _turned(operand) if turns else operand))
            whole = in_format(node(ops.BITCAST, (value,), None, Format.I64), signed)
            rows.done[current] = in_format(_turned(whole) if turns else whole, form)
        stages.append(Stage(tuple(found)))
    return tuple(stages)


def _turned(value: Expression) -> Expression:
    """The number with its first bit turned."""
    sign = node(ops.CONSTANT, (), -(1 << value.format.bits - 1), value.format)
    return node(ops.EXCLUSIVE_OR, (value, sign), None, value.format)


def _position(value: Expression) -> Expression:
    """The position of an element; 0 where there is none, which is infinity."""
    infinity, zero = (node(ops.CONSTANT, (), number, Format.F64) for number in (math.inf, 0.0))
    is_one = node(ops.LESS, (value, infinity), None, Format.BIT)
    return in_format(node(ops.SELECT, (is_one, value, zero), None, Format.F64), Format.I64)
