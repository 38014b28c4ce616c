"""Programs whose results are the correctly rounded values of their formulas, in three levels or four.

* Some float32 formulas are computed in pairs of float32 first (paired_results.py). The next level repairs what that leaves.
* The program itself computes in float64 with a bound of the error, and finds which results that leaves undecided
  (tested.py). Formulas that one operation rounds need no test (rounds_once.py).
* Its repair computes undecided elements again, in sums of two float64, and finds what is undecided still.
* That is left to enclosures with as many bits as it takes (ogive.enclosure).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import ROW_NUMBERS, Expression, Format, node, walk
from ogive.numerics.bounded import Bounded
from ogive.numerics.truths import except_where
from ogive.passes.cost import with_undecided
from ogive.passes.fast_path import fast_path
from ogive.passes.paired_results import paired_results
from ogive.passes.rounds_once import rounds_once
from ogive.passes.short_results import short_results
from ogive.passes.tested import TestedReals
from ogive.passes.tested_doubles import TestedDoubles
from ogive.program import MASK, Number, Program, Source, substituted

if TYPE_CHECKING:
    from ogive.near_zero import Line

__all__ = ["computes_in", "decider", "is_of_doubles", "needs_test", "parameters_in", "repaired", "with_test"]

#: What neither level has a rule for with bounds.
NO_TEST = frozenset({*ROW_NUMBERS, ops.INTEGER_POWER, ops.BIT_SHIFT_LEFT, ops.BIT_SHIFT_RIGHT, ops.BIT_COUNT})


def needs_test(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], *, reduces: bool = False
) -> bool:
    """Whether the formulas get a rounding test: all but those of rows and of float64, and those that need none."""
    types = (*inputs, *outputs)
    if reduces or any(t.name == "float64" for t in types):
        return False
    if not {current.operation for current in walk(*roots)}.isdisjoint(NO_TEST):
        return False
    if all(map(_is_quantized, roots)):
        return False
    return not rounds_once(roots, inputs, outputs)


def is_of_doubles(roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> bool:
    """Whether the formulas of elements have float64 results, which are tested too: not for the nearest number, but for
    0.51 units in the last place (tested_doubles.py).
    """
    if not any(t.name == "float64" for t in outputs) or not all(t.name in ("float64", "bool") for t in outputs):
        return False
    return {current.operation for current in walk(*roots)}.isdisjoint(NO_TEST)


def _is_quantized(root: Expression) -> bool:
    """Whether this is ``round(x / scale) + zero_point`` of operands.

    There the standards round the quotient to a floating-point number first: 0.5 / 0.019607844 is a little less than 25.5,
    and becomes 26.
    """
    if root.operation == ops.ADD and root.operands[1].operation == ops.INPUT:
        root = root.operands[0]
    if root.operation != ops.ROUND_EVEN or root.operands[0].operation != ops.DIVIDE:
        return False
    return all(operand.operation == ops.INPUT for operand in root.operands[0].operands)


def computes_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> str:
    """The format in which numbers of these operands are computed."""
    return max(t.computes_in for t in (*inputs, *outputs))


def parameters_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> Format:
    """The format that parameters are rounded to."""
    return Format.F32 if computes_in(inputs, outputs) == "float32" else Format.F64


def with_test(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    parameter_count: int,
    *,
    decide: Decision,
) -> Program:
    """The program of the first level, which knows how to make the second, and is given the third."""
    inputs, outputs = tuple(inputs), tuple(outputs)
    form = parameters_in(inputs, outputs)
    is_long = any(t.bits == 64 for t in (*inputs, *outputs))
    if is_of_doubles(roots, inputs, outputs):
        arithmetic = Bounded(Format.F64, is_long=False, of_doubles=True)
        results, undecided = TestedDoubles(arithmetic, inputs, form).tested_shortly(roots, outputs)
    else:
        arithmetic = Bounded(Format.F64, goal=None if is_long else Format.F32)
        results, undecided = TestedReals(arithmetic, inputs, form).tested_shortly(roots, outputs)
    source = Source(tuple(roots), arithmetic)
    short = short_results(roots, inputs, outputs, with_undecided(results, undecided))
    if short is None:
        path = fast_path(roots, inputs, outputs, arithmetic, with_undecided(results, undecided))
    else:
        single, computed, found, doubt = short
        path = fast_path(computed, inputs, outputs, single, with_undecided(found, doubt))
        if path is None:
            results, undecided = found, doubt
        # Else float64 computes blocks with large operands, of which float32 would leave many to the repair.

    def repair() -> Program:
        return repaired(roots, inputs, outputs, parameter_count)

    made = Program(
        inputs,
        outputs,
        results,
        parameter_count=parameter_count,
        fast_path=path,
        source=source,
        undecided=undecided,
        repair=None if undecided is None else repair,
        decide=decide,
    )
    return replace(made, paired=paired_results(roots, inputs, outputs, made))


def repaired(
    roots: Sequence[Expression], inputs: tuple[ElementType, ...], outputs: tuple[ElementType, ...], parameter_count: int
) -> Program:
    """The program of the second level."""
    form = parameters_in(inputs, outputs)
    if is_of_doubles(roots, inputs, outputs):
        doubles = TestedDoubles(Bounded(Format.F64, of_doubles=True), inputs, form)
        results, undecided = doubles.tested(roots, outputs)
        around_them = TestedDoubles(Bounded(Format.F64, of_doubles=True), inputs, form, is_beside=True)
        _, around = around_them.tested(_beside(roots, inputs, parameter_count), outputs)
        undecided = except_where(undecided, around)
    else:
        reals = TestedReals(Bounded(Format.F64, knows_what_is_beyond_range=True), inputs, form)
        results, undecided = reals.tested(roots, outputs)
    mask = (
        node(ops.CONSTANT, (), 0, Format.U8) if undecided is None else node(ops.CONVERT, (undecided,), None, Format.U8)
    )
    return Program(inputs, (*outputs, MASK), (*results, mask), parameter_count=parameter_count)


#: How far from an element its surroundings are looked at, relative to each operand.
BESIDE = tuple(Fraction(1) + Fraction(k, 1 << 10) for k in (1, -2, 3, -5))


def _beside(
    roots: Sequence[Expression], inputs: tuple[ElementType, ...], parameter_count: int
) -> tuple[Expression, ...]:
    """The formulas a little beside the operands.

    Enclosures are for few elements: those beside a zero of the formula, where two words lose all their bits. Where the
    surroundings are undecided too, whole arrays may be: there the repair's results stay. So data cannot choose the price.
    """
    operands = {current.attribute: current for current in walk(*roots) if current.operation == ops.INPUT}
    for i, operand in operands.items():
        if inputs[i].is_float:
            factor = node(ops.CONSTANT, (), BESIDE[i % len(BESIDE)], Format.NUMBER)
            operands[i] = node(ops.MULTIPLY, (operand, factor), None, Format.NUMBER)
    moved = [operands.get(i, node(ops.INPUT, (), i, Format.NUMBER)) for i in range(len(inputs))]
    return substituted(roots, moved, 0, parameter_count)


@dataclass(frozen=True)
class Decision:
    """The third level of a formula."""

    compute: Callable[[Sequence[Number], Sequence[float]], tuple[Number, ...]]
    used: frozenset[int]
    """The operands that the formula depends on."""
    line: Callable[[tuple[float, ...]], Line | None]
    """The line beside which its results lie next to zero, given the parameters."""

    def __call__(self, operands: Sequence[Number], parameters: Sequence[float]) -> tuple[Number, ...]:
        return self.compute(operands, parameters)


def decider(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    *,
    modular: bool = False,
) -> Decision:
    """The third level: what computes the results of one element."""
    rounds = parameters_in(inputs, outputs) is Format.F32
    used = frozenset(n.attribute for n in walk(*roots) if n.operation == ops.INPUT)
    names = {n.attribute for n in walk(*roots) if n.operation == ops.PARAMETER}
    bits = max((t.bits for t in inputs), default=64)

    def decide(operands: Sequence[Number], parameters: Sequence[float]) -> tuple[Number, ...]:
        from ogive.enclosure import right_result

        return tuple(
            right_result(root, operands, named(parameters), output, bits=bits, modular=modular)[0]
            for root, output in zip(roots, outputs, strict=True)
        )

    def named(parameters: Sequence[float]) -> dict[str, float]:
        with np.errstate(over="ignore"):
            return {
                name: float(np.float32(parameters[position])) if rounds else parameters[position]
                for position, name in names
            }

    @lru_cache(maxsize=64)
    def line(parameters: tuple[float, ...]) -> Line | None:
        from ogive.near_zero import line_beside_factors

        if len(roots) != 1 or outputs[0].name != "float32":
            return None
        return line_beside_factors(roots[0], used, named(parameters), inputs, outputs[0])

    return Decision(decide, used, line)
