"""Results of float32 computed in pairs of float32, as a level before float64's.

Sixteen lanes in the place of eight, and only the last operation of a result rounds. It is done twice, at both ends of the
interval that the bound allows: where both agree the result is decided. Elements beyond the range of a rule, subnormal ones
and those that are undecided are computed by the float64 program, which is what it would be without this level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import Expression, Format, depends_on_elements, node, walk
from ogive.numerics.elementary.paired_functions import FUNCTIONS_IN_PAIRS, MOST, NORMAL_TAIL, gated
from ogive.numerics.interval import EVERYTHING, Interval
from ogive.numerics.paired import FARTHEST, SMALLEST, Paired, PairedArithmetic, Unpaired
from ogive.numerics.truths import both, either
from ogive.passes.cost import cost, usual_cost, with_undecided
from ogive.program import Program, stored_operand

__all__ = ["before", "paired_results"]

#: Formulas with one of these may be computed in pairs.
KNOWN = {*FUNCTIONS_IN_PAIRS, "normal_tail"}

#: What this level must cost less than, as a share of what float64 costs.
WORTHWHILE = 0.92


def paired_results(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], made: Program
) -> Program | None:
    """The program that is tried before ``made``; None where there is none, or none that is worth it."""
    if {t.name for t in (*inputs, *outputs)} != {"float32"} or made.undecided is None:
        return None
    if not any(n.operation.name in KNOWN and depends_on_elements(n) for n in walk(*roots)):
        return None
    reals = PairedReals(tuple(inputs), roots)
    try:
        tested = [reals.tested(root) for root in roots]
    except Unpaired:
        return None
    results = tuple(result for result, _ in tested)
    undecided = either(*(undecided for _, undecided in tested))
    assert undecided is not None
    return before(made, results, undecided)


def before(made: Program, results: tuple[Expression, ...], undecided: Expression) -> Program | None:
    """A program with these results that ``made`` repairs, where it is worth it."""
    if cost(with_undecided(results, undecided)) > WORTHWHILE * usual_cost(made):
        return None
    return Program(
        made.inputs,
        made.outputs,
        results,
        parameter_count=made.parameter_count,
        undecided=undecided,
        repair=made.repair,
        retry=lambda: made,
        decide=made.decide,
    )


class PairedReals:
    """The primitive graphs of formulas of float32, in pairs."""

    def __init__(self, inputs: tuple[ElementType, ...], roots: Sequence[Expression]) -> None:
        self.m = PairedArithmetic()
        self.inputs = inputs
        self.arguments = frozenset(n for current in walk(*roots) for n in _arguments(current))
        """What functions are computed of: it lies where they have a rule, or the element is undecided."""
        self.compared = {n for n in map(self._far, walk(*roots)) if n is not None}
        """Those of which that decide a comparison."""

    def tested(self, root: Expression) -> tuple[Expression, Expression | None]:
        """A result, and where it is undecided; None: nowhere."""
        if root.format is not Format.NUMBER:
            raise Unpaired("a result that is no number")
        return self._chosen(root, {})

    def _chosen(self, root: Expression, known: Mapping[Expression, Interval]) -> tuple[Expression, Expression | None]:
        """A result, where operands lie in known intervals. Of what a choice chooses each has a test of its own."""
        m = self.m
        if root.operation is ops.SELECT:
            condition, a, b = root.operands
            truth = self.decided(condition)
            if truth is not None:
                return self._chosen(a if truth else b, known)
            which = self.truth(condition)
            sides = zip((a, b), _known(condition), strict=True)
            (first, of_first), (second, of_second) = (self._chosen(n, {**known, **more}) for n, more in sides)
            undecided = either(
                None if of_first is None else both(which, of_first),
                None if of_second is None else both(m.not_(which), of_second),
            )
            return m.select_(which, first, second), undecided
        branch = _PairedBranch(self, root, known)
        number = branch.number(root, is_result=True)
        if number.is_exact and not branch.is_number(root):
            raise Unpaired("a result that may be NaN")
        return m.result(number)

    def decided(self, condition: Expression) -> bool | None:
        """What a comparison comes to, wherever arguments of functions lie in the range of their rules."""
        argument = self._far(condition)
        if argument is None:
            return None
        a, b = condition.operands
        return bool(b.attribute > 0) if argument is a else bool(a.attribute < 0)

    def _far(self, condition: Expression) -> Expression | None:
        """The argument that a comparison compares with a number beyond the range of all rules."""
        if condition.operation in (ops.LESS, ops.LESS_EQUAL):
            for argument, number in (condition.operands, condition.operands[::-1]):
                is_far = number.operation is ops.CONSTANT and abs(number.attribute) > 2 * MOST
                if is_far and argument in self.arguments:
                    return argument
        return None

    def truth(self, condition: Expression) -> Expression:
        if condition.operation not in (ops.LESS, ops.LESS_EQUAL, ops.EQUAL):
            raise Unpaired("a choice by other things than a comparison")
        numbers = [self.leaf(n) for n in condition.operands]
        if not all(number is not None and number.is_single for number in numbers):
            raise Unpaired("a comparison of computed numbers")
        return node(condition.operation, tuple(n.high for n in numbers if n is not None), None, Format.BIT)

    def leaf(self, root: Expression, lies: Interval = EVERYTHING) -> Paired | None:
        """The number of an operand, a parameter or a constant; None of others."""
        match root.operation:
            case ops.INPUT:
                return self.m.exactly(stored_operand(root, self.inputs), lies)
            case ops.PARAMETER:
                value = node(ops.PARAMETER, (), root.attribute, Format.F64)
                return self.m.parameter(node(ops.CONVERT, (value,), None, Format.F32))
            case ops.CONSTANT:
                return self.m.constant(root.attribute)
        return None


def _arguments(current: Expression) -> list[Expression]:
    """What a function is computed of, and what that is but for its sign; nothing for other nodes."""
    if current.operation.name not in FUNCTIONS_IN_PAIRS:
        return []
    found = [current.operands[0]]
    while found[-1].operation in (ops.NEGATE, ops.ABSOLUTE):
        found.append(found[-1].operands[0])
    return found


def _gate(root: Expression) -> Expression | None:
    """x, where this is ``max(x, -0) - w Q(w)`` with ``w = min(abs(x), c)``, c beyond the table: the product of x with a gate."""
    if root.operation is not ops.SUBTRACT or root.operands[1].operation is not ops.MULTIPLY:
        return None
    above, (w, tail) = root.operands[0], root.operands[1].operands
    if tail.operation.name != "normal_tail" or tail.operands[0] is not w or w.operation is not ops.SELECT:
        return None
    condition, most, size = w.operands
    is_least = condition.operation is ops.LESS and condition.operands == (most, size)
    if not is_least or most.operation is not ops.CONSTANT or size.operation is not ops.ABSOLUTE:
        return None
    x, zero = size.operands[0], node(ops.CONSTANT, (), -0.0, Format.NUMBER)
    is_below = node(ops.LESS, (x, zero), None, Format.TRUTH)
    larger = node(ops.SELECT, (is_below, zero, x), None, Format.NUMBER)
    return x if x.operation is ops.INPUT and above is larger and most.attribute > NORMAL_TAIL.most else None


def _known(condition: Expression) -> tuple[dict[Expression, Interval], dict[Expression, Interval]]:
    """Where a comparison with zero says that an operand lies: where it holds, and elsewhere."""
    a, b = condition.operands
    if a.operation is ops.CONSTANT and a.attribute == 0:
        above, below = Interval(SMALLEST, math.inf), Interval(-math.inf, 0.0)
        if condition.operation is ops.LESS_EQUAL:
            above, below = Interval(0.0, math.inf), Interval(-math.inf, -SMALLEST)
        return {b: above}, {b: below}
    if b.operation is ops.CONSTANT and b.attribute == 0:
        below, above = Interval(-math.inf, -SMALLEST), Interval(0.0, math.inf)
        if condition.operation is ops.LESS_EQUAL:
            below, above = Interval(-math.inf, 0.0), Interval(SMALLEST, math.inf)
        return {a: below}, {a: above}
    return {}, {}


class _PairedBranch:
    """The numbers of a formula where operands lie in known intervals."""

    def __init__(self, reals: PairedReals, root: Expression, known: Mapping[Expression, Interval]) -> None:
        self.reals, self.known, self.m = reals, known, reals.m
        self.numbers: dict[Expression, Paired] = {}
        among = list(walk(root, operands=self.below))
        uses = Counter(operand for current in among for operand in self.below(current))
        arguments = {n for current in among for n in _arguments(current)}
        if not reals.compared <= arguments:
            raise Unpaired("a comparison that another branch decides")
        self.moved = {n for n in arguments if n.operation is ops.INPUT and uses[n] == 1 and n not in reals.compared}
        """What nothing else is computed of: a rule may move it to where it holds."""
        self.near = {n: MOST for n in arguments - self.moved if n.operation is ops.INPUT}
        """How large operands are at most where all rules hold."""
        for n in arguments:
            if n.operation in (ops.MULTIPLY, ops.DIVIDE):
                for x, w in (n.operands, n.operands[::-1]):
                    if x.operation is ops.INPUT and w.operation in (ops.PARAMETER, ops.CONSTANT):
                        self.near.setdefault(x, MOST * FARTHEST)

    def is_number(self, root: Expression) -> bool:
        """Whether this is no NaN, of operands and parameters alone."""
        if root.operation in (ops.MULTIPLY, ops.NEGATE):
            return all(map(self.is_number, root.operands))
        return root in self.known or root in self.near or root.operation in (ops.PARAMETER, ops.CONSTANT)

    def number(self, root: Expression, *, is_result: bool = False) -> Paired:
        for current in walk(root, operands=self.below):
            if current not in self.numbers and current.format is Format.NUMBER:
                found = self._number(current, is_result=is_result and current is root)
                self.numbers[current] = found
        return self.numbers[root]

    def below(self, current: Expression) -> Sequence[Expression]:
        """What a node is computed of."""
        gate = _gate(current)
        if gate is not None:
            return (gate,)
        if current.operation is ops.SELECT:
            truth = self.reals.decided(current.operands[0])
            return current.operands[1:] if truth is None else (current.operands[1 if truth else 2],)
        return current.operands

    def _number(self, root: Expression, *, is_result: bool) -> Paired:
        m = self.m
        lies, most = self.known.get(root, EVERYTHING), self.near.get(root, math.inf)
        leaf = self.reals.leaf(root, Interval(max(lies.low, -most), max(min(lies.high, most), -most)))
        if leaf is not None:
            return leaf
        gate = _gate(root)
        if gate is not None:
            return gated(m, self.numbers[gate])
        match root.operation:
            case ops.SELECT:
                condition, a, b = root.operands
                truth = self.reals.decided(condition)
                if truth is not None:
                    return self.numbers[a if truth else b]
                return m.select(self.reals.truth(condition), self.numbers[a], self.numbers[b])
            case ops.ADD | ops.SUBTRACT | ops.MULTIPLY | ops.NEGATE | ops.ABSOLUTE:
                found: Paired = getattr(m, root.operation)(*(self.numbers[n] for n in root.operands))
                return found
            case ops.DIVIDE:
                a, b = root.operands
                return m.divide(self.numbers[a], self.numbers[b], is_same_for_all=not depends_on_elements(b))
        if root.operation.name not in FUNCTIONS_IN_PAIRS:
            raise Unpaired(f"{root.operation.name} has no rule in pairs")
        reaches_all = root.operands[0] in self.moved
        argument = self.numbers[root.operands[0]]
        return FUNCTIONS_IN_PAIRS[root.operation.name](m, argument, is_result=is_result, reaches_all=reaches_all)
