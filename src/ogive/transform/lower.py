"""Lower: a formula about real numbers becomes machine instructions for one combination of element types.

Four ways to compute, chosen by what the graph contains and what its operands are:

* **real** (floating types, and integers in operators such as Shrink): in float32 or float64 with
  corrections (`Wide`), or in float64 without them for results of fewer bits, whichever costs less; rounded once to
  the element type; to integers towards zero, saturating.
* **chosen** (integers, in graphs that only compare and select, such as Relu): in the integer type itself,
  which is exact and fast.
* **saturating** (integers, where every number on the way is whole and fits an integer type, as in PReLU): in that
  type, clamped once.
* **modular** (integers, in operators declared so, such as Add): in the integer type, wrapping around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ogive.dtypes import ElementType
from ogive.expression import ELEMENTARY, ELEMENTARY_OF_TWO, ROW_NUMBERS, Expression, Format, walk
from ogive.transform.conversions import fewer_conversions
from ogive.transform.cost import cost
from ogive.transform.integers import Integers, Saturating, format_of_whole_numbers, only_chooses
from ogive.transform.program import Program
from ogive.transform.reals import Reals
from ogive.transform.rowwise import within_row
from ogive.transform.usual import usual
from ogive.transform.wide import Arithmetic

__all__ = ["computes_in", "lower"]


def lower(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    *,
    modular: bool = False,
    parameter_count: int = 0,
    open_roots: Sequence[Expression] | None = None,
    reduces: bool = False,
) -> Program:
    """The program that computes the formulas for operands of these element types.

    With ``reduces`` results are not of elements: each is one number of a row.
    ``open_roots`` are the formulas as they were before parameters were bound, if any were. They decide in which format
    is computed, so that bound and open parameters give the same bits.
    """
    types = (*inputs, *outputs)
    integers = None if reduces or any(t.is_float for t in types) else _integers(roots, inputs, outputs, modular=modular)
    if integers is not None:
        results = tuple(integers.store(root, t) for root, t in zip(roots, outputs, strict=True))
        return Program(tuple(inputs), tuple(outputs), results, parameter_count=parameter_count)
    form = Format.F64 if computes_in(inputs, outputs) == "float64" else Format.F32

    def program(roots: Sequence[Expression], arithmetic: Arithmetic) -> Program:
        real = Reals(arithmetic, tuple(inputs))
        stages = real.reduce(roots, first_scratch=len(types))
        scratch = tuple(value.format for stage in stages for _, value in stage.kept)
        store = real.store_of_row if reduces else real.store
        results = fewer_conversions([store(root, t) for root, t in zip(roots, outputs, strict=True)])
        row_operands = frozenset(range(len(inputs), len(types)) if reduces else ())
        return Program(tuple(inputs), tuple(outputs), results, stages, scratch, parameter_count, None, row_operands)

    def with_usual(made: Program, arithmetic: Arithmetic) -> Program:
        return made if made.stages else replace(made, usual=usual(roots, inputs, outputs, arithmetic, made.results))

    arithmetic = Arithmetic(form)
    if reduces and form is Format.F32 and _sums_products(roots):
        arithmetic = arithmetic.longer
    is_strict = any(t.name == "bfloat16" or t.is_integer for t in outputs)
    if form is Format.F64 or is_strict or not _may_be_longer(roots):
        return with_usual(program(roots, arithmetic), arithmetic)
    # Corrections in float32, or twice as many registers: the longer a formula, the more there is to correct. (Results
    # in bfloat16 are promised to be the nearest number. Corrections see on which side of a tie a value lies that
    # is 1e-14 units away from it, as softplus(33.75) is; float64 does not. And what becomes an
    # integer is cut off: 3**2 must not be 8.)
    candidates = (arithmetic, arithmetic.longer)
    programs = [program(open_roots or roots, candidate) for candidate in candidates]
    costs = [cost(found.results) for found in programs]
    chosen = costs.index(min(costs))
    made = program(roots, candidates[chosen]) if open_roots else programs[chosen]
    return with_usual(made, candidates[chosen])


def _integers(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], *, modular: bool
) -> Integers | None:
    """How integers are computed without real numbers, if they can be."""
    types = (*inputs, *outputs)
    if modular or only_chooses(roots, types):
        return Integers(tuple(inputs))
    form = format_of_whole_numbers(roots, types)
    return None if form is None else Saturating(tuple(inputs), form)


#: What depends on how its operand is rounded, and what rows do with their own formats.
_STEPS = {"floor", "ceiling", "truncate", "round_even", "remainder"}


def _may_be_longer(roots: Sequence[Expression]) -> bool:
    """Whether a program in float32 with corrections could as well be one in float64 without."""
    return {current.operation for current in walk(*roots)}.isdisjoint(_STEPS | ROW_NUMBERS)


def _sums_products(roots: Sequence[Expression]) -> bool:
    """Whether sums of what float32 would round, and float64 holds exactly or nearly so, are asked for.

    Elementary functions are left out: they would take twice the time, and are as good as their operands.
    """
    summed = [current.operands[0] for current in walk(*roots) if current.operation == "row_sum"]
    found = {current.operation for current in walk(*summed, operands=within_row)}
    return not found.isdisjoint({"add", "subtract", "multiply"}) and found.isdisjoint((*ELEMENTARY, *ELEMENTARY_OF_TWO))


def computes_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> str:
    """The format in which real numbers are computed for these operands."""
    return max(t.computes_in for t in (*inputs, *outputs))
