"""The fast contract: formulas in float32 without corrections, of numbers that are not large.

A formula is lowered with the rules in float32 of lowering/numerics/elementary, operation by operation, and each says below which
magnitude of its argument it holds. Where an element does not keep to that (large numbers, infinities, NaN), its result is
that of the exact contract. So special values and subnormal results are those of the exact contract, and the rules need no
clamps for them. Both are computed in blocks; the choice is made for each element, so its bits do not depend on the others.

Nodes that the rules do not know (logarithms, trigonometric functions, rows), what is as fast in the exact contract (float64 and
integers), and formulas without elementary functions in which digits may cancel, is computed exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import (
    COMPARISONS,
    Expression,
    Format,
    depends_on_elements,
    in_format,
    is_extreme,
    node,
    walk,
)
from ogive.lowering.cost import is_worth_it
from ogive.lowering.numerics.elementary import function_row
from ogive.lowering.numerics.elementary.argument import Argument, cubic, is_cubic, is_power_of_two, where_reached
from ogive.lowering.numerics.elementary.error_function import (
    LIMIT_OF_TAIL,
    gaussian,
    normal_tail_in_single,
    tail_on_both_sides,
)
from ogive.lowering.numerics.elementary.exponential.exp import FAR_IN_SINGLE, decay
from ogive.lowering.numerics.elementary.exponential.logistic import bell_in_single
from ogive.lowering.numerics.elementary.function_row import known_in_single
from ogive.lowering.numerics.elementary.gates import LIMIT_OF_SLOPES, gate_slope_in_single
from ogive.lowering.numerics.elementary.hyperbolic import cosh_in_single, one_per_cosh_squared
from ogive.lowering.numerics.elementary.logarithm import log1p_to_one
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.truths import both
from ogive.lowering.program import Program, stored_operand

__all__ = [
    "IMAGES",
    "SLOPES",
    "TYPES",
    "FastNumber",
    "FastRules",
    "Unknown",
    "fast",
    "polynomial_of",
    "without_clamp",
]


class GateSlope(NamedTuple):
    """``logistic(u) * (1 + w * logistic(-u))``."""

    u: Expression
    w: Expression


class Bell(NamedTuple):
    """``logistic(u) * logistic(-u)``, or ``1 / cosh(u)**2``; times a number that stands between them."""

    u: Expression
    is_of_cosh: bool
    factor: Expression | None = None


#: Slopes that have a rule here.
SLOPES = frozenset({"gate_slope", "logistic_slope", "tanh_slope"})


def gate_slope_of(root: Expression) -> GateSlope | None:
    """The parts of such a product; None where a node is none."""
    if root.operation == "gate_slope":
        return GateSlope(root.operands[0], root.operands[0])
    for gate, total in _both_orders(root, ops.MULTIPLY):
        if gate.operation != "logistic":
            continue
        for one, product in _both_orders(total, ops.ADD):
            if one.operation != ops.CONSTANT or one.attribute != 1:
                continue
            for w, other in _both_orders(product, ops.MULTIPLY):
                if other.operation == "logistic" and _are_opposite(gate.operands[0], other.operands[0]):
                    return GateSlope(gate.operands[0], w)
    return None


def bell_of(root: Expression) -> Bell | None:
    """The parts of such a product or quotient; None where a node is none."""
    if root.operation in ("logistic_slope", "tanh_slope"):
        return Bell(root.operands[0], is_of_cosh=root.operation == "tanh_slope")
    for a, b in _both_orders(root, ops.MULTIPLY):
        if a.operation == b.operation == "logistic" and _are_opposite(a.operands[0], b.operands[0]):
            return Bell(a.operands[0], is_of_cosh=False)
    if root.operation != ops.DIVIDE or root.operands[1].operation != "cosh":
        return None
    inner, cosh = root.operands
    if _is_one_over(inner, cosh):
        return Bell(cosh.operands[0], is_of_cosh=True)
    for quotient, factor in _both_orders(inner, ops.MULTIPLY):
        if _is_one_over(quotient, cosh):
            return Bell(cosh.operands[0], is_of_cosh=True, factor=factor)
    return None


def _both_orders(root: Expression, operation: str) -> tuple[tuple[Expression, Expression], ...]:
    """The operands of this operation, in both orders; none of another one."""
    if root.operation != operation:
        return ()
    a, b = root.operands
    return (a, b), (b, a)


def _are_opposite(u: Expression, v: Expression) -> bool:
    return any(b.operation == ops.NEGATE and b.operands[0] is a for a, b in ((u, v), (v, u)))


def _is_one_over(quotient: Expression, divisor: Expression) -> bool:
    if quotient.operation != ops.DIVIDE or quotient.operands[1] is not divisor:
        return False
    one = quotient.operands[0]
    return one.operation == ops.CONSTANT and one.attribute == 1


SINGLE = Machine(Format.F32)

#: The element types whose results are computed in float32.
TYPES = frozenset({"float16", "bfloat16", "float32"})

#: Below which magnitude operands are, whatever rules ask for.
LARGEST_OPERAND = 2.0**60

#: Functions that have a rule of their own.
FUNCTIONS = known_in_single()

IMAGES = {"logistic": Interval(0.0, 1.0), "normal_tail": Interval(0.0, 1.0), "tanh": Interval(-1.0, 1.0)}

QUARTER = Fraction(1, 4)

#: A limit of an operand makes intervals smaller, and so may ask for another limit.
MOST_PASSES = 8


class Unknown(Exception):
    """There is no rule for this."""


def fast(
    exact: Program,
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
) -> Program:
    """The program of the fast contract, made of that of the exact one."""
    if not {t.name for t in (*inputs, *outputs)} <= TYPES or exact.stages or exact.row_operands:
        return exact
    has_functions = any(n.operation in FUNCTIONS | SLOPES and depends_on_elements(n) for n in walk(*roots))
    if not has_functions and not _keeps_digits(roots):
        return exact
    careful = exact.last_tested
    try:
        results, is_unusual = _results(careful, roots, tuple(inputs))
    except Unknown:
        return exact
    undecided = careful.undecided
    if undecided is not None:  # of an element that is not computed exactly nothing is in doubt
        undecided = node(ops.SELECT_RARE, (is_unusual, undecided, is_unusual), None, Format.BIT)
    made = Program(
        tuple(inputs),
        tuple(outputs),
        results,
        parameter_count=exact.parameter_count,
        undecided=undecided,
        later=careful.later,
        decide=exact.decide,
    )
    return made if is_worth_it(made, exact) else exact


#: Constants that numbers in the middle of the range may be multiplied or divided by.
FACTORS = (2.0**-10, 2.0**10)


class _Kept(Enum):
    """The known facts about a number in a formula of plain arithmetic."""

    STORED = 1
    """An operand, a constant of float32, or a choice of these: nothing is lost yet."""
    MODERATE = 2
    """Zero, or so large that a product with any operand underflows only where the exact one does."""
    FINAL = 3
    """A product that may be small, and so is no part of another one."""


def _keeps_digits(roots: Sequence[Expression]) -> bool:
    """Whether a formula without elementary functions loses less than a unit by each operation: nothing cancels.

    Only of stored numbers there are sums and comparisons, and no product is multiplied that may have underflown.
    """
    known: dict[Expression, _Kept] = {}
    for current in walk(*roots):
        operands = [known[n] for n in current.operands if n in known]
        if current.operation in (ops.LESS, ops.LESS_EQUAL):
            if set(operands) != {_Kept.STORED}:
                return False
            continue
        kept = _kept(current, operands)
        if kept is None:
            return False
        known[current] = kept
    return True


def _kept(current: Expression, operands: Sequence[_Kept]) -> _Kept | None:
    if current.operation == ops.INPUT or _is_short(current):
        return _Kept.STORED
    if current.operation in (ops.ABSOLUTE, ops.NEGATE):
        return operands[0]
    if current.operation == ops.SELECT and len(operands) == 2:
        return operands[0] if operands[0] is operands[1] else _Kept.FINAL
    if current.operation == ops.ADD:
        has_constant = any(n.operation == ops.CONSTANT and n.attribute for n in current.operands)
        return _Kept.MODERATE if has_constant and set(operands) == {_Kept.STORED} else None
    if current.operation in (ops.MULTIPLY, ops.DIVIDE):
        b = current.operands[1]
        if b.operation == ops.CONSTANT and operands[0] is _Kept.MODERATE:
            return _Kept.MODERATE if FACTORS[0] <= abs(b.attribute) <= FACTORS[1] else None
        if current.operation == ops.MULTIPLY and _Kept.MODERATE in operands and _Kept.FINAL not in operands:
            return _Kept.MODERATE if operands[0] is operands[1] else _Kept.FINAL
    return None


def _is_short(root: Expression) -> bool:
    """Whether this is a constant that float32 has."""
    if root.operation != ops.CONSTANT or not abs(root.attribute) < LARGEST_OPERAND:
        return False
    return bool(SINGLE.rounded(Fraction(root.attribute)) == root.attribute)


def _results(
    exact: Program, roots: Sequence[Expression], inputs: tuple[ElementType, ...]
) -> tuple[tuple[Expression, ...], Expression]:
    """The results, and whether an element's are those of the exact contract."""
    limits: dict[Expression, float] = {}
    is_pruned = False
    for _ in range(MOST_PASSES):
        lowering, before = FastRules(roots, inputs, limits), dict(limits)
        values = [lowering.value(root) for root in roots]
        if limits == before:
            needed = {root: limit for root, limit in limits.items() if root in lowering.required}
            if is_pruned or needed == limits:
                break
            limits, is_pruned = needed, True  # others belong to choices that limits have decided since
    is_unusual = SINGLE.not_(lowering.is_usual())
    results = []
    for value, careful in zip(values, exact.results, strict=True):
        short = value.number
        if not value.interval.within(-SINGLE.largest, SINGLE.largest):
            short = SINGLE.canonical_(short)
        if careful.format is not Format.F32:
            short = in_format(short, careful.format)
        results.append(SINGLE.select_rare_(is_unusual, careful, short))
    return tuple(results), is_unusual


@dataclass(frozen=True)
class FastNumber:
    number: Expression
    interval: Interval


class FastRules:
    """The primitive graphs of formulas for operands within ``limits``, to which rules add."""

    def __init__(
        self, roots: Sequence[Expression], inputs: tuple[ElementType, ...], limits: dict[Expression, float]
    ) -> None:
        self.m = SINGLE
        self.uses = Counter(operand for current in walk(*roots) for operand in current.operands)
        self.inputs = inputs
        self.limits = limits
        self.divisors: dict[Expression, None] = {}
        """Divisors that are the same for all elements, and no constant."""
        self.values: dict[Expression, FastNumber] = {}
        self.truths: dict[Expression, Expression] = {}
        self.required: set[Expression] = set()
        """The operands whose limits rules have asked for."""
        self.slopes: set[Expression] = set()
        """Derivatives of activations, and products with them: what these lose is not made up for."""

    # ---- limits

    def require(self, root: Expression, limit: float) -> None:
        """Compute elements exactly where a number's magnitude is not below the limit."""
        while True:
            if root.operation in (ops.NEGATE, ops.ABSOLUTE):
                root = root.operands[0]
                continue
            if root.operation == ops.MULTIPLY and any(is_power_of_two(n) for n in root.operands):
                a, b = root.operands
                root, factor = (b, a) if is_power_of_two(a) else (a, b)
                limit /= float(abs(factor.attribute))
                continue
            clamped = [n for n in root.operands[1:] if n.operation != ops.CONSTANT] if is_extreme(root) else []
            clamps = [n for n in root.operands[1:] if n.operation == ops.CONSTANT and abs(n.attribute) >= limit]
            if len(clamped) != 1 or not clamps:
                break
            root = clamped[0]
        self.required.add(root)
        if limit < self.limits.get(root, math.inf) and self.values[root].interval.largest_magnitude >= limit:
            self.limits[root] = limit

    def is_usual(self) -> Expression:
        """Whether all limits are kept to."""
        m, among = self.m, dict(self.limits)
        truths = []
        operands = [root for root in self.values if root.operation == ops.INPUT and root.format is Format.NUMBER]
        for operand in operands:
            limit = m.number(among.pop(operand))
            for root in list(among):
                w = _factor_of(root, operand)
                if w is not None:
                    factor = m.number(among.pop(root))
                    quotient = m.div_(factor, m.abs_(self.value(w).number))
                    if root.operation == ops.DIVIDE:
                        quotient = m.mul_(factor, m.abs_(self.value(w).number))
                    limit = m.select_(m.less_(quotient, limit), quotient, limit)
            for divisor in self.divisors:  # of a subnormal one there is no reciprocal
                limit = m.select_(m.less_(m.abs_(divisor), m.number(m.smallest_normal)), m.number(0.0), limit)
            truths.append(m.less_(m.abs_(self.values[operand].number), limit))
        for root, most in among.items():
            truths.append(m.less_(m.abs_(self.values[root].number), m.number(most)))
        return reduce(both, truths)

    # ---- numbers

    def value(self, root: Expression) -> FastNumber:
        for current in walk(root, operands=self._open_operands):
            if current.format is Format.NUMBER and current not in self.values:
                value = self._value(current)
                if current in self.limits:
                    limit = self.limits[current]
                    low, high = max(value.interval.low, -limit), min(value.interval.high, limit)
                    value = FastNumber(value.number, Interval(low, high))
                self.values[current] = value
        return self.values[root]

    def _open_operands(self, root: Expression) -> tuple[Expression, ...]:
        """The nodes that have to be computed before a number; of a choice that limits decide, only what it comes to."""
        if root in self.values:
            return ()
        if root.operation == ops.SELECT and root.format is Format.NUMBER:
            condition = root.operands[0]
            if condition.operation in (ops.LESS, ops.LESS_EQUAL):
                for operand in condition.operands:
                    self.value(operand)
                decided = self._decided(condition)
                if decided is not None:
                    return (root.operands[1 if decided else 2],)
        return root.operands

    def _value(self, root: Expression) -> FastNumber:
        m = self.m
        match root.operation:
            case ops.INPUT:
                return self._input(root)
            case ops.PARAMETER:
                value = in_format(node(ops.PARAMETER, (), root.attribute, Format.F64), Format.F32)
                return FastNumber(value, Interval(-m.largest, m.largest))
            case ops.CONSTANT:
                number = m.rounded(root.attribute) if isinstance(root.attribute, Fraction) else float(root.attribute)
                return FastNumber(m.number(number), Interval.around(number))
            case ops.SELECT:
                return self._choice(root)
        if root.operation in FUNCTIONS:
            return self._function(root)
        slope = self._slope(root)
        if slope is not None:
            self.slopes.add(root)
            return slope
        operands = [self.values[operand] for operand in root.operands]
        numbers = [operand.number for operand in operands]
        intervals = [operand.interval for operand in operands]
        match root.operation:
            case ops.NEGATE:
                return FastNumber(m.neg_(*numbers), -intervals[0])
            case ops.APPROXIMATION:
                return FastNumber(numbers[0], intervals[0])
            case ops.ABSOLUTE:
                return FastNumber(m.abs_(*numbers), abs(intervals[0]))
            case ops.COPY_SIGN:
                magnitude = abs(intervals[0])
                return FastNumber(m.make(ops.COPY_SIGN, *numbers), magnitude | -magnitude)
            case ops.ADD:
                is_regrouped = all(n.operation != ops.ADD or self.uses[n] == 1 for n in root.operands)
                return FastNumber(self._sum(*numbers, regroup=is_regrouped), intervals[0] + intervals[1])
            case ops.SUBTRACT:
                return FastNumber(self._sum(numbers[0], m.neg_(numbers[1])), intervals[0] - intervals[1])
            case ops.MULTIPLY:
                interval = intervals[0] * intervals[1]
                if not self.slopes.isdisjoint(root.operands):
                    self.slopes.add(root)
                    return FastNumber(self._product(*numbers), interval)
                for factor, quotient in (root.operands, root.operands[::-1]):
                    if quotient.operation == ops.DIVIDE and depends_on_elements(quotient.operands[1]):
                        x, dividend, divisor = (self.values[n].number for n in (factor, *quotient.operands))
                        terms = self._terms(divisor) or ()
                        return FastNumber(self._product_with_quotient(x, dividend, divisor, terms), interval)
                    value = self.values[quotient].number
                    if quotient.operation == ops.MULTIPLY and value.operation == ops.DIVIDE:
                        x, (dividend, divisor) = self.values[factor].number, value.operands
                        return FastNumber(self._product_with_quotient(x, dividend, divisor, ()), interval)
                return FastNumber(self._product(*numbers), interval)
            case ops.DIVIDE:
                return FastNumber(self._quotient(*numbers), intervals[0] / intervals[1])
            case ops.SQUARE_ROOT:
                interval = Interval(max(intervals[0].low, 0.0), max(intervals[0].high, 0.0)).map(math.sqrt)
                return FastNumber(m.sqrt_(*numbers), interval)
        raise Unknown(root.operation)

    def _input(self, root: Expression) -> FastNumber:
        self.limits.setdefault(root, LARGEST_OPERAND)
        self.required.add(root)
        leaf = stored_operand(root, self.inputs)
        number = in_format(leaf, Format.F32)
        return FastNumber(number, Interval(-LARGEST_OPERAND, LARGEST_OPERAND))

    def _sum(self, a: Expression, b: Expression, *, regroup: bool = False) -> Expression:
        """A sum; one with a product is a single instruction.

        With ``regroup`` constants are added last, to what is rounded less so; a sum that is needed anyway stays.
        """
        m = self.m
        for total, other in ((a, b), (b, a)) if regroup else ():
            if total.operation == ops.ADD and depends_on_elements(other):
                for c, term in (total.operands, total.operands[::-1]):
                    if c.operation == ops.CONSTANT and term.operation == ops.MULTIPLY:
                        return m.add_(c, self._sum(term, other))
            if (
                total.operation == ops.FMA
                and total.operands[2].operation == ops.CONSTANT
                and depends_on_elements(other)
            ):
                x, y, c = total.operands
                return m.add_(c, self._sum(m.mul_(x, y), other))
        for product, other in ((b, a), (a, b)) if _is_scaled(a) else ((a, b), (b, a)):
            is_negated = product.operation == ops.NEGATE
            inner = product.operands[0] if is_negated else product
            if inner.operation == ops.MULTIPLY:
                x, y = inner.operands
                return m.fma_(m.neg_(x) if is_negated else x, y, other)
        return m.add_(a, b)

    def _product(self, a: Expression, b: Expression) -> Expression:
        """A product; one with a quotient divides last."""
        m = self.m
        for factor, quotient in ((a, b), (b, a)):
            if quotient.operation == ops.DIVIDE and depends_on_elements(quotient.operands[1]):
                dividend, divisor = quotient.operands
                return m.div_(factor if dividend is m.number(1.0) else m.mul_(factor, dividend), divisor)
        for factor, inner in ((a, b), (b, a)):
            if inner.operation == ops.MULTIPLY and is_power_of_two(factor) and abs(factor.attribute) >= 1:
                return m.mul_(m.mul_(factor, inner.operands[0]), inner.operands[1])
        for factor, total in ((a, b), (b, a)):
            if total.operation == ops.ADD and factor.operation != ops.CONSTANT:
                for c, other in (total.operands, total.operands[::-1]):
                    if is_power_of_two(c):  # c * factor is exact
                        return m.fma_(factor, other, m.mul_(c, factor))
        return m.mul_(a, b)

    def _product_with_quotient(
        self, x: Expression, dividend: Expression, divisor: Expression, terms: Sequence[Expression]
    ) -> Expression:
        """``x * dividend / divisor``: what product and quotient lose is made up for.

        Where the divisor is a sum, it is subtracted in its terms, so that what the sum loses is made up for, too.
        """
        m = self.m
        reciprocal = m.div_(m.number(1.0), divisor)
        product = m.mul_(x, dividend)
        quotient = m.mul_(product, reciprocal)
        rest, minus = product, m.neg_(quotient)
        for part in terms or (divisor,):
            rest = m.sub_(rest, quotient) if part is m.number(1.0) else m.fma_(minus, part, rest)
        rest = m.add_(rest, m.fma_(x, dividend, m.neg_(product)))
        # The sum loses the sign of a zero.
        return m.make(ops.COPY_SIGN, m.fma_(rest, reciprocal, quotient), quotient)

    def _terms(self, total: Expression) -> tuple[Expression, Expression] | None:
        """A sum as its two terms, a constant first; so of a choice between sums."""
        if total.operation == ops.ADD:
            a, b = total.operands
            return (b, a) if b.operation == ops.CONSTANT else (a, b)
        if total.operation == ops.FMA:
            x, y, z = total.operands
            return z, self.m.mul_(x, y)
        if total.operation == ops.SELECT:
            condition, a, b = total.operands
            first, second = self._terms(a), self._terms(b)
            if first is not None and second is not None:
                c, d = (self.m.select_(condition, *pair) for pair in zip(first, second, strict=True))
                return c, d
        return None

    def _quotient(self, a: Expression, b: Expression) -> Expression:
        m = self.m
        if depends_on_elements(b):
            return m.div_(a, b)
        if b.operation is not ops.CONSTANT:
            self.divisors[b] = None
        return m.mul_(a, m.div_(m.number(1.0), b))

    def _choice(self, root: Expression) -> FastNumber:
        condition, a, b = root.operands
        decided = self._decided(condition)
        if decided is not None:
            chosen = a if decided else b
            if chosen in self.slopes:
                self.slopes.add(root)
            return self.values[chosen]
        first, second = self.values[a], self.values[b]
        interval = first.interval | second.interval
        if is_extreme(root):
            extreme = min if condition.operands[0] is a else max
            bounds = ((first.interval.low, second.interval.low), (first.interval.high, second.interval.high))
            interval = Interval(*(extreme(pair) for pair in bounds))
        return FastNumber(self.m.select_(self.truth(condition), first.number, second.number), interval)

    # ---- elementary functions

    def _log1p(self, root: Expression) -> FastNumber:
        interval = self.values[root].interval
        if not interval.within(0.0, 1 + 2.0**-10):
            raise Unknown("log1p of other numbers than those from 0 to 1")
        return FastNumber(log1p_to_one(self.m, self.values[root].number), interval.map(math.log1p))

    def _function(self, root: Expression) -> FastNumber:
        m, operation, inner = self.m, root.operation, root.operands[0]
        interval = self.values[inner].interval
        if operation == "log1p":
            return self._log1p(inner)
        if operation == "exp":
            bell = self._gaussian(inner)
            if bell is not None:
                return bell
        form = function_row.FUNCTIONS[operation].in_single
        assert form is not None
        cubic = self._cubic(inner) if operation == "logistic" else None
        if cubic is None:
            self.require(inner, form.limit)
        if operation == "normal_tail":
            return FastNumber(self._normal_tail(inner, interval), IMAGES[operation])
        if operation == "cosh":
            return FastNumber(cosh_in_single(m, decay(m, self._argument(inner))), Interval(1.0, math.cosh(87.0)))
        argument = self._argument(inner) if cubic is None else cubic
        assert form.plain is not None
        number = form.plain(m, argument)
        if operation in IMAGES:
            return FastNumber(number, IMAGES[operation])
        most = form.limit
        function = math.exp if operation == "exp" else math.expm1
        bounds = Interval(max(interval.low, -most), min(interval.high, most))
        return FastNumber(number, bounds.map(function))

    def _normal_tail(self, root: Expression, interval: Interval) -> Expression:
        number = self.values[root].number
        if interval.low >= 0:
            return normal_tail_in_single(self.m, number)
        if number.operation == ops.NEGATE:  # then the exponential is that of the number itself
            magnitude, is_negative = number.operands[0], self.m.less_(self.m.number(0.0), number.operands[0])
        else:
            magnitude, is_negative = number, self.m.less_(number, self.m.number(0.0))
        return tail_on_both_sides(self.m, self.m.abs_(magnitude), is_negative)

    def _gaussian(self, root: Expression) -> FastNumber | None:
        """``exp(-x**2 / 2)``."""
        terms = polynomial_of(root, lambda n: self._without_clamp(n, []))
        if terms is None or terms[1] != {2: Fraction(-1, 2)}:
            return None
        x = terms[0]
        self.require(x, LIMIT_OF_TAIL)
        return FastNumber(gaussian(self.m, self.m.abs_(self.values[x].number)), Interval(0.0, 1.0))

    def _slope(self, root: Expression) -> FastNumber | None:
        """The derivative of an activation, in a form of its own."""
        gate = gate_slope_of(root)
        if gate is not None:
            return self._gate_slope(gate)
        bell = bell_of(root)
        return None if bell is None else self._bell(bell)

    def _gate_slope(self, gate: GateSlope) -> FastNumber:
        m, cubic = self.m, self._cubic(gate.u, of_magnitude=True)
        if cubic is None:
            self.require(gate.u, LIMIT_OF_SLOPES)
        e = decay(m, self._argument(gate.u) if cubic is None else cubic)
        is_negative = m.less_(self.values[gate.u].number, m.number(0.0))
        w = self.values[gate.w]
        interval = Interval.around(1.0) + w.interval * Interval(0.0, 1.0)
        return FastNumber(gate_slope_in_single(m, e, w.number, is_negative), interval)

    def _bell(self, bell: Bell) -> FastNumber:
        m = self.m
        self.require(bell.u, LIMIT_OF_SLOPES / (2 if bell.is_of_cosh else 1))
        argument = self._argument(bell.u)
        factor = bell.factor
        if bell.is_of_cosh and not (
            factor is not None and factor.operation == ops.CONSTANT and factor.attribute == QUARTER
        ):
            number = one_per_cosh_squared(m, decay(m, argument, 2.0))
        else:
            number = bell_in_single(m, decay(m, argument, 2.0 if bell.is_of_cosh else 1.0))
            factor = None
        image = Interval(0.0, 1.0)
        if factor is None:
            return FastNumber(number, image)
        other = self.values[factor]
        return FastNumber(self._product(other.number, number), image * other.interval)

    def _argument(self, root: Expression) -> Argument:
        """A number as a function's argument: of a product with what is the same for all elements, both factors."""
        m, sign, is_absolute = self.m, 1.0, False
        while True:
            if root.operation == ops.ABSOLUTE:
                is_absolute = True
            elif root.operation == ops.NEGATE:
                sign = sign if is_absolute else -sign
            elif root.operation == ops.SELECT and self._decided(root.operands[0]) is not None:
                root = root.operands[1 if self._decided(root.operands[0]) else 2]  # a clamp beyond the limits
                continue
            else:
                break
            root = root.operands[0]
        x, w = root, None
        if root.operation == ops.MULTIPLY:
            for a, b in (root.operands, root.operands[::-1]):
                if depends_on_elements(a) and not depends_on_elements(b):
                    x, w = a, self.values[b].number
        number = self.values[x].number
        if is_absolute:
            number, w = m.abs_(number), None if w is None else m.abs_(w)
        return Argument(number, w, None, sign)

    def _cubic(self, root: Expression, *, of_magnitude: bool = False) -> Argument | None:
        """The argument, or its magnitude, if it is a x + b x**3 with positive numbers a and b."""
        clamps: list[float] = []
        terms = polynomial_of(root, lambda n: self._without_clamp(n, clamps))
        if terms is None or set(terms[1]) != {1, 3} or min(terms[1].values()) <= 0:
            return None
        x, (linear, third) = terms[0], (terms[1][1], terms[1][3])
        most = where_reached(linear, third, FAR_IN_SINGLE)
        if not is_cubic(linear, third, most) or any(most >= clamp for clamp in clamps):
            return None
        self.require(x, most)
        number = self.values[x].number
        return cubic(self.m, self.m.abs_(number) if of_magnitude else number, linear, third)

    def _without_clamp(self, root: Expression, clamps: list[float]) -> Expression:
        """The number that a choice comes to within limits, and that clamps leave alone which are noted."""
        while root.operation == ops.SELECT:
            condition, a, b = root.operands
            decided = self._decided(condition)
            if decided is None:
                constants = [n for n in (a, b) if n.operation == ops.CONSTANT]
                if not is_extreme(root) or len(constants) != 1:
                    break
                clamps.append(abs(float(constants[0].attribute)))
                decided = b is constants[0]
            root = a if decided else b
        return root

    # ---- truth values

    def _decided(self, condition: Expression) -> bool | None:
        """The result of a comparison, whatever the operands; None where that depends."""
        if condition.operation not in (ops.LESS, ops.LESS_EQUAL):
            return None
        left, right = (self.values[operand].interval for operand in condition.operands)
        return True if _is_below(left, right) else False if _is_below(right, left) else None

    def truth(self, root: Expression) -> Expression:
        for current in walk(root, operands=lambda n: () if n in self.truths else n.operands):
            if current.format is Format.TRUTH and current not in self.truths:
                self.truths[current] = self._truth(current)
        return self.truths[root]

    def _truth(self, root: Expression) -> Expression:
        if root.operation in COMPARISONS:
            a, b = (self.value(operand).number for operand in root.operands)
            return getattr(self.m, f"{root.operation}_")(a, b)  # type: ignore[no-any-return]
        if root.operation in (ops.AND, ops.OR, ops.EXCLUSIVE_OR, ops.NOT):
            return node(root.operation, tuple(self.truths[n] for n in root.operands), None, Format.BIT)
        raise Unknown(root.operation)


def _is_scaled(primitive: Expression) -> bool:
    """Whether this is a product that is exact."""
    return primitive.operation == ops.MULTIPLY and any(map(is_power_of_two, primitive.operands))


def _factor_of(root: Expression, operand: Expression) -> Expression | None:
    """The factor or divisor of the operand, if that is the same for all elements."""
    if root.operation == ops.MULTIPLY:
        for a, b in (root.operands, root.operands[::-1]):
            if a is operand and not depends_on_elements(b):
                return b
    if root.operation == ops.DIVIDE and root.operands[0] is operand and not depends_on_elements(root.operands[1]):
        return root.operands[1]
    return None


def without_clamp(root: Expression) -> Expression:
    """The number that is clamped by constants, from one side or both."""
    while is_extreme(root) and (others := [n for n in root.operands[1:] if n.operation != ops.CONSTANT]):
        if len(others) == 2:
            break
        (root,) = others
    return root


def _is_below(a: Interval, b: Interval) -> bool:
    """Whether the numbers of one interval are less than those of another, rounding errors and all."""
    return a.high + 2.0**-20 * max(abs(a.high), abs(b.low)) < b.low


_OF_POLYNOMIALS = (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.NEGATE, ops.DIVIDE)


def polynomial_of(
    root: Expression, resolve: Callable[[Expression], Expression]
) -> tuple[Expression, dict[int, Fraction]] | None:
    """A formula as a polynomial in one operand; None where it is none of degree 8 or less.

    ``resolve`` says which number stands for another.
    """
    variable: Expression | None = None
    found: dict[Expression, dict[int, Fraction] | None] = {}

    def operands(n: Expression) -> Sequence[Expression]:
        resolved = resolve(n)
        if resolved is not n:
            return (resolved,)
        return n.operands if n.operation in _OF_POLYNOMIALS else ()

    for current in walk(root, operands=operands):
        resolved = resolve(current)
        if resolved is not current:
            found[current] = found[resolved]
            continue
        parts = [found[operand] for operand in operands(current)]
        if any(part is None for part in parts):
            found[current] = None
            continue
        known = [part for part in parts if part is not None]
        if current.operation == ops.CONSTANT and isinstance(current.attribute, Fraction | int):
            found[current] = {0: Fraction(current.attribute)}
        elif current.operation == ops.ADD or current.operation == ops.SUBTRACT:
            sign = 1 if current.operation == ops.ADD else -1
            powers = {*known[0], *known[1]}
            found[current] = {p: known[0].get(p, Fraction(0)) + sign * known[1].get(p, Fraction(0)) for p in powers}
        elif current.operation == ops.DIVIDE:
            divisor = known[1]
            found[current] = {p: c / divisor[0] for p, c in known[0].items()} if set(divisor) == {0} else None
        elif current.operation == ops.NEGATE:
            found[current] = {p: -c for p, c in known[0].items()}
        elif current.operation == ops.MULTIPLY:
            product: dict[int, Fraction] = {}
            for p, c in known[0].items():
                for q, d in known[1].items():
                    product[p + q] = product.get(p + q, Fraction(0)) + c * d
            found[current] = product if max(product) <= 8 else None
        elif (variable is None or variable is current) and current.operation == ops.INPUT:
            variable, found[current] = current, {1: Fraction(1)}
        else:
            found[current] = None
    terms = found[root]
    return None if terms is None or variable is None else (variable, {p: c for p, c in terms.items() if c})
