"""Lower: a formula about real numbers becomes machine instructions for one combination of element types.

Three ways to compute, chosen by what the graph contains and what its operands are:

* **real** (floating types, and integers in operators such as Shrink): in float32 or float64 with
  corrections (`Wide`), or in float64 without them for results of fewer bits, whichever costs less; rounded once to
  the element type; to integers towards zero, saturating.
* **chosen** (integers, in graphs that only compare and select, such as Relu): in the integer type itself,
  which is exact and fast.
* **modular** (integers, in operators declared so, such as Add): in the integer type, wrapping around.

Every floating-point result that is NaN leaves as the one canonical quiet NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ogive.dtypes import ElementType, element_type
from ogive.elementary import FINAL, LINEAR_AT_ZERO, LOSES_SUBNORMALS, ROUGH, RULES
from ogive.expression import Expression, Format, constant, depends_on_elements, is_extreme, node, walk
from ogive.transform.conversions import fewer_conversions
from ogive.transform.cost import cost, varying
from ogive.transform.interval import EVERYTHING, Interval
from ogive.transform.rowwise import (
    EXPONENTIALS,
    EXTREMES,
    REDUCTIONS,
    SUM_OF_EXPONENTIALS,
    exponential,
    is_of_row,
    kept_of_largest,
    rest_of_largest,
    row_exponential,
    summed_exponential,
    within_row,
)
from ogive.transform.wide import Arithmetic, Wide

__all__ = ["STORAGE", "Program", "Stage", "computes_in", "lower"]

STORAGE = {
    "float16": Format.F16,
    "bfloat16": Format.BF16,
    "float32": Format.F32,
    "float64": Format.F64,
    "int8": Format.I8,
    "int16": Format.I16,
    "int32": Format.I32,
    "int64": Format.I64,
    "uint8": Format.U8,
    "uint16": Format.U16,
    "uint32": Format.U32,
    "uint64": Format.U64,
    "bool": Format.U8,
}


@dataclass(frozen=True)
class Reduction:
    """What makes one number of a row."""

    kind: str
    """One of REDUCTIONS."""
    value: Expression
    """What is reduced."""
    in_pairs: bool = False
    """Whether two numbers of a sum in float64 may be added in float32 before: they are not negative, and far from
    infinite, so that their rounding is no more than that of the numbers."""


@dataclass(frozen=True)
class Stage:
    """A pass over a row that reduces it to numbers."""

    reductions: tuple[Reduction, ...]
    kept: tuple[tuple[int, Expression], ...] = ()
    """(operand, value): what is stored in a row of the kernel's own, because a later stage needs it too."""


@dataclass(frozen=True)
class Program:
    """Primitive graphs with what goes in and out: what one kernel computes."""

    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    results: tuple[Expression, ...]
    """One root per output, in the storage format of its element type."""
    stages: tuple[Stage, ...] = ()
    """What a row-wise program computes first. Stages and results use what earlier stages have found."""
    scratch: tuple[Format, ...] = ()
    """The rows of the kernel's own; as operands they follow the outputs."""
    parameter_count: int = 0
    """How many values a kernel gets that are no row values."""

    @property
    def roots(self) -> tuple[Expression, ...]:
        """What is computed, in all stages."""
        reduced = [reduction.value for stage in self.stages for reduction in stage.reductions]
        kept = [value for stage in self.stages for _, value in stage.kept]
        return (*reduced, *kept, *self.results)

    @property
    def size(self) -> int:
        """How many instructions an element takes."""
        return sum(1 for current in varying(self.roots) if current.operands)


def lower(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    *,
    modular: bool = False,
    parameter_count: int = 0,
    open_roots: Sequence[Expression] | None = None,
) -> Program:
    """The program that computes the formulas for operands of these element types.

    ``open_roots`` are the formulas as they were before parameters were bound, if any were. They decide in which format
    is computed, so that bound and open parameters give the same bits.
    """
    types = (*inputs, *outputs)
    if not any(t.is_float for t in types) and (modular or _only_chooses(roots, types)):
        direct = _Direct(tuple(inputs))
        results = tuple(direct.store(root, t) for root, t in zip(roots, outputs, strict=True))
        return Program(tuple(inputs), tuple(outputs), results, parameter_count=parameter_count)
    form = Format.F64 if computes_in(inputs, outputs) == "float64" else Format.F32

    def program(roots: Sequence[Expression], arithmetic: Arithmetic) -> Program:
        real = _Real(arithmetic, tuple(inputs))
        stages = real.reduce(roots, first_scratch=len(types))
        scratch = tuple(value.format for stage in stages for _, value in stage.kept)
        results = fewer_conversions([real.store(root, t) for root, t in zip(roots, outputs, strict=True)])
        return Program(tuple(inputs), tuple(outputs), results, stages, scratch, parameter_count)

    arithmetic = Arithmetic(form)
    is_strict = any(t.name == "bfloat16" or t.is_integer for t in outputs)
    if form is Format.F64 or is_strict or not _may_be_longer(roots):
        return program(roots, arithmetic)
    # Corrections in float32, or twice as many registers: the longer a formula, the more there is to correct. (Results
    # in bfloat16 are promised to be the nearest number. Corrections see on which side of a tie a value lies that
    # is 1e-14 units away from it, as softplus(33.75) is; float64 does not. And what becomes an
    # integer is cut off: 3**2 must not be 8.)
    candidates = (arithmetic, arithmetic.longer)
    programs = [program(open_roots or roots, candidate) for candidate in candidates]
    costs = [cost(found.results) for found in programs]
    chosen = costs.index(min(costs))
    return program(roots, candidates[chosen]) if open_roots else programs[chosen]


#: What depends on how its operand is rounded, and what rows do with their own formats.
_STEPS = {"floor", "ceiling", "truncate", "round_even", "remainder"}


def _may_be_longer(roots: Sequence[Expression]) -> bool:
    """Whether a program in float32 with corrections could as well be one in float64 without."""
    return {current.operation for current in walk(*roots)}.isdisjoint(_STEPS | REDUCTIONS)


def computes_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> str:
    """The format in which real numbers are computed for these operands."""
    return max(t.computes_in for t in (*inputs, *outputs))


_UNSIGNED = {Format.I32: Format.U32, Format.I64: Format.U64}

_CHOOSING = {
    *("input", "constant", "less", "less_equal", "equal", "and", "or", "exclusive_or", "not"),
    *("select", "larger", "smaller"),
}


def _only_chooses(roots: Sequence[Expression], types: Sequence[ElementType]) -> bool:
    """Whether every result is one of the operands or a constant that all the types can hold."""
    low, high = max(t.minimum for t in types), min(t.maximum for t in types)
    return len(set(types) - {element_type("bool")}) <= 1 and all(
        current.operation in _CHOOSING
        and (
            current.operation != "constant"
            or current.format is Format.TRUTH
            or (
                isinstance(current.attribute, Fraction)
                and current.attribute.denominator == 1
                and low <= current.attribute <= high
            )
        )
        for current in walk(*roots)
    )


def _machine_leaf(leaf: Expression, types: tuple[ElementType, ...]) -> Expression:
    return node("input", (), leaf.attribute, STORAGE[types[leaf.attribute].name])


def _walk_after_reductions(roots: Sequence[Expression]) -> Iterator[Expression]:
    """What is computed from rows' common numbers on: the nodes above the reductions."""
    seen: set[Expression] = set()
    stack = list(roots)
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            yield current
            if current.operation not in REDUCTIONS:
                stack.extend(current.operands)


def _is_nonzero(leaf: Expression) -> Expression:
    """The truth value of a boolean operand: any byte but zero is true."""
    is_zero = node("equal", (leaf, node("constant", (), 0, leaf.format)), None, Format.BIT)
    return node("not", (is_zero,), None, Format.BIT)


def _is_sum(root: Expression) -> bool:
    """Whether this is a sum with a number that is the same for all elements, or of that and constants the smaller."""
    if root.operation == "select":
        return all(_is_sum(a) or (a.operation == "constant" and a.attribute != 0) for a in root.operands[1:])
    return root.operation == "add" and not all(map(depends_on_elements, root.operands))


def _is_share(root: Expression) -> bool:
    """Whether this is an exponential of a row divided by their sum."""
    if root.operation != "divide" or root.operands[1].operation != "row_sum":
        return False
    return root.operands[1].operands[0] is root.operands[0] and row_exponential(root.operands[0]) is not None


class _Direct:
    """Chosen and modular graphs: a node becomes the same node in the integer format."""

    #: What does nothing to an integer.
    IDENTITIES = frozenset({"floor", "ceiling", "truncate", "round_even"})

    def __init__(self, inputs: tuple[ElementType, ...]) -> None:
        self.inputs = inputs
        self.format = _common_format(inputs)
        self.done: dict[Expression, Expression] = {}

    def store(self, root: Expression, result: ElementType) -> Expression:
        value = self.value(root)
        if value.format is Format.BIT or value.format is not STORAGE[result.name]:
            return node("convert", (value,), None, STORAGE[result.name])
        return value

    def value(self, root: Expression) -> Expression:
        for current in walk(root):
            if current in self.done:
                continue
            form = Format.BIT if current.format is Format.TRUTH else self.format
            operands = tuple(self.done[operand] for operand in current.operands)
            if current.operation == "input":
                leaf = _machine_leaf(current, self.inputs)
                if form is Format.BIT:
                    self.done[current] = _is_nonzero(leaf)
                else:
                    self.done[current] = leaf if leaf.format is form else node("convert", (leaf,), None, form)
            elif current.operation == "constant":
                self.done[current] = node("constant", (), int(current.attribute), form)
            elif current.operation in self.IDENTITIES:
                self.done[current] = operands[0]
            elif current.operation in ("larger", "smaller"):
                a, b = operands
                is_first = node("less", (b, a) if current.operation == "larger" else (a, b), None, Format.BIT)
                self.done[current] = node("select", (is_first, a, b), None, form)
            elif current.operation in ("quotient", "remainder"):
                self.done[current] = self._divided(current.operation, *operands)
            elif current.operation in ("bit_shift_left", "bit_shift_right"):
                self.done[current] = self._shifted(current.operation, *operands)
            elif current.operation == "integer_power":
                self.done[current] = self._power(*operands)
            else:
                self.done[current] = node(current.operation, operands, None, form)
        return self.done[root]

    def _shifted(self, operation: str, a: Expression, b: Expression) -> Expression:
        """The instruction is undefined for shifts as long as the number."""
        form = self.format
        zero = node("constant", (), 0, form)
        is_short = node("less", (b, node("constant", (), form.bits, form)), None, Format.BIT)
        shifted = node(operation, (a, node("select", (is_short, b, zero), None, form)), None, form)
        return node("select", (is_short, shifted, zero), None, form)

    def _divided(self, operation: str, a: Expression, b: Expression) -> Expression:
        """The instruction is undefined for a zero divisor and for the smallest number divided by -1."""
        form = self.format
        zero, one = node("constant", (), 0, form), node("constant", (), 1, form)
        by_zero = node("equal", (b, zero), None, Format.BIT)
        undefined = by_zero
        if form.is_signed:
            overflows = node("equal", (b, node("constant", (), -1, form)), None, Format.BIT)
            undefined = node("or", (by_zero, overflows), None, Format.BIT)
        result = node(operation, (a, node("select", (undefined, one, b), None, form)), None, form)
        if form.is_signed:
            # a / -1 is -a, also for the smallest number, where it wraps around; the remainder is 0, as by 1.
            negated = node("subtract", (zero, a), None, form) if operation == "quotient" else zero
            result = node("select", (overflows, negated, result), None, form)
        return node("select", (by_zero, zero, result), None, form)

    #: Bits of an exponent that are looked at in every element; larger exponents are rare.
    COMMON_EXPONENT = 6

    def _power(self, a: Expression, b: Expression) -> Expression:
        """By squaring, a bit of the exponent after the other."""
        form = self.format

        def number(value: int) -> Expression:
            return node("constant", (), value, form)

        def is_set(bit: int) -> Expression:
            is_clear = node("equal", (node("and", (b, number(1 << bit)), None, form), number(0)), None, Format.BIT)
            return node("not", (is_clear,), None, Format.BIT)

        power, result = a, number(1)
        common = result
        for bit in range(form.bits - form.is_signed):
            if bit == self.COMMON_EXPONENT:
                common = result
            if bit:
                power = node("multiply", (power, power), None, form)
            product = node("multiply", (result, power), None, form)
            result = node("select", (is_set(bit), product, result), None, form)
        is_large = node("less", (number((1 << self.COMMON_EXPONENT) - 1), b), None, Format.BIT)
        result = node("select_rare", (is_large, result, common), None, form)
        if not form.is_signed:
            return result
        # A fraction, rounded towards zero, but for 1 and -1.
        of_minus_one = node("select", (is_set(0), number(-1), number(1)), None, form)
        is_minus_one, is_one = (node("equal", (a, number(value)), None, Format.BIT) for value in (-1, 1))
        fraction = node("select", (is_minus_one, of_minus_one, number(0)), None, form)
        fraction = node("select", (is_one, number(1), fraction), None, form)
        is_negative = node("less", (b, number(0)), None, Format.BIT)
        return node("select", (is_negative, fraction, result), None, form)


def _common_format(inputs: Sequence[ElementType]) -> Format:
    """The smallest integer format that has all numbers of these types; of 64 bits with and without sign, the signed."""
    numbers = [t for t in inputs if t.kind != "boolean"] or list(inputs)
    bits = max(t.bits for t in numbers)
    if not any(t.kind == "signed" for t in numbers):
        return STORAGE[max(numbers, key=lambda t: t.bits).name]
    if any(t.kind == "unsigned" and t.bits == bits for t in numbers):
        bits = min(2 * bits, 64)
    return STORAGE[f"int{bits}"]


class _Real:
    """Graphs of real numbers."""

    def __init__(self, arithmetic: Arithmetic, inputs: tuple[ElementType, ...]) -> None:
        self.m = arithmetic
        self.inputs = inputs
        self.numbers: dict[Expression, Wide] = {}
        self.truths: dict[Expression, Expression] = {}
        self.finished: dict[Expression, Expression] = {}
        self.row_values: dict[Expression, int] = {}
        self.rests: dict[Expression, tuple[Expression, Expression]] = {}
        """What sums of exponentials are to be divided by the exponential of."""

    # ---- rows

    def reduce(self, roots: Sequence[Expression], first_scratch: int) -> tuple[Stage, ...]:
        """The stages that find what the rows' elements have in common.

        A reduction comes one stage after the reductions that it needs. What is summed and needed again after
        is kept, rounded to the format of the arithmetic, and not computed twice.
        """
        depth: dict[Expression, int] = {}
        for current in walk(*roots):
            below = max((depth[operand] for operand in current.operands), default=0)
            depth[current] = below + (current.operation in REDUCTIONS)
        needed_after = set(_walk_after_reductions(roots))
        stages: list[Stage] = []
        kept_count = 0
        for level in range(1, max((depth[root] for root in roots), default=0) + 1):
            found = [n for n in walk(*roots) if n.operation in REDUCTIONS and depth[n] == level]
            reductions = tuple(self._reduction(n, is_kept=n.operands[0] in needed_after) for n in found)
            kept = []
            for n, reduction in zip(found, reductions, strict=True):
                self.row_values[n] = len(self.row_values)
                summed = n.operands[0]
                if n.operation == "row_sum" and summed in needed_after and summed.operands:
                    kept.append((first_scratch + kept_count, reduction.value))
                    again = node("input", (), first_scratch + kept_count, reduction.value.format)
                    self.numbers[summed] = Wide(again, interval=self._interval_of_summed(summed))
                    kept_count += 1
            stages.append(Stage(reductions, tuple(kept)))
        return tuple(stages)

    def _reduction(self, root: Expression, *, is_kept: bool) -> Reduction:
        operand = root.operands[0]
        if root.operation == "row_first":
            return Reduction(root.operation, self.truth(operand))
        if root.operation != "row_sum":
            return Reduction(root.operation, self.finish(operand))
        if is_kept:  # results, of which the last bit shows
            return Reduction(root.operation, self._rough(operand))
        value = self._exponentials(root)
        if value is None:
            value = self._rough(operand)
        in_pairs = value.format is Format.F32 and self._interval_of_summed(operand).within(0.0, self.m.largest / 4)
        return Reduction(root.operation, value, in_pairs)

    def _exponentials(self, root: Expression) -> Expression | None:
        """What this sums, if that is ``exp(x - row_max(x))`` or zero, times what makes it simpler; None for others."""
        summed, parts = root.operands[0], summed_exponential(root.operands[0])
        if parts is None or not self.number(parts[0]).is_exact:
            return None
        element, largest = map(self.number, parts)
        self.rests[root] = kept_of_largest(self.m, largest.high)
        value = exponential(self.m, element.high, largest.high, with_rest=True)
        if summed.operation != "select":
            return value
        zero = self.m.number(0.0)
        values = (value if row_exponential(operand) else zero for operand in summed.operands[1:])
        return self.m.select_(self.truth(summed.operands[0]), *values)

    def _interval_of_summed(self, root: Expression) -> Interval:
        if root.operation == "select":
            a, b = map(self._interval_of_summed, root.operands[1:])
            return a | b
        return EXPONENTIALS if row_exponential(root) else self.number(root).interval

    def _rough(self, root: Expression) -> Expression:
        """Like finish, where thousands are added and the last bit does not show."""
        self.number(root)
        if root.operation == "select":
            condition, a, b = root.operands
            return self.m.select_(self.truth(condition), self._rough(a), self._rough(b))
        parts = row_exponential(root)
        if parts is not None and self.number(parts[0]).is_exact:
            element, largest = map(self.number, parts)
            return exponential(self.m, element.high, largest.high)
        if root.operation in ROUGH:
            return self.m.single(ROUGH[root.operation](self.m, self.number(root.operands[0])))
        return self.finish(root)

    def _row_value(self, root: Expression) -> Wide:
        value = self._reduced(root)
        if root not in self.rests:
            return value
        return self.m.multiply(value, RULES["exp"](self.m, self.m.negate(rest_of_largest(self.m, *self.rests[root]))))

    def _reduced(self, root: Expression) -> Wide:
        """A reduction's result, which arrives in float64; a sum arrives as a sum of two."""
        index, wide = self.row_values[root], Arithmetic(Format.F64)
        high, low = (node("row_value", (), (index, part), Format.F64) for part in (0, 1))
        if root.operation != "row_sum":
            return Wide(self._from_double(high))
        interval = SUM_OF_EXPONENTIALS if row_exponential(root.operands[0]) else EVERYTHING
        if self.m.format is Format.F64 and (interval is SUM_OF_EXPONENTIALS or not self.m.extended):
            return Wide(high, low if self.m.extended else None, interval=interval)
        # Its power of two is kept apart: dividing by what is left neither overflows nor loses bits.
        bits = node("and", (wide.bits_(high), wide.whole(0x7FF << 52)), None, Format.I64)
        exponent = node("subtract", (wide.shift_right_(bits, 52), wide.whole(1023)), None, Format.I64)
        power = node("convert", (exponent,), None, Format.F64)
        high, low = (wide.scale_(part, wide.neg_(power)) for part in (high, low))
        value = self._from_double(high)
        rest = low
        if value is not high:
            rest = wide.add_(wide.sub_(high, node("convert", (value,), None, Format.F64)), low)
        interval = Interval(1.0, 2.0)
        return Wide(value, self._from_double(rest), self._from_double(power), EVERYTHING, interval, False)

    @property
    def of_rows(self) -> _Real:
        """How what is computed once a row is computed: in float64 always."""
        if self.m.format is Format.F64:
            return self
        rows = _Real(self.m.longer, self.inputs)
        rows.row_values, rows.rests = self.row_values, self.rests
        return rows

    def _share(self, root: Expression) -> tuple[Wide, Wide]:
        """An exponential and the reciprocal of the sum of its row: one division a row."""
        rows = self.of_rows
        reciprocal = rows.m.divide(rows.m.wide(Fraction(1)), rows.number(root.operands[1]))
        return self.number(root.operands[0]), self._shortened(reciprocal)

    def _of_row(self, terms: Sequence[tuple[Expression, bool]]) -> Wide:
        """The sum of numbers that are the same in the whole row; True: subtracted."""
        rows = self.of_rows
        values = [rows.number(term) for term, _ in terms]
        values = [rows.m.negate(value) if negated else value for value, (_, negated) in zip(values, terms, strict=True)]
        exactly = Arithmetic(Format.F64)
        total = values[0]
        for value in values[1:]:
            total = exactly.add(total, value)
        return self._shortened(exactly.renormalised(exactly.unscaled(total)))

    def _shortened(self, a: Wide) -> Wide:
        """A number of float64 in the format of the arithmetic."""
        return a if self.m.format is Format.F64 else self.m.shortened(a)

    def _of_element(self, root: Expression) -> tuple[Expression, bool, list[tuple[Expression, bool]]] | None:
        """A sum as (what differs from element to element, negated or not, what the row has in common)."""
        if not self.row_values:
            return None
        elements: list[tuple[Expression, bool]] = []
        common: list[tuple[Expression, bool]] = []

        def collect(term: Expression, negated: bool) -> None:
            if is_of_row(term):
                common.append((term, negated))
            elif term.operation in ("add", "subtract"):
                collect(term.operands[0], negated)
                collect(term.operands[1], negated != (term.operation == "subtract"))
            else:
                elements.append((term, negated))

        collect(root, False)
        if len(elements) != 1 or not common or not self.number(elements[0][0]).is_exact:
            return None
        return *elements[0], common

    def _from_double(self, value: Expression) -> Expression:
        return value if self.m.format is Format.F64 else node("convert", (value,), None, self.m.format)

    # ---- results

    def store(self, root: Expression, result: ElementType) -> Expression:
        """The result in the storage format of its element type."""
        if root.format is Format.TRUTH:
            return node("convert", (self.truth(root),), None, STORAGE[result.name])
        if result.is_integer:
            return self._store_integer(self.number(root), result)
        m, storage = self.m, STORAGE[result.name]
        if m.format is Format.F64 and storage is Format.F16:  # there is no conversion from float64 to it
            value = self._single_rounded_to_odd_if_normal(self.finish(root))
        elif m.format is Format.F64 and storage is Format.BF16:
            value = self._single_rounded_to_odd(self.finish(root))
        elif not m.extended:
            value = self._as_single(root)
        else:
            value = self._narrowed(root, storage) if storage.bits < m.bits else self._final(root)
        value = self._canonical(root, value)
        return value if storage is value.format else node("convert", (value,), None, storage)

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        """The value with the canonical NaN: where a row's common number is finite, there is none to look for."""
        m = self.m
        common = self._common_to_nan(root)
        if common is None:
            return m.canonical_(value)
        return m.select_rare_(m.not_(m.is_finite_(common)), m.canonical_(value), value)

    def _common_to_nan(self, root: Expression) -> Expression | None:
        """A number that is the same in the whole row, and not finite where an element's result is NaN."""
        if _is_share(root):
            return self._share(root)[1].high
        parts = self._of_element(root) if root.operation in ("add", "subtract") else None
        if parts is None or not any(t.operation in EXTREMES and t.operands[0] is parts[0] for t, _ in parts[2]):
            return None
        return self._of_row(parts[2]).high

    def _final(self, root: Expression) -> Expression:
        """Like finish, for what is a result of the operator."""
        if root.operation in FINAL and self.m.format is Format.F32:
            operand = self.number(root.operands[0])
            if operand.is_exact:
                return self.m.single(FINAL[root.operation](self.m, operand))
        return self.finish(root)

    def _as_single(self, root: Expression) -> Expression:
        """The number rounded to float32; what only chooses does so behind the rounding."""
        if root.operation == "select":
            condition, a, b = root.operands
            return self.m.select_(self.truth(condition), self._as_single(a), self._as_single(b))
        value = self.finish(root)
        single = self.m.single_of(value)
        return node("convert", (value,), None, Format.F32) if single is None else single

    def finish(self, root: Expression) -> Expression:
        """The number rounded to the format of the arithmetic: like single(number(root)), with less work.

        A choice between numbers is made between their rounded values, and a result of one operation on
        exact numbers is that one instruction.
        """
        if root not in self.finished:
            self.finished[root] = self._finished(root)
        return self.finished[root]

    def _finished(self, root: Expression) -> Expression:
        m = self.m
        match root.operation:
            case "select":
                condition, a, b = root.operands
                chosen = self._choice_after_rounding(root)
                truth = self.truth(condition) if chosen is None else chosen
                return m.select_(truth, self.finish(a), self.finish(b))
            case "negate":
                return m.neg_(self.finish(root.operands[0]))
            case "absolute":
                return m.abs_(self.finish(root.operands[0]))
            case "copy_sign":
                magnitude, sign = map(self.finish, root.operands)
                return m.copy_sign(Wide(magnitude), sign).high
            case "multiply":
                value = m.multiply_single(*map(self.number, root.operands))
                return self._linear_near_zero(root, value)
            case "add" | "subtract":
                return self._finished_sum(root)
            case "divide":
                if _is_share(root):
                    share, reciprocal = self._share(root)
                    rest = m.mul_(share.high, m.low_part(reciprocal))
                    return m.fma_(share.high, reciprocal.high, rest)
                dividend, divisor = map(self.number, root.operands)
                if not m.extended:
                    return m.divide(dividend, divisor).high
                if dividend.is_exact and divisor.is_exact:
                    return m.div_(dividend.high, divisor.high)
                if root.operands[1].operation == "row_sum":  # one division a row
                    reciprocal = m.divide(m.wide(Fraction(1)), divisor)
                    # Its correction is looked at once a row too.
                    reciprocal = replace(reciprocal, low=m.low_part(reciprocal), low_is_number=True)
                    return m.multiply_single(dividend, reciprocal)
            case "square_root":
                radicand = self.number(root.operands[0])
                if radicand.is_exact:
                    return m.sqrt_(radicand.high)
        value = m.single(self.number(root))
        return self._linear_near_zero(root, value) if root.operation in LOSES_SUBNORMALS else value

    def _choice_after_rounding(self, root: Expression) -> Expression | None:
        """Of a number and a constant, which is the larger or smaller: of rounded numbers it is the same one, rounded.

        None where this is another choice, or where the sign of a zero might differ: -2**-150 is less than 0, and
        rounded it is -0, which is not. A sum with a constant or a parameter is never -0 itself; of that, -0 is less.
        """
        condition, a, b = root.operands
        constants = [operand for operand in (a, b) if operand.operation == "constant"]
        if not is_extreme(root) or condition.operation != "less" or len(constants) != 1:
            return None
        left, right = map(self.finish, condition.operands)
        if constants[0].attribute != 0 or constants[0] is condition.operands[0]:
            return self.m.less_(left, right)
        return self.m.less_equal_(left, right) if a is constants[0] and _is_sum(condition.operands[0]) else None

    def _finished_sum(self, root: Expression) -> Expression:
        m = self.m
        for product, other in (root.operands, root.operands[::-1]):
            if product.operation == "multiply":
                a, b, c = (self.number(operand) for operand in (*product.operands, other))
                if a.is_exact and b.is_exact and c.is_exact:
                    x, z = a.high, c.high
                    if root.operation == "subtract":
                        x, z = (m.neg_(x), z) if product is root.operands[1] else (x, m.neg_(z))
                    return m.fma_(x, b.high, z)
        parts = self._of_element(root)
        if parts is not None and len(parts[2]) > 1:
            varying, is_negated, common = parts
            total, value = self._of_row(common), self.number(varying).high
            value = m.add_(m.neg_(value), total.high) if is_negated else m.add_(value, total.high)
            return m.add_(value, m.low_part(total))
        a, b = map(self.number, root.operands)
        if a.is_exact and b.is_exact:
            return m.add_(a.high, b.high) if root.operation == "add" else m.sub_(a.high, b.high)
        return m.single(self.number(root))

    def _linear_near_zero(self, root: Expression, value: Expression) -> Expression:
        """``a * f(x * b)`` and ``a * f(x / b)`` where f(u) is u near zero: there, ``x * (a * b)``.

        On the way to f, and in it, numbers may underflow where the result does not: without this,
        celu(x, alpha=1000) has lost its last 10 bits at 1e-43.
        """
        m = self.m
        one = constant(1)
        for factor, call in (root.operands, root.operands[::-1]) if root.operation == "multiply" else ((one, root),):
            if not (m.extended and not depends_on_elements(factor) and call.operation in LINEAR_AT_ZERO):
                continue
            argument = call.operands[0]
            x, b, by = argument, one, "multiply"
            if argument.operation in ("multiply", "divide"):
                x, b = argument.operands
                by = argument.operation
                if by == "multiply" and not depends_on_elements(x):
                    x, b = b, x
            if not depends_on_elements(x) or depends_on_elements(b) or not self.number(x).is_exact:
                continue
            if factor is (b if by == "divide" else one) and (by == "divide" or b is one):
                tiny = self.finish(x)
            else:
                slope = getattr(m, by)(self.number(factor), self.number(b))
                tiny = m.multiply_single(slope, self.number(x))
            is_tiny = m.less_(m.abs_(self.number(argument).high), m.number(2.0**-60))
            return m.select_(is_tiny, tiny, value)
        return value

    def _narrowed(self, root: Expression, storage: Format) -> Expression:
        """The number rounded so that rounding it again, to fewer bits, is as good as rounding once."""
        m = self.m
        match root.operation:
            case "select":
                condition, a, b = root.operands
                return m.select_(self.truth(condition), self._narrowed(a, storage), self._narrowed(b, storage))
            case "add" | "subtract" | "multiply" if self._is_of_halves(root):
                return self.finish(root)
            case "multiply":
                x, y = (self.number(operand) for operand in root.operands)
                if x.is_exact and y.is_exact and m.format is Format.F32:
                    return self._product_rounded_to_odd(x.high, y.high, storage)
        number = m.renormalised(m.unscaled(self.number(root)))
        return number.high if number.low is None else self._to_odd(number.high, number.low)

    def _is_of_halves(self, root: Expression) -> bool:
        """Whether this is an operation on float16 operands themselves.

        float32 holds their product exactly; and it has the 2 * 11 + 2 bits that make rounding their sum twice as
        good as once (Figueroa).
        """
        return self.m.format is Format.F32 and all(
            operand.operation == "input" and self.inputs[operand.attribute].name == "float16"
            for operand in root.operands
        )

    def _product_rounded_to_odd(self, a: Expression, b: Expression, storage: Format) -> Expression:
        """A product of two float32. Its error may underflow in float32, where float16 has zero, but not bfloat16."""
        if storage is Format.F16:
            product = self.m.mul_(a, b)
            return self._to_odd(product, self.m.fma_(a, b, self.m.neg_(product)))
        wide = [node("convert", (operand,), None, Format.F64) for operand in (a, b)]
        return self._single_rounded_to_odd(node("multiply", tuple(wide), None, Format.F64))

    def _to_odd(self, high: Expression, low: Expression) -> Expression:
        """Rounding to odd (Boldo and Melquiond): what is rounded to fewer bits then never lies on a tie that the exact
        value does not lie on.

        Where a rounded value is inexact, that is where low is a number and not zero, the exact value is cut off, and
        the last bit set. A value larger than the exact one is cut off to its neighbour.
        """
        m = self.m
        signs = node("exclusive_or", (m.bits_(high), m.bits_(low)), None, m.integer)
        is_larger = node("bitcast", (signs,), None, _UNSIGNED[m.integer])
        is_larger = node("bitcast", (m.shift_right_(is_larger, m.bits - 1),), None, m.integer)
        cut = node("subtract", (m.bits_(high), is_larger), None, m.integer)
        odd = node("or", (cut, m.whole(1)), None, m.integer)
        zero = m.number(0.0)
        is_inexact = node("or", (m.less_(zero, low), m.less_(low, zero)), None, Format.BIT)
        return m.from_bits_(m.select_(is_inexact, odd, m.bits_(high)))

    def _single_rounded_to_odd(self, value: Expression) -> Expression:
        """A float64 as float32, of the two neighbours the one whose last bit is set; exact values stay."""
        m = self.m
        single = node("convert", (value,), None, Format.F32)
        back = node("convert", (single,), None, Format.F64)
        bits, one = node("bitcast", (single,), None, Format.I32), node("constant", (), 1, Format.I32)
        is_inexact = node("or", (m.less_(back, value), m.less_(value, back)), None, Format.BIT)
        is_beyond = m.less_(m.abs_(value), m.abs_(back))
        below = node("select", (is_beyond, node("subtract", (bits, one), None, Format.I32), bits), None, Format.I32)
        odd = node("or", (below, one), None, Format.I32)
        return node("bitcast", (node("select", (is_inexact, odd, bits), None, Format.I32),), None, Format.F32)

    def _single_rounded_to_odd_if_normal(self, value: Expression) -> Expression:
        """The same in a third of the instructions, but for values that are subnormal in float32: these are rounded.

        The bits that float32 has no place for are cut off, and the last that it has is set if one of them was.
        """
        bits = node("bitcast", (value,), None, Format.I64)

        def whole(number: int) -> Expression:
            return node("constant", (), number, Format.I64)

        surplus = whole((1 << (Format.F64.precision - Format.F32.precision)) - 1)
        # The sum reaches the last bit unless all of them are zero.
        carried = node("add", (node("and", (bits, surplus), None, Format.I64), surplus), None, Format.I64)
        odd = node("or", (bits, carried), None, Format.I64)
        cut = node("and", (odd, whole(~surplus.attribute)), None, Format.I64)
        return node("convert", (node("bitcast", (cut,), None, Format.F64),), None, Format.F32)

    # ---- integers

    def _store_integer(self, a: Wide, result: ElementType) -> Expression:
        """Towards zero, saturating; NaN (which finite parameters never make of integers) becomes zero."""
        m, storage = self.m, STORAGE[result.name]
        if result.bits == 64:
            return self._store_wide_integer(a, result)
        value = m.single(a)
        value = m.select_(m.equal_(value, value), value, m.number(0.0))
        for limit, is_maximum in ((float(result.minimum), False), (float(result.maximum), True)):
            bound = m.number(limit)
            beyond = m.less_(bound, value) if is_maximum else m.less_(value, bound)
            value = m.select_(beyond, bound, value)
        return node("convert", (value,), None, storage)

    def _store_wide_integer(self, a: Wide, result: ElementType) -> Expression:
        """64 bits from a sum of two float64: the integer parts of both are added as integers."""
        m, storage = self.m, STORAGE[result.name]
        a = m.renormalised(m.unscaled(a))
        zero = m.number(0.0)
        low_part = zero if a.low is None else a.low
        negative = m.less_(a.high, zero)
        high = m.abs_(a.high)
        low = m.select_(negative, m.neg_(low_part), low_part)
        whole = m._make("floor", high)
        rest = m._make("floor", m.add_(m.sub_(high, whole), low))
        # abs(a) >= limit? Exactly: the sum is normalised.
        limit = m.number(2.0 ** (63 if result.kind == "signed" else 64))
        tied = node("and", (m.equal_(high, limit), m.less_equal_(zero, low)), None, Format.BIT)
        saturated = node("or", (m.less_(limit, high), tied), None, Format.BIT)
        is_number = m.equal_(whole, whole)
        usable = node("and", (m.less_equal_(whole, m.number(2.0**64 - 2.0**11)), is_number), None, Format.BIT)
        small = m.select_(usable, whole, zero)
        rest = m.select_(usable, rest, zero)
        unsigned = node("convert", (small,), None, Format.U64)
        # whole may be 2**63 or 2**64 and rest negative: the largest values below the limit.
        at_top = node("and", (m.equal_(whole, m.number(2.0**64)), m.not_(saturated)), None, Format.BIT)
        rest = m.select_(at_top, m._make("floor", low), rest)
        addend = node("bitcast", (node("convert", (rest,), None, Format.I64),), None, Format.U64)
        magnitude = node("add", (unsigned, addend), None, Format.U64)
        minimum = node("constant", (), result.minimum % 2**64, Format.U64)
        maximum = node("constant", (), result.maximum, Format.U64)
        if result.kind == "signed":
            minus = node("subtract", (node("constant", (), 0, Format.U64), magnitude), None, Format.U64)
            value = node("select", (negative, minus, magnitude), None, Format.U64)
            end = node("select", (negative, minimum, maximum), None, Format.U64)
        else:
            value = node("select", (negative, minimum, magnitude), None, Format.U64)
            end = node("select", (negative, minimum, maximum), None, Format.U64)
        value = node("select", (saturated, end, value), None, Format.U64)
        return value if storage is Format.U64 else node("bitcast", (value,), None, storage)

    # ---- numbers and truth values

    def truth(self, root: Expression) -> Expression:
        if root not in self.truths:
            self.truths[root] = self._truth(root)
        return self.truths[root]

    def _truth(self, root: Expression) -> Expression:
        match root.operation:
            case "less" | "less_equal" | "equal":
                return self.m.compare(root.operation, *map(self.number, root.operands))
            case "constant":
                return node("constant", (), root.attribute, Format.BIT)
            case "input":
                return _is_nonzero(_machine_leaf(root, self.inputs))
            case "row_first":
                value = node("row_value", (), (self.row_values[root], 0), Format.F64)
                return node("equal", (node("row_position", (), None, Format.F64), value), None, Format.BIT)
        operands = tuple(map(self.truth, root.operands))
        return node(root.operation, operands, None, Format.BIT)

    def number(self, root: Expression) -> Wide:
        for current in walk(root, operands=within_row):
            if current.format is Format.NUMBER and current not in self.numbers:
                self.numbers[current] = self._number(current)
        return self.numbers[root]

    def _number(self, root: Expression) -> Wide:
        m, operation = self.m, root.operation
        match operation:
            case "input":
                return self._input(root)
            case "parameter":
                value = self._from_double(node("parameter", (), root.attribute, Format.F64))
                if not m.extended:  # parameters have the precision of the results
                    value = node("convert", (node("convert", (value,), None, m.goal),), None, m.format)
                return Wide(value, interval=Interval(-m.largest, m.largest))
            case "constant":
                return m.wide(root.attribute)
            case "select":
                condition, a, b = root.operands
                choice = m.select(self.truth(condition), self.numbers[a], self.numbers[b])
                return replace(choice, interval=self._interval_of_extreme(root)) if is_extreme(root) else choice
            case "copy_sign":
                magnitude, sign = (self.numbers[operand] for operand in root.operands)
                return m.copy_sign(magnitude, m.single(sign))
            case "row_max" | "row_min" | "row_sum":
                return self._row_value(root)
        if _is_share(root):
            return m.multiply(*self._share(root))
        if operation in ("add", "subtract"):
            parts = self._of_element(root)
            if parts is not None and len(parts[2]) > 1:
                varying, is_negated, common = parts
                element = self.numbers[varying]
                return m.add(m.negate(element) if is_negated else element, self._of_row(common))
        operands = [self.numbers[operand] for operand in root.operands]
        if operation in RULES:
            return RULES[operation](m, *operands)
        if operation in ("floor", "ceiling", "truncate", "round_even"):
            return m.integral(operation, operands[0])
        result: Wide = getattr(m, operation)(*operands)
        if (
            operation == "subtract"
            and root.operands[1].operation == "row_max"
            and root.operands[1].operands[0] is root.operands[0]
        ):
            return replace(result, interval=Interval(-math.inf, 0.0))  # nothing is larger than the largest
        return result

    def _interval_of_extreme(self, root: Expression) -> Interval:
        """Of the larger of two numbers both bounds are the larger ones."""
        condition, a, b = root.operands
        extreme = min if condition.operands[0] is a else max
        first, second = self.numbers[a].interval, self.numbers[b].interval
        return Interval(extreme(first.low, second.low), extreme(first.high, second.high))

    def _input(self, root: Expression) -> Wide:
        m, kind = self.m, self.inputs[root.attribute]
        leaf = _machine_leaf(root, self.inputs)
        if kind.is_float:
            if leaf.format in (Format.F16, Format.BF16):
                leaf = node("convert", (leaf,), None, Format.F32)
            return Wide(leaf if leaf.format is m.format else node("convert", (leaf,), None, m.format))
        interval = Interval(float(kind.minimum), float(kind.maximum))
        if kind.bits < 64:
            return Wide(node("convert", (leaf,), None, m.format), interval=interval)
        # 64 bits do not fit: the upper and the lower 32 do, each.
        lower = node("and", (leaf, node("constant", (), 0xFFFFFFFF, leaf.format)), None, leaf.format)
        upper = node("subtract", (leaf, lower), None, leaf.format)
        high, low = (node("convert", (part,), None, Format.F64) for part in (upper, lower))
        return m.renormalised(Wide(high, low, interval=interval))
