"""Programs whose results are the correctly rounded values of their formulas, in three levels or four.

* Some float32 formulas are computed in pairs of float32 first (float_float_results.py), and functions of 16 bits in float32
  (single_results.py). The next level repairs what that leaves.
* The program itself computes in float64 with a bound of the error, and finds which results that leaves undecided
  (tested.py). Formulas that one operation rounds need no test (rounded_once.py).
* Its repair computes undecided elements again, in sums of two float64, and finds what is undecided still.
* That is left to enclosures with as many bits as it takes (ogive.enclosures.enclosure).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ogive.common.dtypes import ElementType
from ogive.common.keys import remembered
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import POWER
from ogive.graph.expression import ROW_NUMBERS, Expression, Format, depends_on_elements, in_format, node, walk
from ogive.lowering.cost import usual_cost, with_undecided
from ogive.lowering.float_float_results import float_float_results
from ogive.lowering.identities import beside_one, infinite_at_ends
from ogive.lowering.moderate import moderate_results
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.precisions import CORRECTED, CORRECTED_DOUBLES, CORRECTED_ELEMENTS, IN_WORDS, PROMOTED
from ogive.lowering.numerics.single import SingleBounded
from ogive.lowering.program import MASK, Level, Number, Program
from ogive.lowering.rounded_once import rounds_once
from ogive.lowering.single_results import single_results
from ogive.lowering.tested import SUMS, TestedReals, is_exact_often
from ogive.lowering.tested_doubles import TestedDoubles

if TYPE_CHECKING:
    from ogive.enclosures.near_zero import Leading

#: Results, and where these are undecided; None: nowhere.
Tested = tuple[tuple[Expression, ...], Expression | None]

#: Operations that leave a rest, and how many of these a formula has whose results are exact often.
ROUNDED, FEW = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE}), 8

#: Operations for which neither level has a rule with bounds.
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


def is_of_doubles(roots: Sequence[Expression], outputs: Sequence[ElementType]) -> bool:
    """Whether the formulas of elements have float64 results, which have a test of their own (tested_doubles.py)."""
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
    in_repair: Callable[[], Sequence[Expression]],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    parameter_count: int,
    in_pairs: Sequence[Expression] = (),
    *,
    decide: Decision,
) -> Program:
    """The program of the first level, which knows how to make the second, and is given the third.

    ``in_repair``: what makes the formulas of the second. ``in_pairs``: the formulas as pairs of float32 compute them, with
    functions that have a rule there alone.
    """
    inputs, outputs = tuple(inputs), tuple(outputs)

    def repair() -> Program:
        return repaired(in_repair(), inputs, outputs, parameter_count)

    def made(tested: Tested) -> Program:
        results, undecided = tested
        return Program(
            inputs,
            outputs,
            results,
            parameter_count=parameter_count,
            undecided=undecided,
            later=() if undecided is None else (Level(repair, has_mask=True),),
            decide=decide,
        )

    form = parameters_in(inputs, outputs)
    if is_of_doubles(roots, outputs):
        words = Bounded(IN_WORDS)
        last = made(TestedDoubles(words, inputs, form).tested_shortly(roots, outputs))
        return _level_before(last, moderate_results(last, roots, words))
    is_long = any(t.bits == 64 for t in (*inputs, *outputs))
    follows_rests = not is_long and _are_exact_often(roots)
    arithmetic = Bounded(CORRECTED if is_long else replace(PROMOTED, follows_rests=follows_rests))
    tested = TestedReals(arithmetic, inputs, form).tested_shortly(roots, outputs)
    follows_rests &= any(map(is_exact_often, roots)) and all(map(_is_arithmetic, walk(*roots)))
    short = single_results(roots, inputs, outputs, with_undecided(*tested), follows_rests)
    if short is None:
        last = made(tested)
        found = _level_before(last, moderate_results(last, roots, arithmetic))
    else:
        last = made(TestedReals(arithmetic, inputs, form, is_sharp=True).tested_shortly(roots, outputs))
        found = _behind_single(last, *short)
    pairs = float_float_results(in_pairs, inputs, outputs, last, usual_cost(found.first))
    return replace(found, first_levels=pairs) if pairs else found


def _are_exact_often(roots: Sequence[Expression]) -> bool:
    """Whether many results may be exact, or ties: they have few bits if a sum of operands and its products are what they are made
    of, and few operations. So has a sum that is an exponent, of which a power asks whether it is whole.
    """
    nodes = [n for n in walk(*roots) if depends_on_elements(n)]
    rounded = [n for n in nodes if n.operation in ROUNDED and all(map(depends_on_elements, n.operands))]
    sums = [n for n in rounded if n.operation in SUMS]
    has_sum = bool(sums) or any(n.operation is POWER and n.operands[1].operation in SUMS for n in nodes)
    return has_sum and len(sums) < len(rounded) <= FEW


def _is_arithmetic(root: Expression) -> bool:
    """Whether this is no function, and no constant that ends every hope of a number of few bits."""
    if root.operation is ops.CONSTANT and isinstance(root.attribute, Fraction):
        return not root.attribute.denominator & (root.attribute.denominator - 1)
    has_no_bits = root.operation.is_elementary or root.operation is ops.SQUARE_ROOT
    return not has_no_bits or root.operation.returns_operand


def _behind_single(
    made: Program,
    single: SingleBounded,
    computed: Sequence[Expression],
    results: Sequence[Expression],
    undecided: Expression | None,
) -> Program:
    """The program of float64 with one before it that computes in float32, and one of moderate operands before that.

    Where float32 has none of these it takes the place of the program, too, if that has a later level.
    """
    first = made.level_before(results=tuple(results), undecided=undecided)
    shorter = moderate_results(first, computed, single)
    if shorter is None and single.doubts_usual_parameters:
        return made
    if shorter is None:
        found = replace(made, results=first.results, undecided=undecided) if made.later else made
        return replace(found, first_levels=(first,))
    before = made if single.doubts_usual_parameters else first
    return replace(made, first_levels=(_level_before(before, shorter),))


def _level_before(made: Program, tested: Tested | None) -> Program:
    """A program with a level before it, if there is one."""
    return made if tested is None else made.level_before(results=tested[0], undecided=tested[1])


def repaired(
    roots: Sequence[Expression], inputs: tuple[ElementType, ...], outputs: tuple[ElementType, ...], parameter_count: int
) -> Program:
    """The program of the second level."""
    form = parameters_in(inputs, outputs)
    if is_of_doubles(roots, outputs):
        doubles = TestedDoubles(Bounded(CORRECTED_DOUBLES), inputs, form)
        results, undecided = doubles.tested(infinite_at_ends(roots), outputs)
    else:
        reals = TestedReals(Bounded(CORRECTED_ELEMENTS), inputs, form)
        results, undecided = reals.tested(beside_one(roots), outputs)
    mask = node(ops.CONSTANT, (), 0, Format.U8) if undecided is None else in_format(undecided, Format.U8)
    return Program(inputs, (*outputs, MASK), (*results, mask), parameter_count=parameter_count)


@dataclass(frozen=True)
class Decision:
    """The third level of a formula."""

    compute: Callable[[Sequence[Number], Sequence[float]], tuple[Number, ...]]
    used: frozenset[int]
    """The operands that the formula depends on."""
    leading: Callable[[tuple[float, ...]], Leading | None]
    """The series of its results next to zero, given the parameters."""
    by_magnitude: Callable[[Mapping[int, np.ndarray], Sequence[float]], list[tuple[np.ndarray, np.ndarray]] | None]
    """Its results, and where they are decided, by signs and magnitudes of operands in float64; None if that is not known."""

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
        from ogive.enclosures.enclosure import right_result

        return tuple(
            right_result(root, operands, named(tuple(parameters)), output, bits=bits, modular=modular)[0]
            for root, output in zip(roots, outputs, strict=True)
        )

    @remembered(maxsize=64)
    def named(parameters: tuple[float, ...]) -> Mapping[str, float]:
        with np.errstate(over="ignore"):
            return {
                name: float(np.float32(parameters[position])) if rounds else parameters[position]
                for position, name in names
            }

    @remembered(maxsize=64)
    def leading(parameters: tuple[float, ...]) -> Leading | None:
        from ogive.enclosures.near_zero import leading_beside_factors

        if len(roots) != 1:
            return None
        return leading_beside_factors(roots[0], used, named(parameters), inputs, outputs[0])

    def by_magnitude(
        operands: Mapping[int, np.ndarray], parameters: Sequence[float]
    ) -> list[tuple[np.ndarray, np.ndarray]] | None:
        from ogive.enclosures import magnitudes

        found = []
        for root, output in zip(roots, outputs, strict=True):
            decided = magnitudes.by_magnitude(root, operands, named(tuple(parameters)), output)
            if decided is None:
                return None
            found.append(decided)
        return found

    return Decision(decide, used, leading, by_magnitude)
