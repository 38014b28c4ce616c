"""The fast path for operands of moderate size: shorter graphs of the same results.

If |x| is below a limit, clamps against overflow and the fix-up of NaN results change nothing. A shorter graph without
them gives the same bits. One comparison for a block of elements selects it, and no other instruction waits for that
comparison. So it makes no difference to results which path a block takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ogive.common.dtypes import ElementType
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, constant, depends_on_elements, in_format, node, walk
from ogive.lowering.cost import cost, with_undecided
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.precisions import PROMOTED
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from ogive.lowering.numerics.truths import either
from ogive.lowering.program import FastPath, Program, stored_operand, substituted
from ogive.lowering.single_results import SingleReals
from ogive.lowering.tested import TestedReals

__all__ = ["fast_path", "fast_path_of_steps"]

#: The magnitudes that are tried as limits of the fast path; the one that saves most is taken. Below the first nothing
#: overflows that float64 computes for float32. Below the second exp() is a normal number of float32. Below the third
#: formulas decide which of their own branches to take: gelu and softplus have a fast path by it alone.
LIMITS = (256.0, 87.25, 60.0, 36.0)

#: The limits for results of 16 bits, whose rules in float32 hold up to smaller operands.
SHORT_LIMITS = (80.0, 12.75)

#: Smaller operands take the long path, zeros too: then results are normal numbers of float32, and their test is short.
LEAST = 2.0**-40

#: The saving that the path must make, in the unit of costs, beside its comparison: the branch itself takes time too.
WORTHWHILE = 1.4

#: Longer programs have one path only: a second one takes half as long again to compile.
MOST_COST_OF_STEPS = 600

SINGLE = Machine(Format.F32)


def fast_path(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    arithmetic: Bounded,
    results: Sequence[Expression],
) -> FastPath | None:
    """The shorter form of the results, and of the tests of these, where there is one that is worth a comparison."""
    is_short = isinstance(arithmetic, SingleBounded)
    if not inputs or (len(inputs) != 1 if is_short else not _is_of_singles(inputs, outputs)):
        return None
    operands = [stored_operand(node(ops.INPUT, (), i, Format.NUMBER), tuple(inputs)) for i in range(len(inputs))]
    best, least = None, cost(results) - WORTHWHILE
    for limit in SHORT_LIMITS if is_short else LIMITS:
        lie = [_around_zero(limit)] * len(inputs)
        if isinstance(arithmetic, SingleBounded):
            single = SingleBounded(arithmetic.goal, are_moderate=arithmetic.are_moderate)
            reals: _KnownReals = _KnownSingle(single, tuple(inputs), lie, limit=limit)
            try:
                found, undecided = reals.tested(roots, outputs)
            except NoSingle:
                continue
        else:
            reals = _KnownReals(arithmetic, tuple(inputs), lie, limit=limit, least=LEAST)
            found, undecided = reals.tested_shortly(roots, outputs)
        least_limit = SINGLE.number(limit)
        for other in reals.limits():
            least_limit = SINGLE.select_(SINGLE.less_(other, least_limit), other, least_limit)
        magnitudes, most = [_magnitude(operand) for operand in operands], _bits(least_limit, arithmetic.goal)
        if not is_short:  # as unsigned integers, numbers below the least are larger than all others
            bottom = SINGLE.number(LEAST)
            least_limit = SINGLE.select_(SINGLE.less_(least_limit, bottom), bottom, least_limit)
            *magnitudes, most = (
                node(ops.SUBTRACT, (bits, _bits(bottom)), None, Format.U32)
                for bits in (*magnitudes, _bits(least_limit))
            )
        candidate = FastPath(_largest(magnitudes), most, found, limit, undecided)
        price = _price(candidate)
        if price < least:
            best, least = candidate, price
    return best


def _is_of_singles(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> bool:
    return {t.name for t in (*inputs, *outputs)} == {"float32"}


def _bits(single: Expression, form: Format = Format.F32) -> Expression:
    """The bits of a float32, or of the number of 16 bits next to it: no smaller one of these is less than it."""
    if form is Format.F16:
        return node(ops.BITCAST, (in_format(single, form),), None, Format.U16)
    bits = node(ops.BITCAST, (single,), None, Format.U32)
    if form is Format.F32:
        return bits
    return in_format(node(ops.SHIFT_RIGHT, (bits,), 16, Format.U32), Format.U16)


def _magnitude(operand: Expression) -> Expression:
    if operand.format is Format.F32:
        return _bits(SINGLE.abs_(operand))
    without_sign = node(ops.CONSTANT, (), 0x7FFF, Format.U16)
    return node(ops.AND, (node(ops.BITCAST, (operand,), None, Format.U16), without_sign), None, Format.U16)


def _largest(magnitudes: Sequence[Expression]) -> Expression:
    largest, *others = magnitudes
    for other in others:
        is_larger = node(ops.LESS, (largest, other), None, Format.BIT)
        largest = node(ops.SELECT, (is_larger, other, largest), None, Format.U32)
    return largest


def _price(path: FastPath) -> float:
    """The cost of an element of moderate size."""
    tests = () if path.undecided is None else (path.undecided,)
    return cost((node(ops.LESS, (path.magnitude, path.limit), None, Format.BIT), *path.results, *tests))


def fast_path_of_steps(
    inputs: Sequence[ElementType],
    steps: Sequence[tuple[Program, Sequence[int]]],
    outputs: Sequence[int],
    careful: Sequence[Expression],
    undecided: Expression | None,
) -> FastPath | None:
    """The fast path of programs one after the other, where it is worth a comparison. fuse.py numbers the values;
    ``careful`` are they, and ``undecided`` says where they may be wrong.

    Where the inputs are smaller than a limit, intervals say how large the results of the first steps are at most, with
    these how large those of the next are, and so on. A step with such operands is lowered once more, for them alone.
    All other steps are computed as ever. So the bits are the same.
    """
    paths = [program.fast_path for program, _ in steps if program.fast_path is not None]
    price = cost(with_undecided([careful[i] for i in outputs], undecided))
    checked = _inputs_to_check(inputs, steps)
    if not paths or not checked or price > MOST_COST_OF_STEPS:  # nothing to check: all such steps are of constants
        return None
    limit = min(path.most for path in paths)
    largest: list[float | None] = [limit if i in checked else None for i in range(len(inputs))]
    least = [0.0] * len(inputs)
    values = list(careful[: len(inputs)])
    least_limit = SINGLE.number(limit)
    first = 0
    tests: list[Expression] = []
    for program, operands in steps:
        end = first + program.parameter_count
        given = [values[i] for i in operands]
        known = _known(program, [largest[i] for i in operands], [least[i] for i in operands], limit)
        made = program if known is None else known
        values.extend(substituted(made.results, given, first, end))
        tests.extend(() if made.undecided is None else substituted((made.undecided,), given, first, end))
        largest.extend([None] * len(program.outputs) if known is None else known.largest)
        least.extend([0.0] * len(program.outputs) if known is None else known.least)
        for other in () if known is None else substituted(known.limits, given, first, end):
            if operands[0] < len(inputs):
                least_limit = SINGLE.select_(SINGLE.less_(other, least_limit), other, least_limit)
            else:  # parameters decide: all elements are small enough, or the path is not taken
                most = SINGLE.number(SINGLE.rounded(Fraction(_around_zero(largest[operands[0]] or 0.0).high)))
                least_limit = SINGLE.select_(SINGLE.less_(most, other), least_limit, SINGLE.number(0.0))
        first = end
    magnitude = _largest([_magnitude(values[i]) for i in checked])
    found = FastPath(magnitude, _bits(least_limit), tuple(values[i] for i in outputs), limit, either(*tests))
    return found if _price(found) < price - WORTHWHILE else None


def _inputs_to_check(inputs: Sequence[ElementType], steps: Sequence[tuple[Program, Sequence[int]]]) -> list[int]:
    """The inputs of float32 that a step with a fast path depends on."""
    begins = []
    count = len(inputs)
    for program, _ in steps:
        begins.append(count)
        count += len(program.outputs)
    needed: set[int] = set()
    for (program, operands), begin in zip(reversed(steps), reversed(begins), strict=True):
        if program.fast_path is not None or not needed.isdisjoint(range(begin, begin + len(program.outputs))):
            needed.update(operands)
    return [i for i, t in enumerate(inputs) if i in needed and t.name == "float32"]


@dataclass(frozen=True)
class _Known:
    """A step for operands in known intervals."""

    results: tuple[Expression, ...]
    largest: tuple[float | None, ...]
    """The number that no magnitude of a result is larger than."""
    least: tuple[float, ...]
    """The number that no magnitude of a result is smaller than, but zero."""
    limits: tuple[Expression, ...]
    """The limit of the magnitude of its operand."""
    undecided: Expression | None


def _known(program: Program, largest: Sequence[float | None], least: Sequence[float], limit: float) -> _Known | None:
    """The step where no magnitude of an operand is larger; None where that says nothing about it."""
    source = program.source
    magnitudes = [magnitude for magnitude in largest if magnitude is not None]
    if source is None or len(magnitudes) < len(largest) or not _is_of_singles(program.inputs, program.outputs):
        return None
    roots, lie = source.formulas, list(map(_around_zero, magnitudes))
    of_one = {"limit": limit, "least": least[0]} if len(magnitudes) == 1 else {}
    reals = _KnownReals(Bounded(PROMOTED), program.inputs, lie, **of_one)
    results, undecided = program.results, program.undecided
    if isinstance(source.arithmetic, Bounded):
        results, undecided = reals.tested_shortly(roots, program.outputs)
    smallest = tuple(map(reals.least_result, roots))
    return _Known(results, tuple(map(reals.largest_result, roots)), smallest, tuple(reals.limits()), undecided)


class _KnownReals(TestedReals):
    """The nodes that are needed only where the operands are numbers, in certain intervals around zero.

    ``limit``: products of the operand with parameters are smaller, or as `limits` says; without it nothing is known of these.
    ``least``: the smallest magnitude of the operands.
    """

    def __init__(
        self,
        arithmetic: Bounded,
        inputs: tuple[ElementType, ...],
        operands_lie: Sequence[Interval],
        *,
        limit: float = math.inf,
        least: float = 0.0,
    ) -> None:
        super().__init__(arithmetic, inputs, Format.F32)
        self.lies, self.limit, self.least = operands_lie, limit, least
        self.products_lie = _around_zero(limit)
        self.scales: dict[Expression, Expression] = {}
        """The factors of products with the operand, where they are known to be small."""
        self.are_numbers: dict[Expression, bool] = {}

    def largest_result(self, root: Expression) -> float | None:
        """The number that no magnitude of the result is larger than, rounded to float32; None where it may be NaN or infinite."""
        if root.format is not Format.NUMBER or not self._is_number(root):
            return None
        largest = max(1.0, self.number(root).interval.largest_magnitude)
        return largest if largest < SINGLE.largest / 2 else None

    def least_result(self, root: Expression) -> float:
        """The number that no magnitude of the result is smaller than, rounded to float32, but zero."""
        if root.format is not Format.NUMBER:
            return 0.0
        least = self.number(root).error.least * (1 - 2.0**-20)
        return least if least >= SINGLE.smallest_normal else 0.0

    def _input(self, root: Expression) -> DoubleWord:
        value, lies = super()._input(root), self.lies[root.attribute]
        largest, least = min(value.error.largest, lies.largest_magnitude), max(value.error.least, self.least)
        return replace(value, interval=lies, error=replace(value.error, largest=largest, least=least))

    def _number(self, root: Expression) -> DoubleWord:
        value, scale = super()._number(root), _scale(root)
        if scale is None or self.limit == math.inf:
            return value
        self.scales[root] = scale
        return replace(value, interval=self.products_lie)

    def limits(self) -> list[Expression]:
        """From which magnitudes of the operand on its products with parameters are too large."""
        m = self.m
        quotients = [m.div_(m.number(self.limit), m.abs_(self.number(scale).high)) for scale in self.scales.values()]
        return quotients if m.format is Format.F32 else [in_format(quotient, Format.F32) for quotient in quotients]

    def _decided(self, root: Expression) -> Expression | None:
        condition, a, b = root.operands
        if condition.operation not in (ops.LESS, ops.LESS_EQUAL, ops.EQUAL) or not self._is_number(condition):
            return None
        if self.asks_for_limits(condition) or condition.operands[0].format is not Format.NUMBER:
            return None
        left, right = (self.number(operand).interval for operand in condition.operands)
        if condition.operation == ops.EQUAL:
            return b if _is_below(left, right) or _is_below(right, left) else None
        return a if _is_below(left, right) else b if _is_below(right, left) else None

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        return value if self._is_number(root) else super()._canonical(root, value)

    def _is_number(self, root: Expression) -> bool:
        """Whether this is never NaN, nor anything that it is made of."""
        for current in walk(root, operands=self._unknown_to_be_numbers):
            if current not in self.are_numbers:
                self.are_numbers[current] = current.format is not Format.NUMBER or self._is_of_numbers(current)
            if not self.are_numbers[current]:
                self.are_numbers[root] = False
                return False
        return True

    def _unknown_to_be_numbers(self, current: Expression) -> Sequence[Expression]:
        return () if current in self.are_numbers else current.operands

    def _is_of_numbers(self, current: Expression) -> bool:
        """Whether this is never NaN if its operands are not."""
        intervals = [self.number(operand).interval for operand in current.operands if operand.format is Format.NUMBER]
        are_finite = [interval.within(-self.m.largest, self.m.largest) for interval in intervals]
        match current.operation:
            case ops.CONSTANT:
                return bool(current.attribute == current.attribute)
            case ops.ADD | ops.SUBTRACT:
                return any(are_finite)
            case ops.MULTIPLY:
                return all(are_finite)
            case ops.DIVIDE:
                return all(are_finite) and (intervals[1].smallest_magnitude > 0 or current in self.scales)
            case functions.LOG1P | ops.SQUARE_ROOT:
                return intervals[0].low >= 0
        return current.operation.never_makes_nan


class _KnownSingle(_KnownReals, SingleReals):
    """The same of results of 16 bits in float32."""

    def _number(self, root: Expression) -> DoubleWord:
        value = super()._number(root)
        if root not in self.scales:
            return value
        # The product is as small as its interval says, and so it does not overflow.
        doubt = either(*(self.numbers[operand].error.doubt for operand in root.operands))
        most = self.products_lie.largest_magnitude
        return replace(value, error=replace(value.error, doubt=doubt, largest=min(value.error.largest, most)))


def _around_zero(limit: float) -> Interval:
    most = limit * (1 + 2.0**-10)  # products are rounded
    return Interval(-most, most)


def _scale(root: Expression) -> Expression | None:
    """The factor of the operand, if it is its product with parameters, or its quotient by them."""
    if root.operation not in (ops.MULTIPLY, ops.DIVIDE):
        return None
    x, w = root.operands
    if root.operation == ops.MULTIPLY and x.operation != ops.INPUT:
        x, w = w, x
    if x.operation != ops.INPUT or w.operation == ops.CONSTANT or depends_on_elements(w):
        return None
    return w if root.operation == ops.MULTIPLY else node(ops.DIVIDE, (constant(1), w), None, w.format)


def _is_below(a: Interval, b: Interval) -> bool:
    """Whether the numbers of one interval are less than those of another as far as they are accurate, too."""
    return a.high + 2.0**-20 * max(abs(a.high), abs(b.low)) < b.low
