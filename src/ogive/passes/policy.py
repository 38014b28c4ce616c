"""Which arithmetic computes a formula of rows, of float64 results, or one that a single operation rounds.

Others are correctly rounded whatever computes them (exact.py). Here results depend on the arithmetic in their last bits: it
is a rule about the formula and its element types, and about nothing else. So no speed, no machine and no detail of lowering may decide it:
those change, and results must not. `VERSION` counts the changes of this rule.

Real numbers are computed in the format that their element types ask for (`computes_in`): with corrections
(double-word numbers), or, for results of fewer bits, without them in float64 ("promoted"). Corrections take several
instructions for each operation; float64 takes twice the registers. So short formulas keep the corrections, and long
ones are promoted:

* float64 results, bfloat16 results and results that become integers always keep the corrections. (bfloat16 results
  are promised to be the nearest number, and integers are cut off: ``3**2`` must not be 8.) So do formulas of rows,
  and formulas with steps, which jump where an operand is rounded.
* All others add up points for every operation that needs corrections (`points`). float32 results are promoted from
  more than 8 points on, float16 results from more than 6.

=============================================================  ======
operation                                                      points
=============================================================  ======
an elementary function                                         9
a sum or difference with a parameter                           7
another sum or difference                                      3
a product, quotient or square root                             2
comparisons, choices, signs, the larger or smaller of two      0
=============================================================  ======

Some operations need no correction, and have no points:

* an operation on exact numbers whose result is a result of the formula: one instruction rounds it once. For float32
  results that is so of the sum in a fused multiply-add, and of the functions with a short rule of their own. For
  float16 results a sum with a parameter has its points in any case.
* a product with a power of two, which is exact.

Exact are the operands, parameters and constants, and what is only chosen among them. Results of the formula are its
roots and what they only choose among; comparing a result with a constant does not change that.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import ROW_NUMBERS, Expression, Format, walk
from ogive.numerics.double_word import Arithmetic
from ogive.passes.rowwise import within_row

__all__ = ["VERSION", "arithmetic_of", "computes_in", "points"]

#: Of the rule. Whoever changes which arithmetic a formula gets, counts it up.
VERSION = 2

POINTS_OF_SUM_WITH_PARAMETER = 7

#: By the element type of results: the points up to which corrections are kept.
MOST_POINTS = {"float32": 8, "float16": 6}


def computes_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> str:
    """The format in which real numbers are computed for these operands, if they are not promoted."""
    return max(t.computes_in for t in (*inputs, *outputs))


def arithmetic_of(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    *,
    reduces: bool = False,
) -> Arithmetic:
    """The arithmetic of a formula about real numbers, whose parameters are open.

    ``reduces``: each result is one number of a row.
    """
    arithmetic = Arithmetic(Format.F64 if computes_in(inputs, outputs) == "float64" else Format.F32)
    if reduces and arithmetic.format is Format.F32 and _sums_products(roots):
        arithmetic = arithmetic.promotion
    is_strict = any(t.name == "bfloat16" or t.is_integer for t in outputs)
    if arithmetic.format is Format.F64 or is_strict:
        return arithmetic
    if any(current.operation.is_step or current.operation in ROW_NUMBERS for current in walk(*roots)):
        return arithmetic
    kind = "float16" if any(t.name == "float16" for t in outputs) else "float32"
    return arithmetic.promotion if points(roots, kind) > MOST_POINTS[kind] else arithmetic


def _sums_products(roots: Sequence[Expression]) -> bool:
    """Whether sums of what float32 would round, and float64 holds exactly or nearly so, are asked for.

    Elementary functions are left out: they would take twice the time, and are as good as their operands.
    """
    summed = [current.operands[0] for current in walk(*roots) if current.operation == ops.ROW_SUM]
    found = {current.operation for current in walk(*summed, operands=within_row)}
    rounds = not found.isdisjoint({ops.ADD, ops.SUBTRACT, ops.MULTIPLY})
    return rounds and not any(operation.is_elementary for operation in found)


def points(roots: Sequence[Expression], kind: str) -> int:
    """How much there is to correct in formulas of ``float16`` or ``float32`` results."""
    exact = _exact(roots)
    results = _results(roots)
    total = 0
    for current in walk(*roots):
        is_result = current in results and _needs_no_correction(current, exact, kind)
        if current.operation.points and current not in exact and not is_result:
            total += POINTS_OF_SUM_WITH_PARAMETER if _is_sum_with_parameter(current) else current.operation.points
    return total


def _is_sum_with_parameter(current: Expression) -> bool:
    return current.operation in (ops.ADD, ops.SUBTRACT) and any(n.operation == ops.PARAMETER for n in current.operands)


def _needs_no_correction(current: Expression, exact: set[Expression], kind: str) -> bool:
    """Whether one instruction or a short rule computes this result of the formula."""
    operation = current.operation
    if operation.is_elementary and not operation.returns_operand and kind not in operation.short_for:
        return False
    if kind == "float16" and _is_sum_with_parameter(current):
        return False
    if exact.issuperset(current.operands):
        return True
    if kind != "float32" or current.operation not in (ops.ADD, ops.SUBTRACT):
        return False
    # One instruction multiplies and adds.
    first, second = current.operands
    return any(
        product.operation == ops.MULTIPLY and exact.issuperset((*product.operands, other))
        for product, other in ((first, second), (second, first))
    )


def _exact(roots: Sequence[Expression]) -> set[Expression]:
    """The nodes that nothing has rounded."""
    found: set[Expression] = set()
    for current in walk(*roots):
        is_kept = current.operation.returns_operand or _is_product_with_power_of_two(current)
        numbers = [operand for operand in current.operands if operand.format is Format.NUMBER]
        if not current.operands or (is_kept and found.issuperset(numbers)):
            found.add(current)
    return found


def _is_product_with_power_of_two(current: Expression) -> bool:
    return current.operation == ops.MULTIPLY and any(
        n.operation == ops.CONSTANT and isinstance(n.attribute, Fraction) and _is_power_of_two(abs(n.attribute))
        for n in current.operands
    )


def _is_power_of_two(value: Fraction) -> bool:
    return {value.numerator.bit_count(), value.denominator.bit_count()} == {1}


def _results(roots: Sequence[Expression]) -> set[Expression]:
    """The roots and what they choose among, but for what is computed with."""
    found = dict.fromkeys(walk(*roots, operands=_chosen_among))
    computed_with: set[Expression] = set()
    for current in walk(*roots):
        chosen = set(_chosen_among(current)) if current in found else set()
        is_with_constant = current.format is Format.TRUTH and any(n.operation == ops.CONSTANT for n in current.operands)
        if not is_with_constant:
            computed_with.update(operand for operand in current.operands if operand not in chosen)
    return {current for current in found if current not in computed_with}


def _chosen_among(current: Expression) -> Sequence[Expression]:
    if not current.operation.returns_operand:
        return ()
    return current.operands[1:] if current.operation == ops.SELECT else current.operands
