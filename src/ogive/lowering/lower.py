"""Lower: a formula about real numbers becomes machine instructions for one combination of element types.

Four ways to compute, chosen by what the graph contains and what its operands are:

* **real** (floating types, and integers in operators such as Shrink): in float32 or float64 with
  corrections (`DoubleWord`), or in float64 with a bound for results of fewer bits; rounded once to
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
from functools import partial

from ogive.common.contracts import IN_FLOAT
from ogive.common.dtypes import ElementType
from ogive.differentiation.slope_forms import with_slopes
from ogive.graph.expression import ROW_NUMBERS, Expression, Format, walk
from ogive.graph.limits import stored_in, with_limits
from ogive.lowering.exact import computes_in, decider, is_of_doubles, needs_test, with_test
from ogive.lowering.exact_rows import (
    decided_by_rows,
    needs_no_bounds,
    row_decider,
    rows_with_test,
)
from ogive.lowering.fast_contract import fast
from ogive.lowering.fast_rows import fast_rows
from ogive.lowering.identities import as_computed
from ogive.lowering.integers import (
    Integers,
    format_of_rows,
    format_of_whole_numbers,
    only_chooses,
    whole_rows,
)
from ogive.lowering.numerics.double_word import Arithmetic
from ogive.lowering.numerics.elementary.function_row import known_in_pairs, known_in_single
from ogive.lowering.program import MASK, Program
from ogive.lowering.row_extremes import with_signs_of_extremes
from ogive.lowering.single_precision import in_single_precision
from ogive.lowering.untested_elements import untested, with_short_products
from ogive.lowering.untested_rows import UntestedRows, untested_rows


def lower(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    *,
    modular: bool = False,
    parameter_count: int = 0,
    reduces: bool = False,
    accuracy: str = "exact",
) -> Program:
    """The program that computes the formulas for operands of these element types.

    With ``reduces`` results are not of elements: each is one number of a row.
    ``accuracy`` is the contract (common/contracts.py), or float32 alone, which exported C of the fast contract has.
    """
    types = (*inputs, *outputs)
    stored = stored_in(inputs, outputs)
    is_single = computes_in(inputs, outputs) == "float32"
    real = with_limits(roots, stored, rounds_parameters=is_single)
    roots = with_limits(roots, stored, in_float64=True, rounds_parameters=is_single)
    if accuracy == IN_FLOAT:
        return in_single_precision(as_computed(roots, keep=known_in_single()), inputs, outputs, parameter_count)
    if reduces and modular:
        return whole_rows(roots, inputs, outputs, format_of_rows(roots, inputs), parameter_count)
    integers = None if reduces else computed_in_integers(roots, inputs, outputs, modular=modular)
    if integers is not None:
        results = tuple(integers.store(root, t) for root, t in zip(roots, outputs, strict=True))
        decide = decider(roots, inputs, outputs, modular=modular)
        return Program(tuple(inputs), tuple(outputs), results, parameter_count=parameter_count, decide=decide)
    if needs_test(roots, inputs, outputs, reduces=reduces):
        in_pairs = as_computed(roots, keep=known_in_pairs())
        decide = decider(roots, inputs, outputs)
        in_repair = partial(as_computed, roots, states_limits=True)
        made = with_test(as_computed(roots), in_repair, inputs, outputs, parameter_count, in_pairs, decide=decide)
        if accuracy == "exact":
            return made
        return fast(made, as_computed(roots, keep=known_in_single()), inputs, outputs)
    if not reduces and is_of_doubles(roots, outputs):
        decide = decider(real, inputs, outputs)  # which knows of no infinity but those of operands
        in_repair = partial(as_computed, roots, of_doubles=True, states_limits=True)
        computed = as_computed(roots, of_doubles=True)
        return with_test(computed, in_repair, inputs, outputs, parameter_count, decide=decide)
    has_rows = reduces or not {n.operation for n in walk(*roots)}.isdisjoint(ROW_NUMBERS)
    if not has_rows:
        decide = decider(roots, inputs, outputs)
        roots = as_computed(roots)
        arithmetic = _arithmetic_of(roots, inputs, outputs)
        made = untested(roots, inputs, outputs, arithmetic, parameter_count)
        return with_short_products(replace(made, decide=decide), roots, arithmetic)
    is_fast = accuracy == "fast" and not any(t.name == "float64" for t in types)  # which both contracts have alike
    decide_row = row_decider(roots, real, inputs, outputs, reduces=reduces)
    tested = rows_with_test(roots, inputs, outputs, parameter_count, reduces=reduces)
    if is_fast:
        plain = with_slopes(with_signs_of_extremes(roots))
        made = fast_rows(plain, inputs, outputs, parameter_count, reduces=reduces, exact=tested)
        return replace(made, decide_row=decide_row)
    if tested is not None:
        return replace(tested, decide_row=decide_row)
    arithmetic = _arithmetic_of(roots, inputs, outputs)

    def made_for(results: Sequence[ElementType]) -> Program:
        rows, plain = UntestedRows(arithmetic, tuple(inputs)), with_slopes(with_signs_of_extremes(roots))
        return untested_rows(rows, plain, results, parameter_count, reduces=reduces)

    made = made_for(outputs)
    if not needs_no_bounds(roots):
        made = decided_by_rows(made, lambda: made_for((*outputs, MASK)))
    return replace(made, decide_row=decide_row)


def _arithmetic_of(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType]
) -> Arithmetic:
    """The machine that computes without a rounding test: float64 where an operand is a number of it, or the formulas have functions."""
    has_functions = any(n.operation.is_elementary and not n.operation.returns_operand for n in walk(*roots))
    is_long = has_functions or computes_in(inputs, outputs) == "float64"
    return Arithmetic(Format.F64 if is_long else Format.F32)


def computed_in_integers(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], *, modular: bool
) -> Integers | None:
    """How integers are computed without real numbers, if they can be."""
    types = (*inputs, *outputs)
    if any(t.is_float for t in types):
        return None
    if modular or only_chooses(roots, types):
        return Integers(tuple(inputs))
    form = format_of_whole_numbers(roots, types)
    return None if form is None else Integers(tuple(inputs), form, saturates=True)
