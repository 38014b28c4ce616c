"""A fast path: where no operand of a block is large, a shorter program has the same bits.

Clamps keep away what would overflow, and results are looked at for NaN: 4 of 50 instructions of sigmoid, at both ends
of the longest chain of instructions that wait for each other. One comparison with the operand takes their place, and
nothing waits for it. Of the time of sigmoid, tanh, elu, exp and swish that takes 12 to 16 %, of celu 9 %.

What is left out would do nothing where the operand is usual. So the results are the same bit for bit, and it makes no
difference which of the two a block of elements gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ogive.dtypes import ElementType
from ogive.elementary import FINAL
from ogive.expression import Expression, Format, constant, depends_on_elements, node, walk
from ogive.transform.conversions import fewer_conversions
from ogive.transform.cost import cost
from ogive.transform.interval import Interval
from ogive.transform.machine import Machine
from ogive.transform.program import Usual
from ogive.transform.reals import Reals
from ogive.transform.wide import Arithmetic, Wide

__all__ = ["usual"]

#: From which magnitude on operands are unusual. Below the first nothing overflows that float64 computes for float32,
#: below the second exp() is a normal number of float32, below the third are the arguments of gelu.
LIMITS = (256.0, 87.25, 36.0)

#: What must be saved, in the unit of costs: saving 1.2 of 75 took no time off gelu.
WORTHWHILE = 1.4

#: Operations that never make NaN of numbers, infinities among them.
ALWAYS_NUMBERS = frozenset(
    {
        *("input", "parameter", "absolute", "negate", "copy_sign", "select", "larger", "smaller"),
        *("floor", "ceiling", "truncate", "round_even"),
        *("asinh", "atan", "atan2", "cosh", "erf", "erfc", "exp", "expm1", "logistic", "normal_tail", "sinh", "tanh"),
    }
)


def usual(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    arithmetic: Arithmetic,
    results: Sequence[Expression],
) -> Usual | None:
    """The shorter form of the results, where there is one that is worth a comparison.

    Numbers with corrections could differ in what is lost of them; those without, and the final functions, do not.
    """
    is_same = not arithmetic.extended or all(root.operation in FINAL for root in roots)
    if len(inputs) != 1 or {t.name for t in (*inputs, *outputs)} != {"float32"} or not is_same:
        return None
    best, least = None, cost(results) - WORTHWHILE
    for limit in LIMITS:
        reals = _UsualReals(arithmetic, tuple(inputs), limit)
        found = fewer_conversions([reals.store(root, t) for root, t in zip(roots, outputs, strict=True)])
        candidate = Usual(*reals.magnitude_and_limit(), found)
        is_usual = node("less", (candidate.magnitude, candidate.limit), None, Format.BIT)
        price = cost((is_usual, *found))
        if price < least:
            best, least = candidate, price
    return best


class _UsualReals(Reals):
    """What is needed only where the operand, and its products with parameters, are smaller than a limit."""

    def __init__(self, arithmetic: Arithmetic, inputs: tuple[ElementType, ...], limit: float) -> None:
        super().__init__(arithmetic, inputs)
        self.limit = limit
        most = limit * (1 + 2.0**-10)  # products are rounded
        self.operands_lie = Interval(-most, most)
        self.scales: dict[Expression, Expression] = {}
        """What products multiply the operand by."""
        self.are_numbers: dict[Expression, bool] = {}

    def magnitude_and_limit(self) -> tuple[Expression, Expression]:
        """Where the first is no less than the second, the operand is NaN, or that or one of its products too large."""
        m, single = self.m, Machine(Format.F32)
        limit = single.number(self.limit)
        for scale in self.scales.values():
            other = m.div_(m.number(self.limit), m.abs_(self.number(scale).high))
            other = node("convert", (other,), None, Format.F32)
            limit = single.select_(single.less_(other, limit), other, limit)
        magnitude = single.abs_(node("input", (), 0, Format.F32))
        bits, limit_bits = (node("bitcast", (number,), None, Format.U32) for number in (magnitude, limit))
        return bits, limit_bits

    def _number(self, root: Expression) -> Wide:
        value, scale = super()._number(root), _scale(root)
        if scale is None:
            return value
        self.scales[root] = scale
        return replace(value, interval=self.operands_lie)

    def _decided(self, root: Expression) -> Expression | None:
        condition, a, b = root.operands
        if condition.operation not in ("less", "less_equal") or not self._is_number(condition):
            return None
        if self._asks_for_limits(condition):
            return None
        left, right = (self.number(operand).interval for operand in condition.operands)
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
            case "constant":
                return bool(current.attribute == current.attribute)
            case "add" | "subtract":
                return any(are_finite)
            case "multiply":
                return all(are_finite)
            case "divide":
                return all(are_finite) and (intervals[1].smallest_magnitude > 0 or current in self.scales)
            case "log1p" | "square_root":
                return intervals[0].low >= 0
        return current.operation in ALWAYS_NUMBERS


def _scale(root: Expression) -> Expression | None:
    """What this multiplies the operand by, if it is its product with parameters, or its quotient by them."""
    if root.operation not in ("multiply", "divide"):
        return None
    x, w = root.operands
    if root.operation == "multiply" and x.operation != "input":
        x, w = w, x
    if x.operation != "input" or w.operation == "constant" or depends_on_elements(w):
        return None
    return w if root.operation == "multiply" else node("divide", (constant(1), w), None, w.format)


def _is_below(a: Interval, b: Interval) -> bool:
    """Whether the numbers of one interval are less than those of another as far as they are accurate, too."""
    return a.high + 2.0**-20 * max(abs(a.high), abs(b.low)) < b.low
