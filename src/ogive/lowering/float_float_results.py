"""Results of float32 computed in pairs of float32, as a level before float64's.

Sixteen lanes in the place of eight, and only the last operation of a result rounds. It is done twice, at both ends of the
interval that the bound allows: where both agree the result is decided. Elements beyond the range of a rule, subnormal ones
and those that are undecided are computed by the float64 program, which is what it would be without this level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import NamedTuple, cast

from ogive import formula as f
from ogive.common.dtypes import ElementType
from ogive.differentiation.algebra import matched
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import EXP, LARGER, SMALLER
from ogive.graph.expression import (
    COMPARISONS,
    STORAGE,
    Expression,
    Format,
    Term,
    depends_on_elements,
    in_format,
    is_extreme,
    node,
    tracing,
    walk,
)
from ogive.lowering.cost import cost, with_undecided
from ogive.lowering.fold import fold
from ogive.lowering.forms import patterns_of
from ogive.lowering.identities import spelled_gate, with_common_factors, without_cancellation
from ogive.lowering.numerics.bound import Bound
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.exponential.exp_of_rows import LARGEST_OF_ROW, SCALE_OF_ROW, exponential_of_row
from ogive.lowering.numerics.elementary.exponential.logistic import logistic_slope
from ogive.lowering.numerics.elementary.exponential.powers_of_two import MOST
from ogive.lowering.numerics.elementary.function_row import FUNCTIONS
from ogive.lowering.numerics.elementary.gates import (
    HARD_MISH_RAMP,
    HARD_SWISH_RAMP,
    NORMAL_GATE,
    TANH_GATE,
    gated,
    mish_gate,
    soft_sign,
    softplus_tail,
    times_ramp,
)
from ogive.lowering.numerics.elementary.propagation import bounded
from ogive.lowering.numerics.float_float import (
    FARTHEST,
    FEW_POWERS,
    MANY_POWERS,
    ROUNDINGS,
    SLACK,
    SMALLEST,
    FloatFloat,
    FloatFloatArithmetic,
    NoFloatFloat,
    TooManyRoundings,
    U,
)
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.precisions import PROMOTED
from ogive.lowering.numerics.rounded_results import are_same, is_near_tie, moved_by_half, single_to_16_bits, upper_half
from ogive.lowering.numerics.truths import both, chosen, either
from ogive.lowering.program import Program, Summation, stored_operand
from ogive.lowering.row_lowering import is_share
from ogive.lowering.row_numbers import rest_of_largest, summed_exponential
from ogive.lowering.tested_rows import TestedRows, UnboundedError

#: The limit of this level's cost, as a share of what float64 costs.
WORTHWHILE = 0.9


def float_float_results(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    made: Program,
    price: float,
) -> tuple[Program, ...]:
    """The forms of a cheaper first kernel for ``made``; none if it would cost more than WORTHWHILE times ``price``."""
    names = {t.name for t in (*inputs, *outputs)}
    if not (names == {"float32"} or (len(names) == 1 and names <= SHORT)) or made.undecided is None:
        return ()
    has_functions = any(
        (n.operation.is_elementary or n.operation is ops.SQUARE_ROOT) and depends_on_elements(n) for n in walk(*roots)
    )
    roots = with_common_factors(roots)
    many = _tested(roots, inputs, outputs, MANY_POWERS, may_leave_out=has_functions)
    found = None if many is None else level_in_pairs(made, *many, price)
    if found is None or not found.tables:
        return () if found is None else (found,)
    few = _tested(roots, inputs, outputs, FEW_POWERS, may_leave_out=has_functions)
    narrow = None if few is None else level_in_pairs(made, *few, math.inf)
    has_powers = narrow is not None and any(len(table) == FEW_POWERS for table in narrow.tables)
    return (found,) if narrow is None or not has_powers else (found, narrow)


def _tested(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    octave: int,
    *,
    may_leave_out: bool,
) -> tuple[tuple[Expression, ...], Expression] | None:
    """The results with tables of so many powers of two, and where they are undecided; None where there are none."""
    tested = None
    for roundings in ROUNDINGS:
        reals = FloatFloatReals(tuple(inputs), roots, roundings, octave)
        try:
            tested = [reals.stored(root, output) for root, output in zip(roots, outputs, strict=True)]
        except TooManyRoundings:
            continue
        except NoFloatFloat:
            return None
        break
    if tested is None or (reals.leaves_out and not may_leave_out):
        return None
    undecided = either(*(undecided for _, undecided in tested))
    assert undecided is not None
    return tuple(result for result, _ in tested), undecided


def level_in_pairs(
    made: Program, results: tuple[Expression, ...], undecided: Expression, price: float
) -> Program | None:
    """A level before ``made`` with these results, where it is worth it beside a program of that cost."""
    if cost(with_undecided(results, undecided)) > WORTHWHILE * price:
        return None
    return made.level_before(results=results, undecided=undecided)


class FloatFloatReals:
    """The primitive graphs of formulas of float32, in pairs."""

    def __init__(
        self,
        inputs: tuple[ElementType, ...],
        roots: Sequence[Expression],
        roundings: int = ROUNDINGS[-1],
        octave: int = MANY_POWERS,
    ) -> None:
        self.m = FloatFloatArithmetic(roundings, octave)
        self.inputs = inputs
        self.parts: dict[Expression, KnownPart | None] = {}
        self.arguments = frozenset(n for current in walk(*roots) for n in self.arguments_of(current))
        """The operands of functions: each lies where they have a rule, or the element is undecided."""
        results = walk(*roots, operands=lambda n: n.operands[1:] if n.operation is ops.SELECT else ())
        self.wide = {n for current in results if current.operation is EXP for n in self.arguments_of(current)}
        """Those of exp where it is a result: its rule reaches further."""
        self.leaves_out = False
        """Whether some elements are undecided by what they are."""
        self.powers = {ramp[1] for ramp in map(_ramp, walk(*roots)) if ramp is not None}
        """Parameters that have a rule where they are powers of two."""

    def part(self, root: Expression) -> KnownPart | None:
        """The part of a formula that this is; None of others."""
        if root not in self.parts:
            self.parts[root] = _part(root)
        return self.parts[root]

    def arguments_of(self, current: Expression) -> list[Expression]:
        """The operand of a function, and what that is but for its sign; nothing for other nodes."""
        part = self.part(current)
        if not (_is_limited(current) if part is None else part.rule in LIMITED_PARTS):
            return []
        found = [current.operands[0] if part is None else part.operand]
        while (below := _beneath(found[-1])) is not None:
            found.append(below)
        return found

    def stored(self, root: Expression, output: ElementType) -> tuple[Expression, Expression | None]:
        """A result in the format of its element type, and where it is undecided."""
        result, undecided = self.tested(root)
        storage = STORAGE[output.name]
        if storage is Format.F32:
            return result, undecided
        result, is_near_tie = single_to_16_bits(result, storage)
        return result, either(undecided, is_near_tie)

    def tested(self, root: Expression) -> tuple[Expression, Expression | None]:
        """A result, and where it is undecided; None: nowhere."""
        if root.format is not Format.NUMBER:
            raise NoFloatFloat("a result that is no number")
        return self._chosen(root, {}, frozenset())

    def _chosen(
        self, root: Expression, known: Mapping[Expression, Interval], compared: frozenset[Expression]
    ) -> tuple[Expression, Expression | None]:
        """A result, where operands lie in known intervals. Each branch of a choice has a test of its own.

        ``compared``: the arguments that have decided a comparison on the way here.
        """
        m = self.m
        if root.operation is ops.SELECT and self.part(root) is None:
            condition, a, b = root.operands
            if (argument := self.far(condition)) is not None:
                return self._chosen(a if self.decided(condition) else b, known, compared | {argument})
            if (tiny := self._is_tiny(condition)) is not None:
                result, undecided = self._chosen(b, known, compared)
                return result, either(undecided, tiny)
            which = self.truth(condition)
            sides = zip((a, b), _known(condition), strict=True)
            (first, of_first), (second, of_second) = (self._chosen(n, {**known, **more}, compared) for n, more in sides)
            return m.select_(which, first, second), chosen(which, of_first, of_second)
        branch = _FloatFloatBranch(self, root, known, compared)
        number = branch.number(root, is_result=True)
        result, undecided = m.result(number)
        self.leaves_out |= bool(number.where.holds or number.where.doubts)
        if number.is_exact and not branch.is_number(root):
            undecided = either(undecided, m.not_(m.equal_(result, result)))
        for is_defined in self._domains(root):
            result = m.select_(is_defined, result, m.number(math.nan))
            undecided = undecided if undecided is None else both(is_defined, undecided)
        return result, undecided

    def _domains(self, root: Expression) -> list[Expression]:
        """Where functions of operands are defined: elsewhere, and of NaN, a result that is made of them is NaN."""
        m, found = self.m, dict[Expression, None]()
        for current in walk(root, operands=lambda n: n.operands if _keeps_nan(n) else ()):
            low, high = current.operation.domain
            if (low, high) == (-math.inf, math.inf) or current.operands[0].operation is not ops.INPUT:
                continue
            x = single_operand(current.operands[0], self.inputs)
            if high == math.inf:
                found[m.less_equal_(m.number(low), x)] = None
            elif low == -high:
                found[m.less_equal_(m.abs_(x), m.number(high))] = None
        return list(found)

    def _is_tiny(self, condition: Expression) -> Expression | None:
        """Whether a comparison of a magnitude with a tiny number may hold; None: it is no such comparison."""
        m = self.m
        if condition.operation is not ops.LESS or condition.operands[0].operation is not ops.ABSOLUTE:
            return None
        (size, most) = condition.operands
        (x,) = size.operands
        if most.operation is not ops.CONSTANT or not 0 < most.attribute <= 1 / FARTHEST:
            return None
        numbers = [self.leaf(n) for n in (x.operands if x.operation is ops.MULTIPLY else (x,))]
        if not all(number is not None and number.is_single for number in numbers):
            return None
        high = reduce(m.mul_, (number.high for number in numbers if number is not None))
        return m.less_(m.abs_(high), m.number(m.upwards(most.attribute * SLACK)))

    def decided(self, condition: Expression) -> bool | None:
        """The result of a comparison, wherever arguments of functions lie in the range of their rules."""
        argument = self.far(condition)
        if argument is None:
            return None
        a, b = condition.operands
        if condition.operation is ops.EQUAL:
            return False
        return bool(b.attribute > 0) if argument is a else bool(a.attribute < 0)

    def far(self, condition: Expression) -> Expression | None:
        """The argument that a comparison compares with a number beyond the range of all rules."""
        if condition.operation in COMPARISONS:
            for argument, number in (condition.operands, condition.operands[::-1]):
                reach = (FARTHEST_RULE if argument in self.wide else 1.01) * MOST
                if argument in self.arguments and number.operation is ops.CONSTANT and abs(number.attribute) > reach:
                    return argument
        return None

    def truth(self, condition: Expression) -> Expression:
        if condition.operation not in COMPARISONS:
            raise NoFloatFloat("a choice by other things than a comparison")
        numbers = [self.leaf(n) for n in condition.operands]
        if not all(number is not None and number.is_single for number in numbers):
            raise NoFloatFloat("a comparison of computed numbers")
        return node(condition.operation, tuple(n.high for n in numbers if n is not None), None, Format.BIT)

    def leaf(
        self, root: Expression, lies: Callable[[Expression], Interval] = lambda _: EVERYTHING
    ) -> FloatFloat | None:
        """The number of an operand, a parameter or a constant, or the larger or smaller of such; None of others."""
        match root.operation:
            case ops.INPUT:
                return self.m.exactly(single_operand(root, self.inputs), lies(root))
            case ops.PARAMETER:
                value = node(ops.PARAMETER, (), root.attribute, Format.F64)
                single = in_format(value, Format.F32)
                return self.m.parameter(single, is_power=root in self.powers)
            case ops.CONSTANT:
                return self.m.constant(root.attribute)
        if root.operation in (LARGER, SMALLER):
            return self._extreme_beside_constant(root, lies)
        return self._extreme(root, lies) if is_extreme(root) else None

    def _extreme_beside_constant(
        self, root: Expression, lies: Callable[[Expression], Interval] = lambda _: EVERYTHING
    ) -> FloatFloat | None:
        """The larger or the smaller of a constant and another number, which may be NaN; 0 is larger than -0."""
        m, is_larger = self.m, root.operation is LARGER
        x, c = sorted(root.operands, key=lambda n: n.operation is ops.CONSTANT)
        number, limit = self.leaf(x, lies), self.leaf(c)
        if (
            number is None
            or limit is None
            or not (number.is_single and limit.is_single)
            or c.operation is not ops.CONSTANT
        ):
            return None
        value = (m.larger_ if is_larger else m.smaller_)(limit.high, number.high)
        if is_larger and c.attribute == 0:
            value = m.add_(value, m.number(0.0))
        low, high = number.interval.low, number.interval.high
        side = float(c.attribute)
        between = Interval(max(low, side), max(high, side)) if is_larger else Interval(min(low, side), min(high, side))
        return replace(m.exactly(value, between), where=number.where)

    def _extreme(self, root: Expression, lies: Callable[[Expression], Interval]) -> FloatFloat | None:
        condition, a, b = root.operands
        one, other = (self.leaf(n, lies) for n in (a, b))
        if one is None or other is None or not (one.is_single and other.is_single):
            return None
        x, y = one.interval, other.interval
        is_smaller = condition.operands[0] is a
        found = self.m.select(self.truth(condition), one, other)
        of_both = (min, max)[not is_smaller]
        between = Interval(of_both(x.low, y.low), of_both(x.high, y.high))
        is_nonzero = between.smallest_magnitude > 0
        return replace(found, interval=between, is_nonzero=is_nonzero, may_be_zero=None if is_nonzero else found.high)


def _keeps_nan(current: Expression) -> bool:
    """Whether a number is NaN where one of its operands is."""
    if current.operation.is_elementary:
        return current.operation.arity == 1
    return current.operation in ARITHMETIC


#: Operations whose results are NaN where an operand is.
ARITHMETIC = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.NEGATE, ops.ABSOLUTE, ops.SQUARE_ROOT})


def _beneath(root: Expression) -> Expression | None:
    """Where this is the same number but for its sign, and but for bounds beyond the range of all rules: that number."""
    if root.operation in (ops.NEGATE, ops.ABSOLUTE):
        return root.operands[0]
    if root.operation is ops.SELECT and is_extreme(root):
        _, *sides = root.operands
        among = [n for n in sides if n.operation is not ops.CONSTANT or abs(n.attribute) <= FARTHEST_RULE * MOST]
        return among[0] if len(among) == 1 else None
    return None


#: No rule reaches further than this, as a multiple of `MOST`: that of exp where it is the result.
FARTHEST_RULE = 1.5

Rule = Callable[[FloatFloatArithmetic, FloatFloat], FloatFloat]


#: Those of operands between -MOST and MOST alone: elsewhere elements are undecided.
LIMITED_PARTS: frozenset[Rule] = frozenset({softplus_tail, mish_gate, logistic_slope})


class KnownPart(NamedTuple):
    """A part of a formula that is computed as a whole."""

    operand: Expression
    rule: Rule


#: The parts of operators (forms.py) that have a rule as a whole.
RULES_OF_PARTS: dict[str, Rule] = {
    "mish gate": mish_gate,
    "gelu": partial(gated, NORMAL_GATE),
    "gelu by tanh": partial(gated, TANH_GATE),
    "softsign": soft_sign,
    "hard swish": partial(times_ramp, HARD_SWISH_RAMP),
    "hard mish": partial(times_ramp, HARD_MISH_RAMP),
}

#: And those of softplus and of the logistic function, as people write its slope.
OTHER_PARTS: tuple[tuple[Callable[[Term], Expression], Rule], ...] = (
    (lambda x: f.log1p(f.exp(-f.absolute(x))), softplus_tail),
    (lambda x: f.logistic(x) * f.logistic(-x), logistic_slope),
)


@lru_cache(maxsize=1)
def known_patterns() -> list[tuple[Expression, Rule]]:
    """Parts of formulas that have a rule as a whole, in the forms in which nothing cancels: of an operand of their own."""
    tracing.depth += 1
    try:
        x = cast(Term, node(ops.INPUT, (), 0, Format.NUMBER))
        others = [(fold(form(x)), rule) for form, rule in OTHER_PARTS]
    finally:
        tracing.depth -= 1
    parts = [(root, rule) for name, rule in RULES_OF_PARTS.items() for root in patterns_of(name)]
    return [(found, rule) for root, rule in (*others, *parts) for found in without_cancellation([root])]


def _part(root: Expression) -> KnownPart | None:
    """The same, by all patterns."""
    for pattern, rule in known_patterns():
        if pattern.operation is root.operation and (bound := matched(pattern, root)) is not None:
            (operand,) = bound.values()
            return KnownPart(operand, rule)
    spelled = spelled_gate(root)
    if spelled is None or spelled.x.operation is not ops.INPUT:
        return None
    return KnownPart(spelled.x, partial(_nearly, RULES_OF_PARTS[spelled.name], spelled.off))


#: The most that a gate changes by, as a share of itself and of the change of its operand, where a gate has a rule.
MOST_CHANGE = 128


def _nearly(rule: Rule, off: float, m: FloatFloatArithmetic, x: FloatFloat) -> FloatFloat:
    """The rule of a part whose constant is another one by this share."""
    found = rule(m, x)
    return replace(found, relative=found.relative + MOST_CHANGE * off)


def _factors(root: Expression) -> tuple[Expression, ...] | None:
    """x, y and so on, where this is a product of the square of x with y and so on, each of which it has once."""
    if root.operation is not ops.MULTIPLY:
        return None
    if root.operands[0] is root.operands[1]:
        return root.operands[:1]
    among = list(root.operands)
    for n in among:  # which grows
        among.extend(n.operands if n.operation is ops.MULTIPLY else ())
    counts = Counter(n for n in among if n.operation is not ops.MULTIPLY)
    if sorted(counts.values())[-2:] not in ([2], [1, 2]):
        return None
    x = next(n for n, count in counts.items() if count == 2)
    return (
        x,
        *(n for n in counts if n is not x and n.operation is ops.CONSTANT),
        *(n for n in counts if n is not x and n.operation is not ops.CONSTANT),
    )


def _ramp(root: Expression) -> tuple[Expression, Expression] | None:
    """X and p, where this is ``where(p x > 0, x, 0)``: ``max(x, 0)`` of positive p, which are powers of two."""
    if root.operation is not ops.SELECT or root.operands[0].operation is not ops.LESS:
        return None
    (zero, product), x, other = root.operands[0].operands, *root.operands[1:]
    if not all(n.operation is ops.CONSTANT and n.attribute == 0 for n in (zero, other)):
        return None
    if product.operation is not ops.MULTIPLY or product.operands[1] is not x or x.operation is not ops.INPUT:
        return None
    factor = product.operands[0]
    is_positive = factor.operation is ops.PARAMETER or (factor.operation is ops.CONSTANT and factor.attribute > 0)
    return (x, factor) if is_positive else None


def _known(condition: Expression) -> tuple[dict[Expression, Interval], dict[Expression, Interval]]:
    """Where a comparison with zero says that an operand lies: where it holds, and elsewhere."""
    if condition.operation not in (ops.LESS, ops.LESS_EQUAL):
        return {}, {}
    is_strict = condition.operation is ops.LESS
    a, b = condition.operands
    for x, other, is_above in ((b, a, True), (a, b, False)):
        if other.operation is ops.CONSTANT and other.attribute == 0:
            above = Interval(SMALLEST if is_above is is_strict else 0.0, math.inf)
            below = Interval(-math.inf, 0.0 if is_above is is_strict else -SMALLEST)
            return ({x: above}, {x: below}) if is_above else ({x: below}, {x: above})
    return {}, {}


class _FloatFloatBranch:
    """The numbers of a formula where operands lie in known intervals."""

    def __init__(
        self,
        reals: FloatFloatReals,
        root: Expression,
        known: Mapping[Expression, Interval],
        compared: frozenset[Expression],
    ) -> None:
        self.reals, self.known, self.m = reals, known, reals.m
        self.numbers: dict[Expression, FloatFloat] = {}
        among = list(walk(root, operands=self.below))
        uses = Counter(operand for current in among for operand in self.below(current))
        arguments = {n for current in among for n in reals.arguments_of(current)}
        chosen = {reals.far(n.operands[0]) for n in among if n.operation is ops.SELECT}
        compared = compared.union(n for n in chosen if n is not None)
        if not compared <= arguments:
            raise NoFloatFloat("a comparison that another branch decides")
        scaled = {
            n: x
            for n in arguments
            if n.operation in (ops.MULTIPLY, ops.DIVIDE)
            for x, w in (n.operands, n.operands[::-1])
            if x.operation is ops.INPUT and _is_moderate(n, w)
        }
        fixed = {n for n, x in scaled.items() if uses[x] > 1}
        self.moved = {
            n
            for n in arguments
            if uses[n] == 1 and n not in compared and fixed.isdisjoint(walk(n, operands=self.below))
        }
        """Nodes that nothing else is computed of: a rule may move it to where it holds."""
        self.near = {n: MOST for n in arguments - self.moved if n.operation is ops.INPUT}
        """How large operands are at most where all rules hold."""
        for x in scaled.values():
            self.near.setdefault(x, MOST * FARTHEST)

    def is_number(self, root: Expression) -> bool:
        """Whether this is no NaN, of operands and parameters alone."""
        if root.operation in (ops.MULTIPLY, ops.NEGATE):
            return all(map(self.is_number, root.operands))
        return root in self.known or root in self.near or root.operation in (ops.PARAMETER, ops.CONSTANT)

    def number(self, root: Expression, *, is_result: bool = False) -> FloatFloat:
        for current in walk(root, operands=self.below):
            if current not in self.numbers and current.format is Format.NUMBER:
                found = self._number(current, is_result=is_result and current is root)
                self.numbers[current] = found
        return self.numbers[root]

    def below(self, current: Expression) -> Sequence[Expression]:
        """The operands of a node."""
        # As `_number` takes them, in its order: a choice that is decided may look like a part as well.
        truth = self.reals.decided(current.operands[0]) if current.operation is ops.SELECT else None
        if truth is not None:
            return (current.operands[1 if truth else 2],)
        if (part := self.reals.part(current)) is not None:
            return (part.operand,)
        for several in (_ramp(current), _factors(current)):
            if several is not None:
                return several
        if current.operation is ops.SELECT:
            return () if is_extreme(current) and self.reals.leaf(current) is not None else current.operands[1:]
        if current.operation in (LARGER, SMALLER):
            return ()
        return current.operands

    def _lies(self, x: Expression) -> Interval:
        lies, most = self.known.get(x, EVERYTHING), self.near.get(x, math.inf)
        return Interval(max(lies.low, -most), max(min(lies.high, most), -most))

    def _number(self, root: Expression, *, is_result: bool) -> FloatFloat:
        m = self.m
        if root.operation is ops.SELECT and (truth := self.reals.decided(root.operands[0])) is not None:
            return self.numbers[root.operands[1 if truth else 2]]
        leaf = self.reals.leaf(root, self._lies)
        if leaf is not None:
            return leaf
        part = self.reals.part(root)
        if part is not None:
            return part.rule(m, m.as_operand(self.numbers[part.operand]))
        ramp = _ramp(root)
        if ramp is not None:
            x, parameter = (self.numbers[n] for n in ramp)
            larger = m.larger_(x.high, m.number(0.0))
            return replace(m.exactly(larger, Interval(0.0, x.interval.high)), where=parameter.where)
        match root.operation:
            case ops.SELECT:
                condition, a, b = root.operands
                return m.select(self.reals.truth(condition), self.numbers[a], self.numbers[b])
            case ops.MULTIPLY if (factors := _factors(root)) is not None:
                x, *others = (self.numbers[n] for n in factors)
                square = m.multiply(x, x)
                return reduce(m.multiply, others, replace(square, interval=abs(square.interval)))
            case ops.ADD | ops.SUBTRACT | ops.MULTIPLY | ops.NEGATE | ops.ABSOLUTE | ops.SQUARE_ROOT:
                found: FloatFloat = getattr(m, root.operation)(*(self.numbers[n] for n in root.operands))
                return found
            case ops.DIVIDE:
                a, b = root.operands
                if b.operation is ops.CONSTANT and b.attribute and not self.numbers[b].is_single:
                    return m.multiply(self.numbers[a], m.constant(1 / Fraction(b.attribute)))
                return m.divide(self.numbers[a], self.numbers[b], is_same_for_all=not depends_on_elements(b))
        row = FUNCTIONS.get(root.operation.name)
        if row is None or row.in_pairs is None:
            raise NoFloatFloat(f"{root.operation.name} has no rule in pairs")
        reaches_all = root.operands[0] in self.moved
        argument = m.as_operand(self.numbers[root.operands[0]])
        return row.in_pairs.rule(m, argument, is_result=is_result, reaches_all=reaches_all)


def _is_limited(root: Expression) -> bool:
    """Whether this is a function that has a rule for operands between -MOST and MOST alone."""
    row = FUNCTIONS.get(root.operation.name)
    return row is not None and row.in_pairs is not None and row.in_pairs.is_limited


def _is_moderate(root: Expression, w: Expression) -> bool:
    """Whether a product with w, or a quotient by it, is less than FARTHEST times smaller than the other operand."""
    if root.operation is ops.DIVIDE and root.operands[0] is w:
        return False
    if w.operation is ops.CONSTANT:
        size = abs(w.attribute)
        return bool(size <= FARTHEST if root.operation is ops.DIVIDE else size >= 1 / FARTHEST)
    return w.operation is ops.PARAMETER  # others are undecided


def single_operand(leaf: Expression, types: tuple[ElementType, ...]) -> Expression:
    """An operand as float32."""
    found = stored_operand(leaf, types)
    return in_format(found, Format.F32)


#: The types of 16 bits.
SHORT = frozenset({"float16", "bfloat16"})

#: The error of a share in float32: of a sum, a reciprocal and a product.
SHARE_IN_FLOAT32 = 3 * U * (1 + 2.0**-10)

#: The largest sum of a row's exponentials, which are 2**64 times as large: no result of a smaller one is subnormal.
LARGEST_SUM = 2.0**84

#: The error of sums in float64: 1024 numbers one after the other, and joints of lanes and segments.
SUM_OF_WORDS = (1024 + 64) * 2.0**-53


#: The errors of log(2) in the words of `rest_of_largest`, times 93; and of an exponential that is taken to be another one, in rows
#: of up to 2**20 elements.
ERROR_OF_REST, ERROR_OF_NOTHING = 2.0**-80, 2.0**-151

#: Where a row has one result, its largest element is no smaller than this. Elements beyond `-LARGEST_OF_ROW`, which are known to
#: 2**-38, are at most 2**-57 of it then: each may be wrong by this.
LEAST_OF_SUMS, ERROR_OF_SMALL = -24.0, 2.0**-95

#: The error of the low word of a difference, as a share of it and of what is subtracted: the second word of that, its sum with what
#: the difference has lost, and the ends are rounded once each, by 2**-48 at most. And the largest number of float32.
ERROR_OF_DIFFERENCE, LARGEST_FLOAT32 = 2.0**-46, (2 - 2.0**-23) * 2.0**127


def float_float_rows(roots: Sequence[Expression], made: Program, *, reduces: bool) -> Program | None:
    """The program that is tried before ``made``, of rows whose exponentials are added up; None for others."""
    names = {t.name for t in (*made.inputs, *made.outputs)}
    if len(roots) != 1 or len(names) != 1 or not names <= {"float32", *SHORT}:
        return None
    if not any(n.operation is ops.ROW_SUM and summed_exponential(n.operands[0]) for n in walk(*roots)):
        return None
    reals = _FloatFloatRows(made.inputs, roots[0], reduces=reduces)
    try:
        stages = reals.reduce(roots, len(made.inputs) + len(made.outputs))
        (result,), undecided = reals.tested_shortly(roots, made.outputs)
    except (NoFloatFloat, UnboundedError):
        return None
    return made.level_before(results=(result,), stages=stages, undecided=undecided)


class _FloatFloatRows(TestedRows):
    """Exponentials of a row in pairs of float32. Their words are added up in float64, and so is what a row has one of."""

    def __init__(self, inputs: tuple[ElementType, ...], root: Expression, *, reduces: bool) -> None:
        # Numbers of a row need no second word either: the sum has fewer bits.
        super().__init__(Bounded(PROMOTED), inputs, Format.F32, reduces=True)
        self.pairs, self.is_share, self.reduces = FloatFloatArithmetic(), is_share(root), reduces

    def _sum(self, operand: Expression, value: DoubleWord) -> DoubleWord:
        parts = summed_exponential(operand)
        if parts is None:
            found = self._counted(operand)
            if found is None:
                raise NoFloatFloat("a sum of other numbers than exponentials")
            return found
        p, m, (element, largest) = self.pairs, self.rows.m, parts
        is_counted = None
        if operand.operation is ops.SELECT:
            is_counted = self._beside(operand.operands[0])
            if is_counted is None or operand.operands[2].operation is not ops.CONSTANT:
                raise NoFloatFloat("a sum of chosen exponentials")
        most, x = self.rows.number(largest).high, self._element(element)
        of_16_bits = self.is_share and self.inputs[0].bits == 16
        words = exponential_of_row(p, x, self._single(largest), is_counted, is_short=of_16_bits or self.reduces)
        self.words = words
        high = self._summed(words.high)
        low = self._summed(words.low, Summation.IN_GROUPS)
        total = m.add_(high, low)
        holds = [m.less_equal_(m.abs_(most), m.number(LARGEST_OF_ROW)), m.less_(total, m.number(LARGEST_SUM))]
        static = ERROR_OF_NOTHING
        if self.reduces:  # small exponentials count little
            holds.append(m.less_equal_(m.number(LEAST_OF_SUMS), most))
            static = ERROR_OF_SMALL
        elif words.place is not None and words.lowest is not None:
            least = node(ops.BITCAST, (self._found(self._new("whole_min", words.place)),), None, Format.I64)
            holds.append(m.less_(words.lowest, in_format(least, Format.F64)))
        self.inverse = m.select_(reduce(both, holds), m.div_(m.number(1 / SCALE_OF_ROW), total), m.number(math.nan))
        self.error = words.relative + SUM_OF_WORDS + 2 * U * words.share
        # The sum is exp(rest) times as large as that of exponentials beside the largest.
        power = in_format(words.power, Format.F64)
        rest = replace(rest_of_largest(m, most, power), error=Bound(static=ERROR_OF_REST))
        error = Bound(self.error, static * LARGEST_SUM * SCALE_OF_ROW, doubt=m.not_(reduce(both, holds)))
        beside_power = DoubleWord(
            m.mul_(total, m.number(SCALE_OF_ROW)),
            interval=Interval(0.0, LARGEST_SUM * SCALE_OF_ROW),
            error=replace(error, largest=LARGEST_SUM * SCALE_OF_ROW),
        )
        return m.multiply(beside_power, bounded(EXP)(m, m.negate(rest)))

    def _element(self, root: Expression) -> Expression:
        """An operand as float32, or what is opposite to one."""
        if root.operation is ops.NEGATE:
            return self.pairs.neg_(self._element(root.operands[0]))
        if root.operation is not ops.INPUT:
            raise NoFloatFloat("exponentials of computed numbers")
        return single_operand(root, self.inputs)

    def _single(self, root: Expression) -> Expression:
        """A number of the row as float32."""
        return in_format(self.rows.number(root).high, Format.F32)

    def _beside(self, root: Expression) -> Expression | None:
        """A comparison of an element with the largest one, in float32; None of others."""
        if root.operation is not ops.LESS or root.operands[0].operation is not ops.INPUT:
            return None
        element, largest = root.operands
        if largest is not node(ops.ROW_MAX, (element,), None, Format.NUMBER):
            return None
        return self.pairs.less_(single_operand(element, self.inputs), self._single(largest))

    def _truth(self, root: Expression) -> Expression:
        return self._beside(root) or super()._truth(root)

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        words = self.words
        high, low = (node(ops.INPUT, (), place + i, Format.F32) for i in range(2))
        self.words = replace(words, high=high, low=low)
        return words.high, words.low

    def _tested(self, root: Expression, output: ElementType) -> tuple[Expression, Expression | None]:
        if self.is_share:
            storage = STORAGE[output.name]
            return self._share_of_row() if storage is Format.F32 else self._share_of_16_bits(root, storage)
        if self.reduces:
            return super()._tested(root, output)
        return self._beside_largest(root, STORAGE[output.name])

    def _share_of_row(self) -> tuple[Expression, Expression]:
        """Both ends are NaN where a rule does not hold."""
        p, m, words = self.pairs, self.rows.m, self.words
        reach = (words.relative + self.error + 3 * U * (words.share + U)) * SLACK
        high = in_format(self.inverse, Format.F32)
        rest = m.sub_(self.inverse, in_format(high, Format.F64))
        low = p.mul_(words.low, high)
        lows = (m.fma_(self.inverse, m.number(end), rest) for end in (-reach, reach))
        below, above = (p.fma_(words.high, high, p.fma_(words.high, in_format(end, Format.F32), low)) for end in lows)
        return p.mul_(above, p.number(SCALE_OF_ROW)), p.not_(p.equal_(above, below))

    def _share_of_16_bits(self, root: Expression, storage: Format) -> tuple[Expression, Expression]:
        """The same by one product in float32. Beside ties float64 computes it of the same words."""
        p, m, words = self.pairs, self.rows.m, self.words
        of_row = m.mul_(self.inverse, m.number(SCALE_OF_ROW))
        single = p.mul_(p.add_(words.high, words.low), in_format(of_row, Format.F32))
        high, low = (in_format(word, Format.F64) for word in (words.high, words.low))
        error = Bound((words.relative + self.error) * SLACK + 2.0**-50)
        sharp, undecided = self._rounded_to_16_bits(root, m.mul_(m.add_(high, low), of_row), error, storage)
        assert undecided is not None
        if storage is Format.BF16:
            reach = math.ceil(SHARE_IN_FLOAT32 / U)
            moved = moved_by_half(single, reach)
            result, is_near, sharp = upper_half(moved), is_near_tie(moved, reach), self.in_16_bits[sharp]
        else:
            ends = (p.mul_(single, p.number(end)) for end in (1 - 6 * U, 1 + 6 * U))  # which are rounded
            lower, result = (in_format(end, storage) for end in ends)
            is_near, sharp = p.not_(are_same(lower, result)), in_format(sharp, storage)
        never = node(ops.CONSTANT, (), False, Format.BIT)
        beside_tie = node(ops.SELECT_RARE, (is_near, undecided, never), None, Format.BIT)
        is_unknown = m.not_(m.equal_(of_row, of_row))
        return p.select_rare_(is_near, sharp, result), either(beside_tie, is_unknown)

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        """Rows with NaN are undecided."""
        return value if self.is_share else super()._canonical(root, value)

    def _beside_largest(self, root: Expression, storage: Format) -> tuple[Expression, Expression | None]:
        """An element less the largest one and a number of the row that is not negative: neither sum cancels."""
        p, m = self.pairs, self.rows.m
        if root.operation is not ops.SUBTRACT or root.operands[0].operation is not ops.SUBTRACT:
            raise NoFloatFloat("a result that is no difference from the largest")
        (element, largest), row = root.operands[0].operands, root.operands[1]
        if largest is not node(ops.ROW_MAX, (element,), None, Format.NUMBER) or not self._is_of_row(row):
            raise NoFloatFloat("a result that is no difference from the largest")
        if row.operation is ops.ADD and row.operands[1] is node(ops.SUBTRACT, (largest, largest), None, Format.NUMBER):
            row = row.operands[0]  # where a row is known at all its largest is finite
        number = m.renormalised(m.unscaled(self.rows.number(row)))
        error = m.total(number)
        if error is None or not number.error.is_known:
            raise NoFloatFloat("a number of the row that is exact, or has no bound")
        doubt = either(m.less_(number.high, m.number(0.0)), number.error.doubt)
        # Two words are subtracted in all. No element is larger than the first.
        high, rest = m.two_sum(self.rows.number(largest).high, number.high)
        first = in_format(high, Format.F32)
        rest = m.add_(m.sub_(high, in_format(first, Format.F64)), m.add_(rest, m.low_part(number)))
        second = in_format(rest, Format.F32)
        margin = m.fma_(m.abs_(high), m.number(ERROR_OF_DIFFERENCE), error)
        margin = in_format(m.mul_(m.select_(doubt, m.number(math.nan), margin), m.number(SLACK)), Format.F32)
        x = single_operand(element, self.inputs)
        difference, lost = p.two_sum(x, p.neg_(first))
        low, reach = p.sub_(lost, second), p.fma_(difference, p.number(-ERROR_OF_DIFFERENCE), margin)
        # -inf has no low word. Rows of which nothing is known, as of -inf alone, have no bound.
        least = m.select_(doubt, m.number(math.nan), m.number(-LARGEST_FLOAT32))
        least = in_format(least, Format.F32)
        below, above = (p.add_(difference, p.larger_(end, least)) for end in (p.sub_(low, reach), p.add_(low, reach)))
        undecided = p.not_(p.equal_(below, above))
        if storage is Format.F32:
            return above, undecided
        # No result is positive. The neighbour whose last bit is set is no tie, and rounds as the number does.
        rest = p.sub_(low, p.sub_(above, difference))
        _, is_tie = single_to_16_bits(above, storage)
        never = node(ops.CONSTANT, (), False, Format.BIT)
        is_open = node(ops.SELECT_RARE, (p.less_equal_(p.abs_(rest), reach), is_tie, never), None, Format.BIT)
        undecided = either(undecided, is_open)
        bits = p.bits_(above)
        below = node(ops.SUBTRACT, (bits, p.whole(1)), None, p.integer)
        odd = node(ops.OR, (p.select_(p.less_(p.number(0.0), rest), below, bits), p.whole(1)), None, p.integer)
        result = p.select_(p.equal_(above, p.number(-math.inf)), above, p.from_bits_(odd))
        is_wide = storage is Format.BF16
        result = upper_half(moved_by_half(result, 0)) if is_wide else in_format(result, storage)
        return result, undecided
