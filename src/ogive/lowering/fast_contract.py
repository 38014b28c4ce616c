"""The fast contract: formulas in float32 without corrections and without a test, of numbers that are not large.

A formula is lowered with the rules in float32 of lowering/numerics/elementary, and each says below which magnitude of its argument
it holds. Where an element does not keep to that (large numbers, infinities, NaN), its result is that of the exact contract. So
special values and subnormal results are those of the exact contract, and the rules need no clamps for them. Both are computed in
blocks; the choice is made for each element, so its bits do not depend on the others.

Nodes that the rules do not know (logarithms, trigonometric functions, rows), what is as fast in the exact contract (float64 and
integers), and formulas without elementary functions in which digits may cancel, is computed exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from functools import reduce

from ogive.common.dtypes import ElementType
from ogive.differentiation.algebra import rational
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, constant, depends_on_elements, in_format, is_extreme, node, walk
from ogive.lowering.cost import is_worth_it
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.argument import Argument, cubic, is_cubic, where_reached
from ogive.lowering.numerics.elementary.exponential.exp import FAR_IN_SINGLE
from ogive.lowering.numerics.elementary.function_row import FUNCTIONS, InSingle, known_in_single
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine, is_power_of_two
from ogive.lowering.numerics.truths import both
from ogive.lowering.numerics.uncorrected import Uncorrected
from ogive.lowering.program import Program
from ogive.lowering.real_lowering import RealLowering


class Unknown(Exception):
    """There is no rule for this."""


#: The element types whose results are computed in float32.
TYPES = frozenset({"float16", "bfloat16", "float32"})

#: Below which magnitude operands are, whatever rules ask for.
LARGEST_OPERAND = 2.0**60

#: Functions that have a rule here.
KNOWN = known_in_single()

#: Other operations that are computed.
ARITHMETIC = frozenset(
    {
        *(ops.INPUT, ops.PARAMETER, ops.CONSTANT, ops.APPROXIMATION, ops.SELECT),
        *(ops.COPY_SIGN, ops.NEGATE, ops.ABSOLUTE),
        *(ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.SQUARE_ROOT),
    }
)

#: Exponentials of more are infinite.
FAR_OF_FLOAT64 = 700.0

#: A limit of an operand makes intervals smaller, and so may ask for another limit.
MOST_PASSES = 8

#: Where functions lie, of those that do not grow, or have limits.
IMAGES = {
    "cosh": Interval(1.0, math.cosh(FAR_IN_SINGLE)),
    "gate_slope": Interval(-0.25, 1.25),
    "logistic": Interval(0.0, 1.0),
    "logistic_slope": Interval(0.0, 0.25),
    "normal_tail": Interval(0.0, 1.0),
    "tanh": Interval(-1.0, 1.0),
    "tanh_slope": Interval(0.0, 1.0),
}


def fast(
    exact: Program,
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
) -> Program:
    """The program of the fast contract, made of that of the exact one."""
    if not {t.name for t in (*inputs, *outputs)} <= TYPES or exact.stages or exact.row_operands:
        return exact
    has_functions = any(n.operation in KNOWN and depends_on_elements(n) for n in walk(*roots))
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
    made = replace(careful, results=results, undecided=undecided, first_levels=())
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
    return bool(Machine(Format.F32).rounded(Fraction(root.attribute)) == root.attribute)


def _results(
    exact: Program, roots: Sequence[Expression], inputs: tuple[ElementType, ...]
) -> tuple[tuple[Expression, ...], Expression]:
    """The results, and whether an element's are those of the exact contract."""
    limits: dict[Expression, float] = {}
    is_pruned = False
    for _ in range(MOST_PASSES):
        lowering, before = UncorrectedReals(Uncorrected(), roots, inputs, limits), dict(limits)
        numbers = [lowering.number(root) for root in roots]
        if limits == before:
            needed = {root: limit for root, limit in limits.items() if root in lowering.required}
            if is_pruned or needed == limits:
                break
            limits, is_pruned = needed, True  # others belong to choices that limits have decided since
    m, results = lowering.m, []
    is_unusual = m.not_(lowering.is_usual())
    for number, careful in zip(numbers, exact.results, strict=True):
        value = number.high if number.interval.within(-m.largest, m.largest) else m.canonical_(number.high)
        results.append(m.select_rare_(is_unusual, careful, in_format(value, careful.format)))
    return tuple(results), is_unusual


class UncorrectedReals(RealLowering):
    """Formulas for operands within ``limits``, to which rules add."""

    m: Uncorrected
    operands_lie = Interval(-LARGEST_OPERAND, LARGEST_OPERAND)

    def __init__(
        self,
        m: Uncorrected,
        roots: Sequence[Expression],
        inputs: tuple[ElementType, ...],
        limits: dict[Expression, float],
    ) -> None:
        super().__init__(m, inputs, Format.F32)
        self.uses = Counter(operand for current in walk(*roots) for operand in current.operands)
        self.limits = limits
        self.required: set[Expression] = set()
        """The operands whose limits rules have asked for."""

    # ---- limits

    def require(self, root: Expression, limit: float) -> None:
        """Leave elements undecided where a number's magnitude is not below the limit."""
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
        if limit < self.limits.get(root, math.inf) and self.number(root).interval.largest_magnitude >= limit:
            self.limits[root] = limit

    def is_usual(self) -> Expression:
        """Whether all limits are kept to."""
        m, among = self.m, dict(self.limits)
        truths = []
        operands = [root for root in self.numbers if root.operation == ops.INPUT]
        for operand in operands:
            limit = m.number(among.pop(operand))
            for root in list(among):
                w = _factor_of(root, operand)
                if w is not None:
                    factor = m.number(among.pop(root))
                    size = m.abs_(self.number(w).high)
                    most = m.mul_(factor, size) if root.operation == ops.DIVIDE else m.div_(factor, size)
                    limit = m.select_(m.less_(most, limit), most, limit)
            for divisor in m.divisors:  # of a subnormal one there is no reciprocal
                limit = m.select_(m.less_(m.abs_(divisor), m.number(m.smallest_normal)), m.number(0.0), limit)
            truths.append(m.less_(m.abs_(self.numbers[operand].high), limit))
        truths += [m.less_(m.abs_(self.numbers[root].high), m.number(most)) for root, most in among.items()]
        return reduce(both, truths)

    # ---- numbers

    def _below(self, current: Expression) -> Sequence[Expression]:
        """The nodes that have to be known before a node; of a choice that limits decide, only what it comes to."""
        if current.operation is ops.SELECT and current.format is Format.NUMBER:
            decided = self._decided(current)
            if decided is not None:
                return (decided,)
        return current.operands

    def _decided(self, root: Expression) -> Expression | None:
        condition, a, b = root.operands
        if condition.operation not in (ops.LESS, ops.LESS_EQUAL):
            return None
        left, right = (self.number(operand).interval for operand in condition.operands)
        return a if left.is_below(right) else b if right.is_below(left) else None

    def _number(self, root: Expression) -> DoubleWord:
        if root.operation in KNOWN:
            number = self._known(root)
        elif root.operation in ARITHMETIC:
            number = super()._number(root)
            if self.uses[root] > 1:
                self.m.shared.add(number.high)
        else:
            raise Unknown(root.operation)
        limit, lies = self.limits.get(root, math.inf), number.interval
        return replace(number, interval=Interval(max(lies.low, -limit), min(lies.high, limit)))

    def _input(self, root: Expression) -> DoubleWord:
        self.limits.setdefault(root, LARGEST_OPERAND)
        self.required.add(root)
        return super()._input(root)

    # ---- elementary functions

    def _known(self, root: Expression) -> DoubleWord:
        form = FUNCTIONS[root.operation.name].in_single
        rule = None if form is None else self._rule(form)
        if form is None or rule is None:
            raise Unknown(root.operation.name)
        argument = self._argument(root.operands[0], form.limit)
        if not argument.lies.within(form.domain.low, form.domain.high):
            raise Unknown(f"{root.operation.name} of other numbers than those from 0 to 1")
        return DoubleWord(rule(self.m, argument), interval=_image(root, argument.lies))

    def _rule(self, form: InSingle) -> Callable[[Machine, Argument], Expression] | None:
        return form.plain

    def _argument(self, root: Expression, limit: float) -> Argument:
        """A number as a function's argument: of a product both factors, or what it loses."""
        outer, sign, is_absolute = root, 1.0, False
        while True:
            if root.operation == ops.ABSOLUTE:
                is_absolute = True
            elif root.operation == ops.NEGATE:
                sign = sign if is_absolute else -sign
            elif root.operation == ops.SELECT and (decided := self._decided(root)) is not None:
                root = decided  # a clamp beyond the limits
                continue
            else:
                break
            root = root.operands[0]
        argument = self._product(root, limit)
        if argument is None:
            self.require(root, limit)
            argument = Argument(self.number(root).high)
        if is_absolute:
            argument = replace(argument, lies=self.number(root).interval).magnitude(self.m)
        return replace(argument, sign=sign * argument.sign, lies=self.number(outer).interval)

    def _product(self, root: Expression, limit: float) -> Argument | None:
        """A product with what is the same for all elements as both factors; a square or a cubic, with what it loses."""
        m = self.m
        for a, b in (root.operands, root.operands[::-1]) if root.operation is ops.MULTIPLY else ():
            if depends_on_elements(a) and not depends_on_elements(b) and not is_power_of_two(b):
                self.require(root, limit)
                return Argument(self.number(a).high, self.number(b).high)
        scale, others = _factors(root)
        if limit > FAR_IN_SINGLE or not scale or not others:
            return None
        x = others[0]
        if _are(others, x, 2) and is_power_of_two(constant(scale)):
            size = m.abs_(self._within(x, math.floor(math.sqrt(limit / abs(scale)) * 64) / 64))
            square = m.mul_(size, size)
            return Argument(square, low=m.lost_of_product_(size, size, square), sign=float(scale))
        for total in others:
            rest = [n for n in others if n is not total]
            for one, term in (total.operands, total.operands[::-1]) if total.operation is ops.ADD else ():
                (first, of_one), (share, of_term) = _factors(one), _factors(term)
                linear, third, lines, cubes = scale * first, scale * share, rest + of_one, rest + of_term
                if lines and _are(lines, x := lines[0], 1) and _are(cubes, x, 3) and min(linear, third) > 0:
                    most = where_reached(linear, third, limit)
                    if is_cubic(linear, third, most):
                        return cubic(m, self._within(x, most), linear, third)
        return None

    def _within(self, root: Expression, most: float) -> Expression:
        """A number of a magnitude below a limit."""
        self.require(root, most)
        return self.number(root).high


def _are(factors: Sequence[Expression], x: Expression, power: int) -> bool:
    """Whether these are so many times a number."""
    return len(factors) == power and all(n is x for n in factors)


def _factors(root: Expression, depth: int = 6) -> tuple[Fraction, list[Expression]]:
    """A number as a constant times other factors, which are products themselves below some depth."""
    value = rational(root)
    if value is not None:
        return value, []
    if root.operation is ops.NEGATE and depth:
        scale, others = _factors(root.operands[0], depth - 1)
        return -scale, others
    if root.operation is ops.MULTIPLY and depth:
        (scale, others), (other_scale, more) = (_factors(n, depth - 1) for n in root.operands)
        return scale * other_scale, others + more
    if root.operation is ops.DIVIDE and depth and (divisor := rational(root.operands[1])):
        scale, others = _factors(root.operands[0], depth - 1)
        return scale / divisor, others
    return Fraction(1), [root]


def _image(root: Expression, lies: Interval) -> Interval:
    """Where a function's results lie."""
    name = root.operation.name
    if name in IMAGES:
        return IMAGES[name]
    function = getattr(math, name)
    return lies.map(lambda u: math.inf if u > FAR_OF_FLOAT64 else function(u))


def _factor_of(root: Expression, operand: Expression) -> Expression | None:
    """The factor or divisor of the operand, if that is the same for all elements."""
    if root.operation == ops.MULTIPLY:
        for a, b in (root.operands, root.operands[::-1]):
            if a is operand and not depends_on_elements(b):
                return b
    if root.operation == ops.DIVIDE and root.operands[0] is operand and not depends_on_elements(root.operands[1]):
        return root.operands[1]
    return None
